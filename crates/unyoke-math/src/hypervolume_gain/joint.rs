//! The gain in hypervolume from observing several objectives at once.
//!
//! Objectives of independent models move by normals of their own, Z₁, Z₂, … With the first i of them
//! known, the next adds the gain of one moving objective, from where the first i have moved to:
//!
//! E HV(Z₁, …, Z_q) − HV = Σ_i E_{Z₁…Z_i}[ E_{Z_{i+1}} HV(Z₁, …, Z_{i+1}) − HV(Z₁, …, Z_i) ].
//!
//! Each bracket is in closed form and never negative; the expectation around it is a mean over
//! nodes. The first term needs none.

use super::arrangement::{Arrangement, Axes, Corner, Newcomer};
use super::sweep::{Sweep, Tracked};
use super::{Total, check};
use crate::envelope::{Gain, magnitude};
use crate::error::{Error, Result, check_finite, check_shape};
use crate::points::Points;

/// Designs whose two or three objectives are compared by hypervolume while several move,
/// independently of each other.
#[derive(Debug, Clone)]
pub struct JointHypervolumeGain {
    means: Points,
    moving: Vec<usize>,
    reference: Vec<f64>,
    nodes: Points,
}

/// Buffers of an evaluation, to be reused, and the derivatives of the last gain.
#[derive(Debug, Clone, Default)]
pub struct JointWork {
    sweep: Sweep,
    total: Total,
    moved: Vec<f64>,
    corners: Vec<Corner>,
}

/// The objectives after outcomes of the first few that move.
struct Stage<'a> {
    set: &'a JointHypervolumeGain,
    /// A row per objective that moves, the candidate's slope last.
    slopes: &'a Points,
    /// The outcomes known, in the order of the moving objectives; the next one moves.
    outcomes: &'a [f64],
    /// Logarithm of the stage's share in the mean over nodes.
    log_weight: f64,
}

impl JointHypervolumeGain {
    /// Designs by the means of their two or three objectives; those of `moving` are observed. Each
    /// row of `nodes` has a standard normal for each of these but the last.
    ///
    /// ```
    /// use unyoke_math::hypervolume_gain::{JointHypervolumeGain, JointWork};
    /// use unyoke_math::{Points, sobol};
    ///
    /// // A candidate at the reference, with both objectives unknown: E max(0, Z)² = φ(0)².
    /// let nodes = sobol::normals(1, 256, 1)?;
    /// let set = JointHypervolumeGain::new(&Points::new(2), &[0, 1], &[0.0, 0.0], &nodes)?;
    /// let slopes = Points::from_rows(1, [[1.0], [1.0]])?;
    /// let gain = set.gain(&slopes, &[0.0, 0.0], &mut JointWork::default())?;
    /// assert!((gain.value() - 0.159_154_943).abs() < 1e-3);
    /// # Ok::<(), unyoke_math::Error>(())
    /// ```
    pub fn new(
        means: &Points,
        moving: &[usize],
        reference: &[f64],
        nodes: &Points,
    ) -> Result<Self> {
        if means.dim() > 3 {
            let (what, must) = ("number of objectives", "2 or 3 where several are observed");
            return Err(Error::OutOfRange { what, value: means.dim() as f64, must });
        }
        for (i, &objective) in moving.iter().enumerate() {
            check(means, objective, reference)?;
            if moving[..i].contains(&objective) {
                let (what, must) = ("moving objective", "listed once");
                return Err(Error::OutOfRange { what, value: objective as f64, must });
            }
        }
        let normals = moving.len().saturating_sub(1);
        check_shape("normals of a node", normals, nodes.dim())?;
        nodes.check_finite("nodes")?;
        if moving.is_empty() || (nodes.is_empty() && normals > 0) {
            let what = if moving.is_empty() { "moving objectives" } else { "nodes" };
            return Err(Error::Shape { what, expected: 1, found: 0 });
        }
        let (means, nodes, reference) = (means.clone(), nodes.clone(), reference.to_vec());
        Ok(Self { means, moving: moving.to_vec(), reference, nodes })
    }

    /// The expected gain when a candidate with these `means` joins the designs and its observation
    /// moves them: `slopes` has a row for each moving objective with the slopes of all designs, the
    /// candidate's own last. `work` then has the derivatives.
    pub fn gain(&self, slopes: &Points, means: &[f64], work: &mut JointWork) -> Result<Gain> {
        check_shape("objectives with slopes", self.moving.len(), slopes.len())?;
        let lines = self.means.len() + 1;
        check_shape("slopes of the designs and the candidate", lines, slopes.dim())?;
        slopes.check_finite("slopes of the designs and the candidate")?;
        check_shape("means of the candidate", self.reference.len(), means.len())?;
        check_finite("means of the candidate", means)?;
        work.total.clear(slopes.as_flat().len(), means.len());
        let log_weight = -(self.nodes.len().max(1) as f64).ln();
        let stage = Stage { set: self, slopes, outcomes: &[], log_weight: 0.0 };
        stage.add(means, work)?;
        for known in 1..self.moving.len() {
            for node in self.nodes.rows() {
                Stage { set: self, slopes, outcomes: &node[..known], log_weight }
                    .add(means, work)?;
            }
        }
        Ok(Gain { scaled: work.total.gain, log_scale: work.total.log_scale })
    }
}

impl Stage<'_> {
    /// Adds what observing the next objective gains.
    fn add(&self, means: &[f64], work: &mut JointWork) -> Result<()> {
        let JointWork { sweep, total, moved, corners } = work;
        let (axes, tracked) = self.axes();
        corners.clear();
        for (j, row) in self.set.means.rows().chain([means]).enumerate() {
            moved.clear();
            moved.extend_from_slice(row);
            for (l, (k, z)) in self.set.moving.iter().zip(self.outcomes).enumerate() {
                moved[*k] += self.slopes.row(l)[j] * z;
            }
            check_finite("moved means", moved)?;
            corners.push(axes.corner(moved));
        }
        let Some((&corner, designs)) = corners.split_last() else { return Ok(()) };
        let slopes = self.slopes.row(self.outcomes.len());
        let own = Newcomer { corner, slopes, slope_size: magnitude(slopes) };
        let arrangement = Arrangement::new(designs, axes.corner(&self.set.reference));
        let Some(sum) = arrangement.sweep(&own, tracked, sweep) else { return Ok(()) };
        let log_scale = sum.gain.log_scale + self.log_weight;
        let factor = total.add(Gain { log_scale, ..sum.gain });
        let start = self.outcomes.len() * slopes.len();
        let in_slopes = &mut total.slopes[start..start + slopes.len()];
        total.means[axes.height] += sum.add_slopes(factor, in_slopes);
        for slope in sum.fixed_slopes(factor) {
            self.add_fixed(slope.design as usize, axes.level, slope.level, total);
            if let Some(edge) = axes.edge {
                self.add_fixed(slope.design as usize, edge, slope.edge, total);
            }
        }
        Ok(())
    }

    /// How to sweep: only objectives that have moved depend on the slopes of designs, and a level is
    /// easier to follow than an edge.
    fn axes(&self) -> (Axes, Tracked) {
        let (moved, moving) = self.set.moving.split_at(self.outcomes.len());
        let axes = Axes::new(self.set.reference.len(), moving[0]);
        let edge_moved = axes.edge.is_some_and(|edge| moved.contains(&edge));
        match (moved.contains(&axes.level), edge_moved) {
            (false, false) => (axes, Tracked::Candidate),
            (true, false) => (axes, Tracked::Levels),
            (false, true) => (axes.turned(), Tracked::Levels),
            (true, true) => (axes, Tracked::All),
        }
    }

    /// Adds a derivative in objective `k` of a design, which follows the design's slope if that
    /// objective has moved; of means only the candidate's count.
    fn add_fixed(&self, design: usize, k: usize, slope: f64, total: &mut Total) {
        let lines = self.slopes.dim();
        if design + 1 == lines {
            total.means[k] += slope;
        }
        let known = &self.set.moving[..self.outcomes.len()];
        if let Some(l) = known.iter().position(|moved| *moved == k) {
            total.slopes[l * lines + design] += slope * self.outcomes[l];
        }
    }
}

impl JointWork {
    /// Derivatives of the last gain in the slopes, for each moving objective those of all designs
    /// and the candidate, one after another; in units of the gain's e^(log_scale).
    pub fn slopes(&self) -> &[f64] {
        &self.total.slopes
    }

    /// Derivatives of the last gain in the means of the candidate's objectives, likewise.
    pub fn means(&self) -> &[f64] {
        &self.total.means
    }
}
