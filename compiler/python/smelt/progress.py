"""What people see while something takes long: tqdm's bar where it is installed, else a line like it."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Optional

_DELAY = 1.0  # seconds before anything is shown
_PERIOD = 0.25


def _is_watched() -> bool:
    """Whether a person looks: in a terminal or a notebook, unless SMELT_PROGRESS=0 says no."""
    wanted = os.environ.get("SMELT_PROGRESS", "")
    if wanted in ("0", "1"):
        return wanted == "1"
    shell = sys.modules.get("IPython")
    in_notebook = shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
    return in_notebook or sys.stderr.isatty()


class _Line:
    """One line of stderr, written anew."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._begin = time.monotonic()
        self._width = 0

    def update(self) -> None:
        seconds = int(time.monotonic() - self._begin + _DELAY)
        text = f"{self._what}: {seconds // 60:02d}:{seconds % 60:02d}"
        self._width = max(self._width, len(text))
        sys.stderr.write("\r" + text.ljust(self._width))
        sys.stderr.flush()

    def close(self) -> None:
        sys.stderr.write("\r" + " " * self._width + "\r")
        sys.stderr.flush()


class _Bar:
    """A bar of tqdm without an end, as it is not known."""

    def __init__(self, tqdm: Any, what: str) -> None:
        self._bar = tqdm(desc=what, bar_format="{desc}: {elapsed}", leave=False)
        self._bar.start_t -= _DELAY

    def update(self) -> None:
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
    """`with Progress("compiling gpt2"):` shows for how long the body has run, once that is over a second. The body
    must release the GIL, as all calls of the extension module that take long do."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def _show(self) -> None:
        if self._done.wait(_DELAY):
            return
        bar = _shown(self._what)
        bar.update()
        while not self._done.wait(_PERIOD):
            bar.update()
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
