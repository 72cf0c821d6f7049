//! `unyoke check`: whether a study file is valid and its study can be opened or begun.

use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use unyoke::Study;
use unyoke_run::{
    Budget, CommandTemplate, Diagnostic, Error, ObjectiveRun, StudyFile, StudyFileError,
};

use crate::arguments::StudyArgument;
use crate::failure::{Failure, STUDY_FILE};
use crate::output::{Form, say, say_json};
use crate::words::{count, short};

/// Arguments of `unyoke check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke check                 checks study.toml
  unyoke check beam.toml && unyoke run beam.toml

The study's store is opened and read, or its folder or server is tried if there is no study yet.
Nothing is changed.")]
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
    // Whatever would stop a run is found now: an unreachable server, a damaged file, a study that was
    // begun with another problem.
    let begun = match file.examine() {
        Err(error) if form == Form::Json => {
            let failure = Failure::from(error);
            say_json(&json!({ "ok": false, "mistakes": [], "error": failure.to_string() }))?;
            return Ok(failure.exit_code());
        }
        examined => examined?.map(|looked| looked.study),
    };
    let warnings = warnings(&file);
    match form {
        Form::Json => say_json(&found_as_json(&file, begun.as_ref(), &warnings))?,
        Form::Table => {
            say(&in_words(&file, begun.as_ref()))?;
            for warning in warnings {
                say(&format!("warning: {warning}"))?;
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn found_as_json(file: &StudyFile, begun: Option<&Study>, warnings: &[String]) -> Value {
    let (parameters, objectives) = (&file.problem.parameters, &file.problem.objectives);
    let names = |runs: Vec<&ObjectiveRun>| -> Vec<String> {
        runs.into_iter().map(|run| run.objective.clone()).collect()
    };
    json!({
        "ok": true,
        "parameters": parameters.iter().map(|p| p.name()).collect::<Vec<_>>(),
        "objectives": objectives.iter().map(|o| &o.name).collect::<Vec<_>>(),
        "without_command": names(without_command(file)),
        "program_not_found": names(program_not_found(file)),
        "warnings": warnings,
        "store": file.store.to_string(),
        "begun": begun.is_some(),
        "evaluations": begun.map_or(0, |study| study.evaluations().len()),
    })
}

fn in_words(file: &StudyFile, begun: Option<&Study>) -> String {
    let begun = match begun {
        Some(study) => {
            let evaluations = count(study.evaluations().len(), "evaluation");
            format!("{}, which holds {evaluations}", file.store)
        }
        None => format!("{}, not created yet", file.store),
    };
    format!(
        "{} is valid: {}, {}, {}, stored in {begun}",
        file.path().display(),
        count(file.problem.parameters.len(), "parameter"),
        count(file.problem.objectives.len(), "objective"),
        limits_in_words(&file.budget),
    )
}

/// What is possible but probably not meant.
fn warnings(file: &StudyFile) -> Vec<String> {
    let without = without_command(file).into_iter().map(|run| {
        format!(
            "{} has no command: use `unyoke ask` and `unyoke tell`; `unyoke run` needs a command \
             for each objective",
            run.objective
        )
    });
    let missing = program_not_found(file).into_iter().map(|run| {
        let program = run.command.as_ref().and_then(CommandTemplate::program).unwrap_or_default();
        format!("{}: the program {program:?} is not found here", run.objective)
    });
    let scripts = file.run.objectives.iter().filter_map(script_warning);
    without.chain(missing).chain(scripts).collect()
}

/// A value inside a script is no longer one argument: the shell takes it apart.
fn script_warning(run: &ObjectiveRun) -> Option<String> {
    let inside = run.command.as_ref()?.parameters_in_scripts();
    let name = inside.first()?;
    Some(format!(
        "{}: {{{name}}} stands inside a shell script, where the shell interprets the value; pass it \
         as an argument: [\"sh\", \"-c\", \"... \\\"$1\\\"\", \"sh\", \"{{{name}}}\"]",
        run.objective
    ))
}

fn without_command(file: &StudyFile) -> Vec<&ObjectiveRun> {
    file.run.objectives.iter().filter(|run| run.command.is_none()).collect()
}

fn program_not_found(file: &StudyFile) -> Vec<&ObjectiveRun> {
    file.run.objectives.iter().filter(|run| !is_found(run)).collect()
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
