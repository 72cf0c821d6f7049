//! What each parameter does to each output, as far as models can tell: slices through one recommended design.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unyoke::{Design, Parameter, Predictions, Scale, Value};

use crate::front::FrontView;

/// Values of a parameter at which outputs are predicted, at most, unless it has more choices.
const STEPS: usize = 17;

/// Slices through a design: one parameter varies, all others are as in the design.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectsView {
    /// The design: of the front the one that is farthest from being worst in any objective.
    pub design: Design,
    /// For each parameter that can vary, each output.
    pub effects: Vec<EffectView>,
}

/// What is expected of an output as a parameter varies.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectView {
    /// The parameter.
    pub parameter: String,
    /// The output.
    pub output: String,
    /// From the parameter's lower bound to its upper, or choice by choice.
    pub points: Vec<SlicePoint>,
}

/// An output at one value of a parameter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SlicePoint {
    /// The value of the parameter.
    pub value: Value,
    /// The expected value of the output.
    pub mean: f64,
    /// The ends of the interval that holds the true value in nine cases of ten.
    pub interval: [f64; 2],
}

impl EffectView {
    /// The lowest and the highest value that is expected.
    pub fn range(&self) -> [f64; 2] {
        let means = || self.points.iter().map(|point| point.mean);
        [means().fold(f64::INFINITY, f64::min), means().fold(f64::NEG_INFINITY, f64::max)]
    }

    /// Whether what is expected varies by more than is uncertain: the intervals at the lowest and at the highest
    /// value do not overlap.
    pub fn is_clear(&self) -> bool {
        let by_mean = |a: &&SlicePoint, b: &&SlicePoint| a.mean.total_cmp(&b.mean);
        let lowest = self.points.iter().min_by(by_mean);
        let highest = self.points.iter().max_by(by_mean);
        lowest.zip(highest).is_some_and(|(low, high)| low.interval[1] < high.interval[0])
    }
}

/// Slices through the most balanced design of a front; `None` without one.
pub(crate) fn effects(
    predictions: &Predictions<'_>,
    parameters: &[Parameter],
    front: &FrontView,
    is_log: impl Fn(&str) -> bool,
) -> unyoke::Result<Option<EffectsView>> {
    let Some(design) = balanced(front, is_log) else { return Ok(None) };
    let slices: Vec<(&Parameter, Vec<Value>)> =
        parameters.iter().map(|parameter| (parameter, values(parameter))).collect();
    let varied = slices.iter().flat_map(|(parameter, values)| {
        values.iter().map(|value| design.clone().with(parameter.name(), value.clone()))
    });
    let mut forecasts = predictions.forecasts(&varied.collect::<Vec<_>>())?.into_iter();
    let mut effects = vec![];
    for (parameter, values) in slices {
        let mut found: BTreeMap<usize, Vec<SlicePoint>> = BTreeMap::new();
        for value in values {
            let outputs = forecasts.next().map(|point| point.outputs).unwrap_or_default();
            for (k, forecast) in outputs.iter().enumerate().filter(|(_, f)| f.mean.is_finite()) {
                let (mean, interval) = (forecast.mean, forecast.interval);
                found.entry(k).or_default().push(SlicePoint {
                    value: value.clone(),
                    mean,
                    interval,
                });
            }
        }
        // Nothing is known of how an output varies that has a single value.
        let is_known =
            |k: &usize| front.outputs[*k].values > 1 || front.outputs[*k].formula.is_some();
        effects.extend(found.into_iter().filter(|(k, _)| is_known(k)).map(|(k, points)| {
            EffectView {
                parameter: parameter.name().to_owned(),
                output: front.outputs[k].name.clone(),
                points,
            }
        }));
    }
    Ok(Some(EffectsView { design, effects }))
}

/// The design of the front whose worst objective is best, each counted in the front's range.
fn balanced(front: &FrontView, is_log: impl Fn(&str) -> bool) -> Option<Design> {
    let shares = front.shares(is_log);
    let worst = |i: &usize| shares[*i].iter().copied().fold(f64::INFINITY, f64::min);
    let best = (0..front.points.len()).max_by(|a, b| worst(a).total_cmp(&worst(b)));
    best.map(|i| front.points[i].design.clone())
}

/// Values of a parameter from one end to the other; none of one that cannot vary.
fn values(parameter: &Parameter) -> Vec<Value> {
    let spread = |low: f64, high: f64, scale: &Scale, i: usize| {
        let share = i as f64 / (STEPS - 1) as f64;
        match scale {
            _ if share == 0.0 => low,
            _ if share == 1.0 => high,
            Scale::Linear => low + share * (high - low),
            Scale::Log => low * (share * (high / low).ln()).exp(),
        }
    };
    match parameter {
        Parameter::Continuous { low, high, .. } if low >= high => vec![],
        Parameter::Continuous { low, high, scale, step, .. } => {
            let snapped = |value: f64| match step {
                Some(step) => (low + ((value - low) / step).round() * step).min(*high),
                None => value,
            };
            let mut all: Vec<f64> =
                (0..STEPS).map(|i| snapped(spread(*low, *high, scale, i))).collect();
            all.dedup();
            all.into_iter().map(Value::Real).collect()
        }
        Parameter::Integer { low, high, .. } if low >= high => vec![],
        Parameter::Integer { low, high, scale, .. } => {
            let whole = |i| spread(*low as f64, *high as f64, scale, i).round() as i64;
            let mut all: Vec<i64> = (0..STEPS).map(whole).collect();
            all.dedup();
            all.into_iter().map(Value::Integer).collect()
        }
        Parameter::Categorical { choices, .. } if choices.len() < 2 => vec![],
        Parameter::Categorical { choices, .. } => {
            choices.iter().cloned().map(Value::Choice).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front::front;
    use unyoke::{Problem, Study};

    fn study() -> Study {
        let builder = Problem::builder().continuous("x", 0.0, 1.0).continuous("idle", 0.0, 1.0);
        let builder = builder.categorical("kind", ["a", "b"]).minimise("f", 1.0).minimise("g", 1.0);
        let mut study = Study::new(builder.build().unwrap()).unwrap();
        for i in 0..24 {
            let (x, idle) = (f64::from(i) / 23.0, f64::from(i * 7 % 24) / 23.0);
            let kind = if i % 2 == 0 { "a" } else { "b" };
            let at = || Design::new().with("x", x).with("idle", idle).with("kind", kind);
            study.tell_result(at(), "f", x).unwrap();
            study.tell_result(at(), "g", (1.0 - x) * (1.0 - x)).unwrap();
        }
        study
    }

    #[test]
    fn slices_agree_with_the_front_and_tell_what_matters_from_what_does_not() {
        let study = study();
        let (predictions, front) = (study.predictions().unwrap(), front(&study, 20, None).unwrap());
        let parameters = &study.problem().parameters;
        let view = effects(&predictions, parameters, &front, |_| false).unwrap().unwrap();
        assert_eq!(view.effects.len(), 6, "three parameters, two outputs");
        let of = |parameter: &str, output: &str| {
            let mut all = view.effects.iter();
            all.find(|e| e.parameter == parameter && e.output == output).unwrap()
        };
        let [low, high] = of("x", "f").range();
        assert!(low.abs() < 0.1 && (high - 1.0).abs() < 0.1, "{low} to {high}");
        assert!(of("x", "f").is_clear() && !of("idle", "f").is_clear());
        assert_eq!(of("kind", "g").points.len(), 2);
        assert_eq!(of("x", "g").points.len(), STEPS);
        // Every slice goes through the design: at its own value it says what the front says.
        let chosen = front.points.iter().find(|point| point.design == view.design).unwrap();
        let kind = view.design.get("kind").unwrap();
        let here = of("kind", "f").points.iter().find(|point| &point.value == kind).unwrap();
        assert_eq!(here.mean, chosen.outputs["f"].mean);
        assert_eq!(here.interval, chosen.outputs["f"].interval);
        // Neither end of the front: both objectives are acceptable.
        assert!((0.2..0.8).contains(&chosen.outputs["f"].mean), "{}", chosen.outputs["f"].mean);
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(serde_json::from_value::<EffectsView>(json).unwrap(), view);
    }

    #[test]
    fn slices_go_from_bound_to_bound_through_possible_values() {
        let problem = Problem::builder()
            .continuous("a", 1.0, 100.0)
            .integer("n", 2, 4)
            .continuous("fixed", 3.0, 3.0)
            .minimise("f", 1.0)
            .build()
            .unwrap();
        let [a, n, fixed] = [0, 1, 2].map(|i| values(&problem.parameters[i]));
        assert_eq!(
            (a.len(), a[0].clone(), a[STEPS - 1].clone()),
            (STEPS, Value::Real(1.0), Value::Real(100.0))
        );
        assert_eq!(n, [2, 3, 4].map(Value::Integer));
        assert!(fixed.is_empty());
        let stepped = Parameter::Continuous {
            name: "t".into(),
            low: 40.0,
            high: 120.0,
            scale: Scale::Linear,
            step: Some(25.0),
        };
        assert_eq!(values(&stepped), [40.0, 65.0, 90.0, 115.0].map(Value::Real));
    }
}
