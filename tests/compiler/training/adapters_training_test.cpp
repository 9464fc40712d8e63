// Training plans with adapters: what is frozen keeps its bits, and costs its own bytes alone.
#include <gtest/gtest.h>

#include <array>

#include "compiler/driver/compile.h"
#include "frontend/blocks/adapters.h"
#include "frontend/lora_option.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/engine/weights/safetensors.h"
#include "runtime/plan/state_parts.h"
#include "runtime/session/session.h"

namespace smelt {
namespace {

constexpr const char* kAdaptedSpec =
    R"({"family": "gpt2", "vocab_size": 67, "hidden": 32, "max_positions": 16,
                                  "attention": {"fused_qkv": false},
                                  "decoder": {"layers": 2, "heads": 4, "ffn": 48}})";

Compilation compiled_training(const char* lora, DType storage, Stage stage = Stage::plan,
                              WeightType base = WeightType::floats) {
  const TransformerSpec spec = spec_from_object(Json::parse(kAdaptedSpec), "test");
  CompileOptions options;
  options.storage = storage, options.weight_type = base;
  if (base != WeightType::floats) options.weight_group = 16;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 8}};
  if (*lora) options.build.lora = with_defaults(parse_lora(lora), spec);
  return compile(build_transformer(spec, build_options(options)), options, stage);
}

/// Tokens of one batch, which are also their own targets.
class TokenBatch {
 public:
  TokenBatch() {
    for (size_t i = 0; i < ids_.size(); ++i) ids_[i] = static_cast<int32_t>(i * 5 % 67);
  }
  std::vector<InputTensor> inputs(bool with_labels) const {
    std::vector<InputTensor> all = {{"input_ids", DType::i32, {2, 8}, ids_.data()}};
    if (with_labels) all.push_back({"labels", DType::i32, {2, 8}, ids_.data()});
    return all;
  }

 private:
  std::array<int32_t, 16> ids_;
};

std::vector<std::byte> bytes_of_state(const Session& session, const char* name) {
  const auto bytes = session.state(name);
  return {bytes.begin(), bytes.end()};
}

TEST(AdapterTraining, FrozenWeightsKeepTheirBits) {
  for (const DType storage : {DType::f32, DType::bf16}) {
    Compilation compiled = compiled_training("r=4,alpha=8,dropout=0.1", storage);
    Session session(std::make_shared<const Plan>(std::move(compiled.plan)), SessionOptions{.threads = 1});
    session.initialize(3);
    session.scalar("learning_rate") = 0.05F;
    const auto frozen = bytes_of_state(session, "parameters.frozen"),
               trained = bytes_of_state(session, "parameters");
    float first = 0, last = 0;
    for (int step = 0; step < 8; ++step)
      for (const HostTensor& output : session.run("train_step", TokenBatch().inputs(true)))
        if (output.name == "loss") (step == 0 ? first : last) = output.as<float>()[0];
    EXPECT_EQ(bytes_of_state(session, "parameters.frozen"), frozen);
    EXPECT_NE(bytes_of_state(session, "parameters"), trained);
    EXPECT_LT(last, first);
  }
}

/// A file of an adapter's tensors alone, with every number `value` but in B, where it is `b`.
Checkpoint adapter_file(const Session& session, float value, float b) {
  std::vector<HostTensor> tensors;
  for (const Segment& segment : session.plan().find_state("parameters")->segments) {
    const bool is_b = segment.name.ends_with("lora_B.weight");
    const std::vector<float> values(static_cast<size_t>(segment.elements()), is_b ? b : value);
    const auto bytes = std::as_bytes(std::span(values));
    tensors.push_back(
        {segment.checkpoint_names.front(), DType::f32, segment.shape, {bytes.begin(), bytes.end()}});
  }
  return Checkpoint::of(std::move(tensors), "adapter");
}

/// One plan runs any adapter of the same shapes.
TEST(AdapterTraining, AnotherAdapterIsLoadedWithoutCompiling) {
  Compilation compiled = compiled_training("r=4,alpha=8", DType::f32);
  Session session(std::make_shared<const Plan>(std::move(compiled.plan)), SessionOptions{.threads = 1});
  session.initialize(3);
  const auto load = [&](float value, float b) {
    const auto unused = session.load_weights(adapter_file(session, value, b),
                                             [](const Segment& s) { return !is_adapter_parameter(s.name); });
    EXPECT_TRUE(unused.empty());
    const auto outputs = session.run("logits", TokenBatch().inputs(false));
    const auto logits = outputs[0].as<float>();
    return std::vector<float>(logits.begin(), logits.end());
  };
  const std::vector<float> base = load(0.5F, 0), first = load(0.5F, 0.1F), second = load(-0.3F, 0.2F);
  EXPECT_NE(first, base);
  EXPECT_NE(first, second);
  EXPECT_EQ(load(0.5F, 0.1F), first);
  EXPECT_EQ(load(0.1F, 0), base);
}

/// Bytes of a plan's states of these roles.
int64_t state_bytes_of(const Plan& plan, std::initializer_list<Role> roles) {
  int64_t bytes = 0;
  for (const State& state : plan.states)
    if (llvm::is_contained(roles, state.role)) bytes += state_bytes(plan, state);
  return bytes;
}

TEST(AdapterTraining, StatesTakeWhatTheFormulaSays) {
  const Plan plan = compiled_training("r=4", DType::bf16).plan;
  // Per number: base 2 bytes; adapters 4 of the master, 2 of the copy, 8 of two moments. Sums of
  // micro-steps: 4.
  const State& base = *plan.find_state("parameters.frozen");
  int64_t frozen = 0, trained = 0;
  for (const Segment& segment : base.segments) frozen += segment.elements();
  for (const Segment& segment : plan.find_state("parameters")->segments) trained += segment.elements();
  EXPECT_EQ(trained, 2 * 2 * 4 * (32 + 32));  // layers, query and value, r (in + out)
  const int64_t padding = 16 * static_cast<int64_t>(base.segments.size());
  EXPECT_EQ(state_bytes_of(plan, {Role::optimizer}), 8 * trained);
  EXPECT_GE(state_bytes_of(plan, {Role::parameter}), 2 * frozen + 6 * trained);
  EXPECT_LE(state_bytes_of(plan, {Role::parameter}), 2 * (frozen + padding) + 6 * trained);
  EXPECT_TRUE(base.from_model);
}

/// Returns the losses of six steps.
std::vector<float> losses_of(Session& session) {
  session.scalar("learning_rate") = 0.05F;
  std::vector<float> losses;
  for (int step = 0; step < 6; ++step)
    for (const HostTensor& output : session.run("train_step", TokenBatch().inputs(true)))
      if (output.name == "loss") losses.push_back(output.as<float>()[0]);
  return losses;
}

Session initialized(Compilation compiled) {
  Session session(std::make_shared<const Plan>(std::move(compiled.plan)), SessionOptions{.threads = 1});
  session.initialize(3);
  return session;
}

class AdaptersOnPackedWeights : public ::testing::TestWithParam<WeightType> {
 protected:
  static Session packed(DType storage) {
    return initialized(compiled_training("r=4,alpha=8", storage, Stage::plan, GetParam()));
  }
};

/// Training with frozen weights in few bits is training with the numbers that these stand for.
TEST_P(AdaptersOnPackedWeights, TrainAsOnTheNumbersThatTheyStandFor) {
  for (const DType storage : {DType::f32, DType::bf16}) {
    Session few = packed(storage), floats = initialized(compiled_training("r=4,alpha=8", storage));
    for (const Segment& segment : few.plan().find_state("parameters.packed")->segments)
      floats.write_segment("parameters.frozen", segment.name,
                           few.read_segment("parameters.packed", segment.name));
    const auto frozen = bytes_of_state(few, "parameters.packed");
    const std::vector<float> found = losses_of(few), expected = losses_of(floats);
    ASSERT_EQ(found.size(), 6u);
    for (size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], expected[i], storage == DType::f32 ? 2e-5 : 2e-2) << i;
    EXPECT_LT(found.back(), found.front());
    EXPECT_EQ(bytes_of_state(few, "parameters.packed"), frozen);
  }
}

/// All but the tied embedding, positions, norms and biases. Checkpoints leave them to the model.
TEST_P(AdaptersOnPackedWeights, PackWhatIsMultiplied) {
  const Plan plan = compiled_training("r=4", DType::bf16, Stage::plan, GetParam()).plan;
  const State& codes = *plan.find_state("parameters.packed");
  EXPECT_EQ(codes.segments.size(), 2u * 6);
  EXPECT_TRUE(codes.from_model && plan.find_state("parameters.packed.scales")->from_model);
  EXPECT_TRUE(plan.find_state("parameters.frozen")->from_model);
  EXPECT_EQ(plan.find_state("parameters.packed.zeros") != nullptr, GetParam() == WeightType::uint4);
}

/// No numbers are kept from forward to backward, which makes them again.
TEST_P(AdaptersOnPackedWeights, AreUnpackedInEachPhase) {
  const Compilation compiled = compiled_training("r=4", DType::bf16, Stage::fused, GetParam());
  for (const auto& node : compiled.fused->find_graph("train_step")->nodes()) {
    if (!node->is(Op::dequantize)) continue;
    for (const Node* user : node->result()->users()) EXPECT_EQ(user->phase, node->phase) << node->describe();
  }
}

INSTANTIATE_TEST_SUITE_P(All, AdaptersOnPackedWeights,
                         ::testing::Values(WeightType::int8, WeightType::int4, WeightType::uint4,
                                           WeightType::nf4, WeightType::fp8));

int64_t gemms_of_step(const char* lora) {
  const Compilation compiled = compiled_training(lora, DType::f32, Stage::fused);
  return llvm::count_if(compiled.fused->find_graph("train_step")->nodes(),
                        [](const auto& node) { return node->is(Op::matmul); });
}

/// Base projections of one value stay one GEMM, as do A's; no step multiplies towards a frozen weight, and
/// none towards what only frozen weights have made.
TEST(AdapterTraining, GemmsAreThoseOfTheAdaptersAlone) {
  // Forward 6 per layer (query, key and value in one, two of attention, three) and the head; backward as many
  // by inputs and by weights, but by the inputs of the first layer's projections, twice for attention's.
  EXPECT_EQ(gemms_of_step(""), 13 + 2 + 2 * (3 + 3 + 4 + 2));
  // Forward 3 more per layer (A of both in one, B of each). Backward by inputs: the head, 3 of the base and 4
  // of attention a layer, B of each, and in the second layer the base's projections and A. By weights: A, B
  // of each. The first layer's keys depend on nothing that is trained.
  EXPECT_EQ(gemms_of_step("r=4"), 13 + 2 * 3 + 1 + 2 * (3 + 4 + 2 + 3) + 2 - 1);
}

}  // namespace
}  // namespace smelt
