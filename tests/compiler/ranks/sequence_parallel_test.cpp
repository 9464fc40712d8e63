// What ranks that share sequences compute and send, beside ranks that do not.
#include <gtest/gtest.h>

#include <ostream>
#include <string_view>

#include "compiler/driver/compile.h"
#include "llvm/ADT/STLExtras.h"

namespace smelt {
namespace {

struct SequenceCase {
  const char* name;
  const char* spec;
};
void PrintTo(const SequenceCase& c, std::ostream* out) { *out << c.name; }

#define SMELT_SEQUENCE_SIZES R"("vocab_size": 64, "hidden": 32, "max_positions": 16)"
#define SMELT_SEQUENCE_STACK R"({"layers": 2, "heads": 4, "ffn": 64})"
#define SMELT_SEQUENCE_LAYER R"({"layers": 1, "heads": 4, "ffn": 64})"
const SequenceCase kSequenceCases[] = {
    {"llama", "{\"family\": \"llama\", " SMELT_SEQUENCE_SIZES
              R"(, "decoder": {"layers": 2, "heads": 8, "kv_heads": 4, "ffn": 64}})"},
    {"gpt2", "{\"family\": \"gpt2\", " SMELT_SEQUENCE_SIZES ", \"decoder\": " SMELT_SEQUENCE_STACK "}"},
    {"bert", "{\"family\": \"bert\", " SMELT_SEQUENCE_SIZES ", \"encoder\": " SMELT_SEQUENCE_STACK
             R"(, "head": {"kind": "mlm", "bias": true}})"},
    {"bart",
     "{\"family\": \"bart\", " SMELT_SEQUENCE_SIZES ", \"encoder\": " SMELT_SEQUENCE_LAYER
     ", \"decoder\": " SMELT_SEQUENCE_STACK R"(, "tokens": {"pad": 1, "decoder_start": 2, "eos": [2]}})"},
    {"t5",
     "{\"family\": \"t5\", " SMELT_SEQUENCE_SIZES ", \"encoder\": " SMELT_SEQUENCE_LAYER
     ", \"decoder\": " SMELT_SEQUENCE_LAYER R"(, "tokens": {"pad": 0, "decoder_start": 0, "eos": [1]}})"}};

/// The fused step of training on four ranks.
std::unique_ptr<Module> fused_step(const SequenceCase& c, bool sequences) {
  CompileOptions options;
  options.build.dropout = 0;
  options.build.bounds = {{{"B"}, 2}, {{"T"}, 16}};
  options.entries = {"train_step"};
  options.mesh = parse_mesh("model=4");
  options.sequence_parallel = sequences;
  const Description description{Description::Kind::spec, "spec.json", spec_from_json(c.spec), nullptr,
                                Json::object(),          {}};
  return std::move(compile(description, options, Stage::fused).fused);
}

int64_t products(const Module& module) {
  return llvm::count_if(module.graphs.at(0)->nodes(), [](const auto& node) { return node->is(Op::matmul); });
}

/// Collectives of this kind of what has a row of numbers for each token.
int64_t of_rows(const Module& module, std::string_view kind) {
  return llvm::count_if(module.graphs.at(0)->nodes(), [&](const auto& node) {
    return node->is(Op::collective) && node->get(attr::kind) == kind && node->result()->rank() == 3;
  });
}

class SequenceParallelSteps : public ::testing::TestWithParam<SequenceCase> {};

/// The same products, a reduce_scatter for an all_reduce, and a gather before and behind at most.
TEST_P(SequenceParallelSteps, HaveTheProductsAndSumsOfThoseWithout) {
  const auto whole = fused_step(GetParam(), false), parts = fused_step(GetParam(), true);
  EXPECT_GT(products(*whole), 0);
  EXPECT_EQ(products(*parts), products(*whole));
  EXPECT_GT(of_rows(*parts, "reduce_scatter"), 0);
  EXPECT_LE(of_rows(*parts, "reduce_scatter"), of_rows(*whole, "all_reduce"));
  EXPECT_LE(of_rows(*parts, "all_gather"), 2 * of_rows(*parts, "reduce_scatter"));
  EXPECT_EQ(of_rows(*parts, "all_to_all"), 0);
  EXPECT_EQ(of_rows(*parts, "all_reduce"), 0);
}

INSTANTIATE_TEST_SUITE_P(Families, SequenceParallelSteps, ::testing::ValuesIn(kSequenceCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace smelt
