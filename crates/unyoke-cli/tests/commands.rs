//! The commands beside `run`, as a user types them: results, exit codes and JSON.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::io::Write;
use std::process::Stdio;

use place::{Place, TWO};
use serde_json::Value;

/// Without commands: values are told by hand.
const BY_HAND: &str = "
[budget]
cost = 12
[initial]
designs = 2
[parameters.x]
low = 0
high = 1
[parameters.kind]
choices = [\"oak\", \"steel\"]
[objectives.mass]
goal = \"minimise\"
cost = 1
[objectives.drag]
goal = \"maximise\"
cost = 4
";

#[test]
fn a_study_can_be_made_by_hand() {
    let place = Place::new(BY_HAND);
    for _ in 0..2 {
        let asked = place.json(&["ask"]);
        let evaluation = asked[0]["evaluation"].to_string();
        assert!(asked[0]["design"]["x"].is_number());
        let told = place.json(&["tell", &evaluation, "-2.5"]);
        assert_eq!(told["status"], "completed");
    }
    let rows = place.evaluations();
    assert!(rows.iter().all(|row| row[&row["measurement"]] == "-2.5"), "{rows:?}");
    assert!(place.text(&["ask"]).contains("then: unyoke tell 2 VALUE"));
    place.text(&["tell", "2", "--failed", "it broke"]);
    place.text(&["ask"]);
    place.text(&["tell", "3", "--withdraw"]);
    let statuses: Vec<String> =
        place.evaluations().into_iter().map(|row| row["status"].clone()).collect();
    assert_eq!(statuses, ["completed", "completed", "failed", "withdrawn"]);
    assert_eq!(place.spent(), 6.0, "1 and 4, and 1 for the failure");

    assert!(
        place
            .fails(&["tell", "0", "1"], 1)
            .contains("evaluation 0 is already recorded as completed")
    );
    assert!(place.fails(&["tell", "99", "1"], 1).contains("no evaluation 99"));
    assert!(place.fails(&["tell", "1", "nan"], 1).contains("--failed"));
    let said = place.fails(&["run"], 1);
    assert!(
        said.contains("no measurement in study.toml has a command") && said.contains("unyoke ask")
    );
}

#[test]
fn what_was_asked_for_by_hand_is_left_to_the_hand() {
    let place = Place::new(TWO);
    place.text(&["ask"]);
    let done = place.json(&["run", "--no-report"]);
    assert_eq!((done["spent"].as_f64(), done["pending"].as_u64()), (Some(17.0), Some(1)));
    assert_eq!(place.starts().get(&0), None);
    let status = place.text(&["status"]);
    assert!(
        status.contains("asked for by hand; record its result: unyoke tell 0 VALUE"),
        "{status}"
    );
    place.text(&["tell", "0", "0.5"]);
    assert_eq!(place.spent(), 18.0);
}

#[test]
fn nothing_beyond_the_budget_is_asked_for() {
    let place = Place::new(BY_HAND);
    let asked = place.json(&["ask", "--count", "100"]);
    let prices: f64 =
        asked.as_array().unwrap().iter().map(|one| one["cost"].as_f64().unwrap()).sum();
    assert_eq!(prices, 12.0);
    assert!(place.fails(&["ask"], 1).contains("budget"));
}

#[test]
fn values_are_imported_and_blanks_are_not() {
    let place = Place::new(BY_HAND);
    place.write("old.csv", "kind, x, mass, drag\noak,0.5,1.25,\nsteel,0.25,,2\noak,1,3,4\n");
    assert_eq!(place.json(&["import", "old.csv"])["imported"], 4);
    let again = place.json(&["import", "old.csv"]);
    assert_eq!((&again["imported"], &again["known"]), (&0.into(), &4.into()));
    let designs = place.text(&["export", "--as", "designs"]);
    assert_eq!(designs.trim(), "x,kind,mass,drag\n0.5,oak,1.25,\n0.25,steel,,2\n1.0,oak,3,4");
    place.write("copy.csv", &designs);
    assert_eq!(place.json(&["import", "copy.csv"])["known"], 4);
    assert_eq!(place.spent(), 0.0, "what was measured before is not paid for again");
}

#[test]
fn mistakes_in_a_table_are_told_row_by_row() {
    let place = Place::new(BY_HAND);
    place.write(
        "bad.csv",
        "x,kind,mass\n0.5,oak,1\nzero,oak,1\n0.5,pine,1\n0.5,oak,1e999\n0.5\n,oak,1\n",
    );
    let said = place.fails(&["import", "bad.csv"], 1);
    for words in [
        "bad.csv:3: x is \"zero\", but must be a number",
        "bad.csv:4: kind is",
        "bad.csv:5: mass is inf",
        "bad.csv:6:",
        "bad.csv:7: x is blank",
        "5 mistakes, nothing was imported",
    ] {
        assert!(said.contains(words), "{words:?} is missing:\n{said}");
    }
    assert!(place.fails(&["status"], 1).contains("no study"));
    assert_eq!(place.json(&["import", "bad.csv", "--skip-bad"])["imported"], 1);
    place.write("columns.csv", "x,kin,mass\n");
    let said = place.fails(&["import", "columns.csv"], 1);
    assert!(said.contains("is it \"kin\"?"), "{said}");
    assert!(said.contains("no column for the parameter \"kind\""), "{said}");
    place.fails(&["import", "missing.csv"], 1);
}

#[test]
fn messages_say_what_would_help() {
    let place = Place::new(TWO);
    let said = place.fails(&["queue", "width=0.3"], 1);
    assert!(said.contains("no parameter is called \"width\"; there are x"), "{said}");
    assert!(place.fails(&["ask", "--count", "0"], 2).contains("--count"));
    assert!(place.fails(&["run", "--cost", "-5"], 2).contains("must be a positive number"));
    place.text(&["run", "--no-report"]);
    let status = place.text(&["status"]);
    assert!(
        status.contains("nothing more fits into the budget: 0 is left, and the cheapest, mass"),
        "{status}"
    );
    assert!(place.fails(&["ask"], 1).contains("nothing more fits into the budget"));
    let said = place.text(&["confirm"]);
    let is_told =
        |said: &str| said.contains("nothing more fits into the budget: spent 18 of 18, with 0");
    assert!(is_told(&said) || said.contains("nothing to confirm: spent"), "{said}");
    assert!(!said.contains("confirmed what fits"), "{said}");
    let said = place.fails(&["tell", "0", "-3.25±0.5"], 1);
    assert!(said.contains("`unyoke tell --correct 0 -3.25±0.5` replaces that"), "{said}");
}

#[test]
fn predictions_and_reasons_are_shown() {
    let place = Place::new(TWO);
    assert!(place.fails(&["front"], 1).contains("no study"));
    place.text(&["ask"]);
    assert!(place.fails(&["front"], 1).contains("no values yet"));
    assert!(place.text(&["explain"]).contains("part of the initial design"));
    place.text(&["run", "--no-report"]);

    let front = place.json(&["front", "--points", "3"]);
    let points = front["points"].as_array().unwrap();
    assert!((1..=3).contains(&points.len()));
    assert!(points[0]["outputs"]["mass"]["sd"].is_number());
    let best = place.json(&["front", "--weights", "0.5,0.5"]);
    assert_eq!(best["points"].as_array().unwrap().len(), 1);
    assert!(place.fails(&["front", "--weights", "1"], 1).contains("weights"));

    let next = place.json(&["explain"]);
    assert_eq!((next["options"].as_array().unwrap().len(), &next["possible"]), (2, &false.into()));
    assert!(place.text(&["explain"]).contains("nothing more fits into the budget"));
    let there = place.json(&["explain", "--at", "x=0.5", "--at", "x=1"]);
    assert!(there[0]["outputs"]["drag"]["mean"].is_number());
    assert!(there[1]["options"][1]["gain"].is_number());
    assert!(there[0]["range"].as_f64().unwrap() > 0.0);
    assert_eq!(there[0]["range"], next["prospect"]["range"], "gains have one unit");
    let said = place.text(&["explain", "--at", "x=0.5"]);
    assert!(said.contains("gain, % of the front's range"), "{said}");
    assert!(place.fails(&["explain", "--at", "y=0.5"], 1).contains("\"y\""));
    assert!(place.text(&["explain"]).contains("break-even cost"));

    let report = place.json(&["report", "--out", "page.html"]);
    assert_eq!(report["report"], "page.html");
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    for words in ["Trade-offs", "What each parameter does", "Evaluations", "What to evaluate next"]
    {
        assert!(page.contains(&format!("<h2>{words}</h2>")), "{words}");
    }
}

#[test]
fn run_front_and_report_show_the_same_designs() {
    let place = Place::new(TWO);
    let run = place.json(&["run"]);
    let front = place.json(&["front"]);
    assert_eq!(run["front"], front);
    let page = fs::read_to_string(place.path("study.html")).unwrap();
    let rows = page.split("<tr ").filter_map(|row| row.split('>').next());
    let rows = rows.filter(|row| row.contains("data-row=\"p")).count();
    assert_eq!(rows, front["points"].as_array().unwrap().len());
    assert!(rows > 1, "{rows}");
}

#[test]
fn a_study_file_is_checked_with_all_its_mistakes() {
    let place = Place::new(TWO);
    let said = place.text(&["check"]);
    assert!(said.contains("1 parameter, 2 objectives, 2 measurements, a budget of 18"), "{said}");
    assert!(said.contains("initial design: 2 designs, 10 of 18"), "{said}");
    assert_eq!(place.json(&["check"])["objectives"][1], "drag");
    place.write("bad.toml", &TWO.replace("{x}", "{y}").replace("minimise", "minimze"));
    let said = place.fails(&["check", "bad.toml"], 3);
    assert!(said.contains("there are 4 mistakes in bad.toml"), "{said}");
    assert!(said.contains("command = [") && said.contains("did you mean"), "{said}");
    let listed = place.run(&["check", "bad.toml", "--json"]);
    assert_eq!(listed.status.code(), Some(3));
    let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["mistakes"].as_array().unwrap().len(), 4);
    assert!(listed["mistakes"][0]["line"].is_number());
    place.write("lost.toml", &TWO.replace("/bin/sh", "no-such-shell"));
    assert!(place.text(&["check", "lost.toml"]).contains("\"no-such-shell\" is not found"));
    for command in ["run", "ask", "status", "front", "explain", "report", "export"] {
        place.fails(&[command, "bad.toml"], 3);
    }
    assert!(place.fails(&["run", "missing.toml"], 3).contains("unyoke init"));
}

#[test]
fn another_problem_is_refused_and_another_price_taken_over() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "5"]);
    let text = fs::read_to_string(place.path("study.toml")).unwrap();
    place.write("study.toml", &text.replace("cost = 4", "cost = 2"));
    place.text(&["run", "--no-report", "--cost", "8"]);
    let costs: Vec<String> =
        place.evaluations().into_iter().map(|row| row["cost"].clone()).collect();
    assert!(costs.contains(&"4".to_owned()) && costs.contains(&"2".to_owned()), "{costs:?}");
    place.write("study.toml", &text.replace("high = 1", "high = 2"));
    for command in ["run", "check", "status"] {
        assert!(place.fails(&[command], 3).contains("parameter \"x\" high from"));
    }
    assert!(place.text(&["export", "--as", "designs"]).contains("x,mass,drag"));
}

#[test]
fn what_is_wrong_with_the_store_has_a_code_of_its_own() {
    let place = Place::new(TWO);
    place
        .write("study.db", "this is no database, and a little longer than a header of one is.....");
    assert!(place.fails(&["run"], 4).contains("is not a study"));
    place.write(
        "far.toml",
        &format!("[study]\nstore = \"postgres://nobody@127.0.0.1:1/x?study=s\"\n{TWO}"),
    );
    assert!(place.fails(&["status", "far.toml"], 4).contains("cannot be reached"));
    place.write("odd.toml", &format!("[study]\nstore = \"mysql://x\"\n{TWO}"));
    assert!(place.fails(&["status", "odd.toml"], 3).contains("only postgres://"));
}

#[test]
fn results_of_a_deleted_study_are_not_taken_for_new_ones() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "5"]);
    fs::remove_file(place.path("study.db")).unwrap();
    let said = place.fails(&["run", "--no-report"], 1);
    assert!(said.contains("study.runs holds attempts of another study"), "{said}");
}

#[test]
fn wrong_arguments_have_code_2() {
    let place = Place::new(TWO);
    for arguments in
        [&["fly"][..], &["run", "--slots", "0"], &["tell"], &["run", "--cost", "-1"], &[]]
    {
        place.fails(arguments, 2);
    }
    assert!(place.text(&["run", "--help"]).contains("Examples:"));
}

#[test]
fn a_study_file_is_written_from_answers() {
    let place = Place::new(TWO);
    let init = |name: &str, answers: &str| {
        let mut command = place.command(&["init", name]);
        let mut child = command
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // It may end before it has read all answers.
        let _ = child.stdin.take().unwrap().write_all(answers.as_bytes());
        child.wait().unwrap().code()
    };
    let answers = "my beam\n50\nlength 0.1 2.0 log\nlayers 1 8 integer\nkind oak,steel\n\n\
                   mass minimise 1 echo {length}\ndrag maximise 4\n\n";
    assert_eq!(init("beam.toml", answers), Some(0));
    let checked = place.json(&["check", "beam.toml"]);
    assert_eq!(checked["parameters"], serde_json::json!(["length", "layers", "kind"]));
    assert_eq!(checked["without_command"], serde_json::json!(["drag"]));
    assert_eq!(init("beam.toml", answers), Some(1), "it exists");
    let mistakes = "\nmuch\n50\nx 2 1\nx 1\n\nx 0 1\n\nf minimse 1\n\n\
                    f minimise 1 sh -c 'echo {x}'\n\n";
    assert_eq!(init("again.toml", mistakes), Some(0), "each question is asked again");
    let text = fs::read_to_string(place.path("again.toml")).unwrap();
    assert!(text.contains("command = [\"sh\", \"-c\", \"echo {x}\"]"), "{text}");
    assert_eq!(init("bad.toml", "\n\nx 0 1\n"), Some(1), "there is no objective");
    let kept = fs::read_to_string(place.path("bad.toml")).unwrap();
    assert!(kept.contains("[parameters.\"x\"]"), "answers are not lost: {kept}");
    let unknown =
        "\n\nlength 0 1\n\nmass minimise 1 echo {lenght}\nmass minimise 1 echo {length}\n\n";
    assert_eq!(init("unknown.toml", unknown), Some(0), "a mistake shows at once");
    place.text(&["check", "unknown.toml"]);
    let back = "beam\nback\nwing\n50\nx 0 1\nback\ny 0 2\n\nback\nwall thickness 1 5 log\n\n\
                f minimise 1\n\n";
    assert_eq!(init("back.toml", back), Some(0));
    let text = fs::read_to_string(place.path("back.toml")).unwrap();
    assert!(text.contains("\"wing\"") && !text.contains("\"beam\""), "{text}");
    let checked = place.json(&["check", "back.toml"]);
    assert_eq!(checked["parameters"], serde_json::json!(["y", "wall thickness"]));

    place.text(&["init", "--template", "template.toml"]);
    place.text(&["check", "template.toml"]);
}

#[test]
fn editors_and_shells_are_served() {
    let place = Place::new(TWO);
    let schema: Value = serde_json::from_str(&place.text(&["schema"])).unwrap();
    assert_eq!(schema["title"], "Study file of Unyoke");
    assert!(place.text(&["completions", "bash"]).contains("_unyoke"));
}
