// Choosing an algorithm: candidates run on the operands of the call, each result is compared with the first
// one's, and of those that agree the fastest is taken. For a GEMM in order, the first one is Smelt's kernel,
// and the results must have the same bits. It is the only one if the last block of a chain is incomplete.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "runtime/cuda/gemm.h"

namespace smelt::cuda {
namespace {

constexpr int kCandidates = 16;
constexpr int kTimedRuns = 3;
/// Algorithms within this much of the fastest single run are timed again: as much as a clock that is
/// read around one matmul may be wrong.
constexpr double kNear = 1.15, kClockSeconds = 1e-6;
/// Seconds of a round of runs in a row, and how many rounds each has, interleaved; single runs that take as
/// long can be told apart.
constexpr double kRoundSeconds = 3e-4;
constexpr int kRounds = 3, kMostInARow = 64;
constexpr int64_t kSampleBytes = int64_t{1} << 17;
/// Elements of a sample that are not zero, from which on equal results show that sums have the same order.
/// Two orders differ in the last bits of f32, which are seen in most results of f32, but in only one of
/// thousands that are rounded to 16 bits. Of a result that is smaller than a sample, elements count twice.
constexpr int64_t kTellingWide = 64, kTellingNarrow = int64_t{1} << 16;
/// Terms of a block of a chain. An algorithm of the library may begin with an incomplete block instead of
/// ending with it; then all blocks are others.
constexpr int64_t kBlockTerms = 16;

/// Returns whether two samples of one matmul agree as far as its rounding goes; non-finite elements must be
/// the same.
bool agree(const std::vector<float>& a, const std::vector<float>& b, bool exact_operands) {
  double square = 0, off = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) {
      if (std::isfinite(a[i]) != std::isfinite(b[i])) return false;
      continue;
    }
    square += double{a[i]} * a[i];
    off += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  }
  const double tolerance = exact_operands ? 1e-4 : 2e-2;
  return off <= tolerance * tolerance * square + 1e-12;
}

bool have_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::ranges::equal(a, b, {}, std::bit_cast<uint32_t, float>, std::bit_cast<uint32_t, float>);
}

/// Returns whether equal bits of another sample show that its sums have the same order as those of this one.
bool tells_order(const std::vector<float>& sample, DType dtype) {
  const auto is_telling = [](float x) { return std::isfinite(x) && x != 0; };
  return std::ranges::count_if(sample, is_telling) >= (dtype == DType::f32 ? kTellingWide : kTellingNarrow);
}

std::vector<float> as_floats(const std::vector<std::byte>& raw, DType dtype) {
  const auto width = static_cast<size_t>(size_of(dtype));
  std::vector<float> values(raw.size() / width);
  for (size_t i = 0; i < values.size(); ++i) {
    const std::byte* at = raw.data() + i * width;
    if (dtype == DType::i32) {
      int32_t sum = 0;
      std::memcpy(&sum, at, 4);
      values[i] = static_cast<float>(sum);
    } else if (width == 4) {
      std::memcpy(&values[i], at, 4);
    } else {
      uint16_t half = 0;
      std::memcpy(&half, at, 2);
      values[i] = dtype == DType::bf16 ? from_bf16(half) : from_f16(half);
    }
  }
  return values;
}

}  // namespace

/// For few rows, most algorithms in order that may use a workspace have other bits.
std::vector<LtHeuristic> PreparedGemm::candidates(int wanted) const {
  std::vector<LtHeuristic> found = proposals(wanted, kGemmWorkspace);
  if (problem_.in_order)
    for (const LtHeuristic& other : proposals(wanted, 0)) found.push_back(other);
  if (found.empty() && !problem_.in_order)
    fail_with(Status::internal, "cuBLASLt has no algorithm for {}", problem_.bucket());
  return found;
}

std::vector<LtHeuristic> PreparedGemm::proposals(int wanted, uint64_t workspace) const {
  const CublasLt& lt = cublas_lt();
  LtPreferenceTag* made = nullptr;
  check_blas(lt.MatmulPreferenceCreate(&made), "asking for algorithms");
  const LtPreference preference(made);
  const auto set = [&](int attribute, const auto& value) {
    check_blas(lt.MatmulPreferenceSetAttribute(made, attribute, &value, sizeof value),
               "asking for algorithms");
  };
  set(kMaxWorkspace, workspace);
  if (problem_.in_order) set(kReductionSchemes, kNoReductions);
  for (int matrix = 0; matrix < 4; ++matrix)
    set(kMinAlignmentA + matrix, static_cast<uint32_t>(problem_.alignment));
  std::vector<LtHeuristic> found(static_cast<size_t>(wanted));
  int count = 0;
  const int code = lt.MatmulAlgoGetHeuristic(blas_, descriptor_.get(), a_.get(), b_.get(), c_.get(), c_.get(),
                                             made, wanted, found.data(), &count);
  found.resize(code == 0 ? static_cast<size_t>(count) : 0);
  std::erase_if(found, [](const LtHeuristic& h) { return h.state != 0; });
  return found;
}

/// Chooses the algorithm. A cached choice is used if the library supports it at these exact sizes.
void PreparedGemm::choose(Stream stream, DevicePointer workspace, GemmChoices& choices) {
  if (chosen_ || calls_.empty()) return;
  if (problem_.in_order && problem_.k % kBlockTerms != 0) {
    algorithm_ = kOwnKernel, chosen_ = true;
    return;
  }
  const GemmKey key = problem_.key();
  const auto known = choices.find(key);
  if (known) {
    algorithm_ = is_possible(*known) ? *known : unmeasured();
  } else {
    clear(stream);
    const auto measured = fastest(stream, workspace);
    algorithm_ = measured.value_or(kOwnKernel);
    if (measured) choices.add(key, algorithm_);
  }
  chosen_ = true;
}

LtAlgorithm PreparedGemm::unmeasured() const {
  return problem_.in_order ? kOwnKernel : candidates(1).front().algorithm;
}

bool PreparedGemm::is_possible(const LtAlgorithm& algorithm) const {
  if (algorithm == kOwnKernel) return static_cast<bool>(own_);
  const CublasLt& lt = cublas_lt();
  LtHeuristic checked;
  const int code = lt.MatmulAlgoCheck(blas_, descriptor_.get(), a_.get(), b_.get(), c_.get(), c_.get(),
                                      &algorithm, &checked);
  return code == 0 && checked.workspace_bytes <= static_cast<size_t>(kGemmWorkspace);
}

/// Returns the bytes of the result; for a batch by pointers, those of its first matrix.
int64_t PreparedGemm::result_bytes() const {
  const int64_t matrix = problem_.c_pitch * (problem_.n - 1) + problem_.m;
  const int64_t others = problem_.by_pointers ? 0 : problem_.c_stride * (problem_.batch - 1);
  return (matrix + others) * size_of(problem_.result_dtype);
}

/// Returns the first columns of the first result and the last ones of the last, as floats. Memory between two
/// columns may be uninitialized.
std::vector<float> PreparedGemm::sample(Stream stream) const {
  const int64_t width = size_of(problem_.result_dtype), column = problem_.m * width;
  const int64_t columns = std::clamp<int64_t>(kSampleBytes / column, 1, problem_.n), part = columns * column;
  const int64_t last_matrix = problem_.by_pointers ? 0 : problem_.c_stride * (problem_.batch - 1);
  const int64_t last = last_matrix + problem_.c_pitch * (problem_.n - columns);
  std::vector<std::byte> raw(static_cast<size_t>(2 * part));
  const auto read = [&](std::byte* to, int64_t from) {
    const Copy2D copy = {.from = {.device = first_result_ + static_cast<DevicePointer>(from * width),
                                  .pitch = static_cast<size_t>(problem_.c_pitch * width)},
                         .to = {.memory = Copy2D::kHost, .host = to, .pitch = static_cast<size_t>(column)},
                         .width = static_cast<size_t>(column),
                         .rows = static_cast<size_t>(columns)};
    check(driver().Memcpy2DAsync(&copy, stream), "reading a matmul");
  };
  read(raw.data(), 0), read(raw.data() + part, last);
  check(driver().StreamSynchronize(stream), "reading a matmul");
  return as_floats(raw, problem_.result_dtype);
}

/// Seconds of one run of `count` in a row; infinite where it cannot be launched.
double PreparedGemm::time(const LtAlgorithm& algorithm, int count, Stream stream,
                          DevicePointer workspace) const {
  const EventOwner begin = make_event(*device_, true), end = make_event(*device_, true);
  check(driver().EventRecord(begin.get(), stream), "timing a matmul");
  for (int run = 0; run < count; ++run)
    if (try_all(algorithm, stream, workspace) != 0) return std::numeric_limits<double>::infinity();
  check(driver().EventRecord(end.get(), stream), "timing a matmul");
  check(driver().EventSynchronize(end.get()), "timing a matmul");
  return seconds_between(begin.get(), end.get()) / count;
}

/// Returns the least seconds of a few single runs, without the first.
double PreparedGemm::time_alone(const LtAlgorithm& algorithm, Stream stream, DevicePointer workspace) const {
  double least = std::numeric_limits<double>::infinity();
  if (!std::isfinite(time(algorithm, 1, stream, workspace))) return least;
  for (int run = 0; run < kTimedRuns; ++run) least = std::min(least, time(algorithm, 1, stream, workspace));
  return least;
}

/// Those whose single runs are about as fast run many times in a row, in interleaved rounds.
LtAlgorithm PreparedGemm::fastest_of(std::vector<Timed> timed, Stream stream, DevicePointer workspace) const {
  const auto faster = [](const Timed& a, const Timed& b) { return a.seconds < b.seconds; };
  const Timed first = *std::ranges::min_element(timed, faster);
  std::erase_if(timed, [&](const Timed& t) { return t.seconds > kNear * first.seconds + kClockSeconds; });
  if (timed.size() == 1 || first.seconds > kRoundSeconds) return first.algorithm;
  const int count =
      std::clamp(static_cast<int>(kRoundSeconds / std::max(first.seconds, kClockSeconds)), 2, kMostInARow);
  for (int round = 0; round < kRounds; ++round)
    for (Timed& t : timed) {
      const double seconds = time(t.algorithm, count, stream, workspace);
      t.seconds = round == 0 ? seconds : std::min(t.seconds, seconds);
    }
  return std::ranges::min_element(timed, faster)->algorithm;
}

/// Writes back what C was before a candidate added to it.
void PreparedGemm::restore(DevicePointer kept, Stream stream) const {
  if (!problem_.accumulates) return;
  check(driver().MemcpyDtoDAsync(first_result_, kept, static_cast<size_t>(result_bytes()), stream),
        "keeping a sum");
}

std::vector<float> PreparedGemm::result_of(const LtAlgorithm& algorithm, DevicePointer kept, Stream stream,
                                           DevicePointer workspace) const {
  check(try_all(algorithm, stream, workspace), "running a matmul again");
  std::vector<float> found = sample(stream);
  restore(kept, stream);
  return found;
}

/// Smelt's kernel is the first candidate of a GEMM in order, and the last one of others.
std::optional<LtAlgorithm> PreparedGemm::fastest(Stream stream, DevicePointer workspace) const {
  std::vector<LtAlgorithm> all;
  for (const LtHeuristic& candidate : candidates(kCandidates)) all.push_back(candidate.algorithm);
  if (own_) all.insert(problem_.in_order ? all.begin() : all.end(), kOwnKernel);
  if (all.size() == 1 || (problem_.accumulates && problem_.by_pointers)) return all.front();
  const bool keeps = problem_.accumulates;
  const DeviceBlock kept = try_device_block(*device_, keeps ? result_bytes() : 0);
  if (!kept) return all.front();  // what would be measured could not be undone
  if (keeps)
    check(driver().MemcpyDtoDAsync(kept.get(), first_result_, static_cast<size_t>(result_bytes()), stream),
          "keeping a sum");
  std::vector<float> reference;
  std::vector<Timed> timed;
  for (const LtAlgorithm& algorithm : all) {
    const double seconds = time_alone(algorithm, stream, workspace);
    restore(kept.get(), stream);
    if (!std::isfinite(seconds)) {
      if (problem_.in_order && algorithm == kOwnKernel) return std::nullopt;
      continue;
    }
    const std::vector<float> found = result_of(algorithm, kept.get(), stream, workspace);
    if (reference.empty()) reference = found;
    if (problem_.in_order && !tells_order(reference, problem_.result_dtype)) return std::nullopt;
    const bool exact = problem_.is_whole() || (problem_.dtype == DType::f32 && !problem_.tf32);
    if (problem_.in_order ? have_same_bits(reference, found) : agree(reference, found, exact))
      timed.push_back({algorithm, seconds});
  }
  const LtAlgorithm best = timed.empty() ? all.front() : fastest_of(timed, stream, workspace);
  restore(kept.get(), stream);
  return best;
}

}  // namespace smelt::cuda
