//! Designs as points of the cube \[0, 1\]ᴰ, objectives as quantities to maximise.
//!
//! The one file where directions, units and scales are converted: inside the engine everything
//! lies in the cube and is maximised. Each parameter owns a few neighbouring inputs of the cube: a
//! number has one, a categorical parameter as many as `space/choices.rs` says. A parameter that
//! can take one value only has an input that stays at 1/2.

use std::ops::Range;

use crate::design::{Design, Value};
use crate::error::{Error, Result, near};
use crate::problem::{Direction, Output, Parameter, Problem, Scale};
use unyoke_math::Points;

mod choices;
#[cfg(test)]
mod properties;

use choices::Choices;

/// How many other choices count as neighbours.
const NEIGHBOURING_CHOICES: u64 = 16;

/// Whole numbers of more values than this also have neighbours a tenth of their range away.
const FEW_LEVELS: u64 = 20;

/// The largest whole number up to which all are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The cube of a problem.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Space {
    columns: Vec<Column>,
    continuous: Vec<bool>,
    outputs: Vec<Turn>,
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

/// A parameter with the inputs it owns.
#[derive(Debug, Clone, PartialEq)]
struct Column {
    name: String,
    axis: Axis,
    inputs: Range<usize>,
}

#[derive(Debug, Clone, PartialEq)]
enum Axis {
    Real(Interval),
    Integer(Interval),
    Choice(Choices),
}

impl Space {
    /// The cube of a problem that passed its check.
    pub(crate) fn new(problem: &Problem) -> Self {
        let mut columns: Vec<Column> = Vec::with_capacity(problem.parameters.len());
        let mut continuous = Vec::new();
        for parameter in &problem.parameters {
            let axis = Axis::new(parameter);
            let start = continuous.len();
            continuous.resize(start + axis.inputs(), axis.levels().is_none());
            let inputs = start..continuous.len();
            columns.push(Column { name: parameter.name().to_owned(), axis, inputs });
        }
        let outputs = problem.outputs.iter().map(Turn::new).collect();
        Self { columns, continuous, outputs }
    }

    /// Number of inputs, the D of \[0, 1\]ᴰ.
    pub(crate) fn dim(&self) -> usize {
        self.continuous.len()
    }

    /// Number of parameters.
    pub(crate) fn parameters(&self) -> usize {
        self.columns.len()
    }

    /// For each input, whether it may move freely between 0 and 1.
    pub(crate) fn continuous(&self) -> &[bool] {
        &self.continuous
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
        let value = |column: &Column| column.axis.decode(&x[column.inputs.clone()]);
        self.columns.iter().map(|column| (column.name.clone(), value(column))).collect()
    }

    /// Moves `x` to the nearest point of a valid design. Only continuous inputs may then differ
    /// from `encode(decode(x))`, by rounding.
    pub(crate) fn snap(&self, x: &mut [f64]) {
        for column in &self.columns {
            let x = &mut x[column.inputs.clone()];
            match column.axis.levels() {
                Some(_) => column.axis.put(column.axis.level(x), x),
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
            match column.axis.levels() {
                Some(levels) => column.axis.put(column.axis.share(clamp(u), levels), x),
                None => x[0] = clamp(u),
            }
        }
        x
    }

    /// Valid points that differ from the valid point `x` in one discrete parameter.
    pub(crate) fn neighbours(&self, x: &[f64]) -> Vec<Vec<f64>> {
        let mut neighbours = Vec::new();
        for column in &self.columns {
            for level in column.axis.other_levels(&x[column.inputs.clone()]) {
                let mut neighbour = x.to_vec();
                column.axis.put(level, &mut neighbour[column.inputs.clone()]);
                neighbours.push(neighbour);
            }
        }
        neighbours
    }

    /// Number of different designs, if finite; the largest `u64` stands for more than that.
    pub(crate) fn size(&self) -> Option<u64> {
        let mut levels = self.columns.iter().map(|column| column.axis.levels());
        levels.try_fold(1u64, |size, levels| Some(size.saturating_mul(levels?)))
    }

    /// All valid points if there are at most `limit`, else none.
    pub(crate) fn enumerate(&self, limit: usize) -> Vec<Vec<f64>> {
        if self.size().is_none_or(|size| size > limit as u64) {
            return Vec::new();
        }
        let mut points = vec![vec![0.0; self.dim()]];
        for Column { axis, inputs, .. } in &self.columns {
            let levels = axis.levels().unwrap_or(1);
            let set = |point: &Vec<f64>, level| {
                let mut point = point.clone();
                axis.put(level, &mut point[inputs.clone()]);
                point
            };
            points = points.iter().flat_map(|p| (0..levels).map(move |l| set(p, l))).collect();
        }
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

    /// A value of output `k` in which more is better, turned back.
    pub(crate) fn to_user(&self, k: usize, value: f64) -> f64 {
        let Turn { sign, scale } = self.outputs[k];
        match scale {
            Scale::Linear => sign * value,
            Scale::Log => (sign * value).exp(),
        }
    }
}

impl Column {
    fn encode(&self, value: &Value, out: &mut [f64]) -> Result<()> {
        match &self.axis {
            Axis::Real(interval) => out[0] = self.unit(interval, value, self.real(value)?)?,
            Axis::Integer(interval) => out[0] = self.unit(interval, value, self.whole(value)?)?,
            Axis::Choice(choices) => choices.put(self.place(choices, value)?, out),
        }
        Ok(())
    }

    fn real(&self, value: &Value) -> Result<f64> {
        let number = value.as_f64().filter(|v| v.is_finite());
        number.ok_or_else(|| self.bad(value, "a finite number"))
    }

    fn whole(&self, value: &Value) -> Result<f64> {
        let whole = |v: &f64| v.fract() == 0.0 && v.abs() <= EXACT;
        value.as_f64().filter(whole).ok_or_else(|| self.bad(value, "a whole number within ±2^53"))
    }

    fn place(&self, choices: &Choices, value: &Value) -> Result<usize> {
        let Some(name) = value.as_str() else {
            return Err(self.bad(value, "one of the choices, as text"));
        };
        choices.place(name).ok_or_else(|| match near(name, choices.names()) {
            Some(near) => self.bad(value, format!("one of the choices, perhaps {near:?}")),
            None => self.bad(value, "one of the choices"),
        })
    }

    fn unit(&self, interval: &Interval, value: &Value, v: f64) -> Result<f64> {
        if interval.scale == Scale::Log && v <= 0.0 {
            return Err(self.bad(value, "positive on a log scale"));
        }
        let u = interval.to_unit(v);
        if u.is_finite() { Ok(u) } else { Err(self.bad(value, "nearer to its bounds")) }
    }

    fn check_inside(&self, value: &Value) -> Result<()> {
        let (Axis::Real(Interval { low, high, .. }) | Axis::Integer(Interval { low, high, .. })) =
            self.axis
        else {
            return Ok(());
        };
        let inside = value.as_f64().is_some_and(|v| low <= v && v <= high);
        if inside { Ok(()) } else { Err(self.bad(value, format!("from {low} to {high}"))) }
    }

    fn bad(&self, value: &Value, must: impl Into<String>) -> Error {
        let value = match value {
            Value::Choice(text) => format!("{text:?}"),
            number => number.to_string(),
        };
        Error::BadValue { parameter: self.name.clone(), value, must: must.into() }
    }
}

impl Axis {
    fn new(parameter: &Parameter) -> Self {
        match parameter {
            Parameter::Continuous { low, high, scale, .. } => {
                Self::Real(Interval::new(*low, *high, *scale))
            }
            Parameter::Integer { low, high, scale, .. } => {
                Self::Integer(Interval::new(*low as f64, *high as f64, *scale))
            }
            Parameter::Categorical { choices, .. } => Self::Choice(Choices::new(choices)),
        }
    }

    fn inputs(&self) -> usize {
        match self {
            Self::Real(_) | Self::Integer(_) => 1,
            Self::Choice(choices) => choices.inputs(),
        }
    }

    /// Number of values, unless they are a continuum.
    fn levels(&self) -> Option<u64> {
        match self {
            Self::Real(interval) => interval.is_constant().then_some(1),
            Self::Integer(interval) => Some((interval.high - interval.low) as u64 + 1),
            Self::Choice(choices) => Some(choices.len() as u64),
        }
    }

    /// Which of its values a discrete parameter has at `x`, counting from zero.
    fn level(&self, x: &[f64]) -> u64 {
        match self {
            Self::Real(_) => 0,
            Self::Integer(interval) => (interval.nearest_whole(x[0]) - interval.low) as u64,
            Self::Choice(choices) => choices.nearest(x) as u64,
        }
    }

    /// Writes the inputs of value number `level` of a discrete parameter.
    fn put(&self, level: u64, out: &mut [f64]) {
        match self {
            Self::Real(interval) => out[0] = interval.to_unit(interval.low),
            Self::Integer(interval) => out[0] = interval.to_unit(interval.low + level as f64),
            Self::Choice(choices) => choices.put(level as usize, out),
        }
    }

    fn decode(&self, x: &[f64]) -> Value {
        match self {
            Self::Real(interval) => Value::Real(interval.at(x[0])),
            Self::Integer(interval) => Value::Integer(interval.nearest_whole(x[0]) as i64),
            Self::Choice(choices) => Value::Choice(choices.name(choices.nearest(x)).to_owned()),
        }
    }

    /// The value in whose share of \[0, 1\] the number `u` lies.
    fn share(&self, u: f64, levels: u64) -> u64 {
        let level = match self {
            Self::Integer(Interval { low, high, scale: Scale::Log, .. }) => {
                low * libm::exp(u * log_ratio(high + 1.0, *low)) - low
            }
            _ => u * levels as f64,
        };
        // The conversion rounds down and takes what is negative for 0.
        (level as u64).min(levels - 1)
    }

    /// Values near the one at `x`, itself not among them.
    fn other_levels(&self, x: &[f64]) -> Vec<u64> {
        let Some(levels) = self.levels().filter(|&levels| levels > 1) else {
            return Vec::new();
        };
        let here = self.level(x);
        match self {
            Self::Choice(_) => other_choices(here, levels),
            Self::Real(_) | Self::Integer(_) => steps(here, levels),
        }
    }
}

/// One step either way, and a tenth of the range where there are many values.
fn steps(here: u64, levels: u64) -> Vec<u64> {
    let sizes = if levels > FEW_LEVELS { vec![1, levels / 10] } else { vec![1] };
    let both = |size: u64| [here.checked_sub(size), here.checked_add(size)];
    sizes.into_iter().flat_map(both).flatten().filter(|&level| level < levels).collect()
}

/// All other choices, or some spread evenly over the list; the next one is always among them, so
/// that every choice can be reached in the end.
fn other_choices(here: u64, levels: u64) -> Vec<u64> {
    let others = levels - 1;
    let count = others.min(NEIGHBOURING_CHOICES);
    (0..count).map(|j| (here + 1 + j * others / count) % levels).collect()
}

/// `u` moved into \[0, 1\]; what is not a number becomes 0.
fn clamp(u: f64) -> f64 {
    if u > 0.0 { u.min(1.0) } else { 0.0 }
}

/// The numbers between two bounds, on their scale.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Interval {
    low: f64,
    high: f64,
    scale: Scale,
    /// From low to high, in differences or logarithms of ratios. For a constant, the unit in
    /// which imported values differ from it.
    length: f64,
}

impl Interval {
    fn new(low: f64, high: f64, scale: Scale) -> Self {
        let length = match scale {
            _ if low < high => distance(scale, low, high),
            Scale::Linear if low != 0.0 => low.abs(),
            Scale::Linear | Scale::Log => 1.0,
        };
        Self { low, high, scale, length }
    }

    fn is_constant(&self) -> bool {
        self.low == self.high
    }

    fn to_unit(self, v: f64) -> f64 {
        let start = if self.is_constant() { 0.5 } else { 0.0 };
        start + distance(self.scale, self.low, v) / self.length
    }

    /// The number at `u`, always within the bounds and equal to them at 0 and 1.
    fn at(self, u: f64) -> f64 {
        if self.is_constant() {
            return self.low;
        }
        let u = clamp(u);
        // Measured from the nearer end, so that both ends are exact; 1 − u is exact beyond 1/2.
        let (end, way) = if u <= 0.5 {
            (self.low, u * self.length)
        } else {
            (self.high, (u - 1.0) * self.length)
        };
        let v = match self.scale {
            Scale::Linear => end + way,
            // In two halves: the whole factor may overflow where the product does not.
            Scale::Log => end * libm::exp(0.5 * way) * libm::exp(0.5 * way),
        };
        v.max(self.low).min(self.high)
    }

    /// The whole number nearest to that at `u`.
    fn nearest_whole(self, u: f64) -> f64 {
        self.at(u).round()
    }
}

/// How far `v` is above `low`.
fn distance(scale: Scale, low: f64, v: f64) -> f64 {
    match scale {
        Scale::Linear => v - low,
        Scale::Log => log_ratio(v, low),
    }
}

/// ln (a/b) for positive numbers, without cancellation where they are close and without overflow
/// where they are far apart. From `libm`, so that every machine has the same cube.
fn log_ratio(a: f64, b: f64) -> f64 {
    let ratio = a / b;
    if (0.5..=2.0).contains(&ratio) {
        libm::log1p((a - b) / b)
    } else if ratio.is_normal() {
        libm::log(ratio)
    } else {
        libm::log(a) - libm::log(b)
    }
}

/// What two encoded designs have in common exactly when they are the same.
pub(crate) fn key(x: &[f64]) -> Vec<u64> {
    // Minus zero becomes zero.
    x.iter().map(|v| (v + 0.0).to_bits()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::ProblemBuilder;

    fn start() -> ProblemBuilder {
        Problem::builder().maximise("f", 1.0).minimise("g", 1.0)
    }

    fn space(builder: ProblemBuilder) -> Space {
        Space::new(&builder.build().unwrap())
    }

    fn mixed() -> Space {
        space(
            start()
                .continuous("length", 1.0, 3.0)
                .integer("layers", 1, 5)
                .categorical("kind", ["oak", "steel", "glass"]),
        )
    }

    fn some() -> Design {
        Design::new().with("length", 1.5).with("layers", 2).with("kind", "steel")
    }

    #[test]
    fn a_design_becomes_a_point_and_comes_back() {
        let space = mixed();
        let x = space.encode(&some()).unwrap();
        assert_eq!(x, [0.25, 0.25, 0.0, std::f64::consts::FRAC_1_SQRT_2, 0.0]);
        assert_eq!(space.decode(&x), some());
        assert_eq!((space.dim(), space.parameters()), (5, 3));
        assert_eq!(space.continuous(), [true, false, false, false, false]);
    }

    #[test]
    fn numbers_are_accepted_for_what_they_are_worth() {
        let space = mixed();
        let whole = some().with("length", 2).with("layers", 2.0);
        assert_eq!(space.encode(&whole).unwrap()[..2], [0.5, 0.25]);
        assert!(space.encode(&some().with("layers", 2.5)).is_err());
        assert!(space.encode(&some().with("layers", 1e300)).is_err());
        assert!(space.encode(&some().with("layers", f64::NAN)).is_err());
        assert!(space.encode(&some().with("layers", "2")).is_err());
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(space.encode(&some().with("length", bad)).is_err());
        }
        assert!(space.encode(&some().with("kind", 1)).is_err());
    }

    #[test]
    fn names_that_do_not_fit_are_reported_with_the_nearest_that_does() {
        let space = mixed();
        let misspelt = Design::new().with("lenght", 1.5).with("layers", 2).with("kind", "steel");
        let unknown = |name: &str, near: Option<&str>| Error::UnknownParameter {
            name: name.into(),
            near: near.map(Into::into),
        };
        assert_eq!(space.encode(&misspelt), Err(unknown("lenght", Some("length"))));
        assert_eq!(space.encode(&some().with("colour", 1)), Err(unknown("colour", None)));
        let missing = Error::MissingParameter { name: "length".into() };
        assert_eq!(space.encode(&Design::new().with("kind", "oak")), Err(missing));
        let Err(Error::BadValue { parameter, value, must }) =
            space.encode(&some().with("kind", "stele"))
        else {
            panic!("an unknown choice was accepted")
        };
        assert_eq!((parameter.as_str(), value.as_str()), ("kind", "\"stele\""));
        assert!(must.contains("steel"));
    }

    #[test]
    fn values_beyond_the_bounds_are_encoded_but_not_inside() {
        let space = mixed();
        let beyond = some().with("length", 5.0).with("layers", -3);
        assert_eq!(space.encode(&beyond).unwrap()[..2], [2.0, -1.0]);
        assert!(matches!(space.check_inside(&beyond), Err(Error::BadValue { .. })));
        assert_eq!(space.check_inside(&some()), Ok(()));
        assert_eq!(space.check_inside(&some().with("length", 3.0)), Ok(()));
        assert!(space.check_inside(&some().with("layers", 6)).is_err());
    }

    #[test]
    fn values_too_far_from_the_bounds_to_be_encoded_are_refused() {
        let narrow = space(start().continuous("x", 0.0, 1e-10));
        assert!(narrow.encode(&Design::new().with("x", 1e300)).is_err());
        let log = space(start().continuous_log("x", 1.0, 10.0).integer_log("n", 1, 10));
        for (x, n) in [(0.0, 1), (-1.0, 1), (1.0, 0), (1.0, -1)] {
            assert!(log.encode(&Design::new().with("x", x).with("n", n)).is_err());
        }
        assert!(log.encode(&Design::new().with("x", 1e-300).with("n", 1 << 30)).is_ok());
    }

    #[test]
    fn wide_log_scales_have_exact_bounds() {
        for (low, high) in [(1e-12, 1e12), (5e-324, f64::MAX), (1e-300, 1e300), (3.0, 3.0000001)] {
            let space = space(start().continuous_log("x", low, high));
            assert_eq!(space.decode(&[0.0]).real("x"), Some(low));
            assert_eq!(space.decode(&[1.0]).real("x"), Some(high));
            for bound in [low, high] {
                let x = space.encode(&Design::new().with("x", bound)).unwrap();
                assert_eq!(x, [if bound == low { 0.0 } else { 1.0 }]);
            }
        }
    }

    #[test]
    fn the_middle_of_a_log_scale_is_the_geometric_mean() {
        let space = space(start().continuous_log("x", 1e-12, 1e12).integer_log("n", 1, 10_000));
        let design = space.decode(&[0.5, 0.5]);
        assert!((design.real("x").unwrap() - 1.0).abs() < 1e-14);
        assert_eq!(design.get("n"), Some(&Value::Integer(100)));
    }

    #[test]
    fn narrow_bounds_far_from_zero_lose_nothing() {
        let (low, high) = (1e9, 1e9 + 1e-3);
        let space = space(start().continuous("x", low, high));
        let mut v: f64 = low;
        let mut last = -1.0;
        while v <= high {
            let x = space.encode(&Design::new().with("x", v)).unwrap();
            assert!(x[0] > last && x[0] <= 1.0);
            assert_eq!(space.decode(&x).real("x"), Some(v));
            (last, v) = (x[0], v.next_up());
        }
        assert_eq!(last, 1.0);
    }

    #[test]
    fn a_parameter_with_one_value_stays_in_the_middle() {
        let space = space(
            start()
                .continuous("x", 3.0, 3.0)
                .continuous_log("y", 2.0, 2.0)
                .integer("n", 7, 7)
                .categorical("c", ["only"]),
        );
        let design = Design::new().with("x", 3.0).with("y", 2.0).with("n", 7).with("c", "only");
        assert_eq!(space.encode(&design).unwrap(), [0.5; 4]);
        assert_eq!(space.decode(&[0.0, 1.0, 0.2, 0.9]), design);
        assert_eq!(space.continuous(), [false; 4]);
        assert_eq!(space.size(), Some(1));
        assert_eq!(space.enumerate(1), [[0.5; 4]]);
        assert_eq!(space.from_cube(&[0.0, 0.3, 0.9, 1.0]), [0.5; 4]);
        assert!(space.neighbours(&[0.5; 4]).is_empty());
        let mut x = [0.1, 0.2, 0.3, 0.4];
        space.snap(&mut x);
        assert_eq!(x, [0.5; 4]);
    }

    #[test]
    fn other_values_of_a_constant_are_other_points() {
        let space = space(start().continuous("x", 3.0, 3.0).continuous("z", 0.0, 0.0));
        let x = space.encode(&Design::new().with("x", 6.0).with("z", -1.0)).unwrap();
        assert_eq!(x, [1.5, -0.5]);
    }

    #[test]
    fn integers_are_exact_to_the_last_one() {
        for (low, high) in [(0, 1i64 << 52), (-(1 << 51), 1 << 51), (1 << 52, 1 << 53)] {
            let space = space(start().integer("n", low, high));
            for v in [low, low + 1, low + (high - low) / 3, (low + high) / 2, high - 1, high] {
                let x = space.encode(&Design::new().with("n", v)).unwrap();
                assert_eq!(space.decode(&x).get("n"), Some(&Value::Integer(v)));
            }
        }
    }

    #[test]
    fn log_integers_are_exact_to_the_last_one() {
        let high = 1i64 << 44;
        let space = space(start().integer_log("n", 1, high));
        let powers = (0..44).flat_map(|k| [(1i64 << k), (1 << k) + 1, (3 << k) / 2]);
        for v in powers.chain(high - 1000..=high) {
            let x = space.encode(&Design::new().with("n", v)).unwrap();
            assert_eq!(space.decode(&x).get("n"), Some(&Value::Integer(v)));
        }
    }

    #[test]
    fn the_cube_gives_equal_shares_to_choices_and_integers() {
        let space = space(start().integer("n", 0, 3).categorical("c", ["a", "b"]));
        let mut counts = std::collections::BTreeMap::new();
        for i in 0..8 {
            for j in 0..8 {
                let x = space.from_cube(&[f64::from(i) / 8.0, f64::from(j) / 8.0]);
                *counts.entry(space.decode(&x).to_string()).or_insert(0) += 1;
            }
        }
        assert_eq!(counts.into_values().collect::<Vec<_>>(), [8; 8]);
        assert_eq!(
            space.from_cube(&[1.0, 1.0]),
            space.encode(&space.decode(&[1.0, 0.0, 1.0])).unwrap()
        );
    }

    #[test]
    fn the_cube_gives_equal_shares_to_the_decades_of_a_log_integer() {
        let space = space(start().integer_log("n", 1, 9_999));
        let draw = |u: f64| space.decode(&space.from_cube(&[u])).real("n").unwrap();
        let below_hundred = (0..1000).filter(|i| draw((f64::from(*i) + 0.5) / 1000.0) < 100.0);
        assert_eq!(below_hundred.count(), 500);
        assert_eq!((draw(0.0), draw(1.0)), (1.0, 9_999.0));
    }

    #[test]
    fn neighbours_step_once_and_by_a_tenth() {
        let space = space(start().integer("n", 0, 100).integer("m", 0, 2));
        let x = space.encode(&Design::new().with("n", 5).with("m", 0)).unwrap();
        let near: Vec<String> =
            space.neighbours(&x).iter().map(|x| space.decode(x).to_string()).collect();
        assert_eq!(near, ["m = 0, n = 4", "m = 0, n = 6", "m = 0, n = 15", "m = 1, n = 5"]);
    }

    #[test]
    fn neighbours_are_every_other_choice_or_sixteen() {
        for (count, expected) in [(2, 1), (16, 15), (17, 16), (40, 16), (10_000, 16)] {
            let choices = (0..count).map(|i| i.to_string());
            let space = space(start().categorical("c", choices));
            let x = space.from_cube(&[0.99]);
            let neighbours = space.neighbours(&x);
            let distinct: std::collections::BTreeSet<String> =
                neighbours.iter().map(|x| space.decode(x).to_string()).collect();
            assert_eq!((neighbours.len(), distinct.len()), (expected, expected));
            assert!(!distinct.contains(&space.decode(&x).to_string()));
        }
    }

    #[test]
    fn finite_spaces_can_be_counted_and_listed() {
        let space = space(start().integer("n", 1, 3).categorical("c", ["a", "b"]));
        assert_eq!(space.size(), Some(6));
        let all = space.enumerate(6);
        let distinct: std::collections::BTreeSet<String> =
            all.iter().map(|x| space.decode(x).to_string()).collect();
        assert_eq!((all.len(), distinct.len()), (6, 6));
        assert!(space.enumerate(5).is_empty());
    }

    #[test]
    fn infinite_and_enormous_spaces_are_not_listed() {
        assert_eq!(mixed().size(), None);
        assert!(mixed().enumerate(usize::MAX).is_empty());
        let huge = space(start().integer("a", 0, 1 << 52).integer("b", 0, 1 << 52));
        assert_eq!(huge.size(), Some(u64::MAX));
        assert!(huge.enumerate(1000).is_empty());
    }

    #[test]
    fn three_integer_values_are_all_there_is() {
        let space = space(start().integer("n", 4, 6));
        assert_eq!(space.enumerate(10), [[0.0], [0.5], [1.0]]);
        assert_eq!(space.neighbours(&[0.5]), [[0.0], [1.0]]);
    }

    #[test]
    fn odd_choices_are_choices_like_any_other() {
        let names: Vec<String> = ["NaN", "🦀", "inf", " "].iter().map(|s| s.to_string()).collect();
        let odd = space(start().categorical("c", names.clone()));
        for name in names {
            let design = Design::new().with("c", name);
            assert_eq!(odd.decode(&odd.encode(&design).unwrap()), design);
        }
    }

    #[test]
    fn numbers_that_are_not_numbers_decode_to_something_valid() {
        let space = mixed();
        let design = space.decode(&[f64::NAN; 5]);
        assert_eq!(space.check_inside(&design), Ok(()));
        let mut x = [f64::NAN, f64::INFINITY, f64::NAN, -7.0, f64::NEG_INFINITY];
        space.snap(&mut x);
        assert!(x.iter().all(|x| (0.0..=1.0).contains(x)));
    }

    #[test]
    fn objectives_are_maximised_inside() {
        let space = mixed();
        assert_eq!((space.sign(0), space.sign(1)), (1.0, -1.0));
        assert_eq!((space.to_internal(0, 2.5), space.to_internal(1, 2.5)), (2.5, -2.5));
        assert_eq!(space.to_user(1, space.to_internal(1, 0.1)), 0.1);
    }
}
