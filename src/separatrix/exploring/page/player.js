// The player: films of the runs that the state asks for, the verdict on its points, and the cursor that goes through time.

import { augmentedMargin } from "./bounds.js";
import { calm } from "./dom.js";
import { decide } from "./exact.js";
import { METHODS } from "./methods.js";
import { createStudio } from "./studio.js";

const PATIENCE = 250; // ms: so young a run is let finish though its points have moved on: dragging stays live
const ROLES = ["a", "b", "limit"];

/** The method that an LR+GD turns into as γ → ∞. */
const LIMITS = { "lr-gd": "batch-perceptron", "normalized-lr-gd": "normalized-batch-perceptron" };

/** Whether this method has a step size: the perceptrons are the case γ = ∞. */
export function takesGamma(method) {
  return method in LIMITS;
}

/** Where an LR+GD goes as γ → ∞; a perceptron stays what it is. */
export function limitOf(method) {
  return LIMITS[method] ?? method;
}

/** What a run is called: its method, and its step size where it has one. */
export function runName({ method, gamma }) {
  const { label } = METHODS.find(({ name }) => name === method);
  return takesGamma(method) ? `${label}, γ = ${gammaText(gamma)}` : label;
}

/** A step size in digits that are the very double, in Python too. */
export function gammaText(gamma) {
  return gamma === Infinity ? "∞" : (gamma >= 1e5 ? gamma.toExponential() : String(gamma)).replace("e+", "e");
}

/**
 * The last recorded iterate at or before t, and its place in the film.
 * @param {{t: Float64Array, phi: Float64Array[]}} of @param {number} t
 */
export function iterateAt(of, t) {
  let low = 0, high = of.t.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (of.t[middle] <= t) low = middle; else high = middle - 1;
  }
  return { phi: of.phi.map((values) => values[low]), index: low };
}

/** The times at which one of the films has an iterate, rising: what is played and scrubbed. */
function gridOf(films) {
  const times = new Set();
  for (const one of films) if (one) for (const t of one.t) times.add(t);
  return times.size ? Float64Array.from(times).sort() : Float64Array.of(0);
}

/** How long it takes to play so many steps, in ms: few are shown one by one, many in some seconds. */
export function playingTime(steps) {
  return steps <= 12 ? 450 * steps : 5400 + Math.min(4600, 6 * (steps - 12));
}

// What is to be filmed.

/** What the state asks run A, run B or the perceptron behind run A to do; null: there is no such run. */
function orderOf(state, role) {
  const asks = { points: state.points, intercept: state.intercept, order: state.order, maxIter: state.maxIter, past: state.past };
  if (role === "a") return { ...asks, method: state.method, gamma: gammaOf(state.method, state.gamma) };
  const { method, gamma } = state.compare ?? {};
  if (role === "b") return method ? { ...asks, method, gamma: gammaOf(method, gamma) } : null;
  if (!takesGamma(state.method) || state.gamma === Infinity) return null;
  return { ...asks, past: 0, method: limitOf(state.method), gamma: Infinity };
}

function gammaOf(method, gamma) {
  return takesGamma(method) ? gamma : Infinity;
}

function same(one, other) {
  if (!one || !other) return one === other;
  return Object.keys(one).every((key) => Object.is(one[key], other[key]));
}

/** The order as the film maker takes it. */
function makeOf(order, direction) {
  const { points, ...rest } = order;
  return { ...rest, X: points.map(({ x, y }) => [x, y]), y: points.map(({ label }) => label), thetaStar: direction };
}

/** The verdict on the points, and the direction that runs past separation tend to: that of the rows they see. */
function judge({ points, intercept }) {
  if (!points.length) return { decision: null, rows: null, direction: null };
  const decision = decide(points, intercept);
  const rows = decision.separable ? augmentedMargin(points, intercept) : null;
  return { decision, rows, direction: rows ? rows.theta ?? decision.theta : null };
}

/**
 * The player. `films` has run A, run B and the perceptron behind run A (`limit`), each with what was `asked`; an old film
 * stays until the new one is there. Subscribers get {reason: "film" | "decision" | "cursor" | "playing" | "progress" | "failed"}.
 */
export function createPlayer(store) {
  const studio = createStudio(), listeners = new Set(), jobs = { a: {}, b: {}, limit: {} };
  const films = { a: null, b: null, limit: null };
  let judged = { decision: null, rows: null, direction: null }, judgedOn = {}, grid = gridOf([]);
  let playing = false, position = 0, last = 0, seen = null, progress = null;

  const tell = (reason) => listeners.forEach((listen) => listen({ reason }));
  const end = () => grid[grid.length - 1];
  const cursor = () => Math.min(store.get().t ?? end(), end());
  const place = () => iterateAt({ t: grid, phi: [] }, cursor()).index;

  /** At the end of the film the cursor becomes null, which stays the end when the film changes. */
  function seek(t) {
    store.set({ t: t >= end() ? null : Math.max(0, t) });
  }

  function watch() {
    const state = store.get();
    if (state.points !== judgedOn.points || state.intercept !== judgedOn.intercept) {
      judgedOn = state;
      judged = judge(state);
      tell("decision");
    }
    for (const role of ROLES) want(role, state.points.length ? orderOf(state, role) : null);
    if (state.t !== seen) {
      seen = state.t;
      tell("cursor");
    }
  }

  function want(role, order) {
    const job = jobs[role];
    if (same(order, job.wanted ?? null)) return;
    job.wanted = order;
    if (!order) {
      drop(role);
      return show(role, null);
    }
    const left = job.id ? PATIENCE - (performance.now() - job.since) : 0;
    if (left > 0) job.timer ??= setTimeout(() => begin(role), left);
    else begin(role);
  }

  function drop(role) {
    const job = jobs[role];
    if (job.id) studio.cancel(job.id);
    clearTimeout(job.timer);
    job.id = job.timer = null;
    if (progress?.role === role) progress = null;
  }

  function begin(role) {
    drop(role);
    const job = jobs[role], order = job.wanted;
    job.since = performance.now();
    job.id = studio.ask(makeOf(order, judged.direction), {
      progress: (at) => report(role, at),
      done: (made) => finish(role, { ...made, asked: order }),
      failed: (message) => {
        drop(role);
        progress = { role, message };
        tell("failed");
      },
    });
  }

  function finish(role, made) {
    const stale = !same(jobs[role].wanted, made.asked);
    drop(role);
    show(role, made);
    if (stale) begin(role);
  }

  function report(role, { t }) {
    if (performance.now() - jobs[role].since < PATIENCE) return; // short runs need no bar
    progress = { role, t };
    tell("progress");
  }

  function show(role, made) {
    const at = playing ? cursor() : 0;
    films[role] = made;
    if (role !== "limit") grid = gridOf([films.a, films.b]);
    if (playing) position = iterateAt({ t: grid, phi: [] }, at).index;
    tell("film");
  }

  // Time goes by.

  function frame(now) {
    if (!playing) return;
    const steps = grid.length - 1, wait = calm() ? 600 : 0; // less motion: a few still pictures instead
    if (now - last >= wait) {
      position += Math.min(now - last, Math.max(wait * 1.5, 100)) * steps / playingTime(steps);
      last = now;
      if (position >= steps) return pause(Infinity);
      seek(grid[Math.floor(position)]);
    }
    requestAnimationFrame(frame);
  }

  function play() {
    if (playing || grid.length < 2) return;
    if (cursor() >= end()) seek(0);
    playing = true;
    position = place();
    last = performance.now();
    tell("playing");
    requestAnimationFrame(frame);
  }

  function pause(t = cursor()) {
    if (!playing) return;
    playing = false;
    seek(t);
    tell("playing");
  }

  /** So many recorded iterates on or back. */
  function step(by = 1) {
    pause();
    const next = Math.min(grid.length - 1, Math.max(0, place() + by));
    seek(grid[next]);
  }

  store.subscribe(watch);
  const player = {
    films, cursor, play, pause, step, seek,
    /** To the end of the film: the first separator, or as far past it as the state asks, or where the budget ends. */
    toEnd() {
      pause();
      seek(Infinity);
    },
    place,
    /** To a place on the grid, as the scrubber has it. */
    seekPlace: (index) => seek(grid[Math.min(grid.length - 1, Math.max(0, Math.round(index)))]),
    subscribe(listen) {
      listeners.add(listen);
      return () => listeners.delete(listen);
    },
    get decision() { return judged.decision; },
    /** R and μ of the rows that the runs see, for the theorem's bounds; null unless separable. */
    get rows() { return judged.rows; },
    get grid() { return grid; },
    /** The last t that can be shown. */
    get end() { return end(); },
    get playing() { return playing; },
    /** {role, t} of a long run under way, {role, message} of one that failed, or null. */
    get progress() { return progress; },
    get busy() { return ROLES.some((role) => jobs[role].id); },
  };
  queueMicrotask(watch); // whoever mounts in this turn hears of the first verdict
  return player;
}
