// Everything that touches rows, compiled once per instruction set into a table of entries.
#include "table.hpp"

#include "gram.hpp"
#include "gram_columns.hpp"
#include "local.hpp"
#include "shard.hpp"
#include "sweep.hpp"

namespace SX_ISA {

// f(store) for rows of any kind, in arithmetic A.
template <class A, class F> i64 with_rows(const Rows &rows, F f) {
    if (rows.index == 0) return rows.item == 4 ? f(Dense<A, float>(rows)) : f(Dense<A, double>(rows));
    if (rows.index == 4) return rows.item == 4 ? f(Sparse<A, float, int32_t>(rows)) : f(Sparse<A, double, int32_t>(rows));
    return rows.item == 4 ? f(Sparse<A, float, int64_t>(rows)) : f(Sparse<A, double, int64_t>(rows));
}

static double vector_norm(const double *v, i64 d) { return norm(v, d); }
static double vector_distance(const double *a, const double *b, i64 d) { return distance(a, b, d); }

static void exponentials(const double *x, i64 n, double *out) {
    for (i64 i = 0; i < n; i += Width<double>::each) {
        double in[Width<double>::each] = {}, y[Width<double>::each];
        const i64 some = n - i < Width<double>::each ? n - i : Width<double>::each;
        std::memcpy(in, x + i, sizeof(double) * some);
        store<double>(y, exponential<double>(load<double>(in)));
        std::memcpy(out + i, y, sizeof(double) * some);
    }
}

static void row_norms(const Rows *rows, i64 threads, i64 width, double *r) {
    with_rows<double>(*rows, [&](auto store) {
        share_out(threads_for(threads, rows->n * width), blocks_of(rows->n), [&](i64 b, i64) {
            const i64 hi = (b + 1) * BLOCK < rows->n ? (b + 1) * BLOCK : rows->n;
            for (i64 i = b * BLOCK; i < hi; i++)
                r[i] = norm_from(store.square(i), store.d,
                                 [&](auto f) { store.entries(i, [&](i64 k, auto x) { f(k, double(x)); }); });
        });
        return 0;
    });
}

static void row_margins(const Rows *rows, const double *sign, const i64 *idx, i64 count, const double *phi, i64 threads,
                        i64 width, double *m) {
    with_rows<double>(*rows, [&](auto store) {
        margins(store, idx, count, sign, phi, threads, width, m);
        return 0;
    });
}

static void row_spans(const Rows *rows, const i64 *idx, i64 count, const double *phi, i64 threads, i64 width, double *s,
                      double *t, double *moved) {
    with_rows<double>(*rows, [&](auto store) {
        spans(store, idx, count, phi, threads, width, s, t, moved);
        return 0;
    });
}

static void row_sum(const Rows *rows, const double *sign, const i64 *idx, i64 count, const double *w, double *parts,
                    double *scratch, i64 *touched, i64 threads, double *out) {
    with_rows<double>(*rows, [&](auto store) {
        sum_rows(store, idx, count, sign, w, parts, scratch, touched, threads, rows->n, out);
        return 0;
    });
}

static i64 walk(Stepper *stepper, Local *local, i64 end, i64 stop, i64 shorter) {
    if (local == nullptr) {
        Elsewhere elsewhere;
        return advance<double>(*stepper, elsewhere, end, stop != 0);
    }
    if (shorter) {  // float32 arithmetic, dense rows
        Answers<Dense<float, float>> answers(*local);
        return advance<float>(*stepper, answers, end, stop != 0);
    }
    return with_rows<double>(local->rows, [&](auto store) {
        Answers<decltype(store)> answers(*local);
        return advance<double>(*stepper, answers, end, stop != 0);
    });
}

// Total at this iterate, where it has not been asked for.
static void gradient(Stepper *stepper, Local *local, i64 shorter) {
    if (stepper->ready) return;
    if (shorter) Answers<Dense<float, float>>(*local).pull(*stepper);
    else
        with_rows<double>(local->rows, [&](auto store) {
            Answers<decltype(store)>(*local).pull(*stepper);
            return 0;
        });
    stepper->ready = 1;
}

static i64 gram_advance(Gram *g, i64 end, i64 stop) {
    return with_rows<double>(g->rows, [&](auto store) { return gram::advance(store, *g, end, stop != 0); });
}
static i64 gram_evaluate(Gram *g) { return gram::evaluate(*g); }
static i64 gram_product(Gram *g) {
    return with_rows<double>(g->rows, [&](auto store) { return i64(gram::product(store, *g)); });
}
static void gram_refresh(Gram *g, const double *phi0, double *phi) {
    with_rows<double>(g->rows, [&](auto store) {
        gram::refresh(store, *g, phi0, phi);
        return 0;
    });
}
static i64 gram_sweep(Gram *g, const i64 *order, i64 ordered, Place *place, i64 end, double *late) {
    return gram::sweep(*g, ordered ? order : nullptr, *place, end, late);
}
static i64 gram_room(i64 d, i64 threads) { return gram::columns_room(d, threads); }
static void gram_columns(const Rows *rows, const double *sign, const i64 *idx, i64 count, const i64 *slots, i64 item,
                         void *table, float *shorter, double *vectors, double *scratch, i64 threads) {
    with_rows<double>(*rows, [&](auto store) {
        const gram::Into into = {slots, table, item, shorter, rows->n};
        gram::columns(store, sign, idx, count, into, vectors, scratch, threads);
        return 0;
    });
}

static double sweep_reached(const Sweep *at, i64 D) { return reached(*at, D); }
static void sweep_anchor(Perceptron *each, i64 D) { set_anchor(*each, D); }

static void sweep(const Rows *rows, Perceptron *each, const i64 *order, i64 steps, i64 lazy) {
    with_rows<double>(*rows, [&](auto store) {
        sweep_one(store, *each, order, rows->n, steps, lazy != 0, rows->n);
        if (each->at.position == rows->n) end_sweep(*each, rows->n, rows->d + 1, lazy != 0);
        return 0;
    });
}

static void sweep_several(const Rows *rows, Perceptron *const *each, i64 count, const i64 *order, i64 lazy, i64 lo, i64 hi,
                          i64 threads) {
    with_rows<double>(*rows, [&](auto store) {
        sweep_all(store, each, count, order, rows->n, lazy != 0, lo, hi, threads);
        return 0;
    });
}

static void sweep_most_wrong(const Rows *rows, Perceptron *each, const i64 *every, i64 steps, i64 stop, i64 lazy,
                             i64 threads, i64 width) {
    with_rows<double>(*rows, [&](auto store) {
        most_wrong(store, *each, every, rows->n, steps, stop != 0, lazy != 0, threads, width);
        return 0;
    });
}

static void look_begins(Bounds *bounds, const double *phi, double length, i64 fresh, i64 lazy) {
    begin_look(*bounds, phi, length, fresh != 0, lazy != 0);
}
static void look_ends(Bounds *bounds, const double *phi, i64 read, i64 lazy) { end_look(*bounds, phi, read, lazy != 0); }

// Rows in an array, whose first is row `first` of the shard.
static void shard_held(const Rows *rows, i64 first, const Facts *facts, const Ask *ask, const i64 *edges, i64 leaves,
                       i64 begin, double *part, double *sums, double *found) {
    with_rows<double>(*rows, [&](auto store) {
        return pass(store, *facts, *ask, edges, leaves, begin != 0, part, sums, found,
                    [&](i64 lo, const i64 *, i64) { return lo - first; });
    });
}

// Rows in a file; `block` is where 512 of them can be put. 0: some were not there.
static i64 shard_file(const Rows *block, i64 file, i64 start, const Facts *facts, const Ask *ask, const i64 *edges,
                      i64 leaves, double *part, double *sums, double *found) {
    const File from = {static_cast<char *>(const_cast<void *>(block->x)), block->d * block->item, int(file), start};
    auto through = [&](auto store) {
        return pass_file(store, from, *facts, *ask, edges, leaves, part, sums, found);
    };
    return block->item == 4 ? through(Dense<double, float>(*block)) : through(Dense<double, double>(*block));
}

static i64 shard_any_due(const Facts *facts, const Ask *ask, i64 lo, i64 hi) { return any_due(*facts, *ask, lo, hi); }
static i64 shard_count_wrong(const Facts *facts, i64 lo, i64 hi, double reach) { return count_wrong(*facts, lo, hi, reach); }

// How often a step can be taken before one of these rows changes sides: margins m, q along the step.
static double shard_horizon(const double *m, const double *q, const double *r, i64 n, double off, double per_step) {
    double steps = __builtin_inf();
    for (i64 i = 0; i < n; i++) nearest(m[i], q[i], r[i], off, per_step, steps);
    return steps;
}

// Where the walk has come to in an array whose first row is row `first` of the shard: the next row.
static i64 shard_sweep_held(const Rows *rows, i64 first, const Facts *facts, double *phi, const double *anchor, double unit,
                            Sweep *at, i64 n, i64 steps, i64 lazy, i64 lo, i64 hi) {
    return with_rows<double>(*rows, [&](auto store) {
        return sweep_held(store, first, *facts, phi, anchor, unit, *at, n, steps, lazy != 0, lo, hi);
    });
}

// The same in a file; -1: a row was not there.
static i64 shard_sweep_file(const Rows *block, i64 file, i64 start, const Facts *facts, double *phi, const double *anchor,
                            double unit, Sweep *at, i64 n, i64 steps, i64 lazy, i64 lo, i64 hi) {
    const File from = {static_cast<char *>(const_cast<void *>(block->x)), block->d * block->item, int(file), start};
    auto through = [&](auto store) {
        return sweep_file(store, from, *facts, phi, anchor, unit, *at, n, steps, lazy != 0, lo, hi);
    };
    return block->item == 4 ? through(Dense<double, float>(*block)) : through(Dense<double, double>(*block));
}

extern const Table table;
const Table table = {vector_norm, vector_distance, exponentials, row_norms, row_margins, row_spans, row_sum, walk, gradient,
                     gram_advance, gram_evaluate, gram_product, gram_refresh, gram_sweep, gram_room, gram_columns,
                     sweep_reached, sweep_anchor, sweep, sweep_several, sweep_most_wrong,
                     look_begins, look_ends, shard_held, shard_file, shard_any_due, shard_count_wrong, shard_horizon,
                     shard_sweep_held, shard_sweep_file};

}  // namespace SX_ISA
