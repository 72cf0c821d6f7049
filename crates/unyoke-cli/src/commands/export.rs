//! `unyoke export`: evaluations as CSV or JSON, or the journal as lines of JSON.

use clap::{Args, ValueEnum};
use std::process::ExitCode;
use unyoke::{FORMAT, Journal, Problem, Record, Study};
use unyoke_store::Store;
use unyoke_view::{EvaluationView, evaluations};

use crate::arguments::StudyArgument;
use crate::cells::to_cell;
use crate::commands::import::error_column;
use crate::failure::Failure;
use crate::output::{Form, say_json, say_raw};

/// Arguments of `unyoke export`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke export > evaluations.csv              a row for each evaluation
  unyoke export --json > evaluations.json      the same as JSON
  unyoke export --as designs > designs.csv     a row for each design; `unyoke import` reads it
  unyoke export --as journal > journal.jsonl   every event, in the format of today

A text that a spreadsheet would take for a formula is written with an apostrophe before it;
`unyoke import` removes it.")]
pub(crate) struct Arguments {
    #[command(flatten)]
    study: StudyArgument,
    /// In which form.
    #[arg(long = "as", value_enum, default_value_t = What::Evaluations)]
    what: What,
}

/// What is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum What {
    /// CSV with a row for each evaluation, whatever became of it; with --json, JSON.
    Evaluations,
    /// CSV with a row for each design that has values; blank where not measured.
    Designs,
    /// The journal, a line of JSON for each event.
    Journal,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    // The study as it was begun, whatever the file says by now: values can always be taken along.
    let store = Store::open(&arguments.study.read()?.store)?;
    let study = Study::open(store.clone())?;
    let (problem, evaluations) = (study.problem(), evaluations(&study));
    match (arguments.what, form) {
        (What::Evaluations, Form::Json) => say_json(&evaluations)?,
        (What::Evaluations, Form::Table) => say_raw(&csv(by_evaluation(problem, &evaluations))?)?,
        (What::Designs, _) => say_raw(&csv(by_design(problem, &evaluations))?)?,
        (What::Journal, _) => {
            let records = store.read(0).map_err(unyoke::Error::from)?;
            // Whatever format they are kept in, this is how they are written today.
            let today = records.into_iter().map(|record| Record { format: FORMAT, ..record });
            let lines: serde_json::Result<Vec<String>> =
                today.map(|record| serde_json::to_string(&record)).collect();
            say_raw(&lines.map_err(std::io::Error::from)?.join("\n"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn csv(rows: Vec<Vec<String>>) -> Result<String, Failure> {
    let mut writer = csv::Writer::from_writer(vec![]);
    for row in rows {
        writer.write_record(row.iter().map(|cell| to_cell(cell))).map_err(std::io::Error::from)?;
    }
    let bytes = writer.into_inner().map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn parameter_names(problem: &Problem) -> impl Iterator<Item = String> {
    problem.parameters.iter().map(|parameter| parameter.name().to_owned())
}

fn parameter_values(problem: &Problem, evaluation: &EvaluationView) -> Vec<String> {
    let text = |parameter: &unyoke::Parameter| {
        evaluation.design.get(parameter.name()).map_or_else(String::new, ToString::to_string)
    };
    problem.parameters.iter().map(text).collect()
}

/// The columns of outputs: each that is measured, and its standard error if any value has one.
struct Columns {
    /// The output, and whether the column is of its standard errors.
    columns: Vec<(String, Shown)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Value,
    Error,
}

impl Columns {
    fn new(problem: &Problem, evaluations: &[EvaluationView]) -> Self {
        let has_errors = |name: &str| {
            let readings = evaluations.iter().filter_map(|e| e.values.get(name));
            readings.into_iter().any(|reading| reading.sd.is_some())
        };
        let measured = problem.outputs.iter().filter(|output| output.formula.is_none());
        let of = |output: &unyoke::Output| {
            let error = has_errors(&output.name).then(|| (output.name.clone(), Shown::Error));
            std::iter::once((output.name.clone(), Shown::Value)).chain(error)
        };
        Self { columns: measured.flat_map(of).collect() }
    }

    fn names(&self) -> impl Iterator<Item = String> {
        self.columns.iter().map(|(name, shown)| match shown {
            Shown::Value => name.clone(),
            Shown::Error => error_column(name),
        })
    }

    /// What an evaluation has to say in each column; blank where not measured.
    fn cells(&self, evaluation: &EvaluationView) -> Vec<String> {
        let cell = |(name, shown): &(String, Shown)| {
            let reading = evaluation.values.get(name)?;
            let number = match shown {
                Shown::Value => Some(reading.value),
                Shown::Error => reading.sd,
            };
            number.map(|number| number.to_string())
        };
        self.columns.iter().map(|column| cell(column).unwrap_or_default()).collect()
    }
}

fn by_evaluation(problem: &Problem, evaluations: &[EvaluationView]) -> Vec<Vec<String>> {
    let columns = Columns::new(problem, evaluations);
    let fields = ["evaluation", "measurement", "status", "cost", "spent", "origin", "reason"];
    let are_corrected = evaluations.iter().any(|e| !e.superseded.is_empty());
    let changes = are_corrected.then_some("changes");
    let head = fields.into_iter().chain(changes).map(str::to_owned);
    let head = head.chain(parameter_names(problem)).chain(columns.names()).collect();
    let row = |e: &EvaluationView| {
        let own = [
            e.evaluation.to_string(),
            e.measurement.clone().unwrap_or_default(),
            e.status.word().to_owned(),
            e.cost.to_string(),
            e.spent.to_string(),
            e.origin.word().to_owned(),
            e.reason.clone().unwrap_or_default(),
        ];
        let changes = are_corrected.then(|| e.changes().unwrap_or_default());
        let own = own.into_iter().chain(changes);
        own.chain(parameter_values(problem, e)).chain(columns.cells(e)).collect()
    };
    std::iter::once(head).chain(evaluations.iter().map(row)).collect()
}

/// Designs in the order in which they were first met; a design has as many rows as its most often
/// measured output has values.
fn by_design(problem: &Problem, evaluations: &[EvaluationView]) -> Vec<Vec<String>> {
    let columns = Columns::new(problem, evaluations);
    let mut rows: Vec<Vec<String>> =
        vec![parameter_names(problem).chain(columns.names()).collect()];
    let width = problem.parameters.len();
    for evaluation in evaluations.iter().filter(|e| !e.values.is_empty()) {
        let (values, cells) = (parameter_values(problem, evaluation), columns.cells(evaluation));
        // Values that were measured together stay together.
        let is_free = |row: &&mut Vec<String>| {
            let taken = row[width..].iter().zip(&cells);
            row[..width] == values
                && taken.into_iter().all(|(old, new)| old.is_empty() || new.is_empty())
        };
        match rows.iter_mut().skip(1).find(is_free) {
            Some(row) => {
                for (old, new) in row[width..].iter_mut().zip(cells) {
                    if !new.is_empty() {
                        *old = new;
                    }
                }
            }
            None => rows.push(values.into_iter().chain(cells).collect()),
        }
    }
    rows
}
