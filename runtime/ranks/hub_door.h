// Connections to the hub, the thread of rank 0's process to which all ranks of a run connect (hub.h). The
// connections in this file have not yet proved that they have the run's secret. They are called strangers.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/handshake.h"

namespace smelt {

/// The connections of all strangers. It authenticates them, and gives those of ranks to a callback.
class HubDoor {
 public:
  /// Function that is called when a stranger has proved that it has the secret. It takes over the connection
  /// and returns an empty text, or returns the reason why the rank is refused.
  using Admit = std::function<std::string(const Introduction& who, Connection& connection)>;

  /// `most_strangers` is the largest number of strangers at a time.
  HubDoor(std::string secret, size_t most_strangers, Admit admit);

  /// Adds the connection `socket` as a stranger and sends it a challenge. If there are then more than
  /// `most_strangers`, closes the connection of the oldest stranger.
  void accept(Socket socket);
  /// Returns the descriptors to poll for reading.
  std::vector<int> descriptors() const;
  /// Reads the messages of all strangers. Closes connections that sent a malformed message or have another
  /// secret, and those that have not proved the secret within five seconds.
  void serve();
  /// Returns the reason for the last refusal of a rank that had proved the secret; empty if there was none.
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  /// A connection, its handshake, and the time until which it must prove the secret.
  struct Stranger {
    Connection connection;
    HubHandshake handshake;
    Clock::time_point deadline;
  };
  /// Reads a stranger's messages. Returns whether it is no longer a stranger: admitted, refused or closed.
  bool is_done(Stranger& stranger);
  bool refuse(Stranger& stranger, const std::string& why);

  std::string secret_;
  size_t most_strangers_;
  Admit admit_;
  std::deque<Stranger> strangers_;
  std::string last_refusal_;
};

}  // namespace smelt
