//! Three weeks of a laboratory through the program: import, asks with a machine down, corrections,
//! amendments, a worksheet, a confirmed front.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod place;

use std::fs;

use place::{ENGINE, Place, TWO, stderr};

/// What is measured by hand: an assay gives both outputs, a titration the yield alone.
const REACTION: &str = "
[study]
name = \"reaction\"
[budget]
cost = 200
[initial]
designs = 4
[parameters.temperature]
low = 40
high = 120
[parameters.time]
low = 10
high = 240
scale = \"log\"
[parameters.catalyst]
choices = [\"acid\", \"enzyme\"]
[objectives.yield]
direction = \"maximise\"
noise = \"unknown\"
[objectives.impurity]
direction = \"minimise\"
noise = \"unknown\"
[measurements.assay]
outputs = [\"yield\", \"impurity\"]
cost = 4
[measurements.titration]
outputs = [\"yield\"]
cost = 1
";

/// What is true.
fn reaction(temperature: f64, time: f64, catalyst: &str) -> [f64; 3] {
    let speed = if catalyst == "enzyme" { 1.4 } else { 1.0 };
    let warm = (temperature - 85.0) / 40.0;
    let long = (time.ln() - 4.0) / 2.0;
    let gained = 80.0 * speed / 1.4 - 25.0 * warm * warm - 15.0 * long * long;
    let impurity = 2.0 + 3.0 * (warm + 1.0).powi(2) + 2.0 * (long + 1.0).max(0.0);
    [gained, impurity, 1.0 + 0.01 * temperature + 0.002 * time]
}

/// Every line that the laboratory sees, in order.
struct Laboratory {
    place: Place,
    transcript: String,
}

impl Laboratory {
    /// What somebody types, and what the program answers.
    fn says(&mut self, arguments: &[&str]) -> String {
        let output = self.place.run(arguments);
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &stderr(&output);
        assert!(output.status.success(), "{arguments:?}: {said}");
        self.transcript += &format!("$ unyoke {}\n{said}", arguments.join(" "));
        said
    }

    fn refuses(&mut self, arguments: &[&str], code: i32) -> String {
        let said = self.place.fails(arguments, code);
        self.transcript += &format!("$ unyoke {}\n{said}", arguments.join(" "));
        said
    }

    fn numbers(&self, value: &serde_json::Value) -> (u64, String, [f64; 3]) {
        let design = &value["design"];
        let real = |name: &str| design[name].as_f64().unwrap();
        let catalyst = design["catalyst"].as_str().unwrap();
        let truth = reaction(real("temperature"), real("time"), catalyst);
        (
            value["evaluation"].as_u64().unwrap(),
            value["measurement"].as_str().unwrap().to_owned(),
            truth,
        )
    }

    /// Asks, measures, and tells.
    fn measures(&mut self, arguments: &[&str]) -> (u64, String) {
        let asked = self.place.json(arguments);
        let (id, measurement, truth) = self.numbers(&asked[0]);
        self.tells(id, &measurement, truth);
        (id, measurement)
    }

    /// Tells what is true.
    fn tells(&mut self, id: u64, measurement: &str, truth: [f64; 3]) {
        let id = id.to_string();
        let values: Vec<String> = match measurement {
            "assay" => vec![format!("yield={:.2}", truth[0]), format!("impurity={:.2}", truth[1])],
            "titration" => vec![format!("{:.1}", truth[0])],
            _ => vec![format!("{:.2}", truth[2])],
        };
        let mut told = vec!["tell", &id];
        told.extend(values.iter().map(String::as_str));
        self.says(&told);
    }
}

/// A table as a German spreadsheet writes it, with a mark at its beginning.
const OLD: &str = "\u{feff}Probe;Temperature;time;catalyst;yield;yield.sd;impurity\r\n\
    A1;60,0;30;acid;40,5;1,5;3,1\r\n\
    A2;90,0;60;enzyme;77,25;;NA\r\n\
    A2;90,0;60;enzyme;77,25;;NA\r\n\
    A3;110;120;acid;34,5\r\n\
    A4;75;45;enzyme;n/a;;4,25\r\n";

/// What the laboratory reads before anything depends on models.
const BEGINNING: &str = "\
$ unyoke import old.csv --dry-run
  yield = 40.5 ± 1.5 at temperature=60 time=30 catalyst=acid
  impurity = 3.1 at temperature=60 time=30 catalyst=acid
  yield = 77.25 at temperature=90 time=60 catalyst=enzyme
  yield = 34.5 at temperature=110 time=120 catalyst=acid
  impurity = 4.25 at temperature=75 time=45 catalyst=enzyme
note: cells are separated by semicolons
note: numbers are read with a decimal comma
note: column \"Probe\" is ignored
note: line 4 says the same as line 3 and is left out; --keep-duplicates imports both
5 values would be imported
nothing was changed: this was a preview
$ unyoke import old.csv
note: cells are separated by semicolons
note: numbers are read with a decimal comma
note: column \"Probe\" is ignored
note: line 4 says the same as line 3 and is left out; --keep-duplicates imports both
5 values imported
$ unyoke import old.csv
note: cells are separated by semicolons
note: numbers are read with a decimal comma
note: column \"Probe\" is ignored
note: line 4 says the same as line 3 and is left out; --keep-duplicates imports both
0 values imported, 5 known already
$ unyoke pause assay --until 2199-11-23 --reason the column is blocked
assay is paused until Sat 2199-11-23 (the column is blocked); `unyoke resume assay` ends that
$ unyoke tell 5 ";

#[test]
fn three_weeks_of_a_laboratory() {
    let mut lab = Laboratory { place: Place::new(REACTION), transcript: String::new() };
    lab.place.write("old.csv", OLD);

    // The first week: what is known, and first measurements.
    let preview = lab.says(&["import", "old.csv", "--dry-run"]);
    for line in [
        "  yield = 40.5 ± 1.5 at temperature=60 time=30 catalyst=acid",
        "note: cells are separated by semicolons",
        "note: numbers are read with a decimal comma",
        "note: column \"Probe\" is ignored",
        "note: line 4 says the same as line 3 and is left out; --keep-duplicates imports both",
        "5 values would be imported",
        "nothing was changed: this was a preview",
    ] {
        assert!(preview.contains(line), "{line}\n{preview}");
    }
    assert!(!lab.place.path("study.db").exists());
    let imported = lab.says(&["import", "old.csv"]);
    assert!(imported.contains("5 values imported"), "{imported}");
    assert!(lab.says(&["import", "old.csv"]).contains("0 values imported, 5 known already"));
    let said =
        lab.says(&["pause", "assay", "--until", "2199-11-23", "--reason", "the column is blocked"]);
    assert!(
        said.contains("assay is paused until Sat 2199-11-23 (the column is blocked)"),
        "{said}"
    );
    for _ in 0..3 {
        let (_, measurement) = lab.measures(&["ask"]);
        assert_eq!(measurement, "titration", "the assay is down");
    }
    let refused = lab.refuses(&["ask", "--measurement", "assay"], 1);
    assert!(refused.contains("assay is paused until Sat 2199-11-23"), "{refused}");
    let status = lab.says(&["status"]);
    assert!(
        status.contains("(the column is blocked); `unyoke resume assay` ends that"),
        "{status}"
    );
    lab.says(&["resume", "assay"]);

    // The second week: a design of one's own, what is possible today, a wrong value, wider bounds.
    let queued = lab.says(&["queue", "temperature=85", "time=55", "catalyst=enzyme"]);
    assert!(queued.contains("queued as q0: assay at temperature=85.0 time=55.0"), "{queued}");
    let (first, measurement) = lab.measures(&["ask"]);
    assert_eq!(measurement, "assay");
    assert_eq!(lab.says(&["queue"]), "nothing is queued\n");
    let fixed = lab.place.json(&["ask", "--fix", "catalyst=acid", "--measurement", "assay"]);
    assert_eq!(fixed[0]["design"]["catalyst"], "acid");
    assert_eq!(fixed[0]["measurement"], "assay");
    let number = fixed[0]["evaluation"].to_string();
    let skipped = lab.says(&["skip", &number]);
    assert_eq!(skipped, format!("evaluation {number} is skipped\n"));
    for _ in 0..6 {
        lab.measures(&["ask"]);
    }
    let first = first.to_string();
    let corrected = lab.says(&["tell", "--correct", &first, "yield=79.5"]);
    assert!(corrected.contains("79.5"), "{corrected}");
    let text = fs::read_to_string(lab.place.path("study.toml")).unwrap();
    let wider = text.replace("high = 120", "high = 140");
    lab.place.write("study.toml", &wider);
    assert!(lab.refuses(&["ask"], 3).contains("high from 120.0 to 140.0"));
    lab.says(&["amend", "--yes"]);

    // The third week: an objective more, a worksheet of eight, and what is true of the front.
    let pricier = wider.replace(
        "[measurements.assay]",
        "[objectives.price]\ndirection = \"minimise\"\ncost = 3\n[measurements.assay]",
    );
    lab.place.write("study.toml", &pricier);
    lab.says(&["amend", "--yes"]);
    let sheet = lab.place.text(&["ask", "--count", "8", "--csv"]);
    lab.place.write("monday.csv", &filled(&lab, &sheet));
    let told = lab.says(&["tell", "--csv", "monday.csv"]);
    assert!(told.contains("7 evaluations recorded, 1 still pending"), "{told}");
    assert!(told.contains("is recorded as failed: the flask broke"), "{told}");
    let again = lab.says(&["tell", "--csv", "monday.csv"]);
    assert!(
        again.contains("0 evaluations recorded, 7 recorded before, 1 still pending"),
        "{again}"
    );
    let pending = lab.place.json(&["status"])["pending"][0]["evaluation"].to_string();
    lab.says(&["tell", &pending, "--withdraw"]);
    let asked = lab.says(&["confirm", "--points", "4", "--count", "12"]);
    assert!(asked.contains("confirms a recommended design"), "{asked}");
    for pending in lab.place.json(&["status"])["pending"].as_array().unwrap() {
        let (id, measurement, truth) = lab.numbers(pending);
        lab.tells(id, &measurement, truth);
    }
    let held_up = lab.says(&["confirm", "--points", "4"]);
    assert!(held_up.contains("inside the predicted 90 % intervals"), "{held_up}");
    lab.says(&["front", "--measured"]);
    lab.says(&["status"]);
    let measured = lab.place.json(&["front", "--measured"]);
    assert!(!measured["points"].as_array().unwrap().is_empty(), "{measured}");
    assert!(lab.transcript.starts_with(BEGINNING), "{}", lab.transcript);
    // For whoever wants to read it: UNYOKE_TRANSCRIPT=/tmp/lab.txt cargo test -p unyoke-cli --test living
    if let Some(path) = std::env::var_os("UNYOKE_TRANSCRIPT") {
        fs::write(path, &lab.transcript).unwrap();
    }
}

/// A worksheet with values as somebody would type them: semicolons, decimal commas, one failure, one blank.
fn filled(lab: &Laboratory, sheet: &str) -> String {
    let mut reader = csv::Reader::from_reader(sheet.as_bytes());
    let head: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let mut text = head.join(";") + "\n";
    let column = |name: &str| head.iter().position(|head| head == name).unwrap();
    for (i, row) in reader.records().map(Result::unwrap).enumerate() {
        let cell = |name: &str| row[column(name)].to_owned();
        let real = |name: &str| cell(name).parse::<f64>().unwrap();
        let truth = reaction(real("temperature"), real("time"), &cell("catalyst"));
        let value = |name: &str| match (i, name) {
            (2, _) => "failed: the flask broke".to_owned(),
            (5, _) => String::new(),
            (_, "yield") => format!("{:.2}", truth[0]),
            (_, "impurity") => format!("{:.3}", truth[1]),
            _ => format!("{:.3}", truth[2]),
        };
        let shown = |(k, old): (usize, &str)| match head[k].as_str() {
            name @ ("yield" | "impurity" | "price") if old.is_empty() => value(name),
            // Nobody types more digits.
            "temperature" | "time" => format!("{:.6}", real(&head[k])),
            _ => old.to_owned(),
        };
        let cells: Vec<String> = row.iter().enumerate().map(shown).collect();
        text += &(cells.join(";").replace('.', ",").replace(",sd", ".sd") + "\n");
    }
    assert!(lab.place.path("study.db").exists());
    text
}

#[test]
fn a_worksheet_is_checked_before_anything_is_recorded() {
    let place = Place::new(TWO);
    let sheet = place.text(&["ask", "--count", "4", "--csv"]);
    let rows: Vec<&str> = sheet.lines().collect();
    assert_eq!(rows[0], "evaluation,measurement,x,mass,mass.sd,drag,drag.sd");
    let measurements: Vec<&str> =
        rows[1..].iter().map(|row| row.split(',').nth(1).unwrap()).collect();
    let mass = measurements.iter().position(|m| *m == "mass").unwrap();
    let drag = measurements.iter().position(|m| *m == "drag").unwrap();
    assert!(rows[mass + 1].ends_with(",,,-,-"), "{}", rows[mass + 1]);
    let x = |row: usize| rows[row + 1].split(',').nth(2).unwrap().to_owned();
    let wrong = [
        format!("{mass},drag,{},1,,,", x(mass)),
        format!("{drag},drag,{},1,,0.5,", x(drag)),
        format!("{mass},mass,{},much,,,", x(mass)),
        format!("{mass},mass,{},,0.1,,", x(mass)),
        "9,mass,0.5,1,,,".to_owned(),
        "x,mass,0.5,1,,,".to_owned(),
    ];
    place.write("wrong.csv", &format!("{}\n{}\n", rows[0], wrong.join("\n")));
    let said = place.fails(&["tell", "--csv", "wrong.csv"], 1);
    for (line, part) in [
        (2, "evaluation {mass} is of mass, not of drag"),
        (3, "evaluation {drag} does not measure mass"),
        (4, "mass is \"much\", but must be a number, blank if it is pending, or the word failed"),
        (5, "mass.sd has a value, but mass has none"),
        (6, "there is no evaluation 9"),
        (7, "\"x\" is no number of an evaluation"),
    ] {
        let part = part.replace("{mass}", &mass.to_string()).replace("{drag}", &drag.to_string());
        assert!(said.contains(&format!("wrong.csv:{line}: {part}")), "{part}\n{said}");
    }
    assert!(said.contains("6 mistakes, nothing was recorded"), "{said}");
    assert_eq!(place.spent(), 0.0);
    // Another design than was asked for, and a standard error.
    place.write("right.csv", &format!("{}\n{mass},mass,0.125,0.5,0.01,-,-\n", rows[0]));
    let said = place.text(&["tell", "--csv", "right.csv"]);
    assert!(said.contains(&format!("note: evaluation {mass} was made at x=0.125, not ")), "{said}");
    assert!(said.contains("is recorded as 0.500 ± 0.010"), "{said}");
    assert_eq!(place.evaluations()[mass]["x"], "0.125");
    place.write("other.csv", &format!("{}\n{mass},mass,0.125,0.75,,-,-\n", rows[0]));
    let said = place.fails(&["tell", "--csv", "other.csv"], 1);
    assert!(said.contains(&format!("`unyoke tell --correct {mass}` replaces")), "{said}");
    let said = place.fails(&["tell", "--csv", "study.toml"], 1);
    assert!(said.contains("there is no column \"evaluation\""), "{said}");
}

#[test]
fn a_run_makes_what_is_queued_first_and_leaves_out_what_is_paused() {
    let place = Place::new(TWO);
    place.text(&["pause", "drag", "--reason", "no licence"]);
    place.text(&["queue", "x=0.25"]);
    let output = place.run(&["run", "--no-report"]);
    assert!(output.status.success(), "{}", stderr(&output));
    let said = String::from_utf8(output.stdout).unwrap();
    let all = place.evaluations();
    assert_eq!((all[0]["x"].as_str(), all[0]["measurement"].as_str()), ("0.25", "mass"));
    assert!(all.iter().all(|row| row["measurement"] == "mass"), "{all:?}");
    assert!(
        said.contains("drag is paused (no licence), and nothing else can be evaluated")
            || place.spent() > 17.0
    );
    let status = place.text(&["status"]);
    assert!(
        status.contains("drag is paused (no licence); `unyoke resume drag` ends that"),
        "{status}"
    );
    assert!(status.contains("queued as q0: drag at x=0.25"), "{status}");
}

#[test]
fn a_run_makes_only_what_it_is_told_to() {
    let place = Place::new(TWO);
    place.text(&["run", "--only", "drag", "--no-report", "--cost", "9"]);
    let all = place.evaluations();
    assert!(all.len() == 2 && all.iter().all(|row| row["measurement"] == "drag"), "{all:?}");
    assert!(place.fails(&["run", "--only", "drug"], 1).contains("did you mean \"drag\"?"));
    let said = place.fails(&["ask", "--measurement", "drug"], 1);
    assert!(said.contains("did you mean \"drag\"?"), "{said}");
    assert!(place.fails(&["ask", "--fix", "x=2"], 1).contains("x is 2"));
    assert!(place.fails(&["pause", "drag", "--until", "2001-01-01"], 2).contains("in the past"));
    assert!(place.fails(&["skip", "12"], 1).contains("there is no evaluation 12"));
    assert!(place.fails(&["skip", "q7"], 1).contains("nothing is queued as q7"));
    assert!(
        place.fails(&["queue", "x=0.5", "mess"], 1).contains("no measurement is called \"mess\"")
    );
}

#[test]
fn failures_of_a_broken_command_are_retried_and_others_are_not() {
    let text =
        TWO.replace("\"awk\", \"BEGIN {{ print (1 - {x}) ^ 2 }}\"", "\"sh\", \"drag.sh\", \"{x}\"");
    let place = Place::new(&text);
    place.write("drag.sh", "echo no licence >&2; exit 7\n");
    let said = place.fails(&["run", "--no-report"], 1);
    assert!(said.contains("drag failed 3 times"), "{said}");
    let id = place.json(&["ask"])[0]["evaluation"].to_string();
    place.text(&["tell", &id, "--failed", "the sample broke"]);
    let shown = place.text(&["retry", "--failed-command", "--dry-run"]);
    assert!(shown.contains("3 evaluations would be pending again"), "{shown}");
    assert!(!shown.contains("the sample broke"), "{shown}");
    let retried = place.json(&["retry", "--reason", "LICENCE", "--measurement", "drag"]);
    assert_eq!(retried["retried"].as_array().unwrap().len(), 3);
    place.write("drag.sh", "echo $1\n");
    place.text(&["run", "--no-report"]);
    let failed = place.evaluations().iter().filter(|row| row["status"] == "failed").count();
    assert_eq!(failed, 1, "the sample stays broken");
}

#[test]
fn a_pending_evaluation_is_settled_by_a_table_that_has_its_result() {
    let place = Place::new(TWO);
    let asked = place.json(&["ask", "--count", "2"]);
    let one = &asked[0];
    let (x, name) = (one["design"]["x"].as_f64().unwrap(), one["measurement"].as_str().unwrap());
    place.write("old.csv", &format!("x,{name},note\n{x},1.5,a\n0.75,2.5,\n0.75,3.5,\n"));
    let said = place.text(&["import", "old.csv"]);
    assert!(said.contains("line 2 has the result of evaluation 0, which was pending"), "{said}");
    assert!(
        said.contains(&format!("line 4: {name} is 3.5 at x=0.75, but 2.5 in line 3")),
        "{said}"
    );
    assert!(said.contains("2 values imported"), "{said}");
    assert_eq!(place.json(&["status"])["pending"].as_array().unwrap().len(), 1);
    assert!(place.text(&["import", "old.csv"]).contains("0 values imported, 3 known already"));
}

#[test]
fn templates_run_at_once() {
    for (kind, next) in
        [("lab", "ask"), ("ml", "run"), ("cfd", "run"), ("formula", "run"), ("all", "run")]
    {
        let place = Place::new(TWO);
        fs::remove_file(place.path("study.toml")).unwrap();
        let said = place.text(&["init", "--template", kind]);
        assert!(said.contains("initial design: "), "{said}");
        place.text(&["check"]);
        let text = fs::read_to_string(place.path("study.toml")).unwrap();
        place.write("study.toml", &(text + ENGINE));
        match next {
            "ask" => place.text(&["ask", "--count", "2"]),
            // Little more than the initial design: what is tested is that commands work.
            _ => place.text(&["run", "--no-report", "--cost", "24"]),
        };
        assert!(place.fails(&["init", "--template", kind], 1).contains("exists already"));
    }
    let place = Place::new(TWO);
    assert!(place.fails(&["init", "--template", "labs"], 1).contains("there is no template"));
}
