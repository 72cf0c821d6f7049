//! What was spent on each measurement, and when.

use unyoke_draw::{
    Axis, Border, Brush, Canvas, Entry, Frame, Inside, Kind, Legend, Mark, Marker, Panel, Picture,
    Scale, Stroke, Tick, open_path, stairs,
};

use super::designs::shortened;
use super::{WIDTH, from_zero, ink, panel, sheet};

/// One evaluation that was paid for.
#[derive(Debug, Clone, PartialEq)]
pub struct Payment {
    /// What it stands for.
    pub mark: Mark,
    /// Which measurement, by its place.
    pub measurement: usize,
    /// Cost of everything up to here, itself included.
    pub spent: f64,
    /// What it cost.
    pub cost: f64,
    /// Whether it gave nothing.
    pub failed: bool,
}

/// What each measurement has cost so far, and when each was made; nothing if nothing was paid for.
pub fn spending_figure(measurements: &[String], payments: &[Payment]) -> Vec<Picture> {
    if payments.is_empty() || measurements.is_empty() {
        return vec![];
    }
    vec![totals(measurements, payments), times(measurements, payments)]
}

fn most(payments: &[Payment]) -> f64 {
    payments.iter().map(|payment| payment.spent).fold(0.0, f64::max)
}

fn of(payments: &[Payment], measurement: usize) -> impl Iterator<Item = &Payment> {
    payments.iter().filter(move |payment| payment.measurement == measurement)
}

fn totals(measurements: &[String], payments: &[Payment]) -> Picture {
    let total = |m: usize| of(payments, m).map(|payment| payment.cost).sum::<f64>();
    let highest = (0..measurements.len()).map(total).fold(0.0, f64::max);
    let y = Axis::new("Spent on it", Scale::new(Kind::Linear, 0.0, highest).padded(0.03), 5);
    let entry =
        |(m, name): (usize, &String)| Entry::line(&shortened(name, 24), Stroke::solid(ink(m), 1.8));
    let legend = Legend { entries: measurements.iter().enumerate().map(entry).collect() };
    let mut sheet =
        sheet(panel("", from_zero("Total cost", most(payments)), y), [WIDTH, 150.0], &legend);
    sheet.fill(0, |canvas, frame| draw_totals(canvas, frame, measurements.len(), payments));
    Picture::new(sheet.canvas, "What each measurement has cost so far")
}

fn draw_totals(canvas: &mut Canvas, frame: &Frame, measurements: usize, payments: &[Payment]) {
    for m in 0..measurements {
        let (mut x, mut y) = (vec![0.0], vec![0.0]);
        for payment in of(payments, m) {
            x.push(payment.spent);
            y.push(y.last().copied().unwrap_or(0.0) + payment.cost);
        }
        x.push(most(payments));
        y.push(y.last().copied().unwrap_or(0.0));
        let places = frame.places(&stairs(&x, &y));
        canvas.path(&open_path(&places), &Brush::line(Stroke::solid(ink(m), 1.8)));
    }
}

fn times(measurements: &[String], payments: &[Payment]) -> Picture {
    let tick = |(i, name): (usize, &String)| Tick { at: -(i as f64), label: shortened(name, 12) };
    let y = Axis {
        label: String::new(),
        scale: Scale::new(Kind::Linear, 0.4 - measurements.len() as f64, 0.6),
        ticks: measurements.iter().enumerate().map(tick).collect(),
        small: vec![],
    };
    let rows =
        Panel { border: Border::Rows, ..panel("", from_zero("Total cost", most(payments)), y) };
    let mut entries = vec![];
    if payments.iter().any(|payment| payment.failed) {
        let failed = (Marker::Circle, 2.6, Marker::brush(ink(0), Inside::Open));
        entries.push(Entry::marker("failed", failed));
    }
    let height = (26.0 * measurements.len() as f64).clamp(60.0, 400.0);
    let mut sheet = sheet(rows, [WIDTH - 30.0, height], &Legend { entries });
    sheet.overlay(0, |canvas, frame| {
        for payment in payments {
            let at = frame.place([payment.spent, -(payment.measurement as f64)]);
            let inside = if payment.failed { Inside::Open } else { Inside::Filled };
            let brush = Marker::brush(ink(payment.measurement), inside);
            canvas.marked(&payment.mark, Some(at), |c| Marker::Circle.draw(c, at, 2.2, &brush));
        }
    });
    Picture::new(sheet.canvas, "When each measurement was made")
}
