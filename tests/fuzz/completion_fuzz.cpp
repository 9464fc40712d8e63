// Any bytes as the body of POST /v1/completions: an ApiError whose own body is JSON, or a request within its
// bounds.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "runtime/serving/api_error.h"
#include "runtime/serving/completion_request.h"
#include "runtime/system/json_text.h"

namespace smelt {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

void check(const CompletionRequest& request) {
  require(!request.prompts.empty());
  require(request.n >= 1 && request.n * std::ssize(request.prompts) <= kMostChoices);
  require(request.options.temperature >= 0 && request.options.top_p > 0);
  for (const std::string& stop : request.stop) require(!stop.empty());
  request.options.validate();
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  static const GenerationOptions defaults = completion_defaults("");
  try {
    check(read_completion_request({reinterpret_cast<const char*>(data), size}, defaults));
  } catch (const ApiError& error) {
    require(parse_json(error_body(error), "error")["error"]["message"].is_string());
  }
  return 0;
}
