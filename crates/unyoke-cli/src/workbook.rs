//! Sheets of workbooks (Excel, LibreOffice), cell by cell. The only file that names `calamine`.
//!
//! What columns mean, and which row names them, is decided elsewhere.

use calamine::{Data, Dimensions, ExcelDateTime, Range, Reader, Sheets, open_workbook_auto};
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use crate::failure::Failure;

/// How names of workbooks end.
const ENDS: [&str; 5] = ["xlsx", "xlsm", "xlsb", "xls", "ods"];

/// Whether a file is a workbook, by its name.
pub(crate) fn is_workbook(path: &Path) -> bool {
    path.extension().is_some_and(|end| ENDS.iter().any(|known| end.eq_ignore_ascii_case(known)))
}

/// Cells of a sheet, blank ones included, at most.
const MOST_CELLS: u64 = 20_000_000;

/// A sheet.
#[derive(Debug, PartialEq)]
pub(crate) struct Sheet {
    pub(crate) name: String,
    /// The other sheets of its workbook.
    pub(crate) others: Vec<String>,
    /// Rows with their numbers, from 1; all of the same length.
    pub(crate) rows: Vec<(u64, Vec<Cell>)>,
    /// Cells that are merged, such as `A1:C1`, each with the first of its rows.
    pub(crate) merged: Vec<(u64, String)>,
}

/// A cell.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Cell {
    /// Numbers have a decimal point, dates are written as 2026-05-01.
    pub(crate) text: String,
    /// Whether somebody typed a text: it may have a decimal comma.
    pub(crate) is_text: bool,
}

/// The sheet of that name, by default the first.
pub(crate) fn read(path: &Path, name: Option<&str>) -> Result<Sheet, Failure> {
    File::open(path).map_err(|error| Failure::file(path, &error))?;
    let unreadable = |error: calamine::Error| {
        Failure::Refused(format!("{} cannot be read as a workbook: {error}", path.display()))
    };
    let mut workbook = open_workbook_auto(path).map_err(unreadable)?;
    let mut others = workbook.sheet_names();
    let place = match name {
        None if others.is_empty() => {
            return Err(Failure::Refused(format!("{} has no sheets", path.display())));
        }
        None => 0,
        Some(name) => others
            .iter()
            .position(|sheet| sheet == name)
            .ok_or_else(|| no_such_sheet(path, name, &others))?,
    };
    let name = others.remove(place);
    if let Some(far) = far_cell(&mut workbook, &name) {
        return Err(Failure::Refused(format!(
            "the sheet {name:?} of {} reaches to {far}; delete what is far from its table, or copy the table \
             to a sheet of its own",
            path.display()
        )));
    }
    let values = workbook.worksheet_range(&name).map_err(unreadable)?;
    let formulas = workbook.worksheet_formula(&name).unwrap_or_default();
    let merged = merged(&mut workbook, &name);
    Ok(Sheet { rows: rows(&values, &formulas), name, others, merged })
}

fn no_such_sheet(path: &Path, name: &str, sheets: &[String]) -> Failure {
    let quoted: Vec<String> = sheets.iter().map(|sheet| format!("{sheet:?}")).collect();
    Failure::Refused(format!(
        "{} has no sheet {name:?}; its sheets are {}",
        path.display(),
        quoted.join(", ")
    ))
}

fn rows(values: &Range<Data>, formulas: &Range<String>) -> Vec<(u64, Vec<Cell>)> {
    let Some((top, left)) = values.start() else { return vec![] };
    let number = |row: usize| top + row as u32;
    let cell = |row: usize, (column, value): (usize, &Data)| match value {
        // Programs that write formulas without computing them leave no values.
        Data::Empty => match formulas.get_value((number(row), left + column as u32)) {
            Some(formula) if !formula.is_empty() => {
                Cell { text: format!("={formula}"), is_text: true }
            }
            _ => Cell::default(),
        },
        value => cell(value),
    };
    let cells = |(i, row): (usize, &[Data])| {
        let cells = row.iter().enumerate().map(|one| cell(i, one)).collect();
        (u64::from(number(i)) + 1, cells)
    };
    values.rows().enumerate().map(cells).collect()
}

fn cell(value: &Data) -> Cell {
    let text = match value {
        Data::String(text) => return Cell { text: text.clone(), is_text: true },
        Data::Int(number) => number.to_string(),
        Data::Float(number) => number.to_string(),
        Data::Bool(true) => "TRUE".to_owned(),
        Data::Bool(false) => "FALSE".to_owned(),
        Data::DateTime(moment) => moment_in_words(moment),
        Data::DateTimeIso(text) | Data::DurationIso(text) => text.clone(),
        Data::Error(error) => error.to_string(),
        Data::Empty => String::new(),
    };
    Cell { text, is_text: false }
}

/// `2026-05-01`, with the time of day if there is one; without a date `13:30:00`.
fn moment_in_words(moment: &ExcelDateTime) -> String {
    let (year, month, day, hour, minute, second, _) = moment.to_ymd_hms_milli();
    let date = format!("{year}-{month:02}-{day:02}");
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    match moment.as_f64() {
        days if moment.is_duration() || days < 1.0 => {
            let hours = (days * 24.0).floor();
            format!("{hours:02}:{minute:02}:{second:02}")
        }
        days if days.fract() == 0.0 => date,
        _ => format!("{date} {time}"),
    }
}

/// The corner of a sheet that is far too large for a table, because something stands far from all else: to read
/// it would take more memory than there is.
fn far_cell(workbook: &mut Sheets<BufReader<File>>, name: &str) -> Option<String> {
    let Sheets::Xlsx(workbook) = workbook else { return None };
    let mut cells = workbook.worksheet_cells_reader(name).ok()?;
    let (mut last_row, mut last_column) = (0, 0);
    // What is wrong with a cell is told by whoever reads its value.
    while let Ok(Some(cell)) = cells.next_cell() {
        let (row, column) = cell.get_position();
        (last_row, last_column) = (last_row.max(row), last_column.max(column));
    }
    let is_far = u64::from(last_row) * u64::from(last_column) > MOST_CELLS;
    is_far.then(|| format!("{}{}", letters(last_column), last_row + 1))
}

/// Merged cells, which only one kind of workbook tells.
fn merged(workbook: &mut Sheets<BufReader<File>>, name: &str) -> Vec<(u64, String)> {
    let Sheets::Xlsx(workbook) = workbook else { return vec![] };
    let regions = workbook.merge_cells_by_sheet_name(name).unwrap_or_default();
    let words = |Dimensions { start, end }: Dimensions| {
        let cell = |(row, column): (u32, u32)| format!("{}{}", letters(column), row + 1);
        (u64::from(start.0) + 1, format!("{}:{}", cell(start), cell(end)))
    };
    regions.into_iter().map(words).collect()
}

/// A column as spreadsheets call it: A, B, ..., Z, AA.
fn letters(column: u32) -> String {
    let last = char::from(b'A' + (column % 26) as u8);
    match column / 26 {
        0 => last.to_string(),
        more => format!("{}{last}", letters(more - 1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calamine::ExcelDateTimeType;

    #[test]
    fn columns_are_called_as_in_spreadsheets() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letters).join(" "), "A Z AA AZ BA ZZ AAA");
    }

    #[test]
    fn dates_and_times_are_told_as_such() {
        let told = |days: f64, kind| moment_in_words(&ExcelDateTime::new(days, kind, false));
        assert_eq!(told(46143.0, ExcelDateTimeType::DateTime), "2026-05-01");
        assert_eq!(told(46143.75, ExcelDateTimeType::DateTime), "2026-05-01 18:00:00");
        assert_eq!(told(0.5625, ExcelDateTimeType::DateTime), "13:30:00");
        assert_eq!(told(1.5, ExcelDateTimeType::TimeDelta), "36:00:00");
    }

    #[test]
    fn workbooks_are_known_by_their_names() {
        assert!(["a.xlsx", "a.XLS", "b.c.ods"].iter().all(|name| is_workbook(Path::new(name))));
        assert!(["a.csv", "xlsx", "-"].iter().all(|name| !is_workbook(Path::new(name))));
    }
}
