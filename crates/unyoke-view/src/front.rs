//! The predicted trade-offs of a study.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unyoke::{Design, Forecast, FrontPoint, Journal, Parameter, Study};

use crate::objective::{ObjectiveView, objectives};
use crate::words::{plus_minus, short};

/// Designs that are best for some trade-off, as far as the models can tell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FrontView {
    /// Names of the parameters, in the order of the problem.
    pub parameters: Vec<String>,
    /// The objectives, in the order of the problem.
    pub objectives: Vec<ObjectiveView>,
    /// The designs.
    pub points: Vec<PointView>,
}

/// A design of the predicted front.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PointView {
    /// The design.
    pub design: Design,
    /// What is known of each objective there, by its name.
    pub objectives: BTreeMap<String, ForecastView>,
}

/// An objective at a design: what is expected, and what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastView {
    /// Expected value.
    pub mean: f64,
    /// Standard deviation of that expectation, without the noise of a measurement.
    pub sd: f64,
    /// Values measured at this very design, in order.
    pub measured: Vec<f64>,
}

/// The predicted front of a study, at most `count` designs. There must be values.
pub fn front<J: Journal>(study: &Study<J>, count: usize) -> unyoke::Result<FrontView> {
    Ok(with_heads(study, study.front(count)?.points))
}

/// The one design that is best for these weights of the objectives. There must be values.
pub fn best_for<J: Journal>(study: &Study<J>, weights: &[f64]) -> unyoke::Result<FrontView> {
    Ok(with_heads(study, vec![study.best_for(weights)?]))
}

fn with_heads<J: Journal>(study: &Study<J>, points: Vec<FrontPoint>) -> FrontView {
    let parameters = study.problem().parameters.iter().map(Parameter::name);
    FrontView {
        parameters: parameters.map(str::to_owned).collect(),
        objectives: objectives(study),
        points: points.into_iter().map(|point| point_view(study, point)).collect(),
    }
}

pub(crate) fn point_view<J: Journal>(study: &Study<J>, point: FrontPoint) -> PointView {
    let names = study.problem().objectives.iter().map(|objective| objective.name.clone());
    let forecasts = point.objectives.into_iter().map(ForecastView::from);
    PointView { design: point.design, objectives: names.zip(forecasts).collect() }
}

impl From<Forecast> for ForecastView {
    fn from(forecast: Forecast) -> Self {
        Self { mean: forecast.mean, sd: forecast.sd, measured: forecast.measured }
    }
}

impl FrontView {
    /// The designs in the order of their first objective, from low to high.
    pub fn sorted(&self) -> Vec<&PointView> {
        let first = self.objectives.first().map_or("", |objective| &objective.name);
        let mean = |point: &PointView| point.objectives.get(first).map_or(0.0, |f| f.mean);
        let mut points: Vec<&PointView> = self.points.iter().collect();
        points.sort_by(|a, b| mean(a).total_cmp(&mean(b)));
        points
    }
}

impl PointView {
    /// What is known of an objective here, as people read it: `1.5 ± 0.1`; what was measured, with a
    /// star; or that nothing is known of this objective yet.
    pub fn expected(&self, objective: &ObjectiveView) -> String {
        let Some(forecast) = self.objectives.get(&objective.name) else {
            return "unknown".to_owned();
        };
        match forecast.measured.last() {
            Some(value) if objective.deterministic => format!("{} *", short(*value)),
            _ if objective.values < 2 => "unknown".to_owned(),
            Some(_) => plus_minus(forecast.mean, forecast.sd) + " *",
            None => plus_minus(forecast.mean, forecast.sd),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Direction;

    #[test]
    fn expectations_say_what_was_measured_and_what_is_not_known() {
        let point = |measured: &[f64]| {
            let forecast = ForecastView { mean: 1.234, sd: 0.1, measured: measured.to_vec() };
            PointView { design: Design::new(), objectives: [("f".to_owned(), forecast)].into() }
        };
        let objective = |deterministic, values| ObjectiveView {
            name: "f".into(),
            direction: Direction::Minimise,
            deterministic,
            values,
        };
        for (measured, deterministic, values, text) in [
            (&[][..], true, 1, "unknown"),
            (&[][..], true, 2, "1.23 ± 0.10"),
            (&[1.5][..], true, 1, "1.5 *"),
            (&[1.5][..], false, 1, "unknown"),
            (&[1.5, 1.6][..], false, 2, "1.23 ± 0.10 *"),
        ] {
            assert_eq!(point(measured).expected(&objective(deterministic, values)), text);
        }
        let other = ObjectiveView { name: "g".into(), ..objective(true, 9) };
        assert_eq!(point(&[]).expected(&other), "unknown");
    }
}
