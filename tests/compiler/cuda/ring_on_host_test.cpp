// Generation over rings by a plan that was lowered for a GPU, run on the host: tokens that the plan chooses,
// by their text or without it, that the host chooses, and beams, against whole sequences.
#include "runtime/engine/generation/generator.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

constexpr int64_t kRowTokens = 50;

Description windowed_model() {
  const char* spec = R"({"family": "mistral", "vocab_size": 43, "hidden": 16, "max_positions": 50,
      "init": {"deviation": 0.3}, "attention": {"window": 9, "window_from": 1},
      "decoder": {"layers": 2, "heads": 2, "kv_heads": 1, "head_dim": 8, "ffn": 33}})";
  return {Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr, Json::object(), {}};
}

CompileOptions inference(std::vector<std::string> entries) {
  CompileOptions options;
  options.mode = Mode::infer, options.entries = std::move(entries);
  options.build.bounds = {{{"B"}, 4}, {{"T"}, kRowTokens}};
  options.build.caches = options.build.has_sampler = options.entries.size() > 1;
  return options;
}

TEST(RingsOfAGpu, GiveWhatWholeSequencesGive) {
  CompileOptions options =
      inference({"decode", "reorder", "next", "next_beams", "next_guided", "next_beams_guided"});
  options.target = "sm_90";
  const Program program = compile(windowed_model(), options, Stage::program).program;
  Session rings = testing::cpu_session(test::plan_on_host(program));
  Session rows = testing::cpu_session(compile(windowed_model(), inference({"logits"})).plan);
  rings.initialize(5), rows.initialize(5);
  EXPECT_LT(rings.plan().symbols.upper(Dim::symbol("R")), kRowTokens);
  Generator cached(rings), whole(rows);
  std::vector<Generator::Tokens> prompts = {{7}, {}, {3, 4, 5, 9, 2, 11, 12}};
  for (int32_t token = 3; token < 33; ++token) prompts[1].push_back(token);
  GenerationOptions asked;
  asked.max_new_tokens = 19;
  EXPECT_EQ(cached.generate(prompts, asked), whole.generate(prompts, asked));
  asked.num_beams = 3;
  EXPECT_EQ(cached.generate(prompts, asked), whole.generate(prompts, asked));
  asked.no_repeat_ngram_size = 2, asked.repetition_penalty = 1.3;  // of the text
  EXPECT_EQ(cached.generate(prompts, asked), whole.generate(prompts, asked));
  asked.num_beams = 1;
  EXPECT_EQ(cached.generate(prompts, asked), whole.generate(prompts, asked));
  asked.no_repeat_ngram_size = 17;  // the host chooses
  EXPECT_EQ(cached.generate(prompts, asked), whole.generate(prompts, asked));
}

}  // namespace
}  // namespace smelt
