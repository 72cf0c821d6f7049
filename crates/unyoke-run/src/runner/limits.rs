//! What may be started: budget and slots.

use unyoke::{Evaluation, Journal, Permission, Status, Study};

use crate::study_file::{Budget, RunSettings};

/// Sums of prices may be off by their last bits.
const SLACK: f64 = 1e-9;

/// Budget and slots, and what runs here now.
#[derive(Debug, Clone)]
pub struct Limits<'a> {
    budget: &'a Budget,
    run: &'a RunSettings,
    /// For each evaluation that runs here, its objective.
    running: Vec<usize>,
}

impl<'a> Limits<'a> {
    /// Limits of a program that runs an evaluation of each objective listed in `running`.
    pub fn new(budget: &'a Budget, run: &'a RunSettings, running: Vec<usize>) -> Self {
        Self { budget, run, running }
    }

    /// Whether these objectives may be evaluated at a design, the first of them now.
    ///
    /// What is under way anywhere counts as spent, so that nothing is begun that exceeds the budget.
    pub fn permission<J: Journal>(&self, study: &Study<J>, objectives: &[usize]) -> Permission {
        if !self.fits_cost(study, objectives) || !self.fits_counts(study, objectives) {
            return Permission::Never;
        }
        match objectives.first() {
            Some(first) if !self.has_slot(*first) => Permission::Later,
            _ => Permission::Granted,
        }
    }

    /// Whether another evaluation of this objective may run here now.
    pub(super) fn has_slot(&self, objective: usize) -> bool {
        let here = self.running.iter().filter(|running| **running == objective).count();
        let most = self.run.objectives.get(objective).and_then(|run| run.slots);
        self.running.len() < self.run.slots && most.is_none_or(|most| here < most)
    }

    fn fits_cost<J: Journal>(&self, study: &Study<J>, objectives: &[usize]) -> bool {
        let Some(budget) = self.budget.cost else { return true };
        let named = objectives.iter().map(|m| &study.problem().objectives[*m].name);
        let price: f64 = named.filter_map(|name| study.cost(name).ok()).sum();
        study.committed() + price <= budget * (1.0 + SLACK)
    }

    fn fits_counts<J: Journal>(&self, study: &Study<J>, objectives: &[usize]) -> bool {
        objectives.iter().all(|m| {
            let name = &study.problem().objectives[*m].name;
            let Some(most) = self.budget.evaluations.get(name) else { return true };
            let counts =
                |e: &&Evaluation| e.asked && e.objective == *m && e.status != Status::Withdrawn;
            (study.evaluations().iter().filter(counts).count() as u64) < *most
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudyFile;
    use Permission::{Granted, Later, Never};
    use unyoke::Design;

    const TEXT: &str = "
        [budget]
        cost = 12
        evaluations = { drag = 1 }
        [run]
        slots = 3
        [parameters.x]
        low = 0
        high = 1
        [objectives.mass]
        goal = \"minimise\"
        cost = 1
        slots = 2
        [objectives.drag]
        goal = \"minimise\"
        cost = 10
    ";

    fn file(text: &str) -> StudyFile {
        StudyFile::parse("study.toml", text.as_bytes()).unwrap()
    }

    fn permission(
        file: &StudyFile,
        study: &Study,
        running: &[usize],
        wanted: &[usize],
    ) -> Permission {
        Limits::new(&file.budget, &file.run, running.to_vec()).permission(study, wanted)
    }

    #[test]
    fn slots_are_counted_in_all_and_by_objective() {
        let file = file(TEXT);
        let study = Study::new(file.problem.clone()).unwrap();
        assert_eq!(permission(&file, &study, &[], &[0]), Granted);
        assert_eq!(permission(&file, &study, &[0, 0], &[0]), Later);
        assert_eq!(permission(&file, &study, &[0, 0], &[1]), Granted);
        assert_eq!(permission(&file, &study, &[0, 0, 1], &[1]), Later);
    }

    #[test]
    fn what_is_under_way_and_what_goes_together_counts() {
        let file = file(TEXT);
        let mut study = Study::new(file.problem.clone()).unwrap();
        assert_eq!(permission(&file, &study, &[], &[0, 1]), Granted);
        study.ask().unwrap();
        study.ask().unwrap();
        assert_eq!(study.committed(), 11.0);
        assert_eq!(permission(&file, &study, &[], &[0]), Granted);
        assert_eq!(permission(&file, &study, &[], &[0, 1]), Never);
        study.ask().unwrap();
        assert_eq!(permission(&file, &study, &[], &[0]), Never);
    }

    #[test]
    fn counts_are_of_evaluations_asked_for() {
        let file = file(&TEXT.replace("cost = 12", ""));
        let mut study = Study::new(file.problem.clone()).unwrap();
        study.tell_result(Design::new().with("x", 0.5), "drag", 1.0).unwrap();
        assert_eq!(permission(&file, &study, &[], &[1]), Granted);
        let asked = [study.ask().unwrap(), study.ask().unwrap()];
        let drag = asked.iter().find(|suggestion| suggestion.objective == "drag").unwrap();
        assert_eq!(permission(&file, &study, &[], &[1]), Never);
        study.withdraw(drag.evaluation).unwrap();
        assert_eq!(permission(&file, &study, &[], &[1]), Granted);
    }

    #[test]
    fn a_sum_of_tenths_fits() {
        let text = TEXT.replace("cost = 12", "cost = 0.3").replace("cost = 1\n", "cost = 0.1\n");
        let file = file(&text);
        let mut study = Study::new(file.problem.clone()).unwrap();
        for _ in 0..3 {
            let limits = Limits::new(&file.budget, &file.run, vec![]);
            assert!(study.ask_where(|s, o| limits.permission(s, o)).unwrap().is_some());
        }
        assert_eq!(permission(&file, &study, &[], &[0]), Never);
    }
}
