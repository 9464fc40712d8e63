// Loads a plan and weights, says what the plan offers, continues a sequence of token ids. No compiler in the
// process.
//
//   embed_cpp PLAN WEIGHTS COUNT ID...
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "runtime/engine/generation/generator.h"
#include "runtime/plan/plan_file.h"
#include "runtime/session/session.h"

namespace {

void describe(const char* kind, const std::vector<smelt::Port>& ports) {
  for (const smelt::Port& port : ports)
    std::printf("  %s %s: %s%s\n", kind, port.name.c_str(), smelt::name(port.dtype).data(),
                smelt::str(port.shape).c_str());
}

void describe(const smelt::Plan& plan) {
  std::printf("plan for %s, %lld bytes of memory\n", plan.target.c_str(),
              static_cast<long long>(smelt::executor_memory(plan).total()));
  for (const smelt::PlanEntry& entry : plan.entries) {
    std::printf("entry %s\n", entry.name.c_str());
    describe("input", entry.inputs);
    describe("output", entry.outputs);
  }
}

int run(char** arguments, int count) {
  const auto plan = smelt::load_plan(arguments[1]);
  describe(*plan);
  smelt::Session session(plan);
  session.load_weights(std::filesystem::path(arguments[2]));

  std::vector<std::vector<int32_t>> prompts(1);
  for (int i = 4; i < count; ++i) prompts[0].push_back(std::atoi(arguments[i]));
  smelt::GenerationOptions options;  // greedy, unless options.do_sample
  options.max_new_tokens = std::atoi(arguments[3]);
  smelt::Generator generator(session);
  std::printf("ids:");
  generator.generate(prompts, options, [](size_t, int32_t id) {
    std::printf(" %d", static_cast<int>(id));
    return true;  // go on
  });
  std::printf("\n");
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 5) {
    std::fprintf(stderr, "usage: %s PLAN WEIGHTS COUNT ID...\n", arguments[0]);
    return 2;
  }
  try {
    return run(arguments, count);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
