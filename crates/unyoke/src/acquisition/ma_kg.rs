//! Multi-attribute knowledge gradient, Eq. (5)-(6): all objectives are observed at x.
//!
//! Two forms, named for what is imagined to be observed:
//!
//! - the *scalarised* observation λ · y, a single number, as in the published benchmark:
//!   b_j = Σ_k λ_k² k_k(x'_j, x)/√(Σ_k λ_k² (k_k(x, x) + σ_k²));
//! - the whole *vector* y, exactly: the utility of x'_j is a_j + Σ_k b_kj Z_k. The expectation over
//!   one Z is in closed form, over the others by nodes.
//!
//! At a node z the lines are compared with that of the design that is best now, j*:
//! c_j(z) = (a_j − a_j*) + Σ_k (b_kj − b_kj*) z_k. What the node adds is max_j c_j(z), which is not
//! negative since c_j* = 0, and the gain of the remaining Z over that maximum, a sum of non-negative
//! terms. No two maxima are subtracted, and everything is carried in log form.

use super::{Acquisition, Evaluator, Scalarised, Sums};
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
    /// Lines: the covariance of each objective with each line's design, objective by objective.
    sums: Sums,
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
        self.sums.clear(objectives * lines, objectives);
        for q in 0..self.acquisition.shared.weights.len() {
            match self.acquisition.observation {
                Observation::Scalarised => self.add_scalarised(q)?,
                Observation::Vector => self.add_vector(q)?,
            }
        }
        if let Some(gradient) = gradient {
            self.write_gradient(gradient)?;
        }
        Ok(self.sums.log_mean(self.acquisition.shared.weights.len()))
    }

    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        let shared = &self.acquisition.shared;
        for (k, candidate) in self.candidates.iter_mut().enumerate() {
            shared.sets[k].evaluate(x, candidate)?;
            let noise = shared.surrogate.objectives[k].gp.noise();
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
        if gain.scaled == 0.0 {
            return Ok(());
        }
        let aligned = self.sums.align(gain.log_scale);
        self.sums.gain += aligned * gain.scaled;
        for line in self.envelope.gradient() {
            let slope = aligned * line.slope;
            for (k, square) in squares.iter().enumerate() {
                self.sums.lines[k * lines + line.line] += slope * square / deviation;
                self.sums.variances[k] -= 0.5 * slope * self.slopes[line.line] * square / total;
                if line.line == lines - 1 {
                    let factor = self.acquisition.shared.factor(q, k);
                    self.sums.means[k] += aligned * line.intercept * factor;
                }
            }
        }
        Ok(())
    }

    /// E max_j (a_j + Σ_k b_kj Z_k) − a_j*, one Z in closed form at each node of the others.
    fn add_vector(&mut self, q: usize) -> Result<()> {
        let outlook = self.outlook(q);
        let lines = self.intercepts.dim();
        let best = highest(self.intercepts.row(q));
        self.order.sort(&outlook.slopes[outlook.inner])?;
        let mut raised = vec![0.0; lines];
        let nodes = &self.acquisition.nodes;
        for (z, weight) in nodes.points.rows().zip(&nodes.weights) {
            let node = Node { z, weight: *weight };
            for (j, c) in raised.iter_mut().enumerate() {
                let base = self.intercepts.row(q);
                let slope = |k: usize| outlook.slopes[k][j] - outlook.slopes[k][best];
                let moved = z.iter().zip(&outlook.outer).map(|(z, k)| z * slope(*k));
                *c = base[j] - base[best] + moved.sum::<f64>();
            }
            let top = highest(&raised);
            if raised[top] > NO_RISE {
                let unit = self.sums.align(raised[top].ln()) * node.weight;
                self.sums.gain += unit;
                self.share(&outlook, &node, top, unit / raised[top], 0.0);
                self.share(&outlook, &node, best, -unit / raised[top], 0.0);
            }
            let gain = self.order.gain(&raised, 1.0, &mut self.envelope)?;
            if gain.scaled > 0.0 {
                let unit = self.sums.align(gain.log_scale) * node.weight;
                self.sums.gain += unit * gain.scaled;
                let envelope = std::mem::take(&mut self.envelope);
                for line in envelope.gradient() {
                    let (intercept, slope) = (unit * line.intercept, unit * line.slope);
                    self.share(&outlook, &node, line.line, intercept, slope);
                }
                self.envelope = envelope;
            }
        }
        Ok(())
    }

    /// How the observation of every objective would move the lines of weight vector `q`.
    fn outlook(&self, q: usize) -> Outlook {
        let (lines, objectives) = (self.intercepts.dim(), self.candidates.len());
        let factors: Vec<f64> =
            (0..objectives).map(|k| self.acquisition.shared.factor(q, k)).collect();
        let deviations: Vec<f64> = self.variances.iter().map(|v| v.sqrt()).collect();
        let slope = |k: usize, j: usize| match deviations[k] {
            0.0 => 0.0,
            deviation => factors[k] * self.covariance(k, j) / deviation,
        };
        let slopes = (0..objectives).map(|k| (0..lines).map(|j| slope(k, j)).collect()).collect();
        // The closed form goes to the objective that moves the lines most: what is left to the
        // nodes is then as smooth as it can be.
        let moves: Vec<f64> = (0..objectives).map(|k| factors[k] * deviations[k]).collect();
        let inner = highest(&moves);
        let outer = (0..objectives).filter(|k| *k != inner).collect();
        Outlook { factors, deviations, slopes, inner, outer }
    }

    /// Adds the derivatives of a gain whose derivatives in line j's intercept and inner slope these
    /// are.
    fn share(&mut self, outlook: &Outlook, node: &Node<'_>, j: usize, intercept: f64, slope: f64) {
        let lines = self.intercepts.dim();
        let Outlook { factors, deviations, slopes, inner, outer } = outlook;
        let outer = outer.iter().zip(node.z).map(|(k, z)| (*k, intercept * z));
        for (k, by_slope) in std::iter::once((*inner, slope)).chain(outer) {
            if deviations[k] > 0.0 {
                self.sums.lines[k * lines + j] += by_slope * factors[k] / deviations[k];
                self.sums.variances[k] -= 0.5 * by_slope * slopes[k][j] / self.variances[k];
            }
        }
        if j == lines - 1 {
            self.sums.means.iter_mut().zip(factors).for_each(|(sum, f)| *sum += intercept * f);
        }
    }

    fn write_gradient(&mut self, gradient: &mut [f64]) -> Result<()> {
        gradient.fill(0.0);
        let (shared, lines) = (&self.acquisition.shared, self.intercepts.dim());
        for (k, candidate) in self.candidates.iter().enumerate() {
            // The candidate's own line moves with its variance.
            let (covariances, own) = self.sums.lines[k * lines..][..lines].split_at(lines - 1);
            let variance = self.sums.variances[k] + own[0];
            let adjoint = Adjoint { mean: self.sums.means[k], variance, covariances };
            let slope = shared.sets[k].gradient(candidate, adjoint)?;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s / self.sums.gain);
        }
        Ok(())
    }
}

/// Below this a rise of the best line is none: its inverse would not be a number.
const NO_RISE: f64 = 1e-290;

/// How observing every objective would move the lines, for one weight vector.
struct Outlook {
    /// λ_k in the unit of objective k.
    factors: Vec<f64>,
    /// Standard deviation of each observation.
    deviations: Vec<f64>,
    /// b_kj, objective by objective.
    slopes: Vec<Vec<f64>>,
    /// The objective whose Z is in closed form, and those left to the nodes.
    inner: usize,
    outer: Vec<usize>,
}

/// One node of an expectation.
struct Node<'a> {
    z: &'a [f64],
    weight: f64,
}

/// Index of the largest value, the first of equals.
fn highest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, j| if values[j] > values[best] { j } else { best })
}
