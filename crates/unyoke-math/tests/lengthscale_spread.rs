//! Length scales that are expected to be alike.
#![allow(clippy::unwrap_used)]

use unyoke_math::data::Data;
use unyoke_math::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use unyoke_math::gamma::Gamma;
use unyoke_math::kernel::Family;
use unyoke_math::prior::{LogNormal, Prior};
use unyoke_math::{Points, sobol};

fn model(prior: Prior, spread: Option<f64>) -> Model {
    Model {
        family: Family::Matern52,
        lengthscales: Lengthscales::PerInput,
        lengthscale_prior: Some(prior),
        lengthscale_spread: spread,
        outputscale_prior: Some(Gamma::new(2.0, 0.15).unwrap()),
        noise: Noise::Fixed(1e-4),
        mean: Mean::Fixed(0.0),
    }
}

/// Values that depend on the first of three inputs only.
fn data() -> Data {
    let points: Points = sobol::cube(3, 12, 1).unwrap();
    let values: Vec<f64> = points.rows().map(|x| (4.0 * x[0]).sin()).collect();
    Data::new(&points, &values).unwrap()
}

#[test]
fn derivatives_match_finite_differences() {
    let data = data();
    for prior in [Gamma::new(3.0, 6.0).unwrap().into(), LogNormal::new(0.3, 1.3).unwrap().into()] {
        for spread in [None, Some(0.5), Some(2.0)] {
            let model = model(prior, spread);
            let lengthscales = vec![0.4, 1.1, 2.5];
            let hyper = Hyper { lengthscales, outputscale: 1.3, noise: 1e-4, mean: 0.0 };
            let gradient = model.log_posterior(&data, &hyper).unwrap().gradient;
            for d in 0..3 {
                let h = 1e-6 * hyper.lengthscales[d];
                let shifted = |h: f64| {
                    let mut moved = hyper.clone();
                    moved.lengthscales[d] += h;
                    model.log_posterior(&data, &moved).unwrap().value()
                };
                let difference = (shifted(h) - shifted(-h)) / (2.0 * h);
                let found = gradient.lengthscales[d];
                let error = (found - difference).abs();
                assert!(error <= 1e-6 * difference.abs().max(0.1), "{found} for {difference}");
            }
        }
    }
}

#[test]
fn a_small_spread_makes_length_scales_alike_and_a_large_one_lets_them_differ() {
    let ratio = |spread: f64| {
        let prior = LogNormal::new(0.0, 1.3).unwrap().into();
        let fit = model(prior, Some(spread)).fit(&data(), None, &Search::default()).unwrap();
        let scales = fit.hyper.lengthscales;
        scales[1].min(scales[2]) / scales[0]
    };
    assert!((ratio(0.01) - 1.0).abs() < 0.05, "{}", ratio(0.01));
    assert!(ratio(0.5) > 1.2 && ratio(2.0) > 2.0 * ratio(0.5), "{} {}", ratio(0.5), ratio(2.0));
}

/// Values that depend on the first of three inputs, where the last two are a group.
fn grouped(spread: Option<f64>) -> Model {
    let prior = LogNormal::new(0.3, 1.3).unwrap().into();
    Model { lengthscales: Lengthscales::Grouped(vec![0, 1, 1]), ..model(prior, spread) }
}

#[test]
fn the_derivative_of_a_group_is_the_sum_of_those_of_its_inputs() {
    let data = data();
    for spread in [None, Some(0.5)] {
        let model = grouped(spread);
        let at = |scales: [f64; 2]| {
            let lengthscales = vec![scales[0], scales[1], scales[1]];
            let hyper = Hyper { lengthscales, outputscale: 1.3, noise: 1e-4, mean: 0.0 };
            model.log_posterior(&data, &hyper).unwrap()
        };
        let slopes = at([0.4, 1.1]).gradient.lengthscales;
        let h = 1e-6;
        let first = (at([0.4 + h, 1.1]).value() - at([0.4 - h, 1.1]).value()) / (2.0 * h);
        let second = (at([0.4, 1.1 + h]).value() - at([0.4, 1.1 - h]).value()) / (2.0 * h);
        for (found, difference) in [(slopes[0], first), (slopes[1] + slopes[2], second)] {
            let error = (found - difference).abs();
            assert!(error <= 1e-6 * difference.abs().max(0.1), "{found} for {difference}");
        }
    }
}

#[test]
fn a_group_has_one_prior_however_many_inputs_it_has() {
    let (data, spread) = (data(), Some(0.5));
    let hyper =
        Hyper { lengthscales: vec![0.4, 1.1, 1.1], outputscale: 1.3, noise: 1e-4, mean: 0.0 };
    let of_groups = grouped(spread).log_posterior(&data, &hyper).unwrap().prior;
    // The same model of a function of two inputs has this prior.
    let two = Points::from_rows(2, data.points().rows().map(|x| [x[0], x[1]])).unwrap();
    let two = Data::new(&two, data.values()).unwrap();
    let alone = Hyper { lengthscales: vec![0.4, 1.1], ..hyper };
    let prior = LogNormal::new(0.3, 1.3).unwrap().into();
    let of_inputs = model(prior, spread).log_posterior(&two, &alone).unwrap().prior;
    assert_eq!(of_groups, of_inputs);
}

#[test]
fn a_fit_gives_the_inputs_of_a_group_the_same_length_scale() {
    let fit = grouped(Some(2.0)).fit(&data(), None, &Search::default()).unwrap();
    let scales = &fit.hyper.lengthscales;
    assert_eq!((scales.len(), scales[1]), (3, scales[2]));
    assert!(scales[1] > 2.0 * scales[0], "{scales:?}");
    // It is as good as any fit with these two equal, and a fit of each alone is no worse.
    let prior = LogNormal::new(0.3, 1.3).unwrap().into();
    let again = grouped(Some(2.0)).fit(&data(), Some(&fit.hyper), &Search::default()).unwrap();
    assert!((again.log_posterior - fit.log_posterior).abs() < 1e-5);
    for factor in [0.9, 1.1] {
        let mut moved = fit.hyper.clone();
        moved.lengthscales[1..].iter_mut().for_each(|l| *l *= factor);
        assert!(
            grouped(Some(2.0)).log_posterior(&data(), &moved).unwrap().value() < fit.log_posterior
        );
    }
    let singles =
        Model { lengthscales: Lengthscales::Grouped(vec![0, 1, 2]), ..model(prior, Some(0.5)) };
    let per_input = model(prior, Some(0.5)).fit(&data(), None, &Search::default()).unwrap();
    assert_eq!(singles.fit(&data(), None, &Search::default()).unwrap(), per_input);
}

#[test]
fn groups_that_leave_out_a_number_or_an_input_are_refused() {
    for groups in [vec![0, 2, 2], vec![1, 0, 0], vec![0, 1], vec![0, 1, 1, 1]] {
        let lengthscales = Lengthscales::Grouped(groups);
        let refused = Model { lengthscales, ..grouped(None) };
        assert!(refused.fit(&data(), None, &Search::default()).is_err());
    }
}
