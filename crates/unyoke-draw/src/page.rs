//! A page of text, tables and pictures, which needs nothing beside it.
//!
//! The page loads nothing: style, typeface, figures and script are part of it. It is complete without its
//! script, which a page has only if something on it can be pointed at, sorted or chosen; no other script can
//! run. It follows the reader's choice of light or dark, and prints in light.

mod html;

use crate::mark::Mark;
use crate::picture::Picture;

/// A page as plain data. All text is plain too: nothing in it is read as markup.
///
/// ```
/// use unyoke_draw::page::Page;
///
/// let page = Page { title: "C-MOKG & others".into(), ..Page::default() };
/// assert!(page.html().starts_with("<!DOCTYPE html>"));
/// assert!(page.html().contains("<h1>C-MOKG &amp; others</h1>"));
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// What the page is about.
    pub title: String,
    /// The outcome in a sentence or two; may be empty.
    pub lead: String,
    /// How it was made, as names with values: version, seed, settings.
    pub made: Vec<(String, String)>,
    /// How many of the planned runs are complete; empty where there are none to wait for.
    pub runs: Vec<Runs>,
    /// The findings, in order.
    pub sections: Vec<Section>,
}

/// Runs of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Runs {
    /// What was run, such as a family and an algorithm.
    pub name: String,
    /// Runs that reached their budget.
    pub complete: usize,
    /// Runs that should.
    pub planned: usize,
}

/// A part of a page with a heading.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Paragraphs, separated by empty lines.
    pub text: String,
    /// Sliders by which a reader chooses among rows of the tables.
    pub chooser: Option<Chooser>,
    /// Figures, numbered through the whole page.
    pub figures: Vec<Figure>,
    /// Tables, numbered through the whole page.
    pub tables: Vec<Table>,
}

/// Pictures with what they show.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// What the pictures show, without a number.
    pub caption: String,
    /// The pictures, side by side as far as there is room.
    pub pictures: Vec<Picture>,
}

/// A slider for each criterion: the row whose mark has the largest weighted sum of shares is chosen. Only
/// shown where scripts run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Chooser {
    /// What the reader chooses.
    pub caption: String,
    /// Names of the criteria, in the order of [`Mark::shares`].
    pub criteria: Vec<String>,
}

/// How a table is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Display {
    /// In full.
    #[default]
    Plain,
    /// In a box of its own, for many rows, which can be sorted and filtered.
    List,
}

/// A table. Its first column holds names, all others hold numbers.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// What the table shows, without a number.
    pub caption: String,
    /// Names of the columns.
    pub head: Vec<String>,
    /// Rows from top to bottom; a short one ends with empty cells.
    pub rows: Vec<Vec<Cell>>,
    /// What each row stands for; none where there are fewer marks than rows.
    pub marks: Vec<Mark>,
    /// How it is shown.
    pub display: Display,
}

/// A cell of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cell {
    /// As most are.
    Plain(String),
    /// Set off, for the best of a column.
    Best(String),
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::Plain(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::Plain(text.into())
    }
}
