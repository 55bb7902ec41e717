// Data sets to begin with: the paper's, iris, and some drawn by a generator of our own, the same in every browser.
//
// Coordinates have few decimals, so that page, address, CSV and script share the very floats. Label +1 is Python's
// larger class: names.plus sorts after names.minus.

const SIGNS = { x: "x", y: "y", plus: "1", minus: "-1" };

export const DATASETS = [
  {
    id: "two-samples",
    title: "Two samples",
    sentence: "Two rows on which loss and gradient mislead: with large steps both rise while the run gets closer.",
    needsN: false,
    make: () => ({ points: [at(1, -1, 1), at(-1, -4, -1)], names: SIGNS, intercept: false }), // sx.two_samples
  },
  {
    id: "worst-case",
    title: "The worst case",
    sentence: "One row against n − 1: the batch perceptron needs about 0.3 n iterations, the normalized methods a few.",
    needsN: true,
    make: ({ n = 100 } = {}) => ({ points: worstCase(n), names: SIGNS, intercept: false }),
  },
  {
    id: "imbalanced",
    title: "Imbalanced classes",
    sentence: "Every row of one class ten times: the batch perceptron needs 31 iterations, the normalized methods 2.",
    needsN: false,
    make: () => ({ points: imbalanced(planted(20, 19, 0.05), 10), names: SIGNS, intercept: false }),
  },
  {
    id: "planted",
    title: "A narrow margin",
    sentence: "Rows on either side of a line through 0, close to it: γ = 1 takes a thousand steps, γ = 100 takes 3.",
    needsN: false,
    make: ({ n = 60 } = {}) => ({ points: planted(n, 14, 0.02), names: SIGNS, intercept: false }),
  },
  {
    id: "blobs",
    title: "Two clouds",
    sentence: "Two clouds of points, well apart.",
    needsN: false,
    make: ({ n = 60 } = {}) => ({ points: blobs(n, 1), names: SIGNS, intercept: true }),
  },
  {
    id: "iris-setosa",
    title: "Iris: setosa",
    sentence: "Petals of 150 irises, setosa against the rest: separable by far. Anderson 1935, Fisher 1936.",
    needsN: false,
    make: () => ({ points: iris([1, -1, -1]), names: { ...PETALS, plus: "setosa", minus: "others" }, intercept: true }),
  },
  {
    id: "iris-virginica",
    title: "Iris: versicolor, virginica",
    sentence: "Petals of 100 irises of two kinds that overlap: no line separates them. Anderson 1935, Fisher 1936.",
    needsN: false,
    make: () => ({ points: iris([0, -1, 1]), names: { ...PETALS, ...KINDS }, intercept: true }),
  },
  {
    id: "circles",
    title: "Circles",
    sentence: "A disk within a ring: no line separates them.",
    needsN: false,
    make: ({ n = 80 } = {}) => ({ points: circles(n, 1), names: SIGNS, intercept: true }),
  },
];

function at(x, y, label) {
  return { x, y, label };
}

/** One row (½, -1) of class 1 and n - 1 rows (-½, -1) of class -1: sx.worst_case(n). */
function worstCase(n) {
  return Array.from({ length: n }, (_, i) => (i === 0 ? at(0.5, -1, 1) : at(-0.5, -1, -1)));
}

/** Every row of class 1 `repeat` times, copies together: sx.imbalanced(X, y, fraction=1, repeat=repeat). */
function imbalanced(points, repeat) {
  return points.flatMap((point) => (point.label > 0 ? Array.from({ length: repeat }, () => ({ ...point })) : [point]));
}

/** Uniform numbers in [0, 1): mulberry32, whole-number arithmetic alone. */
function generator(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Nearly normal: twelve uniform numbers less their mean. No logarithm, which browsers round differently. */
function normal(uniform) {
  let sum = -6;
  for (let k = 0; k < 12; k++) sum += uniform();
  return sum;
}

function decimals(value, places) {
  const unit = 10 ** places;
  return Math.round(value * unit) / unit + 0;
}

/** As sx.planted: u = (⅗, ⅘), z_i turned so that z_iᵀu ≥ 0, plus margin u; rounded, and labels in turn. */
function planted(n, seed, margin) {
  const uniform = generator(seed);
  return Array.from({ length: n }, (_, i) => {
    let z = [normal(uniform), normal(uniform)];
    if (0.6 * z[0] + 0.8 * z[1] < 0) z = z.map((v) => -v);
    const label = i === 0 || (i > 1 && uniform() < 0.5) ? 1 : -1;
    return at(decimals(label * (z[0] + 0.6 * margin), 3), decimals(label * (z[1] + 0.8 * margin), 3), label);
  });
}

function blobs(n, seed) {
  const uniform = generator(seed);
  return Array.from({ length: n }, (_, i) => {
    const label = i % 2 ? -1 : 1;
    const [x, y] = [1.6 * label + 1 + 0.6 * normal(uniform), label + 2 + 0.6 * normal(uniform)];
    return at(decimals(x, 2), decimals(y, 2), label);
  });
}

function circles(n, seed) {
  const uniform = generator(seed);
  return Array.from({ length: n }, (_, i) => {
    const label = i % 2 ? -1 : 1;
    for (;;) {
      const [x, y] = [decimals(6 * uniform() - 3, 2), decimals(6 * uniform() - 3, 2)];
      const square = x * x + y * y;
      if (label > 0 ? square < 1.4 : 4 < square && square < 7.5) return at(x, y, label);
    }
  });
}

const KINDS = { plus: "virginica", minus: "versicolor" };
const PETALS = { x: "petal length (cm)", y: "petal width (cm)" };

// E. Anderson, The irises of the Gaspé peninsula, 1935; R. A. Fisher, The use of multiple measurements in taxonomic
// problems, 1936; as in sklearn.datasets.load_iris: petal length and width in millimetres, 50 each of setosa,
// versicolor and virginica.
const IRIS = [
  `14 2 14 2 13 2 15 2 14 2 17 4 14 3 15 2 14 2 15 1 15 2 16 2 14 1 11 1 12 2 15 4 13 4 14 3 17 3 15 3 17 2 15 4
10 2 17 5 19 2 16 2 16 4 15 2 14 2 16 2 16 2 15 4 15 1 14 2 15 2 12 2 13 2 14 1 13 2 15 2 13 3 13 3 13 2 16 6
19 4 14 3 16 2 14 2 15 2 14 2`,
  `47 14 45 15 49 15 40 13 46 15 45 13 47 16 33 10 46 13 39 14 35 10 42 15 40 10 47 14 36 13 44 14 45 15 41 10 45
15 39 11 48 18 40 13 49 15 47 12 43 13 44 14 48 14 50 17 45 15 35 10 38 11 37 10 39 12 51 16 45 15 45 16 47 15
44 13 41 13 40 13 44 12 46 14 40 12 33 10 42 13 42 12 42 13 43 13 30 11 41 13`,
  `60 25 51 19 59 21 56 18 58 22 66 21 45 17 63 18 58 18 61 25 51 20 53 19 55 21 50 20 51 24 53 23 55 18 67 22 69
23 50 15 57 23 49 20 67 20 49 18 57 21 60 18 48 18 49 18 56 21 58 16 61 19 64 20 56 22 51 15 56 14 61 23 56 24
55 18 48 18 54 21 56 24 51 23 51 19 59 23 57 25 52 23 50 19 52 20 54 23 51 18`,
];

/** The kinds whose label is not 0. */
function iris(labels) {
  return IRIS.flatMap((text, kind) => {
    const values = text.split(/\s+/).map((mm) => Number(mm) / 10);
    const lengths = values.filter((_, k) => k % 2 === 0);
    return labels[kind] ? lengths.map((length, i) => at(length, values[2 * i + 1], labels[kind])) : [];
  });
}
