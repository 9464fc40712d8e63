"""Targets of the losses that heads have, by the names of the classes."""

from __future__ import annotations

import re
from typing import Any, Mapping, Optional

from .forms import Batches, Form, ids, normal, padding, zeros
from .inputs import SHORTEST, Maker, number


def labelled(maker: Maker, batches: Batches) -> Optional[Batches]:
    """The batches with the targets of the model's loss; None for a class whose loss is not known here. A model that
    compares texts with images or sounds needs no targets."""
    labels = labels_of(maker, batches.forms)
    if labels is None and "return_loss" in maker.parameters and "labels" not in maker.parameters:
        return Batches(batches.forms, {**batches.constants, "return_loss": True})
    return None if labels is None else Batches({**batches.forms, **labels}, batches.constants)


def labels_of(maker: Maker, forms: Mapping[str, Form]) -> Optional[dict[str, Form]]:
    """The forms of the targets of these inputs; None for a class whose loss is not known here."""
    name, classes = maker.name, int(getattr(maker.config, "num_labels", None) or 2)
    if "labels" not in maker.parameters:
        if "QuestionAnswering" in name and "start_positions" in maker.parameters:
            return {each: Form(("B",), ids(SHORTEST)) for each in ("start_positions", "end_positions")}
        return _of_series(maker, classes)
    length = (
        ("B", "S") if maker._needs_decoder_ids() else forms["input_ids"].dims if "input_ids" in forms else ("B", "T")
    )
    tokens = Form(length, ids(maker._vocabulary(), maker._least()))
    rows = Form(("B",), ids(classes))
    if re.search("NextSentence|MultipleChoice", name):
        return {"labels": Form(("B",), ids(2))}
    if "TokenClassification" in name:
        return {"labels": Form(("B", "T"), ids(classes))}
    if re.search("(Sequence|Image|Audio|Video)Classification", name):
        return {"labels": rows}
    if re.search("CausalLM|LMHead|MaskedLM|ConditionalGeneration|ForPreTraining|Seq2Seq|ForCTC", name):
        return {"labels": tokens, **_more(maker, length)} if "CTC" not in name else _transcripts(maker, forms)
    if "SemanticSegmentation" in name and "pixel_values" in forms:
        return {"labels": Form(("B", *forms["pixel_values"].dims[-2:]), ids(classes))}
    return {"labels": tokens} if "input_ids" in forms and maker.model.get_output_embeddings() is not None else None


def _more(maker: Maker, length: tuple[Any, ...]) -> dict[str, Form]:
    """What losses ask for next to tokens: the order of two sentences, and which tokens are no text."""
    extra = {"next_sentence_label": Form(("B",), ids(2)), "mm_token_type_ids": Form(length, zeros)}
    return {name: form for name, form in extra.items() if name in maker.parameters}


def _of_series(maker: Maker, classes: int) -> Optional[dict[str, Form]]:
    """The future of a series, or its class."""
    if "future_values" in maker.parameters and "prediction_length" in vars(maker.config):
        channels = number(maker.config, ("num_input_channels", "input_size"), 1)
        return {"future_values": Form(("B", number(maker.config, ("prediction_length",), 1), channels), normal)}
    targets = number(maker.config, ("num_targets",), classes)
    if "target_values" in maker.parameters and "ForClassification" in maker.name and targets > 1:
        return {"target_values": Form(("B",), ids(targets))}
    return None


def _transcripts(maker: Maker, forms: Mapping[str, Form]) -> dict[str, Form]:
    """Targets that are shorter than the sound, of which a few frames are left, with the mask that losses of spectrograms
    take its length from."""
    found = {"labels": Form(("B", 2), ids(maker._vocabulary(), maker._least()))}
    if "attention_mask" in maker.parameters and "input_features" in forms:
        found["attention_mask"] = Form(forms["input_features"].dims[:2], padding)
    return found
