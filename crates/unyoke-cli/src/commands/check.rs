//! `unyoke check`: whether a study file makes sense.

use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use unyoke_run::{Budget, CommandTemplate, Diagnostic, Error, ObjectiveRun, StudyFileError};

use crate::arguments::StudyArgument;
use crate::failure::{Failure, STUDY_FILE};
use crate::output::{Form, say, say_json};
use crate::words::{count, short};

/// Arguments of `unyoke check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke check                 checks study.toml
  unyoke check beam.toml && unyoke run beam.toml")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = match arguments.study.read() {
        Err(Failure::StudyFile(Error::StudyFile(mistakes))) if form == Form::Json => {
            say_json(&json!({ "ok": false, "mistakes": as_json(&mistakes) }))?;
            return Ok(ExitCode::from(STUDY_FILE));
        }
        file => file?,
    };
    // A study that was begun with something else is a mistake too.
    if let Err(error @ Error::OtherProblem { .. }) = file.open() {
        return Err(error.into());
    }
    let (parameters, objectives) = (&file.problem.parameters, &file.problem.objectives);
    let runs = &file.run.objectives;
    let without: Vec<&str> =
        runs.iter().filter(|run| run.command.is_none()).map(|run| run.objective.as_str()).collect();
    let missing: Vec<&ObjectiveRun> = runs.iter().filter(|run| !is_found(run)).collect();
    if form == Form::Json {
        say_json(&json!({
            "ok": true,
            "parameters": parameters.iter().map(|p| p.name()).collect::<Vec<_>>(),
            "objectives": objectives.iter().map(|o| &o.name).collect::<Vec<_>>(),
            "without_command": without,
            "program_not_found": missing.iter().map(|run| &run.objective).collect::<Vec<_>>(),
            "store": file.store.to_string(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    say(&format!(
        "{} is in order: {}, {}, {}, kept in {}",
        file.path().display(),
        count(parameters.len(), "parameter"),
        count(objectives.len(), "objective"),
        limits_in_words(&file.budget),
        file.store
    ))?;
    for objective in without {
        say(&format!(
            "{objective} has no command: the study can be made with `unyoke ask` and `unyoke tell`, \
             not with `unyoke run`"
        ))?;
    }
    for run in missing {
        let program = run.command.as_ref().and_then(CommandTemplate::program).unwrap_or_default();
        say(&format!("{}: the program {program:?} is not found here", run.objective))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json(mistakes: &StudyFileError) -> Vec<Value> {
    let one = |mistake: &Diagnostic| {
        let (line, column) = mistakes.line_and_column(mistake.span.start);
        let Diagnostic { message, help, .. } = mistake;
        json!({ "line": line, "column": column, "message": message, "help": help })
    };
    mistakes.diagnostics().iter().map(one).collect()
}

fn limits_in_words(budget: &Budget) -> String {
    match (budget.cost, budget.evaluations.is_empty() && budget.wall_time.is_none()) {
        (Some(cost), _) => format!("a budget of {}", short(cost)),
        (None, true) => "no budget".to_owned(),
        (None, false) => "no limit of cost".to_owned(),
    }
}

/// Whether the program of a command seems to be there. Programs whose name depends on the design
/// are given the benefit of the doubt.
fn is_found(run: &ObjectiveRun) -> bool {
    let program = run.command.as_ref().and_then(CommandTemplate::program);
    let Some(program) = program else { return true };
    if program.contains('/') {
        return run.directory.join(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
