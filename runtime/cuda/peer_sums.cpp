#include "runtime/cuda/peer_sums.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/error.h"
#include "runtime/cuda/nvrtc.h"
#include "runtime/cuda/peer_choice.h"
#include "runtime/cuda/peer_sum_kernel.h"
#include "runtime/ranks/gathered.h"

namespace smelt::cuda {
namespace {

constexpr const char* kKernel = "smelt_peer_sum";
constexpr int64_t kThreads = 256, kMostBlocks = 128;
constexpr std::chrono::seconds kTrialLimit{5};

/// Returns the kernel's number of a type.
std::optional<int64_t> number_of(DType type) {
  if (type == DType::f32) return 0;
  if (type == DType::bf16) return 1;
  return type == DType::f16 ? std::optional<int64_t>(2) : std::nullopt;
}

template <typename T>
void upload(DevicePointer to, const std::vector<T>& values, Stream stream) {
  check(driver().MemcpyHtoDAsync(to, values.data(), values.size() * sizeof(T), stream),
        "writing to shared memory");
  check(driver().StreamSynchronize(stream), "writing to shared memory");
}

}  // namespace

std::unique_ptr<PeerSums> PeerSums::connect(const Device& device, Communicator& group) {
  if (!holds_at_all(group, peer_choice() != PeerChoice::nccl && group.size() <= PeerSumBlock::kMostRanks))
    return nullptr;
  std::unique_ptr<PeerSums> made(new PeerSums(device, group.size(), group.rank()));
  if (!holds_at_all(group, made->load()) || !made->reach(group) || !made->works(group)) return nullptr;
  return made;
}

PeerSums::PeerSums(const Device& device, int64_t ranks, int64_t rank)
    : device_(device),
      ranks_(ranks),
      rank_(rank),
      own_stream_(make_stream(device, StreamPriority::high)),
      stop_stream_(make_stream(device, StreamPriority::high)) {
  const int64_t bytes = PeerSumBlock::bytes(ranks);
  block_ = shared_block(device, bytes);
  check(driver().MemsetD8Async(block_.address(), 0, static_cast<size_t>(bytes), own_stream_.get()),
        "clearing slots");
  check(driver().StreamSynchronize(own_stream_.get()), "clearing slots");
}

PeerSums::~PeerSums() {
  device_.try_make_current();
  if (given_up_ && memory_) memory_->keep();
}

bool PeerSums::load() {
  try {
    const Cubin cubin =
        compile_cuda(CudaSource{std::string(peer_sum_text()), kKernel}, device_.info().compute_capability);
    Module module = nullptr;
    if (driver().ModuleLoadData(&module, cubin.bytes.data()) != 0) return false;
    module_ = ModuleOwner(module);
    return driver().ModuleGetFunction(&kernel_, module, kKernel) == 0;
  } catch (const Error&) {
    return false;
  }
}

bool PeerSums::reach(Communicator& group) {
  memory_ = PeerMemory::map(group, {block_});
  if (!memory_) return false;
  std::vector<DevicePointer> peers;
  for (int64_t rank = 0; rank < ranks_; ++rank)
    peers.push_back(rank == rank_ ? block_.address() : memory_->at(rank, block_.address()));
  upload(block_.address() + PeerSumBlock::kPeersAt, peers, own_stream_.get());
  return holds_at_all(group, true);
}

/// Tries one sum: a machine may map another GPU's memory and yet let no writes through.
bool PeerSums::works(Communicator& group) {
  const Stream stream = own_stream_.get();
  const DeviceBlock numbers = device_block(device_, 2 * sizeof(float));
  const DevicePointer to = numbers.get() + sizeof(float);
  upload(numbers.get(), std::vector{static_cast<float>(rank_ + 1), 0.0F}, stream);
  run({.ranks = ranks_, .from = numbers.get(), .to = to, .elements = 1}, stream);
  const EventOwner end = make_event(device_);
  check(driver().EventRecord(end.get(), stream), "a sum over GPUs");
  const bool ended = ends_in_time(end.get());
  if (!ended) give_up();
  float sum = 0;
  check(driver().StreamSynchronize(stream), "a sum over GPUs");
  check(driver().MemcpyDtoHAsync(&sum, to, sizeof sum, stream), "a sum over GPUs");
  check(driver().StreamSynchronize(stream), "a sum over GPUs");
  const int64_t expected = ranks_ * (ranks_ + 1) / 2;
  return holds_at_all(group, ended && sum == static_cast<float>(expected));
}

bool PeerSums::ends_in_time(Event event) {
  const auto latest = std::chrono::steady_clock::now() + kTrialLimit;
  while (driver().EventQuery(event) == kNotReady) {
    if (std::chrono::steady_clock::now() > latest) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

bool PeerSums::takes(const CollectiveLaunch& l) const {
  return l.kind == CollectiveKind::all_reduce && l.ranks == ranks_ && l.rows == 1 && l.elements > 0 &&
         l.waited_at_once && number_of(l.dtype) && l.part_bytes() <= PeerSumBlock::most_bytes(ranks_);
}

void PeerSums::run(const CollectiveLaunch& l, Stream stream) const {
  DevicePointer from = l.from, to = l.to, block = block_.address();
  int64_t elements = l.elements, type = *number_of(l.dtype), sum = l.sum == CollectiveSum::max ? 1 : 0;
  int64_t rank = rank_, ranks = ranks_;
  void* arguments[] = {&from, &to, &block, &elements, &type, &sum, &rank, &ranks};
  const int64_t vectors = (l.part_bytes() + 7) / 8;
  const int64_t blocks = std::clamp<int64_t>((vectors + kThreads - 1) / kThreads, 1, kMostBlocks);
  check(driver().LaunchKernel(kernel_, static_cast<unsigned>(blocks), 1, 1, kThreads, 1, 1, 0, stream,
                              arguments, nullptr),
        "a sum over GPUs");
}

void PeerSums::give_up() noexcept {
  given_up_ = true;
  device_.try_make_current();
  driver().MemsetD32Async(block_.address() + PeerSumBlock::kStopAt, 1, 1, stop_stream_.get());
}

}  // namespace smelt::cuda
