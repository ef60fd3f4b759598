//! Regular expressions of JSON Schema (ECMA 262) in the dialect of llguidance (Rust's regex-syntax).
//!
//! Most of the two is the same. What differs in meaning is rewritten, what only one of them knows is refused, so that a
//! pattern never stands for something else here than in the client's validator.

use crate::guard::Reason;

const SPACE: &str = r"\t-\r \x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000}\x{feff}";
const ANY: &str = r"[^\n\r\x{2028}\x{2029}]";
/// Deeper nesting is refused before anything recursive sees it.
const DEPTH_MAX: usize = 100;

struct Reader<'a> {
    rest: std::iter::Peekable<std::str::Chars<'a>>,
    out: String,
    depth: usize,
}

/// Translates a pattern; the reason names what it uses that cannot be expressed.
pub fn translate(pattern: &str) -> Result<String, Reason> {
    let mut reader = Reader { rest: pattern.chars().peekable(), out: String::new(), depth: 0 };
    reader.pattern().map_err(|reason| format!("the pattern /{pattern}/ {reason}"))?;
    Ok(reader.out)
}

impl Reader<'_> {
    fn pattern(&mut self) -> Result<(), Reason> {
        while let Some(char) = self.rest.next() {
            match char {
                '.' => self.out.push_str(ANY),
                '\\' => self.escape(false)?,
                '[' => self.class()?,
                '(' => self.group()?,
                ')' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.out.push(')');
                }
                other => self.out.push(other),
            }
        }
        Ok(())
    }

    fn group(&mut self) -> Result<(), Reason> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err("is nested too deeply".into());
        }
        self.out.push('(');
        if self.rest.next_if_eq(&'?').is_none() {
            return Ok(());
        }
        match (self.rest.next(), self.rest.peek()) {
            (Some(':'), _) => self.out.push_str("?:"),
            (Some('<'), Some(&next)) if next != '=' && next != '!' => {
                // The name goes: one of the names means something else to llguidance.
                if !self.rest.by_ref().any(|char| char == '>') {
                    return Err("has a group name without an end".into());
                }
            }
            (Some('=' | '!' | '<'), _) => return Err("looks ahead or behind, which cannot be enforced".into()),
            _ => return Err("has an unknown kind of group".into()),
        }
        Ok(())
    }

    fn class(&mut self) -> Result<(), Reason> {
        self.out.push('[');
        if self.rest.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        if self.rest.peek() == Some(&']') {
            return Err("has an empty character class".into());
        }
        while let Some(char) = self.rest.next() {
            match char {
                ']' => {
                    self.out.push(']');
                    return Ok(());
                }
                '\\' => self.escape(true)?,
                // These nest or combine classes in the other dialect.
                '[' | '&' | '~' => self.out.extend(['\\', char]),
                '-' if self.rest.peek() == Some(&'-') => self.out.push_str("\\-"),
                other => self.out.push(other),
            }
        }
        Err("has a character class without an end".into())
    }

    fn escape(&mut self, in_class: bool) -> Result<(), Reason> {
        let Some(char) = self.rest.next() else { return Err("ends with a backslash".into()) };
        let class = match char {
            'd' | 'D' => "0-9",
            'w' | 'W' => "0-9A-Za-z_",
            's' | 'S' => SPACE,
            _ => return self.character(char, in_class),
        };
        let not = if char.is_ascii_uppercase() { "^" } else { "" };
        self.out.push_str(&format!("[{not}{class}]")); // within a class too: they nest there
        Ok(())
    }

    fn character(&mut self, char: char, in_class: bool) -> Result<(), Reason> {
        match char {
            'n' | 'r' | 't' | 'f' | 'v' => self.out.extend(['\\', char]),
            'p' | 'P' => self.property(char)?,
            'b' if in_class => self.out.push_str("\\x08"),
            'b' | 'B' => return Err("uses word boundaries, which cannot be enforced".into()),
            '0' if !self.rest.peek().is_some_and(char::is_ascii_digit) => self.out.push_str("\\x00"),
            '1'..='9' | 'k' => return Err("refers back to a group, which cannot be enforced".into()),
            'x' => {
                let code = self.hex(2)?;
                self.push_code(code)?;
            }
            'u' => {
                let code = self.unicode()?;
                self.push_code(code)?;
            }
            // By its code: an escaped < or > means something else in the other dialect.
            other if other.is_ascii_punctuation() => self.push_code(other as u32)?,
            other => return Err(format!("has the unknown escape \\{other}")),
        }
        Ok(())
    }

    fn property(&mut self, letter: char) -> Result<(), Reason> {
        if self.rest.next_if_eq(&'{').is_none() {
            return Err(format!("uses \\{letter} without a property in braces"));
        }
        let name: String = self.rest.by_ref().take_while(|&char| char != '}').collect();
        self.out.push_str(&format!("\\{letter}{{{name}}}"));
        Ok(())
    }

    fn hex(&mut self, digits: usize) -> Result<u32, Reason> {
        let text: String = self.rest.by_ref().take(digits).collect();
        match u32::from_str_radix(&text, 16) {
            Ok(code) if text.len() == digits => Ok(code),
            _ => Err(format!("has a \\x or \\u without its {digits} hexadecimal digits")),
        }
    }

    /// What follows \u: four digits, a pair of surrogates, or digits in braces.
    fn unicode(&mut self) -> Result<u32, Reason> {
        if self.rest.next_if_eq(&'{').is_some() {
            let text: String = self.rest.by_ref().take_while(|&char| char != '}').collect();
            return u32::from_str_radix(&text, 16).map_err(|_| "has an unreadable \\u{…}".into());
        }
        let high = self.hex(4)?;
        if !(0xd800..0xdc00).contains(&high) {
            return Ok(high);
        }
        let pair: String = self.rest.by_ref().take(2).collect();
        let low = if pair == "\\u" { self.hex(4)? } else { 0 };
        if !(0xdc00..0xe000).contains(&low) {
            return Err("has half a surrogate pair".into());
        }
        Ok(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00))
    }

    fn push_code(&mut self, code: u32) -> Result<(), Reason> {
        if char::from_u32(code).is_none() {
            return Err("names a character that does not exist".into());
        }
        self.out.push_str(&format!("\\x{{{code:x}}}"));
        Ok(())
    }
}
