// The page: one state, one player, the views on them, and the URL that follows.

import { mountActions, rememberedTheme } from "./actions.js";
import { mountControls } from "./controls.js";
import { mountCurves } from "./curves.js";
import { dataSetPatch, mountData } from "./data.js";
import { byId, notice, setTheme } from "./dom.js";
import { fromFragment, toFragment } from "./fragment.js";
import { mountNumbers } from "./numbers.js";
import { mountParameters } from "./parameters.js";
import { mountPlane } from "./plane.js";
import { createPlayer } from "./player.js";
import { createStore, PLAIN } from "./state.js";
import { mountAnswer } from "./tools.js";
import { goTo, mountTour, STEPS } from "./tour.js";
import { mountTransport } from "./transport.js";

// What a page shows that nobody has told anything: real flowers, and a step so short that one can watch.
const FIRST = "iris-setosa";
const FIRST_STEP = 0.1;
const QUIET = 500; // ms without a change before the URL follows: browsers limit how often it may
const LONGEST = 40_000; // characters: longer data are in a link that is asked for, not in the address of every moment

/** Points, names, intercept and notes from Python, or null. */
function givenData() {
  const given = JSON.parse(byId("given").textContent);
  if (!given) return null;
  const notes = given.notes ?? [];
  return {
    points: given.points, names: given.names, intercept: given.intercept ?? false,
    source: { id: "given", title: given.title ?? "Your data", notes, of: given.of, edited: true },
  };
}

function start() {
  setTheme(rememberedTheme());
  const { patch, sentence } = fromFragment(location.hash);
  const store = createStore({ ...PLAIN, ...(patch?.points ? patch : givenData() ?? { ...dataSetPatch(FIRST), gamma: FIRST_STEP }) });
  const player = createPlayer(store);
  const context = { store, player };
  const plane = mountPlane(byId("plane"), context);
  mountAnswer(byId("answer"), context);
  mountTransport(byId("transport"), context);
  mountData(byId("data"), byId("about"), context);
  mountActions(byId("actions"), { ...context, plane });
  mountControls(byId("controls"), context);
  mountCurves(byId("curves"), context);
  mountParameters(byId("parameters"), context);
  mountNumbers(byId("numbers"), context);
  mountTour(byId("tour"), context);
  if (patch && !patch.points) arrive(store, patch);
  if (sentence) notice(sentence);
  followInUrl(store);
  // For those who look into the page from its console, and for tests.
  window.separatrix = { store, player, plane };
}

/** To what a link says; one that names a step of the tour and no points asks for the step as it begins. */
function arrive(store, patch) {
  if (!patch.points && STEPS[patch.tour]) goTo(store, patch.tour);
  else store.set(patch, { undo: true });
}

function followInUrl(store) {
  let timer = 0;
  let written = location.hash;
  store.subscribe(() => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      const fragment = `#${toFragment(store.get())}`;
      written = fragment.length > LONGEST ? "" : fragment; // rather none than an old one
      try {
        history.replaceState(null, "", written || location.pathname + location.search);
      } catch { /* pages inside other pages may have no address of their own */ }
    }, QUIET);
  });
  addEventListener("hashchange", () => {
    if (location.hash === written) return;
    const { patch, sentence } = fromFragment(location.hash);
    if (patch) arrive(store, patch);
    notice(sentence ?? "");
  });
}

start();
