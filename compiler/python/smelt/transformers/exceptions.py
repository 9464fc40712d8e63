"""Fields of small configurations that names do not tell, by the class of the configuration, each with its reason."""

from __future__ import annotations

from typing import Any

LARGE_KERNELS = {
    f"{kind}_{ratio}ratio": [[3, 1], [1, 1], [1, 0]] if "vertical" in kind else [[1, 3], [1, 1], [0, 1]]
    for kind in ("vertical_long_to_small_conv", "horizontal_small_to_long_conv")
    for ratio in ("long", "mid", "short")
}
KERNELS = {
    "reduce_channel": [1, 1, 0],
    "return_channel": [1, 1, 0],
    **LARGE_KERNELS,
    **{f"symmetric_conv_long_{ratio}ratio": [3, 1, 1] for ratio in ("long", "mid", "short")},
}
DETECTOR_OF_TEXT = {
    "intraclass_block_config": KERNELS,
    "kernel_list": [3, 2, 2],
    "scale_factor_list": [1, 2, 4, 8],
    "backbone_config": {"model_type": "hgnet_v2", "out_features": ["stage1", "stage2", "stage3", "stage4"]},
}
SMALL_PERCEPTION_ENCODER = {
    "model_type": "timm_wrapper",
    "architecture": "vit_pe_core_tiny_patch16_384",
    "model_args": {"embed_dim": 64, "depth": 2, "num_heads": 4, "img_size": 64},
}
SEGMENTED = {
    "encoder_attention_heads": 8,
    "decoder_attention_heads": 8,
    "backbone_config": {"model_type": "resnet", "out_features": ["stage1", "stage2", "stage3", "stage4"]},
}
SMALL_TEXT = {"vocab_size": 128, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
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
    # Widths that a checkpoint sets.
    "BridgeTowerConfig": {"contrastive_hidden_size": 32, "logit_scale_init_value": 2.6592},
    "Qwen3OmniMoeTalkerConfig": {"spatial_merge_size": 2},
    "Qwen3OmniMoeTalkerTextConfig": {"shared_expert_intermediate_size": 32},
    "Pix2StructTextConfig": {"initializer_range": 0.02},
    # Layers of which images are segmented.
    "BeitConfig": {"num_hidden_layers": 4, "out_indices": [1, 2, 3, 4]},
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
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
    },
    "EdgeTamPromptEncoderConfig": {"patch_size": 8},
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
    # Widths of stages that depend on each other, under names of their own.
    "HGNetV2Config": {
        "embedding_size": 16,
        "hidden_sizes": [16, 16, 32, 64],
        "stem_channels": [3, 16, 16],
        "stage_in_channels": [16, 16, 16, 32],
        "stage_mid_channels": [16, 16, 16, 16],
        "stage_out_channels": [16, 16, 32, 64],
        "stage_num_blocks": [1, 1, 1, 1],
        "stage_numb_of_layers": [2, 2, 2, 2],
    },
    "Sam2HieraDetConfig": {
        "hidden_size": 16,
        "image_size": [64, 64],
        "blocks_per_stage": [1, 1, 2, 1],
        "embed_dim_per_stage": [16, 32, 64, 128],
        "global_attention_blocks": [3],
    },
    "Sam2VisionConfig": {
        "backbone_channel_list": [128, 64, 32, 16],
        "backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]],
    },
    "SegGptConfig": {"num_hidden_layers": 5, "merge_index": 0, "intermediate_hidden_state_indices": [1, 2, 3, 4]},
    "VitMatteConfig": {"convstream_hidden_sizes": [16, 32, 64], "fusion_hidden_sizes": [64, 32, 16, 16]},
    "PocketTTSAudioTokenizerConfig": {"latent_dim": 64},
    # The default backbone is of a kind that the model's own code does not take.
    "PPOCRV6SmallRecConfig": {"backbone_config": {"model_type": "pp_lcnet_v4"}},
    "PPOCRV6TinyRecConfig": {"backbone_config": {"model_type": "pp_lcnet_v4"}},
    "RfDetrConfig": {
        "backbone_config": {
            "model_type": "rf_detr_dinov2",
            "hidden_size": 64,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "image_size": 64,
            "patch_size": 8,
            "num_windows": 2,
            "out_indices": [2, 4],
        },
    },
    # Shared parts, of which the second one names the first.
    "ZambaConfig": {
        "num_hidden_layers": 5,
        "layers_block_type": ["linear_attention", "linear_attention", "hybrid", "linear_attention", "hybrid"],
    },
    # Fields that checkpoints set: an indexer, heads, and a model of timm with few layers.
    "Qwen4ExpTextConfig": {
        "indexer_n_heads": 4,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 16,
        "indexer_budget": 16,
        "indexer_compress_ratio": 4,
    },
    "Sapiens2HeadConfig": {"upsample_out_channels": [32, 32], "conv_out_channels": [32, 32]},
    "ShieldGemma2Config": {"yes_token_index": 10, "no_token_index": 11, "mm_tokens_per_image": 4},
    # A chunk is a multiple of the samples of a step.
    "VibeVoiceAsrConfig": {"acoustic_tokenizer_chunk_size": 6400},
    "PPOCRV6SmallDetConfig": {"layer_list_out_channels": [48, 96, 192, 384]},
    "PPOCRV5ServerDetConfig": DETECTOR_OF_TEXT,
    "PPOCRV6MediumDetConfig": DETECTOR_OF_TEXT,
    "VibeVoiceAcousticTokenizerConfig": {"num_filters": 4},
    "VibeVoiceAcousticTokenizerEncoderConfig": {"num_filters": 4},
    "VibeVoiceAcousticTokenizerDecoderConfig": {"num_filters": 4},
    "UVDocBackboneConfig": {"out_features": [f"stage{i}" for i in range(1, 7)]},
    # As wide as two encoders together.
    "NeuCodecConfig": {"quantization_dim": 128},
    "Xcodec2Config": {"quantization_dim": 128},
    "Sam3VisionConfig": {"backbone_feature_sizes": [[16, 16], [8, 8], [4, 4]]},
    "PeVideoEncoderConfig": {
        "vision_config": {**SMALL_PERCEPTION_ENCODER, "do_pooling": True, "num_classes": 64, "global_pool": "map"},
    },
    "PerceptionLMConfig": {"vision_config": SMALL_PERCEPTION_ENCODER},
    # Tables of an image's tokens, which a checkpoint has.
    "Emu3Config": {"vocabulary_map": {"<image>": 10, "<|extra_200|>": 11, **{f"<|visual token {i:06d}|>": 20 + i for i in range(64)}}},
    # As many features as the first stage of a network of another library has.
    "TimmBackboneConfig": {"backbone": "resnet18", "use_pretrained_backbone": False},
    "TvpConfig": {"max_img_size": 64, "visual_prompt_size": 8, "num_frames": 4},
    # Widths by names of its own.
    "PerceiverConfig": {"num_latents": 8, "d_latents": 64, "num_self_attends_per_block": 2, "num_cross_attention_heads": 1},
    # Scales of what a detector reads, and windows that divide its images.
    "LwDetrConfig": {
        "projector_scale_factors": [2.0, 0.5],
        "backbone_config": {
            "model_type": "lw_detr_vit",
            "hidden_size": 64,
            "num_hidden_layers": 4,
            "num_attention_heads": 4,
            "image_size": 64,
            "pretrain_image_size": 64,
            "patch_size": 8,
            "num_windows": 4,
            "window_block_indices": [0, 1],
            "out_indices": [2, 4],
        },
    },
    # A window in pixels, and widths under names of their own.
    "Exaone4_5_VisionConfig": {"window_size": 32},
    "Phi4MultimodalAudioConfig": {"depthwise_separable_out_channel": 64, "ext_pw_out_channel": 64},
    # Ids of an image's and a sound's codes, one behind the other.
    "Apertus1p5TextConfig": {"vocab_size": 256},
    "Apertus1p5Config": {"image_token_id": 10, "audio_token_id": 11, "image_token_offset": 20, "audio_token_offset": 84},
    # Parts that are not declared as such.
    "RagConfig": {
        "n_docs": 2,
        "question_encoder": {**SMALL_TEXT, "intermediate_size": 128, "projection_dim": 0},
        "generator": {
            "model_type": "bart",
            "vocab_size": 128,
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 2,
            "encoder_attention_heads": 4,
            "decoder_attention_heads": 4,
            "encoder_ffn_dim": 128,
            "decoder_ffn_dim": 128,
            "max_position_embeddings": 128,
        },
        "pad_token_id": 1,
        "vocab_size": 128,
    },
    "EvollaConfig": {
        "protein_encoder_config": {**SMALL_TEXT, "intermediate_size": 128},
        "aligner_num_add_layers": 2,
        "resampler_depth": 2,
        "resampler_dim_head": 16,
        "resampler_heads": 4,
        "resampler_num_latents": 8,
    },
}

MODELS: dict[str, dict[str, Any]] = {
    # Heads that checkpoints of the body do not set.
    "Blip2ForImageTextRetrieval": {"qformer_config": {"use_qformer_text_input": True}},
    "HieraForPreTraining": {"decoder_hidden_size": 64, "decoder_depth": 2, "decoder_num_heads": 4, "image_size": [64, 64]},
    "SegGptModel": {"image_size": [64, 32]},
    "SegGptForImageSegmentation": {"image_size": [64, 32]},
    "DetrForSegmentation": SEGMENTED,
    "ConditionalDetrForSegmentation": SEGMENTED,
}
"""By the class of the model, where not all of its models have these fields."""
