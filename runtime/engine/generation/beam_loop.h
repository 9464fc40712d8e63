// Beam search whose steps do not wait for the host. The plan's entry @next_beams (decode_contract.def)
// chooses the beams that continue, and reports the best continuations to the host, which collects the
// finished sequences.
#pragma once

#include <span>
#include <vector>

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
  void clear_candidates();
  void set_states(std::span<const Sentence> sentences, const GenerationOptions& options);

  /// Returns whether the candidates of a sentence for the token at position `place` are available.
  bool is_there(size_t sentence, size_t place) const;
  /// Returns the candidates of a sentence for the token at position `place`, and clears their memory. `row`
  /// is the number of the sentence.
  std::vector<Continuation> take(const Sentence& sentence, size_t row, size_t place);
  /// Offsets of the candidates' sums, one per sentence. To keep precision, the device stores each sum minus
  /// the offset of its sentence.
  std::vector<double> best_sums_;

  Session& session_;
  size_t capacity_;
  /// Candidates in memory that the device writes and the host reads and clears. Each array has the dims
  /// [sentences, positions, candidates], with the best candidate first. There is room for the candidates of a
  /// fixed number of positions; later positions reuse this room. A candidate is the beam that continues, its
  /// next token, and the bits of the f32 sum of its log-probabilities.
  volatile int32_t *beams_ = nullptr, *tokens_ = nullptr, *sums_ = nullptr;
};

}  // namespace smelt
