//! What can go wrong, each with the data a caller needs to act on it, and the search for the name
//! someone probably meant.

/// Everything the engine refuses, and why.
///
/// ```
/// use unyoke::{Error, Problem};
///
/// let refused = Problem::builder().continuous("length", 2.0, 1.0).minimise("mass", -1.0).build();
/// let Err(Error::Invalid { mistakes }) = refused else { panic!("two mistakes went unnoticed") };
/// assert_eq!(mistakes[0].path, "parameters[0].low");
/// assert_eq!(mistakes[1].path, "measurements[0].cost");
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A description of a problem or its settings that makes no sense.
    #[error("{}", lines(mistakes))]
    Invalid {
        /// All that is wrong, in the order of the description.
        mistakes: Vec<Mistake>,
    },
    /// A design that names a parameter the problem does not have.
    #[error("no parameter is called {name:?}{}", hint(near))]
    UnknownParameter {
        /// The name used.
        name: String,
        /// A parameter with nearly that name.
        near: Option<String>,
    },
    /// A design without a value for one of the parameters.
    #[error("the design has no value for parameter {name:?}")]
    MissingParameter {
        /// The parameter left out.
        name: String,
    },
    /// A name that no output has.
    #[error("no output is called {name:?}{}", hint(near))]
    UnknownOutput {
        /// The name used.
        name: String,
        /// An output with nearly that name.
        near: Option<String>,
    },
    /// A name that no measurement has.
    #[error("no measurement is called {name:?}{}", hint(near))]
    UnknownMeasurement {
        /// The name used.
        name: String,
        /// A measurement with nearly that name.
        near: Option<String>,
    },
    /// A result that does not fit the measurement it is said to come from.
    #[error("evaluation {id} measures {}: {reason}", outputs.join(", "))]
    WrongOutputs {
        /// The evaluation.
        id: u64,
        /// What it measures.
        outputs: Vec<String>,
        /// What is wrong with the result.
        reason: String,
    },
    /// A name that no algorithm has.
    #[error("no algorithm is called {name:?}{}; there are {known}", hint(near))]
    UnknownAlgorithm {
        /// The name used.
        name: String,
        /// An algorithm with nearly that name.
        near: Option<String>,
        /// All names.
        known: String,
    },
    /// A value that its parameter cannot take, or a result that is not a number.
    #[error("{parameter} is {value}, but must be {must}")]
    BadValue {
        /// The parameter, or the output for a result.
        parameter: String,
        /// The value, as text.
        value: String,
        /// The condition it breaks, as in "a finite number".
        must: String,
    },
    /// An identity that no evaluation of this study has.
    #[error("there is no evaluation {id}")]
    UnknownEvaluation {
        /// The identity used.
        id: u64,
    },
    /// A number that no entry of the queue has.
    #[error("nothing is queued as q{entry}")]
    NotQueued {
        /// The number used.
        entry: u64,
    },
    /// A design for the queue at which there is nothing left to measure.
    #[error(
        "everything has been measured at {design}, is under way, or has failed there; name a measurement \
         to make it again"
    )]
    NothingLacking {
        /// The design, as text.
        design: String,
    },
    /// Values of parameters with which no design is within the limits.
    #[error("no design with {fixed} is within the limits")]
    NoDesign {
        /// The values, as text.
        fixed: String,
    },
    /// A second outcome for an evaluation that has one.
    #[error("evaluation {id} is already recorded as {how}")]
    AlreadySettled {
        /// The evaluation.
        id: u64,
        /// How it was settled: "completed", "failed", "withdrawn" or "retracted".
        how: &'static str,
    },
    /// A correction or a retraction of an evaluation that has nothing to correct.
    #[error("evaluation {id} is {how}: {instead}")]
    CannotCorrect {
        /// The evaluation.
        id: u64,
        /// What it is: "pending", "withdrawn" or "imported".
        how: &'static str,
        /// What to do instead.
        instead: &'static str,
    },
    /// A change of problem or settings for which what was measured leaves no room.
    #[error("{what} {reason}")]
    CannotAmend {
        /// What was to be changed, as in `parameter "x"`.
        what: String,
        /// Why it cannot be, and what would help.
        reason: String,
    },
    /// Weights of the objectives that cannot be used.
    #[error("the weights cannot be used: {reason}")]
    BadWeights {
        /// What is wrong with them.
        reason: String,
    },
    /// A probability at which nobody can be cautious.
    #[error(
        "{quantile} cannot be used for caution: it must be a probability from 0.5 to below 1, such as 0.9"
    )]
    BadQuantile {
        /// What was asked for.
        quantile: f64,
    },
    /// A cost that is not a positive number.
    #[error("the cost of {measurement} is {cost}, but must be positive and finite")]
    BadCost {
        /// The measurement.
        measurement: String,
        /// Its would-be cost.
        cost: f64,
    },
    /// A formula or an inequality that cannot be used.
    #[error("the formula {:?} cannot be used: {reason}", beginning(formula))]
    BadFormula {
        /// Its text.
        formula: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A reference point that cannot be used.
    #[error("the reference point cannot be used: {reason}")]
    BadReference {
        /// What is wrong with it.
        reason: String,
    },
    /// The journal could not be read or written.
    #[error(transparent)]
    Journal(JournalError),
    /// Others wrote to the journal each time before this program could.
    #[error(
        "other programs wrote to the study {times} times before this one could; nothing was lost: \
         start it again, with fewer programs at a time"
    )]
    Contended {
        /// How often.
        times: u32,
    },
    /// A journal written by a newer version of this crate.
    #[error("the journal has format {found}, this version reads up to format {known}")]
    Format {
        /// The format of the record met.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// A journal whose records contradict each other.
    #[error("record {position} of the journal makes no sense: {reason}")]
    CorruptJournal {
        /// The offending record, counting from zero.
        position: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// Numbers that the numerical routines refuse.
    #[error(transparent)]
    Numerics(#[from] unyoke_math::Error),
}

/// Result of this crate's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Whether this may pass without anybody doing anything, so that trying again later makes
    /// sense: see [`JournalError::is_passing`].
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Journal(error) => error.is_passing(),
            Self::Contended { .. } => true,
            _ => false,
        }
    }
}

impl From<JournalError> for Error {
    // Not derived: a format is refused in the same words wherever it is noticed.
    fn from(error: JournalError) -> Self {
        match error {
            JournalError::Format { found, known } => Self::Format { found, known },
            other => Self::Journal(other),
        }
    }
}

/// One thing wrong with a description, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where it stands, as in `parameters[2].low`.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl std::fmt::Display for Mistake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.path, self.message)
    }
}

/// Why a [`Journal`](crate::Journal) could not be read or written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Somebody else appended in the meantime: read on from `expected`, then decide afresh.
    #[error("the journal has {found} records where {expected} were expected")]
    Conflict {
        /// Number of records the writer knew of.
        expected: u64,
        /// Number of records there are.
        found: u64,
    },
    /// A record written by a newer version of this crate.
    #[error("the journal has format {found}, this version reads up to format {known}")]
    Format {
        /// The format of the record met.
        found: u32,
        /// The newest format known here.
        known: u32,
    },
    /// A record is not what was written, or is missing.
    #[error("record {position} of the journal is damaged: {reason}")]
    Damaged {
        /// The record, counting from zero.
        position: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// The file or database failed, and will again: somebody has to do something about it.
    #[error("the journal could not be reached: {reason}")]
    Storage {
        /// What it said.
        reason: String,
    },
    /// The file or database cannot be used at the moment: others lock it, or a server restarts.
    ///
    /// What was to be written may or may not have been: read before deciding afresh.
    #[error("the journal cannot be reached at the moment: {reason}")]
    Unavailable {
        /// What it said.
        reason: String,
    },
}

impl JournalError {
    /// Whether this may pass without anybody doing anything, so that trying again later makes sense.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Conflict { .. } | Self::Unavailable { .. })
    }
}

fn lines(mistakes: &[Mistake]) -> String {
    mistakes.iter().map(Mistake::to_string).collect::<Vec<_>>().join("\n")
}

/// As much of a text as a message can hold.
fn beginning(text: &str) -> String {
    const LONGEST_SHOWN: usize = 100;
    match text.char_indices().nth(LONGEST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn hint(near: &Option<String>) -> String {
    near.as_ref().map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
}

/// Longer names are not compared: the work grows with the square of their length.
const LONGEST_COMPARED: usize = 64;

/// The known name that `name` was probably meant to be: at most two edits away, or one for a
/// short name, where two would turn anything into anything.
///
/// ```
/// assert_eq!(unyoke::near("lenght", ["length", "width"]).as_deref(), Some("length"));
/// ```
pub fn near<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let wanted = letters(name)?;
    let most = if wanted.len() < 5 { 1 } else { 2 };
    let candidates = known.into_iter().filter_map(|candidate| {
        let letters = letters(candidate)?;
        // The distance is never less than the difference in length, which is quick to see.
        (letters.len().abs_diff(wanted.len()) <= most)
            .then(|| (edits(&wanted, &letters), candidate))
    });
    let (distance, nearest) = candidates.min_by_key(|(distance, _)| *distance)?;
    (distance <= most).then(|| nearest.to_owned())
}

/// The letters of a name without regard to case, unless there are too many.
fn letters(name: &str) -> Option<Vec<char>> {
    (name.len() <= LONGEST_COMPARED).then(|| name.chars().flat_map(char::to_lowercase).collect())
}

/// Fewest letters to insert, delete, replace or swap with their neighbour to turn `a` into `b`
/// (optimal string alignment).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut last: Vec<usize> = vec![];
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, y) in b.iter().enumerate() {
            let replaced = row[j] + usize::from(x != y);
            let fewest = replaced.min(row[j + 1] + 1).min(next[j] + 1);
            let is_swap = i > 0 && j > 0 && *x == b[j - 1] && a[i - 1] == *y;
            next.push(if is_swap { fewest.min(last[j - 1] + 1) } else { fewest });
        }
        last = std::mem::replace(&mut row, next);
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_one_meant() {
        let known = ["length", "width", "kind"];
        assert_eq!(near("lenght", known).as_deref(), Some("length"));
        assert_eq!(near("Width", known).as_deref(), Some("width"));
        assert_eq!(near("kin", known).as_deref(), Some("kind"));
        assert_eq!(near("gaol", ["cost", "goal"]).as_deref(), Some("goal"));
        assert_eq!(near("height", known), None);
        assert_eq!(near("", known), None);
        assert_eq!(near("xy", ["ab"]), None);
    }

    #[test]
    fn very_long_names_are_not_compared() {
        let long = "a".repeat(10_000_000);
        assert_eq!(near(&long, [long.as_str()]), None);
    }

    #[test]
    fn edits_are_counted_as_on_paper() {
        let count = |a: &str, b: &str| edits(&letters(a).unwrap(), &letters(b).unwrap());
        assert_eq!(count("kitten", "sitting"), 3);
        assert_eq!(count("", "abc"), 3);
        assert_eq!(count("abc", "abc"), 0);
        assert_eq!(count("abcd", "badc"), 2);
    }

    #[test]
    fn messages_name_what_to_change() {
        let mistake = |path: &str| Mistake { path: path.into(), message: "is wrong".into() };
        let error = Error::Invalid { mistakes: vec![mistake("a"), mistake("b[0].c")] };
        assert_eq!(error.to_string(), "a: is wrong\nb[0].c: is wrong");
        let near = Some("length".to_owned());
        let error = Error::UnknownParameter { name: "lenght".into(), near };
        assert_eq!(
            error.to_string(),
            "no parameter is called \"lenght\"; did you mean \"length\"?"
        );
    }

    #[test]
    fn a_newer_format_is_the_same_error_wherever_it_is_noticed() {
        let error = Error::from(JournalError::Format { found: 9, known: 1 });
        assert_eq!(error, Error::Format { found: 9, known: 1 });
        let conflict = JournalError::Conflict { expected: 1, found: 2 };
        assert_eq!(Error::from(conflict.clone()), Error::Journal(conflict));
    }

    #[test]
    fn only_trouble_of_the_journal_can_pass() {
        let reason = String::new;
        assert!(Error::from(JournalError::Unavailable { reason: reason() }).is_passing());
        assert!(Error::from(JournalError::Conflict { expected: 1, found: 2 }).is_passing());
        assert!(!Error::from(JournalError::Storage { reason: reason() }).is_passing());
        assert!(!Error::from(JournalError::Format { found: 9, known: 1 }).is_passing());
        assert!(!Error::UnknownEvaluation { id: 3 }.is_passing());
    }
}
