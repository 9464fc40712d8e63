// ---- 1: what the plan is, and what its time goes into

/// Steps that run: of a choice between several ways, those of the first.
const takenSteps = () => report.entry.steps.filter(step => step.first_way);
const secondsOfAll = steps => steps.reduce((sum, step) => sum + secondsOf(step), 0);

/// What a step waits for.
function limitOf(step) {
  if (step.kind === "collective") return "transfers between ranks";
  const launch = report.data.rates.launch_seconds;
  if (leastSeconds(step) < launch && secondsOf(step) < 3 * launch) return "launches of small kernels";
  if (!step.memory_bound) return "the arithmetic of matmuls";
  return step.kind === "gemm" ? "the memory that matmuls read" : "the memory traffic of kernels";
}

/// [[limit, seconds]], the largest first.
function limits() {
  const found = new Map();
  for (const step of takenSteps()) found.set(limitOf(step), (found.get(limitOf(step)) || 0) + secondsOf(step));
  return [...found].sort((a, b) => b[1] - a[1]);
}

/// One sentence: what limits the step.
function planHeadline() {
  const steps = takenSteps(), all = secondsOfAll(steps);
  if (all === 0) return "This entry computes nothing.";
  const [first, second] = limits();
  const least = steps.reduce((sum, step) => sum + ofRoof(step) * secondsOf(step), 0);
  const next = second && second[1] / all >= 0.1 ? `, then ${second[0]} (${percentText(second[1] / all)})` : "";
  const measured = steps.some(step => step.measured !== undefined);
  return `@${report.entry.name} takes ${measured ? "" : "an estimated "}${secondsText(all)} and is limited by ${first[0]} (${percentText(first[1] / all)} of the time)${next}` +
    `${measured ? `; at the rates of the device it would take ${secondsText(least)}` : ""}.`;
}

const longestOf = steps => steps.reduce((a, b) => secondsOf(b) > secondsOf(a) ? b : a);
const kindOfGroup = step => step.kind === "kernel" ? "" : ` (${step.kind})`;

/// Kernels by the time of all their launches: of kernels that differ in the number of their layer alone, one row.
function kernelsByTime() {
  const groups = new Map();
  report.entry.steps.forEach((step, number) => {
    if (!step.first_way) return;
    const name = `${sourcesOf(step).replace(/\.\d+(?=\.|,|$)/g, ".*") || text(step.name)}${kindOfGroup(step)} ${step.phase}`;
    if (!groups.has(name)) groups.set(name, { name, steps: [], numbers: [] });
    groups.get(name).steps.push(step), groups.get(name).numbers.push(number);
  });
  return [...groups.values()].sort((a, b) => secondsOfAll(b.steps) - secondsOfAll(a.steps));
}

function kernelTable() {
  const all = secondsOfAll(takenSteps()) || 1, body = element("tbody", {}), groups = kernelsByTime(), most = 12;
  for (const { name, steps, numbers } of groups.slice(0, most)) {
    const seconds = secondsOfAll(steps), least = steps.reduce((sum, step) => sum + ofRoof(step) * secondsOf(step), 0);
    body.append(element("tr", { "data-first": numbers[0], class: "link", onclick: () => { chooseStep(numbers[0]); show("code"); } },
      element("td", { class: "number" }, secondsText(seconds)), element("td", { class: "number" }, percentText(seconds / all)),
      element("td", {}, element("span", { class: "bar", style: `width:${Math.max(1, Math.round(160 * seconds / secondsOfAll(groups[0].steps)))}px` })),
      element("td", { class: "number" }, String(steps.length)), element("td", { class: "number" }, percentText(least / seconds)),
      element("td", { class: "short" }, limitOf(longestOf(steps))), element("td", { class: "wide" }, name)));
  }
  const heads = ["Time", "Share", "", "Launches", "Of roofline", "Limited by", "Source (* is any layer) and phase"];
  const rest = groups.slice(most), words = rest.length === 0 ? null : note(`${counted(rest.length, "other kernel")}: ${secondsText(rest.reduce((sum, group) => sum + secondsOfAll(group.steps), 0))}.`);
  const table = element("table", { id: "kernel-times" }, element("thead", {}, element("tr", {}, ...heads.map(title => element("th", {}, title)))), body);
  return element("div", {}, element("div", { class: "scroll" }, table), words);
}

function drawHead() {
  const { head, states } = report.data;
  const { summary, memory } = report.entry;
  const seconds = secondsOfAll(takenSteps());
  const was = key => summary[key] === undefined ? "" : `, ${key.startsWith("bytes") ? bytesText(summary[key]) : summary[key]} before fusion`;
  const rows = [
    ["Model", head.model], ["Target", head.target], ["Bounds", head.bounds.join(", ") || "none"],
    ["Command", head.command], ["Compiler", `smelt ${head.version}`],
    ["Kernels and copies", `${summary.launches}${was("launches_before")}`],
    ["Bytes that they move", `${bytesText(summary.bytes)}${was("bytes_before")}`],
    ["Matmuls by the library", `${summary.gemms}, ${bytesText(summary.gemm_bytes)}`],
    summary.collectives ? ["Collectives", `${summary.collectives}, ${bytesText(summary.collective_bytes)} a rank`] : null,
    ["Time", `${secondsText(seconds)} ${timesText()}`],
    ["Arena", `${bytesText(memory.arena)}; at least ${bytesText(memory.least)}, without reuse ${bytesText(memory.without_reuse)}`],
    ["States", states.map(state => `${state.name} ${bytesText(state.bytes)}`).join(", ") || "none"],
  ];
  const list = element("dl", {});
  for (const row of rows.filter(Boolean)) list.append(element("dt", {}, row[0]), element("dd", {}, row[1]));
  content("head", element("p", { class: "headline" }, planHeadline()), element("h3", {}, "Kernels by time"), kernelTable(), element("h3", {}, "The plan"), list, note("Bytes, operations and times are those of the largest sizes that the bounds allow."),
    head.from_plan ? note("The report is of a plan's file, which keeps no graph: sections 3 and 7 need the model.") : null);
}

const timesText = () => report.entry.steps.some(step => step.measured !== undefined)
  ? "(measured by smelt bench)"
  : "(estimated, not measured: the longer of bytes and operations at the rates that --summary takes for the target; give --profile)";
