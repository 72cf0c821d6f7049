//! Figures of one study, each from plain data: its front, what was evaluated for what price, whether it
//! is worth continuing, whether its models can be trusted, and the designs of the front side by side.

use serde::{Deserialize, Serialize};
use unyoke_draw::{
    Anchor, Axis, Border, Brush, Canvas, Entry, Form, Frame, Ink, Inside, Kind, Legend, Marker,
    Panel, Picture, Place, Scale, Sheet, Stroke, TextStyle, Tick, ellipse, open_path, stairs,
};

/// The inks of outputs and measurements, in order.
const INKS: [Ink; 6] = [Ink::Blue, Ink::Vermillion, Ink::Green, Ink::Purple, Ink::Orange, Ink::Sky];

/// More pairs of objectives than this are left out.
const MOST_PANELS: usize = 6;

/// What is known of the trade-offs, in the units of the objectives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TradeOffs {
    /// Names of the objectives, with their directions.
    pub objectives: Vec<String>,
    /// The predicted front: for each design the mean and standard deviation of each objective.
    pub predicted: Vec<Vec<[f64; 2]>>,
    /// Designs at which all objectives were measured.
    pub measured: Vec<Vec<f64>>,
}

/// Draws a panel for each pair of objectives: ellipses of one standard deviation, and measurements.
pub fn trade_offs_figure(data: &TradeOffs) -> Picture {
    let count = data.objectives.len();
    let pairs: Vec<[usize; 2]> =
        (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j])).take(MOST_PANELS).collect();
    let plan = |[i, j]: &[usize; 2]| Panel {
        title: String::new(),
        note: String::new(),
        x: Axis::new(&data.objectives[*i], range(data, *i), 5),
        y: Axis::new(&data.objectives[*j], range(data, *j), 5),
        border: Border::Axes,
        aside: 0.0,
    };
    let plans: Vec<Panel> = pairs.iter().map(plan).collect();
    let (width, columns) = if pairs.len() > 1 { (270.0, 2) } else { (460.0, 1) };
    let form = Form { heading: String::new(), width, height: 0.7 * width, columns };
    let measured = (Marker::Diamond, 3.6, Marker::brush(Ink::Vermillion, Inside::Filled));
    let predicted = (Marker::Circle, 2.6, Brush::fill(Ink::Blue));
    let mut entries =
        vec![Entry::marker("predicted, with one standard deviation around it", predicted)];
    if !data.measured.is_empty() {
        entries.push(Entry::marker("measured on all objectives", measured));
    }
    let legend = Legend { entries };
    let mut sheet = Sheet::new(&form, &plans, &legend);
    for (index, [i, j]) in pairs.iter().enumerate() {
        sheet.fill(index, |canvas, frame| draw_trade_offs(canvas, frame, data, [*i, *j]));
    }
    Picture::new(sheet.canvas, "The predicted front and what was measured")
}

/// From the lowest to the highest value of an objective, uncertainty included.
fn range(data: &TradeOffs, objective: usize) -> Scale {
    let predicted = data.predicted.iter().filter_map(|point| point.get(objective));
    let predicted = predicted.flat_map(|[mean, sd]| [mean - sd, mean + sd]);
    let measured = data.measured.iter().filter_map(|point| point.get(objective)).copied();
    Scale::around(Kind::Linear, predicted.chain(measured))
}

fn draw_trade_offs(canvas: &mut Canvas, frame: &Frame, data: &TradeOffs, [i, j]: [usize; 2]) {
    for point in &data.measured {
        let brush = Marker::brush(Ink::Vermillion, Inside::Filled);
        Marker::Diamond.draw(canvas, frame.place([point[i], point[j]]), 3.2, &brush);
    }
    for point in &data.predicted {
        let ([x, x_sd], [y, y_sd]) = (point[i], point[j]);
        let (at, corner) = (frame.place([x, y]), frame.place([x + x_sd, y + y_sd]));
        let radii = [(corner.x - at.x).abs().max(0.7), (corner.y - at.y).abs().max(0.7)];
        // An ellipse without a width, as of a formula, is a bar that must be seen.
        let opacity = if radii[0].min(radii[1]) < 1.0 { 0.5 } else { 0.16 };
        canvas.path(&ellipse(at, radii), &Brush::fill(Ink::Blue).with_opacity(opacity));
    }
    let places: Vec<_> =
        data.predicted.iter().map(|point| frame.place([point[i][0], point[j][0]])).collect();
    canvas.dots(&places, 2.6, Ink::Blue);
}

/// One evaluation that was paid for.
#[derive(Debug, Clone, PartialEq)]
pub struct Payment {
    /// Which measurement, by its place.
    pub measurement: usize,
    /// Cost of everything up to here, itself included.
    pub spent: f64,
    /// What it cost.
    pub cost: f64,
    /// The outputs that it should give, by their places, with their values; `None` if it gave none. No
    /// outputs if it was retracted.
    pub values: Vec<(usize, Option<f64>)>,
}

impl Payment {
    /// Whether it gave nothing.
    pub fn is_failed(&self) -> bool {
        !self.values.is_empty() && self.values.iter().all(|(_, value)| value.is_none())
    }
}

/// A value of an output, or none, at the total cost reached with it.
struct Arrival {
    spent: f64,
    value: Option<f64>,
}

/// What came of an output.
fn arrivals(payments: &[Payment], output: usize) -> impl Iterator<Item = Arrival> {
    payments.iter().flat_map(move |payment| {
        let own = payment.values.iter().filter(move |(k, _)| *k == output);
        own.map(|(_, value)| Arrival { spent: payment.spent, value: *value })
    })
}

/// Draws a panel for each output with the values in the order in which they came; a failure is
/// an open marker at the lower edge.
pub fn values_figure(outputs: &[String], payments: &[Payment]) -> Picture {
    let shown = &outputs[..outputs.len().min(MOST_PANELS)];
    let most = payments.iter().map(|payment| payment.spent).fold(0.0, f64::max);
    let plan = |(k, name): (usize, &String)| {
        let values = arrivals(payments, k).filter_map(|arrival| arrival.value);
        Panel {
            title: String::new(),
            note: String::new(),
            x: Axis::new("Total cost", Scale::new(Kind::Linear, 0.0, most).padded(0.02), 5),
            y: Axis::new(name, Scale::around(Kind::Linear, values), 5),
            border: Border::Axes,
            aside: 0.0,
        }
    };
    let plans: Vec<Panel> = shown.iter().enumerate().map(plan).collect();
    let columns = plans.len().clamp(1, 2);
    let form = Form { heading: String::new(), width: 270.0, height: 160.0, columns };
    let is_missing = |payment: &Payment| payment.values.iter().any(|(_, value)| value.is_none());
    let entries = failed_entry(payments.iter().any(is_missing));
    let mut sheet = Sheet::new(&form, &plans, &Legend { entries });
    for k in 0..plans.len() {
        sheet.overlay(k, |canvas, frame| draw_values(canvas, frame, k, payments));
    }
    Picture::new(sheet.canvas, "Values of each output as they came")
}

fn of(payments: &[Payment], measurement: usize) -> impl Iterator<Item = &Payment> {
    payments.iter().filter(move |payment| payment.measurement == measurement)
}

/// What an open marker means, if there is one.
fn failed_entry(any: bool) -> Vec<Entry> {
    let failed = (Marker::Circle, 3.2, Marker::brush(Ink::Muted, Inside::Open));
    if any { vec![Entry::marker("failed", failed)] } else { vec![] }
}

fn draw_values(canvas: &mut Canvas, frame: &Frame, output: usize, payments: &[Payment]) {
    for Arrival { spent, value } in arrivals(payments, output) {
        let x = frame.place([spent, 0.0]).x;
        let (y, inside) = match value {
            Some(value) => (frame.place([spent, value]).y, Inside::Filled),
            None => (frame.rect.bottom(), Inside::Open),
        };
        Marker::Circle.draw(canvas, Place::new(x, y), 2.6, &Marker::brush(ink(output), inside));
    }
}

/// Draws the evaluations of each measurement in a row, and what each has cost so far.
pub fn spending_figure(measurements: &[String], payments: &[Payment]) -> Picture {
    let most = payments.iter().map(|payment| payment.spent).fold(0.0, f64::max);
    let x = || Axis::new("Total cost", Scale::new(Kind::Linear, 0.0, most).padded(0.02), 5);
    let panel = |title: &str, y, border| Panel {
        title: title.into(),
        note: String::new(),
        x: x(),
        y,
        border,
        aside: 0.0,
    };
    let highest = (0..measurements.len()).map(|m| total(payments, m)).fold(0.0, f64::max);
    let spent = Axis::new("Spent on it", Scale::new(Kind::Linear, 0.0, highest).padded(0.03), 5);
    let panels = [
        panel("Evaluations", rows(measurements), Border::Rows),
        panel("Spending", spent, Border::Axes),
    ];
    let form = Form { heading: String::new(), width: 270.0, height: 190.0, columns: 2 };
    let mut entries: Vec<_> = measurements
        .iter()
        .enumerate()
        .map(|(m, name)| Entry::line(name, Stroke::solid(ink(m), 1.8)))
        .collect();
    entries.extend(failed_entry(payments.iter().any(Payment::is_failed)));
    let mut sheet = Sheet::new(&form, &panels, &Legend { entries });
    sheet.overlay(0, |canvas, frame| draw_payments(canvas, frame, payments));
    sheet.fill(1, |canvas, frame| draw_totals(canvas, frame, measurements.len(), payments));
    Picture::new(sheet.canvas, "Evaluations of each measurement and their cost")
}

fn ink(place: usize) -> Ink {
    INKS[place % INKS.len()]
}

fn total(payments: &[Payment], measurement: usize) -> f64 {
    of(payments, measurement).map(|payment| payment.cost).sum()
}

/// An axis with names from top to bottom.
fn rows(names: &[String]) -> Axis {
    let tick = |(i, name): (usize, &String)| Tick { at: -(i as f64), label: name.clone() };
    Axis {
        label: String::new(),
        scale: Scale::new(Kind::Linear, 0.4 - names.len().max(1) as f64, 0.6),
        ticks: names.iter().enumerate().map(tick).collect(),
        small: vec![],
    }
}

fn draw_payments(canvas: &mut Canvas, frame: &Frame, payments: &[Payment]) {
    for payment in payments {
        let at = frame.place([payment.spent, -(payment.measurement as f64)]);
        let inside = if payment.is_failed() { Inside::Open } else { Inside::Filled };
        Marker::Circle.draw(canvas, at, 2.6, &Marker::brush(ink(payment.measurement), inside));
    }
}

fn draw_totals(canvas: &mut Canvas, frame: &Frame, measurements: usize, payments: &[Payment]) {
    let most = payments.iter().map(|payment| payment.spent).fold(0.0, f64::max);
    for m in 0..measurements {
        let (mut x, mut y) = (vec![0.0], vec![0.0]);
        for payment in of(payments, m) {
            x.push(payment.spent);
            y.push(y.last().copied().unwrap_or(0.0) + payment.cost);
        }
        x.push(most);
        y.push(y.last().copied().unwrap_or(0.0));
        let places = frame.places(&stairs(&x, &y));
        canvas.path(&open_path(&places), &Brush::line(Stroke::solid(ink(m), 1.8)));
    }
}

/// What a study knew at some total cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The total cost.
    pub spent: f64,
    /// Expected gain of the next evaluation per unit of its cost; `None` if models were not asked.
    pub gain_per_cost: Option<f64>,
    /// The share of the box around the fronts of all moments that the front of this one dominates.
    pub hypervolume: f64,
}

/// Draws what the next evaluation promised and how the predicted front grew, against the total cost.
pub fn worth_figure(moments: &[Moment]) -> Picture {
    let gains: Vec<[f64; 2]> = moments
        .iter()
        .filter_map(|moment| Some([moment.spent, moment.gain_per_cost?]))
        .filter(|[_, gain]| *gain > 0.0)
        .collect();
    let volumes: Vec<[f64; 2]> =
        moments.iter().map(|moment| [moment.spent, moment.hypervolume]).collect();
    let costs = || moments.iter().map(|moment| moment.spent);
    let panel = |title: &str, label: &str, kind, values: &[[f64; 2]]| Panel {
        title: title.into(),
        note: String::new(),
        x: Axis::new("Total cost", Scale::around(Kind::Linear, costs()), 5),
        y: Axis::new(label, Scale::around(kind, values.iter().map(|value| value[1])), 5),
        border: Border::Axes,
        aside: 0.0,
    };
    let panels = [
        panel("Promise", "Expected gain per cost", Kind::Log, &gains),
        panel("Progress", "Hypervolume", Kind::Linear, &volumes),
    ];
    let form = Form { heading: String::new(), width: 270.0, height: 180.0, columns: 2 };
    let mut sheet = Sheet::new(&form, &panels, &Legend::default());
    for (index, series) in [gains, volumes].into_iter().enumerate() {
        sheet.fill(index, |canvas, frame| {
            let places = frame.places(&series);
            canvas.path(&open_path(&places), &Brush::line(Stroke::solid(Ink::Blue, 1.6)));
            canvas.dots(&places, 2.6, Ink::Blue);
        });
    }
    Picture::new(
        sheet.canvas,
        "What the next evaluation promised, and how the predicted front grew",
    )
}

/// Values of an output with their predictions from all the others.
#[derive(Debug, Clone, PartialEq)]
pub struct Predicted {
    /// Name of the output.
    pub output: String,
    /// Whether ratios count, not differences.
    pub is_log: bool,
    /// What was measured, and the prediction: one standard deviation below, expected, above.
    pub values: Vec<[f64; 4]>,
}

/// Draws a panel for each output: predictions with their standard deviations against measured values.
pub fn predictions_figure(outputs: &[Predicted]) -> Picture {
    let shown = &outputs[..outputs.len().min(MOST_PANELS)];
    let plan = |predicted: &Predicted| {
        let kind = if predicted.is_log { Kind::Log } else { Kind::Linear };
        // Both axes are the same, so that the diagonal is where predictions are right. A bar may leave
        // the panel: the values are what is to be seen.
        let values = predicted.values.iter().flat_map(|[measured, _, mean, _]| [*measured, *mean]);
        let scale = Scale::around(kind, values).padded(0.03);
        Panel {
            title: predicted.output.clone(),
            note: String::new(),
            x: Axis::new("Measured", scale, 5),
            y: Axis::new("Predicted from the others", scale, 5),
            border: Border::Axes,
            aside: 0.0,
        }
    };
    let plans: Vec<Panel> = shown.iter().map(plan).collect();
    let columns = plans.len().clamp(1, 2);
    let form = Form { heading: String::new(), width: 250.0, height: 250.0, columns };
    let mut sheet = Sheet::new(&form, &plans, &Legend::default());
    for (index, predicted) in shown.iter().enumerate() {
        sheet.fill(index, |canvas, frame| draw_predictions(canvas, frame, index, predicted));
    }
    Picture::new(sheet.canvas, "Each value against its prediction from all the others")
}

fn draw_predictions(canvas: &mut Canvas, frame: &Frame, place: usize, predicted: &Predicted) {
    let (low, high) = (frame.rect.left, frame.rect.right());
    let (bottom, top) = (frame.rect.bottom(), frame.rect.top);
    let diagonal = [Place::new(low, bottom), Place::new(high, top)];
    canvas.line(diagonal[0], diagonal[1], Stroke::solid(Ink::Muted, 1.0));
    let within = |y: f64| y.clamp(top - 2.0, bottom + 2.0);
    for [measured, low, _, high] in &predicted.values {
        let ends = [frame.place([*measured, *low]), frame.place([*measured, *high])];
        let ends = ends.map(|end| Place::new(end.x, within(end.y)));
        let brush = Brush::line(Stroke::solid(ink(place), 1.0)).with_opacity(0.5);
        canvas.path(&open_path(&ends), &brush);
    }
    let places: Vec<_> = predicted.values.iter().map(|v| frame.place([v[0], v[2]])).collect();
    canvas.dots(&places, 2.6, ink(place));
}

/// One upright axis of parallel coordinates.
#[derive(Debug, Clone, PartialEq)]
pub struct Coordinate {
    /// What it shows.
    pub name: String,
    /// What its lower and upper ends are, in words.
    pub ends: [String; 2],
}

/// Draws each design of `lines` across all axes; its values count from 0, below, to 1, above.
pub fn parallel_figure(axes: &[Coordinate], lines: &[Vec<f64>]) -> Picture {
    let last = axes.len().saturating_sub(1).max(1) as f64;
    let ticks = axes.iter().enumerate().map(|(i, axis)| Tick {
        at: i as f64,
        label: format!("{} … {}", axis.ends[0], axis.ends[1]),
    });
    let bare = |scale, ticks| Axis { label: String::new(), scale, ticks, small: vec![] };
    let panel = Panel {
        title: " ".into(),
        note: String::new(),
        x: bare(Scale::new(Kind::Linear, -0.4, last + 0.4), ticks.collect()),
        y: bare(Scale::new(Kind::Linear, -0.04, 1.04), vec![]),
        border: Border::Rows,
        aside: 0.0,
    };
    let width = (104.0 * axes.len() as f64).clamp(300.0, 900.0);
    let form = Form { heading: String::new(), width, height: 210.0, columns: 1 };
    let mut sheet = Sheet::new(&form, &[panel], &Legend::default());
    sheet.overlay(0, |canvas, frame| {
        for (k, line) in lines.iter().enumerate() {
            let points = line.iter().enumerate().map(|(i, value)| frame.place([i as f64, *value]));
            let share = k as f64 / lines.len().saturating_sub(1).max(1) as f64;
            let stroke = Stroke::solid(Ink::ramp(0.3 + 0.6 * share), 1.3);
            canvas.path(&open_path(&points.collect::<Vec<_>>()), &Brush::line(stroke));
        }
        draw_names(canvas, frame, axes);
    });
    Picture::new(sheet.canvas, "The designs of the front, with their parameters and outputs")
}

fn draw_names(canvas: &mut Canvas, frame: &Frame, axes: &[Coordinate]) {
    for (i, axis) in axes.iter().enumerate() {
        let (low, high) = (frame.place([i as f64, 0.0]), frame.place([i as f64, 1.0]));
        canvas.line(low, high, Stroke::solid(Ink::Axis, 1.0));
        let style = TextStyle::new(11.5, Anchor::Middle).semi_bold();
        canvas.text(Place::new(high.x, frame.rect.top - 8.0), &axis.name, &style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_values_are_drawn() {
        let names = ["f".to_owned(), "g".to_owned(), "h".to_owned()];
        let nan = f64::NAN;
        let data = TradeOffs {
            objectives: names.to_vec(),
            predicted: vec![vec![[1.0, 0.0], [nan, 1.0], [1e300, 1e299]]; 2],
            measured: vec![vec![1.0, 2.0, f64::INFINITY]],
        };
        let payment = |value| {
            let values = vec![(1, value), (2, Some(0.5))];
            Payment { measurement: 1, spent: 3.0, cost: 3.0, values }
        };
        let moment = |gain_per_cost| Moment { spent: 3.0, gain_per_cost, hypervolume: 0.5 };
        let axis = Coordinate { name: "x".into(), ends: ["0".into(), "1".into()] };
        for picture in [
            trade_offs_figure(&data),
            trade_offs_figure(&TradeOffs::default()),
            spending_figure(&names, &[payment(Some(1.0)), payment(None)]),
            spending_figure(&[], &[]),
            values_figure(&names, &[payment(Some(1.0)), payment(Some(1e300)), payment(None)]),
            values_figure(&[], &[]),
            worth_figure(&[Some(0.0), None, Some(1e-300), Some(1.0)].map(moment)),
            worth_figure(&[]),
            predictions_figure(&[true, false].map(|is_log| Predicted {
                output: "f".into(),
                is_log,
                values: vec![[1.0, 0.5, 1.2, 1.9], [-1e300, nan, nan, 1e300], [0.0, 0.0, 1.0, 2.0]],
            })),
            predictions_figure(&[]),
            parallel_figure(&[axis.clone(), axis], &[vec![0.0, 1.0], vec![0.5, nan]]),
            parallel_figure(&[], &[]),
        ] {
            assert!(!picture.svg().contains("NaN"), "{}", picture.svg());
            picture.png(1.0).unwrap();
        }
    }
}
