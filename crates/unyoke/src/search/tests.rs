//! How good the maximiser is: against a dense grid, and whatever the number of threads.

use super::*;
use crate::config::{Config, Discretisation};
use crate::discretise::{Setting, best_for_weights, discretise, ties_with_set};
use crate::event::Event;
use crate::history::History;
use crate::model::{Belief, Model};
use crate::problem::{Cost, Problem};
use crate::value::Scalarised;
use crate::value::c_mokg::CMokg;
use unyoke_math::data::{Data, Standardizer};
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::random::Rng;
use unyoke_math::sobol;

/// A model of one objective: a few points, values of a smooth random function.
fn output(rng: &mut Rng, n: usize, lengthscale: f64) -> Belief {
    let kernel = Kernel::new(Family::Matern52, 2, &[lengthscale], 1.0).unwrap();
    let prior = Gp::new(kernel.clone(), 0.0, 0.0, &Data::empty(2)).unwrap();
    let path = unyoke_math::path::Path::draw(&prior, 256, rng);
    let points = Points::from_rows(2, (0..n).map(|_| [rng.uniform(), rng.uniform()])).unwrap();
    let values = path.values(&points).unwrap();
    let gp = Gp::new(kernel, 0.0, 1e-4, &Data::new(&points, &values).unwrap()).unwrap();
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

/// Two objectives, one rough and one smooth, after 6 to 45 evaluations each.
fn random_surrogate(rng: &mut Rng) -> Model {
    let mut one = |low: f64, high: f64| {
        let n = 6 + rng.below(40);
        let lengthscale = low + (high - low) * rng.uniform();
        output(rng, n, lengthscale)
    };
    Model::of_objectives(vec![one(0.15, 0.5), one(0.5, 1.8)])
}

fn grid(per_input: usize) -> Points {
    let at = |i: usize| i as f64 / (per_input - 1) as f64;
    let node = |i: usize| [at(i / per_input), at(i % per_input)];
    Points::from_rows(2, (0..per_input * per_input).map(node)).unwrap()
}

fn space() -> Space {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    Space::new(&problem.maximise("f", 1.0).maximise("g", 10.0).build().unwrap())
}

/// The designs compared in a step: the plain grid of the paper, or with the best ones added.
fn step(model: &Model, kind: Discretisation, seed: u64) -> [Points; 4] {
    let weights = sobol::simplex(2, 4, seed).unwrap();
    let (space, observed) = (space(), Points::new(2));
    let setting = Setting { space: &space, model, weights: &weights, observed: &observed, seed };
    let best = best_for_weights(&setting).unwrap();
    let set = discretise(kind, &setting, &best).unwrap();
    let mut promising = ties_with_set(&setting, &best, &set).unwrap();
    set.rows().for_each(|x| promising.push(x).unwrap());
    [weights, set, best, promising]
}

fn search(model: &Model, kind: Discretisation, seed: u64) -> Vec<Best> {
    let [weights, set, best, promising] = step(model, kind, seed);
    let acquisition = CMokg::one_by_one(Scalarised::new(model, &set, &weights).unwrap());
    let space = space();
    let search = Search::default();
    let region = Region { space: &space, search, promising: &promising, best: &best, seed };
    let costs = [CostModel::constant(1.0), CostModel::constant(10.0)];
    let found = best_of_each_option(&acquisition, &costs, &region, &|_, _| false).unwrap();
    found.into_iter().map(Option::unwrap).collect()
}

/// Random models in which the maximiser is compared with a dense grid, which takes long.
const MODELS: u64 = 100;

/// How often a dense grid has a better design, per objective.
fn misses_against_dense_grid(kind: Discretisation) -> [usize; 2] {
    let mut rng = Rng::new(1, 0);
    let dense = grid(201);
    let mut misses = [0; 2];
    for round in 0..MODELS {
        let model = random_surrogate(&mut rng);
        let [weights, set, ..] = step(&model, kind, round);
        let acquisition = CMokg::one_by_one(Scalarised::new(&model, &set, &weights).unwrap());
        for best in search(&model, kind, round) {
            let values = values_at(|_| acquisition.evaluator(best.option), &dense);
            let top = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if best.log_gain < top - 1e-9 {
                misses[best.option] += 1;
            }
        }
    }
    misses
}

#[test]
fn the_maximiser_beats_a_dense_grid_in_all_models_but_one() {
    let misses = misses_against_dense_grid(Discretisation::Auto);
    assert!(misses.iter().all(|m| *m <= 1), "missed {misses:?} of {MODELS}");
}

#[test]
fn so_it_does_with_the_plain_grid_of_the_paper() {
    let misses = misses_against_dense_grid(Discretisation::Grid { per_input: 11 });
    assert!(misses.iter().all(|m| *m <= 1), "missed {misses:?} of {MODELS}");
}

#[test]
fn the_published_effort_finds_no_more_than_a_millionth_more() {
    // 10 climbs of up to 200 iterations from the best of 32 space-filling designs.
    let published = Search { raw: 32, restarts: 10, iterations: 200 };
    let mut rng = Rng::new(3, 0);
    for round in 0..20 {
        let model =
            Model::of_objectives(vec![output(&mut rng, 60, 0.2), output(&mut rng, 20, 1.8)]);
        let kind = Discretisation::Grid { per_input: 11 };
        let [weights, set, ..] = step(&model, kind, round);
        let acquisition = CMokg::one_by_one(Scalarised::new(&model, &set, &weights).unwrap());
        let (space, none) = (space(), Points::new(2));
        let region =
            Region { space: &space, search: published, promising: &none, best: &none, seed: round };
        let raw = region.raw_designs().unwrap();
        for ours in search(&model, kind, round) {
            let (option, cost) = (ours.option, CostModel::constant(1.0));
            let target = Target { acquisition: &acquisition, option, cost: &cost, region: &region };
            let theirs = target.climb_from_best(&raw, &target.raw_values(&raw)).unwrap();
            for theirs in theirs {
                // Peaks on a narrow ridge come in tight groups: which of them is climbed is chance.
                assert!(ours.log_gain >= theirs.value - 1e-6, "{ours:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn one_thread_and_two_find_the_same_bits() {
    let mut rng = Rng::new(2, 0);
    for round in 0..5 {
        let model = random_surrogate(&mut rng);
        let run = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| search(&model, Discretisation::Auto, round))
        };
        assert_eq!(run(1), run(2));
    }
}

/// Not a number in one half of the square, a hill in the other.
struct Broken;

impl Acquisition for Broken {
    fn options(&self) -> usize {
        1
    }

    fn evaluator(&self, _option: usize) -> Evaluator<'_> {
        Box::new(|x, gradient| {
            if let Some(gradient) = gradient {
                gradient.copy_from_slice(&[2.0 * (0.9 - x[0]), 2.0 * (0.5 - x[1])]);
            }
            if x[0] < 0.5 { f64::NAN } else { -(x[0] - 0.9).powi(2) - (x[1] - 0.5).powi(2) }
        })
    }
}

#[test]
fn what_is_not_a_number_never_wins() {
    let (space, none) = (space(), Points::new(2));
    let search = Search { raw: 64, restarts: 64, iterations: 50 };
    let region = Region { space: &space, search, promising: &none, best: &none, seed: 1 };
    let costs = [CostModel::constant(1.0)];
    let found = best_of_each_option(&Broken, &costs, &region, &|_, _| false).unwrap();
    let best = found[0].as_ref().unwrap();
    assert!(best.log_gain > -1e-6 && best.x[0] >= 0.5, "{best:?}");
    // Nor where everything else is taken: then nothing is expected to be gained.
    let taken = |_: usize, x: &[f64]| x[0] >= 0.5;
    let found = best_of_each_option(&Broken, &costs, &region, &taken).unwrap();
    assert!(found[0].as_ref().is_none_or(|best| best.log_gain == f64::NEG_INFINITY), "{found:?}");
}

/// A hill of log gains with its top at (0.9, 0.5).
struct Hill;

const STEEPNESS: f64 = 4.0;

impl Acquisition for Hill {
    fn options(&self) -> usize {
        1
    }

    fn evaluator(&self, _option: usize) -> Evaluator<'_> {
        Box::new(|x, gradient| {
            let away = [x[0] - 0.9, x[1] - 0.5];
            if let Some(gradient) = gradient {
                gradient.copy_from_slice(&away.map(|v| -2.0 * STEEPNESS * v));
            }
            -STEEPNESS * away.iter().map(|v| v * v).sum::<f64>()
        })
    }
}

/// The state of a new study in the unit square with one measurement of this cost.
fn history(cost: impl Into<Cost>) -> History {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    let problem = problem.maximise("f", cost).build().unwrap();
    let created = Event::Created { problem, config: Config::default(), seed: 1 };
    History::replay(&[created.into()]).unwrap()
}

/// The best design of the hill for a cost, within the limits of a space.
fn top_of_hill(
    space: &Space,
    cost: &CostModel<'_>,
    taken: &(dyn Fn(usize, &[f64]) -> bool + Sync),
) -> Best {
    let none = Points::new(2);
    let search = Search { raw: 32, restarts: 4, iterations: 50 };
    let region = Region { space, search, promising: &none, best: &none, seed: 1 };
    let found = best_of_each_option(&Hill, std::slice::from_ref(cost), &region, taken).unwrap();
    found.into_iter().next().unwrap().unwrap()
}

#[test]
fn gain_over_cost_is_climbed_and_the_gain_itself_reported() {
    let history = history(Cost::formula("2 * exp(3 * x)"));
    let cost = CostModel::new(&history, &[0]).unwrap();
    let best = top_of_hill(&history.space, &cost, &|_, _| false);
    // The derivative of −4 (x − 0.9)² − 3 x vanishes at 0.9 − 3/8.
    assert!((best.x[0] - 0.525).abs() < 1e-4 && (best.x[1] - 0.5).abs() < 1e-4, "{best:?}");
    assert!((best.log_gain + STEEPNESS * 0.375 * 0.375).abs() < 1e-3, "{best:?}");
    assert_eq!(best.cost, 2.0 * libm::exp(3.0 * best.x[0]));
    assert_eq!(best.log_value(), best.log_gain - best.cost.ln());
}

#[test]
fn a_constant_cost_changes_no_bit_of_what_is_found() {
    let [one, other] = [1.0, 7.3].map(|cost| {
        let history = history(cost);
        let cost = CostModel::new(&history, &[0]).unwrap();
        top_of_hill(&history.space, &cost, &|_, _| false)
    });
    assert_eq!(other, Best { cost: 7.3, ..one });
}

#[test]
fn what_cannot_be_paid_is_not_chosen() {
    // Not a number beyond 0.6, which the check of a problem does not let pass.
    let mut history = history(Cost::formula("1 + x"));
    let price = Cost::formula("1 + 0 * sqrt(0.6 - x)");
    let changed = Event::CostChanged { measurement: "f".into(), cost: price };
    history.apply(&changed.into()).unwrap();
    let cost = CostModel::new(&history, &[0]).unwrap();
    let taken = |_: usize, x: &[f64]| !cost.at(x).is_finite();
    let best = top_of_hill(&history.space, &cost, &taken);
    assert!((0.5..=0.6).contains(&best.x[0]) && best.cost == 1.0, "{best:?}");
}

#[test]
fn a_top_beyond_the_limits_is_approached_as_far_as_they_allow() {
    for (limit, at) in [("x + y <= 1", [0.7, 0.3]), ("x <= 0.25 + y", [0.825, 0.575])] {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
        let problem = problem.limit("l", limit).maximise("f", 1.0).build().unwrap();
        let space = Space::new(&problem);
        let best = top_of_hill(&space, &CostModel::constant(1.0), &|_, _| false);
        assert!(space.allows(&best.x));
        let missed = distance(&best.x, &at);
        assert!(missed < 1e-5, "{limit}: {missed:e}");
        let top = -STEEPNESS * distance(&at, &[0.9, 0.5]).powi(2);
        assert!(best.log_gain <= top + 1e-12 && best.log_gain > top - 1e-5, "{best:?}");
    }
}

/// Searches of C-MOKG with either measurement in `space`, on twelve random models: what is maximised, from
/// which raw designs.
fn on_random_models(
    space: &Space,
    search: Search,
    seed: u64,
    mut look: impl FnMut(&Target, &Points),
) {
    let mut rng = Rng::new(seed, 0);
    for round in 0..12 {
        let model = random_surrogate(&mut rng);
        let [weights, set, ..] = step(&model, Discretisation::Auto, round);
        let acquisition = CMokg::one_by_one(Scalarised::new(&model, &set, &weights).unwrap());
        let none = Points::new(2);
        let region = Region { space, search, promising: &none, best: &none, seed: round };
        let raw = region.raw_designs().unwrap();
        let cost = CostModel::constant(1.0);
        for option in 0..2 {
            let target = Target { acquisition: &acquisition, option, cost: &cost, region: &region };
            look(&target, &raw);
        }
    }
}

#[test]
fn numbers_with_many_steps_are_climbed_and_end_at_steps() {
    let problem = Problem::builder().integer("n", 1, 1000).stepped("t", 0.0, 100.0, 0.1);
    let space = Space::new(&problem.maximise("f", 1.0).maximise("g", 1.0).build().unwrap());
    let search = Search { raw: 64, restarts: 4, iterations: 60 };
    let (mut wins, mut gains) = (0, vec![]);
    on_random_models(&space, search, 5, |target, raw| {
        let values = target.raw_values(raw);
        let climbed = target.climb_from_best(raw, &values).unwrap();
        for Optimum { x, value, .. } in &climbed {
            let mut valid = x.clone();
            space.snap(&mut valid);
            assert_eq!((x, target.evaluator()(x, None)), (&valid, *value));
        }
        // What neighbours alone reach from the same starts.
        let held = apart(raw, &values, search.restarts).into_iter().map(|i| {
            let start = Optimum { x: raw.row(i).to_vec(), value: values[i], evaluations: 1 };
            target.improve_discrete(start).unwrap()
        });
        let top =
            |found: Vec<Optimum>| found.iter().map(|o| o.value).fold(f64::NEG_INFINITY, f64::max);
        let gain = top(climbed) - top(held.collect());
        assert!(gain > -0.01, "{gain}");
        wins += usize::from(gain > 1e-9);
        gains.push(gain);
    });
    gains.sort_by(f64::total_cmp);
    assert!(wins >= 20, "{wins} {gains:?}");
}

#[test]
fn climbs_that_know_the_kinks_change_discrete_parameters_too() {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).integer("n", 0, 6);
    let space = Space::new(&problem.maximise("f", 1.0).maximise("g", 1.0).build().unwrap());
    // Both waves have climbs.
    let search = Search { raw: 64, restarts: 16, iterations: 60 };
    on_random_models(&space, search, 6, |target, raw| {
        assert!(target.is_kinked());
        let mut value = target.evaluator();
        let found = target.climb_from_best(raw, &target.raw_values(raw)).unwrap();
        assert!(found.len() > FIRST_WAVE);
        for top in found {
            let neighbours = space.neighbours(&top.x);
            assert!(!neighbours.is_empty());
            let best = neighbours.iter().map(|x| value(x, None)).fold(f64::MIN, f64::max);
            assert!(best <= top.value, "{top:?} {best}");
        }
    });
}

/// What was found before raw designs were screened together: a row per model, the default set first.
const FOUND: &str = include_str!("found.txt");

#[test]
fn no_maximum_is_lower_than_before() {
    let rows = FOUND.lines().filter(|line| !line.starts_with('#'));
    let rows: Vec<Vec<f64>> =
        rows.map(|line| line.split(' ').map(|v| v.parse().unwrap()).collect()).collect();
    let kinds = [Discretisation::Auto, Discretisation::Grid { per_input: 11 }];
    for (kind, rows) in kinds.into_iter().zip(rows.chunks_exact(MODELS as usize)) {
        let mut rng = Rng::new(1, 0);
        let mut lower = vec![];
        for (round, before) in (0..MODELS).zip(rows) {
            let model = random_surrogate(&mut rng);
            for (best, before) in search(&model, kind, round).iter().zip(before) {
                let missing = before - best.log_gain;
                if missing > 1e-9 {
                    lower.push((round, best.option, missing));
                }
            }
        }
        assert!(lower.len() <= 1, "{} of {kind:?}: {lower:?}", lower.len());
    }
}
