// ---- 7: what was fused, and what was not and why

const decisionTable = { reason: "", own: false };
const reasonWords = {
  phase: "forward, backward and update stay apart", cycle: "a path leads from one through others back to it", loop_nest: "no one loop nest computes both",
  sweeps: "too many sweeps over the columns", single_row: "all would depend on one long row, which runs on one thread",
  update: "updates are to run in slices, and sum nothing", size: "the kernel would be too large to compile well",
  view: "one reads the other's result, or what it reads, through a view, which needs it in memory", own_step: "the other is a step without a fusion",
};

const kernelNumbered = number => report.entry.kernels[number - 1];
const kernelName = number => `#${number} ${text(kernelNumbered(number).source)}`;

/// The first step of a fused kernel; -1 where there is none.
function stepOfKernel(number) {
  const kernel = kernelNumbered(number), node = kernel && kernel.node >= 0 ? report.entry.graph[kernel.node] : null;
  return node && node.steps && node.steps.length > 0 ? node.steps[0] : -1;
}

function drawDecisions() {
  if (!report.entry.borders) return void content("decisions", note("A plan's file keeps no decisions of fusion: make the report of the model."));
  const reasons = Object.keys(reasonWords).filter(reason => report.entry.borders.some(border => border.reason === reason));
  const choose = element("select", { id: "reason", onchange: event => { decisionTable.reason = event.target.value; fillDecisions(); } },
    element("option", { value: "" }, "all reasons"),
    ...reasons.map(reason => element("option", { value: reason, selected: reason === decisionTable.reason ? "" : null }, reason)));
  const own = element("input", { type: "checkbox", id: "own", onchange: event => { decisionTable.own = event.target.checked; fillDecisions(); } });
  own.checked = decisionTable.own;
  const apart = report.data.refusals.map(refusal => element("li", {}, `${refusal.composite}: ${refusal.reason} (${bytesText(refusal.bytes)} of scores)`));
  content("decisions", element("div", { class: "controls" }, choose, element("label", {}, own, " steps of their own, too, such as matmuls"),
    report.kernel ? element("span", { id: "only" }, `Only kernel ${kernelName(report.kernel)} `, link("show all", () => chooseKernel(0))) : null,
    element("span", { class: "note", id: "decided" })),
    report.kernel ? kernelSummary(report.kernel) : null,
    element("div", { class: "scroll" }, element("table", { id: "border-table" })),
    apart.length > 0 ? element("h3", {}, "Composites that were taken apart, since no kernel computes them whole") : null,
    apart.length > 0 ? element("ul", {}, ...apart) : null,
    note("Bytes are those of the values between two kernels, or of what both read, as f32 even where less is stored. A click shows the code."));
  fillDecisions();
}

function kernelSummary(number) {
  const kernel = kernelNumbered(number);
  return note(`${text(kernel.source)} (${kernel.phase}): ${kernel.operations} operations, reads ${bytesText(kernel.read)}, writes ${bytesText(kernel.written)}.`);
}

function fillDecisions() {
  const { kernel } = report;
  const rows = report.entry.borders.map((border, number) => ({ border, number })).filter(({ border }) =>
    (decisionTable.own || border.reason !== "own_step") && (!decisionTable.reason || border.reason === decisionTable.reason) &&
    (!kernel || border.from === kernel || border.into === kernel));
  rows.sort((a, b) => b.border.bytes - a.border.bytes);
  const heads = ["Bytes", "Reason", "From", "", "Into", "Detail"].map(title => element("th", {}, title));
  document.getElementById("border-table").replaceChildren(element("thead", {}, element("tr", {}, ...heads)),
    element("tbody", {}, ...rows.map(({ border, number }) => borderRow(border, number))));
  const bytes = rows.reduce((sum, { border }) => sum + border.bytes, 0);
  document.getElementById("decided").textContent = `${rows.length} pairs that stayed apart, ${bytesText(bytes)}; ${report.entry.kernels.length} kernels`;
}

function borderRow(border, number) {
  const side = place => place ? kernelName(place) : text(border.other);
  const code = () => {
    const step = [border.into, border.from].map(place => place ? stepOfKernel(place) : -1).find(found => found >= 0);
    if (step !== undefined) chooseStep(step), show("code");
  };
  return element("tr", { "data-border": number, onclick: code }, element("td", { class: "number" }, bytesText(border.bytes)),
    element("td", { title: reasonWords[border.reason] }, border.reason), element("td", { class: "wide" }, side(border.from)),
    element("td", {}, border.siblings ? "beside" : "→"), element("td", { class: "wide" }, side(border.into)),
    element("td", { class: "wide" }, text(border.detail) || reasonWords[border.reason]));
}
