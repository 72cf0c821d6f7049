//! A test problem: contours of both objectives over the unit square, and its Pareto front.

use super::front::{Dots, draw_dots, draw_front};
use unyoke_draw::{
    Anchor, Axis, Border, Brush, Canvas, Entry, Form, Frame, Grid, Ink, Kind, Legend, Marker,
    Panel, Picture, Place, Rect, Scale, Sheet, Stroke, TextStyle, Tick, closed_path, rings,
    thinned,
};

/// Values of an objective at the nodes of a regular grid over the unit square.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Field {
    /// Name of the objective.
    pub name: String,
    /// Number of nodes along x₁.
    pub columns: usize,
    /// Number of nodes along x₂.
    pub rows: usize,
    /// `values[row * columns + column]`, with x₁ = column / (columns − 1), x₂ = row / (rows − 1).
    pub values: Vec<f64>,
}

/// A test problem with two parameters and two objectives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProblemFigure {
    /// Both objectives, on the same grid.
    pub objectives: [Field; 2],
    /// Designs that no other design dominates.
    pub pareto_set: Vec<[f64; 2]>,
    /// Their objectives.
    pub pareto_front: Vec<[f64; 2]>,
}

const SIDE: f64 = 185.0;
const BAR: f64 = 9.0;
const SET: Dots = Dots { ink: Ink::Vermillion, radius: 1.5 };
const FRONT: Stroke = Stroke { ink: Ink::Vermillion, width: 2.2, dash: "" };
const CLOUD: Dots = Dots { ink: Ink::Cloud, radius: 0.9 };

/// Draws contours of both objectives with the Pareto set, and the front beside them.
pub fn problem_figure(problem: &ProblemFigure) -> Picture {
    let [first, second] = &problem.objectives;
    let levels = [Levels::of(first), Levels::of(second)];
    let plans = [plan_field(first, "x₂"), plan_field(second, ""), plan_front(problem)];
    let form = Form { heading: String::new(), width: SIDE, height: SIDE, columns: 3 };
    let mut sheet = Sheet::new(&form, &plans, &legend());
    for (i, (field, levels)) in problem.objectives.iter().zip(&levels).enumerate() {
        sheet.fill(i, |canvas, frame| draw_field(canvas, frame, field, levels));
        sheet.overlay(i, |canvas, frame| draw_surroundings(canvas, frame, levels));
        sheet.overlay(i, |canvas, frame| draw_set(canvas, frame, &problem.pareto_set));
    }
    sheet.fill(2, |canvas, frame| draw_image(canvas, frame, problem));
    let text = format!(
        "Contours of {} and {} over the unit square, and the Pareto front",
        first.name, second.name
    );
    Picture::new(sheet.canvas, &text)
}

fn legend() -> Legend {
    let dots = |dots: Dots| (Marker::Circle, 2.6, Brush::fill(dots.ink));
    Legend {
        entries: vec![
            Entry::marker("Pareto set", dots(SET)),
            Entry::line("Pareto front", FRONT),
            Entry::marker("Objectives of a grid of designs", dots(CLOUD)),
        ],
    }
}

fn plan_field(field: &Field, y_label: &str) -> Panel {
    let unit = Scale::new(Kind::Linear, 0.0, 1.0);
    Panel {
        title: field.name.clone(),
        note: String::new(),
        x: Axis::new("x₁", unit, 5),
        y: Axis::new(y_label, unit, 5),
        border: Border::Closed,
        aside: 8.0 + BAR + 30.0,
    }
}

fn plan_front(problem: &ProblemFigure) -> Panel {
    let scale = |k: usize| {
        let values = problem.objectives[k].values.iter().copied();
        let front = problem.pareto_front.iter().map(|point| point[k]);
        Scale::around(Kind::Linear, values.chain(front))
    };
    Panel {
        title: "Pareto front".into(),
        note: String::new(),
        x: Axis::new(&problem.objectives[0].name, scale(0), 4),
        y: Axis::new(&problem.objectives[1].name, scale(1), 5),
        border: Border::Axes,
        aside: 0.0,
    }
}

/// Round values between the least and the greatest of a field.
struct Levels {
    low: f64,
    high: f64,
    ticks: Vec<Tick>,
}

impl Levels {
    fn of(field: &Field) -> Self {
        let finite = || field.values.iter().copied().filter(|value| value.is_finite());
        let low = finite().fold(f64::INFINITY, f64::min);
        let high = finite().fold(f64::NEG_INFINITY, f64::max);
        let scale = Scale::new(Kind::Linear, low, high);
        Self { low: scale.low(), high: scale.high(), ticks: scale.ticks(10) }
    }

    /// The edges of all bands, from below.
    fn edges(&self) -> Vec<f64> {
        let inner = self.ticks.iter().map(|tick| tick.at);
        let inner = inner.filter(|at| *at > self.low && *at < self.high);
        std::iter::once(self.low).chain(inner).chain(std::iter::once(self.high)).collect()
    }

    /// The colour of the band above edge `index`.
    fn ink(&self, index: usize) -> Ink {
        let bands = self.edges().len() - 1;
        Ink::ramp((index as f64 + 0.5) / bands as f64)
    }

    /// Where a value stands, from 0 for the least to 1 for the greatest.
    fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }
}

/// Draws the regions above each level, from the lowest up, each over the last.
fn draw_field(canvas: &mut Canvas, frame: &Frame, field: &Field, levels: &Levels) {
    let grid = Grid { columns: field.columns, rows: field.rows, values: &field.values };
    let edges = levels.edges();
    for (i, edge) in edges.iter().take(edges.len() - 1).enumerate() {
        let outline: String =
            rings(&grid, *edge).iter().map(|ring| closed_path(&frame.places(ring))).collect();
        let line = Stroke::solid(Ink::Fixed(40, 70, 90), 0.35);
        canvas.path(&outline, &Brush::fill(levels.ink(i)).with_stroke(line));
    }
}

/// Dots with a light rim, which stand out on every colour of the ramp.
fn draw_set(canvas: &mut Canvas, frame: &Frame, set: &[[f64; 2]]) {
    let within = |x: &[f64; 2]| x.iter().all(|v| (0.0..=1.0).contains(v));
    let designs: Vec<[f64; 2]> = set.iter().copied().filter(within).collect();
    let places = thinned(frame.places(&designs), 0.5);
    canvas.dots(&places, SET.radius + 0.8, Ink::Fixed(255, 255, 255));
    canvas.dots(&places, SET.radius, SET.ink);
}

/// The border once more, over the colours, and the bar that explains them.
fn draw_surroundings(canvas: &mut Canvas, frame: &Frame, levels: &Levels) {
    let line = Stroke::solid(Ink::Axis, 1.0);
    canvas.rect(frame.rect, &Brush::line(line));
    let bar = Rect { left: frame.rect.right() + 8.0, width: BAR, ..frame.rect };
    let height = |value: f64| bar.bottom() - levels.share(value) * bar.height;
    for (i, pair) in levels.edges().windows(2).enumerate() {
        let (top, bottom) = (height(pair[1]), height(pair[0]));
        let band = Rect { top, height: bottom - top, ..bar };
        canvas.rect(band, &Brush::fill(levels.ink(i)));
    }
    canvas.rect(bar, &Brush::line(Stroke::solid(Ink::Axis, 0.8)));
    let every = levels.ticks.len().div_ceil(7).max(1);
    let zero = levels.ticks.iter().position(|tick| tick.at == 0.0).unwrap_or(0);
    for (i, tick) in levels.ticks.iter().enumerate() {
        let y = height(tick.at);
        let edge = Place::new(bar.right(), y);
        canvas.line(edge, Place::new(edge.x + 2.5, y), Stroke::solid(Ink::Axis, 0.8));
        if i % every == zero % every {
            let at = Place::new(edge.x + 5.0, y + 3.5);
            canvas.text(at, &tick.label, &TextStyle::new(10.0, Anchor::Start));
        }
    }
}

fn draw_image(canvas: &mut Canvas, frame: &Frame, problem: &ProblemFigure) {
    let [first, second] = &problem.objectives;
    let pairs = first.values.iter().zip(&second.values);
    let cloud: Vec<[f64; 2]> = pairs.map(|(a, b)| [*a, *b]).collect();
    draw_dots(canvas, frame, &cloud, CLOUD);
    draw_front(canvas, frame, &problem.pareto_front, FRONT);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(values: &[f64]) -> ProblemFigure {
        let field = |name: &str| Field {
            name: name.into(),
            columns: 2,
            rows: values.len() / 2,
            values: values.to_vec(),
        };
        ProblemFigure {
            objectives: [field("one"), field("two")],
            pareto_set: vec![[0.5, 0.5], [f64::NAN, 0.0]],
            pareto_front: vec![[1.0, 1.0], [f64::INFINITY, 0.0]],
        }
    }

    #[test]
    fn unlikely_data_is_drawn() {
        let nan = f64::NAN;
        let odd: [&[f64]; 5] =
            [&[], &[1.0, 1.0, 1.0, 1.0], &[nan; 4], &[1.0, nan, 2.0, f64::INFINITY], &[1.0, 2.0]];
        for values in odd {
            let picture = problem_figure(&problem(values));
            assert!(!picture.svg().contains("NaN"));
            picture.png(1.0).unwrap();
        }
        problem_figure(&ProblemFigure::default()).png(1.0).unwrap();
    }

    #[test]
    fn bands_cover_the_range_without_gaps() {
        let levels = Levels::of(&problem(&[-1.3, 0.2, 0.7, 2.1]).objectives[0]);
        let edges = levels.edges();
        assert_eq!((edges[0], edges[edges.len() - 1]), (-1.3, 2.1));
        assert!(edges.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(edges.len() > 6);
    }
}
