// ---- the page begins

function start() {
  const { data, lines } = JSON.parse(document.getElementById("data").textContent);
  report.data = unpacked(data, lines);
  const choice = document.getElementById("entry");
  for (const entry of report.data.entries) choice.append(element("option", { value: entry.name }, `@${entry.name}`));
  choice.addEventListener("change", () => chooseEntry(choice.value));
  const preferred = report.data.entries.find(entry => entry.name === "train_step") || report.data.entries[0];
  if (!preferred) return void content("head", note("The plan has no entries."));
  choice.value = preferred.name;
  chooseEntry(preferred.name);
  for (const section of document.querySelectorAll("main > section"))
    if (!section.hidden) document.getElementById("contents").append(element("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
}

document.addEventListener("DOMContentLoaded", start);
