//! What to evaluate next, and why; and what is expected of a design of the user's own.

use serde::{Deserialize, Serialize};
use unyoke::{Appraisal, Design, Journal, OptionRow, Problem, Stop, Study, Suggestion};

use crate::front::{PointView, point_view};
use crate::model::{ModelView, models};
use crate::prospect::{AppraisalView, ProspectView};

/// A suggestion with the table it won.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuggestionView {
    /// Number of the evaluation, to be named when its result is recorded.
    pub evaluation: u64,
    /// What to measure.
    pub measurement: String,
    /// The outputs that it gives.
    pub outputs: Vec<String>,
    /// The design to measure.
    pub design: Design,
    /// What it is expected to cost.
    pub cost: f64,
    /// Expected gain per unit of cost; `None` where no model was asked.
    pub gain_per_cost: Option<f64>,
    /// The best that was found for each measurement, or for all together; empty where no model was
    /// asked, as in the initial design.
    pub options: Vec<OptionView>,
    /// The winner's place among the options.
    pub chosen: Option<usize>,
    /// What is still to be gained; `None` where no model was asked, and for algorithms that cannot tell.
    pub prospect: Option<ProspectView>,
    /// Whether it is worth its cost; `None` if the user did not say what gains are worth, or where there
    /// is no prospect.
    pub appraisal: Option<AppraisalView>,
    /// What else a user should know.
    pub notes: Vec<String>,
}

/// The best evaluation found for one measurement, or for all together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OptionView {
    /// What would be measured.
    pub measurements: Vec<String>,
    /// The design that would be measured.
    pub design: Design,
    /// Expected gain.
    pub gain: f64,
    /// What it would cost.
    pub cost: f64,
    /// Expected gain per unit of cost, by which options are compared.
    pub gain_per_cost: f64,
    /// The cost at which the choice would change; `None` without a rival.
    pub break_even_cost: Option<f64>,
}

/// What a study would evaluate next.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What it is, and the table it won.
    #[serde(flatten)]
    pub next: SuggestionView,
    /// Whether it may be evaluated: it fits into the budget, and is no repetition.
    pub possible: bool,
    /// How far the models can be trusted.
    pub models: Vec<ModelView>,
}

/// What is expected of a design, and what measuring it is worth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DesignView {
    /// The design, and what is known of each output there.
    #[serde(flatten)]
    pub point: PointView,
    /// What measuring it is worth: each measurement, or all together.
    pub options: Vec<OptionView>,
}

/// What a study would evaluate next, and why. `allowed` is what its limits allow
/// ([`Study::suggest_where`]); without it, what the study would choose if they did not matter. `stop` is
/// what gains are worth, if the user said so.
pub fn explanation<J: Journal>(
    study: &Study<J>,
    allowed: Option<&Suggestion>,
    stop: Option<&Stop>,
) -> unyoke::Result<Explanation> {
    let possible = allowed.is_some();
    let next = allowed.map_or_else(|| study.suggest(), |next| Ok(next.clone()))?;
    let appraisal = stop.map(|stop| study.appraise(stop, &next)).transpose()?.flatten();
    let next = SuggestionView::new(study.problem(), &next, appraisal.as_ref());
    Ok(Explanation { next, possible, models: models(study)? })
}

/// What is expected of a design, and what measuring it is worth. There must be values.
pub fn explain_design<J: Journal>(study: &Study<J>, design: Design) -> unyoke::Result<DesignView> {
    let worth = study.score(std::slice::from_ref(&design))?;
    let point = point_view(study, study.forecast(&design)?);
    let options = worth.iter().flatten().map(OptionView::from).collect();
    Ok(DesignView { point: PointView { design, ..point }, options })
}

impl SuggestionView {
    /// The view of a suggestion of a study of `problem`.
    pub fn new(problem: &Problem, suggestion: &Suggestion, appraisal: Option<&Appraisal>) -> Self {
        Self {
            evaluation: suggestion.evaluation,
            measurement: suggestion.measurement.clone(),
            outputs: suggestion.outputs.clone(),
            design: suggestion.design.clone(),
            cost: suggestion.cost,
            gain_per_cost: suggestion.gain_per_cost(),
            options: suggestion.options.iter().map(OptionView::from).collect(),
            chosen: suggestion.chosen,
            prospect: suggestion.prospect.as_ref().map(|one| ProspectView::new(problem, one)),
            appraisal: appraisal.map(|one| AppraisalView::new(problem, one)),
            notes: suggestion.remarks(),
        }
    }
}

impl From<&OptionRow> for OptionView {
    fn from(row: &OptionRow) -> Self {
        Self {
            measurements: row.measurements.clone(),
            design: row.design.clone(),
            gain: row.gain(),
            cost: row.cost,
            gain_per_cost: row.gain_per_cost(),
            break_even_cost: row.break_even_cost,
        }
    }
}
