// The window on the plane: which part of it is seen, and how far apart its points are on the screen.

const ROOM = 0.14; // of the window's size, free around the points
const LOPSIDED = 6; // axes whose lengths differ by more than this get scales of their own
const [LEAST_SCALE, MOST_SCALE] = [1e-290, 1e290]; // pixels per unit: outside, coordinates on the screen stop being numbers

/**
 * @typedef {{cx: number, cy: number, sx: number, sy: number, width: number, height: number}} View
 * centre of the window, pixels per unit along x and y, and its size in pixels
 */

/** A view of these points, and of the origin where the line has to go through it and that is not too far away. */
export function fitted(points, intercept, width, height) {
  let [x, y] = [spanOf(points, "x"), spanOf(points, "y")];
  if (!intercept || points.length === 0) {
    const [wider, higher] = [withZero(x), withZero(y)];
    if (points.length === 0 || lengthOf(wider) + lengthOf(higher) <= 5 * (lengthOf(x) + lengthOf(y))) [x, y] = [wider, higher];
  }
  const size = Math.max(lengthOf(x), lengthOf(y)) || Math.max(Math.abs(x[0]), Math.abs(y[0])) * 0.5 || 1;
  const [w, h] = [width * (1 - 2 * ROOM), height * (1 - 2 * ROOM)];
  let [sx, sy] = [w / (lengthOf(x) || size), h / (lengthOf(y) || size)];
  // Equal scales, so that what is at right angles looks so, unless one column would become a thread.
  if (Math.max(sx / sy, sy / sx) <= LOPSIDED || !lengthOf(x) || !lengthOf(y)) sx = sy = Math.min(sx, sy);
  return { cx: middleOf(x), cy: middleOf(y), sx: bounded(sx), sy: bounded(sy), width, height };
}

function spanOf(points, axis) {
  let [low, high] = [Infinity, -Infinity];
  for (const point of points) {
    if (point[axis] < low) low = point[axis];
    if (point[axis] > high) high = point[axis];
  }
  return low <= high ? [low, high] : [-1, 1];
}

function withZero([low, high]) {
  return [Math.min(low, 0), Math.max(high, 0)];
}

function lengthOf([low, high]) {
  return Math.min(high - low, Number.MAX_VALUE);
}

function middleOf([low, high]) {
  return low / 2 + high / 2;
}

function bounded(scale) {
  return Math.min(MOST_SCALE, Math.max(LEAST_SCALE, scale));
}

export function toScreen(view, x, y) {
  return [view.width / 2 + (x - view.cx) * view.sx, view.height / 2 - (y - view.cy) * view.sy];
}

export function toPlane(view, px, py) {
  return [view.cx + (px - view.width / 2) / view.sx, view.cy - (py - view.height / 2) / view.sy];
}

/** The view moved by so many pixels. */
export function panned(view, dx, dy) {
  return { ...view, cx: view.cx - dx / view.sx, cy: view.cy + dy / view.sy };
}

/** The view so many times as large, what is at the pixel (px, py) staying there. */
export function zoomed(view, times, px = view.width / 2, py = view.height / 2) {
  const [x, y] = toPlane(view, px, py);
  const [sx, sy] = [bounded(view.sx * times), bounded(view.sy * times)];
  return { ...view, sx, sy, cx: x - (px - view.width / 2) / sx, cy: y + (py - view.height / 2) / sy };
}

/** The view in a window of another size. */
export function resized(view, width, height) {
  return { ...view, width, height };
}

/** The step that coordinates made by hand are rounded to: a power of ten, some thousandth of the window. */
export function grain(view) {
  return [view.width / view.sx, view.height / view.sy].map((size) => Math.floor(Math.log10(size)) - 3);
}

/** x to the decimal place 10^power, as the double that the short decimal reads as. */
export function toDecimal(x, power) {
  if (power >= 0) return Math.round(x / 10 ** power) * 10 ** power;
  return power < -100 ? x : Number(x.toFixed(-power)) + 0; // -0 becomes 0
}

/** Round numbers from low to high, about one in so many pixels. */
export function ticksOf(low, high, pixels) {
  const rough = (high - low) / Math.max(2, pixels / 90);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((times) => times * power).find((size) => size >= rough * 0.999);
  const ticks = [];
  for (let k = Math.ceil(low / step); k * step <= high && ticks.length < 50; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

/** What of the window lies at a x + b y + c ≥ 0, as corners in pixels; every line given as [a, b, c] on the screen. */
export function cut(corners, [a, b, c]) {
  const kept = [];
  corners.forEach((corner, k) => {
    const next = corners[(k + 1) % corners.length];
    const [here, there] = [corner, next].map(([x, y]) => a * x + b * y + c);
    if (here >= 0) kept.push(corner);
    if (here >= 0 !== there >= 0) {
      const share = here / (here - there);
      kept.push([corner[0] + share * (next[0] - corner[0]), corner[1] + share * (next[1] - corner[1])]);
    }
  });
  return kept;
}

/** The line w₁x + w₂y + b = offset ‖w‖ of the plane as [a, b, c] on the screen, scaled so that a² + b² = 1; null: no line. */
export function onScreen(view, [w1, w2, b = 0], offset = 0) {
  const size = Math.hypot(w1, w2);
  if (!(size > 0) || !Number.isFinite(size)) return null;
  const [u, v] = [w1 / size, w2 / size];
  const line = [u / view.sx, -v / view.sy];
  const c = u * (view.cx - view.width / 2 / view.sx) + v * (view.cy + view.height / 2 / view.sy) + b / size - offset;
  const scale = Math.hypot(...line);
  return [line[0] / scale, line[1] / scale, c / scale];
}

/** Where a line of the screen crosses the window: two points, or null if it does not. */
export function crossing(view, line) {
  const corners = windowOf(view);
  const side = cut(corners, line);
  if (side.length < 3) return null;
  const ends = side.filter(([x, y]) => Math.abs(line[0] * x + line[1] * y + line[2]) < 1e-6 * (view.width + view.height));
  return ends.length >= 2 ? [ends[0], ends.at(-1)] : null;
}

export function windowOf({ width, height }) {
  return [[0, 0], [width, 0], [width, height], [0, height]];
}
