//! Confirming what is recommended: which measurements the designs of a front lack, worth most first, and how
//! predictions held up.
//!
//! The designs of a round are those that were recommended when it began. What is measured meanwhile
//! changes no choice: a round ends, and is the same after a restart.

use super::{Engine, Renewed};
use crate::cost::CostModel;
use crate::error::Result;
use crate::history::{Evaluation, History, Status};
use crate::plan::{Allowed, Permission, is_payable};
use crate::recommend::{Confirmation, ConfirmedValue};
use crate::suggestion::{NextConfirmation, Origin, Suggestion};
use unyoke_math::gp::Prediction;

impl Engine<'_> {
    /// The designs that are recommended now, `points` at most, and were not measured: those worth measuring
    /// most first, encoded.
    pub(crate) fn designs_to_confirm(&self, points: usize) -> Result<Vec<Vec<f64>>> {
        let (model, weights) = (self.recommender(None)?, self.weights_of_front()?);
        let front = self.candidates(&model, &weights)?.recommended(&model, &weights, points);
        front.to_confirm(&model, &weights, |x| match self.lacking_at(x) {
            Some(lacking) => self.price(&lacking, x),
            None => Ok(f64::INFINITY),
        })
    }

    /// The next measurement that one of these designs lacks, for a round that began with so many records.
    pub(crate) fn next_confirmation(
        &self,
        designs: &[Vec<f64>],
        round: u64,
        allowed: Allowed<'_>,
    ) -> Result<NextConfirmation> {
        let mut must_wait = false;
        for x in designs {
            let Some(lacking) = self.lacking_at(x) else { continue };
            let Some(&measurement) = lacking.first() else {
                must_wait |= self.is_awaited(x);
                continue;
            };
            // Only what can be finished is begun.
            match allowed(&lacking) {
                Permission::Later => must_wait = true,
                permission => {
                    let price = self.price(&lacking, x)?;
                    if permission.most().is_some_and(|most| is_payable(price, most)) {
                        let given = self.given(x, measurement, Origin::Confirmation)?;
                        let suggestion = Suggestion { confirms: Some(round), ..given };
                        return Ok(NextConfirmation::Measure(Box::new(suggestion)));
                    }
                }
            }
        }
        Ok(if must_wait { NextConfirmation::Wait } else { NextConfirmation::Done })
    }

    /// Whether a confirmation that was chosen earlier can be asked for now.
    pub(super) fn renew_confirmation(
        &self,
        earlier: &Suggestion,
        allowed: Allowed<'_>,
    ) -> Result<Renewed> {
        let x = self.history.space.encode(&earlier.design)?;
        let m = self.problem().measurement_index(&earlier.measurement)?;
        let lacking = self.lacking_at(&x).unwrap_or_default();
        if !lacking.contains(&m) {
            return Ok(Renewed::Outdated);
        }
        let price = self.price(&lacking, &x)?;
        match allowed(&lacking).most().is_some_and(|most| is_payable(price, most)) {
            true => {
                let evaluation = self.history.evaluations.len() as u64;
                Ok(Renewed::Valid(Suggestion { evaluation, ..earlier.clone() }))
            }
            false => Ok(Renewed::NotAllowed),
        }
    }

    /// How the predictions of a round held up, told by the history that it began with: what was measured
    /// since, `now`, compared with what was expected.
    pub(crate) fn confirmation(&self, round: u64, now: &History) -> Result<Confirmation> {
        let model = self.recommender(None)?;
        let mut values = vec![];
        for evaluation in now.completed().filter(|e| e.confirms == Some(round)) {
            let Status::Completed(results) = &evaluation.status else { continue };
            for (k, reading) in results.iter() {
                let belief = model.belief(k);
                let Prediction { mean, variance } = model.forecast(k, now.point(evaluation.id))?;
                let own = reading.sd.map(|sd| now.space.internal_sd(k, reading.value, sd));
                let noise = own.map_or(belief.gp.noise(), |sd| (sd / belief.map.scale()).powi(2));
                let forecast = self.in_own_units(
                    k,
                    &belief.map,
                    Prediction { mean, variance: variance + noise },
                );
                values.push(ConfirmedValue {
                    evaluation: evaluation.id,
                    design: evaluation.design.clone(),
                    output: self.problem().outputs[k].name.clone(),
                    mean: forecast.mean,
                    interval: forecast.interval,
                    measured: reading.value,
                });
            }
        }
        Ok(Confirmation { round, values })
    }

    /// What a recommended design lacks, given all that was ever made there.
    fn lacking_at(&self, x: &[f64]) -> Option<Vec<usize>> {
        self.lacking_measurements(x, |e| e.status != Status::Withdrawn)
    }

    /// The measurements by which a design gets the values that it lacks, those that give most of them for
    /// their cost first; none if one of them failed there, so that the others are of no use. Only
    /// evaluations that `counts` says count.
    pub(super) fn lacking_measurements(
        &self,
        x: &[f64],
        counts: impl Fn(&Evaluation) -> bool,
    ) -> Option<Vec<usize>> {
        let (history, problem) = (self.history, self.problem());
        let is_here = |e: &&Evaluation| {
            let points = [history.point(e.id), history.suggested_point(e.id)];
            counts(e) && points.iter().any(|at| history.space.same(at, x))
        };
        let here: Vec<&Evaluation> = history.evaluations.iter().filter(is_here).collect();
        let is_measured = |k: &usize| problem.outputs[*k].formula.is_none();
        let measured: Vec<usize> = (0..problem.outputs.len()).filter(is_measured).collect();
        let has_value = |k: usize| here.iter().any(|e| e.reading(k).is_some());
        if measured.iter().any(|k| !has_value(*k) && here.iter().any(|e| e.lacks(*k))) {
            return None;
        }
        let is_lacking = |k: &usize| !here.iter().any(|e| e.outputs.contains(k));
        let mut lacking: Vec<usize> = measured.into_iter().filter(is_lacking).collect();
        let (all, mut chosen) = (lacking.clone(), vec![]);
        while !lacking.is_empty() {
            let worth = |m: usize| {
                let gives = problem.outputs_of(m).iter().filter(|k| lacking.contains(k)).count();
                gives as f64 / self.price(&[m], x).unwrap_or(f64::INFINITY)
            };
            let better = |best: usize, m: usize| if worth(m) > worth(best) { m } else { best };
            let best = (0..problem.measurements.len()).reduce(better)?;
            let given = problem.outputs_of(best);
            let before = lacking.len();
            lacking.retain(|k| !given.contains(k));
            if lacking.len() == before {
                return None;
            }
            chosen.push(best);
        }
        Some(self.needed(chosen, &all))
    }

    /// Those of the chosen measurements without which one of these outputs would be lacking: a cheap one may
    /// have been chosen before one that gives the same and more.
    fn needed(&self, mut chosen: Vec<usize>, lacking: &[usize]) -> Vec<usize> {
        for m in chosen.clone() {
            let others = chosen.iter().filter(|other| **other != m);
            let given: Vec<usize> =
                others.flat_map(|other| self.problem().outputs_of(*other)).collect();
            let mut outputs =
                self.problem().outputs_of(m).into_iter().filter(|k| lacking.contains(k));
            if outputs.all(|k| given.contains(&k)) {
                chosen.retain(|other| *other != m);
            }
        }
        chosen
    }

    /// Whether something is under way at a design.
    fn is_awaited(&self, x: &[f64]) -> bool {
        let pending = self.history.evaluations.iter().filter(|e| e.status == Status::Pending);
        let mut points = pending.map(|e| self.history.suggested_point(e.id));
        points.any(|at| self.history.space.same(at, x))
    }

    /// What these measurements cost at `x` together.
    pub(super) fn price(&self, measurements: &[usize], x: &[f64]) -> Result<f64> {
        Ok(CostModel::new(self.history, measurements)?.at(x))
    }
}
