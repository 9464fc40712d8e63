// Synchronization of threads: with one another, with vectors that are copied to shared memory, and with other launches.
// Requires: SM. The third file of the prelude, in pieces as memory.cuh describes.

// ==== sm_barrier

// A barrier for the threads of one team.
SM void sm_barrier(int team, int threads) {
#ifdef __CUDA_ARCH__
  asm volatile("bar.sync %0, %1;" : : "r"(team), "r"(threads) : "memory");
#else
  host_barrier(team, threads);
#endif
}
// ==== sm_prefetch

// Copies a vector to shared memory, asynchronously; what was begun up to sm_commit_prefetches arrives together.
template <int bytes>
SM void sm_prefetch(unsigned char* to, const void* from) {
  constexpr int P = bytes < 16 ? bytes : 16;
#pragma unroll
  for (int i = 0; i < bytes; i += P) {
#ifdef __CUDA_ARCH__
    const unsigned place = (unsigned)__cvta_generic_to_shared(to + i);
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" : : "r"(place), "l"((const char*)from + i), "n"(P) : "memory");
#else
    memcpy(to + i, (const char*)from + i, P);
#endif
  }
}
// ==== sm_commit_prefetches
SM void sm_commit_prefetches() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
// ==== sm_await_prefetches

// All has arrived but the `later` last.
template <int later>
SM void sm_await_prefetches() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" : : "n"(later) : "memory");
#endif
}
// ==== sm_allow_next_launch

// The launch behind this one may begin as soon as all blocks have been here.
SM void sm_allow_next_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// ==== sm_wait_for_launches

// Until those in front of this one have ended and what they wrote can be seen.
SM void sm_wait_for_launches() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}
