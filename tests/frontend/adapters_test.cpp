// Adapters beside linear maps: names, shapes, first values, what is trained, and merged files.
#include "frontend/blocks/adapters.h"

#include <cmath>

#include "frontend/build_transformer.h"
#include "frontend/lora_option.h"
#include "frontend/merge_adapters.h"
#include "frontend/weights.h"
#include "ir/graph/verifier.h"
#include "tests/frontend/built_graph.h"
#include "tests/support/merged_adapters.h"
#include "tests/support/random_tensors.h"

namespace smelt {
namespace {

using testing::expect_in, testing::message_of, testing::small_spec;

std::unique_ptr<Module> built(const TransformerSpec& spec, const char* lora, bool training = true) {
  auto module =
      build_transformer(spec, {.training = training, .lora = with_defaults(parse_lora(lora), spec)});
  verify_or_throw(*module);
  return module;
}

TEST(Adapters, HavePeftsNamesAndShapes) {
  const auto module = built(small_spec(), "r=4,targets=c_attn+c_fc");
  const Module::Parameter* a = module->find_parameter("transformer.h.1.attn.c_attn.lora_A.weight");
  const Module::Parameter* b = module->find_parameter("transformer.h.1.attn.c_attn.lora_B.weight");
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->checkpoint_names[0], "base_model.model.transformer.h.1.attn.c_attn.lora_A.weight");
  EXPECT_EQ(b->checkpoint_names[0], "base_model.model.transformer.h.1.attn.c_attn.lora_B.weight");
  EXPECT_EQ(str(a->type), "f32[4,36]");
  EXPECT_EQ(str(b->type), "f32[108,4]");
  EXPECT_FALSE(a->transposed || b->transposed);  // though the base is [in,out] in files
  EXPECT_EQ(str(module->find_parameter("transformer.h.2.mlp.c_fc.lora_B.weight")->type), "f32[31,4]");
  EXPECT_EQ(module->find_parameter("transformer.h.1.attn.c_proj.lora_A.weight"), nullptr);
}

TEST(Adapters, BeginAsPeftsDo) {
  const char* name = "transformer.h.0.mlp.c_proj.lora_A.weight";
  const auto uniform = built(small_spec(), "r=4,targets=mlp.c_proj");
  EXPECT_EQ(uniform->find_parameter(name)->init.kind, Initializer::Kind::uniform);
  EXPECT_DOUBLE_EQ(uniform->find_parameter(name)->init.a, 1 / std::sqrt(31.0));
  const Initializer zero = uniform->find_parameter("transformer.h.0.mlp.c_proj.lora_B.weight")->init;
  EXPECT_EQ(zero, (Initializer{Initializer::Kind::value, 0, 0}));
  const auto gaussian = built(small_spec(), "r=4,targets=mlp.c_proj,init=gaussian");
  EXPECT_EQ(gaussian->find_parameter(name)->init, (Initializer{Initializer::Kind::normal, 0.25, 0}));
}

std::vector<std::string> trained(const Module& module) {
  std::vector<std::string> names;
  for (const Module::Parameter& parameter : module.parameters)
    if (!parameter.frozen && !is_adapter_parameter(parameter.name)) names.push_back(parameter.name);
  return names;
}

TEST(Adapters, TrainWhatTheConfigSays) {
  const TransformerSpec spec = small_spec(R"({"decoder": {"layers": 1}, "head": {"tied": false}})");
  using Names = std::vector<std::string>;
  EXPECT_EQ(trained(*built(spec, "r=2")), Names{});
  EXPECT_EQ(trained(*built(spec, "r=2,bias=lora_only")), Names{"transformer.h.0.attn.c_attn.bias"});
  EXPECT_EQ(trained(*built(spec, "r=2,bias=all")).size(), 7u);  // three norms, four linear maps
  EXPECT_EQ(trained(*built(spec, "r=2,save=lm_head")), Names{"lm_head.weight"});
  const auto biased = built(spec, "r=2,bias=all,save=lm_head");
  EXPECT_EQ(biased->find_parameter("transformer.h.0.attn.c_attn.bias")->checkpoint_names[0],
            "base_model.model.transformer.h.0.attn.c_attn.base_layer.bias");
  EXPECT_EQ(biased->find_parameter("transformer.h.0.mlp.c_fc.bias")->checkpoint_names[0],
            "base_model.model.transformer.h.0.mlp.c_fc.bias");
  EXPECT_EQ(biased->find_parameter("lm_head.weight")->checkpoint_names[0], "base_model.model.lm_head.weight");
  const auto inferring = built(spec, "r=2", false);
  for (const Module::Parameter& parameter : inferring->parameters)
    EXPECT_EQ(parameter.frozen, !is_adapter_parameter(parameter.name))
        << "so that few bits leave adapters alone";
}

TEST(Adapters, DropoutIsInTheLossAlone) {
  const auto module = built(small_spec(R"({"dropout": {"embedding": 0, "residual": 0, "attention": 0}})"),
                            "r=2,dropout=0.1,targets=c_fc");
  EXPECT_EQ(testing::all(*module->find_graph("loss"), Op::dropout).size(), 3u);
  EXPECT_TRUE(testing::all(*module->find_graph("evaluate"), Op::dropout).empty());
  EXPECT_TRUE(testing::all(*module->find_graph("logits"), Op::dropout).empty());
}

/// Tensors as files of a model and of its adapter hold them.
Checkpoint stored(const Module& module, const Tensors& states) {
  std::vector<HostTensor> tensors;
  for (const Module::Parameter& parameter : module.parameters) {
    const Tensor& from = states.at(parameter.name);
    std::vector<float> values(from.data.begin(), from.data.end());
    HostTensor tensor{parameter.checkpoint_names.front(), DType::f32, checkpoint_shape(parameter), {}};
    if (parameter.transposed)
      for (int64_t r = 0; r < from.shape[0]; ++r)
        for (int64_t c = 0; c < from.shape[1]; ++c)
          values[static_cast<size_t>(c * from.shape[0] + r)] =
              static_cast<float>(from.data[static_cast<size_t>(r * from.shape[1] + c)]);
    const auto bytes = std::as_bytes(std::span(values));
    tensor.bytes.assign(bytes.begin(), bytes.end());
    tensors.push_back(std::move(tensor));
  }
  return Checkpoint::of(std::move(tensors), "stored");
}

TEST(Adapters, MergedFilesAreThoseOfThePlainModel) {
  const TransformerSpec spec = small_spec(R"({"head": {"tied": false}})");
  const LoraConfig config = with_defaults(parse_lora("r=3,alpha=6,targets=all-linear,save=lm_head"), spec);
  const auto adapted = build_transformer(spec, {.training = false, .lora = config});
  const Tensors states = testing::random_states(*adapted, 7, {});
  const Checkpoint files = stored(*adapted, states);
  check_weights(*adapted, files);
  const auto plain = build_transformer(spec, {.training = false});
  const Checkpoint found = Checkpoint::of(merge_adapters(*adapted, config, files), "merged");
  check_weights(*plain, found);
  const Tensors expected = testing::merged_states(states, 2);
  for (const Module::Parameter& parameter : plain->parameters) {
    const std::vector<float> values = read_parameter(parameter, found);
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_NEAR(values[i], expected.at(parameter.name).data[i], 1e-5) << parameter.name;
  }
}

TEST(Adapters, FilesMustHoldThemAllAndNoMore) {
  const auto adapted = built(small_spec(), "r=3", false),
             plain = build_transformer(small_spec(), {.training = false});
  const Tensors states = testing::random_states(*adapted, 7, {});
  const Checkpoint base = stored(*plain, states), both = stored(*adapted, states);
  EXPECT_NO_THROW(check_weights(*adapted, base, is_adapter_parameter));
  expect_in(
      message_of([&] { check_weights(*adapted, base); }),
      {"6 problems", "base_model.model.transformer.h.0.attn.c_attn.lora_A.weight", "h.2.attn.c_attn.lora_B"});
  expect_in(message_of([&] { check_weights(*plain, both); }),
            {"6 problems", "h.2.attn.c_attn.lora_B.weight: F32 [108,3], which the model has no place for"});
}

TEST(Adapters, RefuseWhatCannotBeAdapted) {
  const auto refused = [](const char* lora, const char* fields = "{}") {
    return message_of([&] { built(small_spec(fields), lora); });
  };
  expect_in(refused("targets=q_proj"), {"match no linear map; there are c_attn, c_fc, c_proj"});
  expect_in(refused("targets=lm_head+c_attn"), {"lm_head is tied to the embedding"});
  expect_in(refused("targets=wte+ln_1+c_attn"),
            {"transformer.wte is no linear map", "transformer.h.0.ln_1 is"});
  expect_in(refused("save=scores"), {"modules_to_save names scores, which has no parameters"});
  expect_in(refused("save=wte"), {"modules_to_save names wte, which is also the head"});
  EXPECT_NE(built(small_spec(R"({"head": {"tied": false}})"), "targets=lm_head")
                ->find_parameter("lm_head.lora_A.weight"),
            nullptr);
}

TEST(Adapters, DefaultsAreAFamilysUsualOnes) {
  const LoraConfig gpt2 = with_defaults(parse_lora("r=2"), small_spec());
  EXPECT_EQ(gpt2.targets, std::vector<std::string>{"c_attn"});
  EXPECT_TRUE(gpt2.fan_in_fan_out);
  EXPECT_EQ(gpt2.task_type, "CAUSAL_LM");
  const TransformerSpec bert = small_spec(R"({"family": "bert", "decoder": {"layers": 0},
      "encoder": {"layers": 2, "heads": 4, "ffn": 31}, "attention": {"fused_qkv": false},
      "head": {"kind": "sequence_classes", "classes": 3, "tied": false, "pooler": true}})");
  const LoraConfig classes = with_defaults(parse_lora("r=2"), bert);
  EXPECT_EQ(classes.targets, (std::vector<std::string>{"query", "value"}));
  EXPECT_EQ(classes.modules_to_save, std::vector<std::string>{"classifier"});
  EXPECT_FALSE(classes.fan_in_fan_out);
  EXPECT_EQ(trained(*built(bert, "r=2")), (std::vector<std::string>{"classifier.weight", "classifier.bias"}));
}

}  // namespace
}  // namespace smelt
