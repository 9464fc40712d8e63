// The hub: a thread of rank 0 that all ranks talk to over TCP. It hears only those who know the run's secret,
// gathers what ranks agree on, and tells all of them when one is lost.
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
  /// Waits, shortly, until every rank has read what was sent to it and is gone.
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
