//! Prepares a JSON schema for llguidance's compiler.
//!
//! A client is promised that an answer validates against its schema. llguidance leaves some things unsaid that break the
//! promise: keywords of another draft are dropped without a word, `format` is looser than the usual validators, patterns
//! are read in another dialect. So the schema is rewritten with the keywords known here, each with one meaning
//! whatever the draft; one that cannot be enforced is refused by name, unknown words are annotations and go.

mod closing;
mod equivalents;
mod formats;
mod pattern;
mod references;
mod size;
pub mod text;
mod values;

use std::collections::HashMap;

use serde_json::{json, Map, Value};

use crate::guard::Reason;
use closing::Declared;
use references::{join, References};

/// Schemas in one schema. llguidance's work grows with their square: this many take about a second.
const SCHEMAS_MAX: usize = 5_000;
/// Of `patternProperties`, which are compared with each other.
const PATTERNS_MAX: usize = 100;

/// White space that a model may put between tokens: one blank or tab, or a line break with its indentation. Bounded, as a
/// model can otherwise go on with white space forever.
const WHITESPACE: &str = r"[\x20\t]|\r?\n[\x20\t]{0,40}";
/// Without \uXXXX: a name has then one spelling only, so that `additionalProperties` cannot repeat a declared one.
const ESCAPES: &str = "nrbtf\\\"";

/// Keywords that state nothing about validity, or that are dealt with elsewhere.
const ANNOTATIONS: [&str; 19] = [
    "$schema",
    "$id",
    "id",
    "$anchor",
    "$dynamicAnchor",
    "$vocabulary",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "contentMediaType",
    "contentEncoding",
    "contentSchema",
];
/// Keywords without a counterpart in llguidance.
const REFUSED: [&str; 18] = [
    "not",
    "if",
    "then",
    "else",
    "contains",
    "minContains",
    "maxContains",
    "uniqueItems",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "$dynamicRef",
    "$recursiveRef",
    "$recursiveAnchor",
    "x-guidance",
];

type Object = Map<String, Value>;

/// What happens to a keyword that cannot be enforced.
#[derive(Clone, Copy, PartialEq)]
pub enum Mode {
    /// The schema is refused.
    Strict,
    /// It is left out and noted; a malformed schema is refused.
    Lenient,
    /// As `Lenient`, and malformed keywords are left out likewise.
    Tolerant,
}

/// A part of a schema, and how it is enforced.
pub struct Request<'a> {
    pub schema: &'a Value,
    /// JSON pointers of the parts that all have to hold; `""` is the whole.
    pub pointers: &'a [String],
    /// Types to which values are limited besides; empty: no limit.
    pub types: &'a [String],
    pub mode: Mode,
    /// Numbers are written without an exponent, since nothing else keeps them within a double.
    pub plain_numbers: bool,
    /// Alternatives of a `oneOf` that may overlap are treated as those of an `anyOf`, and noted.
    pub coerce_one_of: bool,
    /// Keywords that llguidance lacks are said in others, which may leave no value where several of them meet.
    pub equivalents: bool,
}

/// A schema for llguidance.
pub struct Prepared {
    pub schema: Value,
    /// JSON pointers of keywords that were left out.
    pub unenforced: Vec<String>,
}

/// The schema for llguidance; the reason names the keyword that cannot be enforced and where it stands.
pub fn prepare(schema: &Value) -> Result<Value, Reason> {
    let pointers = [String::new()];
    let request = Request {
        schema,
        pointers: &pointers,
        types: &[],
        mode: Mode::Strict,
        plain_numbers: false,
        coerce_one_of: false,
        equivalents: true,
    };
    prepare_part(&request).map(|prepared| prepared.schema)
}

/// The schema for llguidance, references gathered in `$defs`.
pub fn prepare_part(request: &Request) -> Result<Prepared, Reason> {
    let schema = request.schema;
    let mut writer = Writer {
        references: References::new(schema),
        names: HashMap::new(),
        queue: Vec::new(),
        copying: Vec::new(),
        count: 0,
        patterns: 0,
        mode: request.mode,
        plain_numbers: request.plain_numbers,
        equivalents: request.equivalents,
        unenforced: Vec::new(),
    };
    let mut parts = Vec::new();
    let scope = if request.pointers.len() == 1 { Scope::Alone } else { Scope::Within };
    for pointer in request.pointers {
        let part = schema.pointer(pointer).ok_or("a part of the schema is missing")?;
        parts.push(writer.schema(part, pointer, scope)?);
    }
    if scope == Scope::Within {
        parts.extend(writer.end(request));
    }
    if !request.types.is_empty() {
        parts.push(json!({ "type": request.types }));
    }
    let whole = if parts.len() == 1 { parts.swap_remove(0) } else { json!({ "allOf": parts }) };
    let mut root = match whole {
        Value::Object(map) => map,
        Value::Bool(true) => Object::new(),
        _ => return Err("the schema is false: nothing is valid against it".into()),
    };
    let mut definitions = Object::new();
    while let Some((name, pointer, scope)) = writer.queue.pop() {
        let target = writer.references.get(&pointer);
        let definition = writer.schema(target, &pointer, scope)?;
        definitions.insert(name, definition);
    }
    if !definitions.is_empty() {
        root.insert("$defs".into(), definitions.into());
    }
    let mut root = Value::Object(root);
    size::check(&root)?;
    root["x-guidance"] = json!({
        "whitespace_flexible": true, "whitespace_pattern": WHITESPACE, "json_allowed_escapes": ESCAPES,
        "lenient": false, "coerce_one_of": request.coerce_one_of,
    });
    let mut unenforced = writer.unenforced;
    if request.coerce_one_of {
        unenforced.extend(find_keyword(schema, "oneOf", String::new()));
    }
    unenforced.sort();
    unenforced.dedup();
    Ok(Prepared { schema: root, unenforced })
}

/// JSON pointers of a keyword, wherever it stands.
fn find_keyword(value: &Value, keyword: &str, at: String) -> Vec<String> {
    match value {
        Value::Object(map) => map
            .iter()
            .flat_map(|(key, part)| {
                let here = join(&at, key);
                let found = (key == keyword && part.is_array()).then(|| here.clone());
                found.into_iter().chain(find_keyword(part, keyword, here)).collect::<Vec<_>>()
            })
            .collect(),
        Value::Array(items) => {
            let parts = items.iter().enumerate();
            parts.flat_map(|(index, part)| find_keyword(part, keyword, format!("{at}/{index}"))).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a schema is all that applies to a value, so that its objects are closed with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Scope {
    Alone,
    /// Others apply as well: what they make together is closed.
    Within,
}

/// Where a keyword stands.
struct Place<'p> {
    at: &'p str,
    /// Of schemas that apply to the same value.
    inner: Scope,
}

struct Writer<'a> {
    references: References<'a>,
    /// Pointer → name in the new `$defs`.
    names: HashMap<(String, Scope), String>,
    /// Targets that are still to be written. Not recursion: a chain of references may be long.
    queue: Vec<(String, String, Scope)>,
    /// Targets that are being copied out.
    copying: Vec<String>,
    count: usize,
    patterns: usize,
    mode: Mode,
    plain_numbers: bool,
    equivalents: bool,
    /// JSON pointers of keywords that were left out.
    unenforced: Vec<String>,
}

impl<'a> Writer<'a> {
    /// What becomes of a keyword that cannot be used: an error, or a note.
    fn leave_out(&mut self, reason: Reason, at: &str, key: &str) -> Result<(), Reason> {
        let malformed = reason.contains(" must ") || reason.contains("finds nothing");
        let allowed = match self.mode {
            Mode::Strict => false,
            Mode::Lenient => !malformed,
            Mode::Tolerant => true,
        };
        if !allowed {
            return Err(explain(reason, at));
        }
        self.unenforced.push(join(at, key));
        Ok(())
    }

    /// What closes the parts of a request together.
    fn end(&self, request: &Request) -> Option<Value> {
        let parts = request.pointers.iter().filter_map(|at| Some((request.schema.pointer(at)?, at.as_str())));
        closing::end_of(&closing::declared(&parts.collect::<Vec<_>>(), &self.references))
    }

    fn schema(&mut self, schema: &Value, at: &str, scope: Scope) -> Result<Value, Reason> {
        self.count += 1;
        if self.count > SCHEMAS_MAX {
            return Err(format!("the schema has more than {SCHEMAS_MAX} parts"));
        }
        match schema {
            Value::Bool(_) => Ok(schema.clone()),
            Value::Object(map) => self.object(map, at, scope).map(Value::Object),
            _ if self.mode == Mode::Tolerant => {
                self.unenforced.push(at.to_string());
                Ok(json!(true))
            }
            _ => Err(format!("a schema must be an object or a boolean{}", place(at))),
        }
    }

    fn object(&mut self, map: &Object, at: &str, scope: Scope) -> Result<Object, Reason> {
        let alone = scope == Scope::Alone;
        let closed = if alone { closing::close(map, at, &Declared::default(), &self.references) } else { None };
        let map = closed.as_ref().unwrap_or(map);
        let passed_on = alone && closing::is_passed_on(map);
        let equivalent = if self.equivalents { equivalents::rewrite(map).filter(|other| other != map) } else { None };
        let place = Place { at, inner: if passed_on && equivalent.is_none() { scope } else { Scope::Within } };
        let map = equivalent.as_ref().unwrap_or(map);
        let rewritten = match values::names_as_properties(map) {
            Ok(rewritten) => rewritten,
            Err(reason) => {
                self.leave_out(reason, at, "propertyNames")?;
                let mut rest = map.clone();
                rest.shift_remove("propertyNames");
                Some(rest)
            }
        };
        let map = rewritten.as_ref().unwrap_or(map);
        let mut out = Object::new();
        let mut applied = Object::new();
        for (key, value) in map {
            let written = match self.keyword(map, key, value, &place) {
                Ok(written) => written,
                Err(reason) => {
                    self.leave_out(reason, at, key)?;
                    continue;
                }
            };
            let target = match key.as_str() {
                "allOf" | "anyOf" | "oneOf" | "enum" | "const" | "$ref" => &mut applied,
                _ => &mut out,
            };
            if let Some((key, value)) = written {
                target.insert(key.into(), value);
            }
        }
        match values::bounds(map) {
            Ok(bounds) => out.extend(bounds),
            Err(reason) => self.leave_out(reason, at, values::bound_named(map))?,
        }
        if let Err(reason) = values::check_counts(&out) {
            self.leave_out(reason, at, "minProperties")?;
            out.shift_remove("minProperties");
        }
        values::nullable(map, &mut out);
        if self.plain_numbers {
            values::write_plainly(&mut out);
        }
        let format = match values::format(map) {
            Ok(format) => format,
            Err(reason) => {
                self.leave_out(reason, at, "format")?;
                None
            }
        };
        if let Some(format) = format {
            let all = applied.entry("allOf").or_insert_with(|| json!([]));
            if let Value::Array(all) = all {
                all.push(format);
            }
        }
        // Assertions first: llguidance reads neighbours like properties and additionalProperties together only then.
        out.extend(applied);
        Ok(out)
    }

    /// What becomes of one keyword; None where it adds nothing here.
    fn keyword<'k>(
        &mut self,
        map: &Object,
        key: &'k str,
        value: &Value,
        &Place { at, inner }: &Place,
    ) -> Result<Option<(&'k str, Value)>, Reason> {
        let here = || join(at, key);
        let written = match key {
            "type" => values::type_names(value)?,
            "properties" => self.members(value, &here(), false)?,
            "patternProperties" => self.members(value, &here(), true)?,
            "additionalProperties" => self.schema(value, &here(), Scope::Alone)?,
            "items" if value.is_array() && map.contains_key("prefixItems") => {
                return Err("`items` must not be a list beside `prefixItems`".into());
            }
            "items" if value.is_array() => return Ok(Some(("prefixItems", self.list(value, &here(), Scope::Alone)?))),
            "items" => self.schema(value, &here(), Scope::Alone)?,
            "prefixItems" => self.list(value, &here(), Scope::Alone)?,
            "additionalItems" if map.get("items").is_some_and(Value::is_array) => {
                return Ok(Some(("items", self.schema(value, &here(), Scope::Alone)?)));
            }
            "oneOf" => self.exclusive(value, &here(), inner)?,
            "allOf" | "anyOf" => self.list(value, &here(), inner)?,
            "required" => values::names(value)?,
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
                values::count(key, value)?
            }
            "pattern" => json!(pattern::translate(values::text(key, value)?)?),
            "enum" | "const" => values::literals(key, value)?,
            "$ref" => json!(self.reference(values::text(key, value)?, at, inner)?),
            "$dynamicRef" | "$recursiveRef" => return Err(format!("`{key}` cannot be enforced")),
            _ if REFUSED.contains(&key) && !values::states_nothing(map, key, value) => {
                return Err(format!("`{key}` cannot be enforced"));
            }
            _ => return Ok(None),
        };
        Ok(Some((key, written)))
    }

    fn members(&mut self, value: &Value, at: &str, patterns: bool) -> Result<Value, Reason> {
        let map = value.as_object().ok_or("`properties` and `patternProperties` must be objects")?;
        self.patterns += if patterns { map.len() } else { 0 };
        if self.patterns > PATTERNS_MAX {
            return Err(format!("`patternProperties` has more than {PATTERNS_MAX} patterns in all"));
        }
        let mut out = Object::new();
        for (name, schema) in map {
            let written = self.schema(schema, &join(at, name), Scope::Alone)?;
            let name = if patterns { pattern::translate(name)? } else { name.clone() };
            out.insert(name, written);
        }
        Ok(out.into())
    }

    fn list(&mut self, value: &Value, at: &str, scope: Scope) -> Result<Value, Reason> {
        let list = value.as_array().filter(|list| !list.is_empty()).ok_or("a list of schemas must not be empty")?;
        let written =
            list.iter().enumerate().map(|(index, schema)| self.schema(schema, &format!("{at}/{index}"), scope));
        written.collect::<Result<Vec<_>, _>>().map(Value::Array)
    }

    /// The alternatives of a `oneOf`, references copied out: llguidance has to see that no two can be met at once.
    fn exclusive(&mut self, value: &Value, at: &str, scope: Scope) -> Result<Value, Reason> {
        let Value::Array(mut options) = self.list(value, at, scope)? else { return Ok(value.clone()) };
        for (option, index) in options.iter_mut().zip(0..) {
            let source = &value[index];
            let alone = option.as_object().is_some_and(|map| map.len() == 1);
            let Some(reference) = source.get("$ref").and_then(Value::as_str).filter(|_| alone) else { continue };
            let pointer = self.references.resolve(reference, at)?;
            if self.copying.contains(&pointer) {
                continue; // it contains itself
            }
            self.copying.push(pointer.clone());
            *option = self.schema(self.references.get(&pointer), &pointer, scope)?;
            self.copying.pop();
        }
        Ok(Value::Array(options))
    }

    fn reference(&mut self, reference: &str, at: &str, scope: Scope) -> Result<String, Reason> {
        let pointer = self.references.resolve(reference, at)?;
        let next = format!("r{}", self.names.len());
        let name = self.names.entry((pointer.clone(), scope)).or_insert_with(|| {
            self.queue.push((next.clone(), pointer, scope));
            next
        });
        Ok(format!("#/$defs/{name}"))
    }
}

fn place(at: &str) -> String {
    if at.is_empty() {
        String::new()
    } else {
        format!(" (at {at})")
    }
}

/// Adds the innermost place to a reason.
fn explain(reason: Reason, at: &str) -> Reason {
    if reason.ends_with(')') && reason.contains(" (at /") {
        reason
    } else {
        reason + &place(at)
    }
}
