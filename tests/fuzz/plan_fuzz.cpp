// Any bytes as a plan: as a whole file, and, to get behind its checksums, as a manifest. Either an Error, or
// a plan that is written and read back to the same bytes.
#include <cstdlib>
#include <span>
#include <string_view>

#include "runtime/base/error.h"
#include "runtime/plan/plan_file.h"
#include "runtime/plan/plan_model.h"
#include "runtime/plan/plan_validate.h"
#include "runtime/system/json_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  try {
    smelt::parse_plan(file, "fuzz");
  } catch (const smelt::Error&) {
  }
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const smelt::Json json = smelt::parse_json_or_null(text);
  if (json.is_null()) return 0;
  static const std::byte blob[64] = {};
  const std::span<const std::byte> blobs[] = {std::span(blob).first(16), std::span(blob)};
  smelt::Plan plan;
  try {
    plan = smelt::read_manifest(json, blobs, "fuzz");
    smelt::validate(plan);
  } catch (const smelt::Error&) {
    return 0;
  }
  const std::string written = smelt::serialize_plan(plan);
  if (smelt::serialize_plan(smelt::parse_plan(std::as_bytes(std::span(written)), "fuzz")) != written)
    std::abort();
  return 0;
}
