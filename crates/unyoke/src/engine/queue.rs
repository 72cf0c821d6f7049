//! Designs of users' own, which come before anything is searched for.

use super::Engine;
use crate::error::Result;
use crate::history::QueueEntry;
use crate::plan::{Allowed, is_payable};
use crate::suggestion::{Origin, Suggestion};

impl Engine<'_> {
    /// The first measurement for which the queue waits and that is allowed now. Others stay queued.
    pub(super) fn next_queued(&self, allowed: Allowed<'_>) -> Result<Option<Suggestion>> {
        for queued in &self.history.queue {
            let x = self.history.space.encode(&queued.design)?;
            if !self.within.has_held(&x) {
                continue;
            }
            for m in self.awaited_by(queued)? {
                let most = allowed(&[m]).most();
                if most.is_some_and(|most| self.price(&[m], &x).is_ok_and(|p| is_payable(p, most)))
                {
                    let given = self.given_at(queued.design.clone(), m, Origin::Queued)?;
                    return Ok(Some(Suggestion { queued: Some(queued.entry), ..given }));
                }
            }
        }
        Ok(None)
    }

    /// The measurements that an entry of the queue still waits for, by their places.
    pub(crate) fn awaited_by(&self, queued: &QueueEntry) -> Result<Vec<usize>> {
        if queued.dropped {
            return Ok(vec![]);
        }
        match &queued.measurement {
            Some(_) if self.history.was_handed_out(queued.entry) => Ok(vec![]),
            Some(name) => Ok(vec![self.problem().measurement_index(name)?]),
            None => {
                let x = self.history.space.encode(&queued.design)?;
                Ok(self.lacking_measurements(&x, |e| e.status.counts()).unwrap_or_default())
            }
        }
    }
}
