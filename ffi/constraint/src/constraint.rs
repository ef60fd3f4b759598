//! The constraint as a request states it, as a grammar for llguidance.

use llguidance::api::{GrammarWithLexer, TopLevelGrammar};
use llguidance::regex_to_lark;
use serde::Deserialize;
use serde_json::Value;

use crate::answer::Answer;
use crate::guard::Reason;
use crate::schema::{self, Mode};

/// Longest constraint, bytes of its JSON text.
const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Of the grammar of an answer, which is ours: the schemas of a request's tools together.
const ANSWER_BYTES_MAX: usize = 64 * 1024 * 1024;
const ANSWER_START: &str = r#"{"type":"answer","#;
/// Longest Lark grammar, bytes. Its compiler recurses along rules: this keeps it within a quarter of its stack.
const LARK_BYTES_MAX: usize = 64 * 1024;
/// Brackets that may be open at once in a regular expression or Lark grammar: their parsers recurse.
const DEPTH_MAX: usize = 200;

/// src/core/constraint.ts
#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Constraint {
    JsonSchema {
        schema: Value,
        /// Absent: whatever cannot be enforced is refused.
        #[serde(default = "always")]
        strict: bool,
    },
    Answer(Answer),
    Regex {
        pattern: String,
    },
    Lark {
        grammar: String,
    },
    Grammars {
        grammars: Vec<NamedGrammar>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NamedGrammar {
    name: Option<String>,
    json_schema: Option<Value>,
    lark_grammar: Option<String>,
}

fn always() -> bool {
    true
}

/// A grammar ready for llguidance.
pub struct Grammar {
    pub top: TopLevelGrammar,
    /// The whole answer is JSON: its numbers are kept within a double.
    pub json: bool,
    /// Parts of the answer are JSON, whose rows are cheap.
    pub large: bool,
    /// Names of members are given by patterns, which may leave no name.
    pub names_by_pattern: bool,
    /// What the answer begins with, which stands in the prompt already.
    pub prefix: String,
    /// What is not enforced: places in the request.
    pub unenforced: Vec<String>,
}

/// Reads a constraint and compiles it; `compile` may be asked several times, since what llguidance refuses may be left out
/// where a schema is not strict. The reason says what cannot be expressed.
pub fn build<T>(text: &str, compile: impl Fn(Grammar) -> Result<T, Reason>) -> Result<T, Reason> {
    let max = if text.starts_with(ANSWER_START) { ANSWER_BYTES_MAX } else { TEXT_BYTES_MAX };
    if text.len() > max {
        return Err(format!("the constraint is longer than {max} bytes"));
    }
    let constraint = serde_json::from_str(text).map_err(|error| format!("the constraint cannot be read: {error}"))?;
    match constraint {
        Constraint::Answer(answer) => answer.build(&compile),
        Constraint::JsonSchema { schema, strict: true } => build_schema(&schema, Mode::Strict, text, &compile),
        Constraint::JsonSchema { schema, strict: false } => build_schema(&schema, Mode::Lenient, text, &compile),
        constraint => compile(read(constraint, text)?),
    }
}

/// A schema, of which everything is enforced that can be.
fn build_schema<T>(
    schema: &Value,
    mode: Mode,
    text: &str,
    compile: &impl Fn(Grammar) -> Result<T, Reason>,
) -> Result<T, Reason> {
    // Equivalents may leave no value where several of them meet; what is said without them is then the better reason.
    let tries: &[(bool, bool)] = match mode {
        Mode::Strict => &[(false, true), (false, false)],
        _ => &[(false, true), (true, true), (true, false)],
    };
    let mut last = Reason::new();
    for &options in tries {
        match build_one(schema, mode, options, text, compile) {
            Ok(done) => return Ok(done),
            Err(reason) => last = reason,
        }
    }
    Err(last)
}

fn build_one<T>(
    schema: &Value,
    mode: Mode,
    (coerce_one_of, equivalents): (bool, bool),
    text: &str,
    compile: &impl Fn(Grammar) -> Result<T, Reason>,
) -> Result<T, Reason> {
    let prepared = schema::prepare_part(&schema::Request {
        schema,
        pointers: &[String::new()],
        types: &[],
        mode,
        plain_numbers: false,
        coerce_one_of,
        equivalents,
    })?;
    compile(Grammar {
        top: TopLevelGrammar::from_json_schema(prepared.schema),
        json: true,
        large: true,
        names_by_pattern: names_by_pattern(text),
        prefix: String::new(),
        unenforced: prepared.unenforced,
    })
}

fn names_by_pattern(text: &str) -> bool {
    text.contains("patternProperties") || text.contains("propertyNames")
}

fn read(constraint: Constraint, text: &str) -> Result<Grammar, Reason> {
    let (top, json) = match constraint {
        Constraint::Answer(_) | Constraint::JsonSchema { .. } => return Err("this grammar is built, not read".into()),
        Constraint::Regex { pattern } => {
            check_depth(&pattern)?;
            // Plain \d, \w and \s: \d is not expected to match digits of other scripts.
            (TopLevelGrammar::from_lark(format!("start: /{}/", regex_to_lark(&pattern, "dws"))), false)
        }
        Constraint::Lark { grammar } => (TopLevelGrammar::from_lark(prepare_lark(&grammar)?), false),
        Constraint::Grammars { grammars } => {
            let grammars = grammars.into_iter().map(named).collect::<Result<Vec<_>, _>>()?;
            (TopLevelGrammar { grammars, max_tokens: None }, false)
        }
    };
    let unenforced = Vec::new();
    Ok(Grammar { top, json, large: json, names_by_pattern: names_by_pattern(text), prefix: String::new(), unenforced })
}

fn named(grammar: NamedGrammar) -> Result<GrammarWithLexer, Reason> {
    let json_schema = grammar.json_schema.as_ref().map(schema::prepare).transpose()?;
    let lark_grammar = grammar.lark_grammar.as_deref().map(prepare_lark).transpose()?;
    if json_schema.is_some() == lark_grammar.is_some() {
        return Err("each grammar of a set needs either a JSON schema or a Lark grammar".into());
    }
    Ok(GrammarWithLexer { name: grammar.name, json_schema, lark_grammar })
}

/// Counts brackets wherever they stand, so it errs towards refusing.
fn check_depth(text: &str) -> Result<(), Reason> {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > DEPTH_MAX {
            return Err(format!("the grammar is nested more than {DEPTH_MAX} levels deep"));
        }
    }
    Ok(())
}

/// A Lark grammar whose inline schemas (`%json {…}`) went through the same preparation as any other schema.
fn prepare_lark(grammar: &str) -> Result<String, Reason> {
    const INLINE: &str = "%json";
    if grammar.len() > LARK_BYTES_MAX {
        return Err(format!("the Lark grammar is longer than {LARK_BYTES_MAX} bytes"));
    }
    let mut out = String::with_capacity(grammar.len());
    let mut rest = grammar;
    while let Some((before, after)) = rest.split_once(INLINE) {
        out.push_str(before);
        out.push_str(INLINE);
        let mut values = serde_json::Deserializer::from_str(after).into_iter::<Value>();
        rest = match values.next() {
            Some(Ok(value @ (Value::Object(_) | Value::Bool(_)))) => {
                out.push_str(&format!(" {}", schema::prepare(&value)?));
                &after[values.byte_offset()..]
            }
            _ => after, // not a schema, perhaps a comment: llguidance will say
        };
    }
    out.push_str(rest);
    check_depth(&out)?;
    refuse_temperature(&out)?;
    Ok(out)
}

/// Rules may carry a temperature for llguidance's own sampling loop; ours takes the request's.
fn refuse_temperature(grammar: &str) -> Result<(), Reason> {
    for line in grammar.lines() {
        let head = line.split(':').next().unwrap_or("");
        let attributes = head.split_once('[').filter(|(name, _)| {
            name.trim_start_matches(['!', '?']).chars().all(|char| char.is_alphanumeric() || "_-{} \t".contains(char))
        });
        if attributes.is_some_and(|(_, list)| list.contains("temperature")) {
            return Err("`temperature` in a grammar cannot be honoured: set it for the whole request".into());
        }
    }
    Ok(())
}
