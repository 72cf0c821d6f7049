//! Noisy expected hypervolume improvement, NEHVI: all objectives at a design.
//!
//! What is best so far is itself uncertain: the latent values at the known designs are drawn
//! jointly from the models, and each draw has a front of its own. Given a draw, x improves on the
//! front by the volume it adds, whose expectation is a sum over boxes (l, u] that tile what the
//! front does not dominate, above the reference point:
//!
//! EHVI_s(x) = Σ_boxes Π_m ψ_m(l, u),  ψ_m(l, u) = E[(Y_m − l)⁺] − E[(Y_m − u)⁺],
//!
//! with Y_m ~ N(μ_m,s(x), v_m(x)) the value at x given the draw. NEHVI is the mean over draws. Everything is
//! summed in logarithms, so that there is a slope where no improvement is left.
//!
//! Source: S. Daulton, M. Balandat, E. Bakshy, "Parallel Bayesian Optimization of Multiple Noisy
//! Objectives with Expected Hypervolume Improvement", NeurIPS 2021; boxes instead of their Monte Carlo
//! over x. The gain is a volume in standardised units.

use super::{Acquisition, Evaluator, latent_factor};
use crate::model::Model;
use unyoke_math::gp::{Adjoint, Candidate, FixedSet};
use unyoke_math::linalg::Cholesky;
use unyoke_math::pareto::{BoxSet, non_dominated, non_dominated_boxes};
use unyoke_math::{Points, Result, normal, sobol};

/// Draws of the values at the known designs.
const DRAWS: usize = 32;

/// Most known designs whose values are drawn.
const MOST_DESIGNS: usize = 64;

/// Variance with which drawn values are believed: exact, but for rounding.
const NOISE_FREE: f64 = 1e-6;

/// Least variance of a value at x.
const LEAST_VARIANCE: f64 = 1e-10;

/// NEHVI for draws of the front.
pub(crate) struct NoisyEhvi<'a> {
    models: Vec<Sampled<'a>>,
    cells: Vec<Cells>,
}

/// One objective's model and its draws.
///
/// With c(x) the posterior covariances between x and the known designs, Σ + NOISE_FREE = L Lᵀ their
/// covariance and z_s standard normals, draw s has values μ + L z_s there. Given them, x has mean
/// μ(x) + (L⁻¹ c(x))ᵀ z_s and variance v(x) − |L⁻¹ c(x)|², the same for all draws.
struct Sampled<'a> {
    set: FixedSet<'a>,
    factor: Cholesky,
    normals: Points,
}

impl<'a> NoisyEhvi<'a> {
    /// Improvement over the designs `known`, the latest last, above `reference` if one is given
    /// (standardised).
    pub(crate) fn new(
        model: &'a Model,
        known: &Points,
        reference: Option<Vec<f64>>,
        seed: u64,
    ) -> Result<Self> {
        Self::with_draws(model, known, reference, DRAWS, seed)
    }

    /// With another number of draws.
    pub(crate) fn with_draws(
        model: &'a Model,
        known: &Points,
        reference: Option<Vec<f64>>,
        draws: usize,
        seed: u64,
    ) -> Result<Self> {
        let means = model.means(known)?;
        let front = non_dominated(&means)?;
        let reference = reference.unwrap_or_else(|| reference_point(&means.select(&front)));
        let designs = known.select(&relevant(known.len(), &front));
        let (count, objectives) = (designs.len(), model.objectives.len());
        let normals = sobol::normals(count * objectives, draws, seed)?;
        let sampled = |(m, output): (usize, &'a crate::model::Belief)| -> Result<Sampled<'a>> {
            let own = normals.rows().map(|z| &z[m * count..(m + 1) * count]);
            Ok(Sampled {
                set: output.gp.fixed_set(&designs)?,
                factor: latent_factor(&output.gp, &designs, NOISE_FREE)?,
                normals: Points::from_rows(count, own)?,
            })
        };
        let models = model.objectives.iter().enumerate().map(sampled);
        let models: Vec<Sampled<'a>> = models.collect::<Result<_>>()?;
        let cells = |s: usize| -> Result<Cells> {
            let values: Vec<Vec<f64>> = models.iter().map(|output| output.draw(s)).collect();
            let row = |i: usize| values.iter().map(|column| column[i]).collect::<Vec<_>>();
            let values = Points::from_rows(objectives, (0..count).map(row))?;
            Ok(Cells::new(&non_dominated_boxes(&values, &reference)?))
        };
        let cells = (0..normals.len()).map(cells).collect::<Result<_>>()?;
        Ok(Self { models, cells })
    }
}

impl Sampled<'_> {
    /// Draw `s` of the values at the known designs.
    fn draw(&self, s: usize) -> Vec<f64> {
        let deviations = self.factor.lower_mul(self.normals.row(s));
        self.set.means().iter().zip(deviations).map(|(mean, d)| mean + d).collect()
    }
}

/// Per objective the worst value on the front of expected values, less a tenth of their range, or of
/// a standard deviation where they have none.
fn reference_point(front: &Points) -> Vec<f64> {
    let below = |m: usize| {
        let values = || front.rows().map(|y| y[m]);
        let low = values().fold(f64::INFINITY, f64::min);
        let range = values().fold(f64::NEG_INFINITY, f64::max) - low;
        match low.is_finite() {
            true => low - 0.1 * if range > 1e-9 { range } else { 1.0 },
            false => 0.0,
        }
    };
    (0..front.dim()).map(below).collect()
}

/// The designs that matter most: those on the front of expected values, then the latest.
fn relevant(count: usize, front: &[usize]) -> Vec<usize> {
    let mut chosen: Vec<usize> = front.iter().rev().copied().take(MOST_DESIGNS).collect();
    for i in (0..count).rev() {
        if chosen.len() < MOST_DESIGNS && !front.contains(&i) {
            chosen.push(i);
        }
    }
    chosen
}

impl Acquisition for NoisyEhvi<'_> {
    fn options(&self) -> usize {
        1
    }

    fn evaluator(&self, _option: usize) -> Evaluator<'_> {
        let mut work = Work::new(self);
        Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
    }
}

/// Boxes by the sides that they share: few sides make many boxes.
struct Cells {
    /// All different sides (l, u], with the objective each belongs to.
    sides: Vec<Side>,
    /// Box after box, its side along each objective.
    boxes: Vec<usize>,
    dim: usize,
}

#[derive(Clone, Copy, PartialEq)]
struct Side {
    objective: usize,
    lower: f64,
    upper: f64,
}

impl Cells {
    fn new(boxes: &BoxSet) -> Self {
        let mut cells = Self { sides: Vec::new(), boxes: Vec::new(), dim: boxes.dim() };
        let mut places = std::collections::HashMap::new();
        for (lower, upper) in boxes.lower().rows().zip(boxes.upper().rows()) {
            for objective in 0..boxes.dim() {
                let side = Side { objective, lower: lower[objective], upper: upper[objective] };
                let key = (objective, side.lower.to_bits(), side.upper.to_bits());
                let place = *places.entry(key).or_insert_with(|| {
                    cells.sides.push(side);
                    cells.sides.len() - 1
                });
                cells.boxes.push(place);
            }
        }
        cells
    }

    /// The sides of each box.
    fn rows(&self) -> std::slice::ChunksExact<'_, usize> {
        self.boxes.chunks_exact(self.dim.max(1))
    }
}

/// An evaluator with its buffers.
struct Work<'a> {
    acquisition: &'a NoisyEhvi<'a>,
    views: Vec<View>,
    /// Per draw, ln ψ of each side and ln of each box's part.
    sides: Vec<Vec<f64>>,
    boxes: Vec<Vec<f64>>,
}

/// What one objective's model says about x.
#[derive(Default)]
struct View {
    candidate: Candidate,
    /// L⁻¹ c(x).
    whitened: Vec<f64>,
    means: Vec<f64>,
    deviation: f64,
    varies: bool,
}

impl<'a> Work<'a> {
    fn new(acquisition: &'a NoisyEhvi<'a>) -> Self {
        let views = acquisition.models.iter().map(|_| View::default()).collect();
        let zeros = |len: fn(&Cells) -> usize| {
            acquisition.cells.iter().map(|cells| vec![0.0; len(cells)]).collect()
        };
        let sides = zeros(|cells| cells.sides.len());
        let boxes = zeros(|cells| cells.rows().len());
        Self { acquisition, views, sides, boxes }
    }

    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        for (view, output) in self.views.iter_mut().zip(&self.acquisition.models) {
            view.place(output, x)?;
        }
        let mut largest = f64::NEG_INFINITY;
        for (s, cells) in self.acquisition.cells.iter().enumerate() {
            for (log, side) in self.sides[s].iter_mut().zip(&cells.sides) {
                *log = self.views[side.objective].standardised(side, s).log_excess();
            }
            for (log, sides) in self.boxes[s].iter_mut().zip(cells.rows()) {
                *log = sides.iter().map(|&side| self.sides[s][side]).sum();
                largest = largest.max(*log);
            }
        }
        if largest == f64::NEG_INFINITY {
            return Ok(largest);
        }
        let sum: f64 = self.boxes.iter().flatten().map(|log| (log - largest).exp()).sum();
        let log_sum = largest + sum.ln();
        if let Some(gradient) = gradient {
            self.write_gradient(log_sum, gradient)?;
        }
        Ok(log_sum - (self.acquisition.cells.len() as f64).ln())
    }

    /// Chain rule: each box's share goes to its sides, theirs to means and variances.
    fn write_gradient(&self, log_sum: f64, gradient: &mut [f64]) -> Result<()> {
        let mut slopes: Vec<Slopes> = self.views.iter().map(Slopes::new).collect();
        for (s, cells) in self.acquisition.cells.iter().enumerate() {
            let mut shares = vec![0.0; cells.sides.len()];
            for (log, sides) in self.boxes[s].iter().zip(cells.rows()) {
                let share = (log - log_sum).exp();
                sides.iter().for_each(|&side| shares[side] += share);
            }
            let sides = cells.sides.iter().zip(&shares).zip(&self.sides[s]);
            for ((side, share), log) in sides.filter(|((_, share), _)| **share > 0.0) {
                let bounds = self.views[side.objective].standardised(side, s);
                slopes[side.objective].means[s] += share * bounds.by_mean(*log);
                slopes[side.objective].variance += share * bounds.by_variance(*log);
            }
        }
        gradient.fill(0.0);
        for ((view, output), slopes) in self.views.iter().zip(&self.acquisition.models).zip(&slopes)
        {
            let slope = view.pull_back(output, slopes)?;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += s);
        }
        Ok(())
    }
}

/// Derivatives in the means of all draws and in the variance.
struct Slopes {
    means: Vec<f64>,
    variance: f64,
}

impl Slopes {
    fn new(view: &View) -> Self {
        Self { means: vec![0.0; view.means.len()], variance: 0.0 }
    }
}

impl View {
    /// Moves to `x`.
    fn place(&mut self, output: &Sampled<'_>, x: &[f64]) -> Result<()> {
        output.set.evaluate(x, &mut self.candidate)?;
        self.whitened.clear();
        self.whitened.extend_from_slice(self.candidate.covariances());
        output.factor.solve_lower(&mut self.whitened);
        let prediction = self.candidate.prediction();
        let variance = prediction.variance - dot(&self.whitened, &self.whitened);
        self.varies = variance > LEAST_VARIANCE;
        self.deviation = variance.max(LEAST_VARIANCE).sqrt();
        self.means.clear();
        let means = output.normals.rows().map(|z| prediction.mean + dot(&self.whitened, z));
        self.means.extend(means);
        Ok(())
    }

    /// A side seen from draw `s`.
    fn standardised(&self, side: &Side, s: usize) -> Bounds {
        let z = |bound: f64| (self.means[s] - bound) / self.deviation;
        Bounds { lower: z(side.lower), upper: z(side.upper), deviation: self.deviation }
    }

    /// Gradient in x of a quantity with these derivatives.
    ///
    /// With w = L⁻¹ c: ∂/∂w = Σ_s mean_s z_s − 2 variance w, and ∂/∂c = L⁻ᵀ ∂/∂w.
    fn pull_back(&self, output: &Sampled<'_>, slopes: &Slopes) -> Result<Vec<f64>> {
        let variance = if self.varies { slopes.variance } else { 0.0 };
        let mut covariances: Vec<f64> = self.whitened.iter().map(|w| -2.0 * variance * w).collect();
        for (slope, z) in slopes.means.iter().zip(output.normals.rows()) {
            covariances.iter_mut().zip(z).for_each(|(c, z)| *c += slope * z);
        }
        output.factor.solve_upper(&mut covariances);
        let adjoint =
            Adjoint { mean: slopes.means.iter().sum(), variance, covariances: &covariances };
        output.set.gradient(&self.candidate, adjoint)
    }
}

/// The bounds of a side as (μ − bound)/√v; the upper one may be −∞.
struct Bounds {
    lower: f64,
    upper: f64,
    deviation: f64,
}

impl Bounds {
    /// ln ψ, with E[(Y − b)⁺] = √v f(z) and f of [`normal::expected_excess`].
    fn log_excess(&self) -> f64 {
        let lower = normal::log_expected_excess(self.lower);
        let upper = log_or_nothing(self.upper, normal::log_expected_excess);
        let log = self.deviation.ln() + lower + (-(upper - lower).exp_m1()).ln();
        // Where both ends are equal to working precision there is nothing between them.
        if log.is_nan() { f64::NEG_INFINITY } else { log }
    }

    /// ∂ ln ψ/∂μ = (Φ(z_l) − Φ(z_u))/ψ.
    fn by_mean(&self, log_excess: f64) -> f64 {
        let part = |z: f64| (log_or_nothing(z, normal::log_cdf) - log_excess).exp();
        part(self.lower) - part(self.upper)
    }

    /// ∂ ln ψ/∂v = (φ(z_l) − φ(z_u))/(2 √v ψ).
    fn by_variance(&self, log_excess: f64) -> f64 {
        let part = |z: f64| (log_or_nothing(z, normal::log_pdf) - log_excess).exp();
        (part(self.lower) - part(self.upper)) / (2.0 * self.deviation)
    }
}

/// ln f(z), −∞ at z = −∞.
fn log_or_nothing(z: f64, log: fn(f64) -> f64) -> f64 {
    if z == f64::NEG_INFINITY { z } else { log(z) }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
