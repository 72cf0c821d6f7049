//! How sure a model may be, by how far values were from what it had expected of them.
//!
//! Hyper-parameters are fitted to all values at once. Where a search goes, functions are often unlike the rest: flat
//! where nothing is left to gain, or steeper than anything seen before. A model whose deviations are too
//! large there goes on measuring what it knows; one whose deviations are too small believes in designs that it has
//! no reason to believe in, and measures what is cheap to confirm them. So its variances are multiplied
//! by how surprising the latest values that were searched for were. What it expects stays the same.

use super::Row;
use unyoke_math::data::Standardizer;
use unyoke_math::fit::Hyper;
use unyoke_math::kernel::Family;
use unyoke_math::linalg::Cholesky;
use unyoke_math::{Points, Result};

/// How many of the latest values count, and how many at most of the others say what was to be expected of them.
const LATEST: usize = 20;
const OTHERS: usize = 400;

/// For how many values that are just as far away as expected the fit speaks.
const FITTED: f64 = 5.0;

/// No value counts as further away than so many deviations: a single one may be an outlier.
const FARTHEST: f64 = 5.0;

/// Least and largest factor.
const BOUNDS: [f64; 2] = [0.04, 9.0];

/// By what variances are multiplied: ρ² = (a + Σ w²) / (a + n), where w = (y − μ) / s is how far one of the
/// latest n values was from what the values before it make the model expect there.
pub(super) fn variance_factor(
    rows: &[Row<'_>],
    map: &Standardizer,
    family: Family,
    hyper: &Hyper,
) -> Result<f64> {
    let (mut latest, others): (Vec<&Row<'_>>, Vec<&Row<'_>>) =
        rows.iter().partition(|row| row.searched);
    latest.sort_by_key(|row| row.evaluation);
    let earlier = latest.len().saturating_sub(LATEST);
    let latest_values = latest.split_off(earlier);
    if latest_values.is_empty() {
        return Ok(1.0);
    }
    let before: Vec<&Row<'_>> = others.into_iter().chain(latest).collect();
    let mut ordered = evenly_spread(&before, OTHERS);
    let first = ordered.len();
    ordered.extend(latest_values);
    let surprises = surprises(&ordered, map, family, hyper)?;
    let squares = surprises[first..].iter().map(|w| w.clamp(-FARTHEST, FARTHEST).powi(2));
    let factor = (FITTED + squares.sum::<f64>()) / (FITTED + (ordered.len() - first) as f64);
    Ok(if factor.is_finite() { factor.clamp(BOUNDS[0], BOUNDS[1]) } else { 1.0 })
}

/// How far each value is from what those before it make one expect, in deviations: L⁻¹ (y − μ), L the
/// Cholesky factor of the covariance of the values.
fn surprises(
    rows: &[&Row<'_>],
    map: &Standardizer,
    family: Family,
    hyper: &Hyper,
) -> Result<Vec<f64>> {
    let dim = rows.first().map_or(0, |row| row.x.len());
    let points = Points::from_rows(dim, rows.iter().map(|row| row.x))?;
    let mut covariance = hyper.kernel(family, dim)?.matrix(&points)?;
    for i in 0..rows.len() {
        covariance.set(i, i, covariance.get(i, i) + hyper.noise);
    }
    let mut away: Vec<f64> =
        rows.iter().map(|row| map.standardize(row.value) - hyper.mean).collect();
    Cholesky::new(&covariance)?.solve_lower(&mut away);
    Ok(away)
}

/// At most `most` of some rows.
fn evenly_spread<'r, 'a>(rows: &[&'r Row<'a>], most: usize) -> Vec<&'r Row<'a>> {
    let count = rows.len().min(most);
    (0..count).map(|i| rows[i * rows.len() / count]).collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::observed;
    use super::super::{Model, Observed};
    use super::*;
    use crate::config::{Config, Deviations};
    use crate::problem::Output;
    use unyoke_math::data::Data;
    use unyoke_math::sobol;

    fn hyper() -> Hyper {
        Hyper { lengthscales: vec![0.4, 0.7], outputscale: 1.3, noise: 1e-6, mean: 0.2 }
    }

    /// Rows of which all from number `first` on were searched for.
    fn rows<'a>(points: &'a Points, values: &[f64], first: usize) -> Vec<Row<'a>> {
        let row = |(i, value): (usize, &f64)| {
            let (evaluation, x) = (i as u64, points.row(i));
            Row { evaluation, x, value: *value, sd: None, searched: i >= first }
        };
        values.iter().enumerate().map(row).collect()
    }

    fn wave(x: &[f64]) -> f64 {
        (5.0 * x[0]).sin() + x[1] * x[1]
    }

    #[test]
    fn the_factor_is_that_of_predictions_made_one_by_one() {
        let points = sobol::cube(2, 60, 4).unwrap();
        let values: Vec<f64> = points.rows().map(wave).collect();
        let map = Standardizer::new(&values).unwrap();
        let standardised: Vec<f64> = values.iter().map(|value| map.standardize(*value)).collect();
        for (count, first) in [(12, 10), (20, 8), (60, 15)] {
            let mut squares = vec![];
            for i in first.max(count.max(LATEST) - LATEST)..count {
                let before: Vec<usize> = (0..i).collect();
                let data = Data::new(&points.select(&before), &standardised[..i]).unwrap();
                let gp = hyper().condition(Family::Matern52, &data).unwrap();
                let there = gp.predict(points.row(i)).unwrap();
                let error = standardised[i] - there.mean;
                squares.push((error * error / (there.variance + hyper().noise)).min(25.0));
            }
            let expected = (5.0 + squares.iter().sum::<f64>()) / (5.0 + squares.len() as f64);
            // The order of rows is that of their designs, not of their evaluations.
            let mut rows = rows(&points, &values[..count], first);
            rows.reverse();
            let factor = variance_factor(&rows, &map, Family::Matern52, &hyper()).unwrap();
            assert!((factor - expected).abs() < 1e-6 * expected, "{factor} {expected}");
            assert!(factor != 1.0);
        }
    }

    #[test]
    fn without_searches_models_are_as_sure_as_they_were_fitted() {
        let points = sobol::cube(2, 20, 4).unwrap();
        let values: Vec<f64> = points.rows().map(wave).collect();
        let map = Standardizer::new(&values).unwrap();
        let rows = rows(&points, &values, 20);
        assert_eq!(variance_factor(&rows, &map, Family::Matern52, &hyper()).unwrap(), 1.0);
    }

    /// Means and variances at 50 places, given that the last ten values were searched for.
    fn predictions(values: &[f64], points: &Points, deviations: Deviations) -> Vec<[f64; 2]> {
        let output = Output::maximise("f");
        let mut observed: Observed<'_> = observed(&output, points, values);
        let first = values.len() as u64 - 10;
        observed.rows.iter_mut().for_each(|row| row.searched = row.evaluation >= first);
        let config = Config { deviations, ..Config::default() };
        let model = Model::fit(&[observed], &config).unwrap();
        let found = model.objectives[0].predict_many(&sobol::cube(2, 50, 9).unwrap()).unwrap();
        found.iter().map(|p| [p.mean, p.variance]).collect()
    }

    #[test]
    fn means_stay_and_variances_follow_how_values_came_out() {
        // Wild in the left half, where the first designs are; then flat, as expected or not.
        let mut points = Points::new(2);
        for x in sobol::cube(2, 24, 5).unwrap().rows() {
            points.push(&[0.5 * x[0], x[1]]).unwrap();
        }
        let near = points.select(&(0..10).collect::<Vec<_>>());
        near.rows().for_each(|x| points.push(&[x[0] + 0.02, x[1] + 0.01]).unwrap());
        let wild = |x: &[f64]| (20.0 * x[0]).sin() + (15.0 * x[1]).cos();
        let mut values: Vec<f64> = points.rows().map(wild).collect();
        let ratio = |values: &[f64]| {
            let fitted = predictions(values, &points, Deviations::Fitted);
            let tested = predictions(values, &points, Deviations::Tested);
            let ratios: Vec<f64> = fitted.iter().zip(&tested).map(|(f, t)| t[1] / f[1]).collect();
            for (f, t) in fitted.iter().zip(&tested) {
                assert!((f[0] - t[0]).abs() < 1e-6, "{f:?} {t:?}");
            }
            assert!(ratios.iter().all(|ratio| (ratio / ratios[0] - 1.0).abs() < 1e-6));
            ratios[0]
        };
        let as_expected = ratio(&values);
        // Next to known values, others by half of their range.
        values.iter_mut().skip(24).enumerate().for_each(|(i, v)| *v += [1.0, -1.0][i % 2]);
        let surprising = ratio(&values);
        assert!(as_expected < 0.9 && surprising > 1.1, "{as_expected} {surprising}");
    }
}
