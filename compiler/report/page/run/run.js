// ---- the page of a run: docs/guides/report.md says what its data are

const run = { data: null, across: "step", smoothing: 40, isLog: false };

const hoursText = hours => hours >= 1 ? `${hours.toFixed(2)} h` : hours >= 1 / 60 ? `${(hours * 60).toFixed(1)} min` : `${(hours * 3600).toFixed(1)} s`;
const lossText = loss => Math.abs(loss) >= 100 || (loss !== 0 && Math.abs(loss) < 0.001) ? loss.toExponential(2) : loss.toFixed(Math.abs(loss) < 1 ? 4 : 3);
const rateText = rate => rate === 0 ? "0" : rate.toExponential(1);
const acrossTexts = { step: value => `step ${Math.round(value)}`, tokens: value => `${countText(value)} tokens`, hours: hoursText };
const last = list => list[list.length - 1];

/// [[x, value]] of the records that have a number there; x is that of the page.
function pointsOf(records, key) {
  return records.filter(record => Number.isFinite(record[key])).map(record => [xOf(record), record[key]]);
}

/// Evaluations have a step alone: their tokens and hours are those of the nearest record of a step.
function xOf(record) {
  if (record[run.across] !== undefined) return record[run.across];
  const near = run.data.steps.reduce((a, b) => Math.abs(a.step - record.step) < Math.abs(b.step - record.step) ? a : b, run.data.steps[0]);
  return near ? near[run.across] : record.step;
}

/// The names of the metrics of the evaluations other than the loss.
const ownFields = ["event", "step", "loss", "targets", "milliseconds", "tokens", "hours"];
const metricsOf = evaluations => [...new Set(evaluations.flatMap(Object.keys))].filter(name => !ownFields.includes(name));
const metricText = (name, value) => value === undefined ? "" : name.endsWith("accuracy") ? percentText(value) : value.toFixed(4);

const lineOf = (name, records, key, index, more = {}) => ({ name, colour: lineColours[index], points: pointsOf(records, key), ...more });
const charted = (lines, write, options = {}) => chart(lines, write, { across: acrossTexts[run.across], ...options });

/// One sentence: what came out, and where the time went.
function headline() {
  const { steps, evaluations, time } = run.data;
  const end = last(steps), best = evaluations.reduce((a, b) => b.loss < a.loss ? b : a, evaluations[0] || {});
  const loss = best.loss === undefined ? `a loss of ${lossText(end.loss)}` : `a held-back loss of ${lossText(best.loss)} at step ${best.step}`;
  const sum = time.steps + time.evaluations || 1;
  const share = time.evaluations > 0 ? `, ${percentText(time.evaluations / sum)} of the time in evaluations` : "";
  return `${counted(end.step, "step")} over ${countText(end.tokens)} tokens in ${hoursText(sum / 3600)} reached ${loss}, at ${countText(run.data.median.tokens_per_second)} tokens/s${share}.`;
}

/// What a reader should look at, if anything.
function remarks() {
  const { steps, evaluations, anomalies } = run.data, found = [];
  if (anomalies > 0) found.push(`${counted(anomalies, "step")} had a loss that is no number.`);
  const best = evaluations.reduce((a, b) => b.loss < a.loss ? b : a, evaluations[0] || {});
  if (evaluations.length > 2 && last(evaluations).loss > best.loss * 1.02)
    found.push(`The held-back loss rose from ${lossText(best.loss)} at step ${best.step} to ${lossText(last(evaluations).loss)}: the model has begun to fit its data by heart.`);
  const skipped = last(steps).skipped_steps;
  if (skipped > 0) found.push(`${counted(skipped, "update")} were skipped because a gradient overflowed or was a spike.`);
  return found;
}

function drawRunHead() {
  const { head, steps, median } = run.data, end = last(steps);
  const rows = [["Run", head.directory], ["Model", head.model], ["Data", head.data], ["Steps", `${end.step}`], ["Tokens", countText(end.tokens)],
    ["Time per step", `${secondsText(median.milliseconds / 1e3)} (median)`],
    median.gflops_per_second ? ["Rate", `${median.gflops_per_second.toFixed(1)} GFLOP/s${median.mfu ? `, ${percentText(median.mfu)} of the machine's peak` : ""}`] : null,
    ["Peak memory", bytesText(end.peak_bytes || 0)], ["Command", head.command]];
  const list = element("dl", {});
  for (const row of rows.filter(row => row && row[1])) list.append(element("dt", {}, row[0]), element("dd", {}, row[1]));
  content("head", element("p", { class: "headline" }, headline()), ...remarks().map(note), list);
}

function drawLoss() {
  const train = pointsOf(run.data.steps, "loss"), held = pointsOf(run.data.evaluations, "loss");
  const lines = [{ points: train, colour: lineColours[0], faint: true },
    { name: "training", points: train.length > 2 ? smoothed(train, run.smoothing) : train, colour: lineColours[0] },
    { name: "held back", points: held, colour: lineColours[1], dots: true }];
  const metrics = metricsOf(run.data.evaluations).map(name =>
    charted([lineOf(name, run.data.evaluations, name, 2, { dots: true })], value => metricText(name, value)));
  content("loss", charted(lines, lossText, { isLog: run.isLog }), note("Nats per target. Faint: each step, or means of neighbours in a long run."), ...metrics);
}

function drawSeries() {
  const { steps } = run.data;
  content("rate", charted([lineOf("learning rate", steps, "learning_rate", 0)], rateText, { from: 0 }),
    charted([lineOf("norm of the gradient", steps, "gradient_norm", 1)], lossText, { isLog: true }),
    pointsOf(steps, "loss_scale").length > 0 ? charted([lineOf("loss scale", steps, "loss_scale", 3)], countText, { isLog: true }) : null);
  content("speed", charted([lineOf("tokens per second", steps, "tokens_per_second", 2)], countText, { from: 0 }),
    note(`Median ${countText(run.data.median.tokens_per_second)} tokens/s, ${secondsText(run.data.median.milliseconds / 1e3)} per step.`));
  content("memory", charted([lineOf("peak of the process", steps, "peak_bytes", 3)], bytesText, { from: 0 }));
}

const table = (heads, rows) => element("div", { class: "scroll" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads.map(head => element("th", {}, head)))),
  element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map(value => element("td", { class: "wide" }, String(value))))))));

function drawTables() {
  const { samples, evaluations, checkpoints, messages, options } = run.data;
  content("samples", ...(samples.length > 0 ? [...samples].reverse().map(sample =>
    element("div", {}, element("h3", {}, `Step ${sample.step}`), element("pre", { class: "prose" }, sample.text))) : [note("No samples: --sample-every N writes them.")]));
  const metrics = metricsOf(evaluations);
  content("events", table(["Step", "Held-back loss", "Targets", "Time", ...metrics], evaluations.map(e =>
    [e.step, lossText(e.loss), e.targets, secondsText(e.milliseconds / 1e3), ...metrics.map(name => metricText(name, e[name]))])),
    checkpoints.length > 0 ? note(`Checkpoints: ${checkpoints.map(c => `step ${c.step}`).join(", ")}.`) : null, ...messages.map(note));
  content("options", options.length > 0 ? table(["Option", "Value"], options) : note("The run has no train.json."));
}

function drawRun() { drawRunHead(), drawLoss(), drawSeries(), drawTables(); }

function listen(id, event, change) {
  const control = document.getElementById(id);
  control.addEventListener(event, () => { change(control); if (run.data) drawRun(); });
}

function showRun({ data, lines }) {
  run.data = unpacked(data, lines);
  drawRun();
}

const secondsBetweenUpdates = 1;

/// A page of `smelt watch` shows what the run has written until now. It is drawn again only if that has changed.
async function updateRun(before) {
  let text = before;
  try {
    const reply = await fetch("run.json");
    text = await reply.text();
    if (text !== before) reply.ok ? showRun(JSON.parse(text)) : content("head", note(JSON.parse(text).error.message));
    document.body.classList.remove("lost");
  } catch (error) {
    document.body.classList.add("lost");
    content("head", note(`The server does not answer: ${error.message}`));
    text = "";
  }
  setTimeout(updateRun, secondsBetweenUpdates * 1e3, text);
}

document.addEventListener("DOMContentLoaded", () => {
  const data = document.getElementById("data");
  listen("across", "change", control => { run.across = control.value; });
  listen("smoothing", "input", control => { run.smoothing = Number(control.value); });
  listen("logarithmic", "change", control => { run.isLog = control.checked; });
  if (data.dataset.live) updateRun(""); else showRun(JSON.parse(data.textContent));
  for (const section of document.querySelectorAll("main > section"))
    document.getElementById("contents").append(element("a", { href: `#${section.id}` }, section.querySelector("h2").textContent));
});
