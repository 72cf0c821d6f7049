//! The objectives of a study, as the heads of tables name them.

use serde::{Deserialize, Serialize};
use unyoke::{Direction, Evaluation, Journal, Noise, Status, Study};

use crate::words;

/// An objective, with what is needed to show its predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ObjectiveView {
    /// Its name.
    pub name: String,
    /// Whether more or less of it is better.
    pub direction: Direction,
    /// Whether two measurements at one design agree.
    pub deterministic: bool,
    /// How many values there are. With fewer than two, how much it varies is not known.
    pub values: usize,
}

impl ObjectiveView {
    /// The name with the direction: "mass (minimise)".
    pub fn title(&self) -> String {
        format!("{} ({})", self.name, words::direction(self.direction))
    }
}

/// The objectives of a study, in the order of its problem.
pub fn objectives<J: Journal>(study: &Study<J>) -> Vec<ObjectiveView> {
    let view = |(place, objective): (usize, &unyoke::Objective)| ObjectiveView {
        name: objective.name.clone(),
        direction: objective.direction,
        deterministic: objective.noise == Noise::Deterministic,
        values: study.evaluations().iter().filter(|e| e.objective == place && has_value(e)).count(),
    };
    study.problem().objectives.iter().enumerate().map(view).collect()
}

/// Whether there is any value to predict from.
pub fn has_values<J: Journal>(study: &Study<J>) -> bool {
    study.evaluations().iter().any(has_value)
}

fn has_value(evaluation: &Evaluation) -> bool {
    matches!(evaluation.status, Status::Told(_))
}
