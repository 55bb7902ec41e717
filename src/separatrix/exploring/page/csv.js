// CSV text → columns → points of two columns and a label, and what was left out: the rules of separatrix/data/csv.py.
//
// Cells are text and stay text: nothing here makes markup of them.

import { principalDirections } from "./principal.js";

export const MISSING = new Set(["", "NA", "NaN", "nan", "NAN", "null", "NULL", "None", "n/a", "N/A", "?", "."]);
const DELIMITERS = ["\t", ";", "|", ","];
const SAMPLE = 20; // lines that tell the delimiter
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/;
const ENDLESS = /^[+-]?(inf|infinity)$/i;
const THOUSANDS = /^[+-]?(\d{1,3}(,\d{3})+(\.\d*)?|\d{1,3}(\.\d{3})+(,\d*)?|\d{1,3}([ \u00a0\u202f']\d{3})+)$/;
const LABELLED = /^(y|label|labels|target|class|classes|outcome|group|species|diagnosis|response|result)$/i;

/**
 * A table from text; an Error with one sentence where there is none. Missing cells are NaN, or null among text.
 * @returns {{columns: {name: string, kind: "number"|"text", values: (number|string|null)[], odd?: string}[],
 *   rows: number, notes: string[]}}  `odd`: what makes text of a column that is numbers for the most part
 */
export function readCsv(text) {
  text = text.replace(/^\ufeff/, "");
  if (text.includes("\0")) throw new Error("This is no text: it holds zero bytes.");
  const delimiter = delimiterOf(text);
  if (delimiter === null) text = spaced(text);
  const records = recordsOf(text, delimiter ?? "\t", Infinity);
  if (!records.length) throw new Error("There are only blank lines; a table needs at least one row.");
  const notes = [];
  const first = records[0].map((cell) => cell.trim());
  const header = !first.some((cell) => isValue(cell, delimiter));
  const names = namesOf(first, header, notes);
  const lines = alike(header ? records.slice(1) : records, names.length, notes);
  if (!lines.length) throw new Error("There is a header but no row.");
  const columns = [];
  names.forEach((name, j) => {
    const cells = lines.map((row) => row[j].trim());
    if (header && !first[j] && cells.every((cell) => !cell)) return; // what a delimiter at the end of every line makes
    const lineOf = (i) => linesOf(text.slice(0, lines[i].start)).length;
    columns.push({ name, ...columnOf(name, cells, delimiter, notes, lineOf) });
  });
  return { columns, rows: lines.length, notes };
}

/** Cells of each line that is not blank and where it starts, up to `most` lines. Quoted cells may hold delimiters, line ends and "". */
function recordsOf(text, delimiter, most) {
  const records = [];
  let at = 0;
  let row = Object.assign([], { start: at });
  const end = text.length;
  const plain = new RegExp(`[${delimiter === "|" ? "\\|" : delimiter}\\r\\n]`, "g");
  while (at < end && records.length < most) {
    while (text[at] === " " && delimiter !== " ") at++;
    let cell;
    if (text[at] === '"') [cell, at] = quoted(text, at, delimiter);
    else {
      plain.lastIndex = at;
      const found = plain.exec(text);
      const stop = found ? found.index : end;
      cell = text.slice(at, stop);
      at = stop;
    }
    row.push(cell);
    if (text[at] === delimiter) {
      at++;
      if (at < end) continue;
      row.push("");
    }
    at += text[at] === "\r" && text[at + 1] === "\n" ? 2 : 1;
    if (row.length > 1 || row[0].trim()) records.push(row);
    row = Object.assign([], { start: at });
  }
  return records;
}

/** The cell whose quote opens at `at`, and where the next thing is. */
function quoted(text, at, delimiter) {
  let cell = "";
  for (let from = at + 1; ; ) {
    const stop = text.indexOf('"', from);
    if (stop < 0) throw new Error(`A quote that opens in line ${linesOf(text.slice(0, at)).length} is never closed.`);
    cell += text.slice(from, stop);
    if (text[stop + 1] !== '"') {
      let next = stop + 1;
      while (next < text.length && ![delimiter, "\r", "\n"].includes(text[next])) cell += text[next++];
      return [cell, next];
    }
    cell += '"';
    from = stop + 2;
  }
}

/** What divides the first lines alike into most cells, or else the first line into most; null for runs of blanks. */
function delimiterOf(text) {
  const head = headOf(text);
  const alikeBy = new Map();
  const raggedBy = new Map();
  for (const delimiter of DELIMITERS) {
    let rows;
    try {
      rows = recordsOf(head, delimiter, SAMPLE);
    } catch {
      continue; // told when the text is read
    }
    if (!rows.length) continue;
    const even = rows.every((row) => row.length === rows[0].length) && rows[0].length > 1;
    (even ? alikeBy : raggedBy).set(delimiter, rows);
  }
  if (alikeBy.has(";") && alikeBy.has(",")) {
    const inside = alikeBy.get(";").flat().map((cell) => cell.trim()).filter((cell) => cell.includes(","));
    alikeBy.delete(inside.every((cell) => isValue(cell, ";")) ? "," : ";"); // a comma within numbers is a decimal one
  }
  for (const [delimiter, rows] of raggedBy) if (rows[0].length < 2) raggedBy.delete(delimiter);
  const found = alikeBy.size ? alikeBy : raggedBy;
  let best = ",";
  let most = 0;
  for (const [delimiter, rows] of found) if (rows[0].length > most) [best, most] = [delimiter, rows[0].length];
  return most === 0 && isSpaced(head) ? null : best;
}

/** Enough of the text for SAMPLE lines, whole cells at its end or not. */
function headOf(text) {
  return text.length > 200000 ? text.slice(0, text.lastIndexOf("\n", 200000) + 1 || 200000) : text;
}

function isSpaced(head) {
  const lines = linesOf(head).filter((line) => line.trim()).slice(0, SAMPLE);
  const counts = new Set(lines.map((line) => line.trim().split(/\s+/).length));
  return !head.includes('"') && counts.size === 1 && !counts.has(1);
}

function spaced(text) {
  return linesOf(text).map((line) => line.trim().split(/\s+/).join("\t")).join("\n");
}

function linesOf(text) {
  return text.split(/\r\n?|\n/);
}

/** Names of the columns: of a header, or c0, c1, …; one that comes twice gets a number. */
function namesOf(first, header, notes) {
  const seen = new Map();
  return first.map((cell, j) => {
    const name = (header && cell) || `c${j}`;
    const times = (seen.get(name) ?? 0) + 1;
    seen.set(name, times);
    if (times === 1) return name;
    notes.push(`More than one column is named ${short(name)}; number ${times} is called ${short(name)} (${times}).`);
    return `${name} (${times})`;
  });
}

/** The lines with so many cells. */
function alike(lines, width, notes) {
  const kept = lines.filter((row) => row.length === width);
  const left = lines.length - kept.length;
  if (left) notes.push(`${rowsWere(left)} left out: ${left === 1 ? "it has" : "they have"} not ${width} cells.`);
  return kept;
}

/** Numbers, NaN where missing; or text, null where missing. */
function columnOf(name, cells, delimiter, notes, lineOf) {
  const numbers = numbersOf(cells) ?? (delimiter === ";" ? numbersOf(cells.map(decimalPoint)) : null);
  if (numbers) return { kind: "number", values: numbers };
  const grouped = cells.find((cell) => THOUSANDS.test(cell));
  const thousands = grouped && cells.every((cell) => THOUSANDS.test(cell) || MISSING.has(cell) || isValue(cell, delimiter));
  if (thousands)
    notes.push(`${short(name)} is taken as text: ${grouped} looks like a number with thousands separators.`);
  const values = cells.map((cell) => (MISSING.has(cell) ? null : cell));
  return { kind: "text", values, odd: thousands ? undefined : oddOf(values, delimiter, lineOf) };
}

/** The first cell that is no number, where at least half of those that are not missing are numbers. */
function oddOf(values, delimiter, lineOf) {
  const comma = delimiter === ";" && values.some((cell) => cell?.includes(","));
  const filled = [...values.keys()].filter((i) => values[i] !== null);
  const odd = filled.filter((i) => !numbersOf([comma ? decimalPoint(values[i]) : values[i]]));
  if (!odd.length || 2 * odd.length > filled.length) return undefined;
  return `“${short(values[odd[0]])}” in line ${lineOf(odd[0])} is no number`;
}

function numbersOf(cells) {
  const numbers = new Array(cells.length);
  for (let i = 0; i < cells.length; i++) {
    if (NUMBER.test(cells[i])) numbers[i] = Number(cells[i]);
    else if (MISSING.has(cells[i])) numbers[i] = NaN;
    else if (ENDLESS.test(cells[i])) numbers[i] = cells[i][0] === "-" ? -Infinity : Infinity;
    else return null;
  }
  return numbers;
}

/** 1,5 as 1.5; a dot beside it is no number. */
function decimalPoint(cell) {
  return MISSING.has(cell) ? cell : cell.replaceAll(".", "_").replace(",", ".");
}

/** Whether a cell is a number or a truth, and so no name of a column. */
export function isValue(cell, delimiter) {
  if (MISSING.has(cell)) return false;
  if (/^(true|false)$/i.test(cell) || NUMBER.test(cell) || ENDLESS.test(cell)) return true;
  return delimiter === ";" && NUMBER.test(decimalPoint(cell));
}

/**
 * Points from two columns of numbers and one of labels, each named or found; an Error with one sentence otherwise.
 * @param {{x?: string, y?: string, label?: string, plus?: string, principal?: boolean}} choice  `plus`: this value of
 *   the label against all others; `principal`: the first two principal directions of all columns of numbers
 * @returns {{points, names: {x, y, plus, minus}, notes: string[], of?: number}}  `of`: columns of numbers, if more than are shown
 */
export function twoColumns(table, { x, y, label, plus, principal = false } = {}) {
  const labels = label === undefined ? labelColumn(table, x, y) : named(table, label);
  const wanted = principal ? numeric(table, labels) : axes(table, labels, x, y);
  const notes = [...table.notes, ...leftOut(table, labels)];
  const single = singleClass(table, labels);
  if (single) notes.push(`${single}; labels are taken from ${short(labels.name)}.`);
  const kept = wholeRows(table, labels, wanted, notes);
  const classes = classesOf(labels, kept, plus);
  const [first, second] = principal ? directions(kept, wanted, notes) : plain(kept, wanted, notes);
  const side = (i) => (String(labels.values[i]) === classes.plus ? 1 : -1);
  const points = kept.map((i, k) => ({ x: first.values[k], y: second.values[k], label: side(i) }));
  const { length } = numeric(table, labels), of = length > (principal ? 2 : wanted.length) ? length : undefined;
  return { points, names: { x: first.name, y: second.name, ...classes }, notes, of };
}

/** A sentence for each column that would be one of numbers but for a few cells. */
function leftOut({ columns }, labels) {
  return columns.filter((column) => column.odd && column !== labels).map(({ name, odd }) => `${short(name)} is left out: ${odd}.`);
}

/** The columns as they are; 0 where there is no second one. */
function plain(kept, [first, second], notes) {
  if (!second) notes.push(`There is one column of numbers, ${short(first.name)}; all points have 0 beside it.`);
  second ??= { name: "0", values: first.values.map(() => 0) };
  return [first, second].map(({ name, values }) => ({ name, values: kept.map((i) => values[i]) }));
}

function directions(kept, columns, notes) {
  const rows = kept.map((i) => columns.map(({ values }) => values[i]));
  const { first, second, sentence } = principalDirections(rows, columns.map(({ name }) => name));
  notes.push(sentence);
  return [
    { name: "first principal direction", values: first },
    { name: "second principal direction", values: second },
  ];
}

function named(table, name) {
  const column = table.columns.find((column) => column.name === name);
  if (column) return column;
  throw new Error(`There is no column ${short(name)}; columns: ${listing(table.columns.map((c) => c.name))}.`);
}

/** The column of two values that is named like a label, or else the last that is text, or else the last. */
export function labelColumn(table, x, y) {
  const free = table.columns.filter((column) => column.name !== x && column.name !== y);
  const found = likeliest(free.filter((column) => hasValues(column, 2)));
  if (found) return found;
  const single = singleClass(table);
  if (single) throw new Error(`${single}; add rows of a second one, or choose another column of labels.`);
  throw new Error("No column has exactly two values to tell the classes apart; choose the column of labels.");
}

/** Of these columns the one that is named like a label, or else the last that is text, or else the last. */
export function likeliest(columns) {
  return columns.find((c) => LABELLED.test(c.name)) ?? columns.findLast((c) => c.kind === "text") ?? columns.at(-1);
}

/** What a column lacks that would rather be the label, by its name or as text; "" where there is none. */
export function singleClass(table, labels) {
  const one = table.columns.filter((c) => (c.kind === "text" || LABELLED.test(c.name)) && hasValues(c, 1));
  const found = likeliest(table.columns.filter((column) => column === labels || one.includes(column)));
  if (!found || found === labels) return "";
  return `${short(found.name)} has a single class, ${short(valuesOf(found, found.values.keys())[0])}`;
}

function hasValues({ values }, count) {
  const seen = new Set();
  for (const value of values) if (!isMissing(value) && seen.add(value).size > count) return false;
  return seen.size === count;
}

/** The columns of numbers beside the labels. */
function numeric(table, labels) {
  const found = table.columns.filter((c) => c.kind === "number" && c !== labels && c.values.some(Number.isFinite));
  if (found.length) return found;
  throw new Error([`No column beside ${short(labels.name)} has numbers; the plane needs two.`, ...leftOut(table, labels)].join(" "));
}

/** The two columns of numbers that were named, or the first that are free. */
function axes(table, labels, x, y) {
  const chosen = [x, y].map((name) => (name === undefined ? null : named(table, name)));
  const text = chosen.find((column) => column && column.kind !== "number");
  if (text) throw new Error(`${short(text.name)} is text; the plane needs numbers.`);
  const free = numeric(table, labels).filter((column) => !chosen.includes(column));
  return chosen.map((column) => column ?? free.shift()).filter((column) => column);
}

/** The rows with a label and finite numbers; the others are told of in notes. */
function wholeRows(table, labels, wanted, notes) {
  const kept = [];
  let [missing, endless] = [0, 0];
  for (let i = 0; i < table.rows; i++) {
    const values = wanted.map((column) => column.values[i]);
    if (isMissing(labels.values[i]) || values.some(isMissing)) missing++;
    else if (!values.every(Number.isFinite)) endless++;
    else kept.push(i);
  }
  const gaps = [labels, ...wanted].filter((column) => column.values.some(isMissing));
  const where = listing(gaps.map((column) => column.name));
  if (missing) notes.push(`${rowsWere(missing)} left out: a value is missing in ${where}.`);
  if (endless) notes.push(`${rowsWere(endless)} left out: a number is infinite.`);
  return kept;
}

function isMissing(value) {
  return value === null || value !== value;
}

/** The two labels; the larger number, or the later text by code points, is +1. */
function classesOf(labels, kept, plus) {
  const found = valuesOf(labels, kept).map(String);
  if (plus !== undefined) {
    if (!found.includes(String(plus))) throw new Error(`No row has ${short(plus)} in ${short(labels.name)}.`);
    const others = found.filter((value) => value !== String(plus));
    return { plus: String(plus), minus: others.length === 1 ? others[0] : `not ${plus}` };
  }
  if (found.length === 2) return { plus: found[1], minus: found[0] };
  const count = `${found.length} ${found.length === 1 ? "value" : "values"}`;
  const shown = found.length ? ` (${listing(found)})` : "";
  throw new Error(`${short(labels.name)} has ${count}${shown}; separation is between exactly two.`);
}

/** Different values in order. */
export function valuesOf(column, rows) {
  const found = new Set();
  for (const i of rows) if (!isMissing(column.values[i])) found.add(column.values[i]);
  return [...found].sort(column.kind === "number" ? (a, b) => a - b : byCodePoint);
}

/** As Python sorts text; JavaScript would go by UTF-16 units. */
function byCodePoint(a, b) {
  const [p, q] = [Array.from(a), Array.from(b)];
  const k = p.findIndex((letter, k) => letter !== q[k]);
  return k < 0 || k >= q.length ? p.length - q.length : p[k].codePointAt(0) - q[k].codePointAt(0);
}

function rowsWere(count) {
  return count === 1 ? "1 row was" : `${count} rows were`;
}

function listing(names) {
  return names.slice(0, 5).map(short).join(", ") + (names.length > 5 ? ", …" : "");
}

function short(value) {
  const text = String(value);
  return text.length > 40 ? `${text.slice(0, 39)}…` : text;
}
