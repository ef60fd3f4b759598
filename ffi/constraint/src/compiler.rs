//! Compiles grammars on a thread of its own: a heavy one must never hold up a decode step.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::cache::{Cache, Template};
use crate::constraint;
use crate::guard::{contain, Reason};
use crate::matcher::{Matcher, Start};
use crate::vocabulary::{Lookup, Vocabulary};

/// llguidance's compilers recurse along properties and references. Memory that is not touched costs nothing.
const STACK_BYTES: usize = 256 << 20;

pub type Outcome = Result<Matcher, Reason>;

/// A lock that a panic elsewhere does not close for good: what it guards is replaced, never half changed.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A grammar that is being compiled.
#[derive(Default)]
pub struct Pending {
    outcome: Mutex<Option<Outcome>>,
    ready: Condvar,
    dropped: AtomicBool,
}

impl Pending {
    fn set(&self, outcome: Outcome) {
        *lock(&self.outcome) = Some(outcome);
        self.ready.notify_all();
    }

    /// Waits up to `wait_ms`; true when it is ready, the reason when it was refused.
    pub fn wait(&self, wait_ms: u64) -> Result<bool, Reason> {
        let limit = Duration::from_millis(wait_ms);
        let outcome = lock(&self.outcome);
        let (outcome, _) = self
            .ready
            .wait_timeout_while(outcome, limit, |outcome| outcome.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        match &*outcome {
            None => Ok(false),
            Some(Ok(_)) => Ok(true),
            Some(Err(reason)) => Err(reason.clone()),
        }
    }

    pub fn take(&self) -> Result<Matcher, Reason> {
        lock(&self.outcome).take().unwrap_or_else(|| Err("the grammar is not ready".into()))
    }

    pub fn drop_work(&self) {
        self.dropped.store(true, Ordering::Relaxed);
    }
}

struct Job {
    text: String,
    pending: Arc<Pending>,
}

pub struct Compiler {
    cache: Arc<Mutex<Cache>>,
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Compiler {
    /// lanes: copies of each grammar, one a mask thread.
    pub fn new(vocabulary: Vocabulary, lanes: usize) -> Result<Self, Reason> {
        let cache = Arc::new(Mutex::new(Cache::default()));
        let (jobs, queue) = channel();
        let work = Work { vocabulary: Some(vocabulary), lookup: None, cache: cache.clone(), lanes };
        let thread = std::thread::Builder::new()
            .name("grammar".into())
            .stack_size(STACK_BYTES)
            .spawn(move || work.run(&queue))
            .map_err(|error| format!("no thread for grammars: {error}"))?;
        Ok(Self { cache, jobs: Some(jobs), thread: Some(thread) })
    }

    /// Never blocks.
    pub fn begin(&self, text: String) -> Arc<Pending> {
        let pending = Arc::new(Pending::default());
        let known = self.cache.try_lock().ok().and_then(|mut cache| cache.get(&text));
        match (known, &self.jobs) {
            (Some(outcome), _) => pending.set(outcome),
            (None, Some(jobs)) if jobs.send(Job { text, pending: pending.clone() }).is_ok() => {}
            _ => pending.set(Err("the grammar engine has stopped".into())),
        }
        pending
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        self.jobs = None; // ends the thread's loop
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Work {
    /// Until the lookup is built from it.
    vocabulary: Option<Vocabulary>,
    lookup: Option<Result<Arc<Lookup>, Reason>>,
    cache: Arc<Mutex<Cache>>,
    lanes: usize,
}

impl Work {
    fn run(mut self, queue: &Receiver<Job>) {
        while let Ok(job) = queue.recv() {
            if !job.pending.dropped.load(Ordering::Relaxed) {
                job.pending.set(self.outcome(job.text));
            }
        }
    }

    fn outcome(&mut self, text: String) -> Outcome {
        if let Some(known) = lock(&self.cache).get(&text) {
            return known; // asked for twice before the first was done
        }
        let lookup = self.lookup()?;
        let template = contain(|| compile(&text, lookup, self.lanes));
        let matcher = template.as_ref().map(Template::matcher).map_err(Clone::clone);
        let mut cache = lock(&self.cache);
        cache.put(text, template);
        cache.shrink();
        matcher
    }

    fn lookup(&mut self) -> Result<Arc<Lookup>, Reason> {
        let vocabulary = &mut self.vocabulary;
        let built = self.lookup.get_or_insert_with(|| {
            let vocabulary = vocabulary.take().ok_or("the vocabulary is gone")?;
            contain(|| Lookup::new(&vocabulary)).map(Arc::new)
        });
        built.clone()
    }
}

fn compile(text: &str, lookup: Arc<Lookup>, lanes: usize) -> Result<Template, Reason> {
    let matcher = constraint::build(text, |grammar| {
        let start =
            Start { json: grammar.json, prefix: grammar.prefix.clone(), unenforced: grammar.unenforced.clone() };
        Matcher::new(lookup.parser(grammar)?, lookup.clone(), start)
    })?;
    Ok(Template::new(matcher, lanes))
}
