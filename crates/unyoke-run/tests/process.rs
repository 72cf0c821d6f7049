//! Real processes that misbehave, are killed, or leave odd things behind.
//!
//! Nothing here waits for a fixed time. Scripts block on named pipes until a test lets them go on;
//! time limits are short, and no test minds if a machine is slower than they are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use unyoke::Design;
use unyoke_run::{
    Attempt, CommandTemplate, Death, Error, Exit, Failure, Layout, Outcome, Spec, State, Supervisor,
};

const PROGRAM: &str = env!("CARGO_BIN_EXE_unyoke-run-supervisor");

/// A folder for scripts and attempts.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn attempt(&self) -> PathBuf {
        Layout::new(self.path("runs")).attempt(1, 1)
    }

    /// A shell script as the command of an attempt.
    fn script(&self, text: &str) -> Spec {
        let path = self.path("script.sh");
        fs::write(&path, text).unwrap();
        self.spec(["/bin/sh", path.to_str().unwrap()])
    }

    fn spec<'a>(&self, argv: impl IntoIterator<Item = &'a str>) -> Spec {
        Spec {
            evaluation: 1,
            attempt: 1,
            retry: 0,
            measurement: "mass".into(),
            outputs: vec!["mass".into()],
            design: Design::new().with("length", 0.5),
            argv: argv.into_iter().map(str::to_owned).collect(),
            directory: self.0.path().to_owned(),
            env: Default::default(),
            timeout: None,
            grace: Duration::from_millis(100),
        }
    }

    fn start(&self, spec: &Spec) -> Attempt {
        Attempt::start(&self.attempt(), spec, &supervisor()).unwrap()
    }

    fn run(&self, spec: &Spec) -> Outcome {
        finished(self.start(spec).wait().unwrap())
    }

    /// A named pipe, at which a script waits until somebody opens the other end.
    fn gate(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

fn supervisor() -> Supervisor {
    Supervisor::new(PROGRAM, ["supervise"])
}

fn finished(state: State) -> Outcome {
    match state {
        State::Finished(outcome) => *outcome,
        other => panic!("{other:?}"),
    }
}

/// What becomes of a shell script.
fn result(script: &str) -> Result<f64, Failure> {
    let place = Place::new();
    value(&place.run(&place.script(script)))
}

/// The value of the only output.
fn value(outcome: &Outcome) -> Result<f64, Failure> {
    outcome.result.clone().map(|measured| {
        assert_eq!((measured.values.len(), measured.missing), (1, None));
        measured.values.values().next().unwrap().value
    })
}

fn wait_at(gate: &Path) {
    File::open(gate).unwrap().read_to_end(&mut vec![]).unwrap();
}

fn open(gate: &Path) {
    File::options().write(true).open(gate).unwrap();
}

fn kill(process: u32) {
    assert!(Command::new("kill").args(["-9", &process.to_string()]).status().unwrap().success());
}

fn group(folder: &Path) -> u32 {
    fs::read_to_string(folder.join("group")).unwrap().trim().parse().unwrap()
}

/// Whether a process runs, zombies not counted.
fn runs(process: u32) -> bool {
    let output = Command::new("ps").args(["-o", "stat=", "-p", &process.to_string()]).output();
    let state = String::from_utf8(output.unwrap().stdout).unwrap();
    !state.trim().is_empty() && !state.trim().starts_with('Z')
}

// What a command may print, and what it means.

#[test]
fn the_last_line_is_the_result() {
    assert_eq!(result("echo working; echo 1.5; echo; echo '  '"), Ok(1.5));
    assert_eq!(result("printf '%s' -2e-3"), Ok(-2e-3));
    assert_eq!(result("printf '1.5\\r\\n'"), Ok(1.5));
    assert_eq!(result("echo 3; echo 99 >&2"), Ok(3.0));
    assert_eq!(result("printf '\\377\\376\\n1.5\\n'"), Ok(1.5));
}

#[test]
fn what_is_no_number_is_a_failure_with_a_reason() {
    for (script, reason) in [
        ("true", "printed nothing"),
        ("echo; echo", "printed nothing"),
        ("echo 1.5 >&2", "printed nothing"),
        ("echo 1.5 2.5", "more than one number"),
        ("echo 1,5", "comma"),
        ("echo 1_000", "separators"),
        ("echo 0x10", "decimal"),
        ("echo nan", "not a finite number"),
        ("echo -inf", "not a finite number"),
        ("echo 1e400", "not a finite number"),
        ("echo 1.5; echo done", "not a number"),
        ("echo '\"1.5\"'", "not a number"),
        ("printf '1.5\\377\\n'", "not text"),
        ("printf '1.5\\000\\n'", "not a number"),
        ("head -c 10000000 /dev/zero | tr '\\0' 7", "too long"),
    ] {
        let failure = result(script).unwrap_err().to_string();
        assert!(failure.contains(reason), "{script}: {failure}");
    }
}

#[test]
fn a_result_file_goes_before_the_output() {
    assert_eq!(result("echo 9; echo '{\"value\": 1.5}' > $UNYOKE_RESULT"), Ok(1.5));
    assert_eq!(result("printf 2 > $UNYOKE_RESULT"), Ok(2.0));
    for script in [
        "echo 9; : > $UNYOKE_RESULT",
        "echo 9; echo '{\"value\": NaN}' > $UNYOKE_RESULT",
        "echo 9; mkdir $UNYOKE_RESULT",
        "echo 9; mkfifo $UNYOKE_RESULT",
        "echo 9; echo '{\"valeu\": 1}' > $UNYOKE_RESULT",
    ] {
        let failure = result(script).unwrap_err();
        assert!(matches!(failure, Failure::BadResultFile { .. }), "{script}: {failure}");
    }
}

#[test]
fn an_exit_code_is_a_failure_whatever_was_printed() {
    let failure =
        result("echo 1.5; echo first >&2; echo 'no such material' >&2; exit 3").unwrap_err();
    let last_line = Some("no such material".to_owned());
    assert_eq!(failure, Failure::Exit { code: 3, last_line });
    assert_eq!(result("echo 1.5; exit 1"), Err(Failure::Exit { code: 1, last_line: None }));
    let failure = result("echo '{\"value\": 1}' > $UNYOKE_RESULT; exit 255").unwrap_err();
    assert_eq!(failure, Failure::Exit { code: 255, last_line: None });
    let Err(Failure::Exit { last_line: Some(line), .. }) =
        result("head -c 10000000 /dev/zero | tr '\\0' x >&2; exit 1")
    else {
        panic!()
    };
    assert!(line.chars().count() <= 201);
}

#[test]
fn a_signal_is_a_failure() {
    let place = Place::new();
    let outcome = place.run(&place.script("echo 1.5; kill -SEGV $$"));
    assert_eq!(outcome.exit, Exit::Signal(11));
    assert_eq!(outcome.result, Err(Failure::Signal { signal: 11, last_line: None }));
    assert!(matches!(result("kill -9 $$"), Err(Failure::Signal { signal: 9, .. })));
}

#[test]
fn a_command_that_cannot_start_says_why() {
    let place = Place::new();
    let failure = |argv: &[&str]| {
        let place = Place::new();
        fs::write(place.path("plain"), "echo 1").unwrap();
        fs::write(place.path("odd"), "#!/no/such/interpreter\n").unwrap();
        fs::set_permissions(place.path("odd"), PermissionsExt::from_mode(0o755)).unwrap();
        place.run(&place.spec(argv.iter().copied())).result.unwrap_err()
    };
    let program = "no-such-program-7f3a".to_owned();
    assert_eq!(failure(&[&program]), Failure::NotFound { program: program.clone() });
    assert_eq!(failure(&["./absent"]), Failure::NotFound { program: "./absent".into() });
    assert_eq!(failure(&["./plain"]), Failure::NotExecutable { program: "./plain".into() });
    assert_eq!(failure(&["/"]), Failure::NotExecutable { program: "/".into() });
    assert!(failure(&["./odd"]).to_string().contains("interpreter"));
    assert!(matches!(failure(&[]), Failure::CannotStart { .. }));
    assert!(matches!(failure(&["a\0b"]), Failure::CannotStart { .. }));
    let long = "x".repeat(4 << 20);
    assert!(matches!(failure(&["/bin/echo", &long]), Failure::CannotStart { .. }));
    let spec = Spec { directory: place.path("absent"), ..place.spec(["true"]) };
    assert!(matches!(place.run(&spec).result, Err(Failure::NoDirectory { .. })));
}

// What a command is told.

#[test]
fn no_value_ever_reaches_a_shell() {
    let place = Place::new();
    let dump = "import sys, json, os\n\
        json.dump(sys.argv[1:], open('argv.json', 'w'))\n\
        json.dump(json.load(open(os.environ['UNYOKE_DESIGN'])), open('design.json', 'w'))\n\
        json.dump(dict(os.environ), open('env.json', 'w'))\n\
        print(len(sys.argv))\n";
    fs::write(place.path("dump.py"), dump).unwrap();
    let nasty = [
        "; rm -rf /",
        "$(touch pwned)",
        "`touch pwned`",
        "&& touch pwned",
        "| tee pwned",
        "> pwned",
        "--help",
        "-",
        "a\nb\r\n",
        "'",
        "\"",
        "\\",
        "*",
        "~",
        "{length}",
        "%s",
        "é🦀",
        " ",
        "\t",
        "",
    ];
    let mut design = Design::new();
    let mut arguments = vec!["python3".to_owned(), "dump.py".to_owned()];
    for (i, value) in nasty.iter().enumerate() {
        design = design.with(format!("p{i}"), *value);
        arguments.push(format!("{{p{i}}}"));
        arguments.push(format!("--p={{p{i}}}!"));
    }
    let argv = CommandTemplate::new(arguments).unwrap().fill(&design).unwrap();
    let spec = Spec { argv, design, ..place.spec([]) };
    assert_eq!(value(&place.run(&spec)), Ok(1.0 + 2.0 * nasty.len() as f64));
    let read = |name: &str| -> serde_json::Value {
        serde_json::from_slice(&fs::read(place.path(name)).unwrap()).unwrap()
    };
    let expected: Vec<String> =
        nasty.iter().flat_map(|value| [(*value).to_owned(), format!("--p={value}!")]).collect();
    assert_eq!(read("argv.json"), serde_json::json!(expected));
    for (i, value) in nasty.iter().enumerate() {
        assert_eq!(read("design.json")["design"][format!("p{i}")], *value);
        assert_eq!(read("env.json")[format!("UNYOKE_PARAM_P{i}")], *value);
    }
    assert!(!place.path("pwned").exists());
}

#[test]
fn a_command_knows_what_it_is_run_for() {
    let place = Place::new();
    let script = "pwd; cat; echo $UNYOKE_EVALUATION $UNYOKE_ATTEMPT \"$UNYOKE_OBJECTIVE\" \
        \"$UNYOKE_MEASUREMENT\" \"$UNYOKE_OUTPUTS\" \
        $UNYOKE_PARAM_LENGTH $MINE; test -t 0 || cat \"$UNYOKE_DESIGN\"; echo 1";
    let mut spec = place.script(script);
    spec.env.insert("MINE".into(), "own value".into());
    spec.measurement = "scales".into();
    spec.outputs = vec!["Ω 🎯".into()];
    spec.evaluation = 12;
    assert_eq!(value(&place.run(&spec)), Ok(1.0));
    let printed = fs::read_to_string(place.attempt().join("stdout")).unwrap();
    let folder = place.0.path().canonicalize().unwrap();
    assert!(printed.starts_with(folder.to_str().unwrap()), "{printed}");
    assert!(printed.contains("12 1 Ω 🎯 scales Ω 🎯 0.5 own value"), "{printed}");
    assert!(printed.contains("\"length\": 0.5"), "{printed}");
}

#[test]
fn a_program_with_a_path_is_found_from_the_folder_it_runs_in() {
    let place = Place::new();
    fs::create_dir(place.path("sub")).unwrap();
    fs::write(place.path("sub/own"), "#!/bin/sh\necho 4\n").unwrap();
    fs::set_permissions(place.path("sub/own"), PermissionsExt::from_mode(0o755)).unwrap();
    let spec = Spec { directory: place.path("sub"), ..place.spec(["./own"]) };
    assert_eq!(value(&place.run(&spec)), Ok(4.0));
}

// Output in quantities.

#[test]
fn a_gigabyte_of_output_fills_neither_disk_nor_memory() {
    let place = Place::new();
    let outcome = place.run(&place.script("head -c 1073741824 /dev/zero; echo; echo 1.5"));
    assert_eq!(value(&outcome), Ok(1.5));
    assert_eq!(outcome.stdout.bytes, (1 << 30) + 5);
    let kept = fs::read(place.attempt().join("stdout")).unwrap();
    assert!(kept.len() < (2 << 20) + 100);
    assert!(kept.ends_with(b"\n1.5\n"));
    let marker = b"bytes left out here";
    assert!(kept.windows(marker.len()).any(|window| window == marker));
}

#[test]
fn both_channels_can_be_full_at_once() {
    let script = "head -c 5000000 /dev/zero >&2 & head -c 5000000 /dev/zero; wait; echo; echo 1";
    let place = Place::new();
    let outcome = place.run(&place.script(script));
    assert_eq!(value(&outcome), Ok(1.0));
    assert_eq!(outcome.stderr.bytes, 5_000_000);
}

#[test]
fn a_disk_without_room_for_the_output_does_not_cost_the_result() {
    let place = Place::new();
    let folder = place.attempt();
    let script = place.path("script.sh");
    fs::write(&script, "head -c 3000000 /dev/zero; echo; echo 1.5").unwrap();
    // No file may grow beyond 128 blocks of 512 or 1024 bytes, and that is an error, not a death.
    let limited = format!(
        "trap '' XFSZ; ulimit -f 128; exec {PROGRAM} start {} /bin/sh {}",
        folder.display(),
        script.display()
    );
    let mut parent =
        Command::new("/bin/sh").args(["-c", &limited]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    let outcome = finished(Attempt::open(&folder).wait().unwrap());
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(value(&outcome), Ok(1.5));
    assert!(outcome.stdout.problem.is_some());
    assert_eq!(outcome.stdout.bytes, 3_000_005);
}

#[test]
fn a_disk_without_any_room_is_an_error_of_its_own() {
    let place = Place::new();
    let limited = format!(
        "trap '' XFSZ; ulimit -f 0; exec {PROGRAM} start {} true",
        place.attempt().display()
    );
    let output = Command::new("/bin/sh").args(["-c", &limited]).output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("DiskFull"));
    assert_eq!(Attempt::find(&place.attempt()).unwrap(), State::NotStarted);
    assert_eq!(Layout::new(place.path("runs")).attempts(1).unwrap(), [0; 0]);
}

// Commands that do not end, or not alone.

#[test]
fn a_command_that_hangs_is_stopped_in_time() {
    let place = Place::new();
    let spec = place.script("echo 1.5; sleep 1000");
    let spec = Spec { timeout: Some(Duration::from_millis(200)), ..spec };
    let outcome = place.run(&spec);
    assert_eq!(outcome.result, Err(Failure::TimedOut { seconds: 0.2 }));
    assert!(outcome.duration >= Duration::from_millis(200));
    let written = fs::read_to_string(place.attempt().join("exit.json")).unwrap();
    assert!(written.contains("\"timed_out\": true"), "{written}");
}

#[test]
fn times_beyond_all_measure_are_never_over() {
    let place = Place::new();
    let spec =
        Spec { timeout: Some(Duration::MAX), grace: Duration::MAX, ..place.spec(["echo", "1"]) };
    assert_eq!(value(&place.run(&spec)), Ok(1.0));
    let gate = place.gate("gate");
    let script = format!("trap 'exit 0' TERM; : > '{}'; sleep 1000 & wait", gate.display());
    let spec = Spec { timeout: spec.timeout, grace: spec.grace, ..place.script(&script) };
    let folder = Layout::new(place.path("runs")).attempt(1, 2);
    let mut attempt = Attempt::start(&folder, &spec, &supervisor()).unwrap();
    wait_at(&gate);
    attempt.stop().unwrap();
    assert_eq!(finished(attempt.wait().unwrap()).result, Err(Failure::Stopped));
}

#[test]
fn a_command_in_an_endless_loop_of_output_is_stopped_in_time() {
    let place = Place::new();
    let spec = Spec { timeout: Some(Duration::from_millis(300)), ..place.spec(["yes"]) };
    assert!(matches!(place.run(&spec).result, Err(Failure::TimedOut { .. })));
}

#[test]
fn a_command_that_ignores_requests_is_killed() {
    let place = Place::new();
    let gate = place.gate("gate");
    let script = format!("trap '' TERM; : > '{}'; while :; do sleep 1000; done", gate.display());
    let mut attempt = place.start(&place.script(&script));
    wait_at(&gate);
    attempt.stop().unwrap();
    let outcome = finished(attempt.wait().unwrap());
    assert_eq!(outcome.result, Err(Failure::Stopped));
    assert_eq!(outcome.exit, Exit::Signal(9));
}

#[test]
fn a_command_that_listens_ends_by_itself() {
    let place = Place::new();
    let gate = place.gate("gate");
    let script =
        format!("trap 'echo bye >&2; exit 7' TERM; : > '{}'; sleep 1000 & wait", gate.display());
    let spec = Spec { grace: Duration::from_secs(1000), ..place.script(&script) };
    let mut attempt = place.start(&spec);
    wait_at(&gate);
    attempt.stop().unwrap();
    let outcome = finished(attempt.wait().unwrap());
    assert_eq!(outcome.result, Err(Failure::Stopped));
    assert_eq!(outcome.exit, Exit::Code(7));
    assert_eq!(fs::read_to_string(place.attempt().join("stderr")).unwrap(), "bye\n");
}

#[test]
fn a_grandchild_that_keeps_the_output_open_is_not_waited_for() {
    let place = Place::new();
    let spec = place.script("sleep 1000 & echo $! > child; echo 1.5");
    assert_eq!(value(&place.run(&spec)), Ok(1.5));
    let child = fs::read_to_string(place.path("child")).unwrap().trim().parse().unwrap();
    // Killed, which takes effect when the system gets to it.
    while runs(child) {}
}

#[test]
fn a_grandchild_that_left_the_group_is_not_waited_for_either() {
    let place = Place::new();
    let gate = place.gate("gate");
    let daemon = format!(
        "import os, sys\n\
         print('before', flush=True)\n\
         if os.fork() == 0:\n\
         \x20   os.setsid()\n\
         \x20   open({gate:?}, 'w').close()\n\
         \x20   open({gate:?}).read()\n\
         \x20   os._exit(0)\n\
         print(2.5)\n"
    );
    fs::write(place.path("daemon.py"), daemon).unwrap();
    let mut attempt = place.start(&place.spec(["python3", "daemon.py"]));
    wait_at(&gate);
    assert_eq!(value(&finished(attempt.wait().unwrap())), Ok(2.5));
    open(&gate);
}

#[test]
fn closing_the_output_is_not_ending() {
    let place = Place::new();
    let gate = place.gate("gate");
    let script = format!(
        "echo 1.5; exec >&- 2>&-; : < '{}'; echo '{{\"value\": 2}}' > $UNYOKE_RESULT",
        gate.display()
    );
    let mut attempt = place.start(&place.script(&script));
    open(&gate);
    assert_eq!(value(&finished(attempt.wait().unwrap())), Ok(2.0));
}

// Found again.

#[test]
fn an_attempt_goes_through_its_states() {
    let place = Place::new();
    let gate = place.gate("gate");
    let folder = place.attempt();
    assert_eq!(Attempt::find(&folder).unwrap(), State::NotStarted);
    let script = format!("cat '{}'; echo 1.5", gate.display());
    let mut attempt = place.start(&place.script(&script));
    // Never anything else, from the first moment on.
    for _ in 0..100 {
        assert_eq!(attempt.poll().unwrap(), State::Running);
    }
    open(&gate);
    let outcome = finished(attempt.wait().unwrap());
    assert_eq!((outcome.evaluation, outcome.attempt), (1, 1));
    assert!(outcome.started <= outcome.ended);
    assert_eq!(finished(Attempt::find(&folder).unwrap()), outcome);
    attempt.stop().unwrap();
    assert_eq!(attempt.poll().unwrap(), State::Finished(Box::new(outcome)));
}

#[test]
fn a_fresh_attempt_is_never_taken_for_a_dead_one() {
    let place = Place::new();
    let layout = Layout::new(place.path("runs"));
    let folder = layout.attempt(1, 1);
    let script = place.script("echo 1.5");
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut seen = vec![];
            loop {
                match Attempt::find(&folder).unwrap() {
                    State::Finished(_) => return seen,
                    State::NotStarted | State::Running => {}
                    other => seen.push(other),
                }
            }
        });
        let mut attempt = Attempt::start(&folder, &script, &supervisor()).unwrap();
        attempt.wait().unwrap();
        assert_eq!(watcher.join().unwrap(), []);
    });
}

#[test]
fn the_result_is_found_after_the_program_was_killed() {
    let place = Place::new();
    let gate = place.gate("gate");
    let folder = place.attempt();
    let script = place.path("script.sh");
    fs::write(&script, format!("cat '{}'; echo 1.5", gate.display())).unwrap();
    let mut parent = Command::new(PROGRAM)
        .args(["start", folder.to_str().unwrap(), "/bin/sh", script.to_str().unwrap()])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(parent.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(Attempt::find(&folder).unwrap(), State::Running);
    let mut attempt = Attempt::open(&folder);
    assert_eq!(attempt.supervisor_id(), None);
    open(&gate);
    assert_eq!(value(&finished(attempt.wait().unwrap())), Ok(1.5));
}

#[test]
fn an_attempt_of_a_killed_program_can_be_stopped() {
    let place = Place::new();
    let gate = place.gate("gate");
    let script = place.path("script.sh");
    fs::write(&script, format!(": > '{}'; sleep 1000", gate.display())).unwrap();
    let mut parent = Command::new(PROGRAM)
        .args(["start", place.attempt().to_str().unwrap(), "/bin/sh", script.to_str().unwrap()])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    wait_at(&gate);
    parent.kill().unwrap();
    parent.wait().unwrap();
    let mut attempt = Attempt::open(place.attempt());
    attempt.stop().unwrap();
    assert_eq!(finished(attempt.wait().unwrap()).result, Err(Failure::Stopped));
}

#[test]
fn a_killed_supervisor_leaves_an_orphan_then_a_dead_attempt() {
    let place = Place::new();
    let (ready, gate) = (place.gate("ready"), place.gate("gate"));
    let script = format!(": > '{}'; cat '{}'; echo 1.5", ready.display(), gate.display());
    let mut attempt = place.start(&place.script(&script));
    wait_at(&ready);
    kill(attempt.supervisor_id().unwrap());
    // The end of the supervisor. Its command is killed with it, at once or a moment later.
    while attempt.poll().unwrap() == State::Running {}
    let left = attempt.poll().unwrap();
    assert!(matches!(left, State::Orphaned | State::Dead(_)), "{left:?}");
    // The gate stays closed: what was left is not waited for but killed.
    let state = attempt.wait().unwrap();
    assert_eq!(attempt.supervisor_id(), None);
    assert_eq!(state, State::Dead(Death::Vanished { said: None }));
}

#[test]
#[cfg(target_os = "linux")]
fn an_orphan_can_be_stopped() {
    let place = Place::new();
    let ready = place.gate("ready");
    let script = format!("while :; do : > '{}'; sleep 1000; done", ready.display());
    let mut attempt = place.start(&place.script(&script));
    wait_at(&ready);
    let command = group(&place.attempt());
    kill(attempt.supervisor_id().unwrap());
    while attempt.poll().unwrap() == State::Running {}
    attempt.stop().unwrap();
    assert!(matches!(attempt.wait().unwrap(), State::Dead(Death::Vanished { .. })));
    while runs(command) {}
}

#[test]
#[cfg(target_os = "linux")]
fn a_command_dies_with_its_supervisor() {
    let place = Place::new();
    let ready = place.gate("ready");
    // No input of ours is kept open, and nobody would stop it.
    let script = format!("exec < /dev/null; : > '{}'; exec sleep 1000", ready.display());
    let mut attempt = place.start(&place.script(&script));
    wait_at(&ready);
    let command = group(&place.attempt());
    assert!(runs(command));
    kill(attempt.supervisor_id().unwrap());
    while runs(command) {}
    assert!(matches!(attempt.wait().unwrap(), State::Dead(Death::Vanished { .. })));
}

#[test]
#[cfg(target_os = "linux")]
fn an_orphan_that_redirects_its_input_is_not_taken_for_dead() {
    let place = Place::new();
    let ready = place.gate("ready");
    // The shell dies with the supervisor; what it started in a group of its own does not.
    let script = format!(
        "setsid sh -c \"echo \\$\\$ > grandchild; : > '{}'; sleep 1000\" < /dev/null & wait",
        ready.display()
    );
    let mut attempt = place.start(&place.script(&script));
    wait_at(&ready);
    let grandchild: u32 =
        fs::read_to_string(place.path("grandchild")).unwrap().trim().parse().unwrap();
    kill(attempt.supervisor_id().unwrap());
    while attempt.poll().unwrap() == State::Running {}
    assert_eq!(attempt.poll().unwrap(), State::Orphaned);
    assert!(matches!(attempt.wait().unwrap(), State::Dead(Death::Vanished { .. })));
    while runs(grandchild) {}
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_is_not_the_orphan_is_left_alone() {
    let place = Place::new();
    let (ready, gate) = (place.gate("ready"), place.gate("gate"));
    // With an empty environment nobody can tell that it is of this attempt; its input is locked.
    let script = format!("env -i sh -c \": > '{}'; cat '{}'\"; :", ready.display(), gate.display());
    let mut attempt = place.start(&place.script(&script));
    wait_at(&ready);
    kill(attempt.supervisor_id().unwrap());
    while attempt.poll().unwrap() == State::Running {}
    // As if the number had gone to another process: this one.
    fs::write(place.attempt().join("group"), std::process::id().to_string()).unwrap();
    assert!(matches!(attempt.stop(), Err(Error::Orphan { group: Some(_), .. })));
    fs::write(place.attempt().join("group"), "").unwrap();
    assert!(matches!(attempt.stop(), Err(Error::Orphan { group: None, .. })));
    open(&gate);
    attempt.wait().unwrap();
}

#[test]
fn the_command_file_is_for_nobody_else_and_secrets_are_not_inherited() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let folder = place.attempt();
    let mut program = Command::new(PROGRAM);
    let script =
        "echo \"${PGPASSWORD-none} ${UNYOKE_STORE-none} ${UNYOKE_LAUNCHED_BY-none}\" >&2; echo 1";
    program.args(["start"]).arg(&folder).args(["/bin/sh", "-c", script]);
    let secrets = [("PGPASSWORD", "hunter2"), ("UNYOKE_STORE", "postgres://a:hunter2@h/d?study=s")];
    let mut program = program.envs(secrets).stdout(std::process::Stdio::null()).spawn().unwrap();
    while !folder.join("exit.json").exists() {
        std::thread::sleep(Duration::from_millis(10));
    }
    program.kill().unwrap();
    program.wait().unwrap();
    assert_eq!(fs::read_to_string(folder.join("stderr")).unwrap(), "none none none\n");
    let mode = fs::metadata(folder.join("command.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_crash_before_the_supervisor_began_is_seen_as_death() {
    let place = Place::new();
    let absent = Supervisor::new("/no/such/supervisor", ["supervise"]);
    let error = Attempt::start(&place.attempt(), &place.script("echo 1"), &absent).unwrap_err();
    assert!(matches!(error, Error::Supervisor { .. }));
    let dead = State::Dead(Death::NeverBegan { said: None });
    // Not `find`: a process that another test is just starting may hold the lock for an instant.
    assert_eq!(Attempt::open(place.attempt()).wait().unwrap(), dead);
    // A folder without anything in it is no better.
    fs::create_dir_all(place.path("runs/000002/1")).unwrap();
    assert_eq!(Attempt::find(&place.path("runs/000002/1")).unwrap(), dead);
}

#[test]
fn a_supervisor_that_gives_up_has_last_words() {
    let place = Place::new();
    let odd = Supervisor::new(PROGRAM, ["dance"]);
    let mut attempt = Attempt::start(&place.attempt(), &place.script("echo 1"), &odd).unwrap();
    let State::Dead(death) = attempt.wait().unwrap() else { panic!() };
    assert!(death.to_string().contains("cannot be called with [\"dance\""), "{death}");
}

#[test]
fn a_torn_exit_file_is_a_death_with_a_reason() {
    let place = Place::new();
    place.run(&place.script("echo 1.5"));
    let exit = place.attempt().join("exit.json");
    let whole = fs::read(&exit).unwrap();
    for torn in [&whole[..0], &whole[..1], &whole[..whole.len() / 2], &whole[..whole.len() - 3]] {
        fs::write(&exit, torn).unwrap();
        let State::Dead(Death::Damaged { reason }) = Attempt::find(&place.attempt()).unwrap()
        else {
            panic!()
        };
        assert!(!reason.is_empty());
    }
    fs::write(&exit, vec![0; 5000]).unwrap();
    assert!(matches!(Attempt::find(&place.attempt()).unwrap(), State::Dead(Death::Damaged { .. })));
    fs::remove_file(&exit).unwrap();
    assert!(matches!(
        Attempt::find(&place.attempt()).unwrap(),
        State::Dead(Death::Vanished { .. })
    ));
    fs::write(&exit, &whole).unwrap();
    assert_eq!(value(&finished(Attempt::find(&place.attempt()).unwrap())), Ok(1.5));
}

#[test]
fn an_unfinished_exit_file_is_no_outcome() {
    let place = Place::new();
    let gate = place.gate("gate");
    let mut attempt = place.start(&place.script(&format!("cat '{}'; echo 1", gate.display())));
    while !place.attempt().join("exit.json.tmp").exists() {}
    assert_eq!(attempt.poll().unwrap(), State::Running);
    open(&gate);
    assert_eq!(value(&finished(attempt.wait().unwrap())), Ok(1.0));
    assert!(!place.attempt().join("exit.json.tmp").exists());
}

#[test]
fn an_attempt_is_started_once() {
    let place = Place::new();
    let spec = place.script("echo 1.5");
    place.run(&spec);
    let again = Attempt::start(&place.attempt(), &spec, &supervisor()).unwrap_err();
    assert!(matches!(again, Error::AlreadyStarted { .. }));
    let supervised = Command::new(PROGRAM).arg("supervise").arg(place.attempt()).output().unwrap();
    assert!(!supervised.status.success());
    assert_eq!(value(&finished(Attempt::find(&place.attempt()).unwrap())), Ok(1.5));
    let entries = fs::read_dir(place.path("runs/000001")).unwrap().count();
    assert_eq!(entries, 1, "nothing is left of the second start");
}

#[test]
fn of_many_who_start_the_same_attempt_one_succeeds() {
    let place = Place::new();
    let spec = place.script("echo 1.5; echo ran >> runs.log");
    let starts: Vec<bool> = std::thread::scope(|scope| {
        let start = || Attempt::start(&place.attempt(), &spec, &supervisor()).is_ok();
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(starts.iter().filter(|started| **started).count(), 1);
    Attempt::open(place.attempt()).wait().unwrap();
    assert_eq!(fs::read_to_string(place.path("runs.log")).unwrap(), "ran\n");
}

#[test]
fn a_second_supervisor_by_hand_is_refused() {
    let place = Place::new();
    let gate = place.gate("gate");
    let mut attempt = place.start(&place.script(&format!("cat '{}'; echo 1", gate.display())));
    let second = Command::new(PROGRAM)
        .arg("supervise")
        .arg(place.attempt())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(!second.status.success());
    assert!(String::from_utf8_lossy(&second.stderr).contains("started before"));
    open(&gate);
    assert_eq!(value(&finished(attempt.wait().unwrap())), Ok(1.0));
}

#[test]
fn later_attempts_have_folders_of_their_own() {
    let place = Place::new();
    let layout = Layout::new(place.path("runs"));
    for attempt in 1..=3 {
        let spec = Spec { attempt, ..place.script("echo $UNYOKE_ATTEMPT") };
        let mut started =
            Attempt::start(&layout.attempt(1, attempt), &spec, &supervisor()).unwrap();
        assert_eq!(value(&finished(started.wait().unwrap())), Ok(f64::from(attempt)));
    }
    assert_eq!(layout.attempts(1).unwrap(), [1, 2, 3]);
}

#[test]
fn no_zombie_remains_whether_polled_waited_for_or_dropped() {
    let zombie = |process: u32| {
        let output = Command::new("ps").args(["-o", "stat=", "-p", &process.to_string()]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().starts_with('Z')
    };
    let place = Place::new();
    let mut polled = place.start(&place.script("echo 1"));
    let supervisor_id = polled.supervisor_id().unwrap();
    while polled.supervisor_id().is_some() {
        polled.poll().unwrap();
    }
    assert!(!zombie(supervisor_id));
    let place = Place::new();
    let gate = place.gate("gate");
    let dropped = place.start(&place.script(&format!("cat '{}'; echo 1", gate.display())));
    let supervisor_id = dropped.supervisor_id().unwrap();
    drop(dropped);
    open(&gate);
    assert_eq!(value(&finished(Attempt::open(place.attempt()).wait().unwrap())), Ok(1.0));
    // Reaped by a thread that may be a moment late; if it never is, this never ends.
    while zombie(supervisor_id) {}
}

#[test]
fn ctrl_c_in_the_terminal_reaches_neither_supervisor_nor_command() {
    let place = Place::new();
    let (ready, gate) = (place.gate("ready"), place.gate("gate"));
    let script = format!(": > '{}'; cat '{}'; echo 1", ready.display(), gate.display());
    let mut attempt = place.start(&place.script(&script));
    wait_at(&ready);
    let group_of = |process: u32| {
        let output = Command::new("ps").args(["-o", "pgid=", "-p", &process.to_string()]).output();
        String::from_utf8(output.unwrap().stdout).unwrap().trim().parse::<u32>().unwrap()
    };
    let own = group_of(std::process::id());
    let supervisor_id = attempt.supervisor_id().unwrap();
    assert_eq!(group_of(supervisor_id), supervisor_id);
    assert_ne!(supervisor_id, own);
    open(&gate);
    attempt.wait().unwrap();
    assert!(![own, supervisor_id].contains(&group(&place.attempt())));
}

#[test]
fn a_folder_that_vanishes_is_an_error_and_no_panic() {
    let place = Place::new();
    let gate = place.gate("gate");
    let mut attempt = place.start(&place.script(&format!("cat '{}'; echo 1", gate.display())));
    while !place.attempt().join("group").exists() {}
    fs::remove_dir_all(place.attempt()).unwrap();
    open(&gate);
    assert_eq!(attempt.wait().unwrap(), State::NotStarted);
    let mut file = File::create(place.path("file")).unwrap();
    file.write_all(b"not a folder").unwrap();
    assert!(Attempt::find(&place.path("file/1")).is_err());
    let below = Attempt::start(&place.path("file/1"), &place.script("echo 1"), &supervisor());
    assert!(matches!(below, Err(Error::Io { .. })));
}
