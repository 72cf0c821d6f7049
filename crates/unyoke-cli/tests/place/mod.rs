//! A folder with a study and its scripts, and the real program to run there.
//!
//! Scripts write a line to `starts` each time they begin, so that a second run of one would be seen.

#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// Little effort: what is tested is not how good suggestions are.
pub(crate) const ENGINE: &str = "
[engine]
weights = 2
search = { raw = 8, restarts = 1, iterations = 3 }
discretisation = { sobol = { points = 8 } }
front = { population = 8, generations = 3 }
";

/// `mass` costs 1 and is x; `drag` costs 4 and is (1 - x)².
pub(crate) const TWO: &str = "
[budget]
cost = 18
[initial]
designs = 2
[parameters.x]
low = 0
high = 1
[objectives.mass]
goal = \"minimise\"
cost = 1
command = [\"/bin/sh\", \"log.sh\", \"echo\", \"{x}\"]
[objectives.drag]
goal = \"minimise\"
cost = 4
command = [\"/bin/sh\", \"log.sh\", \"awk\", \"BEGIN {{ print (1 - {x}) ^ 2 }}\"]
";

/// Writes down that it begins, then does what its arguments say.
const LOG: &str = "echo \"$UNYOKE_EVALUATION $UNYOKE_ATTEMPT\" >> starts\nexec \"$@\"\n";

/// So much effort that a search does not come to its end.
pub(crate) const ENDLESS_SEARCH: &str = "
[engine]
weights = 2
search = { raw = 1000000, restarts = 1000000, iterations = 1000000 }
discretisation = { sobol = { points = 8 } }
front = { population = 8, generations = 3 }
";

pub(crate) struct Place(TempDir);

impl Place {
    /// A study in `study.toml`, with quick settings.
    pub(crate) fn new(text: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        place.write("study.toml", &format!("{text}{ENGINE}"));
        place.write("log.sh", LOG);
        place
    }

    /// The same with a search that does not end.
    pub(crate) fn with_endless_search(text: &str) -> Self {
        let place = Self::new(text);
        place.write("study.toml", &format!("{text}{ENDLESS_SEARCH}"));
        place
    }

    /// Leaves the folder where it is, for somebody to look at.
    pub(crate) fn keep(self) -> PathBuf {
        self.0.keep()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unyoke"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    /// What a command prints, which must succeed.
    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let all: Vec<&str> = arguments.iter().copied().chain(["--json"]).collect();
        serde_json::from_str(&self.text(&all)).unwrap()
    }

    /// Looks again and again until `is_so`, for minutes if need be.
    pub(crate) fn await_that(&self, what: &str, mut is_so: impl FnMut(&Self) -> bool) {
        let began = std::time::Instant::now();
        while !is_so(self) {
            assert!(began.elapsed().as_secs() < 300, "{what}: not within minutes");
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// What a command complains about, which must end with this code.
    pub(crate) fn fails(&self, arguments: &[&str], code: i32) -> String {
        let output = self.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", stderr(&output));
        stderr(&output)
    }

    /// A run in the background, whose progress can be read.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.command(arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// For each evaluation, how often its command began.
    pub(crate) fn starts(&self) -> BTreeMap<u64, usize> {
        let mut starts = BTreeMap::new();
        for line in fs::read_to_string(self.path("starts")).unwrap_or_default().lines() {
            let evaluation = line.split(' ').next().unwrap().parse().unwrap();
            *starts.entry(evaluation).or_insert(0) += 1;
        }
        starts
    }

    /// The evaluations as the study has them, each a row by the names of its columns.
    pub(crate) fn evaluations(&self) -> Vec<BTreeMap<String, String>> {
        let text = self.text(&["export"]);
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        reader.deserialize().map(|row| row.unwrap()).collect()
    }

    /// The journal, but for the times, which differ from run to run.
    pub(crate) fn journal(&self) -> Vec<Value> {
        let timeless = |line: &str| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            let at = record.as_object_mut().unwrap().remove("at");
            assert!(at.is_some_and(|at| at.is_u64()), "{line}");
            record
        };
        self.text(&["export", "--as", "journal"]).lines().map(timeless).collect()
    }

    pub(crate) fn spent(&self) -> f64 {
        self.json(&["status"])["spent"].as_f64().unwrap()
    }

    /// A named pipe, at which a script waits until somebody opens the other end.
    pub(crate) fn gate(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn signal(child: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// How often the command of an evaluation began.
pub(crate) fn starts_of(place: &Place, evaluation: &str) -> usize {
    place.starts().get(&evaluation.parse().unwrap()).copied().unwrap_or(0)
}
