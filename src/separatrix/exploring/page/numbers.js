// The verdict on the points, counts beside the theorem's bounds, and a table of the numbers at the cursor.

import { bounds } from "./bounds.js";
import { announce, element, shown } from "./dom.js";
import { gammaText, iterateAt, runName, takesGamma } from "./player.js";
import { endingOf } from "./transport.js";

/** So many things, in words: 1 iteration, 2 iterations. */
export function counted(count, one, many = `${one}s`) {
  return `${shown(count)} ${count === 1 ? one : many}`;
}

const PROOFS = {
  "same point": "One spot has points of either class",
  "point on segment": "A point lies between two of the other class",
  "crossing segments": "The segments between two points of each class cross",
  "point in triangle": "A point lies within three of the other class",
  "opposite directions": "Seen from the origin, through which the line must go, they pull in opposite directions",
  "triangle around 0": "Whatever line goes through the origin, one of them is wrong",
  "zero row": "The point at the origin is on every line through it",
};

/**
 * The verdict as {kind, head, rest}: kind changes only when something happens that is worth saying aloud.
 * @param {import("./state.js").State} state
 */
export function verdictOf(state, decision) {
  const { points, intercept, names } = state, { of } = state.source, here = of ? " in this plane" : "";
  if (!points.length) return { kind: "empty", head: "No points yet", rest: "Add some in the plane." };
  const plus = points.filter(({ label }) => label > 0).length;
  if (!decision) return { kind: "none", head: "", rest: "" };
  if (!decision.separable) {
    const { kind, indices } = decision.proof, count = indices.length;
    const head = `Inseparable${here}: ${count === 1 ? "this point proves" : `these ${count} points prove`} it`;
    const more = of ? ` In all ${shown(of)} columns the rows may still be separable.` : "";
    return { kind: "no", head, rest: `${PROOFS[kind]}${intercept ? "" : originHint(state)}.${more}`, proof: decision.proof };
  }
  const single = plus === 0 || plus === points.length, only = plus ? names.plus : names.minus;
  if (single && decision.mu === Infinity)
    return { kind: "one", head: `One class only: ${only}`, rest: "Any line far away has all of them on one side." };
  const width = `widest margin ${shown(decision.mu)}, ${counted(decision.support.length, "support point")}`;
  return { kind: "yes", head: `Separable${here}: ${width}`, rest: single ? `There is one class only: ${only}.` : "" };
}

function originHint({ points }) {
  return points.length > 1 ? "; the line has no intercept here" : "";
}

/** How many iterations, and how many the theorem allows. */
export function countOf(film, rows) {
  const { points, method, gamma } = film.asked, name = runName(film.asked);
  const limit = rows ? bounds({ n: points.length, R: rows.R, mu: rows.mu, gamma, method }) : Infinity;
  const allowed = limit === Infinity ? "" : `; the theorem allows ${shown(Math.floor(limit * (1 + 1e-12)))}`;
  if (film.separatedAt < 0) return { name, count: endingOf(film), allowed };
  return { name, count: `separates after ${counted(film.separatedAt, "iteration")}`, allowed, share: film.separatedAt / limit };
}

const DEGREES = 180 / Math.PI;

function angleAt({ angle }, k) {
  return Number.isNaN(angle[k]) ? "–" : `${shown(angle[k] * DEGREES)}°`;
}

/** The rows of the table: what they are called, what they say of a film at a place of it. */
function rowsOfTable(films) {
  const [a, b] = films, loss = b && b.lossName !== a.lossName ? `${a.lossName}; B: ${b.lossName}` : a.lossName;
  return [
    ["wrong points", (film, k) => `${shown(film.errors[k])} of ${shown(film.asked.points.length)}`],
    [loss, (film, k) => shown(film.loss[k])],
    ["gradient norm", (film, k) => shown(film.gradNorm[k])],
    ["smallest margin", (film, k) => shown(film.minMargin[k])],
    [`angle to the widest margin${a.asked.intercept ? ", offset included" : ""}`, angleAt],
    ["‖θ‖/γ", (film, k) => shown(Math.hypot(...film.phi.map((values) => values[k])))],
    ["θ/γ", (film, k) => `(${film.phi.map((values) => shown(values[k], 3)).join(", ")})`],
  ];
}

function drawTable(table, films, t) {
  const names = films.length > 1 ? ["A", "B"] : [runName(films[0].asked).replace("γ = ", "γ\u00a0=\u00a0")];
  const places = films.map((film) => iterateAt(film, t).index), rows = rowsOfTable(films);
  const wanted = [names, ...rows.map(([name, say]) => [name, ...films.map((film, k) => say(film, places[k]))])];
  if (table.rows.length !== wanted.length || table.rows[0].cells.length !== films.length + 1) build(table, films.length, rows.length);
  write(table.rows[0].cells, [`at t = ${shown(t)}`, ...wanted[0]]);
  wanted.slice(1).forEach((texts, k) => write(table.rows[k + 1].cells, texts));
}

function build(table, columns, count) {
  const cells = (of) => Array.from({ length: columns }, of);
  const head = element("thead", {}, element("tr", {}, element("th", { scope: "col" }), ...cells(() => element("th", { scope: "col" }))));
  const body = element("tbody", {}, ...Array.from({ length: count }, () =>
    element("tr", {}, element("th", { scope: "row" }), ...cells(() => element("td")))));
  table.replaceChildren(head, body);
}

function write(cells, texts) {
  texts.forEach((text, k) => {
    if (cells[k].textContent !== text) cells[k].textContent = text;
  });
}

/** A line per run: its count, the bound, and how much of the bound that is. */
function drawCounts(list, films, rows) {
  list.replaceChildren(...films.map((film, k) => {
    const { name, count, allowed, share } = countOf(film, rows);
    const bar = element("span", { style: { width: `${Math.max(0.5, 100 * share)}%` } });
    const meter = share <= 1 ? element("span", { class: "share", "aria-hidden": "true" }, bar) : null;
    const title = element("b", { text: films.length > 1 ? `${"AB"[k]}: ${name}` : name });
    return element("li", { class: `run run-${"ab"[k]}` }, element("span", {}, title, ` ${count}${allowed}`), meter);
  }));
}

/** The counts of the step sizes tried on one problem, the last near each power of ten: what larger steps do, in a line. */
export function createTrials() {
  let problem = [], trials = new Map();
  return function tell(film) {
    const { points, intercept, method, gamma } = film.asked, now = [points, intercept, method];
    if (now.some((value, k) => value !== problem[k])) [problem, trials] = [now, new Map()];
    if (!takesGamma(method) || film.separatedAt < 0) return "";
    trials.set(Math.round(Math.log10(gamma)), [gamma, film.separatedAt]);
    const counts = [...trials.values()].sort(([one], [other]) => (one < other ? -1 : 1));
    return counts.length < 2 ? "" : `Tried so far: ${counts.map(([tried, t]) => `γ\u00a0=\u00a0${gammaText(tried)}:\u00a0${shown(t)}`).join(", ")} iterations.`;
  };
}

export function mountNumbers(place, { store, player }) {
  const head = element("h2", { class: "verdict" }), rest = element("p", { class: "soft" });
  const counts = element("ul", { class: "counts" }), tried = element("p", { class: "soft small tried" }), trialsOf = createTrials();
  const table = element("table", {}), empty = element("p", { class: "soft", text: "No run yet." });
  place.append(element("div", { class: "judgement" }, head, rest, counts, tried),
    element("div", { class: "table", tabIndex: 0, role: "region", "aria-label": "Numbers at the cursor" }, table, empty));
  let said = null;

  function showVerdict() {
    const verdict = verdictOf(store.get(), player.decision);
    write([head, rest], [verdict.head, verdict.rest]);
    place.dataset.verdict = verdict.kind;
    if (said !== null && said !== verdict.kind) announce(`${verdict.head}. ${verdict.rest}`);
    said = verdict.kind;
  }
  function showRuns() {
    const films = [player.films.a, player.films.b].filter(Boolean);
    table.hidden = !films.length;
    empty.hidden = films.length > 0;
    if (films.length) drawTable(table, films, player.cursor());
    return films;
  }
  player.subscribe(({ reason }) => {
    if (reason === "decision") showVerdict();
    if (reason === "progress" || reason === "playing") return;
    const films = showRuns();
    if (reason === "film" || reason === "decision") drawCounts(counts, films, player.rows);
    if (reason === "film") tried.textContent = player.films.a && !player.films.b ? trialsOf(player.films.a) : "";
  });
  store.subscribe((_, changed) => (changed.has("names") || changed.has("source")) && showVerdict());
  showVerdict();
  showRuns();
}
