//! Test problems against figures computed elsewhere.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use unyoke_lab::facts::deviations;
use unyoke_lab::{Settings, Target};
use unyoke_math::{Points, sobol};

fn golden(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "golden", name].iter().collect()
}

#[test]
fn instances_from_a_file_agree_with_independent_figures() {
    for family in ["lengthscales", "observationnoise"] {
        let problems = Some(golden(&format!("{family}.json")));
        let settings = Settings { problems, ..Settings::usual(family).unwrap() };
        let instances = settings.instances(&[0]).unwrap();
        let found = deviations(&instances, &golden(&format!("facts_{family}.json"))).unwrap();
        assert!(found[0].values < 1e-6, "{found:?}");
        assert!(found[0].utility.abs() < 0.005, "{found:?}");
        assert!(found[0].hypervolume.abs() < 0.01, "{found:?}");
    }
}

#[test]
fn a_file_of_another_family_and_a_missing_instance_are_refused() {
    let problems = Some(golden("observationnoise.json"));
    let settings = Settings { problems, ..Settings::usual("lengthscales").unwrap() };
    let message = settings.instances(&[0]).unwrap_err().to_string();
    assert!(message.contains("observationnoise.json") && message.contains("length scales"));
    let settings = Settings { family: "observationnoise".to_owned(), ..settings };
    let message = settings.instances(&[7]).unwrap_err().to_string();
    assert!(message.contains("no instance 7"), "{message}");
}

#[test]
fn sampled_instances_have_the_statistics_of_their_family() {
    // Over many instances the values at a point have mean 0 and the family's variance.
    let settings = Settings::usual("lengthscales").unwrap();
    let ids: Vec<u32> = (0..60).collect();
    let instances = settings.instances(&ids).unwrap();
    let points = sobol::cube(2, 16, 5).unwrap();
    let mut squares = [0.0; 2];
    for instance in &instances {
        for row in instance.values(&points).unwrap().rows() {
            squares = [squares[0] + row[0] * row[0], squares[1] + row[1] * row[1]];
        }
    }
    let count = (ids.len() * points.len()) as f64;
    // Sixteen points of one smooth function count little more than one: wide bounds for the second.
    assert!((0.8..1.2).contains(&(squares[0] / count)), "{squares:?}");
    assert!((25.0..80.0).contains(&(squares[1] / count)), "{squares:?}");
}

#[test]
fn instances_depend_on_seed_and_number_only() {
    let settings = Settings::usual("observationnoise").unwrap();
    let other = Settings { seed: 1, ..settings.clone() };
    let at = |settings: &Settings, ids: &[u32]| {
        let point = Points::from_rows(2, [[0.3, 0.6]]).unwrap();
        settings.instances(ids).unwrap().last().unwrap().values(&point).unwrap()
    };
    assert_eq!(at(&settings, &[3]), at(&settings, &[0, 1, 3]));
    assert_ne!(at(&settings, &[3]), at(&settings, &[2]));
    assert_ne!(at(&settings, &[3]), at(&other, &[3]));
}

#[test]
fn every_formula_has_a_target_with_volume_and_utility() {
    for formula in unyoke_lab::formulas::Formula::all() {
        let settings = Settings::usual(formula.name).unwrap();
        let target = Target::of(&settings.instances(&[0]).unwrap()[0]).unwrap();
        assert!(target.hypervolume > 0.0, "{}", formula.name);
        assert!(target.best_expected_utility().is_finite(), "{}", formula.name);
    }
}
