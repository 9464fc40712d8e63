"""Where gradients pass is as in PyTorch: under no_grad, in functions with a backward of their own, to parameters that a
loss does not reach, to outputs of the backend."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import smelt
import smelt.torch
from smelt.torch.backend import smelt_backend


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    torch.manual_seed(0)


class Pair(nn.Module):
    """Two vectors; `body` says what becomes of them."""

    def __init__(self, body):
        super().__init__()
        self.w, self.v = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))
        self.body = body

    def forward(self, x):
        return {"loss": self.body(self.w, self.v, x)}


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -2 * g


class Round(torch.autograd.Function):
    """A straight-through estimator, by setup_context."""

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return g


class Clipped(torch.autograd.Function):
    """Clips the gradient, which is not linear in it."""

    @staticmethod
    def forward(ctx, x, most):
        ctx.most = most
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-ctx.most, ctx.most), None


class Several(torch.autograd.Function):
    """Saves an input and an output, has a result without a gradient, and switches the mode inside."""

    @staticmethod
    def forward(ctx, x, y):
        with torch.no_grad():
            e = x.exp()
        ctx.save_for_backward(e, y)
        return e * y, x > 0, x + y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g, _, h):
        e, y = ctx.saved_tensors
        return 3 * g * e * y + h, g * e if ctx.needs_input_grad[1] else None


class Spread(torch.autograd.Function):
    """Its gradient has the shape that the input is spread to."""

    @staticmethod
    def forward(ctx, x):
        return x.expand(3, 4) * 1

    @staticmethod
    def backward(ctx, g):
        return g * 2


class Scaled(torch.autograd.Function):
    """Returns its argument as it is, has a default, and no gradient where none arrives."""

    @staticmethod
    def forward(x, factor=3.0):
        return x, x * factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx, g, h):
        if h is None:
            return 10 * g, None
        return (ctx.factor if g is None else 7) * h, None


class Without(torch.autograd.Function):
    """Of two results one has no gradient, though it depends on the argument."""

    @staticmethod
    def forward(ctx, x):
        double = x * 2
        ctx.mark_non_differentiable(double)
        return double, x * 3

    @staticmethod
    def backward(ctx, _, g):
        return 2 * g


def without(w, v, x):
    double, triple = Without.apply(w)
    return (double * v * triple * x).sum()


reverse = Reverse.apply  # looked up before anything is captured


def several(w, v, x):
    y, positive, z = Several.apply(w * x, v)
    return (y * positive + z * x).sum() + (Several.apply(x, x)[0]).sum()


FUNCTIONS = {
    "reverse": lambda w, v, x: (reverse(w) * x * v).sum(),
    "round": lambda w, v, x: (Round.apply(3 * w) * v * x).sum(),
    "clipped": lambda w, v, x: (Clipped.apply(w * x, 0.5).exp() * v).sum(),
    "several": several,
    "spread": lambda w, v, x: (Spread.apply(w) * x * v).sum(),
    "scaled": lambda w, v, x: (Scaled.apply(w)[0] * v * x).sum() + Scaled.apply(v)[1].sum(),
    "scaled twice": lambda w, v, x: sum((y * x).sum() for y in Scaled.apply(w * v)),
    "without": without,
    "one after another": lambda w, v, x: (reverse(Clipped.apply(reverse(w) * 3, 1.0)) * x * v).pow(2).sum(),
    "inside of checkpointing": lambda w, v, x: checkpoint(
        lambda a: (reverse(a) * w).exp() * v, x.clone().requires_grad_(), use_reentrant=True
    ).sum(),
}


def without_grad(w, v, x):
    with torch.no_grad():
        scale = w * 10
    return (w * x * scale + v).sum()


def nested(w, v, x):
    with torch.no_grad():
        y = w * 2
        with torch.enable_grad():
            z = y * w
        q = z * v
    return (q * w + z * x).sum()


def inference_mode(w, v, x):
    with torch.inference_mode():
        y = w * 2
    return (y + v * x + w).sum()


def switched(w, v, x):
    torch.set_grad_enabled(False)
    y = w * x
    torch.set_grad_enabled(True)
    return (y * v + w).sum()


def mask_in_place(w, v, x):
    with torch.no_grad():
        mask = torch.zeros_like(w)
        mask[1:] = w[1:]
        mask.mul_(2)
    return (mask * v * x + w).sum()


def detached_in_place(w, v, x):
    y = w * x
    z = y + v
    y.detach_()
    return (y * v + z).sum()


def added_to_detached(w, v, x):
    y = (w * x).detach()
    y[1:] += v[1:] * x[1:]
    return (y * w).sum()


def added_to_result_without_grad(w, v, x):
    with torch.no_grad():
        y = (w * x).detach()
    y += v * x
    return (y * w).sum()


def detached_after_uses(w, v, x):
    t = w * x
    z = t + v
    h = t.detach()
    h *= v
    return (h * w + z).sum()


def detached_twice(w, v, x):
    h = (w * x).detach()
    g = h.detach()
    h += v * x
    return (h * w + g * v).sum()


def parts_of_detached(w, v, x):
    h = (w * x).detach()
    a, b = h[:2], h[2:]
    a += v[:2]
    return (a * b * w[2:]).sum()


def detached_without_a_gradient(w, v, x):
    t = x * 2
    t.detach().mul_(3)
    return (t * w * v).sum()


def source_changed_after_detach(w, v, x):
    t = w * 2
    h = t.detach()
    t *= v
    return (h * w + t * x).sum()


def changed_detached_without_grad(w, v, x):
    h = (w * x).detach()
    with torch.no_grad():
        h.mul_(3)
    return (h * w * v).sum()


def gradient_in_forward(w, v, x):
    (g,) = torch.autograd.grad((w * x).pow(3).sum(), w)
    return (g * v + w).sum()


def second_order(w, v, x):
    (g,) = torch.autograd.grad((w * x).pow(3).sum(), w, create_graph=True)
    return (g * v + w).sum()


MODES = (
    without_grad,
    nested,
    inference_mode,
    switched,
    mask_in_place,
    detached_in_place,
    added_to_detached,
    added_to_result_without_grad,
    detached_after_uses,
    detached_twice,
    parts_of_detached,
    detached_without_a_gradient,
    source_changed_after_detach,
    changed_detached_without_grad,
    gradient_in_forward,
    second_order,
)


def gradients(module, x):
    """By PyTorch, and by a step of the rate 1."""
    plan = smelt.torch.compile_module(module, {"x": x}, mode="train", optimizer=smelt.SGD())
    session = plan.session()
    found_loss = session.step(lr=1.0, x=x).loss
    loss = module(x)["loss"]
    loss.backward()
    torch.testing.assert_close(torch.tensor(found_loss), loss.detach(), rtol=1e-5, atol=1e-6)
    expected = {name: 0 * p.detach() if p.grad is None else p.grad for name, p in module.named_parameters()}
    found = {name: p.detach() - session.state_dict()[name] for name, p in module.named_parameters()}
    return expected, found


@pytest.mark.parametrize("body", [*FUNCTIONS.values(), *MODES], ids=[*FUNCTIONS, *(m.__name__ for m in MODES)])
def test_gradients_of_training_are_those_of_pytorch(body):
    expected, found = gradients(Pair(body), torch.randn(4))
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


OF_THE_BACKEND = {n: FUNCTIONS[n] for n in ("reverse", "round", "clipped", "several", "one after another")}


@pytest.mark.parametrize("body", [*OF_THE_BACKEND.values(), without_grad, nested])
def test_gradients_of_the_backend_are_those_of_pytorch(body):
    module, x = Pair(body), torch.randn(4)
    run = torch.compile(module, backend=smelt_backend)
    for _ in range(2):  # the second time with the plan of loss and gradients
        expected = torch.autograd.grad(module(x)["loss"], list(module.parameters()), allow_unused=True)
        found = torch.autograd.grad(run(x)["loss"], list(module.parameters()), allow_unused=True)
        for e, f in zip(expected, found):
            torch.testing.assert_close(0 * x if f is None else f, 0 * x if e is None else e, rtol=1e-4, atol=1e-5)


def test_compiled_code_may_ask_for_gradients():
    def function(x):
        (g,) = torch.autograd.grad((x**3).sum(), x)
        return (g * x).sum()

    x = torch.randn(3, requires_grad=True)
    (found,) = torch.autograd.grad(torch.compile(function, backend=smelt_backend)(x), x)
    torch.testing.assert_close(found, torch.autograd.grad(function(x), x)[0])


def test_the_callers_mode_does_not_matter():
    module, x = Pair(without_grad), torch.randn(4)
    expected, _ = gradients(module, x)
    for mode in (torch.no_grad, torch.inference_mode):
        with mode():
            plan = smelt.torch.compile_module(module, {"x": x}, mode="train", optimizer=smelt.SGD())
        session = plan.session()
        session.step(lr=1.0, x=x)
        torch.testing.assert_close(module.w.detach() - session.state_dict()["w"], expected["w"])


class OfNumbers(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g if g.sum().item() > 0 else -g


def changed_in_place(w, v, x):
    y = w * x
    with torch.no_grad():
        y.mul_(2)
    return (y * v).sum()


def hooked(w, v, x):
    y = w * x
    y.register_hook(lambda g: 2 * g)
    return (y * v).sum()


class InPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx, g):
        return 5 * g


def multiplied_alias(w, v, x):
    t = w * 2
    h = t.detach()
    h.mul_(3)
    return (t * x * v).sum()


def added_alias(w, v, x):
    t = w * 2
    h = t.detach()
    h += w
    return (h * x + t * v).sum()


def filled_alias(w, v, x):
    t = w * 2
    t.detach()[0] = 0
    return (t * x * v).sum()


def one_of_two_aliases(w, v, x):
    t = x * 2
    h, g = t.detach(), t.detach()
    h += w
    return (h * x + g * v).sum()


def alias_without_grad(w, v, x):
    t = w * 2
    h = t.detach()
    with torch.no_grad():
        h.mul_(3)
    return (t * x * v).sum()


def alias_made_without_grad(w, v, x):
    t = w * 2
    with torch.no_grad():
        h = t.detach()
    h.mul_(3)
    return (t * x * v).sum()


def part_of_alias(w, v, x):
    t = w * 2
    a, b = t.detach().chunk(2)
    a.mul_(3)
    return (t * x * v).sum() + b.sum()


ALIASES = (
    part_of_alias,
    multiplied_alias,
    added_alias,
    filled_alias,
    one_of_two_aliases,
    alias_without_grad,
    alias_made_without_grad,
)

REFUSED = (
    *((body, "changes a detached tensor in place .*test_gradients.py") for body in ALIASES),
    (lambda w, v, x: (InPlace.apply(w * x) * v).sum(), "torch.autograd.Function 'InPlace' in Pair .*: it changes"),
    (lambda w, v, x: (OfNumbers.apply(w) * v).sum(), "torch.autograd.Function 'OfNumbers' in Pair .*: its backward"),
    (changed_in_place, "mul_.* under torch.no_grad.* changes a tensor in place"),
    (hooked, "register_hook"),
    (lambda w, v, x: (w.detach() * x).sum(), "'loss' depends on no parameter that requires a gradient"),
)


@pytest.mark.parametrize("body, message", REFUSED)
def test_what_has_no_derivative_is_named(body, message):
    with pytest.raises(smelt.Error, match=message):
        smelt.torch.compile_module(Pair(body), {"x": torch.randn(4)}, mode="train")
    smelt.torch.compile_module(Pair(body), {"x": torch.randn(4)})  # nothing is lost without a gradient


def test_hooks_on_parameters_are_named():
    module = Pair(without_grad)
    module.v.register_hook(lambda g: 0 * g)
    with pytest.raises(smelt.Error, match=r"parameter 'v' has a hook.*<lambda> \(.*test_gradients.py:\d+\), which .*backend=.smelt"):
        smelt.torch.compile_module(module, {"x": torch.randn(4)}, mode="train")
    module = nn.Sequential(nn.Linear(4, 1), nn.Flatten(0))
    module[0].register_full_backward_hook(lambda *_: None)
    with pytest.raises(smelt.Error, match="module '0' has a hook"):
        smelt.torch.compile_module(module, torch.randn(1, 4), mode="train", loss="output")


class Partly(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.u, self.unused = nn.Linear(3, 2), nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return {"loss": self.a(x + self.u(x).detach()).pow(2).mean() + self.a.bias.sign().sum() * 0}


def test_optimisers_leave_parameters_without_a_gradient():
    module, x = Partly(), torch.randn(4, 3)
    rule = smelt.AdamW(weight_decay=0.5)
    session = smelt.torch.compile_module(module, x, mode="train", optimizer=rule).session()
    optimizer = torch.optim.AdamW(module.parameters(), lr=0.1, weight_decay=0.5)
    for _ in range(3):
        session.step(lr=0.1, x=x)
        optimizer.zero_grad()
        module(x)["loss"].backward()
        optimizer.step()
    found = session.state_dict()
    assert set(found) == set(module.state_dict())
    torch.testing.assert_close(found, dict(module.state_dict()), rtol=1e-4, atol=1e-5)


# ---- the backend


def kinds(x):
    with torch.no_grad():
        without = x * 4
    return x * 2, (x * 3).detach(), without, (x > 0).sum(), x.argmax()


def test_outputs_require_gradients_as_without_the_backend():
    for x in (torch.randn(3, requires_grad=True), torch.randn(3)):
        found = torch.compile(kinds, backend=smelt_backend)(x)
        expected = kinds(x)
        assert [y.requires_grad for y in found] == [y.requires_grad for y in expected]
        torch.testing.assert_close(found[:3], expected[:3])


def checkpointed(x, w):
    return checkpoint(lambda y: (y @ w).relu(), x, use_reentrant=False).sum()


def transformed(x, w):
    g = torch.func.grad(lambda y: (y**3 @ w).sum())(x)
    return (g @ w).sum() + torch.func.vmap(lambda row: row @ w)(x).sum()


def second_derivatives(x, w):
    return (torch.func.hessian(lambda y: (y**3 @ w).sin().sum())(x[0]) @ x[0]).sum()


@pytest.mark.parametrize("function", (checkpointed, transformed, second_derivatives))
def test_checkpointing_and_transforms_run(function):
    run = torch.compile(function, backend=smelt_backend, dynamic=True, options={"max": {"B": 8, "W": 8}})
    for rows in (3, 5):
        x, w = torch.randn(rows, 4, requires_grad=True), torch.randn(4, 4, requires_grad=True)
        expected = torch.autograd.grad(function(x, w), (x, w))
        torch.testing.assert_close(torch.autograd.grad(run(x, w), (x, w)), expected, rtol=1e-4, atol=1e-4)


def test_a_gradient_of_a_gradient_is_an_error():
    def function(x):
        (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
        return g * x

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    result = torch.compile(function, backend=smelt_backend)(x)
    torch.testing.assert_close(result, torch.tensor([3.0, 24.0]))
    with pytest.raises(smelt.Error, match="differentiated again.*torch.func.grad"):
        result.sum().backward()


def test_inputs_that_are_changed_in_place_are_named():
    def function(x):
        y = x * 2
        torch._dynamo.graph_break()
        y.mul_(3)
        return y

    with pytest.raises(smelt.Error, match="changes an input or a parameter whose gradient is needed in place"):
        torch.compile(function, backend=smelt_backend)(torch.ones(3, requires_grad=True))


def test_heads_whose_width_changes_are_named():
    def function(x):
        return torch.nn.functional.scaled_dot_product_attention(x, x, x)

    x = torch.ones(1, 2, 3, 4)
    torch._dynamo.mark_dynamic(x, 3)
    with pytest.raises(smelt.Error, match="heads whose width changes"):
        torch.compile(function, backend=smelt_backend, options={"max": {"E": 8}})(x)


def test_what_the_backend_cannot_do_is_an_error_of_smelt():
    def eigenvalues(x):
        return torch.linalg.eigvalsh(x)

    with pytest.raises(smelt.Error, match="linalg_eigh"):
        torch.compile(eigenvalues, backend=smelt_backend)(torch.eye(3))


def test_errors_of_the_backend_name_arguments_as_the_code_does():
    layer = nn.Linear(4, 4)
    run = torch.compile(lambda tokens: layer(tokens) * 2, backend=smelt_backend, dynamic=True)
    with pytest.raises(smelt.Error, match="dim 0 of 'tokens'"):
        run(torch.randn(3, 4))
    torch._dynamo.reset()
    options = {"max": {"B": 8}}
    run = torch.compile(lambda tokens: layer(tokens) * 2, backend=smelt_backend, dynamic=True, options=options)
    run(torch.randn(3, 4))
    with pytest.raises(smelt.Error, match="B = 9"):
        run(torch.randn(9, 4))
    torch._dynamo.reset()
    doubled = torch.compile(lambda tokens: tokens * 2, backend=smelt_backend)
    with pytest.raises(smelt.Error, match="'tokens' is float64"):
        doubled(torch.randn(3, dtype=torch.float64))


class Reaches(nn.Module):
    """Each output reaches other parameters than the others."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = (nn.Parameter(torch.randn(3)) for _ in range(3))

    def forward(self, x):
        with torch.no_grad():
            scale = self.c * 2
        return (self.a * x).sum(), self.b * x * scale, x * 0 + scale


@pytest.mark.parametrize("used", ((0,), (1,), (0, 1)))
def test_what_an_output_does_not_reach_has_no_gradient(used):
    """PyTorch leaves it without one, so that an optimiser does not decay it."""
    module, x = Reaches(), torch.randn(3)
    for run in (module, torch.compile(module, backend=smelt_backend)):
        module.zero_grad()
        outputs = run(x)
        sum(outputs[i].sum() for i in used).backward()
        found = [p.grad is not None for p in (module.a, module.b, module.c)]
        assert found == [0 in used, 1 in used, False]
        assert [y.requires_grad for y in outputs] == [True, True, False]


def of_integers(x, w):
    return (x > 0).sum(), (x * w).long()


def test_integers_alone_have_no_gradient():
    x, w = torch.randn(3, requires_grad=True), torch.randn(3)
    for found, expected in zip(torch.compile(of_integers, backend=smelt_backend)(x, w), of_integers(x, w)):
        assert torch.equal(found, expected) and not found.requires_grad


def hook_before_uses(x, w):
    y = x * 2
    k = (w * w).sum()
    y.register_hook(lambda g: g * k)
    z = y.exp()
    z.register_hook(lambda g: g.clamp(-1, 1))
    return y * z


def hooks_after_uses(x, w):
    y = x * 2
    z = y + 1
    y.register_hook(lambda g: g * 3)
    y.register_hook(lambda g: g + w)
    return y * z


@pytest.mark.parametrize("function", (hook_before_uses, hooks_after_uses))
def test_the_backend_calls_hooks_on_tensors(function):
    def gradient(run):
        x, w = torch.linspace(-2, 2, 5).requires_grad_(), torch.linspace(0, 1, 5)
        run(x, w).sum().backward()
        return x.grad

    torch.testing.assert_close(gradient(torch.compile(function, backend=smelt_backend)), gradient(function))


def test_a_hook_that_reads_what_is_made_later_is_named():
    def function(x):
        y = x * 2
        z = (y + 1).detach()
        y.register_hook(lambda g: g * z)
        return y * z

    with pytest.raises(smelt.Error, match="register_hook on 'y' .*test_gradients.py.*before the first use of 'y'"):
        torch.compile(function, backend=smelt_backend)(torch.ones(3, requires_grad=True))


# ---- conversions that return their operand


def _float_inside(w, v, x):
    h = w * x
    with torch.no_grad():
        scale = h.float().sum()
    return (h * v * scale).sum()


def _kept_float(w, v, x):
    h = w * x
    with torch.no_grad():
        same = h.float()
        other = h.to(torch.float32).contiguous().type_as(v) * 2
    return (same * v + other * w).sum()


def _view_inside(w, v, x):
    h = w * x
    with torch.no_grad():
        other = h.float().view(4)
    return (h * v * other).sum()


def _double_inside(w, v, x):
    h = w * x
    with torch.no_grad():
        other = h.double().float()
    return (h * v * other).sum()


@pytest.mark.parametrize("body", [_float_inside, _kept_float, _view_inside, _double_inside])
def test_conversions_under_no_grad(body):
    """x.float() is x itself where x is float32, also behind the code under no_grad."""
    module, x = Pair(body), torch.randn(4)
    session = smelt.torch.compile_module(module, {"x": x}, mode="train", optimizer=smelt.SGD()).session()
    loss = module(x)["loss"]
    loss.backward()
    assert session.step(x=x, lr=1.0).loss == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(session.state_dict()[name], (parameter - parameter.grad).detach(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("fill", ["add", "where"])
def test_queries_that_see_no_key(fill):
    """A mask that is added lets gradients pass to scores of queries whose keys are all masked; one that replaces them does not."""

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x, seen):
            scores = self.q(x) @ self.k(x).transpose(-1, -2)
            low = torch.finfo(torch.float32).min
            if fill == "add":
                scores = scores + torch.where(seen[:, None, :], 0.0, low)
            else:
                scores = scores.masked_fill(~seen[:, None, :], low)
            return {"loss": (torch.softmax(scores, -1) @ x).square().sum()}

    module, x = Attention(), torch.randn(3, 5, 4)
    seen = torch.tensor([[1, 1, 1, 0, 0], [0, 0, 0, 0, 0], [0, 1, 1, 1, 1]], dtype=torch.bool)
    session = smelt.torch.compile_module(
        module, {"x": x, "seen": seen}, mode="train", optimizer=smelt.SGD(), attention="fused"
    ).session()
    loss = module(x, seen)["loss"]
    loss.backward()
    assert session.step(x=x, seen=seen, lr=1.0).loss == pytest.approx(loss.item(), rel=1e-5)
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(session.state_dict()[name], (parameter - parameter.grad).detach(), rtol=1e-4, atol=1e-4)
