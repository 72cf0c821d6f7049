//! A formula as a list of operations, each on constants, parameters and earlier results.
//!
//! Values go through the list forwards, derivatives backwards (reverse-mode differentiation), so a
//! whole gradient costs about as much as two or three values. Functions are those of `libm`: every
//! machine has the same results.

use crate::error::near;

/// Tapes up to this length need no memory from the heap: they are run hundreds of thousands of
/// times per suggestion.
const SHORT: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Power,
    Negate,
    Sqrt,
    Exp,
    Ln,
    Log10,
    Sin,
    Cos,
    Tan,
    Abs,
    Min,
    Max,
}

/// What an operation works on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Operand {
    Constant(f64),
    /// A place among the names or, once bound, among the values.
    Variable(usize),
    /// The result of an earlier operation.
    Result(usize),
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Step {
    op: Op,
    a: Operand,
    /// The same as `a` for operations on one number, which do not read it.
    b: Operand,
}

/// A formula over names.
#[derive(Debug, Clone)]
pub(super) struct Tape {
    names: Vec<String>,
    steps: Vec<Step>,
    result: Operand,
}

impl Default for Tape {
    fn default() -> Self {
        Self { names: vec![], steps: vec![], result: Operand::Constant(0.0) }
    }
}

impl Tape {
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    pub(super) fn variable(&mut self, name: &str) -> Operand {
        let place = self.names.iter().position(|known| known == name).unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        Operand::Variable(place)
    }

    pub(super) fn push_unary(&mut self, op: Op, a: Operand) -> Operand {
        self.push(op, a, a)
    }

    /// Adds an operation; one on constants is carried out at once.
    pub(super) fn push(&mut self, op: Op, a: Operand, b: Operand) -> Operand {
        if let (Operand::Constant(a), Operand::Constant(b)) = (a, b) {
            return Operand::Constant(op.of(a, b));
        }
        self.steps.push(Step { op, a, b });
        Operand::Result(self.steps.len() - 1)
    }

    pub(super) fn finish(&mut self, result: Operand) {
        self.result = result;
    }

    /// Replaces names by their places in `names`, or says which is not among them.
    pub(super) fn bind(&self, names: &[&str]) -> Result<Bound, String> {
        let meant: Vec<Operand> =
            self.names.iter().map(|name| find(name, names)).collect::<Result<_, String>>()?;
        let replace = |operand: Operand| match operand {
            Operand::Variable(place) => meant.get(place).copied().unwrap_or(operand),
            other => other,
        };
        let steps = self.steps.iter();
        let steps = steps.map(|s| Step { op: s.op, a: replace(s.a), b: replace(s.b) }).collect();
        Ok(Bound { steps, result: replace(self.result) })
    }
}

/// A parameter or, if there is none of that name, a constant.
fn find(name: &str, names: &[&str]) -> Result<Operand, String> {
    match (names.iter().position(|known| *known == name), name) {
        (Some(place), _) => Ok(Operand::Variable(place)),
        (None, "pi") => Ok(Operand::Constant(std::f64::consts::PI)),
        (None, "e") => Ok(Operand::Constant(std::f64::consts::E)),
        (None, _) => {
            let hint = near(name, names.iter().copied())
                .map_or_else(String::new, |near| format!("; did you mean {near:?}?"));
            Err(format!("no parameter is called {name:?}{hint}"))
        }
    }
}

/// A formula over the values of parameters in a fixed order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bound {
    steps: Vec<Step>,
    result: Operand,
}

impl Bound {
    /// The value, which need not be finite; a value that is missing counts as not a number.
    pub(crate) fn value(&self, values: &[f64]) -> f64 {
        self.with_results(|results| {
            self.run(values, results);
            read(self.result, values, results)
        })
    }

    /// The value, and its partial derivative by each of the values.
    ///
    /// Where there is a kink (`abs` at 0, `min` and `max` of equals) it is that of one side or,
    /// for `abs`, 0. That of xʸ by y is given as 0 where x is not positive and has none.
    pub(crate) fn gradient(&self, values: &[f64], out: &mut [f64]) -> f64 {
        out.fill(0.0);
        self.with_results(|results| {
            self.run(values, results);
            self.with_results(|slopes| {
                slopes.fill(0.0);
                add(self.result, 1.0, slopes, out);
                self.run_back(values, results, slopes, out);
            });
            read(self.result, values, results)
        })
    }

    /// Whether value number `place` is used.
    pub(crate) fn uses(&self, place: usize) -> bool {
        let is_it = |operand| operand == Operand::Variable(place);
        is_it(self.result) || self.steps.iter().any(|step| is_it(step.a) || is_it(step.b))
    }

    /// Calls `work` with room for one number per operation.
    fn with_results<T>(&self, work: impl FnOnce(&mut [f64]) -> T) -> T {
        let count = self.steps.len();
        if count <= SHORT { work(&mut [0.0; SHORT][..count]) } else { work(&mut vec![0.0; count]) }
    }

    fn run(&self, values: &[f64], results: &mut [f64]) {
        for (i, Step { op, a, b }) in self.steps.iter().enumerate() {
            results[i] = op.of(read(*a, values, results), read(*b, values, results));
        }
    }

    /// Passes the derivative by each result on to what it was computed from.
    fn run_back(&self, values: &[f64], results: &[f64], slopes: &mut [f64], out: &mut [f64]) {
        for (i, Step { op, a, b }) in self.steps.iter().enumerate().rev() {
            let slope = slopes[i];
            // Not only to save time: 0 · ∞ must be 0 here.
            if slope == 0.0 {
                continue;
            }
            let (x, y) = (read(*a, values, results), read(*b, values, results));
            let (by_x, by_y) = op.slopes(x, y, results[i]);
            add(*a, slope * by_x, slopes, out);
            if op.is_binary() {
                add(*b, slope * by_y, slopes, out);
            }
        }
    }
}

fn read(operand: Operand, values: &[f64], results: &[f64]) -> f64 {
    match operand {
        Operand::Constant(value) => value,
        Operand::Variable(place) => values.get(place).copied().unwrap_or(f64::NAN),
        Operand::Result(place) => results[place],
    }
}

fn add(operand: Operand, slope: f64, slopes: &mut [f64], out: &mut [f64]) {
    match operand {
        Operand::Constant(_) => {}
        Operand::Variable(place) => {
            if let Some(out) = out.get_mut(place) {
                *out += slope;
            }
        }
        Operand::Result(place) => slopes[place] += slope,
    }
}

impl Op {
    fn is_binary(self) -> bool {
        use Op::{Add, Divide, Max, Min, Multiply, Power, Subtract};
        matches!(self, Add | Subtract | Multiply | Divide | Power | Min | Max)
    }

    fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Add => a + b,
            Self::Subtract => a - b,
            Self::Multiply => a * b,
            Self::Divide => a / b,
            // By far the most frequent power.
            Self::Power if b == 2.0 => a * a,
            Self::Power => libm::pow(a, b),
            Self::Negate => -a,
            Self::Sqrt => a.sqrt(),
            Self::Exp => libm::exp(a),
            Self::Ln => libm::log(a),
            Self::Log10 => libm::log10(a),
            Self::Sin => libm::sin(a),
            Self::Cos => libm::cos(a),
            Self::Tan => libm::tan(a),
            Self::Abs => a.abs(),
            // Unlike those of the standard library, these do not lose what is not a number.
            Self::Min => {
                if a <= b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
            Self::Max => {
                if a >= b || a.is_nan() {
                    a
                } else {
                    b
                }
            }
        }
    }

    /// The derivatives of `result`, which is `of(a, b)`, by `a` and `b`.
    fn slopes(self, a: f64, b: f64, result: f64) -> (f64, f64) {
        match self {
            Self::Add => (1.0, 1.0),
            Self::Subtract => (1.0, -1.0),
            Self::Multiply => (b, a),
            Self::Divide => (1.0 / b, -result / b),
            Self::Power => (power_slope(a, b), exponent_slope(a, result)),
            Self::Negate => (-1.0, 0.0),
            Self::Sqrt => (0.5 / result, 0.0),
            Self::Exp => (result, 0.0),
            Self::Ln => (1.0 / a, 0.0),
            Self::Log10 => (std::f64::consts::LOG10_E / a, 0.0),
            Self::Sin => (libm::cos(a), 0.0),
            Self::Cos => (-libm::sin(a), 0.0),
            Self::Tan => (1.0 + result * result, 0.0),
            Self::Abs if a == 0.0 => (0.0, 0.0),
            Self::Abs => (a.signum(), 0.0),
            Self::Min if a <= b => (1.0, 0.0),
            Self::Max if a >= b => (1.0, 0.0),
            Self::Min | Self::Max => (0.0, 1.0),
        }
    }
}

/// d(aᵇ)/da.
fn power_slope(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { b * Op::Power.of(a, b - 1.0) }
}

/// d(aᵇ)/db = aᵇ ln a.
fn exponent_slope(a: f64, power: f64) -> f64 {
    if a > 0.0 { power * libm::log(a) } else { 0.0 }
}
