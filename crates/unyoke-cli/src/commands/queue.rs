//! `unyoke queue`: designs of the user's own, which are measured before anything is searched for.

use clap::Args;
use serde_json::json;
use std::process::ExitCode;
use unyoke::{Design, Problem, Study};
use unyoke_run::Opened;
use unyoke_store::Store;

use crate::arguments::StudyOption;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::words::{exact_design, parse_design};

/// Arguments of `unyoke queue`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke queue x=0.3 y=0.5             everything that is not known at this design
  unyoke queue x=0.3 y=0.5 fem         only this measurement, also if it was made there before
  unyoke queue                         shows what waits
  unyoke skip q0                       takes entry q0 out of the queue

What is queued is handed out by `unyoke run` and `unyoke ask` before anything is searched for, as soon as the
budget, slots and pauses allow it.")]
pub(crate) struct Arguments {
    /// A value for each parameter, and the measurement if not all are wanted.
    #[arg(value_name = "PARAMETER=VALUE | MEASUREMENT")]
    words: Vec<String>,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    if arguments.words.is_empty() {
        return show(&file.open()?.study, form);
    }
    let (design, measurement) = wanted(&file.problem, &arguments.words)?;
    let Opened { mut study, .. } = file.open_or_create()?;
    let entry = study.queue(design.clone(), measurement.as_deref())?;
    let awaited = waiting(&study)?.into_iter().find(|one| one.0 == entry);
    let measurements = awaited.map(|(_, _, measurements)| measurements).unwrap_or_default();
    match form {
        Form::Json => say_json(&json!({
            "entry": entry, "design": design, "measurements": measurements,
        }))?,
        Form::Table => say(&format!(
            "queued as q{entry}: {} at {}",
            measurements.join(", "),
            exact_design(study.problem(), &design)
        ))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The design and the measurement that were typed.
fn wanted(problem: &Problem, words: &[String]) -> Result<(Design, Option<String>), Failure> {
    let (mut pairs, mut measurement) = (vec![], None);
    for word in words {
        let is_name = problem.measurements.iter().any(|m| m.name == *word);
        match word.contains('=') && !is_name {
            true => pairs.push(word.as_str()),
            false if measurement.is_some() => {
                return Err(Failure::Refused(format!(
                    "{word:?} is a second measurement; queue the design once for each"
                )));
            }
            false => {
                problem.measurement_index(word)?;
                measurement = Some(word.clone());
            }
        }
    }
    if pairs.is_empty() {
        let reason = "a design is needed: a value for each parameter, as in x=0.3 y=0.5";
        return Err(Failure::Refused(reason.to_owned()));
    }
    Ok((parse_design(problem, &pairs.join(","))?, measurement))
}

type Waiting = (u64, Design, Vec<String>);

/// What waits, with the names of measurements.
fn waiting(study: &Study<Store>) -> Result<Vec<Waiting>, Failure> {
    let name = |m: &usize| study.problem().measurements[*m].name.clone();
    let queued = study.queued()?.into_iter();
    Ok(queued
        .map(|(one, awaited)| (one.entry, one.design.clone(), awaited.iter().map(name).collect()))
        .collect())
}

fn show(study: &Study<Store>, form: Form) -> Result<ExitCode, Failure> {
    let waiting = waiting(study)?;
    if form == Form::Json {
        let view = |(entry, design, measurements): &Waiting| json!({ "entry": entry, "design": design, "measurements": measurements });
        say_json(&waiting.iter().map(view).collect::<Vec<_>>())?;
    } else if waiting.is_empty() {
        say("nothing is queued")?;
    } else {
        for (entry, design, measurements) in &waiting {
            let at = exact_design(study.problem(), design);
            say(&format!("q{entry}: {} at {at}", measurements.join(", ")))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
