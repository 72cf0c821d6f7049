//! The initial design: how many designs there are where nobody says, and what they cost.

use std::fmt;

use unyoke::{Config, Initial, Journal, Problem, Study};

use super::StudyFile;

/// By default the initial design costs no more than this part of the budget.
const SHARE: f64 = 1.0 / 3.0;

/// Fewer designs tell next to nothing.
const FEWEST: usize = 2;

/// Sums of prices may be off by their last bits.
const SLACK: f64 = 1e-9;

/// What an initial design costs, as far as is known before anything is measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct InitialPrice {
    /// How many designs.
    pub designs: usize,
    /// What their evaluations are expected to cost.
    pub cost: f64,
    /// Out of this budget.
    pub budget: Option<f64>,
}

impl fmt::Display for InitialPrice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { designs, cost, budget } = self;
        let plural = if *designs == 1 { "" } else { "s" };
        // Costs by formula are estimates: a hundredth is more than is known.
        let cost = (cost * 100.0).round() / 100.0;
        write!(f, "initial design: {designs} design{plural}, ")?;
        match budget {
            Some(budget) => write!(f, "{cost} of {budget}"),
            None => write!(f, "cost {cost}"),
        }
    }
}

impl StudyFile {
    /// The settings with which the study begins. Where the file does not say how many initial designs
    /// there are, they cost at most a third of the budget.
    ///
    /// ```
    /// use unyoke_run::StudyFile;
    ///
    /// let text = r#"
    ///     [budget]
    ///     cost = 100
    ///     [parameters]
    ///     x = { low = 0, high = 1 }
    ///     y = { low = 0, high = 1 }
    ///     [objectives]
    ///     mass = { direction = "minimise", cost = 1 }
    ///     drag = { direction = "minimise", cost = 9 }
    /// "#;
    /// let file = StudyFile::parse("study.toml", text.as_bytes())?;
    /// assert_eq!(file.config.initial.designs, None);
    /// assert_eq!(file.initial_config().initial.designs, Some(3));
    /// assert_eq!(file.initial_price().to_string(), "initial design: 3 designs, 30 of 100");
    /// # Ok::<(), unyoke_run::StudyFileError>(())
    /// ```
    pub fn initial_config(&self) -> Config {
        initial_config(&self.config, &self.problem, self.budget.cost)
    }

    /// What the initial design costs.
    pub fn initial_price(&self) -> InitialPrice {
        let (config, problem) = (self.initial_config(), &self.problem);
        InitialPrice {
            designs: config.initial.designs.unwrap_or_else(|| usual(problem)),
            cost: config.initial_cost(problem),
            budget: self.budget.cost,
        }
    }

    /// Whether a study has the settings of this file.
    pub fn has_settings_of<J: Journal>(&self, study: &Study<J>) -> bool {
        self.settings_for(study.config()) == *study.config() && self.seed == study.seed()
    }

    /// The settings of this file for a study that has begun. What the file does not say stays as it is
    /// there where it depends on the budget, which may change, or on the program with which the study
    /// began.
    pub(crate) fn settings_for(&self, begun: &Config) -> Config {
        let mut config = self.config.clone();
        config.initial.designs = config.initial.designs.or(begun.initial.designs);
        let is_named = |name: &str| self.source.settings.iter().any(|named| named == name);
        if !is_named("algorithm") {
            config.algorithm = begun.algorithm;
        }
        if !is_named("failures") {
            config.failures = begun.failures;
        }
        if !is_named("lengthscale_prior") {
            config.lengthscale_prior = begun.lengthscale_prior;
        }
        if !is_named("correlations") {
            config.correlations = begun.correlations;
        }
        if !is_named("outliers") {
            config.outliers = begun.outliers;
        }
        if !is_named("best_possible") {
            config.best_possible = begun.best_possible;
        }
        if !is_named("recommendations") {
            config.recommendations = begun.recommendations;
        }
        config
    }
}

/// The settings with which a study of `problem` begins that may spend `budget`; see
/// [`StudyFile::initial_config`].
pub fn initial_config(config: &Config, problem: &Problem, budget: Option<f64>) -> Config {
    let mut config = config.clone();
    if let (None, Some(budget)) = (config.initial.designs, budget) {
        config.initial.designs = affordable(&config, problem, budget);
    }
    config
}

/// The number of initial designs where money does not matter.
fn usual(problem: &Problem) -> usize {
    2 * (problem.parameters.len() + 1)
}

/// The most designs that cost no more than their share of the budget, but not fewer than two, or than
/// one if two exceed the budget. `None` if as many as usual are affordable.
fn affordable(config: &Config, problem: &Problem, budget: f64) -> Option<usize> {
    let price = |designs: usize| {
        let initial = Initial { designs: Some(designs), ..config.initial.clone() };
        Config { initial, ..config.clone() }.initial_cost(problem)
    };
    let fits = |designs: usize, budget: f64| price(designs) <= budget * (1.0 + SLACK);
    let usual = usual(problem);
    if fits(usual, budget * SHARE) {
        return None;
    }
    let designs = (FEWEST..usual).rev().find(|designs| fits(*designs, budget * SHARE));
    Some(designs.unwrap_or(if fits(FEWEST, budget) { FEWEST } else { 1 }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A study of two parameters in which everything costs 10 at each design.
    fn file(budget: &str, more: &str) -> StudyFile {
        let text = format!(
            "{budget}\n{more}\n[parameters]\nx = {{ low = 0, high = 1 }}\ny = {{ low = 0, high = 1 }}
            [objectives]\nf = {{ direction = 'minimise', cost = 1 }}
            g = {{ direction = 'minimise', cost = 9 }}"
        );
        StudyFile::parse("study.toml", text.as_bytes()).unwrap()
    }

    fn designs(budget: f64) -> Option<usize> {
        file(&format!("[budget]\ncost = {budget}"), "").initial_config().initial.designs
    }

    #[test]
    fn the_initial_design_takes_at_most_a_third_of_the_budget() {
        assert_eq!(designs(1000.0), None, "as many as usual");
        assert_eq!(designs(180.0), None, "6 designs for 60 are just a third");
        assert_eq!(designs(179.0), Some(5));
        assert_eq!(designs(60.0), Some(2));
        assert_eq!(designs(59.0), Some(2), "two are the fewest");
        assert_eq!(designs(20.0), Some(2));
        assert_eq!(designs(19.0), Some(1), "unless they do not fit");
        assert_eq!(file("", "").initial_config().initial.designs, None);
    }

    #[test]
    fn what_the_file_says_counts_whatever_it_costs() {
        let file = file("[budget]\ncost = 30", "[initial]\ndesigns = 9");
        let price = InitialPrice { designs: 9, cost: 90.0, budget: Some(30.0) };
        assert_eq!(file.initial_price(), price);
        assert_eq!(price.to_string(), "initial design: 9 designs, 90 of 30");
        let free = InitialPrice { designs: 1, budget: None, ..price };
        assert_eq!(free.to_string(), "initial design: 1 design, cost 90");
    }

    #[test]
    fn other_numbers_for_some_measurements_are_counted() {
        let few = file("[budget]\ncost = 60", "[initial]\nper_measurement = { g = 1 }");
        assert_eq!(few.initial_price().designs, 6);
        assert_eq!(few.initial_price().cost, 15.0);
    }

    #[test]
    fn a_changed_budget_is_no_other_setting() {
        let begun = file("[budget]\ncost = 60", "");
        let study = Study::with_config(begun.problem.clone(), begun.initial_config(), 0).unwrap();
        assert!(begun.has_settings_of(&study));
        assert!(file("[budget]\ncost = 600", "").has_settings_of(&study));
        assert!(file("", "").has_settings_of(&study));
        assert!(!file("", "[initial]\ndesigns = 5").has_settings_of(&study));
        assert!(!file("", "[engine]\nweights = 5").has_settings_of(&study));
        assert!(!file("", "[engine]\npending = { fantasies = 8 }").has_settings_of(&study));
        assert!(!file("[study]\nseed = 1", "").has_settings_of(&study));
    }
}
