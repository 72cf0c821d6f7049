//! What the report of a study says; how a page is written and figures are drawn is in `unyoke-lab`.

use unyoke::{
    Direction, Evaluation, Event, Front, FrontPoint, Journal, MemoryJournal, OptionRow, Parameter,
    Problem, Record, Scale, Status, Study, Suggestion,
};
use unyoke_lab::figures::{
    Coordinate, Moment, Payment, TradeOffs, parallel_figure, spending_figure, trade_offs_figure,
    values_figure, worth_figure,
};
use unyoke_lab::report::{Cell, Figure, Report, Section, Table};
use unyoke_math::Points;
use unyoke_math::pareto::hypervolume;
use unyoke_run::{Limits, Looked, StudyFile};

use crate::commands::front::forecast;
use crate::failure::Failure;
use crate::words::{count, design, direction, short, spent_of, value};

/// Designs of the front that are shown.
const POINTS: usize = 24;

/// Failures that are listed.
const FAILURES: usize = 20;

/// At how many moments the past is asked what going on was worth then.
const MOMENTS: usize = 12;

/// The report of a study as it stands.
pub(crate) fn report(file: &StudyFile, looked: &Looked) -> Result<Report, Failure> {
    let study = &looked.study;
    let told = study.evaluations().iter().filter(|e| matches!(e.status, Status::Told(_))).count();
    let next = study.suggest()?;
    let mut sections = vec![];
    if told > 0 {
        let front = study.front(POINTS)?;
        sections.push(front_section(study, &front));
        sections.push(designs_section(study.problem(), &front));
    }
    sections.push(spending_section(study));
    sections.extend(failures_section(study));
    sections.extend(worth_section(looked, &next)?);
    let limits = Limits::new(&file.budget, &file.run, vec![]);
    let fits = study.suggest_where(|study, which| limits.permission(study, which))?;
    sections.push(next_section(study.problem(), fits.as_ref().unwrap_or(&next), fits.is_some()));
    let values = count(told, "value");
    Ok(Report {
        title: file.name.clone().unwrap_or_else(|| "Study".to_owned()),
        lead: format!("{values}; {}.", spent_of(study.spent(), file.budget.cost)),
        made: made(file, study),
        runs: vec![],
        sections,
    })
}

fn made(file: &StudyFile, study: &Study) -> Vec<(String, String)> {
    let pair = |key: &str, value: String| (key.to_owned(), value);
    vec![
        pair("Study file", file.path().display().to_string()),
        pair("Kept in", file.store.to_string()),
        pair("Algorithm", study.config().algorithm.name().to_owned()),
        pair("Seed", study.seed().to_string()),
        pair("Unyoke", env!("CARGO_PKG_VERSION").to_owned()),
    ]
}

fn front_section(study: &Study, front: &Front) -> Section {
    let problem = study.problem();
    let titles =
        problem.objectives.iter().map(|o| format!("{} ({})", o.name, direction(o.direction)));
    let predicted = front
        .points
        .iter()
        .map(|point| point.objectives.iter().map(|f| [f.mean, f.sd]).collect::<Vec<_>>());
    let data = TradeOffs {
        objectives: titles.clone().collect(),
        predicted: predicted.collect(),
        measured: measured(study),
    };
    let parameters = problem.parameters.iter().map(|parameter| parameter.name().to_owned());
    let table = Table {
        caption: "The front: expected values ± one standard deviation; * was measured there."
            .into(),
        head: std::iter::once("design".to_owned()).chain(titles).chain(parameters).collect(),
        rows: sorted(front).into_iter().enumerate().map(|(i, p)| row(study, i, p)).collect(),
    };
    let mut figures = vec![];
    if problem.objectives.len() > 1 {
        let caption = "The best trade-offs as far as is known. Ellipses reach one standard \
                       deviation; a design may be on the front without having been measured."
            .into();
        figures.push(Figure { caption, picture: trade_offs_figure(&data) });
    }
    Section { heading: "Trade-offs".into(), text: String::new(), figures, tables: vec![table] }
}

/// Values at designs where all objectives were measured, the last one of each.
fn measured(study: &Study) -> Vec<Vec<f64>> {
    let mut designs: Vec<(&unyoke::Design, Vec<Option<f64>>)> = vec![];
    for evaluation in study.evaluations() {
        let Status::Told(value) = evaluation.status else { continue };
        let at = designs.iter().position(|(design, _)| *design == &evaluation.design);
        let at = at.unwrap_or_else(|| {
            designs.push((&evaluation.design, vec![None; study.problem().objectives.len()]));
            designs.len() - 1
        });
        designs[at].1[evaluation.objective] = Some(value);
    }
    designs.into_iter().filter_map(|(_, values)| values.into_iter().collect()).collect()
}

fn sorted(front: &Front) -> Vec<&FrontPoint> {
    let first = |point: &FrontPoint| point.objectives.first().map_or(0.0, |f| f.mean);
    let mut points: Vec<&FrontPoint> = front.points.iter().collect();
    points.sort_by(|a, b| first(a).total_cmp(&first(b)));
    points
}

fn row(study: &Study, index: usize, point: &FrontPoint) -> Vec<Cell> {
    let problem = study.problem();
    let forecasts = point.objectives.iter().enumerate().map(|(m, f)| {
        let text = forecast(study, m, f);
        if f.measured.is_empty() { Cell::Plain(text) } else { Cell::Best(text) }
    });
    let parameters = problem.parameters.iter().map(|p| Cell::Plain(value(&point.design, p)));
    let number = Cell::Plain((index + 1).to_string());
    std::iter::once(number).chain(forecasts).chain(parameters).collect()
}

fn designs_section(problem: &Problem, front: &Front) -> Section {
    let points = sorted(front);
    let parameters = problem.parameters.iter().map(|p| (axis(p), shares(p, &points)));
    let objectives = problem.objectives.iter().enumerate().map(|(m, objective)| {
        let means: Vec<f64> = points.iter().map(|point| point.objectives[m].mean).collect();
        let (low, high) = ends(&means);
        let name = objective.name.clone();
        let share = |mean: &f64| if high > low { (mean - low) / (high - low) } else { 0.5 };
        let coordinate = Coordinate { name, ends: [short(low), short(high)] };
        (coordinate, means.iter().map(share).collect::<Vec<f64>>())
    });
    let (axes, columns): (Vec<Coordinate>, Vec<Vec<f64>>) = parameters.chain(objectives).unzip();
    let lines: Vec<Vec<f64>> =
        (0..points.len()).map(|i| columns.iter().map(|column| column[i]).collect()).collect();
    let caption = "A line for each design of the front, from light to dark in the order of the \
                   first objective."
        .into();
    let figure = Figure { caption, picture: parallel_figure(&axes, &lines) };
    let heading = "Designs of the front".into();
    Section { heading, text: String::new(), figures: vec![figure], tables: vec![] }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

fn axis(parameter: &Parameter) -> Coordinate {
    let ends = match parameter {
        Parameter::Continuous { low, high, .. } => [short(*low), short(*high)],
        Parameter::Integer { low, high, .. } => [low.to_string(), high.to_string()],
        Parameter::Categorical { choices, .. } => {
            let end = |choice: Option<&String>| choice.cloned().unwrap_or_default();
            [end(choices.first()), end(choices.last())]
        }
    };
    Coordinate { name: parameter.name().to_owned(), ends }
}

/// Where each design stands between the ends of a parameter.
fn shares(parameter: &Parameter, points: &[&FrontPoint]) -> Vec<f64> {
    let between = |low: f64, high: f64, scale: &Scale, v: f64| match scale {
        Scale::Log => (v / low).ln() / (high / low).ln(),
        Scale::Linear => (v - low) / (high - low),
    };
    let share = |point: &&FrontPoint| {
        let found = point.design.get(parameter.name());
        let number = found.and_then(unyoke::Value::as_f64).unwrap_or(f64::NAN);
        let share = match parameter {
            Parameter::Continuous { low, high, scale, .. } => between(*low, *high, scale, number),
            Parameter::Integer { low, high, scale, .. } => {
                between(*low as f64, *high as f64, scale, number)
            }
            Parameter::Categorical { choices, .. } => {
                let text = found.and_then(unyoke::Value::as_str);
                let at = choices.iter().position(|choice| Some(choice.as_str()) == text);
                at.unwrap_or(0) as f64 / choices.len().saturating_sub(1).max(1) as f64
            }
        };
        if share.is_finite() { share } else { 0.5 }
    };
    points.iter().map(share).collect()
}

fn spending_section(study: &Study) -> Section {
    let names: Vec<String> = study.problem().objectives.iter().map(|o| o.name.clone()).collect();
    let mut spent = 0.0;
    let payments: Vec<Payment> = study
        .evaluations()
        .iter()
        .filter(|e| e.asked)
        .filter_map(|e| {
            let value = match e.status {
                Status::Told(value) => Some(value),
                Status::Failed(_) => None,
                Status::Pending | Status::Withdrawn => return None,
            };
            spent += e.cost;
            Some(Payment { objective: e.objective, spent, cost: e.cost, value })
        })
        .collect();
    let row = |m: usize| {
        let of = || payments.iter().filter(move |payment| payment.objective == m);
        let cost: f64 = of().map(|payment| payment.cost).sum();
        let failed = of().filter(|payment| payment.value.is_none()).count();
        let share = if spent > 0.0 { 100.0 * cost / spent } else { 0.0 };
        let cells = [of().count().to_string(), failed.to_string(), short(cost)];
        let cells = cells.into_iter().chain([format!("{share:.0} %")]);
        std::iter::once(names[m].clone()).chain(cells).map(Cell::Plain).collect()
    };
    let head = ["objective", "evaluations", "failed", "cost", "share"].map(str::to_owned);
    let table = Table {
        caption: "What was spent on each objective.".into(),
        head: head.to_vec(),
        rows: (0..names.len()).map(row).collect(),
    };
    let values = Figure {
        caption: "What each evaluation gave, at the total cost reached with it.".into(),
        picture: values_figure(&names, &payments),
    };
    let spending = Figure {
        caption: "When each objective was evaluated, and what it has cost so far.".into(),
        picture: spending_figure(&names, &payments),
    };
    Section {
        heading: "Evaluations and spending".into(),
        text: String::new(),
        figures: vec![values, spending],
        tables: vec![table],
    }
}

/// What failed last, and why; nothing if nothing did.
fn failures_section(study: &Study) -> Option<Section> {
    let problem = study.problem();
    let row = |e: &Evaluation| match &e.status {
        Status::Failed(reason) => {
            let objective = problem.objectives[e.objective].name.clone();
            let at = design(problem, &e.design);
            let cells = [e.id.to_string(), objective, reason.clone(), at];
            Some(cells.map(Cell::Plain).to_vec())
        }
        _ => None,
    };
    let rows: Vec<Vec<Cell>> =
        study.evaluations().iter().rev().filter_map(row).take(FAILURES).collect();
    let head = ["evaluation", "objective", "reason", "design"].map(str::to_owned).to_vec();
    let caption = format!("The last failures, at most {FAILURES}. They count as spent.");
    let tables = vec![Table { caption, head, rows }];
    let (heading, text, figures) = ("Failures".into(), String::new(), vec![]);
    (!tables[0].rows.is_empty()).then_some(Section { heading, text, figures, tables })
}

/// What going on promised at some moments of the past, and how the predicted front grew; nothing
/// before models were asked.
fn worth_section(looked: &Looked, next: &Suggestion) -> Result<Option<Section>, Failure> {
    let study = &looked.study;
    let records = looked.store.read(0).map_err(unyoke::Error::from)?;
    let is_choice = |record: &Record| matches!(record.event, Event::Asked { initial: false, .. });
    let chosen: Vec<usize> = (0..records.len()).filter(|i| is_choice(&records[*i])).collect();
    let every = chosen.len().div_ceil(MOMENTS).max(1);
    let mut past = vec![];
    for at in chosen.into_iter().step_by(every) {
        let mut journal = MemoryJournal::default();
        journal.append(0, &records[..at]).map_err(unyoke::Error::from)?;
        let then = Study::open(journal)?;
        past.push((then.spent(), then.suggest()?.gain_per_cost(), then.front(POINTS)?));
    }
    if past.is_empty() {
        return Ok(None);
    }
    past.push((study.spent(), next.gain_per_cost(), study.front(POINTS)?));
    let volumes = hypervolumes(study.problem(), past.iter().map(|(_, _, front)| front))?;
    let moments: Vec<Moment> = past
        .iter()
        .zip(volumes)
        .map(|((spent, gain, _), hypervolume)| Moment {
            spent: *spent,
            gain_per_cost: *gain,
            hypervolume,
        })
        .collect();
    let caption = "Left: how much the next evaluation was expected to gain per unit of its cost, \
                   in the units in which objectives are weighed. Right: the share of the box around \
                   all these fronts that was expected to be dominated; it levels off when little \
                   is left to gain."
        .into();
    let text = "When the expected gain falls below what a unit of cost is worth to you, stop.";
    let figure = Figure { caption, picture: worth_figure(&moments) };
    let heading = "Is it worth continuing?".into();
    Ok(Some(Section { heading, text: text.into(), figures: vec![figure], tables: vec![] }))
}

/// The share of a box around all fronts that each of them dominates.
fn hypervolumes<'a>(
    problem: &Problem,
    fronts: impl Iterator<Item = &'a Front> + Clone,
) -> Result<Vec<f64>, Failure> {
    let gain = |m: usize, point: &FrontPoint| match problem.objectives[m].direction {
        Direction::Minimise => -point.objectives[m].mean,
        Direction::Maximise => point.objectives[m].mean,
    };
    let objectives = 0..problem.objectives.len();
    let sides: Vec<(f64, f64)> = objectives
        .clone()
        .map(|m| {
            let all = fronts.clone().flat_map(|front| &front.points);
            ends(&all.map(|point| gain(m, point)).collect::<Vec<f64>>())
        })
        .collect();
    let share = |m: usize, point: &FrontPoint| {
        let (low, high) = sides[m];
        if high > low { (gain(m, point) - low) / (high - low) } else { 1.0 }
    };
    let volume = |front: &Front| -> unyoke_math::Result<f64> {
        let rows = front.points.iter().map(|point| objectives.clone().map(|m| share(m, point)));
        let rows = rows.map(Iterator::collect::<Vec<f64>>);
        hypervolume(&Points::from_rows(sides.len(), rows)?, &vec![0.0; sides.len()])
    };
    fronts.map(|front| Ok(volume(front).map_err(unyoke::Error::from)?)).collect()
}

/// What to do next, or would be, if nothing more fits into the budget.
fn next_section(problem: &Problem, next: &Suggestion, fits: bool) -> Section {
    let at = design(problem, &next.design);
    let mut text = format!("{} at {at}, for a cost of {}.", next.objective, short(next.cost));
    if !fits {
        text = format!("Nothing more fits into the budget. With more to spend: {text}");
    }
    for note in &next.notes {
        text += &format!("\n\n{note}");
    }
    let head = ["evaluate", "expected gain", "cost", "gain per cost", "break-even cost", "where"];
    let row = |(i, row): (usize, &OptionRow)| {
        let cell = |text: String| match next.chosen == Some(i) {
            true => Cell::Best(text),
            false => Cell::Plain(text),
        };
        vec![
            cell(row.objectives.join(" + ")),
            cell(short(row.gain())),
            cell(short(row.cost)),
            cell(short(row.gain_per_cost())),
            cell(row.break_even_cost.map_or_else(|| "–".to_owned(), short)),
            Cell::Plain(design(problem, &row.design)),
        ]
    };
    let rows: Vec<Vec<Cell>> = next.options.iter().enumerate().map(row).collect();
    let caption = "The best that was found for each objective. At its break-even cost an \
                   option would be worth as much as the best of the others."
        .into();
    let table = Table { caption, head: head.map(str::to_owned).to_vec(), rows };
    let tables = if table.rows.is_empty() { vec![] } else { vec![table] };
    Section { heading: "What to evaluate next".into(), text, figures: vec![], tables }
}
