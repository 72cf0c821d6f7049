//! All that is predicted of a study as it stands, from models that are fitted once.

use crate::design::Design;
use crate::engine::Engine;
use crate::error::Result;
use crate::model::Model;
use crate::recommend::{Candidates, Front, FrontPoint, MeasuredFront, Milestone};
use std::fmt;
use unyoke_math::Points;

/// What is predicted of a study as it stands: the same as its methods of these names say, which fit the
/// models anew each time.
///
/// ```
/// use unyoke::{Design, Problem, Study};
///
/// let problem = Problem::builder().continuous("x", 0.0, 1.0);
/// let mut study = Study::new(problem.minimise("f", 1.0).minimise("g", 5.0).build()?)?;
/// for x in [0.0, 0.4, 0.7, 1.0] {
///     study.tell_result(Design::new().with("x", x), "f", x)?;
///     study.tell_result(Design::new().with("x", x), "g", (1.0 - x) * (1.0 - x))?;
/// }
/// let predictions = study.predictions()?;
/// assert_eq!(predictions.front(5)?, study.front(5)?);
/// assert_eq!(predictions.measured_front()?, study.measured_front()?);
/// // What was found never gets less.
/// assert!(predictions.progress()?.windows(2).all(|pair| pair[0].share <= pair[1].share));
/// # Ok::<(), unyoke::Error>(())
/// ```
pub struct Predictions<'s> {
    engine: Engine<'s>,
    model: Model,
    weights: Points,
    candidates: Candidates,
}

impl<'s> Predictions<'s> {
    pub(crate) fn new(engine: Engine<'s>) -> Result<Self> {
        let (model, weights) = (engine.recommender(None)?, engine.weights_of_front()?);
        let candidates = engine.candidates(&model, &weights)?;
        Ok(Self { engine, model, weights, candidates })
    }

    /// See [`Study::front`](crate::Study::front).
    pub fn front(&self, count: usize) -> Result<Front> {
        self.engine.chosen_from(&self.model, self.candidates.clone(), &self.weights, count)
    }

    /// See [`Study::measured_front`](crate::Study::measured_front).
    pub fn measured_front(&self) -> Result<MeasuredFront> {
        self.engine.measured_front_by(&self.model)
    }

    /// What is expected of each output at these designs, with the intervals of recommended designs: at a design
    /// of the front it is what the front says.
    pub fn forecasts(&self, designs: &[Design]) -> Result<Vec<FrontPoint>> {
        self.engine.forecasts_by(&self.model, designs)
    }

    /// How much of what the front offers had been found after each evaluation that gave values, in the
    /// order in which these arrived. It never falls: designs are judged by what is known now.
    pub fn progress(&self) -> Result<Vec<Milestone>> {
        self.engine.progress(&self.model, &self.candidates, &self.weights)
    }
}

impl fmt::Debug for Predictions<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Predictions").finish_non_exhaustive()
    }
}
