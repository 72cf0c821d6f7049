//! How an imagined evaluation moves beliefs about the designs that are compared.
//!
//! Measuring an output at x turns its mean at design x'_j into μ_j + β_j Z with a standard normal Z,
//! β_j = cov(f(x'_j), f(x))/√(var f(x) + noise), and leaves the variance s_j² − β_j². What values an
//! evaluation is a function of these numbers. The candidate x is one of the designs, the last.

use crate::model::{Constraint, Model};
use unyoke_math::gp::{Adjoint, Candidate, FixedSet, Prediction, Query};
use unyoke_math::{Points, Result, normal};

/// The designs among which the best is chosen after an imagined evaluation, as all models see them.
pub(crate) struct Compared<'a> {
    pub(crate) model: &'a Model,
    pub(crate) designs: Points,
    /// For each objective, and for each constraint.
    pub(crate) objectives: Vec<FixedSet<'a>>,
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
        (self.margin + slope * z) / self.rest(slope).sqrt()
    }
}

impl<'a> Compared<'a> {
    pub(crate) fn new(model: &'a Model, designs: &Points) -> Result<Self> {
        let objectives = model.objectives.iter().map(|belief| belief.gp.fixed_set(designs));
        let constraints = model.constraints.iter().map(|one| Bounded::new(one, designs));
        Ok(Self {
            model,
            designs: designs.clone(),
            objectives: objectives.collect::<Result<_>>()?,
            constraints: constraints.collect::<Result<_>>()?,
        })
    }

    /// Standardised means of objective k at the designs.
    pub(crate) fn means(&self, k: usize) -> Result<Vec<f64>> {
        let belief = &self.model.objectives[k];
        match belief.known.is_some() {
            true => belief.means(&self.designs),
            false => Ok(self.objectives[k].means().to_vec()),
        }
    }

    /// The design of the set that `x` is, if any.
    ///
    /// The two lines of such a candidate must be one to the last bit: what rounding makes of their
    /// difference looks like a gain, and late in a study like the largest.
    pub(crate) fn twin(&self, x: &[f64]) -> Option<usize> {
        self.designs.rows().position(|design| design == x)
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
        let deviation = self.variance.sqrt();
        self.slopes.clear();
        if deviation == 0.0 {
            // Nothing to learn where the value is known exactly.
            self.slopes.resize(set.len() + 1, 0.0);
            return Ok(());
        }
        self.slopes.extend(self.candidate.covariances().iter().map(|k| k / deviation));
        let own = own / deviation;
        self.slopes.push(twin.map_or(own, |twin| self.slopes[twin]));
        Ok(())
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
