//! What is predicted: the front, the best design for given weights, what evaluations are worth.

use super::modelling::REFERENCE_DESIGNS;
use super::{Basis, Engine};
use crate::design::Design;
use crate::discretise::{self, best_utility};
use crate::error::Result;
use crate::model::Model;
use crate::model::known::Known;
use crate::problem::Scale;
use crate::recommend::{
    Forecast, Front, FrontPoint, predicted_pareto_set, recommended, with_best_for_weights,
};
use crate::search::Best;
use crate::suggestion::OptionRow;
use crate::weights;
use unyoke_math::Points;
use unyoke_math::data::Standardizer;
use unyoke_math::gp::Prediction;
use unyoke_math::optimize::largest;

impl Engine<'_> {
    /// See [`Study::front`](crate::Study::front).
    pub(crate) fn front(&self, count: usize) -> Result<Front> {
        let model = self.model(Basis::Known)?;
        let weights = self.weights_of_front()?;
        let designs = self.promising_designs(&model, &weights)?;
        let set = recommended(&model, &designs, &weights, count)?;
        let points = set.rows().map(|x| self.front_point(&model, x));
        let names = self.problem().outputs.iter().map(|output| output.name.clone());
        Ok(Front { outputs: names.collect(), points: points.collect::<Result<_>>()? })
    }

    /// See [`Study::best_for`](crate::Study::best_for).
    pub(crate) fn best_for(&self, weights: &[f64]) -> Result<FrontPoint> {
        let lambda = weights::checked(weights, self.problem().objectives().count())?;
        let model = self.model(Basis::Known)?;
        // From all that a front is chosen from, so that no point of a front is better.
        let mut set = self.promising_designs(&model, &self.weights_of_front()?)?;
        if set.is_empty() {
            // Nothing is likely feasible: then what is likeliest counts most.
            set = discretise::filling(&self.history.space, REFERENCE_DESIGNS, 0)?;
        }
        let values = model.utilities(&lambda, &set)?;
        let best = largest(&values, 1).first().map_or(0, |i| *i);
        let x = best_utility(&self.history.space, &model, &lambda, set.row(best))?;
        self.front_point(&model, &self.canonical(&x))
    }

    fn weights_of_front(&self) -> Result<Points> {
        weights::weights_of_front(self.config(), &weights::DrawingOrder::new(self.problem()))
    }

    /// The predicted Pareto set, and designs that are better still for some of `weights`.
    fn promising_designs(&self, model: &Model, weights: &Points) -> Result<Points> {
        let (space, observed) = (&self.history.space, self.observed_designs()?);
        let search = self.config().front;
        let found = predicted_pareto_set(space, model, &observed, search, usize::MAX)?;
        with_best_for_weights(space, model, found, weights)
    }

    /// See [`Study::forecast`](crate::Study::forecast).
    pub(crate) fn forecast(&self, design: &Design) -> Result<FrontPoint> {
        let x = self.history.space.encode(design)?;
        self.front_point(&self.model(Basis::Known)?, &x)
    }

    /// See [`Study::forecasts`](crate::Study::forecasts).
    pub(crate) fn forecasts(&self, designs: &[Design]) -> Result<Vec<FrontPoint>> {
        let encoded = designs.iter().map(|design| self.history.space.encode(design));
        let encoded: Vec<Vec<f64>> = encoded.collect::<Result<_>>()?;
        let model = self.model(Basis::Known)?;
        encoded.iter().map(|x| self.front_point(&model, x)).collect()
    }

    /// See [`Study::score`](crate::Study::score).
    pub(crate) fn score(&self, designs: &[Design]) -> Result<Vec<Vec<OptionRow>>> {
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
        designs.iter().map(score).collect()
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
            Ok(Forecast { measured, ..self.in_own_units(k, &belief.map, belief.predict(x)?) })
        };
        let outputs = (0..self.problem().outputs.len()).map(forecast).collect::<Result<_>>()?;
        let feasibility = match model.is_constrained() {
            true => Some(model.probability(x)?),
            false => None,
        };
        Ok(FrontPoint { design: space.decode(x), outputs, feasibility })
    }

    /// A standardised prediction in the units of output `k`.
    pub(super) fn in_own_units(
        &self,
        k: usize,
        map: &Standardizer,
        Prediction { mean, variance }: Prediction,
    ) -> Forecast {
        let at = |z: f64| self.history.space.to_user(k, map.restore(z));
        let ends = [at(mean - variance.sqrt()), at(mean + variance.sqrt())];
        let (low, high) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
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
            measured: vec![],
            is_formula: false,
        }
    }
}
