#include "ir/text/text.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "ir/graph/builder.h"
#include "ir/graph/verifier.h"
#include "runtime/base/error.h"
#include "tests/ir/text/every_operation.h"
#include "tests/support/random_graph.h"

namespace smelt {
namespace {

std::string reprinted(std::string_view text) { return print(*parse_module(text)); }

void expect_round_trip(std::string_view text, std::string_view what) {
  const std::string once = reprinted(text);
  EXPECT_EQ(once, reprinted(once)) << what;
  EXPECT_EQ(once, print(*parse_module(text)->clone())) << what;
}

TEST(Text, EveryOperationRoundTripsAndIsValid) {
  const auto module = parse_module(kEveryOperation);
  for (const std::string& message : verify(*module)) ADD_FAILURE() << message;
  expect_round_trip(kEveryOperation, "every operation");
  std::set<std::string_view> seen;
  for (const auto& node : module->find_graph("every")->nodes()) seen.insert(name(node->op()));
#define SMELT_OP(op, ...) EXPECT_TRUE(seen.count(#op)) << "kEveryOperation lacks a node of " << #op;
#include "ir/ops/ops.def"
}

TEST(Text, SymbolsHaveLeastValues) {
  const auto module = parse_module(
      "symbols 2 <= B <= 4, 16 <= T <= 64, B*T <= 128\n"
      "graph @g(%x: f32[B,floor_div(T - 10, 5) + 1]) { return x = %x }");
  EXPECT_EQ(module->symbols.lower("T"), 16);
  EXPECT_EQ(print(*module),
            "symbols 2 <= B <= 4, 16 <= T <= 64, B*T <= 128\n\n"
            "graph @g(%x: f32[B,ceil_div(T - 4, 5) - 1]) {\n  return x = %x\n}\n");
  expect_round_trip(print(*module), "least values");
}

TEST(Text, KeepsWhatWasWritten) {
  const auto module = parse_module(kEveryOperation);
  EXPECT_EQ(module->symbols.bounds().size(), 6u);  // three are coordinates
  EXPECT_EQ(module->mesh().axes[1].size, 4);
  EXPECT_EQ(module->description, "{\"model\": \"hand written\"}\n");
  EXPECT_EQ(module->random_ids, 13u);
  const Module::Parameter& w = *module->find_parameter("w");
  EXPECT_EQ(w.init, (Initializer{Initializer::Kind::normal, 0.02, 7}));
  EXPECT_FALSE(w.decay);
  EXPECT_TRUE(w.transposed);
  EXPECT_EQ(w.checkpoint_names, (std::vector<std::string>{"a.w", "b.w"}));
  EXPECT_EQ(module->find_parameter("declared here")->init.a, 1.0);
  EXPECT_EQ(module->find_state("step")->init.a, 3);
  EXPECT_EQ(module->find_state("gradients")->segments[1].offset, 32);

  const Graph& graph = *module->find_graph("every");
  EXPECT_EQ(graph.find_input("token ids")->source, "inputs");
  EXPECT_TRUE(graph.find_input("token ids")->get(attr::optional));
  EXPECT_EQ(graph.outputs[1].name, "an output");
  for (const auto& node : graph.nodes()) {
    if (node->is(Op::slice)) {
      const bool of_rank = node->result()->sharding.has_value();
      EXPECT_EQ(node->get(attr::begin),
                Dim::parse(of_rank ? "B" : "T - 1") * (of_rank ? Dim::symbol("data.rank") : Dim(1)));
    }
    if (node->is(Op::matmul)) {
      EXPECT_EQ(node->source, "h.0.fc");
      EXPECT_EQ(node->operands().size(), node->body ? 3u : 2u);
    }
    if (node->is(Op::constant) && node->has(attr::values)) {
      EXPECT_EQ(node->get(attr::values)[3], HUGE_VAL);
    }
    if (node->is(Op::concat)) {
      EXPECT_EQ(str(node->result()->type), "f32[B,2*T,8]");
    }
    if (node->is(Op::layer_norm)) {
      EXPECT_EQ(node->get(attr::eps), 1e-5);
    }
  }
}

TEST(Text, EveryScalarOperationAndReductionRoundTrips) {
  Module module;
  module.symbols.bound({"N"}, 9);
  GraphBuilder b(module.add_graph("rows"));
  Value* x = b.input("x", {DType::f32, {Dim::symbol("N"), 5}});
  Value* flag = b.lt(x, b.like(x, 0.25));
  const auto pointwise = [&](ScalarOp op) {
    const Domain domain = info(op).domain;
    std::vector<Value*> operands(info(op).arity, domain == Domain::flags ? flag : x);
    if (domain == Domain::choice) operands[0] = flag;
    b.output(std::string(name(op)), b.pointwise(op, operands));
  };
#define SMELT_POINTWISE(op, ...) pointwise(ScalarOp::op);
  SMELT_SCALAR_OPS(SMELT_POINTWISE)
#define SMELT_REDUCE(op) b.output("reduce." #op, b.reduce(ReduceOp::op, x, {1}));
  SMELT_REDUCE_OPS(SMELT_REDUCE)
  EXPECT_EQ(print(module), reprinted(print(module)));
  const auto again = parse_module(print(module));
  EXPECT_TRUE(verify(*again).empty());
  EXPECT_EQ(again->graphs[0]->outputs.size(), module.graphs[0]->outputs.size());
}

TEST(Text, NamesThatCollideBecomeNumbers) {
  Module module;
  GraphBuilder b(module.add_graph("g"));
  Value* x = b.input("x", {DType::f32, {}});
  Value *first = b.neg(x), *second = b.neg(first), *third = b.neg(second), *fourth = b.neg(third);
  first->name = "y", second->name = "y", third->name = "12", fourth->name = "no name";
  b.output("r", fourth);
  EXPECT_EQ(print(*module.graphs[0]),
            "graph @g(%x: f32[]) {\n  %y = neg %x : f32[]\n  %0 = neg %y : f32[]\n  %1 = neg %0 : f32[]\n"
            "  %2 = neg %1 : f32[]\n  return r = %2\n}\n");
  EXPECT_EQ(print(*third->node()), "%1 = neg %0 : f32[]");
}

TEST(Text, LayoutsAndBuffersRoundTrip) {
  constexpr std::string_view text =
      "symbols B <= 8\n"
      "state \"s\" : f32[3]\n"
      "buffer 0 \"s\" {role = state, state = 0, bytes = 12} : f32[3]\n"
      "buffer 1 \"t\" {role = temporary, offset = 256, bytes = 1024, live = [0, 4], parts = [0: "
      "[0, 2], 512: [1, 4], 768: [-1, -1]], data = \"00ff10\"} : f32[8*B]\n"
      "\n"
      "graph @g(%x: f32[B,8] @1[2; 8,1]) {\n"
      "  %0 = neg %x : f32[B,8] @1[B + 2; 8,1]\n"
      "  %1 = reduce add %0 {axes = [0, 1]} : f32[] @0[1]\n"
      "  return r = %1\n"
      "}\n";
  const auto module = parse_module(text);
  EXPECT_EQ(print(*module), text);
  EXPECT_TRUE(verify(*module).empty());
  EXPECT_EQ(module->buffers[1].data[1], std::byte{0xff});
  EXPECT_EQ(module->buffers[1].parts, (std::vector<BufferPart>{{0, 0, 2}, {512, 1, 4}, {768, -1, -1}}));
  EXPECT_EQ(module->graphs[0]->outputs[0].value->layout->buffer, 0);
}

TEST(Text, StringsOfAnyBytesRoundTrip) {
  Module module;
  module.description = "quotes \" backslash \\ newline \n tab \t bell \a and \xc3\xa9";
  GraphBuilder b(module.add_graph("a graph's name"));
  b.set_source("it is \"so\"");
  Value* x = b.input("an input", {DType::f32, {}});
  b.output("an output", b.neg(x));
  const auto again = parse_module(print(module));
  EXPECT_EQ(again->description, module.description);
  EXPECT_EQ(again->graphs[0]->name, "a graph's name");
  EXPECT_EQ(again->graphs[0]->nodes().back()->source, "it is \"so\"");
  EXPECT_TRUE(again->graphs[0]->find_input("an input"));
  EXPECT_EQ(print(*again), print(module));
}

TEST(Text, RandomGraphsRoundTrip) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const auto module = testing::random_module(seed);
    const std::string text = print(*module);
    EXPECT_EQ(text, reprinted(text)) << "seed " << seed;
  }
}

TEST(Text, EveryFileTestRoundTrips) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(SMELT_SOURCE_DIR "/tests")) {
    if (entry.path().extension() != ".ir") continue;
    std::ifstream file(entry.path());
    std::string line, part;
    for (int number = 1; file; ++number) {
      const bool more = static_cast<bool>(std::getline(file, line));
      if (more && line != "// -----") {
        part += line + "\n";
        continue;
      }
      if (part.find("\ngraph @") != std::string::npos)  // programs and kernels have their own tests
        expect_round_trip(part, fmt::format("{}:{}", entry.path().string(), number));
      part.clear();
    }
  }
}

TEST(Text, PhasesAndAnchorsRoundTripAndAreCloned) {
  const std::string text = R"(graph @main(%x: f32[2] {phase = tangent}) {
  %a = neg %x {phase = backward} : f32[2]
  %b = reduce add %a {axes = [0], anchored = true, phase = update} : f32[]
  %c = exp %b : f32[]
  return c = %c
}
)";
  const auto module = parse_module(text);
  std::vector<std::pair<Phase, bool>> found;
  for (const auto& node : module->graphs[0]->nodes()) found.emplace_back(node->phase, node->anchored);
  EXPECT_EQ(found, (std::vector<std::pair<Phase, bool>>{{Phase::tangent, false},
                                                        {Phase::backward, false},
                                                        {Phase::update, true},
                                                        {Phase::forward, false}}));
  EXPECT_EQ(print(*module), text);
  EXPECT_EQ(print(*module->clone()), text);
}

TEST(Text, GroupsOfAdjacentParametersRoundTrip) {
  const std::string text = R"(parameter "a" : f32[2,3]
parameter "b \"quoted\"" : f32[5,3]
parameter "c" {decay = false} : f32[3]
parameter "d" {decay = false} : f32[4]
adjacent ["b \"quoted\"", "a"]
adjacent ["c", "d"]

graph @main() {
}
)";
  const auto module = parse_module(text);
  EXPECT_EQ(module->adjacent, (std::vector<std::vector<std::string>>{{"b \"quoted\"", "a"}, {"c", "d"}}));
  EXPECT_EQ(print(*module), text);
  EXPECT_EQ(print(*module->clone()), text);
}

// ---- errors

struct TextFaultCase {
  std::string_view text, place, message;
};
void PrintTo(const TextFaultCase& c, std::ostream* out) { *out << c.message; }

class TextFault : public ::testing::TestWithParam<TextFaultCase> {};

TEST_P(TextFault, IsReportedWithItsPlace) {
  const TextFaultCase& fault = GetParam();
  try {
    parse_module(fault.text, "model.ir");
    FAIL() << "accepted: " << fault.text;
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.substr(0, message.find(": ")), "model.ir:" + std::string(fault.place)) << message;
    EXPECT_NE(message.find(fault.message), std::string::npos) << message;
    EXPECT_EQ(error.status(), Status::invalid_file);
  }
}

const TextFaultCase kTextFaults[] = {
    {"graf", "1:1",
     "expected mesh, symbols, parameter, adjacent, state, buffer, description, random_ids or graph, found "
     "'graf'"},
    {"symbols 16 <= T <= 8", "1:9", "the bound T <= 8: expected at least 16"},
    {"symbols 1 <= data.rank <= 8", "1:14", "a coordinate of a rank is at least 0"},
    {"symbols 2 <= B*T <= 8", "1:9", "B*T is at least 2: expected 1, or from 0 on for one symbol"},
    {"symbols 2 T <= 8", "1:11", "expected '<=' and the name of a symbol"},
    {"graph g() {}", "1:7", "expected '@', found 'g'"},
    {"graph @g() {} graph @g() {}", "1:15", "graph @g is defined twice"},
    {"graph @g(%x f32[]) {}", "1:13", "expected ':', found 'f32'"},
    {"graph @g(%x: float) {}", "1:14", "expected an element type (f32"},
    {"graph @g(%x: f32) {}", "1:17", "expected '[', found ')'"},
    {"graph @g(%x: f32[Q]) {}", "1:18", "symbol 'Q' is not declared; write `symbols Q <= LIMIT` above"},
    {"graph @g(%x: f32[], %x: f32[]) {}", "1:21", "%x is defined twice"},
    {"graph @g(%x: f32[]) {\n  %y = adds %x, %x\n}", "2:8",
     "there is no operation 'adds', did you mean 'add'?"},
    {"graph @g(%x: f32[]) {\n  %y = add %x, %z\n}", "2:16", "%z is not defined above"},
    {"graph @g(%x: f32[]) {\n  %y = add %x\n}", "2:8", "1 operands, expected 2"},
    {"graph @g(%x: f32[]) {\n  %y = add %x, \n}", "3:1", "expected a value (%name), found '}'"},
    {"graph @g(%x: f32[2]) {\n  %y = neg %x : f32[3]\n}", "2:8",
     "neg gives f32[2], which is not the type written"},
    {"graph @g(%x: f32[2]) {\n  %y, %z = neg %x\n}", "2:12", "neg has 1 results, 2 names are written"},
    {"graph @g(%x: f32[2]) {\n  %y = reduce sum %x {axes = [0]}\n}", "2:15", "there is no reduction 'sum'"},
    {"graph @g(%x: f32[2]) {\n  %y = reduce add %x {axes = [1]}\n}", "2:8",
     "axes 1 is outside a tensor of rank 1"},
    {"graph @g(%x: f32[2]) {\n  %y = reduce add %x {axes = [0], axes = [0]}\n}", "2:35",
     "'axes' is given twice"},
    {"graph @g(%x: f32[2]) {\n  %y = neg %x {phase = back}\n}", "2:24",
     "expected a phase (forward, backward, update, tangent), found 'back'"},
    {"graph @g(%x: f32[2]) {\n  %y = neg %x {phase = update, phase = update}\n}", "2:32",
     "'phase' is given twice"},
    {"graph @g(%x: f32[2]) {\n  %y = reduce add %x {axes = }\n}", "2:30", "expected a number, true, false"},
    {"graph @g(%x: f32[2]) {\n  %y = broadcast %x {axes = [1]}\n}", "2:8", "its type must be written down"},
    {"graph @g() {\n  %y = parameter \"w\"\n}", "3:1",
     "expected the type of \"w\", which is not declared above"},
    {"graph @g() {\n  %y = constant {value = 1e999} : f32[]\n}", "2:26", "outside the range of a double"},
    {"graph @g() {\n  %y = constant {value = 99999999999999999999} : f32[]\n}", "2:26", "of at most 64 bits"},
    {"graph @g() {\n  %y = constant {value = 1} : f32[99999999999*99999999999]\n}", "2:46", "64 bits"},
    {"graph @g() {\n  %y = constant {value = 1} : f32[ceil_div(4, 0)]\n}", "2:44", "divisor"},
    {"graph @g() {\n  return r = %1\n}", "2:14", "%1 is not defined above"},
    {"graph @g(%x: f32[]) {\n  return r = %x %x\n}", "2:17", "expected ',' or '}' after the results"},
    {"graph @g(%x: f32[]) {\n  %y = fusion (%a = %x) {\n    %b = neg %x\n    return %b\n  }\n}", "3:14",
     "%x is not defined above"},
    {"graph @g(%x: f32[]) {\n  %y = fusion (%a = %x) {\n    return %a\n  } : f32[2]\n}", "2:8",
     "fusion gives f32[], which is not the type written"},
    {"graph @g(%x: f32[2]) {\n  %y = matmul %x, %x () {spec = \"a,b->ab\"} { return %x }\n}", "2:8",
     "the body has 0 inputs, expected 1: (%acc, %inside = %outside, ...)"},
    {"graph @g(%x: f32[2]) {\n  %y = matmul %x, %x (%p, %q) {spec = \"a,b->ab\"} { return %p }\n}", "2:29",
     "expected '=', found ')'"},
    {"graph @g(%x: i32[2]) {\n  %y = matmul %x, %x (%p) {spec = \"a,b->ab\"} { return %p }\n}", "2:8",
     "operand 0 is i32[2], expected floats"},
    {"graph @g(%x: f32[2]) {\n  %y = matmul %x, %x, %x {spec = \"a,b->ab\"}\n}", "2:8",
     "matmul: 3 operands, expected 2 and those that a body takes"},
    {"graph @g(%x: f32[]) {\n  %y = neg %x", "2:14", "expected an operation, found the end of the text"},
    {"graph @g(%x: f32[]) { ? }", "1:23", "the character '?' has no meaning here"},
    {"description \"no end\n", "1:13", "expected a closing '\"' on this line"},
    {"parameter \"w\" {int = 1} : f32[]", "1:16",
     "expected one of init, decay, checkpoint, transposed, frozen, stacked, found 'int'"},
    {"parameter \"w\" {init = gauss(1)} : f32[]", "1:23", "expected an initializer"},
    {"parameter \"w\" : f32[]\nparameter \"w\" : f32[]", "2:1", "parameter \"w\" is declared twice"},
    {"adjacent \"a\"", "1:10", "expected '[', found \"a\""},
    {"adjacent []", "1:10", "expected at least 2 parameters, found 0"},
    {"parameter \"a\" : f32[1]\nadjacent [\"a\"]", "2:10", "expected at least 2 parameters, found 1"},
    {"parameter \"a\" : f32[1]\nadjacent [\"a\", b]", "2:16", "expected a parameter's name in quotes"},
    {"parameter \"a\" : f32[1]\nadjacent [\"a\", \"b\"]", "2:16", "parameter \"b\" is not declared above"},
    {"parameter \"a\" : f32[1]\nadjacent [\"a\", \"a\"]", "2:16",
     "parameter \"a\" stands in an adjacent group already"},
    {"parameter \"a\" : f32[1] parameter \"b\" : f32[1] parameter \"c\" : f32[1]\nadjacent [\"a\", "
     "\"b\"]\nadjacent [\"c\", \"b\"]",
     "3:16", "parameter \"b\" stands in an adjacent group already"},
    {"parameter \"a\" : f32[1]\nadjacent [\"a\" \"b\"]", "2:15", "expected ',' or ']'"},
    {"state \"s\" {role = boss} : f32[]", "1:19", "expected a role, found 'boss'"},
    {"symbols B", "1:10", "expected '<=' and the largest value"},
    {"symbols B <= 0", "1:9", "expected at least 1"},
    {"symbols B <= 1.5", "1:14", "expected the largest value"},
    {"buffer 1 \"b\" : f32[1]", "1:8", "expected buffer 0"},
    {"symbols 3x <= 4", "1:10", "expected the end of a number"},
};
INSTANTIATE_TEST_SUITE_P(All, TextFault, ::testing::ValuesIn(kTextFaults));

TEST(Text, AFaultShowsItsLineAndACaret) {
  try {
    parse_module("symbols B <= 4\n\ngraph @g(%x: f32[B]) {\n\t%y = oops %x\n}\n", "m.ir");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "m.ir:4:7: there is no operation 'oops'\n"
                 " %y = oops %x\n"
                 "      ^");
  }
}

TEST(Text, ALongLineIsCutAroundTheFault) {
  const std::string text =
      "graph @g() { %y = constant {values = [" + std::string(5000, '1') + "]} : f32[1] }";
  try {
    parse_module(text);
    FAIL();
  } catch (const Error& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 600u);
  }
}

/// Sizes that would explode when multiplied out are refused, and so is deep nesting.
TEST(Text, HostileSizesAreRefused) {
  std::string product = "symbols ", size = "1";
  for (char a = 'a'; a <= 'y'; ++a) product += fmt::format("{}{} <= 2", a == 'a' ? "" : ", ", a);
  for (char a = 'a'; a < 'y'; a += 2) size += fmt::format("*({} + {})", a, static_cast<char>(a + 1));
  EXPECT_THROW(parse_module(product + "\ngraph @g(%x: f32[" + size + "]) {}"), Error);
  EXPECT_THROW(parse_module("graph @g(%x: f32[" + std::string(100000, '(') + "1"), Error);
  EXPECT_THROW(parse_module("graph @g(%x: f32[" + std::string(100000, '-') + "1"), Error);
  std::string fusions = "graph @g(%x: f32[]) {";
  for (int i = 0; i < 1000; ++i) fusions += "%y = fusion (%x = %x) {";
  EXPECT_THROW(parse_module(fusions), Error);
  std::string dims = "1";
  for (int i = 0; i < 40; ++i) dims += ",1";
  EXPECT_THROW(parse_module("graph @g(%x: f32[" + dims + "]) {}"), Error);
}

/// Every prefix of a text is an error or a module, never a crash.
TEST(Text, TruncatedTextsAreErrors) {
  for (size_t length = 0; length < kEveryOperation.size(); ++length) try {
      parse_module(kEveryOperation.substr(0, length));
    } catch (const Error&) {
    }
}

}  // namespace
}  // namespace smelt
