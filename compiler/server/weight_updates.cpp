#include "compiler/server/weight_updates.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/weight_update.h"
#include "runtime/system/json_text.h"

namespace smelt::server {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse_update(const char* name, const std::string& message) {
  throw ApiError(http::kBadRequest, message, name, "invalid_value");
}

/// Removes a field. Throws ApiError if it has another type than T.
template <typename T>
std::optional<T> take_field(Json& body, const char* name, bool (Json::*is)() const noexcept,
                            const char* expected) {
  const auto found = body.find(name);
  if (found == body.end() || found->is_null()) return std::nullopt;
  if (!((*found).*is)())
    refuse_update(name, fmt::format("{} = {}: expected {}", name, brief(*found), expected));
  T value = found->get<T>();
  body.erase(found);
  return value;
}

/// The fields of a body.
struct UpdateFields {
  std::string path;
  WeightUpdate update;  // without weights
};

Json parse_update(std::string_view text) {
  try {
    Json body = parse_json(text, "the body");
    if (body.is_object()) return body;
  } catch (const Error& error) {
    throw ApiError(http::kBadRequest, error.what(), "", "invalid_json");
  }
  throw ApiError(http::kBadRequest, "the body: expected a JSON object", "", "invalid_json");
}

UpdateFields read_update(std::string_view text) {
  Json body = parse_update(text);
  UpdateFields fields;
  const auto path = take_field<std::string>(body, "path", &Json::is_string, "the path of weights");
  if (!path) throw ApiError(http::kBadRequest, "there is no path", "path", "missing_required_parameter");
  fields.path = *path;
  fields.update.version =
      take_field<uint64_t>(body, "version", &Json::is_number_unsigned, "a whole number from 0 on");
  fields.update.keeps_prefixes =
      take_field<bool>(body, "keep_prefixes", &Json::is_boolean, "true or false").value_or(false);
  fields.update.waits = take_field<bool>(body, "wait", &Json::is_boolean, "true or false").value_or(false);
  for (const auto& [name, value] : body.items())
    if (!value.is_null())
      throw ApiError(http::kBadRequest, fmt::format("there is no option '{}'", name), name,
                     "unknown_parameter");
  return fields;
}

}  // namespace

WeightUpdates::WeightUpdates(BatchThread& batch, const fs::path& directory)
    : batch_(batch), directory_(fs::weakly_canonical(directory)) {
  if (!fs::is_directory(directory_)) fail("--weights-from {}: expected a directory", directory.string());
}

/// Links are resolved first, so that none leads out of the directory.
fs::path WeightUpdates::path_below(const std::string& path) const {
  std::error_code fault;
  const fs::path whole = fs::weakly_canonical(directory_ / path, fault);
  const auto differs = std::ranges::mismatch(directory_, whole);
  if (fault || path.find('\0') != std::string::npos || differs.in1 != directory_.end())
    refuse_update("path", fmt::format("path = {}: expected one below the directory of --weights-from",
                                      brief(Json(path))));
  return whole;
}

std::string WeightUpdates::update(std::string_view body) const {
  UpdateFields fields = read_update(body);
  const fs::path path = path_below(fields.path);
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
