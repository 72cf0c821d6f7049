//! Tables that people and other programs write: CSV with any delimiter and either decimal mark, and sheets
//! of workbooks.
//!
//! What columns mean is decided elsewhere.

use clap::{Args, ValueEnum};
use std::io::Read;
use std::path::Path;
use unyoke::{Design, Parameter};

use crate::cells::from_cell;
use crate::failure::Failure;
use crate::words::with_value;
use crate::workbook::{self, Cell, Sheet, is_workbook};

/// How a table is written, as far as people say so.
#[derive(Debug, Args)]
pub(crate) struct Format {
    /// What separates cells; found out by default.
    #[arg(long)]
    delimiter: Option<Delimiter>,
    /// The decimal mark of numbers; found out by default.
    #[arg(long)]
    decimal: Option<Decimal>,
    /// The sheet of a workbook; the first by default.
    #[arg(long, value_name = "NAME")]
    sheet: Option<String>,
}

/// What the cells of a column hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Number,
    Text,
    /// Nobody knows its name.
    Other,
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
    /// The table in a file; `-` reads standard input. `column` says what the column of a name holds.
    pub(crate) fn read(
        path: &Path,
        format: &Format,
        column: impl Fn(&str) -> Column,
    ) -> Result<Self, Failure> {
        format.check(path)?;
        if is_workbook(path) {
            let sheet = workbook::read(path, format.sheet.as_deref())?;
            return Ok(Self::of_sheet(sheet, format, column));
        }
        let mut table = parse(&text(path)?, format)?;
        table.decimal = match format.decimal {
            Some(decimal) => decimal,
            None => table.found_decimal(column),
        };
        if table.decimal == Decimal::Comma && format.decimal.is_none() {
            table.notes.push("numbers are read with a decimal comma".to_owned());
        }
        Ok(table)
    }

    /// The table on a sheet. Its numbers have a decimal point, those among them that are stored as text too:
    /// there, commas are replaced.
    fn of_sheet(sheet: Sheet, format: &Format, column: impl Fn(&str) -> Column) -> Self {
        let mut notes = sheet_notes(&sheet, format);
        let Sheet { mut rows, merged, .. } = sheet;
        let known =
            |row: &[Cell]| row.iter().filter(|cell| column(&cell.text) != Column::Other).count();
        let counts: Vec<usize> = rows.iter().take(HEAD_ROWS).map(|(_, row)| known(row)).collect();
        let head = (0..counts.len()).fold(0, |a, b| if counts[b] > counts[a] { b } else { a });
        let mut body = rows.split_off((head + 1).min(rows.len()));
        let (line, names) = rows.pop().unwrap_or_default();
        if head > 0 {
            notes.push(format!("the names of columns are in row {line}"));
        }
        let names: Vec<String> = names.into_iter().map(|cell| cell.text).collect();
        let last = body.last().map_or(line, |(last, _)| *last);
        for (_, cells) in merged.iter().filter(|(row, _)| *row <= last) {
            notes.push(format!(
                "{cells} are merged; the value counts only for the first of these cells"
            ));
        }
        if has_decimal_commas(&mut body, &names, format, column) {
            notes.push("numbers that are stored as text are read with a decimal comma".to_owned());
        }
        let text = |(line, cells): (u64, Vec<Cell>)| Row {
            line,
            cells: cells.into_iter().map(|cell| cell.text).collect(),
        };
        let mut rows: Vec<Row> = body.into_iter().map(text).collect();
        rows.retain(|row| !row.is_empty());
        Self { head: names, rows, decimal: Decimal::Point, notes }
    }

    /// A comma if numbers have commas and none has a point.
    fn found_decimal(&self, column: impl Fn(&str) -> Column) -> Decimal {
        let columns: Vec<usize> =
            (0..self.head.len()).filter(|i| column(&self.head[*i]) == Column::Number).collect();
        let cells = || self.rows.iter().flat_map(|row| columns.iter().map(|c| row.cell(*c).trim()));
        found_decimal(cells)
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
        let mark = match (self.decimal, has_mark(text, ',') || has_mark(text, '.')) {
            (Decimal::Point, true) => " with a decimal point (or --decimal comma)",
            (Decimal::Comma, true) => " with a decimal comma (or --decimal point)",
            _ => "",
        };
        format!("{name} is {text:?}, but must be a number{mark}{instead}{}", mishap(text))
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

/// A comma if numbers have commas and none has a point.
fn found_decimal<'a, C: Iterator<Item = &'a str>>(cells: impl Fn() -> C) -> Decimal {
    let has = |mark: char| cells().any(|cell| has_mark(cell, mark));
    if has(',') && !has('.') { Decimal::Comma } else { Decimal::Point }
}

/// Whether a text is a number with this decimal mark.
fn has_mark(cell: &str, mark: char) -> bool {
    cell.contains(mark) && cell.replacen(mark, ".", 1).parse::<f64>().is_ok()
}

/// So many rows of a sheet may stand above the names of its columns, with titles and merged cells.
const HEAD_ROWS: usize = 20;

/// What should be known about which sheet was read.
fn sheet_notes(sheet: &Sheet, format: &Format) -> Vec<String> {
    if sheet.others.is_empty() || format.sheet.is_some() {
        return vec![];
    }
    let others: Vec<String> = sheet.others.iter().map(|name| format!("{name:?}")).collect();
    let others = others.join(", ");
    vec![format!(
        "the first sheet, {:?}, is read; --sheet NAME reads another: {others}",
        sheet.name
    )]
}

/// Replaces decimal commas of numbers that are stored as text, if that is how they are written.
fn has_decimal_commas(
    rows: &mut [(u64, Vec<Cell>)],
    names: &[String],
    format: &Format,
    column: impl Fn(&str) -> Column,
) -> bool {
    let is_number: Vec<bool> = names.iter().map(|name| column(name) == Column::Number).collect();
    let texts = || {
        let cells = rows.iter().flat_map(|(_, cells)| cells.iter().zip(&is_number));
        cells
            .filter(|(cell, is_number)| cell.is_text && **is_number)
            .map(|(cell, _)| cell.text.trim())
    };
    let decimal = format.decimal.unwrap_or_else(|| found_decimal(texts));
    if decimal == Decimal::Point || !texts().any(|text| has_mark(text, ',')) {
        return false;
    }
    for (_, cells) in rows {
        for (cell, _) in cells.iter_mut().zip(&is_number).filter(|(_, is_number)| **is_number) {
            if cell.is_text && has_mark(cell.text.trim(), ',') {
                cell.text = cell.text.replacen(',', ".", 1);
            }
        }
    }
    true
}

impl Format {
    /// Whether what is told of a file can be true of it.
    fn check(&self, path: &Path) -> Result<(), Failure> {
        let refused = |reason: &str| Err(Failure::Refused(format!("{} {reason}", path.display())));
        if path.extension().is_some_and(|end| end.eq_ignore_ascii_case("parquet")) {
            return refused(
                "is a Parquet file, which is not read; convert it to CSV, for example with \
                 python3 -c \"import pandas; pandas.read_parquet('FILE.parquet').to_csv('FILE.csv', index=False)\"",
            );
        }
        match (is_workbook(path), self) {
            (true, Self { delimiter: Some(_), .. }) => {
                refused("is a workbook, which has no delimiter; leave out --delimiter")
            }
            (false, Self { sheet: Some(_), .. }) => {
                refused("is no workbook, so that it has no sheets; leave out --sheet")
            }
            _ => Ok(()),
        }
    }
}

/// What a spreadsheet may have done to a number.
fn mishap(text: &str) -> &'static str {
    let parts: Vec<&str> = text.split(['-', '/', '.', ' ']).take(3).collect();
    let is_digits = |part: &&str| part.len() <= 4 && part.bytes().all(|b| b.is_ascii_digit());
    if text.starts_with('=') {
        return "; it is a formula without a value: open the workbook in a spreadsheet program and save it";
    }
    if text.starts_with('#') {
        return "; a formula of the spreadsheet went wrong there";
    }
    match parts.len() == 3 && parts.iter().all(|part| !part.is_empty() && is_digits(part)) {
        true => {
            "; spreadsheets turn numbers into dates: format the column as numbers and type it again"
        }
        false => "",
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
        Format { delimiter: None, decimal: None, sheet: None }
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
            table.found_decimal(|name| if name == "note" { Column::Other } else { Column::Number })
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
