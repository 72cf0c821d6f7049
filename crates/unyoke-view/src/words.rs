//! Numbers, designs and amounts as people read them. The exact ones are in the data.

use unyoke::{Design, Direction, Parameter, Scale, Value};

/// A number to about four digits; the exact one is in JSON.
pub fn short(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".to_owned();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{value:.3e}");
    }
    let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// An expected value with its standard deviation, which has two digits, to the same place.
pub fn plus_minus(mean: f64, sd: f64) -> String {
    let place = sd.log10().floor() as i32;
    if mean.abs() >= 1e6 || !(-5..6).contains(&place) {
        return format!("{} ± {}", short(mean), short(sd));
    }
    let digits = usize::try_from(1 - place).unwrap_or(0);
    // Above a hundred the second digit stands before the point.
    let unit = 10f64.powi((place - 1).max(0));
    let rounded = |value: f64| if unit > 1.0 { (value / unit).round() * unit + 0.0 } else { value };
    let mean = format!("{:.digits$}", rounded(mean));
    // What is shown as zero has no sign.
    let mean = match mean.strip_prefix('-') {
        Some(digits) if digits.parse() == Ok(0.0) => digits,
        _ => &mean,
    };
    format!("{mean} ± {:.digits$}", rounded(sd))
}

/// A probability in percent. Only what is certain is 0 or 100.
pub fn percent(probability: f64) -> String {
    match 100.0 * probability {
        _ if probability <= 0.0 => "0 %".to_owned(),
        percent if percent < 0.5 => "< 1 %".to_owned(),
        _ if probability >= 1.0 => "100 %".to_owned(),
        percent if percent >= 99.5 => "> 99 %".to_owned(),
        percent => format!("{percent:.0} %"),
    }
}

/// A share in percent, to two digits; less than a hundredth of a percent is not told exactly.
pub fn share(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0 %".to_owned(),
        percent if percent.abs() < 0.01 => "< 0.01 %".to_owned(),
        percent if percent.abs() >= 100.0 => format!("{percent:.0} %"),
        percent => {
            let digits = (1 - percent.abs().log10().floor() as i32).clamp(0, 3) as usize;
            format!("{percent:.digits$} %")
        }
    }
}

/// A measured value with its standard error, where that is known.
pub fn reading(value: f64, sd: Option<f64>) -> String {
    sd.map_or_else(|| short(value), |sd| plus_minus(value, sd))
}

/// A design in one line, its parameters in the order given.
pub fn design<'a>(parameters: impl IntoIterator<Item = &'a Parameter>, design: &Design) -> String {
    let pair = |one: &Parameter| format!("{}={}", one.name(), parameter(one, design));
    let pairs: Vec<String> = parameters.into_iter().map(pair).collect();
    one_line(&pairs.join(" "))
}

/// The value of a parameter in a design: real numbers to about four digits. What differs from a bound by
/// rounding alone reads as the bound: 0, not 1.62e-13.
pub fn parameter(parameter: &Parameter, design: &Design) -> String {
    match (parameter, design.get(parameter.name())) {
        (_, None) => "?".to_owned(),
        (Parameter::Continuous { low, high, scale, .. }, Some(Value::Real(number))) => {
            let place = |x: f64| if *scale == Scale::Log { x.ln() } else { x };
            let range = (place(*high) - place(*low)).abs();
            let is_at = |bound: &&f64| (place(*number) - place(**bound)).abs() <= ROUNDING * range;
            short(*[low, high].into_iter().find(is_at).unwrap_or(number))
        }
        (_, Some(found)) => value(found),
    }
}

/// A share of the range of a parameter that is not worth a digit.
const ROUNDING: f64 = 1e-9;

/// A design in one line with all digits, for whoever is to build it.
pub fn exact_design<'a>(parameters: impl IntoIterator<Item = &'a str>, design: &Design) -> String {
    one_line(&pairs(parameters, design, Value::to_string))
}

pub(crate) fn pairs<'a>(
    parameters: impl IntoIterator<Item = &'a str>,
    design: &Design,
    text: impl Fn(&Value) -> String,
) -> String {
    let value = |name: &str| design.get(name).map_or_else(|| "?".to_owned(), &text);
    let pairs = parameters.into_iter().map(|name| format!("{name}={}", value(name)));
    pairs.collect::<Vec<_>>().join(" ")
}

/// The value of a parameter: real numbers to about four digits.
pub fn value(value: &Value) -> String {
    match value {
        Value::Real(number) => short(*number),
        Value::Integer(_) => value.to_string(),
        Value::Choice(choice) => one_line(choice),
    }
}

/// Whether more was spent than the budget allows, by more than the rounding of a sum. A run never
/// does that; a lower budget, or a withdrawn evaluation that was made after all, can.
pub fn is_over_budget(spent: f64, budget: Option<f64>) -> bool {
    budget.is_some_and(|budget| spent > budget * (1.0 + 1e-9))
}

/// What was spent, compared with what may be.
pub fn spent_of(spent: f64, budget: Option<f64>) -> String {
    match budget {
        None => format!("spent {}", short(spent)),
        Some(budget) if is_over_budget(spent, Some(budget)) => {
            format!(
                "spent {}, {} over the budget of {}",
                short(spent),
                short(spent - budget),
                short(budget)
            )
        }
        Some(budget) => format!("spent {} of {}", short(spent), short(budget)),
    }
}

/// "minimise" or "maximise".
pub fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Minimise => "minimise",
        Direction::Maximise => "maximise",
    }
}

/// "1 evaluation", "2 evaluations".
pub fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// The text with its control characters escaped, but for ends of lines.
pub fn visible(text: &str) -> String {
    escaped(text, |c| c != '\n')
}

/// The text in one line, with all its control characters escaped.
pub fn one_line(text: &str) -> String {
    escaped(text, |_| true)
}

fn escaped(text: &str, wanted: impl Fn(char) -> bool) -> String {
    // Beside control characters, those that turn the direction of writing around.
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        match steers(c) && wanted(c) {
            true => shown.extend(c.escape_default()),
            false => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_four_digits() {
        for (value, text) in [
            (0.0, "0"),
            (0.5, "0.5"),
            (1.0 / 3.0, "0.3333"),
            (-12.3456, "-12.35"),
            (123_456.0, "123456"),
            (1e7, "1.000e7"),
            (1.5e-9, "1.500e-9"),
            (200.0, "200"),
        ] {
            assert_eq!(short(value), text);
        }
    }

    #[test]
    fn a_value_that_differs_from_a_bound_by_rounding_reads_as_the_bound() {
        let of = |scale, low, high| {
            let name = "x".to_owned();
            Parameter::Continuous { name, low, high, scale, step: None }
        };
        let text = |parameter: &Parameter, x: f64| {
            super::parameter(parameter, &Design::new().with("x", x))
        };
        let linear = of(Scale::Linear, 0.0, 2.0);
        for (x, shown) in [(1.62e-13, "0"), (2.0 - 1e-12, "2"), (1e-6, "1.000e-6"), (0.5, "0.5")] {
            assert_eq!(text(&linear, x), shown);
        }
        let log = of(Scale::Log, 1e-12, 1.0);
        for (x, shown) in [(1e-10, "1.000e-10"), (1e-12 * (1.0 + 1e-13), "1.000e-12")] {
            assert_eq!(text(&log, x), shown);
        }
        assert_eq!(super::parameter(&linear, &Design::new()), "?");
        assert_eq!(design([&linear], &Design::new().with("x", 1.62e-13)), "x=0");
    }

    #[test]
    fn deviations_have_two_digits_and_means_end_where_they_do() {
        for (mean, sd, text) in [
            (58.9123, 0.2021, "58.91 ± 0.20"),
            (9.9649, 0.02365, "9.965 ± 0.024"),
            (143.123, 4.505, "143.1 ± 4.5"),
            (-0.5, 0.1, "-0.50 ± 0.10"),
            (1234.5, 56.7, "1234 ± 57"),
            (1234.5, 567.8, "1230 ± 570"),
            (123_456.0, 2345.0, "123500 ± 2300"),
            (0.0, 123.0, "0 ± 120"),
            (-7.0, 250_000.0, "0 ± 250000"),
            (-0.02, 1.2, "0.0 ± 1.2"),
            (1e-5, 0.1, "0.00 ± 0.10"),
            (0.0005, 0.0001, "0.00050 ± 0.00010"),
            (2.5, 0.0, "2.5 ± 0"),
            (1e-9, 1e-10, "1.000e-9 ± 1.000e-10"),
        ] {
            assert_eq!(plus_minus(mean, sd), text);
        }
    }

    #[test]
    fn what_is_shown_is_within_half_of_the_last_digit() {
        for (mean, sd) in (0..2000).map(|i| f64::from(i) + 0.5).map(|i| {
            let size = 10f64.powf((7.3 * i) % 9.0 - 3.0).min(9e5);
            (size * (1.7 * i).sin(), 10f64.powf((3.1 * i) % 10.0 - 4.5))
        }) {
            let text = plus_minus(mean, sd);
            let (shown_mean, shown_sd) = text.split_once(" ± ").unwrap();
            let (shown_mean, shown_sd): (f64, f64) =
                (shown_mean.parse().unwrap(), shown_sd.parse().unwrap());
            // Two digits of the deviation: one unit of the second is a tenth of the first.
            let unit = 10f64.powf(sd.log10().floor() - 1.0);
            assert!((shown_sd - sd).abs() <= 0.5001 * unit, "{sd}: {text}");
            assert!((shown_mean - mean).abs() <= 0.5001 * unit, "{mean}: {text}");
            let units = shown_sd / unit;
            assert!((units - units.round()).abs() < 1e-6, "more than two digits: {text}");
        }
    }

    #[test]
    fn only_what_is_certain_is_0_or_100_percent() {
        for (probability, text) in [
            (0.0, "0 %"),
            (1e-9, "< 1 %"),
            (0.006, "1 %"),
            (0.5, "50 %"),
            (0.994, "99 %"),
            (0.999_999, "> 99 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(percent(probability), text);
        }
        assert_eq!(
            (reading(1.5, None), reading(1.5, Some(0.25))),
            ("1.5".into(), "1.50 ± 0.25".into())
        );
    }

    #[test]
    fn shares_have_two_digits() {
        for (value, text) in [
            (0.0, "0 %"),
            (1e-9, "< 0.01 %"),
            (0.000_456, "0.046 %"),
            (0.03052, "3.1 %"),
            (0.1863, "19 %"),
            (1.0, "100 %"),
            (12.345, "1234 %"),
        ] {
            assert_eq!(share(value), text);
        }
    }

    #[test]
    fn spending_beyond_the_budget_is_called_so() {
        assert_eq!(spent_of(2.0, None), "spent 2");
        assert_eq!(spent_of(2.0, Some(3.0)), "spent 2 of 3");
        assert_eq!(spent_of(0.1 + 0.2, Some(0.3)), "spent 0.3 of 0.3");
        assert_eq!(spent_of(2.0, Some(1.0)), "spent 2, 1 over the budget of 1");
    }

    #[test]
    fn what_would_steer_a_terminal_is_shown_instead() {
        assert_eq!(visible("a\u{1b}[31mb\u{7}\nc\u{9b}"), "a\\u{1b}[31mb\\u{7}\nc\\u{9b}");
        assert_eq!(one_line("a\nb\tc\u{202e}d"), "a\\nb\\tc\\u{202e}d");
        assert_eq!(visible("± größer 🦀"), "± größer 🦀");
    }

    #[test]
    fn designs_are_written_in_the_order_asked_for() {
        let built = Design::new().with("length", 1.0 / 3.0).with("kind", "red\noak").with("n", 12);
        let problem = unyoke::Problem::builder().integer("n", 1, 20).continuous("length", 0.0, 1.0);
        let problem = problem.categorical("kind", ["red\noak", "steel"]).minimise("f", 1.0);
        let parameters = problem.build().unwrap().parameters;
        assert_eq!(design(&parameters, &built), "n=12 length=0.3333 kind=red\\noak");
        assert_eq!(exact_design(["length", "m"], &built), "length=0.3333333333333333 m=?");
    }
}
