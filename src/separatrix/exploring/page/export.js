// What is taken from the page: the data as CSV, and a Python script that makes the very run. (The picture is paint.js's.)

import { isValue, MISSING } from "./csv.js";
import { iterateAt, runName, takesGamma } from "./player.js";

const WIDTH = 100; // letters of a name in a script: more would not be read

/** The points as CSV: two columns of shortest exact numbers and the names of the classes, where these can be read back. */
export function csvOf({ points, names }) {
  const taken = [names.x, names.y].map((name) => (isValue(name.trim(), ";") || MISSING.has(name.trim()) ? `c${name.trim()}` : name));
  const label = ["class", "label", "label_"].find((name) => !taken.includes(name));
  const lost = names.plus.trim() === names.minus.trim() || [names.plus, names.minus].some((name) => MISSING.has(name.trim()));
  const side = lost ? { plus: "1", minus: "-1" } : names;
  const lines = points.map(({ x, y, label: sign }) => [exact(x), exact(y), cell(sign > 0 ? side.plus : side.minus)].join(","));
  return `${[...taken.map(cell), label].join(",")}\n${lines.join("\n")}\n`;
}

function exact(x) {
  return Object.is(x, -0) ? "-0" : String(x);
}

function cell(text) {
  return /[",\r\n]|^\s|\s$|^$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The same double in Python: JavaScript's shortest digits are Python's, but for a whole number's point. */
export function pythonFloat(x) {
  if (!Number.isFinite(x)) return `float("${x > 0 ? "inf" : "-inf"}")`;
  const text = exact(x);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** Any text as a Python string of printable ASCII: whatever a file calls its columns, it stays a string. */
export function pythonString(text) {
  const letters = [...text].slice(0, WIDTH).map((letter) => {
    const code = letter.codePointAt(0);
    if (code >= 0xd800 && code <= 0xdfff) return "\\ufffd";
    if (letter === '"' || letter === "\\") return `\\${letter}`;
    if (code >= 0x20 && code < 0x7f) return letter;
    return code > 0xffff ? `\\U${code.toString(16).padStart(8, "0")}` : `\\u${code.toString(16).padStart(4, "0")}`;
  });
  return `"${letters.join("")}"`;
}

/** What the page found: the count and θ at its first separator, or where the run ended; null while it is still running. */
export function foundBy(film, state) {
  const asked = { method: state.method, gamma: takesGamma(state.method) ? state.gamma : Infinity, points: state.points, intercept: state.intercept, order: state.order, maxIter: state.maxIter };
  if (!film || Object.keys(asked).some((key) => !Object.is(asked[key], film.asked[key]))) return null;
  const at = film.separatedAt >= 0 ? film.separatedAt : film.t[film.t.length - 1];
  const { phi } = iterateAt(film, at);
  const { gamma } = film.asked;
  const scaled = takesGamma(film.asked.method) && gamma !== Infinity;
  return { n: at, theta: Array.from(phi, (x) => (scaled ? gamma * x : x)), status: film.status };
}

/**
 * A Python script that makes run A: its points to the last bit, the same method, step size and budget.
 * @param {import("./state.js").State} state
 * @param {Object|null} film of run A
 */
export function scriptOf(state, film) {
  const { names, method, gamma, intercept, maxIter } = state;
  const found = foundBy(film, state);
  const step = takesGamma(method) ? `, step_size=${pythonFloat(gamma)}` : "";
  // For the most wrong row Python takes the engine of inner products, whose sums round otherwise than this page's.
  const engine = state.order === "most-wrong" ? ', engine="dense"' : "";
  const order = method === "perceptron" ? `, order="${state.order}"${engine}` : "";
  return [
    `"""${runName(state).replace("γ", "step size").replace("∞", "infinity")}, as the explorer of separatrix showed it."""`,
    "",
    "import separatrix as sx",
    "",
    ...nameLines(names),
    ...pointLines(state.points),
    "X = [(x, y) for x, y, _ in points]",
    "y = [label for _, _, label in points]",
    `run = sx.solve(X, y, "${method}"${step}, fit_intercept=${intercept ? "True" : "False"}, max_iter=${maxIter}${order})`,
    "print(run.n_iter, run.theta.tolist())",
    "",
    ...claimLines(found),
    "",
  ].join("\n");
}

function nameLines({ x, y, plus, minus }) {
  return [`columns = (${pythonString(x)}, ${pythonString(y)})`, `classes = {1: ${pythonString(plus)}, -1: ${pythonString(minus)}}`];
}

/** One line a point; where most points repeat the one before, one line a run of them. */
function pointLines(points) {
  const runs = [];
  for (const { x, y, label } of points) {
    const text = `(${pythonFloat(x)}, ${pythonFloat(y)}, ${label})`;
    if (runs.at(-1)?.text === text) runs.at(-1).count += 1;
    else runs.push({ text, count: 1 });
  }
  if (runs.length <= points.length / 2) return ["points = (", ...runs.map(({ text, count }, k) => `    ${k ? "+ " : ""}${count} * [${text}]`), ")"];
  return ["points = [", ...runs.flatMap(({ text, count }) => Array(count).fill(`    ${text},`)), "]"];
}

function claimLines(found) {
  if (!found) return ["# The page was still running when this was written."];
  const theta = `# theta = [${found.theta.map(pythonFloat).join(", ")}]`;
  const how = { separated: "separated", "max-iter": "not separated when the budget was spent", cycle: "not separated: the iterates repeat themselves" };
  return ["# The page found:", `# n_iter = ${found.n} (${how[found.status] ?? "not separated"})`, theta];
}

/** Hands the reader a file. */
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  [link.href, link.download] = [address, name];
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Puts text on the clipboard; false where the browser does not let us. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    // Inside an open dialog all else is inert, and could not be selected.
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
