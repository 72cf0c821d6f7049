//! Examples of what the cube does with single kinds of parameters.

use super::Space;
use crate::design::{Design, Value};
use crate::error::Error;
use crate::problem::{Parameter, Problem, ProblemBuilder, Scale};

fn start() -> ProblemBuilder {
    Problem::builder().maximise("f", 1.0).minimise("g", 1.0)
}

fn space(builder: ProblemBuilder) -> Space {
    Space::new(&builder.build().unwrap())
}

fn mixed() -> Space {
    space(
        start()
            .continuous("length", 1.0, 3.0)
            .integer("layers", 1, 5)
            .categorical("kind", ["oak", "steel", "glass"]),
    )
}

fn some() -> Design {
    Design::new().with("length", 1.5).with("layers", 2).with("kind", "steel")
}

#[test]
fn a_design_becomes_a_point_and_comes_back() {
    let space = mixed();
    let x = space.encode(&some()).unwrap();
    assert_eq!(x, [0.25, 0.25, 0.0, std::f64::consts::FRAC_1_SQRT_2, 0.0]);
    assert_eq!(space.decode(&x), some());
    assert_eq!((space.dim(), space.parameters()), (5, 3));
    assert_eq!(space.continuous(), [true, false, false, false, false]);
}

#[test]
fn numbers_are_accepted_for_what_they_are_worth() {
    let space = mixed();
    let whole = some().with("length", 2).with("layers", 2.0);
    assert_eq!(space.encode(&whole).unwrap()[..2], [0.5, 0.25]);
    assert!(space.encode(&some().with("layers", 2.5)).is_err());
    assert!(space.encode(&some().with("layers", 1e300)).is_err());
    assert!(space.encode(&some().with("layers", f64::NAN)).is_err());
    assert!(space.encode(&some().with("layers", "2")).is_err());
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(space.encode(&some().with("length", bad)).is_err());
    }
    assert!(space.encode(&some().with("kind", 1)).is_err());
}

#[test]
fn names_that_do_not_fit_are_reported_with_the_nearest_that_does() {
    let space = mixed();
    let misspelt = Design::new().with("lenght", 1.5).with("layers", 2).with("kind", "steel");
    let unknown = |name: &str, near: Option<&str>| Error::UnknownParameter {
        name: name.into(),
        near: near.map(Into::into),
    };
    assert_eq!(space.encode(&misspelt), Err(unknown("lenght", Some("length"))));
    assert_eq!(space.encode(&some().with("colour", 1)), Err(unknown("colour", None)));
    let missing = Error::MissingParameter { name: "length".into() };
    assert_eq!(space.encode(&Design::new().with("kind", "oak")), Err(missing));
    let Err(Error::BadValue { parameter, value, must }) =
        space.encode(&some().with("kind", "stele"))
    else {
        panic!("an unknown choice was accepted")
    };
    assert_eq!((parameter.as_str(), value.as_str()), ("kind", "\"stele\""));
    assert!(must.contains("steel"));
}

#[test]
fn values_beyond_the_bounds_are_encoded_but_not_inside() {
    let space = mixed();
    let beyond = some().with("length", 5.0).with("layers", -3);
    assert_eq!(space.encode(&beyond).unwrap()[..2], [2.0, -1.0]);
    assert!(matches!(space.check_inside(&beyond), Err(Error::BadValue { .. })));
    assert_eq!(space.check_inside(&some()), Ok(()));
    assert_eq!(space.check_inside(&some().with("length", 3.0)), Ok(()));
    assert!(space.check_inside(&some().with("layers", 6)).is_err());
}

#[test]
fn values_too_far_from_the_bounds_to_be_encoded_are_refused() {
    let narrow = space(start().continuous("x", 0.0, 1e-10));
    assert!(narrow.encode(&Design::new().with("x", 1e300)).is_err());
    let log = space(start().continuous_log("x", 1.0, 10.0).integer_log("n", 1, 10));
    for (x, n) in [(0.0, 1), (-1.0, 1), (1.0, 0), (1.0, -1)] {
        assert!(log.encode(&Design::new().with("x", x).with("n", n)).is_err());
    }
    assert!(log.encode(&Design::new().with("x", 1e-300).with("n", 1 << 30)).is_ok());
}

#[test]
fn wide_log_scales_have_exact_bounds() {
    for (low, high) in [(1e-12, 1e12), (5e-324, f64::MAX), (1e-300, 1e300), (3.0, 3.0000001)] {
        let space = space(start().continuous_log("x", low, high));
        assert_eq!(space.decode(&[0.0]).real("x"), Some(low));
        assert_eq!(space.decode(&[1.0]).real("x"), Some(high));
        for bound in [low, high] {
            let x = space.encode(&Design::new().with("x", bound)).unwrap();
            assert_eq!(x, [if bound == low { 0.0 } else { 1.0 }]);
        }
    }
}

#[test]
fn the_middle_of_a_log_scale_is_the_geometric_mean() {
    let space = space(start().continuous_log("x", 1e-12, 1e12).integer_log("n", 1, 10_000));
    let design = space.decode(&[0.5, 0.5]);
    assert!((design.real("x").unwrap() - 1.0).abs() < 1e-14);
    assert_eq!(design.get("n"), Some(&Value::Integer(100)));
}

#[test]
fn narrow_bounds_far_from_zero_lose_nothing() {
    let (low, high) = (1e9, 1e9 + 1e-3);
    let space = space(start().continuous("x", low, high));
    let mut v: f64 = low;
    let mut last = -1.0;
    while v <= high {
        let x = space.encode(&Design::new().with("x", v)).unwrap();
        assert!(x[0] > last && x[0] <= 1.0);
        assert_eq!(space.decode(&x).real("x"), Some(v));
        (last, v) = (x[0], v.next_up());
    }
    assert_eq!(last, 1.0);
}

#[test]
fn a_parameter_with_one_value_stays_in_the_middle() {
    let space = space(
        start()
            .continuous("x", 3.0, 3.0)
            .continuous_log("y", 2.0, 2.0)
            .integer("n", 7, 7)
            .categorical("c", ["only"]),
    );
    let design = Design::new().with("x", 3.0).with("y", 2.0).with("n", 7).with("c", "only");
    assert_eq!(space.encode(&design).unwrap(), [0.5; 4]);
    assert_eq!(space.decode(&[0.0, 1.0, 0.2, 0.9]), design);
    assert_eq!(space.continuous(), [false; 4]);
    assert_eq!(space.size(), Some(1));
    assert_eq!(space.enumerate(1), [[0.5; 4]]);
    assert_eq!(space.from_cube(&[0.0, 0.3, 0.9, 1.0]), [0.5; 4]);
    assert!(space.neighbours(&[0.5; 4]).is_empty());
    let mut x = [0.1, 0.2, 0.3, 0.4];
    space.snap(&mut x);
    assert_eq!(x, [0.5; 4]);
}

#[test]
fn other_values_of_a_constant_are_other_points() {
    let space = space(start().continuous("x", 3.0, 3.0).continuous("z", 0.0, 0.0));
    let x = space.encode(&Design::new().with("x", 6.0).with("z", -1.0)).unwrap();
    assert_eq!(x, [1.5, -0.5]);
}

#[test]
fn integers_are_exact_to_the_last_one() {
    for (low, high) in [(0, 1i64 << 52), (-(1 << 51), 1 << 51), (1 << 52, 1 << 53)] {
        let space = space(start().integer("n", low, high));
        for v in [low, low + 1, low + (high - low) / 3, (low + high) / 2, high - 1, high] {
            let x = space.encode(&Design::new().with("n", v)).unwrap();
            assert_eq!(space.decode(&x).get("n"), Some(&Value::Integer(v)));
        }
    }
}

#[test]
fn log_integers_are_exact_to_the_last_one() {
    let high = 1i64 << 44;
    let space = space(start().integer_log("n", 1, high));
    let powers = (0..44).flat_map(|k| [(1i64 << k), (1 << k) + 1, (3 << k) / 2]);
    for v in powers.chain(high - 1000..=high) {
        let x = space.encode(&Design::new().with("n", v)).unwrap();
        assert_eq!(space.decode(&x).get("n"), Some(&Value::Integer(v)));
    }
}

#[test]
fn the_cube_gives_equal_shares_to_choices_and_integers() {
    let space = space(start().integer("n", 0, 3).categorical("c", ["a", "b"]));
    let mut counts = std::collections::BTreeMap::new();
    for i in 0..8 {
        for j in 0..8 {
            let x = space.from_cube(&[f64::from(i) / 8.0, f64::from(j) / 8.0]);
            *counts.entry(space.decode(&x).to_string()).or_insert(0) += 1;
        }
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [8; 8]);
    assert_eq!(
        space.from_cube(&[1.0, 1.0]),
        space.encode(&space.decode(&[1.0, 0.0, 1.0])).unwrap()
    );
}

#[test]
fn the_cube_gives_equal_shares_to_the_decades_of_a_log_integer() {
    let space = space(start().integer_log("n", 1, 9_999));
    let draw = |u: f64| space.decode(&space.from_cube(&[u])).real("n").unwrap();
    let below_hundred = (0..1000).filter(|i| draw((f64::from(*i) + 0.5) / 1000.0) < 100.0);
    assert_eq!(below_hundred.count(), 500);
    assert_eq!((draw(0.0), draw(1.0)), (1.0, 9_999.0));
}

#[test]
fn neighbours_step_once_and_by_a_tenth() {
    let space = space(start().integer("n", 0, 100).integer("m", 0, 2));
    let x = space.encode(&Design::new().with("n", 5).with("m", 0)).unwrap();
    let near: Vec<String> =
        space.neighbours(&x).iter().map(|x| space.decode(x).to_string()).collect();
    assert_eq!(near, ["m = 0, n = 4", "m = 0, n = 6", "m = 0, n = 15", "m = 1, n = 5"]);
}

#[test]
fn neighbours_are_every_other_choice_or_sixteen() {
    for (count, expected) in [(2, 1), (16, 15), (17, 16), (40, 16), (10_000, 16)] {
        let choices = (0..count).map(|i| i.to_string());
        let space = space(start().categorical("c", choices));
        let x = space.from_cube(&[0.99]);
        let neighbours = space.neighbours(&x);
        let distinct: std::collections::BTreeSet<String> =
            neighbours.iter().map(|x| space.decode(x).to_string()).collect();
        assert_eq!((neighbours.len(), distinct.len()), (expected, expected));
        assert!(!distinct.contains(&space.decode(&x).to_string()));
    }
}

#[test]
fn each_input_belongs_to_a_parameter() {
    let builder = start().categorical("only", ["a"]).integer("n", 0, 3);
    let space = space(builder.categorical("c", ["a", "b", "c"]));
    let groups = space.groups();
    assert_eq!(groups.len(), space.dim());
    assert_eq!(groups[groups.len() - 3..], [groups[groups.len() - 1]; 3], "{groups:?}");
    // Numbers are in order, and none is left out.
    assert!(groups[0] == 0 && groups.windows(2).all(|pair| pair[1] - pair[0] <= 1), "{groups:?}");
}

#[test]
fn finite_spaces_can_be_counted_and_listed() {
    let space = space(start().integer("n", 1, 3).categorical("c", ["a", "b"]));
    assert_eq!(space.size(), Some(6));
    let all = space.enumerate(6);
    let distinct: std::collections::BTreeSet<String> =
        all.iter().map(|x| space.decode(x).to_string()).collect();
    assert_eq!((all.len(), distinct.len()), (6, 6));
    assert!(space.enumerate(5).is_empty());
}

#[test]
fn infinite_and_enormous_spaces_are_not_listed() {
    assert_eq!(mixed().size(), None);
    assert!(mixed().enumerate(usize::MAX).is_empty());
    let huge = space(start().integer("a", 0, 1 << 52).integer("b", 0, 1 << 52));
    assert_eq!(huge.size(), Some(u64::MAX));
    assert!(huge.enumerate(1000).is_empty());
}

#[test]
fn three_integer_values_are_all_there_is() {
    let space = space(start().integer("n", 4, 6));
    assert_eq!(space.enumerate(10), [[0.0], [0.5], [1.0]]);
    assert_eq!(space.neighbours(&[0.5]), [[0.0], [1.0]]);
}

#[test]
fn odd_choices_are_choices_like_any_other() {
    let names: Vec<String> = ["NaN", "🦀", "inf", " "].iter().map(|s| s.to_string()).collect();
    let odd = space(start().categorical("c", names.clone()));
    for name in names {
        let design = Design::new().with("c", name);
        assert_eq!(odd.decode(&odd.encode(&design).unwrap()), design);
    }
}

#[test]
fn numbers_that_are_not_numbers_decode_to_something_valid() {
    let space = mixed();
    let design = space.decode(&[f64::NAN; 5]);
    assert_eq!(space.check_inside(&design), Ok(()));
    let mut x = [f64::NAN, f64::INFINITY, f64::NAN, -7.0, f64::NEG_INFINITY];
    space.snap(&mut x);
    assert!(x.iter().all(|x| (0.0..=1.0).contains(x)));
}

#[test]
fn objectives_are_maximised_inside() {
    let space = mixed();
    assert_eq!((space.sign(0), space.sign(1)), (1.0, -1.0));
    assert_eq!((space.to_internal(0, 2.5), space.to_internal(1, 2.5)), (2.5, -2.5));
    assert_eq!(space.to_user(1, space.to_internal(1, 0.1)), 0.1);
}

#[test]
fn stepped_values_are_suggested_as_people_write_them() {
    let space = space(start().stepped("t", 0.1, 0.5, 0.1));
    let listed: Vec<f64> =
        space.enumerate(9).iter().map(|x| space.decode(x).real("t").unwrap()).collect();
    assert_eq!(listed, [0.1, 0.2, 0.3, 0.4, 0.5]);
    assert_eq!(space.continuous(), [false]);
    assert_eq!(space.decode(&[0.45]).to_string(), "t = 0.3");
    assert_eq!(space.size(), Some(5));
}

#[test]
fn recorded_values_between_the_steps_stay_where_they_are() {
    let space = space(start().stepped("t", 150.0, 250.0, 25.0));
    let encode = |v: f64| space.encode(&Design::new().with("t", v)).unwrap()[0];
    assert_eq!((encode(175.0), encode(176.0), encode(300.0)), (0.25, 0.26, 1.5));
    assert_eq!(space.decode(&[encode(176.0)]).real("t"), Some(175.0));
    assert_eq!(space.check_inside(&Design::new().with("t", 176.0)), Ok(()));
    assert!(space.check_inside(&Design::new().with("t", 251.0)).is_err());
}

#[test]
fn a_bound_between_two_steps_is_never_suggested() {
    let space = space(start().stepped("t", 0.0, 1.0, 0.3));
    assert_eq!(space.decode(&[1.0]).real("t"), Some(0.9));
    assert_eq!(space.check_inside(&Design::new().with("t", 1.0)), Ok(()));
}

#[test]
fn steps_on_a_log_scale_have_shares_by_ratio() {
    let parameter = Parameter::Continuous {
        name: "t".into(),
        low: 0.5,
        high: 5_000.0,
        scale: Scale::Log,
        step: Some(0.5),
    };
    let space = space(start().parameter(parameter));
    let draw = |u: f64| space.decode(&space.from_cube(&[u])).real("t").unwrap();
    let below_fifty = (0..1000).filter(|i| draw((f64::from(*i) + 0.5) / 1000.0) < 50.0);
    assert_eq!(below_fifty.count(), 500);
    assert_eq!((draw(0.0), draw(1.0)), (0.5, 5_000.0));
    for level in [1, 2, 3, 10, 999, 5_000, 9_999, 10_000] {
        let v = 0.5 * f64::from(level);
        let x = space.encode(&Design::new().with("t", v)).unwrap();
        assert_eq!(space.decode(&x).real("t"), Some(v));
    }
}

#[test]
fn ordered_choices_stand_in_a_row() {
    let space = space(start().ordered("grade", ["low", "mid", "high"]).ordered("one", ["only"]));
    let encode = |grade: &str| {
        space.encode(&Design::new().with("grade", grade).with("one", "only")).unwrap()
    };
    assert_eq!(
        [encode("low"), encode("mid"), encode("high")],
        [[0.0, 0.5], [0.5, 0.5], [1.0, 0.5]]
    );
    assert_eq!(space.decode(&[0.7, 0.0]).to_string(), "grade = mid, one = only");
    assert_eq!(space.neighbours(&[0.0, 0.5]), [[0.5, 0.5]]);
    assert_eq!(space.enumerate(3).len(), 3);
    assert_eq!(space.climbable(), [false, false]);
    assert!(space.encode(&Design::new().with("grade", "midd").with("one", "only")).is_err());
}

#[test]
fn only_numbers_with_many_steps_are_searched_as_if_they_had_none() {
    let space = space(
        start()
            .continuous("a", 0.0, 1.0)
            .continuous("b", 1.0, 1.0)
            .integer("c", 1, 20)
            .integer("d", 1, 21)
            .stepped("e", 0.0, 1.0, 0.1)
            .stepped("f", 0.0, 1.0, 0.01)
            .categorical("g", ["x", "y"])
            .ordered("h", (0..30).map(|i| i.to_string())),
    );
    assert_eq!(space.climbable(), [true, false, false, true, false, true, false, false, false]);
    let continuous = [true, false, false, false, false, false, false, false, false];
    assert_eq!(space.continuous(), continuous);
}
