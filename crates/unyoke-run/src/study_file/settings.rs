//! Reads the sections that are settings: `[study]`, `[budget]`, `[stop]`, `[run]`, `[initial]`,
//! `[preference]`, `[engine]`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use unyoke::{Algorithm, Config, Initial, Preference, Stop, Utility, near};
use unyoke_store::Location;

use super::executors::Executor;
use super::fields;
use super::table::{Entry, Findings, Table};
use crate::command::CommandTemplate;
use crate::diagnostic::Diagnostic;

/// When to stop asking; nothing said means never.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Budget {
    /// Total cost, in the unit of the measurements' costs.
    pub cost: Option<f64>,
    /// Time since the run began.
    pub wall_time: Option<Duration>,
    /// Evaluations of single measurements, by name.
    pub evaluations: BTreeMap<String, u64>,
}

/// How often a measurement is tried that has never worked, by default.
const TRIALS: usize = 3;

/// How evaluations are run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunSettings {
    /// Evaluations at once, of all measurements together.
    pub slots: usize,
    /// Evaluations of a measurement that has never given a value: if so many have failed, its command
    /// counts as broken.
    pub trials: usize,
    /// The share of the budget's cost that is kept for the end, to measure what recommended designs lack.
    pub confirm: Option<f64>,
    /// How each measurement is made, in the order of the problem.
    pub measurements: Vec<MeasurementRun>,
}

/// How one measurement is made.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasurementRun {
    /// Its name.
    pub measurement: String,
    /// The outputs that it gives.
    pub outputs: Vec<String>,
    /// What to run; without it, somebody tells the values.
    pub command: Option<CommandTemplate>,
    /// After which a command is stopped.
    pub timeout: Option<Duration>,
    /// Further attempts after one that failed.
    pub retries: u32,
    /// Evaluations of this measurement at once, if fewer than in all.
    pub slots: Option<usize>,
    /// Where the command runs; absolute.
    pub directory: PathBuf,
    /// Variables of its environment, beside the inherited ones.
    pub env: BTreeMap<String, String>,
    /// Where its evaluations run.
    pub executor: Executor,
}

impl MeasurementRun {
    /// Whether it lacks a command, so that it cannot be run.
    pub fn needs_command(&self) -> bool {
        self.command.is_none() && self.executor != Executor::Hand
    }

    /// Whether somebody makes it: no command does.
    pub fn is_by_hand(&self) -> bool {
        self.command.is_none() || self.executor == Executor::Hand
    }

    /// A measurement about which nothing is said.
    pub(super) fn new(measurement: &str, folder: &Path) -> Self {
        Self {
            measurement: measurement.to_owned(),
            outputs: vec![],
            command: None,
            timeout: None,
            retries: 0,
            slots: None,
            directory: folder.to_owned(),
            env: BTreeMap::new(),
            executor: Executor::Local,
        }
    }
}

/// `[study]`.
#[derive(Debug, Default)]
pub(super) struct StudySection {
    pub(super) name: Option<String>,
    pub(super) seed: u64,
    pub(super) algorithm: Algorithm,
    pub(super) store: Option<Location>,
}

pub(super) fn study(root: &Table<'_>, found: &mut Findings) -> StudySection {
    let Some(table) = section(root, "study", fields::STUDY, found) else {
        return StudySection::default();
    };
    StudySection {
        name: table.get("name").and_then(|entry| entry.text(found)).map(str::to_owned),
        seed: table.get("seed").and_then(|entry| entry.whole(found)).unwrap_or_default(),
        algorithm: table
            .get("algorithm")
            .and_then(|entry| algorithm(&entry, found))
            .unwrap_or_default(),
        store: table.get("store").and_then(|entry| store(&entry, found)),
    }
}

fn store(entry: &Entry<'_>, found: &mut Findings) -> Option<Location> {
    let location = Location::parse(entry.text(found)?);
    let refuse = |error: unyoke_store::Error| {
        let diagnostic = Diagnostic::new(entry.place(), error.to_string()).label("not a place");
        found.add(diagnostic.help(
            "store = \"NAME.db\", \"file:NAME.journal\" or \"postgres://user@host/database?study=NAME\"",
        ));
    };
    location.map_err(refuse).ok()
}

fn algorithm(entry: &Entry<'_>, found: &mut Findings) -> Option<Algorithm> {
    let name = entry.text(found)?;
    name.parse()
        .ok()
        .or_else(|| entry.unknown_word(name, &Algorithm::ALL.map(Algorithm::name), found))
}

pub(super) fn budget(root: &Table<'_>, names: &Names<'_>, found: &mut Findings) -> Budget {
    let Some(table) = section(root, "budget", fields::BUDGET, found) else {
        return Budget::default();
    };
    let count = |entry: &Entry<'_>, found: &mut Findings| {
        names.refuse_unknown_measurement(entry, found)?;
        entry.count(found)
    };
    let evaluations = table.get("evaluations").map(|entry| entry.map(found, count));
    Budget {
        cost: table.get("cost").and_then(|entry| entry.positive(found)),
        wall_time: table.get("wall_time").and_then(|entry| entry.duration(found)),
        evaluations: evaluations.unwrap_or_default(),
    }
}

/// `[stop]`, for a study with these settings.
pub(super) fn stop(
    root: &Table<'_>,
    names: &Names<'_>,
    config: &Config,
    found: &mut Findings,
) -> Option<Stop> {
    let table = section(root, "stop", fields::STOP, found)?;
    let entry = table.need("worth", found)?;
    let worth = entry.map(found, |entry, found| {
        names.refuse_unknown_objective(entry, found)?;
        entry.positive(found)
    });
    if worth.is_empty() && entry.inner().is_some_and(|table| table.is_empty()) {
        let message = "stop.worth must name an objective";
        let diagnostic = Diagnostic::new(entry.place(), message).label("nothing here");
        found.add(diagnostic.help("worth = { mass = 40 }: one unit of mass is worth 40 of cost"));
    }
    let is_linear = config.utility == Utility::Linear && config.enough.is_empty();
    if !is_linear {
        let message =
            "what evaluations are worth is known for weighted sums of the objectives only";
        let diagnostic = Diagnostic::new(entry.key.clone(), message).label("no use here");
        found.add(diagnostic.help("remove [stop], or `enough` and `utility`"));
    } else if !config.algorithm.values_utility() {
        let name = config.algorithm.name();
        let message = format!("{name} does not tell what evaluations are worth to decision makers");
        let diagnostic = Diagnostic::new(entry.key.clone(), message).label("no use here");
        found.add(diagnostic.help("remove [stop], or set algorithm = \"c-mokg\" in [study]"));
    }
    let searches = table.get("searches").and_then(|entry| entry.count(found));
    Some(Stop { worth, searches: searches.unwrap_or(Stop::SEARCHES) })
}

/// `[run]`, with the measurements that are made, within a budget.
pub(super) fn run(
    root: &Table<'_>,
    measurements: Vec<MeasurementRun>,
    budget: &Budget,
    found: &mut Findings,
) -> RunSettings {
    let table = section(root, "run", fields::RUN, found);
    let mut count = |name: &str| table.as_ref()?.get(name)?.count(found);
    let (slots, trials) = (count("slots"), count("trials"));
    let confirm = table.as_ref().and_then(|table| table.get("confirm"));
    let confirm = confirm.and_then(|entry| share_of(budget, &entry, found));
    let (slots, trials) = (slots.unwrap_or(1), trials.unwrap_or(TRIALS));
    RunSettings { slots, trials, confirm, measurements }
}

/// A part of the budget's cost.
fn share_of(budget: &Budget, entry: &Entry<'_>, found: &mut Findings) -> Option<f64> {
    let share = entry.positive(found)?;
    let mut refuse = |message: String, help: &str| {
        let message = format!("{} {message}", entry.path);
        found.add(Diagnostic::new(entry.place(), message).label("no share of a budget").help(help));
    };
    if share >= 1.0 {
        let help = "confirm = 0.2 keeps a fifth of the budget for the end";
        refuse(format!("is {share}, but must be below 1"), help);
        return None;
    }
    if budget.cost.is_none() {
        refuse("needs a budget".to_owned(), "set cost in [budget]");
        return None;
    }
    Some(share)
}

/// The settings that a file names in `[study]` and `[engine]`.
pub(super) fn named(root: &Table<'_>) -> Vec<String> {
    let sections = ["study", "engine"].into_iter().filter_map(|name| root.get(name)?.inner());
    sections
        .flat_map(|table| table.entries().map(|entry| entry.name.to_owned()).collect::<Vec<_>>())
        .collect()
}

/// `[initial]`, `[preference]` and `[engine]`.
pub(super) fn config(root: &Table<'_>, names: &Names<'_>, found: &mut Findings) -> Config {
    let mut config = Config { initial: initial(root, names, found), ..Config::default() };
    engine(&mut config, root, names, found);
    preference(&mut config, root, found);
    config
}

fn preference(config: &mut Config, root: &Table<'_>, found: &mut Findings) {
    let Some(table) = section(root, "preference", fields::PREFERENCE, found) else { return };
    let utility = table.get("utility").and_then(|entry| entry.word(fields::UTILITIES, found));
    config.utility = match utility {
        Some("chebyshev") => Utility::Chebyshev,
        _ => Utility::Linear,
    };
    let Some(entry) = table.get("importance") else { return };
    if root.get("engine").and_then(|one| one.inner()?.get("preference")).is_some() {
        let message = format!("{} cannot be combined with engine.preference", entry.path);
        found.add(Diagnostic::new(entry.key, message).label("remove one of the two"));
        return;
    }
    if let Some(statements) = entry.texts(found) {
        let statements = statements.iter().map(|statement| statement.as_text().to_owned());
        config.preference = Preference::Importance(statements.collect());
    }
}

fn engine(config: &mut Config, root: &Table<'_>, names: &Names<'_>, found: &mut Findings) {
    let Some(table) = section(root, "engine", fields::ENGINE, found) else { return };
    let said = |name: &str| table.get(name);
    set(&mut config.weights, said("weights").and_then(|entry| entry.count(found)));
    set(&mut config.preference, said("preference").and_then(|entry| entry.parse(found)));
    set(&mut config.units, said("units").and_then(|entry| entry.parse(found)));
    set(&mut config.lengthscales, said("lengthscales").and_then(|entry| entry.parse(found)));
    set(
        &mut config.lengthscale_prior,
        said("lengthscale_prior").and_then(|entry| entry.parse(found)),
    );
    set(&mut config.deterministic, said("deterministic").and_then(|entry| entry.parse(found)));
    set(&mut config.failures, said("failures").and_then(|entry| entry.parse(found)));
    set(&mut config.correlations, said("correlations").and_then(|entry| entry.parse(found)));
    set(&mut config.pending, said("pending").and_then(|entry| entry.parse(found)));
    set(&mut config.outliers, said("outliers").and_then(|entry| entry.parse(found)));
    set(&mut config.best_possible, said("best_possible").and_then(|entry| entry.parse(found)));
    set(&mut config.recommendations, said("recommendations").and_then(|entry| entry.parse(found)));
    set(&mut config.discretisation, said("discretisation").and_then(|entry| entry.parse(found)));
    set(&mut config.search, said("search").and_then(|entry| entry.parse(found)));
    set(&mut config.front, said("front").and_then(|entry| entry.parse(found)));
    config.reference = said("reference").map(|entry| {
        entry.map(found, |entry, found| {
            names.refuse_unknown_objective(entry, found)?;
            entry.number(found)
        })
    });
}

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn initial(root: &Table<'_>, names: &Names<'_>, found: &mut Findings) -> Initial {
    let Some(table) = section(root, "initial", fields::INITIAL, found) else {
        return Initial::default();
    };
    let count = |entry: &Entry<'_>, found: &mut Findings| {
        names.refuse_unknown_measurement(entry, found)?;
        entry.whole(found)
    };
    let entry = match (table.get("per_measurement"), table.get("per_objective")) {
        (Some(_), Some(second)) => {
            let message = format!("{} repeats per_measurement", second.path);
            found.add(Diagnostic::new(second.key, message).label("remove this"));
            None
        }
        (first, second) => first.or(second),
    };
    let per_measurement = entry.map(|entry| entry.map(found, count));
    Initial {
        designs: table.get("designs").and_then(|entry| entry.whole(found)),
        per_measurement: per_measurement.unwrap_or_default(),
    }
}

fn section<'t>(
    root: &Table<'t>,
    name: &str,
    known: &[&str],
    found: &mut Findings,
) -> Option<Table<'t>> {
    let table = root.section(name, found)?;
    table.refuse_unknown(known, found);
    Some(table)
}

/// What settings may name.
pub(super) struct Names<'a> {
    pub(super) objectives: Vec<&'a str>,
    pub(super) measurements: Vec<&'a str>,
}

impl Names<'_> {
    /// `None` if no objective has the name of the field.
    fn refuse_unknown_objective(&self, entry: &Entry<'_>, found: &mut Findings) -> Option<()> {
        refuse_unknown(entry, "objective", &self.objectives, found)
    }

    /// `None` if no measurement has the name of the field.
    fn refuse_unknown_measurement(&self, entry: &Entry<'_>, found: &mut Findings) -> Option<()> {
        refuse_unknown(entry, "measurement", &self.measurements, found)
    }
}

fn refuse_unknown(
    entry: &Entry<'_>,
    what: &str,
    known: &[&str],
    found: &mut Findings,
) -> Option<()> {
    if known.contains(&entry.name) {
        return Some(());
    }
    let message = format!("{}: there is no {what} {:?}", entry.path, entry.name);
    let diagnostic = Diagnostic::new(entry.key.clone(), message).label(format!("unknown {what}"));
    found.add(diagnostic.near(near(entry.name, known.iter().copied())));
    None
}
