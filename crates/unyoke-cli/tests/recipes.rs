//! The recipes of `docs/clusters.md`, run as they stand there. Stand-ins that print what the programs of
//! the schedulers print take the place of these.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cluster;
mod place;

use std::process::Command;

use cluster::{WORK, audit, written};
use place::{Place, stderr};

/// What all stand-ins have in common: jobs are processes, `queue/NAME` has their numbers, and a job that
/// has ended stays in the list, as it does for a while with the real ones.
const QUEUE: &str = r#"queue=$(dirname "$0")/../queue
mkdir -p "$queue"
start() { setsid "$2" > /dev/null 2>&1 < /dev/null & echo $! > "$queue/$1"; }
lives() { case $(ps -o stat= -p "$(cat "$queue/$1")") in ''|Z*) return 1 ;; esac; }
stop() { env kill -9 -- -"$(cat "$queue/$1")"; }
"#;

const PBS: [(&str, &str); 4] = [
    (
        "qsub",
        "name=$2; while [ $# -gt 1 ]; do shift; done; start \"$name\" \"$1\"; echo 1.server\n",
    ),
    (
        "qstat",
        r#"for name in $(ls "$queue"); do
  if lives "$name"; then state=R; else state=F; fi
  printf 'Job Id: 1.server\n    Job_Name = %s\n    Job_Owner = me@login\n    job_state = %s\n    queue = batch\n\n' "$name" "$state"
done
"#,
    ),
    ("qselect", "echo \"$2\"\n"),
    ("qdel", "stop \"$1\"\n"),
];

const HQ: [(&str, &str); 1] = [(
    "hq",
    r#"case "$1 $2" in
  "submit --name") shift 2; name=$1; while [ $# -gt 1 ]; do shift; done; start "$name" "$1"; echo "Job submitted successfully, job ID: 1" ;;
  "job list")
    comma='['
    for name in $(ls "$queue"); do
      if lives "$name"; then running=1; else running=0; fi
      printf '%s{"id": "%s", "name": "%s", "task_count": 1, "task_stats": {"canceled": 0, "failed": 0, "finished": %s, "running": %s, "waiting": 0}}' "$comma" "$name" "$name" $((1 - running)) $running
      comma=','
    done
    [ "$comma" = ',' ] || printf '['
    echo ']' ;;
  "job cancel") stop "$3" ;;
  *) exit 2 ;;
esac
"#,
)];

const KUBERNETES: [(&str, &str); 1] = [(
    "kubectl",
    r#"case "$1" in
  apply) manifest=$(cat); name=$(echo "$manifest" | sed -n 's/^  name: //p'); script=$(echo "$manifest" | sed -n 's/.*command: \["\(.*\)"\]/\1/p'); start "$name" "$script"; echo "job.batch/$name created" ;;
  get) for name in $(ls "$queue"); do if lives "$name"; then echo "$name   1   <none>   <none>"; else echo "$name   0   1   <none>"; fi; done ;;
  delete) stop "$3" ;;
  *) exit 2 ;;
esac
"#,
)];

/// The scripts of a recipe, by their names.
fn recipe(name: &str) -> Vec<(String, String)> {
    let document = include_str!("../../../docs/clusters.md");
    let blocks = document.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let own = blocks.filter_map(|block| {
        let file = block.lines().next()?.strip_prefix(&format!("# {name}/"))?;
        Some((file.to_owned(), format!("#!/bin/sh\n{block}")))
    });
    own.collect()
}

/// Runs a study by the scripts of a recipe, killed once on the way.
fn follow(name: &str, programs: &[(&str, &str)]) {
    let text = cluster::text(8, "0.3", 2);
    let slurm = "executor = \"slurm\"\nslurm = { time = \"10m\", cpus = 1, memory = \"10M\" }\n";
    let commands = "executor = \"command\"
submit = [\"./submit.sh\", \"{name}\", \"{script}\"]
status = [\"./status.sh\"]
cancel = [\"./cancel.sh\", \"{name}\"]
";
    let place =
        Place::new(&text.replace(slurm, commands).replace("poll = \"1s\"", "poll = \"300ms\""));
    place.write("work.sh", WORK);
    std::fs::create_dir(place.path("programs")).unwrap();
    let mut files = vec![];
    for (program, content) in programs {
        files.push((format!("programs/{program}"), format!("#!/bin/sh\n{QUEUE}{content}")));
    }
    let recipe = recipe(name);
    assert_eq!(recipe.len(), 3, "{name}");
    for (file, content) in files.into_iter().chain(recipe) {
        place.write(&file, &content);
        let made = Command::new("chmod").arg("+x").arg(place.path(&file)).status().unwrap();
        assert!(made.success());
    }
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", place.path("programs").display());
    let run = || {
        let mut command = place.command(&["run", "--no-report"]);
        command.env("PATH", &path);
        command
    };
    let null = std::process::Stdio::null;
    let mut killed = run().stdout(null()).stderr(null()).spawn().unwrap();
    place.await_that("jobs end", |place| written(place).ended.len() >= 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let output = run().output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    audit(&place, 8);
    assert!(written(&place).began.values().all(|times| *times == 1), "a job was repeated");
    // A job can be cancelled, too.
    let sleep = place.path("sleep.sh");
    place.write("sleep.sh", "#!/bin/sh\nexec sleep 600\n");
    place.write("names", "unyoke-x\n");
    let call = |script: &str, arguments: &[&str]| {
        let mut command = Command::new(place.path(script));
        let output = command.args(arguments).current_dir(place.path("")).env("PATH", &path);
        let names = std::fs::File::open(place.path("names")).unwrap();
        let output = output.stdin(names).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(Command::new("chmod").arg("+x").arg(&sleep).status().unwrap().success());
    call("submit.sh", &["unyoke-x", sleep.to_str().unwrap()]);
    assert!(call("status.sh", &[]).contains("unyoke-x RUNNING"));
    call("cancel.sh", &["unyoke-x"]);
    place.await_that("it ends", |_| call("status.sh", &[]).contains("unyoke-x GONE"));
}

#[test]
fn the_recipe_for_this_machine_works() {
    follow("here", &[]);
}

#[test]
fn the_recipe_for_pbs_works() {
    follow("pbs", &PBS);
}

#[test]
fn the_recipe_for_hyperqueue_works() {
    follow("hq", &HQ);
}

#[test]
fn the_recipe_for_kubernetes_works() {
    follow("kubernetes", &KUBERNETES);
}
