// BatchFollower runs the continuous batch of a rank other than the first, if several ranks serve one model.
// Such a rank has no HTTP clients. The first rank broadcasts its new and cancelled requests (turns.h). The
// follower submits the same requests to its own batch, and runs the same steps.
#pragma once

#include <functional>
#include <vector>

#include "compiler/server/turns.h"
#include "runtime/engine/serving/continuous_batch.h"
#include "runtime/session/session.h"

namespace smelt::server {

/// Function that makes the batch's requests from the body of an HTTP request. The first rank makes its
/// requests in the same way.
using MakeRequests = std::function<std::vector<Request>(const AskedCompletion&)>;

class BatchFollower {
 public:
  /// Throws what the constructor of ContinuousBatch throws. Requires: `session` outlives this object.
  BatchFollower(Session& session, const ContinuousBatchOptions& options)
      : session_(session), batch_(session, options) {}

  int64_t vocabulary() const { return batch_.vocabulary(); }
  size_t capacity() const { return batch_.capacity(); }
  /// Runs the steps of the batch until the first rank sends its last broadcast (Turn::ends). Throws Error if
  /// the first rank is lost, or if this rank's batch differs from the first rank's.
  void run(const MakeRequests& make);

 private:
  /// Submits the requests of one body, and adds their ids to live_.
  void take(const AskedCompletion& asked, const MakeRequests& make);
  /// Removes the requests that have ended from live_.
  void forget_ended();

  Session& session_;
  ContinuousBatch batch_;
  std::vector<ContinuousBatch::Id> live_;  // requests that have not ended
};

}  // namespace smelt::server
