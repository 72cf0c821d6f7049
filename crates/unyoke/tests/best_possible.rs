//! Objectives that have their best possible value at many designs.
#![allow(clippy::unwrap_used, clippy::panic)]

use unyoke::{
    BestPossible, Config, Correlations, Design, Event, Initial, Journal, MemoryJournal, ModelNote,
    Note, OptionRow, Problem, Record, Study, Suggestion,
};
use unyoke_math::sobol;

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

/// What measuring the error is worth, as a logarithm.
fn gain(study: &Study<MemoryJournal>) -> f64 {
    let suggestion = study.suggest().unwrap();
    let row = |row: &&OptionRow| row.measurements == ["error"];
    suggestion.options.iter().find(row).unwrap().log_gain
}

#[test]
fn nothing_better_than_the_best_possible_value_is_searched_for() {
    let learned = study(problem(), settings(BestPossible::Learned), 1.0);
    let ignored = study(problem(), settings(BestPossible::Ignored), 1.0);
    let [(output, best)] = &named(&learned.suggest().unwrap())[..] else { panic!() };
    assert!(output == "error" && best.abs() < 1e-12, "{best}");
    assert_eq!(named(&ignored.suggest().unwrap()), []);
    let (bounded, unbounded) = (gain(&learned), gain(&ignored));
    assert!(bounded < unbounded - 0.5, "{bounded} {unbounded}");
}

#[test]
fn predictions_are_what_they_are_without() {
    // Alone, so that no joint model makes a difference.
    let config = |best| Config { correlations: Correlations::Ignored, ..settings(best) };
    let learned = study(problem(), config(BestPossible::Learned), 1.0);
    let ignored = study(problem(), config(BestPossible::Ignored), 1.0);
    assert!(!named(&learned.suggest().unwrap()).is_empty());
    assert_eq!(learned.front(20).unwrap(), ignored.front(20).unwrap());
    for x in sobol::cube(3, 30, 8).unwrap().rows() {
        assert_eq!(learned.forecast(&at(x)).unwrap(), ignored.forecast(&at(x)).unwrap());
    }
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
    assert_eq!((&least.design, &least.measurement), (&most.design, &most.measurement));
    let text = |suggestion: &Suggestion| -> Vec<String> {
        let notes = suggestion.notes.iter().map(Note::to_string);
        notes.filter(|text| text.contains("designs far apart")).collect()
    };
    let [one, other] = [&least, &most].map(text);
    let end = "nothing better is searched for; if there may be, set best_possible = \"ignored\"";
    assert!(one.len() == 1 && one[0].starts_with("error: ") && one[0].ends_with(end), "{one:?}");
    assert_eq!(other.len(), 1);
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
