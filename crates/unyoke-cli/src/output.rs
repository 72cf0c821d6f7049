//! Results on standard output: tables for people, JSON for programs. The only file that names
//! `comfy_table` and `console`.

use comfy_table::{CellAlignment, LineStyle, TableStyle};
use serde::Serialize;
use std::io::{self, Write};
use unyoke_view::words::{one_line, visible};

/// A line below the head, and nothing else.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// How results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// Writes a text for people and ends its line. Names and reasons may hold anything: what would
/// steer a terminal is shown and does nothing.
pub(crate) fn say(text: &str) -> io::Result<()> {
    say_raw(&visible(text))
}

/// Writes a line to standard error. That nobody can read it is no reason to stop.
pub(crate) fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "{}", visible(text));
}

/// Writes a text as it is and ends its line.
pub(crate) fn say_raw(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

/// Writes a value as JSON.
pub(crate) fn say_json(value: &impl Serialize) -> io::Result<()> {
    say_raw(&serde_json::to_string_pretty(value)?)
}

/// A table for people: the first column holds names, numbers stand to the right.
#[derive(Debug)]
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    /// The columns that stand to the right.
    right: Vec<usize>,
}

impl Table {
    pub(crate) fn new<H: Into<String>>(head: impl IntoIterator<Item = H>) -> Self {
        let head = head.into_iter().map(|name| one_line(&name.into())).collect();
        Self { head, rows: vec![], right: vec![] }
    }

    pub(crate) fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.rows.push(cells.into_iter().map(|cell| one_line(&cell.into())).collect());
    }

    /// The table with these columns to the right.
    pub(crate) fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        self.right.extend(columns);
        self
    }

    /// The table in so many characters: if it is wider, some of its columns after the others, with numbers that
    /// tell which rows belong together.
    fn within(&self, width: Option<usize>) -> String {
        let parts = self.parts(width.unwrap_or(usize::MAX));
        match &parts[..] {
            [all] => self.part(all, None),
            parts => {
                let numbered = parts.iter().map(|columns| self.part(columns, Some("row")));
                numbered.collect::<Vec<_>>().join("\n\n")
            }
        }
    }

    /// Columns that fit side by side, in order.
    fn parts(&self, width: usize) -> Vec<Vec<usize>> {
        let cells = |column: usize| self.rows.iter().filter_map(move |row| row.get(column));
        let size = |text: &String| text.chars().count() + BLANKS;
        let sizes: Vec<usize> = (0..self.head.len())
            .map(|column| cells(column).map(size).fold(size(&self.head[column]), usize::max))
            .collect();
        if sizes.iter().sum::<usize>() <= width.saturating_add(1) {
            return vec![(0..sizes.len()).collect()];
        }
        let number = size(&self.rows.len().to_string()).max(size(&"row".to_owned()));
        let (mut parts, mut used): (Vec<Vec<usize>>, usize) = (vec![], usize::MAX);
        for (column, size) in sizes.into_iter().enumerate() {
            match parts.last_mut() {
                Some(part) if used.saturating_add(size) <= width + 1 => {
                    part.push(column);
                    used += size;
                }
                _ => {
                    parts.push(vec![column]);
                    used = number + size;
                }
            }
        }
        parts
    }

    /// Some of the columns, the rows numbered if the numbers have a name.
    fn part(&self, columns: &[usize], numbers: Option<&str>) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        let own = |row: &[String]| -> Vec<String> {
            columns.iter().filter_map(|column| row.get(*column).cloned()).collect()
        };
        let numbered = |name: String, cells: Vec<String>| {
            numbers.map(|_| name).into_iter().chain(cells).collect::<Vec<_>>()
        };
        table.set_header(numbered(numbers.unwrap_or_default().to_owned(), own(&self.head)));
        for (i, row) in self.rows.iter().enumerate() {
            table.add_row(numbered((i + 1).to_string(), own(row)));
        }
        let shift = usize::from(numbers.is_some());
        let right = columns.iter().enumerate().filter(|(_, column)| self.right.contains(column));
        for place in right.map(|(i, _)| i + shift).chain((shift == 1).then_some(0)) {
            if let Some(column) = table.column_mut(place) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        table.to_string()
    }
}

/// What a column needs beside its text: a blank to each side, and one to the next.
const BLANKS: usize = 3;

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = console::Term::stdout().size_checked().map(|(_, width)| usize::from(width));
        f.write_str(&self.within(width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_cannot_steer_a_terminal() {
        let mut table = Table::new(["na\nme"]);
        table.row(["\u{1b}[2J"]);
        assert!(!table.to_string().contains('\u{1b}') && table.to_string().contains("na\\nme"));
    }

    #[test]
    fn a_wide_table_is_told_in_parts_with_numbered_rows() {
        let mut table = Table::new(["length", "material", "mass (minimise)"]);
        table.row(["0.5", "oak", "1.25"]);
        table.row(["0.75", "steel", "12.5"]);
        let table = table.right([0, 2]);
        let whole = table.within(None);
        let width = whole.lines().map(|line| line.chars().count()).max().unwrap();
        assert_eq!(table.within(Some(width)), whole, "it fits");
        let narrow = table.within(Some(width - 1));
        let parts: Vec<&str> = narrow.split("\n\n").collect();
        assert_eq!(parts.len(), 2);
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(parts[0].lines().nth(3).unwrap()), ["2", "0.75", "steel"]);
        assert_eq!(words(parts[1].lines().nth(3).unwrap()), ["2", "12.5"]);
        assert!(narrow.lines().all(|line| line.chars().count() < width), "{narrow}");
        assert_eq!(table.within(Some(1)).split("\n\n").count(), 3, "no column is left out");
    }
}
