//! `unyoke amend`: a study goes on with what was changed in its file.

use clap::Args;
use serde_json::json;
use std::io::{self, BufRead, IsTerminal};
use std::process::ExitCode;
use unyoke::Study;
use unyoke_run::{Amendment, Layout, StudyFile, refuse_running, signed_by_user};
use unyoke_store::Store;

use crate::arguments::StudyArgument;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};

/// Arguments of `unyoke amend`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke amend                 shows what has changed in study.toml, asks, and records it
  unyoke amend beam.toml --yes records it without asking

Bounds, choices, scales, noise, directions, limits, algorithm and settings may change; parameters,
outputs and measurements may be added. A new parameter needs `was = VALUE` in its table: the value that
all designs so far had. Nothing that was measured is lost; designs outside new bounds still inform the
models. Costs and preferences need no amendment: the next run follows them.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// Record the changes without asking.
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let store = signed_by_user(Store::open(&file.store)?)?;
    let mut study = Study::open(store.clone())?;
    refuse_seed(&file, &study)?;
    let Some(amendment) = file.amendment(&study) else {
        match form {
            Form::Json => say_json(&json!({ "amended": false, "changes": [] }))?,
            Form::Table => say("nothing to amend: the study is as the file says")?,
        }
        return Ok(ExitCode::SUCCESS);
    };
    let changes: Vec<String> = amendment.changes().map(ToString::to_string).collect();
    if form == Form::Table {
        changes.iter().try_for_each(|change| say(change))?;
    }
    amendment.check(&study)?;
    refuse_running(Some(&Layout::new(&file.runs)), &store)?;
    if !arguments.yes {
        confirm(form)?;
    }
    let evaluations = study.evaluations().len();
    record(amendment, &mut study)?;
    match form {
        Form::Json => say_json(&json!({ "amended": true, "changes": changes }))?,
        Form::Table => say(&format!(
            "recorded; it holds from evaluation {evaluations} on, and earlier ones still inform the models"
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn record(amendment: Amendment, study: &mut Study<Store>) -> Result<(), Failure> {
    Ok(amendment.record(study)?)
}

/// What random numbers came from cannot be changed afterwards.
fn refuse_seed(file: &StudyFile, study: &Study<Store>) -> Result<(), Failure> {
    if file.seed == study.seed() {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "the seed cannot be changed: the designs so far came from seed {0}; set seed = {0} in [study]",
        study.seed()
    )))
}

/// Asks whoever sits at the terminal.
fn confirm(form: Form) -> Result<(), Failure> {
    let is_asked = form == Form::Table && io::stdin().is_terminal() && io::stdout().is_terminal();
    if !is_asked {
        let reason = "nothing was recorded; `unyoke amend --yes` records this";
        return Err(Failure::Refused(reason.to_owned()));
    }
    say("Record this? [y/N]")?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(Failure::Output)?;
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Ok(()),
        _ => Err(Failure::Refused("nothing was recorded".to_owned())),
    }
}
