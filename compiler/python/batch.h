// BoundBatch: a continuous batch as a Python object. Any thread may call it; calls run one at a time.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <optional>
#include <string>

#include "compiler/cli/shared/prompt_text.h"
#include "compiler/python/session.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "runtime/structured/text_constraints.h"

namespace smelt::python {

/// A batch of a session, which nothing else runs while the batch exists.
struct BoundBatch {
  nanobind::object owner;                                         // the session as a Python object
  BoundSession* bound = nullptr;                                  // the same
  std::unique_ptr<cli::PromptText> texts = {};                    // null: requests have no text
  std::unique_ptr<structured::TextConstraints> constraints = {};  // null if `texts` is null
  GenerationOptions defaults = {};                                // of the plan's model
  std::unique_ptr<ContinuousBatch> batch = {};                    // null after close()

  BoundBatch(nanobind::object session, BoundSession& of) : owner(std::move(session)), bound(&of) {}
  ~BoundBatch() { close(); }
  BoundBatch(const BoundBatch&) = delete;
  BoundBatch& operator=(const BoundBatch&) = delete;
  /// Frees the batch, so that other calls may run the session again. Requires: the GIL is held.
  void close();
};

/// Calls body(batch) without the GIL, while no other thread uses the session, and returns its result.
template <typename Body>
auto in_batch(BoundBatch& bound, Body body) {
  return released([&] {
    const std::lock_guard lock(bound.bound->busy);
    if (!bound.batch) fail("the batch was closed");
    return body(*bound.batch);
  });
}

}  // namespace smelt::python
