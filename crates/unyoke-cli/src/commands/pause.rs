//! `unyoke pause` and `unyoke resume`: measurements that cannot be made for a while.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use unyoke::Pause;
use unyoke_view::PausedView;

use crate::arguments::StudyOption;
use crate::clock::{parse_until, pause_in_words};
use crate::failure::Failure;
use crate::output::{Form, say, say_json};

/// Arguments of `unyoke pause`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke pause fem                                   until `unyoke resume fem`
  unyoke pause fem --until 2026-11-23                until that day begins, in the time zone of this machine
  unyoke pause fem --until \"2026-11-23 14:00\"
  unyoke pause fem --until monday --reason \"the machine is down\"
  unyoke pause fem --until 6h

`ask`, `run` and `confirm` leave out what is paused and make what else is worth its cost. What runs goes on.
`unyoke status` shows pauses.")]
pub(crate) struct PauseArguments {
    /// The measurement.
    measurement: String,
    /// When it can be made again: a date, a date and a time, a day of the week, or a length of time.
    #[arg(long, value_name = "TIME", value_parser = parse_until)]
    until: Option<u64>,
    /// Why it cannot be made.
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    study: StudyOption,
}

/// Arguments of `unyoke resume`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke resume fem")]
pub(crate) struct ResumeArguments {
    /// The measurement.
    measurement: String,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn pause(arguments: &PauseArguments, form: Form) -> Result<ExitCode, Failure> {
    let mut study = arguments.study.read()?.open_or_create()?.study;
    let PauseArguments { measurement, until, reason, .. } = arguments;
    study.pause(measurement, Pause { until: *until, reason: reason.clone() })?;
    let paused =
        PausedView { measurement: measurement.clone(), until: *until, reason: reason.clone() };
    match form {
        Form::Json => say_json(&paused)?,
        Form::Table => {
            let words = pause_in_words(&paused);
            say(&format!("{words}; `unyoke resume {measurement}` ends that"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn resume(arguments: &ResumeArguments, form: Form) -> Result<ExitCode, Failure> {
    let mut study = arguments.study.read()?.open()?.study;
    let name = &arguments.measurement;
    let was_paused = study.resume(name)?;
    match form {
        Form::Json => say_json(&json!({ "measurement": name, "was_paused": was_paused }))?,
        Form::Table if was_paused => say(&format!("{name} is not paused any more"))?,
        Form::Table => say(&format!("{name} was not paused"))?,
    }
    Ok(ExitCode::SUCCESS)
}
