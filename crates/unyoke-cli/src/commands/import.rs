//! `unyoke import`: results from elsewhere, as CSV.

use clap::Args;
use csv::StringRecord;
use serde_json::json;
use std::io::Read;
use std::path::PathBuf;
use std::process::ExitCode;
use unyoke::{Design, Output, Parameter, Problem, Reading, Study, near};

use crate::arguments::StudyOption;
use crate::cells::from_cell;
use crate::failure::Failure;
use crate::output::{Form, complain, say, say_json};
use crate::words::{count, with_value};

/// Arguments of `unyoke import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke import old.csv
  unyoke import old.csv --skip-bad      leaves out rows with mistakes
  other-program | unyoke import -

The first line names the columns: all parameters, and the outputs that were measured:

  length,material,mass,deflection
  0.5,oak,1.25,
  0.7,steel,,0.031

A blank cell means that this output was not measured there. A column mass.sd may have the standard
errors of mass. Nothing is imported unless all rows are valid. Values that the study has already are
left out, so a file may be imported again.")]
pub(crate) struct Arguments {
    /// The CSV file; - reads standard input.
    csv: PathBuf,
    /// Import the rows that are valid, and leave out the others.
    #[arg(long)]
    skip_bad: bool,
    #[command(flatten)]
    study: StudyOption,
}

/// One value of one output at one design.
type Measured = (Design, String, Reading);

/// What a file holds, and what is wrong with it.
#[derive(Debug, Default)]
struct Content {
    results: Vec<Measured>,
    /// Each with its line.
    mistakes: Vec<(u64, String)>,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let content = read(&text(arguments)?, &file.problem)?;
    for (line, mistake) in &content.mistakes {
        complain(&format!("{}:{line}: {mistake}", arguments.csv.display()));
    }
    if !content.mistakes.is_empty() && !arguments.skip_bad {
        let mistakes = count(content.mistakes.len(), "mistake");
        let reason = format!("{mistakes}, nothing was imported; --skip-bad leaves such rows out");
        return Err(Failure::Refused(reason));
    }
    let mut study = file.open_or_create()?.study;
    // Others may be importing the same file: what is new is decided when it is written.
    let new = study.tell_missing_results(&content.results)?;
    let known = content.results.len() - new.len();
    let outside = new.iter().filter(|i| is_outside(&file.problem, &content.results[**i].0)).count();
    if form == Form::Json {
        let bad = content.mistakes.len();
        say_json(&json!({
            "imported": new.len(), "known": known, "outside_bounds": outside, "mistakes": bad,
        }))?;
    } else {
        let before = if known > 0 { format!(", {known} known already") } else { String::new() };
        say(&format!("{} imported{before}", count(new.len(), "value")))?;
        if outside > 0 {
            let values = count(outside, "value");
            say(&format!("{values} at designs outside the bounds: models learn from them"))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(arguments: &Arguments) -> Result<String, Failure> {
    let path = &arguments.csv;
    let mut text = String::new();
    let read = match path.to_str() {
        Some("-") => std::io::stdin().read_to_string(&mut text),
        _ => std::fs::File::open(path).and_then(|mut file| file.read_to_string(&mut text)),
    };
    read.map_err(|error| Failure::file(path, &error))?;
    Ok(text)
}

fn read(text: &str, problem: &Problem) -> Result<Content, Failure> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| Failure::Refused(format!("not CSV: {error}"));
    let head = reader.headers().map_err(unreadable)?;
    let head = head.iter().map(|cell| column_name(cell, problem)).collect();
    check_columns(&head, problem)?;
    // Here, values meet the checks of the engine before anything is written down.
    let mut trial = Study::new(problem.clone())?;
    let mut content = Content::default();
    for record in reader.records() {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                let line = error.position().map_or(0, csv::Position::line);
                content.mistakes.push((line, error.to_string()));
                continue;
            }
        };
        match row(&head, &record, problem, &mut trial) {
            Ok(results) => content.results.extend(results),
            Err(mistake) => {
                let line = record.position().map_or(0, csv::Position::line);
                content.mistakes.push((line, mistake));
            }
        }
    }
    Ok(content)
}

/// The name that a column has. Blanks around it belong to it only if there is such a name.
fn column_name(cell: &str, problem: &Problem) -> String {
    let name = from_cell(cell);
    match column_names(problem).iter().any(|known| known == name) {
        true => name.to_owned(),
        false => from_cell(cell.trim()).to_owned(),
    }
}

/// The outputs that can be measured.
fn measured(problem: &Problem) -> impl Iterator<Item = &Output> {
    problem.outputs.iter().filter(|output| output.formula.is_none())
}

/// The names that columns may have.
fn column_names(problem: &Problem) -> Vec<String> {
    let parameters = problem.parameters.iter().map(|parameter| parameter.name().to_owned());
    let outputs = measured(problem).map(|output| output.name.clone());
    let errors = measured(problem).map(|output| error_column(&output.name));
    parameters.chain(outputs).chain(errors).collect()
}

/// The column with the standard errors of an output.
pub(crate) fn error_column(output: &str) -> String {
    format!("{output}.sd")
}

/// The text of a cell. Blanks around it belong to it only if there is such a choice.
fn cell_text<'a>(cell: &'a str, parameter: &Parameter) -> &'a str {
    let text = from_cell(cell);
    match parameter {
        Parameter::Categorical { choices, .. } if choices.iter().any(|choice| choice == text) => {
            text
        }
        _ => from_cell(cell.trim()),
    }
}

/// Columns must be parameters or outputs, and all parameters must be there.
fn check_columns(head: &StringRecord, problem: &Problem) -> Result<(), Failure> {
    let parameters = || problem.parameters.iter().map(Parameter::name);
    let known = column_names(problem);
    let known = || known.iter().map(String::as_str);
    let mut wrong: Vec<String> = vec![];
    for (i, column) in head.iter().enumerate() {
        if !known().any(|name| name == column) {
            let hint = near(column, known())
                .map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            wrong.push(format!("{column:?} is neither a parameter nor a measured output{hint}"));
        } else if head.iter().take(i).any(|earlier| earlier == column) {
            wrong.push(format!("there are two columns {column:?}"));
        }
    }
    let missing = parameters().filter(|name| !head.iter().any(|column| column == *name));
    wrong.extend(missing.map(|name| format!("there is no column for the parameter {name:?}")));
    if wrong.is_empty() { Ok(()) } else { Err(Failure::Refused(wrong.join("\n"))) }
}

/// The results in a row, all of them valid.
fn row(
    head: &StringRecord,
    record: &StringRecord,
    problem: &Problem,
    trial: &mut Study,
) -> Result<Vec<Measured>, String> {
    let cell = |name: &str| {
        let column = head.iter().position(|column| column == name);
        column.and_then(|column| record.get(column)).unwrap_or_default()
    };
    let mut design = Design::new();
    for parameter in &problem.parameters {
        match cell_text(cell(parameter.name()), parameter) {
            "" => {
                return Err(format!(
                    "{} is blank, but a parameter needs a value",
                    parameter.name()
                ));
            }
            text => design = with_value(design, parameter, text)?,
        }
    }
    let mut results = vec![];
    for Output { name, .. } in measured(problem) {
        let (text, error) = (cell(name).trim(), error_column(name));
        let sd = match cell(&error).trim() {
            "" => None,
            _ if text.is_empty() => {
                return Err(format!("{error} has a value, but {name} has none"));
            }
            sd => Some(number(&error, sd, "its error is not known")?),
        };
        if text.is_empty() {
            continue;
        }
        let reading = Reading { value: number(name, text, "it was not measured")?, sd };
        trial.tell_result(design.clone(), name, reading).map_err(|error| error.to_string())?;
        results.push((design.clone(), name.clone(), reading));
    }
    Ok(results)
}

fn number(name: &str, text: &str, blank: &str) -> Result<f64, String> {
    text.parse()
        .map_err(|_| format!("{name} is {text:?}, but must be a number, or blank if {blank}"))
}

/// Whether a number of a design is beyond the bounds of its parameter.
fn is_outside(problem: &Problem, design: &Design) -> bool {
    let number = |p: &Parameter| design.get(p.name()).and_then(unyoke::Value::as_f64);
    problem.parameters.iter().any(|parameter| match parameter {
        Parameter::Continuous { low, high, .. } => {
            number(parameter).is_some_and(|x| x < *low || x > *high)
        }
        Parameter::Integer { low, high, .. } => {
            number(parameter).is_some_and(|x| x < *low as f64 || x > *high as f64)
        }
        Parameter::Categorical { .. } => false,
    })
}
