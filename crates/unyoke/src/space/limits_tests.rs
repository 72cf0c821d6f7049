//! What must hold of limits between parameters.

use proptest::prelude::*;

use super::Space;
use crate::cases;
use crate::design::Design;
use crate::problem::{Parameter, Problem, ProblemBuilder};
use unyoke_math::sobol;

fn start() -> ProblemBuilder {
    Problem::builder().maximise("f", 1.0)
}

fn space(builder: ProblemBuilder) -> Space {
    Space::new(&builder.build().unwrap())
}

/// Six numbers whose sum is at most 1: one in 720 designs.
fn simplex() -> Space {
    let start = (1..7).fold(start(), |b, i| b.continuous(format!("x{i}"), 0.0, 1.0));
    space(start.limit("sum", "x1 + x2 + x3 + x4 + x5 + x6 <= 1"))
}

/// `count` allowed designs, decoded, after checking that they are the same each time.
fn designs(space: &Space, count: usize) -> Vec<Design> {
    let points = space.allowed_points(count, 7).unwrap();
    assert_eq!(points, space.allowed_points(count, 7).unwrap());
    assert_ne!(points, space.allowed_points(count, 8).unwrap());
    assert_eq!(points.len(), count);
    for x in points.rows() {
        let mut snapped = x.to_vec();
        space.snap(&mut snapped);
        assert_eq!(snapped, x);
        assert!(space.allows(x));
    }
    points.rows().map(|x| space.decode(x)).collect()
}

fn real(design: &Design, name: &str) -> f64 {
    design.real(name).unwrap()
}

#[test]
fn a_simplex_is_filled_although_it_is_small() {
    let designs = designs(&simplex(), 300);
    let names: Vec<String> = (1..7).map(|i| format!("x{i}")).collect();
    for design in &designs {
        let sum: f64 = names.iter().map(|name| real(design, name)).sum();
        assert!(sum <= 1.0, "{sum}");
    }
    // Uniformly distributed, each is 1/7 on average, and above 1/2 in one of 64 designs.
    for name in &names {
        let mean = designs.iter().map(|design| real(design, name)).sum::<f64>() / 300.0;
        assert!((mean - 1.0 / 7.0).abs() < 0.04, "{mean}");
        assert!(designs.iter().any(|design| real(design, name) > 0.4));
    }
}

#[test]
fn a_large_share_is_filled_by_the_sequence_itself() {
    let space = space(
        start()
            .continuous("x", -1.0, 1.0)
            .continuous("y", -1.0, 1.0)
            .limit("disc", "x^2 + y^2 <= 0.1"),
    );
    let designs = designs(&space, 64);
    let quarters: std::collections::BTreeSet<(bool, bool)> =
        designs.iter().map(|d| (real(d, "x") > 0.0, real(d, "y") > 0.0)).collect();
    assert_eq!(quarters.len(), 4);
    let first = sobol::cube(2, 1000, 7).unwrap();
    let first = first.rows().map(|u| space.from_cube(u)).find(|x| space.allows(x)).unwrap();
    assert_eq!(space.allowed_points(1, 7).unwrap().row(0), first);
}

#[test]
fn a_thin_band_is_filled_from_end_to_end() {
    let space = space(
        start()
            .continuous("a", 0.0, 1.0)
            .continuous("b", 0.0, 1.0)
            .limit("band", "0 <= a - b <= 1e-3"),
    );
    let designs = designs(&space, 100);
    for k in 0..5 {
        let (low, high) = (0.2 * f64::from(k), 0.2 * f64::from(k + 1));
        let inside = designs.iter().filter(|d| (low..high).contains(&real(d, "a"))).count();
        assert!(inside >= 8, "{inside} from {low} to {high}");
    }
    let gaps: Vec<f64> = designs.iter().map(|d| real(d, "a") - real(d, "b")).collect();
    assert!(gaps.iter().all(|gap| (0.0..=1e-3).contains(gap)));
    assert!(gaps.iter().any(|gap| *gap < 3e-4) && gaps.iter().any(|gap| *gap > 7e-4));
}

#[test]
fn a_ratio_is_kept_on_log_scales() {
    let space = space(
        start()
            .continuous_log("a", 1e-3, 1e3)
            .continuous_log("b", 1e-3, 1e3)
            .limit("ratio", "a / b <= 1e-5"),
    );
    for design in designs(&space, 50) {
        assert!(real(&design, "a") / real(&design, "b") <= 1e-5);
    }
}

#[test]
fn integers_steps_and_numbers_together_are_exactly_satisfied() {
    let space = space(
        start()
            .integer("n", 0, 100)
            .stepped("t", 0.0, 10.0, 0.01)
            .integer("few", 1, 5)
            .continuous("x", 0.0, 1.0)
            .categorical("c", ["u", "v"])
            .limit("sum", "20 <= n + t + few + x <= 20.004"),
    );
    let designs = designs(&space, 60);
    for d in &designs {
        let sum = real(d, "n") + real(d, "t") + real(d, "few") + real(d, "x");
        assert!((20.0..=20.004).contains(&sum), "{d}");
    }
    for choice in ["u", "v"] {
        assert!(designs.iter().any(|d| d.get("c").unwrap().as_str() == Some(choice)));
    }
    assert!((1..6).all(|few| designs.iter().any(|d| real(d, "few") == f64::from(few))));
}

#[test]
fn integers_with_a_fixed_sum_are_found() {
    let start = (1..8).fold(start(), |b, i| b.integer(format!("n{i}"), 0, 30));
    let space = space(start.limit("sum", "20 <= n1 + n2 + n3 + n4 + n5 + n6 + n7 <= 20"));
    for design in designs(&space, 30) {
        let sum: f64 = (1..8).map(|i| real(&design, &format!("n{i}"))).sum();
        assert_eq!(sum, 20.0);
    }
}

#[test]
fn decimal_steps_satisfy_limits_as_people_count() {
    let space = space(
        start()
            .stepped("a", 0.0, 0.5, 0.1)
            .stepped("b", 0.0, 0.5, 0.1)
            .limit("sum", "a + b <= 0.3"),
    );
    // 0.1 + 0.2 is more than 0.3 in doubles.
    let listed: Vec<String> =
        space.enumerate(100).iter().map(|x| space.decode(x).to_string()).collect();
    assert_eq!(listed.len(), 10);
    assert!(listed.contains(&"a = 0.1, b = 0.2".to_owned()));
    assert!(!listed.contains(&"a = 0.2, b = 0.2".to_owned()));
}

#[test]
fn neighbours_and_lists_leave_out_what_is_not_allowed() {
    let space = space(start().integer("n", 1, 5).integer("m", 1, 5).limit("order", "n <= m - 1"));
    assert_eq!(space.enumerate(25).len(), 10);
    assert!(space.enumerate(25).iter().all(|x| space.allows(x)));
    let x = space.encode(&Design::new().with("n", 1).with("m", 2)).unwrap();
    let near: Vec<String> =
        space.neighbours(&x).iter().map(|x| space.decode(x).to_string()).collect();
    assert_eq!(near, ["m = 3, n = 1"]);
}

#[test]
fn without_limits_everything_is_allowed() {
    let space = space(start().continuous("x", 0.0, 1.0).integer("n", 1, 3));
    assert!(!space.is_limited() && space.allows(&[0.3, 0.5]));
    let cube = sobol::cube(2, 20, 5).unwrap();
    let plain: Vec<Vec<f64>> = cube.rows().map(|u| space.from_cube(u)).collect();
    let points = space.allowed_points(20, 5).unwrap();
    assert!(points.rows().eq(plain.iter().map(Vec::as_slice)));
    let mut gradient = [1.0; 2];
    assert_eq!(space.violation(&[0.3, 0.5], &mut gradient), 0.0);
    assert_eq!(gradient, [0.0; 2]);
    assert_eq!(space.pull_back(&[0.0, 0.0], &[0.4, 1.0]), [0.4, 1.0]);
}

#[test]
fn the_violation_is_zero_where_allowed_and_has_the_derivatives_of_differences() {
    let space = space(
        start()
            .continuous("x", -2.0, 3.0)
            .continuous_log("y", 0.01, 10.0)
            .stepped("t", 0.0, 1.0, 0.01)
            .integer("n", 1, 4)
            .categorical("c", ["u", "v"])
            .limit("a", "x^2 + y <= 1 + t")
            .limit("b", "x * n >= y - t"),
    );
    assert_eq!(space.climbable(), [true, true, true, false, false, false]);
    let cube = sobol::cube(5, 200, 3).unwrap();
    let (mut violated, mut unused) = (0, [0.0; 6]);
    for u in cube.rows() {
        let mut x = space.from_cube(u);
        // Between two steps, where searches look as well.
        x[2] = u[2];
        let mut gradient = [f64::NAN; 6];
        let violation = space.violation(&x, &mut gradient);
        violated += usize::from(violation > 0.0);
        for i in 0..3 {
            let mut at = |h: f64| {
                let mut x = x.clone();
                x[i] += h;
                space.violation(&x, &mut unused)
            };
            if x[i] < 2e-4 || x[i] > 1.0 - 2e-4 {
                continue;
            }
            let numeric = (at(1e-6) - at(-1e-6)) / 2e-6;
            let error = (gradient[i] - numeric).abs();
            assert!(error <= 1e-6 * gradient[i].abs().max(1.0), "{i}: {} {numeric}", gradient[i]);
        }
        assert_eq!(gradient[3..], [0.0; 3]);
        let mut snapped = x.clone();
        space.snap(&mut snapped);
        let violation = space.violation(&snapped, &mut gradient);
        assert_eq!(violation == 0.0, space.allows(&snapped), "{violation}");
    }
    assert!((50..200).contains(&violated), "{violated}");
}

#[test]
fn pulling_back_goes_as_far_as_allowed() {
    let simplex = simplex();
    let x = simplex.pull_back(&[0.0; 6], &[1.0; 6]);
    let sum: f64 = x.iter().sum();
    assert!(simplex.allows(&x) && sum > 1.0 - 1e-9, "{sum}");
    let here = [0.1; 6];
    assert_eq!(simplex.pull_back(&[0.0; 6], &here), here);
    let mixed = space(
        start()
            .integer("n", 0, 10)
            .continuous("x", 0.0, 10.0)
            .categorical("c", ["u", "v"])
            .limit("sum", "n + x <= 10"),
    );
    let inside = mixed.encode(&Design::new().with("n", 1).with("x", 1.0).with("c", "u")).unwrap();
    let beyond = mixed.encode(&Design::new().with("n", 9).with("x", 9.0).with("c", "v")).unwrap();
    let x = mixed.pull_back(&inside, &beyond);
    assert!(mixed.allows(&x));
    let design = mixed.decode(&x);
    let sum = real(&design, "n") + real(&design, "x");
    assert!((9.0..=10.0).contains(&sum), "{design}");
}

#[test]
fn what_is_not_a_number_is_not_allowed() {
    let space = space(start().continuous("x", -1.0, 1.0).limit("root", "sqrt(x) <= 0.5"));
    let mut gradient = [0.0];
    assert!(!space.allows(&[0.2]) && space.allows(&[0.55]));
    assert!(space.violation(&[0.2], &mut gradient) > 0.0);
    assert_eq!(gradient, [0.0]);
    for design in designs(&space, 20) {
        assert!((0.0..=0.25).contains(&real(&design, "x")));
    }
}

/// Problems with a limit that a design of theirs satisfies with something to spare.
fn limited_problems() -> impl Strategy<Value = (Problem, f64)> {
    cases::problems_with_designs().prop_filter_map("no numbers", |(mut problem, designs)| {
        let is_number = |p: &&Parameter| !matches!(p, Parameter::Categorical { .. });
        let names: Vec<String> =
            problem.parameters.iter().filter(is_number).map(|p| p.name().to_owned()).collect();
        let sum: f64 = names.iter().map(|name| real(&designs[0], name)).sum();
        let most = sum + 1e-6 * sum.abs();
        let formula = format!("{} <= {most:e}", names.join(" + "));
        problem.limits.push(crate::problem::Limit { name: "sum".into(), formula });
        (!names.is_empty() && most > sum).then_some((problem, most))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn suggested_designs_satisfy_the_limits((problem, most) in limited_problems()) {
        prop_assert_eq!(problem.check(), Ok(()));
        let space = Space::new(&problem);
        let points = space.allowed_points(20, 1).unwrap();
        prop_assert_eq!(points.len(), 20);
        for x in points.rows() {
            let design = space.decode(x);
            let numbers: Vec<f64> =
                problem.parameters.iter().filter_map(|p| design.real(p.name())).collect();
            let (sum, size) = numbers.iter().fold((0.0, 0.0), |(s, t), v| (s + v, t + v.abs()));
            // Rounding errors are forgiven where all parameters have steps.
            let rounding = if space.size().is_some() { 16.0 * f64::EPSILON * size } else { 0.0 };
            prop_assert!(sum <= most + rounding, "{sum} {most}");
            prop_assert_eq!(space.check_inside(&design), Ok(()));
        }
        for (a, b) in points.rows().zip(points.rows().skip(1)) {
            let beyond: Vec<f64> = b.iter().map(|b| 1.0 - b).collect();
            prop_assert!(space.allows(&space.pull_back(a, &beyond)));
        }
    }
}
