//! What is still to be gained, and when that is not worth its cost.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use unyoke::{
    Algorithm, Config, Design, Error, KnownHyper, MemoryJournal, Output, Permission, Problem,
    Prospect, Stop, Study, Verdict,
};

/// Two objectives of one parameter, the first in a unit of the user's.
fn problem(unit: f64) -> (Problem, impl Fn(&str, f64) -> f64) {
    let problem = Problem::builder().continuous("x", 0.0, 1.0);
    let problem = problem.minimise("mass", 1.0).maximise("lift", 4.0).build().unwrap();
    let value = move |name: &str, x: f64| match name {
        "mass" => unit * (x + 0.1 * (7.0 * x).sin()),
        _ => 1.0 - (1.0 - x).powi(2) + 0.1 * (9.0 * x).cos(),
    };
    (problem, value)
}

/// A study of that problem after so many evaluations.
fn played(unit: f64, count: usize, config: Config) -> Study {
    let (problem, value) = problem(unit);
    let mut study = Study::with_config(problem, config, 3).unwrap();
    for _ in 0..count {
        let next = study.ask().unwrap();
        let x = next.design.real("x").unwrap();
        study.tell(next.evaluation, value(&next.measurement, x)).unwrap();
    }
    study
}

/// Three searches in a row must agree.
fn three(objective: &str, worth: f64) -> Stop {
    Stop { searches: 3, ..Stop::worth(objective, worth) }
}

fn prospect(study: &Study) -> Prospect {
    *study.suggest().unwrap().prospect.unwrap()
}

#[test]
fn measuring_all_that_is_unknown_gains_all_that_can_be_gained() {
    // Two designs, one of them measured: the gain of the other is known in closed form.
    let hyper = KnownHyper { mean: 0.0, lengthscales: vec![0.5], outputscale: 1.0, noise: 1e-8 };
    let output = Output::maximise("f").with_hyper(hyper);
    let problem = Problem::builder().integer("n", 0, 1);
    let problem = problem.output(output).measurement(unyoke::Measurement::new("f", ["f"], 1.0));
    let config = Config {
        initial: unyoke::Initial { designs: Some(0), ..Default::default() },
        ..Config::default()
    };
    let mut study = Study::with_config(problem.build().unwrap(), config, 1).unwrap();
    for value in [0.3, 0.3] {
        study.tell_result(Design::new().with("n", 0i64), "f", value).unwrap();
    }
    let next = study.suggest().unwrap();
    let prospect = next.prospect.clone().unwrap();
    assert_eq!(prospect.gain, next.options[0].gain());
    let most = prospect.most.unwrap();
    assert!((most / prospect.gain - 1.0).abs() < 0.3, "{prospect:?}");
}

#[test]
fn no_evaluation_gains_more_than_the_most_that_can_be_gained() {
    for algorithm in [Algorithm::CMokg, Algorithm::Makg, Algorithm::MakgVector, Algorithm::Auto] {
        let study = played(1.0, 14, Config { algorithm, ..Config::default() });
        let next = study.suggest().unwrap();
        let prospect = next.prospect.unwrap();
        let most = prospect.most.unwrap();
        assert!(prospect.gain <= most && most.is_finite(), "{prospect:?}");
        assert!(next.options.iter().all(|row| row.gain() <= most), "{algorithm:?}");
    }
}

#[test]
fn the_more_is_known_the_less_is_left_to_be_gained() {
    let most = |count| prospect(&played(1.0, count, Config::default())).most.unwrap();
    let [early, late] = [most(9), most(40)];
    assert!(late < 0.1 * early, "{early} {late}");
}

#[test]
fn gains_are_told_in_the_unit_of_the_objective() {
    let told = |unit: f64| {
        let prospect = prospect(&played(unit, 12, Config::default()));
        let mass = &prospect.units[0];
        assert_eq!(mass.objective, "mass");
        [mass.amount * prospect.gain, mass.amount * prospect.most.unwrap()]
    };
    for (metres, millimetres) in told(1.0).into_iter().zip(told(1000.0)) {
        assert!((millimetres / metres / 1000.0 - 1.0).abs() < 1e-6, "{metres} {millimetres}");
    }
}

#[test]
fn algorithms_that_value_something_else_tell_no_prospect() {
    for algorithm in [Algorithm::JesLbD, Algorithm::HvkgExact, Algorithm::CMokgRandom] {
        assert!(!algorithm.values_utility());
        let study = played(1.0, 9, Config { algorithm, ..Config::default() });
        let next = study.suggest().unwrap();
        assert_eq!(next.prospect, None, "{algorithm:?}");
        assert_eq!(study.appraise(&Stop::worth("mass", 1.0), &next), Ok(None));
    }
}

#[test]
fn an_initial_design_is_never_judged() {
    let (problem, _) = problem(1.0);
    let study = Study::new(problem).unwrap();
    let next = study.suggest().unwrap();
    assert_eq!(study.appraise(&Stop::worth("mass", 1e-9), &next), Ok(None));
}

/// The verdicts of one search after the other.
fn verdicts(stop: &Stop, initial: usize, count: usize) -> Vec<Verdict> {
    let verdict = |count: usize| {
        let study = played(1.0, count, Config::default());
        let next = study.suggest().unwrap();
        study.appraise(stop, &next).unwrap().unwrap().verdict
    };
    (0..count).map(|more| verdict(initial + more)).collect()
}

#[test]
fn a_study_stops_when_three_searches_in_a_row_find_nothing_worth_its_cost() {
    // Four initial designs with two objectives each.
    let worthless = three("mass", 1e-6);
    use Verdict::{Continue, Final, Unconfirmed};
    assert_eq!(verdicts(&worthless, 8, 4), [Unconfirmed, Unconfirmed, Final, Final]);
    assert_eq!(verdicts(&Stop { searches: 1, ..worthless }, 8, 1), [Final]);
    assert_eq!(verdicts(&Stop::worth("lift", 1e12), 8, 3), [Continue; 3]);
}

#[test]
fn a_worth_between_these_stops_before_it_is_final() {
    // As much as 1e3 less mass is worth what is spent: gains must fall far.
    let study = played(1.0, 8, Config::default());
    let next = study.suggest().unwrap();
    let prospect = next.prospect.clone().unwrap();
    let amount = prospect.units[0].amount;
    // Just too little for this evaluation, but not for all there is to gain.
    let cost = next.options[next.chosen.unwrap()].cost;
    let stop = Stop { searches: 1, ..Stop::worth("mass", 0.999 * cost / (amount * prospect.gain)) };
    let appraisal = study.appraise(&stop, &next).unwrap().unwrap();
    assert_eq!(appraisal.verdict, Verdict::Stop, "{appraisal:?} {prospect:?}");
    assert!(appraisal.worth * appraisal.gain < appraisal.cost);
    assert!(appraisal.worth * appraisal.most.unwrap() >= appraisal.cheapest);
    let more = Stop { searches: 1, ..Stop::worth("mass", 1.001 * cost / (amount * prospect.gain)) };
    assert_eq!(study.appraise(&more, &next).unwrap().unwrap().verdict, Verdict::Continue);
}

#[test]
fn of_several_worths_the_one_by_which_a_gain_is_worth_most_counts() {
    let study = played(1.0, 8, Config::default());
    let next = study.suggest().unwrap();
    let mut stop = Stop::worth("mass", 1e-6);
    stop.worth.insert("lift".into(), 1e12);
    let appraisal = study.appraise(&stop, &next).unwrap().unwrap();
    assert_eq!((appraisal.objective.as_str(), appraisal.verdict), ("lift", Verdict::Continue));
    let unknown = Stop::worth("mas", 1.0);
    assert!(matches!(study.appraise(&unknown, &next), Err(Error::UnknownOutput { .. })));
}

#[test]
fn evaluations_that_were_asked_for_together_confirm_nothing() {
    let stop = three("mass", 1e-6);
    let mut study = played(1.0, 8, Config::default());
    let asked = study.ask_many(3).unwrap();
    let verdict = |study: &Study| {
        let next = study.suggest().unwrap();
        study.appraise(&stop, &next).unwrap().unwrap().verdict
    };
    assert_eq!(verdict(&study), Verdict::Unconfirmed);
    let (_, value) = problem(1.0);
    for suggestion in asked {
        let x = suggestion.design.real("x").unwrap();
        study.tell(suggestion.evaluation, value(&suggestion.measurement, x)).unwrap();
    }
    assert_eq!(
        verdict(&study),
        Verdict::Unconfirmed,
        "all three were chosen without these results"
    );
}

#[test]
fn a_reopened_study_judges_as_the_other_and_what_was_asked_for_is_judged_as_it_was_suggested() {
    let stop = three("mass", 1e-6);
    let journal = MemoryJournal::default();
    let (problem, value) = problem(1.0);
    let mut study = Study::create(problem, Config::default(), 3, journal.clone()).unwrap();
    for _ in 0..10 {
        let next = study.ask().unwrap();
        let x = next.design.real("x").unwrap();
        study.tell(next.evaluation, value(&next.measurement, x)).unwrap();
    }
    let suggested = study.suggest().unwrap();
    let expected = study.appraise(&stop, &suggested).unwrap().unwrap();
    assert_eq!((expected.verdict, expected.searches), (Verdict::Final, 3));
    let mut reopened = Study::open(journal).unwrap();
    let asked = reopened.ask_where(|_, _| Permission::Granted).unwrap().unwrap();
    assert_eq!(reopened.appraise(&stop, &asked).unwrap().unwrap(), expected);
}
