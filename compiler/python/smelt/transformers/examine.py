"""One class of models in the exam: outputs, generated tokens, gradients and losses next to those of eager PyTorch."""

from __future__ import annotations

import copy
import functools
import time
from typing import Any, Callable, Iterator, Optional, Sequence

import torch
from transformers import GenerationConfig

import smelt
import smelt.torch

from ..torch.backend import BEHIND_DIFFERENTIATION
from ..torch.capture import named_tensors
from ..torch.compile import compile_text, import_module
from ..torch.session import ModulePlan
from .forms import Batches
from .inputs import Maker, Unknown, first_that_runs
from .labels import labelled
from .results import is_decoder
from .shrink import PROFILES, small_config
from .weights import randomize, with_fixed_norms, without_dropout

SAMPLE = {"B": 3, "T": 11, "S": 10}
OTHERS = ({"B": 5, "T": 17, "S": 12}, {"B": 2, "T": 24, "S": 13})
"""Sizes that are never traced."""
LARGEST = {"B": 6, "T": 32, "S": 16}
SHORTEST = 9
"""The least length where a model needs one: more than the small numbers of its configuration, such as a window."""
TOLERANCE = 1e-4
UNTRACED = "cannot be exported"
"""In refusals of what torch.export does not trace."""
NEW_TOKENS = 8
MOST_WEIGHTS = 130_000_000
RATE = 1e-3
MOVES, ROUNDINGS = 8, 2**-22
"""Draws of inputs and weights that differ by rounding, and by how much of themselves."""

Report = Callable[[str, dict[str, Any]], None]
"""Takes the name of a part and its outcome."""


class Wrong(Exception):
    """Numbers that differ from eager PyTorch's."""


# ---- the model


def built(model_class: type) -> tuple[Optional[torch.nn.Module], Optional[Batches], str]:
    """A small model with random weights and the inputs that it takes, or why there is none."""
    complaint = ""
    for profile in PROFILES:
        try:
            model = constructed(model_class, profile)
            batches, why = first_that_runs(model, SAMPLE)
        except Unknown as problem:
            return None, None, f"input '{problem}' is not known to the exam"
        except Exception as problem:
            batches, why = None, f"{type(problem).__name__}: {problem}"
        if batches is not None:
            return model, batches, ""
        complaint = complaint or why
    return None, None, complaint


def constructed(model_class: type, profile: str) -> torch.nn.Module:
    config = small_config(model_class.config_class, profile, model=model_class.__name__)
    if is_decoder(model_class.__name__) and hasattr(config, "is_decoder"):
        config.is_decoder = True
    with torch.device("meta"):
        count = sum(p.numel() for p in model_class(config).parameters())
    if count > MOST_WEIGHTS:
        raise ValueError(f"the small model has {count / 1e6:.0f} million weights")
    torch.manual_seed(0)
    return randomize(without_dropout(model_class(config).float().eval()))


# ---- comparisons


def difference(found: torch.Tensor, expected: torch.Tensor, exact: Optional[torch.Tensor] = None) -> str:
    """Empty where every element is within the tolerance, relative to it or to the tensor's root mean square, or within
    ten times the error of PyTorch's own float32 in its row, such as a row of attention that sees padding alone.
    `exact`: what PyTorch computes in float64; integers that float64 makes others of are not compared."""
    if found.shape != expected.shape:
        return f"the shape {list(found.shape)}, expected {list(expected.shape)}"
    exact = expected if exact is None or exact.shape != expected.shape else exact
    if not expected.is_floating_point():
        wrong = (found != expected) & (exact == expected)
        return f"{int(wrong.sum())} of {expected.numel()} elements differ" if wrong.any() else ""
    found, expected, exact = found.double(), expected.double(), exact.double()
    finite = expected[expected.isfinite()]
    usual = float(finite.square().mean().sqrt()) if finite.numel() else 1.0
    rounding = 10 * (expected - exact).abs().nan_to_num(0.0)
    rounding = rounding.amax(-1, keepdim=True) if rounding.dim() else rounding
    close = (found - expected).abs() <= torch.maximum(TOLERANCE * (expected.abs() + usual), rounding)
    wrong = ~(close | (found == expected) | (found.isnan() & expected.isnan()))
    if not wrong.any():
        return ""
    largest = float((found - expected)[wrong].abs().max())
    return f"{int(wrong.sum())} of {wrong.numel()} elements, by up to {largest:.1e} (typical value {usual:.1e})"


Tensors = dict[str, torch.Tensor]


def check(
    found: Tensors,
    expected: Tensors,
    where: str,
    exact: Callable[[], Tensors] = dict,
    moved: Sequence[Callable[[], Tensors]] = (),
) -> int:
    """Returns how many tensors with a float other than 0 were compared. Throws Wrong. `exact` is asked for where there
    is a difference, and `moved` where it is one of integers: those that another rounding or another choice of PyTorch
    makes others of, such as the order of two equal scores, are not compared."""
    compared = 0
    for name in [name for name in found if name in expected]:
        value, own = found[name], expected[name]
        others = [exact] if own.is_floating_point() else [exact, *moved]
        if difference(value, own) and all(difference(value, own, other().get(name)) for other in others):
            raise Wrong(f"{name} at {where}: {difference(value, own, exact().get(name))}")
        compared += value.is_floating_point() and bool(expected[name].isfinite().all()) and bool(expected[name].any())
    return compared


def tensors_of(batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: value for name, value in batch.items() if isinstance(value, torch.Tensor)}


def eager(model: torch.nn.Module, batch: dict[str, Any]) -> dict[str, torch.Tensor]:
    with torch.no_grad():
        return named_tensors(model(**batch))


def in_double(model: torch.nn.Module, batch: dict[str, Any]) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The model and the batch in float64."""
    doubles = {n: x.double() if isinstance(x, torch.Tensor) and x.is_floating_point() else x for n, x in batch.items()}
    exact = copy.deepcopy(model).double()
    if exact._can_set_experts_implementation():
        exact.set_experts_implementation("eager")  # products of groups are of float32 and less alone
    return exact, doubles


def exactly(compute: Callable[..., Tensors], model: torch.nn.Module, batch: dict[str, Any]) -> Tensors:
    """What PyTorch computes in float64; nothing where the model's own code cannot."""
    try:
        return compute(*in_double(model, batch))
    except Exception:
        return {}


# ---- sizes that change


def choices(names: tuple[str, ...], refusal: Callable[[], str]) -> Iterator[dict[str, int]]:
    """The sizes that change, with their least values: all sizes; all but short ones, where the refusal asks for a least
    size; then fewer, for models whose code fixes some of them."""
    yield dict.fromkeys(names, 1)
    if "min=" in refusal():
        yield {name: 1 if name == "B" else SHORTEST for name in names}
    if len(names) > 1:
        yield {"B": 1}
        yield {name: 1 for name in names if name != "B"}


def sizes_for(chosen: str, sizes: dict[str, int]) -> dict[str, int]:
    return {name: sizes[name] if name in chosen else SAMPLE[name] for name in sizes}


def fitting(
    batches: Batches, sizes: dict[str, int], run: Callable[[dict[str, Any]], Any]
) -> tuple[dict[str, Any], Any]:
    """The batch of these sizes and what `run` returns of it, or of the next longer ones where the model's code is for
    multiples alone."""
    for more in range(LARGEST["T"] - sizes["T"]):
        batch = batches.make({**sizes, "T": sizes["T"] + more})
        try:
            return batch, run(tensors_of(batch))
        except smelt.Error as refusal:
            if "multiple of" not in str(refusal):
                raise
    batch = batches.make(sizes)
    return batch, run(tensors_of(batch))


def with_most_sizes(names: tuple[str, ...], attempt: Callable[[dict[str, int]], Any]) -> tuple[Any, dict[str, Any]]:
    """The first attempt that is not refused, with its sizes, and why others do not change. If all are refused, throws
    what Smelt does not have, or else the first refusal."""
    refusals: list[smelt.Error] = []
    for least in choices(names, lambda: str(refusals[-1])):
        try:
            result = attempt(least)
        except smelt.Error as refusal:
            refusals.append(refusal)
            continue
        return result, {"sizes": "".join(least), **({"fixed": str(refusals[0])} if len(least) < len(names) else {})}
    if not refusals:
        raise smelt.Error("no size of the inputs may change")
    raise next((each for each in refusals if UNTRACED not in str(each)), refusals[0])


# ---- the parts


def examine(model_class: type, report: Report, train: bool, limit: float) -> None:
    """Reports each part as soon as it is known: "build", "forward", "generate", "train"."""
    model, batches, why = built(model_class)
    if model is None or batches is None:
        report("build", {"kind": "not built", "note": why})
        return
    weights = sum(p.numel() for p in model.parameters())
    report("build", {"kind": "right", "weights": weights, "inputs": list(batches.forms)})
    plan = guarded("forward", report, lambda: forward(model, batches, limit), lambda: exports(model, batches))
    if plan is not None and generates(model, batches):
        guarded("generate", report, lambda: generate(model, plan, batches))
    targets = labelled(Maker(model), batches) if train else None
    if targets is not None:
        guarded("train", report, lambda: training(model, targets, limit), lambda: exports(model, targets))


def guarded(
    part: str,
    report: Report,
    run: Callable[[], tuple[dict[str, Any], Any]],
    exported: Callable[[], bool] = lambda: True,
) -> Any:
    """The outcome of a part, refused and wrong ones too. `exported` is asked for where tracing fails: a model that
    PyTorch's own export does not take is not refused by Smelt."""
    begun = time.perf_counter()
    result = None
    try:
        outcome, result = run()
    except Wrong as fault:
        outcome = {"kind": "wrong", "note": str(fault)}
    except smelt.Error as refusal:
        is_traced = UNTRACED not in str(refusal) or exported()
        outcome = {"kind": "refused" if is_traced else "not exported", "note": str(refusal)}
    except Exception as problem:
        outcome = {"kind": "crash", "note": f"{type(problem).__name__}: {problem}"}
    report(part, {**outcome, "seconds": round(time.perf_counter() - begun, 2)})
    return result


def exports(model: torch.nn.Module, batches: Batches) -> bool:
    """Whether PyTorch's own export takes the model, with any of the sizes that may change."""
    bounds, sample = batches.bounds(LARGEST), batches.make(SAMPLE)
    for least in choices(batches.names(), str):
        named = batches.dynamic_shapes(least)
        dims = {name: torch.export.Dim(name, max=bounds[name]) for dims in named.values() for name in dims.values()}
        shapes = {name: {i: dims[dim] for i, dim in axes.items()} for name, axes in named.items()}
        try:
            torch.export.export(model, (), sample, dynamic_shapes={n: shapes.get(n) for n in sample}, strict=False)
            return True
        except Exception:  # of PyTorch or of the model's code
            continue
    return False


def forward(model: torch.nn.Module, batches: Batches, limit: float) -> tuple[dict[str, Any], Any]:
    sample = batches.make(SAMPLE)

    def attempt(least: dict[str, int]) -> tuple[Any, float]:
        begun = time.perf_counter()
        plan = smelt.torch.compile_module(
            model,
            sample,
            dynamic_shapes=batches.dynamic_shapes(least),
            max=batches.bounds(LARGEST),
            no_plan_cache=True,
            time_limit=limit,
        )
        return plan, time.perf_counter() - begun

    (plan, seconds), changing = with_most_sizes(batches.names(), attempt)
    session = plan.session()
    for sizes in OTHERS:
        batch, found = fitting(batches, sizes_for(changing["sizes"], sizes), lambda batch: session.run(**batch))
        expected = eager(model, batch)
        if draws(expected, eager(model, batch)):
            return {"kind": "empty", "note": "the model draws random numbers, so that its own outputs differ"}, None
        where, exact = str(sizes_for(changing["sizes"], sizes)), functools.partial(exactly, eager, model, batch)
        others = [functools.partial(moved_outputs, model, batch, seed) for seed in range(MOVES)]
        if not check(found, expected, where, exact, [*others, functools.partial(turned_outputs, model, batch, expected)]):
            return {"kind": "empty", "note": "no output has a finite float other than 0"}, None
    return {"kind": "right", "compile": round(seconds, 2), **changing}, plan


def draws(outputs: Tensors, again: Tensors) -> bool:
    return any(not torch.equal(x.nan_to_num(), again[name].nan_to_num()) for name, x in outputs.items())


def generates(model: torch.nn.Module, batches: Batches) -> bool:
    """Whether it is a decoder of text alone, which generates from its logits."""
    is_encoder_decoder = (
        getattr(model.config, "is_encoder_decoder", False) and "decoder_input_ids" in Maker(model).parameters
    )
    is_text = not is_encoder_decoder and set(batches.forms) <= {"input_ids", "attention_mask"}
    return is_decoder(type(model).__name__) and is_text and model.can_generate()


def generate(model: torch.nn.Module, plan: Any, batches: Batches) -> tuple[dict[str, Any], Any]:
    """Greedy tokens of the plan, which reads all tokens again for each new one, and of Hugging Face's generate(), which
    keeps a cache. Where these differ from those of the model's own forward on all tokens, the latter count."""
    prompt = batches.make(SAMPLE)["input_ids"][:, : SAMPLE["T"] - NEW_TOKENS]
    model.generation_config = GenerationConfig(max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=0)
    session, names = plan.session(), set(plan.program.inputs)
    found = greedy(prompt, lambda batch: session.run(**{name: batch[name] for name in names})["logits"])
    try:
        if torch.equal(found, model.generate(prompt, attention_mask=torch.ones_like(prompt))):
            return {"kind": "right"}, None
        note = "generate() gives other tokens than forward on all tokens"
    except Exception as problem:
        note = f"generate() fails, and forward on all tokens was compared: {type(problem).__name__}: {problem}"
    with torch.no_grad():
        again = greedy(prompt, lambda batch: model(**batch, **batches.constants).logits)
    if not torch.equal(found, again):
        raise Wrong(f"{int((found != again).sum())} of {NEW_TOKENS * len(prompt)} tokens differ")
    return {"kind": "right", "note": note}, None


def greedy(prompt: torch.Tensor, logits_of: Callable[[dict[str, torch.Tensor]], torch.Tensor]) -> torch.Tensor:
    """The prompt with new tokens. Each forward has the sample's length; what is behind the tokens is masked."""
    ids = torch.nn.functional.pad(prompt, (0, NEW_TOKENS))
    for place in range(prompt.shape[1], ids.shape[1]):
        mask = (torch.arange(ids.shape[1]) < place).long().expand(ids.shape)
        ids[:, place] = logits_of({"input_ids": ids.clone(), "attention_mask": mask.clone()})[:, place - 1].argmax(-1)
    return ids


def training(model: torch.nn.Module, batches: Batches, limit: float) -> tuple[dict[str, Any], Any]:
    """Gradients of one batch, and the losses of three steps of AdamW."""
    with_fixed_norms(model)
    sample = batches.make(SAMPLE)
    begun = time.perf_counter()
    if fault := without_loss(model, sample):
        return {"kind": "no loss", "note": fault}, None
    program, changing = with_most_sizes(
        batches.names(),
        lambda least: limited_import(model, sample, batches.dynamic_shapes(least), batches.bounds(LARGEST)),
    )
    session = gradient_session(program)
    given = [
        fitting(batches, sizes_for(changing["sizes"], sizes), lambda batch: session.run("loss", **batch))[0]
        for sizes in (*OTHERS, SAMPLE)
    ]
    gradients(model, session, given[0])
    losses(model, program, given)
    return {"kind": "right", "compile": round(time.perf_counter() - begun, 2), **changing}, None


def without_loss(model: torch.nn.Module, sample: dict[str, Any]) -> str:
    """Why the model's own code returns no loss that can be compared; empty where it does."""
    try:
        loss, again = (getattr(model(**sample), "loss", None) for _ in range(2))
    except Exception as problem:
        return f"the model fails with these labels: {type(problem).__name__}: {problem}"
    if loss is None:
        return "the model returns no loss for these labels"
    if not bool(loss.isfinite().all()):
        return "the model's own loss is not finite for these labels"
    return "" if torch.equal(loss, again) else "the model draws random numbers in training, so that its own loss differs"


def limited_import(
    model: torch.nn.Module, sample: dict[str, Any], shapes: dict[str, Any], bounds: dict[str, int]
) -> Any:
    return import_module(model, sample, shapes, bounds, True, "loss", decay_all=True)


def gradient_session(program: Any) -> Any:
    """With the module's own weights."""
    passes = f"differentiate{{output=loss_sum}},{BEHIND_DIFFERENTIATION}"
    session = compile_text(program.text, mode="infer", pipeline=passes, no_plan_cache=True).session(from_scratch=True)
    session.load_state_dict({name: tensor.detach() for name, tensor in program.parameters.items()})
    return session


def gradients(model: torch.nn.Module, session: Any, batch: dict[str, Any]) -> None:
    """Throws Wrong where the session's differ from PyTorch's."""
    found = session.run("loss", **tensors_of(batch))
    expected = own_gradients(model, batch)
    count = float(found["token_count"])
    found = {name: torch.from_dlpack(value) / count for name, value in found.items() if name.startswith("grad.")}
    whole = {name: found[name] for name in expected if name in found}
    if missing := sorted(set(expected) - set(found)):
        raise Wrong(f"no gradient of {missing[0][5:]} and {len(missing) - 1} others")
    others = [(10, functools.partial(exactly, own_gradients, model, batch))]
    others += [(3, functools.partial(moved_gradients, model, batch, seed)) for seed in range(MOVES)]
    check_gradients(whole, expected, others)


def own_gradients(model: torch.nn.Module, batch: dict[str, Any]) -> Tensors:
    """What PyTorch computes, without gradients of zeros."""
    model.zero_grad()
    model(**batch).loss.backward()
    return {f"grad.{n}": p.grad for n, p in model.named_parameters() if p.grad is not None and p.grad.any()}


def moved_gradients(model: torch.nn.Module, batch: dict[str, Any], seed: int) -> Tensors:
    """The gradients after `moved`: the sign of what a rectifier reads near 0 may be another, and with it the gradient."""
    return own_gradients(*moved(model, batch, seed))


def turned_outputs(model: torch.nn.Module, batch: dict[str, Any], expected: Tensors) -> Tensors:
    """The outputs where torch.topk takes equal numbers in another order, which PyTorch leaves open. Rows with other
    integers for it are of -1, as there may be several orders."""

    def last_first(x: torch.Tensor, k: int, dim: int = -1, **options: Any) -> Any:
        values, places = own(x.flip(dim), k, dim, **options)
        return torch.return_types.topk((values, x.shape[dim] - 1 - places))

    own = torch.topk
    try:
        torch.topk = last_first
        found = eager(model, batch)
    finally:
        torch.topk = own
    other = {n: (x != expected[n]).any(-1, keepdim=True) for n, x in found.items() if x.dim() and not x.is_floating_point()}
    return {n: torch.where(other[n], -1, x) if n in other else x for n, x in found.items()}


def moved_outputs(model: torch.nn.Module, batch: dict[str, Any], seed: int) -> Tensors:
    return eager(*moved(model, batch, seed))


def moved(model: torch.nn.Module, batch: dict[str, Any], seed: int) -> tuple[torch.nn.Module, dict[str, Any]]:
    """The model and inputs that differ from these by a few roundings."""
    draws = torch.Generator().manual_seed(seed)

    def away(x: Any) -> Any:
        is_float = isinstance(x, torch.Tensor) and x.is_floating_point()
        return x * (1 + ROUNDINGS * torch.randn(x.shape, generator=draws)) if is_float else x

    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.copy_(away(parameter))
    return other, {name: away(x) for name, x in batch.items()}


def check_gradients(
    found: Tensors, expected: Tensors, others: Sequence[tuple[float, Callable[[], Tensors]]] = ()
) -> None:
    """Each within the tolerance of its own length, or of a thousandth of the longest's, which rounding reaches, or
    within a factor times the distance of another result of PyTorch. `others`: factors and results, which are asked for
    where there is a difference."""
    others = [(factor, functools.cache(other)) for factor, other in others]
    longest = max((float(g.norm()) for g in expected.values()), default=0.0)
    for name, gradient in expected.items():
        error, length = distance(found[name], gradient), float(gradient.norm())
        if error <= TOLERANCE * max(length, 1e-3 * longest):
            continue
        if not any(error <= factor * distance(other().get(name, gradient), gradient) for factor, other in others):
            raise Wrong(f"{name}: off by {error:.1e}, its length is {length:.1e}")


def distance(a: torch.Tensor, b: torch.Tensor) -> float:
    return float((a.double() - b.double()).norm())


def losses(model: torch.nn.Module, program: Any, given: list[dict[str, Any]]) -> None:
    """Throws Wrong where a loss differs by more than the tolerance, than ten times PyTorch's own error of float32, and
    than three times what it moves by when the first weights and the inputs do by a few roundings: AdamW's step has the
    sign of a gradient, however near to 0 it is."""
    rule = smelt.AdamW(weight_decay=0.01)
    plan = compile_text(program.text, mode="train", no_plan_cache=True, entry=["train_step"], **rule.options())
    session = ModulePlan(plan, model, program, True, rule.lr).session()
    found = [session.step(lr=RATE, **tensors_of(batch)).loss for batch in given]
    first = copy.deepcopy(model)
    others = [(10, lambda: own_losses(in_double(first, {})[0], [in_double(first, batch)[1] for batch in given]))]
    others += [(3, functools.partial(moved_losses, first, given, seed)) for seed in range(MOVES)]
    check_losses(found, own_losses(model, given), [(factor, functools.cache(other)) for factor, other in others])


def check_losses(
    found: list[float], expected: list[float], others: Sequence[tuple[float, Callable[[], list[float]]]] = ()
) -> None:
    """`others`: factors and results of PyTorch, which are asked for where there is a difference."""
    for step, (value, own) in enumerate(zip(found, expected)):
        if value == own or abs(value - own) <= TOLERANCE * abs(own):
            continue
        if not any(abs(value - own) <= factor * abs(other()[step] - own) for factor, other in others):
            raise Wrong(f"the loss of step {step + 1} is {value:.6g}, expected {own:.6g}")


def moved_losses(model: torch.nn.Module, given: list[dict[str, Any]], seed: int) -> list[float]:
    return own_losses(moved(model, {}, seed)[0], [moved(model, batch, seed)[1] for batch in given])


def own_losses(model: torch.nn.Module, given: list[dict[str, Any]]) -> list[float]:
    """The losses of PyTorch's AdamW, a step per batch."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    found = []
    for batch in given:
        optimizer.zero_grad()
        loss = model(**batch).loss
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found
