//! What was worked out of a study's events, so that nothing is worked out twice.
//!
//! Nothing here changes a result: whatever is remembered is a function of what it is remembered by.
//! Fits are remembered by all that they depend on, and so outlive events that leave their data as they
//! were. Everything else is remembered until the next event. Copies of a history share what they
//! remember as long as they are the same.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use unyoke_math::data::Data;
use unyoke_math::fit::{Fit, Model, Search};

/// Most numbers in the data of remembered fits.
const MOST_NUMBERS: usize = 1 << 18;

/// Fits of hyper-parameters, each with all that it depends on, the latest used last. Copies share them.
#[derive(Clone, Default)]
pub(crate) struct Fits(Arc<Mutex<VecDeque<Known>>>);

/// A fit, and what it is a fit of.
struct Known {
    model: Model,
    data: Data,
    fit: Fit,
}

impl Known {
    fn numbers(&self) -> usize {
        self.data.len() * (self.data.points().dim() + 4)
    }
}

impl Fits {
    /// The most probable hyper-parameters of a model, given data.
    pub(crate) fn fit(&self, model: &Model, data: &Data) -> unyoke_math::Result<Fit> {
        if let Some(fit) = self.known(model, data) {
            return Ok(fit);
        }
        // Not while others wait: a fit may take long, and uses threads that may wait for it.
        let fit = model.fit(data, None, &Search::default())?;
        let mut known = self.all();
        known.push_back(Known { model: model.clone(), data: data.clone(), fit: fit.clone() });
        let mut numbers: usize = known.iter().map(Known::numbers).sum();
        while numbers > MOST_NUMBERS && known.len() > 1 {
            numbers -= known.pop_front().map_or(0, |oldest| oldest.numbers());
        }
        Ok(fit)
    }

    fn known(&self, model: &Model, data: &Data) -> Option<Fit> {
        let mut known = self.all();
        let place = known.iter().position(|one| one.model == *model && one.data == *data)?;
        let found = known.remove(place)?;
        let fit = found.fit.clone();
        known.push_back(found);
        Some(fit)
    }

    /// A thread that panicked while it held them has left whole ones.
    fn all(&self) -> MutexGuard<'_, VecDeque<Known>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Something that was made, with what it is called.
type Named = (&'static str, Arc<dyn Any + Send + Sync>);

/// What is remembered of a history.
#[derive(Clone, Default)]
pub(crate) struct Remembered {
    pub(crate) fits: Fits,
    /// By what it is called; until the next event.
    state: Arc<Mutex<Vec<Named>>>,
}

impl Remembered {
    /// Something that depends on the events so far alone, made unless it was made before.
    pub(crate) fn or_make<T: Send + Sync + 'static, E>(
        &self,
        name: &'static str,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        if let Some(known) = self.known(name) {
            return Ok(known);
        }
        // Not while others wait; if two make it at once, both make the same.
        let made = Arc::new(make()?);
        self.state().push((name, made.clone()));
        Ok(made)
    }

    fn known<T: Send + Sync + 'static>(&self, name: &str) -> Option<Arc<T>> {
        let state = self.state();
        let found = state.iter().find(|(known, _)| *known == name);
        found.and_then(|(_, made)| made.clone().downcast().ok())
    }

    /// To be called when something has happened: copies that know nothing of it keep what they have.
    pub(crate) fn forget(&mut self) {
        self.state = Arc::default();
    }

    fn state(&self) -> MutexGuard<'_, Vec<Named>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Histories are the same whatever they remember.
impl PartialEq for Remembered {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl fmt::Debug for Remembered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use unyoke_math::fit::{Lengthscales, Mean, Noise};
    use unyoke_math::kernel::Family;
    use unyoke_math::{Points, sobol};

    fn model(noise: f64) -> Model {
        Model {
            family: Family::Matern52,
            lengthscales: Lengthscales::Isotropic,
            lengthscale_prior: None,
            lengthscale_spread: None,
            outputscale_prior: None,
            noise: Noise::Fixed(noise),
            mean: Mean::Fitted,
        }
    }

    fn data(shift: f64) -> Data {
        let points: Points = sobol::cube(2, 12, 1).unwrap();
        let values: Vec<f64> = points.rows().map(|x| (5.0 * x[0]).sin() + x[1] + shift).collect();
        Data::new(&points, &values).unwrap()
    }

    #[test]
    fn a_fit_is_that_of_its_model_and_its_data_whatever_was_fitted_before() {
        let fits = Fits::default();
        for _ in 0..2 {
            for noise in [1e-4, 1e-2] {
                for shift in [0.0, 0.5] {
                    let (model, data) = (model(noise), data(shift));
                    let fresh = model.fit(&data, None, &Search::default()).unwrap();
                    assert_eq!(fits.fit(&model, &data).unwrap(), fresh);
                }
            }
        }
        assert_eq!(fits.all().len(), 4);
    }

    #[test]
    fn the_oldest_fits_are_forgotten() {
        let fits = Fits::default();
        let fit = model(1e-2).fit(&data(0.0), None, &Search::default()).unwrap();
        let points = sobol::cube(20, 4000, 1).unwrap();
        for i in 0..20 {
            let (model, data) = (model(1e-2), Data::new(&points, &vec![f64::from(i); 4000]));
            let known = Known { model, data: data.unwrap(), fit: fit.clone() };
            fits.all().push_back(known);
        }
        fits.fit(&model(1e-2), &data(0.0)).unwrap();
        assert_eq!(fits.all().len(), 3);
        assert!(fits.known(&model(1e-2), &data(0.0)).is_some());
    }

    #[test]
    fn what_happened_is_forgotten_by_whom_it_happened_to() {
        let mut one = Remembered::default();
        let other = one.clone();
        let make = |remembered: &Remembered, value: i32| {
            *remembered.or_make("value", || Ok::<i32, Infallible>(value)).unwrap()
        };
        assert_eq!((make(&one, 1), make(&other, 2)), (1, 1));
        one.forget();
        assert_eq!((make(&one, 3), make(&other, 4)), (3, 1));
        let failed: Result<Arc<i32>, &str> = one.or_make("other", || Err("no"));
        assert!(failed.is_err());
        assert_eq!(*one.or_make("other", || Ok::<i32, Infallible>(5)).unwrap(), 5);
    }
}
