#include "compiler/cli/commands/bench_generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "compiler/cli/commands/bench_training.h"
#include "compiler/cli/commands/doctor.h"
#include "compiler/cli/shared/compile_flags.h"
#include "compiler/cli/shared/text_table.h"
#include "compiler/cli/shared/timer.h"
#include "compiler/driver/plan_cache.h"
#include "runtime/engine/generation/generator.h"
#include "runtime/smelt.h"
#include "runtime/system/file.h"

namespace smelt::cli {
namespace {

struct Seconds {
  double first = 0, call = 0;  // to the first token, and of all
  double token(int64_t count) const {
    return (call - first) / static_cast<double>(std::max<int64_t>(1, count - 1));
  }
};

double middle(std::vector<double> seconds) {
  std::ranges::sort(seconds);
  return seconds[seconds.size() / 2];
}

std::vector<Generator::Tokens> prompts_of(const GenerationBench& bench, int64_t vocabulary) {
  std::mt19937 random(2);
  std::uniform_int_distribution<int32_t> token(2, static_cast<int32_t>(vocabulary) - 1);
  std::vector<Generator::Tokens> prompts(static_cast<size_t>(bench.batch));
  for (Generator::Tokens& prompt : prompts)
    while (std::ssize(prompt) < bench.prompt) prompt.push_back(token(random));
  return prompts;
}

GenerationOptions options_of(const GenerationBench& bench, const Session& session, int64_t new_tokens) {
  GenerationOptions options;
  const GenerationOptions model = model_generation_options(session.plan().model);
  options.eos_token_id = model.eos_token_id, options.decoder_start_token_id = model.decoder_start_token_id;
  options.max_new_tokens = options.min_new_tokens = new_tokens;
  options.num_beams = bench.beams;
  if (bench.sample) options.do_sample = true, options.top_p = 0.9;
  return options;
}

class Workload {
 public:
  explicit Workload(const GenerationBench& bench)
      : bench_(bench),
        compilation_(compiled(bench)),
        session_(std::make_shared<const Plan>(std::move(compilation_.plan)), session_options(bench)) {
    session_.initialize(1);
    generator_.emplace(session_);
    prompts_ = prompts_of(bench, generator_->vocabulary());
  }

  Seconds measure() { return {timed(1), timed(bench_.new_tokens)}; }
  const Compilation& compilation() const { return compilation_; }
  Session& session() { return session_; }

 private:
  static SessionOptions session_options(const GenerationBench& bench) {
    SessionOptions options{.threads = bench.threads, .profile = bench.profile};
    if (bench.ranks) bench.ranks->add_to(options, bench.compile);
    return options;
  }

  static Compilation compiled(const GenerationBench& bench) {
    const std::jthread preparation = prepare_executor(bench.compile.target, bench.compile.device);
    return compile_or_recall(bench.description, bench.compile);
  }

  /// Every call reads its prompts anew: nothing of the caches is taken over from the call before.
  double timed(int64_t new_tokens) {
    const GenerationOptions options = options_of(bench_, session_, new_tokens);
    return middle(time_runs(bench_.warm_up, bench_.steps, [&] {
      for (Generator::Tokens& prompt : prompts_) std::ranges::rotate(prompt, prompt.begin() + 1);
      if (bench_.beams > 1)
        generator_->search(prompts_, options);
      else
        generator_->generate(prompts_, options);
    }));
  }

  const GenerationBench& bench_;
  Compilation compilation_;
  Session session_;
  std::optional<Generator> generator_;
  std::vector<Generator::Tokens> prompts_;
};

int64_t bytes_of(const Plan& plan, Role role) {
  int64_t bytes = 0;
  for (const State& state : plan.states)
    if (state.role == role) bytes += state_bytes(plan, state);
  return bytes;
}

Json to_json(const GenerationBench& bench, const Plan& plan, const Seconds& seconds) {
  const double token = seconds.token(bench.new_tokens);
  return {{"smelt", SMELT_VERSION},
          {"model", bench.name},
          {"target", plan.target},
          {"batch", bench.batch},
          {"beams", bench.beams},
          {"prompt", bench.prompt},
          {"new_tokens", bench.new_tokens},
          {"sample", bench.sample},
          {"first_token_ms", seconds.first * 1e3},
          {"token_ms", token * 1e3},
          {"call_ms", seconds.call * 1e3},
          {"tokens_per_s", static_cast<double>(bench.batch) / token},
          {"parameter_bytes", bytes_of(plan, Role::parameter)},
          {"cache_bytes", bytes_of(plan, Role::cache)},
          {"planned_mib", executor_memory(plan).total() >> 20}};
}

TextTable to_table(const GenerationBench& bench, const Plan& plan, const Seconds& seconds) {
  const double token = seconds.token(bench.new_tokens);
  TextTable table({"model", "batch", "beams", "prompt", "new", "first token", "a token", "tokens/s", "a call",
                   "weights' GB/s", "cache", "planned"});
  table.add({bench.name, std::to_string(bench.batch), std::to_string(bench.beams),
             std::to_string(bench.prompt), std::to_string(bench.new_tokens), seconds_text(seconds.first),
             seconds_text(token), fmt::format("{:.1f}", static_cast<double>(bench.batch) / token),
             seconds_text(seconds.call),
             fmt::format("{:.0f}", static_cast<double>(bytes_of(plan, Role::parameter)) / token / 1e9),
             bytes_text(bytes_of(plan, Role::cache)), bytes_text(executor_memory(plan).total())});
  return table;
}

}  // namespace

void bench_generation(const GenerationBench& bench) {
  Workload work(bench);
  if (bench.compile.timing && (!bench.ranks || bench.ranks->is_first())) print_timing(work.compilation());
  const Seconds seconds = work.measure();
  if (bench.ranks && !bench.ranks->is_first()) return;
  const Plan& plan = work.session().plan();
  const TextTable table = to_table(bench, plan, seconds);
  fmt::print("{}\n", bench.json ? to_json(bench, plan, seconds).dump() : table.text());
  std::string markdown = table.markdown();
  if (bench.profile) {
    Executor& executor = work.session().executor();
    const TextTable steps = step_table(work.compilation().program, executor.profile(),
                                       copy_bytes_per_second(executor, bench.threads));
    fmt::print("\n{}", steps.text());
    markdown += "\n" + steps.markdown();
  }
  if (bench.output.empty()) return;
  write_file(bench.output + ".json", to_json(bench, plan, seconds).dump(1) + "\n");
  write_file(bench.output + ".md", markdown);
}

}  // namespace smelt::cli
