// Runs the page's mathematics for the tests: calls come as JSON on standard input, answers go as JSON to standard output.
//
// Arrays of floats travel as {"f64": base64 of their bytes}, numbers that JSON lacks as {"number": "Infinity"}.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const page = process.argv[2];
const modules = ["arithmetic", "methods", "film", "rational", "exact", "bounds", "principal", "csv", "datasets", "worker"];
const sx = Object.assign({}, ...(await Promise.all(modules.map((name) => import(pathToFileURL(`${page}/${name}.js`))))));

const floats = (text) => new Float64Array(new Uint8Array(Buffer.from(text, "base64")).buffer);
const revive = (_, value) => (value?.f64 !== undefined ? floats(value.f64) : value?.number ? Number(value.number) : value);
const pack = (array) => ({ f64: Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64") });
const replace = (_, value) => {
  if (value instanceof Float64Array) return pack(value);
  return typeof value === "number" && !Number.isFinite(value) ? { number: String(value) } : value;
};
const matrix = (X, d) => Array.from({ length: X.length / d }, (_, i) => Array.from(X.subarray(i * d, (i + 1) * d)));
const cloud = (X, y) => matrix(X, 2).map(([x, y_], i) => ({ x, y: y_, label: y[i] }));

function drained(steps) {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/** All θ_t up to `steps`: their number and digest, or themselves where `whole`. */
function walk({ X, d, steps, stop, whole, ...options }) {
  const run = new sx.Walk({ X: matrix(X, d), ...options });
  const path = [];
  run.advance(0, stop);
  for (let t = -1; run.t > t && run.t <= steps; ) {
    path.push(run.theta());
    t = run.t;
    if (t < steps) run.advance(1, stop);
  }
  const digest = createHash("sha256");
  for (const theta of path) digest.update(new Uint8Array(theta.buffer));
  const found = { t: run.t, separated: run.separated, cycle: run.cycle, tie: run.tie, digest: digest.digest("hex") };
  return { ...found, path: whole ? path : null };
}

const CALLS = {
  walk,
  film: ({ X, d, ...options }) => drained(sx.film({ X: matrix(X, d), ...options })),
  decide: ({ X, y, intercept }) => sx.decide(cloud(X, y), intercept),
  margin: ({ X, y, intercept }) => sx.augmentedMargin(cloud(X, y), intercept),
  bounds: (given) => sx.bounds(given),
  exponentials: ({ x }) => x.map(sx.exponential),
  norms: ({ X, d }) => Float64Array.from({ length: X.length / d }, (_, i) => sx.norm(X, i * d, d)),
  sum: ({ x }) => {
    const tree = new sx.Tree(1, x.length);
    const sum = tree.begin();
    x.forEach((v, i) => {
      sum[0] += v;
      if ((i + 1) % sx.BLOCK === 0) tree.close((i + 1) / sx.BLOCK - 1);
    });
    return tree.end();
  },
  csv: ({ text, choice }) => {
    try {
      const table = sx.readCsv(text);
      return { table, chosen: choice ? sx.twoColumns(table, choice) : null };
    } catch (error) {
      return { error: error.message };
    }
  },
  principal: ({ X, d, names }) => sx.principalDirections(matrix(X, d), names),
  datasets: ({ n }) => sx.DATASETS.map(({ make, ...about }) => ({ ...about, ...make({ n }) })),
  worker: ({ messages }) =>
    new Promise((resolve) => {
      const heard = [];
      const wanted = new Set(messages.filter((message) => message.make).map((message) => message.id));
      const port = new EventTarget();
      port.postMessage = (message) => {
        heard.push(message);
        if (message.progress === undefined) wanted.delete(message.id);
        if (wanted.size === 0) resolve(heard);
      };
      sx.serveFilms(port);
      for (const data of messages) {
        if (data.cancel) wanted.delete(data.cancel);
        port.dispatchEvent(Object.assign(new Event("message"), { data }));
      }
    }),
};

const calls = JSON.parse(readFileSync(0, "utf8"), revive);
const answers = [];
for (const { name, given } of calls) answers.push(await CALLS[name](given));
process.stdout.write(JSON.stringify(answers, replace));
