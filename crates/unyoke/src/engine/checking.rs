//! Each value compared with what its model expects of it when it has not seen it.

use super::{Basis, Engine};
use crate::error::Result;
use crate::model::{Comparison, comparisons};
use crate::model_check::{Compared, LeftOutValue, ModelCheck, Summary, summarise};
use unyoke_math::gp::{LeftOut, Prediction};

impl Engine<'_> {
    /// See [`Study::model_checks`](crate::Study::model_checks).
    pub(crate) fn model_checks(&self) -> Result<Vec<ModelCheck>> {
        let compared = comparisons(&self.observed(Basis::Known)?, self.config())?;
        let modelled = compared.iter().enumerate().filter_map(|(k, one)| Some((k, one.as_ref()?)));
        Ok(modelled.map(|(k, comparison)| self.model_check(k, comparison)).collect())
    }

    fn model_check(&self, k: usize, comparison: &Comparison) -> ModelCheck {
        let Comparison { left_out, evaluations, .. } = comparison;
        let mut order: Vec<usize> = (0..left_out.len()).collect();
        order.sort_by_key(|i| &evaluations[*i]);
        let compare = |i: &usize| {
            let LeftOut { value, mean, variance } = left_out[*i];
            Compared { value, mean, sd: variance.sqrt() }
        };
        let compared: Vec<Compared> = order.iter().map(compare).collect();
        let Summary { explained, error_ratio, accuracy, confidence, worst } = summarise(&compared);
        let output = &self.problem().outputs[k];
        let values = order.iter().zip(&compared);
        let values = values.map(|(i, one)| self.left_out_value(k, comparison, *i, one));
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
        }
    }

    /// Row `i` of a comparison in the units of output `k`.
    fn left_out_value(
        &self,
        k: usize,
        comparison: &Comparison,
        i: usize,
        compared: &Compared,
    ) -> LeftOutValue {
        let Comparison { map, left_out, evaluations } = comparison;
        let LeftOut { value, mean, variance } = left_out[i];
        let space = &self.history.space;
        let behind = &evaluations[i];
        let measured = match behind[..] {
            // Not by way of standardised values, which would round it.
            [only] => self.history.evaluations[only as usize].reading(k).map(|r| r.value),
            _ => None,
        };
        let forecast = self.in_own_units(k, map, Prediction { mean, variance });
        LeftOutValue {
            design: behind.first().map_or_else(Default::default, |first| {
                self.history.evaluations[*first as usize].design.clone()
            }),
            evaluations: behind.clone(),
            measured: measured.unwrap_or_else(|| space.to_user(k, map.restore(value))),
            mean: forecast.mean,
            sd: forecast.sd,
            low: forecast.low,
            high: forecast.high,
            // Inside, more is better; outside, more is more.
            deviations: space.sign(k) * compared.deviations(),
        }
    }
}
