"""Runs: numbers, and arrays that go in and come out without a copy."""

import ctypes
import gc
import threading
import timeit

import numpy
import pytest

import smelt
from conftest import relative


def address(array):
    return array.__array_interface__["data"][0]


def inputs_of(golden):
    return {name: golden["tensors"]["input." + name] for name in ("input_ids", "attention_mask")}


def test_logits_are_those_of_the_golden(session, golden):
    logits = session.run("logits", **inputs_of(golden))["logits"]
    assert (logits.dtype, logits.shape, logits.device) == ("f32", (3, 19, 131), "cpu")
    assert relative(logits, golden["tensors"]["output.logits"]) < 1e-5


def test_the_only_entry_needs_no_name(session, ids):
    assert set(session.run(input_ids=ids)) == {"logits"}


def test_an_output_is_taken_without_a_copy_and_outlives_its_tensor(session, ids):
    logits = session.run(input_ids=ids)["logits"]
    by_dlpack, by_array = numpy.from_dlpack(logits), numpy.asarray(logits)
    assert address(by_dlpack) == address(by_array) == address(logits.numpy())
    expected = by_array.copy()
    del logits, by_array
    gc.collect()
    assert numpy.array_equal(by_dlpack, expected)


def test_a_copy_is_a_copy(session, ids):
    logits = session.run(input_ids=ids)["logits"]
    assert address(numpy.array(logits, copy=True)) != address(logits.numpy())
    assert numpy.asarray(logits, dtype=numpy.float64).dtype == numpy.float64


def test_outputs_are_written_to_memory_of_the_caller(session, ids):
    expected = session.run(input_ids=ids)["logits"].numpy()
    out = numpy.full(expected.shape, numpy.nan, numpy.float32)
    assert session.run(input_ids=ids, out={"logits": out})["logits"] is out
    assert numpy.array_equal(out, expected)


def test_a_call_takes_microseconds(tmp_path):
    """The least of many, as other programs run meanwhile."""
    path = tmp_path / "double.ir"
    path.write_text("graph @double(%x: f32[3,4]) {\n  %y = add %x, %x\n  return y = %y\n}\n")
    tiny = smelt.compile(path, mode="infer").session(from_scratch=True, threads=1)
    x = numpy.ones((3, 4), numpy.float32)
    assert min(timeit.repeat(lambda: tiny.run(x=x), repeat=50, number=20)) / 20 <= 20e-6


class OnlyDLPack:
    """An array that has nothing but DLPack's methods, as tensors of other libraries do."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class OnGpu:
    """What looks like an array on the first GPU."""

    def __init__(self, shape):
        self._shape = (ctypes.c_int64 * len(shape))(*shape)
        self._tensor = DLTensor(0xDEAD0000, 2, 0, len(shape), 0, 32, 1, ctypes.addressof(self._shape))

    def __dlpack__(self, **options):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return (2, 0)


def test_inputs_and_outputs_by_dlpack(session, ids):
    expected = session.run(input_ids=ids)["logits"].numpy()
    out = numpy.empty_like(expected)
    session.run(input_ids=OnlyDLPack(ids), out={"logits": OnlyDLPack(out)})
    assert numpy.array_equal(out, expected)


def test_inputs_may_be_read_only(session, ids):
    fixed = ids.copy()
    fixed.flags.writeable = False
    session.run(input_ids=fixed)


def test_an_output_is_an_input(session, ids):
    """A tensor of Smelt is an array as any other."""
    logits = session.run(input_ids=ids)["logits"]
    with pytest.raises(smelt.Error, match=r"expected i32\[B,T\], given f32"):
        session.run(input_ids=logits)


BAD_INPUTS = {
    "not contiguous": (lambda ids: {"input_ids": numpy.asfortranarray(ids)}, "not dense and row-major"),
    "every second": (lambda ids: {"input_ids": ids[:, ::2]}, "not dense and row-major"),
    "wide": (lambda ids: {"input_ids": ids.astype(numpy.int64)}, r"expected i32\[B,T\], given i64.*; smelt.as_ids"),
    "complex": (lambda ids: {"input_ids": ids.astype(numpy.complex64)}, "no type that plans have"),
    "a list": (lambda ids: {"input_ids": ids.tolist()}, "a list is no array"),
    "none": (lambda ids: {"input_ids": None}, "a NoneType is no array"),
    "on a device": (lambda ids: {"input_ids": OnGpu(ids.shape)}, "lies on a device"),
    "unknown": (lambda ids: {"input_ids": ids, "idss": ids}, "no such input"),
    "missing": (lambda ids: {}, "missing"),
    "flat": (lambda ids: {"input_ids": ids[0]}, r"expected i32\[B,T\]"),
    "too long": (lambda ids: {"input_ids": numpy.zeros((1, 33), numpy.int32)}, "larger bounds"),
    "too many": (lambda ids: {"input_ids": numpy.zeros((5, 3), numpy.int32)}, "larger bounds"),
    "no token": (lambda ids: {"input_ids": numpy.full((1, 3), 131, numpy.int32)}, "element 0 is 131"),
    "other mask": (lambda ids: {"input_ids": ids, "attention_mask": ids[:2]}, "as in the inputs before it"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_bad_inputs_are_errors(session, ids, name):
    make, message = BAD_INPUTS[name]
    with pytest.raises(smelt.Error, match=message) as error:
        session.run("logits", **make(ids))
    assert error.value.status == "invalid_argument"
    session.run("logits", input_ids=ids)  # goes on


def read_only(shape):
    array = numpy.zeros(shape, numpy.float32)
    array.flags.writeable = False
    return array


SHAPE = (3, 19, 131)
BAD_OUTPUTS = {
    "read-only": (lambda: {"logits": read_only(SHAPE)}, "read-only"),
    "small": (lambda: {"logits": numpy.zeros((3, 18, 131), numpy.float32)}, r"it is f32\[3,19,131\]"),
    "wide": (lambda: {"logits": numpy.zeros(SHAPE)}, r"given is f64\[3,19,131\]"),
    "turned": (lambda: {"logits": numpy.zeros((131, 19, 3), numpy.float32).T}, "not dense"),
    "unknown": (lambda: {"loss": numpy.zeros(SHAPE, numpy.float32)}, "no such output"),
    "a list": (lambda: {"logits": [1.0]}, "a list is no array"),
    "on a device": (lambda: {"logits": OnGpu(SHAPE)}, "lies on a device"),
}


@pytest.mark.parametrize("name", BAD_OUTPUTS)
def test_bad_outputs_are_errors(session, ids, name):
    make, message = BAD_OUTPUTS[name]
    with pytest.raises(smelt.Error, match=message):
        session.run("logits", input_ids=ids, out=make())


def test_memory_for_an_output_is_that_of_no_input(session, ids):
    memory = numpy.zeros(SHAPE, numpy.float32)
    inside = memory.view(numpy.int32).reshape(-1)[: ids.size].reshape(ids.shape)
    with pytest.raises(smelt.Error, match="also that of input 'input_ids'"):
        session.run(input_ids=inside, out={"logits": memory})


def test_an_unknown_entry_names_those_there_are(session, ids):
    with pytest.raises(smelt.Error, match="no entry 'logit'; there are: 'logits'"):
        session.run("logit", input_ids=ids)


def test_threads_take_turns_and_share_weights(session, ids):
    expected = session.run(input_ids=ids)["logits"].numpy()
    sessions = [session, session, session.share(), session.share()]
    results = [None] * len(sessions)

    def work(index):
        for _ in range(3):
            results[index] = sessions[index].run(input_ids=ids)["logits"].numpy()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(sessions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(numpy.array_equal(result, expected) for result in results)




# ---- GPUs, which these tests do without: what is asked of arrays on one, and what such a run is given


class Recorder:
    """A native session that keeps what it is called with."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, *arguments)) or {}


class TensorOnGpu(OnGpu):
    """One that says which stream it was asked to be ready for."""

    def __dlpack__(self, stream=None, **options):
        return ("ready for", stream)


def calls_of(plan, *arguments, **options):
    session = smelt.Session(plan, Recorder())
    session.run("logits", *arguments, **options)
    return session._native.calls


class TorchStream:
    cuda_stream = 77


class ProtocolStream:
    def __cuda_stream__(self):
        return (0, 88)


@pytest.mark.parametrize("stream, handle", [(None, 0), (5, 5), (TorchStream(), 77), (ProtocolStream(), 88)])
def test_arrays_on_a_gpu_are_handed_over_in_the_streams_order(plan, ids, stream, handle):
    x, y = TensorOnGpu((1,)), TensorOnGpu((1,))
    consumer = handle or 1
    assert calls_of(plan, stream=stream, x=x, ids=ids) == [
        ("run", "logits", {"x": ("ready for", consumer), "ids": ids}, handle)
    ]
    assert calls_of(plan, stream=stream, x=x, out={"y": y}) == [
        ("run_into", "logits", {"x": ("ready for", consumer)}, {"y": ("ready for", consumer)}, handle)
    ]
    assert calls_of(plan, stream=stream, x=x, on_device=True)[0][0] == "run_to_device"


@pytest.mark.parametrize("stream", [-1, "default", 1.5, True])
def test_what_is_no_stream_is_an_error(session, ids, stream):
    with pytest.raises(smelt.Error, match="is no stream"):
        session.run(input_ids=ids, stream=stream)


def test_a_plan_for_cpus_has_no_streams_and_no_device(session, ids):
    with pytest.raises(smelt.Error, match="runs on no stream"):
        session.run(input_ids=ids, stream=5)
    expected = session.run(input_ids=ids)["logits"].numpy()
    assert numpy.array_equal(session.run(input_ids=ids, on_device=True)["logits"].numpy(), expected)


# ---- ids


def test_ids_are_converted_on_request(session, ids):
    expected = session.run(input_ids=ids)["logits"].numpy()
    for given in (ids.astype(numpy.int64), ids.astype(numpy.uint8), ids.tolist(), numpy.asfortranarray(ids)):
        assert numpy.array_equal(session.run(input_ids=smelt.as_ids(given))["logits"].numpy(), expected)
    assert smelt.as_ids(ids) is ids
    assert smelt.as_ids(numpy.int64(5)).shape == ()


BAD_IDS = {
    "large": (numpy.array([1 << 40]), "does not hold"),
    "large of the same width": (numpy.array([3 << 30], numpy.uint32), "does not hold"),
    "rows of different lengths": ([[1, 2], [3]], "different lengths"),
    "fractions": (numpy.array([1.5]), "expected integers"),
    "on a gpu": (OnGpu((1,)), "lie on a GPU"),
}


@pytest.mark.parametrize("name", BAD_IDS)
def test_what_are_no_ids(name):
    given, message = BAD_IDS[name]
    with pytest.raises(smelt.Error, match=message):
        smelt.as_ids(given)
