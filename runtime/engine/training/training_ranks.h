// Communication of a trainer with the other ranks that train the same model. If the process trains alone, the
// functions return its own values.
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
  /// `ranks` is null if this process trains alone, and else outlives this object. Ranks along the mesh axis
  /// `data`, if there is one, read different batches. Ranks along all other axes read the same batches.
  explicit TrainingRanks(RankGroups* ranks);

  /// Returns whether this rank is the one that writes the run directory and picks the checkpoint to resume
  /// from.
  bool is_first() const { return !ranks_ || ranks_->rank() == 0; }
  int64_t rank() const { return ranks_ ? ranks_->rank() : 0; }
  int64_t count() const { return ranks_ ? ranks_->mesh().ranks() : 1; }
  /// Return the number of ranks along the axis `data`, and the position of this rank along it.
  int64_t data_ranks() const { return data_ranks_; }
  int64_t data_rank() const { return data_rank_; }

  /// Returns whether this rank's batches are counted. Among ranks that read the same batches, only the first
  /// one counts them.
  bool counts() const { return counts_; }

  // All ranks call each of the next five functions together.

  /// Replaces each number, such as a sum of losses, by its sum over all batches. Of ranks that read the same
  /// batches, only one rank's numbers are added: those of the first rank, or, in a pipeline, of a rank of
  /// the last stage, because that stage computes the loss. All ranks get the same bits.
  void add_up(std::span<double> numbers) const;
  /// Returns the text of each rank, in rank order. Requires: `length` is equal at all ranks, no text has more
  /// than `length` characters, and no text contains a zero character.
  std::vector<std::string> texts_of_all(const std::string& own, size_t length) const;
  /// Replaces each number by its sum over all ranks, including those that read the same batches.
  void add_up_of_all(std::span<double> numbers) const;
  /// Returns the largest of the ranks' numbers.
  int64_t largest(int64_t number) const;

  /// Returns the first rank's text at all ranks.
  std::string of_first(const std::string& text) const;

  /// Reports to the other ranks that this rank works on `what` of step `step`. Has no effect if this rank is
  /// alone.
  void progress(std::string_view what, int64_t step) const;
  /// Fails the run: calls of the other ranks that communicate throw Error with this text. Has no effect if
  /// this rank is alone.
  void report_failure(std::string_view text) const;

 private:
  RankGroups* ranks_;
  int64_t data_ranks_ = 1, data_rank_ = 0;
  bool counts_ = true;    // among ranks that read the same batches, this rank's batches are counted
  bool has_loss_ = true;  // among ranks that read the same batches, this rank's loss is counted
};

}  // namespace smelt
