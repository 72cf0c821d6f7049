//! The figures of the paper, each from plain data: no files, no runs, no statistics but what a figure
//! itself needs.

mod look;
mod curves;
mod front;
mod convergence;
mod problem;
mod priors;
mod times;

pub use convergence::{Convergence, ConvergencePanel, Predicted, convergence_figure};
pub use curves::{Curve, CurvePanel, CurvesFigure, VerticalScale, curves_figure, regret_figure};
pub use look::label;
pub use priors::{LengthScalePrior, PriorPanel, priors_figure};
pub use problem::{Field, ProblemFigure, problem_figure};
pub use times::{TimePanel, TimeRange, times_figure};
