// Cohere's Command R: one norm without bias per block, before attention and the feed-forward layer, which are
// added together, and rotary positions of neighbouring elements.
#include "frontend/families/families.h"

namespace smelt {

const Family& llama_family();

/// Both norms of a block are the same one.
const Family& cohere_family() {
  static const Family family = [] {
    Family made = llama_family();
    made.model_type = "cohere";
    made.architectures = {{"CohereForCausalLM"},
                          {"CohereModel", R"({"head": {"kind": "none", "factor": 1}})"}};
    made.defaults = R"({"parallel_residual": true,
                        "norm": {"bias": false},
                        "attention": {"qkv_bias": false, "out_bias": false},
                        "ffn": {"activation": "silu", "gated": true, "bias": false},
                        "positions": {"kind": "rope", "interleaved": true, "rope_theta": 500000},
                        "embedding": {"frozen_padding": true},
                        "head": {"factor": 0.0625},
                        "tokens": {"pad": 0, "bos": 5, "eos": 255001}})";
    made.fields = joined(
        {kLlamaFields, rope_fields(), kAttentionBiases, {{.config = "logit_scale", .spec = "head.factor"}}});
    for (FieldRow& row : made.fields)
      if (row.config == "rms_norm_eps") row.config = "layer_norm_eps";
    made.names = renamed(made.names, {{"decoder.{}.norm_2", "layers.{}.input_layernorm"}});
    return made;
  }();
  return family;
}

}  // namespace smelt
