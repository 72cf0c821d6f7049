//! Results on standard output: tables for people, JSON for programs. The only file that names
//! `comfy_table`.

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
pub(crate) struct Table(comfy_table::Table);

impl Table {
    pub(crate) fn new<H: Into<String>>(head: impl IntoIterator<Item = H>) -> Self {
        let mut table = comfy_table::Table::new();
        table.load_style(STYLE);
        table.set_header(head.into_iter().map(|name| one_line(&name.into())));
        Self(table)
    }

    pub(crate) fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.0.add_row(cells.into_iter().map(|cell| one_line(&cell.into())));
    }

    /// The table with these columns to the right.
    pub(crate) fn right(mut self, columns: impl IntoIterator<Item = usize>) -> Self {
        for column in columns {
            if let Some(column) = self.0.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        self
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
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
}
