// The memory that `smelt serve` gives to caches, and their form: pages or slots.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// Pages that requests share, unless the caller wants slots or the model has no such caches.
class CacheFlags {
 public:
  void add_to(CLI::App& app);
  /// Sets the number of pages of a model whose bounds are set: as many as fit the memory, or as the slots
  /// need. Throws Error where the options cannot be met.
  void apply(const Model& model, CompileOptions& options) const;

 private:
  bool asked() const { return pages_ || bytes_; }

  std::optional<int64_t> pages_;
  std::optional<uint64_t> bytes_;
};

}  // namespace smelt::cli
