//! Our three entries in a text that somebody else wrote. Only our own lines change; comments, order and what we do
//! not know stay as they are, byte for byte. What came out is read again, and must mean what was meant.

use std::ops::Range;

use serde_json::Value;

use super::{
    Kubeconfig,
    yaml::{self, Tree, What},
};

/// Bytes to be replaced, and by what.
type Edit = (Range<usize>, String);

/// The text with our entries; the reason why not, otherwise.
pub(crate) fn merged(text: &str, ours: &Kubeconfig, use_it: bool) -> Result<String, String> {
    let Some(root) = yaml::parse(text)? else {
        let mut document = ours.document();
        if !use_it {
            document["current-context"] = Value::from("");
        }
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        let alone = yaml::block(&document, 0);
        let result = format!("{text}{gap}{alone}");
        let means = |text: &str| yaml::parse(text).map(|root| root.map(|root| root.value()));
        // A text that says `null`, or ends in the middle of something, is empty and yet cannot be added to.
        return if means(&result) == means(&alone) {
            Ok(result)
        } else {
            Err("its form is unusual".to_owned())
        };
    };
    if !matches!(root.what, What::Map(_)) {
        return Err("it is no kubeconfig".to_owned());
    }
    let mut wanted = root.value();
    let (mut edits, mut tail) = (Vec::new(), Vec::new());
    for (list, entry) in ours.entries() {
        replace(&mut wanted[list], &ours.name, &entry);
        match root.entry(list) {
            None => tail.push((list, Value::Array(vec![entry]))),
            Some((key, value)) => edits.push(in_list(text, key, value, &root, &ours.name, &entry)?),
        }
    }
    if use_it {
        let name = Value::from(ours.name.as_str());
        wanted["current-context"] = name.clone();
        match root.entry("current-context") {
            None => tail.push(("current-context", name)),
            Some((key, value)) => {
                // JSON stays JSON.
                let word = if root.flow { name.to_string() } else { yaml::scalar(&name) };
                edits.push(in_place(text, key, value, &word));
            }
        }
    }
    edits.extend(added(text, &root, &tail));
    edits.sort_by_key(|(range, _)| std::cmp::Reverse(range.start));
    let mut result = text.to_owned();
    for (range, replacement) in edits {
        result.replace_range(range, &replacement);
    }
    let now = yaml::parse(&result)?.map(|root| root.value());
    if now.as_ref() == Some(&wanted) { Ok(result) } else { Err("its form is unusual".to_owned()) }
}

/// What the list shall mean.
fn replace(list: &mut Value, name: &str, entry: &Value) {
    if !list.is_array() {
        *list = Value::Array(Vec::new());
    }
    let Value::Array(items) = list else { return };
    let entry = as_text(entry);
    match items.iter_mut().find(|item| item["name"] == name) {
        Some(item) => *item = entry,
        None => items.push(entry),
    }
}

/// Scalars as the reader gives them.
fn as_text(value: &Value) -> Value {
    match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), as_text(value))).collect(),
        Value::Array(items) => items.iter().map(as_text).collect(),
        Value::Null | Value::String(_) => value.clone(),
        other => Value::String(other.to_string()),
    }
}

/// Puts an entry into a list that is there, or into the place of none.
fn in_list(
    text: &str,
    key: &Tree,
    list: &Tree,
    root: &Tree,
    name: &str,
    entry: &Value,
) -> Result<Edit, String> {
    let What::List(items) = &list.what else {
        if !matches!(list.what, What::Scalar(None)) {
            return Err(format!("its `{}` are no list", key.text().unwrap_or_default()));
        }
        return Ok(if root.flow {
            in_place(text, key, list, &format!("[{entry}]"))
        } else {
            let (range, _) = in_place(text, key, list, "");
            (range, format!(":\n- {}", yaml::block(entry, 2).trim_end()))
        });
    };
    let same =
        items.iter().find(|item| item.entry("name").is_some_and(|(_, value)| value.text() == Some(name)));
    Ok(match (same, items.last()) {
        (Some(item), _) if item.flow => (item.start..item.end, entry.to_string()),
        (Some(item), _) => {
            let column = column(text, item.start);
            (item.start..item.end, yaml::block(entry, column).trim_end().to_owned())
        }
        (None, Some(item)) if list.flow => (item.end..item.end, format!(", {entry}")),
        // `[]` becomes a list as kubectl writes it, unless all of the file has brackets.
        (None, None) if root.flow => (list.start..list.end, format!("[{entry}]")),
        (None, None) => {
            let (range, _) = in_place(text, key, list, "");
            (range, format!(":\n- {}", yaml::block(entry, 2).trim_end()))
        }
        (None, Some(item)) => {
            let end = line_end(text, item.end);
            let column = dash(text, item.start);
            (end..end, format!("\n{:column$}- {}", "", yaml::block(entry, column + 2).trim_end()))
        }
    })
}

/// Replaces the value of a key, from the end of the key on.
fn in_place(text: &str, key: &Tree, value: &Tree, new: &str) -> Edit {
    let colon = text[key.end..].find(':').map_or(key.end, |at| key.end + at + 1);
    (key.end..value.end.max(colon), format!(": {new}"))
}

/// Adds keys at the end of the whole.
fn added(text: &str, root: &Tree, tail: &[(&str, Value)]) -> Option<Edit> {
    let What::Map(entries) = &root.what else { return None };
    if tail.is_empty() {
        return None;
    }
    if root.flow {
        let at = entries.last().map_or(root.start + 1, |(_, value)| value.end);
        let mut words: Vec<String> =
            tail.iter().map(|(key, value)| format!("{}: {value}", Value::from(*key))).collect();
        if !entries.is_empty() {
            words.insert(0, String::new());
        }
        return Some((at..at, words.join(", ")));
    }
    let lines: String = tail
        .iter()
        .map(|(key, value)| {
            yaml::block(&Value::Object([((*key).to_owned(), value.clone())].into_iter().collect()), 0)
        })
        .collect();
    let gap = if text.ends_with('\n') { "" } else { "\n" };
    Some((text.len()..text.len(), format!("{gap}{lines}")))
}

fn column(text: &str, at: usize) -> usize {
    at - text[..at].rfind('\n').map_or(0, |newline| newline + 1)
}

/// The column of the dash before an item.
fn dash(text: &str, item: usize) -> usize {
    text[..item].rfind('-').map_or(0, |at| column(text, at))
}

/// Where the line ends that this byte is in.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline)
}

#[cfg(test)]
mod tests {
    use super::{super::example, *};

    const OTHERS: &str = "\
# mine, do not touch
apiVersion: v1
kind: Config
preferences: {colors: true}   # unknown to us
clusters:
    - name: work   # the office
      cluster:
          server: https://work.example:6443
          extensions:
              - {name: a, extension: {b: 1.10}}

contexts:
- context: {cluster: work, user: me}
  name: work
current-context: work
users:
- name: me
  user:
    exec:
      command: get-token
      args: [a, \"b c\"]
      apiVersion: client.authentication.k8s.io/v1
";

    fn merge(text: &str, use_it: bool) -> String {
        merged(text, &example(), use_it).unwrap_or_else(|why| panic!("{why}: {text}"))
    }

    #[test]
    fn lines_of_others_stay_as_they_are() {
        let result = merge(OTHERS, false);
        let kept: Vec<&str> = result.lines().filter(|line| OTHERS.lines().any(|old| old == *line)).collect();
        assert_eq!(kept.iter().filter(|line| line.contains("mine")).count(), 1);
        for line in OTHERS.lines() {
            assert!(kept.contains(&line), "`{line}` is gone: {result}");
        }
        assert!(result.contains("\n    - cluster:\n        certificate-authority-data: Q0E=\n"), "{result}");
        assert!(result.contains("\ncurrent-context: work\n"), "{result}");
        assert_eq!(merge(&result, false), result, "a second time changes nothing");
        let used = merge(&result, true);
        assert_eq!(used, result.replace("current-context: work", "current-context: swdt-x"));
    }

    #[test]
    fn an_entry_of_ours_is_replaced_where_it_is() {
        let old = merge(OTHERS, false).replace("10.0.0.1", "10.9.9.9").replace("Q1JU", "b2xk");
        assert_eq!(merge(&old, false), merge(OTHERS, false));
    }

    #[test]
    fn files_of_every_form() {
        for text in [
            "",
            "# nothing yet",
            "apiVersion: v1\nkind: Config\nclusters: null\ncontexts: []\nusers:\ncurrent-context: \"\"\n",
            "{\"apiVersion\": \"v1\", \"kind\": \"Config\", \"clusters\": [{\"name\": \"a\", \"cluster\": {}}], \"users\": null}",
            "{}",
            "kind: Config\nusers: [{name: a, user: {}}]\nclusters: [ ]  # none\n",
            "kind: Config\nusers:\n- name: a\n  user:\n    client-key-data: |\n      x\n      y\n\n\nclusters:\n- {name: swdt-x}",
            "clusters:\r\n- name: a\r\n  cluster: {}\r\n",
        ] {
            let once = merge(text, true);
            assert_eq!(merge(&once, true), once, "{text}");
            let root = yaml::parse(&once).unwrap().unwrap().value();
            assert_eq!(root["current-context"], "swdt-x", "{once}");
            assert!(root["users"].as_array().unwrap().iter().any(|user| user["name"] == "swdt-x"), "{once}");
        }
    }

    #[test]
    fn what_cannot_be_merged_says_why() {
        for (text, why) in [
            ("a: [", "unclosed"),
            ("- a", "no kubeconfig"),
            ("clusters: yes", "no list"),
            ("a: &x 1\nb: *x\n", "aliases"),
            ("a: 1\n---\nb: 2\n", "several documents"),
            ("users: []\nusers: []\n", "twice"),
            ("null\n", "unusual"),
        ] {
            let error = merged(text, &example(), false).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
