// A batch that requests join and leave while it runs. On a CPU what each of them gets has the bits that it
// gets alone, whatever else runs: prompts are cut into chunks by their own length, each a run of its own, and
// sums of a run of one token a row do not depend on its other rows (runtime/cpu/few_rows.h).
//
// A prompt is read in row 0: whoever has that row moves behind the last one when the next prompt begins, and
// the last row takes the place of one that ends; where row 0 ends and a request waits, that one begins there.
// So a run of the first rows is a run of all, and a request moves at most twice, which copies what the caches
// hold of it only where a row is a whole slot of them (cache_rows.h).
//
// Where the plan chooses tokens (@next_pages), the next step is started before the host has seen the last
// one's tokens, as long as the host chooses for nobody. A row that has ended then runs one step more at most,
// and keeps its slot and its pages until that has ended.
//
// Where caches are in pages, a request begins when as many are left as it may need in the end, so it never
// waits for memory once it has begun. Whoever came first begins first: no later request takes its pages.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/serving/cache_rows.h"
#include "runtime/serving/running_sequence.h"
#include "runtime/serving/steps.h"

namespace smelt {

struct ContinuousBatchOptions {
  size_t slots = 0;             // requests that run together; 0: as many as the plan has and equal bits allow
  size_t most_waiting = 64;     // requests that wait while no slot is free; others are refused
  size_t chunk = 64;            // tokens of a prompt that are read between two tokens of the others
  bool shares_prefixes = true;  // of caches in pages: pages of prompts that begin alike are read once
  bool plan_chooses = true;     // where the plan can: it chooses tokens, of requests that need no host for it
  /// Steps that are under way while the host looks at the one in front, where the plan chooses all tokens;
  /// nothing: one on a GPU, none where the host does the work itself.
  std::optional<size_t> ahead = {};
};

/// Sums since the beginning, and what runs now.
struct ContinuousBatchCounts {
  size_t slots = 0, running = 0, waiting = 0;
  uint64_t steps = 0, prompt_tokens = 0, new_tokens = 0;
  uint64_t plan_tokens = 0;  // of the new ones, that the plan has chosen
  uint64_t ended = 0, cancelled = 0, failed = 0;
  int64_t cache_bytes = 0;  // of the caches and what is kept beside them to choose tokens, as planned
  PageCounts pages = {};    // of caches in pages
};

/// Its functions must not run at the same time in two threads, and nothing else may run the session.
class ContinuousBatch {
 public:
  using Id = uint64_t;

  /// Throws Error where the plan cannot be served, or has fewer slots than are asked for.
  explicit ContinuousBatch(Session& session, const ContinuousBatchOptions& options = {});

  int64_t vocabulary() const { return rows_->vocabulary(); }
  size_t capacity() const { return rows_->capacity(); }  // tokens of a request, all but the last new one

  /// Throws Error where the request can never run, naming what does not fit; from any thread, at any time.
  void check(const Request& request) const;
  /// Requests that may run and wait together.
  size_t most_requests() const { return options_.slots + options_.most_waiting; }
  /// Throws Error where so many more could not be submitted: of Status::unavailable where they may later.
  void require_room(size_t requests) const;
  /// First come, first served. Throws what check and require_room throw.
  Id submit(Request request);
  /// Reads one more token of every row and a chunk of one prompt; false where there is nothing to do.
  bool step();
  /// Whether there is nothing to do. Where steps run ahead there may be when all requests have ended.
  bool idle() const { return waiting_.empty() && running_.empty(); }
  /// What has happened since the last call; behind the one that tells of its end the request is forgotten.
  /// Throws Error for an unknown id.
  Progress poll(Id id);
  /// Ends it where it has not ended; unknown ids are passed over. Its memory is free at once, or when the
  /// steps under way have ended.
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
