//! Hypervolume knowledge gradient of one objective, in closed form.
//!
//! The hypervolume of the posterior means over a reference point is an integral over the objectives
//! that are not measured; at each point of it the measured one is as high as the best line among the
//! designs that reach it. So its expected rise is a sum of expected maxima of lines
//! (`unyoke_math::hypervolume_gain`): no fantasies, no inner search, the set of designs to recommend
//! as large as the set that is compared.
//!
//! In a joint model a measurement moves several objectives with one normal. Its value is then the sum
//! of what each of these movements adds alone. What that leaves out is the product of two movements,
//! β_kj β_lj Z² in a design's volume, and it should: of the volume expected of a design, E[(f_k − r_k)
//! (f_l − r_l)] = (μ_k − r_k)(μ_l − r_l) + cov(f_k, f_l), the covariance falls by just that product, whatever
//! comes out. The volume of the means alone counts it as a gain where objectives agree, and as a loss
//! where they conflict. Each part of the sum is a sum of non-negative terms, and where nothing is
//! correlated there is only one.
//!
//! Nothing is gained beyond a best possible value c: of what the lines gain over the reference point, what
//! they gain over the same point with c in the place of the measured objective is taken off. What is left
//! is the gain of lines that end at c, E min(max_j (a_j + b_j Z), c) in place of E max_j (a_j + b_j Z). With
//! two objectives this was tried and found no better (docs/best-possible.md): there it is not done.

mod together;

use super::{Acquisition, Evaluator, Sums};
#[cfg(test)]
use crate::model::Model;
use crate::outlook::{Beside, Compared, Prospect, SharedProspect, Wanted};
use std::sync::Arc;
use together::Together;
use unyoke_math::hypervolume_gain::{self, HypervolumeGain, JointHypervolumeGain};
use unyoke_math::{Points, Result, sobol};

/// Directions for more objectives than can be integrated over exactly, drawn anew at each step.
const DIRECTIONS: usize = 16;
const EXACT_OBJECTIVES: usize = 3;

/// From so many objectives on nothing is gained beyond a best possible value.
const CAPPED_OBJECTIVES: usize = 3;

/// Outcomes of the other objectives where several are measured at once, likewise.
const NODES: usize = 16;

/// The expected rise of the hypervolume, for each of the measurements.
pub(crate) struct Hypervolume<'a> {
    compared: Arc<Compared<'a>>,
    gains: Vec<HypervolumeGain>,
    /// Of objectives that have a best possible value, what lines gain beyond it.
    beyond: Vec<Option<HypervolumeGain>>,
    options: Vec<Form>,
}

/// How the gain of a measurement is computed.
enum Form {
    /// One objective is measured.
    Alone(usize),
    /// Several are.
    Together(Vec<usize>, JointHypervolumeGain),
}

/// What volumes are counted over.
pub(crate) struct Extent<'a> {
    /// The designs that are compared.
    pub(crate) set: &'a Points,
    /// From where volumes count, standardised.
    pub(crate) reference: &'a [f64],
    /// From which directions and nodes are drawn.
    pub(crate) seed: u64,
}

/// Whether the gain can be computed of measurements of so many out of all objectives.
pub(crate) fn is_computable(measured: usize, objectives: usize) -> bool {
    measured == 1 || objectives <= EXACT_OBJECTIVES
}

impl<'a> Hypervolume<'a> {
    /// For measurements of these objectives, beside other functions that compare the same designs.
    pub(crate) fn beside(
        compared: Arc<Compared<'a>>,
        extent: &Extent<'_>,
        measured: &[Vec<usize>],
    ) -> Result<Self> {
        let Extent { set, reference, seed } = *extent;
        let model = compared.model;
        let objectives = model.objectives.len();
        let means = model.means(set)?;
        let gain = |m: usize, reference: &[f64]| match objectives <= EXACT_OBJECTIVES {
            true => HypervolumeGain::new(&means, m, reference),
            false => {
                let directions = hypervolume_gain::directions(objectives - 1, DIRECTIONS, seed)?;
                HypervolumeGain::along(&directions, &means, m, reference)
            }
        };
        let gains = (0..objectives).map(|m| gain(m, reference)).collect::<Result<_>>()?;
        let beyond = |m: usize| -> Result<Option<HypervolumeGain>> {
            let bound = model.objectives[m].bound.filter(|_| objectives >= CAPPED_OBJECTIVES);
            let Some(bound) = bound else { return Ok(None) };
            let mut at_bound = reference.to_vec();
            at_bound[m] = at_bound[m].max(bound);
            gain(m, &at_bound).map(Some)
        };
        let beyond = (0..objectives).map(beyond).collect::<Result<_>>()?;
        let form = |moving: &Vec<usize>| match moving[..] {
            [one] => Ok(Form::Alone(one)),
            _ => {
                let nodes = sobol::normals(moving.len().saturating_sub(1), NODES, seed)?;
                let set = JointHypervolumeGain::new(&means, moving, reference, &nodes)?;
                Ok(Form::Together(moving.clone(), set))
            }
        };
        let options = measured.iter().map(form).collect::<Result<_>>()?;
        Ok(Self { compared, gains, beyond, options })
    }
}

#[cfg(test)]
impl<'a> Hypervolume<'a> {
    /// By itself.
    pub(crate) fn new(
        model: &'a Model,
        extent: &Extent<'_>,
        measured: &[Vec<usize>],
    ) -> Result<Self> {
        Self::beside(Arc::new(Compared::new(model, extent.set)?), extent, measured)
    }

    /// Each objective alone.
    pub(crate) fn one_by_one(model: &'a Model, set: &Points, reference: &[f64]) -> Result<Self> {
        let measured: Vec<Vec<usize>> = (0..model.objectives.len()).map(|m| vec![m]).collect();
        Self::new(model, &Extent { set, reference, seed: 0 }, &measured)
    }
}

impl Acquisition for Hypervolume<'_> {
    fn options(&self) -> usize {
        self.options.len()
    }

    fn evaluator(&self, option: usize) -> Evaluator<'_> {
        self.evaluator_beside(option, &mut Beside::default())
    }

    fn evaluator_beside<'s>(&'s self, option: usize, beside: &mut Beside<'s>) -> Evaluator<'s> {
        match &self.options[option] {
            Form::Alone(objective) => {
                let prospect = beside.prospect(&self.compared, *objective);
                let mut work = Work::new(self, prospect);
                Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
            }
            Form::Together(moving, set) => {
                let mut work = Together::new(&self.compared, set, moving);
                Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
            }
        }
    }
}

/// Groups of derivatives: in β_kj of each design, moved objective by moved objective, and in the means
/// at x.
const SLOPES: usize = 0;
const MEANS: usize = 1;

/// What is left of a gain once what is beyond a best possible value is taken off may be rounding up to this
/// part of it.
const NOTHING: f64 = 1e-12;

/// One objective's evaluator with its buffers.
struct Work<'a> {
    gains: &'a [HypervolumeGain],
    beyond: &'a [Option<HypervolumeGain>],
    prospect: SharedProspect<'a>,
    gain: hypervolume_gain::Work,
    sums: Sums<2>,
}

impl<'a> Work<'a> {
    fn new(acquisition: &'a Hypervolume<'_>, prospect: SharedProspect<'a>) -> Self {
        Self {
            gains: &acquisition.gains,
            beyond: &acquisition.beyond,
            prospect,
            gain: hypervolume_gain::Work::default(),
            sums: Sums::default(),
        }
    }

    /// Log of the gain at `x`.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        let prospect = self.prospect.clone();
        let wanted = if gradient.is_some() { Wanted::Gradient } else { Wanted::Value };
        prospect.borrow_mut().look(x, wanted)?;
        let prospect = &*prospect.borrow();
        if prospect.is_still() {
            return Ok(f64::NEG_INFINITY);
        }
        let (moved, lines) = (prospect.moved().len(), prospect.slopes(0).len());
        match wanted {
            Wanted::Gradient => self.sums.clear([moved * lines, self.gains.len()]),
            Wanted::Value => self.sums.clear([0, 0]),
        }
        for i in 0..moved {
            let k = prospect.moved()[i];
            self.add(&self.gains[k], 1.0, wanted, prospect, i)?;
            if let Some(beyond) = &self.beyond[k] {
                let (all, unit) = (self.sums.gain, self.sums.log_scale);
                self.add(beyond, -1.0, wanted, prospect, i)?;
                // Its unit may have become another one.
                self.sums.drop_below(NOTHING * all * (unit - self.sums.log_scale).exp());
            }
        }
        if let Some(gradient) = gradient {
            self.write_gradient(prospect, x, gradient)?;
        }
        Ok(self.sums.log_mean(1))
    }

    /// Adds what the movement of the `i`-th moved objective gains alone, this often.
    fn add(
        &mut self,
        of: &HypervolumeGain,
        times: f64,
        wanted: Wanted,
        prospect: &Prospect<'_>,
        i: usize,
    ) -> Result<()> {
        let (slopes, means) = (prospect.slopes(i), prospect.means());
        let gain = match wanted {
            Wanted::Gradient => of.gain(slopes, means, &mut self.gain)?,
            Wanted::Value => of.value(slopes, means, &mut self.gain)?,
        };
        if gain.scaled == 0.0 {
            return Ok(());
        }
        let factor = times * self.sums.align(gain.log_scale);
        self.sums.gain += factor * gain.scaled;
        if wanted == Wanted::Gradient {
            let own = &mut self.sums.by[SLOPES][i * slopes.len()..];
            own.iter_mut().zip(self.gain.slopes()).for_each(|(sum, by)| *sum += factor * by);
            let means = self.sums.by[MEANS].iter_mut().zip(self.gain.means());
            means.for_each(|(sum, by)| *sum += factor * by);
        }
        Ok(())
    }

    /// Gradient of the logarithm: chain rule through slopes and means.
    fn write_gradient(
        &mut self,
        prospect: &Prospect<'_>,
        x: &[f64],
        gradient: &mut [f64],
    ) -> Result<()> {
        gradient.fill(0.0);
        let Sums { gain, by: [slopes, means], .. } = &mut self.sums;
        // Where nothing can be gained there is no direction to go.
        if *gain > 0.0 {
            prospect.pull_back(x, *gain, (slopes, means), gradient)?;
        }
        Ok(())
    }
}
