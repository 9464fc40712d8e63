"""Weights in and out of sessions."""

import numpy
import pytest

import smelt
from conftest import GOLDEN, read_safetensors


@pytest.fixture(scope="module")
def stored():
    return read_safetensors(GOLDEN / "model.safetensors")


def test_a_state_dict_is_the_checkpoint(session, stored):
    state = session.state_dict()
    names = {name for name in stored if not name.endswith(".attn.bias")}
    assert {"transformer." + n.removeprefix("transformer.") for n in names} == {
        "transformer." + n.removeprefix("transformer.") for n in state
    }
    for name, tensor in state.items():
        found = stored.get(name, stored.get("transformer." + name))
        assert tensor.shape == found.shape and numpy.array_equal(tensor.numpy(), found), name


def test_a_state_dict_is_a_copy(training_plan, golden):
    session = training_plan.session()
    before = session.state_dict()
    name = next(iter(before))
    kept = before[name].numpy().copy()
    batch = {name: golden["tensors"]["input." + name] for name in ("input_ids", "attention_mask", "labels")}
    session.step(lr=1e-2, **batch)
    assert numpy.array_equal(before[name].numpy(), kept)
    assert not numpy.array_equal(session.state_dict()[name].numpy(), kept)


def test_loading_makes_sessions_equal(plan, session, ids):
    other = plan.session(from_scratch=True)
    expected = session.run(input_ids=ids)["logits"].numpy()
    assert not numpy.array_equal(other.run(input_ids=ids)["logits"].numpy(), expected)
    assert other.load_state_dict(session.state_dict()) is other
    assert numpy.array_equal(other.run(input_ids=ids)["logits"].numpy(), expected)


def test_a_session_of_arrays(plan, session, ids):
    arrays = {name: tensor.numpy() for name, tensor in session.state_dict().items()}
    found = plan.session(weights=arrays).run(input_ids=ids)["logits"].numpy()
    assert numpy.array_equal(found, session.run(input_ids=ids)["logits"].numpy())
    name = next(iter(arrays))
    for wrong in ({**arrays, name: arrays[name][:-1]}, {**arrays, "other": arrays[name]}, {}):
        with pytest.raises(smelt.Error):
            plan.session(weights=wrong)
    with pytest.raises(smelt.Error, match="from_scratch say different things"):
        plan.session(weights=arrays, from_scratch=True)


def test_weights_of_other_float_types(plan, session, ids):
    state = {name: tensor.numpy().astype(numpy.float16) for name, tensor in session.state_dict().items()}
    logits = plan.session().load_state_dict(state).run(input_ids=ids)["logits"].numpy()
    assert numpy.allclose(logits, session.run(input_ids=ids)["logits"].numpy(), atol=5e-2)


def test_what_does_not_fit_is_named_and_nothing_changes(plan, ids):
    session = plan.session()
    expected = session.run(input_ids=ids)["logits"].numpy()
    state = {name: numpy.zeros(tensor.shape, numpy.float32) for name, tensor in session.state_dict().items()}
    missing, misshaped = list(state)[:2]
    del state[missing]
    state[misshaped] = numpy.zeros(3, numpy.float32)
    with pytest.raises(smelt.Error) as error:
        session.load_state_dict(state)
    assert f"'{missing}' is missing" in str(error.value) and misshaped in str(error.value)
    assert numpy.array_equal(session.run(input_ids=ids)["logits"].numpy(), expected)


def test_unexpected_names_are_errors_where_strict(plan):
    session = plan.session()
    state = {**session.state_dict(), "adapter.weight": numpy.zeros(3, numpy.float32)}
    with pytest.raises(smelt.Error, match="adapter.weight"):
        session.load_state_dict(state)
    session.load_state_dict(state, strict=False)


def test_saved_weights_are_loaded_by_path(session, plan, ids, tmp_path):
    session.save_weights(tmp_path / "model.safetensors")
    other = plan.session(weights=tmp_path)
    assert other.weights == str(tmp_path / "model.safetensors")
    expected = session.run(input_ids=ids)["logits"].numpy()
    assert numpy.array_equal(other.run(input_ids=ids)["logits"].numpy(), expected)
