//! `unyoke lab`: runs, figures and reports of experiments.

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use unyoke::Lengthscales;
use unyoke_lab::comparison::Comparison;
use unyoke_lab::facts::deviations;
use unyoke_lab::{
    Error, Hyper, Lab, Method, Outcome, Progress, Record, Settings, Shard, Suite, TestProblem,
    summary, write_figures, write_report,
};

use crate::output::complain;

/// Ticks of the progress bar per run.
const TICKS: f64 = 1000.0;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run algorithms on test problems; what is finished is saved at once and not done again.
    Run(RunArguments),
    /// Compare algorithms on many kinds of problems at the same budget; a suite goes on where it was
    /// stopped, and writes tables and figures of what is finished.
    Suite(SuiteArguments),
    /// Keep the regrets of finished runs in one file, for `suite --recorded`.
    Record {
        /// The folder of a lab or a suite.
        dir: PathBuf,
        /// The file; what it holds of other runs stays.
        file: PathBuf,
    },
    /// Check a file of published instances against figures that were computed independently.
    Check(CheckArguments),
    /// Draw the figures of finished runs, as SVG and PNG, into DIR/figures.
    Figures {
        /// A folder that `unyoke lab run` filled.
        dir: PathBuf,
    },
    /// Write DIR/report.html: figures, tables and how they were made, in one page.
    Report {
        /// A folder that `unyoke lab run` filled.
        dir: PathBuf,
    },
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Which test problems.
    #[arg(long, value_parser = PossibleValuesParser::new(TestProblem::names()))]
    family: String,
    /// The file of published instances.
    #[arg(long, value_name = "FILE")]
    problems: PathBuf,
    /// The file of figures.
    #[arg(long, value_name = "FILE")]
    facts: PathBuf,
    /// Numbers of instances, as in 0-99 or 0,3,10-12.
    #[arg(long, default_value = "0-99", value_parser = numbers)]
    instances: Numbers,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// Which test problems.
    #[arg(long, value_parser = PossibleValuesParser::new(TestProblem::names()))]
    family: String,
    /// A file of published instances; without it they are sampled from the seed.
    #[arg(long, value_name = "FILE")]
    problems: Option<PathBuf>,
    /// Numbers of instances, as in 0-99 or 0,3,10-12.
    #[arg(long, default_value = "0-99", value_parser = numbers)]
    instances: Numbers,
    /// Who competes: algorithms with the published settings, or c-mokg-improved.
    #[arg(long, value_delimiter = ',', default_value = "c-mokg,makg")]
    algorithms: Vec<Method>,
    /// Runs end at this cumulative cost [default: the published 300 or 1000, or four times that
    /// of the initial designs].
    #[arg(long, value_name = "COST")]
    max_cost: Option<f64>,
    /// Cost of one evaluation of each objective [default: 1 for the first, 10 for the others].
    #[arg(long, value_delimiter = ',', value_name = "COSTS")]
    costs: Option<Vec<f64>>,
    /// Standard deviation of each objective's noise [default: the family's].
    #[arg(long, value_delimiter = ',', value_name = "SD")]
    noise: Option<Vec<f64>>,
    /// One length scale per objective instead of one per input.
    #[arg(long)]
    isotropic: bool,
    /// A file of initial designs and values to start from; without it every run chooses its own.
    #[arg(long, value_name = "FILE")]
    initial: Option<PathBuf>,
    /// Let models know the hyper-parameters that the objectives were sampled with, instead of
    /// fitting them (families of the paper only).
    #[arg(long)]
    true_hyper: bool,
    /// Take metrics at multiples of this cost only; they take longer than a suggestion [default:
    /// after every evaluation].
    #[arg(long, value_name = "COST")]
    measure_every: Option<f64>,
    /// The same seed gives the same numbers, whatever the threads.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Runs at a time [default: one per core].
    #[arg(long)]
    threads: Option<usize>,
    /// Make only part i of n of the runs, to split them over machines.
    #[arg(long, value_name = "i/n", default_value = "1/1", value_parser = shard)]
    shard: Shard,
    /// The folder for runs/ and summary.csv; a lab goes on where it was stopped.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct SuiteArguments {
    /// Who competes; algorithms that cannot be used on a problem are left out there.
    #[arg(long, value_delimiter = ',', default_value = "default,c-mokg,hvkg-d,nehvi,parego,sobol")]
    algorithms: Vec<Method>,
    /// Which of them is compared with the others.
    #[arg(long, value_name = "ALGORITHM", default_value = "default")]
    against: Method,
    /// Test problems [default: all of the suite].
    #[arg(long, value_delimiter = ',', value_name = "NAMES",
          value_parser = PossibleValuesParser::new(TestProblem::names()))]
    problems: Option<Vec<String>>,
    /// Numbers of instances, as in 0-9 or 0,3,10-12.
    #[arg(long, default_value = "0-9", value_parser = numbers)]
    instances: Numbers,
    /// What is spent after the initial designs, in full evaluations: everything measured once.
    #[arg(long, value_name = "EVALUATIONS", default_value_t = 25.0)]
    budget: f64,
    /// The same seed gives the same numbers, whatever the threads.
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Runs at a time [default: one per core].
    #[arg(long)]
    threads: Option<usize>,
    /// A file of `lab record`: algorithms that do not take part are compared by the runs recorded there.
    #[arg(long, value_name = "FILE")]
    recorded: Option<PathBuf>,
    /// The folder for runs/, tables and figures/.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

/// A list of numbers, wrapped so that the parser takes it as one value.
#[derive(Debug, Clone)]
struct Numbers(Vec<u32>);

fn numbers(text: &str) -> Result<Numbers, String> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |word: &str| word.trim().parse::<u32>();
        match (number(from), number(to)) {
            (Ok(from), Ok(to)) if from <= to && to - from < 1_000_000 => all.extend(from..=to),
            _ => return Err(format!("{part:?} is neither a number nor a range such as 0-99")),
        }
    }
    Ok(Numbers(all))
}

fn shard(text: &str) -> Result<Shard, String> {
    let parts = text.split_once('/').map(|(i, n)| (i.parse::<usize>(), n.parse::<usize>()));
    match parts {
        Some((Ok(index), Ok(count))) if (1..=count).contains(&index) => Ok(Shard { index, count }),
        _ => Err("must be i/n with i from 1 to n, as in 2/8".to_owned()),
    }
}

impl RunArguments {
    fn lab(self) -> Result<Lab, Error> {
        let usual = Settings::usual(&self.family)?;
        let costs = self.costs.unwrap_or(usual.costs);
        let lengthscales =
            if self.isotropic { Lengthscales::Isotropic } else { usual.lengthscales };
        // Figures are drawn later, perhaps from another folder.
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        let usual_max_cost = TestProblem::named(&self.family)?.usual_max_cost(&costs);
        Ok(Lab {
            settings: Settings {
                problems: self.problems.map(absolute),
                initial: self.initial.map(absolute),
                measure_every: self.measure_every,
                hyper: if self.true_hyper { Hyper::True } else { Hyper::Fitted },
                seed: self.seed,
                noise: self.noise.unwrap_or(usual.noise),
                max_cost: self.max_cost.unwrap_or(usual_max_cost),
                costs,
                lengthscales,
                ..usual
            },
            instances: self.instances.0,
            methods: self.algorithms,
            shard: self.shard,
            threads: self.threads.unwrap_or_else(cores),
            out: self.out,
        })
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Error> {
    match command {
        Command::Run(arguments) => run_lab(&arguments.lab()?),
        Command::Suite(arguments) => run_suite(arguments),
        Command::Record { dir, file } => record(&dir, &file),
        Command::Check(arguments) => check(arguments),
        Command::Figures { dir } => {
            for file in write_figures(&dir)? {
                complain(&format!("{}", file.display()));
            }
            Ok(ExitCode::SUCCESS)
        }
        Command::Report { dir } => {
            complain(&format!("{}", write_report(&dir)?.display()));
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn run_lab(lab: &Lab) -> Result<ExitCode, Error> {
    let outcome = watched(|show| lab.run(show))?;
    summary::write(&lab.out)?;
    let written = format!("averages in {}", lab.out.join("summary.csv").display());
    Ok(tell(&outcome, &written))
}

fn run_suite(arguments: SuiteArguments) -> Result<ExitCode, Error> {
    let all = || Suite::PROBLEMS.map(str::to_owned).to_vec();
    let suite = Suite {
        problems: arguments.problems.unwrap_or_else(all),
        methods: arguments.algorithms,
        instances: arguments.instances.0,
        budget: arguments.budget,
        seed: arguments.seed,
        threads: arguments.threads.unwrap_or_else(cores),
        out: arguments.out,
    };
    let record =
        arguments.recorded.as_deref().map_or_else(|| Ok(Record::default()), Record::read)?;
    // A name that is not among the algorithms is found now, not after days.
    Comparison::read(&suite, arguments.against, &record)?;
    for name in &suite.problems {
        for unsuited in suite.unsuited(name)? {
            let method = unsuited.method.name();
            complain(&format!("{name}: {method} is not applicable: {}", unsuited.reason));
        }
    }
    let outcome = watched(|show| suite.run(show))?;
    summary::write(&suite.out)?;
    let files = Comparison::read(&suite, arguments.against, &record)?.write(&suite)?;
    for file in &files {
        complain(&format!("{}", file.display()));
    }
    let written = format!("tables in {}", suite.out.join("comparison.md").display());
    Ok(tell(&outcome, &written))
}

fn record(dir: &Path, file: &Path) -> Result<ExitCode, Error> {
    let mut record = if file.exists() { Record::read(file)? } else { Record::default() };
    record.merge(Record::of(dir)?)?;
    record.write(file)?;
    complain(&format!("{}", file.display()));
    Ok(ExitCode::SUCCESS)
}

/// Shows progress, time spent and time left while `work` is done.
fn watched(
    work: impl FnOnce(&(dyn Fn(Progress) + Sync)) -> Result<Outcome, Error>,
) -> Result<Outcome, Error> {
    let bar = ProgressBar::no_length();
    let style = "{bar:32} {percent:>3} %  {elapsed} spent, {eta} left  {msg}";
    bar.set_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()));
    let show = |progress: Progress| match progress {
        Progress::Begun { runs, before } => {
            bar.set_length((runs as f64 * TICKS) as u64);
            let found = if before > 0 { format!(", {before} found") } else { String::new() };
            bar.set_message(format!("runs to make: {runs}{found}"));
        }
        Progress::Advanced(share) => bar.inc((share * TICKS).round() as u64),
        Progress::Finished => {}
    };
    let outcome = work(&show)?;
    bar.finish_and_clear();
    Ok(outcome)
}

fn tell(outcome: &Outcome, written: &str) -> ExitCode {
    let found =
        if outcome.before > 0 { format!(", {} found", outcome.before) } else { String::new() };
    complain(&format!("{} runs made{found}; {written}", outcome.finished));
    for (path, error) in &outcome.failed {
        complain(&format!("{} failed: {error}", path.display()));
    }
    if outcome.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// What may differ: true values, best utility in ranges of the front, hypervolume as a share.
const TOLERANCES: [f64; 3] = [1e-6, 0.005, 0.01];

fn check(arguments: CheckArguments) -> Result<ExitCode, Error> {
    let problems = Some(arguments.problems);
    let settings = Settings { problems, ..Settings::usual(&arguments.family)? };
    let instances = settings.instances(&arguments.instances.0)?;
    let mut worst = [0.0_f64; 3];
    let mut good = true;
    for found in deviations(&instances, &arguments.facts)? {
        let found_here = [found.values, found.utility, found.hypervolume].map(f64::abs);
        if found_here.iter().zip(TOLERANCES).any(|(value, most)| *value > most) {
            good = false;
            complain(&format!("instance {} is off: {found_here:?}", found.instance));
        }
        worst = std::array::from_fn(|i| worst[i].max(found_here[i]));
    }
    complain(&format!("{} instances, largest differences (and what is allowed):", instances.len()));
    let names =
        ["true values", "best expected utility, relative to the range", "hypervolume, relative"];
    for ((name, worst), most) in names.iter().zip(worst).zip(TOLERANCES) {
        complain(&format!("  {name}: {worst:.2e} ({most:.0e})"));
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
