//! `unyoke tell`: records what came out of an evaluation.

use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;
use unyoke::{Design, Evaluation, Outcome, Problem, Reading, Status, Study};
use unyoke_run::{BY_HAND, Budget, Opened};
use unyoke_store::{LeaseStatus, Store};

use crate::arguments::StudyOption;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::words::{is_over_budget, parse_design, readings, spent_of};

/// Arguments of `unyoke tell`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke tell 12 3.75                       evaluation 12 gave 3.75
  unyoke tell 12 lift=1.2 drag=0.3          it gives two outputs
  unyoke tell 12 lift=1.2±0.05 drag=0.3     one of them with its standard error; +- for ± is read
  unyoke tell 12 lift=1.2 --missing \"no wake found\"
                                            it gave only one of them
  unyoke tell 12 3.75 --cost 3.2            it really cost 3.2
  unyoke tell 12 3.75 --at temperature=176  it was made at this temperature, not the one asked for
  unyoke tell 12 --failed \"specimen broke\"  it gave nothing; that counts as spent
  unyoke tell 12 --withdraw                 it will not be made after all; nothing is spent
  unyoke tell 12 3.75 --replace             it was recorded as failed, but gave 3.75 after all
  unyoke tell 12 3.75 --study beam.toml")]
pub(crate) struct Arguments {
    /// The number of the evaluation, from `unyoke ask` or `unyoke status`.
    evaluation: u64,
    /// Its value, or OUTPUT=VALUE for each of several outputs.
    #[arg(
        value_name = "VALUE",
        allow_negative_numbers = true,
        required_unless_present_any = ["failed", "withdraw"]
    )]
    values: Vec<String>,
    /// Why other outputs of the measurement have no value.
    #[arg(long, value_name = "REASON", requires = "values")]
    missing: Option<String>,
    /// It was made and gave no value, for this reason.
    #[arg(long, value_name = "REASON", conflicts_with_all = ["values", "withdraw"])]
    failed: Option<String>,
    /// What it really cost.
    #[arg(long, value_name = "COST", allow_negative_numbers = true)]
    cost: Option<f64>,
    /// What the design really was, where it was not as asked for: name=value, separated by commas. May
    /// be repeated.
    #[arg(long, value_name = "DESIGN", requires = "values")]
    at: Vec<String>,
    /// It will not be made.
    #[arg(long, conflicts_with_all = ["values", "cost"])]
    withdraw: bool,
    /// Record the values although the evaluation is recorded as failed.
    #[arg(long, requires = "values")]
    replace: bool,
    #[command(flatten)]
    study: StudyOption,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let Opened { mut study, store } = file.open()?;
    let id = arguments.evaluation;
    let before = find(&study, id).map(|evaluation| evaluation.status.clone());
    record(arguments, &mut study)?;
    give_back(&store, id)?;
    let mut notes = vec![];
    if before == Some(Status::Withdrawn) {
        notes.push("it had been withdrawn; its value and its cost count now".to_owned());
    }
    if let Some(owner) = owner_of(&store, id)? {
        notes.push(format!(
            "{owner} is still working on it; what comes out is kept as a late result and does not \
             count"
        ));
    }
    if is_over_budget(study.spent(), file.budget.cost) {
        notes.push("the budget is exceeded: nothing more will be asked for".to_owned());
    }
    let evaluation = find(&study, id).ok_or(unyoke::Error::UnknownEvaluation { id })?;
    match form {
        Form::Json => say_json(&json!({
            "evaluation": id,
            "status": evaluation.status.word(),
            "values": values_as_json(study.problem(), evaluation),
            "spent": study.spent(),
            "notes": notes,
        }))?,
        Form::Table => say(&in_words(evaluation, &notes, &study, &file.budget))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Records what the arguments say.
fn record(arguments: &Arguments, study: &mut Study<Store>) -> Result<(), Failure> {
    let id = arguments.evaluation;
    if arguments.withdraw {
        return Ok(study.withdraw(id)?);
    }
    let outcome = outcome(arguments, study)?;
    if arguments.replace {
        return Ok(study.replace_failure(id, outcome)?);
    }
    match study.tell(id, outcome) {
        Err(unyoke::Error::AlreadySettled { how: "failed", .. })
            if !arguments.values.is_empty() =>
        {
            Err(failed_before(arguments, study))
        }
        recorded => Ok(recorded?),
    }
}

/// What came out, as it was typed.
fn outcome(arguments: &Arguments, study: &Study<Store>) -> Result<Outcome, Failure> {
    let id = arguments.evaluation;
    let evaluation = find(study, id).ok_or(unyoke::Error::UnknownEvaluation { id })?;
    let mut outcome = match &arguments.failed {
        Some(reason) => Outcome::default().missing(reason),
        None => values(arguments, study.problem(), evaluation)?,
    };
    if let Some(cost) = arguments.cost {
        outcome = outcome.cost(cost);
    }
    if !arguments.at.is_empty() {
        let typed = parse_design(study.problem(), &arguments.at.join(","))?;
        let really = |design: Design, (name, value): (&str, &unyoke::Value)| {
            design.with(name, value.clone())
        };
        outcome = outcome.at(typed.iter().fold(evaluation.design.clone(), really));
    }
    Ok(outcome)
}

/// The values that were typed. An output that was forgotten could not be recorded later, so all of
/// them are wanted, or a reason why some are missing.
fn values(
    arguments: &Arguments,
    problem: &Problem,
    evaluation: &Evaluation,
) -> Result<Outcome, Failure> {
    if let [text] = &arguments.values[..]
        && !text.contains('=')
    {
        return Ok(reading(text)?.into());
    }
    let mut outcome = Outcome::default();
    let mut named: Vec<&str> = vec![];
    for text in &arguments.values {
        let Some((name, value)) = text.rsplit_once('=') else {
            let reason = format!("{text:?} is not OUTPUT=VALUE, as in lift=1.2");
            return Err(Failure::Refused(reason));
        };
        problem.output_index(name)?;
        if named.contains(&name) {
            return Err(Failure::Refused(format!("there are two values of {name}")));
        }
        named.push(name);
        outcome = outcome.value(name, reading(value)?);
    }
    let names = evaluation.outputs.iter().map(|output| problem.outputs[*output].name.as_str());
    let left_out: Vec<&str> = names.filter(|name| !named.contains(name)).collect();
    match &arguments.missing {
        Some(reason) => Ok(outcome.missing(reason)),
        None if left_out.is_empty() => Ok(outcome),
        None => Err(Failure::Refused(format!(
            "evaluation {} gives {} as well; add the value, or say with --missing REASON why there \
             is none",
            arguments.evaluation,
            left_out.join(", "),
        ))),
    }
}

/// A value with or without its standard error: `1.2`, `1.2±0.05` or `1.2+-0.05`.
fn reading(text: &str) -> Result<Reading, Failure> {
    let wrong = || {
        Failure::Refused(format!("{text:?} is not a number, or a number and its error: 1.2±0.05"))
    };
    let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
    let (value, sd) = match text.split_once('±').or_else(|| text.split_once("+-")) {
        Some((value, sd)) => (number(value)?, Some(number(sd)?)),
        None => (number(text)?, None),
    };
    if !value.is_finite() {
        return Err(Failure::Refused(format!(
            "{value} is not a value; `--failed REASON` says that there is none"
        )));
    }
    Ok(Reading { value, sd })
}

/// A value and a failure contradict each other: somebody has to say which one holds.
fn failed_before(arguments: &Arguments, study: &Study<Store>) -> Failure {
    let id = arguments.evaluation;
    let reason = match find(study, id).map(|evaluation| &evaluation.status) {
        Some(Status::Failed(reason)) => format!(" ({reason})"),
        _ => String::new(),
    };
    let values = arguments.values.join(" ");
    Failure::Refused(format!(
        "evaluation {id} is already recorded as failed{reason}; `unyoke tell {id} {values} --replace` \
         records the value in its place"
    ))
}

fn in_words(
    evaluation: &Evaluation,
    notes: &[String],
    study: &Study<Store>,
    budget: &Budget,
) -> String {
    let problem = study.problem();
    let what = match &evaluation.status {
        Status::Completed(results) => {
            let name = |output: usize| problem.outputs[output].name.as_str();
            let measurement = match evaluation.outputs[..] {
                [only] => name(only),
                _ => "",
            };
            let values = results.iter().map(|(output, reading)| (name(output), reading));
            format!("recorded as {}", readings(measurement, values))
        }
        Status::Failed(_) => "recorded as failed".to_owned(),
        other => other.word().to_owned(),
    };
    let id = evaluation.id;
    let mut words = format!("evaluation {id} is {what}; {}", spent_of(study.spent(), budget.cost));
    for note in notes {
        words += &format!("\n  {note}");
    }
    words
}

/// The values of an evaluation by output.
fn values_as_json(problem: &Problem, evaluation: &Evaluation) -> Value {
    let Status::Completed(results) = &evaluation.status else { return json!({}) };
    let pair = |(output, Reading { value, sd }): (usize, Reading)| {
        (problem.outputs[output].name.clone(), json!({ "value": value, "sd": sd }))
    };
    Value::Object(results.iter().map(pair).collect())
}

fn find(study: &Study<Store>, id: u64) -> Option<&Evaluation> {
    study.evaluations().iter().find(|evaluation| evaluation.id == id)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_and_without_their_errors() {
        let read = |text: &str| reading(text).unwrap();
        assert_eq!(read("1.2"), Reading { value: 1.2, sd: None });
        for text in ["-1.2±0.05", "-1.2+-0.05", "-1.2 ± 5e-2"] {
            assert_eq!(read(text), Reading { value: -1.2, sd: Some(0.05) });
        }
        assert_eq!(read("1e+3"), Reading { value: 1e3, sd: None });
        for wrong in ["", "a", "1.2±", "±0.1", "1±2±3", "nan", "inf"] {
            assert!(reading(wrong).is_err(), "{wrong}");
        }
    }
}
