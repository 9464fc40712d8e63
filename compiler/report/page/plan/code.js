// ---- 6: what a step runs, from its operations to the code of the target

function drawCode() {
  const step = report.entry.steps[report.step];
  if (!step) return void content("code", note("Choose a step in a table, the roofline, the graph or the list of decisions."));
  const kernel = step.kernel >= 0 ? report.data.kernels[step.kernel] : null;
  const facts = [["Step", `#${report.step} of @${report.entry.name}: ${text(step.name)} (${step.kind}, ${step.phase || "no phase"})`], ["Sources", sourcesOf(step)],
    ["Moves", `${bytesText(step.bytes)}, ${countText(step.flops)} operations, ${secondsText(secondsOf(step))}`],
    ["Reads", step.reads.map(bufferText).join(", ") || "nothing"], ["Writes", step.writes.map(bufferText).join(", ") || "nothing"]];
  if (kernel) facts.push(["Schedule", Object.entries(kernel.schedule).map(([key, value]) => `${key} ${value}`).join(", ")]);
  if (kernel && isForGpu()) facts.push(["Multiprocessor", resourcesText(kernel)]);
  if (step.choice !== undefined) facts.push(["Ways", waysOf(step)]);
  const list = element("dl", {});
  for (const [key, value] of facts) list.append(element("dt", {}, key), element("dd", {}, value));
  const texts = linkedTexts(report.step, kernel);
  content("code", list, element("div", { class: "panes" }, pane("Operations", texts.operations, "primitives"),
    pane("Kernel", texts.kernel, "kernel-text"), pane(kernel ? kernel.language : "Code", texts.code, "target-code")),
    kernel ? note("A line that is pointed at marks those of the other texts that are about the same values; a click keeps them marked.")
      : note("No kernel is made for the step: the library or the runtime does it."));
  markLines([]);
}

function bufferText(id) {
  const buffer = bufferOf(id);
  return buffer ? `${text(buffer.name)} ${bytesText(buffer.bytes)}` : `buffer ${id}`;
}

const isForGpu = () => report.data.head.target.startsWith("sm_");

/// What the machine code needs, which only a plan's file has.
function resourcesText(kernel) {
  const needs = kernel.resources;
  if (!needs) return report.data.head.from_plan ? "not known: the plan has no machine code of it that can be read"
    : "not known before it is compiled: make the plan's file (smelt compile -o) and the report of that";
  const stack = needs.stack_bytes > 0 ? `${bytesText(needs.stack_bytes)} of stack a thread in local memory, spilled registers among it` : "no stack, so nothing is spilled";
  const asked = needs.launch_shared_bytes > 0 ? `, of which a launch asks for up to ${bytesText(needs.launch_shared_bytes)}` : "";
  return `${needs.registers} registers a thread, ${bytesText(needs.shared_bytes + needs.launch_shared_bytes)} of shared memory a block${asked}, ${stack}; ` +
    `it holds ${needs.blocks} blocks of ${needs.threads} threads, ${percentText(needs.occupancy)} of the most threads, bounded by ${needs.bound}`;
}

/// The alternatives of the choice that the step is a part of, with their steps and times.
function waysOf(step) {
  const choice = report.entry.choices[step.choice], list = element("ul", { id: "ways" });
  choice.alternatives.forEach((name, alternative) => {
    const numbers = report.entry.steps.map((other, number) => number).filter(number =>
      report.entry.steps[number].choice === step.choice && report.entry.steps[number].alternative === alternative);
    const steps = numbers.map(number => report.entry.steps[number]), measured = steps.every(other => other.measured !== undefined);
    list.append(element("li", { class: alternative === step.alternative ? "chosen" : null }, link(name, () => chooseStep(numbers[0])),
      ` steps ${numbers.map(number => `#${number}`).join(", ")}: ${secondsText(steps.reduce((sum, other) => sum + secondsOf(other), 0))}, ${measured ? "measured" : "estimated"}`));
  });
  const rule = choice.rule ? `Where ${choice.rule} the last one runs, and only there. ` : "";
  const trials = isForGpu() ? "Which is the fastest is tried on the GPU where sizes are first seen. Plans keep no times of these trials: --profile has those of the way that was taken."
    : "The first one runs.";
  return element("div", {}, list, note(rule + trials));
}

function pane(title, lines, id) {
  if (lines.length === 0) return null;
  const pre = element("pre", { id, onmouseover: event => markLines(valuesAt(event)), onmouseleave: () => markLines(report.values),
    onclick: event => { report.values = valuesAt(event); markLines(report.values); showMarked(event.currentTarget); } });
  for (const line of lines) pre.append(line.element = element("span", { class: "line" }, line.text), "\n");
  return element("div", {}, element("h3", {}, title), pre);
}
