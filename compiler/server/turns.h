// Step broadcast from rank 0, which runs the HTTP server, to the other ranks that serve the same model.
// Before each step of the batch, rank 0 sends the new and the cancelled requests. All ranks then run the same
// step, so they have the same batch, and caches that match.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/serving/continuous_batch.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::server {

/// One body of POST /v1/completions, from which every rank makes the same requests.
struct AskedCompletion {
  std::string body;
  uint32_t seed = 0;  // of the random numbers; drawn by rank 0 if the body has none
};

/// One broadcast ("turn").
struct Turn {
  std::vector<AskedCompletion> asked;          // in order; all requests of a body are submitted, or none
  std::vector<ContinuousBatch::Id> cancelled;  // requests to cancel after those of `asked` are submitted
  std::string choices;  // Executor::choices of rank 0 (variants chosen by measurement); empty: unchanged
  bool ends = false;    // this is the last turn
};
/// Returns the turn as bytes for parse_turn; no bytes if it is empty.
std::string to_bytes(const Turn& turn);
/// Returns the turn that to_bytes converted. Throws Error if the bytes are not a turn.
Turn parse_turn(std::string_view bytes);

/// The broadcast between ranks. In every turn, rank 0 calls tell() and each other rank calls hear(), from the
/// thread that runs the session. `counts` are those of the rank's own batch. Each rank compares its counts
/// with rank 0's, in order to detect a step that failed on one rank only.
class Turns {
 public:
  /// `ranks` must outlive the object.
  explicit Turns(RankGroups& ranks) : ranks_(ranks) {}

  /// Sends a turn to all other ranks.
  void tell(const Turn& turn, const ContinuousBatchCounts& counts);
  /// Waits for the next turn from rank 0. Throws Error if the counts differ from rank 0's, unless the turn is
  /// the last.
  Turn hear(const ContinuousBatchCounts& counts);

 private:
  RankGroups& ranks_;
};

/// Submits all requests, or none if one would be refused, and returns their ids in order. Throws the Errors
/// of ContinuousBatch::submit.
std::vector<ContinuousBatch::Id> submit_together(ContinuousBatch& batch, std::vector<Request> requests);

}  // namespace smelt::server
