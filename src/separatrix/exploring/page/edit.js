// What a hand does to the points: every function gives new points, or the same array where nothing changes.

import { grain, toDecimal, toPlane } from "./view.js";

/** The place of a pixel, as short decimals: the page, a URL, a CSV and a script then share the very doubles. */
export function handPlace(view, px, py) {
  const [x, y] = toPlane(view, px, py);
  const [powerX, powerY] = grain(view);
  return { x: toDecimal(x, powerX), y: toDecimal(y, powerY) };
}

export function added(points, place, label) {
  return Number.isFinite(place.x) && Number.isFinite(place.y) ? [...points, Object.freeze({ ...place, label })] : points;
}

/** These points moved by (dx, dy) from where they were, to places as short as others made here. */
export function moved(points, indices, from, dx, dy, view) {
  const [powerX, powerY] = grain(view);
  const next = points.slice();
  indices.forEach((i, k) => {
    const [x, y] = [from[k].x + dx, from[k].y + dy];
    if (!Number.isFinite(x) || !Number.isFinite(y)) return;
    // A coordinate that does not move keeps its digits.
    next[i] = Object.freeze({ x: dx ? toDecimal(x, powerX) : from[k].x, y: dy ? toDecimal(y, powerY) : from[k].y, label: points[i].label });
  });
  return next;
}

export function flipped(points, i) {
  return points.map((point, k) => (k === i ? Object.freeze({ ...point, label: -point.label }) : point));
}

export function removed(points, i) {
  return points.filter((_, k) => k !== i);
}

/** All points that lie where point i does, with its label. */
export function heapAt(points, i) {
  const { x, y, label } = points[i];
  return points.flatMap((point, k) => (point.x === x && point.y === y && point.label === label ? [k] : []));
}

/** The point nearest to a pixel, the topmost of equals, or -1 where none is within reach. */
export function nearestTo(points, view, px, py, reach) {
  const [x, y] = toPlane(view, px, py);
  let [best, least] = [-1, reach * reach];
  points.forEach((point, i) => {
    const distance = ((point.x - x) * view.sx) ** 2 + ((point.y - y) * view.sy) ** 2;
    if (distance <= least) [best, least] = [i, distance];
  });
  return best;
}

/** The state's patch for new points: a changed data set is no longer the one of its name. */
export function edited(state, points) {
  return { points, source: state.source.edited ? state.source : { ...state.source, edited: true } };
}
