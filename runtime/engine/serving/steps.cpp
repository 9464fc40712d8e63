#include "runtime/engine/serving/steps.h"

#include <algorithm>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/step_loop.h"
#include "runtime/engine/serving/choosing_rows.h"

namespace smelt {

Steps::~Steps() {
  if (!under_way_.empty()) rows_.choosing()->finish();
}

bool Steps::has(const Sequence& sequence) const {
  return std::ranges::any_of(under_way_, [&](const Step& step) {
    return std::ranges::count(step.rows, sequence, &Row::sequence) > 0;
  });
}

/// Returns the step of a row. The first token that the plan reads is one that the host has chosen.
RowStep Steps::read_by(RunningSequence& sequence, size_t row) {
  const size_t past = sequence.held();
  if (!sequence.plan_chooses()) return {.row = row, .token = sequence.unread()[0], .past = past};
  const bool first = past == sequence.prompt().size();
  const Request& request = sequence.request();
  if (first) rows_.choosing()->begin_choice(row, sequence.tokens(), request.options);
  const int32_t token = first ? sequence.unread()[0] : kChosenToken;
  return {.row = row, .token = token, .past = past, .request = &request};
}

/// False where no row may go on.
bool Steps::start_step() {
  std::vector<RowStep> reads;
  Step step;
  for (size_t row = 0; row < running_.size(); ++row) {
    RunningSequence& sequence = *running_[row];
    if (!sequence.may_go_on()) continue;
    reads.push_back(read_by(sequence, row));
    sequence.hold(1);
    step.rows.push_back(
        {running_[row], rows_.choosing() ? rows_.choosing()->slot(row) : row, sequence.held()});
  }
  if (reads.empty()) return false;
  if (std::ranges::count(reads, nullptr, &RowStep::request) > 0)
    step.logits = rows_.run(reads);
  else
    rows_.choosing()->start(reads);
  under_way_.push_back(std::move(step));
  return true;
}

/// Starts a step. If the host samples for a row, it does so before the next step.
int64_t Steps::start() {
  const int64_t most = std::max<int64_t>(0, under_way() - 1);
  if (!start_step()) return most;
  return under_way_.back().logits.empty() ? static_cast<int64_t>(ahead_) : 0;
}

Steps::Taken Steps::step(std::span<const Sequence> running) {
  running_ = running, taken_ = {};
  advance(*this);
  return taken_;
}

void Steps::take() {
  const Step step = std::move(under_way_.front());
  under_way_.pop_front();
  const auto words = static_cast<size_t>(rows_.vocabulary());
  for (size_t i = 0; i < step.rows.size(); ++i) {
    const Row& row = step.rows[i];
    if (row.sequence->plan_chooses()) {
      take_chosen(row);
      continue;
    }
    if (rows_.choosing()) rows_.choosing()->pass_over(row.slot, row.place);
    row.sequence->take(step.logits.subspan(i * words, words));
    ++taken_.tokens;
  }
}

/// Takes a sampled token. Tokens after the end of a sequence are discarded.
void Steps::take_chosen(const Row& row) {
  RunningSequence& sequence = *row.sequence;
  const bool ended = sequence.ended();
  try {
    const ChosenTokens::Token token = rows_.choosing()->take(row.slot, row.place);
    if (!ended) sequence.take(token);
  } catch (const Error& error) {
    if (error.status() != Status::numeric) throw;
    if (!ended) sequence.end(Finish::failed, error.what());
  }
  if (!ended) ++taken_.tokens, ++taken_.by_plan;
}

}  // namespace smelt
