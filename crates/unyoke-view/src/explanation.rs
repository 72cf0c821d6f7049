//! What to evaluate next, and why; and what is expected of a design of the user's own.

use serde::{Deserialize, Serialize};
use unyoke::{
    Appraisal, Design, Journal, Obstacle, OptionRow, Problem, Scores, Stop, Study, Suggestion,
};

use crate::front::{PointView, point_view};
use crate::model::{ModelView, models};
use crate::prospect::{AppraisalView, ProspectView};
use crate::words::{share, short};

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
    /// Why not, if it may not.
    #[serde(default)]
    pub obstacle: Option<Obstacle>,
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
    /// The range of the utilities on the front, of which gains are shares; `None` for algorithms whose gains
    /// are something else.
    pub range: Option<f64>,
}

/// What a study would evaluate next, and why. `allowed` is what its limits allow
/// ([`Study::suggest_where`]); without it, what the study would choose if they did not matter. `stop` is
/// what gains are worth, if the user said so.
pub fn explanation<J: Journal>(
    study: &Study<J>,
    allowed: Option<&Suggestion>,
    stop: Option<&Stop>,
) -> unyoke::Result<Explanation> {
    let next = allowed.map_or_else(|| study.suggest(), |next| Ok(next.clone()))?;
    let obstacle = allowed.is_none().then(|| Obstacle::of(&next));
    let appraisal = stop.map(|stop| study.appraise(stop, &next)).transpose()?.flatten();
    let next = SuggestionView::new(study.problem(), &next, appraisal.as_ref());
    Ok(Explanation { next, possible: obstacle.is_none(), obstacle, models: models(study)? })
}

/// What is expected of designs, and what measuring them is worth. There must be values.
pub fn explain_designs<J: Journal>(
    study: &Study<J>,
    designs: &[Design],
) -> unyoke::Result<Vec<DesignView>> {
    let Scores { options, range } = study.scores(designs)?;
    let points = study.forecasts(designs)?.into_iter().map(|point| point_view(study, point));
    let explain = |(design, (point, options)): (&Design, (PointView, Vec<OptionRow>))| {
        let options = options.iter().map(OptionView::from).collect();
        DesignView { point: PointView { design: design.clone(), ..point }, options, range }
    };
    Ok(designs.iter().zip(points.zip(options)).map(explain).collect())
}

impl DesignView {
    /// How gains are told.
    pub fn gain_unit(&self) -> GainUnit {
        GainUnit::new(self.range)
    }
}

impl SuggestionView {
    /// What is said of gains: as percentages of the range of the front, where that has one; otherwise in the
    /// units in which objectives are weighed.
    pub fn gain_unit(&self) -> GainUnit {
        GainUnit::new(self.prospect.as_ref().map(|prospect| prospect.range))
    }

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

/// How gains are told to people.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GainUnit {
    range: Option<f64>,
}

impl GainUnit {
    fn new(range: Option<f64>) -> Self {
        Self { range: range.filter(|range| *range > 0.0) }
    }

    /// The heads of columns with gains, and with gains per unit of cost.
    pub fn heads(&self) -> [&'static str; 2] {
        match self.range {
            Some(_) => ["gain, % of the front's range", "per unit of cost"],
            None => ["expected gain", "gain per cost"],
        }
    }

    /// A gain, as people read it.
    pub fn words(&self, gain: f64) -> String {
        match self.range {
            // More digits than the models are good for would only distract.
            Some(range) => share(gain / range),
            None => short(gain),
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

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Permission;

    #[test]
    fn gains_are_shares_of_the_front_where_it_has_a_range() {
        let unit = GainUnit { range: Some(4.0) };
        assert_eq!([0.1, 1e-9, 8.0].map(|gain| unit.words(gain)), ["2.5 %", "< 0.01 %", "200 %"]);
        assert_eq!(GainUnit { range: None }.words(0.1), "0.1");
        assert_eq!(GainUnit { range: None }.heads(), ["expected gain", "gain per cost"]);
    }

    #[test]
    fn a_spent_budget_and_an_exhausted_study_are_told_apart() {
        let problem = Problem::builder().integer("n", 1, 3).minimise("f", 5.0).build().unwrap();
        let mut study = Study::new(problem).unwrap();
        let of = |study: &Study, granted: Permission| {
            let allowed = study.suggest_where(|_, _| granted).unwrap();
            explanation(study, allowed.as_ref(), None).unwrap().obstacle
        };
        assert_eq!(of(&study, Permission::Granted), None);
        assert_eq!(of(&study, Permission::Never), Some(Obstacle::Budget));
        for n in 1..=3 {
            study.tell_result(Design::new().with("n", n), "f", f64::from(n)).unwrap();
        }
        assert_eq!(of(&study, Permission::Granted), Some(Obstacle::Exhausted));
    }
}
