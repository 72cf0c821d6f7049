//! A parameter with the inputs it owns, and the values it can take.

use std::ops::Range;

use super::choices::Choices;
use super::grid::Grid;
use super::interval::{Interval, clamp, log_ratio};
use crate::design::Value;
use crate::error::{Error, Result, near};
use crate::problem::{Parameter, Scale};

/// How many other choices count as neighbours.
const NEIGHBOURING_CHOICES: u64 = 16;

/// Numbers of more values than this also have neighbours a tenth of their range away, and can be
/// searched as if they had no steps.
const FEW_LEVELS: u64 = 20;

/// Numbers that differ by less than this part are the same but for rounding.
const ROUNDING: f64 = 1e-12;

/// The largest whole number up to which all are doubles.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A parameter with the inputs it owns.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) axis: Axis,
    pub(super) inputs: Range<usize>,
    /// The only value that designs may have, if users say so.
    pub(super) held: Option<Held>,
}

/// A value that stays as it is, and where that lies in the cube.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Held {
    pub(super) value: Value,
    pub(super) x: Vec<f64>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Axis {
    Real(Interval),
    Stepped(Grid),
    Integer(Interval),
    Choice(Choices),
    /// Choices at equal distances on one input.
    Ordered(Choices),
}

impl Column {
    /// Lets designs have this value only, which must be one that could be suggested.
    pub(super) fn hold(&mut self, value: &Value) -> Result<()> {
        self.check_inside(value)?;
        let mut x = vec![0.0; self.inputs.len()];
        self.encode(value, &mut x)?;
        let nearest = self.axis.decode(&x);
        let value = match (nearest.as_f64(), value.as_f64()) {
            (Some(near), Some(exact)) if (near - exact).abs() > ROUNDING * exact.abs() => {
                return Err(self.bad(value, format!("one of its steps, such as {nearest}")));
            }
            // As it was written: converted back from the cube it could differ in its last digit.
            (Some(_), Some(exact)) if matches!(nearest, Value::Real(_)) => Value::Real(exact),
            _ => nearest,
        };
        self.encode(&value, &mut x)?;
        self.held = Some(Held { value, x });
        Ok(())
    }

    /// The value at `x` as it is decoded; not a number for a choice.
    pub(super) fn number(&self, x: &[f64]) -> f64 {
        let held = self.held.as_ref().and_then(|held| held.value.as_f64());
        held.unwrap_or_else(|| self.axis.number(x))
    }

    /// Number of values that designs may have, unless they are a continuum.
    pub(super) fn levels(&self) -> Option<u64> {
        if self.held.is_some() { Some(1) } else { self.axis.levels() }
    }

    /// Writes the inputs of value number `level` of those that designs may have.
    pub(super) fn put(&self, level: u64, out: &mut [f64]) {
        match &self.held {
            Some(held) => out.copy_from_slice(&held.x),
            None => self.axis.put(level, out),
        }
    }

    /// The value at `x`, of those that designs may have.
    pub(super) fn decode(&self, x: &[f64]) -> Value {
        match &self.held {
            Some(held) => held.value.clone(),
            None => self.axis.decode(x),
        }
    }

    /// Values near the one at `x`, itself not among them.
    pub(super) fn other_levels(&self, x: &[f64]) -> Vec<u64> {
        if self.held.is_some() { vec![] } else { self.axis.other_levels(x) }
    }

    pub(super) fn encode(&self, value: &Value, out: &mut [f64]) -> Result<()> {
        match &self.axis {
            Axis::Real(interval) => out[0] = self.unit(interval, value, self.real(value)?)?,
            Axis::Integer(interval) => out[0] = self.unit(interval, value, self.whole(value)?)?,
            Axis::Stepped(grid) => out[0] = self.unit(&grid.interval, value, self.real(value)?)?,
            Axis::Choice(choices) => choices.put(self.place(choices, value)?, out),
            Axis::Ordered(choices) => {
                out[0] = ordered_unit(self.place(choices, value)? as u64, choices.len() as u64);
            }
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

    pub(super) fn check_inside(&self, value: &Value) -> Result<()> {
        let (low, high) = match &self.axis {
            Axis::Real(interval) | Axis::Integer(interval) => (interval.low, interval.high),
            Axis::Stepped(grid) => (grid.interval.low, grid.high),
            Axis::Choice(_) | Axis::Ordered(_) => return Ok(()),
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
    pub(super) fn new(parameter: &Parameter) -> Self {
        match parameter {
            Parameter::Continuous { low, high, scale, step: Some(step), .. } if low < high => {
                Self::Stepped(Grid::new(*low, *high, *step, *scale))
            }
            Parameter::Continuous { low, high, scale, .. } => {
                Self::Real(Interval::new(*low, *high, *scale))
            }
            Parameter::Integer { low, high, scale, .. } => {
                Self::Integer(Interval::new(*low as f64, *high as f64, *scale))
            }
            Parameter::Categorical { choices, ordered: false, .. } => {
                Self::Choice(Choices::new(choices))
            }
            Parameter::Categorical { choices, ordered: true, .. } => {
                Self::Ordered(Choices::new(choices))
            }
        }
    }

    pub(super) fn inputs(&self) -> usize {
        match self {
            Self::Choice(choices) => choices.inputs(),
            Self::Real(_) | Self::Stepped(_) | Self::Integer(_) | Self::Ordered(_) => 1,
        }
    }

    /// Number of values, unless they are a continuum.
    pub(super) fn levels(&self) -> Option<u64> {
        match self {
            Self::Real(interval) => interval.is_constant().then_some(1),
            Self::Stepped(grid) => Some(grid.levels),
            Self::Integer(interval) => Some((interval.high - interval.low) as u64 + 1),
            Self::Choice(choices) | Self::Ordered(choices) => Some(choices.len() as u64),
        }
    }

    /// Whether a search may move along it as if it had no steps, to be rounded afterwards.
    pub(super) fn is_climbable(&self) -> bool {
        match self {
            Self::Choice(_) | Self::Ordered(_) => false,
            _ => self.levels().is_none_or(|levels| levels > FEW_LEVELS),
        }
    }

    /// Which of its values a discrete parameter has at `x`, counting from zero.
    pub(super) fn level(&self, x: &[f64]) -> u64 {
        match self {
            Self::Real(_) => 0,
            Self::Stepped(grid) => grid.nearest(x[0]),
            Self::Integer(interval) => (interval.nearest_whole(x[0]) - interval.low) as u64,
            Self::Choice(choices) => choices.nearest(x) as u64,
            Self::Ordered(choices) => nearest_ordered(x[0], choices.len() as u64),
        }
    }

    /// Writes the inputs of value number `level` of a discrete parameter.
    pub(super) fn put(&self, level: u64, out: &mut [f64]) {
        match self {
            Self::Real(interval) => out[0] = interval.to_unit(interval.low),
            Self::Stepped(grid) => out[0] = grid.interval.to_unit(grid.value(level)),
            Self::Integer(interval) => out[0] = interval.to_unit(interval.low + level as f64),
            Self::Choice(choices) => choices.put(level as usize, out),
            Self::Ordered(choices) => out[0] = ordered_unit(level, choices.len() as u64),
        }
    }

    pub(super) fn decode(&self, x: &[f64]) -> Value {
        match self {
            Self::Real(interval) => Value::Real(interval.at(x[0])),
            Self::Stepped(grid) => Value::Real(grid.value(grid.nearest(x[0]))),
            Self::Integer(interval) => Value::Integer(interval.nearest_whole(x[0]) as i64),
            Self::Choice(choices) | Self::Ordered(choices) => {
                Value::Choice(choices.name(self.level(x) as usize).to_owned())
            }
        }
    }

    /// The value at `x` as it is decoded; not a number for a choice.
    pub(super) fn number(&self, x: &[f64]) -> f64 {
        match self {
            Self::Real(interval) => interval.at(x[0]),
            Self::Stepped(grid) => grid.value(grid.nearest(x[0])),
            Self::Integer(interval) => interval.nearest_whole(x[0]),
            Self::Choice(_) | Self::Ordered(_) => f64::NAN,
        }
    }

    /// The value at `x` without rounding, and its derivative by the input, if it can be climbed;
    /// otherwise the value as it is decoded, and 0.
    pub(super) fn relaxed(&self, x: &[f64]) -> (f64, f64) {
        let interval = match self {
            Self::Real(interval) | Self::Integer(interval) => interval,
            Self::Stepped(grid) => &grid.interval,
            Self::Choice(_) | Self::Ordered(_) => return (f64::NAN, 0.0),
        };
        if !self.is_climbable() {
            return (self.number(x), 0.0);
        }
        let value = interval.at(x[0]);
        (value, interval.slope(value))
    }

    /// The value in whose share of \[0, 1\] the number `u` lies.
    pub(super) fn share(&self, u: f64, levels: u64) -> u64 {
        let level = match self {
            Self::Integer(Interval { low, high, scale: Scale::Log, .. }) => {
                log_share(u, *low, high + 1.0)
            }
            Self::Stepped(Grid {
                interval: Interval { low, high, scale: Scale::Log, .. },
                step,
                ..
            }) => log_share(u, *low, high + step) / step,
            _ => u * levels as f64,
        };
        // The conversion rounds down and takes what is negative for 0.
        (level as u64).min(levels - 1)
    }

    /// Values near the one at `x`, itself not among them.
    pub(super) fn other_levels(&self, x: &[f64]) -> Vec<u64> {
        let Some(levels) = self.levels().filter(|&levels| levels > 1) else {
            return Vec::new();
        };
        let here = self.level(x);
        match self {
            Self::Choice(_) => other_choices(here, levels),
            _ => steps(here, levels),
        }
    }
}

/// How far above `low` the number at `u` is if equal ratios up to `end` have equal shares.
fn log_share(u: f64, low: f64, end: f64) -> f64 {
    low * libm::exp(u * log_ratio(end, low)) - low
}

/// Where the choice number `level` of `levels` stands if they have an order.
fn ordered_unit(level: u64, levels: u64) -> f64 {
    if levels > 1 { level as f64 / (levels - 1) as f64 } else { 0.5 }
}

/// The choice nearest to `u` if they have an order.
fn nearest_ordered(u: f64, levels: u64) -> u64 {
    (clamp(u) * (levels - 1) as f64).round() as u64
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
