//! Who works on what, by the leases of a study and the folders of its attempts.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use unyoke_store::{LeaseStatus, Store};

use super::owner::is_gone;
use crate::error::Result;
use crate::process::{Layout, job_of};

/// Who works on an evaluation.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Working {
    /// `None` if it is orphaned.
    pub owner: Option<String>,
    /// Which attempt this is, counting from 1.
    pub attempt: u32,
    /// Since when its command runs on this machine, in seconds since the beginning of 1970, UTC.
    pub since: Option<u64>,
    /// The name of its job and what the scheduler said of it last, where it is one.
    pub job: Option<String>,
}

/// Who works on each evaluation that was ever claimed, by its number.
pub fn working(layout: &Layout, store: &Store) -> Result<BTreeMap<u64, Working>> {
    let has_owner = |status: &LeaseStatus| {
        status.is_live() && !is_gone(layout, &status.lease.owner).unwrap_or(false)
    };
    let working = |status: LeaseStatus| {
        let owner = has_owner(&status).then(|| status.lease.owner.clone());
        let (evaluation, attempt) = (status.lease.evaluation, status.lease.attempt);
        let since = owner.as_ref().and_then(|_| begun(layout, evaluation));
        let job = job_of(layout, evaluation);
        (evaluation, Working { owner, attempt, since, job })
    };
    Ok(store.leases()?.into_iter().map(working).collect())
}

/// When the last attempt at an evaluation began, if that was on this machine.
fn begun(layout: &Layout, evaluation: u64) -> Option<u64> {
    let attempt = layout.attempts(evaluation).ok()?.pop()?;
    let written = layout.attempt(evaluation, attempt).join("command.json").metadata().ok()?;
    let begun = written.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    Some(begun.as_secs())
}
