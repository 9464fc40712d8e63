// The type rules of composites.
#include <algorithm>

#include "ir/type_rules.h"

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

namespace {

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

}  // namespace

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

}  // namespace smelt::rules
