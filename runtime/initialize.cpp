#include "runtime/initialize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "runtime/convert.h"
#include "runtime/error.h"
#include "runtime/philox.h"

namespace smelt {
namespace {

// A step number that no training run reaches: these draws are not those of any dropout.
constexpr uint32_t kInitialStep = 0xFFFFFFFFu;
constexpr int64_t kGroup = 4;  // elements a Philox call

uint32_t hash(std::string_view name) {
  uint32_t h = 0x811C9DC5u;  // FNV-1a
  for (unsigned char c : name) h = (h ^ c) * 0x01000193u;
  return h;
}

/// In (0, 1), never at its ends.
double unit(uint32_t bits) { return (bits + 0.5) * 0x1p-32; }

class Draws {
 public:
  Draws(const Initializer& init, std::string_view name, uint32_t seed)
      : id_(hash(name)), philox_{seed ^ init.seed * 0x9E3779B9u, kInitialStep, 0} {}

  /// The four words of elements 4 group ... 4 group + 3.
  std::array<uint32_t, 4> words(int64_t group) const {
    const auto row = static_cast<uint32_t>(group >> 24), column = static_cast<uint32_t>(group & 0xFFFFFF);
    return philox_.words(id_, row, column * 8);
  }
  std::array<double, kGroup> uniform(int64_t group) const {
    const auto w = words(group);
    return {2 * unit(w[0]) - 1, 2 * unit(w[1]) - 1, 2 * unit(w[2]) - 1, 2 * unit(w[3]) - 1};
  }
  /// Box and Muller's pairs.
  std::array<double, kGroup> normal(int64_t group) const {
    const auto w = words(group);
    std::array<double, kGroup> x;
    for (int i = 0; i < kGroup; i += 2) {
      const double radius = std::sqrt(-2 * std::log(unit(w[i]))),
                   angle = 2 * std::numbers::pi * unit(w[i + 1]);
      x[i] = radius * std::cos(angle);
      x[i + 1] = radius * std::sin(angle);
    }
    return x;
  }

 private:
  uint32_t id_;
  Philox philox_;
};

template <typename Draw>
void fill(std::span<float> values, double scale, const Draw& draw) {
  const auto count = static_cast<int64_t>(values.size());
  const int64_t groups = (count + kGroup - 1) / kGroup;
#pragma omp parallel for schedule(static) if (groups > 4096)
  for (int64_t group = 0; group < groups; ++group) {
    const auto x = draw(group);
    const int64_t begin = group * kGroup, end = std::min(begin + kGroup, count);
    for (int64_t i = begin; i < end; ++i) values[i] = static_cast<float>(scale * x[i - begin]);
  }
}

template <typename T>
void fill_value(std::span<std::byte> memory, double value) {
  const T element = static_cast<T>(value);
  for (size_t at = 0; at + sizeof(T) <= memory.size(); at += sizeof(T))
    std::memcpy(&memory[at], &element, sizeof(T));
}

void initialize_plain(const State& state, std::span<std::byte> memory) {
  if (state.init.kind != Initializer::Kind::value)
    fail("state \"{}\": {} needs f32, not {}", state.name, str(state.init), name(state.dtype));
  if (state.init.a == 0) std::ranges::fill(memory, std::byte{0});
  if (state.init.a == 0) return;
  switch (state.dtype) {
    case DType::f64:
      return fill_value<double>(memory, state.init.a);
    case DType::i32:
      return fill_value<int32_t>(memory, state.init.a);
    case DType::i64:
      return fill_value<int64_t>(memory, state.init.a);
    default:
      fail("state \"{}\": {} for {} is not supported; expected f32, f64, i32 or i64", state.name,
           str(state.init), name(state.dtype));
  }
}

}  // namespace

void initialize_values(const Initializer& init, std::string_view name, uint32_t seed,
                       std::span<float> values) {
  const Draws draws(init, name, seed);
  using Kind = Initializer::Kind;
  if (init.kind == Kind::value) std::ranges::fill(values, static_cast<float>(init.a));
  if (init.kind == Kind::normal) fill(values, init.a, [&](int64_t group) { return draws.normal(group); });
  if (init.kind == Kind::uniform) fill(values, init.a, [&](int64_t group) { return draws.uniform(group); });
}

namespace {

void initialize_floats(const State& state, uint32_t seed, std::span<float> values) {
  if (state.segments.empty()) return initialize_values(state.init, state.name, seed, values);
  std::ranges::fill(values, 0.0f);
  for (const Segment& segment : state.segments) {
    const int64_t count = segment.elements(), size = static_cast<int64_t>(values.size());
    if (segment.offset < 0 || count > size || segment.offset > size - count)
      fail("state \"{}\": segment \"{}\" of {} elements at {} is outside its {}", state.name, segment.name,
           count, segment.offset, size);
    initialize_values(segment.init, segment.name, seed, values.subspan(segment.offset, count));
  }
}

}  // namespace

void initialize_state(const State& state, uint32_t seed, std::span<std::byte> memory) {
  const bool narrow_floats = state.dtype == DType::bf16 || state.dtype == DType::f16;
  if (state.dtype != DType::f32 && !narrow_floats) return initialize_plain(state, memory);
  if (!narrow_floats)
    return initialize_floats(state, seed,
                             {reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float)});
  std::vector<float> values(memory.size() / static_cast<size_t>(size_of(state.dtype)));
  initialize_floats(state, seed, values);
  narrow(values.data(), memory.data(), state.dtype, static_cast<int64_t>(values.size()));
}

}  // namespace smelt
