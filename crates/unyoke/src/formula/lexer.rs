//! The words of a formula.

use std::iter::Peekable;
use std::str::CharIndices;

/// Longer texts are no formulas that anyone wrote.
const LONGEST: usize = 10_000;

/// A word of a formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Name(String),
    Plus,
    Minus,
    Times,
    Over,
    Power,
    Comma,
    Open,
    Close,
    /// `<`, `<=`, `≤`.
    AtMost,
    /// `>`, `>=`, `≥`.
    AtLeast,
    /// `=`, `==`.
    Equal,
    /// `!=`, `<>`, `≠`.
    Unequal,
}

impl Token {
    /// The word as it would be written.
    pub(super) fn text(&self) -> String {
        let text = match self {
            Self::Number(value) => return value.to_string(),
            Self::Name(name) => return name.clone(),
            Self::Plus => "+",
            Self::Minus => "-",
            Self::Times => "*",
            Self::Over => "/",
            Self::Power => "^",
            Self::Comma => ",",
            Self::Open => "(",
            Self::Close => ")",
            Self::AtMost => "<=",
            Self::AtLeast => ">=",
            Self::Equal => "=",
            Self::Unequal => "!=",
        };
        text.to_owned()
    }
}

/// The words of `text`, or why it has none.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, String> {
    if text.len() > LONGEST {
        return Err(format!("it has {} bytes, but at most {LONGEST} are read", text.len()));
    }
    let mut lexer = Lexer { text, rest: text.char_indices().peekable() };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push(token);
    }
    if tokens.is_empty() { Err("it is empty".into()) } else { Ok(tokens) }
}

struct Lexer<'a> {
    text: &'a str,
    rest: Peekable<CharIndices<'a>>,
}

impl Lexer<'_> {
    fn next(&mut self) -> Result<Option<Token>, String> {
        while self.rest.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        let Some(&(start, first)) = self.rest.peek() else { return Ok(None) };
        let token = match first {
            '0'..='9' | '.' => self.number(start)?,
            '{' => self.braced(start)?,
            c if is_letter(c) => self.name(start),
            _ => self.sign()?,
        };
        Ok(Some(token))
    }

    fn name(&mut self, start: usize) -> Token {
        while self.rest.next_if(|(_, c)| is_letter(*c) || c.is_alphanumeric()).is_some() {}
        Token::Name(self.since(start).to_owned())
    }

    fn braced(&mut self, start: usize) -> Result<Token, String> {
        self.rest.next();
        while self.rest.next_if(|(_, c)| *c != '}').is_some() {}
        let name = self.since(start + 1).to_owned();
        match self.rest.next() {
            None => Err("a { is not closed by a }".into()),
            Some(_) if name.trim().is_empty() => Err("there is no name between { and }".into()),
            Some(_) => Ok(Token::Name(name)),
        }
    }

    fn number(&mut self, start: usize) -> Result<Token, String> {
        self.digits();
        if self.rest.next_if(|(_, c)| *c == '.').is_some() {
            self.digits();
        }
        self.exponent();
        let text = self.since(start);
        match text.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(Token::Number(value)),
            Ok(_) => Err(format!("{text} is too large")),
            Err(_) => Err(format!("{text:?} is not a number")),
        }
    }

    fn digits(&mut self) {
        while self.rest.next_if(|(_, c)| c.is_ascii_digit()).is_some() {}
    }

    /// Takes an exponent, but not a name that begins with e.
    fn exponent(&mut self) {
        let mut ahead = self.rest.clone();
        if ahead.next_if(|(_, c)| matches!(c, 'e' | 'E')).is_none() {
            return;
        }
        ahead.next_if(|(_, c)| matches!(c, '+' | '-'));
        if ahead.peek().is_some_and(|(_, c)| c.is_ascii_digit()) {
            self.rest = ahead;
            self.digits();
        }
    }

    fn sign(&mut self) -> Result<Token, String> {
        let Some((_, first)) = self.rest.next() else { return Err("it is empty".into()) };
        let mut then = |next: char| self.rest.next_if(|(_, c)| *c == next).is_some();
        Ok(match first {
            '+' => Token::Plus,
            '-' | '−' => Token::Minus,
            '*' if then('*') => Token::Power,
            '*' | '·' | '×' => Token::Times,
            '/' => Token::Over,
            '^' => Token::Power,
            ',' => Token::Comma,
            '(' => Token::Open,
            ')' => Token::Close,
            '<' if then('>') => Token::Unequal,
            '<' => {
                then('=');
                Token::AtMost
            }
            '>' => {
                then('=');
                Token::AtLeast
            }
            '≤' => Token::AtMost,
            '≥' => Token::AtLeast,
            '=' => {
                then('=');
                Token::Equal
            }
            '!' if then('=') => Token::Unequal,
            '≠' => Token::Unequal,
            other => {
                return Err(format!(
                    "{other:?} has no meaning; a name with other characters than letters, digits and \
                     underscores is written in braces, as {{my name}}"
                ));
            }
        })
    }

    /// The text from `start` to where the lexer is.
    fn since(&mut self, start: usize) -> &str {
        let end = self.rest.peek().map_or(self.text.len(), |(end, _)| *end);
        self.text.get(start..end).unwrap_or_default()
    }
}

fn is_letter(c: char) -> bool {
    c.is_alphabetic() || c == '_'
}
