//! Independent normals, truncated together to a union of disjoint boxes: covariance, derivatives.
//!
//! For the bounds (l, u] of objective m in box j let g = (bound − μ_m)/√v_m,
//!
//! W = Φ(g_u) − Φ(g_l), C = (φ(g_u) − φ(g_l))/W, D = (g_u φ(g_u) − g_l φ(g_l))/W,
//!
//! w_j = Π_m W_jm / Σ_i Π_m W_im and R_m = Σ_j w_j C_jm. In units of √v_m the truncated value has mean
//! −C_jm and variance τ_jm = 1 − D_jm − C_jm² within a box, and over all boxes the covariance
//!
//! Q_mn = Σ_j w_j (C_jm − R_m)(C_jn − R_n), with Σ_j w_j τ_jm added for m = n.
//!
//! That equals 1 − Σ_j w_j D_jm − R_m² and Σ_j w_j C_jm C_jn − R_m R_n (Tu et al. 2022), but every term of
//! the variance is ≥ 0. Masses are kept as logarithms: beyond a front all of them underflow.

use unyoke_math::normal;
use unyoke_math::pareto::BoxSet;

/// Mean and variance of a normal.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moments {
    pub(super) mean: f64,
    pub(super) variance: f64,
    /// Whether the variance depends on x; not where it is at its least value.
    pub(super) varies: bool,
}

/// Derivatives in a mean and a variance.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Slope {
    pub(super) mean: f64,
    pub(super) variance: f64,
}

/// The boxes of a front, with buffers for what normals look like in them.
#[derive(Debug, Clone)]
pub(super) struct Mixture {
    boxes: BoxSet,
    /// Box after box, the bounds of each objective.
    slabs: Vec<Slab>,
    /// w_j; all zero where no box holds any mass.
    weights: Vec<f64>,
    /// R_m.
    centres: Vec<f64>,
    /// Q_mn, row by row.
    covariance: Vec<f64>,
}

impl Mixture {
    pub(super) fn new(boxes: BoxSet) -> Self {
        let (count, dim) = (boxes.len(), boxes.dim());
        Self {
            slabs: vec![Slab::default(); count * dim],
            weights: vec![0.0; count],
            centres: vec![0.0; dim],
            covariance: vec![0.0; dim * dim],
            boxes,
        }
    }

    /// Truncates the normals of these moments.
    pub(super) fn truncate(&mut self, moments: &[Moments]) {
        let dim = self.boxes.dim();
        for j in 0..self.boxes.len() {
            let (lower, upper) = (self.boxes.lower().row(j), self.boxes.upper().row(j));
            let mut log_mass = 0.0;
            for (m, Moments { mean, variance, .. }) in moments.iter().enumerate() {
                let deviation = variance.sqrt();
                let slab = Slab::new((lower[m] - mean) / deviation, (upper[m] - mean) / deviation);
                log_mass += slab.log_mass;
                self.slabs[j * dim + m] = slab;
            }
            self.weights[j] = log_mass;
        }
        normalise(&mut self.weights);
        self.combine();
    }

    /// Covariance of objectives `m` and `n`, in units of their values.
    pub(super) fn covariance(&self, moments: &[Moments], m: usize, n: usize) -> f64 {
        let scale = (moments[m].variance * moments[n].variance).sqrt();
        scale * self.covariance[m * self.boxes.dim() + n]
    }

    /// Computes R and Q from slabs and weights.
    fn combine(&mut self) {
        let dim = self.boxes.dim();
        self.centres.fill(0.0);
        self.covariance.fill(0.0);
        let held: f64 = self.weights.iter().sum();
        for m in 0..dim {
            // Without mass in any box there is nothing to say: leave the normals as they are.
            self.covariance[m * dim + m] = if held > 0.0 { 0.0 } else { 1.0 };
        }
        for (j, w) in self.held() {
            for m in 0..dim {
                self.centres[m] += w * self.slabs[j * dim + m].c;
            }
        }
        for (j, w) in self.held() {
            for m in 0..dim {
                self.covariance[m * dim + m] += w * self.slabs[j * dim + m].spread();
                for n in 0..dim {
                    self.covariance[m * dim + n] += w * self.apart(j, m) * self.apart(j, n);
                }
            }
        }
    }

    /// Boxes that hold some mass, with their weights.
    fn held(&self) -> impl Iterator<Item = (usize, f64)> + use<> {
        let held: Vec<(usize, f64)> =
            self.weights.iter().copied().enumerate().filter(|(_, w)| *w > 0.0).collect();
        held.into_iter()
    }

    /// C_jm − R_m.
    fn apart(&self, j: usize, m: usize) -> f64 {
        self.slabs[j * self.boxes.dim() + m].c - self.centres[m]
    }

    /// Derivatives in the moments of a quantity whose derivatives in the covariances are `adjoint`,
    /// symmetric, row by row.
    ///
    /// With B_mn = adjoint_mn √(v_m v_n): ∂/∂Q = B; then ∂/∂τ_jm = w_j B_mm,
    /// ∂/∂C_jm = 2 w_j Σ_n B_mn (C_jn − R_n), and through the weights, for q_j = Σ_m B_mm τ_jm +
    /// Σ_mn B_mn (C_jm − R_m)(C_jn − R_n), ∂/∂(log Π_m W_jm) = w_j (q_j − Σ_i w_i q_i). R has no part in
    /// it, since Σ_j w_j (C_j − R) = 0.
    pub(super) fn pull_back(&self, moments: &[Moments], adjoint: &[f64]) -> Vec<Slope> {
        let dim = self.boxes.dim();
        let scaled: Vec<f64> = (0..dim * dim)
            .map(|i| adjoint[i] * (moments[i / dim].variance * moments[i % dim].variance).sqrt())
            .collect();
        let mut slopes = vec![Slope::default(); dim];
        for m in 0..dim {
            let own: f64 =
                (0..dim).map(|n| scaled[m * dim + n] * self.covariance[m * dim + n]).sum();
            slopes[m].variance = own / moments[m].variance;
        }
        let mut by_c = vec![0.0; dim];
        // Σ_mn B_mn Q_mn is the mean of the q_j.
        let mean: f64 = scaled.iter().zip(&self.covariance).map(|(b, q)| b * q).sum();
        for (j, w) in self.held() {
            let slabs = &self.slabs[j * dim..(j + 1) * dim];
            let mut q = 0.0;
            for m in 0..dim {
                let across: f64 = (0..dim).map(|n| scaled[m * dim + n] * self.apart(j, n)).sum();
                q += across * self.apart(j, m) + scaled[m * dim + m] * slabs[m].spread();
                by_c[m] = 2.0 * w * across;
            }
            let by_log_mass = w * (q - mean);
            for m in 0..dim {
                let by_spread = w * scaled[m * dim + m];
                let slope = slabs[m].pull_back(by_log_mass, by_c[m], by_spread);
                slopes[m].mean += slope.mean / moments[m].variance.sqrt();
                slopes[m].variance += slope.variance / (2.0 * moments[m].variance);
            }
        }
        for (slope, moment) in slopes.iter_mut().zip(moments) {
            if !moment.varies || !slope.variance.is_finite() {
                slope.variance = 0.0;
            }
            if !slope.mean.is_finite() {
                slope.mean = 0.0;
            }
        }
        slopes
    }
}

/// A standard normal between two bounds: ln W, C, D, and the like with g² and g³.
#[derive(Debug, Clone, Copy, Default)]
struct Slab {
    log_mass: f64,
    c: f64,
    d: f64,
    e: f64,
    f: f64,
}

impl Slab {
    /// Between `lower`, which may be −∞, and `upper`.
    fn new(lower: f64, upper: f64) -> Self {
        let log_mass = log_mass(lower, upper);
        if !log_mass.is_finite() {
            return Self { log_mass: f64::NEG_INFINITY, ..Self::default() };
        }
        let top = (normal::log_pdf(upper) - log_mass).exp();
        let bottom = (normal::log_pdf(lower) - log_mass).exp();
        // φ(−∞) = 0 wins over any power of −∞.
        let lower = if bottom == 0.0 { 0.0 } else { lower };
        let moment = |power: i32| upper.powi(power) * top - lower.powi(power) * bottom;
        Self { log_mass, c: top - bottom, d: moment(1), e: moment(2), f: moment(3) }
    }

    /// τ, which rounding can take out of its range where bounds are close or far away.
    fn spread(&self) -> f64 {
        (1.0 - self.d - self.c * self.c).clamp(0.0, 1.0)
    }

    /// Chain rule to the mean, in units of the deviation, and the variance, in units of 2 v.
    ///
    /// With dg/dμ = −1/√v and dg/dv = −g/2v: ∂ log W = (−C, −D), ∂C = (D + C², E + C D),
    /// ∂D = (E − C + C D, F − D + D²), and τ = 1 − D − C².
    fn pull_back(&self, by_log_mass: f64, by_c: f64, by_spread: f64) -> Slope {
        let Self { c, d, e, f, .. } = *self;
        let c_by = Slope { mean: d + c * c, variance: e + c * d };
        let d_by = Slope { mean: e - c + c * d, variance: f - d + d * d };
        let chain = |log_mass: f64, c_by: f64, d_by: f64| {
            by_log_mass * log_mass + by_c * c_by - by_spread * (d_by + 2.0 * c * c_by)
        };
        Slope {
            mean: chain(-c, c_by.mean, d_by.mean),
            variance: chain(-d, c_by.variance, d_by.variance),
        }
    }
}

/// ln(Φ(u) − Φ(l)), −∞ or NaN where nothing is left of it.
fn log_mass(lower: f64, upper: f64) -> f64 {
    if lower == f64::NEG_INFINITY {
        return normal::log_cdf(upper);
    }
    if lower > 0.0 {
        return log_mass(-upper, -lower);
    }
    if upper > 0.0 {
        return (normal::cdf(upper) - normal::cdf(lower)).ln();
    }
    let (below, top) = (normal::log_cdf(lower), normal::log_cdf(upper));
    top + (-(below - top).exp_m1()).ln()
}

/// Turns log masses into weights that sum to 1, or to 0 if all are −∞.
fn normalise(weights: &mut [f64]) {
    let largest = weights.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let scaled = |log: f64| if log > f64::NEG_INFINITY { (log - largest).exp() } else { 0.0 };
    weights.iter_mut().for_each(|w| *w = scaled(*w));
    let sum: f64 = weights.iter().sum();
    if sum > 0.0 {
        weights.iter_mut().for_each(|w| *w /= sum);
    }
}
