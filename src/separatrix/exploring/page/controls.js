// Method, step size up to ∞, intercept, the second run, and how many iterations.

import { element } from "./dom.js";
import { METHODS } from "./methods.js";
import { gammaText, limitOf, runName, takesGamma } from "./player.js";

const [LOWEST, HIGHEST] = [-3, 6]; // powers of ten on the slider
const PER_DECADE = 20;
const GAP = 12; // places between the last number and ∞
const BUDGETS = [100, 1000, 10_000, 100_000, 1_000_000];

/** Two digits each, so that the number on the page, in a URL and in a script is the same double. */
export const GAMMAS = Array.from({ length: (HIGHEST - LOWEST) * PER_DECADE + 1 }, (_, k) =>
  Number((10 ** (LOWEST + k / PER_DECADE)).toPrecision(2)));
const LAST = GAMMAS.length - 1;
const END = LAST + GAP; // where ∞ stands

const ABOUT = {
  "lr-gd": ["Logistic regression by gradient descent: every point pulls, the more the wronger it is.",
    "φ⁺ = φ + (1/n) Σ wᵢ zᵢ,  wᵢ = 1/(1 + exp(γ mᵢ))"],
  "normalized-lr-gd": ["The same pull, divided by the sum of the weights instead of n.",
    "φ⁺ = φ + Σ wᵢ zᵢ / Σ wᵢ,  wᵢ = 1/(1 + exp(γ mᵢ))"],
  "batch-perceptron": ["All wrong points pull, each as much as the other.", "φ⁺ = φ + (1/n) Σ zᵢ over the wrong points, mᵢ ≤ 0"],
  "normalized-batch-perceptron": ["To the mean of the wrong points.", "φ⁺ = φ + the mean of zᵢ over the wrong points, mᵢ ≤ 0"],
  perceptron: ["One wrong point at a time (Rosenblatt 1958).", "φ⁺ = φ + zⱼ for one wrong point j"],
};

/** What somebody wrote for a step size: a positive number, or ∞ under one of its names; NaN for all else. */
export function readGamma(text) {
  const written = text.trim().toLowerCase();
  if (/^[1-9]\d{0,2}(,\d{3})+$/.test(written)) return NaN; // 1,000 may be a thousand or one
  const word = written.replace(",", ".");
  if (["∞", "inf", "infinity", "oo"].includes(word)) return Infinity;
  const value = word === "" ? NaN : Number(word);
  return value > 0 && value < Infinity ? value : NaN;
}

/** The place on the slider that is nearest to γ. */
export function placeOf(gamma) {
  if (gamma === Infinity) return END;
  return Math.round(Math.min(LAST, Math.max(0, (Math.log10(gamma) - LOWEST) * PER_DECADE)));
}

/** The γ at a place of the slider; in the gap it is whichever end is nearer. */
export function gammaAt(place) {
  return place > LAST + GAP / 2 ? Infinity : GAMMAS[Math.min(LAST, place)];
}

/** Keys of the slider: one place, a decade, the ends; from the last number ∞ is one step. */
function placeByKey(key, place) {
  const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: PER_DECADE, PageDown: -PER_DECADE }[key];
  if (key === "Home") return 0;
  if (key === "End") return END;
  if (!by) return null;
  if (place > LAST) return by > 0 ? END : LAST + 1 + by;
  return place + by > LAST ? (place < LAST && by > 1 ? LAST : END) : Math.max(0, place + by);
}

/** A slider with a field beside it. `set` gets each new γ. */
function gammaInput(name, id, set) {
  const slider = element("input", {
    type: "range", class: "gamma", min: "0", max: String(END), step: "1", "aria-label": `${name} on a logarithmic scale up to ∞`,
  });
  const field = element("input", {
    type: "text", id, class: "tabular", size: 7, autocomplete: "off", spellcheck: false, "aria-describedby": `${id}-wrong`,
  });
  const wrong = element("p", { class: "fault small", id: `${id}-wrong`, role: "alert" });
  const marks = element("div", { class: "marks small soft", "aria-hidden": "true" }, ...[-3, -1, 1, 3, 5].map((power) =>
    mark((power - LOWEST) * PER_DECADE, gammaText(Number(`1e${power}`)))), mark(END, "∞"));
  slider.addEventListener("input", () => set(gammaAt(Number(slider.value))));
  slider.addEventListener("change", () => slider.value = String(placeOf(gammaAt(Number(slider.value)))));
  slider.addEventListener("keydown", (event) => {
    const place = event.ctrlKey || event.metaKey || event.altKey ? null : placeByKey(event.key, Number(slider.value));
    if (place === null) return;
    event.preventDefault();
    set(gammaAt(place));
  });
  field.addEventListener("change", () => {
    const gamma = readGamma(field.value);
    const bad = Number.isNaN(gamma);
    wrong.textContent = bad ? `γ must be a positive number or ∞, got “${field.value}”.` : "";
    field.setAttribute("aria-invalid", bad);
    if (!bad) set(gamma);
  });
  const label = element("label", { text: name, htmlFor: id });
  const box = element("div", { class: "step-size" },
    element("div", { class: "row" }, label, field), element("div", { class: "scale" }, slider, marks), wrong);
  return {
    box,
    show(gamma, disabled) {
      slider.value = String(placeOf(gamma));
      slider.setAttribute("aria-valuetext", disabled ? "not used" : gamma === Infinity ? "infinity" : gammaText(gamma));
      if (document.activeElement !== field || readGamma(field.value) !== gamma) field.value = gammaText(gamma);
      field.removeAttribute("aria-invalid");
      wrong.textContent = "";
      slider.disabled = field.disabled = disabled;
      box.classList.toggle("off", disabled);
    },
  };
}

function mark(place, text) {
  return element("span", { text, style: { left: `${100 * place / END}%` } });
}

function methodSelect(id, change) {
  const options = METHODS.map(({ name, label }) => element("option", { value: name, text: label }));
  const select = element("select", { id }, ...options);
  select.addEventListener("change", () => change(select.value));
  return select;
}

/** What is laid over run A at first: LR+GD's normalized twin, and that one's plain one; a perceptron's likewise. */
export function twinOf({ method, gamma }) {
  const twin = method === "perceptron" ? "batch-perceptron"
    : method.startsWith("normalized-") ? method.slice("normalized-".length) : `normalized-${method}`;
  return { method: twin, gamma };
}

/** What the method does, in a sentence and as a formula; at γ = ∞ what it is then. */
function aboutOf({ method, gamma }) {
  const limit = limitOf(method);
  if (gamma !== Infinity || limit === method) return ABOUT[method];
  const [sentence, formula] = ABOUT[limit];
  return [`At γ = ∞ this is the ${runName({ method: limit })}. ${sentence}`, formula];
}

function mountMethod(store, beside) {
  const select = methodSelect("method", (method) => store.set({ method }));
  const about = element("span"), formula = element("code");
  const order = element("select", { id: "order" },
    element("option", { value: "cyclic", text: "in turn" }), element("option", { value: "most-wrong", text: "the most wrong" }));
  order.addEventListener("change", () => store.set({ order: order.value }));
  const which = element("div", { class: "row" }, element("label", { htmlFor: "order", text: "Which wrong point" }), order);
  const gamma = gammaInput("Step size γ", "gamma", (value) => store.set({ gamma: value }));
  const hint = element("p", { class: "small soft", text: "Perceptrons take no γ: it would make θ longer, and change no step." });
  const box = element("div", { class: "method" },
    element("div", { class: "row" }, element("label", { htmlFor: "method", text: "Method" }), select, ...beside),
    element("p", { class: "about small soft" }, about, formula), which, gamma.box, hint);
  return {
    box,
    show(state) {
      select.value = state.method;
      [about.textContent, formula.textContent] = aboutOf(state);
      which.hidden = state.method !== "perceptron";
      order.value = state.order;
      gamma.show(state.gamma, !takesGamma(state.method));
      hint.hidden = takesGamma(state.method);
    },
  };
}

function mountCompare(store) {
  const second = () => store.get().compare ?? twinOf(store.get());
  const tick = element("input", { type: "checkbox", id: "compare" });
  tick.addEventListener("change", () => store.set({ compare: tick.checked ? second() : null }));
  const select = methodSelect("method-b", (method) => store.set({ compare: { ...second(), method } }));
  select.setAttribute("aria-label", "Method of run B");
  const gamma = gammaInput("Its γ", "gamma-b", (value) => store.set({ compare: { ...second(), gamma: value } }));
  const box = element("div", { class: "second" },
    element("div", { class: "row" }, element("label", { class: "tick" }, tick, " Compare with"), select), gamma.box);
  return {
    box,
    show({ compare }) {
      tick.checked = compare !== null;
      select.hidden = gamma.box.hidden = !compare;
      if (!compare) return;
      select.value = compare.method;
      gamma.box.hidden = !takesGamma(compare.method);
      gamma.show(compare.gamma, false);
    },
  };
}

function mountIntercept(store) {
  const tick = element("input", { type: "checkbox", id: "intercept" });
  tick.addEventListener("change", () => store.set({ intercept: tick.checked }));
  const box = element("label", { class: "tick", title: "Without one the line goes through the origin." }, tick, " Intercept");
  return { box, show: ({ intercept }) => (tick.checked = intercept) };
}

function mountBudget(store) {
  const most = element("select", { id: "budget" });
  most.addEventListener("change", () => store.set({ maxIter: Number(most.value) }));
  return {
    box: element("div", { class: "row budget" }, element("label", { htmlFor: "budget", text: "At most" }), most),
    show({ maxIter }) {
      const choices = [...new Set([...BUDGETS, maxIter])].sort((a, b) => a - b);
      const option = (value) => element("option", { value: String(value), text: `${value.toLocaleString("en")} steps` });
      most.replaceChildren(...choices.map(option));
      most.value = String(maxIter);
    },
  };
}

export function mountControls(place, { store }) {
  const intercept = mountIntercept(store), budget = mountBudget(store);
  const parts = [mountMethod(store, [intercept.box, budget.box]), mountCompare(store)];
  place.append(...parts.map(({ box }) => box));
  parts.push(intercept, budget);
  const show = () => parts.forEach((part) => part.show(store.get()));
  store.subscribe((state, changed) => {
    if (["method", "gamma", "order", "intercept", "compare", "maxIter"].some((key) => changed.has(key))) show();
  });
  show();
}
