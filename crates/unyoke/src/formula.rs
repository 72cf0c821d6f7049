//! Formulas over named parameters, as users write them: `7850 * width * (root + tip) / 2 * length`.
//!
//! What can stand in a formula:
//!
//! - numbers as `3`, `0.5`, `1e-3`;
//! - names of parameters. Letters (of any alphabet), digits and underscores are written as they
//!   are, any other name in braces: `{wall thickness}`;
//! - `+ - * / ^` with the usual precedence: `-2^2` is −4, `2^3^2` is 2⁹; `**` is the same as `^`;
//! - `sqrt exp ln log log10 sin cos tan abs` of one number, where `log` is the natural logarithm
//!   and angles are in radians, and `min max` of two or more;
//! - `pi` and `e`, unless a parameter has that name.
//!
//! A formula is parsed once into a tape of operations (`formula/tape.rs`), which gives values and
//! exact partial derivatives. Parsing is ours (`formula/parse.rs`): of the parsers for Rust, `exmex`
//! computes −2² as 4 and cannot read `1e-3`, and `evalexpr` has a licence that we cannot use.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

mod inequality;
mod lexer;
mod parse;
mod tape;
#[cfg(test)]
mod tests;

pub(crate) use inequality::{BoundInequality, Inequality};
pub(crate) use tape::Bound;

use tape::Tape;

/// A formula that gives a number for each design. It is compared, and written in files, as its text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Formula {
    text: String,
    tape: Tape,
}

impl Formula {
    /// Fails with a [`Error::BadFormula`] that says what is wrong with the text.
    pub(crate) fn parse(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        match parse::formula(&text) {
            Ok(tape) => Ok(Self { text, tape }),
            Err(reason) => Err(Error::BadFormula { formula: text, reason }),
        }
    }

    /// The text that was parsed.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Every name in it once, in the order of their first use; `pi` and `e` are among them.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.tape.names()
    }

    /// The formula with each name replaced by its place in `names`.
    pub(crate) fn bind(&self, names: &[&str]) -> Result<Bound> {
        let refused = |reason| Error::BadFormula { formula: self.text.clone(), reason };
        self.tape.bind(names).map_err(refused)
    }
}

impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl TryFrom<String> for Formula {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        Self::parse(text)
    }
}

impl From<Formula> for String {
    fn from(formula: Formula) -> Self {
        formula.text
    }
}
