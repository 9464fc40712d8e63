#include "frontend/weights.h"

#include <algorithm>
#include <cstring>

#include "frontend/description.h"
#include "runtime/engine/training/export.h"
#include "tests/frontend/support.h"

namespace smelt {
namespace {

using testing::expect_in, testing::kGolden, testing::message_of;

/// The golden's tensors under other names, written as a checkpoint of their own.
std::filesystem::path rewritten(const std::filesystem::path& path, auto&& change) {
  const Checkpoint golden = Checkpoint::open(kGolden);
  std::vector<TensorView> tensors = golden.tensors();
  change(tensors);
  write_safetensors(path, tensors);
  return path;
}

class Weights : public ::testing::Test {
 protected:
  testing::TemporaryDirectory directory;
  Description description = read_description(kGolden);
  std::unique_ptr<Module> module = description.build({});
  std::filesystem::path file = directory.path / "model.safetensors";
};

TEST_F(Weights, TheGoldenFits) { EXPECT_NO_THROW(check_weights(*module, Checkpoint::open(kGolden))); }

TEST_F(Weights, ATiedHeadThatIsStoredWithOtherValuesIsNotTied) {
  std::vector<std::byte> head;
  for (const bool same : {true, false}) {
    rewritten(file, [&](std::vector<TensorView>& tensors) {
      const auto table = std::ranges::find(tensors, "transformer.wte.weight", &TensorView::name);
      ASSERT_NE(table, tensors.end());
      head.assign(table->bytes.begin(), table->bytes.end());
      if (!same) head[5] ^= std::byte{1};
      tensors.push_back({"lm_head.weight", table->dtype, table->shape, head});
    });
    TransformerSpec spec = description.spec;
    untie_stored_head(spec, Checkpoint::open(file));
    EXPECT_EQ(spec.head.tied, same);
  }
  TransformerSpec spec = description.spec;
  untie_stored_head(spec, Checkpoint::open(kGolden));
  EXPECT_EQ(spec, description.spec);
}

TEST_F(Weights, NamesWithoutPrefixAndMaskBuffersFit) {
  const std::vector<std::byte> mask(64 * 64 * 4);
  rewritten(file, [&](std::vector<TensorView>& tensors) {
    for (TensorView& tensor : tensors) tensor.name = tensor.name.substr(std::strlen("transformer."));
    for (int i = 0; i < 3; ++i) {
      tensors.push_back({fmt::format("h.{}.attn.bias", i), DType::f32, {1, 1, 64, 64}, mask});
      tensors.push_back({fmt::format("h.{}.attn.masked_bias", i), DType::f32, {}, std::span(mask).first(4)});
    }
  });
  const Checkpoint bare = Checkpoint::open(file), golden = Checkpoint::open(kGolden);
  EXPECT_NO_THROW(check_weights(*module, bare));
  for (const Module::Parameter& parameter : module->parameters)
    EXPECT_EQ(read_parameter(parameter, bare), read_parameter(parameter, golden)) << parameter.name;
}

TEST_F(Weights, AllThatDoesNotFitIsNamedAtOnce) {
  const std::vector<std::byte> bytes(3 * 48 * 8);
  rewritten(file, [&](std::vector<TensorView>& tensors) {
    std::erase_if(tensors, [](const TensorView& t) { return t.name == "transformer.ln_f.bias"; });
    for (TensorView& tensor : tensors) {
      if (tensor.name == "transformer.wpe.weight") tensor.shape = {48, 64};
      if (tensor.name == "transformer.h.1.ln_1.weight") tensor.dtype = DType::i32;
      if (tensor.name == "transformer.h.0.attn.c_attn.weight") tensor.shape = {144, 48};
    }
    tensors.push_back({"score.weight", DType::f32, {6, 48}, bytes});
  });
  const std::string message = message_of([&] { check_weights(*module, Checkpoint::open(file)); });
  expect_in(message, {"5 problems", "transformer.ln_f.bias or ln_f.bias: missing, expected floats [48]",
                      "transformer.wpe.weight: F32 [48,64], expected floats [64,48]",
                      "transformer.h.1.ln_1.weight: I32",
                      "transformer.h.0.attn.c_attn.weight: F32 [144,48], expected floats [48,144]",
                      "score.weight: F32 [6,48], which the model has no place for"});
}

TEST_F(Weights, TensorsBesideAllParametersAreReturned) {
  const std::vector<std::byte> bytes(6 * 48 * 4);
  rewritten(file, [&](std::vector<TensorView>& tensors) {
    tensors.push_back({"score.weight", DType::f32, {6, 48}, bytes});
  });
  EXPECT_EQ(check_weights(*module, Checkpoint::open(file)), std::vector<std::string>{"score.weight"});
  EXPECT_EQ(check_weights(*module, Checkpoint::open(kGolden)), std::vector<std::string>());
}

TEST_F(Weights, AHeadMayBeMissingWhereItIsTrained) {
  const std::filesystem::path golden = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/bert-tokens";
  const Description tokens = read_description(golden);
  const auto task = tokens.build({});
  const std::vector<std::string> heads = head_parameters(tokens.spec);
  const auto may_lack = [&](const std::string& name) { return std::ranges::count(heads, name) > 0; };
  const Checkpoint whole = Checkpoint::open(golden / "model.safetensors");
  std::vector<TensorView> tensors = whole.tensors();
  std::erase_if(tensors, [](const TensorView& tensor) { return tensor.name.starts_with("classifier."); });
  write_safetensors(file, tensors);
  EXPECT_NO_THROW(check_weights(*task, Checkpoint::open(file), may_lack));
  expect_in(message_of([&] { check_weights(*task, Checkpoint::open(file)); }),
            {"2 problems", "classifier.weight: missing", "classifier.bias: missing"});
  std::erase_if(tensors,
                [](const TensorView& tensor) { return tensor.name.find("query.bias") != std::string::npos; });
  write_safetensors(file, tensors);
  expect_in(message_of([&] { check_weights(*task, Checkpoint::open(file), may_lack); }),
            {"1 problem", "query.bias"});
}

TEST_F(Weights, WeightsOfAnotherArchitectureAreNamedAsSuch) {
  const std::filesystem::path other = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/bert-tokens";
  expect_in(message_of([&] { check_weights(*module, Checkpoint::open(other / "model.safetensors")); }),
            {"most parameters are missing: the weights are of another architecture"});
}

TEST_F(Weights, Conv1dIsTransposed) {
  const Checkpoint golden = Checkpoint::open(kGolden);
  const std::vector<float> stored = read_floats(golden.at("transformer.h.1.mlp.c_fc.weight"));
  const std::vector<float> ours =
      read_parameter(*module->find_parameter("transformer.h.1.mlp.c_fc.weight"), golden);
  for (size_t out : {0, 7, 191})
    for (size_t in : {0, 31, 47}) EXPECT_EQ(ours[out * 48 + in], stored[in * 192 + out]);
}

/// Keeps states in plain memory and runs nothing.
class StateKeeper : public Executor {
 public:
  explicit StateKeeper(const State& state) : values_(static_cast<size_t>(state.shape[0].evaluate({}))) {}
  std::span<std::byte> state(int) override { return std::as_writable_bytes(std::span(values_)); }
  void run(const PlanEntry&, const SymbolValues&, std::span<const void* const>, std::span<void* const>,
           const Philox&) override {}

 private:
  std::vector<float> values_;
};

std::shared_ptr<Plan> plan_of(const Module& module) {
  auto plan = std::make_shared<Plan>();
  State state{.name = "parameters", .role = Role::parameter, .shape = {}, .init = {}, .segments = {}};
  int64_t end = 0;
  for (const Module::Parameter& parameter : module.parameters) {
    Segment segment{parameter.name,      {}, end, parameter.init, parameter.decay, parameter.checkpoint_names,
                    parameter.transposed};
    for (const Dim& dim : parameter.type.shape) segment.shape.push_back(dim.evaluate({}));
    end += segment.elements() + 16;
    state.segments.push_back(std::move(segment));
  }
  state.shape = {end};
  plan->states.push_back(std::move(state));
  plan->model = module.description;
  return plan;
}

TEST_F(Weights, ExportWritesWhatWasRead) {
  const auto plan = plan_of(*module);
  Session session(plan, std::make_unique<StateKeeper>(plan->states[0]));
  EXPECT_TRUE(session.load_weights(kGolden).empty());
  export_model(session, directory.path / "out");
  const Checkpoint golden = Checkpoint::open(kGolden), written = Checkpoint::open(directory.path / "out");
  EXPECT_EQ(written.names(), golden.names());
  EXPECT_EQ(written.metadata().at("format"), "pt");
  for (const TensorView& tensor : golden.tensors()) {
    EXPECT_EQ(written.at(tensor.name).shape, tensor.shape);
    EXPECT_TRUE(std::ranges::equal(written.at(tensor.name).bytes, tensor.bytes)) << tensor.name;
  }
  EXPECT_EQ(read_json_file(directory.path / "out/config.json"), description.config);
  EXPECT_EQ(read_json_file(directory.path / "out/generation_config.json"), description.generation);
}

TEST_F(Weights, ExportNeedsAConfig) {
  const auto plan = plan_of(*module);
  plan->model = R"({"config": null})";
  Session session(plan, std::make_unique<StateKeeper>(plan->states[0]));
  expect_in(message_of([&] { export_model(session, directory.path / "out"); }), {"no config.json"});
  EXPECT_FALSE(std::filesystem::exists(directory.path / "out"));
}

}  // namespace
}  // namespace smelt
