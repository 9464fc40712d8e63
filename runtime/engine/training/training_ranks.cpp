#include "runtime/engine/training/training_ranks.h"

#include <algorithm>

namespace smelt {

TrainingRanks::TrainingRanks(RankGroups* ranks) : ranks_(ranks) {
  if (!ranks_) return;
  const Mesh& mesh = ranks_->mesh();
  const auto data = mesh.find("data");
  const std::vector<int64_t> place = mesh.coordinates(ranks_->rank());
  if (data) data_ranks_ = mesh.axes[*data].size, data_rank_ = place[*data];
  for (size_t axis = 0; axis < place.size(); ++axis) {
    const bool is_stage = mesh.axes[axis].name == kStageAxis;
    counts_ &= axis == data || place[axis] == 0;
    has_loss_ &= axis == data || place[axis] == (is_stage ? mesh.axes[axis].size - 1 : 0);
  }
}

void TrainingRanks::add_up(std::span<double> numbers) const {
  if (!has_loss_) std::ranges::fill(numbers, 0.0);
  add_up_of_all(numbers);
}

void TrainingRanks::add_up_of_all(std::span<double> numbers) const {
  if (count() == 1) return;
  ranks_->everyone().all_reduce(std::as_writable_bytes(numbers), DType::f64, CollectiveSum::add);
}

std::vector<std::string> TrainingRanks::texts_of_all(const std::string& own, size_t length) const {
  if (count() == 1 || length == 0) return std::vector<std::string>(static_cast<size_t>(count()), own);
  std::string padded = own, all(length * static_cast<size_t>(count()), '\0');
  padded.resize(length);
  ranks_->everyone().all_gather(std::as_bytes(std::span(padded)), std::as_writable_bytes(std::span(all)));
  std::vector<std::string> texts;
  for (size_t at = 0; at < all.size(); at += length) texts.emplace_back(all.substr(at, length).c_str());
  return texts;
}

int64_t TrainingRanks::largest(int64_t number) const {
  if (count() == 1) return number;
  ranks_->everyone().all_reduce(std::as_writable_bytes(std::span(&number, 1)), DType::i64,
                                CollectiveSum::max);
  return number;
}

std::string TrainingRanks::of_first(const std::string& text) const {
  return texts_of_all(text, static_cast<size_t>(largest(std::ssize(text)))).front();
}

void TrainingRanks::progress(std::string_view what, int64_t step) const {
  if (ranks_) ranks_->progress(what, step);
}

void TrainingRanks::report_failure(std::string_view text) const {
  if (ranks_) ranks_->report_failure(text);
}

}  // namespace smelt
