// The hub: a thread of rank 0's process to which all ranks of a run connect over TCP. It accepts only
// connections that prove that they have the run's secret (handshake.h). It gathers the ranks' calls of each
// round (rounds.h) and sends the result to all ranks. If a rank is lost, the hub reports this to all others.
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
  /// Starts the thread, which accepts connections of `size` ranks on `listener`.
  Hub(Socket listener, int size, std::string secret, HubTimeouts timeouts);
  Hub(const Hub&) = delete;
  Hub& operator=(const Hub&) = delete;
  /// Waits until the connections of all ranks have ended, but at most two seconds, and ends the thread.
  ~Hub();

 private:
  void run();
  void serve();
  void wait();
  void accept();
  /// Checks whether all ranks have joined in time, and sends heartbeats.
  void look_after();
  bool is_over();

  Socket listener_;
  HubMembers members_;
  std::unique_ptr<HubDoor> door_;
  Waker waker_;
  std::atomic<bool> is_ending_ = false;
  /// Times: the latest end of the thread, set when the destructor runs; the next heartbeat; the last
  /// look_after.
  Clock::time_point end_by_, heartbeat_at_, looked_at_ = Clock::now();
  std::thread thread_;
};

}  // namespace smelt
