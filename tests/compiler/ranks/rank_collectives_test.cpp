// Collectives along any dim, compiled and run by threads, against sums and places worked out here.
#include <gtest/gtest.h>

#include "compiler/driver/compile.h"
#include "ir/text/text.h"
#include "runtime/session/session.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

/// A tensor of three dims on one rank.
struct RankBlock {
  std::array<int64_t, 3> shape;
  std::vector<float> data;
  explicit RankBlock(std::array<int64_t, 3> shape)
      : shape(shape), data(static_cast<size_t>(shape[0] * shape[1] * shape[2])) {}
  float& at(const std::array<int64_t, 3>& i) {
    return data[static_cast<size_t>((i[0] * shape[1] + i[1]) * shape[2] + i[2])];
  }
};

constexpr int64_t kBlockRows = 3;
constexpr const char* kBlockMesh = "model=2,data=2";

/// Any numbers, which differ between ranks.
RankBlock block_of(int64_t rank) {
  RankBlock block({kBlockRows, 4, 6});
  for (size_t i = 0; i < block.data.size(); ++i)
    block.data[i] = static_cast<float>((i * 37 + static_cast<size_t>(rank) * 11) % 50) - 20;
  return block;
}

struct CollectiveCase {
  const char* attributes;
  const char* result;
};
void PrintTo(const CollectiveCase& c, std::ostream* out) { *out << c.attributes; }
constexpr CollectiveCase kCollectives[] = {
    {"kind = \"all_reduce\"", "[T,4,6]"},
    {"kind = \"all_reduce\", sum = \"max\"", "[T,4,6]"},
    {"kind = \"all_gather\", dim = 0", "[2*T,4,6]"},
    {"kind = \"all_gather\", dim = 1", "[T,8,6]"},
    {"kind = \"all_gather\", dim = 2", "[T,4,12]"},
    {"kind = \"reduce_scatter\", dim = 1", "[T,2,6]"},
    {"kind = \"reduce_scatter\", dim = 2, sum = \"max\"", "[T,4,3]"},
    {"kind = \"all_to_all\", dim = 1, to = 2", "[T,8,3]"},
    {"kind = \"all_to_all\", dim = 2, to = 1", "[T,2,12]"},
    {"kind = \"all_to_all\", dim = 0, to = 1", "[2*T,2,6]"},
};

bool has_word(const CollectiveCase& c, const char* word) {
  return std::string_view(c.attributes).find(word) != std::string_view::npos;
}
int64_t number_after(const CollectiveCase& c, std::string_view key) {
  const std::string_view text = c.attributes;
  const size_t at = text.find(key);
  return at == text.npos ? -1 : text[at + key.size()] - '0';
}

/// Of rank `own` of the two that have these blocks.
RankBlock combined(const CollectiveCase& c, std::array<RankBlock, 2> blocks, int64_t own) {
  const int64_t dim = number_after(c, ", dim = "), to = number_after(c, ", to = ");
  const bool scatters = has_word(c, "reduce_scatter"), exchanges = has_word(c, "all_to_all");
  const int64_t cut = scatters ? dim : exchanges ? to : -1;
  const int64_t joined = scatters || has_word(c, "all_reduce") ? -1 : dim;
  std::array<int64_t, 3> shape = blocks[0].shape;
  if (cut >= 0) shape[static_cast<size_t>(cut)] /= 2;
  const auto part = shape;
  if (joined >= 0) shape[static_cast<size_t>(joined)] *= 2;
  RankBlock made(shape);
  for (int64_t i = 0; i < shape[0]; ++i)
    for (int64_t j = 0; j < shape[1]; ++j)
      for (int64_t k = 0; k < shape[2]; ++k) {
        std::array<int64_t, 3> from = {i, j, k};
        size_t member = 0;
        if (joined >= 0) {
          const auto d = static_cast<size_t>(joined);
          member = static_cast<size_t>(from[d] / part[d]), from[d] %= part[d];
        }
        if (cut >= 0) from[static_cast<size_t>(cut)] += own * part[static_cast<size_t>(cut)];
        const float a = blocks[0].at(from), b = blocks[1].at(from);
        made.at({i, j, k}) = joined >= 0          ? blocks[member].at(from)
                             : has_word(c, "max") ? std::max(a, b)
                                                  : a + b;
      }
  return made;
}

class CompiledCollective : public ::testing::TestWithParam<CollectiveCase> {};

TEST_P(CompiledCollective, AlongAnyDim) {
  const CollectiveCase& c = GetParam();
  const std::string text = fmt::format(
      "mesh {{model = 2, data = 2}}\nsymbols T <= 5\npartitioned {{}}\n"
      "graph @main(%x: f32[T,4,6]) {{\n  %n = neg %x : f32[T,4,6]\n  %c = collective %n {{axis = \"data\", "
      "{}}} : "
      "f32{}\n  %y = neg %c : f32{}\n  return y = %y\n}}\n",
      c.attributes, c.result, c.result);
  CompileOptions options;
  options.mode = Mode::infer;
  const auto plan = std::make_shared<const Plan>(compile(parse_module(text), options).plan);
  ASSERT_EQ(plan->mesh, parse_mesh(kBlockMesh));
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .poison = true, .ranks = &ranks});
    const auto members = plan->mesh.group(ranks.rank(), 1);
    std::array<RankBlock, 2> negated = {block_of(members[0]), block_of(members[1])};
    for (RankBlock& block : negated)
      for (float& number : block.data) number = -number;
    const RankBlock x = block_of(ranks.rank());
    const InputTensor input{plan->entries[0].inputs[0].name, DType::f32, {kBlockRows, 4, 6}, x.data.data()};
    const auto outputs = session.run("main", std::span(&input, 1));
    const auto found = outputs[0].as<float>();
    RankBlock wanted = combined(c, negated, plan->mesh.coordinates(ranks.rank())[1]);
    for (float& number : wanted.data) number = -number;
    EXPECT_EQ(std::vector<float>(found.begin(), found.end()), wanted.data);
  });
}

INSTANTIATE_TEST_SUITE_P(All, CompiledCollective, ::testing::ValuesIn(kCollectives));

struct RowsCase {
  const char* attributes;
  const char* given;   // the shape of the operand, by the symbols B and S
  const char* result;  // of the result
};
void PrintTo(const RowsCase& c, std::ostream* out) { *out << c.attributes; }
constexpr RowsCase kRowsCases[] = {
    {"kind = \"all_gather\", dim = 1", "[B,S,4]", "[B,{0}*S,4]"},
    {"kind = \"all_gather\", dim = 2", "[B,2,S]", "[B,2,{0}*S]"},
    {"kind = \"reduce_scatter\", dim = 1", "[B,{0}*S,4]", "[B,S,4]"},
    {"kind = \"reduce_scatter\", dim = 2, sum = \"max\"", "[B,2,{0}*S,4]", "[B,2,S,4]"},
    {"kind = \"all_to_all\", dim = 2, to = 1", "[B,{0},S,4]", "[B,1,{0}*S,4]"},
};

/// Rows are few and long by their bounds, whatever the sizes of a run: S is up to `most`.
Compilation compiled_rows(const RowsCase& c, int64_t ranks, int64_t most, const CompileOptions& options) {
  const auto shape = [&](const char* text) { return fmt::format(fmt::runtime(text), ranks); };
  const std::string text = fmt::format(
      "mesh {{data = {0}}}\nsymbols B <= 3, S <= {1}\npartitioned {{}}\ngraph @main(%x: f32{2}) {{\n"
      "  %n = neg %x : f32{2}\n  %c = collective %n {{axis = \"data\", {3}}} : f32{4}\n"
      "  %y = neg %c : f32{4}\n  return y = %y\n}}\n",
      ranks, most, shape(c.given), c.attributes, shape(c.result));
  CompileOptions made = options;
  made.mode = Mode::infer;
  return compile(parse_module(text), made);
}

/// Of each rank.
std::vector<std::vector<float>> run_rows(const Plan& plan, const RowsCase& c, int64_t ranks) {
  constexpr int64_t kB = 3, kS = 5;
  const bool scatters = std::string_view(c.attributes).find("scatter") != std::string_view::npos;
  std::vector<std::vector<float>> made(static_cast<size_t>(ranks));
  test::ThreadRanks(plan.mesh).run([&](RankGroups& group) {
    Session session(std::make_shared<const Plan>(plan), {.threads = 1, .poison = true, .ranks = &group});
    const Port& port = plan.entries[0].inputs[0];
    std::vector<int64_t> shape;
    for (const Dim& dim : port.shape) shape.push_back(dim.evaluate({{"B", kB}, {"S", kS}}));
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    EXPECT_EQ(count % (kB * kS * (scatters ? ranks : 1)), 0);
    std::vector<float> x;
    for (int64_t i = 0; i < count; ++i)
      x.push_back(static_cast<float>((i * 37 + group.rank() * 11) % 50) - 20);
    const InputTensor input{port.name, DType::f32, shape, x.data()};
    const auto outputs = session.run("main", std::span(&input, 1));
    const auto y = outputs[0].as<float>();
    made[static_cast<size_t>(group.rank())].assign(y.begin(), y.end());
  });
  return made;
}

struct StepCounts {
  int rows = 0, copies = 0;  // collectives of several rows
};
StepCounts count_steps(const Program& program) {
  StepCounts counts;
  for (const Step& step : program.entries[0].steps) {
    const auto* collective = std::get_if<CollectiveStep>(&step.what);
    counts.rows += collective && !collective->rows.is_one();
    counts.copies += std::holds_alternative<CopyStep>(step.what);
  }
  return counts;
}

class CompiledRows : public ::testing::TestWithParam<RowsCase> {};

/// The same bits, with copies and without.
TEST_P(CompiledRows, AreAsOneWhereTheyAreLong) {
  for (const int64_t ranks : {2, 4}) {
    const Compilation copied = compiled_rows(GetParam(), ranks, 8, {}),
                      as_one = compiled_rows(GetParam(), ranks, 1 << 14, {});
    EXPECT_EQ(count_steps(as_one.program).rows, 1);
    EXPECT_EQ(count_steps(as_one.program).copies, 0);
    EXPECT_EQ(count_steps(copied.program).rows, 0);
    EXPECT_GE(count_steps(copied.program).copies, 1);
    EXPECT_EQ(run_rows(as_one.plan, GetParam(), ranks), run_rows(copied.plan, GetParam(), ranks));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CompiledRows, ::testing::ValuesIn(kRowsCases));

/// Offsets by a rank's place, which a session binds.
TEST(CompiledCollective, RanksKnowTheirPlace) {
  constexpr const char* kText = R"(mesh {model = 2, data = 3}
partitioned {}
graph @main(%x: f32[12]) {
  %y = slice %x {axis = 0, begin = 6*model.rank + 2*data.rank} : f32[2]
  %z = neg %y : f32[2]
  return z = %z
}
)";
  CompileOptions options;
  options.mode = Mode::infer;
  const auto plan = std::make_shared<const Plan>(compile(parse_module(kText), options).plan);
  std::vector<float> x(12);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i + 1);
  test::ThreadRanks(plan->mesh).run([&](RankGroups& ranks) {
    Session session(plan, {.threads = 1, .poison = true, .ranks = &ranks});
    const InputTensor input{plan->entries[0].inputs[0].name, DType::f32, {12}, x.data()};
    const auto z = session.run("main", std::span(&input, 1))[0];
    const auto first = 2 * static_cast<size_t>(ranks.rank());
    EXPECT_EQ(z.as<float>()[0], -x[first]);
    EXPECT_EQ(z.as<float>()[1], -x[first + 1]);
  });
}

}  // namespace
}  // namespace smelt
