//! Passwords. sshd would check them against the accounts of this machine, so a server of our own does.

use std::{net::SocketAddr, sync::Arc};

use russh::{
    Channel, ChannelId, MethodKind, MethodSet,
    keys::PrivateKey,
    server::{self, Auth, ChannelOpenHandle, Handler, Msg, Response, Session},
};
use swdt_core::{
    remote::{SshOptions, Transport},
    spec::Connection,
};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinHandle};

use super::sshd::{connect, keygen, refusal};

const PASSWORD: &str = "correct horse";

/// Lets in whoever knows the password, by the one method it offers.
#[derive(Clone)]
struct Door(MethodKind);

impl Door {
    fn decide(&self, right: bool) -> Auth {
        if right {
            return Auth::Accept;
        }
        let methods = MethodSet::from(&[self.0][..]);
        Auth::Reject { proceed_with_methods: Some(methods), partial_success: false }
    }
}

impl Handler for Door {
    type Error = russh::Error;

    async fn auth_password(&mut self, _: &str, password: &str) -> Result<Auth, russh::Error> {
        Ok(self.decide(self.0 == MethodKind::Password && password == PASSWORD))
    }

    async fn auth_keyboard_interactive<'a>(
        &'a mut self,
        _: &str,
        _: &str,
        response: Option<Response<'a>>,
    ) -> Result<Auth, russh::Error> {
        let Some(mut answers) = response else {
            let prompts = vec![("Password: ".into(), false)].into();
            return Ok(Auth::Partial { name: "".into(), instructions: "".into(), prompts });
        };
        Ok(self.decide(answers.next().is_some_and(|answer| answer == PASSWORD.as_bytes())))
    }

    async fn channel_open_session(
        &mut self,
        _: Channel<Msg>,
        reply: ChannelOpenHandle,
        _: &mut Session,
    ) -> Result<(), russh::Error> {
        reply.accept().await;
        Ok(())
    }

    /// This server runs nothing.
    async fn exec_request(
        &mut self,
        id: ChannelId,
        _: &[u8],
        session: &mut Session,
    ) -> Result<(), russh::Error> {
        session.channel_failure(id)
    }
}

struct Server {
    dir: TempDir,
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    async fn start(method: MethodKind) -> Self {
        let dir = tempfile::tempdir().unwrap();
        keygen(&dir.path().join("host"), "ed25519", "");
        let key = PrivateKey::read_openssh_file(dir.path().join("host")).unwrap();
        let config = server::Config {
            keys: vec![key],
            methods: MethodSet::from(&[method][..]),
            auth_rejection_time: std::time::Duration::from_millis(10),
            ..server::Config::default()
        };
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(server::run_stream(config.clone(), stream, Door(method)));
            }
        });
        Self { dir, address, task }
    }

    fn options(&self, password: Option<&str>) -> SshOptions {
        let host_key = std::fs::read_to_string(self.dir.path().join("host.pub")).unwrap();
        let connection =
            Connection { user: Some("admin".into()), host_key: Some(host_key), ..Connection::default() };
        let mut options = SshOptions::new("127.0.0.1", connection, self.dir.path().join("known_hosts"));
        options.port = Some(self.address.port());
        options.password = password.map(Into::into);
        options
    }
}

#[tokio::test]
async fn a_password_opens_either_way() {
    for method in [MethodKind::Password, MethodKind::KeyboardInteractive] {
        let server = Server::start(method).await;
        let ssh = connect(&server.options(Some(PASSWORD))).await.unwrap();
        assert_eq!(ssh.user(), "admin");
        let said = ssh.exec("true").await.unwrap().collect(b"", 10).await;
        assert_eq!(said.exit, swdt_core::remote::ExitStatus::Refused);

        let error = refusal(&server.options(Some("wrong"))).await;
        assert!(error.message.contains("tried: password"), "{error}");
        assert!(!format!("{error:?}").contains("wrong"), "{error:?}");

        let error = refusal(&server.options(None)).await;
        assert!(error.message.contains("nothing to offer"), "{error}");
        let takes = format!("the machine would take: {}", <&str>::from(&method));
        assert!(error.hints.contains(&takes), "{:?}", error.hints);
    }
}
