//! How the predictions of recommended designs held up.

use serde::{Deserialize, Serialize};
use unyoke::{Confirmation, ConfirmedValue, Design, Journal, Study};

use crate::words::{count, short};

/// What was measured of recommended designs, against what was predicted of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfirmationView {
    /// Each value, in the order in which these arrived.
    pub values: Vec<ConfirmedValueView>,
    /// How many of them lie inside their intervals.
    pub inside: usize,
}

/// A value, and what was predicted of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ConfirmedValueView {
    /// The evaluation that gave it.
    pub evaluation: u64,
    /// The design.
    pub design: Design,
    /// The output.
    pub output: String,
    /// The expected value.
    pub mean: f64,
    /// The interval that was to hold the value in nine cases of ten, noise of the measurement included.
    pub interval: [f64; 2],
    /// What came out.
    pub measured: f64,
    /// Whether that is inside the interval.
    pub inside: bool,
}

/// How predictions held up in the latest round of confirmations; `None` before the first.
pub fn confirmation<J: Journal>(study: &Study<J>) -> unyoke::Result<Option<ConfirmationView>> {
    Ok(study.confirmation()?.map(ConfirmationView::from))
}

impl From<Confirmation> for ConfirmationView {
    fn from(confirmation: Confirmation) -> Self {
        let inside = confirmation.inside();
        let view = |value: ConfirmedValue| ConfirmedValueView {
            inside: value.is_inside(),
            evaluation: value.evaluation,
            design: value.design,
            output: value.output,
            mean: value.mean,
            interval: value.interval,
            measured: value.measured,
        };
        Self { values: confirmation.values.into_iter().map(view).collect(), inside }
    }
}

impl ConfirmationView {
    /// What that amounts to, in a sentence.
    pub fn sentence(&self) -> String {
        let (inside, all) = (self.inside, count(self.values.len(), "value"));
        format!("{inside} of {all} inside the predicted 90 % intervals")
    }
}

impl ConfirmedValueView {
    /// Heads of the columns of [`ConfirmedValueView::cells`].
    pub const HEAD: [&'static str; 5] =
        ["output", "expected", "90 % interval", "measured", "inside"];

    /// As people read it.
    pub fn cells(&self) -> [String; 5] {
        let [low, high] = self.interval.map(short);
        let inside = if self.inside { "yes" } else { "no" };
        let interval = format!("{low} to {high}");
        [self.output.clone(), short(self.mean), interval, short(self.measured), inside.to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_inside_their_intervals_are_counted_ends_included() {
        let value = |measured: f64| ConfirmedValue {
            evaluation: 7,
            design: Design::new(),
            output: "drag".into(),
            mean: 1.5,
            interval: [1.0, 2.0],
            measured,
        };
        let values = [0.99, 1.0, 1.7, 2.0, 2.01].map(value).to_vec();
        let view = ConfirmationView::from(Confirmation { round: 9, values });
        let inside: Vec<bool> = view.values.iter().map(|value| value.inside).collect();
        assert_eq!(inside, [false, true, true, true, false]);
        assert_eq!(view.sentence(), "3 of 5 values inside the predicted 90 % intervals");
        assert_eq!(view.values[0].cells(), ["drag", "1.5", "1 to 2", "0.99", "no"]);
    }
}
