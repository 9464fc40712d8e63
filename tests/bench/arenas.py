#!/usr/bin/env python3
"""Planned arenas against what no placement can undercut: every workload of docs/benchmarks.md on several meshes.

Usage: arenas.py [--smelt build/smelt] [--only NAME] [--json FILE] [--before FILE] [--all]

Prints a table with a row per workload and mesh: the arena, its lower bound, their ratio, the worst ratio of any entry and
of any stage, and the CPU seconds of the whole command `smelt dump ... --summary`. Needs no GPU. `--json` also writes the
rows to a file; `--before` reads such a file and adds its ratios and seconds. `--all` lists rows at the bound, too.
"""
import argparse
import collections
import json
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKLOADS = [
    ("bert-base", "B=32,T=128"), ("bert-large", "B=16,T=512"), ("gpt2-124m", "B=32,T=1024"), ("gpt2-774m", "B=8,T=1024"),
    ("llama-1b", "B=4,T=2048"), ("llama-8b", "B=1,T=4096"), ("mt-big-6e6d", "B=64,S=64,T=64"),
    ("mt-big-6e6d", "B=240,S=64,T=64"), ("mt-big-24e24d", "B=64,S=64,T=64"), ("vit-b32", "B=64"), ("vit-l16", "B=32"),
]
MESHES = ["", *(f"--mesh data=4 --zero {stage}" for stage in range(4)), "--mesh model=4", "--mesh data=2,model=2",
          *(f"--mesh stage=4 --stage {stage}" for stage in range(4))]
FIGURES = {"arena": "arena", "arena at least": "bound"}
Row = collections.namedtuple("Row", "workload mesh arena bound worst entry seconds")


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def summary_of(smelt, workload, bounds, mesh):
    """The text of `dump --summary`, or what refuses the mesh."""
    command = [smelt, "dump", ROOT / f"examples/workloads/{workload}.json", "--target", "sm_90", "--precision", "bf16",
               "--no-attention-mask", "--max", bounds, *mesh.split(), "--summary"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr.strip()


def entries_of(summary):
    """By entry: {"arena": bytes, "bound": bytes}."""
    entries = collections.defaultdict(dict)
    for entry, figure, number in re.findall(r"^(\S+) +(arena(?: at least)?) +([\d,]+)$", summary, re.M):
        entries[entry][FIGURES[figure]] = int(number.replace(",", ""))
    return {name: sizes for name, sizes in entries.items() if sizes["bound"]}


def row_of(smelt, workload, bounds, mesh):
    begin = cpu_seconds()
    summary = summary_of(smelt, workload, bounds, mesh)
    seconds = cpu_seconds() - begin
    entries = entries_of(summary)
    if not entries:
        print(f"{workload} {mesh}: {summary.splitlines()[-1]}", file=sys.stderr)
        return None
    worst = max(entries, key=lambda name: entries[name]["arena"] / entries[name]["bound"])
    return Row(f"{workload} {bounds}", mesh, max(e["arena"] for e in entries.values()),
               max(e["bound"] for e in entries.values()), entries[worst]["arena"] / entries[worst]["bound"], worst, seconds)


def short(mesh):
    return mesh.replace("--mesh ", "").replace("--", "") or "1"


def line_of(row, earlier):
    cells = [row.workload, short(row.mesh), f"{row.arena:,}", f"{row.bound:,}", f"{row.arena / row.bound:.3f}",
             f"{row.worst:.3f} ({row.entry})", f"{row.seconds:.2f}"]
    if earlier:
        cells[4:4] = [f"{earlier.arena / earlier.bound:.3f}"]
        cells[-1:-1] = [f"{earlier.seconds:.2f}"]
    return f"| {' | '.join(cells)} |"


def table_of(rows, before, all_rows):
    heads = ["workload", "mesh", "arena", "no placement needs less than", "ratio", "worst entry", "CPU s"]
    if before:
        heads[4:4] = ["ratio before"]
        heads[-1:-1] = ["CPU s before"]
    lines = [f"| {' | '.join(heads)} |", f"|---|---|{'---:|' * (len(heads) - 2)}"]
    shown = [(row, before.get(row[:2])) for row in rows]
    lines += [line_of(row, earlier) for row, earlier in shown
              if all_rows or max(r.worst for r in (row, earlier) if r) >= 1.0005]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=ROOT / "build/smelt", help="the command line to run (default: build/smelt)")
    parser.add_argument("--only", default="", help="workloads whose name contains this (default: all)")
    parser.add_argument("--json", help="file to write the rows to")
    parser.add_argument("--before", help="file of rows to compare with")
    parser.add_argument("--all", action="store_true", help="also rows whose every entry is at its bound")
    own = parser.parse_args()
    rows = [row_of(own.smelt, workload, bounds, mesh) for workload, bounds in WORKLOADS if own.only in workload
            for mesh in MESHES]
    rows = [row for row in rows if row]
    before = {row[:2]: row for row in map(Row._make, json.load(open(own.before)))} if own.before else {}
    if own.json:
        pathlib.Path(own.json).write_text(json.dumps(rows, indent=0) + "\n")
    print(table_of(rows, before, own.all))
    print(f"\n{len(rows)} plans, of which {sum(row.arena > 1.05 * row.bound for row in rows)} exceed their bound by more "
          f"than 5%; {sum(row.seconds for row in rows):.1f} s of CPU time" +
          (f", before {sum(row.seconds for row in before.values()):.1f}" if before else ""))


if __name__ == "__main__":
    main()
