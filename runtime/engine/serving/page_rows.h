// Rows that are lists of the caches' pages: @read_pages, @decode_pages and @step_pages.
// A row moves by moving its list, so nothing is copied.
//
// A prompt continues after the full pages that other requests, live or ended, have read of the same
// beginning. On a CPU it is read page by page, in runs that end at page boundaries. So the contents of a page
// depend on the tokens up to its end alone, not on the request that read it, nor on the number of prompt
// tokens that were cached. Such runs are small-M GEMMs (runtime/cpu/small_m.h), for which more rows per run
// are little faster. On a GPU, whose products' last bits depend on the number of rows in any case, runs have
// a few lengths (prompt_lengths.h).
#pragma once

#include "runtime/engine/serving/cache_rows.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {

class PageRows : public CacheRows {
 public:
  PageRows(Session& session, const DecodeInterface& decode, bool shares_prefixes);
  void check(size_t tokens) const override;
  bool has_room(std::span<const int32_t> prompt, size_t tokens) const override;
  size_t begin(std::span<const int32_t> prompt, size_t tokens) override;
  void end(size_t row) override;
  void move(size_t from, size_t to, size_t length) override;
  void forget() override;
  Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) override;
  std::span<const float> run(std::span<const RowStep> steps) override;
  PageCounts pages() const override { return pool_.counts(); }

 protected:
  /// Inputs of each row of a run.
  struct StepInputs {
    std::vector<int32_t> tokens, pages, past;
    std::vector<InputTensor> tensors() const;
  };
  /// Rows take the pages that they need.
  StepInputs inputs_of(std::span<const RowStep> steps);
  /// Runs an entry and returns the logits of `rows` rows.
  std::span<const float> run(const char* entry, std::span<const InputTensor> inputs, size_t rows);

  Session& session_;

 private:
  struct Row {
    size_t count = 0;         // pages that it has
    size_t reserved = 0;      // that it may still take
    size_t noted = 0;         // of its first ones, those that others may find
    PagePool::Prefix prefix;  // that these make
  };
  /// The pages found for a prompt, and how many of them are kept without a row.
  struct Found {
    size_t pages = 0, kept = 0;
    PagePool::Prefix prefix = {};
  };
  template <typename Take>
  Found find(std::span<const int32_t> prompt, const Take& take) const;
  size_t run_length(size_t past, size_t length, size_t chunk) const;
  void read_run(std::span<const int32_t> prompt, size_t past, size_t length, size_t padded);
  void hold(size_t row, size_t tokens);
  void note(std::span<const int32_t> prompt, size_t held);
  int32_t* list(size_t row) { return table_.data() + row * width_; }

  bool captures_, shares_;
  PagePool pool_;
  size_t width_;  // of a row's list
  std::vector<Row> rows_;
  std::vector<int32_t> table_;  // i32[rows,width], the plan's `pages`
  std::vector<int32_t> padded_;
  std::vector<float> logits_;
};

}  // namespace smelt
