//! Keywords that llguidance lacks, as others that it has. Each rewriting allows only values that the original allows; where
//! it allows fewer (marked "subset"), the values left out are other spellings of the same intent, such as another order.

use std::collections::BTreeSet;

use serde_json::{json, Map, Value};

use super::closing::CLOSED_HERE;

type Object = Map<String, Value>;

/// Values of a list without duplicates: each subset of at most this number is written out.
const UNIQUE_VALUES_MAX: usize = 5;
/// Items that are written out one by one.
const ITEMS_MAX: u64 = 16;
/// Alternatives of a `oneOf` that exclude each other by negation.
const EXCLUSIVE_MAX: usize = 4;
/// Negations within each other.
const DEPTH_MAX: usize = 6;
const TYPES: [&str; 6] = ["null", "boolean", "number", "string", "array", "object"];

/// The schema in other words; None where there is nothing to rewrite. Keywords without an equivalent stay as they are.
pub fn rewrite(map: &Object) -> Option<Object> {
    const KEYWORDS: [&str; 10] = [
        "dependentRequired",
        "dependentSchemas",
        "dependencies",
        "contains",
        "uniqueItems",
        "not",
        "if",
        "unevaluatedProperties",
        "unevaluatedItems",
        "oneOf",
    ];
    if !map.keys().any(|key| KEYWORDS.contains(&key.as_str())) {
        return None;
    }
    let mut out = map.clone();
    let mut more = Vec::new();
    dependencies(&mut out, &mut more);
    conditions(&mut out, &mut more);
    exclusive(&mut out, &mut more);
    unevaluated(&mut out);
    contains(&mut out);
    unique(&mut out, &mut more);
    if !more.is_empty() {
        let all = out.entry("allOf").or_insert_with(|| json!([]));
        all.as_array_mut()?.extend(more);
    }
    Some(out)
}

/// `a` then `b`: no `a`, or `b` as well.
fn dependencies(out: &mut Object, more: &mut Vec<Value>) {
    for keyword in ["dependentRequired", "dependentSchemas", "dependencies"] {
        let Some(rules) = out.get(keyword).and_then(Value::as_object) else { continue };
        let written: Option<Vec<Value>> = rules
            .iter()
            .map(|(name, rule)| {
                let then = match rule {
                    Value::Array(names) => {
                        let mut all = vec![json!(name)];
                        all.extend(names.iter().filter(|other| *other != name).cloned());
                        json!({ "type": "object", "required": all })
                    }
                    Value::Object(_) | Value::Bool(_) => {
                        json!({ "type": "object", "required": [name], "allOf": [rule] })
                    }
                    _ => return None,
                };
                Some(json!({ "anyOf": [then, without(name), { "type": other_types(&["object"]) }] }))
            })
            .collect();
        let Some(written) = written else { continue };
        more.extend(written);
        out.shift_remove(keyword);
    }
}

/// Objects without a member.
fn without(name: &str) -> Value {
    json!({ "type": "object", "properties": { name: false } })
}

fn other_types(types: &[&str]) -> Vec<&'static str> {
    TYPES.into_iter().filter(|kind| !types.contains(kind)).collect()
}

/// `not`, and `if` with `then` and `else`, where the negation can be said.
fn conditions(out: &mut Object, more: &mut Vec<Value>) {
    if let Some(negated) = out.get("not").and_then(|rule| Negation::around(out).of(rule, out, DEPTH_MAX)) {
        more.push(negated);
        out.shift_remove("not");
    }
    let Some(condition) = out.get("if").cloned() else {
        for keyword in ["then", "else"] {
            out.shift_remove(keyword); // without `if` they state nothing
        }
        return;
    };
    let branch = |name: &str| out.get(name).cloned().unwrap_or(json!(true));
    let (then, other) = (branch("then"), branch("else"));
    if let Some(negated) = Negation::around(out).of(&condition, out, DEPTH_MAX) {
        more.push(json!({ "anyOf": [{ "allOf": [condition, then] }, { "allOf": [negated, other] }] }));
        for keyword in ["if", "then", "else"] {
            out.shift_remove(keyword);
        }
    }
}

/// Alternatives of which no two may hold: each without the others, where these can be negated.
fn exclusive(out: &mut Object, more: &mut Vec<Value>) {
    let Some(options) = out.get("oneOf").and_then(Value::as_array) else { return };
    if options.len() == 1 || options.len() > EXCLUSIVE_MAX {
        return;
    }
    let negation = Negation::around(out);
    let negated: Option<Vec<Value>> = options.iter().map(|option| negation.of(option, out, DEPTH_MAX)).collect();
    let Some(negated) = negated else { return };
    let alone = options.iter().enumerate().map(|(index, option)| {
        let others = negated.iter().enumerate().filter(|(other, _)| *other != index).map(|(_, not)| not.clone());
        let all: Vec<Value> = std::iter::once(option.clone()).chain(others).collect();
        json!({ "allOf": all })
    });
    more.push(json!({ "anyOf": alone.collect::<Vec<_>>() }));
    out.shift_remove("oneOf");
}

/// What others say of the members of the objects that are negated.
#[derive(Default)]
struct Negation {
    /// Of all members that are declared anywhere.
    names: BTreeSet<String>,
    /// Members may have names that are not declared.
    free: bool,
    /// Some objects were closed here.
    closed: bool,
}

impl Negation {
    fn around(map: &Object) -> Negation {
        let mut found = Negation::default();
        found.read(map);
        found
    }

    fn read(&mut self, map: &Object) {
        for (key, value) in map {
            match (key.as_str(), value) {
                ("properties", Value::Object(members)) => self.names.extend(members.keys().cloned()),
                ("required", Value::Array(names)) => {
                    self.names.extend(names.iter().filter_map(Value::as_str).map(str::to_string));
                }
                ("additionalProperties", value) if value != &json!(false) => self.free = true,
                ("patternProperties" | "$ref", _) => self.free = true,
                (CLOSED_HERE, _) => self.closed = true,
                _ => {}
            }
            match value {
                Value::Object(part) => self.read(part),
                Value::Array(parts) => parts.iter().filter_map(Value::as_object).for_each(|part| self.read(part)),
                _ => {}
            }
        }
    }

    /// Objects with a member that a closed one does not declare. Subset: one that is declared elsewhere. None where such a
    /// member may have any name, unless llguidance would then compare with objects that are closed as they were not sent.
    fn others(&self, map: &Object) -> Option<Vec<Value>> {
        if map.contains_key(CLOSED_HERE) {
            return Some(Vec::new()); // as it was sent, they are valid
        }
        if self.free && !self.closed {
            return None;
        }
        let own = map.get("properties").and_then(Value::as_object);
        let others = self.names.iter().filter(|name| !own.is_some_and(|own| own.contains_key(*name)));
        Some(others.map(|name| json!({ "type": "object", "required": [name] })).collect())
    }

    /// What is valid only where `schema`, beside the keywords of `around`, is not; None where that cannot be said.
    fn of(&self, schema: &Value, around: &Object, depth: usize) -> Option<Value> {
        if depth == 0 {
            return None;
        }
        let map = match schema {
            Value::Bool(all) => return Some(json!(!all)),
            Value::Object(map) => map,
            _ => return None,
        };
        let mut ways = Vec::new();
        for (key, value) in map {
            match (key.as_str(), value) {
                ("title" | "description" | "default" | "examples" | "$comment" | "deprecated", _) => {}
                (CLOSED_HERE, _) | ("additionalProperties", Value::Bool(true)) => {}
                ("additionalProperties", Value::Bool(false)) => ways.extend(self.others(map)?),
                ("type", _) => ways.push(not_type(value)?),
                ("const", _) => ways.push(not_values(std::slice::from_ref(value), around)?),
                ("enum", Value::Array(values)) => ways.push(not_values(values, around)?),
                ("required", Value::Array(names)) => {
                    for name in names {
                        ways.push(without(name.as_str()?));
                    }
                }
                ("properties", Value::Object(members)) => {
                    for (name, member) in members {
                        ways.push(self.not_member(name, member, around, depth)?);
                    }
                }
                ("minimum", Value::Number(_)) => ways.push(json!({ "type": "number", "exclusiveMaximum": value })),
                ("maximum", Value::Number(_)) => ways.push(json!({ "type": "number", "exclusiveMinimum": value })),
                ("exclusiveMinimum", Value::Number(_)) => ways.push(json!({ "type": "number", "maximum": value })),
                ("exclusiveMaximum", Value::Number(_)) => ways.push(json!({ "type": "number", "minimum": value })),
                ("minLength", _) => ways.push(below("string", "maxLength", value)?),
                ("maxLength", _) => ways.push(above("string", "minLength", value)?),
                ("minItems", _) => ways.push(below("array", "maxItems", value)?),
                ("maxItems", _) => ways.push(above("array", "minItems", value)?),
                ("not", inner) => ways.push(inner.clone()),
                ("allOf", Value::Array(all)) => {
                    for part in all {
                        ways.push(self.of(part, around, depth - 1)?);
                    }
                }
                ("anyOf", Value::Array(all)) => {
                    let none: Option<Vec<Value>> = all.iter().map(|part| self.of(part, around, depth - 1)).collect();
                    ways.push(json!({ "allOf": none? }));
                }
                _ => return None,
            }
        }
        ways.retain(|way| way != &json!(false));
        Some(match ways.len() {
            0 => json!(false),
            1 => ways.swap_remove(0),
            _ => json!({ "anyOf": ways }),
        })
    }

    /// Objects that have a member which is not valid.
    fn not_member(&self, name: &str, member: &Value, around: &Object, depth: usize) -> Option<Value> {
        let declared = around.get("properties").and_then(|all| all.get(name)).and_then(Value::as_object);
        let nothing = Object::new();
        let negated = self.of(member, declared.unwrap_or(&nothing), depth - 1)?;
        if negated == json!(false) {
            return Some(negated);
        }
        Some(json!({ "type": "object", "properties": { name: negated }, "required": [name] }))
    }
}

fn not_type(value: &Value) -> Option<Value> {
    let names: Vec<&str> = match value {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    let mut names = names;
    if names.contains(&"integer") {
        names.push("number"); // subset: numbers with a fraction are left out
    }
    let others = other_types(&names);
    Some(if others.is_empty() { json!(false) } else { json!({ "type": others }) })
}

/// Anything but some values. Subset: where the values allowed are listed beside it or the type has few values, the rest of
/// them; else values of another type.
fn not_values(values: &[Value], around: &Object) -> Option<Value> {
    let booleans = [json!(true), json!(false)];
    let kind = around.get("type").and_then(Value::as_str);
    let listed = match around.get("enum") {
        Some(Value::Array(listed)) => Some(listed.as_slice()),
        _ if kind == Some("boolean") => Some(&booleans[..]),
        _ => None,
    };
    if let Some(listed) = listed {
        let rest: Vec<&Value> = listed.iter().filter(|value| !values.contains(value)).collect();
        return Some(if rest.is_empty() { json!(false) } else { json!({ "enum": rest }) });
    }
    match (values, kind) {
        ([Value::String(text)], Some("string")) => not_text(text),
        ([Value::Number(number)], Some("integer" | "number")) => {
            Some(json!({ "anyOf": [{ "exclusiveMinimum": number }, { "exclusiveMaximum": number }] }))
        }
        ([Value::Null], None) => Some(json!({ "type": other_types(&["null"]) })),
        _ => None,
    }
}

/// Strings of another length or with another character at some place, up to a length where that stays small.
fn not_text(text: &str) -> Option<Value> {
    const CHARS_MAX: usize = 40;
    let length = text.chars().count();
    if length > CHARS_MAX {
        return None;
    }
    let mut ways = vec![json!({ "type": "string", "minLength": length + 1 })];
    if length > 0 {
        ways.push(json!({ "type": "string", "maxLength": length - 1 }));
    }
    let chars: Vec<char> = text.chars().collect();
    for (at, char) in chars.iter().enumerate() {
        let before: String = chars[..at].iter().map(|char| format!("\\u{{{:x}}}", *char as u32)).collect();
        ways.push(json!({ "type": "string", "pattern": format!("^{before}[^\\u{{{:x}}}]", *char as u32) }));
    }
    Some(json!({ "anyOf": ways }))
}

fn below(kind: &str, keyword: &str, value: &Value) -> Option<Value> {
    match value.as_u64()? {
        0 => Some(json!(false)),
        count => Some(json!({ "type": kind, keyword: count - 1 })),
    }
}

fn above(kind: &str, keyword: &str, value: &Value) -> Option<Value> {
    Some(json!({ "type": kind, keyword: value.as_u64()? + 1 }))
}

/// Where nothing but members beside it and within `allOf` are evaluated, all others are additional.
fn unevaluated(out: &mut Object) {
    const APPLICATORS: [&str; 10] =
        ["anyOf", "oneOf", "if", "then", "else", "$ref", "$dynamicRef", "not", "dependentSchemas", "dependencies"];
    let plain = |map: &Object| APPLICATORS.iter().all(|key| !map.contains_key(*key));
    if !plain(out) {
        return;
    }
    if out.get("unevaluatedItems").is_some() && !out.contains_key("allOf") && !out.contains_key("contains") {
        let rest = out.shift_remove("unevaluatedItems").unwrap_or(json!(true));
        if !out.contains_key("items") {
            out.insert("items".into(), rest);
        } else if out.get("items").is_some_and(Value::is_array) {
            out.entry("additionalItems").or_insert(rest);
        }
    }
    if out.get("unevaluatedProperties").is_none() {
        return;
    }
    let parts = out.get("allOf").and_then(Value::as_array).cloned().unwrap_or_default();
    let simple = |part: &Value| {
        part.as_object().is_some_and(|part| {
            plain(part)
                && ["allOf", "patternProperties", "additionalProperties", "unevaluatedProperties"]
                    .iter()
                    .all(|key| !part.contains_key(*key))
        })
    };
    if !parts.iter().all(simple) {
        return;
    }
    let rest = out.shift_remove("unevaluatedProperties").unwrap_or(json!(true));
    let declared: Vec<String> = parts
        .iter()
        .filter_map(|part| part.get("properties").and_then(Value::as_object))
        .flat_map(|members| members.keys().cloned())
        .collect();
    if !declared.is_empty() {
        let members = out.entry("properties").or_insert_with(|| json!({}));
        if let Value::Object(members) = members {
            for name in declared {
                members.entry(name).or_insert(json!(true));
            }
        }
    }
    out.entry("additionalProperties").or_insert(rest);
}

/// Subset: the items that are asked for come first.
fn contains(out: &mut Object) {
    let Some(wanted) = out.get("contains").cloned() else { return };
    let least = out.get("minContains").map_or(Some(1), Value::as_u64);
    let Some(least) = least.filter(|least| *least <= ITEMS_MAX) else { return };
    let blocked = ["prefixItems", "maxContains", "unevaluatedItems"].iter().any(|key| out.contains_key(*key))
        || out.get("items").is_some_and(Value::is_array)
        || out.get("uniqueItems") == Some(&json!(true));
    // Of arrays that may be something else, this would say too much.
    if blocked || (least > 0 && out.get("type") != Some(&json!("array"))) {
        return;
    }
    for keyword in ["contains", "minContains"] {
        out.shift_remove(keyword);
    }
    if least == 0 {
        return;
    }
    let item = match out.get("items") {
        Some(items) => json!({ "allOf": [items, wanted] }),
        None => wanted,
    };
    out.insert("prefixItems".into(), json!(vec![item; least as usize]));
    let count = out.get("minItems").and_then(Value::as_u64).unwrap_or(0);
    out.insert("minItems".into(), json!(count.max(least)));
}

/// Subset: of few possible values, those that are chosen in the order in which they are listed.
fn unique(out: &mut Object, more: &mut Vec<Value>) {
    let array = out.get("type") == Some(&json!("array"));
    if !array || out.get("uniqueItems") != Some(&json!(true)) || out.contains_key("prefixItems") {
        return;
    }
    let values = match out.get("items") {
        Some(Value::Object(items)) => match (items.get("enum"), items.get("type").and_then(Value::as_str)) {
            (Some(Value::Array(values)), _) if items.keys().all(|key| key == "enum" || key == "type") => values.clone(),
            (None, Some("boolean")) if items.len() == 1 => vec![json!(true), json!(false)],
            _ => return,
        },
        _ => return,
    };
    if values.len() > UNIQUE_VALUES_MAX {
        return;
    }
    let bound = |key: &str, none: usize| out.get(key).and_then(Value::as_u64).map_or(none, |count| count as usize);
    let counts = bound("minItems", 0)..=bound("maxItems", values.len()).min(values.len());
    let mut ways = Vec::new();
    for chosen in 0_u32..1 << values.len() {
        let items: Vec<Value> = values
            .iter()
            .enumerate()
            .filter(|(index, _)| chosen & (1 << index) != 0)
            .map(|(_, value)| json!({ "const": value }))
            .collect();
        if !counts.contains(&items.len()) {
            continue;
        }
        let count = items.len();
        ways.push(match count {
            0 => json!({ "type": "array", "maxItems": 0 }),
            _ => json!({ "type": "array", "prefixItems": items, "minItems": count, "maxItems": count }),
        });
    }
    for keyword in ["uniqueItems", "items", "minItems", "maxItems"] {
        out.shift_remove(keyword);
    }
    more.push(json!({ "anyOf": ways }));
}
