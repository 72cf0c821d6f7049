//! The loop: ask what to evaluate, run it, tell what came out, until the budget is spent.
//!
//! [`Runner::run`] is the loop itself. Whatever happens to the program, nothing is lost and nothing
//! is run twice: the study knows what was asked for, a lease says who looks after it, and the
//! folder of each attempt says what became of it. Several programs may run one study.

mod heartbeat;
mod limits;
mod owner;
mod progress;
mod step;

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use unyoke::{Evaluation, Permission, Status, Study, Suggestion};
use unyoke_store::Store;

use crate::error::{Error, Result};
use crate::opening::Opened;
use crate::process::{Attempt, Layout, Spec, Supervisor};
use crate::study_file::StudyFile;

use heartbeat::Heartbeat;
use owner::Owner;
use step::{Settled, Step};

pub use limits::Limits;
pub use owner::{BY_HAND, claim_by_hand, is_gone};
pub use progress::{Ending, Interrupt, Progress, Summary, Underway};

/// How long a lease lasts unless it is renewed: after which others, on other machines, take up what
/// a program left behind.
pub const LEASE_TIME: Duration = Duration::from_secs(60);

/// Between two looks at what other programs and the user did.
const PAUSE: Duration = Duration::from_millis(100);

/// An objective that never gave a value is given up after so many failures.
const HOPELESS: usize = 5;

/// Runs a study.
pub struct Runner<'a> {
    file: &'a StudyFile,
    study: Study<Store>,
    store: Store,
    layout: Layout,
    supervisor: Supervisor,
    interrupt: Interrupt,
    owner: Owner,
    heartbeat: Heartbeat,
    /// What runs here.
    jobs: Vec<Job>,
    /// Told by watchers when an attempt has ended.
    ended: (Sender<Ended>, Receiver<Ended>),
    began: Instant,
    finished: usize,
    failed: usize,
    /// Why nothing new is started.
    ending: Option<Ending>,
    tell: &'a mut dyn FnMut(Progress),
}

/// An evaluation that runs here.
#[derive(Debug)]
struct Job {
    evaluation: u64,
    objective: usize,
    attempt: u32,
    /// It was asked to stop, because somebody withdrew the evaluation.
    stopped: bool,
}

/// Says that an attempt at this evaluation has ended, or that it cannot be watched.
type Ended = (u64, Result<()>);

impl<'a> Runner<'a> {
    /// Opens the study of a file, or begins it. All that happens is told to `tell`.
    pub fn new(
        file: &'a StudyFile,
        supervisor: Supervisor,
        interrupt: Interrupt,
        tell: &'a mut dyn FnMut(Progress),
    ) -> Result<Self> {
        file.require_commands()?;
        let Opened { study, store } = file.open_or_create()?;
        let layout = Layout::new(&file.runs);
        Ok(Self {
            owner: Owner::new(&layout)?,
            heartbeat: Heartbeat::new(store.clone(), LEASE_TIME)?,
            file,
            study,
            store,
            layout,
            supervisor,
            interrupt,
            jobs: vec![],
            ended: channel(),
            began: Instant::now(),
            finished: 0,
            failed: 0,
            ending: None,
            tell,
        })
    }

    /// Runs until nothing more is to be started and nothing runs here any more.
    pub fn run(mut self) -> Result<Summary> {
        let worked = self.work();
        // What still runs does so without us, and may be looked after by others at once.
        for job in std::mem::take(&mut self.jobs) {
            if self.heartbeat.release(job.evaluation).is_err() {
                self.owner.leave_leases();
            }
        }
        let ending = worked?;
        let pending = self.study.evaluations().iter().filter(|e| e.status == Status::Pending);
        Ok(Summary {
            ending,
            finished: self.finished,
            failed: self.failed,
            pending: pending.count(),
            spent: self.study.spent(),
        })
    }

    fn work(&mut self) -> Result<Ending> {
        self.store.work_as(&self.owner.name, LEASE_TIME)?;
        self.tell_spent();
        loop {
            self.study.refresh()?;
            self.stop_withdrawn();
            if self.interrupt.times() > 1 {
                self.stop_all()?;
                return Ok(Ending::Interrupted);
            }
            if self.may_start() {
                self.fill_slots()?;
            }
            if self.jobs.is_empty() {
                return Ok(self.ending.take().unwrap_or_else(|| self.nothing_left()));
            }
            self.await_ended()?;
        }
    }

    /// Whether anything new may be started; if not, that is told once.
    fn may_start(&mut self) -> bool {
        let time_over = |most: Duration| self.began.elapsed() >= most;
        let ending = if self.interrupt.times() > 0 {
            Some(Ending::Interrupted)
        } else if self.file.budget.wall_time.is_some_and(time_over) {
            Some(Ending::WallTime)
        } else {
            None
        };
        if self.ending.is_none() && ending.is_some() {
            (self.tell)(Progress::Finishing { running: self.jobs.len() });
            self.ending = ending;
        }
        self.ending.is_none()
    }

    /// Why nothing was started although something might have been.
    fn nothing_left(&self) -> Ending {
        let limits = self.limits();
        let affordable =
            |objectives: &[usize]| limits.permission(&self.study, objectives) != Permission::Never;
        let all: Vec<usize> = (0..self.study.problem().objectives.len()).collect();
        let left = match self.study.config().algorithm.is_coupled() {
            true => affordable(&all),
            false => all.iter().any(|m| affordable(&[*m])),
        };
        if left { Ending::Exhausted } else { Ending::Budget }
    }

    fn limits(&self) -> Limits<'a> {
        let running = self.jobs.iter().map(|job| job.objective).collect();
        Limits::new(&self.file.budget, &self.file.run, running)
    }

    /// Takes up what others left behind, then asks for more, while there are slots.
    fn fill_slots(&mut self) -> Result<()> {
        while self.ending.is_none()
            && self.interrupt.times() == 0
            && self.jobs.len() < self.file.run.slots
        {
            if !self.take_up()? && !self.ask()? {
                break;
            }
        }
        Ok(())
    }

    /// Looks after a pending evaluation that nobody looks after. False if there is none.
    fn take_up(&mut self) -> Result<bool> {
        let limits = self.limits();
        let here = |id: u64| self.jobs.iter().any(|job| job.evaluation == id);
        let candidate = |e: &&Evaluation| {
            e.status == Status::Pending && !here(e.id) && limits.has_slot(e.objective)
        };
        let candidates: Vec<u64> =
            self.study.evaluations().iter().filter(candidate).map(|e| e.id).collect();
        if candidates.is_empty() {
            return Ok(false);
        }
        owner::release_those_of_the_dead(&self.layout, &self.store)?;
        for evaluation in candidates {
            if self.begin(evaluation, None)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks for another evaluation within the limits. False if there is none.
    fn ask(&mut self) -> Result<bool> {
        let limits = self.limits();
        let asked = self.study.ask_where(|study, which| limits.permission(study, which))?;
        let Some(suggestion) = asked else { return Ok(false) };
        // If somebody else has taken it up in this very moment, it is theirs.
        self.begin(suggestion.evaluation, Some(suggestion))?;
        Ok(true)
    }

    /// Claims an evaluation and does what is to be done about it. False if it is somebody else's.
    fn begin(&mut self, evaluation: u64, asked: Option<Suggestion>) -> Result<bool> {
        let Some(lease) = self.store.claim(evaluation, &self.owner.name, LEASE_TIME)? else {
            return Ok(false);
        };
        let first = lease.attempt == 1;
        self.heartbeat.keep(lease);
        let objective = self.evaluation(evaluation)?.objective;
        self.jobs.push(Job { evaluation, objective, attempt: 0, stopped: false });
        // It may have been settled while nobody had the lease.
        self.study.refresh()?;
        if self.evaluation(evaluation)?.status != Status::Pending {
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
            let run = &self.file.run.objectives[known.objective];
            match step::next(&self.layout, known, &run.objective, run.retries)? {
                Step::Settle(settled) => return self.settle(evaluation, settled),
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
                    return self.watch(evaluation, Attempt::open(folder));
                }
                Step::Start { attempt, after } => {
                    if self.start(evaluation, attempt, after, asked.as_ref())? {
                        return Ok(());
                    }
                }
            }
        }
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
        let run = &self.file.run.objectives[known.objective];
        let spec = Spec::new(run, &known.design, evaluation, attempt)?;
        let folder = self.layout.attempt(evaluation, attempt);
        let started = match Attempt::start(&folder, &spec, &self.supervisor) {
            Err(Error::AlreadyStarted { .. }) => return Ok(false),
            started => started?,
        };
        self.tell_underway(evaluation, attempt, after, asked.cloned())?;
        self.watch(evaluation, started)?;
        Ok(true)
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
        let objective = self.evaluation(evaluation)?.objective;
        let objective = self.study.problem().objectives[objective].name.clone();
        (self.tell)(Progress::GivenUp { evaluation, reason: reason.clone() });
        self.ending.get_or_insert(Ending::CannotStart { objective, reason });
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
                let _ = Attempt::open(folder).stop();
            }
        }
    }

    /// What somebody withdrew does not count, whatever came out.
    fn leave_withdrawn(&mut self, evaluation: u64) -> Result<()> {
        let known = self.evaluation(evaluation)?;
        let run = &self.file.run.objectives[known.objective];
        if let Step::Settle(settled) = step::next(&self.layout, known, &run.objective, 0)? {
            self.keep_late(evaluation, &settled)?;
        }
        (self.tell)(Progress::GivenUp { evaluation, reason: "it was withdrawn".to_owned() });
        self.put_away(evaluation)?;
        self.tell_spent();
        Ok(())
    }

    /// Waits for an attempt on a thread of its own.
    fn watch(&self, evaluation: u64, mut attempt: Attempt) -> Result<()> {
        let sender = self.ended.0.clone();
        let watch = move || {
            let ended = attempt.wait().map(drop);
            // Nobody listens any more if the runner has ended.
            let _ = sender.send((evaluation, ended));
        };
        let thread = std::thread::Builder::new().name(format!("evaluation {evaluation}"));
        thread.spawn(watch).map(drop).map_err(Error::io("watcher"))
    }

    /// Deals with the attempts that have ended, or waits a little for the first.
    fn await_ended(&mut self) -> Result<()> {
        let mut next = self.ended.1.recv_timeout(PAUSE).ok();
        while let Some((evaluation, ended)) = next {
            ended?;
            self.advance(evaluation, None)?;
            next = self.ended.1.try_recv().ok();
        }
        Ok(())
    }

    /// Tells the study how an evaluation ended, then gives it back.
    fn settle(&mut self, evaluation: u64, settled: Settled) -> Result<()> {
        self.study.refresh()?;
        if self.evaluation(evaluation)?.status == Status::Withdrawn {
            return self.leave_withdrawn(evaluation);
        }
        let told = match &settled.result {
            Ok(value) => self.study.tell(evaluation, *value),
            Err(reason) => self.study.tell_failure(evaluation, reason),
        };
        match told {
            Ok(()) => self.tell_settled(evaluation, settled)?,
            Err(unyoke::Error::AlreadySettled { .. }) => self.keep_late(evaluation, &settled)?,
            Err(error) => return Err(error.into()),
        }
        self.put_away(evaluation)?;
        self.tell_spent();
        Ok(())
    }

    /// Keeps what came too late, unless it is just what was told, by somebody else who waited for
    /// the same attempt.
    fn keep_late(&mut self, evaluation: u64, settled: &Settled) -> Result<()> {
        self.study.refresh()?;
        let same = match (&self.evaluation(evaluation)?.status, &settled.result) {
            (Status::Told(told), Ok(value)) => told.to_bits() == value.to_bits(),
            (Status::Failed(told), Err(reason)) => told == reason,
            _ => false,
        };
        if !same {
            let outcome = match &settled.result {
                Ok(value) => value.to_string(),
                Err(reason) => reason.replace('\0', " "),
            };
            self.store.keep_late(evaluation, settled.attempt, &outcome)?;
            (self.tell)(Progress::Late { evaluation });
        }
        Ok(())
    }

    /// Stops what runs here, and waits until it has.
    fn stop_all(&mut self) -> Result<()> {
        (self.tell)(Progress::Stopping { running: self.jobs.len() });
        for job in &self.jobs {
            let folder = self.layout.attempt(job.evaluation, job.attempt);
            // One that cannot be stopped goes on and is found again later.
            let _ = Attempt::open(folder).stop();
        }
        while !self.jobs.is_empty() && self.interrupt.times() < 3 {
            if let Ok((evaluation, _)) = self.ended.1.recv_timeout(PAUSE) {
                self.put_away(evaluation)?;
            }
        }
        Ok(())
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
        let Evaluation { design, objective, cost, .. } = self.evaluation(evaluation)?.clone();
        let objective = self.study.problem().objectives[objective].name.clone();
        let underway = Underway { evaluation, objective, design, cost, attempt };
        let mut before = 0;
        if let Some(job) = self.jobs.iter_mut().find(|job| job.evaluation == evaluation) {
            before = std::mem::replace(&mut job.attempt, attempt);
        }
        let progress = match (asked, after) {
            (Some(suggestion), _) => Progress::Started {
                gain_per_cost: suggestion.gain_per_cost(),
                notes: suggestion.notes,
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
        let index = self.evaluation(evaluation)?.objective;
        let objective = self.study.problem().objectives[index].name.clone();
        let progress = match settled.result {
            Ok(value) => {
                self.finished += 1;
                Progress::Finished { evaluation, objective, value, duration: settled.duration }
            }
            Err(reason) => {
                self.failed += 1;
                self.give_up_if_hopeless(index, &reason);
                Progress::Failed { evaluation, objective, reason }
            }
        };
        (self.tell)(progress);
        Ok(())
    }

    /// A command that never works would spend the whole budget on nothing.
    fn give_up_if_hopeless(&mut self, objective: usize, reason: &str) {
        let of = |e: &&Evaluation| e.objective == objective;
        let all = || self.study.evaluations().iter().filter(of);
        let times = all().filter(|e| matches!(e.status, Status::Failed(_))).count();
        let worked = all().any(|e| matches!(e.status, Status::Told(_)));
        if !worked && times >= HOPELESS && self.ending.is_none() {
            let objective = self.study.problem().objectives[objective].name.clone();
            self.ending = Some(Ending::Failing { objective, times, reason: reason.to_owned() });
        }
    }

    fn tell_spent(&mut self) {
        let (spent, committed) = (self.study.spent(), self.study.committed());
        (self.tell)(Progress::Spent { spent, committed });
    }
}
