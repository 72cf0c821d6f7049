//! What is predicted: the front with what was measured, the best design for given weights, what evaluations are worth.

use super::modelling::REFERENCE_DESIGNS;
use super::{Basis, Engine};
use crate::config::Recommendations;
use crate::design::Design;
use crate::discretise::{self, best_utility};
use crate::error::{Error, Result};
use crate::model::known::Known;
use crate::model::{Caution, Model};
use crate::problem::Scale;
use crate::recommend::{
    Candidates, Expectation, Forecast, Front, FrontPoint, Measurements, predicted_pareto_set,
    screened_pareto_set, with_best_for_weights,
};
use crate::search::Best;
use crate::space::key;
use crate::suggestion::Scores;
use crate::weights;
use std::collections::HashSet;
use unyoke_math::Points;
use unyoke_math::data::Standardizer;
use unyoke_math::gp::Prediction;
use unyoke_math::optimize::largest;

/// With fewer parameters choices go by what is expected: models soon know all of the space, and caution keeps
/// early choices away from what is new (docs/recommendation.md).
const STEADY_PARAMETERS: usize = 3;

/// So many standard deviations to each side hold nine of ten normal values.
const NINE_OF_TEN: f64 = 1.644_853_626_951_472_2;

impl Engine<'_> {
    /// See [`Study::front`](crate::Study::front) and [`Study::cautious_front`](crate::Study::cautious_front).
    pub(crate) fn front(&self, count: usize, quantile: Option<f64>) -> Result<Front> {
        let model = self.recommender(quantile)?;
        let weights = self.weights_of_front()?;
        self.chosen_from(&model, self.candidates(&model, &weights)?, &weights, count)
    }

    /// See [`Study::predicted_front`](crate::Study::predicted_front).
    pub(crate) fn predicted_front(&self, count: usize) -> Result<Front> {
        let model = self.recommender(None)?;
        let (candidates, weights) = self.predicted_set(&model)?;
        self.chosen_from(&model, candidates, &weights, count)
    }

    /// See [`Study::predicted_means`](crate::Study::predicted_means).
    pub(crate) fn predicted_means(&self, count: usize) -> Result<Vec<Expectation>> {
        let model = self.recommender(None)?;
        let (candidates, weights) = self.predicted_set(&model)?;
        let set = candidates.recommended(&model, &weights, count);
        let outputs: Vec<usize> = self.problem().objectives().map(|(k, _)| k).collect();
        let expectation = |((x, means), choices): ((&[f64], &[f64]), &[f64])| {
            let own = |(k, value): (&usize, &f64)| {
                let belief = model.belief(*k);
                // Not by way of standardised values, which would round it.
                let known = belief.known.as_ref().and_then(|known| known.at(x));
                let value = known.unwrap_or_else(|| belief.map.restore(*value));
                self.history.space.to_user(*k, value)
            };
            Expectation {
                design: self.history.space.decode(x),
                means: outputs.iter().zip(means).map(own).collect(),
                choices: outputs.iter().zip(choices).map(own).collect(),
            }
        };
        let rows = set.designs().rows().zip(set.means().rows()).zip(set.choices().rows());
        Ok(rows.map(expectation).collect())
    }

    /// The predicted Pareto set, no measured designs added, and the weights to choose from it by.
    fn predicted_set(&self, model: &Model) -> Result<(Candidates, Points)> {
        let weights = self.weights_of_front()?;
        let (space, observed) = (&self.history.space, self.observed_designs()?);
        let found = screened_pareto_set(space, model, &observed, self.config().front)?;
        let found = self.recorded(&self.with_best(model, found, &weights)?)?;
        let none = Measurements { designs: Points::new(found.dim()), values: vec![] };
        Ok((Candidates::new(model, &found, &none)?, weights))
    }

    pub(crate) fn chosen_from(
        &self,
        model: &Model,
        candidates: Candidates,
        weights: &Points,
        count: usize,
    ) -> Result<Front> {
        let set = candidates.recommended(model, weights, count);
        let points = set.designs().rows().map(|x| self.front_point(model, x));
        let names = self.problem().outputs.iter().map(|output| output.name.clone());
        Ok(Front { outputs: names.collect(), points: points.collect::<Result<_>>()? })
    }

    /// See [`Study::best_for`](crate::Study::best_for).
    pub(crate) fn best_for(&self, weights: &[f64], quantile: Option<f64>) -> Result<FrontPoint> {
        let lambda = weights::checked(weights, self.problem().objectives().count())?;
        let model = self.recommender(quantile)?;
        // From all that a front is chosen from, so that no point of a front is better.
        let candidates = self.candidates(&model, &self.weights_of_front()?)?;
        let (designs, values) = (candidates.designs(), candidates.utilities(&model, &lambda));
        let best = largest(&values, 1).first().copied();
        let x = match (best, quantile) {
            // Nothing is likely feasible: then what is likeliest counts most.
            (None, _) => {
                let set = discretise::filling(&self.history.space, REFERENCE_DESIGNS, 0)?;
                let values = model.utilities(&lambda, &set)?;
                let best = largest(&values, 1).first().map_or(0, |i| *i);
                self.canonical(&best_utility(&self.history.space, &model, &lambda, set.row(best))?)
            }
            // Climbers see what is expected, not what is feared.
            (Some(best), Some(_)) => designs.row(best).to_vec(),
            (Some(best), None) => {
                let top = best_utility(&self.history.space, &model, &lambda, designs.row(best))?;
                let here = Points::from_rows(top.len(), [&top])?;
                let worth = match model.steadily_expected(&here)? {
                    Some(expected) => expected.utilities(&model, &lambda)[0],
                    None => model.utilities(&lambda, &here)?[0],
                };
                match worth > values[best] {
                    true => self.canonical(&top),
                    false => designs.row(best).to_vec(),
                }
            }
        };
        self.front_point(&model, &x)
    }

    /// The models, and how far their deviations can be trusted at designs of a user's choice.
    fn forecaster(&self) -> Result<Model> {
        let calibrated = || -> Result<Model> {
            let mut model = self.predictor()?;
            model.calibrate();
            Ok(model)
        };
        let model = self.history.remembered.or_make("calibrated models", calibrated)?;
        Ok(Model::clone(&model))
    }

    /// The models to choose designs by, and how far their deviations can be trusted there; designs are
    /// compared by what is reached with this probability, or by what is expected.
    pub(crate) fn recommender(&self, quantile: Option<f64>) -> Result<Model> {
        let caution = quantile.map(caution).transpose()?;
        let mut model = self.forecaster()?;
        model.doubt_selection();
        // Utilities that are not linear shun what is uncertain by themselves.
        let is_steady = self.config().recommendations == Recommendations::Steady
            && self.problem().parameters.len() >= STEADY_PARAMETERS;
        let is_wanted = is_steady && caution.is_none() && model.worth.is_none();
        model.steadiness = is_wanted.then(Caution::steady);
        model.caution = caution;
        Ok(model)
    }

    /// What a front is chosen from: by the models of [`Engine::recommender`], for the weights of
    /// [`Engine::weights_of_front`].
    pub(crate) fn candidates(&self, model: &Model, weights: &Points) -> Result<Candidates> {
        if model.caution.is_some() {
            return self.new_candidates(model, weights);
        }
        let (name, make) = ("candidates of a front", || self.new_candidates(model, weights));
        Ok(Candidates::clone(&*self.history.remembered.or_make(name, make)?))
    }

    fn new_candidates(&self, model: &Model, weights: &Points) -> Result<Candidates> {
        let found = self.recorded(&self.promising_designs(model, weights)?)?;
        Candidates::new(model, &found, &self.measurements(model)?)
    }

    /// Designs as a history will hold them once they are measured.
    fn recorded(&self, found: &Points) -> Result<Points> {
        let observed = self.observed_designs()?;
        let observed: HashSet<Vec<u64>> = observed.rows().map(key).collect();
        let recorded = |x: &[f64]| match observed.contains(&key(x)) {
            true => x.to_vec(),
            false => self.canonical(x),
        };
        Ok(Points::from_rows(found.dim(), found.rows().map(recorded))?)
    }

    pub(crate) fn weights_of_front(&self) -> Result<Points> {
        weights::weights_of_front(self.config(), &weights::DrawingOrder::new(self.problem()))
    }

    /// The predicted Pareto set, and designs that are better still for some of `weights`.
    fn promising_designs(&self, model: &Model, weights: &Points) -> Result<Points> {
        let (space, observed) = (&self.history.space, self.observed_designs()?);
        let search = self.config().front;
        let found = predicted_pareto_set(space, model, &observed, search, usize::MAX)?;
        self.with_best(model, found, weights)
    }

    /// The designs `found`, and those that are better still for some of `weights`.
    fn with_best(&self, model: &Model, found: Points, weights: &Points) -> Result<Points> {
        match model.caution {
            // Climbers see what is expected, not what is feared.
            Some(_) => Ok(found),
            None => with_best_for_weights(&self.history.space, model, found, weights),
        }
    }

    /// See [`Study::forecast`](crate::Study::forecast).
    pub(crate) fn forecast(&self, design: &Design) -> Result<FrontPoint> {
        let x = self.history.space.encode(design)?;
        self.front_point(&self.forecaster()?, &x)
    }

    /// See [`Study::forecasts`](crate::Study::forecasts).
    pub(crate) fn forecasts(&self, designs: &[Design]) -> Result<Vec<FrontPoint>> {
        self.forecasts_by(&self.forecaster()?, designs)
    }

    /// The same with models that were fitted before.
    pub(crate) fn forecasts_by(
        &self,
        model: &Model,
        designs: &[Design],
    ) -> Result<Vec<FrontPoint>> {
        let encoded = designs.iter().map(|design| self.history.space.encode(design));
        let encoded: Vec<Vec<f64>> = encoded.collect::<Result<_>>()?;
        encoded.iter().map(|x| self.front_point(model, x)).collect()
    }

    /// See [`Study::score`](crate::Study::score).
    pub(crate) fn scores(&self, designs: &[Design]) -> Result<Scores> {
        let model = self.model(Basis::Expected)?;
        let step = self.step(&model)?;
        let imagined = self.imagine(&model, &step)?;
        let acquisition = self.averaged(&model, &step, &imagined)?;
        let costs = self.costs()?;
        let score = |design: &Design| {
            self.history.space.check_inside(design)?;
            let x = self.history.space.encode(design)?;
            let best = |option: usize| {
                let log_gain = acquisition.evaluator(option)(&x, None);
                Best { option, log_gain, cost: costs[option].at(&x), x: x.clone() }
            };
            Ok(self.rows(&(0..acquisition.options()).map(best).collect::<Vec<_>>()))
        };
        let options = designs.iter().map(score).collect::<Result<_>>()?;
        Ok(Scores { options, range: self.range(&model, &step)? })
    }

    /// See [`Study::formula_value`](crate::Study::formula_value).
    pub(crate) fn formula_value(&self, k: usize, design: &Design) -> Result<Option<f64>> {
        let space = &self.history.space;
        let x = space.encode(design)?;
        let known = Known::new(self.problem(), space, k)?;
        Ok(known.and_then(|known| known.at(&x)).map(|value| space.to_user(k, value)))
    }

    fn front_point(&self, model: &Model, x: &[f64]) -> Result<FrontPoint> {
        let space = &self.history.space;
        let forecast = |k: usize| -> Result<Forecast> {
            let belief = model.belief(k);
            if let Some(known) = &belief.known {
                // Not by way of standardised values, which would round it.
                let value = known.at(x).map_or(f64::NAN, |value| space.to_user(k, value));
                return Ok(Forecast::of_formula(value));
            }
            let here = self.history.observations(k).filter(|(at, _)| space.same(at, x));
            let measured = here.map(|(_, reading)| reading.value).collect();
            Ok(Forecast { measured, ..self.in_own_units(k, &belief.map, model.forecast(k, x)?) })
        };
        let outputs = (0..self.problem().outputs.len()).map(forecast).collect::<Result<_>>()?;
        let feasibility = match model.is_constrained() {
            true => Some(model.probability(x)?),
            false => None,
        };
        Ok(FrontPoint { design: self.design_at(x, self.history.completed()), outputs, feasibility })
    }

    /// A standardised prediction in the units of output `k`.
    pub(super) fn in_own_units(
        &self,
        k: usize,
        map: &Standardizer,
        Prediction { mean, variance }: Prediction,
    ) -> Forecast {
        let at = |z: f64| self.history.space.to_user(k, map.restore(z));
        let within = |deviations: f64| {
            let reach = deviations * variance.sqrt();
            let ends = [at(mean - reach), at(mean + reach)];
            [ends[0].min(ends[1]), ends[0].max(ends[1])]
        };
        let ([low, high], interval) = (within(1.0), within(NINE_OF_TEN));
        Forecast {
            mean: at(mean),
            sd: match self.problem().outputs[k].scale {
                // Not the root of the variance in these units, which may overflow.
                Scale::Linear => variance.sqrt() * map.scale(),
                // Both may be infinite.
                Scale::Log if low == high => 0.0,
                Scale::Log => 0.5 * high - 0.5 * low,
            },
            low,
            high,
            interval,
            measured: vec![],
            is_formula: false,
        }
    }
}

/// Caution at a quantile that makes sense.
fn caution(quantile: f64) -> Result<Caution> {
    match (0.5..1.0).contains(&quantile) {
        true => Ok(Caution::at(quantile)),
        false => Err(Error::BadQuantile { quantile }),
    }
}
