//! From a line to one number, perhaps with its standard error, or a reason why there is none.

use unyoke::Reading;

use super::outcome::Failure;

/// Longer than any number that makes sense.
pub(super) const LONGEST_LINE: usize = 1024;

/// Of lines that are quoted in messages, in characters.
const LONGEST_QUOTE: usize = 200;

/// What may stand between a value and its standard error.
const PLUS_MINUS: [&str; 3] = ["±", "+/-", "+-"];

/// The number on the last line of an output that ends with `tail`.
pub(super) fn on_last_line(tail: &[u8]) -> Result<Reading, Failure> {
    let line = last_line(tail).ok_or(Failure::NothingPrinted)?;
    if line.len() > LONGEST_LINE {
        return Err(Failure::LineTooLong);
    }
    reading(std::str::from_utf8(line).map_err(|_| Failure::NotText)?)
}

/// A number such as `1.5`, or with its standard error, `1.5 ± 0.1`.
pub(super) fn reading(text: &str) -> Result<Reading, Failure> {
    let Some((value, sd)) = PLUS_MINUS.iter().find_map(|sign| text.split_once(sign)) else {
        return Ok(number(text)?.into());
    };
    let (value, sd) = (number(value.trim())?, number(sd.trim())?);
    if sd < 0.0 {
        let hint = "a standard error is not negative".to_owned();
        return Err(Failure::NotANumber { line: quote(text), hint });
    }
    Ok(Reading { value, sd: Some(sd) })
}

/// The last line that is not blank, for a message.
pub(super) fn quote_last_line(tail: &[u8]) -> Option<String> {
    // A longer line would be cut anyway; no need to turn a megabyte into text first.
    let line = last_line(tail)?;
    Some(quote(&String::from_utf8_lossy(&line[..line.len().min(4 * LONGEST_QUOTE)])))
}

/// The last line that is not blank, without surrounding blanks. A carriage return ends a line too:
/// it is how progress is shown on a terminal.
pub(super) fn last_line(tail: &[u8]) -> Option<&[u8]> {
    let tail = tail.trim_ascii_end();
    let start = tail.iter().rposition(|byte| matches!(byte, b'\n' | b'\r'));
    let line = tail[start.map_or(0, |newline| newline + 1)..].trim_ascii_start();
    (!line.is_empty()).then_some(line)
}

/// Plain decimal notation only, though the standard library reads more.
fn number(text: &str) -> Result<f64, Failure> {
    let plain = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    match text.parse::<f64>() {
        Ok(value) if !value.is_finite() => Err(Failure::NotFinite { text: quote(text) }),
        Ok(value) if text.chars().all(plain) => Ok(value),
        _ if text.split_whitespace().all(|part| part.parse::<f64>().is_ok()) => {
            Err(Failure::SeveralNumbers { line: quote(text) })
        }
        _ => Err(Failure::NotANumber { line: quote(text), hint: hint(text).to_owned() }),
    }
}

/// What to change so that it becomes a number.
fn hint(text: &str) -> &'static str {
    let reads = |text: String| text.parse::<f64>().is_ok();
    if reads(text.replace(',', ".")) {
        "write a point, not a comma"
    } else if reads(text.replace(['_', ',', '\''], "")) {
        "write it without separators"
    } else if reads(text.replace(['d', 'D'], "e")) {
        "write the exponent with e"
    } else if reads(text.replace('\u{2212}', "-")) {
        "write the minus as -"
    } else if text.contains("0x") || text.contains("0X") {
        "write it in decimal"
    } else {
        "the last line should be one number and nothing else"
    }
}

pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(LONGEST_QUOTE) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_read_exactly() {
        let numbers: [(&str, f64); 11] = [
            ("1.5", 1.5),
            ("  -2\t", -2.0),
            ("+3", 3.0),
            (".5", 0.5),
            ("1.", 1.0),
            ("1e-7", 1e-7),
            ("6.02E+23", 6.02e23),
            ("-0.0", -0.0),
            ("1e-400", 0.0),
            ("0.1", 0.1),
            ("5e-324", 5e-324),
        ];
        for (text, value) in numbers {
            assert_eq!(
                on_last_line(text.as_bytes()).map(|reading| reading.value.to_bits()),
                Ok(value.to_bits()),
                "{text}"
            );
        }
    }

    #[test]
    fn the_last_line_counts_and_blank_ones_do_not() {
        for output in
            ["hello\n1.5", "1 2 3\n1.5\n\n  \r\n", "\n1.5\r\n", "10%\r100%\r1.5\n", "\t1.5"]
        {
            assert_eq!(on_last_line(output.as_bytes()), Ok(1.5.into()), "{output:?}");
        }
        assert_eq!(on_last_line(b"\xff\xfe\n1.5\n"), Ok(1.5.into()));
        assert!(on_last_line(b"1.5\ndone\n").is_err());
    }

    #[test]
    fn nothing_is_not_a_number() {
        for output in ["", "\n", "  \r\n\t\n"] {
            assert_eq!(on_last_line(output.as_bytes()), Err(Failure::NothingPrinted));
        }
    }

    #[test]
    fn what_is_not_finite_is_no_value() {
        for text in ["nan", "NaN", "-nan", "inf", "-Infinity", "1e400", "-1e999"] {
            let failure = on_last_line(text.as_bytes()).unwrap_err();
            assert_eq!(failure, Failure::NotFinite { text: text.into() });
        }
    }

    #[test]
    fn other_notations_are_refused_with_a_hint() {
        let hints = [
            ("1,5", "comma"),
            ("1_000", "separators"),
            ("1,234,567.5", "separators"),
            ("0x10", "decimal"),
            ("1.5D+00", "exponent"),
            ("\u{2212}1.5", "minus"),
            ("mass = 1.5", "nothing else"),
            ("1.5 kg", "nothing else"),
            ("[1.5]", "nothing else"),
            ("٣", "nothing else"),
            ("-", "nothing else"),
            ("e5", "nothing else"),
            ("true", "nothing else"),
        ];
        for (text, word) in hints {
            match on_last_line(text.as_bytes()) {
                Err(Failure::NotANumber { hint, .. }) => {
                    assert!(hint.contains(word), "{text}: {hint}")
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }

    #[test]
    fn two_numbers_are_one_too_many() {
        let line = "1.5 2.5".to_owned();
        assert_eq!(on_last_line(b"1.5 2.5\n"), Err(Failure::SeveralNumbers { line }));
    }

    #[test]
    fn lines_that_cannot_be_numbers_are_not_looked_at() {
        assert_eq!(on_last_line("9".repeat(10_000_000).as_bytes()), Err(Failure::LineTooLong));
        assert_eq!(on_last_line(b"1.5\xff"), Err(Failure::NotText));
        let long = format!("x{}", "y".repeat(500));
        let Err(Failure::NotANumber { line, .. }) = on_last_line(long.as_bytes()) else { panic!() };
        assert_eq!(line.chars().count(), LONGEST_QUOTE + 1);
    }

    #[test]
    fn a_standard_error_follows_its_value() {
        for text in ["0.3 ± 0.05", "0.3±0.05", "0.3 +/- 5e-2", " .3 +- 0.05 "] {
            let reading = Reading { value: 0.3, sd: Some(0.05) };
            assert_eq!(on_last_line(text.as_bytes()), Ok(reading), "{text}");
        }
        for text in ["0.3 ± -1", "0.3 ± nan", "± 0.05", "0.3 ±", "0.3 ± 1 ± 2", "1 2 ± 3"] {
            assert!(on_last_line(text.as_bytes()).is_err(), "{text}");
        }
    }
}
