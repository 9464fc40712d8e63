"""The exam's own machinery: small configurations, inputs, comparisons, limits, and the board."""

import functools
import os
import signal
import time
import types

import pytest
import torch
import transformers

from smelt.transformers import board, results
from smelt.transformers.classes import Folder, folder, folders, in_rounds
from smelt.transformers.examine import (
    SAMPLE,
    Wrong,
    check,
    check_gradients,
    check_losses,
    difference,
    examine,
    moved_gradients,
    turned_outputs,
)
from smelt.transformers.inputs import parts
from smelt.transformers.isolate import isolated
from smelt.transformers.rules import SpecialIds, indices, smaller_list, stages
from smelt.transformers.shrink import PROFILES, small_config
from smelt.transformers.weights import randomize

# ---- small configurations

CONFIGS = (
    "BertConfig",
    "LlamaConfig",
    "Gemma3Config",
    "T5Config",
    "CLIPConfig",
    "SwinConfig",
    "DeepseekV3Config",
    "WhisperConfig",
)


@pytest.mark.parametrize("name", CONFIGS)
def test_small_configurations_keep_their_structure(name):
    config_class = getattr(transformers, name)
    small, default = small_config(config_class), config_class()
    assert [type(part) for part in parts(small)] == [type(part) for part in parts(default)]
    for part in parts(small):
        width, heads = getattr(part, "hidden_size", None), getattr(part, "num_attention_heads", None)
        if isinstance(width, int) and isinstance(heads, int):
            assert width % heads == 0 and width <= 128
        layers = getattr(part, "num_hidden_layers", 2)
        assert 2 <= layers <= 6
        assert all(
            getattr(part, field, 0) == 0
            for field in ("attention_dropout", "hidden_dropout_prob", "dropout", "drop_path_rate")
        )


def test_each_kind_of_layer_is_in_a_small_model():
    small = small_config(transformers.Gemma3TextConfig)
    assert set(small.layer_types) == {"sliding_attention", "full_attention"}
    assert small.num_hidden_layers == len(small.layer_types)


def test_special_tokens_are_in_the_small_vocabulary():
    small = small_config(transformers.LlavaConfig)
    assert small.image_token_id < small.text_config.vocab_size
    ids = SpecialIds()
    assert ids(2) == 2 and ids(151655) == ids(151655) != ids(151656)


def test_indices_of_layers():
    assert indices([3, 6, 9, 12], 12, 4) == [1, 2, 3, 4]
    assert indices([2, 5, 8, 11], 12, 4) == [0, 1, 2, 3]
    assert indices([-1], 12, 2) == [-1]
    assert stages(["stage3", "stage6", "stage9", "stage12"]) == ["stage1", "stage2", "stage3", "stage4"]
    assert stages(["stage2", "stage4"]) == ["stage2", "stage4"]


def test_widths_of_stages():
    narrow = PROFILES["narrow"]
    assert smaller_list("decoder_in_channels", [256, 256, 256], narrow) == [64, 64, 64]
    assert smaller_list("encoder_in_channels", [512, 1024, 2048], narrow) == [16, 32, 64]
    given = {"out_features": ["stage2", "stage5"], "out_indices": [2, 5]}
    assert small_config(transformers.PPLCNetV3Config, given=given).out_indices == [2, 5]


def test_no_weight_is_zero():
    model = randomize(transformers.BertModel(small_config(transformers.BertConfig)))
    assert all(bool((parameter != 0).all()) for parameter in model.parameters())


# ---- classes


def test_folders_and_rounds():
    assert len(folders()) > 500 and folders()[0] == "bert"
    found = folder("gpt2")
    assert {each.__name__ for each in found.classes} >= {"GPT2Model", "GPT2LMHeadModel"} and not found.fault
    assert "Qwen2_5OmniForConditionalGeneration" not in {each.__name__ for each in folder("qwen2_5_omni").classes}
    pairs = in_rounds([Folder("a", [int, str]), Folder("b", [bool])])
    assert pairs == [("a", int), ("b", bool), ("a", str)]


EXAMINED = (("gpt2", "GPT2LMHeadModel"), ("t5", "T5ForConditionalGeneration"), ("vit", "ViTForImageClassification"))


@pytest.mark.parametrize("name, model", EXAMINED)
def test_classes_are_right(name, model):
    (model_class,) = (each for each in folder(name).classes if each.__name__ == model)
    found = {}
    examine(model_class, found.__setitem__, train=True, limit=120)
    expected = {"build", "forward", "train"} | ({"generate"} if name == "gpt2" else set())
    assert {part: outcome["kind"] for part, outcome in found.items()} == dict.fromkeys(expected, "right"), found
    assert found["forward"]["sizes"] == {"gpt2": "BT", "t5": "BST", "vit": "B"}[name]


# ---- comparisons


def test_differences_are_found():
    expected = torch.tensor([1.0, -2.0, 3.0])
    assert not difference(expected + 1e-5, expected)
    assert "1 of 3 elements" in difference(expected + torch.tensor([0.0, 1e-2, 0.0]), expected)
    assert "shape" in difference(expected[:2], expected)
    assert difference(torch.tensor([float("nan")]), torch.tensor([1.0]))
    assert not difference(expected + 1e-2, expected, (expected + 2e-3).double())
    assert difference(torch.tensor([1, 2]), torch.tensor([1, 3])) and not difference(
        torch.tensor([1, 2]), torch.tensor([1, 3]), torch.tensor([1, 2])
    )
    with pytest.raises(Wrong, match="logits at 3"):
        check({"logits": expected + 1}, {"logits": expected}, "3")
    assert check({"logits": torch.zeros(2)}, {"logits": torch.zeros(2)}, "") == 0
    assert SAMPLE["B"] > 1


# ---- processes and results


def test_gradients_may_differ_as_pytorchs_own_do():
    own = {"a": torch.ones(4), "b": torch.full((4,), 2.0)}
    near, far = ({**own, "a": own["a"] + x} for x in (1e-2, 1e-1))
    with pytest.raises(Wrong, match="a: off by"):
        check_gradients(near, own)
    check_gradients(near, own, [(10, lambda: {}), (3, lambda: {"a": own["a"] + 5e-3})])
    with pytest.raises(Wrong, match="a: off by"):
        check_gradients(far, own, [(3, lambda: {"a": own["a"] + 5e-3})])


def test_a_gradient_moves_where_a_rectifier_reads_numbers_near_0():
    class Loss(torch.nn.Linear):
        def forward(self, x):
            return types.SimpleNamespace(loss=super().forward(x).relu().sum())

    model = Loss(64, 1, bias=False)
    torch.nn.init.ones_(model.weight)
    near = torch.cat([torch.full((32,), 1.0), torch.full((32,), -1.0)])[None]
    moves = ["grad.weight" in moved_gradients(model, {"x": near}, seed) for seed in range(8)]
    assert any(moves) and not all(moves), "gradients of zeros are left out"


def test_limits_of_a_process():
    assert isolated(lambda report: report("forward", {"kind": "right"}), 20, 8) == {"forward": {"kind": "right"}}
    assert isolated(lambda report: os.kill(os.getpid(), signal.SIGKILL), 20, 8)["end"]["kind"] == "crash"
    assert isolated(lambda report: time.sleep(60), 0.3, 8)["end"]["kind"] == "slow"
    assert isolated(lambda report: torch.empty(2**31), 20, 4)["end"]["kind"] == "crash"


def test_results_add_up(tmp_path):
    path = tmp_path / "results.jsonl"
    right = {"build": {"kind": "right"}, "forward": {"kind": "right", "compile": 2.0, "sizes": "BT"}}
    results.append(path, results.line_of("a", "AModel", {**right, "end": {"kind": "slow", "note": "x"}}))
    results.append(
        path,
        results.line_of(
            "a", "AForCausalLM", {"build": {"kind": "right"}, "forward": {"kind": "refused", "note": "no row"}}
        ),
    )
    results.append(path, results.line_of("b", "BModel", {"build": {"kind": "not built", "note": "no size"}}))
    results.append(path, results.line_of("a", "AModel", right))
    lines = results.read(path)
    assert len(lines) == 3 and results.kind(lines["AModel"], "forward") == "right"
    counts = board.counts(lines, [])
    assert counts["forward"] == {"not built": 1, "refused": 1}
    assert counts["classes forward"] == {"right": 1, "refused": 1, "not built": 1}
    text = board.page(lines, [Folder("a", [int]), Folder("c", fault="no module")], "5.0")
    assert "| no row | 1 | `AForCausalLM` |" in text and "| `c` | no module |" in text


def test_ties_may_have_any_order():
    class Ranks(torch.nn.Module):
        def forward(self, x):
            return {"index": torch.topk(x, 3).indices}

    x = torch.tensor([[1.0, 2.0, 2.0, 2.0, 0.0], [5.0, 4.0, 3.0, 2.0, 1.0]])
    expected = Ranks()(x)
    others = [functools.partial(turned_outputs, Ranks(), {"x": x}, expected)]
    swapped, wrong = expected["index"].clone(), expected["index"].clone()
    swapped[0] = torch.tensor([3, 1, 2])
    wrong[1, 0] = 4
    check({"index": swapped}, expected, "5", moved=others)
    with pytest.raises(Wrong):
        check({"index": wrong}, expected, "5", moved=others)


def test_losses_may_move_as_far_as_those_of_pytorch():
    expected, moved = [2.0, 1.0, 0.5], [2.0, 1.0, 0.501]
    check_losses([2.0001, 1.0, 0.5], expected)
    check_losses([2.0, 1.0, 0.5025], expected, [(3, lambda: moved)])
    for others in ([], [(3, lambda: moved)]):
        with pytest.raises(Wrong, match="step 3"):
            check_losses([2.0, 1.0, 0.5035], expected, others)
        with pytest.raises(Wrong, match="step 2"):
            check_losses([2.0, 1.001, 0.5], expected, others)


def test_fields_of_a_models_class_are_its_own():
    plain = small_config(transformers.HieraConfig)
    head = small_config(transformers.HieraConfig, model="HieraForPreTraining")
    assert plain.decoder_depth is None and head.decoder_depth == 2
    assert small_config(transformers.Blip2Config, model="Blip2ForImageTextRetrieval").qformer_config.use_qformer_text_input
