//! The entry points of svc_grammar.h, which documents them.

// What a pointer must point to is the header's to say.
#![allow(clippy::missing_safety_doc)]

mod answer;
mod cache;
mod clock;
mod compiler;
mod constraint;
mod guard;
mod masks;
mod matcher;
mod numbers;
mod schema;
mod vocabulary;

use std::cell::UnsafeCell;
use std::ffi::{c_char, CStr, CString};
use std::sync::Arc;

use compiler::{Compiler, Pending};
use guard::{contain, guard, last_error, Reason};
use masks::{Job, MaskPool};
use matcher::{Accepted, Matcher};
use vocabulary::Vocabulary;

/// A vocabulary is never larger; ids have 24 bits in llguidance.
const VOCABULARY_MAX: i32 = 1 << 22;
const THREADS_MAX: i32 = 64;

pub struct Engine {
    compiler: Compiler,
    masks: MaskPool,
    /// Words of a mask.
    words: usize,
    /// Matchers of the batch in progress.
    batch: Vec<*mut Handle>,
}

/// A matcher as the caller holds it.
pub struct Handle {
    /// Part of a batch: another thread is using the matcher.
    busy: bool,
    matcher: UnsafeCell<Matcher>,
    /// JSON text of what is not enforced, once asked for.
    unenforced: Option<CString>,
}

unsafe fn need<'a, T>(handle: *mut T, what: &str) -> Result<&'a mut T, Reason> {
    handle.as_mut().ok_or_else(|| format!("no {what} was given"))
}

/// A matcher that no batch is using.
unsafe fn idle<'a>(handle: *mut Handle) -> Result<&'a mut Matcher, Reason> {
    let handle = need(handle, "matcher")?;
    if handle.busy {
        return Err("the matcher's mask is being computed".into());
    }
    Ok(handle.matcher.get_mut())
}

fn handle(matcher: Matcher) -> *mut Handle {
    boxed(Handle { busy: false, matcher: UnsafeCell::new(matcher), unenforced: None })
}

unsafe fn column<'a, T>(data: *const T, count: i32) -> Result<&'a [T], Reason> {
    let count = usize::try_from(count).map_err(|_| "a count is negative".to_string())?;
    if data.is_null() && count > 0 {
        return Err("a column is missing".into());
    }
    Ok(if count == 0 { &[] } else { std::slice::from_raw_parts(data, count) })
}

fn boxed<T>(value: T) -> *mut T {
    Box::into_raw(Box::new(value))
}

#[no_mangle]
pub extern "C" fn svc_grammar_abi_hash() -> *const c_char {
    const TEXT: &str = concat!(env!("SVC_ABI_HASH"), "\0");
    TEXT.as_ptr().cast()
}

#[no_mangle]
pub extern "C" fn svc_grammar_last_error() -> *const c_char {
    last_error()
}

#[no_mangle]
pub extern "C" fn svc_grammar_selftest_panic(kind: i32) -> i32 {
    guard(-1, || match kind {
        0 => panic!("raised on purpose"),
        1 => panic!("raised on purpose with {kind}"),
        2 => std::panic::panic_any(kind),
        _ => std::thread::spawn(|| contain(|| panic!("raised on purpose in a thread")))
            .join()
            .unwrap_or_else(|_| Err("it got out".into())),
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_open(
    bytes: *const u8,
    n_bytes: i32,
    length: *const i32,
    flags: *const u8,
    n_vocab: i32,
    threads: i32,
) -> *mut Engine {
    guard(std::ptr::null_mut(), || {
        if !(1..=VOCABULARY_MAX).contains(&n_vocab) || !(0..=THREADS_MAX).contains(&threads) {
            return Err("the size of the vocabulary or the number of threads is out of range".into());
        }
        let vocabulary = Vocabulary::new(column(bytes, n_bytes)?, column(length, n_vocab)?, column(flags, n_vocab)?)?;
        let words = vocabulary.len().div_ceil(32);
        let masks = MaskPool::new(threads as usize)?;
        let compiler = Compiler::new(vocabulary, threads.max(1) as usize)?;
        Ok(boxed(Engine { compiler, masks, words, batch: Vec::new() }))
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_close(engine: *mut Engine) {
    guard((), || {
        need(engine, "engine")?;
        finish_batch(&mut *engine);
        drop(Box::from_raw(engine));
        Ok(())
    });
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_compile_begin(
    engine: *mut Engine,
    constraint: *const c_char,
) -> *mut Arc<Pending> {
    guard(std::ptr::null_mut(), || {
        let engine = need(engine, "engine")?;
        if constraint.is_null() {
            return Err("no constraint was given".into());
        }
        let text = CStr::from_ptr(constraint).to_string_lossy().into_owned();
        Ok(boxed(engine.compiler.begin(text)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_compile_wait(pending: *mut Arc<Pending>, wait_ms: i32) -> i32 {
    guard(-1, || need(pending, "pending grammar")?.wait(wait_ms.max(0) as u64).map(i32::from))
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_compile_take(pending: *mut Arc<Pending>) -> *mut Handle {
    guard(std::ptr::null_mut(), || {
        need(pending, "pending grammar")?;
        let pending = Box::from_raw(pending);
        pending.drop_work();
        pending.take().map(handle)
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_compile_free(pending: *mut Arc<Pending>) {
    guard((), || {
        need(pending, "pending grammar")?.drop_work();
        drop(Box::from_raw(pending));
        Ok(())
    });
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_clone(matcher: *mut Handle) -> *mut Handle {
    guard(std::ptr::null_mut(), || Ok(handle(idle(matcher)?.clone())))
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_free(matcher: *mut Handle) {
    guard((), || {
        idle(matcher)?;
        drop(Box::from_raw(matcher));
        Ok(())
    });
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_accept(matcher: *mut Handle, token: i32) -> i32 {
    guard(-1, || {
        let matcher = idle(matcher)?;
        Ok(match matcher.accept(u32::try_from(token).unwrap_or(u32::MAX))? {
            Accepted::Ok => 0,
            Accepted::Complete => 1,
            Accepted::Rejected => 2,
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_feed(matcher: *mut Handle, text: *const u8, n: i32) -> i32 {
    guard(-1, || {
        Ok(match idle(matcher)?.feed(column(text, n)?)? {
            Accepted::Ok => 0,
            Accepted::Complete => 1,
            Accepted::Rejected => 2,
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_unenforced(matcher: *mut Handle) -> *const c_char {
    guard(std::ptr::null(), || {
        let json = serde_json::to_string(idle(matcher)?.unenforced()).map_err(|error| error.to_string())?;
        let handle = need(matcher, "matcher")?;
        let text = handle.unenforced.insert(CString::new(json).map_err(|error| error.to_string())?);
        Ok(text.as_ptr())
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_state(matcher: *mut Handle) -> i32 {
    guard(-1, || idle(matcher)?.state())
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_mask(matcher: *mut Handle, out: *mut u32, n_words: i32) -> i32 {
    guard(-1, || {
        let matcher = idle(matcher)?;
        let words = usize::try_from(n_words).map_err(|_| "a count is negative".to_string())?;
        if out.is_null() || words != matcher.words() {
            return Err("the mask has the wrong size".into());
        }
        matcher.mask(std::slice::from_raw_parts_mut(out, words))?;
        Ok(0)
    })
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_masks_begin(
    engine: *mut Engine,
    n: i32,
    matcher: *const u64,
    out: *const u64,
) -> i32 {
    guard(-1, || {
        let engine = need(engine, "engine")?;
        let (handles, outs) = (column(matcher, n)?, column(out, n)?);
        let mut jobs: Vec<Job> = Vec::with_capacity(handles.len());
        for (&matcher, &out) in handles.iter().zip(outs) {
            let handle = matcher as *mut Handle;
            if out == 0 || idle(handle)?.words() != engine.words {
                return Err("a mask is missing or belongs to another vocabulary".into());
            }
            let job = Job { matcher: (*handle).matcher.get(), out: out as *mut u32 };
            if jobs.iter().any(|other| other.matcher == job.matcher || other.out == job.out) {
                return Err("a matcher or mask is in the batch twice".into());
            }
            jobs.push(job);
        }
        if jobs.is_empty() {
            return Ok(0);
        }
        engine.masks.begin(jobs, engine.words)?;
        engine.batch = handles.iter().map(|&matcher| matcher as *mut Handle).collect();
        engine.batch.iter().for_each(|&handle| (*handle).busy = true);
        Ok(0)
    })
}

unsafe fn finish_batch(engine: &mut Engine) -> usize {
    let failed = engine.masks.wait();
    engine.batch.drain(..).for_each(|handle| (*handle).busy = false);
    failed
}

#[no_mangle]
pub unsafe extern "C" fn svc_grammar_masks_wait(engine: *mut Engine) -> i32 {
    guard(-1, || Ok(finish_batch(need(engine, "engine")?) as i32))
}
