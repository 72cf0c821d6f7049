//! The values of each output in the order of evaluations, and from which phase each is.

use unyoke::Direction;
use unyoke_draw::{
    Axis, Brush, Canvas, Entry, Frame, Ink, Inside, Legend, Mark, Marker, Picture, Place, Scale,
    Stroke, open_path, stairs, thinned,
};

use super::{Quantity, WIDTH, from_zero, kind, panel, sheet};

/// What came of an output.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrivals {
    /// The output.
    pub output: Quantity,
    /// For an objective, which values are better.
    pub best: Option<Direction>,
    /// In the order of evaluations.
    pub arrivals: Vec<Arrival>,
}

/// What an evaluation gave.
#[derive(Debug, Clone, PartialEq)]
pub struct Arrival {
    /// What it stands for.
    pub mark: Mark,
    /// The number of the evaluation.
    pub evaluation: u64,
    /// The value; `None` if it failed.
    pub value: Option<f64>,
    /// The phase that the evaluation is from.
    pub phase: String,
}

/// A picture for each output; a failure is a triangle at the lower edge.
pub fn values_figure(outputs: &[Arrivals]) -> Vec<Picture> {
    let all = outputs.iter().flat_map(|one| &one.arrivals);
    let last = all.map(|arrival| arrival.evaluation).max().unwrap_or(1);
    outputs.iter().map(|one| values(one, last)).collect()
}

/// The values of one output, on an axis that reaches to evaluation `last`.
fn values(one: &Arrivals, last: u64) -> Picture {
    let found = one.arrivals.iter().filter_map(|arrival| arrival.value);
    let x = from_zero("Evaluation", last as f64);
    let y = Axis::new(&one.output.name, Scale::around(kind(one.output.is_log), found), 5);
    let mut sheet = sheet(panel("", x, y), [WIDTH, 150.0], &legend(one));
    sheet.overlay(0, |canvas, frame| draw(canvas, frame, one));
    Picture::new(
        sheet.canvas,
        &format!("Values of {} in the order of evaluations", one.output.name),
    )
}

/// How a phase looks.
fn look(phase: &str) -> (Marker, Brush) {
    match phase {
        "imported" => (Marker::Square, Marker::brush(Ink::Grey, Inside::Filled)),
        "initial design" => (Marker::Circle, Marker::brush(Ink::Blue, Inside::Open)),
        "search" => (Marker::Circle, Marker::brush(Ink::Blue, Inside::Filled)),
        "confirmation" => (Marker::Diamond, Marker::brush(Ink::Green, Inside::Filled)),
        _ => (Marker::TriangleUp, Marker::brush(Ink::Purple, Inside::Filled)),
    }
}

fn failed() -> (Marker, Brush) {
    (Marker::TriangleDown, Marker::brush(Ink::Vermillion, Inside::Open))
}

const RADIUS: f64 = 2.2;

fn legend(one: &Arrivals) -> Legend {
    let mut phases: Vec<&str> = vec![];
    for arrival in one.arrivals.iter().filter(|arrival| arrival.value.is_some()) {
        if !phases.contains(&arrival.phase.as_str()) {
            phases.push(&arrival.phase);
        }
    }
    let entry = |phase: &str, (marker, brush)| Entry::marker(phase, (marker, RADIUS, brush));
    let mut entries: Vec<Entry> =
        phases.into_iter().map(|phase| entry(phase, look(phase))).collect();
    if one.arrivals.iter().any(|arrival| arrival.value.is_none()) {
        entries.push(entry("failed", failed()));
    }
    if one.best.is_some() && !entries.is_empty() {
        entries.push(Entry::line("best so far", best_line()));
    }
    Legend { entries }
}

fn best_line() -> Stroke {
    Stroke::solid(Ink::Muted, 1.0)
}

fn draw(canvas: &mut Canvas, frame: &Frame, one: &Arrivals) {
    if let Some(direction) = one.best {
        let places = frame.places(&best_so_far(&one.arrivals, direction));
        canvas.path(&open_path(&places), &Brush::line(best_line()));
    }
    let mut unmarked: Vec<Place> = vec![];
    for Arrival { mark, evaluation, value, phase } in &one.arrivals {
        let x = *evaluation as f64;
        let (at, (marker, brush)) = match value {
            Some(value) => (frame.place([x, *value]), look(phase)),
            None => (Place::new(frame.place([x, 0.0]).x, frame.rect.bottom() - 4.0), failed()),
        };
        match *mark == Mark::default() {
            true => unmarked.push(at),
            false => canvas.marked(mark, Some(at), |c| marker.draw(c, at, RADIUS, &brush)),
        }
    }
    canvas.dots(&thinned(unmarked, 1.5), 1.2, Ink::Blue);
}

/// The corners of the best value so far.
fn best_so_far(arrivals: &[Arrival], direction: Direction) -> Vec<[f64; 2]> {
    let (mut x, mut y): (Vec<f64>, Vec<f64>) = (vec![], vec![]);
    for arrival in arrivals {
        let Some(value) = arrival.value.filter(|value| value.is_finite()) else { continue };
        let best = match (y.last(), direction) {
            (None, _) => value,
            (Some(best), Direction::Minimise) => best.min(value),
            (Some(best), Direction::Maximise) => best.max(value),
        };
        x.push(arrival.evaluation as f64);
        y.push(best);
    }
    stairs(&x, &y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_so_far_leaves_out_failures() {
        let arrival = |evaluation, value| Arrival {
            mark: Mark::default(),
            evaluation,
            value,
            phase: "search".into(),
        };
        let all = [(1, Some(3.0)), (2, None), (4, Some(1.0)), (5, Some(2.0))];
        let all = all.map(|(evaluation, value)| arrival(evaluation, value));
        let corners = best_so_far(&all, Direction::Minimise);
        assert_eq!(corners, [[1.0, 3.0], [4.0, 3.0], [4.0, 1.0], [5.0, 1.0]]);
        assert_eq!(best_so_far(&all, Direction::Maximise).last(), Some(&[5.0, 3.0]));
    }
}
