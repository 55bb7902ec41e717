// The five methods, and one run of them that takes the same steps as Python, bit for bit.
//
//     φ⁺ = φ + (1/N) Σ w_i z_i ,   w_i = σ(-γ m_i)  or, at γ = ∞,  1[m_i ≤ 0] ,   N = n  or  Σ w_i ;   m = Zφ
//
// and the perceptron, φ⁺ = φ + z_j for one j with m_j ≤ 0.

import { BatchRun } from "./batch.js";
import { Rows, lowestSign } from "./rows.js";
import { SweepRun } from "./sweep.js";

//  name, label, logistic, normalized, one row at a time
const TABLE = [
  ["lr-gd", "LR+GD", true, false, false],
  ["normalized-lr-gd", "Normalized LR+GD", true, true, false],
  ["batch-perceptron", "Batch Perceptron", false, false, false],
  ["normalized-batch-perceptron", "Normalized Batch Perceptron", false, true, false],
  ["perceptron", "Perceptron", false, false, true],
];

/** The logistic ones take a step size γ in (0, ∞]; the others are the case γ = ∞. */
export const METHODS = TABLE.map(([name, label, logistic, normalized, rowwise]) => {
  return { name, label, logistic, normalized, rowwise };
});

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
