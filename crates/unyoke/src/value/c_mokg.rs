//! Cost-weighted multi-objective knowledge gradient, Eq. (7)-(13).
//!
//! For weights λ, observing objective m at x turns the utility of design x'_j into the line
//! a_j + b_j Z with a_j = λ · μ(x'_j) and b_j = Σ_k λ_k β_kj, β_kj = K_km(x'_j, x)/√(K_mm(x, x) + σ_m²).
//! The design x itself is one of the lines. Its value is the expected maximum of the lines less the
//! best a_j, averaged over the weight vectors.
//!
//! Where objectives have models of their own, β_kj = 0 but for k = m: slopes of different λ differ by a
//! factor only. In a joint model each λ has slopes of its own. The a_j do not depend on x, but for that of x
//! itself: they are sorted once for each λ, and no candidate needs a sort.

use super::vector::{self, Observed};
use super::{Acquisition, Evaluator, Scalarised, Sums};
use crate::choices::Choice;
use crate::model::{Model, Place};
use crate::outlook::{Prospect, SharedProspect};
use unyoke_math::Result;
use unyoke_math::envelope::{Envelope, HeightOrder, Slopes};
use unyoke_math::success::Success;

/// C-MOKG over the weight vectors of a step; one weight vector makes it the random form.
pub(crate) struct CMokg<'a> {
    shared: Scalarised<'a>,
    options: Vec<Form>,
    /// The order of the compared designs by utility, for each weight vector.
    orders: Vec<HeightOrder>,
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
        let orders = orders(&shared)?;
        Ok(Self { shared, options, orders, successes })
    }
}

/// The compared designs by utility, for each weight vector.
fn orders(shared: &Scalarised<'_>) -> Result<Vec<HeightOrder>> {
    let designs = shared.compared.designs.len();
    shared.intercepts.rows().map(|row| HeightOrder::new(&row[..designs])).collect()
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
        let options = vec![Form::Several(observed)];
        Self { shared, options, orders: vec![], successes: vec![vec![]] }
    }

    /// Each objective alone.
    pub(crate) fn one_by_one(shared: Scalarised<'a>) -> Self {
        let options: Vec<Form> = (0..shared.objectives()).map(Form::One).collect();
        let successes = vec![vec![]; options.len()];
        let orders = orders(&shared).unwrap();
        Self { shared, options, orders, successes }
    }
}

impl Acquisition for CMokg<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        self.evaluator_beside(option, &mut None)
    }

    fn evaluator_beside<'s>(
        &'s self,
        option: usize,
        shared: &mut Option<SharedProspect<'s>>,
    ) -> Evaluator<'s> {
        let gain: Evaluator<'_> = match &self.options[option] {
            Form::One(objective) => {
                let compared = &self.shared.compared;
                let prospect = Prospect::shared(compared, *objective, shared);
                let mut work = Work::new(self, prospect);
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
    orders: &'a [HeightOrder],
    prospect: SharedProspect<'a>,
    /// The weight vectors in the order in which they are added up.
    sequence: Vec<usize>,
    /// Σ_k λ_k β_kj, where several objectives move.
    combined: Vec<f64>,
    envelope: Envelope,
    wants_gradient: bool,
    sums: Sums<2>,
}

impl<'a> Work<'a> {
    fn new(c_mokg: &'a CMokg<'_>, prospect: SharedProspect<'a>) -> Self {
        let shared = &c_mokg.shared;
        let mut sequence: Vec<usize> = (0..shared.weights.len()).collect();
        if let [first, _, ..] = prospect.borrow().moved() {
            let weight = |q: usize| shared.weights.row(q)[*first];
            sequence.sort_by(|a, b| weight(*a).total_cmp(&weight(*b)));
        }
        Self {
            shared,
            orders: &c_mokg.orders,
            prospect,
            sequence,
            combined: vec![],
            envelope: Envelope::default(),
            wants_gradient: false,
            sums: Sums::default(),
        }
    }

    /// Log of the gain at `x`, averaged over the weight vectors.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.wants_gradient = gradient.is_some();
        let prospect = self.prospect.clone();
        prospect.borrow_mut().look(x)?;
        let prospect = &*prospect.borrow();
        if prospect.is_still() {
            return Ok(f64::NEG_INFINITY);
        }
        // Of what is only compared nobody asks for derivatives.
        self.sums.clear(match gradient {
            Some(_) => {
                let lines = self.shared.intercepts.dim();
                [prospect.moved().len() * lines, self.shared.objectives()]
            }
            None => [0, 0],
        });
        self.add_weight_vectors(prospect)?;
        if let Some(gradient) = gradient {
            let Sums { gain, by: [slopes, means], .. } = &mut self.sums;
            gradient.copy_from_slice(&prospect.pull_back(x, slopes, means)?);
            gradient.iter_mut().for_each(|g| *g /= *gain);
        }
        Ok(self.sums.log_mean(self.shared.weights.len()))
    }

    fn add_weight_vectors(&mut self, prospect: &Prospect<'_>) -> Result<()> {
        let Self { shared, orders, sequence, combined, envelope, sums, .. } = self;
        // Where one objective moves, slopes are the same for all weight vectors, up to a factor.
        let common = match prospect.moved() {
            [objective] => Some((*objective, Slopes::new(prospect.slopes(0))?)),
            _ => None,
        };
        for &q in sequence.iter() {
            let (slopes, factor) = match common {
                Some((objective, slopes)) => (slopes, shared.factor(q, objective)),
                None => {
                    combine(shared, prospect, q, combined);
                    (Slopes::new(combined)?, 1.0)
                }
            };
            let own = match prospect.twin() {
                Some(twin) => shared.intercepts.row(q)[twin],
                None => shared.intercept(q, prospect.means()),
            };
            let gain = orders[q].gain(own, slopes, factor, envelope)?;
            if gain.scaled == 0.0 {
                continue;
            }
            let aligned = sums.align(gain.log_scale);
            sums.gain += aligned * gain.scaled;
            if self.wants_gradient {
                add_derivatives(shared, prospect, envelope, (q, aligned), sums);
            }
        }
        Ok(())
    }
}

/// Σ_k λ_k β_kj for weight vector q.
fn combine(shared: &Scalarised<'_>, prospect: &Prospect<'_>, q: usize, combined: &mut Vec<f64>) {
    combined.clear();
    combined.resize(shared.intercepts.dim(), 0.0);
    for (i, k) in prospect.moved().iter().enumerate() {
        let (factor, slopes) = (shared.factor(q, *k), prospect.slopes(i));
        combined.iter_mut().zip(slopes).for_each(|(sum, beta)| *sum += factor * beta);
    }
}

/// Adds the derivatives of the envelope's gain for weight vector q, times a factor.
fn add_derivatives(
    shared: &Scalarised<'_>,
    prospect: &Prospect<'_>,
    envelope: &Envelope,
    (q, aligned): (usize, f64),
    sums: &mut Sums<2>,
) {
    let lines = shared.intercepts.dim();
    for line in envelope.gradient() {
        for (i, k) in prospect.moved().iter().enumerate() {
            let factor = shared.factor(q, *k);
            sums.by[SLOPES][i * lines + line.line] += aligned * factor * line.slope;
        }
        if line.line == lines - 1 {
            for (k, sum) in sums.by[MEANS].iter_mut().enumerate() {
                *sum += aligned * line.intercept * shared.factor(q, k);
            }
        }
    }
}
