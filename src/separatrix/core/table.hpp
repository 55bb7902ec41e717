// The entries that each instruction set has, with one name each in the library.
#pragma once

#include "records.hpp"

#define SX_ENTRIES(X)                                                                                                    \
    X(double, norm, (const double *v, i64 d), (v, d))                                                                    \
    X(double, distance, (const double *a, const double *b, i64 d), (a, b, d))                                            \
    X(void, exponentials, (const double *x, i64 n, double *out), (x, n, out))                                            \
    X(void, row_norms, (const Rows *rows, i64 threads, i64 width, double *r), (rows, threads, width, r))                 \
    X(void, row_margins,                                                                                                 \
      (const Rows *rows, const double *sign, const i64 *idx, i64 count, const double *phi, i64 threads, i64 width,       \
       double *m),                                                                                                       \
      (rows, sign, idx, count, phi, threads, width, m))                                                                  \
    X(void, row_spans,                                                                                                   \
      (const Rows *rows, const i64 *idx, i64 count, const double *phi, i64 threads, i64 width, double *s, double *t,     \
       double *moved),                                                                                                   \
      (rows, idx, count, phi, threads, width, s, t, moved))                                                              \
    X(void, row_sum,                                                                                                     \
      (const Rows *rows, const double *sign, const i64 *idx, i64 count, const double *w, double *parts, double *scratch, \
       i64 *touched, i64 threads, double *out),                                                                          \
      (rows, sign, idx, count, w, parts, scratch, touched, threads, out))                                                \
    X(i64, walk, (Stepper * stepper, Local *local, i64 end, i64 stop, i64 shorter), (stepper, local, end, stop, shorter)) \
    X(void, gradient, (Stepper * stepper, Local *local, i64 shorter), (stepper, local, shorter))                         \
    X(i64, gram_advance, (Gram * g, i64 end, i64 stop), (g, end, stop))                                                  \
    X(i64, gram_evaluate, (Gram * g), (g))                                                                               \
    X(i64, gram_product, (Gram * g), (g))                                                                                \
    X(void, gram_refresh, (Gram * g, const double *phi0, double *phi), (g, phi0, phi))                                   \
    X(i64, gram_sweep, (Gram * g, const i64 *order, i64 ordered, Place *place, i64 end, double *late),                   \
      (g, order, ordered, place, end, late))                                                                             \
    X(i64, gram_room, (i64 d, i64 threads), (d, threads))                                                                \
    X(void, gram_columns,                                                                                                \
      (const Rows *rows, const double *sign, const i64 *idx, i64 count, const i64 *slots, i64 item, void *table,         \
       float *shorter, double *vectors, double *scratch, i64 threads),                                                   \
      (rows, sign, idx, count, slots, item, table, shorter, vectors, scratch, threads))                                  \
    X(double, reached, (const Sweep *at, i64 D), (at, D))                                                                \
    X(void, set_anchor, (Perceptron * each, i64 D), (each, D))                                                           \
    X(void, sweep, (const Rows *rows, Perceptron *each, const i64 *order, i64 steps, i64 lazy),                          \
      (rows, each, order, steps, lazy))                                                                                  \
    X(void, sweep_all,                                                                                                   \
      (const Rows *rows, Perceptron *const *each, i64 count, const i64 *order, i64 lazy, i64 lo, i64 hi, i64 threads),   \
      (rows, each, count, order, lazy, lo, hi, threads))                                                                 \
    X(void, most_wrong,                                                                                                  \
      (const Rows *rows, Perceptron *each, const i64 *every, i64 steps, i64 stop, i64 lazy, i64 threads, i64 width),     \
      (rows, each, every, steps, stop, lazy, threads, width))                                                                  \
    X(void, look_begins, (Bounds * bounds, const double *phi, double length, i64 fresh, i64 lazy),                       \
      (bounds, phi, length, fresh, lazy))                                                                                \
    X(void, look_ends, (Bounds * bounds, const double *phi, i64 read, i64 lazy), (bounds, phi, read, lazy))              \
    X(void, shard_held,                                                                                                  \
      (const Rows *rows, i64 first, const Facts *facts, const Ask *ask, const i64 *edges, i64 leaves, i64 begin,         \
       double *part, double *sums, double *found),                                                                       \
      (rows, first, facts, ask, edges, leaves, begin, part, sums, found))                                                \
    X(i64, shard_file,                                                                                                   \
      (const Rows *block, i64 file, i64 start, const Facts *facts, const Ask *ask, const i64 *edges, i64 leaves,         \
       double *part, double *sums, double *found),                                                                       \
      (block, file, start, facts, ask, edges, leaves, part, sums, found))                                                \
    X(i64, shard_any_due, (const Facts *facts, const Ask *ask, i64 lo, i64 hi), (facts, ask, lo, hi))                    \
    X(i64, shard_count_wrong, (const Facts *facts, i64 lo, i64 hi, double reach), (facts, lo, hi, reach))                \
    X(double, shard_horizon,                                                                                             \
      (const double *m, const double *q, const double *r, i64 n, double off, double per_step), (m, q, r, n, off, per_step)) \
    X(i64, shard_sweep_held,                                                                                             \
      (const Rows *rows, i64 first, const Facts *facts, double *phi, const double *anchor, double unit, Sweep *at, i64 n, \
       i64 steps, i64 lazy, i64 lo, i64 hi),                                                                             \
      (rows, first, facts, phi, anchor, unit, at, n, steps, lazy, lo, hi))                                               \
    X(i64, shard_sweep_file,                                                                                             \
      (const Rows *block, i64 file, i64 start, const Facts *facts, double *phi, const double *anchor, double unit,       \
       Sweep *at, i64 n, i64 steps, i64 lazy, i64 lo, i64 hi),                                                           \
      (block, file, start, facts, phi, anchor, unit, at, n, steps, lazy, lo, hi))

struct Table {
#define X(result, name, parameters, arguments) result(*name) parameters;
    SX_ENTRIES(X)
#undef X
};
