"""A continuous batch from Python: requests, their text, their ends, and weights that change between steps."""

import json
import pickle
import threading

import numpy
import pytest

import smelt
from conftest import GOLDEN

PROMPTS = [[3, 1, 4], [1, 5, 9, 2, 6], [5, 3, 5]]


@pytest.fixture(scope="module")
def plan():
    return smelt.compile(GOLDEN, mode="infer", max={"B": 4, "T": 48}, cache_pages=24, step_tokens=16, sampler=True)


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    """A tokenizer whose token i is the word wi."""
    directory = tmp_path_factory.mktemp("words")
    model = {"type": "WordLevel", "unk_token": "w0", "vocab": {f"w{i}": i for i in range(131)}}
    tokenizer = {"model": model, "pre_tokenizer": {"type": "WhitespaceSplit"}}
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer))
    return directory


@pytest.fixture
def batch(plan):
    with smelt.Batch(plan.session()) as made:
        yield made


def results(batch, **options):
    return [result.ids for result in batch.generate(PROMPTS, max_new_tokens=6, **options)]


@pytest.mark.parametrize("options", [{}, dict(do_sample=True, seed=5, temperature=2.0), dict(repetition_penalty=1.5)])
def test_requests_get_what_generate_gives(plan, batch, options):
    assert results(batch, **options) == plan.session().generate(PROMPTS, max_new_tokens=6, **options)
    assert batch.counts["ended"] == 3 and batch.counts["waiting"] == 0


def test_more_requests_than_may_wait(plan):
    with smelt.Batch(plan.session(), slots=2, most_waiting=1) as batch:
        assert batch.most_requests == 3
        found = batch.generate(PROMPTS * 3, max_new_tokens=4)
        assert [r.ids for r in found[:3]] == [r.ids for r in found[6:]]
        for _ in range(3):
            batch.submit([1], max_new_tokens=4)
        with pytest.raises(smelt.Error, match="try again later") as caught:
            batch.submit([1], max_new_tokens=4)
        assert caught.value.status == "unavailable"


def test_tokens_come_one_by_one(batch):
    id = batch.submit(PROMPTS[0], max_new_tokens=5)
    told = [progress.ids for progress in batch.stream(id)]
    assert [len(ids) for ids in told] == [1] * 5
    with pytest.raises(smelt.Error):
        batch.poll(id)


def test_a_stream_that_is_left_is_cancelled(batch):
    for progress in batch.stream(batch.submit(PROMPTS[0], max_new_tokens=30)):
        break
    assert batch.counts["cancelled"] == 1 and batch.counts["running"] == 0


def test_cancelled_requests(batch):
    id = batch.submit(PROMPTS[0], max_new_tokens=30)
    batch.step()
    batch.cancel(id)
    batch.cancel(999)
    assert batch.poll(id).finish == "cancelled"
    assert batch.step() is False


def test_log_probabilities(batch):
    (found,) = batch.generate(PROMPTS[1:2], max_new_tokens=2, log_probabilities=2, prompt_log_probabilities=1)
    for token in found.tokens:
        assert token.best[0] == (token.id, token.log_probability) and len(token.best) == 2
    assert [token.id for token in found.prompt_tokens] == PROMPTS[1]
    assert found.prompt_tokens[0].log_probability is None
    assert all(token.rank >= 1 and token.log_probability < 0 for token in found.prompt_tokens[1:])
    (plain,) = batch.generate(PROMPTS[1:2], max_new_tokens=2)
    assert plain.ids == found.ids and plain.tokens[0].log_probability is None


def test_text_stop_and_specifications(plan, words):
    with smelt.Batch(plan.session(), tokenizer=words) as batch:
        (found,) = batch.generate(["w3 w1 w4"], max_new_tokens=6)
        assert found.text.split() == [f"w{id}" for id in found.ids]
        assert found.ids == batch.generate([[3, 1, 4]], max_new_tokens=6)[0].ids
        stop = f"w{found.ids[2]}"
        (stopped,) = batch.generate(["w3 w1 w4"], max_new_tokens=6, stop=stop)
        assert stopped.finish == "stop" and stopped.ids == found.ids[:3] and stop not in stopped.text
        (chosen,) = batch.generate(["w3"], max_new_tokens=3, guided_regex="( w7)( w8| w9)")
        assert chosen.text in (" w7 w8", " w7 w9")
        with pytest.raises(smelt.Error, match="only one"):
            batch.submit("w3", guided_regex="a", guided_choice=["a"])


def test_beam_searches(plan, words):
    options = dict(max_new_tokens=6, num_beams=3, num_return_sequences=2)
    with smelt.Batch(plan.session(), tokenizer=words) as batch:
        found = batch.generate(PROMPTS, **options)
        assert [beam.ids for one in found for beam in one.beams] == plan.session().generate(PROMPTS, **options)
        for one in found:
            assert one.finish == "stop" and one.ids == [] and one.beams[0].score >= one.beams[1].score
            for beam in one.beams:
                assert beam.text.split() == [f"w{id}" for id in beam.ids] and beam.finish in ("stop", "length")


def test_drafts_change_nothing(plan):
    with smelt.Batch(plan.session()) as batch:
        expected = results(batch)
    with smelt.Batch(plan.session(), draft=3, prepares=True) as batch:
        assert results(batch) == expected
        assert batch.counts["draft_tokens"] >= batch.counts["kept_draft_tokens"]


def test_priorities(plan):
    with smelt.Batch(plan.session(), slots=1) as batch:
        batch.submit([1], max_new_tokens=2)
        batch.step()
        later, sooner = batch.submit([1], max_new_tokens=2), batch.submit([1], max_new_tokens=2, priority=-1)
        while not batch.poll(sooner).has_begun:
            batch.step()
        assert not batch.poll(later).has_begun


def test_the_batch_alone_runs_its_session(plan):
    session = plan.session()
    batch = smelt.Batch(session, tokenizer=False)
    for call in (lambda: session.generate([[1]], max_new_tokens=1), lambda: smelt.Batch(session)):
        with pytest.raises(smelt.Error, match="a smelt.Batch runs the session"):
            call()
    with pytest.raises(smelt.Error, match="a smelt.Batch runs the session"):
        session.load_state_dict(session.state_dict())
    batch.close()
    assert session.generate([[1]], max_new_tokens=1)
    for call in (batch.step, lambda: batch.submit([1]), lambda: batch.counts):
        with pytest.raises(smelt.Error, match="closed"):
            call()
    with pytest.raises(TypeError):
        pickle.dumps(batch)
    assert "closed" in repr(batch)


WRONG = {
    "no text": (["w3"], {}, "no tokenizer"),
    "stop without text": ([[1]], dict(stop="a"), "without a tokenizer"),
    "unknown option": ([[1]], dict(max_tokens=3), "max_tokens"),
    "too long": ([[1]], dict(max_new_tokens=1000), "48"),
    "beams": ([[1]], dict(num_beams=5), "at most 4"),
    "beams with log-probabilities": ([[1]], dict(num_beams=2, log_probabilities=0), "log-probabilities"),
    "rows": ([[[1], [2]]], {}, "2 dimensions"),
    "empty": ([[]], {}, "expected|empty"),
    "unknown id": ([[131]], {}, "vocabulary"),
    "priority": ([[1]], dict(priority=2**40), "priority"),
    "specification without text": ([[1]], dict(guided_regex="a"), "no tokenizer"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_requests_are_errors(plan, name):
    prompts, options, message = WRONG[name]
    with smelt.Batch(plan.session(), tokenizer=False) as batch, pytest.raises(smelt.Error, match=message):
        batch.generate(prompts, **options)


def test_other_threads_submit_while_steps_run(batch):
    expected = results(batch)
    found = [None] * 3

    def run(number):
        found[number] = batch.generate(PROMPTS[number : number + 1], max_new_tokens=6)[0].ids

    threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


# ---- new weights


def changed(state, seed=1):
    noise = numpy.random.default_rng(seed)
    return {name: a.numpy() + noise.normal(0, 0.1, a.shape).astype(numpy.float32) for name, a in state.items()}


def of_new_weights(plan, weights, **options):
    with smelt.Batch(plan.session().load_state_dict(weights)) as batch:
        return results(batch, **options)


def test_new_weights_give_what_a_new_batch_gives(plan, batch):
    weights = changed(batch.session.state_dict())
    before, expected = results(batch), of_new_weights(plan, weights)
    assert before != expected
    batch.update_weights(weights, version=7)
    assert batch.counts["weights_version"] == 7 and results(batch) == expected
    (found,) = batch.generate(PROMPTS[:1], max_new_tokens=2)
    assert {token.weights_version for token in found.tokens} == {7}


@pytest.mark.parametrize("precision", [dict(precision="bf16"), dict(weight_type="int8")])
def test_new_weights_of_plans_that_store_others(batch, precision):
    plan = smelt.compile(GOLDEN, mode="infer", max={"B": 4, "T": 48}, **precision)
    weights = changed(batch.session.state_dict())
    expected = of_new_weights(plan, weights)
    with smelt.Batch(plan.session()) as other:
        assert results(other) != expected
        other.update_weights(weights)
        assert results(other) == expected


def test_the_weights_of_a_trainer(plan, batch, training_plan, ids):
    trainer = training_plan.session()
    for _ in range(3):
        trainer.step(input_ids=ids, labels=ids, attention_mask=numpy.ones_like(ids), lr=0.01)
    batch.update_weights(trainer)
    assert results(batch) == of_new_weights(plan, trainer.state_dict())


def test_running_requests_go_on_or_end_first(batch):
    expected, weights = results(batch), changed(batch.session.state_dict())
    id = batch.submit(PROMPTS[0], max_new_tokens=6)
    batch.step()
    batch.update_weights(weights, wait=True)
    assert batch.update_waits and batch.counts["weights_version"] == 0
    assert [token for progress in batch.stream(id) for token in progress.ids] == expected[0]
    assert not batch.update_waits and batch.counts["weights_version"] == 1
    id = batch.submit(PROMPTS[0], max_new_tokens=6)
    batch.step()
    batch.update_weights(weights)
    versions = [token.weights_version for progress in batch.stream(id) for token in progress.tokens]
    assert versions == sorted(versions) and versions[-1] == 2


def test_weights_that_do_not_fit_change_nothing(plan, batch):
    expected, state = results(batch), changed(batch.session.state_dict())
    name = next(iter(state))
    bad = {
        "missing": {n: a for n, a in state.items() if n != name},
        "does not use 'other'": {**state, "other": numpy.ones(3, numpy.float32)},
        "expected floats": {**state, name: state[name][:1]},
        "expected a mapping": [1],
    }
    for message, weights in bad.items():
        with pytest.raises(smelt.Error, match=message):
            batch.update_weights(weights)
    with pytest.raises(smelt.Error, match="another session"):
        batch.update_weights(batch.session)
    assert batch.counts["weight_updates"] == 0 and results(batch) == expected
    batch.update_weights({**state, "a copy of it": state[name]})
    assert results(batch) == of_new_weights(plan, state)


ADAPTED = GOLDEN.parent / "llama-lora"


def test_adapters_of_requests(tmp_path):
    plan = smelt.compile(ADAPTED, mode="infer", max={"B": 4, "T": 48}, cache_pages=24, adapters=2)
    with smelt.Batch(plan.session(ADAPTED / "model.safetensors")) as batch:
        alone = results(batch)
        with pytest.raises(smelt.Error, match="there is no 'first'"):
            batch.submit(PROMPTS[0], adapter="first", max_new_tokens=2)
        batch.load_adapter("first", ADAPTED)
        assert batch.adapters == ["first"]
        adapted = results(batch, adapter="first")
        assert adapted != alone and results(batch) == alone
        running = batch.submit(PROMPTS[0], adapter="first", max_new_tokens=6)
        batch.step()
        batch.unload_adapter("first")
        assert batch.adapters == []
        with pytest.raises(smelt.Error, match="there is no 'first'"):
            batch.unload_adapter("first")
        batch.load_adapter("second", ADAPTED)
        with pytest.raises(smelt.Error, match="slots are taken") as caught:
            batch.load_adapter("third", ADAPTED)
        assert caught.value.status == "unavailable"
        ids = [id for progress in batch.stream(running) for id in progress.ids]
        assert ids == adapted[0]
        with pytest.raises(smelt.Error, match="adapter_config.json"):
            batch.load_adapter("third", tmp_path)


def test_a_plan_without_slots_has_no_adapters(batch):
    assert batch.adapters == []
    with pytest.raises(smelt.Error, match="compile it with adapters="):
        batch.load_adapter("first", ADAPTED)
