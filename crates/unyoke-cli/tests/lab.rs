//! The lab as a user runs it: killed, resumed, split, with one thread or two.
#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Three instances, two algorithms, a small budget.
fn lab(out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_unyoke"));
    command.args(["lab", "run", "--family", "lengthscales", "--instances", "0-2"]);
    command.args(["--algorithms", "c-mokg,makg", "--max-cost", "72", "--out"]).arg(out).args(more);
    command
}

fn succeeds(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn runs(out: &Path) -> Vec<PathBuf> {
    let folders = ["c-mokg", "makg"].map(|name| out.join("runs/lengthscales").join(name));
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    let files = files.map(|file| file.unwrap().path());
    let is_run = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "csv");
    let mut files: Vec<PathBuf> = files.filter(is_run).collect();
    files.sort();
    files
}

/// Everything in the files of runs but the times, which no two runs share.
fn numbers(out: &Path) -> Vec<Vec<String>> {
    let timeless = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).unwrap();
        let line = |line: &str| line.split(',').take(11).collect::<Vec<_>>().join(",");
        text.lines().map(line).collect::<Vec<String>>()
    };
    runs(out).iter().map(timeless).collect()
}

#[test]
fn a_killed_lab_goes_on_where_it_was_and_ends_like_an_unbroken_one() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, broken) = (folder.path().join("whole"), folder.path().join("broken"));
    succeeds(&mut lab(&whole, &["--threads", "1"]));
    assert_eq!(runs(&whole).len(), 6);

    let mut child = lab(&broken, &["--threads", "2"]).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while runs(&broken).len() < 2 && begun.elapsed() < Duration::from_secs(300) {
        assert!(child.try_wait().unwrap().is_none(), "it must be killed in the middle");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let saved = runs(&broken);
    assert!((2..6).contains(&saved.len()), "{saved:?}");
    let times = |path: &PathBuf| std::fs::metadata(path).unwrap().modified().unwrap();
    let before: Vec<_> = saved.iter().map(times).collect();

    let output = succeeds(&mut lab(&broken, &["--threads", "2"]));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(&format!("{} found", saved.len())), "{said}");
    assert_eq!(saved.iter().map(times).collect::<Vec<_>>(), before, "nothing is repeated");
    assert_eq!(numbers(&whole), numbers(&broken), "one thread or two, broken or whole");
    let summary = |out: &Path| std::fs::read_to_string(out.join("summary.csv")).unwrap();
    assert_eq!(summary(&whole), summary(&broken));
    assert!(
        summary(&whole).starts_with("family,algorithm,metric,cost,mean,standard_error,instances\n")
    );
}

#[test]
fn figures_and_report_of_a_small_lab_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let unyoke = || Command::new(env!("CARGO_BIN_EXE_unyoke"));
    for family in ["lengthscales", "branin-currin"] {
        let mut run = unyoke();
        run.args(["lab", "run", "--family", family, "--instances", "0-1", "--max-cost", "68"]);
        succeeds(run.args(["--algorithms", "c-mokg,c-mokg-random,parego", "--out"]).arg(out));
    }
    succeeds(unyoke().args(["lab", "figures"]).arg(out));
    for name in [
        "bayesian-regret",
        "hypervolume-regret",
        "expectation-against-random-lengthscales",
        "expectation-against-random-branin-currin",
        "problem-lengthscales",
        "problem-branin-currin",
        "length-scale-priors",
        "time-per-suggestion",
    ] {
        let file = |ending: &str| out.join("figures").join(format!("{name}.{ending}"));
        assert!(std::fs::read(file("png")).unwrap().starts_with(b"\x89PNG"), "{name}");
        assert!(std::fs::read_to_string(file("svg")).unwrap().starts_with("<svg"), "{name}");
    }
    succeeds(unyoke().args(["lab", "report"]).arg(out));
    let page = std::fs::read_to_string(out.join("report.html")).unwrap();
    assert!(page.contains("C-MOKG") && page.contains("branin-currin") && page.contains("<svg"));
    assert!(!page.contains("src=\"http") && !page.contains("href=\"http"), "nothing is fetched");
    let nothing = unyoke().args(["lab", "report", "nowhere"]).output().unwrap();
    let said = String::from_utf8_lossy(&nothing.stderr).into_owned();
    assert!(!nothing.status.success() && said.contains("no finished runs"), "{said}");
}

#[test]
fn shards_make_up_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let less = ["--instances", "0", "--max-cost", "67", "--algorithms", "c-mokg,makg"];
    let shard = |part: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unyoke"));
        command.args(["lab", "run", "--family", "lengthscales", "--shard", part, "--out"]);
        succeeds(command.arg(out).args(less));
        runs(out).len()
    };
    assert_eq!([shard("1/2"), shard("2/2"), shard("1/1")], [1, 2, 2]);
}

#[test]
fn mistakes_are_told_and_change_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let refused = |more: &[&str], expected: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unyoke"));
        command.args(["lab", "run", "--family", "lengthscales", "--instances", "0", "--out"]);
        let output = command.arg(&out).args(more).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(expected), "{more:?}: {said}");
    };
    refused(&["--costs", "1"], "needs 2 positive numbers");
    refused(&["--costs", "1,-1"], "needs 2 positive numbers");
    refused(&["--algorithms", "c-mogk"], "did you mean");
    refused(&["--shard", "3/2"], "i from 1 to n");
    refused(&["--problems", "/nowhere/at/all.json"], "/nowhere/at/all.json");
    refused(&["--max-cost", "nan"], "must be positive");
    assert!(!out.exists(), "nothing was begun");
    succeeds(&mut lab(&out, &["--shard", "1/100"]));
    refused(&["--seed", "7", "--max-cost", "72"], "seed 0, not 7");
}

#[test]
fn a_suite_writes_tables_and_figures_and_goes_on_where_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path();
    let suite = |against: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_unyoke"));
        command.args([
            "lab",
            "suite",
            "--problems",
            "branin-currin,disc-brake",
            "--instances",
            "0",
        ]);
        command.args(["--algorithms", "sobol,parego", "--budget", "0.2", "--threads", "2"]);
        command.args(["--against", against, "--out"]).arg(out);
        command
    };
    let refused = suite("c-mokg").output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && said.contains("not among the algorithms"), "{said}");

    let said = succeeds(&mut suite("parego")).stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("disc-brake: parego is not applicable"), "{said}");
    assert!(said.contains("3 runs made"), "{said}");
    let page = std::fs::read_to_string(out.join("comparison.md")).unwrap();
    assert!(page.contains("## Bayesian regret, share of the range at the end"), "{page}");
    for name in ["comparison.csv", "verdicts.csv", "figures/suite-hypervolume-regret.png"] {
        assert!(out.join(name).exists(), "{name}");
    }
    let said = succeeds(&mut suite("sobol")).stderr;
    assert!(String::from_utf8_lossy(&said).contains("0 runs made, 3 found"));
}
