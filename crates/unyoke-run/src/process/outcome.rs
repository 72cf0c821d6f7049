//! What became of an attempt, and its written form, `exit.json`.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};
use unyoke::{Cost, CostSource, Evaluation, LearnedCost, Problem, Reading, Results, Scale, Status};

use super::spec::Asked;

/// The newest form of `exit.json`, in which this version writes.
const FORMAT: u32 = 2;

/// What became of an attempt that ran to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Outcome {
    /// The evaluation, as numbered by the study.
    pub evaluation: u64,
    /// Which attempt at it.
    pub attempt: u32,
    /// What it measured, or why there is nothing.
    pub result: Result<Measured, Failure>,
    /// What it said it cost.
    pub cost: Option<f64>,
    /// How the process ended.
    pub exit: Exit,
    /// When it started, by the clock on the wall.
    pub started: SystemTime,
    /// When it ended, by the clock on the wall.
    pub ended: SystemTime,
    /// How long it took, by a clock that nobody sets.
    pub duration: Duration,
    /// What it printed.
    pub stdout: Output,
    /// What it complained about.
    pub stderr: Output,
}

/// What a command measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Measured {
    /// Finite values by output, at least one.
    pub values: BTreeMap<String, Reading>,
    /// Why other outputs of the measurement have no value.
    pub missing: Option<String>,
}

impl Measured {
    /// What to record of it in a study of `problem`. A value that its output cannot have is missing.
    pub(crate) fn outcome(&self, problem: &Problem) -> unyoke::Outcome {
        let is_log = |name: &str| {
            let output = problem.output_index(name).ok().and_then(|k| problem.outputs.get(k));
            output.is_some_and(|output| output.scale == Scale::Log)
        };
        let (mut values, mut reasons) = (BTreeMap::new(), Vec::from_iter(self.missing.clone()));
        for (name, reading) in &self.values {
            if is_log(name) && reading.value <= 0.0 {
                let value = reading.value;
                reasons.push(format!("{name} is {value}, but must be positive on a log scale"));
            } else {
                values.insert(name.clone(), *reading);
            }
        }
        let outcome = unyoke::Outcome::from(values);
        match reasons.is_empty() {
            true => outcome,
            false => outcome.missing(reasons.join("; ")),
        }
    }

    /// Whether an evaluation has just these values, or had them before it was corrected or retracted.
    pub(crate) fn is_in(&self, evaluation: &Evaluation, problem: &Problem) -> bool {
        let is_this = |status: &Status| match status {
            Status::Completed(results) => self.are_in(results, problem),
            _ => false,
        };
        evaluation.recorded().any(is_this)
    }

    fn are_in(&self, results: &Results, problem: &Problem) -> bool {
        let same = |(name, reading): (&String, &Reading)| {
            let known = problem.output_index(name).ok().and_then(|output| results.get(output));
            known.is_some_and(|known| known.value.to_bits() == reading.value.to_bits())
        };
        self.values.len() == results.len() && self.values.iter().all(same)
    }
}

/// As in `1.5`, or `lift = 1.2, drag = 0.3 ± 0.05`.
impl std::fmt::Display for Measured {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let is_only = self.values.len() == 1 && self.missing.is_none();
        for (i, (name, Reading { value, sd })) in self.values.iter().enumerate() {
            let comma = if i == 0 { "" } else { ", " };
            let name = if is_only { String::new() } else { format!("{name} = ") };
            let sd = sd.map_or_else(String::new, |sd| format!(" ± {sd}"));
            write!(f, "{comma}{name}{value}{sd}")?;
        }
        Ok(())
    }
}

/// What attempts at an evaluation took, all that ended by themselves together.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Spent {
    /// How long they ran.
    pub(crate) duration: Duration,
    /// What they said they cost.
    pub(crate) cost: Option<f64>,
}

impl Spent {
    /// Adds an attempt, unless it was stopped or never began.
    pub(crate) fn add(&mut self, outcome: &Outcome) {
        let is_spent = |failure: &Failure| *failure != Failure::Stopped && !failure.never_began();
        if !outcome.result.as_ref().err().is_none_or(is_spent) {
            return;
        }
        self.duration += outcome.duration;
        self.cost = match (self.cost, outcome.cost) {
            (Some(before), Some(cost)) => Some(before + cost),
            (before, cost) => before.or(cost),
        };
    }

    /// What an evaluation really cost, where that is known: how long it ran if that is its cost,
    /// otherwise what it said.
    pub(crate) fn paid(&self, cost: &Cost) -> Option<f64> {
        match cost {
            Cost::Learned(LearnedCost { learn: CostSource::Time, .. }) => {
                Some(self.duration.as_secs_f64())
            }
            _ => self.cost,
        }
    }
}

/// How the process of a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It never began.
    NeverBegan,
    /// It did not end even when killed, as happens when a file system hangs.
    Unknown,
}

/// What came out of a command on one of its two channels.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Output {
    /// How much, in bytes. Of very much, only the beginning and the end are kept.
    pub bytes: u64,
    /// Why not all that should be kept is on the disk, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Whether the reason of a failure, as a journal has it, is that the command itself broke: it was ended by a
/// signal or with a code that means failure.
pub fn is_broken_command(reason: &str) -> bool {
    ["the command failed with exit code", "the command was ended by"]
        .iter()
        .any(|beginning| reason.starts_with(beginning))
}

/// Why an attempt has no value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Failure {
    /// There is no such program.
    #[error("the command {program:?} was not found")]
    NotFound {
        /// The program.
        program: String,
    },
    /// The program is there and may not be run.
    #[error("{program:?} is not executable; run `chmod +x` on it")]
    NotExecutable {
        /// The program.
        program: String,
    },
    /// The folder to run it in does not exist.
    #[error("there is no folder {directory:?} to run the command in")]
    NoDirectory {
        /// The folder.
        directory: String,
    },
    /// The system refused to start it for another reason.
    #[error("the command {program:?} could not be started: {reason}")]
    CannotStart {
        /// The program.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// It ended with a code that means failure.
    #[error("the command failed with exit code {code}{}", said(last_line))]
    Exit {
        /// The code.
        code: i32,
        /// The last it had to say on standard error.
        last_line: Option<String>,
    },
    /// A signal ended it.
    #[error("the command was ended by {}{}", signal_name(*signal), said(last_line))]
    Signal {
        /// The signal.
        signal: i32,
        /// The last it had to say on standard error.
        last_line: Option<String>,
    },
    /// It took longer than it may.
    #[error("the command took longer than {seconds} s and was stopped")]
    TimedOut {
        /// The time it was given.
        seconds: f64,
    },
    /// Somebody asked for it to be stopped.
    #[error("the command was stopped on request")]
    Stopped,
    /// The system does not tell how it ended.
    #[error("the system does not say how the command ended")]
    Lost,
    /// It printed nothing.
    #[error("the command printed nothing; it should print its result, one number, at the end")]
    NothingPrinted,
    /// The last line has several numbers.
    #[error("the last line has more than one number: {line:?}")]
    SeveralNumbers {
        /// The line, or its beginning.
        line: String,
    },
    /// The result is not a number.
    #[error("the result {line:?} is not a number; {hint}")]
    NotANumber {
        /// What was found instead, or its beginning.
        line: String,
        /// What to change.
        hint: String,
    },
    /// The result is not finite, or too large for a double.
    #[error("the result {text:?} is not a finite number")]
    NotFinite {
        /// The result as it was written.
        text: String,
    },
    /// The last line is longer than any number.
    #[error("the last line is too long for a number")]
    LineTooLong,
    /// The last line is not UTF-8.
    #[error("the last line is not text")]
    NotText,
    /// It printed no value of any output.
    #[error("the command gave no value: {reason}")]
    NoValue {
        /// What is wrong with what it printed.
        reason: String,
    },
    /// The file of the result cannot be used.
    #[error("the result file cannot be used: {reason}")]
    BadResultFile {
        /// What is wrong with it.
        reason: String,
    },
}

impl Failure {
    /// Whether the command was never run: then something is wrong with the study file or the machine,
    /// and nothing was measured.
    pub fn never_began(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. }
                | Self::NotExecutable { .. }
                | Self::NoDirectory { .. }
                | Self::CannotStart { .. }
        )
    }
}

fn said(line: &Option<String>) -> String {
    line.as_ref().map_or_else(String::new, |line| format!(": {line}"))
}

/// The usual name where there is one on every system.
fn signal_name(signal: i32) -> String {
    match signal {
        1 => "SIGHUP".to_owned(),
        2 => "SIGINT".to_owned(),
        4 => "SIGILL".to_owned(),
        6 => "SIGABRT".to_owned(),
        8 => "SIGFPE".to_owned(),
        9 => "SIGKILL, often for want of memory".to_owned(),
        11 => "SIGSEGV".to_owned(),
        13 => "SIGPIPE".to_owned(),
        15 => "SIGTERM".to_owned(),
        other => format!("signal {other}"),
    }
}

/// `exit.json`: as people and other programs read it. Fields of later versions are ignored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Written {
    format: u32,
    evaluation: u64,
    attempt: u32,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    values: BTreeMap<String, Reading>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cost: Option<f64>,
    /// Format 1: the value of the only output, which had the name of what was measured.
    #[serde(default, skip_serializing)]
    value: Option<f64>,
    #[serde(default, skip_serializing)]
    measured: Option<Asked>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failure: Option<Failure>,
    /// The failure in words, for people only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    exit: Exit,
    timed_out: bool,
    started: String,
    ended: String,
    seconds: f64,
    stdout: Output,
    stderr: Output,
}

impl From<Outcome> for Written {
    fn from(outcome: Outcome) -> Self {
        let time = |time| humantime::format_rfc3339_millis(time).to_string();
        let (Measured { values, missing }, failure) = match outcome.result {
            Ok(measured) => (measured, None),
            Err(failure) => (Measured::default(), Some(failure)),
        };
        Self {
            format: FORMAT,
            evaluation: outcome.evaluation,
            attempt: outcome.attempt,
            values,
            missing,
            cost: outcome.cost,
            value: None,
            measured: None,
            reason: failure.as_ref().map(Failure::to_string),
            timed_out: matches!(failure, Some(Failure::TimedOut { .. })),
            failure,
            exit: outcome.exit,
            started: time(outcome.started),
            ended: time(outcome.ended),
            seconds: outcome.duration.as_secs_f64(),
            stdout: outcome.stdout,
            stderr: outcome.stderr,
        }
    }
}

impl TryFrom<Written> for Outcome {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        if written.format > FORMAT {
            let found = written.format;
            return Err(format!("has format {found}, this version reads up to format {FORMAT}"));
        }
        let time = |text: &str| {
            humantime::parse_rfc3339(text).map_err(|error| format!("the time {text:?}: {error}"))
        };
        let mut values = written.values;
        if let Some(value) = written.value {
            let name = written.measured.map_or_else(String::new, |asked| asked.measurement);
            values.insert(name, value.into());
        }
        let is_good = !values.is_empty() && values.values().all(|one| one.value.is_finite());
        let result = match written.failure {
            None if is_good => Ok(Measured { values, missing: written.missing }),
            Some(failure) if values.is_empty() => Err(failure),
            _ => return Err("has neither a value nor a failure, or both".to_owned()),
        };
        Ok(Self {
            evaluation: written.evaluation,
            attempt: written.attempt,
            result,
            cost: written.cost,
            exit: written.exit,
            started: time(&written.started)?,
            ended: time(&written.ended)?,
            duration: Duration::try_from_secs_f64(written.seconds)
                .map_err(|error| format!("seconds: {error}"))?,
            stdout: written.stdout,
            stderr: written.stderr,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_commands_are_told_from_designs_that_cannot_be_measured() {
        let last_line = Some("no licence".to_owned());
        let exit = Failure::Exit { code: 2, last_line: last_line.clone() };
        let signal = Failure::Signal { signal: 11, last_line };
        for broken in [exit, signal] {
            assert!(is_broken_command(&broken.to_string()), "{broken}");
        }
        let late = Failure::TimedOut { seconds: 1.0 };
        assert!(!is_broken_command(&late.to_string()) && !is_broken_command("specimen broke"));
    }

    fn values(values: &[(&str, f64, Option<f64>)]) -> Measured {
        let reading = |(name, value, sd): &(&str, f64, Option<f64>)| {
            ((*name).to_owned(), Reading { value: *value, sd: *sd })
        };
        Measured { values: values.iter().map(reading).collect(), missing: None }
    }

    fn outcome(result: Result<Measured, Failure>) -> Outcome {
        let started = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_123);
        Outcome {
            evaluation: 12,
            attempt: 1,
            result,
            cost: None,
            exit: Exit::Code(0),
            started,
            ended: started + Duration::from_millis(250),
            duration: Duration::from_millis(250),
            stdout: Output { bytes: 4, problem: None },
            stderr: Output { bytes: 0, problem: Some("no room".into()) },
        }
    }

    #[test]
    fn an_outcome_comes_back_as_it_went_in() {
        let failures = [
            Failure::NotFound { program: "f".into() },
            Failure::Exit { code: 3, last_line: Some("out of 🦀".into()) },
            Failure::Signal { signal: 9, last_line: None },
            Failure::TimedOut { seconds: 0.5 },
            Failure::Stopped,
            Failure::NotANumber { line: "1,5".into(), hint: "h".into() },
        ];
        let results = [0.1 + 0.2, 5e-324, -0.0, 1e22].map(|value| values(&[("f", value, None)]));
        let several = values(&[("lift", 1.2, Some(0.05)), ("Ω 🎯", -3.0, None)]);
        let partial = Measured { missing: Some("no drag".into()), ..several.clone() };
        let results = results.into_iter().chain([several, partial]).map(Ok);
        for (result, cost) in results.chain(failures.map(Err)).zip([None, Some(3.5)].iter().cycle())
        {
            let outcome = Outcome { cost: *cost, ..outcome(result) };
            let text = serde_json::to_string(&outcome).unwrap();
            assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome, "{text}");
        }
    }

    #[test]
    fn the_first_form_opens_for_ever() {
        let text = r#"{"format":1,"evaluation":12,"attempt":1,"value":1.5,"exit":{"code":0},
            "timed_out":false,"started":"2023-11-14T22:13:20.123Z",
            "ended":"2023-11-14T22:13:20.373Z","seconds":0.25,
            "stdout":{"bytes":4},"stderr":{"bytes":0,"problem":"no room"},"later":"field"}"#;
        let read = |text: &str| serde_json::from_str::<Outcome>(text);
        assert_eq!(read(text).unwrap(), outcome(Ok(values(&[("", 1.5, None)]))));
        let measured = r#""measured":{"objective":"mass","design":{"x":0.5}},"value""#;
        let named = text.replace("\"value\"", measured);
        assert_eq!(read(&named).unwrap(), outcome(Ok(values(&[("mass", 1.5, None)]))));
        assert!(read(&text.replace("\"format\":1", "\"format\":3")).is_err());
    }

    #[test]
    fn the_second_form_opens_for_ever() {
        let text = r#"{"format":2,"evaluation":12,"attempt":1,
            "values":{"drag":0.3,"lift":{"value":1.2,"sd":0.05}},"missing":"no wake","cost":3.2,
            "exit":{"code":0},"timed_out":false,"started":"2023-11-14T22:13:20.123Z",
            "ended":"2023-11-14T22:13:20.373Z","seconds":0.25,
            "stdout":{"bytes":4},"stderr":{"bytes":0,"problem":"no room"},
            "measured":{"measurement":"cfd","design":{"x":0.5},"retry":1}}"#;
        let measured = values(&[("drag", 0.3, None), ("lift", 1.2, Some(0.05))]);
        let measured = Measured { missing: Some("no wake".into()), ..measured };
        let expected = Outcome { cost: Some(3.2), ..outcome(Ok(measured)) };
        assert_eq!(serde_json::from_str::<Outcome>(text).unwrap(), expected);
    }

    #[test]
    fn what_an_output_cannot_be_is_missing_and_the_others_count() {
        let log = unyoke::Output::minimise("drag").log_scale();
        let problem = Problem::builder().continuous("x", 0.0, 1.0).maximise("lift", 1.0);
        let problem = problem.measured(log, 1.0).build().unwrap();
        let measured = values(&[("drag", -0.3, None), ("lift", 1.2, None)]);
        let reason = "drag is -0.3, but must be positive on a log scale";
        let expected = unyoke::Outcome::from([("lift", 1.2)]).missing(reason);
        assert_eq!(measured.outcome(&problem), expected);
    }

    #[test]
    fn time_is_paid_where_it_is_the_cost_and_what_was_said_elsewhere() {
        let spent = Spent { duration: Duration::from_secs(1), cost: Some(3.0) };
        assert_eq!(spent.paid(&Cost::time(5.0)), Some(1.0));
        assert_eq!(spent.paid(&Cost::reported(5.0)), Some(3.0));
        assert_eq!(spent.paid(&Cost::Constant(5.0)), Some(3.0));
        assert_eq!(Spent { cost: None, ..spent }.paid(&Cost::Constant(5.0)), None);
    }

    #[test]
    fn a_contradiction_is_refused() {
        let text = serde_json::to_string(&outcome(Ok(values(&[("f", 1.5, None)])))).unwrap();
        let both = text.replace("\"exit\"", "\"failure\":{\"kind\":\"stopped\"},\"exit\"");
        let neither = text.replace("\"values\":{\"f\":1.5},", "");
        assert_ne!(neither, text);
        for text in [both, neither, text.replace("2023", "20x3"), text.replace("0.25", "-1")] {
            assert!(serde_json::from_str::<Outcome>(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn failures_are_told_in_words() {
        let words = |failure: Failure| failure.to_string();
        let last_line = Some("no such material".to_owned());
        assert_eq!(
            words(Failure::Exit { code: 2, last_line }),
            "the command failed with exit code 2: no such material"
        );
        let killed = words(Failure::Signal { signal: 9, last_line: None });
        assert!(killed.contains("SIGKILL") && killed.contains("memory"));
        assert!(words(Failure::Signal { signal: 64, last_line: None }).ends_with("signal 64"));
    }
}
