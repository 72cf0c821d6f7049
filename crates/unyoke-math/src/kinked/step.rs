//! The best step by a model with kinks: g · d − ½ dᵀ B d − Σ_q w_q max(0, c_q + n_q · d) within a box.
//!
//! An active-set method. Kinks and sides of the box that are held take part as c_q + n_q · d = 0 or as a
//! coordinate that stays; every other kink counts as passed or not. What is left is a quadratic, and the
//! way to its maximum is followed as long as it leads up: kinks on the way are passed, or held if it goes
//! down behind them. What is held is let go when its force says that one of its sides is better.

use super::Kinks;

/// B and its inverse, row by row.
#[derive(Debug, Clone)]
pub(super) struct Curvature {
    pub(super) matrix: Vec<f64>,
    pub(super) inverse: Vec<f64>,
}

/// What is maximised. The gaps are those to count with.
pub(super) struct Model<'a> {
    pub(super) slope: &'a [f64],
    pub(super) curvature: &'a Curvature,
    pub(super) kinks: &'a Kinks,
    pub(super) gaps: &'a [f64],
    pub(super) lower: &'a [f64],
    pub(super) upper: &'a [f64],
}

/// The step, what it gains by the model, and which share of its weight each kink counts there.
pub(super) struct Step {
    pub(super) to: Vec<f64>,
    pub(super) gain: f64,
    pub(super) shares: Vec<f64>,
}

/// What is held, by its number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    Kink(usize),
    Lower(usize),
    Upper(usize),
}

/// Something on the way.
struct Mark {
    /// How far along the way.
    at: f64,
    held: Held,
    /// By how much the way rises less behind it.
    bend: f64,
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(super) fn product(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    matrix.chunks_exact(v.len().max(1)).map(|row| dot(row, v)).collect()
}

impl Model<'_> {
    pub(super) fn best_step(&self) -> Step {
        let mut search = Search::new(self);
        // Each of a few rounds over all that can be held.
        let most = 20 + 4 * (self.slope.len() + search.near.len());
        for _ in 0..most {
            if !search.improve() {
                break;
            }
        }
        Step { gain: search.gain(), shares: search.shares(), to: search.d }
    }

    /// Whether any step in the box gets to a kink, or it counts from the beginning.
    fn is_near(&self, q: usize) -> bool {
        let sides = self.lower.iter().zip(self.upper);
        let ends = self.kinks.normal(q).iter().zip(sides).map(|(n, (l, u))| (n * l).max(n * u));
        self.gaps[q] + ends.sum::<f64>() > 0.0
    }
}

/// A step under way.
struct Search<'m, 'a> {
    model: &'m Model<'a>,
    d: Vec<f64>,
    /// Kinks that can be reached.
    near: Vec<usize>,
    /// Which kinks are passed.
    passed: Vec<bool>,
    held: Vec<Held>,
    /// What holds them, likewise.
    forces: Vec<f64>,
    /// What a step rises by along the steepest way, for comparison.
    size: f64,
}

impl<'m, 'a> Search<'m, 'a> {
    fn new(model: &'m Model<'a>) -> Self {
        let near = (0..model.gaps.len()).filter(|q| model.is_near(*q)).collect();
        let passed = model.gaps.iter().map(|gap| *gap > 0.0).collect();
        let size = dot(&product(&model.curvature.inverse, model.slope), model.slope);
        let d = vec![0.0; model.slope.len()];
        Self { model, d, near, passed, held: vec![], forces: vec![], size }
    }

    fn is_held(&self, q: usize) -> bool {
        self.held.contains(&Held::Kink(q))
    }

    fn gap(&self, q: usize) -> f64 {
        self.model.gaps[q] + dot(self.model.kinks.normal(q), &self.d)
    }

    /// What the step gains. Weights may be so large that rounding must not decide on which side of a kink
    /// that is held the step ends.
    fn gain(&self) -> f64 {
        let bent = product(&self.model.curvature.matrix, &self.d);
        let mut gain = dot(self.model.slope, &self.d) - 0.5 * dot(&bent, &self.d);
        for &q in &self.near {
            let after = if self.passed[q] && !self.is_held(q) { self.gap(q) } else { 0.0 };
            gain -= self.model.kinks.weights[q] * (after - self.model.gaps[q].max(0.0));
        }
        gain
    }

    fn shares(&self) -> Vec<f64> {
        let share = |passed: &bool| if *passed { 1.0 } else { 0.0 };
        let mut shares: Vec<f64> = self.passed.iter().map(share).collect();
        for (held, force) in self.held.iter().zip(&self.forces) {
            if let Held::Kink(q) = held {
                shares[*q] = (force / self.model.kinks.weights[*q]).clamp(0.0, 1.0);
            }
        }
        shares
    }

    /// One step; `false` at the end.
    fn improve(&mut self) -> bool {
        let slope = self.slope();
        let way = self.way(&slope);
        let rise = dot(&way, &slope);
        if rise <= 1e-15 * self.size || !rise.is_finite() {
            return self.let_go();
        }
        self.follow(&way, rise);
        true
    }

    /// Slope of the quadratic.
    fn slope(&self) -> Vec<f64> {
        let mut slope = product(&self.model.curvature.matrix, &self.d);
        slope.iter_mut().zip(self.model.slope).for_each(|(b, g)| *b = g - *b);
        for &q in self.near.iter().filter(|q| self.passed[**q] && !self.is_held(**q)) {
            let weight = self.model.kinks.weights[q];
            let normal = self.model.kinks.normal(q);
            slope.iter_mut().zip(normal).for_each(|(s, n)| *s -= weight * n);
        }
        slope
    }

    /// The way to the maximum of the quadratic along what is held; finds the forces that hold.
    fn way(&mut self, slope: &[f64]) -> Vec<f64> {
        let inverse = &self.model.curvature.inverse;
        let normals: Vec<Vec<f64>> = self.held.iter().map(|held| self.normal(*held)).collect();
        let images: Vec<Vec<f64>> = normals.iter().map(|n| product(inverse, n)).collect();
        let row = |normal: &Vec<f64>| images.iter().map(|image| dot(normal, image)).collect();
        let system: Vec<Vec<f64>> = normals.iter().map(row).collect();
        self.forces = solve(system, images.iter().map(|image| dot(image, slope)).collect());
        let mut rest = slope.to_vec();
        for (force, normal) in self.forces.iter().zip(&normals) {
            rest.iter_mut().zip(normal).for_each(|(r, n)| *r -= force * n);
        }
        let mut way = product(inverse, &rest);
        for held in &self.held {
            if let Held::Lower(i) | Held::Upper(i) = held {
                way[*i] = 0.0;
            }
        }
        way
    }

    fn normal(&self, held: Held) -> Vec<f64> {
        match held {
            Held::Kink(q) => self.model.kinks.normal(q).to_vec(),
            Held::Lower(i) | Held::Upper(i) => {
                let mut unit = vec![0.0; self.d.len()];
                unit[i] = 1.0;
                unit
            }
        }
    }

    /// Lets go of what pulls the wrong way most.
    fn let_go(&mut self) -> bool {
        let mut most = 1e-12 * dot(self.model.slope, self.model.slope).sqrt();
        let mut worst = None;
        for (place, (held, &force)) in self.held.iter().zip(&self.forces).enumerate() {
            let (pull, is_passed) = match *held {
                Held::Lower(_) => (force, false),
                Held::Upper(_) => (-force, false),
                Held::Kink(q) => {
                    let normal = self.model.kinks.normal(q);
                    let excess = force - self.model.kinks.weights[q];
                    (dot(normal, normal).sqrt() * excess.max(-force), excess > 0.0)
                }
            };
            if pull > most {
                (most, worst) = (pull, Some((place, is_passed)));
            }
        }
        let Some((place, is_passed)) = worst else { return false };
        if let Held::Kink(q) = self.held.remove(place) {
            self.passed[q] = is_passed;
        }
        self.forces.remove(place);
        true
    }

    /// Goes along the way as long as it leads up.
    fn follow(&mut self, way: &[f64], rise: f64) {
        let (mut lost, mut end) = (0.0, None);
        for Mark { at, held, bend } in self.marks(way) {
            let left = (1.0 - at) * rise - lost;
            if left <= 0.0 {
                break;
            }
            match held {
                Held::Kink(q) if left > bend => {
                    self.passed[q] = !self.passed[q];
                    lost += bend;
                }
                held => {
                    end = Some((at, held));
                    break;
                }
            }
        }
        let until = end.map_or((1.0 - lost / rise).max(0.0), |(at, _)| at);
        self.d.iter_mut().zip(way).for_each(|(d, w)| *d += until * w);
        if let Some((_, held)) = end {
            match held {
                Held::Lower(i) => self.d[i] = self.model.lower[i],
                Held::Upper(i) => self.d[i] = self.model.upper[i],
                Held::Kink(_) => {}
            }
            self.held.push(held);
        }
    }

    /// The kinks and sides on the way, in order.
    fn marks(&self, way: &[f64]) -> Vec<Mark> {
        let mut marks = vec![];
        for &q in self.near.iter().filter(|q| !self.is_held(**q)) {
            let rate = dot(self.model.kinks.normal(q), way);
            let gap = self.gap(q);
            if (if self.passed[q] { rate < 0.0 } else { rate > 0.0 }) && -gap / rate < 1.0 {
                let bend = self.model.kinks.weights[q] * rate.abs();
                marks.push(Mark { at: (-gap / rate).max(0.0), held: Held::Kink(q), bend });
            }
        }
        for (i, &w) in way.iter().enumerate() {
            let (room, held) = match w > 0.0 {
                true => (self.model.upper[i] - self.d[i], Held::Upper(i)),
                false => (self.model.lower[i] - self.d[i], Held::Lower(i)),
            };
            if w != 0.0 && room / w < 1.0 {
                marks.push(Mark { at: (room / w).max(0.0), held, bend: 0.0 });
            }
        }
        marks.sort_by(|a, b| a.at.total_cmp(&b.at));
        marks
    }
}

/// Solves a small symmetric system; equations that follow from earlier ones are left out.
fn solve(mut a: Vec<Vec<f64>>, mut b: Vec<f64>) -> Vec<f64> {
    let n = b.len();
    let least: Vec<f64> = (0..n).map(|i| 1e-13 * a[i][i]).collect();
    let counts = |a: &[Vec<f64>], k: usize| a[k][k] > least[k];
    for k in 0..n {
        if !counts(&a, k) {
            continue;
        }
        for i in k + 1..n {
            let factor = a[i][k] / a[k][k];
            for j in k + 1..n {
                a[i][j] -= factor * a[k][j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| a[k][j] * b[j]).sum();
        b[k] = if counts(&a, k) { (b[k] - rest) / a[k][k] } else { 0.0 };
    }
    b
}
