// Put after the run page's own script by report_command_test.cpp: looks at the page and uses its controls; the result is in #checks.
"use strict";

const failures = [];
let checks = 0;
const check = (holds, what) => { ++checks; if (!holds) failures.push(what); };
const all = selector => [...document.querySelectorAll(selector)];
const one = selector => document.querySelector(selector);

function structure() {
  check(all("main > section").length === 8 && all("nav a").length === 8, "eight sections, and a link to each");
  check(/^6 steps over \d+ tokens in .* reached a held-back loss of [\d.]+ at step \d+, at .* tokens\/s/.test(one(".headline").textContent), "one sentence says what came out");
  for (const id of ["loss", "rate", "speed", "memory"]) check(all(`#${id} svg.chart polyline`).length > 0, `${id} has a line`);
  check(all("#loss circle").length === run.data.evaluations.length, "a dot per evaluation");
  check(all("#samples pre").length === run.data.samples.length && run.data.samples.length === 1, "every sample");
  check(one("#options").textContent.includes("eval-every") || one("#options").textContent.includes("eval_every"), "the options");
  check(document.documentElement.scrollWidth <= innerWidth, "nothing is wider than the window");
  check(performance.getEntriesByType("resource").length === 0, "nothing is requested");
}

function controls() {
  const before = one("#loss svg").outerHTML;
  for (const across of ["tokens", "hours"]) {
    one("#across").value = across, one("#across").dispatchEvent(new Event("change"));
    check(one("#loss svg").textContent.includes(across === "tokens" ? "tokens" : " s"), `the axis is in ${across}`);
  }
  one("#across").value = "step", one("#across").dispatchEvent(new Event("change"));
  one("#smoothing").value = "100", one("#smoothing").dispatchEvent(new Event("input"));
  check(one("#loss svg").outerHTML !== before, "smoothing changes the curve");
  one("#logarithmic").checked = true, one("#logarithmic").dispatchEvent(new Event("change"));
  check(run.isLog && all("#loss svg polyline").length > 0, "a logarithmic axis");
}

function mathematics() {
  check(JSON.stringify(gridValues(0, 10, false)) === "[0,2,4,6,8,10]", "steps of a grid");
  check(JSON.stringify(gridValues(1, 100, true)) === "[1,2,5,10,20,50,100]", "steps of a logarithmic grid");
  const line = Array.from({ length: 50 }, (_, i) => [i, 3]);
  check(smoothed(line, 70).every(([x, y]) => Math.abs(y - 3) < 1e-9), "a constant stays one");
}

for (const part of [structure, controls, mathematics])
  try {
    part();
  } catch (error) {
    failures.push(`${part.name}: ${error}`);
  }
document.body.append(Object.assign(document.createElement("pre"), { id: "checks",
  textContent: failures.length === 0 ? `${checks} checks passed` : `failed: ${failures.join("; ")}` }));
