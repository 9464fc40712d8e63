// Directories of adapters for slots: the matrices that are read, and every reason for which one is refused.
#include "runtime/engine/adapters/adapter_files.h"

#include <random>

#include "frontend/build_transformer.h"
#include "runtime/engine/adapters/lora_config.h"
#include "runtime/engine/weights/safetensors.h"
#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::message_of;

constexpr const char* kSlottedSpec =
    R"({"family": "llama", "vocab_size": 31, "hidden": 12, "max_positions": 16,
        "decoder": {"layers": 2, "heads": 2, "kv_heads": 1, "ffn": 10}})";

/// A plan with the states of a model that has slots, and no entries.
Plan slotted_plan(const std::vector<std::string>& targets = {}) {
  const auto module = build_transformer(
      spec_from_json(kSlottedSpec),
      {.training = false, .caches = true, .adapters = 2, .adapter_rank = 4, .adapter_targets = targets});
  Plan plan;
  plan.model = module->description, plan.states = module->states;
  return plan;
}

/// A directory of an adapter of rank 3 for the queries and values of all blocks.
class AdapterFiles : public ::testing::Test {
 protected:
  AdapterFiles() {
    for (int layer = 0; layer < 2; ++layer) {
      const std::string attention = "base_model.model.model.layers." + std::to_string(layer) + ".self_attn.";
      add(attention + "q_proj.lora_A.weight", {3, 12}), add(attention + "q_proj.lora_B.weight", {12, 3});
      add(attention + "v_proj.lora_A.weight", {3, 12}), add(attention + "v_proj.lora_B.weight", {6, 3});
    }
  }
  void add(const std::string& name, std::vector<int64_t> shape) {
    HostTensor tensor{name, DType::f32, std::move(shape), {}};
    int64_t count = 1;
    for (const int64_t size : tensor.shape) count *= size;
    std::vector<float> values(static_cast<size_t>(count));
    for (float& value : values) value = static_cast<float>(++values_written_);
    const auto bytes = std::as_bytes(std::span(values));
    tensor.bytes.assign(bytes.begin(), bytes.end());
    tensors_.push_back(std::move(tensor));
  }
  HostTensor& tensor(const char* end) {
    return *std::ranges::find_if(tensors_, [&](const auto& t) { return t.name.ends_with(end); });
  }
  void write() const {
    std::vector<TensorView> views;
    for (const HostTensor& t : tensors_) views.push_back({t.name, t.dtype, t.shape, t.bytes});
    write_safetensors(directory_.path / "adapter_model.safetensors", views);
    write_file(directory_.path / "adapter_config.json", config_.dump());
  }
  AdapterWeights read() const {
    write();
    return read_adapter_files(directory_.path, interface_);
  }
  std::string refusal() const {
    return message_of([&] { read(); });
  }
  std::string refusal_with(const char* fields) {
    const Json before = config_;
    config_.merge_patch(Json::parse(fields));
    const std::string text = refusal();
    config_ = before;
    return text;
  }

  testing::TemporaryDirectory directory_;
  std::vector<HostTensor> tensors_;
  Json config_ = {
      {"peft_type", "LORA"}, {"r", 3}, {"lora_alpha", 6}, {"target_modules", {"q_proj", "v_proj"}}};
  AdapterInterface interface_{slotted_plan()};

 private:
  int values_written_ = 0;
};

TEST_F(AdapterFiles, GiveMatricesWithTheScaleInB) {
  const AdapterWeights weights = read();
  ASSERT_EQ(weights.linears.size(), 4U);
  EXPECT_EQ(weights.linears[0].module, "model.layers.0.self_attn.q_proj");
  EXPECT_EQ(weights.linears[0].rank, 3);
  EXPECT_EQ(weights.linears[0].a[0], 1);
  EXPECT_EQ(weights.linears[0].b[0], 2 * 37) << "alpha / r = 2";
  config_["use_rslora"] = true, config_["alpha_pattern"] = {{"layers.0.self_attn.q_proj", 9}};
  EXPECT_FLOAT_EQ(read().linears[0].b[0], static_cast<float>(9 / std::sqrt(3.0) * 37));
}

TEST_F(AdapterFiles, ReadRanksAndLayersByPattern) {
  config_["rank_pattern"] = {{"v_proj", 2}}, config_["layers_to_transform"] = {1};
  std::erase_if(tensors_, [](const auto& t) { return t.name.find("layers.0.") != std::string::npos; });
  tensor("v_proj.lora_A.weight") = {tensor("v_proj.lora_A.weight").name, DType::f32, {2, 12}, {}};
  tensor("v_proj.lora_A.weight").bytes.resize(2 * 12 * sizeof(float));
  tensor("v_proj.lora_B.weight") = {tensor("v_proj.lora_B.weight").name, DType::f32, {6, 2}, {}};
  tensor("v_proj.lora_B.weight").bytes.resize(6 * 2 * sizeof(float));
  const AdapterWeights weights = read();
  ASSERT_EQ(weights.linears.size(), 2U);
  EXPECT_EQ(weights.linears[1].rank, 2);
}

TEST_F(AdapterFiles, AreRefusedByName) {
  expect_in(refusal_with(R"({"bias": "all"})"), {"bias: slots have no biases"});
  expect_in(refusal_with(R"({"modules_to_save": ["lm_head"]})"), {"modules_to_save names lm_head"});
  expect_in(refusal_with(R"({"use_dora": true})"), {"use_dora is true, which is not supported"});
  expect_in(refusal_with(R"({"lora_bias": true})"), {"lora_bias is true"});
  expect_in(refusal_with(R"({"surprise": 1})"), {"surprise is unknown"});
  expect_in(refusal_with(R"({"peft_type": "IA3"})"), {"peft_type"});
  expect_in(refusal_with(R"({"r": 5})"), {"expected at most 4", "--adapter-rank", "q_proj (5)"});
  expect_in(refusal_with(R"({"r": 2})"), {"q_proj.lora_A.weight' is F32 [3,12], expected floats [2,12]",
                                          "v_proj.lora_B.weight' is F32 [6,3], expected floats [6,2]"});
  expect_in(refusal_with(R"({"target_modules": ["q_proj"]})"),
            {"for no linear map with a slot", "v_proj.lora_A.weight'"});
  expect_in(refusal_with(R"({"target_modules": ["c_attn"]})"), {"target_modules match no linear map"});
  expect_in(refusal_with(R"({"target_modules": "all-linear"})"),
            {"base_model.model.model.layers.0.mlp.down_proj.lora_A.weight' is missing"});
}

TEST_F(AdapterFiles, AreRefusedIfTensorsAreMissingOrUnknown) {
  add("base_model.model.model.embed_tokens.lora_embedding_A", {3, 31});
  tensors_.erase(tensors_.begin());
  expect_in(refusal(), {"layers.0.self_attn.q_proj.lora_A.weight' is missing (expected floats [3,12])",
                        "for no linear map with a slot", "embed_tokens.lora_embedding_A'"});
  tensors_.clear();
  expect_in(refusal(), {"is missing"});
}

TEST_F(AdapterFiles, AreRefusedIfTheyAreNoFilesOfAnAdapter) {
  expect_in(message_of([&] { read_adapter_files(directory_.path, interface_); }),
            {"there is no adapter_config.json"});
  write_file(directory_.path / "adapter_config.json", config_.dump());
  expect_in(message_of([&] { read_adapter_files(directory_.path, interface_); }),
            {"there is no adapter_model.safetensors"});
  write_file(directory_.path / "adapter_model.safetensors", "no tensors");
  expect_in(message_of([&] { read_adapter_files(directory_.path, interface_); }),
            {"adapter_model.safetensors"});
  write_file(directory_.path / "adapter_config.json", "[]");
  expect_in(message_of([&] { read_adapter_files(directory_.path, interface_); }), {"expected an object"});
}

TEST_F(AdapterFiles, WithAnyEditOfTheConfigAreReadOrRefused) {
  write();
  const std::string text = config_.dump();
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    std::string edited = text;
    for (int edit = 0; edit < 3; ++edit) {
      const size_t at = random() % edited.size();
      const char c = "\"{}[],:0159eE-.ntf\\ "[random() % 20];
      random() % 2 == 0 ? edited.replace(at, 1 + random() % 3, 1, c) : edited.insert(at, 1, c);
    }
    write_file(directory_.path / "adapter_config.json", edited);
    try {
      for (const AdapterMatrices& each : read_adapter_files(directory_.path, interface_).linears)
        EXPECT_LE(each.rank, interface_.rank) << edited;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()), "") << edited;
    }
  }
}

TEST(AdapterInterfaces, AreDerivedFromStatesAndDescription) {
  const AdapterInterface all(slotted_plan()), some(slotted_plan({"v_proj"}));
  EXPECT_EQ(all.slots, 2);
  EXPECT_EQ(all.rank, 4);
  EXPECT_EQ(all.linears.size(), 14U);
  ASSERT_EQ(some.linears.size(), 2U);
  EXPECT_EQ(some.linears[0].module, "model.layers.0.self_attn.v_proj");
  EXPECT_EQ(some.linears[0].in, 12);
  EXPECT_EQ(some.linears[0].out, 6);
  EXPECT_EQ(AdapterInterface(Plan{}).slots, 0);
}

TEST(AdapterInterfaces, RefuseOtherDescriptionsAndStates) {
  const auto refusal = [](const std::function<void(Plan&, Json&)>& change) {
    Plan plan = slotted_plan();
    Json model = Json::parse(plan.model);
    change(plan, model["adapters"]);
    plan.model = model.dump();
    return message_of([&] { AdapterInterface{plan}; });
  };
  expect_in(refusal([](Plan&, Json& json) { json = 3; }),
            {"expected an object with slots, rank and modules"});
  expect_in(refusal([](Plan&, Json& json) { json["rank"] = 0; }), {"slots, rank and modules"});
  expect_in(refusal([](Plan&, Json& json) { json["rank"] = 5; }), {"are not of rank 5"});
  expect_in(refusal([](Plan&, Json& json) { json["slots"] = 3; }), {"slots for 3 adapters"});
  expect_in(refusal([](Plan&, Json& json) { json["modules"]["other"] = Json::array(); }),
            {"no state 'adapters.other.A'"});
  expect_in(refusal([](Plan&, Json& json) { json["modules"].begin().value() = "x"; }),
            {"has no list of names"});
  expect_in(refusal([](Plan& plan, Json&) { plan.states.clear(); }), {"no state 'adapters."});
}

}  // namespace
}  // namespace smelt
