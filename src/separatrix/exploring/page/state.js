// The state of the page: one frozen object, who watches it, undo and redo. Its text in a URL is in fragment.js.

/**
 * @typedef {{x: number, y: number, label: 1|-1}} Point
 * @typedef {{x: string, y: string, plus: string, minus: string}} Names
 * @typedef {{id: string, n?: number, title?: string, notes?: string[], of?: number, edited?: boolean}} Source
 * id: one of DATASETS, or "given" (from Python), "file" (a CSV), "drawn" (from an empty plane).
 * of: how many columns the rows have, where the plane shows fewer.
 * @typedef {Object} State
 * @property {readonly Point[]} points
 * @property {Names} names
 * @property {Source} source
 * @property {boolean} intercept
 * @property {string} method one of METHODS
 * @property {number} gamma the step size, in (0, ∞]
 * @property {"cyclic"|"most-wrong"} order of the perceptron's rows
 * @property {number} maxIter updates to make at most
 * @property {number} past updates to go on after separation
 * @property {null|{method: string, gamma: number}} compare the second run
 * @property {null|number} t the cursor; null is the end of the film, wherever that is
 * @property {null|number} tour the step of the tour
 * @property {"move"|"add+"|"add-"|"flip"|"delete"|"brush+"|"brush-"} tool
 * @property {boolean} widest whether the widest margin is drawn, where there is one
 * @property {boolean} proof whether the proof of overlap is drawn, where there is one
 */

export const TOOLS = ["move", "add+", "add-", "flip", "delete", "brush+", "brush-"];
const DEPTH = 200; // how many changes can be undone

/** What a page has that nobody has told anything. */
export const PLAIN = Object.freeze({
  points: [], names: { x: "x", y: "y", plus: "plus", minus: "minus" }, source: { id: "drawn" }, intercept: false,
  method: "lr-gd", gamma: 1, order: "cyclic", maxIter: 10_000, past: 0, compare: null, t: null, tour: null, tool: "move",
  widest: false, proof: true,
});

/**
 * The store. `set(patch, {undo, merge})` changes what differs and tells subscribers (state, changed keys). With undo it can be
 * undone; with merge as well it belongs to the change before, if that changed the same keys: a whole drag is one step back.
 * @param {Partial<State>} initial
 */
export function createStore(initial = {}) {
  /** @type {State} */
  let state = Object.freeze({ ...PLAIN, ...initial });
  const subscribers = new Set();
  const done = [];
  const undone = [];

  function apply(patch) {
    const changed = new Set(Object.keys(patch).filter((key) => !Object.is(patch[key], state[key])));
    if (changed.size === 0) return changed;
    state = Object.freeze({ ...state, ...patch });
    for (const subscriber of [...subscribers]) subscriber(state, changed);
    return changed;
  }

  function remember(patch, merge) {
    const keys = Object.keys(patch);
    const last = done.at(-1);
    undone.length = 0;
    if (merge && last && keys.every((key) => key in last.before) && Object.keys(last.before).length === keys.length) {
      Object.assign(last.after, patch);
      return;
    }
    done.push({ before: picked(state, keys), after: { ...patch } });
    if (done.length > DEPTH) done.shift();
  }

  function travel(from, to, side) {
    const change = from.pop();
    if (!change) return;
    to.push(change);
    apply(change[side]);
  }

  return {
    get: () => state,
    set(patch, { undo = false, merge = false } = {}) {
      if (undo && Object.keys(patch).some((key) => !Object.is(patch[key], state[key]))) remember(patch, merge);
      apply(patch);
    },
    subscribe(subscriber) {
      subscribers.add(subscriber);
      return () => subscribers.delete(subscriber);
    },
    undo: () => travel(done, undone, "before"),
    redo: () => travel(undone, done, "after"),
    get canUndo() {
      return done.length > 0;
    },
    get canRedo() {
      return undone.length > 0;
    },
  };
}

function picked(state, keys) {
  return Object.fromEntries(keys.map((key) => [key, state[key]]));
}
