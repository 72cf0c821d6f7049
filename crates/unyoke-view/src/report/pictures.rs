//! The figures of a report, from its data.

use unyoke::{Parameter, Scale, Value};
use unyoke_draw::{Mark, Picture};

use super::marks::Marks;
use super::sample::Drawn;
use super::{MeasuredDesign, StudyReport};
use crate::effects::{ContourView, EffectView, SlicePoint};
use crate::evaluations::{EvaluationStatus, EvaluationView};
use crate::figures::{
    Arrival, Arrivals, ContourPanel, Coordinate, EffectPanel, EffectPoint, FrontMark, Line,
    MeasuredMark, Payment, Places, Predicted, PredictedValue, Quantity, Spread, TradeOffs,
    contour_figure, designs_figure, effects_figure, measured_figure, predictions_figure,
    progress_figure, spending_figure, trade_offs_figure, trade_offs_sheet, values_figure,
};
use crate::front::{FrontView, PointView};
use crate::output::OutputView;
use crate::words::short;

/// Parameters whose effects on an output are drawn, at most: those that change it most.
const MOST_EFFECTS: usize = 12;

impl FrontView {
    /// The front with designs at which all objectives were `measured`
    /// ([`measured`](crate::measured())); `None` with one objective.
    pub fn picture(&self, measured: &[Vec<f64>]) -> Option<Picture> {
        let measured = measured.iter().cloned();
        let mark = Mark::default;
        let measured = measured.map(|values| MeasuredMark { mark: mark(), values, is_best: false });
        let data = trade_offs(self, |_| false, |_, _| Mark::default(), measured.collect());
        trade_offs_sheet(&data)
    }
}

/// What is drawn of a front.
fn trade_offs(
    front: &FrontView,
    is_log: impl Fn(&str) -> bool,
    mark: impl Fn(&PointView, usize) -> Mark,
    measured: Vec<MeasuredMark>,
) -> TradeOffs {
    let objectives: Vec<&OutputView> = front.objectives().collect();
    let of = |(place, point): (usize, &&PointView)| FrontMark {
        mark: mark(point, place),
        values: objectives.iter().map(|objective| spread(point, objective)).collect(),
        is_confirmed: point.confirmed,
    };
    let quantity =
        |output: &&OutputView| Quantity { name: output.title(), is_log: is_log(&output.name) };
    TradeOffs {
        objectives: objectives.iter().map(quantity).collect(),
        front: front.sorted().iter().enumerate().map(of).collect(),
        measured,
    }
}

fn spread(point: &PointView, objective: &OutputView) -> Spread {
    let Some(forecast) = point.outputs.get(&objective.name) else {
        return Spread { low: f64::NAN, mean: f64::NAN, high: f64::NAN, is_measured: false };
    };
    let is_measured =
        objective.formula.is_some() || objective.deterministic && !forecast.measured.is_empty();
    Spread { low: forecast.low, mean: forecast.mean, high: forecast.high, is_measured }
}

impl StudyReport {
    /// The front and what was measured, for each pair of objectives; nothing without values, or with one
    /// objective.
    pub fn trade_offs_pictures(&self) -> Vec<Picture> {
        let Some(front) = &self.front else { return vec![] };
        let marks = Marks::new(self);
        let is_on_front = |design| front.points.iter().any(|p| &p.design == design && p.confirmed);
        let is_other = |one: &Drawn| !is_on_front(&self.measured[one.place].design);
        let measured = self.drawn().into_iter().filter(is_other);
        let measured = measured.map(|one| self.measured_mark(&marks, one)).collect();
        let mark = |point: &PointView, place: usize| marks.of_front(&point.design, place);
        trade_offs_figure(&trade_offs(front, |name| self.is_log(name), mark, measured))
    }

    fn measured_mark(&self, marks: &Marks, Drawn { place, is_best }: Drawn) -> MeasuredMark {
        let MeasuredDesign { design, values } = &self.measured[place];
        MeasuredMark { mark: marks.of_last(design), values: values.clone(), is_best }
    }

    /// What was measured of all objectives, on the axes of the front; nothing without such designs.
    pub fn measured_front_pictures(&self) -> Vec<Picture> {
        let Some(front) = &self.front else { return vec![] };
        let marks = Marks::new(self);
        let measured = self.drawn().into_iter().map(|one| self.measured_mark(&marks, one));
        let mark = |point: &PointView, place: usize| marks.of_front(&point.design, place);
        let data = trade_offs(front, |name| self.is_log(name), mark, measured.collect());
        measured_figure(&data)
    }

    /// The designs of the front side by side; nothing without values.
    pub fn designs_pictures(&self) -> Vec<Picture> {
        let Some(points) = self.front.as_ref().map(FrontView::sorted) else { return vec![] };
        let marks = Marks::new(self);
        let parameters = self.parameters.iter().map(|p| (axis(p), shares(p, &points)));
        let outputs = self.outputs.iter().map(|output| output_axis(output, &points));
        let (axes, columns): (Vec<Coordinate>, Vec<Vec<f64>>) = parameters.chain(outputs).unzip();
        let line = |(i, point): (usize, &&PointView)| Line {
            mark: marks.of_front(&point.design, i),
            at: columns.iter().map(|column| column[i]).collect(),
        };
        designs_figure(&axes, &points.iter().enumerate().map(line).collect::<Vec<_>>())
    }

    /// What each parameter does to an output, those that change it most first.
    pub fn effects_pictures(&self, output: &OutputView) -> Vec<Picture> {
        let Some(view) = &self.effects else { return vec![] };
        let is_log = self.is_log(&output.name);
        let size = |effect: &&EffectView| {
            let [low, high] = effect.range();
            if is_log { (high / low).ln() } else { high - low }
        };
        let mut own: Vec<&EffectView> =
            view.effects.iter().filter(|effect| effect.output == output.name).collect();
        own.sort_by(|a, b| size(b).total_cmp(&size(a)));
        let panels: Vec<EffectPanel> =
            own.iter().take(MOST_EFFECTS).filter_map(|effect| self.effect_panel(effect)).collect();
        let quantity = Quantity { name: output.name.clone(), is_log };
        effects_figure(&quantity, output.wish.at_most.or(output.wish.at_least), &panels)
    }

    /// What two parameters together do to an output: what is expected, and its standard deviation.
    pub fn contour_pictures(&self, view: &ContourView) -> Vec<Picture> {
        let is_log = |name: &String| {
            let own = self.parameters.iter().find(|parameter| parameter.name() == name);
            own.is_some_and(|parameter| match parameter {
                Parameter::Continuous { scale, .. } | Parameter::Integer { scale, .. } => {
                    *scale == Scale::Log
                }
                Parameter::Categorical { .. } => false,
            })
        };
        let quantity = |name: &String| Quantity { name: name.clone(), is_log: is_log(name) };
        let design = self.effects.as_ref().map(|effects| &effects.design);
        let value = |name: &String| design?.get(name)?.as_f64();
        let [x, y] = &view.parameters;
        let panel = |title: String, field: &[Option<f64>]| ContourPanel {
            title,
            parameters: [quantity(x), quantity(y)],
            values: view.values.clone(),
            field: field.iter().map(|value| value.unwrap_or(f64::NAN)).collect(),
            here: value(x).zip(value(y)).map(|(x, y)| [x, y]),
        };
        let expected = panel(format!("{}, expected", view.output), &view.means);
        let deviation = panel(format!("{}, standard deviation", view.output), &view.sds);
        [expected, deviation].iter().filter_map(contour_figure).collect()
    }

    fn effect_panel(&self, effect: &EffectView) -> Option<EffectPanel> {
        let view = self.effects.as_ref()?;
        let parameter = self.parameters.iter().find(|p| p.name() == effect.parameter)?;
        let places = match parameter {
            Parameter::Continuous { low, high, scale, .. } => {
                Places::Numbers { low: *low, high: *high, is_log: *scale == Scale::Log }
            }
            Parameter::Integer { low, high, scale, .. } => Places::Numbers {
                low: *low as f64,
                high: *high as f64,
                is_log: *scale == Scale::Log,
            },
            Parameter::Categorical { choices, .. } => Places::Names(choices.clone()),
        };
        let place = |value: &Value| match parameter {
            Parameter::Categorical { choices, .. } => {
                let at = choices.iter().position(|choice| Some(choice.as_str()) == value.as_str());
                at.map_or(f64::NAN, |at| at as f64)
            }
            _ => value.as_f64().unwrap_or(f64::NAN),
        };
        let point = |SlicePoint { value, mean, interval: [low, high] }: &SlicePoint| EffectPoint {
            at: place(value),
            low: *low,
            mean: *mean,
            high: *high,
        };
        let front = self.front.iter().flat_map(|front| &front.points);
        let here = front.filter(|point| point.design == view.design).find_map(|point| {
            let mean = point.outputs.get(&effect.output)?.mean;
            Some([place(view.design.get(&effect.parameter)?), mean])
        });
        Some(EffectPanel {
            parameter: effect.parameter.clone(),
            places,
            points: effect.points.iter().map(point).collect(),
            here,
        })
    }

    /// What each evaluation gave, and from which phase it is.
    pub fn values_pictures(&self) -> Vec<Picture> {
        let marks = Marks::new(self);
        let arrival = |e: &EvaluationView, name: &String| {
            let has_ended =
                matches!(e.status, EvaluationStatus::Failed | EvaluationStatus::Completed);
            let is_failed = has_ended && e.outputs.contains(name);
            let value = e.values.get(name).map(|reading| reading.value);
            (value.is_some() || is_failed).then(|| Arrival {
                mark: marks.of_evaluation(e.evaluation, &e.design),
                evaluation: e.evaluation,
                value,
                phase: e.origin.phase().to_owned(),
            })
        };
        let measured = self.outputs.iter().filter(|output| output.formula.is_none());
        let of = |output: &OutputView| Arrivals {
            output: Quantity { name: output.title(), is_log: self.is_log(&output.name) },
            best: output.wish.direction,
            arrivals: self.evaluations.iter().filter_map(|e| arrival(e, &output.name)).collect(),
        };
        let all: Vec<Arrivals> = measured.map(of).filter(|one| !one.arrivals.is_empty()).collect();
        values_figure(&all)
    }

    /// What each measurement has cost, and when it was made; nothing if nothing was paid for.
    pub fn spending_pictures(&self) -> Vec<Picture> {
        spending_figure(&self.measurement_names(), &self.payments())
    }

    /// How much had been found, and what continuing promised; nothing without values.
    pub fn progress_pictures(&self) -> Vec<Picture> {
        progress_figure(&self.stages, &self.moments)
    }

    /// Each value against its prediction from all the others; nothing without values.
    pub fn predictions_pictures(&self) -> Vec<Picture> {
        let marks = Marks::new(self);
        let models = self.next.models.iter().filter(|model| model.check.designs > 0);
        let predicted = models.map(|model| {
            let value = |v: &unyoke::LeftOutValue| PredictedValue {
                mark: v
                    .evaluations
                    .last()
                    .map_or_else(Mark::default, |last| marks.of_evaluation(*last, &v.design)),
                // As it counts: what is far from all others would leave no room for them.
                measured: v.counts_as.unwrap_or(v.measured),
                low: v.low,
                mean: v.mean,
                high: v.high,
            };
            let is_log = model.check.scale == Scale::Log;
            Predicted {
                output: Quantity { name: model.check.output.clone(), is_log },
                values: model.check.left_out.iter().map(value).collect(),
            }
        });
        predictions_figure(&predicted.collect::<Vec<_>>())
    }

    pub(super) fn measurement_names(&self) -> Vec<String> {
        self.measurements.iter().map(|measurement| measurement.name.clone()).collect()
    }

    /// The evaluations that were paid for, in order.
    pub(super) fn payments(&self) -> Vec<Payment> {
        let (names, marks) = (self.measurement_names(), Marks::new(self));
        let mut spent = 0.0;
        let paid = self.evaluations.iter().filter(|e| e.is_paid() || e.spent > 0.0);
        paid.filter_map(|e| {
            let name = e.measurement.as_ref()?;
            let measurement = names.iter().position(|known| known == name)?;
            spent += e.spent;
            let failed = e.status != EvaluationStatus::Retracted && e.values.is_empty();
            let mark = marks.of_evaluation(e.evaluation, &e.design);
            Some(Payment { mark, measurement, spent, cost: e.spent, failed })
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
    let coordinate =
        Coordinate { name: output.title(), ends: [short(low), short(high)], is_output: true };
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
    Coordinate { name: parameter.name().to_owned(), ends, is_output: false }
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
