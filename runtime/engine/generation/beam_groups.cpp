#include "runtime/engine/generation/beam_groups.h"

#include <algorithm>
#include <functional>
#include <optional>

namespace smelt {
namespace {

std::unique_ptr<const GenerationOptions> options_of_a_group(const GenerationOptions& options) {
  auto one = std::make_unique<GenerationOptions>(options);
  one->num_beams = options.num_beams / std::max<int64_t>(1, options.num_beam_groups);
  return one;
}

}  // namespace

BeamGroups::BeamGroups(const GenerationOptions& options, const std::vector<int32_t>& prompt, size_t padding,
                       const std::vector<int32_t>& source, size_t index)
    : of_a_group_(options_of_a_group(options)) {
  for (int64_t group = 0; group < options.num_beam_groups; ++group)
    groups_.emplace_back(*of_a_group_, prompt, padding, source, index);
}

std::vector<std::vector<int32_t>> BeamGroups::rows() const {
  std::vector<std::vector<int32_t>> all;
  for (const BeamSearch& group : groups_)
    if (!group.done()) all.insert(all.end(), group.rows().begin(), group.rows().end());
  return all;
}

/// Returns the tokens that a group has chosen in this step. As in transformers, a group that had ended
/// continues with padding, which later groups then avoid.
std::vector<int32_t> BeamGroups::choices_of(const BeamSearch& group, bool had_ended) const {
  std::vector<int32_t> chosen;
  if (!had_ended) {
    for (const std::vector<int32_t>& row : group.rows()) chosen.push_back(row.back());
  } else if (const std::optional<int32_t> padding = of_a_group_->padding()) {
    chosen.assign(static_cast<size_t>(of_a_group_->num_beams), *padding);
  }
  return chosen;
}

std::vector<size_t> BeamGroups::parents() const {
  std::vector<size_t> all;
  for (size_t i = 0; i < groups_.size(); ++i) {
    if (groups_[i].done()) continue;
    for (const size_t parent : groups_[i].parents()) all.push_back(begins_[i] + parent);
  }
  return all;
}

size_t BeamGroups::count_rows() const {
  size_t rows = 0;
  for_each_row([&](const std::vector<int32_t>&) { ++rows; });
  return rows;
}

/// Sets begins_ before a step.
void BeamGroups::note_begins() {
  size_t rows = 0;
  begins_.clear();
  for (const BeamSearch& group : groups_) {
    begins_.push_back(rows);
    rows += group.done() ? 0 : group.rows().size();
  }
}

void BeamGroups::advance(std::span<const float> logits) {
  note_begins();
  if (groups_.size() == 1) return only().advance(logits);
  const size_t vocabulary = logits.size() / count_rows();
  std::vector<int32_t> chosen;  // by the groups before
  for (BeamSearch& group : groups_) {
    const bool had_ended = group.done();
    if (!had_ended) {
      const size_t count = group.rows().size() * vocabulary;
      group.advance(logits.first(count), chosen);
      logits = logits.subspan(count);
    }
    const std::vector<int32_t> more = choices_of(group, had_ended);
    chosen.insert(chosen.end(), more.begin(), more.end());
  }
}

void BeamGroups::advance(std::span<const RowCandidates> rows) {
  note_begins();
  only().advance(rows);
}

bool BeamGroups::done() const { return std::ranges::all_of(groups_, &BeamSearch::done); }

std::vector<Hypothesis> BeamGroups::best(size_t count) const {
  std::vector<Hypothesis> all;
  for (const BeamSearch& group : groups_) {
    const std::vector<Hypothesis> some = group.best(count);
    all.insert(all.end(), some.begin(), some.end());
  }
  std::ranges::stable_sort(all, std::ranges::greater(), &Hypothesis::score);
  if (all.size() > count) all.resize(count);
  return all;
}

}  // namespace smelt
