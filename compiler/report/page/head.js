// ---- 1: what the plan is

function drawHead() {
  const { head, states } = report.data;
  const { summary, memory, steps } = report.entry;
  const seconds = steps.filter(step => step.first_way).reduce((sum, step) => sum + secondsOf(step), 0);
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
  content("head", list, note("Bytes, operations and times are those of the largest sizes that the bounds allow."),
    head.from_plan ? note("The report is of a plan's file, which keeps no graph: sections 3 and 7 need the model.") : null);
}

const timesText = () => report.entry.steps.some(step => step.measured !== undefined)
  ? "(measured by smelt bench)"
  : "(estimated, not measured: the longer of bytes and operations at the rates that --summary takes for the target; give --profile)";
