"""What the fields of a configuration become in a small one, by their names."""

from __future__ import annotations

import math
import re
from typing import Any, Callable

VOCABULARY, POSITIONS = 128, 128
STAGE = 16
"""The unit of widths that grow from stage to stage."""
FIRST_SPECIAL = 10
"""The first id that stands for a special token beyond the small vocabulary."""


class SpecialIds:
    """Ids of special tokens beyond the small vocabulary, each replaced by the same small id wherever it is used."""

    def __init__(self) -> None:
        self.found: dict[int, int] = {}

    def __call__(self, old: int) -> int:
        if old < FIRST_SPECIAL:
            return old
        return self.found.setdefault(old, FIRST_SPECIAL + len(self.found))


def most(limit: int) -> Callable[[int], int]:
    return lambda old: min(old, limit)


def kept(old: int) -> int:
    return old


def width(limit: int) -> Callable[[int], int]:
    """A width of 64 and more; smaller ones are counts of something else."""
    return lambda old: limit if old >= 64 else old


def grouped(old: int) -> int:
    """Heads of keys and values: one, or half as many as there are heads."""
    return min(old, 2)


def patch(old: int) -> int:
    return 8 if old >= 8 else old


Rules = list[tuple[str, Callable[[int], int]]]
"""The first pattern that is found in a name counts."""

STRUCTURE: Rules = [
    (r"chunk_size_feed_forward|num_channels|type_vocab|num_labels|max_depth", kept),
    (r"vocab|^n_words$|num_hash_buckets", most(VOCABULARY)),
    (r"^num_(kv_shared|dense)_layers|first_k_dense|max_window_layers|insert_layer_id|^num_nextn|mtp_layers", most(1)),
    (r"num_hidden_layers|num_layers|^n_layers?$|^depth$|layers$|^num_blocks$|num_encoder_blocks", most(2)),
    (r"_period$", most(2)),
    (r"_offset$", most(1)),
    (
        r"max_.*position|^n_positions$|max_seq|context_length|^n_ctx$|max_source|max_target|max_text_len|seq_length",
        most(POSITIONS),
    ),
    (r"(num_experts|routed_experts|local_experts)$|expert_num", most(4)),
    (r"experts_per_tok|moe_topk|^top_k|moe_k$", most(2)),
]
"""Depths, vocabularies, lengths and experts."""
IMAGES: Rules = [(r"image_size|^img_size|input_size", most(32)), (r"patch_size", patch)]


def widths(heads: int, head: int) -> Rules:
    """For models with heads of this width."""
    hidden = heads * head
    return IMAGES + [
        (
            r"sliding_window$|sliding_window_size|local_attention|attention_chunk_size|attention_window|index_topk",
            most(8),
        ),
        (r"^window_size$", most(2)),
        (r"topk|n_groups?$", most(2)),
        (
            r"kernel|stride|dilation|padding|window|pattern|interval|_every_|frequency|bucket|scale|rate$|ratio|temperature",
            kept,
        ),
        (r"upsample_groups", width(hidden)),
        (r"(key_value|kv)_heads", grouped),
        (r"mamba_n_heads|linear_num_value_heads", most(2 * heads)),
        (
            r"index_n_heads",
            most(16),
        ),  # with few, scores of several keys are 0, and which of them is among the best is open
        (r"heads?$", most(heads)),
        (r"rank$", most(16)),
        (r"head_dim|head_size|^d_kv$|kv_channels|d_head|rotary_dim|d_state|state_size", most(head)),
        (r"moe_intermediate|expert_.*intermediate", most(32)),
        (r"intermediate|ffn|feed_?forward|^d_ff|d_inner|mlp_dim|hidden_dim_?ff", width(2 * hidden)),
        (r"num_queries|num_proposals", most(10)),
        (r"num_frames|frames_per_clip", most(4)),
        (r"codebook_size|num_embeddings|codevectors", most(64)),
        (r"size|dim|width|d_model|n_embd|channels|units|features|filters", width(hidden)),
    ]


ABSENT: dict[str, Any] = {
    "num_key_value_heads": 4, "head_dim": 16, "n_routed_experts": 4, "num_experts": 4, "num_local_experts": 4, "num_experts_per_tok": 2,
    "moe_intermediate_size": 32, "intermediate_size": 128, "vocab_size": VOCABULARY, "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "layer_types": ["full_attention"] * 2, "mlp_layer_types": ["dense", "sparse"], "sliding_window": 8, "index_topk": 8,
    "shared_expert_intermediate_size": 32, "kv_lora_rank": 16, "q_lora_rank": 16, "n_group": 1, "topk_group": 1, "n_shared_experts": 1,
}  # fmt: skip
"""Fields that a checkpoint sets and the class does not."""


def smaller(name: str, old: int, rules: Rules) -> int:
    for pattern, rule in rules:
        if re.search(pattern, name):
            return rule(old)
    return old


def is_special_id(name: str) -> bool:
    return bool(
        re.search(r"(token|pad|bos|eos|sep|cls|mask|unk|blank)_?(id|index)s?$|(bo|eo|start|end)\w*_(id|index)$", name)
    )


def is_index_list(name: str, value: Any) -> bool:
    return bool(re.search(r"ind(ex|ice)|layer_id", name)) and numbers(value)


def indices(old: list[int], before: int, layers: int) -> list[int]:
    """As many different layers of a model with fewer; `before`: how many it has by default."""
    if max(old) < layers:
        return old
    first = 1 if max(old) == before else 0
    places = {each: first + i for i, each in enumerate(sorted(each for each in set(old) if each >= 0))}
    return list(dict.fromkeys(places.get(each, each) for each in old))


def highest_stage(names: list[Any]) -> int:
    """4 of ["stage2", "stage4"]; 0 of other lists."""
    found = [re.fullmatch(r"stage(\d+)", str(each)) for each in names]
    return max((int(each[1]) for each in found if each), default=0) if all(found) else 0


def stages(old: list[Any]) -> list[Any]:
    """Names of layers, such as stage12 of a model that has fewer."""
    return [f"stage{i + 1}" for i in range(len(old))] if highest_stage(old) > 4 else old


def smaller_list(name: str, old: list[int], rules: Rules) -> list[int]:
    """A list with an element per stage keeps its length, and the proportions of widths; one of the same width for all
    stages has what becomes of that width."""
    if re.search(r"depth|num_block|layers_per|^layers$", name):
        return [min(each, 2 if len(old) <= 4 else 1) for each in old]
    if re.search(r"image_size|patch_size", name):
        return [smaller(name, each, rules) for each in old]
    if re.search(r"channels|dims?$|_size", name) and len(old) > 1 and len(set(old)) == 1:
        return [smaller(name, each, rules) for each in old]
    unit = math.gcd(*old)
    if re.search(r"heads", name) and unit > 1 and rules:
        return [each // unit for each in old]
    is_width = (
        rules and re.search(r"size|dim|channels|width", name) and not re.search(r"kernel|stride|window|patch", name)
    )
    return [each // unit * STAGE for each in old] if is_width and unit > STAGE else old


def is_dropout(name: str) -> bool:
    return bool(re.search(r"drop|pdrop|mask_(time|feature)_prob|jitter", name))


def numbers(value: Any) -> bool:
    is_number = (
        all(isinstance(x, int) and not isinstance(x, bool) for x in value)
        if isinstance(value, (list, tuple))
        else False
    )
    return is_number and len(value) > 0
