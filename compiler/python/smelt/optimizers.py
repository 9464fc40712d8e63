"""Update rules by PyTorch's names and with its meanings; each is a set of options of smelt.compile."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Optional

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


@dataclass(frozen=True)
class Optimizer:
    """`clip`: the largest global norm of the gradients. `decay`: "all" parameters, as PyTorch's optimisers do, or
    "declared": all but vectors, which are biases and the weights of norms."""

    lr: float = 1e-3
    weight_decay: float = 0.0
    clip: Optional[float] = field(default=None, kw_only=True)
    decay: str = field(default="all", kw_only=True)
    rule: ClassVar[str] = ""

    def __post_init__(self) -> None:
        checked_rate(self.lr)

    def options(self) -> dict[str, Any]:
        """As smelt.compile takes them; the rate is a session's."""
        given = {"optimizer": self.rule, "weight_decay": self.weight_decay, "decay": self.decay}
        if self.clip is not None:
            given["clip"] = self.clip
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
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    rule: ClassVar[str] = "adam"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.betas, (tuple, list)) or len(self.betas) != 2:
            raise Error(f"betas: {self.betas!r}, expected two numbers, such as (0.9, 0.999)")

    def _own(self) -> dict[str, Any]:
        return {"beta1": self.betas[0], "beta2": self.betas[1], "eps": self.eps}


@dataclass(frozen=True)
class AdamW(Adam):
    """As torch.optim.AdamW."""

    weight_decay: float = 0.01
    rule: ClassVar[str] = "adamw"


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
