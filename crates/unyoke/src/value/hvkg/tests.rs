//! The hypervolume knowledge gradient against recorded figures, finite differences, and long runs.

use super::*;
use crate::config::{Algorithm, Config, Initial};
use crate::design::Design;
use crate::error::Error;
use crate::model::Belief;
use crate::problem::Problem;
use crate::study::Study;
use serde::Deserialize;
use std::collections::BTreeMap;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::pareto::hypervolume;

fn output(gp: Gp) -> Belief {
    Belief {
        gp,
        joint: None,
        known: None,
        bound: None,
        map: Standardizer::new(&[]).unwrap(),
        unit: 1.0,
        notes: vec![],
    }
}

#[derive(Deserialize)]
struct Process {
    #[serde(rename = "X")]
    x: Vec<Vec<f64>>,
    y: Vec<f64>,
    lengthscales: Vec<f64>,
    outputscale: f64,
    noise: f64,
    mean: f64,
}

impl Process {
    fn output(&self) -> Belief {
        let data = Data::new(&Points::from_rows(2, &self.x).unwrap(), &self.y).unwrap();
        let kernel =
            Kernel::new(Family::Matern52, 2, &self.lengthscales, self.outputscale).unwrap();
        output(Gp::new(kernel, self.mean, self.noise, &data).unwrap())
    }
}

#[derive(Deserialize)]
struct Volumes {
    objective_0: Vec<f64>,
    objective_1: Vec<f64>,
    both: Vec<f64>,
}

#[derive(Deserialize)]
struct Case {
    gps: Vec<Process>,
    #[serde(rename = "ref")]
    reference: Vec<f64>,
    x: Vec<f64>,
    base_samples: Vec<Vec<f64>>,
    inner_sets: Vec<Vec<Vec<f64>>>,
    hypervolume_per_fantasy: Volumes,
}

#[test]
fn hypervolumes_of_fantasies_match_the_recorded_ones() {
    let text = include_str!("../../../tests/golden/hvkg_inner.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert!(cases.len() >= 2);
    for case in cases {
        let model = Model::of_objectives(case.gps.iter().map(Process::output).collect());
        let volumes = &case.hypervolume_per_fantasy;
        for (observed, expected) in [
            (Observed::One(0), &volumes.objective_0),
            (Observed::One(1), &volumes.objective_1),
            (Observed::All, &volumes.both),
        ] {
            let imagined = Imagined::after(&model, &case.reference, observed, &case.x).unwrap();
            for (f, z) in case.base_samples.iter().enumerate() {
                let set = case.inner_sets[f].concat();
                let (mut work, mut gradient) = (Work::default(), vec![0.0; set.len()]);
                imagined.look(&set, &mut work).unwrap();
                let found = imagined.imagined_hypervolume(z, &mut work).unwrap();
                let error = (found - expected[f]).abs() / expected[f];
                assert!(error < 1e-8, "{observed:?}, fantasy {f}: {found} {}", expected[f]);
                let again =
                    imagined.hypervolume_with_gradient(&set, z, &mut work, &mut gradient).unwrap();
                assert!((again - found).abs() < 1e-12 * found);
            }
        }
    }
}

/// A model of a smooth random function of `dim` inputs.
fn random_output(rng: &mut Rng, dim: usize, n: usize, lengthscale: f64) -> Belief {
    let kernel = Kernel::new(Family::Matern52, dim, &[lengthscale], 1.0).unwrap();
    let prior = Gp::new(kernel.clone(), 0.0, 0.0, &Data::empty(dim)).unwrap();
    let path = unyoke_math::path::Path::draw(&prior, 128, rng);
    let mut points = Points::zeros(dim, n);
    points.as_flat_mut().iter_mut().for_each(|v| *v = rng.uniform());
    let values = path.values(&points).unwrap();
    output(Gp::new(kernel, 0.0, 1e-3, &Data::new(&points, &values).unwrap()).unwrap())
}

fn random_surrogate(rng: &mut Rng, dim: usize, objectives: usize) -> Model {
    let one = |_| {
        let (n, lengthscale) = (6 + rng.below(14), 0.3 + 0.9 * rng.uniform());
        random_output(rng, dim, n, lengthscale)
    };
    Model::of_objectives((0..objectives).map(one).collect())
}

fn space(dim: usize, objectives: usize) -> Space {
    let mut problem = Problem::builder();
    for d in 0..dim {
        problem = problem.continuous(format!("x{d}"), 0.0, 1.0);
    }
    for m in 0..objectives {
        problem = problem.maximise(format!("f{m}"), 1.0);
    }
    Space::new(&problem.build().unwrap())
}

/// The non-dominated of many space-filling designs, thinned.
fn front(model: &Model, dim: usize) -> Points {
    let designs = sobol::cube(dim, 1024, 9).unwrap();
    let means = model.means(&designs).unwrap();
    designs.select(&thin(&means, &non_dominated(&means).unwrap(), 64).unwrap())
}

fn setting<'a>(space: &'a Space, model: &'a Model, seed: u64) -> Setting<'a> {
    let front = front(model, space.dim());
    Setting { space, model, front, reference: None, seed }
}

#[test]
fn the_one_shot_gradient_matches_finite_differences_in_every_coordinate() {
    let mut rng = Rng::new(3, 0);
    for objectives in [2, 3] {
        let model = random_surrogate(&mut rng, 2, objectives);
        let reference = vec![-2.0; objectives];
        let base = sobol::normals(objectives, 4, 5).unwrap();
        let all: Vec<f64> = (0..2 + 4 * 5 * 2).map(|_| rng.uniform()).collect();
        for observed in [Observed::One(0), Observed::One(1), Observed::All] {
            let mut one_shot = OneShot {
                model: &model,
                reference: &reference,
                observed,
                base: &base,
                work: Work::default(),
            };
            let mut gradient = vec![0.0; all.len()];
            one_shot.evaluate(&all, &mut gradient).unwrap();
            for (i, found) in gradient.iter().enumerate() {
                let mut shifted = |h: f64| {
                    let mut moved = all.clone();
                    moved[i] += h;
                    one_shot.evaluate(&moved, &mut vec![0.0; all.len()]).unwrap()
                };
                let expected = (shifted(1e-6) - shifted(-1e-6)) / 2e-6;
                let error = (found - expected).abs();
                assert!(
                    error < 1e-5 * (1.0 + expected.abs()),
                    "{observed:?} {i}: {found} {expected}"
                );
            }
        }
    }
}

/// The gain at x by many climbs for each fantasy and for now, from sets of random designs, from
/// each other's best sets and from those of the search.
fn gain_by_long_run(hvkg: &Hvkg<'_>, option: usize, x: &[f64]) -> f64 {
    let mut rng = Rng::new(77, 0);
    let imagined = hvkg.imagined(option, x).unwrap();
    let now = Imagined::now(hvkg.model, &hvkg.reference);
    let many = sobol::cube(x.len(), 256, 5).unwrap();
    let best = |imagined: &Imagined<'_>, z: &[f64], rng: &mut Rng, given: &[f64]| {
        let mut best = sets::climb(imagined, z, given, &hvkg.bounds(given).unwrap(), 400).unwrap();
        for _ in 0..12 {
            let some: Vec<usize> = (0..many.len()).filter(|_| rng.uniform() < 0.4).collect();
            let mut candidates = many.select(&some);
            candidates.push(x).unwrap();
            let mut work = Work::default();
            imagined.look(candidates.as_flat(), &mut work).unwrap();
            imagined.imagine(z, &mut work);
            let chosen = sets::greedy(work.values(), &hvkg.reference, DESIGNS).unwrap();
            let set = hvkg.filled(candidates.select(&chosen), &candidates, rng).unwrap();
            let bounds = hvkg.bounds(&set).unwrap();
            let next = sets::climb(imagined, z, &set, &bounds, 400).unwrap();
            if next.value > best.value {
                best = next;
            }
        }
        best
    };
    let none = vec![0.0; hvkg.reference.len()];
    let current = best(&now, &none, &mut rng, &hvkg.current.x);
    let sets = hvkg.chosen_sets(&imagined, x).unwrap();
    let size = hvkg.current.x.len();
    let volume = |(f, z): (usize, &[f64])| {
        best(&imagined, z, &mut rng, &sets[f * size..(f + 1) * size]).value
    };
    let mean = hvkg.base.rows().enumerate().map(volume).sum::<f64>() / FANTASIES as f64;
    mean - current.value
}

#[test]
fn gains_at_a_design_are_those_of_a_long_run() {
    let mut rng = Rng::new(12, 0);
    let space = space(2, 2);
    for round in 0..10 {
        let model = random_surrogate(&mut rng, 2, 2);
        let hvkg = match round % 2 {
            0 => Hvkg::decoupled(setting(&space, &model, round)).unwrap(),
            _ => Hvkg::coupled(setting(&space, &model, round)).unwrap(),
        };
        let raw = sobol::cube(2, 64, round).unwrap();
        let option = round as usize / 2 % hvkg.options();
        let looks = hvkg.first_looks(option, &raw).unwrap();
        let x = raw.row(largest(&looks, 1)[0]);
        let found = hvkg.evaluator(option)(x, None).exp();
        let long = gain_by_long_run(&hvkg, option, x);
        assert!((found - long).abs() < 0.01 * long, "round {round}: {found} against {long}");
    }
}

#[test]
fn the_search_finds_more_than_any_of_its_starts() {
    let mut rng = Rng::new(21, 0);
    let space = space(2, 2);
    for round in 0..4 {
        let model = random_surrogate(&mut rng, 2, 2);
        let hvkg = Hvkg::decoupled(setting(&space, &model, round)).unwrap();
        let raw = sobol::cube(2, 256, round).unwrap();
        for option in 0..2 {
            let found = hvkg.maximise(option, &raw, &|_| false).unwrap().unwrap();
            let best = found.iter().map(|optimum| optimum.value).fold(f64::MIN, f64::max);
            let mut evaluate = hvkg.evaluator(option);
            for x in raw.rows().take(40) {
                let here = evaluate(x, None);
                assert!(here <= best + 0.02, "round {round}, option {option}: {here} {best}");
            }
        }
    }
}

#[test]
fn the_gradient_at_a_design_is_that_of_its_best_sets() {
    let mut rng = Rng::new(31, 0);
    let space = space(2, 2);
    let model = random_surrogate(&mut rng, 2, 2);
    let hvkg = Hvkg::decoupled(setting(&space, &model, 1)).unwrap();
    let raw = sobol::cube(2, 64, 3).unwrap();
    let x = raw.row(largest(&hvkg.first_looks(0, &raw).unwrap(), 1)[0]);
    let (mut evaluate, mut gradient) = (hvkg.evaluator(0), vec![0.0; 2]);
    evaluate(x, Some(&mut gradient));
    for d in 0..2 {
        let mut shifted = |h: f64| {
            let mut moved = x.to_vec();
            moved[d] += h;
            evaluate(&moved, None)
        };
        let expected = (shifted(1e-4) - shifted(-1e-4)) / 2e-4;
        assert!((gradient[d] - expected).abs() < 0.05 * (1.0 + expected.abs()));
    }
}

#[test]
fn gains_are_numbers_and_never_negative_whatever_the_models() {
    let mut rng = Rng::new(41, 0);
    for (dim, objectives) in [(1, 2), (3, 3), (2, 4)] {
        let space = space(dim, objectives);
        let mut model = random_surrogate(&mut rng, dim, objectives);
        for round in 0..2 {
            if round == 1 {
                // All objectives the same: a front of one point.
                model.objectives = vec![model.objectives[0].clone(); objectives];
            }
            for reference in [None, Some(vec![9.0; objectives]), Some(vec![-1e300; objectives])] {
                let given =
                    || Setting { reference: reference.clone(), ..setting(&space, &model, 1) };
                let hvkgs = [Hvkg::decoupled(given()).unwrap(), Hvkg::coupled(given()).unwrap()];
                for hvkg in &hvkgs {
                    for option in 0..hvkg.options() {
                        let x = vec![0.3; dim];
                        let gain = hvkg.evaluator(option)(&x, None).exp();
                        assert!(gain >= 0.0, "{gain}");
                    }
                }
            }
        }
    }
}

#[test]
fn greedy_sets_lose_little_against_all_designs() {
    let mut rng = Rng::new(51, 0);
    let mut values = Points::zeros(3, 40);
    values.as_flat_mut().iter_mut().for_each(|v| *v = rng.uniform());
    let chosen = sets::greedy(&values, &[0.0; 3], 40).unwrap();
    let whole = hypervolume(&values, &[0.0; 3]).unwrap();
    let part = hypervolume(&values.select(&chosen), &[0.0; 3]).unwrap();
    assert!((whole - part).abs() < 1e-12);
    assert!(sets::greedy(&values, &[2.0; 3], 5).unwrap().is_empty());
}

#[test]
fn base_samples_have_mean_zero_and_serve_every_objective() {
    let one = base_samples(3, 1, 32, 4).unwrap();
    assert!(one.rows().all(|z| z[0] == z[1] && z[1] == z[2]));
    let all = base_samples(3, 3, 32, 4).unwrap();
    for k in 0..3 {
        assert!(all.rows().map(|z| z[k]).sum::<f64>().abs() < 1e-12);
        let variance = all.rows().map(|z| z[k] * z[k]).sum::<f64>() / 32.0;
        assert!((variance - 1.0).abs() < 0.25, "{variance}");
    }
}

/// A study of `dim` inputs with values of each objective at Sobol' designs.
fn study(config: Config, dim: usize, counts: &[usize], value: fn(usize, &[f64]) -> f64) -> Study {
    let mut problem = Problem::builder();
    for d in 0..dim {
        problem = problem.continuous(format!("x{d}"), 0.0, 1.0);
    }
    for m in 0..counts.len() {
        problem = problem.minimise(format!("f{m}"), 1.0 + m as f64);
    }
    let mut study = Study::with_config(problem.build().unwrap(), config, 3).unwrap();
    for (m, &count) in counts.iter().enumerate() {
        for x in sobol::cube(dim, count, m as u64).unwrap().rows() {
            let design: Design = (0..dim).map(|d| (format!("x{d}"), x[d].into())).collect();
            study.tell_result(design, &format!("f{m}"), value(m, x)).unwrap();
        }
    }
    study
}

fn waves(m: usize, x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(d, v)| ((3.0 + 2.0 * m as f64) * v + d as f64).sin()).sum()
}

fn config(algorithm: Algorithm) -> Config {
    let initial = Initial { designs: Some(2), ..Initial::default() };
    Config { algorithm, initial, ..Config::default() }
}

/// A point for two objectives.
fn reference(f0: f64, f1: f64) -> Option<BTreeMap<String, f64>> {
    Some([("f0".to_owned(), f0), ("f1".to_owned(), f1)].into())
}

#[test]
fn suggestions_carry_a_row_for_each_objective_and_never_repeat_what_is_pending() {
    let mut study = study(config(Algorithm::HvkgD), 2, &[8, 5], waves);
    let suggestions = study.ask_many(4).unwrap();
    for (i, suggestion) in suggestions.iter().enumerate() {
        assert_eq!(suggestion.options.len(), 2);
        assert!(suggestion.options.iter().all(|row| row.log_gain.is_finite()));
        assert!(suggestion.gain_per_cost().unwrap() > 0.0);
        for other in &suggestions[..i] {
            let same = other.measurement == suggestion.measurement;
            assert!(!same || other.design != suggestion.design);
        }
    }
}

#[test]
fn coupled_suggestions_ask_for_all_objectives_at_a_design() {
    let mut study = study(config(Algorithm::HvkgC), 2, &[6, 6], waves);
    let first = study.ask().unwrap();
    assert_eq!(first.options.len(), 1);
    assert_eq!(first.options[0].measurements, ["f0", "f1"]);
    let second = study.ask().unwrap();
    assert_eq!((second.measurement.as_str(), &second.design), ("f1", &first.design));
}

#[test]
fn suggestions_do_not_depend_on_the_number_of_threads() {
    for algorithm in [Algorithm::HvkgD, Algorithm::HvkgC] {
        let study = study(config(algorithm), 2, &[8, 5], waves);
        let with = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| study.suggest().unwrap())
        };
        assert_eq!(with(1), with(3));
    }
}

#[test]
fn three_objectives_and_many_inputs_are_no_obstacle() {
    for (dim, counts) in [(1, vec![4, 4, 4]), (6, vec![10, 12, 8])] {
        let suggestion = study(config(Algorithm::HvkgD), dim, &counts, waves).suggest().unwrap();
        assert_eq!(suggestion.options.len(), 3);
        assert!(suggestion.options.iter().all(|row| !row.log_gain.is_nan()));
    }
}

#[test]
fn degenerate_problems_get_a_suggestion_all_the_same() {
    let same: fn(usize, &[f64]) -> f64 = |_, x| waves(0, x);
    let constant: fn(usize, &[f64]) -> f64 = |_, _| 1.0;
    for algorithm in [Algorithm::HvkgD, Algorithm::HvkgC] {
        for value in [same, constant, waves] {
            for reference in [None, reference(-1e9, -1e9), reference(1e300, -1e300)] {
                let config = Config { reference, ..config(algorithm) };
                let suggestion = study(config, 1, &[5, 5], value).suggest().unwrap();
                assert!(suggestion.options.iter().all(|row| !row.log_gain.is_nan()));
            }
        }
    }
}

#[test]
fn discrete_and_mixed_problems_are_asked_about_valid_designs() {
    let problem = Problem::builder()
        .integer("n", 1, 4)
        .categorical("kind", ["a", "b"])
        .minimise("f0", 1.0)
        .maximise("f1", 2.0);
    let mixed = Problem::builder()
        .integer("n", 1, 9)
        .categorical("kind", ["a", "b", "c"])
        .continuous("x", 0.0, 2.0)
        .minimise("f0", 1.0)
        .maximise("f1", 2.0);
    for problem in [problem, mixed] {
        let problem = problem.build().unwrap();
        let mut study = Study::with_config(problem, config(Algorithm::HvkgD), 1).unwrap();
        let space = Space::new(study.problem());
        for i in 0..12 {
            let suggestion = study.ask().unwrap();
            space.check_inside(&suggestion.design).unwrap();
            study.tell(suggestion.evaluation, (i as f64 * 1.7).sin()).unwrap();
        }
    }
}

#[test]
fn a_gain_can_be_asked_for_at_any_design() {
    let study = study(config(Algorithm::HvkgD), 1, &[5, 4], waves);
    let suggestion = study.suggest().unwrap();
    let best = &suggestion.options[suggestion.chosen.unwrap()];
    let rows = study.score(std::slice::from_ref(&suggestion.design)).unwrap();
    let row = rows[0].iter().find(|row| row.measurements == best.measurements).unwrap();
    assert!((row.gain() / best.gain() - 1.0).abs() < 0.05, "{} {}", row.gain(), best.gain());
}

#[test]
fn reference_points_are_checked() {
    let paths = |reference| {
        let problem = Problem::builder().continuous("x", 0.0, 1.0);
        let problem = problem.minimise("f0", 1.0).minimise("f1", 1.0).build().unwrap();
        let config = Config { reference, ..Config::default() };
        match Study::with_config(problem, config, 0) {
            Ok(_) => vec![],
            Err(Error::Invalid { mistakes }) => mistakes.into_iter().map(|m| m.path).collect(),
            Err(other) => panic!("{other}"),
        }
    };
    assert!(paths(reference(1.0, 2.0)).is_empty());
    assert_eq!(
        paths(reference(f64::NAN, f64::INFINITY)),
        ["config.reference.f0", "config.reference.f1"]
    );
    assert_eq!(paths(Some([("f0".to_owned(), 1.0)].into())), ["config.reference.f1"]);
    let misspelt = [("f0", 1.0), ("f1", 1.0), ("f2", 1.0)].map(|(name, v)| (name.to_owned(), v));
    assert_eq!(paths(Some(misspelt.into())), ["config.reference.f2"]);
}
