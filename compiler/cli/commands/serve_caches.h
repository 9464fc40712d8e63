// The KV caches of `smelt serve`: their size, and their kind. A cache consists of pages, which are assigned
// to requests as needed, or of one slot per request. B is the largest number of concurrent requests, and T
// the largest number of tokens per request. A slot has room for T tokens.
#pragma once

#include <cstdint>
#include <optional>

#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// The flags --cache-memory and --cache-pages. Caches have pages unless --cache-pages is 0 or the model does
/// not support pages.
class CacheFlags {
 public:
  void add_to(CLI::App& app);
  /// Sets the number of pages in `options`. The number is the value of --cache-pages, or the number of pages
  /// that fit into --cache-memory. Without either flag, it is the number of pages that B slots of T tokens
  /// need, or 0 if the model does not support pages. `draft` is the model that makes drafts, or null: its
  /// caches have as many pages, so --cache-memory is for the pages of both. Requires: the bounds of B and T
  /// in `options` are set. Throws Error if a flag is given and the model is a compiled plan, whose caches are
  /// fixed; if a flag asks for pages and the model does not support them; or if the memory is too small for
  /// one page.
  void apply(const Model& model, CompileOptions& options, const Model* draft = nullptr) const;

 private:
  bool asked() const { return pages_ || bytes_; }

  std::optional<int64_t> pages_;
  std::optional<uint64_t> bytes_;
};

}  // namespace smelt::cli
