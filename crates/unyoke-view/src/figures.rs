//! Figures of one study, each from plain data: its front, the designs of the front side by side, what each
//! parameter does, what was evaluated for what price, whether it is worth continuing, and whether its models can be
//! trusted. A figure is one or more pictures, each small enough for a phone.

mod trade_offs;
mod designs;
mod effects;
mod contour;
mod values;
mod spending;
mod progress;
mod predictions;

pub use contour::{ContourPanel, contour_figure};
pub use designs::{Coordinate, Line, designs_figure};
pub use effects::{EffectPanel, EffectPoint, Places, effects_figure};
pub use predictions::{Predicted, PredictedValue, predictions_figure};
pub use progress::{Moment, Stage, progress_figure};
pub use spending::{Payment, spending_figure};
pub use trade_offs::{
    FrontMark, MeasuredMark, Quantity, Spread, TradeOffs, measured_figure, trade_offs_figure,
    trade_offs_sheet,
};
pub use values::{Arrival, Arrivals, values_figure};

use unyoke_draw::{Axis, Border, Form, Ink, Kind, Legend, Panel, Scale, Sheet};

/// The inks of outputs and measurements, in order.
const INKS: [Ink; 6] = [Ink::Blue, Ink::Vermillion, Ink::Green, Ink::Purple, Ink::Orange, Ink::Sky];

/// The width of a panel that fits on a phone, with its axes.
const WIDTH: f64 = 280.0;

fn ink(place: usize) -> Ink {
    INKS[place % INKS.len()]
}

fn kind(is_log: bool) -> Kind {
    if is_log { Kind::Log } else { Kind::Linear }
}

fn panel(title: &str, x: Axis, y: Axis) -> Panel {
    Panel { title: title.into(), note: String::new(), x, y, border: Border::Axes, aside: 0.0 }
}

/// A sheet with one panel of this size.
fn sheet(panel: Panel, [width, height]: [f64; 2], legend: &Legend) -> Sheet {
    Sheet::new(&Form { heading: String::new(), width, height, columns: 1 }, &[panel], legend)
}

/// An axis of costs or numbers of evaluations, from zero.
fn from_zero(label: &str, most: f64) -> Axis {
    Axis::new(label, Scale::new(Kind::Linear, 0.0, most).padded(0.02), 5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke_draw::{Mark, Picture};

    fn draws(pictures: &[Picture]) {
        for picture in pictures {
            assert!(!picture.svg().contains("NaN"), "{}", picture.svg());
            assert!(picture.width() < 640.0, "{}", picture.width());
            picture.png(1.0).unwrap();
        }
    }

    fn mark() -> Mark {
        Mark::new("d1", "e1")
    }

    #[test]
    fn odd_values_are_drawn() {
        let (nan, huge) = (f64::NAN, 1e300);
        let quantity = |name: &str, is_log| Quantity { name: name.into(), is_log };
        let spread =
            |mean: f64, is_measured| Spread { low: mean - 1.0, mean, high: huge, is_measured };
        let front = FrontMark {
            mark: mark(),
            values: vec![spread(1.0, true), spread(nan, false), spread(huge, false)],
            is_confirmed: false,
        };
        let data = TradeOffs {
            objectives: vec![quantity("f", true), quantity("g", false), quantity("h", true)],
            front: vec![front.clone(), FrontMark { is_confirmed: true, ..front }],
            measured: [true, false]
                .map(|is_best| MeasuredMark {
                    mark: mark(),
                    values: vec![1.0, nan, f64::INFINITY],
                    is_best,
                })
                .to_vec(),
        };
        assert_eq!(trade_offs_figure(&data).len(), 3);
        draws(&trade_offs_figure(&data));
        draws(&trade_offs_figure(&TradeOffs::default()));
        assert_eq!(measured_figure(&data).len(), 3);
        draws(&measured_figure(&data));
        draws(&measured_figure(&TradeOffs::default()));

        let payment =
            |failed| Payment { mark: mark(), measurement: 1, spent: 3.0, cost: 3.0, failed };
        let names = ["f".to_owned(), "g".to_owned()];
        draws(&spending_figure(&names, &[payment(false), payment(true)]));
        draws(&spending_figure(&[], &[]));

        let arrival = |value, phase: &str| Arrival {
            mark: mark(),
            evaluation: 3,
            value,
            phase: phase.into(),
        };
        let phases = ["imported", "initial design", "search", "confirmation", "queued", "other"];
        let all = phases.map(|phase| arrival(Some(huge), phase)).to_vec();
        let with = |arrivals| Arrivals { output: quantity("f", true), best: None, arrivals };
        draws(&values_figure(&[with(all), with(vec![arrival(None, "search")]), with(vec![])]));

        let stage = |share| Stage { evaluation: 1, spent: 2.0, share };
        let moment = |gain| Moment { spent: 3.0, gain };
        let moments = [0.0, 1e-300, nan, 1.0].map(moment);
        draws(&progress_figure(&[stage(0.0), stage(1.0)], &moments));
        draws(&progress_figure(&[], &[]));

        let value =
            |measured, low, mean, high| PredictedValue { mark: mark(), measured, low, mean, high };
        draws(&predictions_figure(&[true, false].map(|is_log| Predicted {
            output: quantity("f", is_log),
            values: vec![value(1.0, 0.5, 1.2, 1.9), value(-huge, nan, nan, huge)],
        })));
        draws(&predictions_figure(&[]));

        let axis =
            Coordinate { name: "x".into(), ends: ["0".into(), "1".into()], is_output: false };
        let line = |at| Line { mark: mark(), at };
        draws(&designs_figure(
            &[axis.clone(), axis],
            &[line(vec![0.0, 1.0]), line(vec![0.5, nan])],
        ));
        draws(&designs_figure(&[], &[]));

        let point = |at, mean| EffectPoint { at, low: mean - 1.0, mean, high: huge };
        let places = [
            Places::Numbers { low: 0.0, high: 0.0, is_log: false },
            Places::Names(vec!["a".into(), "b".into()]),
        ];
        let panels = places.map(|places| EffectPanel {
            parameter: "x".into(),
            places,
            points: vec![point(0.0, nan), point(1.0, 2.0)],
            here: Some([nan, 2.0]),
        });
        draws(&effects_figure(&quantity("f", false), Some(2.0), &panels));
        draws(&effects_figure(&quantity("f", true), None, &[]));

        let contour = |field: Vec<f64>| ContourPanel {
            title: "f".into(),
            parameters: [quantity("x", true), quantity("y", false)],
            values: [vec![1.0, 10.0], vec![0.0, 1.0]],
            field,
            here: Some([nan, 0.5]),
        };
        draws(&contour_figure(&contour(vec![1.0, nan, huge, 2.0])).into_iter().collect::<Vec<_>>());
        draws(&contour_figure(&contour(vec![nan; 4])).into_iter().collect::<Vec<_>>());
        let narrow =
            ContourPanel { values: [vec![1.0], vec![0.0, 1.0]], ..contour(vec![1.0, 2.0]) };
        assert_eq!(contour_figure(&narrow), None);
    }

    #[test]
    fn names_of_many_axes_do_not_overlap() {
        let axis = |i: usize| Coordinate {
            name: format!("a rather long name of parameter {i}"),
            ends: ["0.001".into(), "2500000".into()],
            is_output: i > 12,
        };
        let axes: Vec<Coordinate> = (0..14).map(axis).collect();
        let pictures = designs_figure(&axes, &[Line { mark: mark(), at: vec![0.5; 14] }]);
        // Each has a line of its own: texts at different heights.
        let svg = pictures[0].svg();
        let texts = svg.split("<text ").skip(1).filter(|text| text.contains("a rather"));
        let heights: std::collections::BTreeSet<String> = texts
            .filter_map(|text| Some(text.split("y=\"").nth(1)?.split('"').next()?.to_owned()))
            .collect();
        assert_eq!(heights.len(), 14);
    }

    #[test]
    fn a_measured_design_has_no_bars_over_it() {
        let quantity = |name: &str| Quantity { name: name.into(), is_log: false };
        let of = |is_confirmed: bool| {
            let spread = |mean: f64| Spread {
                low: mean - 1.0,
                mean,
                high: mean + 1.0,
                is_measured: is_confirmed,
            };
            let front =
                FrontMark { mark: mark(), values: vec![spread(3.0), spread(5.0)], is_confirmed };
            let objectives = vec![quantity("f"), quantity("g")];
            let svg =
                trade_offs_figure(&TradeOffs { objectives, front: vec![front], measured: vec![] })
                    [0]
                .svg();
            svg.split("<g data-key")
                .nth(1)
                .unwrap()
                .split("</g>")
                .next()
                .unwrap()
                .matches("<path")
                .count()
        };
        assert_eq!((of(false), of(true)), (3, 1), "two bars and a circle, or a diamond");
    }
}
