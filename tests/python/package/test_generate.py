"""Generated tokens are transformers' own, from arrays and lists."""

import numpy
import pytest

import smelt
from conftest import GOLDEN


@pytest.fixture(scope="module")
def writer():
    return smelt.compile(GOLDEN, mode="infer", max={"B": 12, "T": 48}).session()


@pytest.fixture(scope="module")
def prompts(golden):
    return golden["tensors"]["prompt.input_ids"], golden["tensors"]["prompt.attention_mask"]


@pytest.mark.parametrize("case", ["greedy", "beam4", "norepeat"])
def test_goldens(writer, golden, prompts, case):
    ids, mask = prompts
    expected = golden["generate"][case]
    new = len(expected["ids"][0]) - ids.shape[1]
    found = writer.generate(ids, attention_mask=mask, max_new_tokens=new, **expected["args"])
    rows = [row[ids.shape[1] :] for row in expected["ids"]]
    for tokens, row in zip(found, rows):
        assert tokens == row[: len(tokens)] and (len(tokens) == len(row) or tokens[-1] == 2)


def test_prompts_are_arrays_or_lists(writer, prompts):
    ids = prompts[0][:2]
    expected = writer.generate(ids, max_new_tokens=4)
    assert len(expected) == 2 and all(len(tokens) <= 4 for tokens in expected)
    assert writer.generate(ids.astype(numpy.int64), max_new_tokens=4) == expected
    assert writer.generate(ids.tolist(), max_new_tokens=4) == expected
    assert writer.generate(ids[0].tolist(), max_new_tokens=4) == expected[:1]
    assert writer.generate([ids[0].tolist(), ids[1].tolist()[1:]], max_new_tokens=4)[0] == expected[0]


def test_drawn_tokens_depend_on_the_seed(writer, prompts):
    def draw(seed):
        return writer.generate(prompts[0], max_new_tokens=8, do_sample=True, top_p=0.9, temperature=3.0, seed=seed)

    assert draw(1) == draw(1) != draw(2)


def test_tokens_are_told_as_they_come(writer, prompts):
    told = []
    found = writer.generate(prompts[0][:1], max_new_tokens=6, on_token=lambda index, token: told.append(token))
    assert told == found[0]
    few = writer.generate(prompts[0][:1], max_new_tokens=6, on_token=lambda index, token: False)
    assert few == [found[0][:1]]


def test_what_a_callback_raises_is_raised_again(writer, prompts):
    def stop(index, token):
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        writer.generate(prompts[0][:1], max_new_tokens=6, on_token=stop)
    writer.generate(prompts[0][:1], max_new_tokens=2)  # goes on


BAD = {
    "unknown option": (dict(max_tokens=3), "max_tokens"),
    "other value": (dict(top_p=7), "top_p"),
    "too long": (dict(max_new_tokens=1000), "48"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_options_are_errors(writer, prompts, name):
    options, message = BAD[name]
    with pytest.raises(smelt.Error, match=message):
        writer.generate(prompts[0], **options)


@pytest.mark.parametrize("ids", [[[1, -2]], [[1, 131]], [["a"]], 7, "text", numpy.ones((1, 2), numpy.float32), [[]], []])
def test_bad_prompts_are_errors(writer, ids):
    if isinstance(ids, list) and not ids:
        assert writer.generate(ids, max_new_tokens=2) == []
        return
    with pytest.raises(smelt.Error):
        writer.generate(ids, max_new_tokens=2)


@pytest.mark.parametrize("dtype", ["int16", "uint8", "int64", "uint64"])
def test_ids_and_options_of_numpy(writer, prompts, dtype):
    ids = (prompts[0][:2] % 100).astype(dtype)
    expected = writer.generate(ids.tolist(), max_new_tokens=4)
    assert writer.generate(ids, max_new_tokens=numpy.int64(4)) == expected
    assert writer.generate([list(row) for row in ids], max_new_tokens=numpy.int32(4), do_sample=numpy.bool_(False)) == expected
    stopped = writer.generate(ids.tolist(), max_new_tokens=4, eos_token_id=expected[0][:1])
    assert writer.generate(list(ids), max_new_tokens=4, eos_token_id=numpy.array(expected[0][:1])) == stopped


def test_ids_that_are_no_integers(writer):
    for ids, message in ((numpy.ones((1, 2)), "elements are float64"), ([[0.5]], "lists of token ids")):
        with pytest.raises(smelt.Error, match=message):
            writer.generate(ids, max_new_tokens=2)
