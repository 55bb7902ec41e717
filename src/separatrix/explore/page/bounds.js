// The theorems' iteration bounds, as separatrix/theory.py has them, and R and μ of the rows that a run sees.

import { norm } from "./arithmetic.js";

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

/** R and a valid lower bound on μ of the rows z_i = y_i (a_i, 1), or y_i a_i; theta is the direction of that margin. */
export function augmentedMargin(points, intercept) {
  const Z = points.map(({ x, y, label }) => (intercept ? [label * x, label * y, label] : [label * x, label * y]));
  const R = Z.reduce((most, z) => Math.max(most, norm(Float64Array.from(z), 0, z.length)), 0);
  const theta = nearestPoint(Z);
  return { R, mu: theta ? lowerBound(Z, theta) : 0, theta };
}

/** min_i z_iᵀθ/‖θ‖ less what rounding may have added. */
function lowerBound(Z, theta) {
  const length = norm(Float64Array.from(theta), 0, theta.length);
  let low = Infinity;
  for (const z of Z) {
    let sum = 0;
    let size = 0;
    for (let k = 0; k < z.length; k++) {
      sum += z[k] * theta[k];
      size += Math.abs(z[k] * theta[k]);
    }
    low = Math.min(low, sum - 1e-15 * size);
  }
  return Math.max(0, (low / length) * (1 - 1e-15));
}

/** The point of conv(z_i) nearest to 0 (Wolfe 1976); null where that is 0. */
function nearestPoint(Z) {
  if (Z.length === 0) return null;
  const d = Z[0].length;
  let S = [Z[0]];
  let lam = [1];
  let x = Z[0];
  for (let round = 0; round < 1000; round++) {
    let best = Z[0];
    let low = Infinity;
    for (const z of Z) {
      const m = inner(z, x);
      if (m < low) [low, best] = [m, z];
    }
    const xx = inner(x, x);
    if (xx === 0) return null;
    if (low >= xx * (1 - 1e-14) || S.includes(best) || S.length > d) return x;
    S.push(best);
    lam.push(0);
    [S, lam] = minor(S, lam);
    x = combine(S, lam);
  }
  return x;
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
