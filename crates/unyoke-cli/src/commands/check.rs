//! `unyoke check`: whether a study file makes sense.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;

use crate::arguments::StudyArgument;
use crate::failure::Failure;
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
    let file = arguments.study.read()?;
    let (parameters, objectives) = (&file.problem.parameters, &file.problem.objectives);
    let without: Vec<&str> = file
        .run
        .objectives
        .iter()
        .filter(|run| run.command.is_none())
        .map(|run| run.objective.as_str())
        .collect();
    if form == Form::Json {
        say_json(&json!({
            "ok": true,
            "parameters": parameters.iter().map(|p| p.name()).collect::<Vec<_>>(),
            "objectives": objectives.iter().map(|o| &o.name).collect::<Vec<_>>(),
            "without_command": without,
            "store": file.store.to_string(),
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    let budget = match file.budget.cost {
        Some(cost) => format!("a budget of {}", short(cost)),
        None => "no limit of cost".to_owned(),
    };
    say(&format!(
        "{} is in order: {}, {}, {budget}, kept in {}",
        file.path().display(),
        count(parameters.len(), "parameter"),
        count(objectives.len(), "objective"),
        file.store
    ))?;
    for objective in without {
        say(&format!("{objective} has no command: its values are to be told by hand"))?;
    }
    Ok(ExitCode::SUCCESS)
}
