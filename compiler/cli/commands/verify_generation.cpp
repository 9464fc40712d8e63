#include "compiler/cli/commands/verify_generation.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "compiler/cli/shared/generation_flags.h"
#include "runtime/base/error.h"

namespace smelt::cli {
namespace {

using Rows = std::vector<Generator::Tokens>;

GenerationCase read_case(const Json& json) {
  return {json.at("name").get<std::string>(), json.at("options"),
          json.at("input_ids").get<Rows>(),   json.at("attention_mask").get<Rows>(),
          json.at("sequences").get<Rows>(),   json.value("scores", std::vector<double>())};
}

Generator::Tokens without_padding(const Generator::Tokens& ids, const Generator::Tokens& mask) {
  Generator::Tokens result;
  for (size_t i = 0; i < ids.size(); ++i)
    if (mask.at(i) != 0) result.push_back(ids[i]);
  return result;
}

int64_t longest(const Rows& rows) {
  size_t most = 0;
  for (const Generator::Tokens& row : rows) most = std::max(most, row.size());
  return static_cast<int64_t>(most);
}

template <typename Member>
int64_t longest_of(const std::vector<GenerationCase>& cases, Member member) {
  int64_t most = 0;
  for (const GenerationCase& each : cases) most = std::max(most, longest(each.*member));
  return most;
}

/// All results, those of one prompt after those of the one before.
std::vector<Hypothesis> generated(Generator& generator, const GenerationCase& recorded,
                                  const GenerationOptions& options) {
  const auto& [prompts, masks] = std::tie(recorded.prompts, recorded.masks);
  std::vector<Hypothesis> found;
  if (options.num_beams > 1) {
    for (const std::vector<Hypothesis>& each : generator.search(prompts, options, masks))
      found.insert(found.end(), each.begin(), each.end());
    return found;
  }
  for (const Generator::Tokens& tokens : generator.generate(prompts, options, {}, masks))
    found.push_back({tokens, 0});
  return found;
}

}  // namespace

std::vector<GenerationCase> read_generation_cases(const std::filesystem::path& directory) {
  std::vector<GenerationCase> cases;
  const std::filesystem::path file = directory / "generation.json";
  if (!std::filesystem::exists(file)) return cases;
  try {
    const Json json = read_json_file(file);
    for (const Json& each : json.at("cases")) cases.push_back(read_case(each));
  } catch (const std::exception& error) {
    fail("{}: expected what record_generation.py writes: {}", file.string(), error.what());
  }
  return cases;
}

int64_t longest_sequence(const std::vector<GenerationCase>& cases) {
  return longest_of(cases, &GenerationCase::sequences);
}

int64_t longest_prompt(const std::vector<GenerationCase>& cases) {
  return longest_of(cases, &GenerationCase::prompts);
}

int64_t most_rows(const std::vector<GenerationCase>& cases) {
  int64_t most = 1;
  for (const GenerationCase& each : cases)
    most = std::max(most, std::ssize(each.prompts) * each.options.value("num_beams", int64_t{1}));
  return most;
}

namespace {

/// Returns the change of a score per change of its sum of log-probabilities: a penalty below 0 multiplies the
/// sum, and its error, by a power of the length.
double of_sum(size_t length, const GenerationOptions& options) {
  return std::pow(static_cast<double>(std::max<size_t>(1, length)), -options.length_penalty);
}

}  // namespace

GenerationOutcome compare_case(const GenerationCase& recorded, Session& session, const Json& about) {
  GenerationOptions options = GenerationFlags().options(about, 0);
  options.do_sample = false;
  read_generation_config(recorded.options.dump(), options);
  Generator generator(session);
  const std::vector<Hypothesis> found = generated(generator, recorded, options);
  GenerationOutcome outcome{.rows = recorded.sequences.size(), .has_scores = !recorded.scores.empty()};
  const size_t each = outcome.rows / std::max<size_t>(1, recorded.prompts.size());
  for (size_t i = 0; i < std::min(found.size(), outcome.rows); ++i) {
    Generator::Tokens all = generator.reads_source()
                                ? Generator::Tokens{options.decoder_start_token_id}
                                : without_padding(recorded.prompts[i / each], recorded.masks.at(i / each));
    all.insert(all.end(), found[i].tokens.begin(), found[i].tokens.end());
    outcome.equal += all == recorded.sequences[i];
    if (!outcome.has_scores) continue;
    const double wanted = recorded.scores.at(i), error = std::abs(found[i].score - wanted);
    const double size = std::max({1.0, std::abs(wanted), of_sum(found[i].tokens.size(), options)});
    outcome.score_error = std::max(outcome.score_error, error / size);
  }
  return outcome;
}

}  // namespace smelt::cli
