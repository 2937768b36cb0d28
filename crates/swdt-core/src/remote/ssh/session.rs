//! One SSH connection: the handshake, and the channels on it.

use std::{
    borrow::Cow,
    io,
    sync::{Arc, OnceLock},
};

use russh::{
    AlgorithmKind, Channel, ChannelMsg, ChannelOpenFailure, ChannelReadHalf, ChannelWriteHalf, Preferred,
    Sig,
    client::{self, DisconnectReason, Handle, Msg},
    keys::{Algorithm, PublicKey, PublicKeyOrCertificate},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, lookup_host},
    time::timeout,
};

use super::{
    Setback,
    host_key::{Trust, Verdict, all_algorithms},
    options::Timing,
    route::Hop,
    stall::Stall,
};
use crate::{
    Error, id,
    remote::{Chunk, ExitStatus, Running, TerminalSize, running::Feed},
};

/// The number of extended data that means standard error.
const STDERR: u32 = 1;

/// Anything SSH can run over.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// Our side of a connection, as russh wants it: decides about the host key, remembers the end.
pub(super) struct Client {
    trust: Trust,
    /// The key of the first exchange; a later one must show the same.
    shown: Option<PublicKey>,
    ended: Arc<OnceLock<String>>,
}

/// What can go wrong inside russh's loop.
#[derive(Debug)]
pub(super) enum Fault {
    Ssh(russh::Error),
    HostKey(Box<Error>),
}

impl From<russh::Error> for Fault {
    fn from(error: russh::Error) -> Self {
        Self::Ssh(error)
    }
}

impl client::Handler for Client {
    type Error = Fault;

    async fn check_server_key(&mut self, shown: &PublicKeyOrCertificate) -> Result<bool, Fault> {
        let key = shown.public_key();
        if let Some(first) = &self.shown {
            return Ok(first.key_data() == key.key_data());
        }
        let host_key = |error| Fault::HostKey(Box::new(error));
        if self.trust.judge(&key).map_err(host_key)? == Verdict::Learn {
            self.trust.learn(&key).map_err(host_key)?;
        }
        self.shown = Some(key);
        Ok(true)
    }

    async fn disconnected(&mut self, reason: DisconnectReason<Fault>) -> Result<(), Fault> {
        let why = match &reason {
            DisconnectReason::ReceivedDisconnect(info) => info.message.clone(),
            DisconnectReason::Error(Fault::Ssh(russh::Error::KeepaliveTimeout)) => {
                "the machine gives no sign of life".into()
            }
            DisconnectReason::Error(Fault::Ssh(russh::Error::Disconnect | russh::Error::HUP)) => {
                "the machine closed it".into()
            }
            DisconnectReason::Error(Fault::Ssh(error)) => error.to_string(),
            DisconnectReason::Error(Fault::HostKey(error)) => error.to_string(),
        };
        // Only the first reason is the reason.
        let _ = self.ended.set(why);
        Ok(())
    }
}

/// A connection that is not logged in yet.
pub(super) struct Opened {
    pub(super) handle: Handle<Client>,
    pub(super) ended: Arc<OnceLock<String>>,
    pub(super) warnings: Vec<String>,
}

/// Connects to a hop, through the one before it if there is one.
pub(super) async fn open(
    hop: &Hop,
    through: Option<&Handle<Client>>,
    timing: &Timing,
) -> Result<Opened, Setback> {
    let trust = hop.policy.clone().read().map_err(Setback::last)?;
    match shake_hands(hop, through, timing, &trust, trust.algorithms()).await {
        // The machine has no key of the recorded algorithms. Look at one that it has, only to name
        // it: the policy refuses it, because something else is recorded.
        Err(Fault::Ssh(russh::Error::NoCommonAlgo { kind: AlgorithmKind::Key, .. })) => {
            shake_hands(hop, through, timing, &trust, all_algorithms()).await
        }
        opened => opened,
    }
    .map_err(|fault| explain(fault, hop))
}

async fn shake_hands(
    hop: &Hop,
    through: Option<&Handle<Client>>,
    timing: &Timing,
    trust: &Trust,
    algorithms: Vec<Algorithm>,
) -> Result<Opened, Fault> {
    let stream = stream(hop, through, timing).await?;
    let config = client::Config {
        preferred: Preferred { key: Cow::Owned(algorithms), ..Preferred::DEFAULT },
        keepalive_interval: Some(timing.keepalive),
        // russh reads 0 as "never give up".
        keepalive_max: timing.missed.max(1) as usize,
        nodelay: true,
        ..client::Config::default()
    };
    let ended = Arc::new(OnceLock::new());
    let client = Client { trust: trust.clone(), shown: None, ended: ended.clone() };
    let stream = Stall::new(stream, timing.silence());
    let handle = timeout(timing.connect, client::connect_stream(Arc::new(config), stream, client))
        .await
        .map_err(|_| Fault::Ssh(russh::Error::ConnectionTimeout))??;
    Ok(Opened { handle, ended, warnings: trust.warnings.clone() })
}

async fn stream(
    hop: &Hop,
    through: Option<&Handle<Client>>,
    timing: &Timing,
) -> Result<Box<dyn Stream>, russh::Error> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    if let Some(jump) = through {
        let open = jump.channel_open_direct_tcpip(&hop.host, u32::from(hop.port), "127.0.0.1", 0);
        return Ok(Box::new(timeout(timing.connect, open).await.map_err(late)??.into_stream()));
    }
    let addresses = timeout(timing.connect, lookup_host((hop.host.as_str(), hop.port)))
        .await
        .map_err(late)?
        // A kind of its own, because the real ones differ from system to system.
        .map_err(|error| io::Error::new(io::ErrorKind::NotFound, error))?;
    let mut last = io::Error::from(io::ErrorKind::NotFound);
    for address in addresses {
        match timeout(timing.connect, TcpStream::connect(address)).await.map_err(late) {
            Ok(Ok(stream)) => {
                stream.set_nodelay(true)?;
                return Ok(Box::new(stream));
            }
            Ok(Err(error)) | Err(error) => last = error,
        }
    }
    Err(last.into())
}

/// What a failed handshake means, and whether time may heal it.
fn explain(fault: Fault, hop: &Hop) -> Setback {
    let (place, host, port) = (hop.place(), &hop.host, hop.port);
    let fault = match fault {
        Fault::HostKey(error) => return Setback::last(*error),
        Fault::Ssh(fault) => fault,
    };
    match fault {
        russh::Error::IO(io) => match io.kind() {
            io::ErrorKind::NotFound => Setback::last(
                Error::new(id::HOST_NAME_UNKNOWN, format!("the name {host} is not known ({io})"))
                    .hinted("check the spelling, or write the IP address"),
            ),
            io::ErrorKind::ConnectionRefused => Setback::again(
                Error::new(id::MACHINE_UNREACHABLE, format!("{place} refused the connection"))
                    .hinted(format!("is an SSH server running there, on port {port}?")),
            ),
            io::ErrorKind::TimedOut => Setback::again(
                Error::new(id::MACHINE_UNREACHABLE, format!("{place} does not answer"))
                    .hinted("is the machine running, and does a firewall let you through?"),
            ),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                Setback::again(Error::new(id::MACHINE_UNREACHABLE, format!("{place} cannot be reached: {io}")).hinted(
                    "is the machine running, and are you in its network? `jump:` goes through another machine",
                ))
            }
            _ => Setback::again(Error::new(id::CONNECTION_LOST, format!("the connection to {place} broke off: {io}"))),
        },
        russh::Error::ChannelOpenFailure(ChannelOpenFailure::AdministrativelyProhibited) => Setback::last(
            Error::new(id::JUMP_REFUSED, format!("the jump host does not allow connections on to {host}:{port}"))
                .hinted("its sshd_config needs `AllowTcpForwarding yes`"),
        ),
        russh::Error::ChannelOpenFailure(failure) => {
            Setback::again(Error::new(id::JUMP_REFUSED, format!("the jump host cannot connect to {host}:{port} ({failure:?})")))
        }
        russh::Error::ConnectionTimeout => Setback::again(
            Error::new(id::NOT_SSH, format!("{place} took the connection but does not speak SSH in time"))
                .hinted("is it overloaded, or is another program listening on this port?"),
        ),
        russh::Error::Version => Setback::last(
            Error::new(id::NOT_SSH, format!("{place} is no SSH server")).hinted(format!("what listens on port {port} there?")),
        ),
        russh::Error::NoCommonAlgo { kind, theirs, .. } => Setback::last(Error::new(id::NOT_SSH, format!(
            "{place} speaks no {kind:?} algorithm that swdt considers safe; it has {}",
            theirs.join(", ")
        ))),
        other => Setback::again(
            Error::new(id::CONNECTION_LOST, format!("{place} hung up during the handshake: {other}"))
                .hinted("is its SSH server just starting, or does it limit connections (MaxStartups, fail2ban)?"),
        ),
    }
}

/// Makes a channel a running program.
pub(super) fn attach(channel: Channel<Msg>, ended: Arc<OnceLock<String>>) -> Running {
    let (read, write) = channel.split();
    let (running, feed) = Running::new(write.make_writer());
    tokio::spawn(pump(read, write, feed, ended));
    running
}

/// Moves output until the channel is closed, or nobody listens.
async fn pump(
    mut read: ChannelReadHalf,
    write: ChannelWriteHalf<Msg>,
    mut feed: Feed,
    ended: Arc<OnceLock<String>>,
) {
    let mut exit = None;
    loop {
        let message = tokio::select! {
            message = read.wait() => message,
            Some(TerminalSize { columns, rows }) = feed.resize.recv() => {
                // A terminal that is gone has no size.
                let _ = write.window_change(columns, rows, 0, 0).await;
                continue;
            }
            () = feed.chunks.closed() => break,
        };
        let chunk = match message {
            Some(ChannelMsg::Data { data }) => Chunk::Stdout(data.to_vec()),
            Some(ChannelMsg::ExtendedData { data, ext: STDERR }) => Chunk::Stderr(data.to_vec()),
            Some(ChannelMsg::ExitStatus { exit_status }) => {
                exit = Some(ExitStatus::Code(exit_status));
                continue;
            }
            Some(ChannelMsg::ExitSignal { signal_name, .. }) => {
                exit = Some(ExitStatus::Signal(signal(signal_name)));
                continue;
            }
            Some(ChannelMsg::Failure) => {
                exit = Some(ExitStatus::Refused);
                break;
            }
            Some(ChannelMsg::Close) | None => break,
            Some(_) => continue,
        };
        if feed.chunks.send(chunk).await.is_err() {
            break;
        }
    }
    // Tells the machine that nobody listens any more; in vain if it knows.
    let _ = write.close().await;
    let why = || ended.get().cloned().unwrap_or_else(|| "it ended without an exit status".into());
    feed.end(exit.unwrap_or_else(|| ExitStatus::Lost(why()))).await;
}

fn signal(signal: Sig) -> String {
    match signal {
        Sig::Custom(name) => name,
        known => format!("{known:?}"),
    }
}
