//! Multi-attribute knowledge gradient, Eq. (5)-(6): all objectives are observed at x.
//!
//! Two forms, named for what is imagined to be observed:
//!
//! - the *scalarised* observation λ · y, a single number, as in the published benchmark:
//!   b_j = Σ_k λ_k² k_k(x'_j, x)/√(Σ_k λ_k² (k_k(x, x) + σ_k²));
//! - the whole *vector* y, exactly: the utility of x'_j is a_j + Σ_k b_kj Z_k. The expectation over
//!   one Z is in closed form, over the others by nodes.

use super::{Acquisition, Evaluator, Scalarised};
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::gp::{Adjoint, Candidate};
use unyoke_math::{Points, Result, normal, sobol};

/// What is imagined to be observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Observation {
    /// The weighted sum of the objectives.
    Scalarised,
    /// Every objective.
    Vector,
}

/// maKG over the weight vectors of a step.
pub(crate) struct MaKg<'a> {
    shared: Scalarised<'a>,
    observation: Observation,
    nodes: Nodes,
}

impl<'a> MaKg<'a> {
    pub(crate) fn new(shared: Scalarised<'a>, observation: Observation) -> Result<Self> {
        let nodes = Nodes::new(shared.objectives().saturating_sub(1))?;
        Ok(Self { shared, observation, nodes })
    }

    /// With many nodes, for comparison with exact figures.
    #[cfg(test)]
    pub(crate) fn with_intervals(shared: Scalarised<'a>, intervals: usize) -> Result<Self> {
        Ok(Self { shared, observation: Observation::Vector, nodes: Nodes::trapezoid(intervals)? })
    }
}

impl Acquisition for MaKg<'_> {
    fn options(&self) -> usize {
        1
    }

    fn evaluator(&self, _option: usize) -> Evaluator<'_> {
        let mut work = Work::new(self);
        Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
    }
}

/// Nodes and weights for an expectation over independent standard normals.
struct Nodes {
    points: Points,
    weights: Vec<f64>,
}

/// Nodes for one normal, by the trapezoidal rule from −8 to 8, and for several, by Sobol' points.
const NODES: usize = 64;
const QMC_NODES: usize = 128;

impl Nodes {
    /// The usual number of nodes for an expectation over this many normals.
    fn new(normals: usize) -> Result<Self> {
        match normals {
            0 => Self::sobol(0, 1),
            1 => Self::trapezoid(NODES),
            _ => Self::sobol(normals, QMC_NODES),
        }
    }

    fn trapezoid(intervals: usize) -> Result<Self> {
        let step = 16.0 / intervals as f64;
        let nodes = (0..=intervals).map(|i| -8.0 + step * i as f64);
        let weights: Vec<f64> = nodes.clone().map(|z| step * normal::pdf(z)).collect();
        Ok(Self { points: Points::from_rows(1, nodes.map(|z| [z]))?, weights })
    }

    fn sobol(normals: usize, count: usize) -> Result<Self> {
        let points = sobol::normals(normals, count, 0)?;
        Ok(Self { points, weights: vec![1.0 / count as f64; count] })
    }
}

/// An evaluator with its buffers.
struct Work<'a> {
    acquisition: &'a MaKg<'a>,
    intercepts: Points,
    candidates: Vec<Candidate>,
    /// The design of the set that the candidate is, if any.
    twin: Option<usize>,
    /// Per objective: noise-inclusive variance of the imagined observation.
    variances: Vec<f64>,
    slopes: Vec<f64>,
    order: SlopeOrder,
    envelope: Envelope,
    sums: Sums,
}

/// Sums over weight vectors: the gain and its derivatives in what the models say about x.
#[derive(Default)]
struct Sums {
    gain: f64,
    covariances: Vec<Vec<f64>>,
    variances: Vec<f64>,
    means: Vec<f64>,
}

impl<'a> Work<'a> {
    fn new(acquisition: &'a MaKg<'a>) -> Self {
        let shared = &acquisition.shared;
        Self {
            acquisition,
            intercepts: shared.intercepts.clone(),
            candidates: vec![Candidate::default(); shared.objectives()],
            twin: None,
            variances: vec![0.0; shared.objectives()],
            slopes: Vec::new(),
            order: SlopeOrder::default(),
            envelope: Envelope::default(),
            sums: Sums::default(),
        }
    }

    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.place_candidate(x)?;
        let (lines, objectives) = (self.intercepts.dim(), self.candidates.len());
        self.sums = Sums {
            gain: 0.0,
            covariances: vec![vec![0.0; lines - 1]; objectives],
            variances: vec![0.0; objectives],
            means: vec![0.0; objectives],
        };
        for q in 0..self.acquisition.shared.weights.len() {
            match self.acquisition.observation {
                Observation::Scalarised => self.add_scalarised(q)?,
                Observation::Vector => self.add_vector(q)?,
            }
        }
        if let Some(gradient) = gradient {
            self.write_gradient(gradient)?;
        }
        let count = self.acquisition.shared.weights.len() as f64;
        Ok((self.sums.gain.max(0.0) / count).ln())
    }

    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        let shared = &self.acquisition.shared;
        for (k, candidate) in self.candidates.iter_mut().enumerate() {
            shared.sets[k].evaluate(x, candidate)?;
            let noise = shared.surrogate.outputs[k].gp.noise();
            self.variances[k] = candidate.prediction().variance + noise;
        }
        self.twin = shared.twin(x);
        let last = self.intercepts.dim() - 1;
        for q in 0..shared.weights.len() {
            let mean = |k: usize| shared.factor(q, k) * self.candidates[k].prediction().mean;
            let own = || (0..self.candidates.len()).map(mean).sum();
            let row = self.intercepts.row_mut(q);
            row[last] = self.twin.map_or_else(own, |twin| row[twin]);
        }
        Ok(())
    }

    /// Covariance of objective k between x and line j's design; the last line is x itself.
    fn covariance(&self, k: usize, j: usize) -> f64 {
        let candidate = &self.candidates[k];
        let known = |j: usize| candidate.covariances().get(j).copied();
        let own = || self.twin.and_then(known).unwrap_or(candidate.prediction().variance);
        known(j).unwrap_or_else(own)
    }

    fn add_scalarised(&mut self, q: usize) -> Result<()> {
        let squares: Vec<f64> = (0..self.candidates.len())
            .map(|k| self.acquisition.shared.factor(q, k).powi(2))
            .collect();
        let total: f64 = squares.iter().zip(&self.variances).map(|(s, v)| s * v).sum();
        if total == 0.0 {
            return Ok(());
        }
        let deviation = total.sqrt();
        let lines = self.intercepts.dim();
        let slope = |j: usize| {
            let sum: f64 = squares.iter().enumerate().map(|(k, s)| s * self.covariance(k, j)).sum();
            sum / deviation
        };
        self.slopes = (0..lines).map(slope).collect();
        self.order.sort(&self.slopes)?;
        let gain = self.order.gain(self.intercepts.row(q), 1.0, &mut self.envelope)?;
        let unit = gain.log_scale.exp();
        self.sums.gain += gain.value();
        for line in self.envelope.gradient() {
            let (intercept, slope) = (unit * line.intercept, unit * line.slope);
            for (k, square) in squares.iter().enumerate() {
                let by_covariance = slope * square / deviation;
                match self.sums.covariances[k].get_mut(line.line) {
                    Some(sum) => *sum += by_covariance,
                    None => {
                        self.sums.variances[k] += by_covariance;
                        self.sums.means[k] += intercept * self.acquisition.shared.factor(q, k);
                    }
                }
                self.sums.variances[k] -= 0.5 * slope * self.slopes[line.line] * square / total;
            }
        }
        Ok(())
    }

    /// E max_j (a_j + Σ_k b_kj Z_k) − max_j a_j, one Z in closed form at each node of the others.
    fn add_vector(&mut self, q: usize) -> Result<()> {
        let (lines, objectives) = (self.intercepts.dim(), self.candidates.len());
        let factors: Vec<f64> =
            (0..objectives).map(|k| self.acquisition.shared.factor(q, k)).collect();
        let deviations: Vec<f64> = self.variances.iter().map(|v| v.sqrt()).collect();
        let slope = |k: usize, j: usize| match deviations[k] {
            0.0 => 0.0,
            deviation => factors[k] * self.covariance(k, j) / deviation,
        };
        let slopes: Vec<Vec<f64>> =
            (0..objectives).map(|k| (0..lines).map(|j| slope(k, j)).collect()).collect();
        // The closed form goes to the objective that moves the lines most: what is left to the
        // nodes is then as smooth as it can be.
        let moves: Vec<f64> = (0..objectives).map(|k| factors[k] * deviations[k]).collect();
        let inner = highest(&moves);
        let outer: Vec<usize> = (0..objectives).filter(|k| *k != inner).collect();
        let base = self.intercepts.row(q).to_vec();
        let best = highest(&base);
        let mut shifted = base.clone();
        // Derivatives in a_j, and in b_kj.
        let mut by_intercept = vec![0.0; lines];
        let mut by_slope = vec![vec![0.0; lines]; objectives];
        self.order.sort(&slopes[inner])?;
        let nodes = &self.acquisition.nodes;
        for (z, weight) in nodes.points.rows().zip(&nodes.weights) {
            for j in 0..lines {
                let moved = z.iter().zip(&outer).map(|(z, k)| z * slopes[*k][j]);
                shifted[j] = base[j] + moved.sum::<f64>();
            }
            let gain = self.order.gain(&shifted, 1.0, &mut self.envelope)?;
            let top = highest(&shifted);
            self.sums.gain += weight * (shifted[top] - base[best] + gain.value());
            let unit = gain.log_scale.exp();
            let mut share = |j: usize, intercept: f64, slope: f64| {
                by_intercept[j] += weight * intercept;
                by_slope[inner][j] += weight * slope;
                for (z, k) in z.iter().zip(&outer) {
                    by_slope[*k][j] += weight * intercept * z;
                }
            };
            share(top, 1.0, 0.0);
            for line in self.envelope.gradient() {
                share(line.line, unit * line.intercept, unit * line.slope);
            }
        }
        by_intercept[best] -= 1.0;
        for k in 0..objectives {
            self.sums.means[k] += by_intercept[lines - 1] * factors[k];
            if deviations[k] == 0.0 {
                continue;
            }
            let per_covariance = factors[k] / deviations[k];
            for j in 0..lines {
                let by_covariance = by_slope[k][j] * per_covariance;
                match self.sums.covariances[k].get_mut(j) {
                    Some(sum) => *sum += by_covariance,
                    None => self.sums.variances[k] += by_covariance,
                }
                self.sums.variances[k] -= 0.5 * by_slope[k][j] * slopes[k][j] / self.variances[k];
            }
        }
        Ok(())
    }

    fn write_gradient(&mut self, gradient: &mut [f64]) -> Result<()> {
        gradient.fill(0.0);
        let shared = &self.acquisition.shared;
        for (k, candidate) in self.candidates.iter().enumerate() {
            let adjoint = Adjoint {
                mean: self.sums.means[k],
                variance: self.sums.variances[k],
                covariances: &self.sums.covariances[k],
            };
            let slope = shared.sets[k].gradient(candidate, adjoint)?;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s / self.sums.gain);
        }
        Ok(())
    }
}

/// Index of the largest value, the first of equals.
fn highest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, j| if values[j] > values[best] { j } else { best })
}
