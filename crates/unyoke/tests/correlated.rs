//! Studies of objectives that are correlated: what they say, that they go on the same wherever they
//! are opened, and that studies begun before it could be learned never notice.
#![allow(clippy::unwrap_used, clippy::panic)]

mod studies;

use std::collections::BTreeMap;
use studies::{at, import, no_initial_design, plane};
use unyoke::{
    Algorithm, Config, Correlations, Event, Journal, Measurement, MemoryJournal, Note, Output,
    Problem, Record, Study, Suggestion, Value,
};

fn lift(x: f64, y: f64) -> f64 {
    (6.0 * x).sin() + (5.0 * y + 1.0).cos()
}

/// What conflicts with lift when both are wanted, and so is large where lift is.
fn drag(x: f64, y: f64) -> f64 {
    7.0 + 2.0 * lift(x, y) + 0.3 * x
}

fn wing() -> Problem {
    plane().maximise("lift", 1.0).minimise("drag", 10.0).build().unwrap()
}

fn study_of(problem: Problem, config: Config) -> Study {
    study_in(MemoryJournal::default(), problem, config)
}

fn study_in(journal: MemoryJournal, problem: Problem, config: Config) -> Study {
    let mut study = Study::create(problem, config, 5, journal).unwrap();
    import(&mut study, "lift", 30, lift);
    import(&mut study, "drag", 12, drag);
    study
}

fn with(algorithm: Algorithm) -> Config {
    Config { algorithm, correlations: Correlations::Learned, ..no_initial_design() }
}

const NONE: [f64; 0] = [];

fn correlations(suggestion: &Suggestion) -> Vec<f64> {
    let found = suggestion.notes.iter().filter_map(|note| match note {
        Note::Correlated { outputs, correlation } => {
            assert_eq!(*outputs, ["lift", "drag"]);
            Some(*correlation)
        }
        _ => None,
    });
    found.collect()
}

#[test]
fn a_suggestion_says_which_outputs_are_modelled_together_and_their_correlation() {
    for algorithm in
        [Algorithm::CMokg, Algorithm::CMokgRandom, Algorithm::HvkgExact, Algorithm::Auto]
    {
        let suggestion = study_of(wing(), with(algorithm)).suggest().unwrap();
        let [r] = correlations(&suggestion)[..] else { panic!("{:?}", suggestion.notes) };
        // In the directions of the user: where one is large, so is the other.
        assert!((0.8..1.0).contains(&r), "{r}");
        let said = format!("lift and drag are modelled together: correlation {r:.2}");
        assert!(suggestion.remarks().contains(&said), "{:?}", suggestion.remarks());
    }
}

#[test]
fn nothing_is_modelled_together_where_that_could_not_be_valued() {
    for algorithm in [Algorithm::Makg, Algorithm::HvkgD, Algorithm::Nehvi, Algorithm::Parego] {
        assert_eq!(correlations(&study_of(wing(), with(algorithm)).suggest().unwrap()), NONE);
    }
    let ignored = Config { correlations: Correlations::Ignored, ..with(Algorithm::CMokg) };
    assert_eq!(correlations(&study_of(wing(), ignored).suggest().unwrap()), NONE);
    let constrained = plane().maximise("lift", 1.0).minimise("drag", 10.0);
    let constrained = constrained.output(Output::at_most("load", 3.0).with_formula("x + y"));
    let suggestion =
        study_of(constrained.build().unwrap(), with(Algorithm::CMokg)).suggest().unwrap();
    assert_eq!(correlations(&suggestion), NONE);
}

#[test]
fn a_measurement_of_several_outputs_or_a_failed_run_leaves_models_apart() {
    let several = plane().maximise("lift", 1.0).minimise("drag", 10.0);
    let both = Measurement::new("both", ["lift", "drag"], 10.5);
    let several = several.measurement(both).build().unwrap();
    assert_eq!(correlations(&study_of(several, with(Algorithm::CMokg)).suggest().unwrap()), NONE);
    // A measurement that has failed and succeeded may fail elsewhere too.
    let mut study = study_of(wing(), with(Algorithm::CMokg));
    let mut ended = BTreeMap::new();
    while !ended.values().any(|times| *times > 1) {
        let asked = study.ask().unwrap();
        let times = ended.entry(asked.measurement.clone()).or_insert(0);
        match times {
            0 => study.tell_failure(asked.evaluation, "diverged").unwrap(),
            _ => tell(&mut study, &asked),
        }
        *times += 1;
    }
    assert_eq!(correlations(&study.suggest().unwrap()), NONE);
}

/// Tells the true value.
fn tell(study: &mut Study, asked: &Suggestion) {
    let [x, y] = ["x", "y"].map(|name| match asked.design.get(name) {
        Some(Value::Real(value)) => *value,
        other => panic!("{other:?}"),
    });
    let value = if asked.measurement == "lift" { lift(x, y) } else { drag(x, y) };
    study.tell(asked.evaluation, value).unwrap();
}

#[test]
fn a_reopened_study_suggests_the_same_to_the_last_bit_with_evaluations_under_way() {
    let journal = MemoryJournal::default();
    let mut study = study_in(journal.clone(), wing(), with(Algorithm::Auto));
    for round in 0..4 {
        let asked = study.ask().unwrap();
        if round % 2 == 0 {
            tell(&mut study, &asked);
        }
        let reopened = Study::open(journal.clone()).unwrap();
        let suggestion = study.suggest().unwrap();
        assert_eq!(correlations(&suggestion).len(), 1);
        assert_eq!(reopened.suggest().unwrap(), suggestion);
        assert_eq!(reopened.front(5).unwrap(), study.front(5).unwrap());
    }
}

#[test]
fn predictions_of_an_expensive_objective_learn_from_the_cheap_one() {
    let config = with(Algorithm::CMokg);
    let ignored = Config { correlations: Correlations::Ignored, ..config.clone() };
    let error = |config: Config| {
        let study = study_of(wing(), config);
        let mut sum = 0.0;
        for i in 40..90 {
            let [x, y] = studies::spread(i);
            let forecast = &study.forecast(&at(x, y)).unwrap().outputs[1];
            sum += (forecast.mean - drag(x, y)).powi(2);
        }
        f64::sqrt(sum / 50.0)
    };
    let (together, alone) = (error(config), error(ignored));
    assert!(together < 0.6 * alone, "{together} against {alone}");
}

/// The study of this journal, but for a first record that does not say anything about correlations.
fn of_an_earlier_program(journal: &MemoryJournal) -> Study {
    let mut earlier = MemoryJournal::default();
    let records = journal.read(0).unwrap();
    let records = records.into_iter().map(|record| {
        let mut written = serde_json::to_value(&record).unwrap();
        if matches!(record.event, Event::Created { .. }) {
            assert!(written["config"].as_object_mut().unwrap().remove("correlations").is_some());
        }
        serde_json::from_value::<Record>(written).unwrap()
    });
    earlier.append(0, &records.collect::<Vec<_>>()).unwrap();
    Study::open(earlier).unwrap()
}

#[test]
fn a_study_begun_before_correlations_could_be_learned_goes_on_without() {
    let config = with(Algorithm::CMokg);
    let journal = MemoryJournal::default();
    study_in(journal.clone(), wing(), config.clone());
    let earlier = of_an_earlier_program(&journal);
    assert_eq!(earlier.config().correlations, Correlations::Ignored);
    let ignored = Config { correlations: Correlations::Ignored, ..config };
    assert_eq!(earlier.suggest().unwrap(), study_of(wing(), ignored).suggest().unwrap());
}

#[test]
fn the_published_settings_ignore_correlations() {
    assert_eq!(Config::paper().correlations, Correlations::Ignored);
}
