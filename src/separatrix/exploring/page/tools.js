// The tools above the plane: what a press does, undo and redo, and whether the exact answer is drawn.

import { byId, element } from "./dom.js";

const CLASS_SHAPES = { "+": "M12 5.5a6.5 6.5 0 1 0 .01 0Z", "-": "M12 4 20 18.5H4Z" };
const ICONS = {
  undo: "M9 7 4 12l5 5M4 12h10a5 5 0 0 1 5 5v1", redo: "m15 7 5 5-5 5M20 12H10a5 5 0 0 0-5 5v1",
  closer: "M12 5v14M5 12h14", farther: "M5 12h14", fit: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
};

/** A drawing of one path, for buttons. */
export function icon(path, filled = null) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path);
  svg.append(line);
  svg.setAttribute("class", filled ? `shape ${filled}` : "stroke");
  return svg;
}

export function pictureButton(name, label, click) {
  return element("button", { class: "icon", type: "button", "aria-label": label, title: label, on: { click } }, icon(ICONS[name]));
}

const TOOLBOX = [
  { tool: "move", text: "Drag", help: "Drag points; drag the ground to move the window" },
  { tool: "add+", text: "Add", side: "+", help: "Each click adds a point of the first class" },
  { tool: "add-", text: "Add", side: "-", help: "Each click adds a point of the second class" },
  { tool: "brush+", text: "Brush", side: "+", help: "Draw a cloud of the first class" },
  { tool: "brush-", text: "Brush", side: "-", help: "Draw a cloud of the second class" },
  { tool: "flip", text: "Flip", help: "Click a point to give it the other class" },
  { tool: "delete", text: "Delete", help: "Click points, or drag over them, to take them away" },
];

/** The toolbar; it follows the store. */
export function toolbar(store) {
  const buttons = TOOLBOX.map((one) => toolButton(one, store));
  const undo = pictureButton("undo", "Undo (Ctrl+Z)", () => store.undo());
  const redo = pictureButton("redo", "Redo (Ctrl+Y)", () => store.redo());
  const follow = () => {
    const state = store.get();
    buttons.forEach((button, k) => name(button, TOOLBOX[k], state));
    [undo.disabled, redo.disabled] = [!store.canUndo, !store.canRedo];
  };
  store.subscribe(follow);
  follow();
  return element("div", { class: "tools", role: "toolbar", "aria-label": "Tools", "aria-controls": "plane-canvas" },
    element("div", { class: "segmented", role: "group", "aria-label": "What a press does" }, ...buttons),
    element("div", { class: "row" }, undo, redo));
}

function toolButton({ tool, text, side, help }, store) {
  const click = () => {
    store.set({ tool });
    byId("plane-canvas").focus({ preventScroll: true });
  };
  const shape = side ? icon(CLASS_SHAPES[side], side === "+" ? "plus" : "minus") : null;
  return element("button", { type: "button", title: help, on: { click } }, element("span", { text }), shape);
}

/** Pressed or not, and by the name of its class for those who do not see the shape. */
function name(button, { tool, text, side }, state) {
  button.setAttribute("aria-pressed", String(tool === state.tool));
  if (side) button.setAttribute("aria-label", `${text} ${(side === "+" ? state.names.plus : state.names.minus).slice(0, 80)}`);
}

/** The button that shows and hides the widest margin, or the proof that there is no line. */
export function mountAnswer(place, { store, player }) {
  const inseparable = () => player.decision?.separable === false;
  const button = element("button", { type: "button", on: { click: () => store.set(inseparable() ? { proof: !store.get().proof } : { widest: !store.get().widest }) } });
  const follow = () => {
    const { widest, proof, points } = store.get();
    button.textContent = inseparable() ? "Proof of overlap" : "Widest margin";
    button.setAttribute("aria-pressed", String(inseparable() ? proof : widest));
    button.hidden = points.length === 0;
  };
  place.append(button);
  store.subscribe(follow);
  player.subscribe(({ reason }) => reason === "decision" && follow());
  follow();
}
