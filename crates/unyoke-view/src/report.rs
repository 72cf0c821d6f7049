//! The report of a study: everything that is known of it as plain data, with its figures and as a
//! page made from that data alone.

mod past;
mod pictures;
mod page;

pub use past::measured;

use serde::{Deserialize, Serialize};
use unyoke::{Journal, Measurement, Parameter, Record, Study, Suggestion};

use crate::confirmation::{ConfirmationView, confirmation};
use crate::evaluations::{EvaluationView, evaluations};
use crate::explanation::{Explanation, SuggestionView};
use crate::figures::Moment;
use crate::front::{FrontView, MeasuredFrontView, ROWS, front, measured_front};
use crate::model::models;
use crate::output::{OutputView, has_values, outputs};

/// Everything that is known of a study. [`StudyReport::page`] shows it to people.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StudyReport {
    /// Where the study comes from.
    #[serde(flatten)]
    pub background: Background,
    /// The algorithm that chooses evaluations.
    pub algorithm: String,
    /// The seed of the study.
    pub seed: u64,
    /// The version of the program that made the report.
    pub version: String,
    /// What the evaluations that ended have cost.
    pub spent: f64,
    /// What can be chosen.
    pub parameters: Vec<Parameter>,
    /// What matters about a design.
    pub outputs: Vec<OutputView>,
    /// What one run gives, and what it costs.
    pub measurements: Vec<Measurement>,
    /// All evaluations, in order.
    pub evaluations: Vec<EvaluationView>,
    /// Values of all objectives at designs where all that are not formulas were measured, the last one
    /// of each, in the order of the objectives.
    pub measured: Vec<Vec<f64>>,
    /// The predicted front; `None` as long as there are no values.
    pub front: Option<FrontView>,
    /// Designs at which every output was measured and that no other of them beats; `None` likewise.
    pub measured_front: Option<MeasuredFrontView>,
    /// How predictions held up in the latest round of confirmations; `None` before the first.
    pub confirmation: Option<ConfirmationView>,
    /// What was expected of continuing, at some moments of the past and now; empty before models
    /// were asked.
    pub moments: Vec<Moment>,
    /// What to evaluate next.
    pub next: Explanation,
}

/// Where a study comes from, which its journal does not say.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Background {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// The file that describes it.
    pub study_file: Option<String>,
    /// Where it is kept, without passwords.
    pub store: String,
    /// The most that may be spent.
    pub budget: Option<f64>,
}

impl StudyReport {
    /// Gathers what is known of a study.
    ///
    /// `records` is its journal, from which the past is computed again; `allowed` is what its limits
    /// allow to evaluate next ([`Study::suggest_where`]).
    pub fn new<J: Journal>(
        study: &Study<J>,
        records: &[Record],
        background: Background,
        allowed: Option<&Suggestion>,
    ) -> unyoke::Result<Self> {
        let free = study.suggest()?;
        let front = has_values(study).then(|| front(study, ROWS, None)).transpose()?;
        let measured_front = has_values(study).then(|| measured_front(study)).transpose()?;
        Ok(Self {
            background,
            algorithm: study.config().algorithm.name().to_owned(),
            seed: study.seed(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            spent: study.spent(),
            parameters: study.problem().parameters.clone(),
            outputs: outputs(study),
            measurements: study.problem().measurements.clone(),
            evaluations: evaluations(study),
            measured: past::measured(study)?,
            moments: past::moments(study, records, free.gain_per_cost(), front.as_ref())?,
            front,
            measured_front,
            confirmation: confirmation(study)?,
            next: Explanation {
                next: SuggestionView::new(study.problem(), allowed.unwrap_or(&free), None),
                possible: allowed.is_some(),
                models: models(study)?,
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::{Config, Design, MemoryJournal, Problem};

    const NASTY: &str = "</style><script>alert(1)</script>";

    fn problem() -> Problem {
        let builder =
            Problem::builder().continuous("x", 0.0, 1.0).categorical("kind", ["a", NASTY]);
        builder.minimise("drag", 5.0).maximise(NASTY, 1.0).build().unwrap()
    }

    fn begun() -> (Study, MemoryJournal) {
        let journal = MemoryJournal::default();
        let study = Study::create(problem(), Config::default(), 1, journal.clone()).unwrap();
        (study, journal)
    }

    fn report_of((study, journal): &(Study, MemoryJournal)) -> StudyReport {
        let background = Background { name: Some(NASTY.into()), ..Background::default() };
        let next = study.suggest().unwrap();
        let records = journal.read(0).unwrap();
        StudyReport::new(study, &records, background, Some(&next)).unwrap()
    }

    /// A study after its initial design and some choices, with a failure.
    fn played() -> (Study, MemoryJournal) {
        let (mut study, journal) = begun();
        let mut chosen = 0;
        while chosen < 3 {
            let next = study.ask().unwrap();
            chosen += usize::from(!next.is_initial());
            let x = next.design.real("x").unwrap();
            match (next.evaluation, next.measurement.as_str()) {
                (3, _) => study.tell_failure(next.evaluation, NASTY).unwrap(),
                (_, "drag") => study.tell(next.evaluation, x * x).unwrap(),
                _ => study.tell(next.evaluation, x).unwrap(),
            }
        }
        (study, journal)
    }

    #[test]
    fn a_report_of_an_empty_study_says_what_to_do_first() {
        let report = report_of(&begun());
        assert_eq!((report.front.as_ref(), report.moments.len()), (None, 0));
        let html = report.page().html();
        assert!(html.contains("What to evaluate next") && !html.contains("Trade-offs"));
        assert!(!html.contains("Can the models be trusted?"));
    }

    #[test]
    fn the_page_has_all_parts_and_no_text_becomes_markup() {
        let html = report_of(&played()).page().html();
        for heading in [
            "Trade-offs",
            "Designs of the front",
            "Evaluations and spending",
            "Failures",
            "Is it worth continuing?",
            "Can the models be trusted?",
            "What to evaluate next",
        ] {
            assert!(html.contains(&format!("<h2>{heading}</h2>")), "{heading}");
        }
        assert!(!html.contains("<script") && html.contains("&lt;script"));
    }

    #[test]
    fn a_page_can_be_made_from_the_json_of_a_report() {
        let report = report_of(&played());
        let json = serde_json::to_string(&report).unwrap();
        let back: StudyReport = serde_json::from_str(&json).unwrap();
        assert_eq!(back, report);
        assert_eq!(back.page(), report.page());
    }

    #[test]
    fn imported_values_are_shown_but_not_paid() {
        let (mut study, journal) = begun();
        let design = Design::new().with("x", 0.5).with("kind", "a");
        study.tell_result(design.clone(), "drag", 2.0).unwrap();
        study.tell_result(design, NASTY, 3.0).unwrap();
        let report = report_of(&(study, journal));
        assert_eq!(report.spent, 0.0);
        assert!(report.payments().is_empty());
        assert_eq!(report.measured, [[2.0, 3.0]]);
    }

    #[test]
    fn a_formula_counts_as_measured_where_the_other_objectives_were() {
        let problem = Problem::builder()
            .continuous("x", 0.0, 1.0)
            .minimise("drag", 5.0)
            .output(unyoke::Output::minimise("mass").with_formula("4 * x"));
        let journal = MemoryJournal::default();
        let problem = problem.build().unwrap();
        let mut study = Study::create(problem, Config::default(), 1, journal.clone()).unwrap();
        study.tell_result(Design::new().with("x", 0.5), "drag", 3.0).unwrap();
        study.tell_result(Design::new().with("x", 0.25), "drag", 5.0).unwrap();
        assert_eq!(report_of(&(study, journal)).measured, [[3.0, 2.0], [5.0, 1.0]]);
    }

    #[test]
    fn objectives_that_are_modelled_together_are_named_with_their_correlation() {
        let problem = Problem::builder().continuous("x", 0.0, 1.0);
        let problem = problem.minimise("mass", 1.0).minimise("drag", 9.0).build().unwrap();
        let initial = unyoke::Initial { designs: Some(0), ..unyoke::Initial::default() };
        let correlations = unyoke::Correlations::Learned;
        let config = Config { initial, correlations, ..Config::default() };
        let journal = MemoryJournal::default();
        let mut study = Study::create(problem, config, 1, journal.clone()).unwrap();
        let wave = |x: f64| (15.0 * x).sin() + x;
        for i in 0..24 {
            let x = f64::from(i) / 23.0;
            let design = || Design::new().with("x", x);
            study.tell_result(design(), "mass", wave(x)).unwrap();
            if i % 3 == 0 {
                study.tell_result(design(), "drag", 2.0 * wave(x) + 0.2 * x * x).unwrap();
            }
        }
        let report = report_of(&(study, journal));
        let notes = &report.next.next.notes;
        let said = notes.iter().find(|note| note.contains("modelled together")).unwrap();
        let (pair, correlation) = said.split_once(": correlation ").unwrap();
        assert_eq!(pair, "mass and drag are modelled together");
        assert!((0.9..=1.0).contains(&correlation.parse::<f64>().unwrap()), "{said}");
        assert!(report.page().html().contains(said.as_str()));
    }
}
