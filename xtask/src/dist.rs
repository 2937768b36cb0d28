//! What users install: an archive and a Debian package with manual pages, completions and a list of what is inside.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    agents, sbom, setup,
    sh::{self, Result},
};

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// How swdt is compiled for it.
pub(crate) enum Profile {
    /// As users get it.
    Release,
    /// As tests compile everything: to try the packages, in a minute.
    Dev,
}

/// Makes the packages as users get them, and says where they are.
pub(crate) fn run() -> Result<()> {
    let dir = make(&Profile::Release)?;
    for name in names(&dir)? {
        sh::say(&dir.join(name).to_string_lossy());
    }
    Ok(())
}

/// Makes the packages; gives their directory, which holds nothing else.
pub(crate) fn make(profile: &Profile) -> Result<PathBuf> {
    setup::install(&["binutils", "dpkg", "gzip", "tar"])?;
    agents::build()?;
    let swdt = compile(profile)?;
    let dir = sh::target().join("dist");
    let tree = dir.join("tree");
    empty(&dir)?;
    furnish(&tree, &swdt)?;
    write(&tree.join("DEBIAN/control"), &control(&swdt)?)?;
    modes(&tree)?;
    archive(&dir, &tree)?;
    debian(&dir, &tree)?;
    write(&dir.join(format!("swdt-{VERSION}.cdx.json")), &sbom::text(VERSION)?)?;
    fs::remove_dir_all(&tree).map_err(|error| error.to_string())?;
    sums(&dir)?;
    Ok(dir)
}

/// swdt with the node programs inside.
fn compile(profile: &Profile) -> Result<PathBuf> {
    let (flags, place): (&[&str], _) = match profile {
        Profile::Release => (&["--release"], "release"),
        Profile::Dev => (&[], "debug"),
    };
    sh::cargo(&["build", "--locked", "--package", "swdt", "--features", "embed-agents"]).args(flags).run()?;
    Ok(sh::target().join(place).join("swdt"))
}

/// Everything where a Debian system wants it.
fn furnish(tree: &Path, swdt: &Path) -> Result<()> {
    let share = tree.join("usr/share");
    copy(swdt, &tree.join("usr/bin/swdt"))?;
    for name in ["README.md", "CHANGELOG.md"] {
        copy(&sh::root().join(name), &share.join("doc/swdt").join(name))?;
    }
    copy(&sh::root().join("LICENSE"), &share.join("doc/swdt/copyright"))?;
    for name in names(&sh::root().join("examples"))? {
        copy(&sh::root().join("examples").join(&name), &share.join("doc/swdt/examples").join(&name))?;
    }

    // The scripts call swdt by the name that the shell finds.
    let path = format!("{}:{}", tree.join("usr/bin").display(), std::env::var("PATH").unwrap_or_default());
    let swdt = |words: &[&str]| sh::command("swdt").args(words).env("PATH", &path);
    let pages = share.join("man/man1");
    swdt(&["man", &pages.to_string_lossy()]).run()?;
    for page in names(&pages)? {
        sh::command("gzip").args(&["-9", "-n", &pages.join(page).to_string_lossy()]).run()?;
    }
    let completions = [
        ("bash", "bash-completion/completions/swdt"),
        ("zsh", "zsh/vendor-completions/_swdt"),
        ("fish", "fish/vendor_completions.d/swdt.fish"),
    ];
    for (shell, place) in completions {
        write(&share.join(place), &swdt(&["completions", shell]).read()?)?;
    }
    Ok(())
}

/// Whatever the umask of who builds.
fn modes(tree: &Path) -> Result<()> {
    let tree = tree.to_string_lossy();
    sh::command("chmod").args(&["--recursive", "u=rwX,go=rX", &tree]).run()
}

/// The same tree gives the same bytes.
fn archive(dir: &Path, tree: &Path) -> Result<()> {
    let name = format!("swdt-{VERSION}-linux-amd64");
    let to = dir.join(format!("{name}.tar.gz"));
    sh::command("tar")
        .args(&[
            "--create",
            "--use-compress-program=gzip -9 -n",
            "--file",
            &to.to_string_lossy(),
            "--sort=name",
            "--format=posix",
        ])
        .args(&["--owner=0", "--group=0", "--numeric-owner", "--pax-option=delete=atime,delete=ctime"])
        .args(&["--mtime", &format!("@{}", when()?), "--transform", &format!("s,^usr,{name},")])
        .args(&["--directory", &tree.to_string_lossy(), "usr"])
        .run()
}

fn debian(dir: &Path, tree: &Path) -> Result<()> {
    let to = dir.join(format!("swdt_{VERSION}_amd64.deb"));
    sh::command("dpkg-deb")
        .args(&["--root-owner-group", "--build", &tree.to_string_lossy(), &to.to_string_lossy()])
        .env("SOURCE_DATE_EPOCH", &when()?)
        .run()
}

/// What dpkg wants to know of the package.
fn control(swdt: &Path) -> Result<String> {
    Ok(format!(
        "Package: swdt\nVersion: {VERSION}\nArchitecture: amd64\nMaintainer: the swdt developers <swdt@localhost>\n\
         Section: admin\nPriority: optional\nDepends: libc6 (>= {}), openssh-client\n\
         Recommends: systemd-container, nftables, iproute2\nSuggests: qemu-system-x86, ovmf, swtpm\n\
         Description: makes a vanilla Kubernetes cluster with Linux and Windows nodes\n \
         One command makes a cluster with plain kubeadm, on machines you have or on\n \
         machines it makes, and undoes every change again.\n",
        libc(swdt)?
    ))
}

/// The newest version of the C library that the program asks for.
fn libc(swdt: &Path) -> Result<String> {
    let symbols = sh::command("objdump").args(&["-T", &swdt.to_string_lossy()]).read()?;
    newest(&symbols).ok_or_else(|| format!("{} asks for no C library", swdt.display()))
}

fn newest(symbols: &str) -> Option<String> {
    let versions = symbols.split("GLIBC_").skip(1).filter_map(|rest| {
        let version: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        let numbers: Vec<u32> = version.split('.').filter_map(|number| number.parse().ok()).collect();
        (!numbers.is_empty()).then_some((numbers, version))
    });
    versions.max().map(|(_, version)| version)
}

/// The time of the last commit; packages of the same commit are the same.
fn when() -> Result<String> {
    Ok(sh::command("git").args(&["log", "-1", "--format=%ct"]).read()?.trim().to_owned())
}

fn sums(dir: &Path) -> Result<()> {
    let mut command = sh::command("sha256sum");
    for name in names(dir)? {
        command = command.args(&[&dir.join(name).to_string_lossy()]);
    }
    // Names only, so that `sha256sum --check` works beside the files.
    let text = command.read()?.replace(&format!("{}/", dir.display()), "");
    write(&dir.join("SHA256SUMS"), &text)
}

fn names(dir: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    Ok(names)
}

fn empty(dir: &Path) -> Result<()> {
    if dir.exists() {
        fs::remove_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    }
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    make_parent(to)?;
    fs::copy(from, to).map(drop).map_err(|error| format!("{} -> {}: {error}", from.display(), to.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    make_parent(path)?;
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

fn make_parent(path: &Path) -> Result<()> {
    let dir = path.parent().unwrap_or(path);
    fs::create_dir_all(dir).map_err(|error| format!("{}: {error}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_of_libc() {
        let symbols = "0000 DF *UND* 0000 (GLIBC_2.2.5) free\n0000 DF *UND* 0000 (GLIBC_2.34) pthread_create\n\
                       0000 DF *UND* 0000 (GLIBC_2.9) pipe2\n0000 DF *UND* 0000 (GCC_3.0) _Unwind";
        assert_eq!(newest(symbols).as_deref(), Some("2.34"));
        assert_eq!(newest("nothing"), None);
    }
}
