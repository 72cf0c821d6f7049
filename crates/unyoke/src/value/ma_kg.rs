//! Multi-attribute knowledge gradient as in the published benchmark, Eq. (5)-(6): all objectives are
//! observed at x, and what is imagined of that is the *scalarised* observation λ · y, a single number:
//! b_j = Σ_k λ_k² k_k(x'_j, x)/√(Σ_k λ_k² (k_k(x, x) + σ_k²)).
//!
//! The observation of the whole vector, exactly, is in `vector.rs`.

use super::{Acquisition, Evaluator, Scalarised, Sums};
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::gp::{Adjoint, Candidate};
use unyoke_math::{Points, Result};

/// maKG over the weight vectors of a step.
pub(crate) struct MaKg<'a> {
    shared: Scalarised<'a>,
}

impl<'a> MaKg<'a> {
    pub(crate) fn new(shared: Scalarised<'a>) -> Self {
        Self { shared }
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

/// Groups of derivatives: in the covariance of each objective with each line's design, objective by
/// objective, in the variance of each objective's observation, and in the means at x.
const COVARIANCES: usize = 0;
const VARIANCES: usize = 1;
const MEANS: usize = 2;

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
    sums: Sums<3>,
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
        self.sums.clear([objectives * lines, objectives, objectives]);
        for q in 0..self.acquisition.shared.weights.len() {
            self.add_weight_vector(q)?;
        }
        if let Some(gradient) = gradient {
            self.write_gradient(gradient)?;
        }
        Ok(self.sums.log_mean(self.acquisition.shared.weights.len()))
    }

    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        let shared = &self.acquisition.shared;
        for (k, candidate) in self.candidates.iter_mut().enumerate() {
            shared.compared.objectives[k].evaluate(x, candidate)?;
            let noise = shared.model().objectives[k].gp.noise();
            self.variances[k] = candidate.prediction().variance + noise;
        }
        self.twin = shared.compared.twin(x);
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

    fn add_weight_vector(&mut self, q: usize) -> Result<()> {
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
                self.sums.by[COVARIANCES][k * lines + line.line] += slope * square / deviation;
                self.sums.by[VARIANCES][k] -= 0.5 * slope * self.slopes[line.line] * square / total;
                if line.line == lines - 1 {
                    let factor = self.acquisition.shared.factor(q, k);
                    self.sums.by[MEANS][k] += aligned * line.intercept * factor;
                }
            }
        }
        Ok(())
    }

    fn write_gradient(&mut self, gradient: &mut [f64]) -> Result<()> {
        gradient.fill(0.0);
        let (shared, lines) = (&self.acquisition.shared, self.intercepts.dim());
        for (k, candidate) in self.candidates.iter().enumerate() {
            // The candidate's own line moves with its variance.
            let (covariances, own) =
                self.sums.by[COVARIANCES][k * lines..][..lines].split_at(lines - 1);
            let variance = self.sums.by[VARIANCES][k] + own[0];
            let adjoint = Adjoint { mean: self.sums.by[MEANS][k], variance, covariances };
            let slope = shared.compared.objectives[k].gradient(candidate, adjoint)?;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s / self.sums.gain);
        }
        Ok(())
    }
}
