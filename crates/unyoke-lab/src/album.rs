//! The figures of a folder of runs, and its report: from finished runs to pictures with captions.

use crate::error::{Error, Result};
use crate::family::Family;
use crate::figures::{
    Convergence, ConvergencePanel, Curve, CurvePanel, Field, LengthScalePrior, Predicted,
    PriorPanel, ProblemFigure, TimePanel, TimeRange, VerticalScale, convergence_figure,
    priors_figure, problem_figure, regret_figure, times_figure,
};
use crate::instance::Instance;
use crate::method::Method;
use crate::metrics::Recommendation;
use crate::problems::TestProblem;
use crate::report::{mean_table, time_table};
use crate::run::{RECOMMENDED, replay};
use crate::summary::{FamilyRuns, Metric, Runs, read_all};
use crate::table::{Row, write_whole};
use crate::target::Target;
use std::path::{Path, PathBuf};
use unyoke::{Algorithm, Evaluation, Study};
use unyoke_draw::Picture;
use unyoke_draw::page::{Figure, Page, Runs as RunCount, Section, Table};
use unyoke_math::Points;

/// How many times larger a PNG is than its SVG.
const PNG_SCALE: f32 = 2.0;
/// Evaluations after the initial ones at which the front is shown.
const MOMENTS: [usize; 3] = [0, 30, 70];
/// Nodes along each side of the grid behind contours.
const GRID: usize = 81;

/// A figure with the name of its files.
struct Plate {
    name: String,
    caption: String,
    picture: Picture,
}

/// Draws all figures of a folder into `DIR/figures`, each as SVG and PNG. Returns the files.
pub fn write_figures(out: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for plate in plates(&read_all(out)?)? {
        files.extend(write_picture(out, &plate.name, &plate.picture)?);
    }
    Ok(files)
}

/// Writes a picture as SVG and PNG into `DIR/figures`.
pub(crate) fn write_picture(out: &Path, name: &str, picture: &Picture) -> Result<[PathBuf; 2]> {
    let path = |ending: &str| out.join("figures").join(format!("{name}.{ending}"));
    write_whole(&path("svg"), picture.svg().as_bytes())?;
    write_whole(&path("png"), &picture.png(PNG_SCALE)?)?;
    Ok([path("svg"), path("png")])
}

/// Writes the report of a folder, one page that needs nothing else. Returns its file.
pub fn write_report(out: &Path) -> Result<PathBuf> {
    let families = read_all(out)?;
    let path = out.join("report.html");
    write_whole(&path, report(&families)?.html().as_bytes())?;
    Ok(path)
}

fn plates(families: &[FamilyRuns]) -> Result<Vec<Plate>> {
    let mut plates = vec![
        curves(families, Metric::BayesianRegret, "bayesian-regret"),
        curves(families, Metric::HypervolumeRegret, "hypervolume-regret"),
    ];
    plates.extend(families.iter().filter_map(expectation_against_random));
    for family in families {
        plates.extend(convergence(family)?);
    }
    for family in families {
        plates.extend(problem(family)?);
    }
    plates.extend(priors(families));
    plates.push(times(families));
    Ok(plates)
}

/// A family's name as a title.
fn title(family: &FamilyRuns) -> String {
    match family.settings.family.as_str() {
        "lengthscales" => "Different length scales".to_owned(),
        "observationnoise" => "Different observation noise".to_owned(),
        name => name.to_owned(),
    }
}

fn is_random(method: Method) -> bool {
    matches!(method.algorithm(), Algorithm::CMokgRandom | Algorithm::MakgRandom)
}

fn curve(family: &FamilyRuns, (method, runs): &(Method, Runs), metric: Metric) -> Curve {
    let averages = FamilyRuns::average(runs, metric, &family.costs());
    Curve {
        algorithm: method.name().to_owned(),
        cost: averages.iter().map(|average| average.cost).collect(),
        mean: averages.iter().map(|average| average.mean).collect(),
        standard_error: averages.iter().map(|average| average.standard_error).collect(),
        instances: runs.len(),
    }
}

/// The curves of the algorithms that `wanted` picks.
fn panel(family: &FamilyRuns, metric: Metric, wanted: impl Fn(Method) -> bool) -> CurvePanel {
    let chosen = family.methods.iter().filter(|(method, _)| wanted(*method));
    CurvePanel {
        title: title(family),
        y_label: label(metric).to_owned(),
        curves: chosen.map(|entry| curve(family, entry, metric)).collect(),
    }
}

fn label(metric: Metric) -> &'static str {
    match metric {
        Metric::BayesianRegret => "Bayesian regret",
        Metric::HypervolumeRegret => "Hypervolume regret",
        Metric::ObservedHypervolume => "Observed hypervolume",
    }
}

fn curves(families: &[FamilyRuns], metric: Metric, name: &str) -> Plate {
    let panels: Vec<CurvePanel> =
        families.iter().map(|family| panel(family, metric, |a| !is_random(a))).collect();
    Plate {
        name: name.to_owned(),
        caption: format!(
            "{} against cumulative cost: mean over instances, with two standard errors to both \
             sides. Open markers and dashes: one objective at a time; filled: all at each design.",
            label(metric)
        ),
        picture: regret_figure(&panels, VerticalScale::Automatic),
    }
}

/// Figure of the families on which random weights were tried.
fn expectation_against_random(family: &FamilyRuns) -> Option<Plate> {
    let expectations = [Algorithm::CMokg, Algorithm::Makg].map(Method::Published);
    let wanted = |method| is_random(method) || expectations.contains(&method);
    family.methods.iter().any(|(method, _)| is_random(*method)).then(|| Plate {
        name: format!("expectation-against-random-{}", family.settings.family),
        caption: "Expectation over weights against one random weight vector per step.".to_owned(),
        picture: regret_figure(
            &[panel(family, Metric::BayesianRegret, wanted)],
            VerticalScale::Automatic,
        ),
    })
}

/// Whose front is shown as it is learned.
const CONVERGENCE: Method = Method::Published(Algorithm::CMokg);

fn pairs(points: &Points) -> Vec<[f64; 2]> {
    points.rows().map(|row| [row[0], row[1]]).collect()
}

/// The front of a C-MOKG run at three moments, for two objectives: of the first run that is long
/// enough.
fn convergence(family: &FamilyRuns) -> Result<Option<Plate>> {
    let longest = MOMENTS.into_iter().max().unwrap_or(0);
    let runs = family.methods.iter().find(|(method, _)| *method == CONVERGENCE);
    let Some((_, runs)) = runs else { return Ok(None) };
    let initial = |rows: &[Row]| rows.iter().position(|row| row.metrics.is_some()).map(|i| i + 1);
    let long = |rows: &[Row]| initial(rows).is_some_and(|initial| rows.len() >= initial + longest);
    let Some((&id, rows)) = runs.iter().find(|(_, rows)| long(rows)) else { return Ok(None) };
    let instance = instance(family, id)?;
    if instance.problem.outputs.len() != 2 {
        return Ok(None);
    }
    let target = Target::of(&instance)?;
    let first = initial(rows).unwrap_or(0);
    let moment = |&count: &usize| {
        let protocol = family.settings.protocol();
        let study = replay(&instance, &target, CONVERGENCE, &protocol, &rows[..first + count])?;
        moment(&instance, &target, &study, count)
    };
    let names = |m: usize| instance.problem.outputs[m].name.clone();
    let picture = convergence_figure(&Convergence {
        objectives: [names(0), names(1)],
        front: pairs(&target.front),
        panels: MOMENTS.iter().map(moment).collect::<Result<_>>()?,
    });
    Ok(Some(Plate {
        name: format!("convergence-{}", family.settings.family),
        caption: format!(
            "The front as C-MOKG learns it, {}, instance {id}: predicted, with one standard \
             deviation; what its designs truly achieve; and what was observed.",
            title(family)
        ),
        picture,
    }))
}

fn moment(
    instance: &Instance,
    target: &Target,
    study: &Study,
    count: usize,
) -> Result<ConvergencePanel> {
    let front = study.predicted_front(RECOMMENDED)?;
    let recommendation = Recommendation::new(instance, target, &front)?;
    let predicted = front.points.iter().zip(recommendation.predicted.rows());
    let predicted = predicted.map(|(point, mean)| Predicted {
        mean: [mean[0], mean[1]],
        deviation: [point.outputs[0].sd, point.outputs[1].sd],
    });
    let title = match count {
        0 => "Initial designs only".to_owned(),
        count => format!("{count} evaluations more"),
    };
    Ok(ConvergencePanel {
        title,
        predicted: predicted.collect(),
        achieved: pairs(&recommendation.truth),
        observed: observed(instance, study),
    })
}

/// Values at designs where both objectives were observed.
fn observed(instance: &Instance, study: &Study) -> Vec<[f64; 2]> {
    let values = |m: usize| {
        let value = move |e: &Evaluation| {
            Some((e.design.to_string(), instance.sign(m) * e.reading(m)?.value))
        };
        study.evaluations().iter().filter_map(value)
    };
    let both = |(design, first): (String, f64)| {
        let second = values(1).find(|(other, _)| *other == design)?.1;
        Some([first, second])
    };
    values(0).filter_map(both).collect()
}

fn instance(family: &FamilyRuns, id: u32) -> Result<Instance> {
    let missing = || Error::Setting { what: "instance", reason: format!("there is no {id}") };
    family.settings.instances(&[id])?.pop().ok_or_else(missing)
}

/// Contours and front of the first instance that was run, for two inputs and two objectives.
fn problem(family: &FamilyRuns) -> Result<Option<Plate>> {
    let ids = family.methods.iter().flat_map(|(_, runs)| runs.keys());
    let Some(&id) = ids.min() else { return Ok(None) };
    let instance = instance(family, id)?;
    let problem = &instance.problem;
    if problem.parameters.len() != 2 || problem.outputs.len() != 2 {
        return Ok(None);
    }
    let at = |i: usize| i as f64 / (GRID - 1) as f64;
    let nodes = (0..GRID * GRID).map(|i| [at(i % GRID), at(i / GRID)]);
    let values = instance.values(&Points::from_rows(2, nodes)?)?;
    let field = |m: usize| Field {
        name: problem.outputs[m].name.clone(),
        columns: GRID,
        rows: GRID,
        values: values.rows().map(|row| row[m]).collect(),
    };
    let target = Target::of(&instance)?;
    let picture = problem_figure(&ProblemFigure {
        objectives: [field(0), field(1)],
        pareto_set: pairs(&target.set),
        pareto_front: pairs(&target.front),
    });
    Ok(Some(Plate {
        name: format!("problem-{}", family.settings.family),
        caption: format!(
            "A test problem: both objectives with the Pareto set, and the front. {}, instance {id}.",
            title(family)
        ),
        picture,
    }))
}

/// The priors of the paper's families among those that were run.
fn priors(families: &[FamilyRuns]) -> Option<Plate> {
    let panel = |family: &FamilyRuns| {
        let Ok(TestProblem::Family(known)) = TestProblem::named(&family.settings.family) else {
            return None;
        };
        let (priors, truths) = (known.length_scale_priors(), known.length_scales());
        let prior = |m: usize| LengthScalePrior {
            objective: format!("f{}", m + 1),
            shape: priors[m].shape,
            rate: priors[m].rate,
            truth: Some(truths[m]),
        };
        Some(PriorPanel { title: title(family), priors: vec![prior(0), prior(1)] })
    };
    let panels: Vec<PriorPanel> = families.iter().filter_map(panel).collect();
    (!panels.is_empty()).then(|| Plate {
        name: "length-scale-priors".to_owned(),
        caption: "Priors of the length scales in the surrogate models, and the true ones."
            .to_owned(),
        picture: priors_figure(&panels),
    })
}

/// Seconds of the suggestions that took a search: after the initial designs all of them, or the
/// first at each design.
fn suggestion_seconds(family: &FamilyRuns, method: Method, runs: &Runs) -> Vec<f64> {
    let together = method.algorithm().is_coupled();
    let each = if together { family.settings.costs.len() } else { 1 };
    let searched = |rows: &Vec<Row>| -> Vec<f64> {
        let initial =
            rows.iter().position(|row| row.metrics.is_some()).map_or(rows.len(), |i| i + 1);
        rows[initial..].iter().step_by(each).map(|row| row.suggest_seconds).collect()
    };
    runs.values().flat_map(searched).collect()
}

fn time_ranges(family: &FamilyRuns) -> Vec<TimeRange> {
    let range = |(method, runs): &(Method, Runs)| {
        TimeRange::of(method.name(), &suggestion_seconds(family, *method, runs))
    };
    family.methods.iter().filter_map(range).collect()
}

fn times(families: &[FamilyRuns]) -> Plate {
    let panel = |family: &FamilyRuns| TimePanel { title: title(family), rows: time_ranges(family) };
    Plate {
        name: "time-per-suggestion".to_owned(),
        caption: "Time to choose one evaluation, on one core: median, and from the fastest to the \
                  slowest tenth."
            .to_owned(),
        picture: times_figure(&families.iter().map(panel).collect::<Vec<_>>()),
    }
}

fn report(families: &[FamilyRuns]) -> Result<Page> {
    let figures = plates(families)?
        .into_iter()
        .map(|plate| Figure { caption: plate.caption, pictures: vec![plate.picture] })
        .collect();
    let mut sections =
        vec![Section { heading: "Figures".to_owned(), figures, ..Section::default() }];
    sections.extend(families.iter().map(tables));
    Ok(Page {
        title: "Unyoke lab".to_owned(),
        lead: lead(families),
        made: families.iter().flat_map(made).collect(),
        runs: families.iter().flat_map(counts).collect(),
        sections,
    })
}

/// What was run, in a sentence.
fn lead(families: &[FamilyRuns]) -> String {
    let rows = || {
        let runs = families.iter().flat_map(|family| &family.methods);
        runs.flat_map(|(_, runs)| runs.values())
    };
    let seconds: f64 = rows().flatten().map(|row| row.suggest_seconds + row.metrics_seconds).sum();
    let evaluations = rows().map(Vec::len).sum::<usize>();
    format!(
        "{} runs with {evaluations} evaluations, {:.1} hours of one core in all.",
        rows().count(),
        seconds / 3600.0
    )
}

/// Costs of the tables: round numbers between start and end.
fn table_costs(family: &FamilyRuns) -> Vec<f64> {
    let costs = family.costs();
    let (Some(&start), end) = (costs.first(), family.settings.max_cost) else { return vec![] };
    let step = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0]
        .into_iter()
        .find(|step| (end - start) / step <= 12.0)
        .unwrap_or((end - start) / 10.0);
    let rounds = (1..=(end / step + 1e-9) as usize).map(|i| i as f64 * step);
    std::iter::once(start).chain(rounds.filter(|cost| *cost > start)).collect()
}

fn tables(family: &FamilyRuns) -> Section {
    let costs = table_costs(family);
    let table = |metric: Metric| -> Table {
        let curves: Vec<Curve> =
            family.methods.iter().map(|entry| curve(family, entry, metric)).collect();
        mean_table(
            &format!("{}, mean and standard error at each cost", label(metric)),
            &curves,
            &costs,
        )
    };
    let times = time_table("Seconds per suggestion on one core", &time_ranges(family));
    Section {
        heading: title(family),
        tables: Metric::ALL.into_iter().map(table).chain([times]).collect(),
        ..Section::default()
    }
}

fn made(family: &FamilyRuns) -> Vec<(String, String)> {
    let settings = &family.settings;
    let problems = match &settings.problems {
        Some(path) => path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        None if Family::ALL.iter().any(|known| known.name() == settings.family) => {
            format!("sampled from seed {}", settings.seed)
        }
        None => "formula".to_owned(),
    };
    let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(", ");
    let words = format!(
        "{problems}; costs {}; noise {}; to cost {}; length scales {:?}; seed {}; version {}",
        list(&settings.costs),
        list(&settings.noise),
        settings.max_cost,
        settings.lengthscales,
        settings.seed,
        settings.version
    );
    vec![(title(family), words)]
}

fn counts(family: &FamilyRuns) -> Vec<RunCount> {
    let count = |((method, runs), planned): (&(Method, Runs), &usize)| RunCount {
        name: format!("{}, {}", title(family), crate::figures::label(method.name())),
        complete: runs.len(),
        planned: *planned,
    };
    family.methods.iter().zip(&family.planned).map(count).collect()
}
