//! Data as they really come: whatever they are, a study suggests something sensible or says what
//! is wrong.
//!
//! Numbers are those of the list of nasty cases. Cases 54 and 55 concern other parts; 57 to 60 stand
//! in `invariances.rs`.
#![allow(clippy::unwrap_used, clippy::panic)]

mod studies;

use studies::*;
use unyoke::{
    Algorithm, Config, Design, Direction, Error, Event, Journal, KnownHyper, MemoryJournal,
    ModelNote, Note, Origin, Output, Preference, Problem, Record, Status, Study, Suggestion,
};

/// Whether a suggestion has this to say about the model of an output.
fn says(suggestion: &Suggestion, output: &str, wanted: impl Fn(&ModelNote) -> bool) -> bool {
    suggestion.notes.iter().any(|note| match note {
        Note::Model { output: name, note } => name == output && wanted(note),
        _ => false,
    })
}

/// A study of one objective on the plane with these values at the spread points.
fn with_values(values: impl IntoIterator<Item = f64>) -> Study {
    let mut study = modelled(plane().maximise("f", 1.0).build().unwrap());
    for (i, value) in values.into_iter().enumerate() {
        let [x, y] = spread(i);
        study.tell_result(at(x, y), "f", value).unwrap();
    }
    study
}

/// Values of the rough function at the spread points.
fn rough(count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(spread).map(|[x, y]| f(x, y))
}

/// Every forecast of the front is finite.
fn assert_finite_front(study: &Study) {
    let front = study.front(20).unwrap();
    assert!(!front.points.is_empty());
    for forecast in front.points.iter().flat_map(|point| &point.outputs) {
        assert!(forecast.mean.is_finite() && forecast.sd.is_finite(), "{forecast:?}");
    }
}

/// The places of the mistakes in a problem that must be refused.
fn mistakes(refused: Result<Problem, Error>) -> Vec<String> {
    match refused {
        Err(Error::Invalid { mistakes }) => mistakes.into_iter().map(|m| m.path).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn case_01_no_observations() {
    let study = Study::new(two_objectives()).unwrap();
    let suggestion = assert_suggestion(&study);
    assert_eq!((suggestion.origin, &suggestion.notes[..]), (Origin::Initial, &[][..]));
    assert_eq!(Study::new(two_objectives()).unwrap().suggest().unwrap(), suggestion);
    let other_seed = Study::with_config(two_objectives(), Config::default(), 1).unwrap();
    assert_ne!(assert_suggestion(&other_seed).design, suggestion.design);
    let no_initial = modelled(two_objectives());
    assert_eq!(assert_suggestion(&no_initial).origin, Origin::NoValues);
    assert_finite_front(&no_initial);
}

#[test]
fn case_02_one_observation() {
    let study = with_values([3.0]);
    assert_suggestion(&study);
    assert_finite_front(&study);
    let best = study.best_for(&[1.0]).unwrap();
    assert!(best.outputs[0].sd.is_finite());
}

#[test]
fn case_03_the_same_value_twice_at_one_design() {
    let mut study = modelled(plane().maximise("f", 1.0).build().unwrap());
    study.tell_result(at(0.3, 0.4), "f", 2.0).unwrap();
    study.tell_result(at(0.3, 0.4), "f", 2.0).unwrap();
    let suggestion = assert_suggestion(&study);
    assert!(!says(&suggestion, "f", |note| matches!(note, ModelNote::ReplicatesDisagree { .. })));
}

#[test]
fn case_04_two_values_at_one_design_declared_deterministic() {
    let mut study = modelled(plane().maximise("f", 1.0).build().unwrap());
    study.tell_result(at(0.9, 0.1), "f", 0.5).unwrap();
    study.tell_result(at(0.3, 0.4), "f", 0.0).unwrap();
    study.tell_result(at(0.1, 0.8), "f", 0.6).unwrap();
    study.tell_result(at(0.3, 0.4), "f", 1.0).unwrap();
    let suggestion = assert_suggestion(&study);
    let names_them =
        |note: &ModelNote| *note == ModelNote::ReplicatesDisagree { evaluations: vec![1, 3] };
    assert!(says(&suggestion, "f", names_them), "{:?}", suggestion.notes);
}

#[test]
fn case_05_thirty_of_fifty_observations_at_one_design() {
    let mut study = with_values(rough(20));
    for _ in 0..30 {
        study.tell_result(at(0.25, 0.25), "f", f(0.25, 0.25)).unwrap();
    }
    assert_suggestion(&study);
    assert_eq!(study.evaluations().len(), 50);
}

#[test]
fn case_06_a_pair_1e_8_apart_with_equal_values() {
    let mut study = with_values(rough(8));
    study.tell_result(at(0.5, 0.5), "f", 1.0).unwrap();
    study.tell_result(at(0.5 + 1e-8, 0.5), "f", 1.0).unwrap();
    assert_suggestion(&study);
}

#[test]
fn case_07_a_pair_1e_12_apart_with_different_values() {
    let mut study = with_values(rough(40));
    let before = study.best_for(&[1.0]).unwrap();
    study.tell_result(at(0.5, 0.5), "f", f(0.5, 0.5) - 0.5).unwrap();
    study.tell_result(at(0.5 + 1e-12, 0.5), "f", f(0.5, 0.5) + 0.5).unwrap();
    assert_suggestion(&study);
    // With collapsed length scales nothing would be known between the observations.
    let best = study.best_for(&[1.0]).unwrap();
    let forecast = &best.outputs[0];
    assert!(forecast.sd < 0.3, "{forecast:?}");
    assert!(distance(&best.design, &before.design) < 0.1, "{best:?}, {before:?}");
}

#[test]
fn case_08_a_pair_one_ulp_apart() {
    let mut study = with_values(rough(8));
    study.tell_result(at(0.5, 0.5), "f", 1.0).unwrap();
    study.tell_result(at(0.5f64.next_up(), 0.5), "f", 1.1).unwrap();
    assert_suggestion(&study);
}

#[test]
fn case_09_a_constant_objective() {
    let study = with_values([0.0; 12]);
    let suggestion = assert_suggestion(&study);
    assert!(says(&suggestion, "f", |note| *note == ModelNote::ConstantValues));
    let nearest = study.evaluations().iter().map(|e| distance(&e.design, &suggestion.design));
    assert!(nearest.fold(f64::INFINITY, f64::min) > 0.05, "not where little is known");
}

#[test]
fn case_10_a_constant_of_any_size() {
    let zero = assert_suggestion(&with_values([0.0; 12]));
    let large = assert_suggestion(&with_values([1e9; 12]));
    assert_eq!(zero.design, large.design);
}

#[test]
fn case_11_a_constant_but_for_rounding() {
    let constant = assert_suggestion(&with_values([1.0; 12]));
    let mut values = [1.0; 12];
    values[5] += 1e-14;
    let rounded = assert_suggestion(&with_values(values));
    assert!(distance(&constant.design, &rounded.design) < 1e-6);
    assert!(says(&rounded, "f", |note| *note == ModelNote::ConstantValues));
}

#[test]
fn case_12_small_differences_of_large_values() {
    let small = assert_suggestion(&with_values((0..15).map(|i| f64::from(i * 7 % 15))));
    let large = assert_suggestion(&with_values((0..15).map(|i| 1e12 + f64::from(i * 7 % 15))));
    assert!(distance(&small.design, &large.design) < 1e-6, "{small:?}\n{large:?}");
}

#[test]
fn case_13_values_of_1e_minus_300() {
    let study = with_values(rough(12).map(|value| value * 1e-300));
    let suggestion = assert_suggestion(&study);
    let plain = assert_suggestion(&with_values(rough(12)));
    assert!(distance(&suggestion.design, &plain.design) < 1e-6);
    assert_finite_front(&study);
}

#[test]
fn case_14_values_of_1e300() {
    let study = with_values(rough(12).map(|value| value * 1e300));
    let suggestion = assert_suggestion(&study);
    let plain = assert_suggestion(&with_values(rough(12)));
    assert!(distance(&suggestion.design, &plain.design) < 1e-6);
    assert_finite_front(&study);
    assert_finite_front(&with_values(rough(12).map(|value| value * 5e307)));
}

#[test]
fn case_15_denormals() {
    let study = with_values((0..12).map(|i| f64::from(i * 5 % 12) * 5e-324));
    assert_suggestion(&study);
    assert_finite_front(&study);
}

#[test]
fn case_16_both_zeros_are_equal() {
    let study = |zero: f64| {
        let mut study = with_values((0..9).map(|i| f64::from(i % 3)).chain([zero]));
        study.tell_result(at(zero, 0.5), "f", 1.0).unwrap();
        study.tell_result(at(0.0, 0.5), "f", 1.0).unwrap();
        study
    };
    let (positive, negative) = (study(0.0), study(-0.0));
    assert_eq!(assert_suggestion(&positive), assert_suggestion(&negative));
}

#[test]
fn case_17_one_value_of_1e30_among_small_ones() {
    let study = with_values(rough(20).chain([1e30]));
    let suggestion = assert_suggestion(&study);
    assert!(says(&suggestion, "f", |note| *note == ModelNote::Outlier));
    assert_finite_front(&study);
}

#[test]
fn case_18_values_over_twenty_orders_of_magnitude() {
    let study = with_values((0..21).map(|i| 10f64.powi(i * 8 % 21 - 10)));
    assert_suggestion(&study);
    assert_finite_front(&study);
}

#[test]
fn case_19_a_result_that_is_not_a_number() {
    let mut study = after(10);
    let asked = study.ask().unwrap();
    study.tell(asked.evaluation, f64::NAN).unwrap();
    let Status::Failed(reason) = &study.evaluations()[asked.evaluation as usize].status else {
        panic!("NaN was taken for a value")
    };
    assert!(reason.contains("NaN"), "{reason}");
    let next = assert_suggestion(&study);
    assert!(next.measurement != asked.measurement || distance(&next.design, &asked.design) > 1e-3);
    assert_finite_front(&study);
}

#[test]
fn case_20_an_infinite_result() {
    for infinity in [f64::INFINITY, f64::NEG_INFINITY] {
        let mut study = after(8);
        let refused = study.tell_result(at(0.5, 0.5), "f", infinity);
        assert!(matches!(refused, Err(Error::BadValue { .. })), "{refused:?}");
        let asked = study.ask().unwrap();
        study.tell(asked.evaluation, infinity).unwrap();
        let status = &study.evaluations()[asked.evaluation as usize].status;
        assert!(matches!(status, Status::Failed(_)), "{status:?}");
        assert_suggestion(&study);
    }
}

#[test]
fn case_21_all_evaluations_failed() {
    let mut study = Study::new(two_objectives()).unwrap();
    for _ in 0..60 {
        let asked = assert_suggestion(&study);
        assert_eq!(study.ask().unwrap(), asked);
        study.tell_failure(asked.evaluation, "crashed").unwrap();
    }
    assert_eq!(assert_suggestion(&study).origin, Origin::NoValues);
}

#[test]
fn case_22_nine_of_ten_evaluations_failed() {
    let mut study = Study::new(two_objectives()).unwrap();
    for i in 0..40 {
        assert_suggestion(&study);
        let asked = study.ask().unwrap();
        match i % 10 {
            9 => study.tell(asked.evaluation, f64::from(i)).unwrap(),
            _ => study.tell_failure(asked.evaluation, "crashed").unwrap(),
        }
    }
    assert_suggestion(&study);
}

#[test]
fn case_23_one_objective_never_observed() {
    let mut study = modelled(plane().maximise("f", 1.0).maximise("g", 1.0).build().unwrap());
    import(&mut study, "f", 50, f);
    let suggestion = assert_suggestion(&study);
    assert_eq!(suggestion.measurement, "g");
    assert!(says(&suggestion, "g", |note| *note == ModelNote::NoObservations));
    study.set_cost("g", 1e12).unwrap();
    assert_eq!(assert_suggestion(&study).measurement, "f");
    assert_finite_front(&study);
}

#[test]
fn case_24_one_objective_observed_once() {
    let mut study = modelled(two_objectives());
    import(&mut study, "f", 50, f);
    import(&mut study, "g", 1, g);
    assert_suggestion(&study);
    assert_finite_front(&study);
}

#[test]
fn case_25_objectives_observed_at_different_designs() {
    let mut study = modelled(two_objectives());
    for i in 0..30 {
        let [x, y] = spread(i);
        let (name, value) = if i % 2 == 0 { ("f", f(x, y)) } else { ("g", g(x, y)) };
        study.tell_result(at(x, y), name, value).unwrap();
    }
    assert_suggestion(&study);
    assert!(study.front(20).unwrap().points.iter().all(|point| !point.is_measured()));
    assert_finite_front(&study);
}

#[test]
fn case_26_two_equal_objectives() {
    let mut study = modelled(plane().maximise("f", 1.0).maximise("g", 1.0).build().unwrap());
    import(&mut study, "f", 20, f);
    import(&mut study, "g", 20, f);
    assert_suggestion(&study);
    let front = study.front(50).unwrap();
    // What is expected to be best, and what was measured and may be.
    let measured = front.points.iter().filter(|point| point.is_measured()).count();
    assert!(measured <= 1 && front.points.len() - measured == 1, "{front:?}");
}

#[test]
fn case_27_two_opposite_objectives() {
    let mut study = modelled(plane().maximise("f", 1.0).maximise("g", 1.0).build().unwrap());
    import(&mut study, "f", 40, f);
    import(&mut study, "g", 40, |x, y| -f(x, y));
    assert_suggestion(&study);
    assert_eq!(study.front(50).unwrap().points.len(), 50);
}

/// A study by hypervolume that counts from this point.
fn counting_from(algorithm: Algorithm, point: [f64; 2]) -> Result<Study, Error> {
    let reference = [("f".to_owned(), point[0]), ("g".to_owned(), point[1])].into();
    let config = Config { algorithm, reference: Some(reference), ..no_initial_design() };
    let mut study = Study::with_config(two_objectives(), config, 1)?;
    import(&mut study, "f", 12, f);
    import(&mut study, "g", 12, g);
    Ok(study)
}

const BY_HYPERVOLUME: [Algorithm; 3] = [Algorithm::HvkgD, Algorithm::HvkgC, Algorithm::Nehvi];

#[test]
fn case_28_a_reference_point_that_nothing_dominates() {
    for algorithm in BY_HYPERVOLUME {
        let beyond = |(_, objective): (usize, &Output)| match objective.direction() {
            Direction::Maximise => 1e6,
            Direction::Minimise => -1e6,
        };
        let point: Vec<f64> = two_objectives().objectives().map(beyond).collect();
        assert_suggestion(&counting_from(algorithm, [point[0], point[1]]).unwrap());
    }
}

#[test]
fn case_29_a_reference_point_on_or_inside_the_front() {
    for algorithm in BY_HYPERVOLUME {
        let front = counting_from(algorithm, [0.0, 0.0]).unwrap().front(5).unwrap();
        let on = &front.points[front.points.len() / 2].outputs;
        let suggestion =
            assert_suggestion(&counting_from(algorithm, [on[0].mean, on[1].mean]).unwrap());
        assert!(suggestion.options.iter().all(|row| row.gain().is_finite()));
    }
}

#[test]
fn case_30_a_reference_point_that_is_not_finite_is_refused() {
    for algorithm in BY_HYPERVOLUME {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refused = counting_from(algorithm, [0.0, bad]);
            assert!(matches!(refused, Err(Error::Invalid { .. })), "{algorithm:?} {bad}");
        }
    }
}

#[test]
fn case_31_integer_values_with_many_ties() {
    let mut study = modelled(two_objectives());
    import(&mut study, "f", 30, |x, _| (3.0 * x).floor());
    import(&mut study, "g", 30, |_, y| (2.0 * y).floor());
    assert_suggestion(&study);
    assert_finite_front(&study);
}

#[test]
fn case_32_eight_objectives() {
    let mut problem = plane();
    for m in 0..8 {
        problem = problem.maximise(format!("f{m}"), 1.0 + f64::from(m));
    }
    let mut study = modelled(problem.build().unwrap());
    for m in 0..8 {
        let shift = f64::from(m) / 8.0;
        import(&mut study, &format!("f{m}"), 25, |x, y| f(x + shift, y - shift));
    }
    assert_suggestion(&study);
    assert_finite_front(&study);
}

#[test]
fn case_33_two_thousand_designs_that_do_not_dominate_each_other() {
    let mut study = modelled(plane().maximise("f", 1.0).maximise("g", 1.0).build().unwrap());
    import(&mut study, "f", 2000, f);
    import(&mut study, "g", 2000, |x, y| -f(x, y));
    let suggestion = assert_suggestion(&study);
    let stated = |note: &ModelNote| matches!(note, ModelNote::Subset { of: 2000, .. });
    assert!(says(&suggestion, "f", stated) && says(&suggestion, "g", stated));
    assert!(study.front(2000).unwrap().points.len() > 100);
}

#[test]
fn case_34_a_constant_objective_leaves_the_trade_off_as_it_is() {
    let mut study = modelled(two_objectives());
    let problem = plane().maximise("f", 1.0).minimise("g", 10.0).maximise("h", 1.0);
    let mut more = modelled(problem.build().unwrap());
    for study in [&mut study, &mut more] {
        import(study, "f", 20, f);
        import(study, "g", 20, g);
    }
    import(&mut more, "h", 20, |_, _| 4.0);
    assert_suggestion(&more);
    for weight in [0.1, 0.5, 0.9] {
        let without = study.best_for(&[weight, 1.0 - weight]).unwrap();
        let with = more.best_for(&[weight, 1.0 - weight, 1.0]).unwrap();
        assert!(distance(&without.design, &with.design) < 1e-3, "{without:?}\n{with:?}");
    }
}

#[test]
fn case_35_objectives_of_very_different_scales() {
    let scaled = |small: f64, large: f64| {
        let mut study = modelled(two_objectives());
        import(&mut study, "f", 12, |x, y| small * f(x, y));
        import(&mut study, "g", 12, |x, y| large * g(x, y));
        assert_suggestion(&study)
    };
    let (wide, even) = (scaled(1e-9, 1e9), scaled(1.0, 1.0));
    assert_eq!(wide.measurement, even.measurement);
    assert!(distance(&wide.design, &even.design) < 1e-6, "{wide:?}\n{even:?}");
}

#[test]
fn case_36_a_parameter_over_24_orders_of_magnitude() {
    let problem = Problem::builder().continuous_log("x", 1e-12, 1e12).maximise("f", 1.0);
    let mut study = modelled(problem.build().unwrap());
    for i in 0..13 {
        let x = 10f64.powi(2 * i - 12);
        study.tell_result(Design::new().with("x", x), "f", f64::from(i)).unwrap();
    }
    assert_suggestion(&study);
    // The best design is the upper bound, to the last bit.
    assert_eq!(study.best_for(&[1.0]).unwrap().design.real("x"), Some(1e12));
}

#[test]
fn case_37_a_narrow_range_far_from_zero() {
    let (low, width) = (1e9, 1e-3);
    let narrow = |low: f64, width: f64| {
        let problem = Problem::builder().continuous("x", low, low + width).maximise("f", 1.0);
        let mut study = modelled(problem.build().unwrap());
        for i in 0..9 {
            let u = f64::from(i) / 8.0;
            let design = Design::new().with("x", low + u * width);
            study.tell_result(design, "f", (5.0 * u).sin()).unwrap();
        }
        study
    };
    let study = narrow(low, width);
    let suggestion = assert_suggestion(&study);
    assert!(suggestion.design.real("x").unwrap() > low);
    // Doubles near 1e9 are 1.2e-7 apart, a ten-thousandth of the range.
    let best = study.best_for(&[1.0]).unwrap().design.real("x").unwrap();
    let plain = narrow(0.0, 1.0).best_for(&[1.0]).unwrap().design.real("x").unwrap();
    assert!(((best - low) / width - plain).abs() < 1e-2, "{best} {plain}");
}

#[test]
fn case_38_a_parameter_with_equal_bounds_is_a_constant() {
    let problem = plane().continuous("z", 2.5, 2.5).integer("n", 4, 4).maximise("f", 1.0);
    let mut study = Study::new(problem.build().unwrap()).unwrap();
    for i in 0..12 {
        let asked = assert_suggestion(&study);
        assert_eq!(asked.design.real("z"), Some(2.5));
        assert_eq!(study.ask().unwrap(), asked);
        study.tell(asked.evaluation, f64::from(i)).unwrap();
    }
    let only = Problem::builder().continuous("z", 2.5, 2.5).maximise("f", 1.0).build().unwrap();
    let mut study = Study::new(only).unwrap();
    for _ in 0..6 {
        let asked = study.ask().unwrap();
        assert_eq!(asked.design.real("z"), Some(2.5));
        study.tell(asked.evaluation, 1.0).unwrap();
    }
    assert_finite_front(&study);
}

#[test]
fn case_39_impossible_bounds() {
    let with = |low: f64, high: f64| {
        mistakes(Problem::builder().continuous("x", low, high).maximise("f", 1.0).build())
    };
    assert_eq!(with(1.0, 0.0), ["parameters[0].low"]);
    assert_eq!(with(f64::NAN, 0.0), ["parameters[0].low"]);
    assert_eq!(with(0.0, f64::INFINITY), ["parameters[0].high"]);
    for low in [0.0, -1.0] {
        let log = Problem::builder().continuous_log("x", low, 1.0).maximise("f", 1.0).build();
        assert_eq!(mistakes(log), ["parameters[0].low"]);
    }
}

#[test]
fn case_40_integers_beyond_what_a_double_holds() {
    let with = |low, high| Problem::builder().integer("n", low, high).maximise("f", 1.0).build();
    assert!(mistakes(with(0, (1 << 53) + 2)).contains(&"parameters[0].high".to_owned()));
    let mut study = modelled(with(0, 1 << 52).unwrap());
    for i in 0..6i64 {
        let n = (i << 49) + i;
        study.tell_result(Design::new().with("n", n), "f", i as f64).unwrap();
        assert_suggestion(&study);
    }
}

#[test]
fn case_41_every_design_was_evaluated() {
    let problem = Problem::builder().integer("n", 1, 3).maximise("f", 1.0).build().unwrap();
    let mut study = modelled(problem);
    for n in 1..=3 {
        study.tell_result(Design::new().with("n", n), "f", f64::from(n)).unwrap();
    }
    let suggestion = assert_suggestion(&study);
    assert_eq!(suggestion.origin, Origin::Repeated);
}

#[test]
fn few_designs_are_asked_for_once_each_and_then_said_to_be_exhausted() {
    let few = || Problem::builder().integer("n", 1, 3).maximise("f", 1.0).minimise("g", 10.0);
    for fails in [false, true] {
        let mut study = Study::new(few().build().unwrap()).unwrap();
        for i in 0..6 {
            let asked = assert_suggestion(&study);
            assert_ne!(asked.origin, Origin::Repeated);
            study.ask().unwrap();
            match fails {
                false => study.tell(asked.evaluation, f64::from(i)).unwrap(),
                true => study.tell_failure(asked.evaluation, "crashed").unwrap(),
            }
        }
        assert_eq!(assert_suggestion(&study).origin, Origin::Repeated);
    }
}

#[test]
fn case_42_unusual_categories() {
    let with = |choices: Vec<String>| {
        let problem = Problem::builder().categorical("c", choices).continuous("x", 0.0, 1.0);
        problem.maximise("f", 1.0).build()
    };
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    assert_eq!(mistakes(with(owned(&["a", "a"]))), ["parameters[0].choices[1]"]);
    assert_eq!(mistakes(with(owned(&["a", ""]))), ["parameters[0].choices[1]"]);
    assert_eq!(mistakes(with(vec![])), ["parameters[0].choices"]);
    let many: Vec<String> = (0..10_000).map(|i| i.to_string()).collect();
    for choices in [owned(&["only"]), owned(&["🦀", "NaN", "é", "null"]), many] {
        let mut study = modelled(with(choices.clone()).unwrap());
        for i in 0..8 {
            let choice = choices[i * 997 % choices.len()].as_str();
            let design = Design::new().with("c", choice).with("x", i as f64 / 8.0);
            study.tell_result(design, "f", i as f64).unwrap();
        }
        assert_suggestion(&study);
        assert_finite_front(&study);
    }
}

#[test]
fn case_43_two_hundred_dimensions() {
    let names: Vec<String> = (0..200).map(|d| format!("x{d}")).collect();
    let start = Problem::builder().maximise("f", 1.0).minimise("g", 10.0);
    let problem = names.iter().fold(start, |b, name| b.continuous(name, 0.0, 1.0));
    let mut study = modelled(problem.build().unwrap());
    for i in 0..10 {
        let along = |d: usize| spread(i * 211 + d)[0];
        let pairs = names.iter().enumerate();
        let design = pairs.fold(Design::new(), |design, (d, name)| design.with(name, along(d)));
        study.tell_result(design.clone(), "f", along(0) + along(1)).unwrap();
        study.tell_result(design, "g", along(2) - along(3)).unwrap();
    }
    assert_suggestion(&study);
}

#[test]
fn case_44_irrelevant_inputs() {
    let problem = plane().continuous("z", 0.0, 1.0).maximise("f", 1.0).build().unwrap();
    let mut study = modelled(problem);
    for i in 0..25 {
        let ([x, y], z) = (spread(i), (0.618_033_988_749_894_9 * i as f64).fract());
        study.tell_result(at(x, y).with("z", z), "f", (6.0 * x).sin()).unwrap();
    }
    assert_suggestion(&study);
    let best = study.best_for(&[1.0]).unwrap();
    assert!((best.design.real("x").unwrap() - 0.262).abs() < 0.03, "{best:?}");
    assert!(best.outputs[0].sd.is_finite());
}

#[test]
fn case_45_inputs_that_always_move_together() {
    let problem = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 2.0);
    let mut study = modelled(problem.maximise("f", 1.0).minimise("g", 10.0).build().unwrap());
    for i in 0..20 {
        let [x, _] = spread(i);
        study.tell_result(at(x, 2.0 * x), "f", f(x, x)).unwrap();
        study.tell_result(at(x, 2.0 * x), "g", g(x, x)).unwrap();
    }
    assert_suggestion(&study);
    assert_finite_front(&study);
}

#[test]
fn case_46_a_hundred_points_of_a_known_model() {
    let range = 4.0 * std::f64::consts::PI;
    let truth = |i: i64| {
        let x = range * i as f64 / 99.0;
        (0.9 * x).sin() + 0.1 * x
    };
    let hyper =
        KnownHyper { lengthscales: vec![1.47 / range], outputscale: 3.19, noise: 0.0, mean: 0.0 };
    // The designs are the points themselves, so that the best one was measured.
    let problem = Problem::builder().integer("i", 0, 99);
    let problem = problem.measured(Output::maximise("f").with_hyper(hyper), 1.0);
    let mut study = modelled(problem.build().unwrap());
    for i in 0..100 {
        study.tell_result(Design::new().with("i", i), "f", truth(i)).unwrap();
    }
    assert_eq!(assert_suggestion(&study).origin, Origin::Repeated);
    let best = study.best_for(&[1.0]).unwrap();
    let [measured] = best.outputs[0].measured[..] else { panic!("{best:?}") };
    assert_eq!(measured, (0..100).map(truth).fold(f64::MIN, f64::max));
    let residual = best.outputs[0].mean - measured;
    assert!(residual.abs() <= 1e-6, "{residual:e}");
}

#[test]
fn case_47_five_thousand_points() {
    let mut study = modelled(plane().maximise("f", 1.0).build().unwrap());
    import(&mut study, "f", 5000, f);
    let suggestion = assert_suggestion(&study);
    let stated = |note: &ModelNote| matches!(note, ModelNote::Subset { of: 5000, .. });
    assert!(says(&suggestion, "f", stated), "{:?}", suggestion.notes);
}

#[test]
fn case_48_the_last_fifty_points_next_to_each_other() {
    let mut study = after(20);
    for i in 0..50 {
        let [u, v] = spread(i);
        let (x, y) = (0.6 + 1e-6 * u, 0.3 + 1e-6 * v);
        study.tell_result(at(x, y), "f", f(x, y)).unwrap();
        study.tell_result(at(x, y), "g", g(x, y)).unwrap();
    }
    let suggestion = assert_suggestion(&study);
    assert!(distance(&suggestion.design, &at(0.6, 0.3)) > 1e-3, "{}", suggestion.design);
}

#[test]
fn case_49_gains_below_the_smallest_double() {
    let hyper = KnownHyper { lengthscales: vec![0.2], outputscale: 1.0, noise: 1e-6, mean: 0.0 };
    let output = Output::maximise("f").known_noise(1e-3).with_hyper(hyper);
    let problem = Problem::builder().integer("n", 0, 3).measured(output, 1.0).build().unwrap();
    let mut study = modelled(problem);
    for n in 0..=3 {
        study.tell_result(Design::new().with("n", n), "f", f64::from(n)).unwrap();
    }
    let suggestion = assert_suggestion(&study);
    let row = &suggestion.options[suggestion.chosen.unwrap()];
    assert_eq!(row.gain(), 0.0);
    assert!(row.log_gain < -1e4 && row.log_gain.is_finite(), "{}", row.log_gain);
}

#[test]
fn case_50_known_noise_of_any_size() {
    let with = |sd: f64| plane().measured(Output::maximise("f").known_noise(sd), 1.0).build();
    for sd in [f64::NAN, -1.0] {
        assert_eq!(mistakes(with(sd)), ["outputs[0].noise.known.sd"]);
    }
    for sd in [0.0, 1e-300, 1e6] {
        let mut study = modelled(with(sd).unwrap());
        import(&mut study, "f", 12, f);
        assert_suggestion(&study);
        assert_finite_front(&study);
    }
}

/// A study of two objectives after these evaluations were asked for, and `told` of each
/// objective's values were imported.
fn with_pending(asked: &[Design], told: usize) -> Study {
    let created =
        Event::Created { problem: two_objectives(), config: no_initial_design(), seed: 0 };
    let ask = |(i, design): (usize, &Design)| Event::Asked {
        evaluation: i as u64,
        design: design.clone(),
        measurement: ["f", "g"][i % 2].to_owned(),
        cost: 1.0,
        initial: false,
    };
    let events = std::iter::once(created).chain(asked.iter().enumerate().map(ask));
    let records: Vec<Record> = events.map(Record::from).collect();
    let mut journal = MemoryJournal::default();
    journal.append(0, &records).unwrap();
    let mut study = Study::open(journal).unwrap();
    import(&mut study, "f", told, f);
    import(&mut study, "g", told, g);
    study
}

#[test]
fn case_51_five_hundred_pending_and_three_observed() {
    let designs: Vec<Design> = (100..600).map(spread).map(|[x, y]| at(x, y)).collect();
    let study = with_pending(&designs, 3);
    assert_suggestion(&study);
    assert_finite_front(&study);
}

#[test]
fn case_52_an_evaluation_under_way_where_there_is_a_value() {
    let [x, y] = spread(0);
    let study = with_pending(&[at(x, y), at(x, y), at(x, y)], 6);
    assert_suggestion(&study);
}

#[test]
fn case_53_values_outside_the_bounds() {
    let problem = Problem::builder().continuous("x", 0.4, 0.6).continuous("y", 0.4, 0.6);
    let mut study = modelled(problem.maximise("f", 1.0).minimise("g", 10.0).build().unwrap());
    import(&mut study, "f", 30, f);
    import(&mut study, "g", 30, g);
    assert_suggestion(&study);
    for point in study.front(10).unwrap().points {
        for name in ["x", "y"] {
            assert!((0.4..=0.6).contains(&point.design.real(name).unwrap()));
        }
    }
    // The model knows what lies outside.
    let best = study.best_for(&[1.0, 0.0]).unwrap();
    assert!(best.outputs[0].sd < 0.5, "{best:?}");
}

#[test]
fn case_56_shuffled_rows() {
    let import = |order: &dyn Fn(usize) -> usize| {
        let mut study = modelled(two_objectives());
        for [x, y] in (0..31).map(order).map(spread) {
            study.tell_result(at(x, y), "f", f(x, y)).unwrap();
            study.tell_result(at(x, y), "g", g(x, y)).unwrap();
        }
        study.best_for(&[0.5, 0.5]).unwrap()
    };
    let (plain, shuffled) = (import(&|i| i), import(&|i| (i * 12 + 5) % 31));
    assert_eq!(plain, shuffled);
}

#[test]
fn costs_from_1e_minus_12_to_1e12() {
    let problem = plane().maximise("f", 1e-12).minimise("g", 1e12).build().unwrap();
    let mut study = modelled(problem);
    import(&mut study, "f", 10, f);
    import(&mut study, "g", 10, g);
    let suggestion = assert_suggestion(&study);
    assert_eq!((suggestion.measurement.as_str(), suggestion.cost), ("f", 1e-12));
}

#[test]
fn costs_that_are_not_positive_are_refused() {
    let mut study = after(3);
    for cost in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(mistakes(plane().maximise("f", cost).build()), ["measurements[0].cost"]);
        assert!(matches!(study.set_cost("f", cost), Err(Error::BadCost { .. })));
    }
    assert!(matches!(study.set_cost("h", 1.0), Err(Error::UnknownMeasurement { .. })));
}

#[test]
fn names_used_twice_are_refused() {
    let twice = plane().continuous("x", 0.0, 1.0).maximise("f", 1.0).minimise("f", 1.0).build();
    assert_eq!(mistakes(twice), ["parameters[2].name", "outputs[1].name", "measurements[1].name"]);
}

#[test]
fn telling_what_nobody_asked_or_what_was_told_is_refused() {
    let mut study = after(3);
    let asked = study.ask().unwrap().evaluation;
    assert_eq!(study.tell(999, 1.0), Err(Error::UnknownEvaluation { id: 999 }));
    assert_eq!(study.tell_failure(999, "lost"), Err(Error::UnknownEvaluation { id: 999 }));
    study.tell(asked, 1.0).unwrap();
    let told = Err(Error::AlreadySettled { id: asked, how: "completed" });
    assert_eq!(study.tell(asked, 1.0), told);
    assert_eq!(study.tell(asked, f64::NAN), told);
    assert_eq!(study.withdraw(asked), told);
}

#[test]
fn weights_that_weigh_nothing_are_refused() {
    let study = after(3);
    for weights in [&[0.0, 0.0][..], &[1.0], &[-1.0, 2.0], &[f64::NAN, 1.0]] {
        assert!(matches!(study.best_for(weights), Err(Error::BadWeights { .. })), "{weights:?}");
        let preference = Preference::Weights(vec![weights.to_vec()]);
        let config = Config { preference, ..Config::default() };
        let refused = Study::with_config(two_objectives(), config, 0);
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{weights:?}");
    }
}

#[test]
fn designs_that_do_not_fit_the_problem_are_refused() {
    let mut study = after(3);
    let mut tell = |design: Design| study.tell_result(design, "f", 1.0).unwrap_err();
    let unknown = tell(Design::new().with("x", 0.5).with("Y", 0.5));
    assert!(matches!(unknown, Error::UnknownParameter { .. }), "{unknown}");
    let missing = tell(Design::new().with("x", 0.5));
    assert!(matches!(missing, Error::MissingParameter { .. }), "{missing}");
    for bad in [at(f64::NAN, 0.5), at(0.5, f64::INFINITY), at(0.5, 0.5).with("y", "up")] {
        let refused = tell(bad);
        assert!(matches!(refused, Error::BadValue { .. }), "{refused}");
    }
}

#[test]
fn a_failure_is_not_overwritten_by_a_value_unless_somebody_says_so() {
    let mut study = after(3);
    let asked = study.ask().unwrap().evaluation;
    let mut elsewhere = study.clone();
    study.tell_failure(asked, "the specimen broke").unwrap();
    // Whoever measured it does not know yet, and must not find out by destroying it.
    let failed = Err(Error::AlreadySettled { id: asked, how: "failed" });
    assert_eq!(elsewhere.tell(asked, 1.0), failed);
    assert_eq!(study.tell(asked, 1.0), failed);
    let status = |study: &Study| study.evaluations()[asked as usize].status.clone();
    assert_eq!(status(&elsewhere), Status::Failed("the specimen broke".into()));
    study.replace_failure(asked, 1.0).unwrap();
    assert_eq!(study.evaluations()[asked as usize].reading(0), Some(1.0.into()));
    assert!(study.replace_failure(asked, 2.0).is_err(), "only failures are replaced");
}

#[test]
fn results_that_two_programs_record_at_once_are_recorded_once() {
    let mut first = modelled(two_objectives());
    let mut second = first.clone();
    let result = |x: f64, value: f64| (at(x, 0.5), "f".to_owned(), value.into());
    let results = [result(0.1, 1.0), result(0.2, 2.0), result(0.2, 2.0)];
    assert_eq!(first.tell_missing_results(&results).unwrap(), [0, 1, 2]);
    // This one has not seen what the other wrote: it learns of it when it is about to write.
    let more = [result(0.2, 2.0), result(0.3, 3.0), result(0.1, 1.0), result(0.1, -1.0)];
    assert_eq!(second.tell_missing_results(&more).unwrap(), [1, 3]);
    assert_eq!(second.evaluations().len(), 5);
    first.refresh().unwrap();
    assert_eq!(first.tell_missing_results(&more).unwrap(), [] as [usize; 0]);
    let twice_zero = [result(0.4, 0.0), result(0.4, -0.0)];
    assert_eq!(first.tell_missing_results(&twice_zero[..1]).unwrap(), [0]);
    assert_eq!(first.tell_missing_results(&twice_zero[1..]).unwrap(), [] as [usize; 0]);
}
