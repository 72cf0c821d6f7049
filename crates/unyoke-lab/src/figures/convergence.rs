//! How the predicted front approaches the true one: the same objective space after more and more
//! evaluations.

use super::front::{Dots, draw_dots, draw_front};
use unyoke_draw::{
    Axis, Border, Brush, Canvas, Entry, Form, Frame, Ink, Inside, Kind, Legend, Marker, Panel,
    Picture, Scale, Sheet, Stroke, ellipse, thinned,
};

/// A design as the model predicts it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// Posterior means of both objectives.
    pub mean: [f64; 2],
    /// Posterior standard deviations; zero where they are not to be shown.
    pub deviation: [f64; 2],
}

/// What is known after some evaluations.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ConvergencePanel {
    /// How many evaluations that is, in words.
    pub title: String,
    /// The front that the model predicts.
    pub predicted: Vec<Predicted>,
    /// True objectives of the designs on the predicted front.
    pub achieved: Vec<[f64; 2]>,
    /// Observations of designs where both objectives were measured.
    pub observed: Vec<[f64; 2]>,
}

/// A run at several moments.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Convergence {
    /// Names of the objectives.
    pub objectives: [String; 2],
    /// The true front.
    pub front: Vec<[f64; 2]>,
    /// The moments, from left to right.
    pub panels: Vec<ConvergencePanel>,
}

/// Draws all moments on the same axes.
pub fn convergence_figure(convergence: &Convergence) -> Picture {
    let axes: [Scale; 2] = [scale(convergence, 0), scale(convergence, 1)];
    let columns = convergence.panels.len().clamp(1, 4);
    let side = if columns > 2 { 205.0 } else { 260.0 };
    let form = Form { heading: String::new(), width: side, height: side, columns };
    let plan = |(i, panel): (usize, &ConvergencePanel)| {
        let y = Axis::new(&convergence.objectives[1], axes[1], 5);
        Panel {
            title: panel.title.clone(),
            note: String::new(),
            x: Axis::new(&convergence.objectives[0], axes[0], 4),
            y: if i % columns == 0 { y } else { y.without_words() },
            border: Border::Axes,
            aside: 0.0,
        }
    };
    let plans: Vec<Panel> = convergence.panels.iter().enumerate().map(plan).collect();
    let mut sheet = Sheet::new(&form, &plans, &Legend { entries: entries(convergence) });
    for (i, panel) in convergence.panels.iter().enumerate() {
        sheet.fill(i, |canvas, frame| draw_panel(canvas, frame, &convergence.front, panel));
    }
    let titles: Vec<&str> = convergence.panels.iter().map(|p| p.title.as_str()).collect();
    let text = format!("True and predicted Pareto fronts: {}", titles.join("; "));
    Picture::new(sheet.canvas, &text)
}

/// One scale for all panels. Uncertainty may reach beyond it.
fn scale(convergence: &Convergence, objective: usize) -> Scale {
    let shown = convergence.panels.iter().flat_map(|panel| {
        let means = panel.predicted.iter().map(|p| p.mean);
        means.chain(panel.achieved.iter().copied()).chain(panel.observed.iter().copied())
    });
    let all = convergence.front.iter().copied().chain(shown);
    Scale::around(Kind::Linear, all.map(|point| point[objective])).padded(0.02)
}

const TRUE_FRONT: Stroke = Stroke { ink: Ink::Text, width: 1.8, dash: "" };
const PREDICTED: Stroke = Stroke { ink: Ink::Blue, width: 1.7, dash: "4.5 2.5" };
const ACHIEVED: Dots = Dots { ink: Ink::Orange, radius: 1.5 };
const OBSERVED: f64 = 2.6;

fn observed_brush() -> Brush {
    Brush { stroke: Some(Stroke::solid(Ink::Text, 1.0)), ..Marker::brush(Ink::Text, Inside::Open) }
}

fn entries(convergence: &Convergence) -> Vec<Entry> {
    let uncertain = convergence.panels.iter().flat_map(|panel| &panel.predicted).any(is_uncertain);
    let predicted = if uncertain { "Predicted front ± 1 sd" } else { "Predicted front" };
    let achieved = (Marker::Circle, 2.6, Brush::fill(ACHIEVED.ink));
    vec![
        Entry::line("True front", TRUE_FRONT),
        Entry {
            band: if uncertain { Some(PREDICTED.ink) } else { None },
            ..Entry::line(predicted, PREDICTED)
        },
        Entry::marker("True values of the predicted set", achieved),
        Entry::marker("Both objectives observed", (Marker::Square, OBSERVED, observed_brush())),
    ]
}

fn is_uncertain(point: &Predicted) -> bool {
    point.deviation.iter().all(|d| d.is_finite()) && point.deviation.iter().any(|d| *d > 0.0)
}

fn draw_panel(canvas: &mut Canvas, frame: &Frame, front: &[[f64; 2]], panel: &ConvergencePanel) {
    canvas.faded(0.16, |canvas| draw_uncertainty(canvas, frame, &panel.predicted));
    draw_dots(canvas, frame, &panel.achieved, ACHIEVED);
    draw_front(canvas, frame, front, TRUE_FRONT);
    let means: Vec<[f64; 2]> = panel.predicted.iter().map(|point| point.mean).collect();
    draw_front(canvas, frame, &means, PREDICTED);
    for place in thinned(frame.places(&panel.observed), 0.5) {
        Marker::Square.draw(canvas, place, OBSERVED, &observed_brush());
    }
}

/// An ellipse of one standard deviation around each mean; together they look like a band.
fn draw_uncertainty(canvas: &mut Canvas, frame: &Frame, predicted: &[Predicted]) {
    let every = predicted.len().div_ceil(250).max(1);
    let shown = predicted.iter().step_by(every).filter(|point| is_uncertain(point));
    let around = |point: &Predicted| {
        let at = frame.place(point.mean);
        let edge = frame.place([0, 1].map(|k| point.mean[k] + point.deviation[k]));
        let radii = [(edge.x - at.x).abs(), (edge.y - at.y).abs()];
        let finite = radii.iter().all(|radius| radius.is_finite());
        if finite { ellipse(at, radii) } else { String::new() }
    };
    canvas.path(&shown.map(around).collect::<String>(), &Brush::fill(PREDICTED.ink));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unlikely_data_is_drawn() {
        let nan = f64::NAN;
        let odd = Predicted { mean: [nan, 1.0], deviation: [1.0, nan] };
        let wide = Predicted { mean: [0.0, 1.0], deviation: [f64::MAX, 0.0] };
        let panel = ConvergencePanel {
            title: "a & b".into(),
            predicted: vec![odd, wide],
            achieved: vec![[nan, nan], [1.0, 1.0]],
            observed: vec![[1.0, f64::INFINITY]],
        };
        let one = Convergence { panels: vec![panel], ..Convergence::default() };
        assert!(!convergence_figure(&one).svg().contains("NaN"));
        convergence_figure(&one).png(1.0).unwrap();
        convergence_figure(&Convergence::default()).png(1.0).unwrap();
    }

    #[test]
    fn the_legend_mentions_uncertainty_only_if_there_is_some() {
        let certain = Predicted { mean: [0.0, 1.0], deviation: [0.0, 0.0] };
        let figure = |predicted| {
            let panel = ConvergencePanel { predicted, ..ConvergencePanel::default() };
            convergence_figure(&Convergence { panels: vec![panel], ..Convergence::default() }).svg()
        };
        assert!(!figure(vec![certain]).contains("±"));
        assert!(figure(vec![Predicted { deviation: [0.1, 0.1], ..certain }]).contains("± 1 sd"));
    }
}
