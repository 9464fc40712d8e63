"""Targets of the losses that heads have, by the names of the classes."""

from __future__ import annotations

import re
from typing import Mapping, Optional

from .inputs import Form, Maker, ids, padding


def labels_of(maker: Maker, forms: Mapping[str, Form]) -> Optional[dict[str, Form]]:
    """The forms of the targets of these inputs; None for a class whose loss is not known here."""
    name, classes = maker.name, int(getattr(maker.config, "num_labels", None) or 2)
    if "labels" not in maker.parameters:
        if "QuestionAnswering" in name and "start_positions" in maker.parameters:
            return {each: Form(("B",), ids(5)) for each in ("start_positions", "end_positions")}
        return None
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
        extra = {"next_sentence_label": Form(("B",), ids(2))} if "next_sentence_label" in maker.parameters else {}
        return {"labels": tokens, **extra} if "CTC" not in name else _transcripts(maker, forms)
    return None


def _transcripts(maker: Maker, forms: Mapping[str, Form]) -> dict[str, Form]:
    """Targets that are shorter than the sound, of which a few frames are left, with the mask that losses of spectrograms
    take its length from."""
    found = {"labels": Form(("B", 2), ids(maker._vocabulary(), maker._least()))}
    if "attention_mask" in maker.parameters and "input_features" in forms:
        found["attention_mask"] = Form(forms["input_features"].dims[:2], padding)
    return found
