//! All that can be wrong with a problem, found in one pass.

use std::collections::HashMap;

use super::{
    Cost, GammaPrior, KnownHyper, LearnedCost, Limit, MOST_INPUTS, Measurement, Noise, Output,
    Parameter, Priors, Problem, Scale,
};
use crate::error::Mistake;
use crate::formula::{Formula, Inequality};
use unyoke_math::sobol;

/// Integers beyond ±2⁵³ are not all doubles.
const INTEGER_LIMIT: i64 = 1 << 53;

/// With more steps between its bounds an integer would not survive being scaled to \[0, 1\].
const MOST_STEPS: i64 = 1 << 52;

/// On a logarithmic scale rounding errors grow with the value; up to here they stay below a half.
const LOG_INTEGER_LIMIT: i64 = 1 << 44;

/// Smaller steps, relative to the larger bound, do not survive rounding errors: on a log scale these
/// grow to some hundred times those of a double.
const SMALLEST_STEP: f64 = 1.0 / (1u64 << 40) as f64;

/// Dividing the dominated region into boxes becomes hopeless beyond.
const MOST_OBJECTIVES: usize = 10;

/// Space-filling designs exist for no more parameters.
const MOST_PARAMETERS: usize = sobol::MAX_DIMENSIONS;

/// The inverses of smaller length scales overflow.
const SMALLEST_LENGTHSCALE: f64 = 1e-300;

/// The mistakes of `problem`: first those that no journal can have, then those with which a study
/// would begin and then fail, each in the order of the fields.
pub(super) fn mistakes(problem: &Problem) -> Vec<Mistake> {
    let mut found = Mistakes(contradictions(problem));
    found.too_many_parameters(&problem.parameters);
    for (i, output) in problem.outputs.iter().enumerate() {
        found.unusable(&format!("outputs[{i}]"), output, problem.inputs());
    }
    found.0
}

/// What every version has refused, in the order of the fields: a replay cannot do without.
pub(super) fn contradictions(problem: &Problem) -> Vec<Mistake> {
    let mut found = Mistakes(Vec::new());
    found.parameters(&problem.parameters);
    found.outputs(problem);
    found.measurements(problem);
    found.limits(&problem.limits, &problem.parameters);
    found.0
}

struct Mistakes(Vec<Mistake>);

impl Mistakes {
    fn add(&mut self, path: impl Into<String>, message: impl Into<String>) {
        self.0.push(Mistake { path: path.into(), message: message.into() });
    }

    fn parameters(&mut self, parameters: &[Parameter]) {
        if parameters.is_empty() {
            self.add("parameters", "there must be at least one");
        }
        self.names("parameters", parameters.iter().map(Parameter::name));
        for (i, parameter) in parameters.iter().enumerate() {
            let path = format!("parameters[{i}]");
            match parameter {
                Parameter::Continuous { low, high, scale, step, .. } => {
                    self.continuous(&path, *low, *high, *scale);
                    if let Some(step) = step {
                        self.step(&path, *low, *high, *step);
                    }
                }
                Parameter::Integer { low, high, scale, .. } => {
                    self.integer(&path, *low, *high, *scale);
                }
                Parameter::Categorical { choices, .. } => self.choices(&path, choices),
            }
        }
    }

    /// Names are neither empty nor used twice.
    fn names<'a>(&mut self, path: &str, names: impl Iterator<Item = &'a str>) {
        let mut owners = HashMap::new();
        for (i, name) in names.enumerate() {
            let first = *owners.entry(name).or_insert(i);
            if name.trim().is_empty() {
                self.add(format!("{path}[{i}].name"), "must not be empty");
            } else if first != i {
                let message = format!("{name:?} is also the name of {path}[{first}]");
                self.add(format!("{path}[{i}].name"), message);
            }
        }
    }

    fn continuous(&mut self, path: &str, low: f64, high: f64, scale: Scale) {
        for (bound, value) in [("low", low), ("high", high)] {
            if !value.is_finite() {
                self.add(format!("{path}.{bound}"), format!("is {value}, but must be finite"));
            }
        }
        if scale == Scale::Log && low <= 0.0 {
            let message = format!("is {low}, but must be positive on a log scale");
            self.add(format!("{path}.low"), message);
        }
        if low > high {
            self.add(format!("{path}.low"), format!("is {low}, above high, which is {high}"));
        } else if low.is_finite() && high.is_finite() && !(high - low).is_finite() {
            self.add(format!("{path}.high"), "is too far above low: the difference overflows");
        }
    }

    fn step(&mut self, path: &str, low: f64, high: f64, step: f64) {
        let path = format!("{path}.step");
        self.positive(path.clone(), step);
        // Equal bounds make a constant, whatever the step.
        let is_range = low < high && (high - low).is_finite();
        if !(is_range && step.is_finite() && step > 0.0) {
            return;
        }
        // 0.3 − 0.1 is less than 0.2.
        if step > (high - low) * (1.0 + 1e-9) {
            let message = format!("is {step}, more than from low to high: only low would be left");
            self.add(path, message);
        } else if step < low.abs().max(high.abs()) * SMALLEST_STEP {
            let message =
                format!("is {step}, too small beside the bounds to be exact; leave it out");
            self.add(path, message);
        }
    }

    fn integer(&mut self, path: &str, low: i64, high: i64, scale: Scale) {
        for (bound, value) in [("low", low), ("high", high)] {
            // Negated this way round because the absolute value of the lowest i64 overflows.
            if !(-INTEGER_LIMIT..=INTEGER_LIMIT).contains(&value) {
                let message = format!("is {value}, but must be within ±2^53 to be exact");
                self.add(format!("{path}.{bound}"), message);
            }
        }
        if low > high {
            self.add(format!("{path}.low"), format!("is {low}, above high, which is {high}"));
        } else if high.saturating_sub(low) > MOST_STEPS {
            let message = "is too far above low: at most 2^52 steps can be told apart";
            self.add(format!("{path}.high"), message);
        }
        if scale == Scale::Log {
            self.integer_log(path, low, high);
        }
    }

    fn integer_log(&mut self, path: &str, low: i64, high: i64) {
        if low <= 0 {
            let message = format!("is {low}, but must be positive on a log scale");
            self.add(format!("{path}.low"), message);
        }
        if high > LOG_INTEGER_LIMIT {
            let message = format!("is {high}, but must be at most 2^44 on a log scale to be exact");
            self.add(format!("{path}.high"), message);
        }
    }

    fn choices(&mut self, path: &str, choices: &[String]) {
        if choices.is_empty() {
            self.add(format!("{path}.choices"), "there must be at least one");
        }
        let mut places = HashMap::new();
        for (i, choice) in choices.iter().enumerate() {
            let first = *places.entry(choice).or_insert(i);
            if choice.is_empty() {
                self.add(format!("{path}.choices[{i}]"), "must not be empty");
            } else if first != i {
                let message = format!("{choice:?} is also choices[{first}]");
                self.add(format!("{path}.choices[{i}]"), message);
            }
        }
    }

    fn limits(&mut self, limits: &[Limit], parameters: &[Parameter]) {
        self.names("limits", limits.iter().map(|limit| limit.name.as_str()));
        for (i, limit) in limits.iter().enumerate() {
            if let Err(reason) = usable_limit(&limit.formula, parameters) {
                self.add(format!("limits[{i}].formula"), reason);
            }
        }
    }

    fn outputs(&mut self, problem: &Problem) {
        let objectives = problem.objectives().count();
        if objectives == 0 {
            self.add("outputs", "there must be at least one objective");
        }
        if objectives > MOST_OBJECTIVES {
            let message =
                format!("{objectives} are objectives, but at most {MOST_OBJECTIVES} work");
            self.add("outputs", message);
        }
        self.names("outputs", problem.outputs.iter().map(|output| output.name.as_str()));
        for (i, output) in problem.outputs.iter().enumerate() {
            let path = format!("outputs[{i}]");
            self.output(&path, output);
            if let Some(formula) = &output.formula {
                self.formula(format!("{path}.formula"), formula, &problem.parameters);
            }
            let mut listed = problem.measurements.iter().enumerate().filter_map(|(m, gives)| {
                let place = gives.outputs.iter().position(|name| *name == output.name)?;
                Some(format!("measurements[{m}].outputs[{place}]"))
            });
            match (&output.formula, listed.next()) {
                (None, None) => {
                    self.add(
                        path,
                        "nothing gives it: no measurement lists it, and it is no formula",
                    );
                }
                (Some(_), Some(place)) => {
                    self.add(place, "is a formula, known everywhere; leave it out here");
                }
                (None, Some(_)) | (Some(_), None) => {}
            }
        }
    }

    fn output(&mut self, path: &str, output: &Output) {
        if let Some(limit) = output.limit()
            && !limit.is_finite()
        {
            self.add(format!("{path}.limit"), format!("is {limit}, but must be finite"));
        }
        if output.scale == Scale::Log && output.limit().is_some_and(|limit| limit <= 0.0) {
            let message = "must be positive: the output is on a log scale";
            self.add(format!("{path}.limit"), message);
        }
        if let Noise::Known { sd } = output.noise {
            self.not_negative(format!("{path}.noise.known.sd"), sd);
        }
        self.priors(&format!("{path}.priors"), &output.priors);
        if let Some(hyper) = &output.hyper {
            self.hyper(&format!("{path}.hyper"), hyper);
        }
    }

    fn measurements(&mut self, problem: &Problem) {
        let outputs = &problem.outputs;
        if !outputs.is_empty() && outputs.iter().all(|output| output.formula.is_some()) {
            let message = "there is nothing to measure: all outputs are formulas, known everywhere";
            self.add("measurements", message);
        }
        let names = problem.measurements.iter().map(|measurement| measurement.name.as_str());
        self.names("measurements", names);
        for (i, measurement) in problem.measurements.iter().enumerate() {
            let path = format!("measurements[{i}]");
            self.outputs_of(&format!("{path}.outputs"), measurement, problem);
            match &measurement.cost {
                Cost::Constant(cost) => self.positive(format!("{path}.cost"), *cost),
                Cost::Learned(LearnedCost { guess, .. }) => {
                    self.positive(format!("{path}.cost.guess"), *guess);
                }
                Cost::Formula(text) => {
                    self.formula(format!("{path}.cost"), text, &problem.parameters);
                }
            }
        }
    }

    fn formula(&mut self, path: String, text: &str, parameters: &[Parameter]) {
        if let Err(reason) = usable_formula(text, parameters) {
            self.add(path, reason);
        }
    }

    /// What a measurement gives: at least one output, each of them one that there is, and once.
    fn outputs_of(&mut self, path: &str, measurement: &Measurement, problem: &Problem) {
        if measurement.outputs.is_empty() {
            self.add(path, "there must be at least one");
        }
        for (i, name) in measurement.outputs.iter().enumerate() {
            if let Err(unknown) = problem.output_index(name) {
                self.add(format!("{path}[{i}]"), unknown.to_string());
            } else if measurement.outputs[..i].contains(name) {
                self.add(format!("{path}[{i}]"), format!("{name:?} is listed twice"));
            }
        }
    }

    fn priors(&mut self, path: &str, priors: &Priors) {
        let Priors { lengthscale, outputscale, noise } = priors;
        for (name, prior) in
            [("lengthscale", lengthscale), ("outputscale", outputscale), ("noise", noise)]
        {
            if let Some(GammaPrior { shape, rate }) = *prior {
                self.positive(format!("{path}.{name}.shape"), shape);
                self.positive(format!("{path}.{name}.rate"), rate);
            }
        }
    }

    fn hyper(&mut self, path: &str, hyper: &KnownHyper) {
        for (i, &length) in hyper.lengthscales.iter().enumerate() {
            self.positive(format!("{path}.lengthscales[{i}]"), length);
        }
        self.positive(format!("{path}.outputscale"), hyper.outputscale);
        self.not_negative(format!("{path}.noise"), hyper.noise);
        if !hyper.mean.is_finite() {
            self.add(format!("{path}.mean"), format!("is {}, but must be finite", hyper.mean));
        }
    }

    fn too_many_parameters(&mut self, parameters: &[Parameter]) {
        let count = parameters.len();
        if count > MOST_PARAMETERS {
            let message = format!(
                "are {count}, but at most {MOST_PARAMETERS} can be searched; fix those that matter \
                 least"
            );
            self.add("parameters", message);
        }
    }

    /// Beliefs from which no model of this many inputs can be made.
    fn unusable(&mut self, path: &str, output: &Output, inputs: usize) {
        if let Some(GammaPrior { shape, rate }) = output.priors.lengthscale {
            let (mean, path) = (shape / rate, format!("{path}.priors.lengthscale"));
            let is_usable = mean.is_finite() && mean > SMALLEST_LENGTHSCALE;
            if shape > 0.0 && rate > 0.0 && !is_usable {
                let message = format!("has the mean shape / rate = {mean}; choose one near 0.5");
                self.add(path, message);
            }
        }
        let Some(hyper) = &output.hyper else { return };
        let (path, count) = (format!("{path}.hyper.lengthscales"), hyper.lengthscales.len());
        if count != 1 && count != inputs {
            self.add(path.clone(), lengthscales_needed(count, inputs));
        }
        for (i, &length) in hyper.lengthscales.iter().enumerate() {
            if length > 0.0 && length <= SMALLEST_LENGTHSCALE {
                let message = format!("is {length}, but must be above {SMALLEST_LENGTHSCALE:e}");
                self.add(format!("{path}[{i}]"), message);
            }
        }
    }

    fn positive(&mut self, path: String, value: f64) {
        if !(value.is_finite() && value > 0.0) {
            self.add(path, format!("is {value}, but must be positive and finite"));
        }
    }

    fn not_negative(&mut self, path: String, value: f64) {
        if !(value.is_finite() && value >= 0.0) {
            self.add(path, format!("is {value}, but must be finite and not negative"));
        }
    }
}

/// Whether the text is an inequality between numbers, or why not.
fn usable_limit(text: &str, parameters: &[Parameter]) -> Result<(), String> {
    let names: Vec<&str> = parameters.iter().map(Parameter::name).collect();
    let inequality = Inequality::parse(text).and_then(|found| found.bind(&names).map(|_| found));
    let inequality = inequality.map_err(|error| error.to_string())?;
    match inequality.names().find(|name| is_choice(name, parameters)) {
        Some(name) => Err(format!("{name:?} is a choice, and a limit can only have numbers in it")),
        None => Ok(()),
    }
}

/// Whether the text is a formula of numbers, or why not.
fn usable_formula(text: &str, parameters: &[Parameter]) -> Result<(), String> {
    let names: Vec<&str> = parameters.iter().map(Parameter::name).collect();
    let formula = Formula::parse(text).and_then(|found| found.bind(&names).map(|_| found));
    let formula = formula.map_err(|error| error.to_string())?;
    match formula.names().find(|name| is_choice(name, parameters)) {
        Some(name) => {
            Err(format!("{name:?} is a choice, and a formula can only have numbers in it"))
        }
        None => Ok(()),
    }
}

fn is_choice(name: &str, parameters: &[Parameter]) -> bool {
    let named = parameters.iter().find(|parameter| parameter.name() == name);
    matches!(named, Some(Parameter::Categorical { .. }))
}

/// How many length scales there should be.
fn lengthscales_needed(count: usize, inputs: usize) -> String {
    match inputs {
        1 => format!("needs 1 number, not {count}"),
        _ => format!(
            "needs 1 number for all inputs or {inputs}, one per input, not {count}; a parameter is \
             one input, with choices one per choice up to {MOST_INPUTS}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemBuilder;
    use crate::{Error, cases};
    use proptest::prelude::*;

    /// Where the problem is wrong.
    fn paths(builder: ProblemBuilder) -> Vec<String> {
        match builder.build() {
            Ok(_) => vec![],
            Err(Error::Invalid { mistakes }) => mistakes.into_iter().map(|m| m.path).collect(),
            Err(other) => panic!("{other}"),
        }
    }

    /// A problem to which parameters are added.
    fn start() -> ProblemBuilder {
        Problem::builder().maximise("f", 1.0)
    }

    /// Where a problem with this one output, measured alone, is wrong.
    fn output_paths(output: Output) -> Vec<String> {
        paths(Problem::builder().continuous("x", 0.0, 1.0).measured(output, 1.0))
    }

    proptest! {
        #[test]
        fn sensible_problems_pass(problem in cases::problems()) {
            prop_assert_eq!(problem.check(), Ok(()));
        }
    }

    #[test]
    fn all_mistakes_are_reported_in_one_go() {
        let builder = Problem::builder()
            .continuous("x", f64::NAN, f64::INFINITY)
            .continuous("x", 1.0, 0.0)
            .categorical("", ["a", "a"])
            .maximise("f", 0.0)
            .minimise("f", f64::NAN);
        let expected = [
            "parameters[1].name",
            "parameters[2].name",
            "parameters[0].low",
            "parameters[0].high",
            "parameters[1].low",
            "parameters[2].choices[1]",
            "outputs[1].name",
            "measurements[1].name",
            "measurements[0].cost",
            "measurements[1].cost",
        ];
        assert_eq!(paths(builder), expected);
    }

    #[test]
    fn there_must_be_parameters_and_one_to_ten_objectives() {
        assert_eq!(paths(Problem::builder()), ["parameters", "outputs"]);
        let many = |n: usize| {
            let start = Problem::builder().continuous("x", 0.0, 1.0);
            paths((0..n).fold(start, |b, i| b.maximise(format!("f{i}"), 1.0)))
        };
        assert!(many(10).is_empty());
        assert_eq!(many(11), ["outputs"]);
    }

    #[test]
    fn bounds_must_be_finite_in_order_and_not_too_far_apart() {
        assert_eq!(paths(start().continuous("x", f64::NAN, 1.0)), ["parameters[0].low"]);
        assert_eq!(paths(start().continuous("x", 0.0, f64::INFINITY)), ["parameters[0].high"]);
        assert_eq!(paths(start().continuous("x", 1.0, 0.5)), ["parameters[0].low"]);
        assert_eq!(paths(start().continuous("x", -1e308, 1e308)), ["parameters[0].high"]);
        assert!(paths(start().continuous("x", 3.0, 3.0)).is_empty());
        assert!(paths(start().continuous("x", 1e9, 1e9 + 1e-3)).is_empty());
    }

    #[test]
    fn a_log_scale_needs_positive_bounds() {
        for low in [0.0, -0.0, -1.0] {
            assert_eq!(paths(start().continuous_log("x", low, 1.0)), ["parameters[0].low"]);
        }
        assert_eq!(paths(start().integer_log("n", 0, 9)), ["parameters[0].low"]);
        assert!(paths(start().continuous_log("x", 1e-12, 1e12)).is_empty());
        assert!(paths(start().continuous_log("x", 5e-324, f64::MAX)).is_empty());
        assert!(paths(start().integer_log("n", 1, 1 << 44)).is_empty());
        assert_eq!(paths(start().integer_log("n", 1, (1 << 44) + 1)), ["parameters[0].high"]);
    }

    #[test]
    fn steps_are_positive_fit_between_the_bounds_and_are_not_too_many() {
        let step = |low, high, step| paths(start().stepped("x", low, high, step));
        for bad in [0.0, -0.1, f64::NAN, f64::INFINITY, 1.1, 1e-13] {
            assert_eq!(step(0.0, 1.0, bad), ["parameters[0].step"], "{bad}");
        }
        assert_eq!(step(1e15, 1e15 + 1.0, 0.5), ["parameters[0].step"]);
        assert_eq!(step(1.0, 0.0, 0.1), ["parameters[0].low"]);
        for (low, high, good) in
            [(0.0, 1.0, 1.0), (0.1, 0.3, 0.2), (3.0, 3.0, 9.0), (0.0, 1.0, 1e-12)]
        {
            assert!(step(low, high, good).is_empty(), "{good}");
        }
        let log = Parameter::Continuous {
            name: "x".into(),
            low: 0.1,
            high: 1e9,
            scale: Scale::Log,
            step: Some(0.1),
        };
        assert!(paths(start().parameter(log)).is_empty());
    }

    #[test]
    fn integers_that_would_not_be_exact_are_refused() {
        assert_eq!(
            paths(start().integer("n", 0, (1 << 53) + 2)),
            ["parameters[0].high", "parameters[0].high"]
        );
        assert_eq!(
            paths(start().integer("n", i64::MIN, -(1 << 53))),
            ["parameters[0].low", "parameters[0].high"]
        );
        assert_eq!(paths(start().integer("n", 2, 1)), ["parameters[0].low"]);
        assert!(paths(start().integer("n", -(1 << 51), 1 << 51)).is_empty());
        assert!(paths(start().integer("n", (1 << 53) - 9, 1 << 53)).is_empty());
        assert!(paths(start().integer("n", 4, 4)).is_empty());
    }

    #[test]
    fn limits_are_inequalities_between_numbers_with_names_of_their_own() {
        let limit = |formula: &str| {
            let start =
                start().continuous("length", 0.0, 1.0).continuous("wall thickness", 0.0, 1.0);
            let start = start.categorical("kind", ["a", "b"]).ordered("size", ["s", "m"]);
            match start.limit("l", formula).build() {
                Ok(_) => String::new(),
                Err(error) => error.to_string(),
            }
        };
        assert_eq!(limit("length <= 2 * {wall thickness}"), "");
        for (formula, part) in [
            ("length +", "nothing to compare"),
            ("length <= ", "one of its sides is empty"),
            ("lenght <= 1", "did you mean \"length\"?"),
            ("kind <= 1", "\"kind\" is a choice"),
            ("length + size <= 1", "\"size\" is a choice"),
            ("length = 1", "drop one of its parameters"),
        ] {
            let message = limit(formula);
            assert!(message.starts_with("limits[0].formula: "), "{message}");
            assert!(message.contains(part), "{message}");
        }
        let twice = start().continuous("x", 0.0, 1.0).limit("l", "x <= 1").limit("l", "x >= 0");
        assert_eq!(paths(twice.limit("", "x <= 1")), ["limits[1].name", "limits[2].name"]);
    }

    #[test]
    fn formulas_of_outputs_and_costs_have_known_numbers_in_them() {
        let start = || start().continuous("length", 0.5, 1.0).categorical("kind", ["a", "b"]);
        for (formula, part) in [
            ("length +", "something is missing at its end"),
            ("lenght * 2", "did you mean \"length\"?"),
            ("kind * 2", "\"kind\" is a choice"),
            ("length <= 1", "<="),
        ] {
            let output = start().output(Output::minimise("mass").with_formula(formula));
            let run = Measurement::new("run", ["f"], Cost::formula(formula));
            for (builder, path) in [
                (output, "outputs[1].formula: "),
                (start().measurement(run), "measurements[1].cost: "),
            ] {
                let message = builder.build().unwrap_err().to_string();
                assert!(message.starts_with(path) && message.contains(part), "{message}");
            }
        }
        let output = start().output(Output::minimise("mass").with_formula("2 * length"));
        let run = Measurement::new("run", ["f"], Cost::formula("1 + length"));
        assert!(paths(output.measurement(run)).is_empty());
    }

    #[test]
    fn choices_are_not_missing_empty_or_repeated_but_otherwise_free() {
        let none: [&str; 0] = [];
        assert_eq!(paths(start().categorical("c", none)), ["parameters[0].choices"]);
        assert_eq!(paths(start().categorical("c", ["a", ""])), ["parameters[0].choices[1]"]);
        assert_eq!(paths(start().categorical("c", ["a", "b", "a"])), ["parameters[0].choices[2]"]);
        assert!(paths(start().categorical("c", ["NaN", "🦀", " ", "1"])).is_empty());
        assert!(paths(start().categorical("c", ["only"])).is_empty());
        assert!(paths(start().categorical("c", (0..10_000).map(|i| i.to_string()))).is_empty());
    }

    #[test]
    fn costs_are_positive_and_finite() {
        for cost in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let start = || Problem::builder().continuous("x", 0.0, 1.0);
            assert_eq!(paths(start().maximise("f", cost)), ["measurements[0].cost"]);
            let learned = start().maximise("f", Cost::time(cost));
            assert_eq!(paths(learned), ["measurements[0].cost.guess"]);
        }
        let cheap = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1e-300);
        assert!(paths(cheap).is_empty());
    }

    #[test]
    fn known_noise_is_finite_and_not_negative() {
        let noise = |sd| output_paths(Output::maximise("f").known_noise(sd));
        for sd in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(noise(sd), ["outputs[0].noise.known.sd"]);
        }
        for sd in [0.0, 1e-300, 1e6] {
            assert!(noise(sd).is_empty());
        }
    }

    #[test]
    fn priors_and_known_hyper_parameters_are_in_their_domains() {
        let bad = GammaPrior { shape: 0.0, rate: f64::NAN };
        let priors = Priors { lengthscale: Some(bad), ..Priors::default() };
        assert_eq!(
            output_paths(Output::maximise("f").with_priors(priors)),
            ["outputs[0].priors.lengthscale.shape", "outputs[0].priors.lengthscale.rate"]
        );
        let hyper =
            KnownHyper { lengthscales: vec![0.0], outputscale: -1.0, noise: -1.0, mean: f64::NAN };
        assert_eq!(
            output_paths(Output::maximise("f").with_hyper(hyper)),
            [
                "outputs[0].hyper.lengthscales[0]",
                "outputs[0].hyper.outputscale",
                "outputs[0].hyper.noise",
                "outputs[0].hyper.mean"
            ]
        );
    }

    #[test]
    fn more_parameters_than_can_be_searched_are_refused() {
        let many =
            |n: usize| paths((0..n).fold(start(), |b, i| b.continuous(format!("x{i}"), 0.0, 1.0)));
        assert!(many(1000).is_empty());
        assert_eq!(many(1001), ["parameters"]);
    }

    #[test]
    fn known_length_scales_are_one_or_one_per_input() {
        let with = |lengthscales: Vec<f64>| {
            let hyper = KnownHyper { lengthscales, outputscale: 1.0, noise: 0.0, mean: 0.0 };
            let start = Problem::builder().continuous("x", 0.0, 1.0).integer("n", 1, 9);
            let start = start.categorical("c", ["a", "b", "c"]);
            paths(start.measured(Output::maximise("f").with_hyper(hyper), 1.0))
        };
        for count in [1, 5] {
            assert!(with(vec![0.5; count]).is_empty(), "{count}");
        }
        for count in [0, 2, 3, 4, 6] {
            assert_eq!(with(vec![0.5; count]), ["outputs[0].hyper.lengthscales"], "{count}");
        }
        assert_eq!(with(vec![1e-301]), ["outputs[0].hyper.lengthscales[0]"]);
    }

    #[test]
    fn a_prior_without_a_usable_mean_is_refused() {
        for (shape, rate) in [(1e300, 1e-300), (1e-300, 1e300), (1e-200, 1e101)] {
            let lengthscale = Some(GammaPrior { shape, rate });
            let priors = Priors { lengthscale, ..Priors::default() };
            assert_eq!(
                output_paths(Output::maximise("f").with_priors(priors)),
                ["outputs[0].priors.lengthscale"]
            );
        }
    }

    #[test]
    fn what_earlier_versions_accepted_is_still_replayed() {
        let parameter = |i: usize| Parameter::Continuous {
            name: format!("x{i}"),
            low: 0.0,
            high: 1.0,
            scale: Scale::Linear,
            step: None,
        };
        let hyper =
            KnownHyper { lengthscales: vec![1.0; 3], outputscale: 1.0, noise: 0.0, mean: 0.0 };
        let outputs = vec![Output::maximise("f").with_hyper(hyper)];
        let measurements = vec![Measurement::new("f", ["f"], 1.0)];
        let parameters = (0..1001).map(parameter).collect();
        let problem = Problem { parameters, outputs, measurements, limits: vec![] };
        assert!(problem.check().is_err());
        assert_eq!(problem.check_replayable(), Ok(()));
    }

    #[test]
    fn measurements_give_outputs_that_there_are_and_every_output_is_given() {
        let start = || Problem::builder().continuous("x", 0.0, 1.0).output(Output::maximise("f"));
        let measured = |outputs: &[&str]| {
            paths(start().measurement(Measurement::new("run", outputs.iter().copied(), 1.0)))
        };
        assert!(measured(&["f"]).is_empty());
        assert_eq!(measured(&[]), ["outputs[0]", "measurements[0].outputs"]);
        assert_eq!(measured(&["f", "f"]), ["measurements[0].outputs[1]"]);
        assert_eq!(measured(&["f", "g"]), ["measurements[0].outputs[1]"]);
        assert_eq!(paths(start()), ["outputs[0]"]);
        let formula = Output::minimise("mass").with_formula("x");
        let known = start().output(formula.clone());
        let known = known.measurement(Measurement::new("run", ["f"], 1.0));
        assert!(paths(known).is_empty());
        let both = start().output(formula);
        let both = both.measurement(Measurement::new("run", ["f", "mass"], 1.0));
        assert_eq!(paths(both), ["measurements[0].outputs[1]"]);
    }

    #[test]
    fn limits_of_constraints_are_finite_and_there_is_an_objective() {
        let start = || Problem::builder().continuous("x", 0.0, 1.0).maximise("f", 1.0);
        for limit in [f64::NAN, f64::INFINITY] {
            let constrained = start().measured(Output::at_most("s", limit), 1.0);
            assert_eq!(paths(constrained), ["outputs[1].limit"]);
        }
        let log = start().measured(Output::at_least("s", -1.0).log_scale(), 1.0);
        assert_eq!(paths(log), ["outputs[1].limit"]);
        let alone = Problem::builder().continuous("x", 0.0, 1.0);
        assert_eq!(paths(alone.measured(Output::at_most("s", 1.0), 1.0)), ["outputs"]);
    }
}
