//! Averages over instances: each run's metric is a step function of cost, and all runs of an
//! algorithm are averaged at the same costs.

use crate::error::{Error, Result};
use crate::lab::{family_folder, read_plan, read_scale};
use crate::method::Method;
use crate::settings::Settings;
use crate::table::{Metrics, Row, read_run, write_whole};
use crate::target::Scale;
use std::collections::BTreeMap;
use std::path::Path;

/// Most costs at which averages are taken.
const MOST_COSTS: usize = 2000;

/// What is averaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// Expected loss of a decision maker.
    BayesianRegret,
    /// Hypervolume that the true image of the recommendation lacks.
    HypervolumeRegret,
    /// Hypervolume of the values observed at designs where every objective was.
    ObservedHypervolume,
}

impl Metric {
    /// All of them.
    pub const ALL: [Self; 3] =
        [Self::BayesianRegret, Self::HypervolumeRegret, Self::ObservedHypervolume];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::BayesianRegret => "bayesian_regret",
            Self::HypervolumeRegret => "hypervolume_regret",
            Self::ObservedHypervolume => "observed_hypervolume",
        }
    }

    /// The part of a scale that it counts in as a share; none for what is no regret.
    pub fn unit(self, scale: &Scale) -> Option<f64> {
        match self {
            Self::BayesianRegret => Some(scale.utility),
            Self::HypervolumeRegret => Some(scale.hypervolume),
            Self::ObservedHypervolume => None,
        }
    }

    fn of(self, metrics: &Metrics) -> f64 {
        match self {
            Self::BayesianRegret => metrics.bayesian_regret,
            Self::HypervolumeRegret => metrics.hypervolume_regret,
            Self::ObservedHypervolume => metrics.observed_hypervolume,
        }
    }
}

/// The finished runs of one algorithm on one family, by instance.
pub type Runs = BTreeMap<u32, Vec<Row>>;

/// All finished runs of one family.
#[derive(Debug, Clone)]
pub struct FamilyRuns {
    /// How they were made.
    pub settings: Settings,
    /// By method, in the order of [`Method::all`].
    pub methods: Vec<(Method, Runs)>,
    /// How many runs of each of these methods were asked for.
    pub planned: Vec<usize>,
    /// What the regrets of each instance count in where problems are compared, as far as known.
    pub scales: BTreeMap<u32, Scale>,
}

/// The average of a metric over instances at one cost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Average {
    /// Cumulative cost.
    pub cost: f64,
    /// Mean over instances.
    pub mean: f64,
    /// Standard error of the mean.
    pub standard_error: f64,
    /// How many instances.
    pub instances: usize,
}

/// Reads all finished runs in a folder, family by family.
pub fn read_all(out: &Path) -> Result<Vec<FamilyRuns>> {
    let folder = out.join("runs");
    let none = || Error::NoRuns { folder: out.to_owned() };
    let entries = std::fs::read_dir(&folder).map_err(|_| none())?;
    let mut names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let family = |name: &String| read_family(&family_folder(out, name));
    let families: Vec<FamilyRuns> = names.iter().map(family).collect::<Result<_>>()?;
    let families: Vec<FamilyRuns> =
        families.into_iter().filter(|family| !family.methods.is_empty()).collect();
    if families.is_empty() { Err(none()) } else { Ok(families) }
}

fn read_family(folder: &Path) -> Result<FamilyRuns> {
    let settings = Settings::read(folder)?;
    let (mut methods, mut planned) = (Vec::new(), Vec::new());
    for method in Method::all() {
        let of_method = folder.join(method.name());
        let Ok(entries) = std::fs::read_dir(&of_method) else { continue };
        let mut runs = Runs::new();
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.extension().is_some_and(|extension| extension == "csv") {
                let rows = read_run(&path)?;
                if let Some(first) = rows.first() {
                    runs.insert(first.instance, rows);
                }
            }
        }
        if !runs.is_empty() {
            planned.push(read_plan(&of_method)?.len().max(runs.len()));
            methods.push((method, runs));
        }
    }
    let ids = methods.iter().flat_map(|(_, runs): &(Method, Runs)| runs.keys());
    let mut scales = BTreeMap::new();
    for &id in ids {
        if let Some(scale) = read_scale(folder, id)? {
            scales.insert(id, scale);
        }
    }
    Ok(FamilyRuns { settings, methods, planned, scales })
}

/// The finished runs on one problem; none where there are none.
pub(crate) fn read_problem(out: &Path, name: &str) -> Result<Option<FamilyRuns>> {
    let folder = family_folder(out, name);
    if folder.exists() { read_family(&folder).map(Some) } else { Ok(None) }
}

impl FamilyRuns {
    /// The costs at which averages are taken: from where the first models are fitted to the end,
    /// in steps of the cheapest evaluation, or larger ones where that would be too many.
    pub fn costs(&self) -> Vec<f64> {
        let rows = || self.methods.iter().flat_map(|(_, runs)| runs.values().flatten());
        let measured = rows().filter(|row| row.metrics.is_some()).map(|row| row.cumulative_cost);
        let (start, end) = (measured.fold(f64::INFINITY, f64::min), self.settings.max_cost);
        let cheapest = self.settings.costs.iter().copied().fold(f64::INFINITY, f64::min);
        let step = cheapest.max((end - start) / MOST_COSTS as f64);
        let count = ((end - start) / step + 1e-9).floor();
        if count.is_nan() || count < 0.0 {
            return vec![];
        }
        (0..=count as usize).map(|i| start + i as f64 * step).collect()
    }

    /// What a metric counts in where problems are compared: the mean over the instances of `runs`, so
    /// that instances whose front is small do not count more. None where it is not known for all.
    pub fn unit(&self, runs: &Runs, metric: Metric) -> Option<f64> {
        let units = runs.keys().map(|id| metric.unit(self.scales.get(id)?));
        let units: Vec<f64> = units.collect::<Option<_>>()?;
        (!units.is_empty()).then(|| units.iter().sum::<f64>() / units.len() as f64)
    }

    /// Averages of a metric over `runs` at each of `costs` that all runs have reached.
    pub fn average(runs: &Runs, metric: Metric, costs: &[f64]) -> Vec<Average> {
        let at = |&cost: &f64| {
            let values = runs.values().map(|rows| value_at(rows, metric, cost));
            average(cost, &values.collect::<Option<Vec<f64>>>()?)
        };
        costs.iter().filter_map(at).collect()
    }
}

/// A run's metric at a cost: that of the latest evaluation that cost no more.
pub(crate) fn value_at(rows: &[Row], metric: Metric, cost: f64) -> Option<f64> {
    let affordable = |row: &&Row| row.cumulative_cost <= cost * (1.0 + 1e-12);
    let measured = rows.iter().take_while(affordable).filter_map(|row| row.metrics.as_ref());
    measured.last().map(|metrics| metric.of(metrics))
}

pub(crate) fn average(cost: f64, values: &[f64]) -> Option<Average> {
    if values.is_empty() {
        return None;
    }
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let standard_error = if n > 1.0 { (squares / (n - 1.0) / n).sqrt() } else { f64::NAN };
    Some(Average { cost, mean, standard_error, instances: values.len() })
}

/// Writes `summary.csv` from all finished runs of a folder.
pub fn write(out: &Path) -> Result<()> {
    let path = out.join("summary.csv");
    let mut table = csv::Writer::from_writer(Vec::new());
    let mut line = |cells: &[String]| table.write_record(cells).map_err(Error::bad_file(&path));
    let head = ["family", "algorithm", "metric", "cost", "mean", "standard_error", "instances"];
    line(&head.map(str::to_owned))?;
    for family in read_all(out)? {
        let costs = family.costs();
        for (method, runs) in &family.methods {
            for metric in Metric::ALL {
                let averages = FamilyRuns::average(runs, metric, &costs);
                let mut lines = |name: &str, unit: f64| {
                    averages.iter().try_for_each(|average| {
                        line(&[
                            family.settings.family.clone(),
                            method.name().to_owned(),
                            name.to_owned(),
                            average.cost.to_string(),
                            (average.mean / unit).to_string(),
                            (average.standard_error / unit).to_string(),
                            average.instances.to_string(),
                        ])
                    })
                };
                lines(metric.name(), 1.0)?;
                if let Some(unit) = family.unit(runs, metric) {
                    lines(&format!("{}_share", metric.name()), unit)?;
                }
            }
        }
    }
    let bytes = table.into_inner().map_err(Error::bad_file(&path))?;
    write_whole(&path, &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(cumulative_cost: f64, regret: Option<f64>) -> Row {
        let metrics = |bayesian_regret| Metrics {
            bayesian_regret,
            hypervolume_regret: 0.0,
            observed_hypervolume: 0.0,
        };
        Row {
            instance: 0,
            method: Method::ImprovedCMokg,
            step: 1,
            objective: "f1".to_owned(),
            design: vec![],
            value: 0.0,
            cost: 1.0,
            cumulative_cost,
            metrics: regret.map(metrics),
            suggest_seconds: 0.0,
            metrics_seconds: 0.0,
        }
    }

    #[test]
    fn a_metric_is_a_step_function_of_cost() {
        let rows = [row(10.0, None), row(66.0, Some(3.0)), row(67.0, None), row(77.0, Some(1.0))];
        let at = |cost| value_at(&rows, Metric::BayesianRegret, cost);
        assert_eq!(at(65.9), None);
        assert_eq!(at(66.0), Some(3.0));
        assert_eq!(at(76.9), Some(3.0));
        assert_eq!(at(77.0), Some(1.0));
        assert_eq!(at(1e9), Some(1.0));
    }

    #[test]
    fn standard_error_by_hand() {
        // Sample variance of 1, 2, 3, 6 is 14/3; over 4, its root.
        let average = average(5.0, &[1.0, 2.0, 3.0, 6.0]).unwrap();
        assert_eq!((average.mean, average.instances), (3.0, 4));
        assert!((average.standard_error - (14.0_f64 / 12.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn only_costs_that_every_run_has_reached_are_averaged() {
        let runs = Runs::from([(0, vec![row(66.0, Some(1.0))]), (1, vec![row(70.0, Some(2.0))])]);
        let averages = FamilyRuns::average(&runs, Metric::BayesianRegret, &[66.0, 70.0]);
        assert_eq!(averages.len(), 1);
        assert_eq!((averages[0].cost, averages[0].mean), (70.0, 1.5));
    }
}
