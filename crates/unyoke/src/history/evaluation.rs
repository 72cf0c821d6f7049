//! One evaluation, and what became of it.

use crate::design::Design;
use crate::reading::{Reading, Results};

/// One design, one measurement, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Its number, counting from zero.
    pub id: u64,
    /// The design, as it was suggested or as it was really made.
    pub design: Design,
    /// Which measurement, by its place in the problem; `None` for results from elsewhere.
    pub measurement: Option<usize>,
    /// The outputs it gives, by their places in the problem.
    pub outputs: Vec<usize>,
    /// What it was expected to cost when it was asked for; 0 for results from elsewhere.
    pub cost: f64,
    /// What it really cost, where that is known.
    pub paid: Option<f64>,
    /// What failed attempts before this one really cost.
    pub sunk: f64,
    /// How often it was made pending again after it had failed.
    pub retried: u32,
    /// Whether it belongs to the first designs, chosen without a model.
    pub initial: bool,
    /// If it was made to see what is true of a recommended design: how many records the journal had when
    /// that was recommended.
    pub confirms: Option<u64>,
    /// If its design was in the queue: the entry.
    pub queued: Option<u64>,
    /// Whether it was asked for; otherwise its results come from elsewhere.
    pub asked: bool,
    /// If it was skipped: how many evaluations had ended by then.
    pub skipped: Option<u64>,
    /// What became of it.
    pub status: Status,
    /// What was recorded of it before it was corrected or retracted, oldest first.
    pub superseded: Vec<Superseded>,
}

/// What was recorded of an evaluation, and does not hold any more.
#[derive(Debug, Clone, PartialEq)]
pub struct Superseded {
    /// What was said to have become of it.
    pub status: Status,
    /// What it was said to have cost.
    pub paid: Option<f64>,
    /// Where it was said to have been made.
    pub design: Design,
}

impl Evaluation {
    /// Everything that was ever recorded of what became of it: what holds now, then what held before
    /// it was corrected or retracted, latest first.
    pub fn recorded(&self) -> impl Iterator<Item = &Status> {
        let earlier = self.superseded.iter().rev().map(|superseded| &superseded.status);
        std::iter::once(&self.status).chain(earlier)
    }

    /// What has been paid for it so far. A failure costs as much as a success, and so does a value that
    /// was retracted.
    pub fn spent(&self) -> f64 {
        let current = match self.status {
            Status::Pending | Status::Withdrawn => 0.0,
            _ => self.paid.unwrap_or(self.cost),
        };
        self.sunk + current
    }

    /// Whether it was chosen because of what it is worth.
    pub fn is_searched(&self) -> bool {
        self.asked && !self.initial && self.confirms.is_none() && self.queued.is_none()
    }

    /// What was measured of an output, if anything.
    pub fn reading(&self, output: usize) -> Option<Reading> {
        match &self.status {
            Status::Completed(results) => results.get(output),
            _ => None,
        }
    }

    /// Whether it ended without a value of this output, which it should have given.
    pub fn lacks(&self, output: usize) -> bool {
        let ended = match &self.status {
            Status::Completed(results) => results.get(output).is_none(),
            Status::Failed(_) => true,
            Status::Pending | Status::Withdrawn | Status::Retracted(_) => false,
        };
        ended && self.outputs.contains(&output)
    }
}

/// What became of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub enum Status {
    /// Its result is awaited.
    Pending,
    /// It gave these values.
    Completed(Results),
    /// It ended without a result, for this reason.
    Failed(String),
    /// It will not be made.
    Withdrawn,
    /// It was made, but what came out does not count, for this reason if somebody said why.
    Retracted(Option<String>),
}

impl Status {
    /// The status in a word, as in "is recorded as failed".
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Withdrawn => "withdrawn",
            Self::Retracted(_) => "retracted",
        }
    }

    /// Whether the evaluation was made and came to an end, whatever counts of it.
    pub fn has_ended(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Failed(_) | Self::Retracted(_))
    }

    /// Whether it counts for what to evaluate next: neither withdrawn nor retracted.
    pub fn counts(&self) -> bool {
        !matches!(self, Self::Withdrawn | Self::Retracted(_))
    }
}
