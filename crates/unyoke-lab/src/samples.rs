//! Test problems sampled from Gaussian processes as whole functions: objectives that are correlated,
//! and objectives of many inputs of which few matter. The paper's families are in `family`.

use crate::error::Result;
use unyoke_math::Points;
use unyoke_math::data::Data;
use unyoke_math::gp::Gp;
use unyoke_math::kernel::{Family, Kernel};
use unyoke_math::path::Path;
use unyoke_math::random::{Rng, seed_for};

/// Random cosines that a sample path is the sum of.
const WAVES: usize = 512;
/// The length scale of every path.
const LENGTHSCALE: f64 = 0.5;
/// Streams of random numbers: which inputs matter, and the paths.
const INPUTS: u64 = 1;
const PATHS: u64 = 2;

/// A kind of sampled problem, with two objectives of variance 1, both maximised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Samples {
    /// Four inputs, objectives with correlation 0.8.
    Correlated,
    /// Four inputs, objectives with correlation −0.8.
    Anticorrelated,
    /// Thirty inputs, of which both objectives depend on the same four.
    Sparse,
}

impl Samples {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Correlated, Self::Anticorrelated, Self::Sparse];

    /// Its name in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Correlated => "correlated",
            Self::Anticorrelated => "anticorrelated",
            Self::Sparse => "sparse",
        }
    }

    /// Number of inputs.
    pub fn inputs(self) -> usize {
        match self {
            Self::Correlated | Self::Anticorrelated => 4,
            Self::Sparse => 30,
        }
    }

    /// Number of inputs that matter.
    pub fn active(self) -> usize {
        4
    }

    /// The correlation of the objectives.
    pub fn correlation(self) -> f64 {
        match self {
            Self::Correlated => 0.8,
            Self::Anticorrelated => -0.8,
            Self::Sparse => 0.0,
        }
    }

    /// Instance `id`, sampled from a seed.
    pub(crate) fn draw(self, id: u32, seed: u64) -> Result<Mixture> {
        let seed = seed_for(seed_for(seed, 1000 + self as u64), u64::from(id));
        let mut inputs: Vec<usize> = (0..self.inputs()).collect();
        Rng::new(seed_for(seed, INPUTS), 0).shuffle(&mut inputs);
        let mut active = inputs[..self.active()].to_vec();
        active.sort_unstable();
        let kernel = Kernel::new(Family::Matern52, active.len(), &[LENGTHSCALE], 1.0)?;
        let prior = Gp::new(kernel, 0.0, 1e-8, &Data::empty(active.len()))?;
        let mut rng = Rng::new(seed_for(seed, PATHS), 0);
        let paths = (0..2).map(|_| Path::draw(&prior, WAVES, &mut rng)).collect();
        Ok(Mixture { paths, active, correlation: self.correlation() })
    }
}

/// Two objectives as sums of two independent paths, f₁ = g₁ and f₂ = ρ g₁ + √(1 − ρ²) g₂: a linear
/// model of coregionalisation.
#[derive(Debug, Clone)]
pub(crate) struct Mixture {
    paths: Vec<Path>,
    active: Vec<usize>,
    correlation: f64,
}

impl Mixture {
    /// Both objectives at points of the unit cube.
    pub(crate) fn values(&self, points: &Points) -> Result<Points> {
        let rows = points.rows().map(|x| self.active.iter().map(|&d| x[d]).collect::<Vec<f64>>());
        let points = Points::from_rows(self.active.len(), rows)?;
        let (first, second) = (self.paths[0].values(&points)?, self.paths[1].values(&points)?);
        let (rho, rest) = (self.correlation, (1.0 - self.correlation.powi(2)).sqrt());
        let both = first.iter().zip(&second).map(|(f, g)| [*f, rho * f + rest * g]);
        Ok(Points::from_rows(2, both)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke_math::sobol;

    #[test]
    fn objectives_have_variance_one_and_the_correlation_of_their_kind() {
        for kind in Samples::ALL {
            let points = sobol::cube(kind.inputs(), 4, 1).unwrap();
            let [mut first, mut second, mut product, mut count] = [0.0; 4];
            for id in 0..600 {
                for row in kind.draw(id, 0).unwrap().values(&points).unwrap().rows() {
                    first += row[0] * row[0];
                    second += row[1] * row[1];
                    product += row[0] * row[1];
                    count += 1.0;
                }
            }
            assert!((first / count - 1.0).abs() < 0.15, "{kind:?}: {}", first / count);
            assert!((second / count - 1.0).abs() < 0.15, "{kind:?}: {}", second / count);
            assert!((product / count - kind.correlation()).abs() < 0.12, "{kind:?}: {product}");
        }
    }

    #[test]
    fn only_the_active_inputs_matter_and_which_depends_on_the_instance() {
        let draw = |id| Samples::Sparse.draw(id, 0).unwrap();
        let mixture = draw(3);
        let base = vec![0.4; 30];
        let at = |x: &[f64]| mixture.values(&Points::from_rows(30, [x]).unwrap()).unwrap();
        let matters = |d: &usize| {
            let mut moved = base.clone();
            moved[*d] = 0.9;
            at(&moved) != at(&base)
        };
        assert_eq!((0..30).filter(matters).collect::<Vec<_>>(), mixture.active);
        assert_eq!(mixture.active.len(), 4);
        assert_ne!(draw(4).active, mixture.active);
    }
}
