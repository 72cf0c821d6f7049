//! What was promised of a study, whatever happened to its processes. Faults are written into a list,
//! each with what was found.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use unyoke::{Event, Journal};
use unyoke_store::{LateResult, Location, Store};

use super::command::{self, Entry, What};
use super::tally::Fault;
use crate::place::Place;

/// A study after its last run.
pub(crate) struct Audit<'a> {
    places: &'a [Place],
    events: Vec<Event>,
    late: Vec<LateResult>,
    values: Vec<Value>,
    entries: Vec<Entry>,
    faults: Vec<(Fault, String)>,
}

/// A value in an `exit.json`.
#[derive(Debug, Clone, Copy)]
struct Value {
    evaluation: u64,
    attempt: u32,
    folder: usize,
    value: f64,
}

/// What there was, beside faults.
pub(crate) struct Figures {
    pub(crate) evaluations: usize,
    pub(crate) attempts: usize,
    pub(crate) late: usize,
}

impl<'a> Audit<'a> {
    /// A study with these folders.
    pub(crate) fn new(places: &'a [Place], store: &str) -> Self {
        let store = Store::open(&Location::parse(store).unwrap()).unwrap();
        let records = store.read(0).unwrap();
        Self {
            places,
            events: records.into_iter().map(|record| record.event).collect(),
            late: store.late().unwrap(),
            values: (0..).zip(places).flat_map(|(folder, place)| values(place, folder)).collect(),
            entries: command::entries(&places[0].path("")),
            faults: vec![],
        }
    }

    pub(crate) fn figures(&self) -> Figures {
        let asked = |event: &&Event| matches!(event, Event::Asked { .. });
        let began = |entry: &&Entry| entry.what == What::Began;
        Figures {
            evaluations: self.events.iter().filter(asked).count(),
            attempts: self.entries.iter().filter(began).count(),
            late: self.late.len(),
        }
    }

    /// All faults. `said` is what runners said on standard error.
    pub(crate) fn faults(mut self, said: &str) -> Vec<(Fault, String)> {
        self.check_what_was_said(said);
        self.check_values();
        self.check_settlements();
        self.check_failures();
        self.check_spending();
        self.check_intervals();
        self.faults
    }

    fn blame(&mut self, fault: Fault, what: String) {
        self.faults.push((fault, what));
    }

    fn told(&self) -> BTreeMap<u64, f64> {
        let told = |event: &Event| match event {
            Event::Measured { evaluation, values, .. } => {
                Some((*evaluation, values.values().next()?.value))
            }
            _ => None,
        };
        self.events.iter().filter_map(told).collect()
    }

    /// Every value that a runner called recorded is recorded, and by that runner only.
    fn check_what_was_said(&mut self, said: &str) {
        let (told, mut seen) = (self.told(), BTreeSet::new());
        for (evaluation, value) in said.lines().filter_map(value_in) {
            // Shown with four digits.
            let is_same = |told: &f64| (told - value).abs() <= 1e-3 * told.abs();
            if !told.get(&evaluation).is_some_and(is_same) {
                let found = told.get(&evaluation);
                self.blame(Fault::Lost, format!("{evaluation}: said {value}, is {found:?}"));
            }
            if !seen.insert(evaluation) {
                self.blame(Fault::Doubled, format!("{evaluation} was recorded twice"));
            }
        }
    }

    /// Every result that reached the disk is recorded or kept, and every recorded one was there.
    fn check_values(&mut self) {
        let told = self.told();
        let mut measured = BTreeSet::new();
        for found @ Value { evaluation, attempt, folder, value } in self.values.clone() {
            let is_late =
                |late: &LateResult| (late.evaluation, late.attempt) == (evaluation, attempt);
            if told.get(&evaluation) != Some(&value) && !self.late.iter().any(is_late) {
                self.blame(Fault::Lost, format!("nobody knows of {found:?}"));
            }
            let attempt = command::numbered(attempt, folder);
            if value != command::value(evaluation, attempt) {
                self.blame(Fault::Lost, format!("another value than the command gave: {found:?}"));
            }
            if !measured.insert(evaluation) {
                self.blame(Fault::Doubled, format!("measured a second time: {found:?}"));
            }
        }
        for evaluation in told.keys().filter(|evaluation| !measured.contains(evaluation)) {
            self.faults.push((Fault::Doubled, format!("{evaluation} has a value from nowhere")));
        }
        let kept = self.late.len();
        let distinct: BTreeSet<(u64, &str)> =
            self.late.iter().map(|late| (late.evaluation, late.outcome.as_str())).collect();
        if distinct.len() < kept {
            self.blame(Fault::Doubled, format!("kept twice as late: {:?}", self.late));
        }
    }

    /// Every evaluation is settled, once.
    fn check_settlements(&mut self) {
        let mut settled: BTreeMap<u64, usize> = BTreeMap::new();
        for event in &self.events {
            match event {
                Event::Asked { evaluation, .. } => {
                    settled.entry(*evaluation).or_insert(0);
                }
                Event::Measured { evaluation, .. }
                | Event::Failed { evaluation, .. }
                | Event::Withdrawn { evaluation } => *settled.entry(*evaluation).or_insert(0) += 1,
                _ => {}
            }
        }
        for (evaluation, times) in settled {
            match times {
                0 => self.blame(Fault::Unattended, format!("{evaluation} is pending")),
                1 => {}
                _ => self.blame(Fault::Doubled, format!("{evaluation} was settled {times} times")),
            }
        }
    }

    /// Nothing is given up unless it was disturbed again and again.
    fn check_failures(&mut self) {
        const TRIES: usize = 6;
        for event in self.events.clone() {
            let (evaluation, reason) = match event {
                Event::Failed { evaluation, reason, .. } => (evaluation, reason),
                Event::Withdrawn { evaluation } => (evaluation, "withdrawn".to_owned()),
                _ => continue,
            };
            let folder = |place: &Place| place.path(&format!("study.runs/{evaluation:06}"));
            let folders = self.places.iter().map(folder);
            let attempts: usize = folders.map(|folder| numbered(&folder).len()).sum();
            if attempts < TRIES {
                let what = format!("{evaluation} was given up after {attempts} attempts: {reason}");
                self.blame(Fault::Lost, what);
            }
        }
    }

    fn check_spending(&mut self) {
        let mut costs = BTreeMap::new();
        let mut settled = 0.0;
        for event in &self.events {
            match event {
                Event::Asked { evaluation, cost, .. } => drop(costs.insert(*evaluation, *cost)),
                Event::Measured { evaluation, .. } | Event::Failed { evaluation, .. } => {
                    settled += costs[evaluation];
                }
                _ => {}
            }
        }
        let spent = self.places[0].spent();
        if spent != settled {
            self.blame(Fault::Doubled, format!("spent {spent}, but settled {settled}"));
        }
    }

    /// No command began while another of the same evaluation ran.
    fn check_intervals(&mut self) {
        for entry in self.entries.clone() {
            if let What::Met(other) = entry.what {
                self.blame(Fault::Overlapping, format!("{entry:?} beside process {other}"));
            }
            let Some((began, ended)) = self.interval(entry) else { continue };
            let within = |other: &&Entry| {
                other.evaluation == entry.evaluation
                    && other.attempt != entry.attempt
                    && other.what == What::Began
                    && (began..ended).contains(&other.nanoseconds)
            };
            if let Some(other) = self.entries.iter().find(within) {
                let what = format!("{other:?} while {entry:?} until {ended}");
                self.blame(Fault::Overlapping, what);
            }
            let is_again = |other: &&Entry| {
                (other.evaluation, other.attempt) == (entry.evaluation, entry.attempt)
                    && other.what == What::Began
            };
            if self.entries.iter().filter(is_again).count() > 1 {
                self.blame(Fault::Doubled, format!("the same attempt began twice: {entry:?}"));
            }
        }
    }

    /// From when until when an attempt ran that came to its end.
    fn interval(&self, entry: Entry) -> Option<(u128, u128)> {
        let is_end = |other: &&Entry| {
            (other.evaluation, other.attempt) == (entry.evaluation, entry.attempt)
                && other.what == What::Ended
        };
        let ended = self.entries.iter().find(is_end).filter(|_| entry.what == What::Began)?;
        Some((entry.nanoseconds, ended.nanoseconds))
    }
}

/// The values in all `exit.json` of a folder.
fn values(place: &Place, folder: usize) -> Vec<Value> {
    let mut values = vec![];
    for evaluation in numbered(&place.path("study.runs")) {
        let attempts = place.path(&format!("study.runs/{evaluation:06}"));
        for attempt in numbered(&attempts) {
            let path = attempts.join(attempt.to_string()).join("exit.json");
            let Ok(text) = fs::read_to_string(&path) else { continue };
            let exit: serde_json::Value = serde_json::from_str(&text).unwrap();
            let attempt = u32::try_from(attempt).unwrap();
            let value =
                exit["values"].as_object().and_then(|values| values.values().next()?.as_f64());
            values.extend(value.map(|value| Value { evaluation, attempt, folder, value }));
        }
    }
    values
}

/// The folders in a folder whose names are numbers.
fn numbered(folder: &Path) -> Vec<u64> {
    let entries = fs::read_dir(folder).map(|entries| entries.flatten().collect::<Vec<_>>());
    let names = entries.unwrap_or_default().into_iter().map(|entry| entry.file_name());
    names.filter_map(|name| name.to_str()?.parse().ok()).collect()
}

/// The evaluation and its value in a line such as `   12  mass = 0.5 after 3ms`.
fn value_in(line: &str) -> Option<(u64, f64)> {
    let mut words = line.split_whitespace();
    let evaluation = words.next()?;
    let (_, equals) = (words.next()?, words.next()?);
    if equals != "=" {
        return None;
    }
    Some((evaluation.parse().ok()?, words.next()?.parse().ok()?))
}
