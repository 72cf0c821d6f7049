//! Whatever passes the checks of a problem and its settings can be searched: no `ask` fails later,
//! when evaluations have been paid for.
#![allow(clippy::unwrap_used, clippy::panic)]

use proptest::prelude::*;
use std::collections::BTreeMap;
use unyoke::{
    Algorithm, BestPossible, Config, Correlations, Design, Deterministic, Discretisation, Event,
    Failures, FrontSearch, GammaPrior, Initial, Journal, KnownHyper, LengthscalePrior,
    Lengthscales, Measurement, MemoryJournal, Noise, Outliers, Output, Parameter, Pending,
    Preference, Priors, Problem, Recommendations, Scale, Search, Study, Units, Utility,
};

/// Asks of a study, of which the first few need no model.
const ASKS: usize = 8;

/// Orders of magnitude from the smallest numbers to the largest.
fn magnitude() -> impl Strategy<Value = f64> {
    prop::sample::select(vec![1e-320, 1e-300, 1e-100, 1e-6, 0.3, 1.0, 7.0, 1e6, 1e100, 1e300])
}

fn parameter(name: String) -> impl Strategy<Value = Parameter> {
    let constant = || prop::bool::weighted(0.2);
    let linear = (-5i32..5, magnitude(), constant());
    let linear = linear.prop_map(|(low, width, constant)| {
        let (low, width) = (f64::from(low), if constant { 0.0 } else { width });
        (low, low + width, Scale::Linear)
    });
    let log = (magnitude(), 0..40i32)
        .prop_map(|(low, decades)| (low, (low * 10f64.powi(decades)).min(1e308), Scale::Log));
    let number = prop_oneof![linear, log];
    let integer = (1i64..5, prop::sample::select(vec![0i64, 1, 7, 1 << 40]), any::<bool>());
    let choices = prop::sample::select(vec![1usize, 2, 5, 32, 33, 200]);
    let [a, b, c] = [name.clone(), name.clone(), name];
    prop_oneof![
        number.prop_map(move |(low, high, scale)| {
            Parameter::Continuous { name: a.clone(), low, high, scale, step: None }
        }),
        integer.prop_map(move |(low, width, log)| {
            let scale = if log { Scale::Log } else { Scale::Linear };
            Parameter::Integer { name: b.clone(), low, high: low + width, scale }
        }),
        choices.prop_map(move |count| {
            let choices = (0..count).map(|i| format!("choice {i}")).collect();
            Parameter::Categorical { name: c.clone(), choices, ordered: false }
        }),
    ]
}

fn gamma() -> impl Strategy<Value = Option<GammaPrior>> {
    let gamma = (magnitude(), magnitude()).prop_map(|(shape, rate)| GammaPrior { shape, rate });
    prop::option::weighted(0.3, gamma)
}

fn hyper() -> impl Strategy<Value = KnownHyper> {
    let lengthscales = (magnitude(), prop::sample::select(vec![0usize, 1, 1, 1, 2, 3]));
    let noise = prop_oneof![Just(0.0), magnitude()];
    (lengthscales, magnitude(), noise, magnitude()).prop_map(
        |((length, count), outputscale, noise, mean)| KnownHyper {
            lengthscales: vec![length; count],
            outputscale,
            noise,
            mean,
        },
    )
}

/// An output, and what measuring it alone costs.
fn objective(name: String) -> impl Strategy<Value = (Output, f64)> {
    let noise = prop_oneof![
        Just(Noise::Deterministic),
        Just(Noise::Noisy),
        prop_oneof![Just(0.0), magnitude()].prop_map(|sd| Noise::Known { sd }),
    ];
    let priors = (gamma(), gamma(), gamma()).prop_map(|(lengthscale, outputscale, noise)| Priors {
        lengthscale,
        outputscale,
        noise,
    });
    let hyper = prop::option::weighted(0.3, hyper());
    (any::<bool>(), magnitude(), noise, priors, hyper).prop_map(
        move |(more, cost, noise, priors, hyper)| {
            let name = name.clone();
            let plain = match more {
                true => Output::maximise(name),
                false => Output::minimise(name),
            };
            (Output { noise, priors, hyper, ..plain }, cost)
        },
    )
}

fn problem() -> impl Strategy<Value = Problem> {
    let parameters = (1..4usize)
        .prop_flat_map(|n| (0..n).map(|i| parameter(format!("p{i}"))).collect::<Vec<_>>());
    let objectives = (1..4usize)
        .prop_flat_map(|n| (0..n).map(|i| objective(format!("f{i}"))).collect::<Vec<_>>());
    (parameters, objectives).prop_map(|(parameters, objectives)| {
        let alone = |(output, cost): &(Output, f64)| {
            Measurement::new(output.name.clone(), [output.name.clone()], *cost)
        };
        let measurements = objectives.iter().map(alone).collect();
        let outputs = objectives.into_iter().map(|(output, _)| output).collect();
        Problem { parameters, outputs, measurements, limits: vec![] }
    })
}

fn preference(objectives: usize) -> impl Strategy<Value = Preference> {
    let numbers = || prop::collection::vec(magnitude(), objectives);
    prop_oneof![
        Just(Preference::Uniform),
        numbers().prop_map(Preference::Dirichlet),
        prop::collection::vec(numbers(), 0..3).prop_map(Preference::Weights),
    ]
}

fn discretisation() -> impl Strategy<Value = Discretisation> {
    prop_oneof![
        Just(Discretisation::Auto),
        (1..5usize).prop_map(|per_input| Discretisation::Grid { per_input }),
        (0..20usize).prop_map(|points| Discretisation::Adaptive { points }),
        (0..20usize).prop_map(|points| Discretisation::Sobol { points }),
    ]
}

/// Numbers of either sign.
fn signed() -> impl Strategy<Value = f64> {
    (any::<bool>(), magnitude()).prop_map(|(minus, size)| if minus { -size } else { size })
}

/// What is wanted beyond weights, of each objective how much is enough, and an algorithm that knows it.
fn wishes(objectives: usize) -> impl Strategy<Value = (Algorithm, Utility, BTreeMap<String, f64>)> {
    let knowing = vec![Algorithm::Auto, Algorithm::CMokg, Algorithm::CMokgRandom];
    let utility = prop::sample::select(vec![Utility::Linear, Utility::Chebyshev]);
    let enough = prop::collection::vec(prop::option::of(signed()), objectives).prop_map(|values| {
        let named = |(m, value): (usize, Option<f64>)| Some((format!("f{m}"), value?));
        values.into_iter().enumerate().filter_map(named).collect()
    });
    prop_oneof![
        prop::sample::select(Algorithm::ALL.to_vec()).prop_map(|algorithm| (
            algorithm,
            Utility::Linear,
            BTreeMap::new()
        )),
        (prop::sample::select(knowing), utility, enough),
    ]
}

/// Little effort, all kinds of settings.
fn config(objectives: usize) -> impl Strategy<Value = Config> {
    let search = (1..9usize, 1..3usize, 0..3usize).prop_map(|(raw, restarts, iterations)| Search {
        raw,
        restarts,
        iterations,
    });
    let front = (1..9usize, 0..3usize)
        .prop_map(|(population, generations)| FrontSearch { population, generations });
    let initial = prop::option::of(0..3usize);
    let reference = prop::option::of(prop::collection::vec(signed(), objectives));
    let kinds = (
        wishes(objectives),
        prop::sample::select(vec![Units::Standardised, Units::Raw]),
        prop::sample::select(vec![Lengthscales::Isotropic, Lengthscales::PerInput]),
        prop::sample::select(vec![
            Deterministic::Adaptive,
            Deterministic::Interpolated,
            Deterministic::Smoothed,
        ]),
        prop::sample::select(vec![LengthscalePrior::Alike, LengthscalePrior::Separate]),
    );
    let efforts = (search, front, 1..4usize, initial, discretisation());
    (kinds, efforts, preference(objectives), reference).prop_map(
        |(
            ((algorithm, utility, enough), units, lengthscales, deterministic, lengthscale_prior),
            (search, front, weights, designs, discretisation),
            preference,
            reference,
        )| {
            let named = |values: Vec<f64>| -> BTreeMap<String, f64> {
                values.into_iter().enumerate().map(|(m, v)| (format!("f{m}"), v)).collect()
            };
            Config {
                algorithm,
                initial: Initial { designs, ..Initial::default() },
                weights,
                preference,
                utility,
                enough,
                units,
                lengthscales,
                lengthscale_prior,
                deterministic,
                failures: Failures::Learned,
                correlations: Correlations::Learned,
                pending: Pending::Fantasies(3),
                outliers: Outliers::Handled,
                best_possible: BestPossible::Learned,
                recommendations: Recommendations::Steady,
                discretisation,
                search,
                front,
                reference: reference.map(named),
            }
        },
    )
}

/// A problem, settings, and the size of the values of each objective.
fn cases() -> impl Strategy<Value = (Problem, Config, Vec<f64>)> {
    let sound = |problem: &Problem| problem.check().is_ok();
    problem().prop_filter("the checks refuse it", sound).prop_flat_map(|problem| {
        let config = config(problem.outputs.len());
        let passes = |(problem, config, _): &(Problem, Config, Vec<f64>)| {
            problem.check().is_ok() && config.check(problem).is_ok()
        };
        let size = prop_oneof![Just(0.0), magnitude()];
        let sizes = prop::collection::vec(size, problem.outputs.len());
        (Just(problem), config, sizes).prop_filter("the checks refuse it", passes)
    })
}

/// A number that depends on the design, of about this size.
fn value(design: &Design, size: f64) -> f64 {
    let sum: f64 = design
        .iter()
        .map(|(_, value)| match value.as_f64() {
            Some(number) => (number.abs() + 1.0).ln(),
            None => value.to_string().len() as f64,
        })
        .sum();
    size * (3.0 * sum).sin()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    #[test]
    fn what_passes_the_checks_can_be_asked((problem, config, sizes) in cases()) {
        let mut study = Study::with_config(problem.clone(), config, 7).unwrap();
        for step in 0..ASKS {
            let asked = study.ask();
            prop_assert!(asked.is_ok(), "ask {step}: {}", asked.unwrap_err());
            let asked = asked.unwrap();
            match step {
                5 => study.tell_failure(asked.evaluation, "broken").unwrap(),
                6 => {}
                _ => {
                    let m = problem.outputs.iter().position(|o| o.name == asked.measurement);
                    let told = value(&asked.design, sizes[m.unwrap()]);
                    study.tell(asked.evaluation, told).unwrap();
                }
            }
        }
    }
}

/// Targets and balance between two objectives of such sizes; the second is measured, a formula, or has a
/// constraint beside it. In raw units, whose squares overflow or vanish.
#[test]
fn targets_and_balance_can_be_asked_for_whatever_the_sizes() {
    let unlike = [[1e300, 1e-300], [1e-300, 1e300], [1e-100, 1e100]];
    for (kind, unlike) in unlike.into_iter().enumerate() {
        for sizes in [[1e300; 2], unlike] {
            for utility in [Utility::Linear, Utility::Chebyshev] {
                let enough = BTreeMap::from([("f".to_owned(), 0.5 * sizes[0])]);
                let quick = quick(Algorithm::CMokg);
                let config = Config { utility, enough, units: Units::Raw, ..quick };
                let mut study =
                    Study::with_config(two_objectives(kind, sizes[1]), config, 0).unwrap();
                assert_can_be_asked(&mut study, sizes);
                assert!(!study.front(3).unwrap().points.is_empty() || kind == 2);
            }
        }
    }
}

/// Objectives f and g, the latter of this size: both measured; g a formula; both measured, and a constraint.
fn two_objectives(kind: usize, size: f64) -> Problem {
    let base = Problem::builder().continuous("x", 0.0, 1.0).maximise("f", 1.0);
    let formula = Output::maximise("g").with_formula(format!("{size:e} * (1 - x)"));
    let problem = match kind {
        0 => base.minimise("g", 3.0),
        1 => base.output(formula),
        _ => base.minimise("g", 3.0).measured(Output::at_most("h", size), 1.0),
    };
    problem.build().unwrap()
}

/// Asks until models have been searched.
fn assert_can_be_asked(study: &mut Study, [size, other]: [f64; 2]) {
    for step in 0..4 {
        let asked = study.ask();
        assert!(asked.is_ok(), "{size:e}, {other:e}, {step}: {}", asked.unwrap_err());
        let asked = asked.unwrap();
        let size = if asked.measurement == "f" { size } else { other };
        study.tell(asked.evaluation, value(&asked.design, size)).unwrap();
    }
}

/// The spread of a formula is that of a sample, which misses what it is at the end of its range.
#[test]
fn a_formula_may_exceed_its_sampled_spread_by_more_than_any_number() {
    let formula = Output::maximise("g").with_formula("1e-300 * x + 1e308 * x^1000000");
    let base = Problem::builder().continuous("x", 0.0, 1.0).maximise("f", 1.0);
    let problem = base.output(formula).build().unwrap();
    for (utility, units, enough) in [
        (Utility::Linear, Units::Raw, Some("g")),
        (Utility::Chebyshev, Units::Standardised, Some("f")),
        (Utility::Chebyshev, Units::Raw, None),
    ] {
        let enough = enough.map(|name| (name.to_owned(), 0.5)).into_iter().collect();
        let discretisation = Discretisation::Grid { per_input: 3 };
        let quick = quick(Algorithm::CMokg);
        let config = Config { utility, enough, units, discretisation, ..quick };
        let mut study = Study::with_config(problem.clone(), config, 0).unwrap();
        assert_can_be_asked(&mut study, [1.0; 2]);
        assert!(!study.front(3).unwrap().points.is_empty());
    }
}

/// Values that hardly differ make standard deviations small, and targets far away in units of these.
#[test]
fn a_target_far_below_all_values_leaves_the_gains_of_other_objectives() {
    let gains = |below: f64| {
        let base = Problem::builder().continuous("x", 0.0, 1.0);
        let problem = base.maximise("f", 1.0).maximise("g", 1.0).build().unwrap();
        let enough = BTreeMap::from([("f".to_owned(), -below)]);
        let config = Config { enough, ..quick(Algorithm::CMokg) };
        let mut study = Study::with_config(problem, config, 0).unwrap();
        for step in 0..4 {
            let asked = study.ask().unwrap();
            study.tell(asked.evaluation, value(&asked.design, 1.0 + f64::from(step))).unwrap();
        }
        study.ask().unwrap().options.iter().map(|row| row.log_gain).collect::<Vec<_>>()
    };
    let (near, far) = (gains(1e3), gains(1e25));
    assert!(near[1] > -20.0, "{near:?}");
    assert!((near[1] - far[1]).abs() < 1e-6, "{near:?}, {far:?}");
}

/// Settings of little effort that search from the first value on.
fn quick(algorithm: Algorithm) -> Config {
    Config {
        algorithm,
        initial: Initial { designs: Some(1), ..Initial::default() },
        weights: 2,
        discretisation: Discretisation::Sobol { points: 4 },
        search: Search { raw: 4, restarts: 1, iterations: 2 },
        front: FrontSearch { population: 4, generations: 1 },
        ..Config::default()
    }
}

#[test]
fn every_algorithm_takes_one_objective_and_many() {
    for algorithm in Algorithm::ALL {
        let most = match algorithm {
            Algorithm::Nehvi => 3,
            // More work as well, but the time grows by half an order of magnitude with each.
            Algorithm::JesLbD | Algorithm::JesLbC => 4,
            _ => 10,
        };
        for objectives in [1, 2, most] {
            let plane = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
            let problem = (0..objectives).fold(plane, |b, m| b.minimise(format!("f{m}"), 1.0));
            let problem = problem.build().unwrap();
            let mut study = Study::with_config(problem, quick(algorithm), 0).unwrap();
            for _ in 0..objectives + 2 {
                let asked = study.ask();
                assert!(asked.is_ok(), "{algorithm:?} of {objectives}: {}", asked.unwrap_err());
                let asked = asked.unwrap();
                study.tell(asked.evaluation, value(&asked.design, 1.0)).unwrap();
            }
        }
    }
}

#[test]
fn the_largest_number_of_parameters_can_be_searched() {
    let start = Problem::builder().minimise("f", 1.0);
    let problem = (0..1000).fold(start, |b, i| b.continuous(format!("x{i}"), 0.0, 1.0));
    let problem = problem.build().unwrap();
    let mut study = Study::with_config(problem, quick(Algorithm::CMokg), 0).unwrap();
    for _ in 0..3 {
        let asked = study.ask().unwrap();
        study.tell(asked.evaluation, value(&asked.design, 1.0)).unwrap();
    }
}

#[test]
fn what_cannot_be_searched_is_refused_before_anything_is_spent() {
    let hyper = |count: usize| KnownHyper {
        lengthscales: vec![0.5; count],
        outputscale: 1.0,
        noise: 0.0,
        mean: 0.0,
    };
    let lengths = Problem {
        parameters: vec![x(0), x(1), x(2)],
        outputs: vec![Output::minimise("f").with_hyper(hyper(2))],
        measurements: vec![Measurement::new("f", ["f"], 1.0)],
        limits: vec![],
    };
    let many = Problem {
        parameters: (0..1001).map(x).collect(),
        outputs: vec![Output::minimise("f")],
        measurements: vec![Measurement::new("f", ["f"], 1.0)],
        limits: vec![],
    };
    for (problem, path) in [(lengths, "outputs[0].hyper.lengthscales"), (many, "parameters")] {
        let refused = Study::new(problem.clone()).unwrap_err().to_string();
        assert!(refused.starts_with(path), "{refused}");
        // A version that did not know better may have begun it: it opens, and is not paid for.
        let mut journal = MemoryJournal::default();
        let created = Event::Created { problem, config: Config::default(), seed: 0 };
        journal.append(0, &[created.into()]).unwrap();
        let mut begun = Study::open(journal).unwrap();
        let refused = begun.ask().unwrap_err().to_string();
        assert!(refused.starts_with(path), "{refused}");
        assert!(begun.ask_where(|_, _| unyoke::Permission::Granted).is_err());
        assert!(begun.evaluations().is_empty());
    }
}

fn x(i: usize) -> Parameter {
    Parameter::Continuous {
        name: format!("x{i}"),
        low: 0.0,
        high: 1.0,
        scale: Scale::Linear,
        step: None,
    }
}

#[test]
fn known_variances_of_nothing_suit_values_of_any_size() {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).maximise("f", 1.0);
    let mut problem = problem.maximise("g", 1.0).build().unwrap();
    let nothing =
        KnownHyper { lengthscales: vec![1.0], outputscale: 1e-320, noise: 0.0, mean: 0.0 };
    problem.outputs[0].hyper = Some(nothing);
    let mut study = Study::with_config(problem, Config::default(), 0).unwrap();
    for i in 0..10 {
        let next = study.ask().unwrap();
        study.tell(next.evaluation, 1e-300 * f64::from(i)).unwrap();
    }
}
