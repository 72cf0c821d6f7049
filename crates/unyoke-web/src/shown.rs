//! What pages show: plain data, gathered before a page is made.

use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::Arc;
use unyoke::{Design, Journal, Problem, Study};
use unyoke_view::{EvaluationView, Explanation, PendingView, StatusView, StudyReport};
use utoipa::ToSchema;

/// The pages of a study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum View {
    /// What to measure next, and why.
    Next,
    /// The trade-offs, predicted and measured.
    Front,
    /// Who measured what: designs and outputs.
    Designs,
    /// Spending and budget.
    Spending,
    /// What runs now.
    Live,
    /// The form of whoever measures by hand.
    Bench,
    /// What models believe, and how far they can be trusted.
    Models,
}

impl View {
    /// All of them, in the order in which they are offered.
    pub(crate) const ALL: [Self; 7] = [
        Self::Next,
        Self::Front,
        Self::Designs,
        Self::Spending,
        Self::Live,
        Self::Bench,
        Self::Models,
    ];

    /// As it stands in addresses.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Front => "front",
            Self::Designs => "designs",
            Self::Spending => "spending",
            Self::Live => "live",
            Self::Bench => "bench",
            Self::Models => "models",
        }
    }

    /// As people read it.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Next => "What next",
            Self::Front => "Front",
            Self::Designs => "Who measured what",
            Self::Spending => "Spending",
            Self::Live => "Live evaluations",
            Self::Bench => "Bench",
            Self::Models => "Models",
        }
    }

    /// The view of this slug.
    pub(crate) fn of(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.slug() == slug)
    }
}

/// Who looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Visitor {
    /// Whether actions are offered.
    pub(crate) may_write: bool,
}

/// A study in the list of all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct StudyCard {
    /// As it stands in addresses.
    pub(crate) id: String,
    /// As people call it.
    pub(crate) name: String,
    /// Where it is kept, without passwords.
    pub(crate) store: String,
    /// How many records its journal has; `null` if nobody has looked at it yet.
    pub(crate) position: Option<u64>,
    /// Why it cannot be shown.
    pub(crate) trouble: Option<String>,
}

/// The first page: all studies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StudyList {
    pub(crate) visitor: Visitor,
    pub(crate) studies: Vec<StudyCard>,
}

/// The page that asks for a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Login {
    /// Whether the last one was wrong.
    pub(crate) failed: bool,
    /// Where to go afterwards: a path on this server.
    pub(crate) to: String,
}

/// A page that says why there is no other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailurePage {
    /// The status of the answer.
    pub(crate) status: u16,
    /// In two or three words.
    pub(crate) title: String,
    /// What is wrong, and what to do.
    pub(crate) message: String,
}

/// What takes long to compute: there, or not yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ready<T> {
    /// It is there.
    Done {
        /// What was computed.
        value: Arc<T>,
        /// From so many records; if the study has more by now, the next one is being computed.
        position: u64,
    },
    /// It is being computed for the first time.
    Computing,
    /// There is nothing to show, for this reason.
    Nothing(String),
    /// It cannot be computed.
    Failed(String),
}

impl<T> Ready<T> {
    /// What was computed, if anything was.
    pub(crate) fn value(&self) -> Option<&T> {
        match self {
            Self::Done { value, .. } => Some(value),
            _ => None,
        }
    }

    /// Whether it is of the study as it stands at a position.
    pub(crate) fn is_current(&self, at: u64) -> bool {
        match self {
            Self::Done { position, .. } => *position == at,
            Self::Computing => false,
            Self::Nothing(_) | Self::Failed(_) => true,
        }
    }
}

/// Something that was done to an evaluation, as its journal has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Deed {
    /// The number of records with this one.
    pub(crate) position: u64,
    /// `asked`, `measured`, `failed`, `withdrawn`, `corrected`, ...: the event.
    pub(crate) what: &'static str,
    /// Who did it, where that is known.
    #[serde(serialize_with = "name")]
    #[schema(value_type = Option<String>)]
    pub(crate) by: Option<Arc<str>>,
    /// When, in seconds since the beginning of 1970, UTC, where that is known.
    pub(crate) at: Option<u64>,
}

fn name<S: Serializer>(name: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    name.as_deref().serialize(serializer)
}

/// An evaluation whose result is awaited.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub(crate) struct LiveView {
    /// What is measured where, and who works on it.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub(crate) pending: PendingView,
    /// For how many seconds its command runs on this machine.
    pub(crate) elapsed: Option<u64>,
    /// The job of a scheduler that it is.
    pub(crate) job: Option<String>,
    /// Whether its command has written something that can be read here.
    pub(crate) has_log: bool,
    /// Whether somebody runs its command, which can be stopped.
    pub(crate) can_stop: bool,
    /// Whether a person makes it.
    pub(crate) by_hand: bool,
}

/// The evaluations of a study, by their numbers from zero. Each is put into words when it is shown: there may be many,
/// and a page has few.
pub(crate) trait Evaluations: Debug + Send + Sync {
    /// How many there are.
    fn count(&self) -> u64;

    /// The design of one.
    fn design(&self, number: u64) -> Option<&Design>;

    /// One of them.
    fn one(&self, number: u64) -> Option<EvaluationView>;
}

impl<J: Journal + Debug + Send + Sync> Evaluations for Study<J> {
    fn count(&self) -> u64 {
        self.evaluations().len() as u64
    }

    fn design(&self, number: u64) -> Option<&Design> {
        let place = usize::try_from(number).ok()?;
        self.evaluations().get(place).map(|evaluation| &evaluation.design)
    }

    fn one(&self, number: u64) -> Option<EvaluationView> {
        unyoke_view::evaluation(self, number)
    }
}

impl dyn Evaluations {
    /// All of them, the latest first.
    pub(crate) fn latest(&self) -> impl Iterator<Item = EvaluationView> + '_ {
        (0..self.count()).rev().filter_map(|number| self.one(number))
    }
}

/// All that a page of a study may show.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub(crate) visitor: Visitor,
    /// All studies that are served.
    pub(crate) studies: Vec<StudyCard>,
    /// The study, as it stands in addresses.
    pub(crate) id: String,
    /// How many records its journal has.
    pub(crate) position: u64,
    pub(crate) problem: Arc<Problem>,
    pub(crate) status: Arc<StatusView>,
    pub(crate) evaluations: Arc<dyn Evaluations>,
    /// What was done to each evaluation, by its number.
    pub(crate) deeds: Arc<BTreeMap<u64, Vec<Deed>>>,
    pub(crate) live: Arc<Vec<LiveView>>,
    pub(crate) next: Ready<Explanation>,
    /// Prices of this request alone, with which `next` is ranked.
    pub(crate) prices: BTreeMap<String, f64>,
    pub(crate) report: Ready<StudyReport>,
    /// What stands behind the question mark of the address, decoded; the last of several with one name.
    pub(crate) query: BTreeMap<String, String>,
    /// What people should know about how the study is served.
    pub(crate) notes: Vec<String>,
    /// Seconds since the beginning of 1970, UTC.
    pub(crate) now: u64,
}
