// ---- lines of operations, Kernel IR and code that are about the same values of a kernel

/// What is shown: each line is {text, values: ["part:number"], element}. Part 0 is the kernel, others are kernels within it.
let shownLines = [];

function valuesAt(event) {
  const line = shownLines.find(candidate => candidate.element === event.target.closest(".line"));
  return line ? line.values : [];
}

function markLines(values) {
  for (const line of shownLines) line.element.classList.toggle("same", line.values.some(value => values.includes(value)));
}

/// Scrolls the other texts to the first marked line.
function showMarked(clicked) {
  for (const pre of document.querySelectorAll("#code pre")) {
    const marked = pre.querySelector(".same");
    if (pre !== clicked && marked) pre.scrollTop = marked.offsetTop - pre.offsetTop - 40;
  }
}

function linkedTexts(number, kernel) {
  const kernelLines = kernel && kernel.text ? linesOfKernel(kernel.text) : [];
  const code = kernel && kernel.code ? linesOfCode(kernel) : [];
  const operations = operationsOf(number);
  linkOperations(operations, kernelLines, kernel);
  if (code.length > 0) addFolded([...kernelLines, ...operations], kernelLines, code);
  report.values = [];
  shownLines = [...operations, ...kernelLines, ...code];
  return { operations, kernel: kernelLines, code };
}

const found = (line, pattern) => [...line.matchAll(pattern)].map(match => match[1]);

/// A line is about the value that it makes, else about all that it reads. `makes` and `operation` are those of the text.
function linesOfKernel(whole) {
  const open = [];
  let parts = 0;
  return whole.trimEnd().split("\n").map(line => {
    const indent = line.search(/\S/);
    if (/^\s*(kernel|before|beside|tail) @/.test(line)) open.push({ part: parts++, indent });
    const { part } = open[open.length - 1] || { part: 0 };
    if (line.trim() === "}" && open.length > 0 && open[open.length - 1].indent === indent) open.pop();
    const [, made, operation] = line.match(/^\s*%(\d+) = (\w+)/) || [];
    const reads = found(made === undefined ? line : line.slice(line.indexOf("=")), /%(\d+)/g).map(value => `${part}:${value}`);
    return { text: line, part, makes: made, operation, reads, values: made === undefined ? reads : [`${part}:${made}`] };
  });
}

// ---- code: the printers name variables after the kernel's values

const linesOfCode = kernel => kernel.language === "LLVM IR" ? linesOfLlvm(kernel.code) : linesOfCuda(kernel);

/// What computes %7 is called %v7., %v7.1, ...
function linesOfLlvm(code) {
  return code.trimEnd().split("\n").map(line => {
    const made = line.match(/^\s*%(\S+) =/);
    const values = found(made ? line.slice(0, line.indexOf("=")) : line, /%v(\d+)\./g);
    return { text: line, values: [...new Set(values)].map(value => `0:${value}`) };
  });
}

/// v7 is %7 and so, with other letters, are its vector, its sum and what is stored of it; a template has other such names of its own.
function linesOfCuda(kernel) {
  const isTemplate = /^ {2}(attention|gemm) /m.test(kernel.text), names = isTemplate ? /\bv(\d+)\b/g : /\b(?:v|a|t|q|e|f|sum|s)(\d+)\b/g;
  const counts = ["before", "beside", "tail"].map(word => found(kernel.text, new RegExp(`^ {2}(${word}) @`, "gm")).length);
  const stored = new Map();  // values that a store or a sum, which has a number of its own, takes
  let part = -1;  // functions that help all kernels come first
  return kernel.code.trimEnd().split("\n").map(line => {
    if (/^\S.*\($|^\S.*\) \{$/.test(line)) part = partOfFunction(line, counts), stored.clear();
    if (part < 0) return { text: line, values: [] };
    const made = line.match(/\b([a-z]+\d+)(?:\[[^\]]*\])? \+?= /), all = found(line, names);
    if (made && /^(s|sum)\d+$/.test(made[1])) stored.set(made[1].replace(/\D/g, ""), found(line.slice(line.indexOf("=")), names));
    const values = made && found(made[1], names).length > 0 ? found(made[1], names) : all;
    return { text: line, values: [...new Set(values.flatMap(value => stored.get(value) || [value]))].map(value => `${part}:${value}`) };
  });
}

/// -1 of a function that helps all kernels.
function partOfFunction(line, [before, beside]) {
  const [, word, number] = line.match(/\b(before|beside|tail)(\d*)(?:_by)?\(/) || [];
  if (!word) return /\bsm_\w+\(/.test(line) ? -1 : 0;
  if (word === "before") return 1;
  return word === "beside" ? (number === "0" ? 0 : before + Number(number)) : 1 + before + beside + Number(number);
}

/// What has no line of code is folded into one that reads it, or reads it itself: its line is about what it reads.
function addFolded(lines, kernelLines, code) {
  const inCode = new Set(code.flatMap(line => line.values)), reads = new Map();
  for (const line of kernelLines) if (line.makes !== undefined) reads.set(line.values[0], line.reads);
  const withReads = (value, depth) => inCode.has(value) || depth === 0 ? [value] : [value, ...(reads.get(value) || []).flatMap(read => withReads(read, depth - 1))];
  for (const line of lines) line.values = [...new Set(line.values.flatMap(value => withReads(value, 3)))];
}

// ---- operations: the nodes of the graph that became the step

function operationsOf(number) {
  const nodes = (report.entry.graph || []).filter(node => node.steps && node.steps.includes(number));
  return nodes.flatMap(node => {
    const title = { text: `// ${nodeName(node)} : ${node.out.map(([type]) => text(type)).join(", ")}`, values: [] };
    const body = node.body === undefined ? [] : text(node.body).split("\n").map((line, place) => ({ text: line, node, place, values: [] }));
    return nodes.length > 1 || body.length === 0 ? [title, ...body] : body;
  });
}

/// Each part of the kernel was lowered from the body of one node: that whose operations its instructions name.
function linkOperations(operations, kernelLines, kernel) {
  const bodies = [...new Set(operations.map(line => line.node))].filter(Boolean).map(node => operations.filter(line => line.node === node));
  (kernel && kernel.origins || []).forEach((origins, part) => {
    const made = kernelLines.filter(line => line.part === part && line.makes !== undefined);
    const likeness = bodies.map(body => likenessOf(made, origins, body)), best = Math.max(0, ...likeness);
    if (best < 0.8) return;
    const body = bodies[likeness.indexOf(best)];
    for (const line of made) if (body[origins[line.makes]]) body[origins[line.makes]].values.push(line.values[0]);
    addRead(body);
  });
}

/// A sum over rows, or what is returned, has no value of its own in the kernel: its line is about what it reads.
function addRead(body) {
  const lineOf = new Map();
  for (const line of body) {
    const [results, reads] = line.text.startsWith("return") ? ["", line.text] : line.text.split(/ = (.*)/);
    const readLines = found(reads, /(%a?\d+)/g).map(name => lineOf.get(name)).filter(Boolean);
    if (line.values.length === 0 && !/^(input|constant)/.test(reads)) line.values = readLines.flatMap(other => other.values);
    for (const name of found(results, /(%a?\d+)/g)) lineOf.set(name, line);
  }
}

/// How many of the instructions that compute something stand for the operation of their line. Reductions may be spelled out.
function likenessOf(made, origins, body) {
  const others = ["load", "constant", "index", "random", "handed", "convert", "result", "reduce"];
  const known = made.filter(line => origins[line.makes] >= 0);
  const computing = known.filter(line => !others.includes(line.operation)), judged = computing.length > 0 ? computing : known;
  const fits = line => {
    const [, operation] = ((body[origins[line.makes]] || {}).text || "").match(/= (\w+)/) || [];
    return operation === line.operation || operation === "reduce" || (computing.length === 0 && operation !== undefined);
  };
  return judged.filter(fits).length / (judged.length || 1);
}
