//! A study that Python holds: shared by threads, useless after a fork, and closed at some time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unyoke::Study;
use unyoke_run::{SignOfLife, Worker};
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
    work: Mutex<Option<Work>>,
}

/// Who makes evaluations here.
#[derive(Debug)]
enum Work {
    /// Functions in this program.
    Functions(Arc<Worker>),
    /// Processes and jobs; by the sign of life others see that this program waits for them.
    Jobs(Option<SignOfLife>),
}

impl State {
    pub(crate) fn new(found: Found) -> Self {
        let (process, work) = (std::process::id(), Mutex::new(None));
        Self { process, found: Mutex::new(Some(found)), work }
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
        match &*lock(&self.work) {
            Some(Work::Functions(worker)) => Ok(worker.clone()),
            _ => Err(Failure::Refused("the study is not being run".to_owned())),
        }
    }

    /// Begins to make evaluations here, by functions.
    pub(crate) fn begin_work(&self) -> Result<()> {
        self.begin(|| {
            let new =
                self.with(|found| Ok(Worker::new(found.store.clone(), found.layout.clone())?))?;
            Ok(Work::Functions(Arc::new(new)))
        })
    }

    /// Begins to make evaluations as processes and jobs.
    pub(crate) fn begin_jobs(&self) -> Result<()> {
        self.begin(|| Ok(Work::Jobs(None)))
    }

    /// By this, others see that this program waits for processes and jobs.
    pub(crate) fn show_life(&self, sign: SignOfLife) {
        if let Some(Work::Jobs(shown)) = &mut *lock(&self.work) {
            *shown = Some(sign);
        }
    }

    fn begin(&self, new: impl FnOnce() -> Result<Work>) -> Result<()> {
        self.check_process()?;
        let mut work = lock(&self.work);
        if work.is_some() {
            return Err(Failure::Refused("the study is being run already".to_owned()));
        }
        *work = Some(new()?);
        Ok(())
    }

    /// Gives back what was not finished.
    pub(crate) fn end_work(&self) -> Result<()> {
        self.check_process()?;
        match lock(&self.work).take() {
            Some(Work::Functions(worker)) => Ok(worker.release_all()?),
            // What still runs goes on, and is found again by its leases.
            Some(Work::Jobs(_)) | None => Ok(()),
        }
    }

    /// Closes the study. Refused while it is being run.
    pub(crate) fn close(&self) -> Result<()> {
        self.check_process()?;
        if lock(&self.work).is_some() {
            let reason = "the study is being run; it can be closed once the run has ended";
            return Err(Failure::Refused(reason.to_owned()));
        }
        drop(lock(&self.found).take());
        Ok(())
    }

    /// Called in a process that was just forked off: nothing here is its own.
    pub(crate) fn forget(&self) {
        if let Ok(mut work) = self.work.try_lock() {
            match work.take() {
                Some(Work::Functions(worker)) => {
                    worker.forget();
                    std::mem::forget(worker);
                }
                Some(Work::Jobs(sign)) => sign.iter().for_each(SignOfLife::forget),
                None => {}
            }
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
