//! Random objective vectors for the property tests of this folder.

use crate::Points;
use proptest::prelude::*;
use std::ops::{Range, RangeInclusive};

/// Points in general position: no two coordinates are likely to tie.
pub(super) fn spread(
    dims: RangeInclusive<usize>,
    len: Range<usize>,
) -> impl Strategy<Value = Points> {
    rows(dims, len, 0.0..1.0_f64)
}

/// Points on a coarse integer grid: ties and exact copies abound.
pub(super) fn grid(
    dims: RangeInclusive<usize>,
    len: Range<usize>,
) -> impl Strategy<Value = Points> {
    rows(dims, len, (0..4_i32).prop_map(f64::from))
}

/// Points of either kind.
pub(super) fn any(dims: RangeInclusive<usize>, len: Range<usize>) -> impl Strategy<Value = Points> {
    prop_oneof![spread(dims.clone(), len.clone()), grid(dims, len)]
}

/// Points whose coordinates follow `value`.
fn rows<S>(
    dims: RangeInclusive<usize>,
    len: Range<usize>,
    value: S,
) -> impl Strategy<Value = Points>
where
    S: Strategy<Value = f64> + Clone,
{
    (dims, len).prop_flat_map(move |(dim, len)| {
        prop::collection::vec(value.clone(), dim * len)
            .prop_map(move |flat| Points::from_flat(dim, flat).unwrap())
    })
}
