"""Inputs that names do not tell, by the class of the model: what its forward takes, of the model's configuration."""

from __future__ import annotations

from typing import Any, Callable

import torch

from .forms import Batches, Form, ids, normal, ones, padding, positions, uniform, with_image

LEAST = 20
"""Ids of special tokens are below."""
TEXT = ("B", "T")


def words(config: Any) -> Form:
    return Form(TEXT, ids(config.get_text_config().vocab_size, LEAST))


def fixed(*values: int) -> Callable[[tuple[int, ...], torch.Generator], torch.Tensor]:
    """The same integers in each row."""
    return lambda shape, generator: torch.tensor(values).expand(shape).clone()


def text_with_image(config: Any, token: int, count: int) -> dict[str, Form]:
    """A text of T tokens behind an image of some, and its mask."""
    dims = ("B", ("T", 1, count))
    return {
        "input_ids": Form(dims, with_image(words(config).fill, token, count)),
        "attention_mask": Form(dims, padding),
    }


def image(config: Any) -> Form:
    side = config.image_size
    height, width = side if isinstance(side, (list, tuple)) else (side, side)
    return Form(("B", config.num_channels, height, width), normal)


def patches_of_images(name: str, sides: tuple[int, ...], sizes: str, width: Callable[[Any], int]) -> Callable[[Any], Batches]:
    """Images in a row of patches each: their patches, in rows of `width` numbers, and how many there are in each
    direction."""
    count = 1
    for side in sides:
        count *= side

    def made(config: Any) -> Batches:
        return Batches({name: Form((("B", count, 0), width(config)), normal), sizes: Form(("B", len(sides)), fixed(*sides))})

    return made


def images_in_rows(config: Any) -> Batches:
    """Patches that are images, 16 a picture."""
    side = config.patch_size
    patches = Form((("B", 16, 0), 3, side, side), normal)
    return Batches({"pixel_values": patches, "grid_thw": Form(("B", 3), fixed(1, 4, 4))})


def images_in_one(config: Any) -> Batches:
    """The patches of all images beside each other, 16 a picture."""
    side = config.patch_size
    patches = Form((1, config.num_channels, side, ("B", 16 * side, 0)), normal)
    return Batches({"pixel_values": patches, "target_sizes": Form(("B", 2), fixed(4, 4))})


def area(config: Any) -> int:
    """The numbers of a patch."""
    channels = getattr(config, "in_channels", None) or config.num_channels
    return channels * getattr(config, "temporal_patch_size", 1) * config.patch_size**2


def codes_of_bark(config: Any) -> Batches:
    limit = min(config.input_vocab_size, config.output_vocab_size)
    return Batches({"input_ids": Form(("B", "T", config.n_codes_total), ids(limit))}, {"codebook_idx": 2})


def steps_of_games(config: Any) -> Batches:
    widths = {"states": config.state_dim, "actions": config.act_dim, "rewards": 1, "returns_to_go": 1}
    forms = {name: Form((*TEXT, width), normal) for name, width in widths.items()}
    return Batches({**forms, "timesteps": Form(TEXT, positions), "attention_mask": Form(TEXT, padding)})


def entities(count: int) -> Callable[[Any], Batches]:
    """Entities beside a text, each of which stands for some of its first tokens."""

    def made(config: Any) -> Batches:
        return Batches(
            {
                "input_ids": words(config),
                "attention_mask": Form(TEXT, padding),
                "entity_ids": Form(("B", count), ids(config.entity_vocab_size)),
                "entity_attention_mask": Form(("B", count), ones),
                "entity_position_ids": Form(("B", count, 6), fixed(1, 2, 3, -1, -1, -1)),
            }
        )

    return made


def masked_image(config: Any) -> Batches:
    """Half of the patches of a video, the same number in each row."""
    count = (config.image_size // config.patch_size) ** 2 * (config.num_frames // config.tubelet_size)
    video = ("B", config.num_frames, config.num_channels, config.image_size, config.image_size)
    half = fixed(*(i % 2 for i in range(count)))
    return Batches(
        {"pixel_values": Form(video, normal), "bool_masked_pos": Form(("B", count), lambda s, g: half(s, g).bool())}
    )


def ended_texts(config: Any) -> Batches:
    """Texts with a token for their end at the end."""

    def fill(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        found = words(config).fill(shape, generator)
        found[:, -1] = config.eos_token_id
        return found

    answers = Form(TEXT, ids(config.vocab_size, LEAST))
    return Batches(
        {"input_ids": Form(TEXT, fill), "attention_mask": Form(TEXT, ones), "decoder_input_ids": answers}, {"use_cache": False}
    )


def text_for_music(config: Any) -> Batches:
    """A text, and for each row as many rows of codes as there are codebooks."""
    decoder = config.decoder
    codes = Form((("B", decoder.num_codebooks, 0), "S"), ids(decoder.vocab_size))
    text = Form(TEXT, ids(config.text_encoder.vocab_size, LEAST))
    return Batches(
        {"input_ids": text, "attention_mask": Form(TEXT, padding), "decoder_input_ids": codes}, {"use_cache": False}
    )


def image_for_kosmos(config: Any) -> Batches:
    count = config.latent_query_num

    def place(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        found = torch.zeros(shape, dtype=torch.int64)
        found[:, 1 : 1 + count] = 1
        return found

    dims = ("B", ("T", 1, count))
    forms = {"input_ids": Form(dims, words(config).fill), "attention_mask": Form(dims, padding)}
    forms["image_embeds_position_mask"] = Form(dims, place)
    return Batches({"pixel_values": image(config.vision_config), **forms}, {"use_cache": False})


def images_of_robots(config: Any) -> dict[str, Form]:
    vision = config.vlm_config.vision_config
    count = (vision.image_size // vision.patch_size) ** 2
    cameras = Form(("B", 1, 3, vision.image_size, vision.image_size), normal)
    seen = Form(("B", 1), lambda shape, generator: torch.ones(shape, dtype=torch.bool))
    text = text_with_image(config.vlm_config, config.vlm_config.image_token_id, count)
    text["attention_mask"] = Form(text["attention_mask"].dims, ones)
    return {**text, "pixel_values": cameras, "pixel_attention_mask": seen}


def actions_of_robots(config: Any) -> Batches:
    actions = Form(("B", config.chunk_size + 1, config.dit_config.hidden_size), normal)
    return Batches({"action_embeds": actions, **images_of_robots(config)})


def image_in_units(config: Any) -> Batches:
    """An image, and a number per unit, of which the least ones are seen."""
    unit = config.patch_stride[0] * config.masked_unit_size[0]
    units = (config.image_size[0] // unit) * (config.image_size[1] // unit)
    return Batches({"pixel_values": image(config), "noise": Form(("B", units), uniform)})


def two_images(config: Any) -> Batches:
    """Two images above each other, of which the second one is masked."""
    half = Form(("B", config.num_channels, config.image_size[0] // 2, config.image_size[1]), normal)
    return Batches({name: half for name in ("pixel_values", "prompt_pixel_values", "prompt_masks")})


def robots(config: Any) -> Batches:
    noise = Form(("B", config.chunk_size, config.max_action_dim), normal)
    state = Form(("B", config.max_state_dim), normal)
    return Batches({"state": state, "noise": noise, "timestep": Form(("B",), uniform), **images_of_robots(config)})


def drafts(config: Any) -> Batches:
    width = config.hidden_size
    layers = len(getattr(config, "target_layer_ids", None) or [0])
    return Batches(
        {
            "noise_embeds": Form(("B", "T", width), normal),
            "context_hidden_states": Form(("B", 7, width * layers), normal),
            "attention_mask": Form(("B", 1, "T", ("T", 1, 7)), lambda shape, generator: ones(shape, generator).bool()),
        }
    )


def named_classes(config: Any) -> Batches:
    """Names of two classes of objects, and a task in words."""
    limit = config.get_text_config().vocab_size if hasattr(config, "get_text_config") else 128
    limit = config.text_config.vocab_size if getattr(config, "text_config", None) is not None else limit
    two = ("B", 2, 0)
    return Batches(
        {
            "pixel_values": Form(("B", 3, config.image_size, config.image_size), normal),
            "classes_input_ids": Form((two, 5), ids(limit, LEAST)),
            "classes_attention_mask": Form((two, 5), ones),
            "tasks_input_ids": Form(("B", 6), ids(limit, LEAST)),
            "tasks_attention_mask": Form(("B", 6), ones),
            "classes_structure": Form(("B",), fixed(2)),
        }
    )


def series_with_padding(config: Any) -> Batches:
    length = ("T", config.patch_length, 0)
    begun = lambda shape, generator: torch.zeros(shape)  # noqa: E731
    return Batches(
        {
            "past_values": Form(("B", length), normal),
            "past_values_padding": Form(("B", length), begun),
            "freq": Form(("B", 1), ids(config.freq_size)),
        }
    )


def sound_for_phi(config: Any) -> Batches:
    return Batches({"hidden_states": Form(("B", ("T", 8, 0), config.input_size), normal)}, {"mask": None})


def protein_and_text(config: Any) -> Batches:
    protein = ("B", 8)
    return Batches(
        {
            "input_ids": words(config),
            "attention_mask": Form(TEXT, padding),
            "protein_input_ids": Form(protein, ids(config.protein_encoder_config.vocab_size, LEAST)),
            "protein_attention_mask": Form(protein, ones),
        },
        {"use_cache": False},
    )


def documents(config: Any) -> Batches:
    """Texts of documents that were found for each row, and their scores."""
    count = config.n_docs
    dims, vocabulary = (("B", count, 0), "T"), config.generator.vocab_size
    return Batches(
        {
            "context_input_ids": Form(dims, ids(vocabulary, LEAST)),
            "context_attention_mask": Form(dims, padding),
            "doc_scores": Form(("B", count), normal),
            "decoder_input_ids": Form(("B", "S"), ids(vocabulary, LEAST)),
        },
        {"use_cache": False},
    )


def small_images(config: Any) -> Batches:
    return Batches({"inputs": Form(("B", 3, 32, 32), normal)})


def video_and_text(config: Any) -> Batches:
    """A batch of one: the model's code takes no other."""
    side = config.max_img_size
    return Batches(
        {
            "input_ids": Form((1, "T"), words(config).fill),
            "attention_mask": Form((1, "T"), padding),
            "pixel_values": Form((1, config.num_frames, 3, side, side), normal),
        }
    )


def samples(config: Any) -> Batches:
    hop = 1
    for rate in config.downsampling_ratios:
        hop *= rate
    return Batches({"hidden_states": Form(("B", config.channels, ("T", hop, 0)), normal)})


ENDED = ("Bart", "BigBirdPegasus", "LED", "MBart", "MT5", "Mvp", "PLBart", "T5", "UMT5")
"""Models whose classifiers read the last token that ends a text."""
ARGUMENTS: dict[str, Callable[[Any], Batches]] = {
    "BarkFineModel": codes_of_bark,
    "DecisionTransformerModel": steps_of_games,
    "EvollaForProteinText2Text": protein_and_text,
    "EvollaModel": protein_and_text,
    "Exaone4_5_VisionModel": patches_of_images("hidden_states", (1, 4, 4), "grid_thw", area),
    "HieraForPreTraining": image_in_units,
    "Kimi_K25VisionModel": images_in_rows,
    "Kosmos2ForConditionalGeneration": image_for_kosmos,
    "Kosmos2Model": image_for_kosmos,
    "Lfm3VlVisionModel": patches_of_images("pixel_values", (1, 4, 4), "grid_thw", area),
    "LukeForEntityClassification": entities(1),
    "LukeForEntityPairClassification": entities(2),
    "MiniCPMOcrVisionModel": images_in_one,
    "MiniCPMV4_7VisionModel": images_in_one,
    "MuseGlimmerAssistantModel": drafts,
    "MusicgenForConditionalGeneration": text_for_music,
    "MusicgenMelodyForConditionalGeneration": text_for_music,
    "OmDetTurboForObjectDetection": named_classes,
    "PI0ForConditionalGeneration": robots,
    "PI0Model": actions_of_robots,
    "PPOCRV5MobileDetModel": lambda config: Batches({"hidden_states": Form(("B", 3, 64, 64), normal)}),
    "PerceiverForImageClassificationConvProcessing": small_images,
    "PerceiverForImageClassificationFourier": small_images,
    "PerceiverForImageClassificationLearned": small_images,
    "Phi4MultimodalAudioModel": sound_for_phi,
    "RagModel": documents,
    "RagSequenceForGeneration": documents,
    "RagTokenForGeneration": documents,
    "SegGptForImageSegmentation": two_images,
    "SegGptModel": two_images,
    "TimesFmModel": series_with_padding,
    "TvpForVideoGrounding": video_and_text,
    "TvpModel": video_and_text,
    "VibeVoiceAcousticTokenizerEncoderModel": samples,
    "VideoMAEForPreTraining": masked_image,
    **{f"{name}ForSequenceClassification": ended_texts for name in ENDED},
}
