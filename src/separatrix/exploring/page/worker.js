// Films on demand: messages {id, make: options of film} are answered by {id, progress} … {id, film} or {id, error}.
//
// Work goes in slices, one film after the other in turn, and between two slices {cancel: id} is heard.

import { film } from "./film.js";

const PIECE = 30; // ms between two looks at the messages

/**
 * Listen as a worker does.
 * @param {{addEventListener: Function, postMessage: Function}} port  a worker's own scope
 */
export function serveFilms(port) {
  const jobs = new Map(); // by id, the next one first
  let waiting = false;

  function later() {
    if (waiting || jobs.size === 0) return;
    waiting = true;
    setTimeout(turn, 0);
  }

  function turn() {
    waiting = false;
    const [id, steps] = jobs.entries().next().value ?? [];
    if (!steps) return;
    jobs.delete(id);
    try {
      const { done, value } = piece(steps);
      port.postMessage(done ? { id, film: value } : { id, progress: value });
      if (!done) jobs.set(id, steps); // behind the others
    } catch (error) {
      port.postMessage({ id, error: error.message });
    }
    later();
  }

  port.addEventListener("message", ({ data: { id, make, cancel } }) => {
    if (make) jobs.set(id, film(make));
    else jobs.delete(cancel);
    later();
  });
}

/** What a film yields last within PIECE. */
function piece(steps) {
  const until = Date.now() + PIECE;
  let found = steps.next();
  while (!found.done && Date.now() < until) found = steps.next();
  return found;
}

if (typeof WorkerGlobalScope !== "undefined" && globalThis instanceof WorkerGlobalScope) serveFilms(globalThis);
