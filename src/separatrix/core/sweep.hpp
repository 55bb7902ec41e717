// The row-at-a-time perceptron: φ⁺ = φ + z_j for one wrong row j, in one of three orders.
//
// A row seen at margin m_i stays right while φ is within m_i/r_i of where it was seen, so the lazy engine passes it by
// unread. Distances are measured from an anchor: to where the row was seen, and from there to where φ is now.
//
// Few rows are wrong, so dense rows are read four at a time ahead of the decision: while all four are right nothing
// changes between them, and after a wrong one the rest of the four are read again.
#pragma once

#include "local.hpp"

namespace SX_ISA {

constexpr i64 AHEAD = 4;      // dense rows that are read before the first of them is decided on
constexpr i64 TOGETHER = 64;  // rows that several perceptrons read one after the other
constexpr i64 SOON = 12;      // places ahead from which what is kept of a row is fetched, where the order jumps

// φ and what goes with it. Bounds are float64 for rows in memory, float32 for rows elsewhere.
template <class Bound> struct Walk {
    double *phi;
    const double *anchor;
    Bound *bound;  // a lower bound on the margin of row i is bound_i - r_i·away
    double *late;  // Σ v_j z_j over the updates, v_j the rows visited before each; none where no average is wanted
};

// x as a bound can hold it, or just below; never infinite upward.
SX_INLINE void keep_below(double *bound, double x) { *bound = x; }
SX_INLINE void keep_below(float *bound, double x) {
    const double low = x - __builtin_fabs(x) * 1.2e-7 - 3e-45;  // less a rounding step
    *bound = float(low > 3e38 ? 3e38 : low);
}

// Signs of rows in memory, y_i/scale; those of rows elsewhere come in order and need not be fetched.
struct Given {
    const double *sign;
    SX_INLINE double operator()(i64 i) const { return sign[i]; }
};
SX_INLINE void fetch(const Given &given, i64 i) { __builtin_prefetch(given.sign + i); }
template <class Sign> SX_INLINE void fetch(const Sign &, i64) {}

// How far φ is from the anchor, and slack for the rounding of dot products and distances. D is the length of φ.
SX_INLINE double reached(const Sweep &c, i64 D) { return c.away + 8.0 * UNIT * double(D + 8) * (c.length + c.away); }

// The rows from the present place to place `until`, one after the other; or `steps` updates, or n rows right.
//
// Place p is row order_p, or row p where there is no order; row i is row first + i of the store, and has norm r_i and
// sign(i) = y_i/scale. Rows that may be wrong once φ is farther than `limit` from the anchor need not be there: it goes
// no farther. Without `lazy` neither bounds nor norms are touched.
template <class Store, class Bound, class Norm, class Sign>
void go(const Store &rows, i64 first, const Norm *r, Sign sign, const Walk<Bound> &walk, const i64 *order, Sweep &c,
        i64 steps, bool lazy, i64 until, i64 n, double limit) {
    constexpr i64 width = Store::sparse ? 1 : AHEAD;  // sparse rows gain nothing from company
    const i64 D = rows.d + 1, end = c.t + steps;
    i64 row[AHEAD], place[AHEAD];
    double y[AHEAD], dot[AHEAD];
    double reach = reached(c, D);
    while (c.position < until && c.t < end && c.clean < n && !(reach > limit)) {
        const i64 round = c.position + n - c.clean, last = until < round ? until : round;
        i64 found = 0, p = c.position;
        for (; p < last && found < width; p++) {
            const i64 i = order ? order[p] : p;
            if (order && p + SOON < n) {
                const i64 soon = order[p + SOON];
                fetch(sign, soon);
                if (lazy) __builtin_prefetch(walk.bound + soon), __builtin_prefetch(r + soon);
            }
            if (lazy && double(walk.bound[i]) - double(r[i]) * reach > 0.0) continue;
            row[found] = i;
            y[found] = sign(i);
            place[found++] = p;
        }
        rows.dots(first, row, found, walk.phi, dot);
        c.rows_read += found;
        for (i64 k = 0; k < found; k++) {
            const i64 i = row[k];
            const double margin = y[k] * dot[k];
            if (margin <= 0.0) {
                rows.add_rows(first, &i, y + k, 1, walk.phi);  // φ += z_i
                if (walk.late) {
                    const double visited = double(c.epoch) * double(n) + double(place[k]), v = y[k] * visited;
                    rows.add_rows(first, &i, &v, 1, walk.late);
                }
                if (lazy) {
                    walk.bound[i] = Bound(-__builtin_inf());
                    c.away = distance(walk.phi, walk.anchor, D);
                    reach = reached(c, D);
                }
                c.t++;
                c.clean = 0;
                c.position = p = place[k] + 1;
                break;
            }
            if (lazy) keep_below(walk.bound + i, margin - double(r[i]) * c.away);
        }
        c.clean += p - c.position;
        c.position = p;
    }
}

// Measure distances from here.
inline void set_anchor(Perceptron &e, i64 D) {
    std::memcpy(e.anchor, e.phi, sizeof(double) * D);
    e.at.length = norm(e.phi, D);
    e.at.away = 0.0;
    e.at.since = 0;
    e.at.read_at = e.at.read_before = e.at.rows_read;
}

// Set the anchor here if the last round read no fewer rows than the average since it was set.
inline void renew_anchor(Perceptron &e, i64 n, i64 D) {
    Sweep &c = e.at;
    c.since++;
    if (c.since > 1 && (c.rows_read - c.read_before) * c.since >= c.rows_read - c.read_at) {
        const double reach = reached(c, D);
        for (i64 i = 0; i < n; i++) e.bound[i] = e.bound[i] - e.r[i] * reach;
        set_anchor(e, D);
    }
    c.read_before = c.rows_read;
}

// The sweep is over: the next one begins. Where rows come in order φ alone says what follows.
inline void end_sweep(Perceptron &e, i64 n, i64 D, bool lazy) {
    e.at.position = 0;
    e.at.epoch++;
    if (e.at.clean < n) came_back(e.watch, e.phi, D, e.at.t);
    if (lazy) renew_anchor(e, n, D);
}

// On to place `until` of this sweep, or `steps` updates, or until every row was right in turn.
template <class Store>
void sweep_one(const Store &rows, Perceptron &e, const i64 *order, i64 n, i64 steps, bool lazy, i64 until) {
    const Walk<double> walk = {e.phi, e.anchor, e.bound, e.late};
    go(rows, 0, e.r, Given{e.sign}, walk, order, e.at, steps, lazy, until, n, __builtin_inf());
}

// Places lo to hi of one sweep for several perceptrons on the same rows; a few rows at a time stay in the cache. Each
// thread takes some of the perceptrons through all rows.
template <class Store>
void sweep_all(const Store &rows, Perceptron *const *each, i64 count, const i64 *order, i64 n, bool lazy, i64 lo, i64 hi,
               i64 threads) {
    const i64 groups = threads < count ? threads : count;
    share_out(threads, groups, [&](i64 group, i64) {
        for (i64 p = lo; p < hi; p += TOGETHER)
            for (i64 k = group; k < count; k += groups)
                sweep_one(rows, *each[k], order, n, INT64_MAX / 2, lazy, p + TOGETHER < hi ? p + TOGETHER : hi);
    });
}

// The row of smallest margin, the lowest index on ties. Rows whose bound is above the smallest so far are passed by.
template <class Store> i64 most_wrong_row(const Store &rows, Perceptron &e, i64 n, bool lazy) {
    Sweep &c = e.at;
    const double reach = reached(c, rows.d + 1);
    i64 best = -1;
    for (i64 i = 0; i < n; i++) {
        if (lazy) {
            if (best >= 0 && e.bound[i] - e.r[i] * reach > e.m[best]) continue;
            rows.dots(0, &i, 1, e.phi, e.m + i);
            e.m[i] = e.sign[i] * e.m[i];
            e.bound[i] = e.m[i] - e.r[i] * c.away;
            c.rows_read++;
        }
        if (best < 0 || e.m[i] < e.m[best]) best = i;
    }
    return best;
}

// Up to `steps` updates, each with the row of smallest margin, while that is ≤ 0, and with `stop` while φ does not come
// back. `every` lists all rows.
template <class Store>
void most_wrong(const Store &rows, Perceptron &e, const i64 *every, i64 n, i64 steps, bool stop, bool lazy, i64 threads,
                i64 width) {
    Sweep &c = e.at;
    const i64 end = c.t + steps;
    for (;;) {
        if (!lazy) {
            margins(rows, every, n, e.sign, e.phi, threads, width, e.m);
            c.rows_read += n;
        }
        const i64 best = most_wrong_row(rows, e, n, lazy);
        c.clean = e.m[best] > 0.0 ? n : 0;
        if (c.clean == n || c.t >= end) return;
        came_back(e.watch, e.phi, rows.d + 1, c.t);
        if (stop && e.watch.period) return;
        rows.add_rows(0, &best, e.sign + best, 1, e.phi);  // φ += z_best
        c.t++;
        if (lazy) {
            c.away = distance(e.phi, e.anchor, rows.d + 1);
            renew_anchor(e, n, rows.d + 1);
        }
    }
}

}  // namespace SX_ISA
