//! Each value compared with what its model expects of it when it has not seen it.

use super::{Basis, Engine};
use crate::error::Result;
use crate::model::{Clipped, Comparison, SetAside, comparisons};
use crate::model_check::{Compared, LeftOutValue, ModelCheck, Summary, summarise};
use unyoke_math::gp::{LeftOut, Prediction};

impl Engine<'_> {
    /// See [`Study::model_checks`](crate::Study::model_checks).
    pub(crate) fn model_checks(&self) -> Result<Vec<ModelCheck>> {
        let fits = &self.history.remembered.fits;
        let compared =
            comparisons(&self.observed(Basis::Known)?, &self.config_of_predictions(), fits)?;
        let modelled = compared.iter().enumerate().filter_map(|(k, one)| Some((k, one.as_ref()?)));
        Ok(modelled.map(|(k, comparison)| self.model_check(k, comparison)).collect())
    }

    fn model_check(&self, k: usize, comparison: &Comparison) -> ModelCheck {
        let Comparison { left_out, evaluations, set_aside, .. } = comparison;
        let mut order: Vec<usize> = (0..left_out.len()).collect();
        order.sort_by_key(|i| &evaluations[*i]);
        let compared: Vec<Compared> = order.iter().map(|i| compared_with(&left_out[*i])).collect();
        let Summary { explained, error_ratio, accuracy, confidence, worst } = summarise(&compared);
        let output = &self.problem().outputs[k];
        let values = order.iter().map(|i| {
            let value = self.left_out_value(k, comparison, &evaluations[*i], &left_out[*i]);
            self.as_counted(k, comparison, value)
        });
        let set_aside = set_aside.iter().map(|SetAside { evaluation, left_out }| {
            self.left_out_value(k, comparison, &[*evaluation], left_out)
        });
        ModelCheck {
            output: output.name.clone(),
            scale: output.scale,
            designs: left_out.len(),
            explained,
            error_ratio,
            accuracy,
            confidence,
            worst,
            left_out: values.collect(),
            set_aside: set_aside.collect(),
        }
    }

    /// The value of output `k` as it was measured, with what it counts as if that is something else.
    fn as_counted(&self, k: usize, comparison: &Comparison, value: LeftOutValue) -> LeftOutValue {
        let is_clipped = |one: &Clipped| value.evaluations.contains(&one.evaluation);
        if !comparison.clipped.iter().any(is_clipped) {
            return value;
        }
        let (space, count) = (&self.history.space, value.evaluations.len() as f64);
        let behind = value.evaluations.iter().map(|id| &self.history.evaluations[*id as usize]);
        let readings = behind.filter_map(|evaluation| evaluation.reading(k));
        let mean: f64 = readings.map(|r| space.to_internal(k, r.value) / count).sum();
        let counts_as = match value.evaluations[..] {
            [only] => comparison.clipped.iter().find(|one| one.evaluation == only),
            _ => None,
        };
        let counts_as = counts_as.map_or(value.measured, |one| space.to_user(k, one.counts_as));
        LeftOutValue { counts_as: Some(counts_as), measured: space.to_user(k, mean), ..value }
    }

    /// A value of some evaluations and its prediction in the units of output `k`.
    fn left_out_value(
        &self,
        k: usize,
        comparison: &Comparison,
        evaluations: &[u64],
        left_out: &LeftOut,
    ) -> LeftOutValue {
        let LeftOut { value, mean, variance } = *left_out;
        let (map, space) = (&comparison.map, &self.history.space);
        let measured = match evaluations[..] {
            // Not by way of standardised values, which would round it.
            [only] => self.history.evaluations[only as usize].reading(k).map(|r| r.value),
            _ => None,
        };
        let forecast = self.in_own_units(k, map, Prediction { mean, variance });
        let first = evaluations.first().map(|first| &self.history.evaluations[*first as usize]);
        LeftOutValue {
            design: first.map_or_else(Default::default, |first| first.design.clone()),
            evaluations: evaluations.to_vec(),
            measured: measured.unwrap_or_else(|| space.to_user(k, map.restore(value))),
            counts_as: None,
            mean: forecast.mean,
            sd: forecast.sd,
            low: forecast.low,
            high: forecast.high,
            // Inside, more is better; outside, more is more.
            deviations: space.sign(k) * compared_with(left_out).deviations(),
        }
    }
}

fn compared_with(left_out: &LeftOut) -> Compared {
    let LeftOut { value, mean, variance } = *left_out;
    Compared { value, mean, sd: variance.sqrt() }
}
