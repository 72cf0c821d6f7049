//! NEHVI against Monte Carlo, its gradient, and its limits.

use super::*;
use crate::value::noisy_ehvi::NoisyEhvi;
use unyoke_math::pareto::hypervolume;

#[test]
fn noisy_ehvi_gradients_match_finite_differences() {
    let mut rng = Rng::new(9, 0);
    for round in 0..8 {
        for objectives in [1, 2, 3] {
            let model = few_objectives(&mut rng, objectives);
            let known = sobol::cube(3, 12, round).unwrap();
            let nehvi = NoisyEhvi::new(&model, &known, None, round).unwrap();
            assert_gradients(&nehvi, 3, &mut rng);
        }
    }
}

/// With values at the known designs that are all but certain, the mean over draws of the analytic
/// form is the expected hypervolume improvement over the front of expected values.
#[test]
fn expected_hypervolume_improvement_agrees_with_monte_carlo() {
    let mut rng = Rng::new(10, 0);
    for objectives in [2, 3] {
        let known = sobol::cube(2, 9, 4).unwrap();
        let output = |_| {
            let values: Vec<f64> = (0..9).map(|_| rng.normal()).collect();
            let kernel = Kernel::new(Family::Matern52, 2, &[0.3], 1.0).unwrap();
            let gp = Gp::new(kernel, 0.0, 1e-8, &Data::new(&known, &values).unwrap()).unwrap();
            Belief {
                gp,
                joint: None,
                known: None,
                bound: None,
                map: Standardizer::new(&[]).unwrap(),
                unit: 1.0,
                notes: vec![],
            }
        };
        let model = Model::of_objectives((0..objectives).map(output).collect());
        let reference = vec![-1.0; objectives];
        let front = model.means(&known).unwrap();
        let before = hypervolume(&front, &reference).unwrap();
        let nehvi = NoisyEhvi::new(&model, &known, Some(reference.clone()), 1).unwrap();
        let mut hopeful = 0;
        for x in sobol::cube(2, 8, 6).unwrap().rows() {
            let predictions: Vec<_> =
                model.objectives.iter().map(|output| output.gp.predict(x).unwrap()).collect();
            let count = 1 << 15;
            let mut sum = 0.0;
            for z in sobol::normals(objectives, count, 5).unwrap().rows() {
                let pairs = predictions.iter().zip(z);
                let y: Vec<f64> = pairs.map(|(p, z)| p.mean + p.variance.sqrt() * z).collect();
                let mut with = front.clone();
                with.push(&y).unwrap();
                sum += hypervolume(&with, &reference).unwrap() - before;
            }
            let exact = sum / count as f64;
            let (gain, _) = evaluate(&nehvi, 0, x);
            // What few of the draws improve, they estimate with an error of this size.
            assert_close(gain, exact, [5e-4, 3e-6], "expected improvement");
            hopeful += usize::from(exact > 0.01);
        }
        assert!(hopeful >= 3, "{hopeful}");
    }
}

/// With noisy values, against joint draws at the known designs and at x.
#[test]
fn uncertainty_about_the_front_is_counted() {
    let mut rng = Rng::new(11, 0);
    let model = few_objectives(&mut rng, 2);
    let known = sobol::cube(3, 6, 4).unwrap();
    let reference = vec![-1.0; 2];
    let nehvi = NoisyEhvi::with_draws(&model, &known, Some(reference.clone()), 2048, 1).unwrap();
    for x in sobol::cube(3, 4, 6).unwrap().rows() {
        let mut designs = known.clone();
        designs.push(x).unwrap();
        let count = 1 << 14;
        let normals = sobol::normals(14, count, 3).unwrap();
        let draw = |m: usize| {
            let own = normals.rows().map(|z| &z[7 * m..7 * (m + 1)]);
            let joint = model.objectives[m].gp.joint(&designs).unwrap();
            joint.sample(&Points::from_rows(7, own).unwrap()).unwrap()
        };
        let draws = [draw(0), draw(1)];
        let volume = |i: usize, designs: usize| {
            let row = |j: usize| [draws[0].row(i)[j], draws[1].row(i)[j]];
            let values = Points::from_rows(2, (0..designs).map(row)).unwrap();
            hypervolume(&values, &reference).unwrap()
        };
        let sum: f64 = (0..count).map(|i| volume(i, 7) - volume(i, 6)).sum();
        let exact = sum / count as f64;
        let (gain, _) = evaluate(&nehvi, 0, x);
        assert!((gain - exact).abs() <= 0.03 * exact, "{gain} against {exact}");
    }
}

#[test]
fn noisy_ehvi_is_never_nan() {
    for model in degenerate_surrogates() {
        for known in [0, 1, 8, 80] {
            let known = sobol::cube(2, known, 3).unwrap();
            for reference in [None, Some(vec![1e9, 1e9]), Some(vec![-1e9, -1e9])] {
                let nehvi = NoisyEhvi::new(&model, &known, reference, 2).unwrap();
                assert_sane(&nehvi, &known);
            }
        }
    }
}

/// Far from any hope the volume underflows, but its logarithm has a slope.
#[test]
fn there_is_a_slope_where_no_improvement_is_left() {
    let known = sobol::cube(2, 30, 3).unwrap();
    let output = |sign: f64| {
        let values: Vec<f64> = known.rows().map(|x| 100.0 * sign * x[0]).collect();
        let kernel = Kernel::new(Family::Matern52, 2, &[2.0], 1.0).unwrap();
        let gp = Gp::new(kernel, 0.0, 1e-4, &Data::new(&known, &values).unwrap()).unwrap();
        Belief {
            gp,
            joint: None,
            known: None,
            bound: None,
            map: Standardizer::new(&[]).unwrap(),
            unit: 1.0,
            notes: vec![],
        }
    };
    let model = Model::of_objectives(vec![output(1.0), output(1.0)]);
    let nehvi = NoisyEhvi::new(&model, &known, None, 2).unwrap();
    let mut gradient = vec![0.0; 2];
    let log = nehvi.evaluator(0)(&[0.3, 0.5], Some(&mut gradient));
    assert!(log.is_finite() && log < -1000.0 && gradient[0] > 0.0, "{log}, {gradient:?}");
}
