//! `unyoke tell`: records what came out of an evaluation.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use unyoke::{Evaluation, Status, Study};
use unyoke_run::{BY_HAND, Budget, Opened};
use unyoke_store::{LeaseStatus, Store};

use crate::arguments::StudyOption;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::words::{is_over_budget, short, spent_of};

/// Arguments of `unyoke tell`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke tell 12 3.75                      evaluation 12 gave 3.75
  unyoke tell 12 --failed \"specimen broke\" it gave nothing; that counts as spent
  unyoke tell 12 --withdraw                it will not be made after all; nothing is spent
  unyoke tell 12 3.75 --replace            it was recorded as failed, but gave 3.75 after all
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
    /// Record the value although the evaluation is recorded as failed.
    #[arg(long, requires = "value")]
    replace: bool,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let Opened { mut study, store } = file.open()?;
    let evaluation = arguments.evaluation;
    let before = status_of(&study, evaluation);
    let what = record(arguments, &mut study)?;
    give_back(&store, evaluation)?;
    let mut notes = vec![];
    if before == Some(Status::Withdrawn) {
        notes.push("it had been withdrawn; its value and its cost count now".to_owned());
    }
    if let Some(owner) = owner_of(&store, evaluation)? {
        notes.push(format!(
            "{owner} is still working on it; what comes out is kept as a late result and does not \
             count"
        ));
    }
    if is_over_budget(study.spent(), file.budget.cost) {
        notes.push("the budget is exceeded: nothing more will be asked for".to_owned());
    }
    match form {
        Form::Json => say_json(&json!({
            "evaluation": evaluation, "status": what, "spent": study.spent(), "notes": notes,
        }))?,
        Form::Table => say(&in_words(evaluation, what, &notes, &study, &file.budget))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Records the outcome and says what the evaluation is now.
fn record(arguments: &Arguments, study: &mut Study<Store>) -> Result<&'static str, Failure> {
    let evaluation = arguments.evaluation;
    match (arguments.value, &arguments.failed) {
        (Some(value), _) if !value.is_finite() => Err(Failure::Refused(format!(
            "{value} is not a value; `--failed REASON` says that there is none"
        ))),
        (Some(value), _) if arguments.replace => {
            study.replace_failure(evaluation, value)?;
            Ok("completed")
        }
        (Some(value), _) => match study.tell(evaluation, value) {
            Err(unyoke::Error::AlreadySettled { how: "failed", .. }) => {
                Err(failed_before(study, evaluation, value))
            }
            recorded => Ok(recorded.map(|()| "completed")?),
        },
        (None, Some(reason)) => Ok(study.tell_failure(evaluation, reason).map(|()| "failed")?),
        (None, None) => Ok(study.withdraw(evaluation).map(|()| "withdrawn")?),
    }
}

/// A value and a failure contradict each other: somebody has to say which one holds.
fn failed_before(study: &Study<Store>, evaluation: u64, value: f64) -> Failure {
    let reason = match status_of(study, evaluation) {
        Some(Status::Failed(reason)) => format!(" ({reason})"),
        _ => String::new(),
    };
    Failure::Refused(format!(
        "evaluation {evaluation} is already recorded as failed{reason}; `unyoke tell {evaluation} \
         {value} --replace` records the value in its place"
    ))
}

fn in_words(
    evaluation: u64,
    what: &str,
    notes: &[String],
    study: &Study<Store>,
    budget: &Budget,
) -> String {
    let what = match (what, status_of(study, evaluation)) {
        ("completed", Some(Status::Told(value))) => format!("recorded as {}", short(value)),
        ("failed", _) => "recorded as failed".to_owned(),
        (other, _) => other.to_owned(),
    };
    let mut words =
        format!("evaluation {evaluation} is {what}; {}", spent_of(study.spent(), budget.cost));
    for note in notes {
        words += &format!("\n  {note}");
    }
    words
}

fn status_of(study: &Study<Store>, evaluation: u64) -> Option<Status> {
    let of = |e: &&Evaluation| e.id == evaluation;
    study.evaluations().iter().find(of).map(|e| e.status.clone())
}

/// Who else works on an evaluation.
fn owner_of(store: &Store, evaluation: u64) -> Result<Option<String>, Failure> {
    let live = |status: &LeaseStatus| status.is_live() && status.lease.evaluation == evaluation;
    Ok(store.leases()?.into_iter().find(live).map(|status| status.lease.owner))
}

/// A settled evaluation needs no owner any more.
fn give_back(store: &Store, evaluation: u64) -> Result<(), Failure> {
    let mine = |status: &LeaseStatus| {
        status.is_live() && status.lease.evaluation == evaluation && status.lease.owner == BY_HAND
    };
    for status in store.leases()?.into_iter().filter(mine) {
        store.release(&status.lease)?;
    }
    Ok(())
}
