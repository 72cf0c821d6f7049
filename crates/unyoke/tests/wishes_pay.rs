//! Whether it pays to say what is wanted: regret of that user at equal cost, against the default.
//!
//! Branin and Currin (Belakaria et al. 2019), costs 1 and 10. Ignored because it takes minutes; the
//! figures are in `docs/preferences.md`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::BTreeMap;
use std::f64::consts::PI;
use unyoke::{
    Config, FrontSearch, Initial, Preference, Problem, Search, Study, Units, Utility, Wishes,
};

const INSTANCES: u64 = 12;
const COSTS: [f64; 3] = [90.0, 120.0, 150.0];

fn branin(x: f64, y: f64) -> f64 {
    let (u, v) = (15.0 * x - 5.0, 15.0 * y);
    let a = v - 5.1 / (4.0 * PI * PI) * u * u + 5.0 / PI * u - 6.0;
    a * a + 10.0 * (1.0 - 1.0 / (8.0 * PI)) * u.cos() + 10.0
}

fn currin(x: f64, y: f64) -> f64 {
    let damping = if y > 0.0 { 1.0 - (-0.5 / y).exp() } else { 1.0 };
    let above = 2300.0 * x.powi(3) + 1900.0 * x * x + 2092.0 * x + 60.0;
    damping * above / (100.0 * x.powi(3) + 500.0 * x * x + 4.0 * x + 20.0)
}

/// Standard deviations over the square: what weights count in.
const DEVIATIONS: [f64; 2] = [51.3, 2.4];

/// Somebody: what they say, and what designs are really worth to them.
struct User {
    name: &'static str,
    wishes: Wishes,
    /// Weights of the first objective.
    weights: Vec<f64>,
    utility: fn(f64, [f64; 2]) -> f64,
}

fn linear(weight: f64, [branin, currin]: [f64; 2]) -> f64 {
    -weight * branin / DEVIATIONS[0] - (1.0 - weight) * currin / DEVIATIONS[1]
}

fn capped(weight: f64, [branin, currin]: [f64; 2]) -> f64 {
    linear(weight, [branin.max(20.0), currin])
}

/// From the reference point 60, 14.
fn chebyshev(weight: f64, [branin, currin]: [f64; 2]) -> f64 {
    let inverse = [1.0 / weight, 1.0 / (1.0 - weight)];
    let ahead = [(60.0 - branin) / DEVIATIONS[0], (14.0 - currin) / DEVIATIONS[1]];
    let counts = [0, 1].map(|k| inverse[k] / (inverse[0] + inverse[1]) * ahead[k]);
    counts[0].min(counts[1]) + 0.05 * (counts[0] + counts[1])
}

fn users() -> Vec<User> {
    let spread =
        |low: f64, high: f64| (0..5).map(|i| low + (high - low) * i as f64 / 4.0).collect();
    let reference = BTreeMap::from([("branin".to_owned(), 60.0), ("currin".to_owned(), 14.0)]);
    let range = Preference::Importance(vec!["0.2 <= branin <= 0.35".to_owned()]);
    vec![
        User {
            name: "branin between 0.2 and 0.35 of the weight",
            wishes: Wishes { preference: range, ..Wishes::default() },
            weights: spread(0.2, 0.35),
            utility: linear,
        },
        User {
            name: "branin below 20 is worth nothing more",
            wishes: Wishes {
                enough: BTreeMap::from([("branin".to_owned(), 20.0)]),
                ..Wishes::default()
            },
            weights: spread(0.1, 0.9),
            utility: capped,
        },
        User {
            name: "Chebyshev utilities",
            wishes: Wishes {
                utility: Utility::Chebyshev,
                reference: Some(reference),
                ..Wishes::default()
            },
            weights: spread(0.1, 0.9),
            utility: chebyshev,
        },
    ]
}

fn problem() -> Problem {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    problem.minimise("branin", 1.0).minimise("currin", 10.0).build().unwrap()
}

/// The user's regret at each of the costs, of a study that searches with `search`.
fn regrets(user: &User, search: &Wishes, seed: u64) -> [f64; 3] {
    let config = Config {
        initial: Initial { designs: Some(6), ..Initial::default() },
        search: Search { raw: 128, restarts: 6, iterations: 40 },
        front: FrontSearch { population: 60, generations: 40 },
        units: Units::Standardised,
        ..Config::default()
    };
    let mut study =
        Study::with_config(problem(), config.with_wishes(search.clone()), seed).unwrap();
    let mut regrets = [0.0; 3];
    for (cost, regret) in COSTS.into_iter().zip(&mut regrets) {
        while study.spent() < cost {
            let asked = study.ask().unwrap();
            let [x, y] = ["x", "y"].map(|name| asked.design.real(name).unwrap());
            let value = if asked.measurement == "branin" { branin(x, y) } else { currin(x, y) };
            study.tell(asked.evaluation, value).unwrap();
        }
        // Whatever guided the search, the recommendation is for this user.
        let mut advised = study.clone();
        advised.amend(user.wishes.clone()).unwrap();
        *regret = mean_regret(user, &advised);
    }
    regrets
}

fn mean_regret(user: &User, study: &Study) -> f64 {
    const STEPS: usize = 200;
    let values = |x: f64, y: f64| [branin(x, y), currin(x, y)];
    let regret = |weight: &f64| {
        let point = study.best_for(&[*weight, 1.0 - weight]).unwrap();
        let [x, y] = ["x", "y"].map(|name| point.design.real(name).unwrap());
        let on_grid = (0..=STEPS * STEPS + 2 * STEPS).map(|i| {
            let at = |i: usize| i as f64 / STEPS as f64;
            (user.utility)(*weight, values(at(i / (STEPS + 1)), at(i % (STEPS + 1))))
        });
        on_grid.fold(f64::NEG_INFINITY, f64::max) - (user.utility)(*weight, values(x, y))
    };
    user.weights.iter().map(regret).sum::<f64>() / user.weights.len() as f64
}

#[test]
#[ignore = "takes minutes"]
fn users_who_say_what_they_want_lose_less_at_the_same_cost() {
    for user in users() {
        let (mut told, mut default) = ([0.0; 3], [0.0; 3]);
        let mut better = [0; 3];
        for seed in 0..INSTANCES {
            let with = regrets(&user, &user.wishes, seed);
            let without = regrets(&user, &Wishes::default(), seed);
            for i in 0..3 {
                told[i] += with[i] / INSTANCES as f64;
                default[i] += without[i] / INSTANCES as f64;
                better[i] += usize::from(with[i] < without[i]);
            }
        }
        println!("{}", user.name);
        for i in 0..3 {
            println!(
                "  cost {}: {:.4} against {:.4}, better in {} of {INSTANCES}",
                COSTS[i], told[i], default[i], better[i]
            );
        }
        assert!(told.iter().sum::<f64>() < default.iter().sum::<f64>(), "{}", user.name);
    }
}
