// Step broadcast from the first rank, which has the HTTP server, to the other ranks that serve one model.
// Each broadcast has the new requests and the cancelled ones, and comes before all ranks make the same step.
// So all ranks have the same batch, and caches that match.
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
  uint32_t seed = 0;  // of its random numbers, drawn where the body names none
};

struct Turn {
  std::vector<AskedCompletion> asked;          // in order; each is taken whole or not at all
  std::vector<ContinuousBatch::Id> cancelled;  // afterwards
  std::string choices;  // Executor::choices of the first rank where they have changed; else empty
  bool ends = false;    // nothing follows
};
/// Bytes for parse_turn, which throws Error where they are none of to_bytes'.
std::string to_bytes(const Turn& turn);
Turn parse_turn(std::string_view bytes);

/// All ranks call it once a turn, from the thread that runs the session. `counts`: of the rank's own batch,
/// which a rank compares with the first one's: a step that failed at one rank alone is found there.
class Turns {
 public:
  /// `ranks` outlives it.
  explicit Turns(RankGroups& ranks) : ranks_(ranks) {}

  void tell(const Turn& turn, const ContinuousBatchCounts& counts);
  /// Throws Error where the batch is not as the first rank's.
  Turn hear(const ContinuousBatchCounts& counts);

 private:
  RankGroups& ranks_;
};

/// All of the requests or none: throws what ContinuousBatch::submit throws.
std::vector<ContinuousBatch::Id> submit_together(ContinuousBatch& batch, std::vector<Request> requests);

}  // namespace smelt::server
