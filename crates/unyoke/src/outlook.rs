//! How an imagined evaluation moves beliefs about the designs that are compared.
//!
//! Measuring output m at x turns the mean of output k at design x'_j into μ_kj + β_kj Z with a standard
//! normal Z, β_kj = cov(f_k(x'_j), f_m(x))/√(var f_m(x) + noise), and leaves the variance s_kj² − β_kj².
//! What values an evaluation is a function of these numbers. With models of each output alone only
//! the measured output moves, with a joint model all outputs in it ([`Prospect`]). The candidate x is
//! one of the designs, the last.
//!
//! Where an output has a best possible value c, E min(f, c) counts in place of μ, and moves by β Z times
//! the probability that f is below c: the slope at Z = 0 is that of the expectation.

use crate::model::{Belief, Constraint, Joint, Model};
use std::cell::RefCell;
use std::rc::Rc;
use unyoke_math::censored::Censored;
use unyoke_math::coregional::set as coregional;
use unyoke_math::gp::{Adjoint, Candidate, Candidates, FixedSet, Prediction, Query};
use unyoke_math::{Points, Result, normal};

/// The designs among which the best is chosen after an imagined evaluation, as all models see them.
pub(crate) struct Compared<'a> {
    pub(crate) model: &'a Model,
    pub(crate) designs: Points,
    /// The first coordinate of each.
    firsts: Vec<f64>,
    /// For each objective alone, and for each constraint.
    pub(crate) objectives: Vec<FixedSet<'a>>,
    /// For each objective that has a best possible value, what counts of it at the designs.
    censored: Vec<Option<Vec<Censored>>>,
    /// For the objectives that are modelled together.
    joint: Option<coregional::FixedSet<'a>>,
    pub(crate) constraints: Vec<Bounded<'a>>,
}

/// The designs as the model of a constraint sees them.
pub(crate) struct Bounded<'a> {
    pub(crate) set: FixedSet<'a>,
    variances: Vec<f64>,
    limit: f64,
}

impl<'a> Bounded<'a> {
    fn new(constraint: &'a Constraint, designs: &Points) -> Result<Self> {
        let gp = &constraint.belief.gp;
        let variances = gp.predict_many(designs)?.iter().map(|p| p.variance).collect();
        Ok(Self { set: gp.fixed_set(designs)?, variances, limit: constraint.limit })
    }

    /// Where design j stands; the last is the candidate, which may be another one's twin.
    pub(crate) fn standing(&self, j: usize, outlook: &Outlook, twin: Option<usize>) -> Standing {
        let known = if j < self.variances.len() { Some(j) } else { twin };
        match known {
            Some(j) => self.standing_now(j),
            None => Standing::new(outlook.candidate.prediction(), self.limit),
        }
    }

    fn standing_now(&self, j: usize) -> Standing {
        let prediction = Prediction { mean: self.set.means()[j], variance: self.variances[j] };
        Standing::new(prediction, self.limit)
    }
}

/// How far a design is from the limit of a constraint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Standing {
    /// Expected value less the limit.
    margin: f64,
    variance: f64,
}

impl Standing {
    fn new(prediction: Prediction, limit: f64) -> Self {
        Self { margin: prediction.mean - limit, variance: prediction.variance }
    }

    /// Variance that remains after an observation that moves the mean by `slope` Z.
    pub(crate) fn rest(&self, slope: f64) -> f64 {
        // Not nothing: what is known exactly may still lie exactly at the limit.
        const LEAST: f64 = 1e-14;
        (self.variance - slope * slope).max(LEAST)
    }

    /// Standard deviations by which the limit is kept after the outcome Z = z.
    pub(crate) fn at(&self, slope: f64, z: f64) -> f64 {
        self.value(slope, z) / self.rest(slope).sqrt()
    }

    /// Expected value less the limit after the outcome Z = z.
    pub(crate) fn value(&self, slope: f64, z: f64) -> f64 {
        self.margin + slope * z
    }
}

impl<'a> Compared<'a> {
    pub(crate) fn new(model: &'a Model, designs: &Points) -> Result<Self> {
        let objectives = model.objectives.iter().map(|belief| belief.gp.fixed_set(designs));
        let constraints = model.constraints.iter().map(|one| Bounded::new(one, designs));
        let joint = model.joint.as_ref().map(|joint| joint.model.fixed_set(designs));
        let censored = model.objectives.iter().map(|belief| censored(belief, designs));
        Ok(Self {
            model,
            designs: designs.clone(),
            firsts: designs.rows().filter_map(|x| x.first().copied()).collect(),
            objectives: objectives.collect::<Result<_>>()?,
            censored: censored.collect::<Result<_>>()?,
            joint: joint.transpose()?,
            constraints: constraints.collect::<Result<_>>()?,
        })
    }

    /// Standardised means of objective k at the designs.
    pub(crate) fn means(&self, k: usize) -> Result<Vec<f64>> {
        let belief = &self.model.objectives[k];
        match belief.known.is_some() || belief.bound.is_some() {
            true => belief.means(&self.designs),
            false => Ok(self.modelled_means(k).to_vec()),
        }
    }

    /// The same of an objective that is no formula and has no best possible value.
    fn modelled_means(&self, k: usize) -> &[f64] {
        match self.joint.as_ref().zip(self.joint_output(k)) {
            Some((set, output)) => set.means(output),
            None => self.objectives[k].means(),
        }
    }

    /// Which output of the joint model objective k is, if it is one.
    fn joint_output(&self, k: usize) -> Option<usize> {
        self.model.joint.as_ref()?.objectives.iter().position(|objective| *objective == k)
    }

    /// The design of the set that `x` is, if any.
    ///
    /// The two lines of such a candidate must be one to the last bit: what rounding makes of their
    /// difference looks like a gain, and late in a study like the largest.
    pub(crate) fn twin(&self, x: &[f64]) -> Option<usize> {
        let is_twin = |design: &[f64]| design == x;
        // Without a branch for each design: hardly any candidate has one.
        match x.first() {
            Some(first) if !self.firsts.iter().fold(false, |any, v| any | (v == first)) => None,
            _ => self.designs.rows().position(is_twin),
        }
    }

    /// Feasibility of each design apart from the constraints `observed`, and room for the candidate.
    pub(crate) fn feasibility_apart_from(&self, observed: &[usize]) -> Result<Vec<f64>> {
        let mut base = vec![1.0; self.designs.len() + 1];
        let constraints = self.model.constraints.iter().zip(&self.constraints).enumerate();
        for (_, (constraint, set)) in constraints.filter(|(c, _)| !observed.contains(c)) {
            for (j, (f, x)) in base.iter_mut().zip(self.designs.rows()).enumerate() {
                *f *= match constraint.belief.known.is_some() {
                    true => constraint.likelihood(x, &mut Query::default())?,
                    false => normal::cdf(set.standing_now(j).at(0.0, 0.0)),
                };
            }
        }
        for runs in &self.model.runs {
            let factors = runs.factors(&self.designs)?;
            base.iter_mut().zip(factors).for_each(|(f, factor)| *f *= factor);
        }
        Ok(base)
    }
}

/// What counts of an objective at `designs`, if it has a best possible value.
fn censored(belief: &Belief, designs: &Points) -> Result<Option<Vec<Censored>>> {
    let Some(bound) = belief.bound else { return Ok(None) };
    let predictions = belief.gp.predict_many(designs)?;
    Ok(Some(predictions.into_iter().map(|p| Censored::new(p, bound)).collect()))
}

/// How measuring one output at a candidate would move its mean at all designs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Outlook {
    pub(crate) candidate: Candidate,
    /// Variance of the observation, with its noise.
    pub(crate) variance: f64,
    /// β_j; the candidate's own is last.
    pub(crate) slopes: Vec<f64>,
}

impl Outlook {
    /// Looks ahead from `x`, which may be one of the designs: its twin.
    pub(crate) fn look(
        &mut self,
        set: &FixedSet<'_>,
        x: &[f64],
        twin: Option<usize>,
    ) -> Result<()> {
        set.evaluate(x, &mut self.candidate)?;
        let own = self.candidate.prediction().variance;
        self.variance = own + set.noise();
        set_slopes(&mut self.slopes, self.candidate.covariances(), [own, self.variance], twin);
        Ok(())
    }

    /// The same from a candidate that was looked at together with others. There are no gradients then.
    fn look_at(&mut self, seen: &Candidates, number: usize, noise: f64, twin: Option<usize>) {
        let own = seen.prediction(number).variance;
        self.variance = own + noise;
        set_slopes(&mut self.slopes, seen.covariances(number), [own, self.variance], twin);
    }

    /// Whether there is nothing to learn: the value is known exactly.
    pub(crate) fn is_still(&self) -> bool {
        self.variance == 0.0
    }

    /// The gradient in x of a quantity with these derivatives in the slopes, which are used up, and
    /// in mean and variance at the candidate.
    ///
    /// β_j = k_j/√v with v = variance + noise, so ∂β_j/∂v = −β_j/2v; the candidate's own slope is
    /// variance/√v.
    pub(crate) fn pull_back(
        &self,
        set: &FixedSet<'_>,
        by_slopes: &mut [f64],
        [by_mean, mut by_variance]: [f64; 2],
    ) -> Result<Vec<f64>> {
        if self.is_still() {
            by_slopes.fill(0.0);
        } else {
            let deviation = self.variance.sqrt();
            let all: f64 = by_slopes.iter().zip(&self.slopes).map(|(b, beta)| b * beta).sum();
            by_slopes.iter_mut().for_each(|slope| *slope /= deviation);
            by_variance += by_slopes.last().unwrap_or(&0.0) - 0.5 * all / self.variance;
        }
        let covariances = &by_slopes[..set.len()];
        set.gradient(&self.candidate, Adjoint { mean: by_mean, variance: by_variance, covariances })
    }
}

/// β_j from the covariances with the designs, the variance of the candidate and that of its observation.
fn set_slopes(
    slopes: &mut Vec<f64>,
    covariances: &[f64],
    [own, variance]: [f64; 2],
    twin: Option<usize>,
) {
    let deviation = variance.sqrt();
    slopes.clear();
    if deviation == 0.0 {
        // Nothing to learn where the value is known exactly.
        slopes.resize(covariances.len() + 1, 0.0);
        return;
    }
    slopes.extend(covariances.iter().map(|k| k / deviation));
    slopes.push(twin.map_or(own / deviation, |twin| slopes[twin]));
}

/// What is wanted of a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// Values alone.
    Value,
    /// Gradients too.
    Gradient,
}

/// How measuring one objective at a candidate would move the means of all objectives, and what these
/// are at the candidate, whatever the model.
pub(crate) struct Prospect<'a> {
    compared: &'a Compared<'a>,
    /// The objective that is measured.
    measured: usize,
    /// The candidate, if all of this is about it, and what there is of it.
    at: Option<(Vec<f64>, Wanted)>,
    /// Candidates that were looked at in advance.
    ahead: Option<Ahead>,
    /// The objectives that move.
    moved: Vec<usize>,
    movement: Movement<'a>,
    twin: Option<usize>,
    /// Of all objectives at the candidate.
    means: Vec<f64>,
    /// Objectives that do not move, at the candidate.
    queries: Vec<Query>,
    /// For objectives that have a best possible value, what counts at the candidate.
    censored: Vec<Censored>,
    /// The slopes of the measured objective as far as they count, if it is one of these.
    counted: Vec<f64>,
    gathering: RefCell<Gathering>,
}

/// Whether derivatives are gathered in place of their gradients in x, and those that came last.
#[derive(Default)]
struct Gathering {
    is_on: bool,
    last: Option<Derivatives>,
}

/// Derivatives of a logarithm of a gain in the slopes, those of each moved objective after one another,
/// and in the means at the candidate.
#[derive(Default)]
pub(crate) struct Derivatives {
    slopes: Vec<f64>,
    means: Vec<f64>,
}

impl Derivatives {
    /// `self ← self + share · other`.
    pub(crate) fn add(&mut self, share: f64, other: &Self) {
        for (sum, terms) in [(&mut self.slopes, &other.slopes), (&mut self.means, &other.means)] {
            sum.resize(terms.len(), 0.0);
            sum.iter_mut().zip(terms).for_each(|(s, t)| *s += share * t);
        }
    }
}

/// Candidates that are looked at together, to be asked for in their order, of which values are wanted
/// only.
struct Ahead {
    points: Points,
    next: usize,
    seen: Seen,
    /// Of all objectives at each of them.
    means: Points,
}

/// The same as models see them.
enum Seen {
    One(Candidates),
    Several(coregional::Candidates),
}

/// A prospect that several acquisition functions look at in turn.
pub(crate) type SharedProspect<'a> = Rc<RefCell<Prospect<'a>>>;

/// What acquisition functions beside each other share: what the models say about a design is computed
/// once for all of them.
#[derive(Default)]
pub(crate) struct Beside<'a> {
    prospect: Option<SharedProspect<'a>>,
    /// Designs of which the values will be wanted, in this order.
    ahead: Option<Points>,
}

impl<'a> Beside<'a> {
    /// For functions whose values at these designs will be wanted, in this order.
    pub(crate) fn ahead_of(points: Points) -> Self {
        Self { prospect: None, ahead: Some(points) }
    }

    /// What is shared by the functions that came last, if anything is.
    pub(crate) fn shared(&self) -> Option<SharedProspect<'a>> {
        self.prospect.clone()
    }

    /// The prospect that is shared already if it is of the same designs and objective, else a new one,
    /// which then is.
    pub(crate) fn prospect(&mut self, compared: &'a Compared<'a>, m: usize) -> SharedProspect<'a> {
        let is_same = |other: &&SharedProspect<'a>| {
            let other = other.borrow();
            std::ptr::eq(other.compared, compared) && other.measured == m
        };
        if let Some(known) = self.prospect.as_ref().filter(is_same) {
            return known.clone();
        }
        let mut new = Prospect::new(compared, m);
        if let Some(points) = &self.ahead {
            // What cannot be computed for all of them may still be for some.
            new.ahead = new.look_ahead(points).ok();
        }
        let new = Rc::new(RefCell::new(new));
        self.prospect = Some(new.clone());
        new
    }
}

/// How a measurement moves beliefs.
enum Movement<'a> {
    /// Only what is measured.
    One(Box<Outlook>),
    /// All objectives of a joint model.
    Several(Box<JointOutlook<'a>>),
}

impl<'a> Prospect<'a> {
    /// For measuring objective `m`.
    pub(crate) fn new(compared: &'a Compared<'a>, m: usize) -> Self {
        let joint = compared.joint.as_ref().zip(compared.joint_output(m));
        let (moved, movement) = match (joint, &compared.model.joint) {
            (Some((set, output)), Some(joint)) => {
                let outlook = JointOutlook::new(set, output);
                (joint.objectives.clone(), Movement::Several(Box::new(outlook)))
            }
            _ => (vec![m], Movement::One(Box::default())),
        };
        let objectives = compared.model.objectives.len();
        Self {
            compared,
            measured: m,
            at: None,
            ahead: None,
            moved,
            movement,
            twin: None,
            means: vec![0.0; objectives],
            queries: vec![Query::default(); objectives],
            censored: vec![Censored::default(); objectives],
            counted: vec![],
            gathering: RefCell::default(),
        }
    }

    /// From now on pulling back leaves derivatives here, for whoever adds several of them up before
    /// their gradient is computed once.
    pub(crate) fn gather(&self) {
        *self.gathering.borrow_mut() = Gathering { is_on: true, last: None };
    }

    /// Ends that, and returns what was left here.
    pub(crate) fn gathered(&self) -> Option<Derivatives> {
        self.gathering.take().last
    }

    /// Looks at many candidates at once.
    fn look_ahead(&self, points: &Points) -> Result<Ahead> {
        let Compared { model, objectives, .. } = self.compared;
        let seen = match &self.movement {
            Movement::One(_) => Seen::One(objectives[self.measured].evaluate_many(points)?),
            Movement::Several(outlook) => {
                Seen::Several(outlook.set.evaluate_many(points, outlook.measured)?)
            }
        };
        let mut means = Points::zeros(model.objectives.len(), points.len());
        for (k, belief) in model.objectives.iter().enumerate() {
            let output = self.moved.iter().position(|moved| *moved == k);
            let output = output.filter(|_| belief.known.is_none());
            let column = match (output, &seen) {
                (None, _) => belief.means(points)?,
                (_, Seen::One(seen)) => {
                    (0..points.len()).map(|i| seen.prediction(i).mean).collect()
                }
                (Some(output), Seen::Several(seen)) => {
                    (0..points.len()).map(|i| seen.mean(output, i)).collect()
                }
            };
            column.iter().enumerate().for_each(|(i, mean)| means.row_mut(i)[k] = *mean);
        }
        Ok(Ahead { points: points.clone(), next: 0, seen, means })
    }

    /// The objective that is measured.
    pub(crate) fn measured(&self) -> usize {
        self.measured
    }

    /// The objectives that move.
    pub(crate) fn moved(&self) -> &[usize] {
        &self.moved
    }

    /// β_kj for the `i`-th objective that moves; the candidate's own is last.
    pub(crate) fn slopes(&self, i: usize) -> &[f64] {
        match &self.movement {
            Movement::One(_) if self.is_bounded(self.measured) => &self.counted,
            Movement::One(outlook) => &outlook.slopes,
            Movement::Several(outlook) => outlook.slopes.row(i),
        }
    }

    /// Means of all objectives at the candidate, standardised.
    pub(crate) fn means(&self) -> &[f64] {
        &self.means
    }

    /// The design of the set that the candidate is, if any.
    pub(crate) fn twin(&self) -> Option<usize> {
        self.twin
    }

    /// Whether there is nothing to learn: the value is known exactly.
    pub(crate) fn is_still(&self) -> bool {
        match &self.movement {
            Movement::One(outlook) => outlook.is_still(),
            Movement::Several(outlook) => outlook.variance == 0.0,
        }
    }

    /// Looks ahead from `x`; where it does so already there is nothing to do.
    pub(crate) fn look(&mut self, x: &[f64], wanted: Wanted) -> Result<()> {
        let is_known = |(at, known): &(Vec<f64>, Wanted)| {
            at == x && (*known == wanted || *known == Wanted::Gradient)
        };
        if self.at.as_ref().is_some_and(is_known) {
            return Ok(());
        }
        let (mut at, _) = self.at.take().unwrap_or((vec![], wanted));
        self.twin = self.compared.twin(x);
        let known = match wanted == Wanted::Value && self.was_seen(x) {
            true => Wanted::Value,
            false => self.look_anew(x, wanted)?,
        };
        if let Some(twin) = self.twin {
            for (k, belief) in self.compared.model.objectives.iter().enumerate() {
                if let Some(censored) = &self.compared.censored[k] {
                    self.censored[k] = censored[twin];
                    self.means[k] = censored[twin].mean;
                } else if belief.known.is_none() {
                    self.means[k] = self.compared.modelled_means(k)[twin];
                }
            }
        }
        self.count_slopes();
        at.clear();
        at.extend_from_slice(x);
        self.at = Some((at, known));
        Ok(())
    }

    fn is_bounded(&self, k: usize) -> bool {
        self.compared.censored[k].is_some()
    }

    /// The joint model, where what is measured is not in it.
    fn joint_beside(&self) -> Option<&'a Joint> {
        match &self.movement {
            Movement::One(_) => self.compared.model.joint.as_ref(),
            Movement::Several(_) => None,
        }
    }

    /// Takes what is predicted of objective k at the candidate, of which a best possible value counts at
    /// most.
    fn count(&mut self, k: usize, prediction: Prediction) {
        self.means[k] = prediction.mean;
        if let Some(bound) = self.compared.model.objectives[k].bound {
            self.censored[k] = Censored::new(prediction, bound);
            self.means[k] = self.censored[k].mean;
        }
    }

    /// The slopes of what is measured, as far as they count.
    fn count_slopes(&mut self) {
        let m = self.measured;
        if let (Some(censored), Movement::One(outlook)) =
            (&self.compared.censored[m], &self.movement)
        {
            let shares = censored.iter().chain([&self.censored[m]]).map(|one| one.share);
            self.counted.clear();
            self.counted.extend(outlook.slopes.iter().zip(shares).map(|(slope, p)| slope * p));
        }
    }

    /// Takes what is known of `x` from what was looked at in advance, if it is next there.
    fn was_seen(&mut self, x: &[f64]) -> bool {
        let Some(ahead) = &mut self.ahead else { return false };
        let number = ahead.next;
        if number >= ahead.points.len() || ahead.points.row(number) != x {
            return false;
        }
        ahead.next += 1;
        self.means.copy_from_slice(ahead.means.row(number));
        let mut own = None;
        match (&mut self.movement, &ahead.seen) {
            (Movement::One(outlook), Seen::One(seen)) => {
                let noise = self.compared.objectives[self.measured].noise();
                outlook.look_at(seen, number, noise, self.twin);
                own = Some(seen.prediction(number));
            }
            (Movement::Several(outlook), Seen::Several(seen)) => {
                outlook.look_at(seen, number, self.twin);
            }
            _ => return false,
        }
        if let Some(own) = own {
            self.count(self.measured, own);
        }
        true
    }

    /// Returns what is known then.
    fn look_anew(&mut self, x: &[f64], wanted: Wanted) -> Result<Wanted> {
        let Compared { model, objectives, .. } = self.compared;
        let known = match &mut self.movement {
            Movement::One(outlook) => {
                outlook.look(&objectives[self.moved[0]], x, self.twin)?;
                let prediction = outlook.candidate.prediction();
                self.count(self.measured, prediction);
                Wanted::Gradient
            }
            Movement::Several(outlook) => {
                outlook.look(x, wanted, self.twin)?;
                let means = outlook.candidate.query().means();
                self.moved.iter().zip(means).for_each(|(k, mean)| self.means[*k] = *mean);
                wanted
            }
        };
        if let Some(joint) = self.joint_beside() {
            let mut gradient = vec![0.0; x.len()];
            let factors = vec![0.0; model.objectives.len()];
            let found = joint.means_with_gradient(x, &factors, &mut gradient)?;
            joint.objectives.iter().zip(found).for_each(|(k, mean)| self.means[*k] = mean);
        }
        for (k, belief) in model.objectives.iter().enumerate() {
            if self.moved.contains(&k) || belief.joint.is_some() {
                continue;
            } else if belief.known.is_some() {
                self.means[k] = belief.predict(x)?.mean;
            } else if belief.bound.is_some() {
                belief.gp.query_into(x, &mut self.queries[k])?;
                self.count(k, self.queries[k].prediction());
            } else {
                self.means[k] = belief.gp.query_mean(x, &mut self.queries[k])?;
            }
        }
        Ok(known)
    }

    /// The gradient in x of the logarithm of a `gain` with these derivatives in the slopes, those of each
    /// moved objective after one another, which are used up, and in the means at the candidate. Nothing
    /// where they are gathered.
    pub(crate) fn pull_back(
        &self,
        x: &[f64],
        gain: f64,
        (by_slopes, by_means): (&mut [f64], &[f64]),
        gradient: &mut [f64],
    ) -> Result<()> {
        let mut gathering = self.gathering.borrow_mut();
        if gathering.is_on {
            let per_gain = |by: &[f64]| by.iter().map(|by| by / gain).collect();
            gathering.last =
                Some(Derivatives { slopes: per_gain(by_slopes), means: per_gain(by_means) });
            gradient.fill(0.0);
            return Ok(());
        }
        self.write_gradient(x, by_slopes, by_means, gradient)?;
        gradient.iter_mut().for_each(|g| *g /= gain);
        Ok(())
    }

    /// Adds the gradient in x of what has these derivatives.
    pub(crate) fn add_gradient(
        &self,
        x: &[f64],
        mut derivatives: Derivatives,
        gradient: &mut [f64],
    ) -> Result<()> {
        let mut own = vec![0.0; gradient.len()];
        let Derivatives { slopes, means } = &mut derivatives;
        self.write_gradient(x, slopes, means, &mut own)?;
        gradient.iter_mut().zip(own).for_each(|(g, own)| *g += own);
        Ok(())
    }

    fn write_gradient(
        &self,
        x: &[f64],
        by_slopes: &mut [f64],
        by_means: &[f64],
        gradient: &mut [f64],
    ) -> Result<()> {
        let of_moved = match &self.movement {
            Movement::One(outlook) => {
                let m = self.moved[0];
                let set = &self.compared.objectives[m];
                let by_own = self.pull_back_counted(outlook, by_slopes, by_means[m]);
                outlook.pull_back(set, by_slopes, by_own)?
            }
            Movement::Several(outlook) => {
                let by_means: Vec<f64> = self.moved.iter().map(|k| by_means[*k]).collect();
                outlook.pull_back(by_slopes, &by_means)?
            }
        };
        gradient.copy_from_slice(&of_moved);
        if let Some(joint) = self.joint_beside() {
            joint.means_with_gradient(x, by_means, gradient)?;
        }
        for (k, belief) in self.compared.model.objectives.iter().enumerate() {
            if self.moved.contains(&k) || belief.joint.is_some() || by_means[k] == 0.0 {
                continue;
            }
            if belief.known.is_some() {
                belief.mean_with_gradient(x, by_means[k], gradient)?;
            } else {
                let [by_mean, by_variance] = match belief.bound {
                    Some(_) => self.censored[k].mean_slopes().map(|slope| by_means[k] * slope),
                    None => [by_means[k], 0.0],
                };
                let slope = belief.gp.gradient(&self.queries[k], by_mean, by_variance);
                gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
            }
        }
        Ok(())
    }

    /// From derivatives in slopes as far as they count, and in the mean at the candidate, to those in the
    /// slopes of the model, and in mean and variance there.
    fn pull_back_counted(
        &self,
        outlook: &Outlook,
        by_slopes: &mut [f64],
        by_mean: f64,
    ) -> [f64; 2] {
        let Some(censored) = &self.compared.censored[self.measured] else {
            return [by_mean, 0.0];
        };
        let own = &self.censored[self.measured];
        let slope = |slopes: &[f64]| slopes.last().copied().unwrap_or(0.0);
        let by_share = slope(by_slopes) * slope(&outlook.slopes);
        let shares = censored.iter().chain([own]).map(|one| one.share);
        by_slopes.iter_mut().zip(shares).for_each(|(by, share)| *by *= share);
        let (mean, share) = (own.mean_slopes(), own.share_slopes());
        [0, 1].map(|i| by_mean * mean[i] + by_share * share[i])
    }
}

/// How measuring one output of a joint model at a candidate would move the means of all its outputs.
struct JointOutlook<'a> {
    set: &'a coregional::FixedSet<'a>,
    measured: usize,
    candidate: coregional::Candidate,
    /// Variance of the observation, with its noise.
    variance: f64,
    /// β_kj, a row per output; the candidate's own is last.
    slopes: Points,
}

impl<'a> JointOutlook<'a> {
    fn new(set: &'a coregional::FixedSet<'a>, measured: usize) -> Self {
        let slopes = Points::zeros(set.len() + 1, set.model().outputs());
        let candidate = coregional::Candidate::default();
        Self { set, measured, candidate, variance: 0.0, slopes }
    }

    fn noise(&self) -> f64 {
        self.set.model().noise(self.measured)
    }

    /// Looks ahead from `x`, which may be one of the designs: its twin.
    fn look(&mut self, x: &[f64], wanted: Wanted, twin: Option<usize>) -> Result<()> {
        let (set, m) = (self.set, self.measured);
        match wanted {
            Wanted::Value => set.evaluate_value(x, m, &mut self.candidate)?,
            Wanted::Gradient => set.evaluate(x, m, &mut self.candidate)?,
        }
        let query = self.candidate.query();
        self.variance = query.covariance(m, m) + self.noise();
        let own = |k: usize| query.covariance(k, m);
        set_joint_slopes(&mut self.slopes, self.candidate.covariances(), own, self.variance, twin);
        Ok(())
    }

    /// The same from a candidate that was looked at together with others. There are no gradients then.
    fn look_at(&mut self, seen: &coregional::Candidates, number: usize, twin: Option<usize>) {
        let own = |k: usize| seen.own_covariance(k, number);
        self.variance = own(self.measured) + self.noise();
        set_joint_slopes(&mut self.slopes, seen.covariances(number), own, self.variance, twin);
    }

    /// The gradient in x of a quantity with these derivatives in the slopes, row by row, and in the
    /// means at the candidate.
    fn pull_back(&self, by_slopes: &[f64], means: &[f64]) -> Result<Vec<f64>> {
        let lines = self.set.len() + 1;
        let (mut set, mut own) = (Vec::with_capacity(by_slopes.len()), vec![]);
        for row in by_slopes.chunks_exact(lines) {
            set.extend_from_slice(&row[..lines - 1]);
            own.push(row[lines - 1]);
        }
        let adjoint = coregional::StepsAdjoint { set: &set, own: &own, means };
        self.set.steps_gradient(&self.candidate, self.noise(), adjoint)
    }
}

/// β_kj of all outputs k from the covariances with the designs, those of the candidate's `own` values and
/// the variance of the observation.
fn set_joint_slopes(
    slopes: &mut Points,
    covariances: &[f64],
    own: impl Fn(usize) -> f64,
    variance: f64,
    twin: Option<usize>,
) {
    // Nothing to learn where the value is known exactly.
    let per_deviation = if variance > 0.0 { variance.sqrt().recip() } else { 0.0 };
    let designs = slopes.dim() - 1;
    for (k, covariances) in covariances.chunks_exact(designs).enumerate() {
        let row = slopes.row_mut(k);
        row.iter_mut().zip(covariances).for_each(|(slope, c)| *slope = c * per_deviation);
        row[designs] = twin.map_or(own(k) * per_deviation, |twin| row[twin]);
    }
}
