#include "compiler/server/weight_updates.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "compiler/server/path_below.h"
#include "runtime/base/error.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/body_fields.h"
#include "runtime/engine/serving/weight_update.h"
#include "runtime/system/json_text.h"

namespace smelt::server {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_update(const char* name, const std::string& message) {
  throw ApiError(http::kBadRequest, message, name, "invalid_value");
}

/// The fields of a body.
struct UpdateFields {
  std::string path;
  WeightUpdate update;  // without weights
};

UpdateFields read_update(std::string_view text) {
  const BodyFields body(text);
  body.require_known({{"path", "version", "keep_prefixes", "wait"}});
  UpdateFields fields;
  (void)body.required("path");
  fields.path = *body.text("path");
  if (const auto version = body.whole("version", 0, std::numeric_limits<int64_t>::max()))
    fields.update.version = static_cast<uint64_t>(*version);
  fields.update.keeps_prefixes = body.flag("keep_prefixes").value_or(false);
  fields.update.waits = body.flag("wait").value_or(false);
  return fields;
}

}  // namespace

WeightUpdates::WeightUpdates(BatchService& batch, const fs::path& directory)
    : batch_(batch), directory_(fs::weakly_canonical(directory)) {
  if (!fs::is_directory(directory_)) fail("--weights-from {}: expected a directory", directory.string());
}

std::string WeightUpdates::update(std::string_view body) const {
  UpdateFields fields = read_update(body);
  const fs::path path = path_below(directory_, fields.path, "path", "--weights-from");
  try {
    fields.update.weights = std::make_shared<const Checkpoint>(Checkpoint::open(path));
    const uint64_t version = batch_.update_weights(std::move(fields.update));
    return Json{{"weights_version", version}}.dump();
  } catch (const ApiError&) {
    throw;
  } catch (const Error& error) {
    refuse_update("path", error.what());
  }
}

}  // namespace smelt::server
