//! Who competes: algorithms with the settings of the paper's experiment, and our improvement of
//! C-MOKG under a name of its own.

use crate::error::Error;
use unyoke::{Algorithm, Config, Correlations, Deterministic, Discretisation, Problem, near};

/// Most inputs for which the grid of the paper is small enough.
const GRID_INPUTS: usize = 2;

/// An algorithm with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// With the published settings; on more inputs than the paper's two, where its grid of designs
    /// would be too large, the engine's own set of designs.
    Published(Algorithm),
    /// What users get who say nothing: the engine's default settings.
    Default,
    /// C-MOKG with our settings of the models and the designs to compare, and the published ones
    /// otherwise; see `docs/discretisation.md`.
    ImprovedCMokg,
    /// The same, with objectives modelled together where their values speak for a correlation; see
    /// `docs/correlated.md`.
    CorrelatedCMokg,
}

impl Method {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        let all = Algorithm::ALL.into_iter().flat_map(|algorithm| {
            let ours: &[Self] = match algorithm {
                Algorithm::CMokg => &[Self::ImprovedCMokg, Self::CorrelatedCMokg],
                _ => &[],
            };
            std::iter::once(Self::Published(algorithm)).chain(ours.iter().copied())
        });
        std::iter::once(Self::Default).chain(all)
    }

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published(algorithm) => algorithm.name(),
            Self::Default => "default",
            Self::ImprovedCMokg => "c-mokg-improved",
            Self::CorrelatedCMokg => "c-mokg-correlated",
        }
    }

    /// The algorithm behind it.
    pub fn algorithm(self) -> Algorithm {
        match self {
            Self::Published(algorithm) => algorithm,
            Self::Default => Config::default().algorithm,
            Self::ImprovedCMokg | Self::CorrelatedCMokg => Algorithm::CMokg,
        }
    }

    /// Why it cannot be used on a problem, if it cannot.
    pub fn unsuited(self, problem: &Problem) -> Option<String> {
        let config = self.config(problem.parameters.len());
        config.check(problem).err().map(|error| error.to_string())
    }

    /// Whether it is told the point from which hypervolumes are measured. Ours must do without.
    pub(crate) fn is_told_reference(self) -> bool {
        let ours = matches!(self.algorithm(), Algorithm::Auto | Algorithm::HvkgExact);
        self != Self::Default && !ours
    }

    /// The settings for problems with this many inputs.
    pub(crate) fn config(self, inputs: usize) -> Config {
        let paper = Config { algorithm: self.algorithm(), ..Config::paper() };
        match self {
            // Everyone's recommendations are searched for with the same effort.
            Self::Default => Config { front: paper.front, ..Config::default() },
            // Ours, and so with our settings.
            Self::Published(Algorithm::Auto | Algorithm::HvkgExact) | Self::ImprovedCMokg => {
                let Config { discretisation, lengthscale_prior, .. } = Config::default();
                let deterministic = Deterministic::Interpolated;
                Config { discretisation, deterministic, lengthscale_prior, ..paper }
            }
            Self::Published(_) if inputs <= GRID_INPUTS => paper,
            Self::Published(_) => Config { discretisation: Discretisation::Auto, ..paper },
            Self::CorrelatedCMokg => {
                let correlations = Correlations::Learned;
                Config { correlations, ..Self::ImprovedCMokg.config(inputs) }
            }
        }
    }
}

impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::all().find(|method| method.name() == name).ok_or_else(|| {
            let known: Vec<&str> = Self::all().map(Self::name).collect();
            let meant = near(name, known.iter().copied());
            let hint = meant.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            let reason = format!("{name:?} is none of {}{hint}", known.join(", "));
            Error::Setting { what: "algorithms", reason }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke::Lengthscales;

    #[test]
    fn names_are_read_back_and_all_different() {
        for method in Method::all() {
            assert_eq!(method.name().parse::<Method>().unwrap(), method);
        }
        let error = "c-mokg-improvd".parse::<Method>().unwrap_err().to_string();
        assert!(error.contains("did you mean c-mokg-improved?"), "{error}");
    }

    #[test]
    fn the_published_settings_are_a_plain_grid_and_a_length_scale_per_input() {
        let published = Method::Published(Algorithm::CMokg).config(2);
        assert_eq!(published, Config::paper());
        assert_eq!(published.discretisation, Discretisation::Grid { per_input: 11 });
        assert_eq!(published.lengthscales, Lengthscales::PerInput);
        let improved = Method::ImprovedCMokg.config(2);
        assert_eq!(improved.discretisation, Config::default().discretisation);
        assert_eq!(improved.deterministic, Deterministic::Interpolated);
        let correlated = Method::CorrelatedCMokg.config(2);
        assert_eq!(Config { correlations: Correlations::Ignored, ..correlated }, improved);
        let default = Config { front: Config::paper().front, ..Config::default() };
        assert_eq!(Method::Default.config(6), default);
        let many = Method::Published(Algorithm::CMokg).config(6);
        assert_eq!(many.discretisation, Discretisation::Auto);
    }
}
