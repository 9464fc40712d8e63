#include "runtime/cuda/peer_sum_kernel.h"

#include <fmt/format.h>

#include <string>

#include "runtime/cuda/device_text.h"

namespace smelt::cuda {

std::string_view peer_sum_text() {
  using Block = PeerSumBlock;
  static const std::string text = fmt::format(
      "enum : long long {{ kTicketsAt = {}, kStopAt = {}, kPeersAt = {}, kSlotsAt = {}, kBytes = {} }};\n{}",
      Block::kTicketsAt, Block::kStopAt, Block::kPeersAt, Block::kSlotsAt, Block::kBytes, device::kPeerSum);
  return text;
}

}  // namespace smelt::cuda
