//! What a shape of a picture or a row of a table stands for, so that a page can link them; and text that
//! cannot become markup.

use std::fmt::Write;

/// What a shape of a picture or a row of a table stands for. Whatever has the same key is the same thing, and is
/// selected together; whatever has the same row is told by that row of a table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Mark {
    /// The thing, such as a design; empty if nothing can be pointed at.
    pub key: String,
    /// The row that tells of it, such as an evaluation.
    pub row: String,
    /// How good it is in each of the criteria of a [`Chooser`](crate::page::Chooser), from 0 to 1; empty if it
    /// cannot be chosen.
    pub shares: Vec<f64>,
}

impl Mark {
    /// A mark that cannot be chosen by preferences.
    pub fn new(key: impl Into<String>, row: impl Into<String>) -> Self {
        Self { key: key.into(), row: row.into(), shares: vec![] }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.key.is_empty() && self.row.is_empty()
    }

    /// As attributes of an element, each with a blank before it.
    pub(crate) fn attributes(&self) -> String {
        let mut text = String::new();
        for (name, value) in [("key", &self.key), ("row", &self.row)] {
            if !value.is_empty() {
                let _ = write!(text, " data-{name}=\"{}\"", escape(value));
            }
        }
        if !self.shares.is_empty() {
            let shares: Vec<String> = self.shares.iter().map(|share| share_text(*share)).collect();
            let _ = write!(text, " data-shares=\"{}\"", shares.join(" "));
        }
        text
    }
}

fn share_text(share: f64) -> String {
    if share.is_finite() { format!("{share:.5}") } else { "0".into() }
}

/// The text with everything replaced that has a meaning in XML or may not occur in it.
pub(crate) fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            '\n' | '\t' | '\r' => safe.push(' '),
            '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            c if c.is_control() => safe.push('\u{fffd}'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_markup() {
        assert_eq!(escape("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
        assert_eq!(escape("a\u{0}b\nc\u{ffff}"), "a\u{fffd}b c\u{fffd}");
    }

    #[test]
    fn marks_are_attributes_that_no_text_can_leave() {
        let mark = Mark { shares: vec![0.5, f64::NAN], ..Mark::new("\"><script>", "e1") };
        let expected =
            " data-key=\"&quot;&gt;&lt;script&gt;\" data-row=\"e1\" data-shares=\"0.50000 0\"";
        assert_eq!(mark.attributes(), expected);
        assert!(Mark::default().is_empty() && Mark::default().attributes().is_empty());
    }
}
