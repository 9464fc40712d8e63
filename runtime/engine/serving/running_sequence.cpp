#include "runtime/engine/serving/running_sequence.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/base/error.h"
#include "runtime/engine/generation/logits_processors.h"
#include "runtime/engine/generation/sampling.h"

namespace smelt {
namespace {

constexpr auto all_impossible = [](const auto& scores) {
  return std::ranges::all_of(scores, [](auto score) { return std::isinf(score) && score < 0; });
};

/// Returns whether the byte begins a UTF-8 character.
bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

RunningSequence::RunningSequence(Request request, uint64_t number)
    : tokens_(request.prompt),
      request_(std::move(request)),
      number_(number),
      stops_(request_.stop, request_.includes_stop),
      scored_(prompt().size()) {
  const std::vector<size_t>& begins = request_.prompt_begins;
  if (!begins.empty()) characters_ = begins.back();
  if (request_.prompt_log_probabilities)
    news_.prompt.push_back({.id = request_.prompt[0], .has_log_probability = false});
  if (request_.options.max_new_tokens == 0 && !scores_prompt()) end(Finish::length);
}

/// A draft leaves room for the token that is sampled after it.
size_t RunningSequence::most_drafted(size_t limit) {
  if (plan_chooses_ && (request_.options.repetition_penalty != 1 || is_constrained())) return 0;
  return draft_length_.next(std::min(limit, most_held() - tokens_.size()));
}

std::span<const int32_t> RunningSequence::begin_draft(std::span<const int32_t> draft) {
  draft_.assign(draft.begin(), draft.end());
  draft_begin_ = tokens_.size();
  news_.draft_tokens += draft.size();
  return draft_;
}

size_t RunningSequence::end_draft() {
  const auto differs = std::ranges::mismatch(draft_, std::span(tokens_).subspan(draft_begin_)).in1;
  const auto kept = static_cast<size_t>(differs - draft_.begin());
  held_ = draft_begin_ + kept;
  draft_length_.record(draft_.size(), kept);
  draft_.clear();
  news_.kept_draft_tokens += kept;
  return kept;
}

/// Chooses the same token as Generator does for the same prompt, options and index.
int32_t RunningSequence::choose(std::span<const float> logits) {
  std::vector<double> scores(logits.begin(), logits.end());
  process_scores(request_.options, {tokens_, request_.prompt.size(), 0, request_.input()}, scores);
  if (is_constrained()) constrain(scores);
  if (all_impossible(scores) && !all_impossible(logits))
    fail("the options of the request suppress all {} tokens: none can be chosen", scores.size());
  return draw(candidates(scores, request_.options),
              uniform_number(request_.options.seed, tokens_.size(), request_.index));
}

/// Errors are kept for the thread that samples.
void RunningSequence::prepare() {
  if (!is_constrained() || !allowed_.empty() || constraint_fault_ || ended()) return;
  allowed_.resize(request_.constrained->words());
  try {
    request_.constrained->fill(allowed_);
  } catch (...) {
    constraint_fault_ = std::current_exception();
  }
}

void RunningSequence::require_allowed() {
  prepare();
  if (constraint_fault_) std::rethrow_exception(std::exchange(constraint_fault_, nullptr));
}

std::span<const uint32_t> RunningSequence::allowed() {
  try {
    require_allowed();
    return allowed_;
  } catch (const Error& error) {
    end_failed(error);
    return {};
  }
}

void RunningSequence::constrain(std::span<double> scores) {
  require_allowed();
  constexpr size_t kBits = 32;
  for (size_t token = 0; token < scores.size(); ++token)
    if ((allowed_[token / kBits] >> token % kBits & 1U) == 0) scores[token] = kBanned;
  allowed_.clear();
}

/// Ends a text that nothing can follow, although no end token has been sampled.
void RunningSequence::advance_constrained(int32_t token) {
  structured::ConstrainedText& text = *request_.constrained;
  const bool is_whole = text.can_end();
  if (!text.advance(token)) fail("token {} does not fit the specification of the text", token);
  if (text.ended() && !is_whole)
    fail_with(Status::unavailable, "no token of the vocabulary fits the specification of the text here");
  if (text.must_end() && !ended()) end(Finish::stop);
}

/// Sets the log-probabilities of a token, and of the `best` most probable ones in its place.
void RunningSequence::describe(NewToken& token, std::span<const float> logits, size_t best) {
  token.log_probability = log_probability(logits, token.id);
  for (const int32_t id : most_probable(logits, best))
    token.best.emplace_back(id, log_probability(logits, id));
}

size_t RunningSequence::take(std::span<const float> logits) {
  const size_t before = tokens_.size();
  try {
    scores_prompt() ? score_prompt(logits) : sample(logits);
  } catch (const Error& error) {
    end_failed(error);
  }
  return tokens_.size() - before;
}

void RunningSequence::score_prompt(std::span<const float> logits) {
  const size_t place = scored_++;
  NewToken token{.id = request_.prompt[place], .weights_version = weights_version_};
  if (!request_.prompt_begins.empty()) token.text_begin = request_.prompt_begins[place];
  describe(token, logits, *request_.prompt_log_probabilities);
  const float own = logits[static_cast<size_t>(token.id)];
  token.rank = 1 + static_cast<size_t>(std::ranges::count_if(logits, [&](float each) { return each > own; }));
  news_.prompt.push_back(std::move(token));
  if (!scores_prompt() && request_.options.max_new_tokens == 0) end(Finish::length);
}

void RunningSequence::sample(std::span<const float> logits) {
  const int32_t token = choose(logits);
  examined_ = tokens_.size();
  NewToken fresh{.id = token, .text_begin = characters_, .weights_version = weights_version_};
  if (request_.log_probabilities) describe(fresh, logits, *request_.log_probabilities);
  news_.tokens.push_back(std::move(fresh));
  add(token);
  if (is_constrained()) advance_constrained(token);
}

void RunningSequence::take(const ChosenTokens::Token& token) {
  examined_ = tokens_.size();
  NewToken fresh{.id = token.id, .text_begin = characters_, .weights_version = weights_version_};
  if (request_.log_probabilities) fresh.log_probability = token.log_probability;
  news_.tokens.push_back(std::move(fresh));
  add(token.id);
  if (!is_constrained()) return;
  allowed_.clear();
  try {
    advance_constrained(token.id);
  } catch (const Error& error) {
    end_failed(error);
  }
}

/// An end token is no text, unless the request wants its text.
void RunningSequence::add(int32_t token) {
  tokens_.push_back(token);
  const GenerationOptions& options = request_.options;
  const bool ends = options.ends(token);
  if (request_.text && (!ends || request_.includes_stop)) show(request_.text(token));
  if (ends) return end(Finish::stop);
  const size_t fresh = tokens_.size() - request_.prompt.size();
  if (stops_.found())
    end(Finish::stop);
  else if (fresh == static_cast<size_t>(options.max_new_tokens))
    end(Finish::length);
}

void RunningSequence::show(const std::string& text) {
  characters_ += static_cast<size_t>(std::ranges::count_if(text, begins_character));
  const bool searches = tokens_.size() - request_.prompt.size() > request_.unstopped_tokens;
  news_.text += searches ? stops_.push(text) : text;
}

/// Ends the sequence. Text that was held back is shown, unless a stop text is in it.
void RunningSequence::end(Finish finish, std::string error) {
  if (request_.text && !stops_.found()) show(request_.text(std::nullopt));
  if (stops_.found() && finish == Finish::length) finish = Finish::stop;
  news_.text += stops_.finish();
  finish_ = news_.finish = finish;
  news_.error = std::move(error);
}

void RunningSequence::end_failed(const Error& error) {
  end(Finish::failed, error.what());
  news_.is_requests_fault = error.status() == Status::invalid_argument;
}

Progress RunningSequence::progress() { return std::exchange(news_, {}); }

}  // namespace smelt
