//! Measurements that never give what they should: their commands are broken, as far as anybody can
//! tell, and not the designs. Without the outputs that only they give, no trade-off can be found.

use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use unyoke::{Evaluation, Journal, Status, Study};

use crate::process::Layout;

/// Of what a command wrote to standard error, so many lines at the end are shown.
const LINES: usize = 8;

/// They are looked for in so many bytes at the end.
const TAIL: u64 = 8 << 10;

/// A measurement that never gave a value, or never one of some output.
#[derive(Debug, Clone, PartialEq)]
pub struct Failing {
    /// The measurement.
    pub measurement: String,
    /// The outputs that it never gave, although it gave others; empty if it failed every time.
    pub lacking: Vec<String>,
    /// How many evaluations were made in vain.
    pub times: usize,
    /// Why the last one gave nothing.
    pub reason: String,
    /// What all evaluations of the measurement have cost.
    pub spent: f64,
    /// What the last one wrote to standard error, if it ran on this machine and wrote anything.
    pub log: Option<Log>,
    /// Whether other measurements give the same outputs, so that the run goes on without this one.
    pub dispensable: bool,
}

/// The end of what a command wrote to standard error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// All of it.
    pub path: PathBuf,
    /// Its last lines.
    pub lines: Vec<String>,
}

impl Failing {
    /// What is wrong with a measurement of which evaluations were made in vain.
    pub(super) fn of<J: Journal>(study: &Study<J>, layout: &Layout, measurement: usize) -> Self {
        let problem = study.problem();
        let own = || of(study, measurement);
        let lacks = |output: &usize| gave_in_vain(study, measurement, *output).is_some();
        let lacking: Vec<usize> =
            problem.outputs_of(measurement).into_iter().filter(lacks).collect();
        let is_partial = own().any(|e| matches!(e.status, Status::Completed(_)));
        let last = own().filter(|e| ended(e)).max_by_key(|e| e.id);
        let counts = lacking.iter().filter_map(|k| gave_in_vain(study, measurement, *k));
        let name = |output: &usize| problem.outputs[*output].name.clone();
        Self {
            measurement: problem.measurements[measurement].name.clone(),
            times: counts.max().unwrap_or_default(),
            reason: last.map(reason).unwrap_or_default(),
            spent: own().map(Evaluation::spent).sum(),
            log: last.and_then(|e| Log::read(layout, e.id)),
            lacking: if is_partial { lacking.iter().map(name).collect() } else { vec![] },
            dispensable: false,
        }
    }

    /// The first measurement without which an output cannot be had, if whatever gives the output was
    /// made `trials` times in vain. `layout` is where commands left what they wrote.
    pub fn find<J: Journal>(study: &Study<J>, layout: &Layout, trials: usize) -> Option<Self> {
        indispensable(study, trials).map(|measurement| Self::of(study, layout, measurement))
    }

    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self.lacking.is_empty() {
            true => "fix the command, then run `unyoke retry` and `unyoke run`".to_owned(),
            // Completed evaluations cannot be retried: further ones must be allowed.
            false => format!("fix the command, then `unyoke run --trials {}`", self.times + 3),
        }
    }
}

/// As in `drag failed 3 times and never gave a value`.
impl fmt::Display for Failing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { measurement, lacking, times, .. } = self;
        let times = match times {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        };
        match lacking.is_empty() {
            true => write!(f, "{measurement} failed {times} and never gave a value"),
            false => {
                let lacking = lacking.join(", ");
                write!(f, "{measurement} was made {times} and never gave a value of {lacking}")
            }
        }
    }
}

impl Log {
    fn read(layout: &Layout, evaluation: u64) -> Option<Self> {
        let attempt = layout.attempts(evaluation).ok()?.pop()?;
        let path = layout.attempt(evaluation, attempt).join(crate::process::STDERR);
        let lines = last_lines(&path).ok().filter(|lines| !lines.is_empty())?;
        Some(Self { path, lines })
    }
}

fn last_lines(path: &Path) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = vec![];
    file.take(TAIL).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    Ok(lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect())
}

/// The first measurement without which an output cannot be had: whatever gives the output was made
/// `trials` times in vain.
pub(super) fn indispensable<J: Journal>(study: &Study<J>, trials: usize) -> Option<usize> {
    let problem = study.problem();
    (0..problem.outputs.len()).find_map(|output| {
        let gives = |m: &usize| problem.outputs_of(*m).contains(&output);
        let givers: Vec<usize> = (0..problem.measurements.len()).filter(gives).collect();
        let is_hopeless = |m: &usize| {
            gave_in_vain(study, *m, output).is_some_and(|times| times >= trials)
                && !of(study, *m).any(has_another_chance)
        };
        givers.iter().all(is_hopeless).then(|| givers.first().copied()).flatten()
    })
}

/// The first measurement that was made and gave nothing, of an output of which nothing is known from
/// elsewhere either.
pub(super) fn without_value<J: Journal>(study: &Study<J>) -> Option<usize> {
    let is_known =
        |output: &usize| study.evaluations().iter().any(|e| e.reading(*output).is_some());
    let never = |m: &usize| {
        let mut unknown = study.problem().outputs_of(*m).into_iter().filter(|k| !is_known(k));
        unknown.any(|k| gave_in_vain(study, *m, k).is_some_and(|times| times > 0))
    };
    (0..study.problem().measurements.len()).find(never)
}

/// How many evaluations of a measurement ended without a value of this output; `None` if one gave
/// it.
fn gave_in_vain<J: Journal>(study: &Study<J>, measurement: usize, output: usize) -> Option<usize> {
    let own = || of(study, measurement);
    let gave = own().any(|e| e.reading(output).is_some());
    (!gave).then(|| own().filter(|e| ended(e)).count())
}

/// Whether somebody has removed the cause of a failure, as it seems.
fn has_another_chance(evaluation: &Evaluation) -> bool {
    evaluation.status == Status::Pending && evaluation.retried > 0
}

fn ended(evaluation: &Evaluation) -> bool {
    matches!(evaluation.status, Status::Completed(_) | Status::Failed(_))
}

/// Why an evaluation gave not all that it should.
fn reason(evaluation: &Evaluation) -> String {
    match &evaluation.status {
        Status::Failed(reason) => reason.clone(),
        Status::Completed(results) => results.missing.clone().unwrap_or_default(),
        Status::Pending | Status::Withdrawn | Status::Retracted(_) => String::new(),
    }
}

/// The evaluations of a measurement that were asked for.
pub(super) fn of<J: Journal>(
    study: &Study<J>,
    measurement: usize,
) -> impl Iterator<Item = &Evaluation> {
    study.evaluations().iter().filter(move |e| e.asked && e.measurement == Some(measurement))
}
