//! Whole runs with small commands, well-behaved and not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::io::{BufRead, BufReader};
use std::thread;

use place::{Place, TWO, signal, stderr};

/// Every evaluation ran once and has its value, and the budget is used up.
fn assert_complete(place: &Place, budget: f64) {
    assert_eq!(place.spent(), budget);
    let evaluations = place.evaluations();
    assert!(evaluations.iter().all(|row| row["status"] == "completed"), "{evaluations:?}");
    assert_eq!(place.starts().len(), evaluations.len());
    assert!(place.starts().values().all(|count| *count == 1), "{:?}", place.starts());
}

#[test]
fn a_run_spends_its_budget_and_shows_the_front() {
    let place = Place::new(TWO);
    let output = place.run(&["run"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    assert!(text.contains("spent 18 of 18"), "{text}");
    assert!(text.contains("mass (minimise)") && text.contains("study.html"), "{text}");
    assert!(stderr(&output).contains("part of the initial design"), "{}", stderr(&output));
    assert_complete(&place, 18.0);
    let page = fs::read_to_string(place.path("study.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("<svg"));

    let again = place.json(&["run"]);
    assert_eq!((again["spent"].as_f64(), again["finished"].as_u64()), (Some(18.0), Some(0)));
    let more = place.json(&["run", "--cost", "19"]);
    assert_eq!((more["spent"].as_f64(), more["finished"].as_u64()), (Some(19.0), Some(1)));
}

#[test]
fn any_number_of_slots_spends_the_same() {
    for slots in ["1", "2", "4"] {
        let place = Place::new(TWO);
        place.text(&["run", "--slots", slots, "--no-report"]);
        assert_complete(&place, 18.0);
    }
}

#[test]
fn one_slot_writes_the_same_journal_twice() {
    let journal = || {
        let place = Place::new(TWO);
        place.text(&["run", "--no-report"]);
        place.journal()
    };
    let first = journal();
    assert!(first.len() > 10);
    assert_eq!(journal(), first);
}

#[test]
fn eight_programs_share_one_study() {
    let place = Place::new(TWO);
    let programs: Vec<_> =
        (0..8).map(|_| place.spawn(&["run", "--no-report", "--slots", "2"])).collect();
    for program in programs {
        let output = program.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
    }
    place.text(&["run", "--no-report"]);
    assert_complete(&place, 18.0);
}

#[test]
fn twelve_programs_compute_each_suggestion_once() {
    let place = Place::new(TWO);
    // The initial evaluations need no models.
    place.text(&["run", "--no-report", "--cost", "10"]);
    let arguments = ["run", "--no-report", "--cost", "60", "--json"];
    let programs: Vec<_> = (0..12).map(|_| place.spawn(&arguments)).collect();
    let (mut computed, mut outdated) = (0, 0);
    for program in programs {
        let output = program.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        let done: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        computed += done["suggestions"]["computed"].as_u64().unwrap();
        outdated += done["suggestions"]["outdated"].as_u64().unwrap();
    }
    place.text(&["run", "--no-report", "--cost", "60"]);
    assert_complete(&place, 60.0);
    let searched = place.evaluations().len() as u64 - 4;
    assert!(searched > 8);
    assert_eq!((computed, outdated), (searched, 0));
}

/// One objective for each way to misbehave, each evaluated once.
#[test]
fn commands_that_misbehave_are_failures_with_reasons() {
    let script = |name: &str, text: &str| {
        format!(
            "[objectives.{name}]\ngoal = \"minimise\"\ncost = 1\ntimeout = \"{}\"\n\
             command = [\"/bin/sh\", \"-c\", {text:?}]\n",
            if name == "hangs" { "300ms" } else { "10m" }
        )
    };
    let scripts = [
        script("works", "echo 1"),
        script("fails", "echo 'no such alloy' >&2; exit 3"),
        script("hangs", "exec sleep 1000"),
        script("lies", "echo nan"),
        script("silent", "true"),
        script("talks", "yes | head -c 5000000; echo 2.5"),
    ];
    let counts = "fails = 1, hangs = 1, lies = 1, silent = 1, talks = 1, works = 2";
    let place = Place::new(&format!(
        "[budget]\nevaluations = {{ {counts} }}\n[run]\nslots = 6\n[initial]\ndesigns = 1\n\
         [parameters.x]\nlow = 0\nhigh = 1\n{}",
        scripts.concat()
    ));
    let said = place.fails(&["run", "--no-report"], 1);
    assert!(
        said.contains("fails failed once and never gave a value; no trade-off is known"),
        "{said}"
    );
    let outcome = |name: &str| {
        let rows = place.evaluations();
        let row = rows.iter().find(|row| row["measurement"] == name).unwrap().clone();
        (row["status"].clone(), format!("{}{}", row[name], row["reason"]))
    };
    let expected = [
        ("works", "completed", "1"),
        ("fails", "failed", "exit code 3: no such alloy"),
        ("hangs", "failed", "took longer than 0.3 s"),
        ("lies", "failed", "nan"),
        ("silent", "failed", "printed nothing"),
        ("talks", "completed", "2.5"),
    ];
    for (name, status, words) in expected {
        let (found, text) = outcome(name);
        assert_eq!(found, status, "{name}: {text}");
        assert!(text.contains(words), "{name}: {text}");
    }
}

#[test]
fn a_command_that_never_works_is_tried_three_times() {
    let text = TWO.replace("\"echo\", \"{x}\"", "\"false\"");
    let place = Place::new(&text);
    let said = place.fails(&["run", "--no-report", "--cost", "20"], 1);
    assert!(said.contains("mass failed 3 times and never gave a value; nothing new is"), "{said}");
    let status = place.json(&["status"]);
    assert_eq!(status["measurements"][0]["failed"], 3);
    assert_eq!(status["measurements"][0]["spent"], 3.0);
}

#[test]
fn a_run_that_a_broken_command_ends_says_how_to_continue() {
    let broken = "\"sh\", \"-c\", \"echo no alloy >&2; echo no licence >&2; exit 4\"";
    let place = Place::new(&TWO.replace("\"echo\", \"{x}\"", broken));
    let said = place.fails(&["run", "--no-report", "--cost", "100"], 1);
    let end = &said[said.find("unyoke: ").unwrap()..];
    let lines: Vec<&str> = end.lines().collect();
    assert_eq!(
        lines[0],
        "unyoke: mass failed 3 times and never gave a value; the run was stopped, since no trade-off \
         can be found without it"
    );
    assert_eq!(lines[1], "  last reason: the command failed with exit code 4: no licence");
    assert!(
        lines[2].starts_with("  end of its standard error (") && lines[2].ends_with("stderr):")
    );
    assert_eq!(lines[3..5], ["    no alloy", "    no licence"]);
    assert_eq!(lines[5], "  spent on mass: 3");
    let remedy = "  to continue: fix the command, then run `unyoke retry` and `unyoke run`";
    assert_eq!(lines[6..], [remedy]);
    assert!(place.spent() < 50.0, "the rest of the budget is kept: {}", place.spent());

    place.write("study.toml", &format!("{TWO}{}", place::ENGINE));
    place.text(&["retry"]);
    place.text(&["run", "--no-report", "--cost", "40"]);
    assert_eq!(place.json(&["status"])["measurements"][0]["failed"], 0);
}

#[test]
fn a_failed_attempt_is_made_again_as_often_as_said() {
    // The first attempt of each evaluation fails.
    let text = TWO
        .replace("\"echo\", \"{x}\"", "\"sh\", \"-c\", \"test $UNYOKE_ATTEMPT = 2 && echo {x}\"")
        .replace("cost = 1\n", "cost = 1\nretries = 1\n");
    let place = Place::new(&text);
    let output = place.run(&["run", "--no-report"]);
    assert!(
        stderr(&output).contains("attempt 2, because the last one failed: the command failed with")
    );
    let evaluations = place.evaluations();
    assert!(evaluations.iter().all(|row| row["status"] == "completed"), "{evaluations:?}");
    let starts = place.starts();
    for row in evaluations {
        let times = if row["measurement"] == "mass" { 2 } else { 1 };
        assert_eq!(starts[&row["evaluation"].parse().unwrap()], times);
    }
}

#[test]
fn a_study_of_few_designs_ends_when_all_were_evaluated() {
    let text = TWO.replace("low = 0\nhigh = 1", "type = \"integer\"\nlow = 1\nhigh = 3");
    let place = Place::new(&text);
    let done = place.json(&["run", "--no-report", "--cost", "1000"]);
    assert_eq!(done["ending"], "every design was evaluated");
    assert_complete(&place, 15.0);
}

/// A study whose `mass` waits until somebody opens the gate.
fn gated() -> Place {
    let text = TWO.replace("\"echo\", \"{x}\"", "\"sh\", \"-c\", \"cat gate; echo {x}\"");
    let place = Place::new(&text.replace("cost = 18", "cost = 1"));
    place.gate("gate");
    place
}

fn open_gate(place: &Place) {
    // Blocks until the script is there.
    fs::OpenOptions::new().write(true).open(place.path("gate")).unwrap();
}

#[test]
fn a_killed_run_leaves_its_command_and_the_next_one_waits_for_it() {
    let place = gated();
    let mut first = place.spawn(&["run", "--no-report"]);
    let line = BufReader::new(first.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    assert!(line.contains("mass at x="), "{line}");
    signal(&first, "-KILL");
    first.wait().unwrap();
    let mut second = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(second.stderr.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("resumed"), "{line}");
    open_gate(&place);
    thread::spawn(move || lines.count());
    assert!(second.wait().unwrap().success());
    assert_complete(&place, 1.0);
}

#[test]
fn a_result_that_nobody_waited_for_is_collected() {
    let place = gated();
    let mut first = place.spawn(&["run", "--no-report"]);
    BufReader::new(first.stderr.take().unwrap()).lines().next().unwrap().unwrap();
    signal(&first, "-KILL");
    first.wait().unwrap();
    open_gate(&place);
    // Locked as long as the supervisor lives.
    let lock = fs::File::open(place.path("study.runs/000000/1/lock")).unwrap();
    lock.lock_shared().unwrap();
    let done = place.json(&["run", "--no-report"]);
    assert_eq!(done["finished"], 1);
    assert_complete(&place, 1.0);
}

#[test]
fn interrupted_once_what_runs_is_finished() {
    let place = gated();
    let mut run = place.spawn(&["run", "--no-report", "--cost", "1000"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    signal(&run, "-INT");
    let line = lines.next().unwrap().unwrap();
    assert!(line.contains("nothing new is started; waiting for 1 evaluation"), "{line}");
    open_gate(&place);
    thread::spawn(move || lines.count());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    assert_complete(&place, 1.0);
}

#[test]
fn interrupted_twice_what_runs_is_stopped_and_made_again() {
    let place = gated();
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    lines.next().unwrap().unwrap();
    signal(&run, "-INT");
    assert!(lines.next().unwrap().unwrap().contains("waiting for 1 evaluation"));
    signal(&run, "-INT");
    assert!(lines.next().unwrap().unwrap().contains("stopping 1 evaluation"));
    thread::spawn(move || lines.count());
    assert_eq!(run.wait().unwrap().code(), Some(130));
    let pending = &place.json(&["status"])["pending"];
    assert_eq!((pending.as_array().unwrap().len(), &pending[0]["owner"]), (1, &().into()));

    let again = place.spawn(&["run", "--no-report"]);
    open_gate(&place);
    let output = again.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains("attempt 2"), "{}", stderr(&output));
    assert_eq!((place.spent(), place.starts()[&0]), (1.0, 2));
}

#[test]
fn what_is_withdrawn_while_it_runs_is_stopped_and_not_paid_for() {
    let place = gated();
    let mut run = place.spawn(&["run", "--no-report"]);
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("mass at x="));
    place.text(&["tell", "0", "--withdraw"]);
    // What became free is used for another, which waits at the gate as well.
    let next = lines.find(|line| line.as_ref().unwrap().contains("mass at x=")).unwrap();
    assert!(next.unwrap().trim_start().starts_with('1'));
    thread::spawn(move || lines.count());
    open_gate(&place);
    // The first one may have been at the gate, too, when it was opened.
    while run.try_wait().unwrap().is_none() {
        let gate = fs::OpenOptions::new().read(true).write(true).open(place.path("gate")).unwrap();
        thread::sleep(std::time::Duration::from_millis(20));
        drop(gate);
    }
    assert_eq!(place.spent(), 1.0);
    let statuses: Vec<String> =
        place.evaluations().into_iter().map(|row| row["status"].clone()).collect();
    assert_eq!(statuses, ["withdrawn", "completed"]);
}

#[test]
fn explanations_and_standings_have_the_prices_of_the_file() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "12"]);
    let text = fs::read_to_string(place.path("study.toml")).unwrap();
    place.write("study.toml", &text.replace("cost = 4", "cost = 2"));
    assert_eq!(place.json(&["status"])["measurements"][1]["cost"], 2.0);
    assert_eq!(place.json(&["explain"])["options"][1]["cost"], 2.0);
    assert!(!place.text(&["export", "--as", "journal"]).contains("cost_changed"));
}
