// The hub: a thread of rank 0 to which all ranks connect over TCP. It accepts only connections that prove
// knowledge of the run's secret. It gathers the calls of each round (rounds.h) and sends the result to all
// ranks. If a rank is lost, it reports this to all others.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "runtime/ranks/hub_members.h"
#include "runtime/ranks/socket.h"

namespace smelt {

class HubDoor;

constexpr double kSecondsBetweenHeartbeats = 0.2;

class Hub {
 public:
  Hub(Socket listener, int size, std::string secret, HubTimeouts timeouts);
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  /// Waits, for a short time, until every rank has read its messages and left.
  ~Hub();

 private:
  void run();
  void serve();
  void wait();
  void accept();
  void look_after();
  bool is_over();

  Socket listener_;
  HubMembers members_;
  std::unique_ptr<HubDoor> door_;
  Waker waker_;
  std::atomic<bool> is_ending_ = false;
  Clock::time_point end_by_, heartbeat_at_, looked_at_ = Clock::now();
  std::thread thread_;
};

}  // namespace smelt
