#include "passes/graph/simplify/guard_indices.h"

#include "ir/analysis/index_ranges.h"
#include "runtime/base/error.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

constexpr const char* kHead =
    "symbols B <= 4, T <= 9\nparameter \"t\" : f32[7,3]\nparameter \"v\" : f32[T,3]\ngraph @main(";

std::unique_ptr<Module> module_of(const std::string& inputs, const std::string& body) {
  return parse_module(kHead + inputs + ") {\n  %t = parameter \"t\"\n  %v = parameter \"v\" : f32[T,3]\n" +
                      body + "}\n");
}

/// What becomes of `gather <table>, %i`, with %i made by `body`: "proven", "guarded" or the Error.
std::string fate(const std::string& inputs, const std::string& body, const char* table = "%t") {
  const auto module =
      module_of(inputs, body + "\n  %y = gather " + table + ", %i {axis = 0}\n  return y = %y\n");
  Graph& graph = *module->graphs.front();
  const std::string before = print(*module);
  try {
    const bool changed = guard_indices(graph, {});
    testing::expect_valid(graph);
    EXPECT_EQ(changed, print(*module) != before);
    EXPECT_EQ(module->states.size(), changed ? 1u : 0u);
    return changed ? "guarded" : "proven";
  } catch (const Error& error) {
    return error.what();
  }
}

/// %i = min(max(%NAME, 0), 6)
std::string clamped(const std::string& name) {
  return "\n %o = constant {value = 0} : i32[B]\n %l = constant {value = 6} : i32[B]\n %m = max %" + name +
         ", %o\n %i = min %m, %l";
}
/// %i = %x + number
std::string plus(int number) {
  return "%c = constant {value = " + std::to_string(number) + "} : i32[B]\n %i = add %x, %c";
}

TEST(GuardIndices, WhatIsProvenStaysAsItIs) {
  EXPECT_EQ(fate("%i: i32[B] {below = 7}", ""), "proven");
  EXPECT_EQ(fate("", "%i = iota {axis = 1} : i32[4,7]"), "proven");
  EXPECT_EQ(fate("", "%i = constant {value = 6} : i32[2]"), "proven");
  EXPECT_EQ(fate("", "%i = constant {values = [0, 6, 3]} : i32[3]"), "proven");
  EXPECT_EQ(fate("%x: i32[B] {below = 5}", plus(2)), "proven");
  EXPECT_EQ(fate("%x: i32[B]", clamped("x")), "proven");
  EXPECT_EQ(
      fate("%x: i32[B] {below = 7, ignored = -100}",
           "%k = constant {value = -100} : i32[B]\n %o = constant {value = 0} : i32[B]\n %c = ne %x, %k\n"
           " %i = select %c, %x, %o"),
      "proven");
  EXPECT_EQ(fate("%x: i32[B]",
                 "%o = constant {value = 0} : i32[B]\n %l = constant {value = 7} : i32[B]\n"
                 " %c = ge %x, %o\n %p = select %c, %x, %o\n %d = lt %p, %l\n"
                 " %i = select %d, %p, %o"),
            "proven");
  EXPECT_EQ(fate("%x: f32[B,7]", "%m, %i = reduce argmax %x {axes = [1]}"), "proven");
  EXPECT_EQ(fate("%x: f32[B,6]",
                 "%z = constant {value = 0} : f32[B,6]\n %p = gt %x, %z\n"
                 " %n = convert %p : i32[B,6]\n %i = reduce add %n {axes = [1]}"),
            "proven");
  EXPECT_EQ(fate("", "%i = iota {axis = 0} : i32[T]", "%v"), "proven") << "both are T long";
}

/// %NAME = constant NUMBER, as long as the batch.
std::string constant(const std::string& name, const std::string& number) {
  return "%" + name + " = constant {value = " + number + "} : i32[B]\n ";
}

TEST(GuardIndices, NegativeNumbersCountFromBehind) {
  const std::string wrapped =
      constant("o", "0") + constant("n", "7") + "%c = lt %x, %o\n %w = add %x, %n\n %i = select %c, %w, %x";
  EXPECT_EQ(fate("%x: i32[B] {below = 7, least = -7}", wrapped), "proven");
  EXPECT_EQ(fate("%x: i32[B] {below = 7, least = -8}", wrapped), "guarded");
  EXPECT_EQ(fate("%x: i32[B] {below = 8, least = -7}", wrapped), "guarded");
  EXPECT_EQ(fate("%x: i32[B] {below = 7}", wrapped), "proven") << "the sum is never chosen";
}

/// gather x[a, b] of f32[T,3], flat: a T long table of rows of which each is checked.
std::string place_of_two(const std::string& rows) {
  return "%r = iota {axis = 0} : i32[T]\n %q = gather %r, %x {axis = 0}\n %c = iota {axis = 0} : i32[" +
         rows +
         "]\n %p = gather %c, %z {axis = 0}\n %n = reduce max %c {axes = [0]}\n %o = constant {value = 1} : "
         "i32[]\n"
         " %m = add %n, %o\n %w = broadcast %m {axes = []} : i32[B]\n %s = mul %q, %w\n %i = add %s, %p\n";
}

TEST(GuardIndices, LookUpsInWholeNumbersOnlyCheck) {
  const auto module =
      module_of("%x: i32[B], %z: i32[B]",
                place_of_two("B") +
                    " %f = reshape %v : f32[3*T]\n"
                    " %k = iota {axis = 0} : i32[B*T]\n %y = gather %k, %i {axis = 0}\n return y = %y\n");
  guard_indices(*module->graphs.front(), {});
  testing::expect_valid(*module->graphs.front());
  EXPECT_EQ(print(*module).find("gather %"), std::string::npos) << print(*module);
  EXPECT_EQ(module->states.size(), 2u) << "the places of both are rows, so that their sum is";
}

TEST(GuardIndices, ConditionsNarrowWhatTheyCompare) {
  const std::string numbers = constant("o", "0") + constant("l", "7");
  const auto chosen = [&](const std::string& condition) {
    return fate("%x: i32[B]", numbers + condition + "\n %i = select %c, %x, %o");
  };
  EXPECT_EQ(chosen("%a = ge %x, %o\n %b = lt %x, %l\n %c = logical_and %a, %b"), "proven");
  EXPECT_EQ(chosen("%a = ge %x, %o\n %b = le %x, %l\n %c = logical_and %a, %b"), "guarded");
  EXPECT_EQ(chosen("%a = ge %x, %o\n %b = lt %x, %l\n %c = logical_or %a, %b"), "guarded");
  EXPECT_EQ(chosen("%a = lt %x, %o\n %b = ge %x, %l\n %d = logical_or %a, %b\n %c = logical_not %d"),
            "proven");
  EXPECT_EQ(chosen("%a = lt %x, %o\n %b = ge %x, %l\n %d = logical_and %a, %b\n %c = logical_not %d"),
            "guarded");
  EXPECT_EQ(chosen("%c = eq %x, %l"), "guarded");
  EXPECT_EQ(fate("%x: i32[T], %z: i32[T]",
                 "%n = iota {axis = 0} : i32[T]\n %o = constant {value = 0} : i32[T]\n %a = ge %x, %o\n"
                 " %b = le %x, %n\n %c = logical_and %a, %b\n %i = select %c, %x, %o",
                 "%v"),
            "proven")
      << "no more than a row of T";
}

/// Relative positions as T5 counts them, with room for errors of the logarithm.
std::string bucket(const std::string& first, const std::string& last) {
  return "%a = iota {axis = 0} : i32[T]\n %k = constant {value = " + first + "} : i32[T]\n" +
         " %s = lt %a, %k\n %f = convert %a : f32[T]\n %q = constant {value = 0.25} : f32[T]\n"
         " %g = mul %f, %q\n %l = log %g\n %h = convert %l : i32[T]\n"
         " %m = constant {value = 4} : i32[T]\n %n = add %h, %m\n %e = constant {value = " +
         last + "} : i32[T]\n %j = min %n, %e\n %i = select %s, %a, %j";
}

TEST(GuardIndices, IndicesOfFloatsAreBoundedWithRoomForRounding) {
  EXPECT_EQ(fate("", bucket("4", "6")), "proven");
  EXPECT_EQ(fate("", bucket("4", "7")), "proven") << "log(8 / 4) is less than 1";
  EXPECT_EQ(fate("", bucket("1", "6")), "proven") << "log(1 / 4) is -1 without what is behind the point";
  EXPECT_EQ(fate("", bucket("0", "6")), "guarded") << "the logarithm of 0 is no number";
  const auto rounded = [](const std::string& factor) {
    return fate("%x: i32[B] {below = 7}", "%f = convert %x : f32[B]\n %k = constant {value = " + factor +
                                              "} : f32[B]\n %g = mul %f, %k\n %i = convert %g : i32[B]");
  };
  EXPECT_EQ(rounded("1.1"), "proven");
  EXPECT_EQ(rounded("1.166"), "guarded") << "6.996, which is 7 in bf16";
  EXPECT_EQ(rounded("-0.1"), "proven");
  EXPECT_EQ(rounded("-0.2"), "guarded");
  EXPECT_EQ(fate("%x: f32[B]", "%z = tanh %x\n %i = convert %z : i32[B]"), "guarded") << "x may be NaN";
}

TEST(GuardIndices, WhatIsNotIsGuarded) {
  EXPECT_EQ(fate("%i: i32[B]", ""), "guarded");
  EXPECT_EQ(fate("%i: i64[B]", ""), "guarded");
  EXPECT_EQ(fate("%i: i32[]", ""), "guarded");
  EXPECT_EQ(fate("%i: i32[B] {below = 8}", ""), "guarded");
  EXPECT_EQ(fate("%i: i32[B] {below = 7, ignored = -1}", ""), "guarded");
  EXPECT_EQ(fate("%i: i32[B] {below = 7}", "", "%v"), "guarded") << "T may be 1";
  EXPECT_EQ(fate("", "%i = iota {axis = 0} : i32[T]"), "guarded") << "T may be 9";
  EXPECT_EQ(fate("%x: i32[B] {below = 5}", plus(3)), "guarded");
  EXPECT_EQ(fate("%x: i32[B]", "%c = constant {value = 0} : i32[B]\n %i = mul %x, %c"), "proven");
  EXPECT_EQ(fate("%x: i32[B] {below = 2000000000}", "%c = add %x, %x" + clamped("c")), "proven")
      << "the sum may wrap around, the bounds hold";
  EXPECT_EQ(fate("%x: i32[B] {below = 2000000000}", "%i = add %x, %x\n"), "guarded");
  EXPECT_EQ(fate("%x: f32[B]", "%i = convert %x : i32[B]"), "guarded");
}

TEST(GuardIndices, WhatIsWrongForCertainIsAnErrorWithNodeAndIndex) {
  EXPECT_EQ(fate("", "%i = iota {axis = 0} : i32[100]"),
            "gather: the index 99 is out of bounds: expected 0 to 6, the rows along axis 0 of its table "
            "f32[7,3]");
  EXPECT_EQ(fate("", "%i = constant {value = -1} : i32[2]").substr(0, 37),
            "gather: the index -1 is out of bounds");
  EXPECT_EQ(fate("", "%i = constant {values = [0, 100000000]} : i32[2]").substr(0, 44),
            "gather: the index 100000000 is out of bounds");
  EXPECT_EQ(fate("%x: i32[B] {below = 5}", plus(7)).substr(0, 36), "gather: the index 7 is out of bounds");
}

/// Every index is moved to the nearest row, and the state has what was wrong, over several runs.
TEST(GuardIndices, TheNearestRowIsReadAndTheFaultKept) {
  const auto module = module_of("%i: i32[B]", "  %y = gather %t, %i {axis = 0}\n  return y = %y\n");
  Graph& graph = *module->graphs.front();
  ASSERT_TRUE(guard_indices(graph, {}));
  const std::string state = module->states.front().name;
  EXPECT_EQ(state, "index_fault/@main gather");
  Tensor table{DType::f32, {7, 3}, {}};
  for (int i = 0; i < 21; ++i) table.data.push_back(i);
  Tensors states = {
      {"t", table}, {"v", {DType::f32, {1, 3}, {0, 0, 0}}}, {state, {DType::i32, {3}, {0, 0, 0}}}};
  const auto run = [&](std::vector<double> indices) {
    const auto count = static_cast<int64_t>(indices.size());
    const Evaluation result = evaluate(graph, {{"i", {DType::i32, {count}, std::move(indices)}}}, states,
                                       {.symbols = {{"B", count}, {"T", 1}}, .philox = {}});
    states[state] = result.states.at(state);
    std::vector<double> rows;
    for (int64_t i = 0; i < count; ++i)
      rows.push_back(result.outputs.at("y").data[static_cast<size_t>(3 * i)] / 3);
    return rows;
  };
  EXPECT_EQ(run({0, 6, 3}), (std::vector<double>{0, 6, 3}));
  EXPECT_EQ(states[state].data, (std::vector<double>{0, 0, 6}));
  EXPECT_EQ(run({7, 2}), (std::vector<double>{6, 2}));
  EXPECT_EQ(states[state].data, (std::vector<double>{0, 7, 6}));
  EXPECT_EQ(run({-2147483647, 100000000, 5}), (std::vector<double>{0, 6, 5}));
  EXPECT_EQ(states[state].data, (std::vector<double>{-2147483647, 100000000, 6}));
  EXPECT_EQ(run({1}), std::vector<double>{1});
  EXPECT_EQ(states[state].data, (std::vector<double>{-2147483647, 100000000, 6}))
      << "until somebody has looked";
}

/// A scatter_add goes on without them.
TEST(GuardIndices, IndicesThatAreLeftOutAreKept) {
  const std::string scatter = "  %y = scatter_add %t, %i, %u {axis = 0}\n  return y = %y\n";
  const auto module = module_of("%i: i32[B], %u: f32[B,3]", scatter);
  Graph& graph = *module->graphs.front();
  ASSERT_TRUE(guard_indices(graph, {}));
  testing::expect_valid(graph);
  ASSERT_EQ(module->states.size(), 1u);
  EXPECT_EQ(module->states[0].name, "dropped_index/@main scatter_add");
  EXPECT_NE(print(*module).find("scatter_add %t, %i, %u"), std::string::npos) << print(*module);
  EXPECT_FALSE(
      guard_indices(*module_of("%i: i32[B] {below = 7}, %u: f32[B,3]", scatter)->graphs.front(), {}));
  const auto both = module_of("%i: i32[B], %u: f32[B,3]",
                              "  %g = gather %t, %i {axis = 0}\n  %v2 = add %g, %u\n  %y = scatter_add %t, "
                              "%i, %v2 {axis = 0}\n  return y = %y\n");
  ASSERT_TRUE(guard_indices(*both->graphs.front(), {}));
  ASSERT_EQ(both->states.size(), 1u) << "the gather tells of them";
  EXPECT_EQ(both->states[0].name, "index_fault/@main gather");
}

TEST(GuardIndices, GathersByTheSameIndexShareAGuard) {
  const auto module = module_of("%i: i32[B]",
                                "  %y = gather %t, %i {axis = 0}\n  %z = gather %t, %i {axis = 0}\n"
                                "  %w = gather %t, %i {axis = 1}\n  return y = %y, z = %z, w = %w\n");
  ASSERT_TRUE(guard_indices(*module->graphs.front(), {}));
  EXPECT_EQ(module->states.size(), 2u) << "7 rows and 3";
  EXPECT_NE(module->states[0].name, module->states[1].name);
  testing::expect_valid(*module->graphs.front());
}

}  // namespace
}  // namespace smelt
