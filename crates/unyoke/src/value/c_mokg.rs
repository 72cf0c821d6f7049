//! Cost-weighted multi-objective knowledge gradient, Eq. (7)-(13).
//!
//! For weights λ, observing objective m at x turns the utility of design x'_j into the line
//! a_j + b_j Z with a_j = λ · μ(x'_j) and b_j = λ_m k_m(x'_j, x)/√(k_m(x, x) + σ_m²). The design x
//! itself is one of the lines. Its value is the expected maximum of the lines less the best a_j,
//! averaged over the weight vectors.
//!
//! Slopes of different λ differ by a factor only, so one sort serves all weight vectors.

use super::vector::{self, Observed};
use super::{Acquisition, Evaluator, Scalarised, Sums};
use crate::choices::Choice;
use crate::model::Place;
use crate::outlook::Outlook;
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::gp::Query;
use unyoke_math::success::Success;
use unyoke_math::{Points, Result};

/// C-MOKG over the weight vectors of a step; one weight vector makes it the random form.
pub(crate) struct CMokg<'a> {
    shared: Scalarised<'a>,
    options: Vec<Form>,
    /// For each option, where its runs succeed, if they may fail.
    successes: Vec<Vec<&'a Success>>,
}

/// How the gain of an option is computed.
enum Form {
    /// One objective, every design feasible: one sort serves all weight vectors.
    One(usize),
    /// Several outputs, or within constraints.
    Several(Observed),
}

impl<'a> CMokg<'a> {
    pub(crate) fn new(shared: Scalarised<'a>, choices: &[Choice]) -> Result<Self> {
        let places = |choice: &Choice| {
            choice.outputs.iter().map(|k| shared.model().place(*k)).collect::<Vec<_>>()
        };
        let form = |choice: &Choice| match places(choice)[..] {
            [Place::Objective(m)] if !shared.model().is_constrained() => Ok(Form::One(m)),
            ref places => Ok(Form::Several(Observed::new(places)?)),
        };
        let options = choices.iter().map(form).collect::<Result<_>>()?;
        let model = shared.model();
        let successes = |choice: &Choice| {
            let own = model.runs.iter();
            let own = own.filter(|runs| choice.measurements.contains(&runs.measurement));
            own.map(|runs| &runs.success).collect()
        };
        let successes = choices.iter().map(successes).collect();
        Ok(Self { shared, options, successes })
    }
}

#[cfg(test)]
impl<'a> CMokg<'a> {
    /// These outputs together.
    pub(super) fn of(shared: Scalarised<'a>, observed: Observed) -> Self {
        Self { shared, options: vec![Form::Several(observed)], successes: vec![vec![]] }
    }

    /// Each objective alone.
    pub(crate) fn one_by_one(shared: Scalarised<'a>) -> Self {
        let options: Vec<Form> = (0..shared.objectives()).map(Form::One).collect();
        let successes = vec![vec![]; options.len()];
        Self { shared, options, successes }
    }
}

impl Acquisition for CMokg<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        let gain: Evaluator<'_> = match &self.options[option] {
            Form::One(objective) => {
                let mut work = Work::new(&self.shared, *objective);
                Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
            }
            Form::Several(observed) => vector::evaluator(&self.shared, observed),
        };
        match self.successes[option].is_empty() {
            true => gain,
            false => unless_it_fails(gain, &self.successes[option]),
        }
    }
}

/// A run that fails gains nothing: the gain times the probability that none of the runs does.
fn unless_it_fails<'a>(mut gain: Evaluator<'a>, successes: &'a [&Success]) -> Evaluator<'a> {
    Box::new(move |x, mut gradient| {
        let mut log = gain(x, gradient.as_deref_mut());
        for success in successes {
            log += match gradient.as_deref_mut() {
                Some(gradient) => success.log_probability_with_gradient(x, 1.0, gradient),
                None => success.log_probability(x),
            }
            .unwrap_or(f64::NEG_INFINITY);
        }
        log
    })
}

/// Groups of derivatives: in the slope per unit λ of each line, and in the means at x.
const SLOPES: usize = 0;
const MEANS: usize = 1;

/// One objective's evaluator with its buffers.
struct Work<'a> {
    shared: &'a Scalarised<'a>,
    objective: usize,
    intercepts: Points,
    outlook: Outlook,
    queries: Vec<Query>,
    means: Vec<f64>,
    order: SlopeOrder,
    envelope: Envelope,
    sums: Sums<2>,
}

impl<'a> Work<'a> {
    fn new(shared: &'a Scalarised<'a>, objective: usize) -> Self {
        Self {
            shared,
            objective,
            intercepts: shared.intercepts.clone(),
            outlook: Outlook::default(),
            queries: vec![Query::default(); shared.objectives()],
            means: vec![0.0; shared.objectives()],
            order: SlopeOrder::default(),
            envelope: Envelope::default(),
            sums: Sums::default(),
        }
    }

    /// Log of the gain at `x`, averaged over the weight vectors.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.place_candidate(x)?;
        if self.outlook.is_still() {
            return Ok(f64::NEG_INFINITY);
        }
        self.order.sort(&self.outlook.slopes)?;
        self.sums.clear([self.outlook.slopes.len(), self.shared.objectives()]);
        for q in 0..self.shared.weights.len() {
            self.add_weight_vector(q)?;
        }
        if let Some(gradient) = gradient {
            self.write_gradient(x, gradient)?;
        }
        Ok(self.sums.log_mean(self.shared.weights.len()))
    }

    /// Computes what all models say about `x`, and its own line's intercepts.
    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        let shared = self.shared;
        let twin = shared.compared.twin(x);
        self.outlook.look(&shared.compared.objectives[self.objective], x, twin)?;
        for (k, output) in shared.model().objectives.iter().enumerate() {
            self.means[k] = if k == self.objective {
                self.outlook.candidate.prediction().mean
            } else if output.known.is_some() {
                output.predict(x)?.mean
            } else {
                output.gp.query_into(x, &mut self.queries[k])?;
                self.queries[k].prediction().mean
            };
        }
        let last = self.intercepts.dim() - 1;
        for q in 0..shared.weights.len() {
            let row = self.intercepts.row_mut(q);
            row[last] = twin.map_or_else(|| shared.intercept(q, &self.means), |twin| row[twin]);
        }
        Ok(())
    }

    fn add_weight_vector(&mut self, q: usize) -> Result<()> {
        let factor = self.shared.factor(q, self.objective);
        let gain = self.order.gain(self.intercepts.row(q), factor, &mut self.envelope)?;
        if gain.scaled == 0.0 {
            return Ok(());
        }
        let aligned = self.sums.align(gain.log_scale);
        self.sums.gain += aligned * gain.scaled;
        let own = self.outlook.slopes.len() - 1;
        for line in self.envelope.gradient() {
            self.sums.by[SLOPES][line.line] += aligned * factor * line.slope;
            if line.line == own {
                for (k, sum) in self.sums.by[MEANS].iter_mut().enumerate() {
                    *sum += aligned * line.intercept * self.shared.factor(q, k);
                }
            }
        }
        Ok(())
    }

    /// Gradient of the logarithm: chain rule through slopes and means.
    fn write_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        let Sums { gain, by: [slopes, means], .. } = &mut self.sums;
        let set = &self.shared.compared.objectives[self.objective];
        let own = [means[self.objective], 0.0];
        gradient.copy_from_slice(&self.outlook.pull_back(set, slopes, own)?);
        for (k, output) in self.shared.model().objectives.iter().enumerate() {
            if k != self.objective && means[k] != 0.0 && output.known.is_some() {
                output.mean_with_gradient(x, means[k], gradient)?;
            } else if k != self.objective && means[k] != 0.0 {
                let slope = output.gp.gradient(&self.queries[k], means[k], 0.0);
                gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
            }
        }
        gradient.iter_mut().for_each(|g| *g /= *gain);
        Ok(())
    }
}
