// How much memory `smelt serve` gives to caches, and whether they are pages or slots.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/cli/model.h"

namespace smelt::cli {

/// Pages that requests share, unless the caller wants slots or the model has no such caches.
class CacheFlags {
 public:
  void add_to(CLI::App& app);
  /// Sets the pages of what is compiled, whose bounds are set: as many as the memory buys, or as the slots
  /// would take. Throws Error where the options ask for what cannot be.
  void apply(const Model& model, CompileOptions& options) const;

 private:
  bool asked() const { return pages_ || bytes_; }

  std::optional<int64_t> pages_;
  std::optional<uint64_t> bytes_;
};

}  // namespace smelt::cli
