//! Stationary covariance functions with a length scale per input.
//!
//! Each is a variance times a profile ρ(r²) of the scaled squared distance
//! r² = Σ_d (x_d − x'_d)²/ℓ_d². All gradients, in x and in the hyper-parameters, follow from the
//! one slope dρ/dr², so a family is defined by the two lines of its `Profile`.

use crate::error::{Error, Result, check_finite, check_positive, check_shape};
use crate::linalg::Matrix;
use crate::points::Points;
use crate::simd::{exp, vectorised, weighted_gaps, weighted_squares};
use std::ops::Range;

/// Shape of a covariance function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Family {
    /// Twice differentiable: ρ = (1 + s + s²/3) e⁻ˢ, s = √5 r.
    #[default]
    Matern52,
    /// Once differentiable: ρ = (1 + s) e⁻ˢ, s = √3 r.
    Matern32,
    /// Infinitely differentiable: ρ = e^(−r²/2).
    SquaredExponential,
}

/// Profile and slope at one distance.
#[derive(Clone, Copy)]
struct Profile {
    /// ρ(r²).
    value: f64,
    /// dρ/dr².
    slope: f64,
}

/// Beyond this e⁻ˢ is 0, and s² must not overflow.
const FARTHEST: f64 = 1e3;

/// Scaled coordinates are cut here, where every covariance is 0 already, so that no difference of
/// them is infinite.
const MOST: f64 = 1e150;

#[inline(always)]
fn matern52(r2: f64) -> Profile {
    let s = (5.0 * r2).sqrt().min(FARTHEST);
    let e = exp(-s);
    Profile {
        value: s.mul_add(s.mul_add(1.0 / 3.0, 1.0), 1.0) * e,
        slope: -5.0 / 6.0 * (1.0 + s) * e,
    }
}

#[inline(always)]
fn matern32(r2: f64) -> Profile {
    let s = (3.0 * r2).sqrt().min(FARTHEST);
    let e = exp(-s);
    Profile { value: (1.0 + s) * e, slope: -1.5 * e }
}

#[inline(always)]
fn squared_exponential(r2: f64) -> Profile {
    let e = exp(-0.5 * r2.min(2.0 * FARTHEST));
    Profile { value: e, slope: -0.5 * e }
}

impl Family {
    /// Replaces each r² by variance · ρ(r²).
    pub(crate) fn values(self, variance: f64, r2: &mut [f64]) {
        match self {
            Self::Matern52 => map_values(r2, variance, matern52),
            Self::Matern32 => map_values(r2, variance, matern32),
            Self::SquaredExponential => map_values(r2, variance, squared_exponential),
        }
    }

    /// Replaces each r² by variance · ρ(r²) and writes variance · dρ/dr² to `slopes`.
    pub(crate) fn values_and_slopes(self, variance: f64, r2: &mut [f64], slopes: &mut [f64]) {
        match self {
            Self::Matern52 => map_both(r2, slopes, variance, matern52),
            Self::Matern32 => map_both(r2, slopes, variance, matern32),
            Self::SquaredExponential => map_both(r2, slopes, variance, squared_exponential),
        }
    }
}

#[inline(always)]
fn map_values(r2: &mut [f64], variance: f64, profile: impl Fn(f64) -> Profile) {
    vectorised(
        #[inline(always)]
        || {
            for v in r2 {
                *v = variance * profile(*v).value;
            }
        },
    );
}

#[inline(always)]
fn map_both(r2: &mut [f64], slopes: &mut [f64], variance: f64, profile: impl Fn(f64) -> Profile) {
    vectorised(
        #[inline(always)]
        || {
            for (v, slope) in r2.iter_mut().zip(slopes) {
                let p = profile(*v);
                *v = variance * p.value;
                *slope = variance * p.slope;
            }
        },
    );
}

/// A covariance function k(x, x') = variance · ρ(r²).
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    family: Family,
    variance: f64,
    inverse_lengthscales: Vec<f64>,
}

impl Kernel {
    /// `lengthscales` holds one number for all `dim` inputs, or one each.
    pub fn new(family: Family, dim: usize, lengthscales: &[f64], variance: f64) -> Result<Self> {
        check_positive("variance of the kernel", variance)?;
        for &lengthscale in lengthscales {
            check_positive("length scale", lengthscale)?;
        }
        let inverse_lengthscales: Vec<f64> = match lengthscales {
            [shared] => vec![1.0 / shared; dim],
            each => {
                check_shape("length scales", dim, each.len())?;
                each.iter().map(|l| 1.0 / l).collect()
            }
        };
        if let Some(index) = inverse_lengthscales.iter().position(|v| !v.is_finite()) {
            let value = lengthscales[index.min(lengthscales.len() - 1)];
            return Err(Error::OutOfRange { what: "length scale", value, must: "above 1e-300" });
        }
        Ok(Self { family, variance, inverse_lengthscales })
    }

    /// Number of inputs.
    pub fn dim(&self) -> usize {
        self.inverse_lengthscales.len()
    }

    /// Its shape.
    pub fn family(&self) -> Family {
        self.family
    }

    /// k(x, x).
    pub fn variance(&self) -> f64 {
        self.variance
    }

    /// One over the length scale of each input.
    pub fn inverse_lengthscales(&self) -> &[f64] {
        &self.inverse_lengthscales
    }

    /// k(x, x') for two points.
    ///
    /// ```
    /// use unyoke_math::kernel::{Family, Kernel};
    ///
    /// let kernel = Kernel::new(Family::SquaredExponential, 1, &[2.0], 3.0)?;
    /// assert!((kernel.covariance(&[0.0], &[2.0]) - 3.0 * (-0.5f64).exp()).abs() < 1e-15);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn covariance(&self, x: &[f64], other: &[f64]) -> f64 {
        let scales = self.inverse_lengthscales.iter();
        let r2 = x.iter().zip(other).zip(scales).map(|((a, b), s)| ((a - b) * s).powi(2)).sum();
        let mut k = [r2];
        self.family.values(self.variance, &mut k);
        k[0]
    }

    /// All derivatives of k(x, x') at once.
    ///
    /// ∂k/∂x_d = 2 k' (x_d − x'_d)/ℓ_d², ∂k/∂ℓ_d = −2 k' (x_d − x'_d)²/ℓ_d³, ∂k/∂variance = ρ,
    /// with k' = dk/dr². Where inputs share a length scale, its derivative is the sum over them.
    pub fn derivatives(&self, x: &[f64], other: &[f64]) -> Derivatives {
        let (z, z_other) = (self.scale_point(x), self.scale_point(other));
        let gaps: Vec<f64> = z.iter().zip(&z_other).map(|(a, b)| a - b).collect();
        let (mut k, mut slope) = ([gaps.iter().map(|g| g * g).sum()], [0.0]);
        self.family.values_and_slopes(self.variance, &mut k, &mut slope);
        let scaled = || gaps.iter().zip(&self.inverse_lengthscales);
        Derivatives {
            x: scaled().map(|(g, s)| 2.0 * slope[0] * g * s).collect(),
            lengthscales: scaled().map(|(g, s)| -2.0 * slope[0] * g * g * s).collect(),
            variance: k[0] / self.variance,
        }
    }

    /// The lower triangle of k(X, X); what stands above the diagonal is zero.
    pub fn matrix(&self, points: &Points) -> Result<Matrix> {
        Ok(self.scale(points)?.matrix(self))
    }

    /// Divides coordinates by length scales and lays them out for vector loops.
    pub(crate) fn scale(&self, points: &Points) -> Result<Scaled> {
        check_shape("coordinates of the inputs", self.dim(), points.dim())?;
        check_finite("inputs", points.as_flat())?;
        let column = |(d, s): (usize, &f64)| {
            points.rows().map(|row| (row[d] * s).clamp(-MOST, MOST)).collect()
        };
        let columns = self.inverse_lengthscales.iter().enumerate().map(column).collect();
        Ok(Scaled { len: points.len(), columns })
    }

    /// Fails unless `x` is a finite point of the right dimension.
    pub(crate) fn check_point(&self, x: &[f64]) -> Result<()> {
        check_shape("coordinates of a point", self.dim(), x.len())?;
        check_finite("coordinates of a point", x)
    }

    /// One point in units of the length scales.
    pub(crate) fn scale_point(&self, x: &[f64]) -> Vec<f64> {
        let mut z = Vec::with_capacity(self.dim());
        self.scale_point_into(x, &mut z);
        z
    }

    /// As [`Kernel::scale_point`], reusing a buffer.
    pub(crate) fn scale_point_into(&self, x: &[f64], z: &mut Vec<f64>) {
        z.clear();
        let scaled = x.iter().zip(&self.inverse_lengthscales).map(|(v, s)| v * s);
        z.extend(scaled.map(|v| v.clamp(-MOST, MOST)));
    }
}

/// Derivatives of a covariance k(x, x').
#[derive(Debug, Clone, PartialEq)]
pub struct Derivatives {
    /// In each coordinate of x.
    pub x: Vec<f64>,
    /// In the length scale of each input.
    pub lengthscales: Vec<f64>,
    /// In the variance.
    pub variance: f64,
}

/// Points in units of the length scales, one contiguous column per input.
#[derive(Debug, Clone)]
pub(crate) struct Scaled {
    len: usize,
    columns: Vec<Vec<f64>>,
}

impl Scaled {
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends a point that is scaled already.
    pub(crate) fn push(&mut self, z: &[f64]) {
        for (column, v) in self.columns.iter_mut().zip(z) {
            column.push(*v);
        }
        self.len += 1;
    }

    /// Coordinate `d` of every point.
    pub(crate) fn column(&self, d: usize) -> &[f64] {
        &self.columns[d]
    }

    /// The scaled coordinates of point `i`.
    pub(crate) fn point(&self, i: usize) -> Vec<f64> {
        self.columns.iter().map(|column| column[i]).collect()
    }

    /// r² from the scaled point `z` to the points of `range`.
    fn squared_distances(&self, z: &[f64], range: Range<usize>, out: &mut [f64]) {
        out.fill(0.0);
        vectorised(
            #[inline(always)]
            || {
                for (column, &zd) in self.columns.iter().zip(z) {
                    for (r2, v) in out.iter_mut().zip(&column[range.clone()]) {
                        let difference = v - zd;
                        *r2 = difference.mul_add(difference, *r2);
                    }
                }
            },
        );
    }

    /// r² of every pair i > j, ordered by j, then i.
    pub(crate) fn pair_distances_into(&self, r2: &mut Vec<f64>) {
        r2.resize(self.len * self.len.saturating_sub(1) / 2, 0.0);
        let mut rest = &mut r2[..];
        for j in 0..self.len {
            let (column, tail) = rest.split_at_mut(self.len - j - 1);
            self.squared_distances(&self.point(j), j + 1..self.len, column);
            rest = tail;
        }
    }

    /// Σ over pairs i > j of w_ij (z_id − z_jd)², the pairs ordered as in `pair_distances_into`.
    pub(crate) fn weighted_pair_squares(&self, d: usize, weights: &[f64]) -> f64 {
        let column = &self.columns[d];
        let mut rest = weights;
        let mut sum = 0.0;
        for (j, &z) in column.iter().enumerate() {
            let (here, tail) = rest.split_at(self.len - j - 1);
            sum += weighted_squares(&column[j + 1..], z, here);
            rest = tail;
        }
        sum
    }

    /// k(xᵢ, x) for all points, given the scaled x.
    pub(crate) fn covariances(&self, kernel: &Kernel, z: &[f64], out: &mut [f64]) {
        self.covariances_in(kernel, z, 0..self.len, out);
    }

    /// k(xᵢ, x) for the points of `range`.
    pub(crate) fn covariances_in(
        &self,
        kernel: &Kernel,
        z: &[f64],
        range: Range<usize>,
        out: &mut [f64],
    ) {
        self.squared_distances(z, range, out);
        kernel.family.values(kernel.variance, out);
    }

    /// k(xᵢ, x) and dk/dr² for all points.
    pub(crate) fn covariances_and_slopes(
        &self,
        kernel: &Kernel,
        z: &[f64],
        out: &mut [f64],
        slopes: &mut [f64],
    ) {
        self.squared_distances(z, 0..self.len, out);
        kernel.family.values_and_slopes(kernel.variance, out, slopes);
    }

    /// Adds Σᵢ wᵢ ∂k(xᵢ, x)/∂x to `gradient`, given the slopes at x.
    ///
    /// ∂k/∂x_d = 2 (z_d − z_id)/ℓ_d · dk/dr².
    pub(crate) fn add_gradient(
        &self,
        kernel: &Kernel,
        z: &[f64],
        slopes: &[f64],
        weights: &[f64],
        gradient: &mut [f64],
    ) {
        for (d, column) in self.columns.iter().enumerate() {
            let terms = column.iter().zip(slopes).zip(weights);
            let sum: f64 = terms.map(|((v, slope), w)| w * slope * (z[d] - v)).sum();
            gradient[d] += 2.0 * kernel.inverse_lengthscales[d] * sum;
        }
    }

    /// Adds the same given the products of weights and slopes, lane by lane.
    pub(crate) fn add_weighted_gradient(
        &self,
        kernel: &Kernel,
        z: &[f64],
        products: &[f64],
        gradient: &mut [f64],
    ) {
        let scales = kernel.inverse_lengthscales.iter().zip(z);
        for ((g, column), (scale, z)) in gradient.iter_mut().zip(&self.columns).zip(scales) {
            *g += 2.0 * scale * weighted_gaps(column, *z, products);
        }
    }

    /// Adds the same of point `i` alone, given its weight times the slope.
    pub(crate) fn add_gradient_of(
        &self,
        i: usize,
        kernel: &Kernel,
        z: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) {
        let scales = kernel.inverse_lengthscales.iter().zip(z);
        for ((g, column), (scale, z)) in gradient.iter_mut().zip(&self.columns).zip(scales) {
            *g += 2.0 * scale * (factor * (z - column[i]));
        }
    }

    /// Adds Σᵢ wᵢ k(xᵢ, x) at each x of `range` among `points`, a vector loop over x per i.
    pub(crate) fn add_weighted(
        &self,
        kernel: &Kernel,
        weights: &[f64],
        points: &Scaled,
        range: Range<usize>,
        out: &mut [f64],
    ) {
        let mut covariances = vec![0.0; out.len()];
        for (i, &weight) in weights.iter().enumerate() {
            points.covariances_in(kernel, &self.point(i), range.clone(), &mut covariances);
            vectorised(
                #[inline(always)]
                || {
                    for (sum, k) in out.iter_mut().zip(&covariances) {
                        *sum = weight.mul_add(*k, *sum);
                    }
                },
            );
        }
    }

    /// The lower triangle of k(X, X).
    pub(crate) fn matrix(&self, kernel: &Kernel) -> Matrix {
        let mut k = Matrix::zeros(self.len, self.len);
        for j in 0..self.len {
            let z = self.point(j);
            let column = &mut k.col_mut(j)[j..];
            column[0] = kernel.variance;
            self.covariances_in(kernel, &z, j + 1..self.len, &mut column[1..]);
        }
        k
    }

    /// k(X, other), one column per point of `other`.
    pub(crate) fn cross(&self, kernel: &Kernel, other: &Scaled) -> Matrix {
        let mut k = Matrix::zeros(self.len, other.len);
        for j in 0..other.len {
            self.covariances(kernel, &other.point(j), k.col_mut(j));
        }
        k
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FAMILIES: [Family; 3] = [Family::Matern52, Family::Matern32, Family::SquaredExponential];

    #[test]
    fn profiles_have_their_textbook_values() {
        // At r = 1: (1 + √5 + 5/3) e^-√5, (1 + √3) e^-√3, e^-1/2, computed to 20 digits.
        let expected = [0.523_994_108_831_820_3, 0.483_357_724_596_507_65, 0.606_530_659_712_633_4];
        for (family, value) in FAMILIES.into_iter().zip(expected) {
            let kernel = Kernel::new(family, 1, &[0.5], 2.0).unwrap();
            let k = kernel.covariance(&[0.25], &[0.75]);
            assert!((k - 2.0 * value).abs() < 1e-15, "{family:?}: {k}");
            assert_eq!(kernel.covariance(&[0.3], &[0.3]), 2.0);
        }
    }

    proptest! {
        #[test]
        fn derivatives_match_finite_differences(
            x in prop::collection::vec(0.0..1.0f64, 3),
            y in prop::collection::vec(0.0..1.0f64, 3),
            lengthscales in prop::collection::vec(0.2..2.0f64, 3),
            variance in 0.1..10.0f64,
        ) {
            let h = 1e-5;
            for family in FAMILIES {
                let k = |x: &[f64], l: &[f64], v: f64| {
                    Kernel::new(family, 3, l, v).unwrap().covariance(x, &y)
                };
                let derivatives =
                    Kernel::new(family, 3, &lengthscales, variance).unwrap().derivatives(&x, &y);
                for d in 0..3 {
                    let shifted = |base: &[f64], by: f64| {
                        let mut moved = base.to_vec();
                        moved[d] += by;
                        moved
                    };
                    let in_x = (k(&shifted(&x, h), &lengthscales, variance)
                        - k(&shifted(&x, -h), &lengthscales, variance)) / (2.0 * h);
                    prop_assert!((derivatives.x[d] - in_x).abs() < 1e-7 * (1.0 + variance));
                    let in_l = (k(&x, &shifted(&lengthscales, h), variance)
                        - k(&x, &shifted(&lengthscales, -h), variance)) / (2.0 * h);
                    prop_assert!((derivatives.lengthscales[d] - in_l).abs() < 1e-7 * (1.0 + variance));
                }
                let in_v = (k(&x, &lengthscales, variance + h) - k(&x, &lengthscales, variance - h))
                    / (2.0 * h);
                prop_assert!((derivatives.variance - in_v).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn far_and_huge_points_have_covariance_zero() {
        for family in FAMILIES {
            let kernel = Kernel::new(family, 2, &[1e-3, 1e3], 1.0).unwrap();
            assert_eq!(kernel.covariance(&[-1e300, 0.0], &[1e300, 0.0]), 0.0);
            let gradient = kernel.derivatives(&[-1e300, 0.0], &[1e300, 0.0]);
            assert!(gradient.x.iter().chain(&gradient.lengthscales).all(|g| *g == 0.0));
        }
    }

    #[test]
    fn impossible_hyper_parameters_are_refused() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-320] {
            assert!(Kernel::new(Family::Matern52, 1, &[bad], 1.0).is_err(), "{bad}");
        }
        assert!(Kernel::new(Family::Matern52, 1, &[1.0], 0.0).is_err());
        assert!(Kernel::new(Family::Matern52, 3, &[1.0, 1.0], 1.0).is_err());
        assert!(Kernel::new(Family::Matern52, 3, &[], 1.0).is_err());
    }
}
