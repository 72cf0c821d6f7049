//! Means with standard errors against cost, for each algorithm: the figures of Bayesian regret,
//! hypervolume regret and random scalarisations, and any others of that form.

use super::look::{Look, Looks};
use unyoke_draw::{
    Axis, Band, Border, Brush, Canvas, Entry, Form, Frame, Kind, Legend, Marker, Panel, Picture,
    Scale, Sheet, band, closed_path, open_path, runs, stairs, value_at,
};

/// Radius of markers.
const MARKER: f64 = 3.6;

/// The mean over instances as a function of cost: `mean[i]` holds from `cost[i]` to `cost[i + 1]`.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Curve {
    /// Name of the algorithm, as in `c-mokg`; decides colour, marker and label.
    pub algorithm: String,
    /// Cumulative costs at which the mean may change.
    pub cost: Vec<f64>,
    /// Mean over the instances from each of these costs on.
    pub mean: Vec<f64>,
    /// Standard error of that mean.
    pub standard_error: Vec<f64>,
    /// Number of instances behind the mean.
    pub instances: usize,
}

/// Curves that share their axes.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurvePanel {
    /// Stands above the panel, without a letter.
    pub title: String,
    /// What is measured.
    pub y_label: String,
    /// One curve for each algorithm.
    pub curves: Vec<Curve>,
}

/// How values are spaced along the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum VerticalScale {
    /// Logarithmic where means are positive and differ by more than a factor of ten.
    #[default]
    Automatic,
    /// Equal differences are equally far apart.
    Linear,
    /// Equal ratios are equally far apart; what is not positive runs along the lower edge.
    Log,
}

/// Panels of curves with words of their own.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CurvesFigure {
    /// Above all panels; may be empty.
    pub heading: String,
    /// What increases to the right.
    pub x_label: String,
    /// From left to right, at most three in a row.
    pub panels: Vec<CurvePanel>,
    /// How values are spaced vertically.
    pub scale: VerticalScale,
}

/// Draws regret against cumulative cost: the mean, and two standard errors to both sides.
pub fn regret_figure(panels: &[CurvePanel], scale: VerticalScale) -> Picture {
    curves_figure(&CurvesFigure {
        heading: String::new(),
        x_label: "Cumulative cost".into(),
        panels: panels.to_vec(),
        scale,
    })
}

/// Draws curves against whatever the figure says.
pub fn curves_figure(figure: &CurvesFigure) -> Picture {
    let panels: Vec<CurvePanel> = figure.panels.iter().map(usable).collect();
    let all = || panels.iter().flat_map(|panel| &panel.curves);
    let looks = Looks::new(all().map(|curve| curve.algorithm.as_str()));
    let legend = Legend { entries: looks.iter().map(entry).collect() };
    let kind = kind(&panels, figure.scale);
    let plan = |i: usize| plan(&panels, i, &figure.x_label, kind);
    let plans: Vec<Panel> = (0..panels.len()).map(plan).collect();
    let (width, height) = if panels.len() > 1 { (290.0, 230.0) } else { (400.0, 270.0) };
    let columns = if panels.len() == 4 { 2 } else { 3 };
    let form = Form { heading: figure.heading.clone(), width, height, columns };
    let mut sheet = Sheet::new(&form, &plans, &legend);
    for (i, panel) in panels.iter().enumerate() {
        sheet.fill(i, |canvas, frame| draw_lines(canvas, frame, panel, &looks));
        sheet.overlay(i, |canvas, frame| draw_markers(canvas, frame, panel, &looks));
    }
    Picture::new(sheet.canvas, &description(figure))
}

fn description(figure: &CurvesFigure) -> String {
    let first = figure.panels.first().map_or("Curves", |panel| panel.y_label.as_str());
    let subject = if figure.heading.is_empty() { first } else { &figure.heading };
    let names: Vec<&str> = figure.panels.iter().map(|panel| panel.title.as_str()).collect();
    format!("{subject} against {}: {}", figure.x_label.to_lowercase(), names.join("; "))
}

/// The panel with costs in order and all lists equally long; a missing standard error is none.
fn usable(panel: &CurvePanel) -> CurvePanel {
    CurvePanel { curves: panel.curves.iter().map(usable_curve).collect(), ..panel.clone() }
}

fn usable_curve(curve: &Curve) -> Curve {
    let error = |i: usize| curve.standard_error.get(i).copied().filter(|e| e.is_finite());
    let count = curve.cost.len().min(curve.mean.len());
    let mut rows: Vec<(f64, f64, f64)> = (0..count)
        .filter(|&i| curve.cost[i].is_finite())
        .map(|i| (curve.cost[i], curve.mean[i], error(i).unwrap_or(0.0).abs()))
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    Curve {
        cost: rows.iter().map(|row| row.0).collect(),
        mean: rows.iter().map(|row| row.1).collect(),
        standard_error: rows.iter().map(|row| row.2).collect(),
        ..curve.clone()
    }
}

fn entry(look: &Look) -> Entry {
    Entry {
        label: look.label.clone(),
        band: Some(look.ink),
        stroke: Some(look.stroke()),
        marker: Some((look.marker, MARKER, Marker::brush(look.ink, look.inside))),
    }
}

/// The axes of panel `index`. A label that the panel to its left has too is not repeated.
fn plan(panels: &[CurvePanel], index: usize, x_label: &str, kind: Kind) -> Panel {
    let panel = &panels[index];
    let costs = panel.curves.iter().flat_map(|curve| curve.cost.iter().copied());
    let x = Scale::around(Kind::Linear, costs);
    let x = if x.low() > 0.0 && x.low() < 0.2 * x.high() { x.from(0.0) } else { x };
    let repeated = index > 0 && panels[index - 1].y_label == panel.y_label;
    let y_label = if repeated { "" } else { &panel.y_label };
    Panel {
        title: panel.title.clone(),
        note: note(panel),
        x: Axis::new(x_label, x, 5),
        y: Axis::new(y_label, vertical(panel, kind), 5),
        border: Border::Axes,
        aside: 0.0,
    }
}

/// How many instances the curves stand for.
fn note(panel: &CurvePanel) -> String {
    let counts = || panel.curves.iter().map(|curve| curve.instances);
    match (counts().min(), counts().max()) {
        (_, None | Some(0)) | (None, _) => String::new(),
        (Some(least), Some(most)) if least == most => format!("n = {most}"),
        (Some(least), Some(most)) => format!("n = {least}–{most}"),
    }
}

/// The vertical scale. On a log scale, a lower edge far below its mean does not stretch the axis:
/// the band is cut off instead.
fn vertical(panel: &CurvePanel, kind: Kind) -> Scale {
    let means = || panel.curves.iter().flat_map(|curve| curve.mean.iter().copied());
    let edges = |sign: f64| {
        panel.curves.iter().flat_map(move |curve| {
            curve.mean.iter().zip(&curve.standard_error).map(move |(m, e)| m + sign * 2.0 * e)
        })
    };
    match kind {
        Kind::Linear => {
            let scale = Scale::around(Kind::Linear, means().chain(edges(-1.0)).chain(edges(1.0)));
            let least = means().chain(edges(-1.0)).fold(f64::INFINITY, f64::min);
            let near_zero = least >= 0.0 && least < 0.3 * scale.high();
            if near_zero { scale.from(0.0) } else { scale }
        }
        Kind::Log => {
            let least = means().filter(|m| *m > 0.0).fold(f64::INFINITY, f64::min);
            let lower = edges(-1.0).filter(move |edge| *edge >= 0.4 * least);
            Scale::around(Kind::Log, means().chain(edges(1.0)).chain(lower))
        }
    }
}

/// The kind of scale for all panels, so that they can be compared at a glance.
fn kind(panels: &[CurvePanel], wanted: VerticalScale) -> Kind {
    let range = |panel: &CurvePanel| {
        let means = panel.curves.iter().flat_map(|curve| curve.mean.iter().copied());
        let means = means.filter(|mean| mean.is_finite());
        means.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), m| (a.min(m), b.max(m)))
    };
    match wanted {
        VerticalScale::Linear => Kind::Linear,
        VerticalScale::Log => Kind::Log,
        VerticalScale::Automatic => {
            let positive = panels.iter().map(range).all(|(least, _)| least > 0.0);
            let wide = panels.iter().map(range).any(|(least, most)| most > 10.0 * least);
            if positive && wide { Kind::Log } else { Kind::Linear }
        }
    }
}

/// Bands, and the lines above all of them.
fn draw_lines(canvas: &mut Canvas, frame: &Frame, panel: &CurvePanel, looks: &Looks) {
    if panel.curves.iter().all(|curve| curve.mean.iter().all(|mean| !mean.is_finite())) {
        frame.say(canvas, "No data");
    }
    for curve in &panel.curves {
        draw_band(canvas, frame, curve, &looks.of(&curve.algorithm));
    }
    for curve in &panel.curves {
        draw_line(canvas, frame, curve, &looks.of(&curve.algorithm));
    }
}

fn draw_band(canvas: &mut Canvas, frame: &Frame, curve: &Curve, look: &Look) {
    let edge = |sign: f64| -> Vec<f64> {
        curve.mean.iter().zip(&curve.standard_error).map(|(m, e)| m + sign * 2.0 * e).collect()
    };
    let (lower, upper) = (edge(-1.0), edge(1.0));
    for run in runs(curve.mean.len(), |i| lower[i].is_finite() && upper[i].is_finite()) {
        let (x, lower, upper) = (&curve.cost[run.clone()], &lower[run.clone()], &upper[run]);
        let outline = frame.places(&band(Band { x, lower, upper }));
        canvas.path(&closed_path(&outline), &Brush::fill(look.ink).with_opacity(0.16));
    }
}

fn draw_line(canvas: &mut Canvas, frame: &Frame, curve: &Curve, look: &Look) {
    for run in runs(curve.mean.len(), |i| curve.mean[i].is_finite()) {
        let corners = stairs(&curve.cost[run.clone()], &curve.mean[run]);
        if corners.len() > 1 {
            canvas.path(&open_path(&frame.places(&corners)), &Brush::line(look.stroke()));
        }
    }
}

/// Markers of all curves, shifted from one to the next so that they do not hide each other.
fn draw_markers(canvas: &mut Canvas, frame: &Frame, panel: &CurvePanel, looks: &Looks) {
    for (i, curve) in panel.curves.iter().enumerate() {
        let look = looks.of(&curve.algorithm);
        let shift = (i as f64 + 0.5) / panel.curves.len() as f64;
        for point in marked(curve, frame, shift) {
            let brush = Marker::brush(look.ink, look.inside);
            look.marker.draw(canvas, frame.place(point), MARKER, &brush);
        }
    }
}

/// Points of the curve at even distances; its last one if there would be none.
fn marked(curve: &Curve, frame: &Frame, shift: f64) -> Vec<[f64; 2]> {
    let count = 7u32;
    let at = |i: u32| frame.x.value((f64::from(i) + shift) / f64::from(count));
    let mut points: Vec<[f64; 2]> = (0..count)
        .map(at)
        .filter_map(|x| value_at(&curve.cost, &curve.mean, x).map(|y| [x, y]))
        .filter(|point| point[1].is_finite())
        .collect();
    if points.is_empty() {
        let mut all = curve.cost.iter().zip(&curve.mean).filter(|(_, mean)| mean.is_finite());
        points.extend(all.next_back().map(|(x, y)| [*x, *y]));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(cost: &[f64], mean: &[f64], error: &[f64]) -> Curve {
        Curve {
            algorithm: "makg".into(),
            cost: cost.to_vec(),
            mean: mean.to_vec(),
            standard_error: error.to_vec(),
            instances: 3,
        }
    }

    fn panel(curves: Vec<Curve>) -> CurvePanel {
        CurvePanel { title: "<t>".into(), y_label: "regret".into(), curves }
    }

    const SCALES: [VerticalScale; 3] =
        [VerticalScale::Automatic, VerticalScale::Linear, VerticalScale::Log];

    #[test]
    fn unlikely_data_is_drawn_without_numbers_that_are_none() {
        let nan = f64::NAN;
        let odd = [
            curve(&[], &[], &[]),
            curve(&[1.0], &[0.5], &[0.1]),
            curve(&[1.0, 2.0], &[nan, nan], &[0.1, 0.1]),
            curve(&[1.0, 2.0, 3.0], &[1.0, nan, 0.5], &[nan, 0.1, f64::INFINITY]),
            curve(&[1.0, 2.0], &[0.5, 0.5], &[0.0, 0.0]),
            curve(&[1.0, 2.0], &[0.0, -1.0], &[0.1]),
            curve(&[nan, 2.0, 1.0], &[1.0, 0.1, 0.3], &[]),
            curve(&[0.0, 1.0], &[f64::MAX, f64::INFINITY], &[f64::MAX, 1.0]),
        ];
        for scale in SCALES {
            for single in &odd {
                let picture = regret_figure(&[panel(vec![single.clone()])], scale);
                assert!(!picture.svg().contains("NaN") && !picture.svg().contains("inf"));
                picture.png(1.0).unwrap();
            }
            regret_figure(&[panel(odd.to_vec()), panel(Vec::new())], scale).png(1.0).unwrap();
            regret_figure(&[], scale).png(1.0).unwrap();
        }
    }

    #[test]
    fn the_scale_is_log_where_regret_falls_far_and_nothing_is_zero() {
        let far = panel(vec![curve(&[1.0, 2.0], &[1.0, 0.01], &[])]);
        let near = panel(vec![curve(&[1.0, 2.0], &[1.0, 0.6], &[])]);
        let zero = panel(vec![curve(&[1.0, 2.0], &[1.0, 0.0], &[])]);
        assert_eq!(kind(&[far.clone(), near.clone()], VerticalScale::Automatic), Kind::Log);
        assert_eq!(kind(&[near], VerticalScale::Automatic), Kind::Linear);
        assert_eq!(kind(&[far, zero], VerticalScale::Automatic), Kind::Linear);
    }

    #[test]
    fn a_lower_edge_near_zero_does_not_stretch_a_log_axis() {
        let wide = panel(vec![curve(&[1.0, 2.0], &[1.0, 0.1], &[0.1, 0.04999])]);
        assert!(vertical(&wide, Kind::Log).low() > 0.03);
    }

    #[test]
    fn a_linear_axis_of_small_positive_values_starts_at_zero() {
        let small = panel(vec![curve(&[1.0, 2.0], &[1.0, 0.1], &[])]);
        assert_eq!(vertical(&small, Kind::Linear).low(), 0.0);
    }

    #[test]
    fn costs_out_of_order_are_sorted_with_their_means() {
        let sorted = usable_curve(&curve(&[3.0, 1.0, 2.0], &[0.3, 0.1, 0.2], &[0.03, 0.01]));
        assert_eq!(sorted.cost, [1.0, 2.0, 3.0]);
        assert_eq!(sorted.mean, [0.1, 0.2, 0.3]);
        assert_eq!(sorted.standard_error, [0.01, 0.0, 0.03]);
    }

    #[test]
    fn every_algorithm_is_explained_once() {
        let two =
            [panel(vec![curve(&[1.0], &[1.0], &[])]), panel(vec![curve(&[1.0], &[1.0], &[])])];
        let svg = regret_figure(&two, VerticalScale::Linear).svg();
        assert_eq!(svg.matches(">maKG<").count(), 1);
        assert!(svg.contains("(b) &lt;t&gt;"));
    }
}
