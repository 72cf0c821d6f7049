//! Results on standard output: tables for people, JSON for programs. The only file that names
//! `comfy_table`.

use comfy_table::{CellAlignment, LineStyle, TableStyle};
use serde::Serialize;
use std::io::{self, Write};

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

/// The text with its control characters escaped, but for ends of lines.
pub(crate) fn visible(text: &str) -> String {
    escaped(text, |c| c != '\n')
}

/// The text in one line, with all its control characters escaped.
pub(crate) fn one_line(text: &str) -> String {
    escaped(text, |_| true)
}

fn escaped(text: &str, wanted: impl Fn(char) -> bool) -> String {
    // Beside control characters, those that turn the direction of writing around.
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match steers(c) && wanted(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
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
    fn what_would_steer_a_terminal_is_shown_instead() {
        assert_eq!(visible("a\u{1b}[31mb\u{7}\nc\u{9b}"), "a\\u{1b}[31mb\\u{7}\nc\\u{9b}");
        assert_eq!(one_line("a\nb\tc\u{202e}d"), "a\\nb\\tc\\u{202e}d");
        assert_eq!(visible("± größer 🦀"), "± größer 🦀");
        let mut table = Table::new(["na\nme"]);
        table.row(["\u{1b}[2J"]);
        assert!(!table.to_string().contains('\u{1b}') && table.to_string().contains("na\\nme"));
    }
}
