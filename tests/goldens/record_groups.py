"""Adds what transformers 4 finds by groups of beams to a model directory's generation.json.

Usage: python3 tests/goldens/record_groups.py DIR...     (torch, transformers 4.49: later ones have no groups of beams)
A case is kept only where float64 and float32 find the same ids, so that a correct float32 implementation has no tie to
lose, and only with one end token, since transformers 4 writes the first in place of any. Prompts of a decoder are padded on the left, sources on the right. `smelt verify DIR` compares.
"""
import functools
import json
import os
import sys
import zlib

import torch
import transformers

NEW_TOKENS = 12
CASES = {
    "groups-2x2": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.5},
    "groups-2x2-all": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.0, "num_return_sequences": 4},
    "groups-3x2-early": {"num_beams": 6, "num_beam_groups": 3, "diversity_penalty": 2.0, "early_stopping": True,
                         "num_return_sequences": 3},
    "groups-4x1-never": {"num_beams": 4, "num_beam_groups": 4, "diversity_penalty": 0.7, "early_stopping": "never",
                         "num_return_sequences": 4},
    "groups-2x3-long": {"num_beams": 6, "num_beam_groups": 2, "diversity_penalty": 0.3, "length_penalty": 1.7,
                        "num_return_sequences": 6},
    "groups-2x2-negative": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 1.5, "length_penalty": -0.5,
                            "num_return_sequences": 2},
    "groups-2x2-processed": {"num_beams": 4, "num_beam_groups": 2, "diversity_penalty": 0.8, "repetition_penalty": 1.3,
                             "no_repeat_ngram_size": 2, "min_new_tokens": 4, "num_return_sequences": 4},
}


def rows_of(name, config, padding, left):
    random = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    lengths = torch.randint(2, 9, (4,), generator=random).tolist()
    rows = [torch.randint(3, config.vocab_size, (n,), generator=random).tolist() for n in lengths]
    longest = max(lengths)
    fill = lambda row, value: [value] * (longest - len(row)) + row if left else row + [value] * (longest - len(row))
    return [fill(row, padding) for row in rows], [fill([1] * len(row), 0) for row in rows]


def until_end(row, ends):
    for i, token in enumerate(row):
        if token in ends:
            return row[: i + 1]
    return row


def with_single_logits(model):
    """Groups of beams add scores up in float32 and take no others."""
    forward = model.forward

    @functools.wraps(forward)  # which arguments there are is read off the signature
    def rounded(*args, **kwargs):
        output = forward(*args, **kwargs)
        output.logits = output.logits.float()
        return output

    model.forward = rounded
    return model.eval()


def found_by(model, options, ids, mask, padding):
    """Each prompt alone, so that its result depends on no padding."""
    ends = options.get("eos_token_id", model.generation_config.eos_token_id)
    ends = ends if isinstance(ends, list) else [ends]
    sequences, scores = [], []
    for row, there in zip(ids, mask):
        prompt = [token for token, one in zip(row, there) if one]
        head = 1 if model.config.is_encoder_decoder else len(prompt)
        with torch.no_grad():
            out = model.generate(torch.tensor([prompt]), attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                                 max_new_tokens=NEW_TOKENS, do_sample=False, return_dict_in_generate=True,
                                 output_scores=True, pad_token_id=padding, **options)
        sequences += [found[:head] + until_end(found[head:], ends) for found in out.sequences.tolist()]
        scores += out.sequences_scores.tolist()
    return sequences, scores


def record(path):
    config = transformers.AutoConfig.from_pretrained(path)
    kind = getattr(transformers, config.architectures[0])
    models = [with_single_logits(kind.from_pretrained(path, torch_dtype=dtype, attn_implementation="eager")) for dtype in (torch.float64, torch.float32)]
    padding = config.pad_token_id if config.pad_token_id is not None else 0
    file = os.path.join(path, "generation.json")
    known = json.load(open(file)) if os.path.exists(file) else {"cases": [], "left_out": []}
    known["cases"] = [case for case in known["cases"] if not case["name"].startswith("groups-")]
    known["groups"] = f"transformers {transformers.__version__}"
    for name, options in CASES.items():
        ids, mask = rows_of(name, config, padding, not config.is_encoder_decoder)
        try:
            (exact, scores), (rounded, _) = [found_by(model, options, ids, mask, padding) for model in models]
        except Exception as error:
            print(path, name, "left out:", error)
            continue
        if exact != rounded:
            print(path, name, "left out: a tie")
            continue
        known["cases"].append({"name": name, "options": {**options, "max_new_tokens": NEW_TOKENS, "pad_token_id": padding},
                               "input_ids": ids, "attention_mask": mask, "sequences": exact, "scores": scores})
    json.dump(known, open(file, "w"))
    print(path, sum(case["name"].startswith("groups-") for case in known["cases"]), "cases")


for directory in sys.argv[1:]:
    record(directory)
