//! Tables that people and other programs write: CSV with any delimiter and either decimal mark.
//!
//! What columns mean is decided elsewhere.

use clap::{Args, ValueEnum};
use std::io::Read;
use std::path::Path;
use unyoke::{Design, Parameter};

use crate::cells::from_cell;
use crate::failure::Failure;
use crate::words::with_value;

/// How a table is written, as far as people say so.
#[derive(Debug, Args)]
pub(crate) struct Format {
    /// What separates cells; found out by default.
    #[arg(long)]
    delimiter: Option<Delimiter>,
    /// The decimal mark of numbers; found out by default.
    #[arg(long)]
    decimal: Option<Decimal>,
}

/// What separates cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Delimiter {
    Comma,
    Semicolon,
    Tab,
}

impl Delimiter {
    const ALL: [Self; 3] = [Self::Comma, Self::Semicolon, Self::Tab];

    fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }
}

/// The decimal mark of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Decimal {
    /// 1.5
    Point,
    /// 1,5
    Comma,
}

/// A table as text.
#[derive(Debug, PartialEq)]
pub(crate) struct Table {
    pub(crate) head: Vec<String>,
    pub(crate) rows: Vec<Row>,
    /// How numbers are written.
    pub(crate) decimal: Decimal,
    /// What was found out about it, to be told.
    pub(crate) notes: Vec<String>,
}

/// A row with the line of the file in which it stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) line: u64,
    cells: Vec<String>,
}

/// Words for a value that is not there.
const NOT_AVAILABLE: [&str; 9] = ["na", "n/a", "#n/a", "nan", "null", "none", "-", "--", "?"];

/// Whether a cell says that there is no value.
pub(crate) fn is_blank(text: &str) -> bool {
    text.is_empty() || NOT_AVAILABLE.contains(&text.to_lowercase().as_str())
}

impl Table {
    /// The table in a file; `-` reads standard input. `is_number` says which columns have numbers.
    pub(crate) fn read(
        path: &Path,
        format: &Format,
        is_number: impl Fn(&str) -> bool,
    ) -> Result<Self, Failure> {
        refuse_workbook(path)?;
        let mut table = parse(&text(path)?, format)?;
        table.decimal = match format.decimal {
            Some(decimal) => decimal,
            None => table.found_decimal(is_number),
        };
        if table.decimal == Decimal::Comma && format.decimal.is_none() {
            table.notes.push("numbers are read with a decimal comma".to_owned());
        }
        Ok(table)
    }

    /// A comma if numbers have commas and none has a point.
    fn found_decimal(&self, is_number: impl Fn(&str) -> bool) -> Decimal {
        let columns: Vec<usize> =
            (0..self.head.len()).filter(|column| is_number(&self.head[*column])).collect();
        let cells = || self.rows.iter().flat_map(|row| columns.iter().map(|c| row.cell(*c).trim()));
        let has = |mark: char| {
            cells().any(|cell| {
                cell.contains(mark) && cell.replacen(mark, ".", 1).parse::<f64>().is_ok()
            })
        };
        if has(',') && !has('.') { Decimal::Comma } else { Decimal::Point }
    }

    /// The number that a cell holds.
    pub(crate) fn number(&self, text: &str) -> Option<f64> {
        match self.decimal {
            Decimal::Point => text.parse().ok(),
            Decimal::Comma if text.contains('.') => None,
            Decimal::Comma => text.replacen(',', ".", 1).parse().ok(),
        }
    }

    /// What is wrong with a cell that should hold a number.
    pub(crate) fn not_a_number(&self, name: &str, text: &str, instead: &str) -> String {
        let mark = match (self.decimal, text.contains([',', '.'])) {
            (Decimal::Point, true) => " with a decimal point (or --decimal comma)",
            (Decimal::Comma, true) => " with a decimal comma (or --decimal point)",
            _ => "",
        };
        format!("{name} is {text:?}, but must be a number{mark}{instead}")
    }

    /// The design with the value of a parameter that a cell holds.
    pub(crate) fn with_cell(
        &self,
        design: Design,
        parameter: &Parameter,
        cell: &str,
    ) -> Result<Design, String> {
        let name = parameter.name();
        match cell_text(cell, parameter) {
            "" => Err(format!("{name} is blank, but a parameter needs a value")),
            text if is_missing(parameter, text) => {
                Err(format!("{name} is {text:?}, but a parameter needs a value"))
            }
            text => match parameter {
                Parameter::Categorical { .. } => with_value(design, parameter, text),
                _ => {
                    let number =
                        self.number(text).ok_or_else(|| self.not_a_number(name, text, ""))?;
                    with_value(design, parameter, &number.to_string())
                }
            },
        }
    }
}

fn is_missing(parameter: &Parameter, text: &str) -> bool {
    match parameter {
        Parameter::Categorical { choices, .. } => {
            !choices.iter().any(|c| c == text) && is_blank(text)
        }
        _ => is_blank(text),
    }
}

impl Row {
    /// A cell; blank beyond the end of the row.
    pub(crate) fn cell(&self, column: usize) -> &str {
        self.cells.get(column).map_or("", String::as_str)
    }

    /// Whether there is more in it than the table has columns.
    pub(crate) fn is_too_long(&self, columns: usize) -> bool {
        self.cells.iter().skip(columns).any(|cell| !cell.trim().is_empty())
    }

    fn is_empty(&self) -> bool {
        self.cells.iter().all(|cell| cell.trim().is_empty())
    }
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

fn text(path: &Path) -> Result<String, Failure> {
    let mut bytes = vec![];
    let read = match path.to_str() {
        Some("-") => std::io::stdin().read_to_end(&mut bytes),
        _ => std::fs::File::open(path).and_then(|mut file| file.read_to_end(&mut bytes)),
    };
    read.map_err(|error| Failure::file(path, &error))?;
    decode(bytes).ok_or_else(|| {
        let reason = "is not text in UTF-8; in a spreadsheet, save it as \"CSV UTF-8\"";
        Failure::Refused(format!("{} {reason}", path.display()))
    })
}

/// Text in UTF-8, or in UTF-16 as some programs write it, without a mark at its beginning.
fn decode(bytes: Vec<u8>) -> Option<String> {
    let wide = |from: fn([u8; 2]) -> u16| {
        let units: Vec<u16> =
            bytes[2..].chunks_exact(2).map(|pair| from([pair[0], pair[1]])).collect();
        String::from_utf16(&units).ok()
    };
    match &bytes[..] {
        [0xFF, 0xFE, ..] => wide(u16::from_le_bytes),
        [0xFE, 0xFF, ..] => wide(u16::from_be_bytes),
        _ => {
            let text = String::from_utf8(bytes).ok()?;
            Some(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
        }
    }
}

fn parse(text: &str, format: &Format) -> Result<Table, Failure> {
    let delimiter = format.delimiter.unwrap_or_else(|| found_delimiter(text));
    let mut reader = csv::ReaderBuilder::new();
    reader.delimiter(delimiter.byte()).flexible(true);
    // Lines that end with CR LF would be counted from one too few.
    let text = text.replace("\r\n", "\n");
    let mut reader = reader.from_reader(text.as_bytes());
    let unreadable = |error: csv::Error| Failure::Refused(format!("not CSV: {error}"));
    let head: Vec<String> =
        reader.headers().map_err(unreadable)?.iter().map(str::to_owned).collect();
    let mut rows = vec![];
    for record in reader.records() {
        let record = record.map_err(unreadable)?;
        let line = record.position().map_or(0, csv::Position::line);
        rows.push(Row { line, cells: record.iter().map(str::to_owned).collect() });
    }
    rows.retain(|row| !row.is_empty());
    let notes = match (delimiter, format.delimiter) {
        (Delimiter::Comma, _) | (_, Some(_)) => vec![],
        (Delimiter::Semicolon, None) => vec!["cells are separated by semicolons".to_owned()],
        (Delimiter::Tab, None) => vec!["cells are separated by tabs".to_owned()],
    };
    Ok(Table { head, rows, decimal: Decimal::Point, notes })
}

/// What separates most cells in the first line, outside quotes.
fn found_delimiter(text: &str) -> Delimiter {
    let (mut quoted, mut counts) = (false, [0; 3]);
    for byte in text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().bytes() {
        quoted ^= byte == b'"';
        for (count, delimiter) in counts.iter_mut().zip(Delimiter::ALL) {
            *count += usize::from(!quoted && byte == delimiter.byte());
        }
    }
    let mut found = 0;
    for (i, count) in counts.iter().enumerate() {
        if *count > counts[found] {
            found = i;
        }
    }
    Delimiter::ALL[found]
}

/// Workbooks are archives, not text.
fn refuse_workbook(path: &Path) -> Result<(), Failure> {
    let is_workbook = |end: &std::ffi::OsStr| {
        ["xlsx", "xlsm", "xlsb", "xls", "ods"].iter().any(|known| end.eq_ignore_ascii_case(known))
    };
    match path.extension().is_some_and(is_workbook) {
        true => Err(Failure::Refused(format!(
            "{} is a workbook; save its sheet as CSV, with any delimiter",
            path.display()
        ))),
        false => Ok(()),
    }
}

/// Where a table is, for messages.
pub(crate) fn place(path: &Path, line: u64) -> String {
    format!("{}:{line}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain() -> Format {
        Format { delimiter: None, decimal: None }
    }

    #[test]
    fn delimiters_are_found_outside_quotes() {
        assert_eq!(found_delimiter("a,b;c,d"), Delimiter::Comma);
        assert_eq!(found_delimiter("\n\"a,b,c\";d\n1;2"), Delimiter::Semicolon);
        assert_eq!(found_delimiter("a\tb"), Delimiter::Tab);
        assert_eq!(found_delimiter("a"), Delimiter::Comma);
    }

    #[test]
    fn marks_and_wide_text_are_read() {
        assert_eq!(decode("\u{feff}a".into()).as_deref(), Some("a"));
        let wide: Vec<u8> =
            [0xFEFFu16, u16::from(b'x')].iter().flat_map(|unit| unit.to_le_bytes()).collect();
        assert_eq!(decode(wide).as_deref(), Some("x"));
        assert_eq!(decode(vec![b'a', 0xE4]), None);
    }

    #[test]
    fn a_decimal_comma_is_one_only_if_no_number_has_a_point() {
        let found = |text: &str| {
            let table = parse(text, &plain()).unwrap();
            table.found_decimal(|name| name != "note")
        };
        assert_eq!(found("x;f;note\n1,5;2;a.b\n"), Decimal::Comma);
        assert_eq!(found("x;f\n1,5;2.5\n"), Decimal::Point);
        assert_eq!(found("x;f;note\n1;2;1,5\n"), Decimal::Point);
        let mut table = parse("x;f\r\n1,5;2\r\n\r\n;\r\n0,5\r\n", &plain()).unwrap();
        table.decimal = Decimal::Comma;
        let lines: Vec<u64> = table.rows.iter().map(|row| row.line).collect();
        assert_eq!(lines, [2, 5], "blank rows are none");
        assert_eq!(table.rows[1].cell(1), "", "a short row ends with blank cells");
        assert_eq!([table.number("1,5"), table.number("1.5")], [Some(1.5), None]);
    }
}
