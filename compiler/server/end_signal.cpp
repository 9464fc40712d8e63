#include "compiler/server/end_signal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "runtime/base/error.h"

namespace smelt::server {
namespace {

int write_end = -1;  // a handler sees globals alone

void write_a_byte() {
  const char byte = 0;
  while (::write(write_end, &byte, 1) < 0 && errno == EINTR) continue;
}

/// SIGHUP stays ignored where it is, as under nohup.
void handle(void (*handler)(int)) {
  struct sigaction action = {}, hangup = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  if (::sigaction(SIGHUP, nullptr, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    ::sigaction(SIGHUP, &action, nullptr);
}

extern "C" void take_signal(int) {
  const int kept = errno;
  handle(SIG_DFL);
  write_a_byte();
  errno = kept;
}

}  // namespace

EndSignal::EndSignal() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) fail_with(Status::io, "no pipe for signals: {}", std::strerror(errno));
  read_end_ = ends[0], write_end = ends[1];
  handle(take_signal);
}

EndSignal::~EndSignal() {
  handle(SIG_DFL);
  ::close(read_end_);
  ::close(write_end);
}

void EndSignal::wait() const {
  char byte = 0;
  while (::read(read_end_, &byte, 1) < 0 && errno == EINTR) continue;
}

void EndSignal::wake() const { write_a_byte(); }

}  // namespace smelt::server
