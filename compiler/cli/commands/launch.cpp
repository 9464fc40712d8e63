// smelt launch: starts a command as several processes of this host, the ranks of a run.
#include <sched.h>

#include <algorithm>

#include "compiler/cli/command.h"
#include "compiler/cli/shared/launched_ranks.h"
#include "runtime/base/error.h"
#include "runtime/ranks/hmac.h"
#include "runtime/ranks/socket.h"
#include "runtime/system/environment.h"

namespace smelt::cli {
namespace {

struct LaunchCommand {
  int ranks = 0, port = 0;
  double grace = RankCommand{}.grace;
  std::string join_timeout, progress_timeout;
  std::vector<std::string> words;
};

constexpr const char* kLoopback = "127.0.0.1";

int free_port() { return port_of(listen_at(kLoopback, 0)); }

/// The processors that this process may use, shared by the ranks.
int threads_of_a_rank(int ranks) {
  cpu_set_t set;
  const int processors = ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return std::max(1, processors / ranks);
}

using Variables = std::vector<std::pair<std::string, std::string>>;

/// torchrun's variables, said to be the ones that count: those of a launcher around this one do not.
Variables common_variables(const LaunchCommand& options) {
  const std::string port = std::to_string(options.port > 0 ? options.port : free_port());
  Variables variables = {{"SMELT_LAUNCHER", "torchrun"},
                         {"WORLD_SIZE", std::to_string(options.ranks)},
                         {"LOCAL_WORLD_SIZE", std::to_string(options.ranks)},
                         {"MASTER_ADDR", kLoopback},
                         {"MASTER_PORT", port},
                         {"SMELT_MASTER_PORT", port},
                         {"SMELT_BIND_ADDRESS", ""},
                         {"SMELT_RUN_SECRET", hex(random_bytes())}};
  if (!options.join_timeout.empty()) variables.emplace_back("SMELT_JOIN_TIMEOUT", options.join_timeout);
  if (!options.progress_timeout.empty())
    variables.emplace_back("SMELT_PROGRESS_TIMEOUT", options.progress_timeout);
  if (!read_text(EnvironmentVariable::OMP_NUM_THREADS))
    variables.emplace_back("OMP_NUM_THREADS", std::to_string(threads_of_a_rank(options.ranks)));
  return variables;
}

/// The words of the command, where `smelt` is this build's own.
std::vector<std::string> command_words(const std::vector<std::string>& words) {
  if (words.front() != "smelt") return words;
  std::vector<std::string> all = own_program();
  all.insert(all.end(), words.begin() + 1, words.end());
  return all;
}

void run_launch(const LaunchCommand& options) {
  RankCommand command{command_words(options.words), {}, options.grace};
  const Variables common = common_variables(options);
  for (int rank = 0; rank < options.ranks; ++rank) {
    Variables own = common;
    own.emplace_back("RANK", std::to_string(rank));
    own.emplace_back("LOCAL_RANK", std::to_string(rank));
    command.variables.push_back(std::move(own));
  }
  LaunchedRanks ranks(command);
  if (const int status = ranks.wait(); status != 0) exit_with(status);
}

}  // namespace

void add_launch(CLI::App& app) {
  auto options = std::make_shared<LaunchCommand>();
  CLI::App* command =
      app.add_subcommand("launch", "Start a command as several processes of this host, the ranks of a run");
  command->add_option("-n,--ranks", options->ranks, "how many processes: one a GPU, or any number on a CPU")
      ->required()
      ->check(CLI::Range(1, 4096));
  command->add_option("--port", options->port, "port of the hub that joins them (default: any free one)")
      ->check(CLI::Range(1, 65535));
  command->add_option("--join-timeout", options->join_timeout, "seconds until all must have joined (60)")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--progress-timeout", options->progress_timeout,
                   "seconds that a rank's progress may stand still before all are ended (600; 0: for ever)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--grace", options->grace,
                   "seconds that the others have, after one has failed, to end before they are ended (4)")
      ->check(CLI::Range(0.0, 3600.0));
  command
      ->add_option("command", options->words, "after --: the program and its arguments, as smelt train DIR")
      ->required();
  on_call(command, options, run_launch);
}

}  // namespace smelt::cli
