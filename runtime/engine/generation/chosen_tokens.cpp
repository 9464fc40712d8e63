#include "runtime/engine/generation/chosen_tokens.h"

#include <algorithm>
#include <atomic>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

constexpr int32_t kNoToken = -1;
constexpr float kNoLogarithm = 1;  // of no probability

/// A device writes these numbers while the host looks at them; the log-probability before the token.
template <typename T>
T look(volatile T& number) {
  return std::atomic_ref<T>(const_cast<T&>(number)).load(std::memory_order_acquire);
}
template <typename T>
void put(volatile T& number, T value) {
  std::atomic_ref<T>(const_cast<T&>(number)).store(value, std::memory_order_release);
}

ChosenTokens::Token checked(const ChosenTokens::Token& token) {
  if (token.id == kNoToken)
    fail_with(Status::numeric, "a logit is NaN, or all are -infinity: no token can be chosen");
  return token;
}

}  // namespace

ChosenTokens::ChosenTokens(Session& session, const DecodeInterface& decode)
    : session_(session),
      places_(decode.capacity + 1),
      tokens_(reinterpret_cast<volatile int32_t*>(session.peek(state::new_tokens).data())),
      log_probabilities_(
          reinterpret_cast<volatile float*>(session.peek(state::new_log_probabilities).data())) {}

bool ChosenTokens::is_there(size_t row, size_t place) const {
  return look(tokens_[index(row, place)]) != kNotYet &&
         look(log_probabilities_[index(row, place)]) != kNoLogarithm;
}

ChosenTokens::Token ChosenTokens::left_at(size_t row, size_t place) const {
  return {look(tokens_[index(row, place)]), look(log_probabilities_[index(row, place)])};
}

ChosenTokens::Token ChosenTokens::at(size_t row, size_t place) const { return checked(left_at(row, place)); }

ChosenTokens::Token ChosenTokens::take(size_t row, size_t place) {
  const Token token = left_at(row, place);
  forget(row, place);
  return checked(token);
}

void ChosenTokens::forget(size_t row, size_t place) {
  put(tokens_[index(row, place)], kNotYet);
  put(log_probabilities_[index(row, place)], kNoLogarithm);
}

void ChosenTokens::forget_all() {
  std::ranges::fill(numbers<int32_t>(session_.state(state::new_tokens)), kNotYet);
  std::ranges::fill(session_.state_f32(state::new_log_probabilities), kNoLogarithm);
}

}  // namespace smelt
