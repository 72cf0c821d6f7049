//! Corrected and retracted results: the study goes on as if the right ones had been told at once.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod studies;

use proptest::prelude::*;
use studies::{at, f, g, plane, spread, two_objectives};
use unyoke::{
    Algorithm, Config, Cost, CostSource, Design, Error, Event, Initial, Journal, LearnedCost,
    Measurement, MemoryJournal, Outcome, Output, Problem, Reading, Record, Status, Study,
    Suggestion,
};

/// A study with these events after its creation.
fn study_of(problem: &Problem, events: Vec<Event>) -> Study {
    let initial = Initial { designs: Some(2), ..Initial::default() };
    let config = Config { initial, ..Config::default() };
    let created = Event::Created { problem: problem.clone(), config, seed: 5 };
    let records: Vec<Record> = std::iter::once(created).chain(events).map(Record::from).collect();
    let mut journal = MemoryJournal::default();
    journal.append(0, &records).unwrap();
    Study::open(journal).unwrap()
}

/// What is known of an evaluation of the plane.
#[derive(Debug, Clone)]
struct Told {
    measurement: &'static str,
    place: usize,
    outcome: Option<f64>,
    cost: Option<f64>,
}

impl Told {
    fn asked(&self, evaluation: u64) -> Event {
        let [x, y] = spread(self.place);
        let cost = if self.measurement == "f" { 1.0 } else { 10.0 };
        Event::Asked {
            evaluation,
            design: at(x, y),
            measurement: self.measurement.to_owned(),
            cost,
            initial: self.place < 2,
        }
    }

    fn told(&self, evaluation: u64) -> Event {
        let cost = self.cost;
        match self.outcome {
            Some(value) => {
                let values = [(self.measurement.to_owned(), value.into())].into();
                Event::Measured { evaluation, values, missing: None, cost, design: None }
            }
            None => Event::Failed { evaluation, reason: "broke".into(), cost },
        }
    }

    fn corrected(&self, evaluation: u64) -> Event {
        let values = self.outcome.map(|value| (self.measurement.to_owned(), value.into()));
        let missing = self.outcome.is_none().then(|| "broke".to_owned());
        let values = values.into_iter().collect();
        Event::Corrected { evaluation, values, missing, cost: self.cost, design: None }
    }
}

/// Evaluations of both objectives, what came out, and what was said at first.
fn right_and_wrong() -> impl Strategy<Value = Vec<(Told, Told)>> {
    let one = (any::<bool>(), 0..5u8, -2.0..2.0, 0.5..20.0);
    prop::collection::vec(one, 4..9).prop_map(|all| {
        let told = |(place, (is_f, kind, off, cost)): (usize, (bool, u8, f64, f64))| {
            let [x, y] = spread(place);
            let (measurement, value) = if is_f { ("f", f(x, y)) } else { ("g", g(x, y)) };
            let right = Told { measurement, place, outcome: Some(value), cost: Some(cost) };
            let wrong = |outcome: Option<f64>| Told { outcome, ..right.clone() };
            match kind {
                0 => (right.clone(), wrong(Some(value + off))),
                1 => (right.clone(), wrong(None)),
                2 => (wrong(None), wrong(Some(off))),
                3 => (right.clone(), Told { cost: Some(cost + 1.0), ..right.clone() }),
                _ => (right.clone(), right.clone()),
            }
        };
        all.into_iter().enumerate().map(told).collect()
    })
}

/// The study in which everything was told as it is, and the one in which it was corrected.
fn told_and_corrected(problem: &Problem, all: &[(Told, Told)]) -> (Study, Study) {
    let (mut at_once, mut events, mut corrections) = (vec![], vec![], vec![]);
    for (id, (right, wrong)) in (0u64..).zip(all) {
        at_once.extend([right.asked(id), right.told(id)]);
        events.extend([wrong.asked(id), wrong.told(id)]);
        corrections.push(right.corrected(id));
    }
    // The last is corrected first.
    events.extend(corrections.into_iter().rev());
    (study_of(problem, at_once), study_of(problem, events))
}

fn assert_same(a: &Study, b: &Study) {
    assert_eq!(a.spent().to_bits(), b.spent().to_bits());
    assert_eq!(a.suggest().unwrap(), b.suggest().unwrap());
    let design = at(0.3, 0.6);
    assert_eq!(a.forecast(&design).unwrap(), b.forecast(&design).unwrap());
    assert_eq!(a.front(4).unwrap(), b.front(4).unwrap());
}

/// Both objectives of the plane, of which one costs what evaluations turned out to cost.
fn with_learned_cost() -> Problem {
    let learned = Cost::Learned(LearnedCost { learn: CostSource::Reported, guess: 10.0 });
    let (f, g) = (Output::maximise("f"), Output::minimise("g"));
    let measured = plane().output(f).output(g).measurement(Measurement::new("f", ["f"], 1.0));
    measured.measurement(Measurement::new("g", ["g"], learned)).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10))]

    #[test]
    fn a_corrected_study_is_the_one_in_which_the_right_results_were_told_at_once(
        all in right_and_wrong()
    ) {
        for problem in [two_objectives(), with_learned_cost()] {
            let (at_once, corrected) = told_and_corrected(&problem, &all);
            assert_same(&at_once, &corrected);
        }
    }

    #[test]
    fn what_was_retracted_leaves_its_cost_and_nothing_else(
        all in right_and_wrong(), which in any::<prop::sample::Index>()
    ) {
        let problem = two_objectives();
        let gone = which.index(all.len()) as u64;
        let (mut withdrawn, mut retracted) = (vec![], vec![]);
        for (id, (_, told)) in (0u64..).zip(&all) {
            withdrawn.push(told.asked(id));
            retracted.extend([told.asked(id), told.told(id)]);
            withdrawn.push(match id == gone {
                true => Event::Withdrawn { evaluation: id },
                false => told.told(id),
            });
        }
        retracted.push(Event::Retracted { evaluation: gone, reason: None });
        let (without, with) = (study_of(&problem, withdrawn), study_of(&problem, retracted));
        prop_assert_eq!(without.suggest().unwrap(), with.suggest().unwrap());
        prop_assert_eq!(without.front(4).unwrap(), with.front(4).unwrap());
        let cost = all[gone as usize].1.cost.unwrap();
        prop_assert!((with.spent() - without.spent() - cost).abs() <= 1e-12 * with.spent());
    }
}

/// Something that people do to a study.
#[derive(Debug, Clone, Copy)]
enum Move {
    Ask,
    Import,
    Tell,
    Fail,
    Withdraw,
    Retry,
    Correct,
    CorrectCost,
    CorrectToFailure,
    Retract,
    Amend,
    Queue,
    Unqueue,
    Skip,
    Pause,
    Resume,
}

const MOVES: [Move; 16] = [
    Move::Ask,
    Move::Import,
    Move::Tell,
    Move::Fail,
    Move::Withdraw,
    Move::Retry,
    Move::Correct,
    Move::CorrectCost,
    Move::CorrectToFailure,
    Move::Retract,
    Move::Amend,
    Move::Queue,
    Move::Unqueue,
    Move::Skip,
    Move::Pause,
    Move::Resume,
];

/// What an evaluation has cost, as somebody with pencil and paper would note it.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Note {
    expected: f64,
    paid: Option<f64>,
    sunk: f64,
    was_made: bool,
}

impl Note {
    fn spent(self) -> f64 {
        self.sunk + if self.was_made { self.paid.unwrap_or(self.expected) } else { 0.0 }
    }
}

/// Makes a move of evaluation `id`, and notes what it costs if it is not refused.
fn make(study: &mut Study, notes: &mut Vec<Note>, made: Move, id: u64, value: f64) {
    let cost = value.abs();
    let outcome = Outcome::from(value).cost(cost);
    let at = |note: &mut Note| (note.was_made, note.paid) = (true, Some(cost));
    let mut settle = |done: unyoke::Result<()>, change: &dyn Fn(&mut Note)| {
        if done.is_ok() {
            change(&mut notes[id as usize]);
        }
    };
    match made {
        Move::Ask => {
            let Suggestion { cost, .. } = study.ask().unwrap();
            notes.push(Note { expected: cost, paid: None, sunk: 0.0, was_made: false });
        }
        Move::Import => {
            let names = study.problem().parameters.iter().map(|p| p.name().to_owned());
            let design = names.fold(Design::new(), |design, name| design.with(name, value));
            study.tell_result(design, "f", value).unwrap();
            notes.push(Note { expected: 0.0, paid: None, sunk: 0.0, was_made: true });
        }
        Move::Tell => settle(study.tell(id, outcome), &at),
        Move::Fail => settle(study.tell_failure(id, "broke"), &|note| note.was_made = true),
        Move::Withdraw => settle(study.withdraw(id), &|_| ()),
        Move::Retry => settle(study.retry(id), &|note| {
            note.sunk += note.paid.take().unwrap_or(0.0);
            note.was_made = false;
        }),
        Move::Correct => settle(study.correct(id, value), &|_| ()),
        Move::CorrectCost => settle(study.correct(id, Outcome::default().cost(cost)), &at),
        Move::CorrectToFailure => {
            settle(study.correct(id, Outcome::default().missing("no")), &|_| ());
        }
        Move::Retract => settle(study.retract(id, Some("nonsense")), &|_| ()),
        Move::Amend => amend(study, value),
        Move::Queue => {
            let names = study.problem().parameters.iter().map(|p| p.name().to_owned());
            let design = names.fold(Design::new(), |design, name| design.with(name, value / 9.0));
            // Beyond narrowed bounds, or where all is known, it is refused.
            let _ = study.queue(design, (value > 4.0).then_some("f"));
        }
        Move::Unqueue => {
            let _ = study.unqueue(id);
        }
        Move::Skip => settle(study.skip(id), &|_| ()),
        Move::Pause => {
            let pause = unyoke::Pause { until: Some(id), reason: None };
            study.pause("f", pause).unwrap();
        }
        Move::Resume => {
            study.resume("f").unwrap();
        }
    }
}

/// Other bounds and a new price, and a parameter more the first time a large number comes.
fn amend(study: &mut Study, value: f64) {
    let is_there = study.problem().parameters.len() > 1;
    let mut problem = Problem::builder().continuous("x", -value, 1.0 + value);
    let mut was = Design::new();
    if is_there || value > 5.0 {
        problem = problem.continuous("y", 0.0, value);
    }
    if !is_there && value > 5.0 {
        was = was.with("y", 0.5);
    }
    let problem = problem.minimise("f", 1.0 + value).build().unwrap();
    study.redefine(problem, study.config().clone(), was).unwrap();
}

/// The study as somebody else would open it.
fn reopened(journal: &MemoryJournal) -> Study {
    Study::open(journal.clone()).unwrap()
}

fn assert_replays(study: &Study, journal: &MemoryJournal) {
    let again = reopened(journal);
    assert_eq!(again.evaluations(), study.evaluations());
    assert_eq!((again.problem(), again.config()), (study.problem(), study.config()));
    assert_eq!(again.spent().to_bits(), study.spent().to_bits());
    assert_eq!(again.position(), study.position());
    assert_eq!(again.queued().unwrap(), study.queued().unwrap());
    assert_eq!(again.pause_of(0), study.pause_of(0));
    assert_eq!(again.suggest().unwrap(), study.suggest().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_people_do_a_replay_is_the_same_study_and_all_that_was_made_is_paid(
        moves in prop::collection::vec((0..MOVES.len(), any::<prop::sample::Index>(), 0.01..9.0), 1..40)
    ) {
        let problem = Problem::builder().continuous("x", 0.0, 9.0).minimise("f", 2.0);
        let config = Config { algorithm: Algorithm::Sobol, ..Config::default() };
        let journal = MemoryJournal::default();
        let mut study =
            Study::create(problem.build().unwrap(), config, 1, journal.clone()).unwrap();
        let mut notes: Vec<Note> = vec![];
        for (made, which, value) in moves {
            let made = MOVES[made];
            let is_new = matches!(made, Move::Ask | Move::Import);
            if notes.is_empty() && !is_new {
                continue;
            }
            let id = if notes.is_empty() { 0 } else { which.index(notes.len()) as u64 };
            let before = (study.position(), study.evaluations().to_vec());
            let noted = notes.clone();
            make(&mut study, &mut notes, made, id, value);
            if noted == notes && study.position() == before.0 {
                prop_assert_eq!(study.evaluations(), &before.1[..], "it was refused");
            }
        }
        let spent: f64 = notes.iter().map(|note| note.spent()).sum();
        prop_assert!((study.spent() - spent).abs() <= 1e-12 * spent.max(1.0));
        assert_replays(&study, &journal);
    }
}

fn one_objective() -> Study {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 2.0);
    Study::new(problem.build().unwrap()).unwrap()
}

#[test]
fn what_cannot_be_corrected_is_refused_with_what_helps() {
    let mut study = one_objective();
    let ids: Vec<u64> = study.ask_many(3).unwrap().iter().map(|s| s.evaluation).collect();
    study.withdraw(ids[1]).unwrap();
    study.tell(ids[2], 1.0).unwrap();
    let said = |refused: unyoke::Result<()>| refused.unwrap_err().to_string();
    assert_eq!(said(study.correct(ids[0], 1.0)), "evaluation 0 is pending: tell its result first");
    let withdrawn = "evaluation 1 is withdrawn: if it was made after all, tell its result";
    assert_eq!(said(study.correct(ids[1], 1.0)), withdrawn);
    assert_eq!(
        said(study.retract(ids[0], None)),
        "evaluation 0 is pending: withdraw it, if it will not be made"
    );
    assert_eq!(study.correct(9, 1.0), Err(Error::UnknownEvaluation { id: 9 }));
    assert_eq!(study.retract(9, None), Err(Error::UnknownEvaluation { id: 9 }));
    assert!(said(study.correct(ids[2], Outcome::default())).contains("no value was given"));
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert!(said(study.correct(ids[2], Outcome::default().cost(bad))).contains("not negative"));
    }
    let other = Outcome::from([("g", 1.0)]);
    assert!(matches!(study.correct(ids[2], other), Err(Error::UnknownOutput { .. })));
    study.retract(ids[2], None).unwrap();
    let settled = Err(Error::AlreadySettled { id: ids[2], how: "retracted" });
    assert_eq!(study.retract(ids[2], None), settled);
    assert_eq!(study.tell(ids[2], 2.0), settled);
    assert_eq!(study.retry(ids[2]), settled);
    let nothing = Outcome::default().cost(1.0);
    assert!(said(study.correct(ids[2], nothing)).contains("no value was given"));
    study.correct(ids[2], 3.0).unwrap();
    assert_eq!(study.evaluations()[2].reading(0), Some(3.0.into()));
    assert_eq!(study.evaluations()[2].superseded.len(), 2);
}

#[test]
fn imported_values_are_corrected_and_retracted_for_free() {
    let mut study = one_objective();
    let x = |x: f64| Design::new().with("x", x);
    let result = (x(0.5), "f".to_owned(), Reading::from(35.0));
    study.tell_missing_results(std::slice::from_ref(&result)).unwrap();
    let cost = study.correct(0, Outcome::from(3.5).cost(1.0)).unwrap_err().to_string();
    assert_eq!(cost, "evaluation 0 is imported: imported values cost nothing");
    let failed = study.correct(0, Outcome::default().missing("no")).unwrap_err().to_string();
    assert_eq!(failed, "evaluation 0 is imported: retract it, if it has no right value");
    study.correct(0, Outcome::from(3.5).at(x(0.25))).unwrap();
    assert_eq!((study.evaluations()[0].reading(0), study.spent()), (Some(3.5.into()), 0.0));
    // The table it came from may be imported again, and brings back neither value.
    let corrected = (x(0.25), "f".to_owned(), Reading::from(3.5));
    let both = [result, corrected];
    assert_eq!(study.tell_missing_results(&both).unwrap(), [0usize; 0]);
    study.retract(0, Some("another machine")).unwrap();
    assert_eq!(study.tell_missing_results(&both).unwrap(), [0usize; 0]);
    assert_eq!(study.evaluations()[0].status, Status::Retracted(Some("another machine".into())));
}

#[test]
fn one_of_several_outputs_is_corrected() {
    let (lift, drag) = (Output::maximise("lift"), Output::minimise("drag"));
    let problem = Problem::builder().continuous("x", 0.0, 1.0).output(lift).output(drag);
    let problem = problem.measurement(Measurement::new("cfd", ["lift", "drag"], 4.0));
    let mut study = Study::new(problem.build().unwrap()).unwrap();
    let id = study.ask().unwrap().evaluation;
    let readings = |study: &Study| [0, 1].map(|k| study.evaluations()[0].reading(k));
    study.tell(id, [("lift", 1.5), ("drag", 30.0)]).unwrap();
    study.correct(id, [("drag", 0.3)]).unwrap();
    assert_eq!(readings(&study), [Some(1.5.into()), Some(0.3.into())]);
    assert!(matches!(study.correct(id, 1.0), Err(Error::WrongOutputs { .. })));
    // With a reason, what is not named has no value.
    study.correct(id, Outcome::from([("lift", 1.25)]).missing("no wake")).unwrap();
    assert_eq!(readings(&study), [Some(1.25.into()), None]);
    // What is no number has none either, and the others stay.
    study.correct(id, [("drag", 0.3)]).unwrap();
    assert_eq!(study.evaluations()[0].status.word(), "completed");
    study.correct(id, [("lift", f64::NAN)]).unwrap();
    assert_eq!(readings(&study), [None, Some(0.3.into())]);
    let Status::Completed(results) = &study.evaluations()[0].status else { panic!() };
    assert_eq!(results.missing.as_deref(), Some("lift is NaN"));
    study.correct(id, [("lift", 1.5)]).unwrap();
    let Status::Completed(results) = &study.evaluations()[0].status else { panic!() };
    assert_eq!(results.missing, None, "nothing is missing any more");
    study.correct(id, Outcome::default().cost(2.5)).unwrap();
    assert_eq!((readings(&study), study.spent()), ([Some(1.5.into()), Some(0.3.into())], 2.5));
}

#[test]
fn searches_before_a_correction_do_not_confirm_that_it_is_time_to_stop() {
    let mut study = Study::with_config(two_objectives(), Config::default(), 0).unwrap();
    while study.evaluations().len() < 16 {
        let Suggestion { evaluation, design, measurement, .. } = study.ask().unwrap();
        let [x, y] = ["x", "y"].map(|name| design.real(name).unwrap());
        study.tell(evaluation, if measurement == "f" { f(x, y) } else { g(x, y) }).unwrap();
    }
    // Nothing is worth anything: the searches before agree.
    let stop = unyoke::Stop { searches: 3, ..unyoke::Stop::worth("f", 1e-9) };
    let next = study.suggest().unwrap();
    let confirmed = study.appraise(&stop, &next).unwrap().unwrap();
    assert_eq!(confirmed.searches, 3);
    let last = study.evaluations().last().unwrap();
    let value = [0, 1].iter().find_map(|k| last.reading(*k)).unwrap().value;
    study.correct(last.id, value + 1e-3).unwrap();
    let next = study.suggest().unwrap();
    let now = study.appraise(&stop, &next).unwrap().unwrap();
    assert_eq!((now.searches, now.verdict), (1, unyoke::Verdict::Unconfirmed));
}
