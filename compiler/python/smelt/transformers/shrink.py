"""Small configurations: few layers, narrow widths, a small vocabulary, and no dropout."""

from __future__ import annotations

import dataclasses
from types import MappingProxyType
from typing import Any, Mapping, Optional

from transformers import PreTrainedConfig

from .exceptions import FIELDS, MODELS
from .rules import (
    ABSENT,
    IMAGES,
    STAGE,
    STRUCTURE,
    Rules,
    SpecialIds,
    highest_stage,
    indices,
    is_dropout,
    is_index_list,
    is_special_id,
    numbers,
    smaller,
    smaller_list,
    stages,
    widths,
)

PROFILES: dict[str, Rules] = {
    "narrow": STRUCTURE + widths(4, 16),
    "filled": STRUCTURE + widths(4, 16),
    "wide heads": STRUCTURE + widths(2, 128),
    "heads of 64": STRUCTURE + widths(2, 64),
    "large images": STRUCTURE + widths(4, 16)[len(IMAGES) :],
    "short": STRUCTURE,
    "default": [],
}
"""Rules by name, in the order in which they are tried. The later ones are for configurations that have fields without a
value, and for those whose fields depend on each other in ways that names do not show: sections of a head, stages of an
image, widths, and all of these."""
LAYERS = ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "depth", "encoder_layers", "decoder_layers")
KINDS = ("layer_types", "layers_block_type", "mlp_layer_types")
"""Fields with the kind of each layer."""


def small_config(
    config_class: type, profile: str = "narrow", given: Optional[Mapping[str, Any]] = None, model: str = ""
) -> PreTrainedConfig:
    """A small configuration of the class, whose parts are small, too. `given`: values that a whole sets in place of the
    class's defaults; `model`: the name of the model's class, which may have fields of its own. Throws what the class
    throws where its fields do not fit."""
    fields = MODELS.get(model, {})
    parts = {name: value for name, value in fields.items() if isinstance(value, Mapping)}
    fixed = {name: value for name, value in fields.items() if name not in parts}
    return Shrinker(profile).config(config_class, {**(given or {}), **parts}, fixed)


class Shrinker:
    """One tree of configurations, in which special tokens have the same ids."""

    def __init__(self, profile: str) -> None:
        self.rules = PROFILES[profile]
        self.is_narrow = len(self.rules) > len(STRUCTURE)
        self.absent = ABSENT if profile == "filled" else {}
        self.special = SpecialIds()

    def config(
        self, config_class: type, given: Mapping[str, Any], fixed: Mapping[str, Any] = MappingProxyType({})
    ) -> PreTrainedConfig:
        """`given`: values that a whole sets in place of the class's defaults; `fixed`: values that stay as they are."""
        values = {**_defaults(config_class), **given}
        fields = {**given, **self._parts(config_class, values)}
        fields.update(self._fields({name: v for name, v in values.items() if name not in fields or name in given}))
        own = {**FIELDS.get(config_class.__name__, {}), **fixed}
        fields.update(own)
        fields.update({n: v for n, v in self.absent.items() if n not in fields and n in values and values[n] is None})
        config, fault = _made(config_class, fields)
        kinds = {n: v for n, v in self._kinds(config_class, given, config).items() if n not in own}
        if not kinds and fault:
            raise fault
        return config_class(**{**fields, **kinds}) if kinds else config

    def _parts(self, config_class: type, values: Mapping[str, Any]) -> dict[str, PreTrainedConfig]:
        """Small configurations of the parts that it has by default."""
        parts = {}
        for name, spec in getattr(config_class, "sub_configs_defaults", {}).items():
            if (spec.optional and values.get(name) is None) or name in FIELDS.get(config_class.__name__, {}):
                continue
            given = values.get(name) if isinstance(values.get(name), Mapping) else spec.init_kwargs
            part = spec.config_class if issubclass(spec.config_class, PreTrainedConfig) else None
            part = part or spec.get_config_class(given.get("model_type", spec.model_type))
            parts[name] = self.config(part, {k: v for k, v in given.items() if k != "model_type"})
        return parts

    def _fields(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that change."""
        is_counted = any(isinstance(values.get(name), int) for name in LAYERS)
        before = next((values[name] for name in LAYERS if isinstance(values.get(name), int)), 2)
        lists = [len(set(value)) for name, value in values.items() if is_index_list(name, value) and min(value) >= 0]
        named = [highest_stage(stages(list(value))) for value in values.values() if isinstance(value, (list, tuple))]
        self.layers, self.before = max(2, 2, *lists, *named), before
        self.has_all_stages = any(named) and not is_counted
        found = {name: self._value(name, value, values) for name, value in values.items()}
        found = {name: value for name, value in found.items() if value is not None and value != values[name]}
        return {**found, "pad_token_id": 0} if "pad_token_id" in values and values["pad_token_id"] is None else found

    def _value(self, name: str, value: Any, values: Mapping[str, Any]) -> Any:
        if isinstance(value, bool):
            return False if name == "apply_spec_augment" else value
        if isinstance(value, (int, float)) and is_dropout(name):
            return type(value)(0)
        if isinstance(value, int):
            return self.special(value) if is_special_id(name) else self._number(name, value, values)
        if isinstance(value, (list, tuple)) and value:
            return type(value)(self._list(name, list(value)))
        return value

    def _list(self, name: str, value: list[Any]) -> list[Any]:
        if all(isinstance(each, str) for each in value):
            return stages(value) if self.rules and not self.has_all_stages else value
        if not numbers(value):
            return value
        if is_special_id(name):
            return list(map(self.special, value))
        if is_index_list(name, value):
            return indices(value, self.before, self.layers) if self.rules and not self.has_all_stages else value
        return smaller_list(name, value, self.rules)

    def _number(self, name: str, value: int, values: Mapping[str, Any]) -> int:
        """Widths that stages double begin with the unit of stages; as many heads of keys and values as there are heads
        stay as many."""
        if self.is_narrow and name == "embed_dim" and isinstance(values.get("num_heads"), (list, tuple)):
            return STAGE
        if name.endswith("key_value_heads") and value == values.get("num_attention_heads"):
            name = "num_attention_heads"
        small = smaller(name, value, self.rules)
        if name in LAYERS and small < value:
            return min(value, self.layers)
        return (
            min(value, 64)
            if "image_size" in name and small < value and isinstance(values.get("depths"), (list, tuple))
            else small
        )

    def _kinds(self, config_class: type, given: Mapping[str, Any], config: PreTrainedConfig) -> dict[str, Any]:
        """A layer of each kind, where a short model does not have all of them, and sections of a rotary embedding that
        fit a small head."""
        default, declared = config_class(**given), {each.name for each in dataclasses.fields(config_class)}
        found, present = {}, {}
        for name in declared.intersection(KINDS if self.rules else ()):
            kinds = getattr(default, name, None)
            if isinstance(kinds, list) and kinds:
                found[name] = list(dict.fromkeys(map(str, kinds)))
                present[name] = getattr(config, name, None) or []
        if any(set(kinds) != set(map(str, present[name])) or len(present[name]) > 8 for name, kinds in found.items()):
            longest = max(2, *(len(kinds) for kinds in found.values()))
            found = {n: [kinds[i % len(kinds)] for i in range(longest)] for n, kinds in found.items()}
            return {**found, **({"num_hidden_layers": longest} if found else {}), **self._sections(config)}
        return self._sections(config)

    def _sections(self, config: PreTrainedConfig) -> dict[str, Any]:
        rope = getattr(config, "rope_parameters", None)
        if not self.is_narrow or not isinstance(rope, dict) or not isinstance(rope.get("mrope_section"), list):
            return {}
        sections, half = rope["mrope_section"], (getattr(config, "head_dim", None) or 16) // 2
        if sum(sections) <= half or sum(sections) % half:
            return {}
        scale = sum(sections) // half
        small = [max(1, each // scale) for each in sections]
        small[0] += half - sum(small)
        return {"rope_parameters": {**rope, "mrope_section": small}}


def _made(config_class: type, fields: Mapping[str, Any]) -> tuple[Optional[PreTrainedConfig], Optional[Exception]]:
    try:
        return config_class(**fields), None
    except Exception as fault:
        return None, fault


def _defaults(config_class: type) -> dict[str, Any]:
    """The values of the fields that the class declares."""
    values = {}
    for each in dataclasses.fields(config_class):
        if each.default is not dataclasses.MISSING:
            values[each.name] = each.default
        elif each.default_factory is not dataclasses.MISSING:
            values[each.name] = each.default_factory()
    return values
