// ---- what the page is made of, and how numbers are written

const report = { data: null, entry: null, step: -1, layer: "", phase: "", kernel: 0, buffer: -1, values: [] };

/// What compiler/report/report_data.h has made smaller.
function unpacked(value, lines) {
  if (Array.isArray(value)) return value.map(part => unpacked(part, lines));
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value.lines)) return value.lines.map(part => typeof part === "number" ? lines[part] : part).join("\n");
  if (Array.isArray(value.rows)) return value.rows.map(row => unpackedRow(value, row, lines));
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, unpacked(part, lines)]));
}

function unpackedRow({ fields, words }, row, lines) {
  const object = {};
  row.forEach((value, i) => { if (value !== null) object[fields[i]] = words[i] ? words[i][value] : unpacked(value, lines); });
  return object;
}

const text = number => report.data.texts[number];

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {}))
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

const element = (tag, attributes, ...children) => filled(document.createElement(tag), attributes, children);
const drawn = (tag, attributes, ...children) =>
  filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

function content(section, ...children) {
  const place = document.querySelector(`#${section} .content`);
  place.replaceChildren(...children.filter(child => child !== null && child !== undefined));
  return place;
}

const show = section => document.getElementById(section).scrollIntoView({ block: "start" });
const link = (label, action) => element("button", { class: "link", onclick: event => { event.stopPropagation(); action(); } }, label);
const note = words => element("p", { class: "note" }, words);

function scaled(value, units, base) {
  let unit = 0;
  while (Math.abs(value) >= base && unit + 1 < units.length) value /= base, ++unit;
  const digits = unit === 0 && Number.isInteger(value) ? 0 : Math.abs(value) < 100 ? 1 : 0;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

const bytesText = bytes => scaled(bytes, ["B", "KiB", "MiB", "GiB", "TiB"], 1024);
const countText = count => scaled(count, ["", "k", "M", "G", "T", "P"], 1000).trim();
function secondsText(seconds) {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  return seconds >= 1e-3 ? `${(seconds * 1e3).toFixed(2)} ms` : `${(seconds * 1e6).toFixed(1)} us`;
}
const counted = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
const percentText = part => `${(100 * part).toFixed(1)}%`;

// ---- steps

const sourcesOf = step => step.sources.map(text).join(", ");
const secondsOf = step => step.measured === undefined ? step.estimated : step.measured;
/// Of the time that the bytes or the operations need at least, what part of the step's.
const ofRoof = step => Math.min(1, leastSeconds(step) / secondsOf(step)) || 0;

/// The longer of what the step's bytes take and what its products take, at the rates of the target.
const leastSeconds = step => step.estimated - report.data.rates.launch_seconds;

function chooseEntry(name) {
  report.entry = report.data.entries.find(entry => entry.name === name);
  Object.assign(report, { step: -1, kernel: 0, buffer: -1 });
  const has_name = step => !text(step.layer).startsWith("(");
  const first = report.entry.steps.find(has_name) || report.entry.steps[0];
  report.layer = first ? text(first.layer) : "";
  report.phase = first ? first.phase : "";
  for (const draw of [drawHead, drawSteps, drawGraph, drawRoofline, drawMemory, drawCode, drawDecisions, drawDifference]) draw();
}

/// Makes a step the one that sections 3, 4 and 6 are about.
function chooseStep(number) {
  const step = report.entry.steps[number];
  Object.assign(report, { step: number, layer: text(step.layer), phase: step.phase });
  drawGraph(), drawRoofline(), drawCode(), markSteps();
}

/// Of nodes that are steps, the first one that became this step.
function nodeOfStep(number) {
  return (report.entry.graph || []).find(node => node.steps && node.steps.includes(number));
}

/// The number of the fused kernel that a node is; 0 where it is none.
function kernelOfNode(place) {
  const kernel = (report.entry.kernels || []).find(candidate => candidate.node === place);
  return kernel ? kernel.number : 0;
}

function chooseKernel(number) {
  report.kernel = number;
  drawDecisions();
}
