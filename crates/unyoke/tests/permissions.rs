//! Asking under conditions: what may not be asked for is not, and the next best takes its place.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use unyoke::{
    Algorithm, Config, Initial, Journal, MemoryJournal, Note, Origin, Permission, Problem, Search,
    Status, Study,
};

fn problem() -> Problem {
    let builder = Problem::builder().continuous("x", 0.0, 1.0);
    builder.minimise("mass", 1.0).minimise("drag", 7.0).build().unwrap()
}

fn config(algorithm: Algorithm, designs: usize) -> Config {
    Config {
        algorithm,
        initial: Initial { designs: Some(designs), ..Initial::default() },
        search: Search { raw: 16, restarts: 2, iterations: 10 },
        ..Config::default()
    }
}

fn study(algorithm: Algorithm, designs: usize) -> Study {
    Study::with_config(problem(), config(algorithm, designs), 3).unwrap()
}

/// Grants what a budget still covers.
fn within<J: Journal>(budget: f64) -> impl Fn(&Study<J>, &[usize]) -> Permission {
    move |study, measurements| {
        let price: f64 = measurements.iter().map(|m| [1.0, 7.0][*m]).sum();
        let fits = study.committed() + price <= budget;
        if fits { Permission::Granted } else { Permission::Never }
    }
}

fn tell<J: Journal>(study: &mut Study<J>, evaluation: u64) {
    let asked = &study.evaluations()[evaluation as usize];
    let x = asked.design.real("x").unwrap();
    let value = if asked.measurement == Some(0) { x } else { (1.0 - x).powi(2) };
    study.tell(evaluation, value).unwrap();
}

#[test]
fn a_budget_is_used_up_and_never_exceeded() {
    for budget in [0.5, 5.0, 16.0, 23.5] {
        let mut study = study(Algorithm::CMokg, 2);
        while let Some(suggestion) = study.ask_where(within(budget)).unwrap() {
            assert!(study.committed() <= budget);
            tell(&mut study, suggestion.evaluation);
        }
        assert_eq!(study.spent(), budget.floor(), "one of 1 always fits");
        assert_eq!(study.committed(), study.spent());
    }
}

#[test]
fn what_is_under_way_counts_as_committed() {
    let mut study = study(Algorithm::CMokg, 2);
    while study.ask_where(within(16.0)).unwrap().is_some() {}
    assert_eq!((study.spent(), study.committed()), (0.0, 16.0));
    study.withdraw(0).unwrap();
    assert_eq!(study.committed(), 15.0);
    assert!(study.ask_where(within(16.0)).unwrap().is_some());
}

#[test]
fn without_conditions_the_same_is_asked_for() {
    for algorithm in [Algorithm::CMokg, Algorithm::Makg, Algorithm::Sobol] {
        let (mut free, mut bound) = (study(algorithm, 2), study(algorithm, 2));
        for _ in 0..7 {
            let suggestion = free.ask().unwrap();
            let granted = bound.ask_where(|_, _| Permission::Granted).unwrap();
            assert_eq!(granted.as_ref(), Some(&suggestion));
            tell(&mut free, suggestion.evaluation);
            tell(&mut bound, suggestion.evaluation);
        }
    }
}

#[test]
fn the_next_best_is_taken_and_says_so() {
    let mut study = study(Algorithm::CMokg, 3);
    while study.suggest().unwrap().origin == Origin::Initial {
        let evaluation = study.ask().unwrap().evaluation;
        tell(&mut study, evaluation);
    }
    let best = study.problem().measurement_index(&study.suggest().unwrap().measurement).unwrap();
    for refusal in [Permission::Later, Permission::Never] {
        let other = |_: &Study, measurements: &[usize]| match measurements {
            [m] if *m == best => refusal,
            _ => Permission::Granted,
        };
        let suggestion = study.clone().ask_where(other).unwrap().unwrap();
        assert_ne!(study.problem().measurement_index(&suggestion.measurement).unwrap(), best);
        assert!(suggestion.notes.contains(&Note::NextBest), "{:?}", suggestion.notes);
        let row = &suggestion.options[suggestion.chosen.unwrap()];
        assert_eq!((&row.design, row.cost), (&suggestion.design, suggestion.cost));
    }
    let none = study.ask_where(|_, _| Permission::Later).unwrap();
    assert_eq!(none, None);
}

#[test]
fn initial_evaluations_are_waited_for_unless_they_never_come() {
    let refuse = |refusal| {
        move |_: &Study, measurements: &[usize]| match measurements {
            [1] => refusal,
            _ => Permission::Granted,
        }
    };
    let mut waiting = study(Algorithm::CMokg, 2);
    let mut asked = 0;
    while let Some(suggestion) = waiting.ask_where(refuse(Permission::Later)).unwrap() {
        assert_eq!(suggestion.measurement, "mass");
        assert_eq!(suggestion.origin, Origin::Initial);
        tell(&mut waiting, suggestion.evaluation);
        asked += 1;
    }
    assert_eq!(asked, 2, "models wait for the initial values of the other");

    let mut going_on = study(Algorithm::CMokg, 2);
    for _ in 0..5 {
        let suggestion = going_on.ask_where(refuse(Permission::Never)).unwrap().unwrap();
        assert_eq!(suggestion.measurement, "mass");
        tell(&mut going_on, suggestion.evaluation);
    }
}

#[test]
fn algorithms_that_evaluate_everything_begin_only_what_they_can_finish() {
    for algorithm in [Algorithm::Makg, Algorithm::Sobol] {
        let mut study = study(algorithm, 1);
        while let Some(suggestion) = study.ask_where(within(30.0)).unwrap() {
            tell(&mut study, suggestion.evaluation);
        }
        assert_eq!(study.spent(), 24.0, "three designs of 8 fit into 30");
        let count = |m| study.evaluations().iter().filter(|e| e.measurement == Some(m)).count();
        assert_eq!((count(0), count(1)), (3, 3));
    }
}

#[test]
fn when_every_design_was_evaluated_nothing_is_repeated() {
    let problem = Problem::builder().integer("n", 1, 3).minimise("mass", 1.0).build().unwrap();
    let mut study = Study::with_config(problem, config(Algorithm::CMokg, 1), 0).unwrap();
    while let Some(suggestion) = study.ask_where(within(100.0)).unwrap() {
        study.tell(suggestion.evaluation, suggestion.design.real("n").unwrap()).unwrap();
    }
    assert_eq!(study.spent(), 3.0);
}

#[test]
fn two_writers_together_keep_to_one_budget() {
    let journal = MemoryJournal::default();
    let config = config(Algorithm::CMokg, 2);
    let mut mine = Study::create(problem(), config, 3, journal.clone()).unwrap();
    let mut yours = Study::open(journal.clone()).unwrap();
    // Neither looks at the journal by itself: that another was faster shows when it appends.
    loop {
        let one = mine.ask_where(within(20.0)).unwrap();
        let other = yours.ask_where(within(20.0)).unwrap();
        if one.is_none() && other.is_none() {
            break;
        }
    }
    let study = Study::open(journal).unwrap();
    assert_eq!(study.committed(), 20.0);
    assert!(study.evaluations().iter().all(|e| e.status == Status::Pending));
}
