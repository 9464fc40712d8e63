#include "codegen/cuda/printers/print_expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/cuda/prelude.h"
#include "codegen/cuda/printers/print_number.h"

namespace smelt {
namespace {

using gpu::BinaryOp;
using gpu::Expr;
using gpu::ExprNode;
using gpu::Scalar;
using Kind = ExprNode::Kind;

/// An operator, and how strongly it binds in C++.
struct Operator {
  const char* text;
  int strength;
};
/// In the order of BinaryOp.
constexpr Operator kOperators[] = {{"*", 10}, {"/", 10}, {"%", 10}, {"+", 9}, {"-", 9},  {"<<", 8},
                                   {">>", 8}, {"<", 7},  {"<=", 7}, {">", 7}, {">=", 7}, {"==", 6},
                                   {"!=", 6}, {"&", 5},  {"&&", 4}, {"||", 3}};
constexpr int kChoice = 2, kUnary = 11, kPrimary = 12, kAnything = 0;

/// An expression's text, and how strongly its outermost operator binds.
struct Printed {
  std::string text;
  int strength;
};

std::string within(const Printed& part, int least) {
  return part.strength < least ? "(" + part.text + ")" : part.text;
}

Printed printed(const Expr& x);

std::string operand(const ExprNode& x, size_t i, int least) { return within(printed(x.operands[i]), least); }

/// The text of a row of a table may bind in any way.
Printed by_pattern(std::string text) {
  const bool operand = operand_text(text) == text;
  return {std::move(text), operand ? kPrimary : kAnything};
}

Printed print_binary(const ExprNode& x) {
  const auto& [text, strength] = kOperators[static_cast<size_t>(x.binary)];
  return {fmt::format("{} {} {}", operand(x, 0, strength), text, operand(x, 1, strength + 1)), strength};
}

Printed print_cast(const ExprNode& x) {
  const gpu::Type& from = x.operands[0].type();
  if (x.type == gpu::Type(Scalar::flag)) return {operand(x, 0, 7) + " != 0", 6};
  if (from == gpu::Type(Scalar::real) && x.type.is_integer())
    return {fmt::format("{}({})", x.type.scalar == Scalar::int64 ? "__float2ll_rz" : "__float2int_rz",
                        operand(x, 0, kAnything)),
            kPrimary};
  return {fmt::format("({}){}", cuda_type(x.type), operand(x, 0, kUnary)), kUnary};
}

/// sm_max becomes sm_wide_max: the helper for integers of 64 bits.
std::string with_wide_helper(std::string_view pattern) {
  std::string text(pattern);
  if (text.starts_with("sm_")) text.insert(3, "wide_");
  return text;
}

/// `computed`: the type of the operands.
std::string pattern_of(const ScalarOpInfo& row, Scalar computed, bool fast) {
  const std::string_view own = computed == Scalar::flag   ? row.cuda_flag
                               : computed != Scalar::real ? row.cuda_integer
                               : fast                     ? row.cuda_fast
                                                          : "";
  const std::string_view pattern = own.empty() ? row.cuda : own;
  return computed == Scalar::int64 ? with_wide_helper(pattern) : std::string(pattern);
}

Printed print_operation(const ExprNode& x) {
  const ScalarOpInfo& row = info(x.op);
  const bool fast = x.precision != gpu::Precision::exact;
  const std::string text =
      fill_pattern(pattern_of(row, x.operands.back().scalar(), fast), operand_texts(x.operands));
  if (x.precision != gpu::Precision::fast_tangent) return by_pattern(text);
  return {fmt::format("sm_tangent({}, {}, {})", operand(x, 0, kAnything), row.cuda_slope, text), kPrimary};
}

Printed print_choice(const ExprNode& x) {
  return {
      fmt::format("{} ? {} : {}", operand(x, 0, kChoice + 1), operand(x, 1, kChoice), operand(x, 2, kChoice)),
      kChoice};
}

Printed print_call(const ExprNode& x) {
  const std::string constants = x.constants.empty() ? "" : "<" + print_list(x.constants) + ">";
  return {fmt::format("{}{}({})", x.name, constants, print_list(x.operands)), kPrimary};
}

Printed printed(const Expr& x) {
  switch (x->kind) {
    case Kind::number: {
      std::string text = number_text(*x);
      const bool negative = text.starts_with('-');
      return {std::move(text), negative ? kChoice : kPrimary};
    }
    case Kind::variable:
      return {x->name, kPrimary};
    case Kind::thread:
      return {"threadIdx.x", kPrimary};
    case Kind::block:
      return {"blockIdx.x", kPrimary};
    case Kind::binary:
      return print_binary(*x);
    case Kind::negation:
      return {"!" + operand(*x, 0, kUnary), kUnary};
    case Kind::difference:
      return {fmt::format("__fsub_rn({})", print_list(x->operands)), kPrimary};
    case Kind::choice:
      return print_choice(*x);
    case Kind::cast:
      return print_cast(*x);
    case Kind::operation:
      return print_operation(*x);
    case Kind::result:
      return by_pattern(fill_pattern(info(x->reduce).cuda_finish[static_cast<size_t>(x->slot)],
                                     operand_texts(x->operands)));
    case Kind::element:
      return {fmt::format("{}[{}]", operand(*x, 0, kPrimary), operand(*x, 1, kAnything)), kPrimary};
    case Kind::load:
      return {fmt::format("sm_get({})", operand(*x, 0, kAnything)), kPrimary};
    case Kind::rounded:
      return {fmt::format("sm_round<{}>({})", cuda_memory_type(x->element), operand(*x, 0, kAnything)),
              kPrimary};
    case Kind::shuffled:
      return {fmt::format("__shfl_xor_sync({})", print_list(x->operands)), kPrimary};
    case Kind::argument:
      return {fmt::format("copies.of[blockIdx.y].{}", x->name), kPrimary};
    case Kind::call:
      return print_call(*x);
  }
  return {};
}

std::string_view number_type(const gpu::Type& type) {
  constexpr std::string_view kTypes[] = {"bool",  "int",      "long long", "float",
                                         "Index", "unsigned", "double",    "unsigned char"};
  return type.scalar == Scalar::stored ? cuda_memory_type(type.element)
                                       : kTypes[static_cast<size_t>(type.scalar)];
}

}  // namespace

std::string cuda_type(const gpu::Type& type) {
  return fmt::format("{}{}{}", type.pointer && type.read_only ? "const " : "", number_type(type),
                     type.pointer ? "*" : "");
}

std::string print(const Expr& expression) { return printed(expression).text; }

std::string print_list(std::span<const Expr> expressions) {
  std::vector<std::string> texts;
  for (const Expr& expression : expressions) texts.push_back(print(expression));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> operand_texts(std::span<const Expr> expressions) {
  std::vector<std::string> texts;
  for (const Expr& expression : expressions) texts.push_back(operand_text(print(expression)));
  return texts;
}

}  // namespace smelt
