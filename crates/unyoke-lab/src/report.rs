//! Tables of the report, from the same data as figures.

use crate::figures::{Curve, TimeRange, label};
use unyoke_draw::page::{Cell, Table};
use unyoke_draw::value_at;

/// A table of mean ± standard error at the given costs, a row for each curve.
///
/// The least mean of each column is set off. A curve that does not reach a cost has a dash there.
pub fn mean_table(caption: &str, curves: &[Curve], costs: &[f64]) -> Table {
    let mean = |curve: &Curve, at: f64| value_at(&curve.cost, &curve.mean, at);
    let least: Vec<f64> = costs
        .iter()
        .map(|&at| curves.iter().filter_map(|c| mean(c, at)).fold(f64::INFINITY, f64::min))
        .collect();
    let cell = |curve: &Curve, at: f64, least: f64| match mean(curve, at) {
        Some(mean) if mean.is_finite() => {
            let error = value_at(&curve.cost, &curve.standard_error, at).unwrap_or(f64::NAN);
            let text = with_error(mean, error);
            if mean <= least { Cell::Best(text) } else { Cell::Plain(text) }
        }
        _ => "–".into(),
    };
    let row = |curve: &Curve| {
        let cells = costs.iter().zip(&least).map(|(&at, &least)| cell(curve, at, least));
        std::iter::once(Cell::from(label(&curve.algorithm))).chain(cells).collect()
    };
    let named = |cost: &f64| format!("cost {cost}");
    Table {
        caption: caption.into(),
        head: std::iter::once("Algorithm".to_string()).chain(costs.iter().map(named)).collect(),
        rows: curves.iter().map(row).collect(),
        ..Table::default()
    }
}

/// A table of seconds per suggestion, a row for each algorithm.
pub fn time_table(caption: &str, times: &[TimeRange]) -> Table {
    let row = |range: &TimeRange| {
        let seconds = [range.low, range.median, range.high].map(|s| Cell::from(significant(s)));
        let name = std::iter::once(Cell::from(label(&range.algorithm)));
        name.chain(seconds).chain([Cell::from(range.count.to_string())]).collect()
    };
    let head = ["Algorithm", "10 % (s)", "Median (s)", "90 % (s)", "Suggestions"];
    Table {
        caption: caption.into(),
        head: head.map(String::from).to_vec(),
        rows: times.iter().map(row).collect(),
        ..Table::default()
    }
}

/// A mean with its standard error, both to the second digit of the error.
fn with_error(mean: f64, error: f64) -> String {
    if !(error.is_finite() && error > 0.0) {
        return significant(mean);
    }
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
    minus(format!("{mean:.decimals$} ± {error:.decimals$}"))
}

/// A number with three digits that matter.
fn significant(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let decimals = (2.0 - value.abs().log10().floor()).clamp(0.0, 9.0) as usize;
    minus(format!("{value:.decimals$}"))
}

fn minus(text: String) -> String {
    text.replace('-', "−")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_decides_how_many_digits_are_shown() {
        assert_eq!(with_error(0.123456, 0.0123), "0.123 ± 0.012");
        assert_eq!(with_error(12.3456, 1.9), "12.3 ± 1.9");
        assert_eq!(with_error(-1234.5, 99.0), "−1234 ± 99");
        assert_eq!(with_error(0.0123456, f64::NAN), "0.0123");
        assert_eq!(with_error(0.0, 0.0), "0");
    }

    #[test]
    fn the_least_mean_at_a_cost_is_set_off_and_what_is_missing_is_a_dash() {
        let curve = |algorithm: &str, end: f64, value: f64| Curve {
            algorithm: algorithm.into(),
            cost: vec![10.0, end],
            mean: vec![1.0, value],
            standard_error: vec![0.1, 0.01],
            instances: 5,
        };
        let table = mean_table(
            "t",
            &[curve("c-mokg", 20.0, 0.5), curve("makg", 30.0, 0.7)],
            &[15.0, 20.0, 30.0],
        );
        assert_eq!(table.head, ["Algorithm", "cost 15", "cost 20", "cost 30"]);
        let best = |text: &str| Cell::Best(text.into());
        let row = vec!["C-MOKG".into(), best("1.00 ± 0.10"), best("0.500 ± 0.010"), "–".into()];
        assert_eq!(table.rows[0], row);
        assert_eq!(table.rows[1][2], Cell::from("1.00 ± 0.10"));
        assert_eq!(table.rows[1][3], best("0.700 ± 0.010"));
    }

    #[test]
    fn strange_times_are_written() {
        let range =
            |median| TimeRange { algorithm: "x".into(), low: 0.0, median, high: 1234.0, count: 2 };
        let table = time_table("t", &[range(f64::NAN), range(0.04567)]);
        assert_eq!(table.rows[0][2], Cell::from("–"));
        assert_eq!(table.rows[1][2], Cell::from("0.0457"));
        assert_eq!(table.rows[1][3], Cell::from("1234"));
    }
}
