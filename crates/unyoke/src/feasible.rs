//! The last part of a problem's check: that its limits leave designs to evaluate.
//!
//! Here and not in `problem`, because it looks for designs in the cube.

use crate::error::{Error, Mistake, Result};
use crate::problem::{Problem, ProblemBuilder};
use crate::space::Space;

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

fn mistake(path: String, message: &str) -> Mistake {
    Mistake { path, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

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
