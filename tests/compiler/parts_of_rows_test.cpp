// Products concurrent with the copies of their parts: a sequence-parallel step has them before and after
// every product of a block, and its memory lasts for them.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "frontend/description.h"
#include "frontend/transformer_spec.h"
#include "runtime/plan/row_parts.h"

namespace smelt {
namespace {

Program sequence_parallel(const std::string& target) {
  const Description description{
      Description::Kind::spec,
      "spec.json",
      spec_from_json(R"({"family": "llama", "vocab_size": 512, "hidden": 512, "max_positions": 128,
                         "decoder": {"layers": 3, "heads": 8, "kv_heads": 4, "ffn": 1024}})"),
      nullptr,
      Json::object(),
      {}};
  CompileOptions options;
  options.target = target, options.storage = DType::bf16, options.sequence_parallel = true;
  options.mesh = parse_mesh("model=2"), options.entries = {"train_step"};
  options.build.bounds = {{{"B"}, 8}, {{"T"}, 128}};
  options.training.accumulation = false;
  return compile(description, options, Stage::program).program;
}

TEST(PartsOfRows, AreReadAndMadeByProductsOfBlocks) {
  const Program program = sequence_parallel("sm_90");
  const std::vector<Step>& steps = program.entries.at(0).steps;
  const auto buffer = [&](const BufferRef& ref) {
    return program.buffers.at(static_cast<size_t>(ref.buffer));
  };
  int read = 0, made = 0;
  for (size_t i = 0; i < steps.size(); ++i) {
    const auto* collective = std::get_if<CollectiveStep>(&steps[i].what);
    if (!collective) continue;
    if (const auto reader = reader_in_parts(steps, i)) {
      ++read;
      EXPECT_GE(buffer(collective->from).last_step, static_cast<int>(*reader)) << i;
    }
    if (const auto maker = maker_in_parts(steps, i)) {
      ++made;
      EXPECT_LE(buffer(collective->to).first_step, static_cast<int>(*maker)) << i;
    }
  }
  constexpr int kLayers = 3;
  EXPECT_GE(read, 2 * kLayers);
  EXPECT_GE(made, 4 * kLayers);
}

}  // namespace
}  // namespace smelt
