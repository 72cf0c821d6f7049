//! Designs as points of the cube \[0, 1\]ᴰ, objectives as quantities to maximise.
//!
//! The one file where directions, units and scales are converted: inside the engine everything
//! lies in the cube and is maximised. Each parameter (`space/axis.rs`) owns a few neighbouring inputs
//! of the cube: a number has one, as have choices with an order; other choices have as many as
//! `space/choices.rs` says. A parameter that can take one value only has an input that stays at 1/2.

use crate::design::Design;
use crate::error::{Error, Result, near};
use crate::problem::{Direction, Output, Problem, Scale};
use unyoke_math::Points;

mod allowed;
mod axis;
mod choices;
mod formulas;
mod grid;
mod interval;
mod limits;
#[cfg(test)]
mod limits_tests;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use axis::{Axis, Column};
use interval::clamp;
use limits::Limit;

/// The cube of a problem.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Space {
    columns: Vec<Column>,
    continuous: Vec<bool>,
    climbable: Vec<bool>,
    outputs: Vec<Turn>,
    limits: Vec<Limit>,
}

/// How values of an output are turned so that more is better.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Turn {
    sign: f64,
    scale: Scale,
}

impl Turn {
    fn new(output: &Output) -> Self {
        let sign = match output.direction() {
            Direction::Maximise => 1.0,
            Direction::Minimise => -1.0,
        };
        Self { sign, scale: output.scale }
    }
}

impl Space {
    /// The cube of a problem that passed its check.
    pub(crate) fn new(problem: &Problem) -> Self {
        let mut columns: Vec<Column> = Vec::with_capacity(problem.parameters.len());
        let (mut continuous, mut climbable) = (Vec::new(), Vec::new());
        for parameter in &problem.parameters {
            let axis = Axis::new(parameter);
            let start = continuous.len();
            continuous.resize(start + axis.inputs(), axis.levels().is_none());
            climbable.resize(start + axis.inputs(), axis.is_climbable());
            let inputs = start..continuous.len();
            columns.push(Column { name: parameter.name().to_owned(), axis, inputs, held: None });
        }
        let outputs = problem.outputs.iter().map(Turn::new).collect();
        let limits = Limit::all(problem, &columns);
        let mut space = Self { columns, continuous, climbable, outputs, limits };
        space.scale_limits();
        space
    }

    /// The same cube where designs have these values, of some of the parameters: points, numbers and
    /// limits mean the same, but what is spread, moved and rounded stays at the values.
    pub(crate) fn holding(&self, fixed: &Design) -> Result<Self> {
        let mut held = self.clone();
        if let Some(error) = self.unknown_name(fixed) {
            return Err(error);
        }
        for column in &mut held.columns {
            let Some(value) = fixed.get(&column.name) else { continue };
            column.hold(value)?;
            for input in column.inputs.clone() {
                (held.continuous[input], held.climbable[input]) = (false, false);
            }
        }
        if !held.allows_something()? {
            return Err(Error::NoDesign { fixed: fixed.to_string() });
        }
        Ok(held)
    }

    /// Whether some parameters are held.
    pub(crate) fn is_held(&self) -> bool {
        self.columns.iter().any(|column| column.held.is_some())
    }

    /// Whether the valid point `x` has the values that are held.
    pub(crate) fn has_held(&self, x: &[f64]) -> bool {
        let has = |column: &Column| {
            column.held.as_ref().is_none_or(|held| x[column.inputs.clone()] == held.x)
        };
        self.columns.iter().all(has)
    }

    /// Number of inputs, the D of \[0, 1\]ᴰ.
    pub(crate) fn dim(&self) -> usize {
        self.continuous.len()
    }

    /// Number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.columns.len()
    }

    /// For each input, which parameter it belongs to, of those that have any; a categorical one has
    /// several.
    pub(crate) fn groups(&self) -> Vec<usize> {
        let columns = self.columns.iter().filter(|column| !column.inputs.is_empty()).enumerate();
        columns.flat_map(|(i, column)| column.inputs.clone().map(move |_| i)).collect()
    }

    /// For each input, whether it may move freely between 0 and 1.
    pub(crate) fn continuous(&self) -> &[bool] {
        &self.continuous
    }

    /// For each input, whether a search may move it freely between 0 and 1 and snap it afterwards:
    /// the continuous ones, and numbers with so many steps that each hardly matters.
    pub(crate) fn climbable(&self) -> &[bool] {
        &self.climbable
    }

    /// The point of a design. Values beyond the bounds, as imported data may have, give a point
    /// beyond the cube.
    pub(crate) fn encode(&self, design: &Design) -> Result<Vec<f64>> {
        let mut x = vec![0.0; self.dim()];
        for column in &self.columns {
            let value = design.get(&column.name).ok_or_else(|| self.missing(design, column))?;
            column.encode(value, &mut x[column.inputs.clone()])?;
        }
        match self.unknown(design) {
            Some(error) => Err(error),
            None => Ok(x),
        }
    }

    /// Fails unless the design is one that could be suggested.
    pub(crate) fn check_inside(&self, design: &Design) -> Result<()> {
        self.encode(design)?;
        let values = self.columns.iter().filter_map(|c| Some((c, design.get(&c.name)?)));
        for (column, value) in values {
            column.check_inside(value)?;
        }
        Ok(())
    }

    /// Why there is no value for a parameter: a misspelt name explains more than a missing one.
    fn missing(&self, design: &Design, column: &Column) -> Error {
        let missing = || Error::MissingParameter { name: column.name.clone() };
        self.unknown_name(design).unwrap_or_else(missing)
    }

    /// The complaint about a name that no parameter has, given that no parameter is missing.
    fn unknown(&self, design: &Design) -> Option<Error> {
        if design.len() == self.columns.len() { None } else { self.unknown_name(design) }
    }

    fn unknown_name(&self, design: &Design) -> Option<Error> {
        let names = || self.columns.iter().map(|column| column.name.as_str());
        let (name, _) = design.iter().find(|(name, _)| names().all(|known| known != *name))?;
        Some(Error::UnknownParameter { name: name.to_owned(), near: near(name, names()) })
    }

    /// The valid design nearest to the point `x`.
    pub(crate) fn decode(&self, x: &[f64]) -> Design {
        let value = |column: &Column| column.decode(&x[column.inputs.clone()]);
        self.columns.iter().map(|column| (column.name.clone(), value(column))).collect()
    }

    /// Moves `x` to the nearest point of a valid design. Only continuous inputs may then differ
    /// from `encode(decode(x))`, by rounding.
    pub(crate) fn snap(&self, x: &mut [f64]) {
        for column in &self.columns {
            let x = &mut x[column.inputs.clone()];
            match column.levels() {
                Some(_) => column.put(column.axis.level(x), x),
                None => x[0] = clamp(x[0]),
            }
        }
    }

    /// The valid designs nearest to `designs`.
    pub(crate) fn snapped(&self, designs: &Points) -> Points {
        let mut valid = designs.clone();
        for i in 0..valid.len() {
            self.snap(valid.row_mut(i));
        }
        valid
    }

    /// The valid point at `u`, which has one number in \[0, 1\] per parameter. Choices and whole
    /// numbers own equal shares of \[0, 1\]; on a log scale n owns that from ln n to ln (n + 1).
    #[allow(clippy::wrong_self_convention, reason = "it converts from the cube, not from itself")]
    pub(crate) fn from_cube(&self, u: &[f64]) -> Vec<f64> {
        let mut x = vec![0.0; self.dim()];
        for (column, &u) in self.columns.iter().zip(u) {
            let x = &mut x[column.inputs.clone()];
            match column.levels() {
                Some(levels) => column.put(column.axis.share(clamp(u), levels), x),
                None => x[0] = clamp(u),
            }
        }
        x
    }

    /// Allowed valid points that differ from the valid point `x` in one discrete parameter.
    pub(crate) fn neighbours(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut neighbours = self.all_neighbours(x);
        neighbours.retain(|x| self.allows(x));
        neighbours
    }

    /// Neighbours that may break limits.
    fn all_neighbours(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut neighbours = Vec::new();
        for column in &self.columns {
            for level in column.other_levels(&x[column.inputs.clone()]) {
                let mut neighbour = x.to_vec();
                column.put(level, &mut neighbour[column.inputs.clone()]);
                neighbours.push(neighbour);
            }
        }
        neighbours
    }

    /// Number of different designs, allowed or not, if finite; the largest `u64` stands for more than that.
    pub(crate) fn size(&self) -> Option<u64> {
        let mut levels = self.columns.iter().map(Column::levels);
        levels.try_fold(1u64, |size, levels| Some(size.saturating_mul(levels?)))
    }

    /// All allowed points if there are at most `limit` valid ones, else none.
    pub(crate) fn enumerate(&self, limit: usize) -> Vec<Vec<f64>> {
        if self.size().is_none_or(|size| size > limit as u64) {
            return Vec::new();
        }
        let mut points = vec![vec![0.0; self.dim()]];
        for column in &self.columns {
            let levels = column.levels().unwrap_or(1);
            let set = |point: &Vec<f64>, level| {
                let mut point = point.clone();
                column.put(level, &mut point[column.inputs.clone()]);
                point
            };
            points = points.iter().flat_map(|p| (0..levels).map(move |l| set(p, l))).collect();
        }
        points.retain(|x| self.allows(x));
        points
    }

    /// Whether two points are the same design.
    pub(crate) fn same(&self, a: &[f64], b: &[f64]) -> bool {
        a == b
    }

    /// +1 if output `k` is maximised or at least something, −1 if it is minimised or at most.
    pub(crate) fn sign(&self, k: usize) -> f64 {
        self.outputs[k].sign
    }

    /// A value of output `k`, turned so that more is better; its logarithm on a log scale.
    pub(crate) fn to_internal(&self, k: usize, value: f64) -> f64 {
        let Turn { sign, scale } = self.outputs[k];
        match scale {
            Scale::Linear => sign * value,
            Scale::Log => sign * value.ln(),
        }
    }

    /// How fast the turned value of output `k` changes with the value.
    pub(crate) fn internal_slope(&self, k: usize, value: f64) -> f64 {
        let Turn { sign, scale } = self.outputs[k];
        match scale {
            Scale::Linear => sign,
            Scale::Log => sign / value,
        }
    }

    /// A standard error of output `k` at a value, turned likewise.
    pub(crate) fn internal_sd(&self, k: usize, value: f64, sd: f64) -> f64 {
        (self.internal_slope(k, value) * sd).abs()
    }

    /// A value of output `k` in which more is better, turned back.
    pub(crate) fn to_user(&self, k: usize, value: f64) -> f64 {
        let Turn { sign, scale } = self.outputs[k];
        match scale {
            Scale::Linear => sign * value,
            Scale::Log => (sign * value).exp(),
        }
    }
}

/// What two encoded designs have in common exactly when they are the same.
pub(crate) fn key(x: &[f64]) -> Vec<u64> {
    // Minus zero becomes zero.
    x.iter().map(|v| (v + 0.0).to_bits()).collect()
}
