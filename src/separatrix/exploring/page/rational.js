// Points of the plane, their coordinates the rational numbers that floats are: signs, and quotients rounded at the end.
//
// A sign is taken from floats where their error bound allows, and otherwise from whole numbers (BigInt) in units of a
// power of two that all points of one question share: no answer depends on a tolerance.

const SAFE = 1e-15; // |fl(ab + cd) - (ab + cd)| ≤ SAFE (|ab| + |cd|), where a, b, c, d are differences of floats
const LEAST = 1e-280; // of |ab| + |cd|: below, products may have underflowed
const FLOAT = new DataView(new ArrayBuffer(8));

/** What the points of one question share: the power of two 2^e that all coordinates are whole multiples of. */
export class Grid {
  constructor() {
    this.e = 971;
  }

  point(x, y, i) {
    for (const v of [x, y]) if (v !== 0) this.e = Math.min(this.e, lastBit(v));
    return { x: x + 0, y: y + 0, i, grid: this, X: null, Y: null };
  }
}

/** The exponent of a float's last bit. */
export function lastBit(x) {
  FLOAT.setFloat64(0, x);
  return Math.max((FLOAT.getUint16(0) >> 4) & 0x7ff, 1) - 1075;
}

/** x/2^e, which is whole. */
function wholeOf(x, e) {
  if (x === 0) return 0n;
  const last = lastBit(x);
  const bits = FLOAT.getBigUint64(0) & 0xfffffffffffffn;
  const size = (Math.abs(x) < 2 ** -1022 ? bits : bits | 0x10000000000000n) << BigInt(last - e);
  return x < 0 ? -size : size;
}

/** The point with its coordinates as whole numbers X and Y. */
export function asWhole(p) {
  if (p.X === null) [p.X, p.Y] = [wholeOf(p.x, p.grid.e), wholeOf(p.y, p.grid.e)];
  return p;
}

/** (p - q)·(r - s), exactly. */
export function dotOf(p, q, r, s) {
  [p, q, r, s].forEach(asWhole);
  return (p.X - q.X) * (r.X - s.X) + (p.Y - q.Y) * (r.Y - s.Y);
}

/** (p - q) × (r - s), exactly. */
export function crossOf(p, q, r, s) {
  [p, q, r, s].forEach(asWhole);
  return (p.X - q.X) * (r.Y - s.Y) - (p.Y - q.Y) * (r.X - s.X);
}

/** The sign of (p - q)·(r - s). */
export function signDot(p, q, r, s) {
  const a = (p.x - q.x) * (r.x - s.x);
  const b = (p.y - q.y) * (r.y - s.y);
  const size = Math.abs(a) + Math.abs(b);
  if (Math.abs(a + b) > SAFE * size && size > LEAST) return a + b > 0 ? 1 : -1;
  return (r.x === s.x && r.y === s.y) ? 0 : signOf(dotOf(p, q, r, s));
}

/** The sign of (p - q) × (r - s). */
export function signCross(p, q, r, s) {
  const a = (p.x - q.x) * (r.y - s.y);
  const b = (p.y - q.y) * (r.x - s.x);
  const size = Math.abs(a) + Math.abs(b);
  if (Math.abs(a - b) > SAFE * size && size > LEAST) return a - b > 0 ? 1 : -1;
  return (r.x === s.x && r.y === s.y) ? 0 : signOf(crossOf(p, q, r, s));
}

/** 1 where p, q, r turn to the left, -1 to the right, 0 where they are in line. */
export function turn(p, q, r) {
  return signCross(q, p, r, p);
}

function signOf(whole) {
  return whole > 0n ? 1 : whole < 0n ? -1 : 0;
}

/** a/b as a float; b > 0. */
export function ratio(a, b) {
  const { value, e } = quotient(a, b, 0);
  return scaleBy(value, e);
}

/** a/√b 2^e as a float; b > 0. */
export function overRoot(a, b, e) {
  const { value, e: even } = quotient(a < 0n ? -a * a : a * a, b, 2 * e);
  return Math.sign(value) * scaleBy(Math.sqrt(Math.abs(value)), even / 2);
}

/** a/b 2^e = value 2^e', with seventy digits or so before value is rounded, and e' even where e is. */
function quotient(a, b, e) {
  const up = 2 * Math.ceil((70 + digits(b) - digits(a)) / 2);
  return { value: Number(up >= 0 ? (a << BigInt(up)) / b : a / (b << BigInt(-up))), e: e - up };
}

/** Binary digits, to four. */
function digits(whole) {
  return 4 * whole.toString(16).length;
}

/** value 2^e, in steps of which the last alone may leave float64. */
function scaleBy(value, e) {
  for (; e > 1000; e -= 1000) value *= 2 ** 1000;
  for (; e < -1000; e += 900) value *= 2 ** -900;
  return value * 2 ** e;
}
