// Put behind the page's own script by report_command_test.cpp: uses the page as a person would, and leaves what it found in #checks.
"use strict";

const failures = [];
let checks = 0;
const check = (holds, what) => { ++checks; if (!holds) failures.push(what); };
const all = selector => [...document.querySelectorAll(selector)];
const one = selector => document.querySelector(selector);
const click = (target, what) => { check(Boolean(target), `there is ${what} to click`); if (target) target.dispatchEvent(new MouseEvent("click", { bubbles: true })); };
const isSorted = (values, before) => values.every((value, i) => i === 0 || before(values[i - 1], value));
const chosenInCode = () => Number((one("#code dd") || { textContent: "" }).textContent.replace(/^#(\d+) .*/s, "$1"));

function structure() {
  check(all("main > section").length === 8, "eight sections");
  check(all("nav a").length === 8, "a link to each");
  check(one("#head dl").textContent.includes("Arena"), "the head tells the arena");
  check(/^@\S+ takes an estimated .* and is limited by .*\.$/.test(one("#head .headline").textContent), "one sentence says what limits the step");
  const times = kernelsByTime().map(group => secondsOfAll(group.steps));
  check(isSorted(times, (a, b) => a >= b) && all("#kernel-times tbody tr").length === Math.min(12, times.length), "kernels by time, the longest first");
  check(Math.abs(times.reduce((a, b) => a + b, 0) / secondsOfAll(takenSteps()) - 1) < 1e-9, "which are all of the time");
  check(/^h\.\d/.test(report.layer), "the page opens on a block");
  check(report.entry.steps.every(step => ofRoof(step) <= 1), "no step is above the roofline");
  check(one("#head").textContent.includes("estimated, not measured"), "estimates are called so");
  check(all("#arena rect").length === report.entry.buffers.reduce((sum, buffer) => sum + (buffer.lives || []).length, 0), "a rectangle a life");
  check(all("#roofline circle").length === report.entry.steps.filter(step => step.flops > 0).length, "a dot a step that computes");
  check(performance.getEntriesByType("resource").length === 0, "nothing is requested");
}

function foldSortAndSearch() {
  check(all("tr[data-step]").length === 0, "layers begin folded");
  const groups = () => all("tr[data-group]").map(row => row.dataset.group);
  check(groups().some(name => name.startsWith("h.1 (forward")), "layers by phase");
  click(one("tr[data-group]"), "a layer");
  check(all("tr[data-step]").length > 0, "a click unfolds a layer");
  click(one("tr[data-group]"), "the layer again");
  check(all("tr[data-step]").length === 0, "another folds it");
  const seconds = () => stepGroups().map(group => [group.name, group.steps.reduce((sum, n) => sum + secondsOf(report.entry.steps[n]), 0)]);
  click(one("th[data-key=seconds]"), "the heading of times");
  const times = new Map(seconds());
  check(isSorted(groups().map(name => times.get(name)), (a, b) => a >= b), "the longest first");
  click(one("th[data-key=seconds]"), "the heading again");
  check(isSorted(groups().map(name => times.get(name)), (a, b) => a <= b), "the shortest first");
  const search = one("#find");
  search.value = "h.1.mlp", search.dispatchEvent(new Event("input"));
  check(all("tr[data-step]").length > 0 && all("tr[data-step]").every(row => row.textContent.includes("h.1.mlp")), "only what was looked for");
  search.value = "", search.dispatchEvent(new Event("input"));
  click(one("th[data-key=seconds]"), "the heading once more");
}

function whyIsThisSlow() {
  click(one("tr[data-group]"), "the slowest layer");
  const row = all("tr[data-step]").find(candidate => report.entry.steps[candidate.dataset.step].kind === "kernel" && report.entry.steps[candidate.dataset.step].flops > 0);
  click(row, "its slowest kernel");
  const step = Number(row.dataset.step);
  check(/% of the time; bound by (memory|arithmetic)/.test((one("#step-detail") || row).textContent), "it says why");
  const dot = one("#roofline circle.chosen");
  check(dot && Number(dot.dataset.step) === step, "the roofline marks the step");
  click(dot, "the dot");
  check(chosenInCode() === step, "the code is the step's");
  check(one("#kernel-text").textContent.includes("kernel @") && one("#target-code").textContent.length > 100, "its kernel and code");
  check(one("#primitives").textContent.includes("return "), "its primitives");
  check(all(".same").length === 0, "nothing is marked before");
  const line = all("#kernel-text .line").find(candidate => /= (mul|add|sub) /.test(candidate.textContent));
  click(line, "a line of the kernel");
  for (const id of ["primitives", "kernel-text", "target-code"])
    check(all(`#${id} .same`).length > 0 && all(`#${id} .same`).length < all(`#${id} .line`).length, `lines of ${id} are marked`);
  check(line.classList.contains("same"), "the line itself is marked");
  const operation = line.textContent.match(/= (\w+)/)[1];
  check(all("#primitives .same").some(marked => marked.textContent.includes(`= ${operation} `)), "the operation is the line's");
}

/// Of all kernels: nearly every value has lines of code, and nearly every operation lines of the kernel.
function linesAreLinked() {
  let values = 0, inCode = 0, operations = 0, inKernel = 0;
  report.entry.steps.forEach((step, number) => {
    const known = step.kernel >= 0 && report.data.kernels[step.kernel].origins.some(part => part.some(place => place >= 0));
    if (!known) return;  // such as what finishes sums
    chooseStep(number);
    const code = new Set(all("#target-code .line").flatMap(element => shownLines.find(line => line.element === element).values));
    for (const line of shownLines) {
      const computes = / = (?!constant|broadcast|input|index|iota)/.test(line.text);
      if (computes && line.makes !== undefined) ++values, inCode += line.values.some(value => code.has(value));
      if (computes && line.node) ++operations, inKernel += line.values.length > 0;
    }
  });
  check(values > 100 && inCode > 0.9 * values, `${inCode} of ${values} values have code`);
  check(operations > 100 && inKernel > 0.8 * operations, `${inKernel} of ${operations} operations have instructions`);
}

/// As a picture would show it: sections one below the other, as wide as the window, with drawings that can be seen.
function layout() {
  const boxes = all("main > section").map(section => section.getBoundingClientRect());
  check(boxes.every(box => box.width > 300 && box.height > 30), "every section can be seen");
  check(boxes.every((box, i) => i === 0 || box.top >= boxes[i - 1].bottom), "no section covers another");
  check(document.documentElement.scrollWidth <= innerWidth, "nothing is wider than the window");
  const drawings = all("main svg").map(drawing => drawing.getBoundingClientRect());
  check(drawings.length >= 3 && drawings.every(box => box.width > 100 && box.height > 50), "three drawings can be seen");
  const panes = all("#code pre").map(pre => pre.getBoundingClientRect());
  check(panes.length === 3 && panes.every(box => box.width > 100 && box.height > 20), "three texts can be seen");
}

function whyDidThisNotFuse() {
  const rows = () => all("tr[data-border]").map(row => report.entry.borders[row.dataset.border]);
  check(rows().length > 0 && rows().every(border => border.bytes > 0 && border.reason !== "own_step"), "refusals first, all with bytes");
  check(isSorted(rows().map(border => border.bytes), (a, b) => a >= b), "the most bytes first");
  const refusals = rows().length;
  click(one("#own"), "the box of other steps");
  check(rows().length > refusals, "which then stand there, too");
  click(one("#own"), "the box again");
  const box = all("#layer-graph g[data-kernel]").find(candidate => report.entry.borders.some(border => border.reason !== "own_step" &&
    (border.from === Number(candidate.dataset.kernel) || border.into === Number(candidate.dataset.kernel))));
  const kernel = box ? Number(box.dataset.kernel) : 0;
  check(all("#layer-graph path.edge").length > 0 && /\d (B|KiB|MiB)/.test(one("#layer-graph").textContent), "edges have bytes");
  click(box, "a kernel of the graph");
  check(one("#only") && rows().length > 0 && rows().every(border => border.from === kernel || border.into === kernel), "the decisions are that kernel's");
  const border = rows()[0];
  click(one("tr[data-border]"), "a decision");
  check([border.into, border.from].map(stepOfKernel).includes(chosenInCode()), "the code is one of the two kernels'");
}

function whereDidTheMemoryGo() {
  const peak = report.entry.memory.peak_step;
  check(one("#memory h3").textContent.includes(`step ${peak}`), "the peak is named");
  check(one("#memory h3").textContent.includes(text(report.entry.steps[peak].name)), "with the step's name");
  const groups = report.entry.memory.peak;
  check(groups.reduce((sum, group) => sum + group.bytes, 0) === report.entry.memory.least, "groups make the peak");
  check(all("#peak-groups tbody tr").length === Math.min(10, groups.length), "and the largest ten are listed");
  check(all("#peak-table tr[data-buffer]").length === aliveAt(peak).length, "what lives there is listed");
  check(aliveAt(peak).reduce((sum, life) => sum + life.bytes, 0) >= report.entry.memory.least, "and makes the peak");
  click(one("#fold-all"), "fold all");
  const largest = aliveAt(peak)[0].buffer.id;
  click(all("#arena rect").find(rect => Number(rect.dataset.buffer) === largest), "the largest rectangle");
  const touching = all("tr.touching").map(row => report.entry.steps[row.dataset.step]);
  const uses = step => step.reads.includes(largest) || step.writes.includes(largest);
  check(touching.length > 0 && touching.every(uses), "the steps that use it are shown");
  check(touching.length === report.entry.steps.filter(uses).length, "all of them");
}

function whatDiffers() {
  const { changes } = report.data.diff.entries[report.entry.name];
  const count = changes.reduce((sum, change) => sum + change.before.length + change.after.length, 0);
  check(count > 0 && all("tr[data-change]").length === count, "changed steps are listed");
}

for (const part of [structure, foldSortAndSearch, whyIsThisSlow, layout, whyDidThisNotFuse, whereDidTheMemoryGo, whatDiffers, linesAreLinked])
  try {
    part();
  } catch (problem) {
    failures.push(`${part.name}: ${problem.stack}`);
  }
const result = document.createElement("pre");
result.id = "checks";
result.textContent = failures.length > 0 ? `failed: ${failures.join("; ")}` : `${checks} checks passed`;
document.body.replaceChildren(result);
