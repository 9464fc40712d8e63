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
    """Three operations that Smelt does not have, in two places."""

    def __init__(self):
        super().__init__()
        self.inner = Eigenvalues()

    def forward(self, x):
        return self.inner(x) + torch.linalg.svdvals(x) + torch.bitwise_left_shift(x.long(), x.long())


class Eigenvalues(nn.Module):
    def forward(self, x):
        return torch.linalg.eigvalsh(x)


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
    assert "linalg_eigh" in text and "linalg_svd" in text and "bitwise_left_shift" in text and "inner" in text
    report = smelt.torch.coverage(Odd(), square)
    assert not report and "linalg_svd" in str(report) and len(report.missing) >= 3


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
    "empty": (torch.ones(0, 4), "B = 0: expected at least 1"),
    "half": (torch.ones(3, 4).half(), "give x.to\\(torch.float32\\)"),
    "flags": (torch.ones(3, 4).bool(), "give x.to\\(torch.float32\\)"),
    "sparse": (torch.eye(4).to_sparse(), "layout sparse_coo"),
    "compressed": (torch.eye(4).to_sparse_csr(), "layout sparse_csr"),
    "spread": (torch.ones(1, 4).expand(3, 4), "give x.contiguous"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
def test_inputs_that_do_not_fit(session, name):
    value, message = BAD_INPUTS[name]
    with pytest.raises(smelt.Error, match=message):
        session.run(x=value)


BAD_OUTPUTS = {
    "shape": ({"output": torch.ones(2, 4)}, "the memory given is"),
    "type": ({"output": torch.ones(3, 4).double()}, "the memory given is f64"),
    "strides": ({"output": torch.ones(4, 3).T}, "not dense"),
    "name": ({"other": torch.ones(3, 4)}, "no such output"),
    "no name": ({3: torch.ones(3, 4)}, "expected a mapping of names"),
    "no mapping": (torch.ones(3, 4), "expected a mapping of names"),
    "device": ({"output": torch.ones(3, 4, device="meta")}, "is on meta"),
}


@pytest.mark.parametrize("name", BAD_OUTPUTS)
def test_memory_for_outputs_that_does_not_fit(session, name):
    out, message = BAD_OUTPUTS[name]
    with pytest.raises(smelt.Error, match=message):
        session.run(x=torch.ones(3, 4), out=out)


def test_inputs_without_a_name(session):
    with pytest.raises(smelt.Error, match="inputs are given by name"):
        session.run(torch.ones(3, 4))


def test_an_input_that_requires_a_gradient(session):
    assert (session.run(x=torch.ones(3, 4, requires_grad=True))["output"] == 2).all()


@pytest.mark.parametrize("size", ["lambda", "dim", "E", "I", "parameter"])
def test_any_name_of_a_size_will_do(size):
    plan = compiled(dynamic_shapes={"x": {0: size}}, max={size: 8})
    assert plan.session().run(x=torch.ones(5, 4))["output"].shape == (5, 4)


class OfRows(nn.Module):
    """What it does to x[batch, length, 4]."""

    def __init__(self, rule):
        super().__init__()
        self.rule = rule

    def forward(self, x):
        return self.rule(x)


SHORTER = {
    "one cut off": (lambda x: x[:, 1:] * 2, 1),
    "the last three": (lambda x: x[:, -3:] * 2, 3),
    "a convolution": (lambda x: nn.functional.conv1d(x.transpose(1, 2), torch.ones(3, 4, 3)), 3),
    "with strides": (lambda x: nn.functional.conv1d(x.transpose(1, 2), torch.ones(3, 4, 3), stride=2), 3),
}


@pytest.mark.parametrize("name", SHORTER)
def test_the_least_size_that_works_is_found(name):
    """Sizes from there on are right, and smaller ones a message that says so."""
    rule, least = SHORTER[name]
    module = OfRows(rule)
    plan = compiled(module, {"x": torch.ones(2, 7, 4)}, dynamic_shapes={"x": {1: "T"}}, max={"T": 16})
    session = plan.session()
    for length in (least, least + 2, 16):
        x = torch.rand(2, length, 4)
        assert torch.allclose(session.run(x=x)["output"], module(x), atol=1e-5)
    if least > 1:
        with pytest.raises(smelt.Error, match=f"T = {least - 1}.*(at least|>=) {least}"):
            session.run(x=torch.ones(2, least - 1, 4))


BAD_STATES = {
    "no mapping": ([1], "expected a mapping of names"),
    "no names": ({3: torch.ones(1)}, "expected a mapping of names"),
    "missing": ({"weight": torch.ones(3, 4)}, "'bias' is missing"),
    "integers": ({"weight": torch.ones(3, 4).long(), "bias": torch.ones(3)}, "expected floats"),
    "sparse": ({"weight": torch.ones(3, 4).to_sparse(), "bias": torch.ones(3)}, "expected a dense one"),
    "meta": ({"weight": torch.ones(3, 4, device="meta"), "bias": torch.ones(3)}, "has no numbers"),
}


@pytest.fixture(scope="module")
def linear():
    return smelt.torch.compile_module(nn.Linear(4, 3), (torch.ones(2, 4),)).session()


@pytest.mark.parametrize("name", BAD_STATES)
def test_weights_that_do_not_fit(linear, name):
    state, message = BAD_STATES[name]
    with pytest.raises(smelt.Error, match=message):
        linear.load_state_dict(state)


def test_sessions_of_what_is_not_there(linear, tmp_path):
    (tmp_path / "junk").write_bytes(b"no weights")
    for weights in (tmp_path / "junk", tmp_path / "nowhere"):
        with pytest.raises(smelt.Error, match="no safetensors file"):
            linear.plan.session(weights=weights)
    with pytest.raises(smelt.Error, match="expected 'cpu', 'cuda'"):
        linear.plan.session(device="nowhere")
    with pytest.raises(smelt.Error, match="attach: expected a torch.nn.Module"):
        linear.attach(3)


@pytest.mark.parametrize("rate", ["fast", float("nan"), float("inf"), -1])
def test_learning_rates_that_are_none(rate):
    plan = smelt.torch.compile_module(Loss(nn.Linear(4, 3)), {"x": torch.ones(2, 4)}, mode="train")
    with pytest.raises(smelt.Error, match="lr: .*expected a"):
        plan.session().step(x=torch.ones(2, 4), lr=rate)


class Nothing(nn.Module):
    def forward(self, x):
        return 3


def test_a_module_that_returns_no_tensor():
    with pytest.raises(smelt.Error, match="returns no tensor"):
        compiled(Nothing())


def test_other_names(session):
    with pytest.raises(smelt.Error, match="no such input"):
        session.run(x=torch.ones(3, 4), y=torch.ones(3))


def test_arguments_without_names_are_refused():
    class Any(torch.nn.Module):
        def forward(self, *tensors):
            return sum(tensors)

    with pytest.raises(smelt.Error, match=r"forward of Any takes \*tensors, whose elements have no names"):
        smelt.torch.compile_module(Any(), (torch.ones(2), torch.ones(2)))


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
    "a size without a bound": ({"max": {"b": 8}}, "the size B has no bound"),
    "a bound of a number": ({"max": {"B": 8, 3: 3}}, "3, expected the name of a size"),
    "a product of a size that is not there": ({"max": {"B": 8, "B*Q": 3}}, "names no size 'Q'; it names B"),
    "bound of 0": ({"max": {"B": 0}}, "'B': 0, expected a bound of at least 1"),
    "bound of a fraction": ({"max": {"B": 8.5}}, "'B': 8.5, expected a whole number"),
    "bound of a text": ({"max": {"B": "8"}}, "'B': '8', expected a whole number"),
    "bound of a flag": ({"max": {"B": True}}, "'B': True, expected a whole number"),
    "bound far too large": ({"max": {"B": 2**40}}, "below 2.31"),
    "bounds in a list": ({"max": [8]}, "max: a list, expected a mapping"),
    "shapes in a list": ({"dynamic_shapes": [{0: "B"}]}, "dynamic_shapes: a list, expected a mapping"),
    "dims in a text": ({"dynamic_shapes": {"x": "B"}}, "'B', expected its dims"),
    "dims in a number": ({"dynamic_shapes": {"x": 0}}, "0, expected its dims"),
    "a place that is none": ({"dynamic_shapes": {"x": {"0": "B"}}}, "'0' is no place of a dim"),
    "a name that is none": ({"dynamic_shapes": {"x": {0: "a b"}}, "max": {"a b": 3}}, "of letters, digits and _"),
    "a name of a number": ({"dynamic_shapes": {"x": {0: "nan"}}, "max": {"nan": 3}}, "of letters, digits and _"),
    "a least beyond the bound": ({"dynamic_shapes": {"x": {0: torch.export.Dim("B", min=9)}}}, "is at least 9"),
    "a sample of a number": ({"sample": 7}, "the sample is a int"),
    "sample of text": ({"sample": "text"}, "the sample is a str"),
    "sample of NumPy": ({"sample": {"x": torch.ones(3, 4).numpy()}}, "give torch.from_numpy"),
    "sample of numbers": ({"sample": {"x": 3}}, "'x' is a int in the sample"),
    "sparse": ({"sample": {"x": torch.eye(4).to_sparse()}}, "expected a dense one"),
    "nested": ({"sample": {"x": torch.nested.nested_tensor([torch.ones(3), torch.ones(4)])}}, "a nested tensor"),
    "entry": ({"entry": "nowhere"}, "there is no entry @nowhere"),
    "precision": ({"precision": "fp8"}, "precision=fp8 is for training: for inference give precision=bf16"),
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


def test_what_is_no_directory(tmp_path):
    (tmp_path / "file").write_text("x")
    for place in ("file", "file/below"):
        with pytest.raises(smelt.Error, match="expected a directory that can be written") as error:
            smelt.torch.export(Double(), SAMPLE, tmp_path / place)
        assert error.value.status == "io"


class Mapped(nn.Module):
    def forward(self, **tensors):
        return tensors["x"] * 2


def test_names_that_arguments_cannot_have():
    assert compiled(Mapped()).session().run(x=torch.ones(5, 4))["output"].shape == (5, 4)
    with pytest.raises(smelt.Error, match="a.b"):
        compiled(Mapped(), {**SAMPLE, "a.b": torch.ones(2)})
    with pytest.raises(smelt.Error, match="'out' has the name of an option"):
        compiled(Out(), {"out": torch.ones(3, 4)}, dynamic_shapes={"out": {0: "B"}})


class Out(nn.Module):
    def forward(self, out):
        return out * 2


def test_what_pytorch_prints_of_a_failed_export_is_not_printed(capfd):
    with pytest.raises(smelt.Error, match="depends on the numbers in a tensor"):
        smelt.torch.compile_module(Branch(), torch.randn(2, 4))
    assert capfd.readouterr().err == ""
    assert "print" not in vars(torch.export._trace)


class Differentiating(torch.nn.Linear):
    def forward(self, x):
        return torch.autograd.grad(super().forward(x).sum(), x)[0]


def test_gradients_in_forward_of_inference_are_named():
    with pytest.raises(smelt.Error, match="torch.autograd.grad and backward.. in forward"):
        smelt.torch.compile_module(Differentiating(4, 3), torch.randn(2, 4, requires_grad=True))


class Checked(torch.nn.Module):
    """Checks that raise for some numbers, as models of transformers have them."""

    def forward(self, x):
        if x is not None and x.max() >= 10:
            raise ValueError("too large")
        if not (x > -10).all():
            raise ValueError("too small")
        assert x.isfinite().all(), "not finite"
        return x * 2


def test_checks_that_raise_pass():
    session = smelt.torch.compile_module(Checked(), (torch.ones(3),)).session()
    for value in (1.0, 20.0):
        x = torch.full((3,), value)
        assert torch.equal(torch.as_tensor(session.run(x=x)["output"]), 2 * x)


class Caught(torch.nn.Module):
    """An error of a check, here or in what it calls, makes the module go on in another way."""

    def __init__(self, called):
        super().__init__()
        self.called, self.checked = called, Checked()

    def forward(self, x):
        try:
            return self.called(self, x)
        except ValueError:
            return x * 3


def raises(module, x):
    if x.sum() > 0:
        raise ValueError("positive")
    return x * 2


class CaughtHere(torch.nn.Module):
    def forward(self, x):
        try:
            if x.sum() > 0:
                raise ValueError("positive")
        except ValueError:
            return x * 3
        return x * 2


class RaisedAgain(torch.nn.Module):
    """With handlers that end with `raise`, or take other errors."""

    def forward(self, x):
        try:
            if x.sum() > 0:
                raise ValueError("positive")
            return x * 2
        except (TypeError, torch.cuda.OutOfMemoryError):
            return x * 3
        except ValueError as error:
            raise RuntimeError("no positive sums") from error


@pytest.mark.parametrize("module", (CaughtHere(), Caught(raises), Caught(lambda self, x: self.checked(x))))
def test_a_check_whose_error_is_caught_is_a_branch(module):
    with pytest.raises(smelt.Error, match="depends on the numbers in a tensor"):
        smelt.torch.compile_module(module, (torch.ones(3),))


def test_a_check_whose_error_is_raised_again_passes():
    session = smelt.torch.compile_module(RaisedAgain(), (torch.ones(3),)).session()
    assert torch.equal(torch.as_tensor(session.run(x=torch.ones(3))["output"]), 2 * torch.ones(3))


def test_a_branch_is_no_check():
    class Branch(torch.nn.Module):
        def forward(self, x):
            if x.max() >= 10:
                raise ValueError("too large")
            elif x.max() >= 5:
                return x
            return 2 * x

    with pytest.raises(smelt.Error, match="depends on the numbers in a tensor"):
        smelt.torch.compile_module(Branch(), (torch.ones(3),))
