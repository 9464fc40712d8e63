// Beam searches of a continuous batch (continuous_batch.h) whose beams the plan chooses by the entry
// @next_beams (decode_contract.def), for the plan of an encoder-decoder. The host only collects finished
// sequences, while the device is at work on later runs.
//
// All searches have the same number of beams, K. A search has a number n: its rows are n*K to n*K + K - 1,
// and its source is in slot n of what the entry `encode` caches. A run reads one token of each row, up to
// those of the highest number in use. It also reads rows of numbers without a search, whose results are
// ignored.
//
//   together = 2, ahead = 1, a step takes one run:
//     device   | encode begin | run 0 run 1 | encode begin | run 2 run 3 | run 4 ...
//     host                            take 0 ^ starts 2, 3   take 1  take 2 ^ starts 4, 5
//
// Runs are started in groups of `together`, as soon as only `ahead` earlier ones are not taken. Searches
// begin before a group. When the host learns that a search has ended, the runs that were started before it
// still read its rows. A search of which all runs have been started, because it has as many new tokens as it
// may have, can leave its number to another search before the host has taken these runs.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/engine/generation/beam_candidates.h"
#include "runtime/engine/generation/beam_inputs.h"
#include "runtime/engine/serving/cache_rows.h"
#include "runtime/engine/serving/running_sequence.h"
#include "runtime/engine/serving/slot_biases.h"
#include "runtime/engine/serving/steps.h"

namespace smelt {

class PlannedBeams {
 public:
  using Sequence = std::shared_ptr<RunningSequence>;
  struct Limits {
    size_t slots = 0;     // rows that may run together
    size_t ahead = 0;     // runs that may be in progress when a group is started
    size_t together = 1;  // most runs of a group
  };

  /// Returns whether the plan has the entries.
  static bool suits(const Session& session);

  /// `rows` must be those of an encoder-decoder. Requires: suits(session).
  PlannedBeams(Session& session, CacheRows& rows, Limits limits);
  /// Waits for all started runs, and ignores their errors.
  ~PlannedBeams();
  PlannedBeams(const PlannedBeams&) = delete;
  PlannedBeams& operator=(const PlannedBeams&) = delete;

  /// Warm-up: if the device captures runs as graphs, runs each size that searches of this many beams need, so
  /// that later runs find it captured. Of sources that begin together, these are the sizes of sources of
  /// similar lengths with about `source_tokens` tokens in all. Requires: idle(), and free(beams) > 0.
  void prepare(int64_t beams, size_t source_tokens);

  /// Returns the reason why the plan cannot choose the beams of this beam search; empty if it can.
  std::string refuses(const Request& request) const;

  /// Returns whether there is no search.
  bool idle() const { return running() == 0; }
  size_t running() const;                                // number of searches
  size_t used_slots() const;                             // rows of the numbers that have a search
  int64_t beams() const { return idle() ? 0 : beams_; }  // of each search; 0: there is none
  size_t free(
      int64_t beams) const;  // searches of this many beams that may begin in addition to the present ones
  /// Returns whether step() will start runs, so that searches may begin now.
  bool starts() const { return idle() || under_way_.size() <= limits_.ahead; }
  /// Returns the first rows of all searches, which represent their requests.
  std::vector<Sequence> sequences() const;

  /// Begins searches, represented by their first rows: encodes their sources and sets the states of their
  /// rows. If there was no search, throws the Error of a run that was in progress. Requires: starts(); the
  /// searches have the same number of beams, and free() has room for them.
  void begin(std::span<const Sequence> sequences);
  /// Starts runs if they are due, and takes the candidates of the first run in progress. Returns the counts.
  Steps::Taken step();
  /// Takes the candidates of all runs in progress, and starts none. Returns the counts.
  Steps::Taken finish();
  /// Removes the searches that have ended, and calls `on_end` with the first row of each.
  void leave(const std::function<void(const RunningSequence&)>& on_end);
  /// Removes all searches without taking their candidates, after a failure of the whole batch.
  void forget();

 private:
  struct Search {
    Sequence sequence;
    int64_t left = 0;   // tokens whose runs have not been started
    double offset = 0;  // of the next candidates' sums (BeamCandidates::take)
  };
  using SearchPointer = std::shared_ptr<Search>;

  /// Inputs of the entry begin_beams, one element per row.
  struct FirstRows {
    std::vector<int32_t> slots, tokens;
    std::vector<float> sums;
    void add(size_t number, size_t beams, int32_t token);
  };

  size_t take_number();
  void end_runs();
  void begin_rows(std::span<const size_t> numbers);
  void run_begin(FirstRows rows, int times);
  size_t padded(size_t count, size_t most) const;
  size_t used_numbers() const;
  void prepare_inputs(int64_t beams, size_t numbers);
  int64_t most_left() const;
  void start();
  void take();
  void take(Search* search, size_t number, size_t run);
  /// Sets the keys and values of a search to zeros.
  void clear(size_t number);

  Session& session_;
  CacheRows& rows_;
  Limits limits_;
  bool pads_;  // runs have one of a few sizes
  BeamCandidates candidates_;
  SlotBiases biases_;
  int64_t beams_ = 0;                                 // of the present or last searches
  std::vector<SearchPointer> searches_;               // by number; null: there is none
  std::vector<SearchPointer> ending_;                 // have left their numbers to others
  std::deque<std::vector<SearchPointer>> under_way_;  // by run in progress: its searches, by number
  std::vector<size_t> taken_runs_;                    // by number: runs that were taken
  std::optional<BeamInputs> inputs_;                  // of the next runs; nothing: they have changed
  size_t run_searches_ = 0;                           // numbers that the runs with these inputs have
  Steps::Taken taken_;
};

}  // namespace smelt
