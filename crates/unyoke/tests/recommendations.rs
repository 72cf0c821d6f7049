//! What decision makers lose who choose from the points of a front rather than among all designs.
#![allow(clippy::unwrap_used)]

use unyoke::{
    Config, Correlations, Design, FrontPoint, LengthscalePrior, Problem, Recommendations, Study,
};
use unyoke_math::Points;
use unyoke_math::pareto::hypervolume;

/// Number `i` of an evenly spread sequence in the unit cube (Roberts 2018).
fn spread<const D: usize>(i: usize) -> [f64; D] {
    // The root of xᴰ⁺¹ = x + 1 above 1.
    let root = (0..50).fold(1.5f64, |x, _| (1.0 + x).powf(1.0 / (D as f64 + 1.0)));
    std::array::from_fn(|d| (0.5 + (i + 1) as f64 * root.powi(-(d as i32 + 1))).fract())
}

/// A study that knows `values` of all objectives, each minimised, at the first `count` points.
fn informed<const D: usize, const M: usize>(
    count: usize,
    values: impl Fn([f64; D]) -> [f64; M],
) -> (Study, [f64; M]) {
    let parameters =
        (0..D).fold(Problem::builder(), |b, d| b.continuous(format!("x{d}"), 0.0, 1.0));
    let problem = (0..M).fold(parameters, |b, m| b.minimise(format!("f{m}"), 1.0));
    // What is lost depends on the front: it is that of models which stay as they are. It is compared by what
    // is expected, and so are choices.
    let config = Config {
        recommendations: Recommendations::Expected,
        lengthscale_prior: LengthscalePrior::Separate,
        correlations: Correlations::Ignored,
        ..Config::default()
    };
    let mut study = Study::with_config(problem.build().unwrap(), config, 0).unwrap();
    let points: Vec<[f64; D]> = (0..count).map(spread).collect();
    for x in &points {
        let design: Design = (0..D).map(|d| (format!("x{d}"), x[d].into())).collect();
        for (m, value) in values(*x).into_iter().enumerate() {
            study.tell_result(design.clone(), &format!("f{m}"), value).unwrap();
        }
    }
    let deviation = |m: usize| {
        let values: Vec<f64> = points.iter().map(|x| values(*x)[m]).collect();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        (squares / (count as f64 - 1.0)).sqrt()
    };
    (study, std::array::from_fn(deviation))
}

/// The mean over weights of what is lost, in the units in which utilities are weighed, by choosing
/// from a front of `points` rather than among all designs.
fn loss<const M: usize>(study: &Study, units: [f64; M], points: usize) -> f64 {
    const WEIGHTS: usize = 20;
    let front = study.front(points).unwrap();
    assert_eq!(front.points.len(), points);
    let mut total = 0.0;
    for i in 0..WEIGHTS {
        // Uniform on the simplex: exponentials, normalised.
        let draws = spread::<M>(i).map(|u: f64| -u.ln());
        let weights = draws.map(|draw| draw / draws.iter().sum::<f64>());
        let utility = |point: &FrontPoint| -> f64 {
            let terms = point.outputs.iter().zip(weights).zip(units);
            terms.map(|((forecast, weight), unit)| -weight * forecast.mean / unit).sum()
        };
        let best = utility(&study.best_for(&weights).unwrap());
        let lost = best - front.points.iter().map(utility).fold(f64::MIN, f64::max);
        // A climb ends where steps gain nothing to speak of.
        assert!(lost > -1e-6, "a point of the front is {lost} better for {weights:?}");
        total += lost;
    }
    total / WEIGHTS as f64
}

/// Vehicle safety (Liao et al. 2008): mass, acceleration and intrusion by five thicknesses.
fn vehicle_safety(u: [f64; 5]) -> [f64; 3] {
    let [x1, x2, x3, x4, x5] = u.map(|u| 1.0 + 2.0 * u);
    let mass = 1640.2823
        + 2.3573285 * x1
        + 2.3220035 * x2
        + 4.5688768 * x3
        + 7.7213633 * x4
        + 4.4559504 * x5;
    let acceleration = 6.5856 + 1.15 * x1 - 1.0427 * x2 + 0.9738 * x3 + 0.8364 * x4
        - 0.3695 * x1 * x4
        + 0.0861 * x1 * x5
        + 0.3628 * x2 * x4
        - 0.1106 * x1 * x1
        - 0.3437 * x3 * x3
        + 0.1764 * x4 * x4;
    let intrusion = -0.0551 + 0.0181 * x1 + 0.1024 * x2 + 0.0421 * x3 - 0.0073 * x1 * x2
        + 0.024 * x2 * x3
        - 0.0118 * x2 * x4
        - 0.0204 * x3 * x4
        - 0.008 * x3 * x5
        - 0.0241 * x2 * x2
        + 0.0109 * x4 * x4;
    [mass, acceleration, intrusion]
}

/// A wavy function of all inputs, another for each `m`.
fn waves<const D: usize>(x: [f64; D], m: usize) -> f64 {
    let wave = |d: usize| {
        let turns = 0.3 + 0.17 * ((3 * m + 5 * d) % 7) as f64;
        (std::f64::consts::TAU * (turns * x[d] + 0.31 * (m + d) as f64)).cos()
    };
    (0..D).map(wave).sum()
}

#[test]
fn choosing_from_fifty_points_loses_little_against_choosing_among_all_designs() {
    // In standard deviations of the objectives. Points that are evenly spread instead lose 0.011,
    // 0.002, 0.05 and 0.009 here.
    let (study, units) = informed(60, vehicle_safety);
    assert_loses_at_most(0.001, loss(&study, units, 50));
    let (study, units) = informed(50, |x: [f64; 4]| [waves(x, 0), waves(x, 1)]);
    assert_loses_at_most(0.0002, loss(&study, units, 50));
    let (study, units) = informed(50, |x: [f64; 3]| [waves(x, 2), waves(x, 3), waves(x, 4)]);
    assert_loses_at_most(0.005, loss(&study, units, 50));
    let (study, units) = informed(50, |x: [f64; 3]| [0, 1, 2, 3, 4].map(|m| waves(x, m)));
    assert_loses_at_most(0.006, loss(&study, units, 50));
}

fn assert_loses_at_most(bound: f64, loss: f64) {
    assert!(loss <= bound, "{loss} is lost, {bound} allowed");
}

#[test]
fn a_hollow_front_is_shown_between_its_ends_as_well() {
    // Of x against (1 − x)², linear utilities only ever want the ends.
    let (study, _) = informed(12, |[x]: [f64; 1]| [-x, -(1.0 - x).powi(2)]);
    let front = study.front(20).unwrap();
    let mut shown: Vec<f64> = front.points.iter().map(|p| p.outputs[0].mean).collect();
    shown.sort_by(f64::total_cmp);
    assert_eq!(shown.len(), 20);
    assert!(shown[0] < -0.99 && shown[19] > -0.01, "{shown:?}");
    assert!(shown.windows(2).all(|pair| pair[1] - pair[0] < 0.12), "{shown:?}");
}

/// Digits that no model of the design can know.
fn digits<const D: usize>(x: [f64; D]) -> f64 {
    (1e4 * x.iter().sum::<f64>()).sin()
}

#[test]
fn values_that_no_model_can_follow_do_not_make_predictions_jump() {
    let trend = |x: [f64; 2]| [x[0] + x[1].powi(2), (1.0 - x[0]).powi(2) + 0.5 * x[1]];
    let rough = |x: [f64; 2]| [trend(x)[0] + 0.05 * digits(x), trend(x)[1]];
    let (study, _) = informed(80, rough);
    let error = |m: usize, x: [f64; 2]| {
        let design: Design = (0..2).map(|d| (format!("x{d}"), x[d].into())).collect();
        (study.forecast(&design).unwrap().outputs[m].mean - trend(x)[m]).abs()
    };
    // Digits that were followed would show as they are: 0.05 times a sine.
    let errors: Vec<f64> = (0..80).map(|i| error(0, spread(i))).collect();
    let mean_square = errors.iter().map(|e| e.powi(2)).sum::<f64>() / errors.len() as f64;
    assert!(mean_square.sqrt() < 0.8 * 0.05 / 2f64.sqrt(), "{}", mean_square.sqrt());
    // What can be followed is followed as before.
    let most = (0..80).map(|i| error(1, spread(i))).fold(0.0, f64::max);
    assert!(most < 1e-3, "{most}");
}

#[test]
fn a_screened_set_is_as_large_as_one_of_a_hundred_generations() {
    let (low, high) = (0.0, 1.0);
    let problem = Problem::builder().continuous("a", low, high).continuous("b", low, high);
    let problem = problem.maximise("f", 1.0).maximise("g", 10.0).build().unwrap();
    let mut study = Study::with_config(problem, Config::paper(), 3).unwrap();
    let designs = unyoke_math::sobol::cube(2, 40, 5).unwrap();
    for (i, x) in designs.rows().enumerate() {
        let design = Design::new().with("a", x[0]).with("b", x[1]);
        // Each at designs of its own: no measured design is on a front.
        let (name, value) = match i % 3 {
            0 => ("g", (2.0 * x[0]).cos() + 0.5 * (5.0 * x[0] * x[1]).sin()),
            _ => ("f", (7.0 * x[0] + 4.0 * x[1]).sin() + x[0] * (9.0 * x[1]).cos()),
        };
        study.tell_result(design, name, value).unwrap();
    }
    let screened = study.predicted_means(usize::MAX).unwrap();
    for point in screened.iter().step_by(100) {
        let forecast = study.forecast(&point.design).unwrap();
        for (mean, output) in point.means.iter().zip(&forecast.outputs) {
            assert!((mean - output.mean).abs() < 1e-9);
        }
    }
    let long = study.front(usize::MAX).unwrap();
    let means = |point: &FrontPoint| [point.outputs[0].mean, point.outputs[1].mean];
    let long = Points::from_rows(2, long.points.iter().map(means)).unwrap();
    let screened = Points::from_rows(2, screened.iter().map(|point| &point.means)).unwrap();
    let low = |m: usize| long.rows().map(|row| row[m]).fold(f64::INFINITY, f64::min);
    let reference = [low(0) - 0.1, low(1) - 0.1];
    let [long, screened] = [&long, &screened].map(|set| hypervolume(set, &reference).unwrap());
    assert!(screened > (1.0 - 2e-4) * long, "{screened} {long}");
}

/// Some values of two objectives, the second of them at few designs, so that much is uncertain.
fn uncertain<const D: usize>(recommendations: Recommendations) -> Study {
    let builder = (0..D).fold(Problem::builder(), |b, d| b.continuous(format!("x{d}"), 0.0, 1.0));
    let problem = builder.minimise("f", 1.0).maximise("g", 10.0).build().unwrap();
    let config = Config { recommendations, ..Config::default() };
    let mut study = Study::with_config(problem, config, 3).unwrap();
    for i in 0..24 {
        let x: [f64; D] = spread(i);
        let design: Design = (0..D).map(|d| (format!("x{d}"), x[d].into())).collect();
        study.tell_result(design.clone(), "f", waves(x, 0)).unwrap();
        if i < 9 {
            study.tell_result(design, "g", waves(x, 1)).unwrap();
        }
    }
    study
}

/// Φ⁻¹(0.7).
const STEADY: f64 = 0.524_400_512_708_041;

#[test]
fn whoever_weighs_objectives_gets_what_is_reached_with_a_probability_of_seven_tenths() {
    let [steady, expected] =
        [Recommendations::Steady, Recommendations::Expected].map(uncertain::<3>);
    let front = steady.front(usize::MAX).unwrap();
    assert_eq!(front, expected.front(usize::MAX).unwrap());
    let unit = |k: usize| {
        let values = steady.evaluations().iter().filter_map(|e| e.reading(k)).map(|r| r.value);
        let values: Vec<f64> = values.collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let square = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>();
        (square / (values.len() - 1) as f64).sqrt()
    };
    let units = [unit(0), unit(1)];
    // f is minimised, g maximised.
    let utility = |point: &FrontPoint, weight: f64, deviations: f64| {
        let [f, g] = [&point.outputs[0], &point.outputs[1]];
        -weight * (f.mean + deviations * f.sd) / units[0]
            + (1.0 - weight) * (g.mean - deviations * g.sd) / units[1]
    };
    let mut differ = 0;
    for weight in [0.1, 0.3, 0.5, 0.7, 0.9] {
        let best = |deviations: f64| {
            let all = front.points.iter().map(|point| utility(point, weight, deviations));
            all.fold(f64::NEG_INFINITY, f64::max)
        };
        let sure = steady.best_for(&[weight, 1.0 - weight]).unwrap();
        let hoped = expected.best_for(&[weight, 1.0 - weight]).unwrap();
        assert!(utility(&sure, weight, STEADY) > best(STEADY) - 1e-9, "{weight}: {sure:?}");
        assert!(utility(&hoped, weight, 0.0) > best(0.0) - 1e-6, "{weight}: {hoped:?}");
        assert!(utility(&sure, weight, 0.0) <= utility(&hoped, weight, 0.0) + 1e-9);
        differ += usize::from(sure.design != hoped.design);
    }
    assert!(differ > 0, "nothing here depends on it");
}

#[test]
fn choices_are_told_beside_what_is_expected_and_searches_do_not_depend_on_them() {
    let [steady, expected] =
        [Recommendations::Steady, Recommendations::Expected].map(uncertain::<3>);
    assert_eq!(steady.suggest().unwrap(), expected.suggest().unwrap());
    let told = expected.predicted_means(30).unwrap();
    assert!(told.iter().all(|one| one.choices == one.means));
    let told = steady.predicted_means(30).unwrap();
    assert_eq!(told.len(), 30);
    for one in told {
        let outputs = steady.forecast(&one.design).unwrap().outputs;
        for (k, worse) in [(0, 1.0), (1, -1.0)] {
            // Deviations at recommended designs count twice.
            let choice = one.means[k] + worse * 2.0 * STEADY * outputs[k].sd;
            let close = 1e-9 * (1.0 + one.means[k].abs());
            assert!((one.choices[k] - choice).abs() < close, "{one:?} {:?}", outputs[k]);
        }
    }
}

#[test]
fn with_less_than_three_parameters_choices_go_by_what_is_expected() {
    let [steady, expected] =
        [Recommendations::Steady, Recommendations::Expected].map(uncertain::<2>);
    assert_eq!(steady.predicted_means(30).unwrap(), expected.predicted_means(30).unwrap());
    let weights = [0.5, 0.5];
    assert_eq!(steady.best_for(&weights).unwrap(), expected.best_for(&weights).unwrap());
}

#[test]
fn studies_begun_before_there_was_a_choice_and_the_published_experiment_go_by_what_is_expected() {
    assert_eq!(Config::default().recommendations, Recommendations::Steady);
    assert_eq!(Config::paper().recommendations, Recommendations::Expected);
    let mut written = serde_json::to_value(Config::default()).unwrap();
    assert!(written.as_object_mut().unwrap().remove("recommendations").is_some());
    let earlier: Config = serde_json::from_value(written).unwrap();
    assert_eq!(earlier.recommendations, Recommendations::Expected);
}
