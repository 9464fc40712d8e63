// adapter_config.json as PEFT writes it, the option --lora, and which modules they mean.
#include "frontend/lora_option.h"

#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::message_of, testing::TemporaryDirectory;

/// What PEFT 0.17 writes for LoraConfig(r=16, lora_alpha=32, target_modules=["q_proj", "v_proj"], ...).
constexpr const char* kWritten = R"({
  "alpha_pattern": {"layers.0.q_proj": 8}, "auto_mapping": null, "base_model_name_or_path": "some/llama",
  "bias": "none", "corda_config": null, "eva_config": null, "exclude_modules": null, "fan_in_fan_out": false,
  "inference_mode": true, "init_lora_weights": true, "layer_replication": null, "layers_pattern": null,
  "layers_to_transform": null, "loftq_config": {}, "lora_alpha": 32, "lora_bias": false, "lora_dropout": 0.05,
  "megatron_config": null, "megatron_core": "megatron.core", "modules_to_save": null, "peft_type": "LORA",
  "qalora_group_size": 16, "r": 16, "rank_pattern": {"layers.1.*": 4}, "revision": null,
  "target_modules": ["q_proj", "v_proj"], "target_parameters": null, "task_type": "CAUSAL_LM",
  "trainable_token_indices": null, "use_dora": false, "use_qalora": false, "use_rslora": true})";

LoraConfig with(const char* fields) {
  Json json = {{"peft_type", "LORA"}, {"target_modules", {"q_proj"}}};
  json.update(Json::parse(fields));
  return lora_from_json(json, "file");
}

TEST(LoraConfig, ReadsWhatPeftWrites) {
  const LoraConfig config = lora_from_json(Json::parse(kWritten), "file");
  EXPECT_EQ(config.r, 16);
  EXPECT_EQ(config.alpha, 32);
  EXPECT_EQ(config.dropout, 0.05);
  EXPECT_TRUE(config.rslora);
  EXPECT_FALSE(config.all_linear);
  EXPECT_EQ(config.targets, (std::vector<std::string>{"q_proj", "v_proj"}));
  EXPECT_EQ(config.alpha_pattern.at("layers.0.q_proj"), 8);
  EXPECT_EQ(config.base_model, "some/llama");
}

TEST(LoraConfig, IsWrittenAsItWasRead) {
  for (
      const char* fields :
      {"{}", R"({"bias": "lora_only", "layers_to_transform": 3, "layers_pattern": "h"})",
       R"({"target_modules": "all-linear", "exclude_modules": ["c_fc"]})",
       R"({"target_modules": ".*attn\\.c_.*", "init_lora_weights": "gaussian", "modules_to_save": ["score"]})",
       R"({"lora_alpha": 1.5, "alpha_pattern": {"a": 0.5}, "rank_pattern": {"b": 3}, "use_rslora": true})"}) {
    const LoraConfig config = with(fields);
    EXPECT_EQ(lora_from_json(Json::parse(lora_json(config).dump()), "again"), config) << fields;
  }
  const LoraConfig written = lora_from_json(Json::parse(kWritten), "file");
  const Json again = Json::parse(lora_json(written).dump()), given = Json::parse(kWritten);
  for (const auto& [name, value] : again.items()) EXPECT_EQ(value, given.at(name)) << name;
}

TEST(LoraConfig, NamesAllThatIsWrong) {
  expect_in(message_of([] {
              with(R"({"use_dora": true, "init_lora_weights": "pissa", "r": 0, "lora_alpha": "x",
                       "lora_dropout": 1, "bias": "some", "rank": 3, "target_parameters": ["w"],
                       "layer_replication": [[0, 4]], "rank_pattern": {"a": 0}, "layers_to_transform": [-1]})");
            }),
            {"file: ", "use_dora is true, which is not supported",
             "init_lora_weights is \"pissa\", expected true, false or \"gaussian\"",
             "r is 0, expected a whole number", "lora_alpha is \"x\"", "lora_dropout is 1",
             "bias is \"some\", expected \"none\"", "rank is unknown", "target_parameters",
             "layer_replication", "rank_pattern is", "layers_to_transform is"});
  expect_in(message_of([] { lora_from_json(Json::parse(R"({"peft_type": "LOHA"})"), "file"); }),
            {"peft_type is \"LOHA\", expected \"LORA\"", "target_modules is missing"});
  expect_in(message_of([] { lora_from_json(Json::parse("[]"), "file"); }), {"expected an object"});
  const TemporaryDirectory d;
  expect_in(message_of([&] { read_lora(d.path); }), {"there is no adapter_config.json"});
}

TEST(LoraConfig, OptionHasTheSameFields) {
  const LoraConfig config =
      parse_lora("r=16, alpha=32,targets=q_proj+v_proj,dropout=0.05,rslora,layers=0+2,bias=all,save=score");
  EXPECT_EQ(config.r, 16);
  EXPECT_EQ(config.alpha, 32);
  EXPECT_EQ(config.dropout, 0.05);
  EXPECT_TRUE(config.rslora);
  EXPECT_EQ(config.targets, (std::vector<std::string>{"q_proj", "v_proj"}));
  EXPECT_EQ(config.layers, (std::vector<int64_t>{0, 2}));
  EXPECT_EQ(config.bias, LoraConfig::Bias::all);
  EXPECT_TRUE(parse_lora("targets=all-linear").all_linear);
  EXPECT_EQ(parse_lora("pattern=.*mlp.*").target_pattern, ".*mlp.*");
  EXPECT_EQ(parse_lora("").r, 8);
  expect_in(message_of([] { parse_lora("rank=3"); }), {"no key 'rank'", "r, alpha, dropout"});
  expect_in(message_of([] { parse_lora("r=x"); }), {"r is 'x', expected a number"});
  expect_in(message_of([] { parse_lora("r"); }), {"r has no value"});
  expect_in(message_of([] { parse_lora("r=0,dropout=2"); }), {"--lora: ", "lora_dropout is 2", "r is 0"});
}

constexpr const char* kQuery = "model.layers.3.self_attn.q_proj";

bool adapts(const LoraConfig& config, const char* module, bool head = false) {
  return LoraTargets(config).adapts(module, head);
}

TEST(LoraTargets, AreNamesOrOneExpression) {
  EXPECT_TRUE(adapts(with(R"({"target_modules": ["q_proj"]})"), kQuery));
  EXPECT_TRUE(adapts(with(R"({"target_modules": ["self_attn.q_proj"]})"), kQuery));
  EXPECT_TRUE(adapts(with(R"({"target_modules": ["model.layers.3.self_attn.q_proj"]})"), kQuery));
  EXPECT_FALSE(adapts(with(R"({"target_modules": ["proj", "attn.q_proj", "q"]})"), kQuery));
  EXPECT_TRUE(adapts(with(R"({"target_modules": ".*\\.[0-9]+\\.self_attn\\.(q|v)_proj"})"), kQuery));
  EXPECT_FALSE(adapts(with(R"({"target_modules": "self_attn\\.q_proj"})"), kQuery));  // the whole name
  EXPECT_FALSE(adapts(with(R"({"exclude_modules": ["self_attn.q_proj"]})"), kQuery));
  EXPECT_FALSE(adapts(with(R"({"modules_to_save": ["self_attn"]})"), kQuery));
  EXPECT_TRUE(adapts(with(R"({"target_modules": "all-linear"})"), kQuery));
  EXPECT_FALSE(adapts(with(R"({"target_modules": "ALL-LINEAR"})"), "lm_head", true));
  EXPECT_NE(message_of([] { adapts(with(R"({"target_modules": "("})"), kQuery); }), "");
}

TEST(LoraTargets, LayersAreNumbersBehindAName) {
  EXPECT_TRUE(adapts(with(R"({"layers_to_transform": [1, 3]})"), kQuery));
  EXPECT_TRUE(adapts(with(R"({"layers_to_transform": 3, "layers_pattern": ["h", "layers"]})"), kQuery));
  EXPECT_FALSE(adapts(with(R"({"layers_to_transform": [1]})"), kQuery));
  EXPECT_FALSE(adapts(with(R"({"layers_to_transform": [3], "layers_pattern": "h"})"), kQuery));
  EXPECT_FALSE(adapts(with(R"({"layers_to_transform": [3]})"), "model.q_proj"));
}

TEST(LoraTargets, PatternsChangeRankAndAlpha) {
  const LoraConfig config = with(R"({"r": 8, "lora_alpha": 16, "rank_pattern": {"layers.3.*q_proj": 4},
                                     "alpha_pattern": {"^model.layers.2.self_attn.q_proj": 2}})");
  EXPECT_EQ(LoraTargets(config).of(kQuery).r, 4);
  EXPECT_EQ(LoraTargets(config).of(kQuery).scale, 4);
  EXPECT_EQ(LoraTargets(config).of("model.layers.2.self_attn.q_proj").scale, 0.25);
  EXPECT_EQ(LoraTargets(config).of("model.layers.1.self_attn.q_proj").scale, 2);
  LoraConfig root = config;
  root.rslora = true;
  EXPECT_EQ(LoraTargets(root).of(kQuery).scale, 8);
}

}  // namespace
}  // namespace smelt
