"""Modules and tensors on a GPU: imports of them without one, and runs where there is one."""

import copy

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel

import smelt
import smelt.torch
from smelt.torch.arrays import device_for, device_of, placed
from smelt.torch.backend import smelt_backend
from smelt.torch.compile import import_module
from smelt.torch.outputs import Runner

CPU, FIRST, SECOND = torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")


class Embedder(nn.Module):
    """It makes tensors of its own on the device of its inputs, as models do."""

    def __init__(self, width=8):
        super().__init__()
        self.table, self.out = nn.Embedding(11, width), nn.Linear(width, width)

    def forward(self, ids, scale):
        places = torch.arange(ids.shape[1], device=ids.device)[None, :, None]
        return self.out(self.table(ids) + places) * scale[..., None]


def sample(rows=3, length=5, device="cpu"):
    ids = torch.arange(rows * length, device=device).view(rows, length) % 11
    return {"ids": ids, "scale": torch.linspace(0.5, 1.5, rows * length, device=device).view(rows, length)}


SIZES = {"dynamic_shapes": {"ids": {0: "B", 1: "T"}, "scale": {0: "B", 1: "T"}}, "max": {"B": 33, "T": 33}}


def test_a_module_on_a_gpu_has_the_text_of_one_on_the_host():
    """Tensors that have a device, a type and a shape, but no memory, stand for those on a GPU."""
    with FakeTensorMode(), torch.device("cuda"):
        module, given = Embedder(), sample(device="cuda")
    texts = [
        import_module(m, s, SIZES["dynamic_shapes"], SIZES["max"], False, None).text
        for m, s in ((module, given), (Embedder(), sample()))
    ]
    assert device_of(module.parameters()) == FIRST and texts[0] == texts[1]


class Attends(nn.Module):
    def forward(self, x, mask):
        heads = x.unflatten(-1, (2, 4)).transpose(1, 2)
        return nn.functional.scaled_dot_product_attention(heads, heads, heads, attn_mask=mask[:, None, None, :])


def test_the_kernel_that_pytorch_has_for_attention_is_no_condition_on_sizes():
    """One that takes lengths of a multiple of 8 alone is asked for here; on a GPU PyTorch chooses it by itself."""
    shapes = {"x": {0: "B", 1: "T"}, "mask": {0: "B", 1: "T"}}
    with FakeTensorMode(), torch.device("cuda"):
        given = {"x": torch.ones(3, 33, 8), "mask": torch.ones(3, 33, dtype=torch.bool)}
    with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION):
        found = import_module(Attends(), given, shapes, {"B": 8, "T": 64}, False, None).text
    given = {name: torch.ones(tensor.shape, dtype=tensor.dtype) for name, tensor in given.items()}
    assert found == import_module(Attends(), given, shapes, {"B": 8, "T": 64}, False, None).text


@pytest.mark.parametrize(
    "target, asked, home, expected",
    [
        ("cpu-x86_64", None, CPU, CPU),
        ("cpu-x86_64", None, SECOND, CPU),
        ("sm_90", None, SECOND, SECOND),
        ("sm_90", "cuda:0", SECOND, FIRST),
        ("sm_90", "cpu", SECOND, CPU),
    ],
)
def test_a_session_is_where_it_was_asked_for_or_where_the_module_is(target, asked, home, expected):
    assert device_for(target, asked, home) == expected


def test_tensors_of_another_device_are_errors():
    with FakeTensorMode():
        tensor = torch.zeros(3, device="cuda:1")
        with pytest.raises(smelt.Error, match=r"x is on cuda:1, and the session is on the CPU: call .cpu\(\)"):
            placed("x", tensor, CPU)
        with pytest.raises(smelt.Error, match=r"call .to\('cuda:0'\)"):
            placed("x", tensor, FIRST)


def test_only_integers_come_to_the_host():
    with FakeTensorMode():
        for dtype, kind in ((torch.int64, "cpu"), (torch.int32, "cpu"), (torch.float32, "cuda"), (torch.bool, "cuda")):
            assert placed("x", torch.zeros(3, dtype=dtype, device="cuda:0"), FIRST).device.type == kind, dtype


class Recorder:
    """A native session that keeps what it is called with."""

    def __init__(self):
        self.calls = []

    def output_shapes(self, entry, inputs):
        self.calls.append("output_shapes")
        return {"y": ("bf16", list(inputs["x"].shape))}

    def run_into(self, entry, inputs, outputs, stream, step):
        self.calls.append((entry, dict(inputs), dict(outputs), stream, step))


def test_outputs_on_a_gpu_are_pytorchs_and_their_shapes_are_asked_for_once(monkeypatch):
    monkeypatch.setattr("smelt.torch.outputs.current_stream", lambda device: 7)
    monkeypatch.setattr("smelt.torch.outputs.exchanged", lambda arrays, stream: arrays)
    native = Recorder()
    runner = Runner(native, FIRST)
    with FakeTensorMode():
        for rows in (3, 3, 4):
            x = torch.zeros(rows, 2, device="cuda")
            y = runner.run("forward", {"x": x}, step=5)["y"]
            assert (y.device, y.dtype, y.shape) == (FIRST, torch.bfloat16, x.shape)
            assert native.calls[-1] == ("forward", {"x": x}, {"y": y}, 7, 5)
    assert native.calls.count("output_shapes") == 2


# ---- where there is a GPU


@needs_gpu
def test_a_run_on_the_gpu():
    module = Embedder().cuda().eval()
    session = smelt.torch.compile_module(module, sample(device="cuda"), **SIZES).session()
    for rows, length in ((1, 1), (3, 31), (33, 33)):
        given = sample(rows, length, "cuda")
        found = session.run(**given)["output"]
        assert found.device == session.device and torch.allclose(found, module(**given), atol=1e-5)


@needs_gpu
def test_a_run_follows_the_current_stream():
    module = Embedder().cuda().eval()
    session = smelt.torch.compile_module(module, sample(device="cuda"), **SIZES).session()
    given, stream = sample(device="cuda"), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10_000_000)
        given["scale"].fill_(3.0)
        found = session.run(**given)["output"].clone()
    stream.synchronize()
    assert torch.allclose(found, module(**given), atol=1e-5)


@needs_gpu
def test_the_backend_trains_on_the_gpu():
    torch._dynamo.reset()
    module = Embedder().cuda()
    other = copy.deepcopy(module)
    compiled = torch.compile(other, backend=smelt_backend, dynamic=True, options={"max": {"B": 8, "T": 8}})
    for run, part in ((module, module), (compiled, other)):
        optimizer = torch.optim.SGD(part.parameters(), lr=0.1)
        for rows in (2, 3, 4):
            optimizer.zero_grad()
            run(**sample(rows, device="cuda")).square().mean().backward()
            optimizer.step()
    for name, tensor in module.state_dict().items():
        assert torch.allclose(other.state_dict()[name], tensor, atol=1e-5), name


class Loss(Embedder):
    def forward(self, ids, scale):
        return {"loss": super().forward(ids, scale).square().mean()}


@needs_gpu
def test_steps_train_an_attached_module_on_the_gpu():
    module = Loss().cuda()
    other = copy.deepcopy(module)
    rule = smelt.SGD(lr=0.1)
    plan = smelt.torch.compile_module(module, sample(device="cuda"), mode="train", optimizer=rule, **SIZES)
    session, optimizer = plan.session().attach(), torch.optim.SGD(other.parameters(), lr=0.1)
    for rows in (2, 3, 31):
        loss = other(**sample(rows, device="cuda"))["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert abs(session.step(**sample(rows, device="cuda")).loss - loss.item()) <= 1e-4 * loss.item()
    assert torch.allclose(module.out.weight, other.out.weight, atol=1e-5)
    session.load_state_dict({name: torch.zeros_like(t) for name, t in module.state_dict().items()})
    assert module.out.weight.abs().max().item() == 0.0
    with torch.no_grad():
        module.out.bias.fill_(2.0)
    assert session.state_dict()["out.bias"].tolist() == [2.0] * 8
