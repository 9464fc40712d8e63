#!/usr/bin/env python3
"""Planned arenas against what no placement can undercut: every workload of docs/bench/benchmarks.md on several meshes.

Usage: arenas.py [--smelt build/smelt] [--only NAME] [--json FILE] [--before FILE] [--rows]

Prints arena / lower bound of the largest entry, a row per workload and a column per mesh (of a pipeline's stages the worst),
and then each entry that exceeds its bound by more than 5%. Needs no GPU. `--json` also writes what was found to a file;
`--before` reads such a file and gives its ratios and seconds, too. `--rows` prints a row per plan, with bytes and the CPU
seconds of the whole command `smelt dump ... --summary`.
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
Row = collections.namedtuple("Row", "workload mesh arena bound entries seconds")


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
    return Row(f"{workload} {bounds}", mesh, max(e["arena"] for e in entries.values()),
               max(e["bound"] for e in entries.values()), entries, seconds)


def ratio(row):
    return row.arena / row.bound


def short(mesh):
    return mesh.replace("--mesh ", "").replace("--", "") or "1"


def column(mesh):
    """All stages of a pipeline are one."""
    return short(mesh.split(" --stage")[0])


def lines_of(heads, rows):
    return "\n".join([f"| {' | '.join(heads)} |", f"|---|{'---:|' * (len(heads) - 1)}", *(f"| {' | '.join(row)} |" for row in rows)])


def ratios_table(rows, before):
    columns = list(dict.fromkeys(column(mesh) for mesh in MESHES))
    cells = collections.defaultdict(list)
    for row in rows:
        cells[row.workload, column(row.mesh)].append(row)

    def cell(found):
        if not found:
            return "-"
        earlier = [before[row[:2]] for row in found if row[:2] in before]
        return "".join(f"{max(map(ratio, earlier)):.3f} to " for _ in earlier[:1]) + f"{max(map(ratio, found)):.3f}"

    workloads = dict.fromkeys(row.workload for row in rows)
    return lines_of(["workload", *columns], [[name, *(cell(cells[name, one]) for one in columns)] for name in workloads])


def plans_table(rows, before):
    def line(row):
        earlier = before.get(row[:2])
        were = [f"{ratio(earlier):.3f}", f"{earlier.seconds:.2f}"] if earlier else ["-", "-"]
        return [row.workload, short(row.mesh), f"{row.arena:,}", f"{row.bound:,}", were[0], f"{ratio(row):.3f}", were[1],
                f"{row.seconds:.2f}"]

    return lines_of(["workload", "mesh", "arena", "no placement needs less than", "ratio before", "ratio", "CPU s before",
                     "CPU s"], map(line, rows))


def far_entries(rows):
    for row in rows:
        for name, sizes in row.entries.items():
            if sizes["arena"] > 1.05 * sizes["bound"]:
                yield f"{row.workload}, {short(row.mesh)}, {name}: {sizes['arena']:,} of {sizes['bound']:,}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--smelt", default=ROOT / "build/smelt", help="the command line to run (default: build/smelt)")
    parser.add_argument("--only", default="", help="workloads whose name contains this (default: all)")
    parser.add_argument("--json", help="file to write the rows to")
    parser.add_argument("--before", help="file of rows to compare with")
    parser.add_argument("--rows", action="store_true", help="a row per plan instead of one per workload")
    own = parser.parse_args()
    rows = [row_of(own.smelt, workload, bounds, mesh) for workload, bounds in WORKLOADS if own.only in workload
            for mesh in MESHES]
    rows = [row for row in rows if row]
    before = {row[:2]: row for row in map(Row._make, json.load(open(own.before)))} if own.before else {}
    if own.json:
        pathlib.Path(own.json).write_text(json.dumps(rows, indent=0) + "\n")
    print(plans_table(rows, before) if own.rows else ratios_table(rows, before))
    print(f"\n{len(rows)} plans, {sum(row.seconds for row in rows):.1f} s of CPU time" +
          (f", before {sum(row.seconds for row in before.values()):.1f}" if before else ""))
    print("\n".join(far_entries(rows)))


if __name__ == "__main__":
    main()
