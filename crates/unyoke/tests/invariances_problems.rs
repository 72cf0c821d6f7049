//! What must not change a suggestion for problems with constraints, formulas, failures, several
//! outputs of one run, standard errors and costs of all kinds: units, signs, orders, threads, and
//! where it is computed.
#![allow(clippy::unwrap_used, clippy::panic)]

mod studies;

use std::collections::BTreeMap;
use studies::*;
use unyoke::{
    Config, Cost, Design, Direction, Discretisation, Event, FrontSearch, Initial, Journal,
    Measurement, MemoryJournal, Outcome, Output, Parameter, Problem, Reading, Record, Role, Search,
    Study, Suggestion,
};

/// How much designs may differ, in units of each parameter's range.
const CLOSE: f64 = 1e-6;

/// Less effort than usual.
fn quick() -> Config {
    Config {
        initial: Initial { designs: Some(0), ..Initial::default() },
        weights: 4,
        search: Search { raw: 48, restarts: 4, iterations: 25 },
        discretisation: Discretisation::Adaptive { points: 40 },
        front: FrontSearch { population: 40, generations: 30 },
        ..Config::default()
    }
}

/// Everything at once: objectives on both scales, constraints on both scales, both as formulas, runs
/// of several outputs, and costs of all kinds.
fn everything() -> Problem {
    plane()
        .output(Output::maximise("f"))
        .output(Output::minimise("time").log_scale())
        .output(Output::minimise("mass").with_formula("x + 2 * y"))
        .output(Output::at_most("stress", 1.3).noisy())
        .output(Output::at_least("life", 5.0).log_scale())
        .output(Output::at_most("load", 1.7).with_formula("x + y"))
        .measurement(Measurement::new("run", ["f", "stress"], 2.0))
        .measurement(Measurement::new("bench", ["time"], Cost::formula("1 + x")))
        .measurement(Measurement::new("wear", ["life", "stress"], Cost::reported(3.0)))
        .build()
        .unwrap()
}

/// What each measurement of [`everything`] gives.
const MEASUREMENTS: [(&str, &[&str]); 3] =
    [("run", &["f", "stress"]), ("bench", &["time"]), ("wear", &["life", "stress"])];

/// The true value of an output of [`everything`] in its first units.
fn truth(output: &str, x: f64, y: f64) -> f64 {
    match output {
        "f" => f(x, y),
        "time" => (3.0 * g(x, y)).exp(),
        "stress" => x + y * y + 0.05 * (40.0 * x).sin(),
        "life" => (4.0 - 3.0 * x + y).exp(),
        other => panic!("{other} is not measured"),
    }
}

/// The number of a new unit in an old one for some outputs.
type Factors<'a> = &'a [(&'a str, f64)];

/// What a run gives at a spread point: some fail, some give a part, some values have standard errors.
fn outcome(i: usize, outputs: &[&str], factors: Factors<'_>) -> BTreeMap<String, Reading> {
    let [x, y] = spread(i);
    let given = if i % 5 == 4 { 1 } else { outputs.len() };
    let reading = |name: &&str| {
        let factor = factors.iter().find(|(n, _)| n == name).map_or(1.0, |(_, factor)| *factor);
        let value = factor * truth(name, x, y);
        let sd = (i.is_multiple_of(3) && *name != "life").then_some(0.02 * value.abs());
        ((*name).to_owned(), Reading { value, sd })
    };
    outputs[..given].iter().map(reading).collect()
}

/// What happened at the first `count` spread points: all measurements at each, some of them failed.
fn events(count: usize, factors: Factors<'_>) -> Vec<Event> {
    let mut events = vec![];
    for (i, (measurement, outputs)) in
        (0..count).flat_map(|i| MEASUREMENTS.iter().map(move |m| (i, *m)))
    {
        let ([x, y], evaluation) = (spread(i), (events.len() / 2) as u64);
        let (design, measurement) = (at(x, y), measurement.to_owned());
        let paid = (measurement == "wear").then_some(1.0 + 4.0 * y);
        events.push(Event::Asked { evaluation, design, measurement, cost: 2.0, initial: false });
        events.push(if i % 7 == 3 || (outputs.len() == 1 && i % 4 == 1) {
            Event::Failed { evaluation, reason: "crashed".into(), cost: paid }
        } else {
            let values = outcome(i, outputs, factors);
            let missing = (values.len() < outputs.len()).then(|| "only a part".to_owned());
            Event::Measured { evaluation, values, missing, cost: paid, design: None }
        });
    }
    events
}

/// A study of a problem to which these events happened.
fn after(problem: &Problem, events: &[Event]) -> Study {
    let created = Event::Created { problem: problem.clone(), config: quick(), seed: 3 };
    let all = std::iter::once(&created).chain(events).cloned();
    let records: Vec<Record> = all.map(Record::from).collect();
    let mut journal = MemoryJournal::default();
    journal.append(0, &records).unwrap();
    Study::open(journal).unwrap()
}

/// The problem with some outputs in other units; a negative factor turns what is wanted of them.
fn in_units(factors: Factors<'_>) -> Problem {
    let mut problem = everything();
    for (name, factor) in factors {
        let k = problem.output_index(name).unwrap();
        let output = &mut problem.outputs[k];
        output.role = match (output.role, *factor < 0.0) {
            (Role::AtMost(limit), false) | (Role::AtLeast(limit), true) => {
                Role::AtMost(factor * limit)
            }
            (Role::AtLeast(limit), false) | (Role::AtMost(limit), true) => {
                Role::AtLeast(factor * limit)
            }
            (Role::Objective(direction), turned) => Role::Objective(match direction {
                direction if !turned => direction,
                Direction::Maximise => Direction::Minimise,
                Direction::Minimise => Direction::Maximise,
            }),
        };
        if let Some(formula) = &mut output.formula {
            *formula = format!("{factor:e} * ({formula})");
        }
    }
    problem.check().unwrap();
    problem
}

/// What is suggested in these units after so many designs.
fn suggested(count: usize, factors: Factors<'_>) -> Suggestion {
    assert_suggestion(&after(&in_units(factors), &events(count, factors)))
}

fn assert_close(a: &Suggestion, b: &Suggestion, what: &str) {
    assert_eq!(a.measurement, b.measurement, "{what}: {a:?}\n{b:?}");
    let apart = furthest(&everything(), &a.design, &b.design);
    assert!(apart < CLOSE, "{what}: {apart:e} apart: {} and {}", a.design, b.design);
}

/// The same measurement at the same design for the same reasons, to the last bit.
fn assert_same(a: &Suggestion, b: &Suggestion, what: &str) {
    assert_eq!((&a.measurement, &a.design), (&b.measurement, &b.design), "{what}");
    let gains = |s: &Suggestion| {
        let rows = s.options.iter().map(|row| (row.measurements.clone(), row.log_gain.to_bits()));
        rows.collect::<BTreeMap<_, _>>()
    };
    assert_eq!(gains(a), gains(b), "{what}");
}

#[test]
fn units_of_outputs_do_not_matter() {
    for count in [6, 14] {
        let plain = suggested(count, &[]);
        for name in ["f", "time", "mass", "stress", "life", "load"] {
            for factor in [1e-9, 25.4, 1e9] {
                let scaled = suggested(count, &[(name, factor)]);
                assert_close(&plain, &scaled, &format!("{count}, {factor} {name}"));
            }
        }
    }
}

#[test]
fn the_negative_of_an_output_with_what_is_wanted_turned_is_the_same() {
    for count in [6, 14] {
        let plain = suggested(count, &[]);
        for name in ["f", "mass", "stress", "load"] {
            assert_same(&plain, &suggested(count, &[(name, -1.0)]), name);
        }
        let all = ["f", "mass", "stress", "load"].map(|name| (name, -1.0));
        assert_same(&plain, &suggested(count, &all), "all");
    }
}

#[test]
fn the_inverse_of_an_output_on_a_log_scale_with_what_is_wanted_turned_is_the_same() {
    let mut problem = everything();
    problem.outputs[1].role = Role::Objective(Direction::Maximise);
    problem.outputs[4].role = Role::AtMost(1.0 / 5.0);
    let mut events = events(10, &[]);
    for event in &mut events {
        let Event::Measured { values, .. } = event else { continue };
        for (_, reading) in
            values.iter_mut().filter(|(name, _)| ["time", "life"].contains(&&***name))
        {
            let Reading { value, sd } = *reading;
            *reading = Reading { value: 1.0 / value, sd: sd.map(|sd| sd / value / value) };
        }
    }
    assert_close(&suggested(10, &[]), &assert_suggestion(&after(&problem, &events)), "inverse");
}

#[test]
fn units_of_parameters_do_not_matter_where_there_are_formulas() {
    let plain = suggested(10, &[]);
    for scale in [1e-6, 25.4, 1e9] {
        let mut problem = everything();
        let Parameter::Continuous { high, .. } = &mut problem.parameters[0] else { panic!() };
        *high = scale;
        problem.outputs[2].formula = Some(format!("x / {scale:e} + 2 * y"));
        problem.outputs[5].formula = Some(format!("x / {scale:e} + y"));
        problem.measurements[1].cost = Cost::formula(format!("1 + x / {scale:e}"));
        let mut events = events(10, &[]);
        for event in &mut events {
            let Event::Asked { design, .. } = event else { continue };
            *design = design.clone().with("x", scale * design.real("x").unwrap());
        }
        let mut scaled = assert_suggestion(&after(&problem, &events));
        scaled.design = scaled.design.clone().with("x", scaled.design.real("x").unwrap() / scale);
        assert_close(&plain, &scaled, &format!("{scale}"));
    }
}

#[test]
fn the_unit_of_cost_does_not_matter() {
    let plain = suggested(10, &[]);
    let mut problem = everything();
    problem.measurements[0].cost = Cost::from(4.0);
    problem.measurements[1].cost = Cost::formula("2 * (1 + x)");
    problem.measurements[2].cost = Cost::reported(6.0);
    let mut events = events(10, &[]);
    for event in &mut events {
        match event {
            Event::Measured { cost: Some(cost), .. } | Event::Failed { cost: Some(cost), .. } => {
                *cost *= 2.0;
            }
            Event::Asked { cost, .. } => *cost *= 2.0,
            _ => {}
        }
    }
    assert_close(&plain, &assert_suggestion(&after(&problem, &events)), "doubled");
}

#[test]
fn the_order_of_outputs_does_not_matter() {
    for count in [6, 14] {
        let plain = suggested(count, &[]);
        let events = events(count, &[]);
        for order in [[5, 4, 3, 2, 1, 0], [3, 0, 5, 1, 4, 2], [1, 2, 0, 4, 5, 3]] {
            let mut problem = everything();
            problem.outputs = order.map(|k| problem.outputs[k].clone()).to_vec();
            let swapped = assert_suggestion(&after(&problem, &events));
            assert_close(&plain, &swapped, &format!("{count} {order:?}"));
        }
    }
}

#[test]
fn the_order_of_measurements_and_of_what_they_give_does_not_matter() {
    for count in [6, 14] {
        let plain = suggested(count, &[]);
        let events = events(count, &[]);
        for order in [[2, 1, 0], [1, 2, 0], [0, 2, 1]] {
            let mut problem = everything();
            problem.measurements = order.map(|m| problem.measurements[m].clone()).to_vec();
            let swapped = assert_suggestion(&after(&problem, &events));
            assert_close(&plain, &swapped, &format!("{order:?}"));
        }
        let mut problem = everything();
        problem.measurements.iter_mut().for_each(|m| m.outputs.reverse());
        let mut turned = assert_suggestion(&after(&problem, &events));
        turned.outputs.reverse();
        assert_close(&plain, &turned, "outputs of measurements");
    }
}

#[test]
fn of_equal_measurements_the_same_one_is_made_in_whatever_order_they_stand() {
    let suggest = |names: [&str; 2]| {
        let run = |name: &str| Measurement::new(name, ["f", "g"], 2.0);
        let problem = plane()
            .output(Output::maximise("f"))
            .output(Output::minimise("g"))
            .measurement(run(names[0]))
            .measurement(run(names[1]))
            .build()
            .unwrap();
        let mut study = Study::with_config(problem, quick(), 0).unwrap();
        import(&mut study, "f", 8, f);
        import(&mut study, "g", 8, g);
        assert_suggestion(&study)
    };
    assert_same(&suggest(["a", "b"]), &suggest(["b", "a"]), "order");
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let study = after(&everything(), &events(10, &[]));
            (assert_suggestion(&study), study.front(10).unwrap())
        })
    };
    assert_eq!(on(1), on(2));
}

/// Every value of [`events`] that came, as something to import.
fn results(count: usize) -> Vec<(Design, String, Reading)> {
    let mut results = vec![];
    for (i, (_, outputs)) in (0..count).flat_map(|i| MEASUREMENTS.iter().map(move |m| (i, *m))) {
        let [x, y] = spread(i);
        let readings = outcome(i, outputs, &[]).into_iter();
        results.extend(readings.map(|(name, reading)| (at(x, y), name, reading)));
    }
    results
}

#[test]
fn the_order_of_imported_results_does_not_matter() {
    let results = results(13);
    let import = |order: &dyn Fn(usize) -> usize| {
        let mut study = Study::with_config(everything(), quick(), 3).unwrap();
        let rows: Vec<_> = (0..results.len()).map(|i| results[order(i)].clone()).collect();
        study.tell_results(&rows).unwrap();
        assert_suggestion(&study)
    };
    let (count, plain) = (results.len(), import(&|i| i));
    assert_close(&plain, &import(&|i| count - 1 - i), "reversed");
    let step = (7..).find(|step| gcd(*step, count) == 1).unwrap();
    assert_close(&plain, &import(&|i| (i * step + 3) % count), "shuffled");
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// What becomes of the evaluation of a step.
fn end<J: Journal>(study: &mut Study<J>, asked: &Suggestion, step: usize) {
    let id = asked.evaluation;
    let (x, y) = (asked.design.real("x").unwrap(), asked.design.real("y").unwrap());
    let value = |outcome: Outcome, name: &String| {
        let value = truth(name, x, y);
        let sd = step.is_multiple_of(3).then_some(0.02 * value.abs());
        outcome.value(name, Reading { value, sd })
    };
    let all = asked.outputs.iter().fold(Outcome::default(), value);
    match step % 9 {
        2 => study.tell_failure(id, "crashed").unwrap(),
        4 => {}
        5 => study.withdraw(id).unwrap(),
        6 => {
            let part = asked.outputs.iter().take(1).fold(Outcome::default(), value);
            study.tell(id, part.missing("only a part").cost(1.5)).unwrap();
        }
        7 => {
            let elsewhere = at((x + 0.01).min(1.0), y);
            study.tell(id, all.at(elsewhere)).unwrap();
        }
        _ => study.tell(id, all.cost(1.0 + y)).unwrap(),
    }
}

#[test]
fn a_study_opened_anywhere_goes_on_as_it_would_have() {
    let journal = MemoryJournal::default();
    let initial = Initial { designs: Some(3), ..Initial::default() };
    let config = Config { initial, ..quick() };
    let mut study = Study::create(everything(), config, 3, journal.clone()).unwrap();
    for step in 0..27 {
        let asked = study.ask().unwrap();
        end(&mut study, &asked, step);
        match step {
            11 => study.retry(2).unwrap(),
            15 => study.set_cost("run", Cost::formula("1 + y")).unwrap(),
            20 => study.set_cost("wear", 4.0).unwrap(),
            _ => {}
        }
        let next = assert_suggestion(&study);
        let text: Vec<String> = journal
            .read(0)
            .unwrap()
            .iter()
            .map(|record| serde_json::to_string(record).unwrap())
            .collect();
        let read: Vec<Record> = text.iter().map(|t| serde_json::from_str(t).unwrap()).collect();
        let mut copy = MemoryJournal::default();
        copy.append(0, &read).unwrap();
        assert_eq!(Study::open(copy).unwrap().suggest().unwrap(), next, "after step {step}");
    }
}

#[test]
fn results_told_in_another_order_give_the_same_suggestion() {
    let told = |order: [usize; 4]| {
        let mut study = after(&everything(), &events(6, &[]));
        let asked = study.ask_many(4).unwrap();
        for i in order {
            end(&mut study, &asked[i], [0, 2, 6, 3][i]);
        }
        assert_suggestion(&study)
    };
    let plain = told([0, 1, 2, 3]);
    assert_eq!(plain, told([3, 2, 1, 0]));
    assert_eq!(plain, told([2, 0, 3, 1]));
}

#[test]
fn what_was_withdrawn_leaves_no_trace() {
    let mut study = after(&everything(), &events(8, &[]));
    let plain = study.suggest().unwrap();
    for asked in study.ask_many(3).unwrap() {
        study.withdraw(asked.evaluation).unwrap();
    }
    assert_same(&plain, &assert_suggestion(&study), "withdrawn");
}
