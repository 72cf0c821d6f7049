//! For how much of the fixed objectives two lines are neighbours on the envelope.
//!
//! The sweep goes down the first fixed objective, the level, and meets the designs one by one. The
//! second is cut into slices at the designs' values, its edges; each slice has the upper envelope
//! of the lines met so far that reach it. A design joins the slices from its own edge downwards, up
//! to the first in which its line is nowhere the highest: lower slices have all lines of the higher
//! ones, so it is nowhere the highest in these either. Slices that have come to have the same
//! envelope become one.
//!
//! A break point between neighbours has existed since some level; when it goes, its share of the
//! area is the depth since then times the width of the slice.

use super::terms::{BreakPoint, Line, Moment, Outcome};

/// A design when the sweep comes to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arrival {
    pub(super) line: Line,
    pub(super) level: f64,
    pub(super) edge: f64,
    /// Increases as edges decrease, and tells the candidate's from all others.
    pub(super) rank: u32,
}

/// Whose fixed objectives have their derivatives taken.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) enum Tracked {
    /// Nobody's: only the value is wanted.
    Nothing,
    #[default]
    Candidate,
    /// The candidate's, and the levels of all designs.
    Levels,
    All,
}

/// What holds for a whole sweep.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Frame {
    /// Height of the reference, a line of slope 0.
    pub(super) ground: f64,
    /// Edge of the reference.
    pub(super) floor: f64,
    /// Number of the candidate's line; the reference has the next one.
    pub(super) own: u32,
    pub(super) tracked: Tracked,
}

/// The state of a sweep, its buffers reused from one to the next.
#[derive(Debug, Clone, Default)]
pub(super) struct Sweep {
    frame: Frame,
    /// By decreasing edge.
    slices: Vec<Slice>,
    spare: Vec<Vec<Node>>,
    break_points: Vec<BreakPoint>,
    moments: Vec<Moment>,
}

/// Where the second fixed objective is at most `edge`, down to the edge of the next slice.
#[derive(Debug, Clone)]
struct Slice {
    rank: u32,
    edge: f64,
    /// The design whose edge it is.
    owner: u32,
    /// The upper envelope, by increasing slope.
    nodes: Vec<Node>,
}

/// A line of an envelope and its break point with the next one.
#[derive(Debug, Clone, Copy)]
struct Node {
    line: Line,
    break_point: usize,
    /// The level at which the break point came, or up to which it has been counted.
    since: f64,
}

/// The lines of an envelope that a new one takes the place of.
#[derive(Debug, Clone, Copy)]
struct Covered {
    start: usize,
    end: usize,
}

/// The extent of a slice.
#[derive(Debug, Clone, Copy)]
struct Extent {
    width: f64,
    /// The tracked design whose edge is its upper end, and the one whose edge is its lower end.
    upper: Option<u32>,
    lower: Option<u32>,
}

/// The break points made last for a line, which the next slice may share.
#[derive(Debug, Clone, Copy, Default)]
struct Latest {
    left: Option<usize>,
    right: Option<usize>,
}

impl Sweep {
    pub(super) fn start(&mut self, frame: Frame) {
        self.frame = frame;
        self.break_points.clear();
        self.moments.clear();
        self.spare.extend(self.slices.drain(..).map(|slice| slice.nodes));
    }

    /// All break points there were.
    pub(super) fn outcome(&mut self) -> Outcome<'_> {
        Outcome { break_points: &mut self.break_points, moments: &self.moments }
    }

    /// Takes in the next design, at the level of the last one or lower.
    pub(super) fn add(&mut self, arrival: &Arrival) {
        let first = self.slices.partition_point(|slice| slice.rank < arrival.rank);
        let has_own_slice = self.slices.get(first).is_some_and(|s| s.rank == arrival.rank);
        if !has_own_slice && !self.split(first, arrival) {
            return;
        }
        let (mut latest, mut end, mut replaced) = (Latest::default(), first, false);
        while end < self.slices.len()
            && let Some(covered) = covered_by(&self.slices[end].nodes, arrival.line)
        {
            replaced |= covered.start < covered.end;
            self.insert(end, covered, arrival, &mut latest);
            end += 1;
        }
        if replaced {
            self.join(first, end, arrival.level);
        }
    }

    /// Counts what is left at the level of the reference.
    pub(super) fn finish(&mut self, level: f64) {
        for i in 0..self.slices.len() {
            self.count_all(i, level);
        }
    }

    /// Makes slice number `first` for an arrival with an edge of its own, unless its line is
    /// nowhere the highest.
    fn split(&mut self, first: usize, arrival: &Arrival) -> bool {
        let ground = Line { number: self.frame.own + 1, height: self.frame.ground, slope: 0.0 };
        let ground = [Node { line: ground, break_point: NONE, since: arrival.level }];
        let above = first.checked_sub(1);
        let nodes = above.map_or(&ground[..], |i| &self.slices[i].nodes[..]);
        if covered_by(nodes, arrival.line).is_none() {
            return false;
        }
        if let Some(i) = above
            && self.frame.tracks_edge(arrival.line.number)
        {
            // From here on the two sides of this edge are told apart.
            self.count_all(i, arrival.level);
        }
        let mut copy = self.spare.pop().unwrap_or_default();
        copy.clear();
        copy.extend_from_slice(above.map_or(&ground[..], |i| &self.slices[i].nodes[..]));
        let Arrival { line, edge, rank, .. } = *arrival;
        self.slices.insert(first, Slice { rank, edge, owner: line.number, nodes: copy });
        true
    }

    fn insert(&mut self, i: usize, covered: Covered, arrival: &Arrival, latest: &mut Latest) {
        let extent = self.extent(i);
        let Covered { start, end } = covered;
        let Arrival { line, level, .. } = *arrival;
        let (nodes, points) = (&mut self.slices[i].nodes, &mut self.break_points);
        // Were its level higher, what comes with it would come earlier and what goes would go
        // earlier.
        let design = self.frame.tracks_level(line.number).then_some(line.number);
        let mut depend = |break_point: usize, by_level: f64| {
            self.moments.extend(design.map(|design| Moment {
                break_point,
                design,
                by_level,
                by_edge: 0.0,
            }));
        };
        for node in &nodes[start.saturating_sub(1)..end] {
            if node.break_point != NONE {
                depend(node.break_point, -extent.width);
            }
        }
        let left = start.checked_sub(1).map(|k| latest.left(points, nodes[k].line, line));
        let right = nodes.get(end).map(|right| latest.right(points, line, right.line));
        for break_point in [left, right].into_iter().flatten() {
            depend(break_point, extent.width);
        }
        for node in &mut nodes[start.saturating_sub(1)..end] {
            count(node, points, &mut self.moments, extent, level);
        }
        if let (Some(k), Some(left)) = (start.checked_sub(1), left) {
            nodes[k].break_point = left;
            nodes[k].since = level;
        }
        let node = Node { line, break_point: right.unwrap_or(NONE), since: level };
        replace(nodes, covered, node);
    }

    /// Joins slices of `first..end` that have the same envelope.
    fn join(&mut self, first: usize, end: usize, level: f64) {
        for i in (first + 1..end).rev() {
            if !same_lines(&self.slices[i - 1].nodes, &self.slices[i].nodes) {
                continue;
            }
            self.count_all(i - 1, level);
            self.count_all(i, level);
            let joined = self.slices.remove(i);
            self.spare.push(joined.nodes);
        }
    }

    /// Counts the break points of slice `i` down to `level`.
    fn count_all(&mut self, i: usize, level: f64) {
        let extent = self.extent(i);
        for node in &mut self.slices[i].nodes {
            count(node, &mut self.break_points, &mut self.moments, extent, level);
        }
    }

    fn extent(&self, i: usize) -> Extent {
        let (slice, next) = (&self.slices[i], self.slices.get(i + 1));
        let tracked = |slice: &Slice| self.frame.tracks_edge(slice.owner).then_some(slice.owner);
        Extent {
            width: slice.edge - next.map_or(self.frame.floor, |next| next.edge),
            upper: tracked(slice),
            lower: next.and_then(tracked),
        }
    }
}

impl Frame {
    fn tracks_level(&self, design: u32) -> bool {
        match self.tracked {
            Tracked::Nothing => false,
            Tracked::Candidate => design == self.own,
            Tracked::Levels | Tracked::All => true,
        }
    }

    fn tracks_edge(&self, design: u32) -> bool {
        match self.tracked {
            Tracked::Nothing => false,
            Tracked::Candidate | Tracked::Levels => design == self.own,
            Tracked::All => true,
        }
    }
}

impl Latest {
    fn left(&mut self, points: &mut Vec<BreakPoint>, left: Line, right: Line) -> usize {
        Self::known_or_new(&mut self.left, points, left, right)
    }

    fn right(&mut self, points: &mut Vec<BreakPoint>, left: Line, right: Line) -> usize {
        Self::known_or_new(&mut self.right, points, left, right)
    }

    fn known_or_new(
        known: &mut Option<usize>,
        points: &mut Vec<BreakPoint>,
        left: Line,
        right: Line,
    ) -> usize {
        let same = |k: &usize| {
            let point = &points[*k];
            point.left == left.number && point.right == right.number
        };
        if let Some(number) = known.filter(same) {
            return number;
        }
        points.push(BreakPoint::new(left, right));
        *known = Some(points.len() - 1);
        points.len() - 1
    }
}

/// The break point of the last line of an envelope.
const NONE: usize = usize::MAX;

/// Counts the break point of `node` down to `level`.
fn count(
    node: &mut Node,
    points: &mut [BreakPoint],
    moments: &mut Vec<Moment>,
    extent: Extent,
    level: f64,
) {
    // The last line has none.
    let Some(point) = points.get_mut(node.break_point) else { return };
    let (depth, break_point) = (node.since - level, node.break_point);
    point.area += extent.width * depth;
    node.since = level;
    for (design, by_edge) in [(extent.upper, depth), (extent.lower, -depth)] {
        moments.extend(design.map(|design| Moment { break_point, design, by_level: 0.0, by_edge }));
    }
}

/// The lines that `line` takes the place of; `None` if it is nowhere above all of `nodes`.
fn covered_by(nodes: &[Node], line: Line) -> Option<Covered> {
    let start = nodes.iter().position(|node| node.line.slope >= line.slope);
    let start = start.unwrap_or(nodes.len());
    let mut covered = Covered { start, end: start };
    match (start.checked_sub(1).map(|i| nodes[i].line), nodes.get(start).map(|node| node.line)) {
        // Parallel: the higher one stays, the first of equals.
        (_, Some(right)) if right.slope == line.slope => {
            if right.height >= line.height {
                return None;
            }
            covered.end += 1;
        }
        (Some(left), Some(right)) if !line.is_above_crossing(left, right) => return None,
        _ => {}
    }
    while let [.., outer, inner] = nodes[..covered.start] {
        if inner.line.is_above_crossing(outer.line, line) {
            break;
        }
        covered.start -= 1;
    }
    while let [inner, outer, ..] = nodes[covered.end..] {
        if inner.line.is_above_crossing(line, outer.line) {
            break;
        }
        covered.end += 1;
    }
    Some(covered)
}

/// Puts `node` where the covered ones are.
fn replace(nodes: &mut Vec<Node>, covered: Covered, node: Node) {
    if covered.start == covered.end {
        nodes.insert(covered.start, node);
        return;
    }
    nodes[covered.start] = node;
    let surplus = covered.end - covered.start - 1;
    if surplus > 0 {
        nodes.copy_within(covered.end.., covered.start + 1);
        nodes.truncate(nodes.len() - surplus);
    }
}

fn same_lines(a: &[Node], b: &[Node]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.line.number == b.line.number)
}
