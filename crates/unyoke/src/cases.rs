//! Random problems, designs for them and journals of studies of them, to test with.

use proptest::prelude::*;

use crate::config::Config;
use crate::design::{Design, Value};
use crate::event::{Event, Record};
use crate::problem::{
    Cost, GammaPrior, KnownHyper, Measurement, Noise, Output, Parameter, Priors, Problem, Role,
    Scale,
};
use crate::reading::Reading;
use std::collections::BTreeMap;

/// Problems with one to five parameters of all kinds and one to three outputs, of which the first is
/// an objective; each is measured alone, and where there are several, also all together.
pub(crate) fn problems() -> impl Strategy<Value = Problem> {
    let parameters = prop::collection::vec(axis(), 1..6);
    let outputs = prop::collection::vec((output(), costs()), 1..4);
    (parameters, outputs, costs()).prop_map(|(mut parameters, outputs, price)| {
        for (i, parameter) in parameters.iter_mut().enumerate() {
            rename(parameter, format!("p{i}"));
        }
        let mut problem =
            Problem { parameters, outputs: vec![], measurements: vec![], limits: vec![] };
        for (i, (mut output, cost)) in outputs.into_iter().enumerate() {
            let name = format!("f{i}");
            output.name = name.clone();
            if i == 0 && !output.is_objective() {
                output.role = Role::Objective(output.direction());
            }
            // One length scale, or one per input.
            if let Some(hyper) = &mut output.hyper
                && hyper.lengthscales.len() != 1
            {
                hyper.lengthscales = vec![0.5; problem.inputs()];
            }
            problem.measurements.push(Measurement::new(name.clone(), [name], cost));
            problem.outputs.push(output);
        }
        if problem.outputs.len() > 1 {
            let names = problem.outputs.iter().map(|output| output.name.clone());
            problem.measurements.push(Measurement::new("all", names, price));
        }
        problem
    })
}

fn costs() -> impl Strategy<Value = Cost> {
    let (constant, guess) = (1e-3..1e3, 1e-3..1e3);
    prop_oneof![constant.prop_map(Cost::Constant), guess.prop_map(Cost::time)]
}

/// A problem with a number of valid designs.
pub(crate) fn problems_with_designs() -> impl Strategy<Value = (Problem, Vec<Design>)> {
    problems().prop_flat_map(|problem| {
        let cube = prop::collection::vec(prop::collection::vec(0.0..=1.0, 5), 1..5);
        cube.prop_map(move |points| {
            let designs = points.iter().map(|u| design(&problem, u)).collect();
            (problem.clone(), designs)
        })
    })
}

/// The design at the given fractions of the way from low to high.
pub(crate) fn design(problem: &Problem, u: &[f64]) -> Design {
    let value =
        |(parameter, u): (&Parameter, &f64)| (parameter.name().to_owned(), at(parameter, *u));
    problem.parameters.iter().zip(u).map(value).collect()
}

fn at(parameter: &Parameter, u: f64) -> Value {
    match parameter {
        Parameter::Continuous { low, high, step: Some(step), .. } if low < high => {
            let sum = low + (u * (high - low) / step).floor() * step;
            Value::Real(as_written(sum).clamp(*low, *high))
        }
        Parameter::Continuous { low, high, scale: Scale::Linear, .. } => {
            Value::Real((low + u * (high - low)).clamp(*low, *high))
        }
        Parameter::Continuous { low, high, scale: Scale::Log, .. } => {
            Value::Real((low * (high / low).powf(u)).clamp(*low, *high))
        }
        Parameter::Integer { low, high, .. } => {
            Value::Integer((low + (u * (high - low) as f64) as i64).clamp(*low, *high))
        }
        Parameter::Categorical { choices, .. } => {
            let place = (u * choices.len() as f64) as usize;
            Value::Choice(choices[place.min(choices.len() - 1)].clone())
        }
    }
}

/// Journals without contradictions, of up to thirty events.
pub(crate) fn journals() -> impl Strategy<Value = Vec<Record>> {
    let moves = prop::collection::vec((0..8u8, any::<prop::sample::Index>(), -1e9..1e9), 0..30);
    (problems_with_designs(), any::<u64>(), moves).prop_map(|((problem, designs), seed, moves)| {
        let created = Event::Created { problem: problem.clone(), config: Config::default(), seed };
        let mut writer =
            Writer { problem, designs, events: vec![created], open: vec![], ended: vec![] };
        for (kind, which, value) in moves {
            writer.write(kind, which, value);
        }
        writer.events.into_iter().map(Record::from).collect()
    })
}

/// Writes a journal event by event; `open` holds, for each evaluation, whether it awaits its end
/// and whether a result would still be welcome, `ended` those that were asked for and have a result
/// or a failure that was not retracted.
struct Writer {
    problem: Problem,
    designs: Vec<Design>,
    events: Vec<Event>,
    open: Vec<(bool, bool)>,
    ended: Vec<usize>,
}

impl Writer {
    /// Adds an event of the given kind if there can be one.
    fn write(&mut self, kind: u8, which: prop::sample::Index, value: f64) {
        let evaluation = self.open.len() as u64;
        let design = which.get(&self.designs).clone();
        let measurement = which.get(&self.problem.measurements).name.clone();
        let output = which.get(&self.problem.outputs).name.clone();
        let values = BTreeMap::from([(output, Reading { value, sd: None })]);
        let cost = value.abs() + 1.0;
        let event = match kind {
            0 | 1 => {
                self.open.push((true, true));
                Some(Event::Asked { evaluation, design, measurement, cost, initial: kind == 0 })
            }
            2 => {
                self.open.push((false, false));
                Some(Event::Added { evaluation, design, values })
            }
            3 if value > 0.0 => {
                self.open.push((true, true));
                let round = self.events.len() as u64;
                Some(Event::ConfirmationAsked { evaluation, design, measurement, cost, round })
            }
            3 => Some(Event::CostChanged { measurement, cost: cost.into() }),
            6 | 7 => self.change(kind, which, value),
            _ => self.end(kind, which, value),
        };
        self.events.extend(event);
    }

    /// The end of one of the evaluations that have none.
    fn end(&mut self, kind: u8, which: prop::sample::Index, value: f64) -> Option<Event> {
        let told = kind == 4;
        let eligible =
            |(_, (pending, welcome)): &(usize, &(bool, bool))| *pending || told && *welcome;
        let ids: Vec<usize> =
            self.open.iter().enumerate().filter(eligible).map(|(i, _)| i).collect();
        if ids.is_empty() {
            return None;
        }
        let (id, evaluation) = (*which.get(&ids), *which.get(&ids) as u64);
        self.open[id] = (false, !told);
        self.ended.retain(|ended| *ended != id);
        if told || value >= 0.0 {
            self.ended.push(id);
        }
        Some(match kind {
            4 => self.measured(evaluation, value),
            _ if value < 0.0 => Event::Withdrawn { evaluation },
            _ => Event::Failed { evaluation, reason: format!("no luck: {value}"), cost: None },
        })
    }
}

impl Writer {
    /// Another result of one of the evaluations that have ended, or none any more.
    fn change(&mut self, kind: u8, which: prop::sample::Index, value: f64) -> Option<Event> {
        if self.ended.is_empty() {
            return None;
        }
        let place = which.index(self.ended.len());
        let (id, evaluation) = (self.ended[place], self.ended[place] as u64);
        self.open[id] = (false, false);
        if kind == 7 {
            self.ended.remove(place);
            let reason = (value > 0.0).then(|| format!("nonsense: {value}"));
            return Some(Event::Retracted { evaluation, reason });
        }
        let Event::Measured { values, missing, cost, .. } = self.measured(evaluation, value) else {
            return None;
        };
        Some(match (value * 2.0).fract().abs() < 0.5 {
            true => Event::Corrected { evaluation, values, missing, cost, design: None },
            false => {
                let (values, missing) = (BTreeMap::new(), Some(format!("no: {value}")));
                Event::Corrected { evaluation, values, missing, cost: None, design: None }
            }
        })
    }

    /// Values for the outputs of an evaluation, in part where there are several.
    fn measured(&self, evaluation: u64, value: f64) -> Event {
        let asked = self.events.iter().find_map(|event| match event {
            Event::Asked { evaluation: id, measurement, .. }
            | Event::ConfirmationAsked { evaluation: id, measurement, .. }
                if *id == evaluation =>
            {
                Some(measurement.clone())
            }
            _ => None,
        });
        let m = self.problem.measurement_index(&asked.unwrap()).unwrap();
        let outputs = &self.problem.measurements[m].outputs;
        let given = outputs.iter().take(if value > 0.0 { outputs.len() } else { 1 });
        let values = given.map(|name| (name.clone(), Reading { value, sd: Some(value.abs()) }));
        let missing = (value <= 0.0).then(|| "in part".to_owned());
        let (values, cost) = (values.collect(), Some(value.abs()));
        Event::Measured { evaluation, values, missing, cost, design: None }
    }
}

fn rename(parameter: &mut Parameter, new: String) {
    let (Parameter::Continuous { name, .. }
    | Parameter::Integer { name, .. }
    | Parameter::Categorical { name, .. }) = parameter;
    *name = new;
}

fn axis() -> impl Strategy<Value = Parameter> {
    let name = String::new;
    let linear = (-1e6..1e6, prop_oneof![Just(0.0), 1e-9..1e9]).prop_map(move |(low, width)| {
        Parameter::Continuous {
            name: name(),
            low,
            high: low + width,
            scale: Scale::Linear,
            step: None,
        }
    });
    let log = (-30..30, 0..30).prop_map(move |(low, decades)| {
        let (low, high) = (10f64.powi(low), 10f64.powi(low + decades));
        Parameter::Continuous { name: name(), low, high, scale: Scale::Log, step: None }
    });
    let integer = (-(1i64 << 51)..1 << 51, widths()).prop_map(move |(low, width)| {
        Parameter::Integer { name: name(), low, high: low + width, scale: Scale::Linear }
    });
    let integer_log =
        (1i64..1000, prop_oneof![0i64..40, 0i64..1 << 43]).prop_map(move |(low, width)| {
            Parameter::Integer { name: name(), low, high: low + width, scale: Scale::Log }
        });
    let counts = prop_oneof![1..5usize, 15..35usize, Just(300)];
    let choices = (counts, any::<bool>()).prop_map(move |(count, ordered)| {
        let choices = (0..count).map(|i| format!("choice {i}")).collect();
        Parameter::Categorical { name: name(), choices, ordered }
    });
    prop_oneof![linear, log, integer, integer_log, choices, stepped()]
}

/// Numbers in steps of a decimal or of anything, on both scales.
fn stepped() -> impl Strategy<Value = Parameter> {
    let decimal = (1..100u32, 0..7).prop_map(|(n, d)| (f64::from(n), 10f64.powi(d)));
    let other = (1e-3..9.0).prop_map(|step| (step, 1.0));
    let count = prop_oneof![1.0..5.0, 15.0..30.0, 1.0..1e6];
    (prop_oneof![decimal, other], count, 0..1000i32, any::<bool>()).prop_map(
        |((step, divisor), count, start, is_log)| {
            let (offset, scale) = if is_log { (1, Scale::Log) } else { (-500, Scale::Linear) };
            let low = f64::from(start + offset) * step / divisor;
            let (name, step) = (String::new(), step / divisor);
            Parameter::Continuous { name, low, high: low + count * step, scale, step: Some(step) }
        },
    )
}

/// The number of at most six decimals that `v` is up to rounding errors, if it is one.
fn as_written(v: f64) -> f64 {
    let decimal = (v * 1e6).round() / 1e6;
    if (v - decimal).abs() <= 4.0 * f64::EPSILON * v.abs() { decimal } else { v }
}

fn widths() -> impl Strategy<Value = i64> {
    prop_oneof![0i64..5, 15i64..30, 0i64..1 << 51, Just(1i64 << 52)]
}

fn output() -> impl Strategy<Value = Output> {
    let noise = prop_oneof![
        Just(Noise::Deterministic),
        Just(Noise::Noisy),
        (0.0..1e6).prop_map(|sd| Noise::Known { sd }),
    ];
    let gamma = || {
        prop::option::of((0.1..9.0, 0.1..9.0).prop_map(|(shape, rate)| GammaPrior { shape, rate }))
    };
    let priors = (gamma(), gamma(), gamma()).prop_map(|(lengthscale, outputscale, noise)| Priors {
        lengthscale,
        outputscale,
        noise,
    });
    let hyper = (prop::collection::vec(0.01..9.0, 0..4), 0.1..9.0, 0.0..1.0, -9.0..9.0).prop_map(
        |(lengthscales, outputscale, noise, mean)| KnownHyper {
            lengthscales,
            outputscale,
            noise,
            mean,
        },
    );
    let role = prop_oneof![
        Just(Output::maximise("")),
        Just(Output::minimise("")),
        (-1e3..1e3).prop_map(|limit| Output::at_most("", limit)),
        (-1e3..1e3).prop_map(|limit| Output::at_least("", limit)),
    ];
    (role, noise, priors, prop::option::of(hyper))
        .prop_map(|(start, noise, priors, hyper)| Output { noise, priors, hyper, ..start })
}
