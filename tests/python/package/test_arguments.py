"""What does not fit is one smelt.Error that names the argument, before anything changes."""

import numpy
import pytest

import smelt

BAD_SESSIONS = {
    "threads as a word": (dict(threads="a"), "threads: 'a', expected a whole number"),
    "fewer threads than none": (dict(threads=-1), "threads: -1, expected a number from 0"),
    "half a thread": (dict(threads=2.5), "threads: 2.5, expected a whole number"),
    "a negative seed": (dict(seed=-1), "seed: -1, expected a number from 0 to 4294967295"),
    "a wide seed": (dict(seed=2**40), "seed: 1099511627776, expected"),
    "a number for a device": (dict(device=3), "device '3': expected cpu, cuda or cuda:N"),
}


@pytest.mark.parametrize("name", BAD_SESSIONS)
def test_sessions(plan, name):
    options, message = BAD_SESSIONS[name]
    with pytest.raises(smelt.Error, match=message):
        plan.session(**options)


def test_numbers_of_libraries_are_numbers(plan):
    plan.session(from_scratch=True, seed=numpy.uint32(3), threads=numpy.int64(1))


BAD_STATES = {
    "a list": ([3], "state_dict: a list, expected a mapping"),
    "nothing": (None, "state_dict: a NoneType"),
    "numbers for names": ({3: numpy.ones(2)}, "state_dict: the name 3 is a int, expected a str"),
    "updates as a word": ({"optimizer.updates": "a"}, "optimizer.updates: 'a', expected a whole number"),
    "fewer updates than none": ({"optimizer.updates": -1}, "optimizer.updates: -1"),
}


@pytest.mark.parametrize("name", BAD_STATES)
def test_states(session, name):
    given, message = BAD_STATES[name]
    with pytest.raises(smelt.Error, match=message):
        session.load_state_dict(given, strict=False)


@pytest.mark.parametrize("out", [3, [numpy.ones(2)], {3: numpy.ones(2)}])
def test_memory_for_outputs(session, ids, out):
    with pytest.raises(smelt.Error, match="out: "):
        session.run(input_ids=ids, out=out)


def test_options_of_generation(session):
    with pytest.raises(smelt.Error, match="options: expected what JSON can hold"):
        session.generate([[1]], max_new_tokens={1})
    with pytest.raises(smelt.Error, match="on_token: a int, expected a function"):
        session.generate([[1]], on_token=3)


def test_descriptions():
    with pytest.raises(smelt.Error, match="the spec: expected what JSON can hold"):
        smelt.compile({"layers": {1}})


RULES = [smelt.SGD, smelt.Adam, smelt.AdamW, smelt.LAMB, smelt.Adagrad, smelt.Lion, smelt.Muon, smelt.NorMuon]
RULES += [smelt.Adafactor, smelt.ScheduleFreeAdamW, smelt.AdamW8bit]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -1.0, "fast"])
def test_rates(rule, rate):
    with pytest.raises(smelt.Error, match="lr: .*expected a"):
        rule(lr=rate)


@pytest.mark.parametrize("betas", [0.9, (0.9,), (0.9, 0.99, 0.999), "ab"])
def test_betas(betas):
    with pytest.raises(smelt.Error, match="betas: .*expected two numbers"):
        smelt.AdamW(betas=betas)
