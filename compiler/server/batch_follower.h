// The batch of a rank without clients: it takes the requests that the first rank takes, and makes the same
// steps.
#pragma once

#include <functional>
#include <vector>

#include "compiler/server/turns.h"
#include "runtime/session/session.h"

namespace smelt::server {

/// The requests of a body, the same as at the first rank.
using MakeRequests = std::function<std::vector<Request>(const AskedCompletion&)>;

class BatchFollower {
 public:
  /// Throws what ContinuousBatch throws. `session` outlives it.
  BatchFollower(Session& session, const ContinuousBatchOptions& options)
      : session_(session), batch_(session, options) {}

  int64_t vocabulary() const { return batch_.vocabulary(); }
  /// Runs until the first rank ends. Throws Error where that rank is lost, or where this rank's batch differs
  /// from that rank's.
  void run(const MakeRequests& make);

 private:
  void take(const AskedCompletion& asked, const MakeRequests& make);
  void forget_ended();

  Session& session_;
  ContinuousBatch batch_;
  std::vector<ContinuousBatch::Id> live_;
};

}  // namespace smelt::server
