//! A store that lasts as long as the program: for tests, and for studies nobody needs to keep.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unyoke::{Journal, JournalError, MemoryJournal, Record};

use crate::backend::Backend;
use crate::clock::{Clock, microseconds};
use crate::error::{Error, Result};
use crate::lease::{LateResult, Lease, LeaseState, LeaseStatus};

/// Everything in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    journal: MemoryJournal,
    rest: Arc<Mutex<Rest>>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Rest {
    leases: BTreeMap<u64, Claimed>,
    late: Vec<LateResult>,
}

/// The last lease of an evaluation.
#[derive(Debug)]
struct Claimed {
    lease: Lease,
    /// Microsecond at which it ends; `None` if it was given back.
    expires: Option<i64>,
}

impl Memory {
    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Backend for Memory {
    fn read(&self, from: u64) -> Result<Vec<Record>> {
        self.journal.read(from).map_err(refusal)
    }

    fn append(&self, at: u64, records: &[Record]) -> Result<()> {
        self.journal.clone().append(at, records).map_err(refusal)
    }

    fn claim(&self, evaluation: u64, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        let (mut rest, now) = (self.rest(), self.clock.now());
        let last = rest.leases.get(&evaluation);
        if last.is_some_and(|last| last.expires.is_some_and(|expires| expires > now)) {
            return Ok(None);
        }
        let attempt = last.map_or(0, |last| last.lease.attempt).saturating_add(1);
        let lease = Lease { evaluation, attempt, owner: owner.to_owned() };
        let expires = Some(now.saturating_add(microseconds(ttl)));
        rest.leases.insert(evaluation, Claimed { lease: lease.clone(), expires });
        Ok(Some(lease))
    }

    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<bool> {
        let (mut rest, now) = (self.rest(), self.clock.now());
        let Some(last) = held(&mut rest, lease) else { return Ok(false) };
        last.expires = Some(now.saturating_add(microseconds(ttl)));
        Ok(true)
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        if let Some(last) = held(&mut self.rest(), lease) {
            last.expires = None;
        }
        Ok(())
    }

    fn leases(&self) -> Result<Vec<LeaseStatus>> {
        let now = self.clock.now();
        let status = |last: &Claimed| LeaseStatus {
            lease: last.lease.clone(),
            state: LeaseState::at(now, last.expires),
        };
        Ok(self.rest().leases.values().map(status).collect())
    }

    fn keep_late(&self, late: &LateResult) -> Result<()> {
        self.rest().late.push(late.clone());
        Ok(())
    }

    fn late(&self) -> Result<Vec<LateResult>> {
        Ok(self.rest().late.clone())
    }
}

/// The lease as it is kept, if it was neither given back nor followed by another.
fn held<'a>(rest: &'a mut Rest, lease: &Lease) -> Option<&'a mut Claimed> {
    let last = rest.leases.get_mut(&lease.evaluation)?;
    (last.lease == *lease && last.expires.is_some()).then_some(last)
}

fn refusal(error: JournalError) -> Error {
    match error {
        JournalError::Conflict { expected, found } => Error::Conflict { expected, found },
        JournalError::Format { found, known } => Error::NewerRecord { found, known },
        other => Error::Failed { location: "memory".into(), reason: other.to_string() },
    }
}
