//! Problems, data and checks that several test files share.
#![allow(dead_code, reason = "each test file uses some of it")]

use unyoke::{
    Config, Cost, Design, Initial, Journal, Noise, Origin, Parameter, Problem, ProblemBuilder,
    Study, Suggestion, Value,
};

/// Two inputs x and y in [0, 1], no objectives yet.
pub(crate) fn plane() -> ProblemBuilder {
    Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0)
}

/// The plane with a cheap objective to maximise and a expensive one to minimise.
pub(crate) fn two_objectives() -> Problem {
    plane().maximise("f", 1.0).minimise("g", 10.0).build().unwrap()
}

/// A design of the plane.
pub(crate) fn at(x: f64, y: f64) -> Design {
    Design::new().with("x", x).with("y", y)
}

/// A rough function of the plane.
pub(crate) fn f(x: f64, y: f64) -> f64 {
    (9.0 * x).sin() + (7.0 * y + 1.0).cos() - x
}

/// A smooth function of the plane.
pub(crate) fn g(x: f64, y: f64) -> f64 {
    (x - 0.7).powi(2) + (y - 0.2).powi(2)
}

/// Point number `i` of an evenly spread sequence in the unit square (Roberts 2018).
pub(crate) fn spread(i: usize) -> [f64; 2] {
    let k = (i + 1) as f64;
    [(0.5 + 0.754_877_666_246_692_7 * k).fract(), (0.5 + 0.569_840_290_998_053_2 * k).fract()]
}

/// Settings without an initial design: models from the first value on.
pub(crate) fn no_initial_design() -> Config {
    Config { initial: Initial { designs: Some(0), ..Initial::default() }, ..Config::default() }
}

/// A study that asks its models at once.
pub(crate) fn modelled(problem: Problem) -> Study {
    Study::with_config(problem, no_initial_design(), 0).unwrap()
}

/// Imports a value of `objective` at each of the first `count` spread points.
pub(crate) fn import(
    study: &mut Study,
    objective: &str,
    count: usize,
    value: impl Fn(f64, f64) -> f64,
) {
    for i in 0..count {
        let [x, y] = spread(i);
        study.tell_result(at(x, y), objective, value(x, y)).unwrap();
    }
}

/// The study of two objectives after `count` values of each.
pub(crate) fn after(count: usize) -> Study {
    let mut study = modelled(two_objectives());
    import(&mut study, "f", count, f);
    import(&mut study, "g", count, g);
    study
}

/// What comes next, once it is seen to be inside the bounds, finite, and nothing that was tried.
pub(crate) fn assert_suggestion<J: Journal>(study: &Study<J>) -> Suggestion {
    let suggestion = study.suggest().unwrap();
    let Suggestion { design, measurement, cost, options, chosen, origin, .. } = &suggestion;
    let problem = study.problem();
    assert_eq!(design.len(), problem.parameters.len(), "{design}");
    for parameter in &problem.parameters {
        let value = design.get(parameter.name()).unwrap();
        assert!(can_take(parameter, value), "{parameter:?} is {value}");
    }
    match study.cost(measurement).unwrap() {
        Cost::Constant(constant) => assert_eq!(constant, cost),
        _ => assert!(cost.is_finite() && *cost > 0.0, "{cost}"),
    }
    assert_eq!(chosen.is_some(), !options.is_empty());
    for row in options {
        assert!(row.log_gain < f64::INFINITY, "{row:?}");
        assert!(row.break_even_cost.is_none_or(f64::is_finite), "{row:?}");
    }
    if let Some(chosen) = *chosen {
        assert!(options[chosen].log_gain.is_finite(), "{options:?}");
    }
    if *origin != Origin::Repeated {
        assert_new(study, &suggestion);
    }
    suggestion
}

/// Whether a parameter can take a value.
fn can_take(parameter: &Parameter, value: &Value) -> bool {
    match (parameter, value) {
        (Parameter::Continuous { low, high, step, .. }, Value::Real(v)) => {
            let steps = step.map_or(0.0, |step| (v - low) / step);
            low <= v && v <= high && (steps - steps.round()).abs() < 1e-9
        }
        (Parameter::Integer { low, high, .. }, Value::Integer(v)) => low <= v && v <= high,
        (Parameter::Categorical { choices, .. }, Value::Choice(v)) => choices.contains(v),
        _ => false,
    }
}

/// Nothing is under way at the suggested design, nothing failed there, and no value of a
/// deterministic output is known.
fn assert_new<J: Journal>(study: &Study<J>, suggestion: &Suggestion) {
    let m = study.problem().measurement_index(&suggestion.measurement).unwrap();
    let outputs = study.problem().outputs_of(m);
    let is_noisy = |k: &usize| study.problem().outputs[*k].noise != Noise::Deterministic;
    let repeatable = outputs.iter().any(is_noisy);
    for evaluation in study.evaluations() {
        let completed = matches!(evaluation.status, unyoke::Status::Completed(_));
        let counts = evaluation.status.counts();
        let gives_all = outputs.iter().all(|k| evaluation.outputs.contains(k));
        if gives_all && counts && !(completed && repeatable) {
            assert_ne!(evaluation.design, suggestion.design, "evaluation {}", evaluation.id);
        }
    }
}

/// Distance between two designs in the x and y of the unit square.
pub(crate) fn distance(a: &Design, b: &Design) -> f64 {
    let along = |name: &str| a.real(name).unwrap() - b.real(name).unwrap();
    along("x").hypot(along("y"))
}

/// Largest difference of two designs in any real parameter, in units of its range.
pub(crate) fn furthest(problem: &Problem, a: &Design, b: &Design) -> f64 {
    let apart = |parameter: &Parameter| match parameter {
        Parameter::Continuous { name, low, high, .. } => {
            (a.real(name).unwrap() - b.real(name).unwrap()).abs() / (high - low)
        }
        other => f64::from(u8::from(a.get(other.name()) != b.get(other.name()))),
    };
    problem.parameters.iter().map(apart).fold(0.0, f64::max)
}
