// One iterate of the batch methods over rows that are elsewhere: in an array, or in a file, a block at a time.
//
// What is kept per row is small: its sign, its norm rounded up and lower bounds on its margin rounded down in float32,
// and whether it was wrong. Blocks are those of the canonical sum and are looked at by `look`, so margins, weights and
// sums have the bits they have in memory, whoever holds the rows.
#pragma once

#include "look.hpp"
#include "stepper.hpp"
#include "sweep.hpp"

#ifndef _WIN32
#include <unistd.h>
#endif

namespace SX_ISA {

constexpr i64 NEAR = 4096;  // bytes between two rows that are read over rather than asked for separately
constexpr double ROOM = 2.0;  // how far φ may go, in longest rows, before a block of a file is looked over again

// What is kept of row lo and on, where it is kept.
template <class T> SX_INLINE T *from(T *kept, i64 lo) { return kept ? kept + lo : kept; }

// Whether the margin of row i, seen at `bound` and not farther than `gone` away, may have come down to tau.
SX_INLINE bool may_reach(float bound, float r, double gone, double tau) {
    return !(double(bound) - double(r) * gone > tau);
}

// A row that was wrong is looked at even if a bound says that it no longer is: the change must be seen. For the
// perceptron's bounds `far` is `reach`, and both distances are that from the anchor.
SX_INLINE bool is_due(const Facts &f, const Ask &q, i64 i) {
    if (f.s && f.s[i] == 0.0) return false;
    return q.every || q.half || (q.mark && f.wrong[i]) ||
           (may_reach(f.reach[i], f.r[i], q.path, q.tau) && may_reach(f.far[i], f.r[i], q.line, q.tau));
}

// The rows of lo … hi-1, counted from lo, that are due.
inline i64 due_in(const Facts &f, const Ask &q, i64 lo, i64 hi, i64 *due) {
    i64 count = 0;
    for (i64 i = lo; i < hi; i++) {
        due[count] = i - lo;
        count += is_due(f, q, i);
    }
    return count;
}

// A group of rows that must be read whole may be left alone if none of lo … hi-1 is due.
inline bool any_due(const Facts &f, const Ask &q, i64 lo, i64 hi) {
    for (i64 i = lo; i < hi; i++)
        if (is_due(f, q, i)) return true;
    return false;
}

// How many rows of lo … hi-1 the perceptron may find wrong within `reach` of their anchor.
inline i64 count_wrong(const Facts &f, i64 lo, i64 hi, double reach) {
    i64 count = 0;
    for (i64 i = lo; i < hi; i++) count += may_reach(f.reach[i], f.r[i], reach, 0.0);
    return count;
}

// A file of rows in the machine's own floats, row 0 of the shard at byte `start`, and room for a block of them.
struct File {
    char *buffer;
    i64 step;  // bytes of a row
    int file;
    i64 start;
};

// Read the rows lo + due_0 … of the shard to places due_0 … of the buffer; rows in between that are near are read along.
// False: not there.
inline bool read_due(const File &p, i64 lo, const i64 *due, i64 count) {
#ifdef _WIN32
    (void)p, (void)lo, (void)due;
    return count == 0;
#else
    for (i64 j = 0; j < count; j++) {
        const i64 first = due[j];
        while (j + 1 < count && (due[j + 1] - due[j] - 1) * p.step <= NEAR) j++;
        const i64 end = (due[j] + 1) * p.step;
        for (i64 at = first * p.step; at < end;) {
            const i64 got = pread(p.file, p.buffer + at, size_t(end - at), p.start + lo * p.step + at);
            if (got <= 0) return false;
            at += got;
        }
    }
    return true;
#endif
}

// ln(1 + exp(x)). It is a number of the trace: no iterate depends on it, so libm's log1p may serve.
inline double softplus(double x) {
    using V = Vector<double>::v;
    const V e = exponential<double>(V{} - __builtin_fabs(x));
    return (x > 0.0 ? x : 0.0) + __builtin_log1p(e[0]);
}

// The due rows of the block lo … hi-1 of the shard, which begins with row `at` of the store: margins, weights, their
// weighted sum added to `sum`, and what is counted. `part` is 0 before and after.
template <class Store>
void look_at(const Store &rows, i64 at, const Facts &f, const Ask &q, i64 lo, const i64 *due, i64 count, double *part,
             double *sum, double *found) {
    const bool infinite = q.gamma == __builtin_inf();
    const double tau = q.half ? __builtin_inf() : q.tau;  // every row pulls
    const Question<double> question = {q.phi, q.gamma, tau, q.shift, infinite, q.half != 0};
    auto sign = [&](i64 k) { return double(f.sign[lo + k]) * q.unit; };
    auto weight = [&](i64 k) { return f.s ? f.s[lo + k] : 1.0; };
    double m[BLOCK], w[BLOCK];
    i64 active[BLOCK];
    const i64 n_active = look(rows, at, due, count, question, sign, weight, m, w, active, part);
    if (n_active) {
        Tree<double>::plus(sum, part, rows.d + 2);
        std::memset(part, 0, sizeof(double) * (rows.d + 2));
    }
    found[S_ACTIVE] += double(n_active);
    found[S_READ] += double(count);
    for (i64 j = 0; j < count; j++) {
        const i64 k = due[j], i = lo + k;
        const bool bad = m[k] <= 0.0;
        if (bad) {
            found[S_ERRORS] += 1.0;
            found[S_LOST] += weight(k);
            if (m[k] == 0.0 && double(i) < found[S_TIE]) found[S_TIE] = double(i);
        }
        const double margin = m[k] == m[k] ? m[k] : -__builtin_inf();  // a margin that is no number is not right
        if (margin < found[S_LOW]) found[S_LOW] = margin;
        if (q.loss && m[k] <= q.tau) found[S_LOSS] += weight(k) * (infinite ? -m[k] : softplus(-q.gamma * m[k]));
        if (q.mark && (f.wrong[i] != 0) != bad) {
            f.wrong[i] = bad;
            found[S_CHANGED] += 1.0;
        }
        if (q.lazy) {
            keep_below(f.reach + i, m[k] + double(f.r[i]) * (q.every ? 0.0 : q.gone));
            if (q.every) f.far[i] = f.reach[i];
        }
    }
}

// Before the first piece of a leaf: no rows, no sum.
inline void clear(double *sum, i64 width, double *found) {
    std::memset(sum, 0, sizeof(double) * width);
    std::memset(found, 0, sizeof(double) * S_COUNTS);
    found[S_LOW] = found[S_TIE] = __builtin_inf();
}

// The leaves between these edges, block by block. A leaf is a run of whole blocks, rows edges[leaf] … edges[leaf+1]-1 of
// the shard; its sum goes to sums[leaf], what is counted to found[leaf]. It may come in pieces, and only the first of
// them begins it. `bring(lo, due, count)` says which row of the store is row lo, or -1 where rows could not be read.
template <class Store, class Bring>
bool pass(const Store &rows, const Facts &f, const Ask &q, const i64 *edges, i64 leaves, bool begin, double *part,
          double *sums, double *found, Bring bring) {
    const i64 width = rows.d + 2;
    i64 due[BLOCK];
    std::memset(part, 0, sizeof(double) * width);
    for (i64 leaf = 0; leaf < leaves; leaf++) {
        double *sum = sums + leaf * width, *counts = found + leaf * S_COUNTS;
        if (begin) clear(sum, width, counts);
        for (i64 lo = edges[leaf]; lo < edges[leaf + 1]; lo += BLOCK) {
            const i64 hi = lo + BLOCK < edges[leaf + 1] ? lo + BLOCK : edges[leaf + 1];
            const i64 count = due_in(f, q, lo, hi, due);
            if (count == 0) continue;
            const i64 at = bring(lo, due, count);
            if (at < 0) return false;
            look_at(rows, at, f, q, lo, due, count, part, sum, counts);
        }
    }
    return true;
}

// The same over a file: only the rows that are due are read, each to its place in the block.
template <class Store>
bool pass_file(const Store &block, const File &file, const Facts &f, const Ask &q, const i64 *edges, i64 leaves,
               double *part, double *sums, double *found) {
    return pass(block, f, q, edges, leaves, true, part, sums, found, [&](i64 lo, const i64 *due, i64 count) {
        return read_due(file, lo, due, count) ? i64(0) : i64(-1);
    });
}

// The perceptron on through rows lo … hi-1 of the shard, in an array whose first is row `first`; n rows in all shards.
// Returns the next row.
template <class Store>
i64 sweep_held(const Store &rows, i64 first, const Facts &f, double *phi, const double *anchor, double unit, Sweep &c,
               i64 n, i64 steps, bool lazy, i64 lo, i64 hi) {
    const Walk<float> walk = {phi, anchor, from(f.reach, lo), nullptr};
    c.position = 0;
    go(rows, lo - first, from(f.r, lo), [&](i64 i) { return double(f.sign[lo + i]) * unit; }, walk, nullptr, c, steps, lazy,
       hi - lo, n, __builtin_inf());
    return lo + c.position;
}

// The same over a file; -1 if a row was not there. Rows that may turn wrong while φ moves by ROOM are read before the
// block is gone through; once φ has moved farther the rest of the block is looked over again.
template <class Store>
i64 sweep_file(const Store &block, const File &file, const Facts &f, double *phi, const double *anchor, double unit,
               Sweep &c, i64 n, i64 steps, bool lazy, i64 lo, i64 hi) {
    const i64 end = c.t + steps;
    i64 due[BLOCK];
    while (lo < hi && c.t < end && c.clean < n) {
        const i64 edge = lo / BLOCK * BLOCK + BLOCK, size = (edge < hi ? edge : hi) - lo;
        double limit = lazy ? reached(c, block.d + 1) + ROOM : __builtin_inf();
        i64 count = 0;
        for (i64 k = 0; k < size; k++) {
            due[count] = k;
            count += !lazy || may_reach(f.reach[lo + k], f.r[lo + k], limit, 0.0);
        }
        if (count == size) limit = __builtin_inf();
        if (!read_due(file, lo, due, count)) return -1;
        const Walk<float> walk = {phi, anchor, from(f.reach, lo), nullptr};
        c.position = 0;
        go(block, 0, from(f.r, lo), [&](i64 i) { return double(f.sign[lo + i]) * unit; }, walk, nullptr, c, end - c.t, lazy,
           size, n, limit);
        lo += c.position;
    }
    return lo;
}

}  // namespace SX_ISA
