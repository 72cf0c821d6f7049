//! Designs in the order in which the sweep meets them.

use super::sweep::{Arrival, Frame, Sweep, Tracked};
use super::terms::{Line, Sum, Units};
use crate::envelope::{magnitude, unit_scale};

/// A point as the sweep sees it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Corner {
    /// The objective that moves.
    pub(super) height: f64,
    /// The fixed objective that the sweep goes down.
    pub(super) level: f64,
    /// The fixed objective that is cut into slices, if there is one.
    pub(super) edge: Option<f64>,
}

/// Which objectives a corner is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Axes {
    pub(super) height: usize,
    pub(super) level: usize,
    pub(super) edge: Option<usize>,
}

/// The candidate, and how its observation moves all designs and itself, last.
#[derive(Debug)]
pub(super) struct Newcomer<'a> {
    pub(super) corner: Corner,
    pub(super) slopes: &'a [f64],
    /// Their [`magnitude`].
    pub(super) slope_size: u64,
}

/// The designs above the reference, by decreasing level.
#[derive(Debug, Clone)]
pub(super) struct Arrangement {
    designs: Vec<Place>,
    /// Distinct edges, decreasing; empty if no objective is sliced.
    edges: Vec<f64>,
    reference: Corner,
    sizes: Sizes,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    number: u32,
    height: f64,
    level: f64,
    edge: f64,
    rank: u32,
}

/// Magnitudes of what the designs and the reference have.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    height: u64,
    level: u64,
    edge: u64,
}

/// Without a sliced objective all designs share one slice of this edge over an edge of 0.
const WHOLE: f64 = 1.0;

impl Arrangement {
    pub(super) fn new(designs: &[Corner], reference: Corner) -> Self {
        let start = Sizes { height: 0, level: 0, edge: 0 };
        let sizes = designs.iter().chain([&reference]).fold(start, |sizes, corner| Sizes {
            height: sizes.height.max(magnitude(&[corner.height])),
            level: sizes.level.max(magnitude(&[corner.level])),
            edge: sizes.edge.max(magnitude(&[corner.edge.unwrap_or(WHOLE)])),
        });
        let mut edges: Vec<f64> = designs.iter().filter_map(|corner| corner.edge).collect();
        edges.sort_unstable_by(|a, b| b.total_cmp(a));
        edges.dedup();
        let mut arrangement = Self { designs: Vec::new(), edges, reference, sizes };
        let place = |(number, corner): (usize, &Corner)| Place {
            number: number as u32,
            height: corner.height,
            level: corner.level,
            edge: corner.edge.unwrap_or(WHOLE),
            rank: arrangement.rank(corner),
        };
        let above = designs.iter().enumerate().filter(|(_, corner)| corner.is_above(&reference));
        let mut places: Vec<Place> = above.map(place).collect();
        // Of designs at one level the highest first: the others are then less often in the way.
        places.sort_unstable_by(|a, b| {
            let by_level = b.level.total_cmp(&a.level);
            by_level.then(b.height.total_cmp(&a.height)).then(a.number.cmp(&b.number))
        });
        arrangement.designs = places;
        arrangement
    }

    /// Twice the number of edges at or above that of `corner`: the same for equal edges, and room
    /// for one in between.
    fn rank(&self, corner: &Corner) -> u32 {
        let edge = corner.edge.unwrap_or(WHOLE);
        2 * self.edges.partition_point(|other| *other >= edge) as u32
    }

    /// Sweeps over the designs and the candidate; `None` if there is nothing to gain.
    pub(super) fn sweep<'s>(
        &self,
        own: &Newcomer<'_>,
        tracked: Tracked,
        sweep: &'s mut Sweep,
    ) -> Option<Sum<'s>> {
        let units = self.units(own);
        let number = own.slopes.len() as u32 - 1;
        let slopes = own.slopes;
        sweep.start(Frame {
            ground: units.height * self.reference.height,
            floor: units.edge * self.reference.edge.unwrap_or(0.0),
            own: number,
            tracked,
        });
        let arrival = |place: &Place| Arrival {
            line: Line {
                number: place.number,
                height: units.height * place.height,
                slope: units.slope * slopes[place.number as usize],
            },
            level: units.level * place.level,
            edge: units.edge * place.edge,
            rank: place.rank,
        };
        // After its equals: of the same line twice, that of the design counts.
        let before = self.designs.partition_point(|place| place.level >= own.corner.level);
        let (higher, lower) = self.designs.split_at(before);
        higher.iter().for_each(|place| sweep.add(&arrival(place)));
        if own.corner.is_above(&self.reference) {
            let Corner { height, level, edge } = own.corner;
            let edge_value = edge.unwrap_or(WHOLE);
            let rank = self.rank(&own.corner) + u32::from(edge.is_some());
            sweep.add(&arrival(&Place { number, height, level, edge: edge_value, rank }));
        }
        lower.iter().for_each(|place| sweep.add(&arrival(place)));
        sweep.finish(units.level * self.reference.level);
        Sum::new(sweep.outcome(), units, number)
    }

    fn units(&self, own: &Newcomer<'_>) -> Units {
        let with = |size: u64, value: f64| unit_scale(size.max(magnitude(&[value])));
        Units {
            height: with(self.sizes.height, own.corner.height),
            slope: unit_scale(own.slope_size),
            level: with(self.sizes.level, own.corner.level),
            edge: with(self.sizes.edge, own.corner.edge.unwrap_or(WHOLE)),
        }
    }
}

impl Axes {
    /// Of two or three objectives.
    pub(super) fn new(objectives: usize, moving: usize) -> Self {
        let mut fixed = (0..objectives).filter(|k| *k != moving);
        Self { height: moving, level: fixed.next().unwrap_or(moving), edge: fixed.next() }
    }

    /// The other way round, if there are two fixed objectives.
    pub(super) fn turned(self) -> Self {
        let (level, edge) = self.edge.map_or((self.level, None), |k| (k, Some(self.level)));
        Self { level, edge, ..self }
    }

    pub(super) fn corner(&self, values: &[f64]) -> Corner {
        Corner {
            height: values[self.height],
            level: values[self.level],
            edge: self.edge.map(|k| values[k]),
        }
    }
}

impl Corner {
    fn is_above(&self, reference: &Self) -> bool {
        self.level > reference.level && self.edge.unwrap_or(WHOLE) > reference.edge.unwrap_or(0.0)
    }
}
