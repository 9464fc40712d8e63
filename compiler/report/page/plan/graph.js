// ---- 3: the graph of a layer, a box a step, with what it computes

const graphLimits = { boxes: 80, lines: 9 };
const nodeName = node => `${text(node.op)} ${text(node.source)}`.trim();

function layersOfGraph() {
  const found = new Map();
  for (const node of report.entry.graph)
    if (node.kind === "step") found.set(`${text(node.layer)} (${node.phase})`, [text(node.layer), node.phase]);
  return found;
}

function chooseLayer(layer, phase) {
  Object.assign(report, { layer, phase });
  drawGraph();
}

function drawGraph() {
  if (!report.entry.graph) return void content("graph", note("A plan's file keeps no graph: make the report of the model."));
  const layers = layersOfGraph(), now = `${report.layer} (${report.phase})`;
  const choose = element("select", { id: "layer", onchange: event => chooseLayer(...layers.get(event.target.value)) });
  for (const name of layers.keys()) choose.append(element("option", { value: name, selected: name === now ? "" : null }, name));
  const places = report.entry.graph.map((node, place) => place).filter(place => {
    const node = report.entry.graph[place];
    return node.kind === "step" && text(node.layer) === report.layer && node.phase === report.phase;
  });
  const drawing = layerDrawing(places.slice(0, graphLimits.boxes));
  content("graph", element("div", { class: "controls" }, choose,
    places.length > graphLimits.boxes ? note(`the first ${graphLimits.boxes} of ${places.length} steps`) : null),
    places.length > 0 ? element("div", { class: "scroll" }, drawing) : note("No step of the graph is of this layer and phase alone."),
    note("Green: kernels, with the operations fused in them; orange: matmuls and others; white: what comes from or goes elsewhere. A click on a kernel " +
      "shows what did not fuse with it, one on another step its code, and one on a white box the layer that it is in. An edge has the bytes of its values."));
}

/// The values behind views: [place, result] of nodes that are no view.
function origins(operand, found = []) {
  const node = report.entry.graph[operand[0]];
  if (node.kind !== "view") found.push(operand);
  else for (const inner of node.in) origins(inner, found);
  return found;
}

/// Boxes and edges: those of the layer, and one box for each neighbour outside.
function layerParts(places) {
  const inside = new Set(places), boxes = new Map(), edges = new Map();
  const box = (key, made) => { if (!boxes.has(key)) boxes.set(key, { key, ...made }); return key; };
  const edge = (from, into, bytes, value) => {
    const key = `${from}>${into}`, known = edges.get(key) || { from, into, values: new Map() };
    known.values.set(value, bytes), edges.set(key, known);
  };
  for (const place of places) box(place, { place });
  for (const place of places)
    for (const operand of report.entry.graph[place].in)
      for (const [from, result] of origins(operand)) {
        const source = report.entry.graph[from], bytes = source.out[result][1];
        const key = inside.has(from) ? from : source.kind === "leaf" ? box(`leaves ${place}`, { leaves: true, names: new Set() }) : box(`from ${from}`, { outside: from });
        if (source.kind === "leaf") boxes.get(key).names.add(nodeName(source));
        edge(key, place, bytes, `${from}.${result}`);
      }
  addReaders(inside, box, edge);
  return { boxes, edges: [...edges.values()] };
}

/// Steps outside that read what the layer makes: one box for each layer and phase.
function addReaders(inside, box, edge) {
  report.entry.graph.forEach((node, reader) => {
    if (node.kind !== "step" || inside.has(reader)) return;
    for (const operand of node.in)
      for (const [from, result] of origins(operand))
        if (inside.has(from)) {
          const key = box(`to ${text(node.layer)} ${node.phase}`, { outside: reader, goes: `to ${text(node.layer)} (${node.phase})` });
          edge(from, key, report.entry.graph[from].out[result][1], `${from}.${result}`);
        }
  });
}

/// The longest way from a box without inputs; those that only give stand right above their first reader.
function setRanks(boxes, edges) {
  const into = new Map([...boxes.keys()].map(key => [key, []]));
  for (const edge of edges) into.get(edge.into).push(edge.from);
  const rank = key => {
    const box = boxes.get(key);
    if (box.rank === undefined) box.rank = into.get(key).reduce((most, from) => Math.max(most, rank(from) + 1), 0);
    return box.rank;
  };
  for (const key of boxes.keys()) rank(key);
  for (const box of boxes.values()) {
    const readers = edges.filter(edge => edge.from === box.key).map(edge => boxes.get(edge.into).rank);
    if (into.get(box.key).length === 0 && readers.length > 0) box.rank = Math.min(...readers) - 1;
  }
}

function boxLines(box) {
  if (box.leaves) return [`${box.names.size} parameters, inputs, constants`];
  if (box.goes) return [box.goes];
  const node = report.entry.graph[box.outside === undefined ? box.place : box.outside];
  if (box.outside !== undefined) return [`from ${text(node.layer)} (${node.phase})`, text(node.op)];
  const operations = (node.body === undefined ? [] : text(node.body).split("\n")).map(line => (line.match(/= (.*?)(?: \{.*)?(?: : .*)?$/) || [])[1])
    .filter(line => line && !/^(broadcast|constant)/.test(line));
  const shown = operations.slice(0, graphLimits.lines);
  if (operations.length > shown.length) shown.push(`... ${operations.length - shown.length} more`);
  return [nodeName(node).slice(0, 44), ...shown.map(line => `  ${line}`)];
}

function placeBoxes(boxes) {
  const rows = [];
  for (const box of boxes.values()) (rows[box.rank] = rows[box.rank] || []).push(box);
  let y = 12, width = 0;
  for (const row of rows.filter(Boolean)) {
    let x = 12, height = 0;
    for (const box of row) {
      box.lines = boxLines(box);
      Object.assign(box, { x, y, width: Math.max(90, 12 + 6.2 * Math.max(...box.lines.map(line => line.length))), height: 10 + 14 * box.lines.length });
      x += box.width + 28, height = Math.max(height, box.height);
    }
    row.width = x, width = Math.max(width, x), y += height + 52;
  }
  for (const row of rows.filter(Boolean)) for (const box of row) box.x += (width - row.width) / 2;
  return { width: width + 12, height: y };
}

function layerDrawing(places) {
  const { boxes, edges } = layerParts(places);
  setRanks(boxes, edges);
  const { width, height } = placeBoxes(boxes);
  const drawing = drawn("svg", { viewBox: `0 0 ${width} ${height}`, width, height, id: "layer-graph", style: "max-width:none" });
  for (const edge of edges) drawing.append(...drawnEdge(boxes.get(edge.from), boxes.get(edge.into), edge.values));
  for (const box of boxes.values()) drawing.append(drawnBox(box));
  return drawing;
}

function drawnEdge(from, into, values) {
  const x0 = from.x + from.width / 2, y0 = from.y + from.height, x1 = into.x + into.width / 2, y1 = into.y;
  const bytes = [...values.values()].reduce((sum, value) => sum + value, 0);
  return [drawn("path", { class: "edge", d: `M${x0},${y0} C${x0},${y0 + 26} ${x1},${y1 - 26} ${x1},${y1}` }, drawn("title", {}, `${values.size} values, ${bytesText(bytes)}`)),
    drawn("text", { class: "soft", x: x1 + (x0 - x1) * 0.25 + 3, y: y1 - 12 }, bytesText(bytes))];
}

function drawnBox(box) {
  const place = box.outside === undefined ? box.place : box.outside, node = report.entry.graph[place];
  const isOwn = box.place !== undefined, kernel = isOwn ? kernelOfNode(place) : 0;
  const click = () => {
    if (!isOwn) return node && chooseLayer(text(node.layer), node.phase);
    if (node.steps.length > 0) chooseStep(node.steps[0]);
    if (kernel) chooseKernel(kernel);
    show(kernel ? "decisions" : "code");
  };
  const chosen = isOwn && node.steps.includes(report.step) ? " chosen" : "";
  const kind = isOwn ? (node.body !== undefined && text(node.op) === "fusion" ? "" : " matmul") : " outside";
  return drawn("g", { class: `node${isOwn ? "" : " outside"}`, "data-node": isOwn ? place : null, "data-kernel": kernel || null, onclick: click },
    drawn("title", {}, box.leaves ? [...box.names].join("\n") : nodeName(node)),
    drawn("rect", { class: `box${kind}${chosen}`, x: box.x, y: box.y, width: box.width, height: box.height, rx: 4 }),
    ...box.lines.map((line, i) => drawn("text", { x: box.x + 6, y: box.y + 16 + 14 * i, style: "white-space:pre" }, line)));
}
