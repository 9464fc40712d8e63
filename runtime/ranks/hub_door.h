// Connections to the hub that have not yet proved that they know the run's secret.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "runtime/ranks/connection.h"
#include "runtime/ranks/handshake.h"

namespace smelt {

class HubDoor {
 public:
  /// Called with a stranger that has proved itself. Returns why it may not come in; empty: it has.
  using Admit = std::function<std::string(const Introduction& who, Connection& connection)>;

  HubDoor(std::string secret, size_t most_strangers, Admit admit);

  void accept(Socket socket);
  /// Descriptors to poll for reading.
  std::vector<int> descriptors() const;
  /// Serves all strangers; closes connections with malformed messages, no message for long, or another
  /// secret.
  void serve();
  /// Returns the last one that proved the secret and was refused nevertheless; empty if there was none.
  const std::string& last_refusal() const { return last_refusal_; }

 private:
  struct Stranger {
    Connection connection;
    HubHandshake handshake;
    Clock::time_point deadline;
  };
  bool is_done(Stranger& stranger);
  bool refuse(Stranger& stranger, const std::string& why);

  std::string secret_;
  size_t most_strangers_;
  Admit admit_;
  std::deque<Stranger> strangers_;
  std::string last_refusal_;
};

}  // namespace smelt
