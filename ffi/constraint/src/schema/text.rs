//! Strings that an answer writes as they are, without quotes, up to a tag: what a schema demands of them, as a terminal of
//! a Lark grammar.

use serde_json::{Map, Value};

use super::references::References;
use super::{formats, join, pattern, values, Mode};
use crate::guard::Reason;

/// References and alternatives within each other.
const DEPTH_MAX: usize = 16;
const ANY: &str = "/(?s:.*)/";

/// What a text must be, and what ends it.
pub struct TextRequest<'a> {
    pub schema: &'a Value,
    /// JSON pointers of the parts of the schema that all have to hold.
    pub pointers: &'a [String],
    pub mode: Mode,
    /// Tags that must not occur in the text.
    pub avoid: &'a [String],
    /// The tag that ends the text and belongs to the terminal; `""`: a control token ends it.
    pub end: &'a str,
    /// Expression of texts that would be read as something else.
    pub except: &'a str,
}

pub struct PreparedText {
    /// A terminal, the tag that ends it included.
    pub terminal: String,
    /// JSON pointers of keywords that were left out.
    pub unenforced: Vec<String>,
}

/// The terminal of a text. The reason names the keyword that cannot be enforced and where it stands.
pub fn prepare_text(request: &TextRequest) -> Result<PreparedText, Reason> {
    let mut reader =
        Reader { references: References::new(request.schema), mode: request.mode, unenforced: Vec::new(), depth: 0 };
    let mut parts = Vec::new();
    for pointer in request.pointers {
        let part = request.schema.pointer(pointer).ok_or("a part of the schema is missing")?;
        match reader.schema(part, pointer)? {
            Text::Never => return Err(format!("no string is valid against the schema{}", super::place(pointer))),
            Text::Any => {}
            Text::Like(expression) => parts.push(expression),
        }
    }
    if !request.except.is_empty() {
        parts.push(format!("~/{}/", request.except));
    }
    let held = !parts.is_empty();
    if parts.is_empty() {
        parts.push(ANY.into());
    }
    let end = quoted(request.end);
    let mut terminal = parts.join(" & ");
    if request.end.is_empty() {
        for tag in request.avoid {
            terminal = format!("({terminal}) & ~({ANY} {} {ANY})", quoted(tag));
        }
    } else {
        terminal = format!("({terminal}) {end}");
        if held {
            // The first end ends the text, whatever the schema thinks of it.
            terminal = format!("({terminal}) & ~({ANY} {end} /(?s:.)+/)");
        }
    }
    Ok(PreparedText { terminal, unenforced: reader.unenforced })
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What strings a schema allows.
enum Text {
    Any,
    Never,
    /// Those of a Lark expression, in brackets.
    Like(String),
}

struct Reader<'a> {
    references: References<'a>,
    mode: Mode,
    unenforced: Vec<String>,
    depth: usize,
}

impl Reader<'_> {
    fn schema(&mut self, schema: &Value, at: &str) -> Result<Text, Reason> {
        let map = match schema {
            Value::Object(map) => map,
            Value::Bool(false) => return Ok(Text::Never),
            _ => return Ok(Text::Any),
        };
        if self.depth > DEPTH_MAX {
            return Err("the schema refers to itself too often".into());
        }
        self.depth += 1;
        let text = self.object(map, at);
        self.depth -= 1;
        text
    }

    fn object(&mut self, map: &Map<String, Value>, at: &str) -> Result<Text, Reason> {
        if !allows_strings(map) {
            return Ok(Text::Never);
        }
        let rewritten = super::equivalents::rewrite(map);
        let map = rewritten.as_ref().unwrap_or(map);
        let mut all = Vec::new();
        if let Some(length) = length(map) {
            all.push(length);
        }
        for (key, value) in map {
            let read = match key.as_str() {
                "const" => Ok(listed(std::slice::from_ref(value))),
                "enum" => Ok(listed(value.as_array().map_or(&[][..], Vec::as_slice))),
                "pattern" => {
                    values::text(key, value).and_then(pattern::translate).map(|text| Text::Like(search(&text)))
                }
                "format" => self.format(value),
                "allOf" => self.all(value, &join(at, key)),
                "anyOf" | "oneOf" => self.any(value, &join(at, key)),
                "$ref" => self.reference(value, at),
                "not" | "if" => Err(format!("`{key}` cannot be enforced")),
                _ => continue,
            };
            match read {
                Ok(Text::Any) => {}
                Ok(Text::Never) => return Ok(Text::Never),
                Ok(Text::Like(expression)) => all.push(expression),
                Err(reason) if self.mode == Mode::Strict => return Err(reason + &super::place(at)),
                Err(_) => self.unenforced.push(join(at, key)),
            }
        }
        Ok(if all.is_empty() { Text::Any } else { Text::Like(format!("({})", all.join(" & "))) })
    }

    fn format(&mut self, value: &Value) -> Result<Text, Reason> {
        let name = values::text("format", value)?;
        match formats::expression(name) {
            Some(expression) => Ok(Text::Like(search(&expression))),
            None if matches!(name, "binary" | "password") => Ok(Text::Any),
            None => Err(format!("`format` \"{name}\" cannot be enforced; known are {}", formats::KNOWN)),
        }
    }

    fn all(&mut self, value: &Value, at: &str) -> Result<Text, Reason> {
        let mut all = Vec::new();
        for (index, part) in value.as_array().into_iter().flatten().enumerate() {
            match self.schema(part, &format!("{at}/{index}"))? {
                Text::Any => {}
                Text::Never => return Ok(Text::Never),
                Text::Like(expression) => all.push(expression),
            }
        }
        Ok(if all.is_empty() { Text::Any } else { Text::Like(format!("({})", all.join(" & "))) })
    }

    fn any(&mut self, value: &Value, at: &str) -> Result<Text, Reason> {
        let mut any = Vec::new();
        for (index, part) in value.as_array().into_iter().flatten().enumerate() {
            match self.schema(part, &format!("{at}/{index}"))? {
                Text::Any => return Ok(Text::Any),
                Text::Never => {}
                Text::Like(expression) => any.push(expression),
            }
        }
        Ok(if any.is_empty() { Text::Never } else { Text::Like(format!("({})", any.join(" | "))) })
    }

    fn reference(&mut self, value: &Value, at: &str) -> Result<Text, Reason> {
        let pointer = self.references.resolve(values::text("$ref", value)?, at)?;
        let target = self.references.get(&pointer);
        self.schema(target, &pointer)
    }
}

/// Whether a string passes the keywords about types.
fn allows_strings(map: &Map<String, Value>) -> bool {
    match map.get("type") {
        Some(Value::String(name)) => name == "string",
        Some(Value::Array(names)) => names.iter().any(|name| name == "string"),
        _ => true,
    }
}

fn listed(values: &[Value]) -> Text {
    let texts: Vec<String> = values.iter().filter(|value| value.is_string()).map(Value::to_string).collect();
    if texts.is_empty() {
        return Text::Never;
    }
    Text::Like(format!("({})", texts.join(" | ")))
}

fn length(map: &Map<String, Value>) -> Option<String> {
    let count = |key: &str| map.get(key).and_then(Value::as_u64);
    match (count("minLength"), count("maxLength")) {
        (None | Some(0), None) => None,
        (least, None) => Some(format!("/(?s:.{{{},}})/", least.unwrap_or(0))),
        (least, Some(most)) => Some(format!("/(?s:.{{{},{most}}})/", least.unwrap_or(0))),
    }
}

/// A pattern that may match anywhere, as an expression of whole texts.
fn search(pattern: &str) -> String {
    let ways = alternatives(pattern).into_iter().map(|way| {
        let (open, rest) = way.strip_prefix('^').map_or(("(?s:.*)", way), |rest| ("", rest));
        let ends = rest.ends_with('$') && !rest.ends_with("\\$");
        let (body, close) = if ends { (&rest[..rest.len() - 1], "") } else { (rest, "(?s:.*)") };
        format!("{open}(?:{body}){close}")
    });
    let whole = ways.collect::<Vec<_>>().join("|");
    // A slash ends a regular expression of Lark.
    format!("/{}/", whole.replace('/', r"\x2f").replace('\n', r"\n"))
}

/// The alternatives at the top of a pattern.
fn alternatives(pattern: &str) -> Vec<&str> {
    let mut ways = Vec::new();
    let (mut depth, mut class, mut escaped, mut start) = (0_usize, false, false, 0);
    for (at, char) in pattern.char_indices() {
        match char {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '[' => class = true,
            ']' => class = false,
            '(' if !class => depth += 1,
            ')' if !class => depth = depth.saturating_sub(1),
            '|' if !class && depth == 0 => {
                ways.push(&pattern[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    ways.push(&pattern[start..]);
    ways
}
