// Functions that synchronize the threads of a thread group, and copies to shared memory: HIP's text, for
// waves of 32 and of 64 lanes. Code without __HIP_DEVICE_COMPILE__ is for tests, which compile kernels for
// the host.
// There is no sm_wait_for_launches: a launch begins after the launches before it in its stream have ended.
// A line with ==== begins a piece. These pieces follow those of codegen/printers/device/prelude.
// Requires: the macro SM (the qualifiers of a device function).

// ==== sm_lanes_barrier

// Waits until all lanes of `mask` have called this, and makes what they have written to shared memory visible
// to each other. The lanes of a wave run in step, so only the compiler must not reorder accesses.
SM void sm_lanes_barrier(unsigned mask) {
#ifdef __HIP_DEVICE_COMPILE__
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "wavefront");
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "wavefront");
#else
  host_shuffle(mask, 0, threadIdx.x % 32);
#endif
}
// ==== sm_start_group_barriers

// By thread group: the number of times that a wave has arrived at the group's barrier.
__shared__ unsigned sm_arrivals[16];
// Prepares sm_barrier. All threads of the thread block call it, before the first sm_barrier.
SM void sm_start_group_barriers() {
  if (threadIdx.x < 16) sm_arrivals[threadIdx.x] = 0;
  __syncthreads();
}
// ==== sm_barrier

// Waits until all threads of a thread group have called this, and makes what they have written visible to
// each other. team: the number of the group, 1 to 15. threads: the number of threads in the group, a power of
// two from 64 on, so that a group consists of whole waves. These GPUs have no named barriers: one lane of
// each wave counts the wave, and waits in a loop until all waves have been counted.
SM void sm_barrier(int team, int threads) {
#ifdef __HIP_DEVICE_COMPILE__
  const unsigned lanes = __builtin_amdgcn_wavefrontsize(), waves = (unsigned)threads / lanes;
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_wave_barrier();
  if (waves > 1 && threadIdx.x % lanes == 0) {
    unsigned* const arrivals = &sm_arrivals[team];
    const unsigned before =
        __hip_atomic_fetch_add(arrivals, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP);
    const unsigned all = (before / waves + 1) * waves;
    while ((int)(__hip_atomic_load(arrivals, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_WORKGROUP) - all) < 0)
      __builtin_amdgcn_s_sleep(1);
  }
  __builtin_amdgcn_wave_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
#else
  host_barrier(team, threads);
#endif
}
// ==== sm_prefetch

// Copies `bytes` bytes (4, 8 or a multiple of 16) from global to shared memory. Both addresses are multiples
// of min(bytes, 16). The copy is complete for the calling thread at once.
template <int bytes>
SM void sm_prefetch(unsigned char* to, const void* from) {
  constexpr int P = bytes < 16 ? bytes : 16;
#pragma unroll
  for (int i = 0; i < bytes; i += P) {
    const void* const piece = __builtin_assume_aligned((const char*)from + i, P);
    __builtin_memcpy(__builtin_assume_aligned(to + i, P), piece, P);
  }
}
// ==== sm_commit_prefetches

// Ends a group of copies: nothing is left to do for them.
SM void sm_commit_prefetches() {}
// ==== sm_await_prefetches

// Waits until all groups of copies of the calling thread are complete, except for the `later` newest ones.
// Other threads see the copies only after a barrier.
template <int later>
SM void sm_await_prefetches() {}
