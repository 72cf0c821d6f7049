//! From a history to what is believed.

use super::{Basis, Engine, FARTHEST_REFERENCE};
use crate::choices::Choice;
use crate::config::{BestPossible, Config, Correlations, Deterministic, Failures, Utility};
use crate::discretise;
use crate::error::Result;
use crate::history::{Evaluation, Status};
use crate::model::known::Known;
use crate::model::{Model, Observed, Place, Row, Runs};
use crate::worth::Worth;
use unyoke_math::Points;
use unyoke_math::pareto::non_dominated;
use unyoke_math::success::Classifier;

/// Designs among which the worst of the front is looked for.
pub(super) const REFERENCE_DESIGNS: usize = 256;

/// How far below it, at least, an infeasible design is, in standard deviations.
const LEAST_MARGIN: f64 = 0.1;

impl<'h> Engine<'h> {
    /// The configured reference point, standardised.
    pub(super) fn reference(&self, model: &Model) -> Result<Option<Vec<f64>>> {
        let Some(point) = &self.config().reference else { return Ok(None) };
        let mut reference = vec![0.0; model.objectives.len()];
        for (name, value) in point {
            let k = self.problem().output_index(name)?;
            let value = self.history.space.to_internal(k, *value);
            let standardised = model.belief(k).map.standardize(value);
            if let Place::Objective(m) = model.place(k) {
                // Values may differ by far less than the reference is away: that must not overflow.
                reference[m] = standardised.clamp(-FARTHEST_REFERENCE, FARTHEST_REFERENCE);
            }
        }
        Ok(Some(reference))
    }

    /// What the models are made from, with or without what is under way.
    pub(super) fn observed(&self, basis: Basis) -> Result<Vec<Observed<'h>>> {
        let history = self.history;
        let observed = |k: usize| -> Result<Observed<'h>> {
            let space = &history.space;
            let row = |evaluation: &'h Evaluation| {
                let reading = evaluation.reading(k)?;
                Some(Row {
                    evaluation: evaluation.id,
                    x: history.point(evaluation.id),
                    value: space.to_internal(k, reading.value),
                    sd: reading.sd.map(|sd| space.internal_sd(k, reading.value, sd)),
                    searched: evaluation.asked && !evaluation.initial,
                })
            };
            let (mut expected, mut pending) = (Points::new(space.dim()), 0);
            if basis == Basis::Expected {
                for x in history.pending(k).chain(history.failed(k)).chain(history.aside(k)) {
                    expected.push(x)?;
                }
                pending = history.pending(k).count();
            }
            let output = &self.problem().outputs[k];
            Ok(Observed {
                output,
                limit: output.limit().map(|limit| space.to_internal(k, limit)),
                sign: space.sign(k),
                dim: space.dim(),
                parameters: space.parameters(),
                groups: space.groups(),
                rows: history.completed().filter_map(row).collect(),
                expected,
                pending,
                known: Known::new(self.problem(), space, k)?,
            })
        };
        (0..self.problem().outputs.len()).map(observed).collect()
    }

    /// The models, with or without what is under way. Copies of those that were made before share
    /// what is large.
    pub(super) fn model(&self, basis: Basis) -> Result<Model> {
        let name = match basis == Basis::Known || !self.has_expectations() {
            true => "models of what is known",
            false => "models of what is known and expected",
        };
        let make = || self.new_model(basis, self.config().deterministic);
        Ok(Model::clone(&*self.history.remembered.or_make(name, make)?))
    }

    /// The models to predict by, without what is under way. Best possible values are for searches: of designs
    /// expected to have one, what is predicted without it tells the likelier ones.
    pub(super) fn predictor(&self) -> Result<Model> {
        let (config, fits) = (self.config_of_predictions(), &self.history.remembered.fits);
        let differs = config.deterministic != self.config().deterministic;
        let mut model =
            match differs && Model::adapts(&self.observed(Basis::Known)?, &config, fits)? {
                true => self.new_model(Basis::Known, config.deterministic)?,
                false => self.model(Basis::Known)?,
            };
        model.objectives.iter_mut().for_each(|belief| belief.bound = None);
        Ok(model)
    }

    /// Searches follow the values of deterministic outputs closely. Where no stationary model can, one that
    /// has to is unsure of everything else, and what it predicts jumps with every value.
    pub(super) fn config_of_predictions(&self) -> Config {
        let deterministic = match self.config().deterministic {
            Deterministic::Interpolated => Deterministic::Adaptive,
            other => other,
        };
        Config { deterministic, ..self.config().clone() }
    }

    /// Whether some values are not known that models take for what is expected.
    fn has_expectations(&self) -> bool {
        let (history, outputs) = (self.history, 0..self.problem().outputs.len());
        let expected = |k| history.pending(k).chain(history.failed(k)).chain(history.aside(k));
        outputs.into_iter().any(|k| expected(k).next().is_some())
    }

    fn new_model(&self, basis: Basis, deterministic: Deterministic) -> Result<Model> {
        let observed = self.observed(basis)?;
        let runs = self.runs()?;
        let fits = &self.history.remembered.fits;
        let config = Config { deterministic, ..self.model_config(&runs) };
        let mut model = Model::fit_with(&observed, &config, fits)?;
        model.runs = runs;
        if model.is_constrained() {
            model.reference = Some(self.worth_of_infeasible(&model)?);
        }
        if !self.config().is_linear() {
            model.worth = Some(self.worth(&model)?);
        }
        Ok(model)
    }

    /// The settings of the models: correlations and best possible values are not learned where they could
    /// not be valued. That needs an algorithm that knows them, linear utilities, measurements of one
    /// objective each, and designs that are all feasible.
    fn model_config(&self, runs: &[Runs]) -> Config {
        let is_single = |choice: &Choice| choice.outputs.len() == 1;
        let knows = self.config().algorithm.knows_correlations()
            && self.config().is_linear()
            && self.problem().constraints().next().is_none()
            && runs.is_empty()
            && self.choices().iter().all(is_single);
        let config = self.config().clone();
        match knows {
            true => config,
            false => Config {
                correlations: Correlations::Ignored,
                best_possible: BestPossible::Ignored,
                ..config
            },
        }
    }

    /// How designs are valued where that is not by weighted sums of what is expected of them.
    fn worth(&self, model: &Model) -> Result<Worth> {
        let (config, count) = (self.config(), model.objectives.len());
        let mut enough = vec![f64::INFINITY; count];
        for (name, value) in &config.enough {
            let k = self.problem().output_index(name)?;
            if let Place::Objective(m) = model.place(k) {
                let value = self.history.space.to_internal(k, *value);
                let standardised = model.belief(k).map.standardize(value);
                enough[m] = standardised.clamp(-FARTHEST_REFERENCE, FARTHEST_REFERENCE);
            }
        }
        let reference = match (&model.reference, config.utility) {
            (Some(reference), _) => reference.clone(),
            (None, Utility::Chebyshev) => self.worth_of_infeasible(model)?,
            // Sums may begin anywhere. A target far below all values must not count so much that nothing
            // else does after rounding.
            (None, Utility::Linear) => enough.iter().map(|most| most.min(0.0)).collect(),
        };
        let units = model.objectives.iter().map(|belief| belief.unit).collect();
        Ok(Worth::new(config.utility, enough, reference, units)?)
    }

    /// Where measurements succeed that have failed. If one has never succeeded, that says nothing
    /// about designs: something is wrong with all its runs. What others did is a hint.
    fn runs(&self) -> Result<Vec<Runs>> {
        if self.config().failures == Failures::Ignored {
            return Ok(vec![]);
        }
        let ended = self.history.asked().filter(|e| e.status != Status::Pending);
        let ended: Vec<&Evaluation> = ended.collect();
        let succeeded = |e: &Evaluation| !e.outputs.iter().any(|k| e.lacks(*k));
        let labels: Vec<bool> = ended.iter().map(|e| succeeded(e)).collect();
        let points = ended.iter().map(|e| self.history.point(e.id));
        let points = Points::from_rows(self.history.space.dim(), points)?;
        let mut runs = vec![];
        for m in 0..self.problem().measurements.len() {
            let is_other: Vec<bool> = ended.iter().map(|e| e.measurement != Some(m)).collect();
            let own = || labels.iter().zip(&is_other).filter(|(_, other)| !**other);
            let has = |wanted: bool| own().any(|(label, _)| *label == wanted);
            if has(true) && has(false) {
                let classifier = Classifier::for_parameters(self.history.space.parameters())?;
                let success = classifier.fit_with_hints(&points, &labels, &is_other)?;
                runs.push(Runs { measurement: m, success });
            }
        }
        Ok(runs)
    }

    /// What an infeasible design is worth, standardised: the reference point, or else the worst
    /// value of each objective on the predicted front less a tenth of the front's range.
    fn worth_of_infeasible(&self, model: &Model) -> Result<Vec<f64>> {
        if let Some(reference) = self.reference(model)? {
            return Ok(reference);
        }
        let mut designs = discretise::filling(&self.history.space, REFERENCE_DESIGNS, 0)?;
        for x in self.observed_designs()?.rows() {
            designs.push(x)?;
        }
        let expected = model.expected(&designs)?;
        let feasible = expected.are_feasible();
        let likely: Vec<usize> = (0..designs.len()).filter(|i| feasible[*i]).collect();
        let means = match likely.is_empty() {
            true => expected.means,
            false => expected.means.select(&likely),
        };
        let front = means.select(&non_dominated(&means)?);
        let worst = |k: usize| {
            let column = || front.rows().map(|row| row[k]);
            let low = column().fold(f64::INFINITY, f64::min);
            let high = column().fold(f64::NEG_INFINITY, f64::max);
            low - (0.1 * (high - low)).max(LEAST_MARGIN)
        };
        Ok((0..model.objectives.len()).map(worst).collect())
    }
}
