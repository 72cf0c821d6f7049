//! The evaluations of a study, one by one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unyoke::{Design, Evaluation, Journal, Problem, Reading, Status, Study};

/// One evaluation, whatever became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationView {
    /// Its number.
    pub evaluation: u64,
    /// What is measured; `None` if it was imported.
    pub measurement: Option<String>,
    /// The outputs that it gives.
    pub outputs: Vec<String>,
    /// What became of it.
    pub status: EvaluationStatus,
    /// The values, by output, if it is completed.
    pub values: BTreeMap<String, ReadingView>,
    /// What it was expected to cost when it was asked for; 0 if it was imported.
    pub cost: f64,
    /// What has been paid for it so far.
    pub spent: f64,
    /// Where it comes from.
    pub origin: EvaluationOrigin,
    /// Why it failed, or why some outputs have no value.
    pub reason: Option<String>,
    /// The design that is measured.
    pub design: Design,
}

/// A measured value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ReadingView {
    /// The value.
    pub value: f64,
    /// Its standard error, where that is known.
    pub sd: Option<f64>,
}

impl From<Reading> for ReadingView {
    fn from(Reading { value, sd }: Reading) -> Self {
        Self { value, sd }
    }
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
    /// Made to confirm a recommended design.
    Confirmation,
}

impl EvaluationOrigin {
    /// The word that stands for it in JSON and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Initial => "initial",
            Self::Chosen => "chosen",
            Self::Confirmation => "confirmation",
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
    study.evaluations().iter().map(|e| view(e, study.problem())).collect()
}

fn view(evaluation: &Evaluation, problem: &Problem) -> EvaluationView {
    let name = |output: usize| problem.outputs[output].name.clone();
    let mut values = BTreeMap::new();
    let (status, reason) = match &evaluation.status {
        Status::Pending => (EvaluationStatus::Pending, None),
        Status::Completed(results) => {
            values.extend(results.iter().map(|(output, reading)| (name(output), reading.into())));
            (EvaluationStatus::Completed, results.missing.clone())
        }
        Status::Failed(reason) => (EvaluationStatus::Failed, Some(reason.clone())),
        Status::Withdrawn => (EvaluationStatus::Withdrawn, None),
    };
    let origin = match (evaluation.asked, evaluation.initial, evaluation.confirms) {
        (false, ..) => EvaluationOrigin::Imported,
        (true, true, _) => EvaluationOrigin::Initial,
        (true, false, Some(_)) => EvaluationOrigin::Confirmation,
        (true, false, None) => EvaluationOrigin::Chosen,
    };
    EvaluationView {
        evaluation: evaluation.id,
        measurement: evaluation.measurement.map(|m| problem.measurements[m].name.clone()),
        outputs: evaluation.outputs.iter().map(|output| name(*output)).collect(),
        status,
        values,
        cost: evaluation.cost,
        spent: evaluation.spent(),
        origin,
        reason,
        design: evaluation.design.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::{Config, Initial, Problem};
    use unyoke::{Measurement, Outcome, Output};

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
        let value = |e: &EvaluationView| e.values.get("drag").map(|reading| reading.value);
        assert_eq!((value(&shown[0]), &shown[0].measurement), (Some(1.5), &None));
        assert_eq!((value(&shown[1]), shown[1].cost), (Some(2.5), 5.0));
        assert_eq!(shown[1].measurement.as_deref(), Some("drag"));
        assert_eq!((value(&shown[2]), &shown[2].outputs[..]), (None, &["drag".to_owned()][..]));
        assert_eq!(shown[2].reason.as_deref(), Some("no licence"));
        let paid: Vec<bool> = shown.iter().map(EvaluationView::is_paid).collect();
        assert_eq!(paid, [false, true, true, false, false]);
        let spent: Vec<f64> = shown.iter().map(|view| view.spent).collect();
        assert_eq!(spent, [0.0, 5.0, 5.0, 0.0, 0.0]);
        for view in &shown {
            let json = serde_json::to_value(view).unwrap();
            assert_eq!(json["status"], view.status.word());
            assert_eq!(json["origin"], view.origin.word());
            assert_eq!(&serde_json::from_value::<EvaluationView>(json).unwrap(), view);
        }
    }

    #[test]
    fn an_evaluation_shows_all_its_values_and_why_some_are_missing() {
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .output(Output::maximise("lift"))
            .output(Output::minimise("drag"))
            .output(Output::at_most("stress", 2.0))
            .measurement(Measurement::new("cfd", ["lift", "drag", "stress"], 4.0));
        let mut study = Study::new(problem.build().unwrap()).unwrap();
        let asked = study.ask().unwrap().evaluation;
        let outcome = Outcome::from([("lift", 1.5)]).missing("no wake found").cost(2.5);
        let drag = Reading { value: 0.3, sd: Some(0.05) };
        study.tell(asked, outcome.value("drag", drag)).unwrap();
        let [shown] = &evaluations(&study)[..] else { panic!("one evaluation") };
        assert_eq!(shown.measurement.as_deref(), Some("cfd"));
        assert_eq!(shown.outputs, ["lift", "drag", "stress"]);
        assert_eq!(shown.values.len(), 2);
        assert_eq!(shown.values["drag"], ReadingView { value: 0.3, sd: Some(0.05) });
        assert_eq!(shown.reason.as_deref(), Some("no wake found"));
        assert_eq!((shown.cost, shown.spent), (4.0, 2.5));
    }
}
