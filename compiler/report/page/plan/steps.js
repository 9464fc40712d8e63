// ---- 2: the table of steps, folded to layers

const stepTable = { key: "number", down: false, filter: "", open: new Set(), detail: -1 };

const stepColumns = [
  { key: "number", title: "#", number: true, of: (step, i) => i, write: value => value },
  { key: "source", title: "Layer and source", of: step => sourcesOf(step) },
  { key: "name", title: "Step", of: step => text(step.name) },
  { key: "kind", title: "Kind", of: step => step.kind },
  { key: "bytes", title: "Bytes", number: true, of: step => step.bytes, write: bytesText },
  { key: "flops", title: "Operations", number: true, of: step => step.flops, write: countText },
  { key: "seconds", title: "Time", number: true, of: secondsOf, write: secondsText },
  { key: "share", title: "Share", number: true, of: step => secondsOf(step) / entrySeconds(), write: percentText },
  { key: "roof", title: "Of roofline", number: true, of: ofRoof, write: percentText },
  { key: "bound", title: "Bound by", of: step => step.memory_bound ? "memory" : "arithmetic" },
];

const entrySeconds = () => report.entry.steps.reduce((sum, step) => sum + (step.first_way ? secondsOf(step) : 0), 0) || 1;

/// Steps of one phase of one layer, in the order of their first ones.
function stepGroups() {
  const groups = new Map();
  const wanted = stepTable.filter.toLowerCase();
  report.entry.steps.forEach((step, number) => {
    const words = `${sourcesOf(step)} ${text(step.name)} ${step.kind} ${step.phase}`.toLowerCase();
    if (!words.includes(wanted)) return;
    const name = `${text(step.layer)} (${step.phase || "no phase"})`;
    if (!groups.has(name)) groups.set(name, { name, steps: [] });
    groups.get(name).steps.push(number);
  });
  return [...groups.values()];
}

const sums = ["bytes", "flops", "seconds", "share"];

/// What the steps of a layer have in common, or the first of what they have.
function wordsOf(values) {
  const words = [...new Set(values)], most = 3;
  return words.slice(0, most).join(", ") + (words.length > most ? ", ..." : "");
}

function groupValue(group, column) {
  const values = group.steps.map(number => column.of(report.entry.steps[number], number));
  if (sums.includes(column.key)) return values.reduce((sum, value) => sum + value, 0);
  if (column.key === "number") return Math.min(...values);
  if (column.key !== "roof") return column.key === "source" ? group.name : wordsOf(values);
  const steps = group.steps.map(number => report.entry.steps[number]);
  const least = steps.reduce((sum, step) => sum + ofRoof(step) * secondsOf(step), 0);
  return least / (steps.reduce((sum, step) => sum + secondsOf(step), 0) || 1);
}

function compare(a, b) {
  const order = typeof a === "number" ? a - b : String(a).localeCompare(String(b));
  return stepTable.down ? -order : order;
}

function drawSteps() {
  const search = element("input", { type: "search", id: "find", placeholder: "Find a source, kernel or kind", value: stepTable.filter,
    oninput: event => { stepTable.filter = event.target.value; fillSteps(); } });
  const foldAll = link("Fold all", () => all(false));
  foldAll.id = "fold-all";
  const all = open => { stepTable.open = new Set(open ? stepGroups().map(group => group.name) : []); fillSteps(); };
  content("steps", element("div", { class: "controls" }, search, link("Unfold all", () => all(true)), foldAll,
    element("span", { class: "note", id: "found" })),
    element("div", { class: "scroll" }, element("table", { id: "step-table" })),
    note("A click on a layer unfolds it, one on a step tells more, one on a heading sorts. Times: " + timesText().slice(1, -1) + "."));
  fillSteps();
}

function fillSteps() {
  const groups = stepGroups(), column = stepColumns.find(candidate => candidate.key === stepTable.key);
  groups.sort((a, b) => compare(groupValue(a, column), groupValue(b, column)));
  const body = element("tbody", {});
  for (const group of groups) {
    body.append(groupRow(group));
    if (!stepTable.filter && !stepTable.open.has(group.name)) continue;
    group.steps.sort((a, b) => compare(column.of(report.entry.steps[a], a), column.of(report.entry.steps[b], b)));
    for (const number of group.steps) {
      body.append(stepRow(number));
      if (number === stepTable.detail) body.append(detailRow(number));
    }
  }
  document.getElementById("step-table").replaceChildren(headRow(), body);
  const count = groups.reduce((sum, group) => sum + group.steps.length, 0);
  document.getElementById("found").textContent = `${count} of ${counted(report.entry.steps.length, "step")}`;
  markSteps();
}

function headRow() {
  const sort = key => { stepTable.down = stepTable.key === key ? !stepTable.down : key !== "number" && stepColumns.find(c => c.key === key).number;
    stepTable.key = key; fillSteps(); };
  return element("thead", {}, element("tr", {}, ...stepColumns.map(column =>
    element("th", { class: "sortable", "data-key": column.key, onclick: () => sort(column.key) },
      column.title + (column.key === stepTable.key ? (stepTable.down ? " ▾" : " ▴") : "")))));
}

function cell(column, value) {
  return element("td", { class: column.number ? "number" : column.key === "source" ? "wide" : "short" }, String(column.write ? column.write(value) : value));
}

function groupRow(group) {
  const toggle = () => { if (!stepTable.open.delete(group.name)) stepTable.open.add(group.name); fillSteps(); };
  return element("tr", { "data-group": group.name, onclick: toggle }, ...stepColumns.map(column =>
    column.key === "source" ? element("td", { class: "wide" }, `${group.name}: ${counted(group.steps.length, "step")}`)
      : cell(column, groupValue(group, column))));
}

function stepRow(number) {
  const step = report.entry.steps[number];
  const click = () => { stepTable.detail = stepTable.detail === number ? -1 : number; chooseStep(number); fillSteps(); };
  return element("tr", { "data-step": number, onclick: click }, ...stepColumns.map(column => cell(column, column.of(step, number))));
}

/// Why the step takes its time, and where to go from here.
function detailRow(number) {
  const step = report.entry.steps[number], node = nodeOfStep(number);
  const kernel = node ? kernelOfNode(report.entry.graph.indexOf(node)) : 0;
  const words = `${percentText(secondsOf(step) / entrySeconds())} of the time; bound by ${step.memory_bound ? "memory" : "arithmetic"}, ` +
    `${percentText(ofRoof(step))} of the roofline${step.recomputed ? "; computed again to save memory" : ""}` +
    `${step.first_way ? "" : "; another way of doing the steps before, chosen when it runs"}. `;
  return element("tr", { id: "step-detail" }, element("td", { colspan: stepColumns.length }, words,
    link("Roofline", () => show("roofline")), link("Graph of the layer", () => show("graph")), link("Code", () => show("code")),
    link("Memory that it writes", () => { chooseBuffer(step.writes[0]); show("memory"); }),
    kernel ? link("What did not fuse with it", () => { chooseKernel(kernel); show("decisions"); }) : null));
}

/// Marks the chosen step, and those that read or write the chosen buffer.
function markSteps() {
  for (const row of document.querySelectorAll("#step-table tr[data-step]")) {
    const number = Number(row.dataset.step), step = report.entry.steps[number];
    row.classList.toggle("chosen", number === report.step);
    row.classList.toggle("touching", step.reads.includes(report.buffer) || step.writes.includes(report.buffer));
  }
}
