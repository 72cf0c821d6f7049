//! Evaluations under way count as what they may return, drawn jointly: the same wherever a study is
//! opened, on one thread or many, and never at the price of a suggestion.
#![allow(clippy::unwrap_used, clippy::panic)]

mod studies;

use studies::{
    assert_suggestion, at, f, g, import, no_initial_design, plane, spread, two_objectives,
};
use unyoke::{
    Algorithm, Config, Design, Event, Journal, KnownHyper, MemoryJournal, Output, Pending, Problem,
    Record, Study, Suggestion,
};

const IMAGINING: [Algorithm; 4] =
    [Algorithm::Auto, Algorithm::CMokg, Algorithm::CMokgRandom, Algorithm::HvkgExact];

fn with(pending: Pending, algorithm: Algorithm) -> Config {
    Config { pending, algorithm, ..no_initial_design() }
}

/// A study of two objectives with values of both at so many designs.
fn study(config: Config, count: usize) -> Study {
    study_in(MemoryJournal::default(), config, count)
}

fn study_in(journal: MemoryJournal, config: Config, count: usize) -> Study {
    let mut study = Study::create(two_objectives(), config, 3, journal).unwrap();
    import(&mut study, "f", count, f);
    import(&mut study, "g", count, g);
    study
}

/// What is asked for with so many evaluations under way.
fn with_under_way(mut study: Study, count: usize) -> Suggestion {
    for _ in 0..count {
        study.ask().unwrap();
    }
    study.suggest().unwrap()
}

/// Has this evaluated so many times: what no search would ask for.
fn ask_for(study: &mut Study, journal: &mut MemoryJournal, what: (&Design, &str), times: usize) {
    for _ in 0..times {
        let ((design, measurement), position) = (what, study.position());
        let event = Event::Asked {
            evaluation: study.evaluations().len() as u64,
            design: design.clone(),
            measurement: measurement.to_owned(),
            cost: 1.0,
            initial: false,
        };
        journal.append(position, &[event.into()]).unwrap();
        study.refresh().unwrap();
    }
}

/// The same but for its number.
fn same_place(a: &Suggestion, b: &Suggestion) -> bool {
    (&a.design, &a.measurement, &a.options) == (&b.design, &b.measurement, &b.options)
}

#[test]
fn with_nothing_under_way_there_is_nothing_to_imagine() {
    for algorithm in Algorithm::ALL {
        let suggest = |pending| study(with(pending, algorithm), 8).suggest().unwrap();
        assert_eq!(suggest(Pending::Fantasies(4)), suggest(Pending::Expected), "{algorithm:?}");
    }
}

#[test]
fn what_is_under_way_is_imagined_by_some_algorithms_only() {
    for algorithm in Algorithm::ALL {
        let suggest = |pending| with_under_way(study(with(pending, algorithm), 8), 2);
        let same = same_place(&suggest(Pending::Fantasies(4)), &suggest(Pending::Expected));
        assert_eq!(same, !IMAGINING.contains(&algorithm), "{algorithm:?}");
    }
}

#[test]
fn a_reopened_study_suggests_the_same_to_the_last_bit() {
    for algorithm in IMAGINING {
        let journal = MemoryJournal::default();
        let mut study = study_in(journal.clone(), with(Pending::Fantasies(4), algorithm), 6);
        for round in 0..4 {
            let asked = study.ask().unwrap();
            if round == 1 {
                study.tell(asked.evaluation, 0.3).unwrap();
            }
            let reopened = Study::open(journal.clone()).unwrap();
            assert_eq!(reopened.suggest().unwrap(), study.suggest().unwrap());
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let suggest = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| with_under_way(study(with(Pending::Fantasies(4), Algorithm::Auto), 10), 3))
    };
    assert_eq!(suggest(1), suggest(4));
}

#[test]
fn the_order_in_which_objectives_are_listed_does_not_matter() {
    let suggest = |problem: Problem| {
        let config = with(Pending::Fantasies(4), Algorithm::CMokg);
        let mut study = Study::with_config(problem, config, 3).unwrap();
        import(&mut study, "f", 9, f);
        import(&mut study, "g", 9, g);
        with_under_way(study, 3)
    };
    let turned = plane().minimise("g", 10.0).maximise("f", 1.0).build().unwrap();
    let (a, b) = (suggest(two_objectives()), suggest(turned));
    assert_eq!(a.measurement, b.measurement);
    for name in ["x", "y"] {
        let [a, b] = [&a, &b].map(|one| one.design.real(name).unwrap());
        assert!((a - b).abs() < 1e-6, "{a} and {b}");
    }
}

#[test]
fn scores_are_those_of_the_search() {
    for algorithm in IMAGINING {
        let mut study = study(with(Pending::Fantasies(4), algorithm), 8);
        study.ask().unwrap();
        let found = study.suggest().unwrap();
        let rows = &study.score(std::slice::from_ref(&found.design)).unwrap()[0];
        let row = rows.iter().find(|row| row.measurements == [found.measurement.clone()]).unwrap();
        let gain = found.options[found.chosen.unwrap()].log_gain;
        assert!((row.log_gain - gain).abs() < 1e-6 * gain.abs().max(1.0), "{algorithm:?}");
    }
}

/// The study of this journal as a program wrote it that knew no fantasies.
fn of_an_earlier_program(journal: &MemoryJournal) -> Study {
    let mut earlier = MemoryJournal::default();
    let records = journal.read(0).unwrap().into_iter().map(|record| {
        let mut written = serde_json::to_value(&record).unwrap();
        if matches!(record.event, Event::Created { .. }) {
            assert!(written["config"].as_object_mut().unwrap().remove("pending").is_some());
        }
        serde_json::from_value::<Record>(written).unwrap()
    });
    earlier.append(0, &records.collect::<Vec<_>>()).unwrap();
    Study::open(earlier).unwrap()
}

#[test]
fn a_study_begun_earlier_goes_on_with_what_is_expected() {
    let journal = MemoryJournal::default();
    let mut begun = study_in(journal.clone(), with(Pending::Expected, Algorithm::Auto), 8);
    begun.ask().unwrap();
    let earlier = of_an_earlier_program(&journal);
    assert_eq!(earlier.config().pending, Pending::Expected);
    assert_eq!(earlier.suggest().unwrap(), begun.suggest().unwrap());
    assert_eq!(Config::paper().pending, Pending::Expected);
}

#[test]
fn an_average_over_nothing_is_refused() {
    let config = with(Pending::Fantasies(0), Algorithm::Auto);
    let message = config.check(&two_objectives()).unwrap_err().to_string();
    assert_eq!(message, "config.pending.fantasies: must be at least 1");
}

#[test]
fn twenty_under_way_leave_a_suggestion_that_repeats_none() {
    let mut journal = MemoryJournal::default();
    let mut study = study_in(journal.clone(), with(Pending::Fantasies(8), Algorithm::Auto), 8);
    let mut asked: Vec<Design> = vec![];
    for i in 0..20 {
        let [x, y] = spread(100 + i);
        ask_for(&mut study, &mut journal, (&at(x, y), ["f", "g"][i % 2]), 1);
        asked.push(at(x, y));
    }
    let suggestion = assert_suggestion(&study);
    assert!(!asked.contains(&suggestion.design));
}

#[test]
fn exact_values_under_way_where_they_are_known_teach_nothing() {
    let [x, y] = spread(2);
    for times in [1, 3] {
        // Objectives are deterministic unless declared otherwise.
        let mut journal = MemoryJournal::default();
        let mut study = study_in(journal.clone(), with(Pending::Fantasies(8), Algorithm::Auto), 6);
        let before = study.suggest().unwrap();
        ask_for(&mut study, &mut journal, (&at(x, y), "f"), times);
        ask_for(&mut study, &mut journal, (&at(x, y), "g"), times);
        let suggestion = assert_suggestion(&study);
        let gain = |one: &Suggestion| one.options.iter().map(|row| row.log_gain).sum::<f64>();
        // Known to a thousandth of a deviation, the values change next to nothing.
        assert!((gain(&suggestion) - gain(&before)).abs() < 0.1, "{suggestion:?} after {before:?}");
    }
}

#[test]
fn exact_values_of_a_known_model_under_way_twice_are_passed_over() {
    let hyper = KnownHyper { lengthscales: vec![0.3], outputscale: 1.0, noise: 0.0, mean: 0.0 };
    let problem = plane().measured(Output::maximise("f").with_hyper(hyper.clone()), 1.0);
    let problem = problem.measured(Output::minimise("g").with_hyper(hyper), 10.0);
    let mut journal = MemoryJournal::default();
    let config = with(Pending::Fantasies(8), Algorithm::CMokg);
    let mut study = Study::create(problem.build().unwrap(), config, 0, journal.clone()).unwrap();
    import(&mut study, "f", 5, f);
    import(&mut study, "g", 5, g);
    let [x, y] = spread(1);
    ask_for(&mut study, &mut journal, (&at(x, y), "f"), 2);
    ask_for(&mut study, &mut journal, (&at(0.31, 0.42), "f"), 3);
    assert_suggestion(&study);
}

#[test]
fn with_no_value_yet_there_is_a_suggestion_all_the_same() {
    for count in [0, 1] {
        let mut journal = MemoryJournal::default();
        let config = with(Pending::Fantasies(4), Algorithm::Auto);
        let mut study = study_in(journal.clone(), config, count);
        ask_for(&mut study, &mut journal, (&at(0.5, 0.5), "f"), 2);
        assert_suggestion(&study);
    }
}

#[test]
fn constraints_and_several_outputs_under_way_are_imagined_too() {
    let problem = plane()
        .maximise("f", 1.0)
        .minimise("g", 10.0)
        .measured(Output::at_most("stress", 1.0), 2.0);
    let mut journal = MemoryJournal::default();
    let config = with(Pending::Fantasies(4), Algorithm::Auto);
    let mut study = Study::create(problem.build().unwrap(), config, 0, journal.clone()).unwrap();
    import(&mut study, "f", 8, f);
    import(&mut study, "g", 8, g);
    import(&mut study, "stress", 8, |x, y| x + y);
    for _ in 0..3 {
        study.ask().unwrap();
    }
    assert_suggestion(&study);
    ask_for(&mut study, &mut journal, (&at(0.4, 0.6), "stress"), 2);
    assert_suggestion(&study);
}
