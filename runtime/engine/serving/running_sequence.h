// State of one request of a continuous batch (continuous_batch.h) from its first token to its last: its
// tokens, its text and the progress that has not been reported.
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <span>
#include <string>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/engine/generation/chosen_tokens.h"
#include "runtime/engine/generation/row_candidates.h"
#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/drafts.h"
#include "runtime/engine/serving/request.h"
#include "runtime/engine/serving/stop_strings.h"

namespace smelt {

class RunningBeams;

class RunningSequence {
 public:
  /// `number` is larger than the numbers of sequences that came earlier.
  RunningSequence(Request request, uint64_t number);
  virtual ~RunningSequence() = default;
  RunningSequence(const RunningSequence&) = delete;
  RunningSequence& operator=(const RunningSequence&) = delete;

  /// Returns the beam search of which the sequence is a row (running_beams.h); null if there is none.
  virtual RunningBeams* beams() { return nullptr; }
  /// Returns the most rows of the batch that its request has at any time: its beams, or one.
  size_t most_rows() const { return static_cast<size_t>(request_.options.num_beams); }
  /// Returns whether the sequence stands for a request. Of the rows of a beam search, the first one does.
  virtual bool is_request() const { return true; }
  uint64_t number() const { return number_; }

  /// Returns the known tokens, of the prompt and new ones, that the caches do not hold yet.
  std::span<const int32_t> unread() const { return std::span(tokens_).subspan(held_); }
  size_t held() const { return held_; }  // tokens that the caches hold
  /// Records that the caches hold `count` more tokens.
  void hold(size_t count) { held_ += count; }
  /// Returns the tokens that are read as a prompt: logits are computed only after the last of them. These are
  /// all tokens of the prompt, or only the first one if the prompt's log-probabilities are requested.
  std::span<const int32_t> prompt() const {
    return std::span(request_.prompt).first(request_.prompt_log_probabilities ? 1 : request_.prompt.size());
  }
  /// Returns whether log-probabilities of tokens of the prompt are still to be computed.
  bool scores_prompt() const { return scored_ < request_.prompt.size(); }
  /// Returns whether the caller must pass logits to take() that were computed after `count` tokens of the
  /// text, of which the last one is `last`. False if `last` is a token of a draft and was not sampled.
  bool wants_logits(size_t count, int32_t last) const {
    if (scores_prompt()) return count == scored_;
    return tokens_.size() == count && tokens_.back() == last;
  }
  /// Returns whether the token that the plan has sampled after `count` tokens continues the text. `last`: as
  /// in wants_logits, or kChosenToken, which is no token of a draft.
  bool wants_token(size_t count, int32_t last) const {
    return !ended() && tokens_.size() == count && (last == kChosenToken || tokens_.back() == last);
  }
  /// Returns the most tokens of the sequence that the caches may have to hold. The last new token is never
  /// read.
  size_t most_held() const {
    return request_.prompt.size() +
           static_cast<size_t>(std::max<int64_t>(request_.options.max_new_tokens, 1)) - 1;
  }
  /// Sets the length of the first draft, and how it changes.
  void set_draft_length(DraftLength length) { draft_length_ = length; }
  /// Returns the most tokens, at most `limit`, of a draft that may follow the known tokens now. A plan
  /// does not penalise the tokens of a draft, nor look which of them are allowed, so a text with a penalty or
  /// a constraint has none if the plan samples.
  size_t most_drafted(size_t limit);
  /// Returns how many tokens of its next draft are likely to be kept.
  double expected_of_draft() const { return draft_length_.expected(); }
  /// Sets the draft, and returns a copy that is valid until the next call.
  std::span<const int32_t> begin_draft(std::span<const int32_t> draft);
  size_t draft_size() const { return draft_.size(); }
  /// Ends the draft, after the run that has read it. Records that the caches hold those draft tokens that
  /// were then sampled as new tokens, and returns the number of these tokens.
  size_t end_draft();
  /// Returns whether a part of the prompt is still to be read.
  bool reads_prompt() const { return held_ < prompt().size(); }
  const Request& request() const { return request_; }
  std::span<const int32_t> tokens() const { return tokens_; }  // the prompt and the known new tokens
  /// Returns whether the plan samples new tokens. If one run can both read prompts and generate tokens, the
  /// plan samples all new tokens. Otherwise the host samples the first one. The plan can read its sampled
  /// tokens before the host knows them.
  bool plan_chooses() const { return plan_chooses_; }
  void leave_choice_to_plan() { plan_chooses_ = true; }
  /// Returns whether one more token after the prompt may be read: the sequence has not ended, and the token
  /// is known to the host or to the plan.
  bool may_go_on() const {
    return !ended() && !reads_prompt() && held_ < (plan_chooses_ ? most_held() : tokens_.size());
  }

  /// Sets the version of the weights that compute the following tokens.
  void set_weights_version(uint64_t version) { weights_version_ = version; }
  uint64_t weights_version() const { return weights_version_; }
  /// Records for the next progress() that the sequence got its place in the batch.
  void begin() { news_.has_begun = true; }
  bool is_constrained() const { return request_.constrained != nullptr; }
  /// Computes which tokens may come next in a constrained text, if take() has not done so. It may be called
  /// while a run computes the logits.
  void prepare();
  /// Returns the tokens that may come next in a constrained text, one bit each, valid until the next token is
  /// taken. If they cannot be computed, ends the sequence as `failed`, and returns an empty list.
  std::span<const uint32_t> allowed();
  /// Takes the logits of the next token: if it is a token of the prompt, computes its log-probability;
  /// otherwise samples the token, as the options specify. An error, such as a NaN, ends the sequence as
  /// `failed`. Returns the number of tokens that were sampled.
  virtual size_t take(std::span<const float> logits);
  /// Returns whether the caller may pass candidates to take() instead of logits.
  virtual bool takes_candidates() const { return false; }
  /// Takes the candidates of the next token, as the function above takes its logits.
  virtual size_t take(const RowCandidates& /*found*/) { return 0; }
  /// Adds a token that the plan has sampled. One that does not fit a constrained text ends the sequence as
  /// `failed`.
  void take(const ChosenTokens::Token& token);
  /// Ends the sequence.
  void end(Finish finish, std::string error = "");
  void end_failed(const Error& error);
  Finish finish() const { return finish_; }
  bool ended() const { return finish_ != Finish::none; }
  /// Returns whether keys and values in the caches may be no numbers, after an end for which this has not
  /// been found out: the sequence has failed, or was cancelled before logits were taken after the tokens.
  bool may_be_invalid() const {
    return finish_ == Finish::failed || (finish_ == Finish::cancelled && held_ > examined_);
  }
  /// Returns the tokens whose keys and values are numbers, because logits after them were.
  size_t examined() const { return examined_; }

  /// Returns the progress since the last call, and resets it.
  Progress progress();

 protected:
  std::vector<int32_t> tokens_;  // the prompt's and the new ones
  size_t held_ = 0;
  Progress news_;  // since the last call of progress()

 private:
  void score_prompt(std::span<const float> logits);
  void sample(std::span<const float> logits);
  int32_t choose(std::span<const float> logits);
  void constrain(std::span<double> scores);
  void require_allowed();
  void advance_constrained(int32_t token);
  static void describe(NewToken& token, std::span<const float> logits, size_t best);
  void add(int32_t token);
  void show(const std::string& text);

  Request request_;
  uint64_t number_;
  StopStrings stops_;
  /// Number of the prompt's tokens whose log-probability is known or, as for the first one, not requested.
  size_t scored_;
  std::vector<int32_t> draft_;  // tokens that are read before it is known whether they are sampled
  size_t examined_ = 0;         // tokens whose keys and values are known to be numbers
  size_t draft_begin_ = 0;      // position of the draft's first token in the text
  DraftLength draft_length_;
  bool plan_chooses_ = false;
  uint64_t weights_version_ = 0;
  /// One bit per token, 1 if it may come next in a constrained text; empty if that is not known yet.
  std::vector<uint32_t> allowed_;
  std::exception_ptr constraint_fault_;  // thrown while allowed_ was computed; null: none
  size_t characters_ = 0;                // of the text, including a held-back beginning of a stop text
  Finish finish_ = Finish::none;
};

}  // namespace smelt
