//! `unyoke tell`: what came out of an evaluation.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use unyoke_run::{BY_HAND, Opened};
use unyoke_store::{LeaseStatus, Store};

use crate::arguments::StudyOption;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::words::short;

/// Arguments of `unyoke tell`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke tell 12 3.75                      evaluation 12 gave 3.75
  unyoke tell 12 --failed \"specimen broke\" it gave nothing; that counts as spent
  unyoke tell 12 --withdraw                it will not be made after all; nothing is spent
  unyoke tell 12 3.75 --study beam.toml")]
pub(crate) struct Arguments {
    /// The number of the evaluation, from `unyoke ask` or `unyoke status`.
    evaluation: u64,
    /// Its value.
    #[arg(allow_negative_numbers = true, required_unless_present_any = ["failed", "withdraw"])]
    value: Option<f64>,
    /// It was made and gave no value, for this reason.
    #[arg(long, value_name = "REASON", conflicts_with_all = ["value", "withdraw"])]
    failed: Option<String>,
    /// It will not be made.
    #[arg(long, conflicts_with = "value")]
    withdraw: bool,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let Opened { mut study, store } = arguments.study.read()?.open()?;
    let evaluation = arguments.evaluation;
    let what = match (arguments.value, &arguments.failed) {
        (Some(value), _) if value.is_finite() => {
            study.tell(evaluation, value)?;
            "told"
        }
        (Some(value), _) => {
            let reason =
                format!("{value} is not a value; `--failed REASON` says that there is none");
            return Err(Failure::Refused(reason));
        }
        (None, Some(reason)) => {
            study.tell_failure(evaluation, reason)?;
            "failed"
        }
        (None, None) => {
            study.withdraw(evaluation)?;
            "withdrawn"
        }
    };
    give_back(&store, evaluation)?;
    match form {
        Form::Json => say_json(&json!({
            "evaluation": evaluation, "status": what, "spent": study.spent(),
        }))?,
        Form::Table => say(&format!(
            "evaluation {evaluation} is {what}; spent so far: {}",
            short(study.spent())
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Nobody needs to keep an evaluation that is settled.
fn give_back(store: &Store, evaluation: u64) -> Result<(), Failure> {
    let mine = |status: &LeaseStatus| {
        status.is_live() && status.lease.evaluation == evaluation && status.lease.owner == BY_HAND
    };
    for status in store.leases()?.into_iter().filter(mine) {
        store.release(&status.lease)?;
    }
    Ok(())
}
