"""Writes a model directory of transformers as a graph with weights, which every command of smelt reads.

Usage: python -m smelt.transformers.convert DIR NEW_DIR [--loss] [--length N] [--batch N]

NEW_DIR gets model.ir, model.safetensors and the files of the tokenizer. The graph is @loss with --loss, which smelt train
and smelt evaluate take; @logits for a decoder that reads token ids, which smelt generate takes; else @forward. The option
--import of those commands runs this.
"""

from __future__ import annotations

import argparse
import pathlib
import shutil
import sys
from typing import Any, Optional, Sequence

LONGEST, MOST_ROWS = 512, 8
"""Bounds of the sizes; a command's --max replaces them."""
KEPT = ("tokenizer*", "special_tokens_map.json", "added_tokens.json", "chat_template*", "vocab*", "merges.txt", "*.model", "*.spm",
        "*processor_config.json", "generation_config.json")  # fmt: skip
"""Files that turn texts and pictures into inputs."""


def main(words: Optional[Sequence[str]] = None) -> int:
    options = parsed(words)
    try:
        import torch  # noqa: F401
        import transformers  # noqa: F401
    except ImportError as problem:
        print(f"error: {problem}: expected the packages torch and transformers in {sys.executable}", file=sys.stderr)
        return 1
    from ..errors import Error

    try:
        convert(options.directory, options.new_directory, options.loss, options.length, options.batch)
    except (Error, OSError, ValueError) as problem:
        print(f"error: {options.directory}: {problem}", file=sys.stderr)
        return 1
    return 0


def parsed(words: Optional[Sequence[str]]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m smelt.transformers.convert", description="a model through PyTorch")
    parser.add_argument("directory", type=pathlib.Path, help="directory that transformers reads")
    parser.add_argument("new_directory", type=pathlib.Path, help="directory that is written")
    parser.add_argument("--loss", action="store_true", help="the loss of training in place of the outputs")
    parser.add_argument("--length", type=int, default=LONGEST, help=f"bound of the number of tokens; default: {LONGEST}")
    parser.add_argument("--batch", type=int, default=MOST_ROWS, help=f"bound of the number of rows; default: {MOST_ROWS}")
    return parser.parse_args(words)


def convert(directory: pathlib.Path, new: pathlib.Path, loss: bool, length: int, rows: int) -> None:
    """Throws Error, ValueError or OSError that says what transformers, PyTorch or Smelt do not take."""
    from transformers.utils import logging

    from ..torch.compile import export
    from .examine import SAMPLE, with_most_sizes

    if not (directory / "config.json").is_file():
        raise ValueError("there is no config.json; expected a directory that transformers reads")
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    model = loaded(directory)
    batches = batches_of(model, loss)
    largest = {"B": rows, "T": longest(model, length), "S": longest(model, length)}
    sample = batches.make(SAMPLE)

    def attempt(least: dict[str, int]) -> pathlib.Path:
        return export(model, sample, new, dynamic_shapes=batches.dynamic_shapes(least), max=batches.bounds(largest),
                      loss="loss" if loss else None)  # fmt: skip

    _, outcome = with_most_sizes(batches.names(), attempt)
    if list(batches.forms) == ["input_ids"]:
        rename_entry(new / "model.ir")
    for pattern in KEPT:
        for file in directory.glob(pattern):
            shutil.copy(file, new / file.name)
    graph = "the loss" if loss else "the outputs"
    print(f"{new}: {graph} of {type(model).__name__}, whose inputs are {', '.join(batches.forms)}; sizes that may change: "
          f"{', '.join(outcome['sizes']) or 'none'}", file=sys.stderr)  # fmt: skip


def loaded(directory: pathlib.Path) -> Any:
    import torch
    import transformers

    config = transformers.AutoConfig.from_pretrained(directory, local_files_only=True)
    for name in config.architectures or []:
        if (model_class := getattr(transformers, name, None)) is not None:
            model = model_class.from_pretrained(directory, dtype=torch.float32, local_files_only=True)
            state_problem(model.config)
            return model.eval()
    raise ValueError(f"architectures: {config.architectures}, expected a class of transformers {transformers.__version__}")


def state_problem(config: Any) -> None:
    """Says what the first loss of a classifier would derive from its labels, which some models read to do so."""
    if getattr(config, "problem_type", "") is None:
        config.problem_type = "regression" if config.num_labels == 1 else "single_label_classification"


def batches_of(model: Any, loss: bool) -> Any:
    """The inputs of the model: for a decoder of texts without a loss, token ids alone."""
    from .examine import SAMPLE
    from .forms import Batches
    from .inputs import Maker, first_that_runs
    from .labels import labelled
    from .results import is_decoder

    batches, why = first_that_runs(model, SAMPLE)
    if batches is None:
        raise ValueError(f"the inputs of {type(model).__name__} are not known: {why}")
    if loss:
        with_labels = labelled(Maker(model), batches)
        if with_labels is None:
            raise ValueError(f"the loss of {type(model).__name__} is not known; smelt.torch.export takes one of your own")
        return with_labels
    if is_decoder(type(model).__name__) and set(batches.forms) <= {"input_ids", "attention_mask"}:
        return Batches({"input_ids": batches.forms["input_ids"]}, batches.constants)
    return batches


def longest(model: Any, length: int) -> int:
    known = getattr(model.config, "max_position_embeddings", None)
    return min(length, known) if isinstance(known, int) and known > 0 else length


def rename_entry(path: pathlib.Path) -> None:
    path.write_text(path.read_text().replace("graph @forward", "graph @logits", 1))


if __name__ == "__main__":
    sys.exit(main())
