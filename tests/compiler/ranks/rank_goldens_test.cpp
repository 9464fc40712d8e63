// Ranks that share a model with weights generate what transformers has generated with them.
#include <gtest/gtest.h>

#include "compiler/cli/commands/verify_generation.h"
#include "compiler/cli/shared/model.h"
#include "runtime/plan/plan_model.h"
#include "tests/support/thread_ranks.h"

namespace smelt {
namespace {

/// Room for all recorded cases.
CompileOptions golden_options(const std::vector<cli::GenerationCase>& cases, const Description& description,
                              const std::string& mesh, bool chooses) {
  const bool reads_source = description.spec.encoder.layers > 0;
  CompileOptions options;
  options.mode = Mode::infer;
  options.mesh = parse_mesh(mesh);
  options.build.caches = true, options.build.has_sampler = chooses;
  options.build.bounds = {{{"B"}, cli::most_rows(cases)}, {{"T"}, cli::longest_sequence(cases) + 1}};
  if (reads_source) options.build.bounds.push_back({{"S"}, cli::longest_prompt(cases)});
  options.entries = cli::cache_entries(reads_source, options);
  return options;
}

void expect_recorded_texts(const std::filesystem::path& directory, const std::string& mesh, bool chooses) {
  SCOPED_TRACE(directory.string() + " over " + mesh);
  cli::Model model;
  model.path = directory;
  model.description = read_description(directory);
  model.weights = cli::weights_of(*model.description);
  const auto cases = cli::read_generation_cases(directory);
  ASSERT_FALSE(cases.empty());
  const CompileOptions options = golden_options(cases, *model.description, mesh, chooses);
  model.plan = std::make_shared<const Plan>(compile(*model.description, options).plan);
  model.about = read_plan_model(model.plan->model);
  test::ThreadRanks(model.plan->mesh).run([&](RankGroups& ranks) {
    const auto session = cli::open_session(model, {}, {.threads = 1, .ranks = &ranks});
    for (const cli::GenerationCase& recorded : cases) {
      const cli::GenerationOutcome outcome = cli::compare_case(recorded, *session, model.about);
      EXPECT_EQ(outcome.equal, outcome.rows) << recorded.name << ", rank " << ranks.rank();
      EXPECT_LE(outcome.score_error, 1e-5) << recorded.name << ", rank " << ranks.rank();
    }
  });
}

const std::filesystem::path kRecordedTexts = std::filesystem::path(SMELT_SOURCE_DIR) / "tests/goldens/gpt2";

TEST(RankGoldens, TextsThatTheHostChooses) { expect_recorded_texts(kRecordedTexts, "model=4", false); }
TEST(RankGoldens, TextsThatThePlanChooses) { expect_recorded_texts(kRecordedTexts, "model=2", true); }

}  // namespace
}  // namespace smelt
