// The forward graphs of recorded models, decomposed to primitives and evaluated in float64, give PyTorch's
// numbers: what holds here is the meaning of the graphs, before any pass and any kernel.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "frontend/description.h"
#include "frontend/weights.h"
#include "ir/evaluate/evaluator.h"
#include "passes/graph/simplify/decompose.h"

namespace smelt {
namespace {

Tensor read(const TensorView& view) {
  Tensor tensor{view.dtype, view.shape, {}};
  if (is_float(view.dtype)) {
    const std::vector<float> values = read_floats(view);
    tensor.data.assign(values.begin(), values.end());
    return tensor;
  }
  std::vector<int32_t> values(static_cast<size_t>(view.elements()));
  std::memcpy(values.data(), view.bytes.data(), view.bytes.size());
  tensor.data.assign(values.begin(), values.end());
  return tensor;
}

class ForwardOracle : public ::testing::TestWithParam<const char*> {
 protected:
  const std::filesystem::path directory =
      std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens" / GetParam();
  const Description description = read_description(directory);
  const Checkpoint golden = Checkpoint::open(directory / "golden.safetensors");
  const bool masked = golden.find("input.attention_mask") != nullptr;
  const std::unique_ptr<Module> module = description.build({.hidden_states = true, .attention_mask = masked});

  Tensors run(const char* name) {
    const Checkpoint weights = Checkpoint::open(*description.weights());
    check_weights(*module, weights);
    Tensors parameters, inputs;
    for (const Module::Parameter& parameter : module->parameters) {
      const std::vector<float> values = read_parameter(parameter, weights);
      Tensor& tensor = parameters[parameter.name];
      for (const Dim& dim : parameter.type.shape) tensor.shape.push_back(dim.evaluate({}));
      tensor.data.assign(values.begin(), values.end());
    }
    Graph& graph = *module->find_graph(name);
    decompose(graph, {});
    for (Node* input : graph.inputs()) {
      const std::string& key = input->get(attr::name);
      inputs[key] = read(golden.at("input." + key));
    }
    const std::vector<int64_t>& shape = inputs.at("input_ids").shape;
    return evaluate(graph, inputs, parameters, {.symbols = {{"B", shape[0]}, {"T", shape[1]}}, .philox = {}})
        .outputs;
  }

  void expect_close(const Tensor& ours, const std::string& name) {
    const Tensor theirs = read(golden.at(name));
    ASSERT_EQ(ours.shape, theirs.shape) << name;
    double difference = 0, norm = 0;
    for (size_t i = 0; i < theirs.data.size(); ++i) {
      difference += std::pow(ours.data[i] - theirs.data[i], 2);
      norm += std::pow(theirs.data[i], 2);
    }
    EXPECT_LE(std::sqrt(difference / norm), 1e-7) << name;
  }
};

TEST_P(ForwardOracle, LogitsAndHiddenStates) {
  const Tensors outputs = run("logits");
  expect_close(outputs.at("logits"), "output.logits");
  for (int64_t i = 0; i <= description.spec.decoder.layers; ++i)
    expect_close(outputs.at(fmt::format("hidden.{}", i)), fmt::format("output.hidden.{}", i));
}

TEST_P(ForwardOracle, Loss) {
  const Tensors outputs = run("evaluate");
  const double loss = outputs.at("loss_sum").data[0] / outputs.at("token_count").data[0];
  EXPECT_NEAR(loss / read_json_file(directory / "golden.json").at("loss").get<double>(), 1, 1e-9);
}

std::string test_name(const ::testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::erase(name, '-');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Goldens, ForwardOracle,
                         ::testing::Values("gpt2", "gpt2-variant", "gpt2-relu", "llama-eight-queries",
                                           "qwen3", "gemma", "gemma2", "opt", "opt-post", "gpt-neox", "bloom",
                                           "mistral-window", "qwen2-window"),
                         test_name);

}  // namespace
}  // namespace smelt
