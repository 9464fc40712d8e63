// The parameters that are hidden matrices, and those that are not for one reason each.
#include "passes/graph/training/hidden_matrices.h"

#include "tests/passes/support.h"

namespace smelt {
namespace {

TEST(HiddenMatrices, AreOnlyMultipliedAndHaveAProductAfterThem) {
  const auto module = parse_module(R"(
symbols B <= 8
parameter "table" : f32[11,6]
parameter "first" : f32[6,6]
parameter "frozen" {frozen = true} : f32[6,6]
parameter "added" : f32[6,6]
parameter "query" : f32[4,6]
parameter "key" : f32[4,6]
parameter "stack" : f32[2,8,8]
parameter "filter" : f32[8,4,2]
parameter "bias" : f32[8]
parameter "head" : f32[5,8]
graph @loss(%ids: i32[B] {below = 11}) {
  %table = parameter "table" : f32[11,6]
  %x = embedding %table, %ids : f32[B,6]
  %first = parameter "first" : f32[6,6]
  %x1 = linear %x, %first : f32[B,6]
  %frozen = parameter "frozen" : f32[6,6]
  %x2 = linear %x1, %frozen : f32[B,6]
  %added = parameter "added" : f32[6,6]
  %twice = add %added, %added : f32[6,6]
  %x3 = linear %x2, %twice : f32[B,6]
  %query = parameter "query" : f32[4,6]
  %key = parameter "key" : f32[4,6]
  %both = concat %query, %key {axis = 0} : f32[8,6]
  %bias = parameter "bias" : f32[8]
  %x4 = linear %x3, %both, %bias : f32[B,8]
  %stack = parameter "stack" : f32[2,8,8]
  %x5 = matmul %x4, %stack {spec = "bc,koc->bko"} : f32[B,2,8]
  %sums = reduce add %x5 {axes = [1]} : f32[B,8]
  %filter = parameter "filter" : f32[8,4,2]
  %flat = reshape %filter : f32[8,8]
  %x6 = linear %sums, %flat : f32[B,8]
  %head = parameter "head" : f32[5,8]
  %y = linear %x6, %head : f32[B,5]
  %sum = reduce add %y {axes = [0, 1]} : f32[]
  %one = constant {value = 1.0} : f32[]
  return loss_sum = %sum, token_count = %one
}
)");
  EXPECT_EQ(hidden_matrices(*module->find_graph("loss")),
            (std::vector<std::string>{"first", "query", "key", "stack"}));
}

/// The head is a table that is gathered, too: it is a product after the last matrix all the same.
TEST(HiddenMatrices, ComeBeforeATiedHead) {
  const auto module = parse_module(R"(
symbols B <= 8
parameter "table" : f32[11,6]
parameter "last" : f32[6,6]
graph @loss(%ids: i32[B] {below = 11}) {
  %table = parameter "table" : f32[11,6]
  %x = embedding %table, %ids : f32[B,6]
  %last = parameter "last" : f32[6,6]
  %x1 = linear %x, %last : f32[B,6]
  %y = linear %x1, %table : f32[B,11]
  %sum = reduce add %y {axes = [0, 1]} : f32[]
  %one = constant {value = 1.0} : f32[]
  return loss_sum = %sum, token_count = %one
}
)");
  EXPECT_EQ(hidden_matrices(*module->find_graph("loss")), (std::vector<std::string>{"last"}));
}

}  // namespace
}  // namespace smelt
