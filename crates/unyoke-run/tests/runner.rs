//! Whole runs of studies whose commands give several outputs, report costs, or fail.
//!
//! Commands are shell scripts, supervisors real processes. Nothing here depends on how fast they are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use unyoke::{Evaluation, Reading, Status, Study};
use unyoke_run::{
    Ending, Interrupt, Opened, Progress, Runner, StudyFile, Summary, Supervisor, claim_by_hand,
};
use unyoke_store::Store;

const PROGRAM: &str = env!("CARGO_BIN_EXE_unyoke-run-supervisor");

/// Space-filling designs need no models; everything else does not matter here.
const SETTINGS: &str = "[study]\nalgorithm = 'sobol'\n[initial]\ndesigns = 1\n";

/// A study in a folder of its own.
struct Place(TempDir);

impl Place {
    /// A study of `x` with these sections, whose commands run `cfd.sh` and others in its folder.
    fn new(sections: &str) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let text = format!("{SETTINGS}[parameters.x]\nlow = 0\nhigh = 1\n{sections}");
        fs::write(place.path("study.toml"), text).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn script(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    fn file(&self) -> StudyFile {
        StudyFile::read(self.path("study.toml")).unwrap()
    }

    /// A run to its end, and all that was told meanwhile.
    fn run_told(&self) -> (Summary, Vec<Progress>) {
        let (file, mut told) = (self.file(), vec![]);
        let mut tell = |progress| told.push(progress);
        let supervisor = Supervisor::new(PROGRAM, ["supervise"]);
        let runner = Runner::new(&file, supervisor, Interrupt::default(), &mut tell).unwrap();
        let summary = runner.run().unwrap();
        (summary, told)
    }

    fn run(&self) -> Summary {
        self.run_told().0
    }

    fn study(&self) -> Study<Store> {
        self.file().open().unwrap().study
    }

    fn evaluations(&self) -> Vec<Evaluation> {
        self.study().evaluations().to_vec()
    }
}

/// One measurement of two objectives, made twice.
const CFD: &str = "[budget]\nevaluations = { cfd = 2 }
    [objectives.lift]\ndirection = 'maximise'
    [objectives.drag]\ndirection = 'minimise'
    [measurements.cfd]\noutputs = ['lift', 'drag']\ncost = 4\ncommand = ['sh', 'cfd.sh', '{x}']\n";

#[test]
fn one_run_gives_several_outputs_with_their_standard_errors() {
    for script in [
        r#"echo '{"lift": 1.5, "drag": {"value": 0.25, "sd": 0.125}}' > $UNYOKE_RESULT"#,
        "echo lift=1.5; echo 'drag: 0.25 ± 0.125'; echo done",
    ] {
        let place = Place::new(CFD);
        place.script("cfd.sh", script);
        let (summary, told) = place.run_told();
        assert_eq!((summary.ending, summary.finished, summary.spent), (Ending::Budget, 2, 8.0));
        for evaluation in place.evaluations() {
            assert_eq!(evaluation.reading(0), Some(1.5.into()));
            assert_eq!(evaluation.reading(1), Some(Reading { value: 0.25, sd: Some(0.125) }));
        }
        let finished = told.iter().find_map(|progress| match progress {
            Progress::Finished { measurement, measured, .. } => {
                Some(format!("{measurement}: {measured}"))
            }
            _ => None,
        });
        assert_eq!(finished.as_deref(), Some("cfd: drag = 0.25 ± 0.125, lift = 1.5"));
    }
}

#[test]
fn what_one_output_lacks_does_not_cost_the_others() {
    let place =
        Place::new(&CFD.replace("direction = 'minimise'", "direction = 'minimise'\nscale = 'log'"));
    place.script(
        "cfd.sh",
        r#"case $UNYOKE_EVALUATION in
        0) echo '{"lift": 1.5, "drag": NaN}' > $UNYOKE_RESULT;;
        *) echo lift=2.5; echo drag=-1;;
    esac"#,
    );
    assert_eq!(place.run().finished, 2);
    let evaluations = place.evaluations();
    let missing = |e: &Evaluation| match &e.status {
        Status::Completed(results) => results.missing.clone().unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!((evaluations[0].reading(0), evaluations[0].reading(1)), (Some(1.5.into()), None));
    assert_eq!(missing(&evaluations[0]), "drag is NaN");
    assert_eq!((evaluations[1].reading(0), evaluations[1].reading(1)), (Some(2.5.into()), None));
    assert_eq!(missing(&evaluations[1]), "drag is -1, but must be positive on a log scale");
}

#[test]
fn values_do_not_count_if_the_command_says_that_it_failed() {
    let place = Place::new(CFD);
    place.script("cfd.sh", r#"echo '{"lift": 1.5, "drag": 2}' > $UNYOKE_RESULT; exit 7"#);
    assert_eq!(place.run().failed, 2);
    let failed = |e: &Evaluation| matches!(&e.status, Status::Failed(r) if r.contains("code 7"));
    assert!(place.evaluations().iter().all(failed));
}

#[test]
fn what_a_command_reports_is_what_was_spent() {
    let place = Place::new(CFD);
    place.script("cfd.sh", r#"echo '{"lift": 1, "drag": 2, "cost": 0.75}' > $UNYOKE_RESULT"#);
    assert_eq!(place.run().spent, 1.5);
    let learned = CFD.replace("cost = 4", "cost = { learn = 'reported', guess = 9 }");
    let place = Place::new(&learned);
    place.script(
        "cfd.sh",
        r#"echo '{"lift": 1, "drag": 2, "cost": 0.75}' > $UNYOKE_RESULT
        exit $UNYOKE_EVALUATION"#,
    );
    let summary = place.run();
    assert_eq!((summary.finished, summary.failed, summary.spent), (1, 1, 1.5));
}

#[test]
fn time_is_spent_by_all_attempts_where_it_is_the_cost() {
    let learned = CFD.replace("cost = 4", "cost = { learn = 'time', guess = 9 }\nretries = 1");
    let place = Place::new(&learned);
    place.script(
        "cfd.sh",
        "test $UNYOKE_EVALUATION,$UNYOKE_ATTEMPT != 0,1 || exit 1
        test $UNYOKE_EVALUATION = 0 || exit 1; echo lift=1; echo drag=2",
    );
    place.run();
    let seconds = |evaluation: u64, attempt: u32| {
        let path = place.path(&format!("study.runs/{evaluation:06}/{attempt}/exit.json"));
        let exit: serde_json::Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        exit["seconds"].as_f64().unwrap()
    };
    let evaluations = place.evaluations();
    assert!(matches!(evaluations[0].status, Status::Completed(_)));
    assert!(matches!(evaluations[1].status, Status::Failed(_)));
    for evaluation in evaluations {
        let both = seconds(evaluation.id, 1) + seconds(evaluation.id, 2);
        let paid = evaluation.paid.unwrap();
        assert!((paid - both).abs() < 1e-6, "{paid} instead of {both}");
    }
}

#[test]
fn a_cost_that_depends_on_the_design_stays_within_the_budget() {
    let sections = ONE.replace("evaluations = { f = 5 }", "cost = 20");
    let place = Place::new(&sections.replace("cost = 1\n", "cost = '1 + 9 * x'\n"));
    place.script("f.sh", "echo 1");
    let summary = place.run();
    assert_eq!(summary.ending, Ending::Budget);
    let costs: Vec<f64> = place.evaluations().iter().map(|e| e.cost).collect();
    assert!(costs.iter().all(|cost| (1.0..=10.0).contains(cost)), "{costs:?}");
    // Designs for little more than 1 remain to the end.
    assert!(summary.spent <= 20.0 && summary.spent > 18.0, "{}", summary.spent);
}

/// Two objectives, one of them cheap.
const TWO: &str = "[budget]\ncost = 40\n[run]\nslots = 8
    [objectives.f]\ndirection = 'minimise'\ncost = 1\ncommand = ['sh', 'f.sh']
    [objectives.g]\ndirection = 'minimise'\ncost = 3\ncommand = ['sh', 'g.sh']\n";

/// How many evaluations of the second measurement there are.
fn of_second(evaluations: &[Evaluation]) -> usize {
    evaluations.iter().filter(|e| e.measurement == Some(1)).count()
}

#[test]
fn a_command_that_never_works_is_begun_three_times_and_waits_to_be_fixed() {
    let place = Place::new(TWO);
    place.script("f.sh", "echo 1");
    place.script("g.sh", "echo 'no licence' >&2; exit 9");
    let (summary, told) = place.run_told();
    let Ending::Failing(failing) = &summary.ending else { panic!("{:?}", summary.ending) };
    assert_eq!((failing.measurement.as_str(), failing.times), ("g", 3));
    let words = summary.ending.to_string();
    assert!(words.contains("no licence") && words.contains("`unyoke retry`"), "{words}");
    let failing = |progress: &&Progress| matches!(progress, Progress::Failing(_));
    assert_eq!(told.iter().filter(failing).count(), 1);
    assert_eq!((of_second(&place.evaluations()), summary.failed), (3, 3));
    assert!(summary.spent < 40.0, "the rest of the budget is kept");

    // Nothing has been fixed yet.
    let again = place.run();
    assert_eq!((again.failed, of_second(&place.evaluations())), (0, 3));
    assert!(matches!(again.ending, Ending::Failing(_)));

    place.script("g.sh", "echo 2");
    let mut study = place.study();
    let failed: Vec<u64> = place
        .evaluations()
        .iter()
        .filter(|e| matches!(e.status, Status::Failed(_)))
        .map(|e| e.id)
        .collect();
    for evaluation in &failed {
        study.retry(*evaluation).unwrap();
    }
    let fixed = place.run();
    assert_eq!((fixed.ending, fixed.failed), (Ending::Budget, 0));
    let evaluations = place.evaluations();
    assert!(of_second(&evaluations) > 3, "it goes on");
    for evaluation in failed {
        assert_eq!(evaluations[evaluation as usize].reading(1), Some(2.0.into()));
        let attempts = unyoke_run::Layout::new(place.path("study.runs")).attempts(evaluation);
        assert_eq!(attempts.unwrap(), [1, 2], "the numbers go on");
    }
}

/// With one slot, so that evaluations come one after the other.
fn one_by_one(sections: &str) -> String {
    sections.replace("slots = 8", "slots = 1")
}

#[test]
fn a_run_ends_when_an_output_cannot_be_had_and_says_what_its_command_wrote() {
    let place = Place::new(&one_by_one(TWO));
    place.script("f.sh", "echo 1");
    place.script("g.sh", "for i in 1 2 3 4 5 6 7 8 9 10; do echo line $i >&2; done; exit 9");
    let summary = place.run();
    assert_eq!((summary.failed, summary.finished, summary.spent), (3, 1, 10.0));
    let Ending::Failing(failing) = summary.ending else { panic!("{:?}", summary.ending) };
    assert_eq!((failing.spent, failing.dispensable), (9.0, false));
    assert_eq!(failing.lacking, [""; 0]);
    let log = failing.log.unwrap();
    assert_eq!(log.lines[..], (3..=10).map(|i| format!("line {i}")).collect::<Vec<_>>());
    assert!(fs::read_to_string(log.path).unwrap().starts_with("line 1\n"));
    assert_eq!(summary.failing.unwrap().measurement, "g");
}

#[test]
fn what_runs_when_a_measurement_turns_out_broken_is_waited_for() {
    let place = Place::new(TWO);
    // Those of the first measurement end only after all of the second have failed.
    place.script("f.sh", "while test $(ls -d made.* | wc -l) -lt 3; do :; done; echo 1");
    place.script("g.sh", "mkdir made.$UNYOKE_EVALUATION; exit 9");
    let summary = place.run();
    assert!(matches!(summary.ending, Ending::Failing(_)), "{:?}", summary.ending);
    assert_eq!((summary.pending, summary.failed), (0, 3));
    assert!(summary.finished >= 1, "{}", summary.finished);
}

#[test]
fn more_trials_are_made_where_the_file_says_so() {
    let place = Place::new(&one_by_one(TWO).replace("slots = 1", "slots = 1\ntrials = 5"));
    place.script("f.sh", "echo 1");
    place.script(
        "g.sh",
        "test $(ls -d made.* | wc -l) -ge 4 && echo 2; mkdir made.$UNYOKE_EVALUATION",
    );
    let summary = place.run();
    assert_eq!((summary.ending, summary.failed, summary.spent), (Ending::Budget, 4, 40.0));
}

#[test]
fn a_run_goes_on_without_a_measurement_whose_outputs_others_give() {
    let sections = "[budget]\ncost = 40\n[run]\nslots = 1
        [objectives.f]\ndirection = 'minimise'\ncost = 1\ncommand = ['sh', 'f.sh']
        [objectives.g]\ndirection = 'minimise'\ncost = 3\ncommand = ['sh', 'g.sh']
        [measurements.both]\noutputs = ['f', 'g']\ncost = 3.5\ncommand = ['sh', 'both.sh']\n";
    let sections = sections.replace("slots = 1", "slots = 1\n[initial]\ndesigns = 4");
    let place = Place::new("");
    let effort = "[engine]\nweights = 4\nsearch = { raw = 16, restarts = 2, iterations = 10 }\n";
    let text = format!("[parameters.x]\nlow = 0\nhigh = 1\n{sections}{effort}");
    place.script("study.toml", &text);
    place.script("f.sh", "echo 1");
    place.script("g.sh", "echo 2");
    place.script("both.sh", "exit 9");
    let (summary, told) = place.run_told();
    let broken = place.evaluations().iter().filter(|e| e.measurement == Some(2)).count();
    assert_eq!((summary.ending, summary.failing, broken), (Ending::Budget, None, 3));
    let warnings: Vec<&str> = told
        .iter()
        .filter_map(|progress| match progress {
            Progress::Failing(failing) if failing.dispensable => Some(&*failing.measurement),
            _ => None,
        })
        .collect();
    assert_eq!(warnings, ["both"]);
    // Without another way to an output, there is no going on.
    let place = Place::new("");
    place.script("study.toml", &text);
    place.script("f.sh", "echo 1");
    place.script("g.sh", "exit 8");
    place.script("both.sh", "exit 9");
    let summary = place.run();
    assert!(matches!(summary.ending, Ending::Failing(_)), "{:?}", summary.ending);
    assert!(summary.spent < 40.0);
}

#[test]
fn an_output_that_never_comes_ends_the_run_though_others_do() {
    let place = Place::new(&CFD.replace("cfd = 2", "cfd = 9"));
    place.script("cfd.sh", "echo lift=1; echo Drag=2");
    let summary = place.run();
    let Ending::Failing(failing) = &summary.ending else { panic!("{:?}", summary.ending) };
    assert_eq!((&failing.lacking[..], failing.times), (&["drag".to_owned()][..], 3));
    let words = summary.ending.to_string();
    assert!(words.contains("cfd was made 3 times and never gave a value of drag"), "{words}");
    assert!(words.contains("`unyoke run --trials 6`"), "{words}");
    assert_eq!((summary.finished, summary.spent), (3, 12.0));

    place.script("cfd.sh", "echo lift=1; echo drag=2");
    let text = fs::read_to_string(place.path("study.toml")).unwrap();
    place.script("study.toml", &format!("{text}[run]\ntrials = 6\n"));
    let fixed = place.run();
    assert_eq!((fixed.ending, fixed.finished, fixed.failing), (Ending::Budget, 6, None));
}

#[test]
fn what_was_retried_and_fails_again_is_a_failure_again() {
    let place = Place::new(TWO);
    place.script("f.sh", "echo 1");
    place.script("g.sh", "echo broken >&2; exit 9");
    place.run();
    let is_failed = |e: &&Evaluation| matches!(e.status, Status::Failed(_));
    let failed = place.evaluations().iter().find(is_failed).unwrap().id;
    place.study().retry(failed).unwrap();
    place.script("g.sh", "echo 'still broken' >&2; exit 9");
    let summary = place.run();
    assert_eq!(summary.failed, 1);
    let status = &place.evaluations()[failed as usize].status;
    assert!(matches!(status, Status::Failed(reason) if reason.contains("still broken")));
    assert_eq!(of_second(&place.evaluations()), 3, "no other is begun");
}

/// A single objective.
const ONE: &str = "[budget]\nevaluations = { f = 5 }\n[run]\nslots = 8
    [objectives.f]\ndirection = 'minimise'\ncost = 1\ncommand = ['sh', 'f.sh']\n";

#[test]
fn while_a_measurement_is_on_trial_no_more_than_three_run_at_once() {
    let place = Place::new(ONE);
    // None ends before there are three.
    let script = "mkdir f.$UNYOKE_EVALUATION
        while test $(ls -d f.* | wc -l) -lt 3; do :; done; echo 1";
    place.script("f.sh", script);
    let (summary, told) = place.run_told();
    assert_eq!((summary.finished, summary.failed), (5, 0));
    let first = told.iter().position(|progress| matches!(progress, Progress::Finished { .. }));
    let started = |progress: &&Progress| matches!(progress, Progress::Started { .. });
    assert_eq!(told[..first.unwrap()].iter().filter(started).count(), 3);
}

#[test]
fn evaluations_made_by_hand_say_nothing_about_the_command() {
    let place = Place::new(ONE);
    place.script("f.sh", "echo 1");
    let Opened { mut study, store } = place.file().open_or_create().unwrap();
    for asked in study.ask_many(3).unwrap() {
        claim_by_hand(&store, asked.evaluation).unwrap().unwrap();
    }
    let summary = place.run();
    assert_eq!((summary.ending, summary.finished, summary.pending), (Ending::Budget, 2, 3));
}

#[test]
fn a_program_waits_for_the_trials_of_another() {
    let place = Place::new(ONE);
    // Nobody but the first program makes them; they end when the second one waits.
    place.script("f.sh", "while ! test -e go; do :; done; echo 1");
    let go = place.path("go");
    let summary = std::thread::scope(|scope| {
        let first = scope.spawn(|| place.run());
        let began = Instant::now();
        // Until all three are under way, the second one might begin one of them.
        loop {
            let is_begun = place.file().open().is_ok_and(|opened| {
                let leases = opened.store.leases().unwrap();
                leases.iter().filter(|held| held.is_live()).count() == 3
            });
            if is_begun {
                break;
            }
            assert!(began.elapsed() < Duration::from_secs(300), "the first program begins nothing");
            std::thread::sleep(Duration::from_millis(20));
        }
        let file = place.file();
        let mut tell = |progress| {
            if matches!(&progress, Progress::OnTrial { measurement } if measurement == "f") {
                fs::write(&go, "").unwrap();
            }
        };
        let supervisor = Supervisor::new(PROGRAM, ["supervise"]);
        let second = Runner::new(&file, supervisor, Interrupt::default(), &mut tell).unwrap();
        let second = second.run().unwrap();
        (first.join().unwrap(), second)
    });
    let (first, second) = summary;
    assert_eq!(first.finished + second.finished, 5);
    assert_eq!((first.ending, second.ending), (Ending::Budget, Ending::Budget));
}
