//! What each parameter does to each output, as far as models can tell: slices through one recommended design, along
//! one parameter or two at a time.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unyoke::{Design, Parameter, Predictions, Scale, Value};

use crate::front::FrontView;

/// Values of a parameter at which outputs are predicted, at most, unless it has more choices.
const STEPS: usize = 17;

/// Values of each of two parameters at which outputs are predicted, at most.
const CONTOUR_STEPS: usize = 17;

/// Parameters of which each two are varied together, at most: those that matter most.
const CONTOUR_PARAMETERS: usize = 4;

/// Slices through a design: one parameter varies, or two, all others are as in the design.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EffectsView {
    /// The design: of the front the one that is farthest from being worst in any objective.
    pub design: Design,
    /// For each parameter that can vary, each output.
    pub effects: Vec<EffectView>,
    /// For each two of the numeric parameters that matter most, each output.
    #[serde(default)]
    pub contours: Vec<ContourView>,
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

/// What is expected of an output as two parameters vary.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ContourView {
    /// The parameters: to the right, and up.
    pub parameters: [String; 2],
    /// The output.
    pub output: String,
    /// The values of each parameter, from its lower bound to its upper.
    pub values: [Vec<f64>; 2],
    /// The expected value at each pair of them, row by row from the lowest value of the second parameter; `None` where
    /// there is none.
    pub means: Vec<Option<f64>>,
    /// The standard deviations of these.
    pub sds: Vec<Option<f64>>,
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
    let contours = contours(predictions, parameters, front, (&design, &effects))?;
    Ok(Some(EffectsView { design, effects, contours }))
}

/// Slices along each two of the numeric parameters that matter most.
fn contours(
    predictions: &Predictions<'_>,
    parameters: &[Parameter],
    front: &FrontView,
    (design, effects): (&Design, &[EffectView]),
) -> unyoke::Result<Vec<ContourView>> {
    let chosen = most_important(parameters, effects);
    let pairs = || (0..chosen.len()).flat_map(|i| (i + 1..chosen.len()).map(move |j| [i, j]));
    let pairs = pairs().map(|pair| pair.map(|i| chosen[i]));
    let (mut found, has_slices) =
        (vec![], |name: &str| effects.iter().any(|effect| effect.output == name));
    for pair in pairs {
        let [across, up] = pair.map(|parameter| values_of(parameter, CONTOUR_STEPS));
        let varied = up.iter().flat_map(|y| {
            let row = across.iter();
            row.map(|x| {
                let moved = design.clone().with(pair[0].name(), x.clone());
                moved.with(pair[1].name(), y.clone())
            })
        });
        let forecasts = predictions.forecasts(&varied.collect::<Vec<_>>())?;
        let numbers = |values: &[Value]| values.iter().filter_map(Value::as_f64).collect();
        for (k, output) in front.outputs.iter().enumerate().filter(|(_, o)| has_slices(&o.name)) {
            let of = |value: fn(&unyoke::Forecast) -> f64| {
                let value = |point: &unyoke::FrontPoint| point.outputs.get(k).map(value);
                forecasts.iter().map(|point| value(point).filter(|v| v.is_finite())).collect()
            };
            found.push(ContourView {
                parameters: pair.map(|parameter| parameter.name().to_owned()),
                output: output.name.clone(),
                values: [numbers(&across), numbers(&up)],
                means: of(|forecast| forecast.mean),
                sds: of(|forecast| forecast.sd),
            });
        }
    }
    Ok(found)
}

/// The numeric parameters that change some output most, each in the range of all slices of that output.
fn most_important<'p>(parameters: &'p [Parameter], effects: &[EffectView]) -> Vec<&'p Parameter> {
    let width = |effect: &EffectView| {
        let [low, high] = effect.range();
        high - low
    };
    let widest = |output: &str| {
        let own = effects.iter().filter(|effect| effect.output == output);
        own.map(width).fold(f64::MIN_POSITIVE, f64::max)
    };
    let importance = |parameter: &Parameter| {
        let own = effects.iter().filter(|effect| effect.parameter == parameter.name());
        own.map(|effect| width(effect) / widest(&effect.output)).fold(0.0, f64::max)
    };
    let is_numeric = |parameter: &&Parameter| {
        let has_slices = effects.iter().any(|effect| effect.parameter == parameter.name());
        has_slices && !matches!(parameter, Parameter::Categorical { .. })
    };
    let mut chosen: Vec<&Parameter> = parameters.iter().filter(is_numeric).collect();
    chosen.sort_by(|a, b| importance(b).total_cmp(&importance(a)));
    chosen.truncate(CONTOUR_PARAMETERS);
    chosen
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
    values_of(parameter, STEPS)
}

/// At most `steps` of them, unless it has more choices.
fn values_of(parameter: &Parameter, steps: usize) -> Vec<Value> {
    let spread = |low: f64, high: f64, scale: &Scale, i: usize| {
        let share = i as f64 / (steps - 1) as f64;
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
                (0..steps).map(|i| snapped(spread(*low, *high, scale, i))).collect();
            all.dedup();
            all.into_iter().map(Value::Real).collect()
        }
        Parameter::Integer { low, high, .. } if low >= high => vec![],
        Parameter::Integer { low, high, scale, .. } => {
            let whole = |i| spread(*low as f64, *high as f64, scale, i).round() as i64;
            let mut all: Vec<i64> = (0..steps).map(whole).collect();
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
    fn slices_along_two_parameters_agree_with_those_along_one() {
        let study = study();
        let (predictions, front) = (study.predictions().unwrap(), front(&study, 20, None).unwrap());
        let parameters = &study.problem().parameters;
        let view = effects(&predictions, parameters, &front, |_| false).unwrap().unwrap();
        // Of three parameters two are numeric: one pair, two outputs.
        assert_eq!(view.contours.len(), 2);
        let contour = view.contours.iter().find(|one| one.output == "f").unwrap();
        assert_eq!(contour.parameters, ["x", "idle"], "what matters most comes first");
        assert_eq!(contour.values.each_ref().map(Vec::len), [CONTOUR_STEPS; 2]);
        assert_eq!(contour.means.len(), CONTOUR_STEPS * CONTOUR_STEPS);
        // Row by row: `f` rises with x, to the right, and hardly changes upwards.
        let mean = |column: usize, row: usize| contour.means[row * CONTOUR_STEPS + column].unwrap();
        assert!(mean(CONTOUR_STEPS - 1, 8) - mean(0, 8) > 0.8);
        assert!((mean(8, CONTOUR_STEPS - 1) - mean(8, 0)).abs() < 0.2);
        // At a node it says what a forecast says.
        let at =
            view.design.clone().with("x", contour.values[0][3]).with("idle", contour.values[1][5]);
        let forecast = &predictions.forecasts(&[at]).unwrap()[0].outputs[0];
        let node = 5 * CONTOUR_STEPS + 3;
        assert_eq!(contour.means[node], Some(forecast.mean));
        assert_eq!(contour.sds[node], Some(forecast.sd));
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
