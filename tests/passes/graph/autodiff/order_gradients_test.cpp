// The derivatives of what puts elements in order or elsewhere: scatter, windows, scan, top_k, sort, conv.
#include "runtime/base/error.h"
#include "tests/passes/support.h"

namespace smelt {
namespace {

using testing::expect_gradients;

/// f = the sum of y, each element times a weight of its own.
std::unique_ptr<Module> weighted(const std::string& text, const std::string& type) {
  auto module = parse_module(text + "  return y = %y\n}\n");
  Graph& graph = *module->graphs.front();
  GraphBuilder b(graph);
  Value *y = graph.outputs.front().value, *weights = graph.find_input("weights")->result();
  EXPECT_EQ(str(y->type), str(weights->type)) << type;
  std::vector<int64_t> axes;
  for (int64_t i = 0; i < y->rank(); ++i) axes.push_back(i);
  b.output("f", b.sum(b.mul(y, weights), axes));
  return module;
}

/// By parameters "x" and "z" of these types.
void expect_of(const std::string& x, const std::string& z, const std::string& inputs, const std::string& body,
               const std::string& type, const SymbolValues& symbols = {}) {
  const std::string head = "symbols B <= 8, 12 <= T <= 64\nparameter \"x\" : " + x +
                           "\nparameter \"z\" : " + z + "\ngraph @g(%weights: " + type + inputs +
                           ") {\n  %x = parameter \"x\"\n  %z = parameter \"z\"\n";
  const auto module = weighted(head + body, type);
  EvaluateOptions options;
  options.symbols = symbols.empty() ? SymbolValues{{"B", 3}, {"T", 13}} : symbols;
  expect_gradients(*module->graphs.front(), "f", options);
}

TEST(OrderGradients, Scatter) {
  for (const char* unique : {"", ", unique = false"}) {
    const std::string attributes = std::string("{axis = 0") + unique + "}\n";
    expect_of("f32[7,3]", "f32[9,3]", ", %i: i32[9]", "  %y = scatter %x, %i, %z " + attributes, "f32[7,3]");
  }
  expect_of("f32[2,7,3]", "f32[2,3,5,3]", ", %i: i32[3,5]", "  %y = scatter %x, %i, %z {axis = 1}\n",
            "f32[2,7,3]");
  expect_of("f32[7]", "f32[5]", "",
            "  %i = constant {values = [3, 1, 0, 6, 5]} : i32[5]\n"
            "  %y = scatter %x, %i, %z {axis = 0, unique = true}\n",
            "f32[7]");
  expect_of("f32[7,3]", "f32[3]", ", %i: i32[]", "  %y = scatter %x, %i, %z {axis = 0}\n", "f32[7,3]");
}

TEST(OrderGradients, Windows) {
  for (const int size : {1, 2, 3, 5, 7})
    for (const int step : {1, 2, 3, 5})
      for (const int dilation : {1, 2}) {
        SCOPED_TRACE(fmt::format("size {}, step {}, dilation {}", size, step, dilation));
        const int count = (13 - dilation * (size - 1) - 1) / step + 1;
        expect_of("f32[2,13,3]", "f32[1]", "",
                  fmt::format("  %y = windows %x {{axis = 1, size = {}, step = {}, dilation = {}}}\n", size,
                              step, dilation),
                  fmt::format("f32[2,{},{},3]", count, size));
      }
}

TEST(OrderGradients, WindowsOfASymbolicLength) {
  for (const int64_t t : {12, 13, 14, 33})
    expect_of("f32[2]", "f32[1]", "",
              "  %long = broadcast %x {axes = [1]} : f32[T,2]\n"
              "  %place = iota {axis = 0} : i32[T,2]\n  %number = convert %place : f32[T,2]\n"
              "  %turned = mul %long, %number\n"
              "  %y = windows %turned {axis = 0, size = 5, step = 2}\n",
              "f32[floor_div(T - 5, 2) + 1,5,2]", {{"B", 1}, {"T", t}});
}

TEST(OrderGradients, StridedSlicesAndPads) {
  expect_of("f32[13,3]", "f32[1]", "", "  %y = strided_slice %x {axis = 0, begin = 2, step = 3} : f32[4,3]\n",
            "f32[4,3]");
  expect_of("f32[3,7]", "f32[1]", "", "  %y = strided_slice %x {axis = 1, begin = 0, step = 2} : f32[3,4]\n",
            "f32[3,4]");
  expect_of("f32[3,7]", "f32[1]", "", "  %y = pad %x {axis = 1, low = 2, high = 1, value = 3}\n",
            "f32[3,10]");
}

TEST(OrderGradients, Convolutions) {
  expect_of("f32[2,4,13]", "f32[6,4,3]", "", "  %y = conv %x, %z\n", "f32[2,6,11]");
  expect_of("f32[2,4,13]", "f32[6,2,3]", "",
            "  %y = conv %x, %z {strides = [2], pads = [1, 2], groups = 2}\n", "f32[2,6,7]");
  expect_of("f32[2,4,13]", "f32[4,1,3]", "", "  %y = conv %x, %z {dilations = [2], groups = 4}\n",
            "f32[2,4,9]");
  expect_of("f32[2,3,7,9]", "f32[5,3,3,2]", "",
            "  %y = conv %x, %z {strides = [2, 1], pads = [1, 0, 1, 1], dilations = [1, 2]}\n",
            "f32[2,5,4,8]");
}

TEST(OrderGradients, ScansOfSums) {
  for (const char* exclusive : {"false", "true"})
    for (const int axis : {0, 1})
      expect_of(
          "f32[5,7]", "f32[1]", "",
          fmt::format("  %y = scan %x {{axis = {}, kind = \"add\", exclusive = {}}}\n", axis, exclusive),
          "f32[5,7]");
}

TEST(OrderGradients, OfOtherScansAreNotKnown) {
  try {
    expect_of("f32[5]", "f32[1]", "", "  %y = scan %x {axis = 0, kind = \"max\"}\n", "f32[5]");
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("is not known for the kind \"max\", only for \"add\""),
              std::string::npos)
        << error.what();
  }
}

TEST(OrderGradients, TheLargest) {
  expect_of("f32[3,2,7]", "f32[1]", "", "  %y, %i = top_k %x {k = 3}\n", "f32[3,2,3]");
  expect_of("f32[7]", "f32[1]", "", "  %y, %i = top_k %x {k = 1}\n", "f32[1]");
}

TEST(OrderGradients, Sorts) {
  expect_of("f32[3,2,7]", "f32[1]", "", "  %y, %i = sort %x\n", "f32[3,2,7]");
  expect_of("f32[31]", "f32[1]", "", "  %y, %i = sort %x {descending = true}\n", "f32[31]");
}

/// Of rows with fewer elements than are asked for, some results are of none.
TEST(OrderGradients, OfNoElementAreNone) {
  const auto module = parse_module(R"(parameter "x" : f32[2,2]
graph @g(%weights: f32[2,4]) {
  %x = parameter "x"
  %y, %i = top_k %x {k = 4}
  %zero = constant {value = 0} : i32[2,4]
  %is = ge %i, %zero
  %none = constant {value = 0} : f32[2,4]
  %kept = select %is, %y, %none
  %weighted = mul %kept, %weights
  %f = reduce add %weighted {axes = [0, 1]}
  return f = %f
}
)");
  expect_gradients(*module->graphs.front(), "f");
}

}  // namespace
}  // namespace smelt
