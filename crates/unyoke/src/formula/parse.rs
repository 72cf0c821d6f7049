//! From the words of a formula to its tape, by recursive descent:
//!
//! ```text
//! sum     = product { (+ | -) product }
//! product = signed { (* | /) signed }
//! signed  = (- | +) signed | power
//! power   = atom [ ^ signed ]
//! atom    = number | name | function ( sum { , sum } ) | ( sum )
//! ```

use super::lexer::{Token, tokens};
use super::tape::{Op, Operand, Tape};
use crate::error::near;

/// Deeper nesting is refused: the parser calls itself once per level.
const DEEPEST: usize = 100;

/// Functions of one number.
const UNARY: [(&str, Op); 9] = [
    ("sqrt", Op::Sqrt),
    ("exp", Op::Exp),
    ("ln", Op::Ln),
    ("log", Op::Ln),
    ("log10", Op::Log10),
    ("sin", Op::Sin),
    ("cos", Op::Cos),
    ("tan", Op::Tan),
    ("abs", Op::Abs),
];

/// Functions of two or more numbers.
const SEVERAL: [(&str, Op); 2] = [("min", Op::Min), ("max", Op::Max)];

/// The tape of a formula, or what is wrong with it.
pub(super) fn formula(text: &str) -> Result<Tape, String> {
    let tokens = tokens(text)?;
    if let Some(sign) = tokens.iter().find(|token| is_comparison(token)) {
        let reason = "a formula is a number, so there is nothing to compare; leave out";
        return Err(format!("it has a {:?}: {reason} everything but one side", sign.text()));
    }
    let mut tape = Tape::default();
    let result = Parser::side(&tokens, &mut tape)?;
    tape.finish(result);
    Ok(tape)
}

/// Whether the word separates the sides of an inequality.
pub(super) fn is_comparison(token: &Token) -> bool {
    matches!(token, Token::AtMost | Token::AtLeast | Token::Equal | Token::Unequal)
}

/// Reads words one after the other and writes operations.
pub(super) struct Parser<'a> {
    rest: &'a [Token],
    tape: &'a mut Tape,
    depth: usize,
}

impl<'a> Parser<'a> {
    /// Reads all of `tokens` as one sum.
    pub(super) fn side(tokens: &'a [Token], tape: &'a mut Tape) -> Result<Operand, String> {
        let mut parser = Self { rest: tokens, tape, depth: 0 };
        let result = parser.sum()?;
        match parser.rest.first() {
            None => Ok(result),
            Some(Token::Close) => Err("a ) has no ( before it".into()),
            Some(Token::Comma) => Err("a comma separates the arguments of a function and nothing \
                                       else; decimals are written with a point"
                .into()),
            Some(token) => {
                Err(format!("an operator such as * is missing before {:?}", token.text()))
            }
        }
    }

    fn sum(&mut self) -> Result<Operand, String> {
        let mut left = self.product()?;
        loop {
            let op = match self.rest.first() {
                Some(Token::Plus) => Op::Add,
                Some(Token::Minus) => Op::Subtract,
                _ => return Ok(left),
            };
            self.skip();
            let right = self.product()?;
            left = self.tape.push(op, left, right);
        }
    }

    fn product(&mut self) -> Result<Operand, String> {
        let mut left = self.signed()?;
        loop {
            let op = match self.rest.first() {
                Some(Token::Times) => Op::Multiply,
                Some(Token::Over) => Op::Divide,
                _ => return Ok(left),
            };
            self.skip();
            let right = self.signed()?;
            left = self.tape.push(op, left, right);
        }
    }

    fn signed(&mut self) -> Result<Operand, String> {
        self.deeper()?;
        let value = match self.rest.first() {
            Some(Token::Minus) => {
                self.skip();
                let value = self.signed()?;
                self.tape.push_unary(Op::Negate, value)
            }
            Some(Token::Plus) => {
                self.skip();
                self.signed()?
            }
            _ => self.power()?,
        };
        self.depth -= 1;
        Ok(value)
    }

    fn power(&mut self) -> Result<Operand, String> {
        let base = self.atom()?;
        if self.rest.first() != Some(&Token::Power) {
            return Ok(base);
        }
        self.skip();
        let exponent = self.signed()?;
        Ok(self.tape.push(Op::Power, base, exponent))
    }

    fn atom(&mut self) -> Result<Operand, String> {
        let rest = self.rest;
        let Some(token) = rest.first() else {
            return Err("something is missing at its end".into());
        };
        self.skip();
        match token {
            Token::Number(value) => Ok(Operand::Constant(*value)),
            Token::Name(name) if self.rest.first() == Some(&Token::Open) => self.call(name),
            Token::Name(name) => Ok(self.tape.variable(name)),
            Token::Open => {
                let value = self.sum()?;
                self.close()?;
                Ok(value)
            }
            other => Err(format!("a number or a name is missing before {:?}", other.text())),
        }
    }

    fn call(&mut self, name: &str) -> Result<Operand, String> {
        let unary = UNARY.iter().find(|(known, _)| *known == name);
        let several = SEVERAL.iter().find(|(known, _)| *known == name);
        if unary.is_none() && several.is_none() {
            return Err(no_function(name));
        }
        self.skip();
        let arguments = self.arguments()?;
        match (unary, several, arguments.as_slice()) {
            (Some((_, op)), _, [value]) => Ok(self.tape.push_unary(*op, *value)),
            (_, Some((_, op)), [first, rest @ ..]) if !rest.is_empty() => {
                Ok(rest.iter().fold(*first, |all, next| self.tape.push(*op, all, *next)))
            }
            (unary, _, given) => {
                let wanted = if unary.is_some() { "1 number" } else { "2 numbers or more" };
                Err(format!("{name} takes {wanted}, not {}", given.len()))
            }
        }
    }

    /// What stands between the parentheses of a function.
    fn arguments(&mut self) -> Result<Vec<Operand>, String> {
        let mut arguments = Vec::new();
        if self.rest.first() == Some(&Token::Close) {
            self.skip();
            return Ok(arguments);
        }
        loop {
            arguments.push(self.sum()?);
            if self.rest.first() != Some(&Token::Comma) {
                self.close()?;
                return Ok(arguments);
            }
            self.skip();
        }
    }

    fn close(&mut self) -> Result<(), String> {
        match self.rest.first() {
            Some(Token::Close) => {
                self.skip();
                Ok(())
            }
            None => Err("a ( is not closed by a )".into()),
            Some(Token::Comma) => Err("a comma separates the arguments of a function and nothing \
                                       else; decimals are written with a point"
                .into()),
            Some(token) => {
                Err(format!("an operator such as * is missing before {:?}", token.text()))
            }
        }
    }

    /// Counts a level of nesting: every way down passes through a signed value.
    fn deeper(&mut self) -> Result<(), String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} levels deep"));
        }
        Ok(())
    }

    fn skip(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }
}

/// What to say about a function that does not exist.
fn no_function(name: &str) -> String {
    let known = || UNARY.iter().chain(&SEVERAL).map(|(name, _)| *name);
    let hint =
        near(name, known()).map_or_else(String::new, |near| format!("; did you mean {near}?"));
    let all = known().collect::<Vec<_>>().join(", ");
    format!("there is no function called {name:?}{hint} (there are {all}; products need a *)")
}
