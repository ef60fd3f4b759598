//! A model's vocabulary as llguidance wants it.

use std::collections::HashMap;
use std::sync::Arc;

use llguidance::api::{GrammarInit, ParserLimits};
use llguidance::earley::lexerspec::LexemeIdx;
use llguidance::earley::SlicedBiasComputer;
use llguidance::toktrie::{ApproximateTokEnv, InferenceCapabilities, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Logger, ParserFactory, TokenParser};

use crate::constraint::Grammar;
use crate::guard::{tidy, Reason};
use crate::numbers::NumberTokens;

const ENDS_GENERATION: u8 = 1;
const CONTROL: u8 = 2;

/// toktrie asserts that no token is longer; no answer needs one.
const TOKEN_BYTES_MAX: usize = 1000;

// What a request can make llguidance spend; see its ParserLimits for the speeds behind the numbers.
/// To build a lexer: 100 ms or so.
const INITIAL_LEXER_FUEL: u64 = 3_000_000;
/// To lex for one mask: 15 ms.
const STEP_LEXER_FUEL: u64 = 200_000;
/// To parse for one mask: 3 ms.
const STEP_ITEMS_MAX: usize = 50_000;
const ROW_ITEMS_MAX: usize = 2_000;
/// In JSON an object takes about four items for each of its optional properties, and its rows are cheap.
const JSON_ROW_ITEMS_MAX: usize = 10_000;
const JSON_STEP_ITEMS_MAX: usize = 500_000;
/// 1 to 2 KB each.
const LEXER_STATES_MAX: usize = 50_000;
const GRAMMAR_SYMBOLS_MAX: usize = 200_000;

fn limits(large: bool) -> ParserLimits {
    ParserLimits {
        initial_lexer_fuel: INITIAL_LEXER_FUEL,
        step_lexer_fuel: STEP_LEXER_FUEL,
        step_max_items: if large { JSON_STEP_ITEMS_MAX } else { STEP_ITEMS_MAX },
        max_items_in_row: if large { JSON_ROW_ITEMS_MAX } else { ROW_ITEMS_MAX },
        max_lexer_states: LEXER_STATES_MAX,
        max_grammar_size: GRAMMAR_SYMBOLS_MAX,
        verbose_errors: false,
        ..ParserLimits::default()
    }
}

/// The vocabulary as the caller gave it.
pub struct Vocabulary {
    /// Bytes of each token; control tokens stand behind llguidance's marker byte, so that no text matches them.
    words: Vec<Vec<u8>>,
    eos: Vec<u32>,
}

impl Vocabulary {
    /// Copies. Refuses when the lengths do not add up or no token ends an answer.
    pub fn new(bytes: &[u8], lengths: &[i32], flags: &[u8]) -> Result<Self, Reason> {
        let mut words = Vec::with_capacity(lengths.len());
        let mut eos = Vec::new();
        let mut offset = 0;
        for (token, (&length, &flag)) in lengths.iter().zip(flags).enumerate() {
            let end = offset + usize::try_from(length).map_err(|_| "a token has a negative length".to_string())?;
            let text = bytes.get(offset..end).ok_or("the lengths are more than the bytes")?;
            offset = end;
            if flag & ENDS_GENERATION != 0 {
                eos.push(token as u32);
            }
            words.push(word(text, flag));
        }
        if offset != bytes.len() {
            return Err("the lengths are less than the bytes".into());
        }
        if eos.is_empty() {
            return Err("the vocabulary has no token that ends an answer".into());
        }
        Ok(Self { words, eos })
    }

    pub fn len(&self) -> usize {
        self.words.len()
    }

    pub fn eos(&self) -> &[u32] {
        &self.eos
    }
}

fn word(text: &[u8], flag: u8) -> Vec<u8> {
    let special = flag & (ENDS_GENERATION | CONTROL) != 0;
    // 0xFF is no UTF-8 and llguidance's own marker: a token that begins with it is never part of a text.
    let unusable = text.is_empty() || text.len() > TOKEN_BYTES_MAX || text[0] == TokTrie::SPECIAL_TOKEN_MARKER;
    match (unusable, special) {
        (true, _) => Vec::new(),
        (false, true) => [&[TokTrie::SPECIAL_TOKEN_MARKER], text].concat(),
        (false, false) => text.to_vec(),
    }
}

/// True if a terminal of the grammar matches nothing: answers would run into it and get no further. llguidance looks for
/// such strings, but not for such names.
fn has_dead_terminal(parser: &TokenParser) -> Result<bool, Reason> {
    let spec = parser.parser.grammar().lexer_spec();
    let mut lexer = spec.to_regex_vec(&mut limits(true)).map_err(tidy)?;
    let terminals = (0..spec.lexemes.len()).map(LexemeIdx::new).filter(|index| !spec.skip_by_class.contains(index));
    Ok(terminals.into_iter().any(|index| {
        let mut alone = spec.alloc_lexeme_set();
        alone.add(index);
        lexer.initial_state(&alone).is_dead()
    }))
}

fn controls(words: &[Vec<u8>]) -> HashMap<u8, Vec<(Vec<u8>, u32)>> {
    let mut all: HashMap<u8, Vec<(Vec<u8>, u32)>> = HashMap::new();
    for (token, word) in words.iter().enumerate() {
        if let [TokTrie::SPECIAL_TOKEN_MARKER, first, ..] = word[..] {
            all.entry(first).or_default().push((word[1..].to_vec(), token as u32));
        }
    }
    all.values_mut().for_each(|list| list.sort_by_key(|(text, _)| std::cmp::Reverse(text.len())));
    all
}

/// The lookup structures of a vocabulary, built once.
pub struct Lookup {
    factory: ParserFactory,
    pub env: TokEnv,
    pub numbers: NumberTokens,
    /// Control tokens by the first byte of their text, the longest first.
    controls: HashMap<u8, Vec<(Vec<u8>, u32)>>,
}

impl Lookup {
    pub fn new(vocabulary: &Vocabulary) -> Result<Self, Reason> {
        let info = TokRxInfo::new(vocabulary.words.len() as u32, vocabulary.eos[0]);
        let trie = TokTrie::from(&info, &vocabulary.words).with_eos_tokens(&vocabulary.eos);
        let numbers = NumberTokens::new(&vocabulary.words);
        // Not canonical: we have no tokenizer here, so any spelling of a text in tokens is allowed and none is forced.
        let env: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
        // The first slice is for unbounded white space, which none of our JSON grammars has.
        let slices = &SlicedBiasComputer::json_slices()[1..];
        let mut factory = ParserFactory::new(&env, InferenceCapabilities::default(), slices).map_err(tidy)?;
        factory.quiet();
        Ok(Self { factory, env, numbers, controls: controls(&vocabulary.words) })
    }

    /// A text in tokens: control tokens where their text stands, else the longest that fit.
    pub fn tokens(&self, text: &[u8]) -> Vec<u32> {
        let mut tokens = Vec::new();
        let mut plain = 0;
        let mut at = 0;
        while at < text.len() {
            let known = self.controls.get(&text[at]).into_iter().flatten();
            match known.clone().find(|(control, _)| text[at..].starts_with(control)) {
                None => at += 1,
                Some((control, token)) => {
                    tokens.extend(self.env.tok_trie().greedy_tokenize(&text[plain..at]));
                    tokens.push(*token);
                    at += control.len();
                    plain = at;
                }
            }
        }
        tokens.extend(self.env.tok_trie().greedy_tokenize(&text[plain..]));
        tokens
    }

    /// Compiles a grammar.
    pub fn parser(&self, grammar: Grammar) -> Result<TokenParser, Reason> {
        let init = GrammarInit::Serialized(grammar.top);
        let quiet = Logger::new(0, 0);
        let none = InferenceCapabilities::default();
        let parser =
            self.factory.create_parser_from_init_ext(init, quiet, none, limits(grammar.large)).map_err(tidy)?;
        if grammar.names_by_pattern && has_dead_terminal(&parser)? {
            return Err("`patternProperties` has a pattern that leaves no name besides the declared ones".into());
        }
        Ok(parser)
    }
}
