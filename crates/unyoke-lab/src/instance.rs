//! A problem whose true objectives are known, so that what a study finds can be judged.

use crate::error::Result;
use crate::formulas::Formula;
use crate::samples::Mixture;
use unyoke::{Cost, Design, Direction, Parameter, Problem};
use unyoke_math::Points;
use unyoke_math::gp::Gp;

/// One test problem. Inside, as in the engine, everything maximises on the unit cube.
#[derive(Debug, Clone)]
pub struct Instance {
    /// The family it belongs to.
    pub family: String,
    /// Its number in the family.
    pub id: u32,
    /// What a study is told about it: parameters, limits, outputs with costs and priors. Objectives
    /// stand before constraints, and each output is measured alone.
    pub problem: Problem,
    /// Standard deviation of the noise that is added to each output's observations.
    pub noise: Vec<f64>,
    /// From where hypervolumes count, if that is part of the problem; everything maximised.
    pub reference: Option<Vec<f64>>,
    /// Designs and values from which runs start, if they do not choose their own.
    pub initial: Option<InitialData>,
    pub(crate) truth: Truth,
}

/// Designs and the values of all objectives observed there, in the problem's own units.
#[derive(Debug, Clone, PartialEq)]
pub struct InitialData {
    /// Values of the parameters, a row per design.
    pub designs: Points,
    /// Values of the objectives, a row per design.
    pub values: Points,
}

/// Where the true values come from.
#[derive(Debug, Clone)]
pub(crate) enum Truth {
    /// The posterior mean of a Gaussian process for each objective, on the unit cube.
    Sampled(Vec<Gp>),
    /// Two sample paths and how they are mixed, on the unit cube.
    Mixture(Mixture),
    /// A formula, in its own units and directions.
    Formula(Formula),
}

/// What is true of some designs.
#[derive(Debug, Clone)]
pub struct Merits {
    /// Values of all objectives, to be maximised, a row per design.
    pub values: Points,
    /// By how much of its limit each design breaks the constraint or limit that it breaks most; zero
    /// where all hold.
    pub violations: Vec<f64>,
}

impl Instance {
    /// Number of objectives; they are the first outputs.
    pub fn objectives(&self) -> usize {
        self.problem.objectives().count()
    }

    /// Whether some designs are not acceptable.
    pub fn is_constrained(&self) -> bool {
        !self.problem.limits.is_empty() || self.problem.constraints().next().is_some()
    }

    /// True values of all objectives, to be maximised, at points of the unit cube.
    pub fn values(&self, points: &Points) -> Result<Points> {
        Ok(self.merits(points)?.values)
    }

    /// What is true at points of the unit cube.
    pub fn merits(&self, points: &Points) -> Result<Merits> {
        let outputs = self.outputs(points)?;
        let values = outputs.rows().map(|row| self.maximised(row));
        let values = Points::from_rows(self.objectives(), values)?;
        let violations = match &self.truth {
            Truth::Formula(formula) => outputs.rows().map(|row| formula.violation(row)).collect(),
            _ => vec![0.0; points.len()],
        };
        Ok(Merits { values, violations })
    }

    /// The objectives among values of all outputs, to be maximised.
    fn maximised(&self, outputs: &[f64]) -> Vec<f64> {
        (0..self.objectives()).map(|m| self.sign(m) * outputs[m]).collect()
    }

    /// True values of all outputs in their own units at points of the unit cube; for a formula those
    /// of its limits follow.
    fn outputs(&self, points: &Points) -> Result<Points> {
        match &self.truth {
            Truth::Sampled(models) => {
                let columns = models.iter().map(|model| model.means(points));
                let columns = columns.collect::<Result<Vec<_>, _>>()?;
                let row = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
                Ok(Points::from_rows(columns.len(), (0..points.len()).map(row))?)
            }
            Truth::Mixture(mixture) => mixture.values(points),
            Truth::Formula(formula) => {
                let values = |unit: &[f64]| {
                    let inputs = formula.inputs.iter().zip(unit).map(|(input, &u)| input.value(u));
                    formula.evaluate(&inputs.collect::<Vec<f64>>())
                };
                Ok(Points::from_rows(formula.outputs.len(), points.rows().map(values))?)
            }
        }
    }

    /// By how much of its limit a design breaks the constraint it breaks most, as far as `values` of
    /// the measured outputs tell.
    pub(crate) fn observed_violation(&self, values: &[f64]) -> f64 {
        match &self.truth {
            Truth::Formula(formula) => formula.violation(values),
            _ => 0.0,
        }
    }

    /// The true value of an output at a design, in the output's own units and direction.
    pub fn value(&self, design: &Design, output: usize) -> Result<f64> {
        let mut point = Points::new(self.problem.parameters.len());
        point.push(&self.to_unit(design))?;
        Ok(self.outputs(&point)?.row(0)[output])
    }

    /// The point of the unit cube that belongs to a design.
    pub fn to_unit(&self, design: &Design) -> Vec<f64> {
        let unit = |parameter: &Parameter| match parameter {
            Parameter::Continuous { name, low, high, .. } => {
                (design.real(name).unwrap_or(f64::NAN) - low) / (high - low)
            }
            // Test problems have no other parameters.
            _ => f64::NAN,
        };
        self.problem.parameters.iter().map(unit).collect()
    }

    /// The values of the parameters, in their order.
    pub fn coordinates(&self, design: &Design) -> Vec<f64> {
        let value = |parameter: &Parameter| design.real(parameter.name()).unwrap_or(f64::NAN);
        self.problem.parameters.iter().map(value).collect()
    }

    /// What measuring an output costs: each is measured alone.
    pub fn cost(&self, output: usize) -> f64 {
        match self.problem.measurements[output].cost {
            Cost::Constant(cost) => cost,
            // Test problems have constant costs only.
            _ => f64::NAN,
        }
    }

    /// 1 for an objective to be maximised, -1 for one to be minimised.
    pub fn sign(&self, objective: usize) -> f64 {
        match self.problem.outputs[objective].direction() {
            Direction::Maximise => 1.0,
            Direction::Minimise => -1.0,
        }
    }

    /// What measuring everything once costs.
    pub fn full_cost(&self) -> f64 {
        (0..self.problem.outputs.len()).map(|m| self.cost(m)).sum()
    }

    /// Whether its objectives are in units that can be added up as they are.
    ///
    /// Those of the paper's families can. Formulas mix kilograms and seconds: their utilities, and
    /// those of all other problems, count in ranges of the true Pareto front.
    pub fn has_common_units(&self) -> bool {
        matches!(self.truth, Truth::Sampled(_))
    }
}
