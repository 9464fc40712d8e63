#include "runtime/base/convert.h"

#include <cstring>

#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "runtime/cpu/threads.h"

namespace smelt {
namespace {

[[maybe_unused]] constexpr int64_t kParallel = 1 << 16;  // elements from which on threads pay

template <typename From, typename To, typename F>
void map(const void* from, void* to, int64_t count, F convert) {
  const auto* in = static_cast<const From*>(from);
  auto* out = static_cast<To*>(to);
#pragma omp parallel for schedule(static) num_threads(count > kParallel ? team_threads() : 1)
  for (int64_t i = 0; i < count; ++i) out[i] = convert(in[i]);
}

[[noreturn]] void refuse(DType type) {
  fail_with(Status::internal, "no storage of floats as {}; expected f32, bf16, f16 or f8e4m3", name(type));
}

}  // namespace

void widen(const void* from, DType type, float* to, int64_t count) {
  switch (type) {
    case DType::f32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::bf16:
      return map<uint16_t, float>(from, to, count, from_bf16);
    case DType::f16:
      return map<uint16_t, float>(from, to, count, from_f16);
    case DType::f8e4m3:
      return map<uint8_t, float>(from, to, count, from_f8e4m3);
    case DType::i8:
      return map<int8_t, float>(from, to, count, [](int8_t x) { return static_cast<float>(x); });
    default:
      refuse(type);
  }
}

void narrow(const float* from, void* to, DType type, int64_t count) {
  switch (type) {
    case DType::f32:
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      return;
    case DType::bf16:
      return map<float, uint16_t>(from, to, count, to_bf16);
    case DType::f16:
      return map<float, uint16_t>(from, to, count, to_f16);
    case DType::f8e4m3:
      return map<float, uint8_t>(from, to, count, to_f8e4m3);
    default:
      refuse(type);
  }
}

}  // namespace smelt
