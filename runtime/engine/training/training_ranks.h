// Communication of a trainer with the other ranks that train the same model. A single rank uses its own
// values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ranks/rank_groups.h"

namespace smelt {

class TrainingRanks {
 public:
  /// Null, or a mesh that may have an axis `data`: its ranks see different batches, all others the same.
  explicit TrainingRanks(RankGroups* ranks);

  /// Returns whether this rank is the one that writes files and picks the checkpoint to resume from.
  bool is_first() const { return !ranks_ || ranks_->rank() == 0; }
  int64_t rank() const { return ranks_ ? ranks_->rank() : 0; }
  int64_t count() const { return ranks_ ? ranks_->mesh().ranks() : 1; }
  /// Number of ranks that see different batches, and the number of this one among them.
  int64_t data_ranks() const { return data_ranks_; }
  int64_t data_rank() const { return data_rank_; }

  /// Returns whether this one's batches are counted: of the ranks that see the same ones the first.
  bool counts() const { return counts_; }

  /// Each number, which comes of a loss, becomes the sum of those of all batches: where stages of a pipeline
  /// share the model, the last one's count. All ranks get the same bits.
  void add_up(std::span<double> numbers) const;
  /// Returns the text of each rank, in rank order. Requires: no text has more than `length` characters.
  std::vector<std::string> texts_of_all(const std::string& own, size_t length) const;
  /// Sums numbers over all ranks, including those that see the same batches.
  void add_up_of_all(std::span<double> numbers) const;
  /// Returns the largest that any rank gives.
  int64_t largest(int64_t number) const;

  /// Returns the first rank's text, at all of them.
  std::string of_first(const std::string& text) const;

  void progress(std::string_view what, int64_t step) const;
  void report_failure(std::string_view text) const;

 private:
  RankGroups* ranks_;
  int64_t data_ranks_ = 1, data_rank_ = 0;
  bool counts_ = true;    // of the ranks that see the same batch, the one whose numbers are counted
  bool has_loss_ = true;  // the one whose loss is
};

}  // namespace smelt
