//! Test problems of the literature, as formulas in the units of their papers.
//!
//! One file per problem or family. How such a problem becomes a study is not told here.

use std::fmt;
use std::sync::Arc;

use unyoke::{Direction, Role, Scale};

mod branin_currin;
mod zdt;
mod dtlz;
mod vehicle_safety;
mod car_side_impact;
mod welded_beam;
mod disc_brake;
mod penicillin;
mod four_bar_truss;
mod pressure_vessel;

/// A test problem given by a formula, in the units of its paper.
///
/// ```
/// use unyoke_lab::formulas::Formula;
///
/// let zdt1 = Formula::named("zdt1").ok_or("no such problem")?;
/// assert_eq!(zdt1.evaluate(&[0.25, 0.0, 0.0, 0.0, 0.0, 0.0]), [0.25, 0.5]);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone)]
pub struct Formula {
    /// Its name, in lower case with hyphens.
    pub name: &'static str,
    /// Where it is from.
    pub source: &'static str,
    /// What can be chosen, in the order of the formula's arguments.
    pub inputs: Vec<Input>,
    /// What comes out, in the order of the formula's values: objectives, then constraints, of
    /// these the measured ones first.
    pub outputs: Vec<Output>,
    /// A published or customary reference point for hypervolumes, in the objectives' units.
    pub reference: Option<Vec<f64>>,
    evaluate: Evaluate,
}

/// An input of a formula, with the bounds of its paper.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// Its name, different from that of every other input of the formula.
    pub name: String,
    /// The lowest value.
    pub low: f64,
    /// The highest value.
    pub high: f64,
    /// The distance between neighbouring values, where not every number is one.
    pub step: Option<f64>,
}

impl Input {
    /// The value that lies at `unit` between the bounds, or the nearest one that there is.
    pub fn value(&self, unit: f64) -> f64 {
        let value = self.low + unit * (self.high - self.low);
        match self.step {
            Some(step) => {
                let last = ((self.high - self.low) / step + 1e-9).floor();
                self.low + ((value - self.low) / step).round().clamp(0.0, last) * step
            }
            None => value,
        }
    }
}

/// A quantity that a formula gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// Its name, different from that of every other output of the formula.
    pub name: String,
    /// What is wanted of it.
    pub role: Role,
    /// Whether its ratios matter, rather than its differences.
    pub scale: Scale,
    /// The usual cost of measuring it.
    pub cost: f64,
    /// The usual standard deviation of the noise of a measurement.
    pub noise: f64,
    /// The inequality between inputs that is the same as this constraint, where there is one:
    /// studies are told it as a limit, and measure nothing.
    pub limit: Option<&'static str>,
}

impl Output {
    fn new(name: &str, role: Role, cost: f64) -> Self {
        let (name, scale) = (name.to_owned(), Scale::Linear);
        Self { name, role, scale, cost, noise: 0.0, limit: None }
    }

    /// Less of it is better.
    fn minimised(name: &str, cost: f64) -> Self {
        Self::new(name, Role::Objective(Direction::Minimise), cost)
    }

    /// At most so much of it is acceptable.
    fn at_most(name: &str, most: f64, cost: f64) -> Self {
        Self::new(name, Role::AtMost(most), cost)
    }

    /// At least so much of it is acceptable.
    fn at_least(name: &str, least: f64, cost: f64) -> Self {
        Self::new(name, Role::AtLeast(least), cost)
    }

    /// Positive, and over several orders of magnitude.
    fn over_magnitudes(self) -> Self {
        Self { scale: Scale::Log, ..self }
    }

    /// A constraint that is an inequality between inputs.
    fn stated_as(self, formula: &'static str) -> Self {
        Self { limit: Some(formula), ..self }
    }

    /// Whether it is an objective.
    pub fn is_objective(&self) -> bool {
        matches!(self.role, Role::Objective(_))
    }

    /// By how much of its limit a value breaks it; zero for objectives.
    pub fn violation(&self, value: f64) -> f64 {
        let unit = |limit: f64| if limit == 0.0 { 1.0 } else { limit.abs() };
        let excess = match self.role {
            Role::Objective(_) => return 0.0,
            Role::AtMost(most) => (value - most) / unit(most),
            Role::AtLeast(least) => (least - value) / unit(least),
        };
        // What is not a number is not fulfilled.
        if excess.is_nan() { f64::INFINITY } else { excess.max(0.0) }
    }
}

/// Values of the outputs at some inputs; shared, so that formulas are cheap to copy.
type Evaluate = Arc<dyn Fn(&[f64]) -> Vec<f64> + Send + Sync>;

impl Formula {
    /// The values of all outputs, in order.
    ///
    /// The inputs are meant to be within their bounds, which is not checked. Without the right
    /// number of inputs there are no values, and NaN stands for each of them.
    pub fn evaluate(&self, inputs: &[f64]) -> Vec<f64> {
        if inputs.len() != self.inputs.len() {
            return vec![f64::NAN; self.outputs.len()];
        }
        (self.evaluate)(inputs)
    }

    /// The number of objectives.
    pub fn objectives(&self) -> usize {
        self.outputs.iter().filter(|output| output.is_objective()).count()
    }

    /// By how much of its limit a design with these `outputs` breaks the constraint that it breaks
    /// most; zero where all hold.
    pub fn violation(&self, outputs: &[f64]) -> f64 {
        let each = self.outputs.iter().zip(outputs).map(|(output, &value)| output.violation(value));
        each.fold(0.0, f64::max)
    }

    /// All problems, those of variable size with the size that is usual for costly evaluations.
    pub fn all() -> Vec<Self> {
        vec![
            branin_currin::formula(),
            zdt::zdt1(zdt::INPUTS),
            zdt::zdt2(zdt::INPUTS),
            zdt::zdt3(zdt::INPUTS),
            dtlz::dtlz2(dtlz::INPUTS, dtlz::OBJECTIVES),
            vehicle_safety::formula(),
            car_side_impact::formula(),
            welded_beam::formula(),
            disc_brake::formula(),
            penicillin::formula(),
            dtlz::dtlz2_of_four(),
            four_bar_truss::formula(),
            pressure_vessel::formula(),
        ]
    }

    /// The names of all problems, in the order of [`all`](Self::all).
    pub fn names() -> Vec<&'static str> {
        Self::all().iter().map(|formula| formula.name).collect()
    }

    /// The problem with this name, if there is one.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().into_iter().find(|formula| formula.name == name)
    }

    /// ZDT1 with a convex front, for this number of inputs; there is none with fewer than two.
    pub fn zdt1(inputs: usize) -> Option<Self> {
        (inputs >= 2).then(|| zdt::zdt1(inputs))
    }

    /// ZDT2 with a concave front, for this number of inputs; there is none with fewer than two.
    pub fn zdt2(inputs: usize) -> Option<Self> {
        (inputs >= 2).then(|| zdt::zdt2(inputs))
    }

    /// ZDT3 with a front of five parts, for this number of inputs; there is none with fewer than
    /// two.
    pub fn zdt3(inputs: usize) -> Option<Self> {
        (inputs >= 2).then(|| zdt::zdt3(inputs))
    }

    /// DTLZ2 for these numbers of inputs and objectives.
    ///
    /// There is none with fewer than two objectives, or fewer inputs than objectives.
    pub fn dtlz2(inputs: usize, objectives: usize) -> Option<Self> {
        (objectives >= 2 && inputs >= objectives).then(|| dtlz::dtlz2(inputs, objectives))
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Formula")
            .field("name", &self.name)
            .field("inputs", &self.inputs)
            .field("outputs", &self.outputs)
            .finish_non_exhaustive()
    }
}

/// Inputs from names and bounds.
fn inputs<const D: usize>(inputs: [(&str, f64, f64); D]) -> Vec<Input> {
    inputs.map(|(name, low, high)| Input { name: name.into(), low, high, step: None }).into()
}

/// Inputs x1, x2, … between 0 and 1, `n` of them.
fn unit_inputs(n: usize) -> Vec<Input> {
    (1..=n).map(|i| Input { name: format!("x{i}"), low: 0.0, high: 1.0, step: None }).collect()
}

/// Objectives with these names, of which less is better; the first is cheap.
fn minimise<const M: usize>(names: [&str; M]) -> Vec<Output> {
    names.iter().enumerate().map(|(m, name)| Output::minimised(name, usual_cost(m))).collect()
}

/// Objectives f1, f2, …, of which less is better, `n` of them; the first is cheap.
fn minimise_all(n: usize) -> Vec<Output> {
    (0..n).map(|m| Output::minimised(&format!("f{}", m + 1), usual_cost(m))).collect()
}

/// The cost of objective `m` where there is no reason for another.
fn usual_cost(m: usize) -> f64 {
    if m == 0 { 1.0 } else { 10.0 }
}

/// A function of D inputs with M values, for any slice of D numbers.
fn of_arrays<const D: usize, const M: usize>(f: fn([f64; D]) -> [f64; M]) -> Evaluate {
    Arc::new(move |x| x.try_into().map_or_else(|_| vec![f64::NAN; M], |x| f(x).to_vec()))
}

/// By how much pairs of a quantity and its limit exceed the limits, summed: Σ max(qᵢ − lᵢ, 0).
///
/// Source: Tanabe and Ishibuchi (2020), who make constraints an objective this way.
fn excess(limited: &[(f64, f64)]) -> f64 {
    limited.iter().map(|&(quantity, limit)| (quantity - limit).max(0.0)).sum()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use unyoke_math::sobol;

    use super::*;

    /// Inputs with the values that are expected there.
    pub(super) type Case<'a> = (&'a [f64], &'a [f64]);

    /// Every value agrees with the expected one to 12 digits.
    pub(super) fn assert_values(formula: &Formula, cases: &[Case]) {
        for (inputs, expected) in cases {
            let values = formula.evaluate(inputs);
            assert_eq!(values.len(), expected.len());
            for (value, expected) in values.iter().zip(*expected) {
                let error = (value - expected).abs();
                let name = formula.name;
                assert!(error <= 1e-12 * expected.abs().max(1e-3), "{name}: {values:?}");
            }
        }
    }

    fn scaled(formula: &Formula, unit: impl Fn(usize) -> f64) -> Vec<f64> {
        let value = |(d, i): (usize, &Input)| i.value(unit(d));
        formula.inputs.iter().enumerate().map(value).collect()
    }

    fn assert_finite(formula: &Formula, inputs: &[f64]) {
        let values = formula.evaluate(inputs);
        let name = formula.name;
        assert_eq!(values.len(), formula.outputs.len(), "{name}");
        assert!(values.iter().all(|v| v.is_finite()), "{name}: {inputs:?} gives {values:?}");
    }

    #[test]
    fn all_problems_are_finite_at_the_centre_and_at_every_corner() {
        for formula in Formula::all() {
            assert_finite(&formula, &scaled(&formula, |_| 0.5));
            for corner in 0..1_usize << formula.inputs.len() {
                assert_finite(&formula, &scaled(&formula, |d| (corner >> d & 1) as f64));
            }
        }
    }

    #[test]
    fn all_problems_are_finite_at_a_thousand_sobol_points() {
        for formula in Formula::all() {
            let points = sobol::cube(formula.inputs.len(), 1000, 1).unwrap();
            for i in 0..1000 {
                assert_finite(&formula, &scaled(&formula, |d| points.row(i)[d]));
            }
        }
    }

    #[test]
    fn all_names_are_unique() {
        let all_differ = |names: Vec<&str>| {
            let distinct: HashSet<&str> = names.iter().copied().collect();
            assert_eq!(distinct.len(), names.len(), "{names:?}");
        };
        all_differ(Formula::names());
        for formula in Formula::all() {
            all_differ(formula.inputs.iter().map(|input| input.name.as_str()).collect());
            all_differ(formula.outputs.iter().map(|target| target.name.as_str()).collect());
        }
    }

    #[test]
    fn every_problem_is_found_by_its_name_and_no_other() {
        for name in Formula::names() {
            assert_eq!(Formula::named(name).unwrap().name, name);
        }
        assert!(Formula::named("zdt7").is_none());
    }

    #[test]
    fn bounds_are_in_order_and_reference_points_have_a_coordinate_per_objective() {
        for formula in Formula::all() {
            assert!(formula.inputs.iter().all(|i| i.low < i.high), "{formula:?}");
            let reference = formula.reference.clone().unwrap();
            assert_eq!(reference.len(), formula.objectives(), "{}", formula.name);
        }
    }

    #[test]
    fn a_wrong_number_of_inputs_gives_no_values() {
        for formula in Formula::all() {
            for n in [0, formula.inputs.len() + 1] {
                let values = formula.evaluate(&vec![0.5; n]);
                assert_eq!(values.len(), formula.outputs.len());
                assert!(values.iter().all(|v| v.is_nan()));
            }
        }
    }

    #[test]
    fn impossible_sizes_have_no_formula() {
        assert!(Formula::zdt1(1).is_none() && Formula::zdt2(0).is_none());
        assert!(Formula::zdt3(1).is_none() && Formula::zdt3(2).is_some());
        assert!(Formula::dtlz2(3, 1).is_none() && Formula::dtlz2(2, 3).is_none());
        assert!(Formula::dtlz2(3, 3).is_some());
    }

    #[test]
    fn only_what_exceeds_its_limit_counts() {
        assert_eq!(excess(&[(3.0, 1.0), (1.0, 3.0), (2.5, 2.0)]), 2.5);
    }
}
