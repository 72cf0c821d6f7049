//! How far the models can be trusted: each value predicted from all the others.

use serde::{Deserialize, Serialize};
use unyoke::{Journal, LeftOutValue, ModelCheck, Study};

use crate::words::{plus_minus, short};

/// How far the model of an output can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelView {
    /// Each value with its prediction from the others, and what follows.
    #[serde(flatten)]
    pub check: ModelCheck,
    /// What that means, in a sentence.
    pub verdict: String,
}

/// How far the model of each output can be trusted; formulas have none.
pub fn models<J: Journal>(study: &Study<J>) -> unyoke::Result<Vec<ModelView>> {
    let view = |check: ModelCheck| ModelView { verdict: check.verdict(), check };
    Ok(study.model_checks()?.into_iter().map(view).collect())
}

impl ModelView {
    /// The heads of [`ModelView::cells`].
    pub const HEAD: [&'static str; 6] =
        ["model of", "designs", "explained", "error / stated", "verdict", "farthest off"];

    /// The model as a row of a table.
    pub fn cells(&self) -> [String; 6] {
        let check = &self.check;
        let share = |share: f64| format!("{:.0} %", 100.0 * share.max(-9.99));
        [
            check.output.clone(),
            check.designs.to_string(),
            check.explained.map_or_else(String::new, share),
            check.error_ratio.map_or_else(String::new, short),
            self.verdict.clone(),
            check.worst().map_or_else(String::new, farthest_off),
        ]
    }
}

/// "evaluation 7: 1.20 ± 0.10 predicted, 1.5 measured", and what it counts as if that differs.
fn farthest_off(value: &LeftOutValue) -> String {
    let numbers: Vec<String> = value.evaluations.iter().map(u64::to_string).collect();
    let predicted = plus_minus(value.mean, value.sd);
    let (numbers, measured) = (numbers.join(", "), short(value.measured));
    let counts = value.counts_as.map(|value| format!(", counts as {}", short(value)));
    let counts = counts.unwrap_or_default();
    format!("evaluation {numbers}: {predicted} predicted, {measured} measured{counts}")
}
