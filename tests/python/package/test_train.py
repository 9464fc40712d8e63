"""Updates: the losses of AdamW as PyTorch has them, and gradients over several batches."""

import numpy
import pytest

import smelt


def batch_of(golden):
    return {name: golden["tensors"]["input." + name] for name in ("input_ids", "attention_mask", "labels")}


def test_ten_steps_of_adamw(training_plan, golden):
    session = training_plan.session()
    batch, rate = batch_of(golden), golden["adamw"]["lr"]
    results = [session.step(lr=rate, **batch) for _ in range(10)]
    assert numpy.allclose([r.loss for r in results], golden["adamw"]["losses"], rtol=1e-5)
    assert all(r.gradient_norm > 0 for r in results) and results[0].loss_scale is None
    assert session.updates == 10 and "loss=10.48" in repr(results[0])


def test_accumulated_halves_are_the_whole_batch(training_plan, golden):
    batch = {name: array[:2] for name, array in batch_of(golden).items()}
    whole, halves = training_plan.session(), training_plan.session()
    for _ in range(3):
        expected = whole.step(lr=1e-3, **batch)
        for row in range(2):
            halves.accumulate(**{name: array[row : row + 1] for name, array in batch.items()})
        found = halves.apply(lr=1e-3)
        assert found.loss == pytest.approx(expected.loss, rel=1e-5)
        assert found.gradient_norm == pytest.approx(expected.gradient_norm, rel=1e-4)


def test_a_session_goes_on_from_the_optimizers_state_to_the_same_bits(training_plan, golden):
    batch, rate = batch_of(golden), golden["adamw"]["lr"]
    first, second = training_plan.session(), training_plan.session(from_scratch=True, seed=3)
    for _ in range(2):
        first.step(lr=rate, **batch)
    stored = first.state_dict(optimizer=True)
    assert stored["optimizer.updates"] == 2 and len(stored) > len(first.state_dict()) + 1
    assert second.load_state_dict(stored).updates == 2
    for _ in range(2):
        assert first.step(lr=rate, **batch).loss == second.step(lr=rate, **batch).loss
    weights, others = first.state_dict(), second.state_dict()
    assert all(numpy.array_equal(weights[name].numpy(), others[name].numpy()) for name in weights)


def test_an_optimizers_state_that_does_not_fit_is_named(training_plan):
    session = training_plan.session()
    stored = session.state_dict(optimizer=True)
    states = [name for name in stored if name.startswith("optimizer.") and name != "optimizer.updates"]
    del stored[states[0]]
    with pytest.raises(smelt.Error, match=f"'{states[0]}' is missing"):
        session.load_state_dict(stored)
    stored = {**session.state_dict(optimizer=True), states[0]: numpy.zeros(3, numpy.float32)}
    with pytest.raises(smelt.Error, match=f"'{states[0]}' is f32"):
        session.load_state_dict(stored)
    with pytest.raises(smelt.Error, match="names that no state of updates has"):
        session.load_state_dict({**session.state_dict(optimizer=True), "optimizer.none": numpy.zeros(3)})


def test_a_plan_for_inference_does_not_train(session, golden):
    with pytest.raises(smelt.Error, match="no entry 'train_step'"):
        session.step(lr=1e-3, **batch_of(golden))


def test_a_bad_batch_leaves_the_session_as_it_was(training_plan, golden):
    session, batch = training_plan.session(), batch_of(golden)
    with pytest.raises(smelt.Error, match="labels"):
        session.step(lr=1e-3, input_ids=batch["input_ids"])
    assert session.updates == 0
    assert session.step(lr=1e-3, **batch).loss == pytest.approx(golden["loss"], rel=1e-5)


def test_training_sessions_do_not_share(training_plan):
    with pytest.raises(smelt.Error):
        training_plan.session().share()
