//! What an attempt runs: the command with its values, its surroundings and its limits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unyoke::Design;

use crate::error::{Error, Result};
use crate::study_file::ObjectiveRun;

/// Between asking a command to stop and making it.
const GRACE: Duration = Duration::from_secs(5);

/// One attempt at one evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The evaluation, as numbered by the study.
    pub evaluation: u64,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// The objective to measure.
    pub objective: String,
    /// Where to measure it.
    pub design: Design,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where to run it; absolute.
    pub directory: PathBuf,
    /// Variables of its environment, beside the inherited ones.
    pub env: BTreeMap<String, String>,
    /// After which it is stopped.
    pub timeout: Option<Duration>,
    /// Time to end by itself when it is stopped, before it is killed.
    pub grace: Duration,
}

impl Spec {
    /// The attempt that measures an objective as the study file says, at a design.
    pub fn new(run: &ObjectiveRun, design: &Design, evaluation: u64, attempt: u32) -> Result<Self> {
        let no_command = || Error::NoCommand { objective: run.objective.clone() };
        let command = run.command.as_ref().ok_or_else(no_command)?;
        Ok(Self {
            evaluation,
            attempt,
            objective: run.objective.clone(),
            design: design.clone(),
            argv: command.fill(design)?,
            directory: run.directory.clone(),
            env: run.env.clone(),
            timeout: run.timeout,
            grace: GRACE,
        })
    }

    /// What the command reads about the design.
    pub(super) fn design_file(&self) -> DesignFile<'_> {
        let Self { evaluation, attempt, objective, design, .. } = self;
        DesignFile { evaluation: *evaluation, attempt: *attempt, objective, design }
    }

    /// What the supervisor is told.
    pub(super) fn order(&self) -> Order {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Order {
            format: Order::FORMAT,
            evaluation: self.evaluation,
            attempt: self.attempt,
            argv: self.argv.clone(),
            directory: self.directory.clone(),
            env: self.variables(),
            // A limit below a millisecond is a limit nevertheless.
            timeout_ms: self.timeout.map(|timeout| milliseconds(timeout).max(1)),
            grace_ms: milliseconds(self.grace),
        }
    }

    /// The user's variables and ours, except those that are paths.
    fn variables(&self) -> BTreeMap<String, String> {
        let own = [
            ("UNYOKE_EVALUATION", self.evaluation.to_string()),
            ("UNYOKE_ATTEMPT", self.attempt.to_string()),
            ("UNYOKE_OBJECTIVE", self.objective.clone()),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value));
        self.env.clone().into_iter().chain(parameter_variables(&self.design)).chain(own).collect()
    }
}

/// `UNYOKE_PARAM_NAME` for each parameter. Where several would have the same variable none has:
/// a command that reads it should fail, not take one for the other.
fn parameter_variables(design: &Design) -> impl Iterator<Item = (String, String)> {
    let mut variables: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (name, value) in design.iter() {
        let value = Some(value.to_string());
        variables.entry(variable(name)).and_modify(|both| *both = None).or_insert(value);
    }
    variables.into_iter().filter_map(|(name, value)| Some((name, value?)))
}

fn variable(parameter: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    format!("UNYOKE_PARAM_{}", parameter.chars().map(letter).collect::<String>())
}

/// What was to be measured, as `design.json` and `exit.json` say it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Asked {
    pub(super) objective: String,
    pub(super) design: Design,
}

/// `design.json`.
#[derive(Debug, Serialize)]
pub(super) struct DesignFile<'a> {
    evaluation: u64,
    attempt: u32,
    objective: &'a str,
    design: &'a Design,
}

/// `command.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) format: u32,
    pub(super) evaluation: u64,
    pub(super) attempt: u32,
    pub(super) argv: Vec<String>,
    pub(super) directory: PathBuf,
    pub(super) env: BTreeMap<String, String>,
    pub(super) timeout_ms: Option<u64>,
    grace_ms: u64,
}

impl Order {
    /// The newest form of `command.json`, in which this version writes.
    pub(super) const FORMAT: u32 = 1;

    /// Time to end by itself.
    pub(super) fn grace(&self) -> Duration {
        Duration::from_millis(self.grace_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CommandTemplate;

    fn run() -> ObjectiveRun {
        ObjectiveRun {
            objective: "mass".into(),
            command: Some(CommandTemplate::new(["f", "{x}"]).unwrap()),
            timeout: None,
            retries: 0,
            slots: None,
            directory: "/tmp".into(),
            env: [("UNYOKE_OBJECTIVE", "mine"), ("A", "b")]
                .map(|(k, v)| (k.into(), v.into()))
                .into(),
        }
    }

    #[test]
    fn a_command_gets_values_as_arguments_and_as_variables() {
        let design = Design::new().with("x", 0.5).with("wall thickness", 2);
        let spec = Spec::new(&run(), &design, 7, 1).unwrap();
        assert_eq!(spec.argv, ["f", "0.5"]);
        let order = spec.order();
        let variable = |name: &str| order.env.get(name).map(String::as_str);
        assert_eq!(variable("UNYOKE_PARAM_X"), Some("0.5"));
        assert_eq!(variable("UNYOKE_PARAM_WALL_THICKNESS"), Some("2"));
        assert_eq!(variable("UNYOKE_EVALUATION"), Some("7"));
        assert_eq!(variable("UNYOKE_OBJECTIVE"), Some("mass"), "ours win");
        assert_eq!(variable("A"), Some("b"));
    }

    #[test]
    fn variables_that_would_be_mixed_up_do_not_exist() {
        let design = Design::new().with("t", 1).with("T", 2).with("🦀", 3).with("x", 4);
        let names: Vec<String> = parameter_variables(&design).map(|(name, _)| name).collect();
        assert_eq!(names, ["UNYOKE_PARAM_X", "UNYOKE_PARAM__"]);
    }

    #[test]
    fn an_objective_without_a_command_cannot_be_run() {
        let run = ObjectiveRun { command: None, ..run() };
        let error = Spec::new(&run, &Design::new(), 0, 1).unwrap_err();
        assert!(matches!(error, Error::NoCommand { objective } if objective == "mass"));
    }
}
