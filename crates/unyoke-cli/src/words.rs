//! Numbers, designs and lengths of time as people read them, and designs as people type them.

use std::time::Duration;
use unyoke::{Cost, CostSource, Design, LearnedCost, Parameter, Problem, Reading, Value};
use unyoke_view::words;

use crate::failure::Failure;

pub(crate) use unyoke_run::with_value;
pub(crate) use unyoke_view::words::{count, is_over_budget, reading, short, spent_of};

/// A design in one line, in the order of the problem.
pub(crate) fn design(problem: &Problem, design: &Design) -> String {
    words::design(&problem.parameters, design)
}

/// A design in one line with all digits, for whoever is to build it.
pub(crate) fn exact_design(problem: &Problem, design: &Design) -> String {
    words::exact_design(problem.parameters.iter().map(Parameter::name), design)
}

/// The value of a parameter, for people.
pub(crate) fn value(value: Option<&Value>) -> String {
    value.map_or_else(|| "?".to_owned(), words::value)
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

/// Values of outputs in one line: `1.5` of a measurement that is called as its only output is,
/// otherwise `lift = 1.2, drag = 0.3 ± 0.05`.
pub(crate) fn readings<'a>(
    measurement: &str,
    values: impl IntoIterator<Item = (&'a str, Reading)>,
) -> String {
    let values: Vec<(&str, String)> = values
        .into_iter()
        .map(|(name, Reading { value, sd })| (name, reading(value, sd)))
        .collect();
    match &values[..] {
        [(name, value)] if *name == measurement => value.clone(),
        _ => {
            let pairs = values.iter().map(|(name, value)| format!("{name} = {value}"));
            pairs.collect::<Vec<_>>().join(", ")
        }
    }
}

/// The command that records the result of an evaluation: `unyoke tell 12 VALUE`, or for several
/// outputs `unyoke tell 12 lift=VALUE drag=VALUE`.
pub(crate) fn how_to_tell<O: AsRef<str>>(evaluation: u64, outputs: &[O]) -> String {
    let values = match outputs {
        [_] => "VALUE".to_owned(),
        all => {
            let pairs = all.iter().map(|name| format!("{}=VALUE", name.as_ref()));
            pairs.collect::<Vec<_>>().join(" ")
        }
    };
    format!("unyoke tell {evaluation} {values}")
}

/// What an evaluation costs: `12`, a formula, or how it is learned.
pub(crate) fn cost(cost: &Cost) -> String {
    match cost {
        Cost::Constant(cost) => short(*cost),
        Cost::Formula(formula) => formula.clone(),
        Cost::Learned(LearnedCost { learn: CostSource::Time, .. }) => "its time".to_owned(),
        Cost::Learned(LearnedCost { learn: CostSource::Reported, .. }) => "as reported".to_owned(),
    }
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
            let names: Vec<&str> = problem.parameters.iter().map(Parameter::name).collect();
            let near = unyoke::near(name, names.iter().copied());
            let others = match near {
                Some(_) => String::new(),
                None => format!("; there are {}", names.join(", ")),
            };
            let error = unyoke::Error::UnknownParameter { name: name.to_owned(), near };
            return Err(Failure::Refused(format!("{error}{others}")));
        };
        design = with_value(design, parameter, value.trim()).map_err(Failure::Refused)?;
    }
    Ok(design)
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(parse_design(&problem, "n=2.0").unwrap(), Design::new().with("n", 2));
        for wrong in ["x", "x=a", "n=1.5", "y=1"] {
            assert!(parse_design(&problem, wrong).is_err(), "{wrong}");
        }
    }
}
