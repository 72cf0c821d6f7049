//! What nobody means to write and somebody will: study files, values, outputs and disks. The program
//! says what is wrong, ends with a documented code, and loses nothing.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;
use std::process::{Command, Output};

use place::{Place, TWO, stderr};

/// A good study file, to be spoilt.
const GOOD: &str = r#"[study]
name = "beam"

[budget]
cost = 20

[run]
slots = 2

[parameters.length]
low = 0.1
high = 2.0

[objectives.mass]
goal = "minimise"
cost = 1
command = ["/bin/echo", "{length}"]
timeout = "1m"
"#;

/// Runs `unyoke check` on a file, which must not leave anything behind nor panic.
fn check(place: &Place, content: &[u8]) -> Output {
    fs::write(place.path("study.toml"), content).unwrap();
    let output = place.run(&["check"]);
    let said = stderr(&output);
    assert!(!said.contains("panicked"), "{said}");
    assert!(!place.path("study.db").exists() && !place.path("study.runs").exists());
    output
}

/// Replaces, in the good file, the first by the second; the third is what must be said.
const SPOILT: [(&str, &str, &str); 47] = [
    // Not a study file at all.
    ("[study]", "[study", "unclosed table"),
    ("name = \"beam\"", "name = \"beam", "invalid basic string"),
    ("name = \"beam\"", "name = 'be\u{0}am'", "invalid"),
    ("name = \"beam\"", "name = beam", "string values must be quoted"),
    ("cost = 20", "cost = 20 21", "must be quoted"),
    ("cost = 20", "<<<<<<< HEAD", "invalid"),
    // Names.
    ("[budget]", "[budgte]", "did you mean \"budget\"?"),
    ("goal =", "gaol =", "did you mean \"goal\"?"),
    ("slots = 2", "slots = 2\nslots = 3", "duplicate key"),
    ("[objectives.mass]", "[parameters.length]\nlow = 1\n[objectives.mass]", "duplicate key"),
    ("[objectives.mass]", "[objectives.length]", "a parameter as well"),
    ("[parameters.length]", "[parameters.\"\"]", "name"),
    ("[parameters.length]", "[parameters.\"a\\u0000b\"]", "name"),
    ("[parameters.length]", "[[parameters]]\nname = \"length\"", "must be a table, not a list"),
    // Types.
    ("name = \"beam\"", "name = 3", "text"),
    ("name = \"beam\"", "seed = -1", "seed"),
    ("name = \"beam\"", "seed = 1.5", "seed"),
    ("name = \"beam\"", "algorithm = \"c-mkog\"", "c-mokg"),
    ("name = \"beam\"", "store = \"mysql://x\"", "postgres://"),
    ("low = 0.1", "low = \"0.1\"", "number"),
    ("low = 0.1", "low = true", "number"),
    ("low = 0.1", "low = 0,1", "unexpected"),
    ("low = 0.1", "low = nan", "low"),
    ("low = 0.1", "low = -inf", "low"),
    ("low = 0.1", "low = 1e400", "low"),
    ("low = 0.1", "low = 3", "low"),
    ("low = 0.1", "low = 0\nscale = \"log\"", "log"),
    ("low = 0.1", "low = 0.1\ntype = \"integer\"", "integer"),
    ("low = 0.1", "low = 0.1\nchoices = [\"a\"]", "choices"),
    ("low = 0.1\nhigh = 2.0", "choices = []", "choices"),
    ("low = 0.1\nhigh = 2.0", "choices = [\"a\", \"a\"]", "\"a\""),
    ("low = 0.1\nhigh = 2.0", "choices = [1, 2]", "text"),
    ("low = 0.1\nhigh = 2.0", "", "low"),
    // Prices and limits.
    ("cost = 1\n", "cost = 0\n", "cost"),
    ("cost = 1\n", "cost = -1\n", "cost"),
    ("cost = 1\n", "cost = nan\n", "cost"),
    ("cost = 20", "cost = -20", "cost"),
    ("cost = 20", "evaluations = { mas = 3 }", "did you mean \"mass\"?"),
    ("cost = 20", "wall_time = 2", "\"90s\""),
    ("slots = 2", "slots = 0", "slots"),
    ("timeout = \"1m\"", "timeout = \"soon\"", "timeout"),
    ("timeout = \"1m\"", "retries = -1", "retries"),
    ("timeout = \"1m\"", "noise = -0.5", "noise"),
    // Commands.
    ("[\"/bin/echo\", \"{length}\"]", "\"/bin/echo {length}\"", "list"),
    ("[\"/bin/echo\", \"{length}\"]", "[]", "program"),
    ("{length}", "{lenght}", "did you mean {length}?"),
    ("{length}", "{length", "write {{ for a brace"),
];

#[test]
fn spoilt_study_files_are_refused_with_their_lines() {
    let place = Place::new(TWO);
    for (from, to, words) in SPOILT {
        assert!(GOOD.contains(from), "{from}");
        let output = check(&place, GOOD.replacen(from, to, 1).as_bytes());
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{to:?}: {said}");
        assert!(said.contains("study.toml:"), "{to:?} has no line:\n{said}");
        assert!(said.contains(words), "{to:?} does not say {words:?}:\n{said}");
    }
}

#[test]
fn files_that_are_no_text_or_hold_nothing_are_refused() {
    let place = Place::new(TWO);
    let long = format!("{GOOD}#{}\nx = 1\n", "x".repeat(10 << 20));
    let contents: [(&[u8], &str); 5] = [
        (b"", "[parameters"),
        (b"# nothing but a comment\n", "[parameters"),
        (b"\xff\xfe[\0s\0", "UTF-8"),
        (b"{\"parameters\": {}}", "invalid"),
        (long.as_bytes(), "there is no field objectives.mass.x"),
    ];
    for (content, words) in contents {
        let output = check(&place, content);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{said}");
        assert!(said.contains(words), "it does not say {words:?}:\n{said}");
        assert!(said.len() < 10_000, "nobody reads {} bytes", said.len());
    }
    fs::remove_file(place.path("study.toml")).unwrap();
    fs::create_dir(place.path("study.toml")).unwrap();
    assert!(place.fails(&["run"], 3).contains("study.toml"));
}

#[test]
fn odd_study_files_that_make_sense_run() {
    let place = Place::new(TWO);
    let odd = [
        GOOD.replace('\n', "\r\n"),
        format!("\u{feff}{GOOD}"),
        GOOD.replace("length", "\"Länge der Träger 📏, in 'm'\"")
            .replace("\"{\"", "\"{")
            .replace("\"}\"", "}\""),
        GOOD.replace("[parameters.length]", "[parameters.\"../../length\"]")
            .replace("{length}", "{../../length}"),
        GOOD.replace("mass", "\"--help; rm -rf .\\n\""),
        GOOD.replace("high = 2.0", "high = 0.1"),
    ];
    for text in odd {
        let output = check(&place, text.as_bytes());
        assert_eq!(output.status.code(), Some(0), "{text}\n{}", stderr(&output));
        place.write("study.toml", &format!("{text}{}", place::ENGINE));
        let done = place.json(&["run", "--cost", "2"]);
        assert!(done["finished"].as_u64() > Some(0), "{text}: {done}");
        for name in ["study.db", "study.html", "study.toml"] {
            fs::remove_file(place.path(name)).unwrap();
        }
        fs::remove_dir_all(place.path("study.runs")).unwrap();
    }
}

#[test]
fn no_value_reaches_a_shell() {
    let values = [
        "; rm -rf canary",
        "$(touch pwned)",
        "`touch pwned`",
        "| touch pwned",
        "> pwned",
        "a\nb",
        "\n",
        "-rf",
        "--help",
        " ",
        "*",
        "'\"",
        "\\",
        "NaN",
        "%s%n",
        "{kind}",
        "$HOME",
        "😀",
        "\u{1b}[31m",
    ];
    let choices = serde_json::to_string(&values).unwrap();
    let place = Place::new(&format!(
        "[initial]\ndesigns = 2\n[parameters.kind]\nchoices = {choices}\n[objectives.f]\n\
         goal = \"minimise\"\ncost = 1\ncommand = [\"/bin/sh\", \"see.sh\", \"{{kind}}\"]\n"
    ));
    place.write("canary", "");
    place.write(
        "see.sh",
        "printf '%s' \"$1\" > seen.$UNYOKE_EVALUATION\n\
         test \"$1\" = \"$UNYOKE_PARAM_KIND\" || exit 1\necho 1\n",
    );
    let done = place.json(&["run"]);
    assert_eq!((&done["finished"], &done["failed"]), (&values.len().into(), &0.into()));
    let seen =
        (0..values.len()).map(|i| fs::read_to_string(place.path(&format!("seen.{i}"))).unwrap());
    let (mut seen, mut expected) = (seen.collect::<Vec<_>>(), values.to_vec());
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected);
    assert!(place.path("canary").exists() && !place.path("pwned").exists());
    let page = fs::read_to_string(place.path("study.html")).unwrap();
    assert!(!page.contains('\u{1b}'), "not even the page has control characters");
}

/// Scripts and what becomes of their output: the value, or words of the reason.
const OUTPUTS: [(&str, Result<f64, &str>); 30] = [
    ("echo 1.5", Ok(1.5)),
    ("printf 1.5", Ok(1.5)),
    ("printf '1.5\\r\\n'", Ok(1.5)),
    ("printf 'log\\n  1.5  \\n\\n  \\n'", Ok(1.5)),
    ("echo -1e-300", Ok(-1e-300)),
    ("echo 6.02e23 >&1; echo 7 >&2", Ok(6.02e23)),
    ("yes | head -c 20000000; echo 2", Ok(2.0)),
    ("echo '{\"value\": 3}' > \"$UNYOKE_RESULT\"; echo 4", Ok(3.0)),
    ("exec >&-; echo 5 > \"$UNYOKE_RESULT\"", Ok(5.0)),
    ("", Err("printed nothing")),
    ("echo; echo ' '", Err("printed nothing")),
    ("echo nan", Err("nan")),
    ("echo -Infinity", Err("-Infinity")),
    ("echo 1e400", Err("1e400")),
    ("echo 1_000", Err("1_000")),
    ("echo 1,5", Err("1,5")),
    ("echo 0x10", Err("0x10")),
    ("echo 1 2", Err("1 2")),
    ("echo 1.5 kg", Err("1.5 kg")),
    ("echo 1; echo done", Err("done")),
    ("printf '\\377\\376\\n'", Err("not text")),
    ("head -c 10000000 /dev/zero | tr '\\0' 1", Err("too long")),
    ("echo 1; exit 3", Err("exit code 3")),
    ("echo 1; kill -SEGV $$", Err("SIGSEGV")),
    ("echo 'no licence' >&2; exit 1", Err("no licence")),
    ("echo '{\"value\": NaN}' > \"$UNYOKE_RESULT\"", Err("the result file")),
    ("echo '{\"value\": \"3\"}' > \"$UNYOKE_RESULT\"", Err("the result file")),
    ("echo '{}' > \"$UNYOKE_RESULT\"; echo 1", Err("the result file")),
    ("mkdir \"$UNYOKE_RESULT\"", Err("the result file")),
    ("sleep 1000 & wait", Err("took longer than 0.5 s")),
];

#[test]
fn outputs_become_values_or_failures_with_reasons() {
    for (script, expected) in OUTPUTS {
        let timeout = if script.contains("sleep") { "500ms" } else { "10m" };
        let place = Place::new(&format!(
            "[budget]\ncost = 1\n[parameters.x]\nlow = 0\nhigh = 1\n[objectives.f]\n\
             goal = \"minimise\"\ncost = 1\ntimeout = \"{timeout}\"\n\
             command = [\"/bin/sh\", \"-c\", {}]\n",
            serde_json::Value::from(script.replace('{', "{{").replace('}', "}}"))
        ));
        let output = place.run(&["run", "--no-report"]);
        let row = place.evaluations().remove(0);
        match expected {
            Ok(value) => {
                assert_eq!(output.status.code(), Some(0), "{script:?}: {}", stderr(&output));
                assert_eq!(row["f"].parse(), Ok(value), "{script:?}: {row:?}");
            }
            Err(words) => {
                assert_eq!(output.status.code(), Some(1), "{script:?}: {}", stderr(&output));
                assert_eq!(row["status"], "failed", "{script:?}");
                assert!(row["reason"].contains(words), "{script:?}: {}", row["reason"]);
                assert!(row["reason"].len() < 1000, "{script:?}: {}", row["reason"]);
                assert!(stderr(&output).contains(words), "{script:?}: {}", stderr(&output));
            }
        }
    }
}

#[test]
fn programs_that_cannot_be_started_cost_nothing() {
    for (program, words) in
        [("no-such-program", "no-such-program"), ("./study.toml", "study.toml"), ("/", "/")]
    {
        let text = TWO.replace("\"/bin/sh\", \"log.sh\", \"echo\"", &format!("{program:?}"));
        let place = Place::new(&text.replace("cost = 18", "cost = 1"));
        let said = place.fails(&["run", "--no-report"], 1);
        assert!(said.contains(words) && said.contains("mass cannot be measured"), "{said}");
        assert_eq!(place.spent(), 0.0);
        place.write("study.toml", &format!("{TWO}{}", place::ENGINE));
        place.text(&["run", "--no-report"]);
        assert_eq!(place.spent(), 18.0);
    }
}

/// A run in which no file may grow beyond so many blocks, as on a disk that is full.
fn run_with_room(place: &Place, blocks: usize) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" run --no-report");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_unyoke")]);
    command.current_dir(place.path("")).output().unwrap()
}

#[test]
fn a_full_disk_stops_a_run_that_goes_on_when_there_is_room() {
    let place = Place::new(TWO);
    let output = run_with_room(&place, 0);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("study.db failed"), "{}", stderr(&output));
    place.text(&["run", "--no-report", "--cost", "9"]);
    let before = place.evaluations();
    let output = run_with_room(&place, 0);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    assert!(stderr(&output).contains("study.db failed"), "{}", stderr(&output));
    assert_eq!(place.evaluations(), before);
    place.text(&["run", "--no-report"]);
    assert_eq!(place.spent(), 18.0);
    assert!(place.starts().values().all(|times| *times == 1));
    let full = place.fails(&["report", "--out", "/dev/full"], 1);
    assert!(full.contains("/dev/full"), "{full}");
}

#[test]
fn a_table_of_ten_thousand_rows_is_told_row_by_row() {
    let place = Place::new(TWO);
    let mut table = "x,mass\n".to_owned();
    for i in 0..10_000 {
        let value = match i % 2500 {
            7 => "\"1,5\"".to_owned(),
            8 => "0x10".to_owned(),
            9 => "1e5 ".to_owned(),
            _ => i.to_string(),
        };
        table += &format!("{},{value}\n", f64::from(i) / 1e4);
    }
    place.write("old.csv", &table);
    let said = place.fails(&["import", "old.csv"], 1);
    assert!(said.contains("old.csv:9: mass is \"1,5\""), "{said}");
    assert!(said.contains("8 mistakes, nothing was imported"), "{said}");
    let done = place.json(&["import", "old.csv", "--skip-bad"]);
    assert_eq!(done["imported"], 9992);
    assert_eq!(place.json(&["import", "old.csv", "--skip-bad"])["known"], 9992);
}

#[test]
fn names_and_choices_of_any_kind_survive_export_and_import() {
    let text = r#"
[parameters." x "]
low = -2
high = 1
[parameters."=kind"]
choices = ["=1+1", "-oak", " steel ", "'tin", "@a,b", "\"q\"\nnew"]
[objectives."+mass"]
goal = "minimise"
cost = 1
"#;
    let place = Place::new(text);
    let rows = "-1.5,=1+1,-2\n0,-oak,1\n1,\" steel \",3\n0.5,'tin,4\n0.25,\"@a,b\",5\n0.75,\"\"\"q\"\"\nnew\",6\n";
    place.write("old.csv", &format!("\" x \",=kind,+mass\n{rows}"));
    assert_eq!(place.json(&["import", "old.csv"])["imported"], 6);
    let exported = place.text(&["export", "--as", "designs"]);
    let mut reader = csv::ReaderBuilder::new().has_headers(false).from_reader(exported.as_bytes());
    for cell in reader
        .records()
        .flat_map(|record| record.unwrap().iter().map(str::to_owned).collect::<Vec<String>>())
    {
        let is_formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
        assert!(!is_formula, "{cell:?} would be carried out");
    }
    assert!(exported.contains("-1.5,'=1+1,-2"), "{exported}");
    place.write("copy.csv", &exported);
    let again = place.json(&["import", "copy.csv"]);
    assert_eq!((&again["imported"], &again["known"]), (&0.into(), &6.into()), "{exported}");
    assert!(place.text(&["export"]).contains("'+mass"));
}

#[test]
fn a_report_is_not_written_through_a_link() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "10"]);
    place.write("precious.txt", "mine");
    std::os::unix::fs::symlink(place.path("precious.txt"), place.path("study.html")).unwrap();
    let said = place.fails(&["report"], 1);
    assert!(said.contains("study.html") && said.contains("symbolic link"), "{said}");
    assert_eq!(fs::read_to_string(place.path("precious.txt")).unwrap(), "mine");
    fs::remove_file(place.path("study.html")).unwrap();
    place.text(&["report"]);
    place.text(&["report"]);
    assert!(fs::read_to_string(place.path("study.html")).unwrap().starts_with("<!DOCTYPE html>"));
}

#[test]
fn nobody_listening_is_no_reason_to_panic() {
    let place = Place::new(TWO);
    place.text(&["run", "--no-report", "--cost", "10"]);
    place.write("bad.csv", "x,mass\nzero,1\n");
    place.write("bad.toml", "[study\n");
    let commands: [&[&str]; 14] = [
        &["check"],
        &["check", "bad.toml"],
        &["status"],
        &["front"],
        &["explain"],
        &["report"],
        &["export"],
        &["schema"],
        &["completions", "bash"],
        &["import", "bad.csv"],
        &["tell", "99", "1"],
        &["status", "missing.toml"],
        &["--help"],
        &["init", "new.toml"],
    ];
    // Full devices refuse every byte, as a pipe does whose reader is gone; 101 is a panic.
    for arguments in commands {
        for (out, err) in
            [("/dev/full", "/dev/null"), ("/dev/null", "/dev/full"), ("/dev/full", "/dev/full")]
        {
            let open = |path| fs::OpenOptions::new().write(true).open(path).unwrap();
            let mut command = place.command(arguments);
            let status = command.stdout(open(out)).stderr(open(err)).status().unwrap();
            assert_ne!(status.code(), Some(101), "{arguments:?} > {out} 2> {err}");
            assert!(status.code().is_some(), "{arguments:?}: {status}");
        }
    }
}

#[test]
fn names_and_reasons_do_not_steer_the_terminal() {
    let place = Place::new(&TWO.replace("[objectives.mass]", "[objectives.\"ma\\u001b[2Jss\"]"));
    place.text(&["ask"]);
    place.text(&["tell", "0", "--failed", "red \u{1b}[31m\rspoof\u{7}"]);
    place.text(&["ask"]);
    for arguments in [&["status"][..], &["explain"], &["tell", "0", "1"]] {
        let output = place.run(arguments);
        let shown = [output.stdout, output.stderr].concat();
        let steering = |byte: &u8| *byte < 0x20 && *byte != b'\n';
        assert!(!shown.iter().any(steering), "{}", String::from_utf8_lossy(&shown));
    }
    assert!(place.text(&["status"]).contains("ma\\u{1b}[2Jss"));
}
