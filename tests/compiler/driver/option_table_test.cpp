// The table of compile options: what each option takes, how it is named in each language, and that a change
// of any option changes the key of the plan, or bypasses the cache.
#include "compiler/driver/option_table.h"

#include <gtest/gtest.h>

#include <map>

#include "compiler/driver/plan_cache.h"
#include "tests/compiler/cli.h"

namespace smelt {
namespace {

std::string problem(std::string_view name, std::string_view value, OptionSpelling spelling) {
  CompileOptions options = default_options();
  try {
    set_option(options, name, value, spelling);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

TEST(OptionTable, WhatIsWrongNamesTheOptionAsItWasWritten) {
  using enum OptionSpelling;
  EXPECT_EQ(problem("weight-type", "int3", command_line),
            "--weight-type=int3: expected float, int8, int4, uint4, nf4 or fp8");
  EXPECT_EQ(problem("weight-type", "int3", c),
            "weight-type=int3: expected float, int8, int4, uint4, nf4 or fp8");
  EXPECT_EQ(problem("weight_type", "int3", python),
            "weight_type=int3: expected float, int8, int4, uint4, nf4 or fp8");
  EXPECT_EQ(problem("zero", "4", c), "zero=4: expected a whole number from 0 to 3");
  EXPECT_EQ(problem("max", "T=5,T=6", c), "max=T=5,T=6: two bounds of T, 5 and 6: give one of them");
  EXPECT_EQ(problem("weight_tipe", "int8", python),
            "compile has no option weight_tipe; did you mean weight_type?");
  EXPECT_EQ(problem("gemm_bodies", "off", python), "gemm_bodies= is now gemm_epilogues=");
}

TEST(OptionTable, MessagesAreRespelled) {
  using enum OptionSpelling;
  const std::string_view text = "--mode=infer, --zero or --no-kv-cache; --lora and --sequence-parallel";
  EXPECT_EQ(respelled(text, c), "mode=infer, zero= or no-kv-cache; --lora and sequence-parallel");
  EXPECT_EQ(respelled(text, python),
            "mode=infer, zero= or kv_cache=False; --lora and sequence_parallel=True");
}

TEST(OptionTable, TogglesHaveTheirOpposite) {
  CompileOptions options = default_options();
  set_option(options, "kv-cache", "true", OptionSpelling::c);
  EXPECT_EQ(options.build.caches, true);
  set_option(options, "no-kv-cache", "true", OptionSpelling::c);
  EXPECT_EQ(options.build.caches, false);
  EXPECT_NE(problem("no-tune", "true", OptionSpelling::c), "");
}

TEST(OptionTable, ASwitchThatIsNotOffLeavesTheOptionAlone) {
  CompileOptions options = default_options();
  set_option(options, "no-kv-cache", "false", OptionSpelling::c);
  EXPECT_EQ(options.build.caches, std::nullopt);
}

TEST(OptionTable, NamesAndPathsWithDashesStayAsTheyAre) {
  using enum OptionSpelling;
  EXPECT_EQ(respelled("/tmp/a--max.json: --max=B", c), "/tmp/a--max.json: max=B");
  EXPECT_EQ(respelled("there is no entry @x--max (--tune)", python), "there is no entry @x--max (tune=True)");
}

TEST(OptionTable, ABudgetAndAPolicyAreRefusedWhicheverThePolicyIs) {
  for (const char* policy : {"cheap", "layers"}) {
    CompileOptions options = default_options();
    set_option(options, "memory-budget", "1GiB", OptionSpelling::c);
    set_option(options, "recompute", policy, OptionSpelling::c);
    EXPECT_THROW(checked_options(options), Error) << policy;
  }
}

TEST(OptionTable, LessThanAByteIsNoAmountOfMemory) {
  EXPECT_NE(problem("offload-optimizer", "0.5", OptionSpelling::c), "");
  EXPECT_NE(problem("offload-bucket", "0.5", OptionSpelling::c), "");
}

/// A value that is not the default.
std::string other_value(const CompileOption& option, const std::string& standard) {
  static const std::map<std::string_view, std::string> kValues = {
      {"target", "sm_90"},      {"recompute", "layers"},   {"offload-optimizer", "50%"},
      {"mesh", "data=2"},       {"dropout", "0.25"},       {"chunk-rows", "7"},
      {"pipeline", "simplify"}, {"dump-dir", "elsewhere"}, {"max", "B=3"}};
  if (const auto found = kValues.find(option.name); found != kValues.end()) return found->second;
  switch (option.kind) {
    case ValueKind::flag:
    case ValueKind::toggle:
      return "true";
    case ValueKind::one_of:
      return option.values.substr(option.values.rfind('|') + 1) != standard
                 ? option.values.substr(option.values.rfind('|') + 1)
                 : option.values.substr(0, option.values.find('|'));
    case ValueKind::whole:
      return standard == "2" ? "3" : "2";
    case ValueKind::real:
      return "0.125";
    case ValueKind::bytes:
      return "1MiB";
    default:
      return "name";
  }
}

TEST(OptionTable, EveryOptionIsReadAsItIsWrittenAndChangesTheKey) {
  const Description description = read_description(test::kGolden);
  const CompileOptions standard = default_options();
  const std::string key = plan_key(description, standard);
  ASSERT_NE(key, "");
  for (const CompileOption& option : option_table()) {
    SCOPED_TRACE(option.name);
    CompileOptions changed = standard;
    option.set(changed, other_value(option, option.get(standard)));
    const std::string text = option.get(changed);
    EXPECT_NE(text, option.get(standard));
    EXPECT_NE(plan_key(description, changed), key);
    CompileOptions again = standard;
    option.set(again, text);
    EXPECT_EQ(option.get(again), text);
    EXPECT_EQ(plan_key(description, again), plan_key(description, changed));
  }
}

using OptionFiles = test::CommandLine;

TEST_F(OptionFiles, AreAsTheyAreMade) {
  const std::filesystem::path source = SMELT_SOURCE_DIR;
  for (const auto& [words, file] : {std::pair("--markdown", "docs/reference/compile_options.md"),
                                    {"--environment --markdown", "docs/reference/environment.md"},
                                    {"--python", "compiler/python/smelt/options.py"}})
    EXPECT_EQ(smelt(fmt::format("options {}", words)).out, test::slurp(source / file))
        << "smelt options " << words << " > " << file;
}

}  // namespace
}  // namespace smelt
