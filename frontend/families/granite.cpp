// Granite: as Llama, with factors of the embeddings, of the scores, of what is added to the residual stream
// and of the logits.
#include "frontend/families/families.h"

namespace smelt {

const Family& llama_family();

const Family& granite_family() {
  static const Family family = [] {
    Family made = llama_family();
    made.model_type = "granite";
    made.architectures = {{"GraniteForCausalLM"}, {"GraniteModel", R"({"head": {"kind": "none"}})"}};
    made.defaults = R"({"norm": {"kind": "rms", "eps": 1e-6},
                        "attention": {"qkv_bias": false, "out_bias": false, "scale": 1},
                        "ffn": {"activation": "silu", "gated": true, "bias": false},
                        "positions": {"kind": "rope"},
                        "embedding": {"frozen_padding": true},
                        "head": {"tied": false},
                        "tokens": {"bos": 1, "eos": 2}})";
    made.fields = joined({made.fields,
                          {{.config = "embedding_multiplier", .spec = "embedding.factor"},
                           {.config = "attention_multiplier", .spec = "attention.scale"},
                           {.config = "residual_multiplier", .spec = "residual_factor"},
                           {.config = "logits_scaling", .spec = "head.divisor"}}});
    return made;
  }();
  return family;
}

}  // namespace smelt
