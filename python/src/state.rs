//! A study that Python holds: shared by threads, useless after a fork, and closed at some time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unyoke::Study;
use unyoke_run::Worker;
use unyoke_store::Store;

use crate::error::{Failure, Result};
use crate::place::Found;

/// A study, and who makes its evaluations in this program.
#[derive(Debug)]
pub(crate) struct State {
    /// The process that opened it. In another one, forked off it, not even closing is allowed: SQLite
    /// would take itself for the last user of the file.
    process: u32,
    found: Mutex<Option<Found>>,
    /// While evaluations are made here. Never locked for long, so that a fork hardly ever meets it.
    worker: Mutex<Option<Arc<Worker>>>,
}

impl State {
    pub(crate) fn new(found: Found) -> Self {
        let (process, worker) = (std::process::id(), Mutex::new(None));
        Self { process, found: Mutex::new(Some(found)), worker }
    }

    /// Does something with the study that takes no time to speak of.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut Found) -> Result<T>) -> Result<T> {
        self.check_process()?;
        work(lock(&self.found).as_mut().ok_or(Failure::Closed)?)
    }

    /// The same after taking in what others wrote.
    pub(crate) fn refreshed<T>(&self, work: impl FnOnce(&mut Found) -> Result<T>) -> Result<T> {
        self.with(|found| {
            found.study.refresh()?;
            work(found)
        })
    }

    /// The study as it is now, to compute with while others use it.
    pub(crate) fn snapshot(&self) -> Result<Study<Store>> {
        self.refreshed(|found| Ok(found.study.clone()))
    }

    /// The worker of this program.
    pub(crate) fn worker(&self) -> Result<Arc<Worker>> {
        self.check_process()?;
        let worker = lock(&self.worker).clone();
        worker.ok_or_else(|| Failure::Refused("the study is not being run".to_owned()))
    }

    /// Begins to make evaluations here.
    pub(crate) fn begin_work(&self) -> Result<()> {
        self.check_process()?;
        let mut worker = lock(&self.worker);
        if worker.is_some() {
            return Err(Failure::Refused("the study is being run already".to_owned()));
        }
        let new = self.with(|found| Ok(Worker::new(found.store.clone(), found.layout.clone())?))?;
        *worker = Some(Arc::new(new));
        Ok(())
    }

    /// Gives back what was not finished.
    pub(crate) fn end_work(&self) -> Result<()> {
        self.check_process()?;
        let worker = lock(&self.worker).take();
        worker.map_or(Ok(()), |worker| Ok(worker.release_all()?))
    }

    /// Closes the study. Refused while it is being run.
    pub(crate) fn close(&self) -> Result<()> {
        self.check_process()?;
        if lock(&self.worker).is_some() {
            let reason = "the study is being run; it can be closed once the run has ended";
            return Err(Failure::Refused(reason.to_owned()));
        }
        drop(lock(&self.found).take());
        Ok(())
    }

    /// Called in a process that was just forked off: nothing here is its own.
    pub(crate) fn forget(&self) {
        if let Ok(mut worker) = self.worker.try_lock()
            && let Some(worker) = worker.take()
        {
            worker.forget();
            std::mem::forget(worker);
        }
        if let Ok(mut found) = self.found.try_lock() {
            std::mem::forget(found.take());
        }
    }

    fn check_process(&self) -> Result<()> {
        if self.process == std::process::id() { Ok(()) } else { Err(Failure::Forked) }
    }
}

impl Drop for State {
    fn drop(&mut self) {
        if self.check_process().is_err() {
            self.forget();
        }
    }
}

/// What a thread that panicked left is whole: everything is written to the journal first.
fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
