// The type rule of every op, named in the last column of ops.def. A rule returns the result types or throws
// Error saying what it expected; builder, parser and verifier all ask here.
#include <fmt/ranges.h>

#include <algorithm>

#include "ir/builder.h"
#include "llvm/ADT/STLExtras.h"
#include "runtime/error.h"

namespace smelt {
namespace {

struct Context {
  Op op;
  ScalarOp scalar;
  ReduceOp reduce;
  llvm::ArrayRef<Value*> operands;
  const Attributes& attributes;
  llvm::ArrayRef<Type> declared;

  const Type& type(unsigned i) const { return operands[i]->type; }
  const Type& result() const { return declared[0]; }
};

using Types = std::vector<Type>;

template <typename T>
const T* attribute(const Context& c, std::string_view name) {
  auto it = c.attributes.find(name);
  return it == c.attributes.end() ? nullptr : std::get_if<T>(&it->second);
}

template <typename T>
const T& need(const Context& c, std::string_view name, std::string_view kind) {
  if (const T* value = attribute<T>(c, name)) return *value;
  fail("{}: attribute '{}' must be given and be {}", smelt::name(c.op), name, kind);
}

int64_t need_int(const Context& c, std::string_view name) { return need<int64_t>(c, name, "an integer"); }

double need_number(const Context& c, std::string_view name) {
  if (const int64_t* value = attribute<int64_t>(c, name)) return static_cast<double>(*value);
  return need<double>(c, name, "a number");
}

int64_t need_axis(const Context& c, int64_t rank) {
  const int64_t axis = need_int(c, "axis");
  if (axis < 0 || axis >= rank) fail("{}: axis {} is outside a tensor of rank {}", name(c.op), axis, rank);
  return axis;
}

Dim need_dim(const Context& c, std::string_view name) {
  if (const int64_t* value = attribute<int64_t>(c, name)) return *value;
  return need<Dim>(c, name, "a dim");
}

/// A list of distinct axes below rank.
const std::vector<int64_t>& need_axes(const Context& c, std::string_view name, int64_t rank) {
  const auto& axes = need<std::vector<int64_t>>(c, name, "a list of axes");
  std::vector<bool> seen(rank);
  for (int64_t axis : axes) {
    if (axis < 0 || axis >= rank)
      fail("{}: {} {} is outside a tensor of rank {}", smelt::name(c.op), name, axis, rank);
    if (seen[axis]) fail("{}: {} names {} twice", smelt::name(c.op), name, axis);
    seen[axis] = true;
  }
  return axes;
}

void need_integer(const Context& c, unsigned i) {
  if (is_float(c.type(i).dtype) || c.type(i).dtype == DType::boolean)
    fail("{}: operand {} is {}, expected integers", name(c.op), i, str(c.type(i)));
}

void need_float(const Context& c, unsigned i) {
  if (!is_float(c.type(i).dtype))
    fail("{}: operand {} is {}, expected floats", name(c.op), i, str(c.type(i)));
}

void need_shape(const Context& c, unsigned i, const Shape& shape) {
  if (c.type(i).shape != shape)
    fail("{}: operand {} is {}, expected shape {}", name(c.op), i, str(c.type(i)), str(shape));
}

void need_dtype(const Context& c, unsigned i, DType dtype) {
  if (c.type(i).dtype != dtype)
    fail("{}: operand {} is {}, expected {}", name(c.op), i, str(c.type(i)), name(dtype));
}

void need_rank(const Context& c, unsigned i, int64_t rank) {
  if (c.type(i).rank() != rank)
    fail("{}: operand {} is {}, expected rank {}", name(c.op), i, str(c.type(i)), rank);
}

// ---- leaves

Types infer_declared(const Context& c) {
  need<std::string>(c, "name", "a string");
  return {c.result()};
}

Types infer_constant(const Context& c) {
  if (const auto* values = attribute<std::vector<double>>(c, "values")) {
    if (element_count(c.result().shape) != Dim(static_cast<int64_t>(values->size())))
      fail("constant: {} values for {}", values->size(), str(c.result()));
  } else {
    need_number(c, "value");
  }
  return {c.result()};
}

Types infer_iota(const Context& c) {
  need_axis(c, c.result().rank());
  if (c.result().dtype != DType::i32) fail("iota: the result is {}, expected i32", str(c.result()));
  return {c.result()};
}

Types infer_random(const Context& c) {
  if (need_int(c, "id") < 0) fail("random: id must not be negative");
  if (c.result().dtype != DType::i32) fail("random: the result is {}, expected i32", str(c.result()));
  return {c.result()};
}

// ---- pointwise and shape

Types infer_pointwise(const Context& c) {
  const ScalarOpInfo& row = info(c.scalar);
  if (static_cast<int>(c.operands.size()) != row.arity)
    fail("{}: {} operands, expected {}", row.name, c.operands.size(), row.arity);
  const bool choice = c.scalar == ScalarOp::select;
  if (choice && c.type(0).dtype != DType::boolean)
    fail("select: operand 0 is {}, expected bool", str(c.type(0)));
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
  const auto& axes = need_axes(c, "axes", x.rank());
  Shape shape;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!llvm::is_contained(axes, i)) shape.push_back(x.shape[i]);
  if (c.reduce == ReduceOp::pivot && !has_pivot(x.shape, axes))
    fail("reduce pivot: the last reduced axis of {} must be a constant of at least {}", str(x),
         kPivotElements);
  if (info(c.reduce).results == 1) return {{x.dtype, shape}};
  return {{x.dtype, shape}, {c.reduce == ReduceOp::argmax ? DType::i32 : x.dtype, shape}};
}

Types infer_broadcast(const Context& c) {
  const Type& x = c.type(0);
  const auto& axes = need_axes(c, "axes", c.result().rank());
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
  const auto& permutation = need_axes(c, "permutation", x.rank());
  if (static_cast<int64_t>(permutation.size()) != x.rank())
    fail("transpose: permutation of {} for {}", permutation.size(), str(x));
  Shape shape;
  for (int64_t axis : permutation) shape.push_back(x.shape[axis]);
  return {{x.dtype, shape}};
}

Types infer_slice(const Context& c) {
  const Type& x = c.type(0);
  const int64_t axis = need_axis(c, x.rank());
  const Dim begin = need_dim(c, "begin");
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
  const int64_t axis = need_axis(c, type.rank());
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
  need<std::string>(c, "state", "a string");
  if (c.result().rank() != 1) fail("pack: the result is {}, expected rank 1", str(c.result()));
  for (unsigned i = 0; i < c.operands.size(); ++i) need_dtype(c, i, c.result().dtype);
  return {c.result()};
}

// ---- indexing, products, effects

Shape gathered_shape(const Context& c, int64_t axis) {
  Shape shape = c.type(0).shape;
  shape.erase(shape.begin() + axis);
  shape.insert(shape.begin() + axis, c.type(1).shape.begin(), c.type(1).shape.end());
  return shape;
}

Types infer_gather(const Context& c) {
  const int64_t axis = need_axis(c, c.type(0).rank());
  need_integer(c, 1);
  return {{c.type(0).dtype, gathered_shape(c, axis)}};
}

Types infer_scatter_add(const Context& c) {
  const int64_t axis = need_axis(c, c.type(0).rank());
  need_integer(c, 1);
  need_shape(c, 2, gathered_shape(c, axis));
  // Sums are f32 whatever they are made of and stored as: floats of both may differ.
  if (!is_float(c.type(0).dtype) || !is_float(c.type(2).dtype)) need_dtype(c, 2, c.type(0).dtype);
  return {c.type(0)};
}

/// The dim of every letter; throws where two operands disagree.
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

/// The attribute `result`, else the operands' type.
DType product_dtype(const Context& c) {
  const std::string* written = attribute<std::string>(c, "result");
  if (!written) return c.type(0).dtype;
  const std::optional<DType> dtype = parse_dtype(*written);
  if (!dtype || !is_float(*dtype)) fail("matmul: the result type '{}' is no float", *written);
  return *dtype;
}

void need_tf32_operands(const Context& c) {
  if (c.attributes.contains("tf32") && need<bool>(c, "tf32", "true or false") &&
      c.type(0).dtype != DType::f32)
    fail("matmul: tf32 is for operands of f32, here they are {}", name(c.type(0).dtype));
}

/// A number for each place of the result, or for each along its last letter.
void need_addend(const Context& c, DType dtype, const Shape& result) {
  need_dtype(c, 2, dtype);
  const Shape& shape = c.type(2).shape;
  if (shape != result && (result.empty() || shape != Shape{result.back()}))
    fail("matmul: what it adds is {}, expected the result's shape {} or its last dim alone", str(c.type(2)),
         str(Type{dtype, result}));
}

Types infer_matmul(const Context& c) {
  const MatmulSpec spec = parse_matmul_spec(need<std::string>(c, "spec", "a string"));
  need_dtype(c, 1, c.type(0).dtype);
  const auto dims = letter_dims(c, {spec.a, spec.b});
  Shape shape;
  for (char letter : spec.out) shape.push_back(dims.at(letter));
  const DType dtype = product_dtype(c);
  need_tf32_operands(c);
  if (c.operands.size() == 3) need_addend(c, dtype, shape);
  return {{dtype, shape}};
}

Types infer_update(const Context& c) {
  need<std::string>(c, "state", "a string");
  return {};
}

Types infer_fusion(const Context& c) { return {c.declared.begin(), c.declared.end()}; }

// ---- composites

Types infer_linear(const Context& c) {
  need_rank(c, 1, 2);
  if (c.type(0).rank() < 1 || c.type(0).shape.back() != c.type(1).shape[1])
    fail("linear: x is {}, w is {}; the last dims must agree", str(c.type(0)), str(c.type(1)));
  if (c.operands.size() == 3) need_shape(c, 2, {c.type(1).shape[0]});
  Type type = c.type(0);
  type.shape.back() = c.type(1).shape[0];
  return {type};
}

Types infer_einsum(const Context& c) {
  const auto& spec = need<std::string>(c, "spec", "a string");
  const size_t arrow = spec.find("->");
  if (arrow == std::string::npos) fail("einsum: spec \"{}\" has no ->", spec);
  std::vector<std::string> letters = {spec.substr(0, arrow)};
  if (const size_t comma = letters[0].find(','); comma != std::string::npos)
    letters = {letters[0].substr(0, comma), letters[0].substr(comma + 1)};
  if (letters.size() != c.operands.size())
    fail("einsum: spec \"{}\" is for {} operands, {} given", spec, letters.size(), c.operands.size());
  const auto dims = letter_dims(c, letters);
  Shape shape;
  for (char letter : spec.substr(arrow + 2)) {
    if (!dims.count(letter)) fail("einsum: '{}' of the result is in no operand of \"{}\"", letter, spec);
    shape.push_back(dims.at(letter));
  }
  return {{c.type(0).dtype, shape}};
}

Types infer_embedding(const Context& c) {
  need_rank(c, 0, 2);
  need_integer(c, 1);
  Shape shape = c.type(1).shape;
  shape.push_back(c.type(0).shape[1]);
  return {{c.type(0).dtype, shape}};
}

/// After q, k and v: a bias of floats, its last dims [t,s], then a mask of integers [b,s], either of them or
/// both.
void check_attention_extras(const Context& c) {
  const Shape &q = c.type(0).shape, &k = c.type(1).shape;
  const Shape scores = {q[0], q[2], q[1], k[1]};
  for (unsigned i = 3; i < c.operands.size(); ++i) {
    const Type& extra = c.type(i);
    const bool bias = is_float(extra.dtype) && i == 3 && extra.rank() >= 2 && extra.rank() <= 4 &&
                      std::equal(extra.shape.rbegin(), extra.shape.rend(), scores.rbegin());
    const bool mask =
        extra.dtype == DType::i32 && i + 1 == c.operands.size() && extra.shape == Shape{k[0], k[1]};
    if (!bias && !mask)
      fail(
          "attention: operand {} is {}; expected a bias of floats that ends scores {}, or last a mask "
          "i32[{},{}]",
          i, str(extra), str(scores), k[0].str(), k[1].str());
  }
}

Types infer_attention(const Context& c) {
  for (unsigned i = 0; i < 3; ++i) need_rank(c, i, 4), need_float(c, i);
  const Shape &q = c.type(0).shape, &k = c.type(1).shape, &v = c.type(2).shape;
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[2] != v[2] || k[3] != q[3])
    fail("attention: q {}, k {}, v {} do not fit (batch, length, heads, width)", str(c.type(0)),
         str(c.type(1)), str(c.type(2)));
  if (!q[2].divide(k[2]))
    fail("attention: {} query heads are no multiple of {} key heads", q[2].str(), k[2].str());
  need_number(c, "scale");
  check_attention_extras(c);
  return {{c.type(0).dtype, {q[0], q[1], q[2], v[3]}}};
}

Types infer_cross_entropy(const Context& c) {
  if (c.type(0).rank() < 1) fail("cross_entropy: logits are {}, expected [..., classes]", str(c.type(0)));
  need_integer(c, 1);
  const Shape rows(c.type(0).shape.begin(), c.type(0).shape.end() - 1);
  need_shape(c, 1, rows);
  return {{c.type(0).dtype, rows}};
}

using Rule = Types (*)(const Context&);
constexpr Rule kRules[] = {
#define SMELT_OP(name, fewest, most, traits, rule) infer_##rule,
#include "ir/ops.def"
};

void check_arity(const Context& c) {
  const OpInfo& row = info(c.op);
  const int count = static_cast<int>(c.operands.size());
  if (count < row.fewest || (row.most >= 0 && count > row.most))
    fail("{}: {} operands, expected {}{}", row.name, count, row.fewest,
         row.most < 0             ? " or more"
         : row.most == row.fewest ? ""
                                  : fmt::format(" to {}", row.most));
  if (row.has(Trait::declared) && c.op != Op::fusion && c.declared.size() != 1)
    fail("{}: its type must be written down", row.name);
}

}  // namespace

std::vector<Type> infer_types(Op op, ScalarOp scalar, ReduceOp reduce, llvm::ArrayRef<Value*> operands,
                              const Attributes& attributes, llvm::ArrayRef<Type> declared) {
  const Context context{op, scalar, reduce, operands, attributes, declared};
  check_arity(context);
  return kRules[static_cast<size_t>(op)](context);
}

namespace {

void need_distinct(std::string_view letters, std::string_view spec) {
  for (size_t i = 0; i < letters.size(); ++i) {
    const bool letter = (letters[i] >= 'a' && letters[i] <= 'z') || (letters[i] >= 'A' && letters[i] <= 'Z');
    if (!letter) fail("matmul: '{}' in \"{}\" is no letter", letters[i], spec);
    if (letters.find(letters[i], i + 1) != std::string_view::npos)
      fail("matmul: '{}' stands twice in one part of \"{}\"", letters[i], spec);
  }
}

}  // namespace

MatmulSpec parse_matmul_spec(std::string_view spec) {
  const size_t comma = spec.find(','), arrow = spec.find("->");
  if (comma == std::string_view::npos || arrow == std::string_view::npos || comma > arrow)
    fail("matmul: spec \"{}\" is not of the form \"ab,bc->ac\"", spec);
  MatmulSpec result{std::string(spec.substr(0, comma)),
                    std::string(spec.substr(comma + 1, arrow - comma - 1)),
                    std::string(spec.substr(arrow + 2))};
  for (const std::string* part : {&result.a, &result.b, &result.out}) need_distinct(*part, spec);
  for (char letter : result.out)
    if (result.a.find(letter) == std::string::npos && result.b.find(letter) == std::string::npos)
      fail("matmul: '{}' of the result is in no operand of \"{}\"", letter, spec);
  for (char letter : result.a + result.b) {
    const bool both =
        result.a.find(letter) != std::string::npos && result.b.find(letter) != std::string::npos;
    if (!both && result.out.find(letter) == std::string::npos)
      fail("matmul: '{}' of one operand alone must be in the result of \"{}\"", letter, spec);
  }
  return result;
}

}  // namespace smelt
