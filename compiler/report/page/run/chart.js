// ---- a chart of lines over the steps, the tokens or the hours of a run

const chartSize = { width: 1000, height: 300, left: 76, right: 48, top: 12, bottom: 34 };
const lineColours = ["#3f6fb5", "#c8452f", "#3c8d40", "#8250c4"];

/// 1, 2 or 5 times a power of ten, so that about `count` of them make up `range`.
function roundStep(range, count) {
  const raw = range / count, power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find(factor => raw <= factor * power * 1.0001) || 10);
}

/// The values of the grid lines between two numbers: powers of ten with 2 and 5 between them, or equal steps.
function gridValues(low, high, isLog) {
  const values = [];
  if (isLog) {
    for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); ++power)
      for (const factor of [1, 2, 5]) values.push(factor * 10 ** power);
    return values.filter(value => low <= value && value <= high);
  }
  const step = roundStep(high - low || 1, 6);
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) values.push(i * step);
  return values;
}

/// A function from values to pixels, with `low` and `high` as the data need them.
function axisFor(values, from, to, isLog) {
  const finite = values.filter(value => Number.isFinite(value) && (!isLog || value > 0));
  let low = Math.min(...finite), high = Math.max(...finite);
  if (!(high > low)) [low, high] = isLog ? [low / 2, high * 2] : [low - Math.abs(low) / 2 - 1e-12, high + Math.abs(high) / 2 + 1e-12];
  const scale = isLog ? Math.log10 : value => value;
  const place = value => from + (scale(value) - scale(low)) / (scale(high) - scale(low)) * (to - from);
  return Object.assign(place, { low, high, isLog });
}

/// The exponential mean of the points from both ends, so that it does not lag behind a falling curve.
function smoothed(points, strength) {
  const keep = 1 - 1 / (1 + (strength / 100) ** 2 * points.length / 8);
  const pass = list => {
    let mean = 0, weight = 0;
    return list.map(([x, y]) => { mean = keep * mean + (1 - keep) * y; weight = keep * weight + 1 - keep; return [x, mean / weight]; });
  };
  const forward = pass(points), backward = pass([...points].reverse()).reverse();
  return points.map(([x], i) => [x, (forward[i][1] + backward[i][1]) / 2]);
}

/// series: [{name, points: [[x, y]], faint?, dots?, colour?}]; write: how a value of y is written.
function chart(series, write, options = {}) {
  const { width, height, left, right, top, bottom } = chartSize;
  const shown = series.filter(line => line.points.length > 0);
  if (shown.length === 0) return note("The metrics of this run do not have these values.");
  const all = shown.flatMap(line => line.points);
  const x = axisFor(all.map(point => point[0]), left, width - right, false);
  const y = axisFor([...all.map(point => point[1]), ...(options.from === undefined ? [] : [options.from])], height - bottom, top, options.isLog);
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, class: "chart" });
  for (const value of gridValues(y.low, y.high, y.isLog))
    picture.append(drawn("line", { class: "grid", x1: left, x2: width - right, y1: y(value), y2: y(value) }),
      drawn("text", { class: "soft", x: left - 8, y: y(value) + 4, "text-anchor": "end" }, write(value)));
  for (const value of gridValues(x.low, x.high, false))
    picture.append(drawn("text", { class: "soft", x: x(value), y: height - 14, "text-anchor": "middle" }, options.across(value)));
  shown.forEach(line => picture.append(...drawnLine(line, x, y)));
  addReading(picture, shown, x, y, write, options.across);
  const legend = shown.filter(line => line.name).map(line => element("span", {}, element("span", { class: "bar", style: `width:14px;background:${line.colour}` }), ` ${line.name}`));
  return element("div", {}, legend.length > 1 ? element("div", { class: "controls" }, ...legend) : null, picture);
}

function drawnLine({ points, colour, faint, dots }, x, y) {
  const inside = points.filter(point => Number.isFinite(point[1]) && (!y.isLog || point[1] > 0));
  const path = inside.map(point => `${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}`).join(" ");
  const line = drawn("polyline", { points: path, fill: "none", stroke: colour, "stroke-width": faint ? 1 : 1.8, "stroke-opacity": faint ? 0.3 : 1 });
  return [line, ...(dots ? inside.map(point => drawn("circle", { cx: x(point[0]), cy: y(point[1]), r: 3, fill: colour })) : [])];
}

/// A vertical line at the pointer, with the values of all lines there.
function addReading(picture, lines, x, y, write, across) {
  const { width, height, left, right, top, bottom } = chartSize;
  const rule = drawn("line", { class: "limit", y1: top, y2: height - bottom, visibility: "hidden" });
  const words = drawn("text", { x: left + 8, y: top + 12, visibility: "hidden" });
  picture.append(rule, words);
  picture.addEventListener("mousemove", event => {
    const at = (event.clientX - picture.getBoundingClientRect().left) / picture.getBoundingClientRect().width * width;
    const near = lines.filter(line => line.name).map(line => [line, line.points.reduce((a, b) => Math.abs(x(a[0]) - at) < Math.abs(x(b[0]) - at) ? a : b)]);
    const px = near.length > 0 ? x(near[0][1][0]) : left;
    rule.setAttribute("x1", px), rule.setAttribute("x2", px);
    words.textContent = near.map(([line, point]) => `${line.name} ${write(point[1])} at ${across(point[0])}`).join("    ");
    for (const each of [rule, words]) each.setAttribute("visibility", at < left || at > width - right ? "hidden" : "visible");
  });
  picture.addEventListener("mouseleave", () => { for (const each of [rule, words]) each.setAttribute("visibility", "hidden"); });
}
