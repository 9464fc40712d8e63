#include "runtime/cuda/peer_copies.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <system_error>

#include "runtime/base/error.h"
#include "runtime/cuda/capture.h"
#include "runtime/cuda/device_rates.h"
#include "runtime/cuda/peer_choice.h"
#include "runtime/ranks/gathered.h"

namespace smelt::cuda {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
/// The driver takes up to 255 operations at once: three for each other rank.
constexpr int64_t kMostRanks = 64;
/// Bytes between words, and bytes of their block, which is separate because the driver maps whole blocks.
constexpr int64_t kWordDistance = 128, kBlockBytes = 2 << 20;

/// Returns the least bytes of a collective that is done by copies.
int64_t least_bytes(PeerChoice choice) {
  if (choice == PeerChoice::nccl) return kNever;
  return choice == PeerChoice::copies ? 1 : PeerCopies::kLeastBytes;
}

PeerCopies::Parts parts_of(PeerChoice choice) {
  if (choice == PeerChoice::copies) return PeerCopies::Parts::always;
  return choice == PeerChoice::whole ? PeerCopies::Parts::never : PeerCopies::Parts::where_faster;
}

WordOperation written(DevicePointer word, uint32_t value) {
  return {.kind = WordOperation::kWrite, .word = word, .value = value};
}

Driver::Code give(const std::vector<WordOperation>& operations, Stream stream) {
  std::vector<WordOperation> given = operations;
  return driver().StreamBatchMemOp(stream, static_cast<unsigned>(given.size()), given.data(), 0);
}

/// Copies strided rows of `bytes` bytes between any two GPUs.
void copy_rows(DevicePointer to, int64_t to_pitch, DevicePointer from, int64_t from_pitch, int64_t bytes,
               int64_t rows, Stream stream) {
  const auto size = static_cast<size_t>(bytes);
  if (rows == 1 || (to_pitch == bytes && from_pitch == bytes))
    return check(driver().MemcpyDtoDAsync(to, from, size * static_cast<size_t>(rows), stream),
                 "copying to another GPU");
  Copy2D copy;
  copy.from.memory = copy.to.memory = Copy2D::kUnified;
  copy.from.device = from, copy.from.pitch = static_cast<size_t>(from_pitch);
  copy.to.device = to, copy.to.pitch = static_cast<size_t>(to_pitch);
  copy.width = size, copy.rows = static_cast<size_t>(rows);
  check(driver().Memcpy2DAsync(&copy, stream), "copying rows to another GPU");
}

}  // namespace

std::unique_ptr<PeerCopies> PeerCopies::connect(const Device& device, Communicator& group,
                                                std::vector<SharedBlock> blocks) {
  const PeerChoice choice = peer_choice();
  std::unique_ptr<PeerCopies> made(new PeerCopies(device, group.size(), group.rank()));
  made->least_bytes_ = std::ranges::max(gathered(group, least_bytes(choice)));
  made->parts_ = parts_of(choice);
  const bool wanted = holds_at_all(group, made->least_bytes_ < kNever && made->can_meet());
  if (wanted && made->reach(group, std::move(blocks)) && made->hears_all(group)) return made;
  if (choice == PeerChoice::copies)
    fail_with(Status::unavailable,
              "SMELT_GATHERS is 'copies': expected GPUs of processes of one host that write to each other's "
              "memory, but not all {} of these do; leave it out, and NCCL gathers",
              group.size());
  return nullptr;
}

PeerCopies::PeerCopies(const Device& device, int64_t ranks, int64_t rank)
    : device_(device), ranks_(ranks), rank_(rank), own_stream_(make_stream(device, StreamPriority::high)) {
  words_ = shared_block(device, kBlockBytes);
  check(driver().MemsetD8Async(words_.address(), 0, kBlockBytes, own_stream_.get()), "clearing words");
  check(driver().StreamSynchronize(own_stream_.get()), "clearing words");
}

/// Returns whether the driver has the required functions, also in graphs.
bool PeerCopies::can_meet() const {
  if (!driver().StreamBatchMemOp || ranks_ > kMostRanks) return false;
  try {
    const Stream stream = own_stream_.get();
    captured(stream, [&] { check(give({written(words_.address(), 0)}, stream), "writing a word"); });
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool PeerCopies::reach(Communicator& group, std::vector<SharedBlock> blocks) {
  blocks.push_back(words_);
  memory_ = PeerMemory::map(group, std::move(blocks));
  if (memory_) make_operations();
  return memory_ != nullptr;
}

/// Returns the address of this rank's word that the other rank sets to 1.
DevicePointer PeerCopies::word(News news, int64_t of_rank) const {
  const auto place = (static_cast<int64_t>(news) * ranks_ + of_rank) * kWordDistance;
  return words_.address() + static_cast<DevicePointer>(place);
}

void PeerCopies::make_operations() {
  int flushes = 0;
  driver().DeviceGetAttribute(&flushes, kFlushesRemoteWrites, device_.info().ordinal);
  const unsigned flags = WordOperation::kEqual | (flushes ? WordOperation::kFlush : 0);
  for (const News news : {News::destination_is_free, News::parts_have_arrived}) {
    std::vector<WordOperation>&tell = tell_[static_cast<size_t>(news)],
    &wait = wait_[static_cast<size_t>(news)];
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      if (rank == rank_) continue;
      const DevicePointer own = word(news, rank);
      tell.push_back(written(memory_->at(rank, word(news, rank_)), 1));
      wait.push_back({.kind = WordOperation::kWait, .word = own, .value = 1, .flags = flags});
      wait.push_back(written(own, 0));
    }
  }
}

/// A trial: a machine may map another GPU's memory and yet let no writes through.
bool PeerCopies::hears_all(Communicator& group) {
  const Stream stream = own_stream_.get();
  bool works = true;
  std::vector<WordOperation> clear;
  for (size_t news = 0; news < kKindsOfNews; ++news) works &= give(tell_[news], stream) == 0;
  works &= driver().StreamSynchronize(stream) == 0;
  holds_at_all(group, works);  // all have told
  for (const News news : {News::destination_is_free, News::parts_have_arrived})
    for (int64_t rank = 0; rank < ranks_; ++rank) {
      uint32_t heard = 0;
      check(driver().MemcpyDtoHAsync(&heard, word(news, rank), sizeof heard, stream), "reading a word");
      check(driver().StreamSynchronize(stream), "reading a word");
      works &= heard == (rank == rank_ ? 0 : 1);
      clear.push_back(written(word(news, rank), 0));
    }
  check(give(clear, stream), "clearing words");
  check(driver().StreamSynchronize(stream), "clearing words");
  return holds_at_all(group, works);
}

PeerCopies::~PeerCopies() {
  device_.try_make_current();
  ending_ = {};
  if (given_up_ && memory_) memory_->keep();
}

bool PeerCopies::takes(const CollectiveLaunch& l) const {
  const int64_t row = l.part_bytes() * l.ranks;
  if (!l.writes_parts() || !l.same_place || l.ranks != ranks_ || l.rows < 1 || l.elements < 1) return false;
  return row * l.rows >= least_bytes_ &&
         memory_->holds(l.to, (l.rows - 1) * l.to_stride * size_of(l.dtype) + row);
}

void PeerCopies::copy_own(const CollectiveLaunch& launch, Stream stream) const {
  copy(launch, rank_, launch.to, stream);
}

/// `to` is the destination of that rank, which has a place for this rank's part.
void PeerCopies::copy(const CollectiveLaunch& l, int64_t to_rank, DevicePointer to, Stream stream) const {
  const int64_t part = l.part_bytes(), bytes = size_of(l.dtype);
  const int64_t taken = l.kind == CollectiveKind::all_to_all ? to_rank : 0;
  copy_rows(to + static_cast<DevicePointer>(rank_ * part), l.to_stride * bytes,
            l.from + static_cast<DevicePointer>(taken * part), l.from_stride * bytes, part, l.rows, stream);
}

/// Each rank begins with the rank after it, so that no two send to the same one at first.
void PeerCopies::exchange(const CollectiveLaunch& launch, Stream stream) const {
  signal_and_wait(News::destination_is_free, stream);
  for (int64_t i = 1; i < ranks_; ++i) {
    const int64_t other = (rank_ + i) % ranks_;
    copy(launch, other, memory_->at(other, launch.to), stream);
  }
  signal_and_wait(News::parts_have_arrived, stream);
}

void PeerCopies::exchange_in_parts(const CollectiveLaunch& launch, const PartEvents& events,
                                   Stream stream) const {
  signal_and_wait(News::destination_is_free, stream);
  for (int64_t i = 1; i < ranks_; ++i) {
    const int64_t to = (rank_ + i) % ranks_, from = (rank_ - i + ranks_) % ranks_;
    if (events.before_copy) events.before_copy(to);
    copy(launch, to, memory_->at(to, launch.to), stream);
    tell_and_wait_for_part(to, from, stream);
    if (events.has_arrived) events.has_arrived(from);
  }
}

std::vector<int64_t> PeerCopies::sent() const {
  std::vector<int64_t> order;
  for (int64_t i = 1; i <= ranks_; ++i) order.push_back((rank_ + i) % ranks_);
  return order;
}

std::vector<int64_t> PeerCopies::arriving() const {
  std::vector<int64_t> order = sent();
  std::ranges::reverse(order);
  return order;
}

/// Place of another rank's operations in `tell_`.
size_t PeerCopies::among_others(int64_t rank) const {
  return static_cast<size_t>(rank < rank_ ? rank : rank - 1);
}

void PeerCopies::tell_and_wait_for_part(int64_t to, int64_t from, Stream stream) const {
  const auto news = static_cast<size_t>(News::parts_have_arrived);
  const auto wait = wait_[news].begin() + static_cast<std::ptrdiff_t>(2 * among_others(from));
  check(give({tell_[news][among_others(to)], wait[0], wait[1]}, stream), "meeting another rank's GPU");
}

/// Signals to all others, and waits for the same signal of each. A write is ordered after earlier copies.
void PeerCopies::signal_and_wait(News news, Stream stream) const {
  std::vector<WordOperation> operations = tell_[static_cast<size_t>(news)];
  const std::vector<WordOperation>& waits = wait_[static_cast<size_t>(news)];
  operations.insert(operations.end(), waits.begin(), waits.end());
  check(give(operations, stream), "meeting the other ranks' GPUs");
}

/// A wait makes its word 0 again, so that the next one needs another 1.
void PeerCopies::give_up() noexcept {
  if (given_up_.exchange(true)) return;
  try {
    ending_ = std::jthread([this](const std::stop_token& stop) {
      device_.try_make_current();
      while (!stop.stop_requested()) {
        end_waits();
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    });
  } catch (const std::system_error&) {
    end_waits();  // of one collective, at least
  }
}

void PeerCopies::end_waits() {
  std::vector<WordOperation> ones;
  for (const std::vector<WordOperation>& waits : wait_)
    for (const WordOperation& one : waits)
      if (one.kind == WordOperation::kWait) ones.push_back(written(one.word, 1));
  if (give(ones, own_stream_.get()) == 0) driver().StreamSynchronize(own_stream_.get());
}

}  // namespace smelt::cuda
