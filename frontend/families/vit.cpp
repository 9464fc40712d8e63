// ViT and DeiT: a pre-norm encoder over patches of an image, classified by a token of its own.
#include "frontend/families/families.h"

namespace smelt {

namespace {

Family make_vit() {
  return {
      .model_type = "vit",
      .architectures = {{"ViTForImageClassification"},
                        {"ViTModel", R"({"head": {"kind": "none", "pooler": true}})"}},
      .defaults = R"({"norm": {"eps": 1e-12, "final_is_hidden": false},
                      "ffn": {"activation": "gelu_erf"},
                      "embedding": {"image_size": 224, "patch_size": 16, "channels": 3, "class_token": true},
                      "head": {"kind": "image_classes", "tied": false, "classes": 2}})",
      .fields = {{.config = "hidden_size", .spec = "hidden", .required = true},
                 {.config = "num_hidden_layers", .spec = "encoder.layers", .required = true},
                 {.config = "num_attention_heads", .spec = "encoder.heads", .required = true},
                 {.config = "intermediate_size", .spec = "encoder.ffn", .required = true},
                 {.config = "hidden_act", .spec = "ffn.activation", .spellings = &kActivations},
                 {.config = "layer_norm_eps", .spec = "norm.eps"},
                 {.config = "image_size", .spec = "embedding.image_size"},
                 {.config = "patch_size", .spec = "embedding.patch_size"},
                 {.config = "num_channels", .spec = "embedding.channels"},
                 {.config = "qkv_bias", .spec = "attention.qkv_bias"},
                 {.config = "hidden_dropout_prob", .spec = "dropout.embedding"},
                 {.config = "hidden_dropout_prob", .spec = "dropout.residual"},
                 {.config = "attention_probs_dropout_prob", .spec = "dropout.attention"},
                 {.config = "initializer_range", .spec = "init.deviation"},
                 {.config = "id2label", .spec = "head.classes", .counted = true},
                 {.config = "problem_type", .spec = "head.problem", .spellings = &kProblems}},
      .fixed = {{"pooler_act", R"("tanh")"}},
      .prefixes = {"vit.", ""},
      .names = {{"encoder.patches", "embeddings.patch_embeddings.projection"},
                {"encoder.class_token.weight", "embeddings.cls_token"},
                {"encoder.positions", "embeddings"},
                {"encoder.positions.weight", "embeddings.position_embeddings"},
                {"embedding.dropout", "embeddings.dropout"},
                {"encoder.{}", "encoder.layer.{}"},
                {"encoder.{}.norm_1", "encoder.layer.{}.layernorm_before"},
                {"encoder.{}.attention", "encoder.layer.{}.attention"},
                {"encoder.{}.attention.query", "encoder.layer.{}.attention.attention.query"},
                {"encoder.{}.attention.key", "encoder.layer.{}.attention.attention.key"},
                {"encoder.{}.attention.value", "encoder.layer.{}.attention.attention.value"},
                {"encoder.{}.attention.out", "encoder.layer.{}.attention.output.dense"},
                {"encoder.{}.norm_2", "encoder.layer.{}.layernorm_after"},
                {"encoder.{}.ffn", "encoder.layer.{}.intermediate"},
                {"encoder.{}.ffn.up", "encoder.layer.{}.intermediate.dense"},
                {"encoder.{}.ffn.down", "encoder.layer.{}.output.dense"},
                {"encoder.norm", "layernorm"},
                {"pooler", "pooler.dense"},
                {"classifier", "classifier", NameRow::bare}},
      .ignored_tensors = {"pooler.dense.weight", "pooler.dense.bias"},
  };
}

/// A ViT with a second token, which was taught by another model.
Family make_deit() {
  Family family = make_vit();
  family.model_type = "deit";
  family.architectures = {{"DeiTForImageClassification"},
                          {"DeiTModel", R"({"head": {"kind": "none", "pooler": true}})"}};
  family.defaults = R"({"norm": {"eps": 1e-12, "final_is_hidden": false},
                        "ffn": {"activation": "gelu_erf"},
                        "embedding": {"image_size": 224, "patch_size": 16, "channels": 3, "class_token": true,
                                      "second_token": true},
                        "head": {"kind": "image_classes", "tied": false, "classes": 2}})";
  family.prefixes = {"deit.", ""};
  family.names = joined({family.names, {{"encoder.second_token.weight", "embeddings.distillation_token"}}});
  return family;
}

}  // namespace

const Family& vit_family() {
  static const Family family = make_vit();
  return family;
}

const Family& deit_family() {
  static const Family family = make_deit();
  return family;
}

}  // namespace smelt
