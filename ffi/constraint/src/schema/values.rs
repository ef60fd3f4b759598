//! Keywords that take no schemas: names, counts, numbers, literals, formats.

use serde_json::{json, Map, Number, Value};

use super::{formats, ANNOTATIONS};
use crate::guard::Reason;

type Object = Map<String, Value>;

const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
/// Whole numbers up to here are doubles of their own: 2^53 - 1.
const EXACT_MAX: f64 = 9_007_199_254_740_991.0;
/// Largest number that is written without an exponent: 15 digits.
const PLAIN_MAX: i64 = 999_999_999_999_999;
/// Smaller numbers would need an exponent, which bounded numbers are written without.
const SMALLEST: f64 = 1e-9;

fn is_exact(number: f64) -> bool {
    number == 0.0 || (SMALLEST..=EXACT_MAX).contains(&number.abs())
}

pub fn text<'a>(key: &str, value: &'a Value) -> Result<&'a str, Reason> {
    value.as_str().ok_or_else(|| format!("`{key}` must be a string"))
}

pub fn type_names(value: &Value) -> Result<Value, Reason> {
    let known = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::Array(names) if !names.is_empty() && names.iter().all(known) => Ok(value.clone()),
        Value::String(_) if known(value) => Ok(value.clone()),
        _ => Err(format!("`type` must be one of {} or a list of them", TYPES.join(", "))),
    }
}

pub fn names(value: &Value) -> Result<Value, Reason> {
    match value.as_array() {
        Some(list) if list.iter().all(Value::is_string) => Ok(value.clone()),
        _ => Err("`required` must be a list of names".into()),
    }
}

pub fn count(key: &str, value: &Value) -> Result<Value, Reason> {
    let number = value.as_f64().filter(|count| *count >= 0.0 && count.fract() == 0.0 && *count <= f64::from(u32::MAX));
    number.map(|count| json!(count as u64)).ok_or_else(|| format!("`{key}` must be a whole number from 0 on"))
}

/// True for a refused keyword in a form that rules nothing out.
pub fn states_nothing(map: &Object, key: &str, value: &Value) -> bool {
    match key {
        "uniqueItems" => {
            value == &json!(false) || map.get("maxItems").and_then(Value::as_f64).is_some_and(|max| max <= 1.0)
        }
        "not" => value == &json!(false),
        "if" | "contains" | "x-guidance" => false,
        // names_as_properties leaves this one only where every name is allowed.
        "propertyNames" => true,
        "$recursiveAnchor" | "minContains" | "maxContains" => !map.contains_key("contains"),
        _ => value == &json!(true) || value.as_object().is_some_and(Map::is_empty),
    }
}

fn number(map: &Object, key: &str) -> Result<Option<f64>, Reason> {
    match map.get(key) {
        None | Some(Value::Bool(_)) => Ok(None),
        Some(value) => {
            let number = value.as_f64().ok_or_else(|| format!("`{key}` must be a number"))?;
            if !is_exact(number) {
                return Err(format!("`{key}` is beyond what a double holds exactly"));
            }
            Ok(Some(number))
        }
    }
}

fn as_json(number: f64) -> Value {
    if number.fract() == 0.0 {
        json!(number as i64)
    } else {
        json!(number)
    }
}

/// The bounds of numbers, all inclusive: llguidance lets a 0 through here and there where it is excluded. What is left out
/// is less than the 15th digit. Draft 4's booleans go the same way.
pub fn bounds(map: &Object) -> Result<Object, Reason> {
    let mut out = Object::new();
    for (limit, exclusive, side) in [("minimum", "exclusiveMinimum", 1.0), ("maximum", "exclusiveMaximum", -1.0)] {
        let strict = map.get(exclusive) == Some(&json!(true));
        let beside = |number: f64| number + side * step_beside(number);
        let plain = number(map, limit)?.map(|number| if strict { beside(number) } else { number });
        let bounds = [plain, number(map, exclusive)?.map(beside)];
        if let Some(tightest) = bounds.into_iter().flatten().max_by(|a, b| (side * a).total_cmp(&(side * b))) {
            out.insert(limit.into(), as_json(tightest));
        }
    }
    if let Some(step) = number(map, "multipleOf")? {
        if step <= 0.0 {
            return Err("`multipleOf` must be greater than 0".into());
        }
        out.insert("multipleOf".into(), as_json(step));
        // A number with too many digits would be rounded to one that is no multiple.
        let largest = largest_multiple(step);
        out.entry("minimum").or_insert_with(|| as_json(-largest));
        out.entry("maximum").or_insert_with(|| as_json(largest));
    }
    Ok(out)
}

/// The bound that is to blame where `bounds` fails.
pub fn bound_named(map: &Object) -> &'static str {
    const BOUNDS: [&str; 5] = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"];
    BOUNDS.into_iter().find(|key| number(map, key).is_err()).unwrap_or("multipleOf")
}

/// Bounds numbers that have none: bounded ones are written without an exponent, so that all are doubles.
pub fn write_plainly(out: &mut Object) {
    let is_number = |kind: &Value| kind == "number";
    let numbers = match out.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(is_number),
        Some(kind) => is_number(kind),
        None => false,
    };
    if numbers {
        out.entry("minimum").or_insert_with(|| json!(-PLAIN_MAX));
        out.entry("maximum").or_insert_with(|| json!(PLAIN_MAX));
    }
}

/// The least that a number of 15 digits can differ from this one.
fn step_beside(number: f64) -> f64 {
    let whole_digits = number.abs().max(1.0).log10().floor() as i32 + 1;
    10_f64.powi(whole_digits - 14).clamp(SMALLEST, 1.0)
}

/// Up to here a number with as many decimal places as `step` has differs from its neighbours: 15 digits in all.
fn largest_multiple(step: f64) -> f64 {
    if step.fract() == 0.0 {
        return EXACT_MAX;
    }
    let places = (1..=9).find(|&places| (step * 10_f64.powi(places)).fract() == 0.0).unwrap_or(9);
    10_f64.powi(15 - places) - 1.0
}

/// A model may repeat a free name, which a parser then counts once.
pub fn check_counts(out: &Object) -> Result<(), Reason> {
    let least = out.get("minProperties").and_then(Value::as_u64).unwrap_or(0);
    let required = out.get("required").and_then(Value::as_array).map_or(0, Vec::len) as u64;
    let open = out.get("additionalProperties") != Some(&json!(false)) || out.contains_key("patternProperties");
    if open && least > required + 1 {
        return Err("`minProperties` cannot be enforced with free names, as those may repeat".into());
    }
    Ok(())
}

/// OpenAPI's way to allow null beside a type.
pub fn nullable(map: &Object, out: &mut Object) {
    if map.get("nullable") != Some(&json!(true)) {
        return;
    }
    match out.get_mut("type") {
        Some(Value::Array(names)) => names.push(json!("null")),
        Some(name) => *name = json!([name.take(), "null"]),
        None => {}
    }
}

/// `propertyNames` as `properties` or `patternProperties` where it says no more than those can; None where there is
/// nothing to rewrite.
pub fn names_as_properties(map: &Object) -> Result<Option<Object>, Reason> {
    let rule = match map.get("propertyNames") {
        None | Some(Value::Bool(true)) => return Ok(None),
        Some(Value::Object(rule)) => rule,
        Some(_) => return Err("`propertyNames` cannot be enforced".into()),
    };
    let telling: Vec<&str> = rule
        .iter()
        .filter(|(key, value)| {
            !ANNOTATIONS.contains(&key.as_str()) && (*key, *value) != (&"type".to_string(), &json!("string"))
        })
        .map(|(key, _)| key.as_str())
        .collect();
    let others = map.contains_key("properties") || map.contains_key("patternProperties");
    let rest = map.get("additionalProperties").cloned().unwrap_or(json!(true));
    let (keyword, members) = match telling[..] {
        [] => return Ok(None),
        ["pattern"] if !others => {
            let pattern = text("pattern", &rule["pattern"])?;
            ("patternProperties", json!({ pattern: rest }))
        }
        ["enum"] if !others => {
            let names = rule["enum"].as_array().map_or(&[][..], Vec::as_slice);
            let members = names.iter().filter_map(Value::as_str).map(|name| (name.to_string(), rest.clone()));
            ("properties", Value::Object(members.collect()))
        }
        _ => {
            return Err("`propertyNames` cannot be enforced but as one `pattern` or `enum` without `properties`".into())
        }
    };
    let mut out = map.clone();
    out.shift_remove("propertyNames");
    out.insert(keyword.into(), members);
    out.insert("additionalProperties".into(), json!(false));
    Ok(Some(out))
}

/// `enum` and `const`, if an answer can spell them.
pub fn literals(key: &str, value: &Value) -> Result<Value, Reason> {
    if key == "enum" && value.as_array().is_none_or(Vec::is_empty) {
        return Err("`enum` must be a list of values".into());
    }
    literal(value).map_err(|reason| format!("`{key}` {reason}"))?;
    Ok(value.clone())
}

fn literal(value: &Value) -> Result<(), Reason> {
    match value {
        Value::Number(number) => literal_number(number),
        Value::String(text) => literal_text(text),
        Value::Array(items) => items.iter().try_for_each(literal),
        Value::Object(map) => map.iter().try_for_each(|(name, value)| literal_text(name).and_then(|()| literal(value))),
        _ => Ok(()),
    }
}

fn literal_number(number: &Number) -> Result<(), Reason> {
    if number.as_f64().is_some_and(is_exact) {
        return Ok(());
    }
    Err(format!("holds the number {number}, which is beyond what a double holds exactly"))
}

fn literal_text(text: &str) -> Result<(), Reason> {
    let spelled = |char: char| !char.is_control() || matches!(char, '\n' | '\r' | '\t' | '\x08' | '\x0c');
    if text.chars().all(|char| spelled(char) || char > '\x7f') {
        return Ok(());
    }
    Err("holds a control character, which an answer cannot spell".into())
}

/// What `format` demands, as a schema to be met besides; None where it demands nothing.
pub fn format(map: &Object) -> Result<Option<Value>, Reason> {
    let Some(value) = map.get("format") else { return Ok(None) };
    let name = text("format", value)?;
    if let Some(expression) = formats::expression(name) {
        let length = if name == "hostname" {
            json!({ "pattern": expression, "maxLength": 253 })
        } else {
            json!({ "pattern": expression })
        };
        return Ok(Some(length));
    }
    let kind = map.get("type").and_then(Value::as_str);
    match (name, kind) {
        ("binary" | "password" | "float" | "double", _) => Ok(None),
        ("int32", Some("integer" | "number")) => {
            Ok(Some(json!({ "type": "integer", "minimum": i32::MIN, "maximum": i32::MAX })))
        }
        ("int64", Some("integer" | "number")) => Ok(Some(json!({ "type": "integer" }))),
        _ => Err(format!("`format` \"{name}\" cannot be enforced; known are {}", formats::KNOWN)),
    }
}
