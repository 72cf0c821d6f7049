//! Leave-one-out predictions in closed form, compared with really leaving each row out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use unyoke_math::data::Data;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::{Points, sobol};

const NOISE: f64 = 0.02;

fn model(data: &Data) -> Gp {
    let kernel = Kernel::new(Family::Matern52, 2, &[0.4, 0.9], 1.7).unwrap();
    Gp::new(kernel, 0.6, NOISE, data).unwrap()
}

/// Twelve points: the first three observed twice, some with known noise, the last one with both.
fn data() -> Data {
    let designs = sobol::cube(2, 12, 3).unwrap();
    let mut points = Points::new(2);
    let (mut values, mut noises) = (vec![], vec![]);
    let mut observe = |x: &[f64], value: f64, noise: Option<f64>| {
        points.push(x).unwrap();
        values.push(value);
        noises.push(noise);
    };
    for (i, x) in designs.rows().enumerate() {
        let value = (4.0 * x[0]).sin() + x[1] * x[1];
        let noise = [None, None, Some(0.3), Some(1e-3)][i % 4];
        observe(x, value, noise);
        if i < 3 {
            observe(x, value + 0.2, noise);
        }
    }
    observe(designs.row(11), 1.5, None);
    Data::with_known_noise(&points, &values, &noises).unwrap()
}

#[test]
fn the_closed_form_is_what_leaving_each_row_out_gives() {
    let data = data();
    assert_eq!((data.len(), data.counts()[0]), (13, 2.0));
    let left_out = model(&data).leave_one_out();
    assert_eq!(left_out.len(), data.len());
    for (i, found) in left_out.iter().enumerate() {
        let others: Vec<usize> = (0..data.len()).filter(|j| *j != i).collect();
        let without = model(&data.subset(&others)).predict(data.points().row(i)).unwrap();
        let variance = without.variance + data.noise(i, NOISE);
        assert!((found.value - data.values()[i]).abs() < 1e-14, "{i}: {found:?}");
        let error = (found.mean - without.mean).abs() / without.mean.abs();
        assert!(error < 1e-8, "{i}: {found:?} {without:?}");
        assert!((found.variance / variance - 1.0).abs() < 1e-8, "{i}: {found:?} {variance}");
    }
}

#[test]
fn a_single_row_is_expected_to_be_what_the_prior_says() {
    let data = Data::new(&Points::from_rows(2, [[0.3, 0.4]]).unwrap(), &[2.0]).unwrap();
    let [only] = model(&data).leave_one_out()[..] else { panic!("one row") };
    assert!((only.mean - 0.6).abs() < 1e-14 && (only.variance - 1.72).abs() < 1e-14, "{only:?}");
    assert!(model(&Data::empty(2)).leave_one_out().is_empty());
}
