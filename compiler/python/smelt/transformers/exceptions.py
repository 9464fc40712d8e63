"""Fields of small configurations that names do not tell, by the class of the configuration, each with its reason."""

from __future__ import annotations

from typing import Any

SERIES = {"prediction_length": 4, "context_length": 16, "num_time_features": 2}

FIELDS: dict[str, dict[str, Any]] = {
    # Series have no length by default.
    "AutoformerConfig": SERIES,
    "InformerConfig": SERIES,
    "TimeSeriesTransformerConfig": SERIES,
    # The heads of a state-space layer have the width of the hidden state times its expansion.
    "Mamba2Config": {"num_heads": 8, "head_dim": 16},
    # One kind of attention per pair in a list of another form than one per layer.
    "GPTNeoConfig": {"attention_types": [[["global", "local"], 1]]},
    # Layers beyond the first ones share keys and values with one of the same kind.
    "Gemma3nTextConfig": {
        "num_hidden_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 2,
        "num_kv_shared_layers": 2,
        "activation_sparsity_pattern": [0.95, 0.0, 0.0, 0.0],
    },
    # The third layer of each three is attention.
    "RecurrentGemmaConfig": {"num_hidden_layers": 3},
    "ChameleonConfig": {"vocabulary_map": {"<image>": 10, "IMGIMGA": 11, "IMGIMGB": 12}},
    # By default all layers are of one kind, of which the model's own code cannot run a model.
    "GraniteMoeHybridConfig": {"layer_types": ["linear_attention", "full_attention"], "num_hidden_layers": 2},
    "BambaConfig": {"attn_layer_indices": [1]},
    # The images' width follows from lists of channels.
    "AlignConfig": {"projection_dim": 640},
    # A stage reads a rate that there is for deep ones alone.
    "CvtConfig": {"depth": [1, 2, 3]},
    # Languages and vocabularies that a checkpoint sets.
    "XmodConfig": {"default_language": "en_XX"},
    "Wav2Vec2BertConfig": {"vocab_size": 99},
    "Wav2Vec2ConformerConfig": {"vocab_size": 99},
    "EsmConfig": {"vocab_size": 33, "mask_token_id": 32, "position_embedding_type": "rotary"},
    # Parts that are not declared as such.
    "DbrxConfig": {
        "attn_config": {"kv_n_heads": 2, "clip_qkv": 1, "rope_theta": 10000.0},
        "ffn_config": {"hidden_size": 64, "ffn_hidden_size": 64, "moe_num_experts": 4, "moe_top_k": 2},
    },
    # Layers, by a name that does not say so.
    "CLIPSegConfig": {"extract_layers": [0, 1]},
    "DepthProConfig": {"patch_size": 32, "intermediate_hook_ids": [1, 0]},
    # Tokens of images are counted where one is named.
    "Blip2Config": {"image_token_index": 9, "num_query_tokens": 4},
    "InstructBlipConfig": {"image_token_index": 9, "num_query_tokens": 4},
    "InstructBlipVideoConfig": {"video_token_index": 9, "num_query_tokens": 4},
    # A rotary embedding per kind of layer, or with sections, that a checkpoint sets.
    "CohereCompassTextConfig": {
        "rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}},
    },
    "HunYuanVLTextConfig": {
        "head_dim": 16,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 2, 2, 2]},
    },
    # The channels of the network that timm gives by default.
    "EdgeTamVisionConfig": {
        "backbone_channel_list": [1024, 512, 256, 64],
        "backbone_feature_sizes": [[8, 8], [4, 4], [2, 2]],
    },
    "EdgeTamPromptEncoderConfig": {"patch_size": 16},
    # Keys in pools of some, of which as many are chosen as is a multiple of a pool.
    "Glm5NextTextConfig": {"index_kpool": 4},
    # Experts, and layers that read an image's features, that a checkpoint sets.
    "DiffusionGemmaTextConfig": {"num_experts": 4, "top_k_experts": 2, "moe_intermediate_size": 32},
    "Granite4VisionConfig": {"deepstack_layer_map": [[-2, 0]], "spatial_target_layers": [1], "downsample_rate": "1/2"},
    # Without this loss it needs the images of another network.
    "FlavaConfig": {"return_loss": False},
    # Layers of another part.
    "Molmo2AdapterConfig": {"vision_feature_layer": [1, 0]},
    # The model's code reads it, the configuration has it in a part alone.
    "MoonshineStreamingConfig": {"num_key_value_heads": 4},
    # One entry a layer in lists of sizes.
    "MuseSparkAudioConfig": {"num_hidden_layers": 4},
    # Widths by names of its own.
    "PerceiverConfig": {"num_latents": 8, "d_latents": 64, "num_self_attends_per_block": 2},
}
