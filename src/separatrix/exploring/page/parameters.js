// The parameter plane: the path of φ = θ/γ, and the cone of all θ that separate. A point here is a line over there.

import { tangled } from "./curves.js";
import { element, painter, palette, shown } from "./dom.js";
import { hull } from "./exact.js";
import { shortened } from "./paint.js";
import { iterateAt, limitOf, runName } from "./player.js";
import { ticksOf } from "./view.js";

const ZOOM = 1.25; // the window's size is a power of it, so that it holds still while a point is dragged
const EDGE = 1.25; // room around the paths
const MARKED_UP_TO = 60; // iterates: fewer are shown one by one

/**
 * The cone of separators, as the angles [from, to] between which it lies; null if there is none.
 * Without an intercept θ separates if every z_i·θ > 0; with one its first two entries do, for some offset, if they have
 * every difference of a plus and a minus point on their side, and differences of corners suffice.
 */
export function coneOf(points, intercept, decision) {
  if (!decision?.separable) return null;
  const [plus, minus] = [1, -1].map((side) => hull(points.filter(({ label }) => label === side)));
  if (intercept && !(plus.length && minus.length)) return [-Math.PI, Math.PI]; // an offset alone will do
  const ahead = intercept
    ? plus.flatMap((p) => minus.map((q) => [p.x - q.x, p.y - q.y]))
    : [...plus.map((p) => [p.x, p.y]), ...minus.map((q) => [-q.x, -q.y])];
  const [u, v] = decision.theta;
  let low = Infinity, high = -Infinity;
  for (const [x, y] of ahead) {
    const angle = Math.atan2(u * y - v * x, u * x + v * y);
    low = Math.min(low, angle);
    high = Math.max(high, angle);
  }
  const middle = Math.atan2(v, u);
  return [middle + high - Math.PI / 2, middle + low + Math.PI / 2];
}

/** From the plane of θ/γ to the canvas, with the origin and all these paths in the window; its size goes in steps. */
function viewOf(films, width, height) {
  let [left, right, low, high] = [0, 0, 0, 0];
  for (const { phi: [xs, ys] } of films) {
    for (const x of xs) [left, right] = [Math.min(left, x), Math.max(right, x)];
    for (const y of ys) [low, high] = [Math.min(low, y), Math.max(high, y)];
  }
  const need = Math.max((right - left) / width, (high - low) / height) * EDGE || 1 / Math.min(width, height);
  const unit = ZOOM ** Math.ceil(Math.log(need) / Math.log(ZOOM)); // of θ/γ in a pixel
  const [x, y] = [left + right, low + high].map((sum) => Math.round(sum / 2 / unit / 20) * unit * 20);
  return {
    at: (u, v) => [width / 2 + (u - x) / unit, height / 2 - (v - y) / unit],
    left: x - width / 2 * unit, right: x + width / 2 * unit, low: y - height / 2 * unit, high: y + height / 2 * unit,
  };
}

function drawGrid(context, view, width, height) {
  const ink = palette();
  context.font = "12px system-ui, sans-serif";
  context.lineWidth = 1;
  context.textAlign = "center";
  context.textBaseline = "bottom";
  for (const u of ticksOf(view.left, view.right, width)) {
    const [x] = view.at(u, 0);
    rule(context, u === 0 ? ink.axis : ink.grid, x, 0, x, height);
    if (x > 30 && x < width - 20) label(context, ink, shown(u), x, height - 4);
  }
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const v of ticksOf(view.low, view.high, 1.3 * height)) {
    const [, y] = view.at(0, v);
    rule(context, v === 0 ? ink.axis : ink.grid, 0, y, width, y);
    if (y > 30 && y < height - 24) label(context, ink, shown(v), 4, y);
  }
}

function drawNames(context, width, height, names) {
  const ink = palette();
  context.textAlign = "left";
  context.textBaseline = "top";
  label(context, ink, shortened(context, `↑ weight of ${names.y}`, width - 8), 4, 4);
  context.textAlign = "right";
  context.textBaseline = "bottom";
  label(context, ink, `${shortened(context, `weight of ${names.x}`, width - 30)} →`, width - 4, height - 20);
}

function rule(context, colour, x1, y1, x2, y2) {
  context.strokeStyle = colour;
  context.beginPath();
  context.moveTo(x1, y1);
  context.lineTo(x2, y2);
  context.stroke();
}

function label(context, ink, text, x, y) {
  context.strokeStyle = ink.paper; // a halo, so that it can be read over paths
  context.lineWidth = 3;
  context.lineJoin = "round";
  context.strokeText(text, x, y);
  context.lineWidth = 1;
  context.fillStyle = ink.soft;
  context.fillText(text, x, y);
}

function drawCone(context, view, [from, to], reach) {
  const ink = palette(), [x, y] = view.at(0, 0);
  context.fillStyle = ink.cone;
  context.beginPath();
  context.moveTo(x, y);
  context.arc(x, y, reach, -from, -to, true);
  context.fill();
}

function drawPath(context, view, film, upTo, colour, { dash = [], wide = 2 } = {}) {
  const [xs, ys] = film.phi, blot = tangled(xs) || tangled(ys);
  context.strokeStyle = context.fillStyle = colour;
  context.setLineDash(blot ? [] : dash); // dashes along a tangle take a browser tens of milliseconds
  context.lineWidth = blot ? 0.75 : wide;
  context.beginPath();
  for (let k = 0; k <= upTo; k++) context.lineTo(...view.at(xs[k], ys[k]));
  context.stroke();
  context.setLineDash([]);
  if (film.t.length <= MARKED_UP_TO) for (let k = 0; k <= upTo; k++) drawDot(context, view.at(xs[k], ys[k]), 2.5);
}

function drawDot(context, [x, y], radius) {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fill();
}

/** The iterate at the cursor: an arrow from the origin, which is the normal of the line over there. */
function drawIterate(context, view, film, t, colour) {
  const { phi: [u, v] } = iterateAt(film, t), [x0, y0] = view.at(0, 0), [x, y] = view.at(u, v), ink = palette();
  context.lineWidth = 1.25;
  rule(context, colour, x0, y0, x, y);
  context.fillStyle = ink.paper;
  drawDot(context, [x, y], 7);
  context.fillStyle = colour;
  drawDot(context, [x, y], 5);
}

function drawParameters(context, width, height, { store, player }, cone) {
  const { a, b, limit } = player.films, ink = palette(), state = store.get();
  if (!a) return;
  const view = viewOf([a, b, limit].filter(Boolean), width, height), t = player.cursor();
  if (cone) drawCone(context, view, cone, 4 * (width + height) + 1e3);
  drawGrid(context, view, width, height);
  context.globalAlpha = limit && tangled(limit.phi[0]) ? 0.35 : 1; // a tangle is a backdrop
  if (limit) drawPath(context, view, limit, limit.t.length - 1, ink.soft, { dash: [2, 3], wide: 1.5 });
  context.globalAlpha = 1;
  for (const [role, one] of [["b", b], ["a", a]]) {
    if (!one) continue;
    const colour = ink[`run-${role}`], dash = role === "b" ? [6, 4] : [];
    context.globalAlpha = 0.3;
    drawPath(context, view, one, one.t.length - 1, colour, { dash, wide: 1.25 });
    context.globalAlpha = 1;
    drawPath(context, view, one, iterateAt(one, t).index, colour, { dash });
  }
  if (b) drawIterate(context, view, b, t, ink["run-b"]);
  drawIterate(context, view, a, t, ink["run-a"]);
  context.fillStyle = ink.ink;
  drawDot(context, view.at(0, 0), 3);
  drawNames(context, width, height, state.names);
}

/** What the picture shows, in words. */
function described(state, player, cone) {
  const { a, b } = player.films;
  if (!a) return "No run yet.";
  const at = (film) => iterateAt(film, player.cursor()).phi.map((x) => shown(x, 3)).join(", ");
  const degrees = cone && shown((cone[1] - cone[0]) * 180 / Math.PI, 3);
  const width = cone ? `the separators fill a cone of ${degrees} degrees` : "there is no cone of separators";
  return `θ/γ at iteration ${shown(player.cursor())} is (${at(a)})${b ? `, of run B (${at(b)})` : ""}; ${width}.`;
}

function captionOf(state, player, cone) {
  const { a, limit } = player.films;
  const shaded = !cone ? "None separates." : state.intercept ? "Shaded: separators, for some offset." : "Shaded: all separators.";
  const behind = a && limit ? ` Dotted: γ = ∞, the ${runName({ method: limitOf(a.asked.method) })}.` : "";
  return `Each point is a line, and the arrow its normal. ${shaded}${behind}`;
}

export function mountParameters(place, { store, player }) {
  const canvas = element("canvas", { class: "parameters", role: "img" });
  const caption = element("p", { class: "caption" });
  let cone = null;
  const redraw = painter(canvas, (context, width, height) => drawParameters(context, width, height, { store, player }, cone));
  place.append(element("h2", { text: "Path of θ/γ" }), canvas, caption);
  function update(reason) {
    const state = store.get();
    if (reason === "decision") cone = coneOf(state.points, state.intercept, player.decision);
    canvas.setAttribute("aria-label", described(state, player, cone));
    const text = captionOf(state, player, cone);
    if (caption.textContent !== text) caption.textContent = text;
    redraw();
  }
  player.subscribe(({ reason }) => reason !== "progress" && update(reason));
  update("decision");
}
