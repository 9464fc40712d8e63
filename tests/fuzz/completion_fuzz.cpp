// Any bytes as the body of POST /v1/completions: an ApiError whose own body is JSON, or a request within its
// bounds, whose options change scores within the vocabulary that they are valid for.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/completion_request.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

void check(const CompletionRequest& request) {
  require(!request.prompts.empty());
  require(request.n >= 1 && request.best_of >= request.n);
  require(request.best_of * std::ssize(request.prompts) <= kMostChoices);
  require(request.options.temperature >= 0 && request.options.top_p > 0);
  for (const std::string& stop : request.stop) require(!stop.empty() && stop.size() <= kMostStopBytes);
  require(request.options.sequence_bias.size() <= 2 * kMostSequencesOfIds);
  require(request.options.bad_words_ids.size() <= kMostSequencesOfIds);
  require(request.options.eos_token_id.size() <= kMostIds);
  request.options.validate();
}

/// Options that are valid for a vocabulary touch no score beyond it.
void choose(const CompletionRequest& request) {
  constexpr int32_t kVocabulary = 300, kSteps = 3;
  GenerationOptions options = request.options;
  try {
    options.validate(kVocabulary);
  } catch (const Error&) {
    return;
  }
  std::vector<int32_t> tokens = {1, 2, 3, 1, 2};
  const size_t prompt = tokens.size();
  for (int32_t step = 0; step < kSteps; ++step) {
    std::vector<double> scores(kVocabulary, 0.5);
    process_scores(options, {tokens, prompt, 0, std::span(tokens).first(prompt)}, scores);
    tokens.push_back(step);
  }
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  static const GenerationOptions defaults = completion_defaults("");
  try {
    const CompletionRequest request =
        read_completion_request({reinterpret_cast<const char*>(data), size}, defaults);
    check(request);
    choose(request);
  } catch (const ApiError& error) {
    require(parse_json(error_body(error), "error")["error"]["message"].is_string());
  }
  return 0;
}
