//! The figures of a report, from its data.

use unyoke::{Parameter, Scale, Value};
use unyoke_draw::Picture;

use super::StudyReport;
use crate::evaluations::EvaluationStatus;
use crate::figures::{
    Coordinate, Payment, Predicted, TradeOffs, parallel_figure, predictions_figure,
    spending_figure, trade_offs_figure, values_figure, worth_figure,
};
use crate::front::{FrontView, PointView};
use crate::output::OutputView;
use crate::words::short;

impl FrontView {
    /// The front with designs at which all objectives were `measured`
    /// ([`measured`](crate::measured())); `None` with one objective.
    pub fn picture(&self, measured: &[Vec<f64>]) -> Option<Picture> {
        let objectives: Vec<&OutputView> = self.objectives().collect();
        if objectives.len() < 2 {
            return None;
        }
        let forecast = |point: &PointView, objective: &OutputView| {
            point.outputs.get(&objective.name).map_or([f64::NAN; 2], |f| [f.mean, f.sd])
        };
        let predicted = |point: &PointView| -> Vec<[f64; 2]> {
            objectives.iter().map(|objective| forecast(point, objective)).collect()
        };
        Some(trade_offs_figure(&TradeOffs {
            objectives: objectives.iter().map(|objective| objective.title()).collect(),
            predicted: self.points.iter().map(predicted).collect(),
            measured: measured.to_vec(),
        }))
    }
}

impl StudyReport {
    /// The predicted front and what was measured; `None` without values, or with one objective.
    pub fn trade_offs_picture(&self) -> Option<Picture> {
        self.front.as_ref().and_then(|front| front.picture(&self.measured))
    }

    /// The designs of the front side by side; `None` without values.
    pub fn designs_picture(&self) -> Option<Picture> {
        let points = self.front.as_ref().map(FrontView::sorted)?;
        let parameters = self.parameters.iter().map(|p| (axis(p), shares(p, &points)));
        let outputs = self.outputs.iter().map(|output| output_axis(output, &points));
        let (axes, columns): (Vec<Coordinate>, Vec<Vec<f64>>) = parameters.chain(outputs).unzip();
        let line = |i: usize| columns.iter().map(|column| column[i]).collect();
        Some(parallel_figure(&axes, &(0..points.len()).map(line).collect::<Vec<_>>()))
    }

    /// What each evaluation gave.
    pub fn values_picture(&self) -> Picture {
        values_figure(&self.measured_names(), &self.payments())
    }

    /// When each measurement was made, and what that cost.
    pub fn spending_picture(&self) -> Picture {
        spending_figure(&self.measurement_names(), &self.payments())
    }

    /// What continuing promised, and how the front grew; `None` before models were asked.
    pub fn worth_picture(&self) -> Option<Picture> {
        (!self.moments.is_empty()).then(|| worth_figure(&self.moments))
    }

    /// Each value against its prediction from all the others; `None` without values.
    pub fn predictions_picture(&self) -> Option<Picture> {
        let models = self.next.models.iter().filter(|model| model.check.designs > 0);
        let predicted = models.map(|model| {
            let values = model.check.left_out.iter();
            Predicted {
                output: model.check.output.clone(),
                is_log: model.check.scale == Scale::Log,
                // As they count: what is far from all others would leave no room for them.
                values: values
                    .map(|v| [v.counts_as.unwrap_or(v.measured), v.low, v.mean, v.high])
                    .collect(),
            }
        });
        let predicted: Vec<Predicted> = predicted.collect();
        (!predicted.is_empty()).then(|| predictions_figure(&predicted))
    }

    pub(super) fn measurement_names(&self) -> Vec<String> {
        self.measurements.iter().map(|measurement| measurement.name.clone()).collect()
    }

    /// The outputs that are measured; formulas have nothing to show of the past.
    fn measured_names(&self) -> Vec<String> {
        let measured = self.outputs.iter().filter(|output| output.formula.is_none());
        measured.map(|output| output.name.clone()).collect()
    }

    /// The evaluations that were paid for, in order.
    pub(super) fn payments(&self) -> Vec<Payment> {
        let (measurements, outputs) = (self.measurement_names(), self.measured_names());
        let mut spent = 0.0;
        let paid = self.evaluations.iter().filter(|e| e.is_paid() || e.spent > 0.0);
        paid.filter_map(|e| {
            let name = e.measurement.as_ref()?;
            let measurement = measurements.iter().position(|known| known == name)?;
            let value = |name: &String| {
                let place = outputs.iter().position(|known| known == name)?;
                Some((place, e.values.get(name).map(|reading| reading.value)))
            };
            spent += e.spent;
            let values = match e.status {
                EvaluationStatus::Retracted => vec![],
                _ => e.outputs.iter().filter_map(value).collect(),
            };
            Some(Payment { measurement, spent, cost: e.spent, values })
        })
        .collect()
    }
}

/// The axis of an output from its lowest to its highest expectation, and where designs stand on it.
fn output_axis(output: &OutputView, points: &[&PointView]) -> (Coordinate, Vec<f64>) {
    let mean = |point: &&PointView| point.outputs.get(&output.name).map(|f| f.mean);
    let means: Vec<f64> = points.iter().map(|point| mean(point).unwrap_or(f64::NAN)).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let share = |mean: &f64| if high > low { (mean - low) / (high - low) } else { 0.5 };
    let coordinate = Coordinate { name: output.name.clone(), ends: [short(low), short(high)] };
    (coordinate, means.iter().map(share).collect())
}

fn axis(parameter: &Parameter) -> Coordinate {
    let ends = match parameter {
        Parameter::Continuous { low, high, .. } => [short(*low), short(*high)],
        Parameter::Integer { low, high, .. } => [low.to_string(), high.to_string()],
        Parameter::Categorical { choices, .. } => {
            let end = |choice: Option<&String>| choice.cloned().unwrap_or_default();
            [end(choices.first()), end(choices.last())]
        }
    };
    Coordinate { name: parameter.name().to_owned(), ends }
}

/// Where each design stands between the ends of a parameter.
fn shares(parameter: &Parameter, points: &[&PointView]) -> Vec<f64> {
    let share = |point: &&PointView| {
        let share = point.design.get(parameter.name()).map_or(f64::NAN, |v| share(parameter, v));
        if share.is_finite() { share } else { 0.5 }
    };
    points.iter().map(share).collect()
}

fn share(parameter: &Parameter, value: &Value) -> f64 {
    let between = |low: f64, high: f64, scale: &Scale| {
        let value = value.as_f64().unwrap_or(f64::NAN);
        match scale {
            Scale::Log => (value / low).ln() / (high / low).ln(),
            Scale::Linear => (value - low) / (high - low),
        }
    };
    match parameter {
        Parameter::Continuous { low, high, scale, .. } => between(*low, *high, scale),
        Parameter::Integer { low, high, scale, .. } => between(*low as f64, *high as f64, scale),
        Parameter::Categorical { choices, .. } => {
            let at = choices.iter().position(|choice| Some(choice.as_str()) == value.as_str());
            at.unwrap_or(0) as f64 / choices.len().saturating_sub(1).max(1) as f64
        }
    }
}
