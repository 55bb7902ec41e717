// A run filmed: iterates and numbers on a grid of t, for scrubbing.
//
// The grid has every t up to 500, then one 2 % later than the last, and always the first separating t and the last t.

import { Walk } from "./methods.js";

const EVERY = 500;
const GROWTH = 1.02;
const ENTRIES = 1 << 21; // row entries read between two looks at the clock

/** The first t after this one that is recorded. */
export function nextRecorded(t) {
  return t < EVERY ? t + 1 : Math.max(t + 1, Math.floor(t * GROWTH));
}

/**
 * Walk, yielding {t, errors} now and then; what is returned is the film.
 * @param {{X, y, method, gamma, intercept, order, maxIter, past, thetaStar}} options  `past`: iterations to go on after
 *   the first separator; `thetaStar`: the direction of the widest margin, to measure angles from
 */
export function* film({ maxIter = 10000, past = 0, thetaStar = null, ...run }) {
  const walk = new Walk(run);
  const reel = new Reel(walk, thetaStar);
  const slice = Math.max(1, Math.floor(ENTRIES / Math.max(1, walk.rows.n * (walk.rows.d + 8))));
  let status = "max-iter";
  let end = maxIter;
  let work = 0;
  walk.advance(0);
  reel.record();
  for (;;) {
    if (reel.separatedAt < 0 && walk.errors === 0) {
      if (!reel.separates()) {
        status = "rounded";
        break;
      }
      end = walk.t + past;
    }
    if (reel.separatedAt < 0 && walk.cycle) {
      status = "cycle";
      break;
    }
    if (walk.t >= end) break;
    const due = Math.min(nextRecorded(reel.lastT), end);
    const steps = Math.min(due - walk.t, slice);
    walk.advance(steps, reel.separatedAt < 0);
    if (walk.t === due || (reel.separatedAt < 0 && (walk.errors === 0 || walk.cycle))) work += reel.record();
    work += steps;
    if (work >= slice) {
      work = 0;
      yield { t: walk.t, errors: walk.errors };
    }
  }
  if (reel.separatedAt < 0 && status === "max-iter" && reel.lastErrors === 0) reel.separates();
  if (reel.separatedAt >= 0) status = "separated";
  return reel.film(status);
}

/** What is recorded so far. */
class Reel {
  constructor(walk, thetaStar) {
    this.walk = walk;
    this.star = thetaStar && unit(thetaStar);
    this.separatedAt = -1;
    this.lastT = -1;
    this.columns = { t: [], errors: [], loss: [], gradNorm: [], minMargin: [], accuracy: [], angle: [] };
    this.phi = Array.from(walk.phi(), () => []);
  }

  /** One more iterate, unless it is there already; how many passes over the rows that took. */
  record() {
    const { walk, columns } = this;
    if (walk.t === this.lastT) return 0;
    const phi = walk.phi();
    const found = walk.measure();
    columns.t.push(walk.t);
    for (const name of ["errors", "loss", "gradNorm", "minMargin", "accuracy"]) columns[name].push(found[name]);
    columns.angle.push(this.star ? angle(phi, this.star) : NaN);
    phi.forEach((x, k) => this.phi[k].push(x));
    this.lastT = walk.t;
    this.lastErrors = found.errors;
    return 2;
  }

  /** Whether this iterate separates; it is then the first. */
  separates() {
    const phi = new Float64Array(this.walk.rows.d + 1);
    phi.set(this.walk.phi());
    if (!this.walk.separated && !(this.walk.rows.lowest(phi) > 0)) return false;
    this.separatedAt = this.walk.t;
    return true;
  }

  film(status) {
    const film = { phi: this.phi.map((x) => Float64Array.from(x)) };
    for (const [name, values] of Object.entries(this.columns)) film[name] = Float64Array.from(values);
    const lossName = this.walk.gamma === Infinity ? "perceptron loss" : "logistic loss";
    const period = status === "cycle" ? this.walk.cycle : 0;
    return { ...film, separatedAt: this.separatedAt, status, period, lossName };
  }
}

/** v/‖v‖, the longest entry first scaled to 1. */
function unit(v) {
  const top = v.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
  const short = Array.from(v, (x) => x / top);
  const length = Math.sqrt(short.reduce((sum, x) => sum + x * x, 0));
  return short.map((x) => x / length);
}

/** The angle between φ and a unit vector, in radians: 2 atan2(‖u - v‖, ‖u + v‖) is exact where it is small, too. */
function angle(phi, star) {
  const u = unit(phi);
  let minus = 0;
  let plus = 0;
  for (let k = 0; k < u.length; k++) {
    minus += (u[k] - star[k]) * (u[k] - star[k]);
    plus += (u[k] + star[k]) * (u[k] + star[k]);
  }
  return 2 * Math.atan2(Math.sqrt(minus), Math.sqrt(plus));
}
