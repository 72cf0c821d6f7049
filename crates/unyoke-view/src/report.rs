//! The report of a study: everything that is known of it as plain data, with its figures and as a
//! page made from that data alone.

mod past;
mod marks;
mod sample;
mod pictures;
mod page;

pub use marks::design_key;
pub use past::measured;

use serde::{Deserialize, Serialize};
use unyoke::{
    Design, Journal, Measurement, Obstacle, Parameter, Predictions, Record, Scale, Study,
    Suggestion,
};

use crate::confirmation::{ConfirmationView, confirmation};
use crate::effects::{EffectsView, effects};
use crate::evaluations::{EvaluationView, evaluations};
use crate::explanation::{Explanation, SuggestionView};
use crate::figures::{Moment, Stage};
use crate::front::{FrontView, MeasuredFrontView, ROWS, measured_view, with_heads};
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
    /// Outputs of which ratios count, not differences.
    pub log_outputs: Vec<String>,
    /// Designs where all objectives that are not formulas were measured.
    pub measured: Vec<MeasuredDesign>,
    /// The predicted front; `None` as long as there are no values.
    pub front: Option<FrontView>,
    /// Designs at which every output was measured and that no other of them beats; `None` likewise.
    pub measured_front: Option<MeasuredFrontView>,
    /// How predictions held up in the latest round of confirmations; `None` before the first.
    pub confirmation: Option<ConfirmationView>,
    /// What each parameter does to each output; `None` as long as there are no values.
    pub effects: Option<EffectsView>,
    /// How much of what the front offers had been found after each evaluation, where that has changed.
    pub stages: Vec<Stage>,
    /// What the next evaluation was expected to gain, at some moments of the past and now; empty before
    /// models were asked.
    pub moments: Vec<Moment>,
    /// What to evaluate next.
    pub next: Explanation,
}

/// A design at which all objectives were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MeasuredDesign {
    /// The design.
    pub design: Design,
    /// The last value of each objective, in the order of the problem.
    pub values: Vec<f64>,
}

/// What models say of a study that has values.
struct Predicted {
    front: FrontView,
    measured_front: MeasuredFrontView,
    effects: Option<EffectsView>,
    stages: Vec<Stage>,
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
        let predicted = has_values(study).then(|| predicted(study)).transpose()?;
        let (front, measured_front, effects, stages) = match predicted {
            Some(Predicted { front, measured_front, effects, stages }) => {
                (Some(front), Some(measured_front), effects, stages)
            }
            None => (None, None, None, vec![]),
        };
        // A suggestion takes longest: it is computed once.
        let next = allowed.map_or_else(|| study.suggest(), |next| Ok(next.clone()))?;
        let obstacle = allowed.is_none().then(|| Obstacle::of(&next));
        let measured = past::measured_designs(study)?.into_iter();
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
            log_outputs: log_outputs(study),
            measured: measured.map(|(design, values)| MeasuredDesign { design, values }).collect(),
            front,
            measured_front,
            confirmation: confirmation(study)?,
            effects,
            stages,
            moments: past::moments(study, records, &next)?,
            next: Explanation {
                next: SuggestionView::new(study.problem(), &next, None),
                possible: obstacle.is_none(),
                obstacle,
                models: models(study)?,
            },
        })
    }

    /// Whether ratios of an output count, not differences.
    fn is_log(&self, output: &str) -> bool {
        self.log_outputs.iter().any(|name| name == output)
    }
}

/// All that models say, from one fit.
fn predicted<J: Journal>(study: &Study<J>) -> unyoke::Result<Predicted> {
    let predictions: Predictions<'_> = study.predictions()?;
    let front = with_heads(study, predictions.front(ROWS)?.points);
    let logs = log_outputs(study);
    let is_log = |name: &str| logs.iter().any(|log| log == name);
    Ok(Predicted {
        measured_front: measured_view(study, predictions.measured_front()?),
        effects: effects(&predictions, &study.problem().parameters, &front, is_log)?,
        stages: past::stages(study, &predictions)?,
        front,
    })
}

fn log_outputs<J: Journal>(study: &Study<J>) -> Vec<String> {
    let logs = study.problem().outputs.iter().filter(|output| output.scale == Scale::Log);
    logs.map(|output| output.name.clone()).collect()
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
        assert_eq!(
            (report.front.as_ref(), report.moments.len(), report.stages.len()),
            (None, 0, 0)
        );
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
            "What each parameter does",
            "Evaluations",
            "Spending",
            "Failures",
            "Is it worth continuing?",
            "Can the models be trusted?",
            "What to evaluate next",
        ] {
            assert!(html.contains(&format!("<h2>{heading}</h2>")), "{heading}");
        }
        // The only script is the page's own.
        assert_eq!(html.matches("<script").count(), 1);
        assert!(html.contains("&lt;script"));
    }

    fn values(report: &StudyReport) -> Vec<Vec<f64>> {
        report.measured.iter().map(|one| one.values.clone()).collect()
    }

    #[test]
    fn every_mark_of_a_figure_has_a_row_that_tells_of_it_and_a_design_has_one_key() {
        let html = report_of(&played()).page().html();
        let attribute = |element: &str, name: &str| -> Option<String> {
            let (_, rest) = element.split_once(&format!("data-{name}=\""))?;
            Some(rest.split('"').next()?.to_owned())
        };
        let elements = |tag: &str| -> Vec<String> {
            let begin = format!("<{tag} ");
            let all = html.split(&begin).skip(1);
            all.filter_map(|text| text.split('>').next()).map(str::to_owned).collect()
        };
        let rows: Vec<_> = elements("tr")
            .iter()
            .filter_map(|e| Some((attribute(e, "row")?, attribute(e, "key")?)))
            .collect();
        assert!(rows.iter().any(|(row, _)| row == "p1") && rows.iter().any(|(row, _)| row == "e0"));
        let marks: Vec<_> = elements("g")
            .iter()
            .filter_map(|e| Some((attribute(e, "row")?, attribute(e, "key")?)))
            .collect();
        assert!(marks.len() > 20, "{}", marks.len());
        for mark in &marks {
            assert!(rows.contains(mark), "{mark:?}");
        }
    }

    #[test]
    fn of_many_measured_designs_the_front_and_a_sample_are_drawn_and_the_caption_says_so() {
        let mut report = report_of(&played());
        let few = report.measured.len();
        assert_eq!((report.drawn().len(), report.drawn_note()), (few, None));
        let marks = |report: &StudyReport| {
            let pictures = report.measured_front_pictures();
            pictures[0].svg().matches("<path").count()
        };
        let worse = |i: i32| {
            let design = Design::new().with("x", f64::from(i) / 5000.0).with("kind", "a");
            let values = vec![50.0 + f64::from(i % 71), 50.0 + f64::from(i / 71)];
            MeasuredDesign { design, values }
        };
        // Designs that are not listed any more are on the front all the same.
        report.evaluations.clear();
        report.measured.extend((0..5000).map(worse));
        let drawn = report.drawn();
        assert_eq!(drawn.len(), 1000);
        let front = report.measured_front.as_ref().unwrap().points.len();
        assert_eq!(drawn.iter().filter(|one| one.is_best).count(), front);
        // Beside marks there are the axes.
        assert!((1000..1100).contains(&marks(&report)), "{}", marks(&report));
        let note = report.drawn_note().unwrap();
        assert!(note.contains(&format!("of the {} other", few + 5000 - front)), "{note}");
        assert!(note.contains(&format!(" {} that", 1000 - front)), "{note}");
        assert!(report.page().html().contains(&note));
    }

    #[test]
    fn progress_never_falls_in_a_report() {
        let report = report_of(&played());
        let shares: Vec<f64> = report.stages.iter().map(|stage| stage.share).collect();
        assert!(
            !shares.is_empty() && shares.windows(2).all(|pair| pair[0] <= pair[1]),
            "{shares:?}"
        );
        let spent: Vec<f64> = report.stages.iter().map(|stage| stage.spent).collect();
        assert!(spent.windows(2).all(|pair| pair[0] <= pair[1]), "{spent:?}");
        assert!(report.moments.len() > 1 && report.moments.iter().all(|m| m.gain.is_finite()));
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
        assert_eq!(values(&report), [[2.0, 3.0]]);
        assert!(report.page().html().matches("imported").count() > 1);
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
        assert_eq!(values(&report_of(&(study, journal))), [[3.0, 2.0], [5.0, 1.0]]);
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
