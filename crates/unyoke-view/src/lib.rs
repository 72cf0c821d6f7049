//! What is shown of a study: as data, figures and a report.
//!
//! A view is plain data that serialises to documented JSON (`docs/views.md`): [`status()`] (how the
//! study stands), [`front()`] (the predicted trade-offs), [`measured_front()`] (those that were measured), [`explanation()`] (what to evaluate next, and
//! why), [`evaluations()`] (what was measured), and [`StudyReport`] (everything at once, with its
//! [`figures`] and as one page). Command line, browser and Python show the same views; [`words`] has
//! numbers and designs as people read them.
//!
//! ```
//! use unyoke::{Design, Problem, Study};
//!
//! let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 5.0).build()?;
//! let mut study = Study::new(problem)?;
//! for x in [0.1, 0.5, 0.9] {
//!     study.tell_result(Design::new().with("x", x), "drag", (x - 0.4) * (x - 0.4))?;
//! }
//! let front = unyoke_view::front(&study, 5, None)?;
//! assert!(front.points[0].outputs["drag"].mean < 0.1);
//! assert_eq!(unyoke_view::evaluations(&study).len(), 3);
//! # Ok::<(), unyoke::Error>(())
//! ```
//!
//! Modules stand in the order of use; each uses only those above it.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod words;
pub mod figures;
mod output;
mod evaluations;
mod prospect;
mod front;
mod effects;
mod confirmation;
mod model;
mod explanation;
mod status;
mod report;

pub use confirmation::{ConfirmationView, ConfirmedValueView, confirmation};
pub use effects::{ContourView, EffectView, EffectsView, SlicePoint};
pub use evaluations::{
    EvaluationOrigin, EvaluationStatus, EvaluationView, ReadingView, SupersededView, evaluation,
    evaluations,
};
pub use explanation::{
    DesignView, Explanation, GainUnit, OptionView, SuggestionView, explain_designs, explanation,
};
pub use front::{
    AverageView, ForecastView, FrontView, MeasuredFrontView, MeasuredPointView, PointView, ROWS,
    best_for, front, measured_front,
};
pub use model::{ModelView, models};
pub use output::{OutputView, Wish, has_values, outputs};
pub use prospect::{AppraisalView, Improvement, ProspectView};
pub use report::{Background, StudyReport, design_key, measured};
pub use status::{
    Custody, MeasurementStatus, OutputStatus, PausedView, PendingView, Plan, QueuedView,
    StatusView, Worker, paused, status,
};
