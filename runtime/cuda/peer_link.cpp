#include "runtime/cuda/peer_link.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cuda/device_rates.h"
#include "runtime/cuda/peer_memory.h"
#include "runtime/ranks/shared_region.h"

namespace smelt::cuda {
namespace {

constexpr int64_t kAlignment = 256;
/// The one that is filled, and the one that is emptied.
constexpr uint32_t kSlots = 2;
/// Offsets before the slots: the word that the other end writes, and the word that is copied there.
constexpr DevicePointer kCount = 0, kCopiedCount = 128;
constexpr int64_t kWordsBytes = kAlignment;
/// CU_STREAM_WAIT_VALUE_GEQ, in the arithmetic of 32 bits that wraps, and CU_STREAM_WAIT_VALUE_FLUSH.
constexpr unsigned kWaitAtLeast = 0, kWaitFlush = 1U << 30;

/// Nothing frees it.
void leave(DeviceBlock block) {
  static std::mutex mutex;
  static auto& left = *new std::vector<DeviceBlock>;
  const std::lock_guard lock(mutex);
  left.push_back(std::move(block));
}

template <typename T>
T exchanged(Communicator& group, const T& own, int64_t other, bool first) {
  T theirs{};
  const auto out = std::as_bytes(std::span(&own, 1));
  const auto in = std::as_writable_bytes(std::span(&theirs, 1));
  if (first) group.send(out, other);
  group.receive(in, other);
  if (!first) group.send(out, other);
  return theirs;
}

}  // namespace

/// Data that the two ends exchange.
struct PeerLink::End {
  std::array<char, 64> host = {};
  IpcHandle handle = {};
  bool can = false;  // whether this end has what it needs
};

int64_t PeerLink::padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

std::unique_ptr<PeerLink> PeerLink::connect(const Device& device, Communicator& group, int64_t from,
                                            int64_t to, int64_t most_bytes) {
  const bool sends = group.rank() == from;
  const int64_t other = sends ? to : from;
  const int64_t bytes = std::max(most_bytes, exchanged(group, most_bytes, other, sends));
  std::unique_ptr<PeerLink> link(new PeerLink(device, bytes));
  link->sends_ = sends;
  const bool has_memory = link->take_memory(!sends);
  End own = has_memory ? link->end_of_this() : End{};
  const End theirs = exchanged(group, own, other, sends);
  const bool reached = own.can && theirs.can && own.host == theirs.host && link->reach(theirs);
  const bool both = exchanged(group, reached, other, sends) && reached;
  return both ? std::move(link) : nullptr;
}

PeerLink::PeerLink(const Device& device, int64_t most_bytes)
    : device_(device), slot_bytes_(padded(most_bytes)) {}

bool PeerLink::take_memory(bool slots) {
  if (!driver_maps_peers() || !driver().StreamWaitValue32) return false;
  block_ = try_device_block(device_, kWordsBytes + (slots ? kSlots * slot_bytes_ : 0));
  if (!block_) return false;
  int flushes = 0;
  driver().DeviceGetAttribute(&flushes, kFlushesRemoteWrites, device_.info().ordinal);
  wait_flags_ = kWaitAtLeast | (flushes ? kWaitFlush : 0);
  giving_up_ = make_stream(device_, StreamPriority::high);
  check(driver().MemsetD8Async(block_.get(), 0, kWordsBytes, giving_up_.get()), "making a link of two GPUs");
  check(driver().StreamSynchronize(giving_up_.get()), "making a link of two GPUs");
  return true;
}

PeerLink::~PeerLink() {
  device_.try_make_current();
  if (given_up_)
    leave(std::move(block_));
  else if (mapped_)
    driver().IpcCloseMemHandle(other_);
}

PeerLink::End PeerLink::end_of_this() const {
  End end;
  host_identity().copy(end.host.data(), end.host.size() - 1);
  end.can = driver().IpcGetMemHandle(&end.handle, block_.get()) == 0;
  return end;
}

/// The driver maps no block for the process that has made it: ranks that are threads of one have no such
/// link.
bool PeerLink::reach(const End& other) {
  mapped_ = driver().IpcOpenMemHandle(&other_, other.handle, kMapForPeers) == 0;
  return mapped_;
}

void PeerLink::require_room(std::span<const Piece> pieces) const {
  int64_t bytes = 0;
  for (const Piece& piece : pieces) bytes += padded(piece.bytes);
  if (bytes > slot_bytes_)
    fail("a message of {} bytes between two stages: expected {} at most", bytes, slot_bytes_);
}

/// Returns the slot of the next message.
DevicePointer PeerLink::slot(DevicePointer block) const {
  return block + kWordsBytes + static_cast<DevicePointer>(done_ % kSlots * slot_bytes_);
}

void PeerLink::send(std::span<const Piece> pieces, Stream stream) {
  require_room(pieces);
  if (done_ >= kSlots) wait_for(done_ - kSlots + 1, stream);
  DevicePointer to = slot(other_);
  for (const Piece& piece : pieces) {
    if (piece.bytes > 0)
      check(driver().MemcpyDtoDAsync(to, piece.address, static_cast<size_t>(piece.bytes), stream),
            "copying to another GPU");
    to += static_cast<DevicePointer>(padded(piece.bytes));
  }
  tell(++done_, stream);
}

void PeerLink::receive(std::span<const Piece> pieces, Stream stream) {
  require_room(pieces);
  wait_for(done_ + 1, stream);
  DevicePointer from = slot(block_.get());
  for (const Piece& piece : pieces) {
    if (piece.bytes > 0)
      check(driver().MemcpyDtoDAsync(piece.address, from, static_cast<size_t>(piece.bytes), stream),
            "taking what another GPU has sent");
    from += static_cast<DevicePointer>(padded(piece.bytes));
  }
  tell(++done_, stream);
}

/// Waits for a count. The flush makes earlier writes visible on devices that could reorder them with the
/// word.
void PeerLink::wait_for(uint32_t count, Stream stream) {
  check(driver().StreamWaitValue32(stream, block_.get() + kCount, count, wait_flags_),
        "waiting for another GPU");
}

/// Writes a count. Copies of one stream are ordered, so the word arrives after the data that it counts.
void PeerLink::tell(uint32_t count, Stream stream) {
  check(driver().MemsetD32Async(block_.get() + kCopiedCount, count, 1, stream), "telling another GPU");
  check(driver().MemcpyDtoDAsync(other_ + kCount, block_.get() + kCopiedCount, sizeof count, stream),
        "telling another GPU");
}

/// The receiver's last words have come then; its own last wait was for all that the sender copies.
void PeerLink::finish(Stream stream) noexcept {
  if (sends_ && done_ > 0) driver().StreamWaitValue32(stream, block_.get() + kCount, done_, wait_flags_);
}

/// Ends all waits: writes a count that is far ahead, within the reach of the wrapping comparison.
void PeerLink::give_up() noexcept {
  constexpr uint32_t kFarAhead = 1U << 30;
  given_up_ = true;
  device_.try_make_current();
  driver().MemsetD32Async(block_.get() + kCount, done_ + kFarAhead, 1, giving_up_.get());
  driver().StreamSynchronize(giving_up_.get());
}

}  // namespace smelt::cuda
