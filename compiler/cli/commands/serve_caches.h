// The caches of keys and values of `smelt serve`: their memory, and whether they consist of pages, which
// requests share, or of one slot of T tokens per request.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// --cache-memory and --cache-pages. Caches have pages unless --cache-pages is 0 or the model does not
/// support pages.
class CacheFlags {
 public:
  void add_to(CLI::App& app);
  /// Sets the number of pages in `options`, whose bounds must be set: the number given by --cache-pages, as
  /// many as fit --cache-memory, or as many as B slots of T tokens need. Throws Error if a flag is given and
  /// the model is a plan, if pages are asked for and the model does not support them, or if the memory is too
  /// small for one.
  void apply(const Model& model, CompileOptions& options) const;

 private:
  bool asked() const { return pages_ || bytes_; }

  std::optional<int64_t> pages_;
  std::optional<uint64_t> bytes_;
};

}  // namespace smelt::cli
