//! Files of earlier versions become files of this one, with their comments and their order.

use serde_json::Value;

use super::{
    edit::{Document, Refused},
    v1alpha1::API_VERSION,
};
use crate::{Error, Result, id};

/// From one version of the file to the next.
struct Step {
    from: &'static str,
    to: &'static str,
    /// Everything but `apiVersion`, which is written for it.
    change: fn(&mut Document) -> Result<(), Refused>,
}

/// Every step there is, oldest first. v1alpha1 is the first version, so there is none yet.
const STEPS: &[Step] = &[];

/// A file that is of this version now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migrated {
    /// The whole file.
    pub text: String,
    /// Versions it went through, the first one included; one alone means that nothing was to do.
    pub versions: Vec<String>,
}

/// The file, as this version of swdt reads it.
pub fn migrate(text: &str) -> Result<Migrated> {
    by(STEPS, API_VERSION, text)
}

fn by(steps: &[Step], newest: &str, text: &str) -> Result<Migrated> {
    let mut document = Document::new(text);
    if !document.readable() {
        return Err(Error::new(id::YAML_SYNTAX, "the file cannot be read as YAML")
            .hinted("`swdt config validate FILE` shows where it is wrong"));
    }
    let Some(Value::String(mut version)) = document.get("apiVersion") else {
        return Err(Error::new(id::FIELD_MISSING, "the file does not say which version it is of")
            .hinted(format!("a cluster file begins with `apiVersion: {newest}`")));
    };
    let mut versions = vec![version.clone()];
    while version != newest {
        let Some(step) = steps.iter().find(|step| step.from == version) else {
            return Err(Error::new(id::VALUE_UNKNOWN, format!("this swdt knows no `{version}`"))
                .because(format!("it writes {newest}, and reads what came before"))
                .hinted("use the swdt that the file was written for, or a newer one"));
        };
        (step.change)(&mut document).map_err(|refused| by_hand(&refused))?;
        let to = Value::String(step.to.to_owned());
        document.set("apiVersion", &to).map_err(|refused| by_hand(&refused))?;
        step.to.clone_into(&mut version);
        versions.push(version.clone());
    }
    Ok(Migrated { text: document.text().to_owned(), versions })
}

fn by_hand(refused: &Refused) -> Error {
    let place = match refused {
        Refused::Unreadable => "the file".to_owned(),
        Refused::Beyond { list: path, .. } | Refused::Unchangeable { path } => format!("`{path}`"),
    };
    let message = format!("{place} is written in a way that cannot be changed without loss");
    Error::new(id::EDIT_REFUSED, message)
        .hinted("write it over several lines, without anchors, and try again")
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "# ours\napiVersion: test/v1  # old\nnodes:\n  - {name: a, ip: 192.0.2.1}\n";

    fn steps() -> [Step; 2] {
        let rename = |document: &mut Document| {
            for place in 0..document.len("nodes") {
                if let Some(address) = document.get(&format!("nodes[{place}].ip")) {
                    document.set(&format!("nodes[{place}].address"), &address)?;
                    document.remove(&format!("nodes[{place}].ip"))?;
                }
            }
            Ok(())
        };
        let nothing = |_: &mut Document| Ok(());
        [
            Step { from: "test/v1", to: "test/v2", change: rename },
            Step { from: "test/v2", to: "test/v3", change: nothing },
        ]
    }

    #[test]
    fn an_old_file_goes_through_every_step_and_keeps_its_comments() {
        let migrated = by(&steps(), "test/v3", OLD).unwrap();
        assert_eq!(migrated.versions, ["test/v1", "test/v2", "test/v3"]);
        assert_eq!(
            migrated.text,
            "# ours\napiVersion: test/v3  # old\nnodes:\n  - {name: a, address: 192.0.2.1}\n"
        );
    }

    #[test]
    fn what_is_new_already_stays_as_it_is() {
        let text = format!("apiVersion: {API_VERSION} # mine\n");
        assert_eq!(migrate(&text).unwrap(), Migrated { text, versions: vec![API_VERSION.into()] });
    }

    #[test]
    fn what_is_unknown_is_refused() {
        for (text, told) in [
            ("apiVersion: swdt.dev/v9\n", "knows no `swdt.dev/v9`"),
            ("kind: Cluster\n", "does not say which version"),
            ("a: [\n", "cannot be read"),
        ] {
            let error = migrate(text).unwrap_err();
            assert!(error.message.contains(told) && !error.hints.is_empty(), "{error:?}");
        }
    }
}
