//! How a study searches: plain settings with defaults that suit most problems.

use crate::error::{Error, Mistake, near};
use crate::importance;
use crate::problem::{Direction, Problem, Scale};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Most objectives that NEHVI is for: the boxes it sums over multiply with each.
const NEHVI_OBJECTIVES: usize = 3;

/// No effort or list is larger: what is ten times the largest that was ever of use.
const LARGEST_NUMBER: usize = 1_000_000;

/// With smaller numbers, draws from a Dirichlet distribution underflow.
const SMALLEST_DIRICHLET: f64 = 1e-300;

/// Settings of a study. [`Config::default`] is for users, [`Config::paper`] for the paper's
/// experiment.
///
/// ```
/// use unyoke::{Algorithm, Config};
///
/// let config = Config { algorithm: Algorithm::CMokgRandom, ..Config::default() };
/// assert_eq!(config.weights, 16);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// Which acquisition function chooses.
    // Every journal says which; what does not is older than there was a choice.
    #[serde(default = "Algorithm::of_format_1")]
    pub algorithm: Algorithm,
    /// Designs evaluated before any model is trusted.
    pub initial: Initial,
    /// Weight vectors Q over which an expectation over scalarisations is taken.
    pub weights: usize,
    /// Which weight vectors matter.
    pub preference: Preference,
    /// What somebody with certain weights makes of the objectives.
    #[serde(skip_serializing_if = "is_default")]
    pub utility: Utility,
    /// For some objectives, a value beyond which more is worth nothing, in its own units.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub enough: BTreeMap<String, f64>,
    /// The units in which objectives are weighed against each other.
    pub units: Units,
    /// Whether inputs share a length scale.
    pub lengthscales: Lengthscales,
    /// What is expected of the length scales of a model before there is data.
    // Studies begun before there was a choice go on as they were.
    #[serde(default = "LengthscalePrior::of_format_1")]
    pub lengthscale_prior: LengthscalePrior,
    /// How closely models follow the values of objectives that are declared deterministic.
    // Studies begun before there was a choice go on as they were.
    #[serde(default = "Deterministic::of_format_1")]
    pub deterministic: Deterministic,
    /// Whether it is learned where runs fail.
    // Studies begun before it could be go on as they were.
    #[serde(default = "Failures::of_format_1")]
    pub failures: Failures,
    /// Whether it is learned how outputs are correlated.
    // Studies begun before it could be go on as they were.
    #[serde(default = "Correlations::of_earlier_studies")]
    pub correlations: Correlations,
    /// What evaluations under way count as until their results arrive.
    // Studies begun before there was a choice go on as they were.
    #[serde(default = "Pending::of_earlier_studies")]
    pub pending: Pending,
    /// What becomes of values that are far from all others.
    // Studies begun before there was a choice go on as they were.
    #[serde(default = "Outliers::of_earlier_studies")]
    pub outliers: Outliers,
    /// Whether it is learned that an objective has its best possible value already.
    // Studies begun before it could be go on as they were.
    #[serde(default = "BestPossible::of_earlier_studies")]
    pub best_possible: BestPossible,
    /// By what designs are chosen from the front for whoever weighs objectives.
    // Studies begun before there was a choice go on as they were.
    #[serde(default = "Recommendations::of_earlier_studies")]
    pub recommendations: Recommendations,
    /// Designs among which the best one is imagined to be chosen after an evaluation.
    pub discretisation: Discretisation,
    /// Effort of maximising the acquisition function.
    pub search: Search,
    /// Effort of finding the predicted Pareto set.
    pub front: FrontSearch,
    /// A value of each objective that is just not acceptable, in its own units: hypervolumes and
    /// Chebyshev utilities count from there. Default: the worst value on the predicted front less a
    /// tenth of the front's range, at each step anew; `auto` and `hvkg-exact` leave out ends of the
    /// front that buy next to nothing in one objective for a lot of another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<BTreeMap<String, f64>>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::default(),
            initial: Initial::default(),
            weights: 16,
            preference: Preference::default(),
            utility: Utility::default(),
            enough: BTreeMap::new(),
            units: Units::default(),
            lengthscales: Lengthscales::default(),
            lengthscale_prior: LengthscalePrior::default(),
            deterministic: Deterministic::default(),
            failures: Failures::default(),
            correlations: Correlations::default(),
            pending: Pending::default(),
            outliers: Outliers::default(),
            best_possible: BestPossible::default(),
            recommendations: Recommendations::default(),
            discretisation: Discretisation::default(),
            search: Search::default(),
            front: FrontSearch::default(),
            reference: None,
        }
    }
}

impl Config {
    /// The settings of the published experiment, for problems with two parameters: six initial
    /// designs, an 11 × 11 grid of designs to compare, 16 weights, a length scale per input, weights
    /// in the objectives' own units.
    pub fn paper() -> Self {
        Self {
            algorithm: Algorithm::CMokg,
            initial: Initial { designs: Some(6), ..Initial::default() },
            units: Units::Raw,
            lengthscales: Lengthscales::PerInput,
            lengthscale_prior: LengthscalePrior::Separate,
            deterministic: Deterministic::Smoothed,
            correlations: Correlations::Ignored,
            pending: Pending::Expected,
            outliers: Outliers::Kept,
            best_possible: BestPossible::Ignored,
            recommendations: Recommendations::Expected,
            discretisation: Discretisation::Grid { per_input: 11 },
            front: FrontSearch { population: 1000, generations: 100 },
            ..Self::default()
        }
    }

    /// Fails with all that is wrong with these settings for `problem`, each with its place.
    ///
    /// ```
    /// use unyoke::{Config, Problem};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("mass", 1.0).build()?;
    /// let error = Config { weights: 0, ..Config::default() }.check(&problem).unwrap_err();
    /// assert_eq!(error.to_string(), "config.weights: must be at least 1");
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn check(&self, problem: &Problem) -> Result<(), Error> {
        let mistakes = self.mistakes(problem);
        if mistakes.is_empty() { Ok(()) } else { Err(Error::Invalid { mistakes }) }
    }

    /// Fails only with mistakes that every version has refused. A journal may hold any of the others,
    /// written by a version that did not know them.
    pub(crate) fn check_replayable(&self, problem: &Problem) -> Result<(), Error> {
        let mistakes = self.contradictions(problem);
        if mistakes.is_empty() { Ok(()) } else { Err(Error::Invalid { mistakes }) }
    }

    pub(crate) fn mistakes(&self, problem: &Problem) -> Vec<Mistake> {
        let mut mistakes = self.contradictions(problem);
        mistakes.extend(self.excesses());
        mistakes.extend(self.no_fantasies());
        mistakes.extend(self.preference.too_small());
        mistakes.extend(self.preference.unusable(problem));
        mistakes.extend(self.wrong_enough(problem));
        mistakes.extend(self.unsuited_utility(problem));
        mistakes.extend(self.unsuited_algorithm(problem));
        mistakes.extend(self.unsuited_measurement(problem));
        mistakes
    }

    /// A measurement of several outputs for an algorithm that values one objective at a time.
    fn unsuited_measurement(&self, problem: &Problem) -> Option<Mistake> {
        let one = match self.algorithm {
            Algorithm::HvkgD | Algorithm::JesLbD => true,
            Algorithm::HvkgExact => problem.objectives().count() > 3,
            _ => false,
        };
        let several = problem.measurements.iter().find(|m| m.outputs.len() > 1);
        let measurement = several.filter(|_| one)?;
        let (algorithm, name) = (self.algorithm.name(), &measurement.name);
        let message =
            format!("{algorithm} values one output at a time, {name} gives several; use c-mokg");
        Some(Mistake { path: "config.algorithm".to_owned(), message })
    }

    /// An algorithm that knows nothing of what the problem has.
    fn unsuited_algorithm(&self, problem: &Problem) -> Option<Mistake> {
        let constrained = problem.constraints().next().is_some();
        let known = problem.outputs.iter().any(|output| output.formula.is_some());
        let what = match (constrained, known) {
            (true, _) => "constraints",
            (false, true) => "outputs that are formulas",
            (false, false) => return None,
        };
        let message = format!("{} does not know {what}; use c-mokg", self.algorithm.name());
        let path = "config.algorithm".to_owned();
        (!self.algorithm.knows_constraints()).then_some(Mistake { path, message })
    }

    /// What the user wants, which may change during a study.
    pub fn wishes(&self) -> Wishes {
        Wishes {
            preference: self.preference.clone(),
            units: self.units,
            utility: self.utility,
            enough: self.enough.clone(),
            reference: self.reference.clone(),
        }
    }

    /// These settings with other wishes.
    pub fn with_wishes(self, wishes: Wishes) -> Self {
        let Wishes { preference, units, utility, enough, reference } = wishes;
        Self { preference, units, utility, enough, reference, ..self }
    }

    /// Whether designs are worth more than a weighted sum of what is expected of them.
    pub(crate) fn is_linear(&self) -> bool {
        self.utility == Utility::Linear && self.enough.is_empty()
    }

    /// Values that cannot be enough.
    fn wrong_enough(&self, problem: &Problem) -> Vec<Mistake> {
        let mistake = |(name, value): (&String, &f64)| {
            let found = problem.objectives().find(|(_, objective)| objective.name == *name);
            let reference = self.reference.as_ref().and_then(|point| point.get(name));
            let worse = |r: &&f64| match found.map(|(_, objective)| objective.direction()) {
                Some(Direction::Minimise) => *value >= **r,
                _ => *value <= **r,
            };
            let message = match found {
                None => "there is no objective of this name".to_owned(),
                Some(_) if !value.is_finite() => "must be a finite number".to_owned(),
                Some((_, one)) if one.scale == Scale::Log && *value <= 0.0 => {
                    "must be positive: the objective is on a log scale".to_owned()
                }
                Some(_) => {
                    let reference = reference.filter(worse)?;
                    format!("is {value}, but must be better than the reference, {reference}")
                }
            };
            Some(Mistake { path: format!("config.enough.{name}"), message })
        };
        self.enough.iter().filter_map(mistake).collect()
    }

    /// Algorithms and measurements that know weighted sums only.
    fn unsuited_utility(&self, problem: &Problem) -> Option<Mistake> {
        let (path, what) = match (self.utility, self.enough.keys().next()) {
            (Utility::Chebyshev, _) => ("config.utility".to_owned(), "Chebyshev utilities"),
            (Utility::Linear, Some(name)) => (format!("config.enough.{name}"), "what is enough"),
            (Utility::Linear, None) => return None,
        };
        if self.algorithm == Algorithm::Sobol {
            return None;
        }
        if !self.algorithm.knows_utilities() {
            let message = format!("{} does not know {what}; use c-mokg", self.algorithm.name());
            return Some(Mistake { path, message });
        }
        let several = problem.measurements.iter().find(|m| m.outputs.len() > 1)?;
        let message = format!(
            "{what} cannot be valued yet where one run gives several outputs, as {} does",
            several.name
        );
        Some(Mistake { path, message })
    }

    /// An average over nothing.
    fn no_fantasies(&self) -> Option<Mistake> {
        let (path, message) =
            ("config.pending.fantasies".to_owned(), "must be at least 1".to_owned());
        (self.pending == Pending::Fantasies(0)).then_some(Mistake { path, message })
    }

    /// Numbers so large that a search would never end or not fit into memory.
    fn excesses(&self) -> Vec<Mistake> {
        let points = match self.discretisation {
            Discretisation::Adaptive { points } => ("discretisation.adaptive.points", points),
            Discretisation::Sobol { points } => ("discretisation.sobol.points", points),
            // The size of a grid has a limit of its own.
            Discretisation::Grid { .. } | Discretisation::Auto => ("discretisation", 0),
        };
        let list = match &self.preference {
            Preference::Weights(list) => list.len(),
            Preference::Importance(statements) => statements.len(),
            _ => 0,
        };
        let numbers = [
            ("initial.designs", self.initial.designs.unwrap_or(0)),
            ("weights", self.weights),
            ("preference.weights", list),
            points,
            ("search.raw", self.search.raw),
            ("search.restarts", self.search.restarts),
            ("search.iterations", self.search.iterations),
            ("front.population", self.front.population),
            ("front.generations", self.front.generations),
        ];
        let numbers = numbers.map(|(path, number)| (format!("config.{path}"), number));
        let per_measurement = self.initial.per_measurement.iter();
        let per_measurement = per_measurement
            .map(|(name, number)| (format!("config.initial.per_measurement.{name}"), *number));
        let excess = |(path, number): (String, usize)| {
            let message = format!("is {number}, but must be at most {LARGEST_NUMBER}");
            (number > LARGEST_NUMBER).then_some(Mistake { path, message })
        };
        numbers.into_iter().chain(per_measurement).filter_map(excess).collect()
    }

    /// What every version has refused: a replay cannot do without.
    fn contradictions(&self, problem: &Problem) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        let mut refuse = |wrong: bool, path: String, message: &str| {
            if wrong {
                mistakes.push(Mistake { path, message: message.to_owned() });
            }
        };
        refuse(self.weights == 0, "config.weights".into(), "must be at least 1");
        refuse(self.search.raw == 0, "config.search.raw".into(), "must be at least 1");
        refuse(self.search.restarts == 0, "config.search.restarts".into(), "must be at least 1");
        refuse(self.front.population == 0, "config.front.population".into(), "must be at least 1");
        let many = problem.objectives().count() > NEHVI_OBJECTIVES;
        refuse(
            many && self.algorithm == Algorithm::Nehvi,
            "config.algorithm".into(),
            "nehvi is for at most three objectives",
        );
        for name in self.initial.per_measurement.keys() {
            let unknown = problem.measurement_index(name).is_err();
            let path = format!("config.initial.per_measurement.{name}");
            refuse(unknown, path, "there is no measurement of this name");
        }
        match self.discretisation {
            Discretisation::Grid { per_input } => {
                let size = (per_input as f64).powi(problem.parameters.len() as i32);
                let path = "config.discretisation.grid.per_input".to_owned();
                refuse(per_input < 2, path.clone(), "must be at least 2");
                refuse(size > 1e4, path, "a grid of more than 10,000 points; use adaptive");
            }
            Discretisation::Adaptive { points } => {
                let path = "config.discretisation.adaptive.points".to_owned();
                refuse(points == 0, path, "must be at least 1");
            }
            Discretisation::Sobol { points } => {
                let path = "config.discretisation.sobol.points".to_owned();
                refuse(points == 0, path, "must be at least 1");
            }
            Discretisation::Auto => {}
        }
        mistakes.extend(self.preference.check(problem.objectives().count()));
        mistakes.extend(self.reference.iter().flat_map(|point| check_reference(point, problem)));
        mistakes
    }
}

/// All that is wrong with a reference point.
fn check_reference(point: &BTreeMap<String, f64>, problem: &Problem) -> Vec<Mistake> {
    let mistake = |name: &str, message: &str| Mistake {
        path: format!("config.reference.{name}"),
        message: message.to_owned(),
    };
    let given = point.iter().filter_map(|(name, value)| {
        if problem.objectives().all(|(_, objective)| objective.name != *name) {
            return Some(mistake(name, "there is no objective of this name"));
        }
        (!value.is_finite()).then(|| mistake(name, "must be a finite number"))
    });
    let missing =
        problem.objectives().filter(|(_, objective)| !point.contains_key(&objective.name));
    let missing = missing.map(|(_, objective)| mistake(&objective.name, "needs a value too"));
    given.chain(missing).collect()
}

/// Which acquisition function chooses what to evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Algorithm {
    /// C-MOKG and, where whole fronts are wanted, the hypervolume knowledge gradient in closed form
    /// added to it: the more, the more parameters there are. C-MOKG alone where there are constraints or
    /// failures, where one run gives several of more than three objectives, and for whoever says which
    /// weights matter.
    #[default]
    #[serde(alias = "blend")]
    Auto,
    /// Cost-weighted multi-objective knowledge gradient in expectation over weights, Eq. (8)-(9).
    CMokg,
    /// The same for one weight vector per step, the next of a Sobol' sequence.
    CMokgRandom,
    /// Multi-attribute knowledge gradient, Eq. (6): all objectives at each design. The imagined
    /// observation is that of the weighted sum, as in the published benchmark.
    Makg,
    /// The same for one weight vector per step.
    MakgRandom,
    /// Multi-attribute knowledge gradient of observing the whole vector of objectives, exactly.
    MakgVector,
    /// Hypervolume knowledge gradient, one objective at a time (Daulton et al. 2023).
    HvkgD,
    /// Hypervolume knowledge gradient, all objectives at each design.
    HvkgC,
    /// Hypervolume knowledge gradient in closed form, one objective at a time.
    HvkgExact,
    /// Joint entropy search by its lower bound (Tu et al. 2022), one objective at a time.
    JesLbD,
    /// The same with all objectives at each design.
    JesLbC,
    /// ParEGO (Knowles 2006): expected improvement of one random scalarisation per step, all
    /// objectives at each design.
    Parego,
    /// Noisy expected hypervolume improvement (Daulton et al. 2021), all objectives at each design;
    /// for at most three objectives.
    Nehvi,
    /// Space-filling designs, all objectives at each: the floor that others must beat.
    Sobol,
}

impl Algorithm {
    fn of_format_1() -> Self {
        Self::CMokg
    }

    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Auto,
        Self::CMokg,
        Self::CMokgRandom,
        Self::Makg,
        Self::MakgRandom,
        Self::MakgVector,
        Self::HvkgD,
        Self::HvkgC,
        Self::HvkgExact,
        Self::JesLbD,
        Self::JesLbC,
        Self::Parego,
        Self::Nehvi,
        Self::Sobol,
    ];

    /// The name used in files and on the command line.
    ///
    /// ```
    /// use unyoke::Algorithm;
    ///
    /// assert_eq!(Algorithm::JesLbD.name(), "jes-lb-d");
    /// assert_eq!("jes-lb-d".parse(), Ok(Algorithm::JesLbD));
    /// ```
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::CMokg => "c-mokg",
            Self::CMokgRandom => "c-mokg-random",
            Self::Makg => "makg",
            Self::MakgRandom => "makg-random",
            Self::MakgVector => "makg-vector",
            Self::HvkgD => "hvkg-d",
            Self::HvkgC => "hvkg-c",
            Self::HvkgExact => "hvkg-exact",
            Self::JesLbD => "jes-lb-d",
            Self::JesLbC => "jes-lb-c",
            Self::Parego => "parego",
            Self::Nehvi => "nehvi",
            Self::Sobol => "sobol",
        }
    }

    /// Whether everything is measured at each design.
    pub fn is_coupled(self) -> bool {
        !matches!(
            self,
            Self::Auto
                | Self::CMokg
                | Self::CMokgRandom
                | Self::HvkgD
                | Self::HvkgExact
                | Self::JesLbD
        )
    }

    /// Whether it values constraints and outputs that are formulas.
    fn knows_constraints(self) -> bool {
        matches!(
            self,
            Self::Auto | Self::CMokg | Self::CMokgRandom | Self::MakgVector | Self::Sobol
        )
    }

    /// Whether it values what a measurement of one objective tells about the others.
    pub(crate) fn knows_correlations(self) -> bool {
        matches!(self, Self::Auto | Self::CMokg | Self::CMokgRandom | Self::HvkgExact)
    }

    /// Whether its gains are averaged over what evaluations under way may return.
    pub(crate) fn imagines_pending(self) -> bool {
        matches!(self, Self::Auto | Self::CMokg | Self::CMokgRandom | Self::HvkgExact)
    }

    /// Whether it values utilities that are not weighted sums.
    fn knows_utilities(self) -> bool {
        matches!(self, Self::Auto | Self::CMokg | Self::CMokgRandom)
    }

    /// Whether its gains are utilities averaged over the weights, so that one can tell whether an
    /// evaluation is worth its cost.
    pub fn values_utility(self) -> bool {
        matches!(self, Self::Auto | Self::CMokg | Self::Makg | Self::MakgVector)
    }

    /// Whether each step looks at a single weight vector.
    pub(crate) fn is_random(self) -> bool {
        matches!(self, Self::CMokgRandom | Self::MakgRandom | Self::Parego)
    }
}

impl std::str::FromStr for Algorithm {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let names = || Self::ALL.map(Self::name);
        let found = Self::ALL.into_iter().find(|algorithm| algorithm.name() == name);
        found.ok_or_else(|| Error::UnknownAlgorithm {
            name: name.to_owned(),
            near: near(name, names()),
            known: names().join(", "),
        })
    }
}

/// Designs evaluated before any model is trusted: scrambled Sobol' points, everything measured at
/// each.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Initial {
    /// How many; default 2 (D + 1) for D parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub designs: Option<usize>,
    /// Other numbers for some measurements: an expensive one may deserve fewer.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", alias = "per_objective")]
    pub per_measurement: BTreeMap<String, usize>,
}

/// The distribution of decision makers, as weights of the objectives.
///
/// ```
/// use unyoke::{Config, Preference};
///
/// // Three times as much weight on the first objective as on the second, give or take.
/// let around = Config { preference: Preference::Dirichlet(vec![6.0, 2.0]), ..Config::default() };
/// // Two decision makers, each with a trade-off of their own.
/// let two = Preference::Weights(vec![vec![0.8, 0.2], vec![0.5, 0.5]]);
/// assert_ne!(around.preference, two);
/// ```
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Preference {
    /// Every weight vector is as likely as any other.
    #[default]
    Uniform,
    /// A Dirichlet distribution: larger numbers, more weight; all larger, more concentrated.
    Dirichlet(Vec<f64>),
    /// These weight vectors, equally likely.
    Weights(Vec<Vec<f64>>),
    /// Every weight vector is as likely as any other for which these statements hold, inequalities
    /// between the weights of objectives by name: `drag >= 2 * mass`, `0.2 <= drag <= 0.5`. Weights
    /// sum to 1.
    Importance(Vec<String>),
}

/// What somebody with certain weights makes of the objectives' values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Utility {
    /// Their weighted sum: a loss in one objective is made good by a gain in another.
    #[default]
    Linear,
    /// The objective that is the furthest behind, in proportion to the weights, and little else: a
    /// balanced design. All designs of a front are best for some weights, dents included.
    Chebyshev,
}

/// What the user wants of the objectives. It may change during a study; see
/// [`Study::amend`](crate::Study::amend).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Wishes {
    /// See [`Config::preference`].
    pub preference: Preference,
    /// See [`Config::units`].
    pub units: Units,
    /// See [`Config::utility`].
    pub utility: Utility,
    /// See [`Config::enough`].
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub enough: BTreeMap<String, f64>,
    /// See [`Config::reference`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<BTreeMap<String, f64>>,
}

/// Whether writing a value down can be left out.
fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Preference {
    /// Numbers of a Dirichlet distribution from which no weights can be drawn.
    fn too_small(&self) -> Option<Mistake> {
        let Self::Dirichlet(parameters) = self else { return None };
        let is_too_small = |p: &&f64| **p > 0.0 && **p < SMALLEST_DIRICHLET;
        let smallest = parameters.iter().find(is_too_small)?;
        let path = "config.preference.dirichlet".to_owned();
        let message = format!("holds {smallest:e}, but must hold numbers of at least 1e-300");
        Some(Mistake { path, message })
    }

    /// Statements that no weights can be drawn from.
    fn unusable(&self, problem: &Problem) -> Vec<Mistake> {
        let Self::Importance(statements) = self else { return vec![] };
        let names: Vec<&str> = problem.objectives().map(|(_, one)| one.name.as_str()).collect();
        let mistake = |(place, message)| Mistake {
            path: format!("config.preference.importance[{place}]"),
            message,
        };
        importance::mistakes(statements, &names).into_iter().map(mistake).collect()
    }

    fn check(&self, objectives: usize) -> Vec<Mistake> {
        let refuse = |path: String, message: String| vec![Mistake { path, message }];
        match self {
            Self::Uniform | Self::Importance(_) => vec![],
            Self::Dirichlet(parameters) => {
                let path = "config.preference.dirichlet".to_owned();
                if parameters.len() != objectives {
                    return refuse(path, format!("needs {objectives} numbers, one per objective"));
                }
                if parameters.iter().any(|p| !(p.is_finite() && *p > 0.0)) {
                    return refuse(path, "every number must be positive and finite".to_owned());
                }
                vec![]
            }
            Self::Weights(list) if list.is_empty() => {
                refuse("config.preference.weights".to_owned(), "needs a weight vector".to_owned())
            }
            Self::Weights(list) => {
                let check = |(i, weights): (usize, &Vec<f64>)| {
                    let reason = weights_mistake(weights, objectives)?;
                    Some(Mistake {
                        path: format!("config.preference.weights[{i}]"),
                        message: reason,
                    })
                };
                list.iter().enumerate().filter_map(check).collect()
            }
        }
    }
}

/// What is wrong with a weight vector, if anything.
pub(crate) fn weights_mistake(weights: &[f64], objectives: usize) -> Option<String> {
    if weights.len() != objectives {
        return Some(format!(
            "needs {objectives} weights, one per objective, not {}",
            weights.len()
        ));
    }
    if weights.iter().any(|w| !(w.is_finite() && *w >= 0.0)) {
        return Some("weights must be finite and not negative".to_owned());
    }
    let sum: f64 = weights.iter().sum();
    (!(sum.is_finite() && sum > 0.0)).then(|| "weights must sum to something positive".to_owned())
}

/// The units in which objectives are weighed against each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Units {
    /// Standard deviations of what was observed: metres or millimetres, the same choice.
    #[default]
    Standardised,
    /// The objectives' own units, as in the paper's experiment.
    Raw,
}

/// Whether inputs share a length scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lengthscales {
    /// One for all inputs.
    Isotropic,
    /// One for each input: some matter more than others.
    #[default]
    PerInput,
}

/// What is expected of the length scales of a model before there is data. An objective's own prior takes
/// the place of the distributions here: of what its length scales have in common, or of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthscalePrior {
    /// Those of different parameters are alike, within a factor of two or so; from three parameters
    /// on they may all be long. All inputs of a categorical parameter have the same.
    #[default]
    Alike,
    /// Each says nothing of the others, and none is long: Gamma(3, 6/s), as published.
    Separate,
}

impl LengthscalePrior {
    fn of_format_1() -> Self {
        Self::Separate
    }

    /// The standard deviation of the logarithms of a model's length scales.
    pub(crate) fn spread(self) -> Option<f64> {
        match self {
            Self::Alike => Some(0.5),
            Self::Separate => None,
        }
    }
}

/// How closely models follow the values of objectives that are declared deterministic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deterministic {
    /// To a thousandth of their standard deviation, or less closely where that explains the values
    /// better: no stationary model follows kinks, steps and steep ends to a thousandth without becoming
    /// unsure of everything else. Where an objective is known as well as a value there would make it
    /// known, it is not measured again.
    Adaptive,
    /// To a thousandth of their standard deviation, whatever the values, in all that is searched for; fronts
    /// and other predictions are those of `Adaptive`. Where an objective is known that well, it is not
    /// measured again: the value would only repeat what is known.
    #[default]
    Interpolated,
    /// To a hundredth, as published. A model then believes that measuring right beside a known
    /// value teaches something, which no measurement without noise does.
    Smoothed,
}

impl Deterministic {
    fn of_format_1() -> Self {
        Self::Smoothed
    }

    /// The noise variance of the models, as a fraction of the observed variance; the least one if it is
    /// adapted.
    pub(crate) fn noise(self) -> f64 {
        match self {
            Self::Adaptive | Self::Interpolated => 1e-6,
            Self::Smoothed => 1e-4,
        }
    }
}

/// Whether it is learned where runs fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failures {
    /// The probability that a run fails depends on the design: it is learned, and enters values and
    /// fronts.
    #[default]
    Learned,
    /// Failures have nothing to do with designs, as when a machine breaks down. Only the design that
    /// failed is not tried again.
    Ignored,
}

impl Failures {
    fn of_format_1() -> Self {
        Self::Ignored
    }
}

/// Whether it is learned how outputs are correlated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Correlations {
    /// Objectives are modelled together wherever their values speak for a correlation, so that a
    /// measurement of one tells about the others; see `docs/correlated.md`.
    #[default]
    Learned,
    /// Each output has a model of its own.
    Ignored,
}

impl Correlations {
    fn of_earlier_studies() -> Self {
        Self::Ignored
    }
}

/// Whether it is learned that an objective has its best possible value already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BestPossible {
    /// Where designs far apart have the best value in common, and hardly any have another, nothing better
    /// is searched for; see `docs/best-possible.md`. Algorithms other than `auto`, `c-mokg`, `c-mokg-random`
    /// and `hvkg-exact` do not know of it, nor do studies with constraints, failures, measurements of
    /// several outputs or utilities that are not linear.
    #[default]
    Learned,
    /// There might always be something better.
    Ignored,
}

impl BestPossible {
    fn of_earlier_studies() -> Self {
        Self::Ignored
    }
}

/// By what designs are chosen from the front for whoever weighs objectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recommendations {
    /// From three parameters on by values that are reached with a probability of 0.7: of designs that promise
    /// about the same, the one of which more is known; see `docs/recommendation.md`. Which designs are on
    /// the front is decided by what is expected, and so are choices by utilities that are not linear: these
    /// shun what is uncertain by themselves.
    #[default]
    Steady,
    /// By what is expected, as published.
    Expected,
}

impl Recommendations {
    fn of_earlier_studies() -> Self {
        Self::Expected
    }
}

/// What evaluations under way count as until their results arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pending {
    /// As if they had returned what is expected of them.
    #[default]
    Expected,
    /// Gains are averaged over so many draws of what all of them may return together, which takes so
    /// many times as long; see `docs/parallel.md`. Algorithms other than `auto`, `c-mokg`, `c-mokg-random` and `hvkg-exact` go
    /// by what is expected.
    Fantasies(u16),
}

impl Pending {
    fn of_earlier_studies() -> Self {
        Self::Expected
    }

    /// How many draws are averaged over; none where what is expected counts.
    pub(crate) fn draws(self) -> usize {
        match self {
            Self::Expected => 0,
            Self::Fantasies(draws) => draws.into(),
        }
    }
}

/// What becomes of values that are far from all others, such as the 1e6 of a solver that diverged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outliers {
    /// They do not ruin models: those that contradict their neighbours do not count, and bad ones
    /// that are far out count as a value just worse than all others; see `docs/outliers.md`.
    #[default]
    Handled,
    /// They count as they are.
    Kept,
}

impl Outliers {
    fn of_earlier_studies() -> Self {
        Self::Kept
    }
}

/// Designs among which the best one is imagined to be chosen after an evaluation, Eq. (10).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Discretisation {
    /// Up to two continuous parameters a grid, to which the designs that are best now for the
    /// step's weights are added; adaptive otherwise.
    #[default]
    Auto,
    /// Equally spaced points, this many per input.
    Grid {
        /// Points along each input.
        per_input: usize,
    },
    /// Designs that follow the problem: best for some weights, predicted Pareto set, observed
    /// designs, and a space-filling remainder.
    Adaptive {
        /// How many.
        points: usize,
    },
    /// Space-filling designs, the same at every step: the floor that others must beat.
    Sobol {
        /// How many.
        points: usize,
    },
}

/// Effort of maximising the acquisition function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Search {
    /// Designs at which it is looked at first.
    pub raw: usize,
    /// How many of them to climb from.
    pub restarts: usize,
    /// Iterations of each climb, at most.
    pub iterations: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { raw: 256, restarts: 16, iterations: 60 }
    }
}

/// Effort of finding the predicted Pareto set by NSGA-II.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FrontSearch {
    /// Individuals.
    pub population: usize,
    /// Generations.
    pub generations: usize,
}

impl Default for FrontSearch {
    fn default() -> Self {
        Self { population: 200, generations: 100 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_one_name_in_code_and_files() {
        for algorithm in Algorithm::ALL {
            let written = serde_json::to_string(&algorithm).unwrap();
            assert_eq!(written, format!("{:?}", algorithm.name()));
            assert_eq!(algorithm.name().parse(), Ok(algorithm));
        }
        let message = "c-mogk".parse::<Algorithm>().unwrap_err().to_string();
        assert!(message.contains("did you mean") && message.contains("c-mokg"), "{message}");
    }

    #[test]
    fn numbers_beyond_all_reason_are_refused_with_their_places() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("f", 1.0);
        let problem = problem.build().unwrap();
        let text = r#"{"weights": 1000001, "initial": {"designs": 18446744073709551615,
            "per_measurement": {"f": 9223372036854775807}},
            "search": {"raw": 2000000, "restarts": 2000000, "iterations": 2000000},
            "front": {"population": 2000000, "generations": 2000000},
            "discretisation": {"sobol": {"points": 2000000}},
            "preference": {"dirichlet": [1e-301]}}"#;
        let config: Config = serde_json::from_str(text).unwrap();
        let paths: Vec<String> =
            config.mistakes(&problem).into_iter().map(|mistake| mistake.path).collect();
        let expected = [
            "initial.designs",
            "weights",
            "discretisation.sobol.points",
            "search.raw",
            "search.restarts",
            "search.iterations",
            "front.population",
            "front.generations",
            "initial.per_measurement.f",
            "preference.dirichlet",
        ];
        assert_eq!(paths, expected.map(|path| format!("config.{path}")));
        assert_eq!(config.check_replayable(&problem), Ok(()));
    }

    #[test]
    fn a_study_whose_journal_does_not_say_goes_on_with_what_was_the_default() {
        let config: Config = serde_json::from_str("{}").unwrap();
        assert_eq!(config.algorithm, Algorithm::CMokg);
        assert_eq!(config.lengthscale_prior, LengthscalePrior::Separate);
        assert_eq!(config.deterministic, Deterministic::Smoothed);
        assert_eq!(config.failures, Failures::Ignored);
        assert_eq!(config.correlations, Correlations::Ignored);
        assert_eq!(config.pending, Pending::Expected);
        assert_eq!(config.outliers, Outliers::Kept);
    }
}
