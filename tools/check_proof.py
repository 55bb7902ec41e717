#!/usr/bin/env python3
"""Check a proof file against the data, in whole numbers, with nothing but Python's standard library.

    python check_proof.py proof.json data.csv --target y     a header and numbers; labels in column y, else in the last
    python check_proof.py proof.json X.npy y.npy

Exit status: 0 it holds, 1 it does not, 2 something cannot be read, 3 it is not checked here: too large, or of a model.

Rows are z_i = s_i (a_i, 1 if there is an intercept), s_i = 1 for the larger of the two labels, else -1. By Gordan no θ
has Zθ > 0 if some λ > 0 on rows B has Z_Bᵀλ = 0. Every entry is a float64, a whole number over a power of two: all sums
below are of whole numbers. A proof has Z_Bᵀλ = 0 as it stands, or ("columns" K) says that a solution is near: Z_BK has
full rank, other columns are combinations of K. Then λ is moved until Z_Bᵀλ = 0 exactly, and must still be positive.
"""

import argparse
import csv
import json
import os
import re
import sys
from array import array
from itertools import chain
from math import gcd, isfinite
from operator import mul

PROOF_BYTES, DATA_BYTES = 32 << 20, 1 << 30  # largest files that are opened
DIGITS, BITS = 1 << 16, 1 << 27  # hexadecimal digits of a number; bits of numbers over one denominator, together
WHOLE, SPAN = 1 << 53, 2200  # whole numbers up to here are float64 numbers; float64 spans fewer powers of two
LISTS = "theta", "rows", "weights", "columns", "relations"
FRACTION = re.compile(rf"(-?[0-9a-fA-F]{{1,{DIGITS}}})/([0-9a-fA-F]{{1,{DIGITS}}})")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+|inf|infinity|nan)(e[+-]?[0-9]+)?", re.I | re.A)
NPY = rb"{'descr': '(.)([fiubU])(\d{1,4})', 'fortran_order': (True|False), 'shape': \((\d{1,12}),( \d{1,12})?\), }\s*"
TYPES = {"f": "   f   d", "b": "B", "i": "bh i   q", "u": "BH I   Q"}  # array's code for kind and size in bytes
left = [0]  # products that may still be taken


class End(Exception):  # noqa: N818  an answer, not an error
    """The exit status and the sentence."""


def demand(true, sentence, status=2):
    """End with this sentence unless it is true."""
    if not true:
        raise End(status, sentence)


def spend(products, bits=64):
    """Count products of numbers of so many bits, and end where they would be too many."""
    left[0] -= products * (1 + bits // 256)
    demand(left[0] >= 0, "it takes more products than --work allows", 3)


def number(value):
    """A number of the proof as (p, q), q > 0: a JSON number is a float64, text is p/q in hexadecimal."""
    if isinstance(value, str):
        parts = FRACTION.fullmatch(value)
        demand(parts and parts[2].strip("0"), f"{value[:40]!r} is no p/q of up to {DIGITS} hexadecimal digits each")
        return int(parts[1], 16), int(parts[2], 16)
    demand(type(value) in (int, float) and abs(value) <= 2.0**1023, "what should be a number of the proof is none")
    return float(value).as_integer_ratio()


def indices(values, below, what):
    """Different whole numbers from 0 to below - 1."""
    good = all(type(v) is int and 0 <= v < below for v in values) and len(set(values)) == len(values)
    demand(good, f"{what}: these are no different whole numbers below {below}")
    return values


def read_proof(path):
    """The fields of a proof file, each of its type."""
    demand(os.path.getsize(path) <= PROOF_BYTES, f"the proof is longer than {PROOF_BYTES} bytes", 3)
    with open(path, encoding="utf-8") as file:  # an object that has a name twice is none
        proof = json.load(file, object_pairs_hook=lambda p: dict(p) if len(dict(p)) == len(p) else None)
    demand(isinstance(proof, dict) and proof.get("format") == "separatrix proof 1", "the proof is of another format")
    demand(not (proof.get("model") or proof.get("earlier")), "proofs of models are for `separatrix verify` alone", 3)
    good = proof["claim"] in ("separable", "inseparable", "quasi-complete", "overlap")
    demand(good and type(proof["intercept"]) is bool, "claim or intercept is none that is known")
    demand(all(isinstance(proof[name], list | None) for name in LISTS), f"one of {', '.join(LISTS)} is no list")
    n, D = indices([proof["n"]], 1 << 62, "n")[0], indices([proof["d"]], 1 << 62, "d")[0] + proof["intercept"]
    proof["theta"] = proof["theta"] and [number(v) for v in proof["theta"]]
    demand(proof["theta"] is None or len(proof["theta"]) == D, f"theta has not one number for each of {D} columns")
    proof["rows"], proof["weights"] = indices(proof["rows"] or [], n, "rows"), [*map(number, proof["weights"] or [])]
    demand(len(proof["rows"]) == len(proof["weights"]), "rows and weights differ in number")
    indices(proof["columns"] or [], D, "columns")
    indices([j for j, _ in proof["relations"]], D, "relations")
    for relation in proof["relations"]:
        indices([k for k, _ in relation[1]], D, "a relation")
        relation[1] = [(k, number(c)) for k, c in relation[1]]
    return proof


def read_csv(path, target):
    """Rows and labels from numbers below a header, divided by commas, in .tsv by tabs."""
    rows, labels = [], []
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter="\t" if path.endswith(".tsv") else ",", skipinitialspace=True, strict=True)
        table = ([cell.strip() for cell in line] for line in reader if len(line) > 1 or "".join(line).strip())
        names = next(table, [])
        demand(not any(map(NUMBER.fullmatch, names)), "the first line has a number where it should name a column")
        good = len(set(names)) == len(names) and (target is None or target in names)
        demand(good, f"two columns have one name, or none is named {target!r}")
        for line in table:
            demand(len(line) == len(names), f"line {reader.line_num}: {len(line)} cells for {len(names)} columns")
            labels.append(line.pop(-1 if target is None else names.index(target)))
            for cell in line:
                long = cell.lstrip("+-").isdigit() and (len(cell) > 18 or abs(int(cell)) > WHOLE)
                demand(NUMBER.fullmatch(cell) and not long, f"{cell[:40]!r} is no number; --target names the labels")
            rows.append(array("d", map(float, line)))
    logical = {label.lower() for label in labels} <= {"true", "false"}
    return rows, [*map(float if all(map(NUMBER.fullmatch, labels)) else str.lower if logical else str, labels)]


def read_npy(path):
    """The values of an npy file in order, its shape, and whether columns come one after the other."""
    with open(path, "rb") as file:
        start = file.read(8)
        length = int.from_bytes(file.read(2 if start[6:7] == b"\1" else 4), "little")
        head = re.fullmatch(NPY, file.read(min(length, 1 << 16)))
        demand(start[:6] == b"\x93NUMPY" and head, f"{path} is no npy file of one or two axes of plain numbers")
        raw = file.read()
    kind, size, shape = head[2].decode(), int(head[3]), [int(k) for k in head.groups()[4:] if k]
    count = shape[0] * shape[-1] ** (len(shape) - 1)
    demand(len(raw) == count * size * (4 if kind == "U" else 1), f"{path} is cut short, or too long")
    if kind == "U":
        text = raw.decode("utf-32-be" if head[1] == b">" else "utf-32-le")
        return [text[k * size : (k + 1) * size].rstrip("\0") for k in range(count)], shape, False
    code = TYPES[kind][size - 1 : size].strip()
    demand(code, f"{path} holds numbers of {size} bytes of kind {kind!r}, which are not read here")
    values = array(code, raw)
    if head[1] == (b">" if sys.byteorder == "little" else b"<"):
        values.byteswap()
    demand(code in "fd" or all(-WHOLE <= v <= WHOLE for v in values), f"{path} has whole numbers beyond 2**53")
    return array("d", values), shape, head[4] == b"True"


def read_rows(path, labels, target, intercept):
    """The rows z_i from one CSV file or two npy files."""
    longest = max(map(os.path.getsize, filter(None, (path, labels))))
    demand(longest <= DATA_BYTES, f"the data are longer than {DATA_BYTES} bytes", 3)
    if path.lower().endswith(".npy"):
        demand(labels and not target, f"{path} needs a second npy file, that of the labels")
        (values, shape, turned), (y, length, _) = read_npy(path), read_npy(labels)
        demand(isinstance(values, array) and len(shape) == 2 and len(length) == 1, "X must have two axes, y one")
        n, d = shape
        rows = [values[i::n] if turned else values[i * d : (i + 1) * d] for i in range(n if d else 0)]
    else:
        demand(labels is None, f"labels are a column of {path}, which --target names")
        rows, y = read_csv(path, target)
    demand(rows and len(rows) == len(y) and len(rows[0]), "X has no rows, or no columns, or another number than y")
    demand(all(map(isfinite, chain(*rows))), "X has an entry that is infinite or no number")
    demand(all(v == v and v != "" for v in y) and len(set(y)) == 2, "labels are missing, or not of two values")
    upper = max(y)
    Z = ([v if label == upper else -v for v in chain(a, [1.0] * intercept)] for a, label in zip(rows, y, strict=True))
    return [array("d", z) for z in Z]


def whole(values):
    """Floats or pairs (p, q) times one positive number that makes them whole."""
    ratios = [v if isinstance(v, tuple) else v.as_integer_ratio() for v in values]
    spend(4 * len(ratios))
    common = 1
    for _, q in ratios:
        if common % q:
            spend(1 + q.bit_length() // 64, common.bit_length())
            common *= q // gcd(common, q)
            demand(common.bit_length() * len(ratios) <= BITS, "its numbers have no short common denominator", 3)
    return [p * (common // q) for p, q in ratios]


def dot(a, b):
    """Σ a_i b_i."""
    return sum(map(mul, a, b))


def bits(values):
    """Of the longest."""
    return max((v.bit_length() for v in values), default=0)


def check_relations(Z, kept, relations):
    """Each column outside K is zero in these rows, or the combination of columns of K that the proof says."""
    told, lean = {j for j, _ in relations}, {k for _, terms in relations for k, _ in terms}
    demand(told.isdisjoint(kept) and lean <= set(kept), "a relation is of a column in K, or to one outside", 1)
    sums = [([j, *(k for k, _ in terms)], whole([(-1, 1), *(c for _, c in terms)])) for j, terms in relations]
    sums += [([j], [1]) for j in set(range(len(Z[0]))) - told - set(kept)]
    spend(len(Z) * sum(len(at) * (1 + bits(c) // 256) for at, c in sums))
    for z in map(whole, Z if sums else ()):
        for at, c in sums:
            demand(dot([z[j] for j in at], c) == 0, f"column {at[0]} is not what its relation says", 1)


def inverse(H, p):
    """Of a square matrix modulo a prime; None if it is singular there."""
    r = len(H)
    spend(2 * r**3, p.bit_length())
    M = [[v % p for v in row] + [int(i == j) for j in range(r)] for i, row in enumerate(H)]
    for k in range(r):
        M[k:] = sorted(M[k:], key=lambda row: row[k] == 0)  # noqa: B023
        if M[k][k] == 0:
            return None
        t = pow(M[k][k], -1, p)
        M[k] = [v * t % p for v in M[k]]
        for i in range(r):
            if i != k and (t := M[i][k]):
                M[i] = [(a - t * b) % p for a, b in zip(M[i], M[k], strict=True)]
    return [row[r:] for row in M]


def solve(H, b):
    """Whole x and q > 0 with Hx = qb, by p-adic digits (Dixon 1982)."""
    p, C = next(((p, C) for p in (2**127 - 1, 2**521 - 1) if (C := inverse(H, p))), (2, None))
    demand(C, "the columns K are dependent on the rows B", 1)
    most = sum(bits(row) + len(H).bit_length() for row in H) + bits(b) + 2  # bits of x and q, after Hadamard
    digits = 2 * most // (p.bit_length() - 1) + 2
    spend(digits * len(H) ** 2 + 8 * most, max(p.bit_length() + bits(chain(*H)), most))
    rest, power, q, x = b, 1, 1, [0] * len(H)
    for _ in range(digits):
        digit = [dot(row, rest) % p for row in C]
        rest = [(v - dot(row, digit)) // p for v, row in zip(rest, H, strict=True)]
        x = [v + u * power for v, u in zip(x, digit, strict=True)]
        power *= p
    for v in x:  # v q modulo power is a fraction of short parts: Euclid's algorithm meets it half-way
        old, new, s, t = power, v * q % power, 0, 1
        while new >> most and (power - new) >> most:
            old, new, s, t = new, old % new, t, s - old // new * t
        q *= abs(t)
    x = [(v * q + power // 2) % power - power // 2 for v in x]
    demand(all(dot(row, x) == q * v for row, v in zip(H, b, strict=True)), "a linear system was not solved", 3)
    return x, q


def check_near(Z, weights):
    """Move λ to λ' = λ - D A (AᵀDA)⁻¹ Aᵀλ, which solves Aᵀλ' = 0, positive for some diagonal D > 0; A is Z_BK."""
    columns, lam = [whole(column) for column in zip(*Z, strict=True)], whole(weights)
    A, b = list(zip(*columns, strict=True)), [dot(lam, column) for column in columns]
    for powers in [v.bit_length() for v in lam], [0] * len(A), [-bits(row) for row in A]:  # D near λ², 1, 1/max z_ij²
        low = max(min(powers), max(powers) - SPAN)
        D = [1 << 2 * max(k - low, 0) for k in powers]
        spend(len(A) * len(columns) ** 2, bits(D) + bits(chain(*A)))
        x, q = solve([[dot(map(mul, D, a), c) for c in columns] for a in columns], b)
        if all(q * v > w * dot(x, row) for v, w, row in zip(lam, D, A, strict=True)):
            return
    raise End(1, "near its weights no positive ones were found that add the rows up to 0")


def check(proof, Z):
    """End with a sentence unless the proof holds for these rows."""
    claim, rows, weights, kept = (proof[name] for name in ("claim", "rows", "weights", "columns"))
    n, d = len(Z), len(Z[0]) - proof["intercept"]
    demand((proof["n"], proof["d"]) == (n, d), f"it is about {proof['n']} x {proof['d']} entries, not {n} x {d}", 1)
    B, good = [Z[i] for i in rows], rows and all(p > 0 for p, _ in weights)
    demand(claim == "separable" or good, "it has no weights, or one that is not positive", 1)
    if claim != "separable" and kept is None:
        lam = whole(weights)
        spend(len(B) * len(Z[0]), bits(lam))
        for j, column in enumerate(zip(*B, strict=True)):
            demand(dot(lam, whole(column)) == 0, f"the weighted rows do not add up to 0 in column {j}", 1)
        demand(claim != "overlap" or len(B) == len(Z), "overlap needs a weight on every row", 1)
    elif claim != "separable":
        demand(len(kept) <= len(B), "K has more columns than B has rows", 1)
        check_relations(Z if claim == "overlap" else B, kept, proof["relations"])
        if kept:
            check_near([[z[k] for k in kept] for z in B], weights)
    if claim in ("separable", "quasi-complete"):
        demand(proof["theta"], "it has no theta", 1)
        v = whole(proof["theta"])
        spend(len(Z) * len(v), bits(v))
        signs = {(s > 0) - (s < 0) for s in (dot(whole(z), v) for z in Z)}
        good = signs == {1} or (claim == "quasi-complete" and signs == {0, 1})
        demand(good, "theta has rows on its wrong side, or too many on its plane", 1)


def main(arguments=None):
    """Print the answer in one sentence; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("proof")
    parser.add_argument("data", help="CSV with a header, or the rows as .npy")
    parser.add_argument("labels", nargs="?", help="the labels as .npy")
    parser.add_argument("--target", help="the column of the labels in CSV; the last if not given")
    parser.add_argument("--work", type=float, default=2e10, help="how many products of short numbers may be taken")
    given = parser.parse_args(arguments)
    try:
        left[0] = given.work
        proof = read_proof(given.proof)
        check(proof, read_rows(given.data, given.labels, given.target, proof["intercept"]))
        status, reason = 0, f"{proof['claim']}, shown in whole numbers from all {proof['n']} rows"
    except End as end:
        status, reason = end.args
    except MemoryError:
        status, reason = 3, "memory is used up"
    except (OSError, ValueError, TypeError, LookupError, RecursionError, csv.Error) as error:
        status, reason = 2, ("" if isinstance(error, OSError) else "what was read is damaged: ") + str(error)[:200]
    print(f"{('holds', 'does not hold', 'cannot be read', 'not checked here')[status]}: {reason}.")
    return status


if __name__ == "__main__":
    sys.exit(main())
