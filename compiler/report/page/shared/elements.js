// ---- elements of pages, and how numbers are written

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
