//! What may be started: budget, slots, pauses, and what the user wants to be made now.

use std::time::{SystemTime, UNIX_EPOCH};

use unyoke::{Cost, Evaluation, Journal, Permission, Status, Study};

use super::failing::of;
use crate::study_file::{Budget, Executor, RunSettings};

/// Sums of prices may be off by their last bits.
const SLACK: f64 = 1e-9;

/// Budget and slots, and what runs here now.
#[derive(Debug, Clone)]
pub struct Limits<'a> {
    budget: &'a Budget,
    /// The most that may be spent.
    most: Option<f64>,
    run: &'a RunSettings,
    /// For each evaluation that runs here, its measurement.
    running: Vec<usize>,
    /// Where commands are run: the evaluations that people make by hand.
    trials: Option<Vec<u64>>,
    /// The only measurements that may be made now, by name; all if there is none.
    only: &'a [String],
    /// When that is, in seconds since the beginning of 1970, UTC; not where pauses do not count.
    now: Option<u64>,
    /// Measurements that are not begun any more, because they would not end in time.
    too_long: Vec<usize>,
}

/// The time by which pauses end, in seconds since the beginning of 1970, UTC.
pub fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}

impl<'a> Limits<'a> {
    /// Limits of a program that runs an evaluation of each measurement listed in `running`.
    pub fn new(budget: &'a Budget, run: &'a RunSettings, running: Vec<usize>) -> Self {
        let (most, now) = (budget.cost, Some(now()));
        Self { budget, most, run, running, trials: None, only: &[], now, too_long: vec![] }
    }

    /// The same without these measurements, which would not end in time.
    #[must_use]
    pub fn without(self, too_long: Vec<usize>) -> Self {
        Self { too_long, ..self }
    }

    /// The same where so much may be spent, whatever the budget says.
    #[must_use]
    pub(super) fn spending(self, most: Option<f64>) -> Self {
        Self { most, ..self }
    }

    /// The same where commands are run, which may be broken. The evaluations in `by_hand` say nothing
    /// about them.
    #[must_use]
    pub fn with_trials(self, by_hand: Vec<u64>) -> Self {
        Self { trials: Some(by_hand), ..self }
    }

    /// The same where only some measurements are to be made, by name; all if none is named.
    #[must_use]
    pub fn only(self, only: &'a [String]) -> Self {
        Self { only, ..self }
    }

    /// The same as if nothing were paused.
    #[must_use]
    pub fn without_pauses(self) -> Self {
        Self { now: None, ..self }
    }

    /// Whether a measurement is neither paused nor left out by the user.
    pub fn is_open<J: Journal>(&self, study: &Study<J>, measurement: usize) -> bool {
        let is_paused =
            |now: u64| study.pause_of(measurement).is_some_and(|pause| pause.holds_at(now));
        let name = study.problem().measurements.get(measurement).map(|m| &m.name);
        let is_wanted = self.only.is_empty() || name.is_some_and(|name| self.only.contains(name));
        is_wanted && !self.now.is_some_and(is_paused)
    }

    /// The measurements that are paused, by their places.
    pub fn paused<J: Journal>(&self, study: &Study<J>) -> Vec<usize> {
        let Some(now) = self.now else { return vec![] };
        let is_paused = |m: &usize| study.pause_of(*m).is_some_and(|pause| pause.holds_at(now));
        (0..study.problem().measurements.len()).filter(is_paused).collect()
    }

    /// Whether these measurements may be made at a design, the first of them now.
    ///
    /// What is under way anywhere counts as spent, so that nothing is begun that exceeds the budget.
    pub fn permission<J: Journal>(&self, study: &Study<J>, measurements: &[usize]) -> Permission {
        let trials: Vec<Trial> = measurements.iter().map(|m| self.trial(study, *m)).collect();
        let affordable = self.affordable(study, measurements);
        if affordable == Permission::Never
            || !measurements.iter().all(|m| self.is_open(study, *m))
            || !self.fits_counts(study, measurements)
            || trials.contains(&Trial::Failed)
            || measurements.iter().any(|m| self.too_long.contains(m))
        {
            return Permission::Never;
        }
        match measurements.first() {
            Some(first) if !self.has_slot(*first) => Permission::Later,
            Some(first) if self.is_in_hands(study, *first) => Permission::Later,
            _ if trials.contains(&Trial::UnderWay) => Permission::Later,
            _ => affordable,
        }
    }

    /// Whether another evaluation of this measurement may run now.
    pub fn has_slot(&self, measurement: usize) -> bool {
        self.free_slots(measurement) > 0
    }

    /// How many more evaluations of this measurement may run now. Jobs of a scheduler have slots of their
    /// own, since `[run]` counts what this machine does.
    pub(super) fn free_slots(&self, measurement: usize) -> usize {
        let here = self.running.iter().filter(|running| **running == measurement).count();
        let run = self.run.measurements.get(measurement);
        let most = run.and_then(|run| run.slots);
        match run.map(|run| &run.executor) {
            // People are not counted here but in the study.
            Some(Executor::Hand) => usize::MAX,
            Some(executor) if executor.is_batch() => {
                most.unwrap_or(self.run.slots).saturating_sub(here)
            }
            _ => {
                let local = self.running.iter().filter(|m| !self.is_batch(**m)).count();
                let free = self.run.slots.saturating_sub(local);
                most.map_or(free, |most| free.min(most.saturating_sub(here)))
            }
        }
    }

    fn is_batch(&self, measurement: usize) -> bool {
        let run = self.run.measurements.get(measurement);
        run.is_some_and(|run| run.executor.is_batch())
    }

    /// Whether people have as many evaluations of a measurement to make by hand as they may have, where
    /// that is not for them to say.
    fn is_in_hands<J: Journal>(&self, study: &Study<J>, measurement: usize) -> bool {
        let run = self.run.measurements.get(measurement);
        let Some(run) = run.filter(|run| run.executor == Executor::Hand && self.trials.is_some())
        else {
            return false;
        };
        let pending = of(study, measurement).filter(|e| e.status == Status::Pending).count();
        pending >= run.slots.unwrap_or(1)
    }

    /// Whether a measurement works, as far as anybody can tell.
    pub(super) fn trial<J: Journal>(&self, study: &Study<J>, measurement: usize) -> Trial {
        let Some(by_hand) = &self.trials else { return Trial::Passed };
        let run = self.run.measurements.get(measurement);
        if run.is_some_and(|run| run.executor == Executor::Hand) {
            return Trial::Passed;
        }
        let (mut pending, mut failed) = (0, 0);
        for evaluation in of(study, measurement) {
            match evaluation.status {
                Status::Completed(_) => return Trial::Passed,
                Status::Failed(_) => failed += 1,
                Status::Pending if !by_hand.contains(&evaluation.id) => pending += 1,
                Status::Pending | Status::Withdrawn | Status::Retracted(_) => {}
            }
        }
        match pending + failed < self.run.trials {
            true => Trial::Begun,
            false if pending > 0 => Trial::UnderWay,
            false => Trial::Failed,
        }
    }

    /// Whether the budget pays for these, and if that depends on the design, up to which cost.
    fn affordable<J: Journal>(&self, study: &Study<J>, measurements: &[usize]) -> Permission {
        let Some(budget) = self.most else { return Permission::Granted };
        let named = measurements.iter().map(|m| &study.problem().measurements[*m].name);
        let costs: Vec<&Cost> = named.filter_map(|name| study.cost(name).ok()).collect();
        let constant = |cost: &&Cost| match cost {
            Cost::Constant(cost) => Some(*cost),
            Cost::Formula(_) | Cost::Learned(_) => None,
        };
        let price: f64 = costs.iter().filter_map(constant).sum();
        let left = budget * (1.0 + SLACK) - study.committed();
        match costs.iter().all(|cost| constant(cost).is_some()) {
            true if price <= left => Permission::Granted,
            false if price < left => Permission::UpTo(left),
            true | false => Permission::Never,
        }
    }

    fn fits_counts<J: Journal>(&self, study: &Study<J>, measurements: &[usize]) -> bool {
        measurements.iter().all(|m| {
            let name = &study.problem().measurements[*m].name;
            let Some(most) = self.budget.evaluations.get(name) else { return true };
            let counts = |e: &&Evaluation| e.status != Status::Withdrawn;
            (of(study, *m).filter(counts).count() as u64) < *most
        })
    }
}

/// Whether a measurement works: a broken command must be told from designs that cannot be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trial {
    /// It has given a value.
    Passed,
    /// It has not, but may be tried once more.
    Begun,
    /// As many as may be begun are under way, or have failed.
    UnderWay,
    /// All of them have failed.
    Failed,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StudyFile;
    use Permission::{Granted, Later, Never, UpTo};
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
    fn slots_are_counted_in_all_and_by_measurement() {
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
        let drag = asked.iter().find(|suggestion| suggestion.measurement == "drag").unwrap();
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

    #[test]
    fn what_depends_on_the_design_may_cost_what_is_left() {
        for cost in
            ["'1 + x'", "{ learn = 'time', guess = 3 }", "{ learn = 'reported', guess = 3 }"]
        {
            let file = file(&TEXT.replacen("cost = 1\n", &format!("cost = {cost}\n"), 1));
            let mut study = Study::new(file.problem.clone()).unwrap();
            let left = |study: &Study, wanted: &[usize]| match permission(&file, study, &[], wanted)
            {
                UpTo(most) => most,
                other => panic!("{other:?}"),
            };
            assert!((left(&study, &[0]) - 12.0).abs() < 1e-6);
            assert_eq!(permission(&file, &study, &[], &[1]), Granted);
            assert!((left(&study, &[0, 1]) - 12.0).abs() < 1e-6, "for both together");
            let only = |m: usize| {
                move |_: &Study, which: &[usize]| if which == [m] { Granted } else { Never }
            };
            let mass = study.ask_where(only(0)).unwrap().unwrap();
            assert!((left(&study, &[0]) - (12.0 - mass.cost)).abs() < 1e-6);
            study.tell(mass.evaluation, unyoke::Outcome::from(1.0).cost(5.0)).unwrap();
            assert!((left(&study, &[0]) - 7.0).abs() < 1e-6, "what was really spent counts");
            assert_eq!(permission(&file, &study, &[], &[0, 1]), Never, "drag alone costs 10");
        }
    }

    #[test]
    fn what_is_paused_or_left_out_is_not_made() {
        let file = file(TEXT);
        let mut study = Study::new(file.problem.clone()).unwrap();
        let limits = || Limits::new(&file.budget, &file.run, vec![]);
        let pause = |until: Option<u64>| unyoke::Pause { until, reason: None };
        study.pause("mass", pause(None)).unwrap();
        assert_eq!(limits().permission(&study, &[0]), Never);
        assert_eq!(limits().permission(&study, &[1, 0]), Never, "it is one of these");
        assert_eq!(limits().permission(&study, &[1]), Granted);
        assert_eq!(limits().without_pauses().permission(&study, &[0]), Granted);
        assert_eq!(limits().paused(&study), [0]);
        study.pause("mass", pause(Some(now() + 3600))).unwrap();
        assert_eq!(limits().permission(&study, &[0]), Never);
        study.pause("mass", pause(Some(now() - 1))).unwrap();
        assert_eq!(limits().permission(&study, &[0]), Granted, "its time is over");
        study.pause("mass", pause(None)).unwrap();
        assert!(study.resume("mass").unwrap());
        assert_eq!(limits().permission(&study, &[0]), Granted);
        let only = ["mass".to_owned()];
        assert_eq!(limits().only(&only).permission(&study, &[1]), Never);
        assert_eq!(limits().only(&only).permission(&study, &[0]), Granted);
    }

    fn on_trial(file: &StudyFile, study: &Study, by_hand: &[u64]) -> Permission {
        let limits = Limits::new(&file.budget, &file.run, vec![]).with_trials(by_hand.to_vec());
        limits.permission(study, &[0])
    }

    #[test]
    fn a_measurement_that_never_succeeded_is_begun_three_times_at_most() {
        let file = file(&TEXT.replace("cost = 12", ""));
        let mut study = Study::new(file.problem.clone()).unwrap();
        let only_mass = |_: &Study, which: &[usize]| match which {
            [0] => Granted,
            _ => Never,
        };
        let mut asked = vec![];
        for _ in 0..file.run.trials {
            assert_eq!(on_trial(&file, &study, &[]), Granted);
            asked.push(study.ask_where(only_mass).unwrap().unwrap().evaluation);
        }
        assert_eq!(on_trial(&file, &study, &[]), Later);
        assert_eq!(on_trial(&file, &study, &asked[..1]), Granted, "by hand says nothing");
        assert_eq!(permission(&file, &study, &[], &[0]), Granted, "nor where no command is run");
        for evaluation in &asked {
            assert_eq!(on_trial(&file, &study, &[]), Later);
            study.tell_failure(*evaluation, &format!("crash {evaluation}")).unwrap();
        }
        assert_eq!(on_trial(&file, &study, &[]), Never);
        let limits = Limits::new(&file.budget, &file.run, vec![]).with_trials(vec![]);
        assert_eq!(limits.permission(&study, &[1]), Granted, "others go on");
        study.retry(asked[0]).unwrap();
        assert_eq!(on_trial(&file, &study, &[]), Later);
        study.tell(asked[0], 1.5).unwrap();
        assert_eq!(on_trial(&file, &study, &[]), Granted);
    }
}
