//! A suggestion with its reasons, as a user reads it.

use crate::design::Design;
use crate::model::ModelNote;
use crate::prospect::Prospect;
use serde::{Deserialize, Serialize};

/// What to evaluate next, and why.
///
/// ```
/// use unyoke::{Design, Problem, Study};
///
/// let problem =
///     Problem::builder().continuous("x", 0.0, 1.0).maximise("f", 1.0).maximise("g", 5.0).build()?;
/// let mut study = Study::new(problem)?;
/// for x in [0.1, 0.4, 0.7, 0.9] {
///     study.tell_result(Design::new().with("x", x), "f", x * x)?;
///     study.tell_result(Design::new().with("x", x), "g", 1.0 - x)?;
/// }
/// let suggestion = study.suggest()?;
/// for row in &suggestion.options {
///     println!("{:?}: gain {:.3} for {}", row.measurements, row.gain(), row.cost);
/// }
/// let runner_up = suggestion.runner_up().map(|row| row.gain_per_cost());
/// assert!(suggestion.gain_per_cost() >= runner_up);
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Suggestion {
    /// Number of the evaluation, to be told with its result.
    pub evaluation: u64,
    /// The design to evaluate.
    pub design: Design,
    /// The measurement to make there.
    pub measurement: String,
    /// The outputs that it gives.
    pub outputs: Vec<String>,
    /// What it is expected to cost.
    pub cost: f64,
    /// How it was chosen.
    pub origin: Origin,
    /// The table it won: the best that was found for each measurement, or for all together. Empty
    /// where no model was asked, as in the initial design.
    pub options: Vec<OptionRow>,
    /// The winner's row.
    pub chosen: Option<usize>,
    /// What is still to be gained; `None` where no model was asked, and for algorithms that value
    /// something other than utilities averaged over the weights.
    pub prospect: Option<Box<Prospect>>,
    /// What else there is to say.
    pub notes: Vec<Note>,
    /// For a confirmation, how many records the journal had when the design was recommended.
    pub confirms: Option<u64>,
    /// For a design of the user's own, its entry in the queue.
    pub queued: Option<u64>,
    /// The values that it had to have, if it was searched for among designs that have them.
    #[serde(skip_serializing_if = "Design::is_empty")]
    pub fixed: Design,
}

/// How a suggestion was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Origin {
    /// Part of the space-filling initial design.
    Initial,
    /// Space-filling, since there are no values to learn from yet.
    NoValues,
    /// Space-filling, since that is the algorithm.
    SpaceFilling,
    /// Another measurement at the design chosen before: this algorithm makes all.
    SameDesign,
    /// Worth most per cost, as far as the models can tell.
    Searched,
    /// No evaluation is expected to gain anything; this is where the models know least.
    Explored,
    /// Every design was evaluated; this one is a repetition.
    Repeated,
    /// A recommended design lacks this measurement.
    Confirmation,
    /// A design of the user's own.
    Queued,
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Initial => "part of the initial design",
            Self::NoValues => "space-filling: there are no values to learn from yet",
            Self::SpaceFilling => "space-filling",
            Self::SameDesign => "the design chosen before, for the next measurement",
            Self::Searched => "worth most per cost",
            Self::Explored => {
                "no evaluation is expected to gain anything; here the models know least"
            }
            Self::Repeated => "every design was evaluated; this repeats one",
            Self::Confirmation => "confirms a recommended design",
            Self::Queued => "queued by you",
        })
    }
}

/// What measuring designs is worth; see [`Study::scores`](crate::Study::scores).
#[derive(Debug, Clone, PartialEq)]
pub struct Scores {
    /// For each design a row for each measurement, or for all together.
    pub options: Vec<Vec<OptionRow>>,
    /// What somebody would lose, on average, with the worst of the designs that are best for somebody, in the
    /// units of gains. `None` where gains are not averages of utilities.
    pub range: Option<f64>,
}

/// Why nothing more may be evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// Nothing fits into what is left of the budget.
    Budget,
    /// Every design was evaluated, and values do not change when they are measured again.
    Exhausted,
}

impl Obstacle {
    /// Why this is suggested only without the study's limits.
    pub fn of(suggestion: &Suggestion) -> Self {
        match suggestion.origin {
            Origin::Repeated => Self::Exhausted,
            _ => Self::Budget,
        }
    }

    /// The sentence without an end, where only some measurements, or only designs with some values, were
    /// asked for.
    pub fn sentence(self, only: &[String], fixed: &Design) -> String {
        match self {
            Self::Budget if only.is_empty() => "nothing more fits into the budget".to_owned(),
            Self::Budget => format!("nothing more of {} fits into the budget", only.join(", ")),
            Self::Exhausted if fixed.is_empty() => "every design was evaluated".to_owned(),
            Self::Exhausted => format!("every design with {fixed} was evaluated"),
        }
    }
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.sentence(&[], &Design::new()))
    }
}

/// What comes next in a round of confirmations; see [`Study::suggest_confirmation`].
///
/// [`Study::suggest_confirmation`]: crate::Study::suggest_confirmation
#[derive(Debug, Clone, PartialEq)]
pub enum NextConfirmation {
    /// This measurement.
    Measure(Box<Suggestion>),
    /// Nothing now: something under way must end first.
    Wait,
    /// Nothing any more: all is measured, has failed, or is not permitted.
    Done,
}

impl Suggestion {
    /// Whether it belongs to the initial design.
    pub fn is_initial(&self) -> bool {
        self.origin == Origin::Initial
    }

    /// Whether models were searched for it: then it was expensive to compute.
    pub fn is_searched(&self) -> bool {
        matches!(self.origin, Origin::Searched | Origin::Explored)
    }

    /// What a reader should know, in sentences: how it was chosen, unless it won its table, and its
    /// notes.
    pub fn remarks(&self) -> Vec<String> {
        let origin = (self.origin != Origin::Searched).then(|| self.origin.to_string());
        origin.into_iter().chain(self.notes.iter().map(Note::to_string)).collect()
    }

    /// The second-best row, if there is one.
    pub fn runner_up(&self) -> Option<&OptionRow> {
        let rows = self.options.iter().enumerate().filter(|(i, _)| Some(*i) != self.chosen);
        let best =
            rows.max_by(|(_, a), (_, b)| a.log_gain_per_cost().total_cmp(&b.log_gain_per_cost()));
        best.map(|(_, row)| row)
    }

    /// Expected gain still available per unit of cost; `None` where no model was asked.
    ///
    /// When this falls below what a unit of cost is worth to you, stop.
    pub fn gain_per_cost(&self) -> Option<f64> {
        let row = self.options.get(self.chosen?)?;
        Some(row.gain_per_cost())
    }

    /// The expected gain as a share of the range of the front: of what a decision maker would lose, on average, with
    /// the worst of the designs that are best for somebody. `None` where no model was asked, for algorithms that value
    /// something other than utilities, and where the front is a single point.
    pub fn gain_share(&self) -> Option<f64> {
        let prospect = self.prospect.as_ref().filter(|prospect| prospect.range > 0.0)?;
        let row = self.options.get(self.chosen?)?;
        Some(row.gain() / prospect.range)
    }
}

/// The best evaluation found for one measurement, or for all together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OptionRow {
    /// What would be measured: one measurement, or all that the algorithm makes at a design.
    pub measurements: Vec<String>,
    /// The design at which it is worth most.
    pub design: Design,
    /// Logarithm of the expected gain, in the unit of the algorithm; −∞ where nothing can be gained.
    pub log_gain: f64,
    /// What it would cost.
    pub cost: f64,
    /// The cost at which the choice would flip: the winner must cost more than this to lose, the
    /// others less than this to win. `None` without a rival.
    pub break_even_cost: Option<f64>,
}

impl OptionRow {
    /// The expected gain: how much the best expected utility is expected to rise, averaged over
    /// the weights, in the units in which objectives are weighed. For the hypervolume knowledge
    /// gradient: how much the hypervolume of the best ten designs is expected to rise, each
    /// objective in standard deviations of what was observed.
    pub fn gain(&self) -> f64 {
        self.log_gain.exp()
    }

    /// Expected gain per unit of cost, by which options are compared.
    pub fn gain_per_cost(&self) -> f64 {
        self.log_gain_per_cost().exp()
    }

    /// Its logarithm, which does not underflow.
    pub fn log_gain_per_cost(&self) -> f64 {
        self.log_gain - self.cost.ln()
    }
}

/// Something a user should know about a suggestion.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Note {
    /// Another measurement is worth more per cost, but may not be made now.
    NextBest,
    /// About one output's model.
    Model {
        /// The output.
        output: String,
        /// What is to be known.
        note: ModelNote,
    },
    /// Two outputs are modelled together: a measurement of one tells about the other.
    Correlated {
        /// Both of them.
        outputs: [String; 2],
        /// Their estimated correlation over all designs, in their own directions.
        correlation: f64,
    },
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NextBest => {
                write!(f, "another measurement is worth more, but cannot be made now")
            }
            Self::Model { output, note } => write!(f, "{output}: {note}"),
            Self::Correlated { outputs: [a, b], correlation } => {
                write!(f, "{a} and {b} are modelled together: correlation {correlation:.2}")
            }
        }
    }
}
