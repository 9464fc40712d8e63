#include "ir/text/text.h"

#include <fmt/format.h>

#include "ir/ops/op_attributes.h"

namespace smelt {
namespace {

constexpr std::string_view kHead =
    "# Operations\n\n"
    "Made by `smelt opt --list-operations` from the tables `ir/ops/*.def`; a test compares them.\n\n"
    "In the text form of graphs a node is `%results = operation %operands \"source\" {attribute = value, "
    "...} : types`.\n"
    "An attribute that an operation does not have, or of another type or out of bounds, is an error. Beside "
    "its own, a\n"
    "node may have the attributes `phase` (forward, backward, update, tangent) and `anchored` (true, false). "
    "A size is an\n"
    "integer or an expression of symbols, `T - 1`; `name.I` is one attribute for each dim I of the result.\n";

/// Returns text for a cell of a table, in which a bar would end the cell.
std::string cell(std::string_view text) {
  std::string result;
  for (const char c : text) result += c == '|' ? "\\|" : std::string(1, c);
  return result;
}

std::string operands_text(const OpInfo& row) {
  const std::string body = row.has(Trait::region) ? ", then those of its body" : "";
  if (row.most < 0) return row.fewest == 0 ? "any number of operands" : "one operand or more";
  if (row.fewest == row.most)
    return row.most == 0 ? (body.empty() ? "no operands" : "the operands of its body")
                         : fmt::format("{} operand{}{}", row.most, row.most == 1 ? "" : "s", body);
  return fmt::format("{} to {} operands{}", row.fewest, row.most, body);
}

std::string default_text(const AttributeColumn& column) {
  if (column.required) return "required";
  return column.otherwise ? fmt::format("`{}`", str(*column.otherwise)) : "none";
}

std::string type_text(const AttributeColumn& column) {
  using AxisOf = AttributeColumn::AxisOf;
  std::string text(type_name(column));
  if (const std::string within = bounds(column); !within.empty()) text += ", " + within;
  const bool is_list = column.type == Attribute(std::vector<int64_t>{}).index();
  if (column.axis_of != AxisOf::none)
    text += fmt::format(", {} of {}", is_list ? "distinct dims" : "a dim",
                        column.axis_of == AxisOf::operand ? "operand 0" : "the result");
  return text;
}

std::string section(Op op) {
  const OpInfo& row = info(op);
  std::string text = fmt::format("\n### {}\n\n{}: {}.\n", row.name, operands_text(row), row.description);
  if (attributes_of(op).empty()) return text;
  text += "\n| attribute | type | default | meaning |\n| --- | --- | --- | --- |\n";
  for (const AttributeColumn& column : attributes_of(op))
    text += fmt::format("| `{}` | {} | {} | {} |\n", column.name, type_text(column), default_text(column),
                        cell(column.meaning));
  return text;
}

std::string sections(bool are_composites) {
  std::string text;
#define SMELT_OP(name, ...) \
  if (info(Op::name).has(Trait::composite) == are_composites) text += section(Op::name);
#include "ir/ops/ops.def"
  return text;
}

std::string_view elements_text(Domain domain) {
  switch (domain) {
    case Domain::numbers:
      return "numbers";
    case Domain::reals:
      return "reals";
    case Domain::flags:
      return "flags";
    case Domain::any:
      return "numbers or flags";
    case Domain::choice:
      return "a flag, then two numbers or flags";
  }
  return "";
}

std::string scalar_row(const ScalarOpInfo& row) {
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, row.arity, elements_text(row.domain),
                     row.differentiable ? "yes" : "no", cell(row.meaning));
}

std::string scalar_operations() {
  std::string text =
      "\n## Pointwise operations\n\n"
      "Each is written by its own name, with one to three operands, here a, b and c. Numbers are reals or "
      "integers, flags are\nbooleans.\n\n"
      "| operation | operands | of | differentiable | result |\n| --- | --- | --- | --- | --- |\n";
#define SMELT_ROW(name, arity) text += scalar_row(info(ScalarOp::name));
  SMELT_SCALAR_OPS(SMELT_ROW)
#undef SMELT_ROW
  return text;
}

std::string reductions() {
  std::string text =
      "\n## Reductions\n\nEach is written `reduce NAME`.\n\n| name | meaning |\n| --- | --- |\n";
#define SMELT_NAME(name, ...) \
  text += fmt::format("| `{}` | {} |\n", #name, cell(info(ReduceOp::name).description));
  SMELT_REDUCE_OPS(SMELT_NAME)
#undef SMELT_NAME
  return text;
}

}  // namespace

std::string operations_page() {
  return std::string(kHead) + "\n## Primitives\n" + sections(false) + scalar_operations() + reductions() +
         "\n## Composites\n\n`decompose` replaces them with primitives.\n" + sections(true);
}

}  // namespace smelt
