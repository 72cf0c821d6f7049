//! Objectives that have their best possible value at many designs.
#![allow(clippy::unwrap_used, clippy::panic)]

use unyoke::{
    BestPossible, Config, Design, Event, Initial, Journal, MemoryJournal, ModelNote, Note, Problem,
    Record, Study, Suggestion,
};
use unyoke_math::{Points, sobol};

const NAMES: [&str; 3] = ["x", "y", "z"];

fn problem() -> Problem {
    let parameters =
        NAMES.iter().fold(Problem::builder(), |builder, name| builder.continuous(*name, 0.0, 1.0));
    parameters.minimise("error", 1.0).minimise("effort", 10.0).build().unwrap()
}

fn at(x: &[f64]) -> Design {
    NAMES.iter().zip(x).map(|(name, v)| ((*name).to_owned(), (*v).into())).collect()
}

/// Nothing is wrong where enough is done.
fn error(x: &[f64]) -> f64 {
    (1.2 - x[0] - x[1] - 0.3 * x[2]).max(0.0) * 50.0
}

fn effort(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

fn settings(best_possible: BestPossible) -> Config {
    let initial = Initial { designs: Some(0), ..Initial::default() };
    Config { best_possible, initial, ..Config::default() }
}

/// Studies of the same 16 designs.
fn study(problem: Problem, config: Config, sign: f64) -> Study<MemoryJournal> {
    let mut study = Study::create(problem, config, 3, MemoryJournal::default()).unwrap();
    for x in sobol::cube(3, 16, 5).unwrap().rows() {
        study.tell_result(at(x), "error", sign * error(x)).unwrap();
        study.tell_result(at(x), "effort", sign * effort(x)).unwrap();
    }
    study
}

/// The best possible value that a suggestion names, and the output.
fn named(suggestion: &Suggestion) -> Vec<(String, f64)> {
    let best = |note: &Note| match note {
        Note::Model { output, note: ModelNote::BestPossible { value, designs } } => {
            assert!(*designs >= 3);
            Some((output.clone(), *value))
        }
        _ => None,
    };
    suggestion.notes.iter().filter_map(best).collect()
}

/// The least error that is predicted anywhere, by forecasts and on the front.
fn least_predicted<J: Journal>(study: &Study<J>) -> f64 {
    let places: Points = sobol::cube(3, 300, 8).unwrap();
    let anywhere = places.rows().map(|x| study.forecast(&at(x)).unwrap().outputs[0].mean);
    let front = study.front(20).unwrap();
    let on_front = front.points.iter().map(|point| point.outputs[0].mean);
    anywhere.chain(on_front).fold(f64::INFINITY, f64::min)
}

#[test]
fn nothing_better_than_the_best_possible_value_is_predicted() {
    let learned = study(problem(), settings(BestPossible::Learned), 1.0);
    let ignored = study(problem(), settings(BestPossible::Ignored), 1.0);
    assert_eq!(named(&learned.suggest().unwrap()), [("error".to_owned(), 0.0)]);
    assert_eq!(named(&ignored.suggest().unwrap()), []);
    let least = least_predicted(&learned);
    assert!((-1e-9..1.0).contains(&least), "{least}");
    // Without the bound there would be something to be found, and to be measured.
    assert!(least_predicted(&ignored) < -2.0);
    let gain = |study: &Study<MemoryJournal>| {
        let suggestion = study.suggest().unwrap();
        let row = |row: &&unyoke::OptionRow| row.measurements == ["error"];
        suggestion.options.iter().find(row).unwrap().log_gain
    };
    assert!(gain(&learned) < gain(&ignored) - 0.5, "{} {}", gain(&learned), gain(&ignored));
}

#[test]
fn directions_do_not_matter() {
    let parameters =
        NAMES.iter().fold(Problem::builder(), |builder, name| builder.continuous(*name, 0.0, 1.0));
    let turned = parameters.maximise("error", 1.0).maximise("effort", 10.0).build().unwrap();
    let (least, most) = (
        study(problem(), settings(BestPossible::Learned), 1.0).suggest().unwrap(),
        study(turned, settings(BestPossible::Learned), -1.0).suggest().unwrap(),
    );
    assert_eq!((least.design, least.measurement), (most.design, most.measurement));
    let text = |suggestion: &Suggestion| -> Vec<String> {
        let notes = suggestion.notes.iter().map(Note::to_string);
        notes.filter(|text| text.contains("best possible")).collect()
    };
    let designs = text(&study(problem(), settings(BestPossible::Learned), 1.0).suggest().unwrap());
    assert_eq!(designs.len(), 1);
    assert!(designs[0].starts_with("error: 0 was measured at "), "{designs:?}");
    assert!(designs[0].ends_with("if not, set best_possible = \"ignored\""), "{designs:?}");
}

#[test]
fn a_study_that_is_reopened_goes_on_and_one_of_an_earlier_program_goes_on_without() {
    let mut study = study(problem(), settings(BestPossible::Learned), 1.0);
    for _ in 0..2 {
        let asked = study.ask().unwrap();
        let x = NAMES.map(|name| asked.design.real(name).unwrap());
        let value = if asked.measurement == "error" { error(&x) } else { effort(&x) };
        study.tell(asked.evaluation, value).unwrap();
        let reopened = Study::open(study.journal().clone()).unwrap();
        assert_eq!(reopened.suggest().unwrap(), study.suggest().unwrap());
    }
    let records = study.journal().read(0).unwrap().into_iter().map(|record| {
        let mut written = serde_json::to_value(&record).unwrap();
        if matches!(record.event, Event::Created { .. }) {
            let config = written["config"].as_object_mut().unwrap();
            assert!(config.remove("best_possible").is_some());
        }
        serde_json::from_value::<Record>(written).unwrap()
    });
    let records: Vec<Record> = records.collect();
    let mut earlier = MemoryJournal::default();
    earlier.append(0, &records).unwrap();
    let earlier = Study::open(earlier).unwrap();
    assert_eq!(earlier.config().best_possible, BestPossible::Ignored);
    assert_eq!(named(&earlier.suggest().unwrap()), []);
    assert_eq!(Config::paper().best_possible, BestPossible::Ignored);
}
