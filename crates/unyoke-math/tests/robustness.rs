//! Data that must not break the numerics: no panic, finite predictions or a typed error.
#![allow(clippy::unwrap_used)]

use unyoke_math::data::{Data, Standardizer};
use unyoke_math::fit::{Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::path::Path;
use unyoke_math::random::Rng;
use unyoke_math::{Error, Points};

fn models() -> Vec<Model> {
    let mut models = vec![];
    for family in [Family::Matern52, Family::Matern32, Family::SquaredExponential] {
        for lengthscales in [Lengthscales::Isotropic, Lengthscales::PerInput] {
            for noise in [Noise::Fixed(1e-4), Noise::Fitted { prior: None, lower: 1e-4 }] {
                models.push(Model {
                    family,
                    lengthscales: lengthscales.clone(),
                    lengthscale_prior: Some(Gamma::new(3.0, 6.0).unwrap().into()),
                    lengthscale_spread: None,
                    outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
                    noise,
                    mean: Mean::Fitted,
                });
            }
        }
    }
    models
}

/// Standardises, fits, predicts and samples; everything that comes out must be finite.
fn model_everything(rows: &[Vec<f64>], values: &[f64]) {
    let dim = rows.first().map_or(2, Vec::len);
    let points = Points::from_rows(dim, rows).unwrap();
    let map = Standardizer::new(values).unwrap();
    let standard: Vec<f64> = values.iter().map(|&y| map.standardize(y)).collect();
    let data = Data::new(&points, &standard).unwrap();
    for model in models() {
        let fit = model.fit(&data, None, &Search::default()).unwrap();
        let hyper = &fit.hyper;
        assert!(fit.log_posterior.is_finite(), "{hyper:?}");
        assert!(hyper.lengthscales.iter().all(|l| (1e-3..=1e3).contains(l)), "{hyper:?}");
        let gp = hyper.condition(model.family, &data).unwrap();
        let path = Path::draw(&gp, 32, &mut Rng::new(1, 1));
        for x in rows.iter().chain([&vec![0.37; dim]]) {
            let prediction = gp.predict(x).unwrap();
            assert!(prediction.mean.is_finite() && prediction.variance.is_finite());
            assert!(prediction.variance >= 0.0);
            assert!(gp.gradient(&gp.query(x).unwrap(), 1.0, 1.0).iter().all(|g| g.is_finite()));
            assert!(path.value(x).unwrap().is_finite());
        }
    }
}

fn line(count: usize) -> Vec<Vec<f64>> {
    (0..count).map(|i| vec![i as f64 / count.max(2) as f64, 0.5]).collect()
}

#[test]
fn no_points_and_one_point() {
    model_everything(&[], &[]);
    model_everything(&[vec![0.5, 0.5]], &[3.0]);
}

#[test]
fn duplicate_points_with_equal_and_with_different_values() {
    let rows = vec![vec![0.5, 0.5]; 3];
    model_everything(&rows, &[1.0, 1.0, 1.0]);
    model_everything(&rows, &[0.0, 1.0, 0.5]);
    let mut mixed = line(20);
    mixed.extend(vec![vec![0.25, 0.5]; 30]);
    let values: Vec<f64> = (0..50).map(|i| (i as f64).sin()).collect();
    model_everything(&mixed, &values);
}

#[test]
fn constant_values() {
    for constant in [0.0, 1e9, -1e-9] {
        model_everything(&line(8), &[constant; 8]);
    }
    let mut nearly = [1.0; 8];
    nearly[3] += 1e-14;
    model_everything(&line(8), &nearly);
}

#[test]
fn values_of_any_magnitude() {
    for magnitude in [5e-324, 1e-300, 1e-12, 1e12, 1e300, 1.7e308] {
        let values: Vec<f64> = (0..10).map(|i| (i as f64).sin() * magnitude).collect();
        model_everything(&line(10), &values);
    }
    let mut outlier = vec![0.5; 20];
    outlier[7] = 1e30;
    model_everything(&line(20), &outlier);
}

#[test]
fn two_points_one_ulp_apart_with_different_values() {
    let next = f64::from_bits(0.5f64.to_bits() + 1);
    model_everything(&[vec![0.5, 0.5], vec![next, 0.5], vec![0.1, 0.9]], &[0.0, 1.0, 0.3]);
    for gap in [1e-12, 1e-8] {
        model_everything(&[vec![0.5, 0.5], vec![0.5 + gap, 0.5]], &[0.0, 1.0]);
    }
}

#[test]
fn two_hundred_dimensions_and_ten_points() {
    let rows: Vec<Vec<f64>> = (0..10)
        .map(|i| (0..200).map(|d| ((i * 200 + d) as f64 * 0.618_034).fract()).collect())
        .collect();
    let values: Vec<f64> = rows.iter().map(|row| row.iter().sum()).collect();
    model_everything(&rows, &values);
}

#[test]
fn nan_and_infinities_are_typed_errors() {
    let points = Points::from_rows(1, [[0.0], [1.0]]).unwrap();
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let not_finite = |outcome: Result<(), Error>| {
            assert!(matches!(outcome, Err(Error::NotFinite { .. })), "{outcome:?}");
        };
        not_finite(Data::new(&points, &[1.0, bad]).map(|_| ()));
        not_finite(Standardizer::new(&[bad]).map(|_| ()));
        let kernel = Kernel::new(Family::Matern52, 1, &[0.5], 1.0).unwrap();
        let mut gp = Gp::new(kernel.clone(), 0.0, 0.0, &Data::empty(1)).unwrap();
        not_finite(gp.append(&[bad], 0.0, 0.1));
        not_finite(gp.append(&[0.0], bad, 0.1));
        not_finite(Gp::new(kernel.clone(), bad, 0.0, &Data::empty(1)).map(|_| ()));
        assert!(gp.append(&[0.0], 0.0, bad).is_err());
        assert!(Gp::new(kernel, 0.0, bad, &Data::empty(1)).is_err());
        assert!(gp.means(&Points::from_rows(1, [[bad]]).unwrap()).is_err());
        assert!(gp.fantasies(&[0.5], &[bad], 0.1).is_err());
        assert!(gp.predict(&[bad]).is_err() && gp.predict(&[0.1, 0.2]).is_err());
        assert!(gp.fantasies(&[0.5], &[1.0], 0.1).unwrap().mean_gradient(&[0.2], 1).is_err());
    }
    let flat = Points::from_rows(1, [[0.5], [0.5]]).unwrap();
    let twice = Data::new(&flat, &[0.0, 1.0]).unwrap();
    for noise in [0.0, -1.0, f64::NAN] {
        let model = Model { noise: Noise::Fixed(noise), ..models()[0].clone() };
        let outcome = model.fit(&twice, None, &Search::default());
        assert!(matches!(outcome, Err(Error::OutOfRange { .. })), "{noise}: {outcome:?}");
    }
    let noisy = Kernel::new(Family::Matern52, 1, &[0.5], 1.0).unwrap();
    assert!(Gp::new(noisy, 0.0, -1.0, &Data::empty(1)).is_err());
}

#[test]
fn raw_values_at_the_ends_of_the_number_range_can_be_conditioned_on() {
    for magnitude in [1e-300, 1e300] {
        let data = Data::new(
            &Points::from_rows(1, [[0.1], [0.5], [0.9]]).unwrap(),
            &[magnitude, -magnitude, 0.5 * magnitude],
        );
        let kernel = Kernel::new(Family::Matern52, 1, &[0.3], 1.0).unwrap();
        let gp = Gp::new(kernel, 0.0, 1e-4, &data.unwrap()).unwrap();
        assert!((gp.predict(&[0.1]).unwrap().mean / magnitude - 1.0).abs() < 1e-3);
    }
}

#[test]
fn a_smooth_kernel_on_a_hundred_close_points_is_factorised() {
    let step = 4.0 * std::f64::consts::PI / 99.0;
    let points = Points::from_rows(1, (0..100).map(|i| [i as f64 * step])).unwrap();
    let values: Vec<f64> = points.rows().map(|x| x[0].sin()).collect();
    let kernel = Kernel::new(Family::SquaredExponential, 1, &[1.47], 3.19).unwrap();
    let gp = Gp::new(kernel, 0.0, 0.0, &Data::new(&points, &values).unwrap()).unwrap();
    for (x, y) in points.rows().zip(&values) {
        assert!((gp.predict(x).unwrap().mean - y).abs() <= 1e-6);
    }
}

#[test]
fn conditioning_on_a_point_that_is_known_already_changes_nothing() {
    let data = Data::new(&Points::from_rows(1, [[0.5]]).unwrap(), &[1.0]).unwrap();
    let kernel = Kernel::new(Family::Matern52, 1, &[0.3], 1.0).unwrap();
    let gp = Gp::new(kernel, 0.0, 0.0, &data).unwrap();
    let again = gp.condition_on(&Points::from_rows(1, [[0.5]]).unwrap(), &[1.0], 0.0).unwrap();
    assert_eq!(again.len(), 1);
}
