// The C interface: generation.
#include <limits>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/c_api/structs.h"
#include "runtime/engine/generation/generator.h"

using namespace smelt;
using namespace smelt::c_api;

struct smelt_generator {
  Generator generator;
  GenerationOptions defaults;  // of the plan's model
};

struct smelt_generation {
  struct Result {
    Hypothesis found;
    std::vector<float> log_probabilities;
    size_t prompt;
  };
  std::vector<Result> results;
  bool has_log_probabilities = false;
};

namespace {

using Tokens = Generator::Tokens;

std::vector<Tokens> prompts_of(const smelt_prompt* prompts, size_t count) {
  const StructArray<const smelt_prompt> list(prompts, count, "prompt");
  std::vector<Tokens> all;
  for (size_t i = 0; i < count; ++i) {
    const smelt_prompt prompt = list.read(i);
    if (prompt.count > 0) required(prompt.ids, "the list of a prompt's ids");
    all.emplace_back(prompt.ids, prompt.ids + prompt.count);
  }
  return all;
}

GenerationOptions options_of(const smelt_generator& generator, const smelt_generate_options& given) {
  GenerationOptions options = generator.defaults;
  if (given.json) read_generation_options(given.json, options);
  return options;
}

Generator::OnToken listener_of(const smelt_generate_options& given) {
  if (!given.on_token) return {};
  return [given](size_t sequence, int32_t token) { return given.on_token(given.user, sequence, token) == 0; };
}

/// Tells the listener of all tokens until it has heard enough.
void tell(const std::vector<smelt_generation::Result>& results, const Generator::OnToken& on_token) {
  for (size_t i = 0; on_token && i < results.size(); ++i)
    for (const int32_t token : results[i].found.tokens)
      if (!on_token(i, token)) return;
}

void search(Generator& generator, std::span<const Tokens> prompts, const GenerationOptions& options,
            const smelt_generate_options& given, smelt_generation& generation) {
  if (given.log_probabilities != 0)
    fail("num_beams {}: a beam search has scores; ask for no log_probabilities", options.num_beams);
  auto found = generator.search(prompts, options);
  for (size_t prompt = 0; prompt < found.size(); ++prompt)
    for (Hypothesis& each : found[prompt]) generation.results.push_back({std::move(each), {}, prompt});
  tell(generation.results, listener_of(given));
}

void draw(Generator& generator, std::span<const Tokens> prompts, const GenerationOptions& options,
          const smelt_generate_options& given, smelt_generation& generation) {
  generation.has_log_probabilities = given.log_probabilities != 0;
  Generator::LogProbabilities scores;
  auto found = generator.generate(prompts, options, listener_of(given), {},
                                  generation.has_log_probabilities ? &scores : nullptr);
  scores.resize(found.size());
  for (size_t i = 0; i < found.size(); ++i)
    generation.results.push_back({{std::move(found[i]), std::numeric_limits<float>::quiet_NaN()},
                                  std::move(scores[i]),
                                  i / static_cast<size_t>(options.num_return_sequences)});
}

}  // namespace

extern "C" {

smelt_status smelt_generator_create(smelt_session* session, smelt_generator** generator) {
  return guarded([&] {
    required(generator, "generator");
    Session& s = *required(session, "the session")->session;
    *generator = new smelt_generator{Generator(s), model_generation_options(s.plan().model)};
  });
}

void smelt_generator_free(smelt_generator* generator) { delete generator; }

smelt_status smelt_generator_get_limits(const smelt_generator* generator, smelt_generator_limits* limits) {
  return guarded([&] {
    const Generator& g = required(generator, "the generator")->generator;
    const smelt_generator_limits filled{sizeof filled, g.vocabulary(), g.max_batch(), g.max_length(),
                                        g.reads_source() ? 1 : 0};
    write_struct(*required(limits, "limits"), filled, "limits");
  });
}

smelt_status smelt_generate(smelt_generator* generator, const smelt_prompt* prompts, size_t prompt_count,
                            const smelt_generate_options* options, smelt_generation** generation) {
  return guarded([&] {
    required(generator, "the generator"), required(generation, "generation");
    const smelt_generate_options given =
        options ? read_struct(*options, "the generation's options") : smelt_generate_options{};
    const GenerationOptions chosen = options_of(*generator, given);
    auto made = std::make_unique<smelt_generation>();
    const auto run = chosen.num_beams > 1 ? search : draw;
    run(generator->generator, prompts_of(prompts, prompt_count), chosen, given, *made);
    *generation = made.release();
  });
}

void smelt_generation_free(smelt_generation* generation) { delete generation; }

size_t smelt_generation_count(const smelt_generation* generation) {
  return generation ? generation->results.size() : 0;
}

smelt_status smelt_generation_sequence(const smelt_generation* generation, size_t index,
                                       smelt_sequence* sequence) {
  return guarded([&] {
    const auto& results = required(generation, "the generation")->results;
    if (index >= results.size()) fail("sequence {}: there are {}", index, results.size());
    const auto& [found, log_probabilities, prompt] = results[index];
    const smelt_sequence filled{
        sizeof filled,       found.tokens.data(),
        found.tokens.size(), generation->has_log_probabilities ? log_probabilities.data() : nullptr,
        found.score,         prompt};
    write_struct(*required(sequence, "sequence"), filled, "sequence");
  });
}

}  // extern "C"
