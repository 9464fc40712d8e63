// Vocabulary of the field lists of steps. A kind of step is a struct, a row `StepKind` and one list
// `visit_fields`, in a header of its own; reading, writing, printing, validation and dependence analysis are
// folds over that list.
//
// A list calls its visitor with the name, the member and the role of each field:
//   v("x", x.x, [&] { return role::reads(DType::f32, {{x.rows, x.row_stride}, {x.count}}); });
//   v("count", x.count, role::extent(0, INT32_MAX - 1)), v("row_stride", x.row_stride, role::stride);
// Roles of operands are functions, because they compute with sizes that are known only after the step has
// been read. Operands that are written come after those that are read.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/base/dim.h"
#include "runtime/base/dtype.h"

namespace smelt {

template <typename T, typename Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

/// The row of a kind of step:
///   name         in manifests, messages and reports
///   keyword      first word of its line in the text form of a program
///   text         pattern of the rest of that line (step_pattern.h); kinds without one are printed by ir/text
///   description  pattern for messages about a run; kinds without one are described by runtime/cuda
///   shows        whether a group of a pattern is printed that begins with a field; kinds without groups have
///   none by_template  whether a GPU runs it by template kernels alone
template <typename Kind>
struct StepKind;

/// A position in a buffer, which a kernel parameter or a matrix points to.
struct BufferRef {
  int buffer = -1;
  Dim offset;  // elements
  bool operator==(const BufferRef&) const = default;
};
template <typename V, Is<BufferRef> T>
void visit_fields(V& v, T& x) {
  v("buffer", x.buffer), v("offset", x.offset);
}

enum class PlaceUse : uint8_t {
  read,
  write,
  read_write,
  scratch,  // written and then read: no part of it is a result
  either,   // argument of a kernel: KernelCode::parameters says which
};

/// An extent with the distance in elements between its indices.
struct Walk {
  Dim extent, stride = 1;
};

/// Integers from `least` to `most`.
struct NumberRange {
  Dim least, most;
};

namespace role {

/// Role of an operand: elements offset + sum_i stride_i * [0, extent_i) of its buffer are used.
struct Operand {
  PlaceUse use = PlaceUse::either;
  std::optional<DType> dtype = {};  // required of the buffer; nothing: any
  std::vector<Walk> walks = {};
  std::optional<NumberRange> numbers = {};  // that are written; nothing: any numbers
};
inline Operand reads(DType dtype, std::vector<Walk> walks) {
  return {PlaceUse::read, dtype, std::move(walks)};
}
inline Operand writes(std::optional<DType> dtype, std::vector<Walk> walks,
                      std::optional<NumberRange> numbers = {}) {
  return {PlaceUse::write, dtype, std::move(walks), std::move(numbers)};
}

/// Role of a size, and the values that a step may have there.
struct Extent {
  int64_t least, most;
};
constexpr Extent extent(int64_t least = 0, int64_t most = INT64_MAX) { return {least, most}; }

/// Role of a distance in elements.
struct Stride {};
constexpr Stride stride;

/// Role of a real number.
struct Scalar {};
constexpr Scalar scalar;

/// Role of a word, a type, a flag or a number of something; `expected` names it in messages.
struct Attribute {
  std::string_view expected = {};
};
constexpr Attribute attribute(std::string_view expected = {}) { return {expected}; }

/// Role of an attribute with few allowed values.
template <typename T, size_t count>
struct OneOf : Attribute {
  std::array<T, count> values;
};
template <typename T, size_t count>
constexpr OneOf<T, count> one_of(std::string_view expected, const T (&values)[count]) {
  return {{expected}, std::to_array(values)};
}

}  // namespace role
}  // namespace smelt
