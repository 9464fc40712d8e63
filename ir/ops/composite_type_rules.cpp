// The type rules of composites.
#include "ir/ops/type_rules.h"

namespace smelt::rules {

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
  const auto& spec = c.get(attr::spec);
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

Types infer_with_slopes(const Context& c) {
  if (c.operands.size() % 2 == 0)
    fail("with_slopes: {} operands, expected a value, then pairs of an operand and a slope",
         c.operands.size());
  for (unsigned i = 0; i < c.operands.size(); ++i) need_float(c, i), need_shape(c, i, c.type(0).shape);
  return {c.type(0)};
}

Types infer_sort(const Context& c) {
  const DType dtype = c.type(0).dtype;
  if (c.type(0).rank() < 1 || (dtype != DType::f32 && dtype != DType::i32 && dtype != DType::i64))
    fail("sort: operand 0 is {}, expected rows of f32, i32 or i64; convert it", str(c.type(0)));
  return {c.type(0), {DType::i32, c.type(0).shape}};
}

Types infer_cotangent(const Context& c) {
  if (!is_float(c.result().dtype)) fail("cotangent: its type is {}, expected floats", str(c.result()));
  return {c.result()};
}

namespace {

/// Checks that the operands are `count` pairs from `first` on: each one of the first half has the type of its
/// partner.
void check_pairs(const Context& c, unsigned first, unsigned count, std::string_view what) {
  for (unsigned i = first; i < first + count; ++i) {
    need_float(c, i);
    if (c.type(i + count) != c.type(i))
      fail("custom_vjp: operand {} is {}, expected {}, the type of {}", i + count, str(c.type(i + count)),
           str(c.type(i)), what);
  }
}

}  // namespace

Types infer_custom_vjp(const Context& c) {
  const auto count = static_cast<int64_t>(c.operands.size());
  const int64_t results = c.get(attr::results);
  if (results < 1 || 2 * results > count || count % 2 != 0)
    fail(
        "custom_vjp: {} operands with 'results' = {}; expected values, as many cotangents, inputs, and as "
        "many "
        "gradients",
        count, results);
  const auto values = static_cast<unsigned>(results);
  check_pairs(c, 0, values, "its value");
  check_pairs(c, 2 * values, static_cast<unsigned>(count / 2) - values, "its input");
  Types types;
  for (unsigned i = 0; i < values; ++i) types.push_back(c.type(i));
  return types;
}

Types infer_embedding(const Context& c) {
  need_rank(c, 0, 2);
  need_integer(c, 1);
  Shape shape = c.type(1).shape;
  shape.push_back(c.type(0).shape[1]);
  return {{c.type(0).dtype, shape}};
}

namespace {

/// [b,h,t,s] of q[bthd] and k[bskd].
Type score_type(const Context& c) {
  const Shape &q = c.type(0).shape, &k = c.type(1).shape;
  return {DType::f32, {q[0], q[2], q[1], k[1]}};
}

void check_same_types(const Context& c) {
  for (unsigned i = 0; i < c.operands.size(); ++i) need_rank(c, i, 4), need_float(c, i);
  for (unsigned i = 1; i < c.operands.size(); ++i) need_dtype(c, i, c.type(0).dtype);
}

/// Checks q, codes of k and of v, and a scale for each head of each key and value.
void check_codes(const Context& c) {
  if (c.operands.size() != 5)
    fail("attention: {} operands, expected q, k and v, or also the scales of k and of v", c.operands.size());
  for (unsigned i = 0; i < 3; ++i) need_rank(c, i, 4);
  need_float(c, 0), need_dtype(c, 2, c.type(1).dtype);
  if (const DType dtype = c.type(1).dtype; dtype != DType::i8 && dtype != DType::f8e4m3)
    fail("attention: codes of k and v are {}, expected i8 or f8e4m3", name(dtype));
  for (unsigned i = 3; i < 5; ++i)
    need_float(c, i), need_shape(c, i, {c.type(1).shape.begin(), c.type(1).shape.end() - 1});
}

void check_heads(const Context& c) {
  const Shape &q = c.type(0).shape, &k = c.type(1).shape, &v = c.type(2).shape;
  if (k[0] != q[0] || v[0] != q[0] || k[1] != v[1] || k[2] != v[2] || k[3] != q[3])
    fail("{}: q {}, k {}, v {} do not fit (batch, length, heads, width)", name(c.op), str(c.type(0)),
         str(c.type(1)), str(c.type(2)));
  if (!q[2].divide(k[2]))
    fail("{}: {} query heads are no multiple of {} key heads", name(c.op), q[2].str(), k[2].str());
}

/// Checks the first values that a body returns: `count` values per score.
void check_returned(const Context& c, size_t count) {
  const Type expected = score_type(c);
  for (size_t i = 0; i < count; ++i)
    if ((*c.returned)[i] != expected)
      fail("{}: result {} of its body is {}, expected {}", name(c.op), i, str((*c.returned)[i]),
           str(expected));
}

}  // namespace

Types infer_attention(const Context& c) {
  c.operands.size() > 3 ? check_codes(c) : check_same_types(c);
  check_heads(c);
  const Type scores = score_type(c);
  if (c.has_body) return {scores};
  if (c.returned) {
    if (c.returned->empty() || c.returned->size() > 2)
      fail(
          "attention: its body returns {} values, expected the modified score and at most a factor of the "
          "weight",
          c.returned->size());
    check_returned(c, c.returned->size());
  }
  const Type means = {c.type(0).dtype,
                      {scores.shape[0], scores.shape[2], scores.shape[1], c.type(2).shape[3]}};
  Types results = {means, {DType::f32, {scores.shape.begin(), scores.shape.end() - 1}}};
  if (c.get(attr::rest)) results.push_back(means);
  return results;
}

Types infer_attention_grad(const Context& c) {
  check_same_types(c);
  check_heads(c);
  const Type scores = score_type(c);
  need_shape(c, 3, {scores.shape[0], scores.shape[2], scores.shape[1], c.type(2).shape[3]});
  if (c.has_body) return {scores, scores};
  if (!c.returned) fail("attention_grad: it has no body");
  if (c.returned->size() < 2)
    fail(
        "attention_grad: its body returns {} values, expected at least the weight and the gradient of the "
        "score",
        c.returned->size());
  check_returned(c, 2);
  Types results = {c.type(0), c.type(1), c.type(2)};
  results.insert(results.end(), c.returned->begin() + 2, c.returned->end());
  return results;
}

Types infer_cross_entropy(const Context& c) {
  if (c.type(0).rank() < 1) fail("cross_entropy: logits are {}, expected [..., classes]", str(c.type(0)));
  need_integer(c, 1);
  const Shape rows(c.type(0).shape.begin(), c.type(0).shape.end() - 1);
  need_shape(c, 1, rows);
  return {{c.type(0).dtype, rows}};
}

}  // namespace smelt::rules
