#include "runtime/cpu/copy.h"

#include <algorithm>
#include <cstring>

#include "runtime/base/half.h"
#include "runtime/cpu/bind_step.h"

namespace smelt {
namespace {

constexpr int64_t kParallelBytes = int64_t{1} << 18;

/// Joins neighbours where the outer axis continues the inner one on both sides.
std::vector<CopyAxis> collapsed(const std::vector<CopyAxis>& axes) {
  std::vector<CopyAxis> result;
  for (const CopyAxis& axis : axes) {
    if (axis.extent == 1) continue;
    const bool joins = !result.empty() && result.back().from == axis.extent * axis.from &&
                       result.back().to == axis.extent * axis.to;
    if (joins)
      result.back() = {result.back().extent * axis.extent, axis.from, axis.to};
    else
      result.push_back(axis);
  }
  if (result.empty()) result.push_back({1, 1, 1});
  return result;
}

template <typename Word>
void copy_strided(const std::byte* from, std::byte* to, const CopyAxis& axis) {
  for (int64_t i = 0; i < axis.extent; ++i) std::memcpy(to + i * axis.to, from + i * axis.from, sizeof(Word));
}

/// The bits of one element, and their number of bytes.
uint64_t pattern(DType dtype, double value) {
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<uint64_t>(value);
    case DType::f32:
      return std::bit_cast<uint32_t>(static_cast<float>(value));
    case DType::bf16:
      return to_bf16(static_cast<float>(value));
    case DType::f16:
      return to_f16(static_cast<float>(value));
    case DType::boolean:
      return value != 0;
    default:
      return static_cast<uint64_t>(static_cast<int64_t>(value));
  }
}

template <typename Word>
void fill_words(std::byte* to, int64_t count, uint64_t bits) {
  Word* words = reinterpret_cast<Word*>(to);
  const Word word = static_cast<Word>(bits);
#pragma omp parallel for schedule(static) if (count * static_cast<int64_t>(sizeof(Word)) > kParallelBytes)
  for (int64_t i = 0; i < count; ++i) words[i] = word;
}

}  // namespace

PreparedCopy::PreparedCopy(std::vector<CopyAxis> axes, int64_t element_bytes)
    : axes_(collapsed(axes)), lines_(1), element_bytes_(element_bytes) {
  for (CopyAxis& axis : axes_) axis.from *= element_bytes, axis.to *= element_bytes;
  for (size_t i = 0; i + 1 < axes_.size(); ++i) lines_ *= axes_[i].extent;
  if (axes_.back().extent == 0) lines_ = 0;
}

void PreparedCopy::run(const std::byte* from, std::byte* to) const {
  [[maybe_unused]] const bool large =
      lines_ > 1 && lines_ * axes_.back().extent * element_bytes_ > kParallelBytes;
#pragma omp parallel for schedule(static) if (large)
  for (int64_t line = 0; line < lines_; ++line) copy_line(from, to, line);
}

void PreparedCopy::copy_line(const std::byte* from, std::byte* to, int64_t line) const {
  for (size_t i = axes_.size() - 1; i-- > 0;) {
    const int64_t index = line % axes_[i].extent;
    line /= axes_[i].extent;
    from += index * axes_[i].from, to += index * axes_[i].to;
  }
  const CopyAxis& axis = axes_.back();
  if (axis.from == element_bytes_ && axis.to == element_bytes_) {
    std::memcpy(to, from, static_cast<size_t>(axis.extent * element_bytes_));
    return;
  }
  switch (element_bytes_) {
    case 1:
      return copy_strided<uint8_t>(from, to, axis);
    case 2:
      return copy_strided<uint16_t>(from, to, axis);
    case 4:
      return copy_strided<uint32_t>(from, to, axis);
    default:
      return copy_strided<uint64_t>(from, to, axis);
  }
}

void fill(std::byte* to, int64_t count, DType dtype, double value) {
  const uint64_t bits = pattern(dtype, value);
  switch (size_of(dtype)) {
    case 1:
      return fill_words<uint8_t>(to, count, bits);
    case 2:
      return fill_words<uint16_t>(to, count, bits);
    case 4:
      return fill_words<uint32_t>(to, count, bits);
    default:
      return fill_words<uint64_t>(to, count, bits);
  }
}

Launch bind_step(const CopyStep& step, StepBinder& binder) {
  std::vector<CopyAxis> axes;
  for (size_t i = 0; i < step.extents.size(); ++i)
    axes.push_back({binder.value(step.extents[i]), binder.value(step.from_strides[i]),
                    binder.value(step.to_strides[i])});
  return
      [copy = PreparedCopy(std::move(axes), size_of(step.dtype)), from = binder.pointer<std::byte>(step.from),
       to = binder.pointer<std::byte>(step.to)](const StepRun&) { copy.run(from, to); };
}

Launch bind_step(const FillStep& step, StepBinder& binder) {
  return
      [to = binder.pointer<std::byte>(step.to), count = binder.value(step.elements),
       dtype = binder.dtype(step.to), value = step.value](const StepRun&) { fill(to, count, dtype, value); };
}

}  // namespace smelt
