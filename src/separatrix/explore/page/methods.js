// The five methods and one run of them: the steps of separatrix/walking/definition.py, bit for bit.
//
//     φ⁺ = φ + (1/N) Σ w_i z_i ,   w_i = σ(-γ m_i)  or, at γ = ∞,  1[m_i ≤ 0] ,   N = n  or  Σ w_i ;   m = Zφ
//
// and the perceptron, φ⁺ = φ + z_j for one j with m_j ≤ 0. The iterate is kept as Φ = nφ where N = n, as Python keeps it.

import { Tree, BLOCK, dot, exponential, exponentOf, hypotenuse, ldexp, norm } from "./arithmetic.js";

export const METHODS = [
  { name: "lr-gd", label: "LR+GD", logistic: true, normalized: false, rowwise: false },
  { name: "normalized-lr-gd", label: "Normalized LR+GD", logistic: true, normalized: true, rowwise: false },
  { name: "batch-perceptron", label: "Batch Perceptron", logistic: false, normalized: false, rowwise: false },
  { name: "normalized-batch-perceptron", label: "Normalized Batch Perceptron", logistic: false, normalized: true, rowwise: false },
  { name: "perceptron", label: "Perceptron", logistic: false, normalized: false, rowwise: true },
];

const LN2 = 0.6931471805599453;
const CUT = 40; // dropped weights sum to under exp(-40) of all
const UNDERFLOW = 600; // γm from which weights exp(-γm) near float64's end are enlarged by one factor

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
    this.scale = top === 0 || (1e-60 < top && top < 1e60) ? 1 : ldexp(1, Math.min(Math.max(exponentOf(top), -1021), 1023));
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

/** Brent's watch for an iterate that comes back bit for bit: the run then repeats itself for ever (walking/watch.py). */
class Watch {
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

/** One run of a batch method. */
class BatchRun {
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

/** One run of the row-at-a-time perceptron (walking/engines/numpy_perceptron.py). */
class SweepRun {
  constructor(rows, order) {
    this.rows = rows;
    this.mostWrong = order === "most-wrong";
    this.Phi = new Float64Array(rows.d + 1);
    this.watch = new Watch(rows.d + 1);
    this.t = this.position = this.clean = 0;
    this.tie = -1;
  }

  /** 0 once every row was right in turn; before that only a full pass could tell. */
  get errors() {
    return this.clean >= this.rows.n ? 0 : null;
  }

  add(j) {
    const { X, sign, d, bias } = this.rows;
    for (let k = 0; k < d; k++) this.Phi[k] += sign[j] * X[j * d + k];
    this.Phi[d] += sign[j] * bias;
    this.t++;
    this.clean = 0;
  }

  advance(steps, stop) {
    const end = this.t + steps;
    if (this.mostWrong) this.addMostWrong(end, stop);
    else while (this.clean < this.rows.n && this.t < end && !(stop && this.watch.period)) this.visit();
    if (!stop && this.errors === 0) this.t = end; // a perceptron that is right stays where it is
  }

  /** Look at the next row of this sweep. */
  visit() {
    const j = this.position++;
    if (this.rows.margin(j, this.Phi) <= 0) this.add(j);
    else this.clean++;
    if (this.position === this.rows.n) {
      this.position = 0;
      if (this.clean < this.rows.n) this.watch.cameBack(this.Phi, this.t);
    }
  }

  addMostWrong(end, stop) {
    const { rows } = this;
    for (;;) {
      let j = 0;
      let low = Infinity;
      for (let i = 0; i < rows.n; i++) {
        const m = rows.margin(i, this.Phi);
        if (m < low) [low, j] = [m, i];
      }
      this.clean = low > 0 ? rows.n : 0;
      if (this.clean || this.t >= end) return;
      this.watch.cameBack(this.Phi, this.t);
      if (stop && this.watch.period) return;
      this.add(j);
    }
  }

  phi() {
    return this.Phi.map((x) => x * this.rows.scale);
  }

  measure() {
    const { rows } = this;
    const { n, d, scale } = rows;
    const total = new Tree(d + 1, n);
    const sum = total.begin();
    let low = Infinity;
    let errors = 0;
    let loss = 0;
    for (let i = 0; i < n; i++) {
      const m = rows.margin(i, this.Phi);
      if (m < low) low = m;
      if (m <= 0) {
        errors++;
        loss -= m;
        for (let k = 0; k < d; k++) sum[k] += rows.sign[i] * rows.X[i * d + k];
        sum[d] += rows.sign[i] * rows.bias;
      }
      if ((i + 1) % BLOCK === 0) total.close((i + 1) / BLOCK - 1);
    }
    const length = norm(this.Phi, 0, d + 1);
    return {
      errors,
      accuracy: 1 - errors / n,
      loss: (loss / n) * scale * scale,
      gradNorm: (norm(total.end(), 0, d + 1) / n) * scale,
      thetaNorm: length * scale,
      minMargin: length > 0 ? (low / length) * scale : NaN,
    };
  }
}

/** One run from θ_0 = 0, step by step. */
export class Walk {
  /**
   * @param {{X: number[][], y: number[], method: string, gamma: number, intercept?: boolean, order?: string}} options
   *   y is ±1; gamma in (0, ∞] counts for the logistic methods only; order "cyclic" or "most-wrong" for the perceptron
   */
  constructor({ X, y, method, gamma = Infinity, intercept = false, order = "cyclic" }) {
    this.method = METHODS.find((entry) => entry.name === method);
    if (!this.method) throw new Error(`unknown method ${method}`);
    this.gamma = this.method.logistic ? gamma : Infinity;
    this.rows = new Rows(X, y, intercept);
    this.run = this.method.rowwise ? new SweepRun(this.rows, order) : new BatchRun(this.rows, this.method, this.gamma);
  }

  /** Updates made. */
  get t() {
    return this.run.t;
  }

  /** Wrong rows; null where only a full pass could tell, as in the perceptron's sweeps before they end. */
  get errors() {
    return this.run.errors;
  }

  /** Whether every row is right by the run's own margins and by those of φ itself. */
  get separated() {
    return this.run.errors === 0 && lowestSign(this.rows, this.run.phi()) > 0;
  }

  /** After how many updates an iterate came back while rows were wrong; 0 where none was seen. */
  get cycle() {
    return this.run.watch.period;
  }

  /** At γ = ∞ the first t ≥ 1 at which a row lay exactly on the line; -1 where none did, and for the perceptron. */
  get tie() {
    return this.run.tie;
  }

  /** Up to `steps` updates; with `stop`, none once no row is wrong or an iterate has come back. */
  advance(steps, stop = false) {
    if (this.rows.n > 0) this.run.advance(steps, stop);
  }

  /** φ_t = θ_t/γ, the intercept's entry last. */
  phi() {
    const phi = this.run.phi();
    return this.rows.bias ? phi : phi.slice(0, -1);
  }

  /** θ_t, or φ_t at γ = ∞. */
  theta() {
    return this.gamma === Infinity ? this.phi() : this.phi().map((x) => this.gamma * x);
  }

  /** Errors, accuracy, loss, gradNorm, thetaNorm and minMargin of this iterate. */
  measure() {
    return this.run.measure(this.gamma);
  }

  /** z_iᵀθ of every row (z_iᵀφ at γ = ∞). */
  margins() {
    const theta = new Float64Array(this.rows.d + 1);
    theta.set(this.theta());
    return Float64Array.from(this.rows.sign, (_, i) => this.rows.margin(i, theta) * this.rows.scale);
  }
}

/** The smallest z_iᵀφ, for its sign; where products overflow or vanish, that of a φ of length about 1. */
function lowestSign(rows, phi) {
  const low = rows.lowest(phi);
  const top = phi.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  if ((Number.isFinite(low) && low !== 0) || !(0 < top && top < Infinity)) return low;
  return rows.lowest(phi.map((x) => ldexp(x, -exponentOf(top))));
}
