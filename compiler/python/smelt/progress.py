"""Display of calls that take long: tqdm's bar where it is installed, else a line like it. Also the steps of a
compilation, which may have a limit of time."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Iterator, Optional

from .errors import Error

_DELAY = 1.0  # seconds before anything is shown
_PERIOD = 0.25


def _is_watched() -> bool:
    """Whether a person looks: in a terminal or a notebook, unless SMELT_PROGRESS=0 says no."""
    wanted = os.environ.get("SMELT_PROGRESS", "")
    if wanted in ("0", "1"):
        return wanted == "1"
    if wanted:
        raise Error(f"SMELT_PROGRESS is '{wanted}': expected 1 or 0")
    shell = sys.modules.get("IPython")
    in_notebook = shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
    return in_notebook or sys.stderr.isatty()


class _Line:
    """One line of stderr, written anew."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begin = time.monotonic()
        self._width = 0

    def update(self, step: str) -> None:
        seconds = int(time.monotonic() - self._begin + _DELAY)
        text = f"{self._what}: {seconds // 60:02d}:{seconds % 60:02d}{step and ', ' + step}"
        self._width = max(self._width, len(text))
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r" + " " * self._width + "\r")
        sys.stderr.flush()


class _Bar:
    """A bar of tqdm without an end, as it is not known."""

    def __init__(self, tqdm: Any, what: str) -> None:
        self._bar = tqdm(desc=what, bar_format="{desc}: {elapsed}{postfix}", leave=False)
        self._bar.start_t -= _DELAY

    def update(self, step: str) -> None:
        self._bar.set_postfix_str(step, refresh=False)
        self._bar.refresh()

    def close(self) -> None:
        self._bar.close()


def _shown(what: str) -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _Line(what)
    return _Bar(tqdm, what)


class Progress:
    """`with Progress("compiling gpt2"):` shows for how long the body has run, once that is over a second, and its step.
    The body must release the GIL, as all calls of the extension module that take long do."""

    def __init__(self, what: str) -> None:
        self._what = what
        self.step = ""
        self._done = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def _show(self) -> None:
        if self._done.wait(_DELAY):
            return
        bar = _shown(self._what)
        bar.update(self.step)
        while not self._done.wait(_PERIOD):
            bar.update(self.step)
        bar.close()

    def __enter__(self) -> Progress:
        if _is_watched():
            self._thread = threading.Thread(target=self._show, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *problem: Any) -> None:
        self._done.set()
        if self._thread is not None:
            self._thread.join()


# ---- the steps of a compilation

STEPS = {
    "trace": "tracing the module",
    "take apart": "taking its operations apart",
    "import": "writing the graph",
    "entries": "making entries",
    "passes": "running passes",
    "fuse": "fusing",
    "lower": "lowering",
    "tune": "tuning kernels",
    "emit": "generating code",
}
"""Names of phases for people; other steps are passes of the compiler."""


class Compilation:
    """The steps of one call of compile, and the time that it may take."""

    def __init__(self, what: str, progress: Progress, time_limit: Optional[float]) -> None:
        self.what = what
        self._progress = progress
        self.limit = time_limit
        self._begin = time.monotonic()
        self._step = ""

    def begin(self, step: str) -> None:
        """Begins a step; throws Error where the limit of time has passed, with the step that took it."""
        if self._step:
            self.check()
        self._step = self._progress.step = STEPS.get(step, f"pass {step}")
        self.check()

    def check(self) -> None:
        if self.limit is not None and time.monotonic() - self._begin > self.limit:
            at = f" while {self._step}" if self._step else ""
            raise Error(
                f"{self.what} took longer than time_limit={self.limit:g} seconds{at}: give more time, smaller bounds, "
                "or fewer entries",
                "unavailable",
            )


_current: ContextVar[Optional[Compilation]] = ContextVar("smelt_compilation", default=None)


def current_compilation() -> Optional[Compilation]:
    """Returns the compilation that this thread is in."""
    return _current.get()


def check_limit() -> None:
    """Throws Error where this thread's compilation has taken longer than it may."""
    running = _current.get()
    if running is not None and running.limit is not None:
        running.check()


def begin_step(step: str) -> None:
    running = _current.get()
    if running is not None:
        running.begin(step)


@contextmanager
def compilation(what: str, time_limit: Optional[float] = None) -> Iterator[Compilation]:
    """Shows one compilation and gives it a limit; a call inside of another one is a part of that one."""
    _check_limit(time_limit)
    outer = _current.get()
    if outer is not None:
        yield outer
        return
    with Progress(what) as progress:
        running = Compilation(what, progress, time_limit)
        token = _current.set(running)
        try:
            yield running
        finally:
            _current.reset(token)


def _check_limit(seconds: Any) -> None:
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
    if seconds is not None and not (is_number and seconds > 0 and not math.isnan(seconds)):
        raise Error(f"time_limit: {seconds!r}, expected a number of seconds above 0")
