// Rows of a continuous batch (continuous_batch.h) in a plan's KV caches. Each row has the tokens of one
// request. Rows "mix" if one run of the plan can read one token of some rows and several tokens of others. If
// rows do not mix, prompts are read in row 0, and rows 0, 1, ... run together, one token per row.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/engine/generation/row_candidates.h"
#include "runtime/engine/serving/page_pool.h"
#include "runtime/engine/serving/request.h"
#include "runtime/plan/decode_interface.h"
#include "runtime/session/session.h"
namespace smelt {

class ChoosingRows;

/// Value of an element of RowStep::tokens that stands for the token that the row's last run has sampled.
inline constexpr int32_t kChosenToken = -1;

/// Selects the host or the plan as the sampler of a row's next token, which follows the tokens that the row
/// reads in a run. `none`: nothing is sampled, because the run does not read the last token of the prompt.
/// `candidates`: the host chooses among the candidates of the row, which the plan computes. `allowed`: the
/// plan samples among the tokens that the host allows, in another run (ChoosingRows::sample_allowed).
enum class Sampling : uint8_t { host, plan, none, candidates, allowed };

/// Tokens that a row reads in a run: one, or, if the rows mix, at least one.
struct RowStep {
  size_t row = 0;
  std::span<const int32_t> tokens = {};
  size_t past = 0;  // tokens of the row that the caches hold
  Sampling sampling = Sampling::host;
  const Request* request = nullptr;  // the row's request; may be null if the host samples
};

/// The adapter of a row: its slot in the plan's states, and the number of the adapter in its store
/// (adapter_store.h). Rows share pages only with rows of the same adapter. By default there is none.
struct RowAdapter {
  int32_t slot = -1;
  uint64_t number = 0;
};

/// The encoder's input of a row.
struct RowSource {
  size_t row = 0;
  std::span<const int32_t> tokens = {};
};

/// A copy of the first `length` tokens of a row, which are all that it has, to another row. `begins`: row
/// `to` is free before the copy.
struct RowCopy {
  size_t from = 0, to = 0, length = 0;
  bool begins = false;
};

/// A move of a row of `length` tokens to a free row.
struct RowMove {
  size_t from = 0, to = 0, length = 0;
};

/// Interface of rows. Depending on the plan, a row is a slot of the caches (slot_rows.h) or a list of their
/// pages (page_rows.h).
class CacheRows {
 public:
  /// Creates the kind of rows that the plan has entries for. `shares_prefixes`: if prompts have the same
  /// beginning, it is read once, and rows share its pages. Throws Error if the plan has no entries with
  /// caches.
  static std::unique_ptr<CacheRows> of(Session& session, bool shares_prefixes);

  /// Returns the largest number of rows, at most `rows`, for which a run gives each row the same bits as if
  /// it ran alone. The device sets the limit (DeviceKind::most_exact_rows); a GPU has none.
  static size_t exact_rows(const Session& session, size_t rows);

  virtual ~CacheRows() = default;
  CacheRows(const CacheRows&) = delete;
  CacheRows& operator=(const CacheRows&) = delete;

  int64_t vocabulary() const { return vocabulary_; }
  size_t slots() const { return slots_; }        // rows that may run together
  size_t capacity() const { return capacity_; }  // tokens per row
  /// Returns the most tokens that one run can read of all its rows together, if rows mix; otherwise 0. If
  /// rows mix, prompts are read by run(), and read() is not called.
  virtual size_t mixed_tokens() const { return 0; }
  /// Returns the most rows of which one run can read more than one token, if rows mix.
  virtual size_t mixed_prompts() const { return slots_; }
  /// If one call of run() may have several steps (RowStep) for one row, which read consecutive tokens,
  /// returns the largest number of steps of the call. Otherwise returns 0.
  virtual size_t consecutive_steps() const { return 0; }

  /// Returns whether each row has a source, which an encoder reads before the row's prompt. Such rows mix:
  /// one run reads one token of each row, of its prompt or a new one.
  virtual bool reads_sources() const { return false; }
  /// Returns the most tokens of a source; 0 if rows have no sources.
  virtual size_t source_capacity() const { return 0; }
  /// Throws Error if a row cannot have this source. Rows that have no sources accept an empty one alone.
  virtual void check_source(std::span<const int32_t> source) const;
  /// Reads the sources of rows that have begun, all in the same order as their rows. Requires:
  /// reads_sources().
  virtual void read_sources(std::span<const RowSource> /*sources*/) {}
  /// Warm-up: if the device captures runs as graphs, executes read_sources() once with every padded size of
  /// one to `most` sources of similar lengths, with about `tokens` tokens in all unless there is one source
  /// alone. Requires: reads_sources(), and no row is in use.
  virtual void prepare_sources(size_t /*most*/, size_t /*tokens*/) {}

  /// Throws Error if the memory is too small for `rows` rows of `tokens` tokens, even without other rows.
  virtual void check(size_t /*tokens*/, size_t /*rows*/) const {}
  /// Returns whether there is memory for `rows` rows that begin with this prompt, and of which each may grow
  /// to `tokens` tokens.
  virtual bool has_room(std::span<const int32_t> /*prompt*/, size_t /*tokens*/, size_t /*rows*/,
                        RowAdapter /*adapter*/) const {
    return true;
  }
  /// Begins a row with this prompt, which may grow to `tokens` tokens, and reserves its memory, and that of
  /// `rows` - 1 later copies of the row (RowCopy::begins). Returns the number of prompt tokens that the
  /// caches already hold, which is less than the length of the prompt. The row and its copies are read with
  /// `adapter`. Requires: has_room() of the same arguments, and row `row` is free; `row` is 0 unless rows
  /// mix.
  virtual size_t begin(size_t /*row*/, std::span<const int32_t> /*prompt*/, size_t /*tokens*/,
                       size_t /*rows*/, RowAdapter /*adapter*/) {
    return 0;
  }
  /// Sets the keys and values of a row, at least those from its token `begin` on, to zeros, because they may
  /// be no numbers, which would make later texts in the same memory fail. Other rows keep what they share.
  /// Requires: the row is ended next, or it has just been moved.
  virtual void clear(size_t /*row*/, size_t /*begin*/) {}
  /// Frees the row.
  virtual void end(size_t /*row*/) {}
  /// Moves rows. Requires: no row is part of two moves.
  virtual void move(std::span<const RowMove> moves) = 0;
  /// Makes rows `to` the same as rows `from`. Requires: the rows `to` are different, and none of them is a
  /// row `from`.
  virtual void copy(std::span<const RowCopy> copies) = 0;
  /// Lets later prompts use no keys and values that are in the caches now, because the weights have changed.
  /// Rows in use keep their own.
  virtual void forget_prefixes() {}
  /// Frees all rows, because the contents of the caches are now undefined.
  virtual void forget() {}

  struct Read {
    size_t tokens = 0;                   // number of tokens that were read
    std::span<const float> logits = {};  // after the last token of the prompt; empty if it was not read
  };
  /// Reads about `chunk` tokens, but at least one, of row 0's prompt, after the `past` tokens that the caches
  /// hold.
  virtual Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) = 0;
  /// Reads the tokens of each step, and returns the logits after the last token of each step except those
  /// whose sampling is `candidates`, [steps, vocabulary]. If the host samples for no row, the result may be
  /// empty. Requires: rows are in increasing order; steps have different rows if consecutive_steps() is
  /// 0. If rows are slots, only rows whose tokens are not needed may be missing: row 0 while it reads its
  /// prompt, and idle rows of beam searches.
  virtual std::span<const float> run(std::span<const RowStep> steps) = 0;
  /// Returns whether steps of run() that read one token may have the sampling `candidates`.
  virtual bool gives_candidates() const { return false; }
  /// Returns the candidates of the step with this index among those steps of the last run() whose sampling is
  /// `candidates`. They are valid until the next run.
  virtual RowCandidates candidates(size_t /*index*/) const { return {}; }
  /// Limits the texts of a run to `texts`, at most slots(): the other rows of a run read tokens of drafts. So
  /// runs without drafts need not be padded to the rows of runs with drafts.
  virtual void limit_texts(size_t /*texts*/) {}
  /// Warm-up: if the device captures runs as graphs, executes run() once with every number of rows and tokens
  /// that may occur later. Requires: no row is in use.
  virtual void prepare() {}
  /// Returns the counts of pages; all are 0 if rows are slots.
  virtual PageCounts pages() const { return {}; }
  /// Returns these rows as ChoosingRows if the plan samples tokens; null otherwise.
  virtual ChoosingRows* choosing() { return nullptr; }

 protected:
  explicit CacheRows(const DecodeInterface& decode);
  int64_t vocabulary_;
  size_t slots_, capacity_;
  bool has_adapters_;  // entries have the input `adapters`
};

}  // namespace smelt
