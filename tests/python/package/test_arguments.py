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


@pytest.mark.parametrize("rule", RULES)
def test_rules_are_keys_of_a_mapping(rule):
    given = {"lr_of": {"*.bias": 2}, "decay_of": {"*.bias": 0}}
    assert {rule(**given): 1, rule(): 2}[rule(**given)] == 1
    assert hash(rule(**given)) == hash(rule(**given)) and rule(**given) != rule()


def test_rules_with_lists_are_keys_of_a_mapping():
    assert {smelt.Muon(betas=[0.9, 0.95], adamw_for=["a"])}


@pytest.mark.parametrize("name", ["lr_of", "decay_of"])
@pytest.mark.parametrize("factors", [["*.bias=2"], "*.bias=2", {"*.bias": "2"}, {1: 2}])
def test_factors(name, factors):
    with pytest.raises(smelt.Error, match=f"{name}: .*expected a .*'[*].bias': 2"):
        smelt.AdamW(**{name: factors})


@pytest.mark.parametrize("momentum", [1.5, 1, -0.1, float("nan"), "0.9"])
def test_momentum(momentum):
    for given in (lambda: smelt.Muon(momentum=momentum), lambda: smelt.SGD(momentum=momentum)):
        with pytest.raises(smelt.Error, match="momentum: .*, expected a number from 0 on, below 1"):
            given()
    with pytest.raises(smelt.Error, match="momentum: .*, expected a number from 0 on, below 1"):
        smelt.compile("model.ir", mode="train", optimizer="muon", momentum=momentum)
