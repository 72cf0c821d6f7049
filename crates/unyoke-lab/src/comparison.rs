//! What came of a suite: tables of regrets at parts of the budget, one algorithm against its rivals,
//! and figures with a panel for each problem.
//!
//! Only instances that every algorithm has finished count, so that all averages are over the same.

use crate::album::write_picture;
use crate::error::{Error, Result};
use crate::figures::{Curve, CurvePanel, CurvesFigure, VerticalScale, curves_figure, label};
use crate::method::Method;
use crate::record::Record;
use crate::suite::{MARKS, Suite};
use crate::summary::{Average, FamilyRuns, Metric, Runs, average, read_problem, value_at};
use crate::table::write_whole;
use std::fmt::Write as _;
use std::path::PathBuf;
use unyoke::Algorithm;

/// The parts of the budget that tables have columns for.
const PARTS: [f64; 4] = [0.25, 0.5, 0.75, 1.0];
/// Regrets are compared as shares.
const METRICS: [Metric; 2] = [Metric::BayesianRegret, Metric::HypervolumeRegret];
/// Against whom an algorithm has to hold its own.
const RIVALS: [Algorithm; 4] =
    [Algorithm::CMokg, Algorithm::HvkgD, Algorithm::Nehvi, Algorithm::Parego];
/// The floor that everyone must beat.
const FLOOR: Method = Method::Published(Algorithm::Sobol);
/// How many times the regret of the best rival is acceptable.
const ACCEPTABLE: f64 = 1.25;
/// A share this small is acceptable whatever rivals have.
const NEGLIGIBLE: f64 = 0.005;

/// A suite with its finished runs.
#[derive(Debug)]
pub struct Comparison {
    /// Whose runs are compared with those of the others.
    pub against: Method,
    /// In the order of the suite.
    pub problems: Vec<Compared>,
}

/// One problem of a comparison.
#[derive(Debug)]
pub struct Compared {
    /// Its name.
    pub name: String,
    /// What the initial designs cost, and what everything once does.
    pub start: f64,
    /// Cost of measuring everything once.
    pub full: f64,
    /// Spent after the start, in full evaluations.
    pub budget: f64,
    /// How many instances all algorithms have finished.
    pub instances: usize,
    /// Each algorithm of the suite with its runs on these instances.
    pub entries: Vec<Entry>,
    family: Option<FamilyRuns>,
}

/// An algorithm on a problem.
#[derive(Debug)]
pub struct Entry {
    /// Who.
    pub method: Method,
    /// Its runs, or why it has none.
    pub runs: Result<Runs, String>,
}

/// How an algorithm compares with its rivals at the end of the budget, by one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// Its mean regret as a share.
    pub own: f64,
    /// The best rival with its mean regret; none where no rival is applicable.
    pub rival: Option<(Method, f64)>,
    /// The mean regret of Sobol' sampling, if that was run.
    pub floor: Option<f64>,
    /// What it misses of what is asked for, in words; empty where nothing.
    pub misses: Vec<String>,
}

impl Entry {
    /// Gives up runs that are not there for all of these instances: averages would not be over the same.
    fn require(&mut self, instances: &[u32]) {
        let Ok(runs) = &self.runs else { return };
        let there = instances.iter().filter(|id| runs.contains_key(id)).count();
        if there < instances.len() {
            self.runs = Err(format!("recorded on {there} of {} instances", instances.len()));
        }
    }
}

impl Verdict {
    /// Never above Sobol' sampling, and within 1.25 times the best rival or below 0.005.
    pub fn new(own: f64, rival: Option<(Method, f64)>, floor: Option<f64>) -> Self {
        let mut misses = Vec::new();
        if floor.is_some_and(|floor| own > floor) {
            misses.push("above Sobol'".to_owned());
        }
        if let Some((rival, best)) = rival.filter(|(_, best)| own > ACCEPTABLE * best)
            && own > NEGLIGIBLE
        {
            let times =
                if best > 0.0 { format!("{:.2} ×", own / best) } else { "above".to_owned() };
            misses.push(format!("{times} {}", rival.name()));
        }
        Self { own, rival, floor, misses }
    }
}

impl Comparison {
    /// Reads what is finished of a suite. Algorithms that do not take part have the runs of the record.
    pub fn read(suite: &Suite, against: Method, record: &Record) -> Result<Self> {
        if !suite.methods.contains(&against) {
            let reason = format!(
                "{} is not among the algorithms: add it, or name one of them",
                against.name()
            );
            return Err(Error::Setting { what: "against", reason });
        }
        let problems = suite.problems.iter().map(|name| Compared::read(suite, name, record));
        Ok(Self { against, problems: problems.collect::<Result<_>>()? })
    }

    /// Writes tables and figures into the folder of a suite. Returns the files.
    pub fn write(&self, suite: &Suite) -> Result<Vec<PathBuf>> {
        let out = &suite.out;
        let mut files = Vec::new();
        for (name, text) in [
            ("comparison.md", self.markdown()),
            ("comparison.csv", csv_text(&self.rows())?),
            ("verdicts.csv", csv_text(&self.verdict_rows())?),
        ] {
            write_whole(&out.join(name), text.as_bytes())?;
            files.push(out.join(name));
        }
        for metric in METRICS {
            let name = format!("suite-{}", metric.name().replace('_', "-"));
            files.extend(write_picture(out, &name, &curves_figure(&self.figure(metric)))?);
        }
        Ok(files)
    }

    /// A panel for each problem.
    fn figure(&self, metric: Metric) -> CurvesFigure {
        let panel = |problem: &Compared| CurvePanel {
            title: problem.name.clone(),
            y_label: title(metric).to_owned(),
            curves: problem.curves(metric),
        };
        CurvesFigure {
            heading: String::new(),
            x_label: "Full evaluations after the start".to_owned(),
            panels: self.problems.iter().filter(|p| p.instances > 0).map(panel).collect(),
            scale: VerticalScale::Log,
        }
    }

    /// All means in long form, as shares and as they are.
    fn rows(&self) -> Vec<Vec<String>> {
        let head = [
            "problem",
            "algorithm",
            "metric",
            "part_of_budget",
            "cost",
            "mean_share",
            "standard_error_share",
            "mean",
            "standard_error",
            "instances",
            "note",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        for problem in &self.problems {
            for entry in &problem.entries {
                let name = [problem.name.clone(), entry.method.name().to_owned()];
                match &entry.runs {
                    Err(reason) => {
                        let mut row = name.to_vec();
                        row.resize(head.len() - 1, String::new());
                        row.push(format!("not applicable: {reason}"));
                        rows.push(row);
                    }
                    Ok(runs) => rows.extend(problem.cells(runs).into_iter().map(|cells| {
                        name.iter().cloned().chain(cells).chain([String::new()]).collect()
                    })),
                }
            }
        }
        rows
    }

    fn verdict_rows(&self) -> Vec<Vec<String>> {
        let head = [
            "problem",
            "metric",
            "algorithm",
            "share",
            "best_rival",
            "rival_share",
            "sobol_share",
            "misses",
        ];
        let mut rows = vec![head.map(str::to_owned).to_vec()];
        let text = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
        for problem in &self.problems {
            for metric in METRICS {
                let Some(verdict) = problem.verdict(self.against, metric) else { continue };
                rows.push(vec![
                    problem.name.clone(),
                    metric.name().to_owned(),
                    self.against.name().to_owned(),
                    verdict.own.to_string(),
                    verdict.rival.map(|(rival, _)| rival.name().to_owned()).unwrap_or_default(),
                    text(verdict.rival.map(|(_, share)| share)),
                    text(verdict.floor),
                    verdict.misses.join("; "),
                ]);
            }
        }
        rows
    }

    /// The tables as a page of Markdown.
    pub fn markdown(&self) -> String {
        let mut page = String::from("# Comparison\n\n");
        let _ = writeln!(page, "{}\n", self.lead());
        for metric in METRICS {
            let _ = writeln!(page, "## {} at the end\n", title(metric));
            page.push_str(&self.overview(metric));
            let _ = writeln!(page, "\n### {} against its rivals\n", label(self.against.name()));
            page.push_str(&self.verdicts(metric));
            page.push('\n');
        }
        page.push_str("## Along the budget\n");
        for problem in self.problems.iter().filter(|problem| problem.instances > 0) {
            let _ = write!(page, "\n### {}\n\n{}\n", problem.name, problem.lead());
            for metric in METRICS {
                let _ = write!(page, "\n{}", problem.along(metric));
            }
        }
        page
    }

    fn lead(&self) -> String {
        let finished = self.problems.iter().filter(|problem| problem.instances > 0).count();
        format!(
            "Means over instances ± one standard error; shares of the front's utility range (Bayesian \
             regret) and of the front's hypervolume (hypervolume regret), less is better. {finished} of \
             {} problems have an instance that every algorithm has finished. n/a: not applicable.",
            self.problems.len()
        )
    }

    fn methods(&self) -> Vec<Method> {
        let first = self.problems.first();
        first.map(|p| p.entries.iter().map(|e| e.method).collect()).unwrap_or_default()
    }

    /// A row per problem, a column per algorithm.
    fn overview(&self, metric: Metric) -> String {
        let methods = self.methods();
        let names = methods.iter().map(|method| label(method.name()));
        let head = ["problem".to_owned(), "instances".to_owned()].into_iter().chain(names);
        let row = |problem: &Compared| -> Vec<String> {
            let cells = problem.entries.iter().map(|entry| problem.cell(entry, metric, 1.0));
            let name = [problem.name.clone(), problem.instances.to_string()];
            name.into_iter().chain(cells).collect()
        };
        table(&head.collect::<Vec<_>>(), self.problems.iter().map(row))
    }

    /// A row per problem: ratios to the best rival and to Sobol', paired differences, what is missed.
    fn verdicts(&self, metric: Metric) -> String {
        let head =
            ["problem", "share", "best rival", "ratio", "difference", "ratio to Sobol'", "misses"];
        let row = |problem: &Compared| -> Option<Vec<String>> {
            let verdict = problem.verdict(self.against, metric)?;
            let ratio = |other: f64| match other > 0.0 {
                true => format!("{:.2}", verdict.own / other),
                false => "–".to_owned(),
            };
            let none = || "n/a".to_owned();
            let difference = verdict.rival.and_then(|(rival, _)| {
                problem.paired_difference(self.against, rival, metric).map(with_error)
            });
            let misses = match verdict.misses.as_slice() {
                [] => "–".to_owned(),
                misses => format!("**{}**", misses.join(", ")),
            };
            Some(vec![
                problem.name.clone(),
                short(verdict.own),
                verdict.rival.map_or_else(none, |(rival, _)| label(rival.name())),
                verdict.rival.map_or_else(none, |(_, share)| ratio(share)),
                difference.unwrap_or_else(none),
                verdict.floor.map_or_else(none, ratio),
                misses,
            ])
        };
        table(&head.map(str::to_owned), self.problems.iter().filter_map(row))
    }
}

impl Compared {
    fn read(suite: &Suite, name: &str, record: &Record) -> Result<Self> {
        let settings = suite.settings(name)?;
        let mut family = read_problem(&suite.out, name)?;
        if let Some(family) = &mut family {
            family.methods.retain(|(method, _)| suite.methods.contains(method));
            let recorded = record.runs(name, &settings)?;
            let others = recorded.into_iter().filter(|(method, _)| !suite.methods.contains(method));
            family.methods.extend(others);
            family.scales.extend(record.scales(name));
        }
        let taking_part = suite.methods.len();
        let methods = suite.methods.iter().copied().chain(record.methods(&suite.methods)?);
        let suite = &Suite { methods: methods.collect(), ..suite.clone() };
        let unsuited = suite.unsuited(name)?;
        let finished = |method: Method| -> Runs {
            let mut methods = family.iter().flat_map(|family| &family.methods);
            let found = methods.find(|(other, _)| *other == method);
            found.map(|(_, runs)| runs.clone()).unwrap_or_default()
        };
        let entry = |&method: &Method| Entry {
            method,
            runs: match unsuited.iter().find(|other| other.method == method) {
                Some(unsuited) => Err(unsuited.reason.clone()),
                None => Ok(finished(method)),
            },
        };
        let mut entries: Vec<Entry> = suite.methods.iter().map(entry).collect();
        let (own, recorded) = entries.split_at_mut(taking_part);
        let by_all = |id: &&u32| {
            own.iter().all(|entry| entry.runs.as_ref().map_or(true, |runs| runs.contains_key(id)))
        };
        let common: Vec<u32> = suite.instances.iter().filter(by_all).copied().collect();
        recorded.iter_mut().for_each(|entry| entry.require(&common));
        for runs in entries.iter_mut().filter_map(|entry| entry.runs.as_mut().ok()) {
            runs.retain(|id, _| common.contains(id));
        }
        let any = entries.iter().any(|entry| entry.runs.is_ok());
        Ok(Self {
            name: name.to_owned(),
            start: settings.measure_from,
            full: settings.costs.iter().sum(),
            budget: suite.budget,
            instances: if any { common.len() } else { 0 },
            entries,
            family,
        })
    }

    /// The cost at which a part of the budget is spent.
    fn cost_at(&self, part: f64) -> f64 {
        // Sums of costs are not exact.
        (self.start + part * self.budget * self.full) * (1.0 + 1e-9)
    }

    /// What a metric counts in; one where it is not known.
    fn unit(&self, runs: &Runs, metric: Metric) -> f64 {
        self.family.as_ref().and_then(|family| family.unit(runs, metric)).unwrap_or(1.0)
    }

    /// The average after a part of the budget, as a share.
    fn share(&self, runs: &Runs, metric: Metric, part: f64) -> Option<Average> {
        let unit = self.unit(runs, metric);
        let cost = self.cost_at(part);
        let found = FamilyRuns::average(runs, metric, &[cost]).pop()?;
        let scaled = |value: f64| value / unit;
        Some(Average {
            mean: scaled(found.mean),
            standard_error: scaled(found.standard_error),
            ..found
        })
    }

    fn cell(&self, entry: &Entry, metric: Metric, part: f64) -> String {
        match &entry.runs {
            Err(_) => "n/a".to_owned(),
            Ok(runs) => self.share(runs, metric, part).map_or_else(|| "–".to_owned(), with_error),
        }
    }

    fn runs(&self, method: Method) -> Option<&Runs> {
        let entry = self.entries.iter().find(|entry| entry.method == method)?;
        entry.runs.as_ref().ok()
    }

    /// How a method compares with its rivals at the end; none where nothing is finished.
    pub fn verdict(&self, against: Method, metric: Metric) -> Option<Verdict> {
        let share = |method: Method| Some(self.share(self.runs(method)?, metric, 1.0)?.mean);
        let rivals = RIVALS.into_iter().map(Method::Published).filter(|rival| *rival != against);
        let best = rivals
            .filter_map(|rival| Some((rival, share(rival)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        let floor = (against != FLOOR).then(|| share(FLOOR)).flatten();
        Some(Verdict::new(share(against)?, best, floor))
    }

    /// The mean over instances of one regret less the other at the end, as a share.
    fn paired_difference(&self, own: Method, other: Method, metric: Metric) -> Option<Average> {
        let (own, other) = (self.runs(own)?, self.runs(other)?);
        let (cost, unit) = (self.cost_at(1.0), self.unit(own, metric));
        let difference = |(id, rows): (&u32, &Vec<_>)| {
            let theirs = value_at(other.get(id)?, metric, cost)?;
            Some((value_at(rows, metric, cost)? - theirs) / unit)
        };
        average(cost, &own.iter().map(difference).collect::<Option<Vec<f64>>>()?)
    }

    fn curves(&self, metric: Metric) -> Vec<Curve> {
        let parts: Vec<f64> = (0..=MARKS).map(|i| i as f64 / MARKS as f64).collect();
        let curve = |entry: &Entry| {
            let runs = entry.runs.as_ref().ok().filter(|runs| !runs.is_empty())?;
            let averages = parts.iter().map(|&part| self.share(runs, metric, part));
            let averages: Vec<Average> = averages.collect::<Option<_>>()?;
            Some(Curve {
                algorithm: entry.method.name().to_owned(),
                cost: parts.iter().map(|part| part * self.budget).collect(),
                mean: averages.iter().map(|average| average.mean).collect(),
                standard_error: averages.iter().map(|average| average.standard_error).collect(),
                instances: runs.len(),
            })
        };
        self.entries.iter().filter_map(curve).collect()
    }

    /// Cells of the long table, from the metric on.
    fn cells(&self, runs: &Runs) -> Vec<Vec<String>> {
        let mut rows = Vec::new();
        for metric in METRICS {
            for part in PARTS {
                let cost = self.cost_at(part);
                let raw = FamilyRuns::average(runs, metric, &[cost]).pop();
                let (Some(raw), Some(share)) = (raw, self.share(runs, metric, part)) else {
                    continue;
                };
                let numbers = [share.mean, share.standard_error, raw.mean, raw.standard_error];
                let cost = self.start + part * self.budget * self.full;
                let name = [metric.name().to_owned(), part.to_string(), cost.to_string()];
                let numbers = numbers.map(|number| number.to_string());
                let count = [raw.instances.to_string()];
                rows.push(name.into_iter().chain(numbers).chain(count).collect());
            }
        }
        rows
    }

    fn lead(&self) -> String {
        let reasons: Vec<String> = self
            .entries
            .iter()
            .filter_map(|entry| {
                let reason = entry.runs.as_ref().err()?;
                Some(format!("{}: not applicable ({reason})", label(entry.method.name())))
            })
            .collect();
        let mut lead = format!(
            "{} instances. The start costs {}, a full evaluation {}.",
            self.instances, self.start, self.full
        );
        if !reasons.is_empty() {
            let _ = write!(lead, " {}.", reasons.join("; "));
        }
        lead
    }

    /// A row per algorithm, a column per part of the budget.
    fn along(&self, metric: Metric) -> String {
        let part = |part: &f64| format!("{:.0} %", 100.0 * part);
        let head = std::iter::once(title(metric).to_owned()).chain(PARTS.iter().map(part));
        let suited = self.entries.iter().filter(|entry| entry.runs.is_ok());
        let row = |entry: &Entry| -> Vec<String> {
            let cells = PARTS.iter().map(|&part| self.cell(entry, metric, part));
            std::iter::once(label(entry.method.name())).chain(cells).collect()
        };
        table(&head.collect::<Vec<_>>(), suited.map(row))
    }
}

fn title(metric: Metric) -> &'static str {
    match metric {
        Metric::BayesianRegret => "Bayesian regret, share of the range",
        Metric::HypervolumeRegret => "Hypervolume regret, share of the volume",
        Metric::ObservedHypervolume => "Observed hypervolume",
    }
}

/// A table of Markdown.
fn table(head: &[String], rows: impl Iterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    std::iter::once(line(head)).chain([rule]).chain(rows.map(|row| line(&row))).collect()
}

/// Shares need no more than five decimals.
fn short(share: f64) -> String {
    format!("{share:.5}")
}

fn with_error(average: Average) -> String {
    match average.standard_error.is_finite() {
        true => format!("{} ± {}", short(average.mean), short(average.standard_error)),
        false => short(average.mean),
    }
}

fn csv_text(rows: &[Vec<String>]) -> Result<String> {
    let bad = |reason: String| Error::BadFile { path: PathBuf::from("comparison.csv"), reason };
    let mut table = csv::Writer::from_writer(Vec::new());
    let written = rows.iter().try_for_each(|row| table.write_record(row));
    written.map_err(|error| bad(error.to_string()))?;
    let bytes = table.into_inner().map_err(|error| bad(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| bad(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HVKG: Method = Method::Published(Algorithm::HvkgD);

    #[test]
    fn what_is_asked_for_is_told_from_what_is_missed() {
        let misses = |own, rival: Option<f64>, floor| {
            Verdict::new(own, rival.map(|share| (HVKG, share)), floor).misses
        };
        assert!(misses(0.02, Some(0.0161), Some(0.03)).is_empty());
        assert_eq!(misses(0.02, Some(0.0125), Some(0.03)), ["1.60 × hvkg-d"]);
        assert_eq!(misses(0.02, Some(0.019), Some(0.01)), ["above Sobol'"]);
        // Below 0.005 of the range nothing is missed but Sobol'.
        assert!(misses(0.004, Some(0.0001), Some(0.03)).is_empty());
        assert_eq!(misses(0.004, Some(0.0001), Some(0.003)), ["above Sobol'"]);
        assert_eq!(misses(0.02, Some(-1e-6), Some(0.03)), ["above hvkg-d"]);
        assert!(misses(0.5, None, None).is_empty());
    }

    #[test]
    fn tables_of_markdown_have_a_rule_below_the_head() {
        let head = ["a".to_owned(), "b".to_owned()];
        let text = table(&head, [vec!["1".to_owned(), "2".to_owned()]].into_iter());
        assert_eq!(text, "| a | b |\n|---|---|\n| 1 | 2 |\n");
    }
}
