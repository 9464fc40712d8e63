// Rows that are lists of pages of the caches, for the entries @read_pages, @decode_pages and @step_pages
// (decode_contract.def). If a row moves, its list moves, and nothing is copied in the caches.
//
// If other requests, running or ended, have read the same beginning of a prompt, the row uses their full
// pages, and reading begins after these. On a CPU, prompts are read page by page, in runs that end at page
// boundaries. So the contents of a page depend only on the tokens up to its end, not on the request that read
// it or on the number of tokens that were in the caches. On a GPU, runs are longer, and are padded to one of
// a few lengths (prompt_lengths.h). There the last bits of a page may depend on the run that read it.
#pragma once

#include "runtime/engine/serving/cache_rows.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {

class PageRows : public CacheRows {
 public:
  PageRows(Session& session, const DecodeInterface& decode, bool shares_prefixes);
  void check(size_t tokens, size_t rows) const override;
  bool has_room(std::span<const int32_t> prompt, size_t tokens, size_t rows,
                RowAdapter adapter) const override;
  size_t begin(size_t row, std::span<const int32_t> prompt, size_t tokens, size_t rows,
               RowAdapter adapter) override;
  /// Rows share the full pages, and copy the last one.
  void copy(std::span<const RowCopy> copies) override;
  void clear(size_t row, size_t begin) override;
  void end(size_t row) override;
  void move(std::span<const RowMove> moves) override;
  void forget_prefixes() override;
  void forget() override;
  Read read(std::span<const int32_t> prompt, size_t past, size_t chunk) override;
  std::span<const float> run(std::span<const RowStep> steps) override;
  PageCounts pages() const override { return pool_.counts(); }
  size_t consecutive_steps() const override { return exact_rows(session_, slots_); }

 protected:
  /// Inputs of a run of one token per row: the token, the list of pages and the cached tokens of each row.
  struct StepInputs {
    std::vector<int32_t> tokens, pages, past, adapters;  // adapters: empty if the plan has no slots for them
    std::vector<InputTensor> tensors() const;
  };
  /// Returns the inputs of a run. Rows that begin a new page take it from the pool.
  StepInputs inputs_of(std::span<const RowStep> steps);
  /// Runs an entry and returns its logits, [rows, vocabulary].
  std::span<const float> run(const char* entry, std::span<const InputTensor> inputs, size_t rows);

  /// Takes the pages of the row's first `tokens` tokens that it does not have yet.
  void hold(size_t row, size_t tokens);
  /// Lets other rows find the full pages of the row's prompt, of which `held` tokens have been read.
  void note(size_t row, std::span<const int32_t> prompt, size_t held);
  /// Returns the row's list of pages, padded to row_pages() elements, the most pages that a row can have. The
  /// padding repeats the row's first page: attention multiplies values of all listed pages, those that it
  /// masks by 0, so a NaN in a page of another row would make the result NaN.
  std::span<const int32_t> pages_of(size_t row) const {
    return std::span(table_).subspan(row * width_, width_);
  }
  size_t row_pages() const { return width_; }
  /// Returns the slot of the row's adapter; -1: it has none.
  int32_t adapter_of(size_t row) const { return rows_[row].adapter; }
  bool pads_runs() const { return captures_; }  // runs have one of a few sizes

  Session& session_;

 private:
  struct Row {
    size_t count = 0;      // pages in its list
    size_t most = 0;       // pages that it may have, of which it has reserved those that are not in its list
    size_t of_copies = 0;  // pages that are reserved for copies of the row, which begin later
    size_t noted = 0;      // number of its first pages that other rows can find (PagePool::note)
    PagePool::Prefix prefix;  // the tokens in these pages
    int32_t adapter = -1;     // slot of its adapter
    bool is_old = false;      // its pages were read before forget_prefixes(): other rows must not find them
  };
  /// The pages that were found for a prompt: their number, the number of those that no row uses (`kept`), and
  /// the prefix of the prompt that the pages hold.
  struct Found {
    size_t pages = 0, kept = 0;
    PagePool::Prefix prefix = {};
  };
  /// Finds the pages of the longest beginning of the prompt that the caches hold, read with the adapter of
  /// this number, and calls take(i, page) for the i-th of them.
  template <typename Take>
  Found find(std::span<const int32_t> prompt, uint64_t adapter, const Take& take) const;
  void free_pages(size_t row);
  /// Sets the padding of the row's list.
  void pad(size_t row);
  void share_pages(size_t from, size_t to, size_t pages);
  /// Copies the contents of pages `from` to pages `to`.
  void copy_pages(std::vector<int32_t> from, std::vector<int32_t> to);
  size_t run_length(size_t past, size_t length, size_t chunk) const;
  void read_run(std::span<const int32_t> prompt, size_t past, size_t length, size_t padded);
  int32_t* list(size_t row) { return table_.data() + row * width_; }

  bool captures_, shares_;
  PagePool pool_;
  size_t width_;  // most pages per row
  std::vector<Row> rows_;
  std::vector<int32_t> table_;   // i32[rows,width], the input `pages` of the plan's entries
  std::vector<int32_t> padded_;  // tokens of a run with padding
  std::vector<float> logits_;
};

}  // namespace smelt
