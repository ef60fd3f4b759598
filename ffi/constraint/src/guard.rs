//! What every entry point shares: nothing thrown gets out, and the reason is kept for svc_grammar_last_error().

use std::any::Any;
use std::cell::RefCell;
use std::ffi::CString;
use std::fmt::Display;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

/// One sentence for the caller.
pub type Reason = String;

/// Longest reason that is passed on, bytes. It may quote a whole grammar.
const REASON_BYTES_MAX: usize = 600;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

fn remember(reason: &str) {
    let text = CString::new(reason.replace('\0', " ")).unwrap_or_default();
    LAST_ERROR.with(|last| *last.borrow_mut() = text);
}

/// Address of the last reason of this thread.
pub fn last_error() -> *const std::ffi::c_char {
    LAST_ERROR.with(|last| last.borrow().as_ptr())
}

/// A panic prints nothing: it becomes an error like any other.
pub fn silence_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
}

fn panic_text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&'static str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("an unknown panic")
}

/// Runs `body` and turns a panic into a reason.
pub fn contain<T>(body: impl FnOnce() -> Result<T, Reason>) -> Result<T, Reason> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result,
        Err(payload) => Err(format!("the grammar engine failed: {}", panic_text(&*payload))),
    }
}

/// Runs the body of an entry point; if it fails or panics, remembers the reason and returns `failed`.
pub fn guard<T>(failed: T, body: impl FnOnce() -> Result<T, Reason>) -> T {
    silence_panics();
    remember("");
    contain(body).unwrap_or_else(|reason| {
        remember(&reason);
        failed
    })
}

/// llguidance's error text without the state dumps and stack traces it appends.
pub fn tidy(error: impl Display) -> Reason {
    let full = format!("{error:#}");
    let mut text = full.as_str();
    for mark in ["\n<state>", "\n<non-verbose/>", "\n<backtrace>"] {
        text = text.split(mark).next().unwrap_or(text);
    }
    let text = text.trim();
    let text = text
        .strip_prefix("panic: ")
        .map_or_else(|| text.to_string(), |panic| format!("the grammar engine failed: {panic}"));
    if text.len() <= REASON_BYTES_MAX {
        return text;
    }
    let cut = (0..=REASON_BYTES_MAX).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    format!("{} …", &text[..cut])
}
