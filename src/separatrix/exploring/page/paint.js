// Draws a scene: on a canvas, or as the text of an SVG picture.

import { palette } from "./dom.js";

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** @param {CanvasRenderingContext2D} context @param {import("./scene.js").Mark[]} scene */
export function paintScene(context, scene) {
  const colour = palette();
  context.lineJoin = "round";
  for (const mark of scene) {
    if (mark.is === "text") paintText(context, mark, colour);
    else paintShape(context, mark, colour);
  }
}

function paintShape(context, mark, colour) {
  context.beginPath();
  if (mark.is === "circle") context.arc(mark.at[0][0], mark.at[0][1], mark.r, 0, 2 * Math.PI);
  else mark.at.forEach(([x, y], k) => (k ? context.lineTo(x, y) : context.moveTo(x, y)));
  if (mark.closed) context.closePath();
  if (mark.fill) {
    context.fillStyle = colour[mark.fill];
    context.fill();
  }
  if (!mark.stroke) return;
  context.strokeStyle = colour[mark.stroke];
  context.lineWidth = mark.width;
  context.setLineDash(mark.dash ?? []);
  context.stroke();
}

function paintText(context, mark, colour) {
  context.font = `${mark.strong ? "700 " : ""}${mark.size}px ${FONT}`;
  context.textAlign = mark.anchor === "middle" ? "center" : mark.anchor;
  const text = shortened(context, mark.text, mark.most);
  // A rim of paper keeps words readable above points and lines.
  context.setLineDash([]);
  context.lineWidth = 3;
  context.strokeStyle = colour.paper;
  context.strokeText(text, ...mark.at[0]);
  context.fillStyle = colour[mark.fill];
  context.fillText(text, ...mark.at[0]);
}

const LONGEST_NAME = 400; // characters that are measured at all

/** The text, or its beginning with an ellipsis where it needs more than its room. */
export function shortened(context, text, most) {
  const line = text.slice(0, LONGEST_NAME).replace(/\s+/g, " ");
  if (!most || (text.length < LONGEST_NAME && context.measureText(line).width <= most)) return line;
  const letters = [...line];
  let [low, high] = [0, letters.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (context.measureText(`${letters.slice(0, middle).join("")}…`).width <= most) low = middle;
    else high = middle - 1;
  }
  return `${letters.slice(0, low).join("")}…`;
}

/** The scene as a picture of its own, in the colours seen. Made by the DOM, so that names are text and never markup. */
export function svgOf(scene, width, height, title) {
  const colour = palette();
  const measure = document.createElement("canvas").getContext("2d");
  const svg = svgElement("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "font-family": FONT, role: "img" });
  const heading = svgElement("title", {});
  heading.textContent = printable(title);
  svg.append(heading, svgElement("rect", { width, height, fill: colour.paper }));
  for (const mark of scene) svg.append(mark.is === "text" ? svgText(mark, colour, measure) : svgShape(mark, colour));
  return `<?xml version="1.0" encoding="UTF-8"?>\n${new XMLSerializer().serializeToString(svg)}\n`;
}

function svgElement(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) made.setAttribute(name, value);
  return made;
}

function svgShape(mark, colour) {
  const style = {
    fill: mark.fill ? colour[mark.fill] : "none", stroke: mark.stroke && colour[mark.stroke], "stroke-width": mark.stroke && mark.width,
    "stroke-dasharray": mark.dash?.join(" "), "stroke-linejoin": mark.stroke && mark.is === "path" ? "round" : null,
  };
  if (mark.is === "circle") return svgElement("circle", { cx: twoDigits(mark.at[0][0]), cy: twoDigits(mark.at[0][1]), r: mark.r, ...style });
  return svgElement("path", { d: `M${mark.at.map((xy) => xy.map(twoDigits).join(" ")).join("L")}${mark.closed ? "Z" : ""}`, ...style });
}

function svgText(mark, colour, measure) {
  const [x, y] = mark.at[0].map(twoDigits);
  const rim = { stroke: colour.paper, "stroke-width": 3, "stroke-linejoin": "round", "paint-order": "stroke" };
  const made = svgElement("text", { x, y, "text-anchor": mark.anchor, "font-size": mark.size, "font-weight": mark.strong ? 700 : null, fill: colour[mark.fill], ...rim });
  measure.font = `${mark.strong ? "700 " : ""}${mark.size}px ${FONT}`;
  made.textContent = printable(shortened(measure, mark.text, mark.most));
  return made;
}

/** Without the characters that XML cannot hold at all. */
function printable(text) {
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

function twoDigits(x) {
  return Number(x.toFixed(2));
}
