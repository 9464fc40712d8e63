// AdapterUpdates: POST /v1/load_lora_adapter and POST /v1/unload_lora_adapter, in vLLM's form, with which
// clients load and drop adapters while the server runs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "compiler/server/batch_service.h"

namespace smelt::server {

/// Function that reads an adapter's directory for the slots of a plan
/// (runtime/engine/adapters/adapter_files.h).
using ReadAdapter = std::function<AdapterWeights(const std::filesystem::path&, const AdapterInterface&)>;

/// Loads adapters for a batch, whose model has the name `model` for clients. Thread-safe.
struct AdapterLoader {
  BatchService& batch;
  std::string model;
  ReadAdapter read;

  /// Reads an adapter's directory, gives the adapter a slot, and lets the batch fill the slot before its next
  /// step. Throws Error if the plan has no slots, if `read` throws it, if the name is taken, or if no slot is
  /// free; nothing is changed then.
  void load(const std::string& name, const std::filesystem::path& directory) const;
};

/// Loads adapters from directories below one directory. Thread-safe.
class AdapterUpdates {
 public:
  /// Throws Error if `directory` is no directory, or if the batch has no slots for adapters.
  AdapterUpdates(AdapterLoader loader, const std::filesystem::path& directory);

  /// Loads the adapter that the body {"lora_name", "lora_path"} names. Returns the reply's body. Throws
  /// ApiError, and changes nothing, if the body is wrong, or for the Errors of AdapterLoader.
  std::string load(std::string_view body) const;
  /// Drops the adapter that the body {"lora_name"} names: later requests do not find it, and those that run
  /// or wait keep it until their end. Throws ApiError if the body is wrong or there is no such adapter.
  std::string unload(std::string_view body) const;

 private:
  const AdapterLoader loader_;
  const std::filesystem::path directory_;  // without symbolic links
};

}  // namespace smelt::server
