#include "frontend/hugging_face.h"

#include "frontend/parameter_names.h"
#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::kGolden, testing::message_of, testing::small_spec;

Json golden_config() { return read_json_file(kGolden / "config.json"); }

TransformerSpec with(std::initializer_list<std::pair<const char*, Json>> fields) {
  Json config = golden_config();
  for (const auto& [name, value] : fields) config[name] = value;
  return spec_from_config(config, "config.json");
}

TEST(HuggingFace, ReadsTheGoldenDirectory) {
  const ModelDirectory model = read_model_directory(kGolden);
  const TransformerSpec& spec = model.spec;
  EXPECT_EQ(spec.vocab_size, 131);
  EXPECT_EQ(spec.hidden, 48);
  EXPECT_EQ(spec.max_positions, 64);
  EXPECT_EQ(spec.decoder, (StackSpec{3, 4, 4, 12, 192}));
  EXPECT_EQ(spec.ffn.activation, Activation::gelu_tanh);
  EXPECT_EQ(spec.norm.eps, 1e-5);
  EXPECT_EQ(spec.dropout.attention, 0.1);
  EXPECT_TRUE(spec.head.tied);
  EXPECT_EQ(spec.tokens.eos, std::vector<int64_t>{2});
  EXPECT_EQ(spec.tokens.pad, 0);
  EXPECT_EQ(model.generation.at("eos_token_id"), 2);
  EXPECT_EQ(find_weights(kGolden), kGolden / "model.safetensors");
}

TEST(HuggingFace, FieldsThatChangeTheMathsAreRead) {
  EXPECT_EQ(with({{"n_inner", 77}}).decoder.ffn, 77);
  EXPECT_EQ(with({{"activation_function", "gelu"}}).ffn.activation, Activation::gelu_erf);
  EXPECT_EQ(with({{"activation_function", "gelu_pytorch_tanh"}}).ffn.activation, Activation::gelu_tanh);
  EXPECT_EQ(with({{"activation_function", "relu"}}).ffn.activation, Activation::relu);
  EXPECT_EQ(with({{"activation_function", "swish"}}).ffn.activation, Activation::silu);
  EXPECT_FALSE(with({{"scale_attn_weights", false}}).attention.scaled);
  EXPECT_TRUE(with({{"scale_attn_by_inverse_layer_idx", true}}).attention.scaled_by_layer);
  EXPECT_FALSE(with({{"tie_word_embeddings", false}}).head.tied);
  EXPECT_EQ(with({{"layer_norm_epsilon", 1e-3}}).norm.eps, 1e-3);
  EXPECT_EQ(with({{"eos_token_id", {3, 4}}}).tokens.eos, (std::vector<int64_t>{3, 4}));
  EXPECT_EQ(with({{"eos_token_id", nullptr}}).tokens.eos, std::vector<int64_t>());
  EXPECT_EQ(with({{"reorder_and_upcast_attn", true}}), with({}));
  EXPECT_EQ(with({{"an_unknown_field", 3}, {"sliding_window", nullptr}, {"num_experts", 0}}), with({}));
}

TEST(HuggingFace, AFieldMayRepeatAnother) {
  EXPECT_EQ(with({{"word_embed_proj_dim", 48}}), with({}));
  expect_in(message_of([] { with({{"word_embed_proj_dim", 40}}); }),
            {"word_embed_proj_dim: 40 changes the maths", "expected null or 48, the value of n_embd"});
}

TEST(HuggingFace, QuantisedWeightsOfAnotherKindAreCalledSo) {
  const Json quantised = {{"quant_method", "hqq"}, {"bits", 4}};
  expect_in(
      message_of([&] { with({{"quantization_config", quantised}}); }),
      {"quantization_config: quant_method \"hqq\" says that the weights are quantised", "dequantize()"});
  EXPECT_EQ(with({{"quantization_config", {{"quant_method", "gptq"}, {"bits", 4}}}}), with({}));
}

TEST(HuggingFace, AFieldMayCountOnlyWithAnother) {
  Json config = read_json_file(kGolden.parent_path() / "bloom/config.json");
  const auto read = [&] { spec_from_config(config, "config.json"); };
  config["slow_but_exact"] = true, config["pretraining_tp"] = 1;
  read();
  config["pretraining_tp"] = 4;
  expect_in(message_of(read), {"slow_but_exact: true leaves out two biases"});
}

TEST(HuggingFace, NormsHaveTheirOldNames) {
  const TransformerSpec spec =
      spec_from_config(read_json_file(kGolden.parent_path() / "bert-multi/config.json"), "config.json");
  const auto names = ParameterNames(spec).parameter({"encoder.embedding_norm"}, "weight").checkpoint_names;
  EXPECT_EQ(names.front(), "bert.embeddings.LayerNorm.weight") << "the one to write";
  EXPECT_EQ(std::ranges::count(names, "bert.embeddings.LayerNorm.gamma"), 1);
}

TEST(HuggingFace, AFieldGoesByItsOtherNames) {
  Json config = golden_config();
  for (const auto& [from, to] : {std::pair{"n_embd", "hidden_size"},
                                 {"n_layer", "num_hidden_layers"},
                                 {"n_head", "num_attention_heads"},
                                 {"n_positions", "max_position_embeddings"}}) {
    config[to] = config[from];
    config.erase(from);
  }
  EXPECT_EQ(spec_from_config(config, "config.json"), with({}));
}

TEST(HuggingFace, AllProblemsComeAtOnceInTheWordsOfTheFile) {
  const std::string message = message_of([] {
    Json config = golden_config();
    config.erase("n_positions");
    config.merge_patch({{"n_head", 7},
                        {"activation_function", "mish"},
                        {"add_cross_attention", true},
                        {"sliding_window", 128},
                        {"alibi", true},
                        {"num_experts", 8},
                        {"n_layer", 0},
                        {"resid_pdrop", "high"},
                        {"architectures", {"GPT2DoubleHeadsModel"}},
                        {"vocab_size", -5}});
    spec_from_config(config, "dir/config.json");
  });
  expect_in(message,
            {"dir/config.json: 10 problems", "n_positions: missing", "activation_function: \"mish\"",
             "gelu_new", "add_cross_attention: true", "sliding_window: 128", "alibi: true", "num_experts: 8",
             "n_layer: 0", "resid_pdrop: \"high\"", "GPT2DoubleHeadsModel", "vocab_size: -5"});
  expect_in(message_of([] { with({{"n_head", 7}}); }), {"1 problem\n", "n_head: 7 does not divide"});
}

TEST(HuggingFace, UnknownTypesAreNamedWithTheKnown) {
  expect_in(message_of([] { with({{"model_type", "mamba"}}); }),
            {"\"mamba\" is not known", "gpt2", "--import NEW_DIR"});
  expect_in(message_of([] { spec_from_config(Json::array(), "c"); }), {"a list, expected an object"});
  expect_in(message_of([] { spec_from_config(Json::object(), "c"); }), {"model_type is missing"});
}

TEST(HuggingFace, ConfigAndSpecAreInverse) {
  TransformerSpec spec = small_spec(R"({"head": {"tied": false}, "ffn": {"activation": "gelu_erf"},
                                        "attention": {"scaled_by_layer": true}, "tokens": {"eos": [1, 2]},
                                        "criterion": {"label_smoothing": 0.1}})");
  const std::optional<Json> config = config_from_spec(spec);
  ASSERT_TRUE(config);
  TransformerSpec back = spec_from_config(*config, "config.json");
  back.criterion = spec.criterion;
  EXPECT_EQ(back, spec);
  EXPECT_EQ(config->at("activation_function"), "gelu");
  EXPECT_FALSE(config_from_spec(small_spec(R"({"norm": {"kind": "rms"}})")));
  EXPECT_FALSE(config_from_spec(small_spec(R"({"family": "transformer"})")));
}

TEST(HuggingFace, WeightsInPickleAreRefusedWithAWayOut) {
  testing::TemporaryDirectory directory;
  EXPECT_EQ(find_weights(directory.path), std::nullopt);
  write_file(directory.path / "pytorch_model.bin", "x");
  expect_in(message_of([&] { find_weights(directory.path); }), {"pytorch_model.bin", "save_pretrained"});
  expect_in(message_of([&] { read_model_directory(directory.path); }), {"config.json"});
}

TEST(ParameterNames, BothStylesOfCheckpoint) {
  const ParameterNames names(small_spec());
  const ParameterName qkv = names.parameter({"decoder.{}.attention.qkv", 2}, "weight");
  EXPECT_EQ(qkv.name, "transformer.h.2.attn.c_attn.weight");
  EXPECT_EQ(qkv.checkpoint_names,
            (std::vector<std::string>{"transformer.h.2.attn.c_attn.weight", "h.2.attn.c_attn.weight"}));
  EXPECT_TRUE(qkv.transposed);
  EXPECT_FALSE(names.parameter({"decoder.{}.attention.qkv", 2}, "bias").transposed);
  EXPECT_EQ(names.parameter({"head"}, "weight").checkpoint_names, std::vector<std::string>{"lm_head.weight"});
  EXPECT_EQ(names.source({"decoder.{}.norm_1", 0}), "h.0.ln_1");
  EXPECT_EQ(ParameterNames(TransformerSpec()).parameter({"decoder.{}.norm_1", 0}, "weight").name,
            "decoder.0.norm_1.weight");
}

TEST(Families, PatternsMatchNumbersOnly) {
  EXPECT_TRUE(matches_pattern("h.11.attn.bias", "h.{}.attn.bias"));
  EXPECT_FALSE(matches_pattern("h.x.attn.bias", "h.{}.attn.bias"));
  EXPECT_FALSE(matches_pattern("h..attn.bias", "h.{}.attn.bias"));
  EXPECT_FALSE(matches_pattern("h.1.attn.c_attn.bias", "h.{}.attn.bias"));
  EXPECT_TRUE(matches_pattern("lm_head.weight", "lm_head.weight"));
  EXPECT_TRUE(matches_pattern("a.1.b.22", "a.{}.b.{}"));
}

}  // namespace
}  // namespace smelt
