//! What every kind of store can do. The meaning of each method is told at [`Store`](crate::Store).

use std::fmt::Debug;
use std::time::Duration;
use unyoke::Record;

use crate::error::Result;
use crate::lease::{LateResult, Lease, LeaseStatus};

/// A journal with leases. Handles share what they hold, hence `&self` throughout.
pub(crate) trait Backend: Debug {
    /// The records from position `from` on.
    fn read(&self, from: u64) -> Result<Vec<Record>>;

    /// Adds the records if there are exactly `at` so far, or else nothing.
    fn append(&self, at: u64, records: &[Record]) -> Result<()>;

    /// A lease, unless a live one exists.
    fn claim(&self, evaluation: u64, owner: &str, ttl: Duration) -> Result<Option<Lease>>;

    /// Whether the lease is still the last one of its evaluation, in which case it lasts `ttl`
    /// from now.
    fn renew(&self, lease: &Lease, ttl: Duration) -> Result<bool>;

    /// Ends the lease if it is still the last one of its evaluation.
    fn release(&self, lease: &Lease) -> Result<()>;

    /// The last lease of each evaluation that was ever claimed, by evaluation.
    fn leases(&self) -> Result<Vec<LeaseStatus>>;

    /// Keeps a result which does not count.
    fn keep_late(&self, late: &LateResult) -> Result<()>;

    /// What was kept, oldest first.
    fn late(&self) -> Result<Vec<LateResult>>;
}
