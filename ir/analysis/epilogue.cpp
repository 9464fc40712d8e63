#include "ir/analysis/epilogue.h"

#include "ir/graph/body.h"
#include "ir/ops/matmul_spec.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

/// Returns the operand of a convert; any other value itself.
const Value* unconverted(const Value* value) {
  return value->node()->is(Op::convert) && value->node()->operands().size() == 1 ? value->node()->operand(0)
                                                                                 : value;
}

Value* operand_behind(const Node& matmul, const Value* input) {
  for (const BodyArgument& argument : body_arguments(matmul))
    if (argument.input == input) return argument.operand;
  return nullptr;
}

/// The term as an operand that the call adds: widened, and along the rows in case of a vector.
std::optional<Epilogue> addend(const Node& matmul, const Value* term) {
  const Node& node = *term->node();
  const bool row = node.is(Op::broadcast) && node.get(attr::axes) == std::vector<int64_t>{term->rank() - 1};
  Value* operand = operand_behind(matmul, unconverted(row ? node.operand(0) : term));
  if (!operand || operand->dtype() != matmul.result()->dtype()) return std::nullopt;
  return Epilogue{row ? Epilogue::Kind::row : Epilogue::Kind::matrix, operand, {}};
}

/// The f32 scalar that the value repeats, as an operand of the matmul; null if it is no such value.
Value* scalar_behind(const Node& matmul, const Value* value) {
  if (!value->node()->is(Op::broadcast) || value->node()->operand(0)->rank() != 0) return nullptr;
  Value* operand = operand_behind(matmul, value->node()->operand(0));
  return operand && operand->dtype() == DType::f32 ? operand : nullptr;
}

/// The scalars that `value` multiplies the accumulator by; nothing if it is anything else.
std::optional<llvm::SmallVector<Value*, 2>> scales_of(const Node& matmul, const Value* value) {
  llvm::SmallVector<Value*, 2> scales;
  while (value != handed_values(matmul).front()) {
    if (!value->node()->is(ScalarOp::mul) || scales.size() == kMostScales) return std::nullopt;
    const unsigned side = scalar_behind(matmul, value->node()->operand(0)) ? 0 : 1;
    Value* scale = scalar_behind(matmul, value->node()->operand(side));
    if (!scale) return std::nullopt;
    scales.push_back(scale);
    value = value->node()->operand(1 - side);
  }
  return scales;
}

}  // namespace

std::optional<Epilogue> epilogue(const Node& matmul) {
  if (!matmul.is(Op::matmul) || !matmul.body || matmul.result_count() != 1) return std::nullopt;
  const Value* result = unconverted(matmul.body->outputs[0].value);
  if (auto scales = scales_of(matmul, result); scales && !scales->empty())
    return Epilogue{Epilogue::Kind::none, nullptr, std::move(*scales)};
  const Node& sum = *result->node();
  if (!sum.is(ScalarOp::add)) return std::nullopt;
  for (unsigned side : {0u, 1u})
    if (auto scales = scales_of(matmul, sum.operand(side)))
      if (auto found = addend(matmul, sum.operand(1 - side))) {
        found->scales = std::move(*scales);
        return found;
      }
  return std::nullopt;
}

bool has_rows(const Node& matmul) {
  const MatmulSpec spec = parse_matmul_spec(matmul.get(attr::spec));
  const auto in = [](const std::string& letters, char letter) {
    return letters.find(letter) != std::string::npos;
  };
  std::string columns, summed;
  for (char letter : spec.b) (in(spec.a, letter) ? summed : columns) += letter;
  const bool batched = llvm::any_of(summed, [&](char letter) { return in(spec.out, letter); });
  return !batched && summed.size() == 1 && columns.size() == 1 && spec.out.back() == columns[0];
}

}  // namespace smelt
