// A thread that takes no signals: those are for the threads of the program.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace smelt {

template <typename Run>
std::thread thread_without_signals(Run run) {
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    std::thread thread(std::move(run));
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread;
  } catch (...) {
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    throw;
  }
}

}  // namespace smelt
