// Step broadcast from rank 0, which runs the HTTP server, to the other ranks that serve the same model.
// Before each step of the batch, rank 0 sends the new and the cancelled requests to the other ranks. All
// ranks then run the same step, so their batches have the same requests, and their KV caches the same tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/engine/serving/request_batch.h"
#include "runtime/ranks/rank_groups.h"

namespace smelt::server {

/// One body of POST /v1/completions, from which every rank makes the same requests.
struct AskedCompletion {
  std::string body;
  uint32_t seed = 0;  // of sampling; a random number of rank 0 if the body has no seed
};

/// The content of one broadcast, which precedes one step of the batch.
struct Turn {
  std::vector<AskedCompletion> asked;       // new bodies, in order; see submit_together
  std::vector<RequestBatch::Id> cancelled;  // requests to cancel after those of `asked` are submitted
  /// Kernel variants that rank 0 chose by measurement (Executor::choices); empty: unchanged.
  std::string choices;
  bool ends = false;  // this is the last broadcast
};
/// Returns the turn as bytes for parse_turn; no bytes if all its members have their initial values.
std::string to_bytes(const Turn& turn);
/// Returns the turn that to_bytes converted to these bytes. Throws Error if the bytes are not a turn.
Turn parse_turn(std::string_view bytes);

/// The sender (rank 0) or receiver (other ranks) of the broadcasts. Before every step, rank 0 calls tell()
/// and each other rank calls hear(), from the thread that runs the session. `counts` are the counts of the
/// rank's own batch. Each other rank compares its counts with those of rank 0, in order to detect a step that
/// failed on one rank only.
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
/// of RequestBatch::submit.
std::vector<RequestBatch::Id> submit_together(RequestBatch& batch, std::vector<Request> requests);

}  // namespace smelt::server
