//! Values of parameters as people type them.

use unyoke::{Design, Parameter};

/// The design with a value that was typed. Whether the value is possible is checked elsewhere.
pub fn with_value(design: Design, parameter: &Parameter, text: &str) -> Result<Design, String> {
    let name = parameter.name();
    let wrong = |what: &str| format!("{name} is {text:?}, but must be {what}");
    Ok(match parameter {
        Parameter::Continuous { .. } => {
            design.with(name, text.parse::<f64>().map_err(|_| wrong("a number"))?)
        }
        Parameter::Integer { .. } => {
            // Spreadsheets write integers as 12.0.
            let whole = |number: &f64| number.fract() == 0.0 && number.abs() < 9e15;
            let rounded = text.parse::<f64>().ok().filter(whole).map(|number| number as i64);
            let number = text.parse::<i64>().ok().or(rounded);
            design.with(name, number.ok_or_else(|| wrong("an integer"))?)
        }
        Parameter::Categorical { .. } => design.with(name, text),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Problem;

    #[test]
    fn integers_may_be_typed_as_spreadsheets_write_them() {
        let problem = Problem::builder().integer("n", 1, 20).continuous("x", 0.0, 1.0);
        let problem = problem.minimise("f", 1.0).build().unwrap();
        let [n, x] = [&problem.parameters[0], &problem.parameters[1]];
        let typed = |parameter, text| with_value(Design::new(), parameter, text);
        assert_eq!(typed(n, "12.0").unwrap(), Design::new().with("n", 12));
        assert_eq!(typed(x, "1").unwrap(), Design::new().with("x", 1.0));
        for (parameter, text) in [(n, "1.5"), (n, "1e300"), (n, ""), (x, "a"), (x, "")] {
            assert!(typed(parameter, text).is_err(), "{text}");
        }
    }
}
