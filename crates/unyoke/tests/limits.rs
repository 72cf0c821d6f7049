//! Limits between parameters: what is suggested satisfies them exactly, and optima on them are found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use unyoke::{Algorithm, Config, Design, Initial, Origin, Problem, ProblemBuilder, Search, Study};

fn study(problem: ProblemBuilder, algorithm: Algorithm, initial: usize) -> Study {
    let config = Config {
        algorithm,
        initial: Initial { designs: Some(initial), ..Initial::default() },
        search: Search { raw: 64, restarts: 4, iterations: 40 },
        ..Config::default()
    };
    Study::with_config(problem.build().unwrap(), config, 3).unwrap()
}

fn real(design: &Design, name: &str) -> f64 {
    design.real(name).unwrap()
}

/// Asks and tells so often; the largest value, having checked every design.
fn best(
    study: &mut Study,
    evaluations: usize,
    value: impl Fn(&Design) -> f64,
    check: impl Fn(&Design),
) -> f64 {
    let mut best = f64::NEG_INFINITY;
    for _ in 0..evaluations {
        let asked = study.ask().unwrap();
        check(&asked.design);
        best = best.max(value(&asked.design));
        study.tell(asked.evaluation, value(&asked.design)).unwrap();
    }
    best
}

fn simplex() -> ProblemBuilder {
    let names = ["x1", "x2", "x3"];
    let start = names.iter().fold(Problem::builder(), |b, name| b.continuous(*name, 0.0, 1.0));
    start.limit("sum", "x1 + x2 + x3 <= 1")
}

#[test]
fn an_optimum_on_the_boundary_of_a_simplex_is_found_and_never_left() {
    // The hill's top at (0.5, 0.4, 0.6) is beyond; the best that is allowed is 1/6 less in each.
    let names = ["x1", "x2", "x3"];
    let hill = |d: &Design| {
        let parts = names.iter().zip([0.5, 0.4, 0.6]).map(|(name, top)| real(d, name) - top);
        -parts.map(|v| v * v).sum::<f64>()
    };
    let check = |d: &Design| {
        let sum: f64 = names.iter().map(|name| real(d, name)).sum();
        assert!(sum <= 1.0 && names.iter().all(|n| (0.0..=1.0).contains(&real(d, n))), "{d}");
    };
    let mut study = study(simplex().maximise("f", 1.0), Algorithm::CMokg, 8);
    best(&mut study, 40, hill, check);
    let recommended = study.best_for(&[1.0]).unwrap().design;
    check(&recommended);
    let regret = -3.0 / 36.0 - hill(&recommended);
    assert!((0.0..1e-3).contains(&regret), "{regret}");
}

#[test]
fn integers_steps_and_numbers_together_satisfy_limits_exactly() {
    let problem = Problem::builder()
        .integer("n", 0, 50)
        .stepped("t", 0.0, 10.0, 0.25)
        .continuous("x", 0.0, 1.0)
        .integer("few", 1, 4)
        .categorical("c", ["u", "v"])
        .limit("sum", "n / 50 + t / 10 + x <= 1")
        .limit("order", "n >= 5 * few")
        .maximise("f", 1.0);
    let value = |d: &Design| {
        let kind = if d.get("c").unwrap().as_str() == Some("u") { 0.1 } else { 0.0 };
        let [n, t, x, few] = ["n", "t", "x", "few"].map(|name| real(d, name));
        let bowl = (n / 50.0 - 0.5).powi(2) + (t / 10.0 - 0.45).powi(2) + (x - 0.5).powi(2);
        kind + few / 40.0 - bowl
    };
    let check = |d: &Design| {
        let [n, t, x, few] = ["n", "t", "x", "few"].map(|name| real(d, name));
        assert!(n / 50.0 + t / 10.0 + x <= 1.0 && n >= 5.0 * few, "{d}");
        assert!(n.fract() == 0.0 && (4.0 * t).fract() == 0.0, "{d}");
    };
    let mut top = f64::NEG_INFINITY;
    for n in 0..=50 {
        for t in 0..=40 {
            let (n, t) = (f64::from(n), f64::from(t) / 4.0);
            let x = (1.0 - n / 50.0 - t / 10.0).min(0.5);
            let few = (n / 5.0).floor().min(4.0);
            if x >= 0.0 && few >= 1.0 {
                let bowl = (n / 50.0 - 0.5).powi(2) + (t / 10.0 - 0.45).powi(2) + (x - 0.5).powi(2);
                top = top.max(0.1 + few / 40.0 - bowl);
            }
        }
    }
    let mut study = study(problem, Algorithm::CMokg, 10);
    let regret = top - best(&mut study, 40, value, check);
    assert!((-1e-9..5e-3).contains(&regret), "{regret}");
}

#[test]
fn a_sliver_is_searched_too() {
    let problem = Problem::builder().continuous("a", 0.0, 1.0).continuous("b", 0.0, 1.0);
    let problem = problem.limit("band", "0.5 <= a - b <= 0.5001").maximise("f", 1.0);
    let value = |d: &Design| -(real(d, "a") - 0.77).powi(2);
    let check = |d: &Design| {
        let difference = real(d, "a") - real(d, "b");
        assert!((0.5..=0.5001).contains(&difference), "{d}");
    };
    let found = best(&mut study(problem, Algorithm::CMokg, 4), 15, value, check);
    assert!(found > -1e-3, "{found}");
}

#[test]
fn every_algorithm_keeps_to_the_limits() {
    for algorithm in Algorithm::ALL {
        let problem = simplex().maximise("f", 1.0).maximise("g", 2.0);
        let mut study = study(problem, algorithm, 3);
        for _ in 0..12 {
            let asked = study.ask().unwrap();
            let [a, b, c] = ["x1", "x2", "x3"].map(|name| real(&asked.design, name));
            assert!(a + b + c <= 1.0, "{algorithm:?} {}", asked.design);
            let value = if asked.measurement == "f" { a + b } else { c - a * a };
            study.tell(asked.evaluation, value).unwrap();
        }
    }
}

#[test]
fn an_initial_design_does_not_depend_on_how_many_there_are() {
    for limit in ["x1 + x2 + x3 <= 1", "0.5 <= x1 - x2 * x3 <= 0.50001"] {
        let designs = |count: usize| {
            let problem = simplex().limit("other", limit).maximise("f", 1.0);
            let mut study = study(problem, Algorithm::CMokg, count);
            let asked = (0..count).map(|_| study.ask().unwrap());
            let asked: Vec<_> = asked.collect();
            assert!(asked.iter().all(|asked| asked.origin == Origin::Initial));
            asked.into_iter().map(|asked| asked.design).collect::<Vec<Design>>()
        };
        let many = designs(12);
        for count in [1, 2, 5] {
            assert_eq!(designs(count), many[..count]);
        }
    }
}
