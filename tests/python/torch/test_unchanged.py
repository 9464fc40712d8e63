"""compile_module leaves the module and the process as they were, in any thread."""

import copy
import pickle
import threading
import time
import types
import warnings

import pytest
import torch
from torch import nn

import smelt
import smelt.torch
from smelt import progress


def test_a_forward_of_the_instance_is_used_and_stays():
    module, x = nn.Linear(4, 4), torch.ones(1, 4)
    plain = module.forward
    module.forward = types.MethodType(lambda self, input: 100 * plain(input), module)
    patched, before = module.forward, module(x)
    plan = smelt.torch.compile_module(module, x)
    torch.testing.assert_close(plan.session().run(input=x)["output"], before)
    assert module.forward is patched
    torch.testing.assert_close(module(x), before)


class Storing(nn.Module):
    """Its forward stores what it sees."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.calls, self.last, self.seen, self.kept = 0, None, [], {}

    def forward(self, x):
        self.calls += 1
        self.last = self.kept["x"] = x
        self.seen.append(x)
        return self.layer(x)


class Failing(Storing):
    def forward(self, x):
        self.calls += 1
        self.kept["calls"] = self.calls
        self.layer.train(not self.layer.training)
        torch.set_default_dtype(torch.float64)
        warnings.simplefilter("error")
        raise self.problem("mine")


def state_of(module):
    kept = [{n: (id(v), repr(v)[:80]) for n, v in part.__dict__.items()} for part in module.modules()]
    modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype()
    return kept, modes, list(warnings.filters), torch.get_rng_state().tolist()


def test_the_module_is_afterwards_what_it_was():
    module = Storing().train()
    before = state_of(module)
    plan = smelt.torch.compile_module(module, torch.ones(2, 4))
    assert state_of(module) == before
    torch.testing.assert_close(plan.session().run(x=torch.ones(2, 4))["output"], module(torch.ones(2, 4)))


@pytest.mark.parametrize("problem", (ValueError, KeyboardInterrupt))
def test_an_error_leaves_nothing_behind(problem):
    module, x = Failing(), torch.ones(2, 4)
    module.problem = problem
    before = state_of(module)
    with pytest.raises(smelt.Error if problem is ValueError else problem, match="mine"):
        smelt.torch.compile_module(module, x)
    assert state_of(module) == before
    smelt.torch.compile_module(nn.Linear(4, 3), x)


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_eight_threads_compile():
    x, found = torch.ones(2, 4), {}

    def work(i):
        try:
            module = nn.Linear(4, 3 + i)
            plan = smelt.torch.compile_module(module, x, no_plan_cache=True)
            found[i] = (plan.session().run(input=x)["output"] - module(x)).abs().max().item()
        except BaseException as problem:
            found[i] = problem

    in_threads(8, work)
    assert all(isinstance(d, float) and d < 1e-5 for d in found.values()), found
    smelt.torch.compile_module(nn.Linear(4, 3), x)


def test_the_backend_and_compile_module_in_threads():
    x, found = torch.ones(2, 4), {}

    def work(i):
        try:
            module = nn.Linear(4, 3 + i)
            if i % 2:
                y = torch.compile(module, backend=smelt.torch.backend.smelt_backend)(x)
            else:
                y = smelt.torch.compile_module(module, x).session().run(input=x)["output"]
            found[i] = (y - module(x)).abs().max().item()
        except BaseException as problem:
            found[i] = problem

    in_threads(6, work)
    assert all(isinstance(d, float) and d < 1e-5 for d in found.values()), found


class Equal(nn.Linear):
    __hash__ = None

    def __eq__(self, other):
        return True


@pytest.mark.parametrize("wrap", (lambda m: m, lambda m: nn.Sequential(m)))
def test_a_module_without_a_hash_is_named(wrap):
    with pytest.raises(smelt.Error, match="Equal, which has __eq__ and no __hash__"):
        smelt.torch.compile_module(wrap(Equal(4, 3)), torch.ones(2, 4))


WRAPPERS = {
    "compiled": lambda m: torch.compile(m, backend="eager"),
    "parallel": nn.DataParallel,
    "both": lambda m: torch.compile(nn.DataParallel(m), backend="eager"),
}


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_wrapped_modules_are_compiled(wrap):
    module, x = nn.Linear(4, 3), torch.ones(2, 4)
    plan = smelt.torch.compile_module(wrap(module), x)
    assert plan.module is module
    torch.testing.assert_close(plan.session().run(input=x)["output"], module(x))
    inside = nn.Sequential(wrap(nn.Linear(4, 3)), nn.ReLU())
    torch.testing.assert_close(smelt.torch.compile_module(inside, x).session().run(input=x)["output"], inside(x))


def test_modules_that_are_compiled_in_place_are_traced():
    module, x = nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.ones(2, 4)
    smelt.replace_layers(module, layers=["0"])
    compiled = module[0]._compiled_call_impl
    found = smelt.torch.compile_module(module, x).session().run(input=x)["output"]
    torch.testing.assert_close(found, module[1](module[0].forward(x)))
    assert module[0]._compiled_call_impl is compiled


def test_plans_and_sessions_say_whether_they_can_be_copied(tmp_path):
    plan = smelt.torch.compile_module(nn.Linear(4, 3), torch.ones(2, 4))
    assert copy.copy(plan) is plan and copy.deepcopy(plan) is plan
    with pytest.raises(TypeError, match="plan.save"):
        pickle.dumps(plan)
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="plan.session"):
            copied(plan.session())
    plan.save(tmp_path / "a.plan")
    again = pickle.loads(pickle.dumps(smelt.load(tmp_path / "a.plan")))
    assert again.entries == plan.entries and again.bounds == plan.bounds


# ---- limits of time


class Sleepy(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(200))

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
            time.sleep(0.05)
        return x


def test_a_limit_of_time_names_the_phase():
    begin = time.monotonic()
    with pytest.raises(smelt.Error, match="compiling Sleepy .* time_limit=0.2 seconds while tracing the module"):
        smelt.torch.compile_module(Sleepy(), torch.ones(2, 4), time_limit=0.2)
    assert time.monotonic() - begin < 9  # of 10
    assert not torch.nn.modules.module._global_forward_pre_hooks
    for limit in (0, -1, "soon", True, float("nan")):
        with pytest.raises(smelt.Error, match="time_limit: .* a number of seconds above 0"):
            smelt.torch.compile_module(nn.Linear(4, 3), torch.ones(2, 4), time_limit=limit)
    smelt.torch.compile_module(nn.Linear(4, 3), torch.ones(2, 4), time_limit=600)


class Slow(nn.Module):
    """Functions alone, no parts."""

    def forward(self, x):
        for _ in range(200):
            x = torch.sin(x)
            time.sleep(0.05)
        return x


def test_a_limit_of_time_holds_within_a_forward():
    begin = time.monotonic()
    with pytest.raises(smelt.Error, match="time_limit=0.2 seconds while tracing the module"):
        smelt.torch.compile_module(Slow(), torch.ones(2, 4), time_limit=0.2)
    assert time.monotonic() - begin < 9


def test_a_limit_of_time_holds_while_operations_are_taken_apart(monkeypatch):
    begin, now = progress.Compilation.begin, [0.0]

    def late(self, name):
        begin(self, name)
        now[0] = 100.0 if name == "take apart" else 0.0

    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(progress.Compilation, "begin", late)
    with pytest.raises(smelt.Error, match="time_limit=50 seconds while taking its operations apart"):
        smelt.torch.compile_module(nn.Linear(4, 3), torch.ones(2, 4), time_limit=50)


@pytest.mark.parametrize("step", ("trace", "take apart", "import", "entries", "simplify", "fuse", "lower", "emit"))
def test_any_step_can_be_interrupted(step, monkeypatch):
    begin = progress.Compilation.begin

    def interrupted(self, name):
        begin(self, name)
        if name == step:
            raise KeyboardInterrupt

    module, x = nn.Linear(4, 3), torch.ones(2, 4)
    with monkeypatch.context() as patch:
        patch.setattr(progress.Compilation, "begin", interrupted)
        with pytest.raises(KeyboardInterrupt):
            smelt.torch.compile_module(module, x, no_plan_cache=True)
    torch.testing.assert_close(smelt.torch.compile_module(module, x).session().run(input=x)["output"], module(x))


def test_a_limit_ends_the_compiler_between_two_passes(monkeypatch):
    now = iter([0.0] * 4)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now, 100.0))
    with pytest.raises(smelt.Error, match="time_limit=50 seconds while"):
        smelt.torch.compile_module(nn.Linear(4, 3), torch.ones(2, 4), no_plan_cache=True, time_limit=50)
