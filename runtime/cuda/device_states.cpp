#include "runtime/cuda/device_states.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/cpu/threads.h"
#include "runtime/session/shared_weights.h"

namespace smelt::cuda {
namespace {

constexpr int64_t kSmall = int64_t{64} << 10;  // travels as it lies: the driver copies it first

constexpr int64_t kPiece = int64_t{1} << 20;

/// Copies by all threads, because one thread alone copies slower than the bus.
void copy_part(const std::byte* from, std::span<std::byte> part) {
  const auto bytes = static_cast<int64_t>(part.size());
#pragma omp parallel for schedule(static) num_threads(bytes > kPiece ? team_threads() : 1)
  for (int64_t begin = 0; begin < bytes; begin += kPiece)
    std::memcpy(part.data() + begin, from + begin, static_cast<size_t>(std::min(kPiece, bytes - begin)));
}

void make_zeros(std::span<std::byte> part) {
  const auto bytes = static_cast<int64_t>(part.size());
#pragma omp parallel for schedule(static) num_threads(bytes > kPiece ? team_threads() : 1)
  for (int64_t begin = 0; begin < bytes; begin += kPiece)
    std::memset(part.data() + begin, 0, static_cast<size_t>(std::min(kPiece, bytes - begin)));
}

}  // namespace

DeviceStates::DeviceStates(const Device& device, const Plan& plan, Stream stream,
                           std::shared_ptr<const Allocator> allocator, const DeviceStates* owner)
    : stream_(stream), allocator_(std::move(allocator)), staging_(device, allocator_) {
  const std::vector<bool> weights = weight_states(plan);
  for (size_t i = 0; i < plan.states.size(); ++i) {
    State& made = states_.emplace_back();
    made.bytes = state_bytes(plan, plan.states[i]), made.resident = resident_bytes(plan, plan.states[i]);
    if (owner && weights[i]) {
      made.device = owner->states_[i].device, made.zero = false;
      continue;
    }
    if (plan.states[i].role == Role::stream)
      made.stream = pinned_block(device, made.bytes, allocator_);
    else
      made.device = std::make_shared<const DeviceBlock>(device_block(device, made.resident, allocator_));
    if (made.resident < made.bytes) made.host = pinned_block(device, made.bytes, allocator_);
    clear(static_cast<int>(i));
  }
}

DeviceStates::State& DeviceStates::at(int index) {
  if (index < 0 || index >= static_cast<int>(states_.size()))
    fail("state {}: expected one of the plan's {}", index, states_.size());
  return states_[static_cast<size_t>(index)];
}

SharedBlock DeviceStates::block(int index) const {
  const State& state = states_[static_cast<size_t>(index)];
  return {state.device, state.resident};
}

/// Waits for runs in progress, which may still write to the state.
DeviceStates::State& DeviceStates::at_rest(State& state) {
  check(driver().StreamSynchronize(stream_), "running the plan");
  return state;
}

std::span<std::byte> DeviceStates::peek(int index) {
  const State& state = at(index);
  if (!state.stream) fail("state {}: expected one of the role stream", index);
  return state.stream_bytes();
}

void DeviceStates::clear(int index) {
  State& state = at(index);
  if (state.stream) {
    std::ranges::fill(at_rest(state).stream_bytes(), std::byte{});
    return;
  }
  if (state.host) make_zeros(at_rest(state).host_bytes());
  check(driver().MemsetD8Async(state.device->get(), 0, static_cast<size_t>(state.resident), stream_),
        "clearing a state");
  state.newer = Newer::device, state.zero = true;
}

std::span<const std::byte> DeviceStates::read(int index) {
  State& state = at(index);
  if (state.stream) return at_rest(state).stream_bytes();
  if (state.host) return read_held(state);
  const auto size = static_cast<size_t>(state.bytes);
  if (state.newer != Newer::device) return state.mirror.bytes().first(size);
  const bool fresh = state.mirror.bytes().empty();
  if (fresh) state.mirror = Block(std::max<int64_t>(1, state.bytes), allocator_);
  if (!fresh || !state.zero) {
    check(driver().MemcpyDtoHAsync(state.mirror.data(), state.device->get(), size, stream_),
          "reading a state");
    check(driver().StreamSynchronize(stream_), "reading a state");
  }
  state.newer = Newer::neither;
  return state.mirror.bytes().first(size);
}

/// Reads a state; the host's part needs no copy.
std::span<const std::byte> DeviceStates::read_held(State& state) {
  if (state.newer == Newer::device) {
    if (state.resident > 0)
      check(driver().MemcpyDtoHAsync(state.host.get() + state.held(), state.device->get(),
                                     static_cast<size_t>(state.resident), stream_),
            "reading a state");
    at_rest(state).newer = Newer::neither;
  }
  return state.host_bytes();
}

std::span<std::byte> DeviceStates::write(int index) {
  State& state = at(index);
  if (state.stream) return at_rest(state).stream_bytes();
  read(index);
  state.newer = Newer::host, state.zero = false;
  if (state.host) return state.host_bytes();
  return state.mirror.bytes().first(static_cast<size_t>(state.bytes));
}

void DeviceStates::fill(int index, const Executor::MakePart& make) {
  State& state = at(index);
  if (state.stream) return make(0, at_rest(state).stream_bytes());
  if (state.host) {
    make(0, at_rest(state).host_bytes());
    state.newer = Newer::host, state.zero = false;
    return;
  }
  staging_.send(state.device->get(), state.bytes, make, stream_);
  note_written(index);
}

void DeviceStates::write_part(int index, int64_t begin, std::span<const std::byte> bytes) {
  State& state = at(index);
  if (state.stream || state.host) {
    std::ranges::copy(bytes, write(index).subspan(static_cast<size_t>(begin)).begin());
    return;
  }
  upload(index);
  staging_.send(
      state.device->get() + static_cast<DevicePointer>(begin), std::ssize(bytes),
      [&](int64_t from, std::span<std::byte> part) { copy_part(bytes.data() + from, part); }, stream_);
  note_written(index);
}

void DeviceStates::upload(int index) {
  State& state = at(index);
  if (state.newer != Newer::host) return;
  if (state.host) {
    check(driver().MemcpyHtoDAsync(state.device->get(), state.host.get() + state.held(),
                                   static_cast<size_t>(state.resident), stream_),
          "writing a state");
    at_rest(state).newer = Newer::neither;  // the host may write there again
    return;
  }
  const std::byte* from = state.mirror.data();
  if (state.bytes <= kSmall)
    check(driver().MemcpyHtoDAsync(state.device->get(), from, static_cast<size_t>(state.bytes), stream_),
          "writing a state");
  else
    staging_.send(
        state.device->get(), state.bytes,
        [&](int64_t begin, std::span<std::byte> part) { copy_part(from + begin, part); }, stream_);
  state.newer = Newer::neither;
}

void DeviceStates::upload_all() {
  for (size_t i = 0; i < states_.size(); ++i) upload(static_cast<int>(i));
}

void DeviceStates::note_written(int index) {
  State& state = at(index);
  state.newer = Newer::device, state.zero = false;
}

}  // namespace smelt::cuda
