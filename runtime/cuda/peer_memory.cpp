#include "runtime/cuda/peer_memory.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "runtime/ranks/gathered.h"
#include "runtime/ranks/shared_region.h"

namespace smelt::cuda {
namespace {

using Host = std::array<char, 64>;

Host own_host() {
  Host host = {};
  host_identity().copy(host.data(), host.size() - 1);
  return host;
}

bool are_of_one_host(Communicator& group) {
  const std::vector<Host> hosts = gathered(group, own_host());
  return std::ranges::all_of(hosts, [&](const Host& host) { return host == hosts.front(); });
}

void keep_for_ever(std::vector<SharedBlock> blocks) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::vector<SharedBlock>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(blocks));
}

}  // namespace

bool driver_maps_peers() {
  const Driver& d = driver();
  return d.IpcGetMemHandle && d.IpcOpenMemHandle && d.IpcCloseMemHandle;
}

SharedBlock shared_block(const Device& device, int64_t bytes,
                         const std::shared_ptr<const Allocator>& allocator) {
  return {std::make_shared<const DeviceBlock>(device_block(device, bytes, allocator)), bytes};
}

std::unique_ptr<PeerMemory> PeerMemory::map(Communicator& group, std::vector<SharedBlock> blocks) {
  // An application's allocator may hand out parts of larger blocks, and the driver maps whole ones.
  const bool of_driver =
      std::ranges::all_of(blocks, [](const SharedBlock& b) { return b.memory->of_driver(); });
  const bool of_one_host = are_of_one_host(group);
  if (!holds_at_all(group, of_one_host && of_driver && driver_maps_peers())) return nullptr;
  std::unique_ptr<PeerMemory> made(new PeerMemory(std::move(blocks)));
  return holds_at_all(group, made->open(group)) ? std::move(made) : nullptr;
}

/// The driver maps no block for the process that has made it: ranks that are threads of one share nothing.
bool PeerMemory::open(Communicator& group) {
  bool works = true;
  opened_.resize(static_cast<size_t>(group.size()));
  for (const SharedBlock& block : blocks_) {
    IpcHandle own;
    works &= driver().IpcGetMemHandle(&own, block.address()) == 0;
    const std::vector<IpcHandle> handles = gathered(group, own);
    for (size_t rank = 0; rank < handles.size() && works; ++rank) {
      if (static_cast<int64_t>(rank) == group.rank()) continue;
      DevicePointer mapped = 0;
      works = driver().IpcOpenMemHandle(&mapped, handles[rank], kMapForPeers) == 0;
      if (works) opened_[rank].push_back(mapped);
    }
  }
  return works;
}

PeerMemory::~PeerMemory() {
  if (kept_) {
    keep_for_ever(std::move(blocks_));
    return;
  }
  for (const std::vector<DevicePointer>& of_rank : opened_)
    for (const DevicePointer mapped : of_rank) driver().IpcCloseMemHandle(mapped);
}

const SharedBlock* PeerMemory::find(DevicePointer begin, int64_t bytes) const {
  const auto has = [&](const SharedBlock& block) {
    return begin >= block.address() && begin + static_cast<DevicePointer>(bytes) <=
                                           block.address() + static_cast<DevicePointer>(block.bytes);
  };
  const auto found = std::ranges::find_if(blocks_, has);
  return found == blocks_.end() ? nullptr : &*found;
}

DevicePointer PeerMemory::at(int64_t rank, DevicePointer own) const {
  const SharedBlock* block = find(own, 1);
  return opened_[static_cast<size_t>(rank)][static_cast<size_t>(block - blocks_.data())] + own -
         block->address();
}

}  // namespace smelt::cuda
