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
  /// The thread's function: calls serve() until is_over().
  void run();
  /// Waits for data, and then accepts connections and processes messages.
  void serve();
  /// Waits until a connection has data, can send data, or a short time has passed.
  void wait();
  /// Accepts the waiting connections.
  void accept();
  /// Checks whether all ranks have joined in time, and sends heartbeats when they are due.
  void look_after();
  /// Returns whether the thread must end: the destructor runs, and no rank is connected or two seconds have
  /// passed.
  bool is_over();

  Socket listener_;
  HubMembers members_;             // ranks that have proved that they have the secret
  std::unique_ptr<HubDoor> door_;  // connections that have not
  Waker waker_;
  std::atomic<bool> is_ending_ = false;
  Clock::time_point end_by_,      // latest end of the thread; set after the destructor has begun
      heartbeat_at_,              // time of the next heartbeat
      looked_at_ = Clock::now();  // time of the last look_after()
  std::thread thread_;
};

}  // namespace smelt
