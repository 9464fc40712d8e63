#include "runtime/engine/generation/beam_candidates.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

constexpr int32_t kNoSum = 0x7FEDCAFE;  // the bits of a NaN that no arithmetic gives
constexpr size_t kCandidates = static_cast<size_t>(kBeamCandidates),
                 kRuns = static_cast<size_t>(kCandidateRuns);

/// Returns the index of the first candidate of a sentence's run.
size_t first_of(size_t sentence, size_t run) { return (sentence * kRuns + run % kRuns) * kCandidates; }

volatile int32_t* shown(Session& session, std::string_view state) {
  return reinterpret_cast<volatile int32_t*>(session.peek(state).data());
}

}  // namespace

BeamCandidates::BeamCandidates(Session& session)
    : session_(session),
      beams_(shown(session, state::candidate_beams)),
      tokens_(shown(session, state::candidate_tokens)),
      sums_(shown(session, state::candidate_sums)) {}

void BeamCandidates::clear() {
  std::ranges::fill(numbers<int32_t>(session_.state(state::candidate_beams)), kNotYet);
  std::ranges::fill(numbers<int32_t>(session_.state(state::candidate_tokens)), kNotYet);
  std::ranges::fill(numbers<int32_t>(session_.state(state::candidate_sums)), kNoSum);
  session_.clear_state(state::candidate_places);
}

bool BeamCandidates::is_there(size_t sentence, size_t run) const {
  const size_t first = first_of(sentence, run);
  for (size_t i = first; i < first + kCandidates; ++i)
    if (tokens_[i] == kNotYet || beams_[i] == kNotYet || sums_[i] == kNoSum) return false;
  return true;
}

void BeamCandidates::forget(size_t sentence, size_t run) {
  const size_t first = first_of(sentence, run);
  for (size_t i = first; i < first + kCandidates; ++i) {
    tokens_[i] = kNotYet;
    beams_[i] = kNotYet;
    sums_[i] = kNoSum;
  }
}

/// A candidate whose sum is not finite is none.
std::vector<Continuation> BeamCandidates::take(size_t sentence, size_t run, size_t count, double& offset) {
  std::vector<Continuation> best;
  bool has_nan = false;
  const size_t first = first_of(sentence, run);
  const auto sum_of = [&](size_t i) { return std::bit_cast<float>(int32_t{sums_[i]}); };
  const float best_sum = sum_of(first);
  for (size_t i = first; i < first + kCandidates; ++i) {
    const double rank = offset + sum_of(i);
    const auto score = static_cast<float>(rank);
    has_nan |= std::isnan(score);
    if (std::isfinite(score) && best.size() < count)
      best.push_back({static_cast<size_t>(beams_[i]), tokens_[i], score, rank});
  }
  forget(sentence, run);
  if (std::abs(best_sum) < kMostToCountFrom) offset += best_sum;
  if (has_nan) fail_with(Status::numeric, "a logit is NaN: no token can be chosen");
  if (best.empty()) fail_with(Status::numeric, "every logit is -infinity: no token can be chosen");
  return best;
}

}  // namespace smelt
