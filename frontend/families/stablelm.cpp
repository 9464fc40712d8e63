// StableLM: as Llama, with LayerNorm and rotary positions in a part of each head.
#include "frontend/families/families.h"

namespace smelt {

const Family& llama_family();

const Family& stablelm_family() {
  static const Family family = [] {
    Family made = llama_family();
    made.model_type = "stablelm";
    made.architectures = {{"StableLmForCausalLM"}, {"StableLmModel", R"({"head": {"kind": "none"}})"}};
    made.defaults = R"({"attention": {"qkv_bias": false, "out_bias": false},
                        "ffn": {"activation": "silu", "gated": true, "bias": false},
                        "positions": {"kind": "rope", "rotary_fraction": 0.25},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false},
                        "tokens": {"bos": 0, "eos": 0}})";
    made.fields = joined({kLlamaFields,
                          partial_rope_fields(),
                          {{.config = "use_qkv_bias", .spec = "attention.qkv_bias"},
                           {.config = "hidden_dropout", .spec = "dropout.residual"}}});
    for (FieldRow& row : made.fields)
      if (row.config == "rms_norm_eps") row.config = "layer_norm_eps";
    made.fixed = {};
    return made;
  }();
  return family;
}

}  // namespace smelt
