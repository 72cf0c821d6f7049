//! The front against what was measured, for each pair of objectives.

use unyoke_draw::{
    Axis, Brush, Canvas, Entry, Form, Frame, Ink, Inside, Legend, Mark, Marker, Panel, Picture,
    Scale, Sheet, Stroke, open_path,
};

use super::{WIDTH, kind, panel, sheet};

/// More pairs of objectives than this are left out.
const MOST_PAIRS: usize = 10;

/// An output on an axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Quantity {
    /// What is written beside the axis.
    pub name: String,
    /// Whether ratios count, not differences.
    pub is_log: bool,
}

/// What is known of the trade-offs, in the units of the objectives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TradeOffs {
    /// The objectives.
    pub objectives: Vec<Quantity>,
    /// The designs of the front.
    pub front: Vec<FrontMark>,
    /// Other designs at which all objectives were measured.
    pub measured: Vec<MeasuredMark>,
}

/// A design of the front.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontMark {
    /// What it stands for.
    pub mark: Mark,
    /// What is expected of each objective.
    pub values: Vec<Spread>,
    /// Whether all outputs were measured there.
    pub is_confirmed: bool,
}

/// An expected value with one standard deviation to each side.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// One standard deviation below.
    pub low: f64,
    /// Expected.
    pub mean: f64,
    /// One standard deviation above.
    pub high: f64,
    /// Whether it is known from a measurement, or by a formula: then it has no bar.
    pub is_measured: bool,
}

/// A design at which all objectives were measured.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredMark {
    /// What it stands for.
    pub mark: Mark,
    /// The values of the objectives.
    pub values: Vec<f64>,
    /// Whether it is on the measured front.
    pub is_best: bool,
}

/// A picture for each pair of objectives; none with one objective.
pub fn trade_offs_figure(data: &TradeOffs) -> Vec<Picture> {
    let count = data.objectives.len();
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j]));
    pairs.take(MOST_PAIRS).map(|pair| trade_off(data, pair)).collect()
}

fn trade_off(data: &TradeOffs, [i, j]: [usize; 2]) -> Picture {
    let axis = |k: usize| Axis::new(&data.objectives[k].name, range(data, k), 5);
    let mut sheet = sheet(panel("", axis(i), axis(j)), [WIDTH, 0.75 * WIDTH], &legend(data));
    sheet.fill(0, |canvas, frame| draw(canvas, frame, data, [i, j]));
    let [a, b] = [i, j].map(|k| data.objectives[k].name.as_str());
    Picture::new(sheet.canvas, &format!("The front and what was measured: {a} against {b}"))
}

/// The same with what was measured alone, on the same axes: those of the measured front are filled.
pub fn measured_figure(data: &TradeOffs) -> Vec<Picture> {
    let count = data.objectives.len();
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j]));
    let picture = |[i, j]: [usize; 2]| {
        let axis = |k: usize| Axis::new(&data.objectives[k].name, range(data, k), 5);
        let legend = Legend {
            entries: vec![
                Entry::marker("measured front", (Marker::Diamond, 3.2, confirmed())),
                Entry::marker("measured", (Marker::Diamond, 2.4, measured())),
            ],
        };
        let mut sheet = sheet(panel("", axis(i), axis(j)), [WIDTH, 0.75 * WIDTH], &legend);
        sheet.fill(0, |canvas, frame| {
            for wanted in [false, true] {
                for one in data.measured.iter().filter(|one| one.is_best == wanted) {
                    let at = frame.place([one.values[i], one.values[j]]);
                    let (radius, brush) =
                        if wanted { (3.2, confirmed()) } else { (2.2, measured()) };
                    canvas.marked(&one.mark, Some(at), |c| {
                        Marker::Diamond.draw(c, at, radius, &brush);
                    });
                }
            }
        });
        let [a, b] = [i, j].map(|k| data.objectives[k].name.as_str());
        Picture::new(sheet.canvas, &format!("What was measured: {a} against {b}"))
    };
    let pairs = pairs.take(MOST_PAIRS).filter(|_| !data.measured.is_empty());
    pairs.map(picture).collect()
}

/// All pairs of objectives in one picture; nothing with one objective.
pub fn trade_offs_sheet(data: &TradeOffs) -> Option<Picture> {
    let count = data.objectives.len();
    let pairs = (0..count).flat_map(|i| (i + 1..count).map(move |j| [i, j]));
    let pairs: Vec<[usize; 2]> = pairs.take(MOST_PAIRS).collect();
    let axis = |k: usize| Axis::new(&data.objectives[k].name, range(data, k), 5);
    let panels: Vec<Panel> = pairs.iter().map(|[i, j]| panel("", axis(*i), axis(*j))).collect();
    let (width, columns) = if pairs.len() > 1 { (WIDTH, 2) } else { (460.0, 1) };
    let form = Form { heading: String::new(), width, height: 0.7 * width, columns };
    let mut sheet = Sheet::new(&form, &panels, &legend(data));
    for (index, pair) in pairs.iter().enumerate() {
        sheet.fill(index, |canvas, frame| draw(canvas, frame, data, *pair));
    }
    let words = "The front and what was measured";
    (!pairs.is_empty()).then(|| Picture::new(sheet.canvas, words))
}

fn predicted() -> Brush {
    Brush::fill(Ink::Blue)
}

fn confirmed() -> Brush {
    Marker::brush(Ink::Green, Inside::Filled)
}

fn measured() -> Brush {
    Marker::brush(Ink::Vermillion, Inside::Open)
}

fn legend(data: &TradeOffs) -> Legend {
    let mut entries = vec![];
    if data.front.iter().any(|one| !one.is_confirmed) {
        entries.push(Entry::marker("predicted", (Marker::Circle, 2.8, predicted())));
    }
    if data.front.iter().any(|one| one.is_confirmed) {
        entries.push(Entry::marker("confirmed", (Marker::Diamond, 3.2, confirmed())));
    }
    if !data.measured.is_empty() {
        entries.push(Entry::marker("measured", (Marker::Diamond, 2.4, measured())));
    }
    Legend { entries }
}

/// From the lowest to the highest value of an objective, uncertainty included.
fn range(data: &TradeOffs, objective: usize) -> Scale {
    let front = data.front.iter().filter_map(|one| one.values.get(objective));
    let front = front.flat_map(|spread| match spread.is_measured {
        true => [spread.mean; 3],
        false => [spread.low, spread.mean, spread.high],
    });
    let measured = data.measured.iter().filter_map(|one| one.values.get(objective)).copied();
    Scale::around(kind(data.objectives[objective].is_log), front.chain(measured))
}

fn draw(canvas: &mut Canvas, frame: &Frame, data: &TradeOffs, [i, j]: [usize; 2]) {
    for MeasuredMark { mark, values, .. } in &data.measured {
        let at = frame.place([values[i], values[j]]);
        canvas.marked(mark, Some(at), |c| Marker::Diamond.draw(c, at, 2.2, &measured()));
    }
    // What is known best is drawn last.
    for wanted in [false, true] {
        for one in data.front.iter().filter(|one| one.is_confirmed == wanted) {
            let (x, y) = (one.values[i], one.values[j]);
            let at = frame.place([x.mean, y.mean]);
            canvas.marked(&one.mark, Some(at), |canvas| {
                if !x.is_measured {
                    bar(canvas, frame, [[x.low, y.mean], [x.high, y.mean]]);
                }
                if !y.is_measured {
                    bar(canvas, frame, [[x.mean, y.low], [x.mean, y.high]]);
                }
                match one.is_confirmed {
                    true => Marker::Diamond.draw(canvas, at, 3.2, &confirmed()),
                    false => Marker::Circle.draw(canvas, at, 2.8, &predicted()),
                }
            });
        }
    }
}

fn bar(canvas: &mut Canvas, frame: &Frame, ends: [[f64; 2]; 2]) {
    let brush = Brush::line(Stroke::solid(Ink::Blue, 1.2)).with_opacity(0.45);
    canvas.path(&open_path(&frame.places(&ends)), &brush);
}
