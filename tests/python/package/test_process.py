"""Smelt beside other libraries in a process: one OpenMP, and no symbol in common with another."""

import importlib.util
import itertools
import shutil
import subprocess
import sys

import pytest

from smelt import _native

OTHERS = [name for name in ("torch", "triton") if importlib.util.find_spec(name)]
ORDERS = list(itertools.permutations(["smelt", *OTHERS])) if OTHERS else []
REPORT = """
import numpy
given = numpy.ones((3, 4), numpy.float32)
text = "graph @double(%x: f32[3,4]) {\\n  %y = add %x, %x\\n  return y = %y\\n}\\n"
import os, tempfile
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "double.ir")
    open(path, "w").write(text)
    found = smelt.compile(path, mode="infer", no_plan_cache=True).session(from_scratch=True).run(x=given)["y"]
assert numpy.array_equal(found, 2 * given)
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "libgomp" in line or "libomp" in line}
print(len(libraries), *libraries)
"""


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_one_openmp_whichever_is_imported_first(order):
    """Two would be two pools of threads, each as large as the machine."""
    code = f"import {', '.join(order)}\n{REPORT}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split()[0] == "1", run.stdout


@pytest.mark.skipif(not shutil.which("nm"), reason="there is no nm")
def test_the_extension_module_exports_its_entry_alone():
    """Triton has an LLVM of its own, which must not take this one's functions for its own, nor the other way round."""
    text = subprocess.run(["nm", "-Dg", "--defined-only", _native.__file__], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in text.stdout.splitlines()] == ["PyInit__native"]
