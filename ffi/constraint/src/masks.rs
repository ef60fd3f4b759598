//! Computes the masks of a batch on threads of its own while the caller runs the model.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

use crate::compiler::lock;
use crate::guard::{contain, Reason};
use crate::matcher::Matcher;

/// One mask to compute. The thread that takes it by its index is its only user until the batch is done.
pub struct Job {
    pub matcher: *mut Matcher,
    pub out: *mut u32,
}

struct Batch {
    jobs: Vec<Job>,
    words: usize,
    next: AtomicUsize,
    failed: AtomicUsize,
    left: Mutex<usize>,
    done: Condvar,
}

// SAFETY: the jobs' pointers stay valid and untouched by others until the caller has waited for the batch, which is what
// svc_grammar_masks_begin asks for, and `next` hands each of them to one thread.
unsafe impl Send for Batch {}
unsafe impl Sync for Batch {}

impl Batch {
    /// Works until no job is left to take.
    fn work(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = self.jobs.get(index) else { return };
            // SAFETY: see Batch; `out` has room for `words` words.
            let (matcher, out) = unsafe { (&mut *job.matcher, std::slice::from_raw_parts_mut(job.out, self.words)) };
            if contain(|| matcher.mask(out)).is_err() {
                self.failed.fetch_add(1, Ordering::Relaxed);
            }
            let mut left = lock(&self.left);
            *left -= 1;
            if *left == 0 {
                self.done.notify_all();
            }
        }
    }

    fn wait(&self) {
        let left = lock(&self.left);
        drop(self.done.wait_while(left, |left| *left > 0).unwrap_or_else(PoisonError::into_inner));
    }
}

#[derive(Default)]
struct Desk {
    batch: Option<Arc<Batch>>,
    /// Counts batches, so that a thread sees each once.
    serial: u64,
    closed: bool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
}

impl Shared {
    fn serve(&self) {
        let mut seen = 0;
        loop {
            let desk = lock(&self.desk);
            let desk = self
                .changed
                .wait_while(desk, |desk| !desk.closed && desk.serial == seen)
                .unwrap_or_else(PoisonError::into_inner);
            if desk.closed {
                return;
            }
            seen = desk.serial;
            let batch = desk.batch.clone();
            drop(desk);
            if let Some(batch) = batch {
                batch.work();
            }
        }
    }
}

pub struct MaskPool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    batch: Option<Arc<Batch>>,
}

impl MaskPool {
    pub fn new(threads: usize) -> Result<Self, Reason> {
        let mut pool = Self { shared: Arc::default(), threads: Vec::new(), batch: None };
        for index in 0..threads {
            let shared = pool.shared.clone();
            let thread = std::thread::Builder::new().name(format!("mask {index}")).spawn(move || shared.serve());
            pool.threads.push(thread.map_err(|error| format!("no thread for masks: {error}"))?);
        }
        Ok(pool)
    }

    /// `words`: size of each mask. Refuses while another batch is in progress.
    pub fn begin(&mut self, jobs: Vec<Job>, words: usize) -> Result<(), Reason> {
        if self.batch.is_some() {
            return Err("the batch before has not been waited for".into());
        }
        let left = Mutex::new(jobs.len());
        let (next, failed) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let batch = Arc::new(Batch { jobs, words, next, failed, left, done: Condvar::new() });
        self.batch = Some(batch.clone());
        let mut desk = lock(&self.shared.desk);
        desk.serial += 1;
        desk.batch = Some(batch);
        drop(desk);
        self.shared.changed.notify_all();
        Ok(())
    }

    /// Helps and waits; returns how many masks failed.
    pub fn wait(&mut self) -> usize {
        let Some(batch) = self.batch.take() else { return 0 };
        batch.work();
        batch.wait();
        lock(&self.shared.desk).batch = None;
        batch.failed.load(Ordering::Relaxed)
    }
}

impl Drop for MaskPool {
    fn drop(&mut self) {
        self.wait();
        lock(&self.shared.desk).closed = true;
        self.shared.changed.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
