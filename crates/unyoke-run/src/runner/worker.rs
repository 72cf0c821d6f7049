//! A program that makes evaluations by itself, without commands: its leases, kept alive until it is
//! done with them. What it makes next is decided by [`Limits`](super::Limits) and the study.

use tempfile::TempDir;
use unyoke_store::{LeaseStatus, Store};

use super::LEASE_TIME;
use super::heartbeat::Heartbeat;
use super::owner::{self, BY_HAND, Owner};
use crate::error::{Error, Result};
use crate::process::Layout;

/// Who makes evaluations of a study in this program. Others leave alone what it has claimed, and see
/// at once, on this machine, that it is gone.
#[derive(Debug)]
pub struct Worker {
    store: Store,
    layout: Layout,
    owner: Owner,
    heartbeat: Heartbeat,
    /// Where there is no folder to share with others.
    _folder: Option<TempDir>,
}

impl Worker {
    /// A worker on the study in `store`. `layout` is the folder in which programs on this machine see
    /// each other; without it, what a killed worker had claimed is free after [`LEASE_TIME`].
    pub fn new(store: Store, layout: Option<Layout>) -> Result<Self> {
        let (layout, folder) = match layout {
            Some(layout) => (layout, None),
            None => {
                let folder = tempfile::tempdir().map_err(Error::io(std::env::temp_dir()))?;
                (Layout::new(folder.path()), Some(folder))
            }
        };
        layout.prepare()?;
        let (owner, heartbeat) = (Owner::new(&layout)?, Heartbeat::new(store.clone(), LEASE_TIME)?);
        Ok(Self { store, layout, owner, heartbeat, _folder: folder })
    }

    /// The name of its leases.
    pub fn name(&self) -> &str {
        &self.owner.name
    }

    /// Claims an evaluation. False if somebody else works on it.
    pub fn claim(&self, evaluation: u64) -> Result<bool> {
        let lease = self.store.claim(evaluation, self.name(), LEASE_TIME)?;
        Ok(lease.map(|lease| self.heartbeat.keep(lease)).is_some())
    }

    /// Claims one of these evaluations that nobody works on, or not any more. `None` if there is none.
    pub fn take_up(&self, evaluations: &[u64]) -> Result<Option<u64>> {
        if evaluations.is_empty() {
            return Ok(None);
        }
        let taken = match owner::take_over(&self.layout, &self.store, evaluations, self.name())? {
            None => self.store.claim_free(evaluations, 1, self.name(), LEASE_TIME)?.pop(),
            taken => taken,
        };
        let Some(lease) = taken else { return Ok(None) };
        let evaluation = lease.evaluation;
        self.heartbeat.keep(lease);
        Ok(Some(evaluation))
    }

    /// Gives an evaluation back: it has ended, or others may make it.
    pub fn release(&self, evaluation: u64) -> Result<()> {
        self.heartbeat.release(evaluation)
    }

    /// The evaluations that people make by hand.
    pub fn by_hand(&self) -> Result<Vec<u64>> {
        let is_by_hand = |held: &LeaseStatus| held.is_live() && held.lease.owner == BY_HAND;
        let leases = self.store.leases()?.into_iter().filter(is_by_hand);
        Ok(leases.map(|held| held.lease.evaluation).collect())
    }

    /// Gives back all that it has claimed.
    pub fn release_all(&self) -> Result<()> {
        Ok(self.store.release_owner(self.name())?)
    }

    /// For a process that was forked off this one, in which nothing else may be done with a worker, not
    /// even dropping it: lets go of the sign of life, which would otherwise outlast this process.
    pub fn forget(&self) {
        self.owner.sign_of_life().forget();
    }
}
