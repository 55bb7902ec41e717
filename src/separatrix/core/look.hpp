// One look at some rows of a block: margins m_i = z_iᵀΦ of the rows that are due, weights, and Σ w_i z_i.
//
//   w_i = s_i σ(-γ m_i)   or, at γ = ∞,   s_i 1[m_i ≤ 0] ;      no weight beyond τ
//
// Rows are taken eight at a time, while they are in the cache. Rows in memory, in files and on other machines are all
// looked at by this code; what they keep of it differs.
#pragma once

#include "rows.hpp"

namespace SX_ISA {

template <class A> struct Question {
    const A *phi;
    A gamma, tau, shift;  // tau: margins beyond it have no weight; shift: ln of a factor on all weights
    bool infinite, half;  // half: the first step from 0 at γ = ∞, where every row has weight ½
};

// Rows that wait to be added to a sum, eight at a time and in order.
template <class Store> struct Pending {
    using A = typename Store::A;
    const Store &rows;
    i64 first, count = 0, idx[EIGHT];
    A c[EIGHT], *out;

    Pending(const Store &rows_, i64 first_, A *out_) : rows(rows_), first(first_), out(out_) {}
    SX_INLINE void push(i64 k, A w, A sign) {
        idx[count] = k;
        c[count++] = w * sign;
        out[rows.d + 1] = out[rows.d + 1] + w;
        if (count == EIGHT) flush();
    }
    void flush() {
        rows.add_rows(first, idx, c, count, out);
        count = 0;
    }
};

// The rows due_0 … of a block whose row k is row first + k of the store and `at + k` of what is kept of rows. Margins go
// to m_k, weights to w_k, the rows that have one to `active`, their sum to `part` where one is given. `sign(k)` and
// `weight(k)` are y and the sample weight. Returns how many have a weight.
template <class Store, class Sign, class Weight>
i64 look(const Store &rows, i64 first, const i64 *due, i64 count, const Question<typename Store::A> &q, Sign sign,
         Weight weight, typename Store::A *m, typename Store::A *w, i64 *active, typename Store::A *part) {
    using A = typename Store::A;
    Pending<Store> pending(rows, first, part);
    alignas(64) A x[Width<A>::lanes] = {}, y[Width<A>::lanes];
    i64 n_active = 0;
    for (i64 j = 0; j < count; j += EIGHT) {
        const i64 some = count - j < EIGHT ? count - j : EIGHT;
        rows.dots(first, due + j, some, q.phi, x, count - j);
        bool any = false;
        for (i64 e = 0; e < some; e++) {
            x[e] = sign(due[j + e]) * x[e];
            m[due[j + e]] = x[e];
            any = any || x[e] <= q.tau;
        }
        if (!any) continue;
        if (!q.infinite) weights<A>(q.gamma, q.shift, x, y);
        for (i64 e = 0; e < some; e++) {
            const i64 k = due[j + e];
            if (x[e] <= q.tau) {
                w[k] = weight(k) * (q.half ? A(0.5) : q.infinite ? A(1) : y[e]);
                active[n_active++] = k;
                if (part) pending.push(k, w[k], sign(k));
            }
        }
    }
    if (pending.count) pending.flush();
    return n_active;
}

// Σ w_i z_i over the rows active_0 …
template <class Store, class Sign>
void pull(const Store &rows, i64 first, const i64 *active, i64 count, Sign sign, const typename Store::A *w,
          typename Store::A *part) {
    Pending<Store> pending(rows, first, part);
    for (i64 j = 0; j < count; j++) pending.push(active[j], w[active[j]], sign(active[j]));
    if (pending.count) pending.flush();
}

// Before a look at Φ: how far it is from where rows were seen. The slack covers the rounding of dot products,
// (d + 8) u r_i ‖Φ‖ each, and of the distances themselves.
template <class A> void begin_look(Bounds &b, const A *phi, double length, bool fresh, bool lazy) {
    if (lazy && b.begun) b.path += distance(phi, static_cast<const A *>(static_cast<void *>(b.last)), b.D);
    if (lazy) std::memcpy(b.last, phi, sizeof(A) * b.D);
    b.begun = 1;
    b.length = length > b.length ? length : b.length;
    b.every = fresh || !lazy || !b.anchored;
    if (!lazy) return;
    const double slack = 4.0 * UNIT * double(b.D + 8 + b.since) * (b.length + b.path);
    b.reach = b.path + slack;
    b.line = distance(phi, static_cast<const A *>(static_cast<void *>(b.anchor)), b.D) + slack;
}

// After it: where distances are now measured from, and whether the next look should take every row, because this one
// read half of them, or more than the average since the anchor.
template <class A> void end_look(Bounds &b, const A *phi, i64 read, bool lazy) {
    if (!lazy) return;
    if (b.every) {
        b.anchored = 1;
        b.since = 0;
        b.spent = b.n;
        b.path = 0.0;
        std::memcpy(b.anchor, phi, sizeof(A) * b.D);
        return;
    }
    b.since++;
    b.spent += read;
    if (2 * read > b.n || (read > 64 && read * b.since > b.spent)) b.anchored = 0;
}

}  // namespace SX_ISA
