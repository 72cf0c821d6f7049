//! Worksheets: what `unyoke ask --csv` prints, and `unyoke tell --csv` reads once values are filled in.

use std::path::Path;
use unyoke::{
    Design, Evaluation, Outcome, Output, Parameter, Problem, Reading, Scale, Status, Study,
    Suggestion,
};
use unyoke_store::Store;

use crate::cells::{from_cell, to_cell};
use crate::commands::import::error_column;
use crate::failure::Failure;
use crate::output::complain;
use crate::table::{Column, Format, Row, Table, is_blank};
use crate::words::count;

const EVALUATION: &str = "evaluation";
const MEASUREMENT: &str = "measurement";

/// In cells of outputs that an evaluation does not give.
const NOT_MEASURED: &str = "-";

/// A number that differs by less than this part of the range of its parameter was rounded, not changed.
const ROUNDED: f64 = 1e-4;

/// A worksheet for evaluations that were asked for.
pub(crate) fn write(problem: &Problem, asked: &[&Suggestion]) -> Result<String, Failure> {
    let is_given = |output: &&Output| asked.iter().any(|one| one.outputs.contains(&output.name));
    let outputs: Vec<&str> =
        problem.outputs.iter().filter(is_given).map(|output| output.name.as_str()).collect();
    let mut writer = csv::Writer::from_writer(vec![]);
    let mut head = vec![EVALUATION.to_owned(), MEASUREMENT.to_owned()];
    head.extend(problem.parameters.iter().map(|parameter| to_cell(parameter.name())));
    head.extend(outputs.iter().flat_map(|name| [to_cell(name), to_cell(&error_column(name))]));
    let unwritable = |error: csv::Error| Failure::Refused(error.to_string());
    writer.write_record(&head).map_err(unwritable)?;
    for suggestion in asked {
        let value = |parameter: &Parameter| {
            let value = suggestion.design.get(parameter.name());
            value.map_or_else(String::new, |value| to_cell(&value.to_string()))
        };
        let mut row = vec![suggestion.evaluation.to_string(), to_cell(&suggestion.measurement)];
        row.extend(problem.parameters.iter().map(value));
        row.extend(outputs.iter().flat_map(|name| {
            let is_measured = suggestion.outputs.iter().any(|output| output == name);
            [if is_measured { "" } else { NOT_MEASURED }; 2].map(str::to_owned)
        }));
        writer.write_record(&row).map_err(unwritable)?;
    }
    let bytes = writer.into_inner().map_err(|error| Failure::Refused(error.to_string()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a worksheet says, all of it checked.
#[derive(Debug, Default)]
pub(crate) struct Filled {
    /// What came out of which evaluation, in the order of the rows.
    pub(crate) outcomes: Vec<(u64, Outcome)>,
    /// Evaluations that are still pending.
    pub(crate) blank: Vec<u64>,
    /// Evaluations whose results the study has already.
    pub(crate) known: Vec<u64>,
    /// What should be known about rows that are recorded.
    pub(crate) notes: Vec<String>,
}

/// Reads a worksheet. `study` is a copy: what is recorded in it is lost.
pub(crate) fn read(path: &Path, format: &Format, study: &mut Study) -> Result<Filled, Failure> {
    let problem = study.problem().clone();
    let table = Table::read(path, format, |name| column(&problem, from_cell(name.trim())))?;
    let sheet = Sheet { table, problem };
    let mut filled = Filled::default();
    filled.notes.extend(sheet.table.notes.iter().cloned());
    let mut mistakes = sheet.mistaken_columns();
    let rows: &[Row] = if mistakes.is_empty() { &sheet.table.rows } else { &[] };
    for row in rows {
        if let Err(mistake) = sheet.take(row, study, &mut filled) {
            mistakes.push(format!("{}:{}: {mistake}", path.display(), row.line));
        }
    }
    if mistakes.is_empty() {
        return Ok(filled);
    }
    mistakes.iter().for_each(|mistake| complain(mistake));
    let mistakes = count(mistakes.len(), "mistake");
    Err(Failure::Refused(format!("{mistakes}, nothing was recorded")))
}

/// What a column of a worksheet holds.
fn column(problem: &Problem, name: &str) -> Column {
    let is_called = |known: &str| known.trim() == name;
    let is_output =
        |output: &Output| is_called(&output.name) || is_called(&error_column(&output.name));
    match problem.parameters.iter().find(|parameter| is_called(parameter.name())) {
        _ if name == MEASUREMENT => Column::Text,
        Some(Parameter::Categorical { .. }) => Column::Text,
        Some(_) => Column::Number,
        None if name == EVALUATION || problem.outputs.iter().any(is_output) => Column::Number,
        None => Column::Other,
    }
}

/// What is filled in of a row.
#[derive(Debug, Default)]
struct Cells {
    values: Vec<(String, Reading)>,
    /// Why there are no other values.
    reasons: Vec<String>,
}

impl Cells {
    fn outcome(self) -> Outcome {
        let with =
            |outcome: Outcome, (name, reading): (String, Reading)| outcome.value(&name, reading);
        let outcome = self.values.into_iter().fold(Outcome::default(), with);
        if self.reasons.is_empty() { outcome } else { outcome.missing(self.reasons.join("; ")) }
    }
}

/// A worksheet with what its columns mean.
struct Sheet {
    table: Table,
    problem: Problem,
}

impl Sheet {
    fn column(&self, name: &str) -> Option<usize> {
        self.table.head.iter().position(|head| from_cell(head.trim()) == name.trim())
    }

    fn cell<'r>(&self, row: &'r Row, name: &str) -> &'r str {
        self.column(name).map_or("", |column| row.cell(column).trim())
    }

    fn mistaken_columns(&self) -> Vec<String> {
        if self.column(EVALUATION).is_none() {
            return vec![
                "there is no column \"evaluation\": `unyoke ask --csv` prints worksheets; `unyoke import` \
                 reads other tables"
                    .to_owned(),
            ];
        }
        vec![]
    }

    /// What a row says.
    fn take(&self, row: &Row, study: &mut Study, filled: &mut Filled) -> Result<(), String> {
        let text = self.cell(row, EVALUATION);
        let id = self.table.number(text).filter(|id| id.fract() == 0.0 && *id >= 0.0);
        let id = id.ok_or_else(|| format!("{text:?} is no number of an evaluation"))? as u64;
        let evaluation = study.evaluations().iter().find(|e| e.id == id).cloned();
        let evaluation = evaluation.ok_or_else(|| format!("there is no evaluation {id}"))?;
        self.check_measurement(row, &evaluation)?;
        let seen = filled.outcomes.iter().map(|(seen, _)| seen).chain(&filled.blank);
        if seen.chain(&filled.known).any(|seen| *seen == id) {
            return Err(format!("evaluation {id} has a row above"));
        }
        let cells = self.cells(row, &evaluation)?;
        if cells.values.is_empty() && cells.reasons.is_empty() {
            filled.blank.push(id);
            return Ok(());
        }
        if self.is_recorded(&evaluation, &cells) {
            filled.known.push(id);
            return Ok(());
        }
        let mut outcome = cells.outcome();
        if let Some((design, changes)) = self.other_design(row, &evaluation)? {
            filled.notes.push(format!("evaluation {id} was made at {changes}"));
            outcome = outcome.at(design);
        }
        study.tell(id, outcome.clone()).map_err(|error| match error {
            unyoke::Error::AlreadySettled { how, .. } => format!(
                "evaluation {id} is already recorded as {how}; `unyoke tell --correct {id}` replaces \
                 that"
            ),
            other => other.to_string(),
        })?;
        filled.outcomes.push((id, outcome));
        Ok(())
    }

    /// The row must be of the evaluation that it names: sorted cells must not be mixed up.
    fn check_measurement(&self, row: &Row, evaluation: &Evaluation) -> Result<(), String> {
        let told = from_cell(self.cell(row, MEASUREMENT));
        let id = evaluation.id;
        let name = evaluation.measurement.map(|m| self.problem.measurements[m].name.as_str());
        match name {
            None => Err(format!("evaluation {id} was imported; it is not waited for")),
            Some(name) if !told.is_empty() && told != name.trim() => {
                Err(format!("evaluation {id} is of {name}, not of {told}"))
            }
            Some(_) => Ok(()),
        }
    }

    /// What came out, as far as it is filled in.
    fn cells(&self, row: &Row, evaluation: &Evaluation) -> Result<Cells, String> {
        let (id, mut cells, mut blank) = (evaluation.id, Cells::default(), vec![]);
        for (k, Output { name, .. }) in self.problem.outputs.iter().enumerate() {
            let (text, sd) = (self.cell(row, name), self.cell(row, &error_column(name)));
            if !evaluation.outputs.contains(&k) {
                if !is_blank(text) {
                    return Err(format!("evaluation {id} does not measure {name}"));
                }
            } else if let Some(reason) = failure(text) {
                cells.reasons.push(reason);
            } else if !is_blank(text) {
                cells.values.push((name.clone(), self.reading(name, text, sd)?));
            } else if !is_blank(sd) {
                return Err(format!("{} has a value, but {name} has none", error_column(name)));
            } else {
                blank.push(name.as_str());
            }
        }
        cells.reasons.dedup();
        let is_empty = cells.values.is_empty() && cells.reasons.is_empty();
        if !blank.is_empty() && !is_empty {
            return Err(format!(
                "evaluation {id} gives {} as well; add the value, or write failed there",
                blank.join(", ")
            ));
        }
        Ok(cells)
    }

    fn reading(&self, name: &str, text: &str, sd: &str) -> Result<Reading, String> {
        let number = |name: &str, text: &str| {
            let found = self.table.number(text).filter(|number| number.is_finite());
            found.ok_or_else(|| {
                self.table.not_a_number(name, text, ", blank if it is pending, or the word failed")
            })
        };
        let value = number(name, text)?;
        let sd = if is_blank(sd) { None } else { Some(number(&error_column(name), sd)?) };
        Ok(Reading { value, sd })
    }

    /// Whether the study has just that already.
    fn is_recorded(&self, evaluation: &Evaluation, cells: &Cells) -> bool {
        match &evaluation.status {
            Status::Completed(results) => {
                let is_told = |(k, reading): (usize, Reading)| {
                    let name = &self.problem.outputs[k].name;
                    cells.values.iter().any(|(told, value)| told == name && *value == reading)
                };
                results.iter().count() == cells.values.len() && results.iter().all(is_told)
            }
            Status::Failed(_) => cells.values.is_empty(),
            _ => false,
        }
    }

    /// The design that the row has, if it is another than was asked for.
    fn other_design(
        &self,
        row: &Row,
        evaluation: &Evaluation,
    ) -> Result<Option<(Design, String)>, String> {
        let (mut design, mut changes) = (evaluation.design.clone(), vec![]);
        for parameter in &self.problem.parameters {
            let name = parameter.name();
            let Some(column) = self.column(name) else { continue };
            if row.cell(column).trim().is_empty() {
                continue;
            }
            let told = self.table.with_cell(design.clone(), parameter, row.cell(column))?;
            if is_other(parameter, &design, &told) {
                let value = |design: &Design| design.get(name).map(ToString::to_string);
                let [now, asked] = [value(&told), value(&design)].map(Option::unwrap_or_default);
                changes.push(format!("{name}={now}, not {asked}"));
                design = told;
            }
        }
        Ok((!changes.is_empty()).then(|| (design, changes.join(", "))))
    }
}

/// Whether a parameter has another value, not just a rounded one.
fn is_other(parameter: &Parameter, asked: &Design, told: &Design) -> bool {
    let name = parameter.name();
    match (parameter, asked.real(name), told.real(name)) {
        (Parameter::Continuous { low, high, scale, .. }, Some(asked), Some(told)) => match scale {
            Scale::Log => (told / asked).ln().abs() > ROUNDED * (high / low).ln(),
            Scale::Linear => (told - asked).abs() > ROUNDED * (high - low),
        },
        _ => asked.get(name) != told.get(name),
    }
}

/// The reason, if a cell says that nothing came out: `failed`, or `failed: it broke`.
fn failure(text: &str) -> Option<String> {
    let rest =
        text.get(..6).filter(|word| word.eq_ignore_ascii_case("failed")).map(|_| &text[6..])?;
    let reason = rest.trim_start_matches([':', ',', ' ']).trim();
    Some(if reason.is_empty() { "failed".to_owned() } else { reason.to_owned() })
}

/// Records what a worksheet says.
pub(crate) fn record(study: &mut Study<Store>, filled: &Filled) -> Result<(), Failure> {
    for (done, (id, outcome)) in filled.outcomes.iter().enumerate() {
        study.tell(*id, outcome.clone()).map_err(|error| {
            let done = count(done, "evaluation");
            Failure::Refused(format!("{error}; {done} of the worksheet recorded before that"))
        })?;
    }
    Ok(())
}
