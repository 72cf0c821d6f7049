//! The trade-offs of a study: those that are predicted, and those that were measured.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unyoke::{
    Average, Design, Direction, Forecast, FrontPoint, Journal, MeasuredFront, MeasuredPoint,
    Parameter, Study,
};

use crate::output::{OutputView, outputs};
use crate::words::{count, percent, plus_minus, short};

/// How many designs of a front are shown unless somebody wants another number.
pub const ROWS: usize = 20;

/// Designs that are best for some trade-off, as far as the models can tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontView {
    /// Names of the parameters, in the order of the problem.
    pub parameters: Vec<String>,
    /// The outputs, in the order of the problem.
    pub outputs: Vec<OutputView>,
    /// The designs.
    pub points: Vec<PointView>,
}

/// A design of the predicted front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointView {
    /// The design.
    pub design: Design,
    /// What is known of each output there, by its name. A formula that has no value at this design is
    /// not among them.
    pub outputs: BTreeMap<String, ForecastView>,
    /// The probability that all constraints hold and no run fails there; `None` where there are no
    /// constraints and nothing has failed.
    pub feasibility: Option<f64>,
    /// Whether every output was measured at this very design, or is a formula.
    #[serde(default)]
    pub confirmed: bool,
}

/// An output at a design: what is expected, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastView {
    /// Expected value.
    pub mean: f64,
    /// Standard deviation of that expectation, without the noise of a measurement.
    pub sd: f64,
    /// One standard deviation below the expected value.
    pub low: f64,
    /// One standard deviation above the expected value.
    pub high: f64,
    /// The ends of the interval that holds the true value in nine cases of ten.
    pub interval: [f64; 2],
    /// Values measured at this very design, in order.
    pub measured: Vec<f64>,
}

/// The designs at which every output was measured and that no other of them beats.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredFrontView {
    /// Names of the parameters, in the order of the problem.
    pub parameters: Vec<String>,
    /// The outputs, in the order of the problem.
    pub outputs: Vec<OutputView>,
    /// The designs, in the order in which they were first measured.
    pub points: Vec<MeasuredPointView>,
}

/// A design at which every output was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredPointView {
    /// The design.
    pub design: Design,
    /// What was measured of each output there, by its name.
    pub outputs: BTreeMap<String, AverageView>,
}

/// What was measured of an output at a design, once or more often.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AverageView {
    /// The value, or the average of several.
    pub value: f64,
    /// Its standard error; `None` where there is no noise.
    pub sd: Option<f64>,
    /// The single values, in order; empty for a formula.
    pub measured: Vec<f64>,
}

/// The predicted front of a study, at most `count` designs, compared by what is expected of them or by what
/// they reach with probability `cautious` ([`Study::cautious_front`]). There must be values.
pub fn front<J: Journal>(
    study: &Study<J>,
    count: usize,
    cautious: Option<f64>,
) -> unyoke::Result<FrontView> {
    let front = match cautious {
        Some(quantile) => study.cautious_front(count, quantile)?,
        None => study.front(count)?,
    };
    Ok(with_heads(study, front.points))
}

/// The one design that is best for these weights of the objectives. There must be values.
pub fn best_for<J: Journal>(
    study: &Study<J>,
    weights: &[f64],
    cautious: Option<f64>,
) -> unyoke::Result<FrontView> {
    let best = match cautious {
        Some(quantile) => study.cautious_best_for(weights, quantile)?,
        None => study.best_for(weights)?,
    };
    Ok(with_heads(study, vec![best]))
}

/// What was measured of all outputs: the designs that no other such design beats.
pub fn measured_front<J: Journal>(study: &Study<J>) -> unyoke::Result<MeasuredFrontView> {
    Ok(measured_view(study, study.measured_front()?))
}

pub(crate) fn measured_view<J: Journal>(
    study: &Study<J>,
    front: MeasuredFront,
) -> MeasuredFrontView {
    let names = || study.problem().outputs.iter().map(|output| output.name.clone());
    let point = |MeasuredPoint { design, outputs }: MeasuredPoint| MeasuredPointView {
        design,
        outputs: names().zip(outputs.into_iter().map(AverageView::from)).collect(),
    };
    MeasuredFrontView {
        parameters: parameters(study),
        outputs: outputs(study),
        points: front.points.into_iter().map(point).collect(),
    }
}

fn parameters<J: Journal>(study: &Study<J>) -> Vec<String> {
    study.problem().parameters.iter().map(Parameter::name).map(str::to_owned).collect()
}

pub(crate) fn with_heads<J: Journal>(study: &Study<J>, points: Vec<FrontPoint>) -> FrontView {
    FrontView {
        parameters: parameters(study),
        outputs: outputs(study),
        points: points.into_iter().map(|point| point_view(study, point)).collect(),
    }
}

pub(crate) fn point_view<J: Journal>(study: &Study<J>, point: FrontPoint) -> PointView {
    let confirmed = point.is_measured();
    let names = study.problem().outputs.iter().map(|output| output.name.clone());
    let has_value = |(_, forecast): &(String, Forecast)| !forecast.mean.is_nan();
    let forecasts = names.zip(point.outputs).filter(has_value);
    PointView {
        design: point.design,
        outputs: forecasts.map(|(name, forecast)| (name, forecast.into())).collect(),
        feasibility: point.feasibility,
        confirmed,
    }
}

impl From<Forecast> for ForecastView {
    fn from(forecast: Forecast) -> Self {
        let Forecast { mean, sd, low, high, interval, measured, .. } = forecast;
        Self { mean, sd, low, high, interval, measured }
    }
}

impl From<Average> for AverageView {
    fn from(Average { value, sd, measured }: Average) -> Self {
        Self { value, sd, measured }
    }
}

impl AverageView {
    /// As people read it: `1.5`, `1.5 ± 0.1`, `1.5 ± 0.1 (3 values)`.
    pub fn words(&self) -> String {
        let value = self.sd.map_or_else(|| short(self.value), |sd| plus_minus(self.value, sd));
        match self.measured.len() {
            0 | 1 => value,
            several => format!("{value} ({})", count(several, "value")),
        }
    }
}

impl MeasuredFrontView {
    /// The designs in the order of their first objective, from low to high.
    pub fn sorted(&self) -> Vec<&MeasuredPointView> {
        let first = self.outputs.iter().find(|output| output.is_objective());
        let first = first.map_or("", |objective| &objective.name);
        let value =
            |point: &MeasuredPointView| point.outputs.get(first).map_or(f64::INFINITY, |o| o.value);
        let mut points: Vec<&MeasuredPointView> = self.points.iter().collect();
        points.sort_by(|a, b| value(a).total_cmp(&value(b)));
        points
    }
}

impl FrontView {
    /// Those of the outputs that are objectives.
    pub fn objectives(&self) -> impl Iterator<Item = &OutputView> {
        self.outputs.iter().filter(|output| output.is_objective())
    }

    /// Whether designs may be infeasible: there are constraints, or something has failed.
    pub fn has_feasibility(&self) -> bool {
        self.points.iter().any(|point| point.feasibility.is_some())
    }

    /// How good each design is in each objective: 0 for the worst of the front, 1 for the best, what is between
    /// them by differences, or by ratios where `is_log` says so of the objective.
    pub fn shares(&self, is_log: impl Fn(&str) -> bool) -> Vec<Vec<f64>> {
        let goodness = |objective: &OutputView, point: &PointView| {
            let mean = point.outputs.get(&objective.name).map_or(f64::NAN, |f| f.mean);
            let turned = if is_log(&objective.name) { mean.ln() } else { mean };
            match objective.wish.direction {
                Some(Direction::Minimise) => -turned,
                _ => turned,
            }
        };
        let column = |objective: &OutputView| -> Vec<f64> {
            let all: Vec<f64> =
                self.points.iter().map(|point| goodness(objective, point)).collect();
            let finite = || all.iter().copied().filter(|value| value.is_finite());
            let low = finite().fold(f64::INFINITY, f64::min);
            let high = finite().fold(f64::NEG_INFINITY, f64::max);
            let share = |value: &f64| match (value.is_finite(), high > low) {
                (false, _) => 0.0,
                (true, false) => 1.0,
                (true, true) => (value - low) / (high - low),
            };
            all.iter().map(share).collect()
        };
        let columns: Vec<Vec<f64>> = self.objectives().map(column).collect();
        let row = |i: usize| columns.iter().map(|column| column[i]).collect();
        (0..self.points.len()).map(row).collect()
    }

    /// The designs in the order of their first objective, from low to high.
    pub fn sorted(&self) -> Vec<&PointView> {
        let first = self.objectives().next().map_or("", |objective| &objective.name);
        let mean = |point: &PointView| point.outputs.get(first).map_or(f64::INFINITY, |f| f.mean);
        let mut points: Vec<&PointView> = self.points.iter().collect();
        points.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        points
    }
}

impl PointView {
    /// Whether every output was measured here, as people read it.
    pub fn confirmation(&self) -> &'static str {
        if self.confirmed { "yes" } else { "" }
    }

    /// How likely it is that the design is feasible, as people read it: `97 %`.
    pub fn likely(&self) -> String {
        self.feasibility.map_or_else(String::new, percent)
    }

    /// What is known of an output here, as people read it: `1.5 ± 0.1`; what was measured, with a
    /// star; or that it has no value here, or that nothing is known of this output yet.
    pub fn expected(&self, output: &OutputView) -> String {
        let forecast = self.outputs.get(&output.name);
        match (forecast, &output.formula) {
            (Some(forecast), Some(_)) => short(forecast.mean),
            (Some(forecast), None) => forecast.words(output),
            (None, Some(_)) => "no value".to_owned(),
            (None, None) => "unknown".to_owned(),
        }
    }
}

impl ForecastView {
    fn words(&self, output: &OutputView) -> String {
        match &self.measured[..] {
            // Values that disagree are noisy, whatever was said of the output.
            [value, others @ ..]
                if output.deterministic && others.iter().all(|other| other == value) =>
            {
                format!("{} *", short(*value))
            }
            _ if output.values < 2 => "unknown".to_owned(),
            [] => plus_minus(self.mean, self.sd),
            [..] => plus_minus(self.mean, self.sd) + " *",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Role;

    #[test]
    fn shares_count_from_the_worst_of_the_front_to_the_best() {
        let objective = |name: &str, direction| OutputView {
            name: name.into(),
            wish: Role::Objective(direction).into(),
            formula: None,
            deterministic: true,
            values: 3,
        };
        let point = |f: f64, g: f64| {
            let forecast = |mean| ForecastView {
                mean,
                sd: 0.0,
                low: mean,
                high: mean,
                interval: [mean; 2],
                measured: vec![],
            };
            let outputs = [("f".to_owned(), forecast(f)), ("g".to_owned(), forecast(g))].into();
            PointView { design: Design::new(), outputs, feasibility: None, confirmed: false }
        };
        let view = FrontView {
            parameters: vec![],
            outputs: vec![objective("f", Direction::Minimise), objective("g", Direction::Maximise)],
            points: vec![point(1.0, 2.0), point(10.0, 3.0), point(100.0, 4.0)],
        };
        assert_eq!(view.shares(|name| name == "f"), [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]);
        let linear = view.shares(|_| false);
        assert!((linear[1][0] - 90.0 / 99.0).abs() < 1e-12);
    }

    #[test]
    fn expectations_say_what_was_measured_and_what_is_not_known() {
        let point = |measured: &[f64]| {
            let forecast = ForecastView {
                mean: 1.234,
                sd: 0.1,
                low: 1.134,
                high: 1.334,
                interval: [1.07, 1.4],
                measured: measured.to_vec(),
            };
            let outputs = [("f".to_owned(), forecast)].into();
            PointView { design: Design::new(), outputs, feasibility: None, confirmed: false }
        };
        let output = |deterministic, values| OutputView {
            name: "f".into(),
            wish: Role::Objective(Direction::Minimise).into(),
            formula: None,
            deterministic,
            values,
        };
        for (measured, deterministic, values, text) in [
            (&[][..], true, 1, "unknown"),
            (&[][..], true, 2, "1.23 ± 0.10"),
            (&[1.5][..], true, 1, "1.5 *"),
            (&[1.5][..], false, 1, "unknown"),
            (&[1.5, 1.6][..], false, 2, "1.23 ± 0.10 *"),
            (&[1.5, 1.6][..], true, 2, "1.23 ± 0.10 *"),
            (&[1.5, 1.5][..], true, 2, "1.5 *"),
        ] {
            assert_eq!(point(measured).expected(&output(deterministic, values)), text);
        }
        let other = OutputView { name: "g".into(), ..output(true, 9) };
        assert_eq!(point(&[]).expected(&other), "unknown");
        let formula = OutputView { formula: Some("2 * x".into()), ..output(true, 0) };
        assert_eq!(point(&[]).expected(&formula), "1.234");
        let undefined = OutputView { name: "g".into(), ..formula };
        assert_eq!(point(&[]).expected(&undefined), "no value");
    }
}
