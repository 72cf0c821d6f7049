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
    /// Whether it was asked for; otherwise its results come from elsewhere.
    pub asked: bool,
    /// What became of it.
    pub status: Status,
}

impl Evaluation {
    /// What has been paid for it so far. A failure costs as much as a success.
    pub fn spent(&self) -> f64 {
        let current = match self.status {
            Status::Completed(_) | Status::Failed(_) => self.paid.unwrap_or(self.cost),
            Status::Pending | Status::Withdrawn => 0.0,
        };
        self.sunk + current
    }

    /// Whether it was chosen because of what it is worth.
    pub fn is_searched(&self) -> bool {
        self.asked && !self.initial && self.confirms.is_none()
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
            Status::Pending | Status::Withdrawn => false,
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
}

impl Status {
    /// The status in a word, as in "is recorded as failed".
    pub fn word(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed(_) => "completed",
            Self::Failed(_) => "failed",
            Self::Withdrawn => "withdrawn",
        }
    }
}
