"""Environment variables that OpenBLAS and OpenMP read when they are loaded, which is with _native.

OpenBLAS takes its kernels: releases that are older than a processor, such as Debian 12's, may take some without AVX2, which
multiply several times more slowly. OpenMP settles how long a thread that waits for work spins before it sleeps; its default of
some ten milliseconds keeps the cores from other processes. If another package has loaded it before, such as torch, the default
stays.
"""

import os
import platform
from contextlib import contextmanager
from typing import Iterator, Optional

_CORE = "OPENBLAS_CORETYPE"
_SPINS = "GOMP_SPINCOUNT"
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


def _spin_count() -> Optional[str]:
    return None if "OMP_WAIT_POLICY" in os.environ else "1000"


@contextmanager
def suitable_settings() -> Iterator[None]:
    """Libraries that are loaded meanwhile have them, but for what the user has said."""
    wanted = {_CORE: core_of_this_processor(), _SPINS: _spin_count()}
    added = {k: v for k, v in wanted.items() if v is not None and k not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
