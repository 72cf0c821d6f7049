//! The page of a report, from its data and figures.

use unyoke::Parameter;
use unyoke_draw::Picture;
use unyoke_draw::page::{Cell, Figure, Page, Section, Table};

use super::StudyReport;
use crate::confirmation::ConfirmedValueView;
use crate::evaluations::{EvaluationStatus, EvaluationView};
use crate::explanation::OptionView;
use crate::figures::Payment;
use crate::front::{FrontView, MeasuredFrontView, MeasuredPointView, PointView};
use crate::model::ModelView;
use crate::prospect::ProspectView;
use crate::words::{count, design, short, spent_of, value};

/// Failures that are listed.
const FAILURES: usize = 20;

impl StudyReport {
    /// The report as a page.
    pub fn page(&self) -> Page {
        let values = self.evaluations.iter().map(|e| e.values.len()).sum();
        let sections = [
            self.trade_offs_section(),
            self.designs_section(),
            Some(self.spending_section()),
            self.failures_section(),
            self.corrections_section(),
            self.worth_section(),
            self.models_section(),
            Some(self.next_section()),
        ];
        let spent = spent_of(self.spent, self.background.budget);
        Page {
            title: self.background.name.clone().unwrap_or_else(|| "Study".to_owned()),
            lead: format!("{}; {spent}.", count(values, "value")),
            made: self.made(),
            runs: vec![],
            sections: sections.into_iter().flatten().collect(),
        }
    }

    fn made(&self) -> Vec<(String, String)> {
        let file = self.background.study_file.as_ref();
        let pairs = [
            ("Study file", file.cloned()),
            ("Stored in", Some(self.background.store.clone())),
            ("Algorithm", Some(self.algorithm.clone())),
            ("Seed", Some(self.seed.to_string())),
            ("Unyoke", Some(self.version.clone())),
        ];
        pairs.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
    }

    fn parameter_names(&self) -> impl Iterator<Item = &str> {
        self.parameters.iter().map(Parameter::name)
    }

    fn trade_offs_section(&self) -> Option<Section> {
        let front = self.front.as_ref()?;
        let caption = "The best trade-offs as far as is known. Ellipses reach one standard \
                       deviation; a design may be on the front without having been measured.";
        Some(Section {
            heading: "Trade-offs".into(),
            text: String::new(),
            figures: figures(caption, self.trade_offs_picture()),
            tables: [Some(front_table(front)), self.measured_table(), self.confirmation_table()]
                .into_iter()
                .flatten()
                .collect(),
        })
    }

    /// What was measured of all outputs; nothing if no design is complete.
    fn measured_table(&self) -> Option<Table> {
        let front = self.measured_front.as_ref().filter(|front| !front.points.is_empty())?;
        let names = front.outputs.iter().map(|output| output.title());
        let row = |(i, point): (usize, &MeasuredPointView)| measured_row(front, i, point);
        Some(Table {
            caption: "What was measured: designs at which every output was, feasible by its values, of \
                      which none beats another. Values at one design are averaged, ± their standard \
                      error."
                .into(),
            head: std::iter::once("design".to_owned())
                .chain(names)
                .chain(front.parameters.iter().cloned())
                .collect(),
            rows: front.sorted().into_iter().enumerate().map(row).collect(),
        })
    }

    /// How predictions held up, if that was looked into.
    fn confirmation_table(&self) -> Option<Table> {
        let confirmation = self.confirmation.as_ref().filter(|one| !one.values.is_empty())?;
        let row = |value: &ConfirmedValueView| {
            let at = design(self.parameter_names(), &value.design);
            let cells = value.cells().into_iter().chain([at]);
            cells.map(Cell::Plain).collect()
        };
        Some(Table {
            caption: format!(
                "How the predictions of the designs that were confirmed last held up: {}.",
                confirmation.sentence()
            ),
            head: ConfirmedValueView::HEAD
                .into_iter()
                .chain(["where"])
                .map(str::to_owned)
                .collect(),
            rows: confirmation.values.iter().map(row).collect(),
        })
    }

    fn designs_section(&self) -> Option<Section> {
        let picture = self.designs_picture()?;
        let caption = "A line for each design of the front, from light to dark in the order of the \
                       first objective.";
        Some(Section {
            heading: "Designs of the front".into(),
            figures: figures(caption, Some(picture)),
            ..Section::default()
        })
    }

    fn spending_section(&self) -> Section {
        let values = "What each evaluation gave, at the total cost reached with it.";
        let spending = "When each measurement was made, and what it has cost so far.";
        let mut shown = figures(values, Some(self.values_picture()));
        shown.extend(figures(spending, Some(self.spending_picture())));
        Section {
            heading: "Evaluations and spending".into(),
            text: String::new(),
            figures: shown,
            tables: vec![self.spending_table()],
        }
    }

    fn spending_table(&self) -> Table {
        let payments = self.payments();
        let spent: f64 = payments.iter().map(|payment| payment.cost).sum();
        let row = |(place, name): (usize, String)| {
            let of: Vec<&Payment> = payments.iter().filter(|p| p.measurement == place).collect();
            let cost: f64 = of.iter().map(|payment| payment.cost).sum();
            let failed = of.iter().filter(|payment| payment.is_failed()).count();
            let share = if spent > 0.0 { 100.0 * cost / spent } else { 0.0 };
            let share = format!("{share:.0} %");
            let cells = [name, of.len().to_string(), failed.to_string(), short(cost), share];
            cells.map(Cell::Plain).to_vec()
        };
        Table {
            caption: "What was spent on each measurement.".into(),
            head: ["measurement", "evaluations", "failed", "cost", "share"]
                .map(str::to_owned)
                .to_vec(),
            rows: self.measurement_names().into_iter().enumerate().map(row).collect(),
        }
    }

    /// What failed last, and why; nothing if nothing did.
    fn failures_section(&self) -> Option<Section> {
        let failed = self.evaluations.iter().rev().filter(|e| e.status == EvaluationStatus::Failed);
        let row = |e: &EvaluationView| {
            let reason = e.reason.clone().unwrap_or_default();
            let at = design(self.parameter_names(), &e.design);
            let measurement = e.measurement.clone().unwrap_or_default();
            let cells = [e.evaluation.to_string(), measurement, reason, at];
            cells.map(Cell::Plain).to_vec()
        };
        let table = Table {
            caption: format!("The last failures, at most {FAILURES}. They count as spent."),
            head: ["evaluation", "measurement", "reason", "design"].map(str::to_owned).to_vec(),
            rows: failed.take(FAILURES).map(row).collect(),
        };
        (!table.rows.is_empty()).then(|| Section {
            heading: "Failures".into(),
            tables: vec![table],
            ..Section::default()
        })
    }

    /// What was corrected or retracted, with what had been recorded before; nothing if nothing was.
    fn corrections_section(&self) -> Option<Section> {
        let row = |e: &EvaluationView| {
            let measurement = e.measurement.clone().unwrap_or_default();
            let at = design(self.parameter_names(), &e.design);
            let cells = [e.evaluation.to_string(), measurement, e.changes()?, at];
            Some(cells.map(Cell::Plain).to_vec())
        };
        let table = Table {
            caption:
                "Results that were corrected or retracted. What was retracted counts as spent \
                      and for nothing else."
                    .into(),
            head: ["evaluation", "measurement", "recorded", "design"].map(str::to_owned).to_vec(),
            rows: self.evaluations.iter().filter_map(row).collect(),
        };
        (!table.rows.is_empty()).then(|| Section {
            heading: "Corrections".into(),
            tables: vec![table],
            ..Section::default()
        })
    }

    fn worth_section(&self) -> Option<Section> {
        let caption = "Left: how much the next evaluation was expected to gain per unit of its cost, \
                       in the units in which objectives are weighed. Right: the share of the box \
                       around all these fronts that was expected to be dominated; it levels off \
                       when little is left to gain.";
        let gains = self.next.next.prospect.as_ref().map(ProspectView::sentences);
        let gains = gains.into_iter().flatten().map(|sentence| capitalised(&sentence) + ".");
        let rule = "When what is to be gained is worth less to you than it costs, stop.".to_owned();
        Some(Section {
            heading: "Is it worth continuing?".into(),
            text: gains.chain([rule]).collect::<Vec<_>>().join(" "),
            figures: figures(caption, Some(self.worth_picture()?)),
            tables: vec![],
        })
    }

    /// Each value predicted from all the others; nothing without values.
    fn models_section(&self) -> Option<Section> {
        let picture = self.predictions_picture()?;
        let caption = "Each value as its model predicts it from all the others, with one standard \
                       deviation, against what was measured. About two of three bars should meet the \
                       line.";
        let row = |model: &ModelView| model.cells().map(Cell::Plain).to_vec();
        let table = Table {
            caption:
                "Explained is the share of the variance that these predictions explain. Errors \
                      are divided by the standard deviations stated with them: about 1 is right."
                    .into(),
            head: ModelView::HEAD.map(str::to_owned).to_vec(),
            rows: self.next.models.iter().map(row).collect(),
        };
        Some(Section {
            heading: "Can the models be trusted?".into(),
            text: String::new(),
            figures: figures(caption, Some(picture)),
            tables: vec![table],
        })
    }

    /// What to evaluate next, or would be next if it fitted into the budget.
    fn next_section(&self) -> Section {
        let next = &self.next.next;
        let at = design(self.parameter_names(), &next.design);
        let mut text = format!("{} at {at}, for a cost of {}.", next.measurement, short(next.cost));
        if !self.next.possible {
            text = format!("Nothing more fits into the budget. With more to spend: {text}");
        }
        for note in &next.notes {
            text += &format!("\n\n{note}");
        }
        Section {
            heading: "What to evaluate next".into(),
            text,
            figures: vec![],
            tables: if next.options.is_empty() { vec![] } else { vec![self.options_table()] },
        }
    }

    fn options_table(&self) -> Table {
        let next = &self.next.next;
        let row = |(place, option): (usize, &OptionView)| {
            let cell = |text: String| match next.chosen == Some(place) {
                true => Cell::Best(text),
                false => Cell::Plain(text),
            };
            vec![
                cell(option.measurements.join(" + ")),
                cell(short(option.gain)),
                cell(short(option.cost)),
                cell(short(option.gain_per_cost)),
                cell(option.break_even_cost.map_or_else(|| "–".to_owned(), short)),
                Cell::Plain(design(self.parameter_names(), &option.design)),
            ]
        };
        let head =
            ["evaluate", "expected gain", "cost", "gain per cost", "break-even cost", "where"];
        Table {
            caption:
                "The best that was found for each measurement. At its break-even cost an option \
                      would be worth as much as the best of the others."
                    .into(),
            head: head.map(str::to_owned).to_vec(),
            rows: next.options.iter().enumerate().map(row).collect(),
        }
    }
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

fn figures(caption: &str, picture: Option<Picture>) -> Vec<Figure> {
    picture.map(|picture| Figure { caption: caption.into(), picture }).into_iter().collect()
}

fn front_table(front: &FrontView) -> Table {
    let titles = front.outputs.iter().map(|output| output.title());
    let parameters = front.parameters.iter().cloned();
    let feasible = front.has_feasibility().then(|| "feasible".to_owned());
    Table {
        caption: "The front: expected values ± one standard deviation; * was measured there. A design is \
                  confirmed if every output was measured."
            .into(),
        head: std::iter::once("design".to_owned())
            .chain(titles)
            .chain(feasible)
            .chain(["confirmed".to_owned()])
            .chain(parameters)
            .collect(),
        rows: front.sorted().into_iter().enumerate().map(|(i, p)| front_row(front, i, p)).collect(),
    }
}

fn front_row(front: &FrontView, index: usize, point: &PointView) -> Vec<Cell> {
    let forecasts = front.outputs.iter().map(|output| {
        let measured = point.outputs.get(&output.name).is_some_and(|f| !f.measured.is_empty());
        let text = point.expected(output);
        if measured { Cell::Best(text) } else { Cell::Plain(text) }
    });
    let parameters = front
        .parameters
        .iter()
        .map(|name| Cell::Plain(point.design.get(name).map_or_else(|| "?".to_owned(), value)));
    let number = Cell::Plain((index + 1).to_string());
    let feasible = front.has_feasibility().then(|| Cell::Plain(point.likely()));
    let confirmed = Cell::Plain(point.confirmation().to_owned());
    let known = forecasts.chain(feasible).chain([confirmed]);
    std::iter::once(number).chain(known).chain(parameters).collect()
}

fn measured_row(front: &MeasuredFrontView, index: usize, point: &MeasuredPointView) -> Vec<Cell> {
    let words = |name: &String| point.outputs.get(name).map_or_else(String::new, |o| o.words());
    let outputs = front.outputs.iter().map(|output| words(&output.name));
    let parameter = |name: &String| point.design.get(name).map_or_else(|| "?".to_owned(), value);
    let parameters = front.parameters.iter().map(parameter);
    let number = std::iter::once((index + 1).to_string());
    number.chain(outputs).chain(parameters).map(Cell::Plain).collect()
}
