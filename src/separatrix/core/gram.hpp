// The batch methods in margin space: m ← m + Gw/N with G = ZZᵀ, for the gram engine.
//
// Φ itself is not kept, only the coefficients of Φ = Φ_0 + Zᵀcoef. The product q = Gw is not computed from scratch: large
// steps swing between a few wrong sets, so the last products are remembered, and only the columns of G are added in
// which the new weights differ from the nearest remembered ones.
//
// Margins kept this way drift by rounding, so a bound on the drift is carried along: |m_i - exact| ≤ r_i drift. At γ = ∞
// a row whose sign the bound leaves open asks for a refresh (Φ from its coefficients, all margins anew), so the wrong
// sets are those of direct evaluation. At finite γ no sign is at stake, and the bound, which knows only the worst case,
// would ask at every step: there the refresh comes after FRESH steps. Changes of weight below `tiny` of the mean are left
// for later: all of them together move a margin by about a rounding. For the same reason changes below HALF of the mean
// take their columns rounded to float32, which are half as long.
//
// Sums over rows (Σw, Σwq, Σwm, Σ|Δw|) run in index order, one by one.
#pragma once

#include "local.hpp"

namespace SX_ISA {
namespace gram {

constexpr i64 FRESH = 200;               // steps at finite γ between two refreshes
constexpr double HALF = 1e-7;            // `tiny` over the rounding of float32
constexpr i64 LANE = 2560;               // margins updated together while columns stream by
constexpr i64 WORTH_SHARING = 100000;    // numbers added below which a second thread costs more than it saves
constexpr double TOO_MUCH_DRIFT = 1e-9;  // of max r_j Σw: a product with more is not built upon
constexpr i64 WITHOUT = 4;               // times in a row that missing columns are done without before they are computed

SX_INLINE bool infinite(const Gram &g) { return g.gamma == __builtin_inf(); }
SX_INLINE double positive(double x) { return x > 0.0 ? x : 0.0; }
SX_INLINE bool counts(const Gram &g, i64 i) { return g.signs.s[i] > 0.0; }

// Whether the drift leaves the sign of m_i open.
SX_INLINE bool open(const Gram &g, i64 i) {
    return g.drift > 0.0 && g.signs.r[i] > 0.0 && __builtin_fabs(g.m[i]) <= g.signs.r[i] * g.drift;
}

// The wrong set, errors and the smallest margin; false when drift leaves a sign open at γ = ∞.
inline bool count_errors(Gram &g) {
    const bool strict = infinite(g);
    i64 tie = -1;
    g.errors = 0;
    g.low = __builtin_inf();
    std::memset(g.bits, 0, sizeof(uint64_t) * ((g.n + 63) / 64));
    for (i64 i = 0; i < g.n; i++) {
        if (!counts(g, i)) continue;
        if (strict && open(g, i)) return false;
        if (g.m[i] < g.low) {
            g.low = g.m[i];
            g.argmin = i;
        }
        if (g.m[i] <= 0.0) {
            if (g.m[i] == 0.0 && tie < 0) tie = i;
            g.errors++;
            g.bits[i >> 6] |= uint64_t(1) << (i & 63);
        }
    }
    tied(g, tie);
    return true;
}

// w_i = s_i σ(-γ m_i) of the rows with m_i ≤ τ = cut/γ + max(0, low), eight at a time; at γ = ∞ s_i 1[m_i ≤ 0].
inline void weigh(Gram &g) {
    const double tau = g.half ? __builtin_inf() : infinite(g) ? 0.0 : g.cut / g.gamma + positive(g.low);
    const double shift = shift_of<double>(g.gamma, g.power, g.low);
    g.n_active = 0;
    for (i64 i = 0; i < g.n; i++) {
        g.w[i] = 0.0;
        g.active[g.n_active] = i;
        g.n_active += counts(g, i) & (g.m[i] <= tau);
    }
    g.sum = 0.0;
    alignas(64) double at[EIGHT] = {}, y[EIGHT] = {};
    for (i64 j = 0; j < g.n_active; j += EIGHT) {
        const i64 some = g.n_active - j < EIGHT ? g.n_active - j : EIGHT;
        for (i64 e = 0; e < some; e++) at[e] = g.m[g.active[j + e]];
        if (!infinite(g)) weights<double>(g.gamma, shift, at, y);
        for (i64 e = 0; e < some; e++) {
            const i64 i = g.active[j + e];
            g.w[i] = g.signs.s[i] * (g.half ? 0.5 : infinite(g) ? 1.0 : y[e]);
            g.sum = g.sum + g.w[i];
        }
    }
}

// Errors, active rows and weights at these margins; false to ask for a refresh first.
inline bool evaluate(Gram &g) {
    if (g.evaluated) return true;
    if (!infinite(g) && g.since >= FRESH) return false;
    if (!count_errors(g)) return false;
    weigh(g);
    g.evaluated = 1;
    g.asked = 0;
    g.near = -1;
    return true;
}

// The remembered product whose wrong set differs least from this one, or -1 if starting from 0 is no farther.
inline i64 nearest_product(const Gram &g) {
    const i64 words = (g.n + 63) / 64;
    i64 best = -1, fewest = g.n_active;
    for (i64 h = 0; h < g.held; h++) {
        i64 different = 0;
        for (i64 k = 0; k < words; k++) different += __builtin_popcountll(g.bits[k] ^ g.old_bits[h * words + k]);
        if (different < fewest) {
            best = h;
            fewest = different;
        }
    }
    return best;
}

// The rows whose weight is not the remembered one, and by how much; large changes first.
inline void differences(Gram &g, i64 best) {
    const double mean = g.sum / double(g.n_active > 1 ? g.n_active : 1);
    const double half = g.shorter ? HALF * mean : 0.0, tiny = g.tiny * mean;
    i64 count = 0;
    if (best < 0) {
        for (; count < g.n_active; count++) {
            g.need[count] = g.active[count];
            g.delta[count] = g.w[g.active[count]];
        }
        g.n_large = g.n_need = count;
        return;
    }
    const double *old = g.old_w + best * g.n;
    auto list = [&](double above, double upto) {  // above < |w_i - old_i| ≤ upto
        for (i64 i = 0; i < g.n; i++) {
            const double change = g.w[i] - old[i], by = __builtin_fabs(change);
            if (by > above && by <= upto) {
                g.need[count] = i;
                g.delta[count++] = change;
            }
        }
    };
    list(tiny > half ? tiny : half, __builtin_inf());
    g.n_large = count;
    if (half > tiny) list(tiny, half);
    g.n_need = count;
}

// Columns to compute now: those missing here and all missed often enough; false to do without this time.
//
// A direct product costs a few columns' worth of work. Going without some times before computing makes sure that neither
// choice is ever much dearer than the better one, whatever comes.
inline bool ask(Gram &g) {
    g.asked = 1;
    g.patience++;
    for (i64 j = 0; j < g.n_need; j++)
        if (g.slot[g.need[j]] < 0) g.misses[g.need[j]] += g.patience >= WITHOUT ? 2 : 1;
    if (g.patience < WITHOUT) return false;
    g.patience = 0;
    g.n_need = 0;
    for (i64 i = 0; i < g.n; i++)
        if (g.slot[i] < 0 && g.misses[i] >= g.enough[i]) g.need[g.n_need++] = i;
    return true;
}

// q_lo … q_hi += Σ delta_j G[j, lo … hi] over j = first … count-1, in this order, eight columns at a time.
template <class T>
void add_columns(const T *table, i64 n, const i64 *slots, const double *delta, i64 first, i64 count, i64 lo, i64 hi,
                 double *q) {
    const T *at[EIGHT];
    i64 j = first;
    while (j < count) {
        const i64 some = count - j < EIGHT ? count - j : EIGHT;
        for (i64 e = 0; e < some; e++) at[e] = table + slots[j + e] * n + lo;
        if (some == EIGHT) {
            add<EIGHT>(delta + j, at, hi - lo, q + lo);
            j += EIGHT;
        } else if (some >= 4) {
            add<4>(delta + j, at, hi - lo, q + lo);
            j += 4;
        } else {
            add<1>(delta + j, at, hi - lo, q + lo);
            j += 1;
        }
    }
}

// The same over all rows: large changes by the table, small ones by its float32 copy.
inline void add_all_columns(const Gram &g, double *q) {
    const i64 threads = g.n_need * g.n > WORTH_SHARING ? g.threads : 1;
    share_out(threads, (g.n + LANE - 1) / LANE, [&](i64 b, i64) {
        const i64 lo = b * LANE, hi = g.n < lo + LANE ? g.n : lo + LANE;
        if (g.item == 8)
            add_columns(static_cast<const double *>(g.table), g.n, g.need, g.delta, 0, g.n_large, lo, hi, q);
        else
            add_columns(static_cast<const float *>(g.table), g.n, g.need, g.delta, 0, g.n_large, lo, hi, q);
        add_columns(g.shorter, g.n, g.need, g.delta, g.n_large, g.n_need, lo, hi, q);
    });
}

// q = Gw = Z(Zᵀw) by two products with the rows.
template <class Store> void direct_product(const Store &rows, Gram &g, i64 here) {
    sum_rows(rows, g.active, g.n_active, g.signs.sign, g.w, g.parts, g.scratch, g.touched, g.threads, g.n, g.total);
    margins(rows, g.every, g.n, g.signs.sign, g.total, g.threads, g.width, g.old_q + here * g.n);
    g.rows_read += g.n + g.n_active;
    g.old_drift[here] = g.product_error * g.longest * g.sum;
    std::memcpy(g.old_w + here * g.n, g.w, sizeof(double) * g.n);
    if (g.n_need < 1) g.n_need = 1;
}

// q = Gw by the columns in which w differs from the weights of product `best`.
inline void updated_product(Gram &g, i64 best, i64 here) {
    double *q = g.old_q + here * g.n, *w = g.old_w + here * g.n, change = 0.0;
    const double drift = best < 0 ? 0.0 : g.old_drift[best];
    if (best < 0) {
        std::memset(q, 0, sizeof(double) * g.n);
        std::memset(w, 0, sizeof(double) * g.n);
    } else if (best != here) {
        std::memcpy(q, g.old_q + best * g.n, sizeof(double) * g.n);
        std::memcpy(w, g.old_w + best * g.n, sizeof(double) * g.n);
    }
    for (i64 j = 0; j < g.n_need; j++) {
        const i64 i = g.need[j], slot = g.slot[i];
        change = change + __builtin_fabs(g.delta[j]);
        w[i] = g.w[i];
        g.used[slot] = g.t;
        g.need[j] = slot;
    }
    add_all_columns(g, q);
    g.columns_read += g.n_need;
    const double rounding = UNIT * double(g.n_need + 1) * g.longest * (g.sum + change);
    g.old_drift[here] = drift + change * g.longest * g.column_error + rounding;
}

// q = Gw into the memory, from the nearest remembered product or directly; false to ask for columns first. A product that
// is already there is used as it is, so that the memory does not depend on how often a stretch was looked at.
template <class Store> bool product(const Store &rows, Gram &g) {
    if (g.near >= 0) return true;
    g.grad2 = 0.0;
    if (g.n_active == 0) return true;  // no row pulls
    i64 best = nearest_product(g);
    if (best >= 0 && g.old_drift[best] > TOO_MUCH_DRIFT * g.longest * g.sum) best = -1;
    differences(g, best);
    i64 here = best;
    if (best < 0 || g.n_need > 0 || g.half) {
        i64 missing = 0;
        for (i64 j = 0; j < g.n_need; j++) missing += g.slot[g.need[j]] < 0;
        bool direct = g.n_need * g.n > (g.n + g.n_active) * g.width || g.half;
        if (missing > 0 && !direct) {
            if (!g.asked && ask(g)) return false;
            direct = true;
        }
        const i64 words = (g.n + 63) / 64;
        here = g.next;
        if (here == g.stretch) g.stretch = -1;  // what it went along is forgotten
        if (direct) direct_product(rows, g, here);
        else updated_product(g, best, here);
        std::memcpy(g.old_bits + here * words, g.bits, sizeof(uint64_t) * words);
        g.next = (g.next + 1) % g.H;
        g.held = g.held < g.H ? g.held + 1 : g.H;
    }
    g.near = here;
    for (i64 j = 0; j < g.n_active; j++) g.grad2 = g.grad2 + g.w[g.active[j]] * g.old_q[here * g.n + g.active[j]];
    return true;
}

// How often the step at hand can be taken before the wrong set may change: margins are linear on the way.
inline i64 same_for(const Gram &g) {
    const double *q = g.old_q + g.near * g.n;
    const double rate = 1.0 / divisor(g.gamma, g.power, g.low, g.sum);
    const double per_step = rate * (g.old_drift[g.near] + 16.0 * UNIT * __builtin_sqrt(positive(g.grad2)));
    const double off = g.drift + 8.0 * UNIT * __builtin_sqrt(positive(g.length2));
    double steps = __builtin_inf();
    for (i64 i = 0; i < g.n; i++)
        if (counts(g, i)) nearest(g.m[i], rate * q[i], g.signs.r[i], off, per_step, steps);
    steps -= 2.0;
    return i64(steps > 1.0 ? (steps < 1e18 ? steps : 1e18) : 1.0);
}

// A stretch begins here: along a product that the last step did not go along.
inline void begin_stretch(Gram &g) {
    g.stretch = infinite(g) && !g.half ? g.near : -1;
    g.k = 0;
    g.base_drift = g.drift;
    g.base_length2 = g.length2;
    g.cross = 0.0;
    for (i64 j = 0; j < g.n_active; j++) g.cross = g.cross + g.w[g.active[j]] * g.m[g.active[j]];
    if (g.stretch >= 0) {
        std::memcpy(g.base_m, g.m, sizeof(double) * g.n);
        std::memcpy(g.base_coef, g.coef, sizeof(double) * g.n);
    }
}

// m = base + k q/N, coef = base + k w/N (N = 1 in units of n), in one expression: the bits do not depend on where a
// stretch was interrupted. And what follows for ‖Φ‖ and the drift.
inline void update(Gram &g, i64 hop) {
    if (g.stretch != g.near || g.stretch < 0) begin_stretch(g);
    g.k += hop;
    const double *q = g.old_q + g.near * g.n;
    const double *base_m = g.stretch < 0 ? g.m : g.base_m, *base_coef = g.stretch < 0 ? g.coef : g.base_coef;
    const double rate = double(g.k) / divisor(g.gamma, g.power, g.low, g.sum);
    for (i64 j = 0; j < g.n_active; j++) {
        const i64 i = g.active[j];
        g.coef[i] = base_coef[i] + rate * g.w[i];
    }
    for (i64 i = 0; i < g.n; i++) g.m[i] = base_m[i] + rate * q[i];
    g.length2 = g.base_length2 + 2.0 * rate * g.cross + rate * rate * g.grad2;
    const double longest2 = g.length2 > g.base_length2 ? g.length2 : g.base_length2;
    g.drift = g.base_drift + rate * g.old_drift[g.near] + 8.0 * UNIT * __builtin_sqrt(positive(longest2));
    g.t += hop;
    g.since += hop;
    g.half = g.evaluated = 0;
}

// Up to update `end`, fewer when `stop` and no row is wrong; or a request that the caller has to meet first.
template <class Store> i64 advance(const Store &rows, Gram &g, i64 end, bool stop) {
    for (;;) {
        if (!evaluate(g)) return REFRESH;
        if (g.t >= end || (stop && g.errors == 0)) return FINISHED;
        if (g.n_active == 0) {  // γ = ∞ and no row is wrong: Φ stays where it is
            g.since += end - g.t;
            g.t = end;
            return FINISHED;
        }
        if (!product(rows, g)) return COLUMNS;
        i64 hop = 1;
        if (infinite(g) && g.n_need == 0 && !g.half && end - g.t > 1) {
            hop = same_for(g);
            hop = hop < end - g.t ? hop : end - g.t;
        }
        update(g, hop);
    }
}

// Φ from its coefficients, every margin anew, the remembered products forgotten: the drift is back at 0.
template <class Store> void refresh(const Store &rows, Gram &g, const double *phi0, double *phi) {
    const i64 D = rows.d + 1;
    i64 count = 0;
    for (i64 i = 0; i < g.n; i++)
        if (g.coef[i] != 0.0) g.need[count++] = i;
    sum_rows(rows, g.need, count, g.signs.sign, g.coef, g.parts, g.scratch, g.touched, g.threads, g.n, g.total);
    for (i64 k = 0; k < D; k++) phi[k] = phi0[k] + g.total[k];
    margins(rows, g.every, g.n, g.signs.sign, phi, g.threads, g.width, g.m);
    g.rows_read += g.n + count;
    const double length = norm(phi, D);
    g.length2 = length * length;
    g.drift = 0.0;
    g.since = g.held = g.next = g.evaluated = 0;
    g.near = g.stretch = -1;
}

// The row with the smallest margin, the first of them; -1 when another may be as wrong within the drift.
inline i64 most_wrong(const Gram &g) {
    i64 i = 0;
    for (i64 k = 1; k < g.n; k++)
        if (g.m[k] < g.m[i]) i = k;
    if (!(g.drift > 0.0)) return i;
    for (i64 k = 0; k < g.n; k++)
        if (k != i && g.m[k] - g.signs.r[k] * g.drift <= g.m[i] + g.signs.r[i] * g.drift) return -1;
    return i;
}

// m += G[:, i], coef_i += 1
template <class T> void take_row(Gram &g, const T *table, i64 i) {
    g.coef[i] = g.coef[i] + 1.0;
    g.length2 = g.length2 + (2.0 * g.m[i] + g.signs.r[i] * g.signs.r[i]);
    const T *column = table + g.slot[i] * g.n;
    for (i64 k = 0; k < g.n; k++) g.m[k] = g.m[k] + double(column[k]);
    g.columns_read++;
    g.drift += g.longest * g.column_error + 4.0 * UNIT * (__builtin_sqrt(positive(g.length2)) + g.longest);
}

// The row-at-a-time perceptron: m ← m + G[:, j] for one wrong row j, in the given order or, without one, the most wrong
// row each time. late_j, where given, sums up how many rows had been visited before each update with row j.
inline i64 sweep(Gram &g, const i64 *order, Place &p, i64 end, double *late) {
    while (p.t < end && p.clean < g.n && p.position < g.n) {
        const i64 i = order ? order[p.position] : most_wrong(g);
        if (i < 0 || open(g, i)) return REFRESH;
        if (g.m[i] > 0.0) {
            p.clean = order ? p.clean + 1 : g.n;
            p.position += order != nullptr;
            continue;
        }
        if (g.slot[i] < 0) {
            g.need[0] = i;
            g.n_need = 1;
            return COLUMNS;
        }
        p.clean = 0;
        if (late) late[i] = late[i] + (double(p.epoch) * double(g.n) + double(p.position));
        p.position += order != nullptr;
        p.t++;
        g.used[g.slot[i]] = p.t;
        if (g.item == 8) take_row(g, static_cast<const double *>(g.table), i);
        else take_row(g, static_cast<const float *>(g.table), i);
    }
    if (order && p.position == g.n) {
        p.position = 0;
        p.epoch++;
    }
    return FINISHED;
}

}  // namespace gram
}  // namespace SX_ISA
