#include "runtime/ranks/hub.h"

#include <poll.h>

#include <exception>
#include <utility>
#include <vector>

#include "runtime/ranks/hub_door.h"
#include "runtime/ranks/thread_without_signals.h"
#include "runtime/system/log.h"

namespace smelt {
namespace {

constexpr double kSecondsToEnd = 2;
constexpr double kNoticedDelay = 1;       // seconds that the loop was late
constexpr size_t kStrangersAtLeast = 64;  // in addition to one per rank
constexpr int kPollMilliseconds = 50;

}  // namespace

Hub::Hub(Socket listener, int size, std::string secret, HubTimeouts timeouts)
    : listener_(std::move(listener)),
      members_(size, timeouts),
      door_(std::make_unique<HubDoor>(std::move(secret), kStrangersAtLeast + static_cast<size_t>(size),
                                      [this](const Introduction& who, Connection& connection) {
                                        return members_.admit(who, connection);
                                      })),
      thread_(thread_without_signals([this] { run(); })) {}

Hub::~Hub() {
  is_ending_ = true;
  waker_.wake();
  thread_.join();
}

/// If memory runs out, the hub stops sending, and the ranks notice that.
void Hub::run() {
  try {
    while (!is_over()) serve();
  } catch (const std::exception& fault) {
    log(LogLevel::warning, "the hub of rank 0 ends: {}", fault.what());
  }
}

void Hub::serve() {
  wait();
  accept();
  door_->serve();
  members_.serve();
  look_after();
}

bool Hub::is_over() {
  if (!is_ending_) return false;
  if (end_by_ == Clock::time_point()) end_by_ = Clock::now() + seconds(kSecondsToEnd);
  return members_.are_all_gone() || Clock::now() > end_by_;
}

void Hub::wait() {
  std::vector<pollfd> polled = {{listener_.descriptor(), POLLIN, 0}, {waker_.descriptor(), POLLIN, 0}};
  for (const int stranger : door_->descriptors()) polled.push_back({stranger, POLLIN, 0});
  for (const auto& [descriptor, has_unsent] : members_.waits())
    polled.push_back({descriptor, static_cast<short>(has_unsent ? POLLIN | POLLOUT : POLLIN), 0});
  ::poll(polled.data(), polled.size(), kPollMilliseconds);
  waker_.reset();
}

void Hub::accept() {
  while (auto socket = accept_from(listener_)) door_->accept(std::move(*socket));
}

void Hub::look_after() {
  const auto now = Clock::now(), before = std::exchange(looked_at_, now);
  if (now - before > seconds(kNoticedDelay)) members_.forgive_silence(now - before);
  members_.check_joined(door_->last_refusal());
  if (now < heartbeat_at_) return;
  heartbeat_at_ = now + seconds(kSecondsBetweenHeartbeats);
  members_.send_heartbeats();
}

}  // namespace smelt
