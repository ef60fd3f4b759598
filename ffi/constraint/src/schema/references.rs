//! Where a `$ref` points: JSON pointers, `$id` and `$anchor` within one schema. Nothing is ever fetched.

use std::collections::HashMap;

use serde_json::Value;

use crate::guard::Reason;

/// The names that a schema gives to its parts.
pub struct References<'a> {
    root: &'a Value,
    /// `$id` → JSON pointer.
    ids: HashMap<&'a str, String>,
    /// `$anchor` → JSON pointer.
    anchors: HashMap<&'a str, String>,
    /// Pointers of parts that are resources of their own, the root among them: `#/…` starts there.
    resources: Vec<String>,
}

impl<'a> References<'a> {
    pub fn new(root: &'a Value) -> Self {
        let mut all = Self { root, ids: HashMap::new(), anchors: HashMap::new(), resources: vec![String::new()] };
        all.collect(root, String::new());
        all
    }

    fn collect(&mut self, value: &'a Value, at: String) {
        match value {
            Value::Object(map) => {
                for name in ["$id", "id"] {
                    let Some(id) = map.get(name).and_then(Value::as_str) else { continue };
                    self.ids.entry(id.trim_end_matches('#')).or_insert_with(|| at.clone());
                    if name == "$id" && !at.is_empty() {
                        self.resources.push(at.clone());
                    }
                }
                if let Some(anchor) = map.get("$anchor").and_then(Value::as_str) {
                    self.anchors.entry(anchor).or_insert_with(|| at.clone());
                }
                for (key, part) in map {
                    self.collect(part, join(&at, key));
                }
            }
            Value::Array(items) => {
                for (index, part) in items.iter().enumerate() {
                    self.collect(part, format!("{at}/{index}"));
                }
            }
            _ => {}
        }
    }

    /// JSON pointer of what `reference`, written in the part at `from`, means.
    pub fn resolve(&self, reference: &str, from: &str) -> Result<String, Reason> {
        let (id, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let base = if id.is_empty() { Some(self.resource_of(from)) } else { self.ids.get(id).map(String::as_str) };
        let base =
            base.ok_or_else(|| format!("`$ref` to \"{reference}\" leads out of the schema, which is not followed"))?;
        let target = if fragment.is_empty() || fragment.starts_with('/') {
            Some(format!("{base}{}", decode(fragment)))
        } else {
            self.anchors.get(fragment).cloned()
        };
        target
            .filter(|pointer| self.root.pointer(pointer).is_some())
            .ok_or_else(|| format!("`$ref` to \"{reference}\" finds nothing in the schema"))
    }

    pub fn get(&self, pointer: &str) -> &'a Value {
        self.root.pointer(pointer).unwrap_or(&Value::Null)
    }

    fn resource_of(&self, at: &str) -> &str {
        let holds = |resource: &&String| {
            at.strip_prefix(resource.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.resources.iter().filter(holds).max_by_key(|resource| resource.len()).map_or("", String::as_str)
    }
}

/// Pointer of a member.
pub fn join(at: &str, key: &str) -> String {
    format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Undoes percent encoding; what is no encoding stays.
fn decode(fragment: &str) -> String {
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = (bytes[at] == b'%').then(|| fragment.get(at + 1..at + 3)).flatten();
        match code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}
