#include "runtime/cpu/attention_lane.h"

#include <cblas.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "runtime/base/convert.h"
#include "runtime/base/half.h"

namespace smelt {
namespace {

float number_at(const std::byte* at, DType type) {
  uint16_t bits = 0;
  if (type == DType::f32) return *reinterpret_cast<const float*>(at);
  std::memcpy(&bits, at, sizeof(bits));
  return type == DType::bf16 ? from_bf16(bits) : from_f16(bits);
}

}  // namespace

AttentionLane::AttentionLane(const PreparedAttention& attention, const KernelFunctions& functions,
                             const std::vector<void*>& arguments, const KernelArgs& args, float* memory)
    : a_(attention),
      functions_(functions),
      args_(args),
      memory_(memory),
      buffers_(arguments),
      arguments_(arguments.size()) {
  buffers_.resize(arguments_ + static_cast<size_t>(tile_count(a_.spec())));
}

void AttentionLane::run(int64_t item) {
  args_.buffers = buffers_.data();
  if (a_.spec().part == AttentionPart::forward) return forward(item);
  a_.spec().part == AttentionPart::gradients ? gradients(item) : element_gradient(item);
}

// ---- blocks

/// Rows of a kernel are [b,h,t].
int64_t AttentionLane::first_row(const Block& block) const {
  return (block.b * a_.heads + block.h) * a_.queries + block.first_query;
}

KernelArgs AttentionLane::args_of(const Block& block) const {
  KernelArgs args = args_;
  args.first_column = block.first_key, args.end_column = block.first_key + block.keys;
  return args;
}

bool AttentionLane::sees(const Block& block) {
  int32_t seen = 1;
  KernelArgs args = args_of(block);
  args.sees = &seen;
  functions_.sees(&args, first_row(block), first_row(block) + block.queries);
  return seen != 0;
}

void AttentionLane::body(const Block& block) {
  const KernelArgs args = args_of(block);
  functions_.run(&args, first_row(block), first_row(block) + block.queries);
}

void AttentionLane::set_tile(int tile, float* at, const Block& block, bool is_row) {
  const int64_t before = is_row ? block.first_query : block.first_query * tile_keys() + block.first_key;
  const auto address = reinterpret_cast<uintptr_t>(at) - static_cast<uintptr_t>(before) * sizeof(float);
  buffers_[arguments_ + static_cast<size_t>(tile)] = reinterpret_cast<void*>(address);
}

// ---- matrices

/// Returns the rows in place if a BLAS can read them.
AttentionLane::Rows AttentionLane::read(size_t matrix, int64_t b, int64_t head, int64_t first, int64_t count,
                                        float* scratch) const {
  const Matrix& m = a_.matrices[matrix];
  const auto* at = static_cast<const std::byte*>(buffers_[static_cast<size_t>(m.param)]);
  const int64_t size = size_of(m.dtype);
  at += (b * m.batch + first * m.place + head * m.head) * size;
  const bool fits = m.place >= a_.width() && m.place <= std::numeric_limits<int>::max();
  if (m.dtype == DType::f32 && fits) return {reinterpret_cast<const float*>(at), m.place};
  for (int64_t i = 0; i < count; ++i)
    widen(at + i * m.place * size, m.dtype, scratch + i * a_.width(), a_.width());
  return {scratch, a_.width()};
}

void AttentionLane::write(size_t matrix, int64_t b, int64_t head, int64_t first, int64_t count,
                          const float* from) const {
  const Matrix& m = a_.matrices[matrix];
  auto* at = static_cast<std::byte*>(buffers_[static_cast<size_t>(m.param)]);
  const int64_t size = size_of(m.dtype);
  at += (b * m.batch + first * m.place + head * m.head) * size;
  for (int64_t i = 0; i < count; ++i)
    narrow(from + i * a_.width(), at + i * m.place * size, m.dtype, a_.width());
}

AttentionLane::Rows AttentionLane::queries_of(size_t matrix, const Block& block, float* scratch) const {
  return read(matrix, block.b, block.h, block.first_query, block.queries, scratch);
}

int64_t AttentionLane::place_of(const Block& block, int64_t key) const {
  if (a_.attention->places < 0) return key;
  const auto* places = static_cast<const int32_t*>(buffers_[static_cast<size_t>(a_.attention->places)]);
  return places[block.b * a_.places_batch + key * a_.places_stride];
}

/// Rows of a table, brought together.
AttentionLane::Rows AttentionLane::keys_in_table(size_t matrix, const Block& block, float* scratch) const {
  const Matrix& m = a_.matrices[matrix];
  const int64_t size = size_of(m.dtype);
  const auto* table = static_cast<const std::byte*>(buffers_[static_cast<size_t>(m.param)]) +
                      block.h / a_.group() * m.head * size;
  for (int64_t i = 0; i < block.keys; ++i)
    widen(table + place_of(block, block.first_key + i) * m.place * size, m.dtype, scratch + i * a_.width(),
          a_.width());
  return {scratch, a_.width()};
}

AttentionLane::Rows AttentionLane::scaled_codes(size_t matrix, const Block& block, float* scratch) const {
  const Matrix &codes = a_.matrices[matrix], &scales = a_.scales[matrix - 1];
  const float* const numbers = a_.numbers_of_codes.data();
  const auto at = [&](const Matrix& m, int64_t i) {
    return static_cast<const std::byte*>(buffers_[static_cast<size_t>(m.param)]) +
           (block.b * m.batch + place_of(block, block.first_key + i) * m.place +
            block.h / a_.group() * m.head) *
               size_of(m.dtype);
  };
  for (int64_t i = 0; i < block.keys; ++i) {
    const std::byte* const code = at(codes, i);
    const float scale = number_at(at(scales, i), scales.dtype);
    float* const to = scratch + i * a_.width();
    for (int64_t d = 0; d < a_.width(); ++d) to[d] = numbers[static_cast<uint8_t>(code[d])] * scale;
  }
  return {scratch, a_.width()};
}

AttentionLane::Rows AttentionLane::keys_of(size_t matrix, const Block& block, float* scratch) const {
  if (!a_.scales.empty()) return scaled_codes(matrix, block, scratch);
  if (a_.attention->places >= 0) return keys_in_table(matrix, block, scratch);
  return read(matrix, block.b, block.h / a_.group(), block.first_key, block.keys, scratch);
}

// ---- memory

float* AttentionLane::tile(int64_t index) const {
  return memory_ + a_.lane.tiles + index * tile_queries() * tile_keys();
}

float* AttentionLane::row_list(int64_t index) const {
  return memory_ + a_.lane.rows + index * tile_queries();
}

void RowProduct::run(const float* a, int64_t a_stride, const float* b, int64_t b_stride, float* c,
                     int64_t c_stride) const {
  cblas_sgemm(CblasRowMajor, transposes_a ? CblasTrans : CblasNoTrans,
              transposes_b ? CblasTrans : CblasNoTrans, static_cast<int>(m), static_cast<int>(n),
              static_cast<int>(k), factor, a, static_cast<int>(a_stride), b, static_cast<int>(b_stride),
              adds ? 1.0f : 0.0f, c, static_cast<int>(c_stride));
}

}  // namespace smelt
