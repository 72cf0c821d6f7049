//! How far the model of an output can be trusted: each value compared with what the model expects of
//! it when it has not seen it.

use crate::design::Design;
use crate::problem::Scale;
use serde::{Deserialize, Serialize};

/// Fewest designs from which anything is concluded.
const FEWEST: usize = 5;

/// Fewest designs from which a model is called too cautious: that errors are small may be chance.
const FEWEST_CAUTIOUS: usize = 10;

/// A model that explains at least this share of the variance predicts well.
const GOOD: f64 = 0.8;

/// A model that explains less than this share is hardly better than the mean.
const POOR: f64 = 0.3;

/// Errors so many times as large as stated are too large for chance: with right uncertainties and
/// five values, once in a thousand.
const TOO_SURE: f64 = 2.0;

/// Errors below this part of what was stated are too small for chance.
const TOO_CAUTIOUS: f64 = 0.5;

/// How well the model of one output predicts each value from all the others.
///
/// ```
/// use unyoke::{Accuracy, Design, Problem, Study};
///
/// let problem = Problem::builder().continuous("x", 0.0, 1.0).minimise("drag", 5.0).build()?;
/// let mut study = Study::new(problem)?;
/// for i in 0..8 {
///     let x = f64::from(i) / 7.0;
///     study.tell_result(Design::new().with("x", x), "drag", (x - 0.4) * (x - 0.4))?;
/// }
/// let check = &study.model_checks()?[0];
/// assert_eq!((check.output.as_str(), check.designs, check.accuracy), ("drag", 8, Accuracy::Good));
/// assert!(check.verdict().starts_with("predicts well"));
/// # Ok::<(), unyoke::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCheck {
    /// The output.
    pub output: String,
    /// The scale on which it is modelled and compared.
    pub scale: Scale,
    /// How many designs were compared; values at the same design count as one, their mean.
    pub designs: usize,
    /// The share of the variance that the predictions explain (Q²): 1 if they are exact, 0 if they are
    /// as good as the mean of the other values, negative if they are worse. `None` where nothing can
    /// be concluded.
    pub explained: Option<f64>,
    /// The root mean square of errors divided by the standard deviations stated with the predictions:
    /// about 1 if these are right. `None` where nothing can be concluded.
    pub error_ratio: Option<f64>,
    /// How good predictions are.
    pub accuracy: Accuracy,
    /// Whether the stated standard deviations are right.
    pub confidence: Confidence,
    /// The place in `left_out` of the value that is most standard deviations away.
    pub worst: Option<usize>,
    /// The values and their predictions, in the order of their first evaluations.
    pub left_out: Vec<LeftOutValue>,
    /// Values far from all others that contradict their neighbours: they count neither for the model
    /// nor for what is concluded here.
    #[serde(default)]
    pub set_aside: Vec<LeftOutValue>,
}

/// A value, and what its model expects of it from all the others. In the output's own units.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeftOutValue {
    /// The evaluations that gave it; several if the design was measured repeatedly.
    pub evaluations: Vec<u64>,
    /// The design.
    pub design: Design,
    /// The value, or the mean of several.
    pub measured: f64,
    /// What it counts as where that is less extreme; deviations are of this.
    #[serde(default)]
    pub counts_as: Option<f64>,
    /// The expected value.
    pub mean: f64,
    /// Its standard deviation, noise of the measurement included. On a log scale half the distance
    /// from `low` to `high`.
    pub sd: f64,
    /// One standard deviation below the expected value.
    pub low: f64,
    /// One standard deviation above it.
    pub high: f64,
    /// By how many standard deviations the value is larger than expected, on the output's scale.
    pub deviations: f64,
}

/// How good the predictions of a model are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Accuracy {
    /// There are too few values to say.
    TooFew,
    /// All values are equal: there is nothing to explain.
    Constant,
    /// At least 80 % of the variance is explained.
    Good,
    /// Between 30 and 80 %.
    Rough,
    /// Less: predictions are hardly better than the mean, or worse.
    Poor,
}

/// Whether the standard deviations that a model states are right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Confidence {
    /// There are too few values to say, or all are equal.
    Unknown,
    /// Errors are about as large as stated.
    Right,
    /// Errors are more than twice as large as stated.
    TooSure,
    /// Errors are less than half as large as stated.
    TooCautious,
    /// The worst value is far off, the others are not.
    OneValueOff,
}

/// A value and its prediction on the scale of the model.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compared {
    pub(crate) value: f64,
    pub(crate) mean: f64,
    pub(crate) sd: f64,
}

/// What follows from some comparisons.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Summary {
    pub(crate) explained: Option<f64>,
    pub(crate) error_ratio: Option<f64>,
    pub(crate) accuracy: Accuracy,
    pub(crate) confidence: Confidence,
    pub(crate) worst: Option<usize>,
}

impl Compared {
    pub(crate) fn deviations(&self) -> f64 {
        (self.value - self.mean) / self.sd
    }
}

/// Summarises comparisons of standardised values.
pub(crate) fn summarise(compared: &[Compared]) -> Summary {
    let nothing = |accuracy| Summary {
        explained: None,
        error_ratio: None,
        accuracy,
        confidence: Confidence::Unknown,
        worst: None,
    };
    if compared.len() < FEWEST {
        return nothing(Accuracy::TooFew);
    }
    let Some(explained) = explained(compared) else { return nothing(Accuracy::Constant) };
    let deviations: Vec<f64> = compared.iter().map(Compared::deviations).collect();
    let farther =
        |a: usize, b: usize| if deviations[b].abs() > deviations[a].abs() { b } else { a };
    let worst = (0..deviations.len()).reduce(farther);
    Summary {
        explained: Some(explained),
        error_ratio: Some(root_mean_square(deviations.iter())),
        accuracy: match explained {
            share if share >= GOOD => Accuracy::Good,
            share if share >= POOR => Accuracy::Rough,
            _ => Accuracy::Poor,
        },
        confidence: confidence(&deviations, worst),
        worst,
    }
}

/// 1 − Σ(y − ŷ)²/Σ(y − mean of the others)²; none where all values are equal. The mean, like the
/// model, has not seen the value: with few values that makes a difference.
fn explained(compared: &[Compared]) -> Option<f64> {
    let count = compared.len() as f64;
    let mean = compared.iter().map(|one| one.value).sum::<f64>() / count;
    let around = |one: &Compared| ((one.value - mean) * count / (count - 1.0)).powi(2);
    let total: f64 = compared.iter().map(around).sum();
    let errors: f64 = compared.iter().map(|one| (one.value - one.mean).powi(2)).sum();
    // What is not constant has variance 1 once standardised.
    (total > 1e-6 * count).then(|| 1.0 - errors / total)
}

fn confidence(deviations: &[f64], worst: Option<usize>) -> Confidence {
    let ratio = root_mean_square(deviations.iter());
    let others = deviations.iter().enumerate().filter(|(i, _)| Some(*i) != worst);
    let is_right = |ratio: f64| ratio <= TOO_SURE;
    match is_right(ratio) {
        false if is_right(root_mean_square(others.map(|(_, z)| z))) => Confidence::OneValueOff,
        false => Confidence::TooSure,
        true if ratio < TOO_CAUTIOUS && deviations.len() >= FEWEST_CAUTIOUS => {
            Confidence::TooCautious
        }
        true => Confidence::Right,
    }
}

fn root_mean_square<'a>(values: impl Iterator<Item = &'a f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += value * value;
        count += 1.0;
    }
    f64::sqrt(sum / f64::max(count, 1.0))
}

impl ModelCheck {
    /// The value that is most standard deviations away from its prediction.
    pub fn worst(&self) -> Option<&LeftOutValue> {
        self.left_out.get(self.worst?)
    }

    /// What this means, in a sentence.
    pub fn verdict(&self) -> String {
        let accuracy = match self.accuracy {
            Accuracy::TooFew => format!("too few values to say: needs {FEWEST} designs"),
            Accuracy::Constant => "all values are equal".to_owned(),
            Accuracy::Good => "predicts well".to_owned(),
            Accuracy::Rough => "predicts roughly".to_owned(),
            Accuracy::Poor => {
                "knows little yet: predictions are hardly better than the mean".to_owned()
            }
        };
        [Some(accuracy), self.doubt(), self.without()]
            .into_iter()
            .flatten()
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Which values do not count, if any.
    fn without(&self) -> Option<String> {
        let values = self.set_aside.iter().flat_map(|value| &value.evaluations);
        let numbers: Vec<String> = values.map(u64::to_string).collect();
        let (plural, does) = if numbers.len() == 1 { ("", "does") } else { ("s", "do") };
        let numbers = numbers.join(", ");
        (!numbers.is_empty()).then(|| format!("evaluation{plural} {numbers} {does} not count"))
    }

    /// What is wrong with the stated standard deviations, if anything.
    fn doubt(&self) -> Option<String> {
        let ratio = self.error_ratio?;
        match self.confidence {
            Confidence::Unknown | Confidence::Right => None,
            Confidence::TooSure => {
                let times = times(ratio);
                Some(format!("too sure of itself: values are {times} further off than it says"))
            }
            Confidence::TooCautious => {
                let times = times(1.0 / ratio);
                Some(format!(
                    "more cautious than necessary: values are {times} closer than it says"
                ))
            }
            Confidence::OneValueOff => {
                let worst = self.worst()?;
                let numbers: Vec<String> = worst.evaluations.iter().map(u64::to_string).collect();
                let (numbers, off) = (numbers.join(", "), worst.deviations.abs());
                let far = if off < 1000.0 { format!("{off:.0}") } else { "over 1000".to_owned() };
                Some(format!("evaluation {numbers} is {far} standard deviations off: check it"))
            }
        }
    }
}

/// "3 times"; what nobody needs to know exactly is cut off.
fn times(ratio: f64) -> String {
    match ratio {
        ratio if ratio < 1000.0 => format!("{ratio:.0} times"),
        _ => "over 1000 times".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unyoke_math::sobol;

    /// Values 0, 1, 2 ... with predictions that are off by these, in standard deviations of `sd`.
    fn check(sd: f64, deviations: &[f64]) -> ModelCheck {
        let values = deviations.iter().enumerate();
        let compared = values.map(|(i, z)| {
            let value = i as f64;
            Compared { value, mean: value - sd * z, sd }
        });
        let compared: Vec<Compared> = compared.collect();
        let left_out = compared.iter().enumerate().map(|(i, one)| LeftOutValue {
            evaluations: vec![10 + i as u64],
            design: Design::new(),
            measured: one.value,
            counts_as: None,
            mean: one.mean,
            sd,
            low: one.mean - sd,
            high: one.mean + sd,
            deviations: one.deviations(),
        });
        let Summary { explained, error_ratio, accuracy, confidence, worst } = summarise(&compared);
        ModelCheck {
            output: "f".into(),
            scale: Scale::Linear,
            designs: compared.len(),
            explained,
            error_ratio,
            accuracy,
            confidence,
            worst,
            left_out: left_out.collect(),
            set_aside: vec![],
        }
    }

    /// `count` standard normals that are evenly spread, in disorder.
    fn normals(count: usize) -> Vec<f64> {
        sobol::normals(1, count, 5).unwrap().rows().map(|z| z[0]).collect()
    }

    #[test]
    fn right_uncertainties_leave_no_doubt() {
        let good = check(0.1, &normals(16));
        assert!((good.error_ratio.unwrap() - 1.0).abs() < 0.2, "{good:?}");
        assert!(good.explained.unwrap() > 0.99);
        assert_eq!(good.verdict(), "predicts well");
    }

    #[test]
    fn the_share_that_is_explained_decides_how_good_predictions_are() {
        // The mean of the others is off by 21.25 in the square; errors of 1, 3 and 5.
        for (sd, share, verdict) in [
            (1.0, 1.0 - 16.0 / 16.0 / 24.177_777, "predicts well"),
            (3.0, 1.0 - 9.0 / 24.177_777, "predicts roughly"),
            (
                5.0,
                1.0 - 25.0 / 24.177_777,
                "knows little yet: predictions are hardly better than the mean",
            ),
        ] {
            let check = check(sd, &[1.0, -1.0].repeat(8));
            assert!((check.explained.unwrap() - share).abs() < 1e-6, "{check:?}");
            assert_eq!(check.verdict(), verdict);
        }
    }

    #[test]
    fn stated_deviations_that_are_wrong_are_called_so() {
        let verdict = |factor: f64| {
            let z: Vec<f64> = normals(16).iter().map(|z| factor * z).collect();
            check(0.01, &z).verdict()
        };
        let sure = verdict(3.2);
        assert_eq!(
            sure,
            "predicts well; too sure of itself: values are 3 times further off than it says"
        );
        let cautious = verdict(0.25);
        let expected = "more cautious than necessary: values are 4 times closer than it says";
        assert_eq!(cautious, format!("predicts well; {expected}"));
    }

    #[test]
    fn a_single_value_that_is_far_off_is_named() {
        let mut z = normals(16);
        z[7] = -40.0;
        let check = check(0.01, &z);
        assert_eq!((check.worst, check.confidence), (Some(7), Confidence::OneValueOff));
        let expected = "predicts well; evaluation 17 is 40 standard deviations off: check it";
        assert_eq!(check.verdict(), expected);
    }

    #[test]
    fn nothing_is_concluded_from_few_or_equal_values() {
        assert_eq!(check(0.1, &[0.0; 4]).accuracy, Accuracy::TooFew);
        assert_eq!(check(0.1, &[0.0; 5]).accuracy, Accuracy::Good);
        assert_eq!(check(0.1, &[9.0; 4]).verdict(), "too few values to say: needs 5 designs");
        let equal = summarise(&[Compared { value: 1e-9, mean: 0.0, sd: 0.1 }; 9]);
        assert_eq!(
            (equal.accuracy, equal.explained, equal.worst),
            (Accuracy::Constant, None, None)
        );
    }
}
