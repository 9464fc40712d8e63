// The beam search of one sentence: of all beams together, or, as transformers 4 does it, of groups that
// search independently and avoid the choices of earlier groups (diverse beam search, arXiv 1610.02424).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/engine/generation/beam_search.h"

namespace smelt {

class BeamGroups {
 public:
  /// Takes the arguments of BeamSearch.
  BeamGroups(const GenerationOptions& options, const std::vector<int32_t>& prompt, size_t padding,
             const std::vector<int32_t>& source, size_t index);

  /// The running sequences of all groups that have not ended, group by group.
  std::vector<std::vector<int32_t>> rows() const;
  /// Takes the logits of the next token of each of `rows`. Throws as BeamSearch::advance does.
  void advance(std::span<const float> logits);
  bool done() const;
  /// Returns the best of all groups, best first.
  std::vector<Hypothesis> best(size_t count) const;

  /// The search of the only group.
  BeamSearch& only() { return groups_.front(); }
  const BeamSearch& only() const { return groups_.front(); }

 private:
  std::vector<int32_t> choices_of(const BeamSearch& group, bool had_ended) const;

  std::unique_ptr<const GenerationOptions> of_a_group_;  // where it stays: searches refer to it
  std::vector<BeamSearch> groups_;
};

}  // namespace smelt
