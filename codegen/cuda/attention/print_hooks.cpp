#include "codegen/cuda/attention/emit_attention.h"

#include <fmt/ranges.h>

#include <limits>

#include "codegen/cuda/attention/wgmma_body.h"
#include "codegen/cuda/printers/body_arguments.h"
#include "codegen/cuda/printers/print_statements.h"
#include "codegen/gpu/lower/block_lowerings.h"

namespace smelt {
namespace {

using Kind = Instruction::Kind;

constexpr const char* kIndices[] = {"b", "h", "t", "s"};
/// The names of block arguments, by the slots of `handed`.
constexpr const char* kHanded[] = {"score", "product", "weight", "delta"};

/// An instruction's value, and what it is assigned to.
struct Result {
  gpu::Expr target;
  int instruction;
};

gpu::Expr real_variable(const char* name) { return gpu::variable(name, gpu::Scalar::real); }

/// Element of an array that a hook gets as a pointer.
gpu::Expr element_of(const char* array, gpu::Scalar type, size_t i) {
  return gpu::element(gpu::variable(array, gpu::Type(type).pointer_to()), i);
}

class HookPrinter {
 public:
  HookPrinter(const Kernel& kernel, HookUse use)
      : kernel_(kernel), attention_(*kernel.attention), use_(use), mask_(score_mask(kernel)) {}

  AttentionHooks facts() const {
    const int modified = attention_.returned[0];
    AttentionHooks hooks;
    hooks.draws = kernel_.random_slots;
    hooks.has_factor = factor() >= 0;
    hooks.kept = kept_draws(kernel_);
    hooks.draws_in_score = is_random(modified);
    hooks.plain_when_unmasked = is_plain();
    hooks.row_gradients = attention_.row_gradients;
    hooks.column_gradients = attention_.column_gradients;
    hooks.element_gradients = attention_.element_gradients;
    return hooks;
  }

  AttentionHooks run() const {
    AttentionHooks hooks = facts();
    hooks.text = arguments() + draw() + tile_function(kernel_, mask_, use_) + forward() +
                 (is_forward() ? "" : backward());
    return hooks;
  }

  bool is_plain() const {
    return is_score(mask_.instruction >= 0 ? mask_.seen_score : attention_.returned[0]);
  }

 private:
  const Instruction& instruction(int id) const { return kernel_.instructions[static_cast<size_t>(id)]; }
  bool is_forward() const { return attention_.part == AttentionPart::forward; }
  int factor() const {
    return is_forward() || use_ == HookUse::wgmma ? weight_factor(kernel_).value_or(-1) : -1;
  }
  /// Returns whether the value is the score itself, or its conversion to its own type.
  bool is_score(int id) const {
    const Instruction& x = instruction(id);
    return x.kind == Kind::convert ? is_score(x.operands[0]) : x.kind == Kind::handed && x.slot == 0;
  }

  bool is_random(int id) const {
    const Instruction& x = instruction(id);
    return x.kind == Kind::random ||
           std::ranges::any_of(x.operands, [&](int operand) { return is_random(operand); });
  }

  // ---- arguments

  std::string arguments() const { return body_arguments(kernel_, gpu::KernelNames(kernel_)) + "\n"; }

  std::string draw() const {
    std::string ids;
    for (int i = 0; i < kernel_.random_slots; ++i) ids += fmt::format("op == {} ? body.id{} : ", i, i);
    const std::string call =
        kernel_.random_slots == 0
            ? ""
            : fmt::format("  sm_philox(words, body.random, {}0u, (unsigned)row, (unsigned)column8);\n", ids);
    return "SM void body_draw(const BodyArguments& body, int op, long long row, int column8, unsigned "
           "(&words)[4]) {\n" +
           call + "}\n\n";
  }

  // ---- functions

  std::string forward() const {
    std::vector<Result> results = {{real_variable("modified"), attention_.returned[0]}};
    if (use_ == HookUse::mma && factor() >= 0) results.push_back({real_variable("factor"), factor()});
    return fmt::format(
        "template <bool kUnmasked>\nSM void body_forward(const BodyArguments& body, int b, int h, int t, int "
        "s, const "
        "unsigned* draws, float score, float& modified, float& factor) {{\n{}}}\n\n",
        statements(results));
  }

  /// The weight is 0 where no key is seen, so masks are not evaluated.
  std::string backward() const {
    std::vector<Result> results = {{real_variable("mixed"), attention_.returned[1]},
                                   {real_variable("dscore"), attention_.returned[2]}};
    for (size_t i = 3; i < attention_.returned.size(); ++i)
      results.push_back({element_of("gradients", gpu::Scalar::real, i - 3), attention_.returned[i]});
    return fmt::format(
        "template <bool = true>\nSM void body_backward(const BodyArguments& body, int b, int h, int t, int "
        "s, const unsigned* draws, "
        "float "
        "score, float weight, float product, float delta, float& mixed, float& dscore, float* gradients) {{\n"
        "  constexpr bool kUnmasked = true;\n{}}}\n\n",
        statements(results));
  }

  /// Returns the statements that the results need, and the assignments of the results.
  std::string statements(const std::vector<Result>& results) const {
    gpu::LoweringContext context(kernel_, gpu::block_number());
    gpu::BlockLowerings lowerings(context);
    for (size_t i = 0; i < attention_.axes.size(); ++i)
      context.place.indices[attention_.axes[i]] = gpu::variable(kIndices[i], gpu::Scalar::index);
    const BlockNest nest = context.shape.nest_of(kernel_.blocks.front());
    const std::vector<bool> needed = needed_for(results);
    for (const int id : kernel_.blocks.front().instructions) {
      const Instruction& x = instruction(id);
      if (!needed[static_cast<size_t>(id)]) continue;
      if (x.kind == Kind::handed)
        context.set_value(id, real_variable(kHanded[static_cast<size_t>(x.slot)]));
      else if (x.kind == Kind::random)
        context.set_value(id, gpu::cast(element_of("draws", gpu::Scalar::bits, x.slot), gpu::Scalar::int32));
      else if (id == mask_.instruction)
        lower_mask(context, lowerings, nest, id);
      else
        lowerings.instructions.lower(nest, id);
    }
    for (const Result& result : results)
      context.out.set(result.target, context.value_as(result.instruction, gpu::Scalar::real));
    const std::string text = print(context.out.body(), 1);
    return unpacked_names(kernel_, text) + text;
  }

  std::vector<bool> needed_for(const std::vector<Result>& results) const {
    std::vector<bool> needed(kernel_.instructions.size());
    for (const Result& result : results) needed[static_cast<size_t>(result.instruction)] = true;
    for (size_t id = needed.size(); id-- > 0;) {
      if (!needed[id]) continue;
      const Instruction& x = kernel_.instructions[id];
      for (const int operand : x.operands) needed[static_cast<size_t>(operand)] = true;
      if (x.predicate >= 0) needed[static_cast<size_t>(x.predicate)] = true;
      if (x.access.computed >= 0) needed[static_cast<size_t>(x.access.computed)] = true;
    }
    return needed;
  }

  static void lower_mask(gpu::LoweringContext& context, gpu::BlockLowerings& lowerings, const BlockNest& nest,
                         int id) {
    lowerings.instructions.lower(nest, id);
    const gpu::Expr unmasked = gpu::variable("kUnmasked", gpu::Scalar::flag);
    context.set_value(id, context.out.declare(gpu::Scalar::flag, "seen",
                                              unmasked || context.value_as(id, gpu::Scalar::flag)));
  }

  const Kernel& kernel_;
  const AttentionKernel& attention_;
  const HookUse use_;
  const ScoreMask mask_;
};

}  // namespace

std::string unpacked_names(const Kernel& kernel, const std::string& text) {
  const gpu::KernelNames names(kernel);
  std::string lines;
  for (const std::string& param : names.params())
    if (text.find(param + "[") != std::string::npos || text.find("(" + param + ",") != std::string::npos)
      lines += fmt::format("  const auto {0} = body.{0};\n", param);
  for (const std::string& dim : names.dims())
    if (text.find(dim) != std::string::npos)
      lines += fmt::format("  const Index {0} = (Index)body.{0}_;\n", dim);
  return lines;
}

AttentionHooks print_hooks(const Kernel& kernel, HookUse use) { return HookPrinter(kernel, use).run(); }

AttentionHooks hook_facts(const Kernel& kernel, HookUse use) { return HookPrinter(kernel, use).facts(); }

bool is_plain_when_unmasked(const Kernel& kernel) { return HookPrinter(kernel, HookUse::mma).is_plain(); }

std::string body_arguments_text(const Kernel& kernel) {
  const gpu::KernelNames names(kernel);
  std::string text = "random";
  for (const std::string& param : names.params()) text += ", " + param;
  for (const std::string& dim : names.dims()) text += ", " + dim + "_";
  for (int i = 0; i < kernel.random_slots; ++i) text += fmt::format(", id{}", i);
  return text;
}

}  // namespace smelt
