// A beam search without the host between its steps: the entry @next_beams chooses the beams that go on, and
// shows the best continuations to the host, which makes the finished sequences of them.
#pragma once

#include <span>
#include <vector>

#include "runtime/generation/beam_search.h"
#include "runtime/session.h"

namespace smelt {

class BeamLoop {
 public:
  /// Whether the plan has the entry.
  static bool has_entry(const Session& session);
  /// Why the entry does not do all that these options ask for, so that the host does it; empty where it does.
  static std::string_view refuses(const GenerationOptions& options);

  explicit BeamLoop(Session& session);

  struct Sentence {
    std::span<const int32_t> read;  // what the model reads of the prompt
    size_t prompt_length;           // padding included
    BeamSearch& search;             // before its first step
  };
  /// Until all searches are done. The caches' first rows hold what the sentences read, which is equally much
  /// of each, but for the last token. Throws Error (numeric) where no token can be chosen.
  void run(std::span<const Sentence> sentences, const GenerationOptions& options);

 private:
  struct Inputs;
  void clear_candidates();
  void set_states(std::span<const Sentence> sentences, const GenerationOptions& options);
  bool is_there(size_t sentence, size_t place) const;
  std::vector<Continuation> take(const Sentence& sentence, size_t row, size_t place);
  std::vector<double> best_sums_;  // of each sentence: what sums are counted from

  Session& session_;
  size_t vocabulary_ = 0, capacity_ = 0;
  /// Candidates, which the device writes and the host takes away; sums by their bits.
  volatile int32_t *beams_ = nullptr, *tokens_ = nullptr, *sums_ = nullptr;
};

}  // namespace smelt
