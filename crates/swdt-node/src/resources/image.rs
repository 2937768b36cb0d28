//! [`Image`]: a container image that containerd holds for Kubernetes, imported from an archive.
//!
//! containerd keeps its own books, so they are asked, with its own program `ctr`. When containerd does
//! not run any more there is nothing to undo: its data go with it.

use swdt_wire::{Image, Prior, Status};

use super::{Behaviour, Reverted, foreign};
use crate::{Ctx, Error, Result, ctx::Said, state::State};

/// A question to Kubernetes' part of containerd's books.
pub(super) fn ctr<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&["ctr", "-n", "k8s.io"], words].concat()
}

impl Behaviour for Image {
    fn check(&self, ctx: &Ctx) -> Result<Status> {
        valid(&self.reference)?;
        let differs = |what: String| Ok(Status::Differs(what));
        match list(ctx)? {
            Books::Closed(why) => differs(why),
            Books::Open(images) => match images.iter().find(|image| image.name == self.reference) {
                None => differs("missing".into()),
                Some(there) if there.digest == self.digest => Ok(Status::Satisfied),
                Some(there) => differs(format!("it is {} instead of {}", there.digest, self.digest)),
            },
        }
    }

    fn prior(&self, ctx: &Ctx) -> Result<Prior> {
        let images = list(ctx)?.opened()?;
        let there = images.into_iter().find(|image| image.name == self.reference);
        Ok(Prior::Image { digest: there.map(|image| image.digest) })
    }

    fn apply(&self, ctx: &Ctx, _prior: &Prior) -> Result<()> {
        let archive = State::of(ctx).blob(&self.blob.sha256)?;
        if !archive.exists() {
            return Err(Error::new(format!("the archive {} is not on this machine", self.blob.sha256)));
        }
        ctx.change(&ctr(&["images", "import", &archive.to_string_lossy()])).map_err(hinted)
    }

    fn revert(&self, ctx: &Ctx, prior: &Prior, force: bool) -> Result<Reverted> {
        let Prior::Image { digest: before } = prior else { return Err(foreign("image")) };
        let Books::Open(images) = list(ctx)? else { return Ok(Reverted::Yes) };
        let Some(there) = images.iter().find(|image| image.name == self.reference) else {
            return Ok(Reverted::Yes);
        };
        if before.as_ref() == Some(&there.digest) {
            return Ok(Reverted::Yes);
        }
        if there.digest != self.digest && !force {
            return Ok(Reverted::Kept(format!(
                "{} was replaced by another image after swdt",
                self.reference
            )));
        }
        ctx.change(&ctr(&[&["images", "rm", "--sync"], &names_of(&images, there)[..]].concat()))?;
        Ok(match before {
            None => Reverted::Yes,
            // Its bytes went when ours took the name.
            Some(digest) => Reverted::Kept(format!(
                "{} was {digest} before swdt, which is gone; it can be pulled again",
                self.reference
            )),
        })
    }
}

/// Lets containerd pull an image, as it would for a pod; the answer's output is the digest.
pub(crate) fn pull(ctx: &Ctx, reference: &str) -> Result<Said> {
    /// Where administrators say how registries are reached.
    const HOSTS: &str = "/etc/containerd/certs.d";
    valid(reference)?;
    list(ctx)?.opened()?;
    let hosts = ctx.path(HOSTS).exists().then_some(["--hosts-dir", HOSTS]);
    let mut words = ctr(&["images", "pull"]);
    words.extend(hosts.iter().flatten());
    words.push(reference);
    ctx.count_write();
    let said = ctx.query(&words)?;
    if !said.ok() {
        return Ok(said);
    }
    let images = list(ctx)?.opened()?;
    let pulled = images.into_iter().find(|image| image.name == reference);
    Ok(Said { stdout: pulled.map(|image| image.digest).unwrap_or_default(), ..said })
}

/// A name that can be an argument, and a word of the list.
pub(crate) fn valid(reference: &str) -> Result<()> {
    if reference.starts_with(|c: char| c.is_ascii_alphanumeric())
        && reference.chars().all(|c| c.is_ascii_graphic())
    {
        return Ok(());
    }
    Err(Error::new(format!("{reference:?} is no name of an image")))
}

/// An image in containerd's books.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    name: String,
    digest: String,
}

/// containerd's books, if it can be asked.
enum Books {
    Open(Vec<Listed>),
    Closed(String),
}

impl Books {
    fn opened(self) -> Result<Vec<Listed>> {
        match self {
            Self::Open(images) => Ok(images),
            Self::Closed(why) => Err(Error::new(why).hinted(
                "`systemctl status containerd` and `journalctl -u containerd` on the machine say more",
            )),
        }
    }
}

fn list(ctx: &Ctx) -> Result<Books> {
    if !ctx.has_program("ctr") {
        return Ok(Books::Closed("containerd is not installed".into()));
    }
    let said = ctx.query_once(&ctr(&["images", "ls"]))?;
    if said.ok() {
        return Ok(Books::Open(parse(&said.stdout)));
    }
    if closed(&said.stderr) {
        return Ok(Books::Closed("containerd does not run".into()));
    }
    let output = said.stderr.lines().map(str::to_owned).collect();
    Err(Error { message: "ctr cannot list the images".into(), output, hint: None })
}

/// Does nobody listen at containerd's socket?
pub(super) fn closed(stderr: &str) -> bool {
    let words = ["containerd.sock", "connect: ", "cannot access socket", "failed to dial"];
    let why = ["no such file", "connection refused", "deadline exceeded"];
    words.iter().any(|word| stderr.contains(word)) && why.iter().any(|word| stderr.contains(word))
}

/// `REF TYPE DIGEST SIZE PLATFORMS LABELS`. Only name and digest are read, and the digest by its form:
/// other columns differ between versions and may hold blanks. A name can look like a digest too.
pub(crate) fn parse(table: &str) -> Vec<Listed> {
    let line = |line: &str| {
        let mut words = line.split_whitespace();
        let name = words.next()?.to_owned();
        let digest =
            words.find(|word| word.starts_with("sha256:") || word.starts_with("sha512:"))?.to_owned();
        Some(Listed { name, digest })
    };
    table.lines().skip(1).filter_map(line).collect()
}

/// The name of an image, and the names that containerd itself gave the same bytes if nobody else did.
fn names_of<'a>(images: &'a [Listed], image: &'a Listed) -> Vec<&'a str> {
    let same = || images.iter().filter(|other| other.digest == image.digest && other.name != image.name);
    let own = |other: &Listed| other.name.starts_with("sha256:");
    let mut names = vec![image.name.as_str()];
    if same().all(own) {
        names.extend(same().map(|other| other.name.as_str()));
    }
    names
}

fn hinted(error: Error) -> Error {
    let said = |word: &str| error.output.iter().any(|line| line.contains(word));
    if said("no space left on device") {
        return error.hinted(
            "free some space on the file system of /var/lib/containerd and run the same command again",
        );
    }
    if said("no unpack platforms defined") || said("no match for platform") {
        return error.hinted("the archive holds an image for another processor or system");
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    /// containerd 2.4.2.
    const LIST: &str = include_str!("image/list.txt");

    #[test]
    fn a_list_of_containerd() {
        let images = parse(LIST);
        let pause = images.iter().find(|image| image.name == "registry.k8s.io/pause:3.10.2").unwrap();
        assert!(pause.digest.starts_with("sha256:") && pause.digest.len() == 71);
        assert_eq!(parse("REF TYPE DIGEST SIZE PLATFORMS LABELS \n"), []);
    }

    #[test]
    fn names_containerd_gave_go_with_the_last_of_ours() {
        let image = |name: &str, digest: &str| Listed { name: name.into(), digest: digest.into() };
        let mut images =
            vec![image("a:1", "sha256:x"), image("sha256:1", "sha256:x"), image("c", "sha256:y")];
        assert_eq!(names_of(&images, &images[0]), ["a:1", "sha256:1"]);
        images.push(image("b:1", "sha256:x"));
        assert_eq!(names_of(&images, &images[0]), ["a:1"]);
    }

    #[test]
    fn a_containerd_that_does_not_run() {
        for words in [
            "ctr: cannot access socket /run/containerd/containerd.sock: stat /run/containerd/containerd.sock: no such file or directory",
            "ctr: failed to dial \"/run/containerd/containerd.sock\": connection error: desc = \"transport: error while dialing: dial unix:///run/containerd/containerd.sock: timeout\": context deadline exceeded",
            "ctr: connection error: desc = \"transport: Error while dialing: dial unix /run/containerd/containerd.sock: connect: connection refused\"",
        ] {
            assert!(closed(words), "{words}");
        }
        assert!(!closed("ctr: namespace is required: failed precondition"));
    }
}
