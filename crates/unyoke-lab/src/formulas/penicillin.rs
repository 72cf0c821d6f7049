//! Penicillin: a fermentation simulated hour by hour, for much penicillin, little carbon dioxide
//! and an early end.
//!
//! Source: Liang and Lai (2021), a simplification of the model of Birol, Ündey and Çinar (2002),
//! whose symbols stand beside the constants.

use super::{Formula, Output, inputs, of_arrays};

/// Biomass, and penicillin, per glucose: Y_xs and Y_ps.
const BIOMASS_YIELD: f64 = 0.45;
const PENICILLIN_YIELD: f64 = 0.90;
/// Glucose that biomass needs to live, m_x.
const MAINTENANCE: f64 = 0.014;
/// Acid constants of growth, K₁ and K₂, in mol/L.
const ACID: [f64; 2] = [1e-10, 7e-5];
/// Carbon dioxide by growth, by biomass and by itself: α₁, α₂, α₃.
const CARBON_DIOXIDE: [f64; 3] = [0.143, 4e-7, 1e-4];
/// The fastest growth μ_x and its half saturation K_x.
const GROWTH: f64 = 0.092;
const GROWTH_SATURATION: f64 = 0.15;
/// The fastest production μ_p, its saturation K_p and its inhibition K_I.
const PRODUCTION: f64 = 0.005;
const PRODUCTION_SATURATION: f64 = 0.0002;
const PRODUCTION_INHIBITION: f64 = 0.10;
/// Penicillin that decays in an hour, K.
const DECAY: f64 = 0.04;
/// Rate and activation energy of growth, k_g and E_g, and of cell death, k_d and E_d, in cal/mol.
const LIFE: [f64; 2] = [7e3, 5100.0];
const DEATH: [f64; 2] = [1e33, 50_000.0];
/// The gas constant R in cal/(mol K).
const GAS: f64 = 1.9872;
/// Evaporation λ, and the temperatures T₀ and T_v between which it changes, in K.
///
/// Liang and Lai have the two temperatures the other way round than Birol et al., so that cold
/// broth evaporates faster. The problem is known in their form, which is kept.
const EVAPORATION: f64 = 2.5e-4;
const EVAPORATION_ORIGIN: f64 = 373.0;
const EVAPORATION_SCALE: f64 = 273.0;
/// The vessel overflows above this volume, V_max in L.
const VESSEL: f64 = 180.0;
/// A batch is ended after this many hours at the latest.
const MOST_HOURS: u32 = 2500;
/// A batch is also ended when an hour brings less penicillin than this, in g/L.
const LEAST_GAIN: f64 = 1e-11;

/// The problem with volumes in L, concentrations in g/L, the temperature in K and hours.
pub(super) fn formula() -> Formula {
    Formula {
        name: "penicillin",
        source: "Liang, Lai, NeurIPS 2021 AI for Science workshop; reference: BoTorch",
        inputs: inputs([
            ("volume", 60.0, 120.0),
            ("biomass", 0.05, 18.0),
            ("temperature", 293.0, 303.0),
            ("glucose", 0.05, 18.0),
            ("feed_rate", 0.01, 0.5),
            ("feed_glucose", 500.0, 700.0),
            ("ph", 5.0, 6.5),
        ]),
        outputs: outputs(),
        reference: Some(vec![25.935, 57.612, 935.5]),
        evaluate: of_arrays(ferment),
    }
}

/// Assays of penicillin are expensive. The noise of each output is 1 % of its range over the designs.
fn outputs() -> Vec<Output> {
    [("negative_yield", 10.0, 0.14), ("carbon_dioxide", 1.0, 0.8), ("time", 1.0, 3.6)]
        .map(|(name, cost, noise)| Output { noise, ..Output::minimised(name, cost) })
        .into()
}

/// Negative penicillin, carbon dioxide and hours at the end of a batch.
fn ferment(
    [volume, biomass, temperature, glucose, feed_rate, feed_glucose, ph]: [f64; 7],
) -> [f64; 3] {
    let conditions = Conditions {
        feed_rate,
        feed_glucose,
        evaporation: evaporation(temperature),
        acidity: acidity(ph),
        warmth: warmth(temperature),
    };
    let mut broth = Broth { volume, biomass, glucose, penicillin: 0.0, carbon_dioxide: 0.0 };
    let mut hours = 0;
    while hours < MOST_HOURS {
        let change = conditions.change(&broth);
        broth.add(&change);
        hours += 1;
        if broth.volume > VESSEL || broth.glucose < 0.0 || change.penicillin < LEAST_GAIN {
            break;
        }
    }
    [-broth.penicillin, broth.carbon_dioxide, f64::from(hours)]
}

/// What part of the volume evaporates in an hour, over λ: exp(5 (T − T₀)/(T_v − T₀)) − 1.
fn evaporation(temperature: f64) -> f64 {
    let scaled = (temperature - EVAPORATION_ORIGIN) / (EVAPORATION_SCALE - EVAPORATION_ORIGIN);
    (5.0 * scaled).exp_m1()
}

/// Growth at this pH with plenty of glucose, μ_x / (1 + K₁/H + H/K₂) with H = 10^(−pH).
fn acidity(ph: f64) -> f64 {
    let h = 10_f64.powf(-ph);
    GROWTH / (1.0 + ACID[0] / h + h / ACID[1])
}

/// The factor of temperature in growth, k_g exp(−E_g/RT) − k_d exp(−E_d/RT).
fn warmth(temperature: f64) -> f64 {
    let arrhenius = |[rate, energy]: [f64; 2]| rate * (-energy / (GAS * temperature)).exp();
    arrhenius(LIFE) - arrhenius(DEATH)
}

/// What is in the vessel, or how it changes in an hour.
struct Broth {
    volume: f64,
    biomass: f64,
    glucose: f64,
    penicillin: f64,
    carbon_dioxide: f64,
}

impl Broth {
    fn add(&mut self, change: &Self) {
        self.volume += change.volume;
        self.biomass += change.biomass;
        self.glucose += change.glucose;
        self.penicillin += change.penicillin;
        self.carbon_dioxide += change.carbon_dioxide;
    }
}

/// What stays the same during a batch.
struct Conditions {
    feed_rate: f64,
    feed_glucose: f64,
    evaporation: f64,
    acidity: f64,
    warmth: f64,
}

impl Conditions {
    /// One step of Euler's method, of one hour.
    fn change(&self, broth: &Broth) -> Broth {
        let &Broth { volume, biomass, glucose, penicillin, .. } = broth;
        let [growth_limit, production_limit] = glucose_limits(glucose, biomass);
        let growth = self.acidity * growth_limit * self.warmth;
        let production = PRODUCTION * production_limit;

        let volume_change = self.feed_rate - volume * EVAPORATION * self.evaporation;
        let diluted = |concentration: f64| concentration / volume * volume_change;
        let biomass_change = growth * biomass - diluted(biomass);
        let eaten =
            (growth / BIOMASS_YIELD + production / PENICILLIN_YIELD + MAINTENANCE) * biomass;
        let fed = self.feed_rate * self.feed_glucose / volume;
        let [by_growth, by_biomass, by_itself] = CARBON_DIOXIDE;
        Broth {
            volume: volume_change,
            biomass: biomass_change,
            glucose: fed - eaten - diluted(glucose),
            penicillin: production * biomass - DECAY * penicillin - diluted(penicillin),
            carbon_dioxide: by_growth * biomass_change + by_biomass * biomass + by_itself,
        }
    }
}

/// What part of the fastest growth and of the fastest production the glucose S allows for:
/// S/(K_x X + S) and S/(K_p + S + S²/K_I), X being the biomass.
fn glucose_limits(glucose: f64, biomass: f64) -> [f64; 2] {
    let inhibition = glucose * glucose / PRODUCTION_INHIBITION;
    [
        glucose / (GROWTH_SATURATION * biomass + glucose),
        glucose / (PRODUCTION_SATURATION + glucose + inhibition),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_values;
    use super::*;

    // Computed with BoTorch 0.18.1.
    #[test]
    fn values_agree_with_another_implementation() {
        assert_values(
            &formula(),
            &[
                (
                    &[90.0, 9.025, 298.0, 9.025, 0.255, 600.0, 5.75],
                    &[-10.988702173357101, 47.04080286015856, 314.0],
                ),
                (
                    &[60.0, 0.05, 293.0, 0.05, 0.01, 500.0, 5.0],
                    &[-10.251304077208367, 41.5381543328245, 395.0],
                ),
                (
                    &[120.0, 18.0, 303.0, 18.0, 0.5, 700.0, 6.5],
                    &[-10.896614736017792, 40.73202282395603, 293.0],
                ),
                (
                    &[68.22, 14.82285, 295.91, 11.16105, 0.23148, 693.6, 5.111],
                    &[-12.373956069212612, 65.1776223779536, 336.0],
                ),
                (
                    &[104.46, 1.0911, 301.83, 6.2607, 0.26823, 541.8, 5.9825],
                    &[-9.449267882948131, 32.10914351897501, 300.0],
                ),
            ],
        );
    }

    // Computed with BoTorch 0.18.1.
    #[test]
    fn a_batch_that_runs_out_of_glucose_ends_within_the_hour() {
        assert_values(
            &formula(),
            &[(
                &[60.0, 18.0, 298.0, 0.05, 0.01, 500.0, 5.5],
                &[-0.0598404255319149, 0.03164074960171344, 1.0],
            )],
        );
    }

    #[test]
    fn the_noise_is_one_percent_of_the_range_over_designs() {
        let formula = formula();
        let points = unyoke_math::sobol::cube(7, 4096, 1).unwrap();
        let values: Vec<Vec<f64>> = points
            .rows()
            .map(|unit| formula.inputs.iter().zip(unit).map(|(input, &u)| input.value(u)).collect())
            .map(|inputs: Vec<f64>| formula.evaluate(&inputs))
            .collect();
        for (m, output) in formula.outputs.iter().enumerate() {
            let column = || values.iter().map(|row| row[m]);
            let range = column().fold(f64::MIN, f64::max) - column().fold(f64::MAX, f64::min);
            assert!((output.noise / range - 0.01).abs() < 0.001, "{}: {range}", output.name);
        }
    }
}
