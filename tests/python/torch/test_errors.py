"""What cannot be done is one smelt.Error that says what, where, and what to do."""

import subprocess
import sys

import pytest
import torch
from torch import nn

import smelt
import smelt.torch
from smelt.torch import capture as captures


class Double(nn.Module):
    def forward(self, x):
        return x * 2


class Branch(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


class Odd(nn.Module):
    """Two operations that Smelt does not have, in two places."""

    def __init__(self):
        super().__init__()
        self.inner = Inverse()

    def forward(self, x):
        return self.inner(x) + torch.linalg.qr(x)[0] + torch.fft.fft(x).real


class Inverse(nn.Module):
    def forward(self, x):
        return torch.linalg.inv(x)


SAMPLE = {"x": torch.ones(3, 4)}
SIZES = {"dynamic_shapes": {"x": {0: "B"}}, "max": {"B": 8}}


def compiled(module=None, sample=None, **options):
    options = {**SIZES, **options}
    return smelt.torch.compile_module(module or Double(), sample or SAMPLE, no_plan_cache=True, **options)


@pytest.fixture(scope="module")
def session():
    return compiled().session()


def test_all_operations_without_a_row_are_named_at_once():
    square = {"x": torch.eye(4)}
    with pytest.raises(smelt.Error) as error:
        smelt.torch.compile_module(Odd(), square)
    text = str(error.value)
    assert "linalg_inv" in text and "linalg_qr" in text and "fft" in text and "inner" in text
    report = smelt.torch.coverage(Odd(), square)
    assert not report and "linalg_qr" in str(report) and len(report.missing) >= 3


def test_coverage_of_what_can_be_done():
    report = smelt.torch.coverage(Double(), SAMPLE, **SIZES)
    assert report and "all of which Smelt has" in str(report) and report.operations == {"aten.mul.Tensor": 1}


def test_control_flow_that_depends_on_data():
    with pytest.raises(smelt.Error, match="depends on the numbers in a tensor"):
        compiled(Branch())


class BySize(nn.Module):
    def forward(self, x):
        return x * 2 if x.shape[0] <= 5 else x


def test_a_branch_by_size_holds_on_its_side():
    """Above 5 rows the module does something else, which the plan must not do silently."""
    with pytest.raises(smelt.Error, match="does something else|sizes with|restricts it"):
        session = compiled(BySize()).session()
        session.run(x=torch.ones(7, 4))
    assert torch.equal(compiled(BySize(), max={"B": 5}).session().run(x=torch.ones(5, 4))["output"], torch.full((5, 4), 2.0))


BAD_INPUTS = {
    "type": (torch.ones(3, 4, dtype=torch.float64), "give x.to\\(torch.float32\\)"),
    "strides": (torch.ones(4, 3).T, "give x.contiguous"),
    "device": (torch.ones(3, 4, device="meta"), "is on meta"),
    "beyond the bound": (torch.ones(9, 4), "B = 9"),
    "rank": (torch.ones(3), "expected f32"),
    "other size": (torch.ones(3, 5), "dimension 1 should be 4"),
    "no array": ("text", "no array"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_inputs_that_do_not_fit(session, name):
    value, message = BAD_INPUTS[name]
    with pytest.raises(smelt.Error, match=message):
        session.run(x=value)


def test_other_names(session):
    with pytest.raises(smelt.Error, match="no such input"):
        session.run(x=torch.ones(3, 4), y=torch.ones(3))


BAD_CALLS = {
    "no bound": ({"max": {}}, "the size B has no bound"),
    "sample beyond it": ({"max": {"B": 2}}, "max says B <= 2"),
    "other input": ({"dynamic_shapes": {"y": {0: "B"}}}, "dynamic_shapes names y"),
    "other dim": ({"dynamic_shapes": {"x": {2: "B"}}}, "none of which is dim 2"),
    "no name": ({"dynamic_shapes": {"x": {0: 7}}}, "expected the name of a size"),
    "sample of 1": ({"sample": {"x": torch.ones(1, 4)}}, "at least 2"),
    "mode": ({"mode": "serve"}, "expected 'infer' or 'train'"),
    "optimizer": ({"optimizer": smelt.AdamW()}, "for mode='train'"),
    "torch's optimizer": ({"mode": "train", "optimizer": torch.optim.AdamW}, "smelt.AdamW"),
    "no loss": ({"mode": "train"}, "a loss is one float"),
    "option": ({"presicion": "bf16"}, "did you mean precision"),
    "argument": ({"sample": (torch.ones(2, 4), 1)}, "does not fit forward"),
    "complex": ({"sample": {"x": torch.ones(3, 4, dtype=torch.complex64)}}, "Smelt does not have"),
}


@pytest.mark.parametrize("name", BAD_CALLS)
def test_calls_that_do_not_fit(name):
    options, message = BAD_CALLS[name]
    with pytest.raises(smelt.Error, match=message):
        compiled(**options)


def test_what_is_no_module():
    with pytest.raises(smelt.Error, match="expected a torch.nn.Module"):
        smelt.torch.compile_module(lambda x: x, SAMPLE)


def test_state_that_a_module_changes():
    module = nn.Sequential(nn.BatchNorm1d(4)).train()
    with pytest.raises(smelt.Error, match="eval"):
        smelt.torch.compile_module(Loss(module), {"x": torch.ones(3, 4)}, mode="train")


class Loss(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x).mean()


def test_another_version_of_pytorch(monkeypatch):
    monkeypatch.setattr(captures.torch, "__version__", "2.1.0")
    with pytest.raises(smelt.Error, match="2.6 or newer") as error:
        compiled()
    assert error.value.status == "unavailable"


def test_weights_of_another_module():
    plan = smelt.torch.compile_module(nn.Linear(4, 3), (torch.ones(2, 4),))
    with pytest.raises(smelt.Error, match="other"):
        plan.session().load_state_dict({"weight": torch.ones(3, 4), "bias": torch.ones(3), "other": torch.ones(1)})
    with pytest.raises(smelt.Error, match="weight"):
        plan.session().load_state_dict({"weight": torch.ones(3, 5), "bias": torch.ones(3)})


def test_nothing_big_is_imported_before_it_is_named():
    code = "import sys, smelt; assert 'torch' not in sys.modules; import smelt.torch; print('transformers' in sys.modules)"
    text = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert text.strip() == "False"


class Mapped(nn.Module):
    def forward(self, **tensors):
        return tensors["x"] * 2


def test_names_that_arguments_cannot_have():
    assert compiled(Mapped()).session().run(x=torch.ones(5, 4))["output"].shape == (5, 4)
    with pytest.raises(smelt.Error, match="a.b"):
        compiled(Mapped(), {**SAMPLE, "a.b": torch.ones(2)})
