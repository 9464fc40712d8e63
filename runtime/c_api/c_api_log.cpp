// The C interface: log messages of the library.
#include <string>

#include "runtime/c_api/c_api_detail.h"
#include "runtime/system/log.h"

using namespace smelt;
using namespace smelt::c_api;

static_assert(SMELT_LOG_DEBUG == static_cast<int>(LogLevel::debug));
static_assert(SMELT_LOG_WARNING == static_cast<int>(LogLevel::warning));

extern "C" {

smelt_status smelt_set_log(smelt_log callback, void* user) {
  return guarded([&] {
    if (!callback) return set_log({});
    set_log([callback, user](LogLevel level, std::string_view message) {
      callback(user, static_cast<smelt_log_level>(level), std::string(message).c_str());
    });
  });
}

}  // extern "C"
