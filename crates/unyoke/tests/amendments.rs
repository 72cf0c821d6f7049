//! Studies whose problem or settings change: nothing is lost, and what follows is what would have
//! followed had the study begun like this.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod studies;

use studies::{assert_suggestion, f, g, plane, spread};
use unyoke::{
    Algorithm, Config, Design, Error, Event, Initial, Journal, Measurement, MemoryJournal, Output,
    Problem, ProblemBuilder, Record, Study,
};

fn few_initial() -> Config {
    Config { initial: Initial { designs: Some(2), ..Initial::default() }, ..Config::default() }
}

fn opened(events: Vec<Event>) -> Study {
    let records: Vec<Record> = events.into_iter().map(Record::from).collect();
    let mut journal = MemoryJournal::default();
    journal.append(0, &records).unwrap();
    Study::open(journal).unwrap()
}

fn created(problem: &Problem) -> Event {
    Event::Created { problem: problem.clone(), config: few_initial(), seed: 3 }
}

fn redefined(problem: &Problem, was: Design) -> Event {
    Event::Redefined { problem: problem.clone(), config: few_initial(), was }
}

/// Values of f and g at the first designs, with `more` in each design.
fn measured(count: usize, more: &Design) -> Vec<Event> {
    let mut events = vec![];
    for i in 0..count {
        let [x, y] = spread(i);
        let (name, value, cost) =
            if i % 2 == 0 { ("f", f(x, y), 1.0) } else { ("g", g(x, y), 10.0) };
        let design = Design::new().with("x", x).with("y", y);
        let design = more.iter().fold(design, |d, (name, value)| d.with(name, value.clone()));
        let (evaluation, measurement) = (i as u64, name.to_owned());
        events.push(Event::Asked { evaluation, design, measurement, cost, initial: i < 4 });
        let values = [(name.to_owned(), value.into())].into();
        let (missing, cost, design) = (None, None, None);
        events.push(Event::Measured { evaluation, values, missing, cost, design });
    }
    events
}

fn both(builder: ProblemBuilder) -> Problem {
    builder.maximise("f", 1.0).minimise("g", 10.0).build().unwrap()
}

/// The study that was begun with `then` and became `now`, and the one that was begun with `now`.
fn amended_and_begun(then: &Problem, now: &Problem, was: Design) -> [Study; 2] {
    let mut amended = vec![created(then)];
    amended.extend(measured(10, &Design::new()));
    amended.push(redefined(now, was.clone()));
    let mut begun = vec![created(now)];
    begun.extend(measured(10, &was));
    [amended, begun].map(opened)
}

#[test]
fn an_amended_study_is_the_one_that_was_begun_like_this() {
    let then = both(plane());
    let none = Design::new;
    let bounds = |low: f64, high: f64| {
        Problem::builder().continuous("x", low, high).continuous("y", 0.0, 1.0)
    };
    for (now, was) in [
        (both(bounds(-1.0, 2.0)), none()),
        // Half of the designs are outside.
        (both(bounds(0.25, 0.75)), none()),
        // Settled.
        (both(bounds(0.5, 0.5)), none()),
        (both(Problem::builder().continuous_log("x", 1e-3, 1.0).continuous("y", 0.0, 1.0)), none()),
        (plane().minimise("f", 1.0).minimise("g", 10.0).build().unwrap(), none()),
        (both(plane().limit("sum", "x + y <= 1.2")), none()),
        (
            both(plane().categorical("kind", ["oak", "steel"]).integer("n", 1, 3)),
            none().with("kind", "oak").with("n", 2),
        ),
        // In another order, with a third objective in the middle.
        (
            Problem::builder()
                .continuous("y", 0.0, 1.0)
                .continuous("x", 0.0, 1.0)
                .minimise("g", 10.0)
                .maximise("h", 2.0)
                .output(Output::maximise("f").noisy())
                .measurement(Measurement::new("f", ["f"], 1.0))
                .build()
                .unwrap(),
            none(),
        ),
    ] {
        let [amended, begun] = amended_and_begun(&then, &now, was);
        assert_eq!(amended.evaluations(), begun.evaluations());
        assert_eq!(amended.spent().to_bits(), begun.spent().to_bits());
        assert_eq!(assert_suggestion(&amended), begun.suggest().unwrap());
        assert_eq!(amended.front(4).unwrap(), begun.front(4).unwrap());
    }
}

#[test]
fn settings_and_prices_are_those_of_the_amendment() {
    let then = both(plane());
    let mut study =
        opened(std::iter::once(created(&then)).chain(measured(6, &Design::new())).collect());
    let now = plane().maximise("f", 2.5).minimise("g", 10.0).build().unwrap();
    let config = Config { algorithm: Algorithm::Sobol, weights: 4, ..few_initial() };
    study.redefine(now, config.clone(), Design::new()).unwrap();
    assert_eq!(study.config(), &config);
    assert_eq!(study.cost("f").unwrap(), &2.5.into());
    // What was paid before is not changed by it.
    assert_eq!(study.spent(), 33.0);
    let suggestion = study.suggest().unwrap();
    assert!(suggestion.options.is_empty(), "no model is asked");
}

#[test]
fn a_new_output_is_measured_like_one_that_was_there_from_the_start() {
    let then = both(plane());
    let mut events = vec![created(&then)];
    events.extend(measured(8, &Design::new()));
    let mut study = opened(events);
    let now = plane().maximise("f", 1.0).minimise("g", 10.0).minimise("h", 2.0).build().unwrap();
    study.redefine(now, few_initial(), Design::new()).unwrap();
    let initial = study.ask().unwrap();
    assert_eq!((initial.measurement.as_str(), initial.origin), ("h", unyoke::Origin::Initial));
    study.tell(initial.evaluation, 1.0).unwrap();
    assert_eq!(study.ask().unwrap().measurement, "h");
}

#[test]
fn what_would_be_lost_is_refused() {
    let (lift, kind) = (Output::maximise("lift"), ["oak", "pine"]);
    let begin = || Problem::builder().continuous("x", -1.0, 1.0).categorical("kind", kind);
    let then = begin().output(lift).measurement(Measurement::new("tunnel", ["lift"], 1.0));
    let mut study = Study::new(then.build().unwrap()).unwrap();
    let design = Design::new().with("x", -0.5).with("kind", "pine");
    study.tell_result(design, "lift", -2.0).unwrap();
    let asked = study.ask().unwrap();
    study.tell(asked.evaluation, 1.0).unwrap();
    let position = study.position();
    let lift = || Output::maximise("lift");
    let tunnel = |name: &str| Measurement::new(name, ["lift"], 1.0);
    let mut refused = |problem: ProblemBuilder, was: Design| {
        let problem = problem.build().unwrap();
        let check = study.check_redefinition(problem.clone(), Config::default(), was.clone());
        let error = study.redefine(problem, Config::default(), was).unwrap_err();
        assert_eq!(check, Err(error.clone()));
        assert!(matches!(error, Error::CannotAmend { .. }), "{error}");
        error.to_string()
    };
    let none = Design::new;
    let said = refused(
        Problem::builder().continuous("x", -1.0, 1.0).output(lift()).measurement(tunnel("tunnel")),
        none(),
    );
    assert!(said.starts_with("parameter \"kind\" cannot be removed"), "{said}");
    let fewer = Problem::builder().continuous("x", -1.0, 1.0).categorical("kind", ["oak"]);
    let said = refused(fewer.output(lift()).measurement(tunnel("tunnel")), none());
    assert!(said.contains("is \"pine\" in evaluation 0, but would have to be one"), "{said}");
    let log = Problem::builder().continuous_log("x", 0.1, 1.0).categorical("kind", kind);
    let said = refused(log.output(lift()).measurement(tunnel("tunnel")), none());
    assert!(said.contains("parameter \"x\" is -0.5 in evaluation 0"), "{said}");
    let whole = Problem::builder().integer("x", -1, 1).categorical("kind", kind);
    let said = refused(whole.output(lift()).measurement(tunnel("tunnel")), none());
    assert!(said.contains("a whole number"), "{said}");
    let said = refused(begin().minimise("drag", 1.0), none());
    assert!(said.contains("output \"lift\" cannot be removed: evaluation 0"), "{said}");
    let said = refused(begin().output(lift()).measurement(tunnel("flight")), none());
    assert!(said.contains("measurement \"tunnel\" cannot be removed: evaluation 1"), "{said}");
    let said = refused(begin().output(lift().log_scale()).measurement(tunnel("tunnel")), none());
    assert!(said.contains("output \"lift\" cannot be on a log scale: evaluation 0"), "{said}");
    let more = || begin().continuous("y", 0.0, 1.0).output(lift()).measurement(tunnel("tunnel"));
    let said = refused(more(), none());
    assert!(said.contains("parameter \"y\" is new: `was` must say"), "{said}");
    let said = refused(more(), none().with("y", 0.5).with("x", 0.5));
    assert!(said.contains("parameter \"x\" is not new"), "{said}");
    let said = refused(more(), none().with("y", 0.5).with("z", 0.5));
    assert!(said.contains("parameter \"z\" is in `was`"), "{said}");
    assert_eq!(study.position(), position, "nothing was written");
}

#[test]
fn corrections_after_an_amendment_are_of_the_evaluations_before_it() {
    let then = both(plane());
    let mut study =
        opened(std::iter::once(created(&then)).chain(measured(6, &Design::new())).collect());
    study.retract(1, None).unwrap();
    let now = both(
        Problem::builder()
            .continuous("z", 0.0, 4.0)
            .continuous("x", 0.0, 2.0)
            .continuous("y", 0.0, 1.0),
    );
    study.redefine(now, few_initial(), Design::new().with("z", 1.0)).unwrap();
    study.correct(0, 7.5).unwrap();
    study.correct(1, 3.5).unwrap();
    assert_eq!(study.evaluations()[0].reading(0), Some(7.5.into()));
    assert_eq!(study.evaluations()[1].reading(1), Some(3.5.into()));
    let before = &study.evaluations()[1].superseded;
    assert_eq!(before.len(), 2);
    assert_eq!(before[0].design.real("z"), Some(1.0));
    assert_suggestion(&study);
}
