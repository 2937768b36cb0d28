//! What is meant by the names of `swdt node replace`: decided from the plan of the node, before anything is touched.

use std::path::{Path, PathBuf};

use swdt_wire::{Content, Kind};

use crate::{
    Error, Result, id,
    plan::NodePlan,
    source::{self, Piece, Want},
    spec::{ComponentName, Node, OsFamily, Platform},
    words,
};

/// What shall take the place of a component, or of one program of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// `kubelet`, `cni-plugins`, `bridge`.
    pub name: String,
    /// By what.
    pub with: With,
}

/// By what something is replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum With {
    /// This file; or those in this directory.
    Path(PathBuf),
    /// What is built from this source tree.
    Checkout(PathBuf),
    /// What the cluster had before.
    Own,
}

impl Wish {
    /// Wishes as they are written: `kubelet=./kubelet`, or names for which `common` is said once.
    pub fn parse(words: &[String], common: Option<&With>) -> Result<Vec<Self>> {
        let mut errors = Vec::new();
        let mut wishes = Vec::new();
        let wrong = |message: String, hint: String| Error::new(id::ARGUMENT_INVALID, message).hinted(hint);
        for word in words {
            let (name, path) =
                word.split_once('=').map_or((word.as_str(), None), |(name, path)| (name, Some(path)));
            let with = match (path, common) {
                (Some(path), None) if !path.is_empty() && !name.is_empty() => {
                    With::Path(std::path::absolute(path).unwrap_or_else(|_| path.into()))
                }
                (None, Some(common)) => common.clone(),
                (Some(_), Some(_)) => {
                    errors.push(wrong(
                        format!("`{word}` names a file, but where everything comes from is said already"),
                        format!("write `{name}` alone, or leave out `--from-checkout` and `--reset`"),
                    ));
                    continue;
                }
                (_, None) => {
                    let name = if name.is_empty() { "kubelet" } else { name };
                    errors.push(wrong(
                        format!("`{word}` does not say what takes its place"),
                        format!("write `{name}=FILE`, or name a source tree with `--from-checkout DIR`"),
                    ));
                    continue;
                }
            };
            wishes.push(Self { name: name.to_owned(), with });
        }
        Error::all(errors).map_or(Ok(wishes), Err)
    }
}

/// A program on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Program {
    /// What it belongs to.
    pub(super) piece: Piece,
    /// The name of its file: `kubelet.exe`.
    pub(super) file: String,
    /// Where it is on the machine.
    pub(super) path: String,
}

impl Program {
    fn name(&self) -> &str {
        stem(&self.file)
    }
}

fn stem(file: &str) -> &str {
    file.strip_suffix(".exe").unwrap_or(file)
}

/// The programs that the plan puts on a node.
pub(super) fn placed(wants: &[Want], plan: &NodePlan) -> Vec<Program> {
    let at = |file: &str| {
        plan.resources().find_map(|resource| match &resource.kind {
            Kind::File(it) if matches!(it.content, Content::Blob(_)) => {
                (it.path.rsplit(['/', '\\']).next() == Some(file)).then(|| it.path.clone())
            }
            _ => None,
        })
    };
    let mut programs = Vec::new();
    for want in wants {
        for file in want.piece.files(want.platform) {
            programs.extend(at(&file).map(|path| Program { piece: want.piece, file, path }));
        }
    }
    programs
}

/// One program that is replaced, and by what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Meant {
    pub(super) program: Program,
    /// A path is that of the program itself.
    pub(super) with: With,
}

/// What is meant, all of it; or everything that is wrong with it.
pub(super) fn meant(node: &Node, programs: &[Program], wishes: &[Wish]) -> Result<Vec<Meant>> {
    let mut errors = Vec::new();
    let mut found: Vec<Meant> = Vec::new();
    for wish in wishes {
        match named(node, programs, &wish.name).and_then(|found| with(&found, wish)) {
            Err(error) => errors.push(error),
            Ok(more) => {
                for one in more {
                    if found.iter().any(|other| other.program == one.program) {
                        let message = format!("{} is named twice", one.program.name());
                        errors.push(Error::new(id::ARGUMENTS_CONFLICT, message));
                    }
                    found.push(one);
                }
            }
        }
    }
    let platform = Platform::usual(node.os);
    for Meant { program, with } in &found {
        let wrong = match with {
            With::Path(path) => source::check_program(&program.file, path, platform).err(),
            With::Checkout(path) if !path.is_dir() => Some(Error::new(
                id::SOURCE_TREE_WRONG,
                format!("there is no source tree at {}", path.display()),
            )),
            With::Checkout(_) | With::Own => None,
        };
        // One tree for several programs is wrong once.
        errors.extend(wrong.filter(|error| errors.iter().all(|known| known.message != error.message)));
    }
    let on = |error: Error| error.on(&node.name);
    Error::all(errors.into_iter().map(on).collect()).map_or(Ok(found), Err)
}

/// The programs of a component, or the one program of that name.
fn named<'a>(node: &Node, programs: &'a [Program], name: &str) -> Result<Vec<&'a Program>> {
    let name = stem(name);
    let of_piece: Vec<_> = programs.iter().filter(|program| program.piece.as_str() == name).collect();
    if !of_piece.is_empty() {
        return Ok(of_piece);
    }
    match (programs.iter().find(|program| program.name() == name), Piece::named(name)) {
        // Flannel's plugin has the name of the component, which is something else.
        (Some(program), None) => Ok(vec![program]),
        (_, Some(piece)) => Err(elsewhere(piece, node, programs)),
        (None, None) => {
            let error = Error::new(id::NAME_UNKNOWN, format!("there is no program `{name}` on the node"));
            let names = programs.iter().flat_map(|program| [program.piece.as_str(), program.name()]);
            Err(match words::nearest(name, names) {
                Some(meant) => error.hinted(format!("did you mean `{meant}`?")),
                None => error.hinted(format!("it has: {}", list(programs))),
            })
        }
    }
}

fn list(programs: &[Program]) -> String {
    let mut names: Vec<&str> = programs.iter().map(Program::name).collect();
    names.sort_unstable();
    names.join(", ")
}

/// A component that is no program of this node.
fn elsewhere(piece: Piece, node: &Node, programs: &[Program]) -> Error {
    use ComponentName as C;
    let error = |what: String| Error::new(id::PROGRAM_NOT_REPLACEABLE, format!("{piece} {what}"));
    let linux = node.os == OsFamily::Linux;
    let in_a_pod = match piece {
        Piece::Component(C::KubeApiserver | C::KubeControllerManager | C::KubeScheduler | C::Etcd) => {
            Some("a file of /etc/kubernetes/manifests on the control plane names it")
        }
        Piece::Component(C::Coredns) => {
            Some("`swdt kubectl -- -n kube-system set image deploy/coredns …` uses it")
        }
        Piece::Component(C::KubeProxy) if linux => {
            Some("`swdt kubectl -- -n kube-system set image ds/kube-proxy …` uses it")
        }
        Piece::Component(C::Flannel) if linux => Some(
            "`swdt kubectl -- -n kube-flannel edit ds/kube-flannel-ds` uses it; its plugin is `flannel-plugin`",
        ),
        Piece::Component(C::Pause) => Some("containerd's configuration names it"),
        _ => None,
    };
    match in_a_pod {
        Some(then) => error("runs in a pod, from an image: no file of this node".into())
            .hinted(format!("make an image of yours and load it with `swdt image load ARCHIVE`; {then}"))
            .hinted(format!(
                "a cluster is made with it by `components: {{{piece}: {{source: …}}}}` in its file"
            )),
        None if piece == Piece::Component(C::Runc) && linux => {
            error("is a package of the machine's own system, so swdt does not replace it".into())
                .hinted(format!("`swdt node shell {}` lets you install another package there", node.name))
        }
        None => error("is not on the node".into()).hinted(format!("it has: {}", list(programs))),
    }
}

/// Each program with what replaces it.
fn with(programs: &[&Program], wish: &Wish) -> Result<Vec<Meant>> {
    let all = |with: &dyn Fn(&Program) -> With| {
        programs.iter().map(|&it| Meant { program: it.clone(), with: with(it) }).collect()
    };
    let With::Path(path) = &wish.with else { return Ok(all(&|_| wish.with.clone())) };
    if path.is_dir() {
        return Ok(all(&|program| With::Path(path.join(&program.file))));
    }
    // One file of several programs is the one that has the component's name.
    let one = programs.iter().find(|it| programs.len() == 1 || it.name() == stem(&wish.name));
    one.map(|&it| vec![Meant { program: it.clone(), with: wish.with.clone() }]).ok_or_else(|| {
        let names: Vec<&str> = programs.iter().map(|it| it.name()).collect();
        let message = format!("{} is several programs: {}", wish.name, names.join(", "));
        Error::new(id::ARGUMENT_INVALID, message).hinted(format!(
            "name the directory they are in, or one of them: `{}={}`",
            names.first().unwrap_or(&""),
            shown(path)
        ))
    })
}

fn shown(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests;
