//! Observations as a Gaussian process wants them: replicates merged, outputs standardised.

use crate::error::{Error, Result, check_finite, check_shape};
use crate::points::Points;
use std::collections::HashMap;

/// Observed values at points, repeated measurements of a point merged.
///
/// An observation either shares the noise variance of the model or has one of its own that is
/// known. Each point has one row for its observations of either kind, so two if it has both: how
/// the two means weigh against each other depends on the model's noise.
///
/// Merging loses nothing: a Gaussian likelihood depends on replicates only through their mean
/// (weighted by precision where the noise is known), its variance and their scatter about it, all
/// of which are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    points: Points,
    values: Vec<f64>,
    counts: Vec<f64>,
    /// Variance of a row's value where it is known.
    known: Vec<Option<f64>>,
    replicates: Replicates,
}

/// What repeated measurements contribute to the likelihood, whatever the function is.
///
/// Of those that share the noise variance σ² it is
/// (2πσ²)^(−extra/2) exp(−½ log_counts − scatter/2σ²), of those of known noise exp(−known/2).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Replicates {
    /// Σ (count − 1).
    pub(crate) extra: f64,
    /// Σ ln count.
    pub(crate) log_counts: f64,
    /// Σ (y − mean at its point)².
    pub(crate) scatter: f64,
    /// Σ (Σ ln 2πvᵢ − ln 2πv + Σ (yᵢ − mean)²/vᵢ) over the rows of known noise, v = 1/Σ(1/vᵢ).
    pub(crate) known: f64,
}

impl Data {
    /// Takes one value per point, all finite, which share the model's noise.
    ///
    /// ```
    /// use unyoke_math::{Points, data::Data};
    ///
    /// let points = Points::from_rows(1, [[0.5], [0.1], [0.5]])?;
    /// let data = Data::new(&points, &[1.0, 7.0, 3.0])?;
    /// assert_eq!(data.values(), [2.0, 7.0]);
    /// assert_eq!(data.counts(), [2.0, 1.0]);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn new(points: &Points, values: &[f64]) -> Result<Self> {
        Self::with_known_noise(points, values, &vec![None; points.len()])
    }

    /// As [`Data::new`], with the noise variance of those observations whose noise is known: finite
    /// and not negative, in the unit of the values squared.
    ///
    /// No value is known better than to its rounding: variances below (ε · largest |value|)² are
    /// raised to that, so that a variance of zero is a number like any other. Of several exact
    /// values at one point the mean counts.
    ///
    /// ```
    /// use unyoke_math::{Points, data::Data};
    ///
    /// let points = Points::from_rows(1, [[0.5], [0.5], [0.5]])?;
    /// let data = Data::with_known_noise(&points, &[1.0, 7.0, 3.0], &[Some(1.0), None, Some(3.0)])?;
    /// assert_eq!(data.values(), [1.5, 7.0]);
    /// assert_eq!((data.noise(0, 0.2), data.noise(1, 0.2)), (0.75, 0.2));
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn with_known_noise(
        points: &Points,
        values: &[f64],
        variances: &[Option<f64>],
    ) -> Result<Self> {
        check_shape("observed values", points.len(), values.len())?;
        check_shape("noise variances", points.len(), variances.len())?;
        points.check_finite("observed points")?;
        check_finite("observed values", values)?;
        check_variances(variances)?;
        let least = least_variance(values);
        let mut data = Self::empty(points.dim());
        for group in group_equal(points, variances) {
            let observed: Vec<f64> = group.iter().map(|&i| values[i]).collect();
            let own: Vec<f64> =
                group.iter().filter_map(|&i| variances[i]).map(|v| v.max(least)).collect();
            data.points.push(points.row(group[0]))?;
            data.counts.push(group.len() as f64);
            if own.is_empty() {
                data.push_shared(&observed);
            } else {
                data.push_known(&observed, &own);
            }
        }
        Ok(data)
    }

    /// Merges values at one point that share the model's noise.
    fn push_shared(&mut self, observed: &[f64]) {
        let count = observed.len() as f64;
        // Divided first: the sum of huge values may overflow where their mean does not.
        let mean: f64 = observed.iter().map(|y| y / count).sum();
        self.values.push(if let [only] = observed { *only } else { mean });
        self.known.push(None);
        self.replicates.extra += count - 1.0;
        self.replicates.log_counts += count.ln();
        self.replicates.scatter += observed.iter().map(|y| (y - mean).powi(2)).sum::<f64>();
    }

    /// Merges values at one point by their precisions 1/v.
    fn push_known(&mut self, observed: &[f64], variances: &[f64]) {
        // Relative to the largest precision, which itself may be infinite.
        let least = variances.iter().fold(f64::INFINITY, |least, v| least.min(*v));
        let total: f64 = variances.iter().map(|v| least / v).sum();
        let weighted = observed.iter().zip(variances).map(|(y, v)| least / v / total * y);
        let mean: f64 = if let [only] = observed { *only } else { weighted.sum() };
        let variance = least / total;
        self.values.push(mean);
        self.known.push(Some(variance));
        if observed.len() > 1 {
            let term = |(y, v): (&f64, &f64)| v.ln() + ((y - mean) / v.sqrt()).powi(2);
            let terms: f64 = observed.iter().zip(variances).map(term).sum();
            self.replicates.known += (observed.len() - 1) as f64 * LN_TAU + terms - variance.ln();
        }
    }

    /// No observations of points with `dim` coordinates.
    pub fn empty(dim: usize) -> Self {
        let (values, counts, known) = (vec![], vec![], vec![]);
        Self { points: Points::new(dim), values, counts, known, replicates: Replicates::default() }
    }

    /// The rows numbered `rows`, each with its mean, count and known noise.
    ///
    /// What replicates say about the noise is kept for all points, also for those left out: it does
    /// not depend on what the function is there, so a model of the subset may use it.
    pub fn subset(&self, rows: &[usize]) -> Self {
        Self {
            points: self.points.select(rows),
            values: rows.iter().map(|&i| self.values[i]).collect(),
            counts: rows.iter().map(|&i| self.counts[i]).collect(),
            known: rows.iter().map(|&i| self.known[i]).collect(),
            replicates: self.replicates,
        }
    }

    /// The point of each row, in order of first appearance; twice where observations of known noise
    /// and others met.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Mean of the values of each row, weighted by precision where their noise is known.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How many observations each row has. See [`Data::noise`] for the variance of their mean.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Noise variance of the value of row `row`, where `shared` is that of one observation whose
    /// noise is not known by itself.
    pub fn noise(&self, row: usize, shared: f64) -> f64 {
        self.known[row].unwrap_or_else(|| shared / self.counts[row])
    }

    /// Noise variance of each row's value where it is known.
    pub fn known_noise(&self) -> &[Option<f64>] {
        &self.known
    }

    /// Whether there are rows and none of them, nor what replicates say, depends on the shared noise.
    pub(crate) fn all_known(&self) -> bool {
        let shared = self.replicates.extra > 0.0 || self.known.contains(&None);
        !self.is_empty() && !shared
    }

    /// The median noise variance of one observation of known noise; of rows with several, as if
    /// these were alike.
    pub(crate) fn typical_known_noise(&self) -> Option<f64> {
        let rows = self.known.iter().zip(&self.counts);
        let mut each: Vec<f64> = rows.filter_map(|(v, n)| v.map(|v| v * n)).collect();
        each.sort_by(f64::total_cmp);
        each.get(each.len() / 2).copied()
    }

    /// Σ (y − mean at its point)², summed over all observations that share the model's noise; of a
    /// subset, over those of all the data it comes from.
    pub fn scatter(&self) -> f64 {
        self.replicates.scatter
    }

    pub(crate) fn replicates(&self) -> Replicates {
        self.replicates
    }

    /// Number of rows: of distinct points, those with both kinds of observations counted twice.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether nothing was observed.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// ln 2π.
pub(crate) const LN_TAU: f64 = 1.837_877_066_409_345_3;

fn check_variances(variances: &[Option<f64>]) -> Result<()> {
    match variances.iter().flatten().find(|v| !(v.is_finite() && **v >= 0.0)) {
        None => Ok(()),
        Some(&value) => {
            let must = "finite and not negative";
            Err(Error::OutOfRange { what: "noise variance of an observation", value, must })
        }
    }
}

/// Square of the rounding error of the largest value.
fn least_variance(values: &[f64]) -> f64 {
    let largest = values.iter().fold(0.0f64, |largest, y| largest.max(y.abs()));
    (f64::EPSILON * largest).powi(2).clamp(f64::MIN_POSITIVE, f64::MAX)
}

/// Indices of observations of one kind at equal points, groups in order of first appearance.
fn group_equal(points: &Points, variances: &[Option<f64>]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<(Vec<u64>, bool), usize> = HashMap::new();
    for (i, (row, variance)) in points.rows().zip(variances).enumerate() {
        // Adding zero turns -0.0 into 0.0.
        let key = row.iter().map(|v| (v + 0.0).to_bits()).collect();
        let group = *group_of.entry((key, variance.is_some())).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(i);
    }
    groups
}

/// The affine map that gives data mean 0 and sample standard deviation 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Standardizer {
    mean: f64,
    scale: f64,
}

/// Values that differ by less than this fraction of their size are rounding noise of a constant.
const CONSTANT: f64 = 1e-13;

/// What that noise may amount to once standardised.
const ROUNDING: f64 = 1e-4;

impl Standardizer {
    /// Mean and sample standard deviation (divisor n − 1) of `values`, all finite.
    ///
    /// Constant values and single values have scale 1; more where their rounding noise would be
    /// seen at that scale. Works at any magnitude.
    pub fn new(values: &[f64]) -> Result<Self> {
        check_finite("values to standardise", values)?;
        let (Some(&first), n) = (values.first(), values.len() as f64) else {
            return Ok(Self { mean: 0.0, scale: 1.0 });
        };
        // Differences from one of the values keep what distinguishes large values; halves of them
        // cannot overflow.
        let halves: Vec<f64> = values.iter().map(|v| 0.5 * v - 0.5 * first).collect();
        let spread = halves.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        let largest = values.iter().fold(0.0f64, |m, v| m.max(v.abs()));
        if spread <= CONSTANT * largest || spread < f64::MIN_POSITIVE {
            return Ok(Self { mean: first, scale: (spread / ROUNDING).max(1.0) });
        }
        let mean = halves.iter().map(|v| v / spread).sum::<f64>() / n;
        let squares: f64 = halves.iter().map(|v| (v / spread - mean).powi(2)).sum();
        let scale = (2.0 * spread * (squares / (n - 1.0)).sqrt()).min(f64::MAX);
        // Doubled last: values may be further apart than any number.
        Ok(Self { mean: 2.0 * (0.5 * first + spread * mean), scale })
    }

    /// Mean of the raw values.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Standard deviation of the raw values.
    pub fn scale(&self) -> f64 {
        self.scale
    }

    /// (y − mean)/scale.
    pub fn standardize(&self, y: f64) -> f64 {
        // Divided first when the difference would overflow.
        let difference = y - self.mean;
        if difference.is_finite() {
            difference / self.scale
        } else {
            y / self.scale - self.mean / self.scale
        }
    }

    /// v/scale²: what becomes of a variance. Where that is too large for a number, the largest one.
    pub fn standardize_variance(&self, v: f64) -> f64 {
        (v / self.scale / self.scale).min(f64::MAX)
    }

    /// mean + scale · z.
    pub fn restore(&self, z: f64) -> f64 {
        self.scale.mul_add(z, self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_further_apart_than_any_number_are_standardised() {
        let map = Standardizer::new(&[-1.7e308, 1.7e308, 0.0, 1e307]).unwrap();
        assert!(map.mean().abs() < 1e307 && map.scale() > 1e308, "{map:?}");
        for value in [-1.7e308, 1.7e308, 0.0] {
            let z = map.standardize(value);
            assert!(z.abs() < 2.0, "{z}");
            assert!((map.restore(z) - value).abs() < 1e293);
        }
    }

    #[test]
    fn replicates_are_merged_whatever_the_sign_of_zero() {
        let points = Points::from_rows(2, [[0.0, 1.0], [0.5, 1.0], [-0.0, 1.0]]).unwrap();
        let data = Data::new(&points, &[1.0, 5.0, 2.0]).unwrap();
        assert_eq!(data.len(), 2);
        assert_eq!(data.values(), [1.5, 5.0]);
        assert_eq!(data.counts(), [2.0, 1.0]);
        assert_eq!(data.scatter(), 0.5);
    }

    #[test]
    fn a_subset_keeps_means_and_counts_of_its_points_and_the_scatter_of_all() {
        let points = Points::from_rows(1, [[0.1], [0.5], [0.5], [0.9], [0.9]]).unwrap();
        let data = Data::new(&points, &[4.0, 1.0, 3.0, 5.0, 6.0]).unwrap();
        let subset = data.subset(&[2, 0]);
        assert_eq!(subset.points().as_flat(), [0.9, 0.1]);
        assert_eq!((subset.values(), subset.counts()), (&[5.5, 4.0][..], &[2.0, 1.0][..]));
        assert_eq!((subset.scatter(), data.scatter()), (2.5, 2.5));
        assert_eq!(subset.replicates(), data.replicates());
    }

    #[test]
    fn observations_of_known_noise_merge_by_precision_and_apart_from_the_others() {
        let points =
            Points::from_rows(1, [[0.5], [0.5], [0.1], [0.5], [-0.0], [0.5], [0.0]]).unwrap();
        let variances = [None, Some(0.5), Some(4.0), None, Some(1.0), Some(0.25), None];
        let values = [1.0, 3.0, 7.0, 2.0, 5.0, 6.0, 8.0];
        let data = Data::with_known_noise(&points, &values, &variances).unwrap();
        assert_eq!(data.points().as_flat(), [0.5, 0.5, 0.1, -0.0, 0.0]);
        assert_eq!(data.values(), [1.5, 5.0, 7.0, 5.0, 8.0]);
        assert_eq!(data.counts(), [2.0, 2.0, 1.0, 1.0, 1.0]);
        assert_eq!(data.known_noise(), [None, Some(0.25 / 1.5), Some(4.0), Some(1.0), None]);
        assert_eq!([0, 1, 2].map(|row| data.noise(row, 0.3)), [0.15, 0.25 / 1.5, 4.0]);
        assert_eq!((data.scatter(), data.replicates().extra), (0.5, 1.0));
        let subset = data.subset(&[4, 1]);
        assert_eq!(subset.known_noise(), [None, Some(0.25 / 1.5)]);
        assert_eq!(subset.replicates(), data.replicates());
    }

    #[test]
    fn extreme_variances_neither_overflow_nor_vanish() {
        let points = Points::from_rows(1, [[0.5]; 4]).unwrap();
        let merged = |variances: [f64; 4]| {
            let data = Data::with_known_noise(&points, &[1.0, 2.0, 4.0, 5.0], &variances.map(Some))
                .unwrap();
            assert!(data.replicates().known.is_finite());
            (data.values()[0], data.noise(0, 1.0))
        };
        let rounding = (5.0 * f64::EPSILON).powi(2);
        assert_eq!(merged([0.0; 4]), (3.0, rounding / 4.0));
        assert_eq!(merged([1e-300; 4]), (3.0, rounding / 4.0));
        assert_eq!(merged([1e300; 4]), (3.0, 2.5e299));
        assert_eq!(merged([f64::MAX; 4]), (3.0, f64::MAX / 4.0));
        assert_eq!(merged([1e300, 0.0, 1e-300, 1.0]).0, 3.0);
        let one = |variance: f64| {
            let point = Points::from_rows(1, [[0.5]]).unwrap();
            Data::with_known_noise(&point, &[0.0], &[Some(variance)]).unwrap().noise(0, 1.0)
        };
        assert_eq!([0.0, 1e-300, 0.7, 1e300].map(one), [f64::MIN_POSITIVE, 1e-300, 0.7, 1e300]);
    }

    #[test]
    fn variances_that_are_none_are_refused() {
        let points = Points::from_rows(1, [[0.0], [1.0]]).unwrap();
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let data = Data::with_known_noise(&points, &[0.0, 1.0], &[None, Some(bad)]);
            assert!(matches!(data, Err(Error::OutOfRange { .. })));
        }
        assert!(Data::with_known_noise(&points, &[0.0, 1.0], &[None]).is_err());
    }

    #[test]
    fn variances_are_standardised_by_the_square_of_the_scale() {
        let map = Standardizer::new(&[1.0, 3.0, 5.0]).unwrap();
        assert_eq!(map.standardize_variance(1.0), 0.25);
        let map = Standardizer::new(&[1e-300, 3e-300, 5e-300]).unwrap();
        assert_eq!(map.standardize_variance(1.0), f64::MAX);
        assert_eq!(map.standardize_variance(0.0), 0.0);
    }

    #[test]
    fn values_that_are_not_numbers_are_refused() {
        let points = Points::from_rows(1, [[0.0], [1.0]]).unwrap();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = Data::new(&points, &[0.0, bad]).unwrap_err();
            assert!(matches!(error, Error::NotFinite { index: 1, .. }));
            let bad_points = Points::from_rows(1, [[bad], [1.0]]).unwrap();
            assert!(Data::new(&bad_points, &[0.0, 1.0]).is_err());
        }
        assert!(Data::new(&points, &[0.0]).is_err());
    }

    #[test]
    fn standardised_values_have_mean_zero_and_deviation_one_at_any_magnitude() {
        for magnitude in [1e-300, 1e-12, 1.0, 1e12, 1e300, 1.7e308] {
            let values: Vec<f64> = [0.3, -0.7, 1.0, 0.1].iter().map(|v| v * magnitude).collect();
            let map = Standardizer::new(&values).unwrap();
            let z: Vec<f64> = values.iter().map(|&v| map.standardize(v)).collect();
            let mean: f64 = z.iter().sum::<f64>() / 4.0;
            let variance: f64 = z.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 3.0;
            assert!(mean.abs() < 1e-15 && (variance - 1.0).abs() < 1e-14, "{magnitude}");
            for (raw, z) in values.iter().zip(&z) {
                assert!((map.restore(*z) - raw).abs() < 1e-15 * magnitude);
            }
        }
    }

    #[test]
    fn constants_keep_their_scale_and_small_differences_of_large_values_survive() {
        for constant in [0.0, 1e9, -3.7, 1e300, 5e-324] {
            let map = Standardizer::new(&[constant; 3]).unwrap();
            assert_eq!(map.scale(), 1.0);
            assert_eq!(map.standardize(constant), 0.0);
        }
        assert_eq!(Standardizer::new(&[1.0, 1.0 + 1e-14, 1.0]).unwrap().scale(), 1.0);
        let noisy = Standardizer::new(&[1e20, 1e20f64.next_up(), 1e20]).unwrap();
        assert!(noisy.standardize(1e20f64.next_up()) <= 2e-4);
        assert_eq!(Standardizer::new(&[4.0]).unwrap().scale(), 1.0);
        assert_eq!(Standardizer::new(&[]).unwrap().scale(), 1.0);
        let map = Standardizer::new(&[1e12, 1e12 + 1.0, 1e12 + 2.0]).unwrap();
        assert_eq!((map.mean(), map.scale()), (1e12 + 1.0, 1.0));
        assert!(Standardizer::new(&[f64::NAN]).is_err());
    }
}
