// Types for the declarations of the kinds of steps. Each kind has a header in this folder with three
// declarations: the struct, a specialization of StepKind, and one function visit_fields. Code that reads,
// writes, prints, validates or analyzes steps calls visit_fields, and so works for every kind.
//
// visit_fields calls the visitor with the name, the member and the role of each field:
//   v("x", x.x, [&] { return role::reads(DType::f32, {{x.rows, x.row_stride}, {x.count}}); });
//   v("count", x.count, role::extent(0, INT32_MAX - 1)), v("row_stride", x.row_stride, role::stride);
// The role of an operand is given by a function, because it depends on other fields, such as sizes. Operands
// that are written come after those that are read.
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

/// T is the type Of or const Of: visit_fields accepts both, for writing and for reading a value.
template <typename T, typename Of>
concept Is = std::same_as<std::remove_const_t<T>, Of>;

/// Constants of a kind of step:
///   name         name in manifests, messages and reports
///   keyword      first word of the step's line in the text form of a program
///   text         pattern of the rest of that line (step_pattern.h); if missing, ir/text prints the step
///   description  pattern for messages about a run; if missing, runtime/cuda describes the step
///   shows        function bool(step, field). A pattern may have groups of text in braces. The function
///                returns whether the group whose first field is `field` is printed for the step. Missing if
///                the kind's patterns have no groups
///   by_template  whether a GPU runs the step by template kernels (TemplateLaunch) only
template <typename Kind>
struct StepKind;

/// A position in a buffer, at which a kernel's argument or a matrix begins.
struct BufferRef {
  int buffer = -1;  // index into Plan::buffers
  Dim offset;       // elements
  bool operator==(const BufferRef&) const = default;
};
template <typename V, Is<BufferRef> T>
void visit_fields(V& v, T& x) {
  v("buffer", x.buffer), v("offset", x.offset);
}

/// Use of an operand by its step.
enum class PlaceUse : uint8_t {
  read,
  write,
  read_write,
  scratch,  // written and then read: no part of it is a result
  either,   // argument of a KernelStep: KernelCode::parameters specifies the use
};

/// One axis of an operand: its extent, and the distance in elements between neighbors along it.
struct Walk {
  Dim extent, stride = 1;
};

/// Integers from `least` to `most`.
struct NumberRange {
  Dim least, most;
};

namespace role {

/// Role of an operand. The step uses the elements offset + sum_i walks[i].stride * x_i of the operand's
/// buffer for all x_i in [0, walks[i].extent).
struct Operand {
  PlaceUse use = PlaceUse::either;
  std::optional<DType> dtype = {};          // type that the buffer must have; nothing: any
  std::vector<Walk> walks = {};             // axes
  std::optional<NumberRange> numbers = {};  // range of the integers that are written; nothing: any values
};
inline Operand reads(DType dtype, std::vector<Walk> walks) {
  return {PlaceUse::read, dtype, std::move(walks)};
}
inline Operand writes(std::optional<DType> dtype, std::vector<Walk> walks,
                      std::optional<NumberRange> numbers = {}) {
  return {PlaceUse::write, dtype, std::move(walks), std::move(numbers)};
}

/// Role of a size, which may be from `least` to `most`.
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

/// Role of any other field, such as a word, a type or a flag. `expected` describes valid values in messages.
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
