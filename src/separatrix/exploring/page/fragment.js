// The state as the fragment of a URL, and back. Whatever a fragment says, reading it never throws: it gives a sentence.
//
//   v=1&d=worst-case&n=1000&m=lr-gd&g=100        a data set by its name, unless its points were changed
//   v=1&p=0.5_-1p~-0.5_-1m999&names=x~y~a~b      points as x_y, p or m for the class, and how often in a row
//
// Numbers are JavaScript's shortest that read back as the very double, so a run in a URL is the run, bit for bit.

import { DATASETS } from "./datasets.js";
import { METHODS } from "./methods.js";
import { PLAIN } from "./state.js";

const MOST_POINTS_IN_LINK = 20_000; // points a fragment may hold
const POINT = /^(-?[\d.]+(?:e[+-]?\d+)?)_(-?[\d.]+(?:e[+-]?\d+)?)([pm])(\d*)$/;

/** @param {import("./state.js").State} state @returns {string} without the # */
export function toFragment(state) {
  const parts = { v: 1, ...dataOf(state), m: state.method, g: numberOut(state.gamma) };
  if (state.intercept) parts.i = 1;
  if (state.maxIter !== PLAIN.maxIter) parts.max = state.maxIter;
  if (state.past !== PLAIN.past) parts.past = state.past;
  if (state.order !== PLAIN.order) parts.order = state.order;
  if (state.compare) [parts.m2, parts.g2] = [state.compare.method, numberOut(state.compare.gamma)];
  if (state.t !== null) parts.t = state.t;
  if (state.tour !== null) parts.tour = state.tour;
  if (state.tool !== PLAIN.tool) parts.tool = state.tool;
  if (state.widest) parts.w = 1;
  if (!state.proof) parts.proof = 0;
  return Object.entries(parts).map(([key, value]) => `${key}=${value}`).join("&");
}

function dataOf({ source, points, names }) {
  if (!source.edited && DATASETS.some(({ id }) => id === source.id)) return source.n ? { d: source.id, n: source.n } : { d: source.id };
  const parts = { d: source.id, p: pointsOut(points), names: [names.x, names.y, names.plus, names.minus].map(nameOut).join("~") };
  if (source.title) parts.title = nameOut(source.title);
  if (source.of) parts.of = source.of;
  return parts;
}

function pointsOut(points) {
  const runs = [];
  for (const { x, y, label } of points) {
    const text = `${numberOut(x)}_${numberOut(y)}${label > 0 ? "p" : "m"}`;
    if (runs.at(-1)?.text === text) runs.at(-1).count += 1;
    else runs.push({ text, count: 1 });
  }
  return runs.map(({ text, count }) => (count > 1 ? text + count : text)).join("~");
}

function numberOut(x) {
  return Object.is(x, -0) ? "-0" : x === Infinity ? "inf" : String(x);
}

function nameOut(name) {
  return encodeURIComponent(name.toWellFormed?.() ?? name.replace(/[\ud800-\udfff]/g, "\ufffd")).replaceAll("~", "%7E");
}

/**
 * @param {string} text with or without the #
 * @returns {{patch: null|Partial<import("./state.js").State>, sentence: null|string}} the patch holds all that a fragment says,
 *   the rest as in PLAIN, and no points where it speaks of none; null where there is nothing to read
 */
export function fromFragment(text) {
  const bare = text.replace(/^#/, "");
  if (!/(^|&)v=/.test(bare)) return { patch: null, sentence: null };
  try {
    const parts = new Map(bare.split("&").map((part) => [part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)]));
    if (parts.get("v") !== "1") throw new Error("it was made by another version of this page");
    return { patch: { ...dataIn(parts), ...runIn(parts) }, sentence: null };
  } catch (error) {
    return { patch: null, sentence: `This link could not be read: ${error.message}.` };
  }
}

function dataIn(parts) {
  if (!parts.has("d") && !parts.has("p")) return {}; // the run alone: on the points that are there
  const id = parts.get("d") ?? "drawn";
  const set = DATASETS.find((one) => one.id === id);
  if (!parts.has("p")) {
    if (!set) throw new Error("it names a data set that this page does not have");
    const n = set.needsN ? count(parts, "n", 1000, 2, MOST_POINTS_IN_LINK) : undefined;
    const { points, names } = set.make({ n });
    return { points, names, source: { id, n, title: set.title } };
  }
  const source = { id, edited: true, title: parts.has("title") ? decodeURIComponent(parts.get("title")) : set?.title };
  if (parts.has("of")) source.of = count(parts, "of", 0, 2, 1e9);
  return { points: pointsIn(parts.get("p")), names: namesIn(parts.get("names") ?? ""), source };
}

function pointsIn(text) {
  const points = [];
  for (const word of text ? text.split("~") : []) {
    const [, x, y, side, times] = POINT.exec(word) ?? [];
    const point = Object.freeze({ x: Number(x), y: Number(y), label: side === "p" ? 1 : -1 });
    if (!Number.isFinite(point.x) || !Number.isFinite(point.y)) throw new Error("a point in it is not two numbers");
    if (points.length + Number(times || 1) > MOST_POINTS_IN_LINK) throw new Error(`it has more than ${MOST_POINTS_IN_LINK} points`);
    for (let k = Number(times || 1); k > 0; k--) points.push(point);
  }
  return points;
}

function namesIn(text) {
  const [x, y, plus, minus] = text.split("~").map(decodeURIComponent);
  return { x: x || "x", y: y || "y", plus: plus || "plus", minus: minus || "minus" };
}

function runIn(parts) {
  return {
    method: methodIn(parts.get("m") ?? PLAIN.method), gamma: gammaIn(parts.get("g") ?? "1"),
    ...(parts.has("i") || parts.has("d") || parts.has("p") ? { intercept: parts.get("i") === "1" } : {}), order: parts.get("order") === "most-wrong" ? "most-wrong" : PLAIN.order,
    maxIter: count(parts, "max", PLAIN.maxIter, 0, 10_000_000), past: count(parts, "past", PLAIN.past, 0, 10_000_000),
    compare: parts.has("m2") ? { method: methodIn(parts.get("m2")), gamma: gammaIn(parts.get("g2") ?? "1") } : null,
    t: parts.has("t") ? count(parts, "t", 0, 0, 1e9) : null,
    tour: parts.has("tour") ? count(parts, "tour", 0, 0, 1000) : null,
    tool: ["add+", "add-", "flip", "delete", "brush+", "brush-"].find((tool) => tool === parts.get("tool")) ?? "move",
    widest: parts.get("w") === "1", proof: parts.get("proof") !== "0",
  };
}

function methodIn(name) {
  if (!METHODS.some((method) => method.name === name)) throw new Error("it names a method that this page does not have");
  return name;
}

function gammaIn(text) {
  const gamma = text === "inf" ? Infinity : Number(text);
  if (!(gamma > 0)) throw new Error("its step size is not a positive number");
  return gamma;
}

function count(parts, key, otherwise, least, most) {
  const value = parts.has(key) ? Number(parts.get(key)) : otherwise;
  if (!Number.isInteger(value) || value < least || value > most) throw new Error(`its ${key} is not a whole number from ${least} to ${most}`);
  return value;
}
