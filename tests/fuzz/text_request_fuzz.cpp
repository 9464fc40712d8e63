// Any bytes as the body of a request about whole texts: an ApiError whose own body is JSON, or a request
// within its bounds, whose reply is JSON. The first byte selects the task.
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/text_reply.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

void check(const TextRequest& request) {
  require(!request.inputs.empty() && request.inputs.size() <= kMostTexts);
  const bool is_of_pairs = request.task == TextTask::score || request.task == TextTask::rerank;
  for (const TextInput& input : request.inputs) {
    require(input.second.has_value() == is_of_pairs);
    require(input.tokens.empty() != input.text.empty());
  }
  require(request.dimensions.value_or(1) >= 1 && request.truncated_tokens.value_or(1) != 0);
}

std::string reply_to(const TextRequest& request) {
  const TextReplyHead head = {.id = "id", .model = request.model.value_or("m"), .created = 1, .tokens = 2};
  const TextResults results(request.inputs.size(), {0.5F, -1});
  switch (request.task) {
    case TextTask::embed:
      return embeddings_body(head, results, request.base64);
    case TextTask::classify:
      return classification_body(head, results, {"a", "b"});
    case TextTask::score:
      return scores_body(head, results);
    case TextTask::rerank:
      return rerank_body(head, results, request);
  }
  return "";
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  constexpr uint8_t kTasks = 4;
  if (size == 0) return 0;
  const std::string_view body(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    const TextRequest request = read_text_request(static_cast<TextTask>(data[0] % kTasks), body);
    check(request);
    require(parse_json(reply_to(request), "reply").is_object());
  } catch (const ApiError& error) {
    require(parse_json(error_body(error), "error")["error"]["message"].is_string());
  }
  return 0;
}
