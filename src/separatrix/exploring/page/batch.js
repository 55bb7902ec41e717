// The four batch methods, step by step: separatrix/walking/definition.py, bit for bit.
//
//     m = ZΦ ,  w_i = σ(-γ m_i)  or, at γ = ∞,  1[m_i ≤ 0] ,  step = Σ w_i z_i  or  Σ w_i z_i / Σ w_i ,  Φ⁺ = Φ + step
//
// Φ = nφ where a step is divided by n, so that whole numbers walk without rounding. At γ = ∞ the step stays the same
// while the wrong set does; then Φ = base + k step.

import { BLOCK, Tree, exponential, exponentOf, norm } from "./arithmetic.js";
import { Watch } from "./rows.js";

const LN2 = 0.6931471805599453;
const CUT = 40; // dropped weights sum to under exp(-40) of all
const UNDERFLOW = 600; // γm from which weights exp(-γm) near float64's end are enlarged by one factor

/** One run of a batch method. */
export class BatchRun {
  constructor(rows, method, gamma) {
    const { n, d } = rows;
    this.rows = rows;
    this.normalized = method.normalized;
    this.unit = method.normalized ? 1 : n; // Φ = unit φ
    this.hard = gamma === Infinity;
    this.gamma = this.hard ? gamma : Math.min(Math.max((gamma / this.unit) * rows.scale * rows.scale, 1e-300), 1e300);
    this.cut = CUT + LN2 * exponentOf(n);
    this.Phi = new Float64Array(d + 1);
    this.base = new Float64Array(d + 1);
    this.step = new Float64Array(d + 1);
    this.m = new Float64Array(n);
    this.w = new Float64Array(n);
    this.active = new Uint8Array(n); // at γ = ∞, the rows that pull
    this.last = new Uint8Array(n); // those of the last step
    this.stepped = false; // whether `last` counts
    this.half = this.hard; // from 0 the first step at γ = ∞ has w_i = ½ for every row
    this.tree = new Tree(d + 2, n);
    this.watch = new Watch(d + 1);
    this.t = this.k = 0;
    this.tie = -1; // at γ = ∞ the first t ≥ 1 with a margin of 0
    this.look();
  }

  /** Margins and weights at Φ. */
  look() {
    const { rows, m, Phi } = this;
    let low = Infinity;
    let errors = 0;
    let ties = false;
    for (let i = 0; i < rows.n; i++) {
      const x = rows.margin(i, Phi);
      m[i] = x;
      if (x < low) low = x;
      if (x <= 0) errors++;
      if (x === 0) ties = true;
    }
    this.low = low;
    this.errors = errors;
    if (this.hard) this.pickWrong();
    else this.weigh();
    if (this.hard && ties && this.tie < 0 && this.t > 0) this.tie = this.t;
  }

  /** w_i = 1[m_i ≤ 0], or ½ for every row at first; whether the wrong set is that of the last step. */
  pickWrong() {
    const { m, w, active, last, half } = this;
    let turns = !this.stepped;
    for (let i = 0; i < m.length; i++) {
      const pulls = half || m[i] <= 0 ? 1 : 0;
      w[i] = half ? 0.5 : pulls;
      active[i] = pulls;
      if (pulls !== last[i]) turns = true;
    }
    this.turns = turns;
  }

  /** w_i = σ(-γ m_i) up to the cut; where all would underflow and N = Σ w_i, exp(shift - γ m_i). */
  weigh() {
    const { gamma, m, w, low } = this;
    const shift = this.shift;
    this.tau = this.cut / gamma + Math.max(0, low);
    for (let i = 0; i < m.length; i++) {
      if (!(m[i] <= this.tau)) w[i] = 0;
      else if (shift) w[i] = exponential(shift - gamma * m[i]);
      else w[i] = 1 / (1 + exponential(gamma * m[i]));
    }
    this.turns = true;
  }

  /** Far past separation every σ(-γm) underflows; where N = Σ w_i their ratios are needed. */
  get shift() {
    const x = this.normalized && !this.hard ? this.gamma * this.low : 0;
    return x > UNDERFLOW ? x : 0;
  }

  /** Σ w_i z_i, its share of the constant column, and Σ w_i. */
  pull() {
    const { rows, w, tree } = this;
    const { X, sign, n, d, bias } = rows;
    const sum = tree.begin();
    for (let i = 0; i < n; i++) {
      if (w[i] !== 0) {
        const c = w[i] * sign[i];
        const at = i * d;
        for (let k = 0; k < d; k++) sum[k] += c * X[at + k];
        sum[d] += c * bias;
        sum[d + 1] += w[i];
      }
      if ((i + 1) % BLOCK === 0) tree.close((i + 1) / BLOCK - 1);
    }
    return tree.end();
  }

  /** Whether an iterate has come back. */
  repeats() {
    if (this.errors === 0) this.watch.forget();
    else if (!this.turns && this.step.every((x) => x === 0)) this.watch.stays(this.t);
    else if (this.turns && !this.half) this.watch.cameBack(this.Phi, this.t);
    return this.watch.period > 0;
  }

  /** Φ⁺ = base + k step: the step stays the same while the wrong set does. */
  forward() {
    const { Phi, base, step, rows } = this;
    if (this.turns) {
      const total = this.pull();
      const W = total[rows.d + 1];
      const N = this.normalized && W > 0 ? W : 1;
      base.set(Phi);
      for (let k = 0; k <= rows.d; k++) step[k] = total[k] / N;
      this.k = 0;
      this.stepped = this.hard && !this.half;
      if (this.hard) [this.active, this.last] = [this.last, this.active];
    }
    this.k++;
    for (let j = 0; j <= rows.d; j++) Phi[j] = base[j] + this.k * step[j];
    this.t++;
    this.half = false;
    this.look();
  }

  advance(steps, stop) {
    const end = this.t + steps;
    while (this.t < end && !(stop && this.errors === 0)) {
      if (this.repeats() && stop) return;
      this.forward();
    }
  }

  /** φ_t in the problem's own scale. */
  phi() {
    return this.Phi.map((x) => (x / this.unit) * this.rows.scale);
  }

  measure(gamma) {
    const { rows, m } = this;
    const { n, scale } = rows;
    let loss = 0;
    for (let i = 0; i < n; i++) {
      if (this.hard) loss += Math.max(0, -m[i]);
      else if (m[i] <= this.tau) loss += softplus(-this.gamma * m[i]);
    }
    const total = this.pull();
    const grad = norm(total, 0, rows.d + 1) * (this.low > 0 ? Math.exp(-this.shift) : 1);
    const length = norm(this.Phi, 0, rows.d + 1);
    return {
      errors: this.errors,
      accuracy: 1 - this.errors / n,
      loss: this.hard ? (loss / n / this.unit) * scale * scale : loss / n,
      gradNorm: (grad / n) * scale,
      thetaNorm: (this.hard ? 1 : gamma) * ((length / this.unit) * scale),
      minMargin: length > 0 ? (this.low / length) * scale : NaN,
    };
  }
}

/** log(1 + exp(x)). */
function softplus(x) {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}
