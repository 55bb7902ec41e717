// Who makes the films: a worker made of the mathematics script's own text, or this thread in slices where none can be had.

import { film } from "./film.js";

const SLICE = 8; // ms of work at a time on this thread

function startWorker(answer) {
  const source = document.getElementById("mathematics");
  if (!source || typeof Worker === "undefined") return null;
  try {
    const address = URL.createObjectURL(new Blob([source.textContent], { type: "text/javascript" }));
    const worker = new Worker(address);
    worker.onmessage = (event) => answer(event.data);
    return worker;
  } catch { // some browsers give pages from disk no workers
    return null;
  }
}

function startSlices(answer) {
  const jobs = new Map();
  let waiting = false;
  function slice() {
    waiting = false;
    const [id, job] = jobs.entries().next().value ?? [];
    if (!job) return;
    const until = performance.now() + SLICE;
    try {
      let made = job.next();
      while (!made.done && performance.now() < until) made = job.next();
      if (made.done) jobs.delete(id);
      answer(made.done ? { id, film: made.value } : { id, progress: made.value });
    } catch (error) {
      jobs.delete(id);
      answer({ id, error: String(error) });
    }
    later();
  }
  function later() {
    if (jobs.size && !waiting) {
      waiting = true;
      setTimeout(slice);
    }
  }
  return {
    postMessage({ id, make, cancel }) {
      if (make) jobs.set(id, film(make)); else jobs.delete(cancel);
      later();
    },
  };
}

/** Orders and answers: ask(make, {done, progress, failed}) → id; whoever answers, a cancelled order stays unanswered. */
export function createStudio() {
  const orders = new Map();
  let last = 0, broken = false, slices = null, worker = startWorker(answer);
  if (worker) worker.onerror = () => { // the worker cannot be had after all: start again here
    if (broken) return;
    broken = true;
    worker = null;
    for (const [id, { make }] of orders) hand().postMessage({ id, make });
  };
  function hand() {
    return worker ?? (slices ??= startSlices(answer));
  }
  function answer({ id, film: made, progress, error }) {
    const order = orders.get(id);
    if (!order) return;
    if (progress !== undefined) return order.progress(progress);
    orders.delete(id);
    if (made) order.done(made); else order.failed(error ?? "the run failed");
  }
  return {
    ask(make, order) {
      const id = ++last;
      orders.set(id, { ...order, make });
      hand().postMessage({ id, make });
      return id;
    },
    cancel(id) {
      if (orders.delete(id)) hand().postMessage({ cancel: id });
    },
  };
}
