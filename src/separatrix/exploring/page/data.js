// The data: a list of data sets, the number of rows where one asks for it, and in a sentence what is shown.

import { DATASETS } from "./datasets.js";
import { element, shown } from "./dom.js";
import { openOwnData } from "./own.js";

const MOST_ROWS = 20_000; // of a data set that takes any n
const ROWS = 100; // of such a data set at first
const [FAR, ENDLESS_WAY] = [10, 1e150]; // from 0: from where on γ = 1 is a long step, and 1/R² no double

/** The state's patch for this data set. */
export function dataSetPatch(id, n) {
  if (id === "drawn") return { points: [], names: { x: "x", y: "y", plus: "circles", minus: "triangles" }, source: { id }, tool: "brush+", t: null };
  const set = DATASETS.find((one) => one.id === id);
  const rows = set.needsN ? n ?? ROWS : undefined;
  const { points, names, intercept = false } = set.make({ n: rows });
  return { points, names, intercept, source: { id, n: rows, title: set.title }, t: null };
}

/**
 * @param {HTMLElement} place in the header
 * @param {HTMLElement} about a line above the plane
 * @param {{store: Object}} context
 */
export function mountData(place, about, { store }) {
  const list = element("select", { id: "data-set", "aria-label": "Data set" });
  const rows = element("input", { id: "data-rows", type: "number", min: "2", max: String(MOST_ROWS), step: "1", inputMode: "numeric" });
  const rowsBox = element("label", { class: "row" }, element("span", { text: "n" }), rows);
  const own = element("button", { type: "button", text: "Your data…", on: { click: () => openOwnData(store) } });
  list.addEventListener("change", () => list.value !== "current" && store.set(dataSetPatch(list.value), { undo: true }));
  rows.addEventListener("change", () => changeRows(store, rows));
  place.append(list, rowsBox, own);
  const count = element("span");
  const follow = (state) => {
    fillList(list, state.source);
    rowsBox.hidden = state.source.n === undefined || Boolean(state.source.edited);
    if (document.activeElement !== rows || rowsBox.hidden) rows.value = state.source.n ?? "";
    tellAbout(about, count, state);
  };
  const recount = ({ points }) => {
    const text = ` ${points.length} ${points.length === 1 ? "point" : "points"}. `;
    if (count.textContent !== text) count.textContent = text; // dragging moves points sixty times a second, but adds none
  };
  store.subscribe((state, changed) => {
    if (changed.has("source")) follow(state);
    if (changed.has("points")) recount(state);
  });
  follow(store.get());
  recount(store.get());
  takePastes(store);
}

function changeRows(store, rows) {
  const { source } = store.get();
  const n = Math.min(MOST_ROWS, Math.max(2, Math.round(Number(rows.value))));
  if (Number.isFinite(n) && n !== source.n) store.set(dataSetPatch(source.id, n), { undo: true });
  rows.value = store.get().source.n;
}

/** All data sets; what is none of them, or was changed, comes first under a name of its own. */
function fillList(list, source) {
  const known = DATASETS.some(({ id }) => id === source.id);
  const option = (value, text) => element("option", { value, text });
  const sets = DATASETS.map(({ id, title }) => option(id, title));
  const current = source.edited || !known ? [option("current", headline(source))] : [];
  list.replaceChildren(...current, ...sets, option("drawn", "An empty plane"));
  list.value = current.length ? "current" : source.id;
}

function headline(source) {
  const set = DATASETS.find(({ id }) => id === source.id);
  if (set) return `${set.title}, changed`;
  return (source.title ?? "Your own points").slice(0, 60);
}

/** Of a table as it is: from which step size on its runs leap, and what makes them short. */
function stepHint({ points, intercept, source }) {
  const R = points.reduce((most, { x, y }) => Math.max(most, Math.hypot(x, y, intercept ? 1 : 0)), 0);
  if (!["given", "file"].includes(source.id) || R < FAR || R > ENDLESS_WAY) return [];
  // The Hessian of the mean loss has no eigenvalue above R²/4.
  return [`The farthest point is R = ${shown(R, 3)} from 0: beyond γ = 8/R² = ${shown(8 / R / R, 2)} the loss of LR+GD may rise and the line leap.`
    + " Columns that are centred and of like size take fewer steps as a rule."];
}

function tellAbout(about, count, state) {
  const { source } = state;
  const set = !source.edited && DATASETS.find(({ id }) => id === source.id);
  const said = set ? [set.sentence] : [...source.notes ?? [], ...stepHint(state)];
  about.replaceChildren(element("strong", { text: headline(set ? { title: set.title } : source) }), count, said.join(" "));
}

/** A table pasted or dropped anywhere outside a field is the reader's own data. */
function takePastes(store) {
  const writes = (target) => target.matches?.("input, textarea, select") || document.querySelector("dialog[open]");
  document.addEventListener("paste", (event) => {
    const text = event.clipboardData?.getData("text/plain");
    if (writes(event.target) || !text?.includes("\n")) return;
    event.preventDefault();
    openOwnData(store, { text, title: "Pasted table" });
  });
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    const [file] = event.dataTransfer?.files ?? [];
    const text = event.dataTransfer?.getData("text/plain");
    if (file) openOwnData(store, { file });
    else if (text) openOwnData(store, { text, title: "Dropped table" });
  });
}
