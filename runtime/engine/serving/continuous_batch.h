// A batch that requests join and leave while it runs. On a CPU the results of each request have the same bits
// as if it ran alone: prompts are split into chunks by their own length, each a run of its own, and the sums
// of a run of one token per row do not depend on its other rows (runtime/cpu/small_m.h).
//
// A prompt is read in row 0. When the next prompt begins, the request in row 0 moves after the last row, and
// the last row moves into the place of one that ends. If row 0 ends and a request waits, that request begins
// there. So a run of the first rows is a run of all, and a request moves at most twice. A move copies the
// row's cache contents only if a row is a whole slot of the caches (cache_rows.h).
//
// If the plan samples tokens (@next_pages), the next step is started before the host has seen the tokens of
// the last one, as long as the host samples for no row. A row that has ended then runs at most one more step,
// and keeps its slot and its pages until that step has ended.
//
// If caches are in pages, a request begins when as many pages are free as it may ever need, so it never waits
// for memory once it has begun. Requests begin in the order of their arrival: no later request takes the
// pages of an earlier one.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/running_sequence.h"
#include "runtime/engine/serving/steps.h"

namespace smelt {

struct ContinuousBatchOptions {
  size_t slots = 0;             // requests that run together; 0: as many as the plan has and equal bits allow
  size_t most_waiting = 64;     // requests that wait while no slot is free; others are refused
  size_t chunk = 64;            // tokens of a prompt that are read between two tokens of the others
  bool shares_prefixes = true;  // of caches in pages: pages of prompts that begin alike are read once
  bool plan_chooses = true;     // where the plan can: it chooses tokens, of requests that need no host for it
  /// Steps in progress while the host processes the one before them, if the plan samples all tokens; nothing:
  /// one on a GPU, none if the host computes.
  std::optional<size_t> ahead = {};
};

/// Sums since the beginning, and what runs now.
struct ContinuousBatchCounts {
  size_t slots = 0, running = 0, waiting = 0;
  uint64_t steps = 0, prompt_tokens = 0, new_tokens = 0;
  uint64_t plan_tokens = 0;  // of the new ones, that the plan has chosen
  uint64_t ended = 0, cancelled = 0, failed = 0;
  int64_t cache_bytes = 0;  // of the caches and the states for sampling, as planned
  PageCounts pages = {};    // of caches in pages
};

/// Requires: its functions do not run concurrently in two threads, and nothing else runs the session.
class ContinuousBatch {
 public:
  using Id = uint64_t;

  /// Throws Error if the plan cannot be served, or has fewer slots than requested.
  explicit ContinuousBatch(Session& session, const ContinuousBatchOptions& options = {});

  int64_t vocabulary() const { return rows_->vocabulary(); }
  size_t capacity() const { return rows_->capacity(); }  // tokens of a request, all but the last new one

  /// Throws Error if the request can never run, naming the fault; may be called from any thread at any time.
  void check(const Request& request) const;
  /// Requests that may run and wait together.
  size_t most_requests() const { return options_.slots + options_.most_waiting; }
  /// Throws Error if `requests` more could not be submitted; its status is Status::unavailable if they may
  /// later.
  void require_room(size_t requests) const;
  /// Submits a request; first come, first served. Throws the Errors of check and require_room.
  Id submit(Request request);
  /// Reads one more token of every row and a chunk of one prompt; false where there is nothing to do.
  bool step();
  /// Returns whether there is nothing to do. Where steps run ahead there may be when all requests have ended.
  bool idle() const { return waiting_.empty() && running_.empty(); }
  /// Returns the progress since the last call. A request is forgotten after the call that reports its end.
  /// Throws Error for an unknown id.
  Progress poll(Id id);
  /// Ends a request that has not ended; ignores unknown ids. Its memory is free at once, or when the steps in
  /// progress have ended.
  void cancel(Id id);

  ContinuousBatchCounts counts() const;

 private:
  using Sequence = Steps::Sequence;
  void check_length(const Request& request) const;
  void admit();
  void read_chunk();
  void leave();
  bool has_room() const;
  void begin();
  void remove(size_t slot);
  void move_last_to(size_t slot);
  void fail_all(const std::string& error);
  void count_end(Finish finish);

  std::unique_ptr<CacheRows> rows_;
  std::unique_ptr<Steps> steps_;
  ContinuousBatchOptions options_;
  std::deque<Sequence> waiting_;
  std::vector<Sequence> running_;  // by slot
  std::map<Id, Sequence> known_;
  Id next_ = 1;
  ContinuousBatchCounts counts_;
};

}  // namespace smelt
