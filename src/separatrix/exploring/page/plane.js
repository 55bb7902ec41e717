// The plane: shows the scene, and lets points be added, dragged, flipped, deleted and drawn, by pointer and by keys.

import { announce, element, painter, palette, shown } from "./dom.js";
import { added, edited, flipped, heapAt, moved, nearestTo, handPlace, removed } from "./edit.js";
import { paintScene, svgOf } from "./paint.js";
import { iterateAt } from "./player.js";
import { marginOf, mirrored, sceneOf, sizeOf } from "./scene.js";
import { pictureButton, toolbar } from "./tools.js";
import { fitted, grain, panned, resized, toScreen, zoomed } from "./view.js";

const REACH = { mouse: 11, pen: 14, touch: 24 }; // pixels within which a press means a point
const BRUSH = { radius: 22, spacing: 15 }; // pixels
const NUDGES = { plain: 20, shift: 200, alt: 1 }; // arrow keys, in grains of the window (some thousandth of it)
const KEY_HELP = "Page Up/Down: choose a point. Arrows: move it (Shift far, Alt little). F: flip. Delete. + and −: add. 0: fit. Ctrl+Z: undo.";

/**
 * @param {HTMLElement} place
 * @param {{store: Object, player: Object}} context
 * @returns {{svg: () => string, fit: () => void, screenOf: (i: number) => number[], view: () => Object}}
 */
export function mountPlane(place, { store, player }) {
  const canvas = element("canvas", {
    id: "plane-canvas", tabIndex: 0, role: "application", "aria-roledescription": "plane of points", "aria-describedby": "plane-keys",
  });
  const tip = element("div", { class: "tip", "aria-hidden": "true", hidden: true });
  const keys = element("p", { id: "plane-keys", class: "keys small", text: KEY_HELP });
  const self = { store, player, canvas, tip, data: heading(store.get()), view: null, whole: true, chosen: -1, over: -1, hand: null, redraw: null };
  self.redraw = painter(canvas, (context, width, height) => draw(self, context, width, height));
  const zoom = element("div", { class: "zoom", role: "group", "aria-label": "Window" },
    pictureButton("closer", "Zoom in", () => look(self, zoomed(self.view, 1.4))),
    pictureButton("farther", "Zoom out", () => look(self, zoomed(self.view, 1 / 1.4))),
    pictureButton("fit", "Fit all points (0)", () => fit(self)));
  place.append(toolbar(store), element("div", { class: "window" }, canvas, tip, zoom, keys));
  listen(self);
  return {
    svg: (title) => svgOf(sceneOf(store.get(), player, self.view), self.view.width, self.view.height, title),
    fit: () => fit(self),
    screenOf: (i) => toScreen(self.view, store.get().points[i].x, store.get().points[i].y),
    view: () => self.view,
  };
}

/** What other data than those seen would differ in; edited points are still the same data. */
function heading({ source, names }) {
  return JSON.stringify([source.id, source.n, source.title, names]);
}

function listen(self) {
  const { store, player, canvas } = self;
  store.subscribe((state, changed) => {
    if (changed.has("points") && self.chosen >= state.points.length) self.chosen = state.points.length - 1;
    if (self.data !== heading(state)) fit(self);
    else if (changed.has("intercept") && self.whole) self.view = null;
    self.data = heading(state);
    if (changed.has("tool")) canvas.dataset.tool = state.tool;
    self.redraw();
  });
  player.subscribe(self.redraw);
  canvas.dataset.tool = store.get().tool;
  canvas.addEventListener("pointerdown", (event) => press(self, event));
  canvas.addEventListener("pointermove", (event) => move(self, event));
  for (const type of ["pointerup", "pointercancel"]) canvas.addEventListener(type, (event) => release(self, event));
  canvas.addEventListener("pointerleave", () => hover(self, -1));
  canvas.addEventListener("dblclick", (event) => doubled(self, event));
  canvas.addEventListener("wheel", (event) => wheel(self, event), { passive: false });
  canvas.addEventListener("touchstart", (event) => claimTouch(self, event), { passive: false });
  canvas.addEventListener("keydown", (event) => key(self, event));
  canvas.addEventListener("focus", () => enter(self));
  canvas.addEventListener("blur", self.redraw);
}

// What is seen.

function draw(self, context, width, height) {
  const state = self.store.get();
  const all = () => fitted([...state.points, ...mirrored(state, self.player)], state.intercept, width, height);
  if (!self.view) self.view = all();
  else if (self.view.width !== width || self.view.height !== height) self.view = self.whole ? all() : resized(self.view, width, height);
  paintScene(context, sceneOf(state, self.player, self.view));
  ringChosen(self, context, state);
  self.canvas.setAttribute("aria-label", `${state.points.length} points, ${state.names.x} and ${state.names.y}`.slice(0, 200));
}

/** The ring of the chosen point while the plane has the keyboard, and the words beside the point under the pointer. */
function ringChosen(self, context, { points, names }) {
  const focused = document.activeElement === self.canvas && self.canvas.matches(":focus-visible");
  const at = focused ? self.chosen : -1;
  if (points[at]) {
    const [x, y] = toScreen(self.view, points[at].x, points[at].y);
    context.beginPath();
    context.setLineDash([]);
    context.rect(x - 13, y - 13, 26, 26);
    context.strokeStyle = palette().focus;
    context.lineWidth = 2.5;
    context.stroke();
  }
  showTip(self, points, names, self.over >= 0 ? self.over : at);
}

function showTip({ tip, view }, points, names, i) {
  tip.hidden = !points[i];
  if (tip.hidden) return;
  const [x, y] = toScreen(view, points[i].x, points[i].y);
  tip.dataset.text = `${classOf(names, points[i])} (${shown(points[i].x, 6)}, ${shown(points[i].y, 6)})`;
  tip.dataset.side = x > view.width / 2 ? "left" : "right";
  tip.style.setProperty("transform", `translate(${x.toFixed(1)}px, ${y.toFixed(1)}px)`);
}

function classOf(names, { label }) {
  return (label > 0 ? names.plus : names.minus).slice(0, 80);
}

function look(self, view) {
  self.view = view;
  self.whole = false;
  self.redraw();
}

function fit(self) {
  self.view = null;
  self.whole = true;
  self.redraw();
}

// Pointers. A hand is what a press has begun, and ends with its release.

function pixelOf(self, event) {
  // A hand keeps the box of its press: asking for it again makes the browser lay the page out in every frame.
  const box = self.hand?.box ?? self.canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function under(self, [px, py], kind) {
  const { points } = self.store.get();
  return self.view ? nearestTo(points, self.view, px, py, (REACH[kind] ?? 14) + sizeOf(points) / 2) : -1;
}

/** A finger on a point, two fingers, or any tool but Drag are the plane's; one finger on its ground scrolls the page. */
function claimTouch(self, event) {
  const touch = event.touches[0];
  if (event.touches.length > 1 || self.store.get().tool !== "move" || under(self, pixelOf(self, touch), "touch") >= 0) event.preventDefault();
}

function press(self, event) {
  if (!self.view || (event.button !== 0 && event.button !== 1)) return;
  const at = pixelOf(self, event);
  if (self.hand && event.pointerType === "touch") return pinch(self, event, at);
  if (self.hand) return;
  if (event.isTrusted) self.canvas.setPointerCapture(event.pointerId);
  self.hand = begin(self, event, at);
  self.hand.pointers = new Map([[event.pointerId, at]]);
  self.hand.box = self.canvas.getBoundingClientRect();
  self.redraw();
}

function begin(self, event, at) {
  const state = self.store.get();
  const i = event.button === 1 ? -1 : under(self, at, event.pointerType);
  const tool = event.button === 1 ? "move" : state.tool;
  if (tool === "delete") return erase(self, i, false);
  if (tool === "flip") return flip(self, i) ?? { does: "nothing" };
  if (tool.startsWith("brush")) return dab(self, at, tool.endsWith("+") ? 1 : -1, false, { does: "brush", last: null, side: tool.endsWith("+") ? 1 : -1 });
  if (i >= 0) return grasp(self, i, at, event.shiftKey);
  if (tool.startsWith("add")) return put(self, at, (tool === "add+") !== event.shiftKey ? 1 : -1);
  return { does: "pan", start: at, view: self.view };
}

function grasp(self, i, start, heap) {
  const { points } = self.store.get();
  self.chosen = i;
  const indices = heap ? heapAt(points, i) : [i];
  return { does: "drag", indices, from: indices.map((k) => points[k]), start, began: false };
}

function put(self, at, label) {
  const { points } = self.store.get();
  change(self, added(points, handPlace(self.view, ...at), label), false);
  const last = self.store.get().points.length - 1;
  return { ...grasp(self, last, at, false), began: true };
}

/** New points; `merge`: part of the same step back as the change before. */
function change(self, points, merge) {
  const state = self.store.get();
  if (points === state.points) return;
  const patch = edited(state, points);
  self.whole = false; // a hand is at work in this window: no change of its size may fit it anew
  // A dragged point changes points alone after its first move: the same keys, so that the whole drag is one step.
  self.store.set({ points: patch.points, source: patch.source }, { undo: true, merge });
}

function move(self, event) {
  const at = pixelOf(self, event);
  const { hand } = self;
  if (!hand) return hover(self, event.pointerType === "touch" ? -1 : under(self, at, event.pointerType));
  if (!hand.pointers.has(event.pointerId)) return;
  hand.pointers.set(event.pointerId, at);
  // One change a frame, however often the pointer reports.
  hand.frame ??= requestAnimationFrame(() => {
    hand.frame = null;
    if (self.hand === hand) act(self, hand);
  });
}

function act(self, hand) {
  const at = [...hand.pointers.values()][0];
  if (hand.does === "pinch") return pinched(self, hand);
  if (hand.does === "pan") return look(self, panned(hand.view, at[0] - hand.start[0], at[1] - hand.start[1]));
  if (hand.does === "brush") return void dab(self, at, hand.side, true, hand);
  if (hand.does === "erase") return void erase(self, under(self, at, "mouse"), true);
  if (hand.does === "drag") drag(self, hand, at);
}

function drag(self, hand, at) {
  const [dx, dy] = [at[0] - hand.start[0], at[1] - hand.start[1]];
  if (!hand.began && Math.hypot(dx, dy) < 3) return; // a click is no drag
  const next = moved(self.store.get().points, hand.indices, hand.from, dx / self.view.sx, -dy / self.view.sy, self.view);
  change(self, next, hand.began);
  hand.began = true;
}

function dab(self, at, label, merge, hand) {
  if (hand.last && Math.hypot(at[0] - hand.last[0], at[1] - hand.last[1]) < BRUSH.spacing) return hand;
  hand.last = at;
  const [angle, far] = [2 * Math.PI * Math.random(), BRUSH.radius * Math.sqrt(Math.random())];
  const place = handPlace(self.view, at[0] + far * Math.cos(angle), at[1] + far * Math.sin(angle));
  change(self, added(self.store.get().points, place, label), merge);
  return hand;
}

function erase(self, i, merge) {
  if (i >= 0) change(self, removed(self.store.get().points, i), merge);
  hover(self, -1);
  return { does: "erase" };
}

function flip(self, i) {
  if (i < 0) return null;
  change(self, flipped(self.store.get().points, i), false);
  self.chosen = i;
  say(self);
  return null;
}

function release(self, event) {
  const { hand } = self;
  if (!hand || !hand.pointers.has(event.pointerId)) return;
  if (hand.frame) {
    cancelAnimationFrame(hand.frame);
    hand.frame = null;
    act(self, hand);
  }
  hand.pointers.delete(event.pointerId);
  if (hand.does === "pinch" && hand.pointers.size > 0) return;
  self.hand = null;
  if (hand.does === "drag" && hand.began) say(self);
}

/** A second finger: what the first began with a point is taken back, and the two move and stretch the window. */
function pinch(self, event, at) {
  const { hand } = self;
  if (hand.pointers.size > 1) return;
  if (hand.began) self.store.undo();
  hand.pointers.set(event.pointerId, at);
  Object.assign(hand, { does: "pinch", began: false, view: self.view, begin: [...hand.pointers.values()] });
}

function pinched(self, { view, begin: [a0, b0], pointers }) {
  if (pointers.size < 2) return;
  const [a, b] = [...pointers.values()];
  const [from, to] = [[a0, b0], [a, b]].map(([[x, y], [u, v]]) => ({ x: (x + u) / 2, y: (y + v) / 2, far: Math.hypot(x - u, y - v) || 1 }));
  look(self, zoomed(panned(view, to.x - from.x, to.y - from.y), to.far / from.far, to.x, to.y));
}

function hover(self, i) {
  if (i === self.over) return;
  self.over = i;
  self.canvas.classList.toggle("over", i >= 0);
  self.redraw();
}

function doubled(self, event) {
  const at = pixelOf(self, event);
  if (self.store.get().tool === "move" && under(self, at, "mouse") < 0) change(self, added(self.store.get().points, handPlace(self.view, ...at), event.shiftKey ? -1 : 1), false);
}

/** The wheel scrolls the page; with Ctrl, or two fingers on a touchpad, it zooms. */
function wheel(self, event) {
  if (!self.view || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  look(self, zoomed(self.view, Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 120), ...pixelOf(self, event)));
}

// Keys.

function enter(self) {
  if (self.chosen < 0 && self.store.get().points.length) self.chosen = 0;
  if (self.canvas.matches(":focus-visible")) say(self);
  self.redraw();
}

function key(self, event) {
  if (event.ctrlKey || event.metaKey) return;
  const does = actionOf(self, event);
  if (!does) return;
  event.preventDefault();
  if (does() !== false) say(self);
  self.redraw();
}

function actionOf(self, event) {
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  if (arrows[event.key]) return () => nudge(self, arrows[event.key], event);
  const actions = {
    PageDown: () => choose(self, self.chosen + 1), PageUp: () => choose(self, self.chosen - 1),
    Home: () => choose(self, 0), End: () => choose(self, self.store.get().points.length - 1),
    f: () => void flip(self, self.chosen), Delete: () => drop(self), Backspace: () => drop(self),
    "+": () => plant(self, 1), "=": () => plant(self, 1), "-": () => plant(self, -1), "−": () => plant(self, -1),
    0: () => void fit(self), Escape: () => letGo(self),
  };
  return actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
}

function choose(self, i) {
  const { length } = self.store.get().points;
  self.chosen = length ? (i + length) % length : -1;
}

function nudge(self, [dx, dy], event) {
  const { points } = self.store.get();
  if (!points[self.chosen] || !self.view) return false;
  const times = event.shiftKey ? NUDGES.shift : event.altKey ? NUDGES.alt : NUDGES.plain;
  const [stepX, stepY] = grain(self.view).map((power) => times * 10 ** power);
  change(self, moved(points, [self.chosen], [points[self.chosen]], dx * stepX, dy * stepY, self.view), event.repeat);
}

function drop(self) {
  const { points } = self.store.get();
  if (!points[self.chosen]) return false;
  change(self, removed(points, self.chosen), false);
}

/** A new point a little beside the chosen one, or in the middle of the window. */
function plant(self, label) {
  if (!self.view) return false;
  const { points } = self.store.get();
  const [x, y] = points[self.chosen] ? toScreen(self.view, points[self.chosen].x, points[self.chosen].y) : [self.view.width / 2, self.view.height / 2];
  change(self, added(points, handPlace(self.view, x + 30, y), label), false);
  self.chosen = self.store.get().points.length - 1;
}

function letGo(self) {
  if (self.hand?.does === "drag" && self.hand.began) self.store.undo();
  self.hand = null;
  return false;
}

/** The chosen point in words. */
function say(self) {
  const { points, names } = self.store.get();
  const point = points[self.chosen];
  if (!point) return announce(points.length ? "No point chosen" : "No points");
  const film = self.player.films.a;
  const wrong = film && marginOf(iterateAt(film, self.player.cursor()).phi, point) <= 0;
  announce(`Point ${self.chosen + 1} of ${points.length}, ${classOf(names, point)}, ${shown(point.x, 6)}, ${shown(point.y, 6)}${wrong ? ", on the wrong side" : ""}`);
}
