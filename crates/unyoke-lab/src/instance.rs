//! A problem whose true objectives are known, so that what a study finds can be judged.

use crate::error::Result;
use crate::formulas::{Formula, Input};
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
    /// What a study is told about it: parameters, objectives with costs and priors.
    pub problem: Problem,
    /// Standard deviation of the noise that is added to each objective's observations.
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
    /// A formula, in its own units and directions.
    Formula(Formula),
}

impl Instance {
    /// True values of all objectives, to be maximised, at points of the unit cube.
    pub fn values(&self, points: &Points) -> Result<Points> {
        match &self.truth {
            Truth::Sampled(models) => {
                let columns = models.iter().map(|model| model.means(points));
                let columns = columns.collect::<Result<Vec<_>, _>>()?;
                let row = |i: usize| columns.iter().map(|column| column[i]).collect::<Vec<f64>>();
                Ok(Points::from_rows(columns.len(), (0..points.len()).map(row))?)
            }
            Truth::Formula(formula) => {
                let values = |unit: &[f64]| {
                    let inputs: Vec<f64> = formula.inputs.iter().zip(unit).map(scaled).collect();
                    let values = formula.evaluate(&inputs).into_iter().enumerate();
                    values.map(|(m, value)| self.sign(m) * value).collect::<Vec<f64>>()
                };
                Ok(Points::from_rows(formula.objectives.len(), points.rows().map(values))?)
            }
        }
    }

    /// The true value of an objective at a design, in the objective's own units and direction.
    pub fn value(&self, design: &Design, objective: usize) -> Result<f64> {
        let mut point = Points::new(self.problem.parameters.len());
        point.push(&self.to_unit(design))?;
        Ok(self.sign(objective) * self.values(&point)?.row(0)[objective])
    }

    /// The point of the unit cube that belongs to a design.
    pub fn to_unit(&self, design: &Design) -> Vec<f64> {
        let unit = |parameter: &Parameter| match parameter {
            Parameter::Continuous { name, low, high, .. } => {
                (design.real(name).unwrap_or(f64::NAN) - low) / (high - low)
            }
            // Test problems have continuous parameters only.
            _ => f64::NAN,
        };
        self.problem.parameters.iter().map(unit).collect()
    }

    /// The values of the parameters, in their order.
    pub fn coordinates(&self, design: &Design) -> Vec<f64> {
        let value = |parameter: &Parameter| design.real(parameter.name()).unwrap_or(f64::NAN);
        self.problem.parameters.iter().map(value).collect()
    }

    /// What measuring an objective costs: each is measured alone.
    pub fn cost(&self, objective: usize) -> f64 {
        match self.problem.measurements[objective].cost {
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

    /// Whether its objectives are in units that can be added up as they are.
    ///
    /// Those of the paper's families can. Formulas mix kilograms and seconds: their utilities
    /// count in ranges of the true Pareto front.
    pub fn has_common_units(&self) -> bool {
        matches!(self.truth, Truth::Sampled(_))
    }
}

/// The value of an input that lies at `unit` between its bounds.
fn scaled((input, unit): (&Input, &f64)) -> f64 {
    input.low + unit * (input.high - input.low)
}
