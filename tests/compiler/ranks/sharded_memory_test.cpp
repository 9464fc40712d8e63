// Memory of parameters and gradients that ranks have parts of: what is whole at a rank is so for a layer or
// two.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "frontend/description.h"
#include "frontend/transformer_spec.h"

namespace smelt {
namespace {

constexpr int64_t kElements = 12 * (4 * 256 * 256 + 3 * 256 * 1024);  // of matrices of layers

/// Twelve layers whose parameters are much larger than what they compute for a few tokens.
Compilation sharded(int zero, RecomputePolicy recompute = {}, DType storage = DType::bf16) {
  const Description description{
      Description::Kind::spec,
      "spec.json",
      spec_from_json(R"({"family": "llama", "vocab_size": 512, "hidden": 256, "max_positions": 16,
                         "decoder": {"layers": 12, "heads": 4, "kv_heads": 4, "ffn": 1024},
                         "head": {"tied": true}})"),
      nullptr,
      Json::object(),
      {}};
  CompileOptions options;
  options.target = "sm_90", options.storage = storage, options.zero = zero;
  options.mesh = parse_mesh("data=4"), options.zero_bucket = 1 << 18;
  options.build.bounds = {{{"B"}, 1}, {{"T"}, 16}};
  options.training.accumulation = false, options.training.optimizer.keep_gradients = false;
  options.entries = {"train_step"};
  options.recompute = recompute;
  return compile(description, options, Stage::program);
}

/// A flat buffer of all gathered parameters, or of all gradients, would take that much by itself.
TEST(ShardedMemory, IsLessThanAllParameters) {
  for (const bool recomputes : {false, true}) {
    RecomputePolicy policy;
    if (recomputes) set_option(policy, "price", "inf"), set_option(policy, "layers", "1");
    EXPECT_LT(sharded(3, policy).memory.at(0).arena, 2 * kElements) << recomputes;
  }
}

/// Of each layer, and with a little padding.
TEST(ShardedMemory, GathersTwice) {
  const Program program = sharded(3).program;
  double gathered = 0;
  for (const Step& step : program.entries[0].steps)
    if (const auto* collective = std::get_if<CollectiveStep>(&step.what))
      if (collective->kind == CollectiveKind::all_gather)
        gathered += static_cast<double>(*collective->to_elements().constant() * size_of(collective->dtype));
  const double elements = static_cast<double>(kElements);
  EXPECT_GT(gathered, 2 * 2 * elements);
  EXPECT_LT(gathered, 2 * 2 * elements * 1.08);
}

}  // namespace
}  // namespace smelt
