//! Prior distributions of length scales, with the true ones marked.

use unyoke_math::gamma::Gamma;

use unyoke_draw::{
    Axis, Border, Brush, Canvas, Entry, Form, Frame, Ink, Kind, Legend, Panel, Picture, Place,
    Scale, Sheet, Stroke, closed_path, open_path,
};

/// The gamma prior of one objective's length scale.
#[derive(Debug, Clone, PartialEq)]
pub struct LengthScalePrior {
    /// Name of the objective.
    pub objective: String,
    /// Shape α.
    pub shape: f64,
    /// Rate β.
    pub rate: f64,
    /// The length scale that the test problems were made with.
    pub truth: Option<f64>,
}

/// The priors for one family of test problems.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PriorPanel {
    /// Name of the family.
    pub title: String,
    /// One prior for each objective.
    pub priors: Vec<LengthScalePrior>,
}

/// Draws the densities, a panel for each family.
pub fn priors_figure(panels: &[PriorPanel]) -> Picture {
    let plan = |(i, panel): (usize, &PriorPanel)| Panel {
        title: panel.title.clone(),
        note: String::new(),
        x: Axis::new("Length scale", Scale::new(Kind::Linear, 0.0, farthest(panel)), 5),
        y: Axis::new(if i == 0 { "Prior density" } else { "" }, densities(panel), 5),
        border: Border::Axes,
        aside: 0.0,
    };
    let plans: Vec<Panel> = panels.iter().enumerate().map(plan).collect();
    let (width, height) = if panels.len() > 1 { (290.0, 190.0) } else { (400.0, 230.0) };
    let form = Form { heading: String::new(), width, height, columns: 2 };
    let mut sheet = Sheet::new(&form, &plans, &legend(panels));
    for (i, panel) in panels.iter().enumerate() {
        sheet.fill(i, |canvas, frame| draw_panel(canvas, frame, panel));
    }
    let titles: Vec<&str> = panels.iter().map(|panel| panel.title.as_str()).collect();
    Picture::new(sheet.canvas, &format!("Priors of length scales: {}", titles.join("; ")))
}

/// The line of the `index`-th objective. Where priors are equal, the dashes of the second let the
/// first be seen.
fn stroke(index: usize) -> Stroke {
    let inks = [Ink::Blue, Ink::Vermillion, Ink::Green, Ink::Purple];
    let dashes = ["", "7 5", "2 3", "7 3 2 3"];
    Stroke { ink: inks[index % inks.len()], width: 1.8, dash: dashes[index % dashes.len()] }
}

const TRUTH: Stroke = Stroke { ink: Ink::Muted, width: 1.4, dash: "1.5 2.5" };

fn legend(panels: &[PriorPanel]) -> Legend {
    let mut entries: Vec<Entry> = Vec::new();
    for panel in panels {
        for (i, prior) in panel.priors.iter().enumerate() {
            if entries.iter().all(|entry| entry.label != prior.objective) {
                entries.push(Entry {
                    band: Some(stroke(i).ink),
                    ..Entry::line(&prior.objective, stroke(i))
                });
            }
        }
    }
    if panels.iter().flat_map(|panel| &panel.priors).any(|prior| prior.truth.is_some()) {
        entries.push(Entry::line("True length scale", TRUTH));
    }
    Legend { entries }
}

/// The density of Gamma(α, β) at `x`; none if the parameters make no sense.
fn density(prior: &LengthScalePrior, x: f64) -> Option<f64> {
    let gamma = Gamma::new(prior.shape, prior.rate).ok()?;
    let density = gamma.log_density(x).exp();
    if density.is_finite() { Some(density) } else { None }
}

/// Where the longest of all tails has become unimportant, or the largest true value.
fn farthest(panel: &PriorPanel) -> f64 {
    let tail = |prior: &LengthScalePrior| {
        let end = (prior.shape + 2.8 * prior.shape.sqrt()) / prior.rate;
        end.max(1.15 * prior.truth.unwrap_or(0.0))
    };
    let ends = panel.priors.iter().map(tail).filter(|end| end.is_finite() && *end > 0.0);
    let end = ends.fold(0.0, f64::max);
    if end > 0.0 { end } else { 1.0 }
}

/// Places at which a density is computed; closer where short length scales are.
fn abscissae(end: f64) -> impl Iterator<Item = f64> {
    let count = 240;
    (1..=count).map(move |i| end * (f64::from(i) / f64::from(count)).powi(2))
}

/// From 0 to a little above the highest density, which is taken away from an infinite peak at 0.
fn densities(panel: &PriorPanel) -> Scale {
    let end = farthest(panel);
    let all = panel.priors.iter().flat_map(|prior| {
        abscissae(end).filter(move |x| *x > 0.01 * end).filter_map(|x| density(prior, x))
    });
    let highest = all.fold(0.0, f64::max);
    Scale::new(Kind::Linear, 0.0, if highest > 0.0 { 1.08 * highest } else { 1.0 })
}

fn draw_panel(canvas: &mut Canvas, frame: &Frame, panel: &PriorPanel) {
    let outline = |prior: &LengthScalePrior| -> Vec<Place> {
        let at = |x: f64| density(prior, x).map(|d| frame.place([x, d]));
        let start = if prior.shape > 1.0 { Some(frame.place([0.0, 0.0])) } else { None };
        start.into_iter().chain(abscissae(frame.x.high()).filter_map(at)).collect()
    };
    for (i, prior) in panel.priors.iter().enumerate() {
        let mut area = outline(prior);
        area.extend([[frame.x.high(), 0.0], [0.0, 0.0]].map(|corner| frame.place(corner)));
        canvas.path(&closed_path(&area), &Brush::fill(stroke(i).ink).with_opacity(0.1));
    }
    draw_truths(canvas, frame, panel);
    for (i, prior) in panel.priors.iter().enumerate() {
        canvas.path(&open_path(&outline(prior)), &Brush::line(stroke(i)));
    }
}

/// True length scales in the colours of their objectives; one that is shared has none.
fn draw_truths(canvas: &mut Canvas, frame: &Frame, panel: &PriorPanel) {
    for (i, prior) in panel.priors.iter().enumerate() {
        let Some(truth) = prior.truth.filter(|truth| truth.is_finite()) else { continue };
        let shared = panel.priors.iter().filter(|other| other.truth == prior.truth).count() > 1;
        let ink = if shared { TRUTH.ink } else { stroke(i).ink };
        let [low, high] = [frame.y.low(), frame.y.high()].map(|y| frame.place([truth, y]));
        canvas.line(low, high, Stroke { ink, ..TRUTH });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prior(shape: f64, rate: f64, truth: Option<f64>) -> LengthScalePrior {
        LengthScalePrior { objective: "one".into(), shape, rate, truth }
    }

    #[test]
    fn the_axis_holds_the_mode_and_the_truth() {
        let panel = PriorPanel { title: String::new(), priors: vec![prior(3.0, 1.1, Some(1.8))] };
        assert!(farthest(&panel) > 5.0 && farthest(&panel) < 10.0);
        // Gamma(3, 1.1) is highest at 2 / 1.1, with density β·2·e⁻² = 0.2977.
        let top = densities(&panel).high();
        assert!((top / 1.08 - 0.2977).abs() < 1e-3, "{top}");
    }

    #[test]
    fn unlikely_priors_are_drawn() {
        let odd = [
            prior(0.5, 1.0, None),
            prior(-1.0, 1.0, Some(-1.0)),
            prior(f64::NAN, f64::INFINITY, Some(f64::NAN)),
            prior(1e6, 1e-6, Some(0.0)),
        ];
        for single in &odd {
            let panel = PriorPanel { title: "t".into(), priors: vec![single.clone()] };
            let picture = priors_figure(&[panel]);
            assert!(!picture.svg().contains("NaN"));
            picture.png(1.0).unwrap();
        }
        priors_figure(&[]).png(1.0).unwrap();
    }
}
