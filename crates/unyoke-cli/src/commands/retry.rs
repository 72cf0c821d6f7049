//! `unyoke retry`: failed evaluations are made again.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use unyoke::{Evaluation, Problem, Status};
use unyoke_run::Opened;

use crate::arguments::StudyOption;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::words::{count, design};

/// Arguments of `unyoke retry`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke retry            makes all failed evaluations pending again
  unyoke retry 12 13      only these
  unyoke retry && unyoke run

Use it once the cause is fixed: a broken command, a missing licence. `unyoke run` then repeats these
evaluations before it chooses new ones.")]
pub(crate) struct Arguments {
    /// The numbers of failed evaluations; without any, all of them.
    #[arg(value_name = "EVALUATION")]
    evaluations: Vec<u64>,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let Opened { mut study, .. } = arguments.study.read()?.open()?;
    let is_wanted =
        |e: &&Evaluation| arguments.evaluations.is_empty() || arguments.evaluations.contains(&e.id);
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
