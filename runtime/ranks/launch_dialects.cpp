#include "runtime/ranks/launch_dialects.h"

#include <algorithm>
#include <array>
#include <span>

#include "runtime/base/error.h"

namespace smelt {
namespace {

constexpr int kMostRanks = 1 << 20;

struct Dialect {
  std::string_view launcher, option;
  std::string_view rank, size, local_rank, local_size;
  std::string_view host_number;       // where local_size lists the counts of all hosts: which one is this
  std::string_view step_size;         // counts before size where it is set: of a part of an allocation
  std::string_view allocation, step;  // with the first and without the second, no ranks were launched yet
  bool size_alone_is_whole;           // the size belongs to an allocation, in which nothing may be launched
};
constexpr std::array<Dialect, 4> kDialects = {{
    {"torchrun", "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "", "", "", "", false},
    {"Open MPI", "openmpi", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     "OMPI_COMM_WORLD_LOCAL_SIZE", "", "", "", "", false},
    {"MPICH", "mpich", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "", "", "", false},
    // A batch script is process 0 of its allocation's number of tasks, too, but no step of srun.
    {"Slurm", "slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID", "SLURM_STEP_TASKS_PER_NODE",
     "SLURM_NODEID", "SLURM_STEP_NUM_TASKS", "SLURM_JOB_ID", "SLURM_STEP_ID", true},
}};
constexpr std::string_view kNoLauncher = "none";

/// The first variable that is set counts, followed by the second one if there is one.
constexpr std::array<std::array<std::string_view, 2>, 6> kJobs = {{{"TORCHELASTIC_RUN_ID", ""},
                                                                   {"PMIX_NAMESPACE", ""},
                                                                   {"OMPI_MCA_ess_base_jobid", ""},
                                                                   {"PMI_JOBID", ""},
                                                                   {"SLURM_JOB_ID", "SLURM_STEP_ID"},
                                                                   {"PBS_JOBID", ""}}};

std::optional<LaunchNumber> find_number(const Environment& environment, const Dialect& dialect,
                                        std::string_view variable, int low, int high) {
  const auto text = variable.empty() ? std::nullopt : find_variable(environment, variable);
  if (!text) return std::nullopt;
  return LaunchNumber{parse_whole(variable, *text, low, high), std::string(variable), *text,
                      std::string(dialect.launcher)};
}

/// Parses "2(x3),1" (hosts with two, two, two and one ranks): returns the count of host number `host`.
std::optional<int> count_of_host(std::string_view variable, const std::string& text, int host) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t times = part.find("(x");
    const int hosts =
        times == std::string::npos
            ? 1
            : parse_whole(variable, part.substr(times + 2, part.size() - times - 3), 1, kMostRanks);
    if (host < hosts) return parse_whole(variable, part.substr(0, times), 1, kMostRanks);
    host -= hosts;
    begin = end + 1;
  }
  return std::nullopt;
}

std::optional<LaunchNumber> find_local_size(const Environment& environment, const Dialect& dialect) {
  if (dialect.host_number.empty())
    return find_number(environment, dialect, dialect.local_size, 1, kMostRanks);
  const auto text = find_variable(environment, dialect.local_size);
  const auto host = find_number(environment, dialect, dialect.host_number, 0, kMostRanks);
  if (!text || !host) return std::nullopt;
  const auto count = count_of_host(dialect.local_size, *text, host->value);
  if (!count) return std::nullopt;
  return LaunchNumber{*count, std::string(dialect.local_size), *text, std::string(dialect.launcher)};
}

bool is_launched(const Environment& environment, const Dialect& dialect) {
  if (dialect.allocation.empty() || !find_variable(environment, dialect.allocation)) return true;
  return find_variable(environment, dialect.step).has_value();
}

[[noreturn]] void fail_half(const Dialect& dialect, std::string_view present, std::string_view absent) {
  fail("{} is set and {} is not: {} sets both for every rank that it starts; set the other one, or unset {}",
       present, absent, dialect.launcher, present);
}

void check_place(const LaunchPlace& place) {
  const auto check = [](const LaunchNumber& number, const LaunchNumber& size) {
    if (number.value >= size.value)
      fail("{} is {}, and {} is {}: ranks are counted from 0, so it must be less", number.variable,
           number.value, size.variable, size.text);
  };
  check(place.rank, place.size);
  if (place.local_rank && place.local_size) check(*place.local_rank, *place.local_size);
  if (place.local_size && place.local_size->value > place.size.value)
    fail("{} is {}, more than the {} ranks of the run ({})", place.local_size->variable,
         place.local_size->value, place.size.value, place.size.variable);
}

std::optional<LaunchPlace> read_place(const Environment& environment, const Dialect& dialect) {
  if (!is_launched(environment, dialect)) return std::nullopt;
  const auto rank = find_number(environment, dialect, dialect.rank, 0, kMostRanks - 1);
  auto size = find_number(environment, dialect, dialect.size, 1, kMostRanks);
  if (auto of_step = find_number(environment, dialect, dialect.step_size, 1, kMostRanks)) size = of_step;
  if (!rank && (!size || dialect.size_alone_is_whole)) return std::nullopt;
  if (!size) fail_half(dialect, dialect.rank, dialect.size);
  if (!rank) fail_half(dialect, dialect.size, dialect.rank);
  LaunchPlace place{dialect.launcher,
                    dialect.option,
                    *rank,
                    *size,
                    find_number(environment, dialect, dialect.local_rank, 0, kMostRanks - 1),
                    find_local_size(environment, dialect)};
  check_place(place);
  return place;
}

std::span<const Dialect> chosen_dialects(const Environment& environment) {
  const auto chosen = read_text(EnvironmentVariable::SMELT_LAUNCHER, environment);
  if (chosen == kNoLauncher) return {};
  if (chosen) return {&*std::ranges::find(kDialects, *chosen, &Dialect::option), 1};
  if (find_variable(environment, "TORCHELASTIC_RUN_ID") && find_variable(environment, "RANK"))
    return {kDialects.data(), 1};
  return kDialects;
}

}  // namespace

std::optional<std::string> find_variable(const Environment& environment, std::string_view name) {
  auto value = environment(name);
  if (value && value->empty()) value.reset();
  return value;
}

std::vector<LaunchPlace> read_places(const Environment& environment) {
  std::vector<LaunchPlace> places;
  for (const Dialect& dialect : chosen_dialects(environment))
    if (auto place = read_place(environment, dialect)) places.push_back(std::move(*place));
  const auto chosen = read_text(EnvironmentVariable::SMELT_LAUNCHER, environment);
  if (places.empty() && chosen && chosen != kNoLauncher)
    fail("SMELT_LAUNCHER is '{}', but its variables for a rank and their number are not set", *chosen);
  return places;
}

std::optional<LaunchJob> find_job(const Environment& environment) {
  for (const auto& [first, second] : kJobs) {
    const auto id = find_variable(environment, first);
    if (!id) continue;
    const auto step = second.empty() ? std::nullopt : find_variable(environment, second);
    return LaunchJob{std::string(first), step ? *id + "." + *step : *id};
  }
  return std::nullopt;
}

}  // namespace smelt
