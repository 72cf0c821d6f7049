//! A store that lasts as long as the program: for tests, and for studies nobody needs to keep.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unyoke::{Journal, JournalError, MemoryJournal, Record};

use crate::backend::{Backend, Claim, Effects};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::lease::{LateResult, Lease, LeaseStatus};
use crate::lease_table::{self, LastLease, LeaseTable};

/// Everything in memory. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    journal: MemoryJournal,
    rest: Arc<Mutex<Rest>>,
    clock: Clock,
}

#[derive(Debug, Default)]
struct Rest {
    leases: LeaseTable,
    late: Vec<LateResult>,
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
    fn read_at_most(&self, from: u64, most: usize) -> Result<Vec<Record>> {
        let mut records = self.journal.read(from).map_err(refusal)?;
        records.truncate(most);
        Ok(records)
    }

    fn append_with(&self, at: u64, records: &[Record], effects: &Effects) -> Result<Vec<Lease>> {
        let mut rest = self.rest();
        self.journal.clone().append(at, records).map_err(refusal)?;
        let changes = rest.leases.effects(self.clock.now(), effects);
        let claimed = changes.iter().filter(|last| last.expires.is_some()).cloned().collect();
        set(&mut rest, changes);
        Ok(lease_table::leases(claimed))
    }

    fn claim(&self, wanted: &Claim<'_>) -> Result<Vec<Lease>> {
        let mut rest = self.rest();
        let claims = rest.leases.claims(self.clock.now(), wanted);
        set(&mut rest, claims.clone());
        Ok(lease_table::leases(claims))
    }

    fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>> {
        let mut rest = self.rest();
        let (kept, expires) = (rest.leases.kept(leases), lease_table::end(self.clock.now(), ttl));
        for Lease { evaluation, attempt, .. } in kept {
            rest.leases.set_end(evaluation, attempt, expires);
        }
        Ok(rest.leases.lost(leases))
    }

    fn release(&self, lease: &Lease) -> Result<()> {
        let mut rest = self.rest();
        let released = rest.leases.release(lease);
        set(&mut rest, released);
        Ok(())
    }

    fn take_over(&self, lease: &Lease, owner: &str, ttl: Duration) -> Result<Option<Lease>> {
        let mut rest = self.rest();
        let expires = lease_table::end(self.clock.now(), ttl);
        let taken = rest.leases.take_over(lease, owner, expires);
        set(&mut rest, taken.clone());
        Ok(taken.map(|last| last.lease))
    }

    fn release_owner(&self, owner: &str) -> Result<()> {
        let mut rest = self.rest();
        let released = rest.leases.release_owner(owner);
        set(&mut rest, released);
        Ok(())
    }

    fn leases(&self) -> Result<Vec<LeaseStatus>> {
        Ok(self.rest().leases.statuses(self.clock.now()))
    }

    fn keep_late(&self, late: &LateResult) -> Result<()> {
        self.rest().late.push(late.clone());
        Ok(())
    }

    fn late(&self) -> Result<Vec<LateResult>> {
        Ok(self.rest().late.clone())
    }
}

fn set(rest: &mut Rest, changes: impl IntoIterator<Item = LastLease>) {
    changes.into_iter().for_each(|last| rest.leases.set(last));
}

fn refusal(error: JournalError) -> Error {
    match error {
        JournalError::Conflict { expected, found } => Error::Conflict { expected, found },
        JournalError::Format { found, known } => Error::NewerRecord { found, known },
        other => Error::Failed { location: "memory".into(), reason: other.to_string() },
    }
}
