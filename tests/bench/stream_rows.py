#!/usr/bin/env python3
"""The rate and the memory of `smelt train` while it reads JSON Lines from standard input, beside the rate of its tokenizer.

Usage: stream_rows.py BUILD MODEL TEXT BYTES
   BUILD: folder with smelt and tokenizers_bench   MODEL: directory with a spec and a byte-level tokenizer
   TEXT: a book, of which the generator makes documents   BYTES: of JSON, such as 2e9

A process of the generator writes the lines. The tokenizer's rate is that of one tokenizers_bench per core at the same time,
for the same texts without JSON; it is measured before and after the stream.
"""
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def documents(text):
    """Lines of JSON: random runs of lines of the text."""
    lines, numbers = Path(text).read_text(encoding="utf-8").splitlines(), random.Random(1)
    for _ in range(40_000):
        begin = numbers.randrange(len(lines) - 24)
        yield " ".join(lines[begin : begin + numbers.randrange(1, 24)])


def generate(text, count):
    made = [(json.dumps({"text": each}, ensure_ascii=False) + "\n").encode() for each in documents(text)]
    numbers, written = random.Random(2), 0
    while written < count:
        block = b"".join(numbers.choices(made, k=4000))
        written += len(block)
        sys.stdout.buffer.write(block)


def tokenizer_rate(build, model, text):
    """Bytes of JSON per second of all cores: each encodes texts alone, which are a part of the JSON."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as sample:
        texts = list(documents(text))[:8000]
        sample.write("\n".join(texts)), sample.flush()
        command = [f"{build}/tokenizers_bench", "--tokenizer", model, "--text", sample.name, "--benchmark_filter=^encode$"]
        command.append("--benchmark_min_time=2")
        cores = len(os.sched_getaffinity(0))
        runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) for _ in range(cores)]
        lines = [re.search(r"^encode +(\d+) ns +(\d+) ns", run.communicate()[0], re.M) for run in runs]
    json_bytes = sum(len(json.dumps({"text": each}, ensure_ascii=False)) + 1 for each in texts) / sum(map(len, texts))
    by_wall, by_processor = ([(1 << 20) * json_bytes / (int(line[i]) / 1e9) for line in lines] for i in (1, 2))
    return sum(by_wall), sum(by_processor) / cores


def memory(pid):
    fields = dict(re.findall(r"^(Rss\w+):\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text(), re.M))
    return int(fields["RssAnon"]) / 1024, int(fields["RssFile"]) / 1024


def read_bytes(pid):
    return int(re.search(r"rchar: (\d+)", Path(f"/proc/{pid}/io").read_text())[1])


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stream(build, model, text, count):
    source = subprocess.Popen([sys.executable, __file__, "--generate", text, str(count)], stdout=subprocess.PIPE)
    command = [f"{build}/smelt", "train", model, "--data", "-", "--data-format", "jsonl", "--steps", "1", "--batch", "1"]
    begin = time.time()
    reader = subprocess.Popen([*command, "--quiet"], stdin=source.stdout, stdout=subprocess.DEVNULL)
    source.stdout.close()
    shown = 0
    while source.poll() is None:
        time.sleep(0.2)
        if time.time() - begin > shown:
            shown += 15
            print(f"{time.time() - begin:6.0f} s  {read_bytes(reader.pid) / 1e6:8.0f} MB read  memory {memory(reader.pid)[0]:5.0f} MiB", flush=True)
    seconds, used = time.time() - begin, processor_seconds(reader.pid)
    print(f"read {count / 1e6:.0f} MB in {seconds:.1f} s: {count / seconds / 1e6:.1f} MB/s; {count / used / 1e6:.1f} MB per second of a core")
    status = reader.wait()
    print(f"with the index, the plan and a step: {time.time() - begin:.1f} s, status {status}")
    return count / seconds, count / used


def main():
    if sys.argv[1] == "--generate":
        return generate(sys.argv[2], float(sys.argv[3]))
    build, model, text, count = *sys.argv[1:4], float(sys.argv[4])
    before = tokenizer_rate(build, model, text)
    read = stream(build, model, text, count)
    after = tokenizer_rate(build, model, text)
    for i, unit in enumerate(("MB/s of all cores", "MB per second of a core")):
        print(f"tokenizer alone: {before[i] / 1e6:.1f} and {after[i] / 1e6:.1f} {unit}: reading has {2 * read[i] / (before[i] + after[i]):.2f} of it")


main()
