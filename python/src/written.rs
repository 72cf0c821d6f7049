//! What Python writes as JSON, and what it stands for.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use unyoke::{Config, Design, Outcome, Problem, Reading, Study};
use unyoke_run::{Budget, RunSettings};
use unyoke_store::Store;

use crate::error::{Failure, Result};
use crate::place::{Beginning, Found};

/// With what a study is begun.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenBeginning {
    problem: Problem,
    /// Settings that are not the default ones.
    config: serde_json::Map<String, Value>,
    seed: u64,
    budget: Option<f64>,
}

/// Reads with what a study is begun.
pub(crate) fn beginning(text: &str) -> Result<Beginning> {
    let WrittenBeginning { problem, config, seed, budget } = serde_json::from_str(text)?;
    let budget = Budget { cost: budget, ..Budget::default() };
    Ok(Beginning { problem, config: with_defaults(config)?, seed, budget })
}

/// Settings with the defaults of new studies where nothing is said. What is not in a journal means
/// something else: the defaults of the time when it was begun.
pub(crate) fn with_defaults(said: serde_json::Map<String, Value>) -> Result<Config> {
    let mut config = serde_json::to_value(Config::default())?;
    if let Value::Object(fields) = &mut config {
        fields.extend(said);
    }
    Ok(serde_json::from_value(config)?)
}

/// What came out of an evaluation.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct WrittenOutcome {
    /// The value of a measurement of one output.
    only: Option<Reading>,
    /// Values by output.
    values: BTreeMap<String, Reading>,
    /// Why there are no others, or none at all.
    missing: Option<String>,
    /// What it really cost.
    pub(crate) cost: Option<f64>,
    /// How long it ran, in seconds.
    pub(crate) seconds: Option<f64>,
    /// The parameters that were not as asked for.
    design: Option<Design>,
}

impl WrittenOutcome {
    /// What is recorded of an evaluation that was to be made at `asked`.
    pub(crate) fn outcome(self, asked: &Design) -> Outcome {
        let mut outcome = match self.only {
            Some(reading) => reading.into(),
            None => Outcome::from(self.values),
        };
        if let Some(reason) = self.missing {
            outcome = outcome.missing(reason);
        }
        if let Some(cost) = self.cost {
            outcome = outcome.cost(cost);
        }
        if let Some(design) = self.design {
            let changed =
                |at: Design, (name, value): (&str, &unyoke::Value)| at.with(name, value.clone());
            outcome = outcome.at(design.iter().fold(asked.clone(), changed));
        }
        outcome
    }
}

/// A value of one output at one design, and the row that it stands in.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenResult {
    row: usize,
    design: Design,
    output: String,
    reading: Reading,
}

/// One value of one output at one design.
type Added = (Design, String, Reading);

/// Reads results from elsewhere. Fails with all that the engine refuses, each with its row.
pub(crate) fn results(text: &str, problem: &Problem) -> Result<Vec<Added>> {
    let written: Vec<WrittenResult> = serde_json::from_str(text)?;
    // Here, values meet the checks of the engine before anything is written down.
    let mut trial = Study::new(problem.clone())?;
    let (mut results, mut mistakes): (Vec<Added>, Vec<String>) = (vec![], vec![]);
    for WrittenResult { row, design, output, reading } in written {
        match trial.tell_result(design.clone(), &output, reading) {
            Ok(_) => results.push((design, output, reading)),
            Err(error) => mistakes.push(format!("row {row}: {error}")),
        }
    }
    match mistakes.is_empty() {
        true => Ok(results),
        false => Err(unyoke::Error::BadValue {
            parameter: "the data".to_owned(),
            value: format!("not valid, and nothing was added:\n{}", mistakes.join("\n")),
            must: "valid in every row".to_owned(),
        }
        .into()),
    }
}

/// What a run may spend, and how many evaluations it makes at once.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenRun {
    budget: Option<f64>,
    evaluations: BTreeMap<String, u64>,
    wall_time: Option<f64>,
    slots: usize,
    /// By measurement.
    slots_of: BTreeMap<String, usize>,
    trials: usize,
    /// The share of the budget that is kept to confirm recommended designs.
    confirm: Option<f64>,
}

impl WrittenRun {
    /// Budget and slots of a run of this study.
    pub(crate) fn settings(self, found: &Found) -> Result<(Budget, RunSettings)> {
        for name in self.evaluations.keys().chain(self.slots_of.keys()) {
            found.study.problem().measurement_index(name)?;
        }
        let budget = Budget {
            cost: self.budget,
            wall_time: self.wall_time.map(seconds).transpose()?,
            evaluations: self.evaluations,
        };
        let mut settings = RunSettings {
            slots: self.slots,
            trials: self.trials,
            confirm: self.confirm,
            ..found.run.clone()
        };
        for run in &mut settings.measurements {
            run.slots = self.slots_of.get(&run.measurement).copied().or(run.slots);
        }
        Ok((budget, settings))
    }
}

/// A length of time.
pub(crate) fn seconds(time: f64) -> Result<Duration> {
    Duration::try_from_secs_f64(time).map_err(|error| Failure::Refused(error.to_string()))
}

/// Budget and slots of a run of this study.
pub(crate) fn run(text: &str, found: &Found) -> Result<(Budget, RunSettings)> {
    serde_json::from_str::<WrittenRun>(text)?.settings(found)
}

/// The design of an evaluation that was asked for.
pub(crate) fn asked_design(study: &Study<Store>, evaluation: u64) -> Result<Design> {
    let index = usize::try_from(evaluation).ok();
    let known = index.and_then(|index| study.evaluations().get(index));
    let unknown = unyoke::Error::UnknownEvaluation { id: evaluation };
    Ok(known.ok_or(unknown)?.design.clone())
}
