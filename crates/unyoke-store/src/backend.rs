//! What every kind of store can do. The meaning of each method is told at [`Store`](crate::Store).

use std::fmt::Debug;
use std::time::Duration;
use unyoke::Record;

use crate::error::Result;
use crate::lease::{LateResult, Lease, LeaseStatus};

/// What is to be claimed, by whom and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Claim<'a> {
    /// Candidates in order of preference, each once.
    pub(crate) evaluations: &'a [u64],
    /// How many of them.
    pub(crate) most: usize,
    pub(crate) owner: &'a str,
    pub(crate) ttl: Duration,
}

/// What appending records does to the leases of whoever appends them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects {
    pub(crate) owner: String,
    pub(crate) ttl: Duration,
    /// Evaluations that are claimed.
    pub(crate) asked: Vec<u64>,
    /// Evaluations of which the owner's lease, if any, is given back.
    pub(crate) settled: Vec<u64>,
}

impl Effects {
    /// What is to be claimed, if anything.
    pub(crate) fn claim(&self) -> Claim<'_> {
        let (evaluations, most) = (self.asked.as_slice(), self.asked.len());
        Claim { evaluations, most, owner: &self.owner, ttl: self.ttl }
    }
}

/// A journal with leases. Handles share what they hold, hence `&self` throughout.
pub(crate) trait Backend: Debug {
    /// The records from position `from` on.
    fn read(&self, from: u64) -> Result<Vec<Record>> {
        self.read_at_most(from, usize::MAX)
    }

    /// The records from position `from` on, at most so many.
    fn read_at_most(&self, from: u64, most: usize) -> Result<Vec<Record>>;

    /// Adds the records if there are exactly `at` so far, or else nothing. In the same step, claims
    /// and releases what `effects` says, and returns the new leases.
    fn append_with(&self, at: u64, records: &[Record], effects: &Effects) -> Result<Vec<Lease>>;

    /// Leases of the first `most` evaluations that no live lease covers.
    fn claim(&self, claim: &Claim<'_>) -> Result<Vec<Lease>>;

    /// Makes those of the leases that are still the last ones of their evaluations last `ttl` from
    /// now, and returns the others.
    fn renew(&self, leases: &[Lease], ttl: Duration) -> Result<Vec<Lease>>;

    /// Ends the lease if it is still the last one of its evaluation.
    fn release(&self, lease: &Lease) -> Result<()>;

    /// Makes `owner` hold a lease in the place of another, if that is still the last one of its
    /// evaluation and was not given back.
    fn take_over(&self, lease: &Lease, owner: &str, ttl: Duration) -> Result<Option<Lease>>;

    /// Ends all leases of an owner, at once.
    fn release_owner(&self, owner: &str) -> Result<()>;

    /// The last lease of each evaluation that was ever claimed, by evaluation.
    fn leases(&self) -> Result<Vec<LeaseStatus>>;

    /// Keeps a result which does not count.
    fn keep_late(&self, late: &LateResult) -> Result<()>;

    /// What was kept, oldest first.
    fn late(&self) -> Result<Vec<LateResult>>;
}
