//! Observations as a Gaussian process wants them: replicates merged, outputs standardised.

use crate::error::{Result, check_finite, check_shape};
use crate::points::Points;
use std::collections::HashMap;

/// Observed values at points, repeated measurements of a point merged into one row.
///
/// Merging loses nothing: a Gaussian likelihood depends on replicates only through their mean,
/// their count and their scatter about the mean, all of which are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    points: Points,
    values: Vec<f64>,
    counts: Vec<f64>,
    replicates: Replicates,
}

/// What repeated measurements say about the noise alone. The likelihood of a noise variance σ² is
/// (2πσ²)^(−extra/2) exp(−½ log_counts − scatter/2σ²), whatever the function is.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Replicates {
    /// Σ (count − 1).
    pub(crate) extra: f64,
    /// Σ ln count.
    pub(crate) log_counts: f64,
    /// Σ (y − mean at its point)².
    pub(crate) scatter: f64,
}

impl Data {
    /// Takes one value per point, all finite.
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
        check_shape("observed values", points.len(), values.len())?;
        points.check_finite("observed points")?;
        check_finite("observed values", values)?;
        let groups = group_equal(points);
        let mut data = Self {
            points: Points::new(points.dim()),
            values: vec![],
            counts: vec![],
            replicates: Replicates::default(),
        };
        for group in &groups {
            let count = group.len() as f64;
            // Divided first: the sum of huge values may overflow where their mean does not.
            let mean: f64 = group.iter().map(|&i| values[i] / count).sum();
            data.points.push(points.row(group[0]))?;
            data.values.push(if group.len() == 1 { values[group[0]] } else { mean });
            data.counts.push(count);
            data.replicates.extra += count - 1.0;
            data.replicates.log_counts += count.ln();
            data.replicates.scatter +=
                group.iter().map(|&i| (values[i] - mean).powi(2)).sum::<f64>();
        }
        Ok(data)
    }

    /// No observations of points with `dim` coordinates.
    pub fn empty(dim: usize) -> Self {
        let (values, counts, replicates) = (vec![], vec![], Replicates::default());
        Self { points: Points::new(dim), values, counts, replicates }
    }

    /// The points numbered `rows`, each with its mean and count.
    ///
    /// What replicates say about the noise is kept for all points, also for those left out: it does
    /// not depend on what the function is there, so a model of the subset may use it.
    pub fn subset(&self, rows: &[usize]) -> Self {
        Self {
            points: self.points.select(rows),
            values: rows.iter().map(|&i| self.values[i]).collect(),
            counts: rows.iter().map(|&i| self.counts[i]).collect(),
            replicates: self.replicates,
        }
    }

    /// The distinct points, in order of first appearance.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// Mean of the values observed at each point.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// How often each point was observed.
    pub fn counts(&self) -> &[f64] {
        &self.counts
    }

    /// Σ (y − mean at its point)², summed over all observations; of a subset, over those of all the
    /// data it comes from.
    pub fn scatter(&self) -> f64 {
        self.replicates.scatter
    }

    pub(crate) fn replicates(&self) -> Replicates {
        self.replicates
    }

    /// Number of distinct points.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Whether nothing was observed.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Indices of equal points, groups in order of first appearance.
fn group_equal(points: &Points) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<Vec<u64>, usize> = HashMap::new();
    for (i, row) in points.rows().enumerate() {
        // Adding zero turns -0.0 into 0.0.
        let key = row.iter().map(|v| (v + 0.0).to_bits()).collect();
        let group = *group_of.entry(key).or_insert(groups.len());
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
        Ok(Self { mean: first + 2.0 * spread * mean, scale })
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

    /// mean + scale · z.
    pub fn restore(&self, z: f64) -> f64 {
        self.scale.mul_add(z, self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;

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
