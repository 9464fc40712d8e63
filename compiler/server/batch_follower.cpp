#include "compiler/server/batch_follower.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace smelt::server {

void BatchFollower::run(const MakeRequests& make) {
  Turns turns(*session_.ranks());
  for (Turn turn = turns.hear(batch_.counts()); !turn.ends; turn = turns.hear(batch_.counts())) {
    if (!turn.choices.empty()) session_.executor().restore_choices(turn.choices);
    for (const AskedCompletion& asked : turn.asked) take(asked, make);
    for (const ContinuousBatch::Id id : turn.cancelled) batch_.cancel(id);
    batch_.step();
    forget_ended();
  }
}

/// Takes a request. If the batch refuses it here, the first rank has refused it, too, and answers for it.
void BatchFollower::take(const AskedCompletion& asked, const MakeRequests& make) {
  try {
    const std::vector<ContinuousBatch::Id> ids = submit_together(batch_, make(asked));
    live_.insert(live_.end(), ids.begin(), ids.end());
  } catch (const Error&) {
    return;
  }
}

void BatchFollower::forget_ended() {
  std::erase_if(live_, [&](ContinuousBatch::Id id) { return batch_.poll(id).finish != Finish::none; });
}

}  // namespace smelt::server
