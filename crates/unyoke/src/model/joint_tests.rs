//! When objectives are modelled together, and that everything then says the same.

use super::*;
use crate::config::Lengthscales;
use unyoke_math::sobol;

fn learned() -> Config {
    Config { lengthscales: Lengthscales::Isotropic, ..Config::default() }
}

fn wave(x: &[f64]) -> f64 {
    (6.0 * x[0]).sin() + (5.0 * x[1] + 1.0).cos()
}

/// Values of one objective.
struct Seen {
    output: Output,
    points: Points,
    values: Vec<f64>,
    expected: Points,
}

impl Seen {
    fn new(name: &str, count: usize, seed: u64, f: impl Fn(&[f64]) -> f64) -> Self {
        let points = sobol::cube(2, count, seed).unwrap();
        let values = points.rows().map(f).collect();
        Self { output: Output::maximise(name), points, values, expected: Points::new(2) }
    }

    fn observed(&self) -> Observed<'_> {
        let row = |(i, value): (usize, &f64)| Row {
            evaluation: i as u64,
            x: self.points.row(i),
            value: *value,
            sd: None,
            searched: false,
        };
        Observed {
            output: &self.output,
            limit: None,
            sign: 1.0,
            dim: 2,
            parameters: 2,
            groups: vec![0, 1],
            rows: self.values.iter().enumerate().map(row).collect(),
            expected: self.expected.clone(),
            pending: self.expected.len(),
            known: None,
        }
    }
}

fn model(seen: &[&Seen], config: &Config) -> Model {
    let observed: Vec<Observed<'_>> = seen.iter().map(|one| one.observed()).collect();
    Model::fit(&observed, config).unwrap()
}

/// Many values of an objective, and few of another that nearly follows it.
fn conflicting() -> [Seen; 2] {
    let cheap = Seen::new("cheap", 40, 1, wave);
    let expensive = Seen::new("expensive", 14, 2, |x| 3.0 - 2.0 * wave(x) + 0.3 * x[0]);
    [cheap, expensive]
}

#[test]
fn objectives_that_follow_each_other_are_modelled_together_and_better() {
    let [cheap, expensive] = conflicting();
    let joint = model(&[&cheap, &expensive], &learned());
    let correlations = joint.joint.as_ref().unwrap().correlations();
    let [([0, 1], r)] = correlations[..] else { panic!("{correlations:?}") };
    assert!(r < -0.9, "{r}");
    let ignored = Config { correlations: Correlations::Ignored, ..learned() };
    let alone = model(&[&cheap, &expensive], &ignored);
    assert!(alone.joint.is_none() && alone.objectives.iter().all(|b| b.joint.is_none()));
    let error = |model: &Model| {
        let belief = &model.objectives[1];
        let tests = sobol::cube(2, 100, 7).unwrap();
        let square = |x: &[f64]| {
            let mean = belief.map.restore(belief.predict(x).unwrap().mean);
            (mean - (3.0 - 2.0 * wave(x) + 0.3 * x[0])).powi(2)
        };
        tests.rows().map(square).sum::<f64>().sqrt()
    };
    assert!(error(&joint) < 0.5 * error(&alone), "{} {}", error(&joint), error(&alone));
}

#[test]
fn objectives_stay_together_when_one_has_more_values_than_are_fitted() {
    let [_, expensive] = conflicting();
    let many = Seen::new("cheap", 240, 1, wave);
    let joint = model(&[&many, &expensive], &learned()).joint.unwrap();
    assert_eq!(joint.model.len(), 254, "all values count");
    let [(_, r)] = joint.correlations()[..] else { panic!("one pair") };
    assert!(r < -0.9, "{r}");
}

#[test]
fn objectives_that_have_nothing_in_common_stay_apart() {
    let cheap = Seen::new("cheap", 40, 1, wave);
    let other = Seen::new("other", 14, 2, |x| (4.0 * (x[0] - x[1])).cos() + x[1]);
    assert!(model(&[&cheap, &other], &learned()).joint.is_none());
}

#[test]
fn one_objective_too_many_values_or_known_hyper_parameters_leave_models_apart() {
    let [cheap, mut expensive] = conflicting();
    assert!(model(&[&cheap], &learned()).joint.is_none());
    let many = Seen::new("cheap", 490, 1, wave);
    assert!(model(&[&many, &expensive], &learned()).joint.is_none());
    let known =
        crate::KnownHyper { lengthscales: vec![0.4], outputscale: 2.0, noise: 0.0, mean: 0.0 };
    expensive.output.hyper = Some(known);
    assert!(model(&[&cheap, &expensive], &learned()).joint.is_none());
    // The others may still be modelled together.
    let follower = Seen::new("follower", 14, 3, |x| 2.0 * wave(x) - 0.2 * x[1]);
    let others = model(&[&expensive, &cheap, &follower], &learned()).joint.unwrap();
    let mut members = others.objectives.clone();
    members.sort_unstable();
    assert_eq!(members, [1, 2]);
    expensive.output.hyper = None;
    (expensive.points, expensive.values) = (Points::new(2), vec![]);
    assert!(model(&[&cheap, &expensive], &learned()).joint.is_none());
}

#[test]
fn means_utilities_and_predictions_of_a_joint_model_agree_and_have_gradients() {
    let [cheap, expensive] = conflicting();
    let third = Seen::new("third", 9, 5, |x| x[0] * x[1]);
    let model = model(&[&cheap, &expensive, &third], &learned());
    let joint = model.joint.as_ref().unwrap();
    assert!(joint.objectives.len() > 1);
    let points = sobol::cube(2, 20, 9).unwrap();
    let (means, weights) = (model.means(&points).unwrap(), [0.2, 0.5, 0.3]);
    let utilities = model.utilities(&weights, &points).unwrap();
    for (i, x) in points.rows().enumerate() {
        for (k, belief) in model.objectives.iter().enumerate() {
            let mean = belief.predict(x).unwrap().mean;
            assert!((means.row(i)[k] - mean).abs() < 1e-9);
            assert!((belief.means(&points).unwrap()[i] - mean).abs() < 1e-9);
            let many = belief.predict_many(&points).unwrap()[i];
            assert!((many.variance - belief.predict(x).unwrap().variance).abs() < 1e-9);
            let mut gradient = vec![0.0; 2];
            let again = belief.mean_with_gradient(x, 2.0, &mut gradient).unwrap();
            let at = |h: f64| belief.predict(&[x[0] + h, x[1]]).unwrap().mean;
            let difference = (at(1e-6) - at(-1e-6)) / 1e-6;
            assert!((again - mean).abs() < 1e-9 && (gradient[0] - difference).abs() < 1e-4);
        }
        let mut gradient = vec![0.0; 2];
        let utility = model.utility(&weights, x, &mut gradient).unwrap();
        assert!((utility - utilities[i]).abs() < 1e-9);
        let at = |h: f64| model.utility(&weights, &[x[0], x[1] + h], &mut [0.0; 2]).unwrap();
        assert!((gradient[1] - (at(1e-6) - at(-1e-6)) / 2e-6).abs() < 1e-4);
    }
}

#[test]
fn what_is_under_way_changes_no_mean_and_leaves_less_to_learn_about_all_objectives() {
    let [mut cheap, expensive] = conflicting();
    let before = model(&[&cheap, &expensive], &learned());
    let gaps = sobol::cube(2, 40, 11).unwrap();
    let variance =
        |model: &Model, k: usize, x: &[f64]| model.objectives[k].predict(x).unwrap().variance;
    let widest =
        |x: &&[f64], y: &&[f64]| variance(&before, 0, x).total_cmp(&variance(&before, 0, y));
    let x = gaps.rows().max_by(widest).unwrap().to_vec();
    cheap.expected.push(&x).unwrap();
    let after = model(&[&cheap, &expensive], &learned());
    for k in 0..2 {
        let at = |model: &Model, x: &[f64]| model.objectives[k].predict(x).unwrap().mean;
        assert!(gaps.rows().all(|x| (at(&before, x) - at(&after, x)).abs() < 1e-7));
        let (before, after) = (variance(&before, k, &x), variance(&after, k, &x));
        assert!(after < 0.8 * before, "{k}: {after} of {before}");
    }
    assert!(variance(&after, 0, &x) < 1e-5);
}

#[test]
fn the_order_of_the_objectives_does_not_show() {
    let [cheap, expensive] = conflicting();
    let (there, back) =
        (model(&[&cheap, &expensive], &learned()), model(&[&expensive, &cheap], &learned()));
    for x in sobol::cube(2, 10, 3).unwrap().rows() {
        for k in 0..2 {
            let predict = |belief: &Belief| belief.predict(x).unwrap();
            assert_eq!(predict(&there.objectives[k]), predict(&back.objectives[1 - k]));
        }
    }
}

#[test]
fn draws_have_the_means_and_covariances_of_the_joint_model() {
    let [cheap, expensive] = conflicting();
    let model = model(&[&cheap, &expensive], &learned());
    let joint = model.joint.as_ref().unwrap();
    // Between the values, and at one of them: there, nothing is left to draw.
    let points = Points::from_rows(2, [&[0.97, 0.02], cheap.points.row(3)]).unwrap();
    let count = 4000;
    let drawn = joint.draw(&points, count, 5).unwrap();
    let average = |f: &dyn Fn(usize) -> f64| (0..count).map(f).sum::<f64>() / count as f64;
    let query = joint.model.query(points.row(0)).unwrap();
    for a in 0..2 {
        let scale = query.covariance(a, a);
        let mean = average(&|i| drawn[a].row(i)[0]);
        assert!((mean - query.means()[a]).abs() < 5.0 * (scale / count as f64).sqrt());
        for b in 0..2 {
            let apart = |k: usize, i: usize| drawn[k].row(i)[0] - query.means()[k];
            let found = average(&|i| apart(a, i) * apart(b, i));
            let scale = (scale * query.covariance(b, b)).sqrt();
            let error = (found - query.covariance(a, b)).abs();
            assert!(error < 0.1 * scale, "{found} for {}", query.covariance(a, b));
        }
    }
    let known = joint.objectives.iter().position(|k| *k == 0).unwrap();
    let expected = model.objectives[0].predict(points.row(1)).unwrap().mean;
    assert!((0..count).all(|i| (drawn[known].row(i)[1] - expected).abs() < 0.05));
}
