//! Models of values some of which are wrong, against models of the same values without those.

use super::*;
use crate::config::Outliers;
use crate::problem::KnownHyper;
use unyoke_math::random::Rng;
use unyoke_math::sobol;

/// Values of an output on the unit square; more is better.
struct Seen {
    output: Output,
    limit: Option<f64>,
    points: Points,
    values: Vec<f64>,
}

fn wave(x: &[f64]) -> f64 {
    (6.0 * x[0]).sin() + (5.0 * x[1] + 1.0).cos()
}

impl Seen {
    fn new(count: usize, seed: u64, f: impl FnMut(&[f64]) -> f64) -> Self {
        let points = sobol::cube(2, count, seed).unwrap();
        let values = points.rows().map(f).collect();
        Self { output: Output::maximise("f"), limit: None, points, values }
    }

    /// One more value.
    fn and(mut self, x: [f64; 2], value: f64) -> Self {
        self.points.push(&x).unwrap();
        self.values.push(value);
        self
    }

    /// With every value turned into another one.
    fn map(&self, f: impl Fn(f64) -> f64) -> Self {
        let values = self.values.iter().map(|value| f(*value)).collect();
        Self { output: self.output.clone(), points: self.points.clone(), values, ..*self }
    }

    fn observed(&self) -> Observed<'_> {
        let row = |(i, value): (usize, &f64)| Row {
            evaluation: i as u64,
            x: self.points.row(i),
            value: *value,
            sd: None,
            searched: false,
        };
        Observed {
            output: &self.output,
            limit: self.limit,
            sign: 1.0,
            dim: 2,
            parameters: 2,
            groups: vec![0, 1],
            rows: self.values.iter().enumerate().map(row).collect(),
            expected: Points::new(2),
            pending: 0,
            known: None,
        }
    }

    fn draft(&self) -> Draft {
        let drafts = drafts(&[self.observed()], &Config::default(), &Fits::default()).unwrap();
        drafts.into_iter().next().unwrap()
    }

    /// The numbers of the values that are set aside, and of those that are clipped.
    fn outliers(&self) -> [Vec<u64>; 2] {
        let draft = self.draft();
        let clipped = draft.clipped.iter().map(|one| one.evaluation).collect();
        [draft.set_aside, clipped]
    }

    fn belief(&self, outliers: Outliers) -> Belief {
        let config = Config { outliers, ..Config::default() };
        let mut model = Model::fit(&[self.observed()], &config).unwrap();
        match self.limit {
            None => model.objectives.remove(0),
            Some(_) => model.constraints.remove(0).belief,
        }
    }
}

/// Expected values with their deviations at 200 places, in units of the values.
fn forecasts(belief: &Belief) -> Vec<[f64; 2]> {
    let places = sobol::cube(2, 200, 8).unwrap();
    let predictions = belief.predict_many(&places).unwrap().into_iter();
    let scale = belief.map.scale();
    predictions.map(|p| [belief.map.restore(p.mean), scale * p.variance.sqrt()]).collect()
}

fn lengthscales(belief: &Belief) -> Vec<f64> {
    belief.gp.kernel().inverse_lengthscales().iter().map(|inverse| 1.0 / inverse).collect()
}

/// Nothing is set aside or clipped.
const NONE: [Vec<u64>; 2] = [vec![], vec![]];

/// A place in the middle of 24 others, 0.07 away from the nearest.
const AMONG_OTHERS: [f64; 2] = [0.42, 0.55];

#[test]
fn a_value_that_its_neighbours_contradict_leaves_no_trace() {
    let clean = Seen::new(24, 3, wave);
    for value in [-20.0, -1e6, -1e300, -f64::MAX] {
        let wrong = Seen::new(24, 3, wave).and(AMONG_OTHERS, value);
        assert_eq!(wrong.outliers(), [vec![24], vec![]], "{value}");
        let (a, b) = (clean.belief(Outliers::Handled), wrong.belief(Outliers::Handled));
        assert_eq!(forecasts(&a), forecasts(&b));
        assert_eq!(a.gp.kernel().inverse_lengthscales(), b.gp.kernel().inverse_lengthscales());
        let kept = wrong.belief(Outliers::Kept);
        let error = |belief: &Belief| {
            let truth = sobol::cube(2, 200, 8).unwrap();
            let pairs = truth.rows().map(wave).zip(forecasts(belief));
            pairs.map(|(truth, [mean, _])| (truth - mean).abs()).sum::<f64>() / 200.0
        };
        assert!(error(&b) < 0.1 && error(&kept) > 0.3, "{} {}", error(&b), error(&kept));
    }
}

#[test]
fn a_bad_value_far_from_neighbours_is_clipped_and_changes_little_elsewhere() {
    // The corner is far from all others.
    let inside = |x: &[f64]| wave(&[0.25 + 0.75 * x[0], 0.25 + 0.75 * x[1]]);
    let shrunk = |seen: Seen| {
        let rows = seen.points.rows().map(|x| [0.25 + 0.75 * x[0], 0.25 + 0.75 * x[1]]);
        Seen { points: Points::from_rows(2, rows).unwrap(), ..seen }
    };
    let clean = shrunk(Seen::new(24, 3, inside));
    let at_corner = |belief: &Belief| belief.map.restore(belief.predict(&[0.0; 2]).unwrap().mean);
    let worst = clean.values.iter().copied().fold(f64::INFINITY, f64::min);
    for value in [-1e6, -1e300] {
        let wrong = || shrunk(Seen::new(24, 3, inside)).and([0.0, 0.0], value);
        assert_eq!(wrong().outliers(), [vec![], vec![24]], "{value}");
        let (a, b) = (clean.belief(Outliers::Handled), wrong().belief(Outliers::Handled));
        assert!(at_corner(&b) < at_corner(&a), "{} was {}", at_corner(&b), at_corner(&a));
        // Two are a bad region.
        let both = wrong().and([0.0, 0.03], value).belief(Outliers::Handled);
        assert!((worst - 5.0..worst).contains(&at_corner(&both)), "{}", at_corner(&both));
        for (a, b) in lengthscales(&a).iter().zip(lengthscales(&b)) {
            assert!((b / a).ln().abs() < 0.5, "{b} was {a}");
        }
        let places = sobol::cube(2, 200, 8).unwrap();
        let both = places.rows().zip(forecasts(&a).into_iter().zip(forecasts(&b)));
        for (x, ([a, a_sd], [b, b_sd])) in both.filter(|(x, _)| x[0] > 0.4 && x[1] > 0.4) {
            assert!((a - b).abs() < 3.0 * a_sd.max(b_sd), "{a} ± {a_sd}, {b} ± {b_sd} at {x:?}");
        }
    }
}

#[test]
fn several_values_at_once_are_found_on_both_sides() {
    let clean = Seen::new(40, 3, wave);
    let near = |i: usize| [clean.points.row(i)[0] + 0.02, clean.points.row(i)[1] - 0.02];
    let wrong = Seen::new(40, 3, wave);
    let wrong = wrong.and(near(5), -30.0).and(near(20), 1e6).and(near(31), -1e9);
    assert_eq!(wrong.outliers(), [vec![40, 41, 42], vec![]]);
    let (a, b) = (clean.belief(Outliers::Handled), wrong.belief(Outliers::Handled));
    assert_eq!(forecasts(&a), forecasts(&b));
}

#[test]
fn units_do_not_matter() {
    let wrong = Seen::new(40, 3, wave).and([0.0, 0.01], -1e7).and(AMONG_OTHERS, -25.0);
    let plain = wrong.outliers();
    assert_eq!(plain.iter().map(Vec::len).sum::<usize>(), 2, "{plain:?}");
    for (factor, shift) in [(1e-12, 0.0), (3.7, -1e3), (1e12, 1e13), (1e-300, 0.0), (1e300, 0.0)] {
        assert_eq!(wrong.map(|v| factor * v + shift).outliers(), plain, "{factor} {shift}");
    }
    let mut reversed = wrong.map(|v| v);
    reversed.values.reverse();
    let order: Vec<usize> = (0..wrong.values.len()).rev().collect();
    reversed.points = wrong.points.select(&order);
    let turned = |ids: &Vec<u64>| ids.iter().rev().map(|i| 41 - i).collect::<Vec<u64>>();
    assert_eq!(reversed.outliers(), [turned(&plain[0]), turned(&plain[1])]);
}

#[test]
fn a_good_value_counts_until_near_neighbours_contradict_it() {
    let good = |value: f64| Seen::new(24, 3, wave).and(AMONG_OTHERS, value);
    for value in [20.0, 1e6, 1e300] {
        let alone = good(value);
        assert_eq!(alone.outliers(), NONE);
        // The search measures beside it: it is confirmed, or contradicted.
        let beside = [AMONG_OTHERS[0] + 0.03, AMONG_OTHERS[1]];
        assert_eq!(good(value).and(beside, 0.7 * value).outliers(), NONE);
        let contradicted = good(value).and(beside, wave(&beside));
        assert_eq!(contradicted.outliers(), [vec![24], vec![]]);
    }
}

#[test]
fn a_narrow_hill_and_a_cliff_are_kept() {
    // One design in 30 hits the hill, which is as high as four ranges of all else.
    let hill = |x: &[f64]| {
        let square = (x[0] - 0.52).powi(2) + (x[1] - 0.47).powi(2);
        x[0] + 4.0 * (-square / (2.0 * 0.04 * 0.04)).exp()
    };
    for seed in 0..20 {
        let seen = Seen::new(30, seed, hill).and([0.52, 0.49], hill(&[0.52, 0.49]));
        assert_eq!(seen.outliers(), NONE, "seed {seed}");
    }
    // A twelfth of the designs is far worse.
    for seed in 0..20 {
        let cliff = |x: &[f64]| if x[0] + x[1] > 1.6 { -40.0 - x[0] } else { x[0] - x[1] };
        let [set_aside, _] = Seen::new(36, seed, cliff).outliers();
        assert!(set_aside.is_empty(), "seed {seed}");
    }
}

/// The model is the same whatever becomes of outliers.
fn assert_untouched(seen: &Seen, what: &str) {
    assert_eq!(seen.outliers(), NONE, "{what}");
    let (handled, kept) = (seen.belief(Outliers::Handled), seen.belief(Outliers::Kept));
    assert_eq!(forecasts(&handled), forecasts(&kept), "{what}");
    assert_eq!(handled.notes, kept.notes, "{what}");
}

#[test]
fn models_of_clean_values_stay_as_they_are_to_the_bit() {
    let branin = |x: &[f64]| {
        let (a, b) = (15.0 * x[0] - 5.0, 15.0 * x[1]);
        let hollow = b - 0.129_18 * a * a + 1.591_55 * a - 6.0;
        -(hollow * hollow + 9.602_11 * a.cos() + 10.0)
    };
    let decades = |x: &[f64]| -(10f64.powf(3.0 * (0.7 * x[0] + 0.3 * x[1])));
    let skewed = |x: &[f64]| -(2.0 * x[0] * x[0] + x[1]).exp() * (1.0 + 3.0 * x[1].powi(4));
    let mut touched = vec![];
    for (count, seed) in [6, 12, 30].into_iter().flat_map(|count| (0..12).map(move |s| (count, s)))
    {
        let mut rng = Rng::new(seed, 1);
        let noise = Seen::new(count, seed, |_| rng.normal());
        let all = [
            ("wave", Seen::new(count, seed, wave)),
            ("branin", Seen::new(count, seed, branin)),
            ("decades", Seen::new(count, seed, decades)),
            ("skewed", Seen::new(count, seed, skewed)),
            ("noise", noise),
        ];
        for (name, seen) in all {
            match seen.outliers() == NONE {
                true => assert_untouched(&seen, name),
                false => touched.push((name, seen.outliers())),
            }
        }
    }
    // A value at a steep corner may be clipped, seldom; none is set aside.
    assert!(touched.len() <= 1, "{touched:?}");
    assert!(touched.iter().all(|(name, [aside, _])| *name == "skewed" && aside.is_empty()));
}

#[test]
fn one_wrong_value_among_a_few_first_designs_is_found() {
    for place in [[0.9, 0.9], [0.0, 0.0], [0.5, 0.5]] {
        let seen = Seen::new(5, 3, wave).and(place, -1e6);
        assert_eq!(seen.outliers().concat(), [5], "{place:?}");
    }
    let few = Seen::new(4, 3, wave).and([0.9, 0.9], -1e6);
    assert_untouched(&few, "nothing is far from four values");
}

#[test]
fn equal_values_but_one_say_nothing_about_it() {
    for value in [-1e6, 3.1, 1e6] {
        assert_untouched(&Seen::new(20, 3, |_| 3.0).and(AMONG_OTHERS, value), "constant");
    }
}

#[test]
fn noise_is_that_of_the_other_values() {
    let mut rng = Rng::new(5, 0);
    let noisy = |x: &[f64]| wave(x) + 0.3 * rng.normal();
    let mut clean = Seen::new(60, 3, noisy);
    clean.output = clean.output.noisy();
    let variance = |seen: &Seen| {
        let belief = seen.belief(Outliers::Handled);
        belief.gp.noise() * belief.map.scale().powi(2)
    };
    let wrong = clean.map(|v| v).and(AMONG_OTHERS, -25.0).and([0.7, 0.3], -1e6);
    assert_eq!(wrong.outliers()[0].len(), 2);
    assert!((variance(&clean).sqrt() / 0.3 - 1.0).abs() < 0.3, "{}", variance(&clean));
    assert_eq!(variance(&wrong), variance(&clean));
    // Twice at the same design, once wrong.
    let place = [clean.points.row(7)[0], clean.points.row(7)[1]];
    assert_eq!(clean.and(place, 1e6).outliers(), [vec![60], vec![]]);
}

#[test]
fn known_hyper_parameters_judge_as_well() {
    let mut wrong = Seen::new(24, 3, wave).and(AMONG_OTHERS, -1e6);
    wrong.output = Output::maximise("f").with_hyper(KnownHyper {
        lengthscales: vec![0.4],
        outputscale: 1.5,
        noise: 1e-6,
        mean: 0.0,
    });
    assert_eq!(wrong.outliers(), [vec![24], vec![]]);
}

#[test]
fn what_breaks_a_constraint_is_clipped_and_breaks_it_still() {
    // All others hold by far.
    let broken = Seen { limit: Some(-30.0), ..Seen::new(24, 3, wave).and([0.02, 0.98], -1e6) };
    assert_eq!(broken.outliers(), [vec![], vec![24]]);
    let mut model = Model::fit(&[broken.observed()], &Config::default()).unwrap();
    let constraint = model.constraints.remove(0);
    let at = Points::from_rows(2, [[0.02, 0.98], [0.5, 0.5]]).unwrap();
    let probabilities = constraint.probabilities(&at).unwrap();
    assert!(probabilities[0] < 0.01 && probabilities[1] > 0.99, "{probabilities:?}");
}

#[test]
fn what_the_best_of_another_objective_costs_is_not_clipped() {
    let steep = |x: &[f64]| wave(x) - if x[0] > 0.9 { 1e6 * x[0] } else { 0.0 };
    let penalty = |x: &[f64]| if x[0] > 0.9 { -1e6 } else { wave(x) };
    let clipped = |price: &Seen, other: fn(&[f64]) -> f64| {
        // The other objective has values of its own, at other designs.
        let other = Seen::new(30, 5, other);
        let observed = [price.observed(), other.observed()];
        let drafts = drafts(&observed, &Config::default(), &Fits::default()).unwrap();
        assert!(drafts[1].clipped.is_empty());
        drafts[0].clipped.iter().map(|one| one.evaluation).collect::<Vec<_>>()
    };
    let steep = Seen::new(24, 3, steep);
    let far: Vec<u64> = (0..24).filter(|i| steep.values[*i as usize] < -1e5).collect();
    assert_eq!(far.len(), 3);
    // Somebody may want the designs at which the other objective is best, for what they cost in this one.
    assert_eq!(clipped(&steep, |x| x[0]), Vec::<u64>::new());
    assert_eq!(clipped(&steep, |x| -x[0]), far);
    // The same value again and again is what programs return when they fail.
    assert_eq!(clipped(&Seen::new(24, 3, penalty), |x| x[0]), far);
    // A single one may be wrong.
    let single = Seen::new(24, 3, wave).and([1.0, 0.0], -1e6);
    assert_eq!(clipped(&single, |x| x[0]), [24]);
}
