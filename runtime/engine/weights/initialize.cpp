#include "runtime/engine/weights/initialize.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <vector>

#include "runtime/base/convert.h"
#include "runtime/base/error.h"
#include "runtime/engine/weights/draws.h"
#include "runtime/plan/segment_parts.h"

namespace smelt {
namespace {

// A step number that no training run reaches: these draws are not those of any dropout.
constexpr uint32_t kInitialStep = 0xFFFFFFFFu;

uint32_t hash(std::string_view name) {
  uint32_t h = 0x811C9DC5u;  // FNV-1a
  for (unsigned char c : name) h = (h ^ c) * 0x01000193u;
  return h;
}

uint32_t key_seed(const Initializer& init, uint32_t seed) { return seed ^ init.seed * 0x9E3779B9u; }

Draws draws(const Initializer& init, std::string_view name, uint32_t seed) {
  return {Philox{key_seed(init, seed), kInitialStep, 0}, hash(name), init.a};
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

void initialize_values(const Initializer& init, std::string_view name, uint32_t seed, std::span<float> values,
                       int64_t first) {
  const auto count = static_cast<int64_t>(values.size());
  using Kind = Initializer::Kind;
  if (init.kind == Kind::value) std::ranges::fill(values, static_cast<float>(init.a));
  if (init.kind == Kind::normal) draws(init, name, seed).normal(first, count, values.data());
  if (init.kind == Kind::uniform) draws(init, name, seed).uniform(first, count, values.data());
}

namespace {

void check_inside(const State& state, const Segment& segment, int64_t size) {
  const int64_t count = segment.elements();
  if (segment.offset < 0 || count > size || segment.offset > size - count)
    fail("state \"{}\": segment \"{}\" of {} elements at {} is outside its {}", state.name, segment.name,
         count, segment.offset, size);
}

/// Initializes elements first ... of the rank's part of a segment, by runs that are contiguous in the whole.
void initialize_segment(const Segment& segment, uint32_t seed, std::span<float> values, int64_t first,
                        const RankPlace& place) {
  const int64_t end = first + static_cast<int64_t>(values.size());
  for (const PartRun& run : part_runs(segment, place.mesh, place.coordinates)) {
    const int64_t from = std::max(first, run.in_part), to = std::min(end, run.in_part + run.elements);
    if (from < to)
      initialize_values(segment.init, segment.name, seed, values.subspan(from - first, to - from),
                        run.in_whole + from - run.in_part);
  }
}

/// Elements begin ... of a state of `size` elements.
void initialize_floats(const State& state, uint32_t seed, std::span<float> values, int64_t begin,
                       int64_t size, const RankPlace& place) {
  if (state.segments.empty()) return initialize_values(state.init, state.name, seed, values, begin);
  std::ranges::fill(values, 0.0f);
  const int64_t end = begin + static_cast<int64_t>(values.size());
  for (const Segment& segment : state.segments) {
    check_inside(state, segment, size);
    const int64_t from = std::max(begin, segment.offset),
                  to = std::min(end, segment.offset + segment.elements());
    if (from < to)
      initialize_segment(segment, seed, values.subspan(from - begin, to - from), from - segment.offset,
                         place);
  }
}

}  // namespace

void initialize_state(const State& state, uint32_t seed, std::span<std::byte> part, int64_t begin,
                      int64_t state_bytes, const RankPlace& place) {
  const bool narrow_floats = state.dtype == DType::bf16 || state.dtype == DType::f16;
  if (state.dtype != DType::f32 && !narrow_floats) return initialize_plain(state, part);
  const auto width = size_of(state.dtype), first = begin / width, size = state_bytes / width;
  const auto count = static_cast<size_t>(static_cast<int64_t>(part.size()) / width);
  if (!narrow_floats)
    return initialize_floats(state, seed, {reinterpret_cast<float*>(part.data()), count}, first, size, place);
  std::vector<float> values(count);
  initialize_floats(state, seed, values, first, size, place);
  narrow(values.data(), part.data(), state.dtype, static_cast<int64_t>(count));
}

std::vector<InitialRow> initial_rows(const State& state, uint32_t seed, int64_t state_bytes,
                                     int64_t& groups) {
  std::vector<InitialRow> rows;
  groups = 0;
  const int64_t size = state_bytes / size_of(state.dtype);
  const auto add = [&](const Initializer& init, std::string_view name, int64_t offset, int64_t elements) {
    if (elements == 0 || (init.kind == Initializer::Kind::value && init.a == 0)) return;
    rows.push_back({groups, offset, elements, init.a, key_seed(init, seed), hash(name),
                    static_cast<int32_t>(init.kind), 0});
    groups += (elements + Draws::kGroup - 1) / Draws::kGroup;
  };
  if (state.segments.empty()) add(state.init, state.name, 0, size);
  for (const Segment& segment : state.segments) {
    check_inside(state, segment, size);
    add(segment.init, segment.name, segment.offset, segment.elements());
  }
  return rows;
}

std::string initialize_kernel_name(const State& state) {
  const auto random = [](const Initializer& init) { return init.kind != Initializer::Kind::value; };
  const bool draws = state.segments.empty() ? random(state.init)
                                            : std::ranges::any_of(state.segments, random, &Segment::init);
  // Kernels have no positions within a whole segment.
  if (std::ranges::any_of(state.segments, is_cut)) return "";
  const bool known = state.dtype == DType::f32 || state.dtype == DType::bf16;
  return draws && known && state.copy_of.empty() ? fmt::format("smelt_initialize_{}", name(state.dtype)) : "";
}

void initialize_state(const State& state, uint32_t seed, std::span<std::byte> memory) {
  initialize_state(state, seed, memory, 0, static_cast<int64_t>(memory.size()));
}

}  // namespace smelt
