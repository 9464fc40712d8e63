#!/usr/bin/env python3
"""Test of sanitized_folders.py: what was changed is examined, and every pair of folders within PART * PART days."""
import itertools

from sanitized_folders import chosen

LIBRARY = ["codegen/scheduling", "compiler/server", "ir", "ir/ops", "runtime/cuda", "runtime/plan"]
TESTS = ["tests/compiler", "tests/compiler/server", "tests/compiler/server/commands", "tests/fake_gpu", "tests/ir", "tests/runtime/cuda",
         "tests/runtime/plan"]
FAR = 100  # a part of more folders than there are: none is examined because of the day


def changed(*names):
    library, tests = chosen(names, 5050, FAR, LIBRARY, TESTS)
    return library | tests


assert changed() == set()
assert changed("docs/index.md", "runtime/plan/plan.md", "ir/ops.cuh", "elsewhere/a.cpp") == set()
assert changed("runtime/plan/plan.h") == {"runtime/plan", "tests/runtime/plan"}
assert changed("tests/runtime/plan/plan_test.cpp") == {"runtime/plan", "tests/runtime/plan"}
assert changed("ir/ops/shape.cpp") == {"ir/ops", "tests/ir"}, "the nearest folder above"
assert changed("compiler/server/routes.cpp") == {"compiler/server", "tests/compiler/server", "tests/compiler/server/commands"}
assert changed("tests/compiler/server/commands/a_test.cpp") == {"compiler/server", "tests/compiler/server/commands"}
assert changed("runtime/cuda/device.cpp") == {"runtime/cuda", "tests/fake_gpu", "tests/runtime/cuda"}
assert changed("tests/fake_gpu/copies_test.cpp") == {"runtime/cuda", "tests/fake_gpu"}
assert changed("codegen/scheduling/tiles.cpp") == {"codegen/scheduling", "tests/compiler"}, "it has no tests of its own"
assert changed("tests/compiler/cli.h") == {"tests/compiler"}

PART = 3
days = [chosen([], day, PART, LIBRARY, TESTS) for day in range(20000, 20000 + PART * PART)]
for pair in itertools.product(LIBRARY, TESTS):
    assert any(pair[0] in library and pair[1] in tests for library, tests in days), pair
assert all(len(tests) < len(TESTS) for _, tests in days)
assert chosen([], 7, 1, LIBRARY, TESTS) == (set(LIBRARY), set(TESTS)), "one of one is all"
