//! Measurements of several outputs, and constraints: against figures computed independently, and
//! gradients against finite differences.

use super::*;
use crate::model::Place;
use crate::value::vector::{self, Nodes, Observed};

#[derive(Deserialize)]
struct Constrained {
    gps: Vec<Process>,
    set: Vec<[f64; 2]>,
    /// The third output is at most this.
    limit: f64,
    reference: Vec<f64>,
    weights: Vec<Vec<f64>>,
    points: Vec<Gains>,
}

#[derive(Deserialize)]
struct Gains {
    x: Vec<f64>,
    /// Per weight vector, of observing each objective.
    objective: Vec<Vec<f64>>,
    /// Per weight vector, of observing the constraint.
    constraint: Vec<f64>,
}

/// Two objectives and a constraint. Inside, constraints are at least something: the third process is
/// turned.
fn constrained_surrogate(case: &Constrained) -> Model {
    let turned = Process {
        x: case.gps[2].x.clone(),
        y: case.gps[2].y.iter().map(|y| -y).collect(),
        lengthscales: case.gps[2].lengthscales.clone(),
        mean: -case.gps[2].mean,
        ..case.gps[2]
    };
    let mut model = Model::of_objectives(case.gps[..2].iter().map(Process::output).collect());
    model.constrain(turned.output(), -case.limit);
    model.reference = Some(case.reference.clone());
    model
}

fn constrained_cases() -> Vec<Constrained> {
    let text = include_str!("../../../tests/golden/constrained_kg.json");
    serde_json::from_str(text).unwrap()
}

fn gain(shared: &Scalarised<'_>, observed: &Observed, x: &[f64]) -> f64 {
    vector::evaluator(shared, observed)(x, None).exp()
}

#[test]
fn gains_within_a_constraint_match_the_recorded_ones() {
    for case in constrained_cases() {
        let model = constrained_surrogate(&case);
        let set = Points::from_rows(2, &case.set).unwrap();
        for at in &case.points {
            for (q, weights) in case.weights.iter().enumerate() {
                let shared = Scalarised::new(&model, &set, &one(weights)).unwrap();
                for m in 0..2 {
                    let observed = Observed::new(&[Place::Objective(m)]).unwrap();
                    let expected = at.objective[q][m];
                    let found = gain(&shared, &observed, &at.x);
                    assert_close(found, expected, [1e-6, 1e-12], "objective");
                }
                let nodes = Nodes::trapezoid(8.0, 1 << 14).unwrap();
                let observed = Observed::with_nodes(&[Place::Constraint(0)], nodes).unwrap();
                let found = gain(&shared, &observed, &at.x);
                // Recorded gains of constraints come from a mesh, right to 1e-8.
                assert_close(found, at.constraint[q], [1e-6, 1e-8], "constraint");
            }
        }
    }
}

#[test]
fn the_usual_nodes_are_near_to_many() {
    for case in constrained_cases() {
        let model = constrained_surrogate(&case);
        let set = Points::from_rows(2, &case.set).unwrap();
        let weights = sobol::simplex(2, 16, 1).unwrap();
        let shared = Scalarised::new(&model, &set, &weights).unwrap();
        for places in [
            vec![Place::Constraint(0)],
            vec![Place::Objective(0), Place::Objective(1)],
            vec![Place::Objective(1), Place::Constraint(0)],
        ] {
            let usual = Observed::new(&places).unwrap();
            let nodes = Nodes::trapezoid(8.0, 1 << 12).unwrap();
            let many = Observed::with_nodes(&places, nodes).unwrap();
            for at in &case.points {
                let (found, expected) = (gain(&shared, &usual, &at.x), gain(&shared, &many, &at.x));
                assert_close(found, expected, [0.02, 1e-5], &format!("{places:?}"));
            }
        }
    }
}

/// Random models of two objectives and two constraints in three inputs.
pub(super) fn random_constrained(rng: &mut Rng) -> Model {
    let mut four = few_objectives(rng, 2).objectives;
    four.extend(few_objectives(rng, 2).objectives);
    let constraints = four.split_off(2);
    let mut model = Model::of_objectives(four);
    for belief in constraints {
        model.constrain(belief, 0.3 * rng.normal());
    }
    model.reference = Some(vec![-1.0, -1.5]);
    model
}

#[test]
fn gradients_match_finite_differences_whatever_is_observed() {
    let mut rng = Rng::new(12, 0);
    let (f, g) = (Place::Objective(0), Place::Objective(1));
    let (c, d) = (Place::Constraint(0), Place::Constraint(1));
    for round in 0..4 {
        let model = random_constrained(&mut rng);
        let set = sobol::cube(3, 30, round).unwrap();
        let weights = sobol::simplex(2, 4, round).unwrap();
        let shared = Scalarised::new(&model, &set, &weights).unwrap();
        let observed = [vec![f], vec![c], vec![f, g], vec![g, d], vec![c, d], vec![f, g, c]];
        // The direction of the closed form moves with the candidate, to which only few nodes are not
        // indifferent: the gradient is that of the exact gain.
        let options = observed.map(|places| match places[..] {
            [Place::Objective(_), Place::Objective(_)] => {
                Observed::with_nodes(&places, Nodes::trapezoid(8.0, 1 << 13).unwrap()).unwrap()
            }
            _ => Observed::new(&places).unwrap(),
        });
        assert_gradients(&Several { shared, options: options.into() }, 3, &mut rng);
    }
}

/// Options as they are, to be looked at.
struct Several<'a> {
    shared: Scalarised<'a>,
    options: Vec<Observed>,
}

impl Acquisition for Several<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        vector::evaluator(&self.shared, &self.options[option])
    }
}

#[test]
fn nothing_is_lost_where_models_are_degenerate() {
    for model in degenerate_surrogates() {
        let mut constrained = model.clone();
        let [belief, ..] = &model.objectives[..] else { panic!() };
        for limit in [-1e30, 0.0, 1e30] {
            constrained.constrain(belief.clone(), limit);
        }
        let set = sobol::cube(2, 30, 4).unwrap();
        let weights = sobol::simplex(2, 4, 4).unwrap();
        let places = [
            vec![Place::Objective(0), Place::Objective(1)],
            vec![Place::Constraint(0), Place::Objective(1)],
            vec![Place::Constraint(1)],
        ];
        let shared = Scalarised::new(&constrained, &set, &weights).unwrap();
        let options = places.iter().map(|places| Observed::new(places).unwrap()).collect();
        assert_sane(&Several { shared, options }, &set);
    }
}

#[test]
fn observing_more_is_worth_at_least_as_much_and_one_objective_is_c_mokg() {
    let mut rng = Rng::new(5, 0);
    for round in 0..5 {
        let model = few_objectives(&mut rng, 2);
        let set = sobol::cube(3, 40, round).unwrap();
        let weights = sobol::simplex(2, 8, round).unwrap();
        let shared = || Scalarised::new(&model, &set, &weights).unwrap();
        let (plain, shared) = (CMokg::one_by_one(shared()), shared());
        let observe = |places: &[Place]| {
            let nodes = Nodes::trapezoid(8.0, 400).unwrap();
            let alone = Observed::new(places).unwrap();
            if places.len() == 1 { alone } else { Observed::with_nodes(places, nodes).unwrap() }
        };
        let (f, g) = (Place::Objective(0), Place::Objective(1));
        for x in sobol::cube(3, 8, round).unwrap().rows() {
            let [of_f, of_g, both] =
                [&[f][..], &[g], &[f, g]].map(|places| gain(&shared, &observe(places), x));
            for (m, found) in [of_f, of_g].into_iter().enumerate() {
                assert_close(found, plain.evaluator(m)(x, None).exp(), GAINS, "one objective");
            }
            assert!(both >= of_f.max(of_g) * (1.0 - 1e-9), "{both} {of_f} {of_g}");
        }
    }
}
