// Answers messages {id, make: {...options of film}} with {id, progress} … {id, film}, a slice at a time; {cancel: id} ends one.

import { film } from "./film.js";

/**
 * Listen as a worker does.
 * @param {{addEventListener: Function, postMessage: Function}} port  a worker's own scope
 */
export function serveFilms(port) {
  const cancelled = new Set();
  const jobs = [];
  let busy = false;

  function turn() {
    busy = true;
    const job = jobs[0];
    if (!job || cancelled.has(job.id)) {
      if (job) cancelled.delete(jobs.shift().id);
    } else answer(job);
    if (jobs.length) setTimeout(turn, 0); // messages, such as {cancel}, come in between
    else busy = false;
  }

  function answer(job) {
    const until = Date.now() + 30;
    try {
      for (;;) {
        const { done, value } = job.steps.next();
        if (done) {
          jobs.shift();
          port.postMessage({ id: job.id, film: value });
          return;
        }
        if (Date.now() > until) {
          port.postMessage({ id: job.id, progress: value });
          return;
        }
      }
    } catch (error) {
      jobs.shift();
      port.postMessage({ id: job.id, error: String(error.message) });
    }
  }

  port.addEventListener("message", ({ data }) => {
    if (data.cancel !== undefined && jobs.some((job) => job.id === data.cancel)) cancelled.add(data.cancel);
    if (data.make === undefined) return;
    jobs.push({ id: data.id, steps: film(data.make) });
    if (!busy) setTimeout(turn, 0);
    busy = true;
  });
}

const IN_WORKER = typeof WorkerGlobalScope !== "undefined" && globalThis instanceof WorkerGlobalScope;
if (IN_WORKER) serveFilms(globalThis);
