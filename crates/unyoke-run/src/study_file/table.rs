//! Typed access to the tables of a study file. Each mistake is noted with its place, and reading
//! goes on, so that all mistakes are known at the end.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use unyoke::near;

use crate::diagnostic::Diagnostic;

/// The mistakes found so far in a text.
#[derive(Debug)]
pub(super) struct Findings {
    text: String,
    found: Vec<Diagnostic>,
}

impl Findings {
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned(), found: vec![] }
    }

    pub(super) fn add(&mut self, diagnostic: Diagnostic) {
        self.found.push(diagnostic);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub(super) fn into_diagnostics(self) -> Vec<Diagnostic> {
        self.found
    }

    /// The place of a part of a text in quotes: exact if the text is written without escapes,
    /// otherwise that of the whole.
    pub(super) fn inside(&self, entry: &Entry<'_>, part: Range<usize>) -> Range<usize> {
        let Range { start, end } = entry.place();
        let unquoted = self.text.get(start + 1..end.saturating_sub(1));
        match unquoted == Some(entry.as_text()) {
            true => start + 1 + part.start..start + 1 + part.end,
            false => start..end,
        }
    }
}

/// A table with its place in the file.
#[derive(Debug, Clone)]
pub(super) struct Table<'t> {
    /// As in `parameters.length`; empty for the whole file.
    pub(super) path: String,
    /// Where it is named.
    pub(super) place: Range<usize>,
    name: &'t str,
    content: &'t DeTable<'t>,
}

/// A field that is there.
#[derive(Debug, Clone)]
pub(super) struct Entry<'t> {
    /// As in `parameters.length.low`.
    pub(super) path: String,
    /// The last part of the path, as it was meant.
    pub(super) name: &'t str,
    /// Where it is named.
    pub(super) key: Range<usize>,
    value: &'t Spanned<DeValue<'t>>,
}

impl<'t> Table<'t> {
    /// The whole file.
    pub(super) fn root(content: &'t DeTable<'t>) -> Self {
        Self { path: String::new(), place: 0..0, name: "", content }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.content.is_empty()
    }

    /// The last part of its path, as it was meant.
    pub(super) fn name(&self) -> &'t str {
        self.name
    }

    /// All fields in the order of the file.
    pub(super) fn entries(&self) -> impl Iterator<Item = Entry<'t>> {
        let (content, path) = (self.content, self.path.clone());
        content.iter().map(move |(key, value)| Entry {
            path: join(&path, key.get_ref()),
            name: key.get_ref(),
            key: key.span(),
            value,
        })
    }

    /// The field called `name`.
    pub(super) fn get(&self, name: &str) -> Option<Entry<'t>> {
        self.entries().find(|entry| entry.name == name)
    }

    /// The field called `name`, the lack of which is a mistake.
    pub(super) fn need(&self, name: &str, found: &mut Findings) -> Option<Entry<'t>> {
        let entry = self.get(name);
        if entry.is_none() {
            let message = format!("{} needs {name}", self.path);
            found.add(Diagnostic::new(self.place.clone(), message).label(format!("no {name}")));
        }
        entry
    }

    /// The table called `name`, if it is there.
    pub(super) fn section(&self, name: &str, found: &mut Findings) -> Option<Table<'t>> {
        self.get(name).and_then(|entry| entry.table(found))
    }

    /// Notes each field whose name is not among `known`.
    pub(super) fn refuse_unknown(&self, known: &[&str], found: &mut Findings) {
        for entry in self.entries().filter(|entry| !known.contains(&entry.name)) {
            let message = format!("there is no field {}", entry.path);
            let diagnostic = Diagnostic::new(entry.key, message).label("unknown field");
            let near = near(entry.name, known.iter().copied());
            let all = || format!("the fields here are {}", known.join(", "));
            found.add(match near {
                Some(near) => diagnostic.near(Some(near)),
                None => diagnostic.help(all()),
            });
        }
    }
}

impl<'t> Entry<'t> {
    /// Where its value stands.
    pub(super) fn place(&self) -> Range<usize> {
        self.value.span()
    }

    pub(super) fn table(&self, found: &mut Findings) -> Option<Table<'t>> {
        self.inner().or_else(|| self.wrong_type("a table", found))
    }

    pub(super) fn text(&self, found: &mut Findings) -> Option<&'t str> {
        match self.value.get_ref() {
            DeValue::String(text) => self.without_nul(text, found),
            _ => self.wrong_type("text in quotes", found),
        }
    }

    pub(super) fn number(&self, found: &mut Findings) -> Option<f64> {
        match number(self.value.get_ref()) {
            Some(number) => Some(number),
            None => self.wrong_type("a number", found),
        }
    }

    /// An integer that the type can hold.
    pub(super) fn whole<T: TryFrom<i128>>(&self, found: &mut Findings) -> Option<T> {
        let DeValue::Integer(integer) = self.value.get_ref() else {
            return self.wrong_type("an integer", found);
        };
        let value = i128::from_str_radix(integer.as_str(), integer.radix()).ok();
        let fits = value.and_then(|value| T::try_from(value).ok());
        if fits.is_none() {
            self.refuse(format!("cannot be {integer}"), "out of range", found);
        }
        fits
    }

    /// An integer of at least 1.
    pub(super) fn count<T: TryFrom<i128>>(&self, found: &mut Findings) -> Option<T> {
        if self.whole::<i128>(found)? < 1 {
            self.refuse("must be at least 1", "too small", found);
            return None;
        }
        self.whole(found)
    }

    /// A positive number.
    pub(super) fn positive(&self, found: &mut Findings) -> Option<f64> {
        let value = self.number(found)?;
        if value.is_finite() && value > 0.0 {
            return Some(value);
        }
        let message = format!("is {value}, but must be positive and finite");
        self.refuse(message, "expected a positive number", found);
        None
    }

    /// A length of time that is not zero.
    pub(super) fn duration(&self, found: &mut Findings) -> Option<Duration> {
        const EXAMPLES: &str = "write a number and a unit, as in \"90s\", \"10m\" or \"1h 30m\"";
        let reason = match self.value.get_ref() {
            DeValue::String(text) => match humantime::parse_duration(text) {
                Ok(duration) if duration.is_zero() => "must be longer than nothing".to_owned(),
                Ok(duration) => return Some(duration),
                Err(error) => format!("is not a length of time: {error}"),
            },
            _ => "must be a length of time in quotes".to_owned(),
        };
        let message = format!("{} {reason}", self.path);
        let diagnostic = Diagnostic::new(self.place(), message).label("expected a length of time");
        found.add(diagnostic.help(EXAMPLES));
        None
    }

    pub(super) fn truth(&self, found: &mut Findings) -> Option<bool> {
        match self.value.get_ref() {
            DeValue::Boolean(truth) => Some(*truth),
            _ => self.wrong_type("true or false", found),
        }
    }

    /// One of some words.
    pub(super) fn word(&self, known: &[&str], found: &mut Findings) -> Option<&'t str> {
        let word = self.text(found)?;
        if known.contains(&word) {
            return Some(word);
        }
        self.unknown_word(word, known, found)
    }

    /// Notes a word that is none of those known here.
    pub(super) fn unknown_word<T>(
        &self,
        word: &str,
        known: &[&str],
        found: &mut Findings,
    ) -> Option<T> {
        let message = format!("{} cannot be {word:?}", self.path);
        let quoted: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
        let label = format!("expected {}", quoted.join(", "));
        let diagnostic = Diagnostic::new(self.place(), message).label(label);
        found.add(diagnostic.near(near(word, known.iter().copied())));
        None
    }

    /// The texts of a list, each with its place.
    pub(super) fn texts(&self, found: &mut Findings) -> Option<Vec<Entry<'t>>> {
        let DeValue::Array(items) = self.value.get_ref() else {
            return self.wrong_type("a list of texts in quotes", found);
        };
        let item = |(i, value): (usize, &'t Spanned<DeValue<'t>>)| Entry {
            path: format!("{}[{i}]", self.path),
            name: self.name,
            key: value.span(),
            value,
        };
        let items: Vec<Entry<'t>> = items.iter().enumerate().map(item).collect();
        let good = items.iter().filter(|item| item.text(found).is_some()).count();
        (good == items.len()).then_some(items)
    }

    /// The text, when it is known to be one.
    pub(super) fn as_text(&self) -> &'t str {
        self.value.get_ref().as_str().unwrap_or_default()
    }

    /// Whether it is text at all.
    pub(super) fn is_text(&self) -> bool {
        self.value.get_ref().is_str()
    }

    /// The fields inside it, if it is a table.
    pub(super) fn inner(&self) -> Option<Table<'t>> {
        let content = self.value.get_ref().as_table()?;
        let (path, place) = (self.path.clone(), self.key.clone());
        Some(Table { path, place, name: self.name, content })
    }

    /// Whether it is a list with nothing in it.
    pub(super) fn is_empty_list(&self) -> bool {
        self.value.get_ref().as_array().is_some_and(|items| items.is_empty())
    }

    /// The place of an item, if it is a list that has it.
    pub(super) fn item_place(&self, index: usize) -> Option<Range<usize>> {
        Some(self.value.get_ref().as_array()?.get(index)?.span())
    }

    /// A value of each of the fields of a table.
    pub(super) fn map<T>(
        &self,
        found: &mut Findings,
        mut read: impl FnMut(&Entry<'t>, &mut Findings) -> Option<T>,
    ) -> BTreeMap<String, T> {
        let Some(table) = self.table(found) else { return BTreeMap::new() };
        let pair = |entry: Entry<'t>| Some((entry.name.to_owned(), read(&entry, found)?));
        table.entries().filter_map(pair).collect()
    }

    /// Any type of the engine, in the form that the engine gives it.
    pub(super) fn parse<T: DeserializeOwned>(&self, found: &mut Findings) -> Option<T> {
        match T::deserialize(ValueDeserializer::from(self.value.clone())) {
            Ok(value) => Some(value),
            Err(error) => {
                let place = error.span().unwrap_or_else(|| self.place());
                let message = format!("{}: {}", self.path, error.message());
                let diagnostic = Diagnostic::new(place, message).label("here");
                found.add(diagnostic.near(near_quoted(error.message())));
                None
            }
        }
    }

    /// Notes that its value cannot be used, with a message that continues its path.
    pub(super) fn refuse(
        &self,
        message: impl std::fmt::Display,
        label: &str,
        found: &mut Findings,
    ) {
        let message = format!("{} {message}", self.path);
        found.add(Diagnostic::new(self.place(), message).label(label));
    }

    /// Notes that it is of another type than it should be.
    fn wrong_type<T>(&self, expected: &str, found: &mut Findings) -> Option<T> {
        let value = self.value.get_ref();
        let message = format!("{} must be {expected}, not {}", self.path, kind(value));
        let place = if value.is_table() { self.key.clone() } else { self.place() };
        let diagnostic = Diagnostic::new(place, message).label(format!("expected {expected}"));
        let unquoted = value.as_str().filter(|text| text.trim().parse::<f64>().is_ok());
        found.add(match unquoted {
            Some(text) if expected.ends_with("number") => {
                diagnostic.help(format!("remove the quotes: {}", text.trim()))
            }
            _ => diagnostic,
        });
        None
    }

    /// Text that can be handed to a process.
    fn without_nul(&self, text: &'t str, found: &mut Findings) -> Option<&'t str> {
        if text.contains('\0') {
            let message = "contains a NUL character, which cannot be passed to a command";
            self.refuse(message, "NUL inside", found);
            return None;
        }
        Some(text)
    }
}

/// A number, whole or not. One that overflows becomes infinite, which whoever reads it refuses.
fn number(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Integer(integer) => {
            i128::from_str_radix(integer.as_str(), integer.radix()).ok().map(|value| value as f64)
        }
        DeValue::Float(float) => float.as_str().parse().ok(),
        _ => None,
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// The path of a field, its name quoted where TOML needs that.
pub(super) fn join(path: &str, name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let bare = !name.is_empty() && name.chars().all(plain);
    let name = if bare { name.to_owned() } else { format!("{name:?}") };
    if path.is_empty() { name } else { format!("{path}.{name}") }
}

/// From a message like "unknown field `a`, expected `b` or `c`", the name that `a` should be.
fn near_quoted(message: &str) -> Option<String> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let wrong = quoted.next()?;
    near(wrong, quoted)
}
