// Two columns decided exactly: the widest margin with its support, or the smallest proof of overlap.
//
// Coordinates are the rational numbers that floats are. A sign is taken from floats where their error bound allows, and
// otherwise from whole numbers (BigInt) in units of a common power of two: nothing here depends on a tolerance.

const ORIGIN = { x: 0, y: 0, i: -1 };
const SAFE = 1e-15; // |fl(ab + cd) - (ab + cd)| ≤ SAFE (|ab| + |cd|), where a, b, c, d are differences of floats
const LEAST = 1e-280; // of |ab| + |cd|: below, products may underflow

/**
 * The verdict on these points.
 * @param {{x: number, y: number, label: 1|-1}[]} points  @param {boolean} intercept
 * @returns {{separable: true, mu: number, theta: number[], support: number[]}
 *   | {separable: false, proof: {kind: string, indices: number[], weights: number[]}}}
 *   theta has ‖w‖ = 1; support are all points whose margin is μ; with an intercept weights sum to 1 in each class,
 *   without one in total. Points of one class with an intercept have μ = ∞ and no support.
 */
export function decide(points, intercept) {
  const proof = intercept ? overlap(points) : around(points);
  if (proof) return { separable: false, proof };
  return { separable: true, ...(intercept ? between(points) : from(points)) };
}

// Signs

/** The sign of (p - q)·(r - s). */
function signDot(p, q, r, s) {
  const a = (p.x - q.x) * (r.x - s.x);
  const b = (p.y - q.y) * (r.y - s.y);
  const size = Math.abs(a) + Math.abs(b);
  if (Math.abs(a + b) > SAFE * size && size > LEAST) return Math.sign(a + b);
  const [px, py, qx, qy, rx, ry, sx, sy] = whole([p, q, r, s]).flat;
  return signOf((px - qx) * (rx - sx) + (py - qy) * (ry - sy));
}

/** The sign of (q - p) × (r - p): 1 where p, q, r turn to the left. */
function turn(p, q, r) {
  const a = (q.x - p.x) * (r.y - p.y);
  const b = (q.y - p.y) * (r.x - p.x);
  const size = Math.abs(a) + Math.abs(b);
  if (Math.abs(a - b) > SAFE * size && size > LEAST) return Math.sign(a - b);
  const [px, py, qx, qy, rx, ry] = whole([p, q, r]).flat;
  return signOf((qx - px) * (ry - py) - (qy - py) * (rx - px));
}

function signOf(whole) {
  return whole > 0n ? 1 : whole < 0n ? -1 : 0;
}

const VIEW = new DataView(new ArrayBuffer(8));

/** x = m 2^e with a whole m. */
function parts(x) {
  VIEW.setFloat64(0, x);
  const bits = VIEW.getBigUint64(0);
  const field = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xfffffffffffffn;
  const m = field ? fraction | 0x10000000000000n : fraction;
  return { m: x < 0 ? -m : m, e: Math.max(field, 1) - 1075 };
}

/** The coordinates of these points as whole numbers in units of 2^e. */
function whole(points) {
  const found = points.flatMap((p) => [parts(p.x), parts(p.y)]);
  let e = Infinity;
  for (const part of found) if (part.m !== 0n && part.e < e) e = part.e;
  if (e === Infinity) e = 0;
  return { e, flat: found.map((part) => (part.m === 0n ? 0n : part.m << BigInt(part.e - e))) };
}

/** a/b as a float; b > 0. */
function ratio(a, b) {
  return rounded(a, b, 0, false);
}

/** a/b 2^e, or its square root with the sign of a, where e is even; b > 0. */
function rounded(a, b, e, root) {
  if (a === 0n) return 0;
  const size = a < 0n ? -a : a;
  let up = 70 + length(b) - length(size);
  if ((up - e) % 2) up++;
  const quotient = up >= 0 ? (size << BigInt(up)) / b : size / (b << BigInt(-up));
  const value = root ? Math.sqrt(Number(quotient)) : Number(quotient); // of 70 digits or so
  return (a < 0n ? -1 : 1) * scaled(value, root ? (e - up) / 2 : e - up);
}

function length(whole) {
  return whole.toString(16).length * 4;
}

/** value 2^e, in steps that leave float64 at the end at most. */
function scaled(value, e) {
  for (; e > 1000; e -= 1000) value *= 2 ** 1000;
  for (; e < -1000; e += 900) value *= 2 ** -900;
  return value * 2 ** e;
}

// Hulls

/** The corners of the convex hull, to the left in turn, each point once and none on an edge. */
function hull(points) {
  const sorted = points.slice().sort((p, q) => p.x - q.x || p.y - q.y);
  const distinct = sorted.filter((p, k) => k === 0 || p.x !== sorted[k - 1].x || p.y !== sorted[k - 1].y);
  if (distinct.length < 3) return distinct;
  const lower = chain(distinct);
  const upper = chain(distinct.reverse());
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

/** The edges of a hull; a hull of two points has one, of one point none. */
function edges(corners) {
  if (corners.length < 3) return corners.length === 2 ? [corners] : [];
  return corners.map((p, k) => [p, corners[(k + 1) % corners.length]]);
}

/** Whether p lies in the hull or on its border. */
function holds(corners, p) {
  if (corners.length === 1) return corners[0].x === p.x && corners[0].y === p.y;
  if (corners.length === 2) return turn(corners[0], corners[1], p) === 0 && signDot(corners[0], p, corners[1], p) <= 0;
  return edges(corners).every(([a, b]) => turn(a, b, p) >= 0);
}

function cross([a, b], [c, d]) {
  return turn(a, b, c) * turn(a, b, d) < 0 && turn(c, d, a) * turn(c, d, b) < 0;
}

// Overlap

/** With an intercept: a point that is a mean of points of either class, by the fewest points there are; or null. */
function overlap(points) {
  const all = points.map(({ x, y }, i) => ({ x, y, i }));
  const plus = all.filter((_, i) => points[i].label > 0);
  const minus = all.filter((_, i) => points[i].label < 0);
  if (!plus.length || !minus.length) return null;
  const A = hull(plus);
  const B = hull(minus);
  const crossing = crossingOf(A, B);
  const inA = minus.filter((p) => holds(A, p));
  const inB = plus.filter((p) => holds(B, p));
  if (!crossing && !inA.length && !inB.length) return null;
  return (
    samePoint(plus, minus) ||
    onSegment(inB, minus) ||
    onSegment(inA, plus) ||
    (crossing && segments(...crossing)) ||
    (inB.length ? inTriangle(inB[0], B) : inTriangle(inA[0], A))
  );
}

function crossingOf(A, B) {
  const others = edges(B);
  for (const e of edges(A)) for (const f of others) if (cross(e, f)) return [e, f];
  return null;
}

function samePoint(plus, minus) {
  const seen = new Map(plus.map((p) => [`${p.x} ${p.y}`, p.i]));
  const q = minus.find((p) => seen.has(`${p.x} ${p.y}`));
  return q ? { kind: "same point", indices: [seen.get(`${q.x} ${q.y}`), q.i], weights: [1, 1] } : null;
}

/** A point of one class between two of the other. */
function onSegment(some, others) {
  const finder = new Opposites(others);
  for (const p of some) {
    const found = finder.about(p);
    if (found) return { kind: "point on segment", indices: [p.i, found[0].i, found[1].i], weights: [1, ...shares(p, ...found)] };
  }
  return null;
}

/** λ_a, λ_b with λ_a a + λ_b b = p, λ_a + λ_b = 1, of p between a and b. */
function shares(p, a, b) {
  const [px, py, ax, ay, bx, by] = whole([p, a, b]).flat;
  const [dx, dy] = [bx - ax, by - ay];
  const square = dx * dx + dy * dy;
  const along = (px - ax) * dx + (py - ay) * dy;
  return [ratio(square - along, square), ratio(along, square)];
}

/** Segments that cross: a + s (b - a) = c + t (d - c). */
function segments([a, b], [c, d]) {
  const [ax, ay, bx, by, cx, cy, dx, dy] = whole([a, b, c, d]).flat;
  const det = (bx - ax) * (dy - cy) - (by - ay) * (dx - cx);
  const s = (cx - ax) * (dy - cy) - (cy - ay) * (dx - cx);
  const t = (cx - ax) * (by - ay) - (cy - ay) * (bx - ax);
  const weights = [det - s, s, det - t, t].map((part) => (det < 0n ? ratio(-part, -det) : ratio(part, det)));
  return { kind: "crossing segments", indices: [a.i, b.i, c.i, d.i], weights };
}

/** A point in a triangle of corners. */
function inTriangle(p, corners) {
  const [a, b, c] = triangleOf(p, corners);
  return { kind: "point in triangle", indices: [p.i, a.i, b.i, c.i], weights: [1, ...areas(p, a, b, c)] };
}

function triangleOf(p, corners) {
  let k = 1;
  while (k + 2 < corners.length && turn(corners[0], corners[k + 1], p) > 0) k++;
  return [corners[0], corners[k], corners[k + 1]];
}

/** Barycentric coordinates. */
function areas(p, a, b, c) {
  const [px, py, ax, ay, bx, by, cx, cy] = whole([p, a, b, c]).flat;
  const of = (ux, uy, vx, vy) => (ux - px) * (vy - py) - (uy - py) * (vx - px);
  const parts = [of(bx, by, cx, cy), of(cx, cy, ax, ay), of(ax, ay, bx, by)];
  const sum = parts[0] + parts[1] + parts[2];
  return parts.map((part) => ratio(part, sum));
}

const BUCKETS = 1024;
const NEAR = 1e-14; // keys of one line differ by less

/** Finds two points on opposite sides of a third, by their directions: lines through it with nearly one key are compared. */
class Opposites {
  constructor(points) {
    this.points = points;
    this.keys = new Float64Array(points.length);
    this.next = new Int32Array(points.length);
    this.heads = new Int32Array(BUCKETS + 1);
    this.unknown = [];
  }

  /** [a, b] with p strictly between them, or null. */
  about(p) {
    this.heads.fill(-1);
    this.unknown.length = 0;
    for (let j = 0; j < this.points.length; j++) {
      const found = this.met(p, j);
      if (found) return found;
    }
    return null;
  }

  met(p, j) {
    const { points, keys, heads, next } = this;
    const q = points[j];
    const key = line(q.x - p.x, q.y - p.y);
    const opposed = (k) => turn(p, q, points[k]) === 0 && signDot(q, p, points[k], p) < 0;
    keys[j] = key;
    if (key !== key) {
      this.unknown.push(j);
      for (let k = 0; k < j; k++) if (opposed(k)) return [q, points[k]];
      return null;
    }
    const bucket = Math.floor(key * BUCKETS);
    for (const near of [Math.floor((key - NEAR) * BUCKETS), bucket, Math.floor((key + NEAR) * BUCKETS)])
      for (let k = heads[(near + BUCKETS) % BUCKETS]; k >= 0; k = next[k]) {
        const gap = Math.abs(keys[k] - key);
        if ((gap < NEAR || gap > 1 - NEAR) && opposed(k)) return [q, points[k]];
      }
    for (const k of this.unknown) if (opposed(k)) return [q, points[k]];
    next[j] = heads[bucket % BUCKETS];
    heads[bucket % BUCKETS] = j;
    return null;
  }
}

/** A number in [0, 1] for the line along (u, v), the same for (-u, -v); NaN where floats cannot tell. */
function line(u, v) {
  const s = u / (Math.abs(u) + Math.abs(v));
  return (v > 0 || (v === 0 && u > 0) ? 1 - s : 1 + s) / 2;
}

/** Without an intercept: 0 as a mean of rows z_i = y_i a_i, by the fewest there are; or null. */
function around(points) {
  const Z = rowsOf(points);
  const zero = Z.find((z) => z.x === 0 && z.y === 0);
  if (zero) return { kind: "zero row", indices: [zero.i], weights: [1] };
  const corners = hull(Z);
  if (!Z.length || !holds(corners, ORIGIN)) return null;
  const same = samePoint(Z, Z.map((z) => ({ x: -z.x, y: -z.y, i: z.i })));
  if (same) return { ...same, weights: [0.5, 0.5] };
  const pair = new Opposites(Z).about(ORIGIN);
  if (pair) return { kind: "opposite directions", indices: pair.map((z) => z.i), weights: shares(ORIGIN, ...pair) };
  const three = triangleOf(ORIGIN, corners);
  return { kind: "triangle around 0", indices: three.map((z) => z.i), weights: areas(ORIGIN, ...three) };
}

function rowsOf(points) {
  return points.map(({ x, y, label }, i) => ({ x: label * x, y: label * y, i }));
}

// Margins

/** With an intercept: half the distance between the hulls. */
function between(points) {
  const all = points.map(({ x, y }, i) => ({ x, y, i }));
  const plus = all.filter((_, i) => points[i].label > 0);
  const minus = all.filter((_, i) => points[i].label < 0);
  if (!plus.length || !minus.length) return { mu: Infinity, theta: [0, 0, plus.length ? 1 : -1], support: [] };
  const found = nearest(hull(plus), hull(minus));
  const { w, b, distance } = plane(found);
  const support = [...touching(found, plus, found.p), ...touching(found, minus, found.q)].sort((i, j) => i - j);
  return { mu: distance / 2, theta: [...w, b], support };
}

/** Without an intercept: the distance from 0 to the hull of the rows z_i. */
function from(points) {
  if (!points.length) return { mu: Infinity, theta: [0, 0], support: [] };
  const Z = rowsOf(points);
  const found = nearest(hull(Z), [ORIGIN]);
  const { w, distance } = plane(found);
  return { mu: distance, theta: w, support: touching(found, Z, found.p) };
}

/**
 * The nearest points of two hulls that do not meet: a corner and a corner {p, q}, the normal being p - q; or a corner
 * and an edge {p, q, edge: [a, b]}, one of p and q on the edge, the normal being (b - a) turned by a right angle.
 */
function nearest(A, B) {
  const found = candidates(A, B).sort((f, g) => f.square - g.square);
  return found.find((pair) => isNearest(pair, A, B));
}

/** All pairs of features, with their squared distances in floats: what is tried first, no more. */
function candidates(A, B) {
  const found = [];
  const size = [...A, ...B].reduce((most, p) => Math.max(most, Math.abs(p.x), Math.abs(p.y)), 0);
  const unit = size > 0 ? 2 ** -Math.min(Math.max(Math.ceil(Math.log2(size)), -1000), 1000) : 1;
  for (const p of A) for (const q of B) found.push({ p, q, square: square(p, q, unit) });
  for (const p of A) for (const edge of edges(B)) found.push({ p, q: edge[0], edge, square: toLine(p, edge, unit) });
  for (const q of B) for (const edge of edges(A)) found.push({ p: edge[0], q, edge, square: toLine(q, edge, unit) });
  return found;
}

function square(p, q, unit) {
  const u = (p.x * unit - q.x * unit) ** 2 + (p.y * unit - q.y * unit) ** 2;
  return u === u ? u : Infinity;
}

function toLine(p, [a, b], unit) {
  const [ux, uy] = [b.x * unit - a.x * unit, b.y * unit - a.y * unit];
  const [vx, vy] = [p.x * unit - a.x * unit, p.y * unit - a.y * unit];
  const along = ux * vx + uy * vy;
  const length = ux * ux + uy * uy;
  if (!(along >= -1e-9 * length && along <= (1 + 1e-9) * length)) return Infinity;
  return (ux * vy - uy * vx) ** 2 / length;
}

/** Whether the line through p across the normal has A on its one side, that through q has B on the other. */
function isNearest(pair, A, B) {
  const { p, q, edge } = pair;
  if (edge) {
    const corner = edge[0] === p ? q : p;
    const [a, b] = edge;
    if (signDot(corner, a, b, a) < 0 || signDot(corner, b, a, b) < 0) return false; // its foot is not on the edge
    if (turn(a, b, corner) === 0) return false;
  }
  return A.every((x) => side(pair, x, p) >= 0) && B.every((x) => side(pair, x, q) <= 0) && side(pair, p, q) > 0;
}

/** The sign of normal·(x - o), with the normal from q to p. */
function side({ p, q, edge }, x, o) {
  if (!edge) return signDot(p, q, x, o);
  const [a, b] = edge;
  return signCross(b, a, x, o) * signCross(b, a, p, q);
}

/** The sign of (p - q) × (r - s). */
function signCross(p, q, r, s) {
  return signDot(p, q, { x: r.y, y: s.x }, { x: s.y, y: r.x });
}

/** The points of one class on the line through o. */
function touching(pair, points, o) {
  return points.filter((x) => side(pair, x, o) === 0).map((x) => x.i);
}

/** w = normal/‖normal‖, b with the line in the middle, and the distance between p and q along w. */
function plane({ p, q, edge }) {
  const { e, flat } = whole(edge ? [p, q, ...edge] : [p, q]);
  const [px, py, qx, qy] = flat;
  let [nx, ny] = edge ? [flat[5] - flat[7], flat[6] - flat[4]] : [px - qx, py - qy];
  if (nx * (px - qx) + ny * (py - qy) < 0n) [nx, ny] = [-nx, -ny];
  const square = nx * nx + ny * ny;
  const over = (value, e) => rounded(value < 0n ? -value * value : value * value, square, 2 * e, true); // value/‖n‖ 2^e
  const middle = nx * (px + qx) + ny * (py + qy);
  return { w: [over(nx, 0), over(ny, 0)], b: -over(middle, e - 1), distance: over(nx * (px - qx) + ny * (py - qy), e) };
}
