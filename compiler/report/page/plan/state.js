// ---- the state of the page, and the times of steps

const report = { data: null, entry: null, step: -1, layer: "", phase: "", kernel: 0, buffer: -1, values: [] };

const text = number => report.data.texts[number];

const sourcesOf = step => step.sources.map(text).join(", ");
const secondsOf = step => step.measured === undefined ? step.estimated : step.measured;
/// Of the time that the bytes or the operations need at least, what part of the step's.
const ofRoof = step => Math.min(1, leastSeconds(step) / secondsOf(step)) || 0;

/// The longer of what the step's bytes take and what its products take, at the rates of the target.
const leastSeconds = step => step.estimated - report.data.rates.launch_seconds;

function chooseEntry(name) {
  report.entry = report.data.entries.find(entry => entry.name === name);
  Object.assign(report, { step: -1, kernel: 0, buffer: -1 });
  const first = typicalStep();
  report.layer = first ? text(first.layer) : "";
  report.phase = first ? first.phase : "";
  for (const draw of [drawHead, drawSteps, drawGraph, drawRoofline, drawMemory, drawCode, drawDecisions, drawDifference]) draw();
}

/// The first step of the layer and phase with the most steps: a block of the model.
function typicalStep() {
  const counts = new Map(), keyOf = step => `${text(step.layer)} ${step.phase}`;
  const named = report.entry.steps.filter(step => !text(step.layer).startsWith("("));
  for (const step of named) counts.set(keyOf(step), (counts.get(keyOf(step)) || 0) + (step.phase === "backward" ? 0.5 : 1));
  const most = Math.max(0, ...counts.values());
  return named.find(step => counts.get(keyOf(step)) === most) || report.entry.steps[0];
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
