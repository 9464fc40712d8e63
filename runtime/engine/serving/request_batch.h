// RequestBatch: interface of a batch of requests that join and leave it while it runs. A batch has no threads
// and no HTTP: its owner submits requests, runs steps, and polls the progress of each request.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/engine/serving/adapter_store.h"
#include "runtime/engine/serving/page_pool.h"
#include "runtime/engine/serving/request.h"
#include "runtime/engine/serving/weight_update.h"

namespace smelt {

/// Present numbers of slots and requests, and totals since the batch was created. Counts of new tokens,
/// drafts and caches are 0 if the batch generates nothing.
struct ContinuousBatchCounts {
  size_t slots = 0, running = 0, waiting = 0;
  size_t used_slots = 0;  // those of running requests: a beam search has one for each of its present rows
  uint64_t steps = 0, prompt_tokens = 0, new_tokens = 0;
  uint64_t padding_tokens = 0;  // read in addition to prompt_tokens, because rows of a run are equally long
  uint64_t plan_tokens = 0;     // new tokens that the plan has sampled
  uint64_t draft_tokens = 0,
           kept_draft_tokens = 0;  // draft tokens that were read, and those of them that were also sampled
  uint64_t ended = 0, cancelled = 0, failed = 0;
  uint64_t weights_version = 0, weight_updates = 0;  // the present version, and the number of updates
  int64_t cache_bytes = 0;                           // of the plan's caches and states for sampling
  PageCounts pages = {};                             // all 0 if caches are not in pages

  /// Adds the counts of another batch of the same model. The version of the weights is the older one of the
  /// two, and the number of updates the larger one.
  ContinuousBatchCounts& operator+=(const ContinuousBatchCounts& other);
};

/// Requires: functions other than check() are not called concurrently, and nothing else runs the session.
class RequestBatch {
 public:
  using Id = uint64_t;

  RequestBatch() = default;
  virtual ~RequestBatch() = default;
  RequestBatch(const RequestBatch&) = delete;
  RequestBatch& operator=(const RequestBatch&) = delete;

  virtual int64_t vocabulary() const = 0;
  /// Returns the most tokens of a request; of one that generates, without its last new token.
  virtual size_t capacity() const = 0;
  /// Returns the most tokens of a prompt; of an encoder-decoder, these are the tokens of a source.
  virtual size_t prompt_capacity() const { return capacity(); }

  /// Throws Error naming the fault if the request can never run. May be called from any thread at any time.
  virtual void check(const Request& request) const = 0;
  /// Returns the most requests that may run or wait at a time.
  virtual size_t most_requests() const = 0;
  /// Throws Error if `requests` more requests cannot be submitted now. Its status is `unavailable` if this
  /// may be possible later.
  virtual void require_room(size_t requests) const = 0;
  /// Adds a request to those that wait, and returns its id. Without priorities it is the last of them. Throws
  /// the Errors of check and require_room.
  virtual Id submit(Request request) = 0;
  /// Runs the model once, or as often as the kind of batch needs for one step. Returns false if there is
  /// nothing to do.
  virtual bool step() = 0;
  /// Returns whether no request waits or runs.
  virtual bool idle() const = 0;
  /// Returns the progress since the last call. A request is forgotten after the call that reports its end.
  /// Throws Error for an unknown id.
  virtual Progress poll(Id id) = 0;
  /// Ends a request as `cancelled` if it has not ended. Ignores unknown ids.
  virtual void cancel(Id id) = 0;
  virtual ContinuousBatchCounts counts() const = 0;

  /// Replaces the weights of the session between two steps. Throws Error if the kind of batch takes no new
  /// weights, or if they do not fit; nothing is changed then.
  virtual void update_weights(WeightUpdate update);

  /// Returns the adapters that requests may name; null if the plan has no slots for adapters. The store's
  /// functions may be called from any thread.
  virtual AdapterStore* adapters() { return nullptr; }
  /// Writes the matrices of an adapter (AdapterStore::add) to its slot, between two steps. Requests with the
  /// adapter must be submitted later. Throws Error if the kind of batch has no adapters.
  virtual void write_adapter(const ServedAdapter& adapter, const AdapterWeights& weights);
};

}  // namespace smelt
