//! The study files of `docs/problems.md`, each checked by the program, and what the page says that the
//! program prints.
//!
//! Sessions run with the small simulators in `problems/`. Of a line in the page, `…` stands for
//! anything; a line of `…` alone, and lines that are not shown, may be any number. How long commands took is not compared.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;

use place::Place;

const PAGE: &str = include_str!("../../../docs/problems.md");

/// The simulators.
const SCRIPTS: [(&str, &str); 8] = [
    ("wing.py", include_str!("problems/wing.py")),
    ("panels.py", include_str!("problems/panels.py")),
    ("cfd.py", include_str!("problems/cfd.py")),
    ("meshed.py", include_str!("problems/meshed.py")),
    ("tunnel.py", include_str!("problems/tunnel.py")),
    ("stress.py", include_str!("problems/stress.py")),
    ("acoustics.py", include_str!("problems/acoustics.py")),
    ("flutter.py", include_str!("problems/flutter.py")),
];

/// Less search than usual, so that the sessions take seconds.
const EFFORT: &str = "
[engine]
weights = 8
search = { raw = 32, restarts = 2, iterations = 15 }
discretisation = { sobol = { points = 40 } }
front = { population = 32, generations = 20 }
";

/// The blocks in this language of a text.
fn blocks<'t>(text: &'t str, language: &str) -> Vec<&'t str> {
    let begin = format!("```{language}\n");
    text.split(&begin).skip(1).map(|rest| rest.split_once("```").unwrap().0).collect()
}

/// A section of the page.
fn section(heading: &str) -> &'static str {
    let begin = format!("\n## {heading}\n");
    let rest = PAGE.split_once(&begin).unwrap_or_else(|| panic!("no section {heading:?}")).1;
    rest.split("\n## ").next().unwrap()
}

/// A block with the parts of the first one that it lacks.
fn completed(block: &str) -> String {
    let (parameters, objective) = blocks(PAGE, "toml")[0].split_once("[objectives").unwrap();
    let mut text = block.to_owned();
    if !block.contains("[parameters.") {
        text.push_str(&format!("\n{parameters}"));
    }
    if !block.contains("lift") && !block.contains("strength") {
        text.push_str(&format!("\n[objectives{objective}"));
    }
    text
}

/// A study of the first file in a section, with the simulators beside it.
fn study(heading: &str, settings: &str) -> Place {
    let place = Place::new("");
    for (name, text) in SCRIPTS {
        place.write(name, text);
    }
    let block = blocks(section(heading), "toml")[0];
    place.write("study.toml", &format!("{settings}{}{EFFORT}", completed(block)));
    place
}

/// What these commands print, each after its own line.
fn session(place: &Place, commands: &[&[&str]]) -> String {
    let mut said = String::new();
    for command in commands {
        let output = place.run(command);
        said += &format!("$ unyoke {}\n", command.join(" "));
        said += &place::stderr(&output);
        said += &String::from_utf8(output.stdout).unwrap();
    }
    said
}

/// Whether a line of the page stands for one that was printed.
fn stands_for(shown: &str, printed: &str) -> bool {
    let untimed = |line: &str| line.split_once(" after ").map_or(line, |(what, _)| what).to_owned();
    let (shown, printed) = (untimed(shown), untimed(printed));
    let mut parts = shown.trim_end().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.trim_end().strip_prefix(first) else { return false };
    let parts: Vec<&str> = parts.collect();
    for part in &parts {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.is_empty() || parts.last().is_some_and(|last| last.is_empty())
}

/// Every line of a block was printed, in this order.
fn assert_printed(block: &str, printed: &str) {
    let mut lines = printed.lines();
    for shown in block.lines().filter(|line| line.trim() != "…") {
        let found = lines.any(|line| stands_for(shown, line));
        assert!(found, "the page says\n{shown}\nbut what is printed is\n{printed}");
    }
}

/// The blocks of a section, each compared with what its session prints.
fn assert_section(heading: &str, sessions: &[String]) {
    let shown = blocks(section(heading), "text");
    assert_eq!(shown.len(), sessions.len(), "{heading}");
    for (block, printed) in shown.iter().zip(sessions) {
        assert_printed(block, printed);
    }
}

const RUN: &[&str] = &["run", "--no-report"];

/// The one block of a section, compared with a run of its study.
fn assert_run(heading: &str, settings: &str) {
    assert_section(heading, &[session(&study(heading, settings), &[RUN])]);
}

#[test]
fn every_study_file_on_the_page_is_valid() {
    let place = Place::new("");
    assert!(blocks(PAGE, "toml").len() >= 10, "the blocks were not found");
    for block in blocks(PAGE, "toml") {
        place.write("study.toml", &completed(block));
        let printed = place.run(&["check"]);
        assert!(printed.status.success(), "{block}\n{}", place::stderr(&printed));
    }
}

#[test]
fn several_metrics_of_one_run_are_printed_so() {
    assert_run("One run gives several metrics", "[budget]\ncost = 16\n[initial]\ndesigns = 2\n");
}

#[test]
fn cheap_and_full_measurements_are_printed_so() {
    let settings = "[budget]\ncost = 27\n[initial]\ndesigns = 2\n";
    assert_run("The same output, cheap or in full", settings);
}

#[test]
fn standard_errors_are_printed_so() {
    assert_run("Standard errors", "[budget]\ncost = 2\n[initial]\ndesigns = 2\n");
}

#[test]
fn constraints_are_printed_so() {
    assert_run("Constraints", "[budget]\ncost = 36\n[initial]\ndesigns = 2\n");
}

#[test]
fn failures_are_printed_so() {
    let heading = "Runs that fail";
    let settings = "[budget]\ncost = 46\n[initial]\ndesigns = 4\n";
    let meshed = study(heading, settings);
    fs::rename(meshed.path("meshed.py"), meshed.path("cfd.py")).unwrap();
    let failing = session(&meshed, &[RUN]);

    let broken = study(heading, settings);
    let text = fs::read_to_string(broken.path("study.toml")).unwrap();
    let misspelt = text.replace("cfd.py", "cdf.py");
    assert_ne!(misspelt, text);
    broken.write("study.toml", &misspelt);
    let stopped = session(&broken, &[RUN]);
    broken.write("study.toml", &text.replace("cost = 46", "cost = 26"));
    let retried = session(&broken, &[&["retry"], &["run"]]);
    assert_section(heading, &[failing, stopped, retried]);
}

#[test]
fn limits_are_printed_so() {
    assert_run("Limits between parameters", "[budget]\ncost = 4\n[initial]\ndesigns = 2\n");
}

#[test]
fn formulas_are_printed_so() {
    assert_run("Outputs that are formulas", "[budget]\ncost = 4\n[initial]\ndesigns = 2\n");
}

#[test]
fn costs_are_printed_so() {
    let place = study("Costs", "[budget]\ncost = 50\n[initial]\ndesigns = 2\n");
    let printed = session(&place, &[RUN, &["status"]]);
    // What is learned from time differs from run to run.
    let unnumbered = |text: &str| {
        let word = |word: &str| if word.parse::<f64>().is_ok() { "#" } else { word }.to_owned();
        let line = |line: &str| line.split_whitespace().map(word).collect::<Vec<_>>().join(" ");
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    let [block] = blocks(section("Costs"), "text")[..] else { panic!("one block") };
    assert_printed(&unnumbered(block), &unnumbered(&printed));
}

#[test]
fn designs_in_steps_and_what_was_made_instead_are_printed_so() {
    let (steps, made) = ("Steps, digits, ordered choices", "What really was made");
    let place = study(steps, "[budget]\ncost = 20\n");
    assert_section(steps, &[session(&place, &[&["ask"]])]);
    let tell = ["tell", "0", "41.5", "--at", "temperature=83", "--at", "finish=plain"];
    assert_section(made, &[session(&place, &[&tell, &["export"]])]);
}

#[test]
fn outputs_on_a_log_scale_are_printed_so() {
    let settings = "[budget]\ncost = 30\n[initial]\ndesigns = 2\n";
    assert_run("Positive outputs on a log scale", settings);
}

#[test]
fn a_line_stands_for_what_was_printed_but_for_times_and_omissions() {
    assert!(stands_for("  1  f = 2 after 384ms", "  1  f = 2 after 1s 200ms "));
    assert!(stands_for("evaluation 0: failed: …", "evaluation 0: failed: exit code 2"));
    assert!(stands_for("a (…/stderr):", "a (/tmp/x/stderr):"));
    assert!(!stands_for("  1  f = 2 after 384ms", "  1  f = 2.5 after 384ms"));
    assert!(!stands_for("a", "a b"));
    assert!(!stands_for("a …b", "a b c"));
}
