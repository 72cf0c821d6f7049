//! Studies on a real cluster of one node with Slurm, whatever happens to the program and to Slurm.
//!
//! `cargo xtask clusters` starts the cluster and runs these tests; so does `cargo xtask test`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod cluster;
mod place;

use std::time::{Duration, Instant};

use cluster::{
    Administrator, NodeState, audit, jobs, kill_controller, on_cluster, output_within_minutes,
    set_node, slurm, study, unreliable, written,
};
use place::{Place, stderr};

#[test]
#[ignore = "needs Slurm: cargo xtask clusters"]
fn slurm_runs_sixty_evaluations_six_at_a_time() {
    let place = study(60);
    let began = Instant::now();
    let output = output_within_minutes(&place, place.command(&["run", "--no-report"]));
    assert!(output.status.success(), "{}", stderr(&output));
    println!("60 evaluations in {:.1} s", began.elapsed().as_secs_f64());
    audit(&place, 60);
    let written = written(&place);
    assert!((4..=6).contains(&written.at_once), "{} at once", written.at_once);
    assert!(written.began.values().all(|times| *times == 1), "{:?}", written.began);
}

/// What is done to a study while it runs, and when.
struct Disturbance {
    when: When,
    what: fn(&Place),
}

/// When a run is disturbed, and then killed.
enum When {
    /// A job has just been submitted.
    Submitted,
    /// Two commands have ended.
    Ended,
    /// A job waits for the node.
    Waiting,
}

/// One after the other, each in a run of its own.
const DISTURBANCES: [Disturbance; 10] = [
    Disturbance { when: When::Ended, what: |_| {} },
    Disturbance { when: When::Submitted, what: |_| kill_controller() },
    Disturbance { when: When::Ended, what: |place| drop(slurm("scancel", &[&running(place)])) },
    Disturbance { when: When::Submitted, what: |_| kill_controller() },
    Disturbance { when: When::Ended, what: requeue },
    Disturbance { when: When::Ended, what: |place| set_node(place, NodeState::Drain) },
    Disturbance { when: When::Waiting, what: hold },
    Disturbance { when: When::Waiting, what: |place| set_node(place, NodeState::Resume) },
    Disturbance { when: When::Waiting, what: release },
    Disturbance { when: When::Ended, what: |_| {} },
];

/// A job whose command has begun and not ended.
fn running(place: &Place) -> String {
    place.await_that("a command runs", |place| {
        let written = written(place);
        let is_under_way = |e: &u64| !written.ended.contains_key(e);
        written.began.keys().any(is_under_way) && !jobs("running").is_empty()
    });
    jobs("running").pop().unwrap_or_default()
}

/// Lets a running job begin again, as an administrator could.
fn requeue(place: &Place) {
    let job = running(place);
    slurm("scontrol", &["update", &format!("jobid={job}"), "requeue=1"]);
    slurm("scontrol", &["requeue", &job]);
}

/// Holds the jobs that wait for the node, and looks whether the reason is shown.
fn hold(place: &Place) {
    place.await_that("the reason is shown", |place| {
        jobs("pending").iter().for_each(|job| drop(slurm("scontrol", &["hold", job])));
        place.text(&["status"]).contains("queued (JobHeld")
    });
}

fn release(place: &Place) {
    place.await_that("no job is held", |_| {
        jobs("pending").iter().for_each(|job| drop(slurm("scontrol", &["release", job])));
        !slurm("squeue", &["-h", "-o", "%r"]).contains("JobHeld")
    });
}

/// How many jobs Slurm has accepted, as far as the program knows.
fn accepted(place: &Place) -> usize {
    let folders = |path: std::path::PathBuf| {
        let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
    let attempts = folders(place.path("study.runs")).into_iter().flat_map(folders);
    attempts.filter(|attempt| attempt.join("submitted").exists()).count()
}

/// Jobs of Slurm of which a result may still come. A controller that was killed may believe for minutes that
/// jobs run which have ended.
fn unsettled(place: &Place) -> Vec<String> {
    let is_settled = |name: &&str| {
        let parts: Vec<&str> = name.rsplitn(4, '-').collect();
        let evaluation: u64 = parts[2].parse().unwrap();
        let folder = place.path(&format!("study.runs/{evaluation:06}/{}", parts[1]));
        folder.join("exit.json").exists() || folder.join("dead.json").exists()
    };
    let names = slurm("squeue", &["-h", "--states=pending,running", "-o", "%j"]);
    names.lines().filter(|name| !is_settled(name)).map(str::to_owned).collect()
}

#[test]
#[ignore = "needs Slurm: cargo xtask clusters"]
fn slurm_loses_and_doubles_nothing_when_all_goes_wrong() {
    let place = study(60);
    let _administrator = Administrator::watches();
    let path = unreliable(&place);
    for (number, Disturbance { when, what }) in DISTURBANCES.into_iter().enumerate() {
        let (ended, before) = (written(&place).ended.len(), accepted(&place));
        println!("disturbance {number}: {before} jobs accepted, {ended} commands ended");
        let mut command = place.command(&["run", "--no-report"]);
        let log = std::fs::File::options().create(true).append(true).open(place.path("log"));
        command.env("PATH", &path).stderr(log.unwrap()).stdout(std::process::Stdio::null());
        let mut run = command.spawn().unwrap();
        place.await_that("the moment has come", |place| match when {
            When::Submitted => accepted(place) > before,
            When::Ended => written(place).ended.len() >= ended + 2,
            When::Waiting => !jobs("pending").is_empty(),
        });
        what(&place);
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let mut command = place.command(&["run", "--no-report"]);
    command.env("PATH", &path);
    let output = output_within_minutes(&place, command);
    assert!(output.status.success(), "{}", stderr(&output));
    audit(&place, 60);
    // A command begins again only if its job was lost, by our hand or with the controller.
    let again: usize = written(&place).began.values().map(|times| times - 1).sum();
    println!("{} jobs accepted, {again} commands began again", accepted(&place));
    place.await_that("no job is left", |place| unsettled(place).is_empty());
}

#[test]
#[ignore = "needs Slurm: cargo xtask clusters"]
fn slurm_may_forget_that_its_node_was_drained_or_a_job_held() {
    let place = study(24);
    let _administrator = Administrator::watches();
    let mut run = place.spawn(&["run", "--no-report"]);
    place.await_that("commands end", |place| written(place).ended.len() >= 2);
    // Killed so soon, the controller may come back with or without what it was told.
    set_node(&place, NodeState::Drain);
    kill_controller();
    set_node(&place, NodeState::Drain);
    place.await_that("a job waits", |_| !jobs("pending").is_empty());
    jobs("pending").iter().for_each(|job| drop(slurm("scontrol", &["hold", job])));
    kill_controller();
    run.kill().unwrap();
    run.wait().unwrap();
    set_node(&place, NodeState::Resume);
    release(&place);
    let output = output_within_minutes(&place, place.command(&["run", "--no-report"]));
    assert!(output.status.success(), "{}", stderr(&output));
    audit(&place, 24);
    let again: usize = written(&place).began.values().map(|times| times - 1).sum();
    println!("{} jobs accepted, {again} commands began again", accepted(&place));
}

#[test]
#[ignore = "needs Slurm: cargo xtask clusters"]
fn slurm_refuses_what_it_refuses_with_its_own_words_and_nothing_is_paid() {
    for (setting, expected) in [
        ("partition = \"nowhere\"", "invalid partition"),
        ("memory = \"9999G\"", "Requested node configuration is not available"),
        ("time = \"5m\", partition = \"short\"", "Requested time limit is invalid"),
        ("extra = [\"--no-such-option\"]", "unrecognized option"),
        ("extra = [\"--gres=gpu:9\"]", "generic resource"),
    ] {
        let text = cluster::text(4, "0", 2);
        let text = text.replace("time = \"10m\", cpus = 1, memory = \"10M\"", setting);
        let place = on_cluster(&text);
        let message = place.fails(&["run", "--no-report"], 1);
        assert!(message.to_lowercase().contains(&expected.to_lowercase()), "{setting}: {message}");
        assert_eq!(place.spent(), 0.0, "{setting}");
        assert!(written(&place).began.is_empty(), "{setting}");
    }
}

#[test]
#[ignore = "needs Slurm: cargo xtask clusters"]
fn slurm_and_this_machine_and_people_share_a_study_and_its_budget() {
    let text = cluster::text(24, "0", 2);
    let (slurm, local) = text.split_once("[objectives.drag]").unwrap();
    let local = local.split("executor").next().unwrap();
    let hand =
        "[objectives.taste]\ndirection = \"maximise\"\ncost = 1\nexecutor = \"hand\"\nslots = 2\n";
    let place = on_cluster(&format!("{slurm}[objectives.drag]{local}{hand}"));
    let mut run = place.spawn(&["run", "--no-report"]);
    // Somebody who measures by hand until the run ends.
    let began = Instant::now();
    while run.try_wait().unwrap().is_none() {
        assert!(began.elapsed() < Duration::from_secs(300), "the run does not end");
        for row in pending(&place) {
            let _ = place.run(&["tell", &row, "1.5"]);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    for row in pending(&place) {
        place.text(&["tell", &row, "1.5"]);
    }
    let rows = place.evaluations();
    let of = |name: &str| rows.iter().filter(|row| row["measurement"] == name).count();
    assert_eq!((rows.len(), place.spent()), (24, 24.0), "{rows:?}");
    assert!(of("mass") > 0 && of("drag") > 0 && of("taste") > 0, "{rows:?}");
    assert!(rows.iter().all(|row| row["status"] == "completed"), "{rows:?}");
    let places = ["mass", "drag"].map(|name| {
        let row = rows.iter().find(|row| row["measurement"] == name).unwrap();
        let number: u64 = row["evaluation"].parse().unwrap();
        place.path(&format!("study.runs/{number:06}/1/job.json")).exists()
    });
    assert_eq!(places, [true, false], "only one of them is a job");
}

/// The pending evaluations by hand.
fn pending(place: &Place) -> Vec<String> {
    if !place.path("study.db").exists() {
        return vec![];
    }
    let output = place.run(&["export"]);
    let mut reader = csv::Reader::from_reader(output.stdout.as_slice());
    let rows = reader.deserialize::<std::collections::BTreeMap<String, String>>();
    let pending = rows.filter_map(Result::ok);
    let pending = pending.filter(|row| row["measurement"] == "taste" && row["status"] == "pending");
    pending.map(|row| row["evaluation"].clone()).collect()
}

#[test]
#[ignore = "long: cargo xtask many-jobs"]
fn many_jobs() {
    let text = cluster::text(500, "1", 25).replace("poll = \"1s\"", "poll = \"5s\"");
    let place = on_cluster(&text);
    let path = counted(&place);
    let began = Instant::now();
    let output = place.command(&["run", "--no-report"]).env("PATH", &path).output().unwrap();
    let took = began.elapsed();
    assert!(output.status.success(), "{}", stderr(&output));
    audit(&place, 500);
    let asked = std::fs::read_to_string(place.path("programs/asked")).unwrap().lines().count();
    let minutes = took.as_secs_f64() / 60.0;
    let ideal = 500.0 / 50.0;
    println!("500 jobs of 1 s through 50 slots: {:.0} s", took.as_secs_f64());
    println!("overhead per job: {:.0} ms", (took.as_secs_f64() - ideal) / 500.0 * 1e3);
    println!("squeue: {asked} times, {:.1} per minute", asked as f64 / minutes);
    assert!(asked as f64 <= minutes * 12.0 + 2.0, "{asked} questions in {minutes} minutes");
}

/// The programs of Slurm, with a `squeue` that counts how often it is called. Gives the path to use.
fn counted(place: &Place) -> String {
    let path = std::env::var("PATH").unwrap();
    std::fs::create_dir_all(place.path("programs")).unwrap();
    let real = std::env::split_paths(&path).map(|at| at.join("squeue")).find(|at| at.exists());
    let asked = place.path("programs/asked");
    let script = format!(
        "#!/bin/sh\necho asked >> '{}'\nexec {} \"$@\"\n",
        asked.display(),
        real.unwrap().display()
    );
    place.write("programs/squeue", &script);
    let squeue = place.path("programs/squeue");
    assert!(std::process::Command::new("chmod").arg("+x").arg(squeue).status().unwrap().success());
    format!("{}:{path}", place.path("programs").display())
}
