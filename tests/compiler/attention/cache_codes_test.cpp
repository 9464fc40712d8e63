// Keys and values in codes of 8 bits: what a cache stores, and the attentions that read it, on a CPU and in
// the kernels for GPUs on the host, against the evaluator.
#include <cmath>

#include "frontend/blocks/blocks.h"
#include "tests/compiler/cpu_against_evaluator.h"
#include "tests/support/cached_attention.h"
#include "tests/support/cuda_on_host/cuda_on_host.h"
#include "tests/support/table_attention.h"

namespace smelt {
namespace {

using testing::CachedAttention;
using testing::inputs_of;
using testing::module_of;

constexpr CacheCodes kBoth[] = {CacheCodes::int8, CacheCodes::fp8};

// ---- codes

/// The codes and scales of x f32[4,3,2,width], as floats.
std::unique_ptr<Module> coding(CacheCodes codes, int64_t width) {
  auto module = std::make_unique<Module>();
  GraphBuilder b(module->add_graph("main"));
  const Cached made = coded(b, b.input("x", {DType::f32, {4, 3, 2, width}}), codes);
  b.output("codes", b.convert(made.numbers, DType::f32));
  b.output("scales", b.convert(made.scales, DType::f32));
  return module;
}

Tensors rows_of(const Module& module) {
  Tensors inputs = testing::random_inputs(*module.graphs[0], 5, {});
  std::vector<double>& x = inputs.at("x").data;
  const size_t width = x.size() / 24;
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(x[i] * std::ldexp(1.0, 8 * static_cast<int>(i / width) - 90));
  std::fill_n(x.begin(), width, 0.0);                                  // a head of zeros
  std::fill_n(x.begin() + static_cast<int64_t>(width), width, 1e-44);  // a head of subnormal numbers
  return inputs;
}

void expect_same_codes(const Module& module, const Tensors& inputs, Plan plan) {
  const Tensors expected =
      evaluate(*module.graphs[0], inputs, {}, {.symbols = {}, .philox = {}, .round = true, .single = true})
          .outputs;
  Session session = testing::cpu_session(std::move(plan));
  const Tensors found = testing::run_entry(session, "main", {}, inputs);
  for (const char* name : {"codes", "scales"}) EXPECT_EQ(found.at(name).data, expected.at(name).data) << name;
}

Plan plan_for(const Module& module, CompileOptions options, const char* target) {
  options.mode = Mode::infer, options.target = target;
  if (std::string_view(target) == "cpu") return compile(module.clone(), options).plan;
  return test::plan_on_host(compile(module.clone(), options, Stage::program).program);
}

TEST(CacheCodes, AreTheSameBitsEverywhere) {
  for (const CacheCodes codes : kBoth)
    for (const int64_t width : {1, 12, 64, 80})
      for (const char* target : {"cpu", "sm_80", "sm_90"})
        for (const DType storage : {DType::f32, DType::bf16}) {
          const auto module = coding(codes, width);
          CompileOptions options;
          options.storage = storage;
          expect_same_codes(*module, rows_of(*module), plan_for(*module, options, target));
        }
}

TEST(CacheCodes, OfZerosAreZerosAndScalesAreNever0) {
  for (const CacheCodes codes : kBoth) {
    const auto module = coding(codes, 8);
    const Tensors made = evaluate(*module->graphs[0], rows_of(*module), {},
                                  {.symbols = {}, .philox = {}, .round = true, .single = true})
                             .outputs;
    for (size_t i = 0; i < 16; ++i) EXPECT_EQ(made.at("codes").data[i], 0);
    for (const double scale : made.at("scales").data) EXPECT_GT(scale, 0);
  }
}

/// A scale says where a number of its head is not finite, so that the head's numbers are not, as in a cache
/// of floats; others are what they are.
TEST(CacheCodes, OfNumbersThatAreNotFiniteHaveSuchScales) {
  for (const CacheCodes codes : kBoth)
    for (const char* target : {"cpu", "sm_90"})
      for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        const auto module = coding(codes, 8);
        Tensors inputs = rows_of(*module);
        inputs.at("x").data[19] = bad;
        Session session = testing::cpu_session(plan_for(*module, {}, target));
        const Tensors made = testing::run_entry(session, "main", {}, inputs);
        for (size_t head = 0; head < 24; ++head)
          EXPECT_EQ(std::isfinite(made.at("scales").data[head]), head != 2) << head;
        for (size_t i = 16; i < 24; ++i) EXPECT_EQ(made.at("codes").data[i], 0);
      }
}

/// Half of a unit of the code: of e4m3 relative, or of the smallest numbers absolute; scales are rounded,
/// too.
TEST(CacheCodes, AreTheNearest) {
  for (const CacheCodes codes : kBoth) {
    const auto module = coding(codes, 64);
    const Tensors inputs = rows_of(*module);
    const Tensors made =
        evaluate(*module->graphs[0], inputs, {}, {.symbols = {}, .philox = {}, .round = true, .single = true})
            .outputs;
    for (size_t i = 128; i < inputs.at("x").data.size(); ++i) {
      const double x = inputs.at("x").data[i], scale = made.at("scales").data[i / 64];
      const double step = codes == CacheCodes::int8 ? scale / 2 : std::max(std::abs(x) / 16, scale * 0x1p-10);
      EXPECT_NEAR(made.at("codes").data[i] * scale, x, step * 1.01) << i;
    }
  }
}

// ---- attention

CachedAttention with_codes(CachedAttention cache, CacheCodes codes) {
  const DType dtype = cache.dtype;
  cache.stored = [=](GraphBuilder& b, Value* x) { return numbers_of(b, coded(b, x, codes), dtype); };
  return cache;
}

bool reads_codes(const Program& program) {
  return std::ranges::all_of(program.kernels, [](const Kernel& kernel) {
    return !kernel.attention || kernel.attention->scales.size() == 2;
  });
}

/// Compares y with the exact attention of the same codes: kernels round y, and mma also keys and weights.
void expect_right(const CachedAttention& cache, CacheCodes codes, const std::vector<int64_t>& past,
                  const char* target, int64_t queries = 1, double roundings = 1) {
  CachedAttention exact = cache;
  exact.dtype = DType::f32;
  const auto module = module_of(with_codes(cache, codes)), reference = module_of(with_codes(exact, codes));
  const Tensors inputs = inputs_of(*module, past, queries);
  const SymbolValues symbols = {{"B", static_cast<int64_t>(past.size())}, {"T", queries}};
  const Tensors expected = evaluate(*reference->graphs[0], inputs, {},
                                    {.symbols = symbols, .philox = {}, .round = true, .single = true})
                               .outputs;
  CompileOptions options;
  options.storage = cache.dtype, options.mode = Mode::infer, options.target = target;
  EXPECT_TRUE(reads_codes(compile(module->clone(), options, Stage::program).program)) << print(*module);
  Session session = testing::cpu_session(plan_for(*module, options, target));
  const Tensors actual = testing::run_entry(session, "main", {}, inputs);
  const double rounding = cache.dtype == DType::bf16 ? 0x1p-8 : cache.dtype == DType::f16 ? 0x1p-11 : 0;
  EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")), roundings * rounding + 4e-6)
      << target << " " << name(cache.dtype) << " " << cache.width;
}

TEST(AttentionOfCodes, IsRightInEveryTypeAndWidth) {
  for (const CacheCodes codes : kBoth)
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
      for (const int64_t width : {1, 8, 12, 17, 64, 80, 128, 256})
        for (const char* target : {"cpu", "sm_90"})
          expect_right({.keys = 333, .width = width, .dtype = dtype}, codes, {0, 300, 332}, target);
}

TEST(AttentionOfCodes, IsRightWithoutClusters) {
  for (const CacheCodes codes : kBoth)
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
      expect_right({.dtype = dtype}, codes, {0, 300, 776}, "sm_80");
}

TEST(AttentionOfCodes, IsRightForGroupsWindowsRingsAndMasks) {
  for (const CacheCodes codes : kBoth)
    for (const char* target : {"cpu", "sm_90"}) {
      for (const int64_t group : {1, 3, 8, 24})
        expect_right({.heads = 2 * group, .dtype = DType::bf16}, codes, {5, 64, 700}, target);
      expect_right({.queries = 4, .window = 100}, codes, {0, 99, 772}, target);
      expect_right({.dtype = DType::bf16, .window = 100, .ring = true}, codes, {12, 780, 5000}, target);
      expect_right({.dtype = DType::bf16, .masked = true}, codes, {12, 770, 500}, target);
    }
}

/// Prompts run in the kernels for many queries, which round keys and values to their type.
TEST(AttentionOfCodes, IsRightForManyQueries) {
  for (const CacheCodes codes : kBoth)
    for (const char* target : {"cpu", "sm_90"})
      for (const int64_t width : {12, 64, 80}) {
        expect_right({.width = width, .most_queries = 70, .dtype = DType::bf16}, codes, {5, 64, 700}, target,
                     70, 2);
        expect_right({.width = width, .most_queries = 70, .dtype = DType::f32}, codes, {5, 64, 700}, target,
                     70);
      }
}

// ---- codes in rows of a table

/// Three rows of tokens in pages of 16, whose codes and scales are states.
std::unique_ptr<Module> in_pages(DType codes, DType dtype, int64_t width) {
  auto module = std::make_unique<Module>();
  module->symbols.bound({"B"}, 3);
  for (const char* name : {"k", "v"}) {
    module->states.push_back(
        {.name = name, .role = Role::cache, .dtype = codes, .shape = {50, 16, 2, width}, .init = {}});
    module->states.push_back({.name = std::string(name) + ".scales",
                              .role = Role::cache,
                              .dtype = DType::bf16,
                              .shape = {50, 16, 2, 1},
                              .init = {}});
  }
  GraphBuilder b(module->add_graph("main"));
  const Dim rows = Dim::symbol("B");
  Value* q = b.input("q", {dtype, {rows, 1, 4, width}});
  Value* pages = b.input("pages", {DType::i32, {rows, 13}});
  pages->node()->set(attr::below, 50);
  Value* lines = lines_of_pages(b, pages);
  const auto numbers = [&](const std::string& name) {
    Value* scales = b.reshape(lines_of(b, b.state(name + ".scales")), {800, 2});
    return numbers_of(b, {b.gather(lines_of(b, b.state(name)), lines), b.gather(scales, lines)}, dtype);
  };
  AttentionWriter writer(b, q, numbers("k"), numbers("v"), 0.25);
  writer.place_queries(b.input("past", {DType::i32, {rows}}));
  writer.mask_future();
  b.output("y", writer.finish()->result());
  return module;
}

Tensors random_codes(const Module& module, DType codes) {
  Tensors states = testing::random_states(*module.graphs[0], 5, {{"B", 3}});
  for (auto& [name, tensor] : states)
    for (double& x : tensor.data) {
      const auto wide = static_cast<float>(x);
      if (name.find("scales") != name.npos)
        x = from_bf16(to_bf16(0.01f + std::abs(wide) / 100));
      else
        x = codes == DType::i8 ? std::round(std::clamp(wide * 50, -127.f, 127.f))
                               : from_f8e4m3(to_f8e4m3(wide * 50));
    }
  return states;
}

void write_codes(Session& session, const Tensors& states) {
  testing::write_states(session, states);
  for (const auto& [name, tensor] : states)
    if (tensor.dtype == DType::f8e4m3)
      for (size_t i = 0; i < tensor.data.size(); ++i)
        session.state(name)[i] = std::byte{to_f8e4m3(static_cast<float>(tensor.data[i]))};
}

TEST(AttentionOfCodes, FollowsIndices) {
  for (const DType codes : {DType::i8, DType::f8e4m3})
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const char* target : {"cpu", "sm_90"}) {
        const auto module = in_pages(codes, dtype, 64), exact = in_pages(codes, DType::f32, 64);
        Tensors inputs = testing::random_inputs(*module->graphs[0], 5, {{"B", 3}});
        testing::round_to_type(inputs);
        inputs.at("past").data = {3, 100, 207};
        const Tensors states = random_codes(*module, codes);
        const Tensors expected =
            evaluate(*exact->graphs[0], inputs, states, {.symbols = {{"B", 3}}, .philox = {}, .round = true})
                .outputs;
        CompileOptions options;
        options.storage = dtype, options.mode = Mode::infer, options.target = target;
        const Program program = compile(module->clone(), options, Stage::program).program;
        EXPECT_TRUE(reads_codes(program));
        EXPECT_TRUE(std::ranges::any_of(
            program.kernels,
            [](const Kernel& kernel) { return kernel.attention && kernel.attention->places >= 0; }))
            << target << name(codes) << name(dtype);
        Session session = testing::cpu_session(plan_for(*module, options, target));
        write_codes(session, states);
        const Tensors actual = testing::run_entry(session, "main", {}, inputs);
        EXPECT_LE(testing::relative_error(actual.at("y"), expected.at("y")),
                  (dtype == DType::bf16 ? 0x1p-8 : 0) + 4e-6)
            << target << name(codes) << name(dtype);
      }
}

}  // namespace
}  // namespace smelt
