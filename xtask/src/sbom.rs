//! What swdt is made of: a bill of materials in the form of CycloneDX, from what cargo knows.

use std::{collections::BTreeMap, fs};

use crate::{
    agents,
    sh::{self, Result},
};

/// A crate that is compiled into a shipped program.
struct Part<'a> {
    name: &'a str,
    version: &'a str,
    licence: &'a str,
}

pub(crate) fn text(version: &str) -> Result<String> {
    let tree = sh::cargo(&["tree", "--locked", "--edges", "normal", "--prefix", "none", "--no-dedupe"])
        .args(&[
            "--package",
            "swdt",
            "--package",
            "swdt-node",
            "--target",
            agents::LINUX,
            "--target",
            agents::WINDOWS,
            "--format",
            "{p}|{l}",
        ])
        .read()?;
    let lock = fs::read_to_string(sh::root().join("Cargo.lock")).map_err(|error| error.to_string())?;
    let sums = sums(&lock);
    let parts: Vec<String> = parts(&tree).values().map(|part| component(part, &sums)).collect();
    Ok(format!(
        "{{\n  \"bomFormat\": \"CycloneDX\",\n  \"specVersion\": \"1.5\",\n  \"version\": 1,\n  \"metadata\": \
         {{\"component\": {{\"type\": \"application\", \"name\": \"swdt\", \"version\": {}}}}},\n  \
         \"components\": [\n{}\n  ]\n}}\n",
        quoted(version),
        parts.join(",\n")
    ))
}

/// The crates of others in what `cargo tree` prints, once each.
fn parts(tree: &str) -> BTreeMap<(&str, &str), Part<'_>> {
    let lines = tree.lines().filter_map(|line| {
        let (package, licence) = line.split_once('|')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        // Our own crates have a place in the clone behind them.
        let ours = words.next().is_some_and(|place| place.starts_with("(/"));
        (!ours).then_some(((name, version), Part { name, version, licence }))
    });
    lines.collect()
}

/// The digests of crates in Cargo.lock, by name and version.
fn sums(lock: &str) -> BTreeMap<(&str, &str), &str> {
    let value = |block: &'_ str, key: &str| -> Option<(usize, usize)> {
        let begin = block.find(&format!("\n{key} = \""))? + key.len() + 5;
        Some((begin, begin + block[begin..].find('"')?))
    };
    let field = |block, key| value(block, key).map(|(begin, end)| &block[begin..end]);
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|block| {
            Some(((field(block, "name")?, field(block, "version")?), field(block, "checksum")?))
        })
        .collect()
}

fn component(part: &Part<'_>, sums: &BTreeMap<(&str, &str), &str>) -> String {
    let Part { name, version, licence } = part;
    let hashes = sums.get(&(*name, *version)).map_or_else(String::new, |sum| {
        format!(", \"hashes\": [{{\"alg\": \"SHA-256\", \"content\": {}}}]", quoted(sum))
    });
    format!(
        "    {{\"type\": \"library\", \"name\": {}, \"version\": {}, \"purl\": {}, \"licenses\": [{{\"expression\": \
         {}}}]{hashes}}}",
        quoted(name),
        quoted(version),
        quoted(&format!("pkg:cargo/{name}@{version}")),
        // Cargo allows the older spelling.
        quoted(&licence.replace('/', " OR ")),
    )
}

/// A string of JSON; names, versions and licences have nothing else to escape.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_others_once_each() {
        let tree = "swdt v0.1.0 (/clone/crates/swdt)|Apache-2.0\nclap v4.6.7|MIT OR Apache-2.0\nclap v4.6.7|MIT OR \
                    Apache-2.0\nsome-macro v1.0.0 (proc-macro)|MIT/Apache-2.0\n";
        let found = parts(tree);
        assert_eq!(found.keys().copied().collect::<Vec<_>>(), [("clap", "4.6.7"), ("some-macro", "1.0.0")]);
        let lock = "version = 4\n\n[[package]]\nname = \"clap\"\nversion = \"4.6.7\"\nsource = \"registry\"\nchecksum = \
                    \"abc\"\ndependencies = [\n \"x\",\n]\n\n[[package]]\nname = \"swdt\"\nversion = \"0.1.0\"\n";
        let sums = sums(lock);
        assert_eq!(sums.get(&("clap", "4.6.7")), Some(&"abc"));
        let line = component(&found[&("clap", "4.6.7")], &sums);
        assert!(line.contains("pkg:cargo/clap@4.6.7") && line.contains("\"content\": \"abc\""), "{line}");
    }
}
