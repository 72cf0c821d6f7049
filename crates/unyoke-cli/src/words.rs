//! Numbers, designs and lengths of time as people read them, and designs as people type them.

use std::time::Duration;
use unyoke::{Design, Direction, Parameter, Problem};

use crate::failure::Failure;
use crate::output::one_line;

/// A number to about four digits; the exact one is in JSON.
pub(crate) fn short(value: f64) -> String {
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
pub(crate) fn plus_minus(mean: f64, sd: f64) -> String {
    let place = sd.log10().floor() as i32;
    let plain = mean == 0.0 || (1e-3..1e6).contains(&mean.abs());
    if !plain || !(-5..6).contains(&place) {
        return format!("{} ± {}", short(mean), short(sd));
    }
    let digits = usize::try_from(1 - place).unwrap_or(0);
    // Above a hundred the second digit stands before the point.
    let unit = 10f64.powi((place - 1).max(0));
    let rounded = |value: f64| if unit > 1.0 { (value / unit).round() * unit + 0.0 } else { value };
    format!("{:.digits$} ± {:.digits$}", rounded(mean), rounded(sd))
}

/// A design in one line, in the order of the problem.
pub(crate) fn design(problem: &Problem, design: &Design) -> String {
    let pairs = problem.parameters.iter().map(|p| format!("{}={}", p.name(), value(design, p)));
    one_line(&pairs.collect::<Vec<_>>().join(" "))
}

/// A design in one line with all digits, for whoever is to build it.
pub(crate) fn exact_design(problem: &Problem, design: &Design) -> String {
    let value = |p: &Parameter| design.get(p.name()).map_or("?".to_owned(), ToString::to_string);
    let pairs = problem.parameters.iter().map(|p| format!("{}={}", p.name(), value(p)));
    one_line(&pairs.collect::<Vec<_>>().join(" "))
}

/// The value of a parameter, for people.
pub(crate) fn value(design: &Design, parameter: &Parameter) -> String {
    match (design.get(parameter.name()), parameter) {
        (Some(value), Parameter::Continuous { .. }) => {
            value.as_f64().map_or_else(|| value.to_string(), short)
        }
        (Some(value), _) => value.to_string(),
        (None, _) => "?".to_owned(),
    }
}

/// Whether more was spent than the budget allows, by more than the rounding of a sum. A run never
/// does that; a lower budget, or a withdrawn evaluation that was made after all, can.
pub(crate) fn is_over_budget(spent: f64, budget: Option<f64>) -> bool {
    budget.is_some_and(|budget| spent > budget * (1.0 + 1e-9))
}

/// What was spent, compared with what may be.
pub(crate) fn spent_of(spent: f64, budget: Option<f64>) -> String {
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

/// A length of time to the second, or below one to the millisecond.
pub(crate) fn time(duration: Duration) -> String {
    let rounded = match duration.as_secs() {
        0 => Duration::from_millis(duration.as_millis() as u64),
        1..60 => Duration::from_millis((duration.as_millis() / 100 * 100) as u64),
        seconds => Duration::from_secs(seconds),
    };
    humantime::format_duration(rounded).to_string()
}

/// "minimise" or "maximise".
pub(crate) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Minimise => "minimise",
        Direction::Maximise => "maximise",
    }
}

/// "1 evaluation", "2 evaluations".
pub(crate) fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// A design typed as `length=0.5,material=oak`.
pub(crate) fn parse_design(problem: &Problem, text: &str) -> Result<Design, Failure> {
    let mut design = Design::new();
    for pair in text.split(',') {
        let Some((name, value)) = pair.split_once('=') else {
            let reason = format!("{pair:?} is not name=value, as in --at length=0.5,layers=3");
            return Err(Failure::Refused(reason));
        };
        let name = name.trim();
        let parameter = problem.parameters.iter().find(|parameter| parameter.name() == name);
        let Some(parameter) = parameter else {
            let near = unyoke::near(name, problem.parameters.iter().map(Parameter::name));
            return Err(unyoke::Error::UnknownParameter { name: name.to_owned(), near }.into());
        };
        design = with_value(design, parameter, value.trim()).map_err(Failure::Refused)?;
    }
    Ok(design)
}

/// The design with a value that was typed. Whether the value is possible is checked elsewhere.
pub(crate) fn with_value(
    design: Design,
    parameter: &Parameter,
    text: &str,
) -> Result<Design, String> {
    let name = parameter.name();
    let wrong = |what: &str| format!("{name} is {text:?}, but must be {what}");
    Ok(match parameter {
        Parameter::Continuous { .. } => {
            design.with(name, text.parse::<f64>().map_err(|_| wrong("a number"))?)
        }
        Parameter::Integer { .. } => {
            design.with(name, text.parse::<i64>().map_err(|_| wrong("an integer"))?)
        }
        Parameter::Categorical { .. } => design.with(name, text),
    })
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
            let is_plain = mean.abs() >= 1e-3;
            if is_plain {
                // Two digits of the deviation: one unit of the second is a tenth of the first.
                let unit = 10f64.powf(sd.log10().floor() - 1.0);
                assert!((shown_sd - sd).abs() <= 0.5001 * unit, "{sd}: {text}");
                assert!((shown_mean - mean).abs() <= 0.5001 * unit, "{mean}: {text}");
                let units = shown_sd / unit;
                assert!((units - units.round()).abs() < 1e-6, "more than two digits: {text}");
            }
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
    fn times_are_rounded() {
        assert_eq!(time(Duration::from_micros(1_234_567)), "1s 200ms");
        assert_eq!(time(Duration::from_millis(61_500)), "1m 1s");
        assert_eq!(time(Duration::from_micros(1_500)), "1ms");
    }

    #[test]
    fn designs_can_be_typed() {
        let builder = Problem::builder().continuous("x", 0.0, 1.0).integer("n", 1, 3);
        let problem = builder.categorical("kind", ["a", "b"]).minimise("f", 1.0).build().unwrap();
        let typed = parse_design(&problem, "x=0.5, n=2,kind=b").unwrap();
        assert_eq!(typed, Design::new().with("x", 0.5).with("n", 2).with("kind", "b"));
        assert_eq!(design(&problem, &typed), "x=0.5 n=2 kind=b");
        for wrong in ["x", "x=a", "n=1.5", "y=1"] {
            assert!(parse_design(&problem, wrong).is_err(), "{wrong}");
        }
    }
}
