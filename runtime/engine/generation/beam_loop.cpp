#include "runtime/engine/generation/beam_loop.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/engine/generation/loop_inputs.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/engine/generation/step_loop.h"
#include "runtime/engine/generation/text_inputs.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {
namespace {

constexpr int32_t kNoSum = 0x7FEDCAFE;  // the bits of a NaN that no arithmetic gives
constexpr size_t kCandidates = static_cast<size_t>(kBeamCandidates),
                 kRuns = static_cast<size_t>(kCandidateRuns);

/// Returns the index of the first candidate of a sentence at a position.
size_t first_of(size_t sentence, size_t place) { return (sentence * kRuns + place % kRuns) * kCandidates; }

}  // namespace

BeamLoop::BeamLoop(Session& session, const DecodeInterface& decode)
    : session_(session), capacity_(decode.capacity) {}
void BeamLoop::set_states(std::span<const Sentence> sentences, const GenerationOptions& options) {
  const auto beams = static_cast<size_t>(options.num_beams);
  std::vector<std::span<const int32_t>> read;
  for (const Sentence& sentence : sentences) read.insert(read.end(), beams, sentence.read);
  set_positions(session_, read);
  const auto rows = numbers<int32_t>(session_.state(state::beam_rows));
  const std::span<float> sums = session_.state_f32(state::beam_sums);
  for (size_t row = 0; row < read.size(); ++row) {
    sums[row] = row % beams == 0 ? 0 : -std::numeric_limits<float>::infinity();
    std::ranges::fill(rows.subspan(row * capacity_, capacity_), static_cast<int32_t>(row / beams));
  }
}

bool BeamLoop::is_there(size_t sentence, size_t place) const {
  const size_t first = first_of(sentence, place);
  for (size_t i = first; i < first + kCandidates; ++i)
    if (tokens_[i] == kNotYet || beams_[i] == kNotYet || sums_[i] == kNoSum) return false;
  return true;
}

/// Leaves room for those of a later run.
std::vector<Continuation> BeamLoop::take(const Sentence& sentence, size_t row, size_t place) {
  std::vector<Continuation> best;
  const auto first = std::bit_cast<float>(int32_t{sums_[first_of(row, place)]});
  for (size_t i = first_of(row, place), end = i + kCandidates; i < end; ++i) {
    const auto sum = std::bit_cast<float>(int32_t{sums_[i]});
    if (std::isnan(sum) && !sentence.search.done())
      fail_with(Status::numeric, "sentence {}: a logit is NaN: no token can be chosen", row);
    if (std::isfinite(static_cast<float>(best_sums_[row] + sum)) && best.size() < sentence.search.kept())
      best.push_back({static_cast<size_t>(beams_[i]), tokens_[i], static_cast<float>(best_sums_[row] + sum),
                      best_sums_[row] + sum});
    tokens_[i] = kNotYet;
    beams_[i] = kNotYet;
    sums_[i] = kNoSum;
  }
  if (std::abs(first) < kMostToCountFrom) best_sums_[row] += first;
  if (best.empty() && !sentence.search.done())
    fail_with(Status::numeric, "sentence {}: every logit is -infinity: no token can be chosen", row);
  return best;
}

/// All candidates are yet to come.
void BeamLoop::clear_candidates() {
  const auto clear = [&](std::string_view state, int32_t value) {
    const auto all = numbers<int32_t>(session_.state(state));
    std::ranges::fill(all, value);
    return all.data();
  };
  tokens_ = clear(state::candidate_tokens, kNotYet), beams_ = clear(state::candidate_beams, kNotYet);
  sums_ = clear(state::candidate_sums, kNoSum);
}

/// Inputs per row, and per sentence.
struct BeamLoop::Inputs {
  LoopInputs loop;
  std::optional<TextInputs> text;
  std::vector<History> rows;
  std::vector<int32_t> ends, beams;
  int64_t width;

  explicit Inputs(int64_t beams) : width(beams) {}

  void add(const Sentence& sentence, const GenerationOptions& options) {
    const LoopPlace place = {.read = std::ssize(sentence.read),
                             .prompt_length = static_cast<int64_t>(sentence.prompt.prompt_length)};
    for (int64_t beam = 0; beam < width; ++beam) {
      rows.push_back(sentence.prompt);
      if (text)
        text->add(sentence.prompt, sentence.read.size());
      else
        loop.add(place, options);
    }
    ends.insert(ends.end(), options.eos_token_id.begin(), options.eos_token_id.end());
    ends.resize(rows.size() / static_cast<size_t>(width) * static_cast<size_t>(kEndTokens), -1);
    beams.resize(rows.size());
  }

  std::vector<InputTensor> tensors() const {
    const int64_t sentences = std::ssize(beams) / width;
    std::vector<InputTensor> all = text ? text->tensors() : loop.tensors();
    all.push_back(port::beams.tensor({sentences, width}, beams.data()));
    all.push_back(port::ends.tensor({sentences, kEndTokens}, ends.data()));
    return all;
  }
};

/// Policy of sentences whose beams the plan chooses.
struct BeamLoop::Steps {
  BeamLoop& loop;
  std::span<const Sentence> sentences;
  RunAhead runs;

  bool goes_on() const {
    return std::ranges::any_of(sentences, [](const Sentence& sentence) { return !sentence.search.done(); });
  }
  int64_t start() { return runs.start(); }
  int64_t under_way() const { return runs.under_way(); }
  void take() {
    const auto run = static_cast<size_t>(runs.take());
    for (size_t i = 0; i < sentences.size(); ++i) {
      const size_t place = sentences[i].read.size() + run;
      runs.wait([&] { return loop.is_there(i, place); });
      std::vector<Continuation> best = loop.take(sentences[i], i, place);
      if (!sentences[i].search.done()) sentences[i].search.take(std::move(best));
    }
  }
};

void BeamLoop::run(std::span<const Sentence> sentences, const GenerationOptions& options, bool guided) {
  Inputs inputs(options.num_beams);
  if (guided) inputs.text.emplace(session_.plan(), options);
  for (const Sentence& sentence : sentences) inputs.add(sentence, options);
  set_states(sentences, options);
  if (guided)
    set_text_states(session_, inputs.rows, options);
  else
    set_biases(session_, inputs.rows.size(), options);
  clear_candidates();
  best_sums_.assign(sentences.size(), 0);
  run_steps(Steps{*this,
                  sentences,
                  {session_, guided ? entry::next_beams_guided : entry::next_beams, inputs.tensors(),
                   options.max_new_tokens}});
  session_.synchronize();
}

}  // namespace smelt
