// The theorems' iteration bounds, as separatrix/theory.py has them, and R and μ of the rows that a run sees.

import { exponentOf, ldexp, norm } from "./arithmetic.js";

/**
 * The most iterations until the method first separates the rows; Infinity where μ is not positive.
 *
 *     K = R²/μ² ,   x = 2 log(2n-1)/(γR²) ,   m = (2n)^(-p) ;   at γ = ∞  x = 0 ,  m = n^(-p)
 *     T ≤ K (1+m+x)²/(4m)  if m + x ≤ 1 ,   T ≤ K (1 + x/m)  otherwise ;   p = 1: N = n,  p = 0: N = Σ w_i
 */
export function bounds({ n, R, mu, gamma, method }) {
  if (!(mu > 0)) return Infinity;
  const K = (R / mu) * (R / mu);
  if (method === "perceptron") return K; // Novikoff 1962
  const finite = method.endsWith("lr-gd") && gamma !== Infinity;
  const x = finite ? (2 * Math.log(2 * n - 1)) / gamma / R / R : 0;
  const m = method.startsWith("normalized") ? 1 : 1 / (finite ? 2 * n : n);
  return m + x <= 1 ? (K * ((1 + m + x) * (1 + m + x))) / (4 * m) : K * (1 + x / m);
}

/**
 * R, and a valid lower bound on μ, of the rows z_i = y_i (a_i, 1), or y_i a_i, that a run sees; theta is a direction
 * with that margin, null where none was found.
 */
export function augmentedMargin(points, intercept) {
  const Z = points.map(({ x, y, label }) => (intercept ? [label * x, label * y, label] : [label * x, label * y]));
  const R = Z.reduce((most, z) => Math.max(most, norm(Float64Array.from(z), 0, z.length)), 0);
  if (!(R > 0)) return { R, mu: 0, theta: null };
  const e = exponentOf(R);
  const { mu, theta } = nearestPoint(Z.map((z) => z.map((v) => ldexp(v, -e)))); // in units of about R
  return { R, mu: ldexp(mu, e), theta };
}

const ROUNDS = 200; // of Wolfe's search; some ten are enough
const TIRED = 8; // rounds without a larger margin after which rounding has the word

/** θ of the largest min z_iᵀθ/‖θ‖ and a lower bound on that, by the point of conv(z_i) nearest to 0 (Wolfe 1976). */
function nearestPoint(Z) {
  let [S, lam, x] = [[Z[0]], [1], Z[0]];
  let best = { mu: 0, theta: null };
  for (let round = 0, since = 0; round < ROUNDS && since < TIRED; round++) {
    const { row, bound } = lowest(Z, x);
    if (bound > best.mu) {
      best = { mu: bound, theta: x };
      since = 0;
    } else since++;
    if (S.includes(row) || S.length > row.length) break; // nothing is nearer, or 0 is in the hull of these
    [S, lam] = minor([...S, row], [...lam, 0]);
    x = combine(S, lam);
  }
  return best;
}

/** The row of smallest z·x, and a lower bound on that over ‖x‖: less what rounding may have added. */
function lowest(Z, x) {
  const length = norm(Float64Array.from(x), 0, x.length);
  let [row, low, least] = [Z[0], Infinity, Infinity];
  for (const z of Z) {
    let [sum, size] = [0, 0];
    for (let k = 0; k < z.length; k++) {
      sum += z[k] * x[k];
      size += Math.abs(z[k] * x[k]);
    }
    if (sum < low) [low, row] = [sum, z];
    least = Math.min(least, sum - 1e-15 * size - 1e-300);
  }
  return { row, bound: length > 0 ? (least / length) * (1 - 1e-15) : 0 };
}

/** Wolfe's minor cycle: to the nearest point of the affine hull, dropping points whose weight falls to 0. */
function minor(S, lam) {
  for (;;) {
    const alpha = affine(S);
    if (alpha.every((a) => a > 0)) return [S, alpha];
    let step = 1;
    for (let i = 0; i < S.length; i++) if (alpha[i] <= 0) step = Math.min(step, lam[i] / (lam[i] - alpha[i]) || 0);
    const mixed = lam.map((l, i) => (1 - step) * l + step * alpha[i]);
    let least = 0;
    for (let i = 0; i < S.length; i++) if (alpha[i] <= 0 && (alpha[least] > 0 || mixed[i] < mixed[least])) least = i;
    const kept = S.map((_, i) => i !== least && mixed[i] > 0);
    S = S.filter((_, i) => kept[i]);
    lam = mixed.filter((_, i) => kept[i]);
    if (S.length === 1) return [S, [1]];
  }
}

/** Weights, summing to 1, of the point nearest to 0 in the affine hull of S. */
function affine(S) {
  const edges = S.slice(1).map((z) => z.map((v, k) => v - S[0][k]));
  const beta = leastSquares(edges, S[0]);
  return [1 - beta.reduce((a, b) => a + b, 0), ...beta];
}

/** β with ‖s + Σ β_j e_j‖ least, by Gram-Schmidt. */
function leastSquares(edges, s) {
  const q = [];
  const r = [];
  for (const edge of edges) {
    let v = edge.slice();
    const row = q.map((u) => {
      const c = inner(u, v);
      v = v.map((x, k) => x - c * u[k]);
      return c;
    });
    const length = Math.sqrt(inner(v, v)) || 1;
    q.push(v.map((x) => x / length));
    r.push([...row, length]);
  }
  const beta = new Array(edges.length).fill(0);
  for (let j = edges.length - 1; j >= 0; j--) {
    let c = -inner(q[j], s);
    for (let l = j + 1; l < edges.length; l++) c -= r[l][j] * beta[l];
    beta[j] = c / r[j][j];
  }
  return beta;
}

function combine(S, lam) {
  return S[0].map((_, k) => S.reduce((sum, z, i) => sum + lam[i] * z[k], 0));
}

function inner(a, b) {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
  return sum;
}
