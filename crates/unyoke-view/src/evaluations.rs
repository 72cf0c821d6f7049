//! The evaluations of a study, one by one.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unyoke::{Design, Evaluation, Journal, Problem, Reading, Status, Study, Superseded};

use crate::words;

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
    /// Why it failed or was retracted, or why some outputs have no value.
    pub reason: Option<String>,
    /// The design that is measured.
    pub design: Design,
    /// What was recorded of it before it was corrected or retracted, oldest first.
    #[serde(default)]
    pub superseded: Vec<SupersededView>,
}

/// What was recorded of an evaluation, and does not hold any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SupersededView {
    /// What was said to have become of it.
    pub status: EvaluationStatus,
    /// The values, by output.
    pub values: BTreeMap<String, ReadingView>,
    /// Why it was said to have failed, or to have been retracted.
    pub reason: Option<String>,
    /// What it was said to have cost.
    pub spent: f64,
    /// Where it was said to have been made.
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
    /// It was made, but what came out does not count.
    Retracted,
}

impl EvaluationStatus {
    /// The word that stands for it in JSON and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Withdrawn => "withdrawn",
            Self::Retracted => "retracted",
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
    /// It was a design of the user's own.
    Queued,
}

impl EvaluationOrigin {
    /// The word that stands for it in JSON and in tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Imported => "imported",
            Self::Initial => "initial",
            Self::Chosen => "chosen",
            Self::Confirmation => "confirmation",
            Self::Queued => "queued",
        }
    }
}

impl EvaluationOrigin {
    /// The phase of the study that it belongs to, as people read it.
    pub fn phase(self) -> &'static str {
        match self.word() {
            "initial" => "initial design",
            "chosen" => "search",
            other => other,
        }
    }
}

impl EvaluationView {
    /// Whether it counts as spent: it was asked for, and ended.
    pub fn is_paid(&self) -> bool {
        use EvaluationStatus::{Completed, Failed, Retracted};
        self.origin != EvaluationOrigin::Imported
            && matches!(self.status, Completed | Failed | Retracted)
    }

    /// What was recorded of it one after the other, if it was corrected or retracted: `35, corrected
    /// to 3.5`, or `1e6, retracted (wrong mesh)`.
    pub fn changes(&self) -> Option<String> {
        let mut states: Vec<State<'_>> = self.superseded.iter().map(State::of).collect();
        states.push(State {
            status: self.status,
            values: &self.values,
            reason: self.reason.as_deref(),
            spent: self.spent,
            design: &self.design,
        });
        let (first, later) = states.split_first()?;
        if later.is_empty() {
            return None;
        }
        let steps = states.windows(2).map(|pair| pair[1].after(&pair[0]));
        Some(std::iter::once(first.result()).chain(steps).collect::<Vec<_>>().join(", "))
    }
}

/// What was recorded of an evaluation at some time.
struct State<'a> {
    status: EvaluationStatus,
    values: &'a BTreeMap<String, ReadingView>,
    reason: Option<&'a str>,
    spent: f64,
    design: &'a Design,
}

impl<'a> State<'a> {
    fn of(superseded: &'a SupersededView) -> Self {
        let SupersededView { status, values, reason, spent, design } = superseded;
        Self { status: *status, values, reason: reason.as_deref(), spent: *spent, design }
    }

    /// What came out: `3.5`, `lift = 1.2, drag = 0.3` or `failed (no licence)`.
    fn result(&self) -> String {
        let one = |reading: &ReadingView| words::reading(reading.value, reading.sd);
        let pair = |(name, reading): (&String, &ReadingView)| format!("{name} = {}", one(reading));
        let values: Vec<&ReadingView> = self.values.values().collect();
        match (&values[..], self.reason) {
            ([], Some(reason)) => format!("{} ({})", self.status.word(), words::one_line(reason)),
            ([], None) => self.status.word().to_owned(),
            ([only], None) => one(only),
            _ => self.values.iter().map(pair).collect::<Vec<_>>().join(", "),
        }
    }

    /// Of several values those that are others than `before`, if nothing else has changed.
    fn other_values(&self, before: &Self) -> Option<String> {
        let has_same_outputs = self.values.keys().eq(before.values.keys());
        if !has_same_outputs || self.values.len() < 2 || self.reason != before.reason {
            return None;
        }
        let is_other =
            |(name, reading): &(&String, &ReadingView)| before.values[*name] != **reading;
        let pair = |(name, reading): (&String, &ReadingView)| {
            format!("{name} = {}", words::reading(reading.value, reading.sd))
        };
        Some(self.values.iter().filter(is_other).map(pair).collect::<Vec<_>>().join(", "))
    }

    /// What has changed since `before`.
    fn after(&self, before: &Self) -> String {
        if self.status == EvaluationStatus::Retracted {
            return self.result();
        }
        let mut changed = vec![];
        if self.result() != before.result() {
            changed.push(self.other_values(before).unwrap_or_else(|| self.result()));
        }
        if self.spent != before.spent {
            changed.push(format!("a cost of {}", words::short(self.spent)));
        }
        if self.design != before.design {
            let names = self.design.iter().map(|(name, _)| name);
            changed.push(words::one_line(&words::pairs(names, self.design, words::value)));
        }
        match changed.is_empty() {
            true => "confirmed".to_owned(),
            false => format!("corrected to {}", changed.join(" and ")),
        }
    }
}

/// All evaluations of a study, in the order in which they were asked for or imported.
pub fn evaluations<J: Journal>(study: &Study<J>) -> Vec<EvaluationView> {
    study.evaluations().iter().map(|e| view(e, study.problem())).collect()
}

/// One evaluation of a study, by its number.
pub fn evaluation<J: Journal>(study: &Study<J>, number: u64) -> Option<EvaluationView> {
    let place = usize::try_from(number).ok()?;
    study.evaluations().get(place).map(|e| view(e, study.problem()))
}

/// A status in the words of views: in a word, with its values by output, and the reason.
fn shown(
    status: &Status,
    problem: &Problem,
) -> (EvaluationStatus, BTreeMap<String, ReadingView>, Option<String>) {
    let none = BTreeMap::new;
    match status {
        Status::Pending => (EvaluationStatus::Pending, none(), None),
        Status::Completed(results) => {
            let name = |output: usize| problem.outputs[output].name.clone();
            let values = results.iter().map(|(output, reading)| (name(output), reading.into()));
            (EvaluationStatus::Completed, values.collect(), results.missing.clone())
        }
        Status::Failed(reason) => (EvaluationStatus::Failed, none(), Some(reason.clone())),
        Status::Withdrawn => (EvaluationStatus::Withdrawn, none(), None),
        Status::Retracted(reason) => (EvaluationStatus::Retracted, none(), reason.clone()),
    }
}

/// One of them, in the words of its problem.
pub(crate) fn view(evaluation: &Evaluation, problem: &Problem) -> EvaluationView {
    let name = |output: usize| problem.outputs[output].name.clone();
    let (status, values, reason) = shown(&evaluation.status, problem);
    let superseded = |earlier: &Superseded| {
        let (status, values, reason) = shown(&earlier.status, problem);
        let spent = evaluation.sunk + earlier.paid.unwrap_or(evaluation.cost);
        SupersededView { status, values, reason, spent, design: earlier.design.clone() }
    };
    let origin = match (evaluation.asked, evaluation.initial, evaluation.confirms) {
        (false, ..) => EvaluationOrigin::Imported,
        (true, true, _) => EvaluationOrigin::Initial,
        (true, false, Some(_)) => EvaluationOrigin::Confirmation,
        (true, false, None) if evaluation.queued.is_some() => EvaluationOrigin::Queued,
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
        superseded: evaluation.superseded.iter().map(superseded).collect(),
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

    #[test]
    fn of_several_outputs_only_corrected_ones_are_told_again() {
        let outputs = Problem::builder().continuous("x", 0.0, 1.0).output(Output::minimise("drag"));
        let outputs = outputs.output(Output::maximise("lift"));
        let both = outputs.measurement(Measurement::new("cfd", ["drag", "lift"], 4.0));
        let mut study = Study::new(both.build().unwrap()).unwrap();
        let id = study.ask().unwrap().evaluation;
        study.tell(id, Outcome::from([("drag", 30.0), ("lift", 1.2)])).unwrap();
        study.correct(id, Outcome::from([("drag", 0.3)])).unwrap();
        let changes = evaluations(&study)[0].changes().unwrap();
        assert_eq!(changes, "drag = 30, lift = 1.2, corrected to drag = 0.3");
    }

    #[test]
    fn what_was_corrected_or_retracted_shows_what_was_recorded_before() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 5.0);
        let mut study = Study::new(problem.build().unwrap()).unwrap();
        let ids: Vec<u64> = study.ask_many(5).unwrap().iter().map(|s| s.evaluation).collect();
        study.tell(ids[0], 35.0).unwrap();
        study.correct(ids[0], Reading { value: 3.5, sd: Some(0.25) }).unwrap();
        study.correct(ids[0], Outcome::default().cost(2.5)).unwrap();
        study.tell(ids[1], 1e6).unwrap();
        study.retract(ids[1], Some("wrong mesh")).unwrap();
        study.tell_failure(ids[2], "no answer").unwrap();
        study.correct(ids[2], 1.5).unwrap();
        study.tell(ids[3], 2.0).unwrap();
        study.correct(ids[3], Outcome::from(2.0).at(Design::new().with("x", 0.125))).unwrap();
        study.tell(ids[4], 2.0).unwrap();
        let shown = evaluations(&study);
        let changes: Vec<_> = shown.iter().map(|e| e.changes().unwrap_or_default()).collect();
        let expected = [
            "35, corrected to 3.50 ± 0.25, corrected to a cost of 2.5",
            "1.000e6, retracted (wrong mesh)",
            "failed (no answer), corrected to 1.5",
            "2, corrected to x=0.125",
            "",
        ];
        assert_eq!(changes, expected);
        assert_eq!(shown[0].superseded[0].values["drag"], ReadingView { value: 35.0, sd: None });
        assert_eq!((shown[0].superseded[1].spent, shown[0].spent), (5.0, 2.5));
        assert_eq!((shown[1].status.word(), shown[1].values.len()), ("retracted", 0));
        assert_eq!((shown[1].is_paid(), shown[1].spent), (true, 5.0));
        assert_eq!(shown[1].reason.as_deref(), Some("wrong mesh"));
        for view in &shown {
            let json = serde_json::to_value(view).unwrap();
            assert_eq!(json["superseded"].as_array().unwrap().len(), view.superseded.len());
            assert_eq!(&serde_json::from_value::<EvaluationView>(json).unwrap(), view);
        }
    }
}
