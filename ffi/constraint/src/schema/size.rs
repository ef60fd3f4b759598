//! How large a schema becomes when its alternatives are multiplied out.
//!
//! llguidance intersects `allOf` and keywords beside `anyOf` alternative by alternative, copying each time. A small schema
//! can so fill any memory; this finds out beforehand, without building anything.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::guard::Reason;

/// Schemas, properties and values after multiplying out: a second and some 100 MB at the very most.
const EXPANDED_MAX: f64 = 200_000.0;
const TYPES: f64 = 6.0;
const APPLICATORS: [&str; 6] = ["allOf", "anyOf", "oneOf", "enum", "const", "$ref"];

#[derive(Clone, Copy)]
struct Size {
    /// Alternatives at the top.
    variants: f64,
    /// Everything below, itself included.
    weight: f64,
}

const ONE: Size = Size { variants: 1.0, weight: 1.0 };
const NONE: Size = Size { variants: 0.0, weight: 0.0 };

impl Size {
    fn and(self, other: Size) -> Size {
        let weight = self.weight * other.variants + other.weight * self.variants;
        Size { variants: self.variants * other.variants, weight }
    }

    fn or(self, other: Size) -> Size {
        Size { variants: self.variants + other.variants, weight: self.weight + other.weight }
    }
}

/// Refuses a normalised schema that would become too large.
pub fn check(schema: &Value) -> Result<(), Reason> {
    let definitions = schema.get("$defs").and_then(Value::as_object);
    let mut counter = Counter { definitions, known: HashMap::new() };
    let mut total = counter.schema(schema, false).weight;
    for definition in definitions.into_iter().flat_map(Map::values) {
        total += counter.schema(definition, false).weight;
    }
    if total > EXPANDED_MAX {
        return Err("the schema is too large once the alternatives it combines are multiplied out".into());
    }
    Ok(())
}

struct Counter<'a> {
    definitions: Option<&'a Map<String, Value>>,
    /// Sizes of definitions; None while one is being counted, so that recursion ends.
    known: HashMap<&'a str, Option<Size>>,
}

impl<'a> Counter<'a> {
    /// `combined`: the schema is intersected with another, so a reference is not kept but copied out.
    fn schema(&mut self, schema: &'a Value, combined: bool) -> Size {
        let Some(map) = schema.as_object() else { return ONE };
        let combined = combined || map.keys().filter(|key| *key != "$defs").count() > 1;
        let mut group = Size { variants: types(map), weight: 1.0 };
        let mut parts = Vec::new();
        for (key, value) in map {
            match (key.as_str(), value) {
                ("properties" | "patternProperties", Value::Object(all)) => group.weight += self.children(all.values()),
                ("prefixItems", Value::Array(all)) => group.weight += self.children(all),
                ("items" | "additionalProperties", child) => group.weight += self.children([child]),
                ("allOf", Value::Array(all)) => {
                    let combined = combined || all.len() > 1;
                    parts.extend(all.iter().map(|part| self.schema(part, combined)).collect::<Vec<_>>());
                }
                ("anyOf" | "oneOf", Value::Array(all)) => {
                    parts.push(all.iter().fold(NONE, |sum, part| sum.or(self.schema(part, combined))));
                }
                ("enum", Value::Array(values)) => {
                    let weight = values.iter().map(literal).sum();
                    parts.push(Size { variants: values.len() as f64, weight });
                }
                ("const", value) => parts.push(Size { variants: 1.0, weight: literal(value) }),
                ("$ref", Value::String(target)) if combined => parts.push(self.reference(target)),
                _ => {}
            }
        }
        group.weight *= group.variants;
        parts.into_iter().fold(group, Size::and)
    }

    fn children(&mut self, schemas: impl IntoIterator<Item = &'a Value>) -> f64 {
        schemas.into_iter().map(|schema| self.schema(schema, false).weight).sum()
    }

    fn reference(&mut self, target: &'a str) -> Size {
        let name = target.strip_prefix("#/$defs/").unwrap_or(target);
        let Some(definition) = self.definitions.and_then(|all| all.get(name)) else { return ONE };
        if let Some(known) = self.known.get(name) {
            return known.unwrap_or(ONE);
        }
        self.known.insert(name, None);
        let size = self.schema(definition, true);
        self.known.insert(name, Some(size));
        size
    }
}

fn types(map: &Map<String, Value>) -> f64 {
    match map.get("type") {
        Some(Value::Array(names)) => names.len() as f64,
        Some(_) => 1.0,
        None if map.keys().all(|key| APPLICATORS.contains(&key.as_str()) || key == "$defs") => 1.0,
        None => TYPES,
    }
}

fn literal(value: &Value) -> f64 {
    match value {
        Value::Array(items) => 1.0 + items.iter().map(literal).sum::<f64>(),
        Value::Object(map) => 1.0 + map.values().map(literal).sum::<f64>(),
        _ => 1.0,
    }
}
