// ---- 6: what a step runs, from its primitives to the code of the target

function drawCode() {
  const step = report.entry.steps[report.step];
  if (!step) return void content("code", note("Choose a step in a table, the roofline, the graph or the list of decisions."));
  const kernel = step.kernel >= 0 ? report.data.kernels[step.kernel] : null, node = nodeOfStep(report.step);
  const facts = [["Step", `#${report.step} of @${report.entry.name}: ${text(step.name)} (${step.kind}, ${step.phase || "no phase"})`], ["Sources", sourcesOf(step)],
    ["Moves", `${bytesText(step.bytes)}, ${countText(step.flops)} operations, ${secondsText(secondsOf(step))}`],
    ["Reads", step.reads.map(bufferText).join(", ") || "nothing"], ["Writes", step.writes.map(bufferText).join(", ") || "nothing"]];
  if (kernel) facts.push(["Schedule", Object.entries(kernel.schedule).map(([key, value]) => `${key} ${value}`).join(", ")]);
  const list = element("dl", {});
  for (const [key, value] of facts) list.append(element("dt", {}, key), element("dd", {}, value));
  content("code", list, element("div", { class: "panes" },
    pane("Primitives", node && node.body !== undefined ? text(node.body) : "", "primitives"),
    pane("Kernel", kernel ? kernel.text : "", "kernel-text"), pane(kernel ? kernel.language : "Code", kernel ? kernel.code : "", "target-code")),
    kernel ? note("A click on a name, such as %3, marks it wherever it stands in the same text.") : note("No kernel is made for the step: the library or the runtime does it."));
}

function bufferText(id) {
  const buffer = bufferOf(id);
  return buffer ? `${text(buffer.name)} ${bytesText(buffer.bytes)}` : `buffer ${id}`;
}

function pane(title, code, id) {
  return code ? element("div", {}, element("h3", {}, title), element("pre", { id, onclick: markName }, ...named(code))) : null;
}

/// The text with its %names as elements, so that they can be marked.
function named(code) {
  return code.split(/(%[A-Za-z0-9_.]+)/).map((part, i) => i % 2 ? element("span", {}, part) : part);
}

function markName(event) {
  const name = event.target.tagName === "SPAN" ? event.target.textContent : "";
  for (const span of event.currentTarget.querySelectorAll("span")) span.classList.toggle("same", span.textContent === name);
}
