// Rows in memory answer the stepper: which rows are due, their margins and weights, sums, how long a stretch lasts.
#pragma once

#include "look.hpp"
#include "pool.hpp"
#include "stepper.hpp"

namespace SX_ISA {

constexpr i64 WORTH = 60000;  // entries read below which a second thread costs more than it saves

SX_INLINE i64 blocks_of(i64 n) { return (n + BLOCK - 1) / BLOCK; }
SX_INLINE i64 threads_for(i64 threads, i64 entries) { return entries > WORTH ? threads : 1; }

// Σ w_i z_i over sparse rows idx_0 … (rising), and behind it Σ w_i. The sum of a block touches few of the d columns, so
// only those are added to the group; the others would add 0.
template <class Store>
void sum_sparse(const Store &rows, const i64 *idx, i64 count, const double *sign, const typename Store::A *w,
                typename Store::A *scratch, i64 *touched, typename Store::A *out) {
    using A = typename Store::A;
    const i64 width = rows.d + 2;
    Tree<A> tree(scratch, width);
    A *part = scratch + (LEVELS + 1) * width;
    i64 *mark = touched + rows.d;
    std::memset(part, 0, sizeof(A) * width);
    i64 j = 0;
    while (j < count) {
        const i64 block = idx[j] / BLOCK;
        i64 n_touched = 0;
        for (; j < count && idx[j] / BLOCK == block; j++) {
            const i64 i = idx[j];
            const A c = w[i] * A(sign[i]);
            rows.entries(i, [&](i64 k, auto x) {
                if (!mark[k]) touched[n_touched++] = k;
                mark[k] = 1;
                part[k] = part[k] + c * A(x);
            });
            part[rows.d] = part[rows.d] + c * rows.bias;
            part[rows.d + 1] = part[rows.d + 1] + w[i];
        }
        A *group = tree.open(block);
        for (i64 e = 0; e < n_touched; e++) {
            const i64 k = touched[e];
            group[k] = group[k] + part[k];
            part[k] = 0;
            mark[k] = 0;
        }
        for (i64 k = rows.d; k < width; k++) {
            group[k] = group[k] + part[k];
            part[k] = 0;
        }
    }
    tree.finish(out);
}

// The same over any rows: those of a block on one thread, then blocks in order. `parts` has a vector for each block.
template <class Store>
void sum_rows(const Store &rows, const i64 *idx, i64 count, const double *sign, const typename Store::A *w,
              typename Store::A *parts, typename Store::A *scratch, i64 *touched, i64 threads, i64 n,
              typename Store::A *out) {
    using A = typename Store::A;
    if constexpr (Store::sparse) {
        sum_sparse(rows, idx, count, sign, w, scratch, touched, out);
    } else {
        const i64 width = rows.d + 2, blocks = blocks_of(n);
        auto find = [&](i64 row) {  // the first place from which idx is at least `row`
            i64 lo = 0, hi = count;
            while (lo < hi) {
                const i64 mid = (lo + hi) / 2;
                if (idx[mid] < row) lo = mid + 1;
                else hi = mid;
            }
            return lo;
        };
        share_out(threads_for(threads, count * rows.d), blocks, [&](i64 b, i64) {
            const i64 lo = find(b * BLOCK), hi = find((b + 1) * BLOCK);
            A *part = parts + b * room<A>(width);
            std::memset(part, 0, sizeof(A) * width);
            pull(rows, 0, idx + lo, hi - lo, [&](i64 i) { return A(sign[i]); }, w, part);
        });
        Tree<A> tree(scratch, width);
        for (i64 b = 0; b < blocks; b++) tree.put(b, parts + b * room<A>(width));
        tree.finish(out);
    }
}

// m_i = sign_i (a_iᵀφ + bias φ_d) for i = idx_0 …
template <class Store>
void margins(const Store &rows, const i64 *idx, i64 count, const double *sign, const typename Store::A *phi, i64 threads,
             i64 width, typename Store::A *m) {
    using A = typename Store::A;
    constexpr i64 CHUNK = 64;
    share_out(threads_for(threads, count * width), (count + CHUNK - 1) / CHUNK, [&](i64 c, i64) {
        A x[CHUNK];
        const i64 lo = c * CHUNK, some = count - lo < CHUNK ? count - lo : CHUNK;
        rows.dots(0, idx + lo, some, phi, x, count - lo);
        for (i64 j = 0; j < some; j++) m[idx[lo + j]] = A(sign[idx[lo + j]]) * x[j];
    });
}

// The sums s, t and, where an array for it is given, c of `spans` for i = idx_0 …, in the order of idx.
template <class Store>
void spans(const Store &rows, const i64 *idx, i64 count, const double *phi, i64 threads, i64 width, double *s, double *t,
           double *c) {
    constexpr i64 CHUNK = 64;
    share_out(threads_for(threads, count * width), (count + CHUNK - 1) / CHUNK, [&](i64 at, i64) {
        const i64 lo = at * CHUNK, some = count - lo < CHUNK ? count - lo : CHUNK;
        if (c) rows.template spans<true>(idx + lo, some, phi, s + lo, t + lo, c + lo);
        else rows.template spans<false>(idx + lo, some, phi, s + lo, t + lo, nullptr);
    });
}

template <class Store> struct Answers {
    using A = typename Store::A;
    Local &e;
    Store rows;
    const i64 n, d, blocks;
    A *const m, *const w, *const parts;

    explicit Answers(Local &local)
        : e(local),
          rows(local.rows),
          n(local.rows.n),
          d(local.rows.d),
          blocks(blocks_of(local.rows.n)),
          m(static_cast<A *>(local.m)),
          w(static_cast<A *>(local.w)),
          parts(static_cast<A *>(local.parts)) {}

    A sign(i64 i) const { return A(e.signs.sign[i]); }
    A weight(i64 i) const { return A(e.signs.s[i]); }

    // The rows of a block whose margin may have come down to tau, counted from the block's first.
    i64 list_due(i64 lo, i64 hi, double tau, i64 *due) const {
        i64 count = 0;
        const double reach = e.bounds.reach, line = e.bounds.line;
        if (e.bounds.every)
            for (i64 i = lo; i < hi; i++) {
                due[count] = i - lo;
                count += e.signs.s[i] > 0.0;
            }
        else
            for (i64 i = lo; i < hi; i++) {
                const double r = e.signs.r[i];
                due[count] = i - lo;
                count += !(e.reach[i] - r * reach > tau) & !(e.far[i] - r * line > tau);
            }
        return count;
    }

    // One block: the rows that are due, and, where `summed`, their weights and Σ w_i z_i. At γ = ∞ a block whose wrong
    // rows are the last look's keeps its sum.
    void look_at(i64 b, const Question<A> &q, bool summed) {
        const i64 lo = b * BLOCK, hi = n < lo + BLOCK ? n : lo + BLOCK;
        double *found = e.found + b * F_COUNTS;
        i64 *due = e.due + lo;
        const i64 count = e.n_due[b];
        i64 fresh[BLOCK];
        const bool stream = summed && !q.infinite && parts;
        A *part = parts ? parts + b * room<A>(d + 2) : nullptr;
        if (stream) std::memset(part, 0, sizeof(A) * (d + 2));
        auto signs = [&](i64 k) { return sign(lo + k); };
        auto weights = [&](i64 k) { return weight(lo + k); };
        Question<A> asked = q;
        if (!summed) asked.tau = A(-__builtin_inf());
        const i64 n_fresh = look(rows, lo, due, count, asked, signs, weights, m + lo, w + lo, fresh, stream ? part : nullptr);
        i64 errors = 0, argmin = -1, tie = -1;
        A low = A(__builtin_inf());
        for (i64 j = 0; j < count; j++) {
            const i64 i = lo + due[j];
            errors += m[i] <= 0;
            if (m[i] == 0 && tie < 0) tie = i;
            if (m[i] < low) {
                low = m[i];
                argmin = i;
            }
        }
        if (e.lazy) {
            const double path = e.bounds.every ? 0.0 : e.bounds.path;
            for (i64 j = 0; j < count; j++) {
                const i64 i = lo + due[j];
                e.reach[i] = double(m[i]) + e.signs.r[i] * path;
                if (e.bounds.every) e.far[i] = e.reach[i];
            }
            if (e.bounds.every)
                for (i64 i = lo; i < hi; i++)
                    if (!(e.signs.s[i] > 0.0)) e.reach[i] = e.far[i] = __builtin_inf();
        }
        found[F_ERRORS] = double(errors);
        found[F_LOW] = double(low);
        found[F_ARGMIN] = double(argmin);
        found[F_READ] = double(count);
        found[F_TIE] = double(tie);
        if (summed) keep(b, lo, fresh, n_fresh, q, stream);
    }

    // The block's rows with a weight, compared with the last look's, and their sum where it is another.
    void keep(i64 b, i64 lo, const i64 *fresh, i64 count, const Question<A> &q, bool streamed) {
        double *found = e.found + b * F_COUNTS;
        i64 *active = e.active + lo;
        bool same = q.infinite && count == e.n_active[b];
        for (i64 j = 0; same && j < count; j++) same = active[j] == fresh[j];
        std::memcpy(active, fresh, sizeof(i64) * count);
        e.n_active[b] = count;
        found[F_ACTIVE] = double(count);
        found[F_CHANGED] = !same;
        if (!parts || streamed) return;
        if (same && e.valid[b]) return;
        A *part = parts + b * room<A>(d + 2);
        std::memset(part, 0, sizeof(A) * (d + 2));
        ::SX_ISA::pull(rows, lo, active, count, [&](i64 k) { return sign(lo + k); }, w + lo, part);
        e.valid[b] = !q.half;
    }

    // Weights and sums from margins that are known, of the rows looked at last.
    void weigh(i64 b, const Question<A> &q) {
        const i64 lo = b * BLOCK, *due = e.due + lo;
        i64 fresh[BLOCK], count = 0;
        alignas(64) A x[Width<A>::lanes] = {}, y[Width<A>::lanes];
        for (i64 j = 0; j < e.n_due[b]; j += EIGHT) {
            const i64 some = e.n_due[b] - j < EIGHT ? e.n_due[b] - j : EIGHT;
            for (i64 c = 0; c < some; c++) x[c] = m[lo + due[j + c]];
            weights<A>(q.gamma, q.shift, x, y);
            for (i64 c = 0; c < some; c++)
                if (x[c] <= q.tau) {
                    fresh[count++] = due[j + c];
                    w[lo + due[j + c]] = weight(lo + due[j + c]) * y[c];
                }
        }
        if (parts) e.valid[b] = 0;
        keep(b, lo, fresh, count, q, false);
    }

    void gather(Stepper &s, bool summed) {
        i64 errors = 0, read = 0, changed = 0, actives = 0, tie = -1;
        double low = __builtin_inf();
        for (i64 b = 0; b < blocks; b++) {
            const double *found = e.found + b * F_COUNTS;
            errors += i64(found[F_ERRORS]);
            read += i64(found[F_READ]);
            if (tie < 0) tie = i64(found[F_TIE]);
            if (found[F_LOW] < low) {
                low = found[F_LOW];
                e.argmin = i64(found[F_ARGMIN]);
            }
            if (summed) {
                actives += i64(found[F_ACTIVE]);
                changed += found[F_CHANGED] != 0.0;
            }
        }
        s.errors = errors;
        s.low = low;
        tied(s, tie);
        e.rows_read += read;
        if (summed) {
            e.actives = actives;
            s.changed = s.changed || changed;  // a second look at the same iterate forgets nothing
        }
        e.summed = summed;
        e.read = read;
    }

    // How many rows are due. Where that is half of all, every row is taken and the anchor set here; each block then lists
    // its rows when it is looked at.
    i64 list_all(double tau) {
        if (e.bounds.every) return n;
        i64 count = 0;
        share_out(threads_for(e.threads, n / 8), blocks, [&](i64 b, i64) { list(b, tau); });
        for (i64 b = 0; b < blocks; b++) count += e.n_due[b];
        e.bounds.every = 2 * count >= n;
        return count;
    }
    void list(i64 b, double tau) {
        const i64 lo = b * BLOCK, hi = n < lo + BLOCK ? n : lo + BLOCK;
        e.n_due[b] = list_due(lo, hi, tau, e.due + lo);
    }

    void look_all(Stepper &s, const Question<A> &q, double ceiling, bool summed) {
        const i64 count = list_all(ceiling);
        share_out(threads_for(e.threads, count * e.width), blocks, [&](i64 b, i64) {
            if (e.bounds.every) list(b, ceiling);
            look_at(b, q, summed);
        });
        gather(s, summed);
        end_look(e.bounds, q.phi, e.read, e.lazy);
    }

    // Margins that matter, brought up to date with Φ; the rows that have a weight, and their sums. Past separation the cut
    // is measured from the smallest margin, which has to be known before the weights.
    bool evaluate(Stepper &s) {
        const A *phi = static_cast<const A *>(s.phi);
        const bool infinite = s.gamma == __builtin_inf();
        const A cut = infinite ? A(0) : A(e.cut) / A(s.gamma);
        Question<A> q = {phi, A(s.gamma), cut, A(0), infinite, s.half != 0};
        const bool past = !infinite && e.begun && s.low > 0.0;
        begin_look(e.bounds, phi, s.length, false, e.lazy);
        if (s.half)
            q.tau = A(__builtin_inf());
        double ceiling = double(q.tau);
        if (past && !e.bounds.every) {  // the row that had the smallest margin bounds it from above
            margins(rows, &e.argmin, 1, e.signs.sign, phi, 1, e.width, m);
            const double top = double(m[e.argmin]);
            ceiling = double(cut + (top > 0.0 ? A(top) : A(0)));
        }
        look_all(s, q, ceiling, !past);
        e.begun = 1;
        if (infinite || (!past && !(s.low > 0.0))) return true;
        if (s.low > 0.0 && !e.bounds.every && ceiling < double(cut + A(s.low))) {
            // Just separated: rows above the old cut may have the smallest margin, or be below the new one.
            begin_look(e.bounds, phi, s.length, true, e.lazy);
            look_all(s, q, ceiling, false);
        }
        if (s.low > 0.0) {
            q.tau = cut + A(s.low);
            q.shift = shift_of<A>(s.gamma, s.power, s.low);
        }
        share_out(threads_for(e.threads, e.read * e.width), blocks, [&](i64 b, i64) { weigh(b, q); });
        gather(s, true);
        e.rows_read -= e.read;  // counted once
        return true;
    }

    // total = Σ w_i z_i at this iterate, and Σ w_i behind it.
    bool pull(Stepper &s) {
        A *total = static_cast<A *>(s.total), *scratch = static_cast<A *>(e.scratch);
        if constexpr (Store::sparse) {
            i64 count = 0;
            for (i64 b = 0; b < blocks; b++)
                for (i64 j = 0; j < e.n_active[b]; j++) e.due[count++] = b * BLOCK + e.active[b * BLOCK + j];
            sum_sparse(rows, e.due, count, e.signs.sign, w, scratch, e.touched, total);
        } else {
            Tree<A> tree(scratch, d + 2);
            for (i64 b = 0; b < blocks; b++)
                if (e.n_active[b]) tree.put(b, parts + b * room<A>(d + 2));
            tree.finish(total);
        }
        return true;
    }

    // How often the step at hand can be taken before a row changes sides.
    bool foresee(Stepper &s) {
        const double off = 4.0 * unit() * double(s.D + 8) * s.length, per_step = 4.0 * unit() * double(s.D + 8) * s.stride;
        const A *phi = static_cast<const A *>(s.phi), *step = static_cast<const A *>(s.step);
        double *nearest_in = e.found;  // one for each block; what was counted there is known
        share_out(threads_for(e.threads, n * e.width), blocks, [&](i64 b, i64) {
            const i64 lo = b * BLOCK, hi = n < lo + BLOCK ? n : lo + BLOCK;
            double steps = __builtin_inf();
            i64 idx[EIGHT];
            A at[EIGHT], along[EIGHT];
            for (i64 i = lo; i < hi; i += EIGHT) {
                const i64 some = hi - i < EIGHT ? hi - i : EIGHT;
                for (i64 j = 0; j < some; j++) idx[j] = i + j;
                rows.dots(0, idx, some, phi, at);  // they are in the cache for the second
                rows.dots(0, idx, some, step, along);
                for (i64 j = 0; j < some; j++)
                    if (e.signs.s[i + j] > 0.0)
                        nearest(double(sign(i + j) * at[j]), double(sign(i + j) * along[j]), e.signs.r[i + j], off, per_step, steps);
            }
            nearest_in[b * F_COUNTS] = steps;
        });
        s.horizon = __builtin_inf();
        for (i64 b = 0; b < blocks; b++)
            if (nearest_in[b * F_COUNTS] < s.horizon) s.horizon = nearest_in[b * F_COUNTS];
        e.rows_read += 2 * n;
        return true;
    }
    static double unit() { return sizeof(A) == 8 ? UNIT : 0x1p-24; }
};

}  // namespace SX_ISA
