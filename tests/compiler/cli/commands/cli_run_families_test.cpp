// smelt run on models other than decoders: outputs by their names, compared with recorded values.
#include <algorithm>
#include <cmath>

#include "runtime/engine/weights/safetensors.h"
#include "tests/compiler/cli.h"

namespace smelt::test {
namespace {

class RunFamilies : public CommandLine {
 protected:
  static fs::path golden(const std::string& family) {
    return fs::path(SMELT_SOURCE_DIR) / "tests/goldens" / family;
  }

  /// The golden's own inputs, without its labels.
  void write_inputs(const std::string& family) const {
    const Checkpoint file = Checkpoint::open(golden(family) / "golden.safetensors");
    std::vector<TensorView> inputs;
    for (TensorView tensor : file.tensors()) {
      if (!tensor.name.starts_with("input.") || tensor.name == "input.labels") continue;
      tensor.name = tensor.name.substr(6);
      inputs.push_back(tensor);
    }
    write_safetensors(path("inputs.safetensors"), inputs);
  }

  Checkpoint run(const std::string& family) const {
    write_inputs(family);
    expect_good(smelt("run '" + golden(family).string() +
                      "' --entry logits --hidden-states --inputs inputs.safetensors -o out.safetensors"));
    return Checkpoint::open(path("out.safetensors"));
  }

  static std::vector<float> values(const TensorView& tensor) {
    std::vector<float> floats(tensor.bytes.size() / sizeof(float));
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), reinterpret_cast<std::byte*>(floats.data()));
    return floats;
  }

  static void expect_near(const std::vector<float>& found, const std::vector<float>& expected) {
    ASSERT_EQ(found.size(), expected.size());
    float largest = 0;
    for (float value : expected) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-5 * largest) << i;
  }

  /// The recorded values of `name`, under the name that users know.
  static void expect_recorded(const Checkpoint& out, const std::string& output, const std::string& family,
                              const std::string& name) {
    const Checkpoint recorded = Checkpoint::open(golden(family) / "golden.safetensors");
    EXPECT_EQ(out.at(output).shape, recorded.at(name).shape);
    expect_near(values(out.at(output)), values(recorded.at(name)));
  }
};

TEST_F(RunFamilies, AnEncoderGivesItsOutputsByName) {
  const Checkpoint out = run("bert-multi");
  expect_recorded(out, "logits", "bert-multi", "output.logits");
  expect_recorded(out, "last_hidden_state", "bert-multi", "output.hidden.1");
  expect_recorded(out, "hidden.0", "bert-multi", "output.hidden.0");
}

/// tanh(W h + b) of the first token.
TEST_F(RunFamilies, ThePoolersOutputIsItsDefinition) {
  const Checkpoint out = run("bert-multi");
  const Checkpoint weights = Checkpoint::open(golden("bert-multi") / "model.safetensors");
  const std::vector<float> w = values(weights.at("bert.pooler.dense.weight")),
                           bias = values(weights.at("bert.pooler.dense.bias")),
                           hidden = values(out.at("last_hidden_state"));
  const auto& shape = out.at("last_hidden_state").shape;
  const auto batch = static_cast<size_t>(shape[0]), length = static_cast<size_t>(shape[1]),
             width = static_cast<size_t>(shape[2]);
  EXPECT_EQ(out.at("pooler_output").shape, (std::vector<int64_t>{shape[0], shape[2]}));
  std::vector<float> expected;
  for (size_t b = 0; b < batch; ++b)
    for (size_t o = 0; o < width; ++o) {
      double sum = bias[o];
      for (size_t c = 0; c < width; ++c) sum += double{w[o * width + c]} * hidden[b * length * width + c];
      expected.push_back(static_cast<float>(std::tanh(sum)));
    }
  expect_near(values(out.at("pooler_output")), expected);
}

TEST_F(RunFamilies, AnImageModelGivesItsOutputsByName) {
  const Checkpoint out = run("vit-odd");
  expect_recorded(out, "logits", "vit-odd", "output.logits");
  expect_recorded(out, "hidden.2", "vit-odd", "output.hidden.2");
  EXPECT_EQ(out.at("last_hidden_state").shape, out.at("hidden.2").shape);  // that, normalised
}

}  // namespace
}  // namespace smelt::test
