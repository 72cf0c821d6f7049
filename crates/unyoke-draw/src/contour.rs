//! Contours by marching squares: the rings around all places where a field reaches a level.

use crate::step::Point;

/// Values at the nodes of a regular grid over the unit square, row by row from the bottom.
#[derive(Debug, Clone, Copy)]
pub struct Grid<'a> {
    /// Nodes in a row.
    pub columns: usize,
    /// Nodes in a column.
    pub rows: usize,
    /// `columns * rows` values; missing ones are below every level.
    pub values: &'a [f64],
}

/// A node of the grid with a frame of one node around it; everything in the frame is below any level.
type Node = (usize, usize);

impl Grid<'_> {
    fn value(&self, (column, row): Node) -> f64 {
        let inside = (1..=self.columns).contains(&column) && (1..=self.rows).contains(&row);
        let value = if inside {
            self.values.get((row - 1) * self.columns + column - 1).copied()
        } else {
            None
        };
        value.filter(|v| v.is_finite()).unwrap_or(f64::NEG_INFINITY)
    }

    fn point(&self, (column, row): Node) -> Point {
        let share = |i: usize, count: usize| {
            if count > 1 { (i as f64 - 1.0) / (count - 1) as f64 } else { 0.5 }
        };
        [share(column, self.columns), share(row, self.rows)]
    }

    /// Where the field crosses `level` between two nodes, one below it and one not.
    fn crossing(&self, level: f64, a: Node, b: Node) -> Point {
        let (above, below) = if self.value(a) >= level { (a, b) } else { (b, a) };
        let start = self.point(above);
        if self.value(below) == f64::NEG_INFINITY {
            return start;
        }
        let end = self.point(below);
        let part = (self.value(above) - level) / (self.value(above) - self.value(below));
        [start[0] + part * (end[0] - start[0]), start[1] + part * (end[1] - start[1])]
    }
}

/// An edge of the framed grid, by its lower left node; it runs right or up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    Right(usize, usize),
    Up(usize, usize),
}

impl Edge {
    fn nodes(self) -> (Node, Node) {
        match self {
            Self::Right(column, row) => ((column, row), (column + 1, row)),
            Self::Up(column, row) => ((column, row), (column, row + 1)),
        }
    }
}

/// Closed rings around the region where the field is at least `level`, along the border where the
/// region touches it. Values that are not finite count as below every level.
pub fn rings(grid: &Grid<'_>, level: f64) -> Vec<Vec<Point>> {
    let mut follow = segments(grid, level);
    let mut found = Vec::new();
    while let Some((&start, _)) = follow.first_key_value() {
        let mut ring: Vec<Point> = Vec::new();
        let mut edge = start;
        while let Some(next) = follow.remove(&edge) {
            let (a, b) = edge.nodes();
            let point = grid.crossing(level, a, b);
            if ring.last() != Some(&point) {
                ring.push(point);
            }
            edge = next;
        }
        found.push(ring);
    }
    found
}

/// For each edge that the boundary crosses, the edge it crosses next, with the region on its left.
fn segments(grid: &Grid<'_>, level: f64) -> std::collections::BTreeMap<Edge, Edge> {
    let mut follow = std::collections::BTreeMap::new();
    for row in 0..=grid.rows {
        for column in 0..=grid.columns {
            follow.extend(cell(grid, level, (column, row)));
        }
    }
    follow
}

/// The parts of the boundary within one cell. Corners count from the lower left, against the clock.
fn cell(grid: &Grid<'_>, level: f64, (column, row): Node) -> Vec<(Edge, Edge)> {
    let corners = [(column, row), (column + 1, row), (column + 1, row + 1), (column, row + 1)];
    let values = corners.map(|node| grid.value(node));
    let case = values.iter().enumerate().map(|(i, v)| usize::from(*v >= level) << i).sum();
    let bottom = Edge::Right(column, row);
    let right = Edge::Up(column + 1, row);
    let top = Edge::Right(column, row + 1);
    let left = Edge::Up(column, row);
    // Two opposite corners are in the region: the mean decides whether they are connected.
    let joined = values.iter().sum::<f64>() / 4.0 >= level;
    match (case, joined) {
        (1, _) => vec![(bottom, left)],
        (2, _) => vec![(right, bottom)],
        (3, _) => vec![(right, left)],
        (4, _) => vec![(top, right)],
        (5, false) => vec![(bottom, left), (top, right)],
        (5, true) => vec![(bottom, right), (top, left)],
        (6, _) => vec![(top, bottom)],
        (7, _) => vec![(top, left)],
        (8, _) => vec![(left, top)],
        (9, _) => vec![(bottom, top)],
        (10, false) => vec![(right, bottom), (left, top)],
        (10, true) => vec![(left, bottom), (right, top)],
        (11, _) => vec![(right, top)],
        (12, _) => vec![(left, right)],
        (13, _) => vec![(bottom, right)],
        (14, _) => vec![(left, bottom)],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sampled(count: usize, f: impl Fn(f64, f64) -> f64) -> Vec<f64> {
        let at = |i: usize| i as f64 / (count - 1) as f64;
        (0..count)
            .flat_map(|row| (0..count).map(move |column| (column, row)))
            .map(|(c, r)| f(at(c), at(r)))
            .collect()
    }

    /// Area by the shoelace formula; negative for a hole.
    fn area(ring: &[Point]) -> f64 {
        let next = |i: usize| ring[(i + 1) % ring.len()];
        (0..ring.len()).map(|i| 0.5 * (ring[i][0] * next(i)[1] - next(i)[0] * ring[i][1])).sum()
    }

    #[test]
    fn a_cone_has_a_circle() {
        let values = sampled(81, |x, y| -((x - 0.5).powi(2) + (y - 0.5).powi(2)).sqrt());
        let found = rings(&Grid { columns: 81, rows: 81, values: &values }, -0.3);
        assert_eq!(found.len(), 1);
        for p in &found[0] {
            assert!(((p[0] - 0.5).hypot(p[1] - 0.5) - 0.3).abs() < 1e-3);
        }
        assert!((area(&found[0]).abs() - std::f64::consts::PI * 0.09).abs() < 1e-3);
    }

    #[test]
    fn a_region_that_touches_the_border_is_closed_along_it() {
        let values = sampled(11, |x, _| x);
        let found = rings(&Grid { columns: 11, rows: 11, values: &values }, 0.25);
        assert_eq!(found.len(), 1);
        assert!((area(&found[0]).abs() - 0.75).abs() < 1e-12);
    }

    #[test]
    fn a_hole_turns_the_other_way() {
        let values = sampled(41, |x, y| (x - 0.5).hypot(y - 0.5));
        let found = rings(&Grid { columns: 41, rows: 41, values: &values }, 0.2);
        let areas: Vec<f64> = found.iter().map(|ring| area(ring)).collect();
        assert_eq!(areas.len(), 2);
        assert!(areas[0] * areas[1] < 0.0);
        assert!(
            (areas.iter().sum::<f64>().abs() - (1.0 - 0.04 * std::f64::consts::PI)).abs() < 2e-3
        );
    }

    #[test]
    fn saddles_and_gaps_leave_closed_rings() {
        let saddle = [1.0, 0.0, 0.0, 1.0];
        assert_eq!(rings(&Grid { columns: 2, rows: 2, values: &saddle }, 0.6).len(), 2);
        assert_eq!(rings(&Grid { columns: 2, rows: 2, values: &saddle }, 0.4).len(), 1);
        let gaps = [f64::NAN, 1.0, 1.0, f64::INFINITY];
        assert!(!rings(&Grid { columns: 2, rows: 2, values: &gaps }, 0.5).is_empty());
        assert!(rings(&Grid { columns: 0, rows: 0, values: &[] }, 0.5).is_empty());
        assert!(rings(&Grid { columns: 9, rows: 9, values: &[1.0] }, 2.0).is_empty());
    }
}
