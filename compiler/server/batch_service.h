// BatchService: what the HTTP server hands requests to. It is one batch with its thread (BatchThread), or
// several of them, each with a replica of the model (Replicas).
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "compiler/server/adapter_counts.h"
#include "compiler/server/mailbox.h"
#include "compiler/server/request_times.h"
#include "compiler/server/turns.h"
#include "runtime/engine/serving/request_batch.h"

namespace smelt::server {

/// Thread-safe.
class BatchService {
 public:
  BatchService() = default;
  virtual ~BatchService() = default;
  BatchService(const BatchService&) = delete;
  BatchService& operator=(const BatchService&) = delete;

  virtual int64_t vocabulary() const = 0;
  virtual size_t capacity() const = 0;
  virtual size_t prompt_capacity() const = 0;
  /// Returns the most requests of one call of hand_over(): as many as one batch may have at a time.
  virtual size_t most_requests() const = 0;
  /// Throws Error naming the fault if the request can never run.
  virtual void check(const Request& request) const = 0;

  /// Submits the requests of one HTTP answer, one per choice (completion), without waiting. Later the
  /// mailbox signals either that all requests are accepted, or an error if one of them is refused; in the
  /// second case none of them runs. `asked`: the body from which other ranks make the same requests. Throws
  /// ApiError if the service has ended, with the code "shutting_down" if close() has ended it.
  virtual std::shared_ptr<Mailbox> hand_over(std::vector<Request> requests, AskedCompletion asked = {}) = 0;
  /// Calls hand_over and waits until the requests are accepted. Throws the error if one is refused.
  std::shared_ptr<Mailbox> submit(std::vector<Request> requests, AskedCompletion asked = {});
  /// Passes new weights to the service, without waiting: they are taken between two steps. Returns their
  /// version. Throws the Errors of check_weight_update, and ApiError if the plan is for several ranks or the
  /// service has ended; nothing is changed then.
  virtual uint64_t update_weights(WeightUpdate update) = 0;
  /// Returns the adapters that requests may name (RequestBatch::adapters); null if there are none.
  virtual AdapterStore* adapters() { return nullptr; }
  /// Gives an adapter a slot, and passes its matrices to the batch, without waiting: they are written between
  /// two steps, before requests run that are handed over later. Throws the Errors of AdapterStore::add, and
  /// ApiError if the service has ended; nothing is changed then. Requires: adapters() is not null, and
  /// `weights` fit them.
  virtual void write_adapter(const std::string& name, AdapterWeights weights) = 0;

  virtual ContinuousBatchCounts counts() const = 0;
  virtual RequestTimes times() const = 0;
  /// Returns the counts of the requests that have an adapter.
  virtual AdapterCounts adapter_counts() const { return {}; }
  /// Waits until no request runs or waits, until the time `most` has passed, or until the service ends.
  /// Returns whether no request runs or waits now.
  virtual bool wait_idle(std::chrono::steady_clock::duration most) = 0;
  /// Returns the error that has ended the service or a part of it; empty if there was none.
  virtual std::string fault() const = 0;
  /// Makes the service end, without waiting for it. Accepted requests fail; all others, and later ones, are
  /// refused.
  virtual void close() = 0;
  /// Sets a function that is called once for each part of the service that an error ends: by the thread of
  /// that part, or at once if it has ended already. The function must not throw. An empty function removes
  /// the previous one.
  virtual void on_fault(std::function<void()> listener) = 0;
};

}  // namespace smelt::server
