// Play, pause, one step, to the end and past it; the scrubber; how far a long run has come.

import { scrubByKey } from "./curves.js";
import { element, shown } from "./dom.js";
import { iterateAt, takesGamma } from "./player.js";

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = {
  start: "M5 4v12M16 4l-8 6 8 6z",
  back: "M15 4v12M12 4l-8 6 8 6z",
  play: "M6 3.5l10.5 6.5L6 16.5z",
  pause: "M7 4v12M13 4v12",
  step: "M5 4v12M8 4l8 6-8 6z",
  end: "M15 4v12M4 4l8 6-8 6z",
};
const FURTHER = [0, 100, 1000, 10_000, 100_000];

function pictureOf(name) {
  const picture = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  picture.setAttribute("viewBox", "0 0 20 20");
  picture.setAttribute("aria-hidden", "true");
  path.setAttribute("d", SHAPES[name]);
  picture.append(path);
  return picture;
}

function iconButton(name, title, press) {
  const button = element("button", { class: "icon", type: "button", title, "aria-label": title, on: { click: press } });
  button.append(pictureOf(name));
  return button;
}

/** What the run has come to at the end of its film. */
export function endingOf(film) {
  if (film.separatedAt >= 0) return "";
  if (film.status === "cycle" && film.period === 1) return "at rest, with wrong points";
  if (film.status === "cycle") return `goes round for ever, every ${shown(film.period)} iterations`;
  if (film.status === "rounded") return "right only within rounding";
  return `still wrong after ${shown(film.t[film.t.length - 1])} iterations`;
}

/** The last t, or the state of things where that says more. */
function wordsFor(player) {
  const { a } = player.films, { progress } = player;
  if (progress?.message) return `The run failed: ${progress.message}`;
  if (progress) return `computing … ${shown(progress.t)} iterations`;
  if (!a) return "";
  if (!player.films.b && player.cursor() === player.end && endingOf(a)) return endingOf(a);
  return a.separatedAt >= 0 && !player.films.b && player.cursor() >= a.separatedAt
    ? player.cursor() === a.separatedAt ? "separated" : `${shown(player.cursor() - a.separatedAt)} past separation`
    : `of ${shown(player.end)}`;
}

function pastSelect(store) {
  const select = element("select", { id: "past" });
  select.addEventListener("change", () => store.set({ past: Number(select.value), t: null }));
  const label = element("label", { htmlFor: "past", text: "After separation" });
  const box = element("div", { class: "row past small" }, label, select);
  function show({ past, method, gamma }) {
    const choices = [...new Set([...FURTHER, past])].sort((a, b) => a - b);
    const still = !takesGamma(method) || gamma === Infinity;
    const option = (more) => element("option", { value: String(more), text: more ? `go on ${more.toLocaleString("en")}` : "stop" });
    if (select.children.length !== choices.length) select.replaceChildren(...choices.map(option));
    select.value = String(past);
    select.title = still ? "A perceptron stands still once no point is wrong." : "Past separation LR+GD turns towards the widest margin.";
  }
  return { box, show };
}

export function mountTransport(place, { store, player }) {
  const toggle = iconButton("play", "Play", () => (player.playing ? player.pause() : player.play()));
  toggle.classList.add("primary");
  const start = iconButton("start", "To the start", () => (player.pause(), player.seek(0)));
  const back = iconButton("back", "One step back", () => player.step(-1));
  const step = iconButton("step", "One step", () => player.step(1));
  const end = iconButton("end", "To the end", () => player.toEnd());
  const scrubber = element("input", { type: "range", class: "scrubber", min: "0", step: "1", "aria-label": "Iteration" });
  const clock = element("output", { class: "clock tabular" }), words = element("span", { class: "soft small" });
  const past = pastSelect(store);
  place.append(element("div", { class: "row" }, start, back, toggle, step, end, scrubber),
    element("div", { class: "row" }, clock, words, past.box));

  scrubber.addEventListener("input", () => (player.pause(), player.seekPlace(Number(scrubber.value))));
  scrubber.addEventListener("keydown", (event) => scrubByKey(event, player));

  function showPlaying() {
    const name = player.playing ? "pause" : "play", title = player.playing ? "Pause" : "Play";
    toggle.replaceChildren(pictureOf(name));
    toggle.title = title;
    toggle.setAttribute("aria-label", title);
  }
  function update(reason) {
    const { a } = player.films, last = player.grid.length - 1, here = player.place();
    scrubber.max = String(Math.max(1, last));
    scrubber.value = String(here);
    const wrong = a ? `, ${shown(a.errors[iterateAt(a, player.cursor()).index])} wrong` : "";
    scrubber.setAttribute("aria-valuetext", `iteration ${shown(player.cursor())} of ${shown(player.end)}${wrong}`);
    clock.textContent = `t = ${shown(player.cursor())}`;
    words.textContent = wordsFor(player);
    place.setAttribute("aria-busy", player.busy);
    for (const button of [start, back]) dim(button, here === 0);
    for (const button of [step, end]) dim(button, here === last);
    dim(toggle, last === 0);
    if (reason === "playing") showPlaying();
    past.show(store.get());
  }
  player.subscribe(({ reason }) => update(reason));
  store.subscribe((_, changed) => changed.has("past") && past.show(store.get()));
  update();
}

/** Not `disabled`: a button that is pressed again and again would lose the focus at the end. */
function dim(button, off) {
  button.setAttribute("aria-disabled", off);
}
