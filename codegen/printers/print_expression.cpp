#include "codegen/printers/print_expression.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "codegen/printers/print_number.h"

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

/// The text of a row of a table may bind in any way.
Printed by_pattern(std::string text) {
  const bool operand = operand_text(text) == text;
  return {std::move(text), operand ? kPrimary : kAnything};
}

/// sm_max becomes sm_wide_max: the helper for integers of 64 bits.
std::string with_wide_helper(std::string_view pattern) {
  constexpr std::string_view kPrefix = "sm_";
  std::string text(pattern);
  if (text.starts_with(kPrefix)) text.insert(kPrefix.size(), "wide_");
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

class ExpressionPrinter {
 public:
  explicit ExpressionPrinter(const Language& language) : language_(language) {}

  Printed printed(const Expr& x) const {
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
        return {call(language_.difference, x->operands), kPrimary};
      case Kind::choice:
        return print_choice(*x);
      case Kind::cast:
        return print_cast(*x);
      case Kind::operation:
        return print_operation(*x);
      case Kind::result:
        return by_pattern(fill_pattern(info(x->reduce).cuda_finish[static_cast<size_t>(x->slot)],
                                       operand_texts(language_, x->operands)));
      case Kind::element:
        return {fmt::format("{}[{}]", operand(*x, 0, kPrimary), operand(*x, 1, kAnything)), kPrimary};
      case Kind::load:
        return {fmt::format("sm_get({})", operand(*x, 0, kAnything)), kPrimary};
      case Kind::rounded:
        return {fmt::format("sm_round<{}>({})", memory_type(x->element), operand(*x, 0, kAnything)),
                kPrimary};
      case Kind::shuffled:
        return {call(language_.shuffled, x->operands), kPrimary};
      case Kind::argument:
        return {fmt::format("copies.of[blockIdx.y].{}", x->name), kPrimary};
      case Kind::call:
        return print_call(*x);
    }
    return {};
  }

 private:
  std::string operand(const ExprNode& x, size_t i, int least) const {
    return within(printed(x.operands[i]), least);
  }
  std::string call(std::string_view name, std::span<const Expr> operands) const {
    return fmt::format("{}({})", name, print_list(language_, operands));
  }

  Printed print_binary(const ExprNode& x) const {
    const auto& [text, strength] = kOperators[static_cast<size_t>(x.binary)];
    return {fmt::format("{} {} {}", operand(x, 0, strength), text, operand(x, 1, strength + 1)), strength};
  }

  Printed print_cast(const ExprNode& x) const {
    const gpu::Type& from = x.operands[0].type();
    if (x.type == gpu::Type(Scalar::flag)) return {operand(x, 0, 7) + " != 0", 6};
    if (from == gpu::Type(Scalar::real) && x.type.is_integer())
      return {fmt::format("{}({})", x.type.scalar == Scalar::int64 ? language_.to_int64 : language_.to_int32,
                          operand(x, 0, kAnything)),
              kPrimary};
    return {fmt::format("({}){}", type_text(x.type), operand(x, 0, kUnary)), kUnary};
  }

  Printed print_operation(const ExprNode& x) const {
    const ScalarOpInfo& row = info(x.op);
    const bool fast = x.precision != gpu::Precision::exact;
    const std::string text =
        fill_pattern(pattern_of(row, x.operands.back().scalar(), fast), operand_texts(language_, x.operands));
    if (x.precision != gpu::Precision::fast_tangent) return by_pattern(text);
    return {fmt::format("sm_tangent({}, {}, {})", operand(x, 0, kAnything), row.cuda_slope, text), kPrimary};
  }

  Printed print_choice(const ExprNode& x) const {
    return {fmt::format("{} ? {} : {}", operand(x, 0, kChoice + 1), operand(x, 1, kChoice),
                        operand(x, 2, kChoice)),
            kChoice};
  }

  Printed print_call(const ExprNode& x) const {
    const std::string constants = x.constants.empty() ? "" : "<" + print_list(language_, x.constants) + ">";
    return {fmt::format("{}{}({})", x.name, constants, print_list(language_, x.operands)), kPrimary};
  }

  const Language& language_;
};

std::string_view number_type(const gpu::Type& type) {
  constexpr std::string_view kTypes[] = {"bool",  "int",      "long long", "float",
                                         "Index", "unsigned", "double",    "unsigned char"};
  return type.scalar == Scalar::stored ? memory_type(type.element) : kTypes[static_cast<size_t>(type.scalar)];
}

}  // namespace

std::string_view memory_type(DType type) {
  switch (type) {
    case DType::f32:
      return "float";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::f64:
      return "double";
    case DType::i32:
      return "int";
    case DType::i64:
      return "i64";
    case DType::u16:
      return "u16";
    case DType::u8:
      return "u8";
    case DType::i8:
      return "i8";
    case DType::f8e4m3:
      return "f8e4m3";
    case DType::boolean:
      return "flag";
  }
  return "";
}

std::string type_text(const gpu::Type& type) {
  return fmt::format("{}{}{}", type.pointer && type.read_only ? "const " : "", number_type(type),
                     type.pointer ? "*" : "");
}

std::string print(const Language& language, const Expr& expression) {
  return ExpressionPrinter(language).printed(expression).text;
}

std::string print_list(const Language& language, std::span<const Expr> expressions) {
  std::vector<std::string> texts;
  for (const Expr& expression : expressions) texts.push_back(print(language, expression));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::vector<std::string> operand_texts(const Language& language, std::span<const Expr> expressions) {
  std::vector<std::string> texts;
  for (const Expr& expression : expressions) texts.push_back(operand_text(print(language, expression)));
  return texts;
}

}  // namespace smelt
