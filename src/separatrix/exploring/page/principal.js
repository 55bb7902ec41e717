// The first two principal directions of more columns than two, to draw them in a plane.

const SWEEPS = 60; // of Jacobi's rotations; some ten are enough

/**
 * Scores on the first two principal directions of the columns, each centred and divided by its standard deviation: with
 * columns of different units the longest unit would decide otherwise. A column that does not vary is left out. Signs
 * are such that the largest loading is positive; scores are rounded to four decimals.
 * @param {number[][]} matrix  rows  @param {string[]} names  of the columns, for the sentence
 * @returns {{first: number[], second: number[], share: number, loadings: number[][], sentence: string}}
 *   share: of the variance
 */
export function principalDirections(matrix, names = []) {
  const n = matrix.length;
  const d = n ? matrix[0].length : 0;
  const columns = Array.from({ length: d }, (_, k) => standardised(matrix.map((row) => row[k])));
  const varying = columns.filter((column) => column !== null);
  const C = varying.map((a) => varying.map((b) => a.reduce((sum, v, i) => sum + v * b[i], 0) / n));
  const { values, vectors } = eigen(C);
  const order = values.map((_, k) => k).sort((a, b) => values[b] - values[a]).slice(0, 2);
  const axes = order.map((j) => vectors.map((row) => row[j]));
  const [first, second] = [0, 1].map((j) => Array.from({ length: n }, (_, i) => score(varying, axes[j], i)));
  const share = order.reduce((sum, j) => sum + values[j], 0) / (values.reduce((a, b) => a + b, 0) || 1);
  const loadings = axes.map((axis) => expand(columns, axis));
  return { first, second, share, loadings, sentence: said(columns, share, names) };
}

/** What the plane shows, as separatrix.exploring.points says it. */
function said(columns, share, names) {
  const [d, left] = [columns.length, columns.filter((column) => column === null).length];
  const which = names.length && d <= 6 ? ` (${names.join(", ")})` : "";
  const less = left ? `${left} that ${left === 1 ? "does" : "do"} not vary left out, ` : "";
  return (
    `The plane shows the first two principal directions of ${d} columns${which}, ${less}each centred and divided ` +
    `by its standard deviation: ${Math.round(100 * share)} % of the variance; rows that overlap in this plane may be ` +
    "separable in all columns."
  );
}

/** (v - mean)/deviation, or null where the column does not vary. */
function standardised(column) {
  const n = column.length;
  const top = column.reduce((most, v) => Math.max(most, Math.abs(v)), 0) || 1;
  const short = column.map((v) => v / top);
  const mean = short.reduce((a, b) => a + b, 0) / n;
  const centred = short.map((v) => v - mean);
  const deviation = Math.sqrt(centred.reduce((sum, v) => sum + v * v, 0) / n);
  return deviation > 1e-12 ? centred.map((v) => v / deviation) : null;
}

function score(columns, axis, i) {
  const s = axis ? columns.reduce((sum, column, k) => sum + column[i] * axis[k], 0) : 0;
  return Math.round(s * 1e4) / 1e4 + 0;
}

/** Loadings of all columns, 0 where one was left out. */
function expand(columns, vector) {
  let k = 0;
  return columns.map((column) => (column === null ? 0 : vector[k++]));
}

/** Eigenvalues and, as columns, eigenvectors of a symmetric matrix, by Jacobi's rotations. */
function eigen(C) {
  const d = C.length;
  const A = C.map((row) => Float64Array.from(row));
  const V = C.map((_, k) => Float64Array.from(C, (_, l) => (k === l ? 1 : 0)));
  for (let sweep = 0; sweep < SWEEPS && off(A) > 1e-30; sweep++)
    for (let p = 0; p < d; p++) for (let q = p + 1; q < d; q++) if (A[p][q] !== 0) rotate(A, V, p, q);
  for (let j = 0; j < d; j++) {
    const longest = V.reduce((best, row) => (Math.abs(row[j]) > Math.abs(best) + 1e-9 ? row[j] : best), 0);
    if (longest < 0) for (const row of V) row[j] = -row[j];
  }
  return { values: A.map((row, k) => row[k]), vectors: V };
}

/** The squares off the diagonal. */
function off(A) {
  let sum = 0;
  for (let p = 0; p < A.length; p++) for (let q = 0; q < p; q++) sum += A[p][q] * A[p][q];
  return sum;
}

/** Make A_pq zero. */
function rotate(A, V, p, q) {
  const half = (A[q][q] - A[p][p]) / (2 * A[p][q]);
  const t = (half >= 0 ? 1 : -1) / (Math.abs(half) + Math.sqrt(half * half + 1));
  const c = 1 / Math.sqrt(t * t + 1);
  const s = t * c;
  const mix = (M, i, k, j, l) => {
    const [a, b] = [M[i][k], M[j][l]];
    M[i][k] = c * a - s * b;
    M[j][l] = s * a + c * b;
  };
  for (let k = 0; k < A.length; k++) mix(A, k, p, k, q);
  for (let k = 0; k < A.length; k++) mix(A, p, k, q, k);
  for (let k = 0; k < A.length; k++) mix(V, k, p, k, q);
}
