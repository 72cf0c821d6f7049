//! Figures worked out by hand, and derivatives of differences.

use super::*;
use crate::config::Config;
use crate::event::{Event, Record};
use crate::problem::{Measurement, Problem};
use std::collections::BTreeMap;
use unyoke_math::sobol;

/// A study of x, y (0 to 4), n (1 to 100) and a choice, with one measurement per cost and, for the
/// first, evaluations at these x that cost so much.
fn history(costs: Vec<Cost>, paid: &[(f64, f64)]) -> History {
    let start = Problem::builder().continuous("x", 0.0, 4.0).continuous("y", 0.0, 4.0);
    let start = start.integer("n", 1, 100).categorical("c", ["u", "v"]).maximise("f", 1.0);
    let costs = costs.into_iter().enumerate();
    let problem = costs
        .fold(start, |b, (i, cost)| b.measurement(Measurement::new(format!("m{i}"), ["f"], cost)))
        .build()
        .unwrap();
    let mut events = vec![Event::Created { problem, config: Config::default(), seed: 1 }];
    for (i, (x, cost)) in paid.iter().enumerate() {
        let (evaluation, measurement) = (i as u64, "m0".to_owned());
        events.push(Event::Asked {
            evaluation,
            design: design(*x, 0.0),
            measurement,
            cost: 1.0,
            initial: false,
        });
        let cost = Some(*cost);
        events.push(match i % 2 {
            0 => Event::Measured {
                evaluation,
                values: BTreeMap::from([("f".to_owned(), 1.0.into())]),
                missing: None,
                cost,
                design: None,
            },
            _ => Event::Failed { evaluation, reason: "no".into(), cost },
        });
    }
    let records: Vec<Record> = events.into_iter().map(Record::from).collect();
    History::replay(&records).unwrap()
}

fn design(x: f64, y: f64) -> Design {
    Design::new().with("x", x).with("y", y).with("n", 1).with("c", "u")
}

/// The cost of measurements m0, m1 and so on together; place 0 is that of "f" itself.
fn model(history: &History) -> CostModel<'_> {
    let all: Vec<usize> = (1..history.problem.measurements.len()).collect();
    CostModel::new(history, &all).unwrap()
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-12 * b.abs(), "{a} {b}");
}

#[test]
fn constants_and_formulas_add_up_and_choose_their_designs_exactly() {
    let history =
        history(vec![5.0.into(), Cost::formula("1 + x * n"), Cost::formula("1 + y")], &[]);
    let model = model(&history);
    assert_eq!(model.at_design(&design(2.0, 3.0)), Ok(5.0 + 3.0 + 4.0));
    let x = history.space.encode(&design(2.0, 3.0)).unwrap();
    assert_eq!((model.at(&x), model.log(&x)), (12.0, 12f64.ln()));
    assert!(!model.is_constant());
    let constant = CostModel::new(&history, &[0, 1]).unwrap();
    assert!(constant.is_constant());
    assert_eq!((constant.at(&x), constant.log_with_gradient(&x, 1.0, &mut [])), (6.0, 6f64.ln()));
}

#[test]
fn what_cannot_be_paid_is_infinitely_expensive() {
    for formula in
        ["x - 2", "ln(x - 2)", "1 / (x - x)", "0 * x", "-exp(1000 * (x + 1))", "sqrt(0 - 1 - x)"]
    {
        // The check of a problem refuses these if it finds out.
        let history = history(vec![], &[]);
        let space = &history.space;
        let part = Part { space, kind: Kind::Formula(space.bind(formula).unwrap()) };
        let model = CostModel { constant: 3.0, parts: vec![part] };
        let x = space.encode(&design(1.0, 0.0)).unwrap();
        let mut gradient = vec![7.0; x.len()];
        assert_eq!(model.at(&x), f64::INFINITY, "{formula}");
        assert_eq!(model.log_with_gradient(&x, 2.0, &mut gradient), f64::INFINITY, "{formula}");
        assert_eq!(gradient, vec![7.0; x.len()]);
    }
}

#[test]
fn before_any_value_the_guess_is_the_cost_and_one_value_is_combined_with_it() {
    let guess = || Cost::reported(10.0);
    let nothing = history(vec![guess()], &[]);
    assert!(model(&nothing).is_constant());
    assert_eq!(model(&nothing).at_design(&design(1.0, 1.0)), Ok(10.0));
    // ln(20/10) was observed. The prior mean is −0.13 and has variance 1; the value has 0.26.
    let one = history(vec![guess()], &[(1.0, 20.0)]);
    let mean = -0.13 + (2f64.ln() + 0.13) / 1.26;
    let here = mean + 0.25 / 0.26 * (2f64.ln() - mean);
    let spread = 0.25 - 0.25 * 0.25 / 0.26 + 0.01;
    let at = |x: f64| model(&one).at_design(&design(x, 0.0)).unwrap();
    close(at(1.0), 10.0 * (here + 0.5 * spread).exp());
    assert!((at(1.0) - 20.07).abs() < 0.01, "{}", at(1.0));
    // Far away, in another choice, it is between the guess and the value.
    let far = design(4.0, 4.0).with("n", 100).with("c", "v");
    let far = model(&one).at_design(&far).unwrap();
    assert!(far > 15.0 && far < 20.0, "{far}");
}

#[test]
fn learned_costs_follow_what_was_paid() {
    // Twenty times as expensive at x = 4 as at 0.
    let truth = |x: f64| 3.0 * 20f64.powf(x / 4.0);
    let paid: Vec<(f64, f64)> =
        (0..12).map(|i| i as f64 / 11.0 * 4.0).map(|x| (x, truth(x))).collect();
    let history = history(vec![Cost::time(1.0)], &paid);
    for x in [0.3, 1.1, 2.5, 3.7] {
        let expected = model(&history).at_design(&design(x, 0.0)).unwrap();
        assert!((expected / truth(x)).ln().abs() < 0.05, "{x}: {expected} {}", truth(x));
    }
}

#[test]
fn the_order_of_values_does_not_show() {
    let mut paid = vec![(0.5, 3.0), (1.0, 4.0), (3.0, 9.0), (3.5, 2.0), (1.0, 5.0)];
    let at = |paid: &[(f64, f64)]| {
        let history = history(vec![Cost::time(1.0)], paid);
        model(&history).at_design(&design(2.0, 1.0)).unwrap()
    };
    let forwards = at(&paid);
    paid.reverse();
    assert_eq!(at(&paid), forwards);
}

#[test]
fn costs_of_nothing_and_of_anything_stay_positive_and_finite() {
    let lists: [&[(f64, f64)]; 6] = [
        &[(1.0, 0.0)],
        &[(1.0, 0.0), (1.0, 0.0), (1.0, 0.0)],
        &[(0.0, 0.0), (1.0, 5.0), (2.0, 5.0), (3.0, 5.0)],
        &[(0.0, 1e-300), (2.0, 1e300), (4.0, 1.0)],
        &[(1.0, f64::MAX), (2.0, f64::MAX), (3.0, f64::MAX)],
        &[(1.0, 5.0), (1.0, 5.0), (1.0, 5.0), (1.0, 5.0)],
    ];
    for (paid, guess) in lists.iter().flat_map(|paid| [1e-300, 5.0, 1e300].map(|g| (paid, g))) {
        let history = history(vec![Cost::time(guess)], paid);
        let model = model(&history);
        for u in sobol::cube(4, 20, 1).unwrap().rows() {
            let x = history.space.from_cube(u);
            let cost = model.at(&x);
            assert!(cost > 0.0 && !cost.is_nan(), "{paid:?} {guess}: {cost}");
            let mut gradient = vec![0.0; x.len()];
            let log = model.log_with_gradient(&x, 1.0, &mut gradient);
            assert!(!log.is_nan() && gradient.iter().all(|g| g.is_finite()), "{paid:?} {guess}");
        }
    }
    // What cost nothing counts as a thousandth of the guess.
    let free = history(vec![Cost::time(5.0)], &[(1.0, 0.0); 9]);
    let cost = model(&free).at_design(&design(1.0, 0.0)).unwrap();
    assert!((cost / 5e-3).ln().abs() < 0.7, "{cost}");
}

#[test]
fn derivatives_of_log_costs_are_those_of_differences() {
    let paid = [(0.5, 3.0), (1.0, 4.0), (3.0, 90.0), (3.5, 2.0), (2.2, 5.0)];
    let costs = vec![Cost::time(7.0), Cost::formula("1 + x^2 * y + n / 10"), 2.0.into()];
    for paid in [&paid[..1], &paid[..]] {
        let history = history(costs.clone(), paid);
        let model = model(&history);
        for u in sobol::cube(4, 30, 1).unwrap().rows() {
            let mut x = history.space.from_cube(u);
            // Between two steps.
            x[2] = 0.01 + 0.98 * u[2];
            let mut gradient = vec![1.0; x.len()];
            let log = model.log_with_gradient(&x, -3.0, &mut gradient);
            let at = |i: usize, h: f64| {
                let mut x = x.clone();
                x[i] += h;
                model.log_with_gradient(&x, 0.0, &mut vec![0.0; x.len()])
            };
            assert_eq!(log, at(0, 0.0));
            for i in (0..3).filter(|i| (1e-4..1.0 - 1e-4).contains(&x[*i])) {
                let numeric = 1.0 - 3.0 * (at(i, 1e-5) - at(i, -1e-5)) / 2e-5;
                assert!((gradient[i] - numeric).abs() < 1e-6 * numeric.abs().max(1.0), "{i}");
            }
        }
    }
}
