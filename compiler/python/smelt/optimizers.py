"""Update rules by PyTorch's names and with its meanings; each is a set of options of smelt.compile."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass, field
from typing import Any, ClassVar, Mapping, Optional, Sequence

from .checks import check_momentum
from .errors import Error


def checked_rate(rate: Any) -> Optional[float]:
    """A learning rate: a number of Python, or what float() takes."""
    try:
        number = None if rate is None else float(rate)
    except (TypeError, ValueError):
        raise Error(f"lr: {rate!r}, expected a number") from None
    if number is not None and not (math.isfinite(number) and number >= 0):
        raise Error(f"lr: {number}, expected a finite number of at least 0")
    return number


def _check_betas(betas: Any) -> None:
    if not isinstance(betas, (tuple, list)) or len(betas) != 2:
        raise Error(f"betas: {betas!r}, expected two numbers, such as (0.9, 0.999)")


def _check_factors(name: str, factors: Any) -> None:
    if not isinstance(factors, Mapping):
        raise Error(f"{name}: {factors!r}, expected a mapping of patterns of names to factors, such as {{'*.bias': 2}}")
    for pattern, factor in factors.items():
        if not isinstance(pattern, str) or not isinstance(factor, numbers.Real):
            raise Error(f"{name}: {pattern!r}: {factor!r}, expected a pattern of names and a number, such as '*.bias': 2")


@dataclass(frozen=True)
class Optimizer:
    """`clip`: the largest global norm of the gradients. `decay`: "all" parameters, as PyTorch's optimisers do, or
    "declared": all but vectors, which are biases and the weights of norms. `lr_of`, `decay_of`: factors of the rate and
    of weight_decay by patterns of names, such as {"*.bias": 2}; the last pattern that fits holds. `layer_decay`: factor
    of the rate per layer, counted from the head downwards. `ema`: decay per update of a running mean of the parameters,
    which evaluations and save_weights then have."""

    lr: float = 1e-3
    weight_decay: float = 0.0
    clip: Optional[float] = field(default=None, kw_only=True)
    decay: str = field(default="all", kw_only=True)
    lr_of: Mapping[str, float] = field(default_factory=dict, kw_only=True, hash=False)
    decay_of: Mapping[str, float] = field(default_factory=dict, kw_only=True, hash=False)
    layer_decay: float = field(default=1.0, kw_only=True)
    ema: float = field(default=0.0, kw_only=True)
    rule: ClassVar[str] = ""

    def __post_init__(self) -> None:
        checked_rate(self.lr)
        for name in ("lr_of", "decay_of"):
            _check_factors(name, getattr(self, name))
        check_momentum(getattr(self, "momentum", None))

    def options(self) -> dict[str, Any]:
        """As smelt.compile takes them; the rate is a session's."""
        given = {"optimizer": self.rule, "weight_decay": self.weight_decay, "decay": self.decay}
        if self.clip is not None:
            given["clip"] = self.clip
        for name in ("lr_of", "decay_of"):
            if factors := getattr(self, name):
                given[name] = [f"{pattern}={factor}" for pattern, factor in factors.items()]
        if self.layer_decay != 1:
            given["layer_decay"] = self.layer_decay
        if self.ema:
            given["ema"] = self.ema
        return {**given, **self._own()}

    def _own(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class SGD(Optimizer):
    momentum: float = 0.0
    rule: ClassVar[str] = "sgd"

    def options(self) -> dict[str, Any]:
        given = super().options()
        return {**given, "optimizer": "momentum", "momentum": self.momentum} if self.momentum else given


@dataclass(frozen=True)
class Adam(Optimizer):
    betas: tuple[float, float] = field(default=(0.9, 0.999), hash=False)
    eps: float = 1e-8
    rule: ClassVar[str] = "adam"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_betas(self.betas)

    def _own(self) -> dict[str, Any]:
        return {"beta1": self.betas[0], "beta2": self.betas[1], "eps": self.eps}


@dataclass(frozen=True)
class AdamW(Adam):
    """As torch.optim.AdamW."""

    weight_decay: float = 0.01
    rule: ClassVar[str] = "adamw"


@dataclass(frozen=True)
class AdamW8bit(AdamW):
    """AdamW whose moments have 8 bits, in blocks of 256 with a scale each."""

    rule: ClassVar[str] = "adamw8bit"


@dataclass(frozen=True)
class LAMB(Adam):
    rule: ClassVar[str] = "lamb"


@dataclass(frozen=True)
class Adagrad(Optimizer):
    lr: float = 1e-2
    eps: float = 1e-10
    rule: ClassVar[str] = "adagrad"

    def _own(self) -> dict[str, Any]:
        return {"eps": self.eps}


@dataclass(frozen=True)
class Lion(Optimizer):
    """arXiv:2302.06675. Rates are 3 to 10 times smaller than those of AdamW, and weight_decay as much larger."""

    lr: float = 1e-4
    betas: tuple[float, float] = field(default=(0.9, 0.99), hash=False)
    rule: ClassVar[str] = "lion"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_betas(self.betas)

    def _own(self) -> dict[str, Any]:
        return {"beta1": self.betas[0], "beta2": self.betas[1]}


@dataclass(frozen=True)
class Muon(AdamW):
    """Hidden matrices as torch.optim.Muon, all other parameters as AdamW. `matrix_lr`: "match-rms" makes steps of
    matrices as large as those of AdamW, "original" is PyTorch's default. `adamw_lr`: factor of the rate of the other
    parameters. `adamw_for`: names of matrices that AdamW updates, too."""

    momentum: float = 0.95
    matrix_lr: str = field(default="match-rms", kw_only=True)
    adamw_lr: float = field(default=1.0, kw_only=True)
    adamw_for: Sequence[str] = field(default=(), kw_only=True, hash=False)
    rule: ClassVar[str] = "muon"

    def _own(self) -> dict[str, Any]:
        given = {**super()._own(), "momentum": self.momentum, "matrix_lr": self.matrix_lr, "adamw_lr": self.adamw_lr}
        return {**given, "adamw_for": list(self.adamw_for)} if self.adamw_for else given


@dataclass(frozen=True)
class NorMuon(Muon):
    """arXiv:2510.05491: Muon whose directions have rows of equal size on average."""

    betas: tuple[float, float] = field(default=(0.9, 0.95), hash=False)
    rule: ClassVar[str] = "normuon"


@dataclass(frozen=True)
class Adafactor(Optimizer):
    """As torch.optim.Adafactor: of a matrix, a number per row and one per column in place of moments."""

    lr: float = 1e-2
    rule: ClassVar[str] = "adafactor"


@dataclass(frozen=True)
class ScheduleFreeAdamW(Adam):
    """arXiv:2405.15682. The rate is constant after its warm-up; evaluations and save_weights have the average."""

    lr: float = 2.5e-3
    rule: ClassVar[str] = "schedule-free-adamw"
