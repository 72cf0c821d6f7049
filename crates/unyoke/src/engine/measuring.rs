//! What was measured: designs at which every output was.

use super::{Basis, Engine};
use crate::design::Design;
use crate::error::Result;
use crate::model::{Model, ModelNote, Place};
use crate::problem::Noise;
use crate::reading::Reading;
use crate::recommend::{Average, MeasuredFront, MeasuredPoint, Measurements};
use crate::space::key;
use std::collections::{HashMap, HashSet};
use unyoke_math::Points;
use unyoke_math::pareto::non_dominated;

/// A design at which every output was measured, inside bounds and limits.
struct Measured<'h> {
    design: &'h Design,
    x: &'h [f64],
    /// By output of the problem; everything maximised.
    outputs: Vec<Known>,
}

/// The values at a design, by output of the problem.
struct Gathered<'h> {
    design: &'h Design,
    x: &'h [f64],
    readings: Vec<Vec<Reading>>,
}

/// What is known of an output from its own values.
#[derive(Debug, Clone, PartialEq)]
struct Known {
    value: f64,
    /// Its standard error; zero where there is no noise.
    sd: f64,
    /// The single values, in the units of the output.
    measured: Vec<f64>,
}

impl Engine<'_> {
    /// See [`Study::measured_front`](crate::Study::measured_front).
    pub(crate) fn measured_front(&self) -> Result<MeasuredFront> {
        self.measured_front_by(&self.model(Basis::Known)?)
    }

    /// The same with models that were fitted before.
    pub(crate) fn measured_front_by(&self, model: &Model) -> Result<MeasuredFront> {
        let measured = self.feasible_by_measurement(model)?;
        let objectives: Vec<usize> = self.problem().objectives().map(|(k, _)| k).collect();
        let row = |one: &Measured<'_>| -> Vec<f64> {
            objectives.iter().map(|k| one.outputs[*k].value).collect()
        };
        let best = non_dominated(&Points::from_rows(objectives.len(), measured.iter().map(row))?)?;
        let point = |i: &usize| {
            let outputs = measured[*i].outputs.iter().enumerate();
            MeasuredPoint {
                design: measured[*i].design.clone(),
                outputs: outputs.map(|(k, known)| self.average(k, known)).collect(),
            }
        };
        let names = self.problem().outputs.iter().map(|output| output.name.clone());
        Ok(MeasuredFront { outputs: names.collect(), points: best.iter().map(point).collect() })
    }

    /// The designs that were measured and are feasible, as a front takes them into account.
    pub(super) fn measurements(&self, model: &Model) -> Result<Measurements> {
        let measured = self.feasible_by_measurement(model)?;
        let designs = measured.iter().map(|one| one.x);
        let values = measured.iter().map(|one| {
            let mut values = vec![None; model.objectives.len()];
            for (k, known) in one.outputs.iter().enumerate() {
                // What is known of a noisy output is more than its values: those of its neighbours.
                if let (Place::Objective(m), true) = (model.place(k), known.sd == 0.0) {
                    values[m] = Some(model.belief(k).map.standardize(known.value));
                }
            }
            values
        });
        let values = values.collect();
        Ok(Measurements { designs: Points::from_rows(self.history.space.dim(), designs)?, values })
    }

    /// Designs at which every output was measured and every constraint holds by its values, in the order
    /// in which they were first measured.
    fn feasible_by_measurement(&self, model: &Model) -> Result<Vec<Measured<'_>>> {
        let space = &self.history.space;
        let holds = |one: &Measured<'_>| {
            let outputs = self.problem().outputs.iter().zip(&one.outputs).enumerate();
            let mut limits = outputs.filter_map(|(k, (output, known))| {
                Some((space.to_internal(k, output.limit()?), known.value))
            });
            limits.all(|(limit, value)| value >= limit)
        };
        Ok(self.measured_designs(model).into_iter().filter(holds).collect())
    }

    fn measured_designs(&self, model: &Model) -> Vec<Measured<'_>> {
        let (space, outputs) = (&self.history.space, self.problem().outputs.len());
        let set_aside: Vec<HashSet<u64>> = (0..outputs).map(|k| set_aside(model, k)).collect();
        let mut places: HashMap<Vec<u64>, usize> = HashMap::new();
        let mut found: Vec<Gathered<'_>> = vec![];
        for evaluation in self.history.completed() {
            let x = self.history.point(evaluation.id);
            if !(x.iter().all(|v| (0.0..=1.0).contains(v)) && space.allows(x)) {
                continue;
            }
            let place = *places.entry(key(x)).or_insert_with(|| {
                let (design, readings) = (&evaluation.design, vec![vec![]; outputs]);
                found.push(Gathered { design, x, readings });
                found.len() - 1
            });
            for k in 0..outputs {
                let counts = !set_aside[k].contains(&evaluation.id);
                found[place].readings[k].extend(evaluation.reading(k).filter(|_| counts));
            }
        }
        let complete = found.into_iter().filter_map(|Gathered { design, x, readings }| {
            let known = readings.iter().enumerate().map(|(k, all)| self.known(model, k, x, all));
            Some(Measured { design, x, outputs: known.collect::<Option<_>>()? })
        });
        complete.collect()
    }

    /// What is known of output `k` at `x` from these values, or by its formula; none without either.
    fn known(&self, model: &Model, k: usize, x: &[f64], readings: &[Reading]) -> Option<Known> {
        if let Some(formula) = &model.belief(k).known {
            return Some(Known { value: formula.at(x)?, sd: 0.0, measured: vec![] });
        }
        let (space, noise) = (&self.history.space, self.noise_of(model, k));
        let turned = readings.iter().map(|Reading { value, sd }| {
            let own = sd.map(|sd| space.internal_sd(k, *value, sd));
            [space.to_internal(k, *value), own.unwrap_or(noise)]
        });
        let [value, sd] = average(&turned.collect::<Vec<_>>())?;
        Some(Known { value, sd, measured: readings.iter().map(|reading| reading.value).collect() })
    }

    /// The standard deviation of the noise of output `k` where a value does not come with its own, turned.
    fn noise_of(&self, model: &Model, k: usize) -> f64 {
        let belief = model.belief(k);
        let is_contradicted =
            |note: &ModelNote| matches!(note, ModelNote::ReplicatesDisagree { .. });
        match self.problem().outputs[k].noise {
            Noise::Deterministic if !belief.notes.iter().any(is_contradicted) => 0.0,
            _ => belief.gp.noise().sqrt() * belief.map.scale(),
        }
    }

    /// In the units of output `k`.
    fn average(&self, k: usize, Known { value, sd, measured }: &Known) -> Average {
        let turned_back = self.history.space.to_user(k, *value);
        // Not by way of a logarithm, which would round it.
        let value = match measured[..] {
            [only] => only,
            _ => turned_back,
        };
        let slope = self.history.space.internal_slope(k, value).abs();
        Average { value, sd: (*sd > 0.0).then(|| sd / slope), measured: measured.clone() }
    }
}

/// Evaluations whose values of output `k` contradict their neighbours and do not count.
fn set_aside(model: &Model, k: usize) -> HashSet<u64> {
    let values = model.belief(k).notes.iter().filter_map(|note| match note {
        ModelNote::SetAside { values } => Some(values),
        _ => None,
    });
    values.flatten().map(|value| value.evaluation).collect()
}

/// The average of values with these standard errors and its own: each counts by 1/sd², and what is known
/// exactly alone. None without values.
fn average(values: &[[f64; 2]]) -> Option<[f64; 2]> {
    let least = values.iter().map(|[_, sd]| *sd).reduce(f64::min)?;
    let weight = |sd: f64| match least == 0.0 {
        true => f64::from(u8::from(sd == 0.0)),
        false => (least / sd).powi(2),
    };
    let total: f64 = values.iter().map(|[_, sd]| weight(*sd)).sum();
    let value = values.iter().map(|[value, sd]| weight(*sd) / total * value).sum();
    Some([value, least / total.sqrt()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn precise_values_count_for_more() {
        assert_eq!(average(&[]), None);
        assert_eq!(average(&[[3.0, 0.0]]), Some([3.0, 0.0]));
        // Exact values silence all others.
        assert_eq!(average(&[[3.0, 0.0], [9.0, 1.0], [5.0, 0.0]]), Some([4.0, 0.0]));
        let [value, sd] = average(&[[1.0, 0.5], [2.0, 0.5], [3.0, 0.5], [6.0, 0.5]]).unwrap();
        assert!((value - 3.0).abs() < 1e-12 && (sd - 0.25).abs() < 1e-12, "{value} {sd}");
        // Weights 1 and 1/4: (1 + 6/4) / (5/4) = 2, variance 1 / (1 + 1/4).
        let [value, sd] = average(&[[1.0, 1.0], [6.0, 2.0]]).unwrap();
        assert!((value - 2.0).abs() < 1e-12 && (sd - 0.8f64.sqrt()).abs() < 1e-12, "{value} {sd}");
        let [value, sd] = average(&[[1.0, 1e-200], [6.0, 2e-200]]).unwrap();
        assert!((value - 2.0).abs() < 1e-12 && (sd / 1e-200 - 0.8f64.sqrt()).abs() < 1e-12);
    }
}
