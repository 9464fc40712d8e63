#include "runtime/cpu/thread_waits.h"

#include <cstdlib>

namespace smelt {

std::string better_spin_count() {
  const bool chosen = std::getenv(kSpinVariable) || std::getenv("OMP_WAIT_POLICY");
  return chosen ? "" : "1000";
}

}  // namespace smelt
