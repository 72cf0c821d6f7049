//! Published instances checked against figures that were computed independently: values at probe
//! points, the best expected utility, the hypervolume of the true front.

use crate::error::{Error, Result};
use crate::instance::Instance;
use crate::metrics::best_for_all;
use crate::target::Target;
use serde::Deserialize;
use std::path::Path;
use unyoke_math::{Points, sobol};

/// Designs from which the range of an objective is told.
const RANGE_DESIGNS: usize = 4096;
/// A share of the box spanned by the objectives' ranges that is no volume at all.
const NO_VOLUME: f64 = 1e-9;

/// How far an instance is from what is known about it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deviation {
    /// The instance's number.
    pub instance: u32,
    /// Largest difference of a true value at a probe point.
    pub values: f64,
    /// Best expected utility less the recorded one, relative to the larger of the objectives' ranges.
    pub utility: f64,
    /// Hypervolume of the true front less the published one, relative to the latter.
    pub hypervolume: f64,
}

/// A file of facts: a JSON object with `probe` and one entry of `instances` for each instance.
#[derive(Deserialize)]
struct Facts {
    probe: Vec<Vec<f64>>,
    instances: Vec<Fact>,
}

#[derive(Deserialize)]
struct Fact {
    id: u32,
    f_at_probe: Vec<Vec<f64>>,
    best_expected_utility: f64,
    published_hypervolume: f64,
}

/// Compares instances with the facts in a file.
pub fn deviations(instances: &[Instance], path: &Path) -> Result<Vec<Deviation>> {
    let text = std::fs::read_to_string(path).map_err(Error::io(path))?;
    let facts: Facts = serde_json::from_str(&text).map_err(Error::bad_file(path))?;
    let compare = |instance: &Instance| {
        let fact = facts.instances.iter().find(|fact| fact.id == instance.id);
        let missing = || Error::bad_file(path)(format!("has no instance {}", instance.id));
        deviation(instance, fact.ok_or_else(missing)?, &facts.probe)
    };
    instances.iter().map(compare).collect()
}

fn deviation(instance: &Instance, fact: &Fact, probe: &[Vec<f64>]) -> Result<Deviation> {
    let dim = instance.problem.parameters.len();
    let values = instance.values(&Points::from_rows(dim, probe)?)?;
    let differences = values.as_flat().iter().zip(fact.f_at_probe.iter().flatten());
    let target = Target::of(instance)?;
    let ranges = ranges(instance)?;
    // A front of a single point has no volume beyond rounding: measured against the whole box.
    let volume = fact.published_hypervolume.max(NO_VOLUME * ranges.iter().product::<f64>());
    let utility = best_for_all(&target) - fact.best_expected_utility;
    Ok(Deviation {
        instance: instance.id,
        values: differences.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max),
        utility: utility / ranges.into_iter().fold(0.0, f64::max),
        hypervolume: (target.hypervolume - fact.published_hypervolume) / volume,
    })
}

/// How far each objective ranges over the instance.
fn ranges(instance: &Instance) -> Result<Vec<f64>> {
    let designs = sobol::cube(instance.problem.parameters.len(), RANGE_DESIGNS, 0)?;
    let values = instance.values(&designs)?;
    let range = |m: usize| {
        let column = || values.rows().map(|row| row[m]);
        column().fold(f64::MIN, f64::max) - column().fold(f64::MAX, f64::min)
    };
    Ok((0..values.dim()).map(range).collect())
}
