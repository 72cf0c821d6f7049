//! The study file, `study.toml`: what is optimised, how, and which commands measure it.
//!
//! It is read by hand from TOML with places rather than into types, so that all mistakes are found
//! in one go, each with its place. `docs/study-file.md` describes every field.

use std::fs::File;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::DeTable;
use unyoke::{Config, Design, Journal, Mistake, Problem, Stop, Study};
use unyoke_store::Location;

use crate::diagnostic::{Diagnostic, StudyFileError};
use crate::error::{Error, Result};

mod fields;
mod table;
mod parameters;
mod outputs;
mod executors;
mod settings;
mod measurements;
mod places;
mod initial;

pub use executors::{Executor, SchedulerCommands, SlurmResources, Watching};
pub use initial::{InitialPrice, initial_config};
pub use settings::{Budget, MeasurementRun, RunSettings};

use places::Written;
use table::{Findings, Table};

/// Nobody writes a longer one by hand; beyond, it is some other file.
const LONGEST: u64 = 16 << 20;

/// A study file that passed all checks.
///
/// ```
/// use unyoke_run::StudyFile;
///
/// let text = r#"
///     [parameters.length]
///     low = 0.1
///     high = 2.0
///
///     [objectives.mass]
///     direction = "minimise"
///     cost = 1
///     command = ["python3", "mass.py", "{length}"]
/// "#;
/// let file = StudyFile::parse("study.toml", text.as_bytes())?;
/// assert_eq!(file.problem.outputs[0].name, "mass");
///
/// let error = StudyFile::parse("study.toml", text.replace("{length}", "{lenght}").as_bytes());
/// let message = error.unwrap_err().lines();
/// assert!(message.starts_with("study.toml:9:39: "), "{message}");
/// assert!(message.ends_with("(did you mean {length}?)"), "{message}");
/// # Ok::<(), unyoke_run::StudyFileError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct StudyFile {
    /// What to call the study.
    pub name: Option<String>,
    /// From which all random numbers come.
    pub seed: u64,
    /// What is optimised.
    pub problem: Problem,
    /// For parameters that were added to the study, the values that designs had before.
    pub was: Design,
    /// How it is searched.
    pub config: Config,
    /// What may be spent.
    pub budget: Budget,
    /// When to stop before all is spent; never by default.
    pub stop: Option<Stop>,
    /// How evaluations are run.
    pub run: RunSettings,
    /// The folder of the file, absolute; paths in the file start there.
    pub folder: PathBuf,
    /// Where the study is kept.
    pub store: Location,
    /// The folder of its attempts, absolute.
    pub runs: PathBuf,
    source: Source,
}

/// What a program says of a study that it runs, in place of a study file.
#[derive(Debug, Clone, PartialEq)]
pub struct Described {
    /// Where the commands of schedulers run, absolute.
    pub folder: PathBuf,
    /// Where the study is kept.
    pub store: Location,
    /// The folder of its attempts, absolute.
    pub runs: PathBuf,
    /// What may be spent.
    pub budget: Budget,
    /// When to stop before all is spent; never by default.
    pub stop: Option<Stop>,
    /// How evaluations are run.
    pub run: RunSettings,
}

/// What is needed to point at the file later.
#[derive(Debug, Clone, PartialEq)]
struct Source {
    path: PathBuf,
    text: String,
    /// Where each measurement is named.
    measurements: Vec<Range<usize>>,
    /// The settings that it names.
    settings: Vec<String>,
}

/// A commented study file to start from, which passes all checks.
///
/// ```
/// let template = unyoke_run::template();
/// assert!(unyoke_run::StudyFile::parse("study.toml", template.as_bytes()).is_ok());
/// ```
pub fn template() -> String {
    include_str!("study_file/template.toml").to_owned()
}

/// The JSON Schema of study files, with which editors complete and check them.
pub fn schema() -> &'static str {
    include_str!("study_file/schema.json")
}

impl StudyFile {
    /// Reads and checks a file.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let mut bytes = Vec::new();
        let file = File::open(path).map_err(Error::io(path))?;
        file.take(LONGEST + 1).read_to_end(&mut bytes).map_err(Error::io(path))?;
        if bytes.len() as u64 > LONGEST {
            return Err(Error::bad_file(path)("is too long for a study file (over 16 MiB)"));
        }
        Ok(Self::parse(path, &bytes)?)
    }

    /// Checks the content of a file; `path` says where it is, or would be.
    pub fn parse(path: impl AsRef<Path>, bytes: &[u8]) -> Result<Self, StudyFileError> {
        let path = path.as_ref();
        let text =
            decode(bytes).map_err(|(text, one)| StudyFileError::new(path, &text, vec![one]))?;
        let fail = |found| StudyFileError::new(path, text, found);
        let (document, errors) = DeTable::parse_recoverable(text);
        if !errors.is_empty() {
            return Err(fail(errors.iter().map(syntax).collect()));
        }
        let root = Table::root(document.get_ref());
        if root.is_empty() {
            return Err(fail(vec![empty()]));
        }
        let mut found = Findings::new(text);
        let file = read(path, text, &root, &mut found);
        if found.is_empty() { Ok(file) } else { Err(fail(found.into_diagnostics())) }
    }

    /// Fails if a measurement has no command and is not made by hand: somebody may tell its values, but
    /// nothing can run.
    pub fn require_commands(&self) -> Result<(), StudyFileError> {
        let all = self.run.measurements.iter().zip(&self.source.measurements);
        let missing = all.filter(|(run, _)| run.needs_command()).map(|(run, place)| {
            let message = format!("{} needs a command to be run", run.measurement);
            let help = "command = [\"./program\", \"{parameter}\"], or executor = \"hand\"";
            Diagnostic::new(place.clone(), message).label("no command").help(help)
        });
        let missing: Vec<Diagnostic> = missing.collect();
        let Source { path, text, .. } = &self.source;
        if missing.is_empty() { Ok(()) } else { Err(StudyFileError::new(path, text, missing)) }
    }

    /// A study that a program has described instead of a file, to be run as if there were one at `path`.
    pub fn of_program<J: Journal>(path: &Path, study: &Study<J>, described: Described) -> Self {
        let Described { folder, store, runs, budget, stop, run } = described;
        let problem = study.problem().clone();
        let source = Source {
            path: path.to_owned(),
            text: String::new(),
            measurements: vec![0..0; run.measurements.len()],
            settings: vec![],
        };
        Self {
            name: None,
            seed: study.seed(),
            problem,
            was: Design::new(),
            config: study.config().clone(),
            budget,
            stop,
            run,
            folder,
            store,
            runs,
            source,
        }
    }

    /// The file, as it was named.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// Its text.
    pub(crate) fn text(&self) -> &str {
        &self.source.text
    }

    /// How a measurement is made.
    pub fn measurement_run(&self, measurement: &str) -> Option<&MeasurementRun> {
        self.run.measurements.iter().find(|run| run.measurement == measurement)
    }
}

/// The text without a byte order mark; or what can be shown of it, and what is wrong.
fn decode(bytes: &[u8]) -> Result<&str, (String, Diagnostic)> {
    let text = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    std::str::from_utf8(text).map_err(|error| {
        let at = error.valid_up_to();
        let diagnostic = Diagnostic::new(at..at + '\u{fffd}'.len_utf8(), "this is not UTF-8 text")
            .label("a byte that is no character")
            .help(match text {
                [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it looks like UTF-16: save it as UTF-8",
                _ => "save the file as UTF-8",
            });
        (String::from_utf8_lossy(text).into_owned(), diagnostic)
    })
}

fn syntax(error: &toml::de::Error) -> Diagnostic {
    let place = error.span().unwrap_or(0..0);
    let diagnostic = Diagnostic::new(place, error.message()).label("here");
    match error.message() {
        "duplicate key" => diagnostic.help("each name stands for one thing: rename or remove one"),
        _ => diagnostic,
    }
}

fn empty() -> Diagnostic {
    Diagnostic::new(0..0, "the study file is empty")
        .label("nothing here")
        .help("it needs at least one [parameters.NAME] and one [objectives.NAME]")
}

/// All there is, with stand-ins where something is wrong.
fn read(path: &Path, text: &str, root: &Table<'_>, found: &mut Findings) -> StudyFile {
    root.refuse_unknown(fields::FILE, found);
    let folder = folder(path);
    let parameters = parameters::read(root, found);
    let was = parameters::was(root, &parameters, found);
    let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name()).collect();
    let limits = parameters::limits(root, found);
    let outputs = outputs::read(root, &names, found);
    let setting = measurements::Setting { parameters: names, folder: &folder };
    let measurements = measurements::read(root, &outputs, &setting, found);
    let sections = places::Sections {
        outputs: outputs.iter().map(|one| one.section).collect(),
        measurements: measurements.iter().map(|one| one.section).collect(),
    };
    let objectives = outputs.iter().filter(|one| one.section == "objectives");
    let names = settings::Names {
        objectives: objectives.map(|one| one.output.name.as_str()).collect(),
        measurements: measurements.iter().map(|one| one.measurement.name.as_str()).collect(),
    };
    let study = settings::study(root, found);
    let budget = settings::budget(root, &names, found);
    let config = settings::config(root, &names, found);
    let enough = outputs.iter().filter_map(|one| Some((one.output.name.clone(), one.enough?)));
    let config = Config { algorithm: study.algorithm, enough: enough.collect(), ..config };
    let stop = settings::stop(root, &names, &config, found);
    let places = measurements.iter().map(|one| one.place.clone()).collect();
    let runs = measurements.iter().map(|one| one.run.clone()).collect();
    let run = settings::run(root, runs, &budget, found);
    let problem = Problem {
        outputs: outputs.into_iter().map(|one| one.output).collect(),
        measurements: measurements.into_iter().map(|one| one.measurement).collect(),
        parameters,
        limits,
    };
    let source = Source {
        path: path.to_owned(),
        text: text.to_owned(),
        measurements: places,
        settings: settings::named(root),
    };
    check(&config, &Written { problem: &problem, sections: &sections, root }, found);
    StudyFile {
        name: study.name,
        seed: study.seed,
        problem,
        was,
        config,
        budget,
        stop,
        run,
        store: match study.store {
            None => Location::File(beside(path, &folder, "db")),
            Some(Location::File(path)) => Location::File(folder.join(path)),
            Some(Location::Journal(path)) => Location::Journal(folder.join(path)),
            Some(elsewhere) => elsewhere,
        },
        runs: beside(path, &folder, "runs"),
        folder,
        source,
    }
}

/// `study.db` for `study.toml`: files in one folder may be different studies.
fn beside(path: &Path, folder: &Path, extension: &str) -> PathBuf {
    let name = path.file_stem().filter(|name| !name.is_empty());
    folder.join(name.unwrap_or("study".as_ref())).with_added_extension(extension)
}

/// The engine's own checks, each mistake at its place in the file.
fn check(config: &Config, written: &Written<'_>, found: &mut Findings) {
    let problem = written.problem;
    let mistakes =
        [problem.check(), config.check(problem)].into_iter().flat_map(|checked| match checked {
            Err(unyoke::Error::Invalid { mistakes }) => mistakes,
            Err(other) => vec![Mistake { path: String::new(), message: other.to_string() }],
            Ok(()) => vec![],
        });
    for mistake in mistakes {
        if !written.is_noted(&mistake) {
            found.add(written.diagnostic(&mistake));
        }
    }
}

/// The folder of the file, absolute if the system can tell where we are.
fn folder(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

#[cfg(test)]
mod tests;
