#include "runtime/engine/serving/running_beams.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt {

size_t BeamRow::take(std::span<const float> logits) { return beams_->take(*this, logits); }

size_t BeamRow::take(const RowCandidates& found) { return beams_->take(*this, found); }

bool BeamRow::takes_candidates() const { return beams_->takes_candidates(); }

void BeamRow::end_found(std::vector<Progress> found) {
  end(Finish::stop);
  news_.beams = std::move(found);
}

RunningBeams::RunningBeams(const Request& request)
    : search_(request.options, request.prompt, 0, {request.input().begin(), request.input().end()},
              request.index),
      takes_candidates_(candidates_suffice(request.options)) {}

std::shared_ptr<BeamRow> RunningBeams::first_row(Request request, uint64_t number) {
  auto row = std::make_shared<BeamRow>(std::move(request), number, shared_from_this(), true);
  active_ = {first_ = row.get()};
  return row;
}

/// The row has no functions that make text, because the first row makes it.
std::shared_ptr<BeamRow> RunningBeams::new_row() {
  const Request& request = first_->request();
  Request own{
      .prompt = request.prompt, .source = request.source, .options = request.options, .index = request.index};
  auto row = std::make_shared<BeamRow>(std::move(own), first_->number(), shared_from_this(), false);
  idle_.push_back(row.get());
  return row;
}

size_t RunningBeams::index_of(const BeamRow& row) const {
  return static_cast<size_t>(std::ranges::find(active_, &row) - active_.begin());
}

size_t RunningBeams::take(const BeamRow& row, std::span<const float> logits) {
  logits_.resize(active_.size() * logits.size());
  std::ranges::copy(logits, logits_.begin() + static_cast<ptrdiff_t>(index_of(row) * logits.size()));
  return count_taken();
}

size_t RunningBeams::take(const BeamRow& row, const RowCandidates& found) {
  candidates_.resize(active_.size());
  candidates_[index_of(row)] = found;
  return count_taken();
}

size_t RunningBeams::take(std::vector<Continuation> best) {
  const size_t rows = search_.count_rows();
  search_.only().take(std::move(best));
  versions_.push_back(first_->weights_version());
  if (search_.done()) finish();
  return rows;
}

/// Chooses if all rows have given what the search needs of them. Returns the number of tokens chosen.
size_t RunningBeams::count_taken() {
  if (++taken_ < active_.size()) return 0;
  taken_ = 0;
  try {
    choose();
  } catch (const Error& error) {
    first_->end_failed(error);
    end_rows();
  }
  return active_.size();
}

void RunningBeams::choose() {
  if (candidates_.empty())
    choose_by_logits();
  else
    search_.advance(std::exchange(candidates_, {}));
  versions_.push_back(first_->weights_version());
  has_chosen_ = true;
}

/// Before the first step each group of beams has a sequence, and all of them are the prompt, which has one
/// row.
void RunningBeams::choose_by_logits() {
  const size_t words = logits_.size() / active_.size();
  for (size_t row = active_.size(); row < search_.count_rows(); ++row)
    logits_.insert(logits_.end(), logits_.begin(), logits_.begin() + static_cast<ptrdiff_t>(words));
  search_.advance(logits_);
}

/// Returns the index in active_ of the row that each sequence continues by one token.
std::vector<size_t> RunningBeams::parents() const {
  std::vector<size_t> result = search_.parents();
  if (active_.size() == 1) std::ranges::fill(result, 0);
  return result;
}

/// Returns the rows that no sequence continues, new ones first.
std::vector<BeamRow*> RunningBeams::leave_free(std::span<const size_t> parents) {
  std::vector<BeamRow*> free = std::exchange(idle_, {});
  for (size_t row = 0; row < active_.size(); ++row)
    if (std::ranges::count(parents, row) == 0) free.push_back(active_[row]);
  return free;
}

/// The first sequence that continues a row stays in it. Each other one gets a free row. A new row that gets
/// none begins as a copy, too, and is idle.
void RunningBeams::reorder(std::vector<Copy>& copies) {
  const std::vector<size_t> parents = this->parents();
  std::vector<BeamRow*> free = leave_free(parents), next;
  const size_t held = active_[0]->held();
  const auto copy = [&](BeamRow* from, BeamRow* to) { copies.push_back({from, to, held, to->held() == 0}); };
  for (size_t i = 0; i < parents.size(); ++i) {
    BeamRow* const parent = active_[parents[i]];
    next.push_back(parent);
    if (std::ranges::count(std::span(parents).first(i), parents[i]) == 0) continue;
    next.back() = free.back(), free.pop_back();
    copy(parent, next.back());
  }
  for (BeamRow* row : free) {
    if (row->held() == 0) copy(active_[0], row);
    row->rest();
  }
  search_.for_each_row(
      [&, i = size_t{0}](const std::vector<int32_t>& tokens) mutable { next[i++]->go_on(tokens, held); });
  active_ = std::move(next), idle_ = std::move(free);
}

/// An end token is no text.
Progress RunningBeams::result_of(const Hypothesis& found) const {
  const Request& request = first_->request();
  const bool ends = request.options.ends(found.tokens.back());
  Progress result;
  result.score = found.score, result.finish = ends ? Finish::stop : Finish::length;
  for (size_t i = 0; i < found.tokens.size(); ++i)
    result.tokens.push_back({.id = found.tokens[i], .weights_version = versions_[i]});
  if (request.text_of_beam)
    result.text = request.text_of_beam(std::span(found.tokens).first(found.tokens.size() - (ends ? 1 : 0)));
  return result;
}

void RunningBeams::finish() {
  std::vector<Progress> results;
  const GenerationOptions& options = first_->request().options;
  for (const Hypothesis& found : search_.best(static_cast<size_t>(options.num_return_sequences)))
    results.push_back(result_of(found));
  first_->end_found(std::move(results));
  end_rows();
}

void RunningBeams::end_rows() {
  if (!first_->ended()) return;
  for (const auto* rows : {&active_, &idle_})
    for (BeamRow* row : *rows)
      if (!row->ended()) row->end(first_->finish());
}

}  // namespace smelt
