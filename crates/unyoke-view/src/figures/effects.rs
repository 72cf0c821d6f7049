//! What each parameter does to an output: slices through one design, with their uncertainty.

use unyoke_draw::{
    Axis, Brush, Canvas, Frame, Ink, Inside, Kind, Legend, Marker, Picture, Place, Rect, Scale,
    Stroke, Tick, closed_path, open_path,
};

use super::designs::shortened;
use super::{Quantity, kind, panel, sheet};

const SIZE: [f64; 2] = [126.0, 90.0];

/// A parameter, and what an output is expected to be as it varies.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectPanel {
    /// The parameter.
    pub parameter: String,
    /// Its axis.
    pub places: Places,
    /// From its lower end to its upper, or choice by choice.
    pub points: Vec<EffectPoint>,
    /// Where the design itself is, and what is expected of it.
    pub here: Option<[f64; 2]>,
}

/// The axis of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub enum Places {
    /// Numbers between two bounds.
    Numbers {
        /// The lower bound.
        low: f64,
        /// The upper bound.
        high: f64,
        /// Whether ratios count, not differences.
        is_log: bool,
    },
    /// Choices, which stand at 0, 1 and so on.
    Names(Vec<String>),
}

/// An output at one value of a parameter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EffectPoint {
    /// The value of the parameter, or the place of the choice.
    pub at: f64,
    /// The lower end of the interval that holds the output in nine cases of ten.
    pub low: f64,
    /// The expected value.
    pub mean: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// A small picture for each parameter, all with the same upright axis; `limit` is that of a constraint.
pub fn effects_figure(
    output: &Quantity,
    limit: Option<f64>,
    panels: &[EffectPanel],
) -> Vec<Picture> {
    let points = || panels.iter().flat_map(|panel| &panel.points);
    let kind = kind(output.is_log);
    let means = Scale::around(kind, points().map(|point| point.mean).chain(limit));
    // A band may leave the picture where it is far wider than what is expected varies.
    let room = means.padded(0.6);
    let within = |value: f64| value.clamp(room.low(), room.high());
    let all = points().flat_map(|point| [point.low, point.mean, point.high].map(within));
    let scale = Scale::around(kind, all.chain(limit));
    panels.iter().map(|one| effect(output, limit, one, scale)).collect()
}

fn effect(output: &Quantity, limit: Option<f64>, one: &EffectPanel, scale: Scale) -> Picture {
    let y = Axis::new("", scale, 4);
    let title = shortened(&one.parameter, 20);
    let mut sheet = sheet(panel(&title, axis(&one.places), y), SIZE, &Legend::default());
    sheet.fill(0, |canvas, frame| {
        match one.places {
            Places::Numbers { .. } => draw_curve(canvas, frame, &one.points),
            Places::Names(_) => draw_choices(canvas, frame, &one.points),
        }
        if let Some(limit) = limit {
            let Rect { left, .. } = frame.rect;
            let y = frame.place([0.0, limit]).y;
            let stroke = Stroke { ink: Ink::Vermillion, width: 1.0, dash: "4 3" };
            canvas.line(Place::new(left, y), Place::new(frame.rect.right(), y), stroke);
        }
        if let Some(here) = one.here {
            let brush = Marker::brush(Ink::Text, Inside::Open);
            Marker::Circle.draw(canvas, frame.place(here), 3.0, &brush);
        }
    });
    let words = format!("{} as {} varies", output.name, one.parameter);
    Picture::new(sheet.canvas, &words)
}

fn axis(places: &Places) -> Axis {
    match places {
        Places::Numbers { low, high, is_log } => {
            Axis::new("", Scale::new(kind(*is_log), *low, *high), 3)
        }
        Places::Names(names) => {
            let room = (SIZE[0] / 6.0) as usize / names.len().max(1);
            let tick = |(i, name): (usize, &String)| Tick {
                at: i as f64,
                label: if room < 3 { String::new() } else { shortened(name, room) },
            };
            let last = names.len().max(1) as f64 - 0.5;
            Axis {
                label: String::new(),
                scale: Scale::new(Kind::Linear, -0.5, last),
                ticks: names.iter().enumerate().map(tick).collect(),
                small: vec![],
            }
        }
    }
}

fn is_finite(point: &&EffectPoint) -> bool {
    [point.at, point.low, point.mean, point.high].iter().all(|value| value.is_finite())
}

fn draw_curve(canvas: &mut Canvas, frame: &Frame, points: &[EffectPoint]) {
    let points: Vec<&EffectPoint> = points.iter().filter(is_finite).collect();
    let edge = |value: fn(&EffectPoint) -> f64| -> Vec<Place> {
        points.iter().map(|point| frame.place([point.at, value(point)])).collect()
    };
    let (mut outline, lower) = (edge(|point| point.high), edge(|point| point.low));
    outline.extend(lower.into_iter().rev());
    canvas.path(&closed_path(&outline), &Brush::fill(Ink::Blue).with_opacity(0.18));
    let line = Brush::line(Stroke::solid(Ink::Blue, 1.6));
    canvas.path(&open_path(&edge(|point| point.mean)), &line);
}

fn draw_choices(canvas: &mut Canvas, frame: &Frame, points: &[EffectPoint]) {
    for point in points.iter().filter(is_finite) {
        let ends = frame.places(&[[point.at, point.low], [point.at, point.high]]);
        let bar = Brush::line(Stroke::solid(Ink::Blue, 5.0)).with_opacity(0.25);
        canvas.path(&open_path(&ends), &bar);
        let at = frame.place([point.at, point.mean]);
        Marker::Circle.draw(canvas, at, 2.6, &Brush::fill(Ink::Blue));
    }
}
