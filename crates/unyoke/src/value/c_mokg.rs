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
use super::{Acquisition, Evaluator, Kinked, Scalarised};
use crate::choices::Choice;
use crate::model::{Model, Place};
use crate::outlook::{Beside, Prospect, SharedProspect, Wanted};
use unyoke_math::Result;
use unyoke_math::envelope::{Envelopes, Gain, HeightOrder, Slopes};
use unyoke_math::kinked::Kinks;
use unyoke_math::success::Success;

/// C-MOKG over the weight vectors of a step; one weight vector makes it the random form.
pub(crate) struct CMokg<'a> {
    shared: Scalarised<'a>,
    options: Vec<Form>,
    /// The order of the compared designs by utility, for each weight vector.
    orders: Vec<HeightOrder>,
    /// For each objective that is measured alone.
    near: Vec<Option<Near>>,
    /// For each option, where its runs succeed, if they may fail.
    successes: Vec<Vec<&'a Success>>,
}

/// What may happen when an objective is measured, but for outcomes further than [`REACH`] standard
/// deviations away.
struct Near {
    /// Designs that may then be best, by utility, for each weight vector. Where several objectives move
    /// together, all.
    orders: Option<Vec<HeightOrder>>,
    /// Log of the gain below which outcomes that far away may count all the same.
    least: f64,
}

/// Beyond so many standard deviations an outcome has a density of 2e-32.
const REACH: f64 = 12.0;

impl Near {
    fn new(shared: &Scalarised<'_>, m: usize, orders: &[HeightOrder]) -> Self {
        let model = shared.model();
        let moved: Vec<usize> = match (&model.joint, &model.objectives[m].joint) {
            (Some(joint), Some(_)) => joint.objectives.clone(),
            _ => vec![m],
        };
        // No slope is steeper than this.
        let steepest = |q: usize| {
            let slopes = moved.iter().map(|k| {
                let prior = shared.compared.objectives[*k].prior_variance();
                // Of a joint model that may be another one, but hardly so much.
                shared.factor(q, *k) * if moved.len() > 1 { prior.max(100.0) } else { prior }.sqrt()
            });
            slopes.sum::<f64>()
        };
        let most = (0..orders.len()).map(steepest).fold(0.0, f64::max);
        // All that may be left out, f(−12) = 1.5e-34 of it for each design, is less than 1e-16 of the gain.
        let lines = (shared.compared.designs.len() * orders.len()) as f64;
        let least = (2.0 * most * lines * 1e-18).ln();
        // Where an objective has a best possible value, slopes of its model are not all there is to lines.
        let objective = &model.objectives[m];
        let alone = moved.len() == 1 && objective.known.is_none() && objective.bound.is_none();
        Self { orders: alone.then(|| Self::orders(shared, m, orders)), least }
    }

    fn orders(shared: &Scalarised<'_>, m: usize, orders: &[HeightOrder]) -> Vec<HeightOrder> {
        let set = &shared.compared.objectives[m];
        let variances = set.difference_variances();
        // What rounding may have made of the differences.
        let margin = 1e-10 * set.prior_variance();
        let near = |(q, order): (usize, &HeightOrder)| {
            let factor = shared.factor(q, m).powi(2);
            order.within_reach(REACH, |i, j| factor * (variances.get(i, j) + margin))
        };
        orders.iter().enumerate().map(near).collect()
    }
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
        let options: Vec<Form> = choices.iter().map(form).collect::<Result<_>>()?;
        let successes = successes(shared.model(), choices);
        let orders = orders(&shared)?;
        let near = (0..shared.objectives()).map(|m| {
            let is_measured =
                options.iter().any(|form| matches!(form, Form::One(one) if *one == m));
            is_measured.then(|| Near::new(&shared, m, &orders))
        });
        Ok(Self { near: near.collect(), shared, options, orders, successes })
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
        Self { shared, options, orders: vec![], near: vec![], successes: vec![vec![]] }
    }

    /// Each objective alone.
    pub(crate) fn one_by_one(shared: Scalarised<'a>) -> Self {
        let options: Vec<Form> = (0..shared.objectives()).map(Form::One).collect();
        let successes = vec![vec![]; options.len()];
        let orders = orders(&shared).unwrap();
        let near = (0..shared.objectives()).map(|m| Some(Near::new(&shared, m, &orders))).collect();
        Self { shared, options, orders, near, successes }
    }
}

impl Acquisition for CMokg<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        self.evaluator_beside(option, &mut Beside::default())
    }

    fn evaluator_beside<'s>(&'s self, option: usize, beside: &mut Beside<'s>) -> Evaluator<'s> {
        let gain: Evaluator<'_> = match &self.options[option] {
            Form::One(objective) => {
                let compared = &self.shared.compared;
                let prospect = beside.prospect(compared, *objective);
                let mut work = Work::new(self, prospect);
                Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
            }
            Form::Several(observed) => vector::evaluator(&self.shared, observed),
        };
        unless_it_fails(gain, &self.successes[option])
    }

    fn kinked(&self, option: usize) -> Option<Kinked<'_>> {
        let Form::One(objective) = self.options[option] else { return None };
        if !self.successes[option].is_empty() {
            return None;
        }
        let prospect = Beside::default().prospect(&self.shared.compared, objective);
        let mut work = Work::new(self, prospect);
        Some(Box::new(move |x, gradient, kinks| {
            let value = work.evaluate(x, Some(gradient)).unwrap_or(f64::NEG_INFINITY);
            match work.add_kinks(x, value, kinks) {
                Ok(()) => value,
                Err(_) => f64::NEG_INFINITY,
            }
        }))
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

/// One objective's evaluator with its buffers.
struct Work<'a> {
    shared: &'a Scalarised<'a>,
    orders: &'a [HeightOrder],
    near: Option<&'a Near>,
    prospect: SharedProspect<'a>,
    /// The weight vectors in the order in which they are added up.
    sequence: Vec<usize>,
    /// Σ_k λ_k β_kj, where several objectives move.
    combined: Vec<f64>,
    envelopes: Envelopes,
    /// Derivatives in β_kj of each line, moved objective by moved objective, and in the means at x.
    by_slopes: Vec<f64>,
    by_means: Vec<f64>,
    /// Gradients of the means of all objectives at x, one after the other, and of one utility.
    mean_gradients: Vec<f64>,
    normal: Vec<f64>,
}

impl<'a> Work<'a> {
    fn new(c_mokg: &'a CMokg<'_>, prospect: SharedProspect<'a>) -> Self {
        let shared = &c_mokg.shared;
        let mut sequence: Vec<usize> = (0..shared.weights.len()).collect();
        if let [first, _, ..] = prospect.borrow().moved() {
            let weight = |q: usize| shared.weights.row(q)[*first];
            sequence.sort_by(|a, b| weight(*a).total_cmp(&weight(*b)));
        }
        let near = c_mokg.near[prospect.borrow().measured()].as_ref();
        Self {
            shared,
            orders: &c_mokg.orders,
            near,
            prospect,
            sequence,
            combined: vec![],
            envelopes: Envelopes::default(),
            by_slopes: vec![],
            by_means: vec![],
            mean_gradients: vec![],
            normal: vec![],
        }
    }

    /// Log of the gain at `x`, averaged over the weight vectors.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        let prospect = self.prospect.clone();
        let wanted = if gradient.is_some() { Wanted::Gradient } else { Wanted::Value };
        prospect.borrow_mut().look(x, wanted)?;
        let prospect = &*prospect.borrow();
        if prospect.is_still() {
            return Ok(f64::NEG_INFINITY);
        }
        let gain = self.gain(prospect)?;
        if let Some(gradient) = gradient {
            self.add_up_derivatives(prospect);
            let by = (&mut self.by_slopes[..], &self.by_means[..]);
            prospect.pull_back(x, gain.scaled, by, gradient)?;
        }
        Ok(gain.log_scale + (gain.scaled / self.shared.weights.len() as f64).ln())
    }

    /// Where the candidate is about to become better than all that it is compared with.
    fn add_kinks(&mut self, x: &[f64], log_gain: f64, kinks: &mut Kinks) -> Result<()> {
        let prospect = self.prospect.borrow();
        let Self { shared, mean_gradients, normal, .. } = self;
        let weight = (-log_gain).exp() / shared.weights.len() as f64;
        if !weight.is_finite() {
            return Ok(());
        }
        mean_gradients.clear();
        mean_gradients.resize(shared.objectives() * x.len(), 0.0);
        for (k, gradient) in mean_gradients.chunks_exact_mut(x.len()).enumerate() {
            shared.model().objectives[k].mean_with_gradient(x, 1.0, gradient)?;
        }
        for (q, order) in self.orders.iter().enumerate() {
            normal.clear();
            normal.resize(x.len(), 0.0);
            for (k, gradient) in mean_gradients.chunks_exact(x.len()).enumerate() {
                let factor = shared.factor(q, k);
                normal.iter_mut().zip(gradient).for_each(|(n, s)| *n += factor * s);
            }
            kinks.add(own(shared, &prospect, q) - order.highest(), weight, normal);
        }
        Ok(())
    }

    /// The sum of the gains for all weight vectors.
    fn gain(&mut self, prospect: &Prospect<'_>) -> Result<Gain> {
        if let Some(Near { orders, least }) = self.near {
            self.find_envelopes(prospect, orders.as_deref().unwrap_or(self.orders), REACH)?;
            let gain = self.envelopes.gain();
            if gain.log() > *least {
                return Ok(gain);
            }
        }
        self.find_envelopes(prospect, self.orders, f64::INFINITY)?;
        Ok(self.envelopes.gain())
    }

    fn find_envelopes(
        &mut self,
        prospect: &Prospect<'_>,
        orders: &[HeightOrder],
        reach: f64,
    ) -> Result<()> {
        let Self { shared, sequence, combined, envelopes, .. } = self;
        envelopes.start(reach);
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
            envelopes.add(&orders[q], own(shared, prospect, q), slopes, factor)?;
        }
        Ok(())
    }

    fn add_up_derivatives(&mut self, prospect: &Prospect<'_>) {
        let Self { shared, sequence, envelopes, by_slopes, by_means, .. } = self;
        let lines = shared.intercepts.dim();
        by_slopes.clear();
        by_slopes.resize(prospect.moved().len() * lines, 0.0);
        by_means.clear();
        by_means.resize(shared.objectives(), 0.0);
        for line in envelopes.gradient() {
            let q = sequence[line.family];
            for (i, k) in prospect.moved().iter().enumerate() {
                by_slopes[i * lines + line.line] += shared.factor(q, *k) * line.slope;
            }
            if line.own_intercept != 0.0 {
                for (k, sum) in by_means.iter_mut().enumerate() {
                    *sum += line.own_intercept * shared.factor(q, k);
                }
            }
        }
    }
}

/// What the candidate is worth now, for weight vector q.
fn own(shared: &Scalarised<'_>, prospect: &Prospect<'_>, q: usize) -> f64 {
    match prospect.twin() {
        Some(twin) => shared.intercepts.row(q)[twin],
        None => shared.intercept(q, prospect.means()),
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
