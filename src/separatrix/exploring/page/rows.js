// What every run has: rows ready for products, and a watch for iterates that come back.

import { dot, exponentOf, hypotenuse, ldexp, norm } from "./arithmetic.js";

/** Rows z_i = sign_i (a_i, bias): sign_i = y_i/scale, a power of two that is 1 unless squares would leave float64. */
export class Rows {
  constructor(X, y, intercept) {
    this.n = y.length;
    this.d = this.n ? X[0].length : 0;
    this.bias = intercept ? 1 : 0;
    this.X = new Float64Array(this.n * this.d);
    X.forEach((row, i) => this.X.set(row, i * this.d));
    let top = 0;
    for (let i = 0; i < this.n; i++) top = Math.max(top, hypotenuse(norm(this.X, i * this.d, this.d), this.bias));
    this.R = top;
    if (!Number.isFinite(top)) throw new Error("A point is too far from 0 for floats; scale the points down.");
    this.scale = top === 0 || (1e-60 < top && top < 1e60) ? 1 : powerNear(top);
    this.sign = Float64Array.from(y, (label) => label / this.scale);
  }

  /** m_i = z_iᵀφ/scale of row i, φ with the constant column's entry last. */
  margin(i, phi) {
    return this.sign[i] * (dot(this.X, i * this.d, phi, this.d) + this.bias * phi[this.d]);
  }

  /** The smallest margin. */
  lowest(phi) {
    let low = Infinity;
    for (let i = 0; i < this.n; i++) low = Math.min(low, this.margin(i, phi));
    return low;
  }
}

/** A power of two near `top`, that float64 can divide by. */
function powerNear(top) {
  return ldexp(1, Math.min(Math.max(exponentOf(top), -1021), 1023));
}

/** The smallest z_iᵀφ, for its sign; where products overflow or vanish, that of a φ of length about 1. */
export function lowestSign(rows, phi) {
  const low = rows.lowest(phi);
  const top = phi.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  if ((Number.isFinite(low) && low !== 0) || !(0 < top && top < Infinity)) return low;
  return rows.lowest(phi.map((x) => ldexp(x, -exponentOf(top))));
}

/** Brent's watch for an iterate that comes back bit for bit, after which a run repeats itself (walking/watch.py). */
export class Watch {
  constructor(width) {
    this.mark = new Float64Array(width);
    this.bits = new Int32Array(this.mark.buffer);
    this.t = this.since = this.until = this.period = 0;
  }

  cameBack(Phi, t) {
    if (this.period) return;
    if (this.since > 0 && t > this.t && this.equals(Phi)) {
      this.period = t - this.t;
      return;
    }
    if (this.since === this.until) {
      this.mark.set(Phi);
      this.t = t;
      this.since = 0;
      this.until = Math.max(1, 2 * this.until);
    }
    this.since++;
  }

  equals(Phi) {
    if (this.mark[0] !== Phi[0]) return false; // most differ here
    const bits = new Int32Array(Phi.buffer, Phi.byteOffset, 2 * Phi.length);
    for (let k = 0; k < bits.length; k++) if (this.bits[k] !== bits[k]) return false;
    return true;
  }

  stays(t) {
    if (this.period) return;
    this.t = t - 1;
    this.period = 1;
  }

  forget() {
    this.since = this.until = 0;
  }
}
