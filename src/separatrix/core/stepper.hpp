// The one stepper: evaluate, step, jump. Rows in memory answer its questions here (`local.hpp`); for rows elsewhere it
// ends with the question, and is called again with the answer.
//
//   Φ⁺ = Φ + (γ_t/γ_0) (unit/N) Σ w_i z_i
//
// At γ = ∞ the step is the same while the wrong set is: Φ = base + k step, in one expression, so that the bits do not
// depend on where a stretch was interrupted.
#pragma once

#include "rows.hpp"

namespace SX_ISA {

constexpr i64 FIRST_LOOK = 8;    // steps along a stretch before a look at how long the wrong set will stay; then twice
constexpr i64 WORTH_A_LOOK = 4;  // steps left to make, below which that look costs more than it saves

// x^q for 0 ≤ q ≤ 1: the product of x^(2^-k) over the bits b_k of q = b_0 . b_1 b_2 …, all of it by square roots.
template <class A> A power(A x, double q) {
    if (q >= 1.0) return x;
    A product = 1;
    while (q > 0.0) {
        x = sizeof(A) == 8 ? A(__builtin_sqrt(double(x))) : A(__builtin_sqrtf(float(x)));
        q = 2.0 * q;
        if (q >= 1.0) {
            product = product * x;
            q = q - 1.0;
        }
    }
    return product;
}

// ln of the factor that enlarges all weights, where N has Σw in it and every one of them would underflow.
template <class A> A shift_of(double gamma, double p, double low) {
    const A x = A(gamma) * A(low);
    return p < 1.0 && gamma != __builtin_inf() && x > A(sizeof(A) == 8 ? UNDERFLOW_AT : UNDERFLOW_AT_SHORT) ? x : A(0);
}

// N/n^p = W^(1-p), with W = Σ w_i. Weights enlarged by exp(shift) make Σ w_i z_i / W^(1-p) too large by exp(p shift).
template <class A> A divisor(double gamma, double p, double low, A W) {
    if (p == 1.0 || !(W > 0)) return 1;
    const A N = power(W, 1.0 - p), shift = shift_of<A>(gamma, p, low);
    if (!(shift > 0)) return N;
    const typename Vector<A>::v zero{};
    return N * exponential<A>(zero + A(p) * shift)[0];
}

// step = f unit/N Σ w_i z_i = f W^(p-1) Σ w_i z_i: the plain sum at p = 1, where Φ counts in n-ths, their mean at p = 0.
template <class A> void new_step(Stepper &s) {
    const A *total = static_cast<A *>(s.total);
    A *step = static_cast<A *>(s.step);
    const A N = divisor<A>(s.gamma, s.power, s.low, total[s.D]);
    const A f = s.factors ? A(s.factors[s.t - s.first]) : A(1);  // γ_t/γ_0
    for (i64 k = 0; k < s.D; k++) step[k] = total[k] / N * f;
    std::memcpy(s.base, s.phi, sizeof(A) * s.D);
    s.k = s.safe = 0;
    s.patience = FIRST_LOOK;
    s.stride = norm(step, s.D);
    s.stepped = !s.half;
}

template <class A> void move(Stepper &s, i64 hop) {
    s.k += hop;
    s.t += hop;
    A *phi = static_cast<A *>(s.phi);
    const A *base = static_cast<A *>(s.base), *step = static_cast<A *>(s.step);
    const A k = A(s.k);
    for (i64 j = 0; j < s.D; j++) phi[j] = base[j] + k * step[j];
    const double length = norm(phi, s.D);
    s.length = length > s.length ? length : s.length;
    s.half = s.evaluated = s.changed = s.ready = 0;
}

// A margin is exactly 0 at this iterate, first of all that of `row`: from here on a large γ may go elsewhere than γ = ∞.
template <class Run> SX_INLINE void tied(Run &s, i64 row) {
    if (s.tie_t > 0 || s.t < 1 || row < 0 || s.gamma != __builtin_inf()) return;
    s.tie_t = s.t;
    s.tie_row = row;
}

// Up to update `end`, fewer when `stop` and no row is wrong. `rows` answers evaluate, pull and foresee, or says that it
// cannot, and then that is what this ends with.
template <class A, class Answers> i64 advance(Stepper &s, Answers &rows, i64 end, bool stop) {
    const bool infinite = s.gamma == __builtin_inf();
    for (;;) {
        if (!s.evaluated) {
            const bool foreseen = 1 < s.k && s.k <= s.safe;  // the wrong set is known, and the sum was not asked for
            if (!foreseen && !rows.evaluate(s)) return EVALUATE;
            s.evaluated = 1;
        }
        if (s.t >= end || (stop && s.errors == 0)) return DONE;
        if (infinite && !s.half && s.stepped && !s.changed) {  // the weights are the last step's: go on along it
            if (s.k >= s.safe && s.k >= s.patience && end - s.t > WORTH_A_LOOK) {
                if (!rows.foresee(s)) return FORESEE;
                const double steps = s.horizon - 2.0;
                s.safe = s.k + i64(steps > 0.0 ? (steps < 1e18 ? steps : 1e18) : 0.0);
                s.patience = 2 * s.k;
            }
            const i64 hop = end - s.t < s.safe - s.k ? end - s.t : s.safe - s.k;
            move<A>(s, hop > 1 ? hop : 1);
        } else {
            if (!s.ready && !rows.pull(s)) return PULL;
            s.ready = 1;
            new_step<A>(s);
            move<A>(s, 1);
        }
    }
}

// Who holds the rows elsewhere answers between two calls.
struct Elsewhere {
    static bool heard(Stepper &s) {
        const bool answered = s.answered;
        s.answered = 0;
        return answered;
    }
    bool evaluate(Stepper &s) { return heard(s); }
    bool pull(Stepper &s) { return heard(s); }
    bool foresee(Stepper &s) { return heard(s); }
};

// How often the step can be taken before row i changes sides: margins are linear on the way, m_i + k q_i. Rounding is
// given slack, r_i·off in m and r_i·per_step in q, so a stretch ends early rather than late.
SX_INLINE void nearest(double m, double q, double r, double off, double per_step, double &steps) {
    const double toward = (m <= 0.0 ? q : -q) + per_step * r;
    if (toward > 0.0) {
        const double k = (__builtin_fabs(m) - off * r) / toward;
        if (k < steps) steps = k;
    }
}

}  // namespace SX_ISA
