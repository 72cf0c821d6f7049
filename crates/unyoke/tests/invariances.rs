//! What must not change a suggestion: units, signs, orders, threads, and where it is computed.
//!
//! Cases 57 to 60 of the nasty ones are here.
#![allow(clippy::unwrap_used, clippy::panic)]

mod studies;

use studies::*;
use unyoke::{
    Algorithm, Config, Design, Initial, Journal, MemoryJournal, Origin, Problem, Record, Status,
    Study, Suggestion,
};

/// How much designs may differ, in units of each parameter's range.
const CLOSE: f64 = 1e-6;

/// Asks and tells `steps` times; values are those of f and g.
fn run(study: &mut Study, steps: usize) -> Vec<Suggestion> {
    let step = |_| {
        let asked = study.ask().unwrap();
        study.tell(asked.evaluation, value(&asked.measurement, &asked.design)).unwrap();
        asked
    };
    (0..steps).map(step).collect()
}

fn value(objective: &str, design: &Design) -> f64 {
    let (x, y) = (design.real("x").unwrap(), design.real("y").unwrap());
    if objective == "f" { f(x, y) } else { g(x, y) }
}

/// The records of a study's journal, read from a study that shares it.
fn records(journal: &MemoryJournal) -> Vec<Record> {
    journal.read(0).unwrap()
}

fn reopened(records: &[Record]) -> Study {
    let mut journal = MemoryJournal::default();
    journal.append(0, records).unwrap();
    Study::open(journal).unwrap()
}

fn assert_close(problem: &Problem, a: &Suggestion, b: &Suggestion) {
    assert_eq!(a.measurement, b.measurement);
    let apart = furthest(problem, &a.design, &b.design);
    assert!(apart < CLOSE, "{apart:e} apart: {} and {}", a.design, b.design);
}

#[test]
fn maximising_is_minimising_the_negative() {
    let negative = plane().minimise("f", 1.0).maximise("g", 10.0).build().unwrap();
    let mut negative = modelled(negative);
    import(&mut negative, "f", 10, |x, y| -f(x, y));
    import(&mut negative, "g", 10, |x, y| -g(x, y));
    let (mut plain, mut turned) = (after(10), negative);
    for _ in 0..6 {
        let (a, b) = (plain.ask().unwrap(), turned.ask().unwrap());
        assert_eq!(a, b);
        let value = value(&a.measurement, &a.design);
        plain.tell(a.evaluation, value).unwrap();
        turned.tell(b.evaluation, -value).unwrap();
    }
    let (a, b) = (plain.front(20).unwrap(), turned.front(20).unwrap());
    for (a, b) in a.points.iter().zip(&b.points) {
        assert_eq!(a.design, b.design);
        for (a, b) in a.outputs.iter().zip(&b.outputs) {
            assert_eq!((a.mean, a.sd), (-b.mean, b.sd));
        }
    }
}

/// The study of two objectives with the values of f replaced by a f + b.
fn with_affine_values(count: usize, a: f64, b: f64) -> Study {
    let mut study = modelled(two_objectives());
    import(&mut study, "f", count, |x, y| a * f(x, y) + b);
    import(&mut study, "g", count, g);
    study
}

#[test]
fn units_of_an_objective_do_not_matter() {
    for count in [7, 15, 30] {
        let plain = assert_suggestion(&with_affine_values(count, 1.0, 0.0));
        for a in [1e-12, 1e-3, 7.0, 1e12] {
            // A shift much larger than the differences would lose them before we see them.
            for b in [0.0, 3.0 * a, -170.0 * a] {
                let scaled = assert_suggestion(&with_affine_values(count, a, b));
                assert_close(&two_objectives(), &plain, &scaled);
            }
        }
    }
}

#[test]
fn units_of_a_parameter_do_not_matter() {
    let suggestion = |count: usize, scale: f64, shift: f64| {
        let problem = Problem::builder()
            .continuous("x", shift, shift + scale)
            .continuous("y", 0.0, 1.0)
            .maximise("f", 1.0)
            .minimise("g", 10.0);
        let problem = problem.build().unwrap();
        let mut study = modelled(problem);
        for [x, y] in (0..count).map(spread) {
            let design = at(shift + scale * x, y);
            study.tell_result(design.clone(), "f", f(x, y)).unwrap();
            study.tell_result(design, "g", g(x, y)).unwrap();
        }
        let Suggestion { design, measurement, .. } = assert_suggestion(&study);
        let x = (design.real("x").unwrap() - shift) / scale;
        (measurement, [x, design.real("y").unwrap()])
    };
    for count in [7, 15, 30] {
        let (objective, plain) = suggestion(count, 1.0, 0.0);
        for (scale, shift) in [(1e-9, 0.0), (25.4, 0.0), (1e12, 0.0), (0.3, 20.0), (7.0, -100.0)] {
            let (again, scaled) = suggestion(count, scale, shift);
            assert_eq!(objective, again);
            let apart = plain.iter().zip(&scaled).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(apart < CLOSE, "{apart:e} apart at scale {scale}, shift {shift}");
        }
    }
}

#[test]
fn choices_that_were_never_tried_do_not_change_what_is_expected_of_the_others() {
    let forecasts = |choices: usize| {
        let names: Vec<String> = (0..choices).map(|k| format!("c{k}")).collect();
        let problem = plane().categorical("kind", names.iter().map(String::as_str));
        let mut study = modelled(problem.maximise("f", 1.0).build().unwrap());
        let design = |x: f64, y: f64| at(x, y).with("kind", "c0");
        for [x, y] in (0..6).map(spread) {
            study.tell_result(design(x, y), "f", f(x, y)).unwrap();
        }
        let forecast = |[x, y]: [f64; 2]| study.forecast(&design(x, y)).unwrap();
        let forecasts = (6..20).map(spread).map(|at| forecast(at).outputs[0].clone());
        forecasts.map(|forecast| (forecast.mean, forecast.sd)).collect::<Vec<_>>()
    };
    let few = forecasts(2);
    for (few, many) in few.iter().zip(forecasts(32)) {
        assert!((few.0 - many.0).abs() < 1e-3 && (few.1 - many.1).abs() < 1e-3, "{few:?} {many:?}");
    }
}

#[test]
fn the_order_of_objectives_does_not_matter() {
    let other = || plane().minimise("g", 10.0).maximise("f", 1.0).build().unwrap();
    for count in [7, 15, 30] {
        let mut study = modelled(other());
        import(&mut study, "f", count, f);
        import(&mut study, "g", count, g);
        let plain = assert_suggestion(&after(count));
        let swapped = assert_suggestion(&study);
        assert_eq!(plain.measurement, swapped.measurement);
        assert_eq!(plain.design, swapped.design);
    }
}

#[test]
fn the_order_of_three_objectives_does_not_matter() {
    let h = |x: f64, y: f64| (5.0 * x * y).cos();
    let suggestion = |names: [&str; 3]| {
        let cost = |name| if name == "f" { 1.0 } else { 2.0 };
        let problem = names.iter().fold(plane(), |b, name| b.maximise(*name, cost(*name)));
        let mut study = modelled(problem.build().unwrap());
        import(&mut study, "f", 12, f);
        import(&mut study, "g", 12, g);
        import(&mut study, "h", 12, h);
        assert_suggestion(&study)
    };
    let plain = suggestion(["f", "g", "h"]);
    for names in [["h", "g", "f"], ["g", "h", "f"], ["f", "h", "g"]] {
        assert_close(&two_objectives(), &plain, &suggestion(names));
    }
}

#[test]
fn an_objective_that_became_too_expensive_is_not_chosen_when_costlier_still() {
    for count in [6, 14, 30] {
        let mut study = after(count);
        let mut dropped = false;
        for i in 0..12 {
            let cost = 10f64.powf(-3.0 + 8.0 * f64::from(i) / 11.0);
            study.set_cost("f", cost).unwrap();
            let chosen = assert_suggestion(&study).measurement;
            assert!(!(dropped && chosen == "f"), "chosen again at cost {cost}");
            dropped |= chosen != "f";
        }
        assert!(dropped, "never too expensive after {count} values");
    }
}

#[test]
fn the_unit_of_cost_does_not_matter() {
    let mut study = after(12);
    let plain = assert_suggestion(&study);
    study.set_cost("f", 2.0).unwrap();
    study.set_cost("g", 20.0).unwrap();
    let doubled = assert_suggestion(&study);
    assert_eq!((&plain.design, &plain.measurement), (&doubled.design, &doubled.measurement));
    for (a, b) in plain.options.iter().zip(&doubled.options) {
        assert_eq!((&a.design, a.log_gain), (&b.design, b.log_gain));
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let problem = || plane().integer("n", 1, 5).maximise("f", 1.0).minimise("g", 10.0);
    for algorithm in [Algorithm::CMokg, Algorithm::Makg] {
        let suggest = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let config = Config { algorithm, ..no_initial_design() };
                let mut mixed =
                    Study::with_config(problem().build().unwrap(), config.clone(), 5).unwrap();
                let mut flat = Study::with_config(two_objectives(), config, 5).unwrap();
                for (i, [x, y]) in (0..12).map(spread).enumerate() {
                    let n = 1 + (i % 5) as i32;
                    for (name, value) in [("f", f(x, y)), ("g", g(x, y))] {
                        flat.tell_result(at(x, y), name, value).unwrap();
                        mixed.tell_result(at(x, y).with("n", n), name, value).unwrap();
                    }
                }
                let front = flat.front(10).unwrap();
                (assert_suggestion(&mixed), assert_suggestion(&flat), front)
            })
        };
        assert_eq!(suggest(1), suggest(2));
    }
}

#[test]
fn a_study_opened_anywhere_goes_on_as_it_would_have() {
    let journal = MemoryJournal::default();
    let mut study = Study::create(two_objectives(), Config::default(), 3, journal.clone()).unwrap();
    for step in 0..25 {
        let asked = study.ask().unwrap();
        // Every sixth fails, every seventh stays under way, every eighth is withdrawn.
        match step {
            5 | 11 | 17 => study.tell_failure(asked.evaluation, "crashed").unwrap(),
            6 | 13 | 20 => {}
            7 | 15 | 23 => study.withdraw(asked.evaluation).unwrap(),
            _ => study.tell(asked.evaluation, value(&asked.measurement, &asked.design)).unwrap(),
        }
        let next = assert_suggestion(&study);
        assert_eq!(Study::open(journal.clone()).unwrap().suggest().unwrap(), next);
        let text: Vec<String> =
            records(&journal).iter().map(|r| serde_json::to_string(r).unwrap()).collect();
        let read: Vec<Record> = text.iter().map(|t| serde_json::from_str(t).unwrap()).collect();
        assert_eq!(reopened(&read).suggest().unwrap(), next);
    }
}

#[test]
fn the_order_of_imported_rows_does_not_matter() {
    let deep = || plane().continuous("z", 0.0, 1.0).maximise("f", 1.0).minimise("g", 10.0);
    // With three inputs the compared designs follow the observed ones, of which these are more
    // than are taken.
    for (problem, count) in [(two_objectives(), 31), (deep().build().unwrap(), 61)] {
        let import = |order: &dyn Fn(usize) -> usize| {
            let mut study = modelled(problem.clone());
            for i in (0..count).map(order) {
                let [x, y] = spread(i);
                let mut design = at(x, y);
                if problem.parameters.len() == 3 {
                    design = design.with("z", (0.618_033_988_749_894_9 * i as f64).fract());
                }
                study.tell_result(design.clone(), "f", f(x, y)).unwrap();
                study.tell_result(design, "g", g(x, y)).unwrap();
            }
            assert_suggestion(&study)
        };
        let plain = import(&|i| i);
        assert_close(&problem, &plain, &import(&|i| (i * 12 + 5) % count));
        assert_close(&problem, &plain, &import(&|i| count - 1 - i));
    }
}

#[test]
fn workers_that_ask_together_get_different_designs() {
    let mut study = after(8);
    let asked = study.ask_many(8).unwrap();
    for (i, a) in asked.iter().enumerate() {
        for b in &asked[..i] {
            assert!(distance(&a.design, &b.design) > 1e-3, "{} and {}", a.design, b.design);
        }
    }
}

#[test]
fn what_is_withdrawn_may_be_asked_again() {
    let mut study = after(8);
    let asked = study.ask().unwrap();
    study.withdraw(asked.evaluation).unwrap();
    assert_eq!(study.spent(), 0.0);
    assert_eq!(study.evaluations()[asked.evaluation as usize].status, Status::Withdrawn);
    let again = assert_suggestion(&study);
    assert_eq!(again.evaluation, asked.evaluation + 1);
}

#[test]
fn a_late_result_counts_like_one_in_time() {
    let mut late = after(8);
    let first = late.ask().unwrap();
    late.withdraw(first.evaluation).unwrap();
    let second = late.ask().unwrap();
    for asked in [&second, &first] {
        late.tell(asked.evaluation, value(&asked.measurement, &asked.design)).unwrap();
    }
    assert_suggestion(&late);
    let completed = late.evaluations().iter().filter(|e| matches!(e.status, Status::Completed(_)));
    assert_eq!(completed.count(), late.evaluations().len());
    assert_eq!(late.spent(), first.cost + second.cost);
}

#[test]
fn results_told_in_another_order_give_the_same_suggestion() {
    let told = |reverse: bool| {
        let mut study = after(8);
        let mut asked = study.ask_many(3).unwrap();
        if reverse {
            asked.reverse();
        }
        for asked in asked {
            study.tell(asked.evaluation, value(&asked.measurement, &asked.design)).unwrap();
        }
        assert_suggestion(&study)
    };
    assert_eq!(told(false), told(true));
}

#[test]
fn imported_data_may_be_ragged() {
    let mut study = Study::new(two_objectives()).unwrap();
    import(&mut study, "f", 17, f);
    import(&mut study, "g", 2, g);
    // The objective with enough values needs no initial design, the other still does.
    for suggestion in run(&mut study, 4) {
        assert_eq!(suggestion.origin, Origin::Initial);
        assert_eq!(suggestion.measurement, "g");
    }
    assert_ne!(assert_suggestion(&study).origin, Origin::Initial);
}

#[test]
fn the_initial_design_is_the_same_for_all_objectives() {
    let initial = Initial { designs: Some(5), ..Initial::default() };
    let config = Config { initial, ..Config::default() };
    let mut study = Study::with_config(two_objectives(), config, 9).unwrap();
    let asked = run(&mut study, 10);
    for pair in asked.chunks(2) {
        assert_eq!(pair[0].design, pair[1].design);
        assert_ne!(pair[0].measurement, pair[1].measurement);
    }
}
