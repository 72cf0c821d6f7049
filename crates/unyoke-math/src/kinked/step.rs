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
#[derive(Debug)]
struct Mark {
    /// How far along the way.
    at: f64,
    held: Held,
    /// By how much the way rises less behind it.
    bend: f64,
}

/// Memory for steps, to be used again: a step takes less time than asking the system for all of this.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    near: Vec<usize>,
    passed: Vec<bool>,
    held: Vec<Held>,
    forces: Vec<f64>,
    slope: Vec<f64>,
    rest: Vec<f64>,
    way: Vec<f64>,
    bent: Vec<f64>,
    normals: Vec<f64>,
    images: Vec<f64>,
    system: Vec<f64>,
    least: Vec<f64>,
    marks: Vec<Mark>,
}

pub(super) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

pub(super) fn product(matrix: &[f64], v: &[f64]) -> Vec<f64> {
    let mut image = vec![];
    multiply(matrix, v, &mut image);
    image
}

/// `image ← matrix · v`
fn multiply(matrix: &[f64], v: &[f64], image: &mut Vec<f64>) {
    image.clear();
    image.extend(rows(matrix, v.len()).map(|row| dot(row, v)));
}

fn rows(matrix: &[f64], length: usize) -> std::slice::ChunksExact<'_, f64> {
    matrix.chunks_exact(length.max(1))
}

impl Model<'_> {
    pub(super) fn best_step(&self, buffers: &mut Buffers) -> Step {
        let mut search = Search::new(self, buffers);
        // Each of a few rounds over all that can be held.
        let most = 20 + 4 * (self.slope.len() + search.buffers.near.len());
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

/// A step under way. In the buffers: the kinks that can be reached, which of them are passed, what is held
/// and by which forces.
struct Search<'m, 'a> {
    model: &'m Model<'a>,
    d: Vec<f64>,
    buffers: &'m mut Buffers,
    /// What a step rises by along the steepest way, for comparison.
    size: f64,
}

impl<'m, 'a> Search<'m, 'a> {
    fn new(model: &'m Model<'a>, buffers: &'m mut Buffers) -> Self {
        buffers.near.clear();
        buffers.near.extend((0..model.gaps.len()).filter(|q| model.is_near(*q)));
        buffers.passed.clear();
        buffers.passed.extend(model.gaps.iter().map(|gap| *gap > 0.0));
        buffers.held.clear();
        buffers.forces.clear();
        multiply(&model.curvature.inverse, model.slope, &mut buffers.bent);
        let size = dot(&buffers.bent, model.slope);
        Self { model, d: vec![0.0; model.slope.len()], buffers, size }
    }

    fn is_held(&self, q: usize) -> bool {
        self.buffers.held.contains(&Held::Kink(q))
    }

    fn gap(&self, q: usize) -> f64 {
        self.model.gaps[q] + dot(self.model.kinks.normal(q), &self.d)
    }

    /// What the step gains. Weights may be so large that rounding must not decide on which side of a kink
    /// that is held the step ends.
    fn gain(&mut self) -> f64 {
        multiply(&self.model.curvature.matrix, &self.d, &mut self.buffers.bent);
        let mut gain = dot(self.model.slope, &self.d) - 0.5 * dot(&self.buffers.bent, &self.d);
        for &q in &self.buffers.near {
            let is_beyond = self.buffers.passed[q] && !self.is_held(q);
            let after = if is_beyond { self.gap(q) } else { 0.0 };
            gain -= self.model.kinks.weights[q] * (after - self.model.gaps[q].max(0.0));
        }
        gain
    }

    fn shares(&self) -> Vec<f64> {
        let share = |passed: &bool| if *passed { 1.0 } else { 0.0 };
        let mut shares: Vec<f64> = self.buffers.passed.iter().map(share).collect();
        for (held, force) in self.buffers.held.iter().zip(&self.buffers.forces) {
            if let Held::Kink(q) = held {
                shares[*q] = (force / self.model.kinks.weights[*q]).clamp(0.0, 1.0);
            }
        }
        shares
    }

    /// One step; `false` at the end.
    fn improve(&mut self) -> bool {
        self.find_slope();
        self.find_way();
        let rise = dot(&self.buffers.way, &self.buffers.slope);
        if rise <= 1e-15 * self.size || !rise.is_finite() {
            return self.let_go();
        }
        self.follow(rise);
        true
    }

    /// Slope of the quadratic.
    fn find_slope(&mut self) {
        let Buffers { near, passed, held, slope, .. } = &mut *self.buffers;
        multiply(&self.model.curvature.matrix, &self.d, slope);
        slope.iter_mut().zip(self.model.slope).for_each(|(b, g)| *b = g - *b);
        let is_held = |q: usize| held.contains(&Held::Kink(q));
        for &q in near.iter().filter(|q| passed[**q] && !is_held(**q)) {
            let weight = self.model.kinks.weights[q];
            let normal = self.model.kinks.normal(q);
            slope.iter_mut().zip(normal).for_each(|(s, n)| *s -= weight * n);
        }
    }

    /// The way to the maximum of the quadratic along what is held; finds the forces that hold.
    fn find_way(&mut self) {
        let (inverse, dim) = (&self.model.curvature.inverse, self.d.len());
        let Buffers { held, forces, slope, rest, way, normals, images, system, least, .. } =
            &mut *self.buffers;
        normals.clear();
        images.clear();
        for &held in held.iter() {
            let start = normals.len();
            match held {
                Held::Kink(q) => normals.extend_from_slice(self.model.kinks.normal(q)),
                Held::Lower(i) | Held::Upper(i) => {
                    normals.resize(start + dim, 0.0);
                    normals[start + i] = 1.0;
                }
            }
            images.extend(rows(inverse, dim).map(|row| dot(row, &normals[start..])));
        }
        system.clear();
        for normal in rows(normals, dim) {
            system.extend(rows(images, dim).map(|image| dot(normal, image)));
        }
        forces.clear();
        forces.extend(rows(images, dim).map(|image| dot(image, slope)));
        solve(system, forces, least);
        rest.clone_from(slope);
        for (force, normal) in forces.iter().zip(rows(normals, dim)) {
            rest.iter_mut().zip(normal).for_each(|(r, n)| *r -= force * n);
        }
        multiply(inverse, rest, way);
        for held in held.iter() {
            if let Held::Lower(i) | Held::Upper(i) = held {
                way[*i] = 0.0;
            }
        }
    }

    /// Lets go of what pulls the wrong way most.
    fn let_go(&mut self) -> bool {
        let mut most = 1e-12 * dot(self.model.slope, self.model.slope).sqrt();
        let mut worst = None;
        let Buffers { held, forces, passed, .. } = &mut *self.buffers;
        for (place, (held, &force)) in held.iter().zip(&*forces).enumerate() {
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
        if let Held::Kink(q) = held.remove(place) {
            passed[q] = is_passed;
        }
        forces.remove(place);
        true
    }

    /// Goes along the way as long as it leads up.
    fn follow(&mut self, rise: f64) {
        self.find_marks();
        let Buffers { passed, held: all_held, way, marks, .. } = &mut *self.buffers;
        let (mut lost, mut end) = (0.0, None);
        for &Mark { at, held, bend } in marks.iter() {
            let left = (1.0 - at) * rise - lost;
            if left <= 0.0 {
                break;
            }
            match held {
                Held::Kink(q) if left > bend => {
                    passed[q] = !passed[q];
                    lost += bend;
                }
                held => {
                    end = Some((at, held));
                    break;
                }
            }
        }
        let until = end.map_or((1.0 - lost / rise).max(0.0), |(at, _)| at);
        self.d.iter_mut().zip(&*way).for_each(|(d, w)| *d += until * w);
        if let Some((_, held)) = end {
            match held {
                Held::Lower(i) => self.d[i] = self.model.lower[i],
                Held::Upper(i) => self.d[i] = self.model.upper[i],
                Held::Kink(_) => {}
            }
            all_held.push(held);
        }
    }

    /// The kinks and sides on the way, in order.
    fn find_marks(&mut self) {
        let mut marks = std::mem::take(&mut self.buffers.marks);
        marks.clear();
        let way = &self.buffers.way;
        for &q in self.buffers.near.iter().filter(|q| !self.is_held(**q)) {
            let rate = dot(self.model.kinks.normal(q), way);
            let gap = self.gap(q);
            let is_ahead = if self.buffers.passed[q] { rate < 0.0 } else { rate > 0.0 };
            if is_ahead && -gap / rate < 1.0 {
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
        self.buffers.marks = marks;
    }
}

/// Solves a small symmetric system, row by row, in the place of its right-hand side; equations that follow
/// from earlier ones are left out.
fn solve(a: &mut [f64], b: &mut [f64], least: &mut Vec<f64>) {
    let n = b.len();
    least.clear();
    least.extend((0..n).map(|i| 1e-13 * a[i * n + i]));
    let counts = |a: &[f64], k: usize| a[k * n + k] > least[k];
    for k in 0..n {
        if !counts(a, k) {
            continue;
        }
        for i in k + 1..n {
            let factor = a[i * n + k] / a[k * n + k];
            for j in k + 1..n {
                a[i * n + j] -= factor * a[k * n + j];
            }
            b[i] -= factor * b[k];
        }
    }
    for k in (0..n).rev() {
        let rest: f64 = (k + 1..n).map(|j| a[k * n + j] * b[j]).sum();
        b[k] = if counts(a, k) { (b[k] - rest) / a[k * n + k] } else { 0.0 };
    }
}
