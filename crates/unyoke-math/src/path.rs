//! Sample paths of a Gaussian process: random functions that can be evaluated anywhere.
//!
//! A draw from the prior is a sum of random cosines (Rahimi and Recht 2007); it becomes a draw
//! from the posterior by adding what conditioning on the data's surprise changes (Matheron's rule;
//! Wilson et al. 2020):
//!
//! f(x) = mean + p(x) + k(x, X) K⁻¹ (y − mean − p(X) − ε),
//! p(x) = √(2 variance/F) Σ_f w_f cos(ω_f·x + b_f).

use crate::error::{Result, check_shape};
use crate::gp::Gp;
use crate::kernel::{Family, Kernel, Scaled};
use crate::points::Points;
use crate::random::Rng;
use crate::simd::{cos_sin_turns, cos_turns, dot, vectorised};
use std::f64::consts::TAU;
use std::ops::Range;

/// One sample path.
#[derive(Debug, Clone)]
pub struct Path {
    kernel: Kernel,
    mean: f64,
    waves: Waves,
    inputs: Scaled,
    weights: Vec<f64>,
}

/// Random cosines; angles are counted in turns, so that their reduction is exact.
#[derive(Debug, Clone)]
struct Waves {
    /// Per input, the frequency of each wave, in turns per length scale.
    frequencies: Vec<Vec<f64>>,
    phases: Vec<f64>,
    amplitudes: Vec<f64>,
}

impl Waves {
    fn draw(kernel: &Kernel, count: usize, rng: &mut Rng) -> Self {
        let mut waves = Self {
            frequencies: vec![Vec::with_capacity(count); kernel.dim()],
            phases: Vec::with_capacity(count),
            amplitudes: Vec::with_capacity(count),
        };
        let amplitude = (2.0 * kernel.variance() / count.max(1) as f64).sqrt();
        for _ in 0..count {
            let stretch = spectral_stretch(kernel.family(), rng) / TAU;
            for column in &mut waves.frequencies {
                column.push(stretch * rng.normal());
            }
            waves.phases.push(rng.uniform());
            waves.amplitudes.push(amplitude * rng.normal());
        }
        waves
    }

    /// Adds p(x) at the points of `range`.
    ///
    /// Point by point: there are always many waves, but often few points.
    fn add_values(&self, points: &Scaled, range: Range<usize>, out: &mut [f64]) {
        let mut cosines = vec![0.0; self.phases.len()];
        for (value, i) in out.iter_mut().zip(range) {
            cosines.copy_from_slice(&self.phases);
            vectorised(
                #[inline(always)]
                || {
                    for (d, column) in self.frequencies.iter().enumerate() {
                        let z = points.column(d)[i];
                        for (t, frequency) in cosines.iter_mut().zip(column) {
                            *t = frequency.mul_add(z, *t);
                        }
                    }
                    cosines.iter_mut().for_each(|t| *t = cos_turns(*t));
                },
            );
            *value += dot(&self.amplitudes, &cosines);
        }
    }

    /// p(x), with ∂p/∂z added to `gradient`.
    fn value_and_gradient(&self, z: &[f64], gradient: &mut [f64]) -> f64 {
        let mut cosines = self.phases.clone();
        let mut sines = vec![0.0; cosines.len()];
        vectorised(
            #[inline(always)]
            || {
                for (column, zd) in self.frequencies.iter().zip(z) {
                    for (t, frequency) in cosines.iter_mut().zip(column) {
                        *t = frequency.mul_add(*zd, *t);
                    }
                }
                let both = cosines.iter_mut().zip(&mut sines).zip(&self.amplitudes);
                for ((c, s), amplitude) in both {
                    let angle = cos_sin_turns(*c);
                    *c = angle.cos;
                    *s = angle.sin * amplitude;
                }
            },
        );
        for (g, column) in gradient.iter_mut().zip(&self.frequencies) {
            *g -= TAU * dot(column, &sines);
        }
        dot(&self.amplitudes, &cosines)
    }
}

/// Factor that turns a standard normal vector into a frequency of the kernel's spectrum: normal
/// for the squared exponential, Student's t with 2ν degrees of freedom for a Matérn kernel.
fn spectral_stretch(family: Family, rng: &mut Rng) -> f64 {
    let degrees = match family {
        Family::SquaredExponential => return 1.0,
        Family::Matern32 => 3,
        Family::Matern52 => 5,
    };
    (f64::from(degrees) / rng.chi_squared(degrees)).sqrt()
}

/// Points that share one pass over the waves.
const CHUNK: usize = 256;

impl Path {
    /// Draws a path of the posterior, its prior part a sum of `waves` random cosines.
    ///
    /// ```
    /// use unyoke_math::{Points, data::Data, gp::Gp, kernel::{Family, Kernel}, path::Path};
    /// use unyoke_math::random::Rng;
    ///
    /// let data = Data::new(&Points::from_rows(1, [[0.0], [1.0]])?, &[1.0, 2.0])?;
    /// let kernel = Kernel::new(Family::Matern52, 1, &[0.5], 1.0)?;
    /// let gp = Gp::new(kernel, 0.0, 1e-8, &data)?;
    /// let path = Path::draw(&gp, 512, &mut Rng::new(1, 0));
    /// assert!((path.value(&[1.0])? - 2.0).abs() < 1e-2);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn draw(gp: &Gp, waves: usize, rng: &mut Rng) -> Self {
        let waves = Waves::draw(gp.kernel(), waves, rng);
        let mut prior = vec![0.0; gp.len()];
        in_chunks(&mut prior, |range, out| waves.add_values(gp.inputs(), range, out));
        let surprise = |((residual, prior), noise): ((&f64, &f64), &f64)| {
            residual - prior - noise.sqrt() * rng.normal()
        };
        let rows = gp.residuals().iter().zip(&prior).zip(gp.noises());
        let mut weights: Vec<f64> = rows.map(surprise).collect();
        gp.solve(&mut weights);
        let (kernel, inputs) = (gp.kernel().clone(), gp.inputs().clone());
        Self { kernel, mean: gp.prior_mean(), waves, inputs, weights }
    }

    /// The path at `x`.
    pub fn value(&self, x: &[f64]) -> Result<f64> {
        self.value_and_gradient(x, &mut vec![0.0; x.len()])
    }

    /// The path at `x`; its gradient is written to `gradient`.
    pub fn value_and_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<f64> {
        self.kernel.check_point(x)?;
        check_shape("coordinates of the gradient", x.len(), gradient.len())?;
        gradient.fill(0.0);
        let z = self.kernel.scale_point(x);
        let prior = self.waves.value_and_gradient(&z, gradient);
        for (g, scale) in gradient.iter_mut().zip(self.kernel.inverse_lengthscales()) {
            *g *= scale;
        }
        let mut covariances = vec![0.0; self.weights.len()];
        let mut slopes = covariances.clone();
        self.inputs.covariances_and_slopes(&self.kernel, &z, &mut covariances, &mut slopes);
        self.inputs.add_gradient(&self.kernel, &z, &slopes, &self.weights, gradient);
        Ok(self.mean + prior + dot(&covariances, &self.weights))
    }

    /// The path at many points.
    pub fn values(&self, points: &Points) -> Result<Vec<f64>> {
        let scaled = self.kernel.scale(points)?;
        let mut values = vec![self.mean; points.len()];
        in_chunks(&mut values, |range, out| {
            self.waves.add_values(&scaled, range.clone(), out);
            self.inputs.add_weighted(&self.kernel, &self.weights, &scaled, range, out);
        });
        Ok(values)
    }
}

fn in_chunks(values: &mut [f64], mut fill: impl FnMut(Range<usize>, &mut [f64])) {
    for (chunk, out) in values.chunks_mut(CHUNK).enumerate() {
        let start = chunk * CHUNK;
        fill(start..start + out.len(), out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Data;

    const FAMILIES: [Family; 3] = [Family::Matern52, Family::Matern32, Family::SquaredExponential];

    fn gp(family: Family, noise: f64) -> Gp {
        let rows = [[0.1, 0.2], [0.4, 0.9], [0.8, 0.3], [0.6, 0.6]];
        let data = Data::new(&Points::from_rows(2, rows).unwrap(), &[0.3, -1.0, 2.0, 0.5]).unwrap();
        Gp::new(Kernel::new(family, 2, &[0.3, 0.6], 1.7).unwrap(), 0.2, noise, &data).unwrap()
    }

    #[test]
    fn paths_have_the_moments_of_the_posterior() {
        let points = Points::from_rows(2, [[0.2, 0.3], [0.5, 0.5], [0.95, 0.9]]).unwrap();
        for family in FAMILIES {
            let gp = gp(family, 0.05);
            let joint = gp.joint(&points).unwrap();
            let (count, mut rng) = (4000, Rng::new(7, 1));
            let mut sums = [0.0; 3];
            let mut products = [[0.0; 3]; 3];
            for _ in 0..count {
                let values = Path::draw(&gp, 256, &mut rng).values(&points).unwrap();
                for i in 0..3 {
                    sums[i] += values[i] / count as f64;
                    for j in 0..3 {
                        let centred = |k: usize| values[k] - joint.means()[k];
                        products[i][j] += centred(i) * centred(j) / count as f64;
                    }
                }
            }
            // Four standard errors of 4,000 draws of a variance below 1.7.
            for i in 0..3 {
                assert!((sums[i] - joint.means()[i]).abs() < 0.08, "{family:?} mean {i}");
                for j in 0..3 {
                    let error = (products[i][j] - joint.covariance(i, j)).abs();
                    assert!(error < 0.15, "{family:?} covariance {i} {j}: {error}");
                }
            }
        }
    }

    #[test]
    fn values_in_bulk_and_gradients_agree_with_single_values() {
        let mut rng = Rng::new(3, 0);
        for family in FAMILIES {
            let path = Path::draw(&gp(family, 1e-4), 300, &mut rng);
            let points =
                Points::from_rows(2, (0..600).map(|_| [rng.uniform(), rng.uniform()])).unwrap();
            let values = path.values(&points).unwrap();
            for (x, value) in points.rows().zip(&values).step_by(7) {
                let mut gradient = [0.0; 2];
                assert!((path.value_and_gradient(x, &mut gradient).unwrap() - value).abs() < 1e-11);
                for d in 0..2 {
                    let shifted = |h: f64| {
                        let mut moved = x.to_vec();
                        moved[d] += h;
                        path.value(&moved).unwrap()
                    };
                    let difference = (shifted(1e-5) - shifted(-1e-5)) / 2e-5;
                    assert!((gradient[d] - difference).abs() < 1e-4 * (1.0 + difference.abs()));
                }
            }
        }
    }

    #[test]
    fn a_path_without_data_or_waves_is_its_mean() {
        let kernel = Kernel::new(Family::Matern52, 2, &[0.3], 1.0).unwrap();
        let prior = Gp::new(kernel, 0.7, 0.1, &Data::empty(2)).unwrap();
        assert_eq!(Path::draw(&prior, 0, &mut Rng::new(1, 1)).value(&[0.1, 0.2]), Ok(0.7));
    }

    #[test]
    fn the_same_seed_draws_the_same_path() {
        let gp = gp(Family::Matern52, 0.01);
        let draw = || Path::draw(&gp, 64, &mut Rng::new(5, 2)).value(&[0.3, 0.3]);
        assert_eq!(draw(), draw());
    }
}
