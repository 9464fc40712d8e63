#include "runtime/ranks/launch_variables.h"

#include <algorithm>

#include "runtime/base/error.h"
#include "runtime/ranks/launch_dialects.h"
#include "runtime/system/file.h"

namespace smelt {
namespace {

constexpr int kDefaultPort = 29511, kHighestPort = 65535;
constexpr int kFirstJobPort = 20000, kJobPorts = 9000;  // below the ports that systems give to clients

std::string source(const LaunchNumber& number) {
  return fmt::format("{} ({})", number.variable, number.launcher);
}

void check_agreement(const LaunchPlace& a, const LaunchNumber& of_a, const LaunchPlace& b,
                     const LaunchNumber& of_b) {
  if (of_a.value == of_b.value) return;
  fail(
      "the variables of {} and {} disagree: {}={}, but {}={}; unset those that are not this run's, or set "
      "SMELT_LAUNCHER={} or SMELT_LAUNCHER={} to say which ones count",
      a.launcher, b.launcher, of_a.variable, of_a.text, of_b.variable, of_b.text, a.option, b.option);
}

void check_agreement(const LaunchPlace& a, const LaunchPlace& b) {
  check_agreement(a, a.size, b, b.size);
  check_agreement(a, a.rank, b, b.rank);
  if (a.local_rank && b.local_rank) check_agreement(a, *a.local_rank, b, *b.local_rank);
  if (a.local_size && b.local_size) check_agreement(a, *a.local_size, b, *b.local_size);
}

/// Returns the number of the first launcher that specifies it.
std::optional<LaunchNumber> first_of(const std::vector<LaunchPlace>& places,
                                     std::optional<LaunchNumber> LaunchPlace::* number) {
  for (const LaunchPlace& place : places)
    if (place.*number) return place.*number;
  return std::nullopt;
}

/// A launcher that does not specify the assignment of ranks to hosts is assumed to use one host.
void read_local_place(const std::vector<LaunchPlace>& places, Launch& launch) {
  const auto rank = first_of(places, &LaunchPlace::local_rank);
  const auto size = first_of(places, &LaunchPlace::local_size);
  launch.local_rank = rank ? rank->value : launch.rank;
  launch.from.local_rank = rank ? source(*rank) : launch.from.rank;
  const bool one_host = launch.local_rank == launch.rank;
  launch.local_size = size ? size->value : one_host ? launch.size : launch.local_rank + 1;
  launch.from.local_size = size ? source(*size) : launch.from.size;
  if (launch.local_rank >= launch.local_size)
    fail(
        "rank {} of {}: {} says that this host has {} of them, and nothing says which one this is; set "
        "LOCAL_RANK",
        launch.rank, launch.size, launch.from.local_size, launch.local_size);
}

void read_place(const Environment& environment, Launch& launch) {
  const std::vector<LaunchPlace> places = read_places(environment);
  if (places.empty()) return;
  for (size_t b = 1; b < places.size(); ++b)
    for (size_t a = 0; a < b; ++a) check_agreement(places[a], places[b]);
  launch.rank = places[0].rank.value, launch.from.rank = source(places[0].rank);
  launch.size = places[0].size.value, launch.from.size = source(places[0].size);
  read_local_place(places, launch);
}

void read_address(const Environment& environment, Launch& launch) {
  if (const auto address = read_text(EnvironmentVariable::MASTER_ADDR, environment)) {
    launch.master_address = *address, launch.from.master_address = "MASTER_ADDR";
  } else if (launch.local_size != launch.size) {
    fail(
        "rank {} of {}: {} of them are on this host, so the others are elsewhere, and MASTER_ADDR does not "
        "say where rank 0 is: set it to the name or address of rank 0's host at all ranks",
        launch.rank, launch.size, launch.local_size);
  }
  if (const auto address = read_text(EnvironmentVariable::SMELT_BIND_ADDRESS, environment))
    launch.bind_address = *address;
}

/// Runs that share a host get different ports where they are different jobs.
int default_port(const std::optional<LaunchJob>& job) {
  if (!job) return kDefaultPort;
  Checksum checksum;
  checksum.add(std::as_bytes(std::span(job->id)));
  return kFirstJobPort + static_cast<int>(checksum.value() % kJobPorts);
}

/// Returns the hub's port. If torchrun's own process listens at MASTER_PORT, this is the next one.
int port_beside_agent(const Environment& environment, int port) {
  if (read_text(EnvironmentVariable::TORCHELASTIC_USE_AGENT_STORE, environment) != "True") return port;
  return port == kHighestPort ? port - 1 : port + 1;
}

void read_port(const Environment& environment, const std::optional<LaunchJob>& job, Launch& launch) {
  launch.master_port = default_port(job);
  if (const auto port = read_whole(EnvironmentVariable::SMELT_MASTER_PORT, environment))
    launch.master_port = *port, launch.from.master_port = "SMELT_MASTER_PORT";
  else if (const auto own = read_whole(EnvironmentVariable::MASTER_PORT, environment))
    launch.master_port = port_beside_agent(environment, *own), launch.from.master_port = "MASTER_PORT";
}

bool is_loopback(const std::string& address) {
  return address == "localhost" || address == "::1" || address.starts_with("127.");
}

void read_secret(const Environment& environment, const std::optional<LaunchJob>& job, Launch& launch) {
  if (const auto secret = read_text(EnvironmentVariable::SMELT_RUN_SECRET, environment)) {
    launch.secret = *secret, launch.from.secret = "SMELT_RUN_SECRET";
  } else if (job) {
    launch.secret = job->variable + "=" + job->id, launch.from.secret = job->variable;
  } else if (is_loopback(launch.master_address) &&
             (launch.bind_address.empty() || is_loopback(launch.bind_address))) {
    launch.secret = "smelt";
  } else {
    fail(
        "{} is '{}', which other hosts may reach, and this run has no secret by which its ranks know each "
        "other: "
        "set SMELT_RUN_SECRET to one text at all ranks",
        launch.bind_address.empty() ? "MASTER_ADDR" : "SMELT_BIND_ADDRESS",
        launch.bind_address.empty() ? launch.master_address : launch.bind_address);
  }
}

/// Replaces a limit where the variable is set, by three years at most: clocks count to no end much later.
void read_limit(EnvironmentVariable variable, const Environment& environment, double& seconds) {
  constexpr double kMostSeconds = 1e8;
  seconds = std::min(read_seconds(variable, environment).value_or(seconds), kMostSeconds);
}

}  // namespace

Launch read_launch(const Environment& environment) {
  Launch launch;
  read_place(environment, launch);
  launch.device = read_whole(EnvironmentVariable::SMELT_DEVICE, environment);
  read_limit(EnvironmentVariable::SMELT_JOIN_TIMEOUT, environment, launch.join_timeout);
  read_limit(EnvironmentVariable::SMELT_HEARTBEAT_TIMEOUT, environment, launch.heartbeat_timeout);
  read_limit(EnvironmentVariable::SMELT_PROGRESS_TIMEOUT, environment, launch.progress_timeout);
  if (launch.size == 1) return launch;
  const std::optional<LaunchJob> job = find_job(environment);
  read_address(environment, launch);
  read_port(environment, job, launch);
  read_secret(environment, job, launch);
  return launch;
}

int device_of(const Launch& launch, int visible_devices) {
  if (visible_devices < 1) fail_with(Status::unavailable, "rank {}: no GPU is visible", launch.rank);
  if (launch.device) {
    if (*launch.device < visible_devices) return *launch.device;
    fail("SMELT_DEVICE is {}, and {} GPUs are visible: they are counted from 0", *launch.device,
         visible_devices);
  }
  if (visible_devices == 1) return 0;
  if (launch.local_rank < visible_devices) return launch.local_rank;
  fail(
      "rank {} is number {} of its host ({}), and {} GPUs are visible: start at most {} ranks a host, or set "
      "SMELT_DEVICE",
      launch.rank, launch.local_rank, launch.from.local_rank, visible_devices, visible_devices);
}

}  // namespace smelt
