// Values that are put into states at computed indices: whole plans against the evaluator, on the CPU and with
// a GPU's kernels on the host.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "compiler/driver/compile.h"
#include "runtime/base/error.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

CompileOptions inference() {
  CompileOptions options;
  options.mode = Mode::infer;
  return options;
}

Plan inserted_on_cpu(const Module& module) { return compile(module.clone(), inference()).plan; }

Plan inserted_on_host(const Module& module) {
  CompileOptions options = inference();
  options.target = "sm_90";
  return test::plan_on_host(compile(module.clone(), options, Stage::program).program);
}

/// Keys of some tokens, turned, rounded and written behind what each row's slot holds.
constexpr const char* kTurned = R"(symbols B <= 3, T <= 5
state "keys" : TYPE[4,2,16,8]
graph @write(%x: f32[B,T,2,8], %at: i32[B], %slot: i32[B], %cos: f32[T,4], %sin: f32[T,4]) {
  %low = slice %x {axis = 3, begin = 0} : f32[B,T,2,4]
  %high = slice %x {axis = 3, begin = 4} : f32[B,T,2,4]
  %c = broadcast %cos {axes = [1, 3]} : f32[B,T,2,4]
  %s = broadcast %sin {axes = [1, 3]} : f32[B,T,2,4]
  %lc = mul %low, %c
  %hs = mul %high, %s
  %hc = mul %high, %c
  %ls = mul %low, %s
  %a = sub %lc, %hs
  %b = add %hc, %ls
  %turned = concat %a, %b {axis = 3}
  %rounded = convert %turned : TYPE[B,T,2,8]
  %keys = transpose %rounded {permutation = [0, 2, 1, 3]}
  update %keys, %slot, %at {state = "keys", axes = [0, 2]}
  return r = %x
}
)";

std::string with_type(std::string text, const std::string& type) {
  for (size_t at = 0; (at = text.find("TYPE", at)) != std::string::npos;) text.replace(at, 4, type);
  return text;
}

Tensor integers(std::vector<int64_t> shape, std::vector<double> data) {
  return {DType::i32, std::move(shape), std::move(data)};
}

/// What a plan leaves in outputs and states is what the evaluator finds.
void expect_matches(const Module& module, Plan (*plan)(const Module&), const SymbolValues& symbols,
                    const Tensors& indices) {
  const auto primitive = module.clone();
  const Graph& graph = *primitive->graphs.front();
  Tensors inputs = testing::random_inputs(graph, 1, symbols), states;
  for (const auto& [name, tensor] : indices) inputs[name] = tensor;
  std::mt19937_64 random(5);
  for (const State& state : module.states) {
    Tensor& tensor = states[state.name] = {state.dtype, {}, {}};
    for (const Dim& dim : state.shape) tensor.shape.push_back(*dim.constant());
    tensor.data.resize(static_cast<size_t>(*element_count(state.shape).constant()));
    for (double& x : tensor.data)
      x = is_float(state.dtype) ? static_cast<double>(random() % 64) / 8 - 4
                                : static_cast<double>(random() % 64);
  }
  testing::round_to_type(inputs);
  const Evaluation expected =
      evaluate(graph, inputs, states, {.symbols = symbols, .philox = {}, .round = true});
  Session session = testing::cpu_session(plan(module));
  testing::write_states(session, states);
  const Tensors outputs = testing::run_entry(session, graph.name, {}, inputs);
  for (const auto& [name, reference] : expected.outputs)
    EXPECT_LT(testing::relative_error(outputs.at(name), reference), 1e-6) << name;
  for (const auto& [name, reference] : expected.states) {
    const std::span<std::byte> bytes = session.state(name);
    const Tensor found =
        testing::to_tensor({name, reference.dtype, reference.shape, {bytes.begin(), bytes.end()}});
    EXPECT_LT(testing::relative_error(found, reference), reference.dtype == DType::f32 ? 1e-6 : 4e-3) << name;
  }
}

class Insert : public ::testing::TestWithParam<Plan (*)(const Module&)> {
 protected:
  static void expect(const std::string& text, const SymbolValues& symbols, const Tensors& indices) {
    expect_matches(*parse_module(text), GetParam(), symbols, indices);
  }
};

TEST_P(Insert, WritesRowsBehindEachRowsLength) {
  for (const char* type : {"f32", "bf16"}) {
    const std::string text = with_type(kTurned, type);
    expect(text, {{"B", 3}, {"T", 5}},
           {{"at", integers({3}, {0, 11, 3})}, {"slot", integers({3}, {2, 0, 3})}});
    expect(text, {{"B", 1}, {"T", 1}}, {{"at", integers({1}, {15})}, {"slot", integers({1}, {1})}});
  }
}

TEST_P(Insert, LeavesOutNegativeIndices) {
  expect(with_type(kTurned, "f32"), {{"B", 3}, {"T", 3}},
         {{"at", integers({3}, {-1, 13, 3})}, {"slot", integers({3}, {2, 0, -7})}});
}

TEST_P(Insert, AnIndexForEachTokenIsItsPlace) {
  expect(R"(symbols B <= 3, T <= 5
state "s" : f32[3,7,3]
graph @write(%x: f32[B,T,3], %at: i32[B,T]) {
  %v = neg %x
  update %v, %at {state = "s", axis = 1}
  return
}
)",
         {{"B", 2}, {"T", 4}}, {{"at", integers({2, 4}, {6, -1, 0, 2, -1, -1, 5, 1})}});
}

TEST_P(Insert, OldContentIsReadBeforeAndNewBehind) {
  expect(R"(symbols B <= 4
state "s" : f32[4,9,5]
state "n" : i32[4]
graph @write(%x: f32[B,1,5], %at: i32[B]) {
  %old = state "s"
  %before = reduce add %old {axes = [1]}
  %v = exp %x
  %new = insert %old, %v, %at {axis = 1}
  %behind = reduce max %new {axes = [1]}
  update %new {state = "s"}
  %one = constant {value = 1} : i32[B]
  %next = add %at, %one
  %zero = constant {value = 0} : i32[]
  update %next, %zero {state = "n", axis = 0}
  return before = %before, behind = %behind
}
)",
         {{"B", 3}}, {{"at", integers({3}, {8, 0, 4})}});
}

TEST_P(Insert, TwoUpdatesOfOneStateComeInTheirOrder) {
  expect(R"(state "s" : f32[6,4]
graph @write(%x: f32[2,4], %y: f32[3,4], %i: i32[], %j: i32[]) {
  %a = neg %x
  %b = exp %y
  update %a, %i {state = "s", axis = 0}
  update %b, %j {state = "s", axis = 0}
  return
}
)",
         {}, {{"i", integers({}, {2})}, {"j", integers({}, {3})}});
}

TEST_P(Insert, IntoWhatIsNoState) {
  expect(R"(graph @write(%x: f32[6,4], %v: f32[2,4], %i: i32[]) {
  %z = constant {value = 3} : f32[6,4]
  %a = neg %v
  %n = insert %x, %a, %i {axis = 0}
  %m = insert %z, %v, %i {axis = 0}
  return n = %n, m = %m, x = %x
}
)",
         {}, {{"i", integers({}, {4})}});
}

TEST_P(Insert, ReportsAnIndexThatIsTooLarge) {
  const auto module = parse_module(with_type(kTurned, "f32"));
  Session session = testing::cpu_session(GetParam()(*module));
  Tensors inputs = testing::random_inputs(*module->graphs.front(), 1, {{"B", 2}, {"T", 3}});
  inputs["at"] = integers({2}, {0, 14});
  inputs["slot"] = integers({2}, {1, 2});
  try {
    testing::run_entry(session, "write", {}, inputs);
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(
        std::string(error.what()).find("the index 14 is out of bounds: expected 0 to 13; it was left out"),
        std::string::npos)
        << error.what();
  }
  const Tensor keys = testing::to_tensor(
      {"keys", DType::f32, {4, 2, 16, 8}, {session.state("keys").begin(), session.state("keys").end()}});
  for (size_t i = 0; i < keys.data.size(); ++i)
    EXPECT_EQ(keys.data[i] != 0, i / 256 == 1 && i / 8 % 16 < 3) << i;
}

/// An insert of some rank along one axis, with an index of some rank: all sizes are small, some of them 1.
class RandomInsert {
 public:
  explicit RandomInsert(uint64_t seed) : random_(seed) {
    const int64_t rank = 2 + below(3);
    axis_ = below(rank), index_rank_ = below(rank);
    for (int64_t i = 0; i < rank; ++i) {
      whole_.push_back(1 + below(7));
      part_.push_back(1 + below(whole_.back()));
    }
  }

  std::string text() {
    const char* const type = below(3) == 0 ? "i32" : "f32";
    return fmt::format(
        "state \"s\" : {0}[{1}]\ngraph @write(%v: {0}[{2}], %at: i32[{3}]) {{\n  %t = transpose %v "
        "{{permutation = [{4}]}}\n  %n = {5} %t\n  update %n, %at {{state = \"s\", axis = {6}}}\n  "
        "return\n}}\n",
        type, list(whole_), list(reversed(part_)), list(index_shape()), list(reversed(numbers())),
        below(2) ? "neg" : "abs", axis_);
  }

  /// Elements go to places of their own; some are left out.
  Tensor index() {
    Tensor index = integers(index_shape(), {});
    const int64_t inner = axis_ < index_rank_ ? count_behind_axis() : 1;
    for (int64_t i = 0; i < element_count_of(index_shape()); ++i)
      index.data.push_back(
          static_cast<double>(axis_ < index_rank_ ? place(i / inner % part_[axis_]) : below(room() + 1) - 1));
    return index;
  }

 private:
  int64_t below(int64_t limit) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(limit)); }
  int64_t room() const { return whole_[axis_] - part_[axis_] + 1; }
  /// Backwards, the last one left out.
  int64_t place(int64_t i) const { return i + 1 == part_[axis_] ? -1 : whole_[axis_] - 1 - i; }
  std::vector<int64_t> index_shape() const { return {part_.begin(), part_.begin() + index_rank_}; }
  int64_t count_behind_axis() const {
    return element_count_of({part_.begin() + axis_ + 1, part_.begin() + index_rank_});
  }
  std::vector<int64_t> numbers() const {
    std::vector<int64_t> all(whole_.size());
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  static int64_t element_count_of(const std::vector<int64_t>& shape) {
    return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
  }
  static std::vector<int64_t> reversed(std::vector<int64_t> list) {
    std::ranges::reverse(list);
    return list;
  }
  static std::string list(const std::vector<int64_t>& numbers) {
    return fmt::format("{}", fmt::join(numbers, ","));
  }

  std::mt19937_64 random_;
  int64_t axis_ = 0, index_rank_ = 0;
  std::vector<int64_t> whole_, part_;
};

TEST_P(Insert, OfAnyRankAlongAnyAxis) {
  const bool compiles_on_host = GetParam() == &inserted_on_host;  // which takes longer
  for (uint64_t seed = 0; seed < (compiles_on_host ? 8 : 60); ++seed) {
    RandomInsert insert(seed);
    const std::string text = insert.text();
    SCOPED_TRACE(text);
    expect(text, {}, {{"at", insert.index()}});
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, Insert, ::testing::Values(&inserted_on_cpu, &inserted_on_host));

/// Split, rotation, rounding and the write are one kernel, and nothing of the state is copied.
/// kTurned with slots that are the rows themselves: each half of a key is put by an iota of its own.
std::string turned_in_order() {
  std::string text = kTurned;
  const std::string_view input = ", %slot: i32[B]", first = "  %low = slice";
  text.erase(text.find(input), input.size());
  return text.insert(text.find(first), "  %slot = iota {axis = 0} : i32[B]\n");
}

void expect_one_write(const std::string& text) {
  for (const char* target : {"cpu", "sm_90"}) {
    CompileOptions options = inference();
    options.target = target;
    const Program program = compile(parse_module(with_type(text, "bf16")), options, Stage::program).program;
    int writes = 0;
    for (const Step& step : program.entries.front().steps)
      for (const int buffer : step.writes) {
        const Buffer& written = program.buffers[static_cast<size_t>(buffer)];
        const bool is_cache = written.name == "keys";
        writes += is_cache;
        EXPECT_TRUE(!is_cache || std::holds_alternative<KernelStep>(step.what));
        EXPECT_TRUE(!is_float(written.dtype) || is_cache || written.role == Role::output) << written.name;
      }
    EXPECT_EQ(writes, 1) << print(program);
  }
}

TEST(InsertKernels, ARotationEndsInTheState) {
  expect_one_write(kTurned);
  expect_one_write(turned_in_order());
}

}  // namespace
}  // namespace smelt
