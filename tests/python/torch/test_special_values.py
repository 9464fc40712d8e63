"""Values at zeros, bounds, infinities and NaN, and derivatives where a function's parts have none, against PyTorch."""

import functools
import math

import pytest
import smelt
import smelt.torch
import torch
import torch.nn.functional as F
from smelt.torch.backend import smelt_backend
from torch import nn

INF, NAN = math.inf, math.nan
SPECIAL = [0.0, -0.0, 1.0, -1.0, 3.0, -3.0, 6.0, -6.0, 0.5, -2.5, 20.0, -20.0]
SPECIAL += [INF, -INF, NAN, 1e-40, 1e38, -1e38, 1e-38]
CORNERS = [[0.0, -0.0, 1.0, -1.0], [3.0, -3.0, 6.0, -6.0], [0.0] * 4, [2.0, 2.0, 0.5, -2.0], [1.0] * 4]

ELEMENTS = {
    "relu": F.relu, "relu6": F.relu6, "hardtanh": F.hardtanh, "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid,
    "leaky_relu": F.leaky_relu, "elu": F.elu, "selu": F.selu, "celu": F.celu, "softplus": F.softplus,
    "softplus of beta": lambda x: F.softplus(x, beta=2.0), "logsigmoid": F.logsigmoid, "silu": F.silu,
    "tanh": torch.tanh, "sigmoid": torch.sigmoid, "erf": torch.erf, "erfc": torch.erfc, "exp": torch.exp,
    "expm1": torch.expm1, "abs": torch.abs, "sign": torch.sign, "square": torch.square, "sinc": torch.sinc,
    "sin": torch.sin, "cos": torch.cos, "clamp": lambda x: x.clamp(0, 3), "clamp_min": lambda x: x.clamp(min=1),
    "clamp_max": lambda x: x.clamp(max=-1), "clamp by tensors": lambda x: x.clamp(torch.zeros_like(x), torch.ones_like(x)),
    "clamp between equal tensors": lambda x: x.clamp(x.detach().round(), x.detach().round()),
    "clamp of tensors": lambda x: torch.zeros_like(x).clamp(x, x.flip(-1)) + x.clamp(x, x.abs()) + x.clamp(-x.abs(), x),
    "atan2": lambda x: torch.atan2(x, -x.detach().abs()) + torch.atan2(x.detach(), x) + torch.atan2(x.flip(-1), x),
    "copysign": lambda x: torch.copysign(x, x.detach().flip(-1)),
    "maximum": lambda x: torch.maximum(x, torch.zeros_like(x)), "minimum": lambda x: torch.minimum(x, x.flip(-1)),
    "fmax": lambda x: torch.fmax(x, x.flip(-1)), "fmin": lambda x: torch.fmin(x, torch.zeros_like(x)),
    "softshrink": F.softshrink, "hardshrink": F.hardshrink, "threshold": lambda x: F.threshold(x, 1.0, 5.0),
    "cube": lambda x: x**3, "1.5": lambda x: x.abs() ** 1.5, "-2": lambda x: (x.abs() + 1) ** -2,
    "xlogy": lambda x: torch.xlogy(x, x.detach().abs()), "xlogy's second": lambda x: torch.xlogy(torch.zeros_like(x), x.abs() + 1),
    "lerp": lambda x: torch.lerp(x, torch.ones_like(x), 0.7), "lerp from near": lambda x: torch.lerp(x, torch.ones_like(x), 0.2),
    "lerp by a tensor": lambda x: torch.lerp(torch.ones_like(x), x, torch.full_like(x, 0.6)),
    "hypot": lambda x: torch.hypot(x, torch.full_like(x, 0.5)), "rrelu": F.rrelu,
    "logaddexp": lambda x: torch.logaddexp(x, torch.zeros_like(x)), "nan_to_num": lambda x: x.nan_to_num(),
    "floor": torch.floor, "isnan": lambda x: x.isnan().float(), "prelu": lambda x: F.prelu(x, torch.full((1,), 0.3)),
    "hinge": lambda x: F.hinge_embedding_loss(x, -torch.ones_like(x), margin=0.0, reduction="none"),
    "smooth_l1": lambda x: F.smooth_l1_loss(x, torch.zeros_like(x), reduction="none"),
    "huber": lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"),
    "l1": lambda x: F.l1_loss(x, torch.ones_like(x), reduction="none"),
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, torch.ones_like(x) * 0.5, reduction="none"),
}  # fmt: skip
VALUES_ALONE = {
    "log": torch.log, "log1p": torch.log1p, "sqrt": torch.sqrt, "rsqrt": torch.rsqrt, "reciprocal": torch.reciprocal,
    "power": lambda x: torch.pow(x, x.flip(-1)), "whole powers": lambda x: torch.pow(x, x.flip(-1).round()),
    "half": lambda x: x**0.5, "-1": lambda x: x**-1,
    "hypot with NaN": lambda x: torch.hypot(x, torch.full_like(x, NAN)), "entr": torch.special.entr,
}  # fmt: skip
ROWS = {
    "max": lambda x: x.max(-1).values, "min": lambda x: x.min(-1).values, "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(-1), "topk": lambda x: x.topk(2).values, "least": lambda x: x.topk(2, largest=False).values,
    "sort": lambda x: x.sort(-1).values, "norm": lambda x: x.norm(dim=-1), "norm of 1.5": lambda x: x.norm(p=1.5, dim=-1),
    "norm of 3": lambda x: x.norm(p=3, dim=-1), "norm of 1": lambda x: x.norm(p=1, dim=-1),
    "norm of 0": lambda x: x.norm(p=0, dim=-1), "norm of -inf": lambda x: x.norm(p=-INF, dim=-1),
    "norm of -2": lambda x: x.norm(p=-2, dim=-1), "pool": lambda x: F.max_pool1d(x, 3, 1, 1), "median": lambda x: x.median(),
    "norm of inf": lambda x: x.norm(p=INF, dim=-1), "normalize": lambda x: F.normalize(x, dim=-1), "std": lambda x: x.std(-1),
    "var": lambda x: x.var(-1), "softmax": lambda x: x.softmax(-1), "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1), "logcumsumexp": lambda x: x.logcumsumexp(-1),
    "below the maximum": lambda x: (x - x.amax(-1, keepdim=True)).exp(), "cosine": lambda x: F.cosine_similarity(x, torch.ones_like(x), dim=-1),
}  # fmt: skip
SUMS = {"sum": lambda x: x.sum(-1), "mean": lambda x: x.mean(-1)}
"""By themselves: with a variance of the same rows beside them they are made of it."""
UNORDERED = ("topk", "least")
"""Which of equal elements they take PyTorch leaves open."""
ORDERED = {name: function for name, function in ROWS.items() if name not in UNORDERED}
PLACES = {
    "argmax": lambda x: x.argmax(-1), "argmin": lambda x: x.argmin(-1), "max's place": lambda x: x.max(-1).indices,
    "min's place": lambda x: x.min(-1).indices,
}  # fmt: skip
SPECIAL_ROWS = [
    [1.0, NAN, 2.0, 0.5], [NAN, NAN, 1.0, INF], [-INF, -INF, -INF, -INF], [-INF, 1.0, 2.0, -INF], [0.0, -1.0, NAN, -INF],
    [INF, 1.0, 2.0, 0.5], [2.0, 2.0, 1.0, 2.0], [-1.0, -3.0, -3.0, -1.0], [1e18, -1e17, 1.0, 0.0],
]  # fmt: skip


class Each(nn.Module):
    """Every function, of the input or of a parameter of its own."""

    def __init__(self, functions, parameters=None):
        super().__init__()
        self.functions = functions
        if parameters is not None:
            self.parts = nn.ParameterList([nn.Parameter(torch.tensor(parameters)) for _ in functions])

    def forward(self, x):
        return {str(i): f(x) for i, f in enumerate(self.functions.values())}


class Loss(Each):
    def forward(self, x):
        return {"loss": sum((f(w) * x).sum() for f, w in zip(self.functions.values(), self.parts))}


@functools.lru_cache(maxsize=None)
def values(kind):
    """Found and expected by the function's name."""
    functions, x = {
        "elements": ({**ELEMENTS, **VALUES_ALONE}, [SPECIAL]),
        "rows": ({**ROWS, **PLACES}, SPECIAL_ROWS),
        "sums": (SUMS, SPECIAL_ROWS),
    }[kind]
    module, x = Each(functions), torch.tensor(x)
    found = smelt.torch.compile_module(module, x).session().run(x=x)
    expected = module(x)
    return {name: (found[f"output.{i}"], expected[str(i)]) for i, name in enumerate(functions)}


@functools.lru_cache(maxsize=None)
def gradients():
    functions = {**ELEMENTS, **ORDERED, **SUMS}
    module, x = Loss(functions, CORNERS), torch.ones(())
    start = torch.tensor(CORNERS)
    module(x)["loss"].backward()
    session = smelt.torch.compile_module(module, x, mode="train", optimizer=smelt.SGD(lr=1.0)).session()
    session.step(lr=1.0, x=x)
    state = session.state_dict()
    return {
        name: (start - state[f"parts.{i}"], torch.zeros_like(start) if w.grad is None else w.grad)
        for i, (name, w) in enumerate(zip(functions, module.parts))
    }


@functools.lru_cache(maxsize=None)
def gradients_of_the_backend():
    functions = {**ELEMENTS, **ORDERED, **SUMS}

    def loss(*parts):
        return sum(f(w).sum() for f, w in zip(functions.values(), parts))

    def run(function):
        parts = [torch.tensor(CORNERS, requires_grad=True) for _ in functions]
        function(*parts).backward()
        return [torch.zeros_like(w) if w.grad is None else w.grad for w in parts]

    return dict(zip(functions, zip(run(torch.compile(loss, backend=smelt_backend)), run(loss))))


def check(found, expected, digits):
    found, expected = found.float(), expected.float()
    assert found.shape == expected.shape
    same = (found == expected) | (found.isnan() & expected.isnan())
    near = (found - expected).abs() <= digits * expected.abs() + 1e-37
    assert bool((same | near).all()), f"expected {expected.tolist()}, found {found.tolist()}"


@pytest.mark.parametrize("name", {**ELEMENTS, **VALUES_ALONE})
def test_values(name):
    check(*values("elements")[name], 1e-5)


@pytest.mark.parametrize("name", {**ROWS, **PLACES})
def test_rows(name):
    check(*values("rows")[name], 1e-5)


@pytest.mark.parametrize("name", SUMS)
def test_sums(name):
    check(*values("sums")[name], 1e-5)


@pytest.mark.parametrize("door", (gradients, gradients_of_the_backend), ids=("training", "backend"))
@pytest.mark.parametrize("name", {**ELEMENTS, **ORDERED, **SUMS})
def test_gradients(name, door):
    found, expected = door()[name]
    assert bool(((found - expected).abs() <= 3e-6 * (1 + expected.abs())).all()), f"expected {expected}, found {found}"


def test_moments_of_a_batch_norm_have_no_gradient():
    class Moments(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.arange(12.0).reshape(2, 2, 3).sin())

        def forward(self, x):
            y, mean, rstd = torch.native_batch_norm(self.w * x, None, None, None, None, True, 0.1, 1e-5)
            return {"loss": (y * x).pow(3).sum() + mean.sum() + rstd.sum()}

    module, x = Moments(), torch.randn(2, 2, 3)
    module(x)["loss"].backward()
    session = smelt.torch.compile_module(module, x, mode="train", optimizer=smelt.SGD(lr=1.0)).session()
    session.step(lr=1.0, x=x)
    assert torch.allclose(module.w.detach() - session.state_dict()["w"], module.w.grad, 1e-4, 1e-5)


def log_of_softmax(shift, **kind):
    torch.manual_seed(0)
    x, y = torch.randn(64, 10) * 5, torch.randint(0, 10, (64,))
    x[torch.arange(64), y] += 25

    class Both(nn.Module):
        def forward(self, x, y):
            return F.log_softmax(x, -1), F.cross_entropy(x, y, **kind)

    x, module = x + shift, Both()
    found = list(smelt.torch.compile_module(module, dict(x=x, y=y)).session().run(x=x, y=y).values())
    return found, module(x.double(), y)


SHIFTS = [(shift, {}) for shift in (0.0, 300.0, 3000.0, 1e7, -1e7)] + [(3000.0, {"label_smoothing": 0.1})]


@pytest.mark.parametrize("shift, kind", SHIFTS)
def test_logits_with_a_common_part_keep_their_digits(shift, kind):
    for found, expected in zip(*log_of_softmax(shift, **kind)):
        assert float((found - expected).abs().max()) <= 1e-5 + 3e-7 * float(expected.abs().max())


def masked(masks):
    """Rows of eight logits whose first four elements are a mask, or that have one at a place of its own."""
    torch.manual_seed(0)
    rows = torch.randn(9 * len(masks), 8)
    for i, mask in enumerate(masks):
        rows[9 * i, :4] = mask
        for place in range(8):
            rows[9 * i + 1 + place, place] = mask
    return rows


LOGITS = {
    "offsets": torch.cat([torch.arange(8.0).cos() * 3 + shift for shift in (1e4, -1e4, 1e5, -1e5, 1e7, -1e7)]).reshape(6, 8),
    "masks": masked((-1e4, 1e4, -1e9, 1e9, -1e30, 1e30)),
    "infinities": torch.cat([masked((INF, -INF, float("nan"))), torch.full((1, 8), -INF), torch.full((1, 8), INF)]),
}


@pytest.mark.parametrize("smoothing", (0.0, 0.1, 1.0))
@pytest.mark.parametrize("logits", LOGITS.values(), ids=LOGITS)
def test_cross_entropy_of_large_logits(logits, smoothing):
    """The loss and the gradient have PyTorch's digits and special values, for targets that count and for ignored ones."""

    def losses(x, y):
        return F.cross_entropy(x, y, label_smoothing=smoothing, reduction="none")

    def with_gradient(function, x):
        x = x.clone().requires_grad_()
        loss = function(x, targets)
        loss.sum().backward()
        return loss.detach().double(), x.grad.double()

    logits, targets = logits.repeat_interleave(3, 0), torch.tensor([0, 5, -100]).repeat(len(logits))
    exact, eager = with_gradient(losses, logits.double()), with_gradient(losses, logits)
    found = with_gradient(torch.compile(losses, backend=smelt_backend, dynamic=False), logits)
    for ours, theirs, value in zip(found, eager, exact):
        assert torch.equal(ours.isfinite(), theirs.isfinite()) and torch.equal(ours.isnan(), theirs.isnan())
        usual = value.isfinite()
        error, error_of_eager = (ours - value)[usual].abs(), (theirs - value)[usual].abs()
        assert (error <= 2 * error_of_eager + 4e-7 * (1 + value[usual].abs())).all()


def test_logits_with_a_common_part_have_the_same_gradient():
    class Model(nn.Module):
        def __init__(self, shift):
            super().__init__()
            self.w = nn.Parameter(torch.tensor([[1.0, 3.0, 2.0, -4.0]]) + shift)

        def forward(self, y):
            return {"loss": F.cross_entropy(self.w, y)}

    y = torch.tensor([1])
    for shift in (0.0, 4096.0):
        session = smelt.torch.compile_module(Model(shift), y, mode="train", optimizer=smelt.SGD(lr=1.0)).session()
        norm = session.step(lr=1.0, y=y).gradient_norm
        model = Model(shift)
        model(y)["loss"].backward()
        assert abs(norm - float(model.w.grad.norm())) <= 1e-6


@pytest.mark.parametrize("shape", ((1, 1, 4, 4), (2, 2, 8, 8)))
def test_a_query_that_sees_no_key(shape):
    """NaN of a softmax that is written out, zeros of scaled_dot_product_attention."""

    class Written(nn.Module):
        def forward(self, x, m):
            whole = F.scaled_dot_product_attention(x, x, x, m)
            return (x @ x.mT).masked_fill(~m, -INF).softmax(-1) @ x, whole

    torch.manual_seed(0)
    x, m = torch.randn(*shape), torch.ones(shape[0], 1, shape[2], shape[2]).bool()
    m[:, :, 1] = False
    found = smelt.torch.compile_module(Written(), dict(x=x, m=m)).session().run(x=x, m=m)
    for one, expected in zip(found.values(), Written()(x, m)):
        assert torch.allclose(one, expected, 1e-5, 1e-6, equal_nan=True)


def test_the_tails_of_ndtri():
    class Tails(nn.Module):
        def forward(self, x):
            return torch.special.ndtri(x)

    x = torch.cat([torch.logspace(-44, -0.3, 200), 1 - torch.logspace(-7, -0.3, 50)])
    found, exact = smelt.torch.compile_module(Tails(), x).session().run(x=x)["output"], Tails()(x.double())
    torch.testing.assert_close(found.double(), exact, rtol=1e-6, atol=1e-7)


MASK = torch.tensor([[True, False, True], [False] * 3, [True] * 3])
SLOPES = {
    "safe softmax": lambda x: torch._safe_softmax(x.reshape(3, 3).where(MASK, -INF), -1),
    "erfcx": torch.special.erfcx, "ndtri": torch.special.ndtri, "digamma": torch.digamma, "entr": torch.special.entr,
    "log_ndtr": torch.special.log_ndtr, "erfinv": torch.erfinv, "lgamma": torch.lgamma,
}  # fmt: skip


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_at_special_values(name):
    """A parameter of -0.0 is added, which keeps all numbers, and a step of 1 moves it by its gradient with all digits."""

    class Moved(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = nn.Parameter(torch.full((9,), -0.0))

        def forward(self, x):
            return {"loss": (SLOPES[name](x + self.shift).flatten() * torch.arange(1.0, 10.0)).sum()}

    x, module = torch.tensor([INF, -INF, NAN, 0.0, 1e-4, 0.3, 1.0, 2.5, -0.4]), Moved()
    module(x)["loss"].backward()
    session = smelt.torch.compile_module(module, x, mode="train", optimizer=smelt.SGD(lr=1.0)).session()
    session.step(lr=1.0, x=x)
    check(-session.state_dict()["shift"], module.shift.grad, 1e-5)


def test_the_tail_of_erfc():
    class Tail(nn.Module):
        def forward(self, x):
            return torch.erfc(x), torch.erfc(x).log()

    x = torch.linspace(-4, 9, 500)
    found = smelt.torch.compile_module(Tail(), x).session().run(x=x)
    (value, log), (exact, exact_log) = found.values(), Tail()(x.double())
    assert bool(((value - exact).abs() <= 1e-6 * exact).all())
    assert bool(((log - exact_log).abs() <= 1e-6 + 1e-6 * exact_log.abs()).all())


def test_angles_of_any_size():
    class Circle(nn.Module):
        def forward(self, x):
            return x.sin(), x.cos()

    x = torch.tensor([1e9, 1e10, -3e12, 1e14, 1e20, 3e38, -2.5e38, INF, NAN])
    found = smelt.torch.compile_module(Circle(), x).session().run(x=x)
    for one, expected in zip(found.values(), Circle()(x.double())):
        assert torch.allclose(one, expected.float(), 0, 2e-7, equal_nan=True)
