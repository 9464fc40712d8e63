"""Plans: options by their names on the command line, files, and what is wrong with either."""

import pathlib
import pickle
import subprocess
import sys
import threading
import time

import numpy
import pytest

import smelt
from conftest import GOLDEN
from smelt import _native
from smelt.options import CompileOptions


def test_a_plan_says_what_it_is(plan):
    assert list(plan.entries) == ["logits"]
    entry = plan.entries["logits"]
    assert {port["name"]: (port["dtype"], port["shape"]) for port in entry["inputs"]}["input_ids"] == ("i32", "[B,T]")
    assert [port["name"] for port in entry["outputs"]] == ["logits"]
    assert plan.bounds == {"B": 4, "T": 32}
    assert plan.target.startswith("cpu") and plan.path == str(GOLDEN)
    assert plan.weights == str(GOLDEN / "model.safetensors")
    assert "logits" in repr(plan)


def test_a_saved_plan_runs_as_before(plan, session, ids, tmp_path):
    path = tmp_path / "gpt2.plan"
    plan.save(path)
    loaded = smelt.load(path)
    assert loaded.entries == plan.entries and loaded.bounds == plan.bounds and loaded.weights is None
    results = loaded.session(weights=GOLDEN).run(input_ids=ids)["logits"]
    assert numpy.array_equal(results.numpy(), session.run(input_ids=ids)["logits"].numpy())


def test_initial_values_depend_on_the_seed(plan, ids):
    def logits(**options):
        return plan.session(from_scratch=True, **options).run(input_ids=ids)["logits"].numpy()

    assert numpy.array_equal(logits(seed=1), logits(seed=1))
    assert not numpy.array_equal(logits(seed=1), logits(seed=2))


BAD_OPTIONS = {
    "unknown": ({"presicion": "bf16"}, "no option presicion; did you mean precision"),
    "renamed": ({"gemm_bodies": "off"}, "gemm_bodies= is now gemm_epilogues="),
    "several": ({"tune": True, "memory_budget": "1GiB", "recompute": "layers"}, "leave it or recompute= out"),
    "other value": ({"precision": "fp4"}, "precision=fp4: expected fp32, tf32, bf16, fp16 or fp8"),
    "flag": ({"tune": "yes"}, "tune='yes': expected True or False"),
    "value": ({"target": True}, "target=True: expected a value"),
    "bound": ({"max": {"B": 0}}, "expected bounds such as"),
    "target": ({"target": "tpu"}, "target"),
    "dropout": ({"dropout": 2}, "dropout"),
    "entry": ({"entry": ["logit"]}, "logit"),
}


@pytest.mark.parametrize("name", BAD_OPTIONS)
def test_bad_options_are_errors(name):
    options, message = BAD_OPTIONS[name]
    with pytest.raises(smelt.Error, match=message) as error:
        smelt.compile(GOLDEN, **options)
    assert error.value.status == "invalid_argument"


def test_options_are_those_of_the_command_line():
    program = pathlib.Path(_native.__file__).parents[2] / "smelt"
    if not program.exists():
        pytest.skip(f"{program} is not built")
    text = subprocess.run([program, "compile", "--help"], capture_output=True, text=True, check=True).stdout
    listed = {word.strip(",").lstrip("-") for word in text.split() if word.startswith("--")}
    names = {name.replace("_", "-") for name in _native.compile_options()}
    assert len(names) > 40 and names <= {word.split("=")[0] for word in listed}


def test_type_checkers_know_all_options():
    assert set(CompileOptions.__annotations__) == set(_native.compile_options())


def test_files_that_are_none():
    with pytest.raises(smelt.Error, match="no-such-model"):
        smelt.compile("no-such-model")
    with pytest.raises(smelt.Error) as error:
        smelt.load(GOLDEN / "config.json")
    assert error.value.status == "invalid_file" and "config.json" in str(error.value)


def test_a_plan_is_not_compiled_again(plan, tmp_path):
    path = tmp_path / "a.plan"
    plan.save(path)
    with pytest.raises(smelt.Error, match="smelt.load"):
        smelt.compile(path)


@pytest.mark.parametrize("device", ["cuda", "cuda:1", "gpu", "cuda:", "cuda:x", ""])
def test_a_plan_for_cpus_runs_on_no_other_device(plan, device):
    with pytest.raises(smelt.Error, match="device"):
        plan.session(device=device)


def test_weights_of_another_model_are_named(plan):
    with pytest.raises(smelt.Error, match="is missing") as error:
        plan.session(weights=GOLDEN.parent / "bloom")
    assert error.value.status == "invalid_file"


def test_errors_are_sent_to_other_processes():
    error = pickle.loads(pickle.dumps(smelt.Error("text", "io")))
    assert (str(error), error.status) == ("text", "io")


def test_other_threads_go_on_while_a_plan_is_compiled():
    compiling = threading.Thread(target=smelt.compile, args=[GOLDEN], kwargs={"no_plan_cache": True})
    compiling.start()
    turns = 0
    while compiling.is_alive():
        turns += 1
        time.sleep(0.001)
    assert turns > 3  # two where the compiler held the interpreter


def test_nothing_big_is_imported():
    code = "import sys, smelt; print([m for m in ('torch', 'numpy', 'onnx', 'transformers') if m in sys.modules])"
    environment = {"PYTHONPATH": str(pathlib.Path(smelt.__file__).parents[1])}
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert text.stdout.strip() == "[]"


def test_one_symbol_is_exported_and_one_openmp_pool_loaded():
    symbols = subprocess.run(["nm", "-D", "--defined-only", "--extern-only", _native.__file__], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in symbols.stdout.splitlines()] == ["PyInit__native"]
    pools = {line.split()[-1] for line in open("/proc/self/maps") if "gomp" in line or "iomp" in line}
    assert len(pools) == 1 and pathlib.Path(pools.pop()).name.startswith("libgomp.so.1")
