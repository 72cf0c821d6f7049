//! `unyoke tell`: records what came out of an evaluation, or that what was recorded is wrong.

use clap::{ArgGroup, Args};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unyoke::{Design, Evaluation, Outcome, Problem, Reading, Status, Study};
use unyoke_run::{Budget, Entry, Opened, StudyFile, left_out, record_by_hand, release_by_hand};
use unyoke_store::Store;
use unyoke_view::{EvaluationStatus, EvaluationView, ReadingView, evaluations};

use crate::arguments::{MINUS, StudyOption};
use crate::commands::worksheet;
use crate::failure::Failure;
use crate::output::{Form, say, say_json};
use crate::table;
use crate::words::{count, is_over_budget, parse_design, readings, spent_of};

/// Arguments of `unyoke tell`.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("result").args(["values", "correct"]).multiple(true))]
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
  unyoke tell --correct 12 3.75             what was recorded is wrong: it gave 3.75, not 37.5
  unyoke tell --correct 12 drag=0.3         its drag is wrong; the other outputs stay as they were
  unyoke tell --correct 12 --cost 3.2       what it cost is wrong
  unyoke tell --correct 12 --failed \"specimen broke\"
                                            what it gave was no value
  unyoke tell --retract 12 wrong mesh       what it gave does not count, for this reason if there is
                                            one; its cost stays spent, its design may be asked for again
  unyoke tell --csv monday.csv              all rows of a worksheet, see `unyoke ask --csv`
  unyoke tell 12 3.75 --study beam.toml

In a worksheet, blank cells are still pending and the word failed is a failure (failed: it broke). Nothing is
recorded unless all rows are valid; the same worksheet may be read again when more of it is filled in.

Corrections hold from the start: what is suggested from then on is what would be suggested had the right
value been recorded at once. What was recorded before is kept and shown.")]
pub(crate) struct Arguments {
    /// The number of the evaluation, from `unyoke ask` or `unyoke status`.
    #[arg(required_unless_present = "csv")]
    evaluation: Option<u64>,
    /// Its value, or OUTPUT=VALUE for each of several outputs; with --retract, the reason.
    #[arg(
        value_name = "VALUE",
        allow_negative_numbers = true,
        required_unless_present_any = ["failed", "withdraw", "correct", "retract", "csv"]
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
    #[arg(long, value_name = "DESIGN", requires = "result")]
    at: Vec<String>,
    /// It will not be made.
    #[arg(long, conflicts_with_all = ["values", "cost"])]
    withdraw: bool,
    /// Record the values although the evaluation is recorded as failed; --correct does the same, and
    /// keeps the failure in view.
    #[arg(long, requires = "values")]
    replace: bool,
    /// What was recorded of it is wrong: this holds instead.
    #[arg(long, conflicts_with_all = ["withdraw", "replace", "retract"])]
    correct: bool,
    /// What was recorded of it does not count any more.
    #[arg(long, conflicts_with_all = ["withdraw", "replace", "failed", "missing", "cost", "at"])]
    retract: bool,
    /// Read a worksheet that `unyoke ask --csv` printed and somebody filled in; - reads standard input.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "evaluation", "values", "failed", "missing", "cost", "at", "withdraw", "replace", "correct", "retract",
    ])]
    csv: Option<PathBuf>,
    #[command(flatten)]
    format: table::Format,
    #[command(flatten)]
    study: StudyOption,
}

impl Arguments {
    /// The evaluation, where there is no worksheet.
    fn id(&self) -> u64 {
        self.evaluation.unwrap_or_default()
    }
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    if let Some(path) = &arguments.csv {
        return worksheet(arguments, &file, path, form);
    }
    let Opened { mut study, store } = file.open()?;
    let id = arguments.id();
    let mut notes = record(arguments, &mut study, &store)?;
    if is_over_budget(study.spent(), file.budget.cost) {
        notes.push("the budget is exceeded: nothing more will be asked for".to_owned());
    }
    let shown = evaluations(&study).into_iter().find(|shown| shown.evaluation == id);
    let shown = shown.ok_or(unyoke::Error::UnknownEvaluation { id })?;
    match form {
        Form::Json => say_json(&json!({
            "evaluation": id,
            "status": shown.status.word(),
            "values": shown.values,
            "superseded": shown.superseded,
            "spent": study.spent(),
            "notes": notes,
        }))?,
        Form::Table => say(&in_words(&shown, &notes, &study, &file.budget))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Records what a worksheet says.
fn worksheet(
    arguments: &Arguments,
    file: &StudyFile,
    path: &Path,
    form: Form,
) -> Result<ExitCode, Failure> {
    let filled = worksheet::read(path, &arguments.format, &mut file.look()?.study)?;
    let Opened { mut study, store } = file.open()?;
    worksheet::record(&mut study, &filled)?;
    for (id, _) in &filled.outcomes {
        release_by_hand(&store, *id)?;
    }
    let ids: Vec<u64> = filled.outcomes.iter().map(|(id, _)| *id).collect();
    if form == Form::Json {
        say_json(&json!({
            "recorded": ids,
            "pending": filled.blank,
            "known": filled.known,
            "spent": study.spent(),
            "notes": filled.notes,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for note in &filled.notes {
        say(&format!("note: {note}"))?;
    }
    for shown in evaluations(&study).iter().filter(|shown| ids.contains(&shown.evaluation)) {
        say(&format!("evaluation {}{}", shown.evaluation, result_in_words(shown)))?;
    }
    let mut counts = vec![format!("{} recorded", count(ids.len(), "evaluation"))];
    if !filled.known.is_empty() {
        counts.push(format!("{} recorded before", filled.known.len()));
    }
    if !filled.blank.is_empty() {
        counts.push(format!("{} still pending", filled.blank.len()));
    }
    say(&format!("{}; {}", counts.join(", "), spent_of(study.spent(), file.budget.cost)))?;
    Ok(ExitCode::SUCCESS)
}

/// Records what the arguments say; returns what to know about it.
fn record(
    arguments: &Arguments,
    study: &mut Study<Store>,
    store: &Store,
) -> Result<Vec<String>, Failure> {
    let id = arguments.id();
    if find(study, id).is_none() {
        return Err(unknown(study, id));
    }
    let entry = entry(arguments, study)?;
    record_by_hand(study, store, id, entry).map_err(|error| match error {
        unyoke_run::Error::Study(error) => advised(arguments, study, error),
        other => other.into(),
    })
}

/// What the arguments say.
fn entry(arguments: &Arguments, study: &Study<Store>) -> Result<Entry, Failure> {
    if arguments.withdraw {
        return Ok(Entry::Withdrawal);
    }
    if arguments.retract {
        let reason = Some(arguments.values.join(" ")).filter(|reason| !reason.is_empty());
        return Ok(Entry::Retraction(reason));
    }
    let outcome = outcome(arguments, study)?;
    Ok(match (arguments.correct, arguments.replace) {
        (true, _) => Entry::Correction(outcome),
        (_, true) => Entry::InPlaceOfFailure(outcome),
        _ => Entry::Result(outcome),
    })
}

/// Which evaluations there are.
fn unknown(study: &Study<Store>, id: u64) -> Failure {
    Failure::Refused(match study.evaluations().len() {
        0 => format!("there is no evaluation {id}; nothing was asked for or imported yet"),
        1 => format!("there is no evaluation {id}; the only one is 0"),
        all => format!("there is no evaluation {id}; there are 0 to {}", all - 1),
    })
}

/// Why something was refused, with the command that would be right.
fn advised(arguments: &Arguments, study: &Study<Store>, error: unyoke::Error) -> Failure {
    let id = arguments.id();
    let values = match &arguments.values[..] {
        _ if arguments.retract => "VALUE".to_owned(),
        [] => "VALUE".to_owned(),
        values => values.join(" ").replace(MINUS, "-"),
    };
    let says = |status: &str, advice: &str| {
        Failure::Refused(format!("evaluation {id} is already recorded as {status}; {advice}"))
    };
    match error {
        unyoke::Error::AlreadySettled { how: "retracted", .. } if arguments.retract => {
            Failure::Refused(format!("evaluation {id} is already retracted"))
        }
        unyoke::Error::AlreadySettled { how, .. } => {
            let status = match find(study, id).map(|evaluation| &evaluation.status) {
                Some(Status::Failed(reason)) => format!("failed ({reason})"),
                _ => how.to_owned(),
            };
            let advice = match &arguments.failed {
                Some(_) => format!("`unyoke tell --correct {id} --failed REASON` replaces that"),
                None => format!("`unyoke tell --correct {id} {values}` replaces that"),
            };
            says(&status, &advice)
        }
        unyoke::Error::CannotCorrect { how: "pending", .. } if arguments.retract => {
            Failure::Refused(format!(
                "evaluation {id} is pending and has no result yet; `unyoke tell {id} --withdraw` \
                 takes it back"
            ))
        }
        unyoke::Error::CannotCorrect { how: "pending", .. } => Failure::Refused(format!(
            "evaluation {id} is pending and has no result yet; `unyoke tell {id} {values}` records \
             one"
        )),
        unyoke::Error::CannotCorrect { how: "withdrawn", .. } => Failure::Refused(format!(
            "evaluation {id} was withdrawn and has no result; `unyoke tell {id} {values}` records one \
             if it was made after all"
        )),
        other => other.into(),
    }
}

/// What came out, as it was typed.
fn outcome(arguments: &Arguments, study: &Study<Store>) -> Result<Outcome, Failure> {
    let id = arguments.id();
    let evaluation = find(study, id).ok_or(unyoke::Error::UnknownEvaluation { id })?;
    let mut outcome = match &arguments.failed {
        Some(reason) => Outcome::default().missing(reason),
        None if arguments.values.is_empty() => Outcome::default(),
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
    let left_out = left_out(problem, evaluation, |name| named.contains(&name));
    // What has a value keeps it when it is corrected.
    let is_known = arguments.correct && matches!(evaluation.status, Status::Completed(_));
    match &arguments.missing {
        Some(reason) => Ok(outcome.missing(reason)),
        None if left_out.is_empty() || is_known => Ok(outcome),
        None => Err(Failure::Refused(format!(
            "evaluation {} gives {} as well; add the value, or say with --missing REASON why there \
             is none",
            arguments.id(),
            left_out.join(", "),
        ))),
    }
}

/// A value with or without its standard error: `1.2`, `1.2±0.05` or `1.2+-0.05`.
fn reading(text: &str) -> Result<Reading, Failure> {
    let text = &text.replace(MINUS, "-");
    let wrong = || {
        let comma = if text.contains(',') { "; numbers have a decimal point" } else { "" };
        Failure::Refused(format!(
            "{text:?} is not a number, or a number and its error: 1.2±0.05{comma}"
        ))
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

fn in_words(
    shown: &EvaluationView,
    notes: &[String],
    study: &Study<Store>,
    budget: &Budget,
) -> String {
    let id = shown.evaluation;
    let what = result_in_words(shown);
    let mut words = format!("evaluation {id}{what}; {}", spent_of(study.spent(), budget.cost));
    for note in notes {
        words += &format!("\n  {note}");
    }
    words
}

/// What is recorded of an evaluation, to stand behind its number.
fn result_in_words(shown: &EvaluationView) -> String {
    match (shown.changes(), shown.status) {
        (Some(changes), _) => format!(": {changes}"),
        (None, EvaluationStatus::Completed) => {
            let only = match &shown.outputs[..] {
                [only] => only.as_str(),
                _ => "",
            };
            let reading = |name: &String| {
                let ReadingView { value, sd } = *shown.values.get(name)?;
                Some((name.clone(), Reading { value, sd }))
            };
            // In the order of the problem.
            let values: Vec<(String, Reading)> = shown.outputs.iter().filter_map(reading).collect();
            let values = values.iter().map(|(name, reading)| (name.as_str(), *reading));
            format!(" is recorded as {}", readings(only, values))
        }
        (None, EvaluationStatus::Failed) => match &shown.reason {
            Some(reason) => format!(" is recorded as failed: {reason}"),
            None => " is recorded as failed".to_owned(),
        },
        (None, other) => format!(" is {}", other.word()),
    }
}

fn find(study: &Study<Store>, id: u64) -> Option<&Evaluation> {
    study.evaluations().iter().find(|evaluation| evaluation.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_and_without_their_errors() {
        let read = |text: &str| reading(text).unwrap();
        assert_eq!(read("1.2"), Reading { value: 1.2, sd: None });
        for text in ["-1.2±0.05", "-1.2+-0.05", "-1.2 ± 5e-2", "−1.2±0.05"] {
            assert_eq!(read(text), Reading { value: -1.2, sd: Some(0.05) });
        }
        assert_eq!(read("1e+3"), Reading { value: 1e3, sd: None });
        for wrong in ["", "a", "1.2±", "±0.1", "1±2±3", "nan", "inf"] {
            assert!(reading(wrong).is_err(), "{wrong}");
        }
    }
}
