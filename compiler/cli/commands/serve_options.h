// The options of `smelt serve`.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/cli/commands/serve_caches.h"
#include "compiler/cli/commands/serve_texts.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/draft_model.h"
#include "compiler/cli/shared/model.h"

namespace smelt::cli {

/// Requests that may wait, by default.
inline constexpr size_t kDefaultQueue = 64;

struct ServeOptions {
  std::string model, host = "127.0.0.1", name, tool_parser = "auto", task = "auto", pooling;
  int port = 8080;
  int64_t slots = 0;
  size_t replicas = 1;
  std::optional<size_t> queue;
  size_t chunk = 0, draft_users = 0;
  DraftFlags draft;
  bool no_special_tokens = false, no_shared_prefixes = false, lazy = false, log_requests = false;
  bool priorities = false;
  std::string api_keys, weights_from, adapters_from;
  size_t most_per_key = 0;
  int64_t drain_seconds = 0;
  std::vector<std::string> allowed_hosts, allowed_origins;
  CacheFlags caches;
  CompileFlags flags;
  WeightFlags weights;
  std::vector<std::string> for_generation, for_texts;  // names of given options that are for one kind of task

  /// Adds all options to the command, except those of the listed groups of compilation and of weights.
  void add_to(CLI::App& command);
  /// Sets for_generation and for_texts by what was given.
  void note_given(const CLI::App& command);

  size_t most_waiting() const { return queue.value_or(kDefaultQueue); }
  TextFlags text_flags() const {
    return {.pooling = pooling,
            .rows = slots > 0 ? std::optional(slots) : std::nullopt,
            .step_tokens = flags.values.build.step_tokens};
  }
};

}  // namespace smelt::cli
