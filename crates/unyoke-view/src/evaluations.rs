//! The evaluations of a study, one by one.

use serde::{Deserialize, Serialize};
use unyoke::{Design, Evaluation, Journal, Status, Study};

/// One evaluation, whatever became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationView {
    /// Its number.
    pub evaluation: u64,
    /// What is measured.
    pub objective: String,
    /// What became of it.
    pub status: EvaluationStatus,
    /// The value, if it is completed.
    pub value: Option<f64>,
    /// The price when it was asked for; 0 if it was imported.
    pub cost: f64,
    /// Where it comes from.
    pub origin: EvaluationOrigin,
    /// Why it failed, if it did.
    pub reason: Option<String>,
    /// The design that is measured.
    pub design: Design,
}

/// What became of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationStatus {
    /// Its result is awaited.
    Pending,
    /// It has a value.
    Completed,
    /// It ended without a value.
    Failed,
    /// It will not be made.
    Withdrawn,
}

impl EvaluationStatus {
    /// The word that stands for it in JSON and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// Where an evaluation comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvaluationOrigin {
    /// Measured elsewhere; it cost the study nothing.
    Imported,
    /// Part of the initial design.
    Initial,
    /// Chosen by the algorithm.
    Chosen,
}

impl EvaluationOrigin {
    /// The word that stands for it in JSON and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Initial => "initial",
            Self::Chosen => "chosen",
        }
    }
}

impl EvaluationView {
    /// Whether it counts as spent: it was asked for, and ended.
    pub fn is_paid(&self) -> bool {
        self.origin != EvaluationOrigin::Imported
            && matches!(self.status, EvaluationStatus::Completed | EvaluationStatus::Failed)
    }
}

/// All evaluations of a study, in the order in which they were asked for or imported.
pub fn evaluations<J: Journal>(study: &Study<J>) -> Vec<EvaluationView> {
    let names: Vec<&str> = study.problem().objectives.iter().map(|o| o.name.as_str()).collect();
    study.evaluations().iter().map(|e| view(e, names[e.objective])).collect()
}

fn view(evaluation: &Evaluation, objective: &str) -> EvaluationView {
    let (status, value, reason) = match &evaluation.status {
        Status::Pending => (EvaluationStatus::Pending, None, None),
        Status::Told(value) => (EvaluationStatus::Completed, Some(*value), None),
        Status::Failed(reason) => (EvaluationStatus::Failed, None, Some(reason.clone())),
        Status::Withdrawn => (EvaluationStatus::Withdrawn, None, None),
    };
    let origin = match (evaluation.asked, evaluation.initial) {
        (false, _) => EvaluationOrigin::Imported,
        (true, true) => EvaluationOrigin::Initial,
        (true, false) => EvaluationOrigin::Chosen,
    };
    EvaluationView {
        evaluation: evaluation.id,
        objective: objective.to_owned(),
        status,
        value,
        cost: evaluation.cost,
        origin,
        reason,
        design: evaluation.design.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::{Config, Initial, Problem};

    #[test]
    fn every_fate_of_an_evaluation_is_shown() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 5.0);
        let initial = Initial { designs: Some(4), ..Initial::default() };
        let config = Config { initial, ..Config::default() };
        let mut study = Study::with_config(problem.build().unwrap(), config, 1).unwrap();
        study.tell_result(Design::new().with("x", 0.5), "drag", 1.5).unwrap();
        // With the imported one, three make four initial designs.
        let asked = study.ask_many(4).unwrap();
        study.tell(asked[0].evaluation, 2.5).unwrap();
        study.tell_failure(asked[1].evaluation, "no licence").unwrap();
        study.withdraw(asked[2].evaluation).unwrap();
        let shown = evaluations(&study);
        let words: Vec<_> = shown.iter().map(|e| (e.origin.word(), e.status.word())).collect();
        let expected = [
            ("imported", "completed"),
            ("initial", "completed"),
            ("initial", "failed"),
            ("initial", "withdrawn"),
            ("chosen", "pending"),
        ];
        assert_eq!(words, expected);
        assert_eq!(shown[0].value, Some(1.5));
        assert_eq!((shown[1].value, shown[1].cost), (Some(2.5), 5.0));
        assert_eq!(shown[2].reason.as_deref(), Some("no licence"));
        let paid: Vec<bool> = shown.iter().map(EvaluationView::is_paid).collect();
        assert_eq!(paid, [false, true, true, false, false]);
        for view in &shown {
            let json = serde_json::to_value(view).unwrap();
            assert_eq!(json["status"], view.status.word());
            assert_eq!(json["origin"], view.origin.word());
            assert_eq!(&serde_json::from_value::<EvaluationView>(json).unwrap(), view);
        }
    }
}
