//! What must hold for every Gaussian process: gradients, order of the data, replicates.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use unyoke_math::Points;
use unyoke_math::data::Data;
use unyoke_math::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::{Adjoint, Candidate, Gp};
use unyoke_math::kernel::{Family, Kernel};

const DIM: usize = 3;

fn family() -> impl Strategy<Value = Family> {
    prop_oneof![Just(Family::Matern52), Just(Family::Matern32), Just(Family::SquaredExponential)]
}

/// Designs in the unit cube with values, as rows of DIM + 1 numbers.
fn rows(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<Vec<f64>>> {
    prop::collection::vec(prop::collection::vec(0.0..1.0f64, DIM + 1), count)
}

fn data(rows: &[Vec<f64>]) -> Data {
    let points = Points::from_rows(DIM, rows.iter().map(|row| &row[..DIM])).unwrap();
    let values: Vec<f64> = rows.iter().map(|row| 4.0 * row[DIM] - 2.0).collect();
    Data::new(&points, &values).unwrap()
}

fn gp(family: Family, rows: &[Vec<f64>]) -> Gp {
    let kernel = Kernel::new(family, DIM, &[0.4, 0.7, 1.1], 1.5).unwrap();
    Gp::new(kernel, 0.3, 0.01, &data(rows)).unwrap()
}

fn central_difference(f: impl Fn(&[f64]) -> f64, x: &[f64], d: usize, h: f64) -> f64 {
    let at = |by: f64| {
        let mut moved = x.to_vec();
        moved[d] += by;
        f(&moved)
    };
    (at(h) - at(-h)) / (2.0 * h)
}

fn model(lengthscales: Lengthscales, noise: Noise, mean: Mean) -> Model {
    Model {
        family: Family::Matern52,
        lengthscales,
        lengthscale_prior: Some(Gamma::new(3.0, 6.0).unwrap().into()),
        lengthscale_spread: None,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise,
        mean,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn gradients_of_mean_and_variance_match_finite_differences(
        family in family(), rows in rows(0..12), x in prop::collection::vec(0.05..0.95f64, DIM),
    ) {
        let gp = gp(family, &rows);
        let query = gp.query(&x).unwrap();
        for d in 0..DIM {
            let mean = central_difference(|x| gp.predict(x).unwrap().mean, &x, d, 1e-5);
            prop_assert!((gp.gradient(&query, 1.0, 0.0)[d] - mean).abs() < 1e-6);
            let variance = central_difference(|x| gp.predict(x).unwrap().variance, &x, d, 1e-5);
            prop_assert!((gp.gradient(&query, 0.0, 1.0)[d] - variance).abs() < 1e-6);
        }
        let mut gradient = vec![0.0; DIM];
        let mean = gp.mean_with_gradient(&x, -1.7, &mut gradient).unwrap();
        prop_assert_eq!(mean, query.prediction().mean);
        prop_assert_eq!(gradient, gp.gradient(&query, -1.7, 0.0));
    }

    #[test]
    fn covariances_to_a_fixed_set_and_their_gradients_are_right(
        family in family(), rows in rows(0..12), x in prop::collection::vec(0.05..0.95f64, DIM),
        set in prop::collection::vec(prop::collection::vec(0.0..1.0f64, DIM), 0..9),
        weights in prop::collection::vec(-1.0..1.0f64, 11),
    ) {
        let gp = gp(family, &rows);
        let points = Points::from_rows(DIM, &set).unwrap();
        let fixed = gp.fixed_set(&points).unwrap();
        let mut candidate = Candidate::default();
        fixed.evaluate(&x, &mut candidate).unwrap();
        let mut all = points.clone();
        all.push(&x).unwrap();
        let joint = gp.joint(&all).unwrap();
        let adjoint = Adjoint { mean: weights[9], variance: weights[10], covariances: &weights[..set.len()] };
        for j in 0..set.len() {
            prop_assert!((candidate.covariances()[j] - joint.covariance(j, set.len())).abs() < 1e-12);
            prop_assert!((fixed.means()[j] - joint.means()[j]).abs() < 1e-12);
        }
        let quantity = |x: &[f64]| {
            let mut c = Candidate::default();
            fixed.evaluate(x, &mut c).unwrap();
            let sum: f64 = c.covariances().iter().zip(&weights).map(|(k, w)| k * w).sum();
            sum + weights[9] * c.prediction().mean + weights[10] * c.prediction().variance
        };
        let gradient = fixed.gradient(&candidate, adjoint).unwrap();
        for d in 0..DIM {
            let difference = central_difference(quantity, &x, d, 1e-5);
            prop_assert!((gradient[d] - difference).abs() < 1e-6, "{} {difference}", gradient[d]);
        }
    }

    #[test]
    fn a_fantasy_is_the_process_conditioned_on_its_outcome(
        family in family(), rows in rows(1..12),
        at in prop::collection::vec(0.0..1.0f64, DIM), x in prop::collection::vec(0.05..0.95f64, DIM),
    ) {
        let gp = gp(family, &rows);
        let outcomes = [-1.0, 0.2, 3.0];
        let fantasies = gp.fantasies(&at, &outcomes, gp.noise()).unwrap();
        for (f, outcome) in outcomes.iter().enumerate() {
            let mut grown = gp.clone();
            grown.append(&at, *outcome, gp.noise()).unwrap();
            prop_assert!((fantasies.means(&x).unwrap()[f] - grown.predict(&x).unwrap().mean).abs() < 1e-10);
            let expected = grown.gradient(&grown.query(&x).unwrap(), 1.0, 0.0);
            for (found, expected) in fantasies.mean_gradient(&x, f).unwrap().iter().zip(expected) {
                prop_assert!((found - expected).abs() < 1e-9);
            }
        }
    }

    #[test]
    fn imagined_values_are_drawn_one_after_the_other_and_conditioned_on(
        family in family(), rows in rows(1..12), at in rows(3..4),
        normals in prop::collection::vec(-3.0..3.0f64, 3),
    ) {
        let gp = gp(family, &rows);
        let places = Points::from_rows(DIM, at.iter().map(|row| &row[..DIM])).unwrap();
        let expected = gp.means(&places).unwrap();
        let believed = gp.condition_on(&places, &expected, 0.02).unwrap();
        let imagined = believed.imagine(&normals).unwrap();
        let mut one_by_one = gp.clone();
        for (x, z) in places.rows().zip(&normals) {
            let prediction = one_by_one.predict(x).unwrap();
            let value = prediction.mean + z * (prediction.variance + 0.02).sqrt();
            one_by_one.append(x, value, 0.02).unwrap();
        }
        let nothing = believed.imagine(&[0.0; 3]).unwrap();
        for row in &rows {
            let x: Vec<f64> = row[..DIM].iter().map(|v| 1.0 - v).collect();
            let (found, wanted) = (imagined.predict(&x).unwrap(), one_by_one.predict(&x).unwrap());
            prop_assert!((found.mean - wanted.mean).abs() < 1e-9);
            prop_assert!((found.variance - wanted.variance).abs() < 1e-9);
            let (found, wanted) = (nothing.predict(&x).unwrap(), gp.predict(&x).unwrap());
            prop_assert!((found.mean - wanted.mean).abs() < 1e-9);
        }
        // What it was conditioned on is told by leaving it out.
        let (found, wanted) = (imagined.leave_one_out(), one_by_one.leave_one_out());
        for (found, wanted) in found.iter().zip(wanted) {
            prop_assert!((found.value - wanted.value).abs() < 1e-9);
            prop_assert!((found.mean - wanted.mean).abs() < 1e-8);
        }
        prop_assert!(gp.imagine(&vec![0.0; gp.len() + 1]).is_err());
        prop_assert!(believed.imagine(&[f64::NAN]).is_err());
    }

    #[test]
    fn the_order_of_the_data_does_not_matter(family in family(), rows in rows(2..15), turn in 1usize..14) {
        let mut shuffled = rows.clone();
        shuffled.rotate_left(turn % rows.len());
        shuffled.swap(0, rows.len() / 2);
        let (a, b) = (gp(family, &rows), gp(family, &shuffled));
        for row in &rows {
            let x: Vec<f64> = row[..DIM].iter().map(|v| 1.0 - v).collect();
            prop_assert!((a.predict(&x).unwrap().mean - b.predict(&x).unwrap().mean).abs() < 1e-11);
            prop_assert!((a.predict(&x).unwrap().variance - b.predict(&x).unwrap().variance).abs() < 1e-11);
        }
    }

    #[test]
    fn merged_replicates_lose_nothing(rows in rows(2..8), copies in prop::collection::vec(0usize..8, 1..8)) {
        // The likelihood of all raw values one after another, each predicted from those before:
        // log p(y) = Σ log p(yᵢ | y₁..yᵢ₋₁), on a process that never merges.
        let mut raw = rows.clone();
        for (i, copy) in copies.iter().enumerate() {
            let mut row = rows[copy % rows.len()].clone();
            row[DIM] = (row[DIM] + 0.37 * (i + 1) as f64).fract();
            raw.push(row);
        }
        let merged = gp(Family::Matern52, &raw);
        let mut grown = gp(Family::Matern52, &[]);
        let mut log_likelihood = 0.0;
        for row in &raw {
            let (x, y) = (&row[..DIM], 4.0 * row[DIM] - 2.0);
            let before = grown.predict(x).unwrap();
            let variance = before.variance + 0.01;
            log_likelihood -= 0.5
                * ((y - before.mean).powi(2) / variance + (std::f64::consts::TAU * variance).ln());
            grown.append(x, y, 0.01).unwrap();
        }
        prop_assert_eq!(merged.len(), rows.len());
        let x = [0.3, 0.6, 0.9];
        prop_assert!((merged.predict(&x).unwrap().mean - grown.predict(&x).unwrap().mean).abs() < 1e-9);
        prop_assert!((merged.predict(&x).unwrap().variance - grown.predict(&x).unwrap().variance).abs() < 1e-9);
        let hyper = Hyper { lengthscales: vec![0.4, 0.7, 1.1], outputscale: 1.5, noise: 0.01, mean: 0.3 };
        let model = model(Lengthscales::PerInput, Noise::Fixed(0.01), Mean::Fixed(0.3));
        let found = model.log_posterior(&data(&raw), &hyper).unwrap().likelihood;
        prop_assert!((found - log_likelihood).abs() < 1e-8 * log_likelihood.abs().max(1.0));
    }

    #[test]
    fn a_subset_has_the_likelihood_of_its_points_and_of_all_deviations_from_means(
        rows in rows(3..8), shift in 0.1..0.9f64, noise in 0.01..1.0f64,
    ) {
        // Every point is observed twice. Two values with mean m and difference d have the density
        // of m times that of d, which is normal with variance 2σ².
        let again = |row: &Vec<f64>| {
            let mut row = row.clone();
            row[DIM] = (row[DIM] + shift).fract();
            row
        };
        let pairs = |rows: &[Vec<f64>]| -> Vec<Vec<f64>> {
            rows.iter().flat_map(|row| [row.clone(), again(row)]).collect()
        };
        let hyper = Hyper { lengthscales: vec![0.4, 0.7, 1.1], outputscale: 1.5, noise, mean: 0.3 };
        let model = model(Lengthscales::PerInput, Noise::Fixed(noise), Mean::Fixed(0.3));
        let kept = &rows[..2];
        let subset = data(&pairs(&rows)).subset(&[0, 1]);
        let found = model.log_posterior(&subset, &hyper).unwrap();
        let alone = model.log_posterior(&data(&pairs(kept)), &hyper).unwrap();
        let dropped = rows[2..].iter().map(|row| {
            let difference = 4.0 * (row[DIM] - again(row)[DIM]);
            let variance = 2.0 * noise;
            -0.5 * (difference.powi(2) / variance + (std::f64::consts::TAU * variance).ln())
        });
        let expected = alone.likelihood + dropped.sum::<f64>();
        let error = (found.likelihood - expected).abs();
        prop_assert!(error < 1e-10 * expected.abs().max(1.0), "{} {expected}", found.likelihood);
    }

    #[test]
    fn gradients_of_the_log_posterior_match_finite_differences(
        family in family(), rows in rows(2..10), replicate in any::<bool>(), shared in any::<bool>(),
        logs in prop::collection::vec(-1.0..1.0f64, DIM + 3),
    ) {
        let mut raw = rows.clone();
        if replicate {
            let mut copy = rows[0].clone();
            copy[DIM] = 1.0 - copy[DIM];
            raw.push(copy);
        }
        let data = data(&raw);
        let kind = if shared { Lengthscales::Isotropic } else { Lengthscales::PerInput };
        let noise = Noise::Fitted { prior: Some(Gamma::new(1.1, 0.05).unwrap()), lower: 1e-4 };
        let mut model = model(kind, noise, Mean::Fixed(0.1));
        model.family = family;
        let count = if shared { 1 } else { DIM };
        let hyper = |t: &[f64]| Hyper {
            lengthscales: t[3..3 + count].iter().map(|v| v.exp()).collect(),
            outputscale: t[0].exp(),
            noise: 0.1 * t[1].exp(),
            mean: t[2],
        };
        model.mean = Mean::Fixed(logs[2]);
        let value = |t: &[f64]| {
            let mut model = model.clone();
            model.mean = Mean::Fixed(t[2]);
            model.log_posterior(&data, &hyper(t)).unwrap().value()
        };
        let at = hyper(&logs);
        let gradient = model.log_posterior(&data, &at).unwrap().gradient;
        let mut expected = vec![gradient.outputscale * at.outputscale, gradient.noise * at.noise, gradient.mean];
        expected.extend(gradient.lengthscales.iter().zip(&at.lengthscales).map(|(g, l)| g * l));
        for (d, expected) in expected.iter().enumerate() {
            let found = central_difference(value, &logs, d, 1e-5);
            prop_assert!((found - expected).abs() < 1e-5 * (1.0 + expected.abs()), "{d}: {found} {expected}");
        }
    }

    #[test]
    fn the_fit_does_not_depend_on_the_order_of_the_data(rows in rows(5..12)) {
        let model = model(Lengthscales::Isotropic, Noise::Fixed(1e-2), Mean::Fitted);
        let mut reversed = rows.clone();
        reversed.reverse();
        let fit = |rows: &[Vec<f64>]| model.fit(&data(rows), None, &Search::default()).unwrap();
        prop_assert!((fit(&rows).log_posterior - fit(&reversed).log_posterior).abs() < 1e-8);
    }
}

#[test]
fn the_fit_is_the_same_on_one_thread_and_on_two() {
    let rows: Vec<Vec<f64>> = (0..20)
        .map(|i| (0..=DIM).map(|d| ((i * 7 + d * 3) as f64 * 0.618).fract()).collect())
        .collect();
    let model = model(Lengthscales::PerInput, Noise::Fixed(1e-4), Mean::Fitted);
    let run = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| model.fit(&data(&rows), None, &Search::default()).unwrap())
    };
    assert_eq!(run(1), run(2));
}
