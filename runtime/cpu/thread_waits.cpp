#include "runtime/cpu/threads.h"

#include <chrono>
#include <fstream>
#include <thread>

#include "runtime/system/environment.h"

namespace smelt {
namespace {

constexpr const char *kSpinsBesideOthers = "1000", *kSpinsAlone = "10000";

/// Returns the number of threads of the machine that run or wait for a processor, including this one; 0 if
/// the system does not report it.
int runnable_threads() {
  std::ifstream file("/proc/stat");
  std::string word;
  int count = 0;
  while (file >> word)
    if (word == "procs_running") file >> count;
  return count;
}

/// Returns whether no other thread runs, at one of several looks: short ones come and go on any machine.
bool is_alone() {
  constexpr int kLooks = 3;
  for (int look = 0; look < kLooks; ++look) {
    if (look > 0) std::this_thread::sleep_for(std::chrono::microseconds(300));
    if (runnable_threads() == 1) return true;
  }
  return false;
}

}  // namespace

std::string better_spin_count() {
  if (read_text(EnvironmentVariable::GOMP_SPINCOUNT) || read_text(EnvironmentVariable::OMP_WAIT_POLICY))
    return "";
  return is_alone() ? kSpinsAlone : kSpinsBesideOthers;
}

}  // namespace smelt
