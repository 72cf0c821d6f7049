//! What to evaluate next, chosen on a thread of its own: a search may take minutes, and meanwhile
//! results are recorded and requests to stop are heard.
//!
//! Programs that share a folder of attempts choose one after the other. A search uses all processors,
//! so that two at once would take twice as long, and from the same results would choose the same.

use std::fs::{self, File};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rayon::{ThreadPool, ThreadPoolBuilder};
use unyoke::{
    Appraisal, Evaluation, NextConfirmation, Permission, Status, Stop, Study, Suggestion,
};
use unyoke_store::Store;

use super::Happened;
use super::limits::Limits;
use crate::error::{Error, Result};
use crate::process::Layout;
use crate::study_file::{Budget, RunSettings};

/// How long a turn is waited for in silence.
const PATIENCE: Duration = Duration::from_secs(3);

/// What evaluations are chosen for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To find better designs; at the end, to confirm them, if that is kept money for.
    Search,
    /// To confirm the recommended designs, so many at most.
    Confirm {
        /// How many.
        points: usize,
    },
}

/// A choice under way.
#[derive(Debug)]
pub(super) struct Asking {
    thread: JoinHandle<Result<Choice>>,
    wanted: Arc<AtomicBool>,
    is_our_turn: Arc<AtomicBool>,
    done: Arc<AtomicBool>,
    began: Instant,
    layout: Layout,
    /// Somebody was told for whom it waits.
    is_told: bool,
}

/// What was chosen.
#[derive(Debug)]
pub(super) struct Choice {
    /// Nothing if nothing is allowed, or nothing is left.
    pub(super) suggestion: Option<Suggestion>,
    /// Whether that is worth its cost; nothing if nobody asked or nobody can tell.
    pub(super) appraisal: Option<Appraisal>,
    /// From which state.
    pub(super) basis: Basis,
    /// Kept until the suggestion is pending, so that the next program knows of it.
    pub(super) turn: Turn,
}

/// All that a choice depends on: the same basis, the same choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Basis {
    pub(super) position: u64,
    pub(super) running: Vec<usize>,
    pub(super) by_hand: Vec<u64>,
    /// Measurements that are paused, which ends with time.
    pub(super) paused: Vec<usize>,
}

/// The right to choose, for one program at a time among those that share a folder of attempts. It
/// ends with the program.
#[derive(Debug)]
pub(super) struct Turn {
    _locked: File,
}

impl Turn {
    /// Waits for it, and writes down whose it is.
    fn take(layout: &Layout, owner: &str) -> Result<Self> {
        let path = layout.turn();
        let open = || File::options().create(true).truncate(false).write(true).open(&path);
        let file = open().or_else(|_| {
            path.parent().map_or(Ok(()), fs::create_dir_all)?;
            open()
        });
        let mut locked =
            file.and_then(|file| file.lock().map(|()| file)).map_err(Error::io(&path))?;
        // For people only.
        let _ = locked.set_len(0).and_then(|()| locked.write_all(owner.as_bytes()));
        Ok(Self { _locked: locked })
    }

    /// Whose turn it is, as far as they said.
    fn holder(layout: &Layout) -> String {
        let holder = fs::read_to_string(layout.turn()).unwrap_or_default();
        if holder.is_empty() { "another program".to_owned() } else { holder }
    }
}

/// What is needed to choose, on any thread, when it is our turn.
pub(super) struct Question {
    pub(super) choosing: Choosing,
    pub(super) layout: Layout,
    /// Who asks.
    pub(super) owner: String,
}

/// What the next evaluation of a run is chosen by.
#[derive(Debug)]
pub struct Choosing {
    /// The study as it is now.
    pub study: Study<Store>,
    /// What may be spent.
    pub budget: Budget,
    /// When evaluations are not worth their cost any more.
    pub stop: Option<Stop>,
    /// How evaluations are run.
    pub run: RunSettings,
    /// The measurement of each evaluation that runs here.
    pub running: Vec<usize>,
    /// Evaluations that people make by hand.
    pub by_hand: Vec<u64>,
    /// The only measurements that are to be made; all if none is named.
    pub only: Vec<String>,
    /// Measurements that would not end in time.
    pub too_long: Vec<usize>,
    /// What evaluations are for.
    pub purpose: Purpose,
    /// The round of confirmations that this program is in.
    pub round: Option<u64>,
}

impl Question {
    fn answer(mut self, wanted: &AtomicBool, is_our_turn: &AtomicBool) -> Result<Choice> {
        let turn = Turn::take(&self.layout, &self.owner)?;
        is_our_turn.store(true, Ordering::SeqCst);
        if wanted.load(Ordering::SeqCst) {
            // Others may have asked for something while it was their turn.
            self.choosing.study.refresh()?;
        }
        let basis = self.choosing.basis();
        let (suggestion, appraisal) = match wanted.load(Ordering::SeqCst) {
            true => own_threads()?.install(|| self.choosing.choose())?,
            false => (None, None),
        };
        Ok(Choice { suggestion, appraisal, basis, turn })
    }
}

impl Choosing {
    fn basis(&self) -> Basis {
        Basis {
            position: self.study.position(),
            running: self.running.clone(),
            by_hand: self.by_hand.clone(),
            paused: self.limits(&self.budget).paused(&self.study),
        }
    }

    /// What to evaluate, if anything, and whether that is worth its cost.
    pub fn choose(&self) -> Result<(Option<Suggestion>, Option<Appraisal>)> {
        let reserve = match self.purpose {
            Purpose::Confirm { points } => {
                let next = self.confirmation(&self.budget, points, self.round)?;
                return Ok((measurement(next), None));
            }
            Purpose::Search => self.reserve(),
        };
        let before = self.capped(self.budget.cost.map(|cost| cost - reserve.unwrap_or(0.0)));
        let found = self.search(&before)?;
        let appraisal = match (&self.stop, &found) {
            (Some(stop), Some(next)) => self.study.appraise(stop, next)?,
            _ => None,
        };
        let is_over = match &found {
            Some(_) => appraisal.as_ref().is_some_and(|appraisal| appraisal.verdict.is_stop()),
            None => !self.must_wait(&before),
        };
        let Some(reserve) = reserve.filter(|_| is_over) else { return Ok((found, appraisal)) };
        // No more than the share, if the search ends before the rest is spent.
        let searched = self.study.committed() - self.committed_to_confirmation();
        let most = self.budget.cost.map(|cost| cost.min(searched + reserve));
        match self.confirmation(&self.capped(most), CONFIRMED, None)? {
            NextConfirmation::Measure(next) => Ok((Some(*next), None)),
            NextConfirmation::Wait if !self.running.is_empty() => Ok((None, None)),
            _ if found.is_some() => Ok((found, appraisal)),
            // What still fits is used.
            _ => Ok((self.search(&self.budget)?, None)),
        }
    }

    /// What is kept for confirmations.
    fn reserve(&self) -> Option<f64> {
        Some(self.run.confirm? * self.budget.cost?)
    }

    fn capped(&self, cost: Option<f64>) -> Budget {
        Budget { cost, ..self.budget.clone() }
    }

    fn committed_to_confirmation(&self) -> f64 {
        let confirmations = self.study.evaluations().iter().filter(|e| e.confirms.is_some());
        let pending = |e: &Evaluation| if e.status == Status::Pending { e.cost } else { 0.0 };
        confirmations.map(|e| e.spent() + pending(e)).sum()
    }

    /// What may be started within a budget.
    fn limits<'a>(&'a self, budget: &'a Budget) -> Limits<'a> {
        let limits = Limits::new(budget, &self.run, self.running.clone()).only(&self.only);
        limits.with_trials(self.by_hand.clone()).without(self.too_long.clone())
    }

    fn search(&self, budget: &Budget) -> Result<Option<Suggestion>> {
        let limits = self.limits(budget);
        Ok(self.study.suggest_where(|study, which| limits.permission(study, which))?)
    }

    fn confirmation(
        &self,
        budget: &Budget,
        points: usize,
        round: Option<u64>,
    ) -> Result<NextConfirmation> {
        let limits = self.limits(budget);
        let permission = |study: &Study<Store>, which: &[usize]| limits.permission(study, which);
        Ok(self.study.suggest_confirmation(points, round, permission)?)
    }

    /// Whether something may be searched for once what is under way has ended.
    fn must_wait(&self, budget: &Budget) -> bool {
        let limits = self.limits(budget);
        let choices = self.study.config().choices(self.study.problem());
        choices.iter().any(|which| limits.permission(&self.study, which) == Permission::Later)
    }
}

/// How many recommended designs are confirmed at the end of a run.
const CONFIRMED: usize = 20;

fn measurement(next: NextConfirmation) -> Option<Suggestion> {
    match next {
        NextConfirmation::Measure(suggestion) => Some(*suggestion),
        NextConfirmation::Wait | NextConfirmation::Done => None,
    }
}

/// Threads of its own for a search: one that is abandoned must not keep others waiting that use the
/// threads of the program.
fn own_threads() -> Result<ThreadPool> {
    let threads = ThreadPoolBuilder::new().thread_name(|_| "search".to_owned()).build();
    threads.map_err(|error| Error::io("search")(std::io::Error::other(error)))
}

impl Asking {
    /// Begins to choose. When that is done, also by a panic, `listener` is told.
    pub(super) fn begin(question: Question, listener: Sender<Happened>) -> Result<Self> {
        let wanted = Arc::new(AtomicBool::new(true));
        let is_our_turn = Arc::<AtomicBool>::default();
        let (theirs, turn, layout) = (wanted.clone(), is_our_turn.clone(), question.layout.clone());
        let bell = Bell { done: Arc::default(), listener };
        let done = bell.done.clone();
        let choose = move || {
            let _bell = bell;
            question.answer(&theirs, &turn)
        };
        let thread = std::thread::Builder::new().name("suggestion".to_owned()).spawn(choose);
        let thread = thread.map_err(Error::io("suggestion"))?;
        let began = Instant::now();
        Ok(Self { thread, wanted, is_our_turn, done, began, layout, is_told: false })
    }

    /// Whether the choice has been made.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::SeqCst)
    }

    /// For whom it has been waiting, if that is worth a word; once.
    pub(super) fn waits_for(&mut self) -> Option<String> {
        let waits = !self.is_our_turn.load(Ordering::SeqCst) && self.began.elapsed() > PATIENCE;
        if self.is_told || !waits {
            return None;
        }
        self.is_told = true;
        Some(Turn::holder(&self.layout))
    }

    /// The choice, once it has been made.
    pub(super) fn finish(self) -> Result<Choice> {
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// The choice is not waited for. A search that is under way is left to end by itself.
    pub(super) fn abandon(self) {
        self.wanted.store(false, Ordering::SeqCst);
    }
}

/// Rings when it is dropped.
struct Bell {
    done: Arc<AtomicBool>,
    listener: Sender<Happened>,
}

impl Drop for Bell {
    fn drop(&mut self) {
        self.done.store(true, Ordering::SeqCst);
        // Nobody listens any more if the runner has ended.
        let _ = self.listener.send(Happened::Chosen);
    }
}
