// Beam search whose steps do not wait for the host. The plan's entry @next_beams (decode_contract.def)
// chooses the beams that continue, and reports the best continuations to the host, which collects the
// finished sequences.
#pragma once

#include <span>
#include <vector>

#include "runtime/engine/generation/beam_candidates.h"
#include "runtime/engine/generation/beam_search.h"
#include "runtime/plan/decode_interface.h"
#include "runtime/session/session.h"
namespace smelt {

class BeamLoop {
 public:
  /// Requires: the plan has the entry @next_beams.
  BeamLoop(Session& session, const DecodeInterface& decode);
  struct Sentence {
    std::span<const int32_t> read;  // the prompt without padding, as the model reads it
    History prompt;                 // the prompt with padding
    BeamSearch& search;             // a search that has not begun
  };
  /// Runs the entry @next_beams, or @next_beams_guided if `guided`, until all searches are done. Requires:
  /// the entry supports the options (runtime/engine/generation/loop_choice.h); row i of the caches holds
  /// sentences[i].read without its last token; all `read` have the same length. Throws Error (numeric) if no
  /// token can be chosen.
  void run(std::span<const Sentence> sentences, const GenerationOptions& options, bool guided);

 private:
  struct Inputs;
  struct Steps;
  void set_states(std::span<const Sentence> sentences, const GenerationOptions& options);
  /// Continues the search of a sentence by the candidates of a run, if the search is not done.
  void take(const Sentence& sentence, size_t number, size_t run);

  Session& session_;
  size_t capacity_;
  BeamCandidates candidates_;
  std::vector<double> offsets_;  // of the candidates' sums, by sentence
};

}  // namespace smelt
