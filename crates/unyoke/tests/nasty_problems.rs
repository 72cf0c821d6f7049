//! Problems as they really are: whatever outputs, measurements, costs, limits and failures they
//! have, a study suggests something sensible or says what is wrong before anything is spent.
//!
//! The numbers continue those of `nasty.rs`; what must not change a suggestion is in
//! `invariances_problems.rs`.
//!
//! - Descriptions: 61 a measurement without outputs, 62 an output that nothing gives, 63 one given
//!   twice by one measurement, 64 a formula that is measured, 65 an unknown output, 66 no objective,
//!   67 nothing to measure, 68 limits of constraints that are no numbers.
//! - Measurements: 69 the same outputs at two prices, 70 at one price, 71 eight outputs in one,
//!   72 an objective and a constraint in one.
//! - Formulas: 73 unknown names, 74 of a choice, 75 division by zero somewhere, 76 everywhere,
//!   77 overflow, 78 a constant, 79 all objectives, 80 as constraint, 81 very small and very large,
//!   82 not a number where nobody looked.
//! - Constraints: 83 never satisfied, 84 always satisfied, 85 at the limit everywhere, 86 constant,
//!   87 limits of ±1e300, 88 ten of them, 89 never observed, 90 that contradict each other.
//! - Failures: 91 every run, 92 every run of one measurement, 93 at random, 94 all but one of fifty,
//!   95 parts of runs in every pattern, 96 values that are not numbers among others.
//! - Standard errors: 97 from 0 to 1e300, 98 impossible, 99 of some values, 100 of replicates.
//! - Log scales: 101 from 1e-300 to 1e300, 102 of nothing or less, 103 of constraints.
//! - Parameters: 104 steps that do not fit, 105 that do not divide the range, 106 one ordered choice.
//! - Results: 107 of another measurement, 108 a number alone, 109 several outputs under way,
//!   110 withdrawn, 111 one output of two imported, 112 retried without having failed, 127 values
//!   further apart than any number.
//! - Limits: 113 that leave nothing, 114 one design, 115 a sliver, 116 few integers, 117 that are not
//!   numbers somewhere.
//! - Costs: 118 formulas that are not positive somewhere, 119 where nobody looked, 120 learned of
//!   nothing, 121 of 1e300, 122 never reported, 123 impossible reports, 124 changed to a formula,
//!   125 constants of any size.
//! - All at once: 126 every algorithm.
#![allow(clippy::unwrap_used, clippy::panic)]

mod studies;

use studies::*;
use unyoke::{
    Algorithm, Config, Cost, Design, Discretisation, Error, FrontSearch, Initial, Measurement,
    ModelNote, Note, Origin, Outcome, Output, ProblemBuilder, Reading, Search, Status, Study,
    Suggestion,
};

/// Less effort than usual.
fn quick() -> Config {
    Config {
        initial: Initial { designs: Some(0), ..Initial::default() },
        weights: 3,
        search: Search { raw: 32, restarts: 3, iterations: 15 },
        discretisation: Discretisation::Adaptive { points: 32 },
        front: FrontSearch { population: 32, generations: 20 },
        ..Config::default()
    }
}

fn study(problem: ProblemBuilder) -> Study {
    Study::with_config(problem.build().unwrap(), quick(), 0).unwrap()
}

/// The places of the mistakes in a problem that must be refused.
fn mistakes(problem: ProblemBuilder) -> Vec<String> {
    match problem.build() {
        Err(Error::Invalid { mistakes }) => mistakes.into_iter().map(|m| m.path).collect(),
        other => panic!("{other:?}"),
    }
}

/// The value of any output of these tests at a design.
fn truth(output: &str, design: &Design) -> f64 {
    let (x, y) = (design.real("x").unwrap(), design.real("y").unwrap());
    match output {
        "f" => f(x, y),
        "g" => g(x, y),
        "stress" => x + y,
        other => (x * other.len() as f64 + other.bytes().map(f64::from).sum::<f64>() * y).sin(),
    }
}

/// All values of the suggested measurement.
fn values(asked: &Suggestion) -> Outcome {
    let value = |outcome: Outcome, k: &String| outcome.value(k, truth(k, &asked.design));
    asked.outputs.iter().fold(Outcome::default(), value)
}

/// Asks, looks at what comes, and tells, so often.
fn go(study: &mut Study, steps: usize, tell: impl Fn(usize, &Suggestion) -> Outcome) {
    for step in 0..steps {
        let seen = assert_suggestion(study);
        let asked = study.ask().unwrap();
        assert_eq!(asked, seen);
        study.tell(asked.evaluation, tell(step, &asked)).unwrap();
    }
    assert_suggestion(study);
}

/// Every forecast of the front is finite, and so are probabilities. Returns the number of points.
fn finite_front(study: &Study) -> usize {
    let front = study.front(10).unwrap();
    for point in &front.points {
        for forecast in &point.outputs {
            let numbers = [forecast.mean, forecast.sd, forecast.low, forecast.high];
            assert!(numbers.iter().all(|v| v.is_finite()), "{forecast:?}");
        }
        assert!(point.feasibility.is_none_or(|f| (0.0..=1.0).contains(&f)), "{point:?}");
    }
    front.points.len()
}

/// One objective to maximise, measured together with a constraint.
fn together(constraint: Output) -> ProblemBuilder {
    let names = ["f".to_owned(), constraint.name.clone()];
    plane()
        .output(Output::maximise("f"))
        .output(constraint)
        .measurement(Measurement::new("run", names, 1.0))
}

/// Imports both outputs of [`together`] at spread points.
fn import_both(study: &mut Study, count: usize, constraint: impl Fn(f64, f64) -> f64) {
    import(study, "f", count, f);
    let name = study.problem().outputs[1].name.clone();
    import(study, &name, count, constraint);
}

#[test]
fn case_61_a_measurement_without_outputs() {
    let none: [&str; 0] = [];
    let problem = plane().maximise("f", 1.0).measurement(Measurement::new("idle", none, 1.0));
    assert_eq!(mistakes(problem), ["measurements[1].outputs"]);
}

#[test]
fn case_62_an_output_that_nothing_gives() {
    let problem = plane().maximise("f", 1.0).output(Output::at_most("stress", 1.0));
    assert_eq!(mistakes(problem), ["outputs[1]"]);
}

#[test]
fn case_63_an_output_given_twice_by_one_measurement() {
    let problem = plane().output(Output::maximise("f"));
    let problem = problem.measurement(Measurement::new("run", ["f", "f"], 1.0));
    assert_eq!(mistakes(problem), ["measurements[0].outputs[1]"]);
}

#[test]
fn case_64_a_formula_that_is_measured() {
    let problem = plane().output(Output::maximise("f")).output(formula("mass", "x + y"));
    let problem = problem.measurement(Measurement::new("run", ["f", "mass"], 1.0));
    assert_eq!(mistakes(problem), ["measurements[0].outputs[1]"]);
}

fn formula(name: &str, text: &str) -> Output {
    Output::minimise(name).with_formula(text)
}

#[test]
fn case_65_a_measurement_of_an_unknown_output() {
    let problem = plane().maximise("lift", 1.0);
    let problem = problem.measurement(Measurement::new("run", ["lfit"], 1.0)).build();
    let message = problem.unwrap_err().to_string();
    assert!(message.starts_with("measurements[1].outputs[0]: "), "{message}");
    assert!(message.contains("did you mean \"lift\"?"), "{message}");
}

#[test]
fn case_66_constraints_but_no_objective() {
    let problem = plane().measured(Output::at_most("stress", 1.0), 1.0);
    assert_eq!(mistakes(problem), ["outputs"]);
}

#[test]
fn case_67_nothing_to_measure() {
    let problem = plane().output(formula("mass", "x + y")).output(formula("size", "x * y"));
    assert_eq!(mistakes(problem), ["measurements"]);
}

#[test]
fn case_68_limits_of_constraints_that_are_no_numbers() {
    for limit in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        for output in [Output::at_most("stress", limit), Output::at_least("stress", limit)] {
            assert_eq!(mistakes(together(output)), ["outputs[1].limit"]);
        }
    }
}

/// A problem in which two measurements give the same outputs at these prices.
fn two_ways(first: (&str, f64), second: (&str, f64)) -> ProblemBuilder {
    let run = |(name, cost): (&str, f64)| Measurement::new(name, ["f", "g"], cost);
    plane()
        .output(Output::maximise("f"))
        .output(Output::minimise("g"))
        .measurement(run(first))
        .measurement(run(second))
}

#[test]
fn case_69_of_two_measurements_of_the_same_outputs_the_cheaper_one_is_made_always() {
    for (first, second) in [(("low", 1.0), ("high", 1.01)), (("high", 1.01), ("low", 1.0))] {
        for algorithm in [Algorithm::CMokg, Algorithm::MakgVector] {
            let config = Config { algorithm, initial: Initial::default(), ..quick() };
            let problem = two_ways(first, second).build().unwrap();
            let mut study = Study::with_config(problem, config, 0).unwrap();
            go(&mut study, 12, |_, asked| {
                assert_eq!(asked.measurement, "low", "{asked:?}");
                values(asked)
            });
        }
    }
}

#[test]
fn case_70_the_same_outputs_at_the_same_price() {
    let mut study = study(two_ways(("a", 2.0), ("b", 2.0)));
    go(&mut study, 8, |_, asked| values(asked));
    assert!(finite_front(&study) > 0);
}

#[test]
fn case_71_eight_outputs_in_one_measurement() {
    let names: Vec<String> = (0..8).map(|k| format!("o{k}")).collect();
    let output = |(k, name): (usize, &String)| match k % 3 {
        0 => Output::maximise(name),
        1 => Output::minimise(name),
        _ => Output::at_most(name, 0.5),
    };
    let start = names.iter().enumerate().map(output).fold(plane(), ProblemBuilder::output);
    let mut study = study(start.measurement(Measurement::new("run", names, 1.0)));
    go(&mut study, 10, |_, asked| values(asked));
    finite_front(&study);
}

#[test]
fn case_72_an_objective_and_a_constraint_in_one_measurement() {
    let mut study = study(together(Output::at_most("stress", 1.0)));
    go(&mut study, 15, |_, asked| values(asked));
    assert!(finite_front(&study) > 0);
    let best = study.best_for(&[1.0]).unwrap();
    assert!(truth("stress", &best.design) < 1.05, "{best:?}");
}

#[test]
fn case_73_a_formula_of_an_unknown_name() {
    for problem in [
        plane().maximise("f", 1.0).output(formula("mass", "2 * xx")),
        plane().maximise("f", 1.0).output(formula("mass", "2 * f")),
        plane().maximise("f", 1.0).output(formula("mass", "2 * ")),
        plane().maximise("f", 1.0).output(formula("mass", "")),
    ] {
        assert_eq!(mistakes(problem), ["outputs[1].formula"]);
    }
    let refused = plane().maximise("f", Cost::formula("lenght")).continuous("length", 0.1, 1.0);
    let message = refused.build().unwrap_err().to_string();
    assert!(message.starts_with("measurements[0].cost: "), "{message}");
    assert!(message.contains("did you mean \"length\"?"), "{message}");
}

#[test]
fn case_74_a_formula_of_a_choice() {
    let kinds = || plane().categorical("kind", ["a", "b"]).ordered("size", ["S", "M"]);
    for text in ["kind", "x * size"] {
        let problem = kinds().maximise("f", 1.0).output(formula("mass", text));
        assert_eq!(mistakes(problem), ["outputs[1].formula"]);
        assert_eq!(mistakes(kinds().maximise("f", Cost::formula(text))), ["measurements[0].cost"]);
        let limited = kinds().maximise("f", 1.0).limit("l", format!("{text} <= 1"));
        assert_eq!(mistakes(limited), ["limits[0].formula"]);
    }
}

#[test]
fn case_75_division_by_zero_somewhere() {
    let problem = plane().output(formula("mass", "1 / x")).maximise("f", 1.0);
    let message = problem.build().unwrap_err().to_string();
    assert!(message.starts_with("outputs[0].formula: is inf at x = 0.0;"), "{message}");
    // Where a limit keeps designs away from there, it may stand.
    let limited = plane().limit("away", "x >= 0.1").output(formula("mass", "1 / x"));
    let mut away = study(limited.maximise("f", 1.0));
    import(&mut away, "f", 10, f);
    go(&mut away, 2, |_, asked| values(asked));
    assert!(finite_front(&away) > 0);
    // Nobody sees a pole between the designs that are tried.
    let mut pole = study_with_formula("1 / (x - 0.3701234)");
    go(&mut pole, 3, |_, asked| values(asked));
    assert!(finite_front(&pole) > 0);
}

#[test]
fn case_76_division_by_zero_everywhere() {
    for text in ["x / 0", "0 / 0", "1 / (x - x)"] {
        let problem = plane().output(formula("mass", text)).maximise("f", 1.0);
        assert_eq!(mistakes(problem), ["outputs[0].formula"], "{text}");
    }
}

#[test]
fn case_77_a_formula_that_overflows() {
    for text in ["exp(1000 * x)", "(1 + x)^1e4", "1e308 * 1e308 * x", "ln(0 - exp(x))"] {
        let problem = plane().output(formula("mass", text)).maximise("f", 1.0);
        assert_eq!(mistakes(problem), ["outputs[0].formula"], "{text}");
        assert_eq!(mistakes(plane().maximise("f", Cost::formula(text))), ["measurements[0].cost"]);
    }
    // Only just not: the differences do.
    let study = study_with_formula("1.7e308 * (2 * x - 1)");
    assert_suggestion(&study);
    finite_front(&study);
}

#[test]
fn case_78_a_formula_that_is_a_constant() {
    let constant = || plane().output(formula("mass", "2 + 1")).maximise("f", 1.0);
    let mut study = study(constant());
    import(&mut study, "f", 10, f);
    assert_suggestion(&study);
    // What is expected to be best, and what was measured and may be.
    assert!(finite_front(&study) <= 2);
    let front = study.front(10).unwrap();
    assert_eq!(front.points.iter().filter(|point| !point.is_measured()).count(), 1);
    for role in [Output::at_most("mass", 3.0), Output::at_least("mass", 3.0)] {
        let problem = plane().output(role.with_formula("2 + 1")).maximise("f", 1.0);
        let mut study = self::study(problem);
        import(&mut study, "f", 10, f);
        assert_suggestion(&study);
        finite_front(&study);
    }
    let never = plane().output(Output::at_most("mass", 2.0).with_formula("2 + 1"));
    let mut study = self::study(never.maximise("f", 1.0));
    import(&mut study, "f", 10, f);
    assert_suggestion(&study);
    assert_eq!(finite_front(&study), 0);
}

#[test]
fn case_79_all_objectives_are_formulas_and_one_constraint_is_measured() {
    let problem = plane()
        .output(formula("mass", "x + 2 * y"))
        .output(Output::maximise("size").with_formula("x * y"))
        .measured(Output::at_most("stress", 1.0), 1.0);
    let mut study = study(problem);
    go(&mut study, 15, |_, asked| {
        assert_eq!(asked.measurement, "stress");
        values(asked)
    });
    assert!(finite_front(&study) > 2);
    for point in study.front(10).unwrap().points {
        assert!(truth("stress", &point.design) < 1.05, "{point:?}");
    }
}

#[test]
fn case_80_a_constraint_that_is_a_formula_holds_exactly() {
    for constraint in [
        Output::at_most("load", 0.8).with_formula("x + y"),
        Output::at_least("load", -0.8).with_formula("-x - y"),
        Output::at_most("load", 1.8).with_formula("1 + x + y").log_scale(),
    ] {
        // Infeasible where the objective is best.
        let problem = plane().output(constraint).output(Output::maximise("f"));
        let mut study = study(problem.measurement(Measurement::new("run", ["f"], 1.0)));
        let hill = |d: &Design| -(d.real("x").unwrap() - 0.9).powi(2) - d.real("y").unwrap();
        for i in 0..8 {
            let [x, y] = spread(i);
            study.tell_result(at(x, y), "f", hill(&at(x, y))).unwrap();
        }
        go(&mut study, 8, |_, asked| hill(&asked.design).into());
        let front = study.front(10).unwrap();
        assert!(!front.points.is_empty());
        for point in &front.points {
            let sum = point.design.real("x").unwrap() + point.design.real("y").unwrap();
            assert!(sum <= 0.8 + 1e-9, "{}", point.design);
            assert!((0.75..=0.8 + 1e-9).contains(&sum), "not at the limit: {}", point.design);
        }
        // Nothing is measured where the formula says that it is no use, once that is clear.
        let late = study.evaluations().iter().filter(|e| e.asked).skip(4);
        for evaluation in late {
            let design = &evaluation.design;
            let sum = design.real("x").unwrap() + design.real("y").unwrap();
            assert!(sum < 1.3, "{design}");
        }
    }
}

#[test]
fn case_81_formulas_of_very_small_and_very_large_values() {
    let plain = study_with_formula("x + y");
    let expected = assert_suggestion(&plain);
    for text in ["1e-300 * (x + y)", "1e300 * (x + y)", "1e15 + 1e13 * (x + y)", "1e12 * (x + y)"] {
        let scaled = study_with_formula(text);
        let suggestion = assert_suggestion(&scaled);
        assert!(distance(&suggestion.design, &expected.design) < 1e-6, "{text}: {suggestion:?}");
        assert!(finite_front(&scaled) > 1, "{text}");
    }
}

/// A study of f and a formula after ten values.
fn study_with_formula(text: &str) -> Study {
    let mut study = study(plane().output(formula("mass", text)).maximise("f", 1.0));
    import(&mut study, "f", 10, f);
    study
}

#[test]
fn case_82_a_formula_without_a_value_where_nobody_looked() {
    // Not a number within 0.01 of the design that is best in everything else.
    let hole = "sqrt((x - 0.5)^2 + (y - 0.5)^2 - 0.0001)";
    let inside = |design: &Design| distance(design, &at(0.5, 0.5)) < 0.01;
    for output in [
        Output::minimise("mass").with_formula(hole),
        Output::maximise("mass").with_formula(hole),
        Output::at_most("mass", 0.3).with_formula(hole),
        Output::at_least("mass", 0.1).with_formula(hole),
        Output::at_most("mass", 0.3).with_formula(hole).log_scale(),
    ] {
        let mut study = study(plane().output(output).maximise("f", 1.0));
        let hill = |x: f64, y: f64| -(x - 0.5).powi(2) - (y - 0.5).powi(2);
        import(&mut study, "f", 12, hill);
        study.tell_result(at(0.5, 0.5), "f", 0.0).unwrap();
        go(&mut study, 3, |_, asked| {
            hill(asked.design.real("x").unwrap(), asked.design.real("y").unwrap()).into()
        });
        assert!(finite_front(&study) > 0);
        for point in study.front(10).unwrap().points {
            assert!(!inside(&point.design), "{}", point.design);
        }
        let forecast = study.forecast(&at(0.5, 0.5)).unwrap();
        // What has no value is said to have none, and nothing else is.
        for forecast in &forecast.outputs {
            assert_eq!(forecast.mean.is_nan(), forecast.is_formula);
        }
    }
}

#[test]
fn case_83_a_constraint_that_is_never_satisfied() {
    for limit in [-1.0, -1e6] {
        let mut study = study(together(Output::at_most("stress", limit)));
        go(&mut study, 12, |_, asked| values(asked));
        // Where extrapolation cannot hope, nothing is recommended.
        if limit < -1e3 {
            assert_eq!(finite_front(&study), 0);
        }
        let best = study.best_for(&[1.0]).unwrap();
        assert!(best.feasibility.unwrap() < 0.5, "{best:?}");
    }
}

#[test]
fn case_84_a_constraint_that_is_always_satisfied_changes_nothing() {
    let mut with = study(together(Output::at_most("stress", 100.0)));
    let mut without = study(plane().maximise("f", 1.0));
    import_both(&mut with, 12, |x, y| x + y);
    import(&mut without, "f", 12, f);
    let (a, b) = (assert_suggestion(&with), assert_suggestion(&without));
    assert!(distance(&a.design, &b.design) < 1e-2, "{} {}", a.design, b.design);
    let (a, b) = (with.best_for(&[1.0]).unwrap(), without.best_for(&[1.0]).unwrap());
    assert!(distance(&a.design, &b.design) < 1e-6, "{} {}", a.design, b.design);
    assert!(a.feasibility.unwrap() > 0.999);
    // With a price of its own it is not measured again: nothing depends on it.
    let alone = plane().maximise("f", 1.0).measured(Output::at_most("stress", 100.0), 1.0);
    let mut alone = study(alone);
    import_both(&mut alone, 12, |x, y| x + y);
    assert_eq!(assert_suggestion(&alone).measurement, "f");
}

#[test]
fn case_85_a_constraint_at_its_limit_everywhere() {
    let both = [Output::at_most("stress", 0.3), Output::at_least("stress", 0.3)];
    for constraint in both.into_iter().flat_map(|c| [c.clone(), c.noisy()]) {
        let mut study = study(together(constraint));
        import_both(&mut study, 12, |_, _| 0.3);
        assert_suggestion(&study);
        finite_front(&study);
    }
}

#[test]
fn case_86_a_constraint_that_is_constant() {
    for (value, feasible) in [(0.2, true), (0.4, false), (1e300, false), (-1e300, true)] {
        let mut study = study(together(Output::at_most("stress", 0.3)));
        import_both(&mut study, 12, |_, _| value);
        let suggestion = assert_suggestion(&study);
        let said = Note::Model { output: "stress".into(), note: ModelNote::ConstantValues };
        assert!(suggestion.notes.contains(&said), "{:?}", suggestion.notes);
        let count = finite_front(&study);
        // Values of ±0.1 about the limit say little with one unit of prior deviation.
        if value.abs() > 1.0 {
            assert_eq!(count > 0, feasible, "{value}");
        }
    }
}

#[test]
fn case_87_limits_beyond_all_values() {
    for (constraint, feasible) in [
        (Output::at_most("stress", 1e300), true),
        (Output::at_most("stress", -1e300), false),
        (Output::at_least("stress", -1e300), true),
        (Output::at_least("stress", 1e300), false),
        (Output::at_most("stress", f64::MAX), true),
        (Output::at_least("stress", f64::MAX), false),
    ] {
        for scale in [1.0, 1e-300] {
            let mut study = study(together(constraint.clone()));
            import_both(&mut study, 10, |x, y| scale * (x + y));
            assert_suggestion(&study);
            assert_eq!(finite_front(&study) > 0, feasible, "{constraint:?}");
        }
    }
}

#[test]
fn case_88_ten_constraints() {
    let names: Vec<String> = (0..10).map(|k| format!("c{k}")).collect();
    let alone = names
        .iter()
        .fold(plane().maximise("f", 1.0), |b, c| b.measured(Output::at_most(c, 0.9), 1.0));
    let start = plane().output(Output::maximise("f"));
    let start = names.iter().fold(start, |b, c| b.output(Output::at_most(c, 0.9)));
    let all = names.iter().cloned().chain(["f".to_owned()]);
    let one_run = start.measurement(Measurement::new("run", all, 3.0));
    for problem in [alone, one_run] {
        let mut study = study(problem);
        import(&mut study, "f", 8, f);
        for name in &names {
            import(&mut study, name, 8, |x, y| truth(name, &at(x, y)));
        }
        go(&mut study, 2, |_, asked| values(asked));
        finite_front(&study);
    }
}

#[test]
fn case_89_a_constraint_that_was_never_observed() {
    let problem = plane().maximise("f", 1.0).measured(Output::at_most("stress", 1.0), 1.0);
    let mut study = study(problem);
    import(&mut study, "f", 20, f);
    let suggestion = assert_suggestion(&study);
    let said = Note::Model { output: "stress".into(), note: ModelNote::NoObservations };
    assert!(suggestion.notes.contains(&said), "{:?}", suggestion.notes);
    finite_front(&study);
    go(&mut study, 20, |_, asked| values(asked));
    assert!(study.spent_on("stress").unwrap() > 0.0, "it is never measured");
}

#[test]
fn case_90_constraints_that_contradict_each_other() {
    let problem = plane()
        .output(Output::maximise("f"))
        .output(Output::at_most("stress", 0.1))
        .output(Output::at_least("strain", 0.9))
        .measurement(Measurement::new("run", ["f", "stress", "strain"], 1.0));
    let mut study = study(problem);
    for (name, sign) in [("f", 1.0), ("stress", 1.0), ("strain", 0.05)] {
        import(&mut study, name, 12, |x, y| sign * (x + y));
    }
    assert_suggestion(&study);
    assert_eq!(finite_front(&study), 0);
    assert!(study.best_for(&[1.0]).unwrap().feasibility.unwrap() < 0.5);
}

/// A run of two outputs and a cheaper one of one of them.
fn two_measurements() -> ProblemBuilder {
    plane()
        .output(Output::maximise("f"))
        .output(Output::minimise("g"))
        .measurement(Measurement::new("both", ["f", "g"], 3.0))
        .measurement(Measurement::new("one", ["g"], 1.0))
}

fn failure() -> Outcome {
    Outcome::default().missing("crashed")
}

#[test]
fn case_91_every_run_fails() {
    for initial in [Some(0), None] {
        let initial = Initial { designs: initial, ..Initial::default() };
        let config = Config { initial, ..quick() };
        let problem = two_measurements().build().unwrap();
        let mut study = Study::with_config(problem, config, 0).unwrap();
        go(&mut study, 40, |_, _| failure());
        assert_eq!(assert_suggestion(&study).origin, Origin::NoValues);
        finite_front(&study);
    }
}

#[test]
fn case_92_every_run_of_one_measurement_fails() {
    for broken in ["both", "one"] {
        let mut study = study(two_measurements());
        go(&mut study, 20, |_, asked| match asked.measurement == broken {
            true => failure(),
            false => values(asked),
        });
        assert!(finite_front(&study) > 0);
        let made = |e: &unyoke::Evaluation| matches!(e.status, Status::Completed(_));
        assert!(study.evaluations().iter().any(made), "{broken}");
    }
}

#[test]
fn case_93_failures_at_random() {
    let mut study = study(two_measurements());
    go(&mut study, 24, |step, asked| match step * 7 % 5 < 2 {
        true => failure(),
        false => values(asked),
    });
    assert!(finite_front(&study) > 0);
}

#[test]
fn case_94_one_success_among_fifty_failures() {
    let mut study = study(plane().maximise("f", 1.0).maximise("g", 2.0));
    for _ in 0..50 {
        let asked = study.ask().unwrap();
        study.tell_failure(asked.evaluation, "crashed").unwrap();
    }
    let asked = study.ask().unwrap();
    study.tell(asked.evaluation, 1.0).unwrap();
    go(&mut study, 3, |_, _| failure());
    finite_front(&study);
}

#[test]
fn case_95_parts_of_runs_fail_in_every_pattern() {
    let problem = plane()
        .output(Output::maximise("f"))
        .output(Output::minimise("g"))
        .output(Output::at_most("stress", 1.2))
        .measurement(Measurement::new("run", ["f", "g", "stress"], 1.0));
    let mut study = study(problem);
    go(&mut study, 16, |step, asked| {
        let present = asked.outputs.iter().enumerate().filter(|(k, _)| step >> k & 1 == 0);
        let outcome = present.fold(Outcome::default(), |outcome, (_, name)| {
            outcome.value(name, truth(name, &asked.design))
        });
        if step & 7 == 0 { outcome } else { outcome.missing("no wake found") }
    });
    let counts: Vec<usize> = (0..3)
        .map(|k| study.evaluations().iter().filter(|e| e.reading(k).is_some()).count())
        .collect();
    assert_eq!(counts, [8, 8, 8]);
    finite_front(&study);
}

#[test]
fn case_96_values_that_are_not_numbers_among_others() {
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut study = study(two_measurements());
        import(&mut study, "f", 6, f);
        import(&mut study, "g", 6, g);
        while study.suggest().unwrap().measurement != "both" {
            study.set_cost("one", 1e6).unwrap();
        }
        let asked = study.ask().unwrap();
        study.tell(asked.evaluation, [("f", 1.0), ("g", bad)]).unwrap();
        let evaluation = &study.evaluations()[asked.evaluation as usize];
        assert_eq!(evaluation.reading(0), Some(1.0.into()));
        assert!(evaluation.lacks(1));
        let Status::Completed(results) = &evaluation.status else { panic!("{evaluation:?}") };
        assert!(results.missing.as_ref().unwrap().contains(&format!("g is {bad}")), "{results:?}");
        assert_suggestion(&study);
        finite_front(&study);
    }
}

/// A study of one objective whose values have these standard errors, in turn.
fn with_errors(errors: &[Option<f64>]) -> Study {
    let mut study = study(plane().maximise("f", 1.0));
    for i in 0..12 {
        let ([x, y], sd) = (spread(i), errors[i % errors.len()]);
        study.tell_result(at(x, y), "f", Reading { value: f(x, y), sd }).unwrap();
    }
    study
}

#[test]
fn case_97_standard_errors_of_any_size() {
    for sd in [0.0, 1e-300, 5e-324, 1e-9, 1.0, 1e9, 1e160, 1e300, f64::MAX] {
        for errors in [vec![Some(sd)], vec![Some(sd), Some(0.1), None], vec![Some(sd), Some(0.0)]] {
            let study = with_errors(&errors);
            assert_suggestion(&study);
            assert!(finite_front(&study) > 0, "{errors:?}");
        }
    }
}

#[test]
fn case_98_impossible_standard_errors_are_refused_and_nothing_is_recorded() {
    for sd in [-1.0, -1e-300, f64::NAN, f64::INFINITY] {
        let mut study = study(plane().maximise("f", 1.0));
        let reading = Reading { value: 1.0, sd: Some(sd) };
        let refused = study.tell_result(at(0.5, 0.5), "f", reading);
        assert!(matches!(refused, Err(Error::BadValue { .. })), "{refused:?}");
        assert_eq!(study.evaluations().len(), 0);
        let asked = study.ask().unwrap();
        let refused = study.tell(asked.evaluation, reading);
        assert!(refused.unwrap_err().to_string().contains("the standard error of f"));
        assert_eq!(study.evaluations()[0].status, Status::Pending);
        study.tell(asked.evaluation, 1.0).unwrap();
        assert_suggestion(&study);
    }
}

#[test]
fn case_99_standard_errors_of_some_values_only() {
    let study = with_errors(&[None, Some(0.5), None]);
    assert_suggestion(&study);
    assert!(finite_front(&study) > 0);
    // Those without are exact, those with are not.
    let forecast = |i: usize| {
        let [x, y] = spread(i);
        study.forecast(&at(x, y)).unwrap().outputs[0].clone()
    };
    assert!(forecast(0).sd < 0.05 && forecast(1).sd > forecast(0).sd, "{:?}", forecast(1));
}

#[test]
fn case_100_replicates_with_different_standard_errors() {
    let mut study = with_errors(&[None]);
    let readings = [(0.0, 1e-3), (10.0, 10.0), (0.002, 1e-3), (-5.0, 1e300), (0.001, 0.0)];
    for (value, sd) in readings {
        study.tell_result(at(0.5, 0.5), "f", Reading { value, sd: Some(sd) }).unwrap();
    }
    study.tell_result(at(0.5, 0.5), "f", 0.001).unwrap();
    assert_suggestion(&study);
    let forecast = &study.forecast(&at(0.5, 0.5)).unwrap().outputs[0];
    assert!((forecast.mean - 0.001).abs() < 0.05, "{forecast:?}");
    assert_eq!(forecast.measured.len(), 6);
}

/// One objective on a log scale.
fn on_log_scale() -> ProblemBuilder {
    plane().measured(Output::minimise("f").log_scale(), 1.0)
}

#[test]
fn case_101_values_from_1e_minus_300_to_1e300_on_a_log_scale() {
    for noise in [false, true] {
        let output = Output::minimise("f").log_scale();
        let output = if noise { output.noisy() } else { output };
        let mut study = study(plane().measured(output, 1.0));
        import(&mut study, "f", 12, |x, y| 10f64.powf(300.0 * (f(x, y) / 3.0)));
        study.tell_result(at(0.5, 0.5), "f", 5e-324).unwrap();
        study.tell_result(at(0.1, 0.9), "f", f64::MAX).unwrap();
        let suggestion = assert_suggestion(&study);
        assert!(suggestion.chosen.is_some());
        for point in study.front(10).unwrap().points {
            let forecast = &point.outputs[0];
            assert!(forecast.low >= 0.0 && forecast.low <= forecast.mean, "{forecast:?}");
            assert!(forecast.mean <= forecast.high && !forecast.sd.is_nan(), "{forecast:?}");
        }
    }
}

#[test]
fn case_102_nothing_or_less_on_a_log_scale_is_refused_and_can_be_corrected() {
    let mut study = study(on_log_scale());
    for value in [0.0, -0.0, -1.0] {
        let refused = study.tell_result(at(0.5, 0.5), "f", value);
        assert!(matches!(refused, Err(Error::BadValue { .. })), "{refused:?}");
        let asked = study.ask().unwrap();
        let refused = study.tell(asked.evaluation, value).unwrap_err().to_string();
        assert!(refused.contains("log scale"), "{refused}");
        study.tell_failure(asked.evaluation, &refused).unwrap();
    }
    assert_suggestion(&study);
    for sd in [1e-300, 1e300] {
        let reading = Reading { value: 1e-200, sd: Some(sd) };
        study.tell_result(at(0.5, 0.5), "f", reading).unwrap();
        assert_suggestion(&study);
    }
}

#[test]
fn case_103_a_constraint_on_a_log_scale() {
    for limit in [0.0, -1.0] {
        let constraint = Output::at_most("stress", limit).log_scale();
        assert_eq!(mistakes(together(constraint)), ["outputs[1].limit"]);
    }
    for limit in [5e-324, 1e-3, 1.0, 1e300] {
        let mut study = study(together(Output::at_most("stress", limit).log_scale()));
        import_both(&mut study, 12, |x, y| 10f64.powf(6.0 * (x + y - 1.0)));
        assert_suggestion(&study);
        let count = finite_front(&study);
        assert_eq!(count > 0, limit > 1e-100, "{limit}");
    }
}

#[test]
fn case_104_a_step_that_does_not_fit() {
    for step in [1.5, 0.0, -0.1, f64::NAN] {
        let problem = unyoke::Problem::builder().stepped("x", 0.0, 1.0, step).maximise("f", 1.0);
        assert_eq!(mistakes(problem), ["parameters[0].step"], "{step}");
    }
}

#[test]
fn case_105_a_step_that_does_not_divide_the_range() {
    let problem = unyoke::Problem::builder()
        .stepped("x", 0.1, 1.0, 0.7)
        .stepped("y", -1.0, 1.0, 0.3)
        .maximise("f", 1.0);
    let mut study = study(problem);
    // Two values of x, seven of y.
    let mut seen: Vec<Design> = vec![];
    for _ in 0..14 {
        let asked = assert_suggestion(&study);
        assert_ne!(asked.origin, Origin::Repeated, "after {}", seen.len());
        assert!(!seen.contains(&asked.design), "{} again", asked.design);
        study.ask().unwrap();
        study.tell(asked.evaluation, truth("f", &asked.design)).unwrap();
        seen.push(asked.design);
    }
    assert_eq!(assert_suggestion(&study).origin, Origin::Repeated);
}

#[test]
fn case_106_an_ordered_parameter_with_one_choice() {
    let mut study = study(plane().ordered("size", ["M"]).maximise("f", 1.0));
    go(&mut study, 8, |_, asked| values(asked));
    let only = unyoke::Problem::builder().ordered("size", ["M"]).maximise("f", 1.0);
    let mut study = self::study(only);
    let asked = study.ask().unwrap();
    study.tell(asked.evaluation, 1.0).unwrap();
    assert_eq!(assert_suggestion(&study).origin, Origin::Repeated);
}

#[test]
fn case_107_values_for_outputs_of_another_measurement() {
    let mut study = study(two_measurements());
    import(&mut study, "f", 6, f);
    import(&mut study, "g", 6, g);
    study.set_cost("both", 1e6).unwrap();
    let asked = study.ask().unwrap();
    assert_eq!(asked.measurement, "one");
    for wrong in [[("f", 1.0), ("g", 1.0)], [("f", 1.0), ("f", 2.0)]] {
        let refused = study.tell(asked.evaluation, wrong);
        assert!(matches!(refused, Err(Error::WrongOutputs { .. })), "{refused:?}");
    }
    let refused = study.tell(asked.evaluation, [("h", 1.0)]);
    assert!(matches!(refused, Err(Error::UnknownOutput { .. })), "{refused:?}");
    assert_eq!(study.evaluations().last().unwrap().status, Status::Pending);
    study.tell(asked.evaluation, [("g", 1.0)]).unwrap();
    assert_suggestion(&study);
}

#[test]
fn case_108_a_number_alone_for_a_run_of_two_outputs() {
    let mut study = study(two_measurements());
    let asked = study.ask().unwrap();
    assert_eq!(asked.measurement, "both");
    for number in [1.0, f64::NAN] {
        let refused = study.tell(asked.evaluation, number).unwrap_err();
        assert!(matches!(refused, Error::WrongOutputs { .. }), "{refused:?}");
        assert!(refused.to_string().contains("by name"), "{refused}");
    }
    let refused = study.tell(asked.evaluation, Outcome::from(1.0).value("g", 2.0));
    assert!(matches!(refused, Err(Error::WrongOutputs { .. })), "{refused:?}");
    assert_eq!(study.evaluations()[0].status, Status::Pending);
    // Values of nothing are a failure, not an error.
    study.tell(asked.evaluation, Outcome::default()).unwrap();
    assert!(matches!(study.evaluations()[0].status, Status::Failed(_)));
    assert_suggestion(&study);
}

#[test]
fn case_109_several_runs_of_several_outputs_under_way() {
    let mut study = study(two_measurements());
    import(&mut study, "f", 8, f);
    import(&mut study, "g", 8, g);
    let mut asked: Vec<Suggestion> = vec![];
    for _ in 0..8 {
        let next = assert_suggestion(&study);
        let outputs = next.outputs.clone();
        for other in asked.iter().filter(|a| a.outputs.iter().any(|k| outputs.contains(k))) {
            assert!(distance(&other.design, &next.design) > 1e-3, "{next:?}");
        }
        asked.push(study.ask().unwrap());
    }
    assert!(finite_front(&study) > 0);
    for one in asked.iter().rev() {
        study.tell(one.evaluation, values(one)).unwrap();
    }
    assert_suggestion(&study);
}

#[test]
fn case_110_withdrawn_runs_of_several_outputs_leave_no_trace() {
    let mut study = study(together(Output::at_most("stress", 1.0)));
    import_both(&mut study, 8, |x, y| x + y);
    let before = study.suggest().unwrap();
    let asked = study.ask_many(3).unwrap();
    for one in &asked {
        study.withdraw(one.evaluation).unwrap();
    }
    let after = assert_suggestion(&study);
    assert_eq!((&after.design, &after.options), (&before.design, &before.options));
    assert_eq!(study.spent(), 0.0);
    // What was made nevertheless counts.
    study.tell(asked[1].evaluation, values(&asked[1])).unwrap();
    assert_eq!(study.spent(), 1.0);
    assert_suggestion(&study);
}

#[test]
fn case_111_one_output_imported_of_a_measurement_of_two() {
    let mut study = study(together(Output::at_most("stress", 1.0)));
    import(&mut study, "stress", 12, |x, y| x + y);
    assert_suggestion(&study);
    finite_front(&study);
    import(&mut study, "f", 3, f);
    let suggestion = assert_suggestion(&study);
    assert_eq!(suggestion.outputs, ["f", "stress"]);
    finite_front(&study);
    // On few designs: where one output is known the other may still be wanted.
    let few = unyoke::Problem::builder()
        .integer("n", 1, 4)
        .output(Output::maximise("f"))
        .output(Output::at_most("stress", 3.0))
        .measurement(Measurement::new("run", ["f", "stress"], 1.0));
    let mut study = self::study(few);
    for n in 1..=4 {
        study.tell_result(Design::new().with("n", n), "stress", f64::from(n)).unwrap();
    }
    study.tell_result(Design::new().with("n", 1), "f", 1.0).unwrap();
    let suggestion = assert_suggestion(&study);
    assert_ne!(suggestion.origin, Origin::Repeated);
    assert_ne!(suggestion.design, Design::new().with("n", 1));
}

#[test]
fn case_112_what_did_not_fail_cannot_be_retried() {
    let mut study = study(two_measurements());
    let asked = study.ask_many(3).unwrap();
    let refuse = |study: &mut Study, id: u64| {
        let refused = study.retry(id);
        assert!(matches!(refused, Err(Error::AlreadySettled { .. })), "{refused:?}");
    };
    refuse(&mut study, asked[0].evaluation);
    study.tell(asked[0].evaluation, values(&asked[0])).unwrap();
    refuse(&mut study, asked[0].evaluation);
    study.withdraw(asked[1].evaluation).unwrap();
    refuse(&mut study, asked[1].evaluation);
    assert!(matches!(study.retry(99), Err(Error::UnknownEvaluation { .. })));
    study.tell(asked[2].evaluation, failure().cost(2.5)).unwrap();
    study.retry(asked[2].evaluation).unwrap();
    refuse(&mut study, asked[2].evaluation);
    assert_suggestion(&study);
    study.tell(asked[2].evaluation, values(&asked[2]).cost(0.5)).unwrap();
    assert_eq!(study.spent(), asked[0].cost + 3.0);
    assert_suggestion(&study);
}

/// Whether the limit `low <= a - b <= high` holds at a design.
fn within(design: &Design, low: f64, high: f64) -> bool {
    let difference = design.real("x").unwrap() - design.real("y").unwrap();
    low <= difference && difference <= high
}

#[test]
fn case_113_limits_that_leave_nothing() {
    let with = |limits: &[&str]| {
        let start = plane().integer("n", 1, 9).maximise("f", 1.0);
        let limits = limits.iter().enumerate();
        mistakes(limits.fold(start, |b, (i, text)| b.limit(format!("l{i}"), *text)))
    };
    assert_eq!(with(&["x + y > 2.001"]), ["limits[0].formula"]);
    assert_eq!(with(&["x <= 1", "n <= 0.5"]), ["limits[1].formula"]);
    assert_eq!(with(&["x <= 0.4", "x >= 0.6"]), ["limits"]);
    assert_eq!(with(&["0 / 0 <= x"]), ["limits[0].formula"]);
}

#[test]
fn case_114_limits_that_leave_one_design() {
    let problem = unyoke::Problem::builder()
        .integer("n", 1, 9)
        .integer("m", 1, 9)
        .limit("corner", "n + m >= 18")
        .maximise("f", 1.0)
        .maximise("g", 2.0);
    let only = Design::new().with("n", 9).with("m", 9);
    for initial in [0, 4] {
        let initial = Initial { designs: Some(initial), ..Initial::default() };
        let config = Config { initial, ..quick() };
        let problem = problem.clone().build().unwrap();
        let mut study = Study::with_config(problem, config, 0).unwrap();
        let mut made = vec![];
        for _ in 0..2 {
            let asked = assert_suggestion(&study);
            assert_eq!(asked.design, only);
            assert_ne!(asked.origin, Origin::Repeated);
            study.ask().unwrap();
            study.tell(asked.evaluation, 1.0).unwrap();
            made.push(asked.measurement);
        }
        made.sort();
        assert_eq!(made, ["f", "g"]);
        let again = assert_suggestion(&study);
        assert_eq!((again.origin, &again.design), (Origin::Repeated, &only));
        assert_eq!(study.front(5).unwrap().points.len(), 1);
    }
    // A corner of the continuous plane.
    let mut study = study(plane().limit("corner", "x + y >= 2").maximise("f", 1.0));
    for _ in 0..3 {
        // Repeated or not: neighbouring doubles satisfy it as well.
        let asked = study.ask().unwrap();
        let (x, y) = (asked.design.real("x").unwrap(), asked.design.real("y").unwrap());
        assert!(x + y >= 2.0 && x <= 1.0 && y <= 1.0, "{}", asked.design);
        study.tell(asked.evaluation, 1.0).unwrap();
    }
}

#[test]
fn case_115_limits_that_leave_a_sliver() {
    let limit = "0.25 <= x - y <= 0.25001";
    let problem = plane().limit("band", limit).output(Output::at_most("stress", 1.0));
    let problem = problem.output(Output::maximise("f"));
    let mut study = study(problem.measurement(Measurement::new("run", ["f", "stress"], 1.0)));
    go(&mut study, 10, |_, asked| {
        assert!(within(&asked.design, 0.25, 0.25001), "{}", asked.design);
        values(asked)
    });
    assert!(finite_front(&study) > 0);
    for point in study.front(10).unwrap().points {
        assert!(within(&point.design, 0.25, 0.25001), "{}", point.design);
    }
    let best = study.best_for(&[1.0]).unwrap();
    assert!(within(&best.design, 0.25, 0.25001), "{}", best.design);
}

#[test]
fn case_116_limits_that_leave_few_integers() {
    let problem = unyoke::Problem::builder()
        .integer("n", 1, 1000)
        .integer("m", 1, 1000)
        .limit("band", "0.1 <= n - 331 * m <= 2.9")
        .maximise("f", 1.0);
    // n = 331 m + 1 or 2, m = 1, 2, 3.
    let mut study = study(problem);
    let mut seen: Vec<Design> = vec![];
    for _ in 0..6 {
        let asked = assert_suggestion(&study);
        assert_ne!(asked.origin, Origin::Repeated, "after {}", seen.len());
        let (n, m) = (asked.design.real("n").unwrap(), asked.design.real("m").unwrap());
        assert!((0.1..=2.9).contains(&(n - 331.0 * m)), "{}", asked.design);
        study.ask().unwrap();
        study.tell(asked.evaluation, n / 1000.0 - m).unwrap();
        seen.push(asked.design);
    }
    assert_eq!(assert_suggestion(&study).origin, Origin::Repeated);
}

#[test]
fn case_117_limits_that_are_not_numbers_somewhere_exclude_that() {
    let problem = plane().limit("root", "sqrt(x - 0.5) <= y").maximise("f", 1.0);
    let mut study = study(problem);
    import(&mut study, "f", 10, f);
    go(&mut study, 8, |_, asked| {
        let (x, y) = (asked.design.real("x").unwrap(), asked.design.real("y").unwrap());
        assert!((x - 0.5).sqrt() <= y, "{}", asked.design);
        values(asked)
    });
}

#[test]
fn case_118_cost_formulas_that_are_not_positive_somewhere() {
    for (text, value) in [
        ("x - 0.5", "is -0.5 at x = 0"),
        ("x * y", "is 0 at"),
        ("ln(x - 0.5)", "is NaN at"),
        ("1 / x", "is inf at x = 0"),
        ("0 * x", "is 0 at"),
        ("0", "is 0 everywhere"),
    ] {
        let message = plane().maximise("f", Cost::formula(text)).build().unwrap_err().to_string();
        assert!(message.starts_with("measurements[0].cost: "), "{message}");
        assert!(message.contains(value), "{message}");
    }
}

#[test]
fn case_119_cost_formulas_that_are_not_positive_where_nobody_looked() {
    // Less than nothing within 0.01 of the design that is best.
    for hole in ["100 * ((x - 0.5)^2 + (y - 0.5)^2) - 0.01", "ln(1.0001 - x) + 1e4 * x + 10"] {
        let Ok(problem) = plane().maximise("f", Cost::formula(hole)).build() else { continue };
        let mut study = Study::with_config(problem, quick(), 0).unwrap();
        let hill = |x: f64, y: f64| -(x - 0.5).powi(2) - (y - 0.5).powi(2);
        import(&mut study, "f", 8, hill);
        go(&mut study, 6, |_, asked| {
            assert!(asked.cost > 0.0 && asked.cost.is_finite(), "{asked:?}");
            hill(asked.design.real("x").unwrap(), asked.design.real("y").unwrap()).into()
        });
        assert!(study.spent() > 0.0);
    }
}

/// A study in which the cost of one measurement is learned.
fn with_learned_cost() -> Study {
    study(plane().maximise("f", Cost::reported(2.0)).measured(Output::minimise("g"), 2.0))
}

#[test]
fn case_120_evaluations_that_cost_nothing() {
    let mut study = with_learned_cost();
    go(&mut study, 14, |_, asked| values(asked).cost(0.0));
    assert_eq!(study.spent(), 0.0);
    let cost = study.expected_cost("f", &at(0.5, 0.5)).unwrap();
    assert!(cost > 0.0 && cost < 1.0, "{cost}");
}

#[test]
fn case_121_evaluations_that_cost_1e300() {
    for paid in [1e300, 1e-300, 5e-324, f64::MAX] {
        let mut study = with_learned_cost();
        go(&mut study, 8, |step, asked| match asked.measurement.as_str() {
            "f" if step % 2 == 0 => values(asked).cost(paid),
            _ => values(asked),
        });
        let cost = study.expected_cost("f", &at(0.5, 0.5)).unwrap();
        assert!(cost > 0.0 && cost.is_finite(), "{cost}");
    }
}

#[test]
fn case_122_a_learned_cost_that_nobody_reports() {
    let mut study = with_learned_cost();
    go(&mut study, 10, |_, asked| {
        assert_eq!(asked.cost, 2.0);
        values(asked)
    });
    assert_eq!(study.spent(), 20.0);
}

#[test]
fn case_123_impossible_costs_are_refused_and_nothing_is_recorded() {
    let mut study = with_learned_cost();
    let asked = study.ask().unwrap();
    for cost in [-1.0, f64::NAN, f64::INFINITY] {
        let refused = study.tell(asked.evaluation, values(&asked).cost(cost));
        assert!(matches!(refused, Err(Error::BadValue { .. })), "{refused:?}");
        let refused = study.tell(asked.evaluation, failure().cost(cost));
        assert!(matches!(refused, Err(Error::BadValue { .. })), "{refused:?}");
    }
    assert_eq!(study.evaluations()[0].status, Status::Pending);
    study.tell(asked.evaluation, values(&asked)).unwrap();
    for guess in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let problem = plane().maximise("f", Cost::time(guess));
        assert_eq!(mistakes(problem), ["measurements[0].cost.guess"]);
        assert!(study.set_cost("f", Cost::reported(guess)).is_err());
    }
}

#[test]
fn case_124_a_cost_that_becomes_a_formula_during_a_study() {
    let mut study = study(plane().maximise("f", 1.0).minimise("g", 2.0));
    go(&mut study, 8, |_, asked| values(asked));
    let before = study.suggest().unwrap();
    for bad in ["xx", "x - 1", "0 / x", "1 +", "ln(x)"] {
        let refused = study.set_cost("f", Cost::formula(bad)).unwrap_err().to_string();
        assert!(refused.starts_with("measurements[0].cost: "), "{refused}");
    }
    assert!(matches!(
        study.set_cost("h", Cost::formula("1")),
        Err(Error::UnknownMeasurement { .. })
    ));
    assert_eq!(study.suggest().unwrap(), before);
    study.set_cost("f", Cost::formula("1 + 9 * x")).unwrap();
    go(&mut study, 5, |_, asked| {
        let x = asked.design.real("x").unwrap();
        assert_eq!(asked.cost, if asked.measurement == "f" { 1.0 + 9.0 * x } else { 2.0 });
        values(asked)
    });
    study.set_cost("f", Cost::time(3.0)).unwrap();
    go(&mut study, 3, |_, asked| values(asked).cost(1.5));
}

#[test]
fn case_125_constant_costs_of_any_size() {
    for (f, g) in [(1e300, 1e300), (1e-300, 1e-300), (1e-307, f64::MAX), (f64::MAX, 1.0)] {
        for algorithm in [Algorithm::CMokg, Algorithm::MakgVector] {
            let problem = plane().maximise("f", f).minimise("g", g).build().unwrap();
            let mut study =
                Study::with_config(problem, Config { algorithm, ..quick() }, 0).unwrap();
            import(&mut study, "f", 6, studies::f);
            import(&mut study, "g", 6, studies::g);
            assert_suggestion(&study);
            assert!(study.suggest().unwrap().cost.is_finite());
        }
    }
}

#[test]
fn case_126_every_algorithm_with_everything_at_once() {
    for algorithm in Algorithm::ALL {
        let problem = plane()
            .integer("n", 1, 3)
            .output(formula("mass", "x + n"))
            .output(Output::maximise("f"))
            .output(Output::at_most("stress", 1.2).noisy())
            .output(Output::at_most("load", 1.8).with_formula("x + y"))
            .measurement(Measurement::new("run", ["f", "stress"], 2.0))
            .measurement(Measurement::new("gauge", ["stress"], 1.0))
            .build()
            .unwrap();
        let initial = Initial { designs: Some(3), ..Initial::default() };
        let config = Config { algorithm, initial, ..quick() };
        let knows =
            ["auto", "c-mokg", "c-mokg-random", "makg-vector", "sobol"].contains(&algorithm.name());
        let study = Study::with_config(problem, config, 0);
        let Ok(mut study) = study else {
            let message = study.unwrap_err().to_string();
            assert!(!knows && message.contains("does not know constraints"), "{message}");
            continue;
        };
        assert!(knows, "{}", algorithm.name());
        go(&mut study, 6, |step, asked| match step % 4 {
            3 => failure(),
            _ => values(asked),
        });
        finite_front(&study);
    }
}

#[test]
fn case_127_values_further_apart_than_any_number() {
    let mut study = study(together(Output::at_most("stress", 1e308)));
    import_both(&mut study, 12, |x, y| 1.7e308 * (x + y - 1.0));
    import(&mut study, "f", 12, |x, y| 1.7e308 * (2.0 * x * y - 1.0));
    assert_suggestion(&study);
    finite_front(&study);
}
