// An iterate that comes back bit for bit. The next one is a function of it alone and the arithmetic has no noise, so the
// run then repeats itself for ever.
//
// Brent's search (BIT 20, 1980): one iterate is kept, the mark, and every later one is compared with it, until after 1,
// 2, 4, … of them the mark is renewed. The first that equals it is the mark's first return: the period is the least.
#pragma once

#include <cstring>

#include "lanes.hpp"
#include "records.hpp"

namespace SX_ISA {

// Whether Φ, iterate t, is the mark again. Most iterates differ from it in their first entry.
template <class A> SX_INLINE bool came_back(Watch &w, const A *phi, i64 D, i64 t) {
    if (!w.on || w.period) return false;
    if (w.since > 0 && t > w.mark_t && !std::memcmp(w.mark, phi, sizeof(A)) && !std::memcmp(w.mark, phi, sizeof(A) * D)) {
        w.period = t - w.mark_t;
        return true;
    }
    if (w.since == w.until) {
        std::memcpy(w.mark, phi, sizeof(A) * D);
        w.mark_t = t;
        w.until = w.until ? 2 * w.until : 1;
        w.since = 0;
    }
    w.since++;
    return false;
}

// Φ, iterate t, is the one before it, and so are all to come.
template <class A> void stays(Watch &w, const A *phi, i64 D, i64 t) {
    std::memcpy(w.mark, phi, sizeof(A) * D);
    w.mark_t = t - 1;
    w.period = 1;
}

// Nothing that came before counts: no row was wrong here.
SX_INLINE void forget(Watch &w) { w.since = w.until = 0; }

}  // namespace SX_ISA
