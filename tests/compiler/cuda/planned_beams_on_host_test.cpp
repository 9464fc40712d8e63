// Beam searches of a continuous batch whose beams are chosen by a plan that was lowered for a GPU, run on the
// host, against searches whose beams the host chooses.
#include "runtime/engine/generation/generator.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

Description searching_model() {
  const char* spec = R"({"family": "bart", "vocab_size": 43, "hidden": 16, "max_positions": 32,
      "init": {"deviation": 0.3}, "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]},
      "decoder": {"layers": 1, "heads": 2, "ffn": 33}, "encoder": {"layers": 1, "heads": 2, "ffn": 31}})";
  return {Description::Kind::spec, "spec.json", spec_from_json(spec), nullptr, Json::object(), {}};
}

CompileOptions searching_options(bool has_sampler) {
  CompileOptions options;
  options.mode = Mode::infer;
  options.build.bounds = {{{"B"}, 8}, {{"T"}, 20}, {{"S"}, 7}};
  options.build.caches = true, options.build.has_sampler = has_sampler;
  options.entries = {"encode", "decode", "reorder", "reorder_sources"};
  if (has_sampler)
    options.entries.insert(options.entries.end(), {"next_beams", "begin_beams", "decode_beams"});
  return options;
}

/// Each source is longer than the one before it, and each search ends at another length.
std::vector<Request> searching_requests() {
  std::vector<Request> all;
  for (int32_t i = 0; i < 7; ++i) {
    Request request{.prompt = {0}, .source = {}, .options = {}};
    for (int32_t word = 0; word <= i; ++word) request.source.push_back((7 * i + 3 * word) % 43);
    request.options.num_beams = 3, request.options.max_new_tokens = 4 + 2 * i;
    request.options.eos_token_id = {2, 5};
    if (i % 3 == 1) request.options.bad_words_ids = {{9}, {11}};
    all.push_back(request);
  }
  return all;
}

TEST(PlannedBeamsOfAGpu, GiveWhatTheHostFinds) {
  CompileOptions options = searching_options(true);
  options.target = "sm_90";
  const Program program = compile(searching_model(), options, Stage::program).program;
  Session chooses = testing::cpu_session(test::plan_on_host(program));
  Session alone = testing::cpu_session(compile(searching_model(), searching_options(false)).plan);
  chooses.initialize(5), alone.initialize(5);
  ContinuousBatch batch(chooses, {.ahead = 1, .together = 3});
  std::vector<ContinuousBatch::Id> ids;
  const std::vector<Request> requests = searching_requests();
  for (const Request& request : requests) ids.push_back(batch.submit(request));
  while (batch.step()) continue;
  EXPECT_EQ(batch.counts().plan_tokens, batch.counts().new_tokens);
  Generator generator(alone);
  for (size_t i = 0; i < requests.size(); ++i) {
    const auto expected = generator.search({&requests[i].source, 1}, requests[i].options)[0];
    const Progress found = batch.poll(ids[i]);
    ASSERT_EQ(found.beams.size(), 1U) << found.error;
    std::vector<int32_t> tokens;
    for (const NewToken& token : found.beams[0].tokens) tokens.push_back(token.id);
    EXPECT_EQ(tokens, expected[0].tokens) << i;
    EXPECT_NEAR(*found.beams[0].score, expected[0].score, 1e-4) << i;
  }
}

}  // namespace
}  // namespace smelt
