// Threads with blocked signals. Threads that exchange messages between ranks block all signals, so that
// signals are delivered to the program's own threads.
#pragma once

#include <pthread.h>

#include <csignal>
#include <thread>
#include <utility>

namespace smelt {

/// Starts a thread that calls `run` with all signals blocked. The signal mask of the calling thread is
/// unchanged afterwards.
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
