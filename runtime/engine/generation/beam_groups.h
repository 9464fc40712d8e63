// Beam search for one sentence, by one group of beams or by several. Several groups are diverse beam search
// (arXiv 1610.02424) as in transformers 4: each group searches independently, but its scores are lower for
// tokens that earlier groups have chosen in the same step.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/generation/beam_search.h"

namespace smelt {

class BeamGroups {
 public:
  /// `prompt`: the decoder's first tokens, of which the first `padding` are padding. `source`: the encoder's
  /// input. `index` selects the random numbers if the search samples (options.do_sample). `options` is
  /// copied. There are options.num_beam_groups groups.
  BeamGroups(const GenerationOptions& options, const std::vector<int32_t>& prompt, size_t padding,
             const std::vector<int32_t>& source, size_t index);

  /// Returns the running sequences of all groups that have not ended, group by group.
  std::vector<std::vector<int32_t>> rows() const;
  /// Calls `visit` with each of these sequences.
  template <typename Visit>
  void for_each_row(Visit visit) const {
    for (const BeamSearch& group : groups_)
      if (!group.done()) std::ranges::for_each(group.rows(), std::ref(visit));
  }
  /// Returns the number of these sequences.
  size_t count_rows() const;
  /// Returns, for each sequence of rows(), the index of the one that it continues in rows() before the last
  /// step. Requires: a step was made.
  std::vector<size_t> parents() const;
  /// Continues the search by one token. `logits` are those of the next token of each sequence of rows(),
  /// [rows, vocabulary]. Throws as BeamSearch::advance does.
  void advance(std::span<const float> logits);
  /// Does the same by the candidates of each sequence. Requires: candidates_suffice(options).
  void advance(std::span<const RowCandidates> rows);
  /// Returns whether all groups have ended.
  bool done() const;
  /// Returns the best finished sequences of all groups together, best first; at most `count`.
  std::vector<Hypothesis> best(size_t count) const;

  /// Returns the search of the only group. Requires: there is one group.
  BeamSearch& only() { return groups_.front(); }
  const BeamSearch& only() const { return groups_.front(); }

 private:
  void note_begins();
  std::vector<int32_t> choices_of(const BeamSearch& group, bool had_ended) const;

  std::unique_ptr<const GenerationOptions> of_a_group_;  // on the heap, because the searches refer to it
  std::vector<BeamSearch> groups_;
  std::vector<size_t> begins_;  // by group: index of its first sequence in rows() before the last step
};

}  // namespace smelt
