//! What formulas and inequalities must give, and refuse.

use proptest::prelude::*;

use super::{Bound, Formula, Inequality};
use crate::error::Error;

const NAMES: [&str; 4] = ["x", "y", "wall thickness", "größe"];

fn bound(text: &str) -> Bound {
    Formula::parse(text).unwrap().bind(&NAMES).unwrap()
}

/// The value with x = 3, y = −2, wall thickness = 0.5 and größe = 7.
fn value(text: &str) -> f64 {
    bound(text).value(&[3.0, -2.0, 0.5, 7.0])
}

fn reason(error: Error) -> String {
    match error {
        Error::BadFormula { reason, .. } => reason,
        other => panic!("{other}"),
    }
}

/// Why the text is no formula.
fn refusal(text: &str) -> String {
    reason(Formula::parse(text).map(|f| f.bind(&NAMES).map(|_| ())).and_then(|r| r).unwrap_err())
}

fn inequality_refusal(text: &str) -> String {
    reason(Inequality::parse(text).and_then(|f| f.bind(&NAMES)).unwrap_err())
}

/// Asserts that the derivatives are those of differences.
fn assert_gradient(text: &str, at: &[f64]) {
    let formula = bound(text);
    let mut gradient = vec![f64::NAN; at.len()];
    assert_eq!(formula.gradient(at, &mut gradient).to_bits(), formula.value(at).to_bits());
    for (i, slope) in gradient.iter().enumerate() {
        let shifted = |h: f64| {
            let mut at = at.to_vec();
            at[i] += h;
            formula.value(&at)
        };
        // Richardson's extrapolation of central differences: the error is of fourth order.
        let central = |h: f64| (shifted(h) - shifted(-h)) / (2.0 * h);
        let numeric = (4.0 * central(5e-4) - central(1e-3)) / 3.0;
        let size = slope.abs().max(1.0);
        assert!((slope - numeric).abs() <= 1e-6 * size, "{text} by {i}: {slope}, not {numeric}");
    }
}

#[test]
fn numbers_are_read_as_people_write_them() {
    for (text, expected) in [
        ("3", 3.0),
        (" 0.5 ", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e-3", 1e-3),
        ("1.5E+3", 1500.0),
        ("2-1e-1", 1.9),
        ("7.85e3*2", 15700.0),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn precedence_is_that_of_mathematics() {
    for (text, expected) in [
        ("-2^2", -4.0),
        ("(-2)^2", 4.0),
        ("2^-1", 0.5),
        ("2^3^2", 512.0),
        ("2**3", 8.0),
        ("7-2-1", 4.0),
        ("8/4/2", 1.0),
        ("8/4*2", 4.0),
        ("2+3*4", 14.0),
        ("(2+3)*4", 20.0),
        ("2*-3", -6.0),
        ("--2", 2.0),
        ("+3", 3.0),
        ("-x^2", -9.0),
        ("x-y-1", 4.0),
        ("2^-x^2", 2f64.powi(-9)),
        ("1 − 2·3", -5.0),
    ] {
        assert_eq!(value(text), expected, "{text}");
    }
}

#[test]
fn functions_are_those_of_the_handbook() {
    for (text, expected) in [
        ("sqrt(16)", 4.0),
        ("exp(0)", 1.0),
        ("ln(e)", 1.0),
        ("log(e^2)", 2.0),
        ("log10(1000)", 3.0),
        ("abs(y)", 2.0),
        ("min(x, y)", -2.0),
        ("max(x, y, größe, 1)", 7.0),
        ("sin(pi/6)", 0.5),
        ("cos(pi/3)", 0.5),
        ("tan(pi/4)", 1.0),
        ("e", std::f64::consts::E),
    ] {
        assert!((value(text) - expected).abs() < 1e-14, "{text}");
    }
}

#[test]
fn functions_at_their_edges_are_not_numbers_rather_than_wrong() {
    for text in ["sqrt(-1)", "ln(-1)", "0/0", "min(sqrt(y), 1)", "max(1, ln(y))", "y^0.5"] {
        assert!(value(text).is_nan(), "{text}");
    }
    assert_eq!(value("1/0"), f64::INFINITY);
    assert_eq!(value("ln(0)"), f64::NEG_INFINITY);
    assert_eq!(value("sqrt(0)"), 0.0);
    assert_eq!(value("0^0"), 1.0);
    assert_eq!(value("exp(1000)"), f64::INFINITY);
    assert!(bound("x + y").value(&[1.0]).is_nan());
}

#[test]
fn any_name_can_be_used() {
    assert_eq!(value("{wall thickness} * 2"), 1.0);
    assert_eq!(value("größe + {x}"), 10.0);
    let odd = Formula::parse("{a-b} + {ü (mm)}").unwrap();
    assert_eq!(odd.names().collect::<Vec<_>>(), ["a-b", "ü (mm)"]);
    assert_eq!(odd.bind(&["a-b", "ü (mm)"]).unwrap().value(&[1.0, 2.0]), 3.0);
}

#[test]
fn parameters_win_over_constants_and_are_not_taken_for_functions() {
    let formula = Formula::parse("2 * e + pi + min + exp(e)").unwrap();
    let bound = formula.bind(&["e", "min", "pi"]).unwrap();
    assert_eq!(bound.value(&[0.0, 10.0, 1.0]), 12.0);
}

#[test]
fn the_example_of_a_beam_is_computed() {
    let formula = Formula::parse("7850 * width * (root + tip) / 2 * length").unwrap();
    assert_eq!(formula.names().collect::<Vec<_>>(), ["width", "root", "tip", "length"]);
    let bound = formula.bind(&["length", "root", "tip", "width"]).unwrap();
    assert_eq!(bound.value(&[2.0, 0.3, 0.1, 0.25]), 785.0);
    let mut gradient = [0.0; 4];
    bound.gradient(&[2.0, 0.3, 0.1, 0.25], &mut gradient);
    for (slope, expected) in gradient.iter().zip([392.5, 1962.5, 1962.5, 3140.0]) {
        assert!((slope - expected).abs() < 1e-9, "{gradient:?}");
    }
}

#[test]
fn derivatives_are_exact() {
    let at = [1.3, 0.7, 0.5, 2.1];
    for text in [
        "3",
        "x",
        "x + y - größe",
        "x * y / größe",
        "x^2 + y^3 + größe^-1.5",
        "x^y",
        "2^x",
        "sqrt(x) * exp(-y)",
        "ln(x * y) + log10(größe)",
        "sin(x) * cos(y) + tan({wall thickness})",
        "abs(y - x) + min(x, y, größe) + max(x, y)",
        "-(x / (1 + y^2))^2",
        "x * x * x",
    ] {
        assert_gradient(text, &at);
    }
    let long = (0..200).map(|i| format!("sin({i} * x) * y")).collect::<Vec<_>>().join(" + ");
    let mut gradient = [0.0; 2];
    assert_eq!(bound(&long).gradient(&[0.0, 2.0], &mut gradient), 0.0);
    assert_eq!(gradient, [39_800.0, 0.0]);
    assert_gradient("((x+y)*(x-y)+(x+y)*(x-y)+(x+y)*(x-y)+(x+y)*(x-y)+(x+y)*(x-y)+x*y)^2/1e3", &at);
}

#[test]
fn derivatives_at_edges_are_numbers_where_that_makes_sense() {
    let slopes = |text: &str, at: &[f64; 2]| {
        let mut gradient = [f64::NAN; 2];
        bound(text).gradient(at, &mut gradient);
        gradient
    };
    assert_eq!(slopes("abs(x)", &[0.0, 0.0]), [0.0, 0.0]);
    assert_eq!(slopes("max(x, y)", &[1.0, 1.0]), [1.0, 0.0]);
    assert_eq!(slopes("x^2", &[0.0, 0.0]), [0.0, 0.0]);
    assert_eq!(slopes("x^0 + x^1", &[0.0, 0.0]), [1.0, 0.0]);
    assert_eq!(slopes("x^y", &[-3.0, 2.0]), [-6.0, 0.0]);
    assert_eq!(slopes("0 * sqrt(x) + y", &[0.0, 0.0])[1], 1.0);
}

#[test]
fn what_is_wrong_is_said_in_plain_words() {
    for (text, part) in [
        ("", "empty"),
        ("  ", "empty"),
        ("x +", "missing at its end"),
        ("(x + 1", "not closed"),
        ("x + 1)", "no ( before"),
        ("2 x", "missing before \"x\""),
        ("2x", "missing before \"x\""),
        ("x (y)", "no function called \"x\""),
        ("sine(x)", "did you mean sin?"),
        ("x * / y", "missing before \"/\""),
        ("grösse", "did you mean \"größe\"?"),
        ("z", "no parameter is called \"z\""),
        ("sqrt(x, y)", "takes 1 number, not 2"),
        ("max(x)", "takes 2 numbers or more, not 1"),
        ("sin()", "not 0"),
        ("1,5", "decimals are written with a point"),
        ("(1,5)", "decimals are written with a point"),
        ("x % 2", "'%' has no meaning"),
        ("x; y", "has no meaning"),
        ("{x", "not closed"),
        ("{}", "no name"),
        ("1e999", "too large"),
        ("1.2.3", "missing before"),
        (".", "not a number"),
        ("x = 3", "nothing to compare"),
        ("x <= 3", "nothing to compare"),
    ] {
        let reason = refusal(text);
        assert!(reason.contains(part), "{text:?}: {reason}");
    }
}

#[test]
fn enormous_and_deeply_nested_texts_are_refused() {
    let nested = |n: usize| format!("{}x{}", "(".repeat(n), ")".repeat(n));
    assert!(refusal(&nested(100_000)).contains("at most 10000"));
    assert!(refusal(&nested(4_000)).contains("levels deep"));
    assert!(refusal(&"-".repeat(9_000)).contains("levels deep"));
    assert!(refusal(&"2^".repeat(4_000)).contains("levels deep"));
    assert!(refusal(&"sin(".repeat(2_000)).contains("levels deep"));
    assert_eq!(value(&nested(90)), 3.0);
    assert_eq!(value(&format!("{}x", "x+".repeat(4_000))), 12_003.0);
    let shown = Formula::parse(nested(100_000)).unwrap_err().to_string();
    assert!(shown.len() < 300, "{shown}");
}

#[test]
fn formulas_are_written_as_their_text() {
    let formula = Formula::parse(" 2 * x ").unwrap();
    let json = serde_json::to_string(&formula).unwrap();
    assert_eq!(json, "\" 2 * x \"");
    assert_eq!(serde_json::from_str::<Formula>(&json).unwrap(), formula);
    assert_eq!(formula.text(), " 2 * x ");
    assert_ne!(formula, Formula::parse("2 * x").unwrap());
    let error = serde_json::from_str::<Formula>("\"2 *\"").unwrap_err().to_string();
    assert!(error.contains("the formula \"2 *\" cannot be used"), "{error}");
    let inequality = Inequality::parse("x <= 1").unwrap();
    let json = serde_json::to_string(&inequality).unwrap();
    assert_eq!(serde_json::from_str::<Inequality>(&json).unwrap(), inequality);
    assert_eq!(inequality.text(), "x <= 1");
}

#[test]
fn bound_formulas_can_be_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + std::fmt::Debug>() {}
    shared::<Bound>();
    shared::<super::BoundInequality>();
}

#[test]
fn the_slack_of_an_inequality_is_how_far_it_is_satisfied() {
    for (text, expected) in [
        ("x + y <= 1", 0.0),
        ("x + y < 2", 1.0),
        ("x >= 5", -2.0),
        ("x > y", 5.0),
        ("0 <= x - y <= 4", -1.0),
        ("10 >= x >= 0", 3.0),
        ("x ≤ größe", 4.0),
    ] {
        let inequality = Inequality::parse(text).unwrap().bind(&NAMES).unwrap();
        let values = [3.0, -2.0, 0.5, 7.0];
        assert_eq!(inequality.slack(&values), expected, "{text}");
        let mut gradient = [0.0; 4];
        assert_eq!(inequality.gradient(&values, &mut gradient), expected, "{text}");
    }
    let text = "0 <= x - y <= 4";
    let inequality = Inequality::parse(text).unwrap();
    assert_eq!(inequality.names().collect::<Vec<_>>(), ["x", "y"]);
    let inequality = inequality.bind(&NAMES).unwrap();
    let mut gradient = [0.0; 4];
    inequality.gradient(&[3.0, -2.0, 0.0, 0.0], &mut gradient);
    assert_eq!(gradient, [-1.0, 1.0, 0.0, 0.0]);
    inequality.gradient(&[-3.0, -2.0, 0.0, 0.0], &mut gradient);
    assert_eq!(gradient, [1.0, -1.0, 0.0, 0.0]);
    assert!(inequality.uses(0) && inequality.uses(1) && !inequality.uses(2));
}

#[test]
fn an_inequality_of_what_is_not_a_number_is_not_satisfied() {
    for text in ["sqrt(y) <= 1", "0 <= sqrt(y) <= 1", "0 <= x <= ln(y)"] {
        let inequality = Inequality::parse(text).unwrap().bind(&NAMES).unwrap();
        let slack = inequality.slack(&[3.0, -2.0, 0.5, 7.0]);
        assert!(slack.is_nan(), "{text}: {slack}");
    }
}

#[test]
fn what_is_no_inequality_is_refused_with_a_way_out() {
    for (text, part) in [
        ("x + y", "nothing to compare"),
        ("x = y", "drop one of its parameters"),
        ("x == y", "drop one of its parameters"),
        ("x != y", "only <= and >="),
        ("x <> y", "only <= and >="),
        ("0 <= x >= 1", "different directions"),
        ("0 <= x <= y <= 1", "more than two"),
        ("<= 1", "one of its sides is empty"),
        ("x <=", "one of its sides is empty"),
        ("", "empty"),
        ("(x <= 1)", "not closed"),
        ("z <= 1", "no parameter is called"),
    ] {
        let reason = inequality_refusal(text);
        assert!(reason.contains(part), "{text:?}: {reason}");
    }
}

/// Formulas with their values by an independent computation, at x = 1.3 and y = 0.7.
fn expressions() -> impl Strategy<Value = (String, f64)> {
    let leaf = prop_oneof![
        Just(("x".to_owned(), 1.3)),
        Just(("y".to_owned(), 0.7)),
        (0u32..100).prop_map(|n| (format!("{n}"), f64::from(n))),
    ];
    leaf.prop_recursive(5, 40, 2, |inner| {
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            (pair.clone(), 0..4usize).prop_map(|(((a, u), (b, v)), op)| {
                let value = [u + v, u - v, u * v, u / v][op];
                (format!("({a}){}({b})", ["+", "-", "*", "/"][op]), value)
            }),
            pair.prop_map(|((a, u), (b, v))| (format!("max({a},{b})"), u.max(v))),
            inner.clone().prop_map(|(a, u)| (format!("-({a})"), -u)),
            inner.prop_map(|(a, u)| (format!("abs ( {a} )"), u.abs())),
        ]
    })
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        if let Ok(formula) = Formula::parse(text.as_str()) {
            let names: Vec<&str> = formula.names().collect();
            formula.bind(&names).unwrap().value(&vec![1.0; names.len()]);
        }
        let _ = Inequality::parse(text);
    }

    #[test]
    fn no_jumble_of_words_makes_it_panic(
        words in prop::collection::vec(
            prop::sample::select(vec!["x", "y", "1", "2e", ".", "(", ")", "+", "-", "*", "/", "^",
                ",", "<=", ">=", "=", "sin", "max", "{", "}", " ", "e", "ä"]), 0..30)
    ) {
        let text = words.concat();
        for parsed in [Formula::parse(text.as_str()).map(|_| ()), Inequality::parse(text.as_str()).map(|_| ())] {
            if let Err(error) = parsed {
                let is_typed = matches!(error, Error::BadFormula { .. });
                prop_assert!(is_typed);
            }
        }
        if let Ok(bound) = Formula::parse(text).and_then(|f| f.bind(&["x", "y", "ä"])) {
            let mut gradient = [0.0; 3];
            bound.gradient(&[0.3, -0.2, 1.0], &mut gradient);
        }
    }

    #[test]
    fn values_are_those_of_an_independent_computation((text, expected) in expressions()) {
        let value = bound(&text).value(&[1.3, 0.7]);
        let same = value == expected
            || !expected.is_finite() && !value.is_finite()
            || (value - expected).abs() <= 1e-12 * expected.abs();
        prop_assert!(same, "{text}: {value}, not {expected}");
    }
}
