#include "runtime/structured/constrained_text.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::structured {
namespace {

uint64_t bit_of(uint32_t token) { return uint64_t{1} << token % 64; }

}  // namespace

ConstrainedText::ConstrainedText(std::shared_ptr<Constraint> constraint, std::vector<int32_t> end_tokens,
                                 bool follows_text)
    : constraint_(std::move(constraint)),
      end_tokens_(std::move(end_tokens)),
      matcher_(constraint_->automaton()),
      is_at_start_(!follows_text) {
  std::sort(end_tokens_.begin(), end_tokens_.end());
  const size_t count = constraint_->tokens()->count();
  for (const int32_t token : end_tokens_)
    if (token < 0 || static_cast<size_t>(token) >= count)
      fail("structured output: the end token {} is not in the vocabulary of {} tokens", token, count);
}

bool ConstrainedText::is_end(int32_t token) const {
  return std::binary_search(end_tokens_.begin(), end_tokens_.end(), token);
}

bool ConstrainedText::is_allowed_at_start(int32_t token) const {
  const std::vector<uint32_t>& others = constraint_->tokens()->texts.other_at_start;
  return !std::binary_search(others.begin(), others.end(), static_cast<uint32_t>(token));
}

/// Assigns the mask of the tokens to allowed_.
void ConstrainedText::fill_words() {
  allowed_.assign(constraint_->words(), 0);
  const auto clear = [&](uint32_t token) { allowed_[token / 64] &= ~bit_of(token); };
  if (!ended_) constraint_->mask(matcher_, allowed_);
  if (is_at_start_) std::ranges::for_each(constraint_->tokens()->texts.other_at_start, clear);
  std::ranges::for_each(end_tokens_, clear);
  const bool is_stuck = std::ranges::all_of(allowed_, [](uint64_t word) { return word == 0; });
  if (!can_end() && !is_stuck) return;
  for (const int32_t token : end_tokens_) allowed_[static_cast<size_t>(token) / 64] |= bit_of(token);
}

void ConstrainedText::fill(std::span<uint32_t> bits) {
  if (bits.size() < words())
    fail("structured output: the mask has {} words, expected at least {} for {} tokens", bits.size(), words(),
         constraint_->tokens()->count());
  fill_words();
  for (size_t i = 0; i < bits.size(); ++i)
    bits[i] = i < words() ? static_cast<uint32_t>(allowed_[i / 2] >> i % 2 * 32) : 0;
}

bool ConstrainedText::advance(int32_t token) {
  const std::vector<std::string>& bytes = constraint_->tokens()->texts.bytes;
  if (ended_ || token < 0 || static_cast<size_t>(token) >= bytes.size()) return false;
  if (is_end(token)) {
    if (!can_end()) fill_words();  // an end that is only allowed because no token fits
    return ended_ = can_end() || (allowed_[static_cast<size_t>(token) / 64] & bit_of(token)) != 0;
  }
  const std::string& text = bytes[static_cast<size_t>(token)];
  if (text.empty() || (is_at_start_ && !is_allowed_at_start(token)) || !matcher_.advance(text)) return false;
  is_at_start_ = false;
  return true;
}

}  // namespace smelt::structured
