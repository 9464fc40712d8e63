"""A class in a process of its own, with limits of time and memory: whatever happens in it, the exam goes on."""

from __future__ import annotations

import math
import multiprocessing
import multiprocessing.connection
import os
import resource
import signal
import time
from typing import Any, Callable

Outcome = dict[str, Any]
WALL = 3
"""Seconds by the clock for each of the processor."""


def isolated(
    work: Callable[[Callable[[str, Outcome], None]], None], seconds: float, gigabytes: float
) -> dict[str, Outcome]:
    """The outcomes of the parts that `work` reports. `seconds` are the processor's; by the clock it may take thrice as
    many, on a machine that does other work. "end" is "slow" where time is up, and "crash" where the process fails."""
    reader, writer = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("fork").Process(
        target=_run, args=(work, writer, seconds, gigabytes), daemon=True
    )
    process.start()
    writer.close()
    parts: dict[str, Outcome] = {}
    end = time.monotonic() + WALL * seconds
    ended = _receive(reader, parts, end)
    if process.is_alive() and not ended:
        os.kill(process.pid, signal.SIGKILL)
    process.join()
    if not ended or process.exitcode == -signal.SIGXCPU:
        parts["end"] = {"kind": "slow", "note": f"not done after {seconds:.0f} s"}
    elif process.exitcode:
        parts["end"] = {"kind": "crash", "note": f"the process ended with {process.exitcode}"}
    return parts


def _receive(reader: multiprocessing.connection.Connection, parts: dict[str, Outcome], end: float) -> bool:
    """Whether the process has closed its side in time."""
    while (left := end - time.monotonic()) > 0 and reader.poll(left):
        try:
            part, outcome = reader.recv()
        except EOFError:
            return True
        parts[part] = outcome
    return False


def _run(work: Callable[[Callable[[str, Outcome], None]], None], writer: Any, seconds: float, gigabytes: float) -> None:
    limit = int(gigabytes * 2**30)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(seconds), math.ceil(seconds) + 5))
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    work(lambda part, outcome: writer.send((part, outcome)))
