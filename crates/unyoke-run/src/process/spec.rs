//! What an attempt runs: the command with its values, its surroundings and its limits.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unyoke::Design;

use crate::error::{Error, Result};
use crate::study_file::MeasurementRun;

/// Between asking a command to stop and making it.
const GRACE: Duration = Duration::from_secs(5);

/// One attempt at one evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// The evaluation, as numbered by the study.
    pub evaluation: u64,
    /// Which attempt at it, from 1.
    pub attempt: u32,
    /// How often the evaluation was made pending again before this attempt, after it had failed.
    pub retry: u32,
    /// The measurement to make.
    pub measurement: String,
    /// The outputs that it gives.
    pub outputs: Vec<String>,
    /// The design at which to make it.
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

/// When a command is stopped: when the study file says so, or a little before a scheduler would do it,
/// who would leave nobody to say why.
fn timeout(run: &MeasurementRun) -> Option<Duration> {
    let limit = run.executor.time_limit().map(|limit| {
        let margin = (limit / 20).clamp(Duration::from_secs(10), Duration::from_secs(60));
        limit - margin.min(limit / 2)
    });
    run.timeout.into_iter().chain(limit).min()
}

impl Spec {
    /// The attempt that makes a measurement as the study file says, at a design.
    pub fn new(
        run: &MeasurementRun,
        design: &Design,
        evaluation: u64,
        attempt: u32,
    ) -> Result<Self> {
        let no_command = || Error::NoCommand { measurement: run.measurement.clone() };
        let command = run.command.as_ref().ok_or_else(no_command)?;
        Ok(Self {
            evaluation,
            attempt,
            retry: 0,
            measurement: run.measurement.clone(),
            outputs: run.outputs.clone(),
            design: design.clone(),
            argv: command.fill(design)?,
            directory: run.directory.clone(),
            env: run.env.clone(),
            timeout: timeout(run),
            grace: GRACE,
        })
    }

    /// What the command reads about the design.
    pub(super) fn design_file(&self) -> DesignFile<'_> {
        DesignFile {
            evaluation: self.evaluation,
            attempt: self.attempt,
            retry: self.retry,
            measurement: &self.measurement,
            outputs: &self.outputs,
            objective: self.only_output(),
            design: &self.design,
        }
    }

    /// What a measurement of one output was called before there were others.
    fn only_output(&self) -> Option<&str> {
        match &self.outputs[..] {
            [only] => Some(only),
            _ => None,
        }
    }

    /// What the supervisor is told.
    pub(super) fn order(&self) -> Order {
        let milliseconds = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        Order {
            format: Order::FORMAT,
            evaluation: self.evaluation,
            attempt: self.attempt,
            outputs: self.outputs.clone(),
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
            ("UNYOKE_MEASUREMENT", self.measurement.clone()),
            ("UNYOKE_OUTPUTS", self.outputs.join(",")),
        ];
        let only = self.only_output().map(|only| ("UNYOKE_OBJECTIVE", only.to_owned()));
        let own = own.into_iter().chain(only).map(|(name, value)| (name.to_owned(), value));
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
#[serde(try_from = "WrittenAsked")]
pub(super) struct Asked {
    pub(super) measurement: String,
    pub(super) design: Design,
    /// How often the evaluation had been made pending again.
    pub(super) retry: u32,
}

/// The same in any version: once, each objective was measured alone, by its name.
#[derive(Deserialize)]
struct WrittenAsked {
    measurement: Option<String>,
    objective: Option<String>,
    design: Design,
    #[serde(default)]
    retry: u32,
}

impl TryFrom<WrittenAsked> for Asked {
    type Error = &'static str;

    fn try_from(written: WrittenAsked) -> Result<Self, &'static str> {
        let WrittenAsked { measurement, objective, design, retry } = written;
        let measurement = measurement.or(objective).ok_or("does not say what is measured")?;
        Ok(Self { measurement, design, retry })
    }
}

/// `design.json`.
#[derive(Debug, Serialize)]
pub(super) struct DesignFile<'a> {
    evaluation: u64,
    attempt: u32,
    retry: u32,
    measurement: &'a str,
    outputs: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    objective: Option<&'a str>,
    design: &'a Design,
}

/// `command.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) format: u32,
    pub(super) evaluation: u64,
    pub(super) attempt: u32,
    /// What it is to give. Earlier versions did not say it: then it is what `design.json` names.
    #[serde(default)]
    pub(super) outputs: Vec<String>,
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
    use crate::{CommandTemplate, Executor};

    fn run() -> MeasurementRun {
        MeasurementRun {
            measurement: "scales".into(),
            outputs: vec!["mass".into()],
            command: Some(CommandTemplate::new(["f", "{x}"]).unwrap()),
            timeout: None,
            retries: 0,
            slots: None,
            directory: "/tmp".into(),
            env: [("UNYOKE_OBJECTIVE", "mine"), ("A", "b")]
                .map(|(k, v)| (k.into(), v.into()))
                .into(),
            executor: Executor::Local,
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
        assert_eq!(variable("UNYOKE_MEASUREMENT"), Some("scales"));
        assert_eq!(variable("UNYOKE_OUTPUTS"), Some("mass"));
        assert_eq!(variable("UNYOKE_OBJECTIVE"), Some("mass"), "ours win");
        assert_eq!(variable("A"), Some("b"));
    }

    #[test]
    fn a_measurement_of_several_outputs_is_told_all_of_them() {
        let run = MeasurementRun { outputs: vec!["lift".into(), "drag".into()], ..run() };
        let spec = Spec::new(&run, &Design::new().with("x", 1), 7, 1).unwrap();
        let env = spec.order().env;
        assert_eq!(env["UNYOKE_OUTPUTS"], "lift,drag");
        assert_eq!(env["UNYOKE_OBJECTIVE"], "mine", "there is no single one");
    }

    #[test]
    fn what_earlier_versions_were_asked_is_understood() {
        let read = |text| serde_json::from_str::<Asked>(text).unwrap();
        let asked = read(r#"{"evaluation":7,"objective":"mass","design":{"x":0.5}}"#);
        assert_eq!((asked.measurement.as_str(), asked.retry), ("mass", 0));
        let spec = Spec::new(&run(), &Design::new().with("x", 0.5), 7, 1).unwrap();
        let written = serde_json::to_string(&spec.design_file()).unwrap();
        assert_eq!(read(&written).measurement, "scales");
        assert!(written.contains(r#""objective":"mass""#), "commands may read it: {written}");
    }

    #[test]
    fn variables_that_would_be_mixed_up_do_not_exist() {
        let design = Design::new().with("t", 1).with("T", 2).with("🦀", 3).with("x", 4);
        let names: Vec<String> = parameter_variables(&design).map(|(name, _)| name).collect();
        assert_eq!(names, ["UNYOKE_PARAM_X", "UNYOKE_PARAM__"]);
    }

    #[test]
    fn a_measurement_without_a_command_cannot_be_run() {
        let run = MeasurementRun { command: None, ..run() };
        let error = Spec::new(&run, &Design::new(), 0, 1).unwrap_err();
        assert!(matches!(error, Error::NoCommand { measurement } if measurement == "scales"));
    }
}
