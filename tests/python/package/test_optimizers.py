"""Twenty updates of every rule, against its reference: of PyTorch, of the authors' package, or of the paper's formula."""

import math

import numpy
import pytest

import smelt
from conftest import read_safetensors
from smelt.torch.compile import compile_text

torch = pytest.importorskip("torch")

STEPS, RATE = 20, 3e-3
SHAPES = {
    "embed.weight": (6, 5),
    "h.0.up.weight": (24, 10),
    "h.0.bias": (11,),
    "h.1.down.weight": (10, 24),
    "h.1.up.weight": (24, 10),
    "h.1.bias": (11,),
    "head.weight": (7, 9),
}
HIDDEN = [name for name in SHAPES if ".up." in name or ".down." in name]


def program() -> str:
    """The loss is the sum of all parameters times inputs, so the inputs are the gradients. Matrices of layers are read
    by products, and the product with the head depends on all of them."""
    lines, declarations, inputs, total = [], [], [], None
    for i, (name, shape) in enumerate(SHAPES.items()):
        form = "f32[" + ",".join(str(n) for n in shape) + "]"
        decay = "" if len(shape) > 1 else " {decay = false}"
        declarations.append(f'parameter "{name}"{decay} : {form}')
        inputs.append(f"%g{i}: {form}")
        lines.append(f'%p{i} = parameter "{name}" : {form}')
        gradient = f"%g{i}"
        if name == "head.weight":
            lines += [f"%tiny = constant {{value = 1e-30}} : f32[]", f"%kept = mul {total}, %tiny : f32[]"]
            lines += [f"%all = broadcast %kept {{axes = []}} : {form}", f"%gh = add %g{i}, %all : {form}"]
            lines += [f'%head = matmul %gh, %p{i} {{spec = "ab,ab->"}} : f32[]']
            lines += [f"%loss = add {total}, %head : f32[]"]
        elif name in HIDDEN:
            lines.append(f'%s{i} = matmul {gradient}, %p{i} {{spec = "ab,ab->"}} : f32[]')
        else:
            lines.append(f"%m{i} = mul {gradient}, %p{i} : {form}")
            axes = ", ".join(str(axis) for axis in range(len(shape)))
            lines.append(f"%s{i} = reduce add %m{i} {{axes = [{axes}]}} : f32[]")
        if name != "head.weight":
            lines.append(f"%t{i} = add {total}, %s{i} : f32[]" if total else f"%t{i} = add %s{i}, %s{i} : f32[]")
            if not total:
                lines[-1] = ""
            total = f"%t{i}" if total else f"%s{i}"
    lines += ["%one = constant {value = 1.0} : f32[]", "return loss_sum = %loss, token_count = %one"]
    body = "\n".join("  " + line for line in lines if line)
    return "\n".join(declarations) + f"\ngraph @loss({', '.join(inputs)}) {{\n{body}\n}}\n"


def draws(seed):
    rng = numpy.random.default_rng(seed)
    return {name: rng.standard_normal(shape).astype(numpy.float32) for name, shape in SHAPES.items()}


def session_of(**options):
    plan = compile_text(program(), mode="train", no_plan_cache=True, **{"weight_decay": 0.0, **options})
    session = plan.session(from_scratch=True)
    session.load_state_dict(draws(0))
    return session


def trained(session, steps=STEPS, rate=RATE, first=0):
    for step in range(first, first + steps):
        gradients = draws(100 + step)
        session.step(lr=rate, **{f"g{i}": gradients[name] for i, name in enumerate(SHAPES)})
    return session


def weights(session):
    return {name: numpy.asarray(value, numpy.float64) for name, value in session.state_dict().items()}


def reference(optimizers, steps=STEPS):
    """The parameters after updates in float64. `optimizers`: from parameters by name to optimisers."""
    parameters = {name: torch.nn.Parameter(torch.tensor(value).double()) for name, value in draws(0).items()}
    rules = optimizers(parameters)
    for step in range(steps):
        for name, gradient in draws(100 + step).items():
            parameters[name].grad = torch.tensor(gradient).double()
        for rule in rules:
            rule.step()
    return parameters


def expect_equal(found, expected):
    for name, value in expected.items():
        value = value.detach().numpy()
        assert numpy.linalg.norm(found[name] - value) < 1e-6 * numpy.linalg.norm(value), name


def groups(parameters, decay, matrices=()):
    """Parameters with and without decay, as Smelt's option decay=declared has them."""
    decayed = [p for name, p in parameters.items() if p.ndim > 1 and name not in matrices]
    others = [p for name, p in parameters.items() if p.ndim == 1]
    return [{"params": decayed, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


class Lion(torch.optim.Optimizer):
    """Program 1 of arXiv:2302.06675."""

    def __init__(self, params, lr, betas=(0.9, 0.99), weight_decay=0.0):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("m", torch.zeros_like(p))
                direction = torch.sign(first * m + (1 - first) * p.grad)
                p.sub_(group["lr"] * (direction + group["weight_decay"] * p))
                m.mul_(second).add_(p.grad, alpha=1 - second)


def orthogonalized(x):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = x / x.norm().clamp(min=1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x


class NorMuon(torch.optim.Optimizer):
    """Algorithm 1 of arXiv:2510.05491, with the norm and the factors of the authors' normuon.py."""

    def __init__(self, params, lr, weight_decay, momentum=0.95, beta2=0.95):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "momentum": momentum, "beta2": beta2})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("m", torch.zeros_like(p))
                v = state.setdefault("v", torch.zeros_like(p[:, :1]))
                m.lerp_(p.grad, 1 - group["momentum"])
                o = orthogonalized(p.grad.lerp(m, group["momentum"]))
                v.lerp_((o * o).mean(dim=1, keepdim=True), 1 - group["beta2"])
                rows = o / (v.sqrt() + 1e-10)
                rows = rows * (o.norm() / (rows.norm() + 1e-10)) * max(1, p.size(0) / p.size(1)) ** 0.5
                p.mul_(1 - group["lr"] * group["weight_decay"]).sub_(rows, alpha=group["lr"])


def test_lion():
    found = trained(session_of(optimizer="lion", weight_decay=0.1))
    expect_equal(weights(found), reference(lambda p: [Lion(groups(p, 0.1), RATE)]))


@pytest.fixture
def in_float64(monkeypatch):
    """torch.optim.Muon rounds to bfloat16; here it computes in the type of the gradient."""
    to = torch.Tensor.to

    def kept(tensor, *types, dtype=None, **options):
        return to(tensor, *types, dtype=None if dtype == torch.bfloat16 else dtype, **options)

    monkeypatch.setattr(torch.Tensor, "to", kept)


@pytest.mark.parametrize("form, torchs", [("match-rms", "match_rms_adamw"), ("original", "original")])
def test_muon(in_float64, form, torchs):
    def rules(p):
        matrices = torch.optim.Muon([p[name] for name in HIDDEN], RATE, 0.1, adjust_lr_fn=torchs)
        return [matrices, torch.optim.AdamW(groups(p, 0.1, HIDDEN), RATE * 0.5, foreach=False)]

    found = trained(session_of(optimizer="muon", weight_decay=0.1, matrix_lr=form, adamw_lr=0.5))
    expect_equal(weights(found), reference(rules))


def test_normuon():
    def rules(p):
        others = torch.optim.AdamW(groups(p, 0.1, HIDDEN), RATE, betas=(0.9, 0.95), foreach=False)
        return [NorMuon([p[name] for name in HIDDEN], RATE, 0.1), others]

    found = trained(session_of(optimizer="normuon", weight_decay=0.1, matrix_lr="original"))
    expect_equal(weights(found), reference(rules))


def test_adafactor():
    def rules(p):
        least = (float(numpy.finfo(numpy.float32).eps), 1e-3)
        return [torch.optim.Adafactor(groups(p, 0.1), RATE, eps=least, foreach=False)]

    found = trained(session_of(optimizer="adafactor", weight_decay=0.1))
    expect_equal(weights(found), reference(rules))


class ScheduleFreeAdamW(torch.optim.Optimizer):
    """Algorithm 1 of arXiv:2405.15682, with all three sequences; `p` is y."""

    def __init__(self, params, lr, weight_decay=0.0, betas=(0.9, 0.999)):
        super().__init__(params, {"lr": lr, "weight_decay": weight_decay, "betas": betas})
        self.steps, self.weights = 0, 0.0

    @torch.no_grad()
    def step(self):
        self.steps += 1
        self.weights += self.defaults["lr"] ** 2
        share = self.defaults["lr"] ** 2 / self.weights
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                z, x, v = (state.setdefault(k, o.clone()) for k, o in (("z", p), ("x", p), ("v", torch.zeros_like(p))))
                v.mul_(second).addcmul_(p.grad, p.grad, value=1 - second)
                direction = p.grad / ((v / (1 - second**self.steps)).sqrt() + 1e-8) + group["weight_decay"] * p
                z.sub_(direction, alpha=group["lr"])
                x.lerp_(z, share)
                p.copy_(z.lerp(x, first))


def test_schedule_free(tmp_path):
    rule = []

    def rules(p):
        rule.append(ScheduleFreeAdamW(groups(p, 0.1), RATE))
        return rule

    expected = reference(rules)
    found = trained(session_of(optimizer="schedule-free-adamw", weight_decay=0.1))
    expect_equal(weights(found), expected)
    expect_equal(saved(found, tmp_path), {name: rule[0].state[p]["x"] for name, p in expected.items()})


def test_schedule_free_as_the_package_of_its_authors():
    package = pytest.importorskip("schedulefree")
    theirs, ours = [], []

    def rules(p):
        theirs.append(package.AdamWScheduleFree(groups(p, 0.1), RATE, foreach=False))
        theirs[0].train()
        return theirs

    expected = reference(rules)
    theirs[0].eval()
    averaged = reference(lambda p: ours.append(ScheduleFreeAdamW(groups(p, 0.1), RATE)) or ours)
    expect_equal({n: ours[0].state[p]["x"].numpy() for n, p in averaged.items()}, expected)


class BlockMoment:
    """Numbers as indices into a table, by blocks of 256 with the largest magnitude as their scale."""

    def __init__(self, table, blocks):
        self.table = table
        self.codes, self.scales = numpy.zeros((blocks, 256), int), numpy.zeros((blocks, 1))

    def value(self):
        return self.table[self.codes] * self.scales

    def store(self, value):
        self.scales = numpy.abs(value).max(axis=1, keepdims=True)
        relative = value / numpy.where(self.scales > 0, self.scales, 1)
        self.codes = numpy.searchsorted((self.table[1:] + self.table[:-1]) / 2, relative)


def test_moments_of_8_bits():
    functional = pytest.importorskip("bitsandbytes.functional")
    tables = [functional.create_dynamic_map(signed=sign).double().numpy() for sign in (True, False)]
    session = session_of(optimizer="adamw8bit", weight_decay=0.1, decay="all")
    stored = session.state_dict(optimizer=True)
    blocks = numpy.asarray(stored["optimizer.adamw8bit.m.scales"]).shape[0]
    m, v = (BlockMoment(table, blocks) for table in tables)
    # The flat state: decayed parameters before the others, each at a multiple of 16.
    places, end = {}, 0
    for name in sorted(SHAPES, key=lambda n: len(SHAPES[n]) == 1):
        places[name], end = end, end + -(-math.prod(SHAPES[name]) // 16) * 16

    def flat(tensors):
        values = numpy.zeros(blocks * 256)
        for name, tensor in tensors.items():
            values[places[name] : places[name] + tensor.size] = tensor.ravel()
        return values.reshape(blocks, 256)

    p = flat(draws(0))
    for step in range(STEPS):
        g = flat(draws(100 + step))
        next_m, next_v = 0.9 * m.value() + 0.1 * g, 0.999 * v.value() + 0.001 * g * g
        corrections = 1 - 0.9 ** (step + 1), 1 - 0.999 ** (step + 1)
        p = p * (1 - RATE * 0.1) - RATE * next_m / corrections[0] / (numpy.sqrt(next_v / corrections[1]) + 1e-8)
        m.store(next_m), v.store(next_v)
    found = trained(session)
    stored = found.state_dict(optimizer=True)
    for moment, name in ((m, "m"), (v, "v")):
        codes = numpy.asarray(stored[f"optimizer.adamw8bit.{name}"]).astype(int) + 128
        assert (codes != moment.codes).mean() < 0.005  # a middle between two numbers of the table
    for name, value in weights(found).items():
        expected = p.ravel()[places[name] : places[name] + value.size].reshape(value.shape)
        assert numpy.linalg.norm(value - expected) < 1e-5 * numpy.linalg.norm(expected), name


def saved(session, directory):
    session.save_weights(directory / "saved.safetensors")
    return {name: value.astype(numpy.float64) for name, value in read_safetensors(directory / "saved.safetensors").items()}


def test_a_running_mean_of_the_parameters(tmp_path):
    parameters = {name: torch.nn.Parameter(torch.tensor(value).double()) for name, value in draws(0).items()}
    mean = {name: p.detach().clone() for name, p in parameters.items()}
    rule = torch.optim.AdamW(parameters.values(), RATE, weight_decay=0.0, foreach=False)
    for step in range(STEPS):
        for name, gradient in draws(100 + step).items():
            parameters[name].grad = torch.tensor(gradient).double()
        rule.step()
        for name, p in parameters.items():
            mean[name].lerp_(p.detach(), 1 - 0.9)
    session = trained(session_of(ema=0.9))
    expect_equal(weights(session), parameters)
    expect_equal(saved(session, tmp_path), mean)
    gradients = draws(5)
    loss = session.run("evaluate", **{f"g{i}": gradients[name] for i, name in enumerate(SHAPES)})["loss_sum"]
    expected = sum(float((mean[name] * torch.tensor(gradients[name]).double()).sum()) for name in SHAPES)
    assert math.isclose(float(numpy.asarray(loss)), expected, rel_tol=1e-5, abs_tol=1e-4)


def test_other_weights_begin_a_new_mean(tmp_path):
    session = trained(session_of(ema=0.9))
    given = draws(1)
    session.load_state_dict(given)
    found = saved(session, tmp_path)
    assert all(numpy.array_equal(found[name], given[name].astype(numpy.float32)) for name in given)


def test_two_averages_are_refused():
    with pytest.raises(smelt.Error, match="schedule-free-adamw has an average of its own"):
        session_of(optimizer="schedule-free-adamw", ema=0.9)


def test_matrices_that_adamw_updates(in_float64):
    def rules(p):
        matrices = torch.optim.Muon([p[HIDDEN[0]]], RATE, 0.0, adjust_lr_fn="match_rms_adamw")
        return [matrices, torch.optim.AdamW(groups(p, 0.0, HIDDEN[:1]), RATE, foreach=False)]

    found = trained(session_of(optimizer="muon", adamw_for=["h.1.*"]))
    expect_equal(weights(found), reference(rules))


def test_factors_of_rates_and_of_decay():
    factors = {name: 0.25 if name == "h.1.bias" else 2 if "bias" in name else 1 for name in SHAPES}
    decays = {name: 0.1 if len(shape) > 1 else 0.0 for name, shape in SHAPES.items()}
    decays.update({"head.weight": 0.05, "h.0.bias": 0.3})

    def rules(p):
        each = [{"params": [p[n]], "lr": RATE * factors[n], "weight_decay": decays[n]} for n in SHAPES]
        return [torch.optim.AdamW(each, RATE, foreach=False)]

    found = session_of(weight_decay=0.1, lr_of=["*.bias=2", "h.1.bias=0.25"], decay_of=["head.*=0.5", "h.0.bias=3"])
    expect_equal(weights(trained(found)), reference(rules))


def test_layers_learn_at_decaying_rates():
    depth = {name: 0 if "embed" in name else 3 if "head" in name else int(name[2]) + 1 for name in SHAPES}

    def rules(p):
        each = [{"params": [p[n]], "lr": RATE * 0.5 ** (3 - depth[n]), "weight_decay": 0.0} for n in SHAPES]
        return [torch.optim.AdamW(each, RATE, foreach=False)]

    expect_equal(weights(trained(session_of(layer_decay=0.5))), reference(rules))


def test_a_pattern_that_fits_nothing():
    with pytest.raises(smelt.Error, match=r"no parameter has a name that fits \*\.scale"):
        session_of(lr_of=["*.scale=2"])
    with pytest.raises(smelt.Error, match=r"'\*\.bias', expected PATTERN=FACTOR"):
        session_of(lr_of=["*.bias"])


RULES = ["sgd", "momentum", "adagrad", "adam", "adamw", "lamb", "lion", "muon", "normuon", "adafactor"]
RULES += ["schedule-free-adamw", "adamw8bit"]


@pytest.mark.parametrize("options", [{"optimizer": rule} for rule in RULES] + [{"ema": 0.9}], ids=str)
def test_a_state_goes_on_to_the_same_bits(options, tmp_path):
    whole = trained(session_of(**options))
    first, second = trained(session_of(**options), STEPS // 2), session_of(**options)
    second.load_state_dict(first.state_dict(optimizer=True))
    trained(second, STEPS - STEPS // 2, first=STEPS // 2)
    expected, found = whole.state_dict(), second.state_dict()
    assert all(numpy.array_equal(expected[name].numpy(), found[name].numpy()) for name in expected)
    expected, found = saved(whole, tmp_path), saved(second, tmp_path)
    assert all(numpy.array_equal(expected[name], found[name]) for name in expected)


@pytest.mark.parametrize("rule", RULES)
def test_parts_of_a_batch_make_the_same_update(rule):
    whole, parts = session_of(optimizer=rule, clip=1.0), session_of(optimizer=rule, clip=1.0)
    for step in range(3):
        gradients = draws(100 + step)
        given = {f"g{i}": gradients[name] for i, name in enumerate(SHAPES)}
        whole.step(lr=RATE, **given)
        for _ in range(2):
            parts.accumulate(**given)
        parts.apply(lr=RATE)
    expect_equal(weights(parts), {name: torch.tensor(value) for name, value in weights(whole).items()})


def test_a_rule_refuses_what_it_does_not_read():
    with pytest.raises(smelt.Error, match="eps=1e-06 changes nothing with optimizer=lion"):
        session_of(optimizer="lion", eps=1e-6)
    with pytest.raises(smelt.Error, match="matrix_lr=original changes nothing with optimizer=adamw"):
        session_of(matrix_lr="original")


@pytest.mark.parametrize(
    "options, message",
    [
        ({"optimizer": "muon"}, "optimizer=.?muon needs whole matrices"),
        ({"optimizer": "adafactor"}, "optimizer=.?adafactor needs whole matrices"),
        ({"optimizer": "schedule-free-adamw"}, "optimizer=.?schedule-free-adamw needs averaged parameters"),
        ({"ema": 0.9}, "ema=0.9 needs averaged parameters"),
    ],
)
def test_states_in_parts_are_refused(options, message):
    with pytest.raises(smelt.Error, match=message):
        compile_text(program(), mode="train", mesh="data=2", zero=1, **options)


OBJECTS = [
    smelt.AdamW8bit(RATE),
    smelt.Lion(RATE, lr_of={"*.bias": 2.0}, decay_of={"*.bias": 0.0}),
    smelt.Muon(RATE, adamw_for=["2.*"], layer_decay=0.9),
    smelt.NorMuon(RATE, matrix_lr="original"),
    smelt.Adafactor(RATE, ema=0.9),
    smelt.ScheduleFreeAdamW(RATE),
]


@pytest.mark.parametrize("rule", OBJECTS, ids=lambda rule: rule.rule)
def test_modules_of_pytorch_train(rule):
    import smelt.torch

    class Loss(torch.nn.Sequential):
        def forward(self, x, y):
            return {"loss": torch.nn.functional.mse_loss(super().forward(x), y)}

    torch.manual_seed(0)
    layers = [torch.nn.Linear(8, 16), torch.nn.Tanh(), torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4)]
    x, y = torch.randn(32, 8), torch.randn(32, 4)
    plan = smelt.torch.compile_module(Loss(*layers), {"x": x, "y": y}, mode="train", loss="loss", optimizer=rule)
    session = plan.session()
    losses = [session.step(x=x, y=y).loss for _ in range(30)]
    assert losses[-1] < losses[0]
