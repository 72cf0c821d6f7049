//! Submits the jobs of a scheduler, one after the other, and watches them until each has left a result
//! or is surely dead.
//!
//! Two threads: one submits, since that may take long; one looks for results often, and asks the
//! scheduler now and then. What is decided is written into the folder of the attempt, so that a program
//! that comes later goes on from there.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use super::{Scheduler, Standing, Standings, Submission, Submitted};
use crate::error::{Error, Result};
use crate::process::{
    Attempt, JobRecord, Said, Verdict, VerdictKind, claim, is_claimed, is_submitted, last_beat,
    look_again, note_submitted,
};
use crate::study_file::{Executor, Watching};

/// Between two looks for results.
const SWEEP: Duration = Duration::from_millis(250);

/// Looks for results take a small part of the time: the pause is so many times as long as the last.
const SWEEP_SHARE: u32 = 10;

/// The pause between two questions is at least so many times as long as the last one took.
const POLL_SHARE: u32 = 5;

/// When it is unclear whether a job was accepted, the scheduler is asked this soon.
const HURRY: Duration = Duration::from_secs(2);

/// Between two submissions.
const SPACING: Duration = Duration::from_millis(50);

/// After a submission that was not clearly accepted: as long as between two questions, then twice as long
/// each time, up to the longest.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How often a submission is tried that fails for reasons nobody knows.
const TRIES: u32 = 5;

/// In so many answers of the scheduler a job must be missing.
const MISSES: u32 = 2;

/// A job is cancelled this long after its command was asked to stop, at most.
const STOPPING: Duration = Duration::from_secs(30);

/// Something that a dispatcher has to tell.
#[derive(Debug)]
pub(crate) enum Notice {
    /// An attempt at this evaluation has ended, one way or the other.
    Ended(u64),
    /// What the scheduler says about the job of an evaluation is new.
    Said(u64, Said),
    /// Something is wrong with the scheduler, or was: `None` if all is well again.
    Trouble(Option<String>),
}

type Notify = Box<dyn Fn(Notice) + Send + Sync>;

/// An attempt to be submitted, or found again.
#[derive(Debug, Clone)]
pub(crate) struct Watch {
    pub(crate) evaluation: u64,
    /// The folder of the attempt, absolute.
    pub(crate) folder: PathBuf,
    pub(crate) executor: Arc<Executor>,
    pub(crate) watching: Watching,
}

impl Watch {
    /// The pause after so many submissions that were not clearly accepted.
    fn pause_after(&self, tries: u32) -> Duration {
        self.watching.poll.saturating_mul(1 << tries.min(16)).min(LONGEST_PAUSE)
    }
}

/// Submits and watches the jobs of a scheduler. Dropping it leaves them to themselves.
pub(crate) struct Dispatcher {
    shared: Arc<Shared>,
}

struct Shared {
    scheduler: Box<dyn Scheduler>,
    board: Mutex<Board>,
    changed: Condvar,
    over: AtomicBool,
    notify: Notify,
    began: SystemTime,
}

/// What both threads share.
#[derive(Default)]
struct Board {
    jobs: Vec<Job>,
    /// Jobs to be cancelled: they do nothing any more, whenever they begin.
    cancels: Vec<(String, PathBuf)>,
    trouble: Option<String>,
}

struct Job {
    watch: Watch,
    name: String,
    phase: Phase,
    /// The last sign of life of its supervisor, and since when it is the last.
    beat: Option<String>,
    absence: Option<Absence>,
    said: Option<Said>,
    /// When it was asked to stop.
    stopping: Option<Instant>,
}

/// How far a job has come.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// To be submitted, for the first time or again.
    Waiting { tries: u32, from: Instant },
    /// It may have been submitted.
    Unclear { tries: u32, reason: String, passing: bool },
    /// There is a job, or was.
    Submitted,
}

/// A job that the scheduler does not know any more, or says has ended.
struct Absence {
    since: Instant,
    answers: u32,
}

impl Dispatcher {
    pub(crate) fn new(
        scheduler: Box<dyn Scheduler>,
        notify: impl Fn(Notice) + Send + Sync + 'static,
    ) -> Result<Self> {
        let shared = Arc::new(Shared {
            scheduler,
            board: Mutex::default(),
            changed: Condvar::new(),
            over: AtomicBool::new(false),
            notify: Box::new(notify),
            began: SystemTime::now(),
        });
        let dispatcher = Self { shared: shared.clone() };
        let spawn = |name: &str, work: fn(&Shared)| {
            let shared = shared.clone();
            let thread = std::thread::Builder::new().name(name.to_owned());
            thread.spawn(move || work(&shared)).map(drop).map_err(Error::io("dispatcher"))
        };
        spawn("submitting", Shared::submit_all)?;
        spawn("watching", Shared::watch_all)?;
        Ok(dispatcher)
    }

    /// Submits an attempt whose folder was just prepared, or goes on with one that was found.
    pub(crate) fn add(&self, watch: Watch) -> Result<()> {
        let record = JobRecord::read(&watch.folder)?;
        let missing = || Error::bad_file(watch.folder.join("job.json"))("is missing");
        let name = record.ok_or_else(missing)?.name;
        let phase = match is_submitted(&watch.folder) {
            true => Phase::Submitted,
            // Whoever recorded the name may have been killed before or after submitting it.
            false => Phase::Unclear { tries: 0, reason: String::new(), passing: true },
        };
        self.put(watch, name, phase);
        Ok(())
    }

    /// The same for an attempt of which it is known that nobody has submitted it.
    pub(crate) fn add_new(&self, watch: Watch, name: String) {
        self.put(watch, name, Phase::Waiting { tries: 0, from: Instant::now() });
    }

    fn put(&self, watch: Watch, name: String, phase: Phase) {
        let mut board = self.shared.board();
        // What is watched already goes on.
        if board.jobs.iter().all(|job| job.name != name) {
            let (beat, absence, said, stopping) = Default::default();
            board.jobs.push(Job { watch, name, phase, beat, absence, said, stopping });
        }
        self.shared.changed.notify_all();
    }

    /// Stops what is under way for an evaluation. What has not begun never will.
    pub(crate) fn stop(&self, evaluation: u64) {
        let mut board = self.shared.board();
        let ours = |job: &Job| job.watch.evaluation == evaluation;
        let mut stopped = vec![];
        for job in board.jobs.iter_mut().filter(|job| ours(job)) {
            let folder = &job.watch.folder;
            if claim(folder, "stopped by the program").unwrap_or(false) {
                let reason = "it was stopped before it began".to_owned();
                let _ = Verdict { kind: VerdictKind::Stopped, reason }.write(folder);
                stopped.push((job.name.clone(), folder.clone()));
            } else if job.stopping.is_none() {
                // Its supervisor sees to it; one that does not is cancelled.
                let _ = Attempt::open(folder).stop();
                job.stopping = Some(Instant::now());
            }
        }
        board.cancels.extend(stopped);
        self.shared.changed.notify_all();
    }

    /// Stops what is under way for an evaluation that needs no result any more, and forgets it.
    pub(crate) fn forget(&self, evaluation: u64) {
        self.stop(evaluation);
        let mut board = self.shared.board();
        let (ours, others): (Vec<Job>, Vec<Job>) =
            board.jobs.drain(..).partition(|job| job.watch.evaluation == evaluation);
        board.jobs = others;
        let under_way = ours.into_iter().filter(|job| !Attempt::is_settled(&job.watch.folder));
        let cancels: Vec<_> = under_way.map(|job| (job.name, job.watch.folder)).collect();
        board.cancels.extend(cancels);
    }
}

impl Drop for Dispatcher {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::SeqCst);
        self.shared.changed.notify_all();
        self.shared.cancel_all();
    }
}

impl Shared {
    fn board(&self) -> MutexGuard<'_, Board> {
        self.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::SeqCst)
    }

    /// Waits for something to change, for so long at most.
    fn rest(&self, pause: Duration) {
        let board = self.board();
        if !self.is_over() {
            drop(self.changed.wait_timeout(board, pause));
        }
    }

    /// Submits what is to be submitted until it is over.
    fn submit_all(&self) {
        let mut quiet = Instant::now();
        while !self.is_over() {
            let Some(next) = self.next_submission(quiet) else {
                self.rest(SWEEP);
                continue;
            };
            let Next { name, watch, tries } = next;
            let (folder, executor) = (&watch.folder, &watch.executor);
            let answer = self.scheduler.submit(&Submission { name: &name, folder, executor });
            if let Submitted::Unclear { .. } = answer {
                // Whatever is wrong with it is wrong for the others, too.
                quiet = Instant::now() + watch.pause_after(tries);
            }
            self.note_answer(&name, &watch, tries, answer);
            std::thread::sleep(SPACING);
        }
    }

    fn next_submission(&self, quiet: Instant) -> Option<Next> {
        let now = Instant::now();
        let board = self.board();
        if now < quiet {
            return None;
        }
        let due = |job: &&Job| matches!(job.phase, Phase::Waiting { from, .. } if from <= now);
        let job = board.jobs.iter().filter(due).find(|job| !is_claimed(&job.watch.folder))?;
        let tries = match job.phase {
            Phase::Waiting { tries, .. } => tries,
            _ => 0,
        };
        Some(Next { name: job.name.clone(), watch: job.watch.clone(), tries })
    }

    fn note_answer(&self, name: &str, watch: &Watch, tries: u32, answer: Submitted) {
        let folder = &watch.folder;
        let phase = match answer {
            Submitted::Accepted(said) => {
                // Without it the name is looked up by whoever comes next.
                let _ = note_submitted(folder, &said);
                Phase::Submitted
            }
            Submitted::Unclear { reason, passing } => {
                self.say(watch.evaluation, name, &not_accepted(&reason));
                Phase::Unclear { tries: tries + 1, reason, passing }
            }
            Submitted::Refused(reason) => {
                self.give_up(folder, VerdictKind::Refused, reason);
                // If it is not given up, an earlier submission has led to a job.
                Phase::Submitted
            }
        };
        let mut board = self.board();
        match board.jobs.iter_mut().find(|job| job.name == name) {
            Some(job) => job.phase = phase,
            // It was stopped meanwhile.
            None => board.cancels.push((name.to_owned(), folder.clone())),
        }
        self.changed.notify_all();
    }

    /// Looks for results and asks the scheduler until it is over.
    fn watch_all(&self) {
        let (mut asked, mut took) = (Instant::now(), Duration::ZERO);
        let mut pause = SWEEP;
        while !self.is_over() {
            self.rest(pause);
            self.cancel_all();
            let began = Instant::now();
            self.sweep();
            pause = SWEEP.max(began.elapsed() * SWEEP_SHARE);
            if self.interval().is_some_and(|poll| asked.elapsed() >= poll.max(took * POLL_SHARE)) {
                let began = Instant::now();
                self.ask();
                (asked, took) = (Instant::now(), began.elapsed());
            }
        }
    }

    /// Tells of attempts that have left something, and cancels those that do not stop.
    fn sweep(&self) {
        // Slow file systems are not looked at while others wait for the board.
        let folders: Vec<PathBuf> =
            self.board().jobs.iter().map(|job| job.watch.folder.clone()).collect();
        let settled: Vec<PathBuf> =
            folders.into_iter().filter(|folder| Attempt::is_settled(folder)).collect();
        let mut board = self.board();
        let Board { jobs, cancels, .. } = &mut *board;
        // What is to be cancelled has not ended before it is.
        let is_settled = |job: &Job| {
            let is_cancelled = cancels.iter().any(|(name, _)| *name == job.name);
            settled.contains(&job.watch.folder) && !is_cancelled
        };
        let (ended, others): (Vec<Job>, Vec<Job>) = jobs.drain(..).partition(is_settled);
        *jobs = others;
        let mut stubborn = vec![];
        for job in &mut board.jobs {
            if matches!(job.phase, Phase::Waiting { .. }) && is_claimed(&job.watch.folder) {
                // It was accepted after all.
                job.phase = Phase::Submitted;
            }
            let patience = job.watch.watching.grace.min(STOPPING);
            if job.stopping.take_if(|since| since.elapsed() > patience).is_some() {
                stubborn.push((job.name.clone(), job.watch.folder.clone()));
            }
        }
        // A command that deletes its folder counts as dead, and must not go on.
        let deleted = ended.iter().filter(|job| !job.watch.folder.exists());
        stubborn.extend(deleted.map(|job| (job.name.clone(), job.watch.folder.clone())));
        board.cancels.extend(stubborn);
        drop(board);
        ended.iter().for_each(|job| (self.notify)(Notice::Ended(job.watch.evaluation)));
    }

    fn cancel_all(&self) {
        let cancels = std::mem::take(&mut self.board().cancels);
        for (name, folder) in cancels {
            if let Err(reason) = self.scheduler.cancel(&name, &folder) {
                let message = format!(
                    "{name} could not be cancelled: {reason}; if it is still queued it will do \
                     nothing, if it runs it must be cancelled by hand"
                );
                (self.notify)(Notice::Trouble(Some(message)));
            }
        }
    }

    /// Between two questions to the scheduler; none if there is nothing to ask.
    fn interval(&self) -> Option<Duration> {
        let board = self.board();
        let asked = board.jobs.iter().filter_map(|job| match job.phase {
            Phase::Waiting { .. } => None,
            Phase::Unclear { .. } => Some(job.watch.watching.poll.min(HURRY)),
            Phase::Submitted => Some(job.watch.watching.poll),
        });
        asked.min()
    }

    /// Asks the scheduler about all jobs at once, and draws conclusions.
    fn ask(&self) {
        let names: Vec<String> = {
            let board = self.board();
            let known = board.jobs.iter().filter(|job| !matches!(job.phase, Phase::Waiting { .. }));
            known.map(|job| job.name.clone()).collect()
        };
        let all: Vec<&str> = names.iter().map(String::as_str).collect();
        let answer = self.scheduler.status(&all, self.began);
        let trouble = answer.as_ref().err().cloned();
        if let Ok(standings) = answer {
            names.iter().for_each(|name| self.judge(name, &standings));
        }
        let mut board = self.board();
        if board.trouble != trouble {
            board.trouble.clone_from(&trouble);
            drop(board);
            (self.notify)(Notice::Trouble(trouble));
        }
    }

    /// Draws conclusions from what the scheduler says about a job.
    fn judge(&self, name: &str, standings: &Standings) {
        let mut board = self.board();
        let Some(job) = board.jobs.iter_mut().find(|job| job.name == name) else { return };
        let standing = standings.get(name);
        let conclusion = job.conclude(standing);
        let is_queued = matches!(standing, Some(Standing::Queued(_)));
        let (watch, evaluation) = (job.watch.clone(), job.watch.evaluation);
        drop(board);
        match conclusion {
            Conclusion::Await(said) => self.say(evaluation, name, &said),
            Conclusion::Nothing => {}
            Conclusion::Dead(kind, reason) => {
                let reason = format!("{}: {reason}", self.scheduler.title());
                self.give_up(&watch.folder, kind, reason);
                if is_queued {
                    // It would do nothing when its turn comes.
                    self.board().cancels.push((name.to_owned(), watch.folder));
                }
            }
        }
    }

    /// Writes down what is known about a job, and tells it, if it is new.
    fn say(&self, evaluation: u64, name: &str, said: &Said) {
        let mut board = self.board();
        let Some(job) = board.jobs.iter_mut().find(|job| job.name == name) else { return };
        if job.said.as_ref() == Some(said) {
            return;
        }
        job.said = Some(said.clone());
        let folder = job.watch.folder.clone();
        drop(board);
        // For `status` only.
        let _ = said.write(&folder);
        (self.notify)(Notice::Said(evaluation, said.clone()));
    }

    /// Gives up an attempt for good, unless it has left a result or its supervisor has begun meanwhile.
    fn give_up(&self, folder: &Path, kind: VerdictKind, reason: String) {
        look_again(folder);
        let was_claimed = is_claimed(folder);
        if Attempt::is_settled(folder) {
            return;
        }
        // Whoever has the claim is the only one who may run the command: if it is us, nobody will.
        let is_ours = !was_claimed && claim(folder, "given up by the program").unwrap_or(false);
        if !was_claimed && !is_ours {
            return;
        }
        let reason = match is_ours && kind == VerdictKind::Gone {
            true => format!(
                "{reason}, and no supervisor had begun; if that happens again, look whether the \
                 nodes see {}",
                folder.display()
            ),
            false => reason,
        };
        // What cannot be written is concluded again at the next answer.
        let _ = Verdict { kind, reason }.write(folder);
    }
}

/// The next job to submit.
struct Next {
    name: String,
    watch: Watch,
    tries: u32,
}

/// What follows from an answer of the scheduler.
#[derive(Debug, PartialEq)]
enum Conclusion {
    /// A result can still come.
    Await(Said),
    /// It is too early for a conclusion.
    Nothing,
    /// No result will come.
    Dead(VerdictKind, String),
}

impl Job {
    fn conclude(&mut self, standing: Option<&Standing>) -> Conclusion {
        let folder = self.watch.folder.clone();
        let is_claimed = is_claimed(&folder);
        let said = |state: &str, reason: &Option<String>| {
            Conclusion::Await(Said { state: state.to_owned(), reason: reason.clone() })
        };
        let gone = match standing {
            Some(Standing::Running(reason)) => {
                self.is_known(&folder);
                return said("running", reason);
            }
            // Once claimed, its command has begun: queued again, it will do nothing.
            Some(Standing::Queued(reason)) if !is_claimed => {
                self.is_known(&folder);
                return said("queued", reason);
            }
            Some(Standing::Unknown(reason)) => {
                self.is_known(&folder);
                return said("unknown", &Some(reason.clone()));
            }
            None if !is_claimed && self.phase != Phase::Submitted => return self.look_up_failed(),
            Some(Standing::Queued(_)) => Gone { said: "it was requeued", exceeded: false },
            Some(Standing::Gone { said, exceeded }) => Gone { said, exceeded: *exceeded },
            None => Gone { said: "it does not know the job any more", exceeded: false },
        };
        self.phase = Phase::Submitted;
        self.absent(&folder, gone)
    }

    /// There is such a job.
    fn is_known(&mut self, folder: &Path) {
        self.absence = None;
        if self.phase != Phase::Submitted {
            self.phase = Phase::Submitted;
            let _ = note_submitted(folder, "found by its name");
        }
    }

    /// It was unclear whether there is such a job, and there is none: it is submitted once more. Should
    /// it turn up nevertheless, one of the two has nothing to do.
    fn look_up_failed(&mut self) -> Conclusion {
        let Phase::Unclear { tries, reason, passing } = &self.phase else {
            return Conclusion::Nothing;
        };
        if *tries >= TRIES && !passing {
            return Conclusion::Dead(
                VerdictKind::Refused,
                format!("{reason}; tried {tries} times"),
            );
        }
        let pause = match tries.checked_sub(1) {
            Some(failed) => self.watch.pause_after(failed),
            None => Duration::ZERO,
        };
        self.phase = Phase::Waiting { tries: *tries, from: Instant::now() + pause };
        Conclusion::Nothing
    }

    /// The scheduler says that it is gone, or nothing. It is dead if that is so for a while and its
    /// supervisor shows no sign of life.
    fn absent(&mut self, folder: &Path, gone: Gone<'_>) -> Conclusion {
        let beat = last_beat(folder);
        if beat != self.beat {
            self.beat = beat;
            self.absence = None;
        }
        let absence = self.absence.get_or_insert(Absence { since: Instant::now(), answers: 0 });
        absence.answers += 1;
        if absence.answers < MISSES || absence.since.elapsed() < self.watch.watching.grace {
            return Conclusion::Nothing;
        }
        let kind = if gone.exceeded { VerdictKind::Exceeded } else { VerdictKind::Gone };
        Conclusion::Dead(kind, gone.said.to_owned())
    }
}

struct Gone<'a> {
    said: &'a str,
    exceeded: bool,
}

fn not_accepted(reason: &str) -> Said {
    Said { state: "not yet accepted".to_owned(), reason: Some(reason.to_owned()) }
}
