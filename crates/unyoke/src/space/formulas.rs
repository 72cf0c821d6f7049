//! Formulas of the parameters as functions of the inputs.

use super::Space;
use super::axis::Column;
use crate::design::Design;
use crate::error::Result;
use crate::formula::{Bound, Formula};

/// The values of the parameters at a point without rounding, each with its derivative by its input;
/// 0 where it cannot be climbed.
pub(super) struct Relaxed {
    pub(super) values: Vec<f64>,
    slopes: Vec<f64>,
}

impl Space {
    /// The formula, its names replaced by the places of the parameters.
    pub(crate) fn bind(&self, formula: &str) -> Result<Bound> {
        let names: Vec<&str> = self.columns.iter().map(|column| column.name.as_str()).collect();
        Formula::parse(formula)?.bind(&names)
    }

    /// The value of a formula at the design nearest to `x`, exactly as it would be suggested.
    pub(crate) fn formula_at(&self, formula: &Bound, x: &[f64]) -> f64 {
        formula.value(&self.numbers(x))
    }

    /// The value of a formula at a design; not a number where it needs what the design lacks.
    pub(crate) fn formula_of(&self, formula: &Bound, design: &Design) -> f64 {
        let value = |column: &Column| design.real(&column.name).unwrap_or(f64::NAN);
        formula.value(&self.columns.iter().map(value).collect::<Vec<f64>>())
    }

    /// The value of a formula at `x`; adds `factor` times its derivatives by the inputs to
    /// `gradient`.
    ///
    /// Inputs that can be climbed are taken as they are, without rounding, so it is smooth in these;
    /// the derivatives by others are 0. Neither need be finite.
    pub(crate) fn formula(
        &self,
        formula: &Bound,
        x: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) -> f64 {
        let relaxed = self.relaxed(x);
        let mut by_value = vec![0.0; relaxed.values.len()];
        let value = formula.gradient(&relaxed.values, &mut by_value);
        self.add_slopes(&relaxed, &by_value, factor, gradient);
        value
    }

    pub(super) fn relaxed(&self, x: &[f64]) -> Relaxed {
        let relaxed =
            self.columns.iter().map(|column| column.axis.relaxed(&x[column.inputs.clone()]));
        let (values, slopes) = relaxed.unzip();
        Relaxed { values, slopes }
    }

    /// Adds `factor` times what derivatives by the values of the parameters are by the inputs.
    pub(super) fn add_slopes(
        &self,
        relaxed: &Relaxed,
        by_value: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) {
        let slopes = by_value.iter().zip(&relaxed.slopes);
        for (column, (by_value, slope)) in self.columns.iter().zip(slopes) {
            // Infinitely steep formulas of what cannot move must not give what is not a number.
            if *slope != 0.0 {
                gradient[column.inputs.start] += factor * by_value * slope;
            }
        }
    }

    /// The values of the parameters at `x` as in the design suggested; not a number for choices.
    pub(super) fn numbers(&self, x: &[f64]) -> Vec<f64> {
        self.columns.iter().map(|column| column.number(&x[column.inputs.clone()])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Problem;
    use unyoke_math::sobol;

    fn space() -> Space {
        let problem = Problem::builder()
            .categorical("c", ["u", "v", "w"])
            .continuous("x", -2.0, 3.0)
            .continuous_log("y", 0.01, 10.0)
            .stepped("t", 0.0, 1.0, 0.01)
            .integer("n", 1, 4)
            .maximise("f", 1.0);
        Space::new(&problem.build().unwrap())
    }

    #[test]
    fn a_formula_has_the_value_of_the_design_and_the_derivatives_of_differences() {
        let space = space();
        let formula = space.bind("x^2 * y + exp(t) / (n + y)").unwrap();
        for u in sobol::cube(5, 50, 3).unwrap().rows() {
            let mut x = space.from_cube(u);
            let design = space.decode(&x);
            let [v, y, t, n] = ["x", "y", "t", "n"].map(|name| design.real(name).unwrap());
            assert_eq!(space.formula_at(&formula, &x), v * v * y + libm::exp(t) / (n + y));
            // Between two steps, where searches look as well.
            x[5] = 0.01 + 0.98 * u[3];
            let mut gradient = vec![1.0; 7];
            let value = space.formula(&formula, &x, 2.0, &mut gradient);
            assert!(value.is_finite());
            let at = |i: usize, h: f64| {
                let mut x = x.clone();
                x[i] += h;
                space.formula(&formula, &x, 0.0, &mut [0.0; 7])
            };
            for i in (3..6).filter(|i| (1e-4..1.0 - 1e-4).contains(&x[*i])) {
                let numeric = 1.0 + 2.0 * (at(i, 1e-6) - at(i, -1e-6)) / 2e-6;
                let error = (gradient[i] - numeric).abs();
                assert!(error <= 1e-6 * numeric.abs().max(1.0), "{i}: {gradient:?} {numeric}");
            }
            // Neither choices nor integers of few values can be climbed.
            assert_eq!([gradient[0], gradient[1], gradient[2], gradient[6]], [1.0; 4]);
        }
    }

    #[test]
    fn a_formula_of_unknown_names_is_refused() {
        let refused = space().bind("xx + 1").unwrap_err().to_string();
        assert!(refused.contains("no parameter is called \"xx\""), "{refused}");
    }
}
