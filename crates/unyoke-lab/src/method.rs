//! Who competes: algorithms with the settings of the paper's experiment, and our improvement of
//! C-MOKG under a name of its own.

use crate::error::Error;
use unyoke::{Algorithm, Config, Discretisation};

/// Most inputs for which the grid of the paper is small enough.
const GRID_INPUTS: usize = 2;

/// An algorithm with its settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// With the published settings; on more inputs than the paper's two, where its grid of designs
    /// would be too large, the engine's own set of designs.
    Published(Algorithm),
    /// C-MOKG with the designs that are best now for the step's weights added to the grid; see
    /// `docs/discretisation.md`.
    ImprovedCMokg,
}

impl Method {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        Algorithm::ALL.into_iter().flat_map(|algorithm| {
            let improved = (algorithm == Algorithm::CMokg).then_some(Self::ImprovedCMokg);
            std::iter::once(Self::Published(algorithm)).chain(improved)
        })
    }

    /// The name used in files and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Published(algorithm) => algorithm.name(),
            Self::ImprovedCMokg => "c-mokg-improved",
        }
    }

    /// The algorithm behind it.
    pub fn algorithm(self) -> Algorithm {
        match self {
            Self::Published(algorithm) => algorithm,
            Self::ImprovedCMokg => Algorithm::CMokg,
        }
    }

    /// The settings for problems with this many inputs.
    pub(crate) fn config(self, inputs: usize) -> Config {
        let paper = Config { algorithm: self.algorithm(), ..Config::paper() };
        match self {
            Self::Published(_) if inputs <= GRID_INPUTS => paper,
            _ => Config { discretisation: Discretisation::Auto, ..paper },
        }
    }
}

impl std::str::FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        let known = || Self::all().map(Self::name).collect::<Vec<_>>().join(", ");
        Self::all().find(|method| method.name() == name).ok_or_else(|| Error::Setting {
            what: "algorithms",
            reason: format!("{name:?} is none of {}", known()),
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
        assert!("c-mokg-better".parse::<Method>().unwrap_err().to_string().contains("improved"));
    }

    #[test]
    fn the_published_settings_are_a_plain_grid_and_a_length_scale_per_input() {
        let published = Method::Published(Algorithm::CMokg).config(2);
        assert_eq!(published, Config::paper());
        assert_eq!(published.discretisation, Discretisation::Grid { per_input: 11 });
        assert_eq!(published.lengthscales, Lengthscales::PerInput);
        let improved = Method::ImprovedCMokg.config(2);
        assert_eq!(improved, Config { discretisation: Discretisation::Auto, ..published });
        let many = Method::Published(Algorithm::CMokg).config(6);
        assert_eq!(many.discretisation, Discretisation::Auto);
    }
}
