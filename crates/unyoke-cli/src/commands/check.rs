//! `unyoke check`: whether a study file is valid and its study can be opened or begun.

use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use unyoke::Study;
use unyoke_run::{
    Budget, CommandTemplate, Diagnostic, Error, MeasurementRun, StudyFile, StudyFileError,
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
        examined => examined?,
    };
    let amended = begun.as_ref().is_some_and(|looked| looked.amended);
    let begun = begun.map(|looked| looked.study);
    let mut warnings = warnings(&file);
    warnings.extend(amended.then(|| AMENDED.to_owned()));
    warnings.extend(begun.as_ref().and_then(|study| other_settings(&file, study)));
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
    let problem = &file.problem;
    let names = |runs: Vec<&MeasurementRun>| -> Vec<String> {
        runs.into_iter().map(|run| run.measurement.clone()).collect()
    };
    let initial = file.initial_price();
    json!({
        "ok": true,
        "parameters": problem.parameters.iter().map(|p| p.name()).collect::<Vec<_>>(),
        "objectives": problem.objectives().map(|(_, o)| &o.name).collect::<Vec<_>>(),
        "constraints": problem.constraints().map(|(_, o)| &o.name).collect::<Vec<_>>(),
        "measurements": problem.measurements.iter().map(|m| &m.name).collect::<Vec<_>>(),
        "initial": { "designs": initial.designs, "cost": initial.cost },
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
    let problem = &file.problem;
    let mut parts = vec![
        count(problem.parameters.len(), "parameter"),
        count(problem.objectives().count(), "objective"),
    ];
    match problem.constraints().count() {
        0 => {}
        constraints => parts.push(count(constraints, "constraint")),
    }
    parts.push(count(problem.measurements.len(), "measurement"));
    parts.push(limits_in_words(&file.budget));
    if file.stop.is_some() {
        parts.push("stopping by [stop]".to_owned());
    }
    format!(
        "{} is valid: {}, stored in {begun}\n{}",
        file.path().display(),
        parts.join(", "),
        file.initial_price(),
    )
}

/// That a file was edited after its study had begun.
const AMENDED: &str = "what is wanted of the objectives ([preference], enough, or the preference, units or \
    reference in [engine]) has changed since the study's last run; the change counts from the next run on";

/// Settings that count only once the study is amended.
fn other_settings(file: &StudyFile, study: &Study) -> Option<String> {
    let changes: Vec<String> =
        file.amendment(study)?.setting_changes.iter().map(ToString::to_string).collect();
    (!changes.is_empty()).then(|| {
        let changes = changes.join(", ");
        format!("the study keeps its own settings until `unyoke amend` ({changes})")
    })
}

/// What is possible but probably not meant.
fn warnings(file: &StudyFile) -> Vec<String> {
    let without = without_command(file).into_iter().map(|run| {
        format!(
            "{} has no command: use `unyoke ask` and `unyoke tell`; `unyoke run` needs a command \
             for each measurement",
            run.measurement
        )
    });
    let missing = program_not_found(file).into_iter().map(|run| {
        let program = run.command.as_ref().and_then(CommandTemplate::program).unwrap_or_default();
        format!("{}: the program {program:?} is not found here", run.measurement)
    });
    let scripts = file.run.measurements.iter().filter_map(script_warning);
    without.chain(missing).chain(scripts).collect()
}

/// A value inside a script is no longer one argument: the shell takes it apart.
fn script_warning(run: &MeasurementRun) -> Option<String> {
    let inside = run.command.as_ref()?.parameters_in_scripts();
    let name = inside.first()?;
    Some(format!(
        "{}: {{{name}}} stands inside a shell script, where the shell interprets the value; pass it \
         as an argument: [\"sh\", \"-c\", \"... \\\"$1\\\"\", \"sh\", \"{{{name}}}\"]",
        run.measurement
    ))
}

fn without_command(file: &StudyFile) -> Vec<&MeasurementRun> {
    file.run.measurements.iter().filter(|run| run.command.is_none()).collect()
}

fn program_not_found(file: &StudyFile) -> Vec<&MeasurementRun> {
    file.run.measurements.iter().filter(|run| !is_found(run)).collect()
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
fn is_found(run: &MeasurementRun) -> bool {
    let program = run.command.as_ref().and_then(CommandTemplate::program);
    let Some(program) = program else { return true };
    if program.contains('/') {
        return run.directory.join(program).exists();
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}
