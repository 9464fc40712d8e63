// A beam search without the host between its steps: the entry @next_beams chooses the beams that continue,
// and reports the best continuations to the host, which collects the finished sequences.
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/generation/beam_search.h"
#include "runtime/plan/decode_interface.h"
#include "runtime/session/session.h"
namespace smelt {

class BeamLoop {
 public:
  /// Requires: the plan has the entry.
  BeamLoop(Session& session, const DecodeInterface& decode);
  struct Sentence {
    std::span<const int32_t> read;  // what the model reads of the prompt
    History prompt;                 // padding included
    BeamSearch& search;             // before its first step
  };
  /// Runs the entry @next_beams, or @next_beams_guided, until all searches are done. The entry must
  /// support the options (runtime/engine/generation/loop_choice.h). The caches' first rows
  /// hold all tokens of the sentences but the last; all sentences have equally many. Throws Error (numeric)
  /// if no token can be chosen.
  void run(std::span<const Sentence> sentences, const GenerationOptions& options, bool guided);

 private:
  struct Inputs;
  struct Steps;
  void clear_candidates();
  void set_states(std::span<const Sentence> sentences, const GenerationOptions& options);

  bool is_there(size_t sentence, size_t place) const;
  std::vector<Continuation> take(const Sentence& sentence, size_t row, size_t place);
  std::vector<double> best_sums_;  // of each sentence: what sums are counted from

  Session& session_;
  size_t capacity_;
  /// Candidates, which the device writes and the host removes; sums as their bits.
  volatile int32_t *beams_ = nullptr, *tokens_ = nullptr, *sums_ = nullptr;
};

}  // namespace smelt
