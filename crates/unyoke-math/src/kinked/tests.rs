//! Tops on kinks, where kinks meet, at the bounds, and where there are none.

use super::*;
use crate::random::Rng;

fn tight() -> Stopping {
    Stopping { iterations: 200, gradient: 0.0, gain: 1e-13 }
}

/// A smooth hill less kinks along parabolas that all pass through `top`, where it is highest.
fn hill(top: &[f64], weights: &[f64]) -> impl Fn(&[f64], &mut [f64], &mut Kinks) -> f64 + use<> {
    let (top, weights) = (top.to_vec(), weights.to_vec());
    move |x, gradient, kinks| {
        let away: Vec<f64> = x.iter().zip(&top).map(|(x, t)| x - t).collect();
        let (mut value, dim) = (0.0, x.len());
        gradient.fill(0.0);
        for (i, v) in away.iter().enumerate() {
            value -= (i + 1) as f64 * v * v;
            gradient[i] -= 2.0 * (i + 1) as f64 * v;
        }
        for (q, weight) in weights.iter().enumerate() {
            // It is worth to go there, and not further.
            let pull = 0.5 * weight.min(1.0);
            let (i, j) = (q % dim, (q + 1) % dim);
            let mut normal = vec![0.0; dim];
            normal[i] += 1.0;
            normal[j] += 4.0 * away[j];
            let gap = away[i] + 2.0 * away[j] * away[j];
            value += pull * gap - weight * gap.max(0.0);
            let factor = pull - if gap > 0.0 { *weight } else { 0.0 };
            gradient.iter_mut().zip(&normal).for_each(|(g, n)| *g += factor * n);
            kinks.add(gap, *weight, &normal);
        }
        value
    }
}

#[test]
fn tops_on_kinks_are_found_to_the_last_digits_with_few_evaluations() {
    for (dim, kinks) in [(1, 1), (2, 1), (2, 2), (4, 2), (6, 6)] {
        let mut rng = Rng::new(dim as u64, 0);
        for _ in 0..20 {
            let top: Vec<f64> = (0..dim).map(|_| 0.2 + 0.6 * rng.uniform()).collect();
            let start: Vec<f64> = (0..dim).map(|_| rng.uniform()).collect();
            let weights = vec![0.3; kinks];
            let (climb, cube) = (hill(&top, &weights), Bounds::unit_cube(dim));
            let found = maximize(climb, &start, &cube, &tight()).unwrap();
            assert!(found.value > -1e-12 && found.evaluations < 100, "{dim} {kinks} {found:?}");
        }
    }
}

#[test]
fn weights_of_many_sizes_do() {
    for weight in [1e-20, 1e-3, 1.0, 1e4, 1e8] {
        let climb = hill(&[0.4, 0.7], &[weight]);
        let found = maximize(climb, &[0.1, 0.2], &Bounds::unit_cube(2), &tight()).unwrap();
        // The kink itself is found to a unit in the last place, or from below.
        assert!(found.value > -1e-11, "{weight} {found:?}");
        assert!(found.evaluations < 150, "{weight} {found:?}");
    }
}

#[test]
fn a_top_beyond_the_bounds_is_found_on_them() {
    let climb = hill(&[1.3, 0.5], &[]);
    let found = maximize(climb, &[0.1, 0.9], &Bounds::unit_cube(2), &tight()).unwrap();
    assert_eq!(found.x[0], 1.0);
    assert!((found.x[1] - 0.5).abs() < 1e-6, "{found:?}");
    let held = Bounds::new(vec![0.2, 0.0], vec![0.2, 1.0]).unwrap();
    let found = maximize(hill(&[0.6, 0.5], &[]), &[0.9, 0.9], &held, &tight()).unwrap();
    assert!(found.x[0] == 0.2 && (found.x[1] - 0.5).abs() < 1e-6, "{found:?}");
}

#[test]
fn values_that_are_not_numbers_never_win_and_never_panic() {
    let cliff = |x: &[f64], g: &mut [f64], _: &mut Kinks| {
        g[0] = 1.0;
        if x[0] > 0.6 { f64::NAN } else { x[0] }
    };
    let top = maximize(cliff, &[0.1], &Bounds::unit_cube(1), &tight()).unwrap();
    assert!(top.value >= 0.5 && top.value <= 0.6, "{top:?}");
    let nowhere = |_: &[f64], _: &mut [f64], _: &mut Kinks| f64::NAN;
    let top = maximize(nowhere, &[0.1], &Bounds::unit_cube(1), &tight()).unwrap();
    assert_eq!((top.value, &top.x[..]), (f64::NEG_INFINITY, &[0.1][..]));
    let point = |_: &[f64], _: &mut [f64], _: &mut Kinks| 3.0;
    let top = maximize(point, &[], &Bounds::unit_cube(0), &tight()).unwrap();
    assert_eq!((top.value, top.evaluations), (3.0, 1));
}

#[test]
fn a_climb_ends_at_a_top_that_is_known_and_below_one_out_of_reach() {
    let cube = Bounds::unit_cube(2);
    let climb = |start: &[f64], tops: &[Optimum]| {
        maximize_beside(hill(&[0.4, 0.7], &[0.3]), start, &cube, &tight(), tops).unwrap()
    };
    let alone = climb(&[0.9, 0.1], &[]);
    assert_eq!(alone, maximize(hill(&[0.4, 0.7], &[0.3]), &[0.9, 0.1], &cube, &tight()).unwrap());
    // Not sooner than where it comes to the top.
    let same = climb(&[0.9, 0.1], std::slice::from_ref(&alone));
    assert!(same.evaluations < alone.evaluations, "{same:?} {alone:?}");
    assert!((same.x[0] - 0.4).abs() < ARRIVED && (same.x[1] - 0.7).abs() < ARRIVED, "{same:?}");
    // A lower one that lies elsewhere is in nobody's way.
    let lower = Optimum { x: vec![0.1, 0.1], value: alone.value - 1.0, evaluations: 1 };
    assert_eq!(climb(&[0.9, 0.1], &[lower]), alone);
    // One that is higher by far ends a climb after its first steps.
    let higher = Optimum { x: vec![0.1, 0.1], value: alone.value + 100.0, evaluations: 1 };
    let given_up = climb(&[0.9, 0.1], &[higher]);
    assert!(given_up.evaluations <= 2 * TRIED + 1 && given_up.value <= alone.value, "{given_up:?}");
}
