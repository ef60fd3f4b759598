//! Closes objects: one that declares members takes no others, unless its schema says something about others.
//!
//! A model that may add members goes on adding them, and clients that write `properties` alone mean these. Several schemas may
//! declare members of one object, so what applies to it together is closed together: the names of all are put beside a
//! single `additionalProperties: false`. An object that declares nothing stays any object.

use std::collections::{BTreeSet, HashSet};

use serde_json::{json, Map, Value};

use super::references::{join, References};
use super::ANNOTATIONS;

type Object = Map<String, Value>;

/// Beside an `additionalProperties: false` that was not sent: an object with other members is valid as the schema was sent.
pub const CLOSED_HERE: &str = "x-svc-closed";
/// Schemas that apply to one object, one within the other; a deeper composition stays open.
const DEPTH_MAX: usize = 64;
/// Keywords whose schemas apply to the same object; a list or a map of them, or one.
const LISTS: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const BRANCHES: [&str; 2] = ["then", "else"];
const MAPS: [&str; 2] = ["dependentSchemas", "dependencies"];
/// Of them, those that declare alternatives.
const OPTIONS: [&str; 2] = ["oneOf", "anyOf"];
/// Keywords that say nothing about members.
const OTHERS: [&str; 4] = ["type", "nullable", "discriminator", "minProperties"];

/// What schemas that apply to one object say of its members.
#[derive(Clone, Default)]
pub struct Declared {
    /// All that may have to be there.
    names: BTreeSet<String>,
    /// Some member is described, not only named.
    members: bool,
    patterns: bool,
    /// Other members are spoken of.
    others: bool,
    least: u64,
}

impl Declared {
    fn add(&mut self, more: Declared) {
        self.names.extend(more.names);
        self.members |= more.members;
        self.patterns |= more.patterns;
        self.others |= more.others;
        self.least = self.least.max(more.least);
    }

    fn can_close(&self) -> bool {
        self.members && !self.others && (self.patterns || self.least <= self.names.len() as u64)
    }
}

/// Reads what is declared.
struct Reader<'r> {
    references: &'r References<'r>,
    seen: HashSet<String>,
    depth: usize,
}

impl Reader<'_> {
    fn read(&mut self, schema: &Value, at: &str) -> Declared {
        match schema.as_object() {
            Some(map) => self.object(map, at, &[]),
            None => Declared::default(),
        }
    }

    /// `except`: keywords that are not read.
    fn object(&mut self, map: &Object, at: &str, except: &[&str]) -> Declared {
        let mut found = own(map);
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            found.others = true;
        } else {
            for (key, value) in map.iter().filter(|(key, _)| !except.contains(&key.as_str())) {
                let more = self.applied(key, value, at);
                found.add(more);
            }
        }
        self.depth -= 1;
        found
    }

    fn applied(&mut self, key: &str, value: &Value, at: &str) -> Declared {
        let here = join(at, key);
        let mut found = Declared::default();
        match (key, value) {
            ("$ref", Value::String(reference)) => {
                let Ok(pointer) = self.references.resolve(reference, at) else { return found };
                if self.seen.insert(pointer.clone()) {
                    found = self.read(self.references.get(&pointer), &pointer);
                }
            }
            (key, Value::Array(parts)) if LISTS.contains(&key) => {
                for (index, part) in parts.iter().enumerate() {
                    let more = self.read(part, &format!("{here}/{index}"));
                    found.add(more);
                }
            }
            (key, part) if BRANCHES.contains(&key) => found = self.read(part, &here),
            (key, Value::Object(parts)) if MAPS.contains(&key) => {
                found.names.extend(parts.keys().cloned());
                for (name, part) in parts {
                    match part {
                        Value::Array(names) => found.names.extend(texts(names)),
                        _ => {
                            let more = self.read(part, &join(&here, name));
                            found.add(more);
                        }
                    }
                }
            }
            ("dependentRequired", Value::Object(rules)) => {
                found.names.extend(rules.keys().cloned());
                found.names.extend(rules.values().filter_map(Value::as_array).flat_map(|names| texts(names)));
            }
            // Conditions: they describe no member, but may name one that has to be there.
            ("if" | "not", part) => found.names = self.read(part, &here).names,
            _ => {}
        }
        found
    }
}

fn texts(names: &[Value]) -> impl Iterator<Item = String> + '_ {
    names.iter().filter_map(Value::as_str).map(str::to_string)
}

/// What a schema says by itself.
fn own(map: &Object) -> Declared {
    let members = map.get("properties").and_then(Value::as_object);
    let described: Vec<&String> =
        members.into_iter().flatten().filter(|(_, member)| *member != &json!(false)).map(|(name, _)| name).collect();
    let required = map.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let patterns = map.get("patternProperties").and_then(Value::as_object).is_some_and(|all| !all.is_empty());
    let says = |key: &str, nothing: bool| map.get(key).is_some_and(|value| value != &json!(nothing));
    Declared {
        members: !described.is_empty() || patterns,
        names: described.into_iter().cloned().chain(texts(required)).collect(),
        patterns,
        others: map.contains_key("additionalProperties")
            || says("unevaluatedProperties", false)
            || says("propertyNames", true)
            || map.contains_key("$dynamicRef")
            || map.contains_key("$recursiveRef"),
        least: map.get("minProperties").and_then(Value::as_u64).unwrap_or(0),
    }
}

/// What some parts of a schema declare together.
pub fn declared(parts: &[(&Value, &str)], references: &References) -> Declared {
    let mut found = Declared::default();
    for (part, at) in parts {
        found.add(reader(references).read(part, at));
    }
    found
}

fn reader<'r>(references: &'r References<'r>) -> Reader<'r> {
    Reader { references, seen: HashSet::new(), depth: 0 }
}

/// Whether a schema consists of one reference, or of one list of others: it is closed where these are.
pub fn is_passed_on(map: &Object) -> bool {
    let mut applied = map.iter().filter(|(key, _)| {
        let key = key.as_str();
        !ANNOTATIONS.contains(&key) && !OTHERS.contains(&key)
    });
    let one = match applied.next() {
        Some((key, Value::Array(parts))) => OPTIONS.contains(&key.as_str()) || (key == "allOf" && parts.len() == 1),
        Some((key, _)) => key == "$ref",
        None => false,
    };
    one && applied.next().is_none()
}

/// The schema without room for members that it does not declare; None where that changes nothing. `around`: what applies to
/// the same object and is declared elsewhere.
pub fn close(map: &Object, at: &str, around: &Declared, references: &References) -> Option<Object> {
    let holds_objects = match map.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "object"),
        Some(kind) => kind == "object",
        None => true,
    };
    if !holds_objects {
        return None;
    }
    let read = |except: &[&str]| reader(references).object(map, at, except);
    let beside = |key: &str| {
        let mut all = around.clone();
        all.add(read(&[key]));
        all
    };
    let mut fixed = around.clone();
    fixed.add(read(&OPTIONS));
    if fixed.others {
        return None;
    }
    // Alternatives are closed one by one.
    if let Some(key) = OPTIONS.into_iter().find(|key| has_members(map, key, at, references)) {
        return close_all(map, key, at, &beside(key), references);
    }
    if is_passed_on(map) && around.names.is_empty() && !around.members {
        return None;
    }
    let parts = map.get("allOf").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let branching = parts.iter().position(|part| {
        part.as_object().is_some_and(|part| OPTIONS.iter().any(|key| has_members(part, key, at, references)))
    });
    if let Some(index) = branching {
        let mut all = beside("allOf");
        for (other, part) in parts.iter().enumerate().filter(|(other, _)| *other != index) {
            all.add(reader(references).read(part, &format!("{at}/allOf/{other}")));
        }
        let part = parts[index].as_object()?;
        let closed = close(part, &format!("{at}/allOf/{index}"), &all, references)?;
        let mut out = map.clone();
        out.get_mut("allOf")?[index] = closed.into();
        return Some(out);
    }
    fixed.add(read(&[]));
    fixed.can_close().then(|| with_end(map, &fixed)).flatten()
}

fn has_members(map: &Object, key: &str, at: &str, references: &References) -> bool {
    let options = map.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let here = join(at, key);
    options.iter().zip(0..).any(|(option, index)| reader(references).read(option, &format!("{here}/{index}")).members)
}

fn close_all(map: &Object, key: &str, at: &str, around: &Declared, references: &References) -> Option<Object> {
    let mut out = map.clone();
    let here = join(at, key);
    let mut changed = false;
    for (option, index) in out.get_mut(key)?.as_array_mut()?.iter_mut().zip(0..) {
        let any = Object::new();
        let alone = match option {
            Value::Bool(true) => &any,
            Value::Object(map) => map,
            _ => continue,
        };
        if let Some(closed) = close(alone, &format!("{here}/{index}"), around, references) {
            *option = closed.into();
            changed = true;
        }
    }
    changed.then_some(out)
}

/// The schema with the end of the list of members; None for patterns in several schemas, which llguidance cannot join.
fn with_end(map: &Object, declared: &Declared) -> Option<Object> {
    let mut out = map.clone();
    out.shift_remove("unevaluatedProperties");
    let malformed = map.get("properties").is_some_and(|members| !members.is_object());
    if !malformed && !map.contains_key("$ref") && !map.contains_key("allOf") {
        if declared.patterns && !map.contains_key("patternProperties") {
            return None;
        }
        if let Value::Object(members) = out.entry("properties").or_insert_with(|| json!({})) {
            for name in &declared.names {
                members.entry(name.clone()).or_insert(json!(true));
            }
        }
        out.insert("additionalProperties".into(), json!(false));
        if !map.contains_key("unevaluatedProperties") {
            out.insert(CLOSED_HERE.into(), json!(true));
        }
        return Some(out);
    }
    if declared.patterns {
        return None;
    }
    out.entry("allOf").or_insert_with(|| json!([])).as_array_mut()?.push(end(declared));
    Some(out)
}

/// The schema of objects without other members.
fn end(Declared { names, .. }: &Declared) -> Value {
    let members: Object = names.iter().map(|name| (name.clone(), json!(true))).collect();
    json!({ "properties": members, "additionalProperties": false, CLOSED_HERE: true })
}

/// What closes parts that apply to one object together; None where they stay open.
pub fn end_of(declared: &Declared) -> Option<Value> {
    (declared.can_close() && !declared.patterns).then(|| end(declared))
}
