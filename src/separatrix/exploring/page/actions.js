// The header's right side: tour, link, export, light and dark; and the keys that undo.

import { announce, element, notice, setTheme, theme } from "./dom.js";
import { copied, csvOf, download, scriptOf } from "./export.js";
import { toFragment } from "./fragment.js";
import { runName } from "./player.js";
import { icon } from "./tools.js";
import { goTo } from "./tour.js";

const SUN = "M12 8a4 4 0 1 0 .01 0ZM12 2v2M12 20v2M2 12h2M20 12h2M5 5l1.4 1.4M17.6 17.6 19 19M19 5l-1.4 1.4M6.4 17.6 5 19";
const MOON = "M20 14.5A8.5 8.5 0 0 1 9.5 4a8.5 8.5 0 1 0 10.5 10.5Z";

/** @param {HTMLElement} place @param {{store: Object, player: Object, plane: Object}} context */
export function mountActions(place, { store, player, plane }) {
  place.append(
    element("button", { type: "button", class: "primary", text: "Tour", on: { click: () => goTo(store, 0) } }),
    linkButton(store),
    exportMenu(store, player, plane),
    themeButton(),
  );
  document.addEventListener("keydown", (event) => undoKeys(event, store));
}

function linkButton(store) {
  const button = element("button", { type: "button", text: "Copy link" });
  const say = (text) => {
    button.textContent = text;
    announce(text);
    setTimeout(() => (button.textContent = "Copy link"), 2500);
  };
  button.addEventListener("click", async () => {
    const fragment = `#${toFragment(store.get())}`;
    const link = location.href.split("#", 1)[0] + fragment;
    if (await copied(link)) return say("Link copied ✓");
    history.replaceState(null, "", fragment);
    notice("The browser does not let this page copy; the link is in the address line now.");
  });
  return button;
}

/** A list that opens under its button, and closes by Escape, by a choice, or by a press elsewhere. */
function exportMenu(store, player, plane) {
  const title = () => runName(store.get());
  const items = [
    ["Picture (SVG)", () => download("separatrix.svg", plane.svg(title()), "image/svg+xml")],
    ["Data (CSV)", () => download("separatrix.csv", csvOf(store.get()), "text/csv")],
    ["Python script…", () => showScript(store.get(), player)],
  ];
  const summary = element("summary", { text: "Export" });
  const menu = element("details", { class: "menu" }, summary, element("div", { class: "list" },
    ...items.map(([text, does]) => element("button", { type: "button", class: "quiet", text, on: { click: () => {
      menu.open = false;
      summary.focus();
      does();
    } } }))));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    summary.focus();
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
  return menu;
}

function showScript(state, player) {
  if (new Set(state.points.map(({ label }) => label)).size < 2) return notice("A script needs points of both classes: sx.solve takes no fewer.");
  const text = scriptOf(state, player.films.a);
  const copy = element("button", { type: "button", class: "primary", text: "Copy" });
  copy.addEventListener("click", async () => {
    copy.textContent = (await copied(text)) ? "Copied ✓" : "Select the text and copy it";
    announce(copy.textContent);
  });
  const save = element("button", { type: "button", text: "Download", on: { click: () => download("separatrix_run.py", text, "text/x-python") } });
  const close = element("button", { type: "button", text: "Close", on: { click: () => dialog.close() } });
  const dialog = element("dialog", { "aria-labelledby": "script-title", on: { close: () => dialog.remove() } },
    element("h2", { id: "script-title", text: "This run in Python" }),
    element("p", { class: "soft", text: "The same points, method and step size; it prints the same count and the same θ, to the last bit." }),
    element("pre", { id: "script-text", tabIndex: 0, "aria-label": "Python script", text }),
    element("div", { class: "row" }, copy, save, close));
  document.body.append(dialog);
  dialog.showModal();
}

function themeButton() {
  const button = element("button", { type: "button", class: "icon" });
  const show = () => {
    const dark = theme() === "dark";
    button.replaceChildren(icon(dark ? SUN : MOON));
    button.setAttribute("aria-label", dark ? "Light colours" : "Dark colours");
    button.title = dark ? "Light colours" : "Dark colours";
  };
  button.addEventListener("click", () => {
    setTheme(theme() === "dark" ? "light" : "dark");
    show();
    remember(theme());
  });
  show();
  return button;
}

const WISH = "separatrix-theme";

/** Kept for the next visit, where the browser lets a page keep anything. */
function remember(theme) {
  try {
    localStorage.setItem(WISH, theme);
  } catch { /* pages from disk and inside other pages may have no storage */ }
}

/** The scheme chosen on an earlier visit, or else the system's. */
export function rememberedTheme() {
  try {
    const kept = localStorage.getItem(WISH);
    return kept === "light" || kept === "dark" ? kept : "auto";
  } catch {
    return "auto";
  }
}

function undoKeys(event, store) {
  if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.matches?.("textarea, input[type=text], input[type=number]")) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  const again = key === "y" || event.shiftKey;
  if (again ? !store.canRedo : !store.canUndo) return;
  if (again) store.redo();
  else store.undo();
  announce(again ? "Done again" : "Undone");
}
