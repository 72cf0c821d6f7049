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
                let chosen = self.lacking_measurements(&x, |e| e.status.counts());
                Ok(self.needed(chosen.unwrap_or_default(), &x))
            }
        }
    }

    /// Those of the chosen measurements without which something would be lacking: a cheap one may have been
    /// chosen before one that gives the same and more.
    fn needed(&self, mut chosen: Vec<usize>, x: &[f64]) -> Vec<usize> {
        let history = self.history;
        let is_here = |id: u64| history.space.same(history.point(id), x);
        let here = history.evaluations.iter().filter(|e| e.status.counts() && is_here(e.id));
        let known: Vec<usize> = here.flat_map(|e| e.outputs.iter().copied()).collect();
        for m in chosen.clone() {
            let others = chosen.iter().filter(|other| **other != m);
            let given: Vec<usize> =
                others.flat_map(|other| self.problem().outputs_of(*other)).collect();
            let outputs = self.problem().outputs_of(m);
            if outputs.iter().all(|k| given.contains(k) || known.contains(k)) {
                chosen.retain(|other| *other != m);
            }
        }
        chosen
    }
}
