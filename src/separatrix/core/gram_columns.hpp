// Columns of G = ZZᵀ: G[j, i] = sign_i (a_iᵀv_j + bias v_jd) with v_j = sign_j (a_j, bias), by rule 2.
//
// Every number G[j, i] has its own eight lanes, so it has the same bits whatever it is computed with. Rows and vectors
// are copied in the order in which they are read: some rows and some vectors at a time (a tile, whose sums stay in
// registers), PANEL columns at a time (so that vectors stay in the cache; between panels the sums wait in memory).
#pragma once

#include "local.hpp"

namespace SX_ISA {
namespace gram {

constexpr i64 PANEL = 256;       // columns of Z taken at a time
constexpr i64 TOGETHER = 32;     // rows whose sums wait in memory: the work of one thread at a time
constexpr i64 VECTORS = 128;     // in one call at most
constexpr i64 ABREAST = 16;      // of them, that sparse rows meet at once
constexpr i64 FEW = 3;           // up to so many rows are read as they are
constexpr int TILE_ROWS = 4, TILE_VECTORS = SX_VECTOR == 64 ? 4 : 3;  // their sums fit in the registers
static_assert(TOGETHER % TILE_ROWS == 0 && PANEL % EIGHT == 0 && VECTORS % ABREAST == 0, "blocks are whole tiles");

// Where columns go: the slots of the table (float64 or float32) and of its float32 copy, where there is one.
struct Into {
    const i64 *slots;
    void *table;
    i64 item;
    float *shorter;
    i64 n;

    // G[j, first + i] = x_i
    void put(i64 j, i64 first, i64 count, const double *x) const {
        const i64 at = slots[j] * n + first;
        if (item == 8) std::memcpy(static_cast<double *>(table) + at, x, sizeof(double) * count);
        else shorten(x, count, static_cast<float *>(table) + at);
        if (shorter) shorten(x, count, shorter + at);
    }
    static void shorten(const double *x, i64 count, float *out) {
        for (i64 i = 0; i < count; i++) out[i] = float(x[i]);
    }
};

// Numbers that one thread works on: rows of a tile, sums of a block.
constexpr i64 ROOM = TILE_ROWS * PANEL + TOGETHER * (VECTORS + TILE_VECTORS) * EIGHT;

SX_INLINE i64 tiles(i64 count, i64 each) { return (count + each - 1) / each; }

// out = the columns lo … hi of M rows, lanes of a register together: [piece][k][row]. Rows from `count` on are 0.
template <int M, class T> void pack(const T *const *x, i64 count, i64 lo, i64 hi, double *out) {
    using W = Width<double>;
    for (int p = 0; p < W::pieces; p++)
        for (i64 k = lo + p * W::each; k < hi; k += W::lanes)
            for (int r = 0; r < M; r++, out += W::each)
                store<double>(out, r < count ? Load<double, T>::at(x[r] + k) : Vector<double>::v{});
}

// sums[piece][row][vector] += Σ_k x_rk v_ck over a panel, lane by lane, k rising.
template <int R, int C> void multiply(const double *x, const double *v, i64 steps, double *sums) {
    using W = Width<double>;
    using V = Vector<double>::v;
    for (int p = 0; p < W::pieces; p++, sums += R * C * W::each) {
        V s[R][C];
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) s[r][c] = load<double>(sums + (r * C + c) * W::each);
        for (i64 k = 0; k < steps; k++, x += R * W::each, v += C * W::each) {
            V b[C];
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) b[c] = load<double>(v + c * W::each);
#pragma GCC unroll 8
            for (int r = 0; r < R; r++)
#pragma GCC unroll 8
                for (int c = 0; c < C; c++) s[r][c] = s[r][c] + load<double>(x + r * W::each) * b[c];
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 8
            for (int c = 0; c < C; c++) store<double>(sums + (r * C + c) * W::each, s[r][c]);
    }
}

// The sum of row r and vector c of a tile, its lanes folded.
template <int R, int C> SX_INLINE double folded(const double *sums, i64 r, i64 c) {
    using W = Width<double>;
    Vector<double>::v s[W::pieces];
    for (int p = 0; p < W::pieces; p++) s[p] = load<double>(sums + ((p * R + r) * C + c) * W::each);
    return fold<double>(s);
}

SX_INLINE double *aligned(double *x) {
    return reinterpret_cast<double *>((reinterpret_cast<uintptr_t>(x) + 63) & ~uintptr_t(63));
}

// Dense rows first … first+TOGETHER against all vectors: panel by panel, then what is behind the last whole eight.
template <class T> struct Tiles {
    static constexpr int R = TILE_ROWS, C = TILE_VECTORS;
    const Dense<double, T> &rows;
    i64 n, count, D, groups;        // groups of C vectors
    const double *sign, *vectors;   // vectors: count x (d + 1)
    double *packed;                 // [panel][group][piece][k][vector]

    double *group(i64 lo, i64 width, i64 c) const { return packed + lo * groups * C + c * width * C; }

    void pack_vectors(i64 c) const {
        const double *at[C] = {};
        for (i64 j = 0; j < C && c * C + j < count; j++) at[j] = vectors + (c * C + j) * (rows.d + 1);
        for (i64 lo = 0; lo < D; lo += PANEL) {
            const i64 hi = D < lo + PANEL ? D : lo + PANEL;
            pack<C>(at, count - c * C, lo, hi, group(lo, hi - lo, c));
        }
    }
    void block(i64 first, double *room, const Into &into) const {
        const i64 some = n - first < TOGETHER ? n - first : TOGETHER, size = R * C * EIGHT;
        double *x = room, *sums = room + R * PANEL;
        std::memset(sums, 0, sizeof(double) * tiles(some, R) * groups * size);
        for (i64 lo = 0; lo < D; lo += PANEL) {
            const i64 width = D - lo < PANEL ? D - lo : PANEL;
            for (i64 t = 0; t < tiles(some, R); t++) {
                const T *at[R] = {};
                for (i64 r = 0; r < R && t * R + r < some; r++) at[r] = rows.row(first + t * R + r);
                pack<R>(at, some - t * R, lo, lo + width, x);
                for (i64 c = 0; c < groups; c++)
                    multiply<R, C>(x, group(lo, width, c), width / EIGHT, sums + (t * groups + c) * size);
            }
        }
        double out[TOGETHER];
        for (i64 j = 0; j < count; j++) {
            const double *v = vectors + j * (rows.d + 1), tail = rows.bias * v[rows.d];
            for (i64 i = 0; i < some; i++) {
                double s = folded<R, C>(sums + (i / R * groups + j / C) * size, i % R, j % C);
                for (i64 k = D; k < rows.d; k++) s = s + double(rows.row(first + i)[k]) * v[k];
                out[i] = sign[first + i] * (s + tail);
            }
            into.put(j, first, some, out);
        }
    }
};

// Sparse rows against ABREAST vectors at once, which lie side by side: V[k][j]. Each has its own eight lanes.
template <class T, class I> struct SideBySide {
    static constexpr int W = ABREAST;
    const Sparse<double, T, I> &rows;
    const double *sign, *V;
    i64 count;

    static SX_INLINE void add(double *s, double x, const double *v) {
        for (int j = 0; j < W; j++) s[j] = s[j] + x * v[j];
    }
    // out_j = sign_i (a_iᵀv_j + bias v_jd)
    void row(i64 i, double *out) const {
        alignas(64) double s[EIGHT][W] = {};
        const i64 D = rows.d / EIGHT * EIGHT;
        I e = rows.starts[i];
        const I end = rows.starts[i + 1];
        for (; e < end && rows.columns[e] < D; e++)
            add(s[rows.columns[e] & (EIGHT - 1)], double(rows.x[e]), V + i64(rows.columns[e]) * W);
        for (int h = EIGHT / 2; h >= 1; h /= 2)
            for (int l = 0; l < h; l++)
                for (int j = 0; j < W; j++) s[l][j] = s[l][j] + s[l + h][j];
        for (; e < end; e++) add(s[0], double(rows.x[e]), V + i64(rows.columns[e]) * W);
        for (int j = 0; j < W; j++) out[j] = sign[i] * (s[0][j] + rows.bias * V[rows.d * W + j]);
    }
    void block(i64 first, i64 at, const Into &into) const {
        const i64 some = into.n - first < TOGETHER ? into.n - first : TOGETHER;
        double out[TOGETHER][W], column[TOGETHER];
        for (i64 i = 0; i < some; i++) row(first + i, out[i]);
        for (i64 j = 0; j < W && at + j < count; j++) {
            for (i64 i = 0; i < some; i++) column[i] = out[i][j];
            into.put(at + j, first, some, column);
        }
    }
};

// Rows against each vector in turn.
template <class Store>
void one_by_one(const Store &rows, i64 first, const double *sign, const double *vectors, i64 count, const Into &into) {
    const i64 some = into.n - first < TOGETHER ? into.n - first : TOGETHER;
    i64 idx[TOGETHER];
    double out[TOGETHER];
    for (i64 i = 0; i < some; i++) idx[i] = i;
    for (i64 j = 0; j < count; j++) {
        rows.dots(first, idx, some, vectors + j * (rows.d + 1), out);
        for (i64 i = 0; i < some; i++) out[i] = sign[first + i] * out[i];
        into.put(j, first, some, out);
    }
}

// v = sign_i (a_i, bias), written out, `apart` numbers from one entry to the next; v was 0.
template <class Store> void write_vector(const Store &rows, const double *sign, i64 i, i64 apart, double *v) {
    rows.entries(i, [&](i64 k, auto x) { v[k * apart] = sign[i] * double(x); });
    v[rows.d * apart] = sign[i] * rows.bias;
}

// The columns of rows idx_0 …: many at once of dense rows,
template <class T>
void many(const Dense<double, T> &rows, const double *sign, const i64 *idx, i64 count, const Into &into,
          double *vectors, double *scratch, i64 threads) {
    constexpr int C = TILE_VECTORS;
    Tiles<T> all = {rows, into.n, count, rows.d / EIGHT * EIGHT, tiles(count, C), sign, vectors, aligned(scratch)};
    double *rooms = all.packed + all.D * all.groups * C;
    share_out(threads, count, [&](i64 j, i64) { write_vector(rows, sign, idx[j], 1, vectors + j * (rows.d + 1)); });
    share_out(threads, all.groups, [&](i64 c, i64) { all.pack_vectors(c); });
    share_out(threads, tiles(into.n, TOGETHER),
              [&](i64 b, i64 lane) { all.block(b * TOGETHER, rooms + lane * ROOM, into); });
}

// of sparse rows,
template <class T, class I>
void many(const Sparse<double, T, I> &rows, const double *sign, const i64 *idx, i64 count, const Into &into,
          double *vectors, double *, i64 threads) {
    const i64 groups = tiles(count, ABREAST), size = ABREAST * (rows.d + 1), blocks = tiles(into.n, TOGETHER);
    share_out(threads, groups, [&](i64 c, i64) {
        std::memset(vectors + c * size, 0, sizeof(double) * size);
        for (i64 j = c * ABREAST; j < count && j < (c + 1) * ABREAST; j++)
            write_vector(rows, sign, idx[j], ABREAST, vectors + c * size + j % ABREAST);
    });
    share_out(threads, groups * blocks, [&](i64 item, i64) {  // one group of vectors after the other
        const i64 c = item / blocks;
        const SideBySide<T, I> some = {rows, sign, vectors + c * size, count};
        some.block(item % blocks * TOGETHER, c * ABREAST, into);
    });
}

// and a few. `vectors` has room for VECTORS vectors of d + 1 numbers, `scratch` for what `columns_room` says.
template <class Store>
void columns(const Store &rows, const double *sign, const i64 *idx, i64 count, const Into &into, double *vectors,
             double *scratch, i64 threads) {
    threads = threads_for(threads, into.n * rows.d);
    if (count > FEW) return many(rows, sign, idx, count, into, vectors, scratch, threads);
    std::memset(vectors, 0, sizeof(double) * count * (rows.d + 1));
    for (i64 j = 0; j < count; j++) write_vector(rows, sign, idx[j], 1, vectors + j * (rows.d + 1));
    share_out(threads, tiles(into.n, TOGETHER),
              [&](i64 b, i64) { one_by_one(rows, b * TOGETHER, sign, vectors, count, into); });
}

// Numbers of scratch for dense rows: every vector, aligned, and the room of each thread.
inline i64 columns_room(i64 d, i64 threads) { return d * (VECTORS + TILE_VECTORS) + EIGHT + threads * ROOM; }

}  // namespace gram
}  // namespace SX_ISA
