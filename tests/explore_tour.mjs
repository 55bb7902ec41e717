// Prints the tour's steps for the tests: the data and the runs that each sets up, and what it says of them.

import { pathToFileURL } from "node:url";

globalThis.matchMedia = () => ({ addEventListener() {} }); // the page's helpers ask for the colour scheme as they load
const { STEPS, patchOf } = await import(pathToFileURL(`${process.argv[2]}/tour.js`));

const numbers = (_, value) => (value === Infinity ? "inf" : value);
const told = STEPS.map((step) => ({ title: step.title, text: `${step.says} ${step.look}`, counts: step.counts ?? [], ...patchOf(step) }));
process.stdout.write(JSON.stringify(told, numbers));
