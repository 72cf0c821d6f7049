//! Where runs fail: the probability of success at a point, learnt from labels.
//!
//! A Gaussian process is conditioned on labels, +1 for a success and −1 for a failure, and a run at
//! x succeeds where the next label would be positive:
//!
//!   P(success at x) = Φ(μ(x)/√(v(x) + σ²)),   v the posterior variance, σ² the noise.
//!
//! Its prior mean is the rate of success, so that far from all data P is about that. Length scales,
//! output scale and noise are fitted as those of any output are ([`crate::fit`]); contradicting
//! labels at one point speak for noise. Where none do, σ² is small, and one failure suffices to
//! avoid its place. For the next run σ² is at least 0.1, so that no number of successes makes P
//! much larger than Φ(√10) = 0.9992: a run may always fail.
//!
//! A probit classifier by Laplace's method takes three times the code and is less accurate here;
//! `docs/maths.md` has both in figures.

use crate::data::Data;
use crate::error::{Result, check_shape};
use crate::fit::{Hyper, Lengthscales, Mean, Model, Noise, Search};
use crate::gamma::Gamma;
use crate::gp::{Gp, Prediction, Query};
use crate::kernel::Family;
use crate::normal;
use crate::points::Points;

const FAMILY: Family = Family::Matern52;

/// Smallest noise variance of a label. Small enough for one failure among a hundred successes to be
/// believed: with 0.1 it would pass for noise, and the same place be tried again.
const LEAST_NOISE: f64 = 0.02;

/// Smallest noise variance of the label of the next run.
const LEAST_SPREAD: f64 = 0.1;

/// Noise variance of a label from a run of another kind.
const NOISE_OF_HINTS: f64 = 0.5;

/// Rows that hyper-parameters are fitted on at most.
const FIT_ROWS: usize = 128;

/// A model of success before it has seen labels. Meant for inputs in the unit cube.
#[derive(Debug, Clone, PartialEq)]
pub struct Classifier {
    /// Shared length scale, or one per input.
    pub lengthscales: Lengthscales,
    /// Prior of each length scale.
    pub lengthscale_prior: Gamma,
}

/// The probability of success as a function of the design.
#[derive(Debug, Clone)]
pub struct Success {
    latent: Gp,
}

impl Classifier {
    /// A length scale per input, since what makes runs fail is often one input or two. Their prior
    /// is that of outputs: distances grow with the square root of the number of parameters.
    pub fn for_parameters(count: usize) -> Result<Self> {
        let spread = (count as f64 / 2.0).max(1.0).sqrt();
        let lengthscale_prior = Gamma::new(3.0, 6.0 / spread)?;
        Ok(Self { lengthscales: Lengthscales::PerInput, lengthscale_prior })
    }

    /// Learns from what happened at each of `points`. These may repeat and contradict each other.
    ///
    /// ```
    /// use unyoke_math::{Points, success::Classifier};
    ///
    /// let points = Points::from_rows(1, [[0.0], [0.2], [0.4], [0.6], [0.8], [1.0]])?;
    /// let succeeded = [true, true, true, false, false, false];
    /// let success = Classifier::for_parameters(1)?.fit(&points, &succeeded)?;
    /// assert!(success.probability(&[0.1])? > 0.9 && success.probability(&[0.9])? < 0.1);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn fit(&self, points: &Points, succeeded: &[bool]) -> Result<Success> {
        self.fit_with_hints(points, succeeded, &vec![false; succeeded.len()])
    }

    /// The same where some labels, those marked in `is_hint`, are of runs of another kind: what fails
    /// there may well fail here. They count as labels with a noise of variance ½.
    pub fn fit_with_hints(
        &self,
        points: &Points,
        succeeded: &[bool],
        is_hint: &[bool],
    ) -> Result<Success> {
        let labels: Vec<f64> = succeeded.iter().map(|&s| if s { 1.0 } else { -1.0 }).collect();
        let noise: Vec<Option<f64>> =
            is_hint.iter().map(|&hint| hint.then_some(NOISE_OF_HINTS)).collect();
        let data = Data::with_known_noise(points, &labels, &noise)?;
        let model = self.model(base_rate(succeeded))?;
        let fit = model.fit(&thinned(&data), None, &Search::default())?;
        Success::new(&fit.hyper, &data)
    }

    fn model(&self, rate: f64) -> Result<Model> {
        Ok(Model {
            family: FAMILY,
            lengthscales: self.lengthscales.clone(),
            lengthscale_prior: Some(self.lengthscale_prior.into()),
            lengthscale_spread: None,
            outputscale_prior: Some(Gamma::new(2.0, 2.0)?),
            noise: Noise::Fitted { prior: Some(Gamma::new(1.1, 20.0)?), lower: LEAST_NOISE },
            mean: Mean::Fixed(2.0 * rate - 1.0),
        })
    }
}

/// The rule of succession: one more success and one more failure than there were.
fn base_rate(succeeded: &[bool]) -> f64 {
    let successes = succeeded.iter().filter(|s| **s).count();
    (successes as f64 + 1.0) / (succeeded.len() as f64 + 2.0)
}

/// At most [`FIT_ROWS`] rows, evenly spread over the data; of the points that ever failed and of
/// the others no fewer than a quarter of that, if there are so many.
fn thinned(data: &Data) -> Data {
    if data.len() <= FIT_ROWS {
        return data.clone();
    }
    let (failed, fine): (Vec<usize>, Vec<usize>) =
        (0..data.len()).partition(|&row| data.values()[row] < 1.0);
    let quarter = FIT_ROWS / 4;
    let share = (FIT_ROWS * failed.len() / data.len()).clamp(quarter, FIT_ROWS - quarter);
    let share = share.min(failed.len()).max(FIT_ROWS - FIT_ROWS.min(fine.len()));
    let mut rows = spread(&failed, share);
    rows.extend(spread(&fine, FIT_ROWS - share));
    rows.sort_unstable();
    data.subset(&rows)
}

/// `count` of `rows`, evenly spread.
fn spread(rows: &[usize], count: usize) -> Vec<usize> {
    (0..count).map(|i| rows[i * rows.len() / count]).collect()
}

impl Success {
    /// Without a fit.
    fn new(hyper: &Hyper, data: &Data) -> Result<Self> {
        Ok(Self { latent: hyper.condition(FAMILY, data)? })
    }

    /// P(success) at `x`.
    pub fn probability(&self, x: &[f64]) -> Result<f64> {
        Ok(normal::cdf(self.quantile(self.latent.predict(x)?)))
    }

    /// ln P(success) at `x`.
    pub fn log_probability(&self, x: &[f64]) -> Result<f64> {
        Ok(normal::log_cdf(self.quantile(self.latent.predict(x)?)))
    }

    /// P(success) at `x`; adds `factor` times its gradient to `gradient`.
    pub fn probability_with_gradient(
        &self,
        x: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) -> Result<f64> {
        let query = self.latent.query(x)?;
        let z = self.quantile(query.prediction());
        self.add_gradient(&query, factor * normal::pdf(z), gradient)?;
        Ok(normal::cdf(z))
    }

    /// ln P(success) at `x`; adds `factor` times its gradient to `gradient`.
    pub fn log_probability_with_gradient(
        &self,
        x: &[f64],
        factor: f64,
        gradient: &mut [f64],
    ) -> Result<f64> {
        let query = self.latent.query(x)?;
        let z = self.quantile(query.prediction());
        self.add_gradient(&query, factor * log_cdf_slope(z), gradient)?;
        Ok(normal::log_cdf(z))
    }

    /// P(success) at each of `points`.
    pub fn probabilities(&self, points: &Points) -> Result<Vec<f64>> {
        let predictions = self.latent.predict_many(points)?;
        Ok(predictions.into_iter().map(|p| normal::cdf(self.quantile(p))).collect())
    }

    /// ln P(success) at each of `points`.
    pub fn log_probabilities(&self, points: &Points) -> Result<Vec<f64>> {
        let predictions = self.latent.predict_many(points)?;
        Ok(predictions.into_iter().map(|p| normal::log_cdf(self.quantile(p))).collect())
    }

    /// The z for which P(success) is Φ(z).
    fn quantile(&self, latent: Prediction) -> f64 {
        latent.mean / self.spread(latent).sqrt()
    }

    /// Variance of the next label.
    fn spread(&self, latent: Prediction) -> f64 {
        latent.variance + self.latent.noise().max(LEAST_SPREAD)
    }

    /// Adds `factor` times the gradient of μ/√(v + σ²).
    fn add_gradient(&self, query: &Query, factor: f64, gradient: &mut [f64]) -> Result<()> {
        check_shape("coordinates of the gradient", self.latent.dim(), gradient.len())?;
        let prediction = query.prediction();
        let total = self.spread(prediction);
        let in_mean = factor / total.sqrt();
        let in_variance = -0.5 * in_mean * prediction.mean / total;
        for (sum, term) in
            gradient.iter_mut().zip(self.latent.gradient(query, in_mean, in_variance))
        {
            *sum += term;
        }
        Ok(())
    }
}

/// d ln Φ(z)/dz = φ(z)/Φ(z).
fn log_cdf_slope(z: f64) -> f64 {
    if z > 0.0 { normal::pdf(z) / normal::cdf(z) } else { 1.0 / normal::mills(-z) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Rng;
    use crate::sobol;

    /// Whether runs at x fail.
    type Fails = fn(&[f64]) -> bool;

    fn fit(points: &Points, succeeded: &[bool]) -> Success {
        Classifier::for_parameters(points.dim()).unwrap().fit(points, succeeded).unwrap()
    }

    /// Sobol' points of which those in a region fail.
    fn labelled(dim: usize, n: usize, seed: u64, fails: Fails) -> (Points, Vec<bool>) {
        let points = sobol::cube(dim, n, seed).unwrap();
        let succeeded = points.rows().map(|x| !fails(x)).collect();
        (points, succeeded)
    }

    #[test]
    fn probabilities_agree_with_formulas_worked_by_hand() {
        // Labels +1, +1, −1 at 0.2 and −1 at 0.7: two rows of means 1/3 and −1, noise σ²/3 and σ²,
        // ρ between them 0.3910562…; the 2 × 2 system solved by hand, in 60 digits. The second σ²
        // is below that of the next run.
        let points = Points::from_rows(1, [[0.2], [0.2], [0.7], [0.2]]).unwrap();
        let data = Data::new(&points, &[1.0, 1.0, -1.0, -1.0]).unwrap();
        for (noise, x, expected) in [
            (0.3, 0.2, 0.681_680_939_454_683_4),
            (0.3, 0.45, 0.371_490_289_534_713_7),
            (0.3, 0.7, 0.150_086_497_630_841_4),
            (0.3, 1.3, 0.465_994_391_590_136_1),
            (0.06, 0.2, 0.825_744_529_367_365_7),
            (0.06, 0.45, 0.288_289_313_592_300_2),
            (0.06, 0.7, 0.008_670_427_693_193_818),
            (0.06, 1.3, 0.444_344_155_434_936),
        ] {
            let hyper = Hyper { lengthscales: vec![0.4], outputscale: 1.5, noise, mean: 0.2 };
            let success = Success::new(&hyper, &data).unwrap();
            let found = success.probability(&[x]).unwrap();
            assert!((found - expected).abs() < 1e-13, "{noise} {x}: {found} {expected}");
            let log = success.log_probability(&[x]).unwrap();
            assert!((log - expected.ln()).abs() < 1e-11);
        }
    }

    #[test]
    fn gradients_match_finite_differences_and_bulk_values_single_ones() {
        let (points, succeeded) = labelled(3, 30, 4, |x| x[0] + x[1] > 1.2);
        let success = fit(&points, &succeeded);
        let test = sobol::cube(3, 40, 9).unwrap();
        let (all, logs) = (success.probabilities(&test), success.log_probabilities(&test));
        let (all, logs) = (all.unwrap(), logs.unwrap());
        for (j, x) in test.rows().enumerate() {
            assert!((success.probability(x).unwrap() - all[j]).abs() < 1e-12);
            assert!((success.log_probability(x).unwrap() - logs[j]).abs() < 1e-11);
            let (mut plain, mut log) = ([0.5; 3], [0.0; 3]);
            let p = success.probability_with_gradient(x, 2.0, &mut plain).unwrap();
            let ln = success.log_probability_with_gradient(x, -1.0, &mut log).unwrap();
            assert_eq!(p, success.probability(x).unwrap());
            assert_eq!(ln, success.log_probability(x).unwrap());
            for d in 0..3 {
                let difference = |f: &dyn Fn(&[f64]) -> f64| {
                    let at = |h: f64| {
                        let mut moved = x.to_vec();
                        moved[d] += h;
                        f(&moved)
                    };
                    (at(1e-5) - at(-1e-5)) / 2e-5
                };
                let expected = difference(&|x| success.probability(x).unwrap());
                assert!((plain[d] - 0.5 - 2.0 * expected).abs() < 1e-6, "{plain:?} {expected}");
                let expected = difference(&|x| success.log_probability(x).unwrap());
                assert!((log[d] + expected).abs() < 1e-6 * (1.0 + expected.abs()));
            }
        }
    }

    #[test]
    fn where_everything_succeeded_success_is_almost_certain_near_data() {
        for (dim, n) in [(1, 3), (2, 5), (4, 20), (6, 100)] {
            let (points, succeeded) = labelled(dim, n, 1, |_| false);
            let success = fit(&points, &succeeded);
            let least = success.probabilities(&points).unwrap().into_iter().fold(1.0, f64::min);
            assert!(least > 0.95, "{dim} {n}: {least}");
        }
    }

    #[test]
    fn where_everything_failed_failure_is_likely_near_data() {
        for (dim, n) in [(1, 3), (2, 5), (4, 20)] {
            let (points, succeeded) = labelled(dim, n, 1, |_| true);
            let most = fit(&points, &succeeded).probabilities(&points).unwrap();
            assert!(most.iter().all(|p| *p < 0.05), "{most:?}");
        }
    }

    #[test]
    fn no_label_and_one_label_work() {
        let success = fit(&Points::new(2), &[]);
        assert!((success.probability(&[0.3, 0.4]).unwrap() - 0.5).abs() < 1e-15);
        let one = Points::from_rows(2, [[0.1, 0.1]]).unwrap();
        for (label, sign) in [(true, 1.0), (false, -1.0)] {
            let success = fit(&one, &[label]);
            let near = success.probability(&[0.1, 0.1]).unwrap() - 0.5;
            let far = success.probability(&[0.9, 0.9]).unwrap() - 0.5;
            assert!(sign * near > 0.35 && sign * far > 0.0 && sign * far < 0.35, "{near} {far}");
        }
    }

    #[test]
    fn far_from_few_failures_success_has_about_its_base_rate() {
        // Two failures in a corner; all 40 runs are in one half.
        let (mut points, _) = labelled(2, 38, 3, |_| false);
        points.as_flat_mut().chunks_mut(2).for_each(|x| x[0] *= 0.5);
        let mut succeeded = vec![true; 38];
        for x in [[0.02, 0.03], [0.04, 0.01]] {
            points.push(&x).unwrap();
            succeeded.push(false);
        }
        let success = fit(&points, &succeeded);
        let far = success.probability(&[1.0, 1.0]).unwrap();
        assert!((0.8..0.999).contains(&far), "{far}");
        assert!(success.probability(&[0.03, 0.02]).unwrap() < 0.5);
    }

    #[test]
    fn a_region_that_failed_has_a_probability_well_below_one_half() {
        let (points, succeeded) = labelled(2, 60, 2, |x| (x[0] - 0.5).hypot(x[1] - 0.5) < 0.3);
        let success = fit(&points, &succeeded);
        for (x, label) in points.rows().zip(&succeeded) {
            let p = success.probability(x).unwrap();
            assert!(if *label { p > 0.5 } else { p < 0.5 }, "{p} at {x:?}");
        }
        assert!(success.probability(&[0.5, 0.5]).unwrap() < 0.05);
        assert!(success.probability(&[0.05, 0.9]).unwrap() > 0.95);
    }

    #[test]
    fn one_failure_among_many_successes_is_believed_at_its_place() {
        for (dim, n) in [(1, 1), (2, 5), (2, 20), (2, 40), (4, 40), (6, 80)] {
            let (mut points, mut succeeded) = labelled(dim, n, 1, |_| false);
            points.push(&vec![1.0; dim]).unwrap();
            succeeded.push(false);
            let success = fit(&points, &succeeded);
            let failed = success.probability(&vec![1.0; dim]).unwrap();
            assert!(failed < 0.25, "{dim} {n}: {failed}");
            let others = success.probabilities(&points).unwrap();
            let fine = others[..n].iter().filter(|p| **p > 0.9).count();
            assert!(fine * 10 >= n * 9, "{dim} {n}: {others:?}");
        }
    }

    #[test]
    fn contradicting_labels_at_one_point_have_their_rate() {
        let points = Points::from_rows(1, [[0.5]; 40]).unwrap();
        let succeeded: Vec<bool> = (0..40).map(|i| i % 4 != 0).collect();
        let p = fit(&points, &succeeded).probability(&[0.5]).unwrap();
        assert!((p - 0.75).abs() < 0.08, "{p}");
    }

    #[test]
    fn labels_at_random_almost_coinciding_and_many_give_probabilities() {
        let mut rng = Rng::new(7, 0);
        for (dim, n, width) in [(1, 50, 1.0), (2, 200, 1e-9), (3, 150, 0.0), (8, 300, 1.0)] {
            let rows = (0..n).map(|_| (0..dim).map(|_| width * rng.uniform()).collect::<Vec<_>>());
            let points = Points::from_rows(dim, rows.collect::<Vec<_>>()).unwrap();
            let succeeded: Vec<bool> = (0..n).map(|_| rng.uniform() < 0.6).collect();
            let success = fit(&points, &succeeded);
            let test = sobol::cube(dim, 64, 1).unwrap();
            for (p, log) in success
                .probabilities(&test)
                .unwrap()
                .into_iter()
                .zip(success.log_probabilities(&test).unwrap())
            {
                assert!(p > 0.0 && p < 1.0 && log.is_finite() && log < 0.0);
            }
        }
    }

    #[test]
    fn a_fit_of_many_labels_sees_failures_however_rare() {
        let (points, succeeded) = labelled(2, 1000, 5, |x| x[0] > 0.85 && x[1] > 0.85);
        let labels: Vec<f64> = succeeded.iter().map(|&s| if s { 1.0 } else { -1.0 }).collect();
        let data = Data::new(&points, &labels).unwrap();
        let failed = |data: &Data| data.values().iter().filter(|v| **v < 0.0).count();
        let part = thinned(&data);
        assert_eq!((part.len(), failed(&part)), (FIT_ROWS, failed(&data)));
        let success = fit(&points, &succeeded);
        assert!(success.probability(&[0.95, 0.95]).unwrap() < 0.2);
        assert!(success.probability(&[0.5, 0.5]).unwrap() > 0.99);
        for rows in [[900, 100], [100, 900], [0, 1000], [1000, 0], [999, 1]] {
            let labels: Vec<f64> =
                (0..1000).map(|i| if i < rows[0] { 1.0 } else { -1.0 }).collect();
            assert_eq!(thinned(&Data::new(&points, &labels).unwrap()).len(), FIT_ROWS);
        }
    }

    /// Mean log loss over replicates with at least one failure and one success.
    fn log_loss(dim: usize, n: usize, fails: Fails) -> f64 {
        let test = sobol::cube(dim, 512, 12345).unwrap();
        let drawn = (0..).map(|seed| labelled(dim, n, seed, fails));
        let mixed = drawn.filter(|(_, s)| s.contains(&true) && s.contains(&false));
        let losses = mixed.take(5).map(|(points, succeeded)| {
            let found = fit(&points, &succeeded).probabilities(&test).unwrap();
            let loss = |(x, p): (&[f64], f64)| -(if fails(x) { 1.0 - p } else { p }).ln();
            test.rows().zip(found).map(loss).sum::<f64>() / test.len() as f64
        });
        losses.sum::<f64>() / 5.0
    }

    #[test]
    fn losses_are_about_those_recorded() {
        let recorded: [(usize, usize, Fails, f64); 4] = [
            (2, 40, |x| x[0] + x[1] > 1.0, 0.129),
            (4, 40, |x| (x[0] - 0.6).hypot(x[1] - 0.4) < 0.25, 0.188),
            (4, 80, |x| (x[0] - 0.5).abs() < 0.05, 0.035),
            (6, 20, |x| x[0] > 0.7 && x[1] > 0.7, 0.207),
        ];
        for (dim, n, fails, recorded) in recorded {
            let found = log_loss(dim, n, fails);
            assert!(found < 1.3 * recorded, "{dim} {n}: {found} {recorded}");
        }
    }

    #[test]
    fn misshapen_arguments_are_refused() {
        let points = Points::from_rows(2, [[0.1, 0.2], [0.3, 0.4]]).unwrap();
        assert!(Classifier::for_parameters(2).unwrap().fit(&points, &[true]).is_err());
        let success = fit(&points, &[true, false]);
        assert!(success.probability(&[0.1]).is_err());
        assert!(success.probability(&[0.1, f64::NAN]).is_err());
        assert!(success.probability_with_gradient(&[0.1, 0.2], 1.0, &mut [0.0]).is_err());
    }
}
