#include "compiler/server/batch_service.h"

#include <utility>

namespace smelt::server {

std::shared_ptr<Mailbox> BatchService::submit(std::vector<Request> requests, AskedCompletion asked) {
  const auto mailbox = hand_over(std::move(requests), std::move(asked));
  try {
    mailbox->wait_accepted();
  } catch (...) {
    mailbox->abandon();
    throw;
  }
  return mailbox;
}

}  // namespace smelt::server
