// Best continuations of sentences, which each run of the entries @next_beams and @next_beams_guided
// (decode_contract.def) stores for the host. The host takes them while later runs are in progress. There is
// room for the candidates of kCandidateRuns runs of each sentence; later runs reuse this room.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/engine/generation/beam_search.h"
#include "runtime/session/session.h"

namespace smelt {

class BeamCandidates {
 public:
  /// Requires: the plan has the entry @next_beams.
  explicit BeamCandidates(Session& session);

  /// Removes all candidates, and lets each sentence count its runs from 0. Waits for runs in progress.
  void clear();
  /// Returns whether the candidates of a sentence that its run number `run` has found are available.
  bool is_there(size_t sentence, size_t run) const;
  /// Returns the best `count` of these candidates, the best first, and removes all of them. The device stores
  /// each sum of log-probabilities minus an offset, to keep precision. `offset` is the offset of this run,
  /// and becomes that of the sentence's next run; it is 0 for the first run. Throws Error (numeric) if no
  /// token can be chosen. Requires: is_there(sentence, run).
  std::vector<Continuation> take(size_t sentence, size_t run, size_t count, double& offset);
  /// Removes these candidates. Requires: is_there(sentence, run).
  void forget(size_t sentence, size_t run);

 private:
  Session& session_;
  /// Memory that the device writes: [sentences, runs, candidates], with the best candidate first. A candidate
  /// is the beam that continues, its next token, and the bits of the f32 sum of its log-probabilities.
  volatile int32_t *beams_, *tokens_, *sums_;
};

}  // namespace smelt
