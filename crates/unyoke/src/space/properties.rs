//! What must hold of the cube of any problem.

use proptest::prelude::*;

use super::Space;
use crate::cases;
use crate::design::{Design, Value};
use crate::problem::{Parameter, Problem, Scale};

/// Whether two designs agree: discrete values exactly, numbers up to rounding.
fn agree(problem: &Problem, a: &Design, b: &Design) -> bool {
    problem.parameters.iter().all(|parameter| {
        let name = parameter.name();
        match (a.get(name), b.get(name)) {
            (Some(Value::Real(a)), Some(Value::Real(b))) => {
                (a - b).abs() <= rounding(parameter, *a)
            }
            (a, b) => a == b,
        }
    })
}

/// How much a number may change on its way into the cube and back.
fn rounding(parameter: &Parameter, v: f64) -> f64 {
    match parameter {
        Parameter::Continuous { low, high, scale: Scale::Linear, .. } => {
            2.0 * f64::EPSILON * (high - low).max(v.abs())
        }
        Parameter::Continuous { low, high, scale: Scale::Log, .. } => {
            4.0 * f64::EPSILON * v * (1.0 + (high / low).ln())
        }
        _ => 0.0,
    }
}

/// Points in and around the cube of a problem.
fn points(problem: Problem) -> impl Strategy<Value = (Problem, Vec<f64>)> {
    let dim = Space::new(&problem).dim();
    (Just(problem), prop::collection::vec(-0.2..1.2, dim))
}

fn problems_with_points() -> impl Strategy<Value = (Problem, Vec<f64>)> {
    cases::problems().prop_flat_map(points)
}

/// A problem with a point of the cube from which its designs are drawn.
fn problems_with_draws() -> impl Strategy<Value = (Problem, Vec<f64>)> {
    cases::problems().prop_flat_map(|problem| {
        let count = problem.parameters.len();
        (Just(problem), prop::collection::vec(0.0..=1.0, count))
    })
}

/// Whether `x` is the point of a design that could be suggested.
fn is_valid(space: &Space, x: &[f64]) -> bool {
    let mut snapped = x.to_vec();
    space.snap(&mut snapped);
    space.same(&snapped, x)
        && x.iter().all(|x| (0.0..=1.0).contains(x))
        && space.check_inside(&space.decode(x)).is_ok()
}

proptest! {
    #[test]
    fn designs_survive_the_way_into_the_cube_and_back(
        (problem, designs) in cases::problems_with_designs()
    ) {
        let space = Space::new(&problem);
        for design in designs {
            let x = space.encode(&design).unwrap();
            prop_assert!(x.iter().all(|x| (0.0..=1.0).contains(x)), "{x:?}");
            let back = space.decode(&x);
            prop_assert!(agree(&problem, &design, &back), "{design} became {back}");
        }
    }

    #[test]
    fn snapping_twice_changes_no_more_than_once((problem, x) in problems_with_points()) {
        let space = Space::new(&problem);
        let mut once = x.clone();
        space.snap(&mut once);
        prop_assert!(is_valid(&space, &once));
        prop_assert_eq!(space.decode(&once), space.decode(&x));
    }

    #[test]
    fn snapping_is_decoding_and_encoding((problem, x) in problems_with_points()) {
        let space = Space::new(&problem);
        let mut snapped = x.clone();
        space.snap(&mut snapped);
        let again = space.encode(&space.decode(&x)).unwrap();
        for (i, (a, b)) in snapped.iter().zip(&again).enumerate() {
            // Numbers with few digits between their bounds are moved by as much as a digit.
            prop_assert!(a == b || space.continuous()[i] && (a - b).abs() < 0.2, "{a} {b}");
        }
    }

    #[test]
    fn draws_from_the_cube_are_valid((problem, u) in problems_with_draws()) {
        let space = Space::new(&problem);
        prop_assert!(is_valid(&space, &space.from_cube(&u)));
    }

    #[test]
    fn neighbours_are_valid_and_differ_in_one_parameter((problem, u) in problems_with_draws()) {
        let space = Space::new(&problem);
        let x = space.from_cube(&u);
        let here = space.decode(&x);
        for neighbour in space.neighbours(&x) {
            prop_assert!(is_valid(&space, &neighbour));
            let there = space.decode(&neighbour);
            let changed = here.iter().filter(|(name, value)| there.get(name) != Some(value));
            prop_assert_eq!(changed.count(), 1);
        }
    }

    #[test]
    fn all_designs_are_listed_once(problem in cases::problems()) {
        let space = Space::new(&problem);
        let all = space.enumerate(500);
        prop_assert!(all.iter().all(|x| is_valid(&space, x)));
        match space.size() {
            Some(size) if size <= 500 => prop_assert_eq!(all.len() as u64, size),
            _ => prop_assert!(all.is_empty()),
        }
        let distinct: std::collections::BTreeSet<String> =
            all.iter().map(|x| space.decode(x).to_string()).collect();
        prop_assert_eq!(distinct.len(), all.len());
    }
}
