// ---- 5: what lies where in the arena, and when

const roleColours = { saved: "#3f6fb5", temporary: "#5aa469", workspace: "#9a9a9a" };
const bufferOf = id => report.entry.buffers.find(buffer => buffer.id === id);

function chooseBuffer(id) {
  report.buffer = id;
  drawMemory(), markSteps();
}

/// Unfolds the layers of the steps that use the buffer, and shows them.
function showUsers(id) {
  chooseBuffer(id);
  const uses = step => step.reads.includes(id) || step.writes.includes(id);
  for (const group of stepGroups())
    if (group.steps.some(number => uses(report.entry.steps[number]))) stepTable.open.add(group.name);
  fillSteps();
  show("steps");
  const row = document.querySelector("#step-table tr.touching");
  if (row) row.scrollIntoView({ block: "center" });
}

function stepsOf(id, what) {
  return report.entry.steps.map((step, number) => step[what].includes(id) ? number : -1).filter(number => number >= 0);
}

function aliveAt(step) {
  const found = [];
  for (const buffer of report.entry.buffers) {
    const bytes = (buffer.lives || []).filter(life => life[2] <= step && step <= life[3]).reduce((sum, life) => sum + life[1] - life[0], 0);
    if (bytes > 0) found.push({ buffer, bytes });
  }
  return found.sort((a, b) => b.bytes - a.bytes);
}

function drawMemory() {
  const { memory, buffers, steps } = report.entry;
  if (memory.arena === 0) return void content("memory", note("This entry keeps nothing in the arena."));
  const width = 1000, height = 380, left = 70, bottom = 24;
  const x = step => left + step / Math.max(1, steps.length) * (width - left - 6);
  const y = byte => height - bottom - byte / memory.arena * (height - bottom - 8);
  const chart = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, id: "arena" });
  for (const buffer of buffers)
    for (const [begin, end, first, last] of buffer.lives || [])
      chart.append(drawn("rect", { "data-buffer": buffer.id, x: x(first), y: y(end), width: Math.max(1, x(last + 1) - x(first)),
        height: Math.max(0.7, y(begin) - y(end)), fill: roleColours[buffer.role] || "#999", "fill-opacity": 0.75,
        stroke: "#fff", "stroke-width": 0.3, class: buffer.id === report.buffer ? "chosen" : null, onclick: () => showUsers(buffer.id) },
        drawn("title", {}, `${text(buffer.name)} (${buffer.role}): ${bytesText(end - begin)}, steps ${first} to ${last}`)));
  const peak = memory.peak_step;
  const curve = memory.used.map((bytes, step) => `${x(step + 0.5)},${y(bytes)}`).join(" ");
  chart.append(drawn("polyline", { class: "roof", points: curve }),
    drawn("line", { class: "limit", x1: x(peak + 0.5), x2: x(peak + 0.5), y1: 8, y2: height - bottom }),
    drawn("text", { class: "soft", x: 4, y: 16 }, bytesText(memory.arena)), drawn("text", { class: "soft", x: 4, y: height - bottom }, "0"),
    drawn("text", { class: "soft", x: left, y: height - 8 }, "step 0"), drawn("text", { class: "soft", x: width - 60, y: height - 8 }, `step ${steps.length - 1}`));
  const legend = Object.entries(roleColours).map(([role, colour]) => element("span", {}, element("span", { class: "bar", style: `width:12px;background:${colour}` }), ` ${role}`));
  content("memory", element("div", { class: "controls" }, ...legend, element("span", {}, "line: bytes in use; dashed: the peak")), chart,
    chosenBuffer(), element("h3", {}, `What lives at the peak: ${peakMoment(peak)}, ${bytesText(memory.least)} of ${bytesText(memory.arena)}`),
    peakGroups(memory.peak), peakTable(peak),
    note("A click on a rectangle, or on a row, shows the steps that write and read the buffer."));
}

function chosenBuffer() {
  const buffer = bufferOf(report.buffer);
  if (!buffer) return null;
  return note(`Chosen: ${text(buffer.name)} (${buffer.role}), ${bytesText(buffer.bytes)}, written by steps ${stepsOf(buffer.id, "writes").join(", ") || "none"}, ` +
    `read by ${stepsOf(buffer.id, "reads").join(", ") || "none"}.`);
}

function peakMoment(peak) {
  const step = report.entry.steps[peak];
  return [`step ${peak}`, text(step.name), step.phase, step.sources.slice(0, 3).map(text).join(", ")].filter(part => part).join(", ");
}

/// The largest groups of buffers of one role whose sources differ in the layer's number alone.
function peakGroups(groups) {
  const body = element("tbody", {});
  for (const group of groups.slice(0, 10))
    body.append(element("tr", {}, element("td", { class: "number" }, bytesText(group.bytes)), element("td", {}, group.role),
      element("td", { class: "number" }, String(group.buffers)), element("td", { class: "wide" }, text(group.source))));
  const heads = ["Bytes", "Role", "Buffers", "Of (* is any layer)"].map(title => element("th", {}, title));
  return element("table", { id: "peak-groups" }, element("thead", {}, element("tr", {}, ...heads)), body);
}

function peakTable(peak) {
  const body = element("tbody", {});
  for (const { buffer, bytes } of aliveAt(peak)) {
    const writer = stepsOf(buffer.id, "writes")[0];
    body.append(element("tr", { "data-buffer": buffer.id, onclick: () => showUsers(buffer.id) }, element("td", { class: "number" }, bytesText(bytes)),
      element("td", {}, buffer.role), element("td", { class: "wide" }, text(buffer.name)),
      element("td", { class: "wide" }, writer === undefined ? "" : `#${writer} ${sourcesOf(report.entry.steps[writer])}`)));
  }
  const heads = ["Bytes", "Role", "Buffer", "First written by"].map(title => element("th", {}, title));
  return element("div", { class: "scroll", style: "max-height:16em" }, element("table", { id: "peak-table" }, element("thead", {}, element("tr", {}, ...heads)), body));
}
