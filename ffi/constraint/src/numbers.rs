//! Keeps JSON numbers within what a double can hold.
//!
//! A grammar alone lets a model write 1e999, which parses to infinity, or digits without end, which round to another
//! number than the one the schema allowed. This narrows the masks of JSON grammars: at most 15 digits (every such number
//! is a double of its own) and two digits of exponent, unless the grammar leaves no other way on.

/// Significant digits that survive a double.
const DIGITS_MAX: usize = 15;
const EXPONENT_DIGITS_MAX: usize = 2;
/// Runs of leading digits are distinguished up to this length.
const RUN_MAX: usize = 4;

type Bits = Vec<u32>;

fn set(bits: &mut Bits, token: usize) {
    bits[token / 32] |= 1 << (token % 32);
}

/// Which tokens go on with a number, and how.
pub struct NumberTokens {
    /// [i]: tokens that begin with more than i digits.
    runs: [Bits; RUN_MAX],
    /// Tokens that begin with a decimal point.
    points: Bits,
    /// Tokens that contain a whole number which is too long.
    wild: Bits,
}

fn digits_at(word: &[u8]) -> usize {
    word.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

fn holds_wild_number(word: &[u8]) -> bool {
    (0..word.len()).any(|at| {
        let rest = &word[at..];
        if digits_at(rest) > DIGITS_MAX {
            return true;
        }
        let exponent = matches!(rest[0], b'e' | b'E').then(|| &rest[1..]);
        exponent.is_some_and(|tail| {
            let sign = usize::from(matches!(tail.first(), Some(b'+' | b'-')));
            digits_at(&tail[sign..]) > EXPONENT_DIGITS_MAX
        })
    })
}

impl NumberTokens {
    pub fn new(words: &[Vec<u8>]) -> Self {
        let empty = vec![0; words.len().div_ceil(32)];
        let mut all = Self { runs: std::array::from_fn(|_| empty.clone()), points: empty.clone(), wild: empty };
        for (token, word) in words.iter().enumerate() {
            for run in 0..digits_at(word).min(RUN_MAX) {
                set(&mut all.runs[run], token);
            }
            if word.first() == Some(&b'.') {
                set(&mut all.points, token);
            }
            if holds_wild_number(word) {
                set(&mut all.wild, token);
            }
        }
        all
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Between,
    Text,
    Escape,
    Number { digits: usize },
    Exponent { digits: usize },
}

/// Where in a JSON text an answer stands.
#[derive(Clone)]
pub struct NumberGuard {
    place: Place,
}

impl NumberGuard {
    pub fn new() -> Self {
        Self { place: Place::Between }
    }

    /// Reads the bytes of an accepted token.
    pub fn read(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.place = next(self.place, byte);
        }
    }

    /// Takes tokens out of a mask that would make a number too long, if others remain.
    pub fn narrow(&self, tokens: &NumberTokens, mask: &mut [u32]) {
        let (room, point) = match self.place {
            Place::Text | Place::Escape => return,
            Place::Between => (RUN_MAX, None),
            Place::Number { digits } => {
                let room = DIGITS_MAX.saturating_sub(digits);
                (room, (room == 0).then_some(&tokens.points))
            }
            Place::Exponent { digits } => (EXPONENT_DIGITS_MAX.saturating_sub(digits), None),
        };
        let run = tokens.runs.get(room);
        let dropped =
            |word: usize| tokens.wild[word] | run.map_or(0, |bits| bits[word]) | point.map_or(0, |bits| bits[word]);
        if mask.iter().enumerate().any(|(word, bits)| bits & !dropped(word) != 0) {
            for (word, bits) in mask.iter_mut().enumerate() {
                *bits &= !dropped(word);
            }
        }
    }
}

fn next(place: Place, byte: u8) -> Place {
    match (place, byte) {
        (Place::Escape, _) => Place::Text,
        (Place::Text, b'"') => Place::Between,
        (Place::Text, b'\\') => Place::Escape,
        (Place::Text, _) => Place::Text,
        (Place::Number { digits }, b'0'..=b'9') => Place::Number { digits: digits + 1 },
        (Place::Number { .. }, b'.') => place,
        (Place::Number { .. }, b'e' | b'E') => Place::Exponent { digits: 0 },
        (Place::Exponent { digits }, b'0'..=b'9') => Place::Exponent { digits: digits + 1 },
        (Place::Exponent { digits: 0 }, b'+' | b'-') => place,
        (_, b'"') => Place::Text,
        (_, b'-') => Place::Number { digits: 0 },
        (_, b'0'..=b'9') => Place::Number { digits: 1 },
        _ => Place::Between,
    }
}
