// Plans that take logits apart (--chunk-rows) and plans that do not train alike, at the bounds and for fewer
// rows than there are chunks; the logits of all rows have no memory.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "frontend/description.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"

namespace smelt {
namespace {

struct ChunkCase {
  const char *model, *symbols, *target;
  DType storage;
};
void PrintTo(const ChunkCase& c, std::ostream* out) {
  *out << c.model << " " << c.target << " " << name(c.storage);
}

constexpr int64_t kChunkRows = 10;
const SymbolValues kBounds = {{"B", 3}, {"T", 13}, {"S", 11}};

Compilation compilation(const ChunkCase& c, int64_t chunk_rows, Stage stage) {
  CompileOptions options;
  options.entries = {"train_step", "accumulate", "apply", "evaluate"};
  options.target = c.target, options.storage = c.storage;
  options.chunk_rows = chunk_rows;
  for (const char symbol : std::string(c.symbols))
    options.build.bounds.push_back({{std::string(1, symbol)}, kBounds.at(std::string(1, symbol))});
  const std::filesystem::path models = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens";
  return compile(read_description(models / c.model), options, stage);
}

std::shared_ptr<const Plan> plan(const ChunkCase& c, int64_t chunk_rows) {
  if (std::string_view(c.target) == "cpu")
    return std::make_shared<const Plan>(compilation(c, chunk_rows, Stage::plan).plan);
  return std::make_shared<const Plan>(test::plan_on_host(compilation(c, chunk_rows, Stage::program).program));
}

HostTensor random_ids(const Port& port, const SymbolValues& sizes, std::mt19937& engine) {
  HostTensor tensor;
  tensor.name = port.name, tensor.dtype = port.dtype;
  int64_t elements = 1;
  for (const Dim& dim : port.shape) elements *= tensor.shape.emplace_back(dim.evaluate(sizes));
  tensor.bytes.resize(static_cast<size_t>(elements * size_of(port.dtype)));
  for (int64_t i = 0; i < elements; ++i) {
    const bool ignored = port.ids && port.ids->ignored && engine() % 5 == 0;
    const auto id =
        ignored ? static_cast<int32_t>(*port.ids->ignored)
                : static_cast<int32_t>(engine() % static_cast<uint64_t>(port.ids ? port.ids->below : 2));
    std::memcpy(tensor.bytes.data() + i * 4, &id, 4);
  }
  return tensor;
}

using Numbers = std::map<std::string, std::vector<std::byte>>;

/// Losses, norms and states of a step, two accumulated batches with their update, and an evaluation.
Numbers after_training(const std::shared_ptr<const Plan>& plan, const SymbolValues& sizes) {
  Session session(plan, {.threads = 1, .poison = true});
  std::mt19937 engine(5);
  Numbers all;
  session.initialize(1);
  for (const char* entry : {"train_step", "accumulate", "accumulate", "apply", "evaluate"}) {
    std::vector<HostTensor> tensors;
    std::vector<InputTensor> inputs;
    for (const Port& port : session.entry(entry).inputs) tensors.push_back(random_ids(port, sizes, engine));
    for (const HostTensor& t : tensors) inputs.push_back({t.name, t.dtype, t.shape, t.bytes.data()});
    session.set_random(7, 1, 0);
    for (const HostTensor& output : session.run(entry, inputs)) all[entry + output.name] = output.bytes;
  }
  for (const char* state : {"parameters", "adam.m"}) {
    const auto bytes = session.state(state);
    all[state].assign(bytes.begin(), bytes.end());
  }
  return all;
}

double relative_error(const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i + 4 <= b.size(); i += 4) {
    float x, y;
    std::memcpy(&x, a.data() + i, 4), std::memcpy(&y, b.data() + i, 4);
    difference += (double{x} - y) * (double{x} - y), norm += double{y} * y;
  }
  return std::sqrt(difference / norm);
}

class ChunkedTraining : public ::testing::TestWithParam<ChunkCase> {};

TEST_P(ChunkedTraining, IsThatOfAllRows) {
  const auto whole = plan(GetParam(), 0), chunked = plan(GetParam(), kChunkRows);
  const double bound = GetParam().storage == DType::f32 ? 2e-5 : 2e-2;
  for (const SymbolValues& sizes : {kBounds, SymbolValues{{"B", 1}, {"T", 2}, {"S", 1}}}) {
    const Numbers expected = after_training(whole, sizes), numbers = after_training(chunked, sizes);
    for (const auto& [name, bytes] : expected)
      EXPECT_LT(relative_error(numbers.at(name), bytes), bound) << name;
    EXPECT_EQ(numbers, after_training(chunked, sizes));
  }
}

TEST_P(ChunkedTraining, KeepsNoLogitsOfAllRows) {
  const Compilation whole = compilation(GetParam(), 0, Stage::program),
                    chunked = compilation(GetParam(), kChunkRows, Stage::program);
  EXPECT_TRUE(whole.chunks.empty());
  EXPECT_EQ(chunked.chunks.size(), 3u);  // train_step, accumulate, evaluate
  const auto has_logits = [](const Program& program) {
    return llvm::any_of(program.entries, [](const PlanEntry& entry) {
      return llvm::any_of(entry.steps, [](const Step& step) {
        const auto* gemm = std::get_if<GemmStep>(&step.what);
        return gemm && gemm->m == Dim::parse("B*T") && llvm::is_contained(step.sources, "lm_head");
      });
    });
  };
  EXPECT_TRUE(has_logits(whole.program));
  EXPECT_FALSE(has_logits(chunked.program));
}

const ChunkCase kChunkCases[] = {{"gpt2", "BT", "sm_90", DType::bf16},
                                 {"bart-uneven", "BST", "cpu", DType::f32},
                                 {"llama-llama3", "BT", "cpu", DType::bf16}};
INSTANTIATE_TEST_SUITE_P(Models, ChunkedTraining, ::testing::ValuesIn(kChunkCases));

}  // namespace
}  // namespace smelt
