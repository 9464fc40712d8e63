// Attributes that an operation does not have, of another type, missing, or out of bounds: of every operation,
// as text and in graphs built in C++.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "ir/graph/builder.h"
#include "ir/graph/verifier.h"
#include "ir/ops/op_attributes.h"
#include "ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/ir/text/every_operation.h"

namespace smelt {
namespace {

/// One attribute of one operation, with the place of a node of it in kEveryOperation.
struct ColumnCase {
  Op op;
  const AttributeColumn* column;
  size_t node;
  std::string label() const { return fmt::format("{} {}", name(op), column->name); }
  AttributeKey key() const { return AttributeKey(column->name); }
};

const Module& every_operation() {
  static const std::unique_ptr<Module> kModule = parse_module(kEveryOperation);
  return *kModule;
}

/// The arguments, too.
std::vector<ColumnCase> all_columns() {
  std::vector<ColumnCase> cases;
  std::set<Op> seen;
  size_t at = 0;
  for (const auto& node : every_operation().find_graph("every")->nodes()) {
    if (seen.insert(node->op()).second)
      for (const AttributeColumn& column : attributes_of(node->op()))
        cases.push_back({node->op(), &column, at});
    ++at;
  }
  return cases;
}

struct Copy {
  explicit Copy(const ColumnCase& c) : module(every_operation().clone()) {
    node = std::next(module->find_graph("every")->nodes().begin(), static_cast<long>(c.node))->get();
  }
  std::unique_ptr<Module> module;
  Node* node;
};

std::string parse_error(const std::string& text) {
  try {
    parse_module(text);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// The verifier names the node and says `message`; so does the parser, about what is printed.
void expect_refused(const Copy& copy, const std::string& label, std::string_view message,
                    bool is_written = true) {
  const std::vector<std::string> messages = verify(*copy.module);
  ASSERT_FALSE(messages.empty()) << label << ": accepted";
  EXPECT_NE(messages[0].find(message), std::string::npos) << label << ": " << messages[0];
  EXPECT_NE(messages[0].find(name(copy.node->op())), std::string::npos) << label << ": " << messages[0];
  if (!is_written) return;
  const std::string error = parse_error(print(*copy.module));
  EXPECT_NE(error.find(message), std::string::npos) << label << ": " << error;
}

/// Names of leaves are written before the braces.
bool is_written(const ColumnCase& c) { return c.column->name != attr::name.text; }

Attribute of_type(const AttributeColumn& column) {
  const std::vector<Attribute> examples = {true,
                                           int64_t{1},
                                           0.5,
                                           std::string("add"),
                                           Dim::symbol("T"),
                                           std::vector<int64_t>{1},
                                           std::vector<double>{1.5}};
  return examples[column.type];
}

TEST(OpAttributes, EveryOperationHasAnAttributeCaseWhereItTakesAny) {
  std::set<Op> seen;
  for (const ColumnCase& c : all_columns()) seen.insert(c.op);
#define SMELT_OP(name, ...) \
  EXPECT_EQ(seen.count(Op::name), attributes_of(Op::name).empty() ? 0u : 1u) << #name;
#include "ir/ops/ops.def"
}

TEST(OpAttributes, AMisspeltNameIsRefusedWithTheNearestOne) {
  for (const ColumnCase& c : all_columns()) {
    if (c.column->for_each_dim) continue;
    Copy copy(c);
    const std::string misspelt = c.column->name + c.column->name.back();
    const Attribute* given = copy.node->attributes.find(c.key());
    const Attribute value = given ? *given : of_type(*c.column);
    if (is_written(c)) copy.node->attributes.remove(c.key());
    copy.node->attributes[AttributeKey(misspelt)] = value;
    expect_refused(copy, c.label(), fmt::format("attribute '{}' is not known", misspelt));
    const std::string message = verify(*copy.module).front();
    const size_t advice = message.find("did you mean ");
    ASSERT_NE(advice, std::string::npos) << message;
    EXPECT_NE(message.find(c.column->name, advice), std::string::npos) << message;
  }
}

TEST(OpAttributes, AnotherTypeIsRefused) {
  for (const ColumnCase& c : all_columns())
    for (const Attribute& value : {Attribute(std::string("wrong")), Attribute(true), Attribute(0.5),
                                   Attribute(std::vector<double>{0.5})}) {
      const bool is_number =
          std::holds_alternative<double>(value) && c.column->type == Attribute(0.5).index();
      if (value.index() == c.column->type || is_number) continue;
      if (!is_written(c)) continue;
      Copy copy(c);
      const std::string given =
          c.column->for_each_dim ? c.column->name.substr(0, c.column->name.size() - 1) + "0" : c.column->name;
      copy.node->attributes[AttributeKey(given)] = value;
      expect_refused(
          copy, c.label(),
          fmt::format("attribute '{}' is {}, expected {}", given, str(value), type_name(*c.column)));
    }
}

TEST(OpAttributes, AMissingOneIsRefused) {
  for (const ColumnCase& c : all_columns()) {
    if (!c.column->required) continue;
    Copy copy(c);
    copy.node->attributes.remove(c.key());
    expect_refused(copy, c.label(), fmt::format("attribute '{}' must be given", c.column->name),
                   is_written(c));
  }
}

/// The number in the type that the column has.
Attribute number_of(const AttributeColumn& column, double number) {
  const auto whole = static_cast<int64_t>(number);
  if (column.type == Attribute(whole).index()) return whole;
  if (column.type == Attribute(number).index()) return number;
  return std::vector<int64_t>(1, whole);
}

/// Values beyond the column's bounds.
std::vector<Attribute> values_outside(const AttributeColumn& column) {
  std::vector<Attribute> list;
  if (column.least) list.push_back(number_of(column, *column.least - 1));
  if (column.most) list.push_back(number_of(column, *column.most + 1));
  if (!column.words.empty()) list.emplace_back(std::string("wrong"));
  return list;
}

TEST(OpAttributes, ValuesOutOfBoundsAreRefused) {
  for (const ColumnCase& c : all_columns())
    for (const Attribute& value : values_outside(*c.column)) {
      Copy copy(c);
      copy.node->attributes[c.key()] = value;
      expect_refused(copy, c.label(), "expected " + bounds(*c.column));
    }
}

TEST(OpAttributes, AxesOutsideAreRefused) {
  for (const ColumnCase& c : all_columns()) {
    if (c.column->axis_of == AttributeColumn::AxisOf::none) continue;
    for (const int64_t axis : {int64_t{-1}, int64_t{9}}) {
      Copy copy(c);
      Attribute& value = copy.node->attributes[c.key()];
      if (auto* list = std::get_if<std::vector<int64_t>>(&value))
        list->back() = axis;
      else
        value = axis;
      expect_refused(copy, c.label(), fmt::format("{} is outside a tensor of rank", axis));
    }
  }
}

// ---- single rules

std::string refused(std::string_view line) {
  return parse_error(fmt::format(
      "symbols T <= 8\nstate \"s\" : f32[4]\ngraph @g(%x: f32[4,4], %i: i32[4]) {{\n  {}\n}}", line));
}

TEST(OpAttributes, FaultsAreReportedWhereTheyStand) {
  const std::string error = refused("%y = scan %x {axis = 0, kind = \"add\", exclusve = true}");
  EXPECT_NE(
      error.find(":4:41: scan: attribute 'exclusve' is not known, expected axis, exclusive or kind; did you "
                 "mean exclusive?"),
      std::string::npos)
      << error;
  EXPECT_NE(refused("%y = reduce add %x {axees = [0]}").find("did you mean axes?"), std::string::npos);
  EXPECT_NE(refused("%y = matmul %x, %x {spec = \"ab,bc->ac\", tf_32 = true}").find("did you mean tf32?"),
            std::string::npos);
  EXPECT_NE(refused("%y = neg %x {axis = 0}").find("attribute 'axis' is not known, expected none"),
            std::string::npos);
}

TEST(OpAttributes, DrawsOfPartsHaveOneAttributePerDim) {
  const std::string begin = "%y = random {id = 1, begin.1 = 2, extent.1 = 8} : i32[4,4]";
  EXPECT_EQ(refused(begin), "");
  EXPECT_NE(refused("%y = random {id = 1, begin.2 = 2, extent.2 = 8} : i32[4,4]")
                .find("attribute 'begin.2' is about a dim that a tensor of rank 2 does not have"),
            std::string::npos);
  for (const char* name : {"begin", "begin.", "begin.x", "begin.01", "begin.-1", "extend.0"})
    EXPECT_NE(refused(fmt::format("%y = random {{id = 1, {} = 2}} : i32[4,4]", name)), "") << name;
}

TEST(OpAttributes, AttributesThatNothingReadsAreRefused) {
  EXPECT_NE(refused("%y = constant {value = 1, values = [1, 2, 3, 4]} : f32[4]").find("either 'value'"),
            std::string::npos);
  EXPECT_NE(refused("%y = constant {} : f32[4]").find("either 'value'"), std::string::npos);
  const auto module =
      parse_module("state \"s\" : f32[4]\ngraph @g(%x: f32[4]) {\n  update %x {state = \"s\", axis = 0}\n}");
  const auto messages = verify(*module);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_NE(messages[0].find("attribute 'axis' is given, but no index operand"), std::string::npos)
      << messages[0];
}

TEST(OpAttributes, TypedNamesReadDefaultsAndWholeNumbers) {
  Module module;
  GraphBuilder b(module.add_graph("g"));
  Value* x = b.input("x", {DType::f32, {4}});
  Node* scan = b.scan("add", x, 0)->node();
  EXPECT_FALSE(scan->get(attr::exclusive));
  EXPECT_FALSE(scan->has(attr::exclusive));
  scan->set(attr::exclusive, true);
  EXPECT_TRUE(scan->get(attr::exclusive));
  Node* slice = b.slice(x, 0, 1, 2)->node();
  EXPECT_EQ(slice->get(attr::begin), Dim(1));
  EXPECT_EQ(*slice->attributes.find(attr::begin), Attribute(int64_t{1}));
  EXPECT_THROW((void)slice->get(attr::step), Error);
  EXPECT_THROW(b.create(Op::softmax, {x}, {attr::axis(0)}), Error);
  EXPECT_THROW(b.create(Op::layer_norm, {x, x}, {attr::eps(-1)}), Error);
}

TEST(OperationsPage, IsThatOfTheTable) {
  std::ifstream file(SMELT_SOURCE_DIR "/docs/reference/operations.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_TRUE(text.str() == operations_page())
      << "docs/reference/operations.md differs from ir/ops/ops.def: write it with "
         "`smelt opt --list-operations > docs/reference/operations.md`";
}

}  // namespace
}  // namespace smelt
