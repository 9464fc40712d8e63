// The type rules of primitives.
#include "ir/ops/type_rules.h"

#include <algorithm>

#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/base/packed_format.h"
#include "runtime/sampling/draw_settings.h"
#include "runtime/sampling/token_weights.h"

namespace smelt::rules {

// ---- leaves

Types infer_declared(const Context& c) { return {c.result()}; }

Types infer_constant(const Context& c) {
  if (c.attributes.has(attr::value) == c.attributes.has(attr::values))
    fail("constant: expected either 'value', one number, or 'values', one per element");
  if (const auto* values = c.attributes.find_as(attr::values)) {
    if (element_count(c.result().shape) != Dim(static_cast<int64_t>(values->size())))
      fail("constant: {} values for {}", values->size(), str(c.result()));
  }
  return {c.result()};
}

Types infer_iota(const Context& c) {
  if (c.result().dtype != DType::i32) fail("iota: the result is {}, expected i32", str(c.result()));
  return {c.result()};
}

Types infer_random(const Context& c) {
  if (c.result().dtype != DType::i32) fail("random: the result is {}, expected i32", str(c.result()));
  return {c.result()};
}

// ---- pointwise and shape

Types infer_pointwise(const Context& c) {
  const ScalarOpInfo& row = info(c.scalar);
  if (static_cast<int>(c.operands.size()) != row.arity)
    fail("{}: {} operands, expected {}", row.name, c.operands.size(), row.arity);
  const bool choice = row.domain == Domain::choice;
  if (choice && c.type(0).dtype != DType::boolean)
    fail("{}: operand 0 is {}, expected bool", row.name, str(c.type(0)));
  const unsigned first = choice ? 1 : 0;
  for (unsigned i = 0; i < c.operands.size(); ++i) {
    if (c.type(i).shape != c.type(0).shape)
      fail("{}: operands {} and {} differ in shape; broadcast one of them", row.name, str(c.type(0)),
           str(c.type(i)));
    if (i > first && c.type(i).dtype != c.type(first).dtype)
      fail("{}: operands {} and {} differ in type; convert one of them", row.name, str(c.type(first)),
           str(c.type(i)));
  }
  return {{row.flag ? DType::boolean : c.type(first).dtype, c.type(0).shape}};
}

Types infer_same(const Context& c) { return {c.type(0)}; }

Types infer_convert(const Context& c) {
  if (c.result().shape != c.type(0).shape)
    fail("convert: {} to {} changes the shape", str(c.type(0)), str(c.result()));
  if (c.operands.size() == 2) {
    need_dtype(c, 1, DType::i32), need_shape(c, 1, c.type(0).shape);
    if (c.type(0).dtype != DType::f32 || c.result().dtype != DType::bf16)
      fail("convert: {} to {} by random bits; only f32 to bf16 rounds stochastically", str(c.type(0)),
           str(c.result()));
  }
  return {c.result()};
}

Types infer_reduce(const Context& c) {
  const Type& x = c.type(0);
  const auto& axes = c.get(attr::axes);
  Shape shape;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!llvm::is_contained(axes, i)) shape.push_back(x.shape[i]);
  if (c.reduce == ReduceOp::pivot && !has_pivot(x.shape, axes))
    fail("reduce pivot: the last reduced axis of {} must be a constant of at least {}", str(x),
         kPivotElements);
  if (axes.empty() && info(c.reduce).results.size() > 1)
    fail("reduce {}: 'axes' is empty, expected at least one dim of {}", name(c.reduce), str(x));
  Types results;
  for (ReduceType type : info(c.reduce).results)
    results.push_back({type == ReduceType::index ? DType::i32 : x.dtype, shape});
  return results;
}

Types infer_broadcast(const Context& c) {
  const Type& x = c.type(0);
  const auto& axes = c.get(attr::axes);
  if (static_cast<int64_t>(axes.size()) != x.rank())
    fail("broadcast: {} axes for {}, expected one a dim", axes.size(), str(x));
  for (size_t i = 0; i < axes.size(); ++i)
    if (c.result().shape[axes[i]] != x.shape[i])
      fail("broadcast: dim {} of {} does not fit dim {} of {}", i, str(x), axes[i], str(c.result()));
  if (!std::is_sorted(axes.begin(), axes.end()))
    fail("broadcast: axes [{}] must increase", fmt::join(axes, ", "));
  return {{x.dtype, c.result().shape}};
}

Types infer_reshape(const Context& c) {
  if (element_count(c.type(0).shape) != element_count(c.result().shape))
    fail("reshape: {} has {} elements, {} has {}", str(c.type(0)), element_count(c.type(0).shape).str(),
         str(c.result()), element_count(c.result().shape).str());
  return {{c.type(0).dtype, c.result().shape}};
}

Types infer_transpose(const Context& c) {
  const Type& x = c.type(0);
  const auto& permutation = c.get(attr::permutation);
  if (static_cast<int64_t>(permutation.size()) != x.rank())
    fail("transpose: permutation of {} for {}", permutation.size(), str(x));
  Shape shape;
  for (int64_t axis : permutation) shape.push_back(x.shape[axis]);
  return {{x.dtype, shape}};
}

Types infer_slice(const Context& c) {
  const Type& x = c.type(0);
  const int64_t axis = c.get(attr::axis);
  const Dim begin = c.get(attr::begin);
  Shape shape = x.shape;
  if (c.result().rank() == x.rank()) shape[axis] = c.result().shape[axis];
  if (shape != c.result().shape) fail("slice: {} of {} along axis {}", str(c.result()), str(x), axis);
  const Dim left = x.shape[axis] - begin - shape[axis];
  if ((left.constant() && *left.constant() < 0) || (begin.constant() && *begin.constant() < 0))
    fail("slice: [{}, {} + {}) is outside dim {} of {}", begin.str(), begin.str(), shape[axis].str(), axis,
         str(x));
  return {{x.dtype, shape}};
}

Types infer_concat(const Context& c) {
  Type type = c.type(0);
  const int64_t axis = c.get(attr::axis);
  for (unsigned i = 1; i < c.operands.size(); ++i) {
    Shape shape = c.type(i).shape;
    if (c.type(i).rank() == type.rank()) {
      const Dim length = shape[axis];
      shape[axis] = type.shape[axis];
      if (shape == type.shape && c.type(i).dtype == type.dtype) {
        type.shape[axis] += length;
        continue;
      }
    }
    fail("concat: operands {} and {} differ outside axis {}", str(c.type(0)), str(c.type(i)), axis);
  }
  return {type};
}

Types infer_pack(const Context& c) {
  if (c.result().rank() < 1) fail("pack: the result is {}, expected a rank from 1 on", str(c.result()));
  for (unsigned i = 0; i < c.operands.size(); ++i) need_dtype(c, i, c.result().dtype);
  return {c.result()};
}

// ---- indexing, matmul, effects

namespace {

Shape gathered_shape(const Context& c, int64_t axis) {
  Shape shape = c.type(0).shape;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, c.type(1).shape.begin(), c.type(1).shape.end());
  return shape;
}

}  // namespace

Types infer_gather(const Context& c) {
  const int64_t axis = c.get(attr::axis);
  need_integer(c, 1);
  return {{c.type(0).dtype, gathered_shape(c, axis)}};
}

Types infer_scatter_add(const Context& c) {
  const int64_t axis = c.get(attr::axis);
  need_integer(c, 1);
  need_shape(c, 2, gathered_shape(c, axis));
  // Sums are f32 whatever they are made of and stored as: floats of both may differ.
  if (!is_float(c.type(0).dtype) || !is_float(c.type(2).dtype)) need_dtype(c, 2, c.type(0).dtype);
  return {c.type(0)};
}

Types infer_scatter(const Context& c) {
  need_dtype(c, 2, c.type(0).dtype);
  return infer_scatter_add(c);
}

Types infer_scan(const Context& c) {
  const DType dtype = c.type(0).dtype;
  if (dtype != DType::f32 && dtype != DType::i32 && dtype != DType::i64)
    fail("scan: operand 0 is {}, expected f32, i32 or i64; convert it", str(c.type(0)));
  return {c.type(0)};
}

Types infer_top_k(const Context& c) {
  const int64_t k = c.get(attr::k);
  if (c.type(0).dtype != DType::f32 || c.type(0).rank() < 1)
    fail("top_k: operand 0 is {}, expected rows of f32; convert it", str(c.type(0)));
  Shape shape = c.type(0).shape;
  shape.back() = k;
  return {{DType::f32, shape}, {DType::i32, shape}};
}

/// Returns the number of elements in a row of codes; nothing if groups of whole words do not divide it.
std::optional<int64_t> elements_of_row(const Context& c, const Shape& codes, const Shape& scales) {
  const PackedFormat& format = *find_packed_format(c.get(attr::format));
  const auto bytes = codes.back().constant(), groups = scales.back().constant();
  if (!bytes || !groups || *groups < 1) return std::nullopt;
  const int64_t columns = *bytes * 8 / format.bits, group = columns / *groups;
  const bool divides = *bytes % 4 == 0 && columns % *groups == 0 && group % format.codes_per_word() == 0;
  return divides ? std::optional(columns) : std::nullopt;
}

Types infer_dequantize(const Context& c) {
  const Type &codes = c.type(0), &scales = c.type(1);
  need_dtype(c, 0, DType::u8);
  if (c.operands.size() > 2) need_dtype(c, 2, DType::i8);
  if (scales.dtype != DType::f32 && scales.dtype != DType::bf16 && scales.dtype != DType::f16)
    fail("dequantize: the scales are {}, expected f32, bf16 or f16", str(scales));
  for (unsigned i = 1; i < c.operands.size(); ++i) {
    const Shape& groups = c.type(i).shape;
    if (codes.rank() < 1 || groups.size() != codes.shape.size() || groups != scales.shape ||
        !std::equal(groups.begin(), groups.end() - 1, codes.shape.begin()))
      fail("dequantize: operand {} is {}, expected a number for each group of the rows of {}", i,
           str(c.type(i)), str(codes));
  }
  const auto columns = elements_of_row(c, codes.shape, scales.shape);
  if (!columns)
    fail("dequantize: rows of {} with scales {}: expected groups of whole words of 4 bytes", str(codes),
         str(scales));
  Shape shape = codes.shape;
  shape.back() = *columns;
  return {{scales.dtype, shape}};
}

Types infer_sample(const Context& c) {
  if (c.type(0).dtype != DType::f32 || c.type(0).rank() < 1)
    fail("sample: operand 0 is {}, expected rows of f32; convert it", str(c.type(0)));
  const int64_t words = c.type(0).shape.back().constant().value_or(0);
  if (words > kMostWords)
    fail("sample: a row of operand 0 has {} words, expected at most {}", words, kMostWords);
  Shape shape = c.type(0).shape;
  for (const auto& [operand, count] : {std::pair(1U, kDrawNumbers), std::pair(2U, kDrawIntegers)}) {
    shape.back() = count;
    need_dtype(c, operand, operand == 1 ? DType::f32 : DType::i32);
    need_shape(c, operand, shape);
  }
  shape.pop_back();
  return {{DType::i32, shape}, {DType::f32, shape}};
}

std::map<char, Dim> letter_dims(const Context& c, llvm::ArrayRef<std::string> letters) {
  std::map<char, Dim> dims;
  for (unsigned i = 0; i < letters.size(); ++i) {
    need_rank(c, i, static_cast<int64_t>(letters[i].size()));
    for (size_t d = 0; d < letters[i].size(); ++d) {
      auto [it, fresh] = dims.emplace(letters[i][d], c.type(i).shape[d]);
      if (!fresh && it->second != c.type(i).shape[d])
        fail("{}: '{}' is {} in one operand and {} in {}", name(c.op), letters[i][d], it->second.str(),
             c.type(i).shape[d].str(), str(c.type(i)));
    }
  }
  return dims;
}

namespace {

/// Returns i32: sums of products of bytes are exact.
DType sum_of_bytes_dtype(const Context& c, const std::string* written) {
  if (c.has_body) fail("matmul: two operands of i8 have sums of i32, which no body reads");
  if (written && parse_dtype(*written) != DType::i32)
    fail("matmul: two operands of i8 have sums of i32, not {}: convert the result", *written);
  return DType::i32;
}

/// Returns f32 before a body, otherwise the attribute `result`, otherwise the operands' type, or f32 where
/// that is f8e4m3.
DType product_dtype(const Context& c) {
  const std::string* written = c.attributes.find_as(attr::result);
  const unsigned real = c.type(0).dtype == DType::i8 ? 1 : 0;
  if (c.type(real).dtype == DType::i8) return sum_of_bytes_dtype(c, written);
  if (c.has_body) {
    need_float(c, real);
    if (written) fail("matmul: the body says what the accumulator becomes; leave 'result' out");
    return DType::f32;
  }
  if (!written) return c.type(real).dtype == DType::f8e4m3 ? DType::f32 : c.type(real).dtype;
  const std::optional<DType> dtype = parse_dtype(*written);
  if (!dtype || !is_float(*dtype)) fail("matmul: the result type '{}' is no float", *written);
  return *dtype;
}

void need_tf32_operands(const Context& c) {
  if (c.get(attr::tf32) && c.type(0).dtype != DType::f32)
    fail("matmul: tf32 is for operands of f32, here they are {}", name(c.type(0).dtype));
}

}  // namespace

Types infer_matmul(const Context& c) {
  const MatmulSpec spec = parse_matmul_spec(c.get(attr::spec));
  // Weights of i8 multiply floats as the numbers that they are.
  const bool mixed = (c.type(0).dtype == DType::i8 && is_float(c.type(1).dtype)) ||
                     (c.type(1).dtype == DType::i8 && is_float(c.type(0).dtype));
  if (!mixed) need_dtype(c, 1, c.type(0).dtype);
  const auto dims = letter_dims(c, {spec.a, spec.b});
  Shape shape;
  for (char letter : spec.out) shape.push_back(dims.at(letter));
  need_tf32_operands(c);
  return {{product_dtype(c), shape}};
}

// ---- ranks

namespace {

const MeshAxis& need_mesh_axis(const Context& c) {
  const auto& name = c.get(attr::mesh_axis);
  const Mesh& mesh = c.operands[0]->node()->graph().module().mesh();
  if (const auto axis = mesh.find(name)) return mesh.axes[*axis];
  fail("collective: the mesh {{{}}} has no axis \"{}\"", str(mesh), name);
}

Dim& need_dim_of(const Context& c, Type& type, AttributeName<int64_t> name) {
  const int64_t dim = c.get(name);
  if (dim < 0 || dim >= type.rank())
    fail("collective: {} is {}, which {} does not have", name.text, dim, str(c.type(0)));
  return type.shape[dim];
}

void cut(const Context& c, Dim& dim, const MeshAxis& axis) {
  const auto part = dim.divide(axis.size);
  if (!part)
    fail("collective: the {} ranks along \"{}\" do not divide {} of {}", axis.size, axis.name, dim.str(),
         str(c.type(0)));
  dim = *part;
}

void check_sum(const Context& c, const std::string& kind) {
  if (!c.attributes.has(attr::sum)) return;
  if (kind != "all_reduce" && kind != "reduce_scatter")
    fail("collective: {} sums nothing; leave 'sum' out", kind);
}

/// A dim that the kind does not read would be silently without effect.
void check_dims(const Context& c, const std::string& kind) {
  if (kind == "all_reduce" && c.attributes.has(attr::dim))
    fail("collective: all_reduce is of whole tensors; leave 'dim' out");
  if (kind != "all_to_all" && c.attributes.has(attr::to))
    fail("collective: {} cuts no second dim; leave 'to' out", kind);
}

}  // namespace

Types infer_collective(const Context& c) {
  const auto& kind = c.get(attr::kind);
  const MeshAxis& axis = need_mesh_axis(c);
  Type type = c.type(0);
  check_sum(c, kind);
  if (kind == "reduce_scatter") {
    cut(c, need_dim_of(c, type, attr::dim), axis);
  } else if (kind == "all_gather") {
    need_dim_of(c, type, attr::dim) *= axis.size;
  } else if (kind == "all_to_all") {
    need_dim_of(c, type, attr::dim) *= axis.size;
    cut(c, need_dim_of(c, type, attr::to), axis);
    if (c.get(attr::dim) == c.get(attr::to)) fail("collective: all_to_all from a dim to itself");
  }
  check_dims(c, kind);
  return {type};
}

Types infer_insert(const Context& c) {
  const Type &x = c.type(0), &value = c.type(1);
  if (value.dtype != x.dtype || value.rank() != x.rank())
    fail("insert: a value of {} for a part of {}", str(value), str(x));
  return {x};
}

Types infer_update(const Context&) { return {}; }

/// All that it computes is in its body.
Types infer_fusion(const Context& c) {
  if (!c.has_body) fail("fusion: it has no body");
  return {};
}

}  // namespace smelt::rules
