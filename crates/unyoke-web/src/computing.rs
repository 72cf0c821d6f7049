//! What takes long: views that need models, each computed once for a study as it stands, one at a time, beside the
//! requests that want it.

use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use unyoke::{Design, Journal, Suggestion};
use unyoke_run::Limits;
use unyoke_view::{
    Background, DesignView, Explanation, FrontView, StudyReport, best_for, explain_designs,
    explanation, front, has_values,
};

use crate::error::Result;
use crate::shelf::{Glance, Served, Tiding};
use crate::shown::Ready;

/// Answers that are kept beside those to the standing questions.
const MOST_ANSWERS: usize = 16;

/// Questions that wait, at most.
const MOST_WAITING: usize = 32;

/// A study that changes all the time is computed again after at most this.
const LONGEST_REST: Duration = Duration::from_secs(30);

/// What can be asked.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Question {
    /// What to measure next, and why.
    Next,
    /// Everything that needs models.
    Report,
    /// A front of so many designs, for the cautious.
    Front { points: usize, cautious: Option<f64> },
    /// The best design for these weights.
    Best { weights: Vec<f64>, cautious: Option<f64> },
    /// What would be next at other prices.
    WhatIf { prices: BTreeMap<String, f64> },
    /// What is expected of a design, and what measuring it is worth.
    At { design: Design },
}

impl Question {
    /// Whether its answer is always wanted, not only by one visitor.
    fn is_standing(&self) -> bool {
        matches!(self, Self::Next | Self::Report)
    }

    fn views(&self) -> &'static [&'static str] {
        match self {
            Self::Next => &["next"],
            Self::Report => &["report"],
            _ => &[],
        }
    }
}

/// What was computed.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    Next(Arc<Explanation>),
    Report(Arc<StudyReport>),
    Front(Arc<FrontView>),
    /// One design, in a list as views have it.
    At(Vec<Arc<DesignView>>),
}

/// Why there is no answer.
#[derive(Debug, Clone)]
enum Trouble {
    Nothing(String),
    Failed(String),
}

/// The study that an answer is of: how many records, and which edition of its file.
type Basis = (u64, u64);

/// Computes for one study.
#[derive(Debug)]
pub(crate) struct Computer {
    served: Arc<Served>,
    desk: Mutex<Desk>,
    asked: Condvar,
    /// Counts answers, for those who wait.
    answered: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Desk {
    answers: Vec<Kept>,
    waiting: VecDeque<Question>,
    /// Whether a thread is at work.
    is_busy: bool,
    /// The last suggestion, which a report needs as well.
    suggestion: Option<(Basis, Option<Suggestion>)>,
    /// When standing questions may be answered anew: others want the processor too.
    rested: Option<Instant>,
    /// When somebody last asked, or was answered.
    used: Option<Instant>,
}

#[derive(Debug)]
struct Kept {
    question: Question,
    basis: Basis,
    answer: std::result::Result<Answer, Trouble>,
}

impl Computer {
    pub(crate) fn new(served: Arc<Served>) -> Self {
        let (answered, _) = watch::channel(0);
        Self { served, desk: Mutex::default(), asked: Condvar::new(), answered }
    }

    /// The answer for the study as it stands, or an older one. If there is none for it, that is begun.
    pub(crate) fn ask(self: &Arc<Self>, question: &Question, glance: &Glance) -> Ready<Answer> {
        let basis = (glance.position, glance.edition);
        let mut desk = self.desk();
        desk.used = Some(Instant::now());
        let known = desk.answers.iter().find(|kept| kept.question == *question);
        let is_current = known.is_some_and(|kept| kept.basis == basis);
        // That something could not be computed does not hold any more.
        let known = known.filter(|kept| is_current || kept.answer.is_ok());
        let ready = known.map_or(Ready::Computing, ready);
        if is_current {
            return ready;
        }
        if !desk.waiting.contains(question) && desk.waiting.len() < MOST_WAITING {
            match question.is_standing() {
                true => desk.waiting.push_back(question.clone()),
                // Somebody moves a slider: that comes first.
                false => desk.waiting.push_front(question.clone()),
            }
            self.asked.notify_all();
        }
        if !desk.is_busy {
            desk.is_busy = true;
            let computer = Arc::clone(self);
            tokio::task::spawn_blocking(move || computer.work());
        }
        ready
    }

    /// Like [`Computer::ask`], but waits for the present answer, at most until `deadline`.
    pub(crate) async fn wait(
        self: &Arc<Self>,
        question: &Question,
        glance: &Glance,
        deadline: Instant,
    ) -> Ready<Answer> {
        let mut answered = self.answered.subscribe();
        loop {
            let ready = self.ask(question, glance);
            let left = deadline.saturating_duration_since(Instant::now());
            let is_new = match &ready {
                // Of what has become of the study meanwhile.
                Ready::Done { position, .. } => *position >= glance.position,
                Ready::Computing => false,
                Ready::Nothing(_) | Ready::Failed(_) => true,
            };
            if is_new || left.is_zero() {
                return ready;
            }
            let _ = tokio::time::timeout(left, answered.changed()).await;
        }
    }

    /// Answers what is asked, until nothing is.
    fn work(&self) {
        while let Some(question) = self.next_question() {
            let began = Instant::now();
            // Should the engine break its promise never to panic, others go on.
            let computed = catch_unwind(AssertUnwindSafe(|| self.compute(&question)));
            let broken = |_| ((0, 0), Err(Trouble::Failed("it cannot be computed".to_owned())));
            let (basis, answer) = computed.unwrap_or_else(broken);
            let mut desk = self.desk();
            if question.is_standing() {
                let rest = began.elapsed().min(LONGEST_REST);
                desk.rested = Some(Instant::now() + rest);
            }
            desk.keep(Kept { question: question.clone(), basis, answer });
            desk.used = Some(Instant::now());
            drop(desk);
            self.answered.send_modify(|count| *count += 1);
            if !question.views().is_empty() {
                self.served.tell(Tiding::Views { position: basis.0, names: question.views() });
            }
        }
    }

    /// The next question; `None`, and nobody is at work any more, if there is none.
    fn next_question(&self) -> Option<Question> {
        let mut desk = self.desk();
        loop {
            let left = desk.rest_left();
            let may_begin = |question: &Question| left.is_zero() || !question.is_standing();
            if let Some(at) = desk.waiting.iter().position(may_begin) {
                return desk.waiting.remove(at);
            }
            if desk.waiting.is_empty() {
                desk.is_busy = false;
                return None;
            }
            let waited = self.asked.wait_timeout(desk, left);
            desk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn compute(&self, question: &Question) -> (Basis, std::result::Result<Answer, Trouble>) {
        let glance = match self.served.look() {
            Ok(glance) => glance,
            Err(error) => return ((0, 0), Err(Trouble::Failed(error.to_string()))),
        };
        let basis = (glance.position, glance.edition);
        let needs_values = !matches!(question, Question::Next | Question::WhatIf { .. });
        if needs_values && !has_values(&*glance.study) && *question != Question::Report {
            let reason = "there are no values yet, so nothing can be predicted";
            return (basis, Err(Trouble::Nothing(reason.to_owned())));
        }
        let answer = match question {
            Question::Next => self.explain(&glance, basis).map(|next| Answer::Next(Arc::new(next))),
            Question::Report => {
                self.report(&glance, basis).map(|report| Answer::Report(Arc::new(report)))
            }
            other => compute(&glance, other),
        };
        (basis, answer.map_err(|error| Trouble::Failed(error.to_string())))
    }

    fn explain(&self, glance: &Glance, basis: Basis) -> Result<Explanation> {
        let allowed = self.suggestion(glance, basis)?;
        Ok(explanation(&*glance.study, allowed.as_ref(), glance.terms.stop.as_ref())?)
    }

    fn report(&self, glance: &Glance, basis: Basis) -> Result<StudyReport> {
        let terms = &glance.terms;
        let background = Background {
            name: Some(terms.name.clone()),
            study_file: terms.file.as_ref().map(|file| file.path().display().to_string()),
            store: terms.location.to_string(),
            budget: terms.budget.cost,
        };
        let allowed = self.suggestion(glance, basis)?;
        // Without records nothing of the past is computed again, which would take long.
        Ok(StudyReport::new(&*glance.study, &[], background, allowed.as_ref())?)
    }

    /// What limits allow to measure next: computed once, since it takes longest.
    fn suggestion(&self, glance: &Glance, basis: Basis) -> Result<Option<Suggestion>> {
        if let Some((known, suggestion)) = &self.desk().suggestion
            && *known == basis
        {
            return Ok(suggestion.clone());
        }
        let found = suggest(&glance.study, glance)?;
        self.desk().suggestion = Some((basis, found.clone()));
        Ok(found)
    }

    /// What limits allow to measure next in the study as it stands, if that was computed before.
    pub(crate) fn known_suggestion(&self, glance: &Glance) -> Option<Suggestion> {
        let basis = (glance.position, glance.edition);
        let desk = self.desk();
        let known = desk.suggestion.as_ref().filter(|(known, _)| *known == basis)?;
        known.1.clone()
    }

    /// Whether nobody has asked for so long, and nothing is being computed.
    pub(crate) fn is_unused(&self, unused: Duration) -> bool {
        let desk = self.desk();
        !desk.is_busy && desk.used.is_none_or(|used| used.elapsed() >= unused)
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Desk {
    fn keep(&mut self, kept: Kept) {
        self.answers.retain(|other| other.question != kept.question);
        self.answers.push(kept);
        let passing = |kept: &Kept| !kept.question.is_standing();
        while self.answers.iter().filter(|kept| passing(kept)).count() > MOST_ANSWERS {
            if let Some(oldest) = self.answers.iter().position(passing) {
                self.answers.remove(oldest);
            }
        }
    }

    /// How long standing questions must wait.
    fn rest_left(&self) -> Duration {
        let knows = |question: &Question| self.answers.iter().any(|k| k.question == *question);
        // What was never computed is computed at once.
        match self.rested {
            Some(rested) if knows(&Question::Next) && knows(&Question::Report) => {
                rested.saturating_duration_since(Instant::now())
            }
            _ => Duration::ZERO,
        }
    }
}

fn ready(kept: &Kept) -> Ready<Answer> {
    match &kept.answer {
        Ok(answer) => Ready::Done { value: Arc::new(answer.clone()), position: kept.basis.0 },
        Err(Trouble::Nothing(reason)) => Ready::Nothing(reason.clone()),
        Err(Trouble::Failed(reason)) => Ready::Failed(reason.clone()),
    }
}

fn suggest<J: Journal>(study: &unyoke::Study<J>, glance: &Glance) -> Result<Option<Suggestion>> {
    let limits = Limits::new(&glance.terms.budget, &glance.terms.run, vec![]);
    Ok(study.suggest_where(|study, which| limits.permission(study, which))?)
}

fn compute(glance: &Glance, question: &Question) -> Result<Answer> {
    let study = &*glance.study;
    let answer = |front: FrontView| Answer::Front(Arc::new(front));
    Ok(match question {
        Question::Front { points, cautious } => answer(front(study, *points, *cautious)?),
        Question::Best { weights, cautious } => answer(best_for(study, weights, *cautious)?),
        Question::At { design } => {
            let explained = explain_designs(study, std::slice::from_ref(design))?;
            Answer::At(explained.into_iter().map(Arc::new).collect())
        }
        Question::WhatIf { prices } => {
            let mut study = glance.copy()?;
            for (measurement, price) in prices {
                study.set_cost(measurement, *price)?;
            }
            let allowed = suggest(&study, glance)?;
            let stop = glance.terms.stop.as_ref();
            Answer::Next(Arc::new(explanation(&study, allowed.as_ref(), stop)?))
        }
        Question::Next | Question::Report => {
            let reason = "standing questions are answered elsewhere".to_owned();
            return Err(unyoke_run::Error::Refused { reason }.into());
        }
    })
}

impl Ready<Answer> {
    /// The explanation that this is.
    pub(crate) fn next(self) -> Ready<Explanation> {
        self.only(|answer| match answer {
            Answer::Next(value) => Some(Arc::clone(value)),
            _ => None,
        })
    }

    /// The report that this is.
    pub(crate) fn report(self) -> Ready<StudyReport> {
        self.only(|answer| match answer {
            Answer::Report(value) => Some(Arc::clone(value)),
            _ => None,
        })
    }

    /// The front that this is.
    pub(crate) fn front(self) -> Ready<FrontView> {
        self.only(|answer| match answer {
            Answer::Front(value) => Some(Arc::clone(value)),
            _ => None,
        })
    }

    /// The design that this is about.
    pub(crate) fn design(self) -> Ready<DesignView> {
        self.only(|answer| match answer {
            Answer::At(designs) => designs.first().map(Arc::clone),
            _ => None,
        })
    }

    fn only<T>(self, of: impl Fn(&Answer) -> Option<Arc<T>>) -> Ready<T> {
        match self {
            Self::Done { value, position } => match of(&value) {
                Some(value) => Ready::Done { value, position },
                None => Ready::Computing,
            },
            Self::Computing => Ready::Computing,
            Self::Nothing(reason) => Ready::Nothing(reason),
            Self::Failed(reason) => Ready::Failed(reason),
        }
    }
}
