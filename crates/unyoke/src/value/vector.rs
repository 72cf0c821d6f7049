//! Knowledge gradient of a measurement of several outputs, and within constraints.
//!
//! For weights λ, design x'_j is worth F_j · λ · (μ_j − r): F_j is the probability that it is feasible,
//! and an infeasible design is worth the reference point r. Measuring outputs S at x turns means
//! into μ_kj + β_kj Z_k, one standard normal Z_k for each output of S, and the probability that
//! constraint c holds into Φ((μ_cj + β_cj Z_c − limit_c)/t_cj), t² = s² − β². The normals of the
//! objectives may be rotated: with any orthonormal R, λ_k β_kj becomes Σ_k R_ik λ_k β_kj =: B_ij. At a node
//! z of all but the first, the values of designs are lines in that one:
//!
//! a_j(z) = F_j(z) (λ · (μ_j − r) + Σ_i B_ij z_i),  b_j(z) = F_j(z) B_1j.
//!
//! With two objectives the first direction is the one in which the best design's strongest rival gains
//! on it: what is left to the nodes is then smooth, and few of them suffice, however small the gain.
//!
//! They are compared with the line of the design that is best now, j*. What the node adds is
//! max_j a_j(z) − a_j*(z), which is not negative, and the gain of the remaining Z over that maximum, a
//! sum of non-negative terms. No two maxima are subtracted, and everything is carried in log form.
//!
//! Without constraints F = 1, and r cancels: then this is Eq. (5)-(6) for the vector of the outputs in
//! S. With all objectives in S it is maKG, with one C-MOKG.

use super::{Evaluator, Scalarised, Sums};
use crate::model::Place;
use crate::outlook::Outlook;
use crate::worth::Worth;
use unyoke_math::envelope::{Envelope, SlopeOrder};
use unyoke_math::gp::Query;
use unyoke_math::{Points, Result, normal, sobol};

/// Nodes and weights for an expectation over independent standard normals.
#[derive(Debug, Clone)]
pub(super) struct Nodes {
    points: Points,
    weights: Vec<f64>,
}

/// What measuring constraints alone adds at the nodes, for one weight vector.
#[derive(Debug, Clone, Default)]
struct Rises {
    /// The value of the line that is best now.
    now: Vec<f64>,
    /// By how much the best line lies above it, and which line that is.
    most: Vec<f64>,
    line: Vec<usize>,
}

/// Equal intervals of the trapezoidal rule, this far to either side, for one normal; Sobol' points
/// for several. Few suffice for objectives, which move lines smoothly; constraints do not.
const SMOOTH_INTERVALS: usize = 24;
const INTERVALS: usize = 64;
const REACH: f64 = 6.0;
const QMC_NODES: usize = 128;

impl Nodes {
    /// The usual nodes for an expectation over so many normals of objectives and constraints.
    fn new(objectives: usize, constraints: usize) -> Result<Self> {
        match (objectives, constraints) {
            (0, 0) => Self::sobol(0, 1),
            (1, 0) => Self::trapezoid(REACH, SMOOTH_INTERVALS),
            (0, 1) => Self::trapezoid(REACH, INTERVALS),
            _ => Self::sobol(objectives + constraints, QMC_NODES),
        }
    }

    pub(super) fn trapezoid(reach: f64, intervals: usize) -> Result<Self> {
        let step = 2.0 * reach / intervals as f64;
        let nodes = (0..=intervals).map(|i| step * i as f64 - reach);
        let weights: Vec<f64> = nodes.clone().map(|z| step * normal::pdf(z)).collect();
        Ok(Self { points: Points::from_rows(1, nodes.map(|z| [z]))?, weights })
    }

    /// How far from 0 any normal is.
    fn reach(&self) -> f64 {
        self.points.rows().flatten().fold(0.0, |most, z| most.max(z.abs()))
    }

    fn sobol(normals: usize, count: usize) -> Result<Self> {
        let points = sobol::normals(normals, count, 0)?;
        Ok(Self { points, weights: vec![1.0 / count as f64; count] })
    }
}

/// What is observed, and the nodes over which is averaged.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    objectives: Vec<usize>,
    constraints: Vec<usize>,
    nodes: Nodes,
}

impl Observed {
    pub(super) fn new(places: &[Place]) -> Result<Self> {
        let is_objective = |place: &&Place| matches!(place, Place::Objective(_));
        let objectives = places.iter().filter(is_objective).count();
        // One normal of the objectives is in closed form.
        let nodes = Nodes::new(objectives.saturating_sub(1), places.len() - objectives)?;
        Self::with_nodes(places, nodes)
    }

    pub(super) fn with_nodes(places: &[Place], nodes: Nodes) -> Result<Self> {
        let objective = |place: &Place| match place {
            Place::Objective(m) => Some(*m),
            Place::Constraint(_) => None,
        };
        let constraint = |place: &Place| match place {
            Place::Constraint(c) => Some(*c),
            Place::Objective(_) => None,
        };
        Ok(Self {
            objectives: places.iter().filter_map(objective).collect(),
            constraints: places.iter().filter_map(constraint).collect(),
            nodes,
        })
    }
}

/// The gain of measuring these outputs.
pub(super) fn evaluator<'a>(shared: &'a Scalarised<'a>, observed: &'a Observed) -> Evaluator<'a> {
    match Work::new(shared, observed) {
        Ok(mut work) => {
            Box::new(move |x, gradient| work.evaluate(x, gradient).unwrap_or(f64::NEG_INFINITY))
        }
        Err(_) => Box::new(|_, _| f64::NEG_INFINITY),
    }
}

/// An evaluator with its buffers. Lines are the designs of the set, and last the candidate.
struct Work<'a> {
    shared: &'a Scalarised<'a>,
    observed: &'a Observed,
    /// Feasibility of each design as far as it does not depend on what is observed.
    base: Vec<f64>,
    /// λ · (μ_j − r) per weight vector.
    intercepts: Points,
    twin: Option<usize>,
    objectives: Vec<Outlook>,
    constraints: Vec<Outlook>,
    /// Gradient of each objective's mean at the candidate.
    mean_gradients: Vec<Vec<f64>>,
    /// Constraints that are not observed, at the candidate.
    queries: Vec<Query>,
    /// F_j now and at all nodes, and which lines may be the best somewhere.
    bounds: Vec<Bound>,
    needed: Vec<bool>,
    /// What the best line is worth at least at every node, for each weight vector.
    floors: Vec<f64>,
    /// For each line that is needed, F_j(z) at every node.
    feasibility: Points,
    rises: Rises,
    order: SlopeOrder,
    envelope: Envelope,
    buffers: Buffers,
    wants_gradient: bool,
    sums: Sums<7>,
}

/// Groups of derivatives: in β_j of each observed objective, objective by objective, and of each
/// observed constraint; in the means of all objectives at the candidate; in mean and variance there
/// of each observed constraint; in the candidate's base feasibility; where utilities are not linear, in
/// what it is worth for each weight vector, instead of the means.
const OBJECTIVE_SLOPES: usize = 0;
const CONSTRAINT_SLOPES: usize = 1;
const MEANS: usize = 2;
const CONSTRAINT_MEANS: usize = 3;
const CONSTRAINT_VARIANCES: usize = 4;
const BASE: usize = 5;
const WORTHS: usize = 6;

/// The feasibility of a design now, and the least and most it can be at any node.
#[derive(Debug, Clone, Copy)]
struct Bound {
    low: f64,
    now: f64,
    high: f64,
}

/// Standard deviations beyond which an objective is not imagined to move.
const FARTHEST: f64 = 8.0;

/// Below this a rise of the best line is none: its inverse would not be a number.
const NO_RISE: f64 = 1e-290;

/// Derivatives of what a node adds in one line.
#[derive(Clone, Copy)]
struct LineAdjoint {
    /// Its place among those kept.
    place: usize,
    intercept: f64,
    slope: f64,
}

/// The lines of a weight vector that matter, at a node.
#[derive(Debug, Clone, Default)]
struct Buffers {
    q: usize,
    /// Their numbers.
    kept: Vec<usize>,
    /// λ · (μ_j − r), and moved to the node.
    standing: Vec<f64>,
    utilities: Vec<f64>,
    /// By how much each lies above the line that is best now.
    raised: Vec<f64>,
    slopes: Vec<f64>,
    /// λ_k in the unit of each observed objective.
    factors: Vec<f64>,
    /// R, row by row, and B_ij.
    rotation: Vec<Vec<f64>>,
    rotated: Vec<Vec<f64>>,
}

/// Where a weight vector and a node meet.
#[derive(Clone, Copy)]
struct Meeting<'a> {
    node: usize,
    /// All normals but the one in closed form.
    z: &'a [f64],
    buffers: &'a Buffers,
}

impl<'a> Work<'a> {
    fn new(shared: &'a Scalarised<'a>, observed: &'a Observed) -> Result<Self> {
        Ok(Self {
            shared,
            observed,
            base: shared.compared.feasibility_apart_from(&observed.constraints)?,
            intercepts: shared.intercepts.clone(),
            twin: None,
            objectives: vec![Outlook::default(); observed.objectives.len()],
            constraints: vec![Outlook::default(); observed.constraints.len()],
            mean_gradients: vec![],
            queries: vec![Query::default(); shared.model().constraints.len()],
            bounds: vec![],
            needed: vec![],
            floors: vec![],
            feasibility: Points::new(0),
            rises: Rises::default(),
            order: SlopeOrder::default(),
            envelope: Envelope::default(),
            buffers: Buffers::default(),
            wants_gradient: false,
            sums: Sums::default(),
        })
    }

    fn lines(&self) -> usize {
        self.intercepts.dim()
    }

    /// Whether only constraints are measured, which change what designs are worth by their feasibility.
    fn is_indirect(&self) -> bool {
        self.objectives.is_empty()
    }

    /// Log of the gain at `x`, averaged over the weight vectors.
    fn evaluate(&mut self, x: &[f64], gradient: Option<&mut [f64]>) -> Result<f64> {
        self.wants_gradient = gradient.is_some();
        self.place_candidate(x)?;
        self.bound_feasibility();
        self.fill_feasibility();
        let (lines, constraints) = (self.lines(), self.constraints.len());
        let slopes = [self.objectives.len() * lines, constraints * lines];
        let [of_objectives, of_constraints] = slopes;
        let means = self.shared.objectives();
        let weights = self.shared.weights.len();
        self.sums.clear(match gradient {
            Some(_) => [of_objectives, of_constraints, means, constraints, constraints, 1, weights],
            None => [0; 7],
        });
        for q in 0..self.shared.weights.len() {
            match self.is_indirect() {
                true => self.add_rises(q),
                false => self.add_weight_vector(q)?,
            }
        }
        if let Some(gradient) = gradient {
            self.write_gradient(x, gradient)?;
        }
        Ok(self.sums.log_mean(self.shared.weights.len()))
    }

    /// Computes what all models say about `x`.
    fn place_candidate(&mut self, x: &[f64]) -> Result<()> {
        let shared = self.shared;
        self.twin = shared.compared.twin(x);
        let moved = self.observed.objectives.iter().map(|m| &shared.compared.objectives[*m]);
        for (outlook, set) in self.objectives.iter_mut().zip(moved) {
            outlook.look(set, x, self.twin)?;
        }
        let moved = self.observed.constraints.iter().map(|c| &shared.compared.constraints[*c]);
        for (outlook, set) in self.constraints.iter_mut().zip(moved) {
            outlook.look(&set.set, x, self.twin)?;
        }
        let mut means = Vec::with_capacity(shared.objectives());
        self.mean_gradients.resize(shared.objectives(), vec![]);
        for (k, belief) in shared.model().objectives.iter().enumerate() {
            let gradient = &mut self.mean_gradients[k];
            gradient.clear();
            gradient.resize(x.len(), 0.0);
            means.push(match self.observed.objectives.iter().position(|m| *m == k) {
                // Its gradient comes with that of the slopes.
                Some(s) => self.objectives[s].candidate.prediction().mean,
                None => belief.mean_with_gradient(x, 1.0, gradient)?,
            });
        }
        let last = self.lines() - 1;
        let worths = shared.worth.map(|worth| shared.worths_at(worth, x)).transpose()?;
        for q in 0..shared.weights.len() {
            let row = self.intercepts.row_mut(q);
            let own = || match &worths {
                Some(worths) => worths[q],
                None => shared.intercept(q, &means),
            };
            row[last] = self.twin.map_or_else(own, |twin| row[twin]);
        }
        self.base[last] = match self.twin {
            Some(twin) => self.base[twin],
            None => self.base_at(x)?,
        };
        Ok(())
    }

    /// The candidate's feasibility as far as it does not depend on what is observed.
    fn base_at(&mut self, x: &[f64]) -> Result<f64> {
        let mut product = 1.0;
        for (c, constraint) in self.shared.model().constraints.iter().enumerate() {
            if !self.observed.constraints.contains(&c) {
                product *= constraint.likelihood(x, &mut self.queries[c])?;
            }
        }
        for runs in &self.shared.model().runs {
            product *= runs.factor(x)?;
        }
        Ok(product)
    }

    /// F_j now, and between which values it stays at all nodes; then which lines may be the best
    /// somewhere for some weight vector.
    fn bound_feasibility(&mut self) {
        let reach = self.observed.nodes.reach();
        self.bounds.clear();
        for j in 0..self.lines() {
            let mut bound = Bound { low: self.base[j], now: self.base[j], high: self.base[j] };
            for (outlook, c) in self.constraints.iter().zip(&self.observed.constraints) {
                let (standing, beta) = (
                    self.shared.compared.constraints[*c].standing(j, outlook, self.twin),
                    outlook.slopes[j],
                );
                let ends = [-reach, reach].map(|z| normal::cdf(standing.at(beta, z)));
                bound.low *= ends[0].min(ends[1]);
                bound.now *= normal::cdf(standing.at(0.0, 0.0));
                bound.high *= ends[0].max(ends[1]);
            }
            self.bounds.push(bound);
        }
        self.needed.clear();
        self.needed.resize(self.lines(), self.constraints.is_empty());
        self.floors.clear();
        if !self.constraints.is_empty() {
            for q in 0..self.shared.weights.len() {
                let floor = self.floor(q);
                self.floors.push(floor);
                for j in 0..self.lines() {
                    self.needed[j] |= self.ceiling(q, j) >= floor;
                }
            }
        }
    }

    /// How far observing the objectives outlook λ · (μ_j − r), at most.
    fn move_of(&self, q: usize, j: usize) -> f64 {
        let observed = self.objectives.iter().zip(&self.observed.objectives);
        let by = observed.map(|(outlook, m)| self.shared.factor(q, *m) * outlook.slopes[j].abs());
        FARTHEST * by.sum::<f64>()
    }

    /// The most that line j is worth at any node.
    fn ceiling(&self, q: usize, j: usize) -> f64 {
        let utility = self.intercepts.row(q)[j] + self.move_of(q, j);
        let Bound { low, high, .. } = self.bounds[j];
        utility * if utility > 0.0 { high } else { low }
    }

    /// What the best line is worth at least at every node.
    fn floor(&self, q: usize) -> f64 {
        let lowest = |j: usize| {
            let utility = self.intercepts.row(q)[j] - self.move_of(q, j);
            let Bound { low, high, .. } = self.bounds[j];
            utility * if utility > 0.0 { low } else { high }
        };
        (0..self.lines()).map(lowest).fold(f64::NEG_INFINITY, f64::max)
    }

    /// F_j(z) for every node and every line that is needed.
    fn fill_feasibility(&mut self) {
        let nodes = &self.observed.nodes;
        if self.feasibility.len() != self.lines() {
            self.feasibility = Points::zeros(nodes.weights.len(), self.lines());
        }
        let first = self.objectives.len().saturating_sub(1);
        let mut probabilities = vec![0.0; nodes.weights.len()];
        for j in (0..self.lines()).filter(|j| self.needed[*j]) {
            let row = self.feasibility.row_mut(j);
            row.fill(self.base[j]);
            let observed = self.constraints.iter().zip(&self.observed.constraints);
            for (i, (outlook, c)) in observed.enumerate() {
                let standing = self.shared.compared.constraints[*c].standing(j, outlook, self.twin);
                let (slope, rest) = (outlook.slopes[j], standing.rest(outlook.slopes[j]).sqrt());
                for (p, z) in probabilities.iter_mut().zip(nodes.points.rows()) {
                    *p = standing.value(slope, z[first + i]) / rest;
                }
                normal::cdf_each(&mut probabilities);
                row.iter_mut().zip(&probabilities).for_each(|(f, p)| *f *= p);
            }
        }
    }

    /// Adds what a weight vector gains where only constraints are measured: at each node by how much the
    /// best line lies above the one that is best now.
    fn add_rises(&mut self, q: usize) {
        let mut buffers = std::mem::take(&mut self.buffers);
        let mut rises = std::mem::take(&mut self.rises);
        let Buffers { kept, raised, .. } = &mut buffers;
        let best = self.best_now(q, raised);
        kept.clear();
        self.keep_within_reach(q, best, kept);
        self.find_rises(q, best, kept, &mut rises);
        for (node, rise) in rises.most.iter().enumerate().filter(|(_, rise)| **rise > NO_RISE) {
            let unit = self.sums.align(rise.ln()) * self.observed.nodes.weights[node];
            self.sums.gain += unit;
            if self.wants_gradient {
                let by_line = unit / rise;
                self.share_rise((q, node), rises.line[node], by_line);
                self.share_rise((q, node), best, -by_line);
            }
        }
        (self.buffers, self.rises) = (buffers, rises);
    }

    /// The best of the lines that are kept, at each node.
    fn find_rises(&self, q: usize, best: usize, kept: &[usize], rises: &mut Rises) {
        let Rises { now, most, line } = rises;
        let utilities = self.intercepts.row(q);
        now.clear();
        now.extend(self.feasibility.row(best).iter().map(|f| f * utilities[best]));
        most.clear();
        most.resize(now.len(), 0.0);
        line.clear();
        line.resize(now.len(), best);
        for &j in kept.iter().filter(|j| **j != best) {
            let (feasibility, utility) = (self.feasibility.row(j), utilities[j]);
            for g in 0..now.len() {
                let rise = feasibility[g] * utility - now[g];
                let is_more = rise > most[g];
                most[g] = if is_more { rise } else { most[g] };
                line[g] = if is_more { j } else { line[g] };
            }
        }
    }

    /// Adds the derivatives of what a weight vector gains at a node whose derivative in the value of
    /// line j this is.
    fn share_rise(&mut self, (q, node): (usize, usize), j: usize, by_line: f64) {
        let by_utility = by_line * self.feasibility.row(j)[node];
        if j == self.lines() - 1 && self.shared.worth.is_some() {
            self.sums.by[WORTHS][q] += by_utility;
        } else if j == self.lines() - 1 {
            let shared = self.shared;
            let means = self.sums.by[MEANS].iter_mut().enumerate();
            means.for_each(|(k, sum)| *sum += by_utility * shared.factor(q, k));
        }
        let by_feasibility = by_line * self.intercepts.row(q)[j];
        if by_feasibility != 0.0 {
            self.share_feasibility(node, j, by_feasibility);
        }
    }

    /// Keeps the lines that may be the best at some node, and line `best`.
    fn keep_within_reach(&self, q: usize, best: usize, kept: &mut Vec<usize>) {
        let matters = |j: &usize| *j == best || self.ceiling(q, *j) >= self.floors[q];
        kept.extend((0..self.lines()).filter(|j| self.needed[*j]).filter(matters));
    }

    fn add_weight_vector(&mut self, q: usize) -> Result<()> {
        let (shared, observed) = (self.shared, self.observed);
        let mut buffers = std::mem::take(&mut self.buffers);
        buffers.q = q;
        buffers.factors.clear();
        buffers.factors.extend(observed.objectives.iter().map(|m| shared.factor(q, *m)));
        let best = self.best_now(q, &mut buffers.raised);
        let best = self.keep_lines(q, best, &mut buffers);
        self.rotate_lines(&mut buffers);
        let mut is_sorted = false;
        for (node, z) in observed.nodes.points.rows().enumerate() {
            self.move_lines(z, &mut buffers);
            let feasibility = |j: usize| self.feasibility.row(j)[node];
            let Buffers { kept, utilities, raised, slopes, rotated, .. } = &mut buffers;
            let now = feasibility(kept[best]) * utilities[best];
            raised.clear();
            raised.extend(kept.iter().zip(&*utilities).map(|(j, u)| feasibility(*j) * u - now));
            // Without constraints among what is observed, the slopes are the same at every node.
            if let Some(first) = rotated.first()
                && !(is_sorted && self.constraints.is_empty())
            {
                slopes.clear();
                slopes.extend(kept.iter().zip(first).map(|(j, b)| feasibility(*j) * b));
                self.order.sort(slopes)?;
                is_sorted = true;
            }
            let meeting = Meeting { node, z, buffers: &buffers };
            self.add_rise(&meeting, best);
            if !meeting.buffers.rotated.is_empty() {
                self.add_closed_form(&meeting)?;
            }
        }
        self.buffers = buffers;
        Ok(())
    }

    /// λ · (μ_j − r) and B_ij of the lines that are kept.
    fn rotate_lines(&self, buffers: &mut Buffers) {
        let Buffers { q, kept, standing, rotated, rotation, factors, .. } = buffers;
        let row = self.intercepts.row(*q);
        standing.clear();
        standing.extend(kept.iter().map(|j| row[*j]));
        rotated.resize(factors.len(), vec![]);
        for (i, slopes) in rotated.iter_mut().enumerate() {
            slopes.clear();
            slopes.resize(kept.len(), 0.0);
            for (s, outlook) in self.objectives.iter().enumerate() {
                let factor = rotation[i][s] * factors[s];
                slopes.iter_mut().zip(&*kept).for_each(|(b, j)| *b += factor * outlook.slopes[*j]);
            }
        }
    }

    /// Moves the utilities of the lines that are kept to a node.
    fn move_lines(&self, z: &[f64], buffers: &mut Buffers) {
        let Buffers { utilities, standing, rotated, .. } = buffers;
        utilities.clear();
        utilities.extend_from_slice(standing);
        for (slopes, z) in rotated.iter().skip(1).zip(z) {
            utilities.iter_mut().zip(slopes).for_each(|(u, b)| *u += b * z);
        }
    }

    /// Keeps the lines that matter, says where among them line `best` is, and turns the normals of
    /// the objectives towards its strongest rival.
    ///
    /// Line j beats that one with probability Φ(−d), where d is by how much it lies below, in
    /// standard deviations of the difference. Where nothing observed changes feasibility, lines with
    /// d² so much larger than the smallest add nothing to the gain that a double could hold.
    fn keep_lines(&self, q: usize, best: usize, buffers: &mut Buffers) -> usize {
        const NEGLIGIBLE: f64 = 60.0;
        let Buffers { kept, raised: distances, factors, rotation, .. } = buffers;
        let (row, base) = (self.intercepts.row(q), &self.base);
        let difference = |s: usize, j: usize| {
            let slopes = &self.objectives[s].slopes;
            factors[s] * (base[j] * slopes[j] - base[best] * slopes[best])
        };
        distances.clear();
        let (mut nearest, mut rival) = (f64::INFINITY, best);
        for j in 0..self.lines() {
            let below = base[best] * row[best] - base[j] * row[j];
            let spread: f64 = (0..factors.len()).map(|s| difference(s, j).powi(2)).sum();
            let distance = if spread > 0.0 { below * below / spread } else { f64::INFINITY };
            if distance < nearest {
                (nearest, rival) = (distance, j);
            }
            distances.push(distance);
        }
        // Sobol' points are not quite indifferent to rotations, which would show in gradients: with
        // them the first direction is that of the objective that outlook lines most.
        let is_smooth = self.observed.nodes.points.dim() <= 1;
        let move_by = |s: &usize| factors[*s] * self.objectives[*s].variance.sqrt();
        let most = (0..factors.len()).reduce(|a, b| if move_by(&b) > move_by(&a) { b } else { a });
        let towards = (0..factors.len()).map(|s| match is_smooth {
            true => difference(s, rival),
            false => f64::from(u8::from(Some(s) == most)),
        });
        *rotation = rotation_to(&towards.collect::<Vec<_>>());
        kept.clear();
        if self.constraints.is_empty() {
            let matters = |j: &usize| *j == best || distances[*j] <= nearest + NEGLIGIBLE;
            kept.extend((0..self.lines()).filter(matters));
        } else {
            self.keep_within_reach(q, best, kept);
        }
        kept.iter().position(|j| *j == best).unwrap_or(0)
    }

    /// The line that is worth most now.
    fn best_now(&self, q: usize, expected: &mut Vec<f64>) -> usize {
        let worth = self.bounds.iter().zip(self.intercepts.row(q));
        expected.clear();
        expected.extend(worth.map(|(bound, a)| bound.now * a));
        highest(expected)
    }

    /// Adds by how much the best line at a node lies above the one that is best now.
    fn add_rise(&mut self, meeting: &Meeting<'_>, best: usize) {
        let raised = &meeting.buffers.raised;
        let top = highest(raised);
        if raised[top] > NO_RISE {
            let weight = self.observed.nodes.weights[meeting.node];
            let unit = self.sums.align(raised[top].ln()) * weight;
            self.sums.gain += unit;
            let intercept = unit / raised[top];
            self.share(meeting, LineAdjoint { place: top, intercept, slope: 0.0 });
            self.share(meeting, LineAdjoint { place: best, intercept: -intercept, slope: 0.0 });
        }
    }

    /// Adds what the remaining Z gains over the best line at a node.
    fn add_closed_form(&mut self, meeting: &Meeting<'_>) -> Result<()> {
        let gain = self.order.gain(&meeting.buffers.raised, 1.0, &mut self.envelope)?;
        if gain.scaled > 0.0 {
            let weight = self.observed.nodes.weights[meeting.node];
            let unit = self.sums.align(gain.log_scale) * weight;
            self.sums.gain += unit * gain.scaled;
            let envelope = std::mem::take(&mut self.envelope);
            for line in envelope.gradient() {
                let (intercept, slope) = (unit * line.intercept, unit * line.slope);
                self.share(meeting, LineAdjoint { place: line.line, intercept, slope });
            }
            self.envelope = envelope;
        }
        Ok(())
    }

    /// Adds the derivatives of a gain whose derivatives in one line these are.
    fn share(&mut self, meeting: &Meeting<'_>, adjoint: LineAdjoint) {
        if !self.wants_gradient {
            return;
        }
        let Meeting { node, z, buffers } = *meeting;
        let LineAdjoint { place, intercept, slope } = adjoint;
        let (lines, j) = (self.lines(), buffers.kept[place]);
        let feasibility = self.feasibility.row(j)[node];
        let mut by_feasibility = intercept * buffers.utilities[place];
        if let Some(first) = buffers.rotated.first() {
            by_feasibility += slope * first[place];
        }
        for (s, factor) in buffers.factors.iter().enumerate() {
            let outer = buffers.rotation.iter().skip(1).zip(z).map(|(row, z)| row[s] * z);
            let by_slope = slope * buffers.rotation[0][s] + intercept * outer.sum::<f64>();
            self.sums.by[OBJECTIVE_SLOPES][s * lines + j] += by_slope * feasibility * factor;
        }
        if j == lines - 1 && self.shared.worth.is_some() {
            self.sums.by[WORTHS][buffers.q] += intercept * feasibility;
        } else if j == lines - 1 {
            let shared = self.shared;
            for (k, sum) in self.sums.by[MEANS].iter_mut().enumerate() {
                *sum += intercept * feasibility * shared.factor(meeting.buffers.q, k);
            }
        }
        if self.shared.model().is_constrained() && by_feasibility != 0.0 {
            self.share_feasibility(node, j, by_feasibility);
        }
    }

    /// Adds the derivatives of a gain whose derivative in F_j(z) this is.
    fn share_feasibility(&mut self, node: usize, j: usize, by_feasibility: f64) {
        let (lines, observed) = (self.lines(), self.observed);
        let first = self.objectives.len().saturating_sub(1);
        let z = observed.nodes.points.row(node);
        let stand = |i: usize| {
            let c = observed.constraints[i];
            self.shared.compared.constraints[c].standing(j, &self.constraints[i], self.twin)
        };
        let at = |i: usize| stand(i).at(self.constraints[i].slopes[j], z[first + i]);
        let is_own = j == lines - 1;
        // Of a single constraint only the density counts, but for the candidate itself.
        let probability = |i: usize| match is_own || observed.constraints.len() > 1 {
            true => normal::cdf(at(i)),
            false => 1.0,
        };
        let probabilities: Vec<f64> = (0..observed.constraints.len()).map(probability).collect();
        if is_own {
            self.sums.by[BASE][0] += by_feasibility * probabilities.iter().product::<f64>();
        }
        for i in 0..observed.constraints.len() {
            let others = (0..probabilities.len()).filter(|other| *other != i);
            let others: f64 = others.map(|other| probabilities[other]).product();
            let by_probability = by_feasibility * self.base[j] * others;
            let (g, beta) = (at(i), self.constraints[i].slopes[j]);
            let rest = stand(i).rest(beta);
            let density = by_probability * normal::pdf(g);
            self.sums.by[CONSTRAINT_SLOPES][i * lines + j] +=
                density * (z[first + i] / rest.sqrt() + g * beta / rest);
            if is_own {
                self.sums.by[CONSTRAINT_MEANS][i] += density / rest.sqrt();
                self.sums.by[CONSTRAINT_VARIANCES][i] -= 0.5 * density * g / rest;
            }
        }
    }

    /// Gradient of the logarithm: chain rule through slopes, variances, means and feasibility.
    fn write_gradient(&mut self, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        let (shared, lines) = (self.shared, self.lines());
        gradient.fill(0.0);
        // Where nothing can be gained there is no direction to go.
        if self.sums.gain == 0.0 {
            return Ok(());
        }
        for (sum, own) in self.sums.by[MEANS].iter().zip(&self.mean_gradients) {
            gradient.iter_mut().zip(own).for_each(|(g, slope)| *g += sum * slope);
        }
        if let Some(worth) = shared.worth {
            self.add_worth_gradient(worth, x, gradient)?;
        }
        for (s, outlook) in self.objectives.iter().enumerate() {
            let set = &shared.compared.objectives[self.observed.objectives[s]];
            let by_mean = self.sums.by[MEANS][self.observed.objectives[s]];
            let slopes = &mut self.sums.by[OBJECTIVE_SLOPES][s * lines..][..lines];
            let part = outlook.pull_back(set, slopes, [by_mean, 0.0])?;
            gradient.iter_mut().zip(part).for_each(|(g, p)| *g += p);
        }
        for (i, outlook) in self.constraints.iter().enumerate() {
            let set = &shared.compared.constraints[self.observed.constraints[i]].set;
            let own = [self.sums.by[CONSTRAINT_MEANS][i], self.sums.by[CONSTRAINT_VARIANCES][i]];
            let slopes = &mut self.sums.by[CONSTRAINT_SLOPES][i * lines..][..lines];
            let part = outlook.pull_back(set, slopes, own)?;
            gradient.iter_mut().zip(part).for_each(|(g, p)| *g += p);
        }
        if self.sums.by[BASE][0] != 0.0 {
            // A candidate that is a design of the set took that one's feasibility.
            self.base_at(x)?;
            self.add_base_gradient(x, gradient)?;
        }
        gradient.iter_mut().for_each(|g| *g /= self.sums.gain);
        Ok(())
    }

    /// Adds the gradient of what the candidate is worth, times the derivatives in that.
    fn add_worth_gradient(&self, worth: &Worth, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        for (row, by) in self.shared.weights.rows().zip(&self.sums.by[WORTHS]) {
            if *by != 0.0 {
                let mut part = vec![0.0; x.len()];
                self.shared.model().worth_at(worth, row, x, &mut part)?;
                gradient.iter_mut().zip(part).for_each(|(g, p)| *g += by * p);
            }
        }
        Ok(())
    }

    /// Adds the gradient of the candidate's base feasibility, a product, times its derivative.
    fn add_base_gradient(&self, x: &[f64], gradient: &mut [f64]) -> Result<()> {
        let model = self.shared.model();
        let mut parts: Vec<(f64, Vec<f64>)> = vec![];
        for (c, constraint) in model.constraints.iter().enumerate() {
            if !self.observed.constraints.contains(&c) {
                parts.push(constraint.likelihood_slope(x, &self.queries[c])?);
            }
        }
        for runs in &model.runs {
            parts.push(runs.factor_with_gradient(x)?);
        }
        for (i, (_, slope)) in parts.iter().enumerate() {
            let others = parts.iter().enumerate().filter(|(j, _)| *j != i);
            let others: f64 = others.map(|(_, (probability, _))| probability).product();
            let weight = self.sums.by[BASE][0] * others;
            gradient.iter_mut().zip(slope).for_each(|(g, s)| *g += weight * s);
        }
        Ok(())
    }
}

/// An orthonormal matrix whose first row points in this direction: a reflection, I − 2wwᵀ/wᵀw with
/// w = e₁ − u.
fn rotation_to(direction: &[f64]) -> Vec<Vec<f64>> {
    let count = direction.len();
    let length = direction.iter().map(|v| v * v).sum::<f64>().sqrt();
    let unit = |i: usize, s: usize| f64::from(u8::from(i == s));
    let mut w: Vec<f64> = direction.iter().map(|v| -v / length).collect();
    if let Some(first) = w.first_mut() {
        *first += 1.0;
    }
    let square: f64 = w.iter().map(|v| v * v).sum();
    // Nowhere to turn, or no need to.
    let factor = if square > 1e-300 { 2.0 / square } else { 0.0 };
    let entry = |i: usize, s: usize| unit(i, s) - factor * w[i] * w[s];
    (0..count).map(|i| (0..count).map(|s| entry(i, s)).collect()).collect()
}

/// Index of the largest value, the first of equals.
fn highest(values: &[f64]) -> usize {
    (0..values.len()).fold(0, |best, j| if values[j] > values[best] { j } else { best })
}
