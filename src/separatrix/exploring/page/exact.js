// Two columns decided exactly: the widest margin with its support, or the smallest proof of overlap.
//
// Every choice is made by exact signs (rational.js). Floats only say what to try first.

import { Grid, asWhole, crossOf, dotOf, lastBit, overRoot, ratio, signCross, signDot, turn } from "./rational.js";

/**
 * The verdict on these points.
 * @param {{x: number, y: number, label: 1|-1}[]} points  @param {boolean} intercept
 * @returns {{separable: true, mu: number, theta: number[], support: number[]}
 *   | {separable: false, proof: {kind: string, indices: number[], weights: number[]}}}
 *   theta has ‖w‖ = 1; support are all points whose margin is μ; with an intercept weights sum to 1 in each class,
 *   without one in total. Points of one class with an intercept have μ = ∞ and no support.
 */
export function decide(points, intercept) {
  return intercept ? decideLines(points) : decideRays(points);
}

/** With an intercept: do the hulls of the classes meet? μ is half the distance between them. */
function decideLines(points) {
  const grid = new Grid();
  const all = points.map(({ x, y }, i) => grid.point(x, y, i));
  const plus = all.filter((_, i) => points[i].label > 0);
  const minus = all.filter((_, i) => points[i].label < 0);
  if (!plus.length || !minus.length) return widest(Infinity, [0, 0, plus.length ? 1 : minus.length ? -1 : 0], []);
  const [A, B] = [new Hull(plus), new Hull(minus)];
  const proof = overlap(plus, minus, A, B);
  if (proof) return { separable: false, proof };
  const pair = nearest(A, B);
  const { w, b, half } = lineBetween(pair, grid);
  const support = [...touching(pair, plus, pair.p), ...touching(pair, minus, pair.q)].sort((i, j) => i - j);
  return widest(half, [...w, b], support);
}

/** Without: does the hull of the rows z_i = y_i a_i hold 0? μ is its distance from 0. */
function decideRays(points) {
  if (!points.length) return widest(Infinity, [0, 0], []);
  const grid = new Grid();
  const Z = points.map(({ x, y, label }, i) => grid.point(label * x, label * y, i));
  const hull = new Hull(Z);
  const origin = grid.point(0, 0, -1);
  if (hull.holds(origin)) return { separable: false, proof: around(Z, hull, origin) };
  const pair = nearest(hull, new Hull([origin]));
  const { w, distance } = lineBetween(pair, grid);
  return widest(distance, w, touching(pair, Z, pair.p));
}

function widest(mu, theta, support) {
  return { separable: true, mu, theta, support };
}

// Hulls

/** Corners in turn to the left, each once and none on an edge; two points have one edge, one point has none. */
class Hull {
  constructor(points) {
    this.corners = points.length < 2 ? points : outline(distinct(points));
    const n = this.corners.length;
    this.edges = n < 3 ? (n === 2 ? [this.corners] : []) : this.corners.map((p, k) => [p, this.corners[(k + 1) % n]]);
  }

  /** Whether p lies inside or on the border. */
  holds(p) {
    const { corners, edges } = this;
    if (corners.length === 1) return corners[0].x === p.x && corners[0].y === p.y;
    if (corners.length === 2) return turn(...corners, p) === 0 && signDot(corners[0], p, corners[1], p) <= 0;
    for (let k = 0; k < edges.length; k++) if (turn(edges[k][0], edges[k][1], p) < 0) return false;
    return true;
  }

  /** Three corners with p, which lies inside, in their triangle. */
  triangle(p) {
    const { corners } = this;
    let k = 1;
    while (k + 2 < corners.length && turn(corners[0], corners[k + 1], p) > 0) k++;
    return [corners[0], corners[k], corners[k + 1]];
  }
}

/** The corners of the convex hull of points {x, y}, in turn to the left. */
export function hull(points) {
  const grid = new Grid();
  return new Hull(points.map(({ x, y }, i) => grid.point(x, y, i))).corners.map(({ i }) => points[i]);
}

/** Each point once, from left to right. */
function distinct(points) {
  const sorted = points.slice().sort((p, q) => p.x - q.x || p.y - q.y || p.i - q.i);
  return sorted.filter((p, k) => k === 0 || p.x !== sorted[k - 1].x || p.y !== sorted[k - 1].y);
}

function outline(sorted) {
  if (sorted.length < 3) return sorted;
  const lower = chain(sorted);
  const upper = chain(sorted.reverse());
  return lower.slice(0, -1).concat(upper.slice(0, -1));
}

function chain(points) {
  const found = [];
  for (const p of points) {
    while (found.length > 1 && turn(found[found.length - 2], found[found.length - 1], p) <= 0) found.pop();
    found.push(p);
  }
  return found;
}

// Overlap

/** A mean of points of one class that is one of the other's, too, by the fewest points; null where there is none. */
function overlap(plus, minus, A, B) {
  const inA = minus.filter((p) => A.holds(p));
  const inB = plus.filter((p) => B.holds(p));
  const crossing = () => crossingOf(A.edges, B.edges);
  if (!inA.length && !inB.length) return crossing();
  const few = samePoint(inB, inA) || onSegment(inB, minus) || onSegment(inA, plus);
  return few || crossing() || (inB.length ? inTriangle(inB[0], B) : inTriangle(inA[0], A));
}

function samePoint(plus, minus) {
  const seen = new Map(plus.map((p) => [`${p.x} ${p.y}`, p.i]));
  const q = minus.find((p) => seen.has(`${p.x} ${p.y}`));
  return q ? { kind: "same point", indices: [seen.get(`${q.x} ${q.y}`), q.i], weights: [1, 1] } : null;
}

/** A point of one class between two of the other. */
function onSegment(some, others) {
  const opposites = new Opposites(distinct(others));
  for (const p of some) {
    const pair = opposites.about(p);
    const indices = [p, ...(pair ?? [])].map((q) => q.i);
    if (pair) return { kind: "point on segment", indices, weights: [1, ...shares(p, pair)] };
  }
  return null;
}

/** λ_a, λ_b with λ_a a + λ_b b = p, λ_a + λ_b = 1, of p between a and b. */
function shares(p, [a, b]) {
  const square = dotOf(b, a, b, a);
  const along = dotOf(p, a, b, a);
  return [ratio(square - along, square), ratio(along, square)];
}

/** Edges that cross: a + s (b - a) = c + t (d - c). */
function crossingOf(some, others) {
  for (const [a, b] of some)
    for (const [c, d] of others)
      if (turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0) {
        const det = crossOf(b, a, d, c);
        const [s, t] = [crossOf(c, a, d, c), crossOf(c, a, b, a)];
        const weights = [det - s, s, det - t, t].map((part) => (det < 0n ? ratio(-part, -det) : ratio(part, det)));
        return { kind: "crossing segments", indices: [a.i, b.i, c.i, d.i], weights };
      }
  return null;
}

function inTriangle(p, hull) {
  const three = hull.triangle(p);
  return { kind: "point in triangle", indices: [p, ...three].map((q) => q.i), weights: [1, ...areas(p, three)] };
}

/** Barycentric coordinates. */
function areas(p, [a, b, c]) {
  const parts = [crossOf(b, p, c, p), crossOf(c, p, a, p), crossOf(a, p, b, p)];
  const sum = parts[0] + parts[1] + parts[2];
  return parts.map((part) => ratio(part, sum));
}

/** Without an intercept: 0 as a mean of rows z_i, by the fewest there are. */
function around(Z, hull, origin) {
  const zero = Z.find((z) => z.x === 0 && z.y === 0);
  if (zero) return { kind: "zero row", indices: [zero.i], weights: [1] };
  const same = samePoint(Z, Z.map(({ x, y, i }) => ({ x: 0 - x, y: 0 - y, i })));
  if (same) return { ...same, weights: [0.5, 0.5] };
  const pair = new Opposites(distinct(Z)).about(origin);
  if (pair) return { kind: "opposite directions", indices: pair.map((z) => z.i), weights: shares(origin, pair) };
  const three = hull.triangle(origin);
  return { kind: "triangle around 0", indices: three.map((z) => z.i), weights: areas(origin, three) };
}

const NEAR = 1e-14; // the keys of two directions of one line differ by less

/** Finds two points on opposite sides of a third: those whose directions from it have nearly one key are compared. */
class Opposites {
  constructor(points) {
    this.points = points;
    this.unitX = unitOf(points.map((p) => p.x)); // on segments axes may have units of their own
    this.unitY = unitOf(points.map((p) => p.y));
    this.keys = new Float64Array(points.length);
    this.next = new Int32Array(points.length);
    this.heads = new Int32Array(2 ** Math.ceil(Math.log2(4 * points.length + 1))); // of buckets by key
  }

  /** [a, b] with p strictly between them, or null. */
  about(p) {
    const { points, keys, heads, next } = this;
    const unknown = [];
    heads.fill(-1);
    for (let j = 0; j < points.length; j++) {
      const key = (keys[j] = this.key(p, points[j]));
      if (key !== key) {
        unknown.push(j);
        continue;
      }
      const place = this.bucket(key);
      const [low, high] = [this.bucket(key - NEAR), this.bucket(key + NEAR)];
      const k = this.met(p, j, place) ?? this.met(p, j, low, place) ?? this.met(p, j, high, place);
      if (k !== null) return [points[k], points[j]];
      next[j] = heads[place];
      heads[place] = j;
    }
    for (const j of unknown) for (const q of points) if (between(p, points[j], q)) return [q, points[j]];
    return null;
  }

  /** An earlier point in this bucket on the other side of p from point j, or null; `done` was looked through. */
  met(p, j, place, done = -1) {
    if (place === done) return null;
    const { points, keys, heads, next } = this;
    for (let k = heads[place]; k >= 0; k = next[k]) {
      const gap = Math.abs(keys[k] - keys[j]);
      if ((gap < NEAR || gap > 1 - NEAR) && between(p, points[j], points[k])) return k;
    }
    return null;
  }

  bucket(key) {
    return Math.floor(key * this.heads.length) & (this.heads.length - 1);
  }

  /** A number in [0, 1] for the line through p and q, the same from either side; NaN where floats cannot tell. */
  key(p, q) {
    const u = q.x * this.unitX - p.x * this.unitX;
    const v = q.y * this.unitY - p.y * this.unitY;
    const size = Math.abs(u) + Math.abs(v);
    if (!(size > 1e-250 && size < 1e250)) return NaN;
    return (v > 0 || (v === 0 && u > 0) ? 1 - u / size : 1 + u / size) / 2;
  }
}

/** Whether p lies strictly between a and b. */
function between(p, a, b) {
  return signDot(a, p, b, p) < 0 && turn(p, a, b) === 0;
}

/** A power of two that brings the largest of these near 1. */
function unitOf(values) {
  const top = values.reduce((most, v) => Math.max(most, Math.abs(v)), 0);
  return top > 0 ? 2 ** -Math.min(Math.max(lastBit(top) + 53, -1000), 1000) : 1;
}

// Margins

/**
 * The nearest points of two hulls that do not meet: a corner and a corner {p, q}, the normal being p - q; or a corner
 * and an edge {p, q, edge}, one of p and q on the edge, the normal being the edge turned by a right angle.
 */
function nearest(A, B) {
  const all = [...A.corners, ...B.corners];
  const unit = Math.min(unitOf(all.map((p) => p.x)), unitOf(all.map((p) => p.y)));
  let least = Infinity;
  features(A, B, unit, (square) => {
    if (square < least) least = square;
  });
  for (const most of [least * (1 + 1e-9), Infinity]) {
    const found = []; // floats say which pairs to try first, no more
    features(A, B, unit, (square, p, q, edge) => {
      if (square <= most) found.push({ p, q, edge, sign: edge ? signCross(edge[0], edge[1], p, q) : 1 });
    });
    const pair = found.find((some) => isNearest(some, A, B));
    if (pair) return pair;
  }
  throw new Error("hulls that do not meet have nearest points");
}

/** All pairs of a corner and a corner or an edge, with the squares of their distances in floats. */
function features(A, B, unit, visit) {
  for (const p of A.corners) for (const q of B.corners) visit(squareOf(p, q, unit), p, q, null);
  for (const p of A.corners) for (const edge of B.edges) visit(toEdge(p, edge, unit), p, edge[0], edge);
  for (const q of B.corners) for (const edge of A.edges) visit(toEdge(q, edge, unit), edge[0], q, edge);
}

function squareOf(p, q, unit) {
  const [u, v] = [p.x * unit - q.x * unit, p.y * unit - q.y * unit];
  return u * u + v * v;
}

/** ∞ where the foot of the perpendicular is not on the edge. */
function toEdge(p, [a, b], unit) {
  const [ux, uy] = [b.x * unit - a.x * unit, b.y * unit - a.y * unit];
  const [vx, vy] = [p.x * unit - a.x * unit, p.y * unit - a.y * unit];
  const along = ux * vx + uy * vy;
  const square = ux * ux + uy * uy;
  const across = ux * vy - uy * vx;
  return along >= -1e-9 * square && along <= (1 + 1e-9) * square && square > 0 ? (across * across) / square : Infinity;
}

/** Whether A lies beyond p, B beyond q along the normal, and the corner's foot on the edge: then nothing is nearer. */
function isNearest(pair, A, B) {
  const { p, q, edge } = pair;
  if (pair.sign === 0) return false;
  if (edge) {
    const corner = edge[0] === p ? q : p;
    if (signDot(corner, edge[0], edge[1], edge[0]) < 0 || signDot(corner, edge[1], edge[0], edge[1]) < 0) return false;
  }
  return A.corners.every((x) => along(pair, x, p) >= 0) && B.corners.every((x) => along(pair, x, q) <= 0);
}

/** The sign of normal·(x - o), with the normal from q to p. */
function along({ p, q, edge, sign }, x, o) {
  return edge ? sign * signCross(edge[0], edge[1], x, o) : signDot(p, q, x, o);
}

/** The points of one class whose margin is that of o. */
function touching(pair, points, o) {
  return points.filter((x) => along(pair, x, o) === 0).map((x) => x.i);
}

/** w = normal/‖normal‖, b that puts the line in the middle, the distance and half of it, each rounded at the end alone. */
function lineBetween({ p, q, edge, sign }, grid) {
  [p, q, ...(edge ?? [])].forEach(asWhole);
  const s = BigInt(sign);
  const [nx, ny] = edge ? [s * (edge[1].Y - edge[0].Y), s * (edge[0].X - edge[1].X)] : [p.X - q.X, p.Y - q.Y];
  const square = nx * nx + ny * ny;
  const sum = nx * (p.X + q.X) + ny * (p.Y + q.Y);
  const across = nx * (p.X - q.X) + ny * (p.Y - q.Y);
  const [distance, half] = [0, 1].map((less) => overRoot(across, square, grid.e - less)); // the half of ∞ is no half
  return { w: [overRoot(nx, square, 0), overRoot(ny, square, 0)], b: overRoot(-sum, square, grid.e - 1), distance, half };
}
