// Errors, loss and gradient norm over the iterations: three panels above one axis, and a cursor that scrubs.

import { element, painter, palette, shown } from "./dom.js";
import { iterateAt } from "./player.js";
import { ticksOf } from "./view.js";

const PANELS = [
  { key: "errors", kind: "count" },
  { key: "loss", kind: "size" },
  { key: "gradNorm", kind: "size" },
];
const LEFT = 46, RIGHT = 12, TOP = 16, HEAD = 20, FOOT = 22;
const LONG = 300; // iterations: more need a logarithmic axis
const TANGLED = 120; // turns: a curve with more is drawn finer
const DOTS_UP_TO = 40; // iterations: fewer are shown one by one
const DEEPEST = 1e-9; // of the largest value: a logarithmic axis goes no lower, since a loss may become 0

/** Powers of ten from low to high, at most so many. */
function powersOfTen(low, high, most) {
  const from = Math.ceil(Math.log10(low) - 1e-9), to = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((to - from + 1) / most)), found = [];
  for (let power = to; power >= from; power -= step) found.push(Number(`1e${power}`));
  return found;
}

/** Where a value stands between 0 and 1, and which values are written beside the axis. */
function scaleBetween(low, high, kind, room) {
  const most = Math.max(2, Math.floor(room));
  if (kind === "linear") return { at: (v) => (v - low) / (high - low || 1), marks: ticksOf(low, high, 90 * most) };
  if (kind === "log1p") {
    const top = Math.log1p(high) || 1;
    return { at: (v) => Math.log1p(v) / top, marks: [0, ...powersOfTen(1, Math.max(1, high), most)] };
  }
  const bottom = Math.log(low), span = Math.log(high) - bottom;
  return { at: (v) => Math.max(0, (Math.log(Math.max(v, low)) - bottom) / span), marks: powersOfTen(low, high, most) };
}

/** Whether time is drawn as log(1 + t): where there are many iterations, or one run is far shorter than the other. */
function logarithmic({ end, films: { a, b } }) {
  const shorter = a && b ? Math.min(...[a, b].map(({ t }) => t[t.length - 1])) : end;
  return end > LONG || (end > 20 && end > 5 * shorter);
}

/** The scale of time: every iteration as wide as the other, or log(1 + t). */
function timeScale(player, room) {
  return whole(scaleBetween(0, Math.max(1, player.end), logarithmic(player) ? "log1p" : "linear", room));
}

/** There is no half an iteration, and no half a point. */
function whole({ at, marks }) {
  return { at, marks: marks.filter(Number.isInteger) };
}

function valueScale(kind, films, key, room) {
  let low = Infinity, high = 0;
  for (const one of films) for (const v of one[key]) {
    if (v > 0 && v < low) low = v;
    if (v > high && v < Infinity) high = v;
  }
  if (kind === "count") return whole(scaleBetween(0, Math.max(1, high), high > 20 ? "log1p" : "linear", room));
  if (high <= 0) return scaleBetween(0, 1, "linear", room);
  if (high / low < 30) return scaleBetween(0, high, "linear", room);
  return scaleBetween(Math.max(low, high * DEEPEST) * 0.8, high * 1.25, "log", room);
}

/** Whether these values go up and down so often that a line through them would be a blot. */
export function tangled(values) {
  let turns = 0;
  for (let k = 2; k < values.length && turns <= TANGLED; k++)
    if ((values[k] - values[k - 1]) * (values[k - 1] - values[k - 2]) < 0) turns++;
  return turns > TANGLED;
}

/** What a panel shows; the loss has the name that fits the method. */
function titleOf(key, a, b) {
  if (key === "errors") return "wrong points";
  if (key === "gradNorm") return "gradient norm";
  return b && b.lossName !== a.lossName ? `A ${a.lossName}, B ${b.lossName}` : a.lossName;
}

function trace(context, film, key, place) {
  if (tangled(film[key])) context.lineWidth = 1;
  context.beginPath();
  for (let k = 0; k < film.t.length; k++) context.lineTo(...place(film.t[k], film[key][k]));
  context.stroke();
  if (film.t.length > DOTS_UP_TO) return;
  for (let k = 0; k < film.t.length; k++) spot(context, place(film.t[k], film[key][k]), 2);
}

function spot(context, [x, y], radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

function drawAxes(context, box, scale, time, last) {
  const ink = palette();
  context.strokeStyle = ink.grid;
  context.fillStyle = ink.soft;
  context.textAlign = "right";
  context.textBaseline = "middle";
  const taken = [];
  for (const value of scale.marks) {
    const y = box.bottom - scale.at(value) * box.height;
    if (y < box.bottom - box.height - 1 || taken.some((other) => Math.abs(other - y) < 13)) continue;
    taken.push(y);
    stroke(context, box.left, y, box.right, y);
    context.fillText(axisText(value), box.left - 6, y);
  }
  context.textAlign = "center";
  context.textBaseline = "top";
  for (const t of time.marks) {
    const x = box.left + time.at(t) * box.width;
    stroke(context, x, box.bottom, x, box.bottom + (last ? 4 : 0));
    if (!last) continue;
    const text = shown(t, 2), half = context.measureText(text).width / 2;
    context.fillText(text, Math.min(x, box.right + RIGHT - half), box.bottom + 6);
  }
}

/** Beside the axis there is room for five letters. */
function axisText(value) {
  const text = shown(value, 2);
  return text.length <= 5 ? text : value.toExponential(0).replace("e+", "e").replace("-", "−");
}

function stroke(context, x1, y1, x2, y2) {
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

/** Where a run first separates: a fine line, and its t above it. */
function drawSeparation(context, film, colour, top, bottom, xOf, side) {
  if (film.separatedAt < 0) return;
  const x = xOf(film.separatedAt);
  context.strokeStyle = context.fillStyle = colour;
  context.setLineDash([2, 3]);
  stroke(context, x, top, x, bottom);
  context.setLineDash([]);
  context.textBaseline = "bottom";
  context.textAlign = x > xOf.middle ? "right" : "left";
  context.fillText(`${side}separates at ${shown(film.separatedAt)}`, x + (x > xOf.middle ? 3 : -3), top - 2);
}

/** Styles of the two runs: A is a line, B is dashed, so that colour is not needed to tell them apart. */
function styled(context, role, ink) {
  context.strokeStyle = context.fillStyle = ink[`run-${role}`];
  context.setLineDash(role === "b" ? [5, 4] : []);
  context.lineWidth = 1.75;
}

function drawCurves(context, width, height, player) {
  const { a, b } = player.films, ink = palette();
  if (!a) return;
  const runs = b ? [["b", b], ["a", a]] : [["a", a]];
  const each = (height - FOOT - TOP) / PANELS.length, time = timeScale(player, (width - LEFT) / 70);
  const xOf = (t) => LEFT + time.at(t) * (width - LEFT - RIGHT);
  xOf.middle = width / 2;
  context.font = "12px system-ui, sans-serif";
  PANELS.forEach(({ key, kind }, k) => {
    const box = { left: LEFT, right: width - RIGHT, width: width - LEFT - RIGHT, bottom: TOP + each * (k + 1), height: each - HEAD };
    const scale = valueScale(kind, runs.map(([, one]) => one), key, box.height / 22);
    const place = (t, v) => [xOf(t), box.bottom - Math.min(1.02, scale.at(v)) * box.height];
    context.lineWidth = 1;
    drawAxes(context, box, scale, time, k === PANELS.length - 1);
    context.fillStyle = ink.ink;
    context.textAlign = "left";
    context.textBaseline = "bottom";
    context.fillText(titleOf(key, a, b), box.left, box.bottom - box.height - 4);
    for (const [role, one] of runs) {
      styled(context, role, ink);
      trace(context, one, key, place);
    }
    context.setLineDash([]);
    for (const [role, one] of runs) {
      const at = iterateAt(one, player.cursor()).index;
      context.fillStyle = ink[`run-${role}`];
      spot(context, place(Math.min(player.cursor(), one.t[one.t.length - 1]), one[key][at]), 4.5);
    }
  });
  const bottom = height - FOOT;
  context.lineWidth = 1;
  drawSeparation(context, a, ink["run-a"], TOP, bottom, xOf, b ? "A " : "");
  context.strokeStyle = ink.ink;
  stroke(context, xOf(player.cursor()), TOP, xOf(player.cursor()), bottom);
}

/** The sentence a screen reader says at the cursor. */
function spoken(player) {
  const { a } = player.films;
  if (!a) return "no run yet";
  const { index } = iterateAt(a, player.cursor());
  const [errors, loss, norm] = [a.errors, a.loss, a.gradNorm].map((values) => shown(values[index], 3));
  return `iteration ${shown(player.cursor())}: ${errors} wrong, loss ${loss}, gradient norm ${norm}`;
}

const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 20, PageDown: -20 };

/** Keys of a slider over the film: one recorded iterate, twenty, the ends. True if the key was one of them. */
export function scrubByKey(event, player) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (event.key in KEYS) player.step(KEYS[event.key]);
  else if (event.key === "Home") player.seek(0);
  else if (event.key === "End") player.toEnd();
  else return false;
  event.preventDefault();
  return true;
}

export function mountCurves(place, { store, player }) {
  const title = element("h2"), runs = ["A", "B"].map((name) => element("span", { class: `run run-${name.toLowerCase()}`, text: name }));
  const key = element("p", { class: "key" }, ...runs);
  const canvas = element("canvas", {
    class: "curves", role: "slider", tabIndex: 0, "aria-label": "Iteration, in the curves", "aria-valuemin": "0",
  });
  const redraw = painter(canvas, (context, width, height) => drawCurves(context, width, height, player));
  place.append(element("div", { class: "row" }, title, key), canvas);

  function scrub(event) {
    const box = canvas.getBoundingClientRect(), time = timeScale(player, 5);
    const share = (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
    let best = 0, grid = player.grid;
    for (let k = 1; k < grid.length; k++) if (Math.abs(time.at(grid[k]) - share) < Math.abs(time.at(grid[best]) - share)) best = k;
    player.seek(grid[best]);
  }
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    player.pause();
    canvas.setPointerCapture(event.pointerId);
    scrub(event);
  });
  canvas.addEventListener("pointermove", (event) => canvas.hasPointerCapture(event.pointerId) && scrub(event));
  canvas.addEventListener("keydown", (event) => scrubByKey(event, player));

  function update() {
    title.textContent = logarithmic(player) ? "Over the iterations (log)" : "Over the iterations";
    key.hidden = !player.films.b;
    canvas.setAttribute("aria-valuemax", player.end);
    canvas.setAttribute("aria-valuenow", player.cursor());
    canvas.setAttribute("aria-valuetext", spoken(player));
    redraw();
  }
  player.subscribe(({ reason }) => reason !== "progress" && update());
  update();
}
