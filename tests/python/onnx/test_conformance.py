"""ONNX's own cases: a sample of them, or with --all-cases all, whose counts the documentation has."""

import collections
import pathlib
import random
import re
import types

import pytest

from smelt.onnx import conformance

DOCUMENTATION = pathlib.Path(__file__).resolve().parents[3] / "docs" / "guides" / "onnx.md"
SAMPLE, LEAST = 300, 0.8


@pytest.fixture(scope="module")
def results(request):
    cases = conformance.cases()
    if not request.config.getoption("--all-cases"):
        cases = random.Random(1).sample(cases, SAMPLE)
    return [conformance.run_case(case) for case in cases]


def test_no_result_is_wrong(results):
    assert [(result.case, result.why) for result in results if result.kind == "wrong"] == []


def test_most_cases_pass_and_the_others_say_why_not(results):
    refused = [result for result in results if result.kind == "refused"]
    assert len(results) - len(refused) > LEAST * len(results)
    named = re.compile(r"operator |the element type |the input |the output ")
    assert [result for result in refused if not named.match(result.why)] == []


def test_what_is_refused_is_documented(results):
    """By the counts of the whole where all cases ran; of a sample, each reason at least."""
    text = DOCUMENTATION.read_text()
    documented = dict(re.findall(r"^\| `([^`|]+)` \| (\d+) \|", text, re.MULTILINE))
    found = collections.Counter(result.why for result in results if result.kind == "refused")
    assert set(found) <= set(documented)
    if len(results) > SAMPLE:
        assert {why: str(count) for why, count in found.items()} == documented
        kinds = collections.Counter(result.kind for result in results)
        passed = sum(kinds[kind] for kind in conformance.PASSES)
        assert f"{len(results):,} cases: {passed:,} pass, {kinds['refused']} are refused, none is wrong" in text


def test_a_wrong_result_would_be_found():
    import numpy

    class Case:
        pass

    (good,) = [case for case in conformance.cases() if case.name == "test_add"]
    bad = Case()
    bad.__dict__ = dict(
        good.__dict__ if hasattr(good, "__dict__") else {}, name="bad", model=good.model, rtol=1e-3, atol=1e-7
    )
    (inputs, outputs), *_ = good.data_sets
    bad.data_sets = [(inputs, [outputs[0] + numpy.float32(0.01)])]
    assert conformance.run_case(good).kind == "plain" and conformance.run_case(bad).kind == "wrong"


def test_what_onnx_leaves_undefined_is_not_compared():
    import numpy

    (case,) = [case for case in conformance.cases() if case.name == "test_cast_FLOAT_to_INT4"]
    (inputs, (expected,)), *_ = case.data_sets
    values, expected = conformance.plain(inputs[0]), conformance.plain(expected)
    for where, kind in (values > 7, "plain"), (values == 3, "wrong"):
        changed = types.SimpleNamespace(name="changed", model=case.model, rtol=case.rtol, atol=case.atol)
        changed.data_sets = [(inputs, [numpy.where(where, expected.dtype.type(5), expected)])]
        assert conformance.run_case(changed).kind == kind
