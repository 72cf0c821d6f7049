//! Values that are far from all others, as a study handles them and says so.
#![allow(clippy::unwrap_used, clippy::panic)]

mod studies;

use studies::*;
use unyoke::{
    Confidence, Config, Event, Journal, MeasuredValue, MemoryJournal, ModelNote, Note, Outliers,
    Output, Problem, Record, Study, Suggestion,
};

/// What a suggestion says about outliers of an output.
fn said(suggestion: &Suggestion, name: &str) -> Vec<ModelNote> {
    let about = |note: &Note| match note {
        Note::Model { output, note } if output == name => Some(note.clone()),
        _ => None,
    };
    let is_outlier =
        |note: &ModelNote| matches!(note, ModelNote::Clipped { .. } | ModelNote::SetAside { .. });
    suggestion.notes.iter().filter_map(about).filter(is_outlier).collect()
}

/// Adds a wrong value, and says its number.
fn tell<J: Journal>(study: &mut Study<J>, [x, y]: [f64; 2], name: &str, value: f64) -> u64 {
    study.tell_result(at(x, y), name, value).unwrap();
    study.evaluations().len() as u64 - 1
}

/// 0.02 beside spread point 4.
fn beside() -> [f64; 2] {
    let [x, y] = spread(4);
    [x + 0.02, y]
}

#[test]
fn a_wrong_value_is_named_and_nothing_is_predicted_from_it() {
    // The minimised objective: 1e6 is bad.
    let (clean, mut study) = (after(20), after(20));
    let evaluation = tell(&mut study, beside(), "g", 1e6);
    let suggestion = assert_suggestion(&study);
    let values = vec![MeasuredValue { evaluation, value: 1e6 }];
    assert_eq!(said(&suggestion, "g"), [ModelNote::SetAside { values }]);
    assert_eq!(said(&suggestion, "f"), []);
    let text = suggestion.notes.iter().map(Note::to_string).find(|t| t.contains("40")).unwrap();
    let expected = "g: evaluation 40 (1e6) contradicts its neighbours and does not count; \
                    if wrong, `unyoke tell --correct 40 VALUE`";
    assert_eq!(text, expected);
    for i in 30..60 {
        let [x, y] = spread(i);
        let forecast = |study: &Study| study.forecast(&at(x, y)).unwrap().outputs;
        assert_eq!(forecast(&study), forecast(&clean));
    }
}

#[test]
fn a_clipped_value_is_told_in_the_units_and_direction_of_the_output() {
    let mut study = modelled(two_objectives());
    let shrink = |v: f64| 0.3 + 0.7 * v;
    for i in 0..20 {
        let [x, y] = spread(i).map(shrink);
        study.tell_result(at(x, y), "f", f(x, y)).unwrap();
        study.tell_result(at(x, y), "g", 100.0 + g(x, y)).unwrap();
    }
    let first = tell(&mut study, [0.0, 0.0], "g", 1e10);
    let second = tell(&mut study, [0.02, 0.0], "g", 2.5e-3 + 1e10);
    let suggestion = assert_suggestion(&study);
    let [ModelNote::Clipped { values, counts_as }] = &said(&suggestion, "g")[..] else {
        panic!("{:?}", suggestion.notes)
    };
    let numbers: Vec<u64> = values.iter().map(|one| one.evaluation).collect();
    assert_eq!(numbers, [first, second]);
    assert_eq!(values[0].value, 1e10);
    // Worse than all others, which are between 100 and 101.
    assert!((100.3..102.0).contains(counts_as), "{counts_as}");
    let text = suggestion.notes.iter().map(Note::to_string).find(|t| t.contains("1e10")).unwrap();
    assert!(text.starts_with("g: evaluations 40 (1e10), 41 (1e10) are far from all others and"));
    let forecast = &study.forecast(&at(0.0, 0.0)).unwrap().outputs[1];
    assert!((forecast.mean - counts_as).abs() < 0.1, "{forecast:?}");
}

#[test]
fn checks_of_models_agree_with_the_notes() {
    let mut study = after(20);
    let aside = tell(&mut study, beside(), "g", 1e6);
    let clean = after(20).model_checks().unwrap();
    let checks = study.model_checks().unwrap();
    assert_eq!(checks[0], clean[0]);
    let (g, unspoilt) = (&checks[1], &clean[1]);
    assert_eq!(
        (g.explained, g.error_ratio, g.designs),
        (unspoilt.explained, unspoilt.error_ratio, 20)
    );
    assert_eq!(g.left_out, unspoilt.left_out);
    let [value] = &g.set_aside[..] else { panic!("{:?}", g.set_aside) };
    assert_eq!((&value.evaluations[..], value.measured), (&[aside][..], 1e6));
    assert!(value.deviations > 1e3 && value.mean.abs() < 2.0, "{value:?}");
    assert_eq!(g.verdict(), format!("{}; evaluation 40 does not count", unspoilt.verdict()));
    // Kept, it is what all is about.
    let config = Config { outliers: Outliers::Kept, ..no_initial_design() };
    let mut kept = Study::with_config(two_objectives(), config, 0).unwrap();
    import(&mut kept, "g", 20, g_of);
    tell(&mut kept, beside(), "g", 1e6);
    let check = &kept.model_checks().unwrap()[1];
    assert!(check.set_aside.is_empty() && check.explained.unwrap() < 0.1, "{check:?}");
}

fn g_of(x: f64, y: f64) -> f64 {
    g(x, y)
}

#[test]
fn clipped_values_are_checked_as_they_count() {
    let mut study = modelled(plane().minimise("g", 1.0).build().unwrap());
    import(&mut study, "g", 4, g);
    let wrong = tell(&mut study, [0.99, 0.99], "g", 1e9);
    for i in 4..9 {
        let [x, y] = spread(i);
        study.tell_result(at(0.7 * x, 0.7 * y), "g", g(0.7 * x, 0.7 * y)).unwrap();
    }
    let check = &study.model_checks().unwrap()[0];
    let value = &check.left_out[wrong as usize];
    assert_eq!((value.evaluations[0], value.measured), (wrong, 1e9));
    let counts_as = value.counts_as.unwrap();
    assert!((0.5..5.0).contains(&counts_as), "{value:?}");
    assert!((value.deviations - (counts_as - value.mean) / value.sd).abs() < 1e-6, "{value:?}");
    assert!(check.left_out.iter().filter(|one| one.counts_as.is_some()).count() == 1);
    assert_ne!(check.confidence, Confidence::OneValueOff);
}

#[test]
fn the_right_value_at_the_same_design_replaces_a_wrong_one() {
    // On the good side, where nothing else contradicts it.
    let mut study = modelled(plane().maximise("f", 1.0).build().unwrap());
    import(&mut study, "f", 20, f);
    let place = [0.123, 0.456];
    let wrong = tell(&mut study, place, "f", 1e6);
    assert_eq!(said(&assert_suggestion(&study), "f"), []);
    tell(&mut study, place, "f", f(place[0], place[1]));
    let suggestion = assert_suggestion(&study);
    let values = vec![MeasuredValue { evaluation: wrong, value: 1e6 }];
    assert_eq!(said(&suggestion, "f"), [ModelNote::SetAside { values }]);
    let is_disagreement = |note: &Note| note.to_string().contains("differ from others");
    assert!(!suggestion.notes.iter().any(is_disagreement), "{:?}", suggestion.notes);
    let forecast = &study.forecast(&at(place[0], place[1])).unwrap().outputs[0];
    assert!((forecast.mean - f(place[0], place[1])).abs() < 0.01, "{forecast:?}");
}

#[test]
fn on_a_log_scale_values_are_compared_by_their_ratios() {
    let problem = plane().output(Output::minimise("g").log_scale());
    let problem = problem.measurement(unyoke::Measurement::new("g", ["g"], 1.0)).build().unwrap();
    let study = |wrong: f64| {
        let mut study = modelled(problem.clone());
        import(&mut study, "g", 20, |x, y| (3.0 * g(x, y)).exp());
        tell(&mut study, beside(), "g", wrong);
        study
    };
    // Values lie between 1 and 10: what would be far on a linear scale is not.
    assert_eq!(said(&assert_suggestion(&study(50.0)), "g"), []);
    let suggestion = assert_suggestion(&study(1e30));
    let [ModelNote::SetAside { values }] = &said(&suggestion, "g")[..] else {
        panic!("{:?}", suggestion.notes)
    };
    assert!((values[0].value / 1e30 - 1.0).abs() < 1e-12, "{values:?}");
}

#[test]
fn the_largest_numbers_do_no_harm() {
    for value in [1e300, f64::MAX] {
        for name in ["f", "g"] {
            for sign in [-1.0, 1.0] {
                let mut study = after(12);
                tell(&mut study, [0.01, 0.99], name, sign * value);
                assert_suggestion(&study);
                for forecast in study.forecast(&at(0.5, 0.5)).unwrap().outputs {
                    assert!(forecast.mean.is_finite() && forecast.sd.is_finite(), "{forecast:?}");
                }
                study.model_checks().unwrap();
            }
        }
    }
}

#[test]
fn a_replayed_study_suggests_the_same() {
    let journal = MemoryJournal::default();
    let config = no_initial_design();
    let mut study = Study::create(two_objectives(), config, 0, journal.clone()).unwrap();
    for i in 0..12 {
        let [x, y] = spread(i);
        study.tell_result(at(x, y), "f", f(x, y)).unwrap();
        study.tell_result(at(x, y), "g", g(x, y)).unwrap();
    }
    tell(&mut study, beside(), "g", 1e6);
    tell(&mut study, [0.99, 0.99], "f", -1e6);
    for step in 0..4 {
        let asked = study.ask().unwrap();
        let [x, y] = ["x", "y"].map(|name| asked.design.real(name).unwrap());
        let value = if asked.measurement == "f" { f(x, y) } else { g(x, y) };
        study.tell(asked.evaluation, if step == 1 { 1e9 } else { value }).unwrap();
        let reopened = Study::open(journal.clone()).unwrap();
        assert_eq!(reopened.suggest().unwrap(), study.suggest().unwrap());
    }
}

/// The study of this journal, but for a first record that does not say anything about outliers.
fn of_an_earlier_program(journal: &MemoryJournal) -> Study {
    let mut earlier = MemoryJournal::default();
    let records = journal.read(0).unwrap().into_iter().map(|record| {
        let mut written = serde_json::to_value(&record).unwrap();
        if matches!(record.event, Event::Created { .. }) {
            assert!(written["config"].as_object_mut().unwrap().remove("outliers").is_some());
        }
        serde_json::from_value::<Record>(written).unwrap()
    });
    earlier.append(0, &records.collect::<Vec<_>>()).unwrap();
    Study::open(earlier).unwrap()
}

#[test]
fn a_study_begun_before_outliers_were_handled_goes_on_as_it_was() {
    let fill = |study: &mut Study<MemoryJournal>| {
        for i in 0..12 {
            let [x, y] = spread(i);
            study.tell_result(at(x, y), "f", f(x, y)).unwrap();
        }
        tell(study, beside(), "f", -1e6);
    };
    let problem = || -> Problem { plane().maximise("f", 1.0).build().unwrap() };
    let journal = MemoryJournal::default();
    let mut study = Study::create(problem(), no_initial_design(), 0, journal.clone()).unwrap();
    fill(&mut study);
    let earlier = of_an_earlier_program(&journal);
    assert_eq!(earlier.config().outliers, Outliers::Kept);
    let config = Config { outliers: Outliers::Kept, ..no_initial_design() };
    let mut kept = Study::create(problem(), config, 0, MemoryJournal::default()).unwrap();
    fill(&mut kept);
    assert_eq!(earlier.suggest().unwrap(), kept.suggest().unwrap());
    assert_ne!(earlier.suggest().unwrap(), study.suggest().unwrap());
    assert_eq!(Config::paper().outliers, Outliers::Kept);
}
