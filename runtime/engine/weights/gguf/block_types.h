// Element types of tensors in GGUF files. Most are blocks: a number of consecutive elements of a row that are
// stored as small integers with scales.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/dtype.h"

namespace smelt {

/// A type that is read.
struct GgufType {
  uint32_t id;  // in files
  std::string_view name;
  int64_t elements, bytes;  // per block
  int bits;                 // of the integer of an element; 0: the elements are floats of type `dtype`
  /// Writes the floats of one block. Null if the elements are floats.
  void (*unpack)(const std::byte* block, float* out) = nullptr;
  DType dtype = DType::f32;  // of the elements; for blocks: of the computed floats
};

/// Returns the type; null if it is not read.
const GgufType* find_gguf_type(uint32_t id);
/// Returns the name of a type that the format defines, for messages: "IQ2_XXS", or "type 99".
std::string gguf_type_name(uint32_t id);
/// Returns the names of all types that are read: "F32, F16, ...".
std::string gguf_type_names();

// The functions below write the floats of one block. Products and sums are rounded to f32 in the order of
// ggml's reference, so the floats are equal to the reference's in every bit.

// Blocks of 32 elements with one scale.
void unpack_q4_0(const std::byte* block, float* out);
void unpack_q4_1(const std::byte* block, float* out);
void unpack_q5_0(const std::byte* block, float* out);
void unpack_q5_1(const std::byte* block, float* out);
void unpack_q8_0(const std::byte* block, float* out);
void unpack_iq4_nl(const std::byte* block, float* out);
// Super-blocks of 256 elements, whose groups of 16 or 32 have quantised scales.
void unpack_q2_k(const std::byte* block, float* out);
void unpack_q3_k(const std::byte* block, float* out);
void unpack_q4_k(const std::byte* block, float* out);
void unpack_q5_k(const std::byte* block, float* out);
void unpack_q6_k(const std::byte* block, float* out);

}  // namespace smelt
