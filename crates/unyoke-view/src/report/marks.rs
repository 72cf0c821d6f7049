//! What rows and shapes of a report stand for: the same design has the same key wherever it is shown.

use std::collections::HashMap;
use unyoke::Design;
use unyoke_draw::Mark;

use super::StudyReport;
use crate::evaluations::EvaluationView;

/// Evaluations that are listed, and can be pointed at, at most: the latest.
pub(super) const LISTED: usize = 2000;

/// The keys of designs.
pub(super) struct Marks {
    keys: HashMap<String, usize>,
    /// The last evaluation at each design, by its key.
    last: HashMap<usize, u64>,
    /// The first evaluation that is listed.
    first: u64,
}

impl Marks {
    pub(super) fn new(report: &StudyReport) -> Self {
        let (mut keys, mut last) = (HashMap::new(), HashMap::new());
        let mut key = |design: &Design| {
            let next = keys.len() + 1;
            *keys.entry(design.to_string()).or_insert(next)
        };
        for point in report.front.iter().flat_map(|front| &front.points) {
            key(&point.design);
        }
        for evaluation in &report.evaluations {
            last.insert(key(&evaluation.design), evaluation.evaluation);
        }
        let first = listed(&report.evaluations).first().map_or(0, |first| first.evaluation);
        Self { keys, last, first }
    }

    fn key(&self, design: &Design) -> String {
        self.keys.get(&design.to_string()).map_or_else(String::new, |key| format!("d{key}"))
    }

    /// A design of the front, by its place in the table.
    pub(super) fn of_front(&self, design: &Design, place: usize) -> Mark {
        Mark::new(self.key(design), format!("p{}", place + 1))
    }

    /// A design that was measured, by its place in the table.
    pub(super) fn of_measured(&self, design: &Design, place: usize) -> Mark {
        Mark::new(self.key(design), format!("m{}", place + 1))
    }

    /// The last evaluation at a design; nothing if it is not listed.
    pub(super) fn of_last(&self, design: &Design) -> Mark {
        let key = self.keys.get(&design.to_string());
        let last = key.and_then(|key| self.last.get(key));
        last.map_or_else(Mark::default, |last| self.of_evaluation(*last, design))
    }

    /// An evaluation; nothing if it is not listed.
    pub(super) fn of_evaluation(&self, evaluation: u64, design: &Design) -> Mark {
        match evaluation >= self.first {
            true => Mark::new(self.key(design), format!("e{evaluation}")),
            false => Mark::default(),
        }
    }
}

/// The evaluations that are listed.
pub(super) fn listed(evaluations: &[EvaluationView]) -> &[EvaluationView] {
    &evaluations[evaluations.len().saturating_sub(LISTED)..]
}
