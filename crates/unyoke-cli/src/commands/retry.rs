//! `unyoke retry`: failed evaluations are made again.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use unyoke::{Evaluation, Problem, Status};
use unyoke_run::{Opened, is_broken_command};

use crate::arguments::StudyOption;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::words::{count, design};

/// Arguments of `unyoke retry`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke retry            makes all failed evaluations pending again
  unyoke retry 12 13      only these
  unyoke retry --measurement fem --since 40
                          those of fem from number 40 on: its licence server was down
  unyoke retry --reason licence
                          those whose reason has this word
  unyoke retry --failed-command
                          those whose command ended with an error or was killed, rather than at a design
                          that cannot be measured, or too late
  unyoke retry --failed-command --dry-run
  unyoke retry && unyoke run

Use it once the cause is fixed: a broken command, a missing licence. `unyoke run` then repeats these
evaluations before it chooses new ones.")]
pub(crate) struct Arguments {
    /// The numbers of failed evaluations; without any, all of them.
    #[arg(value_name = "EVALUATION")]
    evaluations: Vec<u64>,
    /// Only evaluations of these measurements.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    measurement: Vec<String>,
    /// Only evaluations from this number on.
    #[arg(long, value_name = "EVALUATION")]
    since: Option<u64>,
    /// Only failures whose reason has this text in it.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Only failures whose command ended with an error or was killed.
    #[arg(long)]
    failed_command: bool,
    /// Show them, and change nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    study: StudyOption,
}

impl Arguments {
    /// Whether a failure is one of those that were named.
    fn wants(&self, problem: &Problem, evaluation: &Evaluation) -> bool {
        let Status::Failed(reason) = &evaluation.status else { return false };
        let name = evaluation.measurement.map(|m| &problem.measurements[m].name);
        let is_named = self.evaluations.is_empty() || self.evaluations.contains(&evaluation.id);
        let has_reason = |text: &String| reason.to_lowercase().contains(&text.to_lowercase());
        is_named
            && (self.measurement.is_empty()
                || name.is_some_and(|name| self.measurement.contains(name)))
            && self.since.is_none_or(|first| evaluation.id >= first)
            && self.reason.as_ref().is_none_or(has_reason)
            && (!self.failed_command || is_broken_command(reason))
    }
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    for name in &arguments.measurement {
        file.problem.measurement_index(name)?;
    }
    let Opened { mut study, .. } = file.open()?;
    let is_wanted = |e: &&Evaluation| arguments.wants(study.problem(), e);
    let failed: Vec<Evaluation> =
        study.evaluations().iter().filter(is_failed).filter(is_wanted).cloned().collect();
    let other = arguments.evaluations.iter().find(|id| !failed.iter().any(|e| e.id == **id));
    if let Some(id) = other {
        return Err(refused(study.evaluations(), *id));
    }
    if form == Form::Table {
        for evaluation in &failed {
            say(&in_words(study.problem(), evaluation))?;
        }
    }
    let mut retried = vec![];
    if arguments.dry_run {
        let evaluations = count(failed.len(), "evaluation");
        let ids: Vec<u64> = failed.iter().map(|e| e.id).collect();
        match form {
            Form::Json => say_json(&json!({ "retried": retried, "failed": ids }))?,
            Form::Table => {
                say(&format!("{evaluations} would be pending again; nothing was changed"))?
            }
        }
        return Ok(ExitCode::SUCCESS);
    }
    for Evaluation { id, .. } in &failed {
        match study.retry(*id) {
            // Somebody else was faster.
            Err(unyoke::Error::AlreadySettled { .. }) => {}
            done => {
                done?;
                retried.push(*id);
            }
        }
    }
    match form {
        Form::Json => say_json(&json!({ "retried": retried }))?,
        Form::Table if study.evaluations().iter().any(|e| is_failed(&e)) && retried.is_empty() => {
            say("no evaluation has failed like this")?;
        }
        Form::Table if failed.is_empty() => say("no evaluation has failed")?,
        Form::Table => {
            let evaluations = count(retried.len(), "evaluation");
            say(&format!("{evaluations} pending again; `unyoke run` makes them"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn is_failed(evaluation: &&Evaluation) -> bool {
    matches!(evaluation.status, Status::Failed(_))
}

/// Why an evaluation cannot be retried.
fn refused(evaluations: &[Evaluation], id: u64) -> Failure {
    match evaluations.iter().find(|evaluation| evaluation.id == id) {
        Some(evaluation) => {
            let status = evaluation.status.word();
            let instead = match evaluation.status {
                Status::Completed(_) => {
                    format!("; `unyoke tell --retract {id}` lets its design be asked for again")
                }
                Status::Retracted(_) => "; its design may be asked for again as it is".to_owned(),
                _ => String::new(),
            };
            Failure::Refused(format!(
                "evaluation {id} is {status}; only failed ones are retried{instead}"
            ))
        }
        None => unyoke::Error::UnknownEvaluation { id }.into(),
    }
}

fn in_words(problem: &Problem, evaluation: &Evaluation) -> String {
    let Evaluation { id, measurement, status, .. } = evaluation;
    let name = measurement.map_or("", |m| &problem.measurements[m].name);
    let reason = match status {
        Status::Failed(reason) => reason.as_str(),
        _ => "",
    };
    let at = design(problem, &evaluation.design);
    format!("evaluation {id}: {name} at {at}; failed: {reason}")
}
