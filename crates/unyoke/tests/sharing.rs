//! Several programs ask the same study: a suggestion that took long to compute is not computed
//! again because others wrote to the journal meanwhile.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::cell::Cell;

use unyoke::{
    Algorithm, Asked, Config, Design, Initial, Journal, JournalError, MemoryJournal, Permission,
    Problem, Record, Search, Study, Suggestion,
};

fn study_of(algorithm: Algorithm) -> Study {
    let builder = Problem::builder().continuous("x", 0.0, 1.0);
    let problem = builder.minimise("mass", 1.0).minimise("drag", 7.0).build().unwrap();
    let config = Config {
        algorithm,
        initial: Initial { designs: Some(3), ..Initial::default() },
        search: Search { raw: 16, restarts: 2, iterations: 10 },
        ..Config::default()
    };
    Study::with_config(problem, config, 3).unwrap()
}

fn tell<J: Journal>(study: &mut Study<J>, evaluation: u64) {
    let asked = &study.evaluations()[evaluation as usize];
    let x = asked.design.real("x").unwrap();
    let value = if asked.measurement == Some(0) { x } else { (1.0 - x).powi(2) };
    study.tell(evaluation, value).unwrap();
}

/// A study that has its initial values.
fn begun(algorithm: Algorithm) -> Study {
    let mut study = study_of(algorithm);
    for _ in 0..6 {
        let evaluation = study.ask().unwrap().evaluation;
        tell(&mut study, evaluation);
    }
    study
}

fn all<J>(_: &Study<J>, _: &[usize]) -> Permission {
    Permission::Granted
}

fn recorded(asked: Asked) -> Suggestion {
    match asked {
        Asked::Recorded(suggestion) => suggestion,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_suggestion_stays_valid_when_others_ask_and_tell() {
    let mut mine = begun(Algorithm::CMokg);
    let mut theirs = mine.clone();
    let chosen = mine.suggest().unwrap();
    assert!(chosen.is_searched());
    let far = if chosen.design.real("x").unwrap() < 0.5 { 0.93 } else { 0.07 };
    theirs.tell_result(Design::new().with("x", far), "mass", far).unwrap();
    let asked = theirs.suggest().unwrap();
    if asked.design != chosen.design {
        recorded(theirs.ask_for(asked, all).unwrap());
    }
    let pending = theirs.evaluations().len() as u64;
    let asked = recorded(mine.ask_for(chosen.clone(), all).unwrap());
    assert_eq!(asked.evaluation, pending, "the next free number");
    assert_eq!((asked.design, asked.measurement), (chosen.design, chosen.measurement));
    assert_eq!(asked.options, chosen.options);
}

#[test]
fn the_same_suggestion_is_asked_for_once() {
    let mut mine = begun(Algorithm::CMokg);
    let mut theirs = mine.clone();
    let chosen = mine.suggest().unwrap();
    recorded(theirs.ask_for(chosen.clone(), all).unwrap());
    assert_eq!(mine.ask_for(chosen.clone(), all).unwrap(), Asked::Outdated);
    // Practically the same is as bad.
    mine.refresh().unwrap();
    let x = chosen.design.real("x").unwrap();
    let near = if x < 0.5 { x + 2e-4 } else { x - 2e-4 };
    let near = Suggestion { design: Design::new().with("x", near), ..chosen };
    assert_eq!(mine.ask_for(near, all).unwrap(), Asked::Outdated);
    assert_eq!(mine.evaluations().len(), 7);
}

#[test]
fn a_failure_at_the_same_design_makes_a_suggestion_invalid() {
    let mut mine = begun(Algorithm::CMokg);
    let mut theirs = mine.clone();
    let chosen = mine.suggest().unwrap();
    let asked = recorded(theirs.ask_for(chosen.clone(), all).unwrap());
    theirs.tell_failure(asked.evaluation, "no convergence").unwrap();
    assert_eq!(mine.ask_for(chosen, all).unwrap(), Asked::Outdated);
}

#[test]
fn a_suggestion_must_be_permitted_when_it_is_asked_for() {
    let mut mine = begun(Algorithm::CMokg);
    let chosen = mine.suggest().unwrap();
    for permission in [Permission::Never, Permission::Later] {
        assert_eq!(mine.ask_for(chosen.clone(), |_, _| permission).unwrap(), Asked::Outdated);
    }
    assert_eq!(mine.evaluations().len(), 6);
}

#[test]
fn a_price_that_changed_makes_a_suggestion_invalid() {
    for objective in ["mass", "drag"] {
        let mut mine = begun(Algorithm::CMokg);
        let chosen = mine.suggest().unwrap();
        mine.clone().set_cost(objective, 3.0).unwrap();
        mine.refresh().unwrap();
        assert_eq!(mine.ask_for(chosen, all).unwrap(), Asked::Outdated, "{objective}");
    }
}

#[test]
fn what_needs_no_model_comes_before_a_suggestion() {
    let mut mine = begun(Algorithm::Makg);
    let mut theirs = mine.clone();
    let chosen = mine.suggest().unwrap();
    let first = recorded(theirs.ask_for(theirs.suggest().unwrap(), all).unwrap());
    mine.refresh().unwrap();
    // Their design still lacks its second objective.
    let asked = recorded(mine.ask_for(chosen, all).unwrap());
    assert_eq!(asked.design, first.design);
    assert_ne!(asked.measurement, first.measurement);
}

/// A journal to which somebody else writes just before each of our first appends.
#[derive(Debug, Clone)]
struct Crowded {
    journal: MemoryJournal,
    others: Cell<usize>,
}

impl Journal for Crowded {
    fn read(&self, from: u64) -> Result<Vec<Record>, JournalError> {
        self.journal.read(from)
    }

    fn append(&mut self, at: u64, records: &[Record]) -> Result<(), JournalError> {
        if self.others.get() > 0 {
            self.others.set(self.others.get() - 1);
            let mut other = Study::open(self.journal.clone()).unwrap();
            let x = 1e-6 * self.others.get() as f64;
            other.tell_result(Design::new().with("x", 0.5 + x), "drag", 0.25).unwrap();
        }
        self.journal.append(at, records)
    }
}

#[test]
fn many_conflicts_in_a_row_are_no_reason_to_give_up() {
    let mut study = begun(Algorithm::CMokg);
    let journal = MemoryJournal::default();
    let records = {
        // The records of the study, by way of another journal.
        let mut copy = Study::create(
            study.problem().clone(),
            study.config().clone(),
            study.seed(),
            journal.clone(),
        )
        .unwrap();
        for e in study.evaluations() {
            let [output] = e.outputs[..] else { panic!("{e:?}") };
            let name = copy.problem().outputs[output].name.clone();
            copy.tell_result(e.design.clone(), &name, e.reading(output).unwrap()).unwrap();
        }
        journal.read(0).unwrap().len()
    };
    study.refresh().unwrap();
    let crowded = Crowded { journal, others: Cell::new(80) };
    let mut crowded = Study::open(crowded).unwrap();
    assert_eq!(crowded.position(), records as u64);
    let permissions = Cell::new(0);
    let counted = |_: &Study<Crowded>, _: &[usize]| {
        permissions.set(permissions.get() + 1);
        Permission::Granted
    };
    let asked = crowded.ask_where(counted).unwrap().unwrap();
    assert!(asked.is_searched());
    assert_eq!(asked.evaluation as usize, records - 1 + 80, "after all that others wrote");
    assert!(permissions.get() > 80, "permitted anew each time");
}
