// The row-at-a-time perceptron, φ⁺ = φ + z_j for one j with z_jᵀφ ≤ 0: the next in order, or the most wrong one.

import { BLOCK, Tree, norm } from "./arithmetic.js";
import { Watch } from "./rows.js";

/** One run of the row-at-a-time perceptron (walking/engines/numpy_perceptron.py). */
export class SweepRun {
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
