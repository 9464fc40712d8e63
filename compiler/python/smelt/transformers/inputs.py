"""Batches of inputs, made from the arguments that a model's forward has and from the model's configuration."""

from __future__ import annotations

import inspect
from itertools import islice, product
from typing import Any, Callable, Iterator, Optional

import torch

from .arguments import ARGUMENTS
from .forms import Batches, Form, Sizes, boolean_padding, boxes, ids, normal, ones, padding, positions, uniform, with_image
from .rules import FIRST_SPECIAL

OTHERS = (
    "pixel_values",
    "input_ids",
    "inputs_embeds",
    "decoder_input_ids",
    "decoder_inputs_embeds",
    "input_features",
    "input_values",
    "visual_feats",
    "decoder_input_values",
    "question_positions",
)
MASKS = {"input_ids": "attention_mask", "pixel_values": "image_attention_mask", "visual_feats": "visual_pos"}
"""Masks, or places, that some models ask for with an input."""
IMAGE_TOKENS = ("image_token_id", "image_token_index")
SHORTEST = 5
"""Tokens that every text has."""
MOST_FORMS = 72
"""How many combinations of forms of inputs are tried."""


class Unknown(Exception):
    """An argument that forward requires and nothing here can make."""


# ---- what the configuration says


def parts(config: Any) -> list[Any]:
    """The configuration and its parts, the whole first."""
    found = [config]
    for name in getattr(type(config), "sub_configs", None) or {}:
        part = getattr(config, name, None)
        if part is not None and hasattr(part, "to_dict"):
            found += parts(part)
    return found


def number(config: Any, names: tuple[str, ...], otherwise: int) -> int:
    """The first of these fields that is a number, in the whole or a part; of a pair its first."""
    for part in parts(config):
        for name in names:
            value = getattr(part, name, None)
            value = value[0] if isinstance(value, (list, tuple)) and value else value
            if isinstance(value, int) and not isinstance(value, bool):
                return value
    return otherwise


class Maker:
    """Forms of the arguments of one model's forward."""

    def __init__(self, model: torch.nn.Module) -> None:
        self.model = model
        self.config = model.config
        self.name = type(model).__name__
        self.parameters = {
            n: p for n, p in inspect.signature(model.forward).parameters.items() if p.kind != p.VAR_KEYWORD
        }

    def batches(self) -> Iterator[Batches]:
        """In the order in which they are to be tried."""
        if self.name in ARGUMENTS:
            yield ARGUMENTS[self.name](self.config)
        yield from self._texts_with_images()
        for names in self._choices(self._names()):
            forms = {name: self._forms(name) for name in names}
            for chosen in islice(product(*forms.values()), MOST_FORMS):
                yield Batches(dict(zip(forms, chosen)), self._constants())

    def _texts_with_images(self) -> Iterator[Batches]:
        """Texts in which an image stands for as many tokens as the model makes features of it."""
        token = next((v for n in IMAGE_TOKENS if isinstance(v := getattr(self.config, n, None), int)), None)
        if token is None or not {"input_ids", "pixel_values"} <= set(self.parameters):
            return
        for image in self._images():
            count = self._features_of(image)
            names = [name for name in self._with_text(self._names()) if name != "pixel_values"] if count else []
            forms = {name: self._forms(name)[0] for name in names}
            if "input_ids" in forms:
                dims = ("B", ("T", 1, count))
                forms["input_ids"] = Form(dims, with_image(forms["input_ids"].fill, token, count))
                forms.update({"attention_mask": Form(dims, padding)} if "attention_mask" in forms else {})
                yield Batches({**forms, "pixel_values": image}, self._constants())

    def _with_text(self, names: list[str]) -> list[str]:
        text = [name for name in ("input_ids", "attention_mask") if name in self.parameters]
        return list(dict.fromkeys([*names, *text]))

    def _features_of(self, image: Form) -> int:
        """How many tokens an image is; 0 where the model does not take it."""
        generator = torch.Generator().manual_seed(0)
        try:
            with torch.no_grad():
                found = self.model.get_image_features(pixel_values=image.make({"B": 2, "T": 8, "S": 8}, generator))
        except Exception:  # a model that has none, or takes images of another form
            return 0
        found = getattr(found, "pooler_output", found)
        leaves = [x for x in torch.utils._pytree.tree_leaves(found) if isinstance(x, torch.Tensor)]
        return sum(x.numel() // x.shape[-1] for x in leaves) // 2 if leaves else 0

    def _choices(self, names: list[str]) -> Iterator[list[str]]:
        """All names, those without ids for a decoder, which some heads make of the encoder's, and with another input, for
        models whose forward asks for one in its code alone."""
        yield names
        if "decoder_input_ids" in names:
            yield [name for name in names if name != "decoder_input_ids"]
        for name in OTHERS:
            if name in self.parameters and name not in names:
                yield [*names, name]
                for mask in [n for n in (MASKS.get(name),) if n in self.parameters]:
                    yield [*names, name, mask]
        if "input_ids" not in names and "input_ids" in self.parameters:
            yield self._with_text([])
        if "input_ids" in names and "inputs_embeds" in self.parameters:
            yield ["inputs_embeds" if name == "input_ids" else name for name in names]

    def _names(self) -> list[str]:
        main = self.model.main_input_name
        main = main if isinstance(main, (list, tuple)) else [main]
        names = [n for n in main if n in self.parameters]
        names += [
            n
            for n, p in self.parameters.items()
            if p.default is p.empty and p.kind != p.VAR_POSITIONAL and n not in names
        ]
        if "input_ids" in names and "attention_mask" in self.parameters:
            names.append("attention_mask")
        if self._needs_decoder_ids():
            names.append("decoder_input_ids")
        names += [n for n in ("bbox", "noise") if n in self.parameters]
        if "input_ids" in names and "pixel_values" in self.parameters and self._is_two_towers():
            names.append("pixel_values")
        return list(dict.fromkeys(names))

    def _needs_decoder_ids(self) -> bool:
        return "decoder_input_ids" in self.parameters and bool(getattr(self.config, "is_encoder_decoder", False))

    def _is_two_towers(self) -> bool:
        """A text and an image that are compared, not an image within a text."""
        return "return_loss" in self.parameters

    def _constants(self) -> dict[str, Any]:
        return {"use_cache": False} if "use_cache" in self.parameters else {}

    def _forms(self, name: str) -> list[Form]:
        makers: dict[str, Callable[[], list[Form]]] = {
            "input_ids": self._ids,
            "decoder_input_ids": lambda: [Form(("B", "S"), ids(self._vocabulary(), self._least()))],
            "attention_mask": lambda: [Form(self._ids()[0].dims, padding)],
            "image_attention_mask": lambda: [Form(("B", "T", 1), ones)],
            "pixel_values": self._images,
            "pixel_values_videos": self._videos,
            "noise": lambda: [Form(("B", self._patches()), uniform)],
            "prompt_pixel_values": lambda: self._images()[:1],
            "prompt_masks": lambda: self._images()[:1],
            "input_values": self._signals,
            "input_features": self._spectrograms,
            "bbox": lambda: [Form(("B", "T", 4), boxes(number(self.config, ("max_2d_position_embeddings",), 128)))],
            "past_values": self._series,
            "decoder_input_values": lambda: [Form(("B", "S", number(self.config, ("num_mel_bins",), 80)), normal)],
            "question_positions": lambda: [Form(("B", 2), ids(SHORTEST))],
            "task_inputs": lambda: [Form(("B", number(self.config, ("task_seq_len",), 77)), ids(self._vocabulary()))],
            "hidden_states": lambda: [Form(("B", "T", self._width()), normal), Form(("B", self._width(), "T"), normal)],
            "inputs_embeds": lambda: [Form(("B", "T", self._width()), normal)],
            "encoder_hidden_states": lambda: [Form(("B", 5, self._width()), normal)],
            "query_embeds": lambda: [Form(("B", 8, self._width()), normal)],
            "decoder_inputs_embeds": lambda: [Form(("B", "S", self._width()), normal)],
            "visual_feats": lambda: [Form(("B", "T", number(self.config, ("visual_feat_dim",), 64)), normal)],
            "visual_pos": lambda: [Form(("B", "T", 4), uniform)],
            "past_time_features": lambda: [
                Form(("B", self._past(), number(self.config, ("num_time_features",), 1)), normal)
            ],
            "past_observed_mask": lambda: [Form(("B", self._past()), ones)],
            "position_ids": lambda: [Form(("B", "T"), positions)],
            "latents": self._latents,
            "flattened_patches": lambda: [Form(("B", "T", 2 + self._patch_area()), uniform)],
            "inputs": lambda: [*self._ids(), Form(("B", "T", self._width()), normal), *self._signals()],
            "bool_masked_pos": lambda: [Form(("B", self._patches()), lambda s, g: torch.rand(s, generator=g) < 0.5)],
            "input_features_mask": lambda: [Form(("B", "T"), boolean_padding)],
        }
        kind = next((each for each in ("input_ids", "attention_mask") if name.endswith(each)), "")
        if name not in makers and not kind:
            raise Unknown(name)
        return makers[name if name in makers else kind]()

    # ---- tokens

    def _vocabulary(self) -> int:
        return number(self.config, ("vocab_size", "n_words", "text_vocab_size", "codebook_size", "num_embeddings"), 64)

    def _least(self) -> int:
        """Ids of special tokens come first, and are in no text."""
        return max(FIRST_SPECIAL, *self._special(), 0) + 1

    def _special(self) -> list[int]:
        fields = [vars(part) for part in parts(self.config)]
        found = [
            v
            for values in fields
            for n, v in values.items()
            if n.endswith(("token_id", "token_index")) and isinstance(v, int)
        ]
        return [v for v in found if v < self._vocabulary() // 2] or [0]

    def _ids(self) -> list[Form]:
        fill = ids(self._vocabulary(), self._least())
        books = number(self.config, ("num_codebooks", "n_codebooks", "num_quantizers"), 0)
        forms = [Form(("B", "T"), fill)]
        if "MultipleChoice" in self.name:
            forms = [Form(("B", 2, "T"), fill)]
        if books:
            forms += [Form(("B", "T", books), fill), Form(("B", books, "T"), fill)]
        return forms

    def _width(self) -> int:
        return number(self.config, ("hidden_size", "d_model", "n_embd", "embed_dim", "dim"), 64)

    # ---- images

    def _side(self) -> int:
        return number(self.config, ("image_size", "img_size", "input_size", "image_resolution"), 64)

    def _channels(self) -> int:
        return number(self.config, ("num_channels", "in_channels", "in_chans", "channels"), 3)

    def _patch_area(self) -> int:
        area = self._channels() * number(self.config, ("patch_size",), 8) ** 2
        return number(self.config, ("patch_embed_hidden_size",), area)

    def _patches(self) -> int:
        return (self._side() // number(self.config, ("patch_size",), 8)) ** 2

    def _images(self) -> list[Form]:
        channels, side = self._channels(), self._side()
        frames = number(self.config, ("num_frames", "frames_per_clip"), 4)
        forms = [Form(("B", channels, side, side), normal), Form(("B", frames, channels, side, side), normal)]
        if hasattr(self.config, "num_frames") or hasattr(self.config, "tubelet_size"):
            forms.reverse()
        forms += [Form(("B", channels, each, each), normal) for each in (64, 128)]
        forms += [Form(("B", each, channels, side, side), normal) for each in (1, 2)]
        return [*forms, Form(("B", "T", self._patch_area()), normal)]

    def _videos(self) -> list[Form]:
        frames = number(self.config, ("num_frames", "frames_per_clip"), 4)
        return [Form(("B", frames, self._channels(), self._side(), self._side()), normal)]

    def _latents(self) -> list[Form]:
        channels = number(self.config, ("latent_channels", "in_channels", "latent_dim"), 4)
        return [
            Form(("B", channels, 8, 8), normal),
            *(Form(dims, normal) for n in (channels, self._width()) for dims in (("B", n, "T"), ("B", "T", n))),
        ]

    # ---- sound

    def _signals(self) -> list[Form]:
        """Samples, or a spectrogram of a fixed length."""
        bins = number(self.config, ("num_mel_bins", "feature_size", "model_in_dim"), 80)
        steps = number(self.config, ("max_length",), 64)
        long, short = ("T", 64, 400), ("T", 320, 3200)
        channels = number(self.config, ("audio_channels", "input_channels"), 1)
        forms = [Form(("B", long), normal), Form(("B", short), normal), Form(("B", channels, long), normal)]
        forms += [Form(("B", channels, short), normal), Form(("B", "T", bins), normal), Form(("B", bins, "T"), normal)]
        steps_of_hops = [Form(("B", *rest, ("T", hop, 0)), normal) for hop in self._hop() for rest in ((), (channels,))]
        forms = [*steps_of_hops, *forms]
        spectrogram = Form(("B", steps, bins), normal)
        return [spectrogram, *forms] if hasattr(self.config, "frequency_stride") else [*forms, spectrogram]

    def _hop(self) -> list[int]:
        """How many samples a step is, where the configuration tells it."""
        found = [getattr(self.config, name, None) for name in ("encoder_hop_length", "hop_length")]
        return [each for each in found if isinstance(each, int)][:1]

    def _spectrograms(self) -> list[Form]:
        bins = number(
            self.config, ("num_mel_bins", "input_feat_per_channel", "feature_size", "input_dim", "n_mels"), 80
        )
        positions = number(self.config, ("max_source_positions", "max_position_embeddings"), 64)
        forms = [
            Form(("B", bins, 2 * positions), normal),
            Form(("B", ("T", 8, 0), bins), normal),
            Form(("B", bins, ("T", 8, 0)), normal),
        ]
        return [
            *forms,
            Form(("B", "T", self._feature_width()), normal),
            Form(("B", 1, 64, bins), normal),
            Form(("B", 1, 1024, bins), normal),
            *(Form(("B", "T", width), normal) for width in self._first_width()),
        ]

    def _first_width(self) -> list[int]:
        """What the first matrix of the model reads."""
        found = (part.in_features for part in self.model.modules() if isinstance(part, torch.nn.Linear))
        return list(islice(found, 1))

    def _feature_width(self) -> int:
        return number(self.config, ("feature_projection_input_dim", "input_size", "hidden_size"), 64)

    # ---- series of numbers

    def _past(self) -> int:
        lags = getattr(self.config, "lags_sequence", None) or [0]
        return number(self.config, ("context_length", "context_size"), 32) + max(lags)

    def _series(self) -> list[Form]:
        length = self._past()
        channels = number(self.config, ("num_input_channels", "input_size"), 1)
        patch = number(self.config, ("patch_length",), 8)
        return [
            Form(("B", length), normal),
            Form(("B", length, channels), normal),
            Form(("B", ("T", patch, 0)), normal),
        ]


def first_that_runs(model: torch.nn.Module, sizes: Sizes) -> tuple[Optional[Batches], str]:
    """The first batches that the model takes, or the first complaint."""
    complaint = ""
    for batches in Maker(model).batches():
        try:
            with torch.no_grad():
                model(**batches.make(sizes))
            return batches, ""
        except Exception as problem:
            complaint = complaint or f"{type(problem).__name__}: {problem}"
    return None, complaint
