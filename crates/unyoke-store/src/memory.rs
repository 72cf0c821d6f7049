//! A store that lasts as long as the program: for tests, and for studies nobody needs to keep.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unyoke::{Journal, JournalError, MemoryJournal, Record};

use crate::backend::{Backend, Claim, Effects};
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

    fn append_with(&self, at: u64, records: &[Record], effects: &Effects) -> Result<Vec<Lease>> {
        let mut rest = self.rest();
        self.journal.clone().append(at, records).map_err(refusal)?;
        for evaluation in &effects.settled {
            let last = rest.leases.get_mut(evaluation);
            if let Some(last) = last.filter(|last| last.lease.owner == effects.owner) {
                last.expires = None;
            }
        }
        Ok(claim(&mut rest, self.clock.now(), &effects.claim()))
    }

    fn claim(&self, wanted: &Claim<'_>) -> Result<Vec<Lease>> {
        Ok(claim(&mut self.rest(), self.clock.now(), wanted))
    }

    fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>> {
        let (mut rest, now) = (self.rest(), self.clock.now());
        let expires = Some(now.saturating_add(microseconds(ttl)));
        let mut lost = leases.to_vec();
        lost.retain(|lease| match held(&mut rest, lease) {
            Some(last) => {
                last.expires = expires;
                false
            }
            None => true,
        });
        Ok(lost)
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        if let Some(last) = held(&mut self.rest(), lease) {
            last.expires = None;
        }
        Ok(())
    }

    fn take_over(&self, lease: &Lease, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        let (mut rest, now) = (self.rest(), self.clock.now());
        let Some(last) = held(&mut rest, lease) else { return Ok(None) };
        last.lease.attempt = last.lease.attempt.saturating_add(1);
        last.lease.owner = owner.to_owned();
        last.expires = Some(now.saturating_add(microseconds(ttl)));
        Ok(Some(last.lease.clone()))
    }

    fn release_owner(&self, owner: &str) -> Result<()> {
        for last in self.rest().leases.values_mut().filter(|last| last.lease.owner == owner) {
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

/// Claims, at microsecond `now`, what is free.
fn claim(rest: &mut Rest, now: i64, wanted: &Claim<'_>) -> Vec<Lease> {
    let expires = Some(now.saturating_add(microseconds(wanted.ttl)));
    let is_free = |evaluation: &u64| {
        let last = rest.leases.get(evaluation).and_then(|last| last.expires);
        last.is_none_or(|expires| expires <= now)
    };
    let free = wanted.evaluations.iter().copied().filter(is_free).take(wanted.most);
    let free: Vec<u64> = free.collect();
    let mut take = |evaluation: u64| {
        let last = rest.leases.get(&evaluation).map_or(0, |last| last.lease.attempt);
        let (attempt, owner) = (last.saturating_add(1), wanted.owner.to_owned());
        let lease = Lease { evaluation, attempt, owner };
        rest.leases.insert(evaluation, Claimed { lease: lease.clone(), expires });
        lease
    };
    free.into_iter().map(&mut take).collect()
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
