//! A grammar and how far an answer has come in it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::time::Duration;

use llguidance::TokenParser;

use crate::clock::thread_time;
use crate::guard::{contain, tidy, Reason};
use crate::numbers::NumberGuard;
use crate::vocabulary::Lookup;

/// Processor time of one step. llguidance counts fuel, but what a unit costs depends on the grammar: an ambiguous one gets
/// slower with every token, and a token's turn must not keep all other answers waiting. Usual steps take 0.1 ms.
const STEP_TIME_MAX: Duration = Duration::from_millis(200);

#[derive(Clone, PartialEq)]
enum State {
    Open,
    /// Nothing but an ending token may follow.
    Complete,
    Failed(Reason),
}

/// What accepting a token came to.
#[derive(Clone, Copy, PartialEq)]
pub enum Accepted {
    Ok,
    Complete,
    Rejected,
}

/// How an answer begins.
pub struct Start {
    pub json: bool,
    /// What stands in the prompt of it already.
    pub prefix: String,
    /// What is not enforced: places in the request.
    pub unenforced: Vec<String>,
}

#[derive(Clone)]
pub struct Matcher {
    parser: TokenParser,
    lookup: Arc<Lookup>,
    numbers: Option<NumberGuard>,
    state: State,
    /// Set when the grammar ran into a limit, which spoils the lexer that its copies share.
    spoiled: Arc<AtomicBool>,
    unenforced: Arc<Vec<String>>,
}

impl Matcher {
    /// At the beginning of an answer.
    pub fn new(mut parser: TokenParser, lookup: Arc<Lookup>, start: Start) -> Result<Self, Reason> {
        parser.start_without_prompt();
        let numbers = start.json.then(NumberGuard::new);
        let unenforced = Arc::new(start.unenforced);
        let mut matcher = Self { parser, lookup, numbers, state: State::Open, spoiled: Arc::default(), unenforced };
        matcher.attempt(Self::settle)?;
        if matcher.feed(start.prefix.as_bytes())? == Accepted::Rejected {
            return Err("the grammar does not begin like the answer".into());
        }
        // A grammar that fails at its first step is refused before the answer begins. The mask also warms the lexer up.
        let words = matcher.words();
        matcher.mask(&mut vec![0; words])?;
        Ok(matcher)
    }

    /// A copy with a lexer of its own, which never waits for that of another.
    pub fn detached(&self) -> Self {
        Self { parser: self.parser.deep_clone(), spoiled: Arc::default(), ..self.clone() }
    }

    /// Words of a mask.
    pub fn words(&self) -> usize {
        self.lookup.env.tok_trie().vocab_size().div_ceil(32)
    }

    pub fn is_spoiled(&self) -> bool {
        self.spoiled.load(Ordering::Relaxed)
    }

    /// Memory of the lexer, which grows with use.
    pub fn lexer_bytes(&self) -> usize {
        self.parser.parser.lexer_stats().num_bytes
    }

    /// Runs a step; a failure is final.
    fn attempt<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Reason>) -> Result<T, Reason> {
        if let State::Failed(reason) = &self.state {
            return Err(reason.clone());
        }
        let start = thread_time();
        let mut result = contain(|| step(self));
        if result.is_ok() && thread_time().saturating_sub(start) > STEP_TIME_MAX {
            result = Err("the grammar takes too long to follow".into());
        }
        if let Err(reason) = &result {
            self.state = State::Failed(reason.clone());
            self.spoiled.store(true, Ordering::Relaxed);
        }
        result
    }

    fn settle(&mut self) -> Result<Accepted, Reason> {
        if self.parser.check_stop().map_err(tidy)? {
            self.state = State::Complete;
            return Ok(Accepted::Complete);
        }
        Ok(Accepted::Ok)
    }

    /// Moves on by one token.
    pub fn accept(&mut self, token: u32) -> Result<Accepted, Reason> {
        let ending = self.is_ending(token);
        if self.state == State::Complete {
            return Ok(if ending { Accepted::Complete } else { Accepted::Rejected });
        }
        self.attempt(|matcher| matcher.advance(token, ending))
    }

    /// Moves on by a text, markup included, in whatever tokens. Rejected: it may have moved on by a part of it.
    pub fn feed(&mut self, text: &[u8]) -> Result<Accepted, Reason> {
        let mut last = Accepted::Ok;
        for token in self.lookup.clone().tokens(text) {
            last = self.accept(token)?;
            if last == Accepted::Rejected {
                break;
            }
        }
        Ok(last)
    }

    /// What is not enforced: places in the request.
    pub fn unenforced(&self) -> &[String] {
        &self.unenforced
    }

    fn advance(&mut self, token: u32, ending: bool) -> Result<Accepted, Reason> {
        if ending {
            if !self.parser.is_accepting() {
                return Ok(Accepted::Rejected);
            }
            self.state = State::Complete;
            return Ok(Accepted::Complete);
        }
        let trie = self.lookup.env.tok_trie();
        if token as usize >= trie.vocab_size() || trie.token_len(token) == 0 {
            return Ok(Accepted::Rejected);
        }
        if self.parser.validate_tokens_raw(&[token]).map_err(tidy)? == 0 {
            return Ok(Accepted::Rejected);
        }
        if self.parser.consume_token(token).map_err(tidy)? != 0 {
            return Err("the grammar asks to take back tokens, which is not possible".into());
        }
        if let Some(numbers) = &mut self.numbers {
            numbers.read(trie.token(token));
        }
        self.settle()
    }

    fn is_ending(&self, token: u32) -> bool {
        self.lookup.env.tok_trie().eos_tokens().contains(&token)
    }

    /// 0 more must come, 1 the answer may end here, 2 it is complete.
    pub fn state(&mut self) -> Result<i32, Reason> {
        if self.state == State::Complete {
            return Ok(2);
        }
        self.attempt(|matcher| Ok(i32::from(matcher.parser.is_accepting())))
    }

    /// Writes which tokens may come next. When it fails, `out` is all zero.
    pub fn mask(&mut self, out: &mut [u32]) -> Result<(), Reason> {
        out.fill(0);
        if self.state == State::Complete {
            self.set_ending(out, true);
            return Ok(());
        }
        let result = self.attempt(|matcher| matcher.fill(out));
        if result.is_err() {
            out.fill(0);
        }
        result
    }

    fn fill(&mut self, out: &mut [u32]) -> Result<(), Reason> {
        let allowed = self.parser.compute_mask().map_err(|error| match tidy(error) {
            stop if stop == "NoExtensionBias" => "the grammar allows no continuation here".into(),
            reason => reason,
        })?;
        let words = allowed.as_slice();
        let count = words.len().min(out.len());
        out[..count].copy_from_slice(&words[..count]);
        if let Some(numbers) = &self.numbers {
            numbers.narrow(&self.lookup.numbers, out);
        }
        // A grammar may name an ending token within itself; ours ends the answer, wherever it comes.
        let may_end = self.parser.is_accepting();
        self.set_ending(out, may_end);
        if out.iter().all(|&word| word == 0) {
            return Err("the grammar allows no continuation here".into());
        }
        Ok(())
    }

    fn set_ending(&self, out: &mut [u32], allowed: bool) {
        for &token in self.lookup.env.tok_trie().eos_tokens() {
            let (word, bit) = (token as usize / 32, 1 << (token % 32));
            if allowed {
                out[word] |= bit;
            } else {
                out[word] &= !bit;
            }
        }
    }
}
