#include "compiler/server/adapter_updates.h"

#include <utility>

#include "compiler/server/path_below.h"
#include "runtime/base/error.h"
#include "runtime/engine/serving/api_error.h"
#include "runtime/engine/serving/body_fields.h"

namespace smelt::server {
namespace {

constexpr const char *kName = "lora_name", *kPath = "lora_path";

[[noreturn]] void refuse(const char* name, const std::string& message) {
  throw ApiError(http::kBadRequest, message, name, "invalid_value");
}

std::string required_text(const BodyFields& body, const char* name) {
  (void)body.required(name);
  return *body.text(name);
}

std::string success(const std::string& name, const char* what) {
  return fmt::format("Success: LoRA adapter '{}' {} successfully.", name, what);
}

}  // namespace

/// Clients could not choose an adapter that has the name of the model.
void AdapterLoader::load(const std::string& name, const std::filesystem::path& directory) const {
  AdapterStore* const adapters = batch.adapters();
  if (name == model) fail("adapter '{}': this is the name of the model; expected another one", name);
  if (!adapters)
    fail("adapter '{}': the model has no slots for adapters; start the server with --adapters N", name);
  batch.write_adapter(name, read(directory, adapters->interface()));
}

AdapterUpdates::AdapterUpdates(AdapterLoader loader, const std::filesystem::path& directory)
    : loader_(std::move(loader)), directory_(std::filesystem::weakly_canonical(directory)) {
  if (!std::filesystem::is_directory(directory_))
    fail("--adapters-from {}: expected a directory", directory.string());
  if (!loader_.batch.adapters())
    fail("--adapters-from {}: the model has no slots for adapters; expected --adapters N with it",
         directory.string());
}

std::string AdapterUpdates::load(std::string_view text) const {
  const BodyFields body(text);
  body.require_known({{kName, kPath}});
  const std::string name = required_text(body, kName);
  const std::filesystem::path path =
      path_below(directory_, required_text(body, kPath), kPath, "--adapters-from");
  if (name == loader_.model || loader_.batch.adapters()->find(name))
    refuse(kName,
           fmt::format("{} '{}' is taken: expected another name, or unload the adapter first", kName, name));
  try {
    loader_.load(name, path);
  } catch (const ApiError&) {
    throw;
  } catch (const Error& error) {
    if (error.status() == Status::unavailable)
      throw ApiError(http::kUnavailable, error.what(), "", "overloaded");
    refuse(kPath, error.what());
  }
  return success(name, "added");
}

std::string AdapterUpdates::unload(std::string_view text) const {
  const BodyFields body(text);
  body.require_known({{kName}});
  const std::string name = required_text(body, kName);
  if (!loader_.batch.adapters()->remove(name))
    throw ApiError(http::kNotFound, fmt::format("there is no adapter '{}'", name), kName, "model_not_found");
  return success(name, "removed");
}

}  // namespace smelt::server
