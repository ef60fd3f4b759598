//! The grammar of a whole answer with tool calls: a Lark grammar of the model's format (ffi/answer-grammar.ts), whose rules
//! for values are added here, from the schemas of the tools.

use std::collections::HashMap;

use llguidance::api::TopLevelGrammar;
use serde::Deserialize;
use serde_json::{json, Value};

use crate::constraint::Grammar;
use crate::guard::Reason;
use crate::schema::text::{prepare_text, TextRequest};
use crate::schema::{prepare_part, Mode, Request};

/// ffi/answer-grammar.ts writes it.
#[derive(Deserialize)]
pub struct Answer {
    /// Lark; the rules named in `parts` are missing.
    grammar: String,
    parts: Vec<Part>,
    sources: Vec<Source>,
    /// What stands of the answer in the prompt already.
    prefix: String,
}

/// A schema of the request.
#[derive(Deserialize)]
struct Source {
    schema: Value,
    strict: bool,
    /// Where it stands in the request.
    at: String,
}

/// A value of the answer.
#[derive(Deserialize)]
struct Part {
    rule: String,
    source: usize,
    /// Parts of the schema that all have to hold.
    pointers: Vec<String>,
    /// Types to which it is limited besides; empty: none.
    #[serde(default)]
    types: Vec<String>,
    /// No white space but after commas and colons.
    #[serde(default)]
    compact: bool,
    /// Written as it is; absent: as JSON.
    text: Option<Raw>,
}

#[derive(Deserialize)]
struct Raw {
    avoid: Vec<String>,
    end: String,
    except: String,
}

/// How much of a schema is enforced, from all of it to nothing but JSON.
const LEVELS: usize = 3;

impl Answer {
    /// Compiles the grammar; what llguidance refuses of a schema that is not strict is left out.
    pub fn build<T>(&self, compile: &impl Fn(Grammar) -> Result<T, Reason>) -> Result<T, Reason> {
        let mut levels = vec![0; self.parts.len()];
        let rules = self.rules(&mut levels, compile)?;
        if let Ok(done) = compile(self.grammar(&rules)) {
            return Ok(done);
        }
        // One of the parts is to blame: the worst level of each that compiles by itself.
        let mut alone: HashMap<String, Option<usize>> = HashMap::new();
        for (index, part) in self.parts.iter().enumerate() {
            let key = format!("{} {:?} {:?} {}", part.source, part.pointers, part.types, part.text.is_some());
            let found = alone
                .entry(key)
                .or_insert_with(|| (levels[index]..LEVELS).find(|&level| self.compiles(part, level, compile).is_ok()));
            match found {
                Some(level) => levels[index] = *level,
                None => return Err(self.blame(part, levels[index], compile)),
            }
            if self.sources[part.source].strict && levels[index] > 0 {
                return Err(self.blame(part, 0, compile));
            }
        }
        let rules = self.rules(&mut levels, compile)?;
        compile(self.grammar(&rules))
    }

    fn grammar(&self, rules: &[(String, Vec<String>)]) -> Grammar {
        let mut text = self.grammar.clone();
        let mut unenforced = Vec::new();
        for (rule, left_out) in rules {
            text.push_str(rule);
            unenforced.extend(left_out.iter().cloned());
        }
        unenforced.sort();
        unenforced.dedup();
        self.lark(text, unenforced, self.prefix.clone())
    }

    fn lark(&self, text: String, unenforced: Vec<String>, prefix: String) -> Grammar {
        let names_by_pattern = text.contains("patternProperties");
        let top = TopLevelGrammar::from_lark(text);
        Grammar { top, json: false, large: true, names_by_pattern, prefix, unenforced }
    }

    /// The missing rules, with what each leaves out. Raises levels where a schema cannot be prepared at its own.
    fn rules<T>(
        &self,
        levels: &mut [usize],
        compile: &impl Fn(Grammar) -> Result<T, Reason>,
    ) -> Result<Vec<(String, Vec<String>)>, Reason> {
        let mut rules = Vec::with_capacity(self.parts.len());
        for (part, level) in self.parts.iter().zip(levels) {
            let strict = self.sources[part.source].strict;
            let rule = loop {
                match self.rule(part, *level) {
                    Ok(rule) => break rule,
                    Err(_) if !strict && *level + 1 < LEVELS => *level += 1,
                    Err(_) => return Err(self.blame(part, *level, compile)),
                }
            };
            rules.push(rule);
        }
        Ok(rules)
    }

    fn compiles<T>(
        &self,
        part: &Part,
        level: usize,
        compile: &impl Fn(Grammar) -> Result<T, Reason>,
    ) -> Result<(), Reason> {
        let (rule, unenforced) = self.rule(part, level)?;
        let text = format!("start: {}\n{rule}", part.rule);
        compile(self.lark(text, unenforced, String::new())).map(|_| ())
    }

    /// Why a part is refused, and where it stands.
    fn blame<T>(&self, part: &Part, level: usize, compile: &impl Fn(Grammar) -> Result<T, Reason>) -> Reason {
        let reason = self.compiles(part, level, compile).err().unwrap_or_else(|| "the schema is too large".into());
        format!("{}{}: {reason}", self.sources[part.source].at, part.pointers.first().map_or("", String::as_str))
    }

    /// A rule and the places that it does not enforce.
    fn rule(&self, part: &Part, level: usize) -> Result<(String, Vec<String>), Reason> {
        let source = self.sources.get(part.source).ok_or("a schema is missing")?;
        let mode = if source.strict { Mode::Strict } else { Mode::Tolerant };
        let (definition, left_out) = match &part.text {
            Some(raw) => raw.definition(part, &source.schema, mode, level)?,
            None => json_rule(part, &source.schema, mode, level)?,
        };
        let places = left_out.into_iter().map(|pointer| format!("{}{pointer}", source.at)).collect();
        let lazy = part.text.as_ref().is_some_and(|raw| !raw.end.is_empty());
        Ok((format!("{}{}: {definition}\n", part.rule, if lazy { "[lazy]" } else { "" }), places))
    }
}

fn json_rule(part: &Part, schema: &Value, mode: Mode, level: usize) -> Result<(String, Vec<String>), Reason> {
    let open = Value::Object(serde_json::Map::new());
    let whole = [String::new()];
    let given_up = level + 1 >= LEVELS;
    let kind = schema.get("type").filter(|_| part.pointers == whole).and_then(Value::as_str);
    let kinds: Vec<String> =
        if part.types.is_empty() { kind.map(String::from).into_iter().collect() } else { part.types.clone() };
    let prepared = prepare_part(&Request {
        schema: if given_up { &open } else { schema },
        pointers: if given_up { &whole } else { &part.pointers },
        types: if given_up { &kinds } else { &part.types },
        mode,
        plain_numbers: true,
        coerce_one_of: level > 0,
        equivalents: level == 0,
    })?;
    let left_out = if given_up { part.pointers.clone() } else { prepared.unenforced };
    let mut schema = prepared.schema;
    if part.compact {
        let options = schema["x-guidance"].take();
        let escapes = &options["json_allowed_escapes"];
        schema["x-guidance"] = json!({
            "whitespace_flexible": false, "item_separator": ", ", "key_separator": ": ", "json_allowed_escapes": escapes,
            "lenient": false, "coerce_one_of": options["coerce_one_of"],
        });
    }
    Ok((format!("%json {schema}"), left_out))
}

impl Raw {
    fn definition(
        &self,
        part: &Part,
        schema: &Value,
        mode: Mode,
        level: usize,
    ) -> Result<(String, Vec<String>), Reason> {
        let open = Value::Bool(true);
        let whole = [String::new()];
        let given_up = level > 0;
        let prepared = prepare_text(&TextRequest {
            schema: if given_up { &open } else { schema },
            pointers: if given_up { &whole } else { &part.pointers },
            mode,
            avoid: &self.avoid,
            end: &self.end,
            except: &self.except,
        })?;
        let left_out = if given_up { part.pointers.clone() } else { prepared.unenforced };
        Ok((prepared.terminal, left_out))
    }
}
