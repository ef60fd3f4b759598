//! The last grammars by their text: clients send the same schema again and again.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::guard::Reason;
use crate::matcher::Matcher;

const ENTRIES_MAX: usize = 64;
/// Lexers of all entries together. They grow as answers explore their grammars.
const LEXER_BYTES_MAX: usize = 256 << 20;

/// A compiled grammar, one copy a mask thread, so that threads seldom wait for each other's lexer.
pub struct Template {
    lanes: Vec<Matcher>,
    next: AtomicUsize,
}

impl Template {
    pub fn new(matcher: Matcher, lanes: usize) -> Self {
        let mut copies: Vec<Matcher> = (1..lanes).map(|_| matcher.detached()).collect();
        copies.push(matcher);
        Self { lanes: copies, next: AtomicUsize::new(0) }
    }

    /// A matcher at the beginning of an answer.
    pub fn matcher(&self) -> Matcher {
        let lane = self.next.fetch_add(1, Ordering::Relaxed) % self.lanes.len();
        self.lanes[lane].clone()
    }

    fn is_spoiled(&self) -> bool {
        self.lanes.iter().any(Matcher::is_spoiled)
    }

    fn lexer_bytes(&self) -> usize {
        self.lanes.iter().map(Matcher::lexer_bytes).sum()
    }
}

/// A text's grammar, or the reason of its refusal.
type Outcome = Result<Template, Reason>;

#[derive(Default)]
pub struct Cache {
    /// Most recently used last.
    entries: Vec<(String, Outcome)>,
}

impl Cache {
    /// A matcher for the text if its grammar is known.
    pub fn get(&mut self, text: &str) -> Option<Result<Matcher, Reason>> {
        let at = self.entries.iter().position(|(known, _)| known == text)?;
        let entry = self.entries.remove(at);
        if entry.1.as_ref().is_ok_and(Template::is_spoiled) {
            return None; // compiled again
        }
        let result = entry.1.as_ref().map(Template::matcher).map_err(Clone::clone);
        self.entries.push(entry);
        Some(result)
    }

    pub fn put(&mut self, text: String, outcome: Outcome) {
        self.entries.push((text, outcome));
        if self.entries.len() > ENTRIES_MAX {
            drop(self.entries.remove(0));
        }
    }

    /// Drops the oldest grammars while the lexers are too large. Waits for masks that are being computed.
    pub fn shrink(&mut self) {
        let size = |(_, outcome): &(String, Outcome)| outcome.as_ref().map_or(0, Template::lexer_bytes);
        let mut sizes: Vec<usize> = self.entries.iter().map(size).collect();
        while sizes.len() > 1 && sizes.iter().sum::<usize>() > LEXER_BYTES_MAX {
            sizes.remove(0);
            drop(self.entries.remove(0));
        }
    }
}
