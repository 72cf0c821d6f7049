//! What a search chooses among: measurements one by one, or, for algorithms that measure everything
//! at each design, the cheapest measurements that give everything.

use crate::config::{Algorithm, Config, Initial};
use crate::problem::{Cost, LearnedCost, Measurement, Problem};
use crate::space::Space;
use unyoke_math::sobol::Sobol;

/// Measurements that are made at the same design.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// By their places in the problem.
    pub(crate) measurements: Vec<usize>,
    /// The outputs that they give, by their places in the problem.
    pub(crate) outputs: Vec<usize>,
}

impl Choice {
    fn new(problem: &Problem, measurements: Vec<usize>) -> Self {
        let mut outputs: Vec<usize> =
            measurements.iter().flat_map(|m| problem.outputs_of(*m)).collect();
        outputs.sort_unstable();
        outputs.dedup();
        Self { measurements, outputs }
    }
}

impl Config {
    /// What a search chooses among: lists of measurements that are made at the same design, by their
    /// places in the problem.
    ///
    /// ```
    /// use unyoke::{Algorithm, Config, Problem};
    ///
    /// let problem = Problem::builder().continuous("x", 0.0, 1.0);
    /// let problem = problem.minimise("mass", 1.0).minimise("drag", 10.0).build()?;
    /// assert_eq!(Config::default().choices(&problem), [vec![0], vec![1]]);
    /// let coupled = Config { algorithm: Algorithm::Makg, ..Config::default() };
    /// assert_eq!(coupled.choices(&problem), [vec![0, 1]]);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn choices(&self, problem: &Problem) -> Vec<Vec<usize>> {
        let choices = choices(problem, self.algorithm);
        choices.into_iter().map(|choice| choice.measurements).collect()
    }

    /// How many evaluations of each measurement the initial design has, in the order of the problem.
    ///
    /// ```
    /// use unyoke::{Config, Measurement, Output, Problem};
    ///
    /// let problem = Problem::builder()
    ///     .continuous("x", 0.0, 1.0)
    ///     .minimise("mass", 1.0)
    ///     .output(Output::minimise("drag"))
    ///     .measurement(Measurement::new("tunnel", ["drag"], 30.0))
    ///     .measurement(Measurement::new("cfd", ["drag"], 4.0))
    ///     .build()?;
    /// // Everything is measured at each of four designs, as cheaply as possible.
    /// assert_eq!(Config::default().initial_evaluations(&problem), [4, 0, 4]);
    /// # Ok::<(), unyoke::Error>(())
    /// ```
    pub fn initial_evaluations(&self, problem: &Problem) -> Vec<usize> {
        initial_counts(&self.initial, problem)
    }

    /// About what the initial design costs, as far as is known before anything is measured.
    pub fn initial_cost(&self, problem: &Problem) -> f64 {
        let counts = self.initial_evaluations(problem).into_iter();
        counts.zip(typical_costs(problem)).map(|(count, cost)| count as f64 * cost).sum()
    }
}

/// What the algorithm chooses among.
pub(crate) fn choices(problem: &Problem, algorithm: Algorithm) -> Vec<Choice> {
    match algorithm.is_coupled() {
        true => vec![Choice::new(problem, cover(problem))],
        false => (0..problem.measurements.len()).map(|m| Choice::new(problem, vec![m])).collect(),
    }
}

/// Initial evaluations of each measurement: those that give everything are made at each initial
/// design, others only where the user says so.
pub(crate) fn initial_counts(initial: &Initial, problem: &Problem) -> Vec<usize> {
    let shared = initial.designs.unwrap_or(2 * (problem.parameters.len() + 1));
    let cover = cover(problem);
    let usual = |m: usize| if cover.contains(&m) { shared } else { 0 };
    let count = |(m, name): (usize, &String)| {
        initial.per_measurement.get(name).copied().unwrap_or_else(|| usual(m))
    };
    problem
        .measurements
        .iter()
        .map(|measurement| &measurement.name)
        .enumerate()
        .map(count)
        .collect()
}

/// Measurements that together give every output that is measured, cheap for what they give: of
/// those left, the one with the lowest cost per output that is still missing comes next.
fn cover(problem: &Problem) -> Vec<usize> {
    let costs = typical_costs(problem);
    let outputs: Vec<Vec<usize>> =
        (0..problem.measurements.len()).map(|m| problem.outputs_of(m)).collect();
    let (mut chosen, mut given) = (Vec::<usize>::new(), Vec::<usize>::new());
    loop {
        let price = |m: usize| {
            let new = outputs[m].iter().filter(|k| !given.contains(k)).count();
            (new > 0).then(|| costs[m] / new as f64)
        };
        let priced = (0..outputs.len()).filter_map(|m| Some((price(m)?, m)));
        // Of equals the first by name, however the problem lists them.
        let name = |m: usize| &problem.measurements[m].name;
        let next = priced.min_by(|(a, i), (b, j)| a.total_cmp(b).then(name(*i).cmp(name(*j))));
        let Some((_, m)) = next else { break };
        given.extend(&outputs[m]);
        chosen.push(m);
    }
    let is_needed = |m: usize| {
        let others = chosen.iter().filter(|other| **other != m);
        let others: Vec<usize> = others.flat_map(|other| outputs[*other].clone()).collect();
        outputs[m].iter().any(|k| !others.contains(k))
    };
    let mut needed: Vec<usize> = chosen.iter().copied().filter(|m| is_needed(*m)).collect();
    needed.sort_unstable();
    needed
}

/// About what each measurement costs, to compare them before anything is known.
fn typical_costs(problem: &Problem) -> Vec<f64> {
    let cost = |measurement: &Measurement| match &measurement.cost {
        Cost::Constant(cost) | Cost::Learned(LearnedCost { guess: cost, .. }) => *cost,
        Cost::Formula(text) => mean_cost(problem, text).unwrap_or(1.0),
    };
    problem.measurements.iter().map(cost).collect()
}

/// The mean of a cost over designs that fill the space, of those where it is one.
fn mean_cost(problem: &Problem, text: &str) -> Option<f64> {
    const DESIGNS: u32 = 64;
    let space = Space::new(problem);
    let formula = space.bind(text).ok()?;
    let sobol = Sobol::new(space.parameters(), 0).ok()?;
    let mut u = vec![0.0; space.parameters()];
    let at = |i: u32| {
        sobol.point(i, &mut u);
        space.formula_at(&formula, &space.from_cube(&u))
    };
    let costs = (0..DESIGNS).map(at).filter(|cost| cost.is_finite() && *cost > 0.0);
    let costs: Vec<f64> = costs.collect();
    (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Output;

    /// Measurements by name, with what they give and cost.
    fn problem(measurements: &[(&str, &[&str], f64)]) -> Problem {
        let start = Problem::builder().continuous("x", 0.0, 1.0);
        let start = ["f", "g", "h"].iter().fold(start, |b, name| b.output(Output::maximise(*name)));
        let add = |builder: crate::ProblemBuilder, (name, outputs, cost): &(&str, &[&str], f64)| {
            builder.measurement(Measurement::new(*name, outputs.iter().copied(), *cost))
        };
        measurements.iter().fold(start, add).build().unwrap()
    }

    #[test]
    fn a_search_chooses_among_measurements_or_makes_all_that_are_needed() {
        let alone = problem(&[("f", &["f"], 1.0), ("g", &["g"], 1.0), ("h", &["h"], 9.0)]);
        let one_by_one = choices(&alone, Algorithm::CMokg);
        assert_eq!(one_by_one.len(), 3);
        assert_eq!(one_by_one[2], Choice { measurements: vec![2], outputs: vec![2] });
        let all = Choice { measurements: vec![0, 1, 2], outputs: vec![0, 1, 2] };
        assert_eq!(choices(&alone, Algorithm::Makg), [all]);
    }

    #[test]
    fn everything_is_measured_by_the_cheapest_measurements_that_give_it() {
        let cover = |measurements: &[(&str, &[&str], f64)]| cover(&problem(measurements));
        let together: (&str, &[&str], f64) = ("all", &["f", "g", "h"], 5.0);
        assert_eq!(cover(&[("f", &["f"], 3.0), together]), [1]);
        let parts: [(&str, &[&str], f64); 3] =
            [("fg", &["f", "g"], 2.0), ("h", &["h"], 1.0), ("all", &["f", "g", "h"], 5.0)];
        assert_eq!(cover(&parts), [0, 1]);
        // The cheapest first, which turns out not to be needed.
        let first: [(&str, &[&str], f64); 2] = [("f", &["f"], 1.0), ("all", &["f", "g", "h"], 6.0)];
        assert_eq!(cover(&first), [1]);
        let twice: [(&str, &[&str], f64); 3] =
            [("b", &["f", "g", "h"], 2.0), ("a", &["f", "g", "h"], 2.0), ("c", &["f"], 9.0)];
        assert_eq!(cover(&twice), [1]);
    }

    #[test]
    fn a_cost_that_depends_on_the_design_counts_with_its_mean() {
        let problem = Problem::builder()
            .continuous("x", 0.0, 10.0)
            .minimise("f", Cost::formula("1 + x"))
            .minimise("g", Cost::time(4.0))
            .build()
            .unwrap();
        let config = Config::default();
        assert_eq!(config.initial_evaluations(&problem), [4, 4]);
        let cost = config.initial_cost(&problem);
        assert!((cost - 4.0 * (6.0 + 4.0)).abs() < 0.5, "{cost}");
    }

    #[test]
    fn measurements_that_are_not_needed_have_no_initial_evaluations_unless_asked_for() {
        let problem = problem(&[("f", &["f"], 3.0), ("all", &["f", "g", "h"], 5.0)]);
        assert_eq!(initial_counts(&Initial::default(), &problem), [0, 4]);
        let per_measurement = [("f".to_owned(), 2)].into();
        let initial = Initial { designs: Some(7), per_measurement };
        assert_eq!(initial_counts(&initial, &problem), [2, 7]);
    }
}
