//! What one more observation at x would tell about many other points, with gradients in all of
//! them and in x.
//!
//! With β = K⁻¹ k(X, x), every point x'_j has
//!
//! - posterior mean            μ_j = mean + k(x'_j, X) α,
//! - posterior covariance with x  c_j = k(x'_j, x) − k(x'_j, X) β,
//!
//! so that observing the value at x moves its mean along a line of slope c_j. Both cost O(n) per
//! point from one pass over the kernel, and so do their gradients. Source: Eq. (4).
//!
//! [`crate::gp::FixedSet`] is for points that stay where they are while x moves; here all move.

use crate::error::{Result, check_finite, check_shape};
use crate::gp::Gp;
use crate::simd::{add_multiple, dot, vectorised, weighted_gaps};

/// A Gaussian process about to be observed at x, or not at all.
#[derive(Debug, Clone)]
pub struct Lookahead<'a> {
    gp: &'a Gp,
    at: Option<At>,
}

/// The point about to be observed.
#[derive(Debug, Clone)]
struct At {
    scaled: Vec<f64>,
    slopes: Vec<f64>,
    beta: Vec<f64>,
    variance: f64,
}

/// Points seen by a [`Lookahead`], one after another in flat buffers.
#[derive(Debug, Clone, Default)]
pub struct View {
    means: Vec<f64>,
    covariances: Vec<f64>,
    scaled: Vec<f64>,
    /// k(x'_j, X) and dk/dr², n numbers per point.
    kernel: Vec<f64>,
    slopes: Vec<f64>,
    /// dk/dr² between each point and x.
    own_slopes: Vec<f64>,
    point: Vec<f64>,
}

impl View {
    /// Posterior mean at each point.
    pub fn means(&self) -> &[f64] {
        &self.means
    }

    /// Posterior covariance between each point and x; zero where nothing is observed.
    pub fn covariances(&self) -> &[f64] {
        &self.covariances
    }
}

/// Derivatives of some quantity in what a [`View`] holds.
#[derive(Debug, Clone, Copy)]
pub struct ViewAdjoint<'a> {
    /// In each posterior mean.
    pub means: &'a [f64],
    /// In each posterior covariance with x.
    pub covariances: &'a [f64],
}

/// What several views add to the gradient in x; see [`Lookahead::gradient`].
#[derive(Debug, Clone, Default)]
pub struct Pulled {
    /// Σ_j c̄_j k(X, x'_j).
    cross: Vec<f64>,
    /// Σ_j c̄_j ∂k(x'_j, x)/∂x.
    direct: Vec<f64>,
    weighted: Vec<f64>,
}

impl Pulled {
    /// Forgets what was added.
    pub fn clear(&mut self) {
        self.cross.clear();
        self.direct.clear();
    }
}

impl<'a> Lookahead<'a> {
    /// A process about to be observed at `x`.
    ///
    /// ```
    /// use unyoke_math::{data::Data, gp::Gp, kernel::{Family, Kernel}};
    /// use unyoke_math::lookahead::{Lookahead, View};
    ///
    /// let kernel = Kernel::new(Family::Matern52, 1, &[0.5], 1.0)?;
    /// let gp = Gp::new(kernel, 0.0, 0.1, &Data::empty(1))?;
    /// let mut view = View::default();
    /// Lookahead::new(&gp, &[0.3])?.view(&[0.3, 0.9], &mut view)?;
    /// assert!(view.covariances()[0] == 1.0 && view.covariances()[1] < 0.7);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn new(gp: &'a Gp, x: &[f64]) -> Result<Self> {
        gp.kernel().check_point(x)?;
        let scaled = gp.kernel().scale_point(x);
        let (mut cross, mut slopes) = (vec![0.0; gp.len()], vec![0.0; gp.len()]);
        gp.inputs().covariances_and_slopes(gp.kernel(), &scaled, &mut cross, &mut slopes);
        let mut beta = cross.clone();
        gp.solve(&mut beta);
        let variance = (gp.kernel().variance() - dot(&cross, &beta)).max(0.0);
        Ok(Self { gp, at: Some(At { scaled, slopes, beta, variance }) })
    }

    /// A process that is not observed: its means stay as they are.
    pub fn still(gp: &'a Gp) -> Self {
        Self { gp, at: None }
    }

    /// Posterior variance at x; zero where nothing is observed.
    pub fn variance(&self) -> f64 {
        self.at.as_ref().map_or(0.0, |at| at.variance)
    }

    /// Looks at points whose coordinates stand one after another in `points`.
    pub fn view(&self, points: &[f64], view: &mut View) -> Result<()> {
        let dim = self.gp.dim();
        let count = points.len().checked_div(dim).unwrap_or(0);
        check_shape("coordinates of the points", count * dim, points.len())?;
        check_finite("coordinates of the points", points)?;
        let (kernel, n) = (self.gp.kernel(), self.gp.len());
        view.resize(count, n);
        for j in 0..count {
            kernel.scale_point_into(&points[j * dim..(j + 1) * dim], &mut view.point);
            let row = j * n..(j + 1) * n;
            let (k, slopes) = (&mut view.kernel[row.clone()], &mut view.slopes[row]);
            self.gp.inputs().covariances_and_slopes(kernel, &view.point, k, slopes);
            view.means[j] = self.gp.prior_mean() + dot(k, self.gp.alpha());
            if let Some(at) = &self.at {
                view.covariances[j] = squared_distance(&view.point, &at.scaled);
            }
            view.scaled.extend_from_slice(&view.point);
        }
        if let Some(at) = &self.at {
            let View { covariances, own_slopes, .. } = view;
            kernel.family().values_and_slopes(kernel.variance(), covariances, own_slopes);
            for j in 0..count {
                covariances[j] -= dot(&view.kernel[j * n..(j + 1) * n], &at.beta);
            }
        }
        Ok(())
    }

    /// Looks at the first `count` points of an earlier view of the same process, whatever was about to
    /// be observed then, and after them at `points`. Of the former only the covariances are computed
    /// anew. There are no gradients in the points of such a view.
    pub fn view_again(
        &self,
        earlier: &View,
        count: usize,
        points: &[f64],
        view: &mut View,
    ) -> Result<()> {
        let count = count.min(earlier.means.len());
        check_shape(
            "kernel of an earlier view",
            earlier.means.len() * self.gp.len(),
            earlier.kernel.len(),
        )?;
        self.view(points, view)?;
        view.means.splice(..0, earlier.means[..count].iter().copied());
        view.covariances.splice(..0, std::iter::repeat_n(0.0, count));
        if let Some(at) = &self.at {
            let (dim, n, kernel) = (self.gp.dim(), self.gp.len(), self.gp.kernel());
            let again = &mut view.covariances[..count];
            for (j, c) in again.iter_mut().enumerate() {
                *c = squared_distance(&earlier.scaled[j * dim..(j + 1) * dim], &at.scaled);
            }
            kernel.family().values(kernel.variance(), again);
            for (j, c) in again.iter_mut().enumerate() {
                *c -= dot(&earlier.kernel[j * n..(j + 1) * n], &at.beta);
            }
        }
        Ok(())
    }

    /// Chain rule: adds to `gradient`, shaped as the points of `view`, the gradient in them of a
    /// quantity with the given derivatives, and to `pulled` what there is for the gradient in x.
    pub fn pull_back(
        &self,
        view: &View,
        adjoint: ViewAdjoint<'_>,
        gradient: &mut [f64],
        pulled: &mut Pulled,
    ) -> Result<()> {
        let (dim, n) = (self.gp.dim(), self.gp.len());
        check_shape("derivatives in the means", view.means.len(), adjoint.means.len())?;
        check_shape("derivatives in covariances", view.means.len(), adjoint.covariances.len())?;
        check_shape("coordinates of the gradient", view.scaled.len(), gradient.len())?;
        pulled.cross.resize(n, 0.0);
        pulled.direct.resize(dim, 0.0);
        for (j, (&a, &c)) in adjoint.means.iter().zip(adjoint.covariances).enumerate() {
            if a == 0.0 && c == 0.0 {
                continue;
            }
            let row = j * n..(j + 1) * n;
            let z = &view.scaled[j * dim..(j + 1) * dim];
            let gradient = &mut gradient[j * dim..(j + 1) * dim];
            self.weigh(&view.slopes[row.clone()], a, c, &mut pulled.weighted);
            self.add_gaps(z, &pulled.weighted, gradient);
            if let Some(at) = &self.at {
                add_multiple(&mut pulled.cross, c, &view.kernel[row]);
                let slope = 2.0 * c * view.own_slopes[j];
                for (d, scale) in self.gp.kernel().inverse_lengthscales().iter().enumerate() {
                    let step = slope * scale * (z[d] - at.scaled[d]);
                    gradient[d] += step;
                    pulled.direct[d] -= step;
                }
            }
        }
        Ok(())
    }

    /// The gradient in x, from what was pulled back and the derivative in the variance at x.
    ///
    /// ∂/∂x of Σ_j c̄_j c_j + v̄ variance puts weight −(K⁻¹ Σ_j c̄_j k(X, x'_j) + 2 v̄ β)_i on
    /// ∂k(x_i, x)/∂x.
    pub fn gradient(&self, pulled: &Pulled, variance: f64) -> Vec<f64> {
        let mut gradient = pulled.direct.clone();
        gradient.resize(self.gp.dim(), 0.0);
        if let Some(at) = &self.at {
            let mut weights = pulled.cross.clone();
            weights.resize(self.gp.len(), 0.0);
            self.gp.solve(&mut weights);
            for ((weight, beta), slope) in weights.iter_mut().zip(&at.beta).zip(&at.slopes) {
                *weight = -(*weight + 2.0 * variance * beta) * slope;
            }
            self.add_gaps(&at.scaled, &weights, &mut gradient);
        }
        gradient
    }

    /// (a αᵢ − c βᵢ) dk/dr² for every observed point.
    fn weigh(&self, slopes: &[f64], a: f64, c: f64, out: &mut Vec<f64>) {
        out.resize(slopes.len(), 0.0);
        let alpha = self.gp.alpha();
        vectorised(
            #[inline(always)]
            || match &self.at {
                Some(at) => {
                    let terms = out.iter_mut().zip(slopes).zip(alpha).zip(&at.beta);
                    terms.for_each(|(((w, s), alpha), beta)| *w = (a * alpha - c * beta) * s);
                }
                None => {
                    let terms = out.iter_mut().zip(slopes).zip(alpha);
                    terms.for_each(|((w, s), alpha)| *w = a * alpha * s);
                }
            },
        );
    }

    /// Adds Σᵢ 2 wᵢ (z_d − z_id)/ℓ_d to each component of `gradient`.
    fn add_gaps(&self, z: &[f64], weights: &[f64], gradient: &mut [f64]) {
        for (d, scale) in self.gp.kernel().inverse_lengthscales().iter().enumerate() {
            let column = self.gp.inputs().column(d);
            gradient[d] += 2.0 * scale * weighted_gaps(column, z[d], weights);
        }
    }
}

impl View {
    fn resize(&mut self, count: usize, n: usize) {
        self.scaled.clear();
        for (buffer, len) in [
            (&mut self.means, count),
            (&mut self.covariances, count),
            (&mut self.own_slopes, count),
            (&mut self.kernel, count * n),
            (&mut self.slopes, count * n),
        ] {
            buffer.resize(len, 0.0);
        }
        self.covariances.fill(0.0);
    }
}

fn squared_distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Points;
    use crate::data::Data;
    use crate::kernel::{Family, Kernel};
    use crate::random::Rng;

    fn process(rng: &mut Rng, n: usize) -> Gp {
        let points = Points::from_rows(3, (0..n).map(|_| [0.0; 3].map(|_| rng.uniform()))).unwrap();
        let values: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let kernel = Kernel::new(Family::Matern52, 3, &[0.4, 0.9, 0.6], 1.3).unwrap();
        Gp::new(kernel, 0.2, 0.01, &Data::new(&points, &values).unwrap()).unwrap()
    }

    fn uniform(rng: &mut Rng, n: usize) -> Vec<f64> {
        (0..n).map(|_| rng.uniform()).collect()
    }

    #[test]
    fn means_and_covariances_are_those_of_the_joint_posterior() {
        let mut rng = Rng::new(1, 0);
        for n in [0, 1, 13] {
            let gp = process(&mut rng, n);
            let points = uniform(&mut rng, 15);
            let mut view = View::default();
            let ahead = Lookahead::new(&gp, &points[..3]).unwrap();
            ahead.view(&points, &mut view).unwrap();
            let joint = gp.joint(&Points::from_flat(3, points.clone()).unwrap()).unwrap();
            for j in 0..5 {
                assert!((view.means()[j] - joint.means()[j]).abs() < 1e-12);
                assert!((view.covariances()[j] - joint.covariance(0, j)).abs() < 1e-12);
            }
            assert!((ahead.variance() - joint.covariance(0, 0)).abs() < 1e-12);
            Lookahead::still(&gp).view(&points, &mut view).unwrap();
            assert!((view.means()[4] - joint.means()[4]).abs() < 1e-12);
            assert_eq!(view.covariances(), [0.0; 5]);
        }
    }

    #[test]
    fn points_seen_again_look_as_if_seen_for_the_first_time() {
        let mut rng = Rng::new(4, 0);
        for n in [0, 1, 13] {
            let gp = process(&mut rng, n);
            let (points, x) = (uniform(&mut rng, 21), uniform(&mut rng, 3));
            let mut earlier = View::default();
            Lookahead::still(&gp).view(&points[..15], &mut earlier).unwrap();
            for ahead in [Lookahead::new(&gp, &x).unwrap(), Lookahead::still(&gp)] {
                let (mut first, mut again) = (View::default(), View::default());
                let shown = [&points[..12], &points[15..]].concat();
                ahead.view(&shown, &mut first).unwrap();
                ahead.view_again(&earlier, 4, &points[15..], &mut again).unwrap();
                assert_eq!(again.means(), first.means());
                assert_eq!(again.covariances(), first.covariances());
                let adjoint = ViewAdjoint { means: &[1.0; 6], covariances: &[0.0; 6] };
                let mut gradient = vec![0.0; 18];
                let pulled = &mut Pulled::default();
                assert!(ahead.pull_back(&again, adjoint, &mut gradient, pulled).is_err());
            }
        }
    }

    /// Σ_j a_j μ_j + c_j cov_j + v variance, x first among the coordinates.
    fn quantity(gp: &Gp, all: &[f64], a: &[f64], c: &[f64], v: f64) -> f64 {
        let ahead = Lookahead::new(gp, &all[..3]).unwrap();
        let mut view = View::default();
        ahead.view(&all[3..], &mut view).unwrap();
        dot(a, view.means()) + dot(c, view.covariances()) + v * ahead.variance()
    }

    #[test]
    fn gradients_match_finite_differences() {
        let mut rng = Rng::new(2, 0);
        for n in [0, 1, 2, 17] {
            let gp = process(&mut rng, n);
            let all = uniform(&mut rng, 15);
            let (a, c, v) = (uniform(&mut rng, 4), uniform(&mut rng, 4), 0.7);
            let ahead = Lookahead::new(&gp, &all[..3]).unwrap();
            let (mut view, mut pulled) = (View::default(), Pulled::default());
            ahead.view(&all[3..], &mut view).unwrap();
            let mut gradient = vec![0.0; 12];
            let adjoint = ViewAdjoint { means: &a, covariances: &c };
            ahead.pull_back(&view, adjoint, &mut gradient, &mut pulled).unwrap();
            let in_x = ahead.gradient(&pulled, v);
            for (i, found) in in_x.iter().chain(&gradient).enumerate() {
                let shifted = |h: f64| {
                    let mut moved = all.clone();
                    moved[i] += h;
                    quantity(&gp, &moved, &a, &c, v)
                };
                let expected = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                let error = (found - expected).abs();
                assert!(error < 1e-6 * (1.0 + expected.abs()), "{n}, {i}: {found} {expected}");
            }
        }
    }

    #[test]
    fn misshapen_points_are_refused() {
        let gp = process(&mut Rng::new(3, 0), 2);
        let ahead = Lookahead::still(&gp);
        let mut view = View::default();
        assert!(ahead.view(&[0.0; 4], &mut view).is_err());
        assert!(ahead.view(&[f64::NAN; 3], &mut view).is_err());
        ahead.view(&[0.5; 3], &mut view).unwrap();
        let adjoint = ViewAdjoint { means: &[1.0; 2], covariances: &[0.0; 2] };
        assert!(ahead.pull_back(&view, adjoint, &mut [0.0; 3], &mut Pulled::default()).is_err());
    }
}
