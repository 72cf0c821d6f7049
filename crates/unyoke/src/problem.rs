//! What is optimised: parameters and objectives as plain data, checked once.
//!
//! How their values become numbers between 0 and 1 is told in `space.rs`, not here.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Mistake, Result, near};

mod check;

/// The most inputs of the models that a categorical parameter takes.
pub(crate) const MOST_INPUTS: usize = 32;

/// The parameters that can be chosen and the objectives that can be measured.
///
/// Read from a file or built in code; [`check`](Self::check) tells all that is wrong with it.
///
/// ```
/// use unyoke::{Objective, Problem};
///
/// let problem = Problem::builder()
///     .continuous("length", 0.1, 2.0)
///     .continuous_log("rate", 1e-6, 1e-1)
///     .integer("layers", 1, 8)
///     .categorical("material", ["steel", "oak"])
///     .maximise("strength", 40.0)
///     .objective(Objective::minimise("mass", 1.0).noisy())
///     .build()?;
/// assert_eq!(problem.objective_index("mass")?, 1);
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    /// What can be chosen.
    pub parameters: Vec<Parameter>,
    /// What can be measured.
    pub objectives: Vec<Objective>,
    /// What designs must satisfy besides the bounds of each parameter.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
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

/// Something to measure, and what a measurement costs.
///
/// ```
/// use unyoke::{Noise, Objective};
///
/// let yield_ = Objective::maximise("yield", 12.5).known_noise(0.02);
/// assert_eq!(yield_.noise, Noise::Known { sd: 0.02 });
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Its name.
    pub name: String,
    /// Whether more or less of it is better.
    pub direction: Direction,
    /// The price of one evaluation, in any unit that all objectives share.
    pub cost: f64,
    /// How much two measurements at the same design differ.
    #[serde(default, skip_serializing_if = "is_default")]
    pub noise: Noise,
    /// What is believed about its model before there are data.
    #[serde(default, skip_serializing_if = "is_default")]
    pub priors: Priors,
    /// The hyper-parameters of its model where they are known; nothing is fitted then.
    #[serde(default, skip_serializing_if = "is_default")]
    pub hyper: Option<KnownHyper>,
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

    /// The place of the objective called `name`.
    pub fn objective_index(&self, name: &str) -> Result<usize> {
        self.objectives.iter().position(|objective| objective.name == name).ok_or_else(|| {
            let known = self.objectives.iter().map(|objective| objective.name.as_str());
            Error::UnknownObjective { name: name.to_owned(), near: near(name, known) }
        })
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

impl Objective {
    /// A deterministic objective of which more is better.
    pub fn maximise(name: impl Into<String>, cost: f64) -> Self {
        Self::new(name.into(), Direction::Maximise, cost)
    }

    /// A deterministic objective of which less is better.
    pub fn minimise(name: impl Into<String>, cost: f64) -> Self {
        Self::new(name.into(), Direction::Minimise, cost)
    }

    fn new(name: String, direction: Direction, cost: f64) -> Self {
        let (noise, priors) = (Noise::default(), Priors::default());
        Self { name, direction, cost, noise, priors, hyper: None }
    }

    /// The same objective with noise of unknown size.
    pub fn noisy(self) -> Self {
        Self { noise: Noise::Noisy, ..self }
    }

    /// The same objective with noise of standard deviation `sd`.
    pub fn known_noise(self, sd: f64) -> Self {
        Self { noise: Noise::Known { sd }, ..self }
    }

    /// The same objective with other beliefs about its model.
    pub fn with_priors(self, priors: Priors) -> Self {
        Self { priors, ..self }
    }

    /// The same objective with a model that is known.
    pub fn with_hyper(self, hyper: KnownHyper) -> Self {
        Self { hyper: Some(hyper), ..self }
    }
}

/// Collects parameters and objectives; see [`Problem::builder`].
#[derive(Debug, Clone, Default)]
#[must_use = "a problem exists once `build` is called"]
pub struct ProblemBuilder {
    parameters: Vec<Parameter>,
    objectives: Vec<Objective>,
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

    /// Adds a deterministic objective of which more is better.
    pub fn maximise(self, name: impl Into<String>, cost: f64) -> Self {
        self.objective(Objective::maximise(name, cost))
    }

    /// Adds a deterministic objective of which less is better.
    pub fn minimise(self, name: impl Into<String>, cost: f64) -> Self {
        self.objective(Objective::minimise(name, cost))
    }

    /// Adds an objective.
    pub fn objective(mut self, objective: Objective) -> Self {
        self.objectives.push(objective);
        self
    }

    /// Adds an inequality that every design must satisfy, as in `x1 + x2 <= 1`.
    pub fn limit(mut self, name: impl Into<String>, formula: impl Into<String>) -> Self {
        self.limits.push(Limit { name: name.into(), formula: formula.into() });
        self
    }

    /// The problem as it is.
    pub(crate) fn unchecked(self) -> Problem {
        let Self { parameters, objectives, limits } = self;
        Problem { parameters, objectives, limits }
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
        let text = r#"{"parameters":[{"type":"continuous","name":"x","low":0.0,"high":1.0},{"type":"integer","name":"n","low":1,"high":9,"scale":"log"},{"type":"categorical","name":"c","choices":["a","b"]}],"objectives":[{"name":"f","direction":"maximise","cost":1.0},{"name":"g","direction":"minimise","cost":2.0,"noise":{"known":{"sd":0.1}},"priors":{"noise":{"shape":1.1,"rate":0.5}},"hyper":{"lengthscales":[0.5],"outputscale":1.0,"noise":0.0,"mean":0.0}}]}"#;
        let gamma = GammaPrior { shape: 1.1, rate: 0.5 };
        let hyper = KnownHyper { lengthscales: vec![0.5], outputscale: 1.0, noise: 0.0, mean: 0.0 };
        let g = Objective::minimise("g", 2.0)
            .known_noise(0.1)
            .with_priors(Priors { noise: Some(gamma), ..Priors::default() })
            .with_hyper(hyper);
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .integer_log("n", 1, 9)
            .categorical("c", ["a", "b"])
            .maximise("f", 1.0)
            .objective(g)
            .build()
            .unwrap();
        assert_eq!(serde_json::to_string(&problem).unwrap(), text);
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
            let objective = format!(r#"{{"name":"f","direction":"maximise","cost":1,{extra}}}"#);
            assert!(serde_json::from_str::<Objective>(&objective).is_err(), "{extra}");
        }
    }

    #[test]
    fn an_objective_is_found_by_name_or_the_nearest_is_named() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).maximise("strength", 1.0);
        let problem = problem.build().unwrap();
        assert_eq!(problem.objective_index("strength"), Ok(0));
        let near = Some("strength".to_owned());
        let name = "strenght".to_owned();
        assert_eq!(
            problem.objective_index("strenght"),
            Err(Error::UnknownObjective { name, near })
        );
    }
}
