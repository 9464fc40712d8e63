"""A batch takes the weights of a module of transformers, whose state_dict has the tied head under a name of its own."""

import pathlib

import pytest
import transformers

import smelt

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "goldens" / "gpt2"


def ids_of(batch):
    return [result.ids for result in batch.generate([[3, 1, 4], [1, 5]], max_new_tokens=6)]


def test_weights_of_a_module():
    weights = transformers.AutoModelForCausalLM.from_pretrained(GOLDEN).state_dict()
    assert "lm_head.weight" in weights
    plan = smelt.compile(GOLDEN, mode="infer", max={"B": 4, "T": 48})
    with smelt.Batch(plan.session()) as batch:
        expected = ids_of(batch)
    with smelt.Batch(plan.session(from_scratch=True)) as batch:
        assert ids_of(batch) != expected
        batch.update_weights(weights)
        assert ids_of(batch) == expected
        weights["lm_head.weight"] = weights["lm_head.weight"] + 1
        with pytest.raises(smelt.Error, match="does not use 'lm_head.weight'"):
            batch.update_weights(weights)
        assert ids_of(batch) == expected
