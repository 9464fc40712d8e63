// The rounds that the hub gathers: each rank calls once, and when all have, each gets the result.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace smelt {

enum class RoundKind : uint8_t { agree, broadcast, gather, barrier };
constexpr uint8_t kLastRoundKind = static_cast<uint8_t>(RoundKind::barrier);

struct RoundCall {
  RoundKind kind = RoundKind::barrier;
  std::string name;  // for messages, and equal at all ranks
  std::string body;
};

struct RoundResult {
  bool is_good = true;
  std::string text;  // what all ranks get, or what went wrong
};

class Rounds {
 public:
  /// `describe` names a rank in messages.
  Rounds(int size, std::function<std::string(int rank)> describe);

  /// Records a rank's call, one per round; throws Error if the rank still waits for an earlier call.
  void call(int rank, RoundCall call);
  const std::optional<RoundCall>& call_of(int rank) const { return calls_[static_cast<size_t>(rank)]; }
  bool is_complete() const { return missing_ == 0; }
  /// Returns the result of a complete round; the next one begins.
  RoundResult finish();

 private:
  RoundResult result() const;
  RoundResult agree() const;

  std::function<std::string(int)> describe_;
  std::vector<std::optional<RoundCall>> calls_;
  size_t missing_;
};

std::string str(const RoundCall& call);  // "barrier 'checkpoint'"

}  // namespace smelt
