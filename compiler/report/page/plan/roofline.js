// ---- 4: operations a byte against operations a second, a dot a step

const kindColours = { kernel: "#3c8d40", gemm: "#d1802f", copy: "#777", fill: "#777", collective: "#8250c4" };
const colourOf = kind => kindColours[kind] || "#3f6fb5";

/// The rates of the target, or what a step has reached where that is more, as with caches: no dot is above a roof.
function roofs(steps, rate) {
  const { bytes_per_second: bytes, wide_flops: wide, narrow_flops: narrow } = report.data.rates;
  const reached = Math.max(0, ...steps.map(rate));
  const bandwidth = Math.max(bytes, ...steps.map(({ step }) => step.bytes / secondsOf(step)));
  return { bandwidth, wide: narrow > wide ? wide : Math.max(wide, reached), narrow: Math.max(narrow, reached) };
}

function drawRoofline() {
  const width = 860, height = 360, left = 70, bottom = 40;
  const steps = report.entry.steps.map((step, number) => ({ step, number })).filter(({ step }) => step.flops > 0 && step.bytes > 0 && secondsOf(step) > 0);
  const intensity = ({ step }) => step.flops / step.bytes, rate = ({ step }) => step.flops / secondsOf(step);
  const { bandwidth, wide, narrow } = roofs(steps, rate);
  if (steps.length === 0) return void content("roofline", note("No step of this entry computes anything."));
  const peak = Math.max(wide, narrow);
  const [x0, x1] = [Math.log10(Math.min(0.05, ...steps.map(intensity))), Math.log10(Math.max(2 * peak / bandwidth, ...steps.map(intensity))) + 0.2];
  const [y0, y1] = [Math.log10(Math.min(bandwidth * 0.05, ...steps.map(rate))), Math.log10(Math.max(peak, ...steps.map(rate))) + 0.2];
  const x = value => left + (Math.log10(value) - x0) / (x1 - x0) * (width - left - 10);
  const y = value => height - bottom - (Math.log10(value) - y0) / (y1 - y0) * (height - bottom - 10);
  const chart = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height });
  for (let power = Math.ceil(x0); power <= x1; ++power)
    chart.append(drawn("line", { class: "grid", x1: x(10 ** power), x2: x(10 ** power), y1: 10, y2: height - bottom }),
      drawn("text", { class: "soft", x: x(10 ** power) - 8, y: height - bottom + 14 }, countText(10 ** power)));
  for (let power = Math.ceil(y0); power <= y1; ++power)
    chart.append(drawn("line", { class: "grid", x1: left, x2: width - 10, y1: y(10 ** power), y2: y(10 ** power) }),
      drawn("text", { class: "soft", x: 8, y: y(10 ** power) + 4 }, `${countText(10 ** power)}/s`));
  for (const [flops, name] of [[wide, "f32"], [narrow, "bf16, f16"]])
    if (name === "f32" || narrow !== wide)
      chart.append(drawn("polyline", { class: "roof", points: `${x(10 ** x0)},${y(bandwidth * 10 ** x0)} ${x(flops / bandwidth)},${y(flops)} ${x(10 ** x1)},${y(flops)}` }),
        drawn("text", { x: width - 130, y: y(flops) - 4 }, `matmuls of ${name}`));
  const dots = steps.map(item => drawn("circle", { "data-step": item.number, cx: x(intensity(item)), cy: y(rate(item)), r: item.number === report.step ? 7 : 4,
    fill: colourOf(item.step.kind), "fill-opacity": 0.7, class: item.number === report.step ? "chosen" : null,
    onclick: () => { chooseStep(item.number); show("code"); } },
    drawn("title", {}, `#${item.number} ${text(item.step.name)}: ${sourcesOf(item.step)}\n${secondsText(secondsOf(item.step))}, ${percentText(ofRoof(item.step))} of the roofline`)));
  dots.sort((a, b) => a.classList.contains("chosen") - b.classList.contains("chosen"));
  chart.append(...dots, drawn("text", { class: "soft", x: width / 2 - 70, y: height - 6 }, "operations a byte that is moved"));
  const chosen = report.entry.steps[report.step];
  content("roofline", chosen ? note(`Chosen: #${report.step} ${text(chosen.name)}, ${secondsText(secondsOf(chosen))}; its bytes alone take ` +
    `${secondsText(chosen.bytes / bandwidth)}, bytes and products ${secondsText(leastSeconds(chosen))}, a launch ${secondsText(report.data.rates.launch_seconds)}.`) : null, chart,
    note("On the slope memory is what a step waits for, under the flat part arithmetic. Roofs: the rates of the target, or of a step that was faster, as from caches. Times: " + timesText().slice(1, -1) + ". A click on a dot shows its code."));
}
