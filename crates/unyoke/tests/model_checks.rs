//! How far models can be trusted, as a study says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use unyoke::{
    Accuracy, Confidence, Design, KnownHyper, Measurement, ModelCheck, Output, Problem, Reading,
    Study,
};

/// `drag` is positive and on a log scale, `lift` has noise, `price` is a formula. The first two have
/// known hyper-parameters, which do not change when a value is left out.
fn problem() -> Problem {
    let hyper =
        |mean: f64| KnownHyper { lengthscales: vec![0.4], outputscale: 1.3, noise: 0.01, mean };
    Problem::builder()
        .continuous("x", 0.0, 2.0)
        .output(Output::minimise("drag").log_scale().with_hyper(hyper(0.5)))
        .output(Output::maximise("lift").noisy().with_hyper(hyper(-0.2)))
        .output(Output::minimise("price").with_formula("x^2"))
        .measurement(Measurement::new("drag", ["drag"], 3.0))
        .measurement(Measurement::new("lift", ["lift"], 1.0))
        .build()
        .unwrap()
}

const PLACES: [f64; 7] = [0.1, 0.35, 0.6, 1.0, 1.2, 1.7, 2.0];

fn results() -> Vec<(Design, String, Reading)> {
    let at = |x: f64| Design::new().with("x", x);
    let reading = |value: f64, sd: Option<f64>| Reading { value, sd };
    let drag = |x: &f64| (at(*x), "drag".to_owned(), reading((1.0 + (3.0 * x).sin()).exp(), None));
    let mut results: Vec<_> = PLACES.iter().map(drag).collect();
    for (i, x) in PLACES.iter().enumerate() {
        let sd = (i % 3 == 0).then_some(0.2);
        results.push((at(*x), "lift".to_owned(), reading((2.0 * x).cos(), sd)));
    }
    // The second design twice.
    results.push((at(PLACES[1]), "lift".to_owned(), reading(0.9, None)));
    results
}

fn study(results: &[(Design, String, Reading)]) -> Study {
    let mut study = Study::new(problem()).unwrap();
    study.tell_results(results).unwrap();
    study
}

#[test]
fn each_value_is_compared_with_what_a_study_without_it_expects() {
    let results = results();
    let checks = study(&results).model_checks().unwrap();
    let names: Vec<&str> = checks.iter().map(|check| check.output.as_str()).collect();
    assert_eq!(names, ["drag", "lift"], "a formula has no model");
    for (k, check) in checks.iter().enumerate() {
        assert_eq!((check.designs, check.left_out.len()), (7, 7));
        for value in &check.left_out {
            let is_other = |(i, _): &(usize, &_)| !value.evaluations.contains(&(*i as u64));
            let others = results.iter().enumerate().filter(is_other).map(|(_, r)| r.clone());
            let without = study(&others.collect::<Vec<_>>());
            let expected = without.forecast(&value.design).unwrap().outputs[k].clone();
            let error = (value.mean - expected.mean).abs() / expected.mean.abs();
            assert!(error < 1e-8, "{value:?} {expected:?}");
            // A forecast is of the function, without the noise of a measurement.
            assert!(value.sd > expected.sd && value.low < value.mean && value.mean < value.high);
        }
    }
}

#[test]
fn values_are_given_as_they_were_measured_with_their_evaluations() {
    let checks = study(&results()).model_checks().unwrap();
    let [drag, lift] = &checks[..] else { panic!("{checks:?}") };
    let numbers = |check: &ModelCheck| {
        check.left_out.iter().map(|value| value.evaluations.clone()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(drag), (0..7).map(|i| vec![i]).collect::<Vec<_>>());
    assert_eq!(numbers(lift)[1], [8, 14], "both values at the second design");
    for (value, (_, _, reading)) in drag.left_out.iter().zip(results()) {
        assert_eq!(value.measured, reading.value);
    }
    let twice = (0.7f64.cos() + 0.9) / 2.0;
    assert!((lift.left_out[1].measured - twice).abs() < 1e-12);
    for value in &lift.left_out {
        // Larger than expected is positive, whatever is wanted.
        let off = (value.measured - value.mean) / value.sd;
        assert!((value.deviations - off).abs() < 1e-9, "{value:?}");
    }
    for value in &drag.left_out {
        assert_eq!(value.deviations > 0.0, value.measured > value.mean, "{value:?}");
    }
}

#[test]
fn a_smooth_function_is_predicted_well_and_noise_is_not() {
    let problem = Problem::builder()
        .continuous("x", 0.0, 1.0)
        .output(Output::minimise("smooth"))
        .output(Output::minimise("noise").noisy())
        .output(Output::minimise("equal"))
        .output(Output::minimise("rare"))
        .measurement(Measurement::new("run", ["smooth", "noise", "equal", "rare"], 1.0));
    let mut study = Study::new(problem.build().unwrap()).unwrap();
    for i in 0..24u32 {
        let at = |x: f64| Design::new().with("x", x);
        let x = f64::from(i) / 23.0;
        study.tell_result(at(x), "smooth", (5.0 * x).sin()).unwrap();
        // The fractional parts of multiples of a large number have nothing to do with x.
        study.tell_result(at(x), "noise", (f64::from(i) * 7193.618).fract()).unwrap();
        study.tell_result(at(x), "equal", 3.5).unwrap();
        if i < 3 {
            study.tell_result(at(x), "rare", x).unwrap();
        }
    }
    let checks = study.model_checks().unwrap();
    let accuracy: Vec<Accuracy> = checks.iter().map(|check| check.accuracy).collect();
    let expected = [Accuracy::Good, Accuracy::Poor, Accuracy::Constant, Accuracy::TooFew];
    assert_eq!(accuracy, expected, "{checks:?}");
    assert!(checks[0].explained.unwrap() > 0.999);
    let noise = &checks[1];
    assert_eq!(noise.confidence, Confidence::Right, "it says that it does not know");
    assert!((noise.error_ratio.unwrap() - 1.0).abs() < 0.3, "{:?}", noise.error_ratio);
    assert!(noise.verdict().starts_with("knows little yet"));
    assert_eq!((checks[2].worst(), checks[3].designs), (None, 3));
}

#[test]
fn a_study_without_values_has_nothing_to_check() {
    let checks = Study::new(problem()).unwrap().model_checks().unwrap();
    assert_eq!(checks.len(), 2);
    assert!(checks.iter().all(|check| check.designs == 0 && check.left_out.is_empty()));
}
