//! Inequalities between formulas: `x1 + x2 <= 1`, `0 <= a - b <= 1`.

use serde::{Deserialize, Serialize};

use super::lexer::{Token, tokens};
use super::parse::{Parser, is_comparison};
use super::tape::{Bound, Op, Tape};
use crate::error::{Error, Result};

/// Two or three formulas of which one is at most the next, or at least. It is compared, and written
/// in files, as its text.
///
/// `<` means the same as `<=`: of numbers that were computed, nobody can tell the two apart.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Inequality {
    text: String,
    /// For each pair of neighbouring sides, the larger minus the smaller.
    slacks: Vec<Tape>,
}

impl Inequality {
    /// Fails with a [`Error::BadFormula`] that says what is wrong with the text.
    pub(crate) fn parse(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        match slacks(&text) {
            Ok(slacks) => Ok(Self { text, slacks }),
            Err(reason) => Err(Error::BadFormula { formula: text, reason }),
        }
    }

    /// The text that was parsed.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Every name in it; `pi` and `e` are among them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let mut names: Vec<&str> = Vec::new();
        for name in self.slacks.iter().flat_map(Tape::names) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter()
    }

    /// The inequality with each name replaced by its place in `names`.
    pub(crate) fn bind(&self, names: &[&str]) -> Result<BoundInequality> {
        let refused = |reason| Error::BadFormula { formula: self.text.clone(), reason };
        let slacks =
            self.slacks.iter().map(|tape| tape.bind(names)).collect::<std::result::Result<_, _>>();
        Ok(BoundInequality { slacks: slacks.map_err(refused)? })
    }
}

/// The tapes of the differences, or what is wrong with the text.
fn slacks(text: &str) -> std::result::Result<Vec<Tape>, String> {
    let tokens = tokens(text)?;
    let signs: Vec<&Token> = tokens.iter().filter(|token| is_comparison(token)).collect();
    check_signs(&signs)?;
    let sides: Vec<&[Token]> = tokens.split(is_comparison).collect();
    if sides.iter().any(|side| side.is_empty()) {
        return Err("one of its sides is empty".into());
    }
    sides.windows(2).zip(signs).map(|(pair, sign)| slack(pair, sign)).collect()
}

/// Larger minus smaller side.
fn slack(pair: &[&[Token]], sign: &Token) -> std::result::Result<Tape, String> {
    let mut tape = Tape::default();
    let (left, right) = (Parser::side(pair[0], &mut tape)?, Parser::side(pair[1], &mut tape)?);
    let result = match sign {
        Token::AtMost => tape.push(Op::Subtract, right, left),
        _ => tape.push(Op::Subtract, left, right),
    };
    tape.finish(result);
    Ok(tape)
}

fn check_signs(signs: &[&Token]) -> std::result::Result<(), String> {
    if signs.contains(&&Token::Equal) {
        return Err(
            "an equation leaves almost no design; drop one of its parameters and write the \
                    others' formula where its value is needed, or allow a range with <="
                .into(),
        );
    }
    if signs.contains(&&Token::Unequal) {
        return Err("only <= and >= can be used".into());
    }
    match signs {
        [] => Err("there is nothing to compare; write it as in \"a + b <= 1\"".into()),
        [_] => Ok(()),
        [first, second] if first == second => Ok(()),
        [_, _] => Err("its two signs point in different directions".into()),
        _ => Err("it has more than two comparisons; write several limits".into()),
    }
}

impl PartialEq for Inequality {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl TryFrom<String> for Inequality {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(text)
    }
}

impl From<Inequality> for String {
    fn from(inequality: Inequality) -> Self {
        inequality.text
    }
}

/// An inequality over the values of parameters in a fixed order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoundInequality {
    slacks: Vec<Bound>,
}

impl BoundInequality {
    /// By how much it is satisfied: not negative if it is; not a number counts as not satisfied.
    pub(crate) fn slack(&self, values: &[f64]) -> f64 {
        self.slacks.iter().map(|slack| slack.value(values)).reduce(lesser).unwrap_or(f64::NAN)
    }

    /// The slack, and its partial derivative by each of the values.
    pub(crate) fn gradient(&self, values: &[f64], out: &mut [f64]) -> f64 {
        let least = self.slacks.iter().map(|slack| (slack.value(values), slack));
        let least = least.reduce(|a, b| if a.0 <= b.0 || a.0.is_nan() { a } else { b });
        match least {
            Some((_, slack)) => slack.gradient(values, out),
            None => f64::NAN,
        }
    }

    /// Each comparison as coefficients of the values and a constant, the sum of which is not negative
    /// where it holds; `None` unless all are linear.
    pub(crate) fn linear_forms(&self, count: usize) -> Option<Vec<(Vec<f64>, f64)>> {
        self.slacks.iter().map(|slack| linear_form(slack, count)).collect()
    }

    /// Whether value number `place` is used.
    pub(crate) fn uses(&self, place: usize) -> bool {
        self.slacks.iter().any(|slack| slack.uses(place))
    }
}

/// Coefficients and constant of a formula that is linear where its values are between 0 and 1.
fn linear_form(slack: &Bound, count: usize) -> Option<(Vec<f64>, f64)> {
    let mut coefficients = vec![0.0; count];
    let middle = vec![0.5; count];
    let value = slack.gradient(&middle, &mut coefficients);
    let constant = value - 0.5 * coefficients.iter().sum::<f64>();
    let size = coefficients.iter().fold(constant.abs(), |size, c| size.max(c.abs()));
    if !size.is_finite() {
        return None;
    }
    // At the corners, and at places that nothing has to do with.
    let corner = |k: usize| (0..count).map(|j| f64::from(u8::from(j == k))).collect::<Vec<_>>();
    let odd = |start: f64| (0..count).map(|j| (start + 0.618 * j as f64).fract()).collect();
    let places = (0..count).map(corner).chain([0.137, 0.531, 0.929].map(odd));
    let agrees = |place: Vec<f64>| {
        let sum: f64 = coefficients.iter().zip(&place).map(|(c, v)| c * v).sum();
        (slack.value(&place) - sum - constant).abs() <= 1e-9 * size
    };
    places.into_iter().all(agrees).then_some((coefficients, constant))
}

/// The smaller of two, or what is not a number.
fn lesser(a: f64, b: f64) -> f64 {
    if a <= b || a.is_nan() { a } else { b }
}
