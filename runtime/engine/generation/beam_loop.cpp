#include "runtime/engine/generation/beam_loop.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "runtime/base/error.h"
#include "runtime/engine/generation/beam_inputs.h"
#include "runtime/engine/generation/run_ahead.h"
#include "runtime/engine/generation/step_loop.h"
#include "runtime/engine/generation/text_inputs.h"
#include "runtime/plan/decode_contract.h"

namespace smelt {

BeamLoop::BeamLoop(Session& session, const DecodeInterface& decode)
    : session_(session), capacity_(decode.capacity), candidates_(session) {}

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

void BeamLoop::take(const Sentence& sentence, size_t number, size_t run) {
  if (sentence.search.done()) return candidates_.forget(number, run);
  try {
    sentence.search.take(candidates_.take(number, run, sentence.search.kept(), offsets_[number]));
  } catch (const Error& error) {
    fail_with(error.status(), "sentence {}: {}", number, error.what());
  }
}

/// Inputs per row, and per sentence.
struct BeamLoop::Inputs {
  BeamInputs beams;
  std::optional<TextInputs> text;
  std::vector<History> rows;
  int64_t width;

  explicit Inputs(int64_t beams) : beams(beams), width(beams) {}

  void add(const Sentence& sentence, const GenerationOptions& options) {
    rows.insert(rows.end(), static_cast<size_t>(width), sentence.prompt);
    if (!text)
      return beams.add({.read = std::ssize(sentence.read),
                        .prompt_length = static_cast<int64_t>(sentence.prompt.prompt_length)},
                       options);
    beams.add(options);
    for (int64_t beam = 0; beam < width; ++beam) text->add(sentence.prompt, sentence.read.size());
  }

  std::vector<InputTensor> tensors() const {
    if (!text) return beams.tensors();
    std::vector<InputTensor> all = text->tensors();
    for (InputTensor& input : beams.of_sentences()) all.push_back(std::move(input));
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
      runs.wait([&] { return loop.candidates_.is_there(i, run); });
      loop.take(sentences[i], i, run);
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
  candidates_.clear();
  offsets_.assign(sentences.size(), 0);
  run_steps(Steps{*this,
                  sentences,
                  {session_, guided ? entry::next_beams_guided : entry::next_beams, inputs.tensors(),
                   options.max_new_tokens}});
  session_.synchronize();
}

}  // namespace smelt
