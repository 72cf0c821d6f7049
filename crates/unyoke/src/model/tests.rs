//! Models of more values than a fit or a model can take.

use super::fit::{FIT_DESIGNS, MODEL_DESIGNS};
use super::*;
use crate::config::{Deterministic, LengthscalePrior, Lengthscales};
use crate::problem::GammaPrior;
use unyoke_math::random::Rng;
use unyoke_math::sobol;

fn isotropic() -> Config {
    Config { lengthscales: Lengthscales::Isotropic, ..Config::paper() }
}

/// The model of one objective on the unit square, from values at the given points.
fn belief(output: &Output, points: &Points, values: &[f64]) -> Belief {
    let observed = observed(output, points, values);
    let fitted = Model::fit(&[observed], &isotropic());
    fitted.unwrap().objectives.remove(0)
}

fn observed<'a>(output: &'a Output, points: &'a Points, values: &[f64]) -> Observed<'a> {
    let row = |(i, value): (usize, &f64)| Row {
        evaluation: i as u64,
        x: points.row(i),
        value: *value,
        sd: None,
        searched: false,
    };
    Observed {
        output,
        limit: None,
        sign: 1.0,
        dim: points.dim(),
        parameters: points.dim(),
        groups: (0..points.dim()).collect(),
        rows: values.iter().enumerate().map(row).collect(),
        expected: Points::new(points.dim()),
        pending: 0,
        known: None,
    }
}

fn smooth(x: &[f64]) -> f64 {
    (3.0 * x[0]).sin() + (2.0 * x[1]).cos()
}

/// Each of `designs` points `replicates` times, with values of deviation ½ about a smooth function.
fn replicated(designs: usize, replicates: usize) -> (Points, Vec<f64>) {
    let cube = sobol::cube(2, designs, 1).unwrap();
    let rows: Vec<&[f64]> = cube.rows().flat_map(|x| vec![x; replicates]).collect();
    let mut rng = Rng::new(7, 0);
    let values = rows.iter().map(|x| smooth(x) + 0.5 * rng.normal()).collect();
    (Points::from_rows(2, rows).unwrap(), values)
}

#[test]
fn noise_is_fitted_from_all_replicates_however_many_designs_there_are() {
    let output = Output::maximise("f").noisy();
    for designs in [FIT_DESIGNS - 50, FIT_DESIGNS + 50, 2 * FIT_DESIGNS - 1] {
        let (points, values) = replicated(designs, 3);
        let belief = belief(&output, &points, &values);
        let variance = belief.gp.noise() * belief.map.scale().powi(2);
        // Its relative standard error is √(2/1,000) at most.
        assert!((variance / 0.25 - 1.0).abs() < 0.15, "{variance} from {designs} designs");
        let of = designs;
        let note = ModelNote::FittedOnSubset { used: FIT_DESIGNS, of };
        assert_eq!(belief.notes.contains(&note), designs > FIT_DESIGNS, "{:?}", belief.notes);
    }
}

#[test]
fn values_at_the_same_design_are_merged_before_designs_are_left_out() {
    let output = Output::maximise("f").noisy();
    let (points, values) = replicated(80, 20);
    assert!(values.len() > MODEL_DESIGNS);
    let belief = belief(&output, &points, &values);
    assert_eq!((belief.gp.len(), belief.notes), (80, vec![]));
}

/// A narrow hill at the middle of the square, on a slope.
fn hill(x: &[f64]) -> f64 {
    let square = (x[0] - 0.5).powi(2) + (x[1] - 0.5).powi(2);
    x[0] + 3.0 * (-square / (2.0 * 0.04 * 0.04)).exp()
}

/// Designs on the hill, followed by more than a model can take of all others.
fn old_hill() -> Points {
    let near = sobol::cube(2, 60, 5).unwrap();
    let near = near.rows().map(|u| [0.45 + 0.1 * u[0], 0.45 + 0.1 * u[1]]);
    let far = sobol::cube(2, MODEL_DESIGNS + 200, 6).unwrap();
    let far = far.rows().filter(|x| (x[0] - 0.5).hypot(x[1] - 0.5) > 0.12);
    let far: Vec<[f64; 2]> = far.map(|x| [x[0], x[1]]).collect();
    Points::from_rows(2, near.chain(far)).unwrap()
}

#[test]
fn the_best_designs_stay_in_a_model_however_old_they_are() {
    let points = old_hill();
    let values: Vec<f64> = points.rows().map(hill).collect();
    let output = Output::maximise("f");
    let belief = belief(&output, &points, &values);
    assert_eq!(belief.gp.len(), MODEL_DESIGNS);
    let note = ModelNote::Subset { used: MODEL_DESIGNS, of: points.len() };
    assert!(belief.notes.contains(&note), "{:?}", belief.notes);
    for i in 0..60 {
        let predicted = belief.map.restore(belief.gp.predict(points.row(i)).unwrap().mean);
        assert!((predicted - values[i]).abs() < 0.05, "{predicted} at {:?}", points.row(i));
    }
}

#[test]
fn what_is_kept_does_not_depend_on_the_order_of_the_results() {
    let points = old_hill();
    let mut order: Vec<usize> = (0..points.len()).collect();
    Rng::new(3, 0).shuffle(&mut order);
    let output = Output::maximise("f");
    let predictions = |points: &Points| {
        let values: Vec<f64> = points.rows().map(hill).collect();
        let belief = belief(&output, points, &values);
        let grid = sobol::cube(2, 50, 8).unwrap();
        belief.gp.predict_many(&grid).unwrap()
    };
    assert_eq!(predictions(&points), predictions(&points.select(&order)));
}

#[test]
fn designs_that_are_good_for_another_objective_stay_as_well() {
    // Flat for the first objective, so that nothing of its own tells which designs matter.
    let points = old_hill();
    let flat: Vec<f64> = points.rows().map(|x| 0.01 * smooth(x)).collect();
    let other: Vec<f64> = points.rows().map(hill).collect();
    let (f, g) = (Output::maximise("f"), Output::maximise("g"));
    let observed = [observed(&f, &points, &flat), observed(&g, &points, &other)];
    let drafts = drafts(&observed, &isotropic(), &Fits::default()).unwrap();
    let [kept, _] = &modelled(&drafts).unwrap()[..] else { panic!() };
    let best = unyoke_math::optimize::largest(&other, 20);
    assert!(best.iter().all(|&i| kept.points().rows().any(|x| x == points.row(i))));
}

/// A constraint that is this formula of two inputs, at most 0.6.
fn formula(text: &str) -> Constraint {
    let output = Output::at_most("load", 0.6).with_formula(text);
    let problem = crate::Problem::builder().continuous("a", 0.0, 1.0).continuous("b", 0.0, 1.0);
    let problem = problem.maximise("f", 1.0).output(output.clone()).build().unwrap();
    let space = crate::space::Space::new(&problem);
    let known = Known::new(&problem, &space, 1).unwrap();
    let points = Points::new(2);
    let observed = Observed { known, limit: Some(-0.6), ..observed(&output, &points, &[]) };
    Model::fit(&[observed], &isotropic()).unwrap().constraints.remove(0)
}

#[test]
fn a_constraint_that_is_a_formula_holds_or_does_not() {
    let constraint = formula("a + b");
    let points = Points::from_rows(2, [[0.1, 0.2], [0.3, 0.3], [0.3, 0.301], [1.0, 1.0]]).unwrap();
    assert_eq!(constraint.probabilities(&points).unwrap(), [1.0, 1.0, 0.0, 0.0]);
    // Climbers see the same but for a little, and a slope where it falls.
    let mut last = 1.0;
    for i in 0..=300 {
        let x = [0.3, 0.297 + 2e-5 * f64::from(i)];
        let likelihood = constraint.likelihood(&x, &mut Query::default()).unwrap();
        let (again, slope) = constraint.likelihood_slope(&x, &Query::default()).unwrap();
        assert!(likelihood == again && likelihood <= last);
        last = likelihood;
        let h = 1e-7;
        let at = |b: f64| constraint.likelihood(&[x[0], b], &mut Query::default()).unwrap();
        let numeric = (at(x[1] + h) - at(x[1] - h)) / (2.0 * h);
        assert!((slope[1] - numeric).abs() < 1e-3 * (1.0 + numeric.abs()), "{slope:?} {numeric}");
    }
    assert!(constraint.likelihood(&[0.3, 0.3], &mut Query::default()).unwrap() > 0.99);
    assert!(last < 1e-6, "{last}");
}

/// The fitted length scales of a plane over five inputs, of which the first matters most.
fn lengthscales_of_plane(config: &Config, output: &Output) -> Vec<f64> {
    let points = sobol::cube(5, 24, 1).unwrap();
    let plane = |x: &[f64]| 4.0 * x[0] + x[1..].iter().sum::<f64>();
    let values: Vec<f64> = points.rows().map(plane).collect();
    let fitted = Model::fit(&[observed(output, &points, &values)], config).unwrap();
    let inverse = fitted.objectives[0].gp.kernel().inverse_lengthscales().to_vec();
    inverse.iter().map(|inverse| 1.0 / inverse).collect()
}

#[test]
fn in_many_inputs_length_scales_are_long_and_alike_unless_others_are_asked_for() {
    let plain = Output::maximise("f");
    let default = Config::default();
    let separate = Config { lengthscale_prior: LengthscalePrior::Separate, ..default.clone() };
    let alike = lengthscales_of_plane(&default, &plain);
    let published = lengthscales_of_plane(&separate, &plain);
    let shortest = |scales: &[f64]| scales.iter().copied().fold(f64::INFINITY, f64::min);
    assert!(shortest(&alike) > 1.5 * shortest(&published), "{alike:?} {published:?}");
    let ratio = |scales: &[f64]| scales[1] / scales[0];
    assert!((1.0..4.0).contains(&ratio(&alike)), "{alike:?}");
    // A prior of the user's is of each length scale, or of what they have in common.
    let mut own = Output::maximise("f");
    own.priors.lengthscale = Some(GammaPrior { shape: 3.0, rate: 6.0 / 2.5_f64.sqrt() });
    assert_eq!(lengthscales_of_plane(&separate, &own), published);
    let own = lengthscales_of_plane(&default, &own);
    assert!(shortest(&own) < shortest(&alike), "{own:?} {alike:?}");
}

#[test]
fn the_inputs_of_a_categorical_parameter_share_a_length_scale_in_new_studies() {
    // The second parameter has three inputs, of which the first matters most.
    let points = sobol::cube(4, 30, 4).unwrap();
    let value = |x: &[f64]| x[0] + (5.0 * x[1]).sin() + 0.3 * x[2];
    let values: Vec<f64> = points.rows().map(value).collect();
    let output = Output::maximise("f");
    let observed =
        Observed { parameters: 2, groups: vec![0, 1, 1, 1], ..observed(&output, &points, &values) };
    let scales = |lengthscale_prior: LengthscalePrior| {
        let config = Config { lengthscale_prior, ..Config::default() };
        let model = Model::fit(std::slice::from_ref(&observed), &config).unwrap();
        model.objectives[0].gp.kernel().inverse_lengthscales().to_vec()
    };
    let alike = scales(LengthscalePrior::Alike);
    assert!(alike[1] == alike[2] && alike[2] == alike[3] && alike[0] != alike[1], "{alike:?}");
    // Studies that were begun earlier go on as they were.
    let separate = scales(LengthscalePrior::Separate);
    assert!(separate[1] > 1.5 * separate[3], "{separate:?}");
}

/// The noise variance of the model of a deterministic objective, standardised.
fn adapted_noise(f: impl Fn(&[f64]) -> f64, deterministic: Deterministic) -> f64 {
    let points = sobol::cube(2, 60, 3).unwrap();
    let values: Vec<f64> = points.rows().map(f).collect();
    let output = Output::maximise("f");
    let config = Config { deterministic, ..Config::default() };
    let model = Model::fit(&[observed(&output, &points, &values)], &config).unwrap();
    assert!(model.objectives[0].notes.is_empty(), "{:?}", model.objectives[0].notes);
    model.objectives[0].gp.noise()
}

#[test]
fn models_follow_smooth_functions_closely_and_others_as_far_as_they_can() {
    assert!(adapted_noise(smooth, Deterministic::Adaptive) < 1e-5);
    // Digits that no model of the design can know, a fiftieth of the deviation.
    let rough = |x: &[f64]| smooth(x) + 0.02 * (1e4 * (x[0] + x[1])).sin();
    let noise = adapted_noise(rough, Deterministic::Adaptive);
    assert!((2e-5..2e-3).contains(&noise), "{noise}");
    assert_eq!(adapted_noise(rough, Deterministic::Interpolated), 1e-6);
    assert_eq!(adapted_noise(rough, Deterministic::Smoothed), 1e-4);
}
