// One run of the compiled core without Python, for machines that are only emulated here (`check-elsewhere`).
//
//   driver RUN ANSWER [instruction set]
//
// RUN, little-endian, every array filled up to eight bytes: the record `Run` below; the rows (CSR: entries, columns,
// starts); sign, sample weight and norm of every row. Φ_0 is 0.
// ANSWER: the record `Answer`; Φ in float64; the norms ‖a_i‖; the margins z_iᵀΦ.
//
// It drives the core as the engines in src/separatrix/walking/engines do.
#include <cstdio>
#include <cstring>
#include <vector>

#include "table.hpp"

#define X(result, name, parameters, arguments) extern "C" result sx_##name parameters;
SX_ENTRIES(X)
#undef X
extern "C" i64 sx_serve(const char *name);

namespace {

// Leave the processor as another library may: rounding upward, small numbers flushed to zero. The core must not mind;
// nothing else here rounds.
void spoil() {
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0xc040);
#elif defined(__aarch64__)
    uint64_t fpcr;
    __asm__ volatile("mrs %0, fpcr" : "=r"(fpcr));
    __asm__ volatile("msr fpcr, %0" : : "r"(fpcr | 0x1400000));
#endif
}

constexpr i64 AT_ONCE = 128;  // columns of G, as in core/gram.py
enum Engine { BATCH, SWEEP, MOST_WRONG, GRAM, GRAM_SWEEP };  // sweeps are cyclic

struct Run {
    i64 engine;
    i64 n, d, stored;  // rows, columns, entries that are stored
    i64 item, index;   // bytes of an entry; of a column number, 0: dense
    i64 width;         // entries read per row
    double bias, gamma, cut, power;
    i64 lazy, shorter, threads;
    i64 stop, end, piece;  // stop at separation; updates to make at most, so many in one call
    i64 products;          // that the gram engine remembers
    double longest, column_error, product_error, tiny;
};

struct Answer {
    i64 t, errors, read;  // updates made, wrong rows, rows read
};

template <class T> using Array = std::vector<T>;

// What RUN has, and room for what every engine needs.
struct Input {
    Run run;
    Rows rows;
    Signs signs;
    Array<uint64_t> bytes;
    Array<i64> every, touched;
    Array<double> parts, scratch, total;

    explicit Input(const char *path) {
        std::FILE *file = std::fopen(path, "rb");
        for (uint64_t word; file && std::fread(&word, 8, 1, file) == 1;) bytes.push_back(word);
        if (file) std::fclose(file);
        bytes.resize(bytes.size() + sizeof(Run) / 8);
        std::memcpy(&run, bytes.data(), sizeof(Run));
        const uint64_t *at = bytes.data() + sizeof(Run) / 8;
        auto take = [&](i64 count, i64 item) {
            const uint64_t *found = at;
            at += (count * item + 7) / 8;
            return found;
        };
        const i64 n = run.n, d = run.d;
        rows = Rows{};
        rows.x = take(run.stored, run.item);
        if (run.index) {
            rows.columns = take(run.stored, run.index);
            rows.starts = take(n + 1, run.index);
        }
        rows.n = n, rows.d = d, rows.item = run.item, rows.index = run.index, rows.bias = run.bias;
        signs.sign = reinterpret_cast<const double *>(take(n, 8));
        signs.s = reinterpret_cast<const double *>(take(n, 8));
        signs.r = reinterpret_cast<const double *>(take(n, 8));
        for (i64 i = 0; i < n; i++) every.push_back(i);
        touched.resize(2 * d);
        parts.resize(blocks() * (d + 2 + 8));
        scratch.resize((LEVELS + 2) * (d + 2));
        total.resize(d + 2);
    }
    i64 blocks() const { return (run.n + BLOCK - 1) / BLOCK; }

    // z_iᵀΦ by direct products, and the smallest of those that count.
    Array<double> margins(const double *phi) const {
        Array<double> m(run.n);
        sx_row_margins(&rows, signs.sign, every.data(), run.n, phi, run.threads, run.width, m.data());
        return m;
    }
    double lowest(const double *phi) const {
        const Array<double> m = margins(phi);
        double low = __builtin_inf();
        for (i64 i = 0; i < run.n; i++)
            if (signs.s[i] > 0.0 && !(m[i] >= low)) low = m[i];
        return low;
    }
    i64 upto(i64 t) const { return run.end - t < run.piece ? run.end : t + run.piece; }
};

i64 wrong(const Input &in, const double *phi) {
    i64 count = 0;
    for (double margin : in.margins(phi)) count += margin <= 0.0;
    return count;
}

// The batch methods by direct products.
template <class A> Answer batch(Input &in, Array<double> &out) {
    const Run &run = in.run;
    const i64 n = run.n, D = run.d + 1, blocks = in.blocks();
    Array<A> phi(D), base(D), step(D), total(D + 1), m(n), w(n);
    Array<A> parts(blocks * (D + 1 + 16)), scratch((LEVELS + 2) * (D + 1));
    Array<double> reach(n), far(n), found(blocks * F_COUNTS), anchor(D), last(D);
    Array<i64> due(n), active(n), n_due(blocks), n_active(blocks);
    Array<unsigned char> valid(blocks);
    Stepper s = {};
    s.half = run.gamma == __builtin_inf();
    s.phi = phi.data(), s.base = base.data(), s.step = step.data(), s.total = total.data();
    s.D = D, s.gamma = run.gamma, s.power = run.power;
    Local e = {};
    e.rows = in.rows, e.signs = in.signs;
    e.bounds.anchor = anchor.data(), e.bounds.last = last.data(), e.bounds.D = D, e.bounds.n = n;
    e.m = m.data(), e.w = w.data(), e.reach = reach.data(), e.far = far.data();
    e.due = due.data(), e.active = active.data(), e.n_due = n_due.data(), e.n_active = n_active.data();
    e.parts = run.index ? nullptr : parts.data();
    e.valid = valid.data(), e.found = found.data(), e.scratch = scratch.data(), e.touched = in.touched.data();
    e.cut = run.cut, e.threads = run.threads, e.lazy = run.lazy, e.width = run.width;
    for (;;) {
        sx_walk(&s, &e, in.upto(s.t), run.stop, run.shorter);
        if (run.stop && s.errors == 0) {  // is every row right?
            s.evaluated = s.safe = e.bounds.anchored = 0;
            sx_walk(&s, &e, s.t, 0, run.shorter);
            if (s.errors == 0) break;
        }
        if (s.t >= run.end) break;
    }
    out.assign(phi.begin(), phi.end());
    return {s.t, s.errors, e.rows_read};
}

// The batch methods and the perceptron in margin space, with room for every column of G.
Answer gram(Input &in, Array<double> &out) {
    const Run &run = in.run;
    const i64 n = run.n, D = run.d + 1, H = run.products, words = (n + 63) / 64;
    const bool finite = run.gamma != __builtin_inf();
    Array<double> phi0(D), m(n), coef(n), w(n), base_m(n), base_coef(n), delta(n), old_w(H * n), old_q(H * n), drift(H);
    Array<double> table(n * n), vectors(AT_ONCE * D), room(sx_gram_room(run.d, run.threads));
    Array<float> shorter(finite ? n * n : 0);
    Array<uint64_t> bits(words), old_bits(H * words);
    Array<i64> active(n), slot(n, -1), used(n, -1), misses(n), enough(n, 2), need(n), slots(n);
    Gram g = {};
    g.rows = in.rows, g.signs = in.signs;
    g.m = m.data(), g.coef = coef.data(), g.w = w.data(), g.base_m = base_m.data(), g.base_coef = base_coef.data();
    g.active = active.data(), g.bits = bits.data(), g.old_w = old_w.data(), g.old_q = old_q.data();
    g.old_bits = old_bits.data(), g.old_drift = drift.data(), g.table = table.data();
    g.shorter = finite ? shorter.data() : nullptr;
    g.slot = slot.data(), g.used = used.data(), g.misses = misses.data(), g.enough = enough.data();
    g.need = need.data(), g.delta = delta.data(), g.every = in.every.data();
    g.parts = in.parts.data(), g.scratch = in.scratch.data(), g.total = in.total.data(), g.touched = in.touched.data();
    g.gamma = run.gamma, g.cut = run.cut, g.power = run.power;
    g.n = n, g.H = H, g.item = 8, g.threads = run.threads, g.width = run.width;
    g.near = g.stretch = -1;
    g.longest = run.longest, g.column_error = run.column_error, g.product_error = run.product_error, g.tiny = run.tiny;
    out.resize(D);
    i64 held = 0;
    auto refresh = [&] { sx_gram_refresh(&g, phi0.data(), out.data()); };
    auto columns = [&](i64 count) {  // those that were asked for, into the next slots
        for (i64 j = 0; j < count; j++) used[held + j] = g.t, slots[j] = held + j;
        for (i64 j = 0; j < count; j += AT_ONCE)
            sx_gram_columns(&in.rows, in.signs.sign, &need[j], count - j < AT_ONCE ? count - j : AT_ONCE, &slots[j], 8,
                            table.data(), g.shorter, vectors.data(), room.data(), run.threads);
        for (i64 j = 0; j < count; j++) slot[need[j]] = held + j;
        held += count;
    };
    auto advance = [&](i64 end, i64 stop) {
        for (i64 said; (said = sx_gram_advance(&g, end, stop)) != FINISHED;)
            said == COLUMNS ? columns(g.n_need) : refresh();
    };
    auto vector = [&] {  // Φ from its coefficients
        Array<i64> idx;
        for (i64 i = 0; i < n; i++)
            if (coef[i] != 0.0) idx.push_back(i);
        sx_row_sum(&in.rows, in.signs.sign, idx.data(), i64(idx.size()), coef.data(), g.parts, g.scratch, g.touched,
                   run.threads, g.total);
        for (i64 k = 0; k < D; k++) out[k] = in.total[k];
    };
    refresh();
    g.half = !finite && run.engine == GRAM;
    Place place = {};
    i64 doubted_at = -1;
    while (run.engine == GRAM_SWEEP) {
        const i64 end = in.upto(place.t);
        while (place.clean < n && place.t < end) {
            const i64 said = sx_gram_sweep(&g, in.every.data(), n, &place, end, nullptr);
            if (said == COLUMNS) columns(1);
            if (said == REFRESH) refresh();
        }
        vector();
        const bool right = place.clean >= n;
        if (right && !run.stop) place.t = end;
        if (right && run.stop) {
            if (doubted_at == place.t || in.lowest(out.data()) > 0.0) break;
            doubted_at = place.t;
            refresh();
            place.clean = 0;
        } else if (place.t >= run.end) {
            break;
        }
    }
    while (run.engine == GRAM) {
        advance(in.upto(g.t), run.stop);
        vector();
        if (run.stop && g.errors == 0) {
            if (in.lowest(out.data()) > 0.0) break;
            refresh();
            advance(g.t, 0);
            if (g.errors == 0) break;
        }
        if (g.t >= run.end) break;
    }
    if (run.engine == GRAM) return {g.t, g.errors, g.rows_read};
    return {place.t, wrong(in, out.data()), g.rows_read};
}

// The perceptron by direct products.
Answer sweep(Input &in, Array<double> &phi) {
    const Run &run = in.run;
    const i64 n = run.n, D = run.d + 1;
    Array<double> anchor(D), bound(n, -__builtin_inf()), m(n);
    phi.resize(D);
    Perceptron p = {};
    p.sign = in.signs.sign, p.r = in.signs.r, p.phi = phi.data(), p.anchor = anchor.data(), p.bound = bound.data();
    p.m = m.data();
    sx_set_anchor(&p, D);
    i64 doubted_at = -1;
    for (;;) {
        const i64 end = in.upto(p.at.t);
        if (run.engine == MOST_WRONG)
            sx_most_wrong(&in.rows, &p, in.every.data(), end - p.at.t, 1, run.lazy, run.threads, run.width);
        while (run.engine == SWEEP && p.at.clean < n && p.at.t < end)
            sx_sweep(&in.rows, &p, nullptr, end - p.at.t, run.lazy);
        const bool right = p.at.clean >= n;
        if (right && !run.stop) p.at.t = end;
        if (right && run.stop) {
            if (doubted_at == p.at.t || in.lowest(phi.data()) > 0.0) break;
            doubted_at = p.at.t;
            bound.assign(n, -__builtin_inf());
            p.at.clean = 0;
        } else if (p.at.t >= run.end) {
            break;
        }
    }
    return {p.at.t, wrong(in, phi.data()), p.at.rows_read};
}

}  // namespace

int main(int count, char **names) {
    if (count < 3 || (count > 3 && !sx_serve(names[3]))) return 2;
    Input in(names[1]);
    Array<double> phi, norms(in.run.n);
    spoil();
    const Answer answer = in.run.engine >= GRAM    ? gram(in, phi)
                          : in.run.engine != BATCH ? sweep(in, phi)
                          : in.run.shorter         ? batch<float>(in, phi)
                                                   : batch<double>(in, phi);
    sx_row_norms(&in.rows, in.run.threads, in.run.width, norms.data());
    std::FILE *file = std::fopen(names[2], "wb");
    if (!file) return 3;
    std::fwrite(&answer, sizeof(answer), 1, file);
    for (const Array<double> &numbers : {phi, norms, in.margins(phi.data())})
        std::fwrite(numbers.data(), sizeof(double), numbers.size(), file);
    return std::fclose(file) ? 3 : 0;
}
