// ---- 8: another plan, whose steps are matched by the names of their sources

function drawDifference() {
  const { diff } = report.data, place = document.getElementById("difference");
  place.hidden = !diff;
  if (!diff) return;
  const entry = diff.entries[report.entry.name];
  if (!entry) return void content("difference", note(`${diff.against} has no entry @${report.entry.name}.`));
  const facts = element("dl", {});
  for (const [title, key, write] of [["Steps", "steps", String], ["Bytes moved", "bytes", bytesText], ["Arena", "arena", bytesText], ["Estimated time", "estimated", secondsText]])
    facts.append(element("dt", {}, title), element("dd", {}, `${write(entry.before[key])} → ${write(entry.after[key])}`));
  const body = element("tbody", {});
  for (const change of entry.changes) {
    for (const step of change.before) body.append(changeRow("before", step));
    for (const step of change.after) body.append(changeRow("after", step));
    body.append(element("tr", {}, element("td", { colspan: 6 }, "")));
  }
  const heads = ["", "#", "Step", "Sources", "Bytes", "Time (estimated)"].map(title => element("th", {}, title));
  const moved = entry.moved > 0 ? `, ${entry.moved} of them in another place` : "";
  content("difference", note(`From ${diff.against} for ${diff.target} to this plan. ${entry.equal} steps are equal${moved}; below stand the others.`), facts,
    entry.changes.length > 0 ? element("div", { class: "scroll" }, element("table", { id: "change-table" }, element("thead", {}, element("tr", {}, ...heads)), body))
      : note("No step is another."));
}

/// A step of this plan is shown by a click.
function changeRow(side, step) {
  const click = () => { if (side === "after") chooseStep(step.number), show("code"); };
  return element("tr", { "data-change": side, onclick: click }, element("td", {}, side === "before" ? "−" : "+"), element("td", { class: "number" }, String(step.number)),
    element("td", {}, `${step.name} (${step.phase})`), element("td", { class: "wide" }, step.sources),
    element("td", { class: "number" }, bytesText(step.bytes)), element("td", { class: "number" }, secondsText(step.estimated)));
}
