//! The JSON Schema of the file, made from the types, and a way to read it.

use std::sync::LazyLock;

use serde_json::{Number, Value};

use super::v1alpha1::Cluster;

/// Made once: the wizard reads its file at every key.
static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let mut schema = schemars::schema_for!(Cluster);
    schema.insert("$id".to_owned(), "https://swdt.dev/schema/v1alpha1/cluster.json".into());
    schema.to_value()
});

/// The JSON Schema of the file, for editors and for [`super::load`] itself.
pub fn schema() -> &'static Value {
    &SCHEMA
}

/// The schema of one value. Reads what schemars writes, which is far less than JSON Schema allows.
#[derive(Clone, Copy)]
pub(super) struct Schema<'s> {
    root: &'s Value,
    /// As the field has it: description and examples.
    outer: &'s Value,
    /// Behind `$ref` and "or null": what the value must be.
    inner: &'s Value,
    /// May the value be left empty?
    pub(super) nullable: bool,
}

impl<'s> Schema<'s> {
    /// The schema of the whole file.
    pub(super) fn root(root: &'s Value) -> Self {
        Self::of(root, root)
    }

    fn of(root: &'s Value, outer: &'s Value) -> Self {
        let mut nullable =
            outer["type"].as_array().is_some_and(|types| types.iter().any(|name| name == "null"));
        let mut inner = outer;
        if let Some(options) = outer["anyOf"].as_array() {
            nullable = true;
            inner = options.iter().find(|option| option["type"] != "null").unwrap_or(outer);
        }
        if let Some(name) = inner["$ref"].as_str() {
            inner = root.pointer(name.trim_start_matches('#')).unwrap_or(inner);
        }
        Self { root, outer, inner, nullable }
    }

    /// The name of its type.
    pub(super) fn kind(self) -> &'s str {
        match &self.inner["type"] {
            Value::Array(types) => {
                types.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or_default()
            }
            // Documented variants are a `oneOf` of constants, which are all text.
            _ if self.inner["oneOf"].is_array() => "string",
            other => other.as_str().unwrap_or_default(),
        }
    }

    /// Is a whole number taken for text?
    pub(super) fn takes_numbers(self) -> bool {
        let types = self.inner["type"].as_array();
        self.kind() == "string" && types.is_some_and(|types| types.iter().any(|name| name == "integer"))
    }

    /// The words it may be; none means any.
    pub(super) fn words(self) -> Vec<&'s str> {
        let plain = self.inner["enum"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let documented = self.inner["oneOf"].as_array().into_iter().flatten();
        plain.chain(documented.filter_map(|option| option["const"].as_str())).collect()
    }

    /// The least and the greatest number it may be.
    pub(super) fn range(self) -> Option<(f64, f64)> {
        Some((self.inner["minimum"].as_f64()?, self.inner["maximum"].as_f64()?))
    }

    /// Is it a number beyond that range?
    pub(super) fn exceeded_by(self, number: &Number) -> bool {
        let number = number.as_f64().unwrap_or(f64::MAX);
        self.range().is_some_and(|(least, most)| number < least || number > most)
    }

    /// Must text have a certain form?
    pub(super) fn has_form(self) -> bool {
        self.inner["pattern"].is_string()
    }

    /// A limit on the size of a list or map, by its keyword.
    pub(super) fn limit(self, keyword: &str) -> Option<usize> {
        // A property may add a limit to a type that has none.
        let limit = self.outer[keyword].as_u64().or_else(|| self.inner[keyword].as_u64());
        limit.and_then(|limit| limit.try_into().ok())
    }

    /// The keys of a map.
    pub(super) fn keys(self) -> Vec<&'s str> {
        self.inner["properties"].as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect()
    }

    /// May a map have any keys, because it is not ours to say?
    pub(super) fn open(self) -> bool {
        self.inner["additionalProperties"] == true
    }

    /// The keys a map must have.
    pub(super) fn required(self) -> Vec<&'s str> {
        self.inner["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect()
    }

    /// The schema of a key of a map.
    pub(super) fn property(self, key: &str) -> Option<Self> {
        let named = self.inner["properties"].get(key);
        let any = Some(&self.inner["additionalProperties"]).filter(|any| any.is_object());
        named.or(any).map(|property| Self::of(self.root, property))
    }

    /// The schema of the items of a list.
    pub(super) fn items(self) -> Self {
        Self::of(self.root, &self.inner["items"])
    }

    /// The same, with the description of the list.
    pub(super) fn of_items(self) -> Self {
        Self { outer: self.outer, ..self.items() }
    }

    /// What it means: of the field, else of its type.
    pub(super) fn about(self) -> String {
        let of = |schema: &Value| schema["description"].as_str().map(|text| text.replace('\n', " "));
        of(self.outer).or_else(|| of(self.inner)).unwrap_or_default()
    }

    /// What holds if nothing is said.
    pub(super) fn default(self) -> Option<String> {
        self.outer.get("default").map(written)
    }

    /// An example, as a user would write it.
    pub(super) fn example(self) -> Option<String> {
        self.outer["examples"].get(0).map(written)
    }

    /// Where a key is known: below this map first, then anywhere; the shortest path wins.
    pub(super) fn find(self, key: &str) -> Option<String> {
        self.find_below(key).or_else(|| Self::root(self.root).find_below(key))
    }

    fn find_below(self, key: &str) -> Option<String> {
        let mut level = vec![(String::new(), self)];
        while !level.is_empty() {
            let mut next = Vec::new();
            for (path, schema) in level {
                if !path.is_empty() && schema.keys().contains(&key) {
                    return Some(path);
                }
                // Below `components` every component would match; the first of fifteen helps nobody.
                for name in schema.keys().into_iter().filter(|name| *name != "components") {
                    let Some(property) = schema.property(name) else { continue };
                    let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                    next.push(match property.kind() {
                        "array" => (path + "[]", property.items()),
                        _ => (path, property),
                    });
                }
            }
            level = next;
        }
        None
    }
}

/// A value as a user would write it.
fn written(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}
