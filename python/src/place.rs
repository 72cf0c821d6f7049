//! From what Python says to a study: in memory, in a file, in a database, or that of a study file.

use std::path::{Path, PathBuf};

use unyoke::{Config, JournalError, Problem, Study};
use unyoke_run::{
    Budget, Layout, MeasurementRun, Opened, RunSettings, StudyFile, apply_prices_and_wishes,
    difference, initial_config, signed_by_user,
};
use unyoke_store::{Location, Store, network_file_system};

use crate::error::{Failure, Result};

/// How often a measurement is tried that has never worked.
pub(crate) const TRIALS: usize = 3;

/// A study with what its journal does not hold.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) study: Study<Store>,
    pub(crate) store: Store,
    /// Where it is kept, without passwords.
    pub(crate) location: String,
    pub(crate) file: Option<PathBuf>,
    /// The same with what is needed to open it; none in memory.
    pub(crate) place: Option<Location>,
    /// The folder of attempts that are processes and jobs; none in memory and in databases.
    pub(crate) runs: Option<PathBuf>,
    pub(crate) name: Option<String>,
    pub(crate) budget: Budget,
    pub(crate) stop: Option<unyoke::Stop>,
    pub(crate) run: RunSettings,
    /// Where programs on this machine see each other; none in memory and in databases.
    pub(crate) layout: Option<Layout>,
}

/// What a study is to be begun with.
#[derive(Debug, Clone)]
pub(crate) struct Beginning {
    pub(crate) problem: Problem,
    pub(crate) config: Config,
    pub(crate) seed: u64,
    pub(crate) budget: Budget,
}

impl Found {
    /// A new study in memory.
    pub(crate) fn in_memory(beginning: &Beginning) -> Result<Self> {
        let store = signed_by_user(Store::memory())?;
        let study = begin(beginning, store.clone())?;
        Ok(Self::new(Opened { study, store }, None, beginning.budget.clone()))
    }

    /// The study at a place, begun there if need be and if it is known with what.
    pub(crate) fn at(place: &str, beginning: Option<&Beginning>) -> Result<Self> {
        let location = Location::parse(place)?;
        let opened = match (open(&location), beginning) {
            (Err(Failure::Run(error)), Some(beginning)) if is_missing(&error) => {
                create(&location, beginning)?
            }
            (opened, _) => opened?,
        };
        let budget = beginning.map(|beginning| beginning.budget.clone()).unwrap_or_default();
        let mut found = Self::new(opened, Some(location), budget);
        if let Some(Beginning { problem, config, .. }) = beginning {
            if let Some(what) = difference(problem, found.study.problem()) {
                return Err(Failure::OtherProblem { what, location: found.location });
            }
            apply_prices_and_wishes(&mut found.study, problem, config)?;
        }
        Ok(found)
    }

    /// The study of a study file, begun if need be.
    pub(crate) fn of_file(path: &Path) -> Result<Self> {
        let file = StudyFile::read(path)?;
        let opened = file.open_or_create()?;
        Ok(Self {
            study: opened.study,
            store: opened.store,
            location: file.store.to_string(),
            file: Some(file.path().to_owned()),
            layout: Some(Layout::new(&file.runs)),
            place: Some(file.store),
            runs: Some(file.runs),
            name: file.name,
            budget: file.budget,
            stop: file.stop,
            run: file.run,
        })
    }

    /// After the study has been amended: the prices and wishes count, too, and measurements that are new are
    /// made by Python.
    pub(crate) fn follow(&mut self, problem: &Problem, config: &Config) -> Result<()> {
        apply_prices_and_wishes(&mut self.study, problem, config)?;
        let problem = self.study.problem();
        let mut known = std::mem::take(&mut self.run.measurements);
        let places = 0..problem.measurements.len();
        self.run.measurements = places
            .map(|m| {
                let new = measurement_run(problem, m);
                let same = known.iter().position(|run| run.measurement == new.measurement);
                match same.map(|place| known.swap_remove(place)) {
                    Some(run) => MeasurementRun { outputs: new.outputs, ..run },
                    None => new,
                }
            })
            .collect();
        Ok(())
    }

    fn new(opened: Opened, place: Option<Location>, budget: Budget) -> Self {
        let Opened { study, store } = opened;
        let location = place.as_ref().map_or_else(|| "memory".to_owned(), ToString::to_string);
        let runs = place.as_ref().and_then(runs);
        let layout = runs.as_deref().and_then(layout);
        let measurements = (0..study.problem().measurements.len())
            .map(|m| measurement_run(study.problem(), m))
            .collect();
        let run = RunSettings { slots: usize::MAX, trials: TRIALS, confirm: None, measurements };
        let (file, name, stop) = (None, None, None);
        Self { study, store, location, file, place, runs, name, budget, stop, run, layout }
    }
}

/// A measurement without a command: Python makes it.
fn measurement_run(problem: &Problem, m: usize) -> MeasurementRun {
    let measurement = &problem.measurements[m];
    MeasurementRun {
        measurement: measurement.name.clone(),
        outputs: measurement.outputs.clone(),
        command: None,
        timeout: None,
        retries: 0,
        slots: None,
        directory: PathBuf::new(),
        env: Default::default(),
        executor: Default::default(),
    }
}

fn open(location: &Location) -> Result<Opened> {
    let store = signed_by_user(Store::open(location)?)?;
    Ok(Opened { study: Study::open(store.clone())?, store })
}

fn is_missing(error: &unyoke_run::Error) -> bool {
    matches!(error, unyoke_run::Error::Store(unyoke_store::Error::NoStudy { .. }))
}

/// Begins a study, unless somebody else does at the same moment: then that one counts.
fn create(location: &Location, beginning: &Beginning) -> Result<Opened> {
    // Nothing is left behind by a problem that makes no sense.
    beginning.problem.check()?;
    beginning.config.check(&beginning.problem)?;
    let store = match Store::create(location) {
        Err(unyoke_store::Error::StudyExists { .. }) => return open(location),
        store => signed_by_user(store?)?,
    };
    match begin(beginning, store.clone()) {
        Err(Failure::Run(unyoke_run::Error::Study(unyoke::Error::Journal(
            JournalError::Conflict { .. },
        )))) => open(location),
        study => Ok(Opened { study: study?, store }),
    }
}

fn begin(beginning: &Beginning, store: Store) -> Result<Study<Store>> {
    let Beginning { problem, config, seed, budget } = beginning;
    problem.check()?;
    let config = initial_config(config, problem, budget.cost);
    Ok(Study::create(problem.clone(), config, *seed, store)?)
}

/// `beam.runs` beside `beam.db`, as for the study file `beam.toml`; none for databases.
fn runs(location: &Location) -> Option<PathBuf> {
    match location {
        Location::File(path) | Location::Journal(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            Some(path.with_extension("runs"))
        }
        Location::Postgres(_) => None,
    }
}

/// Where programs on this machine see each other. None on network file systems, where locks of the
/// system do not show who is alive.
fn layout(runs: &Path) -> Option<Layout> {
    let is_shared = runs.parent().is_some_and(|folder| network_file_system(folder).is_some());
    (!is_shared).then(|| Layout::new(runs))
}
