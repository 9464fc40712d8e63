"""Buffers that forward changes: a plan keeps them between runs, as the module does."""

import copy

import pytest
import smelt
import torch
from smelt.torch import compile_module, export
from smelt.torch.backend import smelt_backend
from torch import nn

BATCH = {"x": {0: "B"}}


def close(given, expected, tolerance=1e-6):
    assert given.dtype == expected.dtype and given.shape == expected.shape
    torch.testing.assert_close(given, expected, rtol=tolerance, atol=tolerance)


def same_states(session, module, tolerance=1e-6):
    held, expected = session.state_dict(), module.state_dict()
    assert held.keys() == expected.keys()
    for name, tensor in expected.items():
        close(held[name], tensor, tolerance)


class Normed(nn.Module):
    def __init__(self, norm, lead):
        super().__init__()
        self.lead = lead
        self.norm = norm
        self.out = nn.Linear(5, 3)

    def forward(self, x):
        y = self.norm(self.lead(x))
        return {"loss": self.out(torch.tanh(y.flatten(2)[..., 0] if y.dim() > 2 else y)).square().mean()}


NORMS = {
    "plain": lambda: Normed(nn.BatchNorm1d(5), nn.Linear(6, 5, bias=False)),
    "momentum": lambda: Normed(nn.BatchNorm1d(5, momentum=0.3, eps=1e-3), nn.Linear(6, 5, bias=False)),
    "no affine": lambda: Normed(nn.BatchNorm1d(5, affine=False), nn.Linear(6, 5, bias=False)),
    "images": lambda: Normed(nn.BatchNorm2d(5), nn.Conv2d(2, 5, 2, bias=False)),
    "instances": lambda: Normed(nn.InstanceNorm1d(5, affine=True, track_running_stats=True), nn.Conv1d(2, 5, 2, bias=False)),
    "frozen": lambda: Normed(nn.BatchNorm1d(5).eval(), nn.Linear(6, 5, bias=False)),
}


def batch_of(name, size):
    shape = {"images": (size, 2, 4, 5), "instances": (size, 2, 9)}.get(name, (size, 6))
    return torch.randn(shape) * 2 + 1


@pytest.mark.parametrize("name", NORMS)
def test_norms_train(name):
    torch.manual_seed(0)
    module = NORMS[name]().train()
    if name == "frozen":
        module.norm.eval()
    reference = copy.deepcopy(module)
    plan = compile_module(
        module, {"x": batch_of(name, 4)}, dynamic_shapes=BATCH, max={"B": 8}, mode="train", optimizer=smelt.AdamW(lr=1e-2)
    )
    session = plan.session()
    rule = torch.optim.AdamW(reference.parameters(), lr=1e-2, weight_decay=0.01)
    for size in (8, 3, 5):
        x = batch_of(name, size)
        rule.zero_grad()
        loss = reference(x)["loss"]
        loss.backward()
        rule.step()
        assert session.step(x=x).loss == pytest.approx(loss.item(), rel=1e-5)
    same_states(session, reference, 2e-5)


def test_batches_that_are_added_up():
    torch.manual_seed(0)
    module = NORMS["plain"]().train()
    reference = copy.deepcopy(module)
    plan = compile_module(module, {"x": batch_of("plain", 4)}, mode="train")
    session = plan.session()
    for _ in range(3):
        x = batch_of("plain", 4)
        session.accumulate(x=x)
        reference(x)
    held = session.state_dict()
    for name in ("norm.running_mean", "norm.running_var", "norm.num_batches_tracked"):
        close(held[name], reference.state_dict()[name])


def test_evaluation_changes_nothing():
    module = NORMS["plain"]().train()
    session = compile_module(module, {"x": batch_of("plain", 4)}, mode="train").session()
    before = session.state_dict()
    session.run("evaluate", x=batch_of("plain", 4))
    for name, tensor in session.state_dict().items():
        close(tensor, before[name])


class Cache(nn.Module):
    """Attention of one query over the keys of all runs."""

    def __init__(self, dtype=torch.float32):
        super().__init__()
        self.key = nn.Linear(4, 4)
        self.register_buffer("keys", torch.zeros(6, 4, dtype=dtype))
        self.register_buffer("length", torch.zeros((), dtype=torch.int64), persistent=False)
        self.register_buffer("seen", torch.zeros(6, dtype=torch.bool))

    def forward(self, x):
        self.keys.index_copy_(0, self.length.reshape(1), self.key(x).to(self.keys.dtype))
        self.seen.index_fill_(0, self.length.reshape(1), True)
        self.length.add_(1)
        scores = (self.keys.float() @ x[0]).masked_fill(~self.seen, -1e9)
        return torch.softmax(scores, 0) @ self.keys.float()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_cache_in_buffers(dtype):
    torch.manual_seed(0)
    module = Cache(dtype).eval()
    session = compile_module(module, {"x": torch.randn(1, 4)}).session()
    reference = copy.deepcopy(module)
    for _ in range(5):
        x = torch.randn(1, 4)
        close(session.run(x=x)["output"], reference(x), 1e-5 if dtype == torch.float32 else 1e-2)
    same_states(session, reference, 1e-6 if dtype == torch.float32 else 1e-2)
    assert int(module.length) == 0


def test_sessions_have_buffers_of_their_own(tmp_path):
    torch.manual_seed(0)
    module = Cache().eval()
    plan = compile_module(module, {"x": torch.randn(1, 4)})
    session, other = plan.session(), plan.session()
    inputs = torch.randn(6, 1, 4)
    first = [session.run(x=x)["output"] for x in inputs[:3]]
    shared = session.share()
    session.save_weights(tmp_path / "w.safetensors")
    held = session.state_dict()
    rest = [session.run(x=x)["output"] for x in inputs[3:]]
    assert all(torch.equal(a, other.run(x=x)["output"]) for a, x in zip(first, inputs))
    assert all(torch.equal(a, shared.run(x=x)["output"]) for a, x in zip(rest, inputs[3:]))
    for weights in (held, tmp_path / "w.safetensors"):
        again = plan.session(weights=weights)
        close(again.state_dict()["keys"], held["keys"])
        assert torch.equal(again.state_dict()["seen"], held["seen"])


def test_other_buffers():
    class Codes(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("codes", torch.randn(3, 4))
            self.register_buffer("counts", torch.zeros(3, dtype=torch.int32))
            self.register_buffer("unused", torch.zeros(2))

        def forward(self, x):
            nearest = torch.cdist(x, self.codes).argmin(1)
            hits = nn.functional.one_hot(nearest, 3)
            self.counts += hits.sum(0).int()
            self.codes.mul_(0.9).add_(0.1 * (hits.T.float() @ x))
            self.codes[0].mul_(0.5)  # a view of it, and a second time
            self.unused.fill_(7.0)
            return self.codes[nearest]

    torch.manual_seed(0)
    module = Codes().eval()
    session = compile_module(module, {"x": torch.randn(5, 4)}, dynamic_shapes=BATCH, max={"B": 8}).session()
    reference = copy.deepcopy(module)
    for size in (5, 2, 8):
        x = torch.randn(size, 4)
        close(session.run(x=x)["output"], reference(x), 1e-5)
    same_states(session, reference, 1e-5)


def test_spectral_norm_trains():
    torch.manual_seed(0)
    lead = nn.utils.parametrizations.spectral_norm(nn.Linear(6, 5, bias=False))
    module = Normed(nn.Identity(), lead).train()
    reference = copy.deepcopy(module)
    session = compile_module(module, {"x": torch.randn(4, 6)}, mode="train", optimizer=smelt.AdamW(lr=1e-2)).session()
    rule = torch.optim.AdamW(reference.parameters(), lr=1e-2, weight_decay=0.01)
    for _ in range(3):
        x = torch.randn(4, 6)
        rule.zero_grad()
        loss = reference(x)["loss"]
        loss.backward()
        rule.step()
        assert session.step(x=x).loss == pytest.approx(loss.item(), rel=1e-5)
    same_states(session, reference, 1e-5)


def test_special_values():
    class Largest(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("largest", torch.full((2,), -float("inf")))

        def forward(self, x):
            self.largest.copy_(torch.maximum(self.largest, x))
            return self.largest * 1.0

    module = Largest().eval()
    session, reference = compile_module(module, {"x": torch.zeros(2)}).session(), copy.deepcopy(module)
    for x in ([-0.0, -float("inf")], [1e-40, 3e38], [float("inf"), float("nan")], [0.0, 1.0]):
        given = torch.tensor(x)
        assert torch.equal(session.run(x=given)["output"].isnan(), reference(given).isnan())
        held = session.state_dict()["largest"]
        assert torch.equal(held.isnan(), reference.largest.isnan())
        assert torch.equal(held.nan_to_num(7.0), reference.largest.nan_to_num(7.0))


# ---- the backend of torch.compile, whose graphs have buffers as arguments


def test_a_compiled_norm_trains():
    torch.manual_seed(0)
    module = NORMS["plain"]().train()
    reference = copy.deepcopy(module)
    compiled = torch.compile(module, backend=smelt_backend)
    for _ in range(3):
        x = batch_of("plain", 4)
        results = [each(x)["loss"] for each in (compiled, reference)]
        for result in results:
            result.backward()
        close(*results)
    for name, tensor in reference.state_dict().items():
        close(module.state_dict()[name], tensor)
    for given, expected in zip(module.parameters(), reference.parameters()):
        close(given.grad, expected.grad, 1e-5)


def test_a_compiled_cache():
    torch.manual_seed(0)
    module = Cache().eval()
    reference, compiled = copy.deepcopy(module), torch.compile(module, backend=smelt_backend)
    with torch.no_grad():
        for _ in range(4):
            x = torch.randn(1, 4)
            close(compiled(x), reference(x), 1e-5)
    close(module.keys, reference.keys)
    assert int(module.length) == 4 and torch.equal(module.seen, reference.seen)


def test_backward_finds_buffers_as_forward_did():
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3))
            self.register_buffer("factor", torch.ones(3))

        def forward(self, x):
            y = x * self.weight * self.factor.clone()
            self.factor.add_(1)
            return y

    module = Scaled()
    compiled = torch.compile(module, backend=smelt_backend)
    total = compiled(torch.ones(3)).sum() + compiled(torch.ones(3)).square().sum()
    total.backward()
    close(module.weight.grad, torch.full((3,), 1.0 + 8.0))
    close(module.factor, torch.full((3,), 3.0))


# ---- what is refused


def test_changed_inputs_are_refused():
    class InPlace(nn.Module):
        def forward(self, x):
            x.add_(1)
            return x * 2

    with pytest.raises(smelt.Error, match="changes its inputs x"):
        compile_module(InPlace(), {"x": torch.zeros(2)})


def test_momentum_of_numbers_is_refused():
    module = Normed(nn.BatchNorm1d(5, momentum=None), nn.Linear(6, 5)).train()
    with pytest.raises(smelt.Error, match="cannot be exported"):
        compile_module(module, {"x": torch.randn(4, 6)}, mode="train")


def test_weights_that_do_not_fit():
    plan = compile_module(Cache().eval(), {"x": torch.randn(1, 4)})
    session = plan.session()
    state = session.state_dict()
    for name, wrong, message in [
        ("keys", torch.zeros(5, 4), r"buffer 'keys': given \[5, 4\], expected a tensor of \[6, 4\]"),
        ("keys", torch.full((6, 4), float("nan")), "buffer 'keys' has NaN"),
        ("seen", torch.zeros(6), "buffer 'seen': given torch.float32, expected torch.bool"),
        ("keys", "text", "buffer 'keys': given a str"),
    ]:
        with pytest.raises(smelt.Error, match=message):
            session.load_state_dict({**state, name: wrong})
        with pytest.raises(smelt.Error, match=message):
            plan.session(weights={**state, name: wrong})
    without = {name: tensor for name, tensor in state.items() if name != "keys"}
    with pytest.raises(smelt.Error, match="has no keys"):
        session.load_state_dict(without)
    with pytest.raises(smelt.Error, match="has no keys"):
        plan.session(weights=without)
    close(session.state_dict()["keys"], state["keys"])


def test_directories_are_refused(tmp_path):
    module = NORMS["plain"]().train()
    with pytest.raises(smelt.Error, match="export: forward changes norm.running_mean, norm.running_var"):
        export(module, {"x": batch_of("plain", 4)}, tmp_path / "d", loss="loss")
    assert not (tmp_path / "d").exists()


def test_attaching_is_refused():
    session = compile_module(Cache().eval(), {"x": torch.randn(1, 4)}).session()
    with pytest.raises(smelt.Error, match="attach.*keys, length, seen"):
        session.attach()
