// Any bytes as config.json or as a spec: an Error, or a spec that is whole and, where it is small, builds a
// module that the verifier accepts.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "frontend/build_transformer.h"
#include "frontend/hugging_face.h"
#include "ir/graph/verifier.h"
#include "runtime/base/error.h"

namespace smelt {
namespace {

TransformerSpec read(std::string_view text) {
  const Json json = parse_json(text, "fuzz");
  return json.is_object() && json.contains("model_type") ? spec_from_config(json, "fuzz")
                                                         : spec_from_object(json, "fuzz");
}

void require(bool held) {
  if (!held) std::abort();
}

void build(const TransformerSpec& spec) {
  try {
    verify_or_throw(*build_transformer(spec, {}));
  } catch (const Error& error) {
    // Parts that no model has together are refused by field; anything else would be a spec that passed its
    // checks wrongly.
    require(std::string_view(error.what()).starts_with("transformer: "));
  }
}

}  // namespace
}  // namespace smelt

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace smelt;
  TransformerSpec spec;
  try {
    spec = read({reinterpret_cast<const char*>(data), size});
  } catch (const Error&) {
    return 0;
  }
  require(problems_of(spec).empty());
  require(spec_from_object(to_json(spec), "again") == spec);
  if (spec.decoder.layers + spec.encoder.layers <= 4) build(spec);
  return 0;
}
