// BatchFollower: the continuous batch of a rank other than the first. It has no clients. It receives the
// decisions of the first rank (turns.h), submits the same requests, and runs the same steps.
#pragma once

#include <functional>
#include <vector>

#include "compiler/server/turns.h"
#include "runtime/session/session.h"

namespace smelt::server {

/// Makes the requests of a completion's body, the same ones as at the first rank.
using MakeRequests = std::function<std::vector<Request>(const AskedCompletion&)>;

class BatchFollower {
 public:
  /// Throws what the constructor of ContinuousBatch throws. Requires: `session` outlives this object.
  BatchFollower(Session& session, const ContinuousBatchOptions& options)
      : session_(session), batch_(session, options) {}

  int64_t vocabulary() const { return batch_.vocabulary(); }
  /// Runs until the first rank sends its last turn (Turn::ends). Throws Error if the first rank is lost, or
  /// if this rank's batch differs from the first rank's.
  void run(const MakeRequests& make);

 private:
  void take(const AskedCompletion& asked, const MakeRequests& make);
  void forget_ended();

  Session& session_;
  ContinuousBatch batch_;
  std::vector<ContinuousBatch::Id> live_;  // requests that have not ended
};

}  // namespace smelt::server
