//! What users want: weights, utilities, what is enough; and changing it during a study.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeMap;
use unyoke::{
    Algorithm, Config, Error, Event, FrontPoint, Initial, Journal, Measurement, MemoryJournal,
    Output, Preference, Problem, ProblemBuilder, Study, Utility, Wishes,
};

/// A front with a dent: more of f costs g, most at the ends.
fn problem() -> Problem {
    base().maximise("f", 1.0).maximise("g", 3.0).build().unwrap()
}

fn base() -> ProblemBuilder {
    Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0)
}

fn value(output: &str, x: f64, y: f64) -> f64 {
    let off = (y - 0.4).powi(2);
    match output {
        "f" => x - off,
        "g" => (1.0 - x).powi(3) - off,
        _ => x * y - off,
    }
}

fn enough(name: &str, value: f64) -> BTreeMap<String, f64> {
    BTreeMap::from([(name.to_owned(), value)])
}

fn importance(statements: &[&str]) -> Preference {
    Preference::Importance(statements.iter().map(|&s| s.to_owned()).collect())
}

/// A study after some steps.
fn run(config: Config, steps: usize) -> (Study<MemoryJournal>, MemoryJournal) {
    let journal = MemoryJournal::default();
    let mut study = Study::create(problem(), config, 5, journal.clone()).unwrap();
    step(&mut study, steps);
    (study, journal)
}

fn step<J: Journal>(study: &mut Study<J>, steps: usize) {
    for _ in 0..steps {
        let asked = study.ask().unwrap();
        let [x, y] = ["x", "y"].map(|name| asked.design.real(name).unwrap());
        study.tell(asked.evaluation, value(&asked.measurement, x, y)).unwrap();
    }
}

fn quick() -> Config {
    let initial = Initial { designs: Some(5), ..Initial::default() };
    let search = unyoke::Search { raw: 64, restarts: 4, iterations: 20 };
    let front = unyoke::FrontSearch { population: 60, generations: 40 };
    Config { initial, search, front, weights: 8, ..Config::default() }
}

fn x_of(point: &FrontPoint) -> f64 {
    point.design.real("x").unwrap()
}

#[test]
fn a_front_spends_no_points_beyond_what_is_enough() {
    let (mut study, _) = run(quick(), 20);
    // What was measured stays on the front unless something else is certain to be better.
    let furthest = |study: &Study<MemoryJournal>| {
        let points = study.front(10).unwrap().points;
        let predicted = points.iter().filter(|point| !point.is_measured());
        predicted.map(x_of).fold(0.0, f64::max)
    };
    assert!(furthest(&study) > 0.95);
    study.amend(Wishes { enough: enough("f", 0.5), ..study.config().wishes() }).unwrap();
    let with_target = furthest(&study);
    assert!((0.45..0.6).contains(&with_target), "{with_target}");
    // Nobody is recommended more of it than that, unless being sure of it is worth more to them than the
    // other objective: with weights of 1 and 0.1 it is.
    let best = x_of(&study.best_for(&[1.0, 0.5]).unwrap());
    assert!((0.45..0.6).contains(&best), "{best}");
}

#[test]
fn with_chebyshev_utilities_designs_in_a_dent_are_best_for_some() {
    let (mut study, _) = run(quick(), 20);
    let best = x_of(&study.best_for(&[0.5, 0.5]).unwrap());
    assert!(!(0.15..0.9).contains(&best), "linear: {best}");
    study.amend(Wishes { utility: Utility::Chebyshev, ..study.config().wishes() }).unwrap();
    let best = x_of(&study.best_for(&[0.5, 0.5]).unwrap());
    assert!((0.15..0.6).contains(&best), "Chebyshev: {best}");
}

#[test]
fn studies_with_wishes_suggest_the_same_when_they_are_reopened() {
    let wishes = [
        Config { utility: Utility::Chebyshev, ..quick() },
        Config { enough: enough("f", 0.5), ..quick() },
        Config { preference: importance(&["f >= 2 * g"]), ..quick() },
        Config {
            preference: importance(&["0.3 <= f <= 0.4"]),
            utility: Utility::Chebyshev,
            enough: enough("g", 0.6),
            algorithm: Algorithm::CMokgRandom,
            ..quick()
        },
    ];
    for config in wishes {
        let (study, journal) = run(config, 12);
        let suggestion = study.suggest().unwrap();
        assert!(suggestion.chosen.is_some(), "{suggestion:?}");
        assert_eq!(Study::open(journal).unwrap().suggest().unwrap(), suggestion);
    }
}

#[test]
fn wishes_can_change_during_a_study_and_those_of_before_stay_in_the_journal() {
    let (mut study, journal) = run(quick(), 12);
    let before = study.suggest().unwrap();
    let position = study.position();
    let wishes = Wishes {
        preference: importance(&["f >= 3 * g"]),
        enough: enough("f", 0.7),
        ..study.config().wishes()
    };
    study.amend(wishes.clone()).unwrap();
    assert_eq!(study.config().wishes(), wishes);
    assert_ne!(study.suggest().unwrap().options, before.options);
    let written = journal.read(position).unwrap();
    assert_eq!(written.len(), 1);
    assert_eq!(written[0].event, Event::Amended { wishes });
    step(&mut study, 2);
    let reopened = Study::open(journal).unwrap();
    assert_eq!(reopened.config(), study.config());
    assert_eq!(reopened.suggest().unwrap(), study.suggest().unwrap());
    // Back to the default, and it is as if nothing had been wished: what was measured stays.
    study.amend(Wishes::default()).unwrap();
    assert_eq!(study.config(), &quick());
}

#[test]
fn wishes_that_make_no_sense_are_refused_and_nothing_is_written() {
    let (mut study, _) = run(quick(), 0);
    let config = study.config().wishes();
    let bad = [
        (Wishes { enough: enough("h", 1.0), ..config.clone() }, "config.enough.h"),
        (Wishes { enough: enough("f", f64::NAN), ..config.clone() }, "config.enough.f"),
        (
            Wishes { preference: importance(&["f >= 0.6", "g >= 0.6"]), ..config.clone() },
            "config.preference.importance[1]",
        ),
        (
            Wishes {
                enough: enough("f", 0.2),
                reference: Some(BTreeMap::from([("f".to_owned(), 0.3), ("g".to_owned(), 0.0)])),
                ..config
            },
            "config.enough.f",
        ),
    ];
    let position = study.position();
    for (wishes, path) in bad {
        match study.amend(wishes) {
            Err(Error::Invalid { mistakes }) => assert_eq!(mistakes[0].path, path),
            other => panic!("{path}: {other:?}"),
        }
    }
    assert_eq!(study.position(), position);
}

#[test]
fn algorithms_and_measurements_that_know_weighted_sums_only_are_refused() {
    let together = base()
        .output(Output::maximise("f"))
        .output(Output::maximise("g"))
        .measurement(Measurement::new("both", ["f", "g"], 1.0))
        .build()
        .unwrap();
    let message =
        |config: &Config, problem: &Problem| config.check(problem).unwrap_err().to_string();
    let chebyshev = Config { utility: Utility::Chebyshev, ..Config::default() };
    let capped = Config { enough: enough("f", 0.5), ..Config::default() };
    for config in [&chebyshev, &capped] {
        assert!(config.check(&problem()).is_ok());
        let several = message(config, &together);
        assert!(several.contains("several outputs, as both does"), "{several}");
        for algorithm in [Algorithm::HvkgD, Algorithm::Makg, Algorithm::Nehvi, Algorithm::HvkgExact]
        {
            let refusal = message(&Config { algorithm, ..config.clone() }, &problem());
            assert!(refusal.contains("use c-mokg"), "{algorithm:?}: {refusal}");
        }
        for algorithm in [Algorithm::CMokgRandom, Algorithm::Auto, Algorithm::Sobol] {
            assert!(Config { algorithm, ..config.clone() }.check(&problem()).is_ok());
        }
    }
}

#[test]
fn what_is_enough_counts_within_constraints_and_where_runs_fail() {
    for utility in [Utility::Linear, Utility::Chebyshev] {
        let problem = base()
            .maximise("f", 1.0)
            .maximise("g", 3.0)
            .measured(Output::at_most("h", 0.3), 1.0)
            .build()
            .unwrap();
        let config = Config { utility, enough: enough("f", 0.5), ..quick() };
        let mut study = Study::with_config(problem, config, 3).unwrap();
        let mut measured = BTreeMap::<String, usize>::new();
        for _ in 0..20 {
            let asked = study.ask().unwrap();
            let [x, y] = ["x", "y"].map(|name| asked.design.real(name).unwrap());
            match asked.measurement == "g" && y > 0.8 {
                true => study.tell_failure(asked.evaluation, "no mesh").unwrap(),
                false => {
                    study.tell(asked.evaluation, value(&asked.measurement, x, y)).unwrap();
                    *measured.entry(asked.measurement).or_default() += 1;
                }
            }
        }
        assert_eq!(measured.len(), 3, "{measured:?}");
        let front = study.front(8).unwrap();
        assert!(!front.points.is_empty());
        for point in &front.points {
            assert!(x_of(point) < 0.7, "{utility:?}: {}", point.design);
        }
    }
}

#[test]
fn three_objectives_have_chebyshev_utilities_too() {
    let problem = base().maximise("f", 1.0).maximise("g", 3.0).maximise("h", 2.0);
    let config = Config {
        utility: Utility::Chebyshev,
        preference: importance(&["f >= g", "h <= 0.3"]),
        weights: 2,
        initial: Initial { designs: Some(4), ..Initial::default() },
        ..quick()
    };
    let mut study = Study::with_config(problem.build().unwrap(), config, 3).unwrap();
    step(&mut study, 13);
    assert!(study.suggest().unwrap().chosen.is_some());
    assert!(!study.front(6).unwrap().points.is_empty());
}
