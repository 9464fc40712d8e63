#include "codegen/cuda/attention/wgmma_body.h"

#include <algorithm>
#include <cmath>

#include "codegen/cuda/attention/emit_attention.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

// Slots of the block arguments of a gradient's body.
constexpr int kScore = 0, kProduct = 1, kWeight = 2, kDelta = 3;

class BodyOfWeights {
 public:
  explicit BodyOfWeights(const Kernel& kernel) : kernel_(kernel), attention_(*kernel.attention) {}

  std::optional<int> factor() const {
    const std::vector<int>& returned = attention_.returned;
    if (attention_.part == AttentionPart::forward) return returned.size() > 1 ? returned[1] : -1;
    if (is_handed(returned[1], kWeight)) return -1;
    return other_operand(returned[1], ScalarOp::mul, kWeight);
  }

  /// select(random < number, number, number), the random bits being read by the comparison alone: one number
  /// is 0, and the other, which is positive, is returned.
  std::optional<KeptDraws> kept(int factor) const {
    const Instruction& x = at(factor);
    if (!is_scalar(x, ScalarOp::select)) return std::nullopt;
    const Instruction &chosen = at(x.operands[1]), &other = at(x.operands[2]);
    if (chosen.kind != Kind::constant || other.kind != Kind::constant) return std::nullopt;
    const double least = std::min(chosen.number, other.number), most = std::max(chosen.number, other.number);
    if (least != 0 || most <= 0) return std::nullopt;
    std::optional<KeptDraws> found = draws_where(x.operands[0]);
    if (!found) return std::nullopt;
    found->factor = most;
    found->keeps_from = found->keeps_from == (chosen.number > 0);
    return found;
  }

  /// Returns whether the result is the gradient of the modified score, perhaps 0 where no key is seen.
  bool has_plain_derivative(int factor) const {
    const Instruction& x = at(attention_.returned[2]);
    const bool is_masked = is_scalar(x, ScalarOp::select) && is_zero(x.operands[2]) &&
                           x.operands[0] == score_mask(kernel_).instruction;
    return is_modified_gradient(is_masked ? x.operands[1] : attention_.returned[2], factor);
  }

  /// The gradient of the modified score times a derivative, which depends neither on that gradient nor on
  /// what it is made of.
  bool has_separate_derivative(int factor) const { return is_multiple(attention_.returned[2], factor); }

 private:
  const Instruction& at(int id) const { return kernel_.instructions[static_cast<size_t>(id)]; }
  static bool is_scalar(const Instruction& x, ScalarOp op) {
    return x.kind == Kind::scalar && x.scalar_op == op;
  }
  /// Returns whether the value is the block argument of the slot, or its conversion to its own type.
  bool is_handed(int id, int slot) const {
    const Instruction& x = at(id);
    if (x.kind == Kind::convert && x.dtype == DType::f32) return is_handed(x.operands[0], slot);
    return x.kind == Kind::handed && x.slot == slot;
  }
  bool is_zero(int id) const { return at(id).kind == Kind::constant && at(id).number == 0; }

  /// weight * (product * factor - delta)
  bool is_modified_gradient(int id, int factor) const {
    const auto rest = other_operand(id, ScalarOp::mul, kWeight);
    if (!rest || !is_scalar(at(*rest), ScalarOp::sub) || !is_handed(at(*rest).operands[1], kDelta))
      return false;
    const int product = at(*rest).operands[0];
    return factor < 0 ? is_handed(product, kProduct)
                      : other_operand(product, ScalarOp::mul, kProduct) == factor;
  }

  bool is_multiple(int id, int factor) const {
    if (is_modified_gradient(id, factor) || is_zero(id)) return true;
    const Instruction& x = at(id);
    const auto is_part = [&](size_t i) { return is_multiple(x.operands[i], factor); };
    const auto is_given = [&](size_t i) { return !depends_on_gradient(x.operands[i]); };
    if (x.kind == Kind::convert) return x.dtype == DType::f32 && is_part(0);
    if (x.kind != Kind::scalar) return false;
    switch (x.scalar_op) {
      case ScalarOp::neg:
        return is_part(0);
      case ScalarOp::add:
      case ScalarOp::sub:
        return is_part(0) && is_part(1);
      case ScalarOp::mul:
        return (is_part(0) && is_given(1)) || (is_given(0) && is_part(1));
      case ScalarOp::div:
        return is_part(0) && is_given(1);
      case ScalarOp::select:
        return is_given(0) && is_part(1) && is_part(2);
      default:
        return false;
    }
  }

  bool depends_on_gradient(int id) const {
    const Instruction& x = at(id);
    return x.kind == Kind::random || (x.kind == Kind::handed && x.slot != kScore) ||
           std::ranges::any_of(x.operands, [&](int operand) { return depends_on_gradient(operand); });
  }

  /// Returns the other operand of an operation on the block argument of the slot.
  std::optional<int> other_operand(int id, ScalarOp op, int slot) const {
    const Instruction& x = at(id);
    if (!is_scalar(x, op)) return std::nullopt;
    for (const int side : {0, 1})
      if (is_handed(x.operands[static_cast<size_t>(side)], slot))
        return x.operands[static_cast<size_t>(1 - side)];
    return std::nullopt;
  }

  /// The draws for which a comparison with a constant holds, if it alone reads them.
  std::optional<KeptDraws> draws_where(int id) const {
    const Instruction& x = at(id);
    if (x.kind != Kind::scalar || x.operands.size() != 2) return std::nullopt;
    const bool is_first = at(x.operands[0]).kind == Kind::random;
    const int random = x.operands[is_first ? 0 : 1], number = x.operands[is_first ? 1 : 0];
    if (at(random).kind != Kind::random || at(number).kind != Kind::constant) return std::nullopt;
    const bool is_alone = std::ranges::all_of(kernel_.blocks.front().instructions, [&](int other) {
      return other == id || std::ranges::find(at(other).operands, random) == at(other).operands.end();
    });
    return is_alone ? draws_where(x.scalar_op, is_first, at(number).number) : std::nullopt;
  }

  static std::optional<KeptDraws> draws_where(ScalarOp op, bool is_first, double number) {
    constexpr ScalarOp kComparisons[] = {ScalarOp::ge, ScalarOp::gt, ScalarOp::lt, ScalarOp::le};
    const auto found = std::ranges::find(kComparisons, op);
    if (found == std::end(kComparisons)) return std::nullopt;
    const bool is_strict = op == ScalarOp::gt || op == ScalarOp::lt;
    const bool keeps_from = (op == ScalarOp::ge || op == ScalarOp::gt) == is_first;
    // The draws change sides at the next whole number for d >= n and d < n, and after n for d > n and d <= n.
    const double least = is_strict == keeps_from ? std::floor(number) + 1 : std::ceil(number);
    return KeptDraws{
        .factor = 0, .from = static_cast<int>(std::clamp(least, 0.0, 65536.0)), .keeps_from = keeps_from};
  }

  const Kernel& kernel_;
  const AttentionKernel& attention_;
};

}  // namespace

std::optional<int> weight_factor(const Kernel& kernel) { return BodyOfWeights(kernel).factor(); }

std::optional<KeptDraws> kept_draws(const Kernel& kernel) {
  const BodyOfWeights body(kernel);
  const std::optional<int> factor = body.factor();
  return factor && *factor >= 0 ? body.kept(*factor) : std::nullopt;
}

bool wgmma_takes_body(const Kernel& kernel) {
  const BodyOfWeights body(kernel);
  const std::optional<int> factor = body.factor();
  if (!factor || kernel.random_slots != (*factor < 0 ? 0 : 1)) return false;
  if (*factor >= 0 && !body.kept(*factor)) return false;
  if (kernel.attention->part == AttentionPart::forward) return true;
  return is_plain_when_unmasked(kernel) ? body.has_plain_derivative(*factor)
                                        : body.has_separate_derivative(*factor);
}

}  // namespace smelt
