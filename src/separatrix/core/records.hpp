// What Python hands to the core: plain records, mirrored field by field in `library.py`, which compares their sizes.
#pragma once

#include <cstdint>

using i64 = int64_t;

constexpr i64 FACE = 6;  // of the library; one more with every change of an entry or a record

constexpr i64 BLOCK = 512;  // rows in a block of the canonical sum
constexpr i64 GROUP = 64;   // blocks in a group, groups in a group of the next level
constexpr i64 LEVELS = 7;   // of groups: more blocks than any disk holds
constexpr double UNDERFLOW_AT = 600.0, UNDERFLOW_AT_SHORT = 60.0;  // γm from which all weights exp(-γm) near the end of
                                                                    // their range: one factor then enlarges them
constexpr double UNIT = 0x1p-53;  // u: a rounded result is off by at most this share of itself

// Rows a_i as they are stored, and the value of the constant column behind them (0: none). A vector that meets them has
// d + 1 entries.
struct Rows {
    const void *x;        // dense: n x d in C order; CSR: the stored entries
    const void *columns;  // CSR alone: their columns, rising in each row,
    const void *starts;   // and where each row begins
    i64 n, d;
    i64 item;   // bytes of an entry: 4 or 8
    i64 index;  // bytes of a column number: 4 or 8; 0: dense
    double bias;
};

// What the engines know of each row, beside the row itself.
struct Signs {
    const double *sign;  // y_i / scale, so that z_i / scale = sign_i (a_i, bias)
    const double *s;     // sample weights, 0: the row is left out
    const double *r;     // ‖z_i‖ / scale
};

// Where distances are measured from. A row seen at margin m_i stays above τ while Φ is within (m_i - τ)/r_i of where it
// was seen; two distances are at hand, the path since the row was seen and the straight line from the anchor.
struct Bounds {
    double *anchor;  // Φ at which every row was seen last
    double *last;    // Φ at the last look
    i64 D, n;
    i64 anchored, since, spent;  // iterations since the anchor, and rows read in them, the anchor's own n included
    i64 begun;
    double path, length;  // Σ‖Φ⁺ - Φ‖ since the anchor; the largest ‖Φ‖ so far
    double reach, line;   // for this look: the path and the straight line, with slack for rounding
    i64 every;            // for this look: read all rows, and set the anchor here
};

// For an iterate that comes back (watch.hpp).
struct Watch {
    void *mark;        // an iterate that was kept, in the type of the arithmetic,
    i64 mark_t;        // its number,
    i64 since, until;  // how many came after it, and after how many it is renewed: twice as many each time
    i64 period;        // so many steps later it came back; 0: it has not
    i64 on;            // the next iterate is a function of the present one alone
};

// One run of a batch method: Φ = unit φ, with unit = n^p where the method divides by N = n^p (Σw)^(1-p). Then the batch
// perceptron, p = 1, only ever adds whole rows, and whole numbers walk without rounding. Margins are m = ZΦ, and gamma
// is γ/unit. Vectors are float64, or float32 where that arithmetic was asked for.
struct Stepper {
    void *phi, *base, *step;  // Φ; while the wrong set stays the same Φ = base + k step
    void *total;              // Σ w_i z_i, and behind it Σ w_i
    i64 D;
    double gamma, power;  // power: p
    const double *factors;  // γ_t/γ_0 for the `held` updates from t = first on; none where the step size is one
    i64 first, held;
    i64 t, k;            // updates made; steps taken from base
    i64 safe, patience;  // the wrong set is known not to change before k reaches `safe`; look again from `patience` on
    i64 errors;
    double low;             // the smallest margin
    double stride, length;  // ‖step‖; the largest ‖Φ‖ so far
    double horizon;         // how often the step can be taken before a row changes sides, as answered
    i64 half;               // the next step is the first from 0 at γ = ∞
    i64 stepped;            // the wrong set of the last step is known
    i64 changed;            // and is not this iterate's
    i64 evaluated, ready;   // errors and low belong to Φ; so does total
    i64 answered;           // by who holds the rows elsewhere
    i64 tie_t, tie_row;     // the first iterate after the first step at which a margin was exactly 0 at γ = ∞ (0: none
                            // yet), and the first such row
    Watch watch;
};

// Rows in memory, and what is kept of them from one iterate to the next.
struct Local {
    Rows rows;
    Signs signs;
    Bounds bounds;
    void *m, *w;          // margins, each as of its row's last look; weights s_i w_i
    double *reach, *far;  // m_i + r_i·path when last seen; margin at the anchor
    i64 *due, *active;    // rows looked at, rows with a weight: rising, those of block b from b·512 on,
    i64 *n_due, *n_active;  // and how many
    void *parts;            // one sum per block; none where rows are sparse
    unsigned char *valid;   // whether it belongs to the block's active rows
    double *found;          // what is counted in each block
    void *scratch;          // LEVELS + 2 vectors of D + 1 numbers
    i64 *touched;           // 2 d whole numbers, the last d of them 0; none where rows are dense
    double cut;
    i64 threads, lazy, width;
    i64 actives, argmin, read, rows_read, summed, begun;
};

// What the perceptron carries from one row to the next.
struct Sweep {
    i64 t, epoch, position, clean;  // updates made; sweeps finished; rows of this sweep already seen; right ones in a row
    double away, length;            // ‖φ - anchor‖, ‖anchor‖
    i64 since;                      // sweeps, or updates with the most wrong row, since the anchor was set,
    i64 read_at, read_before;       // the count of rows read then, and before the last of them
    i64 rows_read;
};

// One perceptron on rows in memory.
struct Perceptron {
    const double *sign, *r;  // y_i / scale, ‖z_i‖ / scale
    double *phi, *anchor;    // φ, and where distances are measured from
    double *bound;           // a lower bound on the margin of row i is bound_i - r_i·away
    double *late;            // Σ v_j z_j over the updates, v_j the rows visited before each; none: no average wanted
    double *m;               // margins, for the most wrong row alone
    Sweep at;
    Watch watch;
};

enum Said { DONE, EVALUATE, PULL, FORESEE };                                      // what `advance` ends with
enum Found { F_ERRORS, F_ACTIVE, F_LOW, F_ARGMIN, F_READ, F_CHANGED, F_TIE, F_COUNTS = 8 };  // what is counted in a block


// The batch methods in margin space: Φ = Φ_0 + Zᵀcoef and m = ZΦ, with columns of G = ZZᵀ in a table. H products are
// remembered. While the wrong set stays the same at γ = ∞, m = base_m + k q/N and coef = base_coef + k w/N.
struct Gram {
    Rows rows;
    Signs signs;
    double *m, *coef, *w;         // margins; coefficients of Φ; weights s_i w_i of this iterate, 0 elsewhere
    double *base_m, *base_coef;   // where the stretch began
    i64 *active;                  // rows with a weight, rising
    uint64_t *bits;               // the wrong set, one bit a row
    double *old_w, *old_q;        // (H, n) remembered weights and their products Gw,
    uint64_t *old_bits;           // their wrong sets,
    double *old_drift;            // and the drift in each product, in units of r_i
    void *table;                  // (slots, n) columns of G,
    float *shorter;               // and the same in float32 for small changes; none where none are taken
    i64 *slot, *used;             // row → slot of its column, -1: none; slot → iteration of last use
    i64 *misses, *enough;         // row → how often its column was wanted; and from when on it is worth computing
    i64 *need;                    // rows whose columns a change of weights takes; after COLUMNS, those to compute
    double *delta;                // their changes of weight
    i64 *every;                   // 0 … n-1
    double *parts, *scratch, *total;  // for a sum of rows, as in Local
    i64 *touched;
    double gamma, power, cut;
    i64 n, H, item;               // item: bytes of a number in the table
    i64 threads, width;           // width: entries read per row
    i64 t, errors, argmin;
    double low;
    i64 n_active, n_need, n_large;  // n_large: the first so many changes are no small ones
    i64 held, next, near;         // products remembered; where the next one goes; this iterate's, once known
    double drift, length2;        // |m_i - exact| ≤ r_i drift; ‖Φ‖²
    double grad2, sum;            // ‖Σ w_i z_i‖² = Σ w_i q_i; Σ w_i
    double longest, column_error, product_error;  // max r_i; |G_ij - exact| ≤ column_error r_i r_j; the same of a direct
                                                  // product, in units of r_i max r_j Σw
    double tiny;                  // changes of weight below this part of the mean wait
    i64 patience, since;          // direct products taken for want of columns; iterations since the last refresh
    i64 evaluated, half, asked;   // asked: columns were asked for at this iterate already
    i64 stretch, k;               // the product that the stretch goes along, -1: none; steps taken from its base,
    double base_drift, base_length2, cross;  // what these were there, and Σ w_i m_i
    i64 rows_read, columns_read;
    i64 tie_t, tie_row;           // as in Stepper
};

// The perceptron's place in its sweep: updates made, sweeps finished, rows of this one seen, rows right in a row.
struct Place {
    i64 t, epoch, position, clean;
};

enum GramSaid { FINISHED, COLUMNS, REFRESH };  // what the gram engine's calls end with: done, or a request

// What is kept of every row that is elsewhere; no arrays where a thing is not wanted.
struct Facts {
    const signed char *sign;
    const double *s;       // sample weights, none: all 1
    const float *r;        // ‖z_i‖ / scale, rounded up
    float *reach, *far;    // rounded down: m_i + r_i·path when last seen, margin at the anchor
    unsigned char *wrong;  // at the last step's iterate
};

// One iterate, and what is wanted of it.
struct Ask {
    const double *phi;
    double gamma, tau, shift;  // tau: margins beyond it have no weight; shift: ln of a factor on all weights
    double unit;               // 1/scale
    double gone;        // distance gone since the anchor (minus the distance from it, where bounds are the perceptron's)
    double path, line;  // the same and the straight distance, with slack for rounding
    i64 every;          // read all rows, and set the anchor here
    i64 lazy;           // keep bounds at all
    i64 half;           // the first step from 0: all weights ½
    i64 loss;           // also the loss
    i64 mark;           // remember who is wrong
};

enum Seen { S_ERRORS, S_ACTIVE, S_LOW, S_LOSS, S_LOST, S_CHANGED, S_READ, S_TIE, S_COUNTS };  // what is counted in a leaf
