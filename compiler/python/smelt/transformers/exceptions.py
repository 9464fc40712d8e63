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
}
