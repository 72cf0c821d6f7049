//! The loop: ask what to evaluate, run it, tell what came out, until the budget is spent.
//!
//! [`Runner::run`] is the loop itself. Whatever happens to the program, nothing is lost and nothing
//! is run twice: the study knows what was asked for, a lease says who looks after it, and the
//! folder of each attempt says what became of it. Several programs may run one study.

mod heartbeat;
mod failing;
mod progress;
mod limits;
mod asking;
mod owner;
mod working;
mod worker;
mod step;
mod executors;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use unyoke::{Appraisal, Asked, Evaluation, Pause, Permission, Status, Study, Suggestion};
use unyoke_store::{LateResult, Lease, LeaseStatus, Store};

use crate::error::{Error, Result};
use crate::opening::Opened;
use crate::process::{Attempt, Begun, Entrusted, Layout, Spec, Supervisor, host_name};
use crate::scheduler::Notice;
use crate::signing::{sign_as_program, user};
use crate::study_file::{Budget, Executor, MeasurementRun, StudyFile};

use asking::{Asking, Basis, Choice, Question};
use executors::Executors;
use heartbeat::Heartbeat;
use limits::Trial;
use owner::Owner;
use step::{Settled, Step, Tries};

pub use asking::{Choosing, Purpose};
pub use failing::{Failing, Log};
pub use limits::{Limits, now};
pub use owner::{BY_HAND, SignOfLife, claim_by_hand, is_gone, refuse_running, release_by_hand};
pub use progress::{Ending, Interrupt, Progress, Suggestions, Summary, Underway};
pub use worker::Worker;
pub use working::{Working, working};

/// How long a lease lasts unless it is renewed: after which others, on other machines, take up what
/// a program left behind.
pub const LEASE_TIME: Duration = Duration::from_secs(60);

/// Between two looks at what other programs and the user did.
const PAUSE: Duration = Duration::from_millis(100);

/// Before a lost database is tried again: this, then twice as long each time, up to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Runs a study.
pub struct Runner<'a> {
    file: &'a StudyFile,
    study: Study<Store>,
    store: Store,
    layout: Layout,
    /// Whether supervisors look after the leases of a program that is gone.
    keeps_leases: bool,
    executors: Executors,
    interrupt: Interrupt,
    owner: Owner,
    heartbeat: Heartbeat,
    /// What runs here.
    jobs: Vec<Job>,
    /// Told by the threads that wait for something.
    happened: (Sender<Happened>, Receiver<Happened>),
    /// Evaluations that must be gone on with: an attempt has ended.
    ended: VecDeque<u64>,
    /// The next evaluation is being chosen.
    asking: Option<Asking>,
    /// From here, there was nothing to ask for.
    vain: Option<Basis>,
    /// Why, if there was something that is not worth its cost.
    not_worthwhile: Option<Appraisal>,
    /// Evaluations that people make by hand, as far as it matters.
    by_hand: Vec<u64>,
    /// Somebody was told which measurement is on trial elsewhere.
    told_of_trial: bool,
    /// A call failed that may have been carried out, so that leases may be ours without our knowing.
    unsure: bool,
    began: Instant,
    /// So many records were there when it began.
    begun_at: u64,
    /// When to end, whatever still runs.
    until: Option<Instant>,
    /// The most evaluations to take up or begin here.
    most: Option<usize>,
    /// How many were.
    begun: usize,
    /// The longest evaluation of each measurement so far.
    longest: BTreeMap<usize, Duration>,
    /// Evaluations by hand of which somebody was told.
    handed: BTreeSet<u64>,
    /// Somebody was told that evaluations by hand are waited for.
    told_of_hands: bool,
    finished: usize,
    failed: usize,
    suggestions: Suggestions,
    /// Why nothing new is started.
    ending: Option<Ending>,
    purpose: Purpose,
    /// The only measurements that are made here; all if none is named.
    only: &'a [String],
    /// The round of confirmations that is under way here.
    round: Option<u64>,
    tell: &'a mut dyn FnMut(Progress),
}

/// An evaluation that runs here.
#[derive(Debug)]
struct Job {
    evaluation: u64,
    measurement: usize,
    attempt: u32,
    /// It was asked to stop, because somebody withdrew the evaluation.
    stopped: bool,
    lease: Lease,
}

/// What the threads of a runner tell it.
#[derive(Debug)]
enum Happened {
    /// An attempt at this evaluation has ended, or cannot be watched.
    Ended(u64, Result<()>),
    /// The next evaluation has been chosen.
    Chosen,
    /// Something about a job of a scheduler.
    Job(Notice),
}

impl<'a> Runner<'a> {
    /// Opens the study of a file, or begins it. All that happens is told to `tell`.
    pub fn new(
        file: &'a StudyFile,
        supervisor: Supervisor,
        interrupt: Interrupt,
        tell: &'a mut dyn FnMut(Progress),
    ) -> Result<Self> {
        file.require_commands()?;
        executors::require_programs(file)?;
        Self::on(file, file.open_or_create()?, supervisor, interrupt, tell)
    }

    /// The same on a study that is open already, which must be that of the file.
    pub fn on(
        file: &'a StudyFile,
        opened: Opened,
        supervisor: Supervisor,
        interrupt: Interrupt,
        tell: &'a mut dyn FnMut(Progress),
    ) -> Result<Self> {
        file.require_commands()?;
        executors::require_programs(file)?;
        let Opened { study, store } = opened;
        let begun_at = study.position();
        let layout = Layout::new(&file.runs);
        match file.run.measurements.iter().any(|run| run.executor == Executor::Local) {
            true => layout.prepare()?,
            // Whether a job still runs is not a question to a lock.
            false => layout.prepare_shared()?,
        }
        let supervisor = supervisor.of_study_at(&file.store);
        let happened = channel();
        Ok(Self {
            keeps_leases: supervisor.keeps_leases(),
            executors: Executors::new(file, supervisor, &happened.0)?,
            owner: Owner::new(&layout)?,
            heartbeat: Heartbeat::new(store.clone(), LEASE_TIME)?,
            file,
            study,
            store,
            layout,
            interrupt,
            jobs: vec![],
            happened,
            ended: VecDeque::new(),
            asking: None,
            vain: None,
            not_worthwhile: None,
            by_hand: vec![],
            told_of_trial: false,
            unsure: false,
            began: Instant::now(),
            begun_at,
            until: None,
            most: None,
            begun: 0,
            longest: BTreeMap::new(),
            handed: BTreeSet::new(),
            told_of_hands: false,
            finished: 0,
            failed: 0,
            suggestions: Suggestions::default(),
            ending: None,
            purpose: Purpose::Search,
            only: &[],
            round: None,
            tell,
        })
    }

    /// Searches no more: the recommended designs, so many at most, are confirmed.
    #[must_use]
    pub fn confirming(self, points: usize) -> Self {
        Self { purpose: Purpose::Confirm { points }, ..self }
    }

    /// Makes these measurements only, by name; all if none is named.
    pub fn only(self, only: &'a [String]) -> Result<Self> {
        for name in only {
            self.study.problem().measurement_index(name)?;
        }
        Ok(Self { only, ..self })
    }

    /// Ends at this moment. Before it, nothing is begun on this machine that would not end in time, as
    /// far as that is known; what still runs then, here or elsewhere, is left to the next run.
    #[must_use]
    pub fn until(self, until: Instant) -> Self {
        Self { until: Some(until), ..self }
    }

    /// Makes so many evaluations at most, those included that others left behind.
    #[must_use]
    pub fn at_most(self, evaluations: usize) -> Self {
        Self { most: Some(evaluations), ..self }
    }

    /// By which others see that this program is alive.
    pub fn sign_of_life(&self) -> SignOfLife {
        self.owner.sign_of_life()
    }

    /// Runs until nothing more is to be started and nothing runs here any more.
    pub fn run(mut self) -> Result<Summary> {
        sign_as_program(&self.store, &host_name())?;
        let worked = self.work();
        self.store.sign_as(user().as_deref())?;
        if !self.jobs.is_empty() || self.unsure {
            // What still runs does so without us. Others on this machine see that its leases have no
            // owner; those elsewhere must not begin the same.
            self.owner.leave_leases();
        }
        let ending = worked?;
        let pending = self.study.evaluations().iter().filter(|e| e.status == Status::Pending);
        Ok(Summary {
            ending,
            finished: self.finished,
            failed: self.failed,
            pending: pending.count(),
            spent: self.study.spent(),
            suggestions: self.suggestions,
            failing: failing::without_value(&self.study).map(|m| self.failing(m)),
        })
    }

    fn work(&mut self) -> Result<Ending> {
        self.store.work_as(&self.owner.name, LEASE_TIME)?;
        self.tell_spent();
        let (mut failures, mut has_looked) = (0, false);
        loop {
            let round = match has_looked {
                true => self.go_round(),
                false => self.collect_late().map(|()| None),
            };
            match round {
                Ok(Some(ending)) => return Ok(ending),
                Ok(None) => (failures, has_looked) = (0, true),
                Err(error) if error.is_passing() => {
                    self.unsure = true;
                    failures += 1;
                    if !self.wait_out(&error, failures) {
                        if !self.interrupt.is_left() {
                            self.stop_all();
                        }
                        return Ok(Ending::Interrupted);
                    }
                }
                Err(error) => {
                    self.unsure = true;
                    return Err(error);
                }
            }
        }
    }

    /// Gives back the leases of ours that we do not know of: an answer that was lost may have been
    /// that we got one. Nobody would work on these evaluations until their time is over.
    fn release_unknown(&mut self) -> Result<()> {
        if !self.unsure {
            return Ok(());
        }
        for LeaseStatus { lease, .. } in self.store.leases()? {
            let is_known = self.jobs.iter().any(|job| job.lease == lease);
            if lease.owner == self.owner.name && !is_known {
                self.store.release(&lease)?;
            }
        }
        self.unsure = false;
        Ok(())
    }

    /// Keeps values that nobody collected, and that came too late: somebody elsewhere has settled
    /// the evaluation while no program ran here.
    fn collect_late(&mut self) -> Result<()> {
        let kept = self.store.late()?;
        for evaluation in self.layout.evaluations()? {
            let Some(settled) = self.uncollected(evaluation)? else { continue };
            let is_kept = |late: &LateResult| {
                (late.evaluation, late.attempt) == (evaluation, settled.attempt)
            };
            if !kept.iter().any(is_kept) {
                self.keep_late(evaluation, &settled)?;
            }
        }
        Ok(())
    }

    /// The value that an attempt here gave for an evaluation that was settled.
    fn uncollected(&self, evaluation: u64) -> Result<Option<Settled>> {
        let Ok(known) = self.evaluation(evaluation) else { return Ok(None) };
        if known.status == Status::Pending {
            return Ok(None);
        }
        let Some(run) = self.run_of(known) else { return Ok(None) };
        let tries = Tries { retries: 0, begun: Begun::default() };
        match step::next(&self.layout, known, &run.measurement, tries) {
            Ok(Step::Settle(settled)) => {
                let measured = settled.result.as_ref().ok();
                let problem = self.study.problem();
                let is_known = measured.is_none_or(|measured| measured.is_in(known, problem));
                Ok((!is_known).then_some(settled))
            }
            // Attempts of another study are none of our business here.
            Ok(_) | Err(Error::LeftOver { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Waits until the database may be there again, after so many failures in a row. Meanwhile
    /// commands go on, and their results stay in their folders. False if somebody wants to stop.
    fn wait_out(&mut self, error: &Error, failures: u32) -> bool {
        let wait = FIRST_WAIT.saturating_mul(1 << (failures - 1).min(16)).min(LONGEST_WAIT);
        (self.tell)(Progress::Disconnected { reason: error.to_string(), wait });
        let until = Instant::now() + wait;
        while Instant::now() < until {
            // Says so at once if it was interrupted.
            let _ = self.may_start();
            let times = self.interrupt.times();
            if times > 1 || self.interrupt.is_left() || (times == 1 && self.jobs.is_empty()) {
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    /// Attends to everything once, then waits a little for something to happen. Tells why the run
    /// ends, if it does.
    fn go_round(&mut self) -> Result<Option<Ending>> {
        self.release_unknown()?;
        self.advance_ended()?;
        self.study.refresh()?;
        // Somebody may have amended the study from another file than this run has read.
        self.file.check_problem(&self.study)?;
        self.stop_withdrawn();
        if self.interrupt.is_left() {
            return Ok(Some(Ending::Interrupted));
        }
        if self.interrupt.times() > 1 {
            self.stop_all();
            return Ok(Some(Ending::Interrupted));
        }
        if self.is_time_up() {
            return Ok(Some(Ending::Until));
        }
        self.ask_for_choice()?;
        self.hand_over()?;
        self.fill_slots()?;
        if let Some(owner) = self.asking.as_mut().and_then(Asking::waits_for) {
            (self.tell)(Progress::Queued { owner });
        }
        let is_idle = self.jobs.is_empty() && self.asking.is_none();
        if is_idle && !self.awaits_trial()? && !self.awaits_hands() {
            return Ok(Some(self.ending.take().unwrap_or_else(|| self.nothing_left())));
        }
        self.listen()?;
        Ok(None)
    }

    /// Whether anything new may be started; if not, that is told once.
    fn may_start(&mut self) -> bool {
        let time_over = |most: Duration| self.began.elapsed() >= most;
        let ending = if self.interrupt.times() > 0 {
            Some(Ending::Interrupted)
        } else if self.is_time_up() {
            Some(Ending::Until)
        } else if self.file.budget.wall_time.is_some_and(time_over) {
            Some(Ending::WallTime)
        } else {
            let failing = failing::indispensable(&self.study, self.file.run.trials);
            failing.map(|m| Ending::Failing(self.failing(m)))
        };
        if self.ending.is_none() && ending.is_some() {
            if let Some(Ending::Failing(failing)) = &ending {
                (self.tell)(Progress::Failing(failing.clone()));
            }
            (self.tell)(Progress::Finishing { running: self.jobs.len() });
            self.ending = ending;
        }
        self.ending.is_none()
    }

    /// Why nothing was started although something might have been.
    fn nothing_left(&mut self) -> Ending {
        if let Some(appraisal) = self.not_worthwhile.take() {
            return Ending::NotWorthwhile(appraisal);
        }
        if self.has_enough() {
            return Ending::Evaluations;
        }
        if !self.too_long().is_empty() {
            return Ending::Until;
        }
        if let Purpose::Confirm { .. } = self.purpose {
            let paused = self.limits().paused(&self.study);
            return Ending::Confirmed { paused: self.pauses(&paused) };
        }
        // Where costs depend on the design, nothing was found for what is left of the budget.
        let choices = self.study.config().choices(self.study.problem());
        let affords = |limits: Limits<'_>| {
            let permission = |which: &Vec<usize>| limits.permission(&self.study, which);
            let is_granted = |p: Permission| matches!(p, Permission::Granted | Permission::Later);
            choices.iter().map(permission).any(is_granted)
        };
        let paused = self.limits().paused(&self.study);
        if affords(self.limits()) {
            Ending::Exhausted
        } else if !paused.is_empty() && affords(self.limits().without_pauses()) {
            Ending::Paused(self.pauses(&paused))
        } else if !self.only.is_empty() && affords(self.limits().only(&[]).without_pauses()) {
            Ending::Only(self.only.to_vec())
        } else {
            Ending::Budget
        }
    }

    /// Why these measurements are not made, by name.
    fn pauses(&self, paused: &[usize]) -> Vec<(String, Pause)> {
        let name = |m: usize| self.study.problem().measurements[m].name.clone();
        let pause = |m: &usize| Some((name(*m), self.study.pause_of(*m)?.clone()));
        paused.iter().filter_map(pause).collect()
    }

    fn limits(&self) -> Limits<'a> {
        let running = self.jobs.iter().map(|job| job.measurement).collect();
        let limits = Limits::new(&self.file.budget, &self.file.run, running).only(self.only);
        let limits = limits.spending(self.most_to_spend());
        limits.with_trials(self.by_hand.clone()).without(self.too_long())
    }

    /// The most that may be spent: what the file says, unless somebody has changed it since it was read.
    fn most_to_spend(&self) -> Option<f64> {
        let change = self.study.budget_change().filter(|change| change.position >= self.begun_at);
        change.map_or(self.file.budget.cost, |change| change.cost)
    }

    fn is_time_up(&self) -> bool {
        self.until.is_some_and(|until| until <= Instant::now())
    }

    /// Measurements that would not end before the run does. Jobs of a scheduler go on without us.
    fn too_long(&self) -> Vec<usize> {
        let Some(until) = self.until else { return vec![] };
        let left = until.saturating_duration_since(Instant::now());
        let is_too_long = |(m, run): (usize, &MeasurementRun)| {
            let longest = run.timeout.or_else(|| self.longest.get(&m).copied());
            let is_here = run.executor == Executor::Local;
            (is_here && longest.is_some_and(|longest| longest > left)).then_some(m)
        };
        self.file.run.measurements.iter().enumerate().filter_map(is_too_long).collect()
    }

    /// The executor of a measurement.
    fn is_by_hand(&self, measurement: usize) -> bool {
        let name = self.study.problem().measurements.get(measurement).map(|one| &one.name);
        let run = name.and_then(|name| self.file.measurement_run(name));
        run.is_some_and(|run| run.executor == Executor::Hand)
    }

    /// The pending evaluations that somebody makes by hand because the study file says so.
    fn in_hands(&self) -> impl Iterator<Item = &Evaluation> {
        let pending = self.study.evaluations().iter().filter(|e| e.status == Status::Pending);
        pending.filter(|e| e.measurement.is_some_and(|m| self.is_by_hand(m)))
    }

    /// Tells of evaluations that are to be made by hand, and keeps other programs from them.
    fn hand_over(&mut self) -> Result<()> {
        let new: Vec<Evaluation> =
            self.in_hands().filter(|e| !self.handed.contains(&e.id)).cloned().collect();
        for evaluation in new {
            claim_by_hand(&self.store, evaluation.id)?;
            self.handed.insert(evaluation.id);
            let measurement = self.known_run(&evaluation)?.measurement.clone();
            let Evaluation { id, design, cost, .. } = evaluation;
            let underway = Underway { evaluation: id, measurement, design, cost, attempt: 1 };
            (self.tell)(Progress::ByHand { underway });
            self.tell_spent();
        }
        Ok(())
    }

    /// Whether more may be begun once an evaluation by hand is recorded.
    fn awaits_hands(&mut self) -> bool {
        let evaluations = self.in_hands().count();
        if self.ending.is_some() || evaluations == 0 || self.has_enough() {
            return false;
        }
        let limits = self.limits();
        let choices = self.study.config().choices(self.study.problem());
        let mut all = choices.iter();
        let awaits = all.any(|which| limits.permission(&self.study, which) == Permission::Later);
        if awaits && !self.told_of_hands {
            (self.tell)(Progress::AwaitingHand { evaluations });
        }
        self.told_of_hands = awaits;
        awaits
    }

    /// Whether others make the first evaluations of a measurement, so that more may be begun here
    /// once one has succeeded.
    fn awaits_trial(&mut self) -> Result<bool> {
        let is_over = self.ending.is_some() || self.has_enough();
        if is_over || !self.is_on_trial(Trial::UnderWay) {
            return Ok(false);
        }
        self.find_by_hand()?;
        let limits = self.limits();
        let measurements = &self.study.problem().measurements;
        let awaited = |m: &usize| {
            limits.trial(&self.study, *m) == Trial::UnderWay && limits.is_open(&self.study, *m)
        };
        let Some(m) = (0..measurements.len()).find(awaited) else { return Ok(false) };
        if !self.told_of_trial {
            self.told_of_trial = true;
            (self.tell)(Progress::OnTrial { measurement: measurements[m].name.clone() });
        }
        Ok(true)
    }

    /// Whether any measurement stands like this.
    fn is_on_trial(&self, trial: Trial) -> bool {
        let limits = self.limits();
        let mut measurements = 0..self.study.problem().measurements.len();
        measurements.any(|m| limits.trial(&self.study, m) == trial)
    }

    /// Finds out which evaluations people make by hand, if that matters to a measurement on trial.
    fn find_by_hand(&mut self) -> Result<()> {
        self.by_hand.clear();
        if self.is_on_trial(Trial::UnderWay) {
            let leases = self.store.leases()?;
            let by_hand =
                leases.iter().filter(|held| held.is_live() && held.lease.owner == BY_HAND);
            self.by_hand = by_hand.map(|held| held.lease.evaluation).collect();
        }
        Ok(())
    }

    /// How the measurement of an evaluation is made; none for results from elsewhere.
    fn run_of(&self, evaluation: &Evaluation) -> Option<&'a MeasurementRun> {
        let name = &self.study.problem().measurements.get(evaluation.measurement?)?.name;
        self.file.measurement_run(name)
    }

    /// The same for an evaluation that was asked for.
    fn known_run(&self, evaluation: &Evaluation) -> Result<&'a MeasurementRun> {
        let unknown = unyoke::Error::UnknownEvaluation { id: evaluation.id };
        Ok(self.run_of(evaluation).ok_or(unknown)?)
    }

    /// Takes up what others left behind, then asks for more, while there are slots.
    fn fill_slots(&mut self) -> Result<()> {
        while self.may_start() && self.has_free_slot() && !self.has_enough() {
            if self.take_up()? {
                continue;
            }
            if self.asking.is_some() || !self.choose()? {
                break;
            }
        }
        Ok(())
    }

    /// Whether as many evaluations were begun, or will be with what is being chosen, as are wanted.
    fn has_enough(&self) -> bool {
        let chosen = usize::from(self.asking.is_some());
        self.most.is_some_and(|most| self.begun + chosen >= most)
    }

    fn has_free_slot(&self) -> bool {
        let limits = self.limits();
        (0..self.file.run.measurements.len()).any(|m| limits.has_slot(m))
    }

    /// Looks after a pending evaluation that nobody looks after. False if there is none.
    fn take_up(&mut self) -> Result<bool> {
        let limits = self.limits();
        let here = |id: u64| self.jobs.iter().any(|job| job.evaluation == id);
        // What is being chosen will need a slot.
        let needed = 1 + usize::from(self.asking.is_some());
        let may_run = |m: usize| !self.is_by_hand(m) && limits.free_slots(m) >= needed;
        let candidate = |e: &&Evaluation| {
            e.status == Status::Pending
                && !here(e.id)
                && e.measurement.is_some_and(|m| may_run(m) && limits.is_open(&self.study, m))
        };
        let candidates: Vec<u64> =
            self.study.evaluations().iter().filter(candidate).map(|e| e.id).collect();
        if candidates.is_empty() {
            return Ok(false);
        }
        let name = &self.owner.name;
        let claimed = match owner::take_over(&self.layout, &self.store, &candidates, name)? {
            None => self.store.claim_free(&candidates, 1, name, LEASE_TIME)?.pop(),
            taken => taken,
        };
        // One that was settled meanwhile is put away, and the next one tried at the next round.
        claimed.map_or(Ok(false), |lease| self.begin(lease, None))
    }

    /// Begins to choose another evaluation within the limits. False if that would be in vain.
    fn choose(&mut self) -> Result<bool> {
        self.find_by_hand()?;
        let basis = self.basis();
        if self.vain.as_ref() == Some(&basis) {
            return Ok(false);
        }
        let choosing = Choosing {
            study: self.study.clone(),
            budget: Budget { cost: self.most_to_spend(), ..self.file.budget.clone() },
            stop: self.file.stop.clone(),
            run: self.file.run.clone(),
            running: basis.running,
            by_hand: basis.by_hand,
            only: self.only.to_vec(),
            too_long: self.too_long(),
            purpose: self.purpose,
            round: self.round,
        };
        let (layout, owner) = (self.layout.clone(), self.owner.name.clone());
        let question = Question { choosing, layout, owner };
        self.asking = Some(Asking::begin(question, self.happened.0.clone())?);
        Ok(true)
    }

    fn basis(&self) -> Basis {
        let running = self.jobs.iter().map(|job| job.measurement).collect();
        let (position, by_hand) = (self.study.position(), self.by_hand.clone());
        Basis { position, running, by_hand, paused: self.limits().paused(&self.study) }
    }

    /// Asks for what was chosen, if that is possible by now, and begins it.
    fn ask_for_choice(&mut self) -> Result<()> {
        if !self.may_start() {
            if let Some(asking) = self.asking.take() {
                asking.abandon();
            }
            return Ok(());
        }
        let Some(asking) = self.asking.take_if(|asking| asking.is_done()) else { return Ok(()) };
        let Choice { suggestion, appraisal, basis, turn } = asking.finish()?;
        let is_searched = suggestion.as_ref().is_some_and(Suggestion::is_searched);
        self.suggestions.computed += usize::from(is_searched);
        // What runs may still change that: once it has ended, another choice is made.
        self.not_worthwhile = appraisal.filter(|appraisal| appraisal.verdict.is_stop());
        let suggestion = suggestion.filter(|_| self.not_worthwhile.is_none());
        let Some(suggestion) = suggestion else {
            self.vain = Some(basis);
            return Ok(());
        };
        let (limits, interrupt) = (self.limits(), self.interrupt.clone());
        let asked = self.study.ask_for(suggestion, |study, which| match interrupt.times() {
            0 => limits.permission(study, which),
            _ => Permission::Never,
        })?;
        drop(turn);
        match asked {
            Asked::Recorded(asked) => {
                self.round = asked.confirms.or(self.round);
                let m = self.evaluation(asked.evaluation)?.measurement;
                if m.is_some_and(|m| self.is_by_hand(m)) {
                    self.begun += 1;
                    return self.hand_over();
                }
                let claimed = self.store.claim(asked.evaluation, &self.owner.name, LEASE_TIME)?;
                // If somebody else has taken it up in this very moment, it is theirs.
                claimed.map_or(Ok(()), |lease| self.begin(lease, Some(asked)).map(drop))
            }
            Asked::Outdated => {
                self.suggestions.outdated += usize::from(is_searched);
                Ok(())
            }
            Asked::NotAllowed => Ok(()),
        }
    }

    /// Does what is to be done about an evaluation that was claimed. False if that was nothing.
    fn begin(&mut self, lease: Lease, asked: Option<Suggestion>) -> Result<bool> {
        let (evaluation, first) = (lease.evaluation, lease.attempt == 1);
        self.begun += 1;
        self.heartbeat.keep(lease.clone());
        let unknown = unyoke::Error::UnknownEvaluation { id: evaluation };
        let measurement = self.evaluation(evaluation)?.measurement.ok_or(unknown)?;
        self.jobs.push(Job { evaluation, measurement, attempt: 0, stopped: false, lease });
        let begun = self.advance_claimed(evaluation, first, asked);
        if begun.is_err() {
            // To be gone on with, if the run goes on.
            self.ended.push_back(evaluation);
        }
        begun
    }

    /// Goes on with an evaluation that was just claimed, for the first time or again.
    fn advance_claimed(
        &mut self,
        evaluation: u64,
        first: bool,
        asked: Option<Suggestion>,
    ) -> Result<bool> {
        // It may have been settled while nobody had the lease.
        self.study.refresh()?;
        if self.evaluation(evaluation)?.status != Status::Pending {
            self.begun -= 1;
            self.put_away(evaluation)?;
            return Ok(false);
        }
        // Attempts that are older than the first claim cannot be of this study.
        if first && !self.layout.attempts(evaluation)?.is_empty() {
            return Err(Error::LeftOver { folder: self.layout.evaluation(evaluation) });
        }
        self.advance(evaluation, asked)?;
        Ok(true)
    }

    /// Looks after an evaluation no longer.
    fn put_away(&mut self, evaluation: u64) -> Result<()> {
        self.jobs.retain(|job| job.evaluation != evaluation);
        self.heartbeat.release(evaluation)
    }

    /// Goes on with an evaluation: starts an attempt, waits for one, or settles it.
    fn advance(&mut self, evaluation: u64, asked: Option<Suggestion>) -> Result<()> {
        loop {
            let known = self.evaluation(evaluation)?;
            if known.status == Status::Withdrawn {
                return self.leave_withdrawn(evaluation);
            }
            let run = self.known_run(known)?;
            let is_pending = known.status == Status::Pending;
            let unknown = unyoke::Error::UnknownEvaluation { id: evaluation };
            let measurement = known.measurement.ok_or(unknown)?;
            let tries = Tries { retries: run.retries, begun: self.begun(known) };
            match step::next(&self.layout, known, &run.measurement, tries)? {
                Step::Settle(settled) => return self.settle(evaluation, settled),
                Step::Start { after, .. } if !is_pending || !self.may_start() => {
                    return self.leave(evaluation, after);
                }
                Step::NeverBegan { reason, .. } if !is_pending || !self.may_start() => {
                    return self.leave(evaluation, Some(reason));
                }
                // Whoever starts it anew has perhaps mended what was wrong.
                Step::NeverBegan { attempt, reason } if self.looks_after(evaluation, attempt) => {
                    return self.give_up(evaluation, reason);
                }
                Step::NeverBegan { attempt, reason } => {
                    let (attempt, after) = (attempt + 1, Some(reason));
                    if self.start(evaluation, attempt, after, asked.as_ref())? {
                        return Ok(());
                    }
                }
                Step::Await { attempt } => {
                    let folder = self.layout.attempt(evaluation, attempt);
                    self.tell_underway(evaluation, attempt, None, asked)?;
                    self.entrust(evaluation, attempt);
                    let place = Attempt::whereabouts(&folder);
                    (self.tell)(Progress::Awaited { evaluation, attempt, place });
                    return self.executors.watch(measurement, evaluation, folder);
                }
                Step::Start { attempt, after } => {
                    if self.start(evaluation, attempt, after, asked.as_ref())? {
                        return Ok(());
                    }
                }
            }
        }
    }

    /// Leaves an evaluation to a later run; the last attempt, if any, failed for this reason.
    fn leave(&mut self, evaluation: u64, after: Option<String>) -> Result<()> {
        if let Some(reason) = after {
            (self.tell)(Progress::Left { evaluation, reason });
        }
        self.put_away(evaluation)
    }

    /// Starts an attempt. False if somebody whose lease had ended was about to start it.
    fn start(
        &mut self,
        evaluation: u64,
        attempt: u32,
        after: Option<String>,
        asked: Option<&Suggestion>,
    ) -> Result<bool> {
        let known = self.evaluation(evaluation)?;
        let (run, retry) = (self.known_run(known)?, known.retried);
        let spec = Spec { retry, ..Spec::new(run, &known.design, evaluation, attempt)? };
        let folder = self.layout.attempt(evaluation, attempt);
        match self.executors.start(known.measurement.unwrap_or_default(), &folder, &spec) {
            Err(Error::AlreadyStarted { .. }) => return Ok(false),
            started => started?,
        }
        // We know the count ourselves; it is written down for the programs that come after us.
        let _ = self.layout.count_attempt(evaluation, attempt, retry);
        self.entrust(evaluation, attempt);
        self.tell_underway(evaluation, attempt, after, asked.cloned())?;
        Ok(true)
    }

    /// How many attempts at an evaluation were begun, as far as anybody knows.
    fn begun(&self, evaluation: &Evaluation) -> Begun {
        let job = self.jobs.iter().find(|job| job.evaluation == evaluation.id);
        let begun = self.layout.begun(evaluation.id, evaluation.retried);
        Begun { last: begun.last.max(job.map_or(0, |job| job.attempt)), ..begun }
    }

    /// Tells the supervisor of an attempt under which lease it works, for the case that we are killed.
    fn entrust(&self, evaluation: u64, attempt: u32) {
        if !self.keeps_leases {
            return;
        }
        let Some(job) = self.jobs.iter().find(|job| job.evaluation == evaluation) else { return };
        let entrusted = Entrusted {
            evaluation,
            claim: job.lease.attempt,
            owner: job.lease.owner.clone(),
            alive: self.layout.owners().join(&self.owner.name),
            lasting_ms: u64::try_from(LEASE_TIME.as_millis()).unwrap_or(u64::MAX),
        };
        // Without it the lease ends when we do, as it would if the machine went down.
        let _ = entrusted.write(&self.layout.attempt(evaluation, attempt));
    }

    /// Whether this attempt runs, or ran, here.
    fn looks_after(&self, evaluation: u64, attempt: u32) -> bool {
        let job = self.jobs.iter().find(|job| job.evaluation == evaluation);
        job.is_some_and(|job| job.attempt == attempt)
    }

    /// Nothing was measured and nothing will be: the evaluation is taken back and the run ends.
    fn give_up(&mut self, evaluation: u64, reason: String) -> Result<()> {
        match self.study.withdraw(evaluation) {
            Ok(()) | Err(unyoke::Error::AlreadySettled { .. }) => {}
            Err(error) => return Err(error.into()),
        }
        let measurement = self.known_run(self.evaluation(evaluation)?)?.measurement.clone();
        (self.tell)(Progress::GivenUp { evaluation, reason: reason.clone() });
        self.ending.get_or_insert(Ending::CannotStart { measurement, reason });
        self.put_away(evaluation)?;
        self.tell_spent();
        Ok(())
    }

    /// Stops what runs here although somebody has withdrawn it.
    fn stop_withdrawn(&mut self) {
        for job in &mut self.jobs {
            let known = usize::try_from(job.evaluation).ok();
            let known = known.and_then(|index| self.study.evaluations().get(index));
            if !job.stopped && known.is_some_and(|known| known.status == Status::Withdrawn) {
                job.stopped = true;
                let folder = self.layout.attempt(job.evaluation, job.attempt);
                // One that cannot be stopped goes on; what it gives does not count.
                self.executors.stop(job.measurement, job.evaluation, &folder);
            }
        }
    }

    /// What somebody withdrew does not count, whatever came out.
    fn leave_withdrawn(&mut self, evaluation: u64) -> Result<()> {
        let known = self.evaluation(evaluation)?;
        let run = self.known_run(known)?;
        let tries = Tries { retries: 0, begun: Begun::default() };
        if let Step::Settle(settled) = step::next(&self.layout, known, &run.measurement, tries)? {
            self.keep_late(evaluation, &settled)?;
        }
        (self.tell)(Progress::GivenUp { evaluation, reason: "it was withdrawn".to_owned() });
        self.put_away(evaluation)?;
        self.tell_spent();
        Ok(())
    }

    /// Waits a little for something to happen.
    fn listen(&mut self) -> Result<()> {
        let mut next = self.happened.1.recv_timeout(PAUSE).ok();
        while let Some(happened) = next {
            match happened {
                Happened::Ended(evaluation, watched) => {
                    watched?;
                    self.ended.push_back(evaluation);
                }
                Happened::Job(notice) => self.note(notice),
                Happened::Chosen => {}
            }
            next = self.happened.1.try_recv().ok();
        }
        Ok(())
    }

    /// Passes on what is new about a job.
    fn note(&mut self, notice: Notice) {
        match notice {
            Notice::Ended(evaluation) => self.ended.push_back(evaluation),
            Notice::Said(evaluation, said) => {
                (self.tell)(Progress::Job { evaluation, said: said.to_string() });
            }
            Notice::Trouble(trouble) => (self.tell)(Progress::Scheduler { trouble }),
        }
    }

    /// Goes on with the evaluations of which an attempt has ended.
    fn advance_ended(&mut self) -> Result<()> {
        while let Some(evaluation) = self.ended.front().copied() {
            if self.jobs.iter().any(|job| job.evaluation == evaluation) {
                self.advance(evaluation, None)?;
            }
            // Only now: what cannot be recorded yet is tried again.
            self.ended.pop_front();
        }
        Ok(())
    }

    /// Tells the study how an evaluation ended, then gives it back.
    fn settle(&mut self, evaluation: u64, settled: Settled) -> Result<()> {
        self.study.refresh()?;
        if self.evaluation(evaluation)?.status == Status::Withdrawn {
            return self.leave_withdrawn(evaluation);
        }
        let outcome = self.outcome(evaluation, &settled)?;
        if let Some(m) = self.evaluation(evaluation)?.measurement {
            let longest = self.longest.entry(m).or_default();
            *longest = settled.spent.duration.max(*longest);
            // An attempt that was taken for dead may have given this.
            self.executors.forget(m, evaluation);
        }
        match self.study.tell(evaluation, outcome) {
            Ok(()) => self.tell_settled(evaluation, settled)?,
            Err(unyoke::Error::AlreadySettled { .. }) => self.keep_late(evaluation, &settled)?,
            Err(error) => return Err(error.into()),
        }
        self.put_away(evaluation)?;
        self.tell_spent();
        Ok(())
    }

    /// What to record of an evaluation that ended.
    fn outcome(&self, evaluation: u64, settled: &Settled) -> Result<unyoke::Outcome> {
        let outcome = match &settled.result {
            Ok(measured) => measured.outcome(self.study.problem()),
            Err(reason) => unyoke::Outcome::default().missing(reason),
        };
        let run = self.known_run(self.evaluation(evaluation)?)?;
        let cost = self.study.cost(&run.measurement)?;
        Ok(match settled.spent.paid(cost) {
            Some(cost) => outcome.cost(cost),
            None => outcome,
        })
    }

    /// Keeps what came too late, unless it is just what was told, by somebody else who waited for
    /// the same attempt.
    fn keep_late(&mut self, evaluation: u64, settled: &Settled) -> Result<()> {
        self.study.refresh()?;
        let known = self.evaluation(evaluation)?;
        let failed = |reason: &str| {
            let is_this =
                |status: &Status| matches!(status, Status::Failed(told) if told == reason);
            known.recorded().any(is_this)
        };
        let same = match &settled.result {
            Ok(measured) => measured.is_in(known, self.study.problem()),
            Err(reason) => failed(reason),
        };
        if !same {
            let outcome = match &settled.result {
                Ok(measured) => measured.to_string(),
                Err(reason) => reason.replace('\0', " "),
            };
            self.store.keep_late(evaluation, settled.attempt, &outcome)?;
            (self.tell)(Progress::Late { evaluation });
        }
        Ok(())
    }

    /// Stops what runs here, and waits until it has. Leases that cannot be given back are seen to
    /// have no owner.
    fn stop_all(&mut self) {
        if self.jobs.is_empty() {
            return;
        }
        (self.tell)(Progress::Stopping { running: self.jobs.len() });
        for job in &self.jobs {
            let folder = self.layout.attempt(job.evaluation, job.attempt);
            self.executors.stop(job.measurement, job.evaluation, &folder);
        }
        // What has ended before is not among those that will be heard of.
        let mut ended: Vec<u64> = self.ended.drain(..).collect();
        while !self.jobs.is_empty() && self.interrupt.times() < 3 {
            for evaluation in ended.drain(..) {
                // A value that is there is recorded: others would measure it again.
                if self.advance(evaluation, None).is_err() {
                    self.jobs.retain(|job| job.evaluation != evaluation);
                    self.owner.leave_leases();
                }
            }
            match self.happened.1.recv_timeout(PAUSE) {
                Ok(Happened::Ended(evaluation, _) | Happened::Job(Notice::Ended(evaluation))) => {
                    ended.push(evaluation);
                }
                Ok(Happened::Job(notice)) => self.note(notice),
                Ok(Happened::Chosen) | Err(_) => {}
            }
        }
    }

    fn evaluation(&self, evaluation: u64) -> Result<&Evaluation> {
        let unknown = unyoke::Error::UnknownEvaluation { id: evaluation };
        let index = usize::try_from(evaluation).ok();
        Ok(index.and_then(|index| self.study.evaluations().get(index)).ok_or(unknown)?)
    }

    fn tell_underway(
        &mut self,
        evaluation: u64,
        attempt: u32,
        after: Option<String>,
        asked: Option<Suggestion>,
    ) -> Result<()> {
        let known = self.evaluation(evaluation)?;
        let measurement = self.known_run(known)?.measurement.clone();
        let (design, cost) = (known.design.clone(), known.cost);
        let underway = Underway { evaluation, measurement, design, cost, attempt };
        let mut before = 0;
        if let Some(job) = self.jobs.iter_mut().find(|job| job.evaluation == evaluation) {
            before = std::mem::replace(&mut job.attempt, attempt);
        }
        let progress = match (asked, after) {
            (Some(suggestion), _) => Progress::Started {
                gain_per_cost: suggestion.gain_per_cost(),
                gain_share: suggestion.gain_share(),
                notes: suggestion.remarks(),
                underway,
            },
            (None, Some(reason)) if before > 0 => Progress::Retried { evaluation, attempt, reason },
            _ => Progress::TakenUp { underway },
        };
        (self.tell)(progress);
        self.tell_spent();
        Ok(())
    }

    fn tell_settled(&mut self, evaluation: u64, settled: Settled) -> Result<()> {
        let known = self.evaluation(evaluation)?;
        let measurement = self.known_run(known)?.measurement.clone();
        let failed = match &known.status {
            // Not only what failed here: a value may be one that its output cannot have.
            Status::Failed(reason) => Some((known.measurement, reason.clone())),
            _ => None,
        };
        match (failed, settled.result) {
            (None, Ok(measured)) => {
                self.finished += 1;
                let duration = settled.spent.duration;
                (self.tell)(Progress::Finished { evaluation, measurement, measured, duration });
            }
            (None, Err(_)) => {}
            (Some((m, reason)), _) => {
                self.failed += 1;
                (self.tell)(Progress::Failed { evaluation, measurement, reason });
                if let Some(m) = m {
                    self.tell_if_failing(m);
                }
            }
        }
        Ok(())
    }

    /// Says that a command never works where the run goes on without it. Otherwise it ends, and says
    /// so then.
    fn tell_if_failing(&mut self, measurement: usize) {
        let failing = self.failing(measurement);
        let has_failed = self.limits().trial(&self.study, measurement) == Trial::Failed;
        if has_failed && failing.dispensable {
            (self.tell)(Progress::Failing(failing));
        }
    }

    /// What is wrong with a measurement that gave nothing so far.
    fn failing(&self, measurement: usize) -> Failing {
        let stops = failing::indispensable(&self.study, self.file.run.trials).is_some();
        Failing { dispensable: !stops, ..Failing::of(&self.study, &self.layout, measurement) }
    }

    fn tell_spent(&mut self) {
        let (spent, committed) = (self.study.spent(), self.study.committed());
        (self.tell)(Progress::Spent { spent, committed });
    }
}
