//! Leases: who works on which evaluation, for how long, and which attempt it is.

use std::time::Duration;

use crate::error::{Error, Result};

/// The right to work on one evaluation, for a while.
///
/// Not the owner but the attempt tells leases of an evaluation apart: it grows with each of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Lease {
    /// The evaluation.
    pub evaluation: u64,
    /// How often the evaluation has been claimed, this time included.
    pub attempt: u32,
    /// Who claimed it.
    pub owner: String,
}

/// The last lease of an evaluation and what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseStatus {
    /// The lease.
    pub lease: Lease,
    /// What became of it.
    pub state: LeaseState,
}

/// What became of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseState {
    /// It holds: nobody else can claim the evaluation.
    Live {
        /// For how long, unless it is renewed.
        remaining: Duration,
    },
    /// Its time is over and nobody has claimed the evaluation since.
    Expired,
    /// Its owner gave it back.
    Released,
}

impl LeaseStatus {
    /// Whether the lease holds.
    pub fn is_live(&self) -> bool {
        matches!(self.state, LeaseState::Live { .. })
    }
}

/// A result that came after its evaluation was settled: kept, never counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LateResult {
    /// The evaluation.
    pub evaluation: u64,
    /// The attempt it is from.
    pub attempt: u32,
    /// What came out, in the words of whoever kept it.
    pub outcome: String,
}

impl LeaseState {
    /// The state, at microsecond `now`, of a lease that ends at `expires`; `None` if it was
    /// given back.
    pub(crate) fn at(now: i64, expires: Option<i64>) -> Self {
        let left = |expires: i64| u64::try_from(expires.saturating_sub(now)).unwrap_or(0);
        match expires.map(left) {
            None => Self::Released,
            Some(0) => Self::Expired,
            Some(left) => Self::Live { remaining: Duration::from_micros(left) },
        }
    }
}

/// Fails for the one character that PostgreSQL cannot keep, so that all backends agree.
pub(crate) fn check_text(what: &'static str, text: &str) -> Result<()> {
    if text.contains('\0') { Err(Error::BadText { what }) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_at_the_moment_it_expires() {
        let live = LeaseState::Live { remaining: Duration::from_micros(1) };
        assert_eq!(LeaseState::at(9, Some(10)), live);
        assert_eq!(LeaseState::at(10, Some(10)), LeaseState::Expired);
        assert_eq!(LeaseState::at(11, Some(10)), LeaseState::Expired);
        assert_eq!(LeaseState::at(9, None), LeaseState::Released);
    }
}
