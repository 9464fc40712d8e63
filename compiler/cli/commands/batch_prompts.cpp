#include "compiler/cli/commands/batch_prompts.h"

#include <algorithm>
#include <utility>

#include "compiler/cli/shared/structured_flags.h"
#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

/// The sequences of all prompts: those that wait for a place in the batch, run, or have ended.
class BatchedSequences {
 public:
  BatchedSequences(ContinuousBatch& batch, const BatchedPrompts& work, GenerationClock& clock,
                   const OnFirstToken& on_first_token)
      : batch_(batch),
        work_(work),
        clock_(clock),
        on_first_token_(on_first_token),
        copies_(static_cast<size_t>(work.options.num_return_sequences)),
        results_(work.prompts.size() * copies_),
        ids_(results_.size()) {
    for (size_t prompt = 0; prompt < work.prompts.size(); ++prompt) check(prompt);
  }

  /// Submits as many sequences as the batch accepts, makes a step, and takes the new tokens.
  void step() {
    while (submitted_ < results_.size() && has_place())
      ids_[submitted_] = batch_.submit(request(submitted_)), open_.push_back(submitted_++);
    batch_.step();
    std::erase_if(open_, [&](size_t sequence) { return take(sequence); });
  }
  /// Returns the results of a prompt; empty if they are not complete.
  std::span<const BatchResult> results_of(size_t prompt) const {
    const size_t first = prompt * copies_, end = first + copies_;
    const bool runs =
        submitted_ < end || std::ranges::any_of(open_, [&](size_t i) { return i >= first && i < end; });
    return runs ? std::span<const BatchResult>() : std::span(results_).subspan(first, copies_);
  }

 private:
  void check(size_t prompt) const {
    try {
      batch_.check(request(prompt * copies_));
    } catch (const Error& error) {
      fail_with(error.status(), "{}: {}", work_.names[prompt], error.what());
    }
  }
  bool has_place() const {
    const ContinuousBatchCounts counts = batch_.counts();
    return counts.running + counts.waiting < batch_.most_requests();
  }
  Request request(size_t sequence) const {
    const std::vector<int32_t>& prompt = work_.prompts[sequence / copies_];
    Request request{.prompt = prompt, .options = work_.options, .index = sequence};
    request.options.max_new_tokens = work_.options.new_tokens(prompt.size());
    request.options.max_length.reset();
    request.options.num_return_sequences = 1;
    request.constrained = constrained_after(work_.constraint, prompt, work_.options.eos_token_id);
    return request;
  }
  /// Returns whether the sequence has ended.
  bool take(size_t sequence) {
    const Progress progress = batch_.poll(ids_[sequence]);
    if (progress.finish == Finish::failed) fail("{}: {}", work_.names[sequence / copies_], progress.error);
    BatchResult& result = results_[sequence];
    result.draft_tokens += progress.draft_tokens, result.kept_draft_tokens += progress.kept_draft_tokens;
    for (const NewToken& token : progress.tokens) {
      clock_.token();
      result.tokens.push_back(token.id);
      if (sequence == 0 && on_first_token_) on_first_token_(token.id);
    }
    return progress.finish != Finish::none;
  }

  ContinuousBatch& batch_;
  const BatchedPrompts& work_;
  GenerationClock& clock_;
  const OnFirstToken& on_first_token_;
  size_t copies_;  // results per prompt
  std::vector<BatchResult> results_;
  std::vector<ContinuousBatch::Id> ids_;
  std::vector<size_t> open_;
  size_t submitted_ = 0;
};

}  // namespace

void continue_in_batch(ContinuousBatch& batch, const BatchedPrompts& work, GenerationClock& clock,
                       const OnBatchResults& on_results, const OnFirstToken& on_first_token) {
  BatchedSequences sequences(batch, work, clock, on_first_token);
  for (size_t next = 0; next < work.prompts.size();) {
    const std::span<const BatchResult> results = sequences.results_of(next);
    if (results.empty())
      sequences.step();
    else
      on_results(next++, results);
  }
  const ContinuousBatchCounts counts = batch.counts();
  clock.drafts(counts.draft_tokens, counts.kept_draft_tokens);
}

}  // namespace smelt::cli
