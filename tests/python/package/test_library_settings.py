import os
import platform
import subprocess
import sys

import pytest

from smelt import library_settings


@pytest.mark.parametrize("said, expected", [({}, "1000"), ({"OMP_WAIT_POLICY": "active"}, None), ({"GOMP_SPINCOUNT": "7"}, "7")])
def test_the_environment_is_as_before(monkeypatch, said, expected):
    for name in ("OPENBLAS_CORETYPE", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT"):
        monkeypatch.delenv(name, raising=False)
    for name, value in said.items():
        monkeypatch.setenv(name, value)
    before = dict(os.environ)
    with library_settings.suitable_settings():
        assert os.environ.get("OPENBLAS_CORETYPE") == library_settings.core_of_this_processor()
        assert os.environ.get("GOMP_SPINCOUNT") == expected
    assert dict(os.environ) == before


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86 has kernels to choose from")
@pytest.mark.parametrize(
    "flags, core",
    [
        ("flags : sse4_2 avx", None),
        ("flags : avx avx2 fma", "Haswell"),
        ("flags : avx2 fma avx512f avx512cd avx512bw avx512dq avx512vl", "SkylakeX"),
        ("", None),
    ],
)
def test_cores_by_features(monkeypatch, flags, core):
    monkeypatch.setattr(library_settings, "_features", lambda: set(flags.partition(":")[2].split()))
    assert library_settings.core_of_this_processor() == core


def test_what_the_user_says_is_left():
    code = (
        "import os, smelt, ctypes; blas = ctypes.CDLL('libopenblas.so.0');"
        "blas.openblas_get_corename.restype = ctypes.c_char_p; print(blas.openblas_get_corename().decode())"
    )
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem"}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert found.stdout.strip() == ("Nehalem" if platform.machine() == "x86_64" else found.stdout.strip())
