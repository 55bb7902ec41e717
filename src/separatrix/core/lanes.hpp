// Vectors eight doubles (or sixteen floats) wide, in as many pieces as the instruction set needs: rules 1, 2 and 4.
//
// This file is compiled once per instruction set, in a namespace of that name. SX_VECTOR is the width in bytes of its
// registers: 16 (baseline, NEON), 32 (AVX2), 64 (AVX-512). Every product and every sum is rounded on its own: the flag
// -ffp-contract=off keeps the compiler from fusing them, and nothing here asks it to. So all of them give the same bits.
#pragma once

#include <cstdint>
#include <cstring>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define SX_INLINE inline __attribute__((always_inline))

namespace SX_ISA {

using i64 = int64_t;

template <class A> struct Vector;
template <> struct Vector<double> {
    typedef double v __attribute__((vector_size(SX_VECTOR)));
    typedef double loose __attribute__((vector_size(SX_VECTOR), aligned(8), may_alias));
    typedef int64_t bits __attribute__((vector_size(SX_VECTOR)));
};
template <> struct Vector<float> {
    typedef float v __attribute__((vector_size(SX_VECTOR)));
    typedef float loose __attribute__((vector_size(SX_VECTOR), aligned(4), may_alias));
    typedef int32_t bits __attribute__((vector_size(SX_VECTOR)));
    typedef float half __attribute__((vector_size(SX_VECTOR / 2), aligned(4), may_alias));
};

template <class A> struct Width {
    static constexpr int lanes = 64 / sizeof(A);          // 8 doubles, 16 floats
    static constexpr int pieces = 64 / SX_VECTOR;         // registers that hold them
    static constexpr int each = SX_VECTOR / sizeof(A);    // lanes in a register
};

// Room for `width` entries, so that the next ones begin where a line of the cache does.
template <class A> SX_INLINE i64 room(i64 width) {
    return (width + Width<A>::lanes - 1) / Width<A>::lanes * Width<A>::lanes;
}

// Entries x_0, x_1, … as lanes of type A: float32 rows become float64, exactly.
template <class A> SX_INLINE typename Vector<A>::v load(const A *x) {
    return *reinterpret_cast<const typename Vector<A>::loose *>(x);
}
template <class A> SX_INLINE Vector<double>::v widen(const float *x) {
    // One instruction of x86, which GCC does not find by itself: it converts entry by entry, or two by two.
#if SX_VECTOR == 64
    return (Vector<double>::v)_mm512_maskz_cvtps_pd(0xff, _mm256_loadu_ps(x));
#elif SX_VECTOR == 32
    return (Vector<double>::v)_mm256_cvtps_pd(_mm_loadu_ps(x));
#elif defined __SSE2__
    return (Vector<double>::v)_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i *>(x))));
#else
    return __builtin_convertvector(*reinterpret_cast<const Vector<float>::half *>(x), Vector<double>::v);
#endif
}
template <class A, class T> struct Load {
    static SX_INLINE typename Vector<A>::v at(const T *x) { return load<A>(x); }
};
template <> struct Load<double, float> {
    static SX_INLINE Vector<double>::v at(const float *x) { return widen<double>(x); }
};
template <class A> SX_INLINE void store(A *x, typename Vector<A>::v v) {
    *reinterpret_cast<typename Vector<A>::loose *>(x) = v;
}

// ((s0+s4)+(s2+s6)) + ((s1+s5)+(s3+s7)), and the same with one more halving for sixteen lanes.
template <class A> SX_INLINE A fold(const A *s) {
    constexpr int n = Width<A>::lanes;
    A t[n / 2];
    for (int l = 0; l < n / 2; l++) t[l] = s[l] + s[l + n / 2];
    for (int h = n / 4; h >= 1; h /= 2)
        for (int l = 0; l < h; l++) t[l] = t[l] + t[l + h];
    return t[0];
}
// The same of lanes in registers, halved there.
template <class A, int n> struct Halves {
    typedef A v __attribute__((vector_size(n * sizeof(A))));
    static SX_INLINE A fold(v s) {
        typename Halves<A, n / 2>::v low, high;
        std::memcpy(&low, &s, sizeof(low));
        std::memcpy(&high, reinterpret_cast<const char *>(&s) + sizeof(low), sizeof(low));
        return Halves<A, n / 2>::fold(low + high);
    }
};
template <class A> struct Halves<A, 1> {
    typedef A v;
    static SX_INLINE A fold(A s) { return s; }
};
template <class A> SX_INLINE A fold(const typename Vector<A>::v *s) {
    typename Vector<A>::v t[Width<A>::pieces];
    for (int p = 0; p < Width<A>::pieces; p++) t[p] = s[p];
#pragma GCC unroll 8
    for (int h = Width<A>::pieces / 2; h >= 1; h /= 2)
#pragma GCC unroll 8
        for (int p = 0; p < h; p++) t[p] = t[p] + t[p + h];
    return Halves<A, Width<A>::each>::fold(t[0]);
}

// The cache that rows are fetched to before they are asked for. The first has room for float32 beside the rows at hand
// (5 to 10 % faster there); where AVX2 turns them into float64 the second is as fast.
template <class A, class T> constexpr int CACHE = sizeof(T) == 4 && (sizeof(A) == 4 || SX_VECTOR != 32) ? 3 : 2;

// out_r = Σ_k x_rk v_k of M rows at once: v is loaded once for all of them, and each row has the bits it has alone. The
// M rows that come next are fetched meanwhile, line by line, where they are known (1.2 to 1.9 times as fast where rows
// come from the third cache).
template <int M, bool AHEAD = false, class A, class T>
SX_INLINE void dot(const T *const *x, const A *v, i64 d, A *out, const T *const *next = nullptr) {
    using W = Width<A>;
    using V = typename Vector<A>::v;
    V s[M][W::pieces];
    for (int r = 0; r < M; r++)
        for (int p = 0; p < W::pieces; p++) s[r][p] = V{};
    const i64 D = d / W::lanes * W::lanes;
    for (i64 k = 0; k < D; k += W::lanes) {
        if constexpr (AHEAD)
            for (int r = 0; r < M; r++) __builtin_prefetch(next[r] + k, 0, (CACHE<A, T>));
#pragma GCC unroll 8
        for (int p = 0; p < W::pieces; p++) {
            const V b = load<A>(v + k + p * W::each);
#pragma GCC unroll 8
            for (int r = 0; r < M; r++) s[r][p] = s[r][p] + Load<A, T>::at(x[r] + k + p * W::each) * b;
        }
    }
    for (int r = 0; r < M; r++) {
        A t = fold<A>(s[r]);
        for (i64 k = D; k < d; k++) t = t + A(x[r][k]) * v[k];
        out[r] = t;
    }
}

// |x|, and |x| where its significand has more than 32 bits, else 0: the entries that were rounded on their way here.
SX_INLINE Vector<double>::v magnitude(Vector<double>::v x) {
    using V = Vector<double>;
    return (V::v)((V::bits)x & 0x7fffffffffffffff);
}
SX_INLINE Vector<double>::v if_rounded(Vector<double>::v size) {
    using V = Vector<double>;
    const V::v lifted = size * 0x1p54;  // below the normal range the leading bit is not where it is above
    const V::bits bits = size < 0x1p-1022 ? (V::bits)lifted : (V::bits)size;
    return (V::v)((V::bits)size & ((bits & 0x1fffff) != 0));
}
SX_INLINE double if_rounded(double size) {
    const double lifted = size < 0x1p-1022 ? size * 0x1p54 : size;
    uint64_t bits;
    std::memcpy(&bits, &lifted, 8);
    return bits & 0x1fffff ? size : 0.0;
}

// Of M rows at once s_r = Σ x_rk v_k, which has the bits that `dot` gives it, t_r = Σ |x_rk v_k|, and with MOVED also
// c_r = Σ |x_rk v_k| over the entries that were rounded.
template <int M, bool MOVED, class T>
SX_INLINE void span(const T *const *x, const double *v, i64 d, double *s, double *t, double *c) {
    using W = Width<double>;
    using V = Vector<double>::v;
    V sum[M][W::pieces], size[M][W::pieces], moved[M][W::pieces];
    for (int r = 0; r < M; r++)
        for (int p = 0; p < W::pieces; p++) sum[r][p] = size[r][p] = moved[r][p] = V{};
    const i64 D = d / W::lanes * W::lanes;
    for (i64 k = 0; k < D; k += W::lanes) {
#pragma GCC unroll 8
        for (int p = 0; p < W::pieces; p++) {
            const V b = load<double>(v + k + p * W::each);
#pragma GCC unroll 8
            for (int r = 0; r < M; r++) {
                const V a = Load<double, T>::at(x[r] + k + p * W::each), product = a * b;
                sum[r][p] = sum[r][p] + product;
                size[r][p] = size[r][p] + magnitude(product);
                if constexpr (MOVED) moved[r][p] = moved[r][p] + if_rounded(magnitude(a)) * magnitude(b);
            }
        }
    }
    for (int r = 0; r < M; r++) {
        double a = fold<double>(sum[r]), b = fold<double>(size[r]), e = fold<double>(moved[r]);
        for (i64 k = D; k < d; k++) {
            const double product = double(x[r][k]) * v[k];
            a = a + product;
            b = b + __builtin_fabs(product);
            if constexpr (MOVED) e = e + if_rounded(__builtin_fabs(double(x[r][k]))) * __builtin_fabs(v[k]);
        }
        s[r] = a;
        t[r] = b;
        if constexpr (MOVED) c[r] = e;
    }
}

// out += c_0 x_0 + c_1 x_1 + …, the M rows added in this order; entries do not meet, so their lanes do not matter.
template <int M, class A, class T> SX_INLINE void add(const A *c, const T *const *x, i64 d, A *out) {
    using W = Width<A>;
    using V = typename Vector<A>::v;
    i64 k = 0;
    for (; k + W::each <= d; k += W::each) {
        V o = load<A>(out + k);
#pragma GCC unroll 8
        for (int r = 0; r < M; r++) o = o + Load<A, T>::at(x[r] + k) * c[r];
        store<A>(out + k, o);
    }
    for (; k < d; k++) {
        A o = out[k];
        for (int r = 0; r < M; r++) o = o + A(x[r][k]) * c[r];
        out[k] = o;
    }
}

// 2^e for |e| below the exponent's bias, by its bits.
SX_INLINE double power(i64 e) {
    const uint64_t bits = uint64_t(e + 1023) << 52;
    double x;
    std::memcpy(&x, &bits, 8);
    return x;
}
// x 2^e, rounded once: the first factor leaves normal numbers normal.
SX_INLINE double scaled(double x, i64 e) { return x * power(e / 2) * power(e - e / 2); }

}  // namespace SX_ISA
