//! Getting in: keys, agents, jump hosts, and what is said when it does not work.

use std::{
    fs,
    io::Write,
    net::TcpListener,
    os::unix::fs::PermissionsExt,
    time::{Duration, Instant},
};

use swdt_core::{
    ErrorKind,
    event::EventKind,
    remote::{Ssh, SshOptions, Transport},
};

use super::sshd::{Guard, Sshd, connect, free_port, keygen, me, recorder, refusal, ssh_agent};

async fn says_hello(options: &SshOptions) {
    let ssh = connect(options).await.unwrap();
    let said = ssh.exec("echo hello").await.unwrap().collect(b"", 1000).await;
    assert_eq!(said.stdout, b"hello\n");
    assert!(said.exit.success());
}

#[tokio::test]
async fn keys_of_every_sort() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    says_hello(&options).await;

    for (name, kind, passphrase) in
        [("rsa", "rsa", ""), ("ecdsa", "ecdsa", ""), ("locked", "ed25519", "open sesame")]
    {
        keygen(&sshd.file(name), kind, passphrase);
        fs::write(sshd.file("authorized_keys"), sshd.public(name)).unwrap();
        options.connection.key = Some(sshd.file(name));
        if !passphrase.is_empty() {
            let error = refusal(&options).await;
            assert!(error.message.contains("is encrypted, and no passphrase"), "{error}");
            options.password = Some("wrong".into());
            let error = refusal(&options).await;
            assert!(error.message.contains("does not open with the passphrase"), "{error}");
            options.password = Some(passphrase.into());
        }
        says_hello(&options).await;
    }
}

#[tokio::test]
async fn keys_in_an_agent() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    keygen(&sshd.file("rsa"), "rsa", "");
    let authorized = sshd.public("id") + &sshd.public("rsa");
    fs::write(sshd.file("authorized_keys"), authorized).unwrap();
    for key in ["id", "rsa"] {
        let dir = tempfile::tempdir().unwrap();
        let (_agent, socket) = ssh_agent(dir.path(), &[&sshd.file(key)]);
        options.agent_socket = Some(socket);
        options.connection.key = None;
        says_hello(&options).await;
    }

    // A named key that only the agent can use: its public half is enough.
    let dir = tempfile::tempdir().unwrap();
    keygen(&dir.path().join("unrelated"), "ed25519", "");
    let (_agent, socket) = ssh_agent(dir.path(), &[&dir.path().join("unrelated"), &sshd.file("id")]);
    fs::remove_file(sshd.file("id")).unwrap();
    options.agent_socket = Some(socket);
    options.connection.key = Some(sshd.file("id"));
    says_hello(&options).await;

    // An agent that is gone is told, not fatal by itself.
    options.agent_socket = Some(sshd.file("no-agent"));
    let error = refusal(&options).await;
    assert!(error.hints.iter().any(|hint| hint.contains("no-agent does not answer")), "{:?}", error.hints);
}

#[tokio::test]
async fn a_wrong_key_lists_what_was_tried() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    keygen(&sshd.file("wrong"), "ed25519", "");
    options.connection.key = Some(sshd.file("wrong"));
    let error = refusal(&options).await;
    assert_eq!(error.id(), "login-refused");
    let expected = format!(
        "does not let us in as {}; tried: key {} (ssh-ed25519 SHA256:",
        me(),
        sshd.file("wrong").display()
    );
    assert!(error.message.contains(&expected), "{error}");
    assert!(error.hints.iter().any(|hint| hint == "the machine would take: publickey"), "{:?}", error.hints);

    options.connection.key = None;
    let error = refusal(&options).await;
    assert!(error.message.contains("nothing to offer"), "{error}");

    options.connection = sshd.options().connection;
    options.connection.user = Some("nobody-of-this-name".into());
    assert!(refusal(&options).await.message.contains("does not let us in as nobody-of-this-name"));
}

#[tokio::test]
async fn key_files_that_are_of_no_use() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    options.connection.key = Some(sshd.file("missing"));
    assert!(refusal(&options).await.message.contains("does not exist"));
    options.connection.key = Some(sshd.file("log"));
    assert!(refusal(&options).await.message.contains("is no private key"));

    options.connection.key = Some(sshd.file("id"));
    fs::set_permissions(sshd.file("id"), fs::Permissions::from_mode(0o644)).unwrap();
    let (reporter, heard) = recorder();
    Ssh::connect(&options, &reporter).await.unwrap();
    let heard = heard.lock().unwrap();
    assert!(
        matches!(&heard[..], [EventKind::Warning { message }] if message.contains("mode 0644")),
        "{heard:?}"
    );
}

#[tokio::test]
async fn machines_that_are_not_there() {
    let sshd = Sshd::start();
    let mut options = sshd.options();
    options.port = Some(free_port());
    assert!(refusal(&options).await.message.contains("refused the connection"));

    options.address = "no-such-host.invalid".into();
    assert!(refusal(&options).await.message.contains("the name no-such-host.invalid is not known"));

    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    options.address = "127.0.0.1".into();
    options.port = Some(silent.local_addr().unwrap().port());
    options.timing.connect = Duration::from_millis(300);
    assert!(refusal(&options).await.message.contains("does not speak SSH in time"));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    options.port = Some(listener.local_addr().unwrap().port());
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.0 400 Bad Request\r\n\r\n").unwrap();
    });
    let error = refusal(&options).await;
    thread.join().unwrap();
    assert_eq!(error.kind(), ErrorKind::Connection);
}

#[tokio::test]
async fn patience_covers_a_machine_that_boots() {
    let (port, dir, thread) = Sshd::later(Duration::from_millis(800));
    let sshd = Sshd::start();
    let mut options = sshd.options();
    options.port = Some(port);
    options.connection.key = Some(dir.path().join("id"));
    options.connection.host_key = Some(fs::read_to_string(dir.path().join("host_ed25519.pub")).unwrap());
    // The machine's key arrives last, as with cloud-init.
    let authorized = fs::read(dir.path().join("authorized_keys")).unwrap();
    fs::write(dir.path().join("authorized_keys"), "").unwrap();
    let path = dir.path().join("authorized_keys");
    let late = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(2));
        fs::write(path, authorized).unwrap();
    });
    options.patience = Duration::from_secs(30);
    let (reporter, heard) = recorder();
    let connected = Ssh::connect(&options, &reporter).await;
    let _sshd = Guard(thread.join().unwrap());
    late.join().unwrap();
    connected.unwrap();
    let heard = format!("{:?}", heard.lock().unwrap());
    assert!(heard.contains("refused the connection") && heard.contains("does not let us in"), "{heard}");

    // A wrong host key is no matter of patience.
    options.connection.host_key = Some(sshd.public("host_ed25519"));
    let began = Instant::now();
    assert!(refusal(&options).await.message.contains("has changed"));
    assert!(began.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn through_a_jump_host() {
    let (gate, inner) = (Sshd::start(), Sshd::start());
    let mut options = inner.options();
    let both = [(&gate, gate.port), (&inner, inner.port)]
        .map(|(sshd, port)| format!("[127.0.0.1]:{port} {}", sshd.public("host_ed25519")));
    fs::write(&options.own_known_hosts, both.concat()).unwrap();
    fs::write(gate.file("authorized_keys"), inner.public("id")).unwrap();
    options.connection.jump = Some(format!("{}@127.0.0.1:{}", me(), gate.port));
    says_hello(&options).await;
    assert!(gate.log().contains("Accepted publickey"), "{}", gate.log());

    // The same out of an ssh configuration, with an alias and a chain of two.
    let config = format!(
        "Host node\n HostName 127.0.0.1\n Port {}\n User {me}\n IdentityFile {id}\n ProxyJump gate,again\n\
         Host gate again\n HostName 127.0.0.1\n Port {}\n User {me}\n IdentityFile {id}\n",
        inner.port,
        gate.port,
        me = me(),
        id = inner.file("id").display(),
    );
    fs::write(inner.file("ssh_config"), config).unwrap();
    let mut options = SshOptions { address: "node".into(), port: None, ..options };
    options.connection.user = None;
    options.connection.key = None;
    options.connection.jump = None;
    options.ssh_program = Some("ssh".into());
    options.ssh_config = Some(inner.file("ssh_config"));
    says_hello(&options).await;

    // The jump host is up, and the machine behind it is not.
    options.port = Some(free_port());
    let error = refusal(&options).await;
    assert!(error.message.contains("the jump host cannot connect to 127.0.0.1:"), "{error}");
}
