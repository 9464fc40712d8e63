"""OpenBLAS takes its kernels when it is loaded, which is with _native. Releases that are older than a processor, such as
Debian 12's, may take some without AVX2 then, which multiply several times more slowly."""

import os
import platform
from contextlib import contextmanager
from typing import Iterator, Optional

_VARIABLE = "OPENBLAS_CORETYPE"
_SKYLAKE = {"avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"}
_HASWELL = {"avx2", "fma"}


def _features() -> set[str]:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            line = next((line for line in file if line.startswith("flags")), "")
    except OSError:
        return set()
    return set(line.partition(":")[2].split())


def core_of_this_processor() -> Optional[str]:
    """OpenBLAS's name of the newest kernels that every release has and this processor runs."""
    if platform.machine() != "x86_64":
        return None
    features = _features()
    return "SkylakeX" if _SKYLAKE <= features else "Haswell" if _HASWELL <= features else None


@contextmanager
def suitable_kernels() -> Iterator[None]:
    """An OpenBLAS that is loaded meanwhile has them, unless the user has said what it shall take."""
    core = None if _VARIABLE in os.environ else core_of_this_processor()
    if core is not None:
        os.environ[_VARIABLE] = core
    try:
        yield
    finally:
        if core is not None:
            del os.environ[_VARIABLE]
