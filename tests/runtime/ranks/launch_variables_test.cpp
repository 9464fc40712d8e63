// Who this process is, by every launcher's variables, and what is said of variables that make no sense.
#include "runtime/ranks/launch_variables.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "runtime/ranks/socket.h"
#include "tests/runtime/temporary_directory.h"

namespace smelt {
namespace {

using Variables = std::map<std::string, std::string>;

Launch launch_of(const Variables& variables) {
  return read_launch([&](std::string_view name) -> std::optional<std::string> {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

const Variables kTorchrun = {{"RANK", "5"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_PORT", "77"},
                             {"LOCAL_WORLD_SIZE", "4"},
                             {"MASTER_ADDR", "10.0.0.7"},
                             {"SMELT_RUN_SECRET", "s"}};
const Variables kOpenMpi = {{"OMPI_COMM_WORLD_RANK", "2"},
                            {"OMPI_COMM_WORLD_SIZE", "4"},
                            {"OMPI_COMM_WORLD_LOCAL_RANK", "2"},
                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "4"},
                            {"PMIX_NAMESPACE", "prterun-7@1"}};
const Variables kMpich = {
    {"PMI_RANK", "1"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", "1"}, {"MPI_LOCALNRANKS", "3"}};
const Variables kSlurm = {{"SLURM_PROCID", "5"},
                          {"SLURM_NTASKS", "7"},
                          {"SLURM_LOCALID", "1"},
                          {"SLURM_NODEID", "2"},
                          {"SLURM_JOB_ID", "91"},
                          {"SLURM_STEP_ID", "0"},
                          {"SLURM_STEP_TASKS_PER_NODE", "2(x3),1"},
                          {"MASTER_ADDR", "node1"}};

Variables with(Variables variables, const Variables& others) {
  for (const auto& [name, value] : others) variables[name] = value;
  return variables;
}
Variables without(Variables variables, const std::string& name) {
  variables.erase(name);
  return variables;
}
std::string fault_of(const Variables& variables) {
  return message_of([&] { launch_of(variables); });
}

void expect_place(const Launch& launch, int rank, int size, int local_rank, int local_size) {
  EXPECT_EQ(launch.rank, rank);
  EXPECT_EQ(launch.size, size);
  EXPECT_EQ(launch.local_rank, local_rank);
  EXPECT_EQ(launch.local_size, local_size);
}

TEST(LaunchVariables, NobodyLaunched) {
  const Launch launch = launch_of({{"MASTER_ADDR", "elsewhere"}});
  expect_place(launch, 0, 1, 0, 1);
  EXPECT_EQ(launch.master_port, 0) << "one rank needs no hub";
  EXPECT_EQ(launch.from.rank, "default");
}

TEST(LaunchVariables, EveryLauncher) {
  const Launch torchrun = launch_of(kTorchrun);
  expect_place(torchrun, 5, 8, 1, 4);
  EXPECT_EQ(torchrun.master_address, "10.0.0.7");
  EXPECT_EQ(torchrun.master_port, 77);
  EXPECT_EQ(torchrun.secret, "s");
  EXPECT_EQ(torchrun.from.rank, "RANK (torchrun)");
  expect_place(launch_of(kOpenMpi), 2, 4, 2, 4);
  expect_place(launch_of(kMpich), 1, 3, 1, 3);
  EXPECT_EQ(launch_of(kMpich).master_address, "127.0.0.1");
  expect_place(launch_of(kSlurm), 5, 7, 1, 2);
}

TEST(LaunchVariables, SlurmCountsTheRanksOfEachHost) {
  Variables slurm = with(kSlurm, {{"SLURM_PROCID", "6"}, {"SLURM_NODEID", "3"}, {"SLURM_LOCALID", "0"}});
  expect_place(launch_of(slurm), 6, 7, 0, 1);
  EXPECT_HAS(fault_of(with(slurm, {{"SLURM_STEP_TASKS_PER_NODE", "2(x"}})), "SLURM_STEP_TASKS_PER_NODE");
  EXPECT_HAS(fault_of(with(slurm, {{"SLURM_LOCALID", "1"}})), "SLURM_LOCALID is 1");
}

TEST(LaunchVariables, AnAllocationIsNoLaunch) {
  expect_place(launch_of({{"SLURM_JOB_ID", "91"}, {"SLURM_NTASKS", "4"}}), 0, 1, 0, 1);
  expect_place(launch_of(without(kSlurm, "SLURM_STEP_ID")), 0, 1, 0, 1);
  EXPECT_HAS(fault_of({{"SLURM_PROCID", "0"}}), "SLURM_NTASKS is not");
  const Launch step = launch_of(with(kSlurm, {{"SLURM_NTASKS", "64"}, {"SLURM_STEP_NUM_TASKS", "7"}}));
  EXPECT_EQ(step.size, 7) << "of a step within a larger allocation";
}

TEST(LaunchVariables, TwoThatAgree) {
  const Variables slurm = {{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "3"}, {"SLURM_LOCALID", "1"}};
  expect_place(launch_of(with(kMpich, slurm)), 1, 3, 1, 3);
}

TEST(LaunchVariables, TwoThatDisagree) {
  const std::string fault = fault_of(with(kTorchrun, kOpenMpi));
  for (const char* part : {"torchrun", "Open MPI", "WORLD_SIZE=8", "OMPI_COMM_WORLD_SIZE=4",
                           "SMELT_LAUNCHER=torchrun", "SMELT_LAUNCHER=openmpi"})
    EXPECT_HAS(fault, part);
  EXPECT_HAS(fault_of(with(kMpich, {{"RANK", "2"}, {"WORLD_SIZE", "3"}})), "RANK=2, but PMI_RANK=1");
  EXPECT_HAS(fault_of(with(kMpich, {{"RANK", "1"}, {"WORLD_SIZE", "3"}, {"LOCAL_RANK", "0"}})),
             "LOCAL_RANK=0, but MPI_LOCALRANKID=1");
}

TEST(LaunchVariables, OneOfThemIsChosen) {
  const Variables both = with(kTorchrun, kOpenMpi);
  expect_place(launch_of(with(both, {{"SMELT_LAUNCHER", "openmpi"}})), 2, 4, 2, 4);
  expect_place(launch_of(with(both, {{"SMELT_LAUNCHER", "torchrun"}})), 5, 8, 1, 4);
  expect_place(launch_of(with(both, {{"SMELT_LAUNCHER", "none"}})), 0, 1, 0, 1);
  expect_place(launch_of(with(with(kTorchrun, kSlurm), {{"TORCHELASTIC_RUN_ID", "r"}})), 5, 8, 1, 4);
  EXPECT_HAS(fault_of(with(both, {{"SMELT_LAUNCHER", "mpirun"}})), "expected torchrun, openmpi");
  EXPECT_HAS(fault_of(with(both, {{"SMELT_LAUNCHER", "mpich"}})), "are not set");
}

TEST(LaunchVariables, HalfALaunch) {
  EXPECT_HAS(fault_of({{"RANK", "0"}}), "RANK is set and WORLD_SIZE is not");
  EXPECT_HAS(fault_of({{"WORLD_SIZE", "2"}}), "WORLD_SIZE is set and RANK is not");
  EXPECT_HAS(fault_of({{"WORLD_SIZE", "2"}, {"RANK", ""}}), "RANK is not");
  EXPECT_HAS(fault_of({{"PMI_RANK", "2"}}), "PMI_SIZE is not");
  EXPECT_HAS(fault_of(without(kTorchrun, "LOCAL_RANK")), "set LOCAL_RANK");
}

TEST(LaunchVariables, NumbersThatAreNone) {
  EXPECT_HAS(fault_of(with(kTorchrun, {{"RANK", "two"}})), "RANK is 'two': expected a whole number from 0");
  for (const char* bad : {"1.5", "-1", " 1", "1 ", "99999999999999999999", "0x1"})
    EXPECT_HAS(fault_of(with(kTorchrun, {{"RANK", bad}})), "RANK is '" + std::string(bad));
  EXPECT_HAS(fault_of(with(kTorchrun, {{"WORLD_SIZE", "0"}})), "WORLD_SIZE is '0'");
  EXPECT_HAS(fault_of(with(kTorchrun, {{"RANK", "8"}})), "RANK is 8, and WORLD_SIZE is 8");
  EXPECT_HAS(fault_of(with(kTorchrun, {{"LOCAL_RANK", "4"}})), "LOCAL_RANK is 4, and LOCAL_WORLD_SIZE is 4");
  EXPECT_HAS(fault_of(with(kTorchrun, {{"LOCAL_WORLD_SIZE", "9"}})), "LOCAL_WORLD_SIZE is 9, more than");
  for (const char* bad : {"0", "65536", "http"})
    EXPECT_HAS(fault_of(with(kTorchrun, {{"MASTER_PORT", bad}})), "MASTER_PORT is '" + std::string(bad));
  EXPECT_HAS(fault_of({{"SMELT_DEVICE", "gpu0"}}), "SMELT_DEVICE is 'gpu0'");
  EXPECT_HAS(fault_of({{"SMELT_PROGRESS_TIMEOUT", "nan"}}), "SMELT_PROGRESS_TIMEOUT is 'nan'");
}

TEST(LaunchVariables, OfTimesWithoutEndStayWithinTheClock) {
  for (const char* name : {"SMELT_JOIN_TIMEOUT", "SMELT_HEARTBEAT_TIMEOUT", "SMELT_PROGRESS_TIMEOUT"}) {
    const Launch launch = launch_of({{name, "1e12"}});
    for (const double timeout : {launch.join_timeout, launch.heartbeat_timeout, launch.progress_timeout})
      EXPECT_GT(Clock::now() + seconds(timeout), Clock::now()) << name;
  }
}

TEST(LaunchVariables, WhereTheHubIs) {
  EXPECT_HAS(fault_of(without(kTorchrun, "MASTER_ADDR")), "set it to the name or address of rank 0's host");
  EXPECT_EQ(launch_of(with(kTorchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "True"}})).master_port, 78);
  EXPECT_EQ(launch_of(with(kTorchrun, {{"SMELT_MASTER_PORT", "900"}})).master_port, 900);
  const int port = launch_of(kOpenMpi).master_port;
  EXPECT_GE(port, 1024);
  EXPECT_NE(port, launch_of(with(kOpenMpi, {{"PMIX_NAMESPACE", "prterun-7@2"}})).master_port)
      << "two jobs of one host";
}

TEST(LaunchVariables, TheSecretOfARun) {
  EXPECT_EQ(launch_of(kOpenMpi).secret, "PMIX_NAMESPACE=prterun-7@1");
  EXPECT_EQ(launch_of(kSlurm).secret, "SLURM_JOB_ID=91.0");
  EXPECT_EQ(launch_of(kMpich).from.secret, "default");
  EXPECT_HAS(fault_of(without(kTorchrun, "SMELT_RUN_SECRET")), "set SMELT_RUN_SECRET");
  EXPECT_HAS(fault_of(with(kMpich, {{"SMELT_BIND_ADDRESS", "0.0.0.0"}})), "SMELT_BIND_ADDRESS is '0.0.0.0'");
}

TEST(LaunchVariables, WhichGpu) {
  Launch launch = launch_of(kOpenMpi);
  EXPECT_EQ(device_of(launch, 4), 2);
  EXPECT_EQ(device_of(launch, 1), 0) << "the launcher shows each rank its own";
  EXPECT_HAS(message_of([&] { device_of(launch, 2); }), "2 GPUs are visible");
  launch = launch_of(with(kOpenMpi, {{"SMELT_DEVICE", "0"}}));
  EXPECT_EQ(device_of(launch, 4), 0);
  launch.device = 4;
  EXPECT_HAS(message_of([&] { device_of(launch, 4); }), "SMELT_DEVICE is 4");
  EXPECT_HAS(message_of([&] { device_of(launch, 0); }), "no GPU is visible");
}

}  // namespace
}  // namespace smelt
