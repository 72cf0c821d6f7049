//! Study files as people write them, with every mistake we could think of.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use unyoke::{
    Algorithm, Correlations, Cost, Deterministic, Direction, Failures, LengthscalePrior,
    Lengthscales, Measurement, Noise, Outliers, Output, Parameter, Pending, Preference, Problem,
    Scale, Utility,
};
use unyoke_run::{Diagnostic, Error, StudyFile, StudyFileError};

const GOOD: &str = r#"[study]
name = "beam"
seed = 7

[parameters.length]
low = 0.1
high = 2.0

[parameters.kind]
choices = ["steel", "oak"]

[objectives.mass]
goal = "minimise"
cost = 1
command = ["python3", "mass.py", "{length}", "--kind={kind}"]

[objectives.deflection]
goal = "minimise"
cost = 20
command = ["./deflect", "{length}"]
timeout = "10m"
"#;

fn parse(text: &str) -> Result<StudyFile, StudyFileError> {
    StudyFile::parse("study.toml", text.as_bytes())
}

/// The mistakes after a part of the good file was replaced.
fn changed(from: &str, to: &str) -> StudyFileError {
    assert!(GOOD.contains(from), "{from}");
    match parse(&GOOD.replacen(from, to, 1)) {
        Ok(_) => panic!("{to:?} was accepted"),
        Err(error) => error,
    }
}

/// What is underlined.
fn underlined<'a>(error: &'a StudyFileError, diagnostic: &Diagnostic) -> &'a str {
    &error.text()[diagnostic.span.clone()]
}

/// The only mistake: its message, what it underlines, and its help.
fn only(error: &StudyFileError) -> (&str, &str, &str) {
    let [one] = error.diagnostics() else { panic!("{}", error.lines()) };
    (&one.message, underlined(error, one), one.help.as_deref().unwrap_or(""))
}

#[test]
fn a_good_file_becomes_a_problem_with_settings() {
    let file = parse(GOOD).unwrap();
    assert_eq!(file.name.as_deref(), Some("beam"));
    assert_eq!(file.seed, 7);
    let names: Vec<&str> = file.problem.parameters.iter().map(Parameter::name).collect();
    assert_eq!(names, ["length", "kind"]);
    assert_eq!(file.problem.outputs[1].name, "deflection");
    assert_eq!(file.run.slots, 1);
    assert_eq!(file.budget, Default::default());
    let deflection = file.measurement_run("deflection").unwrap();
    assert_eq!(deflection.timeout, Some(Duration::from_secs(600)));
    assert_eq!((deflection.retries, deflection.slots), (0, None));
    assert_eq!(deflection.directory, file.folder);
    assert!(file.folder.is_absolute());
    file.require_commands().unwrap();
}

#[test]
fn every_field_arrives() {
    let text = r#"
        [study]
        seed = 18446744073709551615
        algorithm = "hvkg-d"
        [budget]
        cost = 200
        wall_time = "1h 30m"
        evaluations = { g = 20 }
        [run]
        slots = 4
        [initial]
        designs = 6
        per_objective = { g = 2 }
        [engine]
        weights = 8
        preference = { dirichlet = [6, 2.0] }
        units = "raw"
        lengthscales = "isotropic"
        lengthscale_prior = "separate"
        deterministic = "smoothed"
        failures = "ignored"
        correlations = "ignored"
        pending = { fantasies = 4 }
        outliers = "kept"
        discretisation = { adaptive = { points = 50 } }
        search = { raw = 64 }
        front = { population = 10, generations = 5 }
        reference = { f = 1, "g" = -2.5 }
        [parameters]
        x = { low = 1e-6, high = 1, scale = "log" }
        n = { type = "integer", low = -3, high = 0x10 }
        [objectives.f]
        goal = "maximize"
        cost = 0.5
        noise = "unknown"
        priors = { noise = { shape = 1.1, rate = 0.5 } }
        [objectives.g]
        goal = "minimize"
        cost = 2
        noise = 0.1
        retries = 3
        slots = 1
        directory = "sub"
        env = { OMP_NUM_THREADS = "1" }
        hyper = { lengthscales = [0.5, 1.0], outputscale = 1.0, noise = 0.0, mean = 0.0 }
    "#;
    let file = parse(text).unwrap();
    assert_eq!(file.seed, u64::MAX);
    assert_eq!(file.config.algorithm, Algorithm::HvkgD);
    assert_eq!(file.budget.cost, Some(200.0));
    assert_eq!(file.budget.wall_time, Some(Duration::from_secs(5400)));
    assert_eq!(file.budget.evaluations["g"], 20);
    assert_eq!(file.run.slots, 4);
    assert_eq!(file.config.initial.designs, Some(6));
    assert_eq!(file.config.initial.per_measurement["g"], 2);
    assert_eq!(file.config.weights, 8);
    assert_eq!(file.config.lengthscales, Lengthscales::Isotropic);
    assert_eq!(file.config.lengthscale_prior, LengthscalePrior::Separate);
    assert_eq!(file.config.deterministic, Deterministic::Smoothed);
    assert_eq!(file.config.failures, Failures::Ignored);
    assert_eq!(file.config.correlations, Correlations::Ignored);
    assert_eq!(file.config.pending, Pending::Fantasies(4));
    assert_eq!(file.config.outliers, Outliers::Kept);
    assert_eq!(file.config.preference, Preference::Dirichlet(vec![6.0, 2.0]));
    assert_eq!((file.config.search.raw, file.config.search.restarts), (64, 16));
    assert_eq!(file.config.reference.as_ref().unwrap()["g"], -2.5);
    let x = Parameter::Continuous {
        name: "x".into(),
        low: 1e-6,
        high: 1.0,
        scale: Scale::Log,
        step: None,
    };
    let n = Parameter::Integer { name: "n".into(), low: -3, high: 16, scale: Scale::Linear };
    assert_eq!(file.problem.parameters, [x, n]);
    assert_eq!(file.problem.outputs[0].direction(), Direction::Maximise);
    assert_eq!(file.problem.outputs[0].noise, Noise::Noisy);
    assert_eq!(file.problem.outputs[1].noise, Noise::Known { sd: 0.1 });
    assert!(file.problem.outputs[1].hyper.is_some());
    let g = file.measurement_run("g").unwrap();
    assert_eq!((g.retries, g.slots), (3, Some(1)));
    assert_eq!(g.directory, file.folder.join("sub"));
    assert_eq!(g.env["OMP_NUM_THREADS"], "1");
}

#[test]
fn names_keep_the_order_of_the_file() {
    let mut text = String::new();
    for name in ["z", "a", "\"ä ö\"", "\"🦀\"", "m", "\"a.b\""] {
        text += &format!("[parameters.{name}]\nlow = 0\nhigh = 1\n");
    }
    text +=
        "[objectives.\"Ω 🎯\"]\ngoal = 'minimise'\ncost = 1\ncommand = ['f', '{🦀}', '{a.b}']\n";
    let file = parse(&text).unwrap();
    let names: Vec<&str> = file.problem.parameters.iter().map(Parameter::name).collect();
    assert_eq!(names, ["z", "a", "ä ö", "🦀", "m", "a.b"]);
    assert_eq!(file.problem.outputs[0].name, "Ω 🎯");
}

#[test]
fn line_ends_and_byte_order_marks_of_other_systems_are_fine() {
    let crlf = GOOD.replace('\n', "\r\n");
    assert_eq!(parse(&crlf).unwrap().problem, parse(GOOD).unwrap().problem);
    assert_eq!(parse(&format!("\u{feff}{GOOD}")).unwrap().problem, parse(GOOD).unwrap().problem);
    // Places are right all the same.
    let error = parse(&format!("\u{feff}{}", crlf.replace("cost = 20", "cost = -20"))).unwrap_err();
    assert_eq!(only(&error).1, "-20");
    assert_eq!(error.line_and_column(error.diagnostics()[0].span.start), (19, 8));
}

#[test]
fn values_may_hold_anything_a_process_can_be_told() {
    let choices =
        r#"choices = ["; rm -rf /", "--help", "-", "a\nb", "'\"\\", "$(x)", "{length}", "é🦀"]"#;
    let file = parse(&GOOD.replace(r#"choices = ["steel", "oak"]"#, choices)).unwrap();
    let Parameter::Categorical { choices, .. } = &file.problem.parameters[1] else { panic!() };
    assert_eq!(choices.len(), 8);
    assert_eq!(choices[3], "a\nb");
}

#[test]
fn a_file_without_content_is_told_what_it_needs() {
    for text in ["", "\n\n", "# only a comment\n", "\u{feff}", "\r\n"] {
        let error = parse(text).unwrap_err();
        assert_eq!(only(&error).0, "the study file is empty", "{text:?}");
    }
}

#[test]
fn what_is_not_text_is_refused_with_its_place() {
    let error = StudyFile::parse("study.toml", b"[study]\nname = \"caf\xe9\"\n").unwrap_err();
    assert_eq!(only(&error).0, "this is not UTF-8 text");
    assert_eq!(error.line_and_column(error.diagnostics()[0].span.start), (2, 12));
    let utf16: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(GOOD.bytes().flat_map(|b| [b, 0])).collect();
    let error = StudyFile::parse("study.toml", &utf16).unwrap_err();
    assert!(only(&error).2.contains("UTF-16"));
    assert!(StudyFile::parse("study.toml", &[0; 1000]).is_err());
    assert!(StudyFile::parse("study.toml", "[".repeat(100_000).as_bytes()).is_err());
    assert!(
        StudyFile::parse("study.toml", format!("a = {}", "[".repeat(100_000)).as_bytes()).is_err()
    );
}

#[test]
fn broken_toml_is_shown_where_it_breaks() {
    let error = changed("low = 0.1", "low = ");
    assert_eq!(error.line_and_column(error.diagnostics()[0].span.start).0, 6);
    let error = changed("low = 0.1", "low = 0,1");
    assert_eq!(error.line_and_column(error.diagnostics()[0].span.start).0, 6);
    changed("[study]", "[study");
    changed("\"beam\"", "\"beam");
}

#[test]
fn a_name_used_twice_is_refused() {
    let error = changed("[parameters.kind]", "[parameters.length]");
    let (message, place, help) = only(&error);
    assert_eq!((message, place), ("duplicate key", "length"));
    assert!(help.contains("rename"));
    changed("[objectives.deflection]", "[objectives.mass]");
    changed("seed = 7", "seed = 7\nseed = 8");
    let error = changed("\"oak\"", "\"steel\"");
    assert_eq!(only(&error).1, "\"steel\"");
    assert!(error.diagnostics()[0].span.start > error.text().find("\"steel\"").unwrap());
}

#[test]
fn an_unknown_field_finds_the_one_meant() {
    for (from, to, wrong, meant) in [
        ("[study]", "[studdy]", "studdy", "study"),
        ("seed", "sead", "sead", "seed"),
        ("[parameters.kind]\nchoices", "[parameters.kind]\nchoises", "choises", "choices"),
        ("high", "hgh", "hgh", "high"),
        ("cost = 1", "cst = 1", "cst", "cost"),
        ("timeout", "time_out", "time_out", "timeout"),
        ("[study]", "[engine]\nweigths = 3\n[study]", "weigths", "weights"),
        ("[study]", "[budget]\nwalltime = '1h'\n[study]", "walltime", "wall_time"),
    ] {
        let error = changed(from, to);
        let found = error.diagnostics().iter().find(|d| d.message.starts_with("there is no field"));
        let found = found.unwrap_or_else(|| panic!("{to}: {}", error.lines()));
        assert_eq!(underlined(&error, found), wrong);
        assert_eq!(found.help.as_deref(), Some(format!("did you mean {meant:?}?").as_str()));
    }
    let error = changed("seed = 7", "colour = 7");
    assert_eq!(only(&error).2, "the fields here are name, seed, algorithm, store");
}

#[test]
fn wrong_types_say_what_is_expected() {
    for (from, to, place, expected) in [
        ("\"beam\"", "7", "7", "must be text in quotes, not an integer"),
        ("seed = 7", "seed = 7.5", "7.5", "must be an integer, not a number with a point"),
        ("seed = 7", "seed = -1", "-1", "study.seed cannot be -1"),
        ("low = 0.1", "low = true", "true", "must be a number, not true or false"),
        ("low = 0.1", "low = 2026-01-01", "2026-01-01", "must be a number, not a date"),
        ("[\"steel\", \"oak\"]", "\"steel\"", "\"steel\"", "must be a list"),
        ("[\"steel\", \"oak\"]", "[\"steel\", 3]", "3", "kind.choices[1] must be text in quotes"),
        ("[study]", "[run]\nslots = 0\n[study]", "0", "run.slots must be at least 1"),
        (
            "[study]",
            "[run]\nslots = 99999999999999999999\n[study]",
            "99999999999999999999",
            "run.slots cannot",
        ),
        ("[study]", "[[run]]\n[study]", "[[run]]", "run must be a table, not a list"),
        ("cost = 1", "cost = {}", "{}", "cost: missing field `learn`"),
        ("timeout = \"10m\"", "retries = 0.5", "0.5", "retries must be an integer"),
        ("timeout = \"10m\"", "env = { A = 1 }", "1", "env.A must be text"),
        ("timeout = \"10m\"", "env = { 'A=B' = '1' }", "'A=B'", "cannot be the name of a variable"),
        ("timeout = \"10m\"", "noise = 'lots'", "'lots'", "noise cannot be \"lots\""),
    ] {
        let error = changed(from, to);
        let (message, underlined, _) = only(&error);
        assert!(message.contains(expected), "{to}: {message}");
        assert_eq!(underlined, place, "{message}");
    }
    let error = changed("cost = 20", "cost = \"20\"");
    assert_eq!(only(&error).2, "remove the quotes: 20");
}

#[test]
fn words_that_are_not_known_find_the_one_meant() {
    for (from, to, help) in [
        ("goal = \"minimise\"", "goal = \"minimse\"", "did you mean \"minimise\"?"),
        ("seed = 7", "algorithm = \"c-mogk\"", "did you mean \"c-mokg\"?"),
        ("high = 2.0", "high = 2.0\nscale = \"lag\"", "did you mean \"log\"?"),
        ("high = 2.0", "high = 2.0\ntype = \"intger\"", "did you mean \"integer\"?"),
        ("[study]", "[engine]\nfailures = \"ignore\"\n[study]", "did you mean \"ignored\"?"),
        ("[study]", "[engine]\nunits = \"row\"\n[study]", "did you mean \"raw\"?"),
        ("[study]", "[engine]\nsearch = { restart = 1 }\n[study]", "did you mean \"restarts\"?"),
        ("[study]", "[budget.evaluations]\nmas = 3\n[study]", "did you mean \"mass\"?"),
        ("[study]", "[initial.per_objective]\nmas = 3\n[study]", "did you mean \"mass\"?"),
    ] {
        assert_eq!(only(&changed(from, to)).2, help, "{to}");
    }
}

#[test]
fn an_unknown_placeholder_is_underlined_and_finds_the_one_meant() {
    let error = changed("\"{length}\"", "\"--l={lenght}\"");
    let (message, place, help) = only(&error);
    assert_eq!(place, "{lenght}");
    assert_eq!(help, "did you mean {length}?");
    assert!(message.starts_with("objectives.mass.command[2] uses {lenght}"), "{message}");
    // Written with escapes, the whole text is underlined.
    let error = changed("\"{length}\"", "\"\\t{lenght}\"");
    assert_eq!(only(&error).1, "\"\\t{lenght}\"");
    let error = changed("\"{length}\"", "\"{temperature}\"");
    assert_eq!(only(&error).2, "the parameters are length, kind");
}

#[test]
fn stray_braces_are_underlined() {
    for (argument, place) in [("{", "{"), ("a}b", "}"), ("{}", "{}"), ("{length", "{")] {
        let error = changed("\"{length}\"", &format!("\"{argument}\""));
        assert_eq!(only(&error).1, place, "{argument}");
    }
    let json = GOOD.replacen("\"{length}\"", "'{{\"l\": {length}}}'", 1);
    parse(&json).unwrap();
}

#[test]
fn the_engine_s_checks_point_into_the_file() {
    for (from, to, place, expected) in [
        ("low = 0.1", "low = 3", "3", "parameters.length.low is 3, above high, which is 2"),
        ("low = 0.1", "low = nan", "nan", "parameters.length.low is NaN, but must be finite"),
        ("high = 2.0", "high = 1e400", "1e400", "parameters.length.high is inf"),
        ("low = 0.1", "low = 0\nscale = 'log'", "0", "must be positive on a log scale"),
        (
            "cost = 20",
            "cost = -20",
            "-20",
            "objectives.deflection.cost is -20, but must be positive",
        ),
        ("cost = 20", "cost = 0", "0", "objectives.deflection.cost is 0"),
        ("timeout = \"10m\"", "noise = -0.5", "-0.5", "objectives.deflection.noise is -0.5"),
        ("\"oak\"", "\"\"", "\"\"", "parameters.kind.choices[1] must not be empty"),
        ("[\"steel\", \"oak\"]", "[]", "[]", "parameters.kind.choices: there must be at least one"),
        (
            "[\"steel\", \"oak\"]",
            "['a']\n[parameters.'']\nlow = 0\nhigh = 1",
            "''",
            "must not be empty",
        ),
        (
            "[study]",
            "[engine]\npreference = { dirichlet = [1] }\n[study]",
            "[1]",
            "needs 2 numbers",
        ),
        (
            "[study]",
            "[engine]\nreference = { mass = inf, deflection = 1 }\n[study]",
            "inf",
            "finite",
        ),
        (
            "[study]",
            "[engine]\nreference = { mass = 1 }\n[study]",
            "reference",
            "needs a value too",
        ),
        (
            "[study]",
            "[engine]\ndiscretisation = { grid = { per_input = 1 } }\n[study]",
            "1",
            "at least 2",
        ),
        (
            "timeout = \"10m\"",
            "priors.noise = { shape = 0, rate = 1 }",
            "0",
            "priors.noise.shape is 0",
        ),
        (
            "high = 2.0",
            "high = 2.0\n[parameters.n]\ntype = 'integer'\nlow = 0\nhigh = 9007199254740994",
            "9007199254740994",
            "parameters.n.high",
        ),
    ] {
        let error = changed(from, to);
        let found = error.diagnostics().iter().find(|found| found.message.contains(expected));
        let found = found.unwrap_or_else(|| panic!("{to}: {}", error.lines()));
        assert_eq!(underlined(&error, found), place, "{}", found.message);
    }
}

#[test]
fn missing_things_are_named_at_their_table() {
    for (from, to, place, message) in [
        ("low = 0.1\n", "", "length", "parameters.length needs low"),
        (
            "low = 0.1\nhigh = 2.0\n",
            "",
            "length",
            "parameters.length needs low and high, or choices",
        ),
        (
            "choices = [\"steel\", \"oak\"]",
            "type = 'categorical'",
            "kind",
            "parameters.kind needs choices",
        ),
        (
            "goal = \"minimise\"\ncost = 1\n",
            "cost = 1\n",
            "mass",
            "objectives.mass needs direction",
        ),
        ("cost = 1\n", "", "mass", "objectives.mass needs cost"),
    ] {
        let error = changed(from, to);
        assert_eq!((only(&error).0, only(&error).1), (message, place));
    }
    let error = parse("[study]\nseed = 1\n").unwrap_err();
    let messages: Vec<&str> = error.diagnostics().iter().map(|d| d.message.as_str()).collect();
    let expected = [
        "parameters: there must be at least one",
        "objectives: there must be at least one objective",
    ];
    assert_eq!(messages, expected);
}

#[test]
fn a_missing_command_matters_only_to_those_who_run() {
    let without = GOOD.replace("command = [\"./deflect\", \"{length}\"]\n", "");
    let file = parse(&without).unwrap();
    let error = file.require_commands().unwrap_err();
    let (message, place, help) = only(&error);
    assert_eq!((message, place), ("deflection needs a command to be run", "deflection"));
    assert!(help.starts_with("command = ["));
}

#[test]
fn a_command_is_a_list_and_names_a_program() {
    let error = changed("[\"./deflect\", \"{length}\"]", "\"./deflect {length} | tail -1\"");
    assert_eq!(only(&error).2, r#"command = ["./deflect", "{length}", "|", "tail", "-1"]"#);
    assert!(only(&error).0.contains("without a shell"));
    for command in ["[]", "[\"\"]", "[\"\", \"a\"]"] {
        let error = changed("[\"./deflect\", \"{length}\"]", command);
        assert!(only(&error).0.contains("must name a program"), "{command}");
    }
    assert!(only(&changed("\"./deflect\"", "7")).0.contains("command[0] must be text"));
}

#[test]
fn a_length_of_time_needs_a_unit() {
    for (time, reason) in [
        ("600", "must be a length of time in quotes"),
        ("\"600\"", "is not a length of time"),
        ("\"ten minutes\"", "is not a length of time"),
        ("\"10 parsecs\"", "is not a length of time"),
        ("\"\"", "is not a length of time"),
        ("\"-5s\"", "is not a length of time"),
        ("\"0s\"", "must be longer than nothing"),
        ("\"99999999999999999999h\"", "is not a length of time"),
    ] {
        let error = changed("\"10m\"", time);
        let (message, place, help) = only(&error);
        assert!(message.contains(reason), "{message}");
        assert_eq!(place, time);
        assert!(help.contains("\"90s\""));
    }
    for (time, milliseconds) in
        [("250ms", 250), ("0.5s", 500), ("1d", 86_400_000), ("1h30m", 5_400_000)]
    {
        let file = parse(&GOOD.replace("10m", time)).unwrap();
        let timeout = file.measurement_run("deflection").unwrap().timeout;
        assert_eq!(timeout, Some(Duration::from_millis(milliseconds)), "{time}");
    }
}

#[test]
fn what_no_process_could_be_told_is_refused() {
    for (from, to) in [
        ("\"oak\"", "\"o\\u0000k\""),
        ("[parameters.kind]", "[parameters.\"k\\u0000\"]\nlow = 0\nhigh = 1\n[parameters.kind]"),
        ("\"./deflect\"", "\"./de\\u0000flect\""),
        ("timeout = \"10m\"", "env = { A = \"\\u0000\" }"),
    ] {
        assert!(only(&changed(from, to)).0.contains("NUL"), "{to}");
    }
}

#[test]
fn fields_that_do_not_go_together_are_refused() {
    let error = changed("[parameters.kind]\n", "[parameters.kind]\nlow = 0\n");
    assert_eq!(only(&error).0, "parameters.kind.low does not apply to a parameter with choices");
    let error = changed("low = 0.1", "type = 'integer'\nchoices = ['a']\nlow = 1");
    assert!(error.lines().contains("parameters.length.choices does not apply"));
    assert!(error.lines().contains("parameters.length.high must be an integer"));
}

#[test]
fn lists_of_tables_are_not_the_form() {
    let error = parse("[[parameters]]\nname = 'x'\n[[objectives]]\nname = 'f'\n").unwrap_err();
    let messages: Vec<&str> = error.diagnostics().iter().map(|d| d.message.as_str()).collect();
    let expected =
        ["parameters must be a table, not a list", "objectives must be a table, not a list"];
    assert_eq!(messages, expected);
    let error = parse("parameters = { x = 1 }\n[objectives]\nf = 'min'\n").unwrap_err();
    assert_eq!(error.diagnostics().len(), 2, "{}", error.lines());
}

#[test]
fn all_mistakes_are_told_in_one_go_in_the_order_of_the_file() {
    let text = r#"
[studdy]
[budget]
cost = 0
evaluations = { mas = 1 }
[run]
slots = "two"
[parameters.length]
low = 3
high = 2
[parameters.kind]
choices = "steel"
[objectives.mass]
goal = "less"
cost = -1
command = ["f", "{lenght}"]
timeout = "soon"
"#;
    let error = parse(text).unwrap_err();
    let line = |d: &Diagnostic| error.line_and_column(d.span.start).0;
    let lines: Vec<usize> = error.diagnostics().iter().map(line).collect();
    assert_eq!(lines, [2, 4, 5, 7, 9, 12, 14, 15, 16, 17]);
    let shown = error.lines();
    assert!(shown.contains("study.toml:9:7: parameters.length.low is 3, above high, which is 2"));
    assert!(shown.contains("study.toml:5:17: "), "{shown}");
}

#[test]
fn many_parameters_and_objectives_are_read_quickly_or_refused() {
    let mut text = String::new();
    for i in 0..500 {
        text += &format!("[parameters.p{i}]\nlow = 0\nhigh = 1\n");
    }
    for i in 0..11 {
        text += &format!("[objectives.o{i}]\ngoal = 'minimise'\ncost = 1\n");
    }
    let error = parse(&text).unwrap_err();
    assert!(only(&error).0.contains("11 are objectives, but at most 10 work"), "{}", error.lines());
}

#[test]
fn a_file_is_read_from_disk_and_its_folder_is_where_commands_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("study.toml");
    std::fs::write(&path, GOOD).unwrap();
    let file = StudyFile::read(&path).unwrap();
    assert_eq!(file.folder, folder.path());
    std::fs::write(&path, GOOD.replace("cost = 20", "cost = 0")).unwrap();
    let Err(Error::StudyFile(error)) = StudyFile::read(&path) else { panic!() };
    assert_eq!(error.path(), path);
    let absent = StudyFile::read(folder.path().join("absent.toml"));
    assert!(matches!(absent, Err(Error::Io { .. })));
    assert!(matches!(StudyFile::read(folder.path()), Err(Error::Io { .. })));
    assert!(matches!(StudyFile::read("/dev/zero"), Err(Error::BadFile { .. })));
}

fn rendered(error: &StudyFileError) -> String {
    error.drawn(false).lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

#[test]
fn mistakes_are_drawn_as_compilers_do() {
    let error = changed("\"{length}\"", "\"{lenght}\"");
    let expected = r#"there is a mistake in study.toml

error: objectives.mass.command[2] uses {lenght}, but there is no such parameter
   ╭▸ study.toml:15:35
   │
15 │ command = ["python3", "mass.py", "{lenght}", "--kind={kind}"]
   │                                   ━━━━━━━━ unknown parameter
   │
   ╰ help: did you mean {length}?
"#;
    assert_eq!(rendered(&error), expected);
}

#[test]
fn several_mistakes_are_drawn_one_after_the_other() {
    let text = GOOD.replace("low = 0.1", "low = 3").replace("cost = 20", "cost = true   ");
    let shown = rendered(&parse(&text).unwrap_err());
    let expected = [
        "there are 2 mistakes in study.toml",
        "parameters.length.low is 3, above high, which is 2",
        "study.toml:6:7",
        "objectives.deflection.cost must be a number, not true or false",
        "study.toml:19:8",
        "━━━━ expected a number",
    ];
    let places: Vec<_> = expected.iter().map(|part| shown.find(part)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{shown}");
}

#[test]
fn anything_can_be_drawn() {
    let emoji = "[parameters.\"🦀🦀\"]\nlow = 3 # 🦀\nhigh = 2\n";
    let last = "[parameters.x]\nlow = 0\nhigh";
    let wide = format!("[parameters.x]\nlow = \"{}\"\nhigh = 2\n", "x".repeat(100_000));
    for text in ["", "# c", emoji, last, "a = '", "\r\r", &wide] {
        let error = parse(text).unwrap_err();
        assert!(rendered(&error).contains("study.toml"), "{text:?}");
        assert!(error.lines().starts_with("study.toml:"), "{text:?}");
    }
    let error = StudyFile::parse("study.toml", b"\xff\xff\xff").unwrap_err();
    assert!(rendered(&error).contains("not UTF-8"));
}

#[test]
fn a_direction_may_be_called_a_goal_but_not_said_twice() {
    let with = |fields: &str| {
        parse(&format!("[parameters.x]\nlow = 0\nhigh = 1\n[objectives.f]\n{fields}\ncost = 1\n"))
    };
    for name in ["direction", "goal"] {
        for (word, direction) in [
            ("minimise", unyoke::Direction::Minimise),
            ("minimize", unyoke::Direction::Minimise),
            ("maximise", unyoke::Direction::Maximise),
            ("maximize", unyoke::Direction::Maximise),
        ] {
            let file = with(&format!("{name} = \"{word}\"")).unwrap();
            assert_eq!(file.problem.outputs[0].direction(), direction, "{name} = {word}");
        }
    }
    let error = with("direction = \"minimise\"\ngoal = \"minimise\"").unwrap_err();
    assert!(error.lines().contains("objectives.f.goal repeats direction"), "{}", error.lines());
    let error = with("direktion = \"minimise\"").unwrap_err();
    assert!(error.lines().contains("did you mean \"direction\"?"), "{}", error.lines());
}

const WING: &str = r#"[parameters.span]
low = 1
high = 3
step = 0.05

[parameters.chord]
low = 0.2
high = 0.6
digits = 2

[parameters.finish]
choices = ["rough", "plain", "polished"]
ordered = true

[limits]
area = "span * chord <= 1.5"

[objectives.lift]
direction = "maximise"

[objectives.drag]
direction = "minimise"
scale = "log"
noise = "unknown"

[objectives.mass]
direction = "minimise"
formula = "12 * span * chord"

[constraints.stress]
at_most = 200
cost = 10
command = ["./fem", "{span}"]

[constraints.margin]
at_least = -0.5

[measurements.cfd]
outputs = ["lift", "drag", "margin"]
cost = { learn = "time", guess = 60 }
command = ["./cfd", "{span}"]
timeout = "1h"
retries = 2
"#;

/// The mistakes of the wing after a part of it was replaced.
fn wing(from: &str, to: &str) -> StudyFileError {
    assert!(WING.contains(from), "{from}");
    match parse(&WING.replacen(from, to, 1)) {
        Ok(_) => panic!("{to:?} was accepted"),
        Err(error) => error,
    }
}

#[test]
fn outputs_measurements_formulas_and_limits_become_a_problem() {
    let file = parse(WING).unwrap();
    let cost = Cost::time(60.0);
    let expected = Problem::builder()
        .stepped("span", 1.0, 3.0, 0.05)
        .stepped("chord", 0.2, 0.6, 0.01)
        .ordered("finish", ["rough", "plain", "polished"])
        .limit("area", "span * chord <= 1.5")
        .output(Output::maximise("lift"))
        .output(Output::minimise("drag").noisy().log_scale())
        .output(Output::minimise("mass").with_formula("12 * span * chord"))
        .output(Output::at_most("stress", 200.0))
        .output(Output::at_least("margin", -0.5))
        .measurement(Measurement::new("stress", ["stress"], 10.0))
        .measurement(Measurement::new("cfd", ["lift", "drag", "margin"], cost))
        .build()
        .unwrap();
    assert_eq!(file.problem, expected);
    let cfd = file.measurement_run("cfd").unwrap();
    assert_eq!(cfd.outputs, ["lift", "drag", "margin"]);
    assert_eq!((cfd.timeout, cfd.retries), (Some(Duration::from_secs(3600)), 2));
    assert_eq!(file.measurement_run("stress").unwrap().outputs, ["stress"]);
    file.require_commands().unwrap();
}

#[test]
fn a_cost_is_a_number_a_formula_or_learned() {
    let cost = |text: &str| {
        let file = parse(&GOOD.replacen("cost = 1\n", &format!("cost = {text}\n"), 1)).unwrap();
        file.problem.measurements[0].cost.clone()
    };
    assert_eq!(cost("4"), Cost::Constant(4.0));
    assert_eq!(cost("'2 + 0.1 * length'"), Cost::formula("2 + 0.1 * length"));
    assert_eq!(cost("{ learn = 'time', guess = 60 }"), Cost::time(60.0));
    assert_eq!(cost("{ learn = 'reported', guess = 5 }"), Cost::reported(5.0));
    for (wrong, place, expected) in [
        ("{ learn = 'tme', guess = 1 }", "'tme'", "did you mean \"time\"?"),
        ("{ learn = 'time' }", "{ learn = 'time' }", "missing field `guess`"),
        ("{ learn = 'time', guess = 0 }", "0", "objectives.mass.cost.guess is 0"),
        ("'2 + 0.1 * lenth'", "'2 + 0.1 * lenth'", "objectives.mass.cost: the formula"),
        ("'2 + kind'", "'2 + kind'", "\"kind\" is a choice"),
        ("{ learn = 'time', gues = 1 }", "gues", "did you mean \"guess\"?"),
    ] {
        let error = changed("cost = 1\n", &format!("cost = {wrong}\n"));
        assert_eq!(only(&error).1, place, "{}", error.lines());
        assert!(error.lines().contains(expected), "{}", error.lines());
    }
}

#[test]
fn an_output_may_be_measured_alone_as_well() {
    let own = "[objectives.drag]\ncost = 3\ncommand = [\"./quick\"]";
    let file = parse(&WING.replacen("[objectives.drag]", own, 1)).unwrap();
    let names: Vec<&str> = file.problem.measurements.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["drag", "stress", "cfd"]);
    assert_eq!(file.measurement_run("drag").unwrap().outputs, ["drag"]);
}

#[test]
fn what_a_measurement_gives_has_no_half_measurement_of_its_own() {
    for field in ["cost = 3", "command = [\"./quick\"]", "timeout = \"1h\"", "slots = 1"] {
        let error = wing("[objectives.drag]", &format!("[objectives.drag]\n{field}"));
        let (message, place, help) = only(&error);
        let name = field.split(' ').next().unwrap();
        let expected =
            format!("objectives.drag.{name} is not allowed here: \"cfd\" measures \"drag\"");
        assert_eq!((message, place), (expected.as_str(), name));
        assert!(help.contains("both cost and command"));
    }
}

#[test]
fn what_nothing_gives_needs_a_cost() {
    let error = wing("\"lift\", \"drag\"", "\"drag\"");
    let (message, place, help) = only(&error);
    assert_eq!((message, place), ("objectives.lift needs cost", "lift"));
    assert!(help.contains("a measurement that lists it"), "{help}");
}

#[test]
fn a_formula_stands_alone() {
    for field in ["cost = 3", "noise = 0.1", "command = ['f']", "scale = 'log'", "retries = 1"] {
        let error = wing("formula =", &format!("{field}\nformula ="));
        let message = "cannot be combined with a formula";
        assert!(only(&error).0.contains(message), "{}", error.lines());
    }
    let error = wing("\"margin\"]", "\"margin\", \"mass\"]");
    let expected = "measurements.cfd.outputs[3] is a formula, known everywhere; leave it out here";
    assert_eq!((only(&error).0, only(&error).1), (expected, "\"mass\""));
    let error = wing("12 * span * chord", "12 * span * cord");
    assert_eq!(only(&error).1, "\"12 * span * cord\"");
    assert!(only(&error).0.starts_with("objectives.mass.formula: "), "{}", error.lines());
}

#[test]
fn mistakes_in_outputs_and_measurements_point_into_the_file() {
    for (from, to, place, expected) in [
        ("\"lift\", \"drag\"", "\"lift\", \"drog\"", "\"drog\"", "did you mean \"drag\"?"),
        ("\"lift\", \"drag\"", "\"lift\", \"drag\", \"lift\"", "\"lift\"", "is listed twice"),
        ("at_most = 200", "at_most = inf", "inf", "constraints.stress.at_most is inf"),
        ("at_least = -0.5", "at_least = nan", "nan", "constraints.margin.at_least is NaN"),
        (
            "at_least = -0.5",
            "at_least = -0.5\nscale = 'log'",
            "-0.5",
            "constraints.margin.at_least must be positive",
        ),
        ("at_most = 200\n", "", "stress", "constraints.stress needs at_most or at_least"),
        (
            "at_most = 200",
            "at_most = 200\nat_least = 0",
            "at_least",
            "constraints.stress.at_least cannot be combined with at_most",
        ),
        ("at_most = 200", "at_most = 'much'", "'much'", "must be a number"),
        ("cost = 10", "cost = -10", "-10", "constraints.stress.cost is -10"),
        ("guess = 60", "guess = -60", "-60", "measurements.cfd.cost.guess is -60"),
        ("noise = \"unknown\"", "noise = -1", "-1", "objectives.drag.noise is -1"),
        ("retries = 2", "retrys = 2", "retrys", "did you mean \"retries\"?"),
        (
            "outputs = [\"lift\", \"drag\", \"margin\"]\n",
            "",
            "cfd",
            "measurements.cfd needs outputs",
        ),
        ("cost = { learn = \"time\", guess = 60 }\n", "", "cfd", "measurements.cfd needs cost"),
        (
            "[constraints.margin]",
            "[constraints.lift]",
            "lift",
            "constraints.lift: \"lift\" is also the name of objectives.lift",
        ),
        (
            "[measurements.cfd]",
            "[measurements.stress]\noutputs = ['stress']\ncost = 1\n[measurements.cfd]",
            "stress",
            "measurements.stress: \"stress\" is also the name of constraints.stress",
        ),
        (
            "area = \"span * chord <= 1.5\"",
            "area = \"span * cord <= 1.5\"",
            "\"span * cord <= 1.5\"",
            "limits.area: ",
        ),
        (
            "area = \"span * chord <= 1.5\"",
            "area = 1.5",
            "1.5",
            "limits.area must be text in quotes",
        ),
        ("step = 0.05", "step = 5", "5", "parameters.span.step is 5"),
        ("digits = 2", "digits = 2\nstep = 1", "digits", "digits cannot be combined with step"),
        ("digits = 2", "digits = 0", "0", "digits is 0, but low is 0.2, which has more digits"),
        ("digits = 2", "digits = 16", "16", "digits must be at most 15"),
        ("ordered = true", "ordered = 1", "1", "ordered must be true or false"),
        ("ordered = true", "step = 1", "step", "step does not apply to a parameter with choices"),
        ("digits = 2", "ordered = true", "ordered", "ordered does not apply to a number"),
        ("[limits]", "[budget.evaluations]\ndrag = 3\n[limits]", "drag", "no measurement \"drag\""),
        (
            "[limits]",
            "[engine.reference]\nstress = 3\n[limits]",
            "stress",
            "no objective \"stress\"",
        ),
    ] {
        let error = wing(from, to);
        let found = error.diagnostics().iter().find(|one| {
            one.message.contains(expected) || one.help.as_ref().is_some_and(|h| h == expected)
        });
        let found = found.unwrap_or_else(|| panic!("{to}: {}", error.lines()));
        assert_eq!(underlined(&error, found), place, "{}", found.message);
    }
}

#[test]
fn counts_by_measurement_may_be_called_by_objective_but_not_both() {
    let with = |fields: &str| parse(&format!("{GOOD}\n[initial]\n{fields}\n"));
    for name in ["per_measurement", "per_objective"] {
        let file = with(&format!("{name} = {{ mass = 3 }}")).unwrap();
        assert_eq!(file.config.initial.per_measurement["mass"], 3);
        let error = with(&format!("{name} = {{ mass = 9999999 }}")).unwrap_err();
        assert!(error.lines().contains(&format!("initial.{name}.mass is")), "{}", error.lines());
    }
    let error = with("per_measurement = { mass = 3 }\nper_objective = { mass = 3 }").unwrap_err();
    assert!(only(&error).0.contains("repeats per_measurement"), "{}", error.lines());
}

#[test]
fn what_is_wanted_of_objectives_arrives() {
    let wanted = GOOD.replacen(
        "[objectives.mass]",
        "[preference]\nutility = 'chebyshev'\nimportance = ['deflection >= 2 * mass']\n\
         [objectives.mass]\nenough = 5",
        1,
    );
    let config = parse(&wanted).unwrap().config;
    assert_eq!(config.utility, Utility::Chebyshev);
    assert_eq!(config.enough.into_iter().collect::<Vec<_>>(), [("mass".to_owned(), 5.0)]);
    let statements = vec!["deflection >= 2 * mass".to_owned()];
    assert_eq!(config.preference, Preference::Importance(statements));
    let plain = parse(GOOD).unwrap().config;
    assert_eq!((plain.utility, plain.preference), (Utility::Linear, Preference::Uniform));
    assert!(plain.enough.is_empty());
    // An objective that is a formula may be enough, too.
    let formula = "[objectives.cost]\ndirection = 'minimise'\nformula = 'length'\nenough = 0.5\n";
    assert_eq!(parse(&format!("{GOOD}{formula}")).unwrap().config.enough["cost"], 0.5);
}

#[test]
fn mistakes_in_what_is_wanted_point_into_the_file() {
    let preference = |text: &str| changed("[study]", &format!("[preference]\n{text}\n[study]"));
    let error = preference("importance = ['mass >= 0.6', 'deflection >= 0.5']");
    let (message, place, _) = only(&error);
    assert_eq!(place, "'deflection >= 0.5'");
    let expected = "preference.importance[1]: together with those before it: no weights satisfy it; \
                    weights are not negative and sum to 1";
    assert_eq!(message, expected);
    let error = preference("importance = ['mas >= 0.6']");
    let (message, place, _) = only(&error);
    assert_eq!(place, "'mas >= 0.6'");
    assert!(
        message.contains("no objective is called \"mas\"; did you mean \"mass\"?"),
        "{message}"
    );
    let error = preference("importance = ['mass * deflection >= 0.1']");
    assert!(only(&error).0.contains("must be a sum of weights times numbers"));
    let error = changed(
        "[study]",
        "[engine]\npreference = 'uniform'\n[preference]\nimportance = []\n[study]",
    );
    assert!(only(&error).0.contains("cannot be combined with engine.preference"));
    let error = changed("cost = 1\n", "cost = 1\nenough = nan\n");
    assert_eq!(only(&error).0, "objectives.mass.enough must be a finite number");
    let error = changed("cost = 1\n", "cost = 1\nscale = 'log'\nenough = -1\n");
    let (message, place, _) = only(&error);
    assert_eq!(place, "-1");
    assert!(message.contains("must be positive"), "{message}");
    let error = changed("seed = 7", "algorithm = 'nehvi'\n[preference]\nutility = 'chebyshev'");
    assert!(only(&error).0.contains("nehvi does not know Chebyshev utilities; use c-mokg"));
    let both = "[measurements.both]\noutputs = ['mass', 'deflection']\ncost = 2\n";
    let text = format!("{}{both}", GOOD.replacen("cost = 1\n", "cost = 1\nenough = 5\n", 1));
    let message = parse(&text).unwrap_err().lines();
    assert!(message.contains("where one run gives several outputs, as both does"), "{message}");
}
