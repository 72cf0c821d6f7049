//! The last part of a problem's check: that its limits leave designs to evaluate, and that its
//! formulas have values there.
//!
//! Here and not in `problem`, because it looks for designs in the cube.

use crate::error::{Error, Mistake, Result};
use crate::formula::Formula;
use crate::problem::{Cost, Problem, ProblemBuilder, Scale};
use crate::space::Space;

/// Designs at which formulas are tried, beside corners.
const PROBES: usize = 256;

impl Problem {
    /// Fails with all the mistakes there are, each with its place.
    ///
    /// ```
    /// use unyoke::Problem;
    ///
    /// let text = r#"{
    ///     "parameters": [{"type": "continuous", "name": "x", "low": 0, "high": 1, "scale": "log"}],
    ///     "outputs": [], "measurements": []
    /// }"#;
    /// let problem: Problem = serde_json::from_str(text)?;
    /// let error = problem.check().unwrap_err().to_string();
    /// assert!(error.contains("parameters[0].low: is 0"));
    /// assert!(error.contains("outputs: "));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        let mut mistakes = self.mistakes();
        if mistakes.is_empty() && !self.limits.is_empty() {
            mistakes = impossible_limits(&Space::new(self))?;
        }
        if mistakes.is_empty() {
            mistakes = senseless_formulas(self)?;
        }
        if mistakes.is_empty() { Ok(()) } else { Err(Error::Invalid { mistakes }) }
    }
}

impl ProblemBuilder {
    /// The problem, unless something is wrong with it.
    pub fn build(self) -> Result<Problem> {
        let problem = self.unchecked();
        problem.check().map(|()| problem)
    }
}

/// The limits that leave no design: single ones if they do so alone.
fn impossible_limits(space: &Space) -> Result<Vec<Mistake>> {
    if space.allows_something()? {
        return Ok(vec![]);
    }
    let mut mistakes = Vec::new();
    for i in 0..space.limits() {
        if !space.with_limit(i).allows_something()? {
            let message = "no design satisfies it: a search over the ranges of its parameters found \
                           none; loosen it or widen a range";
            mistakes.push(mistake(format!("limits[{i}].formula"), message));
        }
    }
    if mistakes.is_empty() {
        let message = "no design satisfies all of them, though each can be satisfied alone; loosen one \
                       or widen a range";
        mistakes.push(mistake("limits".to_owned(), message));
    }
    Ok(mistakes)
}

/// What a formula must give at every design.
#[derive(Clone, Copy)]
struct Needed {
    is_met: fn(f64) -> bool,
    rule: &'static str,
}

const FINITE: Needed = Needed { is_met: f64::is_finite, rule: "outputs must be finite" };
const POSITIVE: Needed =
    Needed { is_met: is_positive, rule: "outputs on a log scale must be positive and finite" };
const PAYABLE: Needed = Needed { is_met: is_positive, rule: "costs must be positive and finite" };

fn is_positive(value: f64) -> bool {
    value.is_finite() && value > 0.0
}

/// The formulas that have a value somewhere with which nothing can be done.
fn senseless_formulas(problem: &Problem) -> Result<Vec<Mistake>> {
    let mut formulas: Vec<(String, &str, Needed)> = vec![];
    for (i, output) in problem.outputs.iter().enumerate() {
        let needed = if output.scale == Scale::Log { POSITIVE } else { FINITE };
        let path = || format!("outputs[{i}].formula");
        formulas.extend(output.formula.iter().map(|text| (path(), text.as_str(), needed)));
    }
    for (i, measurement) in problem.measurements.iter().enumerate() {
        if let Cost::Formula(text) = &measurement.cost {
            formulas.push((format!("measurements[{i}].cost"), text, PAYABLE));
        }
    }
    if formulas.is_empty() {
        return Ok(vec![]);
    }
    let space = Space::new(problem);
    let probes = space.probes(PROBES)?;
    let mut mistakes = vec![];
    for (path, text, needed) in formulas {
        if let Some(message) = senseless(&space, text, needed, &probes)? {
            mistakes.push(Mistake { path, message });
        }
    }
    Ok(mistakes)
}

/// A value of the formula that is not what is needed, and where.
fn senseless(
    space: &Space,
    text: &str,
    Needed { is_met, rule }: Needed,
    probes: &[Vec<f64>],
) -> Result<Option<String>> {
    let (formula, bound) = (Formula::parse(text)?, space.bind(text)?);
    let values = probes.iter().map(|x| (space.formula_at(&bound, x), x));
    let Some((value, x)) = values.into_iter().find(|(value, _)| !is_met(*value)) else {
        return Ok(None);
    };
    let design = space.decode(x);
    let used = formula.names().filter_map(|name| Some(format!("{name} = {}", design.get(name)?)));
    let used: Vec<String> = used.collect();
    let place = match used.is_empty() {
        true => "everywhere".to_owned(),
        false => format!("at {}", used.join(", ")),
    };
    Ok(Some(format!("is {value} {place}; {rule}")))
}

fn mistake(path: String, message: &str) -> Mistake {
    Mistake { path, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::{Measurement, Output};

    /// Where a problem with these limits on a, b (0 to 1) and n (1 to 9) is wrong.
    fn paths(limits: &[&str]) -> Vec<String> {
        let start = Problem::builder().continuous("a", 0.0, 1.0).continuous("b", 0.0, 1.0);
        let start = start.integer("n", 1, 9).maximise("f", 1.0);
        let builder =
            limits.iter().enumerate().fold(start, |b, (i, limit)| b.limit(format!("l{i}"), *limit));
        match builder.build() {
            Ok(_) => vec![],
            Err(Error::Invalid { mistakes }) => mistakes.into_iter().map(|m| m.path).collect(),
            Err(other) => panic!("{other}"),
        }
    }

    /// What is wrong with a problem on x (−1 to 2) and y (0 to 4) with this output and this cost.
    fn complaint(output: Output, cost: &str, limit: &str) -> String {
        let start = Problem::builder().continuous("x", -1.0, 2.0).continuous("y", 0.0, 4.0);
        let start = start.limit("l", limit).output(Output::maximise("f")).output(output);
        let run = Measurement::new("run", ["f"], Cost::formula(cost));
        start.measurement(run).build().map_or_else(|error| error.to_string(), |_| String::new())
    }

    #[test]
    fn formulas_without_a_sensible_value_are_refused_with_a_design_where_they_have_none() {
        let mass = |formula: &str| Output::minimise("mass").with_formula(formula);
        let free = "x <= 2";
        assert_eq!(complaint(mass("x * y"), "2 + x", free), "");
        let cost = complaint(mass("x"), "x - 2", free);
        assert_eq!(
            cost,
            "measurements[0].cost: is -3 at x = -1.0; costs must be positive and finite"
        );
        let zero = complaint(mass("x"), "x * y + 4", free);
        assert_eq!(
            zero.split("; ").next(),
            Some("measurements[0].cost: is 0 at x = -1.0, y = 4.0")
        );
        let root = complaint(mass("sqrt(x) + y"), "1", free);
        assert!(root.starts_with("outputs[1].formula: is NaN at x = -1.0, y = 0.0; "), "{root}");
        let negative = complaint(mass("x + y").log_scale(), "1", free);
        assert!(
            negative.contains("is -1 at x = -1.0, y = 0.0; outputs on a log scale"),
            "{negative}"
        );
        assert!(complaint(mass("x"), "0 - 1", free).contains("is -1 everywhere"));
        // Where limits leave it no such value, it passes.
        assert_eq!(complaint(mass("sqrt(x) + y"), "x * y", "x * y >= 0.1"), "");
        // Away from the corners, too.
        let middle = complaint(mass("ln((x - 0.5)^2 + (y - 2)^2 - 0.2)"), "1", free);
        assert!(middle.contains("outputs must be finite"), "{middle}");
    }

    #[test]
    fn limits_that_leave_no_design_are_refused_and_named() {
        assert_eq!(paths(&["a + b <= -0.001"]), ["limits[0].formula"]);
        assert_eq!(paths(&["a <= 1", "a * b >= 1.01"]), ["limits[1].formula"]);
        assert_eq!(paths(&["a + b <= 0.5", "a + b >= 0.51"]), ["limits"]);
        assert_eq!(paths(&["3.2 <= n <= 3.8"]), ["limits[0].formula"]);
        assert_eq!(paths(&["sqrt(a - 2) <= 1"]), ["limits[0].formula"]);
    }

    #[test]
    fn limits_that_leave_one_corner_or_a_sliver_pass() {
        for limit in [
            "a + b + n >= 11",
            "a + b <= 0",
            "a^2 + b^2 <= 1e-6",
            "0.5 <= a - b <= 0.5001",
            "abs(a - 0.3) + abs(b - 0.7) <= 1e-4",
            "n - 10 * a >= 8.9999",
        ] {
            assert!(paths(&[limit]).is_empty(), "{limit}");
        }
        assert!(paths(&["a + b <= 0.5", "a + b >= 0.4999", "a - b >= 0.4"]).is_empty());
    }
}
