//! Cost-weighted multi-objective knowledge gradient, Eq. (7)-(13).
//!
//! For weights λ, observing objective m at x turns the utility of design x'_j into the line
//! a_j + b_j Z with a_j = λ · μ(x'_j) and b_j = Σ_k λ_k β_kj, β_kj = K_km(x'_j, x)/√(K_mm(x, x) + σ_m²).
//! The design x itself is one of the lines. Its value is the expected maximum of the lines less the
//! best a_j, averaged over the weight vectors.
//!
//! Where objectives have models of their own, β_kj = 0 but for k = m: slopes of different λ differ by a
//! factor only, and one sort serves all weight vectors. In a joint model each λ has an order of its own.

use super::vector::{self, Observed};
use super::{Acquisition, Evaluator, Scalarised, Sums};
use crate::choices::Choice;
use crate::model::{Model, Place};
use crate::outlook::Prospect;
use unyoke_math::envelope::{Envelope, SlopeOrder};
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
    /// One objective, every design feasible.
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
        let successes = successes(shared.model(), choices);
        Ok(Self { shared, options, successes })
    }
}

/// For each choice, where its runs succeed, if they may fail.
pub(super) fn successes<'a>(model: &'a Model, choices: &[Choice]) -> Vec<Vec<&'a Success>> {
    let of_choice = |choice: &Choice| {
        let own = model.runs.iter();
        let own = own.filter(|runs| choice.measurements.contains(&runs.measurement));
        own.map(|runs| &runs.success).collect()
    };
    choices.iter().map(of_choice).collect()
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
        unless_it_fails(gain, &self.successes[option])
    }
}

/// A run that fails gains nothing: the gain times the probability that none of the runs does.
pub(super) fn unless_it_fails<'a>(
    mut gain: Evaluator<'a>,
    successes: &'a [&Success],
) -> Evaluator<'a> {
    if successes.is_empty() {
        return gain;
    }
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

/// Groups of derivatives: in β_kj of each line, moved objective by moved objective, and in the means
/// at x.
const SLOPES: usize = 0;
const MEANS: usize = 1;

/// One objective's evaluator with its buffers.
struct Work<'a> {
    shared: &'a Scalarised<'a>,
    intercepts: Points,
    prospect: Prospect<'a>,
    /// The weight vectors in the order in which they are looked at: neighbours sort lines alike.
    sequence: Vec<usize>,
    /// Σ_k λ_k β_kj, where several objectives move.
    combined: Vec<f64>,
    order: SlopeOrder,
    envelope: Envelope,
    sums: Sums<2>,
}

impl<'a> Work<'a> {
    fn new(shared: &'a Scalarised<'a>, objective: usize) -> Self {
        let prospect = Prospect::new(&shared.compared, objective);
        let mut sequence: Vec<usize> = (0..shared.weights.len()).collect();
        if let [first, _, ..] = prospect.moved() {
            let weight = |q: usize| shared.weights.row(q)[*first];
            sequence.sort_by(|a, b| weight(*a).total_cmp(&weight(*b)));
        }
        Self {
            shared,
            intercepts: shared.intercepts.clone(),
            prospect,
            sequence,
            combined: vec![],
            order: SlopeOrder::default(),
            envelope: Envelope::default(),
            sums: Sums::default(),
        }
    }

    /// Log of the gain at `x`, averaged over the weight vectors.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.place_candidate(x)?;
        if self.prospect.is_still() {
            return Ok(f64::NEG_INFINITY);
        }
        let (lines, moved) = (self.intercepts.dim(), self.prospect.moved().len());
        self.sums.clear([moved * lines, self.shared.objectives()]);
        if moved == 1 {
            self.order.sort(self.prospect.slopes(0))?;
        }
        for i in 0..self.sequence.len() {
            self.add_weight_vector(self.sequence[i])?;
        }
        if let Some(gradient) = gradient {
            let Sums { gain, by: [slopes, means], .. } = &mut self.sums;
            gradient.copy_from_slice(&self.prospect.pull_back(x, slopes, means)?);
            gradient.iter_mut().for_each(|g| *g /= *gain);
        }
        Ok(self.sums.log_mean(self.shared.weights.len()))
    }

    /// Computes what all models say about `x`, and its own line's intercepts.
    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        self.prospect.look(x)?;
        let (shared, last) = (self.shared, self.intercepts.dim() - 1);
        for q in 0..shared.weights.len() {
            let row = self.intercepts.row_mut(q);
            let own = || shared.intercept(q, self.prospect.means());
            row[last] = self.prospect.twin().map_or_else(own, |twin| row[twin]);
        }
        Ok(())
    }

    /// Sorts the lines for weight vector q where that has not been done for all; the factor that is
    /// left to the sorted slopes.
    fn sort_for(&mut self, q: usize) -> Result<f64> {
        if let [m] = self.prospect.moved() {
            return Ok(self.shared.factor(q, *m));
        }
        self.combined.clear();
        self.combined.resize(self.intercepts.dim(), 0.0);
        for (i, k) in self.prospect.moved().iter().enumerate() {
            let (factor, slopes) = (self.shared.factor(q, *k), self.prospect.slopes(i));
            self.combined.iter_mut().zip(slopes).for_each(|(sum, beta)| *sum += factor * beta);
        }
        self.order.sort_again(&self.combined)?;
        Ok(1.0)
    }

    fn add_weight_vector(&mut self, q: usize) -> Result<()> {
        let factor = self.sort_for(q)?;
        let gain = self.order.gain(self.intercepts.row(q), factor, &mut self.envelope)?;
        if gain.scaled == 0.0 {
            return Ok(());
        }
        let aligned = self.sums.align(gain.log_scale);
        self.sums.gain += aligned * gain.scaled;
        let lines = self.intercepts.dim();
        for line in self.envelope.gradient() {
            for (i, k) in self.prospect.moved().iter().enumerate() {
                let factor = self.shared.factor(q, *k);
                self.sums.by[SLOPES][i * lines + line.line] += aligned * factor * line.slope;
            }
            if line.line == lines - 1 {
                for (k, sum) in self.sums.by[MEANS].iter_mut().enumerate() {
                    *sum += aligned * line.intercept * self.shared.factor(q, k);
                }
            }
        }
        Ok(())
    }
}
