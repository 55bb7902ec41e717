// The arithmetic of separatrix/core/definition.py, bit for bit: dot products, sums of rows, exp, norms.
//
// JavaScript's numbers are IEEE float64, and every product and sum is rounded on its own, as rule 1 asks. Math.sqrt is
// exact. Math.exp, Math.log, Math.pow and Math.hypot differ between browsers: no iterate depends on them.

export const BLOCK = 512; // rows in a block of a sum
export const GROUP = 64; // blocks in a group, groups in a group of the next level

const LANES = new Float64Array(8);

/** Rule 2: Σ_k x_k v_k of the row that begins at `at` in the matrix X of d columns. */
export function dot(X, at, v, d) {
  const D = d - (d % 8);
  let total = 0;
  if (D > 0) {
    LANES.fill(0);
    for (let k = 0; k < D; k++) LANES[k & 7] += X[at + k] * v[k];
    const [s0, s1, s2, s3, s4, s5, s6, s7] = LANES;
    total = s0 + s4 + (s2 + s6) + (s1 + s5 + (s3 + s7));
  }
  for (let k = D; k < d; k++) total += X[at + k] * v[k];
  return total;
}

/** Rule 3: a sum of rows, in order inside blocks of 512, over 64 blocks at a time, over 64 such groups, … */
export class Tree {
  /** @param {number} width entries of a row  @param {number} n rows */
  constructor(width, n) {
    this.width = width;
    this.levels = [];
    for (let count = Math.ceil(n / BLOCK); ; count = Math.ceil(count / GROUP)) {
      this.levels.push(new Float64Array(width));
      if (count <= 1) break;
    }
  }

  /** Begin anew; rows are then added to `levels[0]`. */
  begin() {
    for (const sum of this.levels) sum.fill(0);
    return this.levels[0];
  }

  /** Block b is complete: add it to its group, and full groups to theirs. */
  close(b) {
    const { levels, width } = this;
    for (let l = 0; l + 1 < levels.length; l++) {
      for (let k = 0; k < width; k++) levels[l + 1][k] += levels[l][k];
      levels[l].fill(0);
      b++;
      if (b % GROUP !== 0) return;
      b = b / GROUP - 1;
    }
  }

  /** The sum: groups that are not full are added to theirs. */
  end() {
    const { levels, width } = this;
    for (let l = 0; l + 1 < levels.length; l++)
      for (let k = 0; k < width; k++) levels[l + 1][k] += levels[l][k];
    const total = levels[levels.length - 1];
    for (let k = 0; k < width; k++) total[k] += 0; // no -0
    return total;
  }
}

// Rule 4: x = k ln 2 + r, exp(x) = 2^k (1 + r + r² (1/2! + r/3! + …)). ln 2 in two parts, k times the first is exact.
const PER_LN2 = 1.4426950408889634;
const LN2_HIGH = 0.6931471805598903; // 0x1.62e42fefa38p-1
const LN2_LOW = 5.497923018708371e-14; // 0x1.ef35793c7673p-45
const WHOLE = 6755399441055744; // 1.5 2^52: x + WHOLE - WHOLE is x rounded to a whole number, halves to even
const POWERS = new Float64Array(2200).map((_, k) => twoTo(k - 1100));

/** 2^k, exactly. */
function twoTo(k) {
  let power = 1;
  for (let j = 0; j < Math.abs(k); j++) power *= k > 0 ? 2 : 0.5;
  return power;
}

/** y 2^k, rounded once: in two factors, neither of which leaves float64. */
export function ldexp(y, k) {
  const first = k >> 1;
  return y * POWERS[first + 1100] * POWERS[k - first + 1100];
}

/** exp, at most one unit in the last place off, and the same bits everywhere. */
export function exponential(x) {
  x = x < -746 ? -746 : x > 710 ? 710 : x;
  const k = x * PER_LN2 + WHOLE - WHOLE;
  const hi = x - k * LN2_HIGH;
  const lo = k * LN2_LOW;
  const r = hi - lo;
  let q = 1 / 6227020800; // 1/13!
  q = q * r + 1 / 479001600;
  q = q * r + 1 / 39916800;
  q = q * r + 1 / 3628800;
  q = q * r + 1 / 362880;
  q = q * r + 1 / 40320;
  q = q * r + 1 / 5040;
  q = q * r + 1 / 720;
  q = q * r + 1 / 120;
  q = q * r + 1 / 24;
  q = q * r + 1 / 6;
  q = q * r + 1 / 2;
  const y = hi - (lo - r * r * q) + 1;
  const first = k >> 1;
  return y * POWERS[first + 1100] * POWERS[k - first + 1100];
}

const WORD = new DataView(new ArrayBuffer(8));

/** e with x = c 2^e and ½ ≤ c < 1, of x > 0. */
export function exponentOf(x) {
  WORD.setFloat64(0, x);
  const e = (WORD.getUint16(0) >> 4) & 0x7ff;
  return e === 0 ? exponentOf(x * 2 ** 64) - 64 : e - 1022;
}

/** Rule 5: ‖v‖ of d entries from `at`, in units of a power of two where squares would leave float64. */
export function norm(X, at, d) {
  const row = X.subarray(at, at + d);
  const s = dot(row, 0, row, d);
  if (1e-290 < s && s < 1e290) return Math.sqrt(s);
  let big = 0;
  for (const x of row) big = Math.max(big, Math.abs(x));
  if (!(0 < big && big < Infinity)) return s !== s ? s : big;
  const e = exponentOf(big);
  const short = row.map((x) => ldexp(x, -e));
  return ldexp(Math.sqrt(dot(short, 0, short, d)), e);
}

/** ‖(a, bias)‖ of a row of this length, without overflow or underflow on the way. */
export function hypotenuse(length, bias) {
  if (!bias) return length;
  const e = exponentOf(Math.max(length, bias));
  const a = ldexp(length, -e);
  const b = ldexp(bias, -e);
  return ldexp(Math.sqrt(a * a + b * b), e);
}
