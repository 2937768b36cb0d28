//! kubectl with the administrator's rights, on the control plane; and what its complaints mean.

use std::path::Path;

use crate::{Ctx, Error, Result, ctx::Said};

/// The administrator's kubeconfig, written by `kubeadm init`.
pub const ADMIN: &str = "/etc/kubernetes/admin.conf";

/// Words of an API server that is not there, not yet, or just not now.
const UNANSWERED: &[&str] = &[
    "connection refused",
    "did you specify the right host or port",
    "Unable to connect to the server",
    "connection reset by peer",
    "client connection lost",
    "i/o timeout",
    "TLS handshake timeout",
    "context deadline exceeded",
    "Client.Timeout exceeded",
    "request timed out",
    "Timeout: request did not complete",
    "unexpected EOF",
    "no route to host",
    "network is unreachable",
    "etcdserver: ",
    "unable to handle the request",
    "apiserver not ready",
    "Too Many Requests",
];

/// Words about something that another object, in the same file or applied just before, will bring.
const NOT_YET: &[&str] = &[
    "(NotFound)",
    "not found",
    "no matches for kind",
    "could not find the requested resource",
    "ensure CRDs are installed first",
    "failed calling webhook",
];

/// Arguments that every call has. kubectl must leave nothing in a home directory, and must not wait for ever.
fn argv(ctx: &Ctx, arguments: &[impl AsRef<str>]) -> Vec<String> {
    let kubeconfig = format!("--kubeconfig={}", ctx.path(ADMIN).display());
    let first = ["kubectl", &kubeconfig, "--cache-dir=/dev/null"].map(str::to_owned);
    first.into_iter().chain(arguments.iter().map(|word| word.as_ref().to_owned())).collect()
}

/// Can kubectl be asked on this machine at all?
fn usable(ctx: &Ctx) -> Result<()> {
    if !ctx.has_program("kubectl") {
        return Err(Error::new("there is no kubectl on this machine")
            .hinted("it comes with the control plane; is this the right machine?"));
    }
    if !ctx.path(ADMIN).exists() {
        return Err(Error::new(format!("there is no {ADMIN}, so this machine is no control plane"))
            .hinted("`kubeadm init` writes it; create the cluster first"));
    }
    Ok(())
}

/// Asks, with something on standard input.
pub fn ask(ctx: &Ctx, arguments: &[impl AsRef<str>], input: &str) -> Result<Said> {
    usable(ctx)?;
    let argv = argv(ctx, arguments);
    ctx.query_with(&argv.iter().map(String::as_str).collect::<Vec<_>>(), input.as_bytes())
}

/// Runs kubectl with our own streams, whatever they are: pipes or a terminal. Gives its exit code.
pub fn stand_in(ctx: &Ctx, arguments: &[impl AsRef<str>]) -> Result<u8> {
    usable(ctx)?;
    let argv: Vec<&str> = ["kubectl"].into_iter().chain(arguments.iter().map(AsRef::as_ref)).collect();
    // Not as flags: kubectl takes none before the name of a plugin.
    let admin = ctx.path(ADMIN);
    let code = ctx.stand_in(&argv, &[("KUBECONFIG", &admin), ("KUBECACHEDIR", Path::new("/dev/null"))])?;
    // As a shell tells of a signal: no code of its own.
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}

/// Looks at something, shortly: whoever looks will look again.
pub fn look(ctx: &Ctx, arguments: &[&str]) -> Result<Said> {
    ask(ctx, &[&["--request-timeout=10s"], arguments].concat(), "")
}

/// Changes the cluster: counted, and told line by line.
pub fn change(ctx: &Ctx, arguments: &[&str], input: &str) -> Result<()> {
    usable(ctx)?;
    let argv = argv(ctx, arguments);
    ctx.change_with(&argv.iter().map(String::as_str).collect::<Vec<_>>(), input.as_bytes())
}

/// Did the API server not answer?
pub fn unanswered<'a>(lines: impl IntoIterator<Item = &'a str>) -> bool {
    lines.into_iter().any(|line| UNANSWERED.iter().any(|word| line.contains(word)))
}

/// Is something missing that may come?
pub fn not_yet<'a>(lines: impl IntoIterator<Item = &'a str>) -> bool {
    lines.into_iter().any(|line| NOT_YET.iter().any(|word| line.contains(word)))
}

/// The line of a complaint that says most: the last that is called an error, or else the last that is no log line.
pub fn complaint(stderr: &str) -> &str {
    let log = |line: &&str| {
        // `E0731 10:15:00.123456    4242 memcache.go:265] "Unhandled Error" …`
        let (level, rest) = line.split_at_checked(1).unwrap_or(("", ""));
        !(matches!(level, "E" | "W" | "I") && rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let lines = || stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let error = |line: &&str| line.starts_with("error:") || line.starts_with("Error");
    lines()
        .rfind(error)
        .or_else(|| lines().rfind(log))
        .or_else(|| lines().next_back())
        .unwrap_or("kubectl failed without a word")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "E0731 10:15:00.123456    4242 memcache.go:265] \"Unhandled Error\" err=\"couldn't get current server API group list: Get \\\"https://10.0.0.1:6443/api?timeout=10s\\\": dial tcp 10.0.0.1:6443: connect: connection refused\"\nThe connection to the server 10.0.0.1:6443 was refused - did you specify the right host or port?\n";

    #[test]
    fn complaints() {
        assert!(complaint(REFUSED).starts_with("The connection to the server 10.0.0.1:6443 was refused"));
        assert!(unanswered(REFUSED.lines()) && !not_yet(REFUSED.lines()));
        let missing = "Error from server (NotFound): nodes \"w1\" not found";
        assert_eq!(complaint(missing), missing);
        assert!(not_yet([missing]) && !unanswered([missing]));
        let definition = "error: resource mapping not found for name: \"t\": no matches for kind \"Thing\" in version \"try.swdt/v1\"";
        let said =
            format!("namespace/try serverside-applied\n{definition}\nensure CRDs are installed first\n");
        assert_eq!(complaint(&said), definition);
        assert!(not_yet(said.lines()));
        assert_eq!(complaint(""), "kubectl failed without a word");
        let invalid = "The ConfigMap \"x\" is invalid: data: Invalid value";
        assert!(!not_yet([invalid]) && !unanswered([invalid]));
    }

    #[test]
    fn a_machine_that_is_no_control_plane_says_so() {
        let root = tempfile::tempdir().unwrap();
        let error = look(&Ctx::new(root.path()), &["get", "nodes"]).unwrap_err();
        assert!(error.message.contains("no kubectl"), "{error}");
    }
}
