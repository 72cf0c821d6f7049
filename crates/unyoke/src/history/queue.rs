//! Designs that users queue, and evaluations that they skip.

use super::{Change, Evaluation, History, Status};
use crate::design::Design;
use crate::error::{Error, Result};

/// After so many further results, what was skipped may be suggested again.
const SKIPPED_FOR: usize = 5;

/// A design that somebody wants to be measured.
#[derive(Debug, Clone, PartialEq)]
pub struct QueueEntry {
    /// Its number, counting from zero.
    pub entry: u64,
    /// Where to measure.
    pub design: Design,
    /// The name of the measurement to make; without one, whatever the design lacks.
    pub measurement: Option<String>,
    /// Whether it was taken out of the queue.
    pub dropped: bool,
}

impl History {
    /// A new entry of the queue, given that its number is the next one.
    pub(super) fn queued(
        &self,
        entry: u64,
        design: &Design,
        measurement: Option<&str>,
    ) -> Result<Change> {
        if entry != self.queue.len() as u64 {
            return Err(self.nonsense(format!("entry {entry} of the queue is not the next one")));
        }
        if let Some(name) = measurement {
            self.problem.measurement_index(name)?;
        }
        self.space.encode(design)?;
        let measurement = measurement.map(str::to_owned);
        let entry = QueueEntry { entry, design: design.clone(), measurement, dropped: false };
        Ok(Change::Queue { entry })
    }

    /// An entry that is not wanted any more.
    pub(super) fn unqueued(&self, entry: u64) -> Result<Change> {
        let place = usize::try_from(entry).ok().filter(|place| *place < self.queue.len());
        let place = place.ok_or(Error::NotQueued { entry })?;
        match self.queue[place].dropped {
            true => Err(Error::NotQueued { entry }),
            false => Ok(Change::Unqueue { entry: place }),
        }
    }

    /// Withdraws an evaluation, and what the queue still wants at its design.
    pub(super) fn skip(&mut self, index: usize) {
        let evaluation = &mut self.evaluations[index];
        evaluation.status = Status::Withdrawn;
        evaluation.skipped = Some(self.ended.len() as u64);
        if let Some(entry) = evaluation.queued.and_then(|entry| usize::try_from(entry).ok()) {
            self.queue[entry].dropped = true;
        }
    }

    /// Whether an evaluation was skipped not long ago.
    pub(crate) fn is_aside(&self, evaluation: &Evaluation) -> bool {
        let lately = |ended: u64| self.ended.len() < ended as usize + SKIPPED_FOR;
        evaluation.status == Status::Withdrawn && evaluation.skipped.is_some_and(lately)
    }

    /// Points at which a measurement of the output was skipped not long ago.
    pub(crate) fn aside(&self, output: usize) -> impl Iterator<Item = &[f64]> {
        self.points_where(move |e| e.outputs.contains(&output) && self.is_aside(e))
    }

    /// Whether an evaluation of this entry was asked for and not withdrawn.
    pub(crate) fn was_handed_out(&self, entry: u64) -> bool {
        let mut own = self.evaluations.iter().filter(|e| e.queued == Some(entry));
        own.any(|e| e.status != Status::Withdrawn)
    }
}
