//! `unyoke skip`: an evaluation that was asked for, or a design that is queued, is not wanted.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use unyoke_run::{Opened, release_by_hand};

use crate::arguments::StudyOption;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};

/// Arguments of `unyoke skip`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke skip 12        evaluation 12 will not be made; it, or one close to it, is not suggested again
                        before five more results are recorded
  unyoke skip q0        entry q0 leaves the queue

Nothing is spent. `unyoke tell 12 --withdraw` takes an evaluation back as if it had never been asked for, so
that it may well be suggested again at once.")]
pub(crate) struct Arguments {
    /// Numbers of pending evaluations, or entries of the queue (q0).
    #[arg(value_name = "EVALUATION | ENTRY", required = true)]
    which: Vec<String>,
    #[command(flatten)]
    study: StudyOption,
}

/// What is skipped.
enum Skipped {
    Evaluation(u64),
    Entry(u64),
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let which: Vec<Skipped> =
        arguments.which.iter().map(|text| parse(text)).collect::<Result<_, _>>()?;
    let Opened { mut study, store } = arguments.study.read()?.open()?;
    for (text, skipped) in arguments.which.iter().zip(which) {
        let done = match skipped {
            Skipped::Entry(entry) => {
                study.unqueue(entry)?;
                format!("{text} is not queued any more")
            }
            Skipped::Evaluation(id) => {
                study.skip(id).map_err(advised)?;
                release_by_hand(&store, id)?;
                let queued = study.evaluations().iter().find(|e| e.id == id).and_then(|e| e.queued);
                match queued {
                    Some(entry) => {
                        format!("evaluation {id} is skipped, and q{entry} is not queued any more")
                    }
                    None => format!("evaluation {id} is skipped"),
                }
            }
        };
        if form == Form::Table {
            say(&done)?;
        }
    }
    if form == Form::Json {
        say_json(&json!({ "skipped": arguments.which }))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn parse(text: &str) -> Result<Skipped, Failure> {
    let wrong = |_| {
        Failure::Refused(format!(
            "{text:?} is neither the number of an evaluation, as in 12, nor an entry of the queue, as in q0"
        ))
    };
    match text.strip_prefix('q') {
        Some(entry) => entry.parse().map(Skipped::Entry).map_err(wrong),
        None => text.parse().map(Skipped::Evaluation).map_err(wrong),
    }
}

fn advised(error: unyoke::Error) -> Failure {
    match error {
        unyoke::Error::AlreadySettled { id, how } => Failure::Refused(format!(
            "evaluation {id} is {how}; only pending evaluations can be skipped"
        )),
        other => other.into(),
    }
}
