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
  const name = one("#kernel-text span");
  click(name, "a name in the code");
  check(all("#kernel-text span.same").length > 0 && all("#kernel-text span.same").every(span => span.textContent === name.textContent), "names are marked");
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

for (const part of [structure, foldSortAndSearch, whyIsThisSlow, whyDidThisNotFuse, whereDidTheMemoryGo, whatDiffers])
  try {
    part();
  } catch (problem) {
    failures.push(`${part.name}: ${problem.stack}`);
  }
const result = document.createElement("pre");
result.id = "checks";
result.textContent = failures.length > 0 ? `failed: ${failures.join("; ")}` : `${checks} checks passed`;
document.body.replaceChildren(result);
