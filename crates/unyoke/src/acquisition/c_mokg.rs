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
use crate::surrogate::{Place, Surrogate};
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::gp::{Adjoint, Candidate, Query};
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
            choice.outputs.iter().map(|k| shared.surrogate.place(*k)).collect::<Vec<_>>()
        };
        let form = |choice: &Choice| match places(choice)[..] {
            [Place::Objective(m)] if !shared.is_constrained() => Ok(Form::One(m)),
            ref places => Ok(Form::Several(Observed::new(places)?)),
        };
        let options = choices.iter().map(form).collect::<Result<_>>()?;
        let surrogate: &'a Surrogate = shared.surrogate;
        let successes = |choice: &Choice| {
            let own = surrogate.runs.iter();
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

/// One objective's evaluator with its buffers.
struct Work<'a> {
    shared: &'a Scalarised<'a>,
    objective: usize,
    intercepts: Points,
    candidate: Candidate,
    queries: Vec<Query>,
    slopes: Vec<f64>,
    order: SlopeOrder,
    envelope: Envelope,
    /// Lines: the slope per unit λ of each line, the candidate's own last.
    sums: Sums,
}

impl<'a> Work<'a> {
    fn new(shared: &'a Scalarised<'a>, objective: usize) -> Self {
        Self {
            shared,
            objective,
            intercepts: shared.intercepts.clone(),
            candidate: Candidate::default(),
            queries: vec![Query::default(); shared.objectives()],
            slopes: Vec::new(),
            order: SlopeOrder::default(),
            envelope: Envelope::default(),
            sums: Sums::default(),
        }
    }

    /// Log of the gain at `x`, averaged over the weight vectors.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.place_candidate(x)?;
        let deviation = self.deviation();
        // Nothing to learn where the value is known exactly.
        if deviation == 0.0 {
            return Ok(f64::NEG_INFINITY);
        }
        self.slopes.clear();
        self.slopes.extend(self.candidate.covariances().iter().map(|k| k / deviation));
        let own = self.candidate.prediction().variance / deviation;
        self.slopes.push(self.shared.twin(x).map_or(own, |twin| self.slopes[twin]));
        self.order.sort(&self.slopes)?;
        self.sums.clear(self.slopes.len(), self.shared.objectives());
        for q in 0..self.shared.weights.len() {
            self.add_weight_vector(q)?;
        }
        if let Some(gradient) = gradient {
            self.write_gradient(x, deviation, gradient)?;
        }
        Ok(self.sums.log_mean(self.shared.weights.len()))
    }

    /// Computes what all models say about `x`, and its own line's intercepts.
    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        let shared = self.shared;
        shared.sets[self.objective].evaluate(x, &mut self.candidate)?;
        let mut means = vec![0.0; shared.objectives()];
        for (k, output) in shared.surrogate.objectives.iter().enumerate() {
            means[k] = if k == self.objective {
                self.candidate.prediction().mean
            } else if output.known.is_some() {
                output.predict(x)?.mean
            } else {
                output.gp.query_into(x, &mut self.queries[k])?;
                self.queries[k].prediction().mean
            };
        }
        let (twin, last) = (shared.twin(x), self.intercepts.dim() - 1);
        for q in 0..shared.weights.len() {
            let row = self.intercepts.row_mut(q);
            let own = || (0..means.len()).map(|k| shared.factor(q, k) * means[k]).sum();
            row[last] = twin.map_or_else(own, |twin| row[twin]);
        }
        Ok(())
    }

    /// Standard deviation of the imagined observation.
    fn deviation(&self) -> f64 {
        let noise = self.shared.surrogate.objectives[self.objective].gp.noise();
        (self.candidate.prediction().variance + noise).sqrt()
    }

    fn add_weight_vector(&mut self, q: usize) -> Result<()> {
        let factor = self.shared.factor(q, self.objective);
        let gain = self.order.gain(self.intercepts.row(q), factor, &mut self.envelope)?;
        if gain.scaled == 0.0 {
            return Ok(());
        }
        let aligned = self.sums.align(gain.log_scale);
        self.sums.gain += aligned * gain.scaled;
        let own = self.slopes.len() - 1;
        for line in self.envelope.gradient() {
            self.sums.lines[line.line] += aligned * factor * line.slope;
            if line.line == own {
                for (k, sum) in self.sums.means.iter_mut().enumerate() {
                    *sum += aligned * line.intercept * self.shared.factor(q, k);
                }
            }
        }
        Ok(())
    }

    /// Gradient of the logarithm: chain rule through slopes, variance and means.
    ///
    /// β_j = k_j/√v with v = variance + noise, so ∂β_j/∂v = −β_j/2v; the candidate's own slope is
    /// variance/√v.
    fn write_gradient(&mut self, x: &[f64], deviation: f64, gradient: &mut [f64]) -> Result<()> {
        let Sums { gain, lines: slopes, means, .. } = &mut self.sums;
        let by_variance: f64 = slopes.iter().zip(&self.slopes).map(|(g, beta)| g * beta).sum();
        let own = slopes.pop().unwrap_or(0.0);
        for slope in slopes.iter_mut() {
            *slope /= deviation;
        }
        let adjoint = Adjoint {
            mean: means[self.objective],
            variance: own / deviation - 0.5 * by_variance / (deviation * deviation),
            covariances: slopes,
        };
        let set = &self.shared.sets[self.objective];
        gradient.copy_from_slice(&set.gradient(&self.candidate, adjoint)?);
        for (k, output) in self.shared.surrogate.objectives.iter().enumerate() {
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
