// Rows in, dot products and sums out: the only loops that touch the data (rules 1, 2, 3 and 5).
//
// `Dense` and `Sparse` have the same questions: dots (a_iᵀφ + bias φ_d of some rows), add (out += Σ c_i (a_i, bias), in
// this order), square (‖a_i‖² in a power of two's units). A sparse row goes by column number, lane by lane, so it has
// the bits of its dense copy: entries that are not there would add 0.
#pragma once

#include "exp.hpp"
#include "lanes.hpp"
#include "records.hpp"

namespace SX_ISA {

constexpr int EIGHT = 8;  // rows that are added at once
constexpr int COMING = 4;  // rows that are fetched before they are asked for

template <class A_, class T> struct Dense {
    using A = A_;
    static constexpr bool sparse = false;
    const T *x;
    i64 d;
    A bias;

    explicit Dense(const Rows &rows) : x(static_cast<const T *>(rows.x)), d(rows.d), bias(A(rows.bias)) {}
    const T *row(i64 i) const { return x + i * d; }

    // out_j = a_iᵀφ + bias φ_d for i = first + idx_j, j < count; the rows up to idx_soon will be asked for next
    void dots(i64 first, const i64 *idx, i64 count, const A *phi, A *out, i64 soon = 0) const {
        constexpr int M = SX_VECTOR == 16 ? 2 : 4;  // accumulators fit in the registers
        const A tail = bias * phi[d];
        i64 j = 0;
        for (; j + M <= count; j += M) {
            const T *at[M];
            for (int r = 0; r < M; r++) at[r] = row(first + idx[j + r]);
            if (j + COMING + M <= soon) {
                const T *next[M];
                for (int r = 0; r < M; r++) next[r] = row(first + idx[j + COMING + r]);
                dot<M, true>(at, phi, d, out + j, next);
            } else {
                dot<M>(at, phi, d, out + j);
            }
        }
        for (; j < count; j++) {
            const T *at[1] = {row(first + idx[j])};
            dot<1>(at, phi, d, out + j);
        }
        for (j = 0; j < count; j++) out[j] = out[j] + tail;
    }

    // s_j = a_iᵀφ + bias φ_d, t_j = Σ|a_ik φ_k| + |bias φ_d| and, with MOVED, c_j = Σ|a_ik φ_k| over rounded entries
    template <bool MOVED> void spans(const i64 *idx, i64 count, const double *phi, double *s, double *t, double *c) const {
        constexpr int M = SX_VECTOR == 64 ? 4 : SX_VECTOR == 32 ? 2 : 1;  // accumulators fit in the registers
        const double tail = bias * phi[d];
        i64 j = 0;
        for (; j + M <= count; j += M) {
            const T *at[M];
            for (int r = 0; r < M; r++) at[r] = row(idx[j + r]);
            span<M, MOVED>(at, phi, d, s + j, t + j, MOVED ? c + j : nullptr);
        }
        for (; j < count; j++) {
            const T *at[1] = {row(idx[j])};
            span<1, MOVED>(at, phi, d, s + j, t + j, MOVED ? c + j : nullptr);
        }
        for (j = 0; j < count; j++) {
            s[j] = s[j] + tail;
            t[j] = t[j] + __builtin_fabs(tail);
        }
    }

    // out += Σ c_j (a_i, bias) for i = first + idx_j, j < count ≤ 8
    void add_rows(i64 first, const i64 *idx, const A *c, i64 count, A *out) const {
        const T *at[EIGHT];
        for (i64 j = 0; j < count; j++) at[j] = row(first + idx[j]);
        if (count == EIGHT) {
            add<EIGHT>(c, at, d, out);
        } else {
            i64 j = 0;
            if (count - j >= 4) { add<4>(c + j, at + j, d, out); j += 4; }
            if (count - j >= 2) { add<2>(c + j, at + j, d, out); j += 2; }
            if (count - j >= 1) add<1>(c + j, at + j, d, out);
        }
        for (i64 j = 0; j < count; j++) out[d] = out[d] + c[j] * bias;
    }

    template <class F> void entries(i64 i, F f) const {
        const T *a = row(i);
        for (i64 k = 0; k < d; k++) f(k, a[k]);
    }
    A square(i64 i) const {
        const T *a = row(i);
        alignas(64) A s[Width<A>::lanes] = {};
        const i64 D = d / Width<A>::lanes * Width<A>::lanes;
        for (i64 k = 0; k < D; k += Width<A>::lanes)
            for (int l = 0; l < Width<A>::lanes; l++) s[l] = s[l] + A(a[k + l]) * A(a[k + l]);
        A t = fold<A>(s);
        for (i64 k = D; k < d; k++) t = t + A(a[k]) * A(a[k]);
        return t;
    }
};

template <class A_, class T, class I> struct Sparse {
    using A = A_;
    static constexpr bool sparse = true;
    const T *x;
    const I *columns, *starts;
    i64 d;
    A bias;

    explicit Sparse(const Rows &rows)
        : x(static_cast<const T *>(rows.x)),
          columns(static_cast<const I *>(rows.columns)),
          starts(static_cast<const I *>(rows.starts)),
          d(rows.d),
          bias(A(rows.bias)) {}

    template <class F> A lanes(i64 i, F f) const {
        constexpr int n = Width<A>::lanes;
        alignas(64) A s[n] = {};
        const i64 D = d / n * n;
        I e = starts[i];
        const I end = starts[i + 1];
        for (; e < end && columns[e] < D; e++) s[columns[e] & (n - 1)] = s[columns[e] & (n - 1)] + f(e);
        A t = fold<A>(s);
        for (; e < end; e++) t = t + f(e);
        return t;
    }
    void dots(i64 first, const i64 *idx, i64 count, const A *phi, A *out, i64 = 0) const {
        const A tail = bias * phi[d];
        for (i64 j = 0; j < count; j++)
            out[j] = lanes(first + idx[j], [&](I e) { return A(x[e]) * phi[columns[e]]; }) + tail;
    }
    template <bool MOVED> void spans(const i64 *idx, i64 count, const double *phi, double *s, double *t, double *c) const {
        const double tail = bias * phi[d];
        for (i64 j = 0; j < count; j++) {
            s[j] = lanes(idx[j], [&](I e) { return double(x[e]) * phi[columns[e]]; }) + tail;
            t[j] = lanes(idx[j], [&](I e) { return __builtin_fabs(double(x[e]) * phi[columns[e]]); }) + __builtin_fabs(tail);
            if constexpr (MOVED)
                c[j] = lanes(idx[j], [&](I e) {
                    return if_rounded(__builtin_fabs(double(x[e]))) * __builtin_fabs(phi[columns[e]]);
                });
        }
    }
    void add_rows(i64 first, const i64 *idx, const A *c, i64 count, A *out) const {
        for (i64 j = 0; j < count; j++) {
            const i64 i = first + idx[j];
            for (I e = starts[i]; e < starts[i + 1]; e++) out[columns[e]] = out[columns[e]] + c[j] * A(x[e]);
            out[d] = out[d] + c[j] * bias;
        }
    }
    template <class F> void entries(i64 i, F f) const {
        for (I e = starts[i]; e < starts[i + 1]; e++) f(i64(columns[e]), x[e]);
    }
    A square(i64 i) const {
        return lanes(i, [&](I e) { return A(x[e]) * A(x[e]); });
    }
};

// Σ x_k v_k and Σ (x_k - v_k)² of two vectors, by rule 2.
template <class A> SX_INLINE A inner(const A *x, const A *v, i64 d) {
    const A *at[1] = {x};
    A out;
    dot<1>(at, v, d, &out);
    return out;
}
template <class A> SX_INLINE double distance(const A *a, const A *b, i64 d) {
    using W = Width<A>;
    using V = typename Vector<A>::v;
    V s[W::pieces];
    for (int p = 0; p < W::pieces; p++) s[p] = V{};
    const i64 D = d / W::lanes * W::lanes;
    for (i64 k = 0; k < D; k += W::lanes)
        for (int p = 0; p < W::pieces; p++) {
            const V x = load<A>(a + k + p * W::each) - load<A>(b + k + p * W::each);
            s[p] = s[p] + x * x;
        }
    A t = fold<A>(s);
    for (i64 k = D; k < d; k++) t = t + (a[k] - b[k]) * (a[k] - b[k]);
    return __builtin_sqrt(double(t));
}

// The exponent e of a finite x ≠ 0: 2^(e-1) ≤ |x| < 2^e.
SX_INLINE i64 exponent(double x) {
    i64 extra = 0;
    if (__builtin_fabs(x) < 0x1p-1022) {
        x *= 0x1p54;
        extra = 54;
    }
    uint64_t bits;
    std::memcpy(&bits, &x, 8);
    return i64((bits >> 52) & 0x7ff) - 1022 - extra;
}

constexpr double SQUARE_LEAST = 1e-290, SQUARE_MOST = 1e290;  // squares between these have lost no digits

// √Σ x_k² where the plain sum of squares is `s`: again in units of a power of two where that may have left float64.
// `each` calls a function with every (column, entry).
template <class F> double norm_from(double s, i64 d, F each) {
    if (SQUARE_LEAST < s && s < SQUARE_MOST) return __builtin_sqrt(s);
    double big = 0.0;
    bool finite = true;
    each([&](i64, double x) {
        x = __builtin_fabs(x);
        finite = finite && x < __builtin_inf();
        if (!(x <= big)) big = x;
    });
    if (!finite) return s != s ? s : __builtin_inf();
    if (big == 0.0) return 0.0;
    const i64 e = exponent(big), D = d / 8 * 8;
    alignas(64) double lane[8] = {};
    double tail[8];
    i64 more = 0;
    each([&](i64 k, double x) {
        x = scaled(x, -e);
        if (k < D) lane[k & 7] = lane[k & 7] + x * x;
        else tail[more++] = x * x;
    });
    double t = fold<double>(lane);
    for (i64 k = 0; k < more; k++) t = t + tail[k];
    return scaled(__builtin_sqrt(t), e);
}

// ‖v‖ of a vector.
template <class A> double norm(const A *v, i64 d) {
    return norm_from(double(inner(v, v, d)), d, [&](auto f) {
        for (i64 k = 0; k < d; k++) f(k, double(v[k]));
    });
}

// The canonical sum of blocks: 64 blocks to a group, 64 groups to a group of the next level, and so on.
// Blocks come in rising order; those that would add 0 may be left out.
template <class A> struct Tree {
    A *sum;  // (LEVELS + 1) x width
    i64 width, at[LEVELS + 1];

    Tree(A *scratch, i64 width_) : sum(scratch), width(width_) {
        std::memset(scratch, 0, sizeof(A) * (LEVELS + 1) * width);
        for (i64 &number : at) number = -1;
    }
    static void plus(A *out, const A *v, i64 width) {
        i64 k = 0;
        for (; k + Width<A>::each <= width; k += Width<A>::each) store<A>(out + k, load<A>(out + k) + load<A>(v + k));
        for (; k < width; k++) out[k] = out[k] + v[k];
    }
    void close(i64 g) {  // add the open group of level g to the one that holds it
        at[g + 1] = at[g] / GROUP;
        at[g] = -1;
        plus(sum + (g + 1) * width, sum + g * width, width);
        std::memset(sum + g * width, 0, sizeof(A) * width);
    }
    A *open(i64 number) {  // where block `number` is to be added
        i64 holder = number;
        for (i64 g = 1; g < LEVELS; g++) {
            holder /= GROUP;
            if (at[g] >= 0 && at[g] != holder) close(g);
        }
        at[1] = number / GROUP;
        return sum + width;
    }
    void put(i64 number, const A *v) { plus(open(number), v, width); }
    void finish(A *out) {
        for (i64 g = 1; g < LEVELS; g++)
            if (at[g] >= 0) close(g);
        std::memcpy(out, sum + LEVELS * width, sizeof(A) * width);
    }
};

}  // namespace SX_ISA
