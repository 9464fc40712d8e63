// Any bytes as a module in text form: an Error, or a module that the verifier looks through without harm and
// whose printed form reads back to the same text. The same for kernels and programs.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "ir/graph/verifier.h"
#include "ir/program/program.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

void require(bool held) {
  if (!held) std::abort();
}

/// Runs f; an Error about the text itself is a fine answer, one about what was printed from it is not.
template <typename F>
void allow_error(F f) {
  try {
    f();
  } catch (const Error& error) {
    require(std::string_view(error.what()).substr(0, 5) == "fuzz:");
  }
}

void module_text(std::string_view text) {
  const auto module = parse_module(text, "fuzz");
  const std::string printed = print(*module);
  require(print(*parse_module(printed, "printed")) == printed);
  verify(*module);
  json(*module);
  for (const auto& graph : module->graphs) dot(*graph);
}

template <typename Parse>
void stable(Parse parse, std::string_view text) {
  const std::string printed = print(parse(text, "fuzz"));
  require(print(parse(printed, "printed")) == printed);
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  allow_error([&] { module_text(text); });
  allow_error([&] { stable(parse_kernel, text); });
  allow_error([&] { stable(parse_program, text); });
  return 0;
}
