"""Descriptions become plans, and plans sessions."""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from . import _native
from .checks import check_momentum, json_text, whole
from .errors import Error
from .progress import Progress, compilation
from .reports import Graph, Memory, plan_html
from .session import Session

if TYPE_CHECKING:
    from typing import Unpack

    from .options import CompileOptions

PathLike = Union[str, "os.PathLike[str]"]


class Plan:
    """An executable plan. It never changes: any number of sessions may run it, in any threads."""

    def __init__(self, native: _native.Plan) -> None:
        self._native = native

    def __copy__(self) -> Plan:
        return self

    def __deepcopy__(self, _: Any) -> Plan:
        return self

    def __reduce__(self) -> Any:
        """Pickles as a .plan file, which holds machine code and no weights."""
        with tempfile.TemporaryDirectory(prefix="smelt-") as directory:
            path = os.path.join(directory, "pickled.plan")
            self.save(path)
            with open(path, "rb") as file:
                return _unpickled, (file.read(),)

    @property
    def target(self) -> str:
        """The machine that it is for, such as "cpu-x86_64-skylake-avx512" or "sm_90"."""
        return self._native.target

    @property
    def path(self) -> str:
        """The description that it was compiled from, or the file that it was loaded from."""
        return self._native.path

    @property
    def weights(self) -> Optional[str]:
        """The file of weights beside the description; None where there is none, and for loaded plans."""
        return self._native.weights

    @property
    def entries(self) -> dict[str, dict[str, Any]]:
        """By name: "inputs" and "outputs" (each with name, dtype, shape and optional), "steps", "arena_bytes"."""
        return self._native.entries()

    @property
    def bounds(self) -> dict[str, int]:
        """The largest sizes that it runs: {"B": 32, "T": 1024}."""
        return self._native.bounds()

    def session(
        self,
        weights: Union[PathLike, Mapping[str, Any], None] = None,
        *,
        device: Optional[str] = None,
        from_scratch: bool = False,
        threads: int = 0,
        seed: int = 0,
        check_steps: bool = False,
    ) -> Session:
        """Memory and weights to run the plan with.

        weights: a safetensors file, an index or a directory, or arrays by name, as load_state_dict takes them. Without
        it those beside the description that the plan was compiled from; where there are none, or with from_scratch,
        initial values that `seed` picks.
        device: "cpu", "cuda" or "cuda:N", which must be of the plan's kind; by default the first GPU of a plan for
        GPUs.
        threads: 0 is SMELT_NUM_THREADS, OMP_NUM_THREADS or all cores.
        seed: of initial values, dropout and generation.
        check_steps: on a GPU, wait after every step, so that a fault names it.
        """
        arrays = weights if isinstance(weights, Mapping) else None
        if arrays is not None and from_scratch:
            raise Error("weights and from_scratch say different things: give one of them")
        with Progress("opening a session"):
            native = _native.open_session(
                self._native,
                weights=None if weights is None or arrays is not None else os.fspath(weights),
                device=None if device is None else str(device),
                from_scratch=bool(from_scratch) or arrays is not None,
                threads=whole("threads", threads, 0, 2**31),
                seed=whole("seed", seed, 0, 2**32),
                check_steps=bool(check_steps),
            )
        if native.note:
            warnings.warn(native.note, stacklevel=2)
        session = Session(self, native)
        return session if arrays is None else session.load_state_dict(arrays)

    def dump(self, emit: str = "fused", *, format: str = "text", filter: str = "") -> str:
        """A level of the compiler as text: "graph", "fused", "program", "kernels", "llvm", "cuda" or "plan".

        format: "text", "json", or of graphs "dot". filter: only what comes from sources whose name contains it.
        """
        return self._native.dump(str(emit), str(format), str(filter))

    def graph(self, emit: str = "fused", *, filter: str = "") -> Graph:
        """The graphs of a level ("graph" or "fused"), which notebooks draw where Graphviz's `dot` is installed."""
        return Graph(self.dump(emit, filter=filter), self.dump(emit, format="dot", filter=filter))

    def explain_fusion(self, filter: str = "") -> str:
        """Every kernel: what is in it, and why its neighbours are not."""
        return self._native.explain_fusion(str(filter))

    def report(
        self,
        path: PathLike,
        *,
        against: Optional[Plan] = None,
        entry: Union[str, Sequence[str]] = (),
        profile: Optional[PathLike] = None,
    ) -> None:
        """Writes one page of HTML about the plan: steps, graph, memory, code, and what was not fused and why.

        against: another plan, whose differences it shows. entry: only these. profile: times that `smelt bench
        --profile --trace FILE` measured; without it they are estimates. Of a loaded plan there is neither the graph
        nor the decisions of fusion, which its file does not keep.
        """
        entries, other = _entries(entry), None if against is None else _plan("against", against)
        with Progress("writing a report"):
            self._native.report(
                None if other is None else other._native,
                path=os.fspath(path),
                name=self.path,
                against_name="" if other is None else other.path,
                command=f"plan.report({os.fspath(path)!r})",
                entries=entries,
                profile=None if profile is None else os.fspath(profile),
            )

    def diff(self, after: Plan, *, entry: Union[str, Sequence[str]] = ()) -> str:
        """Which steps another plan has in place of this one's, as text; steps are matched by their sources."""
        other = _plan("after", after)
        return self._native.diff(
            other._native, before_name=self.path, after_name=other.path, entries=_entries(entry)
        )

    def memory(self) -> Memory:
        """The bytes that a session takes, as planned for the largest sizes."""
        return Memory(self._native.memory())

    def save(self, path: PathLike) -> None:
        """Writes a .plan file, which replaces `path` as a whole or not at all. It holds machine code, no weights."""
        self._native.save(os.fspath(path))

    def __repr__(self) -> str:
        bounds = ", ".join(f"{name} <= {upper}" for name, upper in self.bounds.items())
        return f"<smelt.Plan of {self.path!r} for {self.target}: {', '.join(self.entries)}; {bounds}>"

    def _repr_html_(self) -> str:
        return plan_html(self)


def _entries(entry: Union[str, Sequence[str]]) -> list[str]:
    return [entry] if isinstance(entry, str) else [str(name) for name in entry]


def _plan(what: str, plan: Any) -> Plan:
    if not isinstance(plan, Plan):
        raise Error(f"{what}: a {type(plan).__name__}, expected a smelt.Plan")
    return plan


def compile(
    model: Union[PathLike, Mapping[str, Any]],
    *,
    time_limit: Optional[float] = None,
    **options: Unpack[CompileOptions],
) -> Plan:
    """Compiles a model directory, a spec (.json, or as a mapping) or a graph (.ir).

    The options are those of docs/reference/compile_options.md: mode="infer",
    target="native", precision="bf16", max={"B": 32, "T": 1024}, entry=["logits"], attention_mask=True, ...
    A plan that was made before is taken from the cache directory, unless no_plan_cache=True.

    time_limit: seconds, after which the compilation ends with a smelt.Error between two of its steps. Ctrl-C ends it
    there, too.
    """
    check_momentum(options.get("momentum"))
    if isinstance(model, Mapping):
        with tempfile.TemporaryDirectory(prefix="smelt-") as directory:
            path = os.path.join(directory, "spec.json")
            with open(path, "w", encoding="utf-8") as file:
                file.write(json_text("the spec", model))
            return compile(path, time_limit=time_limit, **options)
    path = os.fspath(model)
    with compilation(f"compiling {os.path.basename(os.path.normpath(path))}", time_limit) as running:
        return Plan(_native.compile(path, dict(options), running.begin))


def _unpickled(content: bytes) -> Plan:
    with tempfile.TemporaryDirectory(prefix="smelt-") as directory:
        path = os.path.join(directory, "pickled.plan")
        with open(path, "wb") as file:
            file.write(content)
        return load(path)


def load(path: PathLike) -> Plan:
    """Reads a .plan file. It holds machine code: load only plans that you would also run as programs."""
    return Plan(_native.load(os.fspath(path)))
