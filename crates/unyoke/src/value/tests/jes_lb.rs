//! JES-LB against figures computed independently, and where its formulas come near their limits.

use super::*;
use crate::problem::Problem;
use crate::space::Space;
use crate::value::jes_lb::{Evaluated, JesLb, NOISE_FREE, SampledFront, draw_fronts};

#[derive(Deserialize)]
struct Figures {
    objective_0: f64,
    objective_1: f64,
    both: f64,
}

#[derive(Deserialize)]
struct At {
    x: Vec<f64>,
    with_model_noise: Figures,
    noise_free: Figures,
}

#[derive(Deserialize)]
struct Sample {
    set: Vec<Vec<f64>>,
    front: Vec<Vec<f64>>,
}

#[derive(Deserialize)]
struct Case {
    gps: Vec<Process>,
    pareto_samples: Vec<Sample>,
    noise_free_variance: f64,
    points: Vec<At>,
}

fn front(designs: &[Vec<f64>], values: &[Vec<f64>]) -> SampledFront {
    let points = |rows: &[Vec<f64>]| Points::from_rows(rows[0].len(), rows).unwrap();
    SampledFront { designs: points(designs), values: points(values) }
}

fn unit_square(objectives: usize) -> Space {
    let mut builder = Problem::builder().continuous("x", 0.0, 1.0).continuous("y", 0.0, 1.0);
    for m in 0..objectives {
        builder = builder.maximise(format!("f{m}"), 1.0);
    }
    Space::new(&builder.build().unwrap())
}

#[test]
fn jes_lb_matches_the_recorded_figures() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../../tests/golden/jes_lb.json")).unwrap();
    assert!(cases.len() >= 2);
    for case in cases {
        let model = Model::of_objectives(case.gps.iter().map(Process::output).collect());
        let fronts: Vec<SampledFront> =
            case.pareto_samples.iter().map(|sample| front(&sample.set, &sample.front)).collect();
        assert_eq!(case.noise_free_variance, NOISE_FREE);
        for at in &case.points {
            for (certainty, expected) in
                [(None, &at.with_model_noise), (Some(NOISE_FREE), &at.noise_free)]
            {
                let jes_lb = |choice| JesLb::new(&model, &fronts, certainty, choice).unwrap();
                let alone = jes_lb(Evaluated::OneObjective);
                let together = jes_lb(Evaluated::AllObjectives);
                assert_eq!((alone.options(), together.options()), (2, 1));
                let gain = |acquisition, option| evaluate(acquisition, option, &at.x).0;
                assert_close(gain(&alone, 0), expected.objective_0, [1e-8, 0.0], "first objective");
                assert_close(
                    gain(&alone, 1),
                    expected.objective_1,
                    [1e-8, 0.0],
                    "second objective",
                );
                assert_close(gain(&together, 0), expected.both, [1e-8, 0.0], "both objectives");
            }
        }
    }
}

/// Fronts of random designs, with values that the models find possible.
fn random_fronts(rng: &mut Rng, model: &Model, count: usize) -> Vec<SampledFront> {
    let objectives = model.objectives.len();
    let dim = model.objectives[0].gp.dim();
    let draw = |_| {
        let designs: Vec<Vec<f64>> =
            (0..6).map(|_| (0..dim).map(|_| rng.uniform()).collect()).collect();
        let values: Vec<Vec<f64>> =
            (0..6).map(|_| (0..objectives).map(|_| 1.0 + rng.normal()).collect()).collect();
        front(&designs, &values)
    };
    (0..count).map(draw).collect()
}

#[test]
fn jes_lb_gradients_match_finite_differences() {
    let mut rng = Rng::new(5, 0);
    for objectives in [1, 2, 3] {
        for _ in 0..10 {
            let model = few_objectives(&mut rng, objectives);
            let fronts = random_fronts(&mut rng, &model, 3);
            for evaluated in [Evaluated::OneObjective, Evaluated::AllObjectives] {
                for certainty in [None, Some(NOISE_FREE)] {
                    let jes_lb = JesLb::new(&model, &fronts, certainty, evaluated).unwrap();
                    assert_gradients(&jes_lb, 3, &mut rng);
                }
            }
        }
    }
}

#[test]
fn jes_lb_is_never_nan() {
    for model in degenerate_surrogates() {
        let fronts = draw_fronts(&model, &unit_square(2), 1).unwrap();
        let single = vec![front(&[vec![0.3, 0.4]], &[vec![1.0, 1.0]])];
        let far_below = vec![front(&[vec![0.3, 0.4]], &[vec![-1e6, -1e6]])];
        let far_above = vec![front(&[vec![0.3, 0.4]], &[vec![1e6, 1e6]])];
        let repeated = vec![front(&vec![vec![0.3, 0.4]; 3], &vec![vec![1.0, 1.0]; 3])];
        for fronts in [fronts, single, far_below, far_above, repeated, vec![]] {
            for evaluated in [Evaluated::OneObjective, Evaluated::AllObjectives] {
                for certainty in [None, Some(NOISE_FREE)] {
                    let jes_lb = JesLb::new(&model, &fronts, certainty, evaluated).unwrap();
                    let designs = fronts.iter().flat_map(|front| front.designs.rows());
                    assert_sane(&jes_lb, &Points::from_rows(2, designs).unwrap());
                }
            }
        }
    }
}

#[test]
fn drawn_fronts_are_thin_non_dominated_and_the_same_for_the_same_seed() {
    let mut rng = Rng::new(6, 0);
    let mut model = few_objectives(&mut rng, 2);
    let kernel = || Kernel::new(Family::Matern52, 2, &[0.3], 1.0).unwrap();
    for output in &mut model.objectives {
        output.gp = Gp::new(kernel(), 0.0, 1e-4, &Data::empty(2)).unwrap();
    }
    let space = unit_square(2);
    let fronts = draw_fronts(&model, &space, 7).unwrap();
    let again = draw_fronts(&model, &space, 7).unwrap();
    assert_eq!(fronts.len(), 10);
    for (front, again) in fronts.iter().zip(&again) {
        assert_eq!(front.values, again.values);
        assert!((1..=10).contains(&front.designs.len()));
        let best = unyoke_math::pareto::non_dominated(&front.values).unwrap();
        assert_eq!(best.len(), front.values.len());
    }
    assert_ne!(fronts[0].values, fronts[1].values);
}
