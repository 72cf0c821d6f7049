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
    /// The last evaluation at each design, by its key.
    last: HashMap<String, u64>,
    /// The first evaluation that is listed.
    first: u64,
}

impl Marks {
    pub(super) fn new(report: &StudyReport) -> Self {
        let all = report.evaluations.iter();
        let last = all.map(|e| (design_key(&e.design), e.evaluation)).collect();
        let first = listed(&report.evaluations).first().map_or(0, |first| first.evaluation);
        Self { last, first }
    }

    /// A design of the front, by its place in the table.
    pub(super) fn of_front(&self, design: &Design, place: usize) -> Mark {
        Mark::new(design_key(design), format!("p{}", place + 1))
    }

    /// A design that was measured, by its place in the table.
    pub(super) fn of_measured(&self, design: &Design, place: usize) -> Mark {
        Mark::new(design_key(design), format!("m{}", place + 1))
    }

    /// The last evaluation at a design; nothing if it is not listed.
    pub(super) fn of_last(&self, design: &Design) -> Mark {
        let last = self.last.get(&design_key(design));
        last.map_or_else(Mark::default, |last| self.of_evaluation(*last, design))
    }

    /// An evaluation; nothing if it is not listed.
    pub(super) fn of_evaluation(&self, evaluation: u64, design: &Design) -> Mark {
        match evaluation >= self.first {
            true => Mark::new(design_key(design), format!("e{evaluation}")),
            false => Mark::default(),
        }
    }
}

/// The key of a design. It depends on nothing else, so that a selected design stays selected when a page is made anew.
pub fn design_key(design: &Design) -> String {
    // FNV-1a, whose figures are fixed: keys must agree between versions of a page.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = design.to_string().bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("d{hash:016x}")
}

/// The evaluations that are listed.
pub(super) fn listed(evaluations: &[EvaluationView]) -> &[EvaluationView] {
    &evaluations[evaluations.len().saturating_sub(LISTED)..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_design_depends_on_its_values_alone() {
        let design = Design::new().with("x", 0.5);
        assert_eq!(design_key(&design), design_key(&Design::new().with("x", 0.5)));
        assert_ne!(design_key(&design), design_key(&Design::new().with("x", 0.25)));
        assert!(design_key(&design).starts_with('d') && design_key(&design).len() == 17);
    }
}
