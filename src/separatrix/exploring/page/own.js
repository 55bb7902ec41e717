// The dialog for the reader's own data: paste, drop or open a table, choose its columns, see what was left out.
// Whatever a table says is shown as text.

import { labelColumn, likeliest, readCsv, singleClass, twoColumns, valuesOf } from "./csv.js";
import { element } from "./dom.js";
import { csvOf } from "./export.js";

const MOST_POINTS = 20_000; // rows that the page takes: more are for Python
const SHOWN_TEXT = 200_000; // letters of a file that are put into the text field
const BYTES = 30_000_000;
const CLASSES = 60; // different values that a label may have
const PAUSE = 250; // ms after a key before the text is read again
let dialogOpen = null;

/** @param {Object} store @param {{text?: string, title?: string, file?: File}} given */
export function openOwnData(store, given = {}) {
  dialogOpen?.close();
  const self = buildDialog(store);
  dialogOpen = self.dialog;
  self.dialog.showModal();
  if (given.file) openFile(self, given.file);
  else if (given.text) take(self, given.text, given.title);
}

function buildDialog(store) {
  const field = element("textarea", { id: "own-text", rows: 7, spellcheck: false, placeholder: "height;weight;kind\n1.5;2.5;cat\n4.0;3.5;dog" });
  const picker = element("input", { id: "own-file", type: "file", accept: ".csv,.tsv,.txt,text/csv,text/plain", class: "unseen" });
  const choices = element("div", { class: "choices", hidden: true });
  const said = element("div", { class: "said", role: "status" });
  const show = element("button", { type: "button", class: "primary", text: "Show these points", disabled: true });
  const cancel = element("button", { type: "button", text: "Cancel" });
  const table = element("button", { type: "button", text: "Put the plane's points here" });
  const dialog = element("dialog", { id: "own-data", "aria-labelledby": "own-title" },
    element("h2", { id: "own-title", text: "Your data" }),
    element("p", { class: "soft", text: "Paste a table, drop a file here, or open one: columns of numbers and a column of labels, divided by commas, semicolons, tabs or blanks. It stays on this page; nothing is sent anywhere." }),
    element("label", { class: "unseen", for: "own-text", text: "Table" }), field,
    element("div", { class: "row" }, picker, element("label", { class: "file", for: "own-file", text: "Open a file…" }), table),
    choices, said,
    element("div", { class: "row end" }, cancel, show));
  const self = { store, dialog, field, choices, said, show, table: null, title: "Your table", text: "", choice: {}, made: null };
  let timer = 0;
  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => read(self, field.value, "Your table"), PAUSE);
  });
  picker.addEventListener("change", () => picker.files[0] && openFile(self, picker.files[0]));
  table.addEventListener("click", () => take(self, csvOf(store.get()), "Your points"));
  show.addEventListener("click", () => use(self));
  cancel.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    clearTimeout(timer);
    dialog.remove();
    if (dialogOpen === dialog) dialogOpen = null;
  });
  dialog.addEventListener("drop", (event) => {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault();
    event.stopPropagation();
    openFile(self, file);
  });
  document.body.append(dialog);
  return self;
}

async function openFile(self, file) {
  if (file.size > BYTES) return complain(self, `${file.name.slice(0, 80)} has ${Math.round(file.size / 1e6)} MB; the page takes up to ${BYTES / 1e6}.`);
  try {
    take(self, await file.text(), file.name.slice(0, 80));
  } catch {
    complain(self, "The file could not be read.");
  }
}

/** This text as if pasted; a long one is not put into the field, which would be slow. */
function take(self, text, title) {
  self.field.value = text.length <= SHOWN_TEXT ? text : "";
  self.field.placeholder = text.length <= SHOWN_TEXT ? "" : `${title}: ${text.length} letters, too long to be shown`;
  read(self, text, title);
}

function read(self, text, title) {
  [self.title, self.choice, self.made] = [title, {}, null];
  if (!text.trim()) {
    self.choices.hidden = self.show.disabled = true;
    return self.said.replaceChildren();
  }
  try {
    self.table = readCsv(text);
  } catch (error) {
    self.choices.hidden = true;
    return complain(self, error.message);
  }
  self.choice = firstChoice(self.table);
  offer(self);
  make(self);
}

/** Labels and numbers as they are found; where no column has just two values, one with few, but no numbers silently. */
function firstChoice(table) {
  let label;
  try {
    label = labelColumn(table);
  } catch {
    label = likeliest(labelChoices(table));
    if (label?.kind === "number" && singleClass(table, label)) label = undefined;
  }
  const numbers = numberColumns(table).filter((column) => column !== label);
  return { x: numbers[0]?.name, y: numbers[1]?.name, label: label?.name };
}

function numberColumns(table) {
  return table.columns.filter(({ kind }) => kind === "number");
}

function classesIn(column) {
  return valuesOf(column, column.values.keys()).map(String);
}

function labelChoices(table) {
  return table.columns.filter((column) => {
    const { length } = classesIn(column);
    return length >= 2 && length <= CLASSES;
  });
}

/** The lists of columns, and of classes where the label has more than two. */
function offer(self) {
  const { table, choice, choices } = self;
  const numbers = numberColumns(table).map(({ name }) => name);
  const label = table.columns.find(({ name }) => name === choice.label);
  const classes = label ? classesIn(label) : [];
  if (classes.length > 2 && !classes.includes(choice.plus)) choice.plus = classes[0];
  if (classes.length <= 2) delete choice.plus;
  const lists = [
    chooser(self, "x", "Across", numbers, choice.principal), chooser(self, "y", "Up", numbers, choice.principal),
    chooser(self, "label", "Label", labelChoices(table).map(({ name }) => name)),
  ];
  if (classes.length > 2) lists.push(chooser(self, "plus", "This class against all others", classes));
  choices.replaceChildren(...lists);
  if (numbers.filter((name) => name !== choice.label).length > 2) choices.append(principalBox(self));
  choices.hidden = false;
}

function chooser(self, key, text, options, disabled = false) {
  const list = element("select", { id: `own-${key}`, disabled }, ...options.map((name) => element("option", { value: name, text: name.slice(0, 80) })));
  list.value = self.choice[key] ?? "";
  list.addEventListener("change", () => chosen(self, key, list.value));
  return element("label", {}, element("span", { class: "soft", text }), list);
}

function principalBox(self) {
  const box = element("input", { id: "own-principal", type: "checkbox", checked: Boolean(self.choice.principal) });
  box.addEventListener("change", () => chosen(self, "principal", box.checked));
  return element("label", { class: "wide" }, box, element("span", { text: "The first two principal directions of all columns of numbers instead" }));
}

function chosen(self, key, value) {
  self.choice[key] = value;
  const { id } = document.activeElement;
  offer(self);
  if (id) self.choices.querySelector(`#${CSS.escape(id)}`)?.focus();
  make(self);
}

/** The points of this choice, with a sentence for each thing that was done to the rows. */
function make(self) {
  try {
    const made = twoColumns(self.table, self.choice);
    if (made.points.length > MOST_POINTS) {
      made.notes.push(`Only the first ${MOST_POINTS} of ${made.points.length} rows are shown; Python takes them all.`);
      made.points = made.points.slice(0, MOST_POINTS);
    }
    self.made = made;
    const count = `${made.points.length} points: ${made.names.plus.slice(0, 60)} against ${made.names.minus.slice(0, 60)}.`;
    self.said.replaceChildren(...[count, ...made.notes].map((text) => element("p", { text })));
    self.show.disabled = made.points.length === 0;
  } catch (error) {
    complain(self, error.message);
  }
}

function complain(self, text) {
  self.made = null;
  self.show.disabled = true;
  self.said.replaceChildren(element("p", { class: "wrong", text }));
}

/** To the plane with it. An intercept is what tables need as a rule: nobody centres their columns for us. */
function use(self) {
  const { points, names, notes, of } = self.made;
  self.store.set({ points, names, source: { id: "file", title: self.title, notes, of, edited: true }, intercept: true, t: null }, { undo: true });
  self.dialog.close();
}
