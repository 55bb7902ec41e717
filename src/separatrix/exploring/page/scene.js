// What is seen in the plane, as a list of marks in pixels: the canvas draws it, and the exported picture is written from it.

import { shown } from "./dom.js";
import { iterateAt } from "./player.js";
import { crossing, cut, onScreen, ticksOf, toPlane, toScreen, windowOf } from "./view.js";

/**
 * @typedef {Object} Mark colours are names of the palette
 * @property {"path"|"circle"|"text"} is
 * @property {number[][]} [at] corners of a path; [[x, y]] of the others
 * @property {number} [r] @property {string} [fill] @property {string} [stroke] @property {number} [width] @property {number[]} [dash]
 * @property {string} [text] @property {"start"|"middle"|"end"} [anchor] @property {number} [size] @property {number} [most] its room
 */

const LABEL_GAP = 4;
const BUTTONS = 160; // pixels at the top right, where the buttons for the window are
const FEW = 12; // heaps of equal points: all get their number
const MANY = 5; // equal points: such a heap gets its number among any others

/**
 * @param {import("./state.js").State} state
 * @param {{films: Object, decision: Object|null, cursor: () => number}} player
 * @param {import("./view.js").View} view
 * @returns {Mark[]} from the ground up
 */
export function sceneOf(state, player, view) {
  const a = lineOf(player.films.a, player.cursor(), view);
  const b = state.compare ? lineOf(player.films.b, player.cursor(), view) : null;
  const { decision } = player;
  const widest = decision?.separable && state.widest ? widestMarks(state, decision, view) : [];
  const proof = decision && !decision.separable && state.proof ? proofMarks(state, decision, view) : [];
  const dots = pointMarks(state, a, view);
  const shownToo = { wrong: dots.some(({ stroke }) => stroke === "wrong"), widest: widest.length > 0, proof: proof.length > 0 };
  return [
    ...(a ? sides(a, view) : []),
    ...axisMarks(view),
    ...(a ? bandMarks(state, a, view) : []),
    ...widest.filter(({ is }) => is === "path"),
    ...(b ? lineMarks(b, view, "run-b", [9, 6], "B") : []),
    ...(a ? lineMarks(a, view, "run-a", null, b ? "A" : null) : []),
    ...dots,
    ...widest.filter(({ is }) => is === "circle"),
    ...proof,
    ...words(state, a, view, player, shownToo),
  ];
}

/** θ's line at this moment: {w, line} with the line on the screen, null while θ has no direction. */
function lineOf(film, t, view) {
  if (!film) return null;
  const { phi } = iterateAt(film, t);
  const line = onScreen(view, phi);
  return line && { w: phi, line };
}

/** y (w₁x + w₂y + b), each product and sum rounded as in every walk here, so that what is ringed is what is counted. */
export function marginOf([w1, w2, b], { x, y, label }) {
  const sum = x * w1 + y * w2;
  return label * (b === undefined ? sum : sum + b);
}

function sides({ line }, view) {
  const corners = windowOf(view);
  return [
    { is: "path", at: cut(corners, line), fill: "plus-side" },
    { is: "path", at: cut(corners, line.map((x) => -x)), fill: "minus-side" },
  ].filter(({ at }) => at.length > 2);
}

function axisMarks(view) {
  const { width, height } = view;
  const [[x0, y1], [x1, y0]] = [toPlane(view, 0, 0), toPlane(view, width, height)];
  const marks = [];
  for (const x of ticksOf(x0, x1, width)) {
    const [px] = toScreen(view, x, 0);
    marks.push({ is: "path", at: [[px, 0], [px, height]], stroke: x === 0 ? "axis" : "grid", width: 1 });
    if (px > 24 && px < width - 24) marks.push({ is: "text", at: [[px, height - 6]], text: shown(x, 6), anchor: "middle", size: 11, fill: "soft" });
  }
  for (const y of ticksOf(y0, y1, height)) {
    const [, py] = toScreen(view, 0, y);
    marks.push({ is: "path", at: [[0, py], [width, py]], stroke: y === 0 ? "axis" : "grid", width: 1 });
    if (py > 66 && py < height - 24) marks.push({ is: "text", at: [[6, py + 4]], text: shown(y, 6), anchor: "start", size: 11, fill: "soft" });
  }
  return marks;
}

/** How far the nearest point is from a line that separates, 0 if it does not. */
export function halfWidth(points, w) {
  let least = Infinity;
  for (const point of points) least = Math.min(least, marginOf(w, point));
  return points.length && least > 0 ? least / Math.hypot(w[0], w[1]) : 0;
}

function bandMarks({ points }, { w }, view) {
  const half = halfWidth(points, w);
  if (!half) return [];
  const at = bandBetween(view, w, half);
  return at.length > 2 ? [{ is: "path", at, fill: "band" }] : [];
}

function bandBetween(view, w, half) {
  const upper = onScreen(view, w, half).map((x) => -x);
  return cut(cut(windowOf(view), onScreen(view, w, -half)), upper);
}

function lineMarks({ line }, view, stroke, dash, name) {
  const ends = crossing(view, line);
  if (!ends) return [];
  const marks = [{ is: "path", at: ends, stroke, width: 2.5, dash }];
  if (!name) return marks;
  // A at the upper end, B at the lower: two runs are often nearly one line.
  const [x, y] = ends.reduce((one, other) => ((other[1] < one[1]) === (name === "A") ? other : one));
  const [right, down] = name === "A" ? [12, 18] : [-18, -14];
  const at = [[Math.min(view.width - 16, Math.max(16, x + right)), Math.min(view.height - 14, Math.max(34, y + down))]];
  return [...marks, { is: "text", at, text: name, anchor: "middle", size: 13, fill: stroke, strong: true }];
}

function widestMarks({ points }, { theta, support }, view) {
  const w = theta;
  const half = halfWidth(points, w);
  const middle = onScreen(view, w);
  if (!middle) return [];
  const marks = [];
  for (const [line, dash, width] of [[middle, null, 1.5], [onScreen(view, w, half), [4, 4], 1.2], [onScreen(view, w, -half), [4, 4], 1.2]]) {
    const ends = crossing(view, line);
    if (ends) marks.push({ is: "path", at: ends, stroke: "widest", width, dash });
  }
  const { of } = heapsOf(points);
  for (const i of new Set(support.map((k) => of[k].first))) marks.push({ is: "circle", at: [toScreen(view, points[i].x, points[i].y)], r: 13, stroke: "widest", width: 2 });
  return marks;
}

/** The points that prove an overlap, those of a class joined; without intercept, the rows z = y a and the origin. */
function proofMarks({ points, intercept }, { proof }, view) {
  const chosen = proof.indices.map((i) => points[i]);
  const groups = intercept ? [1, -1].map((side) => chosen.filter(({ label }) => label === side)) : [chosen];
  const place = ({ x, y, label }) => (intercept ? toScreen(view, x, y) : toScreen(view, label * x, label * y));
  const marks = intercept ? [] : [...mirrorMarks(chosen, view), { is: "circle", at: [toScreen(view, 0, 0)], r: 4, fill: "proof" }];
  for (const group of groups) {
    if (group.length > 1) marks.push({ is: "path", at: group.map(place), stroke: "proof", width: 2.5, closed: group.length > 2 });
  }
  for (const point of chosen) {
    const [x, y] = toScreen(view, point.x, point.y); // a diamond: rings are wrong points
    marks.push({ is: "path", at: [[x, y - 17], [x + 17, y], [x, y + 17], [x - 17, y]], closed: true, stroke: "proof", width: 2.5 });
  }
  return marks;
}

/** The rows -a that a proof through the origin is drawn with: points of no class, to be seen with the others. */
export function mirrored({ points, intercept, proof }, { decision }) {
  if (intercept || !proof || !decision || decision.separable) return [];
  return decision.proof.indices.map((i) => points[i]).filter((point) => point?.label < 0).map(({ x, y }) => ({ x: -x, y: -y }));
}

/** Where the rows -a of the minus class are: hollow, and tied to their points by a dotted line through the origin. */
function mirrorMarks(chosen, view) {
  return chosen.filter(({ label }) => label < 0).flatMap(({ x, y }) => [
    { is: "path", at: [toScreen(view, x, y), toScreen(view, -x, -y)], stroke: "proof", width: 1, dash: [2, 4] },
    { is: "circle", at: [toScreen(view, -x, -y)], r: 5, stroke: "minus", fill: "paper", width: 2 },
  ]);
}

/** The size of a point: smaller where there are many places with one. */
export function sizeOf(points) {
  const count = heapsOf(points).places;
  return count <= 150 ? 6.5 : count <= 600 ? 5 : count <= 2000 ? 3.5 : 2.5;
}

/** A disc or a triangle, of the same area to the eye. */
export function shapeOf(label, x, y, r) {
  if (label > 0) return { is: "circle", at: [[x, y]], r, fill: "plus", stroke: "paper", width: 1.2 };
  const [w, h] = [r * 1.2, r * 1.15];
  return { is: "path", at: [[x, y - h], [x + w, y + h * 0.85], [x - w, y + h * 0.85]], closed: true, fill: "minus", stroke: "paper", width: 1.2 };
}

function pointMarks({ points }, a, view) {
  const marks = [];
  const counts = [];
  const r = sizeOf(points);
  const heaps = heapsOf(points).of;
  points.forEach((point, i) => {
    if (heaps[i].first !== i) return; // of equal points only one is drawn, with their number
    const [x, y] = toScreen(view, point.x, point.y);
    if (x < -r || y < -r || x > view.width + r || y > view.height + r) return;
    marks.push(shapeOf(point.label, x, y, r));
    if (a && marginOf(a.w, point) <= 0) marks.push({ is: "circle", at: [[x, y]], r: 1.3 * r + 1.5, stroke: "wrong", width: r < 4 ? 1.1 : 1.8 });
    const { count } = heaps[i];
    if (count > 1) counts.push({ is: "text", at: [[x + r + LABEL_GAP, y + 4]], text: `×${count}`, count, anchor: "start", size: 12, fill: "ink" });
  });
  return [...marks, ...apart(counts.length <= FEW ? counts : counts.filter(({ count }) => count >= MANY))];
}

/** Those of the numbers that do not lie on one another. */
function apart(counts) {
  const kept = [];
  for (const one of counts) {
    if (kept.length < 60 && kept.every(({ at: [[x, y]] }) => Math.abs(x - one.at[0][0]) > 28 || Math.abs(y - one.at[0][1]) > 13)) kept.push(one);
  }
  return kept;
}

const heapsKnown = new WeakMap();

/** For each point the heap that it belongs to, points at one place with one label: how many, and the first of them; and how many heaps. */
function heapsOf(points) {
  let heaps = heapsKnown.get(points);
  if (heaps) return heaps;
  const known = new Map();
  const of = points.map(({ x, y, label }, i) => {
    const key = `${x} ${y} ${label}`;
    const heap = known.get(key) ?? { first: i, count: 0 };
    heap.count += 1;
    known.set(key, heap);
    return heap;
  });
  heaps = { of, places: known.size };
  heapsKnown.set(points, heaps);
  return heaps;
}

function words(state, a, view, player, shownToo) {
  const { names, points } = state;
  const half = view.width / 2 - 20;
  const marks = [
    { is: "text", at: [[8, 18]], text: `↑ ${names.y}`, anchor: "start", size: 12, fill: "soft", most: half },
    { is: "text", at: [[view.width - 8, view.height - 22]], text: `${names.x} →`, anchor: "end", size: 12, fill: "soft", most: half },
    ...legend(names, view.width, shownToo),
  ];
  const said = remark(points, a, view, player);
  return said ? [...marks, { is: "text", at: [[view.width / 2, view.height - 40]], text: said, anchor: "middle", size: 13, fill: "ink", most: view.width - 24 }] : marks;
}

/** What the shapes, rings and lines mean, as far as they are there: in as few lines as fit beside the buttons for the window. */
function legend(names, width, { wrong, widest, proof }) {
  const r = 5.5, right = width - BUTTONS, most = Math.max(60, right - 40);
  const entries = [
    { mark: (x, y) => shapeOf(1, x, y, r), text: names.plus, fill: "plus-ink" },
    { mark: (x, y) => shapeOf(-1, x, y, r), text: names.minus, fill: "minus-ink" },
    wrong && { mark: (x, y) => ({ is: "circle", at: [[x, y]], r, stroke: "wrong", width: 1.8 }), text: "on the wrong side", fill: "soft" },
    widest && { mark: (x, y) => ({ is: "path", at: [[x - 7, y], [x + 7, y]], stroke: "widest", width: 2 }), text: "widest margin", fill: "soft" },
    proof && { mark: (x, y) => ({ is: "path", at: [[x - 7, y], [x + 7, y]], stroke: "proof", width: 2.5 }), text: "why no line will do", fill: "soft" },
  ].filter(Boolean);
  let [x, y] = [15, 37];
  return entries.flatMap(({ mark, text, fill }) => {
    const wide = Math.min(most, roughWidth(text));
    if (x > 15 && x + 11 + wide > right) [x, y] = [15, y + 19];
    const at = x;
    x += 11 + wide + 20;
    return [mark(at, y), { is: "text", at: [[at + 11, y + 4]], text, anchor: "start", size: 12.5, fill, most }];
  });
}

/** About how many pixels a text of the legend needs; only the canvas that draws it knows. */
function roughWidth(text) {
  let wide = 0;
  for (const letter of text.slice(0, 200)) wide += letter < "\u2000" ? 7 : 13;
  return wide;
}

function remark(points, a, view, player) {
  if (points.length === 0) return "No points yet: choose Add or Brush and draw two classes.";
  if (!player.films.a) return "";
  if (!a) return player.cursor() === 0 ? "θ = 0 has no line yet: every point counts as wrong" : "θ has no direction here, so there is no line";
  return crossing(view, a.line) ? "" : "The line is outside this window: zoom out to see it";
}
