// Functions that synchronize the threads of a thread group, wait for asynchronous copies to shared memory,
// and order a launch after previous ones (programmatic dependent launch, docs/dev/cuda.md). Code without
// __CUDA_ARCH__ is for tests, which compile kernels for the host.
// A line with ==== begins a piece. The text of a kernel contains only the pieces that it needs
// (codegen/printers/prelude.h). These pieces follow those of codegen/printers/device/prelude.
// Requires: the macro SM, the qualifiers of a device function.

// ==== sm_barrier

// Waits until all threads of a thread group have called this. team: the number of the group's named barrier,
// 1 to 15 (0 is the barrier of __syncthreads). threads: the number of threads in the group, a multiple of
// 32.
SM void sm_barrier(int team, int threads) {
#ifdef __CUDA_ARCH__
  asm volatile("bar.sync %0, %1;" : : "r"(team), "r"(threads) : "memory");
#else
  host_barrier(team, threads);
#endif
}
// ==== sm_prefetch

// Starts to copy `bytes` bytes (4, 8 or a multiple of 16) from global to shared memory. Both addresses are
// multiples of min(bytes, 16). The next sm_commit_prefetches makes a group with this copy in it. On a host
// the copy is complete at once.
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

// Makes one group of all copies that the calling thread has started since its previous group.
SM void sm_commit_prefetches() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
// ==== sm_await_prefetches

// Waits until all groups of copies of the calling thread are complete, except for the `later` newest ones.
// Other threads see the copies only after a barrier.
template <int later>
SM void sm_await_prefetches() {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.wait_group %0;" : : "n"(later) : "memory");
#endif
}
// ==== sm_allow_next_launch

// Lets the next launch begin as soon as every block of this launch has called this or has ended. On GPUs
// before sm_90 the next launch never begins early.
SM void sm_allow_next_launch() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// ==== sm_wait_for_launches

// Waits until all previous launches have ended and their writes are visible.
SM void sm_wait_for_launches() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
#endif
}
