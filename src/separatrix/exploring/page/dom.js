// What every view needs of the page: elements, announcements, colours of the scheme, and canvases drawn once a frame.

/**
 * An element. `class`, `text`, `on` ({event: listener}) and `style` (CSS properties) are understood; a key of the element
 * itself is set as a property, all else as an attribute; false and null leave it out. Text is never markup.
 * @param {string} tag
 * @param {Object<string, *>} [props]
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function element(tag, props = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined) continue;
    if (key === "class") made.className = value;
    else if (key === "text") made.textContent = value;
    else if (key === "on") for (const [type, listener] of Object.entries(value)) made.addEventListener(type, listener);
    else if (key === "style") for (const [name, given] of Object.entries(value)) made.style.setProperty(name, given);
    else if (key in made && !key.startsWith("aria") && key !== "list") made[key] = value;
    else if (value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The element of index.html with this id. */
export function byId(id) {
  return document.getElementById(id);
}

let announcing = 0;

/** Have a screen reader say this, once things have been quiet for a moment: dragging must not chatter. */
export function announce(text) {
  clearTimeout(announcing);
  announcing = setTimeout(() => {
    const live = byId("live");
    // The same sentence twice is no change, and would not be read: a space makes it one.
    live.textContent = live.textContent === text ? text + "\u00a0" : text;
  }, 250);
}

/** One sentence that stays until it is closed, or until the next. */
export function notice(text) {
  const close = element("button", { class: "quiet", type: "button", "aria-label": "Close this note", text: "✕" });
  const line = element("p", { class: "notice" }, element("span", { text }), close);
  close.addEventListener("click", () => line.remove());
  byId("notices").replaceChildren(...(text ? [line] : []));
}

const COLOURS = ["plus", "minus", "line", "band", "wrong", "proof", "widest", "run-a", "run-b", "cone", "grid", "axis", "ink", "soft",
  "paper", "focus", "plus-side", "minus-side", "plus-ink", "minus-ink"];
let colours = null;
const watchers = new Set();

/** The colours of the scheme in use, by the names of style.css: palette()["run-a"]. */
export function palette() {
  if (!colours) {
    const style = getComputedStyle(document.documentElement);
    colours = Object.fromEntries(COLOURS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }
  return colours;
}

/** Call this when the scheme has changed. */
export function onTheme(listener) {
  watchers.add(listener);
}

const darkly = matchMedia("(prefers-color-scheme: dark)");
let wish = "auto";

/** "light", "dark", or "auto": as the reader's system has it. */
export function setTheme(theme) {
  wish = theme;
  document.documentElement.dataset.theme = theme === "auto" ? (darkly.matches ? "dark" : "light") : theme;
  colours = null;
  for (const listener of watchers) listener();
}

/** "light" or "dark", whichever is seen. */
export function theme() {
  return document.documentElement.dataset.theme;
}

darkly.addEventListener("change", () => setTheme(wish));

/** Whether the reader asked for less motion. */
export function calm() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

/**
 * Keeps a canvas as large as its box, in the device's own pixels, and draws it at most once a frame.
 * @param {HTMLCanvasElement} canvas
 * @param {(context: CanvasRenderingContext2D, width: number, height: number) => void} draw in CSS pixels
 * @returns {() => void} asks for a drawing in the next frame
 */
export function painter(canvas, draw) {
  let asked = 0;
  let [width, height] = [0, 0];
  const paint = () => {
    asked = 0;
    if (!width || !height) return;
    const ratio = devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    draw(context, width, height);
  };
  const redraw = () => {
    asked ||= requestAnimationFrame(paint);
  };
  new ResizeObserver(([entry]) => {
    ({ width, height } = entry.contentRect);
    redraw();
  }).observe(canvas);
  onTheme(redraw);
  return redraw;
}

const GROUPED = new Intl.NumberFormat("en"); // made once: toLocaleString makes one each time, which takes long

/** A number for reading: so many significant digits, without trailing zeros; ∞ and − as signs. */
export function shown(value, digits = 4) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e9) return GROUPED.format(value).replace("-", "−");
  const text = size !== 0 && (size >= 1e6 || size < 1e-4) ? value.toExponential(digits - 1) : String(Number(value.toPrecision(digits)));
  return text.replace(/\.?0+e/, "e").replace("e+", "e").replaceAll("-", "−");
}
