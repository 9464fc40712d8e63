"""A continuous batch: requests join and leave it while it runs, and new weights replace the old ones between steps."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any, Iterator, Mapping, NamedTuple, Optional, Sequence, Union

from . import _native
from .arrays import as_ids
from .checks import json_text, named, whole
from .errors import Error
from .session import Session

_MOST = 2**31


class Token(NamedTuple):
    """A token that a batch reports."""

    id: int
    log_probability: Optional[float]
    """By the model's logits, before options change them; None where it was not requested, and for a prompt's first."""
    best: list[tuple[int, float]]
    """The most probable tokens and their log-probabilities, if they were requested."""
    rank: int
    """Of a token of a prompt: 1 if it is the most probable one; 0 for new tokens."""
    weights_version: int
    """Of the weights that computed the logits."""


class Beam(NamedTuple):
    """A sequence that a beam search has found."""

    tokens: list[Token]
    """New tokens, including the end token."""
    text: str
    """Their text; "" without a tokenizer."""
    score: float
    """The sum of the log-probabilities, divided as length_penalty specifies."""
    finish: str
    """Either "stop", if the sequence has an end token, or "length"."""

    @property
    def ids(self) -> list[int]:
        """The ids of `tokens`."""
        return [token.id for token in self.tokens]


@dataclass
class BatchProgress:
    """What a request has got since the last poll."""

    tokens: list[Token] = field(default_factory=list)
    """New tokens, including the end token and the tokens of a stop text."""
    prompt_tokens: list[Token] = field(default_factory=list)
    """Tokens of the prompt, if their log-probabilities were requested."""
    text: str = ""
    """The text of the new tokens, in whole characters and without the stop text; "" without a tokenizer."""
    finish: Optional[str] = None
    """None while the request waits or runs; then "stop", "length", "cancelled" or "failed"."""
    error: str = ""
    """Why the request has failed."""
    has_begun: bool = False
    """Whether the request has left the queue since the last poll."""
    beams: list[Beam] = field(default_factory=list)
    """What a beam search has found, the best sequence first. Before its end, and for other requests, it is empty."""

    @property
    def ids(self) -> list[int]:
        """The ids of `tokens`."""
        return [token.id for token in self.tokens]

    def _add(self, later: BatchProgress) -> None:
        self.tokens += later.tokens
        self.prompt_tokens += later.prompt_tokens
        self.text += later.text
        self.finish, self.error = later.finish, later.error
        self.has_begun = self.has_begun or later.has_begun
        self.beams += later.beams


def _text_list(what: str, value: Union[str, Sequence[str]]) -> list[str]:
    texts = [value] if isinstance(value, str) else list(value)
    for text in texts:
        if not isinstance(text, str):
            raise Error(f"{what}: {text!r}, expected a str or a list of them")
    return texts


def _optional(what: str, value: Optional[int]) -> Optional[int]:
    return None if value is None else whole(what, value, 0, _MOST)


class Batch:
    """A continuous batch of a session: requests join and leave it while it runs. ::

        with smelt.Batch(plan.session(), most_waiting=1000) as batch:
            id = batch.submit("Once upon a time", max_new_tokens=64, do_sample=True, seed=7)
            for progress in batch.stream(id):
                print(progress.text, end="")

    A batch has no thread: `step` does the work, without the GIL. Calls from several threads run one after the other.
    While the batch exists, nothing else may run its session; `close` (or the end of a `with`) ends that.

    slots: requests that run together; 0: as many as the plan supports, and on a CPU at most 32.
    most_waiting: requests that wait for a slot; `submit` raises a smelt.Error ("unavailable") for more.
    chunk: prompt tokens that a step reads; 0: a default.
    draft: most tokens of a draft that a step checks per request, guessed from earlier text; 0: none. It needs a plan
    whose runs read several tokens per request (step_tokens).
    ahead: steps in progress while the host processes an earlier one; None: 1 on a GPU, 0 on a CPU.
    prepares: runs all sizes of runs now, so that no request waits for that.
    shares_prefixes: equal beginnings of prompts are read once, if caches are in pages.
    plan_samples: the plan samples tokens if it can; otherwise the host does.
    tokenizer: a directory with a tokenizer, by default the model's own if there is one; False: requests have no text.
    """

    def __init__(
        self,
        session: Session,
        *,
        slots: int = 0,
        most_waiting: int = 64,
        chunk: int = 0,
        draft: int = 0,
        ahead: Optional[int] = None,
        prepares: bool = False,
        shares_prefixes: bool = True,
        plan_samples: bool = True,
        tokenizer: Union[str, "os.PathLike[str]", None, bool] = None,
    ) -> None:
        if not isinstance(session, Session):
            raise Error(f"session: a {type(session).__name__}, expected a smelt.Session")
        if tokenizer is True:
            raise Error("tokenizer: True, expected a directory, None or False")
        self._session = session
        self._asked: dict[int, bool] = {}
        self._native = _native.open_batch(
            session._native,
            slots=whole("slots", slots, 0, _MOST),
            most_waiting=whole("most_waiting", most_waiting, 0, _MOST),
            chunk=whole("chunk", chunk, 0, _MOST),
            draft=whole("draft", draft, 0, _MOST),
            ahead=_optional("ahead", ahead),
            prepares=bool(prepares),
            shares_prefixes=bool(shares_prefixes),
            plan_samples=bool(plan_samples),
            tokenizer=None if tokenizer is None or tokenizer is False else os.fspath(tokenizer),
            has_text=tokenizer is not False,
        )

    def __reduce__(self) -> Any:
        raise TypeError("a smelt.Batch is memory that requests run in, and is neither pickled nor copied")

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Drops all requests, and lets other calls run the session."""
        self._native.close()

    @property
    def session(self) -> Session:
        return self._session

    @property
    def vocabulary(self) -> int:
        """The number of token ids."""
        return self._native.limits()[0]

    @property
    def capacity(self) -> int:
        """The most tokens of a request: of the prompt, and all new ones but the last."""
        return self._native.limits()[1]

    @property
    def most_requests(self) -> int:
        """The most requests that may run or wait."""
        return self._native.limits()[2]

    @property
    def counts(self) -> dict[str, int]:
        """Present numbers ("running", "waiting", "used_pages", "weights_version", ...) and totals since the batch was
        made ("steps", "prompt_tokens", "new_tokens", "kept_draft_tokens", "ended", ...)."""
        return self._native.counts()

    def submit(
        self,
        prompt: Any,
        *,
        stop: Union[str, Sequence[str]] = (),
        log_probabilities: Optional[int] = None,
        prompt_log_probabilities: Optional[int] = None,
        response_format: Any = None,
        structured_outputs: Any = None,
        guided_json: Any = None,
        guided_regex: Optional[str] = None,
        guided_choice: Optional[Sequence[str]] = None,
        guided_grammar: Optional[str] = None,
        priority: int = 0,
        index: int = 0,
        adapter: Optional[str] = None,
        **options: Any,
    ) -> int:
        """Adds a request, and returns its number for `poll` and `cancel`.

        prompt: a text, or token ids as a list or an array of integers.
        stop: texts that end the request, and are not part of its text.
        log_probabilities: how many most probable tokens are reported with each new token; 0: the token's own
        log-probability alone. prompt_log_probabilities: the same for the tokens of the prompt.
        response_format, structured_outputs, guided_json, guided_regex, guided_choice, guided_grammar: which texts may
        be written, as in requests to the server (docs/guides/structured_output.md); at most one of them.
        priority: requests with a smaller number begin first. index: which random numbers are used, with the same seed.
        adapter: the name of an adapter that `load_adapter` has loaded; None: the model itself.
        The options are those of generation_config.json, as in Session.generate: max_new_tokens, do_sample, temperature,
        top_k, top_p, min_p, repetition_penalty, presence_penalty, frequency_penalty, eos_token_id, seed, ...
        num_beams above 1 is a beam search, which takes as many slots and reports its num_return_sequences results as
        BatchProgress.beams when it ends; it has no stop texts, log-probabilities or specification of the text.
        """
        ids = self._native.encode(prompt) if isinstance(prompt, str) else _ids_of(prompt)
        texts = {
            "response_format": response_format,
            "structured_outputs": structured_outputs,
            "guided_json": guided_json,
            "guided_regex": guided_regex,
            "guided_choice": guided_choice,
            "guided_grammar": guided_grammar,
        }
        given = {name: value for name, value in texts.items() if value is not None}
        id = self._native.submit(
            ids,
            options=json_text("options", options),
            stop=_text_list("stop", stop),
            log_probabilities=_optional("log_probabilities", log_probabilities),
            prompt_log_probabilities=_optional("prompt_log_probabilities", prompt_log_probabilities),
            specification=json_text("the specification of the text", given) if given else None,
            index=whole("index", index, 0, 2**63),
            priority=whole("priority", priority, -_MOST, _MOST),
            adapter=adapter,
        )
        self._asked[id] = log_probabilities is not None
        return id

    def step(self) -> bool:
        """Generates one more token for every running request, and reads parts of prompts. False if there was nothing to
        do. A request that fails says so when it is polled, and the others go on."""
        return self._native.step()

    def poll(self, id: int) -> BatchProgress:
        """What a request has got since the last poll. The poll that reports its end forgets the request."""
        told = self._native.poll(whole("id", id, 0, 2**64), self._asked.get(id, False))
        progress = BatchProgress(
            [Token(*token) for token in told["tokens"]],
            [Token(*token) for token in told["prompt_tokens"]],
            told["text"],
            told["finish"],
            told["error"],
            told["has_begun"],
            [Beam([Token(*token) for token in tokens], *rest) for tokens, *rest in told["beams"]],
        )
        if progress.finish is not None:
            self._asked.pop(id, None)
        return progress

    def cancel(self, id: int) -> None:
        """Ends a request that has not ended; the next poll reports its end. An unknown number is ignored."""
        self._native.cancel(whole("id", id, 0, 2**64))

    def stream(self, id: int) -> Iterator[BatchProgress]:
        """Runs steps, and yields what the request gets, up to its end. Other requests run, too. Where the loop is left
        early, the request is cancelled."""
        ended = False
        try:
            while not ended:
                self.step()
                progress = self.poll(id)
                ended = progress.finish is not None
                if ended or progress.tokens or progress.prompt_tokens or progress.text:
                    yield progress
        finally:
            if not ended:
                self.cancel(id)
                self.poll(id)

    def generate(self, prompts: Sequence[Any], **options: Any) -> list[BatchProgress]:
        """Runs a request for each prompt to its end, and returns what each has got. The arguments are those of
        `submit`; request i has the index i, so that the random numbers are those of Session.generate."""
        first = whole("index", options.pop("index", 0), 0, 2**62)
        results = [BatchProgress() for _ in prompts]
        live: dict[int, int] = {}
        try:
            for number, prompt in enumerate(prompts):
                while self.counts["running"] + self.counts["waiting"] >= self.most_requests and self.step():
                    self._collect(live, results)
                live[self.submit(prompt, index=first + number, **options)] = number
            while live:
                self.step()
                self._collect(live, results)
        finally:
            for id in live:
                self.cancel(id)
                self.poll(id)
        return results

    def _collect(self, live: dict[int, int], results: list[BatchProgress]) -> None:
        for id, number in list(live.items()):
            results[number]._add(self.poll(id))
            if results[number].finish is not None:
                del live[id]

    def update_weights(
        self,
        weights: Union[Session, Mapping[str, Any]],
        *,
        version: Optional[int] = None,
        keep_prefixes: bool = False,
        wait: bool = False,
    ) -> None:
        """Replaces the weights of the batch's session between two steps.

        weights: another session of the same model, such as one that trains; or all weights by their names in
        checkpoints, as arrays of any float type in the host's memory (a state_dict). They become what the plan stores:
        rounded, quantized, transposed or tied. Where one is missing, unknown or of another shape, all are named in one
        smelt.Error and nothing is changed. An array that repeats another one, such as a tied head, may be there.
        version: the number that tokens and counts report; None: one more than before.
        keep_prefixes: later prompts find keys and values of the old weights; otherwise they are dropped.
        wait: running requests end with the old weights, no other begins before, and the call returns at once. Otherwise
        they go on with the new weights, after keys and values of the old ones.
        """
        number = None if version is None else whole("version", version, 0, 2**64)
        if isinstance(weights, Session):
            self._native.copy_weights(
                weights._native, version=number, keep_prefixes=bool(keep_prefixes), wait=bool(wait)
            )
            return
        self._native.update_weights(
            dict(named("weights", weights)), version=number, keep_prefixes=bool(keep_prefixes), wait=bool(wait)
        )

    def load_adapter(self, name: str, directory: Union[str, "os.PathLike[str]"]) -> None:
        """Loads a low-rank adapter between two steps, for requests that name it.

        directory: with adapter_config.json and adapter_model.safetensors, as PEFT writes them. The plan must have slots
        for adapters (compile with adapters=N). A smelt.Error names all that a slot cannot hold, or says that the name or
        all slots are taken ("unavailable").
        """
        self._native.load_adapter(name, os.fspath(directory))

    def unload_adapter(self, name: str) -> None:
        """Drops an adapter. Requests that have it keep it until their end; then its slot is free."""
        self._native.unload_adapter(name)

    @property
    def adapters(self) -> list[str]:
        """The names of the adapters that are loaded."""
        return self._native.adapters()

    @property
    def update_waits(self) -> bool:
        """Whether an update of the weights waits for running requests."""
        return self._native.update_waits()

    def __repr__(self) -> str:
        try:
            counts = self.counts
        except Error:
            return "<smelt.Batch, closed>"
        return f"<smelt.Batch of {self._session.plan.path!r}: {counts['running']} run, {counts['waiting']} wait>"


def _ids_of(prompt: Any) -> list[int]:
    ids = as_ids(prompt)
    if ids.ndim != 1:
        raise Error(f"prompt: an array of {ids.ndim} dimensions, expected a text or one row of token ids")
    return ids.tolist()
