//! How much of what the front offers had been found, and what the next evaluation promised.

use serde::{Deserialize, Serialize};
use unyoke_draw::{
    Axis, Brush, Ink, Kind, Legend, Picture, Place, Scale, Stroke, open_path, stairs,
};

use super::{WIDTH, from_zero, panel, sheet};

/// How far a study was after an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// The evaluation.
    pub evaluation: u64,
    /// Cost of everything up to it.
    pub spent: f64,
    /// How much of what the front offers had been found, from 0 to 1.
    pub share: f64,
}

/// What a study expected at some total cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// The total cost.
    pub spent: f64,
    /// What the next evaluation was expected to gain, as a share of the range of the front of then.
    pub gain: f64,
}

/// Progress against the total cost, or the number of evaluations where nothing was paid for; and what was still
/// to be gained at some moments.
pub fn progress_figure(stages: &[Stage], moments: &[Moment]) -> Vec<Picture> {
    [progress(stages), promise(moments)].into_iter().flatten().collect()
}

fn progress(stages: &[Stage]) -> Option<Picture> {
    let last = stages.last()?;
    let (label, most) = match last.spent > 0.0 {
        true => ("Total cost", last.spent),
        false => ("Evaluation", last.evaluation as f64),
    };
    let at = |stage: &Stage| if last.spent > 0.0 { stage.spent } else { stage.evaluation as f64 };
    let y =
        Axis::new("Found, % of the front", Scale::new(Kind::Linear, 0.0, 100.0).padded(0.03), 5);
    let mut sheet = sheet(panel("", from_zero(label, most), y), [WIDTH, 160.0], &Legend::default());
    sheet.fill(0, |canvas, frame| {
        let whole = [0.0, most].map(|x| frame.place([x, 100.0]));
        let dashed = Stroke { ink: Ink::Muted, width: 1.0, dash: "4 3" };
        canvas.line(whole[0], whole[1], dashed);
        let x: Vec<f64> = stages.iter().map(at).collect();
        let y: Vec<f64> = stages.iter().map(|stage| 100.0 * stage.share).collect();
        let places = frame.places(&stairs(&x, &y));
        canvas.path(&open_path(&places), &Brush::line(Stroke::solid(Ink::Blue, 1.8)));
    });
    Some(Picture::new(sheet.canvas, "How much of what the front offers had been found"))
}

fn promise(moments: &[Moment]) -> Option<Picture> {
    let gains = moments.iter().filter(|moment| moment.gain > 0.0);
    let gains: Vec<[f64; 2]> = gains.map(|moment| [moment.spent, 100.0 * moment.gain]).collect();
    if gains.len() < 2 {
        return None;
    }
    let most = gains.iter().map(|[spent, _]| *spent).fold(0.0, f64::max);
    let scale = Scale::around(Kind::Log, gains.iter().map(|[_, gain]| *gain));
    let y = Axis::new("Next gain, % of the front", scale, 5);
    let x = from_zero("Total cost", most);
    let mut sheet = sheet(panel("", x, y), [WIDTH, 160.0], &Legend::default());
    sheet.fill(0, |canvas, frame| {
        let places: Vec<Place> = frame.places(&gains);
        canvas.path(&open_path(&places), &Brush::line(Stroke::solid(Ink::Blue, 1.6)));
        canvas.dots(&places, 2.6, Ink::Blue);
    });
    Some(Picture::new(sheet.canvas, "What the next evaluation was expected to gain"))
}
