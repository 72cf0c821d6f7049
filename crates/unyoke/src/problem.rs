//! What is optimised: parameters, outputs and measurements as plain data, checked once.
//!
//! How their values become numbers between 0 and 1 is told in `space.rs`, not here.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Mistake, Result, near};

mod check;
mod written;

/// The most inputs of the models that a categorical parameter takes.
pub(crate) const MOST_INPUTS: usize = 32;

/// The parameters that can be chosen, the outputs that matter, and the measurements that give them.
///
/// Read from a file or built in code; [`check`](Self::check) tells all that is wrong with it.
///
/// ```
/// use unyoke::{Measurement, Output, Problem};
///
/// let problem = Problem::builder()
///     .continuous("length", 0.1, 2.0)
///     .continuous_log("rate", 1e-6, 1e-1)
///     .integer("layers", 1, 8)
///     .categorical("material", ["steel", "oak"])
///     // An objective with a cost is measured alone.
///     .maximise("strength", 40.0)
///     // One run that gives two outputs, one of them a constraint.
///     .output(Output::minimise("mass").noisy())
///     .output(Output::at_most("stress", 200.0))
///     .measurement(Measurement::new("fem", ["mass", "stress"], 10.0))
///     .build()?;
/// assert_eq!(problem.output_index("mass")?, 1);
/// assert_eq!(problem.measurement_index("fem")?, 1);
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "written::WrittenProblem")]
pub struct Problem {
    /// What can be chosen.
    pub parameters: Vec<Parameter>,
    /// What matters about a design: objectives and constraints.
    pub outputs: Vec<Output>,
    /// What one run gives, and what it costs.
    pub measurements: Vec<Measurement>,
    /// What designs must satisfy besides the bounds of each parameter.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
}

/// An inequality between parameters that every suggested design satisfies.
///
/// Numbers, names of parameters (in braces if they are more than letters, digits and underscores),
/// `+ - * / ^`, parentheses, `sqrt exp ln log log10 sin cos tan abs min max`, `pi` and `e`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limit {
    /// Its name.
    pub name: String,
    /// The inequality, as in `x1 + x2 <= 1` or `0 <= a - b <= 1`.
    pub formula: String,
}

/// Something to choose, with the values it can take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Parameter {
    /// Any number between two bounds; equal bounds make it a constant.
    Continuous {
        /// Its name in every design.
        name: String,
        /// The lowest value suggested.
        low: f64,
        /// The highest value suggested.
        high: f64,
        /// How distances between values are measured.
        #[serde(default, skip_serializing_if = "is_default")]
        scale: Scale,
        /// The distance between two values suggested, which are low, low + step and so on as far
        /// as high; without it, any number is.
        #[serde(default, skip_serializing_if = "is_default")]
        step: Option<f64>,
    },
    /// Any whole number between two bounds, both included.
    Integer {
        /// Its name in every design.
        name: String,
        /// The lowest value suggested.
        low: i64,
        /// The highest value suggested.
        high: i64,
        /// How distances between values are measured.
        #[serde(default, skip_serializing_if = "is_default")]
        scale: Scale,
    },
    /// One of a list of choices.
    Categorical {
        /// Its name in every design.
        name: String,
        /// The choices, all different.
        choices: Vec<String>,
        /// Whether they stand in an order in which neighbours are alike, as sizes do.
        #[serde(default, skip_serializing_if = "is_default")]
        ordered: bool,
    },
}

/// How distances between the values of a parameter are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// Equal differences count the same.
    #[default]
    Linear,
    /// Equal ratios count the same; for positive values.
    Log,
}

/// A quantity of a design: an objective, or a constraint.
///
/// ```
/// use unyoke::{Noise, Output};
///
/// let yield_ = Output::maximise("yield").known_noise(0.02);
/// assert_eq!(yield_.noise, Noise::Known { sd: 0.02 });
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "written::WrittenOutput", into = "written::WrittenOutput")]
pub struct Output {
    /// Its name.
    pub name: String,
    /// What is wanted of it.
    pub role: Role,
    /// The formula of the parameters that it is, if it is one: known everywhere, free, and never
    /// measured.
    pub formula: Option<String>,
    /// Whether its model is one of its values or of their logarithms; for positive outputs.
    pub scale: Scale,
    /// How much two measurements at the same design differ.
    pub noise: Noise,
    /// What is believed about its model before there are data.
    pub priors: Priors,
    /// The hyper-parameters of its model where they are known; nothing is fitted then.
    pub hyper: Option<KnownHyper>,
}

/// What is wanted of an output.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Role {
    /// As much or as little of it as possible.
    Objective(Direction),
    /// At most this much of it.
    AtMost(f64),
    /// At least this much of it.
    AtLeast(f64),
}

/// What one run gives, and what it costs.
///
/// ```
/// use unyoke::{Cost, Measurement};
///
/// let cfd = Measurement::new("cfd", ["lift", "drag"], Cost::formula("2 + 0.1 * cells"));
/// assert_eq!(cfd.outputs, ["lift", "drag"]);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measurement {
    /// Its name.
    pub name: String,
    /// The outputs it gives, by name.
    pub outputs: Vec<String>,
    /// The price of one evaluation, in any unit that all measurements share.
    pub cost: Cost,
}

/// What an evaluation costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Cost {
    /// The same everywhere.
    Constant(f64),
    /// A formula of the parameters.
    Formula(String),
    /// Learned from what evaluations turned out to cost.
    Learned(LearnedCost),
}

/// A cost that is learned from what evaluations turned out to cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LearnedCost {
    /// What is taken for the cost.
    pub learn: CostSource,
    /// What an evaluation is expected to cost before any has been made.
    pub guess: f64,
}

/// What is taken for the cost of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CostSource {
    /// How long it ran, in seconds.
    Time,
    /// The cost that comes with its result.
    Reported,
}

/// Whether more or less of an objective is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// More is better.
    #[serde(alias = "maximize")]
    Maximise,
    /// Less is better.
    #[serde(alias = "minimize")]
    Minimise,
}

/// How much two measurements of an objective at the same design differ.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Noise {
    /// Not at all.
    #[default]
    Deterministic,
    /// By an amount that the data must tell.
    Noisy,
    /// By a known amount.
    Known {
        /// Standard deviation of a measurement, in the units of the objective.
        sd: f64,
    },
}

/// What is believed about the model of an objective; `None` stands for the engine's own belief.
///
/// The beliefs concern inputs scaled to \[0, 1\] and outputs scaled to standard deviation 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Priors {
    /// Of each length scale.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lengthscale: Option<GammaPrior>,
    /// Of the variance of the objective over the designs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputscale: Option<GammaPrior>,
    /// Of the variance of the noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub noise: Option<GammaPrior>,
}

/// A gamma distribution: mean `shape / rate`, variance `shape / rate²`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GammaPrior {
    /// Its shape.
    pub shape: f64,
    /// Its rate, the inverse of its scale.
    pub rate: f64,
}

/// Hyper-parameters that are known, in the units of the objective and on inputs in \[0, 1\].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownHyper {
    /// One length scale per encoded input.
    pub lengthscales: Vec<f64>,
    /// Variance of the objective over the designs.
    pub outputscale: f64,
    /// Variance of the noise.
    pub noise: f64,
    /// Mean of the objective over the designs.
    pub mean: f64,
}

/// Whether writing a value down can be left out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Problem {
    /// Starts a problem without parameters or objectives.
    pub fn builder() -> ProblemBuilder {
        ProblemBuilder::default()
    }

    /// All the mistakes that can be seen without looking for designs.
    pub(crate) fn mistakes(&self) -> Vec<Mistake> {
        check::mistakes(self)
    }

    /// Fails only with mistakes that every version has refused. A journal may hold any of the others,
    /// written by a version that did not know them.
    pub(crate) fn check_replayable(&self) -> Result<()> {
        fail_with(check::contradictions(self))
    }

    /// Number of inputs of the models: one for a number, several for a choice.
    pub(crate) fn inputs(&self) -> usize {
        self.parameters.iter().map(Parameter::inputs).sum()
    }

    /// The place of the output called `name`.
    pub fn output_index(&self, name: &str) -> Result<usize> {
        let names = || self.outputs.iter().map(|output| output.name.as_str());
        names().position(|known| known == name).ok_or_else(|| Error::UnknownOutput {
            name: name.to_owned(),
            near: near(name, names()),
        })
    }

    /// The place of the measurement called `name`.
    pub fn measurement_index(&self, name: &str) -> Result<usize> {
        let names = || self.measurements.iter().map(|measurement| measurement.name.as_str());
        names().position(|known| known == name).ok_or_else(|| Error::UnknownMeasurement {
            name: name.to_owned(),
            near: near(name, names()),
        })
    }

    /// The objectives, with their places among the outputs.
    pub fn objectives(&self) -> impl Iterator<Item = (usize, &Output)> {
        self.outputs.iter().enumerate().filter(|(_, output)| output.is_objective())
    }

    /// The constraints, with their places among the outputs.
    pub fn constraints(&self) -> impl Iterator<Item = (usize, &Output)> {
        self.outputs.iter().enumerate().filter(|(_, output)| !output.is_objective())
    }

    /// The places of the outputs that measurement `m` gives.
    pub fn outputs_of(&self, m: usize) -> Vec<usize> {
        let names = self.measurements.get(m).map_or(&[][..], |measurement| &measurement.outputs);
        names.iter().filter_map(|name| self.output_index(name).ok()).collect()
    }
}

/// The mistakes as an error, if there are any.
fn fail_with(mistakes: Vec<Mistake>) -> Result<()> {
    if mistakes.is_empty() { Ok(()) } else { Err(Error::Invalid { mistakes }) }
}

impl Parameter {
    /// Number of inputs of the models that it takes.
    fn inputs(&self) -> usize {
        match self {
            Self::Continuous { .. } | Self::Integer { .. } => 1,
            Self::Categorical { ordered: true, .. } => 1,
            Self::Categorical { choices, .. } => choices.len().min(MOST_INPUTS),
        }
    }

    /// Its name in every design.
    pub fn name(&self) -> &str {
        match self {
            Self::Continuous { name, .. }
            | Self::Integer { name, .. }
            | Self::Categorical { name, .. } => name,
        }
    }
}

impl Output {
    /// A deterministic objective of which more is better.
    pub fn maximise(name: impl Into<String>) -> Self {
        Self::new(name.into(), Role::Objective(Direction::Maximise))
    }

    /// A deterministic objective of which less is better.
    pub fn minimise(name: impl Into<String>) -> Self {
        Self::new(name.into(), Role::Objective(Direction::Minimise))
    }

    /// A deterministic constraint: at most this much is acceptable.
    pub fn at_most(name: impl Into<String>, limit: f64) -> Self {
        Self::new(name.into(), Role::AtMost(limit))
    }

    /// A deterministic constraint: at least this much is acceptable.
    pub fn at_least(name: impl Into<String>, limit: f64) -> Self {
        Self::new(name.into(), Role::AtLeast(limit))
    }

    fn new(name: String, role: Role) -> Self {
        let (noise, priors) = (Noise::default(), Priors::default());
        Self { name, role, formula: None, scale: Scale::Linear, noise, priors, hyper: None }
    }

    /// The same output with noise of unknown size.
    pub fn noisy(self) -> Self {
        Self { noise: Noise::Noisy, ..self }
    }

    /// The same output with noise of standard deviation `sd`.
    pub fn known_noise(self, sd: f64) -> Self {
        Self { noise: Noise::Known { sd }, ..self }
    }

    /// The same output with a model of its logarithm: it is never predicted to be negative.
    pub fn log_scale(self) -> Self {
        Self { scale: Scale::Log, ..self }
    }

    /// The same output as a formula of the parameters.
    pub fn with_formula(self, formula: impl Into<String>) -> Self {
        Self { formula: Some(formula.into()), ..self }
    }

    /// The same output with other beliefs about its model.
    pub fn with_priors(self, priors: Priors) -> Self {
        Self { priors, ..self }
    }

    /// The same output with a model that is known.
    pub fn with_hyper(self, hyper: KnownHyper) -> Self {
        Self { hyper: Some(hyper), ..self }
    }

    /// Whether it is minimised or maximised; otherwise it is a constraint.
    pub fn is_objective(&self) -> bool {
        matches!(self.role, Role::Objective(_))
    }

    /// Whether more or less of it is better: for a constraint, towards its limit.
    pub fn direction(&self) -> Direction {
        match self.role {
            Role::Objective(direction) => direction,
            Role::AtMost(_) => Direction::Minimise,
            Role::AtLeast(_) => Direction::Maximise,
        }
    }

    /// The limit of a constraint.
    pub fn limit(&self) -> Option<f64> {
        match self.role {
            Role::Objective(_) => None,
            Role::AtMost(limit) | Role::AtLeast(limit) => Some(limit),
        }
    }
}

impl Measurement {
    /// A measurement of these outputs.
    pub fn new<O: Into<String>>(
        name: impl Into<String>,
        outputs: impl IntoIterator<Item = O>,
        cost: impl Into<Cost>,
    ) -> Self {
        let outputs = outputs.into_iter().map(Into::into).collect();
        Self { name: name.into(), outputs, cost: cost.into() }
    }
}

impl From<f64> for Cost {
    fn from(cost: f64) -> Self {
        Self::Constant(cost)
    }
}

impl Cost {
    /// A formula of the parameters.
    pub fn formula(text: impl Into<String>) -> Self {
        Self::Formula(text.into())
    }

    /// Learned from how long evaluations run, in seconds; `guess` is expected of the first.
    pub fn time(guess: f64) -> Self {
        Self::Learned(LearnedCost { learn: CostSource::Time, guess })
    }

    /// Learned from the costs that come with results; `guess` is expected of the first.
    pub fn reported(guess: f64) -> Self {
        Self::Learned(LearnedCost { learn: CostSource::Reported, guess })
    }
}

/// Collects parameters, outputs and measurements; see [`Problem::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "a problem exists once `build` is called"]
pub struct ProblemBuilder {
    parameters: Vec<Parameter>,
    outputs: Vec<Output>,
    measurements: Vec<Measurement>,
    limits: Vec<Limit>,
}

impl ProblemBuilder {
    /// Adds a number between `low` and `high`.
    pub fn continuous(self, name: impl Into<String>, low: f64, high: f64) -> Self {
        let name = name.into();
        self.parameter(Parameter::Continuous { name, low, high, scale: Scale::Linear, step: None })
    }

    /// Adds a number between `low` and `high` of which the ratios matter.
    pub fn continuous_log(self, name: impl Into<String>, low: f64, high: f64) -> Self {
        let name = name.into();
        self.parameter(Parameter::Continuous { name, low, high, scale: Scale::Log, step: None })
    }

    /// Adds a number that is `low`, `low + step` and so on as far as `high`.
    pub fn stepped(self, name: impl Into<String>, low: f64, high: f64, step: f64) -> Self {
        let (name, scale, step) = (name.into(), Scale::Linear, Some(step));
        self.parameter(Parameter::Continuous { name, low, high, scale, step })
    }

    /// Adds a whole number from `low` to `high`.
    pub fn integer(self, name: impl Into<String>, low: i64, high: i64) -> Self {
        let name = name.into();
        self.parameter(Parameter::Integer { name, low, high, scale: Scale::Linear })
    }

    /// Adds a whole number from `low` to `high` of which the ratios matter.
    pub fn integer_log(self, name: impl Into<String>, low: i64, high: i64) -> Self {
        let name = name.into();
        self.parameter(Parameter::Integer { name, low, high, scale: Scale::Log })
    }

    /// Adds a choice from a list.
    pub fn categorical<C: Into<String>>(
        self,
        name: impl Into<String>,
        choices: impl IntoIterator<Item = C>,
    ) -> Self {
        let choices = choices.into_iter().map(Into::into).collect();
        self.parameter(Parameter::Categorical { name: name.into(), choices, ordered: false })
    }

    /// Adds a choice from a list in which neighbours are alike, as sizes are.
    pub fn ordered<C: Into<String>>(
        self,
        name: impl Into<String>,
        choices: impl IntoIterator<Item = C>,
    ) -> Self {
        let choices = choices.into_iter().map(Into::into).collect();
        self.parameter(Parameter::Categorical { name: name.into(), choices, ordered: true })
    }

    /// Adds a parameter.
    pub fn parameter(mut self, parameter: Parameter) -> Self {
        self.parameters.push(parameter);
        self
    }

    /// Adds a deterministic objective of which more is better, measured alone at this cost.
    pub fn maximise(self, name: impl Into<String>, cost: impl Into<Cost>) -> Self {
        self.measured(Output::maximise(name), cost)
    }

    /// Adds a deterministic objective of which less is better, measured alone at this cost.
    pub fn minimise(self, name: impl Into<String>, cost: impl Into<Cost>) -> Self {
        self.measured(Output::minimise(name), cost)
    }

    /// Adds an output, and a measurement of the same name that gives it alone.
    pub fn measured(self, output: Output, cost: impl Into<Cost>) -> Self {
        let measurement = Measurement::new(output.name.clone(), [output.name.clone()], cost);
        self.output(output).measurement(measurement)
    }

    /// Adds an output; measurements say what gives it.
    pub fn output(mut self, output: Output) -> Self {
        self.outputs.push(output);
        self
    }

    /// Adds a measurement.
    pub fn measurement(mut self, measurement: Measurement) -> Self {
        self.measurements.push(measurement);
        self
    }

    /// Adds an inequality that every design must satisfy, as in `x1 + x2 <= 1`.
    pub fn limit(mut self, name: impl Into<String>, formula: impl Into<String>) -> Self {
        self.limits.push(Limit { name: name.into(), formula: formula.into() });
        self
    }

    /// The problem as it is.
    pub(crate) fn unchecked(self) -> Problem {
        let Self { parameters, outputs, measurements, limits } = self;
        Problem { parameters, outputs, measurements, limits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cases;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_problem_comes_back_from_json_as_it_went_in(problem in cases::problems()) {
            let text = serde_json::to_string(&problem).unwrap();
            prop_assert_eq!(serde_json::from_str::<Problem>(&text).unwrap(), problem);
        }
    }

    #[test]
    fn a_problem_is_written_as_a_user_would() {
        let text = r#"{"parameters":[{"type":"continuous","name":"x","low":0.0,"high":1.0},{"type":"integer","name":"n","low":1,"high":9,"scale":"log"},{"type":"categorical","name":"c","choices":["a","b"]}],"outputs":[{"name":"f","direction":"maximise"},{"name":"g","direction":"minimise","noise":{"known":{"sd":0.1}},"priors":{"noise":{"shape":1.1,"rate":0.5}},"hyper":{"lengthscales":[0.5],"outputscale":1.0,"noise":0.0,"mean":0.0}},{"name":"stress","at_most":200.0,"scale":"log"}],"measurements":[{"name":"f","outputs":["f"],"cost":1.0},{"name":"run","outputs":["g","stress"],"cost":{"learn":"time","guess":5.0}}]}"#;
        let gamma = GammaPrior { shape: 1.1, rate: 0.5 };
        let hyper = KnownHyper { lengthscales: vec![0.5], outputscale: 1.0, noise: 0.0, mean: 0.0 };
        let g = Output::minimise("g")
            .known_noise(0.1)
            .with_priors(Priors { noise: Some(gamma), ..Priors::default() })
            .with_hyper(hyper);
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .integer_log("n", 1, 9)
            .categorical("c", ["a", "b"])
            .maximise("f", 1.0)
            .output(g)
            .output(Output::at_most("stress", 200.0).log_scale())
            .measurement(Measurement::new("run", ["g", "stress"], Cost::time(5.0)))
            .build()
            .unwrap();
        assert_eq!(serde_json::to_string(&problem).unwrap(), text);
        assert_eq!(serde_json::from_str::<Problem>(text).unwrap(), problem);
    }

    #[test]
    fn an_objective_of_format_1_is_an_output_that_is_measured_alone() {
        let text = r#"{"parameters":[{"type":"continuous","name":"x","low":0.0,"high":1.0}],"objectives":[{"name":"f","direction":"maximise","cost":1.0},{"name":"g","direction":"minimise","cost":2.0,"noise":"noisy"}]}"#;
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .maximise("f", 1.0)
            .measured(Output::minimise("g").noisy(), 2.0)
            .build()
            .unwrap();
        assert_eq!(serde_json::from_str::<Problem>(text).unwrap(), problem);
    }

    #[test]
    fn steps_and_orders_are_written_only_where_there_are_any() {
        let problem = Problem::builder()
            .stepped("t", 0.0, 1.0, 0.25)
            .ordered("size", ["S", "M"])
            .maximise("f", 1.0)
            .build()
            .unwrap();
        let text = serde_json::to_string(&problem.parameters).unwrap();
        assert_eq!(
            text,
            r#"[{"type":"continuous","name":"t","low":0.0,"high":1.0,"step":0.25},{"type":"categorical","name":"size","choices":["S","M"],"ordered":true}]"#
        );
        assert_eq!(serde_json::from_str::<Vec<Parameter>>(&text).unwrap(), problem.parameters);
    }

    #[test]
    fn american_spelling_is_understood() {
        let read = |text| serde_json::from_str::<Direction>(text).unwrap();
        assert_eq!(read("\"maximize\""), Direction::Maximise);
        assert_eq!(read("\"minimize\""), Direction::Minimise);
    }

    #[test]
    fn unknown_fields_are_refused_everywhere() {
        let refused = |text| serde_json::from_str::<Problem>(text).is_err();
        assert!(refused(r#"{"parameters":[],"objectives":[],"extra":1}"#));
        assert!(refused(
            r#"{"parameters":[{"type":"integer","name":"n","low":0,"high":1,"step":2}],"objectives":[]}"#
        ));
        for extra in [r#""weight":1"#, r#""noise":{"known":{"sd":1,"x":1}}"#, r#""priors":{"x":1}"#]
        {
            let output = format!(r#"{{"name":"f","direction":"maximise",{extra}}}"#);
            assert!(serde_json::from_str::<Output>(&output).is_err(), "{extra}");
        }
        for role in [r#""direction":"maximise","at_most":1"#, r#""at_least":1,"at_most":1"#] {
            let output = format!(r#"{{"name":"f",{role}}}"#);
            assert!(serde_json::from_str::<Output>(&output).is_err(), "{role}");
        }
        assert!(serde_json::from_str::<Output>(r#"{"name":"f"}"#).is_err());
    }

    #[test]
    fn outputs_and_measurements_are_found_by_name_or_the_nearest_is_named() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).maximise("strength", 1.0);
        let problem = problem.build().unwrap();
        assert_eq!(problem.output_index("strength"), Ok(0));
        assert_eq!(problem.measurement_index("strength"), Ok(0));
        let (near, name) = (Some("strength".to_owned()), "strenght".to_owned());
        let unknown = Error::UnknownOutput { name: name.clone(), near: near.clone() };
        assert_eq!(problem.output_index(&name), Err(unknown));
        let unknown = Error::UnknownMeasurement { name: name.clone(), near };
        assert_eq!(problem.measurement_index(&name), Err(unknown));
    }
}
