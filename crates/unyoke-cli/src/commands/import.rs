//! `unyoke import`: results from elsewhere, as CSV or in a workbook.
//!
//! How tables are written is found out in `table`. Here columns get their meaning, rows are checked, and
//! what they say is compared with what the study has.

use clap::Args;
use serde_json::json;
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use unyoke::{
    Design, Evaluation, Journal, Noise, Outcome, Output, Parameter, Problem, Reading, Status,
    Study, near,
};
use unyoke_run::{BY_HAND, Opened, StudyFile, release_by_hand};
use unyoke_store::{LeaseStatus, Store};

use crate::arguments::StudyOption;
use crate::cells::from_cell;
use crate::failure::Failure;
use crate::output::{Form, complain, say, say_json};
use crate::table::{Column, Format, Row, Table, is_blank, place};
use crate::words::{count, design as design_in_words, short};

/// Arguments of `unyoke import`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  unyoke import old.csv --dry-run       shows what would be imported, and changes nothing
  unyoke import old.csv
  unyoke import old.csv --skip-bad      leaves out rows with mistakes
  unyoke import old.xlsx --sheet Week3  a sheet of a workbook (xlsx, xls, ods)
  other-program | unyoke import -

The first line names the columns: all parameters, and the outputs that were measured:

  length,material,mass,deflection
  0.5,oak,1.25,
  0.7,steel,NA,0.031

A blank cell, or NA, means that this output was not measured there. A column mass.sd may have the standard
errors of mass; other columns are ignored. Cells may be separated by commas, semicolons or tabs, and numbers
may have a decimal comma: both are found out. Nothing is imported unless all rows are valid. Rows that occur
twice count once, and values that the study has already are left out, so a file may be imported again. Where
a row has all that a pending evaluation waits for, that evaluation is settled.")]
pub(crate) struct Arguments {
    /// The CSV file or workbook; - reads CSV from standard input.
    csv: PathBuf,
    /// Import the rows that are valid, and leave out the others.
    #[arg(long)]
    skip_bad: bool,
    /// Import rows as often as they occur: they are replicates, not copies.
    #[arg(long)]
    keep_duplicates: bool,
    /// Show what would be imported, and change nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    study: StudyOption,
}

/// One value of one output at one design.
type Measured = (Design, String, Reading);

/// A row that was understood.
#[derive(Debug, Clone, PartialEq)]
struct Given {
    line: u64,
    design: Design,
    values: Vec<(String, Reading)>,
}

/// What a file holds, and what is wrong with it.
#[derive(Debug, Default)]
struct Content {
    rows: Vec<Given>,
    /// Each with its line.
    mistakes: Vec<(u64, String)>,
    /// What should be known about it.
    notes: Vec<String>,
}

/// What is done with a file.
#[derive(Debug, Default)]
struct Import {
    /// Pending evaluations that get their results, with the line.
    settled: Vec<(u64, Outcome, u64)>,
    /// Everything else.
    added: Vec<Measured>,
}

pub(crate) fn run(arguments: &Arguments, form: Form) -> Result<ExitCode, Failure> {
    let file = arguments.study.read()?;
    let mut content = read(arguments, &file.problem)?;
    for (line, mistake) in &content.mistakes {
        complain(&format!("{}: {mistake}", place(&arguments.csv, *line)));
    }
    if !content.mistakes.is_empty() && !arguments.skip_bad {
        content.notes.iter().for_each(|note| complain(&format!("note: {note}")));
        let mistakes = count(content.mistakes.len(), "mistake");
        let reason = format!("{mistakes}, nothing was imported; --skip-bad leaves such rows out");
        return Err(Failure::Refused(reason));
    }
    if !arguments.keep_duplicates {
        drop_copies(&mut content);
    }
    match arguments.dry_run {
        true => preview(&file, &content, form),
        false => import(&file, &content, form),
    }
}

/// Writes what is new into the study.
fn import(file: &StudyFile, content: &Content, form: Form) -> Result<ExitCode, Failure> {
    let Opened { mut study, store } = file.open_or_create()?;
    let notes = notes(content, &study);
    let import = matched(content, &study, &evaluations_at_work(&store)?);
    for (id, outcome, _) in &import.settled {
        study.tell(*id, outcome.clone())?;
        release_by_hand(&store, *id)?;
    }
    // Others may be importing the same file: what is new is decided when it is written.
    let new = study.tell_missing_results(&import.added)?;
    let added: Vec<&Measured> = new.iter().map(|i| &import.added[*i]).collect();
    let known = import.added.len() - new.len();
    conclude(
        &study,
        &Outlook { content, settled: &import.settled, added, known, notes, verb: "imported" },
        form,
    )
}

/// Shows what an import would do, on a copy.
fn preview(file: &StudyFile, content: &Content, form: Form) -> Result<ExitCode, Failure> {
    let (mut study, taken) = match file.look() {
        Ok(looked) => (looked.study, evaluations_at_work(&looked.store)?),
        Err(unyoke_run::Error::Store(unyoke_store::Error::NoStudy { .. })) => {
            (Study::new(file.problem.clone())?, vec![])
        }
        Err(error) => return Err(error.into()),
    };
    let notes = notes(content, &study);
    let import = matched(content, &study, &taken);
    for (id, outcome, _) in &import.settled {
        study.tell(*id, outcome.clone())?;
    }
    let new = study.tell_missing_results(&import.added)?;
    let added: Vec<&Measured> = new.iter().map(|i| &import.added[*i]).collect();
    let known = import.added.len() - new.len();
    if form == Form::Table {
        for (design, output, Reading { value, sd }) in added.iter().take(SHOWN) {
            let at = design_in_words(study.problem(), design);
            say(&format!("  {output} = {} at {at}", unyoke_view::words::reading(*value, *sd)))?;
        }
        if added.len() > SHOWN {
            say(&format!("  and {} more", added.len() - SHOWN))?;
        }
    }
    conclude(
        &study,
        &Outlook {
            content,
            settled: &import.settled,
            added,
            known,
            notes,
            verb: "would be imported",
        },
        form,
    )?;
    if form == Form::Table {
        say("nothing was changed: this was a preview")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// So many values are shown by a preview.
const SHOWN: usize = 8;

/// What came of an import.
struct Outlook<'a> {
    content: &'a Content,
    settled: &'a [(u64, Outcome, u64)],
    added: Vec<&'a Measured>,
    known: usize,
    notes: Vec<String>,
    /// "imported", or that it would be.
    verb: &'static str,
}

fn conclude<J: Journal>(
    study: &Study<J>,
    outlook: &Outlook<'_>,
    form: Form,
) -> Result<ExitCode, Failure> {
    let Outlook { content, settled, added, known, notes, verb } = outlook;
    let outside = added.iter().filter(|(at, ..)| is_outside(study.problem(), at)).count();
    if form == Form::Json {
        let ids: Vec<u64> = settled.iter().map(|(id, ..)| *id).collect();
        say_json(&json!({
            "imported": added.len(), "known": known, "outside_bounds": outside,
            "mistakes": content.mistakes.len(), "settled": ids, "notes": notes,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    for note in notes {
        say(&format!("note: {note}"))?;
    }
    for (id, _, line) in *settled {
        say(&format!("line {line} has the result of evaluation {id}, which was pending"))?;
    }
    let before = if *known > 0 { format!(", {known} known already") } else { String::new() };
    let left_out = match content.mistakes.len() {
        0 => String::new(),
        bad => format!(", {} left out", count(bad, "row")),
    };
    say(&format!("{} {verb}{before}{left_out}", count(added.len(), "value")))?;
    if outside > 0 {
        let values = count(outside, "value");
        say(&format!("{values} at designs outside the bounds: models learn from them"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Evaluations on which programs work.
fn evaluations_at_work(store: &Store) -> Result<Vec<u64>, Failure> {
    let is_taken = |held: &LeaseStatus| held.is_live() && held.lease.owner != BY_HAND;
    let taken = store.leases()?.into_iter().filter(is_taken);
    Ok(taken.map(|held| held.lease.evaluation).collect())
}

/// Which rows have all that a pending evaluation waits for, on which nobody of `taken` works.
fn matched<J: Journal>(content: &Content, study: &Study<J>, taken: &[u64]) -> Import {
    let problem = study.problem();
    let is_free = |e: &&Evaluation| e.status == Status::Pending && !taken.contains(&e.id);
    let mut pending: Vec<&Evaluation> = study.evaluations().iter().filter(is_free).collect();
    let mut import = Import::default();
    for row in &content.rows {
        let mut left = row.values.clone();
        pending.retain(|evaluation| {
            let names = || evaluation.outputs.iter().map(|k| problem.outputs[*k].name.as_str());
            let has = |name: &str| left.iter().any(|(given, _)| given == name);
            if !is_same(&evaluation.design, &row.design) || !names().all(has) {
                return true;
            }
            let is_of = |(given, _): &(String, Reading)| names().any(|name| name == given);
            let (own, others) = left.drain(..).partition(is_of);
            left = others;
            let own: Vec<(String, Reading)> = own;
            let outcome = own
                .into_iter()
                .fold(Outcome::default(), |outcome, (name, reading)| outcome.value(&name, reading));
            import.settled.push((evaluation.id, outcome, row.line));
            false
        });
        let rest = left.into_iter().map(|(name, reading)| (row.design.clone(), name, reading));
        import.added.extend(rest);
    }
    import
}

/// Whether two designs are the same but for digits that a table may have lost.
fn is_same(a: &Design, b: &Design) -> bool {
    a.iter().len() == b.iter().len()
        && a.iter().all(|(name, value)| match (value.as_f64(), b.real(name)) {
            (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()),
            _ => b.get(name) == Some(value),
        })
}

/// Leaves out rows that say exactly what an earlier one says.
fn drop_copies(content: &mut Content) {
    let mut seen: Vec<Given> = vec![];
    let mut index: HashMap<String, Vec<usize>> = HashMap::new();
    for row in std::mem::take(&mut content.rows) {
        let same = index.entry(row.design.to_string()).or_default();
        let copy = same.iter().map(|i| &seen[*i]).find(|earlier| earlier.values == row.values);
        match copy.filter(|earlier| earlier.design == row.design) {
            Some(earlier) => content.notes.push(format!(
                "line {} says the same as line {} and is left out; --keep-duplicates imports both",
                row.line, earlier.line
            )),
            None => {
                same.push(seen.len());
                seen.push(row);
            }
        }
    }
    content.rows = seen;
}

/// What should be known about a file, with values that contradict others where there is no noise.
fn notes<J: Journal>(content: &Content, study: &Study<J>) -> Vec<String> {
    let mut notes = content.notes.clone();
    let mut known: HashMap<(String, String), (f64, String)> = HashMap::new();
    for evaluation in study.evaluations() {
        for (k, output) in study.problem().outputs.iter().enumerate() {
            if let Some(reading) = evaluation.reading(k) {
                let key = (evaluation.design.to_string(), output.name.clone());
                known
                    .entry(key)
                    .or_insert((reading.value, format!("evaluation {}", evaluation.id)));
            }
        }
    }
    for row in &content.rows {
        for (name, Reading { value, sd }) in &row.values {
            let output = study.problem().outputs.iter().find(|output| output.name == *name);
            let is_exact = output.is_some_and(|output| output.noise == Noise::Deterministic);
            let key = (row.design.to_string(), name.clone());
            match known.get(&key) {
                Some((other, place)) if is_exact && sd.is_none() && other != value => {
                    notes.push(format!(
                        "line {}: {name} is {} at {}, but {} in {place}; {name} is declared without noise",
                        row.line,
                        short(*value),
                        design_in_words(study.problem(), &row.design),
                        short(*other),
                    ));
                }
                Some(_) => {}
                None => {
                    known.insert(key, (*value, format!("line {}", row.line)));
                }
            }
        }
    }
    notes
}

fn read(arguments: &Arguments, problem: &Problem) -> Result<Content, Failure> {
    let column = |name: &str| {
        let name = column_name(name, problem);
        let named = problem.parameters.iter().find(|parameter| parameter.name() == name);
        match named {
            Some(Parameter::Categorical { .. }) => Column::Text,
            _ if column_names(problem).contains(&name) => Column::Number,
            _ => Column::Other,
        }
    };
    let table = Table::read(&arguments.csv, &arguments.format, column)?;
    let head: Vec<String> = table.head.iter().map(|cell| column_name(cell, problem)).collect();
    let ignored = check_columns(&head, problem).map_err(|mut wrong| {
        wrong.extend(table.notes.iter().map(|note| format!("note: {note}")));
        Failure::Refused(wrong.join("\n"))
    })?;
    // Here, values meet the checks of the engine before anything is written down.
    let mut trial = Study::new(problem.clone())?;
    let mut content = Content { notes: table.notes.clone(), ..Content::default() };
    content.notes.extend(ignored);
    let is_ours: Vec<bool> = head.iter().map(|name| column(name) != Column::Other).collect();
    for row in &table.rows {
        let has_cells = |(i, is_ours): (usize, &bool)| *is_ours && !row.cell(i).trim().is_empty();
        // A remark beside the table.
        if !is_ours.iter().enumerate().any(has_cells) && !row.is_too_long(head.len()) {
            content.notes.push(format!("line {} has no design and no values", row.line));
            continue;
        }
        match understood(&table, &head, row, problem, &mut trial) {
            Ok(values) => content.rows.extend(values),
            Err(mistake) => content.mistakes.push((row.line, mistake)),
        }
    }
    Ok(content)
}

/// The name that a column has. Blanks around it belong to it only if there is such a name; capital
/// letters count only if there is no other way to tell names apart.
fn column_name(cell: &str, problem: &Problem) -> String {
    let known = column_names(problem);
    let name = from_cell(cell);
    if known.iter().any(|known| known == name) {
        return name.to_owned();
    }
    let name = from_cell(cell.trim());
    if known.iter().any(|known| known == name) {
        return name.to_owned();
    }
    let lower = name.to_lowercase();
    let mut similar = known.iter().filter(|known| known.to_lowercase() == lower);
    match (similar.next(), similar.next()) {
        (Some(only), None) => only.clone(),
        _ => name.to_owned(),
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

/// All parameters must be there, and an output. Notes about columns that are ignored.
fn check_columns(head: &[String], problem: &Problem) -> Result<Vec<String>, Vec<String>> {
    let known = column_names(problem);
    let is_there = |name: &str| head.iter().any(|column| column == name);
    let absent = || known.iter().map(String::as_str).filter(|name| !is_there(name));
    let (mut wrong, mut ignored) = (vec![], vec![]);
    for (i, column) in head.iter().enumerate() {
        if !known.contains(column) {
            if !column.is_empty() {
                let hint = near(column, absent())
                    .map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
                ignored.push(format!("column {column:?} is ignored{hint}"));
            }
        } else if head[..i].contains(column) {
            wrong.push(format!("there are two columns {column:?}"));
        }
    }
    for name in problem.parameters.iter().map(Parameter::name).filter(|name| !is_there(name)) {
        let others =
            head.iter().map(String::as_str).filter(|name| !known.iter().any(|k| k == name));
        let hint = near(name, others).map_or_else(String::new, |near| format!("; is it {near:?}?"));
        wrong.push(format!("there is no column for the parameter {name:?}{hint}"));
    }
    let names = || measured(problem).map(|output| &output.name);
    if !names().any(|name| is_there(name) || is_there(&error_column(name))) {
        let outputs: Vec<&str> = measured(problem).map(|output| output.name.as_str()).collect();
        wrong.push(format!("there is no column for a measured output: {}", outputs.join(", ")));
        wrong.append(&mut ignored);
    }
    if wrong.is_empty() { Ok(ignored) } else { Err(wrong) }
}

/// The results in a row, all of them valid; none if nothing was measured.
fn understood(
    table: &Table,
    head: &[String],
    row: &Row,
    problem: &Problem,
    trial: &mut Study,
) -> Result<Option<Given>, String> {
    if row.is_too_long(head.len()) {
        return Err(format!("there are more cells than the {} columns", head.len()));
    }
    let cell = |name: &str| {
        head.iter().position(|column| column == name).map_or("", |column| row.cell(column))
    };
    let mut design = Design::new();
    for parameter in &problem.parameters {
        design = table.with_cell(design, parameter, cell(parameter.name()))?;
    }
    let number = |name: &str, text: &str, blank: &str| {
        let instead = format!(", or blank if {blank}");
        table.number(text).ok_or_else(|| table.not_a_number(name, text, &instead))
    };
    let mut values = vec![];
    for Output { name, .. } in measured(problem) {
        let (text, error) = (cell(name).trim(), error_column(name));
        let sd = match cell(&error).trim() {
            sd if is_blank(sd) => None,
            _ if is_blank(text) => {
                return Err(format!("{error} has a value, but {name} has none"));
            }
            sd => Some(number(&error, sd, "its error is not known")?),
        };
        if is_blank(text) {
            continue;
        }
        let reading = Reading { value: number(name, text, "it was not measured")?, sd };
        trial.tell_result(design.clone(), name, reading).map_err(|error| error.to_string())?;
        values.push((name.clone(), reading));
    }
    Ok((!values.is_empty()).then_some(Given { line: row.line, design, values }))
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
