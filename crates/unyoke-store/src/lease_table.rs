//! The last lease of each evaluation, in memory. What a call would change is worked out first and
//! set afterwards, so that a store can write it down in between.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::backend::{Claim, Effects};
use crate::clock::microseconds;
use crate::lease::{Lease, LeaseState, LeaseStatus};

/// The last lease of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LastLease {
    pub(crate) lease: Lease,
    /// Microsecond at which it ends; `None` if it was given back.
    pub(crate) expires: Option<i64>,
}

impl LastLease {
    fn new(evaluation: u64, attempt: u32, owner: &str, expires: Option<i64>) -> Self {
        Self { lease: Lease { evaluation, attempt, owner: owner.to_owned() }, expires }
    }

    fn released(&self) -> Self {
        Self { lease: self.lease.clone(), expires: None }
    }
}

/// The end of a lease that begins at microsecond `now`.
pub(crate) fn end(now: i64, ttl: Duration) -> i64 {
    now.saturating_add(microseconds(ttl))
}

/// The leases themselves.
pub(crate) fn leases(changes: Vec<LastLease>) -> Vec<Lease> {
    changes.into_iter().map(|last| last.lease).collect()
}

/// The last lease of each evaluation that was ever claimed.
#[derive(Debug, Default)]
pub(crate) struct LeaseTable {
    last: BTreeMap<u64, LastLease>,
}

impl LeaseTable {
    pub(crate) fn set(&mut self, last: LastLease) {
        self.last.insert(last.lease.evaluation, last);
    }

    /// Sets the end of a lease if it is still the last one of its evaluation and was not given back.
    pub(crate) fn set_end(&mut self, evaluation: u64, attempt: u32, expires: i64) {
        if let Some(last) = self.last.get_mut(&evaluation)
            && last.lease.attempt == attempt
            && last.expires.is_some()
        {
            last.expires = Some(expires);
        }
    }

    /// Claims, at microsecond `now`, of what is free.
    pub(crate) fn claims(&self, now: i64, wanted: &Claim<'_>) -> Vec<LastLease> {
        self.claims_beside(now, wanted, &BTreeSet::new())
    }

    /// What is given back and claimed when records are appended.
    pub(crate) fn effects(&self, now: i64, effects: &Effects) -> Vec<LastLease> {
        let settled = effects.settled.iter().filter_map(|evaluation| self.last.get(evaluation));
        let own = settled.filter(|last| last.lease.owner == effects.owner);
        let mut changes: Vec<LastLease> =
            own.filter(|last| last.expires.is_some()).map(LastLease::released).collect();
        let freed = changes.iter().map(|last| last.lease.evaluation).collect();
        changes.extend(self.claims_beside(now, &effects.claim(), &freed));
        changes
    }

    fn claims_beside(&self, now: i64, wanted: &Claim<'_>, freed: &BTreeSet<u64>) -> Vec<LastLease> {
        let is_free = |evaluation: &u64| {
            let last = self.last.get(evaluation).and_then(|last| last.expires);
            freed.contains(evaluation) || last.is_none_or(|expires| expires <= now)
        };
        let expires = Some(end(now, wanted.ttl));
        let claim = |evaluation: u64| {
            let before = self.last.get(&evaluation).map_or(0, |last| last.lease.attempt);
            LastLease::new(evaluation, before.saturating_add(1), wanted.owner, expires)
        };
        let free = wanted.evaluations.iter().copied().filter(is_free);
        free.take(wanted.most).map(claim).collect()
    }

    /// The lease as it is kept, if it was neither given back nor followed by another.
    fn held(&self, lease: &Lease) -> Option<&LastLease> {
        let last = self.last.get(&lease.evaluation)?;
        (last.lease == *lease && last.expires.is_some()).then_some(last)
    }

    /// Those of the leases that are lost.
    pub(crate) fn lost(&self, leases: &[Lease]) -> Vec<Lease> {
        leases.iter().filter(|lease| self.held(lease).is_none()).cloned().collect()
    }

    /// Those of the leases that are not lost.
    pub(crate) fn kept(&self, leases: &[Lease]) -> Vec<Lease> {
        leases.iter().filter(|lease| self.held(lease).is_some()).cloned().collect()
    }

    pub(crate) fn release(&self, lease: &Lease) -> Option<LastLease> {
        self.held(lease).map(LastLease::released)
    }

    pub(crate) fn release_owner(&self, owner: &str) -> Vec<LastLease> {
        let theirs = self.last.values().filter(|last| last.lease.owner == owner);
        theirs.filter(|last| last.expires.is_some()).map(LastLease::released).collect()
    }

    pub(crate) fn take_over(&self, lease: &Lease, owner: &str, expires: i64) -> Option<LastLease> {
        let attempt = self.held(lease)?.lease.attempt.saturating_add(1);
        Some(LastLease::new(lease.evaluation, attempt, owner, Some(expires)))
    }

    /// All of them at microsecond `now`, by evaluation.
    pub(crate) fn statuses(&self, now: i64) -> Vec<LeaseStatus> {
        let status = |last: &LastLease| LeaseStatus {
            lease: last.lease.clone(),
            state: LeaseState::at(now, last.expires),
        };
        self.last.values().map(status).collect()
    }
}
