// Rule 4: exp, the same bits everywhere and at most one unit in the last place off.
//
//   x = k ln 2 + r ,   |r| ≤ ½ ln 2 ,   exp(x) = 2^k (1 + r + r² (1/2! + r/3! + r²/4! + …))
//
// ln 2 is taken in two parts, of which the first has few enough digits that k times it is exact: hi = x - k LN2_HIGH is
// then exact too, lo = k LN2_LOW, r = hi - lo. The sum 1 + (hi - (lo - r² q(r))) rounds at the size of r twice and at
// the size of 1 once.
#pragma once

#include "lanes.hpp"

namespace SX_ISA {

template <class A> struct Exp;
template <> struct Exp<double> {
    static constexpr double least = -746.0, most = 710.0;
    static constexpr double per_ln2 = 0x1.71547652b82fep+0, high = 0x1.62e42fefa3800p-1, low = 0x1.ef35793c76730p-45;
    static constexpr double magic = 0x1.8p52;  // x + magic has x, rounded to a whole number, in its last bits
    static constexpr int64_t magic_bits = 0x4338000000000000, even = 2048, bias = 1023, shift = 52;
    static constexpr int terms = 12;  // 1/2! … 1/13!: what is left out is below 2^-57
    static constexpr double c[terms] = {0x1.0000000000000p-1,  0x1.5555555555555p-3,  0x1.5555555555555p-5,
                                        0x1.1111111111111p-7,  0x1.6c16c16c16c17p-10, 0x1.a01a01a01a01ap-13,
                                        0x1.a01a01a01a01ap-16, 0x1.71de3a556c734p-19, 0x1.27e4fb7789f5cp-22,
                                        0x1.ae64567f544e4p-26, 0x1.1eed8eff8d898p-29, 0x1.6124613a86d09p-33};
};
template <> struct Exp<float> {
    static constexpr float least = -104.0f, most = 89.0f;
    static constexpr float per_ln2 = 0x1.715476p+0f, high = 0x1.62e400p-1f, low = 0x1.7f7d1cp-20f;
    static constexpr float magic = 0x1.8p23f;
    static constexpr int32_t magic_bits = 0x4b400000, even = 512, bias = 127, shift = 23;
    static constexpr int terms = 7;  // 1/2! … 1/8!
    static constexpr float c[terms] = {0x1.000000p-1f,  0x1.555556p-3f,  0x1.555556p-5f, 0x1.111112p-7f,
                                       0x1.6c16c2p-10f, 0x1.a01a02p-13f, 0x1.a01a02p-16f};
};

template <class A> SX_INLINE typename Vector<A>::v exponential(typename Vector<A>::v x) {
    using E = Exp<A>;
    using V = typename Vector<A>::v;
    using I = typename Vector<A>::bits;
    const V zero{};
    x = x < E::least ? zero + E::least : x;
    x = x > E::most ? zero + E::most : x;
    const V t = x * E::per_ln2 + E::magic;
    const V k = t - E::magic;
    const V hi = x - k * E::high, lo = k * E::low;
    const V r = hi - lo;
    V q = zero + E::c[E::terms - 1];
#pragma GCC unroll 12
    for (int i = E::terms - 2; i >= 0; i--) q = q * r + E::c[i];
    const V y = (hi - (lo - r * r * q)) + A(1);
    // 2^k in two factors, so that the smallest results are rounded once and no factor leaves the range.
    const I whole = (I)t - E::magic_bits;
    const I first = ((whole + E::even) >> 1) - E::even / 2;
    const I second = whole - first;
    return y * (V)((first + E::bias) << E::shift) * (V)((second + E::bias) << E::shift);
}

// w = σ(-γm) = 1/(1 + exp(γm)); with a shift exp(shift - γm), the weights' ratios where all of them underflow.
template <class A> SX_INLINE void weights(A gamma, A shift, const A *m, A *w) {
    using W = Width<A>;
    using V = typename Vector<A>::v;
    for (int p = 0; p < W::pieces; p++) {
        const V x = load<A>(m + p * W::each) * gamma;
        V y;
        if (shift > 0)
            y = exponential<A>(shift - x);
        else
            y = A(1) / (exponential<A>(x) + A(1));
        store<A>(w + p * W::each, y);
    }
}

}  // namespace SX_ISA
