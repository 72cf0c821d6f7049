//! The page of a report, from its data and figures.

use unyoke::{Obstacle, Parameter};
use unyoke_draw::Picture;
use unyoke_draw::page::{Cell, Chooser, Display, Figure, Page, Section, Table};

use super::StudyReport;
use super::marks::{LISTED, Marks, listed};
use crate::confirmation::ConfirmedValueView;
use crate::effects::EffectView;
use crate::evaluations::{EvaluationStatus, EvaluationView};
use crate::explanation::OptionView;
use crate::figures::Payment;
use crate::front::{FrontView, MeasuredFrontView, MeasuredPointView, PointView};
use crate::model::ModelView;
use crate::output::OutputView;
use crate::prospect::ProspectView;
use crate::words::{count, design, parameter, reading, short, spent_of};

/// Failures that are listed.
const FAILURES: usize = 20;

impl StudyReport {
    /// The report as a page.
    pub fn page(&self) -> Page {
        let sections = [
            self.trade_offs_section(),
            self.designs_section(),
            self.effects_section(),
            self.evaluations_section(),
            self.spending_section(),
            self.failures_section(),
            self.corrections_section(),
            self.worth_section(),
            self.models_section(),
            Some(self.next_section()),
        ];
        let spent = spent_of(self.spent, self.background.budget);
        Page {
            title: self.background.name.clone().unwrap_or_else(|| "Study".to_owned()),
            lead: format!("{}; {spent}.", self.phases()),
            made: self.made(),
            runs: vec![],
            sections: sections.into_iter().flatten().collect(),
        }
    }

    /// How many evaluations there are, and from which phases: "12 evaluations (8 initial design, 4 search), 20
    /// values".
    fn phases(&self) -> String {
        let values = self.evaluations.iter().map(|e| e.values.len()).sum();
        let mut phases: Vec<(&str, usize)> = vec![];
        for evaluation in &self.evaluations {
            let phase = evaluation.origin.phase();
            match phases.iter_mut().find(|(known, _)| *known == phase) {
                Some((_, number)) => *number += 1,
                None => phases.push((phase, 1)),
            }
        }
        let of: Vec<String> =
            phases.iter().map(|(phase, number)| format!("{number} {phase}")).collect();
        let of = if of.is_empty() { String::new() } else { format!(" ({})", of.join(", ")) };
        let evaluations = count(self.evaluations.len(), "evaluation");
        format!("{evaluations}{of}, {}", count(values, "value"))
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
        let caption = "The best trade-offs as far as is known. Bars reach one standard deviation to each \
                       side; confirmed designs were measured, and need none. Point at a mark to see its \
                       values, click it to find the design in all figures and tables.";
        let caption = [caption.to_owned()].into_iter().chain(self.drawn_note());
        let caption = caption.collect::<Vec<_>>().join(" ");
        let rows =
            [Some(self.front_table(front)), self.measured_table(), self.confirmation_table()];
        Some(Section {
            heading: "Trade-offs".into(),
            chooser: chooser(front),
            figures: figures(&caption, self.trade_offs_pictures()),
            tables: rows.into_iter().flatten().collect(),
            ..Section::default()
        })
    }

    fn front_table(&self, front: &FrontView) -> Table {
        let titles = front.outputs.iter().map(|output| output.title());
        let parameters = front.parameters.iter().cloned();
        let feasible = front.has_feasibility().then(|| "feasible".to_owned());
        let (marks, points) = (Marks::new(self), front.sorted());
        let shares = front.shares(|name| self.is_log(name));
        let mark = |(i, point): (usize, &&PointView)| {
            let place = front.points.iter().position(|one| std::ptr::eq(one, *point));
            let mut mark = marks.of_front(&point.design, i);
            mark.shares = place.map(|place| shares[place].clone()).unwrap_or_default();
            mark
        };
        Table {
            caption:
                "The front: expected values ± one standard deviation. * marks values that were \
                      measured; a design is confirmed if every output was."
                    .into(),
            head: std::iter::once("design".to_owned())
                .chain(titles)
                .chain(feasible)
                .chain(["confirmed".to_owned()])
                .chain(parameters)
                .collect(),
            marks: points.iter().enumerate().map(mark).collect(),
            rows: points
                .into_iter()
                .enumerate()
                .map(|(i, p)| self.front_row(front, i, p))
                .collect(),
            ..Table::default()
        }
    }

    /// What was measured of all outputs; nothing if no design is complete.
    fn measured_table(&self) -> Option<Table> {
        let front = self.measured_front.as_ref().filter(|front| !front.points.is_empty())?;
        let names = front.outputs.iter().map(|output| output.title());
        let row = |(i, point): (usize, &MeasuredPointView)| self.measured_row(front, i, point);
        let marks = Marks::new(self);
        let mark = |(i, point): (usize, &&MeasuredPointView)| marks.of_measured(&point.design, i);
        Some(Table {
            caption: "What was measured: feasible designs with all outputs measured, of which none is better \
                      than another in everything. Several values at one design are averaged, ± the \
                      standard error."
                .into(),
            head: std::iter::once("measured design".to_owned())
                .chain(names)
                .chain(front.parameters.iter().cloned())
                .collect(),
            marks: front.sorted().iter().enumerate().map(mark).collect(),
            rows: front.sorted().into_iter().enumerate().map(row).collect(),
            ..Table::default()
        })
    }

    /// How predictions held up, if that was looked into.
    fn confirmation_table(&self) -> Option<Table> {
        let confirmation = self.confirmation.as_ref().filter(|one| !one.values.is_empty())?;
        let row = |value: &ConfirmedValueView| {
            let at = design(&self.parameters, &value.design);
            let cells = value.cells().into_iter().chain([at]);
            cells.map(Cell::Plain).collect()
        };
        let marks = Marks::new(self);
        let mark = |one: &ConfirmedValueView| marks.of_evaluation(one.evaluation, &one.design);
        Some(Table {
            caption: format!(
                "How the predictions of the latest confirmed designs held up: {}.",
                confirmation.sentence()
            ),
            head: ConfirmedValueView::HEAD
                .into_iter()
                .chain(["where"])
                .map(str::to_owned)
                .collect(),
            marks: confirmation.values.iter().map(mark).collect(),
            rows: confirmation.values.iter().map(row).collect(),
            ..Table::default()
        })
    }

    fn designs_section(&self) -> Option<Section> {
        let pictures = self.designs_pictures();
        let caption = "A line for each design of the front, light to dark in the order of the first objective. \
                       Parameters run from their lower bound on the left to the upper on the right, outputs \
                       (blue) from the lowest expected value to the highest.";
        (!pictures.is_empty()).then(|| Section {
            heading: "Designs of the front".into(),
            figures: figures(caption, pictures),
            ..Section::default()
        })
    }

    /// Slices through a design of the front, for each output.
    fn effects_section(&self) -> Option<Section> {
        let view = self.effects.as_ref().filter(|view| !view.effects.is_empty())?;
        let points = self.front.as_ref().map(FrontView::sorted).unwrap_or_default();
        let place = points.iter().position(|point| point.design == view.design)?;
        let text = format!(
            "One parameter varies at a time, all others are as in design {}, the front's most balanced one: its \
             worst objective is better than that of the others. These are slices through the models, not averages: \
             elsewhere a parameter may do something else.",
            place + 1
        );
        let of = |output: &OutputView| {
            let line = match output.wish.direction {
                Some(_) => "",
                None => " The dashed line is the limit.",
            };
            let caption = format!(
                "{}: expected value, the interval that should hold the true value in nine cases of ten, and the \
                 design itself (circle). The parameters that change it most come first.{line}",
                output.title()
            );
            let pair = view.contours.iter().find(|contour| contour.output == output.name);
            let pictures = pair.map(|pair| self.contour_pictures(pair)).unwrap_or_default();
            let [x, y] =
                pair.map_or(["", ""], |pair| pair.parameters.each_ref().map(String::as_str));
            let together = format!(
                "{} as {x} and {y} vary together, and how uncertain that is. All other parameters are as in the \
                 design (circle).",
                output.title()
            );
            let slices = figures(&caption, self.effects_pictures(output));
            slices.into_iter().chain(figures(&together, pictures))
        };
        Some(Section {
            heading: "What each parameter does".into(),
            text,
            figures: self.outputs.iter().flat_map(of).collect(),
            tables: vec![self.effects_table()],
            ..Section::default()
        })
    }

    fn effects_table(&self) -> Table {
        let effects = self.effects.iter().flat_map(|view| &view.effects);
        let effects: Vec<&EffectView> = effects.collect();
        let of = |parameter: &str, output: &str| {
            effects.iter().find(|e| e.parameter == parameter && e.output == output)
        };
        let cell = |effect: Option<&&EffectView>| match effect {
            None => Cell::Plain(String::new()),
            Some(effect) => {
                let [low, high] = effect.range().map(short);
                let text = if low == high { low } else { format!("{low} to {high}") };
                if effect.is_clear() { Cell::Best(text) } else { Cell::Plain(text) }
            }
        };
        let row = |name: &str| {
            let outputs = self.outputs.iter().map(|output| cell(of(name, &output.name)));
            std::iter::once(Cell::Plain(name.to_owned())).chain(outputs).collect()
        };
        let varies = |name: &&str| effects.iter().any(|effect| effect.parameter == *name);
        Table {
            caption: "From the lowest to the highest expected value in each slice. Bold where that is more than \
                      the models are uncertain about: the 90 % intervals at the two do not overlap."
                .into(),
            head: std::iter::once("parameter".to_owned())
                .chain(self.outputs.iter().map(OutputView::title))
                .collect(),
            rows: self.parameter_names().filter(varies).map(row).collect(),
            ..Table::default()
        }
    }

    /// What was evaluated; nothing before the first evaluation.
    fn evaluations_section(&self) -> Option<Section> {
        let caption = "What each evaluation gave, and in which phase of the study it was made.";
        (!self.evaluations.is_empty()).then(|| Section {
            heading: "Evaluations".into(),
            figures: figures(caption, self.values_pictures()),
            tables: vec![self.evaluations_table()],
            ..Section::default()
        })
    }

    /// The evaluations one by one, the latest first.
    fn evaluations_table(&self) -> Table {
        let (marks, all) = (Marks::new(self), listed(&self.evaluations));
        let outputs: Vec<&str> = self
            .outputs
            .iter()
            .filter(|output| output.formula.is_none())
            .map(|output| output.name.as_str())
            .collect();
        let row = |e: &EvaluationView| {
            let known = [
                e.evaluation.to_string(),
                e.measurement.clone().unwrap_or_else(|| e.outputs.join(", ")),
                e.origin.phase().to_owned(),
                e.status.word().to_owned(),
            ];
            let value = |name: &&str| {
                e.values.get(*name).map_or_else(String::new, |one| reading(one.value, one.sd))
            };
            let values = outputs.iter().map(value).chain([short(e.spent)]);
            let cells = known
                .into_iter()
                .chain(values)
                .chain(self.parameters.iter().map(|one| parameter(one, &e.design)));
            cells.map(Cell::Plain).collect()
        };
        let head = ["evaluation", "measured", "phase", "status"].map(str::to_owned);
        let left_out = match self.evaluations.len() > LISTED {
            true => format!("The latest {LISTED} of {} evaluations", self.evaluations.len()),
            false => "All evaluations".to_owned(),
        };
        Table {
            caption: format!("{left_out}, the latest first."),
            head: head
                .into_iter()
                .chain(outputs.iter().map(|name| (*name).to_owned()))
                .chain(["cost".to_owned()])
                .chain(self.parameter_names().map(str::to_owned))
                .collect(),
            rows: all.iter().rev().map(row).collect(),
            marks: all.iter().rev().map(|e| marks.of_evaluation(e.evaluation, &e.design)).collect(),
            display: Display::List,
        }
    }

    /// What was spent on what; nothing if nothing was.
    fn spending_section(&self) -> Option<Section> {
        let caption = "What each measurement has cost so far, and when each was made.";
        let pictures = self.spending_pictures();
        (!pictures.is_empty()).then(|| Section {
            heading: "Spending".into(),
            figures: figures(caption, pictures),
            tables: vec![self.spending_table()],
            ..Section::default()
        })
    }

    fn spending_table(&self) -> Table {
        let payments = self.payments();
        let spent: f64 = payments.iter().map(|payment| payment.cost).sum();
        let row = |(place, name): (usize, String)| {
            let of: Vec<&Payment> = payments.iter().filter(|p| p.measurement == place).collect();
            let cost: f64 = of.iter().map(|payment| payment.cost).sum();
            let failed = of.iter().filter(|payment| payment.failed).count();
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
            ..Table::default()
        }
    }

    /// What failed last, and why; nothing if nothing did.
    fn failures_section(&self) -> Option<Section> {
        let failed = self.evaluations.iter().rev().filter(|e| e.status == EvaluationStatus::Failed);
        let row = |e: &EvaluationView| {
            let reason = e.reason.clone().unwrap_or_default();
            let at = design(&self.parameters, &e.design);
            let measurement = e.measurement.clone().unwrap_or_default();
            let cells = [e.evaluation.to_string(), measurement, reason, at];
            cells.map(Cell::Plain).to_vec()
        };
        let table = Table {
            caption: format!(
                "The latest failures, at most {FAILURES}. What they cost counts as spent."
            ),
            head: ["evaluation", "measurement", "reason", "design"].map(str::to_owned).to_vec(),
            rows: failed.take(FAILURES).map(row).collect(),
            ..Table::default()
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
            let at = design(&self.parameters, &e.design);
            let cells = [e.evaluation.to_string(), measurement, e.changes()?, at];
            Some(cells.map(Cell::Plain).to_vec())
        };
        let table = Table {
            caption:
                "Results that were corrected or retracted. A retracted result counts as spent, but tells \
                      the models nothing."
                    .into(),
            head: ["evaluation", "measurement", "recorded", "design"].map(str::to_owned).to_vec(),
            rows: self.evaluations.iter().filter_map(row).collect(),
            ..Table::default()
        };
        (!table.rows.is_empty()).then(|| Section {
            heading: "Corrections".into(),
            tables: vec![table],
            ..Section::default()
        })
    }

    fn worth_section(&self) -> Option<Section> {
        let pictures = self.progress_pictures();
        let found = "How much of what today's front offers the evaluated designs had reached, averaged over \
                     preferences and judged by what is known today: 0 % is the worst choice from the front for \
                     somebody, 100 % the best. A design counts from its first measurement on, even if other outputs \
                     are only predicted there.";
        let promise = " Beside it: what the next evaluation was expected to gain at the time, as a share of the \
                       range of the front.";
        let caption =
            if pictures.len() > 1 { format!("{found}{promise}") } else { found.to_owned() };
        let gains = self.next.next.prospect.as_ref().map(ProspectView::sentences);
        let gains = gains.into_iter().flatten().map(|sentence| capitalised(&sentence) + ".");
        let rule =
            "Stop when what can still be gained is worth less to you than it costs.".to_owned();
        (!pictures.is_empty()).then(|| Section {
            heading: "Is it worth continuing?".into(),
            text: gains.chain([rule]).collect::<Vec<_>>().join(" "),
            figures: figures(&caption, pictures),
            ..Section::default()
        })
    }

    /// Each value predicted from all the others; nothing without values.
    fn models_section(&self) -> Option<Section> {
        let pictures = self.predictions_pictures();
        let caption = "Each value as its model predicts it from all the others, with one standard \
                       deviation, against what was measured. About two of three bars should cross the \
                       line.";
        let row = |model: &ModelView| model.cells().map(Cell::Plain).to_vec();
        let table = Table {
            caption:
                "Explained: the share of the variance that these predictions explain. Error / stated: how large \
                      their errors are compared with the standard deviations stated; about 1 is right."
                    .into(),
            head: ModelView::HEAD.map(str::to_owned).to_vec(),
            rows: self.next.models.iter().map(row).collect(),
            ..Table::default()
        };
        (!pictures.is_empty()).then(|| Section {
            heading: "Can the models be trusted?".into(),
            figures: figures(caption, pictures),
            tables: vec![table],
            ..Section::default()
        })
    }

    /// What to evaluate next, or would be next if it fitted into the budget.
    fn next_section(&self) -> Section {
        let next = &self.next.next;
        let at = design(&self.parameters, &next.design);
        let mut text = format!("{} at {at}, for a cost of {}.", next.measurement, short(next.cost));
        if let Some(obstacle) = self.next.obstacle {
            let otherwise = match obstacle {
                Obstacle::Budget => "With more to spend",
                Obstacle::Exhausted => "To measure one again",
            };
            text = format!("{}. {otherwise}: {text}", capitalised(&obstacle.to_string()));
        }
        for note in &next.notes {
            text += &format!("\n\n{note}");
        }
        Section {
            heading: "What to evaluate next".into(),
            text,
            tables: if next.options.is_empty() { vec![] } else { vec![self.options_table()] },
            ..Section::default()
        }
    }

    fn options_table(&self) -> Table {
        let next = &self.next.next;
        let unit = next.gain_unit();
        let row = |(place, option): (usize, &OptionView)| {
            let cell = |text: String| match next.chosen == Some(place) {
                true => Cell::Best(text),
                false => Cell::Plain(text),
            };
            vec![
                cell(option.measurements.join(" + ")),
                cell(unit.words(option.gain)),
                cell(short(option.cost)),
                cell(unit.words(option.gain_per_cost)),
                cell(option.break_even_cost.map_or_else(|| "–".to_owned(), short)),
                Cell::Plain(design(&self.parameters, &option.design)),
            ]
        };
        let [gain, per_cost] = unit.heads();
        let head = ["evaluate", gain, "cost", per_cost, "break-even cost", "where"];
        Table {
            caption:
                "The best design that was found for each measurement. At its break-even cost an option \
                      would be worth as much per unit of cost as the best of the others."
                    .into(),
            head: head.map(str::to_owned).to_vec(),
            rows: next.options.iter().enumerate().map(row).collect(),
            ..Table::default()
        }
    }
}

fn capitalised(sentence: &str) -> String {
    let mut letters = sentence.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

/// The pictures under one caption; no figure without pictures.
fn figures(caption: &str, pictures: Vec<Picture>) -> Vec<Figure> {
    let figure = Figure { caption: caption.into(), pictures };
    if figure.pictures.is_empty() { vec![] } else { vec![figure] }
}

/// Sliders that choose a design of the front; nothing to choose with one objective.
fn chooser(front: &FrontView) -> Option<Chooser> {
    let criteria: Vec<String> = front.objectives().map(OutputView::title).collect();
    (criteria.len() > 1 && front.points.len() > 1).then(|| Chooser {
        caption: "How important is each objective to you? Each counts from 0 (its worst value on the front) to 1 (its \
                  best), times its share here. The design with the largest sum is selected."
            .into(),
        criteria,
    })
}

impl StudyReport {
    fn front_row(&self, front: &FrontView, index: usize, point: &PointView) -> Vec<Cell> {
        let forecasts = front.outputs.iter().map(|output| {
            let measured = point.outputs.get(&output.name).is_some_and(|f| !f.measured.is_empty());
            let text = point.expected(output);
            if measured { Cell::Best(text) } else { Cell::Plain(text) }
        });
        let parameters =
            self.parameters.iter().map(|one| Cell::Plain(parameter(one, &point.design)));
        let number = Cell::Plain((index + 1).to_string());
        let feasible = front.has_feasibility().then(|| Cell::Plain(point.likely()));
        let confirmed = Cell::Plain(point.confirmation().to_owned());
        let known = forecasts.chain(feasible).chain([confirmed]);
        std::iter::once(number).chain(known).chain(parameters).collect()
    }

    fn measured_row(
        &self,
        front: &MeasuredFrontView,
        index: usize,
        point: &MeasuredPointView,
    ) -> Vec<Cell> {
        let words = |name: &String| point.outputs.get(name).map_or_else(String::new, |o| o.words());
        let outputs = front.outputs.iter().map(|output| words(&output.name));
        let parameters = self.parameters.iter().map(|one| parameter(one, &point.design));
        let number = std::iter::once((index + 1).to_string());
        number.chain(outputs).chain(parameters).map(Cell::Plain).collect()
    }
}
