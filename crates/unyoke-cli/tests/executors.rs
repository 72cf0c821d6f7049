//! Measurements that run elsewhere: any scheduler by commands, here one of three short scripts, and
//! configurations that are wrong. What needs a real cluster is in `clusters.rs`.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod place;

use std::io::{BufRead, BufReader};
use std::process::{Child, Command};

use cluster::{WORK, audit, written};
use place::{Place, signal, stderr};

/// A scheduler: starts a script at once, and knows it by its process.
const SUBMIT: &str =
    "mkdir -p queue\nsetsid \"$2\" > /dev/null 2>&1 < /dev/null &\necho $! > \"queue/$1\"\n";

const STATUS: &str = "while read -r name; do
  case $(ps -o stat= -p \"$(cat \"queue/$name\" 2>/dev/null || echo 0)\") in
    ''|Z*) echo \"$name GONE\" ;;
    *) echo \"$name RUNNING\" ;;
  esac
done
";

const CANCEL: &str = "env kill -9 -- -\"$(cat \"queue/$1\")\"\n";

/// Two objectives, each two jobs at once that take so many seconds.
fn text(evaluations: usize, seconds: &str) -> String {
    let text = cluster::text(evaluations, seconds, 2);
    let slurm = "executor = \"slurm\"\nslurm = { time = \"10m\", cpus = 1, memory = \"10M\" }\n";
    let commands = "executor = \"command\"
submit = [\"/bin/sh\", \"submit.sh\", \"{name}\", \"{script}\"]
status = [\"/bin/sh\", \"status.sh\"]
cancel = [\"/bin/sh\", \"cancel.sh\", \"{name}\"]
";
    let text = text.replace(slurm, commands).replace("poll = \"1s\"", "poll = \"200ms\"");
    text.replace("grace = \"4s\"", "grace = \"1s\"\ncall_timeout = \"1s\"")
}

fn study(text: &str) -> Place {
    let place = Place::new(text);
    place.write("work.sh", WORK);
    place.write("submit.sh", SUBMIT);
    place.write("status.sh", STATUS);
    place.write("cancel.sh", CANCEL);
    place
}

#[test]
fn a_study_runs_as_jobs_and_outlives_its_program() {
    let place = study(&text(12, "0.3"));
    for ended in [1, 4, 7] {
        let mut run = place.spawn(&["run", "--no-report"]);
        place.await_that("jobs end", |place| written(place).ended.len() >= ended);
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let output = place.run(&["run", "--no-report"]);
    assert!(output.status.success(), "{}", stderr(&output));
    audit(&place, 12);
    assert!(written(&place).began.values().all(|times| *times == 1), "a job was repeated");
    assert!(written(&place).at_once <= 4);
}

#[test]
fn a_job_that_is_killed_is_repeated_and_nothing_else_is() {
    let place = study(&text(6, "1"));
    let run = place.spawn(&["run", "--no-report"]);
    place.await_that("a job begins", |place| written(place).began.contains_key(&0));
    let jobs = std::fs::read_dir(place.path("queue")).unwrap().map(|job| job.unwrap());
    let is_first =
        |job: &std::fs::DirEntry| job.file_name().to_string_lossy().starts_with("unyoke-study-0-");
    let first = jobs.into_iter().find(is_first).unwrap();
    let group = std::fs::read_to_string(first.path()).unwrap();
    let killed = Command::new("kill").args(["-9", "--", &format!("-{}", group.trim())]).status();
    assert!(killed.unwrap().success());
    let output = run.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    audit(&place, 6);
    assert_eq!(written(&place).began.values().sum::<usize>(), 7);
    assert!(stderr(&output).contains("attempt 2"), "{}", stderr(&output));
}

#[test]
fn the_same_job_submitted_twice_runs_once() {
    let place = study(&text(6, "0.3"));
    // Each is submitted, and then submitted again because the first answer was an error.
    let twice =
        format!("{SUBMIT}[ -e \"queue/$1.again\" ] || {{ touch \"queue/$1.again\"; exit 1; }}\n");
    place.write("submit.sh", &twice);
    // And at first it is not in the list.
    place.write("status.sh", &STATUS.replace("''|Z*) echo \"$name GONE\"", "''|Z*) :"));
    let output = place.run(&["run", "--no-report"]);
    assert!(output.status.success(), "{}", stderr(&output));
    audit(&place, 6);
    assert!(written(&place).began.values().all(|times| *times == 1), "{}", stderr(&output));
}

/// Interrupts a run twice, and gives how it ended and what it said.
fn interrupt_twice(mut run: Child) -> (Option<i32>, String) {
    let mut lines = BufReader::new(run.stderr.take().unwrap()).lines();
    let mut said = String::new();
    signal(&run, "-INT");
    // Two signals at once may arrive as one: the second must wait until the first was heard.
    for line in lines.by_ref().map(Result::unwrap) {
        said += &format!("{line}\n");
        if line.contains("nothing new is started") {
            break;
        }
    }
    signal(&run, "-INT");
    lines.for_each(|line| said += &format!("{}\n", line.unwrap()));
    (run.wait().unwrap().code(), said)
}

#[test]
fn two_interrupts_stop_jobs_and_the_next_run_repeats_them() {
    // Longer than anything takes on a busy machine: they are stopped.
    let place = study(&text(4, "300"));
    let run = place.spawn(&["run", "--no-report"]);
    place.await_that("jobs begin", |place| written(place).began.len() >= 2);
    let (code, said) = interrupt_twice(run);
    assert_eq!(code, Some(130), "{said}");
    assert!(written(&place).ended.is_empty(), "{said}");
    assert_eq!(place.spent(), 0.0);
    place.write("study.toml", &format!("{}{}", text(4, "0"), place::ENGINE));
    place.text(&["run", "--no-report"]);
    audit(&place, 4);
}

#[test]
fn a_run_that_is_to_end_leaves_its_jobs_and_the_next_one_collects_them() {
    let place = study(&text(4, "8"));
    let output = place.run(&["run", "--no-report", "--until", "2s"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(written(&place).ended.is_empty(), "it waited");
    place.text(&["run", "--no-report"]);
    audit(&place, 4);
    assert!(written(&place).began.values().all(|times| *times == 1), "a job was repeated");
    let local =
        text(4, "0").replace("executor = \"command\"", "executor = \"local\"\ntimeout = \"1h\"");
    let fields = ["submit", "status", "cancel", "poll", "grace", "call_timeout"];
    let keeps = |line: &&str| !fields.iter().any(|field| line.starts_with(&format!("{field} = ")));
    let local: String = local.lines().filter(keeps).map(|line| format!("{line}\n")).collect();
    let place = study(&local);
    let output = place.run(&["run", "--no-report", "--until", "30m"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(written(&place).began.is_empty(), "it may take an hour");
    assert!(String::from_utf8_lossy(&output.stdout).contains("was to end"));
}

#[test]
fn mistakes_in_the_study_file_are_found_at_once() {
    let good = text(4, "0");
    let submit = "submit = [\"/bin/sh\", \"submit.sh\", \"{name}\", \"{script}\"]";
    let slurm = |settings: &str| format!("executor = \"slurm\"\nslurm = {{ {settings} }}");
    let command = format!(
        "executor = \"command\"\n{submit}\nstatus = [\"/bin/sh\", \"status.sh\"]\n\
         cancel = [\"/bin/sh\", \"cancel.sh\", \"{{name}}\"]"
    );
    assert!(good.contains(&command));
    let cases = [
        ("executor = \"slrm\"".to_owned(), "did you mean \"slurm\"?"),
        ("executor = \"command\"".to_owned(), "needs submit"),
        (command.replace("\"{name}\", \"{script}\"", "\"{script}\""), "does not use {name}"),
        (command.replace("\"{name}\", \"{script}\"", "\"{name}\""), "does not use {script}"),
        (command.replace("\"cancel.sh\", \"{name}\"", "\"cancel.sh\""), "does not use {name}"),
        (command.replace("{script}", "{scrip}"), "{scrip}, which means nothing here"),
        (command.replace("\"status.sh\"", "\"{name}\""), "on standard input"),
        (command.replace(submit, "submit = \"qsub\""), "must be a list of texts"),
        (slurm("memory = \"16 GB\""), "is not an amount of memory"),
        (slurm("time = 60"), "must be a length of time in quotes"),
        (slurm("cpus = 0"), "must be at least 1"),
        (slurm("partitions = \"cpu\""), "did you mean \"partition\"?"),
        (slurm("extra = [\"--job-name=x\"]"), "names of our own"),
        (slurm("extra = [\"--requeue\"]"), "as retries says"),
        (slurm("extra = [\"--array=1-3\"]"), "a job of its own"),
        (slurm("extra = [\"account\"]"), "must be an option of sbatch"),
        ("executor = \"hand\"".to_owned(), "does not go with executor = \"hand\""),
        (command.replace("\"command\"", "\"local\""), "does not go with executor = \"local\""),
    ];
    for (executor, expected) in &cases {
        let place = study(&good.replacen(&command, executor, 1));
        let message = place.fails(&["check"], 3);
        assert!(message.contains(expected), "{executor}\nexpected {expected}\n{message}");
        assert!(!place.path("study.db").exists());
    }
}

#[test]
fn a_scheduler_that_is_not_there_is_missed_before_anything_begins() {
    let place = study(&cluster::text(4, "0", 2));
    let output = place.command(&["run"]).env("PATH", "/usr/bin:/bin").output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("sbatch was not found"), "{}", stderr(&output));
    let place = study(&text(4, "0").replace("\"/bin/sh\", \"submit.sh\"", "\"./qsub\""));
    let message = place.fails(&["run"], 1);
    assert!(message.contains("./qsub was not found"), "{message}");
    assert!(!place.path("study.runs/000000").exists());
}

/// Runs a study whose scheduler does not work, which must say so and cost nothing.
fn refuses(script: &str, content: &str, expected: &str) {
    let place = study(&text(4, "0"));
    place.write(script, content);
    let message = place.fails(&["run", "--no-report"], 1);
    assert!(message.contains(expected), "expected {expected}\n{message}");
    assert_eq!(place.spent(), 0.0);
    assert!(written(&place).began.is_empty());
    // Mended, it goes on.
    place.write(script, SUBMIT);
    place.text(&["run", "--no-report"]);
    audit(&place, 4);
}

#[test]
fn a_submit_command_that_fails_is_quoted() {
    refuses("submit.sh", "echo 'quota exceeded' >&2\nexit 1\n", "quota exceeded");
}

#[test]
fn a_submit_command_that_hangs_is_ended() {
    refuses("submit.sh", "sleep 600\n", "did not answer within 1 s");
}

#[test]
fn a_folder_that_the_nodes_do_not_see_is_suspected() {
    refuses("submit.sh", "cd /; false\n", "the submit command failed");
    let lost = "echo accepted\n";
    refuses("submit.sh", lost, "look whether the nodes see");
}

/// Runs a study whose scheduler talks nonsense, which must not matter.
fn bears(script: &str, content: &str, expected: &str) {
    let place = study(&text(4, "0.5"));
    place.write(script, content);
    let output = place.run(&["run", "--no-report"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stderr(&output).contains(expected), "expected {expected}\n{}", stderr(&output));
    audit(&place, 4);
    assert!(written(&place).began.values().all(|times| *times == 1), "{}", stderr(&output));
}

#[test]
fn a_submit_command_may_print_anything() {
    bears("submit.sh", &format!("head -c 5000 /dev/urandom\n{SUBMIT}"), "");
}

#[test]
fn a_status_command_that_fails_is_told_and_results_are_found_nevertheless() {
    bears("status.sh", "echo 'cannot connect' >&2; exit 1\n", "cannot connect");
}

#[test]
fn a_status_command_that_hangs_is_ended_and_results_are_found_nevertheless() {
    bears("status.sh", "sleep 600\n", "did not answer within 1 s");
}

#[test]
fn states_that_mean_nothing_are_shown_and_harm_nobody() {
    let status = "while read -r name; do echo \"$name sleeping soundly\"; done\n";
    bears("status.sh", status, "sleeping soundly");
}

#[test]
fn a_status_command_that_lists_other_jobs_only_harms_nobody_that_lives() {
    bears("status.sh", "echo 'other RUNNING'; head -c 999 /dev/urandom\n", "");
}

#[test]
fn a_cancel_command_that_fails_is_told() {
    let place = study(&text(4, "600"));
    // Accepted, but never begun: to be cancelled when the run is interrupted.
    place.write("submit.sh", "exit 0\n");
    place.write("status.sh", "while read -r name; do echo \"$name QUEUED full\"; done\n");
    place.write("cancel.sh", "echo 'not yours' >&2; exit 1\n");
    let run = place.spawn(&["run", "--no-report"]);
    place.await_that("the reason is shown", |place| {
        place.path("study.db").exists()
            && String::from_utf8_lossy(&place.run(&["status"]).stdout).contains("queued (full)")
    });
    let (code, said) = interrupt_twice(run);
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(place.spent(), 0.0);
    assert!(said.contains("queued (full)"), "{said}");
    assert!(said.contains("could not be cancelled"), "{said}");
}

/// Programs of Slurm whose queue has forgotten all jobs, as it does after `MinJobAge`, and accounting that
/// knows of two what became of them, in the words and the form of `sacct -P`.
const FORGETFUL: [(&str, &str); 4] = [
    (
        "sbatch",
        "for argument in \"$@\"; do case $argument in --job-name=*) name=${argument#*=} ;; esac; done
mkdir -p \"$HOME/queue\"
for script in \"$@\"; do :; done
case $name in
  unyoke-study-0-1-*) echo OUT_OF_MEMORY > \"$HOME/queue/$name\" ;;
  unyoke-study-1-1-*) echo 'CANCELLED by 1000' > \"$HOME/queue/$name\" ;;
  *) setsid \"$script\" > /dev/null 2>&1 < /dev/null & ;;
esac
echo 7
",
    ),
    ("squeue", ":\n"),
    ("scancel", ":\n"),
    (
        "sacct",
        "echo \"$@\" >> \"$HOME/asked\"
for argument in \"$@\"; do case $argument in --name=*) names=${argument#*=} ;; esac; done
for name in $(echo \"$names\" | tr , ' '); do
  if [ -e \"$HOME/queue/$name\" ]; then echo \"$name|$(cat \"$HOME/queue/$name\")\"; else echo \"$name|RUNNING\"; fi
done
",
    ),
];

#[test]
fn accounting_tells_how_jobs_ended_that_the_queue_has_forgotten() {
    let text = cluster::text(6, "0.3", 2).replace("poll = \"1s\"", "poll = \"200ms\"");
    let place = Place::new(&text.replace("grace = \"4s\"", "grace = \"1s\""));
    place.write("work.sh", WORK);
    std::fs::create_dir(place.path("programs")).unwrap();
    for (program, content) in FORGETFUL {
        let file = format!("programs/{program}");
        place.write(&file, &format!("#!/bin/sh\n{content}"));
        let made = Command::new("chmod").arg("+x").arg(place.path(&file)).status().unwrap();
        assert!(made.success());
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", place.path("programs").display());
    let mut run = place.command(&["run", "--no-report"]);
    let output = run.env("PATH", &path).env("HOME", place.path("")).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let rows = place.evaluations();
    let row = |number: &str| rows.iter().find(|row| row["evaluation"] == number).unwrap();
    // One that exceeded its memory has failed; one that was cancelled is repeated.
    assert_eq!(row("0")["status"], "failed");
    assert!(stderr(&output).contains("OUT_OF_MEMORY"), "{}", stderr(&output));
    assert_eq!(row("1")["status"], "completed");
    assert!(stderr(&output).contains("CANCELLED by 1000"), "{}", stderr(&output));
    assert!(place.path("study.runs/000001/2/exit.json").exists());
    assert!(written(&place).began.values().all(|times| *times == 1), "a job was repeated");
    let asked = std::fs::read_to_string(place.path("asked")).unwrap();
    let first = asked.lines().next().unwrap();
    assert!(first.starts_with("-X -P -n -o JobName,State --name=unyoke-study-"), "{first}");
    assert!(first.contains(" --starttime=20"), "{first}");
}
