//! How long a suggestion takes: for each algorithm the median, and the range of most suggestions.

use super::look::Looks;
use unyoke_draw::{
    Axis, Border, Brush, Canvas, Entry, Form, Frame, Ink, Kind, Legend, Marker, Panel, Picture,
    Scale, Sheet, Stroke, Tick,
};

/// Seconds per suggestion of one algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct TimeRange {
    /// Name of the algorithm, as in `c-mokg`.
    pub algorithm: String,
    /// A tenth of all suggestions are faster.
    pub low: f64,
    /// Half of all suggestions are faster.
    pub median: f64,
    /// A tenth of all suggestions are slower.
    pub high: f64,
    /// Number of suggestions timed.
    pub count: usize,
}

impl TimeRange {
    /// The range of some times in seconds; none if there are no finite ones.
    ///
    /// ```
    /// use unyoke_lab::figures::TimeRange;
    ///
    /// let range = TimeRange::of("makg", &[0.3, 0.1, 0.2]).ok_or("no times")?;
    /// assert_eq!(range.median, 0.2);
    /// # Ok::<(), &str>(())
    /// ```
    pub fn of(algorithm: &str, seconds: &[f64]) -> Option<Self> {
        let mut sorted: Vec<f64> = seconds.iter().copied().filter(|s| s.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        if sorted.is_empty() {
            return None;
        }
        Some(Self {
            algorithm: algorithm.into(),
            low: quantile(&sorted, 0.1),
            median: quantile(&sorted, 0.5),
            high: quantile(&sorted, 0.9),
            count: sorted.len(),
        })
    }
}

/// The quantile of sorted values, linear between neighbours. Source: Hyndman and Fan (1996), type 7.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let below = place.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (place - below as f64) * (sorted[above] - sorted[below])
}

/// Times on one family of problems.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TimePanel {
    /// Name of the family.
    pub title: String,
    /// One range for each algorithm, from top to bottom.
    pub rows: Vec<TimeRange>,
}

const ROW: f64 = 24.0;

/// Draws medians as markers and ranges as lines on a log axis of seconds.
pub fn times_figure(panels: &[TimePanel]) -> Picture {
    let all = panels.iter().flat_map(|panel| &panel.rows);
    let looks = Looks::new(all.map(|row| row.algorithm.as_str()));
    let plan = |(i, panel): (usize, &TimePanel)| Panel {
        title: panel.title.clone(),
        note: String::new(),
        x: Axis::new("Time per suggestion (s)", seconds(panels), 5),
        y: if i % 2 == 0 { rows(&looks) } else { rows(&looks).without_words() },
        border: Border::Rows,
        aside: 0.0,
    };
    let plans: Vec<Panel> = panels.iter().enumerate().map(plan).collect();
    let height = ROW * looks.iter().count().max(1) as f64;
    let width = if panels.len() > 1 { 270.0 } else { 400.0 };
    let form = Form { heading: String::new(), width, height, columns: 2 };
    let mut sheet = Sheet::new(&form, &plans, &legend());
    for (i, panel) in panels.iter().enumerate() {
        sheet.overlay(i, |canvas, frame| draw_panel(canvas, frame, panel, &looks));
    }
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
    Picture::new(sheet.canvas, &format!("Time per suggestion: {}", titles.join("; ")))
}

fn legend() -> Legend {
    let ink = Ink::Muted;
    Legend {
        entries: vec![Entry {
            label: "Median, and the range from 10 % to 90 % of all suggestions".into(),
            band: None,
            stroke: Some(Stroke::solid(ink, 2.4)),
            marker: Some((Marker::Circle, 4.0, Brush::fill(ink))),
        }],
    }
}

/// One scale for all panels.
fn seconds(panels: &[TimePanel]) -> Scale {
    let rows = panels.iter().flat_map(|panel| &panel.rows);
    Scale::around(Kind::Log, rows.flat_map(|row| [row.low, row.median, row.high]))
}

/// An axis with the algorithms from top to bottom.
fn rows(looks: &Looks) -> Axis {
    let labels: Vec<&str> = looks.iter().map(|look| look.label.as_str()).collect();
    let count = labels.len().max(1) as f64;
    let tick = |(i, label): (usize, &&str)| Tick { at: height_of(i), label: (*label).into() };
    Axis {
        label: String::new(),
        scale: Scale::new(Kind::Linear, 0.5 - count, 0.5),
        ticks: labels.iter().enumerate().map(tick).collect(),
        small: Vec::new(),
    }
}

fn height_of(row: usize) -> f64 {
    -(row as f64)
}

fn draw_panel(canvas: &mut Canvas, frame: &Frame, panel: &TimePanel, looks: &Looks) {
    for row in &panel.rows {
        let index = looks.position(&row.algorithm).unwrap_or(0);
        let look = looks.of(&row.algorithm);
        let at = |seconds: f64| frame.place([seconds, height_of(index)]);
        let (low, median, high) = (at(row.low), at(row.median), at(row.high));
        if row.low.is_finite() && row.high.is_finite() {
            canvas.line(low, high, Stroke::solid(look.ink, 2.4));
        }
        if row.median.is_finite() {
            let brush = Marker::brush(look.ink, look.inside);
            look.marker.draw(canvas, median, 4.2, &brush);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_usual_definition() {
        let range = TimeRange::of("a", &[4.0, 1.0, f64::NAN, 3.0, 2.0, 5.0]).unwrap();
        assert_eq!((range.low, range.median, range.high), (1.4, 3.0, 4.6));
        assert_eq!(range.count, 5);
        assert!(TimeRange::of("a", &[f64::NAN]).is_none());
    }

    #[test]
    fn unlikely_times_are_drawn() {
        let row =
            |low, median, high| TimeRange { algorithm: "makg".into(), low, median, high, count: 1 };
        let rows = vec![row(0.0, 0.0, 0.0), row(f64::NAN, 1.0, f64::INFINITY), row(-1.0, 1.0, 1.0)];
        let picture = times_figure(&[TimePanel { title: "t".into(), rows }, TimePanel::default()]);
        assert!(!picture.svg().contains("NaN"));
        picture.png(1.0).unwrap();
        times_figure(&[]).png(1.0).unwrap();
    }
}
