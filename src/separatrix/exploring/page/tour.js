// The guided tour: the paper's three findings in a few steps each, then "break it". Steps set the page up through the store.

import { DATASETS } from "./datasets.js";
import { announce, element } from "./dom.js";
import { counted } from "./numbers.js";

const KEPT = ["points", "names", "source", "intercept", "method", "gamma", "order", "maxIter", "past", "compare", "t", "tool", "widest", "proof"];
const FLOWERS = { data: "iris-setosa" }, ONE_AGAINST_ALL = { data: "worst-case", n: 1000 };

/**
 * Numbers in these texts are this page's own; tests hold each `count` of a step to the run that the step asks for.
 * @type {{part: string, title: string, says: string, look: string, set: Object, counts?: number[], goal?: Function}[]}
 */
export const STEPS = [
  {
    part: "Large steps", title: "Small steps creep", counts: [136],
    says: "150 irises, setosa and other kinds, and one line. At each step of gradient descent (LR+GD: logistic regression) every flower pulls the line to its own right side, the more the wronger it is.",
    look: "Press play. With the step size γ = 0.1 the curves fall smoothly, and it takes 136 iterations until no flower is wrong.",
    set: { ...FLOWERS, method: "lr-gd", gamma: 0.1, t: 0 },
  },
  {
    part: "Large steps", title: "Large steps leap", counts: [10],
    says: "The same flowers, with steps a hundred times as large. Textbooks warn of γ = 10: loss and errors leap up and down.",
    look: "Press play, or go step by step. After 4 steps 100 flowers are wrong, after 10 none: thirteen times sooner than before.",
    set: { ...FLOWERS, method: "lr-gd", gamma: 10, t: 0 },
  },
  {
    part: "Large steps", title: "Slide γ to infinity",
    says: "Nothing breaks when γ grows further. “Path of θ/γ” has gradient descent drawn solid, and dotted an algorithm of 1962: the batch perceptron, where only wrong points pull, all alike.",
    look: "Take the slider from γ = 1 to its right end, ∞, and watch the solid path settle on the dotted one.",
    set: { ...FLOWERS, method: "lr-gd", gamma: 1, t: null },
    goal: ({ state }) => state.gamma === Infinity && "That is the first finding: at γ = ∞ gradient descent is the batch perceptron. It is done after 11 iterations, and so it is at γ = 100 already.",
  },
  {
    part: "Misleading loss", title: "Right before the goal the loss is worst", counts: [2],
    says: "Two points, γ = 100. One step after the start, at θ₁/γ = (2/4, 3/4), the loss has gone up from 0.69 to 12.5, and the gradient's norm is 0.71. Lost?",
    look: "Take one step more.",
    set: { data: "two-samples", method: "lr-gd", gamma: 100, t: 1 },
    goal: ({ player }) => player.cursor() === 2 && "Separated, at θ₂/γ = (1, 1/4), and the loss is about 10⁻³³. The larger γ, the higher the loss at t = 1, and still it takes two steps.",
  },
  {
    part: "Misleading loss", title: "Less loss, and yet far off", counts: [10, 136],
    says: "The irises again: run A with γ = 10, run B, dashed, with γ = 0.1. At t = 9 the loss of A is 1.08, of B 0.42. By its loss B is ahead.",
    look: "One step more and A has every flower right; B will need 127. So the loss, and the gradient's norm with it, do not say how near a separating line is. Count iterations.",
    set: { ...FLOWERS, method: "lr-gd", gamma: 10, compare: { method: "lr-gd", gamma: 0.1 }, t: 9 },
  },
  {
    part: "n times fewer", title: "One against 999", counts: [308],
    says: "All 999 points of one class lie on one spot, and a single one pulls against them. Its pull is divided by n = 1,000, as everything is: each step it gains a thousandth.",
    look: "Press play and watch the path in the parameter plane creep in tiny steps: 308 iterations at γ = 100. Larger γ does not help: 301 at γ = ∞.",
    set: { ...ONE_AGAINST_ALL, method: "lr-gd", gamma: 100, t: 0 },
  },
  {
    part: "n times fewer", title: "Divide by the weights instead", counts: [308, 2],
    says: "The normalized method, run B, divides by the sum of the weights instead of n: one wrong point alone moves the line as far as a thousand would.",
    look: "2 iterations instead of 308. Our theorem allows 3,147 and 5: the guarantee of the normalized methods does not grow with n.",
    set: { ...ONE_AGAINST_ALL, method: "lr-gd", gamma: 100, compare: { method: "normalized-lr-gd", gamma: 100 }, t: null },
  },
  {
    part: "Past separation", title: "It goes on by itself", counts: [13],
    says: "With every flower right the steps become small, but they go on, and turn the line to the middle of the gap: towards the widest margin, though nobody asked for it.",
    look: "Press play, and watch the angle to the widest margin in the table of numbers: 7.1° at separation, after 13 iterations, and 0.2° ten thousand later.",
    set: { ...FLOWERS, method: "lr-gd", gamma: 1, past: 10_000, t: 13, widest: true },
  },
  {
    part: "Break it", title: "Your turn: break it",
    says: "All of this takes for granted that some line separates the two classes. These two clouds are well apart.",
    look: "Drag one single point so that no line will do. (By keyboard: in the plane, Page Down chooses a point and arrows move it.)",
    set: { data: "blobs", method: "lr-gd", gamma: 10, t: null, widest: true },
    goal: ({ state, player }) => player.decision?.separable === false && brokenBy(state, player.decision.proof),
  },
];

/** What to say when the points cannot be separated any more. */
function brokenBy({ points }, { indices }) {
  const spots = indices.map((i) => `(${points[i].x}, ${points[i].y})`).join(", ");
  return `Done: no line separates them now, and ${counted(indices.length, "point")} prove it: ${spots}. They are marked in the plane. No step size and no method would help.`;
}

/** What a step sets: its data made, and all that it does not speak of as on a fresh page. */
export function patchOf({ set }) {
  const { data, n, ...rest } = set, { make, title } = DATASETS.find(({ id }) => id === data);
  const { points, names, intercept = false } = make({ n });
  const plain = { order: "cyclic", maxIter: 10_000, past: 0, compare: null, t: null, tool: "move", widest: false, proof: true };
  return { points, names, intercept, source: { id: data, n, title }, ...plain, ...rest };
}

/** Begin, or go to another step; undo goes back through the steps too. */
export function goTo(store, tour) {
  store.set({ ...patchOf(STEPS[tour]), tour }, { undo: true });
}

/** One button for each part, the current one marked. */
function partsOf(go) {
  const first = STEPS.filter(({ part }, k) => k === 0 || STEPS[k - 1].part !== part);
  const buttons = first.map((step) =>
    element("button", { type: "button", class: "quiet small", text: step.part, on: { click: () => go(STEPS.indexOf(step)) } }));
  return {
    box: element("div", { class: "row parts", role: "group", "aria-label": "Parts of the tour" }, ...buttons),
    show: (part) => buttons.forEach((button) => button.setAttribute("aria-current", button.textContent === part ? "step" : "false")),
  };
}

export function mountTour(place, { store, player }) {
  let free = store.get().tour === null ? store.get() : null; // the last state outside of the tour
  let held = false; // a pointer is down: nothing may move under it
  let from = null, seen = null; // what had the focus before; the step shown
  const go = (tour) => goTo(store, tour);
  const parts = partsOf(go), title = element("h2", { tabIndex: -1, id: "tour-title" });
  const count = element("span", { class: "soft small" });
  const says = element("p"), look = element("p", { class: "look" }), done = element("p", { class: "done" });
  const back = element("button", { type: "button", text: "Back", on: { click: () => go(seen - 1) } });
  const onward = () => (seen + 1 < STEPS.length ? go(seen + 1) : leave(true));
  const next = element("button", { type: "button", class: "primary", on: { click: onward } });
  const out = element("button", { type: "button", class: "quiet", on: { click: () => leave(false) } });
  place.append(element("div", { class: "row" }, title, parts.box, count, out),
    element("div", { class: "texts" }, says, look), done, element("div", { class: "row go" }, back, next));
  place.addEventListener("keydown", (event) => event.key === "Escape" && leave(false));

  /** Back to what there was before the tour; `stay` keeps what there is. */
  function leave(stay) {
    player.pause();
    const before = free && Object.fromEntries([...KEPT, "tour"].map((key) => [key, free[key]]));
    store.set(stay || !before ? { tour: null } : before, { undo: true });
    (from?.isConnected ? from : document.getElementById("plane")?.querySelector("[tabindex]"))?.focus();
  }
  function render(tour) {
    const step = STEPS[tour];
    parts.show(step.part);
    title.textContent = step.title;
    count.textContent = `${tour + 1} of ${STEPS.length}`;
    [says.textContent, look.textContent, done.textContent] = [step.says, step.look, ""];
    back.disabled = tour === 0;
    next.textContent = tour + 1 < STEPS.length ? "Next" : "Stay here and play";
    out.textContent = free ? "Leave, back to my points" : "Leave the tour";
  }
  /** What to say once a step's goal is reached; "break it" follows the points further. */
  function checkGoal() {
    if (seen === null || held) return;
    const { goal, part } = STEPS[seen], words = goal?.({ state: store.get(), player }) || "";
    if (words === done.textContent || (!words && part !== "Break it")) return;
    if (words && !done.textContent) announce(words);
    done.textContent = words;
  }
  function watch(state, changed) {
    if (state.tour === null) free = state;
    if (!changed.has("tour")) return checkGoal();
    const was = seen;
    seen = STEPS[state.tour] ? state.tour : null;
    place.hidden = seen === null;
    if (seen === null) return;
    if (was === null) from = document.activeElement;
    render(seen);
    title.focus();
    if (changed.size === 1) goTo(store, seen); // somebody asked for the tour alone
  }
  function hold(down) {
    held = down;
    checkGoal();
  }
  addEventListener("pointerdown", () => hold(true), true);
  for (const type of ["pointerup", "pointercancel"]) addEventListener(type, () => hold(false), true);
  store.subscribe(watch);
  player.subscribe(({ reason }) => (reason === "decision" || reason === "cursor") && checkGoal());
  if (free === null) watch(store.get(), new Set(["tour", "points"]));
}
