//! The regrets of finished runs in one file, small enough to be kept: rivals that take hours are run once, and
//! later versions are compared with the record.

use crate::error::{Error, Result};
use crate::method::Method;
use crate::settings::Settings;
use crate::summary::{FamilyRuns, Runs, read_all};
use crate::table::{Metrics, Row, write_whole};
use crate::target::Scale;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Finished runs on many problems, by the name of the problem.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Record {
    problems: BTreeMap<String, Recorded>,
}

/// Finished runs on one problem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Recorded {
    settings: Settings,
    scales: BTreeMap<u32, Scale>,
    /// By the name of the algorithm and the number of the instance.
    runs: BTreeMap<String, BTreeMap<u32, Vec<Mark>>>,
}

/// Cumulative cost, Bayesian regret, hypervolume regret, observed hypervolume.
type Mark = [f64; 4];

impl Record {
    /// What is finished in the folder of a lab or a suite.
    pub fn of(out: &Path) -> Result<Self> {
        let families = read_all(out)?;
        let recorded = |family: FamilyRuns| (family.settings.family.clone(), family.into());
        Ok(Self { problems: families.into_iter().map(recorded).collect() })
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
        serde_json::from_str(&text).map_err(Error::bad_file(path))
    }

    /// Writes a file, a line for each run.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string(self).map_err(Error::bad_file(path))?;
        // Differences between two versions of the file can then be read.
        write_whole(path, text.replace("]],", "]],\n").as_bytes())
    }

    /// Adds the runs of another record, in place of those that both have.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        for (name, recorded) in other.problems {
            let Some(own) = self.problems.get_mut(&name) else {
                self.problems.insert(name, recorded);
                continue;
            };
            own.check(&name, &recorded.settings)?;
            own.scales.extend(recorded.scales);
            for (method, runs) in recorded.runs {
                own.runs.entry(method).or_default().extend(runs);
            }
        }
        Ok(())
    }

    /// The algorithms that have runs, but for some, in the order of [`Method::all`].
    pub(crate) fn methods(&self, others: &[Method]) -> Result<Vec<Method>> {
        let names = self.problems.values().flat_map(|recorded| recorded.runs.keys());
        let recorded: Vec<Method> = names.map(|name| name.parse()).collect::<Result<_>>()?;
        let wanted = |method: &Method| recorded.contains(method) && !others.contains(method);
        Ok(Method::all().filter(wanted).collect())
    }

    /// The runs on a problem, which must have been made with these settings.
    pub(crate) fn runs(&self, name: &str, settings: &Settings) -> Result<Vec<(Method, Runs)>> {
        let Some(recorded) = self.problems.get(name) else { return Ok(vec![]) };
        recorded.check(name, settings)?;
        let runs = |(method, runs): (&String, &BTreeMap<u32, Vec<Mark>>)| {
            let method: Method = method.parse()?;
            let rows = |(&id, marks): (&u32, &Vec<Mark>)| (id, rows(method, id, marks));
            Ok((method, runs.iter().map(rows).collect()))
        };
        recorded.runs.iter().map(runs).collect()
    }

    /// What the regrets on a problem count in, instance by instance.
    pub(crate) fn scales(&self, name: &str) -> BTreeMap<u32, Scale> {
        self.problems.get(name).map(|recorded| recorded.scales.clone()).unwrap_or_default()
    }
}

impl Recorded {
    /// Fails unless the runs were made with these settings, whichever version made them.
    fn check(&self, name: &str, settings: &Settings) -> Result<()> {
        let version = settings.version.clone();
        if (Settings { version, ..self.settings.clone() }) == *settings {
            return Ok(());
        }
        let reason = format!("the runs on {name} were made with other settings");
        Err(Error::Setting { what: "recorded", reason })
    }
}

impl From<FamilyRuns> for Recorded {
    fn from(family: FamilyRuns) -> Self {
        let mark = |row: &Row| -> Option<Mark> {
            let Metrics { bayesian_regret, hypervolume_regret, observed_hypervolume } =
                row.metrics?;
            Some([row.cumulative_cost, bayesian_regret, hypervolume_regret, observed_hypervolume])
        };
        let marks = |rows: Vec<Row>| rows.iter().filter_map(mark).collect::<Vec<Mark>>();
        let runs = |runs: Runs| runs.into_iter().map(|(id, rows)| (id, marks(rows))).collect();
        let methods = family.methods.into_iter();
        Self {
            settings: family.settings,
            scales: family.scales,
            runs: methods.map(|(method, of)| (method.name().to_owned(), runs(of))).collect(),
        }
    }
}

/// What a comparison needs of a run: its regrets, and when.
fn rows(method: Method, instance: u32, marks: &[Mark]) -> Vec<Row> {
    let row = |(step, &[cost, bayesian, hypervolume, observed]): (usize, &Mark)| Row {
        instance,
        method,
        step: step + 1,
        objective: String::new(),
        design: vec![],
        value: f64::NAN,
        cost: f64::NAN,
        cumulative_cost: cost,
        metrics: Some(Metrics {
            bayesian_regret: bayesian,
            hypervolume_regret: hypervolume,
            observed_hypervolume: observed,
        }),
        suggest_seconds: 0.0,
        metrics_seconds: 0.0,
    };
    marks.iter().enumerate().map(row).collect()
}
