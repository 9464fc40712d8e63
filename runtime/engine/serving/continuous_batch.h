// Continuous batching: requests join and leave a batch while it runs. Each running request has a row of the
// batch, also called a slot. Rows "mix" if one run of the plan can read the next token of some rows and parts
// of the prompts of others.
//
// If the plan has the entry @mixed_pages or @tiled_pages, rows mix: a step reads the next token of each row
// and, in the same run, prompts of other rows, in the order in which their requests came. A request begins in
// a new last row.
//
// Otherwise a prompt is read in row 0, in separate runs. When the next prompt begins, the request in row 0
// moves to a new row after the last one. When a request ends, the request of the last row moves to the free
// row. There is one exception: if the request in row 0 ends and another request waits, the waiting request
// begins in row 0. The rows in use are always the first ones. If caches have fixed memory for each row
// (slot_rows.h), a move copies the row's keys and values; if rows are lists of pages (page_rows.h), a move
// copies only the list.
//
// If the plan is that of an encoder-decoder, each request has a source. When the request begins, in a new
// last row, the encoder reads the source and stores what the decoder needs of it in that row (source_rows.h).
// The rows mix: a step reads one token of each row.
//
// If log-probabilities of a prompt are requested, only its first token is read as a prompt. Its other tokens
// are read like new tokens, because the entries return only the logits after a row's last token. If rows mix,
// or if the host samples for rows in pages, one run reads several of these tokens, each in a free row.
// Otherwise one run reads one of them.
//
// On a CPU the results of each request have the same bits as if it ran alone.
//
// If the plan samples tokens (@next_pages, @mixed_pages or @tiled_pages), and the host samples for no row,
// the next step is started before the host has read the tokens of the last one. So when the host learns that
// a row has ended, steps with this row may still be running. The request keeps its row and its pages until
// these steps have ended.
//
// A request for a beam search has as many rows as beams (running_beams.h): one while the prompt is read, and
// the others after it. The slots of rows to come are kept for it. After each step, the caches of rows whose
// sequences continue other rows are copied from these: with slots by a run, and with pages by sharing the
// full pages.
//
// If the plan is that of an encoder-decoder and has the entry @next_beams, it chooses the beams of all
// running requests while each of these is a beam search that the entry supports, and all have the same number
// of beams (planned_beams.h). A request of another kind begins when these have ended. From then on the host
// chooses the beams of all searches, until neither a running nor a waiting request is of another kind.
//
// If caches are in pages, a request begins when all pages that it may need are available. Requests begin in
// the order of their priorities, and those of one priority in the order of their arrival.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/planned_beams.h"
#include "runtime/engine/serving/request_batch.h"
#include "runtime/engine/serving/running_beams.h"
#include "runtime/engine/serving/running_sequence.h"
#include "runtime/engine/serving/steps.h"
#include "runtime/engine/serving/weight_update.h"

namespace smelt {

struct ContinuousBatchOptions {
  /// Most requests that run together. 0: as many as the plan supports. On a CPU, the number is also limited
  /// so that results have the same bits as if each request ran alone.
  size_t slots = 0;
  size_t most_waiting = 64;  // requests that wait while no slot is free; others are refused
  /// Most prompt tokens that a step reads. If rows mix, they can be of several prompts, and 0 means as many
  /// as fit in a run (CacheRows::mixed_tokens). Otherwise they are of one prompt, and 0 means 64. If requests
  /// have sources, they are the tokens of the sources that the encoder reads before a step, and 0 means 512;
  /// one source may have more.
  size_t chunk = 0;
  bool shares_prefixes = true;  // with caches in pages: reads equal beginnings of prompts once
  /// The constructor runs all sizes of runs (CacheRows::prepare). If the plan chooses beams, and by the
  /// model's own options a search has several, it also runs the sizes of such searches
  /// (PlannedBeams::prepare).
  bool prepares = false;
  bool plan_chooses = true;  // the plan samples tokens if it can and supports the request's options
  /// Number of steps in progress while the host processes the results of an earlier step, if the plan samples
  /// all tokens or chooses all beams. Nothing: 1 on a GPU, 0 on a CPU.
  std::optional<size_t> ahead = {};
  /// Most steps that are started together, if the plan chooses all beams. Requests begin before such a group
  /// of steps. 0: 2 on a GPU, 1 on a CPU.
  size_t together = 0;
  /// Most tokens of a draft (drafter.h) that a step reads after each text's last token. A step reads fewer if
  /// not enough rows of the plan are free or the run would have too many tokens. 0: no drafts. Requires that
  /// rows mix.
  size_t draft = 0;
  /// Session of the model that drafts (model_drafter.h), which must outlive the batch. Null: prompt lookup.
  /// Without effect if `draft` is 0.
  Session* draft_model = nullptr;
  /// No request gets a draft while more than these run. 0: any number.
  size_t most_drafted = 0;
};

/// Requires: functions other than check() are not called concurrently, and nothing else runs the session.
class ContinuousBatch : public RequestBatch {
 public:
  /// Throws Error if the plan has no entries that CacheRows supports, or fewer slots than requested, or if
  /// there are to be drafts that the plan cannot read.
  explicit ContinuousBatch(Session& session, const ContinuousBatchOptions& options = {});

  int64_t vocabulary() const override { return rows_->vocabulary(); }
  size_t capacity() const override { return rows_->capacity(); }
  size_t prompt_capacity() const override {
    return rows_->reads_sources() ? rows_->source_capacity() : capacity();
  }
  void check(const Request& request) const override;
  size_t most_requests() const override { return options_.slots + options_.most_waiting; }
  void require_room(size_t requests) const override;
  Id submit(Request request) override;
  /// Reads one more token of every row whose prompt has been read, and a chunk of tokens of prompts: of one
  /// prompt, or of several if rows mix.
  bool step() override;
  /// A request keeps its slot after its end until the steps in progress have ended.
  bool idle() const override { return waiting_.empty() && !is_running(); }
  Progress poll(Id id) override;
  /// The memory of the request is freed now, or when the steps in progress that write to it have ended.
  void cancel(Id id) override;
  ContinuousBatchCounts counts() const override;

  /// Replaces the weights of the session between two steps, after the steps in progress have ended. Nothing
  /// is changed if the update does not fit: the function then throws the Error of check_weight_update. If the
  /// update waits for running requests, the function returns at once, and step() or cancel() applies the
  /// update when the last of them has ended; a later update replaces one that waits. If the plan is for
  /// several ranks, each rank must make the same update between the same steps.
  void update_weights(WeightUpdate update) override;
  AdapterStore* adapters() override { return adapters_ ? &*adapters_ : nullptr; }
  /// Writes an adapter after the steps in progress have ended.
  void write_adapter(const ServedAdapter& adapter, const AdapterWeights& weights) override;
  /// Returns whether an update waits for running requests.
  bool update_waits() const { return update_.has_value(); }

 private:
  using Sequence = Steps::Sequence;
  void check_beams(const Request& request) const;
  void make_drafter();
  void make_planned_beams(size_t ahead);
  /// Returns whether the plan samples the tokens of a request without beams.
  bool plan_samples(const RunningSequence& sequence) const;
  void prepare_planned_beams();
  void check_length(const Request& request) const;
  size_t default_chunk() const;
  void admit();
  void admit_mixed();
  void admit_planned();
  int64_t planned_beams() const;
  bool mixes() const { return rows_->mixed_tokens() > 0; }
  void read_chunk();
  void leave();
  size_t running_requests() const;
  bool is_running() const { return !running_.empty() || (planned_ && !planned_->idle()); }
  Sequence sequence_of(Request request) const;
  size_t free_slots() const;
  bool has_room(size_t leaving = 0) const;
  void continue_beams();
  void copy_rows(std::span<const RunningBeams::Copy> copies);
  Sequence next_to_begin();
  void begin(size_t row);
  void close_up(std::span<const size_t> free);
  void fail_all(const std::string& error);
  void finish_steps();
  void add(const Steps::Taken& taken);
  void apply_waiting_update();
  void apply(const WeightUpdate& update);
  void count_end(Finish finish);

  Session& session_;
  std::unique_ptr<CacheRows> rows_;
  std::optional<AdapterStore> adapters_;  // nothing: the plan has no slots for adapters
  std::shared_ptr<Drafter> drafter_;      // null: no drafts
  std::unique_ptr<Steps> steps_;
  std::unique_ptr<PlannedBeams> planned_;  // null: the host chooses all beams
  ContinuousBatchOptions options_;
  std::deque<Sequence> waiting_;
  std::vector<Sequence> running_;       // by slot; those of planned_ are not among them
  std::map<Id, Sequence> known_;        // all whose end has not been reported
  std::optional<WeightUpdate> update_;  // waits for running requests; requests do not begin before it
  Id next_ = 1;
  ContinuousBatchCounts counts_;
};

}  // namespace smelt
