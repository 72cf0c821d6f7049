//! NSGA-II: a genetic algorithm for several objectives on the unit cube, all maximised.
//!
//! Here are the settings and the loop. Who survives is in `survival`, how parents become
//! offspring in `variation`.

mod survival;
mod variation;

use crate::error::check_shape;
use crate::pareto::{OBJECTIVES, non_dominated};
use crate::random::Rng;
use crate::{Error, Points, Result};
use survival::{Ranked, first_of_copies, survivors};
use variation::{cross, mutate, step};

/// Settings of NSGA-II (Deb, Pratap, Agarwal & Meyarivan 2002) with simulated binary crossover
/// and polynomial mutation, the latter of one coordinate per design on average.
///
/// ```
/// use unyoke_math::{Points, nsga2::Nsga2};
///
/// // Schaffer's problem: −x² against −(x − 2)², here for x from −1 to 3.
/// let objective = |designs: &Points| {
///     let mut values = Points::new(2);
///     for design in designs.rows() {
///         let x = 4.0 * design[0] - 1.0;
///         values.push(&[-x * x, -(x - 2.0) * (x - 2.0)]).unwrap();
///     }
///     values
/// };
/// let front = Nsga2::default().run(1, &Points::new(1), 7, objective)?.front()?;
/// assert!(front.designs.rows().all(|design| (0.24..=0.76).contains(&design[0])));
/// # Ok::<(), unyoke_math::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Nsga2 {
    /// Designs that survive each generation.
    pub population: usize,
    /// How often offspring are made and the survivors chosen.
    pub generations: usize,
    /// New designs per generation, all evaluated in one batch.
    pub offspring: usize,
    /// Chance that two parents are crossed rather than copied.
    pub crossover_probability: f64,
    /// Distribution index of the crossover: the larger, the nearer offspring stay to parents.
    pub crossover_index: f64,
    /// Distribution index of the mutation: the larger, the smaller the steps.
    pub mutation_index: f64,
    /// The share of offspring that arise beside their one parent, by steps between members near it,
    /// before all others are crossed and mutated. On a front of two objectives where these are smooth, this
    /// fills in what lies between members in far fewer generations.
    pub nearby: f64,
}

impl Default for Nsga2 {
    fn default() -> Self {
        Self {
            population: 100,
            generations: 100,
            offspring: 100,
            crossover_probability: 0.9,
            crossover_index: 15.0,
            mutation_index: 20.0,
            nearby: 0.0,
        }
    }
}

/// Designs in the unit cube and their objective values, row by row.
#[derive(Debug, Clone, PartialEq)]
pub struct Population {
    /// One design per row.
    pub designs: Points,
    /// The objective values of each design.
    pub objectives: Points,
}

impl Population {
    /// The non-dominated members, of equal designs only the first.
    pub fn front(&self) -> Result<Self> {
        check_shape("objective vectors", self.designs.len(), self.objectives.len())?;
        self.designs.check_finite("designs")?;
        let best = self.select(&non_dominated(&self.objectives)?);
        Ok(best.select(&first_of_copies(&best.designs)))
    }

    /// The members named by `indices`, in that order.
    fn select(&self, indices: &[usize]) -> Self {
        Self { designs: self.designs.select(indices), objectives: self.objectives.select(indices) }
    }

    /// Appends the members of `other`.
    fn append(&mut self, other: &Self) -> Result<()> {
        other.designs.rows().try_for_each(|row| self.designs.push(row))?;
        other.objectives.rows().try_for_each(|row| self.objectives.push(row))
    }
}

impl Nsga2 {
    /// The final population of a run on [0, 1]^`dim`.
    ///
    /// It starts from `seeds`, moved into the cube where they lie outside, and uniform random
    /// designs up to the population size; surplus seeds compete for their place. `objective` gets
    /// the first designs in one batch and then one batch per generation, and returns one row of
    /// finite values per design. Equal arguments give equal populations, bit for bit.
    pub fn run(
        &self,
        dim: usize,
        seeds: &Points,
        seed: u64,
        mut objective: impl FnMut(&Points) -> Points,
    ) -> Result<Population> {
        self.check(dim, seeds)?;
        if self.population == 0 {
            return Ok(Population { designs: Points::new(dim), objectives: Points::new(0) });
        }
        let mut rng = Rng::new(seed, 0);
        let first = evaluated(self.first_designs(seeds, &mut rng)?, &mut objective)?;
        let mut parents = survivors(&first, self.population);
        let generations = if self.offspring == 0 { 0 } else { self.generations };
        for _ in 0..generations {
            let mut pool = parents.population.clone();
            pool.append(&evaluated(self.breed(&parents, &mut rng)?, &mut objective)?)?;
            parents = survivors(&pool, self.population);
        }
        Ok(parents.population)
    }

    /// Fails on settings outside their domain and on seeds that are no designs.
    fn check(&self, dim: usize, seeds: &Points) -> Result<()> {
        let chance = self.crossover_probability;
        if !(0.0..=1.0).contains(&chance) {
            let what = "crossover probability";
            return Err(Error::OutOfRange { what, value: chance, must: "from 0 to 1" });
        }
        if !(0.0..=1.0).contains(&self.nearby) {
            let what = "share of offspring beside their parents";
            return Err(Error::OutOfRange { what, value: self.nearby, must: "from 0 to 1" });
        }
        check_index("crossover index", self.crossover_index)?;
        check_index("mutation index", self.mutation_index)?;
        check_shape("coordinates of the seeds", dim, seeds.dim())?;
        seeds.check_finite("seeds")
    }

    /// The seeds, moved into the cube, and random designs up to the population size.
    fn first_designs(&self, seeds: &Points, rng: &mut Rng) -> Result<Points> {
        let mut designs = seeds.clone();
        designs.as_flat_mut().iter_mut().for_each(|x| *x = x.clamp(0.0, 1.0));
        let mut design = vec![0.0; seeds.dim()];
        while designs.len() < self.population {
            design.fill_with(|| rng.uniform());
            designs.push(&design)?;
        }
        Ok(designs)
    }

    /// Offspring of parents that won a tournament each.
    fn breed(&self, parents: &Ranked, rng: &mut Rng) -> Result<Points> {
        let designs = &parents.population.designs;
        let mut offspring = Points::new(designs.dim());
        let nearby = (self.nearby * self.offspring as f64) as usize;
        for _ in 0..nearby {
            offspring.push(&self.beside(parents, rng))?;
        }
        let mut pair = [vec![0.0; designs.dim()], vec![0.0; designs.dim()]];
        while offspring.len() < self.offspring {
            for child in &mut pair {
                child.copy_from_slice(designs.row(parents.tournament(rng)));
            }
            self.vary(&mut pair, rng);
            for child in pair.iter().take(self.offspring - offspring.len()) {
                offspring.push(child)?;
            }
        }
        Ok(offspring)
    }

    /// A design beside a parent that won a tournament, moved by the step between two members near it.
    fn beside(&self, parents: &Ranked, rng: &mut Rng) -> Vec<f64> {
        let designs = &parents.population.designs;
        let place = parents.tournament(rng);
        let from = parents.near(place, rng);
        let to = if rng.uniform() < 0.5 { place } else { parents.near(place, rng) };
        let mut child = designs.row(place).to_vec();
        step(&mut child, designs.row(from), designs.row(to), rng);
        child
    }

    /// Crosses and mutates a pair of designs in place.
    fn vary(&self, pair: &mut [Vec<f64>; 2], rng: &mut Rng) {
        if rng.uniform() < self.crossover_probability {
            let [a, b] = pair;
            cross(a, b, self.crossover_index, rng);
        }
        for child in pair {
            mutate(child, self.mutation_index, rng);
        }
    }
}

/// Fails unless a distribution index is a finite number from 0 up.
fn check_index(what: &'static str, value: f64) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(Error::OutOfRange { what, value, must: "finite and not negative" })
    }
}

/// The designs with their objective values, if these are as they must be.
fn evaluated(designs: Points, objective: &mut impl FnMut(&Points) -> Points) -> Result<Population> {
    let objectives = objective(&designs);
    check_shape("objective vectors returned", designs.len(), objectives.len())?;
    objectives.check_finite(OBJECTIVES)?;
    Ok(Population { designs, objectives })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pareto::hypervolume;

    fn by_row(dim: usize, value: impl Fn(&[f64]) -> Vec<f64>) -> impl Fn(&Points) -> Points {
        move |designs| Points::from_rows(dim, designs.rows().map(&value)).unwrap()
    }

    fn run(dim: usize, settings: &Nsga2, objective: impl Fn(&Points) -> Points) -> Population {
        settings.run(dim, &Points::new(dim), 1, objective).unwrap()
    }

    /// Highest value of objective `m`.
    fn highest(population: &Population, m: usize) -> f64 {
        population.objectives.rows().map(|row| row[m]).fold(f64::MIN, f64::max)
    }

    /// Negated ZDT problem whose front is f₂ = 1 − f₁^`power`.
    fn zdt(power: f64) -> impl Fn(&Points) -> Points {
        by_row(2, move |x| {
            let g = 1.0 + 9.0 * x[1..].iter().sum::<f64>() / (x.len() - 1) as f64;
            vec![-x[0], -g * (1.0 - (x[0] / g).powf(power))]
        })
    }

    #[test]
    fn schaffers_front_is_found_to_one_percent() {
        let objective = by_row(2, |x| {
            let x = 10.0 * x[0] - 5.0;
            vec![-x * x, -(x - 2.0) * (x - 2.0)]
        });
        let front = run(1, &Nsga2::default(), objective).front().unwrap();
        let found = hypervolume(&front.objectives, &[-5.0, -5.0]).unwrap();
        // ∫₀⁴ 5 − (2 − √t)² dt + 5.
        assert!((found / (67.0 / 3.0) - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn a_convex_front_in_ten_dimensions_is_found_to_one_percent() {
        let settings = Nsga2 { generations: 250, ..Nsga2::default() };
        let front = run(10, &settings, zdt(0.5)).front().unwrap();
        let found = hypervolume(&front.objectives, &[-1.1, -1.1]).unwrap();
        // ∫₀¹ 0.1 + √t dt + 0.11.
        assert!((found / (0.21 + 2.0 / 3.0) - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn a_concave_front_is_covered_from_end_to_end() {
        let settings = Nsga2 { generations: 250, ..Nsga2::default() };
        let front = run(10, &settings, zdt(2.0)).front().unwrap();
        let found = hypervolume(&front.objectives, &[-1.1, -1.1]).unwrap();
        assert!((found / (0.21 + 1.0 / 3.0) - 1.0).abs() < 0.02, "{found}");
        assert!(highest(&front, 0) > -0.01 && highest(&front, 1) > -0.05);
    }

    #[test]
    fn the_front_of_fonseca_and_fleming_is_covered_from_end_to_end() {
        let objective = by_row(2, |x| {
            let far = |shift: f64| {
                let term = |x: &f64| (8.0 * x - 4.0 + shift / 3_f64.sqrt()).powi(2);
                (-x.iter().map(term).sum::<f64>()).exp() - 1.0
            };
            vec![far(-1.0), far(1.0)]
        });
        let front = run(3, &Nsga2::default(), objective).front().unwrap();
        assert!(highest(&front, 0) > -0.02 && highest(&front, 1) > -0.02);
        assert!(front.designs.len() > 50);
    }

    #[test]
    fn a_steady_state_of_few_offspring_converges_too() {
        let settings = Nsga2 { generations: 1500, offspring: 10, ..Nsga2::default() };
        let front = run(5, &settings, zdt(0.5)).front().unwrap();
        let found = hypervolume(&front.objectives, &[-1.1, -1.1]).unwrap();
        assert!((found / (0.21 + 2.0 / 3.0) - 1.0).abs() < 0.01, "{found}");
    }

    #[test]
    fn offspring_beside_their_parents_fill_a_smooth_front_in_few_generations() {
        // Fonseca and Fleming's problem in two inputs, and one whose front has a dent and a gap.
        let bell = |x: &[f64], at: [f64; 2]| {
            (-8.0 * ((x[0] - at[0]).powi(2) + (x[1] - at[1]).powi(2))).exp()
        };
        let convex = by_row(2, move |x| vec![bell(x, [0.2, 0.3]), bell(x, [0.8, 0.7])]);
        let dented = by_row(2, move |x| {
            let dent = 0.3 * (9.0 * x[0]).sin();
            vec![bell(x, [0.2, 0.3]) + dent, bell(x, [0.8, 0.7]) - dent]
        });
        let volume = |settings: Nsga2, objective: &dyn Fn(&Points) -> Points| {
            let front = run(2, &settings, objective).front().unwrap();
            hypervolume(&front.objectives, &[-1.0, -1.0]).unwrap()
        };
        for objective in [&convex as &dyn Fn(&Points) -> Points, &dented] {
            let size = Nsga2 { population: 300, offspring: 300, ..Nsga2::default() };
            let long = volume(Nsga2 { generations: 300, ..size.clone() }, objective);
            let short = |nearby| {
                long - volume(Nsga2 { generations: 15, nearby, ..size.clone() }, objective)
            };
            assert!(short(0.7) < 0.8 * short(0.0), "{} {}", short(0.7), short(0.0));
            assert!(short(0.7) < 1e-3 * long);
        }
    }

    #[test]
    fn one_objective_is_maximised() {
        let objective = by_row(1, |x| vec![-(x[0] - 0.3).powi(2) - (x[1] - 0.8).powi(2)]);
        let best = run(2, &Nsga2::default(), objective);
        assert!(highest(&best, 0) > -1e-6);
    }

    #[test]
    fn three_objectives_reach_the_sphere() {
        let objective = by_row(3, |x| {
            let [(s, c), (t, d)] = [x[0], x[1]].map(|x| (1.5 * x).sin_cos());
            let size = 1.0 - x[2..].iter().map(|x| (x - 0.5).powi(2)).sum::<f64>();
            vec![size * c * d, size * c * t, size * s]
        });
        let front = run(10, &Nsga2 { generations: 200, ..Nsga2::default() }, objective);
        let front = front.front().unwrap();
        assert!(front.designs.len() > 80);
        let radius = |row: &[f64]| row.iter().map(|y| y * y).sum::<f64>().sqrt();
        assert!(front.objectives.rows().all(|row| radius(row) > 0.9));
    }

    #[test]
    fn the_same_seed_gives_the_same_bits_and_another_seed_others() {
        let run = |seed| Nsga2::default().run(3, &Points::new(3), seed, zdt(0.5)).unwrap();
        assert_eq!(run(5), run(5));
        assert_ne!(run(5), run(6));
    }

    #[test]
    fn non_dominated_seeds_are_kept_and_all_designs_stay_in_the_cube() {
        // The first seed is the best in both objectives once moved into the cube.
        let seeds = Points::from_rows(2, [[-3.0, 0.25], [0.5, 7.0]]).unwrap();
        let objective = by_row(2, |x| vec![-x[0] - (x[1] - 0.25).abs(), -x[0] * x[1]]);
        let settings = Nsga2 { population: 7, ..Nsga2::default() };
        let last = settings.run(2, &seeds, 3, &objective).unwrap();
        assert!(last.designs.rows().any(|row| row == [0.0, 0.25]));
        assert!(last.designs.as_flat().iter().all(|x| (0.0..=1.0).contains(x)));
    }

    #[test]
    fn surplus_seeds_compete_for_their_place() {
        let seeds = Points::from_rows(1, [[0.1], [0.9], [0.5]]).unwrap();
        let settings = Nsga2 { population: 1, generations: 0, ..Nsga2::default() };
        let last = settings.run(1, &seeds, 0, by_row(1, |x| vec![x[0]])).unwrap();
        assert_eq!(last.designs.as_flat(), [0.9]);
    }

    #[test]
    fn any_sizes_work() {
        for population in [0, 1, 2, 3, 7] {
            for offspring in [0, 1, 2, 5] {
                for dim in [0, 1, 2] {
                    for objectives in [0, 1, 2, 3, 4] {
                        let nearby = [0.0, 0.7][objectives % 2];
                        let plain = Nsga2 { population, offspring, ..Nsga2::default() };
                        let settings = Nsga2 { generations: 4, nearby, ..plain };
                        let constant = by_row(objectives, |_| vec![1.0; objectives]);
                        let last = run(dim, &settings, constant);
                        assert_eq!(last.designs.len(), population);
                        assert_eq!(last.objectives.len(), population);
                        let front = last.front().unwrap();
                        assert_eq!(front.designs.is_empty(), population == 0);
                    }
                }
            }
        }
    }

    #[test]
    fn objectives_that_agree_have_a_front_of_one_best_value() {
        let objective = by_row(2, |x| vec![x[0].min(0.5), x[0].min(0.5)]);
        let last = run(2, &Nsga2::default(), objective);
        assert_eq!(highest(&last, 0), 0.5);
        let front = last.front().unwrap();
        assert!(front.objectives.rows().all(|row| row == [0.5, 0.5]));
        let first = first_of_copies(&front.designs);
        assert_eq!(first.len(), front.designs.len());
    }

    #[test]
    fn the_objective_sees_one_batch_per_generation() {
        let mut batches = Vec::new();
        let settings = Nsga2 { population: 6, offspring: 3, generations: 4, ..Nsga2::default() };
        let objective = |designs: &Points| {
            batches.push(designs.len());
            Points::zeros(1, designs.len())
        };
        settings.run(2, &Points::new(2), 0, objective).unwrap();
        assert_eq!(batches, [6, 3, 3, 3, 3]);
    }

    #[test]
    fn objective_values_of_the_wrong_shape_or_not_finite_are_refused() {
        let run = |objective: &dyn Fn(&Points) -> Points| {
            Nsga2::default().run(2, &Points::new(2), 0, objective).unwrap_err()
        };
        let short = |designs: &Points| Points::zeros(2, designs.len() - 1);
        assert!(matches!(run(&short), Error::Shape { .. }));
        let nan = |designs: &Points| {
            Points::from_rows(1, designs.rows().map(|x| [(x[0] - 0.5).ln()])).unwrap()
        };
        assert!(matches!(run(&nan), Error::NotFinite { .. }));
        let calls = std::cell::Cell::new(1);
        let growing = |designs: &Points| {
            calls.set(calls.get() + 1);
            Points::zeros(calls.get(), designs.len())
        };
        assert!(matches!(run(&growing), Error::Shape { .. }));
    }

    #[test]
    fn settings_and_seeds_out_of_their_domain_are_refused() {
        let refused = |settings: Nsga2, seeds: Points| {
            settings.run(2, &seeds, 0, |x| Points::zeros(1, x.len())).is_err()
        };
        let default = Nsga2::default;
        assert!(refused(Nsga2 { crossover_probability: 1.5, ..default() }, Points::new(2)));
        assert!(refused(Nsga2 { nearby: -0.1, ..default() }, Points::new(2)));
        assert!(refused(Nsga2 { crossover_index: -1.0, ..default() }, Points::new(2)));
        assert!(refused(Nsga2 { mutation_index: f64::NAN, ..default() }, Points::new(2)));
        assert!(refused(default(), Points::new(3)));
        assert!(refused(default(), Points::from_rows(2, [[0.0, f64::NAN]]).unwrap()));
    }
}
