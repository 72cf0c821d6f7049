//! The outputs of a study, as the heads of tables name them.

use serde::{Deserialize, Serialize};
use unyoke::{Direction, Evaluation, Journal, Noise, Output, Role, Status, Study};

use crate::words::{self, short};

/// An output, with what is needed to show its predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputView {
    /// Its name.
    pub name: String,
    /// What is wanted of it.
    #[serde(flatten)]
    pub wish: Wish,
    /// The formula of the parameters that it is, if it is one: then it is never measured.
    pub formula: Option<String>,
    /// Whether two measurements at one design agree: it has no noise, and no value came with a standard
    /// error.
    pub deterministic: bool,
    /// How many values there are. With fewer than two, how much it varies is not known.
    pub values: usize,
}

/// What is wanted of an output: one of these is there.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Wish {
    /// For an objective, whether more or less of it is better.
    pub direction: Option<Direction>,
    /// For a constraint, the most that is acceptable.
    pub at_most: Option<f64>,
    /// For a constraint, the least that is acceptable.
    pub at_least: Option<f64>,
}

impl From<Role> for Wish {
    fn from(role: Role) -> Self {
        match role {
            Role::Objective(direction) => Self { direction: Some(direction), ..Self::default() },
            Role::AtMost(limit) => Self { at_most: Some(limit), ..Self::default() },
            Role::AtLeast(limit) => Self { at_least: Some(limit), ..Self::default() },
        }
    }
}

impl Wish {
    /// "minimise", "at most 200".
    pub fn words(&self) -> String {
        match (self.direction, self.at_most, self.at_least) {
            (Some(direction), ..) => words::direction(direction).to_owned(),
            (None, Some(limit), _) => format!("at most {}", short(limit)),
            (None, None, Some(limit)) => format!("at least {}", short(limit)),
            (None, None, None) => String::new(),
        }
    }
}

impl OutputView {
    /// The name with what is wanted of it: "mass (minimise)".
    pub fn title(&self) -> String {
        format!("{} ({})", self.name, self.wish.words())
    }

    /// Whether it is minimised or maximised; otherwise it is a constraint.
    pub fn is_objective(&self) -> bool {
        self.wish.direction.is_some()
    }
}

/// The outputs of a study, in the order of its problem.
pub fn outputs<J: Journal>(study: &Study<J>) -> Vec<OutputView> {
    let view = |(place, output): (usize, &Output)| {
        let readings = || study.evaluations().iter().filter_map(|e| e.reading(place));
        let has_errors = readings().any(|reading| reading.sd.is_some_and(|sd| sd > 0.0));
        OutputView {
            name: output.name.clone(),
            wish: output.role.into(),
            formula: output.formula.clone(),
            deterministic: output.noise == Noise::Deterministic && !has_errors,
            values: readings().count(),
        }
    };
    study.problem().outputs.iter().enumerate().map(view).collect()
}

/// Whether there is any value to predict from.
pub fn has_values<J: Journal>(study: &Study<J>) -> bool {
    let has_value = |e: &Evaluation| matches!(e.status, Status::Completed(_));
    study.evaluations().iter().any(has_value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::{Measurement, Problem};

    #[test]
    fn what_is_wanted_stands_beside_the_name() {
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .output(Output::maximise("lift").noisy())
            .output(Output::at_most("stress", 200.0))
            .output(Output::at_least("life", 1e7))
            .measurement(Measurement::new("run", ["lift", "stress", "life"], 1.0))
            .build()
            .unwrap();
        let shown = outputs(&Study::new(problem).unwrap());
        let titles: Vec<String> = shown.iter().map(OutputView::title).collect();
        assert_eq!(titles, ["lift (maximise)", "stress (at most 200)", "life (at least 1.000e7)"]);
        let objectives: Vec<bool> = shown.iter().map(OutputView::is_objective).collect();
        assert_eq!(objectives, [true, false, false]);
        let json = serde_json::to_value(&shown).unwrap();
        assert_eq!(json[0]["direction"], "maximise");
        assert_eq!((&json[1]["at_most"], &json[1]["direction"]), (&200.0.into(), &().into()));
        assert_eq!(serde_json::from_value::<Vec<OutputView>>(json).unwrap(), shown);
    }
}
