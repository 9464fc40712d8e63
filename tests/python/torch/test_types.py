"""Element types: integers of every width as PyTorch computes them, and modules of 16 and of 64 bits."""

from __future__ import annotations

import warnings

import pytest
import torch

import smelt
import smelt.torch
from smelt.torch.backend import smelt_backend
from smelt.ranges import LIMITS, remainder_of, result_of

EXTREMES = {
    torch.uint8: [0, 1, 2, 100, 127, 128, 200, 255],
    torch.int8: [-128, -127, -100, -1, 0, 1, 100, 127],
    torch.int16: [-(2**15), -300, -1, 0, 1, 255, 300, 2**15 - 1],
    torch.int32: [-(2**31), -70001, -1, 0, 1, 46341, 2**30, 2**31 - 1],
    torch.int64: [-(2**31), -70001, -1, 0, 1, 46341, 2**30, 2**31 - 1],
}


class Whole(torch.nn.Module):
    """Arithmetic that leaves every width."""

    def forward(self, x, y):
        found = {
            "add": x + y,
            "sub": x - y,
            "mul": x * y,
            "scaled": x * 3,
            "shifted": x + 100,
            "from": 7 - x,
            "square": x * x,
            "cube": x**3,
            "fifth": x**5,
            "hash": x * 77 % 13,
            "floor": x // 7,
            "remainder": x % 7,
            "fmod": torch.fmod(x, 7),
            "trunc": torch.div(x, 7, rounding_mode="trunc"),
            "sum": x.sum(),
            "rows": x.sum(0),
            "running": x.cumsum(0),
            "products": x.cumprod(0),
            "largest": x.max(),
            "place": x.argmax(),
            "least": x.argmin(),
            "clamp": x.clamp(-3, 90),
            "where": torch.where(x > y, x, y * 2),
            "below": x * 2 < y * 2,
            "float": (x * 3).float(),
            "flag": (x * 2).bool(),
            "cat": torch.cat([x * 2, y]),
            "picked": (x * 2)[torch.tensor([0, 3, 1])],
            "wide": x.long() * 70001,
            "byte": (x * 5).to(torch.uint8),
            "short": (x * 5).to(torch.int16),
            "word": (x.long() * 70001).to(torch.int32),
        }
        if x.dtype != torch.uint8:
            found |= {"neg": -x, "abs": x.abs(), "sign": x.sign()}
        return found


def expect_same(module, *tensors, names=("x", "y")):
    inputs = dict(zip(names, tensors))
    expected = module(*tensors)
    found = smelt.torch.compile_module(module, inputs).session().run(**inputs)
    for name, wanted in expected.items():
        assert found[name].dtype == wanted.dtype, name
        assert torch.equal(found[name], wanted), (name, found[name], wanted)


@pytest.mark.parametrize("dtype", EXTREMES, ids=lambda d: str(d).removeprefix("torch."))
def test_integers_are_those_of_pytorch(dtype):
    x = torch.tensor([[v, w] for v, w in zip(EXTREMES[dtype], EXTREMES[dtype][::-1])], dtype=dtype)
    expect_same(Whole(), x, x.flip(0).roll(1, 1).contiguous())


def test_a_product_wraps_at_64_bits():
    class Mixed(torch.nn.Module):
        def forward(self, x):
            h = x * 6364136223846793005 + 1442695040888963407
            h = h * h + 2**40
            return {"hash": h, "bucket": h % 1009, "back": h // 3, "far": h + torch.tensor([2**60 + 1, -(2**61) - 3])}

    expect_same(Mixed(), torch.tensor([[12345, -7], [2**31 - 1, -(2**31)]]), names=("x",))


def test_hashes_index_tables():
    class Hashed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(997, 4)

        def forward(self, ids):
            pairs = ids[:, 1:] * 1000003 + ids[:, :-1] * 999983
            return {"rows": self.table(pairs % 997), "pairs": pairs}

    expect_same(Hashed(), torch.tensor([[50000, 31337, 7, 40000]]), names=("ids",))


def test_an_index_beyond_32_bits_is_no_other_row():
    class Far(torch.nn.Module):
        def forward(self, x, ids):
            return x[ids * 65536 * 65536]

    x, ids = torch.randn(4, 2), torch.tensor([0, 1])
    session = smelt.torch.compile_module(Far(), dict(x=x, ids=ids)).session()
    assert torch.equal(session.run(x=x, ids=ids * 0)["output"], x[[0, 0]])
    with pytest.raises(smelt.Error, match="index"):
        session.run(x=x, ids=ids)


def test_an_input_beyond_32_bits_is_refused_by_name():
    class Plus(torch.nn.Module):
        def forward(self, ids):
            return ids + 1

    session = smelt.torch.compile_module(Plus(), torch.tensor([1, 2])).session()
    assert session.run(ids=torch.tensor([2**31 - 1, 0]))["output"].tolist() == [2**31, 1]
    with pytest.raises(smelt.Error, match=r"ids.*4294967296"):
        session.run(ids=torch.tensor([1, 2**32]))


def test_floats_become_integers_of_64_bits():
    class Cut(torch.nn.Module):
        def forward(self, x):
            return {"long": x.long(), "scaled": (x * 1e6).long(), "int": x.int()}

    expect_same(Cut(), torch.tensor([1.7, -1.7, 3e4, -2e9]), names=("x",))


def test_powers_of_integers():
    class Powers(torch.nn.Module):
        def forward(self, x, y):
            return {"both": x**y, "two": 2**y, "many": x**21}

    expect_same(Powers(), torch.tensor([3, -2, 7, 1]), torch.tensor([30, 31, 0, 5]))


def ids_of(text: str) -> str:
    return text.partition("graph")[2]


def test_ids_that_only_index_and_compare_keep_32_bits():
    class Plain(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.places = torch.nn.Embedding(50, 8), torch.nn.Embedding(64, 8)

        def forward(self, ids):
            places = (ids != 1).long().cumsum(1) * (ids != 1) + 1
            return self.words(ids) + self.places(places) * (ids < 40).float()[..., None]

    plan = smelt.torch.compile_module(
        Plain(), dict(ids=torch.ones(2, 5, dtype=torch.long)), dynamic_shapes={"ids": {1: "T"}}, max={"T": 60}
    )
    assert plan.program.text.count("i64") == 1  # the input itself


def test_range_rules_hold_for_all_corners():
    numbers = range(-9, 10)
    for a in [(-9, -3), (-4, 5), (0, 8), (3, 3)]:
        for b in [(-5, -2), (-3, 4), (0, 2), (2, 7)]:
            for name, function in {
                "add": lambda x, y: x + y,
                "sub": lambda x, y: x - y,
                "mul": lambda x, y: x * y,
                "div": lambda x, y: x if y == 0 else int(x / y),
                "max": max,
                "min": min,
            }.items():
                least, most = result_of(name, [a, b])
                made = [function(x, y) for x in numbers for y in numbers if a[0] <= x <= a[1] and b[0] <= y <= b[1]]
                assert least <= min(made) and max(made) <= most, (name, a, b)
            for floors in (True, False):
                least, most = remainder_of(a, b, floors)
                cut = (lambda x, y: x % y) if floors else (lambda x, y: x - y * int(x / y))
                made = [cut(x, y) for x in range(a[0], a[1] + 1) for y in range(b[0], b[1] + 1) if y != 0]
                assert least <= min(made) and max(made) <= most, (floors, a, b)
    assert LIMITS["i64"] == (torch.iinfo(torch.int64).min, torch.iinfo(torch.int64).max)


# ---- floats

HALVES = [torch.bfloat16, torch.float16]


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = torch.nn.LayerNorm(8), torch.nn.Linear(8, 4)

    def forward(self, x):
        return torch.relu(self.linear(self.norm(x)))


@pytest.mark.parametrize("dtype", HALVES)
def test_modules_of_16_bits(dtype):
    module, x = Layer().to(dtype).eval(), torch.randn(3, 8, dtype=dtype)
    session = smelt.torch.compile_module(module, x).session()
    found, expected = session.run(x=x)["output"], module(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
    assert all(t.dtype == dtype for t in session.state_dict().values())


@pytest.mark.parametrize("dtype", HALVES)
def test_the_backend_takes_modules_of_16_bits(dtype):
    torch._dynamo.reset()
    module, x = Layer().to(dtype), torch.randn(3, 8, dtype=dtype)
    compiled = torch.compile(module, backend=smelt_backend)
    found, expected = compiled(x), module(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)
    for output in (found, expected):
        output.float().square().sum().backward()
        gradients = [p.grad for p in module.parameters()]
        module.zero_grad()
        if output is found:
            kept = gradients
    for a, b in zip(kept, gradients):
        assert a.dtype == dtype
        torch.testing.assert_close(a, b, rtol=5e-2, atol=5e-2)


def test_outputs_under_autocast():
    torch._dynamo.reset()
    module, x = torch.nn.Linear(8, 4), torch.randn(3, 8)
    compiled = torch.compile(module, backend=smelt_backend)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found, expected = compiled(x), module(x)
    assert found.dtype == expected.dtype == torch.bfloat16
    torch.testing.assert_close(found, expected, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("what", ["module", "input", "output"])
def test_float64_is_refused_when_compiled(what):
    class Doubled(torch.nn.Module):
        def forward(self, x):
            return x.double() * 2

    module = {"module": Layer().double(), "input": Layer(), "output": Doubled()}[what]
    x = torch.randn(3, 8, dtype=torch.float32 if what == "output" else torch.float64)
    if what == "input":
        module.forward = lambda x: Layer.forward(module, x.float())
    with pytest.raises(smelt.Error, match=r"float64.*\.float\(\)"):
        smelt.torch.compile_module(module, x)


def test_the_backend_leaves_float64_to_pytorch():
    torch._dynamo.reset()
    module, x = Layer().double(), torch.randn(3, 8, dtype=torch.float64)
    with pytest.raises(Exception, match="float64"):
        torch.compile(module, backend=smelt_backend)(x)
    torch._dynamo.reset()
    found = torch.compile(module, backend=smelt_backend, options={"fallback": True})(x)
    torch.testing.assert_close(found, module(x))


# ---- float64 inside


class Rotated(torch.nn.Module):
    """Angles whose frequencies are computed in float64, and the angles too where `doubles` says so."""

    def __init__(self, doubles):
        super().__init__()
        self.doubles = doubles
        self.register_buffer("base", torch.tensor(1e4), persistent=False)

    def forward(self, x, places):
        frequencies = 1 / self.base.double() ** (torch.arange(0, 8, 2, dtype=torch.float64) / 8)
        places = places.double() if self.doubles else places.float()
        return x * torch.cos(places[:, None] * (frequencies if self.doubles else frequencies.float())).float()


def test_constants_are_computed_in_float64():
    x, places = torch.randn(5, 4), torch.arange(5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plan = smelt.torch.compile_module(Rotated(False), (x, places))
    assert "pow" not in plan.program.text and "log" not in plan.program.text
    assert torch.allclose(torch.as_tensor(plan.session().run(x=x, places=places)["output"]), Rotated(False)(x, places))


def test_what_follows_from_inputs_in_float64_is_said_once():
    module = torch.nn.ModuleDict({"rope": Rotated(True)})
    module.forward = lambda x, places: module["rope"](x, places)
    with pytest.warns(UserWarning, match="float64") as said:
        smelt.torch.compile_module(module, {"x": torch.randn(5, 4), "places": torch.arange(5)})
    text = next(str(w.message) for w in said if "float64" in str(w.message))
    assert "aten.mul.Tensor in 'rope'" in text and "aten.cos.default" in text and "test_types.py" in text
    assert "aten.pow" not in text
